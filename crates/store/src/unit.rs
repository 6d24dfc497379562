//! The unit of work: everything that commits together.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Instant;

use crate::engine::{Batch, Change, Completion, Engine};
use crate::file_use::{RecordChange, UseCounters};
use crate::lock::{Acquired, LockWait};
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::queue::QueueOutcome;
use crate::roll_back::RollBack;
use crate::shared::Reads;
use crate::store::Inner;
use crate::unit_id::UnitId;
use crate::usage::Kind;
use crate::{FullKey, Position, Space, StoreError, Ticket, Value};

/// A unit of work: reads, changes, gets and puts that become visible and durable together or not at all.
///
/// A unit sees its own changes; others see them after the commit. A change takes an exclusive lock on its key until the outcome is visible, and so
/// does a read for update; other reads take none and see the newest commit. Dropping a unit rolls it back.
pub struct Unit {
    store: Arc<Inner>,
    id: UnitId,
    writes: BTreeMap<FullKey, Change>,
    /// Bytes of keys and values in it.
    bytes: usize,
    /// Keys that this unit has locked.
    locks: HashMap<FullKey, Seen>,
    /// Bytes of the values in it.
    seen_bytes: usize,
    /// Locks that the commit does not release among the processes, because it changes nothing under them.
    unchanged_locks: Vec<FullKey>,
    /// Counts changes, for pages that must not be older than the last.
    version: u64,
    /// Actions of queues when the outcome is known. Not boxed: a unit of some hundred messages would allocate for each.
    outcomes: Vec<QueueOutcome>,
    /// Changes of records by file, which count when the unit commits.
    record_changes: Vec<(Arc<UseCounters>, RecordChange, u64)>,
    /// The task to wake when a lock is free, of a unit that does not hold its thread.
    waker: Option<Waker>,
    /// Undo log since the first mark: changed keys with the preceding change of this unit. `None` without a mark.
    undo: Option<Vec<(FullKey, Option<Change>)>>,
    /// Keys in it since the newest mark: only the first change of each after a mark is needed to go back to it.
    undone: HashSet<FullKey>,
    /// Reason to report if the unit is rolled back.
    roll_back: RollBack,
    /// Number of the first get or put that the reason applies to; for the ones before, the rollback is not a failure.
    failed_from: usize,
    ended: bool,
}

/// Bytes of values that a unit remembers of records that it has locked: enough for the records of an ordinary unit, little for one that locks a million.
const SEEN_BYTES_MAX: usize = 1 << 20;

/// Known state of a key that a unit has locked. No other unit changes the key until the unit ends, so a value is read only once.
enum Seen {
    Nothing,
    /// The committed value.
    Value(Option<Value>),
}

/// A point in a unit of work, from [`Unit::mark`].
#[derive(Debug)]
pub struct UnitMark {
    /// Length of the list of what changed; `None` if the unit had no changes, so that going back takes no list.
    undo: Option<usize>,
    outcomes: usize,
    record_changes: Vec<(Arc<UseCounters>, RecordChange, u64)>,
    bytes: usize,
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unit").field("id", &self.id).field("changes", &self.writes.len()).finish_non_exhaustive()
    }
}

