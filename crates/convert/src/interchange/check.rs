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

    /// Returns a checker with the same guides.
    pub(crate) fn with(&self, validator: Validator) -> Self {
        Checker { guides: self.guides.clone(), validator, faults: Vec::new() }
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
            let check = self.validator.event(event, |_| self.guides.as_deref(), pass, &mut self.faults);
            if let Some(guide) = &check.guide {
                listener.by_guide(guide);
            }
            listener.on_event(event, pass, &self.faults)?;
            check.end(pass);
            match event {
                Event::NeedMore => return Ok(PassEnd::NeedMore),
                Event::Done => return Ok(PassEnd::SourceEnd),
                _ => {}
            }
        }
    }
}
