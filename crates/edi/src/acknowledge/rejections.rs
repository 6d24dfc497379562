//! Levels that faults reject: one decision for the acknowledgment and for the caller that processes what it accepts.

use quayline_core::Severity;

use super::refused::is_refusal;
use crate::delimiters::Standard;
use crate::envelope::{Closed, EnvelopePass, Event};
use crate::fault::EdiFault;
use crate::level::Level;
use crate::position::Position;

/// Numbers of the levels that are open, as in [`Position`]; `None` for a level that is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenLevels {
    pub(super) standard: Standard,
    pub(super) interchange: Option<u32>,
    pub(super) group: Option<u32>,
    pub(super) transaction: Option<u32>,
}

impl OpenLevels {
    /// Returns the level that acknowledges a fault: the innermost open level that has a code for it. `None` if no acknowledgment reports it.
    pub(super) fn level_of(&self, fault: &EdiFault) -> Option<Level> {
        let at = fault.at;
        if self.interchange != Some(at.interchange) {
            return None;
        }
        let codes = fault.error.acknowledgment();
        let edifact = self.standard == Standard::Edifact;
        let in_group = at.group > 0 && self.group == Some(at.group);
        let in_transaction = at.transaction > 0 && self.transaction == Some(at.transaction);
        let of_transaction = codes.transaction.or(codes.segment).or(codes.element).is_some();
        let level = if in_transaction && (edifact || (of_transaction && in_group)) {
            Level::Transaction
        } else if in_group && (edifact || codes.group.is_some()) {
            Level::Group
        } else {
            Level::Interchange
        };
        let is_reported = if edifact {
            codes.contrl.is_some()
        } else {
            level != Level::Interchange || codes.interchange_note.is_some()
        };
        is_reported.then_some(level)
    }
}

/// Finds the levels that an acknowledgment rejects, for a caller that must know them before the acknowledgment is written.
///
/// It takes the same events and faults as [`super::Acknowledger`], with its default policy, and decides by the same codes.
#[derive(Clone, Debug)]
pub struct Rejections {
    open: OpenLevels,
}

impl Default for Rejections {
    fn default() -> Self {
        Rejections { open: OpenLevels { standard: Standard::X12, interchange: None, group: None, transaction: None } }
    }
}

impl Rejections {
    /// Takes an event of the reader and the faults that were found since the event before. Calls `found` with each level that has a fault, its
    /// severity, and the numbers of the interchange, group and transaction of the level. A fault with the severity `Error` rejects its level.
    #[inline(always)]
    pub fn event(
        &mut self,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &[EdiFault],
        found: &mut dyn FnMut(Level, Severity, Position),
    ) {
        if event != Event::Segment || !faults.is_empty() {
            self.step(event, pass, faults, found);
        }
    }

    #[inline(never)]
    fn step(
        &mut self,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &[EdiFault],
        found: &mut dyn FnMut(Level, Severity, Position),
    ) {
        let open = &mut self.open;
        match event {
            Event::InterchangeStart => {
                let header = pass.interchange();
                *open = OpenLevels {
                    standard: header.delimiters().standard,
                    interchange: Some(header.position().interchange),
                    group: None,
                    transaction: None,
                };
            }
            Event::GroupStart => open.group = Some(pass.last_group().position().group),
            Event::TransactionStart => open.transaction = Some(pass.transaction().position().transaction),
            _ => {}
        }
        let number = |level: Option<u32>| level.unwrap_or(0);
        let place = Position {
            interchange: number(open.interchange),
            group: number(open.group),
            transaction: number(open.transaction),
            ..Position::default()
        };
        for fault in faults.iter().filter(|fault| !is_refusal(fault)) {
            if let Some(level) = open.level_of(fault) {
                found(level, fault.severity, place);
            }
        }
        let (level, closed) = match event {
            Event::TransactionEnd(closed) => (Level::Transaction, closed),
            Event::GroupEnd(closed) => (Level::Group, closed),
            Event::InterchangeEnd(closed) => (Level::Interchange, closed),
            _ => return,
        };
        // The acknowledgment reports the missing trailer even if the reader reported only a truncation further inside.
        if closed == Closed::Unclosed {
            found(level, Severity::Error, place);
        }
        match level {
            Level::Transaction => open.transaction = None,
            Level::Group => open.group = None,
            Level::Interchange => open.interchange = None,
        }
    }
}
