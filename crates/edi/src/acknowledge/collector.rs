//! Collects the faults of an interchange by the level that acknowledges them.

use quayline_core::Severity;

use super::note::{Judgment, Note, Notes, judge};
use super::options::{AcknowledgmentOptions, AcknowledgmentTally, Functional, OnError, OutcomePolicy, SecurityFailure};
use super::output::{AcknowledgmentOutput, Held};
use super::refused::{REFUSED_MAX, is_refusal};
use super::rejections::OpenLevels;
use super::step::{Content, EnvelopeStep};
use super::text::Text;
use super::unit::BusinessUnit;
use super::x12::Answers;
use crate::control::{ControlKey, ControlMark, ControlNumbers};
use crate::delimiters::Standard;
use crate::envelope::{Closed, EnvelopePass, Event};
use crate::fault::{EdiError, EdiFault};
use crate::level::{Level, Side};
use crate::position::Position;
use crate::splitter::LineBreak;

/// Maximum size in bytes of the text that is buffered here before it goes to the output.
pub(super) const HOLD_BYTES: usize = 16 << 10;

/// Writes the acknowledgments of interchanges while they are read.
///
/// Pass it each event of an [`crate::EnvelopeReader`] with the faults found since the preceding event, both of the envelope and of
/// validation. The reader must report all faults (`Limits::findings_max`), because an unreported fault does not reject;
/// [`AcknowledgmentOptions::notes_max`] limits the memory used here.
///
/// ```
/// use quayline_core::Limits;
/// use quayline_edi::acknowledge::{AcknowledgmentOptions, Acknowledger, MemoryOutput, Stamp};
/// use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};
///
/// let input = b"UNB+UNOA:3+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'UNT+3+1'UNZ+1+1'";
/// let mut reader = EnvelopeReader::new(&Limits { findings_max: usize::MAX, ..Limits::default() }, Rules::Lenient);
/// let stamp = Stamp::new("20260401", "1200").expect("a date and a time");
/// let mut acknowledger = Acknowledger::new(AcknowledgmentOptions::new(stamp));
/// let mut output = MemoryOutput::default();
/// let mut pass = reader.over(input, EndOfInput::Yes);
/// loop {
///     let event = pass.advance();
///     let faults: Vec<_> = pass.take_faults().collect();
///     acknowledger.event(event, &pass, &faults, &mut output);
///     if event == Event::Done {
///         break;
///     }
/// }
/// // UNT declares three segments, which are two: error 29 in the second element of UNT, its tag counted.
/// assert_eq!(
///     output.written(),
///     b"UNB+UNOA:3+B+A+260401:1200+1'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UCM+1+ORDERS:D:96A:UN+4+29+UNT+2'UNT+4+1'UNZ+1+1'"
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Acknowledger {
    pub(super) options: AcknowledgmentOptions,
    pub(super) numbers: Box<dyn ControlNumbers>,
    pub(super) tally: AcknowledgmentTally,
    pub(super) interchange: Interchange,
    pub(super) group: Group,
    pub(super) transaction: Transaction,
    /// Buffered text of the innermost group or interchange.
    pub(super) body: Text,
    /// Buffer for heads and tails.
    pub(super) head: Text,
    pub(super) tail: Text,
    /// X12: the acknowledging interchange so far.
    pub(super) answers: Answers,
    /// Line breaks of the open interchange, and whether it has UNA. When it ends without a trailer, the pass already has those of the next one.
    pub(super) style: (LineBreak, bool),
    /// Headers that cannot be used, to be answered when the interchange before them is.
    pub(super) refused: Vec<EdiFault>,
}

/// The interchange that is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Interchange {
    pub(super) is_open: bool,
    number: u32,
    pub(super) notes: Notes,
    /// Groups of acknowledgments; CONTRL messages.
    pub(super) acknowledgments: u64,
    /// True if it contains TA1.
    pub(super) has_ta1: bool,
    /// Groups or messages to be acknowledged.
    pub(super) subjects: u64,
    /// Transactions that are not rejected, nor their group.
    accepted: u64,
}

