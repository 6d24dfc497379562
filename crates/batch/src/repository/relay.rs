//! Events of a repository in a database, for a queue or topic of a store.
//!
//! The repository keeps an event in the transaction that makes it true. A relay puts it on the queue in a unit of work of the store, which also
//! stores the position of the event. The queue therefore gets each event once and in order, even if a process ends at any moment. Several processes
//! may relay to one store: the lock of the position makes them take turns.

use std::hash::{BuildHasher as _, RandomState};

use quayline_store::{LockWait, Space, StoreError};

use super::Repository;
use super::events::{READ, put_event};
use crate::error::BatchError;
use crate::event::{EventPosition, Relay};

/// Key of the random number of a repository. Another database at the same address has another number.
const IDENTITY: &[u8] = b"#u";
/// Beginning of the keys of positions in the store; the numbers of the repositories and the names of the queues follow.
const RELAYED: &[u8] = b"#r";

impl Relay {
    /// Puts the kept events on the queue that it does not have yet. The first run for a queue only stores the position after which its events begin.
    /// Returns true if the queue has all events. If the queue is full, the others wait in the repository.
    ///
    /// # Errors
    /// Those of the repository and of the store. A later run continues.
    pub fn run(&self, repository: &Repository) -> Result<bool, BatchError> {
        let key = [RELAYED, &repository.identity()?, self.queue.name().as_bytes()].concat();
        loop {
            let mut unit = self.store.begin()?;
            let found = unit.read_for_update(Space::JOBS, &key, LockWait::Default)?;
            let mut last = found.as_deref().and_then(position_of).map_or_else(|| repository.newest_event(), Ok)?;
            let events = if found.is_some() { repository.events(last, READ)? } else { Vec::new() };
            let (before, mut has_room) = (found.is_some().then_some(last), true);
            for (at, event) in &events {
                if self.filter.wants(event.topic) {
                    match put_event(&mut unit, &self.queue, event) {
                        Ok(()) | Err(StoreError::MessageTooLong { .. }) => {}
                        Err(StoreError::QueueFull { .. }) => {
                            has_room = false;
                            break;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                last = *at;
            }
            if before == Some(last) {
                return Ok(has_room);
            }
            unit.put(Space::JOBS, &key, [last.0.to_be_bytes(), last.1.to_be_bytes()].concat())?;
            unit.commit()?;
        }
    }
}

fn position_of(bytes: &[u8]) -> Option<EventPosition> {
    let (first, second) = bytes.split_first_chunk()?;
    Some(EventPosition(u64::from_be_bytes(*first), u64::from_be_bytes(second.try_into().ok()?)))
}

impl Repository {
    /// Returns bytes that identify this repository.
    pub(crate) fn identity(&self) -> Result<Vec<u8>, BatchError> {
        let mut work = self.begin()?;
        if let Some(found) = work.get(IDENTITY)? {
            return Ok(found);
        }
        // Only one process at a time creates them.
        work.get_for_update(b"#e")?;
        if let Some(found) = work.get(IDENTITY)? {
            return Ok(found);
        }
        let made = RandomState::new().hash_one(self.now_ms()).to_be_bytes();
        work.put(IDENTITY, &made)?;
        work.commit()?;
        Ok(made.to_vec())
    }
}
