//! Units of work that wait for the disk, in groups.

use std::sync::{Arc, PoisonError};

use parking_lot::{Condvar, Mutex};
use quayline_store::{Batch, Completion, Position, StoreError};

use crate::settings::Durability;

/// A submitted unit of work. Its bytes begin with room for the header of a group: most groups are one unit, which is then written without a copy.
pub(crate) struct Waiting {
    pub(crate) encoded: Vec<u8>,
    pub(crate) batch: Batch,
    pub(crate) after: Completion,
    pub(crate) durability: Durability,
}

/// Outcome of a group, for the threads that wait for it. The standard library's condition variable wakes all of them at once; `parking_lot` would pass
/// the lock from one to the next, with a thread switch each.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) outcome: std::sync::Mutex<Option<Result<Position, StoreError>>>,
    pub(crate) known: std::sync::Condvar,
}

impl Group {
    pub(crate) fn wait(&self) -> Result<Position, StoreError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = outcome.clone() {
                return outcome;
            }
            outcome = self.known.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn tell(&self, outcome: Result<Position, StoreError>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.known.notify_all();
    }
}

/// Units of work that wait for the disk.
#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) queue: Mutex<Queue>,
    /// The leader of the next group waits here for the disk.
    pub(crate) turn: Condvar,
    /// The engine's own leader waits here for work.
    pub(crate) wanted: Condvar,
    /// Submitters wait here for room.
    pub(crate) room: Condvar,
    /// Held from the moment a group is durable until it is visible, so groups become visible in the order of the log while the next one is
    /// already at the disk.
    pub(crate) order: Mutex<()>,
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Groups")
    }
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) bytes: usize,
    pub(crate) group: Arc<Group>,
    /// A group is at the disk.
    pub(crate) busy: bool,
    /// True if no thread leads the waiting group yet.
    pub(crate) leaderless: bool,
    pub(crate) stop: bool,
    pub(crate) buffer: Vec<u8>,
    /// The bytes of a unit that is written: memory for the next one.
    pub(crate) spare: Vec<u8>,
}
