//! Poison messages: their move to the backout queue, and the finding if they cannot move.
//!
//! A message that reaches the threshold without a usable backout queue stays on its queue, so nothing is lost. Gets find it again after a delay, so
//! nothing spins. A
//! finding names the queue and the remedy: `quayline queue depth` prints it, and a server or flow logs it once for each queue and reason.

use std::sync::Arc;

use quayline_core::Finding;

use super::message::{Message, Persistence};
use super::window::{Held, MessageKey};
use super::{Queue, QueueState, State, open};
use crate::error::poison_finding;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::roll_back::Cause;
use crate::store::Inner;
use crate::{STO_BACKED_OUT, Store, StoreError, Unit};

impl Store {
    /// Findings about open queues whose poison message could not move when it failed last, by queue.
    #[must_use]
    pub fn poison_findings(&self) -> Vec<(String, Finding)> {
        let queues: Vec<_> = self.0.queues.lock().values().map(Arc::clone).collect();
        let found = queues.iter().filter_map(|queue| {
            let state = queue.state.lock();
            let error = state.unmoved.as_ref()?;
            Some((queue.name(), queue.poison_finding(queue.poison_in_memory(&state).max(1), error)))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }
}

impl Queue {
    /// Returns a finding if messages of the queue failed too often and cannot move to its backout queue.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn poison_finding(&self, store: &Store) -> Result<Option<Finding>, StoreError> {
        let queue = self.local()?;
        let poison = queue.facts().poison;
        let error = match queue.backout(&store.0) {
            Err(error) => Some(error),
            // It exists, perhaps only now.
            Ok(_) => {
                queue.state.lock().unmoved.clone().filter(|error| !matches!(error, StoreError::QueueMissing { .. }))
            }
        };
        Ok(error.filter(|_| poison > 0).map(|error| queue.poison_finding(poison, &error)))
    }
}

impl QueueState {
    fn poison_finding(&self, count: u64, error: &StoreError) -> Finding {
        poison_finding(&self.name(), count, self.definition().backout_target(), error)
    }

    /// Returns the backout queue.
    fn backout(&self, store: &Arc<Inner>) -> Result<Queue, StoreError> {
        let target = open(store, self.definition().backout_target())?;
        match target.targets.iter().any(|state| std::ptr::eq(Arc::as_ptr(state), self)) {
            true => Err(StoreError::QueueMissing { name: target.name }),
            false => Ok(target),
        }
    }

    /// Notes why a poison message stays here.
    pub(super) fn could_not_move(&self, error: StoreError) {
        let mut state = self.state.lock();
        state.facts.not_moved += 1;
        state.unmoved = Some(error);
    }

    fn is_poison(&self, count: u32) -> bool {
        let threshold = self.definition().backout_threshold;
        threshold > 0 && count >= threshold
    }

    pub(super) fn poison_in_memory(&self, state: &State) -> u64 {
        state.window.backouts.values().filter(|count| self.is_poison(**count)).count() as u64
    }

    /// Messages that reached the threshold and are still here.
    pub(super) fn poison(&self, state: &State) -> Result<u64, StoreError> {
        if self.shared.is_none() {
            return Ok(self.poison_in_memory(state));
        }
        // With several processes, the counts are in the store.
        let mut poison = 0;
        let mut page = Page::default();
        let mut next = None;
        loop {
            let range = match &next {
                None => KeyRange::ALL,
                Some(bound) => KeyRange::ALL.after(Direction::Forward, bound),
            };
            let limit = PageLimit { entries: 1_000, bytes: 1 << 20 };
            self.engine.page(self.counts, range, Direction::Forward, limit, &mut page)?;
            let counts = page.iter().filter_map(|(_, count)| count.try_into().ok()).map(u32::from_le_bytes);
            poison += counts.filter(|count| self.is_poison(*count)).count() as u64;
            next = page.next.take();
            if next.is_none() {
                return Ok(poison);
            }
        }
    }

    /// Adds the properties by which a message on the backout queue tells where and why it failed.
    pub(super) fn mark_as_failed(&self, message: &mut Message, cause: Option<&Cause>) {
        super::set_cause(&mut message.properties, cause);
        message.properties.push((super::FAILED_ON.to_owned(), self.name().into_bytes()));
    }

    /// Moves a message that failed too often to the backout queue, in a separate unit of work.
    pub(super) fn move_away(
        self: &Arc<Self>,
        store: &Arc<Inner>,
        key: MessageKey,
        held: &Held,
        (count, cause): (u32, Option<&Cause>),
    ) -> Result<(), StoreError> {
        let target = self.backout(store)?;
        let mut message = self.message(key, &held.value, 0)?;
        message.reason =
            format!("{count} units of work that got it from {} rolled back ({STO_BACKED_OUT})", self.name());
        self.mark_as_failed(&mut message, cause);
        if let Some(Cause { code, place, text }) = cause {
            message.reason.push_str(&format!("; the last at {place}: {text} ({code})"));
        } else {
            message.properties.push((super::FAILURE_CODE.to_owned(), STO_BACKED_OUT.to_string().into_bytes()));
        }
        let mut unit = Unit::begin(store)?;
        target.put(&mut unit, &message)?;
        if held.persistence == Persistence::Persistent {
            self.delete(&mut unit, key, &held.value, true)?;
        }
        let (queue, again, store) = (Arc::clone(self), held.clone(), Arc::clone(store));
        unit.submit_with(Box::new(move |outcome| match outcome {
            Ok(_) => {
                let mut state = queue.state.lock();
                state.window.claimed.remove(&key);
                state.window.backouts.remove(&key);
                state.facts.moved += 1;
                state.volatile_left(Some(&again));
                state.unmoved = None;
                state.left(&key);
            }
            Err(_) => queue.make_available(&store, key, again, 0),
        }));
        Ok(())
    }
}
