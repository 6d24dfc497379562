//! Acknowledgments: what a receiver tells a sender of an interchange.
//!
//! [`Acknowledger`] is fed while an interchange is read and writes one acknowledging interchange for each one received:
//! * X12: TA1 for the interchange, and for each functional group a 997 or a 999;
//! * EDIFACT: a CONTRL message of syntax version 3 or 4.
//!
//! All of them are made from the same faults by one total match, [`crate::EdiError::acknowledgment`]. Sender and receiver change places,
//! version, delimiters and test indicator are the received ones, control numbers, date and time are the caller's
//! ([`AcknowledgmentOptions`]), so the same input gives the same bytes.
//!
//! # What is not acknowledged
//! * Acknowledgments: functional groups FA (997, 999), interchanges of nothing but TA1, and CONTRL messages.
//! * Transaction sets outside of a functional group: no 997 can name them. TA1 tells of it.
//!
//! # Order
//! What stands at the beginning of an acknowledgment (TA1, UCI, UCF) depends on trailers that come last, so what is written before is held
//! by an [`AcknowledgmentOutput`] until its level ends. An interchange that is rejected takes back what was said of its groups, a group that
//! is rejected what was said of its transactions: what is rejected is not accepted in parts.
//!
//! # Zeros
//! Where an acknowledgment must repeat a value that is missing or unfit to be repeated (GS06 that is not a number, ST02 that is empty), zeros
//! stand in its place, `UNKNOWN` for the identification of a partner; the code beside it says what is wrong with it.
//!
//! Sources: ASC X12.5 (TA1), X12.20 (997), 999 and its guide 005010X231A1; ISO 9735 (1988) with CONTRL version D release 3 for syntax versions 1
//! to 3, ISO 9735-4 for syntax version 4.

mod collector;
mod contrl;
mod guides;
mod list;
mod note;
mod options;
mod output;
mod reader;
mod refused;
mod report;
mod text;
mod x12;

pub use collector::Acknowledger;
pub use guides::{acknowledgment_guide, acknowledgment_guides};
pub use list::AcknowledgmentList;
pub use options::{
    AcknowledgmentOptions, AcknowledgmentTally, Functional, OnError, OutcomePolicy, SecurityFailure, Stamp, Warnings,
    When,
};
pub use output::{AcknowledgmentOutput, Held, MemoryOutput};
pub use reader::AcknowledgmentReader;
pub use report::{
    AcknowledgmentCode, AcknowledgmentKind, ElementReport, GroupReport, InterchangeReport, Outcome, Report,
    SegmentReport, ServicePlace, TransactionReport, TriggerReport, UnitReport,
};
