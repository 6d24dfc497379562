//! Validation on several threads, with the order kept.
//!
//! ```text
//! bytes ─ cutter: envelopes only ─▶ block of whole transactions ─ lane: checks ─▶ lot of faults ─ in order ─▶ reporter, acknowledgments
//! ```
//!
//! The cutter runs ahead to find the ends of transactions. Each block has a copy of the cutter's reader, from which a lane continues over the same
//! bytes and finds the same envelopes. A transaction that is too long for a block continues in the next one, whose lane waits for the
//! validator of the previous block. The writing thread makes the acknowledgments, because they depend on everything before them: the lane records the
//! events of its block, without the segments that are of no interest there.

use core::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use quayline_core::{ByteOffset, RecordNumber};
use quayline_edi::acknowledge::RecordedEvents;
use quayline_edi::guide::CompiledGuide;
use quayline_edi::{
    CharacterRules, Closed, EdiFault, EndOfInput, EnvelopePass, EnvelopeReader, Event, ValidationLevel, Validator,
};
use quayline_pipeline::{
    Attachment, Block, Clock, Cut, CutEnd, Cutter, EdiPart, Lane, LaneFacts, Lot, OrderedSink, Position, SourceEnd,
    Units,
};

use super::check::{Checker, Listener};
use super::reporter::{Counts, Reporter};
use crate::error::ConvertError;
use crate::progress::{Advance, Progress};

/// Minimum size of a block in bytes, after which it ends with the next transaction.
const BLOCK_BYTES_MIN: usize = 512 << 10;

/// Bytes from which on a block ends anywhere. Transactions below that are checked side by side; longer ones in turns.
const BLOCK_BYTES_MAX: usize = 5 << 20;

/// Faults that a lane keeps of a block, with some 600 bytes each. The writing thread checks a block with more of them again, and reports them in
/// pieces of this size.
const FAULTS_MAX: usize = 4096;

/// The state of [`Position`] inside a transaction.
const INSIDE: u64 = 1;

/// Finds where blocks may end.
pub(super) struct TransactionCutter {
    reader: EnvelopeReader,
    /// The reader where the block begins.
    before: Arc<EnvelopeReader>,
    from: ByteOffset,
    next: RecordNumber,
    state: u64,
    /// Bytes of the block that the reader has passed, and transactions in them: a block that is not yet large enough comes again.
    passed: usize,
    transactions: u64,
}

impl TransactionCutter {
    pub(super) fn new(mut reader: EnvelopeReader) -> Self {
        TransactionCutter {
            before: Arc::new(reader.snapshot()),
            reader,
            from: ByteOffset(0),
            next: RecordNumber::FIRST,
            state: 0,
            passed: 0,
            transactions: 0,
        }
    }

    /// Goes to the end of the block; `None` where it needs more bytes.
    fn go(&mut self, input: &[u8], end: SourceEnd) -> Option<(EdiPart, u64)> {
        let end_of_input = if end == SourceEnd::Yes { EndOfInput::Yes } else { EndOfInput::No };
        let from = self.passed;
        let mut pass = self.reader.over(&input[from..], end_of_input);
        loop {
            let event = pass.advance();
            if pass.has_faults() {
                pass.take_faults().for_each(drop);
            }
            let passed = from + pass.consumed();
            let enough = match event {
                Event::TransactionStart => {
                    self.transactions += 1;
                    continue;
                }
                Event::TransactionEnd(Closed::ByTrailer) => BLOCK_BYTES_MIN,
                // Within a transaction a reader is left only where its pass ends: there the segment that was found last is counted.
                Event::NeedMore if passed >= BLOCK_BYTES_MAX => BLOCK_BYTES_MAX,
                Event::NeedMore => {
                    self.passed = passed;
                    return None;
                }
                Event::Done => return Some((EdiPart { len: input.len(), is_last: true, ..EdiPart::default() }, 0)),
                _ => continue,
            };
            if passed >= enough && pass.is_between() {
                let state = if pass.in_transaction() { INSIDE } else { 0 };
                return Some((EdiPart { len: passed, ..EdiPart::default() }, state));
            }
        }
    }
}

impl Cutter for TransactionCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Some((part, state)) = self.go(&block.bytes[..block.filled], end) else {
            return Cut { consumed: 0, end: CutEnd::NeedMore { at_least: block.filled + 1 } };
        };
        block.units = Units::Interchanges(EdiPart { documents: self.transactions, ..part });
        self.before = Arc::new(self.reader.snapshot());
        self.from.0 += part.len as u64;
        self.next.0 += self.transactions;
        self.state = state;
        (self.passed, self.transactions) = (0, 0);
        let end = if part.is_last { CutEnd::Done } else { CutEnd::NeedMore { at_least: block.filled + 1 } };
        Cut { consumed: part.len, end }
    }

    fn position(&self) -> Position {
        Position { envelope: Some(Arc::clone(&self.before)), ..Position::at(self.from, self.next, self.state) }
    }
}

