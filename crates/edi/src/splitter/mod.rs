//! Finds the segments of a stream of interchanges.
//!
//! # Notes for the next editor
//!
//! **The law.** A stream gives the same steps, positions and faults for any division of the input. Before a segment's terminator
//! is in the input, the splitter may report only what it would also report for the complete segment, in the same order.
//! `an_early_look_says_what_a_late_one_says` lists the cases that once broke the law. Three tests check it:
//! `trace_all_ways` reads each vector whole, byte by byte and cut at each position; `any_chunking_gives_the_same_events` cuts random
//! text; the fuzz target `edi` cuts its input.
//!
//! **Two ways to a segment.** `Pass::plain` takes a segment by its number in the index and changes only `next`.
//! `Pass::other` handles everything else. `found`, `at` and the splitter's `segment` therefore lag behind `next` until `settle` runs,
//! which is the first action of `other`. Outside of `other`, read positions through `segment_start`, `segment_number` and
//! `consumed`: they add the difference. `plain_segments_are_found_as_by_the_careful_way` compares both ways; it lowers `elements_max`
//! below the elements of a window, which sends every segment the careful way.
//!
//! * `plain` is correct only below the limit of the index, which `other` sets: data segments of an open interchange, without code
//!   extension, in a window that has no more elements than one segment may have and no segment longer than `WINDOW`, and before the
//!   first mark (a release character or line break).
//! * No segment of the index is too long, because a window has at most `segment_bytes_max + 1` bytes, the terminator included. Only a
//!   scan that finds no terminator has to check the limit.
//! * `OF_NOTE` may send a harmless segment the careful way, never the other way round. A tag that needs more checks belongs in its
//!   list.
//!
//! **Positions are relative.** Those of the index count from `base` and belong to `text`. Code that moves `at` by other means and
//! stays in `Mode::Inside` must leave the index without a next segment: `forget_index`, or a scan that found none. Two cases
//! are surprising: in text with code extension, `text` is the segment as UTF-8, so its positions do not apply to the input (`source` has
//! the bytes); and in binary data (BIN, BDS) the index finds delimiters that are data, so `special` calls `binary` before it checks
//! elements, line breaks or the tag.
//!
//! **Cost.** The caller holds at most one segment, and each byte is examined a constant number of times, even if few arrive at once:
//! `looked` records the examined part of the open segment, and `leave_gap` drops white space as it comes. `gaps.rs` times both.
//! An earlier version read the open segment again with every piece that arrived, which grew with the square of its length.
//!
//! **Checkpoints.** A field that outlives a segment and changes later steps or faults belongs in `put_state` and `from_state`
//! (`state.rs`). Otherwise a reader that resumes there differs: `a_reader_goes_on_from_any_place`. Faults that are reported once in
//! an interchange have their flag in `Told`, which each header resets.
//!
//! **Speed.** Earlier versions kept a cursor of four positions, later all of `Found`, for every plain segment. The store of the
//! cursor stalled the next load, so a plain segment is now identified by a number. A window of 8 KiB is as fast as one of 4 KiB; 16 KiB is a tenth
//! slower.

mod between;
mod binary;
mod extended;
mod merged;
mod package;
mod scan;
mod special;
mod state;
mod style;

use crate::position::EndOfInput;
use quayline_charset::{DelimiterIndex, SegmentSpan};
use quayline_core::{ByteOffset, Limits, Severity};

use crate::delimiters::{Delimiters, Standard};
use crate::fault::{EdiError, EdiFault, FaultContext};
use crate::position::Position;
use crate::segment::Segment;
use between::NoiseTags;
use extended::Extended;
pub(crate) use style::Style;