/// The group that is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) is_open: bool,
    number: u32,
    /// Kind of reply; `None` for a group of acknowledgments.
    pub(super) answer: Option<Functional>,
    pub(super) notes: Notes,
    pub(super) received: u64,
    pub(super) accepted: u64,
    /// Some were accepted with errors.
    pub(super) with_errors: bool,
    pub(super) declared: Option<u64>,
    pub(super) security: Option<SecurityFailure>,
    /// Number of segments in the acknowledgment before the buffered text of this group (EDIFACT).
    pub(super) before: u64,
}

/// The transaction that is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Transaction {
    pub(super) is_open: bool,
    number: u32,
    /// True if it gets a reply: it is neither an acknowledgment nor empty.
    pub(super) answered: bool,
    pub(super) notes: Notes,
    pub(super) security: Option<SecurityFailure>,
    /// Decision of the caller, which overrides the policy.
    decision: Option<OnError>,
    /// The element that names units of business.
    pub(super) unit: Option<&'static BusinessUnit>,
    /// Last units: the segment that identifies each, and its value, which is empty where a unit ends. Faults may be reported some segments late.
    units: [(u64, Vec<u8>); UNITS_KEPT],
    /// Number of units so far.
    unit_count: usize,
}

const UNITS_KEPT: usize = 8;

impl Transaction {
    /// Returns the name and value of the business unit that contains a segment.
    fn unit_at(&self, segment: u64) -> Option<(&'static str, Box<[u8]>)> {
        let name = self.unit?.name;
        let kept = self.unit_count.min(UNITS_KEPT);
        let units = &self.units[..kept];
        let (_, value) = units.iter().filter(|(at, _)| *at <= segment).max_by_key(|(at, _)| *at)?;
        (!value.is_empty()).then(|| (name, value.as_slice().into()))
    }
}

impl Acknowledger {
    /// Starts before the first interchange.
    #[must_use]
    pub fn new(options: AcknowledgmentOptions) -> Self {
        let numbers = Box::new(options.numbers);
        Acknowledger::with_numbers(options, numbers)
    }

    /// Creates an acknowledger with external control numbers.
    #[must_use]
    pub fn with_numbers(options: AcknowledgmentOptions, numbers: Box<dyn ControlNumbers>) -> Self {
        Acknowledger {
            options,
            numbers,
            tally: AcknowledgmentTally::default(),
            interchange: Interchange::default(),
            group: Group::default(),
            transaction: Transaction::default(),
            body: Text::new(),
            head: Text::new(),
            tail: Text::new(),
            answers: Answers::default(),
            style: (LineBreak::None, false),
            refused: Vec::new(),
        }
    }

    /// Returns the counts of acknowledged units so far.
    #[must_use]
    pub fn tally(&self) -> AcknowledgmentTally {
        self.tally
    }

    /// Returns the state of the control numbers.
    #[must_use]
    pub fn numbers(&self) -> ControlMark {
        self.numbers.mark()
    }

    /// Returns the next control number for a reply to a transmission from `sender` to `receiver`, that is, for the opposite direction.
    pub(super) fn next_number(&mut self, standard: Standard, level: Level, sender: &[u8], receiver: &[u8]) -> String {
        let key = ControlKey { standard, level, sender: receiver.trim_ascii_end(), receiver: sender.trim_ascii_end() };
        self.numbers.next(&key)
    }

    /// Reports faults of the open transaction, or otherwise group or interchange, that the caller counted but no longer has. They are
    /// judged as errors.
    pub fn unseen(&mut self, faults: u64) {
        let level = if self.transaction.is_open {
            Level::Transaction
        } else if self.group.is_open {
            Level::Group
        } else {
            Level::Interchange
        };
        let Some(judgment) = judge(&self.options.outcomes, level, Severity::Error).filter(|_| faults > 0) else {
            return;
        };
        let notes = match level {
            Level::Transaction => &mut self.transaction.notes,
            Level::Group => &mut self.group.notes,
            Level::Interchange => &mut self.interchange.notes,
        };
        notes.judgment = notes.judgment.max(judgment);
        notes.more += faults;
        self.tally.unreported += faults;
    }

