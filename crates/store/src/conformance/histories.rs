//! Histories of overlapping units of work, with a checker for lost updates, dirty reads and write skew on records that were read for update.
//!
//! Every write has a unique value, so a read identifies the unit whose write it saw. The checker does not use the store: its input is what each unit
//! read and wrote and how it ended, and it rebuilds the order of the versions of each record from the values that their writers had read.

use std::collections::{BTreeMap, BTreeSet};

use super::model::Chance;
use super::text;
use crate::{LockWait, Position, Space, Store, StoreError, Unit};

/// Records of a history.
const RECORDS: u64 = 4;
/// Units that are open at once.
const OPEN: usize = 4;
/// Steps of a history.
const STEPS: u64 = 60;
/// First space of histories: beyond those of files and queues.
const FIRST_SPACE: u32 = 0x4000_0000;

/// Lock mode of reads that precede a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reads {
    /// Reads take the lock, as programs that change a record must do.
    ForUpdate,
    /// Reads take no lock. This is a fault that the checker must find.
    Plain,
}

/// One step of a unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Read { record: u64, value: u64 },
    Locked { record: u64, value: u64 },
    Wrote { record: u64, value: u64 },
}

/// Steps of one unit and its commit position, if it committed.
#[derive(Clone, Debug, Default)]
struct Seen {
    steps: Vec<Step>,
    committed: Option<Position>,
}

/// All units of a history. Every record begins with value 0.
#[derive(Clone, Debug, Default)]
struct History(Vec<Seen>);

/// Successor of each version of a record: the unit that wrote it, and its value.
type Successors = BTreeMap<(u64, u64), (usize, u64)>;

/// Writer of a version.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Writer {
    Initial,
    Unit(usize),
}

impl Seen {
    /// Returns the last value that the unit wrote to a record before a step.
    fn own(&self, record: u64, before: usize) -> Option<u64> {
        self.steps[..before].iter().rev().find_map(|step| match step {
            Step::Wrote { record: of, value } if *of == record => Some(*value),
            _ => None,
        })
    }

    /// Returns, for each record that the unit wrote, the version it had locked before and the version it wrote.
    fn versions(&self) -> BTreeMap<u64, (Option<u64>, u64)> {
        let mut versions = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            if let Step::Wrote { record, value } = step {
                let locked = self.steps[..at].iter().find_map(|step| match step {
                    Step::Locked { record: of, value } if of == record => Some(*value),
                    _ => None,
                });
                // Only units that never lock rely on a plain read: it may be older than the lock.
                let plain = self.steps[..at].iter().find_map(|step| match step {
                    Step::Read { record: of, value } if of == record => Some(*value),
                    _ => None,
                });
                let base = locked.or(plain);
                versions.entry(*record).or_insert((base, *value)).1 = *value;
            }
        }
        versions
    }
}

impl History {
    fn judge(&self, last: &BTreeMap<u64, u64>) -> Result<(), String> {
        let writers = self.no_dirty_read()?;
        let after = self.no_lost_update(last)?;
        self.no_circle(&writers, &after)
    }

    /// Checks that every value that a unit read is its own or one that a committed unit wrote to that record. Returns the writers of committed
    /// versions.
    fn no_dirty_read(&self) -> Result<BTreeMap<(u64, u64), Writer>, String> {
        let mut writers: BTreeMap<(u64, u64), Writer> =
            (0..RECORDS).map(|record| ((record, 0), Writer::Initial)).collect();
        for (number, seen) in self.0.iter().enumerate().filter(|(_, seen)| seen.committed.is_some()) {
            let versions = seen.versions().into_iter();
            writers.extend(versions.map(|(record, (_, value))| ((record, value), Writer::Unit(number))));
        }
        for (number, seen) in self.0.iter().enumerate() {
            for (at, step) in seen.steps.iter().enumerate() {
                let (Step::Read { record, value } | Step::Locked { record, value }) = *step else { continue };
                match seen.own(record, at) {
                    Some(own) if own == value => {}
                    Some(_) => return Err(format!("unit {number} does not see its own write of record {record}")),
                    None if writers.contains_key(&(record, value)) => {}
                    None => {
                        return Err(format!(
                            "dirty read: unit {number} saw a value of record {record} that nobody committed"
                        ));
                    }
                }
            }
        }
        Ok(writers)
    }

