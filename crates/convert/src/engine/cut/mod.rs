//! Cutters: where records and documents lie in the bytes of a source.

mod json;
mod records;

pub(crate) use json::JsonCutter;
pub(crate) use records::RecordCutter;