/// Finds interchanges, segments and elements in a byte stream, of both standards, with any number of consecutive interchanges.
///
/// It keeps no text: [`SegmentSplitter::over`] processes the caller's buffer and returns how much of it is consumed. The caller keeps the
/// rest, appends more bytes and calls again. The rest is at most one segment, limited by [`Limits::segment_bytes_max`], or one
/// piece of binary data or object of a package, limited by [`Limits::record_bytes_max`]. Further memory: some positions per byte of a window of 4
/// KiB, and more only for a longer segment.
///
/// Faults are collected ([`SegmentSplitter::take_faults`]) and skipped, so one fault costs one segment at most:
/// * bytes outside of interchanges, up to the next one;
/// * an unusable header, and all bytes up to the next interchange;
/// * a segment that is too long or has too many elements.
///
/// ```
/// use quayline_core::Limits;
/// use quayline_edi::{EndOfInput, Rules, SegmentSplitter, Step};
///
/// let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
/// let mut pass = splitter.over(b"UNB+UNOA:3+A+B+990802:1557+1'UNZ+0+1'", EndOfInput::Yes);
/// assert_eq!(pass.advance(), Step::Interchange);
/// assert_eq!(pass.advance(), Step::Segment);
/// assert_eq!(pass.segment().element(5).map(|reference| reference.raw()), Some(&b"1"[..]));
/// assert_eq!(pass.advance(), Step::Segment);
/// assert_eq!(pass.segment().tag(), b"UNZ");
/// assert_eq!(pass.advance(), Step::Done);
/// ```
#[derive(Clone, Debug)]
pub struct SegmentSplitter {
    rules: Rules,
    segment_bytes_max: usize,
    elements_max: usize,
    binary_bytes_max: usize,
    faults_max: usize,
    mode: Mode,
    delimiters: Delimiters,
    /// Position of the first byte that no pass has consumed.
    offset: u64,
    interchange: u32,
    segment: u64,
    /// White space after the first terminator of the interchange.
    pub(crate) line_break: LineBreak,
    /// The interchange begins with UNA.
    pub(crate) una: bool,
    /// Bytes before the header of the interchange that begins: UNA and white space.
    una_bytes: usize,
    /// Fifth service character of UNA. It has a meaning only from syntax 4 on.
    pub(crate) reserved: u8,
    /// Style of the interchange before, whose levels may be closed only when the next one begins.
    before: Style,
    /// Bytes after the last segment that are known not to contain a terminator.
    looked: usize,
    /// Number of the segment after which the splitter dropped a gap of white space.
    gap_behind: Option<u64>,
    /// Flags of faults that are reported once in an interchange.
    told: Told,
    faults: Vec<EdiFault>,
    faults_more: u64,
    /// Faults whose positions are complete.
    numbered: usize,
    /// The source ends inside a segment.
    pub(crate) cut: bool,
    /// True if the current segment is the rest of the source and has no terminator.
    pub(crate) open_end: bool,
    index: DelimiterIndex,
    /// The window of the index is printable ASCII, but for line breaks.
    printable: bool,
    extended: Extended,
}

/// Handling of departures from the standards; the data that is read is the same.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Rules {
    /// Leniencies are warnings, white space between segments is nothing.
    #[default]
    Lenient,
    /// All departures are errors.
    Strict,
}

/// Result of [`Pass::advance`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// An interchange begins; its header is the next segment.
    Interchange,
    /// A segment.
    Segment,
    /// The input ends before the next segment does: finish the pass and begin another with more bytes.
    NeedMore,
    /// The source has ended.
    Done,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// At the first byte of the stream.
    First,
    /// Between interchanges: nothing but white space so far.
    Between,
    /// Between interchanges, after other bytes from `from` on. `told` is true if they have a fault; `before` is the last of these bytes.
    Noise { from: u64, told: bool, before: u8, tags: NoiseTags },
    /// Before the first segment of an interchange.
    Header,
    /// After the first segment.
    Inside,
    /// In a segment that is too long.
    PassOver { released: bool },
    /// In binary data that is too long.
    PassBytes { left: u64 },
    /// Before the object of a package, with its number of bytes from UNO.
    Object { declared: u64 },
    /// After the end.
    Done,
}

/// Line ends after segment terminators.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LineBreak {
    /// No line end: segments are adjacent.
    #[default]
    None,
    /// LF.
    Lf,
    /// CR LF.
    CrLf,
}

