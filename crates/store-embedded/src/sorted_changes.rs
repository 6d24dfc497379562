//! Applies ascending changes to the tree in runs.
//!
//! Consecutive messages are neighbours in the tree. A single insert descends the tree and splits
//! pages in halves; a single removal descends and rewrites its page. A run uses one cursor, which fills page after page, and a run of
//! removals rewrites each page once. If keys are not adjacent, detecting that must be cheap: after a failed attempt the next changes
//! are applied one by one.

use std::ops::Bound;

use quayline_store::StoreError;
use redb::{ReadableTable as _, Table};

use crate::tree_file::{checksum, damaged_by, error};

/// A full key and its new value, or `None` for a removal.
pub(crate) type SortedChange<'a> = (&'a [u8], Option<&'a [u8]>);

type Entries<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// Changes of one kind in one space from which a run is tried.
const RUN_MIN: usize = 16;
/// Changes of one run: looking for the end of a run must not cost more than the run.
const RUN_MAX: usize = 4_096;
/// Changes that go one by one after a try that found no run.
const SINGLES: usize = 128;
/// Entries between two removals that a run may pass over, for each removal, and at its beginning.
const PASSED_OVER_MAX: usize = 8;

/// Applies changes whose keys ascend. Returns their number.
pub(crate) fn apply(entries: &mut Entries<'_>, changes: &[SortedChange<'_>]) -> Result<u64, StoreError> {
    let (mut at, mut singles_to) = (0, 0);
    let mut buffer = Vec::new();
    while at < changes.len() {
        if at >= singles_to {
            let rest = &changes[at..];
            let run = run_of_one_kind(rest);
            let done = match rest[0].1 {
                _ if run < RUN_MIN => 0,
                Some(_) => insert_run(entries, &rest[..run], &mut buffer)?,
                None => remove_run(entries, &rest[..run])?,
            };
            at += done;
            if done > 0 {
                continue;
            }
            singles_to = at + if run < RUN_MIN { run } else { SINGLES };
        }
        one(entries, changes[at])?;
        at += 1;
    }
    Ok(changes.len() as u64)
}

fn one(entries: &mut Entries<'_>, (key, value): SortedChange<'_>) -> Result<(), StoreError> {
    match value {
        Some(value) => {
            let mut place = entries.insert_reserve(key, value.len() + 4).map_err(error("written"))?;
            let (bytes, sum) = place.as_mut().split_at_mut(value.len());
            bytes.copy_from_slice(value);
            sum.copy_from_slice(&checksum(key, value));
        }
        None => {
            entries.remove(key).map_err(error("written"))?;
        }
    }
    Ok(())
}

