//! Codes of findings about guides that do not compile.

use quayline_core::{Code, Fault, Finding, Place};

pub(super) const SEGMENT_UNDEFINED: Code = Code("GDE-101");
pub(super) const REFERENCE: Code = Code("GDE-102");
pub(super) const LENGTHS: Code = Code("GDE-103");
pub(super) const QUALIFIER: Code = Code("GDE-104");
pub(super) const LOOP: Code = Code("GDE-105");
pub(super) const TWICE: Code = Code("GDE-106");
pub(super) const OCCURRENCES: Code = Code("GDE-107");
pub(super) const NOTE: Code = Code("GDE-108");
pub(super) const CHANGE: Code = Code("GDE-109");
pub(super) const AMBIGUOUS: Code = Code("GDE-110");
pub(super) const TAG: Code = Code("GDE-111");
pub(super) const CODE: Code = Code("GDE-112");
pub(super) const TOO_LARGE: Code = Code("GDE-113");

/// Creates an error at a place of the guide, such as `2300/REF`.
pub(super) fn error(code: Code, place: impl Into<String>, message: impl Into<String>) -> Finding {
    Finding::error(code, Fault::Config, message).at(Place { path: Some(place.into()), ..Place::default() })
}

/// Creates a warning at a place of the guide.
pub(super) fn warning(code: Code, place: impl Into<String>, message: impl Into<String>) -> Finding {
    Finding::warning(code, Fault::Config, message).at(Place { path: Some(place.into()), ..Place::default() })
}
