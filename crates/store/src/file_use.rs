//! Use counts of a record file, like the statistics of LISTCAT.
//!
//! ```text
//! catalog   store/use/ space of the records (4 bytes, high byte first) ─▶ version 1 (1), since (8), then 7 counts of 8 bytes, low byte first:
//!           inserted, updated, deleted, read, lookups, lookups that read index pages, lookups that read data pages
//! ```
//!
//! Each count is an atomic addition to memory that threads rarely share. Changes count when their unit of work commits, reads when they happen.
//! [`Store::keep_use`](crate::Store::keep_use) adds the counts to the catalog: when a command or server closes the store, and in a server once in
//! each interval. A crash loses the counts since the last call, as it does in VSAM. A file that is defined, rebuilt or copied starts at zero.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const VERSION: u8 = 1;
/// Sets of counters for reads. Threads take them in turn, so that a few readers do not write to one line of memory.
const SHARDS: usize = 8;

/// Uses of a record file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FileUse {
    /// Time at which counts were first stored, in milliseconds since 1970; 0 before that.
    pub since_ms: u64,
    /// Records inserted, loads included.
    pub inserted: u64,
    /// Records replaced.
    pub updated: u64,
    /// Records deleted.
    pub deleted: u64,
    /// Records read.
    pub read: u64,
    /// Lookups in the file or its alternate indexes: one for a record by its key, one for each page of a browse.
    pub lookups: u64,
    /// Lookups that read an index page from the medium or the system's cache; the others found all index pages in memory.
    pub index_missed: u64,
    /// Lookups that read a data page.
    pub data_missed: u64,
}

impl FileUse {
    fn counts(&self) -> [u64; 7] {
        let FileUse { since_ms: _, inserted, updated, deleted, read, lookups, index_missed, data_missed } = *self;
        [inserted, updated, deleted, read, lookups, index_missed, data_missed]
    }

    fn of(since_ms: u64, counts: [u64; 7]) -> FileUse {
        let [inserted, updated, deleted, read, lookups, index_missed, data_missed] = counts;
        FileUse { since_ms, inserted, updated, deleted, read, lookups, index_missed, data_missed }
    }

    pub(crate) fn plus(&self, more: &FileUse) -> FileUse {
        let since_ms = if self.since_ms == 0 { more.since_ms } else { self.since_ms };
        let mut counts = self.counts();
        counts.iter_mut().zip(more.counts()).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        FileUse::of(since_ms, counts)
    }

    /// Returns the counts since an earlier state.
    #[must_use]
    pub fn since(&self, earlier: &FileUse) -> FileUse {
        let mut counts = self.counts();
        counts.iter_mut().zip(earlier.counts()).for_each(|(now, before)| *now = now.saturating_sub(before));
        FileUse::of(self.since_ms, counts)
    }

    /// Formats the counts as lines of text, like LISTCAT.
    #[must_use]
    pub fn text(&self) -> String {
        let FileUse { since_ms: _, inserted, updated, deleted, read, lookups, index_missed, data_missed } = self;
        let mut text = format!("  {inserted} inserted, {updated} updated, {deleted} deleted, {read} read\n");
        if *lookups > 0 {
            let hits = |missed: u64| 100.0 * (1.0 - missed as f64 / *lookups as f64);
            let (index, data) = (hits(*index_missed), hits(*data_missed));
            text.push_str(&format!("  {lookups} lookups: index in memory for {index:.1} %, data for {data:.1} %\n"));
        }
        text
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.since_ms.to_le_bytes());
        self.counts().iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
        bytes
    }

    /// Counts of another version are not counts of this one, so they begin again.
    pub(crate) fn decode(bytes: &[u8]) -> FileUse {
        let Some((&VERSION, rest)) = bytes.split_first() else { return FileUse::default() };
        let mut numbers = rest.chunks_exact(8).map(|part| part.try_into().map_or(0, u64::from_le_bytes));
        let since_ms = numbers.next().unwrap_or(0);
        FileUse::of(since_ms, std::array::from_fn(|_| numbers.next().unwrap_or(0)))
    }
}