    /// Checks that each version was written by a unit that had locked its predecessor. Returns the successor of each version.
    fn no_lost_update(&self, last: &BTreeMap<u64, u64>) -> Result<Successors, String> {
        let mut after: Successors = BTreeMap::new();
        for (number, seen) in self.0.iter().enumerate().filter(|(_, seen)| seen.committed.is_some()) {
            for (record, (base, value)) in seen.versions() {
                let Some(base) = base else { continue };
                if let Some((other, _)) = after.insert((record, base), (number, value)) {
                    return Err(format!(
                        "lost update: units {other} and {number} changed the same version of record {record}"
                    ));
                }
            }
        }
        for record in 0..RECORDS {
            let (mut value, mut position, mut count) = (0, Position(0), 0);
            while let Some((number, next)) = after.get(&(record, value)) {
                let committed = self.0[*number].committed.unwrap_or_default();
                if committed < position {
                    return Err(format!("the commits of record {record} are not in the order of their positions"));
                }
                (value, position, count) = (*next, committed, count + 1);
            }
            let writers = after.keys().filter(|(of, _)| *of == record).count();
            if count != writers || last.get(&record).copied().unwrap_or(0) != value {
                return Err(format!(
                    "lost update: {count} of {writers} versions of record {record} lead to the last one"
                ));
            }
        }
        Ok(after)
    }

    /// Checks that the committed units are serializable: the graph of their reads for update and writes has no cycle.
    fn no_circle(&self, writers: &BTreeMap<(u64, u64), Writer>, after: &Successors) -> Result<(), String> {
        let mut before: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (number, seen) in self.0.iter().enumerate().filter(|(_, seen)| seen.committed.is_some()) {
            for (at, step) in seen.steps.iter().enumerate() {
                let Step::Locked { record, value } = *step else { continue };
                if seen.own(record, at).is_some() {
                    continue;
                }
                if let Some(Writer::Unit(writer)) = writers.get(&(record, value)) {
                    before.insert((*writer, number));
                }
                if let Some((next, _)) = after.get(&(record, value)).filter(|(next, _)| *next != number) {
                    before.insert((number, *next));
                }
            }
        }
        let mut waits_for = vec![0usize; self.0.len()];
        before.iter().for_each(|(_, after)| waits_for[*after] += 1);
        let mut left: BTreeSet<usize> = (0..self.0.len()).collect();
        let mut free: Vec<usize> = (0..self.0.len()).filter(|unit| waits_for[*unit] == 0).collect();
        // Remove units without predecessors. The remaining units are in a cycle or follow one.
        while let Some(first) = free.pop() {
            left.remove(&first);
            for (_, after) in before.range((first, 0)..=(first, usize::MAX)) {
                waits_for[*after] -= 1;
                if waits_for[*after] == 0 {
                    free.push(*after);
                }
            }
        }
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("write skew: units {left:?} each come before another of them"))
        }
    }
}

/// A unit that is open, and its number in the history.
struct Open {
    unit: Unit,
    number: usize,
}

/// Runs one history.
struct Run<'s> {
    store: &'s Store,
    space: Space,
    reads: Reads,
    chance: Chance,
    history: History,
    next_value: u64,
}

