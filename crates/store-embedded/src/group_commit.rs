//! Group commit: the first thread that arrives while another group is being written leads the next group.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use quayline_store::{Batch, Completion, Position, StoreError};

use crate::delta::Entering;
use crate::groups::{Queue, Waiting};
use crate::log::record::{HEADER, encode_unit, unit_bytes};
use crate::settings::{Durability, Work};
use crate::shared::Shared;

/// Maximum number of bytes of a buffer that is kept for reuse. A unit of work of some megabytes comes from a batch, whose next unit will have a
/// similar size, and to get the memory from the system again costs more than to fill it.
const KEPT_BUFFER_BYTES: usize = 6 << 20;

/// Bytes of a unit from which the memory of an earlier one is looked for. Smaller ones come from the allocator's own lists.
const REUSED_BYTES: usize = 64 << 10;

thread_local! {
    /// True if this thread runs completions. It must not wait for room that only it can make.
    static COMPLETES: Cell<bool> = const { Cell::new(false) };
}

impl Shared {
    /// Commits a unit and waits; leads the group if it is the first in it.
    pub(crate) fn commit_unit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let waiting = self.encode(batch, after, self.settings.durability);
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
        let waiting = self.encode(batch, after, durability);
        let mut queue = self.room_for(waiting.encoded.len());
        queue.bytes += waiting.encoded.len();
        queue.waiting.push(waiting);
        if queue.waiting.len() == 1 {
            queue.leaderless = true;
            self.groups.wanted.notify_one();
        }
    }

    fn encode(&self, batch: Batch, after: Completion, durability: Durability) -> Waiting {
        let bytes = HEADER + unit_bytes(&batch);
        let mut encoded =
            if bytes >= REUSED_BYTES { std::mem::take(&mut self.groups.queue.lock().spare) } else { Vec::new() };
        encoded.clear();
        // Room for the padding too.
        encoded.reserve_exact(bytes + 8);
        encoded.resize(HEADER, 0);
        encode_unit(&mut encoded, &batch);
        debug_assert_eq!(encoded.len(), bytes, "the length of a unit is known before");
        Waiting { encoded, batch, after, durability }
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

    /// Leads the waiting units, if there are any and no other thread leads them.
    pub(crate) fn flush_waiting(&self) -> Result<(), StoreError> {
        let mut queue = self.groups.queue.lock();
        if !queue.leaderless {
            return Ok(());
        }
        queue.leaderless = false;
        self.lead(queue).map(|_| ())
    }

    /// Body of the engine's leader thread: leads groups of submitted units until the engine stops.
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

    /// Writes and syncs the waiting group, makes it visible and reports the outcome to all of its units.
    fn lead(&self, mut queue: MutexGuard<'_, Queue>) -> Result<Position, StoreError> {
        while queue.busy {
            self.groups.turn.wait(&mut queue);
        }
        queue.busy = true;
        let mut units = std::mem::take(&mut queue.waiting);
        let group = std::mem::take(&mut queue.group);
        queue.bytes = 0;
        let mut buffer = std::mem::take(&mut queue.buffer);
        drop(queue);
        self.groups.room.notify_all();

        let outcome = self.write_group(&mut units, &mut buffer);
        let written = units.iter_mut().map(|unit| std::mem::take(&mut unit.encoded)).max_by_key(Vec::capacity);
        // Before the next group may begin: it must not become visible first.
        let order = self.groups.order.lock();
        let mut queue = self.groups.queue.lock();
        queue.busy = false;
        if buffer.capacity() <= KEPT_BUFFER_BYTES {
            queue.buffer = buffer;
        }
        if let Some(written) = written
            && (REUSED_BYTES..=KEPT_BUFFER_BYTES).contains(&written.capacity())
            && written.capacity() > queue.spare.capacity()
        {
            queue.spare = written;
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

    fn write_group(&self, units: &mut [Waiting], buffer: &mut Vec<u8>) -> Result<Position, StoreError> {
        self.healthy()?;
        self.wait_for_applier()?;
        let needs_sync = units.iter().any(|unit| unit.durability == Durability::Sync);
        let count = u32::try_from(units.len()).expect("limits keep a group below 4 billion units");
        let record = match units {
            [alone] => &mut alone.encoded,
            _ => {
                buffer.clear();
                buffer.resize(HEADER, 0);
                units.iter().for_each(|unit| buffer.extend_from_slice(&unit.encoded[HEADER..]));
                buffer
            }
        };
        let mut log = self.log.lock();
        let begin = log.position();
        let written = log.append(record, count).and_then(|position| {
            if needs_sync {
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
