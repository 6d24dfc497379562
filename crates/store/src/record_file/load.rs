//! Whole files: loading, figures, verification.

use super::access::address_step;
use super::script::script_word;
use super::{Duplicates, Organisation, RecordFile, Visit};
use crate::engine::{LoadSource, Salvaged};
use crate::file_use::RecordChange;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::{FileUse, Space, Store, StoreError, Unit};

/// Maximum number of changes in one unit of work of a bulk operation.
const UNIT_CHANGES: usize = 5_000;
/// Bytes of one such unit.
const UNIT_BYTES: usize = 16 << 20;

/// Outcome of a load.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LoadOutcome {
    /// Records that are in the file now because of the load.
    pub loaded: u64,
    /// Records whose key was in the file or came before in the input; they are not in the file.
    pub duplicates: u64,
    /// Number of the first duplicate record in the input, from 1.
    pub first_duplicate: Option<u64>,
}

/// Error that stopped a load, and the outcome so far.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct LoadStopped {
    /// The error.
    pub error: StoreError,
    /// Outcome of the durable part of the load.
    pub outcome: LoadOutcome,
    /// Number of input records that are in the file or counted as duplicates. `None` if the store failed in the middle, so
    /// that only the file shows it.
    pub read: Option<u64>,
}

/// Receives the records of a salvage, and errors for unreadable parts.
pub type SalvageRecords<'a> = dyn FnMut(Result<&[u8], StoreError>) -> Result<(), StoreError> + 'a;

/// Figures of a record file, as LISTCAT prints them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileFacts {
    /// Records.
    pub records: u64,
    /// Bytes of all records.
    pub bytes: u64,
    /// Shortest record.
    pub shortest: Option<u64>,
    /// Longest record.
    pub longest: Option<u64>,
    /// Lowest and highest key, address or number.
    pub keys: Option<(Vec<u8>, Vec<u8>)>,
    /// Entries of each alternate index.
    pub index_entries: Vec<(String, u64)>,
    /// Use counts since the file was defined.
    pub uses: FileUse,
}

impl RecordFile {
    /// Loads ascending records into an empty file without alternate indexes, bypassing the log. This is the fastest way. `source` fills the buffer
    /// with the next record and returns true, or returns false at the end. After a crash, a prefix of the records may be in the file.
    ///
    /// # Errors
    /// [`LoadStopped`] with [`StoreError::NotAscending`] (21), [`StoreError::WrongLength`] (44) or the error of the source: the preceding records are
    /// in the file. [`StoreError::Unsupported`] for a file that is not empty or has alternate indexes; errors of the medium.
    pub fn load_sorted(
        &self,
        store: &Store,
        source: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool, StoreError>,
    ) -> Result<LoadOutcome, Box<LoadStopped>> {
        let nothing = |error| Box::new(LoadStopped { error, outcome: LoadOutcome::default(), read: Some(0) });
        if !self.stored.definition.alternates.is_empty() {
            return Err(nothing(self.unsupported("a sorted load with alternate indexes")));
        }
        if !store.begin().and_then(|unit| self.is_empty(&unit)).map_err(nothing)? {
            return Err(nothing(self.unsupported("a sorted load into a file with records")));
        }
        let mut address = u64::from(self.stored.definition.organisation == Organisation::Relative);
        let (mut read, mut is_of_source) = (0, false);
        let mut entry = |key: &mut Vec<u8>, record: &mut Vec<u8>| {
            if !source(record)? {
                return Ok(false);
            }
            self.check_length(record)?;
            key.clear();
            match self.stored.definition.organisation {
                Organisation::KeySequenced(place) => {
                    key.extend_from_slice(place.of(record).ok_or_else(|| self.too_short(record))?);
                }
                Organisation::EntrySequenced => {
                    key.extend_from_slice(&address.to_be_bytes());
                    address += address_step(record);
                }
                Organisation::Relative => {
                    self.check_number(address)?;
                    key.extend_from_slice(&address.to_be_bytes());
                    address += 1;
                }
            }
            Ok(true)
        };
        let mut entries = |key: &mut Vec<u8>, record: &mut Vec<u8>| {
            let found = entry(key, record).inspect_err(|_| is_of_source = true)?;
            read += u64::from(found);
            Ok(found)
        };
        let entries: &mut LoadSource<'_> = &mut entries;
        let loaded = store.engine().load(self.stored.records, entries);
        // The known end is discarded after an error too, because some of the records may be stored then.
        store.0.ends.forget(self.stored.records);
        if let Ok(count) = &loaded {
            self.used.changed(RecordChange::Inserted, *count);
        }
        let outcome_of = |loaded| LoadOutcome { loaded, ..LoadOutcome::default() };
        loaded.map(outcome_of).map_err(|error| {
            let loaded = match &error {
                StoreError::NotAscending { entry } => Some(entry - 1),
                _ if is_of_source => Some(read),
                _ => None,
            };
            Box::new(LoadStopped { error, outcome: outcome_of(loaded.unwrap_or(0)), read: loaded })
        })
    }

