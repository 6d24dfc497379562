//! The bytes of a group: one write, one sync, any number of units of work.
//!
//! ```text
//! offset  bytes
//!      0      4  "QLG1" (a group) or "QLS1" (the seal: the log continues in the next segment)
//!      4      4  length of the body with its padding, a multiple of 8
//!      8      8  position of this record: bytes of the log before it
//!     16      8  position up to which the log was durable when this record was written
//!     24      4  units of work in the body (0 in a seal)
//!     28      4  0
//!     32      8  XXH3 of the body, seeded with XXH3 of bytes 0 to 31, seeded with the segment's salt
//!     40         body
//!
//! body of a group, for each unit of work:
//!      4  bytes of this unit after this field
//!      for each change:
//!        1  1 put, 2 put of a fresh key, 3 delete
//!        4  length of the key with its space
//!        …  space (4 bytes, high byte first) and key
//!        4  length of the value, and the value (not for a delete)
//! then zeros up to a multiple of 8
//!
//! body of a seal:
//!      8  number of the next segment     8  its salt
//! ```
//!
//! All numbers are little-endian. The salt is random for each segment, so no payload can look like a record, and a reused file holds none.

use quayline_store::{Batch, Change, FullKey};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) const HEADER: usize = 40;
pub(crate) const GROUP: [u8; 4] = *b"QLG1";
pub(crate) const SEAL: [u8; 4] = *b"QLS1";
/// Bytes of a whole seal.
pub(crate) const SEAL_BYTES: u64 = 56;

const PUT: u8 = 1;
const FRESH: u8 = 2;
const DELETE: u8 = 3;

/// The header of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: [u8; 4],
    pub(crate) body_bytes: u32,
    pub(crate) position: u64,
    pub(crate) durable: u64,
    pub(crate) units: u32,
    pub(crate) checksum: u64,
}

impl Header {
    /// Reads a header; whether it is true is for [`Self::is_true`] to say.
    pub(crate) fn read(bytes: &[u8; HEADER]) -> Self {
        Header {
            kind: part(bytes, 0),
            body_bytes: u32::from_le_bytes(part(bytes, 4)),
            position: u64::from_le_bytes(part(bytes, 8)),
            durable: u64::from_le_bytes(part(bytes, 16)),
            units: u32::from_le_bytes(part(bytes, 24)),
            checksum: u64::from_le_bytes(part(bytes, 32)),
        }
    }

    /// Returns true if the checksum is right.
    pub(crate) fn is_true(bytes: &[u8; HEADER], body: &[u8], salt: u64) -> bool {
        u64::from_le_bytes(part(bytes, 32)) == checksum(bytes, body, salt)
    }

    /// Returns true if a record could begin with this header.
    pub(crate) fn is_likely(&self, position: u64) -> bool {
        (self.kind == GROUP || self.kind == SEAL) && self.position == position && self.body_bytes.is_multiple_of(8)
    }

    /// Bytes of the whole record.
    pub(crate) fn record_bytes(&self) -> u64 {
        HEADER as u64 + u64::from(self.body_bytes)
    }
}

fn part<const N: usize>(bytes: &[u8; HEADER], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

fn checksum(header: &[u8; HEADER], body: &[u8], salt: u64) -> u64 {
    xxh3_64_with_seed(body, xxh3_64_with_seed(&header[..HEADER - 8], salt))
}

/// Completes a record: `record` holds room for the header and the body; this pads it and writes the header.
pub(crate) fn seal_record(record: &mut Vec<u8>, kind: [u8; 4], position: u64, durable: u64, units: u32, salt: u64) {
    record.resize(record.len().next_multiple_of(8), 0);
    let body_bytes = u32::try_from(record.len() - HEADER).expect("limits keep a group below 4 GB");
    record[..4].copy_from_slice(&kind);
    record[4..8].copy_from_slice(&body_bytes.to_le_bytes());
    record[8..16].copy_from_slice(&position.to_le_bytes());
    record[16..24].copy_from_slice(&durable.to_le_bytes());
    record[24..28].copy_from_slice(&units.to_le_bytes());
    record[28..32].fill(0);
    let mut header = [0; HEADER];
    header.copy_from_slice(&record[..HEADER]);
    let sum = checksum(&header, &record[HEADER..], salt);
    record[32..40].copy_from_slice(&sum.to_le_bytes());
}

/// Adds a unit of work to a body.
pub(crate) fn encode_unit(body: &mut Vec<u8>, batch: &Batch) {
    let begin = body.len();
    body.extend_from_slice(&[0; 4]);
    for (key, change) in batch {
        body.push(match change {
            Change::Put(_) => PUT,
            Change::Fresh(_) => FRESH,
            Change::Delete => DELETE,
        });
        push_bytes(body, key.bytes());
        if let Some(value) = change.value() {
            push_bytes(body, value);
        }
    }
    let length = u32::try_from(body.len() - begin - 4).expect("limits keep a unit of work below 4 GB");
    body[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

/// Bytes that [`encode_unit`] adds.
pub(crate) fn unit_bytes(batch: &Batch) -> usize {
    let of =
        |(key, change): &(FullKey, Change)| 5 + key.bytes().len() + change.value().map_or(0, |value| 4 + value.len());
    4 + batch.iter().map(of).sum::<usize>()
}

fn push_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("limits keep keys and values below 4 GB");
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(bytes);
}

/// Reads the units of a body whose checksum held. `None` is a body that no version of this program wrote.
pub(crate) fn decode_units(mut body: &[u8], units: u32) -> Option<Vec<Batch>> {
    let mut batches = Vec::new();
    for _ in 0..units {
        let mut unit = take_bytes(&mut body)?;
        let mut batch = Batch::new();
        while let Some((kind, rest)) = unit.split_first() {
            unit = rest;
            let key = FullKey::from_bytes(take_bytes(&mut unit)?)?;
            let change = match *kind {
                PUT => Change::Put(take_bytes(&mut unit)?.into()),
                FRESH => Change::Fresh(take_bytes(&mut unit)?.into()),
                DELETE => Change::Delete,
                _ => return None,
            };
            batch.push((key, change));
        }
        batches.push(batch);
    }
    (body.len() < 8 && body.iter().all(|byte| *byte == 0)).then_some(batches)
}

fn take_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_at_checked(4)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}
