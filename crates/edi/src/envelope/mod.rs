//! Interchanges, groups and transactions: their beginnings and ends, and the checks of their counts and control numbers.

mod agreement;
mod header;
mod open;
mod seen;
mod state;

pub(crate) use agreement::{OF_GROUP, dates_have_century};
pub(crate) use header::Check;
pub use header::{Header, HeaderField, header_fields};

use quayline_core::{ByteOffset, Limits};

use crate::delimiters::{Delimiters, Standard};
use crate::fault::{EdiError, EdiFault, FaultContext};
use crate::level::{Level, Side};
use crate::position::EndOfInput;
use crate::position::Position;
use crate::segment::Segment;
use crate::splitter::{LineBreak, Pass, Rules, SegmentSplitter, Step, Style};
use open::Open;

/// Reads the envelopes of a stream of interchanges.
///
/// Events nest: each start has an end even in a faulty interchange. Faults are collected for [`EnvelopeReader::take_faults`]. One fault gives one
/// finding: a missing trailer does not make the counts around it wrong, and for a truncated file only the first missing part is reported.
///
/// # Checks
/// * Control numbers of header and trailer are equal: ISA13 and IEA02, GS06 and GE02, ST02 and SE02; UNB and UNZ, UNG and UNE, UNH and UNT.
/// * Counts are correct: IEA01 groups, GE01 transaction sets, SE01 segments; UNZ groups or messages, UNE messages, UNT segments.
/// * Control numbers are unique within the enclosing level, as far as the last 4,096 runs of numbers show.
/// * Header fields have the format of the standard ([`header_fields`]) and, for dates, of its version.
/// * A message has the type and version of its group.
/// * Levels are closed before others open, and no segment is outside of a transaction except those that may be (TA1, ISX).
#[derive(Clone, Debug)]
pub struct EnvelopeReader {
    splitter: SegmentSplitter,
    envelope: Envelope,
}

#[derive(Clone, Debug)]
struct Envelope {
    interchange: Open,
    group: Open,
    transaction: Open,
    /// Current step of the pass, while the levels that it closes are being reported.
    held: Held,
    /// True after a segment outside of transactions, which is reported once before the next header.
    outside: bool,
    /// Number of transactions of the interchange outside of groups.
    loose: u64,
    mixed: bool,
    /// The interchange was cut off, so nothing more is said of missing trailers.
    cut: bool,
    /// The segment that comes next was read and judged before ([`EnvelopePass::put_header_back`]).
    again: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Held {
    No,
    Interchange,
    Control(Level, Side),
    Done,
}

/// Result of [`EnvelopePass::advance`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// An interchange begins; [`EnvelopePass::interchange`] is its header.
    InterchangeStart,
    /// A group begins.
    GroupStart,
    /// A transaction set or message begins; the segment is ST or UNH.
    TransactionStart,
    /// A segment between the header and trailer of a transaction, or one outside of any; see [`EnvelopePass::in_transaction`].
    Segment,
    /// The transaction ends; with a trailer, the segment is SE or UNT.
    TransactionEnd(Closed),
    /// The group ends.
    GroupEnd(Closed),
    /// The interchange ends.
    InterchangeEnd(Closed),
    /// The input ends before the next event: finish the pass and begin another with more bytes.
    NeedMore,
    /// The source has ended.
    Done,
}

/// Way in which a level ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// The level ended with its trailer, which is the current segment.
    ByTrailer,
    /// The level ended without a trailer: another level began, or the source ended.
    Unclosed,
}

impl EnvelopeReader {
    /// Starts at the beginning of a stream.
    #[must_use]
    pub fn new(limits: &Limits, rules: Rules) -> Self {
        EnvelopeReader {
            splitter: SegmentSplitter::new(limits, rules),
            envelope: Envelope {
                interchange: Open::new(Level::Interchange),
                group: Open::new(Level::Group),
                transaction: Open::new(Level::Transaction),
                held: Held::No,
                outside: false,
                loose: 0,
                mixed: false,
                cut: false,
                again: false,
            },
        }
    }

