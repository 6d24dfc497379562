//! Record locks: exclusive, held by units of work until their outcome is visible.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use quayline_meter::{WaitFor, waiting};

use crate::shared::{Hold, Parked, Reads, Shared};
use crate::unit_id::UnitId;
use crate::usage::Usage;
use crate::{FullKey, StoreError, Value};

/// Wait policy for a lock that another unit of work has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LockWait {
    /// The store's own limit, `lock_wait_ms_max`.
    Default,
    /// Do not wait: return [`StoreError::LockTimeout`] at once.
    No,
    /// Wait at most this many milliseconds.
    AtMostMs(u64),
}

/// Interval at which a waiting unit checks whether other processes released its lock, and searches for cycles that lead through them.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Time after which a wait for another unit of this process is published to the other processes.
const MAKE_KNOWN: Duration = Duration::from_millis(20);

/// Locks of all units of work of this process. With several processes, a unit takes a lock here first and then among the processes.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    inner: Mutex<Inner>,
    freed: Condvar,
    usage: Arc<Usage>,
    shared: Option<Arc<dyn Shared>>,
    /// Units that other processes know to be waiting.
    known_to_wait: Mutex<HashSet<UnitId>>,
}

#[derive(Debug, Default)]
struct Inner {
    holders: HashMap<FullKey, UnitId>,
    /// The lock that each waiting unit waits for. A unit waits for one lock at a time.
    waiting: HashMap<UnitId, Waits>,
    /// Tasks to wake when a lock is free, by its key.
    wakers: HashMap<FullKey, Vec<Waker>>,
}

/// A wait for a lock.
#[derive(Debug)]
struct Waits {
    key: FullKey,
    since: Instant,
}

/// Outcome of a lock request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Acquired {
    Now,
    /// The committed value came with it.
    AndRead(Option<Value>),
    Before,
}

impl LockTable {
    /// Creates an empty lock table that counts waits in `usage`.
    pub(crate) fn new(usage: &Arc<Usage>, shared: Option<Arc<dyn Shared>>) -> LockTable {
        LockTable { usage: Arc::clone(usage), shared, ..LockTable::default() }
    }

    /// Takes the lock on a key for a unit.
    pub(crate) fn acquire(
        &self,
        unit: UnitId,
        key: &FullKey,
        reads: Reads,
        wait_ms: u64,
        locks_max: usize,
    ) -> Result<Acquired, StoreError> {
        let Some(shared) = &self.shared else { return self.acquire_here(unit, key, wait_ms, locks_max) };
        let limit = Instant::now() + Duration::from_millis(wait_ms);
        let outcome = match self.acquire_here(unit, key, wait_ms, locks_max) {
            Ok(Acquired::Now) => {
                let there = self.acquire_there(shared.as_ref(), unit, (key, reads), wait_ms, limit);
                there.inspect_err(|_| self.release_here(unit, [key]))
            }
            other => other,
        };
        self.waits_no_more(unit);
        outcome
    }

