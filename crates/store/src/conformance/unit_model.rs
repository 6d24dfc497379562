//! Generated sequences of operations by two interleaved units of work on one record file, compared with a simple model: key-sequenced,
//! entry-sequenced and relative files, the view of each unit, and the status of each conflict.
//!
//! The store must refuse a lock at once: one thread runs both units, so neither can wait for the other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::model::Chance;
use super::text;
use crate::record_file::{Browse, By, FileDefinition, KeyPlace, Organisation, Record, RecordFile, Relation};
use crate::{FileStatus, LockWait, Store, StoreError, Unit};

/// Records by key, address or number.
type Records = BTreeMap<u64, Vec<u8>>;

/// Changes of one unit of work.
#[derive(Debug, Default)]
struct Open {
    changes: BTreeMap<u64, Option<Vec<u8>>>,
    locks: BTreeSet<u64>,
    /// If several processes append, the appending unit has the lock on the end of the file until the unit ends.
    holds_end: bool,
}

#[derive(Debug)]
struct Model {
    organisation: Organisation,
    /// True if several processes may append, so that each append looks up the end in the store.
    is_shared: bool,
    committed: Records,
    units: [Open; 2],
    /// Next address or number, which a rollback does not move back.
    end: u64,
}

impl Model {
    fn view(&self, who: usize) -> Records {
        let mut view = self.committed.clone();
        for (key, change) in &self.units[who].changes {
            match change {
                Some(record) => view.insert(*key, record.clone()),
                None => view.remove(key),
            };
        }
        view
    }

    /// Takes the lock, unless the other unit has it.
    fn lock(&mut self, who: usize, key: u64) -> Result<(), FileStatus> {
        if self.units[1 - who].locks.contains(&key) {
            return Err(FileStatus::Resource);
        }
        self.units[who].locks.insert(key);
        Ok(())
    }

    fn step_of(&self, record: &[u8]) -> u64 {
        if self.organisation == Organisation::EntrySequenced { (record.len() as u64).max(1) } else { 1 }
    }

    /// Adds a record at the end, or under its own key.
    fn insert(&mut self, who: usize, record: &[u8]) -> Result<u64, FileStatus> {
        if let Organisation::KeySequenced(_) = self.organisation {
            return self.insert_under(who, u64::from(record[0]), record);
        }
        let step = self.step_of(record);
        let key = if self.is_shared {
            if self.units[1 - who].holds_end {
                return Err(FileStatus::Resource);
            }
            self.units[who].holds_end = true;
            let first = u64::from(self.organisation == Organisation::Relative);
            self.view(who).last_key_value().map_or(first, |(key, record)| key + self.step_of(record))
        } else {
            self.end += step;
            self.end - step
        };
        self.insert_under(who, key, record)
    }

    fn insert_at(&mut self, who: usize, number: u64, record: &[u8]) -> Result<u64, FileStatus> {
        let key = self.insert_under(who, number, record)?;
        self.end = self.end.max(number + 1);
        Ok(key)
    }

    fn insert_under(&mut self, who: usize, key: u64, record: &[u8]) -> Result<u64, FileStatus> {
        self.lock(who, key)?;
        if self.view(who).contains_key(&key) {
            return Err(FileStatus::DuplicateKey);
        }
        self.units[who].changes.insert(key, Some(record.to_vec()));
        Ok(key)
    }

    fn read_for_update(&mut self, who: usize, key: u64) -> Result<Vec<u8>, FileStatus> {
        self.lock(who, key)?;
        self.view(who).remove(&key).ok_or(FileStatus::NotFound)
    }

    fn rewrite(&mut self, who: usize, key: u64, record: &[u8]) -> Result<(), FileStatus> {
        let old = self.read_for_update(who, key)?;
        match self.organisation {
            Organisation::KeySequenced(_) if u64::from(record[0]) != key => return Err(FileStatus::Sequence),
            Organisation::EntrySequenced if record.len() != old.len() => return Err(FileStatus::Length),
            _ => {}
        }
        self.units[who].changes.insert(key, Some(record.to_vec()));
        Ok(())
    }

    fn delete(&mut self, who: usize, key: u64) -> Result<(), FileStatus> {
        self.read_for_update(who, key)?;
        if self.organisation == Organisation::EntrySequenced {
            return Err(FileStatus::Unsupported);
        }
        self.units[who].changes.insert(key, None);
        Ok(())
    }

    fn end_of(&mut self, who: usize, commits: bool) {
        if commits {
            self.committed = self.view(who);
        }
        self.units[who] = Open::default();
    }

    /// Bytes of the key of a record, as a read answers them.
    fn key_bytes(&self, key: u64) -> Vec<u8> {
        match self.organisation {
            Organisation::KeySequenced(_) => vec![u8::try_from(key).unwrap_or(u8::MAX)],
            _ => key.to_be_bytes().to_vec(),
        }
    }

