//! The unit of work of a chunk, and what keeps the repository's records.

use crate::error::BatchError;
use quayline_store::Unit;

/// Where the job repository keeps its records: bytes by key, in units of work that readers and writers share.
pub trait Backend: Send + Sync {
    /// Begins a unit of work.
    ///
    /// # Errors
    /// Those of the store.
    fn begin(&self) -> Result<Box<dyn Work>, BatchError>;

    /// Number of this opening: greater than those of all earlier ones, so that a process that ended never has it again.
    fn owner(&self) -> u64;

    /// Whether only one process at a time can open the repository, so that executions of other owners are certainly over.
    fn is_exclusive(&self) -> bool;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// A unit of work: what readers and writers do, and the checkpoint, together or not at all. Dropping it rolls it back.
pub trait Work {
    /// The value of a key.
    ///
    /// # Errors
    /// Those of the store.
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError>;

    /// The value of a key, which nobody else changes until this unit has ended.
    ///
    /// # Errors
    /// Those of the store, locks.
    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError>;

    /// Sets a value.
    ///
    /// # Errors
    /// Those of the store, locks.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError>;

    /// Removes a key.
    ///
    /// # Errors
    /// Those of the store, locks.
    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError>;

    /// Up to `count` entries whose keys begin with `prefix`, ascending after a key, or descending before it.
    ///
    /// # Errors
    /// Those of the store.
    fn page(&mut self, page: PageOf<'_>) -> Result<Vec<Entry>, BatchError>;

    /// The unit of the store, for record files and queues; `None` if the repository is elsewhere.
    fn unit(&mut self) -> Option<&mut Unit>;

    /// A point to which [`Work::back_to`] returns.
    fn mark(&mut self) -> WorkMark;

    /// Takes back everything since a mark.
    fn back_to(&mut self, mark: WorkMark);

    /// Commits and waits.
    ///
    /// # Errors
    /// Those of the store: then nothing of the unit happened.
    fn commit(self: Box<Self>) -> Result<(), BatchError>;

    /// Commits without waiting.
    fn submit(self: Box<Self>) -> Pending;
}

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A point in a unit of work.
#[derive(Debug)]
pub struct WorkMark(pub u64);

/// Which entries of a key space.
#[derive(Clone, Copy, Debug)]
pub struct PageOf<'k> {
    /// What the keys begin with.
    pub prefix: &'k [u8],
    /// The last key of the page before.
    pub after: Option<&'k [u8]>,
    /// Whether the greatest key comes first.
    pub newest_first: bool,
    /// Greatest number of entries.
    pub count: usize,
}

/// A commit on its way.
pub struct Pending(Box<dyn FnOnce() -> Result<(), BatchError>>);

impl Pending {
    /// A commit whose outcome a function waits for.
    #[must_use]
    pub fn new(wait: impl FnOnce() -> Result<(), BatchError> + 'static) -> Self {
        Pending(Box::new(wait))
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn wait(self) -> Result<(), BatchError> {
        (self.0)()
    }
}
