//! Generated sequences of operations on a record file, compared with a simple model: same answers, statuses and order.

use std::collections::BTreeMap;

use super::text;
use crate::record_file::{
    AlternateIndex, Browse, By, Duplicates, FileDefinition, KeyPlace, Organisation, Record, RecordFile, Relation,
};
use crate::{FileStatus, LockWait, Store, StoreError, Unit};

/// A small generator of random numbers: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn byte(&mut self, bound: u64) -> u8 {
        u8::try_from(self.below(bound.min(256))).unwrap_or(0)
    }
}

const KEY: KeyPlace = KeyPlace { offset: 1, length: 2 };
const REPEATED: KeyPlace = KeyPlace { offset: 3, length: 1 };
const UNIQUE: KeyPlace = KeyPlace { offset: 4, length: 2 };

/// The model: records by key, and when each got its alternate key.
#[derive(Clone, Debug, Default)]
struct Model {
    records: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    arrivals: u64,
}

impl Model {
    fn insert(&mut self, record: &[u8]) -> FileStatus {
        let key = KEY.of(record).unwrap_or_default().to_vec();
        if self.records.contains_key(&key) || self.unique_is_taken(record, None) {
            return FileStatus::DuplicateKey;
        }
        let status = self.repeats(record, None);
        self.arrivals += 1;
        self.records.insert(key, (record.to_vec(), self.arrivals));
        status
    }

    fn unique_is_taken(&self, record: &[u8], but: Option<&[u8]>) -> bool {
        let taken = |(key, (other, _)): (&Vec<u8>, &(Vec<u8>, u64))| {
            but != Some(key.as_slice()) && UNIQUE.of(record).is_some() && UNIQUE.of(other) == UNIQUE.of(record)
        };
        self.records.iter().any(taken)
    }

    fn repeats(&self, record: &[u8], but: Option<&[u8]>) -> FileStatus {
        let same = |(key, (other, _)): (&Vec<u8>, &(Vec<u8>, u64))| {
            but != Some(key.as_slice()) && REPEATED.of(record).is_some() && REPEATED.of(other) == REPEATED.of(record)
        };
        if self.records.iter().any(same) { FileStatus::DuplicateAlternate } else { FileStatus::Success }
    }

    fn rewrite(&mut self, key: &[u8], record: &[u8]) -> FileStatus {
        if KEY.of(record) != Some(key) {
            return FileStatus::Sequence;
        }
        if self.unique_is_taken(record, Some(key)) {
            return FileStatus::DuplicateKey;
        }
        let Some((old, arrival)) = self.records.get(key).cloned() else { return FileStatus::NotFound };
        let changed = REPEATED.of(&old) != REPEATED.of(record);
        let status = if changed { self.repeats(record, Some(key)) } else { FileStatus::Success };
        self.arrivals += 1;
        let arrival = if changed { self.arrivals } else { arrival };
        self.records.insert(key.to_vec(), (record.to_vec(), arrival));
        status
    }

    /// Returns entries in the order of an index: the key in that index, the tie-breaker of equal keys, the primary key.
    fn entries(&self, index: usize) -> Vec<(Vec<u8>, u64, Vec<u8>)> {
        let entry = |(key, (record, arrival)): (&Vec<u8>, &(Vec<u8>, u64))| match index {
            0 => Some((key.clone(), 0, key.clone())),
            1 => REPEATED.of(record).map(|alternate| (alternate.to_vec(), *arrival, key.clone())),
            _ => UNIQUE.of(record).map(|alternate| (alternate.to_vec(), 0, key.clone())),
        };
        let mut entries: Vec<_> = self.records.iter().filter_map(entry).collect();
        entries.sort();
        entries
    }

    /// Returns the position of the first entry that a start or read finds.
    fn find(&self, index: usize, key: &[u8], relation: Relation) -> Option<usize> {
        let entries = self.entries(index);
        let at = entries.iter().position(|(found, _, _)| found.as_slice() >= key)?;
        (relation == Relation::AtLeast || entries[at].0.starts_with(key)).then_some(at)
    }