    /// Takes the lock on a key that this unit has here among the processes.
    fn acquire_there(
        &self,
        shared: &dyn Shared,
        unit: UnitId,
        (key, reads): (&FullKey, Reads),
        wait_ms: u64,
        limit: Instant,
    ) -> Result<Acquired, StoreError> {
        if let Some(acquired) = acquired(shared.hold(unit, key, reads)?) {
            return Ok(acquired);
        }
        if wait_ms == 0 {
            return Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: 0 });
        }
        let since = Instant::now();
        let parked = Arc::new(Parked::default());
        let waker = Waker::from(Arc::clone(&parked));
        let outcome = loop {
            // The order matters: register the waker, publish the wait, then try. A later release of the key then always wakes this thread.
            shared.wake_when(key, &waker);
            match self.is_in_a_circle(shared, unit, key) {
                Ok(false) => {}
                Ok(true) => break Err(StoreError::Deadlock { space: key.space(), file: None }),
                Err(error) => break Err(error),
            }
            match shared.hold(unit, key, reads).map(acquired) {
                Ok(None) => {}
                Ok(Some(acquired)) => break Ok(acquired),
                Err(error) => break Err(error),
            }
            let now = Instant::now();
            if now >= limit {
                self.usage.lock_timed_out(key.space());
                break Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: wait_ms });
            }
            waiting(WaitFor::Lock, || parked.wait_until(limit.min(now + LOOK_AGAIN)));
        };
        self.usage.waits_for_lock(key.space());
        self.usage.waited_for_lock(key.space(), since);
        outcome
    }

    /// Publishes the wait to other processes. Returns true if this unit must give up to break a cycle.
    fn is_in_a_circle(&self, shared: &dyn Shared, unit: UnitId, key: &FullKey) -> Result<bool, StoreError> {
        self.known_to_wait.lock().insert(unit);
        let is_circle = shared.waits(unit, key)?;
        if is_circle {
            self.usage.deadlocked(key.space());
        }
        Ok(is_circle)
    }

    fn waits_no_more(&self, unit: UnitId) {
        if let Some(shared) = &self.shared
            && self.known_to_wait.lock().remove(&unit)
        {
            shared.waits_no_more(unit);
        }
    }

    /// Takes the lock on a key among the units of this process.
    fn acquire_here(
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
                return Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: 0 });
            }
            if inner.would_close_a_circle(unit, holder) {
                self.usage.deadlocked(key.space());
                return Err(StoreError::Deadlock { space: key.space(), file: None });
            }
            let since = Instant::now();
            let limit = *deadline.get_or_insert_with(|| Instant::now() + Duration::from_millis(wait_ms));
            inner.waiting.insert(unit, Waits { key: key.clone(), since });
            let timed_out = match &self.shared {
                None => Ok(waiting(WaitFor::Lock, || self.freed.wait_until(&mut inner, limit)).timed_out()),
                Some(shared) => self.wait_among_processes(&mut inner, shared.as_ref(), (unit, key), limit),
            };
            inner.waiting.remove(&unit);
            let timed_out = timed_out?;
            self.usage.waits_for_lock(key.space());
            self.usage.waited_for_lock(key.space(), since);
            if timed_out && inner.holders.contains_key(key) {
                self.usage.lock_timed_out(key.space());
                return Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: wait_ms });
            }
        }
    }

    /// Waits for a lock of this process, where a cycle may lead through other processes. Returns true if the time ended.
    fn wait_among_processes(
        &self,
        inner: &mut MutexGuard<'_, Inner>,
        shared: &dyn Shared,
        (unit, key): (UnitId, &FullKey),
        limit: Instant,
    ) -> Result<bool, StoreError> {
        let mut pause = MAKE_KNOWN;
        loop {
            let until = limit.min(Instant::now() + std::mem::replace(&mut pause, LOOK_AGAIN));
            if !waiting(WaitFor::Lock, || self.freed.wait_until(inner, until)).timed_out()
                || !inner.holders.contains_key(key)
            {
                return Ok(false);
            }
            if Instant::now() >= limit {
                return Ok(true);
            }
            if MutexGuard::unlocked(inner, || self.is_in_a_circle(shared, unit, key))? {
                return Err(StoreError::Deadlock { space: key.space(), file: None });
            }
        }
    }

    /// Takes the lock on a key without blocking: if another unit has it, returns [`StoreError::LockTimeout`] at once and wakes `waker` when the lock
    /// is released. Until the unit tries again or [gives up](Self::give_up), it counts as waiting, so that cycles are detected.
    pub(crate) fn acquire_or_wake(
        &self,
        unit: UnitId,
        key: &FullKey,
        reads: Reads,
        waker: &Waker,
        locks_max: usize,
    ) -> Result<Acquired, StoreError> {
        let Some(shared) = &self.shared else { return self.acquire_here_or_wake(unit, key, waker, locks_max) };
        let here = self.acquire_here_or_wake(unit, key, waker, locks_max);
        match here {
            Ok(Acquired::Now) => {
                let there = shared.hold(unit, key, reads).map(acquired);
                if let Ok(Some(acquired)) = there {
                    self.waits_no_more(unit);
                    return Ok(acquired);
                }
                self.release_here(unit, [key]);
                there?;
            }
            Err(StoreError::LockTimeout { .. }) => {}
            other => return other,
        }
        // The task tries again when it is woken, at the latest when the waker's time is over.
        shared.wake_when(key, waker);
        if self.is_in_a_circle(shared.as_ref(), unit, key)? {
            return Err(StoreError::Deadlock { space: key.space(), file: None });
        }
        Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: 0 })
    }

    fn acquire_here_or_wake(
        &self,
        unit: UnitId,
        key: &FullKey,
        waker: &Waker,
        locks_max: usize,
    ) -> Result<Acquired, StoreError> {
        self.has_waited(unit);
        let (mut inner, holder) = loop {
            match self.acquire_here(unit, key, 0, locks_max) {
                Err(StoreError::LockTimeout { .. }) => {}
                other => return other,
            }
            let inner = self.inner.lock();
            // If the lock is free now, another unit may take it before the next attempt. The task may sleep only after its waker is registered
            // while a unit holds the lock, because only the release of the lock wakes the task.
            if let Some(holder) = inner.holders.get(key).copied() {
                break (inner, holder);
            }
        };
        if inner.would_close_a_circle(unit, holder) {
            self.usage.deadlocked(key.space());
            return Err(StoreError::Deadlock { space: key.space(), file: None });
        }
        self.usage.waits_for_lock(key.space());
        inner.waiting.insert(unit, Waits { key: key.clone(), since: Instant::now() });
        inner.wakers.entry(key.clone()).or_default().push(waker.clone());
        Err(StoreError::LockTimeout { space: key.space(), file: None, waited_ms: 0 })
    }

    /// Ends a unit's wait for a lock.
    pub(crate) fn give_up(&self, unit: UnitId) {
        self.has_waited(unit);
        self.waits_no_more(unit);
    }

    /// Ends the wait of a unit that does not block a thread.
    fn has_waited(&self, unit: UnitId) {
        let waited = self.inner.lock().waiting.remove(&unit);
        if let Some(Waits { key, since }) = waited {
            self.usage.waited_for_lock(key.space(), since);
        }
    }

    /// Frees locks of a unit. Among the processes, a commit has freed those of the keys that it changed; `there` are the others.
    pub(crate) fn release<'a>(
        &self,
        unit: UnitId,
        keys: impl IntoIterator<Item = &'a FullKey>,
        there: impl IntoIterator<Item = FullKey>,
    ) {
        if let Some(shared) = &self.shared {
            // Before the next unit of this process can request them.
            let there: Vec<FullKey> = there.into_iter().collect();
            if !there.is_empty() {
                shared.release(unit, there);
            }
        }
        self.release_here(unit, keys);
    }

    fn release_here<'a>(&self, unit: UnitId, keys: impl IntoIterator<Item = &'a FullKey>) {
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

    /// Returns the number of locks held.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().holders.len()
    }
}

