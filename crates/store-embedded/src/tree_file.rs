//! The file of the tree: its name, its errors, and the checksum of an entry.

use std::io;

use quayline_store::StoreError;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The file of the applied store.
pub(crate) const FILE: &str = "store.redb";

/// Converts an error of redb.
pub(crate) fn error<E: Into<redb::Error>>(action: &'static str) -> impl FnOnce(E) -> StoreError {
    move |error| match error.into() {
        redb::Error::Io(error) => StoreError::io(FILE, action, &error),
        // A reader elsewhere still has a snapshot. That is no damage.
        redb::Error::TransactionInProgress => StoreError::io(FILE, action, &io::ErrorKind::WouldBlock.into()),
        other => StoreError::Damaged { file: FILE.to_owned(), byte: 0, what: other.to_string() },
    }
}

/// Creates the error for a damaged tree.
pub(crate) fn damaged_by(what: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Damaged { file: FILE.to_owned(), byte: 0, what: format!("{what}: {error}") }
}

/// Returns the checksum of an entry over its key and value.
pub(crate) fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let sum = xxh3_64_with_seed(value, xxh3_64(key)).to_le_bytes();
    [sum[0], sum[1], sum[2], sum[3]]
}
