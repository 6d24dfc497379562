//! Reading the source and cutting it into blocks of whole records.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use quayline_columnar::ColumnReader;
use quayline_core::{ByteOffset, Finding, Limits, RecordNumber};

use crate::block::{Block, Position, Units};

/// Zero bytes kept after a block's content, so that copies of whole vectors may read beyond the last record.
pub(crate) const SLACK: usize = 64;

/// A block that is too small for one record grows by this part of its size, or by a block. It bounds both the bytes that are read again (eight
/// times each) and the memory that no record needs.
const GROWTH: usize = 8;

/// Finds whole records in a buffer.
pub trait Cutter: Send {
    /// Fills `block.units` and `block.skipped` from the complete records in `block.bytes[..block.filled]`, which begin at [`Cutter::position`].
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut;

    /// Returns the first byte not consumed, the number of its record and the state to continue with.
    fn position(&self) -> Position;
}

/// Relation of the buffer to the end of the source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceEnd {
    /// More may follow.
    No,
    /// The buffer ends with the source.
    Yes,
}

/// Result of one cut.
#[derive(Debug)]
pub struct Cut {
    /// Bytes done with; the rest is the start of the next block.
    pub consumed: usize,
    /// Reason for the end of the cut.
    pub end: CutEnd,
}

/// Reason for the end of a cut.
#[derive(Debug)]
pub enum CutEnd {
    /// The remaining bytes are an incomplete record. If `consumed` is 0, this many bytes are needed to make progress.
    NeedMore {
        /// Bytes that the buffer must hold.
        at_least: usize,
    },
    /// The source has ended and all of it is consumed.
    Done,
    /// The last `rest` bytes before the end of the source, after `consumed`, are an incomplete record. They go to the rejects.
    Torn(Finding),
    /// The following bytes cannot be read; the run ends.
    Lost(Finding),
}

/// The source as blocks. Lanes take turns at it.
pub struct BlockReader<'r> {
    reader: Box<dyn Read + Send + 'r>,
    feed: Feed,
    /// Read and not consumed: the start of the next block.
    carry: Vec<u8>,
    /// True if `reader` has ended.
    drained: bool,
    /// True if no more blocks follow.
    done: bool,
    seq: u64,
    block_bytes: usize,
    /// Most bytes one record may take with its framing.
    record_bytes_max: usize,
}

/// Producer of blocks.
enum Feed {
    /// Cuts the bytes of the reader.
    Bytes(Box<dyn Cutter>),
    /// Gives batches of rows; the reader gives nothing. The number is that of the next row.
    Rows(Box<ColumnReader>, RecordNumber),
}

/// Result of taking a block.
#[derive(Debug)]
pub(crate) enum BlockRead {
    /// The block contains records (or none, if only the position advanced).
    Block,
    /// The block contains records. The remaining bytes up to the end of the source are not a record.
    Torn { finding: Finding, rest: Vec<u8> },
    /// The block contains records. After them, the source cannot be read as records.
    Lost(Finding),
    /// No records remain.
    End,
    /// The run is being stopped; the block is empty.
    Stopped,
}

impl<'r> BlockReader<'r> {
    /// Reads `reader` in blocks of `block_bytes`, which grow for a record that does not fit.
    #[must_use]
    pub fn new(
        reader: Box<dyn Read + Send + 'r>,
        cutter: Box<dyn Cutter>,
        block_bytes: usize,
        limits: &Limits,
    ) -> Self {
        let record_bytes_max = limits.record_bytes_max.max(limits.line_bytes_max).saturating_add(block_bytes);
        BlockReader {
            reader,
            feed: Feed::Bytes(cutter),
            carry: Vec::new(),
            drained: false,
            done: false,
            seq: 0,
            block_bytes,
            record_bytes_max,
        }
    }

