//! Changing what a file is: copies of all records into new spaces, which then take the old name in one unit of work.

use super::load::for_each;
use super::{AlternateIndex, Duplicates, FileDefinition, RecordFile, StoredFile};
use crate::catalog::{self, Kind};
use crate::engine::LoadSource;
use crate::{Store, StoreError, Value};

/// Changes of one unit of work of a copy.
const UNIT_CHANGES: usize = 5_000;
/// Bytes of one such unit.
const UNIT_BYTES: usize = 16 << 20;

/// What becomes different about a file.
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

impl Store {
    /// Copies all records of a file into a new one. Addresses and numbers stay, and so does the order of records with one alternate key. Nobody may
    /// change the file meanwhile. Returns the number of records.
    ///
    /// # Errors
    /// [`StoreError::BadDefinition`], [`StoreError::Exists`], [`StoreError::WrongLength`], [`StoreError::DuplicateKey`] for a unique index. The new file is
    /// deleted again.
    pub fn copy_file(&self, from: &str, definition: FileDefinition) -> Result<u64, StoreError> {
        let mut unit = self.begin()?;
        let from = self.file(&unit, from)?;
        if definition.organisation != from.stored.definition.organisation {
            let what = "a copy has the organisation and key of its origin".to_owned();
            return Err(StoreError::BadDefinition { name: definition.name, what });
        }
        let name = definition.name.clone();
        let to = self.define_file(&mut unit, definition)?;
        unit.commit()?;
        let copied = from.fill(self, &to);
        if copied.is_err() {
            self.delete_file(&name)?;
        }
        copied
    }

    /// Changes a file: the records are copied and then take the place of the old ones in one unit of work. An empty change stores the file anew, which
    /// closes its gaps. Nobody may use the file meanwhile. Returns the number of records; a mere renaming copies none.
    ///
    /// An interrupted change leaves a file `NAME.NEW` that can be deleted.
    ///
    /// # Errors
    /// Those of [`Store::copy_file`]; [`StoreError::IndexMissing`]. The file stays as it was.
    pub fn alter_file(&self, name: &str, change: FileChange) -> Result<u64, StoreError> {
        let unit = self.begin()?;
        let old = self.file(&unit, name)?;
        drop(unit);
        let mut definition = old.definition().clone();
        for index in &change.remove {
            old.index(index)?;
            definition.alternates.retain(|known| known.name != *index);
        }
        definition.alternates.extend(change.add.iter().cloned());
        (definition.record_bytes_min, definition.record_bytes_max) =
            change.record_bytes.unwrap_or((definition.record_bytes_min, definition.record_bytes_max));
        let new_name = change.name.clone().unwrap_or_else(|| name.to_owned());
        let is_renaming =
            change == FileChange { name: change.name.clone(), ..FileChange::default() } && new_name != name;
        if is_renaming {
            definition.name.clone_from(&new_name);
            let StoredFile { records, indexes, .. } = (*old.stored).clone();
            self.exchange(&[name], StoredFile { definition, records, indexes })?;
            return Ok(0);
        }
        // Under the name that the user knows.
        definition.name.clone_from(&new_name);
        definition.check()?;
        definition.name = format!("{name}.NEW");
        let passing = definition.name.clone();
        let copied = self.copy_file(name, definition)?;
        let unit = self.begin()?;
        let new = self.file(&unit, &passing)?;
        drop(unit);
        let mut stored = (*new.stored).clone();
        stored.definition.name = new_name;
        self.exchange(&[name, &passing], stored)?;
        for space in std::iter::once(old.stored.records).chain(old.stored.indexes.iter().copied()) {
            self.clear_space(space)?;
        }
        Ok(copied)
    }

    fn exchange(&self, names: &[&str], stored: StoredFile) -> Result<(), StoreError> {
        let mut unit = self.begin()?;
        for name in names {
            catalog::remove(&mut unit, Kind::File, name)?;
        }
        catalog::add(&mut unit, Kind::File, &stored.definition.name, &stored.encode())?;
        unit.commit()?;
        Ok(())
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
                        unit.put(*space, alternate, key)?;
                    }
                    (Duplicates::Unique, None) => {}
                    (Duplicates::Allowed, alternate) => {
                        let stamp = self.stamp_of(value, index).unwrap_or_else(|| store.0.next_stamp().to_be_bytes());
                        if let Some(alternate) = alternate {
                            unit.put(*space, &[alternate, &stamp].concat(), key)?;
                        }
                        stored.extend_from_slice(&stamp);
                    }
                }
            }
            stored.extend_from_slice(record);
            bytes += stored.len();
            unit.put(to.stored.records, key, Value::from(stored))?;
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

    /// The stamp that a stored record has for an index of the same name and key.
    fn stamp_of(&self, value: &[u8], index: &AlternateIndex) -> Option<[u8; 8]> {
        let stamped = self.stored.definition.alternates.iter().filter(|known| known.duplicates == Duplicates::Allowed);
        let place = stamped.enumerate().find(|(_, known)| *known == index)?.0;
        value.get(8 * place..8 * place + 8)?.try_into().ok()
    }
}
