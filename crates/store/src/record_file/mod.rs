//! Record files: key-sequenced, entry-sequenced and relative, with alternate indexes kept in the same unit of work.
//!
//! ```text
//! space of the records   key, address or number ─▶ stamps (8 bytes for each index with duplicates), record
//! space of an index      unique:     alternate key          ─▶ key or address of the record
//!                        duplicates: alternate key, stamp    ─▶ key or address of the record
//! ```
//!
//! Keys are compared byte by byte, so an EBCDIC file keeps its order. Addresses and numbers are 8 bytes, high byte first. A stamp is ascending,
//! so records of one alternate key are read in the order in which they got it, as VSAM does.
//!
//! Departures from VSAM:
//! - Two units of work may append to an entry-sequenced file at the same time, so a unit that rolls back leaves a gap between addresses.
//! - A record may be empty, if the definition allows it. In an entry-sequenced file, the address after it is one greater.
//! - A record that is too short for an alternate key is left out of that index; VSAM refuses it.

mod access;
mod browse;
mod definition;
mod direct;
mod inserter;
mod listing;
mod load;
mod rebuild;
mod script;
mod script_answer;
mod uses;

use std::sync::{Arc, Weak};

use crate::catalog::{self, Kind};
use crate::file_use::UseCounters;
use crate::shared::{Arrival, Shared};
use crate::{FileStatus, Space, Store, StoreError, Unit, Value};

pub use browse::Browse;
pub(crate) use definition::StoredFile;
pub use definition::{AlternateIndex, Duplicates, FileDefinition, KeyPlace, Organisation};
pub use inserter::Inserter;
pub(crate) use load::for_each;
pub use load::{FileFacts, LoadOutcome, LoadStopped, SalvageRecords};
pub use rebuild::FileChange;
pub use script::{ScriptAnswer, ScriptFault, ScriptRun, script_word};

/// An open record file. Clones share it; every operation names its unit of work.
#[derive(Clone, Debug)]
pub struct RecordFile {
    stored: Arc<StoredFile>,
    used: Arc<UseCounters>,
}

/// Takes a key and a record, one after another.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError> + 'a;

/// Identification of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By<'a> {
    /// Primary key of a key-sequenced file. A shorter key is generic: it matches all keys that begin with it.
    Key(&'a [u8]),
    /// Key of an alternate index, by the name of the index; also generic.
    Alternate(&'a str, &'a [u8]),
    /// Relative byte address in an entry-sequenced file.
    Address(u64),
    /// Relative record number in a relative file, from 1.
    Number(u64),
}

/// Relation of the record's key to the given key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    /// `KEY_EQ`: the same key, or a key that begins with a generic one.
    Equal,
    /// `KEY_GE`: the same key or the next greater one.
    AtLeast,
}

/// A record that was read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// Primary key, or 8 bytes of address or number.
    pub key: Vec<u8>,
    /// The record.
    pub bytes: Value,
    /// 00, or 02 if the next record of the alternate index has the same key.
    pub status: FileStatus,
}

impl Record {
    /// Address or number of a record of an entry-sequenced or relative file.
    #[must_use]
    pub fn address(&self) -> Option<u64> {
        self.key.as_slice().try_into().ok().map(u64::from_be_bytes)
    }
}

/// A record that was added.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inserted {
    /// Primary key, or 8 bytes of address or number.
    pub key: Vec<u8>,
    /// 00, or 02 if another record has the same alternate key.
    pub status: FileStatus,
}

impl Store {
    /// Opens a record file.
    ///
    /// # Errors
    /// [`StoreError::FileMissing`] (35); [`StoreError::FileInUse`] (93) while another process changes the definition of the file.
    pub fn file(&self, unit: &Unit, name: &str) -> Result<RecordFile, StoreError> {
        let mut stored = stored(unit, name)?;
        if let Some(shared) = &self.0.shared
            && !self.0.used_files.lock().contains(&stored.records)
        {
            // Until the other processes see that this one uses the file, none of them may change its definition.
            let mut own = self.begin()?;
            if !catalog::holds(unit, Kind::File, name) {
                lock_name(&mut own, name)?;
                stored = self::stored(&own, name)?;
            }
            self.use_file(shared.as_ref(), stored.records)?;
        }
        Ok(self.record_file(stored))
    }

    fn record_file(&self, stored: StoredFile) -> RecordFile {
        RecordFile { used: self.0.use_of(stored.records), stored: Arc::new(stored) }
    }

    /// Makes known to other processes that this one uses a file, until it ends.
    fn use_file(&self, shared: &dyn Shared, records: Space) -> Result<(), StoreError> {
        let nobody: Weak<Nobody> = Weak::new();
        shared.watch(records, nobody)?;
        self.0.used_files.lock().insert(records);
        Ok(())
    }

    /// Opens a file that no other process uses or can open before the unit of work ends.
    pub(crate) fn file_alone(&self, unit: &mut Unit, name: &str) -> Result<RecordFile, StoreError> {
        if self.0.shared.is_some() {
            lock_name(unit, name)?;
        }
        let stored = stored(unit, name)?;
        match &self.0.shared {
            Some(shared) if shared.is_watched(stored.records)? => Err(StoreError::FileInUse { file: name.to_owned() }),
            _ => Ok(self.record_file(stored)),
        }
    }

