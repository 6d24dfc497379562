//! Cutters: they locate records and documents in the bytes of a source.

mod csv;
mod edi;
mod families;
mod json;
mod records;
mod xml;

pub(crate) use csv::CsvCutter;
pub(crate) use edi::{EdiCutter, next_page_end, page_bytes, without_guides};
pub(crate) use families::FamilyCutter;
pub(crate) use json::{JsonCutter, place_at as json_place};
pub(crate) use records::RecordCutter;
pub(crate) use xml::XmlCutter;
