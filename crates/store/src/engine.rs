//! The interface of an engine: it stores bytes by key and commits batches of changes atomically.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::shared::Shared;
use crate::{FullKey, Space, StoreError, Value};

/// Place of a commit in the order of all commits. A later commit has a greater position.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One change of a batch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Sets the value of a key.
    Put(Value),
    /// Sets the value of a key that never had one and that no later batch sets again after it is deleted. An engine may forget such a pair
    /// of put and delete without a trace, which is why messages that come and leave quickly never reach the tree.
    Fresh(Value),
    /// Removes a key; nothing happens if it is missing.
    Delete,
}

impl Change {
    /// Returns the value that a reader sees after this change.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Change::Put(value) | Change::Fresh(value) => Some(value),
            Change::Delete => None,
        }
    }
}

/// The changes of one unit of work, at most one for each key.
pub type Batch = Vec<(FullKey, Change)>;

/// Called once when a batch is visible and durable (with `durability = buffered`: written), or when it failed. The call comes from a thread of the
/// engine or of another committer, so it must not block.
pub type Completion = Box<dyn FnOnce(Result<Position, StoreError>) + Send>;

/// Figures of an engine for `store facts`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EngineFacts {
    /// Last commit that is visible.
    pub position: Position,
    /// Last commit that the applied store contains; equals `position` if the engine has no log.
    pub applied: Position,
    /// Bytes of the log that the applied store does not hold yet.
    pub log_bytes: u64,
    /// Bytes of the applied store on disk.
    pub store_bytes: u64,
    /// Bytes of changes in memory.
    pub delta_bytes: u64,
    /// Units of work that committed since the store was opened.
    pub units: u64,
    /// Groups: each one write and one sync.
    pub groups: u64,
    /// Units of the largest group.
    pub group_units_max: u64,
    /// Syncs of the log.
    pub syncs: u64,
    /// Microseconds in those syncs.
    pub sync_us: u64,
    /// Changes that reached the applied store.
    pub applied_changes: u64,
    /// Batches in which they did.
    pub applied_batches: u64,
    /// Microseconds that committers waited for the applier.
    pub stalled_us: u64,
}

/// Stores bytes by key and commits batches. It has no concept of files, queues or formats. All engines must behave identically; `conformance` has the
/// checks.
///
/// Reads see the newest visible commit. A page is consistent: within it, every batch is visible completely or not at all.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError>;

    /// Replaces the content of `page` with the first entries of a range.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError>;

    /// Commits a batch and blocks until the outcome is known. `after` runs before this returns. The calling thread may do the work of a whole commit
    /// group.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] after a failed write or sync; limits.
    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError>;

    /// Commits a batch without blocking the thread: `after` runs when the outcome is known. Blocks only while the engine's limit on batches in
    /// flight is reached, and never on a thread that runs a [`Completion`].
    fn submit(&self, batch: Batch, after: Completion);

    /// Commits a batch as [`Self::submit`] does, but `after` may run as soon as the batch is written: the end of the process does not lose it then, and a
    /// power cut may. It is durable with the next batch that is, and at the latest when the engine applies it. By default as `submit`.
    fn submit_written(&self, batch: Batch, after: Completion) {
        self.submit(batch, after);
    }

    /// Adds ascending keys to an empty space that no batch changes at the same time. The entries are durable and visible when this
    /// returns. After a crash, some of them may be stored. Returns their number.
    ///
    /// # Errors
    /// Errors of the source, and [`StoreError::NotAscending`]: the preceding entries are stored. [`StoreError::NotEmpty`] if the space contains one
    /// of the keys; some of the preceding entries may be stored. Later commits are possible after all of these. [`StoreError::Io`].
    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError>;

    /// Returns a snapshot of the committed state. Later commits are not visible in it. A snapshot that is kept for long prevents its space from being
    /// reused.
    ///
    /// # Errors
    /// Errors of the medium.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Returns the position of the last visible commit.
    fn position(&self) -> Position;

    /// Blocks until a commit is visible and, with `durability = sync`, durable.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] if this can no longer happen.
    fn wait(&self, position: Position) -> Result<(), StoreError>;

    /// Returns the reason why no further commit is possible, or `None` while commits are possible.
    fn stopped(&self) -> Option<String> {
        None
    }

    /// Figures.
    fn facts(&self) -> EngineFacts;

    /// Checks all stored data. Returns one error for each damage found, with its place and without payload.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the check itself cannot continue.
    fn check(&self) -> Result<Vec<StoreError>, StoreError>;

    /// Checks the structure in which entries are found. Damage to it may hide entries from all reads.
    ///
    /// # Errors
    /// [`StoreError::Damaged`]; errors of the medium.
    fn structure(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Visits all readable entries of a space in key order and reports unreadable parts; after damage it continues with the next readable entry.
    /// Entries that damage hides are not reported; see [`Self::structure`].
    ///
    /// # Errors
    /// Errors of the visit, which ends with the first; errors of the medium.
    fn salvage(&self, space: Space, visit: &mut SalvageVisit<'_>) -> Result<(), StoreError> {
        let mut page = Page::default();
        let mut next = Some(Bound::Unbounded);
        while let Some(bound) = next {
            let range = KeyRange::ALL.after(Direction::Forward, &bound);
            self.page(space, range, Direction::Forward, PageLimit::default(), &mut page)?;
            page.iter().try_for_each(|(key, value)| visit(Salvaged::Entry(key, value)))?;
            next = page.next.take();
        }
        Ok(())
    }

    /// Returns the locks and claims shared by several processes, if the engine can be open in several at once.
    fn shared(&self) -> Option<Arc<dyn Shared>> {
        None
    }

    /// Gives space that nothing uses back to the file system. Returns the bytes before and after.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn compact(&self) -> Result<(u64, u64), StoreError>;
}

