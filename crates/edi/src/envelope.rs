//! Interchanges, groups and transactions: where they begin and end, whether their counts and control numbers are right.

mod header;
mod open;
mod seen;
mod state;

pub(crate) use header::Check;
pub use header::{Header, HeaderField, header_fields};

use quayline_core::{ByteOffset, Limits};

use crate::delimiters::{Delimiters, Standard};
use crate::fault::{EdiError, EdiFault, FaultContext};
use crate::level::{Level, Side};
use crate::position::Position;
use crate::segment::Segment;
use crate::splitter::{EndOfInput, LineBreak, Pass, Rules, SegmentSplitter, Step};
use open::Open;

/// Reads the envelopes of a stream of interchanges.
///
/// Events nest: whatever is wrong, each start has its end. What is wrong is put aside ([`EnvelopeReader::take_faults`]); one fault gives one
/// finding: a missing trailer does not make the counts around it wrong, and a file that is cut off lacks only what it lacked first.
///
/// # Checks
/// * Control numbers of header and trailer are equal: ISA13 and IEA02, GS06 and GE02, ST02 and SE02; UNB and UNZ, UNG and UNE, UNH and UNT.
/// * Counts are right: IEA01 groups, GE01 transaction sets, SE01 segments; UNZ groups or messages, UNE messages, UNT segments.
/// * Control numbers do not repeat within what is around them, as far as the last 4,096 runs of numbers tell.
/// * Header fields have the form that the standard gives ([`header_fields`]).
/// * Levels are closed before others open, and no segment stands outside of a transaction but those that may (TA1, ISX).
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
    /// The step that the pass made, while what it closes is still being told.
    held: Held,
    /// Something stood outside of transactions; told once until the next header.
    outside: bool,
    /// Transactions of the interchange that stand outside of groups.
    loose: u64,
    mixed: bool,
    /// The interchange was cut off, so nothing more is said of missing trailers.
    cut: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Held {
    No,
    Interchange,
    Control(Level, Side),
    Done,
}

/// What [`EnvelopePass::advance`] found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// An interchange begins; [`EnvelopePass::interchange`] is its header.
    InterchangeStart,
    /// A group begins.
    GroupStart,
    /// A transaction set or message begins; the segment is ST or UNH.
    TransactionStart,
    /// A segment between the header and trailer of a transaction, or one outside of any: [`EnvelopePass::in_transaction`] tells.
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

