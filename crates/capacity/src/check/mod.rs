//! The operational laws applied to figures that others print: what contradicts itself is named.
//!
//! A printed number stands for every value that rounds to it. A statement is at fault where no choice of such values makes it true, so
//! rounding alone is never reported.

mod fault;
mod printed;
mod statement;

pub use fault::{FaultKind, ReportFault};
pub use printed::Printed;
pub use statement::{Statement, check};
