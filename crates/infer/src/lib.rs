//! Shapes guessed from samples: what JSON, XML and CSV files hold, merged over all of them, as an outline, a JSON Schema or a layout; what
//! X12 and EDIFACT interchanges hold, as a guide.
//!
//! A sample shows what there is, not what there may be: lengths get a margin, what was missing once is optional, what stood there every time
//! is mandatory, and all that a person has to confirm is said behind the line. Values are counted and measured, never kept.

mod csv;
mod draft;
mod edi;
mod json;
mod seen;
mod write;
mod xml;

pub use draft::{Draft, Samples};
pub use edi::{EdiSamples, GuessedGuide};
pub use write::{json_schema, layout, outline};

use quayline_core::{Code, Fault, Finding, Findings, Place};

/// A sample cannot be read.
pub(crate) const SAMPLE: Code = Code("INF-001");
/// A shape cannot be written in this form.
pub(crate) const FORM: Code = Code("INF-002");
/// Samples of EDI are of several kinds.
pub(crate) const SEVERAL: Code = Code("INF-003");

pub(crate) fn wrong(name: &str, text: &str, at: usize, message: impl Into<String>, hint: &str) -> Findings {
    let line = text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    let place = Place { file: Some(name.into()), line: u32::try_from(line).ok(), ..Place::default() };
    Finding::error(SAMPLE, Fault::Caller, message).at(place).hint(hint).into()
}
