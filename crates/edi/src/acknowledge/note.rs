//! Faults of one level, up to the number that an acknowledgment can report.

use quayline_core::Severity;

use super::options::{OnError, OutcomePolicy, Warnings};
use crate::acknowledgment_codes::AcknowledgmentCodes;
use crate::codes;
use crate::fault::{EdiFault, FaultContext};
use crate::level::{Level, Side};
use crate::position::Position;

/// A fault, with its codes in acknowledgments.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) codes: AcknowledgmentCodes,
    pub(super) at: Position,
    /// Control segment that contains the fault, if any.
    pub(super) service: Option<(Level, Side)>,
    pub(super) context: Option<Box<FaultContext>>,
    /// Business unit that was open (CTX): its name and value, such as that of CLM01.
    pub(super) unit: Option<(&'static str, Box<[u8]>)>,
}

impl Note {
    pub(super) fn of(fault: &EdiFault) -> Self {
        Note {
            codes: fault.error.acknowledgment(),
            at: fault.at,
            service: codes::service_segment(&fault.error),
            context: fault.context.clone(),
            unit: None,
        }
    }
}

/// The faults of an interchange, group or transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) list: Vec<Note>,
    /// Faults that the list has no room for.
    pub(super) more: u64,
    pub(super) judgment: Judgment,
}

/// Judgment of a level by its faults.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Judgment {
    #[default]
    Accepted,
    WithErrors,
    Rejected,
}

impl Notes {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.more = 0;
        self.judgment = Judgment::Accepted;
    }

    pub(super) fn push(&mut self, note: Note, judgment: Judgment, most: usize) {
        self.judgment = self.judgment.max(judgment);
        if self.list.len() < most {
            self.list.push(note);
        } else {
            self.more += 1;
        }
    }
}

/// Returns the judgment that a fault causes at a level; `None` if it is not reported.
pub(super) fn judge(policy: &OutcomePolicy, level: Level, severity: Severity) -> Option<Judgment> {
    let on_error = match level {
        Level::Interchange => policy.interchange,
        Level::Group => policy.group,
        Level::Transaction => policy.transaction,
    };
    match (severity, on_error, policy.warnings) {
        (Severity::Error, OnError::Reject, _) => Some(Judgment::Rejected),
        (Severity::Error, OnError::Accept, _) | (Severity::Warning, _, Warnings::Told) => Some(Judgment::WithErrors),
        (Severity::Warning, _, Warnings::Untold) | (Severity::Note, _, _) => None,
    }
}
