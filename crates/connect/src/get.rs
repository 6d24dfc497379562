//! Links that get messages.

use std::collections::BTreeMap;

use quayline_amqp::{AmqpError, Attach, Delivery, DeliveryState, LinkId, Source, Value, condition};
use quayline_store::StoreError;
use quayline_store::queue::{Attempt, Claim, Claimed, Queue, Select};

use crate::client::{Client, End, amqp_error};
use crate::convert;
use crate::facts::count;
use crate::ids;
use crate::links::{GetLink, Link};
use crate::mailbox::waker;

/// Reason of a message that its client cannot deliver.
pub(crate) const UNDELIVERABLE: &str = "the client said that it cannot be delivered there";
/// Milliseconds until a link is served again that waits for nothing in particular.
const NEVER_MS: u64 = u64::MAX;

impl Client {
    pub(crate) fn attach_get(&mut self, id: LinkId, attach: Attach, made: Option<String>) -> Result<(), AmqpError> {
        let bytes_max = attach.bytes_max();
        let mut source = attach.source.map(|source| *source).unwrap_or_default();
        if made.is_some() {
            source.address = made;
            source.dynamic_node_properties = Some(quayline_amqp::delete_on_close());
        }
        let queue = self.source_queue(&source)?;
        let select = selection(source.filter.as_ref())?;
        let default_outcome = source.default_outcome.clone();
        self.endpoint.accept(id, Some(source), attach.target, 0);
        let waker = waker(&self.mailbox, id);
        let unsettled = BTreeMap::new();
        let link = GetLink { queue, select, bytes_max, waker, unsettled, default_outcome, due_ms: None };
        self.links.insert(id, Link::Get(link));
        // Credit may have arrived before the answer.
        self.serve(id);
        Ok(())
    }

    /// Opens the queue of a source. A topic is refused because it keeps no messages.
    pub(crate) fn source_queue(&self, source: &Source) -> Result<Queue, AmqpError> {
        let Some(name) = &source.address else {
            return Err(AmqpError::new(condition::INVALID_FIELD, "a receiver needs the name of a queue as its source"));
        };
        let queue = self.shared.store.queue(name).map_err(|error| amqp_error(&error))?;
        if queue.definition().is_err() {
            let what =
                format!("{name} is a topic, which holds no messages; receive from a queue that subscribes to it");
            return Err(AmqpError::new(condition::NOT_ALLOWED, what));
        }
        Ok(queue)
    }

    /// Handles the signal that a queue has a message.
    pub(crate) fn arrived(&mut self, id: LinkId) {
        let Some(Link::Get(link)) = self.links.get(&id) else { return };
        if self.endpoint.can_send(id) && self.has_room() && !self.is_stopping {
            self.serve_get(id);
        } else {
            link.queue.pass_on();
            self.is_starved = true;
        }
    }

    fn has_room(&self) -> bool {
        self.unsettled < self.shared.settings.limits.unsettled_bytes
    }

    pub(crate) fn serve_get(&mut self, id: LinkId) {
        loop {
            let Some(Link::Get(link)) = self.links.get_mut(&id) else { return };
            if !self.endpoint.can_send(id) || self.unsettled >= self.shared.settings.limits.unsettled_bytes {
                self.is_starved |= self.endpoint.credit(id) > 0;
                return;
            }
            let now_ms = now_ms();
            match link.queue.claim(&self.shared.store, link.select, Some(&link.waker)) {
                Ok(Claimed::Message(claim, message)) => {
                    let size = message.payload.len() as u64;
                    let bytes = convert::to_amqp(&message, now_ms);
                    drop(message);
                    if bytes.len() as u64 > link.bytes_max {
                        let error = too_long(bytes.len(), link.bytes_max);
                        // No attempt will succeed there, so the threshold applies.
                        claim.release(Attempt::Failed);
                        return self.endpoint.detach(id, Some(error));
                    }
                    self.send(id, claim, size, bytes);
                }
                Ok(Claimed::Nothing { due_ms }) => {
                    link.due_ms = due_ms.map(|due_ms| steady_ms().saturating_add(due_ms.saturating_sub(now_ms)));
                    if self.endpoint.is_draining(id) {
                        self.endpoint.drained(id);
                    }
                    return;
                }
                Err(error) => return self.endpoint.detach(id, Some(amqp_error(&error))),
            }
        }
    }

    fn send(&mut self, id: LinkId, claim: Claim, size: u64, bytes: Vec<u8>) {
        if self.endpoint.sends_settled(id) {
            // At most once, as long as the server runs: the delete is certain once the batch has it, but not yet durable.
            if let Err(error) = self.batch.get(&self.shared.store, claim, None) {
                // The message is back on its queue. Another attempt would fail at once, so the link ends.
                return self.endpoint.detach(id, Some(amqp_error(&error)));
            }
            self.endpoint.send(id, bytes);
            count(&self.shared.counters.sent);
            if self.batch.is_full() {
                self.commit_batch();
            }
            return;
        }
        let Some(delivery) = self.endpoint.send(id, bytes) else { return };
        count(&self.shared.counters.sent);
        self.unsettled += size;
        if let Some(Link::Get(link)) = self.links.get_mut(&id) {
            link.unsettled.insert(delivery.id, (claim, size));
        }
    }