    /// Creates a reader for the rows of a columnar file; a batch is a block.
    #[must_use]
    pub fn of_rows(reader: ColumnReader) -> BlockReader<'static> {
        BlockReader {
            reader: Box::new(io::empty()),
            feed: Feed::Rows(Box::new(reader), RecordNumber::FIRST),
            carry: Vec::new(),
            drained: false,
            done: false,
            seq: 0,
            block_bytes: 0,
            record_bytes_max: 0,
        }
    }

    /// Ends the reader, for a resumed run whose checkpoint is at the end of the source.
    pub fn end(&mut self) {
        self.done = true;
    }

    /// Fills `block` with the next complete records.
    ///
    /// Blocks are cut from full buffers, however the bytes arrive, so the same source gives the same blocks. Because one record can be large,
    /// `cancel` is checked while a block grows.
    ///
    /// # Errors
    /// Errors of the reader; the reader has then ended.
    pub(crate) fn take(&mut self, block: &mut Block, cancel: &AtomicBool) -> io::Result<BlockRead> {
        if self.done {
            return Ok(BlockRead::End);
        }
        block.seq = self.seq;
        block.skipped = 0;
        block.warning = None;
        block.filled = 0;
        let cutter = match &mut self.feed {
            Feed::Bytes(cutter) => cutter,
            Feed::Rows(..) => return Ok(self.take_rows(block)),
        };
        block.before = cutter.position();
        let mut want = self.block_bytes.max(self.carry.len());
        make_room(block, want);
        block.bytes[..self.carry.len()].copy_from_slice(&self.carry);
        block.filled = self.carry.len();
        self.carry.clear();
        loop {
            if let Err(error) = fill(&mut *self.reader, &mut self.drained, block, want) {
                self.done = true;
                return Err(error);
            }
            let filled = block.filled;
            block.bytes[filled..filled + SLACK].fill(0);
            let end = if self.drained { SourceEnd::Yes } else { SourceEnd::No };
            let cut = cutter.cut(block, end);
            let taken = match cut.end {
                CutEnd::NeedMore { at_least } if cut.consumed == 0 => {
                    if cancel.load(Ordering::Relaxed) {
                        return Ok(BlockRead::Stopped);
                    }
                    // One record fills the buffer: the cutter enforces its limit. A cutter may scan the whole record again, so the buffer grows by a
                    // share of its size. Framing can make a record longer than its limit.
                    let most = if block.filled < self.record_bytes_max { self.record_bytes_max } else { usize::MAX };
                    let more = (block.filled + block.filled / GROWTH).min(most);
                    want = at_least.max(block.filled + self.block_bytes).max(more);
                    make_room(block, want);
                    continue;
                }
                CutEnd::NeedMore { .. } => BlockRead::Block,
                CutEnd::Done => {
                    self.done = true;
                    BlockRead::Block
                }
                CutEnd::Torn(finding) => {
                    self.done = true;
                    BlockRead::Torn { finding, rest: block.bytes[cut.consumed..block.filled].to_vec() }
                }
                CutEnd::Lost(finding) => {
                    self.done = true;
                    BlockRead::Lost(finding)
                }
            };
            self.carry.extend_from_slice(&block.bytes[cut.consumed..block.filled]);
            block.after = cutter.position();
            self.seq += 1;
            return Ok(taken);
        }
    }

    /// Takes the next batch of rows.
    fn take_rows(&mut self, block: &mut Block) -> BlockRead {
        let Feed::Rows(reader, next) = &mut self.feed else { unreachable!("bytes are cut") };
        block.before = Position::at(ByteOffset(reader.bytes_done()), *next, 0);
        let taken = match reader.next_batch() {
            Ok(Some(batch)) => {
                next.0 += batch.num_rows() as u64;
                block.units = Units::Rows(Some(batch));
                BlockRead::Block
            }
            Ok(None) => {
                self.done = true;
                block.units = Units::Rows(None);
                BlockRead::Block
            }
            Err(error) => {
                self.done = true;
                block.units = Units::Rows(None);
                BlockRead::Lost(error.finding())
            }
        };
        block.after = Position::at(ByteOffset(reader.bytes_done()), *next, 0);
        self.seq += 1;
        taken
    }
}

/// Reads until the block has `want` bytes or the source ends.
fn fill(reader: &mut dyn Read, drained: &mut bool, block: &mut Block, want: usize) -> io::Result<()> {
    while block.filled < want && !*drained {
        match reader.read(&mut block.bytes[block.filled..want]) {
            Ok(0) => *drained = true,
            Ok(n) => block.filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes of a buffer that is kept for the next block. Blocks of large documents follow each other, and to give buffers of megabytes back and take
/// them again leaves holes in the heap.
pub(crate) const BUFFER_KEPT_BYTES: usize = 8 << 20;

/// Makes room for `want` bytes and the slack. Releases a buffer that one very large record has enlarged.
fn make_room(block: &mut Block, want: usize) {
    let need = want + SLACK;
    if block.bytes.len() < need {
        block.bytes.resize(need, 0);
    } else if block.filled == 0 && block.bytes.len() > (8 * need).max(BUFFER_KEPT_BYTES) {
        block.bytes = vec![0; need];
    }
}