impl LineBreak {
    /// Returns the bytes of the line end.
    #[must_use]
    pub fn bytes(self) -> &'static [u8] {
        match self {
            LineBreak::None => b"",
            LineBreak::Lf => b"\n",
            LineBreak::CrLf => b"\r\n",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    break_inside: bool,
    release: bool,
    nesting: bool,
    break_behind: bool,
    empty: bool,
    /// Segment number of the last reported package.
    package: u64,
}

/// Bytes of the first window of an interchange: many are short.
const WINDOW_FIRST: usize = 1 << 10;
/// Bytes of a window that stays in the first-level cache with its positions; twice that is as fast, four times a tenth slower.
const WINDOW: usize = 1 << 12;

impl SegmentSplitter {
    /// Starts at the beginning of a stream.
    #[must_use]
    pub fn new(limits: &Limits, rules: Rules) -> Self {
        SegmentSplitter {
            rules,
            segment_bytes_max: limits.segment_bytes_max.max(1),
            elements_max: limits.segment_elements_max,
            binary_bytes_max: limits.record_bytes_max,
            faults_max: limits.findings_max,
            mode: Mode::First,
            delimiters: Delimiters::X12,
            offset: 0,
            interchange: 0,
            segment: 0,
            line_break: LineBreak::None,
            una: false,
            una_bytes: 0,
            reserved: b' ',
            before: Style::NONE,
            looked: 0,
            gap_behind: None,
            told: Told::default(),
            faults: Vec::new(),
            faults_more: 0,
            numbered: 0,
            cut: false,
            open_end: false,
            index: DelimiterIndex::new(),
            printable: false,
            extended: Extended::default(),
        }
    }

    /// Creates a splitter that continues at `offset` from the result of [`SegmentSplitter::state`] there. Interchanges and segments are counted from
    /// there.
    #[must_use]
    pub fn resume(limits: &Limits, rules: Rules, offset: ByteOffset, state: u64) -> Self {
        let mut splitter = SegmentSplitter::new(limits, rules);
        splitter.offset = offset.0;
        splitter.delimiters = Delimiters::from_bits(state);
        splitter.extended.begin(state >> 56 & 0x80 != 0);
        splitter.mode = match state >> 56 & 0x7f {
            1 => Mode::Between,
            2 => Mode::Header,
            3 => Mode::Inside,
            4 => Mode::Done,
            _ => Mode::First,
        };
        splitter
    }

    /// Encodes the state for a checkpoint between two segments: the delimiters ([`Delimiters::to_bits`]) and, in the highest byte, its position: at
    /// the start (0), between interchanges (1), before (2) or after (3) the first segment of one, or at the end (4). The highest bit is set if the
    /// interchange's text uses code extension. `None` while an overlong segment is being skipped, and if an earlier escape sequence is still in
    /// effect.
    #[must_use]
    pub fn state(&self) -> Option<u64> {
        let place = match self.mode {
            Mode::First => 0,
            Mode::Between | Mode::Noise { .. } => 1,
            Mode::Header => 2,
            Mode::Inside => 3,
            Mode::Done => 4,
            Mode::PassOver { .. } | Mode::PassBytes { .. } | Mode::Object { .. } => return None,
        };
        let extended = u64::from(self.extended.is_on()) << 7;
        self.extended.is_at_start().then(|| (place | extended) << 56 | self.delimiters.to_bits())
    }

    /// Reads text with code extension (ISO 2022, EDIFACT's UNOX) as bytes, for a caller that overrides the character set. Delimiters
    /// are then found at every occurrence of their bytes.
    pub(crate) fn without_code_extension(&mut self) {
        self.extended.switch_off();
    }

    /// Returns the position of the first byte that no pass has consumed.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        ByteOffset(self.offset)
    }

    /// Returns the delimiters of the last interchange that began.
    #[must_use]
    pub fn delimiters(&self) -> &Delimiters {
        &self.delimiters
    }

    /// Begins a pass over `input`, which must begin with the first byte that no pass has consumed.
    pub fn over<'s>(&'s mut self, input: &'s [u8], end: EndOfInput) -> Pass<'s> {
        // Positions have 32 bits.
        let most = (u32::MAX >> 1) as usize;
        let (input, end) = if input.len() > most { (&input[..most], EndOfInput::No) } else { (input, end) };
        self.index.clear();
        Pass {
            splitter: self,
            input,
            end,
            at: 0,
            base: 0,
            text: input,
            window: WINDOW_FIRST,
            scanned: 0,
            next: 0,
            settled: 0,
            next_mark: 0,
            found: Found::default(),
        }
    }

