//! Changes without a preceding lookup, for files whose user guarantees which keys exist.
//!
//! An ordinary insert takes a lock and searches for a duplicate in the file and in each unique index. Each of these lookups searches all changes in
//! memory and then the tree. If keys end with a number of a sequence, no duplicate can exist and no other unit can know the key.

use super::access::joined;
use super::{Duplicates, Organisation, RecordFile};
use crate::{StoreError, Unit};

impl RecordFile {
    /// Adds a record whose primary and alternate keys were never used before: each contains a number that a sequence gave once.
    ///
    /// It takes no lock and detects no duplicate. A key that was used before, even if its record was deleted, must go through [`RecordFile::insert`].
    ///
    /// # Errors
    /// [`StoreError::WrongLength`] (44); [`StoreError::Unsupported`] (37) for other organisations and for indexes that allow duplicates.
    pub fn insert_fresh(&self, unit: &mut Unit, record: &[u8]) -> Result<(), StoreError> {
        self.check_length(record)?;
        let definition = &self.stored.definition;
        let Organisation::KeySequenced(place) = definition.organisation else {
            return Err(self.unsupported("inserting without a look-up"));
        };
        if definition.alternates.iter().any(|index| index.duplicates != Duplicates::Unique) {
            return Err(self.unsupported("inserting without a look-up"));
        }
        let key = place.of(record).ok_or_else(|| self.too_short(record))?;
        for (index, space) in definition.alternates.iter().zip(&self.stored.indexes) {
            if let Some(alternate) = index.place.of(record) {
                unit.put_fresh(*space, alternate, key.into())?;
            }
        }
        unit.put_fresh(self.stored.records, key, joined(&[], record))
    }

    /// Writes the record under its key, whether or not one exists. Takes the lock, and reads nothing.
    ///
    /// # Errors
    /// [`StoreError::WrongLength`] (44), locks (93); [`StoreError::Unsupported`] (37) for other organisations and for files with indexes.
    pub fn set(&self, unit: &mut Unit, record: &[u8]) -> Result<(), StoreError> {
        self.check_length(record)?;
        let place = self.plain("setting a record")?;
        let key = place.of(record).ok_or_else(|| self.too_short(record))?;
        unit.put(self.stored.records, key, joined(&[], record))
    }

    /// Removes the record of a key; nothing happens if it is missing. Takes the lock, and reads nothing.
    ///
    /// # Errors
    /// Locks (93); [`StoreError::Unsupported`] (37) for other organisations and for files with indexes.
    pub fn remove(&self, unit: &mut Unit, key: &[u8]) -> Result<(), StoreError> {
        self.plain("removing a key")?;
        unit.delete(self.stored.records, key)
    }

    /// Returns the key position of a key-sequenced file without indexes.
    fn plain(&self, operation: &'static str) -> Result<super::KeyPlace, StoreError> {
        match self.stored.definition.organisation {
            Organisation::KeySequenced(place) if self.stored.definition.alternates.is_empty() => Ok(place),
            _ => Err(self.unsupported(operation)),
        }
    }
}
