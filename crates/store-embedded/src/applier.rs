//! Moves committed changes from memory into the applied store and frees the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use quayline_meter::{WaitFor, waiting};
use quayline_store::StoreError;

use crate::applied::{AppliedView, LoadBatch};
use crate::log::Mark;
use crate::settings::Work;
use crate::shared::Shared;

/// Longest pause between two batches. The pause leaves the disk to the log: it is as long as the batch took, up to this.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Interval at which threads that wait for the applier check again, in case a wake-up is missed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Times that a compaction tries to find the log without a group that is not applied.
const EMPTY_TRIES: usize = 5;

/// Rule for moving the mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Marking {
    /// With changes, or if the log has grown much. A commit whose changes are superseded costs no write.
    WithChanges,
    /// Always.
    Always,
}

impl Shared {
    /// Body of the applier's thread.
    pub(crate) fn apply_until_stopped(&self) {
        let interval = Duration::from_millis(self.settings.apply_interval_ms.max(1));
        let mut last = Instant::now();
        loop {
            let mut state = self.applier.state.lock();
            while !state.stop && !state.wanted && last.elapsed() < interval {
                self.applier.work.wait_for(&mut state, interval.saturating_sub(last.elapsed()));
            }
            if state.stop {
                return;
            }
            state.wanted = false;
            drop(state);
            // The error stays in the poisoned engine, where the next commit finds it.
            if self.apply_once().is_err() {
                return;
            }
            last = Instant::now();
        }
    }

    pub(crate) fn stop_applying(&self) {
        self.applier.state.lock().stop = true;
        self.applier.work.notify_all();
        self.applier.room.notify_all();
    }

    fn stopping(&self) -> bool {
        self.applier.state.lock().stop
    }

    fn is_full(&self) -> bool {
        let behind = self.visible.load(Ordering::SeqCst).saturating_sub(self.applied_to.load(Ordering::SeqCst));
        self.delta.bytes() > self.settings.delta_bytes_max || behind > self.settings.log_bytes_max
    }

    /// Holds a committer while changes in memory or the log exceed their limits.
    pub(crate) fn wait_for_applier(&self) -> Result<(), StoreError> {
        if !self.is_full() {
            return Ok(());
        }
        if self.settings.work == Work::Inline {
            return self.apply_once();
        }
        let since = Instant::now();
        self.applier.want();
        while self.is_full() {
            let mut state = self.applier.state.lock();
            if state.stop {
                break;
            }
            waiting(WaitFor::Room, || self.applier.room.wait_for(&mut state, LOOK_AGAIN));
            drop(state);
            self.healthy()?;
            self.applier.want();
        }
        let waited = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.stalled_us.fetch_add(waited, Ordering::Relaxed);
        Ok(())
    }

    /// Moves everything that is visible now into the applied store.
    pub(crate) fn apply_once(&self) -> Result<(), StoreError> {
        let running = self.applier.running.lock();
        self.healthy()?;
        let outcome = self.apply_generation(Marking::WithChanges);
        drop(running);
        self.applier.room.notify_all();
        outcome.map_err(|error| self.poison(error))
    }

    /// Applies everything and moves the mark, so that a replay repeats nothing.
    pub(crate) fn apply_all(&self) -> Result<(), StoreError> {
        let running = self.applier.running.lock();
        self.healthy()?;
        let outcome = self.apply_generation(Marking::Always);
        drop(running);
        self.applier.room.notify_all();
        outcome.map_err(|error| self.poison(error))
    }

    /// Applies everything and removes the files of the log except an empty segment. If other units commit at the same time, the log keeps their writes.
    pub(crate) fn empty_log(&self) -> Result<(), StoreError> {
        for _ in 0..EMPTY_TRIES {
            self.apply_all()?;
            let running = self.applier.running.lock();
            self.healthy()?;
            let outcome = self.start_empty_segment();
            drop(running);
            if outcome.map_err(|error| self.poison(error))? {
                break;
            }
        }
        Ok(())
    }

