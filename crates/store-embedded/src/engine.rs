//! The engine: opening, closing and reads.

use std::fmt;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quayline_store::{
    Batch, Clock, Completion, Direction, Engine, EngineFacts, EntryRange, EntryVisit, FullKey, KeyRange, LoadSource,
    Page, PageLimit, Position, SalvageVisit, Salvaged, Snapshot, Space, StoreError, Value,
};

use crate::applied::{AppliedView, LoadBatch, Maintenance, Tried};
use crate::medium::Medium;
use crate::page;
use crate::settings::{Durability, Settings, Work};
use crate::shared::Shared;
use crate::tree_file::FILE;

/// Entries of one durable commit of a load, and their bytes.
const LOAD_BATCH: (usize, usize) = (500_000, 64 << 20);
/// Bytes of the log from which closing applies them: below, replay at the next opening costs less.
const APPLY_AT_CLOSE: u64 = 4 << 20;
/// Maximum time for which a check of the structure waits for readers with a snapshot.
const READERS_END: Duration = Duration::from_secs(10);

/// The embedded engine over one data folder. Dropping it stops its threads; nothing acknowledged is lost.
pub struct EmbeddedEngine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Dropped last: another process may open the folder then.
    _lock: Box<dyn Send + Sync>,
}

impl fmt::Debug for EmbeddedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedEngine").field("folder", &self.shared.medium_name).finish_non_exhaustive()
    }
}

impl EmbeddedEngine {
    /// Opens the store in a folder, or creates one there.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has the folder; [`StoreError::Damaged`] and [`StoreError::LogDamaged`] for files with other
    /// content than was written; [`StoreError::Version`]; errors of the medium.
    pub fn open(medium: Arc<dyn Medium>, clock: &Arc<dyn Clock>, settings: Settings) -> Result<Self, StoreError> {
        let folder = medium.name();
        let lock = medium.lock().map_err(|error| StoreError::io(&folder, "locked", &error))?;
        let lock = lock.ok_or(StoreError::InUse { folder })?;
        let shared = Arc::new(Shared::recover(&medium, clock, settings)?);
        let mut threads = Vec::new();
        if settings.work == Work::Background {
            let (leads, applies) = (Arc::clone(&shared), Arc::clone(&shared));
            threads.push(spawn("store-commit", move || leads.lead_until_stopped())?);
            threads.push(spawn("store-apply", move || applies.apply_until_stopped())?);
        }
        Ok(EmbeddedEngine { shared, threads: Mutex::new(threads), _lock: lock })
    }

    /// Commits the submitted units of work that no thread has taken yet. Needed with [`Work::Inline`] only.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.shared.flush_waiting()
    }

    /// Moves everything committed into the applied store and frees the log.
    ///
    /// # Errors
    /// Errors of the medium; they poison the engine.
    pub fn apply(&self) -> Result<(), StoreError> {
        self.shared.apply_once()
    }

    /// Stops the threads and applies a long log, so that the next opening is quick. Nothing commits afterwards.
    ///
    /// # Errors
    /// Errors of the medium. Nothing acknowledged is lost by one.
    pub fn close(&self) -> Result<(), StoreError> {
        self.stop();
        let shared = &self.shared;
        if shared.visible.load(Ordering::SeqCst).saturating_sub(shared.applied_to.load(Ordering::SeqCst))
            > APPLY_AT_CLOSE
        {
            return shared.apply_once();
        }
        shared.log.lock().sync()
    }

    fn stop(&self) {
        self.shared.stop_leading();
        self.shared.stop_applying();
        let threads = std::mem::take(&mut *self.threads.lock());
        // The last owner may be a completion, which runs on one of these threads. A panic there was reported there.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Drop for EmbeddedEngine {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|error| StoreError::io("a thread", "started", &error))
}

/// The applied store at a mark: everything before it, and nothing after it.
struct AppliedSnapshot {
    view: Arc<dyn AppliedView>,
    position: Position,
}

impl Snapshot for AppliedSnapshot {
    fn position(&self) -> Position {
        self.position
    }

