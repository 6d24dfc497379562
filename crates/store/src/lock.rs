//! Record locks: exclusive, held by units of work until their outcome is visible.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::usage::{Usage, micros};
use crate::{FullKey, StoreError};

/// Number of a unit of work, unique while the store is open.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UnitId(pub u64);

/// How long to wait for a lock that another unit of work holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockWait {
    /// The store's own limit, `lock_wait_ms_max`.
    Default,
    /// Not at all: the answer is [`StoreError::LockTimeout`] at once.
    No,
    /// At most this many milliseconds.
    AtMostMs(u64),
}

/// Locks of all units of work.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    inner: Mutex<Inner>,
    freed: Condvar,
    usage: Arc<Usage>,
}

#[derive(Debug, Default)]
struct Inner {
    holders: HashMap<FullKey, UnitId>,
    /// What each waiting unit waits for; a unit waits for one lock at a time.
    waiting: HashMap<UnitId, FullKey>,
    /// Tasks to wake when a lock is free, by its key.
    wakers: HashMap<FullKey, Vec<Waker>>,
}

/// Whether a lock was already held by the unit that asked for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Acquired {
    Now,
    Before,
}

impl LockTable {
    /// No lock is held; waits are counted there.
    pub(crate) fn new(usage: &Arc<Usage>) -> LockTable {
        LockTable { usage: Arc::clone(usage), ..LockTable::default() }
    }

    /// Takes the lock on a key for a unit.
    pub(crate) fn acquire(
        &self,
        unit: UnitId,
        key: &FullKey,
        wait_ms: u64,
        locks_max: usize,
    ) -> Result<Acquired, StoreError> {
        let mut inner = self.inner.lock();
        let mut deadline = None;
        loop {
            let count = inner.holders.len();
            let holder = match inner.holders.entry(key.clone()) {
                Entry::Vacant(_) if count >= locks_max => {
                    return Err(StoreError::LimitReached { limit: "locks_max", value: locks_max as u64 });
                }
                Entry::Vacant(free) => {
                    free.insert(unit);
                    return Ok(Acquired::Now);
                }
                Entry::Occupied(held) if *held.get() == unit => return Ok(Acquired::Before),
                Entry::Occupied(held) => *held.get(),
            };
            if wait_ms == 0 {
                return Err(StoreError::LockTimeout { space: key.space(), waited_ms: 0 });
            }
            if inner.would_close_a_circle(unit, holder) {
                self.usage.deadlocks.fetch_add(1, Ordering::Relaxed);
                return Err(StoreError::Deadlock { space: key.space() });
            }
            let since = Instant::now();
            let limit = *deadline.get_or_insert_with(|| Instant::now() + Duration::from_millis(wait_ms));
            inner.waiting.insert(unit, key.clone());
            let timed_out = self.freed.wait_until(&mut inner, limit).timed_out();
            inner.waiting.remove(&unit);
            self.usage.lock_waits.fetch_add(1, Ordering::Relaxed);
            self.usage.lock_wait_us.fetch_add(micros(since.elapsed()), Ordering::Relaxed);
            if timed_out && inner.holders.contains_key(key) {
                self.usage.lock_timeouts.fetch_add(1, Ordering::Relaxed);
                return Err(StoreError::LockTimeout { space: key.space(), waited_ms: wait_ms });
            }
        }
    }

    /// Takes the lock on a key for a unit that holds no thread: if another unit holds it, the answer is [`StoreError::LockTimeout`] at once, and
    /// `waker` is woken when the lock is free. Until the unit tries again or [gives up](Self::give_up), it counts as waiting, so that a circle is found.
    pub(crate) fn acquire_or_wake(
        &self,
        unit: UnitId,
        key: &FullKey,
        waker: &Waker,
        locks_max: usize,
    ) -> Result<Acquired, StoreError> {
        self.give_up(unit);
        match self.acquire(unit, key, 0, locks_max) {
            Err(StoreError::LockTimeout { .. }) => {}
            other => return other,
        }
        let mut inner = self.inner.lock();
        // The lock may have been freed since; then the second attempt gets it.
        let Some(holder) = inner.holders.get(key).copied() else {
            drop(inner);
            return self.acquire(unit, key, 0, locks_max);
        };
        if inner.would_close_a_circle(unit, holder) {
            self.usage.deadlocks.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::Deadlock { space: key.space() });
        }
        self.usage.lock_waits.fetch_add(1, Ordering::Relaxed);
        inner.waiting.insert(unit, key.clone());
        inner.wakers.entry(key.clone()).or_default().push(waker.clone());
        Err(StoreError::LockTimeout { space: key.space(), waited_ms: 0 })
    }

    /// The unit no longer waits for a lock.
    pub(crate) fn give_up(&self, unit: UnitId) {
        self.inner.lock().waiting.remove(&unit);
    }

    /// Frees locks of a unit.
    pub(crate) fn release<'a>(&self, unit: UnitId, keys: impl IntoIterator<Item = &'a FullKey>) {
        let mut inner = self.inner.lock();
        let mut wake = Vec::new();
        for key in keys {
            let removed = inner.holders.remove(key);
            debug_assert_eq!(removed, Some(unit), "a unit frees only its own locks");
            if !inner.wakers.is_empty() {
                wake.extend(inner.wakers.remove(key).into_iter().flatten());
            }
        }
        if !inner.waiting.is_empty() {
            self.freed.notify_all();
        }
        drop(inner);
        wake.into_iter().for_each(Waker::wake);
    }

    /// Number of locks held.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().holders.len()
    }
}

impl Inner {
    /// Follows who waits for whom from `holder`. A unit waits for one lock and a lock has one holder, so the path does not branch.
    fn would_close_a_circle(&self, unit: UnitId, holder: UnitId) -> bool {
        let mut at = holder;
        // No path is longer than the number of waiting units.
        for _ in 0..=self.waiting.len() {
            if at == unit {
                return true;
            }
            let Some(next) = self.waiting.get(&at).and_then(|key| self.holders.get(key)) else { return false };
            at = *next;
        }
        false
    }
}