    /// Reports the security failure of the open transaction or otherwise group (S3S, S4S): `M`, `W` and `X` of AK5, IK5 and AK9,
    /// with the code for the reason. CONTRL rejects with error 27.
    pub fn security(&mut self, failure: SecurityFailure) {
        if self.transaction.is_open {
            self.transaction.security = Some(failure);
        } else if self.group.is_open {
            self.group.security = Some(failure);
        }
    }

    /// Decides on the open transaction, overriding [`AcknowledgmentOptions::outcomes`], for a caller that knows the outcome only at
    /// its end. Call it before the event that ends the transaction. A missing trailer and a security failure reject in any case.
    pub fn decide(&mut self, decision: OnError) {
        if self.transaction.is_open {
            self.transaction.decision = Some(decision);
        }
    }

    /// Takes an event of the reader and the faults that were found since the event before; `pass` is as the event left it.
    #[inline(always)]
    pub fn event(
        &mut self,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &[EdiFault],
        output: &mut impl AcknowledgmentOutput,
    ) {
        if event == Event::Segment && faults.is_empty() && self.transaction.is_open {
            if self.transaction.unit.is_some_and(|unit| unit.is_of(pass.segment().tag())) {
                self.remember_unit(Content::of_segment(pass, self.transaction.unit));
            }
            return;
        }
        self.live(event, pass, faults, output);
    }

    #[inline(never)]
    fn live(
        &mut self,
        event: Event,
        pass: &EnvelopePass<'_>,
        faults: &[EdiFault],
        output: &mut impl AcknowledgmentOutput,
    ) {
        self.step(&EnvelopeStep::of(event, pass, self.transaction.unit), faults, output);
    }

    /// Takes an event that was recorded ([`super::RecordedEvents`]) and the faults that were found since the event before.
    pub fn step(&mut self, step: &EnvelopeStep<'_>, faults: &[EdiFault], output: &mut impl AcknowledgmentOutput) {
        let event = step.event();
        if let Some(style) = step.style {
            self.style = style;
            self.body.line_break = self.style.0;
        }
        match event {
            Event::InterchangeStart => self.open_interchange(step),
            Event::GroupStart => {
                // Messages before it are not the group's, and their text must come before its text.
                self.hold(Level::Interchange, output);
                self.open_group(step);
            }
            Event::TransactionStart => self.open_transaction(step),
            Event::Segment => match step.content {
                Content::InterchangeAcknowledgment => self.interchange.has_ta1 = true,
                content => self.remember_unit(content),
            },
            Event::TransactionEnd(_)
            | Event::GroupEnd(_)
            | Event::InterchangeEnd(_)
            | Event::NeedMore
            | Event::Done => {}
        }
        for fault in faults {
            if is_refusal(fault) {
                if self.refused.len() < REFUSED_MAX {
                    self.refused.push(fault.clone());
                }
            } else {
                self.fault(fault);
            }
        }
        match event {
            Event::TransactionEnd(closed) => self.close_transaction(step, closed, output),
            Event::GroupEnd(closed) => self.close_group(step, closed, output),
            Event::InterchangeEnd(closed) => self.close_interchange(step, closed, output),
            _ => {}
        }
        if !self.interchange.is_open && !self.refused.is_empty() {
            self.answer_refused(output);
        }
    }

    fn open_interchange(&mut self, step: &EnvelopeStep<'_>) {
        let number = step.interchange().position().interchange;
        let mut notes = core::mem::take(&mut self.interchange.notes);
        notes.clear();
        self.interchange = Interchange { is_open: true, number, notes, ..Interchange::default() };
        self.group.is_open = false;
        self.transaction.is_open = false;
        self.answers = Answers::default();
        self.tally.interchanges += 1;
        self.body.answer(step.interchange(), self.style.0);
    }

