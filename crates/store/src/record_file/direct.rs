//! Changes that look for nothing first: for files whose user knows what is there.
//!
//! An ordinary insert takes a lock and looks for a duplicate in the file and in each unique index. Each of these look-ups goes through everything that is
//! in memory and then into the tree. Where keys end with a number of a sequence, no duplicate can exist and nobody else can know the key.

use super::access::joined;
use super::{Duplicates, Organisation, RecordFile};
use crate::{StoreError, Unit};

impl RecordFile {
    /// Adds a record whose key, and whose key in each alternate index, nobody ever used: each contains a number that a sequence gave once.
    ///
    /// It takes no lock and finds no duplicate. A key that was used before, even if its record was deleted, must go through [`RecordFile::insert`].
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

    /// Sets the record of its key, whether or not there is one. Takes the lock, and reads nothing.
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

    /// The place of the key of a file without indexes.
    fn plain(&self, operation: &'static str) -> Result<super::KeyPlace, StoreError> {
        match self.stored.definition.organisation {
            Organisation::KeySequenced(place) if self.stored.definition.alternates.is_empty() => Ok(place),
            _ => Err(self.unsupported(operation)),
        }
    }
}
