//! Whether a book is still what its files and its store say.
//!
//! A process that keeps a book between requests compares instead of reading: the number of changes of partners in the store, and a stamp of each file
//! (length, times, inode). Maps and guides are read at their first use, so their files get a stamp when a comparison first meets them. That is
//! later than the reading, and a change between the two would be invisible. A file therefore counts as unchanged only if it was last
//! changed before the book was opened.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use quayline_store::Store;

use crate::book::Book;

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

impl Book {
    /// Returns true if reading the partners again would give the same: no file and no partner in the store has changed since the book was opened, and
    /// every definition that was used so far could be read. A file that was changed less than 0.1 s before counts as changed.
    ///
    /// The clock with which the book was opened must be that of the system.
    #[must_use]
    pub fn is_current(&self, store: Option<&Store>) -> bool {
        let stored = store.map(crate::stored::stored_version);
        let is_same = match (stored, self.stored_version()) {
            (None, None) => true,
            (Some(Ok(now)), Some(then)) => now == then,
            _ => false,
        };
        is_same && self.is_whole() && self.has_same_files()
    }

    fn has_same_files(&self) -> bool {
        let mut known = self.revision().0.lock().unwrap_or_else(PoisonError::into_inner);
        self.files().into_iter().all(|file| {
            // A project may have its partners in the store only, and no folder.
            let Some(now) = Stamp::of(&file) else { return !known.contains_key(&file) && self.may_be_missing(&file) };
            match known.get(&file) {
                Some(then) => *then == now,
                None if now.is_older_than(self.opened_us()) => {
                    known.insert(file, now);
                    true
                }
                None => false,
            }
        })
    }

    /// Returns true if a file is the folder of partner files, and no partner is in it.
    fn may_be_missing(&self, file: &Path) -> bool {
        self.partners().iter().all(quayline_project::partner::PartnerFile::is_stored)
            && file == self.project().join("partners")
    }
}
