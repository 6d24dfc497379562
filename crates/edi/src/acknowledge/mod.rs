//! Acknowledgments: replies of the receiver to the sender of an interchange.
//!
//! [`Acknowledger`] receives the events of an interchange while it is read, and writes one acknowledging interchange for each one received:
//! * X12: TA1 for the interchange, and for each functional group a 997 or a 999;
//! * EDIFACT: a CONTRL message of syntax version 3 or 4.
//!
//! All of them are derived from the same faults by one exhaustive match, [`crate::EdiError::acknowledgment`]. Sender and receiver are exchanged.
//! Version, delimiters and test indicator are those received; control numbers, date and time come from the caller
//! ([`AcknowledgmentOptions`]), so the same input gives the same bytes.
//!
//! # Not acknowledged
//! * Acknowledgments: functional groups FA (997, 999), interchanges that contain only TA1, and CONTRL messages.
//! * Transaction sets outside of a functional group: no 997 can identify them. TA1 reports the fault.
//!
//! # Order
//! The beginning of an acknowledgment (TA1, UCI, UCF) depends on trailers that come last, so an [`AcknowledgmentOutput`] holds the text of a level
//! until the level ends. Rejecting an interchange discards the replies for its groups, and rejecting a group discards those for its
//! transactions: a rejected unit is not accepted in parts.
//!
//! # Zeros
//! If an acknowledgment must repeat a value that is missing or unsuitable (a GS06 that is not a number, an empty ST02), it contains zeros
//! in its place, or `UNKNOWN` for the identification of a partner; the adjacent code names the fault.
//!
//! Sources: ASC X12.5 (TA1), X12.20 (997), 999 and its guide 005010X231A1; ISO 9735 (1988) with CONTRL version D release 3 for syntax versions 1
//! to 3, ISO 9735-4 for syntax version 4.

mod collector;
mod contrl;
mod list;
mod note;
mod options;
mod output;
mod reader;
mod recorded;
mod refused;
mod rejections;
mod report;
mod step;
mod text;
mod unit;
mod x12;

pub use crate::guide::{acknowledgment_guide, acknowledgment_guides};
pub use collector::Acknowledger;
pub use list::AcknowledgmentList;
pub use options::{
    AcknowledgmentOptions, AcknowledgmentTally, Functional, OnError, OutcomePolicy, SecurityFailure, Stamp, Warnings,
    When,
};
pub use output::{AcknowledgmentOutput, Held, MemoryOutput};
pub use reader::AcknowledgmentReader;
pub use recorded::{RecordedEvents, ReplayedHeaders};
pub use refused::RefusedHeader;
pub use rejections::Rejections;
pub use report::{
    AcknowledgmentCode, AcknowledgmentKind, ElementReport, GroupReport, InterchangeReport, Outcome, Report,
    SegmentReport, ServicePlace, TransactionReport, TriggerReport, UnitReport,
};
pub use step::EnvelopeStep;
