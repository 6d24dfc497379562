//! The store, for operators.

use serde::Serialize;

/// A finding.
#[derive(Serialize)]
pub(crate) struct Problem {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// `/store/save`: the save that runs, or that ran last.
#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum Save {
    None,
    Running {
        save: String,
    },
    Failed {
        save: String,
        finding: Problem,
    },
    Complete {
        save: String,
        position: u64,
        entries: u64,
        bytes: u64,
        parts_kept: usize,
        parts_changed: usize,
        damaged: Vec<Problem>,
    },
}

/// `/store`.
#[derive(Serialize)]
pub(crate) struct StoreState {
    pub(crate) position: u64,
    pub(crate) applied: u64,
    pub(crate) log_bytes: u64,
    pub(crate) store_bytes: u64,
    pub(crate) delta_bytes: u64,
    pub(crate) units_open: usize,
    pub(crate) locks_held: usize,
    pub(crate) units: Units,
    pub(crate) commits: Commits,
    pub(crate) locks: Locks,
    pub(crate) files: Files,
    pub(crate) queues: Queues,
    pub(crate) owners: Vec<OwnerState>,
}

/// Units of work.
#[derive(Serialize)]
pub(crate) struct Units {
    pub(crate) committed: u64,
    pub(crate) rolled_back: u64,
    pub(crate) changes: u64,
}

/// Commits and their groups.
#[derive(Serialize)]
pub(crate) struct Commits {
    pub(crate) us: u64,
    pub(crate) max_us: u64,
    pub(crate) groups: u64,
    pub(crate) group_units_mean: f64,
    pub(crate) group_units_max: u64,
    pub(crate) syncs: u64,
    pub(crate) sync_us: u64,
    pub(crate) stalled_us: u64,
    pub(crate) cpu: Measured,
}

/// Operations that were measured, and their mean.
#[derive(Serialize)]
pub(crate) struct Measured {
    pub(crate) measured: u64,
    pub(crate) mean_cpu_ns: u64,
}

/// Waits for record locks.
#[derive(Serialize)]
pub(crate) struct Locks {
    pub(crate) waits: u64,
    pub(crate) wait_us: u64,
    pub(crate) timeouts: u64,
    pub(crate) deadlocks: u64,
}

/// Operations on record files.
#[derive(Serialize)]
pub(crate) struct Files {
    pub(crate) cpu: Measured,
}

/// Operations on queues.
#[derive(Serialize)]
pub(crate) struct Queues {
    pub(crate) cpu: Measured,
    pub(crate) message_waits: u64,
    pub(crate) message_wait_us: u64,
    pub(crate) open: Vec<OpenQueue>,
}

/// A queue that this process uses.
#[derive(Serialize)]
pub(crate) struct OpenQueue {
    pub(crate) queue: String,
    pub(crate) depth: u64,
    pub(crate) depth_high: u64,
    pub(crate) put: u64,
    pub(crate) got: u64,
    pub(crate) expired: u64,
    pub(crate) backed_out: u64,
    pub(crate) moved: u64,
    pub(crate) poison: u64,
}

/// Figures of a file, a queue or internal data of the store.
#[derive(Serialize)]
pub(crate) struct OwnerState {
    #[serde(flatten)]
    pub(crate) name: OwnerName,
    pub(crate) cpu: Measured,
    pub(crate) locks: Locks,
    pub(crate) message_waits: u64,
    pub(crate) message_wait_us: u64,
}

/// Owner of the figures: `{"file": "CUSTOMERS"}`.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OwnerName {
    File(String),
    Queue(String),
    Store(String),
}
