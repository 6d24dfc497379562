//! A store: an engine with record locks, stamps and definitions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::dropping::SWEEP_AT_OPEN;
use crate::engine::{Change, Engine, EngineFacts};
use crate::file_use::UseCounters;
use crate::lock::LockTable;
use crate::queue::{QueueFacts, QueueState};
use crate::shared::{NO_UNIT, Reads, Shared, StampSource};
use crate::usage::{Owner, OwnerFacts, Usage, UsageFacts};
use crate::{Clock, FullKey, Position, Space, StoreError, StoreLimits, Unit};

/// Bits of a stamp that count inside one opening of the store; the bits above number the openings.
const STAMP_BITS: u32 = 40;
/// Above all stamps that follow the time, until the year 2039.
const STAMPS_AFTER_TIME: u64 = 1 << 63;

/// An open store. Clones share it.
#[derive(Clone, Debug)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: StoreLimits,
    pub(crate) locks: LockTable,
    pub(crate) usage: Arc<Usage>,
    pub(crate) ends: Ends,
    pub(crate) queues: Mutex<HashMap<String, Arc<QueueState>>>,
    /// Held while a queue is altered.
    pub(crate) altering: Mutex<()>,
    /// Uses of record files, by the space of their records.
    pub(crate) uses: Mutex<HashMap<Space, Arc<UseCounters>>>,
    /// Spaces of the records of files that other processes know this one to use.
    pub(crate) used_files: Mutex<HashSet<Space>>,
    pub(crate) read_only: bool,
    pub(crate) units_open: AtomicUsize,
    pub(crate) next_unit: AtomicU64,
    /// Next stamp: unique for the life of the data folder and ascending.
    stamps: AtomicU64,
    /// Source of stamps that are unique among several processes, if the store is shared.
    shared_stamps: Option<StampSource>,
    pub(crate) shared: Option<Arc<dyn Shared>>,
    /// Random number that identifies this store.
    pub(crate) identity: u64,
}

/// Access mode of a store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Reads only. Writes nothing at all.
    Read,
    /// Read and write.
    Write,
}

