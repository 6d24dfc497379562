//! Reading, inserting, rewriting and deleting single records.

use std::ops::Bound;

use super::{By, Duplicates, Inserted, Organisation, Record, RecordFile, Relation};
use crate::file_use::RecordChange;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::usage::Kind;
use crate::{FileStatus, LockWait, Space, StoreError, Unit, Value};

/// Greatest relative record number: that of VSAM.
const NUMBER_MAX: u64 = u32::MAX as u64;

const ONE: PageLimit = PageLimit { entries: 1, bytes: usize::MAX };

/// A place to look: the space, the bytes of the key, and the length of a whole key there.
pub(super) struct Target {
    pub(super) space: Space,
    pub(super) key: Vec<u8>,
    pub(super) whole: usize,
    /// Number of the alternate index.
    pub(super) index: Option<usize>,
}

impl Target {
    /// Returns true if the key is a complete primary key, so that it identifies at most one record.
    fn is_primary(&self, relation: Relation) -> bool {
        self.index.is_none() && relation == Relation::Equal && self.key.len() == self.whole
    }
}

impl RecordFile {
    /// Returns true if more than one record has a key, or begins with a shorter one. A delete by such a key would take the first of them.
    ///
    /// # Errors
    /// As [`Self::read`], without [`StoreError::NotFound`].
    pub fn has_others(&self, unit: &Unit, by: By<'_>) -> Result<bool, StoreError> {
        let definition = &self.stored.definition;
        let (key, place) = match (by, definition.organisation) {
            // A whole primary key is that of one record.
            (By::Key(key), Organisation::KeySequenced(place)) if key.len() < place.length as usize => (key, place),
            (By::Alternate(name, key), _) => match definition.alternates.iter().find(|index| index.name == name) {
                Some(index) => (key, index.place),
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        let mut browse = self.browse();
        let second =
            browse.start(unit, by, Relation::Equal).and_then(|()| browse.next(unit)).and_then(|_| browse.next(unit));
        match second {
            Ok(record) => Ok(place.of(&record.bytes).is_some_and(|found| found.starts_with(key))),
            Err(StoreError::NotFound { .. } | StoreError::EndOfFile { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a record. Takes no lock.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] (23), [`StoreError::IndexMissing`] (39), [`StoreError::Unsupported`] (37).
    pub fn read(&self, unit: &Unit, by: By<'_>, relation: Relation) -> Result<Record, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        if let (By::Key(key), Organisation::KeySequenced(place), Relation::Equal) =
            (by, self.stored.definition.organisation, relation)
            && u32::try_from(key.len()) == Ok(place.length)
        {
            let value = self.look(|| unit.read(self.stored.records, key))?.ok_or_else(|| self.not_found())?;
            return Ok(self.record(key.to_vec(), &value, FileStatus::Success));
        }
        let target = self.target(by)?;
        let (primary, status) = self.find(unit, &target, relation)?;
        let value = self.look(|| unit.read(self.stored.records, &primary))?.ok_or_else(|| self.not_found())?;
        Ok(self.record(primary, &value, status))
    }

    /// Reads a record and locks it until the unit of work ends, so that it can be rewritten or deleted.
    ///
    /// # Errors
    /// Errors of [`Self::read`]; [`StoreError::LockTimeout`] and [`StoreError::Deadlock`] (93).
    pub fn read_for_update(
        &self,
        unit: &mut Unit,
        by: By<'_>,
        relation: Relation,
        wait: LockWait,
    ) -> Result<Record, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        let target = self.target(by)?;
        loop {
            let (primary, status) = self.find(unit, &target, relation)?;
            let value =
                self.look(|| unit.read_for_update(self.stored.records, &primary, wait)).map_err(self.names_file())?;
            if target.is_primary(relation) {
                let value = value.ok_or_else(|| self.not_found())?;
                return Ok(self.record(primary, &value, status));
            }
            // Another unit may have changed the record while this one waited: then it is another record that is looked for.
            if self.find(unit, &target, relation)?.0 == primary {
                let value = value.ok_or_else(|| self.not_found())?;
                return Ok(self.record(primary, &value, status));
            }
        }
    }

    /// Adds a record: by its key, at the end of an entry-sequenced file, or after the last number of a relative file.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`] (22), [`StoreError::WrongLength`] (44), locks (93).
    pub fn insert(&self, unit: &mut Unit, record: &[u8]) -> Result<Inserted, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        self.check_length(record)?;
        let mut before = None;
        loop {
            let key = match self.stored.definition.organisation {
                Organisation::KeySequenced(place) => place.of(record).ok_or_else(|| self.too_short(record))?.to_vec(),
                Organisation::EntrySequenced => self.next_address(unit, address_step(record))?.to_be_bytes().to_vec(),
                Organisation::Relative => {
                    let mut number = self.next_address(unit, 1)?;
                    if number > NUMBER_MAX {
                        number = self.end_again(unit)?;
                    }
                    self.check_number(number)?;
                    number.to_be_bytes().to_vec()
                }
            };
            match self.insert_under(unit, key.clone(), record) {
                // Another unit of work gave the number to a record of its own after the end was read.
                Err(StoreError::DuplicateKey { index: None, .. })
                    if self.stored.definition.organisation == Organisation::Relative
                        && before.as_ref() != Some(&key) =>
                {
                    before = Some(key);
                }
                done => return done,
            }
        }
    }

    /// Adds a record to a relative file under a number that no record has.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`] (22), [`StoreError::OutOfRange`] (24), [`StoreError::WrongLength`] (44), locks (93).
    pub fn insert_at(&self, unit: &mut Unit, number: u64, record: &[u8]) -> Result<Inserted, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        if self.stored.definition.organisation != Organisation::Relative {
            return Err(self.unsupported("inserting by number"));
        }
        self.check_length(record)?;
        self.check_number(number)?;
        let inserted = self.insert_under(unit, number.to_be_bytes().to_vec(), record)?;
        if unit.inner().shared.is_none() {
            let engine = &unit.inner().engine;
            let space = self.stored.records;
            let read = |range: KeyRange<'_>, page: &mut Page| engine.page(space, range, Direction::Backward, ONE, page);
            unit.inner().ends.raise(space, number + 1, || self.end(&read))?;
        }
        Ok(inserted)
    }

    fn insert_under(&self, unit: &mut Unit, key: Vec<u8>, record: &[u8]) -> Result<Inserted, StoreError> {
        let found = self.used.lookup(|_| 0, || unit.read_for_update(self.stored.records, &key, LockWait::Default));
        let found = found.map_err(self.names_file())?;
        if found.is_some() {
            return Err(StoreError::DuplicateKey { file: self.name(), index: None });
        }
        let (stamps, status) = self.enter_indexes(unit, &key, record, None).map_err(self.names_file())?;
        unit.put(self.stored.records, &key, joined(&stamps, record))?;
        unit.record_changed(&self.used, RecordChange::Inserted);
        Ok(Inserted { key, status })
    }

    /// Replaces a record that this unit of work read for update.
    ///
    /// # Errors
    /// [`StoreError::NotReadForUpdate`] (43), [`StoreError::Immutable`] (21 for the key, 44 for the length of an entry), [`StoreError::DuplicateKey`] (22),
    /// [`StoreError::WrongLength`] (44).
    pub fn rewrite(&self, unit: &mut Unit, read: &Record, record: &[u8]) -> Result<FileStatus, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        if !unit.holds(self.stored.records, &read.key) {
            return Err(StoreError::NotReadForUpdate { file: self.name() });
        }
        self.rewrite_under(unit, &read.key, record)
    }

    /// Replaces the record of a key-sequenced file that has the key of the new one, as a `REWRITE` with random access does.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] (23) and those of [`Self::rewrite`].
    pub fn rewrite_by_key(&self, unit: &mut Unit, record: &[u8]) -> Result<FileStatus, StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        let Organisation::KeySequenced(place) = self.stored.definition.organisation else {
            return Err(self.unsupported("rewriting by key"));
        };
        self.check_length(record)?;
        let key = place.of(record).ok_or_else(|| self.too_short(record))?.to_vec();
        self.rewrite_under(unit, &key, record)
    }

