//! Checks by event: what every reader of interchanges does with a validator.

use std::sync::Arc;

use super::Validator;
use crate::envelope::{EnvelopePass, Event};
use crate::fault::EdiFault;
use crate::guide::{CompiledGuide, GuideSet};

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
                if let Some((error, at)) = self.characters(pass) {
                    pass.put_segment_fault(error, at);
                }
                check.cut = self.take_cut();
                if let Some(bytes) = check.cut {
                    pass.take_break_back(bytes);
                }
            }
            Event::TransactionStart => {
                let guides = guides(pass);
                check.guide = self.begin_by(guides, pass);
            }
            Event::TransactionEnd(closed) => {
                self.end(closed, pass);
            }
            _ => {}
        }
        faults.clear();
        if pass.has_faults() || self.has_faults() {
            faults.extend(pass.take_faults());
            faults.extend(self.take_faults());
        }
        check
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