    /// Names of all record files, ascending.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn files(&self, unit: &Unit) -> Result<Vec<String>, StoreError> {
        catalog::names(unit, Kind::File)
    }

    /// Defines an empty record file as a part of a unit of work.
    ///
    /// # Errors
    /// [`StoreError::BadDefinition`], [`StoreError::Exists`].
    pub fn define_file(&self, unit: &mut Unit, definition: FileDefinition) -> Result<RecordFile, StoreError> {
        definition.check()?;
        catalog::reserve(unit, Kind::File, &definition.name)?;
        let stored = new_spaces(unit, definition)?;
        catalog::add(unit, Kind::File, &stored.definition.name, &stored.encode())?;
        if let Some(shared) = &self.0.shared {
            self.use_file(shared.as_ref(), stored.records)?;
        }
        Ok(self.record_file(stored))
    }

    /// Deletes a record file with all its records: first the name, in one unit of work, then the records in units of some thousands, so that a file
    /// of any size needs bounded memory. After a crash in the middle, the next opening of the store continues.
    ///
    /// # Errors
    /// [`StoreError::FileMissing`], [`StoreError::FileInUse`] by another process, errors of the medium.
    pub fn delete_file(&self, name: &str) -> Result<(), StoreError> {
        let mut unit = self.begin()?;
        let file = self.file_alone(&mut unit, name)?;
        catalog::remove(&mut unit, Kind::File, name)?;
        uses::forget(&mut unit, file.stored.records)?;
        let spaces: Vec<Space> = file.spaces().collect();
        self.drop_spaces(unit, &spaces, name)
    }
}

/// Receiver that ignores arrivals: a file is watched only so that other processes see its use.
struct Nobody;

impl Arrival for Nobody {
    fn arrived(&self, _count: u64) {}
}

fn stored(unit: &Unit, name: &str) -> Result<StoredFile, StoreError> {
    let found = catalog::find(unit, Kind::File, name)?;
    let value = found.ok_or_else(|| StoreError::FileMissing { name: name.to_owned() })?;
    StoredFile::decode(name, &value)
}

/// Returns the space of the records of a file. Does not open the file, so other processes do not see a use.
pub(crate) fn records_of(unit: &Unit, name: &str) -> Option<Space> {
    stored(unit, name).ok().map(|stored| stored.records)
}

/// Locks the name of a file. Another process has this lock while it changes the definition.
fn lock_name(unit: &mut Unit, name: &str) -> Result<(), StoreError> {
    catalog::lock(unit, Kind::File, name).map_err(|error| match error {
        StoreError::LockTimeout { .. } => StoreError::FileInUse { file: name.to_owned() },
        error => error,
    })
}

/// Allocates new spaces for a definition.
fn new_spaces(unit: &mut Unit, definition: FileDefinition) -> Result<StoredFile, StoreError> {
    let records = catalog::new_space(unit)?;
    let indexes = definition.alternates.iter().map(|_| catalog::new_space(unit)).collect::<Result<Vec<_>, _>>()?;
    Ok(StoredFile { definition, records, indexes })
}

impl RecordFile {
    /// Returns the spaces of the records and of the alternate indexes.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = Space> + '_ {
        [self.stored.records].into_iter().chain(self.stored.indexes.iter().copied())
    }

    /// Returns the space of the records.
    pub(crate) fn records_space(&self) -> Space {
        self.stored.records
    }

    /// Counters of its uses.
    pub(crate) fn counters(&self) -> &UseCounters {
        &self.used
    }

    /// Returns the definition.
    #[must_use]
    pub fn definition(&self) -> &FileDefinition {
        &self.stored.definition
    }

    fn name(&self) -> String {
        self.stored.definition.name.clone()
    }

    fn unsupported(&self, operation: &'static str) -> StoreError {
        let organisation = self.stored.definition.organisation.text();
        StoreError::Unsupported { file: self.name(), organisation, operation }
    }

    fn not_found(&self) -> StoreError {
        StoreError::NotFound { file: self.name() }
    }

    /// Returns the position of an alternate index in the definition.
    fn index(&self, name: &str) -> Result<usize, StoreError> {
        let found = self.stored.definition.alternates.iter().position(|index| index.name == name);
        found.ok_or_else(|| StoreError::IndexMissing { file: self.name(), index: name.to_owned() })
    }

    /// Returns the record in a stored value, without its stamps.
    fn record_of<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        value.get(8 * self.stored.stamped()..).unwrap_or_default()
    }

    fn check_length(&self, record: &[u8]) -> Result<(), StoreError> {
        let definition = &self.stored.definition;
        let bound = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (min, max) = (bound(definition.record_bytes_min), bound(definition.record_bytes_max));
        if (min..=max).contains(&record.len()) {
            return Ok(());
        }
        Err(StoreError::WrongLength { file: self.name(), found: record.len(), min, max })
    }
}