    /// Reads EDIFACT's UNOX as bytes, for a caller that overrides the character set.
    pub(crate) fn without_code_extension(mut self) -> Self {
        self.splitter.without_code_extension();
        self
    }

    /// Begins a pass over `input`, which must begin with the first byte that no pass has consumed.
    pub fn over<'s>(&'s mut self, input: &'s [u8], end: EndOfInput) -> EnvelopePass<'s> {
        EnvelopePass { pass: self.splitter.over(input, end), envelope: &mut self.envelope }
    }

    /// Returns the faults since the last call, in the order in which they were found.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.splitter.take_faults()
    }

    /// Faults beyond `Limits::findings_max`.
    #[must_use]
    pub fn faults_more(&self) -> u64 {
        self.splitter.faults_more()
    }

    /// Returns the position of the first byte that no pass has consumed.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.splitter.offset()
    }

    /// Returns the header of the last interchange that began.
    #[must_use]
    pub fn interchange(&self) -> &Header {
        &self.envelope.interchange.header
    }

    /// Returns a copy of the reader in its current state, between two passes.
    #[must_use]
    pub fn snapshot(&mut self) -> EnvelopeReader {
        self.splitter.drop_index();
        self.clone()
    }

    /// Copies the state of another reader with the same limits and rules; keeps the buffers.
    pub fn go_to(&mut self, other: &EnvelopeReader) {
        self.splitter.go_to(&other.splitter);
        self.envelope.clone_from(&other.envelope);
    }

    /// Drops the index of the last pass, so that a copy is small.
    pub(crate) fn drop_index(&mut self) {
        self.splitter.drop_index();
    }
}

/// One look at the bytes that the caller has.
#[derive(Debug)]
pub struct EnvelopePass<'s> {
    pass: Pass<'s>,
    envelope: &'s mut Envelope,
}