    /// Returns the faults since the last call, in file order, at most `Limits::findings_max` for a file.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.faults_max = self.faults_max.saturating_sub(self.faults.len());
        self.numbered = 0;
        self.faults.drain(..)
    }

    /// Returns true if there are faults.
    #[inline(always)]
    #[must_use]
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Faults beyond the limit.
    #[must_use]
    pub fn faults_more(&self) -> u64 {
        self.faults_more
    }

    /// Lets `number` complete the positions of the faults that were put aside since the last call.
    #[inline(always)]
    pub(crate) fn number_faults(&mut self, number: impl Fn(Position) -> Position) {
        if self.numbered != self.faults.len() {
            for fault in &mut self.faults[self.numbered..] {
                fault.at = number(fault.at);
            }
            self.numbered = self.faults.len();
        }
    }

    #[cold]
    pub(crate) fn fault(&mut self, error: EdiError, at: Position) {
        self.fault_of(error, at, None);
    }

    #[cold]
    pub(crate) fn fault_of(&mut self, error: EdiError, at: Position, context: Option<FaultContext>) {
        self.cut |= matches!(error, EdiError::Unterminated | EdiError::BinaryCut { .. });
        if self.faults.len() >= self.faults_max {
            self.faults_more += 1;
            return;
        }
        let lenient = self.rules == Rules::Lenient && error.is_leniency();
        let severity = if lenient { Severity::Warning } else { Severity::Error };
        self.faults.push(EdiFault { error, at, severity, context: context.map(Box::new) });
    }
}

/// One look at the bytes that the caller has.
#[derive(Debug)]
pub struct Pass<'s> {
    splitter: &'s mut SegmentSplitter,
    input: &'s [u8],
    end: EndOfInput,
    /// First byte of the input after the last segment.
    at: usize,
    /// Byte of the input at which the positions of the index begin.
    base: usize,
    /// The input from there.
    text: &'s [u8],
    window: usize,
    /// Bytes of the window that the index has.
    scanned: usize,
    /// Number in the index of the segment after the current one.
    next: u32,
    /// Value of `next` when `found`, `at` and the splitter's `segment` were set; [`Pass::plain`] does not update them.
    settled: u32,
    /// Number in the index of the first mark after the current segment.
    next_mark: u32,
    /// The segment that was found last, if not by [`Pass::plain`].
    found: Found,
}

/// The segment that was found last.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// First byte of the segment in the input.
    begin: usize,
    /// Number of the segment in the index.
    number: u32,
    /// First byte of the segment relative to `Pass::base`.
    start: u32,
    /// Properties that the index does not have.
    own: Own,
    /// Numbers of its first mark and of the one after its last.
    marks: (u32, u32),
}

/// Properties of a segment that the index does not have: its tag, if that contains a line break or explicit nesting (`LIN:1`, which syntax 4 of
/// EDIFACT dropped), followed by its length; 0 if the tag equals the text; [`Own::BINARY`] if the last element is binary data.
#[derive(Clone, Copy, Debug, Default)]
struct Own([u8; 4]);

impl Own {
    const BINARY: u8 = u8::MAX;

    fn tag(bytes: [u8; 3], len: u8) -> Own {
        Own([bytes[0], bytes[1], bytes[2], len])
    }
}

/// Result of handling a segment of the index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Step(Step),
    /// The splitter skips the segment, or the index has become invalid.
    Again,
}

