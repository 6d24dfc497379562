//! The job repository in a Quayline store: records of queues, record files and jobs commit in one unit of work.

use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use quayline_store::queue::Queue;
use quayline_store::{
    Clock, Direction, KeyRange, LockWait, PageLimit, RollBack, Space, Store, Ticket, Unit, UnitMark, Value,
};

use crate::error::BatchError;
use crate::event::EventPosition;
use crate::record::{Lease, Position};
use crate::work::{Backend, Entry, Fence, PageOf, Pending, Work, WorkMark, after_prefix};

/// A store as the place of the job repository.
pub struct StoreBackend {
    store: Store,
    clock: Arc<dyn Clock>,
    owner: u64,
    events: Arc<Mutex<u64>>,
}

/// Prefix of the keys of kept events; the number of the event follows.
const EVENT: &[u8] = b"v";

impl StoreBackend {
    /// Opens the repository in a store. One commit numbers this opening.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Result<Self, BatchError> {
        let mut unit = store.begin()?;
        let owner = unit.next_number("jobs/owner")?;
        let last = newest_event(&mut unit)?;
        unit.commit()?;
        Ok(StoreBackend { store, clock, owner, events: Arc::new(Mutex::new(last)) })
    }
}

impl Backend for StoreBackend {
    fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        let events = Arc::clone(&self.events);
        let mut unit = self.store.begin()?;
        // The limits of retries, skips and restarts are those of the job: a chunk charges none of its messages.
        unit.rolls_back_as(RollBack::Ended);
        Ok(Box::new(StoreWork { unit, marks: Vec::new(), kept: Vec::new(), events }))
    }

    fn owner(&self) -> Result<u64, BatchError> {
        Ok(self.owner)
    }

    /// Returns true for other owners: only one process at a time opens a store, so their executions are certainly over.
    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
        Ok(lease.owner != self.owner)
    }

    fn queue(&self, name: &str) -> Option<Queue> {
        self.store.queue(name).ok()
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

struct StoreWork {
    unit: Unit,
    /// Each with the number of events that were kept at it.
    marks: Vec<(UnitMark, usize)>,
    /// Events, which get their numbers with the commit.
    kept: Vec<Vec<u8>>,
    /// Number of the last event of all units. It is locked until the unit has its place in the log, so that numbers have the order of commits.
    events: Arc<Mutex<u64>>,
}

impl StoreWork {
    fn submitted(mut self) -> Result<Ticket, BatchError> {
        if self.kept.is_empty() {
            return Ok(self.unit.submit());
        }
        let mut last = self.events.lock();
        let first = *last + 1;
        for (number, event) in (first..).zip(&self.kept) {
            self.unit.put(Space::JOBS, &event_key(number), event.as_slice())?;
        }
        *last += self.kept.len() as u64;
        Ok(self.unit.submit())
    }
}

fn event_key(number: u64) -> Vec<u8> {
    [EVENT, &number.to_be_bytes()].concat()
}

fn event_number(key: &[u8]) -> u64 {
    key.get(EVENT.len()..).and_then(|number| number.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// Returns the number of the newest event; 0 without events.
fn newest_event(unit: &mut Unit) -> Result<u64, BatchError> {
    let of = PageOf { prefix: EVENT, after: None, newest_first: true, count: 1 };
    Ok(page(unit, of)?.first().map_or(0, |(key, _)| event_number(key)))
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

    fn put_position(&mut self, key: &[u8], value: &mut Position) -> Result<(), BatchError> {
        let kept: Value = (**value).into();
        *value = Arc::clone(&kept).into();
        Ok(self.unit.put(Space::JOBS, key, kept)?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError> {
        Ok(self.unit.delete(Space::JOBS, key)?)
    }

    fn page(&mut self, of: PageOf<'_>) -> Result<Vec<Entry>, BatchError> {
        page(&mut self.unit, of)
    }

    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError> {
        self.kept.push(event);
        Ok(())
    }

    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError> {
        let after = event_key(after.1);
        let of = PageOf { prefix: EVENT, after: Some(&after), newest_first: false, count };
        let found = page(&mut self.unit, of)?;
        Ok(found.into_iter().map(|(key, event)| (EventPosition(0, event_number(&key)), event)).collect())
    }

    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError> {
        let newest = newest_event(&mut self.unit)?;
        Ok((newest > 0).then_some(EventPosition(0, newest)))
    }

    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError> {
        let last = newest_event(&mut self.unit)?.saturating_sub(retain);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let of = PageOf { prefix: EVENT, after: None, newest_first: false, count };
        let mut removed = 0;
        for (key, _) in page(&mut self.unit, of)?.iter().take_while(|(key, _)| event_number(key) <= last) {
            self.unit.delete(Space::JOBS, key)?;
            removed += 1;
        }
        Ok(removed)
    }

    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError> {
        // Partitions share the lease, so they look at it without a lock; the step's own record locks it when the step ends.
        let lease = self.get(&fence.lease)?;
        fence.check(lease.as_deref())?;
        self.put(key, value)
    }

    fn is_untouched(&self) -> bool {
        // Gets and puts of non-persistent messages change nothing in the store.
        self.unit.is_empty() && self.unit.gets_and_puts() == 0 && self.kept.is_empty()
    }

    fn unit(&mut self) -> Option<&mut Unit> {
        Some(&mut self.unit)
    }

    fn mark(&mut self) -> WorkMark {
        self.marks.push((self.unit.mark(), self.kept.len()));
        WorkMark(self.marks.len() as u64)
    }

    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError> {
        let at = usize::try_from(mark.0).unwrap_or(usize::MAX);
        self.marks.truncate(at);
        if let Some((mark, kept)) = self.marks.pop() {
            self.kept.truncate(kept);
            self.unit.back_to(mark);
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), BatchError> {
        self.submitted()?.wait()?;
        Ok(())
    }

    fn submit(self: Box<Self>) -> Pending {
        let ticket = self.submitted();
        Pending::new(move || {
            ticket?.wait()?;
            Ok(())
        })
    }
}

fn page(unit: &mut Unit, of: PageOf<'_>) -> Result<Vec<Entry>, BatchError> {
    let end = after_prefix(of.prefix);
    let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let (range, direction) = if of.newest_first {
        (KeyRange { from: Bound::Included(of.prefix), to: of.after.map_or(to, Bound::Excluded) }, Direction::Backward)
    } else {
        let from = of.after.map_or(Bound::Included(of.prefix), Bound::Excluded);
        (KeyRange { from, to }, Direction::Forward)
    };
    let limit = PageLimit { entries: of.count.max(1), bytes: 16 << 20 };
    let found = unit.first_entries(Space::JOBS, range, direction, limit)?;
    Ok(found.into_iter().take(of.count).map(|(key, value)| (key, value.to_vec())).collect())
}