    /// Loads records in any order, in units of work of some thousand records. A record whose key exists is counted and left out.
    ///
    /// # Errors
    /// [`LoadStopped`] with [`StoreError::WrongLength`] (44) or the error of the source: the records before are in the file. With errors of the medium.
    pub fn load(
        &self,
        store: &Store,
        source: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool, StoreError>,
    ) -> Result<LoadOutcome, Box<LoadStopped>> {
        // The committed part.
        let mut done = (LoadOutcome::default(), 0);
        let stopped = |error, (outcome, read)| Box::new(LoadStopped { error, outcome, read: Some(read) });
        let mut record = Vec::new();
        let (mut outcome, mut read) = done;
        let (mut unit, mut count, mut bytes) = (store.begin().map_err(|error| stopped(error, done))?, 0, 0);
        let end = loop {
            match source(&mut record) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
            match self.insert(&mut unit, &record) {
                Ok(_) => outcome.loaded += 1,
                Err(StoreError::DuplicateKey { .. }) => {
                    outcome.duplicates += 1;
                    outcome.first_duplicate.get_or_insert(read + 1);
                }
                // An insert that fails changes nothing, so the records before it can commit.
                Err(error) => break Some(error),
            }
            read += 1;
            count += 1 + self.stored.indexes.len();
            bytes += record.len();
            if count >= UNIT_CHANGES || bytes >= UNIT_BYTES {
                let next = store.begin().map_err(|error| stopped(error, done))?;
                std::mem::replace(&mut unit, next).commit().map_err(|error| stopped(error, done))?;
                done = (outcome, read);
                (count, bytes) = (0, 0);
            }
        };
        unit.commit().map_err(|error| stopped(error, done))?;
        end.map_or(Ok(outcome), |error| Err(stopped(error, (outcome, read))))
    }

