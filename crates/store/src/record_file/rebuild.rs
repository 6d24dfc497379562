//! Changing the definition of a file: all records are copied into new spaces, which then take over the name in one unit of work.
//!
//! The new spaces have no name until they are full, so an interrupted change leaves the file as it was: the spaces are noted
//! (see [`crate::dropping`]), and the next opening of the store clears them.

use super::load::for_each;
use super::uses;
use super::{AlternateIndex, Duplicates, FileDefinition, RecordFile, StoredFile};
use crate::catalog::{self, Kind};
use crate::dropping;
use crate::engine::{Change, LoadSource};
use crate::{Space, Store, StoreError, Unit, Value};

/// Changes of one unit of work of a copy.
const UNIT_CHANGES: usize = 5_000;
/// Bytes of one such unit.
const UNIT_BYTES: usize = 16 << 20;

/// Changes to the definition of a file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileChange {
    /// New name.
    pub name: Option<String>,
    /// New lengths of records: the shortest and the longest. Every record must fit.
    pub record_bytes: Option<(u32, u32)>,
    /// Alternate indexes to add.
    pub add: Vec<AlternateIndex>,
    /// Names of alternate indexes to remove.
    pub remove: Vec<String>,
}

/// A copy that has no name yet.
struct Copy {
    stored: StoredFile,
    spaces: Vec<Space>,
    count: u64,
    /// Keeps others from clearing the spaces as long as they have no name.
    _holder: Unit,
}

impl Store {
    /// Copies all records of a file into a new one. Addresses and numbers are preserved, and so is the order of records with one alternate key. Other
    /// processes cannot open the file during the copy; units of work of this process must not change it. Returns the number of records.
    ///
    /// # Errors
    /// [`StoreError::BadDefinition`], [`StoreError::Exists`], [`StoreError::WrongLength`], [`StoreError::DuplicateKey`] for a unique index,
    /// [`StoreError::FileInUse`] by another process. The new file then does not exist.
    pub fn copy_file(&self, from: &str, definition: FileDefinition) -> Result<u64, StoreError> {
        definition.check()?;
        let mut unit = self.begin()?;
        let from = self.file_alone(&mut unit, from)?;
        if definition.organisation != from.stored.definition.organisation {
            let what = "a copy has the organisation and key of its origin".to_owned();
            return Err(StoreError::BadDefinition { name: definition.name, what });
        }
        // Before the copy, which may take long.
        catalog::reserve(&mut unit, Kind::File, &definition.name)?;
        let copy = self.copy_of(&from, definition)?;
        catalog::add(&mut unit, Kind::File, &copy.stored.definition.name, &copy.stored.encode())?;
        dropping::forget(&mut unit, &copy.spaces)?;
        unit.commit()?;
        Ok(copy.count)
    }

    /// Changes a file: the records are copied and replace the old ones in one unit of work. An empty change rewrites the file, which closes its gaps.
    /// Other processes cannot open the file during the change; units of work of this process must not use it. Returns the number of copied records;
    /// renaming alone copies none.
    ///
    /// # Errors
    /// Errors of [`Store::copy_file`]; [`StoreError::IndexMissing`]. The file stays as it was.
    pub fn alter_file(&self, name: &str, change: FileChange) -> Result<u64, StoreError> {
        let mut unit = self.begin()?;
        let old = self.file_alone(&mut unit, name)?;
        let mut definition = old.definition().clone();
        for index in &change.remove {
            old.index(index)?;
            definition.alternates.retain(|known| known.name != *index);
        }
        definition.alternates.extend(change.add.iter().cloned());
        (definition.record_bytes_min, definition.record_bytes_max) =
            change.record_bytes.unwrap_or((definition.record_bytes_min, definition.record_bytes_max));
        let new_name = change.name.clone().unwrap_or_else(|| name.to_owned());
        definition.name.clone_from(&new_name);
        definition.check()?;
        let is_renamed = new_name != name;
        if is_renamed {
            catalog::reserve(&mut unit, Kind::File, &new_name)?;
        }
        if is_renamed && change == (FileChange { name: change.name.clone(), ..FileChange::default() }) {
            let StoredFile { records, indexes, .. } = (*old.stored).clone();
            let stored = StoredFile { definition, records, indexes };
            catalog::remove(&mut unit, Kind::File, name)?;
            catalog::add(&mut unit, Kind::File, &new_name, &stored.encode())?;
            unit.commit()?;
            return Ok(0);
        }
        let copy = self.copy_of(&old, definition)?;
        catalog::remove(&mut unit, Kind::File, name)?;
        catalog::add(&mut unit, Kind::File, &new_name, &copy.stored.encode())?;
        dropping::forget(&mut unit, &copy.spaces)?;
        uses::forget(&mut unit, old.records_space())?;
        let spaces: Vec<Space> = old.spaces().collect();
        self.drop_spaces(unit, &spaces, name)?;
        Ok(copy.count)
    }

