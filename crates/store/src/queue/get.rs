//! Getting and browsing messages, returning them, and handling messages that fail repeatedly.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use quayline_meter::{WaitFor, waiting};

use super::json::Content;
use super::marks::Crossed;
use super::message::{Head, Message, Parts, Persistence};
use super::window::{Held, MessageKey, Select};
use super::{GetWait, Polled, Queue, QueueState, State};
use crate::engine::Change;
use crate::error::MOVE_TO_ITSELF;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::roll_back::{Cause, RollBack};
use crate::shared::Pause;
use crate::store::Inner;
use crate::usage::Kind;
use crate::{FullKey, StoreError, Unit, Value};

/// Retry delay in milliseconds of a message that reached its threshold while it cannot move to a backout queue. Default 1 s: the message remains
/// available, and a flow that fails on it does not occupy a core.
const NOWHERE_TO_GO_MS: u64 = 1_000;

/// Expired messages of a full queue that one put discards. Default 10,000: some milliseconds.
const DISCARDED_AT_ONCE: usize = 10_000;

/// A message of a browse, and the place to continue after it.
#[derive(Clone, Debug)]
pub struct Browsed {
    /// The message.
    pub message: Message,
    /// Give this to the next browse.
    pub after: [u8; 9],
    /// Time in milliseconds since 1970 at which the message becomes available again, if it waits for its retry.
    pub due_ms: Option<u64>,
    /// Length of the content in bytes, even if it is omitted.
    pub bytes: u64,
}

impl Browsed {
    /// Formats the message as one line of JSON without its content; see [`Message::as_json`].
    #[must_use]
    pub fn as_json(&self) -> String {
        self.message.json(None, self.bytes, self.due_ms)
    }
}

/// Outcome of a search for a message.
pub(super) enum Sought {
    Found(MessageKey),
    /// The message has expired.
    Expired(MessageKey),
    /// No message matches. The next message that waits for its retry is due at this steady time.
    Nothing(Option<u64>),
}

impl Queue {
    /// Gets a message as part of a unit of work: it is deleted when the unit commits and returned to the queue when it rolls back.
    ///
    /// # Errors
    /// [`StoreError::NoMessage`] (10) if no message matches within the wait limit; errors of the medium.
    pub fn get(&self, unit: &mut Unit, select: Select, wait: GetWait) -> Result<Message, StoreError> {
        let queue = self.local()?;
        let wait_ms = match wait {
            GetWait::No => 0,
            GetWait::AtMostMs(wait_ms) => wait_ms,
        };
        let store = Arc::clone(unit.inner());
        let _measured = store.usage.measure(unit.id(), Kind::Queue, Some(queue.messages));
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        let _seeking = queue.seeking();
        let mut state = queue.state.lock();
        loop {
            match queue.seek(&store, &mut state, select)? {
                Sought::Found(key) => {
                    if let Some(held) = state.window.take(&key) {
                        state.window.claimed.insert(key);
                        let count = state.window.backouts.get(&key).copied().unwrap_or(0);
                        drop(state);
                        return queue.claim(unit, key, held, count);
                    }
                }
                Sought::Expired(key) => queue.discard(&store, &mut state, key)?,
                Sought::Nothing(due) => {
                    let now = Instant::now();
                    if now >= deadline {
                        return Err(StoreError::NoMessage { queue: self.name.clone(), waited_ms: wait_ms });
                    }
                    let until_due =
                        due.map(|due| Duration::from_millis(due.saturating_sub(store.clock.steady_ms()) + 1));
                    let pause = until_due.map_or(deadline - now, |until| until.min(deadline - now));
                    let choosy = usize::from(select != Select::First);
                    state.choosy += choosy;
                    queue.pause_seeking(&mut state);
                    waiting(WaitFor::Work, || queue.arrived.wait_for(&mut state, pause));
                    queue.resume_seeking();
                    state.choosy -= choosy;
                    store.usage.waited_for_message(queue.messages, now);
                }
            }
        }
    }

