//! Committed changes that the applied store does not have yet.
//!
//! There are two generations. Commits enter the active one; the applier freezes it, moves it into the applied store and drops it. A reader searches the
//! active generation, the frozen one, and a snapshot of the applied store. All three change together under the locks of the shards, so a
//! reader never misses a key. Shards are selected by the hash of the key, and each has its own snapshot. A key that is in neither generation
//! and in the [`RecordCache`] is read without a lock.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use quayline_store::{Batch, Change, Direction, FullKey, StoreError, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::applied::{AppliedStore, AppliedView};
use crate::record_cache::RecordCache;
use crate::settings::Settings;

/// Number of shards: more than the cores that a reader shares, few enough that a browse may visit all.
const SHARDS: usize = 16;
/// Bytes that an entry costs beside its key and value.
const ENTRY_BYTES: usize = 96;

type Generation = BTreeMap<FullKey, Slot>;

/// The newest change of a key.
#[derive(Clone, Debug)]
struct Slot {
    value: Option<Value>,
    /// The applied store has never held the key, so a delete leaves nothing to remember.
    fresh: bool,
}

#[derive(Debug)]
struct Shard {
    active: Generation,
    frozen: Arc<Generation>,
    view: Arc<dyn AppliedView>,
}

#[derive(Debug)]
pub(crate) struct Delta {
    shards: Vec<RwLock<Shard>>,
    active_bytes: AtomicUsize,
    frozen_bytes: AtomicUsize,
    /// Number of entries in both generations by hash of the key. If it is zero, no key with that hash is in memory, and a reader needs no lock to know it.
    entries: Box<[AtomicU32]>,
    cache: RecordCache,
}

/// Counters of [`Delta::entries`].
const COUNTERS: usize = 1 << 17;

/// Way in which changes enter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Entering {
    /// A commit of now.
    Live,
    /// A commit of the log. A batch of the applier may have stored a key whose removal comes later in the log, so nothing is forgotten.
    Replayed,
}

/// Changes of a range, for one page.
#[derive(Debug)]
pub(crate) struct RangeOfDelta {
    /// Entries in the order of the browse.
    pub(crate) entries: Vec<(FullKey, Option<Value>)>,
    /// Last key up to which the entries are complete; `None` if they are complete to the end.
    pub(crate) complete_to: Option<FullKey>,
    /// Snapshot that belongs to them.
    pub(crate) view: Arc<dyn AppliedView>,
}

impl Delta {
    pub(crate) fn new(applied: &dyn AppliedStore, settings: &Settings) -> Result<Self, StoreError> {
        let shard = || -> Result<_, StoreError> {
            Ok(RwLock::new(Shard { active: BTreeMap::new(), frozen: Arc::default(), view: applied.view()? }))
        };
        let shards = (0..SHARDS).map(|_| shard()).collect::<Result<_, _>>()?;
        Ok(Delta {
            shards,
            active_bytes: AtomicUsize::new(0),
            frozen_bytes: AtomicUsize::new(0),
            entries: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
            cache: RecordCache::new(settings.record_cache_bytes),
        })
    }

    /// Bytes of both generations.
    pub(crate) fn bytes(&self) -> usize {
        self.active_bytes() + self.frozen_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the active generation.
    pub(crate) fn active_bytes(&self) -> usize {
        self.active_bytes.load(Ordering::Relaxed)
    }

    fn counter(&self, hash: u64) -> &AtomicU32 {
        // The lowest bits choose the shard.
        &self.entries[usize::try_from(hash >> 4).unwrap_or(0) % COUNTERS]
    }

    /// The newest value of a key.
    pub(crate) fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        let hash = hash_of(key);
        // Zero means that everything of this hash that was applied has been forgotten by the cache before.
        if self.counter(hash).load(Ordering::Acquire) == 0
            && let Some(value) = self.cache.get(hash, key)
        {
            return Ok(Some(value));
        }
        let epoch = self.cache.epoch();
        let shard = self.shards[shard_of(hash)].read();
        if let Some(slot) = shard.active.get(key).or_else(|| shard.frozen.get(key)) {
            return Ok(slot.value.clone());
        }
        let view = Arc::clone(&shard.view);
        drop(shard);
        let found = view.get(key)?;
        if let Some(value) = &found {
            self.cache.put(hash, key, value, epoch);
        }
        Ok(found)
    }