impl Pass<'_> {
    /// Advances to the next step.
    #[inline(always)]
    pub fn advance(&mut self) -> Step {
        loop {
            if self.plain() {
                return Step::Segment;
            }
            if let Verdict::Step(step) = self.other() {
                return step;
            }
        }
    }

    /// Returns the last segment that [`Pass::advance`] found.
    ///
    /// # Panics
    /// If the last step was not a segment.
    #[inline(always)]
    #[must_use]
    pub fn segment(&self) -> Segment<'_> {
        let (index, text, delimiters) = (&self.splitter.index, self.text, &self.splitter.delimiters);
        if self.next != self.settled {
            let SegmentSpan { start, ends, parts } = index.segment(self.next - 1).expect("it was found in the index");
            let printable = self.splitter.printable;
            return Segment {
                own_tag: &[],
                text,
                start,
                ends,
                parts,
                marks: &[],
                delimiters,
                binary: false,
                printable,
            };
        }
        let Found { start, own: Own(ref own), number, marks, .. } = self.found;
        let SegmentSpan { ends, parts, .. } = index.segment(number).expect("it was found in the index");
        let [tag @ .., tag_len] = own;
        let own_tag = tag.get(..usize::from(*tag_len)).unwrap_or_default();
        let text = self.splitter.extended.text().unwrap_or(text);
        // The range is valid; `get` lets the compiler drop values that the caller does not use.
        let marks = index.marks().get(marks.0 as usize..marks.1 as usize).unwrap_or_default();
        Segment {
            own_tag,
            text,
            start,
            ends,
            parts,
            marks,
            delimiters,
            binary: *tag_len == Own::BINARY,
            printable: false,
        }
    }

    /// Returns the position of the current segment, by interchange and segment in it.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            byte: ByteOffset(self.splitter.offset + self.segment_start() as u64),
            interchange: self.splitter.interchange,
            segment: self.segment_number(),
            ..Position::default()
        }
    }

    /// Returns the number of the current segment in its interchange, counting the header as 1.
    #[inline(always)]
    #[must_use]
    pub fn segment_number(&self) -> u64 {
        self.splitter.segment + u64::from(self.next - self.settled)
    }

    /// Bytes of the input before the segment that was found last.
    #[inline(always)]
    #[must_use]
    pub fn segment_start(&self) -> usize {
        if self.next == self.settled {
            return self.found.begin;
        }
        self.base + self.splitter.index.behind(self.next - 1) as usize
    }

    /// Returns the position of the current segment in the file.
    #[inline(always)]
    pub(crate) fn segment_byte(&self) -> u64 {
        self.splitter.offset + self.segment_start() as u64
    }

    /// Returns the position of the last result in the file: of the segment or, at the end, of the bytes after the last one.
    pub(crate) fn end_byte(&self) -> ByteOffset {
        ByteOffset(self.splitter.offset + self.end_at() as u64)
    }

    /// Returns the bytes of the input before the last result: before the segment or, at the end, all of them.
    pub(crate) fn end_at(&self) -> usize {
        match self.splitter.mode {
            Mode::Done => self.consumed(),
            Mode::Header => self.consumed().saturating_sub(self.splitter.una_bytes),
            _ => self.segment_start(),
        }
    }

    /// Returns true if the source has ended.
    pub(crate) fn is_at_end(&self) -> bool {
        self.splitter.mode == Mode::Done
    }

    /// Bytes of the input that are done with.
    #[inline(always)]
    #[must_use]
    pub fn consumed(&self) -> usize {
        let behind = || self.base + self.splitter.index.behind(self.next) as usize;
        if self.next == self.settled { self.at } else { behind() }
    }

    /// Returns the splitter, for its faults and delimiters.
    #[must_use]
    pub fn splitter(&mut self) -> &mut SegmentSplitter {
        self.splitter
    }

    /// Returns true if the end of the source truncates the current segment, which is reported.
    #[inline(always)]
    pub(crate) fn is_cut_off(&self) -> bool {
        self.splitter.cut
    }

    /// Returns the original bytes of the current segment without its terminator, if they differ from its text.
    pub(crate) fn source(&self) -> Option<&[u8]> {
        self.splitter.extended.text()?;
        self.input.get(self.found.begin..self.at - usize::from(!self.splitter.open_end))
    }

    /// Returns the position in the input of byte `at` of the current segment's text.
    pub(crate) fn source_of(&self, at: usize) -> Option<usize> {
        let extended = &self.splitter.extended;
        match extended.text() {
            None => Some(self.segment_start() + at),
            Some(_) => extended.source_of(self.input, self.found.start as usize + at),
        }
    }

    /// Returns true if the segment has no terminator; that of an interchange's trailer is optional.
    pub(crate) fn is_open_end(&self) -> bool {
        self.splitter.open_end
    }

    pub(crate) fn delimiters(&self) -> &Delimiters {
        &self.splitter.delimiters
    }

    /// Returns the input from a position on.
    pub(crate) fn input_from(&self, at: usize) -> &[u8] {
        &self.input[at..]
    }

    /// Removes the fault of line breaks directly before a byte of the input: they do not lie inside a segment.
    pub(crate) fn take_break_back(&mut self, at: usize) {
        let breaks = self.input[..at].iter().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let end = self.splitter.offset + at as u64;
        let between = end - breaks as u64..end;
        let before = self.splitter.faults.len();
        let is_it = |fault: &EdiFault| fault.error == EdiError::LineBreakInside && between.contains(&fault.at.byte.0);
        self.splitter.faults.retain(|fault| !is_it(fault));
        if self.splitter.faults.len() < before {
            self.splitter.told.break_inside = false;
            self.splitter.numbered = self.splitter.faults.len();
        }
    }

    /// Ends the segment that was found last at a byte of the input, where its terminator is missing. The next step continues there.
    pub(crate) fn end_segment_at(&mut self, at: usize) {
        self.settle();
        self.at = at;
        self.forget_index();
    }

    /// Ends the trailer that was found last at a byte of the input, where another interchange begins.
    pub(crate) fn end_interchange_at(&mut self, at: usize) {
        self.end_segment_at(at);
        // The rest of the source may have been the last element of the trailer.
        self.splitter.open_end = false;
        self.splitter.mode = Mode::Between;
    }

    /// Undoes the step to the segment that was found last: this pass or another finds it again.
    pub(crate) fn put_back(&mut self) {
        self.settle();
        self.at = self.found.begin;
        self.splitter.segment -= 1;
        if matches!(self.splitter.mode, Mode::Object { .. }) {
            self.splitter.mode = Mode::Inside;
        }
        self.splitter.extended.put_back();
        self.forget_index();
    }

    /// Ends the pass. The caller drops the returned number of bytes from the start of its buffer.
    pub fn finish(self) -> usize {
        // `drop` moves the splitter's offset.
        self.consumed()
    }

    /// Moves to the next segment of the index if it is certainly plain data. This is the hot path; each instruction counts.
    #[inline(always)]
    fn plain(&mut self) -> bool {
        let number = self.next;
        let Some(SegmentSpan { start, ends, .. }) = self.splitter.index.segment_below_limit(number) else {
            return false;
        };
        let standard = self.splitter.delimiters.standard;
        if !is_data(self.text, start, &ends, standard) || merged::may_hold_header(self.text, start, &ends, standard) {
            return false;
        }
        self.next = number + 1;
        true
    }

    /// Moves to the next step on the careful path.
    #[inline(never)]
    fn other(&mut self) -> Verdict {
        self.settle();
        let found = if self.splitter.mode == Mode::Inside { self.indexed() } else { None };
        let verdict = found.unwrap_or_else(|| self.refill());
        let index = &mut self.splitter.index;
        // Segments from the next on that are certainly data without marks, and not too long.
        if self.splitter.mode == Mode::Inside
            && !self.splitter.extended.is_on()
            && index.ends().len() <= self.splitter.elements_max
            && self.scanned <= WINDOW
        {
            let plain =
                index.marks().get(self.next_mark as usize).map_or(u32::MAX, |mark| index.segments_before(*mark));
            index.set_limit(plain);
        } else {
            index.set_limit(0);
        }
        verdict
    }

    /// Updates the fields that [`Pass::plain`] does not.
    fn settle(&mut self) {
        self.found.begin = self.segment_start();
        self.at = self.consumed();
        self.splitter.segment = self.segment_number();
        self.settled = self.next;
    }

    /// Sets the number of the next segment in the index; the caller sets all other fields.
    fn go_on_at(&mut self, next: u32) {
        (self.next, self.settled) = (next, next);
    }

    /// Handles the next segment of the index, if there is one.
    fn indexed(&mut self) -> Option<Verdict> {
        let splitter = &mut *self.splitter;
        let index = &splitter.index;
        let number = self.next;
        let SegmentSpan { mut start, ends, .. } = index.segment(number)?;
        let end = ends.last().copied()?;
        let mut mark = self.next_mark;
        let marks = &index.marks()[mark as usize..];
        self.next_mark += u32_of(marks.iter().take_while(|at| **at < end).count());
        let text = &self.text[start as usize..end as usize];
        if text.first().is_some_and(|first| *first <= b' ') {
            start += splitter.blanks_behind(text, self.at);
            let marks = &splitter.index.marks()[mark as usize..self.next_mark as usize];
            mark += u32_of(marks.iter().take_while(|at| **at < start).count());
        }
        self.go_on_at(number + 1);
        self.at = self.base + end as usize + 1;
        let (begin, marks) = (self.base + start as usize, (mark, self.next_mark));
        self.found = Found { begin, number, start, own: Own::default(), marks };
        self.splitter.segment += 1;
        match self.header_inside() {
            None => {}
            Some(merged::Inside::At(header)) => return Some(self.cut_segment(header)),
            Some(merged::Inside::Unknown) => {
                self.put_back();
                return Some(Verdict::Step(Step::NeedMore));
            }
        }
        Some(if self.is_released_data() { Verdict::Step(Step::Segment) } else { self.special() })
    }

    /// Returns true if the current segment is valid data whose only marks are release characters after the tag.
    #[inline]
    fn is_released_data(&self) -> bool {
        let index = &self.splitter.index;
        let Found { number, start, marks, .. } = self.found;
        let Some(SegmentSpan { ends, .. }) = index.segment(number) else {
            return false;
        };
        let marks = &index.marks()[marks.0 as usize..marks.1 as usize];
        let delimiters = &self.splitter.delimiters;
        let released = |at: &u32| {
            let pair = self.text.get(*at as usize..).and_then(|text| text.first_chunk());
            pair.is_some_and(|[first, second]| Some(*first) == delimiters.release && needs_release(delimiters, *second))
        };
        is_data(self.text, start, &ends, delimiters.standard)
            && ends.len() - 1 <= self.splitter.elements_max
            && marks.first().is_none_or(|first| *first > ends[0])
            && marks.iter().all(released)
    }

    /// Makes the next step scan from the end of the current segment.
    fn forget_index(&mut self) {
        self.go_on_at(u32::MAX);
    }

    /// Returns true if an interchange begins at a byte of the input, so that the preceding one has no trailer. The caller then moves there.
    fn begins(&mut self, begin: usize) -> bool {
        let header = is_header(&self.input[begin..]);
        if header {
            self.splitter.mode = Mode::Between;
        }
        header
    }
}

