//! Locks and claims among several processes that share one store, provided by the engine.
//!
//! ```text
//!  process 1: units ─▶ LockTable ─┐                      ┌─ LockTable ◀─ units :process 2
//!                      queues ────┼─▶ holds: key ─▶ owner ┼──── queues
//!                                 └── waits: who ─▶ key ──┘
//! ```
//!
//! A *hold* gives a key to one process and one unit of work. It ends with the commit of a batch that changes the key (at the same instant as the
//! change becomes visible), when it is released, and when its process ends in any way.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::page::{KeyRange, Page, PageLimit};
use crate::unit_id::UnitId;
use crate::{FullKey, Space, StoreError, Value};

/// Owner of holds that belong to no unit of work: those of claimed messages.
pub const NO_UNIT: UnitId = UnitId(0);

/// Bits of a stamp that count within one millisecond.
const COUNT_BITS: u32 = 12;
/// Bits of a stamp that name the process.
const SLOT_BITS: u32 = 10;

/// Values with these bytes at this place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Filter<'a> {
    /// Offset in the value, from 0.
    pub offset: usize,
    /// Bytes that must be there.
    pub bytes: &'a [u8],
}

/// Request for claims: the first free entries of a range.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Space of the entries.
    pub space: Space,
    /// Keys.
    pub range: KeyRange<'a>,
    /// Condition on the values.
    pub filter: Option<Filter<'a>>,
    /// Most entries.
    pub count: usize,
    /// Space in which the same key may have a second value, which comes with the entry.
    pub beside: Space,
}

/// An entry that this process has claimed for [`NO_UNIT`].
#[derive(Clone, Debug)]
pub struct ClaimedEntry {
    /// Key without its space.
    pub key: Vec<u8>,
    /// Value.
    pub value: Value,
    /// Value of the same key in the other space.
    pub beside: Option<Value>,
}

/// Reading of a key's value together with its lock, in the same round trip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reads {
    /// Do not read the value.
    Nothing,
    /// Read the value.
    Value,
}

/// Pause of a message that is given back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pause {
    /// Length in milliseconds.
    pub ms: u64,
    /// Message, for [`Shared::paused_until`].
    pub id: [u8; 24],
}

/// Outcome of a request for a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Hold {
    /// Another unit of work has the key.
    Refused,
    /// The unit has the key now.
    Taken,
    /// The unit has the key now. The committed value stays the same until the unit ends.
    Read(Option<Value>),
}

/// Receiver of notifications about entries that other processes added or released.
pub trait Arrival: Send + Sync {
    /// Reports that up to this many entries arrived. Must not block.
    fn arrived(&self, count: u64);
}

/// Locks, claims and waits of one of several processes.
pub trait Shared: Send + Sync + fmt::Debug {
    /// Returns the source that makes stamps of this process unique among all processes and ordered by time.
    fn stamps(&self) -> StampSource;

    /// Takes a key for a unit of work if it is free. The outcome contains the value of the key if `reads` requests it.
    ///
    /// # Errors
    /// Errors of the connection.
    fn hold(&self, unit: UnitId, key: &FullKey, reads: Reads) -> Result<Hold, StoreError>;

    /// Releases keys of a unit. Does not block; a later [`Self::hold`] or [`Self::claim`] of this process finds them free.
    fn release(&self, unit: UnitId, keys: Vec<FullKey>);

    /// Releases a claimed entry, at once or after a pause. Before that, writes the value of the entry `beside`, which a crash of the database may
    /// undo.
    fn give_back(&self, key: FullKey, beside: Option<(FullKey, Value)>, pause: Option<Pause>);

    /// Ends the pauses of messages in `space` that this process gave back. A later [`Self::claim`] of this process finds them.
    fn end_pauses(&self, space: Space);

    /// Returns when the pause of a message that this process gave back ends at the latest. After `None`, a claim of this process finds the message, if
    /// it still exists.
    fn paused_until(&self, space: Space, id: &[u8; 24]) -> Option<Instant>;

