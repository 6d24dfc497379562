//! Use counts of record files in the catalog.

use std::sync::Arc;

use super::{RecordFile, records_of};
use crate::file_use::{FileUse, UseCounters};
use crate::{LockWait, Space, Store, StoreError, Unit};

/// Keys of the counts; the space of the records follows.
const PREFIX: &[u8] = b"store/use/";

fn key(space: Space) -> Vec<u8> {
    [PREFIX, &space.0.to_be_bytes()].concat()
}

/// Forgets the uses of a file that is deleted, as a part of the unit of work that deletes it.
pub(crate) fn forget(unit: &mut Unit, space: Space) -> Result<(), StoreError> {
    if unit.read(Space::CATALOG, &key(space))?.is_some() {
        unit.delete(Space::CATALOG, &key(space))?;
    }
    unit.inner().uses.lock().remove(&space);
    Ok(())
}

impl Store {
    /// Adds the counts of record files to the catalog, so that they outlive this process. Does nothing for a store that is opened read-only.
    ///
    /// # Errors
    /// Errors of a unit of work. The next call stores the counts that this call could not store.
    pub fn keep_use(&self) -> Result<(), StoreError> {
        if self.0.read_only {
            return Ok(());
        }
        let files: Vec<(Space, Arc<UseCounters>)> =
            self.0.uses.lock().iter().map(|(space, counters)| (*space, Arc::clone(counters))).collect();
        for (space, counters) in files {
            let mut kept = counters.kept.lock();
            let now = counters.now();
            let more = now.since(&kept);
            if more == FileUse::default() {
                continue;
            }
            let mut unit = self.begin()?;
            let known = unit.read_for_update(Space::CATALOG, &key(space), LockWait::Default)?;
            let known = known.map_or_else(FileUse::default, |bytes| FileUse::decode(&bytes));
            let more = FileUse { since_ms: self.0.clock.now_ms(), ..more };
            unit.put(Space::CATALOG, &key(space), known.plus(&more).encode())?;
            unit.commit()?;
            *kept = now;
        }
        Ok(())
    }

    /// Returns the counts of every record file that this process has used since it opened the store, by file name.
    ///
    /// # Errors
    /// Errors of [`Store::begin`] and of the medium.
    pub fn used_files(&self) -> Result<Vec<(String, FileUse)>, StoreError> {
        let unit = self.begin()?;
        let counters = self.0.uses.lock().clone();
        let mut found = Vec::new();
        for name in self.files(&unit)? {
            // Deleted since it was listed.
            let Some(space) = records_of(&unit, &name) else { continue };
            if let Some(counters) = counters.get(&space) {
                found.push((name, counters.now()));
            }
        }
        Ok(found)
    }
}

impl RecordFile {
    /// Uses of the file since it was defined, those of this process that are not kept yet included.
    ///
    /// # Errors
    /// Errors of the medium.
    pub fn uses(&self, unit: &Unit) -> Result<FileUse, StoreError> {
        let counters = self.counters();
        // Locks the counts before the catalog is read. Otherwise, another thread could move counts there in between.
        let counted = counters.kept.lock();
        let kept = unit.read(Space::CATALOG, &key(self.records_space()))?;
        let kept = kept.map_or_else(FileUse::default, |bytes| FileUse::decode(&bytes));
        let more = counters.now().since(&counted);
        Ok(kept.plus(&more))
    }
}
