//! Targets: documents of a block as output.

mod columns;
mod edi;
pub(crate) mod map;
mod nulls;
pub(crate) mod record;
pub(crate) mod text;
pub(crate) mod typed;

pub(crate) use columns::{Batches, ColumnsTarget};
pub(crate) use edi::EdiTarget;
pub(crate) use nulls::{NullMembers, WithNulls};
pub(crate) use record::{DocumentEncoder, Framed, OneRecord, RecordTarget};
pub(crate) use text::{TextTarget, TextWriter};
pub(crate) use typed::TypedEncoder;
