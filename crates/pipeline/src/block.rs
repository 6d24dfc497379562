//! Whole records of the source in one buffer.

use std::sync::Arc;

use quayline_columnar::RecordBatch;
use quayline_core::{ByteOffset, Finding, RecordNumber};
use quayline_edi::{DocumentReader, EnvelopeReader};
use quayline_frame::{RecordSpan, RecordSpans};

/// Bytes of a block before it has to grow for a record that does not fit. A block and its output stay in a core's second-level cache, and
/// one read call moves enough to hide its cost.
pub const BLOCK_BYTES: usize = 256 << 10;

/// Position of the source between two records.
#[derive(Clone, Debug)]
pub struct Position {
    /// First byte not consumed.
    pub offset: ByteOffset,
    /// Number of the record that begins there.
    pub next: RecordNumber,
    /// The cutter's state there.
    pub state: u64,
    /// For a source of interchanges: a reader that continues at this position.
    pub reader: Option<Arc<DocumentReader>>,
    /// For a validated source of interchanges: a reader of the envelope that continues at this position.
    pub envelope: Option<Arc<EnvelopeReader>>,
}

impl Position {
    /// The start of a source.
    pub const START: Position = Position::at(ByteOffset(0), RecordNumber::FIRST, 0);

    /// Returns true if a checkpoint may be written at this position.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.reader.as_ref().is_none_or(|reader| reader.state().is_some())
    }

    /// Creates a position of a source that needs no reader.
    #[must_use]
    pub const fn at(offset: ByteOffset, next: RecordNumber, state: u64) -> Position {
        Position { offset, next, state, reader: None, envelope: None }
    }
}

/// Whole records of the source. Each lane has one and reuses its memory.
#[derive(Debug)]
pub struct Block {
    /// Number of the block in this run, from 0.
    pub seq: u64,
    /// Content in `..filled`, followed by zeros.
    pub bytes: Vec<u8>,
    /// Bytes that came from the source.
    pub filled: usize,
    /// Positions of the records in the block.
    pub units: Units,
    /// Number of records before or after the units that are skipped.
    pub skipped: u64,
    /// Warning about the records that are skipped.
    pub warning: Option<Finding>,
    /// Position of the block's first byte in the source.
    pub before: Position,
    /// Position of the source after the block.
    pub after: Position,
}

/// Positions of the records of a block.
#[derive(Debug)]
pub enum Units {
    /// Records that the framing found.
    Records(RecordSpans),
    /// Documents of a text format.
    Documents(Vec<DocumentSpan>),
    /// A part of a stream of interchanges; its reader finds the documents again. It is one unit, so that it converts as one.
    Interchanges(EdiPart),
    /// Rows of columns; none before the first block is taken.
    Rows(Option<RecordBatch>),
}

/// A part of a stream of interchanges.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdiPart {
    /// Its bytes in the block; what is behind them is the next block's.
    pub len: usize,
    /// Bytes of the next block up to the end of its first segment, the header that ends this block's last transaction, which has no trailer.
    pub look: usize,
    /// Whether the source ends with it.
    pub is_last: bool,
    /// Whether it ends inside a transaction, whose last document in it is a page that others follow.
    pub ends_page: bool,
    /// Documents in it.
    pub documents: u64,
    /// True if the block ends inside a document, which continues in the next block of the same lane.
    pub goes_on: bool,
    /// True if the block is the complete source, whose documents were not counted before.
    pub is_whole: bool,
}

/// One document of a text format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DocumentSpan {
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// Line of its first byte, from 1; 0 if the format does not report lines.
    line: u64,
    column: u64,
}

impl Block {
    /// Creates an empty block for units of this kind.
    #[must_use]
    pub fn new(units: Units) -> Self {
        Block {
            seq: 0,
            bytes: Vec::new(),
            filled: 0,
            units,
            skipped: 0,
            warning: None,
            before: Position::START,
            after: Position::START,
        }
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        match &self.units {
            Units::Records(batch) => batch.len(),
            Units::Documents(spans) => spans.len(),
            Units::Interchanges(part) => usize::from(part.len > 0 || part.is_last),
            Units::Rows(batch) => batch.as_ref().map_or(0, RecordBatch::num_rows),
        }
    }

    /// Returns true if the next block belongs to the same lane.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(&self.units, Units::Interchanges(part) if part.goes_on)
    }

    /// Returns the bytes of record `i` without framing.
    #[inline]
    pub(crate) fn body(&self, i: usize) -> &[u8] {
        match &self.units {
            Units::Records(batch) => batch.body(&self.bytes, i),
            Units::Documents(spans) => &self.bytes[spans[i].start as usize..][..spans[i].len as usize],
            Units::Interchanges(part) => &self.bytes[..part.len],
            // Rows have no bytes of their own.
            Units::Rows(_) => &[],
        }
    }

    /// Returns the bytes of a part of interchanges, and the following bytes that end its last transaction.
    pub(crate) fn interchanges(&self, part: EdiPart) -> &[u8] {
        &self.bytes[..part.len + part.look]
    }

    /// Number of record `i` in the source.
    pub(crate) fn number(&self, i: usize) -> RecordNumber {
        match &self.units {
            Units::Records(batch) => batch.number(i),
            Units::Documents(_) | Units::Interchanges(_) | Units::Rows(_) => {
                RecordNumber(self.before.next.0 + i as u64)
            }
        }
    }

    /// Returns the position of record `i` in the source.
    pub(crate) fn offset(&self, i: usize) -> ByteOffset {
        match &self.units {
            Units::Records(batch) => batch.offset(i),
            Units::Documents(spans) => ByteOffset(self.before.offset.0 + u64::from(spans[i].start)),
            Units::Interchanges(_) | Units::Rows(_) => self.before.offset,
        }
    }

    /// Returns the line on which document `i` of a text begins, from 1.
    pub(crate) fn line(&self, i: usize) -> u64 {
        match &self.units {
            Units::Records(_) | Units::Interchanges(_) | Units::Rows(_) => 0,
            Units::Documents(spans) => spans[i].line,
        }
    }

    /// Returns the column in which document `i` of a text begins, from 1.
    pub(crate) fn column(&self, i: usize) -> u64 {
        match &self.units {
            Units::Records(_) | Units::Interchanges(_) | Units::Rows(_) => 0,
            Units::Documents(spans) => spans[i].column,
        }
    }

    /// Returns the position of record `i` if framing determined it.
    pub(crate) fn record_span(&self, i: usize) -> Option<RecordSpan> {
        match &self.units {
            Units::Records(batch) => Some(batch.span(i)),
            Units::Documents(_) | Units::Interchanges(_) | Units::Rows(_) => None,
        }
    }
}

impl DocumentSpan {
    /// # Panics
    /// If a block is larger than 4 GiB; the limit of the reader is far below.
    pub(crate) fn new(start: usize, len: usize) -> Self {
        let narrow = |n: usize| u32::try_from(n).expect("a block is smaller than 4 GiB");
        DocumentSpan { start: narrow(start), len: narrow(len), line: 0, column: 0 }
    }

    /// Sets the position in the text.
    pub(crate) fn on_line(self, line: u64, column: u64) -> Self {
        DocumentSpan { line, column, ..self }
    }
}
