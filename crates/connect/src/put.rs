//! Links that put messages.

use std::collections::HashMap;

use quayline_amqp::{
    AmqpError, Attach, Delivery, DeliveryState, Identity, LinkId, LinkTarget, Message as Transferred, condition,
};
use quayline_store::queue::{Message, Persistence, Queue, USER_ID};

use crate::client::{Client, amqp_error, message_bytes_max};
use crate::convert::{self, Arrived};
use crate::facts::count;
use crate::get::now_ms;
use crate::links::{Link, PutLink};
use crate::mailbox::Committed;
use crate::temporary;

/// Maximum number of queues kept open by a link whose messages name their own addresses.
const OPEN_QUEUES_MAX: usize = 64;

impl Client {
    /// Attaches a link that puts messages; `made` is the name of its temporary queue.
    pub(crate) fn attach_put(&mut self, id: LinkId, attach: Attach, made: Option<String>) -> Result<(), AmqpError> {
        let Some(LinkTarget::Node(mut target)) = attach.target else { return Ok(()) };
        if made.is_some() {
            target.address = made;
            target.dynamic_node_properties = Some(quayline_amqp::delete_on_close());
        }
        let store = &self.shared.store;
        let queue = target.address.as_deref().map(|name| store.queue(name)).transpose();
        let queue = queue.map_err(|error| amqp_error(&error))?;
        let limit = match queue.as_ref().map(Queue::definition) {
            Some(Ok(definition)) => definition.message_bytes_max,
            // A topic, or any queue: each message names its queue.
            Some(Err(_)) | None => 100 << 20,
        };
        // A message must fit beside others that are not complete.
        let max = message_bytes_max(limit).min(self.assembly_bytes_max());
        self.endpoint.accept(id, attach.source.map(|source| *source), Some(LinkTarget::Node(target)), max);
        self.links.insert(id, Link::Put(PutLink { queue, named: HashMap::new(), pending: 0 }));
        self.grant(id);
        Ok(())
    }

    fn assembly_bytes_max(&self) -> u64 {
        quayline_amqp::Limits::default().assembly_bytes_max
    }

    /// Renews the client's credit once half is used.
    pub(crate) fn grant(&mut self, id: LinkId) {
        let Some(Link::Put(link)) = self.links.get(&id) else { return };
        let most = self.shared.settings.limits.credit;
        let granted = self.endpoint.granted(id);
        let room = most.saturating_sub(link.pending);
        if granted <= most / 2 && room > granted {
            self.endpoint.grant(id, room);
        }
    }

    /// Handles a message of the client.
    pub(crate) fn take_message(&mut self, transferred: Transferred) {
        let Transferred { delivery, settled, state, format, bytes } = transferred;
        let waits = (!settled).then_some(delivery);
        if format != 0 {
            let what = format!("message-format is {format}, expected 0: the standard's");
            return self.reject(delivery, waits, AmqpError::new(condition::NOT_IMPLEMENTED, what));
        }
        let size = bytes.len() as u64;
        let arrived = convert::from_amqp(bytes, now_ms());
        let found = arrived.and_then(|mut arrived| {
            let queue = self.queue_of(delivery.link, arrived.to.as_deref())?;
            self.sign(&mut arrived)?;
            Ok((queue, arrived.message))
        });
        let (queue, mut message) = match found {
            Ok(found) => found,
            Err(error) => {
                self.fail_transaction(state.as_ref(), &error);
                return self.reject(delivery, waits, error);
            }
        };
        if temporary::is_temporary(queue.name()) {
            // The queue ends with its connection, and so does the message.
            message.persistence = Persistence::NotPersistent;
        }
        if let Some(state) = state {
            return self.put_in_transaction(delivery, waits, &state, &queue, &message);
        }
        self.put(delivery, waits, &queue, &message, size);
    }

    /// Keeps the user who sent a message with it. A client with a login cannot send for another user. Source: AMQP 1.0, part 3, section 3.2.4,
    /// `user-id`.
    fn sign(&self, arrived: &mut Arrived) -> Result<(), AmqpError> {
        let Some(Identity::Named(user)) = &self.identity else { return Ok(()) };
        if arrived.user.as_ref().is_some_and(|named| named != user.as_bytes()) {
            let what =
                "the property user-id names another user than the login; send the name of the login, or leave it out";
            return Err(AmqpError::new(condition::UNAUTHORIZED, what));
        }
        arrived.message.properties.push((USER_ID.to_owned(), user.clone().into_bytes()));
        Ok(())
    }

    fn queue_of(&mut self, link: LinkId, to: Option<&str>) -> Result<Queue, AmqpError> {
        let Some(Link::Put(link)) = self.links.get_mut(&link) else {
            return Err(AmqpError::new(condition::ILLEGAL_STATE, "the link does not put messages"));
        };
        if let Some(queue) = &link.queue {
            return Ok(queue.clone());
        }
        let Some(name) = to else {
            let what = "the link has no address, so each message needs the property `to`";
            return Err(AmqpError::new(condition::INVALID_FIELD, what));
        };
        if let Some(queue) = link.named.get(name) {
            return Ok(queue.clone());
        }
        let queue = self.shared.store.queue(name).map_err(|error| amqp_error(&error))?;
        if link.named.len() >= OPEN_QUEUES_MAX {
            link.named.clear();
        }
        link.named.insert(name.to_owned(), queue.clone());
        Ok(queue)
    }

    fn put(&mut self, delivery: Delivery, waits: Option<Delivery>, queue: &Queue, message: &Message, size: u64) {
        if let Err(error) = self.batch.put(&self.shared.store, queue, message, waits, size) {
            return self.reject(delivery, waits, amqp_error(&error));
        }
        if let Some(Link::Put(link)) = self.links.get_mut(&delivery.link)
            && waits.is_some()
        {
            link.pending += 1;
        }
        if self.batch.is_full() {
            self.commit_batch();
        }
        self.grant(delivery.link);
    }

    /// Refuses a message. A client that does not wait for an outcome learns it by the end of its link.
    pub(crate) fn reject(&mut self, delivery: Delivery, waits: Option<Delivery>, error: AmqpError) {
        count(&self.shared.counters.rejected);
        match waits {
            Some(delivery) => {
                self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error)));
                self.grant(delivery.link);
            }
            None => self.endpoint.detach(delivery.link, Some(error)),
        }
    }

    /// Reports the outcomes of a unit of work that has ended to the client.
    pub(crate) fn committed(&mut self, committed: Committed) {
        self.committing = self.committing.saturating_sub(committed.bytes);
        let error = committed.outcome.err().map(|error| amqp_error(&error));
        for delivery in committed.puts {
            if let Some(Link::Put(link)) = self.links.get_mut(&delivery.link) {
                link.pending = link.pending.saturating_sub(1);
            }
            match &error {
                None => {
                    count(&self.shared.counters.received);
                    self.endpoint.settle(delivery, DeliveryState::Accepted);
                }
                // The message is sound; the store is not.
                Some(_) => self.endpoint.settle(delivery, DeliveryState::Released),
            }
            self.grant(delivery.link);
        }
        for (delivery, state) in committed.gets {
            match &error {
                None => self.endpoint.confirm(delivery, state),
                Some(_) => self.endpoint.confirm(delivery, DeliveryState::Released),
            }
        }
        if let Some(error) = error {
            // No further commit is possible, so all links are useless.
            self.endpoint.close(error);
        }
    }
}