    fn open_group(&mut self, step: &EnvelopeStep<'_>) {
        let header = step.group;
        let mut notes = core::mem::take(&mut self.group.notes);
        notes.clear();
        let number = header.position().group;
        self.group = Group { is_open: true, number, notes, ..Group::default() };
        self.tally.groups += 1;
        match header.delimiters().standard {
            Standard::X12 if &header.component(1, 1)[..] == b"FA" => self.interchange.acknowledgments += 1,
            Standard::X12 => {
                self.group.answer = self.functional_of(header);
                self.interchange.subjects += 1;
                self.body.answer(step.interchange(), self.style.0);
            }
            Standard::Edifact => {
                self.group.before = self.body.segments;
            }
        }
    }

    fn open_transaction(&mut self, step: &EnvelopeStep<'_>) {
        let header = step.transaction;
        self.tally.transactions += 1;
        self.group.received += 1;
        let transaction = &mut self.transaction;
        transaction.is_open = true;
        transaction.number = header.position().transaction;
        transaction.notes.clear();
        transaction.security = None;
        transaction.decision = None;
        transaction.unit = None;
        transaction.unit_count = 0;
        match header.delimiters().standard {
            Standard::X12 => {
                let kind = header.component(1, 1);
                let in_group = self.group.is_open && self.group.answer.is_some();
                transaction.answered = in_group && !matches!(&kind[..], b"997" | b"999");
                if self.group.answer == Some(Functional::Implementation) {
                    transaction.unit = BusinessUnit::of(header);
                }
            }
            Standard::Edifact => {
                let kind = header.component(2, 1);
                transaction.answered = &kind[..] != b"CONTRL";
                let count = if transaction.answered {
                    &mut self.interchange.subjects
                } else {
                    &mut self.interchange.acknowledgments
                };
                *count += 1;
            }
        }
    }

    /// Records the business unit if the segment identifies one, and its end.
    fn remember_unit(&mut self, content: Content<'_>) {
        let (Content::Unit { segment, value }, Some(_)) = (content, self.transaction.unit) else { return };
        let last = self.transaction.unit_count.checked_sub(1);
        let is_between = last.is_none_or(|last| self.transaction.units[last % UNITS_KEPT].1.is_empty());
        if value.is_empty() && is_between {
            return;
        }
        let (at, kept) = &mut self.transaction.units[self.transaction.unit_count % UNITS_KEPT];
        *at = segment;
        kept.clear();
        kept.extend_from_slice(value);
        self.transaction.unit_count += 1;
    }

    /// Assigns a fault to the innermost open level that has a code for it.
    fn fault(&mut self, fault: &EdiFault) {
        let open = OpenLevels {
            standard: self.body.delimiters.standard,
            interchange: self.interchange.is_open.then_some(self.interchange.number),
            group: self.group.is_open.then_some(self.group.number),
            transaction: self.transaction.is_open.then_some(self.transaction.number),
        };
        let Some(level) = open.level_of(fault) else { return };
        let Some(judgment) = judge(&self.options.outcomes, level, fault.severity) else { return };
        let mut note = Note::of(fault);
        if matches!(fault.error, EdiError::Unterminated | EdiError::BinaryCut { .. }) {
            // The file ends here, so the missing part is the trailer of the open level.
            note.service = Some((level, Side::Trailer));
        }
        let notes = match level {
            Level::Transaction => {
                note.unit = self.transaction.unit_at(note.own_segment());
                &mut self.transaction.notes
            }
            Level::Group => &mut self.group.notes,
            Level::Interchange => &mut self.interchange.notes,
        };
        let more = notes.more;
        notes.push(note, judgment, self.options.notes_max);
        self.tally.unreported += notes.more - more;
    }

