//! Comparison of a book's files with their state when the book was opened.
//!
//! A process that keeps a book between requests compares stamps of files (length, times, inode) instead of reading
//! them; see [`Book::is_current`](crate::Book::is_current). Maps and guides are read at their first use, so their files
//! get a stamp when a comparison first meets them. That is later than the reading, and a change between the two would
//! be invisible. A file therefore counts as unchanged only if it was last changed before the book was opened.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The state of a file that every change of its content changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds of the last change of content.
    modified: (i64, i64),
    /// Seconds and nanoseconds of the last change of content or attributes. A program can set the other time, but not this one.
    changed: (i64, i64),
    inode: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let meta = fs::metadata(path).ok()?;
        Some(Stamp {
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        })
    }

    /// Returns true if the file was changed so long before a time that the kernel's coarse clock cannot hide a later change.
    fn is_older_than(&self, at_us: i64) -> bool {
        let (seconds, nanoseconds) = self.changed;
        seconds.saturating_mul(1_000_000).saturating_add(nanoseconds / 1_000) < at_us.saturating_sub(COARSE_US)
    }
}

/// Longest time in microseconds by which the clock of files may differ from that of the process.
const COARSE_US: i64 = 100_000;

/// The stamps that were compared so far.
#[derive(Debug, Default)]
pub(crate) struct Revision(Mutex<HashMap<PathBuf, Stamp>>);

impl Revision {
    /// Returns true if files are as they were at `opened_us`, in microseconds since 1970, when the book was opened.
    /// `may_be_missing` decides about a file that does not exist and did not before.
    pub(crate) fn has_same_files(
        &self,
        files: Vec<PathBuf>,
        opened_us: i64,
        may_be_missing: impl Fn(&Path) -> bool,
    ) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.into_iter().all(|file| {
            // A project may have its partners in the store only, and no folder.
            let Some(now) = Stamp::of(&file) else { return !known.contains_key(&file) && may_be_missing(&file) };
            match known.get(&file) {
                Some(then) => *then == now,
                None if now.is_older_than(opened_us) => {
                    known.insert(file, now);
                    true
                }
                None => false,
            }
        })
    }
}
