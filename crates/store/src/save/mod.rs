//! Saves: the complete contents of a store at one position, as files of checksummed blocks.
//!
//! # A file of a save
//!
//! ```text
//! header   64 bytes: "QLSAVE1\0"   4 version, 1   4 compression: 0 none, 1 deflate   8 position   32 zero   8 XXH3 of bytes 0 to 55
//! block    "QLBK"   4 bytes stored   4 bytes unpacked   4 entries   8 XXH3 of the stored bytes, seeded with the block's number   stored bytes
//! end      "QLEN"   12 zero   8 entries of all blocks   8 XXH3 of the checksums of all blocks, in order
//! entry    4 length of the key with its space, key, 4 length of the value, value; ascending by key
//! ```
//!
//! Numbers are little-endian. A restore reads a save twice: first it checks everything, then it stores it.
//!
//! # One archive, or parts in a folder
//!
//! [`save`] writes one such file to any stream. [`save_parts`] writes many of them to a folder, a range of keys each, with a manifest, and can resume.
//!
//! One thread reads the snapshot in key order. It cuts blocks and parts, several threads compress the blocks, and the calling thread writes them in
//! order. Compression is the bottleneck: reading reaches some hundred MB/s and a core compresses less than that. Several readers would need to know
//! the median of the keys before the first read, and no engine knows it.
//!
//! # Semantics of resuming
//!
//! A process that ends loses its snapshot: redb and PostgreSQL both drop the snapshot of a reader that is gone, and a snapshot that outlived its
//! process would prevent its space from being reused until the save is resumed. When the save is run again, the position of the store has changed:
//! opening it is already a commit. Therefore the position of a part does not show whether the part is still valid, and resuming ignores it. Instead:
//!
//! - The second run takes a new snapshot, and the finished save is the state at *that* position, regardless of what the first run wrote.
//! - A part owns the keys after the last key of the preceding part, up to its own last key. The manifest has a 128-bit digest of its entries.
//! - A part of an earlier run is kept if its file is intact and matches that digest, *and* the entries of its keys in the new snapshot have the same
//!   digest. Otherwise its keys are written again. Therefore a kept part is, byte for byte, what the new run would write.
//! - Keys after the last finished part are written as in a first run.
//!
//! Keeping a part costs reading its keys and its file, but no compression, writing or sync, and several threads do it. A store that changed
//! everywhere between two runs is saved again completely: no run costs more than a first run plus that reading.
//!
//! A single archive cannot resume: it begins with the definitions, which every opening changes, and everything after a block that grew would have to
//! move.
//!
//! # Order of writes
//!
//! A part has the name `part-NNNNNN-DIGEST.qls`, with the first digits of its digest, so a rewritten part never replaces the one that the manifest
//! names. A part is written under the name `part.partial`, synced and renamed. After each part, the manifest is written under the name
//! `manifest.partial`, synced and renamed, and then the folder is synced. A crash at any point leaves a manifest whose parts are all complete. When
//! the save is finished, files of parts that the manifest does not name are removed.

mod manifest;
mod parts;
mod saved;
mod write;

use std::io::{Read, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::engine::{Engine, LoadSource};
use crate::{EVERY_ENTRY, Position, StoreError};
pub use parts::{PartFile, PartFolder, PartsSaved, check_parts, restore_parts, save_parts};
use saved::Saved;
use write::{Cut, FileWriter, Piece, pieces};

const MAGIC: [u8; 8] = *b"QLSAVE1\0";
const BLOCK: [u8; 4] = *b"QLBK";
const END: [u8; 4] = *b"QLEN";
const VERSION: u32 = 1;
/// Most bytes of a block that a reader believes: the longest value with its key, twice.
const BLOCK_BYTES_MAX: u32 = 256 << 20;

/// Compression of the blocks of a save.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Packing {
    /// No compression.
    #[default]
    None,
    /// Deflate, the fastest level.
    Deflate,
}