impl Store {
    /// Opens a store over an engine. With [`Access::Write`], one commit numbers this opening, so that no stamp is ever used twice.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn open(
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        limits: StoreLimits,
        access: Access,
    ) -> Result<Store, StoreError> {
        let opening = FullKey::new(Space::CATALOG, b"store/opening");
        let identity_key = FullKey::new(Space::CATALOG, b"store/identity");
        let number = |key: &FullKey| -> Result<Option<u64>, StoreError> {
            Ok(engine.get(key)?.and_then(|value| value.as_ref().try_into().ok()).map(u64::from_le_bytes))
        };
        let by_time = FullKey::new(Space::CATALOG, b"store/stamps-by-time");
        let put = |number: u64| Change::Put(number.to_le_bytes().as_slice().into());
        let shared = engine.shared();
        let usage = Arc::new(Usage::default());
        let locks = LockTable::new(&usage, shared.clone());
        // A store that came from a folder has an identity, but no mark of the stamps that it gets from now on.
        let has_both = || Ok::<_, StoreError>(number(&identity_key)?.is_some() && number(&by_time)?.is_some());
        if access == Access::Write && shared.is_some() && !has_both()? {
            // Several processes may open the store at once; exactly one of them writes its identity.
            let (wait, limits) = (limits.lock_wait_ms_max, limits.locks_max);
            locks.acquire(NO_UNIT, &identity_key, Reads::Nothing, wait, limits)?;
            let mut batch = Vec::new();
            if number(&identity_key)?.is_none() {
                batch.push((identity_key.clone(), put(clock.random())));
            }
            if number(&by_time)?.is_none() {
                batch.push((by_time.clone(), put(1)));
            }
            if !batch.is_empty() {
                engine.commit(batch, Box::new(|_| ()))?;
            }
            locks.release(NO_UNIT, [&identity_key], [identity_key.clone()]);
        }
        let epoch = number(&opening)?.unwrap_or(0) + 1;
        let found = number(&identity_key)?;
        let identity = found.unwrap_or_else(|| clock.random());
        if access == Access::Write && shared.is_none() {
            let mut batch = vec![(opening, put(epoch))];
            if found.is_none() {
                batch.push((identity_key, put(identity)));
            }
            engine.commit(batch, Box::new(|_| ()))?;
        }
        // A store that several processes used has stamps that follow the time. Later ones must be above them.
        let after_time = if number(&by_time)?.is_some() { STAMPS_AFTER_TIME } else { 0 };
        let store = Store(Arc::new(Inner {
            engine,
            clock,
            limits,
            locks,
            usage,
            ends: Ends::default(),
            queues: Mutex::default(),
            altering: Mutex::default(),
            uses: Mutex::default(),
            used_files: Mutex::default(),
            read_only: access == Access::Read,
            units_open: AtomicUsize::new(0),
            next_unit: AtomicU64::new(1),
            stamps: AtomicU64::new(after_time | epoch << STAMP_BITS),
            shared_stamps: shared.as_ref().map(|shared| shared.stamps()),
            shared,
            identity,
        }));
        if access == Access::Write {
            // Spaces that cannot be cleared now stay noted. Damage in them must not prevent opening the rest of the store.
            let _ = store.sweep(Some(SWEEP_AT_OPEN));
        }
        Ok(store)
    }

    /// Returns the store of a unit of work.
    #[must_use]
    pub fn of(unit: &Unit) -> Store {
        Store(Arc::clone(unit.inner()))
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// [`StoreError::LimitReached`] for `units_open_max`.
    pub fn begin(&self) -> Result<Unit, StoreError> {
        Unit::begin(&self.0)
    }

    /// Returns the position of the last visible commit.
    #[must_use]
    pub fn position(&self) -> Position {
        self.0.engine.position()
    }

    /// Blocks until a commit is visible and durable.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`].
    pub fn wait(&self, position: Position) -> Result<(), StoreError> {
        self.0.engine.wait(position)
    }

    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.0.engine
    }

    /// Limits.
    #[must_use]
    pub fn limits(&self) -> &StoreLimits {
        &self.0.limits
    }

    /// Figures of the engine.
    #[must_use]
    pub fn facts(&self) -> EngineFacts {
        self.0.engine.facts()
    }

    /// Returns the cost figures of units of work since the store was opened.
    #[must_use]
    pub fn usage(&self) -> UsageFacts {
        self.0.usage.facts()
    }

    /// Returns the cost figures of each file and queue that was measured or waited for, by name.
    ///
    /// # Errors
    /// Errors of [`Store::begin`] and of the medium.
    pub fn usage_by_owner(&self) -> Result<Vec<(Owner, OwnerFacts)>, StoreError> {
        let unit = self.begin()?;
        let mut owners: HashMap<Space, Owner> = HashMap::from([
            (Space::CATALOG, Owner::Store("definitions")),
            (Space::NUMBERS, Owner::Store("control numbers")),
            (Space::CHECKPOINTS, Owner::Store("checkpoints")),
            (Space::LOG, Owner::Store("log")),
            (Space::JOBS, Owner::Store("jobs")),
        ]);
        for name in self.files(&unit)? {
            // Deleted since it was listed.
            let Ok(file) = self.file(&unit, &name) else { continue };
            owners.extend(file.spaces().map(|space| (space, Owner::File(name.clone()))));
        }
        for name in self.queues(&unit)? {
            let spaces = self.queue_spaces(&unit, &name)?;
            owners.extend(spaces.into_iter().flatten().map(|space| (space, Owner::Queue(name.clone()))));
        }
        let mut found: BTreeMap<Owner, OwnerFacts> = BTreeMap::new();
        for (space, facts) in self.0.usage.spaces(|space| owners.contains_key(&space)) {
            let Some(owner) = owners.get(&space) else { continue };
            found.entry(owner.clone()).or_default().add(&facts);
        }
        Ok(found.into_iter().collect())
    }

    /// Figures of the open queues by name.
    #[must_use]
    pub fn open_queues(&self) -> Vec<(String, QueueFacts)> {
        let queues: Vec<_> =
            self.0.queues.lock().iter().map(|(name, state)| (name.clone(), Arc::clone(state))).collect();
        let mut facts: Vec<_> = queues.into_iter().map(|(name, state)| (name, state.facts())).collect();
        facts.sort_by(|one, other| one.0.cmp(&other.0));
        facts
    }

    /// Returns the figures of the open queues with a high mark.
    #[must_use]
    pub fn marked_queues(&self) -> Vec<(String, QueueFacts)> {
        let queues = self.0.queues.lock();
        let marked = queues.iter().filter(|(_, state)| state.has_marks());
        let queues: Vec<_> = marked.map(|(name, state)| (name.clone(), Arc::clone(state))).collect();
        queues.into_iter().map(|(name, state)| (name, state.known_facts())).collect()
    }

    /// Units of work that are open.
    #[must_use]
    pub fn units_open(&self) -> usize {
        self.0.units_open.load(Ordering::Relaxed)
    }

    /// Returns the number of record locks held.
    #[must_use]
    pub fn locks_held(&self) -> usize {
        self.0.locks.len()
    }
}

/// Next address or number of files that are appended to.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<HashMap<Space, u64>>);

impl Ends {
    /// Allocates `length` at the end of a space. `find` looks up the end at the first use.
    pub(crate) fn take(
        &self,
        space: Space,
        length: u64,
        find: impl FnOnce() -> Result<u64, StoreError>,
    ) -> Result<u64, StoreError> {
        let mut ends = self.0.lock();
        let end = match ends.get(&space) {
            Some(end) => *end,
            None => find()?,
        };
        ends.insert(space, end + length);
        Ok(end)
    }

    /// Raises the end of a space to at least this value. `find` looks up the end at the first use.
    pub(crate) fn raise(
        &self,
        space: Space,
        end: u64,
        find: impl FnOnce() -> Result<u64, StoreError>,
    ) -> Result<(), StoreError> {
        let mut ends = self.0.lock();
        let known = match ends.get(&space) {
            Some(known) => *known,
            None => find()?,
        };
        ends.insert(space, known.max(end));
        Ok(())
    }

    /// Discards the known end of a space, so that the next use looks it up again.
    pub(crate) fn forget(&self, space: Space) {
        self.0.lock().remove(&space);
    }
}

impl Inner {
    /// Returns the counters of a file.
    pub(crate) fn use_of(&self, space: Space) -> Arc<UseCounters> {
        Arc::clone(self.uses.lock().entry(space).or_default())
    }

    /// Converts a steady time to the wall clock's time, by the current difference.
    pub(crate) fn wall_ms(&self, steady_ms: u64) -> u64 {
        self.clock.now_ms().saturating_add(steady_ms.saturating_sub(self.clock.steady_ms()))
    }

    /// Returns a number that this store never returns again. Later calls return greater numbers.
    pub(crate) fn next_stamp(&self) -> u64 {
        match &self.shared_stamps {
            Some(source) => source.next(),
            None => self.stamps.fetch_add(1, Ordering::Relaxed),
        }
    }
}
