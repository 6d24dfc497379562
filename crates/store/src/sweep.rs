//! Clearing of spaces that a crash left without a name.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::catalog::{self, Kind};
use crate::dropping::hold;
use crate::queue::StoredQueue;
use crate::record_file::StoredFile;
use crate::{Space, Store, StoreError};

impl Store {
    /// Clears unnamed spaces that a crash left, within a time limit. Returns the number of spaces that remain. Skips spaces that another unit works
    /// on.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn sweep(&self, time_max: Option<Duration>) -> Result<u64, StoreError> {
        let until = time_max.and_then(|time_max| Instant::now().checked_add(time_max));
        let noted = self.dropped_spaces()?;
        let mut left = 0;
        let mut named = None;
        for space in noted {
            let mut holder = self.begin()?;
            let is_free = match hold(&mut holder, &[space]) {
                Ok(()) => true,
                Err(StoreError::LockTimeout { .. }) => false,
                Err(error) => return Err(error),
            };
            // Another process may have named the space since its note was read, and then released it: its entries are those of a file now.
            if is_free && !self.is_noted(space)? {
                continue;
            }
            // A definition names the space in spite of its note: a fault must not remove entries that are in use.
            if named.is_none() {
                named = Some(self.named_spaces()?);
            }
            if named.as_ref().is_some_and(|named| named.contains(&space)) {
                continue;
            }
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if !is_free || is_over || !self.clear_space(space, until)? {
                left += 1;
            }
        }
        Ok(left)
    }

    /// Returns the spaces that definitions name. A definition of an unknown version is an error.
    fn named_spaces(&self) -> Result<BTreeSet<Space>, StoreError> {
        let unit = self.begin()?;
        let mut spaces = BTreeSet::new();
        for name in catalog::names(&unit, Kind::Queue)? {
            if let Some(stored) = catalog::find(&unit, Kind::Queue, &name)? {
                spaces.extend(StoredQueue::decode(&name, &stored)?.spaces());
            }
        }
        for name in catalog::names(&unit, Kind::File)? {
            if let Some(stored) = catalog::find(&unit, Kind::File, &name)? {
                let StoredFile { records, indexes, .. } = StoredFile::decode(&name, &stored)?;
                spaces.extend([records].into_iter().chain(indexes));
            }
        }
        Ok(spaces)
    }
}
