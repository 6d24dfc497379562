//! Copybooks to layouts, layouts to plans, records to values and back.
//!
//! ```text
//! text ──copybook──▶ RecordDescription ──layout──▶ Layout ──plan (with an Interface)──▶ RecordPlan ──▶ RecordDecoder, RecordEncoder
//! ```
//!
//! Knows nothing of files, framing, JSON or partners; never guesses a code page.

mod interface;
pub mod layout;

pub use interface::*;
