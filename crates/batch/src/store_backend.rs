//! The job repository in a Quayline store: records of queues, record files and jobs commit in one unit of work.

use std::ops::Bound;
use std::sync::Arc;

use quayline_store::{Clock, Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, Unit, UnitMark};

use crate::error::BatchError;
use crate::record::Lease;
use crate::repository::lease_holds;
use crate::work::{Backend, Fence, PageOf, Pending, Work, WorkMark};

/// A store as the place of the job repository.
pub struct StoreBackend {
    store: Store,
    clock: Arc<dyn Clock>,
    owner: u64,
}

impl StoreBackend {
    /// Opens the repository in a store. One commit numbers this opening.
    ///
    /// # Errors
    /// Those of the store.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Self, BatchError> {
        let mut unit = store.begin()?;
        let owner = unit.next_number("jobs/owner")?;
        unit.commit()?;
        Ok(StoreBackend { store, clock, owner })
    }
}

impl Backend for StoreBackend {
    fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        Ok(Box::new(StoreWork { unit: self.store.begin()?, marks: Vec::new() }))
    }

    fn owner(&self) -> Result<u64, BatchError> {
        Ok(self.owner)
    }

    /// Only one process at a time opens a store, so executions of other owners are certainly over.
    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
        Ok(lease.owner != self.owner)
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

struct StoreWork {
    unit: Unit,
    marks: Vec<UnitMark>,
}

impl Work for StoreWork {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        Ok(self.unit.read(Space::JOBS, key)?.map(|value| value.to_vec()))
    }

    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        Ok(self.unit.read_for_update(Space::JOBS, key, LockWait::Default)?.map(|value| value.to_vec()))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError> {
        Ok(self.unit.put(Space::JOBS, key, value)?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError> {
        Ok(self.unit.delete(Space::JOBS, key)?)
    }

    fn page(&mut self, of: PageOf<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, BatchError> {
        let end = after_prefix(of.prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (range, direction) = if of.newest_first {
            (
                KeyRange { from: Bound::Included(of.prefix), to: of.after.map_or(to, Bound::Excluded) },
                Direction::Backward,
            )
        } else {
            let from = of.after.map_or(Bound::Included(of.prefix), Bound::Excluded);
            (KeyRange { from, to }, Direction::Forward)
        };
        let mut found = Vec::new();
        let mut page = Page::default();
        let limit = PageLimit { entries: of.count.max(1), bytes: 16 << 20 };
        self.unit.page(Space::JOBS, range, direction, limit, &mut page)?;
        found.extend(page.iter().take(of.count).map(|(key, value)| (key.to_vec(), value.to_vec())));
        Ok(found)
    }

    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError> {
        // Partitions share the lease, so they look at it without a lock; the step's own record locks it when the step ends.
        let lease = self.get(&fence.lease)?;
        lease_holds(lease.as_deref(), fence)?;
        self.put(key, value)
    }

    fn is_untouched(&self) -> bool {
        self.unit.is_empty()
    }

    fn unit(&mut self) -> Option<&mut Unit> {
        Some(&mut self.unit)
    }

    fn mark(&mut self) -> WorkMark {
        self.marks.push(self.unit.mark());
        WorkMark(self.marks.len() as u64)
    }

    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError> {
        let at = usize::try_from(mark.0).unwrap_or(usize::MAX);
        self.marks.truncate(at);
        if let Some(mark) = self.marks.pop() {
            self.unit.back_to(mark);
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), BatchError> {
        self.unit.commit()?;
        Ok(())
    }

    fn submit(self: Box<Self>) -> Pending {
        let ticket = self.unit.submit();
        Pending::new(move || {
            ticket.wait()?;
            Ok(())
        })
    }
}

/// The first key after all keys that begin with a prefix.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}
