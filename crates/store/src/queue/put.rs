//! Putting messages.

use std::sync::Arc;
use std::task::Waker;

use super::marks::{Crossed, Crossing};
use super::message::{Head, Message, MessageId, PRIORITY_MAX, Persistence, Stamped};
use super::window::{Held, MessageKey, key_of};
use super::{Queue, QueueOutcome, QueueState, State};
use crate::store::Inner;
use crate::usage::Kind;
use crate::{Store, StoreError, Unit, Value};

impl Store {
    /// A message id that no other message has, for a message whose reply is waited for by its id.
    #[must_use]
    pub fn new_message_id(&self) -> MessageId {
        new_id(&self.0)
    }
}

impl Queue {
    /// Puts a message; it becomes available when the unit of work commits. A topic puts it on every subscribed queue. Returns the message id.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::MessageTooLong`], limits of the unit of work.
    pub fn put(&self, unit: &mut Unit, message: &Message) -> Result<MessageId, StoreError> {
        let space = self.targets.first().map(|state| state.stored.messages);
        let _measured = unit.inner().usage.measure(unit.id(), Kind::Queue, space);
        let store = unit.inner();
        let stamped = Stamped {
            id: if message.id == [0; 24] { new_id(store) } else { message.id },
            put_ms: store.clock.now_ms(),
            priority: message.priority.min(PRIORITY_MAX),
        };
        let persistence = message.persistence;
        if let [state] = self.targets.as_slice() {
            let key = state.reserve(store, message, stamped.priority)?;
            state.put(unit, key, persistence, &message.stored(&stamped))?;
            return Ok(stamped.id);
        }
        // A topic puts the message on all of its queues or on none.
        let mut keys = Vec::with_capacity(self.targets.len());
        for state in &self.targets {
            match state.reserve(store, message, stamped.priority) {
                Ok(key) => keys.push(key),
                Err(error) => {
                    self.targets.iter().zip(&keys).for_each(|(state, key)| state.release(*key));
                    return Err(error);
                }
            }
        }
        let value = message.stored(&stamped);
        for (at, (state, key)) in self.targets.iter().zip(&keys).enumerate() {
            if let Err(error) = state.put(unit, *key, persistence, &value) {
                self.targets.iter().zip(&keys).skip(at + 1).for_each(|(state, key)| state.release(*key));
                return Err(error);
            }
        }
        Ok(stamped.id)
    }
}

impl QueueState {
    /// The key of a new message, which has its place in the queue's depth from now on. Whoever looks for room next sees it, so that units of work beside
    /// each other do not exceed the limit together.
    fn reserve(self: &Arc<Self>, store: &Arc<Inner>, message: &Message, priority: u8) -> Result<Reserved, StoreError> {
        let definition = &self.stored.definition;
        if message.payload.len() as u64 > definition.message_bytes_max {
            let max = usize::try_from(definition.message_bytes_max).unwrap_or(usize::MAX);
            return Err(StoreError::MessageTooLong { queue: self.name(), found: message.payload.len(), max });
        }
        let mut state = self.state.lock();
        self.count(&mut state)?;
        let volatile =
            if message.persistence == Persistence::NotPersistent { message.stored_bytes() as u64 } else { 0 };
        let full = |state: &State| {
            let depth = state.facts.depth + state.window.uncommitted.len() as u64;
            let bytes = state.facts.memory_bytes;
            let has_room =
                volatile == 0 || bytes == 0 || bytes + volatile <= store.limits.queue_memory_bytes_max as u64;
            match (depth >= definition.depth_max, has_room) {
                (true, _) => Some(StoreError::QueueFull { queue: self.name(), depth, memory_bytes: None }),
                (false, false) => Some(StoreError::QueueFull { queue: self.name(), depth, memory_bytes: Some(bytes) }),
                (false, true) => None,
            }
        };
        if full(&state).is_some() {
            self.discard_expired(store, &mut state)?;
        }
        if let Some(error) = full(&state) {
            return Err(error);
        }
        state.facts.memory_bytes += volatile;
        // Before the commit can make the engine show it: reading further into the queue must leave it to the outcome.
        let key = key_of(priority, store.next_stamp());
        state.window.uncommitted.insert(key);
        let crossing = self.rises(&mut state);
        Ok(Reserved { key, volatile, crossing })
    }

