//! Interchanges checked, told of and acknowledged in one pass.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quayline_core::{Code, Fault, Finding, Limits, Severity};
use quayline_edi::acknowledge::acknowledgment_guide;
use quayline_edi::guide::{Asked, GuideSet};
use quayline_edi::{
    EdiError, EdiFault, EnvelopePass, EnvelopeReader, Event, Rules, ValidationLevel, Validator, ValidatorOptions,
};
use quayline_meter::{Meter, Phase};

use super::acknowledgment::AcknowledgmentFile;
use super::feed::Feed;
use crate::codes;
use crate::conversion::Input;
use crate::engine::open_input;
use crate::error::ConvertError;
use crate::progress::{Advance, Progress};

/// One source to be validated.
///
/// What is wrong is told while the source is read, in the order of the file, and acknowledged in the same pass. Memory does not depend on the
/// length of the source or of its transactions.
pub struct Validation {
    /// Name for messages.
    pub name: Arc<str>,
    /// The bytes.
    pub input: Input,
    /// How departures from the standards are judged.
    pub rules: Rules,
    /// Guides, of which the version of a transaction chooses one; a transaction that none fits is an error.
    pub guides: Option<Arc<GuideSet>>,
    /// How much is checked.
    pub level: ValidationLevel,
    /// Named bounds; findings beyond `findings_max` are counted.
    pub limits: Limits,
    /// Set it to stop.
    pub cancel: Arc<AtomicBool>,
    /// Told after every read.
    pub progress: Option<Box<dyn Progress>>,
}

/// What a validation found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValidationReport {
    /// Bytes read.
    pub bytes: u64,
    /// Interchanges.
    pub interchanges: u64,
    /// Functional groups.
    pub groups: u64,
    /// Transaction sets and messages.
    pub transactions: u64,
    /// Of them with errors.
    pub transactions_bad: u64,
    /// Of them checked by a guide.
    pub transactions_by_guide: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// Findings that were not told, beyond `Limits::findings_max`.
    pub untold: u64,
    /// How often each code was found, by code.
    pub findings_by_code: Vec<(Code, u64)>,
    /// Where the time went.
    pub cost: quayline_meter::Report,
}

impl ValidationReport {
    /// Whether something is wrong.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.errors, self.warnings) {
            (0, 0) => Verdict::Good,
            (0, _) => Verdict::Warnings,
            _ => Verdict::Errors,
        }
    }
}

/// What came of a validation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing is wrong.
    Good,
    /// Nothing worse than warnings.
    Warnings,
    /// Errors.
    Errors,
}

impl Validation {
    /// Does it. `tell` gets each finding; what it cannot write ends the run.
    ///
    /// # Errors
    /// Where the source cannot be read, or what is told or acknowledged cannot be written; a run that was stopped.
    pub fn run(
        mut self,
        acknowledgment: Option<&mut AcknowledgmentFile>,
        tell: &mut dyn FnMut(&Finding) -> std::io::Result<()>,
    ) -> Result<ValidationReport, ConvertError> {
        let meter = Meter::start();
        let mut clock = meter.lane();
        clock.enter(Phase::Read);
        let (source, path, bytes_total) = open_input(&mut self.input)?;
        let all = Limits { findings_max: usize::MAX, ..self.limits.clone() };
        let mut reader = EnvelopeReader::new(&all, self.rules);
        let mut feed = Feed::new(source);
        let by_guide = self.guides.is_some() && self.level > ValidationLevel::Envelope;
        let options = ValidatorOptions { level: self.level, findings_max: usize::MAX, ..ValidatorOptions::default() };
        let mut course = Course {
            validation: &self,
            guides: self.guides.as_deref().filter(|_| by_guide),
            validator: Validator::new(options),
            acknowledgment,
            tell,
            counts: Counts::default(),
            faults: Vec::new(),
        };
        let mut done = 0;
        let mut bytes = 0;
        loop {
            clock.enter(Phase::Read);
            feed.advance(done).map_err(ConvertError::io("read", &path))?;
            clock.enter(Phase::Decode);
            let (input, end) = feed.input();
            let mut pass = reader.over(input, end);
            let ended = course.pass(&mut pass)?;
            done = pass.finish();
            bytes += done as u64;
            if let Some(file) = &mut course.acknowledgment {
                file.check()?;
            }
            if let Some(progress) = &self.progress {
                progress.advance(Advance {
                    source_bytes: bytes,
                    source_bytes_total: bytes_total,
                    records: course.counts.transactions,
                    rejected: course.counts.transactions_bad,
                    output_bytes: 0,
                });
            }
            if ended {
                break;
            }
            if self.cancel.load(Ordering::Relaxed) {
                let message = format!("stopped at byte {bytes}: what follows was not looked at");
                return Err(Finding::error(codes::STOPPED, Fault::Environment, message).into());
            }
        }
        clock.counters.bytes_in = bytes;
        clock.counters.records = course.counts.transactions;
        let counts = course.counts;
        Ok(ValidationReport {
            bytes,
            interchanges: counts.interchanges,
            groups: counts.groups,
            transactions: counts.transactions,
            transactions_bad: counts.transactions_bad,
            transactions_by_guide: counts.by_guide,
            errors: counts.errors,
            warnings: counts.warnings,
            untold: counts.untold,
            findings_by_code: counts.by_code.into_iter().collect(),
            cost: meter.report(&clock.finish()),
        })
    }
}

