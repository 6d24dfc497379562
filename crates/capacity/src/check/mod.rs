//! Checks that apply the operational laws to published figures and report contradictions.
//!
//! A printed number represents every value that rounds to it. A statement is an error only if no choice of such values makes it true, so
//! rounding alone is never reported.

mod fault;
mod printed;
mod statement;

pub use fault::{FaultKind, ReportFault};
pub use printed::Printed;
pub use statement::{Statement, check};
