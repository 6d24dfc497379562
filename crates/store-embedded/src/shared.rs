//! The state that commits, readers and the applier share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use quayline_store::{Clock, Position, StoreError};

use crate::applied::{AppliedStore, Redb};
use crate::applier_signals::ApplierSignals;
use crate::delta::{Delta, Entering};
use crate::groups::Groups;
use crate::log::{Log, any_record, remove_all};
use crate::medium::{Medium, OpenMode};
use crate::settings::{Settings, Work};

/// Parts that commits, readers and the applier share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) medium_name: String,
    pub(crate) log: Mutex<Log>,
    pub(crate) applied: Box<dyn AppliedStore>,
    pub(crate) delta: Delta,
    pub(crate) groups: Groups,
    pub(crate) applier: ApplierSignals,
    /// Position of the last group whose changes are all in the delta; set after they entered.
    pub(crate) visible: AtomicU64,
    pub(crate) applied_to: AtomicU64,
    pub(crate) waits: Mutex<()>,
    pub(crate) moved: Condvar,
    pub(crate) waiting: AtomicUsize,
    /// True after a group became visible without a sync.
    pub(crate) has_unsynced: AtomicBool,
    poisoned: AtomicBool,
    cause: Mutex<Option<String>>,
    pub(crate) units: AtomicU64,
    pub(crate) groups_done: AtomicU64,
    pub(crate) group_units_max: AtomicU64,
    pub(crate) applied_changes: AtomicU64,
    pub(crate) applied_batches: AtomicU64,
    pub(crate) stalled_us: AtomicU64,
}

impl Shared {
    /// Opens the log and the applied store, and replays what only the log has.
    pub(crate) fn recover(
        medium: &Arc<dyn Medium>,
        clock: &Arc<dyn Clock>,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        let Some(applied) = Redb::open(medium.as_ref(), settings.cache_bytes)? else {
            if let Some(file) = any_record(medium.as_ref())? {
                let what = "the log has groups, but the applied store that belongs to them is missing".to_owned();
                return Err(StoreError::Damaged { file, byte: 0, what });
            }
            remove_all(medium.as_ref())?;
            let (log, mark) = Log::create(medium, clock, &settings)?;
            let applied = Redb::create(medium.as_ref(), settings.cache_bytes, mark)?;
            let delta = Delta::new(&applied, &settings)?;
            return Ok(Shared::new(medium, settings, log, Box::new(applied), delta));
        };
        let delta = Delta::new(&applied, &settings)?;
        let mark = applied.mark();
        let log = Log::open(medium, clock, &settings, mark, OpenMode::Write, &mut |batches| {
            delta.enter(batches, Entering::Replayed);
            Ok(())
        })?;
        let shared = Shared::new(medium, settings, log, Box::new(applied), delta);
        shared.applied_to.store(mark.position, Ordering::SeqCst);
        Ok(shared)
    }

    fn new(
        medium: &Arc<dyn Medium>,
        settings: Settings,
        log: Log,
        applied: Box<dyn AppliedStore>,
        delta: Delta,
    ) -> Self {
        let position = log.position();
        Shared {
            settings,
            medium_name: medium.name(),
            log: Mutex::new(log),
            applied,
            delta,
            groups: Groups::default(),
            applier: ApplierSignals::default(),
            visible: AtomicU64::new(position),
            applied_to: AtomicU64::new(position),
            waits: Mutex::new(()),
            moved: Condvar::new(),
            waiting: AtomicUsize::new(0),
            has_unsynced: AtomicBool::new(false),
            poisoned: AtomicBool::new(false),
            cause: Mutex::new(None),
            units: AtomicU64::new(0),
            groups_done: AtomicU64::new(0),
            group_units_max: AtomicU64::new(0),
            applied_changes: AtomicU64::new(0),
            applied_batches: AtomicU64::new(0),
            stalled_us: AtomicU64::new(0),
        }
    }

    /// Fails after a failed write or sync.
    pub(crate) fn healthy(&self) -> Result<(), StoreError> {
        if !self.poisoned.load(Ordering::SeqCst) {
            return Ok(());
        }
        let cause = self.cause.lock().clone().unwrap_or_default();
        Err(StoreError::Poisoned { cause })
    }

    /// Makes every later commit fail. The first cause is kept.
    pub(crate) fn poison(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Poisoned { .. }) {
            self.cause.lock().get_or_insert_with(|| error.to_string());
            self.poisoned.store(true, Ordering::SeqCst);
            let _waits = self.waits.lock();
            self.moved.notify_all();
        }
        error
    }

    /// Records that a group is readable. Calls follow the order of the log.
    pub(crate) fn became_visible(&self, position: Position, units: u64) {
        self.visible.store(position.0, Ordering::SeqCst);
        self.units.fetch_add(units, Ordering::Relaxed);
        self.groups_done.fetch_add(1, Ordering::Relaxed);
        self.group_units_max.fetch_max(units, Ordering::Relaxed);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let _waits = self.waits.lock();
            self.moved.notify_all();
        }
        let behind = position.0 - self.applied_to.load(Ordering::SeqCst).min(position.0);
        if self.settings.work == Work::Background
            && (self.delta.active_bytes() > self.settings.apply_bytes || behind > self.settings.log_bytes_max / 2)
        {
            self.applier.want();
        }
    }
}
