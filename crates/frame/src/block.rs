//! Many records at once: the whole records of a buffer, for a worker.

use std::collections::VecDeque;

use quayline_core::{ByteOffset, Limits, RecordNumber};

use crate::framing::{Framing, Reader};
use crate::splitter::{At, Found};
use crate::{EndOfInput, FrameFault, FrameFaultKind, FramingSpec, SpecError, Splitter};

/// Finds all whole records of a buffer in one call and leaves out header and trailer records.
///
/// Records of one length cost nothing each; others one [`RecordSpan`]. Bodies are not copied, except those of spanned records.
#[derive(Clone, Debug)]
pub struct BlockSplitter {
    splitter: Splitter,
    edges: Edges,
}

/// Header and trailer records to leave out, by their place in the file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Edges {
    /// Records at the start of the file. Interface files allow [`Edges::SKIP_FIRST_MAX`].
    pub skip_first: u64,
    /// Records at the end of the file, at most [`Edges::SKIP_LAST_MAX`]. The caller's buffer holds this many back until the end is
    /// known.
    pub skip_last: usize,
}

impl Edges {
    /// Most leading records that interface files skip: a file of rejects has a filler for each.
    pub const SKIP_FIRST_MAX: u32 = 10_000;
    /// Most trailing records that are looked ahead: they stay in the buffer.
    pub const SKIP_LAST_MAX: usize = 1_000;
}

/// Result of one call of [`BlockSplitter::block`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// Consumed bytes of the input. The next call's input starts after them.
    pub consumed: usize,
    /// Header and trailer records that were consumed and are not in the batch.
    pub skipped: u64,
    /// Reason for the end of the batch.
    pub end: BlockEnd,
}

/// Reason for the end of a batch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BlockEnd {
    /// The remaining input is an incomplete record, or may be a trailer and is held back.
    NeedMore {
        /// Fewest bytes after `consumed` that the next call needs for progress; more than there are now.
        at_least: usize,
    },
    /// The source has ended.
    Done,
    /// The framing is broken after the batch. Records held back as possible trailers are in the batch, so no sound record is lost;
    /// before an end-of-file mark, they are trailers.
    Fault(FrameFault),
}

/// Place of one record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RecordSpan {
    /// First byte of the record with its framing, in the input.
    pub frame: u32,
    /// First byte of the body, in the input or, for a record of several segments, in the batch's own buffer.
    pub body: u32,
    /// Bytes of the body.
    pub len: u32,
    /// Whether the body is in the batch's own buffer.
    pub joined: bool,
}

/// The records of one call, in order. Its memory is reused from call to call; it holds no borrow, so it can go to another thread along with
/// the input.
#[derive(Clone, Debug)]
pub struct RecordSpans {
    first: RecordNumber,
    base: ByteOffset,
    shape: SpansShape,
    spans: Vec<RecordSpan>,
    joined: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum SpansShape {
    Uniform { origin: usize, length: usize, count: usize },
    Spans,
}

impl Default for RecordSpans {
    fn default() -> Self {
        RecordSpans::new()
    }
}

impl RecordSpans {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        RecordSpans {
            first: RecordNumber::FIRST,
            base: ByteOffset(0),
            shape: SpansShape::Spans,
            spans: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.shape {
            SpansShape::Uniform { count, .. } => count,
            SpansShape::Spans => self.spans.len(),
        }
    }

    /// Returns whether the batch is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number in the file of record `i` (from 0) of the batch; header records count.
    #[must_use]
    pub fn number(&self, i: usize) -> RecordNumber {
        RecordNumber(self.first.0 + i as u64)
    }

    /// Returns the file offset of the body's first byte; for a record of several segments, of its first descriptor word.
    #[must_use]
    pub fn offset(&self, i: usize) -> ByteOffset {
        let span = self.span(i);
        ByteOffset(self.base.0 + u64::from(if span.joined { span.frame } else { span.body }))
    }

    /// Returns the place of record `i`.
    ///
    /// # Panics
    /// If `i` is not below [`RecordSpans::len`].
    #[must_use]
    pub fn span(&self, i: usize) -> RecordSpan {
        match self.shape {
            SpansShape::Uniform { origin, length, count } => {
                assert!(i < count, "record {i} of a batch of {count}");
                let narrow = |n: usize| u32::try_from(n).expect("a batch lies within 4 GiB of input");
                let at = narrow(origin + i * length);
                RecordSpan { frame: at, body: at, len: narrow(length), joined: false }
            }
            SpansShape::Spans => self.spans[i],
        }
    }

