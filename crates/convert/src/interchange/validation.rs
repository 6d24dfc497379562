//! Validation of interchanges: checks, findings and acknowledgments in one pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quayline_core::{Code, Fault, Finding, Limits};
use quayline_edi::guide::GuideSet;
use quayline_edi::{CharacterRules, EnvelopeReader, Rules, ValidationLevel};
use quayline_meter::{Meter, Phase};
use quayline_pipeline::{BLOCK_BYTES, Block, BlockReader, EdiPart, Lane, LaneFacts, RejectForm, Scheduler, Units};

use super::acknowledgment::AcknowledgmentFile;
use super::check::{Checker, PassEnd};
use super::feed::Feed;
use super::lanes::{Acknowledges, CheckLane, OrderedReporter, TransactionCutter};
use super::reporter::{Counts, Reporter};
use crate::codes;
use crate::conversion::Input;
use crate::engine::open_input;
use crate::engine::temporary::TemporaryFolder;
use crate::engine::threads::run_all;
use crate::error::ConvertError;
use crate::progress::{Advance, Progress};

/// One source to be validated.
///
/// Faults are reported while the source is read, in the order of the file, and acknowledged in the same pass. Memory does not depend on the
/// length of the source or of its transactions.
pub struct Validation {
    /// Name for messages.
    pub name: Arc<str>,
    /// The bytes.
    pub input: Input,
    /// Treatment of departures from the standards.
    pub rules: Rules,
    /// Guides, of which the version of a transaction chooses one; a transaction that none fits is an error.
    pub guides: Option<Arc<GuideSet>>,
    /// Level of the checks.
    pub level: ValidationLevel,
    /// Checks of characters.
    pub characters: CharacterRules,
    /// Number of checking threads, at least 1. Findings and acknowledgments are the same for any number. Each additional thread needs up to twelve
    /// megabytes, because transactions are checked in parallel, each as a whole.
    pub lanes: usize,
    /// Named bounds; findings beyond `findings_max` are counted.
    pub limits: Limits,
    /// Set it to stop.
    pub cancel: Arc<AtomicBool>,
    /// Receiver of progress, called after every read.
    pub progress: Option<Box<dyn Progress>>,
}

/// Result of a validation.
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
    /// Number of those transactions with errors.
    pub transactions_bad: u64,
    /// Number of those transactions that were checked by a guide.
    pub transactions_by_guide: u64,
    /// The guides that checked them, by name, with their transactions.
    pub guides: Vec<(String, u64)>,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// Number of findings that were not reported, beyond `Limits::findings_max`.
    pub unreported: u64,
    /// Number of findings by code.
    pub findings_by_code: Vec<(Code, u64)>,
    /// Time by phase.
    pub cost: quayline_meter::Report,
}

impl ValidationReport {
    /// Returns the verdict: errors, warnings or neither.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.errors, self.warnings) {
            (0, 0) => Verdict::Good,
            (0, _) => Verdict::Warnings,
            _ => Verdict::Errors,
        }
    }
}

/// Verdict of a validation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// No findings.
    Good,
    /// Warnings only.
    Warnings,
    /// Errors.
    Errors,
}

impl Validation {
    /// Runs the validation. `on_finding` receives each finding; an error of `on_finding` ends the run.
    ///
    /// # Errors
    /// The source cannot be read, findings or acknowledgments cannot be written, or the run was stopped.
    pub fn run(
        mut self,
        acknowledgment: Option<&mut AcknowledgmentFile>,
        on_finding: &mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    ) -> Result<ValidationReport, ConvertError> {
        if self.lanes > 1 {
            return self.run_lanes(acknowledgment, on_finding);
        }
        let meter = Meter::start();
        let mut clock = meter.lane();
        clock.enter(Phase::Read);
        let (source, path, bytes_total) = open_input(&mut self.input, &self.name)?;
        let mut reader = self.reader();
        let mut feed = Feed::new(source);
        let mut checker = Checker::new(self.guides.as_ref(), self.level, self.characters);
        let mut reporter = Reporter::new(&self.name, self.limits.findings_max, acknowledgment, on_finding);
        let mut done = 0;
        let mut bytes = 0;
        loop {
            clock.enter(Phase::Read);
            feed.advance(done).map_err(ConvertError::io("read", &path))?;
            clock.enter(Phase::Decode);
            let (input, end) = feed.input();
            let mut pass = reader.over(input, end);
            let ended = checker.pass(&mut pass, &mut reporter)?;
            done = pass.finish();
            bytes += done as u64;
            if let Some(file) = &mut reporter.acknowledgment {
                file.check()?;
            }
            if let Some(progress) = &self.progress {
                progress.advance(Advance {
                    source_bytes: bytes,
                    source_bytes_total: bytes_total,
                    records: reporter.counts.transactions,
                    rejected: reporter.counts.transactions_bad,
                    output_bytes: 0,
                });
            }
            if ended == PassEnd::SourceEnd {
                break;
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Err(stopped(bytes));
            }
        }
        reporter.finish()?;
        clock.counters.bytes_in = bytes;
        clock.counters.records = reporter.counts.transactions;
        Ok(report(bytes, reporter.counts, meter.report(&clock.finish())))
    }

