//! Writes files of a save: one thread reads, several pack, the calling thread writes.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use parking_lot::Mutex;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::{BLOCK, Content, END, MAGIC, Packing, SaveFacts, SaveOptions, VERSION, failed};
use crate::engine::{EntryRange, Snapshot};
use crate::{Position, StoreError};

/// Writes one file of a save.
pub(super) struct FileWriter<W> {
    to: W,
    name: String,
    facts: SaveFacts,
    sums: Xxh3,
}

impl<W: Write> FileWriter<W> {
    pub(super) fn begin(mut to: W, packing: Packing, position: Position, name: &str) -> Result<Self, StoreError> {
        let mut header = [0; 64];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&u32::from(packing == Packing::Deflate).to_le_bytes());
        header[16..24].copy_from_slice(&position.0.to_le_bytes());
        let sum = xxh3_64(&header[..56]);
        header[56..].copy_from_slice(&sum.to_le_bytes());
        to.write_all(&header).map_err(failed(name, "written"))?;
        Ok(FileWriter {
            to,
            name: name.to_owned(),
            facts: SaveFacts { position, entries: 0, bytes: 64 },
            sums: Xxh3::new(),
        })
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<(), StoreError> {
        let Block { bytes, raw_bytes, entries, sum } = block;
        let length = |length: usize| u32::try_from(length).expect("a block is below 4 GB").to_le_bytes();
        let mut head = Vec::with_capacity(24);
        head.extend_from_slice(&BLOCK);
        head.extend_from_slice(&length(bytes.len()));
        head.extend_from_slice(&length(*raw_bytes));
        head.extend_from_slice(&entries.to_le_bytes());
        head.extend_from_slice(&sum.to_le_bytes());
        self.to.write_all(&head).and_then(|()| self.to.write_all(bytes)).map_err(failed(&self.name, "written"))?;
        self.sums.update(&sum.to_le_bytes());
        self.facts.bytes += (head.len() + bytes.len()) as u64;
        self.facts.entries += u64::from(*entries);
        Ok(())
    }

    /// Writes the end of the file. Returns its figures and the writer.
    pub(super) fn end(mut self) -> Result<(SaveFacts, W), StoreError> {
        let mut end = [0; 32];
        end[..4].copy_from_slice(&END);
        end[16..24].copy_from_slice(&self.facts.entries.to_le_bytes());
        end[24..].copy_from_slice(&self.sums.digest().to_le_bytes());
        self.to.write_all(&end).and_then(|()| self.to.flush()).map_err(failed(&self.name, "written"))?;
        self.facts.bytes += 32;
        Ok((self.facts, self.to))
    }
}

/// A block, ready to be written.
pub(super) struct Block {
    bytes: Vec<u8>,
    raw_bytes: usize,
    entries: u32,
    sum: u64,
}

/// Piece that [`pieces`] delivers, in order.
pub(super) enum Piece {
    Block(Block),
    /// The blocks since the last end are a part.
    PartEnd {
        last: Vec<u8>,
        content: u128,
    },
}

/// Options for cutting a range into pieces.
#[derive(Clone, Copy)]
pub(super) struct Cut<'a> {
    pub(super) options: SaveOptions,
    /// Bytes of entries from which a part ends.
    pub(super) part_bytes: u64,
    /// Called after each block; returns true to end the save.
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// A block that is to be packed.
struct Raw {
    bytes: Vec<u8>,
    entries: u32,
    number: u64,
    packed: Sender<Result<Block, StoreError>>,
}

/// A pending piece. A block arrives when it is compressed.
enum Coming {
    Block(Receiver<Result<Block, StoreError>>),
    PartEnd { last: Vec<u8>, content: u128 },
}

