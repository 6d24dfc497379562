//! Unnamed spaces: those of a deleted file or queue that are not yet cleared, and those of a copy that has no name yet.
//!
//! ```text
//! catalog   store/dropping/ space (4 bytes, high byte first) ─▶ name of the file or queue
//! ```
//!
//! The unit of work that deletes the name writes a note for each of the spaces, and the unit that removes a space's last entry deletes its note. A
//! copy writes the notes before it fills its spaces, and the unit that names the spaces deletes the notes. Therefore every remainder of a crash has a
//! note: [`Store::sweep`] clears the noted spaces that no process works on.

use std::ops::Bound;
use std::time::{Duration, Instant};

use crate::engine::Change;
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::{LockWait, Space, Store, StoreError, Unit};

/// Begin of the keys of the notes.
const NOTES: &[u8] = b"store/dropping/";
/// Prefix of keys that are only locked: a unit that fills or clears a space locks the space's key. The key of the note is unsuitable for this,
/// because the commit that writes the note releases the lock on it.
const HELD: &[u8] = b"store/clearing/";
/// Entries that one unit of work removes.
const UNIT_CHANGES: usize = 5_000;
/// Bytes of one such unit.
const UNIT_BYTES: usize = 16 << 20;
/// Time that opening a store spends on clearing the remains of a crash. Default 200 ms, about 100,000 records. The next opening, or
/// `quayline store compact`, continues.
pub(crate) const SWEEP_AT_OPEN: Duration = Duration::from_millis(200);

fn key(begin: &[u8], space: Space) -> Vec<u8> {
    [begin, &space.0.to_be_bytes()].concat()
}

/// Notes spaces that lose their name, or that have none yet, with the unit of work.
pub(crate) fn note(unit: &mut Unit, spaces: &[Space], name: &str) -> Result<(), StoreError> {
    spaces.iter().try_for_each(|space| unit.put(Space::CATALOG, &key(NOTES, *space), name.as_bytes()))
}

/// Removes the notes of spaces that get a name, with the unit of work.
pub(crate) fn forget(unit: &mut Unit, spaces: &[Space]) -> Result<(), StoreError> {
    spaces.iter().try_for_each(|space| unit.delete(Space::CATALOG, &key(NOTES, *space)))
}

/// Keeps others from clearing spaces as long as the unit is open.
pub(crate) fn hold(unit: &mut Unit, spaces: &[Space]) -> Result<(), StoreError> {
    spaces.iter().try_for_each(|space| unit.lock(Space::CATALOG, &key(HELD, *space), LockWait::No))
}

impl Store {
    /// Commits a unit that deletes the name of these spaces, and removes their entries. After a crash the next opening continues.
    pub(crate) fn drop_spaces(&self, unit: Unit, spaces: &[Space], name: &str) -> Result<(), StoreError> {
        let _holder = self.commit_dropping(unit, spaces, name)?;
        self.clear_spaces(spaces)
    }

    /// Commits a unit that takes the name of these spaces away. The answer keeps others from clearing them.
    pub(crate) fn commit_dropping(&self, mut unit: Unit, spaces: &[Space], name: &str) -> Result<Unit, StoreError> {
        let mut holder = self.begin()?;
        hold(&mut holder, spaces)?;
        note(&mut unit, spaces, name)?;
        unit.commit()?;
        Ok(holder)
    }

    /// Removes everything from spaces that are noted, and their notes.
    pub(crate) fn clear_spaces(&self, spaces: &[Space]) -> Result<(), StoreError> {
        spaces.iter().try_for_each(|space| self.clear_space(*space, None).map(|_| ()))
    }

    /// Removes all entries from a noted space, in units of bounded size. Returns false if the time ends before the space is empty.
    pub(crate) fn clear_space(&self, space: Space, until: Option<Instant>) -> Result<bool, StoreError> {
        let limit = PageLimit { entries: UNIT_CHANGES, bytes: UNIT_BYTES };
        let mut page = Page::default();
        let mut next = None;
        loop {
            let mut unit = self.begin()?;
            let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(Direction::Forward, bound));
            unit.page(space, range, Direction::Forward, limit, &mut page)?;
            for (key, _) in page.iter() {
                // No name refers to the space, so no other unit changes it.
                unit.change_claimed(space, key, Change::Delete)?;
            }
            next = page.next.take();
            if next.is_none() {
                forget(&mut unit, &[space])?;
            }
            unit.commit()?;
            if next.is_none() {
                self.0.ends.forget(space);
                return Ok(true);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
        }
    }

    /// Returns whether a space has a note now.
    pub(crate) fn is_noted(&self, space: Space) -> Result<bool, StoreError> {
        Ok(self.begin()?.read(Space::CATALOG, &key(NOTES, space))?.is_some())
    }

    /// Returns the noted spaces: those of deletions and copies that are in progress or were interrupted by a crash.
    pub(crate) fn dropped_spaces(&self) -> Result<Vec<Space>, StoreError> {
        let unit = self.begin()?;
        let mut spaces = Vec::new();
        let mut page = Page::default();
        let mut next = Some(Bound::Included(NOTES.to_vec()));
        while let Some(bound) = next {
            let range = KeyRange::ALL.after(Direction::Forward, &bound);
            unit.page(Space::CATALOG, range, Direction::Forward, PageLimit::default(), &mut page)?;
            for (key, _) in page.iter() {
                let Some(space) = key.strip_prefix(NOTES) else { return Ok(spaces) };
                spaces.extend(space.try_into().map(|space| Space(u32::from_be_bytes(space))));
            }
            next = page.next.take();
        }
        Ok(spaces)
    }
}