    /// Enters the changes of a group; readers see all of them or none.
    pub(crate) fn enter(&self, batches: Vec<Batch>, entering: Entering) {
        let mut hashes = Vec::with_capacity(batches.iter().map(Vec::len).sum());
        let mut touched = [false; SHARDS];
        for (key, _) in batches.iter().flatten() {
            let hash = hash_of(key);
            touched[shard_of(hash)] = true;
            hashes.push(hash);
        }
        // In the order of the shards, so that two that take several never wait for each other.
        let mut guards: [Option<RwLockWriteGuard<'_, Shard>>; SHARDS] =
            std::array::from_fn(|index| touched[index].then(|| self.shards[index].write()));
        let (mut added, mut removed) = (0, 0);
        for ((key, change), hash) in batches.into_iter().flatten().zip(hashes) {
            let shard = guards[shard_of(hash)].as_mut().expect("every shard of a change is locked above");
            let before = shard.active.len();
            let (more, less) = enter_one(&mut shard.active, key, change, entering);
            match shard.active.len().cmp(&before) {
                std::cmp::Ordering::Greater => _ = self.counter(hash).fetch_add(1, Ordering::Release),
                std::cmp::Ordering::Less => _ = self.counter(hash).fetch_sub(1, Ordering::Release),
                std::cmp::Ordering::Equal => {}
            }
            added += more;
            removed += less;
        }
        // Inside the locks: a generation that is frozen in between would take the changes without their bytes, and the next one would have less than none.
        self.active_bytes.fetch_add(added, Ordering::Relaxed);
        self.active_bytes.fetch_sub(removed, Ordering::Relaxed);
        drop(guards);
    }

    /// Freezes the active generation. The frozen one must be empty. `at` runs while no change can enter.
    pub(crate) fn freeze<T>(&self, at: impl FnOnce() -> T) -> (Frozen, T) {
        let mut guards: Vec<_> = self.shards.iter().map(RwLock::write).collect();
        let mut parts = Vec::with_capacity(SHARDS);
        for shard in &mut guards {
            debug_assert!(shard.frozen.is_empty(), "one generation is applied at a time");
            shard.frozen = Arc::new(std::mem::take(&mut shard.active));
            parts.push(Arc::clone(&shard.frozen));
        }
        self.frozen_bytes.store(self.active_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        (Frozen(parts), at())
    }

    /// Gives readers a newer snapshot of the applied store.
    pub(crate) fn renew_views(&self, applied: &dyn AppliedStore) -> Result<(), StoreError> {
        let views = (0..SHARDS).map(|_| applied.view()).collect::<Result<Vec<_>, _>>()?;
        let mut guards: Vec<_> = self.shards.iter().map(RwLock::write).collect();
        let old: Vec<_> =
            guards.iter_mut().zip(views).map(|(shard, view)| std::mem::replace(&mut shard.view, view)).collect();
        drop(guards);
        drop(old);
        Ok(())
    }

    /// Gives readers a newer snapshot and drops the frozen generation, in one step.
    pub(crate) fn thaw(&self, applied: &dyn AppliedStore) -> Result<(), StoreError> {
        let views = (0..SHARDS).map(|_| applied.view()).collect::<Result<Vec<_>, _>>()?;
        let mut guards: Vec<_> = self.shards.iter().map(RwLock::write).collect();
        let old: Vec<_> = guards
            .iter_mut()
            .zip(views)
            .map(|(shard, view)| (std::mem::take(&mut shard.frozen), std::mem::replace(&mut shard.view, view)))
            .collect();
        self.frozen_bytes.store(0, Ordering::Relaxed);
        drop(guards);
        // Readers find the new snapshot now. What the cache has of the older one goes before the counters say that nothing is in memory.
        self.cache.begin_new_epoch();
        for key in old.iter().flat_map(|(frozen, _)| frozen.keys()) {
            let hash = hash_of(key);
            self.cache.forget(hash);
            self.counter(hash).fetch_sub(1, Ordering::Release);
        }
        drop(old);
        Ok(())
    }

    /// Holds every reader and gives each shard's snapshot up while `work` runs.
    pub(crate) fn without_views<T>(
        &self,
        applied: &dyn AppliedStore,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut guards: Vec<_> = self.shards.iter().map(RwLock::write).collect();
        let nothing: Arc<dyn AppliedView> = Arc::new(Nothing);
        for shard in &mut guards {
            shard.view = Arc::clone(&nothing);
        }
        let done = work();
        for shard in &mut guards {
            shard.view = applied.view()?;
        }
        done
    }

    /// Returns the snapshot that belongs to the present changes.
    pub(crate) fn view(&self) -> Arc<dyn AppliedView> {
        Arc::clone(&self.shards[0].read().view)
    }

    /// Changes of a range, for a page of `count` entries. The page ends where one of the shards was not read further.
    pub(crate) fn range(
        &self,
        range: &(Bound<FullKey>, Bound<FullKey>),
        direction: Direction,
        count: usize,
    ) -> RangeOfDelta {
        // Shards share a range evenly, so a part of the count is enough of each: a page of a deep queue would otherwise copy all that was put at its other
        // end. A shard that has more makes the page end earlier.
        let count = (count.div_ceil(SHARDS) * 2 + 8).min(count);
        let guards: Vec<RwLockReadGuard<'_, Shard>> = self.shards.iter().map(RwLock::read).collect();
        let mut entries: Vec<(FullKey, Option<Value>)> = Vec::new();
        let mut complete_to: Option<FullKey> = None;
        let is_before = |a: &FullKey, b: &FullKey| match direction {
            Direction::Forward => a < b,
            Direction::Backward => a > b,
        };
        for shard in &guards {
            // The active generation first: the sort below keeps that order among equal keys.
            for generation in [&shard.active, shard.frozen.as_ref()] {
                if generation.is_empty() {
                    continue;
                }
                let before = entries.len();
                let found = generation.range::<FullKey, _>((range.0.as_ref(), range.1.as_ref()));
                let copy = |(key, slot): (&FullKey, &Slot)| (key.clone(), slot.value.clone());
                match direction {
                    Direction::Forward => entries.extend(found.take(count).map(copy)),
                    Direction::Backward => entries.extend(found.rev().take(count).map(copy)),
                }
                if entries.len() - before == count
                    && let Some((last, _)) = entries.last()
                    && complete_to.as_ref().is_none_or(|to| is_before(last, to))
                {
                    complete_to = Some(last.clone());
                }
            }
        }
        let view = Arc::clone(&guards[0].view);
        drop(guards);
        match direction {
            Direction::Forward => entries.sort_by(|a, b| a.0.cmp(&b.0)),
            Direction::Backward => entries.sort_by(|a, b| b.0.cmp(&a.0)),
        }
        entries.dedup_by(|later, earlier| later.0 == earlier.0);
        if let Some(to) = &complete_to {
            entries.retain(|(key, _)| !is_before(to, key));
        }
        RangeOfDelta { entries, complete_to, view }
    }
}

fn hash_of(key: &FullKey) -> u64 {
    xxh3_64(key.bytes())
}

fn shard_of(hash: u64) -> usize {
    usize::try_from(hash % SHARDS as u64).unwrap_or(0)
}

/// Bytes added and removed.
fn enter_one(active: &mut Generation, key: FullKey, change: Change, entering: Entering) -> (usize, usize) {
    if change == Change::Delete && entering == Entering::Live && active.get(&key).is_some_and(|slot| slot.fresh) {
        let gone = active.remove(&key).and_then(|slot| slot.value);
        return (0, cost(&key, gone.as_ref()));
    }
    // After a restart the applied store may hold the key from a batch of a generation that was not finished.
    let fresh = matches!(change, Change::Fresh(_)) && entering == Entering::Live;
    let value = match change {
        Change::Put(value) | Change::Fresh(value) => Some(value),
        Change::Delete => None,
    };
    let added = cost(&key, value.as_ref());
    let removed = match active.entry(key) {
        std::collections::btree_map::Entry::Vacant(free) => {
            free.insert(Slot { value, fresh });
            0
        }
        std::collections::btree_map::Entry::Occupied(mut held) => {
            let removed = cost(held.key(), held.get().value.as_ref());
            // A key that the applied store never held stays so until this generation is applied.
            let fresh = fresh || (held.get().fresh && value.is_some());
            held.insert(Slot { value, fresh });
            removed
        }
    };
    (added, removed)
}

/// Returns the bytes that a change counts for.
fn cost(key: &FullKey, value: Option<&Value>) -> usize {
    ENTRY_BYTES + key.bytes().len() + value.map_or(0, |value| value.len())
}

/// A frozen generation on its way into the applied store.
#[derive(Debug)]
pub(crate) struct Frozen(Vec<Arc<Generation>>);

impl Frozen {
    /// Number of changes.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }

    /// Iterates over all changes in key order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut parts: Vec<_> = self.0.iter().map(|part| part.iter()).collect();
        let mut heads: BinaryHeap<Reverse<Head<'_>>> = BinaryHeap::new();
        for (index, part) in parts.iter_mut().enumerate() {
            heads.extend(part.next().map(|(key, slot)| Reverse(Head { key, index, slot })));
        }
        std::iter::from_fn(move || {
            let Reverse(Head { key, index, slot }) = heads.pop()?;
            heads.extend(parts[index].next().map(|(key, slot)| Reverse(Head { key, index, slot })));
            Some((key.bytes(), slot.value.as_deref()))
        })
    }
}

#[derive(Debug)]
struct Head<'a> {
    key: &'a FullKey,
    index: usize,
    slot: &'a Slot,
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(other.key).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}