impl Run<'_> {
    fn value(bytes: Option<&[u8]>) -> u64 {
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// Runs one step of a unit. Returns `None` after the step that ends the unit.
    fn step(&mut self, mut open: Open) -> Result<Option<Open>, StoreError> {
        let record = self.chance.below(RECORDS);
        let key = record.to_be_bytes();
        match self.chance.below(10) {
            0 | 1 => {
                let value = Self::value(open.unit.read(self.space, &key)?.as_deref());
                self.history.0[open.number].steps.push(Step::Read { record, value });
            }
            2..=4 => return self.look(open, record, &key),
            5..=7 => {
                let seen = &self.history.0[open.number].steps;
                let known = |step: &Step| matches!(step, Step::Locked { record: of, .. } if *of == record);
                let has_read = seen.iter().any(known);
                let plain = self.reads == Reads::Plain
                    && seen.iter().any(|step| matches!(step, Step::Read { record: of, .. } if *of == record));
                if !has_read && !plain {
                    return self.look(open, record, &key);
                }
                self.next_value += 1;
                let value = self.next_value;
                // All units run on this thread, so a wait for one of them would end only by the limit.
                let locked = open.unit.lock(self.space, &key, LockWait::No);
                match locked.and_then(|()| open.unit.put(self.space, &key, value.to_le_bytes().as_slice())) {
                    // The unit rolls back.
                    Err(StoreError::LockTimeout { .. } | StoreError::Deadlock { .. }) => return Ok(None),
                    other => other?,
                }
                self.history.0[open.number].steps.push(Step::Wrote { record, value });
            }
            8 => {
                let position = open.unit.commit()?;
                self.history.0[open.number].committed = Some(position);
                return Ok(None);
            }
            _ => {
                open.unit.roll_back();
                return Ok(None);
            }
        }
        Ok(Some(open))
    }

    fn look(&mut self, mut open: Open, record: u64, key: &[u8]) -> Result<Option<Open>, StoreError> {
        let step = match self.reads {
            Reads::ForUpdate => match open.unit.read_for_update(self.space, key, LockWait::No) {
                Err(StoreError::LockTimeout { .. } | StoreError::Deadlock { .. }) => return Ok(None),
                found => Step::Locked { record, value: Self::value(found?.as_deref()) },
            },
            Reads::Plain => Step::Read { record, value: Self::value(open.unit.read(self.space, key)?.as_deref()) },
        };
        self.history.0[open.number].steps.push(step);
        Ok(Some(open))
    }

    fn run(&mut self) -> Result<(), String> {
        let mut open: [Option<Open>; OPEN] = std::array::from_fn(|_| None);
        for _ in 0..STEPS {
            let who = usize::try_from(self.chance.below(OPEN as u64)).unwrap_or(0);
            let one = match open[who].take() {
                Some(one) => one,
                None => {
                    self.history.0.push(Seen::default());
                    Open { unit: self.store.begin().map_err(text)?, number: self.history.0.len() - 1 }
                }
            };
            open[who] = self.step(one).map_err(text)?;
        }
        drop(open);
        let unit = self.store.begin().map_err(text)?;
        let mut last = BTreeMap::new();
        for record in 0..RECORDS {
            let value = unit.read(self.space, &record.to_be_bytes()).map_err(text)?;
            last.insert(record, Self::value(value.as_deref()));
        }
        self.history.judge(&last)
    }
}

/// Runs generated histories, each on a separate set of records.
///
/// # Errors
/// The seed, number and fault of the first history that fails the check.
pub fn run_histories(store: &Store, reads: Reads, seed: u64, histories: u64) -> Result<(), String> {
    for number in 0..histories {
        let space = Space(FIRST_SPACE + u32::try_from(number).map_err(text)?);
        let chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut run = Run { store, space, reads, chance, history: History::default(), next_value: 0 };
        run.run().map_err(|why| format!("seed {seed}, history {number}: {why}"))?;
    }
    Ok(())
}