    /// Returns the expected answer of reading an entry.
    fn answer(&self, index: usize, at: usize, towards: isize) -> String {
        let entries = self.entries(index);
        let next = at.checked_add_signed(towards).and_then(|next| entries.get(next));
        let repeats = index > 0 && next.is_some_and(|next| next.0 == entries[at].0);
        let status = if repeats { FileStatus::DuplicateAlternate } else { FileStatus::Success };
        let key = &entries[at].2;
        shown(key, &self.records[key].0, status)
    }
}

fn shown(key: &[u8], record: &[u8], status: FileStatus) -> String {
    format!("{status} {key:?} {record:?}")
}

fn answer(outcome: Result<Record, StoreError>) -> String {
    match outcome {
        Ok(record) => shown(&record.key, &record.bytes, record.status),
        Err(error) => error.status().to_string(),
    }
}

fn status(outcome: Result<FileStatus, StoreError>) -> String {
    outcome.unwrap_or_else(|error| error.status()).to_string()
}

/// One sequence of operations on a separate file.
struct Sequence<'s> {
    store: &'s Store,
    file: RecordFile,
    chance: Chance,
    model: Model,
    committed: Model,
    trace: Vec<String>,
}

impl Sequence<'_> {
    fn record(&mut self) -> Vec<u8> {
        let length = 4 + self.chance.below(5);
        let mut record: Vec<u8> = (0..length).map(|_| self.chance.byte(256)).collect();
        let (first, second, repeated) = (self.chance.byte(3), self.chance.byte(4), self.chance.byte(3));
        record[1..4].copy_from_slice(&[first, second, repeated]);
        if record.len() >= 6 {
            let (first, second) = (self.chance.byte(2), self.chance.byte(5));
            record[4..6].copy_from_slice(&[first, second]);
        }
        record
    }

    fn key(&mut self, index: usize) -> Vec<u8> {
        let (first, second) = (self.chance.byte(4), self.chance.byte(5));
        let generic = self.chance.below(3) == 0;
        match index {
            1 => vec![first],
            _ if generic => vec![first],
            _ => vec![first, second],
        }
    }

    fn same(&mut self, what: String, found: String, expected: String) -> Result<(), String> {
        self.trace.push(format!("{what} -> {expected}"));
        if found == expected {
            return Ok(());
        }
        Err(format!("{what}: found {found}, expected {expected}; before it:\n  {}", self.trace.join("\n  ")))
    }

    fn step(&mut self, unit: &mut Unit) -> Result<(), String> {
        match self.chance.below(8) {
            0..=2 => {
                let record = self.record();
                let found = status(self.file.insert(unit, &record).map(|inserted| inserted.status));
                let expected = self.model.insert(&record).to_string();
                self.same(format!("insert {record:?}"), found, expected)
            }
            3 => self.rewrite(unit),
            4 => self.delete(unit),
            5 | 6 => self.read(unit),
            _ => self.browse(unit),
        }
    }

    fn rewrite(&mut self, unit: &mut Unit) -> Result<(), String> {
        let key = vec![self.chance.byte(3), self.chance.byte(4)];
        let mut record = self.record();
        if self.chance.below(8) > 0 {
            record[1..3].copy_from_slice(&key);
        }
        let read = self.file.read_for_update(unit, By::Key(&key), Relation::Equal, LockWait::No);
        let expected = match self.model.records.contains_key(&key) {
            true => self.model.rewrite(&key, &record).to_string(),
            false => FileStatus::NotFound.to_string(),
        };
        let found = status(read.and_then(|read| self.file.rewrite(unit, &read, &record)));
        self.same(format!("rewrite {key:?} {record:?}"), found, expected)
    }

    fn delete(&mut self, unit: &mut Unit) -> Result<(), String> {
        let key = vec![self.chance.byte(3), self.chance.byte(4)];
        let read = self.file.read_for_update(unit, By::Key(&key), Relation::Equal, LockWait::No);
        let found = status(read.and_then(|read| self.file.delete(unit, &read)).map(|()| FileStatus::Success));
        let removed = self.model.records.remove(&key).is_some();
        let expected = if removed { FileStatus::Success } else { FileStatus::NotFound };
        self.same(format!("delete {key:?}"), found, expected.to_string())
    }

    fn read(&mut self, unit: &Unit) -> Result<(), String> {
        let index = usize::try_from(self.chance.below(3)).unwrap_or(0);
        let key = self.key(index);
        let relation = if self.chance.below(2) == 0 { Relation::Equal } else { Relation::AtLeast };
        let found = answer(self.file.read(unit, by(index, &key), relation));
        let at = self.model.find(index, &key, relation);
        let expected = at.map_or(FileStatus::NotFound.to_string(), |at| self.model.answer(index, at, 1));
        self.same(format!("read {index} {key:?} {relation:?}"), found, expected)
    }

    /// Runs a start and some reads in both directions.
    fn browse(&mut self, unit: &Unit) -> Result<(), String> {
        let index = usize::try_from(self.chance.below(3)).unwrap_or(0);
        let key = self.key(index);
        let relation = if self.chance.below(2) == 0 { Relation::Equal } else { Relation::AtLeast };
        let mut browse = self.file.browse();
        let found = status(browse.start(unit, by(index, &key), relation).map(|()| FileStatus::Success));
        let at = self.model.find(index, &key, relation);
        let expected = if at.is_some() { FileStatus::Success } else { FileStatus::NotFound };
        self.same(format!("start {index} {key:?} {relation:?}"), found, expected.to_string())?;
        match at {
            Some(at) => self.steps(unit, &mut browse, index, at),
            None => {
                let found = answer(browse.next(unit));
                self.same("next".to_owned(), found, FileStatus::NoPosition.to_string())
            }
        }
    }

    fn steps(&mut self, unit: &Unit, browse: &mut Browse, index: usize, start: usize) -> Result<(), String> {
        let count = self.model.entries(index).len();
        let mut last: Option<usize> = None;
        for _ in 0..self.chance.below(12) {
            let towards: isize = if self.chance.below(3) == 0 { -1 } else { 1 };
            // The started record is read first in either direction. Reaching an end does not move the position.
            let next = last.map_or(Some(start), |last| last.checked_add_signed(towards));
            let next = next.filter(|next| *next < count);
            let found = answer(if towards == 1 { browse.next(unit) } else { browse.previous(unit) });
            let expected = match next {
                Some(next) => self.model.answer(index, next, towards),
                None => FileStatus::EndOfFile.to_string(),
            };
            last = next.or(last);
            self.same(format!("step {towards}"), found, expected)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        for _ in 0..1 + self.chance.below(4) {
            let mut unit = self.store.begin().map_err(text)?;
            for _ in 0..self.chance.below(12) {
                self.step(&mut unit)?;
            }
            if self.chance.below(3) == 0 {
                unit.roll_back();
                self.trace.push("roll back".to_owned());
                let arrivals = self.model.arrivals;
                self.model = Model { arrivals, ..self.committed.clone() };
            } else {
                unit.commit().map_err(text)?;
                self.trace.push("commit".to_owned());
                self.committed = self.model.clone();
            }
        }
        let (texts, count) = self.file.verify(&self.store.begin().map_err(text)?, 3).map_err(text)?;
        self.same("verify".to_owned(), format!("{count} {texts:?}"), "0 []".to_owned())
    }
}

