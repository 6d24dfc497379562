//! Messages of one queue kept in memory ahead of the next gets.
//!
//! Messages are ordered by key: priority, then arrival. Every available message whose key is up to the *horizon* is in memory. Beyond it, persistent
//! messages are only in the engine, so a queue of any depth needs bounded memory. The keys of claimed, uncommitted and delayed messages are tracked,
//! so that reading further into the queue never makes one of them available twice.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::message::{Head, MessageId, PRIORITY_MAX, Persistence};
use crate::{StoreError, Value};

/// Id of a message without one.
const NO_ID: MessageId = [0; 24];

/// Key of a message in its queue: 9 minus the priority, then a stamp.
pub(crate) type MessageKey = [u8; 9];

pub(crate) fn key_of(priority: u8, stamp: u64) -> MessageKey {
    let mut key = [0; 9];
    key[0] = PRIORITY_MAX - priority.min(PRIORITY_MAX);
    key[1..].copy_from_slice(&stamp.to_be_bytes());
    key
}

/// A message in memory.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) value: Value,
    pub(crate) persistence: Persistence,
}

impl Held {
    /// Bytes that only memory has.
    pub(crate) fn memory_bytes(&self) -> u64 {
        if self.persistence == Persistence::NotPersistent { self.value.len() as u64 } else { 0 }
    }
}

/// Selection of the message to get.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Select {
    /// The first.
    First,
    /// The first with this message id.
    Id(MessageId),
    /// The first with this correlation id.
    Correlation(MessageId),
    /// The message of this group with the lowest number in the group; the first of equal numbers.
    Group(MessageId),
}

impl Select {
    pub(crate) fn fits(&self, head: &Head) -> bool {
        match self {
            Select::First => true,
            Select::Id(id) => head.id == *id,
            Select::Correlation(correlation) => head.correlation == *correlation,
            Select::Group(group) => head.group == *group,
        }
    }
}

/// Place of a message among those of one id: number in its group, then key.
type Place = (u32, MessageKey);

/// Messages by an id that they carry. Most ids belong to one message, which then needs no set. Messages without an id are not in it.
#[derive(Debug, Default)]
struct Index(HashMap<MessageId, Places>);

#[derive(Debug)]
enum Places {
    One(Place),
    Many(BTreeSet<Place>),
}

impl Index {
    fn insert(&mut self, id: &MessageId, place: Place) {
        if *id == NO_ID {
            return;
        }
        match self.0.entry(*id) {
            Entry::Vacant(free) => {
                free.insert(Places::One(place));
            }
            Entry::Occupied(mut held) => match held.get_mut() {
                Places::One(other) => {
                    let both = BTreeSet::from([*other, place]);
                    held.insert(Places::Many(both));
                }
                Places::Many(places) => {
                    places.insert(place);
                }
            },
        }
    }

    fn remove(&mut self, id: &MessageId, place: &Place) {
        let Entry::Occupied(mut held) = self.0.entry(*id) else { return };
        let is_last = match held.get_mut() {
            Places::One(other) => other == place,
            Places::Many(places) => {
                places.remove(place);
                places.is_empty()
            }
        };
        if is_last {
            held.remove();
        }
    }

