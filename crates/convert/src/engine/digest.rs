//! Digests that tie a checkpoint to its source and settings.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes at each end of a source that its digest covers.
const ENDS: u64 = 64 << 10;

/// Computes the digest of the definitions that shape an output, each as its bytes: copybook text with all COPY members, interface file, policies, names of
/// code page and dialect. The lengths of the parts are included, so that parts cannot run into each other.
#[must_use]
pub fn definition_digest<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.digest()
}

/// Computes length and digest of a file's ends, and rewinds the file.
pub(crate) fn source_digest(file: &mut File) -> io::Result<(u64, u64)> {
    let len = file.metadata()?.len();
    let mut ends = Vec::new();
    file.by_ref().take(ENDS).read_to_end(&mut ends)?;
    file.seek(SeekFrom::Start(len.saturating_sub(ENDS)))?;
    file.by_ref().take(ENDS).read_to_end(&mut ends)?;
    file.seek(SeekFrom::Start(0))?;
    Ok((len, xxh3_64(&ends)))
}
