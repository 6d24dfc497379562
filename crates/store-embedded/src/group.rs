//! Group commit: whoever comes first while another group is at the disk leads the next one.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use parking_lot::{Condvar, Mutex, MutexGuard};
use quayline_store::{Batch, Completion, Position, StoreError};

use crate::delta::Entering;
use crate::engine::Shared;
use crate::log::record::{HEADER, encode_unit, encoded_len};
use crate::settings::{Durability, Work};

/// Bytes beyond which the buffer of a group is given back after use.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// A unit of work on its way.
struct Waiting {
    encoded: Vec<u8>,
    batch: Batch,
    after: Completion,
    durability: Durability,
}

/// The outcome of a group, for those that wait for it. The standard library's condition variable wakes all of them at once; `parking_lot` would hand
/// the lock from one to the next, a switch of threads each.
#[derive(Debug, Default)]
struct Group {
    outcome: std::sync::Mutex<Option<Result<Position, StoreError>>>,
    known: std::sync::Condvar,
}

impl Group {
    fn wait(&self) -> Result<Position, StoreError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = outcome.clone() {
                return outcome;
            }
            outcome = self.known.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn tell(&self, outcome: Result<Position, StoreError>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.known.notify_all();
    }
}

/// Units of work that wait for the disk.
#[derive(Default)]
pub(crate) struct Groups {
    queue: Mutex<Queue>,
    /// The leader of the next group waits here for the disk.
    turn: Condvar,
    /// The engine's own leader waits here for work.
    wanted: Condvar,
    /// Submitters wait here for room.
    room: Condvar,
    /// Held from the moment a group is durable until it is visible, so groups become visible in the order of the log while the next one is
    /// already at the disk.
    order: Mutex<()>,
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Groups")
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    bytes: usize,
    group: Arc<Group>,
    /// A group is at the disk.
    busy: bool,
    /// Nobody leads the waiting group yet.
    leaderless: bool,
    stop: bool,
    buffer: Vec<u8>,
}

thread_local! {
    /// Whether this thread runs completions: it must not wait for room that only it can make.
    static COMPLETES: Cell<bool> = const { Cell::new(false) };
}

impl Shared {
    /// Commits a unit and waits; leads the group if it is the first in it.
    pub(crate) fn commit_unit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let waiting = encode(batch, after, self.settings.durability);
        let mut queue = self.room_for(waiting.encoded.len());
        queue.bytes += waiting.encoded.len();
        queue.waiting.push(waiting);
        // A group that nobody leads yet is led here: this thread waits anyway.
        if queue.waiting.len() == 1 || queue.leaderless {
            queue.leaderless = false;
            return self.lead(queue);
        }
        let group = Arc::clone(&queue.group);
        drop(queue);
        group.wait()
    }

    /// Commits a unit without waiting for the disk. A group is synced if one of its units needs it.
    pub(crate) fn submit_unit(&self, batch: Batch, after: Completion, durability: Durability) {
        let waiting = encode(batch, after, durability);
        let mut queue = self.room_for(waiting.encoded.len());
        queue.bytes += waiting.encoded.len();
        queue.waiting.push(waiting);
        if queue.waiting.len() == 1 {
            queue.leaderless = true;
            self.groups.wanted.notify_one();
        }
    }

    fn room_for(&self, bytes: usize) -> MutexGuard<'_, Queue> {
        let settings = &self.settings;
        let mut queue = self.groups.queue.lock();
        if COMPLETES.get() || settings.work == Work::Inline {
            return queue;
        }
        while !queue.waiting.is_empty()
            && (queue.bytes + bytes > settings.in_flight_bytes_max
                || queue.waiting.len() >= settings.in_flight_units_max)
        {
            self.groups.room.wait(&mut queue);
        }
        queue
    }

    /// Leads what waits, if anything does and nobody else leads it.
    pub(crate) fn flush_waiting(&self) -> Result<(), StoreError> {
        let mut queue = self.groups.queue.lock();
        if !queue.leaderless {
            return Ok(());
        }
        queue.leaderless = false;
        self.lead(queue).map(|_| ())
    }

    /// Body of the engine's own leader: leads groups of submitted units until the engine stops.
    pub(crate) fn lead_until_stopped(&self) {
        loop {
            let mut queue = self.groups.queue.lock();
            while !queue.leaderless {
                if queue.stop {
                    return;
                }
                self.groups.wanted.wait(&mut queue);
            }
            queue.leaderless = false;
            // Each unit's own completion takes the outcome.
            let _ = self.lead(queue);
        }
    }

    /// Ends [`Self::lead_until_stopped`] once nothing waits.
    pub(crate) fn stop_leading(&self) {
        self.groups.queue.lock().stop = true;
        self.groups.wanted.notify_all();
    }

    /// Writes and syncs the waiting group, makes it visible and tells everyone.
    fn lead(&self, mut queue: MutexGuard<'_, Queue>) -> Result<Position, StoreError> {
        while queue.busy {
            self.groups.turn.wait(&mut queue);
        }
        queue.busy = true;
        let units = std::mem::take(&mut queue.waiting);
        let group = std::mem::take(&mut queue.group);
        queue.bytes = 0;
        let mut buffer = std::mem::take(&mut queue.buffer);
        drop(queue);
        self.groups.room.notify_all();

        let outcome = self.write_group(&units, &mut buffer);
        // Before the next group may begin: it must not become visible first.
        let order = self.groups.order.lock();
        let mut queue = self.groups.queue.lock();
        queue.busy = false;
        if buffer.capacity() <= KEPT_BUFFER_BYTES {
            queue.buffer = buffer;
        }
        drop(queue);
        self.groups.turn.notify_one();

        let count = units.len() as u64;
        let (batches, completions): (Vec<_>, Vec<_>) = units.into_iter().map(|unit| (unit.batch, unit.after)).unzip();
        if let Ok(position) = outcome {
            self.delta.enter(batches, Entering::Live);
            self.became_visible(position, count);
        }
        drop(order);
        let was = COMPLETES.replace(true);
        for after in completions {
            after(outcome.clone());
        }
        COMPLETES.set(was);
        group.tell(outcome.clone());
        outcome
    }

    fn write_group(&self, units: &[Waiting], buffer: &mut Vec<u8>) -> Result<Position, StoreError> {
        self.healthy()?;
        self.wait_for_applier()?;
        buffer.clear();
        buffer.resize(HEADER, 0);
        for unit in units {
            buffer.extend_from_slice(&unit.encoded);
        }
        let count = u32::try_from(units.len()).expect("limits keep a group below 4 billion units");
        let mut log = self.log.lock();
        let begin = log.position();
        let written = log.append(buffer, count).and_then(|position| {
            if units.iter().any(|unit| unit.durability == Durability::Sync) {
                log.sync()?;
            } else {
                self.has_unsynced.store(true, Ordering::SeqCst);
            }
            Ok(position)
        });
        // A record that is whole in spite of the failure would be there after a restart.
        let written = written.map_err(|error| match (log.cut_back(begin), error) {
            (Err(_), StoreError::Io { file, action, why, .. }) => StoreError::Unknown { file, action, why },
            (_, error) => error,
        });
        drop(log);
        written.map(Position).map_err(|error| self.poison(error))
    }
}

fn encode(batch: Batch, after: Completion, durability: Durability) -> Waiting {
    let mut encoded = Vec::with_capacity(encoded_len(&batch));
    encode_unit(&mut encoded, &batch);
    Waiting { encoded, batch, after, durability }
}