/// Counters of reads of some threads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Reads {
    read: AtomicU64,
    lookups: AtomicU64,
    index_missed: AtomicU64,
    data_missed: AtomicU64,
}

/// The counters of one file, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct UseCounters {
    reads: [Reads; SHARDS],
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
    /// Counts of these counters that the catalog already contains.
    pub(crate) kept: parking_lot::Mutex<FileUse>,
}

thread_local! {
    /// Pages that this thread read: of an index, of data.
    static PAGES: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    static SHARD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS
    };
}

/// A page that an engine reads from its medium.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PageKind {
    /// An index page.
    Index,
    /// A data page.
    Data,
}

/// Counts a page that an engine reads on this thread, for the lookup that reads it.
pub fn count_page(kind: PageKind) {
    PAGES.with(|pages| {
        let (index, data) = pages.get();
        pages.set(match kind {
            PageKind::Index => (index + 1, data),
            PageKind::Data => (index, data + 1),
        });
    });
}

/// A change of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RecordChange {
    Inserted,
    Updated,
    Deleted,
}

impl UseCounters {
    /// Counts a lookup and the number of records that it found.
    pub(crate) fn lookup<T>(&self, found: impl FnOnce(&T) -> u64, look: impl FnOnce() -> T) -> T {
        let before = PAGES.get();
        let answer = look();
        let after = PAGES.get();
        let reads = &self.reads[SHARD.with(|shard| *shard)];
        reads.lookups.fetch_add(1, Ordering::Relaxed);
        let records = found(&answer);
        if records > 0 {
            reads.read.fetch_add(records, Ordering::Relaxed);
        }
        if after.0 > before.0 {
            reads.index_missed.fetch_add(1, Ordering::Relaxed);
        }
        if after.1 > before.1 {
            reads.data_missed.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// Counts records that a lookup before found.
    pub(crate) fn found(&self, records: u64) {
        if records > 0 {
            self.reads[SHARD.with(|shard| *shard)].read.fetch_add(records, Ordering::Relaxed);
        }
    }

    /// Counts changes that are committed.
    pub(crate) fn changed(&self, change: RecordChange, count: u64) {
        let counter = match change {
            RecordChange::Inserted => &self.inserted,
            RecordChange::Updated => &self.updated,
            RecordChange::Deleted => &self.deleted,
        };
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the counts since the store was opened.
    pub(crate) fn now(&self) -> FileUse {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sum = |of: fn(&Reads) -> &AtomicU64| self.reads.iter().map(|reads| value(of(reads))).sum();
        FileUse {
            since_ms: 0,
            inserted: value(&self.inserted),
            updated: value(&self.updated),
            deleted: value(&self.deleted),
            read: sum(|reads| &reads.read),
            lookups: sum(|reads| &reads.lookups),
            index_missed: sum(|reads| &reads.index_missed),
            data_missed: sum(|reads| &reads.data_missed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_stored_and_read_back() {
        let uses = FileUse::of(7, [1, 2, 3, 4, 5, 6, u64::MAX]);
        assert_eq!(FileUse::decode(&uses.encode()), uses);
        assert_eq!(FileUse::decode(&[]), FileUse::default());
        assert_eq!(FileUse::decode(&[9, 1]), FileUse::default());
        let twice = uses.plus(&FileUse::of(8, [1; 7]));
        assert_eq!((twice.since_ms, twice.inserted, twice.data_missed), (7, 2, u64::MAX));
        assert_eq!(twice.since(&uses).read, 1);
    }

    #[test]
    fn a_lookup_counts_the_pages_that_it_reads() {
        let counters = UseCounters::default();
        counters.lookup(
            |_| 2,
            || {
                count_page(PageKind::Index);
                count_page(PageKind::Index);
            },
        );
        counters.lookup(|_| 1, || count_page(PageKind::Data));
        counters.lookup(|_| 0, || ());
        let now = counters.now();
        assert_eq!((now.read, now.lookups, now.index_missed, now.data_missed), (3, 3, 1, 1));
    }
}
