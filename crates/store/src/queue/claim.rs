//! Claims: messages reserved outside of a unit of work, for a server that sends a message before it learns the outcome.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use super::get::{GetOutcome, Left, Sought};
use super::message::{Message, Persistence};
use super::window::{Held, MessageKey, Select};
use super::{Queue, QueueOutcome, QueueState, open};
use crate::roll_back::Cause;
use crate::store::Inner;
use crate::{Store, StoreError, Unit};

/// A message reserved for its holder. Dropping the claim returns the message to the queue unchanged.
#[must_use = "a claim that is dropped gives its message back"]
pub struct Claim {
    queue: Arc<QueueState>,
    store: Arc<Inner>,
    key: MessageKey,
    backout_count: u32,
    held: Option<Held>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("queue", &self.queue.name()).finish_non_exhaustive()
    }
}

/// Effect of returning a message on its backout count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attempt {
    /// The message was worked on, and that failed: its backout count grows, and the threshold applies.
    Failed,
    /// The message was returned unprocessed, so this is not a rollback.
    NotMade,
}

/// Outcome of [`Queue::claim`].
#[derive(Debug)]
pub enum Claimed {
    /// A message and the claim on it.
    Message(Claim, Box<Message>),
    /// No message matches. The task is woken when one arrives.
    Nothing {
        /// Milliseconds since 1970 when the next message ends its retry pause; the task is not woken for it.
        due_ms: Option<u64>,
    },
}

impl Queue {
    /// Ends the retry pauses of this process, so that the next get finds the first message of the queue. A reader that keeps the order of messages
    /// needs this at its start: it does not know which messages wait.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn end_pauses(&self) -> Result<(), StoreError> {
        let queue = self.local()?;
        let mut state = queue.state.lock();
        state.window.end_delays();
        if let Some(shared) = &queue.shared {
            shared.end_pauses(queue.messages);
        }
        let wakers = state.take_wakers();
        drop(state);
        wakers.for_each(Waker::wake);
        queue.arrived.notify_all();
        Ok(())
    }

    /// Claims a message without a unit of work, or registers the task to be woken when one arrives. An arrival wakes only one task, so a woken task
    /// must claim until it finds no message, or call [`Queue::pass_on`].
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic; errors of the medium.
    pub fn claim(&self, store: &Store, select: Select, waker: Option<&Waker>) -> Result<Claimed, StoreError> {
        let queue = self.local()?;
        let store = &store.0;
        let _seeking = queue.seeking();
        let mut state = queue.state.lock();
        loop {
            match queue.seek(store, &mut state, select)? {
                Sought::Found(key) => {
                    let Some(held) = state.window.take(&key) else { continue };
                    state.window.claimed.insert(key);
                    let backout_count = state.window.backouts.get(&key).copied().unwrap_or(0);
                    drop(state);
                    let message = queue.message(key, &held.value, backout_count);
                    // First, so that a message that cannot be read is returned to the queue.
                    let (queue, store) = (Arc::clone(queue), Arc::clone(store));
                    let claim = Claim { queue, store, key, backout_count, held: Some(held) };
                    return Ok(Claimed::Message(claim, Box::new(message?)));
                }
                Sought::Expired(key) => queue.discard(store, &mut state, key)?,
                Sought::Nothing(due) => {
                    if let Some(waker) = waker {
                        state.register(waker, select);
                    }
                    return Ok(Claimed::Nothing { due_ms: due.map(|due| store.wall_ms(due)) });
                }
            }
        }
    }

    /// Wakes another task, for a message that the task that was woken left.
    pub fn pass_on(&self) {
        if let Ok(queue) = self.local() {
            let wakers = queue.state.lock().wakers_of(None);
            wakers.into_iter().for_each(Waker::wake);
            queue.arrived.notify_one();
        }
    }

    /// Ends the waiting of a task. If the task was already woken and a message is available, another task is woken.
    pub fn forget(&self, waker: &Waker) {
        let Ok(queue) = self.local() else { return };
        let mut state = queue.state.lock();
        let before = state.wakers.len();
        state.wakers.retain(|(known, _)| !known.will_wake(waker));
        let was_waiting = before > state.wakers.len();
        let has_more = state.window.len() > 0 || state.window.horizon().is_some() || queue.shared.is_some();
        drop(state);
        if !was_waiting && has_more {
            self.pass_on();
        }
    }
}

