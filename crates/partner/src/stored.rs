//! Partners in the store: the texts of their partner files as records, and the record of their changes.
//!
//! | file | key | record |
//! |---|---|---|
//! | `PARTNER.PARTNERS` | name, padded with NUL (32) | form (1), then the text of the partner file |
//! | `PARTNER.CHANGES` | number of the change (8), place in it (4) | a line of JSON, as in `changes.jsonl` |
//!
//! The sequence `partner/partners` numbers the changes. A change locks it first, so changes happen one after the other in all processes, and its
//! unit of work commits the texts, the lines and the number together. A reader that finds the same number before and after it reads has read
//! the texts of one change. The files are defined by the first change, so a store without partners has none of them.

use std::path::PathBuf;

use quayline_core::{Fault, Finding, Findings, Place};
use quayline_project::partner::stored_path;
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation, RecordFile};
use quayline_store::{LockWait, Space, Store, StoreError, Unit};
use serde_json::Value;

use crate::codes;
use crate::ledger::of_store;

/// Name of the sequence that numbers the changes.
const CHANGES: &str = "partner/partners";
const PARTNERS_FILE: &str = "PARTNER.PARTNERS";
const CHANGES_FILE: &str = "PARTNER.CHANGES";
/// Bytes of a name in a key; a partner's name has at most as many.
const NAME_BYTES: usize = 32;
const NAME_KEY_BYTES: u32 = 32;
/// The only form of a stored text: UTF-8, as the user wrote it.
const FORM: u8 = 1;
/// Maximum bytes of a partner's text in the store. Default 1 MiB: about 5,000 rules, and a change of all of 200 such partners fits into a unit of work.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Maximum number of changes on record in the store; the oldest is removed. Default 10,000: a year of 27 changes a day, in about 3 MB.
const CHANGES_KEPT_MAX: u64 = 10_000;
/// Reads without a lock before one waits for the change in progress. Default 8: changes take longer than reads, so a second read nearly always suffices.
const READS_MAX: usize = 8;
const CHANGE_BYTES_MAX: u32 = 4 << 10;

/// Returns the number of changes of partners in the store; 0 if there never was one. It shows whether they are as they were.
///
/// # Errors
/// Errors of the store.
pub fn stored_version(store: &Store) -> Result<u64, Findings> {
    let read = || -> Result<u64, StoreError> { store.begin()?.last_number(CHANGES) };
    read().map_err(of_store)
}

/// Returns true if a store has or had partners. A store that cannot be read has none; its next use reports why.
#[must_use]
pub fn has_stored(store: &Store) -> bool {
    stored_version(store).is_ok_and(|changes| changes > 0)
}

/// Partners in the store as one change left them.
pub(crate) struct StoredPartners {
    /// Number of changes so far.
    pub(crate) version: u64,
    /// Path, as [`stored_path`] returns it, and text, by name.
    pub(crate) texts: Vec<(PathBuf, String)>,
}

impl StoredPartners {
    /// Reads all texts.
    pub(crate) fn read(store: &Store) -> Result<StoredPartners, Findings> {
        let mut unit = store.begin().map_err(of_store)?;
        for _ in 0..READS_MAX {
            let version = unit.last_number(CHANGES).map_err(of_store)?;
            if version == 0 {
                return Ok(StoredPartners { version, texts: Vec::new() });
            }
            let texts = texts_of(store, &unit)?;
            if unit.last_number(CHANGES).map_err(of_store)? == version {
                return Ok(StoredPartners { version, texts });
            }
        }
        unit.lock(Space::NUMBERS, CHANGES.as_bytes(), LockWait::Default).map_err(of_store)?;
        let version = unit.last_number(CHANGES).map_err(of_store)?;
        Ok(StoredPartners { version, texts: texts_of(store, &unit)? })
    }
}