/// Runs units of work on several threads over the same few records, and checks their history.
///
/// # Errors
/// The fault that the checker found, or an error of the store.
pub fn run_threads(store: &Store, seed: u64, threads: u64, units: u64) -> Result<(), String> {
    let space = Space(FIRST_SPACE - 1);
    let begin = Position(0);
    let unit = |chance: &mut Chance, next_value: &mut u64| -> Result<Seen, StoreError> {
        let mut unit = store.begin()?;
        let mut seen = Seen::default();
        for _ in 0..1 + chance.below(3) {
            let record = chance.below(RECORDS);
            let key = record.to_be_bytes();
            let found = match unit.read_for_update(space, &key, LockWait::Default) {
                Err(StoreError::LockTimeout { .. } | StoreError::Deadlock { .. }) => return Ok(seen),
                found => found?,
            };
            seen.steps.push(Step::Locked { record, value: Run::value(found.as_deref()) });
            std::thread::yield_now();
            if chance.below(3) > 0 {
                *next_value += 1;
                unit.put(space, &key, next_value.to_le_bytes().as_slice())?;
                seen.steps.push(Step::Wrote { record, value: *next_value });
            }
            let plain = chance.below(RECORDS);
            let value = Run::value(unit.read(space, &plain.to_be_bytes())?.as_deref());
            seen.steps.push(Step::Read { record: plain, value });
        }
        if chance.below(4) > 0 {
            seen.committed = Some(unit.commit()?);
        }
        Ok(seen)
    };
    let all = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|me| {
                let unit = &unit;
                scope.spawn(move || {
                    let mut chance = Chance(seed.wrapping_mul(97).wrapping_add(me));
                    // Values are unique over all threads.
                    let mut next_value = (me + 1) << 40;
                    (0..units).map(|_| unit(&mut chance, &mut next_value)).collect::<Result<Vec<_>, _>>()
                })
            })
            .collect();
        let joined = running.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned()));
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    let mut history = History::default();
    for seen in all {
        history.0.extend(seen.map_err(text)?);
    }
    debug_assert!(history.0.iter().all(|seen| seen.committed.is_none_or(|position| position >= begin)));
    let unit = store.begin().map_err(text)?;
    let mut last = BTreeMap::new();
    for record in 0..RECORDS {
        let value = unit.read(space, &record.to_be_bytes()).map_err(text)?;
        last.insert(record, Run::value(value.as_deref()));
    }
    history.judge(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(committed: Option<u64>, steps: &[Step]) -> Seen {
        Seen { steps: steps.to_vec(), committed: committed.map(Position) }
    }

    fn told(units: &[Seen], last: &[u64]) -> String {
        let last = (0..).zip(last.iter().copied()).collect();
        History(units.to_vec()).judge(&last).map_or_else(|why| why, |()| "accepted".to_owned())
    }

    const fn locked(record: u64, value: u64) -> Step {
        Step::Locked { record, value }
    }

    const fn wrote(record: u64, value: u64) -> Step {
        Step::Wrote { record, value }
    }

    #[test]
    fn the_judge_names_each_anomaly() {
        let first = unit(Some(1), &[locked(0, 0), wrote(0, 1)]);
        let second = unit(Some(2), &[locked(0, 1), wrote(0, 2)]);
        assert_eq!(told(&[first.clone(), second], &[2]), "accepted");
        let lost = unit(Some(2), &[locked(0, 0), wrote(0, 2)]);
        assert!(told(&[first.clone(), lost], &[2]).starts_with("lost update: units 0 and 1"));
        // A commit whose changes are no longer visible.
        assert!(told(std::slice::from_ref(&first), &[0]).starts_with("lost update: 1 of 1"));
        let rolled_back = unit(None, &[locked(0, 0), wrote(0, 1)]);
        let dirty = unit(Some(2), &[Step::Read { record: 0, value: 1 }]);
        assert!(told(&[rolled_back, dirty], &[0]).starts_with("dirty read: unit 1"));
        let twice = unit(Some(1), &[locked(0, 0), wrote(0, 1), wrote(0, 2)]);
        let between = unit(Some(2), &[Step::Read { record: 0, value: 1 }]);
        assert!(told(&[twice, between], &[2]).starts_with("dirty read: unit 1"));
        let blind = unit(Some(1), &[locked(0, 0), wrote(0, 1), locked(0, 0)]);
        assert!(told(&[blind], &[1]).starts_with("unit 0 does not see its own write"));
        let skew = [
            unit(Some(1), &[locked(0, 0), locked(1, 0), wrote(0, 1)]),
            unit(Some(2), &[locked(0, 0), locked(1, 0), wrote(1, 2)]),
        ];
        assert!(told(&skew, &[1, 2]).starts_with("write skew: units {0, 1}"));
        let out_of_order = unit(Some(5), &[locked(0, 0), wrote(0, 1)]);
        let earlier = unit(Some(4), &[locked(0, 1), wrote(0, 2)]);
        assert!(told(&[out_of_order, earlier], &[2]).contains("not in the order of their positions"));
    }
}
