//! Reading one record after another, both ways, by the primary key or an alternate one.

use std::ops::Bound;

use super::{By, Record, RecordFile, Relation, Visit};
use crate::file_use::UseCounters;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::{FileStatus, Space, StoreError, Unit, Value};

/// Entries of the first page after a start, and of the largest: a browse that continues reads more at once.
const PAGE_ENTRIES: (usize, usize) = (8, 1024);
const PAGE_BYTES: usize = 256 << 10;

/// A position in a record file.
///
/// A browse takes no lock and no snapshot: it sees committed changes of others ahead of it, page by page, and every change of its own unit of work.
#[derive(Debug)]
pub struct Browse {
    file: RecordFile,
    index: Option<usize>,
    space: Space,
    at: At,
    page: Page,
    /// Next entry of the page.
    next: usize,
    direction: Direction,
    /// Changes of the unit of work when the page was read.
    version: u64,
    page_entries: usize,
    /// Records that it returned and that are not counted yet.
    returned: u64,
}

impl Drop for Browse {
    fn drop(&mut self) {
        self.file.used.found(self.returned);
    }
}

/// Position of a browse, by keys of the space that it reads.
#[derive(Clone, Debug, Eq, PartialEq)]
enum At {
    Begin,
    End,
    /// Before an unread entry, in either direction.
    Before(Vec<u8>),
    /// After an entry that was read.
    Read(Vec<u8>),
    /// Nowhere: the last start found nothing.
    Lost,
}

impl RecordFile {
    /// Starts a browse by the primary key, address or number, at the first record.
    #[must_use]
    pub fn browse(&self) -> Browse {
        Browse::new(self, None)
    }

    /// Starts a browse by an alternate index, at its first record.
    ///
    /// # Errors
    /// [`StoreError::IndexMissing`] (39).
    pub fn browse_by(&self, index: &str) -> Result<Browse, StoreError> {
        Ok(Browse::new(self, Some(self.index(index)?)))
    }

    /// Visits every record in the order of the primary key, address or number: the quickest way to read a whole file. Returns the number visited.
    ///
    /// # Errors
    /// Errors of the medium and of the visit.
    pub fn scan(&self, unit: &Unit, visit: &mut Visit<'_>) -> Result<u64, StoreError> {
        self.visit_all(unit, visit, Some(&self.used))
    }

    /// Visits every record as `visit_all` of the public interface does; `used` counts the reads if it is given.
    pub(super) fn visit_all(
        &self,
        unit: &Unit,
        visit: &mut Visit<'_>,
        used: Option<&UseCounters>,
    ) -> Result<u64, StoreError> {
        let limit = PageLimit { entries: PAGE_ENTRIES.1, bytes: PAGE_BYTES };
        let mut page = Page::default();
        let mut next: Option<Bound<Vec<u8>>> = None;
        let mut count = 0;
        loop {
            let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(Direction::Forward, bound));
            let mut look = || {
                unit.page(self.stored.records, range, Direction::Forward, limit, &mut page)?;
                Ok(page.len() as u64)
            };
            let found = |found: &Result<u64, StoreError>| found.as_ref().map_or(0, |count| *count);
            match used {
                Some(used) => used.lookup(found, look)?,
                None => look()?,
            };
            for (key, value) in page.iter() {
                visit(key, self.record_of(value))?;
                count += 1;
            }
            next = page.next.take();
            if next.is_none() {
                return Ok(count);
            }
        }
    }
}

impl Browse {
    fn new(file: &RecordFile, index: Option<usize>) -> Self {
        Browse {
            file: file.clone(),
            index,
            space: index.map_or(file.stored.records, |index| file.stored.indexes[index]),
            at: At::Begin,
            page: Page::default(),
            next: 0,
            direction: Direction::Forward,
            version: 0,
            page_entries: PAGE_ENTRIES.0,
            returned: 0,
        }
    }

    /// Positions the browse at a record; the next read, either way, reads it. `by` may name another index than before.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] (23); then the browse has no position.
    pub fn start(&mut self, unit: &Unit, by: By<'_>, relation: Relation) -> Result<(), StoreError> {
        self.at = At::Lost;
        self.forget_page();
        let target = self.file.target(by)?;
        (self.index, self.space) = (target.index, target.space);
        self.page_entries = PAGE_ENTRIES.0;
        self.at = At::Before(target.key.clone());
        let found = self.fetch(unit, Direction::Forward);
        self.at = At::Lost;
        if !found? {
            return Err(self.file.not_found());
        }
        let key = self.page.entry(0).0.to_vec();
        if relation == Relation::Equal && !key.starts_with(&target.key) {
            return Err(self.file.not_found());
        }
        self.at = At::Before(key);
        Ok(())
    }