/// Item found by a salvage. Keys are without their space.
#[derive(Clone, Debug)]
pub enum Salvaged<'a> {
    /// An entry that is intact: key and value.
    Entry(&'a [u8], &'a [u8]),
    /// Damage, with the key of the entry if it can be read.
    Damage(Option<&'a [u8]>, StoreError),
}

/// Receives the items of a salvage.
pub type SalvageVisit<'a> = dyn FnMut(Salvaged<'_>) -> Result<(), StoreError> + 'a;

/// A state of the whole store. Several threads may read it at once.
pub trait Snapshot: Send + Sync {
    /// Returns the position of the last commit in the snapshot.
    fn position(&self) -> Position;

    /// Visits the entries of a range in the order of the keys; a key begins with its space, as [`FullKey::bytes`] does. A bound that is shorter than a
    /// space counts as none.
    ///
    /// # Errors
    /// Errors of the medium and of the visit, which ends with the first.
    fn visit(&self, range: EntryRange<'_>, visit: &mut EntryVisit<'_>) -> Result<(), StoreError>;
}

/// Bounds of full keys, lower and upper.
pub type EntryRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Converts a range to full keys. A bound that is too short to contain a space is treated as unbounded.
#[must_use]
pub fn full_bounds(range: EntryRange<'_>) -> (Bound<FullKey>, Bound<FullKey>) {
    let full = |bound: Bound<&[u8]>| match bound {
        Bound::Included(key) => FullKey::from_bytes(key).map_or(Bound::Unbounded, Bound::Included),
        Bound::Excluded(key) => FullKey::from_bytes(key).map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded => Bound::Unbounded,
    };
    (full(range.0), full(range.1))
}

/// The range of all entries.
pub const EVERY_ENTRY: EntryRange<'static> = (Bound::Unbounded, Bound::Unbounded);

/// Takes a full key and its value.
pub type EntryVisit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError> + 'a;

/// Source of a load: fills the two buffers with the next key and value and returns true, or returns false at the end.
pub type LoadSource<'a> = dyn FnMut(&mut Vec<u8>, &mut Vec<u8>) -> Result<bool, StoreError> + 'a;
