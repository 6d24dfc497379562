//! Saves: everything that a store holds at one position, as a stream of bytes with checksums.
//!
//! ```text
//! header   64 bytes: "QLSAVE1\0"   4 version, 1   4 compression: 0 none, 1 deflate   8 position   32 zero   8 XXH3 of bytes 0 to 55
//! block    "QLBK"   4 bytes stored   4 bytes unpacked   4 entries   8 XXH3 of the stored bytes, seeded with the block's number   stored bytes
//! end      "QLEN"   12 zero   8 entries of all blocks   8 XXH3 of the checksums of all blocks, in order
//! entry    4 length of the key with its space, key, 4 length of the value, value; ascending by key
//! ```
//!
//! Numbers are little-endian. A save is read twice at a restore: first everything is checked, then it is stored.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use crate::engine::{Engine, LoadSource};
use crate::{Position, Space, StoreError};

const MAGIC: [u8; 8] = *b"QLSAVE1\0";
const BLOCK: [u8; 4] = *b"QLBK";
const END: [u8; 4] = *b"QLEN";
const VERSION: u32 = 1;
/// Bytes of entries from which a block ends.
const BLOCK_BYTES: usize = 1 << 20;
/// Most bytes of a block that a reader believes: the longest value with its key, twice.
const BLOCK_BYTES_MAX: u32 = 256 << 20;

/// How the blocks of a save are packed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Packing {
    /// As they are.
    #[default]
    None,
    /// Deflate, the fastest level.
    Deflate,
}

/// What a save holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SaveFacts {
    /// Position of the last commit in it.
    pub position: Position,
    /// Entries: records, index entries, messages, definitions and so on.
    pub entries: u64,
    /// Bytes of the save.
    pub bytes: u64,
}

fn failed(name: &str, action: &'static str) -> impl Fn(std::io::Error) -> StoreError {
    let name = name.to_owned();
    move |error| StoreError::io(&name, action, &error)
}

/// Writes everything that an engine holds now while others continue to commit. `name` is for errors.
///
/// # Errors
/// Errors of the medium, and of `to`.
pub fn save(engine: &dyn Engine, to: &mut dyn Write, packing: Packing, name: &str) -> Result<SaveFacts, StoreError> {
    let snapshot = engine.snapshot()?;
    let mut header = [0; 64];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&u32::from(packing == Packing::Deflate).to_le_bytes());
    header[16..24].copy_from_slice(&snapshot.position().0.to_le_bytes());
    let sum = xxh3_64(&header[..56]);
    header[56..].copy_from_slice(&sum.to_le_bytes());
    to.write_all(&header).map_err(failed(name, "written"))?;
    let mut blocks =
        Blocks { to, packing, name, raw: Vec::new(), entries: 0, number: 0, all: 0, bytes: 64, sums: Xxh3::new() };
    snapshot.visit(&mut |key, value| blocks.entry(key, value))?;
    blocks.end(snapshot.position())
}

struct Blocks<'a> {
    to: &'a mut dyn Write,
    packing: Packing,
    name: &'a str,
    raw: Vec<u8>,
    entries: u32,
    number: u64,
    all: u64,
    bytes: u64,
    sums: Xxh3,
}

