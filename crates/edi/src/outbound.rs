//! Checks of written interchanges by the code that checks received ones: one envelope reader and one validator process the bytes of each document
//! once, before the document is kept.
//!
//! Memory is that of the checks of one transaction, regardless of its length. Discarding a document also discards its part of the
//! state: counts, control numbers and, within a transaction of several pages, the place in the guide.

use std::sync::Arc;

use quayline_charset::Charset;
use quayline_core::{Limits, Severity};

use crate::documents::GuideDocuments;
use crate::envelope::{EnvelopeReader, Event};
use crate::fault::EdiFault;
use crate::position::EndOfInput;
use crate::splitter::Rules;
use crate::state::{StateReader, StateWriter};
use crate::validate::{CharacterRules, ValidationLevel, Validator, ValidatorOptions};

/// Options for the checks of written interchanges.
#[derive(Clone, Debug, Default)]
pub struct OutboundOptions {
    /// Extent of the checks; each level checks the same as for received interchanges.
    pub level: ValidationLevel,
    /// Handling of departures from the standards.
    pub rules: Rules,
    /// Bounds of segments, elements and binary data. Findings have their own bound, [`OutboundFaults::KEPT_MAX`] a document.
    pub limits: Limits,
}

/// Faults of one document that was written.
#[derive(Clone, Debug, Default)]
pub struct OutboundFaults {
    /// Faults in the order of the output, at most [`OutboundFaults::KEPT_MAX`], errors rather than warnings. Positions are those of the output.
    pub faults: Vec<EdiFault>,
    /// Faults beyond those.
    pub more: u64,
    /// True if one of all faults is an error.
    pub has_errors: bool,
    /// Kept faults that are not errors.
    warnings: usize,
}

impl OutboundFaults {
    /// Faults of a document that are kept; a document has far fewer unless its map is wrong throughout.
    pub const KEPT_MAX: usize = 1_000;

    fn put(&mut self, fault: EdiFault) {
        let is_error = fault.severity == Severity::Error;
        self.has_errors |= is_error;
        if self.faults.len() >= OutboundFaults::KEPT_MAX {
            self.more += 1;
            if !is_error || self.warnings == 0 {
                return;
            }
            // An error says why the document is refused, so it takes the place of the last warning.
            let last = self.faults.iter().rposition(|kept| kept.severity != Severity::Error);
            last.map(|at| self.faults.remove(at));
            self.warnings -= 1;
        }
        self.warnings += usize::from(!is_error);
        self.faults.push(fault);
    }

    /// Adds those that were found later.
    pub(crate) fn append(&mut self, later: OutboundFaults) {
        self.more += later.more;
        later.faults.into_iter().for_each(|fault| self.put(fault));
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }
}

/// The check of one output.
#[derive(Clone, Debug)]
pub(crate) struct OutboundCheck {
    guides: Option<Arc<GuideDocuments>>,
    reader: EnvelopeReader,
    validator: Validator,
    /// A transaction is open.
    inside: bool,
    /// Bytes that no pass is done with: a line break after the last segment.
    rest: Vec<u8>,
    found: OutboundFaults,
    /// The state, if it was requested since the last bytes.
    mark: Option<Arc<OutboundMark>>,
}

/// The state of a check, to go back to.
#[derive(Clone, Debug)]
pub(crate) struct OutboundMark {
    reader: EnvelopeReader,
    rest: Vec<u8>,
    /// Between transactions a validator has no state.
    validator: Option<Validator>,
}

impl OutboundCheck {
    /// Creates the check. `charset` is the character set of the output, if the user names one.
    pub(crate) fn new(
        options: &OutboundOptions,
        guides: Option<&Arc<GuideDocuments>>,
        charset: Option<Charset>,
    ) -> Self {
        let limits = reader_limits(options);
        OutboundCheck {
            guides: guides.cloned(),
            reader: EnvelopeReader::new(&limits, options.rules),
            validator: validator(options, charset),
            inside: false,
            rest: Vec::new(),
            found: OutboundFaults::default(),
            mark: None,
        }
    }

    /// Checks the next written segments, which must be complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.mark = None;
        let mut input = core::mem::take(&mut self.rest);
        input.extend_from_slice(bytes);
        let mut pass = self.reader.over(&input, EndOfInput::No);
        let guides = self.guides.as_ref().map(|documents| documents.guides());
        let mut faults = Vec::new();
        loop {
            let event = pass.advance();
            let check = self.validator.event(event, |_| guides, &mut pass, &mut faults);
            faults.drain(..).for_each(|fault| self.found.put(fault));
            match event {
                Event::TransactionStart => self.inside = true,
                Event::TransactionEnd(_) => self.inside = false,
                Event::NeedMore | Event::Done => break,
                _ => {}
            }
            check.end(&mut pass);
        }
        let done = pass.finish();
        input.drain(..done);
        self.rest = input;
    }

    /// Returns the faults since the last call.
    pub(crate) fn take_faults(&mut self) -> OutboundFaults {
        core::mem::take(&mut self.found)
    }

    /// Returns the faults that would be found if `trailer` ended the open transaction.
    pub(crate) fn trial(&self, trailer: &[u8]) -> OutboundFaults {
        let mut trial = self.clone();
        trial.found = OutboundFaults::default();
        trial.feed(trailer);
        trial.found
    }

    pub(crate) fn mark(&mut self) -> Arc<OutboundMark> {
        let mark = self.mark.take().unwrap_or_else(|| {
            Arc::new(OutboundMark {
                reader: self.reader.snapshot(),
                rest: self.rest.clone(),
                validator: self.inside.then(|| self.validator.clone()),
            })
        });
        self.mark = Some(Arc::clone(&mark));
        mark
    }

    pub(crate) fn back_to(&mut self, mark: &Arc<OutboundMark>) {
        self.found = OutboundFaults::default();
        if self.mark.as_ref().is_some_and(|own| Arc::ptr_eq(own, mark)) {
            return;
        }
        self.reader.go_to(&mark.reader);
        self.rest.clone_from(&mark.rest);
        self.inside = mark.validator.is_some();
        match &mark.validator {
            Some(validator) => self.validator.clone_from(validator),
            None => self.validator.abandon(),
        }
        self.mark = Some(Arc::clone(mark));
    }

    /// Writes the state. Call it between transactions, or when only the trailer of the open one can follow.
    pub(crate) fn put_state(&self, out: &mut StateWriter) {
        out.number(self.reader.offset().0);
        out.text(&self.rest);
        self.reader.put_state(out);
    }

    pub(crate) fn from_state(
        options: &OutboundOptions,
        guides: Option<&Arc<GuideDocuments>>,
        charset: Option<Charset>,
        from: &mut StateReader<'_>,
    ) -> Option<Self> {
        let offset = quayline_core::ByteOffset(from.number()?);
        let rest = from.text()?.to_vec();
        let reader = EnvelopeReader::from_state(&reader_limits(options), options.rules, offset, from)?;
        Some(OutboundCheck { reader, rest, ..OutboundCheck::new(options, guides, charset) })
    }
}

fn reader_limits(options: &OutboundOptions) -> Limits {
    Limits { findings_max: usize::MAX, ..options.limits.clone() }
}

fn validator(options: &OutboundOptions, charset: Option<Charset>) -> Validator {
    Validator::new(ValidatorOptions {
        level: options.level,
        characters: CharacterRules::Checked(charset),
        findings_max: usize::MAX,
        ..ValidatorOptions::default()
    })
}