    /// Publishes that a unit waits for a key. Returns true if the unit is the member of a cycle of waiting units that must give up.
    ///
    /// # Errors
    /// Errors of the connection.
    fn waits(&self, unit: UnitId, key: &FullKey) -> Result<bool, StoreError>;

    /// Publishes that the unit no longer waits.
    fn waits_no_more(&self, unit: UnitId);

    /// Wakes a task once when a key may be free, at the latest after a tenth of a second.
    fn wake_when(&self, key: &FullKey, waker: &Waker);

    /// Claims entries for this process. An empty answer means that nothing was free.
    ///
    /// # Errors
    /// Errors of the connection.
    fn claim(&self, wanted: &Wanted<'_>) -> Result<Vec<ClaimedEntry>, StoreError>;

    /// Reads free entries, as [`crate::Engine::page`] does forward.
    ///
    /// # Errors
    /// Errors of the connection.
    fn free_page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        filter: Option<Filter<'_>>,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError>;

    /// Returns the number of entries of a space.
    ///
    /// # Errors
    /// Errors of the connection.
    fn count(&self, space: Space) -> Result<u64, StoreError>;

    /// Subscribes to entries that other processes add to a space, and shows them that this process uses it.
    ///
    /// # Errors
    /// Errors of the connection.
    fn watch(&self, space: Space, arrival: Weak<dyn Arrival>) -> Result<(), StoreError>;

    /// Returns true if another process watches a space.
    ///
    /// # Errors
    /// Errors of the connection.
    fn is_watched(&self, space: Space) -> Result<bool, StoreError>;
}

/// Gives stamps that no other live process gives and that follow the time of the database.
///
/// ```text
/// milliseconds since 1970 (42 bits) │ slot of the process (10 bits) │ count (12 bits)
/// ```
#[derive(Debug)]
pub struct StampSource {
    slot: u64,
    begin_ms: u64,
    begin: Instant,
    last: AtomicU64,
}

impl StampSource {
    /// Stamps of a process with a slot below 1,024 that no other live process has. The time is that of the database, which all processes share.
    #[must_use]
    pub fn new(slot: u16, now_ms: u64) -> Self {
        let slot = u64::from(slot) & ((1 << SLOT_BITS) - 1);
        StampSource { slot, begin_ms: now_ms, begin: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Returns the next stamp, greater than all earlier ones of this process.
    pub(crate) fn next(&self) -> u64 {
        let passed = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(0);
        let first = |ms: u64| (ms << (COUNT_BITS + SLOT_BITS)) | (self.slot << COUNT_BITS);
        let now = first(self.begin_ms + passed);
        let after = |last: u64| {
            if now > last {
                now
            } else if last & ((1 << COUNT_BITS) - 1) == (1 << COUNT_BITS) - 1 {
                first((last >> (COUNT_BITS + SLOT_BITS)) + 1)
            } else {
                last + 1
            }
        };
        let before = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last)));
        after(before.unwrap_or_else(|last| last))
    }
}

/// A parked thread.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        *self.woken.lock() = true;
        self.changed.notify_all();
    }
}

impl Parked {
    /// Blocks until woken or until a time. A wake-up before the call counts.
    pub(crate) fn wait_until(&self, limit: Instant) {
        let mut woken = self.woken.lock();
        while !*woken && !self.changed.wait_until(&mut woken, limit).timed_out() {}
        *woken = false;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use std::collections::HashSet;

    use super::*;

    #[test]
    fn stamps_ascend_and_keep_the_slot_when_a_millisecond_is_full() {
        let source = StampSource::new(1023, 1_700_000_000_000);
        let mut last = 0;
        for _ in 0..20_000 {
            let next = source.next();
            assert!(next > last);
            assert_eq!((next >> COUNT_BITS) & 1023, 1023);
            last = next;
        }
    }

    #[test]
    fn stamps_of_two_processes_differ() {
        let sources = [StampSource::new(0, 5), StampSource::new(1, 5)];
        let stamps: HashSet<u64> = (0..10_000).flat_map(|_| sources.iter().map(StampSource::next)).collect();
        assert_eq!(stamps.len(), 20_000);
    }
}
