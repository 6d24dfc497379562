//! Checks transactions by their guides and passes the findings to a listener.

use std::sync::Arc;

use quayline_edi::guide::{CompiledGuide, GuideSet};
use quayline_edi::{CharacterRules, EdiFault, EnvelopePass, Event, ValidationLevel, Validator, ValidatorOptions};

use crate::error::ConvertError;

/// Checks what an envelope reader finds. It has the state of one transaction, no more.
#[derive(Debug)]
pub(crate) struct Checker {
    guides: Option<Arc<GuideSet>>,
    pub(crate) validator: Validator,
    faults: Vec<EdiFault>,
}

/// Receiver of each event that may have findings.
pub(crate) trait Listener {
    /// Receives the `faults` found since the previous event.
    fn on_event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) -> Result<(), ConvertError>;

    /// Reports that a guide checks the transaction that begins: the user's, or the built-in one for acknowledgments.
    fn by_guide(&mut self, guide: &CompiledGuide);
}

/// End of a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PassEnd {
    NeedMore,
    SourceEnd,
}

impl Checker {
    pub(crate) fn new(guides: Option<&Arc<GuideSet>>, level: ValidationLevel, characters: CharacterRules) -> Self {
        let by_guide = level > ValidationLevel::Envelope;
        Checker {
            guides: guides.filter(|_| by_guide).cloned(),
            validator: Checker::validator(level, characters),
            faults: Vec::new(),
        }
    }

    /// Creates a validator. It does not limit the findings; the reporter does.
    pub(crate) fn validator(level: ValidationLevel, characters: CharacterRules) -> Validator {
        Validator::new(ValidatorOptions { level, findings_max: usize::MAX, characters, ..ValidatorOptions::default() })
    }

    /// Goes through a pass.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        pass: &mut EnvelopePass<'_>,
        listener: &mut impl Listener,
    ) -> Result<PassEnd, ConvertError> {
        loop {
            let event = pass.advance();
            let mut cut = None;
            match event {
                Event::Segment => {
                    self.validator.segment(pass);
                    if let Some((error, at)) = self.validator.characters(pass) {
                        pass.put_segment_fault(error, at);
                    }
                    cut = self.validator.take_cut();
                    if let Some(bytes) = cut {
                        pass.take_break_back(bytes);
                    }
                }
                Event::TransactionEnd(closed) => {
                    self.validator.end(closed, pass);
                }
                Event::TransactionStart => self.begin(pass, listener),
                _ => {}
            }
            self.faults.clear();
            if pass.has_faults() || self.validator.has_faults() {
                self.faults.extend(pass.take_faults());
                self.faults.extend(self.validator.take_faults());
            }
            listener.on_event(event, pass, &self.faults)?;
            if let Some(bytes) = cut {
                pass.end_segment_at(bytes);
            }
            match event {
                Event::NeedMore => return Ok(PassEnd::NeedMore),
                Event::Done => return Ok(PassEnd::SourceEnd),
                _ => {}
            }
        }
    }

    /// Begins a transaction and selects its guide.
    fn begin(&mut self, pass: &mut EnvelopePass<'_>, listener: &mut impl Listener) {
        if let Some(guide) = self.validator.begin_by(self.guides.as_deref(), pass) {
            listener.by_guide(&guide);
        }
    }
}