    fn close_transaction(&mut self, step: &EnvelopeStep<'_>, closed: Closed, output: &mut impl AcknowledgmentOutput) {
        self.transaction.is_open = false;
        let standard = self.body.delimiters.standard;
        let notes = &mut self.transaction.notes;
        match self.transaction.decision {
            Some(OnError::Accept) => notes.judgment = notes.judgment.min(Judgment::WithErrors),
            Some(OnError::Reject) if notes.judgment < Judgment::Rejected => {
                notes.judgment = Judgment::Rejected;
                // The reply needs a reason, and its notes about segments and elements are not one.
                notes.more += 1;
            }
            Some(OnError::Reject) | None => {}
        }
        unclosed(&mut self.transaction.notes, closed, standard, Level::Transaction, &self.options.outcomes);
        if self.transaction.security.is_some() {
            self.transaction.notes.judgment = Judgment::Rejected;
        }
        match self.transaction.notes.judgment {
            Judgment::Accepted => {}
            Judgment::WithErrors => self.tally.transactions_with_errors += 1,
            Judgment::Rejected => self.tally.transactions_rejected += 1,
        }
        if self.transaction.notes.judgment != Judgment::Rejected {
            self.group.accepted += 1;
            self.interchange.accepted += 1;
            self.group.with_errors |= self.transaction.notes.judgment == Judgment::WithErrors;
        }
        if !self.transaction.answered {
            return;
        }
        match standard {
            Standard::X12 => self.answer_transaction(step),
            Standard::Edifact => self.answer_message(step),
        }
        if self.body.bytes.len() > HOLD_BYTES {
            let level = if self.group.is_open { Level::Group } else { Level::Interchange };
            self.hold(level, output);
        }
    }

    fn close_group(&mut self, step: &EnvelopeStep<'_>, closed: Closed, output: &mut impl AcknowledgmentOutput) {
        let standard = self.body.delimiters.standard;
        unclosed(&mut self.group.notes, closed, standard, Level::Group, &self.options.outcomes);
        if self.group.security.is_some() {
            self.group.notes.judgment = Judgment::Rejected;
        }
        match standard {
            Standard::X12 => {
                if let Content::Declared(count) = step.content {
                    self.group.declared = Some(count);
                }
                if self.group.answer.is_some() {
                    self.answer_group(step, output);
                }
            }
            Standard::Edifact => self.answer_edifact_group(step, output),
        }
        if self.group.notes.judgment == Judgment::Rejected {
            self.tally.transactions_rejected_with += self.group.accepted;
            self.interchange.accepted -= self.group.accepted;
        }
        self.group.is_open = false;
    }

    fn close_interchange(&mut self, step: &EnvelopeStep<'_>, closed: Closed, output: &mut impl AcknowledgmentOutput) {
        let standard = self.body.delimiters.standard;
        unclosed(&mut self.interchange.notes, closed, standard, Level::Interchange, &self.options.outcomes);
        if self.interchange.notes.judgment == Judgment::Rejected {
            self.tally.interchanges_rejected += 1;
            self.tally.transactions_rejected_with += self.interchange.accepted;
        }
        match standard {
            Standard::X12 => self.answer_interchange(step, output),
            Standard::Edifact => self.answer_edifact_interchange(step, output),
        }
        self.interchange.is_open = false;
    }

    /// Passes the buffered text to the output.
    pub(super) fn hold(&mut self, level: Level, output: &mut impl AcknowledgmentOutput) {
        if !self.body.bytes.is_empty() {
            output.hold(level, &self.body.bytes);
            self.body.bytes.clear();
        }
    }

    /// Discards all buffered text of an interchange.
    pub(super) fn discard_interchange(&mut self, output: &mut impl AcknowledgmentOutput) {
        self.body.bytes.clear();
        output.release(Level::Interchange, b"", Held::Discard, b"");
    }
}

/// Adds the fault of a missing trailer to a level that ends without one, even if the reader reported only a truncation further inside.
fn unclosed(notes: &mut Notes, closed: Closed, standard: Standard, level: Level, policy: &OutcomePolicy) {
    let trailer = Some((level, Side::Trailer));
    if closed == Closed::ByTrailer || notes.list.iter().any(|note| note.service == trailer) {
        return;
    }
    let (error, severity) = (EdiError::TrailerMissing { standard, level }, Severity::Error);
    if let Some(judgment) = judge(policy, level, severity) {
        let fault = EdiFault { error, at: Position::default(), severity, context: None };
        notes.push(Note::of(&fault), judgment, usize::MAX);
    }
}
