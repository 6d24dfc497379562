//! Removal of old entries, of the bytes of old interchanges, and of the states of old sources.

use quayline_core::Findings;
use quayline_store::record_file::{By, Relation};
use quayline_store::{LockWait, StoreError};

use crate::defaults::KEEP_DAYS;
use crate::entry::{Entry, EntryId, State};
use crate::ledger::{Ledger, of_store};
use crate::whole::has_old_bytes;

/// Entries that a unit of work of a purge looks at.
const PURGE_PAGE: usize = 256;

impl Ledger {
    /// Removes entries older than their policy or than `days`, in units of work of some hundred entries, so that other work continues.
    /// Waiting documents, and interchanges that are being received, stay. The states of sources of that age are removed as well; the same bytes
    /// are then processed again. Returns the number of entries removed.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn purge(&self, now_ms: u64, days: Option<u64>) -> Result<u64, Findings> {
        let (mut removed, mut next) = (0, Some(EntryId(0)));
        while let Some(from) = next {
            let purged = self.purge_unit(now_ms, days, from)?;
            removed += purged.removed;
            next = purged.next;
        }
        self.purge_sources(now_ms, days)?;
        Ok(removed)
    }

    /// Removes the states of sources that were completed `days` ago, or the default retention of entries, in small units of work.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn purge_sources(&self, now_ms: u64, days: Option<u64>) -> Result<(), Findings> {
        let days = days.unwrap_or(KEEP_DAYS);
        let before = now_ms.saturating_sub(days.saturating_mul(86_400_000));
        let mut after: Option<Vec<u8>> = None;
        loop {
            let mut unit = self.begin().map_err(of_store)?;
            let mut browse = self.arrivals.browse();
            if let Some(after) = &after {
                match browse.start(&unit, By::Key(after), Relation::AtLeast) {
                    Ok(()) => {}
                    Err(StoreError::NotFound { .. }) => return Ok(()),
                    Err(error) => return Err(of_store(error)),
                }
            }
            let (mut old, mut seen, mut is_end) = (Vec::new(), 0, false);
            while seen < PURGE_PAGE {
                match browse.next(&unit) {
                    Ok(record) if after.as_ref().is_some_and(|after| record.key == *after) => {}
                    Ok(record) => {
                        seen += 1;
                        let done_at = crate::receive::done_at(&record.bytes)?;
                        if done_at.is_some_and(|at| at <= before) {
                            old.push(record.key.to_vec());
                        }
                        after = Some(record.key.to_vec());
                    }
                    Err(StoreError::EndOfFile { .. }) => {
                        is_end = true;
                        break;
                    }
                    Err(error) => return Err(of_store(error)),
                }
            }
            let mut changed = false;
            for key in &old {
                // The page was read without locks: a source that came again since then is not complete, or completed now. One that is locked is
                // being processed.
                let found = self.arrivals.read_for_update(&mut unit, By::Key(key), Relation::Equal, LockWait::No);
                match found {
                    Ok(record) if crate::receive::done_at(&record.bytes)?.is_some_and(|at| at <= before) => {
                        self.arrivals.remove(&mut unit, key).map_err(of_store)?;
                        changed = true;
                    }
                    Ok(_) | Err(StoreError::NotFound { .. } | StoreError::LockTimeout { .. }) => {}
                    Err(error) => return Err(of_store(error)),
                }
            }
            if changed {
                unit.commit().map_err(of_store)?;
            }
            if is_end {
                return Ok(());
            }
        }
    }

    /// Does one unit of work of [`Ledger::purge`], over the next entries from a number on. Does not remove states of sources.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn purge_unit(&self, now_ms: u64, days: Option<u64>, from: EntryId) -> Result<Purged, Findings> {
        let mut unit = self.begin().map_err(of_store)?;
        let mut browse = self.entries.browse();
        let mut purged = Purged { removed: 0, next: None };
        match browse.start(&unit, By::Key(&from.0.to_be_bytes()), Relation::AtLeast) {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => return Ok(purged),
            Err(error) => return Err(of_store(error)),
        }
        let mut page = Vec::new();
        while page.len() < PURGE_PAGE {
            match browse.next(&unit) {
                Ok(record) => page.push(self.decoded(&record.bytes)?),
                Err(StoreError::EndOfFile { .. }) => break,
                Err(error) => return Err(of_store(error)),
            }
        }
        let last = page.last().filter(|_| page.len() == PURGE_PAGE);
        purged.next = last.map(|last| EntryId(last.id.0.saturating_add(1)));
        let is_old = |entry: &Entry| {
            let keep_days = match entry.details.keep_days {
                0 => KEEP_DAYS,
                kept => kept,
            };
            let keep_days = days.unwrap_or(keep_days);
            let old = entry.time_ms.saturating_add(keep_days.saturating_mul(86_400_000)) <= now_ms;
            old && !matches!(entry.state, State::Waiting | State::Receiving)
        };
        let mut changed = false;
        for seen in page.iter().filter(|entry| is_old(entry) || has_old_bytes(entry, now_ms)) {
            // The page was read without locks: another process may have changed or removed the entry.
            let Some(entry) = self.locked_if_kept(&mut unit, seen.id)? else { continue };
            if is_old(&entry) {
                self.remove(&mut unit, &entry).map_err(of_store)?;
                purged.removed += 1;
                changed = true;
            } else if has_old_bytes(&entry, now_ms) {
                self.purge_received(&mut unit, entry, now_ms)?;
                changed = true;
            }
        }
        if changed {
            unit.commit().map_err(of_store)?;
        }
        Ok(purged)
    }
}

/// Result of one unit of work of a purge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Purged {
    /// Entries removed.
    pub removed: u64,
    /// Where the next unit of work begins; `None` after the last entry.
    pub next: Option<EntryId>,
}
