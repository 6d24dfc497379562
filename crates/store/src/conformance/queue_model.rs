//! Generated sequences of operations on a queue and its backout queue by two interleaved units of work, compared with a simple model: priorities,
//! ids, correlation ids and groups, expiry, the depth limit, rollbacks and the move to the backout queue.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::model::Chance;
use super::queues::define;
use super::text;
use crate::queue::{GetWait, Message, Persistence, Queue, QueueDefinition, Select};
use crate::{Store, StoreError, Unit};

/// Message of the model: its priority in the order of the queue, and the order of its put.
type Key = (u8, u32);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Known {
    id: u8,
    correlation: u8,
    group: u8,
    group_sequence: u32,
    is_expired: bool,
    rollbacks: u32,
}

#[derive(Debug, Default)]
struct Model {
    available: BTreeMap<Key, Known>,
    puts: [Vec<(Key, Known)>; 2],
    gets: [Vec<(Key, Known)>; 2],
    /// Numbers of messages on the backout queue, in its order: by priority, then arrival.
    backout: BTreeSet<(u8, u32, u32)>,
    moved: u32,
}

impl Model {
    /// Returns the number of messages that count toward the depth limit when a put checks it. A put discards expired messages unless their unit of
    /// work is open.
    fn depth(&self) -> usize {
        let alive = self.available.values().filter(|known| !known.is_expired).count();
        alive + self.puts.iter().map(Vec::len).sum::<usize>() + self.gets.iter().map(Vec::len).sum::<usize>()
    }

    /// Returns the first matching message. Within a group, this is the message with the lowest sequence number.
    fn first(&self, select: Select) -> Option<(Key, Known)> {
        let fits = |known: &Known| match select {
            Select::First => true,
            // A message without an id gets one that no other has.
            Select::Id(id) => known.id > 0 && id_of(known.id) == id,
            Select::Correlation(correlation) => id_of(known.correlation) == correlation,
            Select::Group(group) => id_of(known.group) == group,
        };
        let rank = |known: &Known| if matches!(select, Select::Group(_)) { known.group_sequence } else { 0 };
        let fitting = self.available.iter().filter(|(_, known)| !known.is_expired && fits(known));
        fitting.min_by_key(|(key, known)| (rank(known), **key)).map(|(key, known)| (*key, *known))
    }
}

/// Zeros for none.
fn id_of(number: u8) -> [u8; 24] {
    [number; 24]
}

/// Rollbacks after which a message moves.
const THRESHOLD: u32 = 2;
/// Messages on a queue with a limit.
const DEPTH_MAX: u64 = 6;

struct Sequence<'s> {
    store: &'s Store,
    queue: Queue,
    backout: Queue,
    depth_max: u64,
    chance: Chance,
    model: Model,
    next: u32,
    trace: Vec<String>,
}

