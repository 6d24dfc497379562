//! Queues shared by several processes.
//!
//! A message is claimed in the store before it is loaded into memory, and released there, so memory contains only messages that this process has
//! claimed: at most one for each get that is searching. Non-persistent messages are in the memory of the process that put them.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::get::Sought;
use super::message::{Head, Persistence};
use super::window::{Held, MessageKey, Select};
use super::{QueueState, State};
use crate::FullKey;
use crate::StoreError;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::shared::{Arrival, Filter, NO_UNIT, Shared, Wanted};
use crate::store::Inner;

/// Messages that one claim takes at most, for gets that look at the same time.
const CLAIM_MAX: usize = 64;
/// Age at which the depth is counted again if other processes change it; `COUNT_SHARE` is the minimum age as a multiple of the duration of a count.
const COUNT_AGAIN: Duration = Duration::from_secs(1);
const COUNT_SHARE: u32 = 20;

/// Offsets in a stored message.
const ID_AT: usize = 1;
const CORRELATION_AT: usize = 25;
const GROUP_AT: usize = 67;

/// A get that searches for a message. If several search at once, one claims for all of them, and the last one releases the remaining messages.
pub(super) struct Seeking<'a>(Option<&'a QueueState>);

impl Drop for Seeking<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.0
            && queue.seeking.fetch_sub(1, Ordering::SeqCst) == 1
        {
            queue.give_back_rest(&mut queue.state.lock());
        }
    }
}

impl QueueState {
    /// Registers a get that begins to search.
    pub(super) fn seeking(&self) -> Seeking<'_> {
        if self.shared.is_none() {
            return Seeking(None);
        }
        self.seeking.fetch_add(1, Ordering::SeqCst);
        Seeking(Some(self))
    }

    /// Suspends the search of a get that starts to wait.
    pub(super) fn pause_seeking(&self, state: &mut State) {
        if self.shared.is_some() && self.seeking.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.give_back_rest(state);
        }
    }

    /// Returns the backout counts of messages between two keys, both included. If no other process uses the store, all counts are in memory, and the
    /// result is empty.
    pub(super) fn stored_counts(
        &self,
        first: &MessageKey,
        last: &MessageKey,
    ) -> Result<HashMap<MessageKey, u32>, StoreError> {
        let mut counts = HashMap::new();
        if self.shared.is_none() {
            return Ok(counts);
        }
        let mut page = Page::default();
        let mut range = KeyRange { from: Bound::Included(first.as_slice()), to: Bound::Included(last.as_slice()) };
        let mut next;
        loop {
            self.engine.page(self.counts, range, Direction::Forward, PageLimit::default(), &mut page)?;
            for (key, value) in page.iter() {
                if let (Ok(key), Ok(count)) = (key.try_into(), value.try_into()) {
                    counts.insert(key, u32::from_le_bytes(count));
                }
            }
            next = page.next.take();
            let Some(bound) = &next else { return Ok(counts) };
            range = KeyRange { to: Bound::Included(last.as_slice()), ..KeyRange::ALL.after(Direction::Forward, bound) };
        }
    }

    /// Resumes the search after a wait.
    pub(super) fn resume_seeking(&self) {
        if self.shared.is_some() {
            self.seeking.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Gives messages back that were claimed for gets which found another one.
    fn give_back_rest(&self, state: &mut State) {
        let Some(shared) = &self.shared else { return };
        if self.seeking.load(Ordering::SeqCst) > 0 {
            return;
        }
        let keys = state.window.take_persistent();
        for key in &keys {
            state.window.backouts.remove(key);
        }
        let keys: Vec<FullKey> = keys.iter().map(|key| FullKey::new(self.messages, key)).collect();
        if !keys.is_empty() {
            shared.release(NO_UNIT, keys);
        }
    }

    /// Counts the messages again if the last count is old.
    pub(super) fn count_again(&self, state: &mut State) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if state.counted.is_some_and(|(at, took)| at.elapsed() < COUNT_AGAIN.max(took * COUNT_SHARE)) {
            return Ok(());
        }
        let begin = Instant::now();
        state.facts.depth = shared.count(self.messages)? + state.volatile;
        state.facts.depth_high = state.facts.depth_high.max(state.facts.depth);
        state.counted = Some((Instant::now(), begin.elapsed()));
        Ok(())
    }

    /// Finds a message in memory, after claiming one in the store if necessary.
    pub(super) fn seek_shared(
        &self,
        shared: &dyn Shared,
        store: &Arc<Inner>,
        state: &mut State,
        select: Select,
    ) -> Result<Sought, StoreError> {
        let now_ms = store.clock.now_ms();
        // Only non-persistent messages wait in this memory for their retry.
        let due = self.promote(store, state)?;
        let in_memory = state.window.first(&select);
        let is_claimed =
            |key: &MessageKey| state.window.get(key).is_some_and(|held| held.persistence == Persistence::Persistent);
        if let Some(key) = in_memory.filter(is_claimed) {
            return Ok(self.expired_or_not(state, key, now_ms));
        }
        if let Select::Id(id) = select
            && in_memory.is_none()
            && let Some(until) = shared.paused_until(self.messages, &id)
        {
            // Its claim belongs to this process until then. No search can find it, and each would read the whole queue.
            let left = until.saturating_duration_since(Instant::now()).as_millis();
            let until_ms = store.clock.steady_ms().saturating_add(u64::try_from(left).unwrap_or(u64::MAX));
            return Ok(Sought::Nothing(Some(until_ms)));
        }
        let due = match select {
            Select::Id(id) => state.window.delayed_by_id(&id),
            _ => due,
        };
        let found = match select {
            Select::Group(_) => self.claim_of_group(shared, state, select, in_memory)?,
            _ => self.claim_first(shared, state, select, in_memory)?,
        };
        Ok(match found.or(in_memory) {
            Some(key) => self.expired_or_not(state, key, now_ms),
            None => Sought::Nothing(due),
        })
    }

    /// Claims the first messages that fit and come before one in memory. Returns the first.
    fn claim_first(
        &self,
        shared: &dyn Shared,
        state: &mut State,
        select: Select,
        before: Option<MessageKey>,
    ) -> Result<Option<MessageKey>, StoreError> {
        let count = match select {
            Select::First => self.seeking.load(Ordering::SeqCst).clamp(1, CLAIM_MAX),
            _ => 1,
        };
        let to = before.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_slice()));
        self.claim_range(shared, state, KeyRange { from: Bound::Unbounded, to }, filter_of(&select), count)
    }

    fn claim_range(
        &self,
        shared: &dyn Shared,
        state: &mut State,
        range: KeyRange<'_>,
        filter: Option<Filter<'_>>,
        count: usize,
    ) -> Result<Option<MessageKey>, StoreError> {
        let wanted = Wanted { space: self.messages, range, filter, count, beside: self.counts };
        let mut first = None;
        for entry in shared.claim(&wanted)? {
            let Ok(key) = MessageKey::try_from(entry.key.as_slice()) else { continue };
            first = first.or(Some(key));
            if let Some(count) = entry.beside.and_then(|count| count.as_ref().try_into().ok()) {
                state.window.backouts.insert(key, u32::from_le_bytes(count));
            }
            state.window.add(key, Held { value: entry.value, persistence: Persistence::Persistent });
        }
        Ok(first)
    }

    /// Claims the message of a group with the lowest number, if it comes before one in memory.
    fn claim_of_group(
        &self,
        shared: &dyn Shared,
        state: &mut State,
        select: Select,
        in_memory: Option<MessageKey>,
    ) -> Result<Option<MessageKey>, StoreError> {
        let rank = |value: &[u8]| Head::of(value).map_or(u32::MAX, |head| head.group_sequence);
        let place = in_memory.and_then(|key| state.window.get(&key).map(|held| (rank(&held.value), key)));
        loop {
            let mut best = place;
            let mut page = Page::default();
            let mut next = Some(Bound::Unbounded);
            while let Some(bound) = next {
                let range = KeyRange::ALL.after(Direction::Forward, &bound);
                let filter = filter_of(&select);
                shared.free_page(self.messages, range, filter, PageLimit::default(), &mut page)?;
                for (key, value) in page.iter() {
                    if let Ok(key) = MessageKey::try_from(key) {
                        best = Some(best.map_or((rank(value), key), |best| best.min((rank(value), key))));
                    }
                }
                next = page.next.take();
            }
            let Some((_, key)) = best.filter(|best| Some(*best) != place) else { return Ok(None) };
            let range = KeyRange { from: Bound::Included(&key), to: Bound::Included(&key) };
            if self.claim_range(shared, state, range, None, 1)?.is_some() {
                return Ok(Some(key));
            }
            // Another process was quicker.
        }
    }
}