    fn visit(&self, range: EntryRange<'_>, visit: &mut EntryVisit<'_>) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        self.view.scan(range.0, range.1, Direction::Forward, &mut |key, value| {
            outcome = visit(key, value);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome
    }
}

/// A load in progress.
struct Load<'l, 's> {
    space: Space,
    source: &'l mut LoadSource<'s>,
    /// Error that stopped the load; the entries before it are stored first.
    stopped: Option<StoreError>,
    /// Last key of the batch before.
    last: Option<Vec<u8>>,
    count: u64,
}

impl Load<'_, '_> {
    /// Returns the next entries for one durable commit; `None` at the end.
    fn batch(&mut self) -> Result<Option<LoadBatch>, StoreError> {
        if let Some(error) = self.stopped.take() {
            return Err(error);
        }
        let mut batch = LoadBatch::default();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while batch.len() < LOAD_BATCH.0 && batch.byte_len() < LOAD_BATCH.1 {
            match self.entry(batch.last_key(), &mut key, &mut value) {
                Ok(true) => batch.push(self.space, &key, &value),
                Ok(false) => break,
                Err(error) if batch.len() == 0 => return Err(error),
                Err(error) => {
                    self.stopped = Some(error);
                    break;
                }
            }
        }
        self.last = batch.last_key().map(<[u8]>::to_vec);
        Ok((batch.len() > 0).then_some(batch))
    }