    /// Gives up the place of a message that is not put.
    fn release(&self, Reserved { key, volatile, crossing }: Reserved) {
        let mut state = self.state.lock();
        state.facts.memory_bytes -= volatile;
        state.window.uncommitted.remove(&key);
        state.not_crossed(crossing.map(|_| Crossed::High));
    }

    /// Puts a message whose key is reserved.
    fn put(
        self: &Arc<Self>,
        unit: &mut Unit,
        reserved: Reserved,
        persistence: Persistence,
        value: &Value,
    ) -> Result<(), StoreError> {
        let Reserved { key, volatile, crossing } = reserved;
        let held = Held { value: Value::clone(value), persistence };
        debug_assert_eq!(volatile, held.memory_bytes(), "the length of a message is known before");
        if persistence == Persistence::Persistent
            && let Err(error) = unit.put_fresh(self.stored.messages, &key, Value::clone(value))
        {
            self.release(reserved);
            return Err(error);
        }
        let store = Arc::clone(unit.inner());
        let crossed = crossing.map(|crossing| self.report(unit, crossing));
        let put = PutOutcome { queue: Arc::clone(self), store, key, held: Some(held), crossed };
        unit.on_outcome(QueueOutcome::Put(put));
        Ok(())
    }
}

/// The place of a message that is to be put.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    key: MessageKey,
    /// Its bytes, if it does not persist.
    volatile: u64,
    /// The mark of the depth that it crosses.
    crossing: Option<Crossing>,
}

pub(crate) struct PutOutcome {
    queue: Arc<QueueState>,
    store: Arc<Inner>,
    key: MessageKey,
    held: Option<Held>,
    crossed: Option<Crossed>,
}

impl PutOutcome {
    pub(super) fn committed(&mut self) {
        let head = self.held.as_ref().and_then(|held| Head::of(&held.value));
        let mut state = self.queue.state.lock();
        state.window.uncommitted.remove(&self.key);
        // Where several processes get messages, a get claims it in the store.
        let is_volatile = self.held.as_ref().is_some_and(|held| held.persistence == Persistence::NotPersistent);
        state.volatile += u64::from(is_volatile);
        let is_elsewhere = |held: &Held| self.queue.shared.is_some() && held.persistence == Persistence::Persistent;
        if let Some(held) = self.held.take().filter(|held| !is_elsewhere(held)) {
            state.window.add(self.key, held);
        }
        let limits = &self.store.limits;
        if self.queue.shared.is_none() {
            state.window.trim(limits.queue_window_messages_max, limits.queue_window_bytes_max);
        }
        state.facts.put += 1;
        if let Some(expires_ms) = head.as_ref().map(|head| head.expires_ms).filter(|at_ms| *at_ms != 0) {
            state.expires_ms = state.expires_ms.min(expires_ms);
        }
        state.facts.depth += 1;
        state.facts.depth_high = state.facts.depth_high.max(state.facts.depth);
        state.crossed(self.crossed);
        let choosy = state.choosy > 0;
        let wakers = state.wakers_of(head.as_ref());
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        // One that waits for another message must not be the only one to wake.
        if choosy {
            self.queue.arrived.notify_all();
        } else {
            self.queue.arrived.notify_one();
        }
    }

    pub(super) fn rolled_back(&mut self) {
        let mut state = self.queue.state.lock();
        state.window.uncommitted.remove(&self.key);
        state.facts.memory_bytes -= self.held.as_ref().map_or(0, Held::memory_bytes);
        state.not_crossed(self.crossed);
        let definition = &self.queue.stored.definition;
        if self.crossed == Some(Crossed::High) && state.facts.depth >= definition.depth_high_mark {
            // Another unit of work made the queue deep in the meantime and put no event, because this unit was to put it.
            state.crossed(self.crossed);
            state.facts.depth_events_lost += u64::from(!definition.event_queue.is_empty());
        }
    }
}

/// An id that no other message has: a mark of ours, the identity of the store, and a stamp.
fn new_id(store: &Inner) -> MessageId {
    let mut id = [0; 24];
    id[..8].copy_from_slice(b"QLN MSG ");
    id[8..16].copy_from_slice(&store.identity.to_be_bytes());
    id[16..].copy_from_slice(&store.next_stamp().to_be_bytes());
    id
}
