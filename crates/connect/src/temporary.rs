//! Temporary queues: created for a link with a dynamic address, deleted when the link or its connection ends, or at the next start
//! if neither happened.

use std::sync::Arc;

use quayline_amqp::{AmqpError, Attach, LinkId, Role, condition};
use quayline_store::queue::QueueDefinition;
use quayline_store::{Clock as _, Store, StoreError, SystemClock};

use crate::client::{Client, amqp_error};
use crate::links::Link;
use crate::mailbox::Signal;

/// Names of temporary queues begin with this.
const PREFIX: &str = "AMQP.TEMPORARY.";

pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Deletes temporary queues from an earlier run. Those of another process that works on the same database stay.
pub(crate) fn sweep(store: &Store) -> Result<(), StoreError> {
    let unit = store.begin()?;
    let names = store.queues(&unit)?;
    drop(unit);
    names.iter().filter(|name| is_temporary(name)).try_for_each(|name| match store.delete_queue(name) {
        // Another process uses it, or deleted it meanwhile.
        Err(StoreError::QueueInUse { .. } | StoreError::QueueMissing { .. }) => Ok(()),
        deleted => deleted,
    })
}

impl Client {
    /// Begins to make a queue for a link; the link is answered when it is there.
    pub(crate) fn make_queue(&mut self, link: LinkId, attach: Box<Attach>) -> Result<(), AmqpError> {
        let max = self.shared.settings.limits.temporary_queues;
        let making = self.links.values().filter(|link| matches!(link, Link::Making(_))).count();
        if self.temporary.len() + making >= max {
            let what = format!("the connection has {max} temporary queues, which is its limit");
            return Err(AmqpError::new(condition::RESOURCE_LIMIT, what));
        }
        let store = &self.shared.store;
        let name = format!("{PREFIX}{:016X}", SystemClock.random());
        // Failures there are not reported.
        let definition = QueueDefinition { backout_threshold: 0, ..QueueDefinition::local(&name) };
        let mut unit = store.begin().map_err(|error| amqp_error(&error))?;
        store.define_queue(&mut unit, definition).map_err(|error| amqp_error(&error))?;
        self.links.insert(link, Link::Making(attach));
        let mailbox = Arc::clone(&self.mailbox);
        unit.submit_with(Box::new(move |outcome| {
            let outcome = outcome.map(|_| ()).map_err(|error| amqp_error(&error));
            mailbox.leave(Signal::Made { link, name, outcome });
        }));
        Ok(())
    }

    /// Answers a link whose temporary queue was created or could not be.
    pub(crate) fn made(&mut self, link: LinkId, name: String, outcome: Result<(), AmqpError>) {
        let is_there = outcome.is_ok();
        let Some(Link::Making(_)) = self.links.get(&link) else {
            // The link ended meanwhile.
            if is_there {
                self.delete(name);
            }
            return;
        };
        let Some(Link::Making(attach)) = self.links.remove(&link) else { return };
        if is_there {
            self.temporary.insert(link, name.clone());
        }
        let done = outcome.and_then(|()| match attach.role.other() {
            Role::Receiver => self.attach_put(link, *attach, Some(name)),
            Role::Sender => self.attach_source(link, *attach, Some(name)),
        });
        if let Err(error) = done {
            self.endpoint.refuse(link, error);
            self.end_temporary(link);
        }
    }

    /// Deletes the queue of a link.
    pub(crate) fn end_temporary(&mut self, link: LinkId) {
        if let Some(name) = self.temporary.remove(&link) {
            self.delete(name);
        }
    }

    fn delete(&self, name: String) {
        let store = self.shared.store.clone();
        // It waits for a commit, which this thread must not. The next start deletes the rest.
        drop(tokio::task::spawn_blocking(move || store.delete_queue(&name)));
    }
}