    /// Runs the validation on several threads.
    fn run_lanes(
        mut self,
        acknowledgment: Option<&mut AcknowledgmentFile>,
        on_finding: &mut (dyn FnMut(&Finding) -> std::io::Result<()> + Send),
    ) -> Result<ValidationReport, ConvertError> {
        let meter = Meter::start();
        let mut clock = meter.lane();
        clock.enter(Phase::Other);
        let (source, path, bytes_total) = open_input(&mut self.input, &self.name)?;
        let handoff = Arc::default();
        let acknowledges = if acknowledgment.is_some() { Acknowledges::Yes } else { Acknowledges::No };
        let lane = |_| {
            let characters = self.characters;
            let checker = Checker::new(self.guides.as_ref(), self.level, characters);
            Box::new(CheckLane::new(checker, self.reader(), (self.level, characters), &handoff, acknowledges))
                as Box<dyn Lane>
        };
        let lanes: Vec<Box<dyn Lane>> = (0..self.lanes).map(lane).collect();
        let ordered = OrderedReporter {
            reporter: Reporter::new(&self.name, self.limits.findings_max, acknowledgment, on_finding),
            progress: self.progress.as_deref(),
            bytes_total,
            bytes: 0,
            ended: false,
        };
        let facts = LaneFacts {
            file: Arc::clone(&self.name),
            reject_form: RejectForm::Interchanges,
            spool_folder: Arc::new(TemporaryFolder(std::env::temp_dir())),
            stop_at_reject: false,
            split: false,
            records: None,
            cancel: Arc::clone(&self.cancel),
        };
        let block_reader =
            BlockReader::new(source, Box::new(TransactionCutter::new(self.reader())), BLOCK_BYTES, &self.limits);
        let scheduler = Scheduler::new(block_reader, ordered, self.lanes, &self.cancel, &facts, &path);
        let block = || Block::new(Units::Interchanges(EdiPart::default()));
        let mut totals = run_all(&scheduler, lanes, block, &meter, &mut clock);
        totals.merge(&clock.finish());
        let (ordered, error) = scheduler.finish();
        let mut ordered = ordered.expect("every lane gave the writer back");
        match error {
            Some(error) => Err(error),
            None if !ordered.ended => Err(stopped(ordered.bytes)),
            None => {
                ordered.reporter.finish()?;
                Ok(report(ordered.bytes, ordered.reporter.counts, meter.report(&totals)))
            }
        }
    }

    /// Creates a reader of envelopes. It does not limit the findings; the reporter does.
    fn reader(&self) -> EnvelopeReader {
        EnvelopeReader::new(&Limits { findings_max: usize::MAX, ..self.limits.clone() }, self.rules)
    }
}

fn stopped(bytes: u64) -> ConvertError {
    let message = format!("stopped at byte {bytes}: what follows was not checked");
    Finding::error(codes::STOPPED, Fault::Environment, message).into()
}

fn report(bytes: u64, counts: Counts, cost: quayline_meter::Report) -> ValidationReport {
    ValidationReport {
        bytes,
        interchanges: counts.interchanges,
        groups: counts.groups,
        transactions: counts.transactions,
        transactions_bad: counts.transactions_bad,
        transactions_by_guide: counts.guides.values().sum(),
        guides: counts.guides.into_iter().collect(),
        errors: counts.errors,
        warnings: counts.warnings,
        unreported: counts.unreported,
        findings_by_code: counts.by_code.into_iter().collect(),
        cost,
    }
}
