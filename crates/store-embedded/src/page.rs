//! Pages: entries of the applied store and changes in memory, merged.
//!
//! A page is read from the applied store first, which determines its end. Only the changes up to there are then merged. In the other order, a page
//! at the head of a deep queue would copy the messages at its other end. The two parts belong together if the snapshot is still that of the changes.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use quayline_store::{Direction, FullKey, Page, PageLimit, StoreError};

use crate::applied::{AppliedView, Visit};
use crate::delta::{Delta, RangeOfDelta};

/// Attempts that begin with the applied store. The snapshot changes a few times a second, so a second attempt is rare and a third one hardly needed.
const ATTEMPTS: usize = 2;

type Range = (Bound<FullKey>, Bound<FullKey>);

/// Fills an empty page with the first entries of a range.
pub(crate) fn read(
    delta: &Delta,
    range: &Range,
    direction: Direction,
    limit: PageLimit,
    page: &mut Page,
) -> Result<(), StoreError> {
    for _ in 0..ATTEMPTS {
        if read_applied_first(delta, range, direction, limit, page)? {
            return Ok(());
        }
        page.clear();
    }
    read_changes_first(delta, range, direction, limit, page)
}

/// Reads changes first, an order that a new snapshot does not invalidate.
fn read_changes_first(
    delta: &Delta,
    range: &Range,
    direction: Direction,
    limit: PageLimit,
    page: &mut Page,
) -> Result<(), StoreError> {
    let changes = delta.range(range, direction, limit.entries.max(1));
    let (mut from, mut to) = (bytes_of(&range.0), bytes_of(&range.1));
    if let Some(complete) = &changes.complete_to {
        match direction {
            Direction::Forward => to = Bound::Included(complete.bytes()),
            Direction::Backward => from = Bound::Included(complete.bytes()),
        }
    }
    let mut merge = Merge::new(&changes, direction, limit, page);
    changes.view.scan(from, to, direction, &mut |key, value| merge.entry(&key[4..], value))?;
    merge.end(None);
    Ok(())
}

/// Reads the applied store first. Returns false if the snapshot was replaced in the meantime.
fn read_applied_first(
    delta: &Delta,
    range: &Range,
    direction: Direction,
    limit: PageLimit,
    page: &mut Page,
) -> Result<bool, StoreError> {
    let view = delta.view();
    let last = read_applied(view.as_ref(), range, direction, limit, page)?;
    let changes = match (&last, direction) {
        (None, _) => delta.range(range, direction, limit.entries.max(1)),
        (Some(last), Direction::Forward) => {
            delta.range(&(range.0.clone(), Bound::Included(last.clone())), direction, limit.entries.max(1))
        }
        (Some(last), Direction::Backward) => {
            delta.range(&(Bound::Included(last.clone()), range.1.clone()), direction, limit.entries.max(1))
        }
    };
    if !Arc::ptr_eq(&changes.view, &view) {
        return Ok(false);
    }
    let next = last.map(|last| last.key().to_vec());
    if changes.entries.is_empty() {
        page.next = next.map(Bound::Excluded);
        return Ok(true);
    }
    let applied = std::mem::take(page);
    let mut merge = Merge::new(&changes, direction, limit, page);
    let complete = changes.complete_to.as_ref().map(FullKey::key);
    for (key, value) in applied.iter() {
        let is_covered = complete.is_none_or(|complete| match direction {
            Direction::Forward => key <= complete,
            Direction::Backward => key >= complete,
        });
        if !is_covered || merge.entry(key, value).is_break() {
            break;
        }
    }
    merge.end(next);
    Ok(true)
}

/// Reads the first entries of the applied store. Returns the last key if there may be more.
fn read_applied(
    view: &dyn AppliedView,
    range: &Range,
    direction: Direction,
    limit: PageLimit,
    page: &mut Page,
) -> Result<Option<FullKey>, StoreError> {
    let mut last = None;
    let visit: &mut Visit<'_> = &mut |key, value| {
        page.push(&key[4..], value);
        if is_full(page, limit) {
            last = FullKey::from_bytes(key);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    view.scan(bytes_of(&range.0), bytes_of(&range.1), direction, visit)?;
    Ok(last)
}

fn is_full(page: &Page, limit: PageLimit) -> bool {
    page.len() >= limit.entries || page.byte_len() >= limit.bytes
}

/// Merges ascending or descending entries with changes of the same order.
struct Merge<'m> {
    changes: &'m RangeOfDelta,
    /// The next change.
    at: usize,
    direction: Direction,
    limit: PageLimit,
    page: &'m mut Page,
    /// Last key of a full page.
    stopped: Option<Vec<u8>>,
}

impl<'m> Merge<'m> {
    fn new(changes: &'m RangeOfDelta, direction: Direction, limit: PageLimit, page: &'m mut Page) -> Self {
        Merge { changes, at: 0, direction, limit, page, stopped: None }
    }

    /// Adds a change if it sets a value. Whether there is room for more.
    fn change(&mut self) -> ControlFlow<()> {
        let (key, value) = &self.changes.entries[self.at];
        self.at += 1;
        if let Some(value) = value {
            self.page.push(key.key(), value);
        }
        self.look(key.key())
    }

