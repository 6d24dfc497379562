//! Reads interchanges without converting them: lists, checks and acknowledges them.

mod acknowledgment;
mod check;
mod feed;
mod lanes;
mod reporter;
mod survey;
mod validation;

pub use acknowledgment::{AcknowledgmentFile, AcknowledgmentTarget, only_standard};
pub use survey::{InterchangeFacts, Partners, Survey, TransactionKind};
pub use validation::{Validation, ValidationReport, Verdict};
