//! Interchanges read for what they are rather than converted: what is in them, whether they are right, how they are acknowledged.

mod acknowledgment;
mod feed;
mod guides;
mod survey;
mod validation;

pub use acknowledgment::{AcknowledgmentFile, AcknowledgmentTarget};
pub use guides::read_guides;
pub use survey::{InterchangeFacts, Partners, Survey, TransactionKind};
pub use validation::{Validation, ValidationReport, Verdict};