impl EnvelopePass<'_> {
    /// Advances to the next event.
    #[inline(always)]
    pub fn advance(&mut self) -> Event {
        loop {
            if self.envelope.held == Held::No {
                let step = self.pass.advance();
                let envelope = &*self.envelope;
                self.pass.splitter().number_faults(|at| envelope.number(at));
                match step {
                    Step::Segment => {
                        let segment = self.pass.segment();
                        match Level::of(segment.delimiters.standard, segment.tag()) {
                            None if self.envelope.transaction.is_open => return Event::Segment,
                            None => return self.outside(),
                            Some((level, side)) if self.may_be_another(level, side) => {
                                return if self.envelope.transaction.is_open { Event::Segment } else { self.outside() };
                            }
                            Some((level, side)) => {
                                if core::mem::take(&mut self.envelope.again) {
                                    self.pass.splitter().take_faults().for_each(drop);
                                }
                                self.envelope.held = Held::Control(level, side);
                            }
                        }
                    }
                    Step::NeedMore => return Event::NeedMore,
                    Step::Interchange => self.envelope.held = Held::Interchange,
                    Step::Done => self.envelope.held = Held::Done,
                }
            }
            if let Some(event) = self.held() {
                return event;
            }
        }
    }

    /// Returns the current segment.
    ///
    /// # Panics
    /// Before the first segment.
    #[inline(always)]
    #[must_use]
    pub fn segment(&self) -> Segment<'_> {
        self.pass.segment()
    }

    /// Returns the position of the current segment.
    #[must_use]
    pub fn position(&self) -> Position {
        self.envelope.number(self.pass.position())
    }

    /// Returns the header of the last interchange that began.
    #[must_use]
    pub fn interchange(&self) -> &Header {
        &self.envelope.interchange.header
    }

    /// Returns the header of the open group.
    #[must_use]
    pub fn group(&self) -> Option<&Header> {
        self.envelope.group.is_open.then_some(&self.envelope.group.header)
    }

    /// Returns the number of the current segment in its transaction, counting the header as 1. This includes the trailer that has just ended it. 0
    /// for a segment that cut the transaction off, such as the header of another interchange.
    pub(crate) fn segment_in_transaction(&self) -> u64 {
        (self.pass.segment_number() + 1).saturating_sub(self.envelope.transaction.first)
    }

    /// Returns the byte position of the current segment in the file.
    #[inline(always)]
    pub(crate) fn segment_byte(&self) -> u64 {
        self.pass.segment_byte()
    }

    /// Returns true if the source has ended.
    pub(crate) fn is_at_end(&self) -> bool {
        self.pass.is_at_end()
    }

    /// Returns true if the source ends inside the current segment, so that it is incomplete.
    #[inline(always)]
    pub(crate) fn is_cut(&self) -> bool {
        self.pass.is_cut_off()
    }

    /// Returns true if a segment of the envelope opens and closes nothing, because the source ends inside it: its tag may be incomplete (`ST` of
    /// `STC`), or the level that it begins is missing.
    fn may_be_another(&self, level: Level, side: Side) -> bool {
        self.pass.is_cut_off()
            && level != Level::Interchange
            && (side == Side::Header || self.pass.segment().element(1).is_none())
    }

    /// Returns the header of the last group that began.
    pub(crate) fn last_group(&self) -> &Header {
        &self.envelope.group.header
    }

    /// Returns the delimiters, including those of ISX. At the end of a level, they are those of its interchange, even if another one ended it.
    #[must_use]
    pub fn delimiters(&self) -> &Delimiters {
        if self.is_cut_by_another() { &self.pass.style_before().delimiters } else { self.pass.delimiters() }
    }

    /// Returns the line breaks between segments, and whether there is a UNA, of the interchange that [`EnvelopePass::delimiters`] describes.
    #[must_use]
    pub fn style(&self) -> (LineBreak, bool) {
        let Style { line_break, una, .. } = self.own_style();
        (line_break, una)
    }

    /// Returns the fifth service character of UNA if the syntax gives it no meaning; a blank without UNA.
    pub(crate) fn reserved(&self) -> u8 {
        let Style { delimiters, reserved, .. } = self.own_style();
        if delimiters.repetition.is_some() { b' ' } else { reserved }
    }

    fn own_style(&self) -> Style {
        if self.is_cut_by_another() { *self.pass.style_before() } else { self.pass.style() }
    }

    /// Returns true while the levels of an interchange are closed because another one begins: the splitter has read the delimiters of that one.
    fn is_cut_by_another(&self) -> bool {
        self.envelope.held == Held::Interchange
    }

    /// Removes the fault of line breaks that end `bytes` after the beginning of the last found segment, because they separate two segments.
    pub fn take_break_back(&mut self, bytes: usize) {
        let at = self.pass.segment_start() + bytes;
        self.pass.take_break_back(at);
    }

    /// Ends the segment that was found last `bytes` after its beginning. The rest is a separate segment, and the terminator between the two is
    /// missing ([`crate::Validator::take_cut`]).
    pub fn end_segment_at(&mut self, bytes: usize) {
        let at = self.pass.segment_start() + bytes;
        self.pass.end_segment_at(at);
    }

    /// Returns true if the reader has reported everything that it read, so that another reader may continue here.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.envelope.held == Held::No
    }

    /// Undoes the step to the segment that was found last, which is in a transaction.
    pub(crate) fn put_back(&mut self) {
        self.pass.put_back();
    }

    /// Undoes the last step if it found the header of a transaction that ended one without a trailer. Another reader may then begin with that
    /// header; the faults of its bytes are not reported again. Returns false if the last step found anything different.
    pub(crate) fn put_header_back(&mut self) -> bool {
        let is_header = self.envelope.held == Held::Control(Level::Transaction, Side::Header);
        if is_header {
            self.pass.put_back();
            self.envelope.held = Held::No;
            self.envelope.again = true;
        }
        is_header
    }

    /// Adds a fault that a higher layer found.
    pub fn put_fault(&mut self, error: EdiError, at: Position) {
        self.fault(error, at);
    }

    /// Adds a fault of the current segment, whose tag acknowledgments repeat.
    pub fn put_segment_fault(&mut self, error: EdiError, at: Position) {
        let tag = self.pass.segment().tag().iter().take(3).map(|byte| char::from(*byte)).collect();
        let context = FaultContext { tag, ..FaultContext::default() };
        let splitter = self.pass.splitter();
        splitter.fault_of(error, at, Some(context));
        splitter.number_faults(|at| at);
    }

    /// Returns the header of the last transaction that began.
    #[must_use]
    pub fn transaction(&self) -> &Header {
        &self.envelope.transaction.header
    }

    /// Returns true if the current segment is inside a transaction.
    #[inline(always)]
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.envelope.transaction.is_open
    }

    /// Returns the faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.pass.splitter().take_faults()
    }

    /// Returns true if there are faults.
    #[must_use]
    pub fn has_faults(&mut self) -> bool {
        self.pass.splitter().has_faults()
    }

    /// Bytes of the input before the segment that was found last.
    #[must_use]
    pub fn segment_start(&self) -> usize {
        self.pass.segment_start()
    }

    /// Bytes of the input up to the end of a level that has closed without its trailer: up to the segment that closed it, or the whole input if the
    /// source has ended, also in the middle of a segment.
    #[must_use]
    pub fn unclosed_end(&self) -> usize {
        self.pass.end_at()
    }

    /// Returns the original bytes of the segment without its terminator, if they differ from its text.
    pub(crate) fn source(&self) -> Option<&[u8]> {
        self.pass.source()
    }

    /// Bytes of the input that are done with.
    #[inline(always)]
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.pass.consumed()
    }

    /// Ends the pass. The caller drops the returned number of bytes from the start of its buffer.
    #[must_use]
    pub fn finish(self) -> usize {
        self.pass.finish()
    }

    /// Handles a segment outside of transactions.
    #[cold]
    fn outside(&mut self) -> Event {
        let standard = self.pass.segment().delimiters.standard;
        let may = standard == Standard::X12
            && !self.envelope.group.is_open
            && matches!(self.pass.segment().tag(), b"TA1" | b"ISX" | b"ISB" | b"ISE" | b"TA3");
        if self.pass.is_cut_off() {
            return Event::Segment;
        }
        if standard == Standard::Edifact && matches!(self.pass.segment().tag(), b"UNO" | b"UNP") {
            if self.pass.segment().tag() == b"UNO" {
                self.envelope.count_package();
            }
            return Event::Segment;
        }
        if !may && !core::mem::replace(&mut self.envelope.outside, true) {
            let at = self.position();
            self.fault(EdiError::Outside { standard }, at);
        }
        if may && self.pass.segment().tag() == b"TA1" {
            self.check_ta1();
        }
        Event::Segment
    }

    /// Checks the elements of an interchange acknowledgment, for which no guide applies.
    fn check_ta1(&mut self) {
        let (standard, level) = (Standard::X12, Level::Interchange);
        let at = self.position();
        for field in &header::TA1 {
            let value = self.pass.segment().element(field.element).map_or(&b""[..], |element| element.raw());
            let name = field.reference;
            let error = match field.check.expected(value) {
                Some(_) if value.is_empty() => EdiError::FieldMissing { standard, level, name },
                Some(expected) => EdiError::FieldFormat { standard, level, name, expected },
                // TA102 is ISA09, and TA103 is ISA10.
                None => match (name, value.len()) {
                    ("TA102", found) if found != 6 => EdiError::DateWidth { standard, level, name, expected: 6, found },
                    ("TA103", found) if found != 4 => EdiError::DateWidth { standard, level, name, expected: 4, found },
                    _ => continue,
                },
            };
            self.fault(error, at.element(u32::try_from(field.element).unwrap_or(0)));
        }
    }
}