/// Returns true if a text begins with the tag of an interchange's header.
fn is_header(text: &[u8]) -> bool {
    matches!(text.first_chunk::<3>(), Some(b"ISA" | b"UNA" | b"UNB"))
        && text.get(3).is_some_and(|byte| !byte.is_ascii_alphanumeric())
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // Count the segments found in the index, even if the pass ends before its last one.
        self.splitter.segment = self.segment_number();
        self.splitter.offset += self.consumed() as u64;
    }
}

impl SegmentSplitter {
    /// Returns the number of white space characters at the start of `text` that are not delimiters.
    fn blanks(&self, text: &[u8]) -> usize {
        let set = self.delimiters;
        let blank = |byte: &u8| matches!(byte, b'\r' | b'\n' | b' ' | b'\t') && !set.is_service(*byte);
        text.iter().take_while(|byte| blank(byte)).count()
    }

    /// Returns true if white space before this position was already dropped, so that the rest of it does not show the line break.
    fn is_in_gap(&self) -> bool {
        self.gap_behind == Some(self.segment)
    }

    /// Counts the white space at the start of a segment and reports it; `at` is its byte in the input.
    #[cold]
    fn blanks_behind(&mut self, text: &[u8], at: usize) -> u32 {
        let blanks = self.blanks(text);
        if self.segment == 1 && !self.is_in_gap() {
            self.line_break = match &text[..blanks] {
                b"\n" => LineBreak::Lf,
                b"\r\n" => LineBreak::CrLf,
                _ => LineBreak::None,
            };
        }
        if blanks > 0 && self.rules == Rules::Strict && !std::mem::replace(&mut self.told.break_behind, true) {
            let byte = ByteOffset(self.offset + at as u64);
            let at = Position { byte, interchange: self.interchange, segment: self.segment, ..Position::default() };
            self.fault(EdiError::BreakBehind, at);
        }
        u32_of(blanks)
    }
}