#[derive(Default)]
struct Counts {
    interchanges: u64,
    groups: u64,
    transactions: u64,
    transactions_bad: u64,
    by_guide: u64,
    /// The transaction that is open, or ended last, has an error.
    is_bad: bool,
    errors: u64,
    warnings: u64,
    told: usize,
    untold: u64,
    by_code: BTreeMap<Code, u64>,
}

/// A validation under way.
struct Course<'v> {
    validation: &'v Validation,
    guides: Option<&'v GuideSet>,
    validator: Validator,
    acknowledgment: Option<&'v mut AcknowledgmentFile>,
    tell: &'v mut dyn FnMut(&Finding) -> std::io::Result<()>,
    counts: Counts,
    faults: Vec<EdiFault>,
}

impl Course<'_> {
    /// Whether the source has ended.
    fn pass(&mut self, pass: &mut EnvelopePass<'_>) -> Result<bool, ConvertError> {
        loop {
            let event = pass.advance();
            match event {
                Event::Segment => {
                    self.validator.segment(pass);
                }
                Event::TransactionEnd(closed) => {
                    self.validator.end(closed, pass);
                }
                Event::GroupEnd(_) | Event::InterchangeEnd(_) => {}
                Event::InterchangeStart => self.counts.interchanges += 1,
                Event::GroupStart => self.counts.groups += 1,
                Event::TransactionStart => {
                    self.counts.transactions += 1;
                    self.counts.is_bad = false;
                    self.begin(pass);
                }
                Event::NeedMore | Event::Done => {}
            }
            self.faults.clear();
            if pass.has_faults() || self.validator.has_faults() {
                self.faults.extend(pass.take_faults());
                self.faults.extend(self.validator.take_faults());
                self.found()?;
            }
            if let Some(file) = &mut self.acknowledgment {
                file.event(event, pass, &self.faults);
            }
            match event {
                Event::NeedMore => return Ok(false),
                Event::Done => return Ok(true),
                _ => {}
            }
        }
    }

    /// A transaction begins: by which guide?
    fn begin(&mut self, pass: &mut EnvelopePass<'_>) {
        let header = pass.transaction();
        let chosen = self.guides.and_then(|guides| Some(guides.compiled(guides.choose(header, pass.group())?)));
        // Acknowledgments have guides of ours.
        let chosen = chosen.or_else(|| {
            let by_guide = self.validation.level > ValidationLevel::Envelope;
            if by_guide { acknowledgment_guide(header, pass.group()) } else { None }
        });
        match (chosen, self.guides) {
            (Some(guide), _) => {
                self.counts.by_guide += 1;
                self.validator.begin(Some(guide), pass);
            }
            (None, None) => self.validator.begin(None, pass),
            (None, Some(guides)) => {
                let standard = header.delimiters().standard;
                let asked = Asked::of(header, pass.group()).words().into();
                let error = EdiError::NoGuide { standard, asked, known: guides.known().into() };
                let at = header.position();
                self.validator.begin(None, pass);
                pass.put_fault(error, at);
            }
        }
    }

    /// Tells of what was found.
    #[cold]
    #[inline(never)]
    fn found(&mut self) -> Result<(), ConvertError> {
        let counts = &mut self.counts;
        for fault in &self.faults {
            *counts.by_code.entry(fault.error.code()).or_default() += 1;
            match fault.severity {
                Severity::Error => {
                    counts.errors += 1;
                    if fault.at.transaction > 0 && !core::mem::replace(&mut counts.is_bad, true) {
                        counts.transactions_bad += 1;
                    }
                }
                Severity::Warning | Severity::Note => counts.warnings += 1,
            }
            if counts.told >= self.validation.limits.findings_max {
                counts.untold += 1;
                continue;
            }
            counts.told += 1;
            (self.tell)(&fault.finding(Some(&self.validation.name))).map_err(|error| match error.kind() {
                std::io::ErrorKind::BrokenPipe => ConvertError::ClosedPipe,
                _ => ConvertError::io("write", "<output>")(error),
            })?;
        }
        Ok(())
    }
}
