//! Unit of work of a chunk, and the backend of the repository's records.

use crate::error::{BatchError, Thrown};
use crate::event::EventPosition;
use crate::record::{ExecutionId, Lease, Position};
use crate::record_bytes::read;
use quayline_postgres::Transaction;
use quayline_store::Unit;
use quayline_store::queue::Queue;

/// Storage of the job repository: bytes by key, in units of work that readers and writers share.
pub trait Backend: Send + Sync {
    /// Begins a unit of work.
    ///
    /// # Errors
    /// Errors of the store.
    fn begin(&self) -> Result<Box<dyn Work>, BatchError>;

    /// Returns the number of this opening. It is greater than those of all earlier ones, so that the number of an ended process is never reused.
    ///
    /// # Errors
    /// Errors of the store, if the opening has no number yet.
    fn owner(&self) -> Result<u64, BatchError>;

    /// Returns true if the owner of a lease certainly runs no executions any more.
    ///
    /// # Errors
    /// Errors of the store.
    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError>;

    /// Returns true if the owner of a lease is connected to the repository now. An owner that is not may connect again, for some time.
    ///
    /// # Errors
    /// Errors of the store.
    fn is_connected(&self, lease: &Lease) -> Result<bool, BatchError> {
        let _ = lease;
        Ok(true)
    }

    /// Returns true if several processes can use the repository at the same time.
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

/// Unit of work: the operations of readers and writers and the checkpoint commit together or not at all. Dropping it rolls it back.
pub trait Work {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Errors of the store.
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError>;

    /// Returns the value of a key, and locks the key until this unit has ended.
    ///
    /// # Errors
    /// Errors of the store, including locks.
    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError>;

    /// Sets a value.
    ///
    /// # Errors
    /// Those of the store, locks.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError>;

    /// Sets a value to a large position. The position then shares the bytes that the store keeps.
    ///
    /// # Errors
    /// Those of the store, locks.
    fn put_position(&mut self, key: &[u8], value: &mut Position) -> Result<(), BatchError> {
        self.put(key, value)
    }

    /// Removes a key.
    ///
    /// # Errors
    /// Errors of the store, including locks.
    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError>;

    /// Returns up to `count` entries whose keys begin with `prefix`, ascending after a key, or descending before it. Large values make a page
    /// shorter than `count`; only an empty page is the end.
    ///
    /// # Errors
    /// Errors of the store.
    fn page(&mut self, page: PageOf<'_>) -> Result<Vec<Entry>, BatchError>;

    /// Sets a value as part of a checkpoint. Nothing of this unit of work commits if the fence no longer holds.
    ///
    /// # Errors
    /// [`BatchError::Fenced`], now or with the commit; errors of the store.
    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError>;

    /// Sets many values, whose keys belong to the holder of a fence from now on.
    ///
    /// # Errors
    /// Errors of the store.
    fn put_all(&mut self, entries: &[Entry], token: u64) -> Result<(), BatchError> {
        let _ = token;
        entries.iter().try_for_each(|(key, value)| self.put(key, value))
    }

    /// Keys with this prefix belong to the holder of a token from now on: checkpoints of others fail.
    ///
    /// # Errors
    /// Errors of the store.
    fn adopt(&mut self, prefix: &[u8], token: u64) -> Result<(), BatchError> {
        let _ = (prefix, token);
        Ok(())
    }

    /// Keeps an event, as bytes, after all that were kept earlier. It gets its position with the commit.
    ///
    /// # Errors
    /// Errors of the store.
    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError>;

    /// Returns up to `count` kept events after a position in ascending order. No event with an earlier position appears later.
    ///
    /// # Errors
    /// Errors of the store.
    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError>;

    /// Returns the position of the newest kept event.
    ///
    /// # Errors
    /// Errors of the store.
    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError>;

    /// Removes up to `count` of the oldest events that are not among the newest `retain`. Returns the number of removed events.
    ///
    /// # Errors
    /// Errors of the store.
    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError>;

    /// Returns the unit of the store, for record files and queues; `None` if the repository is elsewhere.
    fn unit(&mut self) -> Option<&mut Unit>;

    /// Returns the transaction of the database, for SQL; `None` if the repository is elsewhere.
    fn transaction(&mut self) -> Option<&mut Transaction> {
        None
    }

    /// Returns true if nothing was changed, so that a commit is not needed.
    fn is_untouched(&self) -> bool {
        false
    }

    /// Returns true if writes may be refused later, with the commit. [`Work::confirm`] finds out earlier.
    fn defers(&self) -> bool {
        false
    }

    /// Waits until all writes so far are confirmed.
    ///
    /// # Errors
    /// A write was refused.
    fn confirm(&mut self, what: Confirm) -> Result<(), Thrown> {
        let _ = what;
        Ok(())
    }

    /// Announces the writes of a chunk in which one was refused: writers send item by item, so that the error names one.
    fn set_by_item(&mut self) {}

    /// Returns true if writers should send item by item.
    fn by_item(&self) -> bool {
        false
    }

    /// Returns a point to which [`Work::back_to`] returns.
    fn mark(&mut self) -> WorkMark;

    /// Undoes all changes since a mark.
    ///
    /// # Errors
    /// Errors of the store.
    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError>;

    /// Commits and blocks until the outcome is known.
    ///
    /// # Errors
    /// Errors of the store: nothing of the unit was committed.
    fn commit(self: Box<Self>) -> Result<(), BatchError>;

    /// Commits without waiting.
    fn submit(self: Box<Self>) -> Pending;
}

/// Condition for a checkpoint: the execution was not taken over.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The execution.
    pub execution: ExecutionId,
    /// Key of its lease.
    pub lease: Vec<u8>,
    /// The token that this process has.
    pub token: u64,
    /// Number of this opening of the repository.
    pub owner: u64,
}

impl Fence {
    /// Returns an error if a lease is missing or belongs to another process.
    pub(crate) fn check(&self, lease: Option<&[u8]>) -> Result<(), BatchError> {
        let lease: Option<Lease> = lease.map(|value| read("a lease", value)).transpose()?;
        match lease {
            Some(lease) if lease.token == self.token && lease.owner == self.owner => Ok(()),
            _ => Err(BatchError::Fenced { execution: self.execution, token: self.token }),
        }
    }
}

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// What [`Work::confirm`] confirms.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confirm {
    /// The answers to the writes.
    Writes,
    /// Also the constraints that are otherwise checked with the commit.
    Constraints,
}

/// A point in a unit of work.
#[derive(Debug)]
pub struct WorkMark(pub u64);

/// Selection of entries of a key space.
#[derive(Clone, Copy, Debug)]
pub struct PageOf<'k> {
    /// Prefix of the keys.
    pub prefix: &'k [u8],
    /// The last key of the page before.
    pub after: Option<&'k [u8]>,
    /// True if the greatest key comes first.
    pub newest_first: bool,
    /// Greatest number of entries.
    pub count: usize,
}

/// A pending commit.
pub struct Pending(Box<dyn FnOnce() -> Result<(), BatchError>>);

impl Pending {
    /// Creates a pending commit whose outcome a function waits for.
    #[must_use]
    pub fn new(wait: impl FnOnce() -> Result<(), BatchError> + 'static) -> Self {
        Pending(Box::new(wait))
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// Errors of the commit.
    pub fn wait(self) -> Result<(), BatchError> {
        (self.0)()
    }
}

/// Returns the first key after all keys with a prefix.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}
