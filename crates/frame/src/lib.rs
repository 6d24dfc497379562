//! Framing: the boundaries of records.
//!
//! ```text
//!  bytes ──▶ Splitter ──▶ record bodies (spans of the input)         record bodies ──▶ Framer ──▶ bytes
//!            BlockSplitter ──▶ batches of whole records for workers
//!  sample ─▶ detect ──▶ candidates with evidence;  explain_misfit ──▶ "junk after record 4" said as wrong framing
//! ```
//!
//! Sans-IO: the caller owns the buffer and does the reading. The crate knows no copybook and decodes no field. A fault has the
//! position and the shape of the bytes, never content.
//!
//! # What the caller does
//! Call [`BlockSplitter::block`] (or [`Splitter::split`]) with the bytes that start at the first unconsumed one. On `NeedMore` keep
//! those bytes, append until there are at least `at_least` or the source ends, and call again. All state between two records is one
//! `u64` ([`Splitter::state`]), so a checkpoint is offset, record number and that word.
//!
//! ```
//! use quayline_core::Limits;
//! use quayline_frame::{EndOfInput, FramingSpec, Splitter, Step};
//!
//! // Two records, each after a record descriptor word that counts itself.
//! let file = b"\0\x07\0\0ADA\0\x08\0\0EVE!";
//! let framing = FramingSpec::parse("rdw").expect("a framing");
//! let mut splitter = Splitter::new(&framing, &Limits::default()).expect("a possible framing");
//! let (mut at, mut lengths) = (0, Vec::new());
//! while let Step::Record { body, consumed, .. } = splitter.split(&file[at..], EndOfInput::Yes)? {
//!     lengths.push(body.len());
//!     at += consumed;
//! }
//! assert_eq!(lengths, [3, 4]);
//! # Ok::<(), quayline_frame::FrameFault>(())
//! ```
//!
//! # Departures from the standards
//! * The last line may lack its terminator: most editors and transfers drop it.
//! * A BDW or RDW counts as on z/OS unless the [`FramingSpec`] selects otherwise; other counts exist because transfer programs
//!   rewrite them.
//! * [`Framer`] sets the length field of [`FramingSpec::LengthField`] in a record where it is blank (zeros or spaces). Other bytes that
//!   are not that length already are a fault: they are data, or contradict the record.

mod block;
mod columns;
mod detect;
mod extent;
mod fault;
mod framer;
mod framing;
mod misfit;
mod period;
mod spec;
mod spec_text;
mod splitter;

pub use block::{Block, BlockEnd, BlockSplitter, Edges, RecordSpan, RecordSpans};
pub use detect::{FramingCandidate, detect};
pub use extent::{ExtentFault, RecordExtent, RecordExtentFound};
pub use fault::{Cause, FrameFault, FrameFaultKind, Part, Resume, all_skipped, empty_source, refuses_one_record};
pub use framer::{Framer, FramerMark, FramerOptions};
pub use misfit::{FramingInUse, explain_misfit};
pub use spec::*;
pub use spec_text::SpecTextError;
pub use splitter::{EndOfInput, Splitter, Step};
