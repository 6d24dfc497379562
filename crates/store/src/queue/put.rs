//! Putting messages.

use std::sync::Arc;
use std::task::Waker;

use super::marks::{Crossed, Crossing};
use super::message::{Head, Message, MessageId, PRIORITY_MAX, Persistence, Stamped};
use super::window::{Held, MessageKey, key_of};
use super::{Queue, QueueOutcome, QueueState, State};
use crate::engine::Change;
use crate::store::Inner;
use crate::usage::Kind;
use crate::{FullKey, Store, StoreError, Unit, Value};

impl Store {
    /// Returns a new, unique message id, for a request whose reply is selected by its id.
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
        let space = self.targets.first().map(|state| state.messages);
        let _measured = unit.inner().usage.measure(unit.id(), Kind::Queue, space);
        let store = &Arc::clone(unit.inner());
        let stamped = Stamped {
            id: if message.id == [0; 24] { new_id(store) } else { message.id },
            put_ms: store.clock.now_ms(),
            priority: message.priority.min(PRIORITY_MAX),
        };
        let persistence = message.persistence;
        if let [state] = self.targets.as_slice() {
            let key = state.reserve(store, message, stamped.priority)?;
            state.put(unit, key, persistence, &state.form(store, message, &stamped))?;
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
        let mark = unit.mark();
        // Queues of one kind share the bytes.
        let mut forms: [Option<Form>; 2] = [None, None];
        for (at, (state, key)) in self.targets.iter().zip(&keys).enumerate() {
            let form = &mut forms[usize::from(state.parts.is_some())];
            let form = form.get_or_insert_with(|| state.form(store, message, &stamped));
            if let Err(error) = state.put(unit, *key, persistence, form) {
                self.targets.iter().zip(&keys).skip(at + 1).for_each(|(state, key)| state.release(*key));
                unit.back_to(mark);
                return Err(error);
            }
        }
        Ok(stamped.id)
    }
}