impl Blocks<'_> {
    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        for part in [key, value] {
            let length = u32::try_from(part.len()).expect("limits keep keys and values below 4 GB");
            self.raw.extend_from_slice(&length.to_le_bytes());
            self.raw.extend_from_slice(part);
        }
        self.entries += 1;
        if self.raw.len() >= BLOCK_BYTES { self.block() } else { Ok(()) }
    }

    fn block(&mut self) -> Result<(), StoreError> {
        if self.entries == 0 {
            return Ok(());
        }
        let packed = match self.packing {
            Packing::None => None,
            Packing::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&self.raw).map_err(failed(self.name, "packed"))?;
                Some(encoder.finish().map_err(failed(self.name, "packed"))?)
            }
        };
        let stored = packed.as_deref().unwrap_or(&self.raw);
        let sum = xxh3_64_with_seed(stored, self.number);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a block is below 4 GB").to_le_bytes();
        let mut head = Vec::with_capacity(24);
        head.extend_from_slice(&BLOCK);
        head.extend_from_slice(&length(stored));
        head.extend_from_slice(&length(&self.raw));
        head.extend_from_slice(&self.entries.to_le_bytes());
        head.extend_from_slice(&sum.to_le_bytes());
        self.to.write_all(&head).and_then(|()| self.to.write_all(stored)).map_err(failed(self.name, "written"))?;
        self.sums.update(&sum.to_le_bytes());
        self.bytes += (head.len() + stored.len()) as u64;
        self.all += u64::from(self.entries);
        self.number += 1;
        self.entries = 0;
        self.raw.clear();
        Ok(())
    }

    fn end(mut self, position: Position) -> Result<SaveFacts, StoreError> {
        self.block()?;
        let mut end = [0; 32];
        end[..4].copy_from_slice(&END);
        end[16..24].copy_from_slice(&self.all.to_le_bytes());
        end[24..].copy_from_slice(&self.sums.digest().to_le_bytes());
        self.to.write_all(&end).and_then(|()| self.to.flush()).map_err(failed(self.name, "written"))?;
        Ok(SaveFacts { position, entries: self.all, bytes: self.bytes + 32 })
    }
}

/// Reads a save, block by block, and checks each.
struct Saved<'a> {
    from: &'a mut dyn Read,
    name: &'a str,
    packing: Packing,
    facts: SaveFacts,
    number: u64,
    sums: Xxh3,
    raw: Vec<u8>,
    at: usize,
    /// Place of the current entry's key and value in `raw`.
    entry: Option<((usize, usize), (usize, usize))>,
    last: Vec<u8>,
    is_over: bool,
}