    fn look(&mut self, key: &[u8]) -> ControlFlow<()> {
        if is_full(self.page, self.limit) {
            self.stopped = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Adds the changes before an entry of the applied store, and the entry unless a change replaces it.
    fn entry(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let mut replaced = false;
        while let Some((own, _)) = self.changes.entries.get(self.at) {
            let order = match self.direction {
                Direction::Forward => own.key().cmp(key),
                Direction::Backward => key.cmp(own.key()),
            };
            if order.is_gt() {
                break;
            }
            replaced |= order.is_eq();
            self.change()?;
        }
        if replaced {
            return ControlFlow::Continue(());
        }
        self.page.push(key, value);
        self.look(key)
    }

    /// Adds the changes after the last entry and says where the next page begins: after the last key, after the last change that is known, or after the
    /// last entry that was read.
    fn end(mut self, read_to: Option<Vec<u8>>) {
        while self.stopped.is_none() && self.at < self.changes.entries.len() {
            if self.change().is_break() {
                break;
            }
        }
        let complete = || self.changes.complete_to.as_ref().map(|key| key.key().to_vec());
        let next = self.stopped.take().or_else(complete).or(read_to);
        self.page.next = next.map(Bound::Excluded);
    }
}

pub(crate) fn bytes_of(bound: &Bound<FullKey>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key.bytes()),
        Bound::Excluded(key) => Bound::Excluded(key.bytes()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quayline_store::{Change, Space, Value};

    use super::*;
    use crate::applied::{AppliedStore as _, Redb};
    use crate::delta::Entering;
    use crate::fake::{Chance, FakeDisk};
    use crate::log::Mark;
    use crate::settings::Settings;

    const SPACE: Space = Space(20);

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;
    type Pages = fn(&Delta, &Range, Direction, PageLimit, &mut Page) -> Result<(), StoreError>;

    fn bound(kind: u64, key: &[u8]) -> Bound<&[u8]> {
        match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    /// Reads all entries of a range in pages, and returns the greatest number of empty pages.
    fn all(
        delta: &Delta,
        range: quayline_store::KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        pages: Pages,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (mut found, mut page) = (Vec::new(), Page::default());
        let mut next: Option<Bound<Vec<u8>>> = None;
        loop {
            let rest = next.as_ref().map_or(range, |next| range.after(direction, next));
            page.clear();
            if !rest.is_empty() {
                pages(delta, &rest.full(SPACE), direction, limit, &mut page).unwrap();
            }
            assert!(page.len() <= limit.entries.max(1));
            found.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
            match page.next.take() {
                Some(bound) => {
                    assert_ne!(next.as_ref(), Some(&bound), "a page goes on");
                    next = Some(bound);
                }
                None => return found,
            }
        }
    }

    /// Generations in memory, frozen and applied: pages in either order, of any length and direction, are what a map has.
    #[test]
    fn pages_in_both_orders_are_those_of_a_map() {
        let mut chance = Chance(7);
        for _ in 0..60 {
            let disk = FakeDisk::new(1);
            let mark = Mark { position: 0, segment: 0, identity: 1 };
            let applied = Redb::create(&disk, 1 << 20, mark).unwrap();
            let delta = Delta::new(&applied, &Settings::default()).unwrap();
            let mut model = Model::new();
            let mut is_frozen = false;
            for _ in 0..6 {
                let changes = 1 + chance.below(400);
                let batch = (0..changes).map(|number| {
                    let key = vec![0, u8::try_from(chance.below(256)).unwrap()];
                    if chance.below(3) == 0 {
                        model.remove(&key);
                        (FullKey::new(SPACE, &key), Change::Delete)
                    } else {
                        let value = number.to_le_bytes().to_vec();
                        model.insert(key.clone(), value.clone());
                        (FullKey::new(SPACE, &key), Change::Put(Value::from(value)))
                    }
                });
                delta.enter(vec![batch.collect()], Entering::Live);
                // Some generations stay frozen for a while, some are applied at once.
                if is_frozen {
                    delta.thaw(&applied).unwrap();
                    is_frozen = false;
                } else if chance.below(2) == 0 {
                    let (frozen, ()) = delta.freeze(|| ());
                    applied.apply(&frozen.iter().collect::<Vec<_>>(), mark).unwrap();
                    is_frozen = true;
                }
                for _ in 0..20 {
                    let keys = [chance.below(256), chance.below(256)];
                    let [a, b] = keys.map(|key| vec![0, u8::try_from(key).unwrap()]);
                    let (low, high) = (a.as_slice().min(&b), a.as_slice().max(&b));
                    let range = quayline_store::KeyRange {
                        from: bound(chance.below(3), low),
                        to: bound(chance.below(3), high),
                    };
                    let limit = PageLimit { entries: 1 + chance.index(60), bytes: 20 + chance.index(2_000) };
                    for direction in [Direction::Forward, Direction::Backward] {
                        let inside = |key: &&Vec<u8>| {
                            (match range.from {
                                Bound::Unbounded => true,
                                Bound::Included(from) => key.as_slice() >= from,
                                Bound::Excluded(from) => key.as_slice() > from,
                            }) && (match range.to {
                                Bound::Unbounded => true,
                                Bound::Included(to) => key.as_slice() <= to,
                                Bound::Excluded(to) => key.as_slice() < to,
                            })
                        };
                        let mut expected: Vec<_> = model
                            .iter()
                            .filter(|(key, _)| inside(key))
                            .map(|(key, value)| (key.clone(), value.clone()))
                            .collect();
                        if direction == Direction::Backward {
                            expected.reverse();
                        }
                        assert_eq!(all(&delta, range, direction, limit, read), expected);
                        assert_eq!(all(&delta, range, direction, limit, read_changes_first), expected);
                    }
                }
            }
        }
    }
}