/// Converts the answer for a shared lock. `None` means that another unit has the key.
fn acquired(hold: Hold) -> Option<Acquired> {
    match hold {
        Hold::Refused => None,
        Hold::Taken => Some(Acquired::Now),
        Hold::Read(value) => Some(Acquired::AndRead(value)),
    }
}

impl Inner {
    /// Follows the wait-for graph from `holder`. A unit waits for one lock and a lock has one holder, so the path does not branch.
    fn would_close_a_circle(&self, unit: UnitId, holder: UnitId) -> bool {
        let mut at = holder;
        // No path is longer than the number of waiting units.
        for _ in 0..=self.waiting.len() {
            if at == unit {
                return true;
            }
            let Some(next) = self.waiting.get(&at).and_then(|waits| self.holders.get(&waits.key)) else { return false };
            at = *next;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    /// Regression: if a lock was freed and taken again between the two attempts of a task, the task slept until its time limit without a registered waker.
    #[test]
    fn a_task_that_does_not_get_a_lock_is_woken_when_it_is_free() {
        let table = LockTable::new(&Arc::default(), None);
        let key = FullKey::new(Space(1), b"k");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (table, key) = (&table, &key);
                scope.spawn(move || {
                    let parked = Arc::new(Parked::default());
                    let waker = Waker::from(Arc::clone(&parked));
                    for round in 0..3_000_000 {
                        let unit = UnitId(round * 4 + thread);
                        while table.acquire_or_wake(unit, key, Reads::Nothing, &waker, 8).is_err() {
                            let limit = Instant::now() + Duration::from_secs(20);
                            parked.wait_until(limit);
                            assert!(Instant::now() < limit, "nobody woke unit {unit:?}");
                        }
                        table.release(unit, [key], []);
                    }
                });
            }
        });
        assert_eq!(table.len(), 0);
    }
}
