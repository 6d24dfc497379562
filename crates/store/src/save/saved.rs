//! Reads one file of a save.

use std::io::Read;

use flate2::read::DeflateDecoder;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::{BLOCK, BLOCK_BYTES_MAX, Content, END, MAGIC, Packing, SaveFacts, VERSION, failed};
use crate::{Position, StoreError};

/// Reads a file of a save, block by block, and checks each.
pub(super) struct Saved<R> {
    from: R,
    name: String,
    packing: Packing,
    facts: SaveFacts,
    number: u64,
    sums: Xxh3,
    content: Content,
    raw: Vec<u8>,
    at: usize,
    /// Place of the current entry's key and value in `raw`.
    entry: Option<((usize, usize), (usize, usize))>,
    last: Vec<u8>,
    is_over: bool,
}

impl<R: Read> Saved<R> {
    pub(super) fn open(from: R, name: &str) -> Result<Self, StoreError> {
        let mut header = [0; 64];
        let mut saved = Saved {
            from,
            name: name.to_owned(),
            packing: Packing::None,
            facts: SaveFacts::default(),
            number: 0,
            sums: Xxh3::new(),
            content: Content::new(),
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
        StoreError::BadSave { file: self.name.clone(), byte, what: what.to_owned() }
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
            Err(error) => Err(StoreError::io(&self.name, "read", &error)),
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
            if self.from.read(&mut more).map_err(failed(&self.name, "read"))? > 0 {
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
        self.content.add(&self.raw);
        self.number += 1;
        self.at = 0;
        self.facts.entries += u64::from(entries);
        Ok(())
    }

    /// Moves to the next entry.
    pub(super) fn next(&mut self) -> Result<(), StoreError> {
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

    /// Returns the current entry as full key and value, or `None` after the last.
    pub(super) fn entry(&self) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.entry?;
        Some((self.raw.get(key.0..key.1)?, self.raw.get(value.0..value.1)?))
    }

    /// Returns the key of the current entry, or the last key at the end.
    pub(super) fn last_key(&self) -> &[u8] {
        &self.last
    }

    /// Returns the figures of the part read so far.
    pub(super) fn facts(&self) -> SaveFacts {
        self.facts
    }

    /// Returns the digest of the blocks read so far.
    pub(super) fn content(&self) -> u128 {
        self.content.digest()
    }
}