impl QueueState {
    /// Returns the key of a new message and reserves its place in the queue's depth. Later puts count the reservation, so concurrent units of work
    /// cannot exceed the limit together.
    fn reserve(self: &Arc<Self>, store: &Arc<Inner>, message: &Message, priority: u8) -> Result<Reserved, StoreError> {
        let definition = self.definition();
        if message.payload.len() as u64 > definition.message_bytes_max {
            let max = usize::try_from(definition.message_bytes_max).unwrap_or(usize::MAX);
            return Err(StoreError::MessageTooLong { queue: self.name(), found: message.payload.len(), max });
        }
        let mut state = self.state.lock();
        self.refuse_deleted(&state)?;
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

    /// Releases the reservation of a message that is not put.
    fn release(&self, Reserved { key, volatile, crossing }: Reserved) {
        let mut state = self.state.lock();
        state.facts.memory_bytes -= volatile;
        state.window.uncommitted.remove(&key);
        state.not_crossed(crossing.map(|_| Crossed::High));
    }

    /// Returns the stored form of a message: long content of persistent messages is split into parts.
    fn form(&self, store: &Inner, message: &Message, stamped: &Stamped) -> Form {
        let part_bytes = store.limits.message_part_bytes;
        let is_long = message.payload.len() > part_bytes && message.persistence == Persistence::Persistent;
        match (is_long && self.parts.is_some(), u32::try_from(part_bytes)) {
            (true, Ok(part_bytes)) if part_bytes > 0 => {
                let (head, parts) = message.stored_in_parts(stamped, part_bytes);
                Form { head, parts }
            }
            _ => Form { head: message.stored(stamped), parts: Vec::new() },
        }
    }

    /// Puts a message whose key is reserved.
    fn put(
        self: &Arc<Self>,
        unit: &mut Unit,
        reserved: Reserved,
        persistence: Persistence,
        form: &Form,
    ) -> Result<(), StoreError> {
        let Reserved { key, volatile, crossing } = reserved;
        let held = Held { value: Value::clone(&form.head), persistence };
        debug_assert_eq!(volatile, held.memory_bytes(), "the length of a message is known before");
        if persistence == Persistence::Persistent
            && let Err(error) = self.write(unit, key, form)
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

impl QueueState {
    /// Writes the stored form of a message. After an error, the unit of work contains nothing of it.
    fn write(&self, unit: &mut Unit, key: MessageKey, form: &Form) -> Result<(), StoreError> {
        let keys = Head::of(&form.head).and_then(|head| head.parts).map(|parts| parts.keys(key));
        let mut written = Vec::new();
        let mut outcome = Ok(());
        if let (Some(space), Some(keys)) = (self.parts, keys) {
            for (part, value) in keys.zip(&form.parts) {
                outcome = unit.put_fresh(space, &part, Value::clone(value));
                if outcome.is_err() {
                    break;
                }
                written.push(FullKey::new(space, &part));
            }
        }
        let outcome = outcome.and_then(|()| unit.put_fresh(self.messages, &key, Value::clone(&form.head)));
        if outcome.is_err() {
            for part in written {
                // Nothing is stored for a fresh key that is deleted, so no limit refuses this.
                unit.change_claimed(part.space(), part.key(), Change::Delete)?;
            }
        }
        outcome
    }
}

/// The stored form of a message.
struct Form {
    head: Value,
    /// The content, if it is in parts.
    parts: Vec<Value>,
}

/// The place of a message that is to be put.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    key: MessageKey,
    /// Bytes of the message if it is non-persistent.
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
        // With several processes, a get claims the message in the store.
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
        // A task that waits for another message must not be the only one woken.
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
        let definition = self.queue.definition();
        if self.crossed == Some(Crossed::High) && state.facts.depth >= definition.depth_high_mark {
            // Another unit of work made the queue deep in the meantime and put no event, because this unit was to put it.
            state.crossed(self.crossed);
            state.facts.depth_events_lost += u64::from(!definition.event_queue.is_empty());
        }
    }
}

/// Creates a unique message id: a fixed prefix, the identity of the store, and a stamp.
fn new_id(store: &Inner) -> MessageId {
    let mut id = [0; 24];
    id[..8].copy_from_slice(b"QLN MSG ");
    id[8..16].copy_from_slice(&store.identity.to_be_bytes());
    id[16..].copy_from_slice(&store.next_stamp().to_be_bytes());
    id
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use crate::queue::{Message, QueueDefinition};
    use crate::{Access, ManualClock, MemoryEngine, Store, StoreLimits};

    /// A unit of work without room for one message more commits without its first parts.
    #[test]
    fn a_long_message_that_is_refused_leaves_no_part() {
        let limits = StoreLimits { message_part_bytes: 100, unit_bytes_max: 10_000, ..StoreLimits::default() };
        let clock = std::sync::Arc::new(ManualClock::new(1_000, 7));
        let store = Store::open(std::sync::Arc::new(MemoryEngine::default()), clock, limits, Access::Write).unwrap();
        let mut unit = store.begin().unwrap();
        store.define_queue(&mut unit, QueueDefinition::local("Q")).unwrap();
        unit.commit().unwrap();
        let queue = store.queue("Q").unwrap();
        let mut unit = store.begin().unwrap();
        let mut whole = 0;
        while queue.put(&mut unit, &Message::new([7; 350])).is_ok() {
            whole += 1;
        }
        assert!((10..28).contains(&whole), "{whole}");
        unit.commit().unwrap();
        let mut page = crate::page::Page::default();
        let (range, direction) = (crate::page::KeyRange::ALL, crate::page::Direction::Forward);
        let limit = crate::page::PageLimit { entries: 10_000, bytes: 1 << 20 };
        let space = queue.local().unwrap().parts.unwrap();
        store.0.engine.page(space, range, direction, limit, &mut page).unwrap();
        assert_eq!(page.len(), 4 * whole);
        assert_eq!(queue.facts().unwrap().depth, whole as u64);
    }
}
