//! A fingerprint of what a reader has read of a file: a restart notices another file of the same length.
//!
//! It covers the begin of the file and what is just before the checkpoint, so it costs two short reads for each checkpoint. What follows the
//! checkpoint is left out: a record that made the job fail may be corrected before the restart.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::error::Thrown;

/// Bytes of a fingerprint in a checkpoint.
pub(super) const FINGERPRINT_BYTES: usize = 16;
/// Bytes of each of the two parts.
const PART_BYTES: u64 = 4 << 10;

/// Returns the fingerprint of a file before an offset: XXH3 of its first 4 KB and of the 4 KB before the offset. Zero if it cannot be
/// read there, as from a pipe.
pub(super) fn fingerprint(file: &File, offset: u64) -> [u8; FINGERPRINT_BYTES] {
    let mut bytes = Vec::new();
    let mut read = |from: u64, to: u64| {
        let at = bytes.len();
        bytes.resize(at + usize::try_from(to - from).unwrap_or_default(), 0);
        file.read_exact_at(&mut bytes[at..], from)
    };
    let last = offset.saturating_sub(PART_BYTES);
    match read(0, offset.min(PART_BYTES)).and_then(|()| read(last, offset)) {
        Ok(()) => xxh3_128(&bytes).to_le_bytes(),
        Err(_) => [0; FINGERPRINT_BYTES],
    }
}

/// Compares a file with the fingerprint of a checkpoint.
///
/// # Errors
/// The file is not the one that was read up to the checkpoint.
pub(super) fn check(file: &File, path: &Path, offset: u64, before: &[u8]) -> Result<(), Thrown> {
    let unknown = [0; FINGERPRINT_BYTES];
    let now = fingerprint(file, offset);
    if before == unknown || now == unknown || before == now {
        return Ok(());
    }
    let message =
        format!("{} is not the file that the job read: its content before byte {offset} differs", path.display());
    Err(Thrown::of(&["quayline.Environment"], message)
        .hint("restore the file that the job began with, or start a new instance of the job"))
}