/// Reads a range of a snapshot and delivers it in pieces. Returns true if it read the complete range, false after a stop. Memory is limited to a
/// fixed number of blocks for each thread.
pub(super) fn pieces(
    snapshot: &dyn Snapshot,
    range: EntryRange<'_>,
    cut: Cut<'_>,
    take: &mut dyn FnMut(Piece) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let threads = cut.options.threads.max(1);
    let (raw_to, raw_from) = sync_channel::<Raw>(threads);
    let (coming_to, coming) = sync_channel::<Coming>(threads * 2);
    // Only the packers own it, so the reader does not wait for packers that have ended.
    let raw_from = Arc::new(Mutex::new(raw_from));
    std::thread::scope(move |scope| {
        let reading = scope.spawn(move || {
            let mut reader = Reader {
                cut,
                raw_to,
                coming_to,
                raw: Vec::new(),
                entries: 0,
                number: 0,
                part: 0,
                content: Content::new(),
                last: Vec::new(),
                stopped: false,
            };
            let read = snapshot.visit(range, &mut |key, value| reader.entry(key, value));
            let read = read.and_then(|()| reader.part_end());
            // The error of a stop is only the way out of the visit.
            if reader.stopped { Ok(false) } else { read.map(|()| true) }
        });
        for _ in 0..threads {
            let raw_from = Arc::clone(&raw_from);
            scope.spawn(move || {
                loop {
                    let next = raw_from.lock().recv();
                    let Ok(Raw { bytes, entries, number, packed }) = next else { return };
                    // The receiver is gone after the writer failed.
                    let _ = packed.send(pack(bytes, entries, number, cut.options.packing));
                }
            });
        }
        drop(raw_from);
        let written = coming.iter().try_for_each(|piece| match piece {
            // A packer that panicked has ended the scope's thread; the panic is raised again when the scope ends.
            Coming::Block(packed) => {
                packed.recv().unwrap_or(Err(StoreError::ReadOnly)).and_then(|block| take(Piece::Block(block)))
            }
            Coming::PartEnd { last, content } => take(Piece::PartEnd { last, content }),
        });
        // Ends a reader that waits to send, because the channel is closed.
        drop(coming);
        let read = match reading.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        written.and(read)
    })
}

fn pack(raw: Vec<u8>, entries: u32, number: u64, packing: Packing) -> Result<Block, StoreError> {
    let raw_bytes = raw.len();
    let bytes = match packing {
        Packing::None => raw,
        Packing::Deflate => {
            let mut encoder = DeflateEncoder::new(Vec::with_capacity(raw_bytes / 2), Compression::fast());
            encoder.write_all(&raw).and_then(|()| encoder.finish()).map_err(failed("save", "packed"))?
        }
    };
    let sum = xxh3_64_with_seed(&bytes, number);
    Ok(Block { bytes, raw_bytes, entries, sum })
}

struct Reader<'a> {
    cut: Cut<'a>,
    raw_to: SyncSender<Raw>,
    coming_to: SyncSender<Coming>,
    raw: Vec<u8>,
    entries: u32,
    /// Number of the next block in its part.
    number: u64,
    /// Bytes of entries in the part before this block.
    part: u64,
    content: Content,
    last: Vec<u8>,
    stopped: bool,
}

impl Reader<'_> {
    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        put_entry(&mut self.raw, key, value);
        self.entries += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.raw.len() < self.cut.options.block_bytes {
            return Ok(());
        }
        self.block()?;
        if (self.cut.stop)() {
            self.stopped = true;
            return Err(StoreError::ReadOnly);
        }
        if self.part >= self.cut.part_bytes { self.part_end() } else { Ok(()) }
    }

    fn block(&mut self) -> Result<(), StoreError> {
        if self.entries == 0 {
            return Ok(());
        }
        self.content.add(&self.raw);
        self.part += self.raw.len() as u64;
        let next = Vec::with_capacity(self.cut.options.block_bytes + 4096);
        let bytes = std::mem::replace(&mut self.raw, next);
        let (packed, coming) = channel();
        let raw = Raw { bytes, entries: self.entries, number: self.number, packed };
        // The receiver is gone: the writer failed, and its error is reported.
        let gone = StoreError::ReadOnly;
        self.coming_to.send(Coming::Block(coming)).map_err(|_| gone.clone())?;
        self.raw_to.send(raw).map_err(|_| gone)?;
        self.number += 1;
        self.entries = 0;
        Ok(())
    }

    fn part_end(&mut self) -> Result<(), StoreError> {
        self.block()?;
        if self.part == 0 {
            return Ok(());
        }
        let content = std::mem::replace(&mut self.content, Content::new()).digest();
        let end = Coming::PartEnd { last: std::mem::take(&mut self.last), content };
        self.coming_to.send(end).map_err(|_| StoreError::ReadOnly)?;
        (self.number, self.part) = (0, 0);
        Ok(())
    }
}

/// Adds an entry as a save has it.
pub(super) fn put_entry(into: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    for part in [key, value] {
        let length = u32::try_from(part.len()).expect("limits keep keys and values below 4 GB");
        into.extend_from_slice(&length.to_le_bytes());
        into.extend_from_slice(part);
    }
}
