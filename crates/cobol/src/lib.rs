//! Compiles copybooks to layouts and layouts to plans, and converts records to values and back.
//!
//! ```text
//! text ──copybook──▶ RecordDescription ──layout──▶ Layout ──plan (with an Interface)──▶ RecordPlan ──▶ RecordDecoder, RecordEncoder
//! ```
//!
//! It knows nothing of files, framing, JSON or partners, and never guesses a code page.

mod codes;
mod compile;
pub mod copybook;
mod decode;
mod encode;
mod extent;
mod fault;
mod interface;
mod item;
pub mod layout;
mod note;
mod parse;
pub mod picture;
mod plan;

pub use decode::RecordDecoder;
pub use encode::RecordEncoder;
pub use extent::Extent;
pub use fault::{FaultKind, OtherView, RecordFault, RecordFaults};
pub use interface::*;
pub use note::{NoteKind, RecordNote};
pub use parse::parse;
pub use plan::RecordPlan;