fn filter_of<'a>(select: &'a Select) -> Option<Filter<'a>> {
    match select {
        Select::First => None,
        Select::Id(id) => Some(Filter { offset: ID_AT, bytes: id }),
        Select::Correlation(id) => Some(Filter { offset: CORRELATION_AT, bytes: id }),
        Select::Group(id) => Some(Filter { offset: GROUP_AT, bytes: id }),
    }
}

impl Arrival for QueueState {
    fn arrived(&self, count: u64) {
        let mut state = self.state.lock();
        let mut wakers = Vec::new();
        let mut left = count;
        while left > 0 && !state.wakers.is_empty() {
            let before = wakers.len();
            // Wakes all waiting tasks that select a certain message, and one task that accepts any message.
            wakers.extend(state.wakers_of(None));
            left = if wakers.len() == before { 0 } else { left - 1 };
        }
        let all = count > 1 || state.choosy > 0;
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        if all {
            self.arrived.notify_all();
        } else {
            self.arrived.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use super::*;
    use crate::queue::Message;
    use crate::queue::message::Stamped;

    #[test]
    fn the_offsets_are_those_of_the_stored_form() {
        let message = Message {
            correlation: [2; 24],
            group: [3; 24],
            group_sequence: 7,
            reply_to: "R".to_owned(),
            ..Message::new(*b"content")
        };
        let value = message.stored(&Stamped { id: [1; 24], put_ms: 5, priority: 4 });
        for (select, byte) in [(Select::Id([1; 24]), 1), (Select::Correlation([2; 24]), 2), (Select::Group([3; 24]), 3)]
        {
            let filter = filter_of(&select).unwrap();
            assert_eq!(value[filter.offset..filter.offset + 24], [byte; 24], "{select:?}");
        }
    }
}