    /// Returns the body of record `i`; `input` is that of the call that filled the batch.
    ///
    /// # Panics
    /// If `i` is not below [`RecordSpans::len`], or if `input` is another, shorter one.
    #[must_use]
    pub fn body<'a>(&'a self, input: &'a [u8], i: usize) -> &'a [u8] {
        let span = self.span(i);
        let from = if span.joined { &self.joined } else { input };
        &from[span.body as usize..][..span.len as usize]
    }

    /// Iterates over all bodies in order.
    pub fn bodies<'a>(&'a self, input: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        (0..self.len()).map(move |i| self.body(input, i))
    }

    /// Returns the bytes of the records and the length of one, if the records have one length and follow each other in the input
    /// without gaps.
    #[must_use]
    pub fn uniform<'a>(&self, input: &'a [u8]) -> Option<(&'a [u8], usize)> {
        match self.shape {
            SpansShape::Uniform { origin, length, count } => Some((&input[origin..][..count * length], length)),
            SpansShape::Spans => None,
        }
    }

    fn start(&mut self, first: RecordNumber, base: ByteOffset) {
        self.first = first;
        self.base = base;
        self.shape = SpansShape::Spans;
        self.spans.clear();
        self.joined.clear();
    }
}

/// The input that one call looks at: spans count in 32 bits.
const INPUT_MAX: usize = u32::MAX as usize;

impl BlockSplitter {
    /// Starts at the beginning of a source.
    ///
    /// # Errors
    /// [`SpecError`] if the numbers in `spec` or `edges` are impossible.
    pub fn new(spec: &FramingSpec, edges: Edges, limits: &Limits) -> Result<Self, SpecError> {
        BlockSplitter::over(Splitter::new(spec, limits)?, edges)
    }

    /// Continues at the position of `splitter`.
    ///
    /// # Errors
    /// [`SpecError::SkipLast`].
    pub fn over(splitter: Splitter, edges: Edges) -> Result<Self, SpecError> {
        let (skip_last, most) = (edges.skip_last, Edges::SKIP_LAST_MAX);
        if skip_last > most {
            return Err(SpecError::SkipLast { skip_last, most });
        }
        Ok(BlockSplitter { splitter, edges })
    }

    /// Returns the offset of the first byte of the source that was not consumed.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.splitter.offset()
    }

    /// Returns the number of the record at [`BlockSplitter::offset`].
    #[must_use]
    pub fn next_record(&self) -> RecordNumber {
        self.splitter.next_record()
    }

    /// Returns the state for a checkpoint at [`BlockSplitter::offset`].
    #[must_use]
    pub fn state(&self) -> u64 {
        self.splitter.state()
    }

    /// Fills `out` with the whole records of `input`, which starts at [`BlockSplitter::offset`].
    ///
    /// Splits up to 4 GiB of input a call. Pass a few hundred KiB, and at least the bytes of one record.
    pub fn block(&mut self, input: &[u8], end: EndOfInput, out: &mut RecordSpans) -> Block {
        let (input, end) = if input.len() > INPUT_MAX { (&input[..INPUT_MAX], EndOfInput::No) } else { (input, end) };
        let at = At { offset: self.splitter.offset(), record: self.splitter.next_record() };
        out.start(at.record, at.offset);
        let mut index = Index {
            at,
            state: self.splitter.state(),
            scanned: self.splitter.scanned(),
            hold: self.edges.skip_last,
            held: VecDeque::new(),
        };
        let found = match self.splitter.reader() {
            Reader::Fixed(f) => index.uniform(f.length, input, end, out),
            Reader::Rdw(f) => index.spans(f, input, end, out),
            Reader::Blocked(f) => index.spans(f, input, end, out),
            Reader::Spanned(f) => index.spans(f, input, end, out),
            Reader::Lines(f) => index.spans(f, input, end, out),
            Reader::LengthField(f) => index.spans(f, input, end, out),
            Reader::MicroFocus(f) => index.spans(f, input, end, out),
            Reader::Layout(f) => index.spans(f, input, end, out),
        };
        self.splitter.advance(found.consumed, found.records, found.state);
        self.splitter.set_scanned(found.scanned);
        let leading = leave_out_first(out, self.edges.skip_first);
        Block { consumed: found.consumed, skipped: leading + found.trailing, end: found.end }
    }
}

/// Removes the records numbered up to `skip_first` from the batch and returns how many there were.
fn leave_out_first(out: &mut RecordSpans, skip_first: u64) -> u64 {
    let leading = (skip_first + 1).saturating_sub(out.first.0).min(out.len() as u64);
    let n = usize::try_from(leading).expect("at most the batch's length");
    if n > 0 {
        match &mut out.shape {
            SpansShape::Uniform { origin, length, count } => {
                *origin += n * *length;
                *count -= n;
            }
            SpansShape::Spans => {
                out.spans.drain(..n);
            }
        }
        out.first.0 += leading;
    }
    leading
}