/// Result of checking a block.
#[derive(Debug)]
pub(crate) struct Checked {
    counts: Counts,
    faults: Vec<EdiFault>,
    /// For each fault, the transaction that was begun last, from 1 in the block; 0 is one that was begun before.
    transactions: Vec<u64>,
    /// For acknowledgments.
    recorded: Option<RecordedEvents>,
    is_last: bool,
    /// True if the block has more than [`FAULTS_MAX`] faults. It then has only the counts.
    is_overfull: bool,
    again: Option<Box<Again>>,
}

/// State from which the writing thread checks a block again.
#[derive(Debug)]
struct Again {
    bytes: Vec<u8>,
    end: EndOfInput,
    reader: EnvelopeReader,
    checker: Checker,
}

/// Whether a lane records events for acknowledgments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Acknowledges {
    Yes,
    No,
}

impl Checked {
    fn new(pass: &EnvelopePass<'_>, acknowledges: Acknowledges) -> Self {
        Checked {
            counts: Counts::default(),
            faults: Vec::new(),
            transactions: Vec::new(),
            recorded: (acknowledges == Acknowledges::Yes).then(|| RecordedEvents::new(pass)),
            is_last: false,
            is_overfull: false,
            again: None,
        }
    }

    #[inline(always)]
    fn put(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) {
        self.counts.event(event);
        if !faults.is_empty() {
            self.faults.extend_from_slice(faults);
            self.transactions.resize(self.faults.len(), self.counts.transactions);
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.event(event, pass, faults.len());
        }
    }

    #[cold]
    fn drop_faults(&mut self) {
        (self.faults, self.transactions, self.recorded) = (Vec::new(), Vec::new(), None);
        self.is_overfull = true;
    }
}

impl Attachment for Checked {
    fn memory(&self) -> usize {
        const TEXTS: usize = 512;
        let recorded = self.recorded.as_ref().map_or(0, RecordedEvents::memory);
        let again = self.again.as_ref().map_or(0, |again| again.bytes.len());
        self.faults.len() * (size_of::<(EdiFault, u64)>() + TEXTS) + recorded + again
    }
}

impl Listener for Checked {
    #[inline(always)]
    fn on_event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) -> Result<(), ConvertError> {
        if !faults.is_empty() && self.faults.len() + faults.len() > FAULTS_MAX {
            self.drop_faults();
        }
        self.put(event, pass, if self.is_overfull { &[] } else { faults });
        Ok(())
    }

    fn by_guide(&mut self, guide: &CompiledGuide) {
        self.counts.by_guide(guide);
    }
}

/// Checks blocks.
pub(super) struct CheckLane {
    checker: Checker,
    reader: EnvelopeReader,
    checks: (ValidationLevel, CharacterRules),
    handoff: Arc<ValidatorHandoff>,
    acknowledges: Acknowledges,
}

impl CheckLane {
    pub(super) fn new(
        checker: Checker,
        reader: EnvelopeReader,
        checks: (ValidationLevel, CharacterRules),
        handoff: &Arc<ValidatorHandoff>,
        acknowledges: Acknowledges,
    ) -> Self {
        CheckLane { checker, reader, checks, handoff: Arc::clone(handoff), acknowledges }
    }
}

impl Lane for CheckLane {
    fn convert(&mut self, _facts: &LaneFacts, block: &Block, lot: &mut Lot) {
        lot.seq = block.seq;
        lot.after = block.after.clone();
        let Units::Interchanges(part) = block.units else { unreachable!("the cutter makes parts of interchanges") };
        let (Some(before), false) = (&block.before.envelope, part.len == 0 && !part.is_last) else { return };
        let _panic_flag = PanicFlag(&self.handoff);
        let mut at_start = None;
        if block.before.state == INSIDE {
            let Some(validator) = self.handoff.take(block.seq) else { return };
            at_start = Some(validator.clone());
            self.checker.validator = validator;
        }
        self.reader.go_to(before);
        let input = &block.bytes[..part.len];
        let end = if part.is_last { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = self.reader.over(input, end);
        let mut checked = Checked { is_last: part.is_last, ..Checked::new(&pass, self.acknowledges) };
        if let Err(error) = self.checker.pass(&mut pass, &mut checked) {
            lot.end = Some(error.findings().into());
        }
        debug_assert_eq!(pass.finish(), part.len, "a block ends where the cutter's reader had done with it");
        debug_assert_eq!(checked.counts.transactions, part.documents, "the cutter found the same transactions");
        if block.after.state == INSIDE {
            let next = Checker::validator(self.checks.0, self.checks.1);
            self.handoff.put(block.seq + 1, core::mem::replace(&mut self.checker.validator, next));
        }
        if checked.is_overfull {
            let validator = at_start.unwrap_or_else(|| Checker::validator(self.checks.0, self.checks.1));
            let (reader, checker) = (EnvelopeReader::clone(before), self.checker.with(validator));
            checked.again = Some(Box::new(Again { bytes: input.to_vec(), end, reader, checker }));
        }
        lot.attachment = Some(Box::new(checked));
    }
}

/// Validators of transactions that continue in the next block.
#[derive(Debug, Default)]
pub(super) struct ValidatorHandoff {
    waiting: Mutex<BTreeMap<u64, Validator>>,
    changed: Condvar,
    /// A lane panicked: nobody waits for it.
    broken: AtomicBool,
}

impl ValidatorHandoff {
    fn put(&self, seq: u64, validator: Validator) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(seq, validator);
        self.changed.notify_all();
    }