    /// Returns true if the file has no record.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn is_empty(&self, unit: &Unit) -> Result<bool, StoreError> {
        let mut page = Page::default();
        let limit = PageLimit { entries: 1, bytes: usize::MAX };
        let mut next = None;
        loop {
            let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(Direction::Forward, bound));
            unit.page(self.stored.records, range, Direction::Forward, limit, &mut page)?;
            if !page.is_empty() {
                return Ok(false);
            }
            next = page.next.take();
            if next.is_none() {
                return Ok(true);
            }
        }
    }

    /// Counts by reading the whole file.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn facts(&self, unit: &Unit) -> Result<FileFacts, StoreError> {
        let mut facts = FileFacts::default();
        let mut visit = |key: &[u8], record: &[u8]| {
            match &mut facts.keys {
                Some((_, highest)) => {
                    highest.clear();
                    highest.extend_from_slice(key);
                }
                None => facts.keys = Some((key.to_vec(), key.to_vec())),
            }
            let length = record.len() as u64;
            facts.bytes += length;
            facts.shortest = Some(facts.shortest.map_or(length, |shortest| shortest.min(length)));
            facts.longest = Some(facts.longest.map_or(length, |longest| longest.max(length)));
            Ok(())
        };
        facts.records = self.visit_all(unit, &mut visit, None)?;
        facts.uses = self.uses(unit)?;
        for (index, space) in self.stored.definition.alternates.iter().zip(&self.stored.indexes) {
            facts.index_entries.push((index.name.clone(), for_each(unit, *space, &mut |_, _| Ok(()))?));
        }
        Ok(facts)
    }

    /// Reads the whole file and compares records, keys and alternate indexes, and continues after damage. Returns one text for each thing that does not
    /// fit, by the key of the record; at most `texts_max`, and the number of all.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn verify(&self, unit: &Unit, texts_max: usize) -> Result<(Vec<String>, u64), StoreError> {
        let (mut texts, mut count) = (Vec::new(), 0u64);
        let mut report = |text: String| {
            count += 1;
            if texts.len() < texts_max {
                texts.push(text);
            }
        };
        let alternates = &self.stored.definition.alternates;
        let engine = &unit.inner().engine;
        let mut expected = vec![0u64; alternates.len()];
        let mut is_whole = true;
        engine.salvage(self.stored.records, &mut |salvaged| {
            let (key, value) = match salvaged {
                Salvaged::Entry(key, value) => (key, value),
                Salvaged::Damage(key, error) => {
                    is_whole = false;
                    let of = key.map_or("some records".to_owned(), |key| self.named(key));
                    report(format!("{of} cannot be read: {error}"));
                    return Ok(());
                }
            };
            let named = || self.named(key);
            let record = self.record_of(value);
            if self.check_length(record).is_err() {
                report(format!("{} has {} bytes, which the file does not allow", named(), record.len()));
            }
            if let Organisation::KeySequenced(place) = self.stored.definition.organisation
                && place.of(record) != Some(key)
            {
                report(format!("{} has another key than the one that it is stored under", named()));
            }
            let mut stamp_at = 0;
            for ((index, space), expected) in alternates.iter().zip(&self.stored.indexes).zip(&mut expected) {
                let mut entry = index.place.of(record).map(<[u8]>::to_vec);
                if index.duplicates == Duplicates::Allowed {
                    let stamp = value.get(stamp_at..stamp_at + 8).unwrap_or_default();
                    entry.iter_mut().for_each(|entry| entry.extend_from_slice(stamp));
                    stamp_at += 8;
                }
                let Some(entry) = entry else { continue };
                *expected += 1;
                match unit.read(*space, &entry) {
                    Ok(found) if found.as_deref() == Some(key) => {}
                    Ok(_) => report(format!("{} is missing in index {}", named(), index.name)),
                    Err(error) => {
                        report(format!("the entry of {} in index {} cannot be read: {error}", named(), index.name))
                    }
                }
            }
            Ok(())
        })?;
        for ((index, space), expected) in alternates.iter().zip(&self.stored.indexes).zip(&expected) {
            let mut found = 0u64;
            engine.salvage(*space, &mut |salvaged| {
                match salvaged {
                    Salvaged::Entry(..) => found += 1,
                    // Reported with its record, if that could be read.
                    Salvaged::Damage(..) => is_whole = false,
                }
                Ok(())
            })?;
            // If the file has damage, the number of index entries is not checked, because it says nothing more.
            if found != *expected && is_whole {
                report(format!("index {} has {found} entries, expected {expected}", index.name));
            }
        }
        match engine.structure() {
            Err(error @ StoreError::Damaged { .. }) => {
                report(format!("records of {} may be missing: {error}", self.name()))
            }
            checked => checked?,
        }
        Ok((texts, count))
    }

    /// Visits all readable records in file order and reports unreadable parts. Returns the number of records.
    ///
    /// # Errors
    /// Errors of the visit and of the medium.
    pub fn salvage(&self, store: &Store, visit: &mut SalvageRecords<'_>) -> Result<u64, StoreError> {
        let mut count = 0;
        store.engine().salvage(self.stored.records, &mut |salvaged| match salvaged {
            Salvaged::Entry(_, value) => {
                count += 1;
                visit(Ok(self.record_of(value)))
            }
            Salvaged::Damage(key, error) => visit(Err(match (key, error) {
                (Some(key), StoreError::Damaged { file, byte, what }) => {
                    StoreError::Damaged { file, byte, what: format!("{}: {what}", self.named(key)) }
                }
                (None, StoreError::Damaged { file, byte, what }) => {
                    StoreError::Damaged { file, byte, what: format!("some records of {}: {what}", self.name()) }
                }
                (_, error) => error,
            })),
        })?;
        match self.check_structure(store) {
            Err(error @ StoreError::Damaged { .. }) => visit(Err(error))?,
            checked => checked?,
        }
        Ok(count)
    }

    /// Checks that no damage hides records from a browse: the number of entries of a page has no checksum of its own.
    ///
    /// # Errors
    /// [`StoreError::Damaged`]; errors of the medium.
    pub fn check_structure(&self, store: &Store) -> Result<(), StoreError> {
        store.engine().structure().map_err(|error| match error {
            StoreError::Damaged { file, byte, what } => {
                let what = format!("records of {} may be missing: {what}", self.name());
                StoreError::Damaged { file, byte, what }
            }
            error => error,
        })
    }

    /// Describes a record by its key, address or number, for messages.
    fn named(&self, key: &[u8]) -> String {
        let file = self.name();
        let number = key.try_into().map(u64::from_be_bytes);
        match (self.stored.definition.organisation, number) {
            (Organisation::EntrySequenced, Ok(address)) => format!("the record of {file} at address {address}"),
            (Organisation::Relative, Ok(number)) => format!("record {number} of {file}"),
            _ => format!("the record of {file} with key {}", script_word(key)),
        }
    }
}

/// Visits every entry of a space. Returns their number.
pub(crate) fn for_each(unit: &Unit, space: Space, visit: &mut Visit<'_>) -> Result<u64, StoreError> {
    let mut page = Page::default();
    let mut next = None;
    let mut count = 0;
    loop {
        let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(Direction::Forward, bound));
        unit.page(space, range, Direction::Forward, PageLimit::default(), &mut page)?;
        for (key, value) in page.iter() {
            visit(key, value)?;
            count += 1;
        }
        next = page.next.take();
        if next.is_none() {
            return Ok(count);
        }
    }
}