/// Counts the changes at the beginning that all set or all remove, in one space.
fn run_of_one_kind(changes: &[SortedChange<'_>]) -> usize {
    let (first, value) = changes[0];
    let same = |(key, other): &&SortedChange<'_>| other.is_some() == value.is_some() && key.get(..4) == first.get(..4);
    changes.iter().take(RUN_MAX).take_while(same).count()
}

/// Inserts the changes that come before the next key of the tree. Returns their number: 0 if the first key already exists or the run is too short.
fn insert_run(
    entries: &mut Entries<'_>,
    changes: &[SortedChange<'_>],
    buffer: &mut Vec<u8>,
) -> Result<usize, StoreError> {
    let mut cursor = entries.lower_bound_mut(Bound::Included(changes[0].0)).map_err(error("written"))?;
    let fit = match cursor.peek_next().map_err(error("read"))? {
        Some((next, _)) => changes.iter().take_while(|(key, _)| *key < next.value()).count(),
        None => changes.len(),
    };
    if fit < RUN_MIN {
        cursor.close().map_err(error("written"))?;
        return Ok(0);
    }
    for (key, value) in &changes[..fit] {
        let Some(value) = value else { continue };
        buffer.clear();
        buffer.extend_from_slice(value);
        buffer.extend_from_slice(&checksum(key, value));
        cursor
            .insert_before(*key, buffer.as_slice())
            .map_err(|error| damaged_by("a run met a key that is there", &error))?;
    }
    cursor.close().map_err(error("written"))?;
    Ok(fit)
}

/// Removes changes whose keys are adjacent in the tree, or nearly. Returns their number: 0 if the run is too short.
fn remove_run(entries: &mut Entries<'_>, changes: &[SortedChange<'_>]) -> Result<usize, StoreError> {
    let (mut at, mut found, mut passed_over) = (0, 0, 0);
    let range: (Bound<&[u8]>, Bound<&[u8]>) =
        (Bound::Included(changes[0].0), Bound::Included(changes[changes.len() - 1].0));
    // Changes up to here are done by the run.
    let mut run = 0;
    for entry in entries.range::<&[u8]>(range).map_err(error("read"))? {
        let (key, _) = entry.map_err(error("read"))?;
        while changes.get(at).is_some_and(|(removed, _)| *removed < key.value()) {
            at += 1;
        }
        if changes.get(at).is_some_and(|(removed, _)| *removed == key.value()) {
            at += 1;
            found += 1;
            run = at;
        } else {
            passed_over += 1;
            if passed_over > PASSED_OVER_MAX + found {
                break;
            }
        }
    }
    if found < RUN_MIN {
        return Ok(0);
    }
    let mut at = 0;
    let range: (Bound<&[u8]>, Bound<&[u8]>) = (range.0, Bound::Included(changes[run - 1].0));
    let stays = |key: &[u8], _: &[u8]| {
        while changes.get(at).is_some_and(|(removed, _)| *removed < key) {
            at += 1;
        }
        changes.get(at).is_none_or(|(removed, _)| *removed != key)
    };
    entries.retain_in::<&[u8], _>(range, stays).map_err(error("written"))?;
    Ok(run)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use redb::{Database, ReadableDatabase as _, TableDefinition};

    use super::*;

    const ENTRIES: TableDefinition<'static, &'static [u8], &'static [u8]> = TableDefinition::new("entries");

    fn database() -> Database {
        Database::builder().create_with_backend(redb::backends::InMemoryBackend::new()).unwrap()
    }

    fn key(space: u8, number: u64) -> Vec<u8> {
        [&[0, 0, 0, space], number.to_be_bytes().as_slice()].concat()
    }

    fn apply_all(database: &Database, changes: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
        let write = database.begin_write().unwrap();
        let sorted: Vec<SortedChange<'_>> =
            changes.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        assert_eq!(apply(&mut write.open_table(ENTRIES).unwrap(), &sorted).unwrap(), sorted.len() as u64);
        write.commit().unwrap();
    }

    fn stored(database: &Database) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let read = database.begin_read().unwrap();
        let table = read.open_table(ENTRIES).unwrap();
        let all: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
        let entries = table.range::<&[u8]>(all).unwrap().map(|entry| {
            let (key, stored) = entry.unwrap();
            let (value, sum) =
                stored.value().split_last_chunk::<4>().map(|(value, sum)| (value.to_vec(), *sum)).unwrap();
            assert_eq!(checksum(key.value(), &value), sum);
            (key.value().to_vec(), value)
        });
        entries.collect()
    }

    /// Queues that grow and shrink, gaps, keys that are missing or there already, several spaces: the tree holds what a map holds.
    #[test]
    fn runs_and_single_changes_leave_the_tree_as_a_map_would_be() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |bound: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 8) % bound
        };
        for round in 0..40 {
            let database = database();
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for _ in 0..12 {
                let mut changes: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
                for _ in 0..1 + below(5) {
                    let space = 1 + u8::try_from(below(3)).unwrap();
                    let (from, count, step) = (below(3000), 1 + below(600), 1 + below(3));
                    let removes = below(2) == 0;
                    for number in 0..count {
                        // Now and then another kind, so that runs end in the middle.
                        let removes = removes != (below(200) == 0);
                        let value = (!removes)
                            .then(|| vec![u8::try_from(round).unwrap(); usize::try_from(below(300)).unwrap()]);
                        changes.insert(key(space, from + number * step), value);
                    }
                }
                apply_all(&database, &changes);
                for (key, value) in changes {
                    match value {
                        Some(value) => model.insert(key, value),
                        None => model.remove(&key),
                    };
                }
                assert_eq!(stored(&database), model, "round {round}");
            }
        }
    }

    /// A removal of a few keys that are far apart must not read all that lies between them.
    #[test]
    fn removals_that_are_far_apart_are_no_run() {
        let database = database();
        let all = (0..20_000).map(|number| (key(1, number), Some(vec![1]))).collect();
        apply_all(&database, &all);
        let write = database.begin_write().unwrap();
        let keys: Vec<Vec<u8>> = (0..100).map(|number| key(1, number * 200)).collect();
        let removed: Vec<SortedChange<'_>> = keys.iter().map(|key| (key.as_slice(), None)).collect();
        assert_eq!(remove_run(&mut write.open_table(ENTRIES).unwrap(), &removed).unwrap(), 0);
        let near: Vec<Vec<u8>> = (0..100).map(|number| key(1, number * 2)).collect();
        let removed: Vec<SortedChange<'_>> = near.iter().map(|key| (key.as_slice(), None)).collect();
        assert_eq!(remove_run(&mut write.open_table(ENTRIES).unwrap(), &removed).unwrap(), 100);
        write.abort().unwrap();
    }
}