    /// Copies the records of a file into new spaces, unless damage may hide some: the copy may replace the file.
    fn copy_of(&self, from: &RecordFile, definition: FileDefinition) -> Result<Copy, StoreError> {
        from.check_structure(self)?;
        let (mut unit, mut holder) = (self.begin()?, self.begin()?);
        let stored = super::new_spaces(&mut unit, definition)?;
        let to = self.record_file(stored.clone());
        let spaces: Vec<Space> = to.spaces().collect();
        dropping::hold(&mut holder, &spaces)?;
        dropping::note(&mut unit, &spaces, &stored.definition.name)?;
        unit.commit()?;
        match from.fill(self, &to) {
            Ok(count) => Ok(Copy { stored, spaces, count, _holder: holder }),
            Err(error) => {
                // If this fails too, the spaces stay noted.
                let _ = self.clear_spaces(&spaces);
                Err(error)
            }
        }
    }
}

impl RecordFile {
    /// Copies all records into an empty file.
    fn fill(&self, store: &Store, to: &RecordFile) -> Result<u64, StoreError> {
        if to.stored.definition.alternates.is_empty() {
            self.fill_sorted(store, to)
        } else {
            self.fill_indexed(store, to)
        }
    }

    fn fill_sorted(&self, store: &Store, to: &RecordFile) -> Result<u64, StoreError> {
        let unit = store.begin()?;
        let mut browse = self.browse();
        let mut source = |key: &mut Vec<u8>, value: &mut Vec<u8>| match browse.next(&unit) {
            Ok(record) => {
                to.check_length(&record.bytes)?;
                key.clone_from(&record.key);
                value.clear();
                value.extend_from_slice(&record.bytes);
                Ok(true)
            }
            Err(StoreError::EndOfFile { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let source: &mut LoadSource<'_> = &mut source;
        store.engine().load(to.stored.records, source)
    }

    fn fill_indexed(&self, store: &Store, to: &RecordFile) -> Result<u64, StoreError> {
        let reads = store.begin()?;
        let (mut unit, mut count, mut bytes) = (store.begin()?, 0, 0);
        let copied = for_each(&reads, self.stored.records, &mut |key, value| {
            let record = self.record_of(value);
            to.check_length(record)?;
            let mut stored = Vec::with_capacity(8 * to.stored.stamped() + record.len());
            for (index, space) in to.stored.definition.alternates.iter().zip(&to.stored.indexes) {
                let alternate = index.place.of(record);
                match (index.duplicates, alternate) {
                    (Duplicates::Unique, Some(alternate)) => {
                        if unit.read(*space, alternate)?.is_some() {
                            return Err(StoreError::DuplicateKey {
                                file: self.name(),
                                index: Some(index.name.clone()),
                            });
                        }
                        unit.change_claimed(*space, alternate, Change::Put(key.into()))?;
                    }
                    (Duplicates::Unique, None) => {}
                    (Duplicates::Allowed, alternate) => {
                        let stamp = self.stamp_of(value, index).unwrap_or_else(|| store.0.next_stamp().to_be_bytes());
                        if let Some(alternate) = alternate {
                            unit.change_claimed(*space, &[alternate, &stamp].concat(), Change::Put(key.into()))?;
                        }
                        stored.extend_from_slice(&stamp);
                    }
                }
            }
            stored.extend_from_slice(record);
            bytes += stored.len();
            // The new spaces are not visible to other units, so no lock is needed.
            unit.change_claimed(to.stored.records, key, Change::Put(Value::from(stored)))?;
            count += 1 + to.stored.indexes.len();
            if count >= UNIT_CHANGES || bytes >= UNIT_BYTES {
                std::mem::replace(&mut unit, store.begin()?).commit()?;
                (count, bytes) = (0, 0);
            }
            Ok(())
        })?;
        unit.commit()?;
        Ok(copied)
    }

    /// Returns the stamp of a stored record for the index with the same name and key.
    fn stamp_of(&self, value: &[u8], index: &AlternateIndex) -> Option<[u8; 8]> {
        let stamped = self.stored.definition.alternates.iter().filter(|known| known.duplicates == Duplicates::Allowed);
        let place = stamped.enumerate().find(|(_, known)| *known == index)?.0;
        value.get(8 * place..8 * place + 8)?.try_into().ok()
    }
}