    /// Returns the position after a read record, for [`Self::resume`]. It is valid as long as the file has the same keys and indexes, even after the
    /// record is deleted.
    #[must_use]
    pub fn place(&self) -> Option<&[u8]> {
        match &self.at {
            At::Read(key) => Some(key),
            _ => None,
        }
    }

    /// Positions the browse after a position of a browse by the same key or index. The next read, in either direction, reads its neighbor.
    pub fn resume(&mut self, place: &[u8]) {
        self.at = At::Read(place.to_vec());
        self.forget_page();
    }

    /// Positions the browse before the first record.
    pub fn to_begin(&mut self) {
        self.at = At::Begin;
        self.forget_page();
    }

    /// Positions the browse after the last record.
    pub fn to_end(&mut self) {
        self.at = At::End;
        self.forget_page();
    }

    /// Reads the next record.
    ///
    /// # Errors
    /// [`StoreError::EndOfFile`] (10), [`StoreError::NoPosition`] (46).
    pub fn next(&mut self, unit: &Unit) -> Result<Record, StoreError> {
        self.step(unit, Direction::Forward)
    }

    /// Reads the previous record.
    ///
    /// # Errors
    /// [`StoreError::EndOfFile`] (10), [`StoreError::NoPosition`] (46).
    pub fn previous(&mut self, unit: &Unit) -> Result<Record, StoreError> {
        self.step(unit, Direction::Backward)
    }

    /// Discards entries that were read ahead, so that the next read shows later commits of other units of work.
    pub fn refresh(&mut self) {
        self.forget_page();
    }

    fn forget_page(&mut self) {
        self.page.clear();
        self.next = 0;
    }

    fn step(&mut self, unit: &Unit, direction: Direction) -> Result<Record, StoreError> {
        if self.at == At::Lost {
            return Err(StoreError::NoPosition { file: self.file.name() });
        }
        loop {
            let stale = direction != self.direction || unit.version() != self.version;
            if (stale || self.next >= self.page.len()) && !self.fetch(unit, direction)? {
                return Err(StoreError::EndOfFile { file: self.file.name() });
            }
            let (key, value) = self.page.entry(self.next);
            self.at = At::Read(key.to_vec());
            let (key, value) = (key.to_vec(), Value::from(value));
            self.next += 1;
            let Some(index) = self.index else {
                self.returned += 1;
                return Ok(self.file.record(key, &value, FileStatus::Success));
            };
            // Another unit may have deleted the record since the page of the index was read.
            let look = || unit.read(self.file.stored.records, &value);
            if let Some(stored) = self.file.used.lookup(|_| 0, look)? {
                let whole = usize::try_from(self.file.definition().alternates[index].place.length).unwrap_or(0);
                let status = self.status_of(unit, &key[..whole.min(key.len())])?;
                self.returned += 1;
                return Ok(self.file.record(value.to_vec(), &stored, status));
            }
        }
    }

    /// Returns status 02 if the next entry has the same alternate key.
    fn status_of(&mut self, unit: &Unit, key: &[u8]) -> Result<FileStatus, StoreError> {
        let more = self.next < self.page.len() || self.fetch(unit, self.direction)?;
        let repeats = more && self.page.entry(self.next).0.starts_with(key);
        Ok(if repeats { FileStatus::DuplicateAlternate } else { FileStatus::Success })
    }

    /// Reads the page that follows the position. Returns true if it contains an entry.
    fn fetch(&mut self, unit: &Unit, direction: Direction) -> Result<bool, StoreError> {
        let begin: Option<Bound<Vec<u8>>> = match (&self.at, direction) {
            (At::Begin, Direction::Backward) | (At::End, Direction::Forward) | (At::Lost, _) => {
                self.forget_page();
                return Ok(false);
            }
            (At::Begin | At::End, _) => None,
            (At::Before(key), _) => Some(Bound::Included(key.clone())),
            (At::Read(key), _) => Some(Bound::Excluded(key.clone())),
        };
        self.direction = direction;
        self.version = unit.version();
        self.next = 0;
        let limit = PageLimit { entries: self.page_entries, bytes: PAGE_BYTES };
        self.page_entries = (self.page_entries * 2).min(PAGE_ENTRIES.1);
        let mut next = begin;
        loop {
            let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(direction, bound));
            let returned = std::mem::take(&mut self.returned);
            let (space, page) = (self.space, &mut self.page);
            self.file.used.lookup(|_| returned, || unit.page(space, range, direction, limit, page))?;
            if !self.page.is_empty() {
                return Ok(true);
            }
            next = self.page.next.take();
            if next.is_none() {
                return Ok(false);
            }
        }
    }
}