/// How something ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// By its trailer, which is the segment that was found last.
    ByTrailer,
    /// Because something else began or the source ended.
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
            },
        }
    }

    /// Reads EDIFACT's UNOX as bytes, for a caller who knows better what character set it is.
    pub(crate) fn without_code_extension(mut self) -> Self {
        self.splitter.without_code_extension();
        self
    }

    /// Looks at `input`, which begins with the first byte that no pass was done with.
    pub fn over<'s>(&'s mut self, input: &'s [u8], end: EndOfInput) -> EnvelopePass<'s> {
        EnvelopePass { pass: self.splitter.over(input, end), envelope: &mut self.envelope }
    }

    /// The faults since the last call, in the order in which they were found.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.splitter.take_faults()
    }

    /// Faults beyond `Limits::findings_max`.
    #[must_use]
    pub fn faults_more(&self) -> u64 {
        self.splitter.faults_more()
    }

    /// The first byte that no pass is done with.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.splitter.offset()
    }

    /// Header of the interchange that began last.
    #[must_use]
    pub fn interchange(&self) -> &Header {
        &self.envelope.interchange.header
    }

    /// A reader that goes on where this one stands, between two passes.
    #[must_use]
    pub fn snapshot(&mut self) -> EnvelopeReader {
        self.splitter.drop_index();
        self.clone()
    }

    /// Goes on from another reader with the same limits and rules; buffers are kept.
    pub fn go_to(&mut self, other: &EnvelopeReader) {
        self.splitter.go_to(&other.splitter);
        self.envelope.clone_from(&other.envelope);
    }

    /// Lets go of what a pass looked up, so that a copy is small.
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
    /// Goes to what comes next.
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
                            Some((level, side)) => self.envelope.held = Held::Control(level, side),
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

    /// The segment that was found last.
    ///
    /// # Panics
    /// If none was.
    #[inline(always)]
    #[must_use]
    pub fn segment(&self) -> Segment<'_> {
        self.pass.segment()
    }

    /// Position of the segment that was found last.
    #[must_use]
    pub fn position(&self) -> Position {
        self.envelope.number(self.pass.position())
    }

    /// Header of the interchange that began last.
    #[must_use]
    pub fn interchange(&self) -> &Header {
        &self.envelope.interchange.header
    }

    /// Header of the group that is open.
    #[must_use]
    pub fn group(&self) -> Option<&Header> {
        self.envelope.group.is_open.then_some(&self.envelope.group.header)
    }

    /// Number of the segment that was found last in its transaction, the header as 1; also of the trailer that ended it just now. 0 for one that
    /// cut it off, such as the header of another interchange.
    pub(crate) fn segment_in_transaction(&self) -> u64 {
        (self.pass.segment_number() + 1).saturating_sub(self.envelope.transaction.first)
    }

    /// Byte of the file where the segment that was found last begins.
    #[inline(always)]
    pub(crate) fn segment_byte(&self) -> u64 {
        self.pass.segment_byte()
    }

    /// Whether the source ends inside the segment that was found last, so that it is not what it was meant to be.
    #[inline(always)]
    pub(crate) fn is_cut(&self) -> bool {
        self.pass.is_cut_off()
    }

    /// Whether a segment of the envelope opens and closes nothing, because the source ends inside it: its tag may go on (`ST` of `STC`), or what
    /// it begins is not there.
    fn may_be_another(&self, level: Level, side: Side) -> bool {
        self.pass.is_cut_off()
            && level != Level::Interchange
            && (side == Side::Header || self.pass.segment().element(1).is_none())
    }

    /// Header of the group that began last.
    pub(crate) fn last_group(&self) -> &Header {
        &self.envelope.group.header
    }

    /// The delimiters, with what ISX adds.
    #[must_use]
    pub fn delimiters(&self) -> &Delimiters {
        self.pass.delimiters()
    }

    /// Line breaks between segments, and whether there is UNA.
    #[must_use]
    pub fn style(&self) -> (LineBreak, bool) {
        self.pass.style()
    }

    /// Whether all of what was read was told: here a reader may be left for another to go on.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.envelope.held == Held::No
    }

    /// Takes the segment that was found last back, one within a transaction.
    pub(crate) fn put_back(&mut self) {
        self.pass.put_back();
    }

    /// Puts a fault aside that a layer above found.
    pub fn put_fault(&mut self, error: EdiError, at: Position) {
        self.fault(error, at);
    }

    /// The same for the segment that was found last, whose tag acknowledgments repeat.
    pub fn put_segment_fault(&mut self, error: EdiError, at: Position) {
        let tag = self.pass.segment().tag().iter().take(3).map(|byte| char::from(*byte)).collect();
        let context = FaultContext { tag, ..FaultContext::default() };
        let splitter = self.pass.splitter();
        splitter.fault_of(error, at, Some(context));
        splitter.number_faults(|at| at);
    }

    /// Header of the transaction that began last.
    #[must_use]
    pub fn transaction(&self) -> &Header {
        &self.envelope.transaction.header
    }

    /// Whether the segment that was found last lies in a transaction.
    #[inline(always)]
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.envelope.transaction.is_open
    }

    /// The faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.pass.splitter().take_faults()
    }

    /// Whether there are any.
    #[must_use]
    pub fn has_faults(&mut self) -> bool {
        self.pass.splitter().has_faults()
    }

    /// Bytes of the input before the segment that was found last.
    #[must_use]
    pub fn segment_start(&self) -> usize {
        self.pass.segment_start()
    }

    /// The segment as it stands in the input, without its terminator, where that is not its text.
    pub(crate) fn source(&self) -> Option<&[u8]> {
        self.pass.source()
    }

    /// Bytes of the input that are done with.
    #[inline(always)]
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.pass.consumed()
    }

    /// Ends the pass; the caller drops so many bytes from the start of its buffer.
    #[must_use]
    pub fn finish(self) -> usize {
        self.pass.finish()
    }

    /// A segment outside of transactions.
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

    /// The elements of an interchange acknowledgment, which no guide is asked about.
    fn check_ta1(&mut self) {
        let (standard, level) = (Standard::X12, Level::Interchange);
        let at = self.position();
        for field in &header::TA1 {
            let value = self.pass.segment().element(field.element).map_or(&b""[..], |element| element.raw());
            let Some(expected) = field.check.expected(value) else { continue };
            let name = field.reference;
            let error = if value.is_empty() {
                EdiError::FieldMissing { standard, level, name }
            } else {
                EdiError::FieldFormat { standard, level, name, expected }
            };
            self.fault(error, at.element(u32::try_from(field.element).unwrap_or(0)));
        }
    }
}
