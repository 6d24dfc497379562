//! One record after another.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{ByteOffset, Limits, RecordNumber};

use crate::framing::{Framing, Measure, Reader};
use crate::{Cause, FrameFault, FramingSpec, RecordExtent, SpecError};

/// Splits a byte stream into records. Owns no input buffer; spanned records are put together in a buffer of at most
/// `Limits::record_bytes_max`.
///
/// Every call starts at a record boundary, so the state between two calls is the offset, the record number and one word. A fault
/// leaves the state unchanged: the next call with the same bytes returns it again.
#[derive(Clone, Debug)]
pub struct Splitter {
    reader: Reader,
    offset: ByteOffset,
    next: RecordNumber,
    state: u64,
    /// Bytes at the start of the input that are known to have no line end.
    scanned: usize,
    joined: Vec<u8>,
}

/// Whether the input is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndOfInput {
    /// More may follow.
    No,
    /// The source ends after the input.
    Yes,
}

/// Result of one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step<'a> {
    /// A record.
    Record {
        /// Body of the record, without any framing.
        body: &'a [u8],
        /// Offset of the body in the input; `None` for a record that was assembled from segments.
        at: Option<usize>,
        /// Bytes of the input that are done with: the body and all its framing.
        consumed: usize,
    },
    /// The input ends inside a record: call again with the same bytes and more.
    NeedMore {
        /// Fewest bytes that the next call needs to get further; always more than the input had.
        at_least: usize,
    },
    /// The source has ended at a record boundary.
    Done {
        /// Bytes after the last record that belong to none (deleted records).
        consumed: usize,
    },
}

impl Splitter {
    /// Starts at the beginning of a source.
    ///
    /// # Errors
    /// [`SpecError`] if the numbers in `spec` are impossible.
    pub fn new(spec: &FramingSpec, limits: &Limits) -> Result<Self, SpecError> {
        Splitter::resume(spec, limits, ByteOffset(0), RecordNumber::FIRST, 0)
    }

    /// Resumes at a record boundary that [`Splitter::offset`], [`Splitter::next_record`] and [`Splitter::state`] described.
    ///
    /// # Errors
    /// See [`Splitter::new`].
    pub fn resume(
        spec: &FramingSpec,
        limits: &Limits,
        offset: ByteOffset,
        next: RecordNumber,
        state: u64,
    ) -> Result<Self, SpecError> {
        spec.check(limits)?;
        Ok(Splitter { reader: Reader::new(spec, limits), offset, next, state, scanned: 0, joined: Vec::new() })
    }

    /// Returns the splitter with the means to find the end of a record, for [`FramingSpec::Layout`]; other framings do not use it.
    #[must_use]
    pub fn with_extent(mut self, extent: Option<Arc<dyn RecordExtent>>) -> Self {
        if let Reader::Layout(layout) = &mut self.reader {
            layout.extent = extent;
        }
        self
    }

    /// Returns the offset of the first byte of the source that was not consumed.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.offset
    }

    /// Returns the number of the record at [`Splitter::offset`].
    #[must_use]
    pub fn next_record(&self) -> RecordNumber {
        self.next
    }

    /// Returns the state for a checkpoint at [`Splitter::offset`]: bytes left in the current block, or the width of Micro Focus
    /// record headers.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Returns the next record of `input`, which starts at [`Splitter::offset`].
    ///
    /// # Errors
    /// [`FrameFault`] with record number and offset; the state stays as it was.
    pub fn split<'a>(&'a mut self, input: &'a [u8], end: EndOfInput) -> Result<Step<'a>, FrameFault> {
        self.joined.clear();
        let mut state = self.state;
        let mut joined = core::mem::take(&mut self.joined);
        let mut skipped = 0;
        let step = loop {
            let at = At { offset: ByteOffset(self.offset.0 + skipped as u64), record: self.next };
            let input = &input[skipped..];
            let step = match &self.reader {
                Reader::Fixed(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::Rdw(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::Blocked(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::Spanned(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::Lines(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::LengthField(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::MicroFocus(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
                Reader::Layout(f) => at.step(f, input, end, &mut state, &mut self.scanned, &mut joined),
            };
            match step {
                Ok(Found::Skipped { consumed }) => skipped += consumed,
                step => break step,
            }
        };
        self.joined = joined;
        match step? {
            Found::Record { consumed, body, in_joined } => {
                let consumed = skipped + consumed;
                self.state = state;
                self.offset.0 += consumed as u64;
                self.next.0 += 1;
                let at = (!in_joined).then_some(skipped + body.start);
                let body = if in_joined { &self.joined[body] } else { &input[skipped..][body] };
                Ok(Step::Record { body, at, consumed })
            }
            // A step has no form for skipped bytes alone, so the next call skips them again.
            Found::NeedMore { at_least } => Ok(Step::NeedMore { at_least: skipped + at_least }),
            Found::Skipped { .. } => unreachable!("the loop above passes them"),
            Found::Done { consumed } => {
                let consumed = skipped + consumed;
                self.offset.0 += consumed as u64;
                Ok(Step::Done { consumed })
            }
        }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Moves over records that the block splitter found.
    pub(crate) fn advance(&mut self, consumed: usize, records: usize, state: u64) {
        self.offset.0 += consumed as u64;
        self.next.0 += records as u64;
        self.state = state;
        if consumed > 0 {
            self.scanned = 0;
        }
    }

    pub(crate) fn set_scanned(&mut self, scanned: usize) {
        self.scanned = scanned;
    }

    pub(crate) fn scanned(&self) -> usize {
        self.scanned
    }
}

/// Result of one framing at a record boundary.
pub(crate) enum Found {
    Record {
        consumed: usize,
        body: Range<usize>,
        in_joined: bool,
    },
    /// Bytes that belong to no record, with more input after them.
    Skipped {
        consumed: usize,
    },
    NeedMore {
        at_least: usize,
    },
    Done {
        consumed: usize,
    },
}

/// A place at a record boundary, to complete faults with.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) offset: ByteOffset,
    pub(crate) record: RecordNumber,
}

impl At {
    /// Measures one record of one framing. If the result is not a record, `state` and `joined` are undefined.
    #[inline]
    pub(crate) fn step<F: Framing>(
        self,
        framing: &F,
        input: &[u8],
        end: EndOfInput,
        state: &mut u64,
        scanned: &mut usize,
        joined: &mut Vec<u8>,
    ) -> Result<Found, FrameFault> {
        match framing.measure(input, end, state, *scanned, joined) {
            Ok(Measure::Record { consumed, body }) => {
                *scanned = 0;
                Ok(Found::Record { consumed, body, in_joined: false })
            }
            Ok(Measure::Joined { consumed, body }) => Ok(Found::Record { consumed, body, in_joined: true }),
            Ok(Measure::Skipped { consumed }) => {
                *scanned = 0;
                Ok(Found::Skipped { consumed })
            }
            Ok(Measure::NeedMore { at_least, scanned: seen }) => {
                *scanned = seen;
                Ok(Found::NeedMore { at_least: at_least.max(input.len() + 1) })
            }
            Ok(Measure::Done { consumed }) => Ok(Found::Done { consumed }),
            Err(fault) => Err(FrameFault {
                kind: fault.kind,
                record: self.record,
                record_offset: self.offset,
                offset: ByteOffset(self.offset.0 + fault.at as u64),
                // A chain that is consistent for a record has the right byte order.
                cause: fault
                    .cause
                    .filter(|cause| *cause != Cause::OtherByteOrder || self.record == RecordNumber::FIRST),
            }),
        }
    }
}