fn by(index: usize, key: &[u8]) -> By<'_> {
    match index {
        0 => By::Key(key),
        1 => By::Alternate("repeated", key),
        _ => By::Alternate("unique", key),
    }
}

/// Runs generated sequences, each on a separate key-sequenced file with two alternate indexes.
///
/// # Errors
/// The seed and operations of the first sequence whose answers differ from the model's.
pub fn run_sequences(store: &Store, seed: u64, sequences: u64) -> Result<(), String> {
    for number in 0..sequences {
        let definition = FileDefinition {
            name: format!("MODEL.{seed}.{number}"),
            organisation: Organisation::KeySequenced(KEY),
            record_bytes_min: 4,
            record_bytes_max: 8,
            alternates: vec![
                AlternateIndex { name: "repeated".to_owned(), place: REPEATED, duplicates: Duplicates::Allowed },
                AlternateIndex { name: "unique".to_owned(), place: UNIQUE, duplicates: Duplicates::Unique },
            ],
        };
        let mut unit = store.begin().map_err(text)?;
        let file = store.define_file(&mut unit, definition).map_err(text)?;
        unit.commit().map_err(text)?;
        let chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let (model, committed) = (Model::default(), Model::default());
        let mut sequence = Sequence { store, file, chance, model, committed, trace: Vec::new() };
        sequence.run().map_err(|why| format!("seed {seed}, sequence {number}: {why}"))?;
    }
    Ok(())
}
