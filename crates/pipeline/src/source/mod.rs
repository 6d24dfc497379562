//! Sources: one record of a block as events.

mod columns;
mod csv;
mod edi;
mod edi_rows;
mod families;
mod json;
mod record;
mod typed;
mod xml;

pub(crate) use columns::ColumnsSource;
pub(crate) use csv::CsvSource;
pub(crate) use edi::EdiSource;
pub(crate) use edi_rows::EdiRowSource;
pub(crate) use families::FamilySource;
pub(crate) use json::JsonSource;
pub(crate) use record::RecordSource;
pub(crate) use typed::TypedSource;
pub(crate) use xml::XmlSource;