    fn first(&self, id: &MessageId) -> Option<MessageKey> {
        match self.0.get(id)? {
            Places::One((_, key)) => Some(*key),
            Places::Many(places) => places.first().map(|(_, key)| *key),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    available: BTreeMap<MessageKey, Held>,
    by_id: Index,
    by_correlation: Index,
    by_group: Index,
    /// Keys of those that persist: only they can be left to the engine, and looking for them among the others would cost the depth of the queue.
    persistent: BTreeSet<MessageKey>,
    bytes: usize,
    /// `None`: everything available is in memory.
    horizon: Option<MessageKey>,
    /// Messages that a unit of work has got.
    pub(crate) claimed: HashSet<MessageKey>,
    /// Messages of units of work that are not committed.
    pub(crate) uncommitted: HashSet<MessageKey>,
    /// Messages that wait for their retry, by steady time, since the wall clock may be set back by hours. Only non-persistent messages have their
    /// content here.
    delayed: BTreeMap<(u64, MessageKey), (MessageId, Option<Held>)>,
    /// The steady time of each.
    delayed_until: HashMap<MessageKey, u64>,
    /// The same by message id.
    delayed_ids: BTreeSet<(MessageId, u64, MessageKey)>,
    /// Backout count of each message that has one.
    pub(crate) backouts: HashMap<MessageKey, u32>,
}

impl Window {
    /// Creates a window that has read nothing of its queue yet.
    pub(crate) fn unread() -> Self {
        Window { horizon: Some([0; 9]), ..Window::default() }
    }

    /// Returns the key after which the engine may have messages that are not in memory.
    pub(crate) fn horizon(&self) -> Option<MessageKey> {
        self.horizon
    }

    /// Moves the horizon after reading on.
    pub(crate) fn set_horizon(&mut self, horizon: Option<MessageKey>) {
        self.horizon = horizon;
    }

    pub(crate) fn len(&self) -> usize {
        self.available.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if a key is claimed, uncommitted or delayed.
    pub(crate) fn is_taken(&self, key: &MessageKey) -> bool {
        self.claimed.contains(key) || self.uncommitted.contains(key) || self.delayed_until.contains_key(key)
    }

    /// Makes a message available. Beyond the horizon a persistent one is left to the engine.
    pub(crate) fn add(&mut self, key: MessageKey, held: Held) {
        let is_beyond = self.horizon.is_some_and(|horizon| key > horizon);
        if is_beyond && held.persistence == Persistence::Persistent {
            return;
        }
        self.bytes += held.value.len();
        if let Some(head) = Head::of(&held.value) {
            self.by_id.insert(&head.id, (0, key));
            self.by_correlation.insert(&head.correlation, (0, key));
            self.by_group.insert(&head.group, (head.group_sequence, key));
        }
        if held.persistence == Persistence::Persistent {
            self.persistent.insert(key);
        }
        self.available.insert(key, held);
    }

    /// Returns a message in memory.
    pub(crate) fn get(&self, key: &MessageKey) -> Option<&Held> {
        self.available.get(key)
    }

    /// Adds one message from beyond the horizon, which the caller takes at once.
    pub(crate) fn add_beyond(&mut self, key: MessageKey, held: Held) {
        let horizon = self.horizon.take();
        self.add(key, held);
        self.horizon = horizon;
    }

    /// Takes a message out.
    pub(crate) fn take(&mut self, key: &MessageKey) -> Option<Held> {
        let held = self.available.remove(key)?;
        if held.persistence == Persistence::Persistent {
            self.persistent.remove(key);
        }
        self.bytes -= held.value.len();
        if let Some(head) = Head::of(&held.value) {
            self.by_id.remove(&head.id, &(0, *key));
            self.by_correlation.remove(&head.correlation, &(0, *key));
            self.by_group.remove(&head.group, &(head.group_sequence, *key));
        }
        Some(held)
    }

    /// Returns the first matching message up to the horizon.
    pub(crate) fn first(&self, select: &Select) -> Option<MessageKey> {
        // A message beyond the horizon is one that does not persist: messages that only the engine has may come before it.
        self.first_in_memory(select).filter(|key| self.horizon.is_none_or(|horizon| *key <= horizon))
    }

    /// Returns the first matching message in memory, even beyond the horizon.
    pub(crate) fn first_in_memory(&self, select: &Select) -> Option<MessageKey> {
        match select {
            Select::First => self.available.keys().next().copied(),
            // Messages without an id are not indexed.
            Select::Id(NO_ID) | Select::Correlation(NO_ID) | Select::Group(NO_ID) => {
                let fits = |held: &Held| Head::of(&held.value).is_some_and(|head| select.fits(&head));
                self.available.iter().find(|(_, held)| fits(held)).map(|(key, _)| *key)
            }
            Select::Id(id) => self.by_id.first(id),
            Select::Correlation(correlation) => self.by_correlation.first(correlation),
            Select::Group(group) => self.by_group.first(group),
        }
    }

    /// Takes all messages out that persist. Returns their keys.
    pub(crate) fn take_persistent(&mut self) -> Vec<MessageKey> {
        let keys: Vec<MessageKey> = self.persistent.iter().copied().collect();
        keys.iter().for_each(|key| drop(self.take(key)));
        keys
    }

    /// Messages in memory that do not persist, in order.
    pub(crate) fn not_persistent(&self) -> impl Iterator<Item = (&MessageKey, &Held)> {
        self.available.iter().filter(|(_, held)| held.persistence == Persistence::NotPersistent)
    }

    /// Returns true if the window contains a message.
    pub(crate) fn has(&self, key: &MessageKey) -> bool {
        self.available.contains_key(key)
    }

    /// Leaves the last persistent messages to the engine until the bounds hold. The first message stays.
    pub(crate) fn trim(&mut self, messages_max: usize, bytes_max: usize) {
        while self.available.len() > messages_max.max(1) || (self.bytes > bytes_max && self.available.len() > 1) {
            let Some(last) = self.persistent.last().copied() else { return };
            self.take(&last);
            // All messages before the removed one are still in memory.
            let before = self.available.range(..last).next_back().map_or([0; 9], |(key, _)| *key);
            self.horizon = Some(before);
        }
    }

    /// Keeps a message back until a steady time.
    pub(crate) fn delay(&mut self, key: MessageKey, held: Held, until_ms: u64) {
        let id = Head::of(&held.value).map_or(NO_ID, |head| head.id);
        let in_memory = Some(held).filter(|held| held.persistence == Persistence::NotPersistent);
        self.delayed_until.insert(key, until_ms);
        self.delayed_ids.insert((id, until_ms, key));
        self.delayed.insert((until_ms, key), (id, in_memory));
    }

    /// Makes all delayed messages due.
    pub(crate) fn end_delays(&mut self) {
        self.delayed = std::mem::take(&mut self.delayed).into_iter().map(|((_, key), held)| ((0, key), held)).collect();
        self.delayed_until.values_mut().for_each(|until_ms| *until_ms = 0);
        self.delayed_ids = std::mem::take(&mut self.delayed_ids).into_iter().map(|(id, _, key)| (id, 0, key)).collect();
    }

    /// Returns the number of delayed messages.
    pub(crate) fn delayed_len(&self) -> usize {
        self.delayed.len()
    }

    /// Returns the steady time until which a message is delayed.
    pub(crate) fn delayed_until(&self, key: &MessageKey) -> Option<u64> {
        self.delayed_until.get(key).copied()
    }

    /// Returns the steady time until which the first message with an id is delayed.
    pub(crate) fn delayed_by_id(&self, id: &MessageId) -> Option<u64> {
        let first = self.delayed_ids.range((*id, 0, [0; 9])..).next();
        first.filter(|(known, ..)| known == id).map(|(_, until_ms, _)| *until_ms)
    }

    /// Messages that are kept back and do not persist, each with its steady time.
    pub(crate) fn delayed_in_memory(&self) -> impl Iterator<Item = (&MessageKey, &Held, u64)> {
        self.delayed.iter().filter_map(|((until_ms, key), (_, held))| Some((key, held.as_ref()?, *until_ms)))
    }

    /// Makes messages available whose steady time has come, within the bounds of [`Self::trim`]; `read` reads one that persists. Returns the time when the
    /// next one is due.
    pub(crate) fn promote(
        &mut self,
        now_ms: u64,
        (messages_max, bytes_max): (usize, usize),
        read: &mut dyn FnMut(&MessageKey) -> Result<Option<Value>, StoreError>,
    ) -> Result<Option<u64>, StoreError> {
        while let Some(((until_ms, key), (id, _))) = self.delayed.first_key_value() {
            let (until_ms, key, id) = (*until_ms, *key, *id);
            if until_ms > now_ms {
                return Ok(Some(until_ms));
            }
            let held = match self.delayed.get(&(until_ms, key)) {
                Some((_, Some(held))) => Some(held.clone()),
                // Reading on will find it.
                _ if self.horizon.is_some_and(|horizon| key > horizon) => None,
                _ => read(&key)?.map(|value| Held { value, persistence: Persistence::Persistent }),
            };
            self.delayed.remove(&(until_ms, key));
            self.delayed_until.remove(&key);
            self.delayed_ids.remove(&(id, until_ms, key));
            if let Some(held) = held {
                self.add(key, held);
                self.trim(messages_max, bytes_max);
            }
        }
        Ok(None)
    }
}
