//! Depth of a queue that already had messages when the store was opened.
//!
//! The first get does not need the depth, and counting a million messages takes a large part of a second. Therefore a queue counts its messages only
//! on request, page by page, while gets and puts continue. Messages put since the store was opened are counted as they arrive and leave. Older ones,
//! which have smaller stamps, are counted when the count passes them. A message that leaves before the count has reached it was never counted.

use std::collections::HashSet;
use std::ops::Bound;

use parking_lot::MutexGuard;

use super::message::Persistence;
use super::window::{Held, MessageKey};
use super::{QueueState, State};
use crate::StoreError;
use crate::page::{Direction, KeyRange, Page, PageLimit};

/// Messages that one step passes.
const STEP: PageLimit = PageLimit { entries: 1_000, bytes: 1 << 20 };

/// Progress of a count.
#[derive(Debug)]
pub(super) struct Counting {
    /// Messages before this stamp are from earlier openings.
    first_stamp: u64,
    /// The count has passed this key.
    position: Option<MessageKey>,
    /// Expired messages that left before the count reached them and whose deletion is in progress.
    gone: HashSet<MessageKey>,
    page: Page,
}

fn stamp_of(key: &MessageKey) -> u64 {
    key[1..].iter().fold(0, |stamp, byte| stamp << 8 | u64::from(*byte))
}

impl Counting {
    pub(super) fn from(first_stamp: u64) -> Self {
        Counting { first_stamp, position: None, gone: HashSet::new(), page: Page::default() }
    }

    /// Returns true if the count has not passed the message yet.
    fn is_ahead(&self, key: &MessageKey) -> bool {
        stamp_of(key) < self.first_stamp && self.position.is_none_or(|position| *key > position)
    }
}

impl State {
    /// Records that a message left the queue.
    pub(super) fn left(&mut self, key: &MessageKey) {
        if !self.counting.as_ref().is_some_and(|counting| counting.is_ahead(key)) {
            // Another process may have put it after the last count.
            self.facts.depth = self.facts.depth.saturating_sub(1);
        }
    }

    /// Records that a message left, and updates the figures of non-persistent messages if it was one.
    pub(super) fn volatile_left(&mut self, held: Option<&Held>) {
        if let Some(held) = held.filter(|held| held.persistence == Persistence::NotPersistent) {
            self.facts.memory_bytes -= held.memory_bytes();
            self.volatile -= 1;
        }
    }

    /// Records that a message expired. Its deletion is not visible yet.
    pub(super) fn expired(&mut self, key: &MessageKey) {
        match &mut self.counting {
            Some(counting) if counting.is_ahead(key) => {
                counting.gone.insert(*key);
            }
            _ => self.left(key),
        }
    }
}

impl QueueState {
    /// Makes the depth exact. The lock is free between two steps.
    pub(super) fn count(&self, state: &mut MutexGuard<'_, State>) -> Result<(), StoreError> {
        while self.count_step(state)? {
            MutexGuard::bump(state);
        }
        self.count_again(state)
    }

    /// Counts some messages. Returns true if more remain.
    fn count_step(&self, state: &mut State) -> Result<bool, StoreError> {
        // Another thread may have finished the count.
        let Some(mut counting) = state.counting.take() else { return Ok(false) };
        let from = counting.position;
        let range = KeyRange {
            from: from.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_slice())),
            to: Bound::Unbounded,
        };
        let read = self.engine.page(self.messages, range, Direction::Forward, STEP, &mut counting.page);
        if let Err(error) = read {
            state.counting = Some(counting);
            return Err(error);
        }
        let mut last = None;
        let mut passed: HashSet<MessageKey> = HashSet::with_capacity(counting.page.len());
        for (key, _) in counting.page.iter() {
            if let Ok(key) = MessageKey::try_from(key) {
                last = Some(key);
                passed.insert(key);
            }
        }
        let is_end = counting.page.next.is_none();
        let upto = if is_end { None } else { last.or(from) };
        // A message that a unit of work has got counts until its outcome is known here, even if the engine has deleted it by now.
        let in_range = |key: &&MessageKey| upto.is_none_or(|upto| **key <= upto);
        passed.extend(state.window.claimed.iter().filter(in_range).filter(|key| counting.is_ahead(key)));
        let counts = |key: &&MessageKey| counting.is_ahead(key) && !counting.gone.contains(*key);
        let count = passed.iter().filter(counts).count() as u64;
        state.facts.depth += count;
        state.facts.depth_high = state.facts.depth_high.max(state.facts.depth);
        if !is_end {
            counting.position = upto;
            state.counting = Some(counting);
        }
        Ok(!is_end)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::queue::{GetWait, Message, QueueDefinition, Select};
    use crate::{Access, Clock, Engine, ManualClock, MemoryEngine, Store, StoreLimits};

    fn opened(engine: &Arc<dyn Engine>, clock: &Arc<ManualClock>) -> Store {
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
        Store::open(Arc::clone(engine), clock, StoreLimits::default(), Access::Write).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Gets, puts, rollbacks and expiry between the steps of a count: at its end, the depth is that of the engine.
        #[test]
        fn the_depth_is_exact_whatever_happens_while_it_is_counted(
            steps in prop::collection::vec((0u8..6, 1usize..400), 1..30),
            old in 0u32..3_500,
        ) {
            let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::default());
            let clock = Arc::new(ManualClock::new(1_000, 7));
            let before = opened(&engine, &clock);
            let mut unit = before.begin().unwrap();
            before.define_queue(&mut unit, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") }).unwrap();
            unit.commit().unwrap();
            let mut unit = before.begin().unwrap();
            for number in 0..old {
                let expires_ms = if number % 5 == 0 { 2_000 } else { 0 };
                let priority = u8::try_from(number % 10).unwrap();
                before.queue("Q").unwrap().put(&mut unit, &Message { expires_ms, priority, ..Message::new(*b"old") }).unwrap();
            }
            unit.commit().unwrap();
            drop(before);
            let store = opened(&engine, &clock);
            let queue = store.queue("Q").unwrap();
            let state = queue.local().unwrap();
            let mut open = Vec::new();
            let mut volatile = 0u64;
            for (what, count) in steps {
                match what {
                    0 => drop(state.count_step(&mut state.state.lock()).unwrap()),
                    1 => clock.set(3_000),
                    2 => {
                        let mut unit = store.begin().unwrap();
                        for _ in 0..count {
                            queue.put(&mut unit, &Message::new(*b"new")).unwrap();
                        }
                        unit.commit().unwrap();
                    }
                    3 => {
                        let mut unit = store.begin().unwrap();
                        queue.put(&mut unit, &Message { persistence: Persistence::NotPersistent, ..Message::new(*b"x") }).unwrap();
                        unit.commit().unwrap();
                        volatile += 1;
                    }
                    _ => {
                        let mut unit = store.begin().unwrap();
                        for _ in 0..count {
                            if let Ok(found) = queue.get(&mut unit, Select::First, GetWait::No) {
                                volatile -= u64::from(found.payload == b"x");
                            }
                        }
                        if what == 4 {
                            unit.commit().unwrap();
                        } else {
                            open.push(unit);
                        }
                    }
                }
            }
            while state.count_step(&mut state.state.lock()).unwrap() {}
            for unit in open {
                unit.commit().unwrap();
            }
            let mut page = Page::default();
            let limit = PageLimit { entries: 1 << 20, bytes: 1 << 30 };
            engine.page(state.messages, KeyRange::ALL, Direction::Forward, limit, &mut page).unwrap();
            prop_assert_eq!(queue.facts().unwrap().depth, page.len() as u64 + volatile);
        }
    }
}
