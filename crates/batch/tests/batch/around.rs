//! A repository whose units of work are observed: the process ends during them, or a database commits with them.

use std::sync::Arc;

use quayline_batch::event::EventPosition;
use quayline_batch::record::Lease;
use quayline_batch::{Backend, BatchError, Confirm, Fence, PageOf, Pending, Thrown, Work, WorkMark};
use quayline_postgres::Transaction;
use quayline_store::Unit;
use quayline_store::queue::Queue;

/// Hooks around units of work.
pub(crate) trait Around: Send + Sync {
    /// Called before a unit of work begins.
    fn begins(&self) -> Result<(), BatchError> {
        Ok(())
    }

    /// Called in place of its commit.
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        work.commit()
    }

    /// Called after it has read this many bytes.
    fn has_read(&self, _bytes: usize) {}

    /// Called after it was dropped without a commit.
    fn dropped(&self) {}

    /// Called after a mark was set.
    fn marked(&self) {}

    /// Called after it returned to a mark.
    fn went_back(&self) {}
}

pub(crate) struct AroundBackend {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) around: Arc<dyn Around>,
}

impl Backend for AroundBackend {
    fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        self.around.begins()?;
        Ok(Box::new(AroundWork { inner: Some(self.inner.begin()?), around: Arc::clone(&self.around) }))
    }

    fn owner(&self) -> Result<u64, BatchError> {
        self.inner.owner()
    }

    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
        self.inner.is_gone(lease)
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn queue(&self, name: &str) -> Option<Queue> {
        self.inner.queue(name)
    }

    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }
}

struct AroundWork {
    inner: Option<Box<dyn Work>>,
    around: Arc<dyn Around>,
}

impl AroundWork {
    fn inner(&mut self) -> &mut Box<dyn Work> {
        self.inner.as_mut().unwrap()
    }
}

impl Drop for AroundWork {
    fn drop(&mut self) {
        if self.inner.take().is_some() {
            self.around.dropped();
        }
    }
}

impl Work for AroundWork {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        let found = self.inner().get(key)?;
        self.around.has_read(found.as_ref().map_or(0, Vec::len));
        Ok(found)
    }
    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        self.inner().get_for_update(key)
    }
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError> {
        self.inner().put(key, value)
    }
    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError> {
        self.inner().delete(key)
    }
    fn page(&mut self, page: PageOf<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, BatchError> {
        let found = self.inner().page(page)?;
        self.around.has_read(found.iter().map(|(_, value)| value.len()).sum());
        Ok(found)
    }
    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError> {
        self.inner().keep_event(event)
    }
    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError> {
        self.inner().events(after, count)
    }
    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError> {
        self.inner().newest_event()
    }
    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError> {
        self.inner().trim_events(retain, count)
    }
    fn unit(&mut self) -> Option<&mut Unit> {
        self.inner().unit()
    }
    fn mark(&mut self) -> WorkMark {
        let mark = self.inner().mark();
        self.around.marked();
        mark
    }
    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError> {
        self.inner().put_fenced(key, value, fence)
    }
    fn put_all(&mut self, entries: &[(Vec<u8>, Vec<u8>)], token: u64) -> Result<(), BatchError> {
        self.inner().put_all(entries, token)
    }
    fn adopt(&mut self, prefix: &[u8], token: u64) -> Result<(), BatchError> {
        self.inner().adopt(prefix, token)
    }
    fn transaction(&mut self) -> Option<&mut Transaction> {
        self.inner().transaction()
    }
    fn is_untouched(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_untouched())
    }
    fn defers(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.defers())
    }
    fn confirm(&mut self, what: Confirm) -> Result<(), Thrown> {
        self.inner().confirm(what)
    }
    fn set_by_item(&mut self) {
        self.inner().set_by_item();
    }
    fn by_item(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.by_item())
    }
    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError> {
        self.inner().back_to(mark)?;
        self.around.went_back();
        Ok(())
    }
    fn commit(mut self: Box<Self>) -> Result<(), BatchError> {
        let inner = self.inner.take().unwrap();
        self.around.commit(inner)
    }
    fn submit(self: Box<Self>) -> Pending {
        let outcome = self.commit();
        Pending::new(move || outcome)
    }
}