/// Placeholder for a snapshot while maintenance runs. Every shard is locked then, so it is read only if no snapshot followed.
#[derive(Debug)]
struct Nothing;

impl Nothing {
    fn error() -> StoreError {
        StoreError::Poisoned { cause: "the applied store cannot be read after its maintenance".to_owned() }
    }
}

impl AppliedView for Nothing {
    fn get(&self, _key: &FullKey) -> Result<Option<Value>, StoreError> {
        Err(Nothing::error())
    }

    fn scan(
        &self,
        _from: Bound<&[u8]>,
        _to: Bound<&[u8]>,
        _direction: Direction,
        _visit: &mut crate::applied::Visit<'_>,
    ) -> Result<(), StoreError> {
        Err(Nothing::error())
    }

    fn salvage(
        &self,
        _range: (Bound<&[u8]>, Bound<&[u8]>),
        _visit: &mut crate::applied::TryVisit<'_>,
    ) -> Result<(), StoreError> {
        Err(Nothing::error())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use quayline_store::Space;

    use super::*;
    use crate::applied::Redb;
    use crate::fake::FakeDisk;
    use crate::log::Mark;

    /// Regression: if a generation is frozen between a commit's changes and their bytes, the next one has fewer bytes than none.
    #[test]
    fn a_generation_has_the_bytes_of_its_changes() {
        // More writers than processors, so that some lose theirs between two steps.
        const WRITERS: u64 = 6;
        // The locks are not fair: on some runs, 2,000 rounds would take minutes.
        const AT_MOST: Duration = Duration::from_secs(5);
        let began = Instant::now();
        let disk = FakeDisk::new(1);
        let mark = Mark { position: 0, segment: 0, identity: 1 };
        let applied = Redb::create(&disk, 1 << 20, mark).unwrap();
        let delta = Delta::new(&applied, &Settings::default()).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (delta, stop) = (&delta, &stop);
                scope.spawn(move || {
                    let key = FullKey::new(Space(20), &writer.to_be_bytes());
                    while !stop.load(Ordering::Relaxed) {
                        // The key is created and removed again, so that a commit removes the bytes that the one before added.
                        let value = Change::Fresh(Value::from(vec![0; 1_000]));
                        delta.enter(vec![[(key.clone(), value)].into_iter().collect()], Entering::Live);
                        delta.enter(vec![[(key.clone(), Change::Delete)].into_iter().collect()], Entering::Live);
                    }
                });
            }
            for round in 0..2_000 {
                if began.elapsed() > AT_MOST {
                    break;
                }
                let (frozen, ()) = delta.freeze(|| ());
                let changes = frozen.0.iter().flat_map(|part| part.iter());
                let held: usize = changes.map(|(key, slot)| cost(key, slot.value.as_ref())).sum();
                let counted = delta.frozen_bytes.load(Ordering::Relaxed);
                drop(frozen);
                delta.thaw(&applied).unwrap();
                if counted != held {
                    stop.store(true, Ordering::Relaxed);
                }
                assert_eq!(counted, held, "round {round}");
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