    fn shown(&self, key: u64, record: &[u8]) -> String {
        format!("00 {:?} {record:?}", self.key_bytes(key))
    }
}

fn answer(outcome: Result<Record, StoreError>) -> String {
    match outcome {
        Ok(record) => format!("{} {:?} {:?}", record.status, record.key, &*record.bytes),
        Err(error) => error.status().to_string(),
    }
}

fn status<T>(outcome: &Result<T, FileStatus>) -> String {
    outcome.as_ref().err().copied().unwrap_or(FileStatus::Success).to_string()
}

struct Sequence<'s> {
    store: &'s Store,
    file: RecordFile,
    chance: Chance,
    model: Model,
    trace: Vec<String>,
}

impl Sequence<'_> {
    fn record(&mut self) -> Vec<u8> {
        let length = 1 + self.chance.below(4);
        let mut record: Vec<u8> = (0..length).map(|_| self.chance.byte(256)).collect();
        record[0] = self.chance.byte(10);
        record
    }

    /// Returns a key that may exist: often that of a record, sometimes one between records.
    fn key(&mut self) -> u64 {
        if self.model.organisation == Organisation::EntrySequenced && self.chance.below(4) > 0 {
            let known: Vec<u64> = self.model.committed.keys().copied().collect();
            if !known.is_empty() {
                return known[usize::try_from(self.chance.below(known.len() as u64)).unwrap_or(0)];
            }
        }
        self.chance.below(10) + u64::from(self.model.organisation == Organisation::Relative)
    }

    fn same(&mut self, what: String, found: String, expected: String) -> Result<(), String> {
        self.trace.push(format!("{what} -> {expected}"));
        if found == expected {
            return Ok(());
        }
        Err(format!("{what}: found {found}, expected {expected}; before it:\n  {}", self.trace.join("\n  ")))
    }

    fn step(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        match self.chance.below(10) {
            0..=2 => {
                let record = self.record();
                let inserted = self.file.insert(unit, &record);
                let found = inserted.map_or_else(|error| error.status().to_string(), |new| format!("{:?}", new.key));
                let expected = self.model.insert(who, &record);
                let expected =
                    expected.map_or_else(|status| status.to_string(), |key| format!("{:?}", self.model.key_bytes(key)));
                self.same(format!("{who} inserts {record:?}"), found, expected)
            }
            3 if self.model.organisation == Organisation::Relative => {
                let (record, number) = (self.record(), self.key());
                let found = self.file.insert_at(unit, number, &record).map_err(|error| error.status());
                let expected = self.model.insert_at(who, number, &record);
                self.same(format!("{who} inserts {record:?} at {number}"), status(&found), status(&expected))
            }
            3 | 4 => self.rewrite(who, unit),
            5 => {
                let key = self.key();
                let bytes = self.model.key_bytes(key);
                let read = self.file.read_for_update(unit, self.by(key, &bytes), Relation::Equal, LockWait::No);
                let found = read.and_then(|read| self.file.delete(unit, &read)).map_err(|error| error.status());
                let expected = self.model.delete(who, key);
                self.same(format!("{who} deletes {key}"), status(&found), status(&expected))
            }
            6 | 7 => {
                let key = self.key();
                let bytes = self.model.key_bytes(key);
                let relation = if self.chance.below(2) == 0 { Relation::Equal } else { Relation::AtLeast };
                let found = answer(self.file.read(unit, self.by(key, &bytes), relation));
                let view = self.model.view(who);
                let record = view.range(key..).next().filter(|(at, _)| relation == Relation::AtLeast || **at == key);
                let expected =
                    record.map_or(FileStatus::NotFound.to_string(), |(key, record)| self.model.shown(*key, record));
                self.same(format!("{who} reads {key} {relation:?}"), found, expected)
            }
            _ => self.browse(who, unit),
        }
    }

    fn by<'k>(&self, key: u64, bytes: &'k [u8]) -> By<'k> {
        match self.model.organisation {
            Organisation::KeySequenced(_) => By::Key(bytes),
            Organisation::EntrySequenced => By::Address(key),
            Organisation::Relative => By::Number(key),
        }
    }

    fn rewrite(&mut self, who: usize, unit: &mut Unit) -> Result<(), String> {
        let (key, mut record) = (self.key(), self.record());
        if matches!(self.model.organisation, Organisation::KeySequenced(_)) && self.chance.below(8) > 0 {
            record[0] = u8::try_from(key).unwrap_or(u8::MAX);
        }
        let bytes = self.model.key_bytes(key);
        let read = self.file.read_for_update(unit, self.by(key, &bytes), Relation::Equal, LockWait::No);
        let found = read.and_then(|read| self.file.rewrite(unit, &read, &record)).map_err(|error| error.status());
        let expected = self.model.rewrite(who, key, &record);
        self.same(format!("{who} rewrites {key} {record:?}"), status(&found), status(&expected))
    }

    /// Runs a start and some reads in both directions, and compares them with the unit's view in the model.
    fn browse(&mut self, who: usize, unit: &Unit) -> Result<(), String> {
        let key = self.key();
        let bytes = self.model.key_bytes(key);
        let view: Vec<(u64, Vec<u8>)> = self.model.view(who).into_iter().collect();
        let mut browse: Browse = self.file.browse();
        let found = browse.start(unit, self.by(key, &bytes), Relation::AtLeast).map_err(|error| error.status());
        let start = view.iter().position(|(at, _)| *at >= key);
        let expected = start.ok_or(FileStatus::NotFound);
        self.same(format!("{who} starts at {key}"), status(&found), status(&expected))?;
        let Some(start) = start else { return Ok(()) };
        let mut last: Option<usize> = None;
        for _ in 0..self.chance.below(10) {
            let towards: isize = if self.chance.below(3) == 0 { -1 } else { 1 };
            // The started record is read first in either direction. Reaching an end does not move the position.
            let next = last.map_or(Some(start), |last| last.checked_add_signed(towards));
            let next = next.filter(|next| *next < view.len());
            let found = answer(if towards == 1 { browse.next(unit) } else { browse.previous(unit) });
            let expected = next.map(|next| self.model.shown(view[next].0, &view[next].1));
            last = next.or(last);
            self.same(format!("{who} steps {towards}"), found, expected.unwrap_or(FileStatus::EndOfFile.to_string()))?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        let mut units: [Option<Unit>; 2] = [None, None];
        for _ in 0..self.chance.below(50) {
            let who = usize::from(self.chance.below(2) == 0);
            let mut unit = match units[who].take() {
                Some(unit) => unit,
                None => self.store.begin().map_err(text)?,
            };
            match self.chance.below(10) {
                0 => {
                    unit.roll_back();
                    self.trace.push(format!("{who} rolls back"));
                    self.model.end_of(who, false);
                }
                1 => {
                    unit.commit().map_err(text)?;
                    self.trace.push(format!("{who} commits"));
                    self.model.end_of(who, true);
                }
                _ => {
                    self.step(who, &mut unit)?;
                    units[who] = Some(unit);
                }
            }
        }
        drop(units);
        let unit = self.store.begin().map_err(text)?;
        let mut records = Records::new();
        let visit = &mut |key: &[u8], record: &[u8]| {
            records.insert(key.iter().fold(0, |key, byte| key << 8 | u64::from(*byte)), record.to_vec());
            Ok(())
        };
        self.file.scan(&unit, visit).map_err(text)?;
        let (texts, count) = self.file.verify(&unit, 3).map_err(text)?;
        let expected = format!("{:?} 0 []", self.model.committed);
        self.same("at the end".to_owned(), format!("{records:?} {count} {texts:?}"), expected)
    }
}