impl Unit {
    pub(crate) fn begin(store: &Arc<Inner>) -> Result<Self, StoreError> {
        let limit = store.limits.units_open_max;
        if store.units_open.fetch_add(1, Ordering::Relaxed) >= limit {
            store.units_open.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreError::LimitReached { limit: "units_open_max", value: limit as u64 });
        }
        let id = UnitId(store.next_unit.fetch_add(1, Ordering::Relaxed));
        Ok(Unit {
            store: Arc::clone(store),
            id,
            writes: BTreeMap::new(),
            bytes: 0,
            locks: HashMap::new(),
            seen_bytes: 0,
            unchanged_locks: Vec::new(),
            version: 0,
            outcomes: Vec::new(),
            record_changes: Vec::new(),
            waker: None,
            undo: None,
            undone: HashSet::new(),
            roll_back: RollBack::Failed(None),
            failed_from: 0,
            ended: false,
        })
    }

    /// Returns the number of this unit.
    #[must_use]
    pub fn id(&self) -> UnitId {
        self.id
    }

    /// Makes later operations of this unit non-blocking: if another unit has a lock, they return [`StoreError::LockTimeout`] at once and wake
    /// the task when the lock is released. The task then repeats the operation or rolls the unit back. Spurious wake-ups are possible.
    pub fn wake_for_locks(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    /// Returns true if the unit has changed nothing so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the value of a key: the change of this unit, otherwise the newest committed value.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn read(&self, space: Space, key: &[u8]) -> Result<Option<Value>, StoreError> {
        self.read_full(&FullKey::new(space, key))
    }

    fn read_full(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        if let Some(change) = self.writes.get(key) {
            return Ok(change.value().cloned());
        }
        match self.locks.get(key) {
            Some(Seen::Value(value)) => Ok(value.clone()),
            _ => self.store.engine.get(key),
        }
    }

    /// Remembers the committed value of a key that is locked.
    fn remember(&mut self, key: &FullKey, value: Option<&Value>) {
        let bytes = value.map_or(0, |value| value.len());
        if self.seen_bytes + bytes <= SEEN_BYTES_MAX
            && let Some(seen) = self.locks.get_mut(key)
        {
            self.seen_bytes += bytes;
            *seen = Seen::Value(value.cloned());
        }
    }

    /// Locks a key, whether or not it has a value, and returns the value.
    ///
    /// # Errors
    /// [`StoreError::LockTimeout`], [`StoreError::Deadlock`], errors of the medium.
    pub fn read_for_update(&mut self, space: Space, key: &[u8], wait: LockWait) -> Result<Option<Value>, StoreError> {
        let key = FullKey::new(space, key);
        self.lock_full(&key, wait, Reads::Value)?;
        let value = self.read_full(&key)?;
        if !self.writes.contains_key(&key) && !matches!(self.locks.get(&key), Some(Seen::Value(_))) {
            self.remember(&key, value.as_ref());
        }
        Ok(value)
    }

    /// Takes the lock on a key.
    ///
    /// # Errors
    /// [`StoreError::LockTimeout`], [`StoreError::Deadlock`], [`StoreError::LimitReached`].
    pub fn lock(&mut self, space: Space, key: &[u8], wait: LockWait) -> Result<(), StoreError> {
        self.lock_full(&FullKey::new(space, key), wait, Reads::Nothing)
    }

    /// Returns true if this unit has the lock on a key.
    #[must_use]
    pub fn holds(&self, space: Space, key: &[u8]) -> bool {
        self.locks.contains_key(&FullKey::new(space, key))
    }

    fn lock_full(&mut self, key: &FullKey, wait: LockWait, reads: Reads) -> Result<(), StoreError> {
        let limits = &self.store.limits;
        if key.key().len() > limits.key_bytes_max {
            return Err(StoreError::TooLong { what: "key", found: key.key().len(), max: limits.key_bytes_max });
        }
        let wait_ms = match wait {
            LockWait::Default => limits.lock_wait_ms_max,
            LockWait::No => 0,
            LockWait::AtMostMs(wait_ms) => wait_ms,
        };
        let acquired = match &self.waker {
            Some(waker) if wait_ms > 0 => {
                self.store.locks.acquire_or_wake(self.id, key, reads, waker, limits.locks_max)?
            }
            _ => self.store.locks.acquire(self.id, key, reads, wait_ms, limits.locks_max)?,
        };
        match acquired {
            Acquired::Before => {}
            Acquired::Now => drop(self.locks.insert(key.clone(), Seen::Nothing)),
            Acquired::AndRead(value) => {
                self.locks.insert(key.clone(), Seen::Nothing);
                self.remember(key, value.as_ref());
            }
        }
        Ok(())
    }

    /// Sets a value.
    ///
    /// # Errors
    /// Lengths, limits and locks.
    pub fn put(&mut self, space: Space, key: &[u8], value: impl Into<Value>) -> Result<(), StoreError> {
        let key = FullKey::new(space, key);
        self.lock_full(&key, LockWait::Default, Reads::Nothing)?;
        self.write(key, Change::Put(value.into()))
    }

    /// Removes a key.
    ///
    /// # Errors
    /// Lengths, limits and locks.
    pub fn delete(&mut self, space: Space, key: &[u8]) -> Result<(), StoreError> {
        let key = FullKey::new(space, key);
        self.lock_full(&key, LockWait::Default, Reads::Nothing)?;
        self.write(key, Change::Delete)
    }

    /// Sets the value of a key that only this unit knows; see [`Change::Fresh`]. Takes no lock.
    pub(crate) fn put_fresh(&mut self, space: Space, key: &[u8], value: Value) -> Result<(), StoreError> {
        self.write(FullKey::new(space, key), Change::Fresh(value))
    }

    /// Changes a key that is exclusive to this unit by other means than locks, such as a claimed message.
    pub(crate) fn change_claimed(&mut self, space: Space, key: &[u8], change: Change) -> Result<(), StoreError> {
        self.write(FullKey::new(space, key), change)
    }

    /// Checks that the unit has room for more changes, with the bytes of their keys and values.
    pub(crate) fn has_room(&self, changes: usize, bytes: usize) -> Result<(), StoreError> {
        let limits = &self.store.limits;
        let found = self.bytes.saturating_add(bytes);
        if found > limits.unit_bytes_max {
            return Err(StoreError::TooLong { what: "unit of work", found, max: limits.unit_bytes_max });
        }
        if self.writes.len().saturating_add(changes) > limits.unit_changes_max {
            let value = limits.unit_changes_max as u64;
            return Err(StoreError::LimitReached { limit: "unit_changes_max", value });
        }
        Ok(())
    }

    fn write(&mut self, key: FullKey, change: Change) -> Result<(), StoreError> {
        if self.store.read_only {
            return Err(StoreError::ReadOnly);
        }
        let limits = &self.store.limits;
        let length = change.value().map_or(0, |value| value.len());
        if length > limits.value_bytes_max {
            return Err(StoreError::TooLong { what: "record", found: length, max: limits.value_bytes_max });
        }
        // A value that is replaced no longer counts: a unit may rewrite one record as often as it likes.
        let before = self.writes.get(&key).map_or(0, |change| bytes_of(&key, change));
        let bytes = self.bytes - before + key.bytes().len() + length;
        if bytes > limits.unit_bytes_max {
            return Err(StoreError::TooLong { what: "unit of work", found: bytes, max: limits.unit_bytes_max });
        }
        if before == 0 && self.writes.len() >= limits.unit_changes_max {
            let value = limits.unit_changes_max as u64;
            return Err(StoreError::LimitReached { limit: "unit_changes_max", value });
        }
        self.bytes = bytes;
        self.version += 1;
        if let Some(undo) = &mut self.undo
            && self.undone.insert(key.clone())
        {
            undo.push((key.clone(), self.writes.get(&key).cloned()));
        }
        match (self.writes.entry(key), change) {
            // No other unit has ever seen the key.
            (Entry::Occupied(own), Change::Delete) if matches!(own.get(), Change::Fresh(_)) => {
                self.bytes -= own.key().bytes().len();
                own.remove();
            }
            (Entry::Occupied(mut own), Change::Put(value)) if matches!(own.get(), Change::Fresh(_)) => {
                own.insert(Change::Fresh(value));
            }
            (Entry::Occupied(mut own), change) => {
                own.insert(change);
            }
            (Entry::Vacant(free), change) => {
                free.insert(change);
            }
        }
        Ok(())
    }

    /// Replaces the content of `page` with the first entries of a range, this unit's own changes included.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        self.store.engine.page(space, range, direction, limit, page)?;
        if self.writes.is_empty() || range.is_empty() {
            return Ok(());
        }
        let covered = match (&page.next, direction) {
            (None, _) => range,
            (Some(next), Direction::Forward) => KeyRange { from: range.from, to: covered_to(next) },
            (Some(next), Direction::Backward) => KeyRange { from: covered_to(next), to: range.to },
        };
        let own: Vec<_> = match direction {
            Direction::Forward => self.writes.range(covered.full(space)).collect(),
            Direction::Backward => self.writes.range(covered.full(space)).rev().collect(),
        };
        if !own.is_empty() {
            *page = merge(page, &own, direction);
        }
        Ok(())
    }

    /// Returns the first entries of a range, this unit's own changes included: as many as `limit` allows, and at least one if the range has any. A
    /// [page](Self::page) may have fewer entries than its limit, or none, although more follow: it skips entries that are deleted but not applied yet.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn first_entries(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
    ) -> Result<Vec<(Vec<u8>, Value)>, StoreError> {
        let count = limit.entries.max(1);
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut page = Page::default();
        let mut next: Option<Bound<Vec<u8>>> = None;
        loop {
            let range = next.as_ref().map_or(range, |bound| range.after(direction, bound));
            self.page(space, range, direction, limit, &mut page)?;
            bytes += page.byte_len();
            found.extend(page.iter().take(count - found.len()).map(|(key, value)| (key.to_vec(), Value::from(value))));
            next = page.next.take();
            if found.len() == count || next.is_none() || (bytes >= limit.bytes && !found.is_empty()) {
                return Ok(found);
            }
        }
    }

    /// Returns the next number of a sequence: 1, 2 and so on. Numbers have no gaps: a unit that rolls back returns its number, and other
    /// units wait for the outcome.
    ///
    /// # Errors
    /// Locks and errors of the medium.
    pub fn next_number(&mut self, name: &str) -> Result<u64, StoreError> {
        let last = self.read_for_update(Space::NUMBERS, name.as_bytes(), LockWait::Default)?;
        let next = number_of(last.as_deref()).saturating_add(1);
        self.set_number(name, next)?;
        Ok(next)
    }

    /// Returns the last number of a sequence; 0 before the first.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn last_number(&self, name: &str) -> Result<u64, StoreError> {
        Ok(number_of(self.read(Space::NUMBERS, name.as_bytes())?.as_deref()))
    }

    /// Sets the last number of a sequence.
    ///
    /// # Errors
    /// Locks.
    pub fn set_number(&mut self, name: &str, last: u64) -> Result<(), StoreError> {
        self.put(Space::NUMBERS, name.as_bytes(), last.to_le_bytes().as_slice())
    }

    /// Keeps a checkpoint of a job under a name; an earlier one is replaced.
    ///
    /// # Errors
    /// Lengths and locks.
    pub fn put_checkpoint(&mut self, name: &str, state: &[u8]) -> Result<(), StoreError> {
        self.put(Space::CHECKPOINTS, name.as_bytes(), state)
    }

    /// Returns the checkpoint with a name.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn checkpoint(&self, name: &str) -> Result<Option<Value>, StoreError> {
        self.read(Space::CHECKPOINTS, name.as_bytes())
    }

    /// Adds an entry to the transaction log. Entries read in the order of these calls.
    ///
    /// # Errors
    /// Lengths and limits.
    pub fn append_log(&mut self, entry: &[u8]) -> Result<u64, StoreError> {
        let stamp = self.store.next_stamp();
        self.put_fresh(Space::LOG, &stamp.to_be_bytes(), entry.into())?;
        Ok(stamp)
    }

    /// Registers an action for when the outcome is known.
    pub(crate) fn on_outcome(&mut self, outcome: QueueOutcome) {
        self.outcomes.push(outcome);
    }

    /// Counts a change of a record when the unit commits.
    pub(crate) fn record_changed(&mut self, counters: &Arc<UseCounters>, change: RecordChange) {
        let same =
            |known: &&mut (Arc<UseCounters>, RecordChange, u64)| known.1 == change && Arc::ptr_eq(&known.0, counters);
        match self.record_changes.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => self.record_changes.push((Arc::clone(counters), change, 1)),
        }
    }

    /// Returns the number of changes so far, including undone ones.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.store
    }

    /// Commits and blocks until the unit is durable (with `durability = buffered`: written).
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] and errors of the medium: the unit was not committed. After [`StoreError::Unknown`], whether it was committed is
    /// known only after the store is reopened.
    pub fn commit(mut self) -> Result<Position, StoreError> {
        let batch = self.take_batch();
        let store = Arc::clone(&self.store);
        if batch.is_empty() {
            let position = store.engine.position();
            self.finish(Ok(position));
            return Ok(position);
        }
        let _measured = store.usage.measure(self.id, Kind::Commit, None);
        let (began, changes) = (Instant::now(), batch.len());
        let ended = move |outcome: Result<Position, StoreError>| {
            self.counted(began, changes, outcome.is_ok());
            self.finish(outcome.as_ref().copied());
        };
        store.engine.commit(batch, Box::new(ended))
    }

    /// Commits without blocking the thread. Await the ticket, or wait for it.
    #[must_use = "the outcome of a commit must be checked"]
    pub fn submit(self) -> Ticket {
        let (ticket, completion) = Ticket::new();
        self.submit_with(completion);
        ticket
    }

    /// Commits without blocking the thread and without waiting for a sync. A power failure may lose the last such units; the end of the process does
    /// not. Units survive completely and in order. Use it if no one relies on the outcome after a power failure, for example for non-persistent
    /// messages.
    #[must_use = "the outcome of a commit must be checked"]
    pub fn submit_written(self) -> Ticket {
        let (ticket, completion) = Ticket::new();
        self.submit_by(completion, |engine, batch, after| engine.submit_written(batch, after));
        ticket
    }

    /// Commits without blocking the thread and calls back with the outcome. The callback runs on a thread of the store and must not block.
    pub fn submit_with(self, then: Completion) {
        self.submit_by(then, |engine, batch, after| engine.submit(batch, after));
    }

    fn submit_by(mut self, then: Completion, submit: impl FnOnce(&dyn Engine, Batch, Completion)) {
        let batch = self.take_batch();
        let store = Arc::clone(&self.store);
        if batch.is_empty() {
            let position = store.engine.position();
            self.finish(Ok(position));
            then(Ok(position));
            return;
        }
        let _measured = store.usage.measure(self.id, Kind::Commit, None);
        let (began, changes) = (Instant::now(), batch.len());
        let ended = move |outcome: Result<Position, StoreError>| {
            self.counted(began, changes, outcome.is_ok());
            self.finish(outcome.as_ref().copied());
            then(outcome);
        };
        submit(&*store.engine, batch, Box::new(ended));
    }

    /// A point to which [`Self::back_to`] returns. Marks nest: going back to one makes those after it void.
    pub fn mark(&mut self) -> UnitMark {
        let is_first = self.writes.is_empty() && self.undo.is_none();
        let undo = (!is_first).then(|| self.undo.get_or_insert_default().len());
        self.undone.clear();
        let record_changes = self.record_changes.clone();
        UnitMark { undo, outcomes: self.outcomes.len(), record_changes, bytes: self.bytes }
    }

    /// Takes back what the unit did since a mark: changes, gets and puts. Locks stay until the unit ends.
    pub fn back_to(&mut self, mark: UnitMark) {
        let undo = match mark.undo {
            Some(length) => self.undo.as_mut().map_or_else(Vec::new, |undo| undo.split_off(length.min(undo.len()))),
            None => {
                self.writes.clear();
                self.undo = None;
                Vec::new()
            }
        };
        for (key, before) in undo.into_iter().rev() {
            match before {
                Some(change) => self.writes.insert(key, change),
                None => self.writes.remove(&key),
            };
        }
        // A key that was changed since an earlier mark may get a second entry in the undo list; the earlier entry counts.
        self.undone.clear();
        self.version += 1;
        self.bytes = mark.bytes;
        self.record_changes = mark.record_changes;
        let outcomes = self.outcomes.split_off(mark.outcomes.min(self.outcomes.len()));
        for mut part in outcomes {
            part.rolled_back(&self.roll_back);
        }
    }

    /// Takes everything back.
    pub fn roll_back(mut self) {
        self.undo();
    }

    /// Sets the reason of a later rollback, however it comes about.
    pub fn rolls_back_as(&mut self, how: RollBack) {
        self.roll_back = how;
    }

    /// Takes everything back, with the reason.
    pub fn roll_back_as(mut self, how: RollBack) {
        self.roll_back = how;
        self.undo();
    }

    /// Returns the number of gets and puts so far.
    #[must_use]
    pub fn gets_and_puts(&self) -> usize {
        self.outcomes.len()
    }

    /// Takes everything back, with a reason that applies to the gets from number `first` on, as [`Unit::gets_and_puts`] counts them. The messages that
    /// were got before have no part in the failure, so their backout counts stay.
    pub fn roll_back_from(mut self, first: usize, how: RollBack) {
        self.failed_from = first;
        self.roll_back_as(how);
    }

    fn take_batch(&mut self) -> Batch {
        if self.store.shared.is_some() {
            let unchanged = self.locks.keys().filter(|key| !self.writes.contains_key(*key));
            self.unchanged_locks = unchanged.cloned().collect();
        }
        std::mem::take(&mut self.writes).into_iter().collect()
    }

    fn counted(&self, began: Instant, changes: usize, is_committed: bool) {
        if is_committed {
            self.store.usage.commit_took(began, changes);
        } else {
            self.store.usage.rolled_back.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Applies the outcome, which is visible to others now, and then releases the locks.
    fn finish(&mut self, outcome: Result<Position, &StoreError>) {
        match outcome {
            Ok(_) => {
                self.outcomes.iter_mut().for_each(QueueOutcome::committed);
                if self.record_changes.iter().any(|(_, change, _)| *change == RecordChange::Inserted) {
                    self.store.usage.units_inserting.fetch_add(1, Ordering::Relaxed);
                }
                self.record_changes.drain(..).for_each(|(counters, change, count)| counters.changed(change, count));
                let there = std::mem::take(&mut self.unchanged_locks);
                self.end(there);
            }
            Err(_) => self.undo(),
        }
    }

    fn undo(&mut self) {
        // A unit without changes, such as a read-only one, is not a rollback. The changes of a failed commit are already gone, and it was counted.
        if !self.writes.is_empty() {
            self.store.usage.rolled_back.fetch_add(1, Ordering::Relaxed);
        }
        self.writes.clear();
        // The order of the outcomes is kept: messages that move to a backout queue together arrive there in the order in which they were got.
        for (number, part) in self.outcomes.iter_mut().enumerate() {
            part.rolled_back(if number < self.failed_from { &RollBack::Ended } else { &self.roll_back });
        }
        let there = if self.store.shared.is_some() { self.locks.keys().cloned().collect() } else { Vec::new() };
        self.end(there);
    }

    /// Frees the locks, among the processes those that are still held there.
    fn end(&mut self, there: Vec<FullKey>) {
        self.ended = true;
        self.outcomes.clear();
        if self.waker.is_some() {
            self.store.locks.give_up(self.id);
        }
        if !self.locks.is_empty() {
            self.store.locks.release(self.id, self.locks.keys(), there);
            self.locks.clear();
        }
        self.store.units_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if !self.ended {
            self.undo();
        }
    }
}

/// Returns the bytes of a change that count toward the limit of a unit.
fn bytes_of(key: &FullKey, change: &Change) -> usize {
    key.bytes().len() + change.value().map_or(0, |value| value.len())
}

fn number_of(value: Option<&[u8]>) -> u64 {
    value.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Returns the bound up to which a page covers its range. The page continues after it.
fn covered_to(next: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match next {
        // Continues after the key, so the key itself is covered.
        Bound::Excluded(key) => Bound::Included(key),
        Bound::Included(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn merge(page: &mut Page, own: &[(&FullKey, &Change)], direction: Direction) -> Page {
    let mut merged = Page::default();
    merged.next = page.next.take();
    let mut own = own.iter().peekable();
    for (key, value) in page.iter() {
        let mut replaced = false;
        while let Some((own_key, change)) = own.peek() {
            let order = match direction {
                Direction::Forward => own_key.key().cmp(key),
                Direction::Backward => key.cmp(own_key.key()),
            };
            if order.is_gt() {
                break;
            }
            if let Some(own_value) = change.value() {
                merged.push(own_key.key(), own_value);
            }
            replaced |= order.is_eq();
            own.next();
        }
        if !replaced {
            merged.push(key, value);
        }
    }
    for (key, change) in own {
        if let Some(value) = change.value() {
            merged.push(key.key(), value);
        }
    }
    merged
}
