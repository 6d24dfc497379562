//! Shapes guessed from samples. For JSON, XML and CSV files, the merged content becomes an outline, a JSON Schema or a layout; for
//! X12 and EDIFACT interchanges, a guide. For files of records, proposals of code page and framing, and whether a copybook fits.
//!
//! A sample shows what occurs, not what may occur. Lengths therefore get a margin, a member that was missing once is optional, one
//! that was always present is mandatory, and each line has a comment on what a person has to confirm. Values are counted and
//! measured, never kept.

mod csv;
mod draft;
mod edi;
mod guess;
mod json;
mod meanings;
mod records;
mod seen;
mod write;
mod xml;

pub use draft::{Draft, Samples};
pub use edi::{EdiSamples, GuessedGuide};
pub use meanings::meanings;
pub use records::{CharsetProposal, Fit, FramingProposal, RecordSample, has_data_descriptions};
pub use write::{json_schema, layout, outline};

use quayline_core::{Code, Fault, Finding, Findings, Place};

/// A sample cannot be read.
pub(crate) const SAMPLE: Code = Code("INF-001");
/// A shape cannot be written in this form.
pub(crate) const FORM: Code = Code("INF-002");
/// Samples of EDI are of several kinds.
pub(crate) const SEVERAL: Code = Code("INF-003");
/// A guide without structure.
pub(crate) const FLAT: Code = Code("INF-004");
/// A guide whose documents do not hold the samples.
pub(crate) const LOSS: Code = Code("INF-005");

pub(crate) fn wrong(name: &str, text: &str, at: usize, message: impl Into<String>, hint: &str) -> Findings {
    let line = text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    let place = Place { file: Some(name.into()), line: u32::try_from(line).ok(), ..Place::default() };
    Finding::error(SAMPLE, Fault::Caller, message).at(place).hint(hint).into()
}