impl Claim {
    /// Makes the get a part of a unit of work: the message is deleted when the unit commits and given back, counted, when it rolls back.
    ///
    /// # Errors
    /// Limits of the unit of work; the message is given back when the unit rolls back.
    pub fn get(mut self, unit: &mut Unit) -> Result<(), StoreError> {
        match self.held.take() {
            Some(held) => self.queue.leave(unit, self.key, held, self.backout_count, Left::Got),
            None => Ok(()),
        }
    }

    /// Moves the message to the backout queue of its queue, with a reason and, if it is known, the cause, as part of a unit of work.
    /// [`Queue::retry`] can put it back.
    ///
    /// # Errors
    /// [`StoreError::QueueMissing`] if the backout queue does not exist; [`StoreError::QueueFull`] and [`StoreError::MessageTooLong`] if it does not
    /// take the message. The unit then contains nothing of the move. After any other error the caller must roll back the unit. The error returns the
    /// claim.
    pub fn move_to_backout(
        mut self,
        unit: &mut Unit,
        reason: &str,
        cause: Option<&Cause>,
    ) -> Result<(), Box<(Claim, StoreError)>> {
        let Some(held) = self.held.take() else { return Ok(()) };
        match self.put_on_backout_queue(unit, &held, reason, cause) {
            Ok(()) => self
                .queue
                .leave(unit, self.key, held, self.backout_count, Left::Moved)
                .map_err(|error| Box::new((self, error))),
            Err(error) => {
                self.held = Some(held);
                Err(Box::new((self, error)))
            }
        }
    }

    fn put_on_backout_queue(
        &self,
        unit: &mut Unit,
        held: &Held,
        reason: &str,
        cause: Option<&Cause>,
    ) -> Result<(), StoreError> {
        let target = open(&self.store, self.queue.definition().backout_target())?;
        if target.targets.iter().any(|state| Arc::ptr_eq(state, &self.queue)) {
            return Err(StoreError::QueueMissing { name: target.name });
        }
        let mut message = self.queue.message(self.key, &held.value, 0)?;
        message.reason = reason.to_owned();
        self.queue.mark_as_failed(&mut message, cause);
        target.put(unit, &message).map(|_| ())
    }

    /// Gives the message back.
    pub fn release(mut self, attempt: Attempt) {
        self.give_back(attempt);
    }

    fn give_back(&mut self, attempt: Attempt) {
        let Some(held) = self.held.take() else { return };
        match attempt {
            Attempt::Failed => self.queue.give_back(&self.store, self.key, held, None),
            Attempt::NotMade => self.queue.make_available(&self.store, self.key, held, 0),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.give_back(Attempt::NotMade);
    }
}

impl QueueState {
    /// Deletes a claimed message with a unit of work.
    pub(super) fn leave(
        self: &Arc<Self>,
        unit: &mut Unit,
        key: MessageKey,
        held: Held,
        backout_count: u32,
        left: Left,
    ) -> Result<(), StoreError> {
        let persistence = held.persistence;
        let store = Arc::clone(unit.inner());
        // First, so that any later failure returns the message to the queue.
        let crossed = self.report_fall(unit);
        let value = crate::Value::clone(&held.value);
        let get = GetOutcome { queue: Arc::clone(self), store, key, held: Some(held), left, crossed };
        unit.on_outcome(QueueOutcome::Get(get));
        if persistence == Persistence::Persistent {
            self.delete(unit, key, &value, backout_count > 0)?;
        }
        Ok(())
    }
}
