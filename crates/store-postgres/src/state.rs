//! State that the engine's thread and all other threads share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use parking_lot::{Condvar, Mutex};
use quayline_store::{Batch, Completion, Position, StoreError};

/// A submitted unit of work.
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) bytes: usize,
    pub(crate) ending: Ending,
}

/// Receiver of the outcome of a unit of work.
pub(crate) enum Ending {
    /// A thread that waits for the outcome and then does the follow-up work.
    Wake(Sender<Result<Position, StoreError>>),
    /// A callback; no thread waits.
    Call(Completion),
}

/// State that the engine's thread and all other threads share.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) waiting: Mutex<Queue>,
    pub(crate) room: Condvar,
    pub(crate) visible: AtomicU64,
    pub(crate) units: AtomicU64,
    pub(crate) groups: AtomicU64,
    pub(crate) stopping: AtomicBool,
    poisoned: Mutex<Option<String>>,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) units: Vec<Waiting>,
    pub(crate) bytes: usize,
}

impl State {
    /// Takes the waiting units of work for the next transaction, up to `bytes_max` bytes.
    pub(crate) fn take_group(&self, bytes_max: usize) -> Vec<Waiting> {
        let mut queue = self.waiting.lock();
        let mut bytes = 0;
        let fits = queue.units.iter().take_while(|unit| {
            let first = bytes == 0;
            bytes += unit.bytes;
            first || bytes <= bytes_max
        });
        let count = fits.count();
        let group: Vec<Waiting> = queue.units.drain(..count).collect();
        queue.bytes -= group.iter().map(|unit| unit.bytes).sum::<usize>();
        drop(queue);
        self.room.notify_all();
        group
    }

    pub(crate) fn healthy(&self) -> Result<(), StoreError> {
        match &*self.poisoned.lock() {
            Some(cause) => Err(StoreError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    pub(crate) fn poison(&self, error: StoreError) -> StoreError {
        self.poisoned.lock().get_or_insert_with(|| error.to_string());
        error
    }

    pub(crate) fn became_visible(&self, position: u64, units: u64) {
        self.visible.fetch_max(position, Ordering::SeqCst);
        self.units.fetch_add(units, Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the error of a connection that has ended.
pub(crate) fn gone(name: &str) -> StoreError {
    StoreError::Poisoned { cause: format!("the connection to {name} has ended") }
}