/// Options of a save.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SaveOptions {
    /// Compression of blocks.
    pub packing: Packing,
    /// Threads that pack, from 1.
    pub threads: usize,
    /// Bytes of entries from which a part ends, at the end of a block.
    pub part_bytes: u64,
    /// Bytes of entries from which a block ends.
    pub block_bytes: usize,
}

impl Default for SaveOptions {
    fn default() -> Self {
        SaveOptions { packing: Packing::None, threads: 1, part_bytes: 64 << 20, block_bytes: 1 << 20 }
    }
}

/// Figures of a save.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SaveFacts {
    /// Position of the last commit in it.
    pub position: Position,
    /// Entries: records, index entries, messages, definitions and so on.
    pub entries: u64,
    /// Bytes of the save.
    pub bytes: u64,
}

/// Digest of entries, as a save writes them.
#[derive(Clone)]
struct Content(Box<Xxh3>);

impl Content {
    fn new() -> Self {
        Content(Box::new(Xxh3::new()))
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn digest(&self) -> u128 {
        self.0.digest128()
    }
}

fn failed(name: &str, action: &'static str) -> impl Fn(std::io::Error) -> StoreError {
    let name = name.to_owned();
    move |error| StoreError::io(&name, action, &error)
}

/// Writes the current contents of an engine while others continue to commit. `name` names the target in errors.
///
/// # Errors
/// Errors of the medium, and of `to`.
pub fn save(
    engine: &dyn Engine,
    to: &mut dyn Write,
    options: SaveOptions,
    name: &str,
) -> Result<SaveFacts, StoreError> {
    let snapshot = engine.snapshot()?;
    let mut file = FileWriter::begin(to, options.packing, snapshot.position(), name)?;
    let cut = Cut { options, part_bytes: u64::MAX, stop: &|| false };
    pieces(snapshot.as_ref(), EVERY_ENTRY, cut, &mut |piece| match piece {
        Piece::Block(block) => file.block(&block),
        Piece::PartEnd { .. } => Ok(()),
    })?;
    Ok(file.end()?.0)
}

/// Reads a save to its end and checks everything.
///
/// # Errors
/// [`StoreError::BadSave`] with the place of the first damage, [`StoreError::Version`], errors of `from`.
pub fn check(from: &mut dyn Read, name: &str) -> Result<SaveFacts, StoreError> {
    let mut saved = Saved::open(from, name)?;
    while saved.entry().is_some() {
        saved.next()?;
    }
    Ok(saved.facts())
}

/// Stores a save in an empty engine. Run [`check`] on it first.
///
/// # Errors
/// Errors of [`check`] and of the medium.
pub fn restore(engine: &dyn Engine, from: &mut dyn Read, name: &str) -> Result<SaveFacts, StoreError> {
    let mut saved = Saved::open(from, name)?;
    store_all(engine, &mut saved)?;
    Ok(saved.facts())
}

/// Entries in the order of their keys.
trait Entries {
    /// Returns the current entry as full key and value, or `None` at the end.
    fn entry(&self) -> Option<(&[u8], &[u8])>;
    /// Moves to the next.
    fn advance(&mut self) -> Result<(), StoreError>;
}

impl<R: Read> Entries for Saved<R> {
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        Saved::entry(self)
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        self.next()
    }
}

fn store_all(engine: &dyn Engine, entries: &mut dyn Entries) -> Result<(), StoreError> {
    while let Some(space) = entries.entry().and_then(|(key, _)| key.first_chunk::<4>()).copied() {
        let mut source = |key: &mut Vec<u8>, value: &mut Vec<u8>| {
            let Some((found, its_value)) = entries.entry().filter(|(found, _)| found.starts_with(&space)) else {
                return Ok(false);
            };
            key.clear();
            key.extend_from_slice(&found[4..]);
            value.clear();
            value.extend_from_slice(its_value);
            entries.advance()?;
            Ok(true)
        };
        let source: &mut LoadSource<'_> = &mut source;
        engine.load(crate::Space(u32::from_be_bytes(space)), source)?;
    }
    Ok(())
}