impl Sequence<'_> {
    fn step(&mut self, who: usize, units: &mut [Option<Unit>; 2]) -> Result<(), String> {
        let mut unit = match units[who].take() {
            Some(unit) => unit,
            None => self.store.begin().map_err(text)?,
        };
        match self.chance.below(8) {
            0..=2 => self.put(who, &mut unit)?,
            3..=5 => self.get(who, &mut unit)?,
            6 => {
                unit.commit().map_err(text)?;
                self.trace.push(format!("{who} commits"));
                let puts = std::mem::take(&mut self.model.puts[who]);
                self.model.available.extend(puts);
                self.model.gets[who].clear();
                return Ok(());
            }
            _ => {
                unit.roll_back();
                self.trace.push(format!("{who} rolls back"));
                return self.rolled_back(who);
            }
        }
        units[who] = Some(unit);
        Ok(())
    }

    /// Returns messages that the unit had got. Messages that failed too often are moved in separate units of work.
    fn rolled_back(&mut self, who: usize) -> Result<(), String> {
        self.model.puts[who].clear();
        for (key, known) in std::mem::take(&mut self.model.gets[who]) {
            let known = Known { rollbacks: known.rollbacks + 1, ..known };
            if known.rollbacks < THRESHOLD {
                self.model.available.insert(key, known);
            } else {
                self.model.backout.insert((key.0, self.model.moved, key.1));
                self.model.moved += 1;
            }
        }
        let patience = Instant::now() + Duration::from_secs(20);
        while self.queue.facts().map_err(text)?.moved < u64::from(self.model.moved) {
            if Instant::now() > patience {
                return Err(format!("a message does not move:\n  {}", self.trace.join("\n  ")));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn put(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        let group = self.chance.byte(3);
        let known = Known {
            id: self.chance.byte(4),
            correlation: self.chance.byte(4),
            group,
            // Without a group, a message has no number in it.
            group_sequence: u32::from(self.chance.byte(3)) * u32::from(group > 0),
            is_expired: self.chance.below(8) == 0,
            rollbacks: 0,
        };
        let priority = self.chance.byte(3);
        let persistence = if self.chance.below(4) == 0 { Persistence::NotPersistent } else { Persistence::Persistent };
        let message = Message {
            id: id_of(known.id),
            correlation: id_of(known.correlation),
            group: id_of(known.group),
            group_sequence: known.group_sequence,
            priority,
            persistence,
            // An expired message is put with an expiry time in the past, so the test does not have to move the clock.
            expires_ms: u64::from(known.is_expired),
            payload: self.next.to_be_bytes().to_vec(),
            ..Message::default()
        };
        let is_full = self.model.depth() as u64 >= self.depth_max;
        self.trace.push(format!("{who} puts {} {priority} {known:?} {persistence:?}; full: {is_full}", self.next));
        match self.queue.put(unit, &message) {
            Ok(_) if !is_full => self.model.puts[who].push(((9 - priority, self.next), known)),
            Err(StoreError::QueueFull { .. }) if is_full => {}
            other => return Err(format!("found {other:?}:\n  {}", self.trace.join("\n  "))),
        }
        self.next += 1;
        Ok(())
    }

    fn get(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        let select = match self.chance.below(6) {
            0..=2 => Select::First,
            // Also of none: messages without an id.
            3 => Select::Id(id_of(self.chance.byte(4))),
            4 => Select::Correlation(id_of(self.chance.byte(4))),
            _ => Select::Group(id_of(self.chance.byte(3))),
        };
        let found = match self.queue.get(unit, select, GetWait::No) {
            Ok(message) => Some((number(&message)?, message.backout_count)),
            Err(StoreError::NoMessage { .. }) => None,
            Err(error) => return Err(error.to_string()),
        };
        let expected = self.model.first(select);
        self.trace.push(format!("{who} gets {select:?} -> {expected:?}"));
        if found != expected.map(|((_, number), known)| (number, known.rollbacks)) {
            return Err(format!("found {found:?}, expected {expected:?}:\n  {}", self.trace.join("\n  ")));
        }
        if let Some((key, known)) = expected {
            self.model.available.remove(&key);
            self.model.gets[who].push((key, known));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        let mut units = [None, None];
        for _ in 0..self.chance.below(60) {
            let who = usize::from(self.chance.below(2) == 0);
            self.step(who, &mut units)?;
        }
        // Open units end in their order.
        for (who, unit) in units.into_iter().enumerate() {
            if let Some(unit) = unit {
                unit.roll_back();
                self.trace.push(format!("{who} rolls back"));
                self.rolled_back(who)?;
            }
        }
        let alive = self.model.available.iter().filter(|(_, known)| !known.is_expired);
        let left: Vec<u32> = alive.map(|((_, number), _)| *number).collect();
        let moved: Vec<u32> = self.model.backout.iter().map(|(_, _, number)| *number).collect();
        for (queue, expected) in [(&self.queue, left), (&self.backout, moved)] {
            let found = self.numbers(queue)?;
            if found != expected {
                let trace = self.trace.join("\n  ");
                return Err(format!("{}: found {found:?}, expected {expected:?}:\n  {trace}", queue.name()));
            }
        }
        Ok(())
    }

    /// Returns the numbers of all available messages in browse order.
    fn numbers(&self, queue: &Queue) -> Result<Vec<u32>, String> {
        let unit = self.store.begin().map_err(text)?;
        let browsed = queue.browse(&unit, None, 100).map_err(text)?;
        browsed.iter().map(|browsed| number(&browsed.message)).collect()
    }
}

fn number(message: &Message) -> Result<u32, String> {
    message.payload.as_slice().try_into().map(u32::from_be_bytes).map_err(text)
}

/// Runs generated sequences, each on a separate queue. Every second queue has a small depth limit.
///
/// # Errors
/// The seed and operations of the first sequence whose answers differ from the model's.
pub fn run_queue_sequences(store: &Store, seed: u64, sequences: u64) -> Result<(), String> {
    for sequence in 0..sequences {
        let name = format!("MODEL.{seed}.{sequence}");
        let backout_queue = format!("{name}.B");
        let backout = define(store, QueueDefinition::local(&backout_queue))?;
        let depth_max = if sequence % 2 == 0 { DEPTH_MAX } else { 1_000 };
        let limits =
            QueueDefinition { depth_max, backout_threshold: THRESHOLD, backout_queue, ..QueueDefinition::local(&name) };
        let queue = define(store, limits)?;
        let chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(sequence));
        let (model, trace) = (Model::default(), Vec::new());
        let mut running = Sequence { store, queue, backout, depth_max, chance, model, next: 0, trace };
        running.run().map_err(|why| format!("seed {seed}, sequence {sequence}: {why}"))?;
    }
    Ok(())
}
