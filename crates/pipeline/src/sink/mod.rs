//! Targets: documents of a block as output.

mod columns;
mod csv;
mod edi;
mod json;
pub(crate) mod map;
pub(crate) mod record;
pub(crate) mod typed;
mod xml;

pub(crate) use columns::{Batches, ColumnsTarget};
pub(crate) use csv::CsvTarget;
pub(crate) use edi::EdiTarget;
pub(crate) use json::JsonTarget;
pub(crate) use record::{Framed, RecordTarget};
pub(crate) use typed::{TypedEncoder, TypedTarget};
pub(crate) use xml::XmlTarget;
