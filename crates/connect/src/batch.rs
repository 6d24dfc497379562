//! One unit of work for all messages and acknowledgments of one read.
//!
//! A unit of work for each message would also be correct, but a thousand units cost more CPU than one unit of a thousand changes,
//! and the log is synced once either way. If the commit fails, none of the changes is acknowledged.

use std::sync::Arc;

use quayline_amqp::{Delivery, DeliveryState};
use quayline_store::queue::{Claim, Message, Queue};
use quayline_store::{Store, StoreError, Unit};

use crate::mailbox::{Committed, Mailbox, Signal};

/// Maximum number of changes in a unit of work. Quayline commits at this number even if the read brought more.
const CHANGES_MAX: usize = 256;
/// Maximum number of content bytes in a unit of work, after which it is committed.
const BYTES_MAX: u64 = 1 << 20;

/// A unit of work that collects changes until it is committed.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    unit: Option<Unit>,
    puts: Vec<Delivery>,
    gets: Vec<(Delivery, DeliveryState)>,
    changes: usize,
    bytes: u64,
}

impl Batch {
    fn unit(&mut self, store: &Store) -> Result<&mut Unit, StoreError> {
        if self.unit.is_none() {
            self.unit = Some(store.begin()?);
        }
        self.unit.as_mut().ok_or(StoreError::ReadOnly)
    }

    /// Adds a message. An error leaves the batch as it was.
    pub(crate) fn put(
        &mut self,
        store: &Store,
        queue: &Queue,
        message: &Message,
        delivery: Option<Delivery>,
        bytes: u64,
    ) -> Result<(), StoreError> {
        queue.put(self.unit(store)?, message)?;
        self.puts.extend(delivery);
        self.changes += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// Adds the get of a message that the client accepted. An error returns the message to its queue.
    pub(crate) fn get(
        &mut self,
        store: &Store,
        claim: Claim,
        confirm: Option<(Delivery, DeliveryState)>,
    ) -> Result<(), StoreError> {
        claim.get(self.unit(store)?)?;
        self.gets.extend(confirm);
        self.changes += 1;
        Ok(())
    }

    /// Returns whether the unit of work should be committed now.
    pub(crate) fn is_full(&self) -> bool {
        self.changes >= CHANGES_MAX || self.bytes >= BYTES_MAX
    }

    /// Commits without waiting. The mailbox gets the outcome. Returns the number of submitted bytes; `None` if there is nothing to commit.
    pub(crate) fn commit(&mut self, mailbox: &Arc<Mailbox>) -> Option<u64> {
        let Batch { unit, puts, gets, bytes, .. } = std::mem::take(self);
        let unit = unit?;
        let mailbox = Arc::clone(mailbox);
        unit.submit_with(Box::new(move |outcome| {
            let outcome = outcome.map(|_| ());
            mailbox.leave(Signal::Committed(Committed { puts, gets, bytes, outcome }));
        }));
        Some(bytes)
    }
}
