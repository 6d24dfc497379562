//! Cost of a start after many executions: what it reads and writes in the store, and where its time goes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quayline_batch::{BatchStatus, StoreBackend};
use quayline_store::{
    Access, Batch, Completion, Direction, Engine, EngineFacts, FullKey, KeyRange, LoadSource, MemoryEngine, Page,
    PageLimit, Position, Snapshot, Space, Store, StoreError, StoreLimits, SystemClock, Value,
};
use quayline_store_embedded::{Durability, EmbeddedEngine, Folder, Settings};

use crate::kit::{Process, given, job};

/// Calls of an engine, and the time in them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Seen {
    gets: usize,
    pages: usize,
    entries: usize,
    changes: usize,
    time: Duration,
}

/// An engine whose calls are counted.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Engine>,
    seen: Mutex<Seen>,
}

impl Watched {
    fn new(inner: Arc<dyn Engine>) -> Arc<Watched> {
        Arc::new(Watched { inner, seen: Mutex::default() })
    }

    fn timed<T>(&self, call: impl FnOnce(&dyn Engine) -> T, count: impl FnOnce(&mut Seen)) -> T {
        let begin = Instant::now();
        let done = call(&*self.inner);
        let took = begin.elapsed();
        let mut seen = self.seen.lock();
        seen.time += took;
        count(&mut seen);
        done
    }
}

impl Engine for Watched {
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        self.timed(|engine| engine.get(key), |seen| seen.gets += 1)
    }

    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        let done = self.timed(|engine| engine.page(space, range, direction, limit, page), |seen| seen.pages += 1);
        self.seen.lock().entries += page.len();
        done
    }

    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let changes = batch.len();
        self.timed(|engine| engine.commit(batch, after), |seen| seen.changes += changes)
    }

    fn submit(&self, batch: Batch, after: Completion) {
        let changes = batch.len();
        self.timed(|engine| engine.submit(batch, after), |seen| seen.changes += changes);
    }

    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        self.inner.load(space, source)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.inner.snapshot()
    }

    fn position(&self) -> Position {
        self.inner.position()
    }

    fn wait(&self, position: Position) -> Result<(), StoreError> {
        self.timed(|engine| engine.wait(position), |_| {})
    }

    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }

    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        self.inner.check()
    }

    fn compact(&self) -> Result<(u64, u64), StoreError> {
        self.inner.compact()
    }
}

/// A start: its time, and what it did in the store.
fn start(process: &Process, engine: &Watched) -> (Duration, Seen) {
    let xml = job("<step id=\"s\"><batchlet ref=\"saying\"/></step>");
    *engine.seen.lock() = Seen::default();
    let begin = Instant::now();
    let launched = process.engine.start(&xml, given(&[])).unwrap();
    let took = begin.elapsed();
    let seen = *engine.seen.lock();
    assert_eq!(launched.run().unwrap().status, BatchStatus::Completed);
    (took, seen)
}

/// The quickest of some starts: other work on the machine makes starts longer, never shorter.
fn quickest(process: &Process, engine: &Watched) -> (Duration, Seen) {
    (0..200).map(|_| start(process, engine)).min_by_key(|(took, _)| *took).unwrap_or_default()
}

fn process(engine: &Arc<Watched>) -> Process {
    let store = Store::open(Arc::clone(engine) as _, Arc::new(SystemClock), StoreLimits::default(), Access::Write);
    let backend = StoreBackend::new(store.unwrap(), Arc::new(SystemClock)).unwrap();
    Process::new(Arc::new(backend), PathBuf::new())
}

/// A start reads and writes the same number of records after many executions, so only the time of the store for each of them can grow.
/// Twenty tries: other work on the machine can make two hundred starts in a row slow.
/// `QUAYLINE_HISTORY` sets the number of executions; 1,000,000 take some minutes.
#[test]
fn a_start_costs_the_same_after_a_long_history() {
    let history = std::env::var("QUAYLINE_HISTORY").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000u64);
    let folder = tempfile::tempdir().unwrap();
    let medium = Arc::new(Folder::create(folder.path()).unwrap());
    let settings = Settings { durability: Durability::Buffered, ..Settings::default() };
    let clock: Arc<dyn quayline_store::Clock> = Arc::new(SystemClock);
    let embedded = Arc::new(EmbeddedEngine::open(medium, &clock, settings).unwrap());
    let engines: [(&str, Arc<dyn Engine>); 2] =
        [("in memory", Arc::new(MemoryEngine::new())), ("in an embedded store", Arc::clone(&embedded) as _)];
    for (name, engine) in engines {
        let engine = Watched::new(engine);
        let process = process(&engine);
        let (first, before) = quickest(&process, &engine);
        for _ in 0..history {
            start(&process, &engine);
        }
        let own = |took: Duration, seen: Seen| took.saturating_sub(seen.time);
        let as_before = |(last, after)| own(last, after) < own(first, before) * 4 && last < first * 10;
        let (last, after) = (0..20)
            .map(|_| quickest(&process, &engine))
            .find(|tried| as_before(*tried))
            .unwrap_or_else(|| quickest(&process, &engine));
        eprintln!(
            "a start {name} takes {first:?}, {:?} outside the store, and {last:?}, {:?}, after {history} executions: {after:?}",
            own(first, before),
            own(last, after)
        );
        let calls = |seen: Seen| Seen { time: Duration::ZERO, ..seen };
        assert_eq!(calls(before), calls(after), "{name}");
        assert!(after.gets + after.pages + after.changes < 40 && after.entries < 20, "{name}: {after:?}");
        assert!(as_before((last, after)), "{name}: {first:?}, {before:?}, {last:?}, {after:?}");
    }
    embedded.close().unwrap();
}

/// A list ended at the first record that was deleted and not applied yet, so jobs and executions after it were missing.
#[test]
fn what_follows_a_removed_job_is_still_listed() {
    let folder = tempfile::tempdir().unwrap();
    let medium = Arc::new(Folder::create(folder.path()).unwrap());
    let clock: Arc<dyn quayline_store::Clock> = Arc::new(SystemClock);
    let embedded = Arc::new(EmbeddedEngine::open(medium, &clock, Settings::default()).unwrap());
    let process = process(&Watched::new(Arc::clone(&embedded) as _));
    let named = |name: &str| {
        format!(
            "<job id=\"{name}\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><batchlet ref=\"saying\"/></step></job>"
        )
    };
    let started: Vec<_> = ["a", "b", "c", "d"].map(|name| process.start(&named(name), &[])).into();
    let repository = &process.engine.repository;
    assert_eq!(repository.jobs().unwrap(), ["a", "b", "c", "d"]);
    for (removed, left) in [(0, &["b", "c", "d"][..]), (1, &["c", "d"]), (2, &["d"])] {
        repository.purge(started[removed].instance).unwrap();
        assert_eq!(repository.jobs().unwrap(), left);
    }
    assert_eq!(repository.execution(started[3].id).unwrap().id, started[3].id);
    drop(process);
    embedded.close().unwrap();
}