    /// Continues the log in an empty segment, moves the mark there and removes all other segments. Does nothing if the log has groups that are not
    /// applied.
    ///
    /// The segment is durable before the seal names it, the seal before the mark, and the mark before a file is removed. So each crash leaves a mark
    /// from which a replay finds every segment that it needs; files before the mark are removed by the next opening.
    fn start_empty_segment(&self) -> Result<bool, StoreError> {
        // Nothing is written meanwhile.
        let mut log = self.log.lock();
        let is_applied = |position| position == log.position();
        if !is_applied(self.visible.load(Ordering::SeqCst)) || !is_applied(self.applied.mark().position) {
            return Ok(false);
        }
        log.remove_spares()?;
        if log.is_empty_segment() {
            return Ok(true);
        }
        log.next_segment()?;
        let mark = log.mark_of(log.position());
        self.applied.apply(&[], mark)?;
        self.applied_to.store(mark.position, Ordering::SeqCst);
        self.visible.store(mark.position, Ordering::SeqCst);
        log.free_to(mark)?;
        log.remove_spares()?;
        Ok(true)
    }

    /// Moves all visible changes into the applied store. Returns a view of the applied store at its new mark, and the mark.
    pub(crate) fn apply_and_view(&self) -> Result<(Arc<dyn AppliedView>, Mark), StoreError> {
        let running = self.applier.running.lock();
        self.healthy()?;
        let outcome =
            self.apply_generation(Marking::WithChanges).and_then(|()| Ok((self.applied.view()?, self.applied.mark())));
        drop(running);
        self.applier.room.notify_all();
        outcome.map_err(|error| self.poison(error))
    }

    /// Stores entries of a load. The position does not change, because a load is not in the log.
    pub(crate) fn apply_loaded(&self, entries: &LoadBatch) -> Result<(), StoreError> {
        let _running = self.applier.running.lock();
        self.healthy()?;
        self.applied.load(entries).map_err(|error| match error {
            // Nothing is stored of the batch, and nothing else is touched.
            StoreError::NotEmpty { .. } => error,
            error => self.poison(error),
        })
    }

    fn apply_generation(&self, marking: Marking) -> Result<(), StoreError> {
        let before = self.applied.mark();
        // The position is read while nothing can enter. A group that has entered and is not counted yet is replayed, which changes nothing.
        let (frozen, position) = self.delta.freeze(|| self.visible.load(Ordering::SeqCst));
        // Nothing may be applied that the log could still lose.
        let mark = {
            let mut log = self.log.lock();
            log.sync()?;
            log.mark_of(position)
        };
        let is_near = match marking {
            Marking::WithChanges => position - before.position < self.settings.segment_bytes / 2,
            Marking::Always => position == before.position,
        };
        if frozen.len() == 0 && is_near {
            return Ok(());
        }
        let mut changes = frozen.iter().peekable();
        loop {
            let began = Instant::now();
            let mut batch = changes.by_ref().take(self.settings.apply_batch_changes_max.max(1)).peekable();
            if batch.peek().is_none() && frozen.len() > 0 {
                break;
            }
            let batch: Vec<_> = batch.collect();
            let is_last = changes.peek().is_none();
            // Replay repeats a generation as a whole, so only its last batch may move the position.
            let mark = if is_last { mark } else { before };
            let count = self.applied.apply(&batch, mark)?;
            self.applied_changes.fetch_add(count, Ordering::Relaxed);
            self.applied_batches.fetch_add(1, Ordering::Relaxed);
            if is_last {
                break;
            }
            // Old snapshots keep pages of the tree from being used again.
            self.delta.renew_views(self.applied.as_ref())?;
            self.pause(began.elapsed());
        }
        drop(changes);
        self.delta.thaw(self.applied.as_ref())?;
        self.applied_to.store(position, Ordering::SeqCst);
        self.log.lock().free_to(mark)
    }

    /// Leaves the disk to the log for a while, unless committers wait for this generation.
    fn pause(&self, took: Duration) {
        if self.settings.work == Work::Inline || self.stopping() || self.is_full() {
            return;
        }
        std::thread::sleep(took.min(PAUSE_MAX));
    }
}
