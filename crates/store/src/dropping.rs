//! Spaces without a name: those of a file or queue that is being deleted, and those of a copy that has no name yet.
//!
//! ```text
//! catalog   store/dropping/ space (4 bytes, high byte first) ─▶ name of the file or queue
//! ```
//!
//! The unit of work that takes the name away notes the spaces, and the unit that removes their last entry removes the note. A copy notes its spaces before
//! it fills them, and the unit that names them removes the note. So whatever a crash leaves is found: [`Store::sweep`] clears the spaces that are noted and
//! that nobody works on.

use std::ops::Bound;
use std::time::{Duration, Instant};

use crate::engine::{Change, Direction, KeyRange, Page, PageLimit};
use crate::{LockWait, Space, Store, StoreError, Unit};

/// Begin of the keys of the notes.
const NOTES: &[u8] = b"store/dropping/";
/// Begin of the keys that are only locked: whoever fills or clears a space holds its key. The key of the note cannot be locked in its place, since the
/// commit that writes a note ends the lock on it.
const HELD: &[u8] = b"store/clearing/";
/// Entries that one unit of work removes.
const UNIT_CHANGES: usize = 5_000;
/// Bytes of one such unit.
const UNIT_BYTES: usize = 16 << 20;
/// Time that opening a store spends on what a crash left. Default 200 ms: some 100,000 records; the rest follows at the next opening, or with
/// `quayline store compact`.
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
    /// Commits a unit that takes the name of these spaces away, and removes what they hold. After a crash the next opening continues.
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

    /// Removes everything from a space that is noted, in units of bounded size. Whether it is empty: `false` if the time is over before.
    fn clear_space(&self, space: Space, until: Option<Instant>) -> Result<bool, StoreError> {
        let limit = PageLimit { entries: UNIT_CHANGES, bytes: UNIT_BYTES };
        let mut page = Page::default();
        let mut next = None;
        loop {
            let mut unit = self.begin()?;
            let range = next.as_ref().map_or(KeyRange::ALL, |bound| KeyRange::ALL.after(Direction::Forward, bound));
            unit.page(space, range, Direction::Forward, limit, &mut page)?;
            for (key, _) in page.iter() {
                // Nothing leads to the space, so nobody else changes it.
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

    /// Clears spaces that a crash left without a name, for at most some time. Returns how many remain. Spaces that somebody works on stay.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn sweep(&self, time_max: Option<Duration>) -> Result<u64, StoreError> {
        let until = time_max.and_then(|time_max| Instant::now().checked_add(time_max));
        let noted = self.dropped_spaces()?;
        let mut left = 0;
        for space in noted {
            let mut holder = self.begin()?;
            let is_free = match hold(&mut holder, &[space]) {
                Ok(()) => true,
                Err(StoreError::LockTimeout { .. }) => false,
                Err(error) => return Err(error),
            };
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if !is_free || is_over || !self.clear_space(space, until)? {
                left += 1;
            }
        }
        Ok(left)
    }

    /// Spaces that are noted: deletions and copies that are under way or that a crash ended.
    fn dropped_spaces(&self) -> Result<Vec<Space>, StoreError> {
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
