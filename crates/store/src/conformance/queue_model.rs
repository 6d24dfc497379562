//! Generated sequences of operations on a queue by two units of work that take turns, beside a plain model.

use std::collections::BTreeMap;

use super::model::Chance;
use super::queues::define;
use super::text;
use crate::queue::{GetWait, Message, Persistence, Queue, QueueDefinition, Select};
use crate::{Store, StoreError, Unit};

/// What the model knows of a message: its priority as the queue orders it, the order of its put, and its correlation id.
type Key = (u8, u32);

#[derive(Debug, Default)]
struct Model {
    available: BTreeMap<Key, u8>,
    puts: [Vec<(Key, u8)>; 2],
    gets: [Vec<(Key, u8)>; 2],
}

struct Sequence<'s> {
    store: &'s Store,
    queue: Queue,
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
                let gets = std::mem::take(&mut self.model.gets[who]);
                self.model.available.extend(gets);
                self.model.puts[who].clear();
                return Ok(());
            }
        }
        units[who] = Some(unit);
        Ok(())
    }

    fn put(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        let (priority, correlation) = (self.chance.byte(3), self.chance.byte(4));
        let persistence = if self.chance.below(4) == 0 { Persistence::NotPersistent } else { Persistence::Persistent };
        let payload = self.next.to_be_bytes().to_vec();
        let message = Message { priority, correlation: [correlation; 24], persistence, payload, ..Message::default() };
        self.queue.put(unit, &message).map_err(text)?;
        self.trace.push(format!("{who} puts {} {priority} {correlation} {persistence:?}", self.next));
        self.model.puts[who].push(((9 - priority, self.next), correlation));
        self.next += 1;
        Ok(())
    }

    fn get(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        let wanted = (self.chance.below(2) == 0).then(|| self.chance.byte(4));
        let select = wanted.map_or(Select::First, |wanted| Select::Correlation([wanted; 24]));
        let found = match self.queue.get(unit, select, GetWait::No) {
            Ok(message) => Some(u32::from_be_bytes(message.payload.as_slice().try_into().map_err(text)?)),
            Err(StoreError::NoMessage { .. }) => None,
            Err(error) => return Err(error.to_string()),
        };
        let fits = |(_, correlation): &(&Key, &u8)| wanted.is_none_or(|wanted| **correlation == wanted);
        let expected = self.model.available.iter().find(fits).map(|(key, correlation)| (*key, *correlation));
        self.trace.push(format!("{who} gets {wanted:?} -> {expected:?}"));
        if found != expected.map(|((_, number), _)| number) {
            return Err(format!("found {found:?}, expected {expected:?}:\n  {}", self.trace.join("\n  ")));
        }
        if let Some((key, correlation)) = expected {
            self.model.available.remove(&key);
            self.model.gets[who].push((key, correlation));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        let mut units = [None, None];
        for _ in 0..self.chance.below(60) {
            let who = usize::from(self.chance.below(2) == 0);
            self.step(who, &mut units)?;
        }
        Ok(())
    }
}

/// Runs generated sequences, each on a queue of its own.
///
/// # Errors
/// The seed and the operations of the first sequence whose answers differ from the model's.
pub fn run_queue_sequences(store: &Store, seed: u64, sequences: u64) -> Result<(), String> {
    for number in 0..sequences {
        let name = format!("MODEL.{seed}.{number}");
        let queue = define(store, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local(&name) })?;
        let chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut sequence = Sequence { store, queue, chance, model: Model::default(), next: 0, trace: Vec::new() };
        sequence.run().map_err(|why| format!("seed {seed}, sequence {number}: {why}"))?;
    }
    Ok(())
}