    fn rewrite_under(&self, unit: &mut Unit, key: &[u8], record: &[u8]) -> Result<FileStatus, StoreError> {
        self.check_length(record)?;
        let old = self.used.lookup(|_| 0, || unit.read_for_update(self.stored.records, key, LockWait::Default));
        let old = old.map_err(self.names_file())?.ok_or_else(|| self.not_found())?;
        match self.stored.definition.organisation {
            Organisation::KeySequenced(place) if place.of(record) != Some(key) => {
                return Err(StoreError::Immutable { file: self.name(), what: "primary key" });
            }
            Organisation::EntrySequenced if record.len() != self.record_of(&old).len() => {
                return Err(StoreError::Immutable { file: self.name(), what: "length" });
            }
            _ => {}
        }
        let (stamps, status) = self.enter_indexes(unit, key, record, Some(&old)).map_err(self.names_file())?;
        unit.put(self.stored.records, key, joined(&stamps, record))?;
        unit.record_changed(&self.used, RecordChange::Updated);
        Ok(status)
    }

    /// Deletes a record that this unit of work read for update.
    ///
    /// # Errors
    /// [`StoreError::NotReadForUpdate`] (43), [`StoreError::Unsupported`] (37) for an entry-sequenced file.
    pub fn delete(&self, unit: &mut Unit, read: &Record) -> Result<(), StoreError> {
        let _measured = unit.inner().usage.measure(unit.id(), Kind::File, Some(self.stored.records));
        if self.stored.definition.organisation == Organisation::EntrySequenced {
            return Err(self.unsupported("deleting"));
        }
        if !unit.holds(self.stored.records, &read.key) {
            return Err(StoreError::NotReadForUpdate { file: self.name() });
        }
        let value = unit.read(self.stored.records, &read.key)?.ok_or_else(|| self.not_found())?;
        self.leave_indexes(unit, &read.key, &value).map_err(self.names_file())?;
        unit.delete(self.stored.records, &read.key)?;
        unit.record_changed(&self.used, RecordChange::Deleted);
        Ok(())
    }