/// Returns true if a release character is of use before the byte. `*` may be the repetition separator of the next syntax version.
#[inline]
fn needs_release(delimiters: &Delimiters, byte: u8) -> bool {
    delimiters.is_service(byte) || byte == b'*'
}

/// Returns true if a segment has a tag and is certainly neither of the envelope nor with binary data.
#[inline(always)]
fn is_data(text: &[u8], start: u32, ends: &[u32], standard: Standard) -> bool {
    let start = start as usize;
    let (Some(&third), Some(&tag_end)) = (text.get(start + 2), ends.first()) else {
        return false;
    };
    let (first, second) = (text[start], text[start + 1]);
    let bits = OF_NOTE.0[usize::from(first)] & OF_NOTE.1[usize::from(second)] & OF_NOTE.2[usize::from(third)];
    // Arithmetic, because the length of a tag changes too often for branches: in X12 a tag has two or three bytes, in EDIFACT three.
    let tag_len = (tag_end as usize).wrapping_sub(start);
    let shorter = usize::from(standard == Standard::X12);
    // After a tag of two bytes, the third is the separator.
    let third_counts = if tag_len == 2 { !BAD_THIRD } else { u8::MAX };
    bits & third_counts == 0 && tag_len.wrapping_sub(3 - shorter) <= shorter
}