    /// Handles the client's outcome of a message.
    pub(crate) fn outcome(&mut self, delivery: Delivery, state: Option<DeliveryState>, settled: bool) {
        let confirm = !settled;
        let Some(Link::Get(link)) = self.links.get_mut(&delivery.link) else {
            // A browsed message is a copy; whatever its outcome, the queue still has it.
            self.endpoint.confirm(delivery, state.unwrap_or(DeliveryState::Released));
            return;
        };
        let Some((claim, size)) = link.unsettled.remove(&delivery.id) else { return };
        let state = state.filter(DeliveryState::is_outcome).or_else(|| link.default_outcome.clone());
        let state = state.unwrap_or(DeliveryState::Released);
        self.unsettled -= size;
        if let DeliveryState::Transactional { txn_id, outcome } = &state {
            let outcome = outcome.as_deref().cloned().unwrap_or(DeliveryState::Accepted);
            self.get_in_transaction(delivery, claim, txn_id, &outcome);
            if confirm {
                self.endpoint.confirm(delivery, state);
            }
        } else {
            self.retire(delivery, claim, state, confirm);
        }
        if self.is_starved {
            self.serve(delivery.link);
        }
    }

    fn retire(&mut self, delivery: Delivery, claim: Claim, state: DeliveryState, confirm: bool) {
        let confirmed = |state: DeliveryState| confirm.then_some((delivery, state));
        let attempt = match &state {
            DeliveryState::Accepted => {
                if let Err(error) = self.batch.get(&self.shared.store, claim, confirmed(state)) {
                    return self.not_retired(delivery, confirm, &error);
                }
                if self.batch.is_full() {
                    self.commit_batch();
                }
                return;
            }
            DeliveryState::Rejected(error) => {
                let reason = rejection(error.as_ref());
                return self.bury(delivery, claim, &reason, confirmed(state));
            }
            DeliveryState::Modified { undeliverable_here: true, .. } => {
                return self.bury(delivery, claim, UNDELIVERABLE, confirmed(state));
            }
            DeliveryState::Modified { delivery_failed: true, .. } => Attempt::Failed,
            _ => Attempt::NotMade,
        };
        claim.release(attempt);
        if confirm {
            self.endpoint.confirm(delivery, state);
        }
    }

    /// Tells the client that the store could not carry out its outcome, so that the message is on its queue again.
    fn not_retired(&mut self, delivery: Delivery, confirm: bool, error: &StoreError) {
        if confirm {
            self.endpoint.confirm(delivery, DeliveryState::Released);
        }
        self.endpoint.detach(delivery.link, Some(amqp_error(error)));
    }

    /// Moves a message to the backout queue in a separate unit of work.
    fn bury(&mut self, delivery: Delivery, claim: Claim, reason: &str, confirm: Option<(Delivery, DeliveryState)>) {
        let mut unit = match self.shared.store.begin() {
            Ok(unit) => unit,
            Err(error) => {
                claim.release(Attempt::Failed);
                return self.not_retired(delivery, confirm.is_some(), &error);
            }
        };
        match claim.move_to_backout(&mut unit, reason, None) {
            Ok(()) => {
                self.in_flight += 1;
                let mailbox = std::sync::Arc::clone(&self.mailbox);
                unit.submit_with(Box::new(move |outcome| {
                    let gets = confirm.into_iter().collect();
                    let outcome = outcome.map(|_| ());
                    let committed = crate::mailbox::Committed { puts: Vec::new(), gets, bytes: 0, outcome };
                    mailbox.leave(crate::mailbox::Signal::Committed(committed));
                }));
            }
            Err(refused) => {
                unit.roll_back();
                // Without a queue for it, the message is kept; after the threshold it pauses between attempts.
                refused.0.release(Attempt::Failed);
                if let Some((delivery, state)) = confirm {
                    self.endpoint.confirm(delivery, state);
                }
            }
        }
    }

    /// Returns the messages of a link to the queue. If the connection broke, the oldest counts as failed: a program that dies on a
    /// message dies on that one; the others were sent ahead.
    pub(crate) fn end_get(&mut self, link: GetLink, how: End) {
        for (index, (claim, size)) in link.unsettled.into_values().enumerate() {
            self.unsettled -= size;
            let is_suspect = how == End::Lost && index == 0;
            claim.release(if is_suspect { Attempt::Failed } else { Attempt::NotMade });
        }
        link.queue.forget(&link.waker);
    }