    /// Adds the name of the file to errors about locks on its records.
    fn names_file(&self) -> impl Fn(StoreError) -> StoreError + use<'_> {
        |error| error.of_record_in(&self.stored.definition.name)
    }

    /// Reads a record and counts the lookup.
    fn look(&self, read: impl FnOnce() -> Result<Option<Value>, StoreError>) -> Result<Option<Value>, StoreError> {
        self.used.lookup(|found| u64::from(matches!(found, Ok(Some(_)))), read)
    }

    pub(super) fn target(&self, by: By<'_>) -> Result<Target, StoreError> {
        let (records, organisation) = (self.stored.records, self.stored.definition.organisation);
        let target = |space, key: &[u8], whole: u32, index| {
            let whole = usize::try_from(whole).unwrap_or(usize::MAX);
            if key.len() > whole {
                return Err(StoreError::TooLong { what: "key", found: key.len(), max: whole });
            }
            Ok(Target { space, key: key.to_vec(), whole, index })
        };
        match (by, organisation) {
            (By::Key(key), Organisation::KeySequenced(place)) => target(records, key, place.length, None),
            (By::Address(address), Organisation::EntrySequenced) => target(records, &address.to_be_bytes(), 8, None),
            (By::Number(number), Organisation::Relative) => {
                self.check_number(number)?;
                target(records, &number.to_be_bytes(), 8, None)
            }
            (By::Alternate(name, key), _) => {
                let index = self.index(name)?;
                let length = self.stored.definition.alternates[index].place.length;
                target(self.stored.indexes[index], key, length, Some(index))
            }
            (By::Key(_), _) => Err(self.unsupported("reading by key")),
            (By::Address(_), _) => Err(self.unsupported("reading by address")),
            (By::Number(_), _) => Err(self.unsupported("reading by number")),
        }
    }

    /// Returns the primary key of the record, with status 02 if the next record has the same alternate key.
    fn find(&self, unit: &Unit, target: &Target, relation: Relation) -> Result<(Vec<u8>, FileStatus), StoreError> {
        if target.is_primary(relation) {
            return Ok((target.key.clone(), FileStatus::Success));
        }
        let range = KeyRange { from: Bound::Included(&target.key), to: Bound::Unbounded };
        let count = if target.index.is_some() { 2 } else { 1 };
        let limit = PageLimit { entries: count, bytes: usize::MAX };
        let look = || unit.first_entries(target.space, range, Direction::Forward, limit);
        let found = self.used.lookup(|_| 0, look)?;
        let Some((key, value)) = found.first() else { return Err(self.not_found()) };
        // Every key begins with an empty one, which a program gives by mistake, such as a variable without a value.
        if relation == Relation::Equal && (target.key.is_empty() || !key.starts_with(&target.key)) {
            return Err(self.not_found());
        }
        if target.index.is_none() {
            return Ok((key.to_vec(), FileStatus::Success));
        }
        let repeats = found.get(1).is_some_and(|(next, _)| next.get(..target.whole) == key.get(..target.whole));
        let status = if repeats { FileStatus::DuplicateAlternate } else { FileStatus::Success };
        Ok((value.to_vec(), status))
    }

    pub(super) fn record(&self, key: Vec<u8>, value: &Value, status: FileStatus) -> Record {
        let bytes = if self.stored.stamped() == 0 { Value::clone(value) } else { self.record_of(value).into() };
        Record { key, bytes, status }
    }

    /// Enters a record into the alternate indexes; `old` is the stored value that it replaces. Everything is checked and locked before anything changes:
    /// a unit of work may go on after an error, and repeats a change that had to wait.
    fn enter_indexes(
        &self,
        unit: &mut Unit,
        key: &[u8],
        record: &[u8],
        old: Option<&Value>,
    ) -> Result<(Vec<u8>, FileStatus), StoreError> {
        let alternates = &self.stored.definition.alternates;
        let old_record = old.map(|value| self.record_of(value));
        let unchanged = |place: &super::KeyPlace| old_record.is_some_and(|old| place.of(old) == place.of(record));
        let mut changes = Vec::with_capacity(2 * alternates.len());
        // The locks on unique keys first: other units of work can have them.
        for (index, space) in alternates.iter().zip(&self.stored.indexes) {
            if index.duplicates != Duplicates::Unique || unchanged(&index.place) {
                continue;
            }
            if let Some(old_key) = old_record.and_then(|old| index.place.of(old)) {
                unit.lock(*space, old_key, LockWait::Default)?;
                changes.push(IndexChange { space: *space, entry: old_key.to_vec(), is_put: false });
            }
            if let Some(alternate) = index.place.of(record) {
                if unit.read_for_update(*space, alternate, LockWait::Default)?.is_some() {
                    return Err(StoreError::DuplicateKey { file: self.name(), index: Some(index.name.clone()) });
                }
                changes.push(IndexChange { space: *space, entry: alternate.to_vec(), is_put: true });
            }
        }
        let mut stamps = Vec::with_capacity(8 * self.stored.stamped());
        let mut status = FileStatus::Success;
        for (index, space) in alternates.iter().zip(&self.stored.indexes) {
            if index.duplicates == Duplicates::Unique {
                continue;
            }
            let old_stamp = old.and_then(|value| value.get(stamps.len()..stamps.len() + 8));
            if unchanged(&index.place) {
                stamps.extend_from_slice(old_stamp.unwrap_or(&[0; 8]));
                continue;
            }
            if let (Some(old_key), Some(old_stamp)) = (old_record.and_then(|old| index.place.of(old)), old_stamp) {
                changes.push(IndexChange { space: *space, entry: [old_key, old_stamp].concat(), is_put: false });
            }
            let stamp = unit.inner().next_stamp().to_be_bytes();
            if let Some(new_key) = index.place.of(record) {
                if self.has_alternate(unit, *space, new_key)? {
                    status = FileStatus::DuplicateAlternate;
                }
                changes.push(IndexChange { space: *space, entry: [new_key, &stamp].concat(), is_put: true });
            }
            stamps.extend_from_slice(&stamp);
        }
        let value_bytes = key.len() + stamps.len() + record.len();
        self.change_indexes(unit, key, &changes, value_bytes)?;
        Ok((stamps, status))
    }

    fn leave_indexes(&self, unit: &mut Unit, key: &[u8], value: &Value) -> Result<(), StoreError> {
        let record = self.record_of(value);
        let mut stamp_at = 0;
        let mut changes = Vec::with_capacity(self.stored.indexes.len());
        for (index, space) in self.stored.definition.alternates.iter().zip(&self.stored.indexes) {
            let stamp = match index.duplicates {
                Duplicates::Unique => &[][..],
                Duplicates::Allowed => &value[stamp_at..stamp_at + 8],
            };
            stamp_at += stamp.len();
            if let Some(alternate) = index.place.of(record) {
                changes.push(IndexChange { space: *space, entry: [alternate, stamp].concat(), is_put: false });
            }
        }
        self.change_indexes(unit, key, &changes, key.len())
    }

    /// Locks the entries, and changes them if the unit of work has room for all changes and for the record itself.
    fn change_indexes(
        &self,
        unit: &mut Unit,
        key: &[u8],
        changes: &[IndexChange],
        record_bytes: usize,
    ) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        for change in changes {
            unit.lock(change.space, &change.entry, LockWait::Default)?;
        }
        let bytes = changes.iter().map(|change| change.entry.len() + if change.is_put { key.len() } else { 0 });
        unit.has_room(changes.len() + 1, bytes.sum::<usize>() + record_bytes)?;
        for change in changes {
            if change.is_put {
                unit.put(change.space, &change.entry, key)?;
            } else {
                unit.delete(change.space, &change.entry)?;
            }
        }
        Ok(())
    }

    fn has_alternate(&self, unit: &Unit, space: Space, key: &[u8]) -> Result<bool, StoreError> {
        let end = [key, &[0xff; 9]].concat();
        let range = KeyRange { from: Bound::Included(key), to: Bound::Included(&end) };
        Ok(!unit.first_entries(space, range, Direction::Forward, ONE)?.is_empty())
    }

    /// Allocates the next address or number. Units of work that append at the same time get different ones.
    ///
    /// If several processes share the store, units that append wait for each other, and each looks up the end in the store.
    fn next_address(&self, unit: &mut Unit, length: u64) -> Result<u64, StoreError> {
        let space = self.stored.records;
        if unit.inner().shared.is_some() {
            // No record has an empty key.
            unit.lock(space, b"", LockWait::Default).map_err(self.names_file())?;
            return self.end(&|range, page| unit.page(space, range, Direction::Backward, ONE, page));
        }
        let engine = &unit.inner().engine;
        let read = |range: KeyRange<'_>, page: &mut Page| engine.page(space, range, Direction::Backward, ONE, page);
        unit.inner().ends.take(space, length, || self.end(&read))
    }

    /// Looks up the end of a relative file again. A rollback or delete of the greatest number leaves the known end beyond all numbers.
    #[cold]
    fn end_again(&self, unit: &Unit) -> Result<u64, StoreError> {
        let space = self.stored.records;
        let end = self.end(&|range, page| unit.page(space, range, Direction::Backward, ONE, page))?;
        unit.inner().ends.forget(space);
        unit.inner().ends.take(space, 1, || Ok(end))
    }

    /// Returns the address or number after the last record.
    fn end(&self, read: &dyn Fn(KeyRange<'_>, &mut Page) -> Result<(), StoreError>) -> Result<u64, StoreError> {
        let first = u64::from(self.stored.definition.organisation == Organisation::Relative);
        let mut page = Page::default();
        let mut range = KeyRange::ALL;
        let mut next;
        loop {
            read(range, &mut page)?;
            if !page.is_empty() {
                break;
            }
            next = page.next.take();
            match &next {
                Some(bound) => range = KeyRange::ALL.after(Direction::Backward, bound),
                None => return Ok(first),
            }
        }
        let (key, value) = page.entry(0);
        let last = key.try_into().map_or(0, u64::from_be_bytes);
        let length = if first == 1 { 1 } else { address_step(self.record_of(value)) };
        Ok(last + length)
    }

    pub(super) fn check_number(&self, number: u64) -> Result<(), StoreError> {
        if (1..=NUMBER_MAX).contains(&number) {
            return Ok(());
        }
        Err(StoreError::OutOfRange { file: self.name(), found: number, max: NUMBER_MAX })
    }

    pub(super) fn too_short(&self, record: &[u8]) -> StoreError {
        let definition = &self.stored.definition;
        let bound = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (min, max) = (bound(definition.record_bytes_min), bound(definition.record_bytes_max));
        StoreError::WrongLength { file: self.name(), found: record.len(), min, max }
    }
}

/// A change of an entry of an alternate index.
struct IndexChange {
    space: Space,
    entry: Vec<u8>,
    is_put: bool,
}

/// Returns the distance from the address of an entry-sequenced record to the next one. An empty record also has a distinct address.
pub(super) fn address_step(record: &[u8]) -> u64 {
    (record.len() as u64).max(1)
}

/// Builds a stored value: the stamps followed by the record.
pub(super) fn joined(stamps: &[u8], record: &[u8]) -> Value {
    if stamps.is_empty() { record.into() } else { [stamps, record].concat().into() }
}