/// The third byte of a segment is neither a capital letter nor a digit.
const BAD_THIRD: u8 = 0x20;

/// Bits for the first, second and third byte of a segment. A segment needs a closer look if the three have a bit in common: one for each of
/// `ISA` and `ISX`, `IEA`, `UNA` with `UNB`, `UNO` and `UNZ`, `BIN`, `BDS`, and one for each of the three bytes that is not valid in a tag.
static OF_NOTE: ([u8; 256], [u8; 256], [u8; 256]) = {
    const NO_LETTER: u8 = 0x80;
    const BAD_SECOND: u8 = 0x40;
    const TAGS: [[u8; 3]; 9] = [*b"ISA", *b"ISX", *b"IEA", *b"UNA", *b"UNB", *b"UNO", *b"UNZ", *b"BIN", *b"BDS"];
    const ALL: u8 = NO_LETTER | BAD_SECOND | BAD_THIRD;
    let (mut first, mut second, mut third) = ([ALL; 256], [ALL; 256], [ALL; 256]);
    let mut byte = b'0';
    while byte <= b'Z' {
        if byte.is_ascii_uppercase() {
            first[byte as usize] = BAD_SECOND | BAD_THIRD;
        }
        if byte.is_ascii_uppercase() || byte.is_ascii_digit() {
            second[byte as usize] = NO_LETTER | BAD_THIRD;
            third[byte as usize] = NO_LETTER | BAD_SECOND;
        }
        byte += 1;
    }
    let mut tag = 0;
    while tag < TAGS.len() {
        // Tags that differ in their last byte only share a bit.
        let bit = match &TAGS[tag] {
            b"ISA" | b"ISX" => 1,
            b"IEA" => 2,
            b"UNA" | b"UNB" | b"UNO" | b"UNZ" => 4,
            b"BIN" => 8,
            _ => 16,
        };
        first[TAGS[tag][0] as usize] |= bit;
        second[TAGS[tag][1] as usize] |= bit;
        third[TAGS[tag][2] as usize] |= bit;
        tag += 1;
    }
    (first, second, third)
};

/// Positions within an input, which has less than 2^31 bytes.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "`SegmentSplitter::over` takes no more than 2^31 bytes of an input"
)]
fn u32_of(position: usize) -> u32 {
    position as u32
}
