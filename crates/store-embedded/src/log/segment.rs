//! Segment files.
//!
//! ```text
//! offset  bytes
//!      0      8  "QLSEGMNT"
//!      8      4  version 1
//!     12      4  0
//!     16      8  number of the segment, from 1
//!     24      8  position of its first record
//!     32      8  salt
//!     40      8  identity of the log, the same in all its segments
//!     48      8  XXH3 of bytes 0 to 47
//!   4096         records, one after another
//! ```

use std::sync::Arc;

use quayline_store::{Position, StoreError};
use xxhash_rust::xxh3::xxh3_64;

use crate::log::record::{HEADER, Header};
use crate::medium::{Medium, MediumFile, OpenMode};

const MAGIC: [u8; 8] = *b"QLSEGMNT";
pub(crate) const VERSION: u32 = 1;
/// Offset of the first record.
pub(crate) const DATA: u64 = 4096;
const HEAD: usize = 56;
/// Minimum and maximum number of zero bytes after the records of a segment: 32 KiB and 1 MiB. Quayline writes as many zeros as the segment has bytes,
/// within these bounds, so that few syncs have to make a new length durable. A reused segment has its length already.
const AHEAD: (u64, u64) = (32 << 10, 1 << 20);
/// Bytes of a record that is written without the zeros after it.
const LARGE: usize = 256 << 10;
/// Zeros of one write after such a record.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Name of a segment file.
pub(crate) fn name_of(number: u64) -> String {
    format!("log-{number:010}.qls")
}

/// Number in the name of a segment file.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.strip_suffix(".qls")?.parse().ok()
}

/// Content of a segment header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) base: u64,
    pub(crate) salt: u64,
    pub(crate) identity: u64,
}

impl Head {
    fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        for (at, value) in [(16, self.number), (24, self.base), (32, self.salt), (40, self.identity)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..48]);
        bytes[48..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header. `Ok(None)` is an incomplete header: the file was being created, or it is damaged; the caller knows which.
    fn read(name: &str, file: &dyn MediumFile) -> Result<Option<Self>, StoreError> {
        let length = file.len().map_err(|error| StoreError::io(name, "read", &error))?;
        if length < DATA {
            return Ok(None);
        }
        let mut bytes = [0; HEAD];
        file.read(0, &mut bytes).map_err(|error| StoreError::io(name, "read", &error))?;
        let number = |at: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(part)
        };
        if bytes[..8] != MAGIC || number(48) != xxh3_64(&bytes[..48]) {
            return Ok(None);
        }
        let found = u32::try_from(number(8) & 0xffff_ffff).unwrap_or_default();
        if found != VERSION {
            return Err(StoreError::Version { file: name.to_owned(), found, known: VERSION });
        }
        Ok(Some(Head { number: number(16), base: number(24), salt: number(32), identity: number(40) }))
    }
}

/// An open segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) file: Arc<dyn MediumFile>,
    pub(crate) head: Head,
    /// Length of the file that holds written bytes: zeros or old records.
    written: u64,
}

/// A record as a scan finds it.
#[derive(Debug)]
pub(crate) enum Found {
    /// An intact record, its body and the position after it.
    Record { header: Header, body: Vec<u8>, end: u64 },
    /// Anything but an intact record.
    Nothing,
}

impl Segment {
    /// Makes a segment, or makes an existing file one, durably.
    pub(crate) fn create(medium: &dyn Medium, head: Head) -> Result<Self, StoreError> {
        let name = name_of(head.number);
        let written = |error: std::io::Error| StoreError::io(&name, "written", &error);
        let file = medium.open(&name, OpenMode::Create).map_err(written)?;
        let mut block = vec![0; usize::try_from(DATA).expect("a small constant")];
        block[..HEAD].copy_from_slice(&head.bytes());
        file.write(0, &block).map_err(written)?;
        file.sync().map_err(|error| StoreError::io(&name, "synced", &error))?;
        medium.sync_folder().map_err(|error| StoreError::io(&medium.name(), "synced", &error))?;
        let length = file.len().map_err(written)?;
        Ok(Segment { name, file, head, written: length })
    }