    /// Serves links whose queues have a message that ends its pause. Returns when the next one does.
    pub(crate) fn serve_due(&mut self, now_ms: u64) -> u64 {
        // The caller's clock begins at another moment. The wall clock may be set back, which must not hold a message.
        let steady_ms = steady_ms();
        let due = |link: &Link| match link {
            Link::Get(link) => link.due_ms,
            _ => None,
        };
        let ready: Vec<LinkId> = self
            .links
            .iter()
            .filter(|(_, link)| due(link).is_some_and(|due_ms| due_ms <= steady_ms))
            .map(|(id, _)| *id)
            .collect();
        for id in ready {
            if let Some(Link::Get(link)) = self.links.get_mut(&id) {
                link.due_ms = None;
            }
            self.serve(id);
        }
        let next = self.links.values().filter_map(due).min();
        next.map_or(NEVER_MS, |due_ms| now_ms.saturating_add(due_ms.saturating_sub(steady_ms) + 1))
    }
}

/// Returns the reason of a message that its client rejected.
pub(crate) fn rejection(error: Option<&AmqpError>) -> String {
    let why = error.map_or(String::new(), |error| format!(": {error}"));
    format!("the client rejected it{why}")
}

/// Returns the error for a message that is longer than its receiver takes.
pub(crate) fn too_long(bytes: usize, bytes_max: u64) -> AmqpError {
    let what = format!(
        "the next message has {bytes} bytes, and the receiver takes at most {bytes_max}; attach with a larger max-message-size"
    );
    AmqpError::new(condition::MESSAGE_SIZE, what)
}

/// Milliseconds since 1970 by the clock of messages.
pub(crate) fn now_ms() -> u64 {
    quayline_store::Clock::now_ms(&quayline_store::SystemClock)
}

/// Milliseconds of a clock that only goes forward.
fn steady_ms() -> u64 {
    quayline_store::Clock::steady_ms(&quayline_store::SystemClock)
}

/// Returns the messages that a filter selects. Only ids can be selected; every other filter is refused by name.
fn selection(filter: Option<&Value>) -> Result<Select, AmqpError> {
    let pairs = match filter {
        None => return Ok(Select::First),
        Some(Value::Map(pairs)) => pairs,
        Some(_) => return Err(AmqpError::new(condition::INVALID_FIELD, "a filter is not a map")),
    };
    let mut select = Select::First;
    for (name, value) in pairs {
        let expression = match value {
            Value::Described(described) => described.1.text(),
            other => other.text(),
        };
        let id = expression.and_then(id_of_selector);
        select = match id {
            Some(found) if select == Select::First => found,
            _ => {
                let name = name.text().unwrap_or("without a name");
                let what = format!(
                    "the filter {name} is not supported; a selector may be JMSCorrelationID = '...' or JMSMessageID = '...' alone"
                );
                return Err(AmqpError::new(condition::NOT_IMPLEMENTED, what));
            }
        };
    }
    Ok(select)
}

/// Parses the selectors `JMSCorrelationID = 'id'` and `JMSMessageID = 'ID:id'`, with which clients wait for the reply to a request.
fn id_of_selector(selector: &str) -> Option<Select> {
    let (name, literal) = selector.split_once('=')?;
    let literal = literal.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    // A quote in a literal is two.
    if literal.replace("''", "").contains('\'') {
        return None;
    }
    let id = ids::from_value(&jms_id(&literal.replace("''", "'")));
    match name.trim() {
        "JMSCorrelationID" => Some(Select::Correlation(id)),
        "JMSMessageID" => Some(Select::Id(id)),
        _ => None,
    }
}

/// Converts the text of a JMS message id into the AMQP id. Prefixes such as `ID:AMQP_UUID:` name the type (AMQP JMS mapping, section 3.2.1.1).
fn jms_id(text: &str) -> Value {
    let string = || Value::String(text.to_owned());
    let Some(rest) = text.strip_prefix("ID:") else { return string() };
    let hex = |digits: &str| -> Option<Vec<u8>> {
        let digits: String = digits.chars().filter(|digit| *digit != '-').collect();
        let pairs = digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && digits.len().is_multiple_of(2);
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        if pairs { (0..digits.len()).step_by(2).map(byte).collect() } else { None }
    };
    let typed = if let Some(uuid) = rest.strip_prefix("AMQP_UUID:") {
        hex(uuid).and_then(|bytes| bytes.try_into().ok()).map(Value::Uuid)
    } else if let Some(number) = rest.strip_prefix("AMQP_ULONG:") {
        number.parse().ok().map(Value::Ulong)
    } else if let Some(binary) = rest.strip_prefix("AMQP_BINARY:") {
        hex(binary).map(Value::Binary)
    } else {
        rest.strip_prefix("AMQP_STRING:")
            .or_else(|| rest.strip_prefix("AMQP_NO_PREFIX:"))
            .map(|text| Value::String(text.to_owned()))
    };
    typed.unwrap_or_else(string)
}