    fn entry(&mut self, last: Option<&[u8]>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool, StoreError> {
        if !(self.source)(key, value)? {
            return Ok(false);
        }
        self.count += 1;
        let is_above = last.or(self.last.as_deref()).is_none_or(|last| last < key.as_slice());
        if is_above { Ok(true) } else { Err(StoreError::NotAscending { entry: self.count }) }
    }
}

impl Engine for EmbeddedEngine {
    fn stopped(&self) -> Option<String> {
        self.shared.healthy().err().map(|error| error.to_string())
    }

    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        self.shared.delta.get(key)
    }

    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        page.clear();
        if range.is_empty() {
            return Ok(());
        }
        page::read(&self.shared.delta, &range.full(space), direction, limit, page)
    }

    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        self.shared.commit_unit(batch, after)
    }

    fn submit(&self, batch: Batch, after: Completion) {
        self.shared.submit_unit(batch, after, self.shared.settings.durability);
    }

    fn submit_written(&self, batch: Batch, after: Completion) {
        self.shared.submit_unit(batch, after, Durability::Buffered);
    }

    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        let shared = &self.shared;
        // What the space held is gone from memory and from the log: neither hides what is loaded, nor is it applied or replayed over it.
        shared.apply_all()?;
        let mut load = Load { space, source, stopped: None, last: None, count: 0 };
        let loaded = if shared.settings.work == Work::Inline {
            loop {
                match load.batch() {
                    Ok(Some(batch)) => {
                        if let Err(error) = shared.apply_loaded(&batch) {
                            break Err(error);
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        } else {
            // One batch is read while the one before it is stored.
            std::thread::scope(|scope| {
                let (give, take) = std::sync::mpsc::sync_channel::<LoadBatch>(1);
                let stores = scope.spawn(move || take.iter().try_for_each(|batch| shared.apply_loaded(&batch)));
                let read = loop {
                    match load.batch() {
                        Ok(Some(batch)) => {
                            // The receiver is gone after an error only, which is the answer then.
                            if give.send(batch).is_err() {
                                break Ok(());
                            }
                        }
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                drop(give);
                let stored = stores.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                stored.and(read)
            })
        };
        // Also after an error: what is stored can be read.
        let shown = shared.delta.renew_views(shared.applied.as_ref());
        loaded.and(shown).map(|()| load.count)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let (view, mark) = self.shared.apply_and_view()?;
        Ok(Box::new(AppliedSnapshot { view, position: Position(mark.position) }))
    }

    fn position(&self) -> Position {
        Position(self.shared.visible.load(Ordering::SeqCst))
    }

    fn wait(&self, position: Position) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.waiting.fetch_add(1, Ordering::SeqCst);
        let mut waits = shared.waits.lock();
        let mut outcome = Ok(());
        while shared.visible.load(Ordering::SeqCst) < position.0 && outcome.is_ok() {
            shared.moved.wait_for(&mut waits, std::time::Duration::from_millis(20));
            outcome = shared.healthy();
        }
        drop(waits);
        shared.waiting.fetch_sub(1, Ordering::SeqCst);
        outcome?;
        // The log is not looked at, and its syncs not waited for, where every group was synced.
        if shared.has_unsynced.load(Ordering::SeqCst) {
            let mut log = shared.log.lock();
            if log.durable() < position.0 {
                log.sync().map_err(|error| shared.poison(error))?;
            }
        }
        Ok(())
    }

    fn facts(&self) -> EngineFacts {
        let shared = &self.shared;
        let (position, applied) = (shared.visible.load(Ordering::SeqCst), shared.applied_to.load(Ordering::SeqCst));
        let (syncs, sync_us) = {
            let log = shared.log.lock();
            (log.syncs, log.sync_us)
        };
        EngineFacts {
            position: Position(position),
            applied: Position(applied),
            log_bytes: position.saturating_sub(applied),
            store_bytes: shared.applied.bytes().unwrap_or_default(),
            delta_bytes: shared.delta.bytes() as u64,
            units: shared.units.load(Ordering::Relaxed),
            groups: shared.groups_done.load(Ordering::Relaxed),
            group_units_max: shared.group_units_max.load(Ordering::Relaxed),
            syncs,
            sync_us,
            applied_changes: shared.applied_changes.load(Ordering::Relaxed),
            applied_batches: shared.applied_batches.load(Ordering::Relaxed),
            stalled_us: shared.stalled_us.load(Ordering::Relaxed),
        }
    }

    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        let shared = &self.shared;
        let mut found = {
            let log = shared.log.lock();
            log.check(shared.applied.mark())?
        };
        // First what can be named: the check of the structure ends at the first damage that it cannot explain.
        let view = shared.applied.view()?;
        view.salvage((Bound::Unbounded, Bound::Unbounded), &mut |entry| {
            if let Tried::Damage(_, error) = entry {
                found.push(error);
            }
            ControlFlow::Continue(())
        })?;
        drop(view);
        match self.structure() {
            Err(error @ StoreError::Damaged { .. }) => found.push(error),
            checked => checked?,
        }
        Ok(found)
    }

    fn structure(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        // No apply makes snapshots meanwhile; readers that have one finish soon.
        let _running = shared.applier.running.lock();
        let began = Instant::now();
        let is_whole = loop {
            let work = || shared.applied.maintain(Maintenance::Check);
            match shared.delta.without_views(shared.applied.as_ref(), work) {
                Err(StoreError::Io { kind: io::ErrorKind::WouldBlock, .. }) if began.elapsed() < READERS_END => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                checked => break checked?,
            }
        };
        if is_whole {
            return Ok(());
        }
        let what = "the structure of the tree was damaged".to_owned();
        Err(StoreError::Damaged { file: FILE.to_owned(), byte: 0, what })
    }

    fn salvage(&self, space: Space, visit: &mut SalvageVisit<'_>) -> Result<(), StoreError> {
        let shared = &self.shared;
        let range = KeyRange::ALL.full(space);
        // All that is in memory, and the snapshot that belongs to it: the tree may be too damaged to take it.
        let changes = shared.delta.range(&range, Direction::Forward, usize::MAX);
        let mut newer = changes.entries.iter().peekable();
        let mut outcome = Ok(());
        let before = |newer: &mut std::iter::Peekable<std::slice::Iter<'_, (FullKey, Option<Value>)>>,
                      key: Option<&[u8]>,
                      visit: &mut SalvageVisit<'_>| {
            let is_before = |own: &FullKey| key.is_none_or(|key| own.bytes() < key);
            while let Some((own, value)) = newer.next_if(|(own, _)| is_before(own)) {
                if let Some(value) = value {
                    visit(Salvaged::Entry(own.key(), value))?;
                }
            }
            // A change of the same key is what counts.
            let replaced = newer.next_if(|(own, _)| key == Some(own.bytes()));
            if let Some((own, Some(value))) = replaced {
                visit(Salvaged::Entry(own.key(), value))?;
            }
            Ok(replaced.is_some())
        };
        let (from, to) = (page::bytes_of(&range.0), page::bytes_of(&range.1));
        changes.view.salvage((from, to), &mut |tried| {
            let key = match &tried {
                Tried::Entry(key, _) => Some(*key),
                Tried::Damage(key, _) => *key,
            };
            let done = match key.map(|key| before(&mut newer, Some(key), visit)) {
                Some(Ok(true)) => Ok(()),
                Some(Err(error)) => Err(error),
                Some(Ok(false)) | None => match tried {
                    Tried::Entry(key, value) => visit(Salvaged::Entry(key.get(4..).unwrap_or_default(), value)),
                    Tried::Damage(key, error) => visit(Salvaged::Damage(key.and_then(|key| key.get(4..)), error)),
                },
            };
            outcome = done;
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome?;
        before(&mut newer, None, visit).map(|_| ())
    }

    fn compact(&self) -> Result<(u64, u64), StoreError> {
        let shared = &self.shared;
        let bytes = || Ok(shared.applied.bytes()? + shared.log.lock().disk_bytes()?);
        let before = bytes()?;
        // First the log: a commit of the tree after its compaction would make the file longer again.
        shared.empty_log()?;
        shared.delta.without_views(shared.applied.as_ref(), || {
            // One pass moves what it can; repeated passes end when nothing moves.
            while shared.applied.maintain(Maintenance::Compact)? {}
            Ok(())
        })?;
        Ok((before, bytes()?))
    }
}