/// Defines a file. Other threads do the same and no unit waits for another, so it retries.
fn define(store: &Store, definition: &FileDefinition) -> Result<RecordFile, String> {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let mut unit = store.begin().map_err(text)?;
        match store.define_file(&mut unit, definition.clone()) {
            Ok(file) => {
                unit.commit().map_err(text)?;
                return Ok(file);
            }
            Err(StoreError::LockTimeout { .. }) if Instant::now() < patience => std::thread::yield_now(),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Runs generated sequences, each on a separate file, of the three organizations in turn. The store must have `lock_wait_ms_max` 0.
///
/// # Errors
/// The seed and operations of the first sequence whose answers differ from the model's.
pub fn run_unit_sequences(store: &Store, seed: u64, sequences: u64) -> Result<(), String> {
    let organisations = [
        Organisation::KeySequenced(KeyPlace { offset: 0, length: 1 }),
        Organisation::EntrySequenced,
        Organisation::Relative,
    ];
    for (number, organisation) in (0..sequences).zip(organisations.into_iter().cycle()) {
        let definition = FileDefinition {
            name: format!("UNITS.{seed}.{number}"),
            organisation,
            record_bytes_min: 1,
            record_bytes_max: 4,
            alternates: Vec::new(),
        };
        let file = define(store, &definition)?;
        let model = Model {
            organisation,
            is_shared: store.0.shared.is_some(),
            committed: Records::new(),
            units: Default::default(),
            end: u64::from(organisation == Organisation::Relative),
        };
        let chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut sequence = Sequence { store, file, chance, model, trace: Vec::new() };
        sequence.run().map_err(|why| format!("seed {seed}, sequence {number}: {why}"))?;
    }
    Ok(())
}
