//! The unit of work of a chunk, and what keeps the repository's records.

use crate::error::{BatchError, Thrown};
use crate::event::EventPosition;
use crate::record::{ExecutionId, Lease};
use quayline_postgres::Transaction;
use quayline_store::Unit;
use quayline_store::queue::Queue;

/// Where the job repository keeps its records: bytes by key, in units of work that readers and writers share.
pub trait Backend: Send + Sync {
    /// Begins a unit of work.
    ///
    /// # Errors
    /// Those of the store.
    fn begin(&self) -> Result<Box<dyn Work>, BatchError>;

    /// Number of this opening: greater than those of all earlier ones, so that a process that ended never has it again.
    ///
    /// # Errors
    /// Those of the store, if the opening has no number yet.
    fn owner(&self) -> Result<u64, BatchError>;

    /// Whether the owner of a lease certainly runs nothing any more.
    ///
    /// # Errors
    /// Those of the store.
    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError>;

    /// Whether several processes use the repository at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns a queue or topic of the store that contains the repository.
    fn queue(&self, name: &str) -> Option<Queue> {
        let _ = name;
        None
    }

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

    /// Sets a value as a part of a checkpoint. Nothing of this unit of work commits if the fence no longer holds.
    ///
    /// # Errors
    /// [`BatchError::Fenced`], now or with the commit; those of the store.
    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError>;

    /// Sets many values, whose keys belong to the holder of a fence from now on.
    ///
    /// # Errors
    /// Those of the store.
    fn put_all(&mut self, entries: &[Entry], token: u64) -> Result<(), BatchError> {
        let _ = token;
        entries.iter().try_for_each(|(key, value)| self.put(key, value))
    }

    /// Keys with this prefix belong to the holder of a token from now on: checkpoints of others fail.
    ///
    /// # Errors
    /// Those of the store.
    fn adopt(&mut self, prefix: &[u8], token: u64) -> Result<(), BatchError> {
        let _ = (prefix, token);
        Ok(())
    }

    /// Keeps an event, as bytes, behind all that were kept before; with the commit it gets its position.
    ///
    /// # Errors
    /// Those of the store.
    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError>;

    /// Up to `count` kept events after a position, ascending. No event whose position is before those returned appears later.
    ///
    /// # Errors
    /// Those of the store.
    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError>;

    /// Position of the newest kept event.
    ///
    /// # Errors
    /// Those of the store.
    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError>;

    /// Removes up to `count` of the oldest events that are not among the newest `retain`. Returns how many it removed.
    ///
    /// # Errors
    /// Those of the store.
    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError>;

    /// The unit of the store, for record files and queues; `None` if the repository is elsewhere.
    fn unit(&mut self) -> Option<&mut Unit>;

    /// The transaction of the database, for SQL; `None` if the repository is elsewhere.
    fn transaction(&mut self) -> Option<&mut Transaction> {
        None
    }

    /// Whether nothing was changed: then a commit is not needed.
    fn is_untouched(&self) -> bool {
        false
    }

    /// Whether what was written may turn out to be refused with the commit. [`Work::confirm`] finds out earlier.
    fn defers(&self) -> bool {
        false
    }

    /// Waits until everything that was written so far is known to hold.
    ///
    /// # Errors
    /// What a writer did is refused.
    fn confirm(&mut self) -> Result<(), Thrown> {
        Ok(())
    }

    /// The next writes are those of a chunk in which something was refused: writers send item by item, so that the answer names one.
    fn set_by_item(&mut self) {}

    /// Whether writers send item by item.
    fn by_item(&self) -> bool {
        false
    }

    /// A point to which [`Work::back_to`] returns.
    fn mark(&mut self) -> WorkMark;

    /// Takes back everything since a mark.
    ///
    /// # Errors
    /// Those of the store.
    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError>;

    /// Commits and waits.
    ///
    /// # Errors
    /// Those of the store: then nothing of the unit happened.
    fn commit(self: Box<Self>) -> Result<(), BatchError>;

    /// Commits without waiting.
    fn submit(self: Box<Self>) -> Pending;
}

/// What a checkpoint holds against a take-over.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The execution.
    pub execution: ExecutionId,
    /// Key of its lease.
    pub lease: Vec<u8>,
    /// The token that this process has.
    pub token: u64,
    /// This opening of the repository.
    pub owner: u64,
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