/// The records of one input.
struct Index {
    at: At,
    state: u64,
    scanned: usize,
    /// Records to hold back.
    hold: usize,
    /// Position and state before each of the last `hold` records.
    held: VecDeque<(usize, u64)>,
}

/// Result of an [`Index`].
struct Indexed {
    consumed: usize,
    /// Records consumed, trailers included.
    records: usize,
    state: u64,
    scanned: usize,
    trailing: u64,
    end: BlockEnd,
}

impl Index {
    fn uniform(&mut self, length: usize, input: &[u8], end: EndOfInput, out: &mut RecordSpans) -> Indexed {
        let total = input.len() / length;
        let rest = input.len() % length;
        let fault = || {
            let wrong =
                crate::framing::short(&input[total * length..], EndOfInput::Yes, 0, length, crate::fault::Part::Record)
                    .err();
            wrong.map(|wrong| {
                let offset = ByteOffset(self.at.offset.0 + (total * length) as u64);
                let record = RecordNumber(self.at.record.0 + total as u64);
                FrameFault { kind: wrong.kind, record, record_offset: offset, offset, cause: wrong.cause }
            })
        };
        let held = self.hold.min(total);
        let (consumed, records, count, end) = match end {
            EndOfInput::No => {
                let whole = total - held;
                (whole, whole, whole, BlockEnd::NeedMore { at_least: (held + 1) * length })
            }
            EndOfInput::Yes => match (rest > 0).then(fault).flatten() {
                Some(fault) => (total, total, total, BlockEnd::Fault(fault)),
                None => (total, total, total - held, BlockEnd::Done),
            },
        };
        out.shape = SpansShape::Uniform { origin: 0, length, count };
        let trailing = (records - count) as u64;
        Indexed { consumed: consumed * length, records, state: 0, scanned: 0, trailing, end }
    }

    fn spans<F: Framing>(&mut self, framing: &F, input: &[u8], end: EndOfInput, out: &mut RecordSpans) -> Indexed {
        let mut pos = 0;
        let stop = loop {
            let before = self.state;
            let found = self.at.step(framing, &input[pos..], end, &mut self.state, &mut self.scanned, &mut out.joined);
            match found {
                Ok(Found::Record { consumed, body, in_joined }) => {
                    if self.hold > 0 {
                        if self.held.len() == self.hold {
                            self.held.pop_front();
                        }
                        self.held.push_back((pos, before));
                    }
                    let narrow = |n: usize| u32::try_from(n).expect("a batch lies within 4 GiB of input");
                    let start = if in_joined { body.start } else { pos + body.start };
                    out.spans.push(RecordSpan {
                        frame: narrow(pos),
                        body: narrow(start),
                        len: narrow(body.len()),
                        joined: in_joined,
                    });
                    pos += consumed;
                    self.at.offset.0 += consumed as u64;
                    self.at.record.0 += 1;
                }
                Ok(Found::Skipped { consumed }) => {
                    pos += consumed;
                    self.at.offset.0 += consumed as u64;
                }
                Ok(Found::NeedMore { at_least }) => break Ok(Some(at_least)),
                Ok(Found::Done { consumed }) => {
                    pos += consumed;
                    break Ok(None);
                }
                Err(fault) => break Err(fault),
            }
        };
        let mut records = out.spans.len();
        let mut trailing = 0;
        let end = match stop {
            // The lines before an end-of-file mark are whole, so the last of them are the trailers.
            Err(fault) if matches!(fault.kind, FrameFaultKind::EndMark { .. }) => {
                trailing = self.held.len() as u64;
                out.spans.truncate(records - self.held.len());
                BlockEnd::Fault(fault)
            }
            Err(fault) => BlockEnd::Fault(fault),
            Ok(None) => {
                trailing = self.held.len() as u64;
                out.spans.truncate(records - self.held.len());
                BlockEnd::Done
            }
            Ok(Some(at_least)) => {
                let needed = pos + at_least;
                if let Some((start, state)) = self.held.front().copied() {
                    records -= self.held.len();
                    out.spans.truncate(records);
                    (pos, self.state, self.scanned) = (start, state, 0);
                }
                BlockEnd::NeedMore { at_least: needed - pos }
            }
        };
        Indexed { consumed: pos, records, state: self.state, scanned: self.scanned, trailing, end }
    }
}
