//! Checks by event: what every reader of interchanges does with a validator.

use std::sync::Arc;

use super::Validator;
use super::characters::{AsciiControls, CharacterCheck};
use crate::envelope::{Closed, EnvelopePass, Event};
use crate::fault::{EdiError, EdiFault};
use crate::guide::{CompiledGuide, GuideSet};
use crate::level::Level;
use crate::position::Position;

/// Result of [`Validator::event`].
#[derive(Debug)]
#[must_use = "a segment that is two must be ended where the second one begins"]
pub struct EventCheck {
    /// The guide of the transaction that begins: one of the caller's, or the built-in one for acknowledgments.
    pub guide: Option<Arc<CompiledGuide>>,
    /// Length of a segment that is followed by another without a terminator.
    cut: Option<usize>,
}

impl Validator {
    /// Checks the event that `pass` is at, with the guide that `guides` selects at the beginning of its transaction, and replaces `faults` by
    /// those of the envelope and of the checks. When the event is processed, end it by [`EventCheck::end`].
    #[inline(always)]
    pub fn event<'g>(
        &mut self,
        event: Event,
        guides: impl FnOnce(&EnvelopePass<'_>) -> Option<&'g GuideSet>,
        pass: &mut EnvelopePass<'_>,
        faults: &mut Vec<EdiFault>,
    ) -> EventCheck {
        let mut check = EventCheck { guide: None, cut: None };
        match event {
            Event::Segment => {
                self.segment(pass);
                // With a guide, the check of elements reports it.
                if !self.active && pass.segment().raw_elements().all(<[u8]>::is_empty) && !pass.is_cut() {
                    pass.put_segment_fault(EdiError::NoElements, pass.position());
                }
                if let Some((error, at)) = self.characters(pass) {
                    pass.put_segment_fault(error, at);
                }
                check.cut = self.take_cut();
                if let Some(bytes) = check.cut {
                    pass.take_break_back(bytes);
                }
            }
            Event::InterchangeStart => self.header(Level::Interchange, pass),
            Event::GroupStart => self.header(Level::Group, pass),
            Event::TransactionStart => {
                let guides = guides(pass);
                check.guide = self.begin_by(guides, pass);
                self.header(Level::Transaction, pass);
            }
            Event::TransactionEnd(closed) => {
                self.end(closed, pass);
                trailer(Level::Transaction, closed, pass);
            }
            Event::GroupEnd(closed) => trailer(Level::Group, closed, pass),
            Event::InterchangeEnd(closed) => trailer(Level::Interchange, closed, pass),
            Event::NeedMore | Event::Done => {}
        }
        faults.clear();
        if pass.has_faults() || self.has_faults() {
            faults.extend(pass.take_faults());
            faults.extend(self.take_faults());
        }
        check
    }

    /// Checks the elements and characters of a header that opened a level. Characters of a transaction's header count as those of its segments.
    fn header(&mut self, level: Level, pass: &mut EnvelopePass<'_>) {
        let header = match level {
            Level::Interchange => pass.interchange(),
            Level::Group => pass.last_group(),
            Level::Transaction => pass.transaction(),
        };
        let at = header.position();
        let surplus = header.has_surplus().then_some(EdiError::EnvelopeElements {
            standard: header.delimiters().standard,
            level,
            in_trailer: false,
        });
        let characters = match level {
            Level::Transaction => self.characters.look(&header.segment(), AsciiControls::OfElements, || at),
            _ => CharacterCheck::of(self.options.characters, pass).look(
                &header.segment(),
                AsciiControls::OfElements,
                || at,
            ),
        };
        surplus
            .into_iter()
            .map(|error| (error, at))
            .chain(characters)
            .for_each(|(error, at)| pass.put_fault(error, at));
    }
}

/// Reports elements of a trailer after its count and its control number (X12.5 and X12.6; ISO 9735-1).
fn trailer(level: Level, closed: Closed, pass: &mut EnvelopePass<'_>) {
    if closed == Closed::ByTrailer && pass.segment().len() > 2 {
        let standard = pass.delimiters().standard;
        // The level is closed, so the position of the segment has no number of it.
        let at = pass.position().element(3);
        let at = match level {
            Level::Transaction => Position {
                byte: at.byte,
                element: at.element,
                segment: pass.segment_in_transaction(),
                ..pass.transaction().position()
            },
            Level::Group => Position { group: pass.last_group().position().group, ..at },
            Level::Interchange => at,
        };
        pass.put_fault(EdiError::EnvelopeElements { standard, level, in_trailer: true }, at);
    }
}

impl EventCheck {
    /// Ends the segment of the event where a second one begins, if it is two; the second follows.
    #[inline(always)]
    pub fn end(self, pass: &mut EnvelopePass<'_>) {
        if let Some(bytes) = self.cut {
            pass.end_segment_at(bytes);
        }
    }
}