impl<'a> Saved<'a> {
    fn open(from: &'a mut dyn Read, name: &'a str) -> Result<Self, StoreError> {
        let mut header = [0; 64];
        let mut saved = Saved {
            from,
            name,
            packing: Packing::None,
            facts: SaveFacts::default(),
            number: 0,
            sums: Xxh3::new(),
            raw: Vec::new(),
            at: 0,
            entry: None,
            last: Vec::new(),
            is_over: false,
        };
        saved.fill(&mut header)?;
        if header[..8] != MAGIC {
            return Err(saved.bad(0, "it does not begin as a save does"));
        }
        let number = |at: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(part)
        };
        if number(56) != xxh3_64(&header[..56]) {
            return Err(saved.bad(0, "the checksum of the header does not hold"));
        }
        let found = u32::try_from(number(8) & 0xffff_ffff).unwrap_or_default();
        if found != VERSION {
            return Err(StoreError::Version { file: name.to_owned(), found, known: VERSION });
        }
        saved.packing = match number(8) >> 32 {
            0 => Packing::None,
            1 => Packing::Deflate,
            _ => return Err(saved.bad(12, "the compression is of no known kind")),
        };
        saved.facts.position = Position(number(16));
        saved.next()?;
        Ok(saved)
    }

    fn bad(&self, byte: u64, what: &str) -> StoreError {
        StoreError::BadSave { file: self.name.to_owned(), byte, what: what.to_owned() }
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), StoreError> {
        match self.from.read_exact(into) {
            Ok(()) => {
                self.facts.bytes += into.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.bad(self.facts.bytes, "it ends early"))
            }
            Err(error) => Err(StoreError::io(self.name, "read", &error)),
        }
    }

    /// Reads the next block, or the end.
    fn block(&mut self) -> Result<(), StoreError> {
        let begin = self.facts.bytes;
        let mut head = [0; 24];
        self.fill(&mut head)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let mut sum = [0; 8];
        sum.copy_from_slice(&head[16..]);
        if head[..4] == END {
            let mut digest = [0; 8];
            self.fill(&mut digest)?;
            if head[4..16] != [0; 12]
                || u64::from_le_bytes(sum) != self.facts.entries
                || u64::from_le_bytes(digest) != self.sums.digest()
            {
                return Err(self.bad(begin, "the totals at the end do not fit the blocks"));
            }
            let mut more = [0; 1];
            if self.from.read(&mut more).map_err(failed(self.name, "read"))? > 0 {
                return Err(self.bad(self.facts.bytes, "bytes follow the end"));
            }
            self.is_over = true;
            return Ok(());
        }
        let (stored, raw, entries) = (word(4), word(8), word(12));
        if head[..4] != BLOCK || stored > BLOCK_BYTES_MAX || raw > BLOCK_BYTES_MAX {
            return Err(self.bad(begin, "a block is expected"));
        }
        let mut bytes = vec![0; usize::try_from(stored).unwrap_or(usize::MAX)];
        self.fill(&mut bytes)?;
        if xxh3_64_with_seed(&bytes, self.number) != u64::from_le_bytes(sum) {
            return Err(self.bad(begin, "the checksum of a block does not hold"));
        }
        self.sums.update(&sum);
        self.raw.clear();
        match self.packing {
            Packing::None => self.raw = bytes,
            Packing::Deflate => {
                // One more than is allowed shows that it is too long.
                let most = u64::from(raw) + 1;
                let unpacked = DeflateDecoder::new(bytes.as_slice()).take(most).read_to_end(&mut self.raw);
                unpacked.map_err(|_| self.bad(begin, "a block cannot be unpacked"))?;
            }
        }
        if self.raw.len() as u64 != u64::from(raw) {
            return Err(self.bad(begin, "a block has another length than it says"));
        }
        self.number += 1;
        self.at = 0;
        self.facts.entries += u64::from(entries);
        Ok(())
    }

    /// Moves to the next entry.
    fn next(&mut self) -> Result<(), StoreError> {
        while self.at >= self.raw.len() && !self.is_over {
            self.block()?;
        }
        if self.is_over {
            self.entry = None;
            return Ok(());
        }
        let (key, value) = (self.part()?, self.part()?);
        let bytes = &self.raw[key.0..key.1];
        if bytes.len() < 4 || (!self.last.is_empty() && bytes <= self.last.as_slice()) {
            return Err(self.bad(self.facts.bytes, "the entries of a block are not ascending"));
        }
        self.last.clear();
        self.last.extend_from_slice(bytes);
        self.entry = Some((key, value));
        Ok(())
    }

    fn part(&mut self) -> Result<(usize, usize), StoreError> {
        let length = self.raw.get(self.at..self.at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let begin = self.at + 4;
        let end = length.and_then(|length| begin.checked_add(usize::try_from(length).ok()?));
        match end.filter(|end| *end <= self.raw.len()) {
            Some(end) => {
                self.at = end;
                Ok((begin, end))
            }
            None => Err(self.bad(self.facts.bytes, "an entry is longer than its block")),
        }
    }

    fn space(&self) -> Option<Space> {
        let ((begin, _), _) = self.entry?;
        let bytes = self.raw.get(begin..begin + 4)?.try_into().ok()?;
        Some(Space(u32::from_be_bytes(bytes)))
    }
}

/// Reads a save to its end and checks everything.
///
/// # Errors
/// [`StoreError::BadSave`] with the place of the first damage, [`StoreError::Version`], errors of `from`.
pub fn check(from: &mut dyn Read, name: &str) -> Result<SaveFacts, StoreError> {
    let mut saved = Saved::open(from, name)?;
    while saved.entry.is_some() {
        saved.next()?;
    }
    Ok(saved.facts)
}

/// Stores a save in an engine that holds nothing. [`check`] it before.
///
/// # Errors
/// Those of [`check`]; errors of the medium.
pub fn restore(engine: &dyn Engine, from: &mut dyn Read, name: &str) -> Result<SaveFacts, StoreError> {
    let mut saved = Saved::open(from, name)?;
    while let Some(space) = saved.space() {
        let mut source = |key: &mut Vec<u8>, value: &mut Vec<u8>| {
            let Some((key_at, value_at)) = saved.entry.filter(|_| saved.space() == Some(space)) else {
                return Ok(false);
            };
            key.clear();
            key.extend_from_slice(&saved.raw[key_at.0 + 4..key_at.1]);
            value.clear();
            value.extend_from_slice(&saved.raw[value_at.0..value_at.1]);
            saved.next()?;
            Ok(true)
        };
        let source: &mut LoadSource<'_> = &mut source;
        engine.load(space, source)?;
    }
    Ok(saved.facts)
}