    /// Waits for the validator of the previous block. The lane of that block got the block earlier and waits at most for earlier blocks, so a
    /// deadlock is impossible.
    fn take(&self, seq: u64) -> Option<Validator> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(validator) = waiting.remove(&seq) {
                return Some(validator);
            }
            if self.broken.load(Ordering::Relaxed) {
                return None;
            }
            waiting = self.changed.wait_timeout(waiting, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Interval at which a waiting lane checks whether it must still wait.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Informs the other lanes that this one panicked.
struct PanicFlag<'r>(&'r ValidatorHandoff);

impl Drop for PanicFlag<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// Reports blocks in order.
pub(super) struct OrderedReporter<'v> {
    pub(super) reporter: Reporter<'v>,
    pub(super) progress: Option<&'v dyn Progress>,
    pub(super) bytes_total: Option<u64>,
    pub(super) bytes: u64,
    pub(super) ended: bool,
}

impl OrderedSink for OrderedReporter<'_> {
    type Error = ConvertError;

    fn write(&mut self, lot: &mut Lot, _clock: &mut Clock) -> Result<(), ConvertError> {
        let Some(attachment) = lot.attachment.take() else { return Ok(()) };
        let checked: Box<dyn Any> = attachment;
        let mut checked: Box<Checked> = checked.downcast().expect("the lanes of a validation attach what they checked");
        match checked.again.take() {
            Some(again) => self.check(*again)?,
            None => self.take(&checked)?,
        }
        self.bytes = lot.after.offset.0;
        self.ended |= checked.is_last;
        if let Some(progress) = self.progress {
            progress.advance(Advance {
                source_bytes: self.bytes,
                source_bytes_total: self.bytes_total,
                records: self.reporter.counts.transactions,
                rejected: self.reporter.counts.transactions_bad,
                output_bytes: 0,
            });
        }
        Ok(())
    }
}

/// Reports the faults of a block piece by piece while it is checked.
struct Pieces<'o, 'v> {
    ordered: &'o mut OrderedReporter<'v>,
    checked: Checked,
}

impl Listener for Pieces<'_, '_> {
    #[inline(always)]
    fn on_event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) -> Result<(), ConvertError> {
        self.checked.put(event, pass, faults);
        if self.checked.faults.len() < FAULTS_MAX {
            return Ok(());
        }
        let next = Checked::new(pass, self.ordered.acknowledges());
        self.ordered.take(&core::mem::replace(&mut self.checked, next))
    }

    fn by_guide(&mut self, guide: &CompiledGuide) {
        self.checked.counts.by_guide(guide);
    }
}

impl OrderedReporter<'_> {
    fn acknowledges(&self) -> Acknowledges {
        if self.reporter.acknowledgment.is_some() { Acknowledges::Yes } else { Acknowledges::No }
    }

    /// Checks a block whose faults are too many to wait for their turn.
    fn check(&mut self, again: Again) -> Result<(), ConvertError> {
        let Again { bytes, end, mut reader, mut checker } = again;
        let mut pass = reader.over(&bytes, end);
        let checked = Checked::new(&pass, self.acknowledges());
        let mut pieces = Pieces { ordered: self, checked };
        checker.pass(&mut pass, &mut pieces)?;
        let Pieces { ordered, checked } = pieces;
        ordered.take(&checked)
    }

    /// Reports and acknowledges what was checked.
    fn take(&mut self, checked: &Checked) -> Result<(), ConvertError> {
        self.report(checked)?;
        if let Some(recorded) = &checked.recorded {
            self.reporter.acknowledge(recorded, &checked.faults)?;
        }
        for (name, count) in &checked.counts.guides {
            *self.reporter.counts.guides.entry(name.clone()).or_default() += count;
        }
        Ok(())
    }

    fn report(&mut self, checked: &Checked) -> Result<(), ConvertError> {
        let mut open = 0;
        for (fault, transaction) in checked.faults.iter().zip(&checked.transactions) {
            if core::mem::replace(&mut open, *transaction) != *transaction {
                self.reporter.next_transaction();
            }
            self.reporter.found(fault)?;
        }
        if open != checked.counts.transactions {
            self.reporter.next_transaction();
        }
        let counts = &mut self.reporter.counts;
        counts.interchanges += checked.counts.interchanges;
        counts.groups += checked.counts.groups;
        counts.transactions += checked.counts.transactions;
        Ok(())
    }
}
