//! Inserts of many records in units of work of some thousand.

use super::{By, Organisation, RecordFile, Relation};
use crate::{Store, StoreError, Unit};

/// Records of one unit of work.
const UNIT_RECORDS: u64 = 5_000;
/// Bytes of records after which a unit of work commits earlier.
const UNIT_BYTES: usize = 16 << 20;

/// Adds records to a file. An identical record that already exists stays, so an interrupted run can be repeated.
#[derive(Debug)]
pub struct Inserter {
    store: Store,
    unit: Option<Unit>,
    file: RecordFile,
    count: u64,
    bytes: usize,
}

impl Inserter {
    /// Begins with the first record.
    #[must_use]
    pub fn new(store: Store, file: RecordFile) -> Self {
        Inserter { store, unit: None, file, count: 0, bytes: 0 }
    }

    /// Adds a record, and commits if the unit of work has reached its size. Returns the number of records that a commit made durable.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`] (22) for another record with this key or a unique alternate key, and those of [`RecordFile::insert`].
    pub fn insert(&mut self, record: &[u8]) -> Result<u64, StoreError> {
        let unit = match &mut self.unit {
            Some(unit) => unit,
            none => none.insert(self.store.begin()?),
        };
        match self.file.insert(unit, record) {
            Ok(_) => {}
            Err(StoreError::DuplicateKey { index: None, .. }) if is_there(&self.file, unit, record)? => {}
            Err(error) => return Err(error),
        }
        self.count += 1;
        self.bytes += record.len();
        if self.count >= UNIT_RECORDS || self.bytes >= UNIT_BYTES { self.commit() } else { Ok(0) }
    }

    /// Commits the remaining records. Returns their number.
    ///
    /// # Errors
    /// Errors of [`Unit::commit`].
    pub fn commit(&mut self) -> Result<u64, StoreError> {
        let Some(unit) = self.unit.take() else { return Ok(0) };
        unit.commit()?;
        self.bytes = 0;
        Ok(std::mem::take(&mut self.count))
    }
}

/// Returns true if the file has an identical record under its key.
fn is_there(file: &RecordFile, unit: &Unit, record: &[u8]) -> Result<bool, StoreError> {
    let Organisation::KeySequenced(place) = file.definition().organisation else { return Ok(false) };
    let Some(key) = place.of(record) else { return Ok(false) };
    Ok(*file.read(unit, By::Key(key), Relation::Equal)?.bytes == *record)
}
