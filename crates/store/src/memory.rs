//! In-memory reference engine: slow, simple, and the standard for the behavior of the other engines.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use crate::engine::{
    Batch, Completion, Engine, EngineFacts, EntryRange, EntryVisit, LoadSource, Snapshot, full_bounds,
};
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::{Change, FullKey, Position, Space, StoreError, Value};

/// Keeps everything in one ordered map. Nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryEngine {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: BTreeMap<FullKey, Value>,
    position: u64,
}

impl MemoryEngine {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        MemoryEngine::default()
    }
}

/// A snapshot is a copy.
struct Copied {
    entries: BTreeMap<FullKey, Value>,
    position: Position,
}

impl Snapshot for Copied {
    fn position(&self) -> Position {
        self.position
    }

    fn visit(&self, range: EntryRange<'_>, visit: &mut EntryVisit<'_>) -> Result<(), StoreError> {
        let range = full_bounds(range);
        self.entries.range(range).try_for_each(|(key, value)| visit(key.bytes(), value))
    }
}

impl Engine for MemoryEngine {
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        Ok(self.inner.read().entries.get(key).cloned())
    }

    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        page.clear();
        if range.is_empty() {
            return Ok(());
        }
        let inner = self.inner.read();
        let mut found = inner.entries.range(range.full(space));
        loop {
            let entry = match direction {
                Direction::Forward => found.next(),
                Direction::Backward => found.next_back(),
            };
            let Some((key, value)) = entry else { return Ok(()) };
            page.push(key.key(), value);
            if page.len() >= limit.entries || page.byte_len() >= limit.bytes {
                page.next = Some(std::ops::Bound::Excluded(key.key().to_vec()));
                return Ok(());
            }
        }
    }

    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let mut inner = self.inner.write();
        for (key, change) in batch {
            match change {
                Change::Put(value) | Change::Fresh(value) => inner.entries.insert(key, value),
                Change::Delete => inner.entries.remove(&key),
            };
        }
        inner.position += 1;
        let position = Position(inner.position);
        drop(inner);
        after(Ok(position));
        Ok(position)
    }

    fn submit(&self, batch: Batch, after: Completion) {
        // Only `after` reports the outcome.
        let _ = self.commit(batch, after);
    }

    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        let (mut key, mut value, mut last) = (Vec::new(), Vec::new(), None);
        let mut count = 0;
        while source(&mut key, &mut value)? {
            let full = FullKey::new(space, &key);
            if last.as_ref().is_some_and(|last| *last >= full) {
                return Err(StoreError::NotAscending { entry: count + 1 });
            }
            let mut inner = self.inner.write();
            if inner.entries.contains_key(&full) {
                return Err(StoreError::NotEmpty { space });
            }
            inner.entries.insert(full.clone(), value.as_slice().into());
            last = Some(full);
            count += 1;
        }
        Ok(count)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let inner = self.inner.read();
        Ok(Box::new(Copied { entries: inner.entries.clone(), position: Position(inner.position) }))
    }

    fn position(&self) -> Position {
        Position(self.inner.read().position)
    }

    fn wait(&self, _position: Position) -> Result<(), StoreError> {
        Ok(())
    }

    fn facts(&self) -> EngineFacts {
        let inner = self.inner.read();
        let position = Position(inner.position);
        EngineFacts { position, applied: position, units: inner.position, ..EngineFacts::default() }
    }

    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        Ok(Vec::new())
    }

    fn compact(&self) -> Result<(u64, u64), StoreError> {
        Ok((0, 0))
    }
}