    /// Gets a message as [`Self::get`] does, or registers the task to be woken when a message arrives. An arrival wakes only one task unless a task
    /// waits for a specific message, so a woken task must get messages until it finds none.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn poll_get(&self, unit: &mut Unit, select: Select, waker: &Waker) -> Result<Polled, StoreError> {
        let queue = self.local()?;
        let store = Arc::clone(unit.inner());
        let _measured = store.usage.measure(unit.id(), Kind::Queue, Some(queue.messages));
        let _seeking = queue.seeking();
        let mut state = queue.state.lock();
        loop {
            match queue.seek(&store, &mut state, select)? {
                Sought::Found(key) => {
                    if let Some(held) = state.window.take(&key) {
                        state.window.claimed.insert(key);
                        let count = state.window.backouts.get(&key).copied().unwrap_or(0);
                        drop(state);
                        return queue.claim(unit, key, held, count).map(|message| Polled::Message(Box::new(message)));
                    }
                }
                Sought::Expired(key) => queue.discard(&store, &mut state, key)?,
                Sought::Nothing(due) => {
                    state.register(waker, select);
                    return Ok(Polled::Nothing { due_ms: due.map(|due| store.wall_ms(due)) });
                }
            }
        }
    }

    /// Wakes every task that waits for a message of this queue.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic.
    pub fn wake_all(&self) -> Result<(), StoreError> {
        let wakers = self.local()?.state.lock().take_wakers();
        wakers.for_each(Waker::wake);
        Ok(())
    }

    /// Reads messages without getting them, in the order of gets, after a position or from the first. Messages that units of work have got are
    /// skipped. Messages that wait for their retry are included, with the time at which they become available.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn browse(&self, unit: &Unit, after: Option<[u8; 9]>, count: usize) -> Result<Vec<Browsed>, StoreError> {
        self.browse_within(unit, after, count, usize::MAX, Content::Included)
    }

    /// Reads messages as [`Self::browse`] does, until they have this many bytes in total. At least one message is read, regardless of its size.
    /// Omitted content does not count, and long content is then not read.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn browse_within(
        &self,
        unit: &Unit,
        after: Option<[u8; 9]>,
        count: usize,
        bytes_max: usize,
        content: Content,
    ) -> Result<Vec<Browsed>, StoreError> {
        let queue = self.local()?;
        let store = unit.inner();
        let now_ms = store.clock.now_ms();
        let mut state = queue.state.lock();
        queue.promote(store, &mut state)?;
        let begin = after.unwrap_or([0; 9]);
        let fits = |value: &[u8]| Head::of(value).is_some_and(|head| head.expires_ms == 0 || head.expires_ms > now_ms);
        let in_memory = state.window.not_persistent();
        let mut found: Vec<(MessageKey, Value, Option<u64>)> = in_memory
            .filter(|(key, held)| **key > begin && fits(&held.value))
            .map(|(key, held)| (*key, Value::clone(&held.value), None))
            .take(count)
            .collect();
        // Delayed messages have the order of their retry times, not of their keys.
        let delayed = state.window.delayed_in_memory().filter(|(key, ..)| **key > begin);
        found.extend(delayed.map(|(key, held, due)| (*key, Value::clone(&held.value), Some(store.wall_ms(due)))));
        let bytes_of = |value: &[u8]| match (content, Head::of(value).and_then(|head| head.parts)) {
            (Content::Included, Some(parts)) => {
                value.len().saturating_add(usize::try_from(parts.bytes).unwrap_or(usize::MAX))
            }
            _ => value.len(),
        };
        let (mut stored, mut bytes) = (0, 0usize);
        queue.scan(store, begin, &mut |key, value| {
            let due = state.window.delayed_until(&key);
            if (due.is_some() || !state.window.is_taken(&key)) && fits(value) {
                found.push((key, value.into(), due.map(|due| store.wall_ms(due))));
                stored += 1;
                bytes = bytes.saturating_add(bytes_of(value));
            }
            stored < count && bytes < bytes_max
        })?;
        found.sort_by_key(|(key, ..)| *key);
        let mut bytes = 0usize;
        let fit = found.iter().take(count).take_while(|(_, value, _)| {
            let is_room = bytes < bytes_max;
            bytes = bytes.saturating_add(bytes_of(value));
            is_room
        });
        let fit = fit.count();
        found.truncate(fit);
        let stored_counts = match (found.first(), found.last()) {
            (Some((first, ..)), Some((last, ..))) => queue.stored_counts(first, last)?,
            _ => HashMap::new(),
        };
        let backouts = |key: &MessageKey| {
            let in_memory = state.window.backouts.get(key).copied();
            in_memory.or_else(|| stored_counts.get(key).copied()).unwrap_or(0)
        };
        let mut browsed = Vec::with_capacity(found.len());
        for (key, value, due_ms) in found {
            let (mut message, parts) = queue.decode(&value, backouts(&key))?;
            let bytes = parts.map_or(message.payload.len() as u64, |parts| parts.bytes);
            match (content, parts) {
                (Content::LeftOut, _) => message.payload = Vec::new(),
                (Content::Included, Some(parts)) => match queue.content(key, parts)? {
                    Some(content) => message.payload = content,
                    // Another process has got it in the meantime.
                    None => continue,
                },
                (Content::Included, None) => {}
            }
            browsed.push(Browsed { message, after: key, due_ms, bytes });
        }
        Ok(browsed)
    }

    /// Returns the first matching message and leaves it on the queue. Messages that units of work have got are skipped.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for a topic; errors of the medium.
    pub fn peek(&self, store: &crate::Store, select: Select) -> Result<Option<Message>, StoreError> {
        let queue = self.local()?;
        let _seeking = queue.seeking();
        let mut state = queue.state.lock();
        loop {
            match queue.seek(&store.0, &mut state, select)? {
                Sought::Found(key) => {
                    let is_beyond = state.window.horizon().is_some_and(|horizon| key > horizon);
                    let count = state.window.backouts.get(&key).copied().unwrap_or(0);
                    let held = if is_beyond { state.window.take(&key) } else { state.window.get(&key).cloned() };
                    let Some(held) = held else { return Ok(None) };
                    if is_beyond && held.persistence == Persistence::NotPersistent {
                        // Only memory has it.
                        state.window.add_beyond(key, held.clone());
                    }
                    // While the queue is locked, no other get takes the message.
                    return queue.message(key, &held.value, count).map(Some);
                }
                Sought::Expired(key) => queue.discard(&store.0, &mut state, key)?,
                Sought::Nothing(_) => return Ok(None),
            }
        }
    }

    /// Gets messages and drops them, in units of work of some hundred, until the queue is empty. Returns their number, expired ones included.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn purge(&self, store: &crate::Store) -> Result<u64, StoreError> {
        self.purge_up_to(store, u64::MAX).map_err(|stopped| stopped.error)
    }

    /// Drops messages as [`Self::purge`] does, up to `count` and those that expired.
    ///
    /// # Errors
    /// [`DrainStopped`] with errors of the medium; messages dropped before the error stay dropped.
    pub fn purge_up_to(&self, store: &crate::Store, count: u64) -> Result<u64, Box<DrainStopped>> {
        let expired = |done| match self.facts() {
            Ok(facts) => Ok(facts.expired),
            Err(error) => Err(Box::new(DrainStopped { error, done })),
        };
        let before = expired(0)?;
        let done = self.drain(store, count, |_, _| Ok(()))?;
        Ok(done + (expired(done)? - before))
    }

    /// Moves up to `count` messages to another queue, in units of work of some hundred. Returns their number.
    ///
    /// # Errors
    /// [`DrainStopped`] with [`StoreError::QueueFull`] and [`StoreError::MessageTooLong`] of the other queue; messages moved before the error stay moved.
    /// With [`StoreError::Unsupported`] if the other queue is this one or a topic to which it subscribes: the move would never end.
    pub fn move_to(&self, store: &crate::Store, other: &Queue, count: u64) -> Result<u64, Box<DrainStopped>> {
        let own = self.local().map_err(|error| DrainStopped { error, done: 0 })?;
        if other.targets.iter().any(|state| Arc::ptr_eq(state, own)) {
            let error = StoreError::Unsupported {
                file: other.name.clone(),
                organisation: if other.name == self.name { "the same queue" } else { "a topic" },
                operation: MOVE_TO_ITSELF,
            };
            return Err(Box::new(DrainStopped { error, done: 0 }));
        }
        self.drain(store, count, |unit, message| other.put(unit, &message).map(|_| ()))
    }

    fn drain(
        &self,
        store: &crate::Store,
        count: u64,
        mut each: impl FnMut(&mut Unit, Message) -> Result<(), StoreError>,
    ) -> Result<u64, Box<DrainStopped>> {
        let mut done = 0;
        while done < count {
            match self.drain_unit(store, count - done, &mut each) {
                Ok(0) => break,
                Ok(taken) => done += taken,
                Err(error) => return Err(Box::new(DrainStopped { error, done })),
            }
        }
        Ok(done)
    }

    /// Takes messages in one unit of work and returns their number.
    fn drain_unit(
        &self,
        store: &crate::Store,
        most: u64,
        each: &mut impl FnMut(&mut Unit, Message) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        const UNIT: u64 = 500;
        let mut unit = store.begin()?;
        let (mut taken, mut bytes) = (0, 0);
        while taken < UNIT.min(most) && bytes < 16 << 20 {
            match self.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => {
                    bytes += message.payload.len();
                    if let Err(error) = each(&mut unit, message) {
                        // The messages were not processed, so this does not count as a rollback.
                        unit.roll_back_as(RollBack::Ended);
                        return Err(error);
                    }
                    taken += 1;
                }
                Err(StoreError::NoMessage { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        if taken > 0 {
            unit.commit()?;
        }
        Ok(taken)
    }
}

/// A purge or move that stopped.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DrainStopped {
    /// Reason.
    pub error: StoreError,
    /// Messages that were dropped or moved before, in units of work that are committed.
    pub done: u64,
}

impl QueueState {
    /// Searches for a message, reading further into the queue if the match is not in memory.
    pub(super) fn seek(&self, store: &Arc<Inner>, state: &mut State, select: Select) -> Result<Sought, StoreError> {
        self.refuse_deleted(state)?;
        if let Some(shared) = &self.shared {
            return self.seek_shared(shared.as_ref(), store, state, select);
        }
        let now_ms = store.clock.now_ms();
        let due = self.promote(store, state)?;
        if due.is_some() && state.window.delayed_len() >= store.limits.queue_delayed_max {
            // Each message that fails from here on would need memory for its pause.
            return Ok(Sought::Nothing(due));
        }
        // Other messages that wait for their retry have no part in the search for this one.
        let due = match select {
            Select::Id(id) => state.window.delayed_by_id(&id),
            _ => due,
        };
        loop {
            let horizon = state.window.horizon();
            // A message of the group with a lower number may be beyond the horizon.
            if (horizon.is_none() || !matches!(select, Select::Group(_)))
                && let Some(key) = state.window.first(&select)
            {
                return Ok(self.expired_or_not(state, key, now_ms));
            }
            let Some(horizon) = horizon else { return Ok(Sought::Nothing(due)) };
            let limits = &store.limits;
            let is_full = state.window.len() >= limits.queue_window_messages_max
                || state.window.bytes() >= limits.queue_window_bytes_max;
            if is_full && select != Select::First {
                // Memory has no room, because it contains messages that come first; the requested one is read from the engine only.
                return self.seek_beyond(store, state, horizon, select, due);
            }
            self.read_on(store, state, horizon)?;
        }
    }

    pub(super) fn expired_or_not(&self, state: &mut State, key: MessageKey, now_ms: u64) -> Sought {
        let expires_ms =
            state.window.get(&key).and_then(|held| Head::of(&held.value)).map_or(0, |head| head.expires_ms);
        if expires_ms != 0 && expires_ms <= now_ms { Sought::Expired(key) } else { Sought::Found(key) }
    }

    /// Reads the messages after the horizon into memory, up to its bounds.
    fn read_on(&self, store: &Arc<Inner>, state: &mut State, horizon: MessageKey) -> Result<(), StoreError> {
        let limits = &store.limits;
        let (mut last, mut count, mut bytes) = (horizon, 0, 0);
        let mut read = Vec::new();
        let ended = self.scan(store, horizon, &mut |key, value| {
            last = key;
            if !state.window.is_taken(&key) && !state.window.has(&key) {
                count += 1;
                bytes += value.len();
                read.push((key, Value::from(value)));
            }
            // Half of the limits, so that messages put in the meantime have room.
            count < limits.queue_window_messages_max.div_ceil(2) && bytes < limits.queue_window_bytes_max / 2
        })?;
        state.window.set_horizon(if ended { None } else { Some(last) });
        for (key, value) in read {
            state.window.add(key, Held { value, persistence: Persistence::Persistent });
        }
        Ok(())
    }

    /// Searches for one message for which memory has no room.
    fn seek_beyond(
        &self,
        store: &Arc<Inner>,
        state: &mut State,
        horizon: MessageKey,
        select: Select,
        due: Option<u64>,
    ) -> Result<Sought, StoreError> {
        let now_ms = store.clock.now_ms();
        let rank = |head: &Head| if matches!(select, Select::Group(_)) { head.group_sequence } else { 0 };
        let mut found: Option<(u32, MessageKey, Value)> = None;
        self.scan(store, horizon, &mut |key, value| {
            let Some(head) = Head::of(value) else { return true };
            let is_alive = head.expires_ms == 0 || head.expires_ms > now_ms;
            let is_better = found.as_ref().is_none_or(|(best, ..)| rank(&head) < *best);
            if is_better && is_alive && select.fits(&head) && !state.window.is_taken(&key) {
                found = Some((rank(&head), key, value.into()));
            }
            found.as_ref().is_none_or(|(best, ..)| *best > 0)
        })?;
        let in_memory = state.window.first_in_memory(&select);
        let held = in_memory.and_then(|key| state.window.get(&key).and_then(|held| Head::of(&held.value)));
        let place = held.map(|head| rank(&head)).zip(in_memory);
        let found = found.filter(|(rank, key, _)| place.is_none_or(|place| (*rank, *key) < place));
        let Some((_, key, value)) = found else {
            return Ok(in_memory.map_or(Sought::Nothing(due), |key| self.expired_or_not(state, key, now_ms)));
        };
        state.window.add_beyond(key, Held { value, persistence: Persistence::Persistent });
        Ok(Sought::Found(key))
    }

    /// Visits committed messages of the engine after a key until the visit returns false. Returns true if the queue ended first.
    fn scan(
        &self,
        store: &Arc<Inner>,
        after: MessageKey,
        visit: &mut dyn FnMut(MessageKey, &[u8]) -> bool,
    ) -> Result<bool, StoreError> {
        let limit = PageLimit { entries: 256, bytes: 1 << 20 };
        let mut page = Page::default();
        let mut next = Some(Bound::Excluded(after.to_vec()));
        while let Some(bound) = next {
            let range = KeyRange::ALL.after(Direction::Forward, &bound);
            match &self.shared {
                None => store.engine.page(self.messages, range, Direction::Forward, limit, &mut page)?,
                Some(shared) => shared.free_page(self.messages, range, None, limit, &mut page)?,
            }
            for (key, value) in page.iter() {
                if let Ok(key) = key.try_into()
                    && !visit(key, value)
                {
                    return Ok(false);
                }
            }
            next = page.next.take();
        }
        Ok(true)
    }

    /// Reads a stored form. The content of a message in parts is not read.
    fn decode(&self, value: &[u8], backout_count: u32) -> Result<(Message, Option<Parts>), StoreError> {
        let (message, parts) = Message::decode(value).ok_or_else(|| self.damaged("a message is of no known form"))?;
        Ok((Message { backout_count, ..message }, parts))
    }

    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged { file: self.name(), byte: 0, what: what.to_owned() }
    }

    /// Reads content that is in parts; `None` if the store has no such parts.
    fn content(&self, key: MessageKey, parts: Parts) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(space) = self.parts else { return Ok(None) };
        let mut content = Vec::with_capacity(usize::try_from(parts.bytes).unwrap_or(0));
        for part in parts.keys(key) {
            let Some(value) = self.engine.get(&FullKey::new(space, &part))? else { return Ok(None) };
            content.extend_from_slice(&value);
        }
        if content.len() as u64 != parts.bytes {
            return Err(self.damaged("the parts of a message have another length than its header says"));
        }
        Ok(Some(content))
    }

    /// Decodes a message and reads its content.
    pub(super) fn message(&self, key: MessageKey, value: &[u8], backout_count: u32) -> Result<Message, StoreError> {
        let (mut message, parts) = self.decode(value, backout_count)?;
        if let Some(parts) = parts {
            let content = self.content(key, parts)?;
            message.payload = content.ok_or_else(|| self.damaged("a part of a message is missing"))?;
        }
        Ok(message)
    }

    /// Returns the keys of the parts of a message, with their space.
    pub(super) fn parts_of(&self, key: MessageKey, parts: Option<Parts>) -> impl Iterator<Item = FullKey> + use<> {
        let parts = self.parts.zip(parts);
        parts.into_iter().flat_map(move |(space, parts)| parts.keys(key).map(move |part| FullKey::new(space, &part)))
    }

    /// Deletes a message that persists, and its count, with a unit of work.
    pub(super) fn delete(
        &self,
        unit: &mut Unit,
        key: MessageKey,
        value: &[u8],
        is_counted: bool,
    ) -> Result<(), StoreError> {
        unit.change_claimed(self.messages, &key, Change::Delete)?;
        if is_counted {
            unit.change_claimed(self.counts, &key, Change::Delete)?;
        }
        let parts = Head::of(value).and_then(|head| head.parts);
        self.parts_of(key, parts).try_for_each(|part| unit.change_claimed(part.space(), part.key(), Change::Delete))
    }

    /// Makes messages available whose pause is over. Returns the steady time when the next one is due.
    pub(super) fn promote(&self, store: &Inner, state: &mut State) -> Result<Option<u64>, StoreError> {
        let limits = &store.limits;
        let bounds = match &self.shared {
            None => (limits.queue_window_messages_max, limits.queue_window_bytes_max),
            // Persistent messages in memory are claimed there; the store has the retry delays.
            Some(_) => (usize::MAX, usize::MAX),
        };
        let messages = self.messages;
        let mut read = |key: &MessageKey| self.engine.get(&FullKey::new(messages, key));
        state.window.promote(store.clock.steady_ms(), bounds, &mut read)
    }

    fn claim(
        self: &Arc<Self>,
        unit: &mut Unit,
        key: MessageKey,
        held: Held,
        backout_count: u32,
    ) -> Result<Message, StoreError> {
        let message = self.message(key, &held.value, backout_count);
        self.leave(unit, key, held, backout_count, Left::Got)?;
        message
    }

    /// Deletes an expired message without a unit of work of the user.
    pub(super) fn discard(
        self: &Arc<Self>,
        store: &Arc<Inner>,
        state: &mut MutexGuard<'_, State>,
        key: MessageKey,
    ) -> Result<(), StoreError> {
        let found = state.window.get(&key).map(|held| (held.persistence, Head::of(&held.value)));
        if let Some((persistence, head)) = found {
            self.discard_all(store, state, &[(key, persistence, head.and_then(|head| head.parts))]);
        }
        Ok(())
    }

    /// Deletes expired messages that no unit of work has got, in memory or not.
    fn discard_all(
        self: &Arc<Self>,
        store: &Arc<Inner>,
        state: &mut MutexGuard<'_, State>,
        expired: &[(MessageKey, Persistence, Option<Parts>)],
    ) {
        let mut keys = Vec::new();
        let mut batch = Vec::new();
        for (key, persistence, parts) in expired {
            let held = state.window.take(key);
            state.volatile_left(held.as_ref());
            state.facts.expired += 1;
            state.expired(key);
            let is_counted = state.window.backouts.remove(key).is_some() || self.shared.is_some();
            if *persistence == Persistence::Persistent && !store.read_only {
                state.window.claimed.insert(*key);
                keys.push(*key);
                batch.push((FullKey::new(self.messages, key), Change::Delete));
                if is_counted {
                    batch.push((FullKey::new(self.counts, key), Change::Delete));
                }
                batch.extend(self.parts_of(*key, *parts).map(|part| (part, Change::Delete)));
            }
        }
        if keys.is_empty() {
            return;
        }
        let queue = Arc::clone(self);
        MutexGuard::unlocked(state, || {
            let done = Box::new(move |_: Result<_, _>| {
                let mut state = queue.state.lock();
                for key in &keys {
                    state.window.claimed.remove(key);
                }
            });
            // If this fails, the store is poisoned and the messages are found expired again after the next opening.
            match self.shared {
                None => store.engine.submit(batch, done),
                // The next count of the queue must not find them.
                Some(_) => drop(store.engine.commit(batch, done)),
            }
        });
    }

    /// Deletes all expired messages of a full queue. Unless a message expires in the meantime, the queue is read only once and not for each
    /// put.
    pub(super) fn discard_expired(
        self: &Arc<Self>,
        store: &Arc<Inner>,
        state: &mut MutexGuard<'_, State>,
    ) -> Result<(), StoreError> {
        let now_ms = store.clock.now_ms();
        if now_ms < state.expires_ms {
            return Ok(());
        }
        let (mut expired, mut next_ms) = (Vec::new(), u64::MAX);
        let mut look = |key: MessageKey, value: &[u8], persistence| {
            let head = Head::of(value);
            match head.map_or(0, |head| head.expires_ms) {
                0 => {}
                at_ms if at_ms > now_ms => next_ms = next_ms.min(at_ms),
                _ => expired.push((key, persistence, head.and_then(|head| head.parts))),
            }
            expired.len() < DISCARDED_AT_ONCE
        };
        for (key, held) in state.window.not_persistent() {
            look(*key, &held.value, Persistence::NotPersistent);
        }
        let ended = self.scan(store, [0; 9], &mut |key, value| {
            state.window.is_taken(&key) || look(key, value, Persistence::Persistent)
        })?;
        state.expires_ms = if ended { next_ms } else { 0 };
        self.discard_all(store, state, &expired);
        Ok(())
    }

    /// Gives a message back after a rollback.
    pub(super) fn give_back(self: &Arc<Self>, store: &Arc<Inner>, key: MessageKey, held: Held, cause: Option<&Cause>) {
        let definition = self.definition();
        let mut state = self.state.lock();
        state.facts.backed_out += 1;
        let count = state.window.backouts.entry(key).or_insert(0);
        *count = count.saturating_add(1);
        let count = *count;
        let is_poison = definition.backout_threshold > 0 && count >= definition.backout_threshold;
        drop(state);
        let mut pause_ms = definition.pause_ms(count);
        if held.persistence == Persistence::Persistent {
            let counted = vec![(FullKey::new(self.counts, &key), Change::Put(count.to_le_bytes().as_slice().into()))];
            // A poisoned store cannot write the count. With several processes, the count is stored with the message.
            if self.shared.is_none() {
                store.engine.submit(counted, Box::new(|_| ()));
            }
        }
        if is_poison {
            match self.move_away(store, key, &held, (count, cause)) {
                Ok(()) => return,
                Err(error) => {
                    self.could_not_move(error);
                    pause_ms = pause_ms.max(NOWHERE_TO_GO_MS.min(definition.retry_ms_max));
                }
            }
        }
        self.make_available(store, key, held, pause_ms);
    }

    pub(super) fn make_available(&self, store: &Arc<Inner>, key: MessageKey, held: Held, pause_ms: u64) {
        let mut state = self.state.lock();
        state.window.claimed.remove(&key);
        // The last look for expired messages of a full queue left this one out.
        if let Some(expires_ms) = Head::of(&held.value).map(|head| head.expires_ms).filter(|expires_ms| *expires_ms > 0)
        {
            state.expires_ms = state.expires_ms.min(expires_ms);
        }
        if let Some(shared) = &self.shared
            && held.persistence == Persistence::Persistent
        {
            let count = state.window.backouts.remove(&key).filter(|count| *count > 0);
            let beside =
                count.map(|count| (FullKey::new(self.counts, &key), Value::from(count.to_le_bytes().as_slice())));
            let id = Head::of(&held.value).map_or([0; 24], |head| head.id);
            let pause = (pause_ms > 0).then_some(Pause { ms: pause_ms, id });
            shared.give_back(FullKey::new(self.messages, &key), beside, pause);
        } else if pause_ms == 0 {
            state.window.add(key, held);
        } else {
            state.window.delay(key, held, store.clock.steady_ms() + pause_ms);
        }
        let wakers = state.take_wakers();
        drop(state);
        wakers.for_each(Waker::wake);
        // Wake all: a single woken get may wait for another message.
        self.arrived.notify_all();
    }
}

/// Reason why a message left its queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    Got,
    Moved,
}

pub(crate) struct GetOutcome {
    pub(super) queue: Arc<QueueState>,
    pub(super) store: Arc<Inner>,
    pub(super) key: MessageKey,
    pub(super) held: Option<Held>,
    pub(super) left: Left,
    pub(super) crossed: Option<Crossed>,
}

impl GetOutcome {
    pub(super) fn committed(&mut self) {
        let mut state = self.queue.state.lock();
        state.window.claimed.remove(&self.key);
        state.window.backouts.remove(&self.key);
        match self.left {
            Left::Got => state.facts.got += 1,
            Left::Moved => state.facts.moved += 1,
        }
        state.volatile_left(self.held.as_ref());
        state.left(&self.key);
        state.crossed(self.crossed);
    }

    pub(super) fn rolled_back(&mut self, how: &RollBack) {
        self.queue.state.lock().not_crossed(self.crossed);
        let Some(held) = self.held.take() else { return };
        match how {
            RollBack::Failed(cause) => self.queue.give_back(&self.store, self.key, held, cause.as_ref()),
            RollBack::Ended => self.queue.make_available(&self.store, self.key, held, 0),
        }
    }
}