/// Reads the texts of all partners, which are nothing if the file is not defined.
fn texts_of(store: &Store, unit: &Unit) -> Result<Vec<(PathBuf, String)>, Findings> {
    let file = match store.file(unit, PARTNERS_FILE) {
        Ok(file) => file,
        Err(StoreError::FileMissing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(of_store(error)),
    };
    let mut texts = Vec::new();
    let mut wrong: Vec<Finding> = Vec::new();
    file.scan(unit, &mut |key, record| {
        let name = crate::time::text_of(key).trim_end_matches('\0').to_owned();
        let text = record.get(NAME_BYTES..).and_then(|rest| rest.split_first());
        match text.filter(|(form, _)| **form == FORM).and_then(|(_, text)| std::str::from_utf8(text).ok()) {
            Some(text) => texts.push((stored_path(&name), text.to_owned())),
            None => wrong.push(unreadable(&name)),
        }
        Ok(())
    })
    .map_err(of_store)?;
    if wrong.is_empty() { Ok(texts) } else { Err(Findings(wrong)) }
}

fn unreadable(name: &str) -> Finding {
    let place = Place { file: Some(stored_path(name).display().to_string().into()), ..Place::default() };
    let finding =
        Finding::error(codes::DAMAGED, Fault::Environment, "the partner in the store is not readable").at(place);
    finding.hint("check the store with `quayline store check`; a newer version of Quayline may have written it")
}

/// A change of partners in the store: a unit of work that holds the lock on their number.
pub(crate) struct StoredChange {
    unit: Unit,
    store: Store,
    number: u64,
    lines: u32,
    files: Option<(RecordFile, RecordFile)>,
}

impl StoredChange {
    /// Begins a change, after those of other processes.
    pub(crate) fn begin(store: &Store) -> Result<StoredChange, Findings> {
        let mut unit = store.begin().map_err(of_store)?;
        let number = unit.next_number(CHANGES).map_err(of_store)?;
        Ok(StoredChange { unit, store: store.clone(), number, lines: 0, files: None })
    }

    /// Returns the texts of all partners, as they are before the change.
    pub(crate) fn texts(&self) -> Result<Vec<(PathBuf, String)>, Findings> {
        texts_of(&self.store, &self.unit)
    }

    /// Returns the files of partners and of changes, and defines them if they are missing.
    fn files(&mut self) -> Result<&(RecordFile, RecordFile), Findings> {
        if self.files.is_none() {
            let text_bytes = u32::try_from(TEXT_BYTES_MAX).unwrap_or(u32::MAX);
            let partners = self.file(PARTNERS_FILE, NAME_KEY_BYTES, NAME_KEY_BYTES + 1 + text_bytes)?;
            let changes = self.file(CHANGES_FILE, 12, CHANGE_BYTES_MAX)?;
            self.files = Some((partners, changes));
        }
        Ok(self.files.as_ref().expect("opened above"))
    }

    fn file(&mut self, name: &str, key_bytes: u32, record_bytes_max: u32) -> Result<RecordFile, Findings> {
        match self.store.file(&self.unit, name) {
            Err(StoreError::FileMissing { .. }) => {
                let definition = FileDefinition {
                    name: name.to_owned(),
                    organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: key_bytes }),
                    record_bytes_min: key_bytes,
                    record_bytes_max,
                    alternates: Vec::new(),
                };
                self.store.define_file(&mut self.unit, definition).map_err(of_store)
            }
            found => found.map_err(of_store),
        }
    }

    /// Sets the text of a partner.
    pub(crate) fn put(&mut self, name: &str, text: &str) -> Result<(), Findings> {
        let mut record = key_of(name).to_vec();
        record.push(FORM);
        record.extend_from_slice(text.as_bytes());
        let (partners, _) = self.files()?.clone();
        partners.set(&mut self.unit, &record).map_err(of_store)
    }

    /// Removes a partner.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Findings> {
        let (partners, _) = self.files()?.clone();
        partners.remove(&mut self.unit, &key_of(name)).map_err(of_store)
    }

    /// Adds a line to the record of changes.
    pub(crate) fn record(&mut self, line: &str) -> Result<(), Findings> {
        let (_, changes) = self.files()?.clone();
        let mut record = self.number.to_be_bytes().to_vec();
        record.extend_from_slice(&self.lines.to_be_bytes());
        record.extend_from_slice(line.as_bytes());
        self.lines += 1;
        changes.insert_fresh(&mut self.unit, &record).map_err(of_store)
    }

    /// Commits the change. If it changes nothing, its number is free for the next one.
    pub(crate) fn commit(mut self) -> Result<(), Findings> {
        if self.lines == 0 {
            self.unit.roll_back();
            return Ok(());
        }
        self.forget()?;
        self.unit.commit().map_err(of_store)?;
        Ok(())
    }

    /// Removes lines of changes that are too old to keep.
    fn forget(&mut self) -> Result<(), Findings> {
        let Some(oldest) = self.number.checked_sub(CHANGES_KEPT_MAX) else { return Ok(()) };
        let (_, changes) = self.files()?.clone();
        let mut browse = changes.browse();
        loop {
            // An earlier change has removed the older ones, unless there were none to keep.
            let key = match browse.next(&self.unit) {
                Ok(record) => record.key,
                Err(StoreError::EndOfFile { .. }) => return Ok(()),
                Err(error) => return Err(of_store(error)),
            };
            if number_of(&key) > oldest {
                return Ok(());
            }
            changes.remove(&mut self.unit, &key).map_err(of_store)?;
        }
    }
}

/// Returns lines of the record of changes in the store, the newest first, at most `count`.
pub(crate) fn recorded(store: &Store, count: usize) -> Result<Vec<Value>, Findings> {
    let unit = store.begin().map_err(of_store)?;
    let file = match store.file(&unit, CHANGES_FILE) {
        Ok(file) => file,
        Err(StoreError::FileMissing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(of_store(error)),
    };
    let mut browse = file.browse();
    browse.to_end();
    let mut lines = Vec::new();
    while lines.len() < count {
        match browse.previous(&unit) {
            Ok(record) => lines.extend(serde_json::from_slice(&record.bytes[12..]).ok()),
            Err(StoreError::EndOfFile { .. }) => break,
            Err(error) => return Err(of_store(error)),
        }
    }
    Ok(lines)
}

/// Returns the finding about a text that does not fit into a record.
pub(crate) fn check_size(text: &str) -> Option<Finding> {
    if text.len() <= TEXT_BYTES_MAX {
        return None;
    }
    let message = format!("the partner has {} bytes, and the store keeps at most {TEXT_BYTES_MAX}", text.len());
    let hint = "keep it in a file of `partners`, or move rules to your own partner";
    Some(Finding::error(codes::ROSTER, Fault::Caller, message).hint(hint))
}

fn number_of(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}

fn key_of(name: &str) -> [u8; NAME_BYTES] {
    let mut key = [0; NAME_BYTES];
    key[..name.len()].copy_from_slice(name.as_bytes());
    key
}
