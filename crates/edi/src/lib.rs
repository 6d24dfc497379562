//! EDI: X12 and UN/EDIFACT.
//!
//! * [`SegmentSplitter`] finds the segments and elements of a byte stream of interchanges, in chunks of any size.
//! * [`Segment`] and [`Element`] are spans into the input; nothing is copied or allocated for them.
//! * [`EnvelopeReader`] finds interchanges, groups and transactions and checks their counts and control numbers.
//! * [`DocumentReader`] drives any [`quayline_core::Sink`] with one document per transaction, without a guide; [`EdiWriter`] is the sink that
//!   converts them back to interchanges; [`RowReader`] gives one row per segment.
//! * [`acknowledge`] writes TA1, 997, 999 and CONTRL while interchanges are read.
//! * [`Validator`] checks transactions by a [`guide::CompiledGuide`] and reports each fault once; [`guide::Walk`] only finds the places of segments.
//! * [`EdiFault`] is one fault: a code, a [`Position`], the clause, a remedy, and the codes of acknowledgments.
//!
//! Sans-IO: bytes come in, events go out. This crate has no concept of partners, files or guide folders.
//!
//! Sources: ASC X12.5 and X12.6 (interchange control and application syntax), ISO 9735 (EDIFACT application level syntax rules) versions
//! 1 to 4.
//!
//! # Leniencies
//! Each is a fault of severity warning, or an error with [`Rules::Strict`]:
//! * bytes between interchanges ([`EdiError::Noise`]); white space there, a UTF-8 byte order mark, NUL and 0x1A are ignored;
//! * an ISA whose elements do not have their fixed widths;
//! * a letter as ISA11 where a repetition separator is expected;
//! * an invalid syntax identifier or version in UNB;
//! * line breaks inside segments, which are skipped; line breaks and spaces after terminators are ignored unless rules are strict;
//! * empty segments.
//!
//! The last IEA or UNZ of a file may lack its terminator, without a fault: nothing can follow it.

pub mod acknowledge;
mod acknowledgment_codes;
mod calendar;
mod characters;
mod codes;
mod content_error;
mod control;
mod delimiters;
mod documents;
mod envelope;
mod excerpt;
mod fault;
mod generic;
pub mod guide;
mod level;
mod outbound;
mod position;
mod renumber;
mod segment;
mod splitter;
mod start;
mod state;
mod validate;

pub use acknowledgment_codes::AcknowledgmentCodes;
pub use characters::declared_text;
pub use control::{ControlKey, ControlMark, ControlNumbers, CountedNumbers};
pub use delimiters::{Delimiters, Standard};
pub use documents::{GuideDocuments, NodeNames};
pub use envelope::{Closed, EnvelopePass, EnvelopeReader, Event, Header, HeaderField, header_fields};
pub use excerpt::{ExcerptWriter, Surroundings};
pub use fault::{EdiError, EdiFault, FaultContext, ServiceCharacter, SyntaxLevel};
pub use generic::{
    CharacterMissing, DocumentPass, DocumentReader, DocumentStep, EdiDraft, EdiDrafter, EdiMark, EdiWriteError,
    EdiWriter, EdiWriterOptions, GenericOptions, ROW_ELEMENTS, RowPass, RowReader, RowStep, generic_shape,
    in_character_set, row_shape,
};
pub use level::Level;
pub use outbound::{OutboundFaults, OutboundOptions};
pub use position::{EndOfInput, Position};
pub use renumber::{renumbered, with_element};
pub use segment::{Element, Elements, Parts, Segment};
pub use splitter::{LineBreak, Pass, Rules, SegmentSplitter, Step};
pub use start::CharacterSet;
pub use validate::{
    BrokenRule, CharacterRules, ContentError, ContentErrorKind, EventCheck, RuleSubject, ValidationLevel, Validator,
    ValidatorOptions, header_day,
};
