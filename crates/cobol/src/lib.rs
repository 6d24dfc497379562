//! Compiles copybooks to layouts and layouts to plans, and converts records to values and back.
//!
//! ```text
//! text ──copybook──▶ RecordDescription ──layout──▶ Layout ──plan (with an Interface)──▶ RecordPlan ──▶ RecordDecoder, RecordEncoder
//! ```
//!
//! ```
//! use quayline_charset::Charset;
//! use quayline_cobol::copybook::{ParseOptions, SourceText};
//! use quayline_cobol::layout::{Dialect, Layout};
//! use quayline_cobol::{Interface, Policies, RecordDecoder, RecordPlan};
//! use quayline_core::Document;
//!
//! let copybook = "       01 PERSON.\n          05 ID   PIC 9(4).\n          05 NAME PIC X(6).\n";
//! let parsed = quayline_cobol::parse(&SourceText::new("person.cpy", copybook), &ParseOptions::default())?;
//! let layout = Layout::build(&parsed.records[0], &Dialect::IBM)?;
//! let page = Charset::by_name("cp037").expect("a code page");
//! let plan = RecordPlan::new(&layout, &Interface::default(), &Policies::default(), page)?;
//!
//! // `0042` and `ADA` in EBCDIC. Any sink takes the values: a document in memory, a writer of JSON, a running map.
//! let record = [0xf0, 0xf0, 0xf4, 0xf2, 0xc1, 0xc4, 0xc1, 0x40, 0x40, 0x40];
//! let mut document = Document::new();
//! assert!(RecordDecoder::new(&plan).decode(&record, &mut document).is_ok());
//! # Ok::<(), quayline_core::Findings>(())
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