    /// Opens a segment; `None` if the file does not exist or its header is incomplete.
    pub(crate) fn open(medium: &dyn Medium, number: u64, mode: OpenMode) -> Result<Option<Self>, StoreError> {
        let name = name_of(number);
        let file = match medium.open(&name, mode) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&name, "opened", &error)),
        };
        let Some(head) = Head::read(&name, file.as_ref())? else { return Ok(None) };
        let written = file.len().map_err(|error| StoreError::io(&name, "read", &error))?;
        Ok(Some(Segment { name, file, head, written }))
    }

    /// Returns the byte offset in the file of a position.
    pub(crate) fn byte_of(&self, position: u64) -> u64 {
        DATA + (position - self.head.base)
    }

    /// Writes a record.
    pub(crate) fn write(&mut self, position: u64, record: &mut Vec<u8>, limit: u64) -> Result<(), StoreError> {
        let at = self.byte_of(position);
        let length = record.len();
        let end = at + length as u64;
        let whole = (end + end.clamp(AHEAD.0, AHEAD.1)).min(limit.max(end));
        let ahead = if end > self.written { usize::try_from(whole - end).unwrap_or(0) } else { 0 };
        let written = |error| StoreError::io(&self.name, "written", &error);
        // A small record and the zeros after it are one write. A large one would have to move in memory to make room for them.
        if length < LARGE {
            record.resize(length + ahead, 0);
        }
        let done = self.file.write(at, record).map_err(written);
        self.written = self.written.max(at + record.len() as u64);
        record.truncate(length);
        done?;
        if length >= LARGE && ahead > 0 {
            for from in (0..ahead).step_by(ZEROS.len()) {
                self.file.write(end + from as u64, &ZEROS[..ZEROS.len().min(ahead - from)]).map_err(written)?;
            }
            self.written = whole;
        }
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync().map_err(|error| StoreError::io(&self.name, "synced", &error))
    }

    /// Returns true if no record was ever written into it.
    pub(crate) fn is_empty(&self) -> bool {
        self.written <= DATA
    }

    /// Bytes of the file.
    pub(crate) fn disk_bytes(&self) -> Result<u64, StoreError> {
        self.file.len().map_err(|error| StoreError::io(&self.name, "read", &error))
    }

    /// Looks for an intact record at a position.
    pub(crate) fn record_at(&self, position: u64) -> Result<Found, StoreError> {
        let read = |error: std::io::Error| StoreError::io(&self.name, "read", &error);
        let at = self.byte_of(position);
        let length = self.file.len().map_err(read)?;
        if at + HEADER as u64 > length {
            return Ok(Found::Nothing);
        }
        let mut bytes = [0; HEADER];
        self.file.read(at, &mut bytes).map_err(read)?;
        let header = Header::read(&bytes);
        let end = position.saturating_add(header.record_bytes());
        if !header.is_likely(position) || at + header.record_bytes() > length {
            return Ok(Found::Nothing);
        }
        let mut body = vec![0; usize::try_from(header.body_bytes).unwrap_or_default()];
        self.file.read(at + HEADER as u64, &mut body).map_err(read)?;
        if !Header::is_true(&bytes, &body, self.head.salt) {
            return Ok(Found::Nothing);
        }
        Ok(Found::Record { header, body, end })
    }

    /// Positions after `position` at which intact records lie, with how far the log was durable when each was written.
    pub(crate) fn intact_after(&self, position: u64) -> Result<Vec<(Position, u64)>, StoreError> {
        const CHUNK: usize = 1 << 20;
        let read = |error: std::io::Error| StoreError::io(&self.name, "read", &error);
        let length = self.file.len().map_err(read)?;
        let mut found = Vec::new();
        let mut at = self.byte_of(position) + 8;
        let mut chunk = Vec::new();
        while at + HEADER as u64 <= length {
            let count = usize::try_from((length - at).min(CHUNK as u64)).unwrap_or(CHUNK);
            chunk.resize(count, 0);
            self.file.read(at, &mut chunk).map_err(read)?;
            // Records begin at multiples of 8; a header at the end of the chunk is looked at with the next.
            let mut offset = 0;
            while offset + HEADER <= count {
                let place = self.head.base + (at - DATA) + offset as u64;
                if chunk[offset + 8..offset + 16] == place.to_le_bytes()
                    && let Found::Record { header, .. } = self.record_at(place)?
                {
                    found.push((Position(place), header.durable));
                }
                offset += 8;
            }
            at += offset as u64;
        }
        Ok(found)
    }

    /// Ends the file before a position. This needs no space.
    pub(crate) fn cut(&self, position: u64) -> Result<(), StoreError> {
        let failed = |error: std::io::Error| StoreError::io(&self.name, "cut", &error);
        let at = self.byte_of(position);
        if self.file.len().map_err(failed)? > at {
            self.file.set_len(at).map_err(failed)?;
        }
        Ok(())
    }

    /// Makes a record unreadable.
    pub(crate) fn erase(&self, position: u64) -> Result<(), StoreError> {
        let at = self.byte_of(position);
        self.file.write(at, &[0; HEADER]).map_err(|error| StoreError::io(&self.name, "written", &error))
    }
}
