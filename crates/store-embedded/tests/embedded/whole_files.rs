//! Loads, copies and deletions of whole files that end anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::record_file::{
    AlternateIndex, By, Duplicates, FileChange, FileDefinition, KeyPlace, Organisation, RecordFile, Relation,
};
use quayline_store::{Access, EVERY_ENTRY, Engine as _, FullKey, LockWait, Space, Store, StoreError, StoreLimits};
use quayline_store_embedded::fake::{Chance, FakeDisk, Trouble};
use quayline_store_embedded::{EmbeddedEngine, Settings};

use crate::support::{clock, count_of, open, small};

fn opened(disk: &FakeDisk, settings: Settings) -> Result<(Store, Arc<EmbeddedEngine>), StoreError> {
    let engine = Arc::new(open(disk, settings, 1)?);
    let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
    Ok((Store::open(shared, clock(2), StoreLimits::default(), Access::Write)?, engine))
}

fn definition(name: &str, indexed: bool) -> FileDefinition {
    let index = AlternateIndex {
        name: "kind".to_owned(),
        place: KeyPlace { offset: 2, length: 2 },
        duplicates: Duplicates::Allowed,
    };
    FileDefinition {
        name: name.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 2 }),
        record_bytes_min: 2,
        record_bytes_max: 40,
        alternates: if indexed { vec![index] } else { Vec::new() },
    }
}

fn define(store: &Store, definition: FileDefinition) -> RecordFile {
    let mut unit = store.begin().expect("a unit");
    let file = store.define_file(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
    file
}

fn load(store: &Store, file: &RecordFile, count: u16, sorted: bool) {
    let mut numbers = 0..count;
    let mut next = |record: &mut Vec<u8>| {
        let number = numbers.next();
        record.clear();
        record.extend(number.into_iter().flat_map(u16::to_be_bytes).chain(*b"kind and more"));
        Ok(number.is_some())
    };
    let loaded = if sorted { file.load_sorted(store, &mut next) } else { file.load(store, &mut next) };
    assert_eq!(loaded.expect("loaded").loaded, u64::from(count));
}

fn count(store: &Store, name: &str) -> Option<u64> {
    let unit = store.begin().expect("a unit");
    match store.file(&unit, name) {
        Ok(file) => {
            let (differences, _) = file.verify(&unit, 5).expect("readable");
            assert!(differences.is_empty(), "{differences:?}");
            Some(file.scan(&unit, &mut |_, _| Ok(())).expect("readable"))
        }
        Err(StoreError::FileMissing { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Spaces of files and queues that hold entries.
fn used(engine: &EmbeddedEngine) -> BTreeSet<Space> {
    let mut spaces = BTreeSet::new();
    let snapshot = engine.snapshot().expect("a snapshot");
    snapshot
        .visit(EVERY_ENTRY, &mut |key, _| {
            spaces.extend(FullKey::from_bytes(key).map(|key| key.space()).filter(|space| space.0 >= 16));
            Ok(())
        })
        .expect("readable");
    spaces
}

/// Deletes that were still in the log were replayed over the records of a sorted load, and those in memory were applied over them.
#[test]
fn what_a_sorted_load_stored_survives_whatever_was_deleted_before() {
    for apply_before in [false, true] {
        let disk = FakeDisk::new(4);
        {
            let (store, engine) = opened(&disk, small()).expect("a new store opens");
            let file = define(&store, definition("A", false));
            load(&store, &file, 300, true);
            let mut unit = store.begin().expect("a unit");
            // Keys that come and go before they reach the tree are forgotten in memory, but not in the log.
            file.insert_fresh(&mut unit, &[&300u16.to_be_bytes()[..], b"fresh"].concat()).expect("inserted");
            unit.commit().expect("committed");
            if apply_before {
                engine.apply().expect("applied");
            }
            let mut unit = store.begin().expect("a unit");
            for number in 0..=300u16 {
                let key = number.to_be_bytes();
                let read = file.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::No);
                file.delete(&mut unit, &read.expect("there")).expect("deleted");
            }
            unit.commit().expect("committed");
            load(&store, &file, 301, true);
            assert_eq!(count(&store, "A"), Some(301));
        }
        for image in [disk.after_process_end(), disk.after_power_cut()] {
            let (store, engine) = opened(&image, small()).expect("the store opens");
            assert_eq!(count(&store, "A"), Some(301), "after a replay");
            engine.apply().expect("applied");
            assert_eq!(count(&store, "A"), Some(301), "after an apply");
        }
    }
}

/// The name went first, and what a crash then left in the spaces was never found again.
#[test]
fn a_deletion_or_change_that_ends_anywhere_leaves_no_space_without_a_name() {
    let mut chance = Chance(8);
    let mut ended = [0u64; 3];
    for round in 0..count_of("QUAYLINE_DROPS", 90) {
        let disk = FakeDisk::new(round);
        let what = usize::try_from(round % 3).expect("a small number of this test");
        let before = {
            let (store, engine) = opened(&disk, small()).expect("a new store opens");
            let file = define(&store, definition("A", round % 2 == 0));
            load(&store, &file, 700, false);
            let mut unit = store.begin().expect("a unit");
            store.define_queue(&mut unit, QueueDefinition::local("Q")).expect("defined");
            unit.commit().expect("committed");
            let mut unit = store.begin().expect("a unit");
            let queue = store.queue("Q").expect("opened");
            for _ in 0..300 {
                queue.put(&mut unit, &Message::new(vec![7; 60])).expect("put");
            }
            unit.commit().expect("committed");
            drop(queue);
            engine.apply().expect("applied");
            let before = disk.steps();
            disk.set_trouble(Trouble { cut_in: Some(chance.below(14)), ..Trouble::default() });
            // The power cut is an error, or comes later.
            let done = match what {
                0 => store.delete_file("A"),
                1 => {
                    let wider = FileChange { record_bytes: Some((2, 50)), ..FileChange::default() };
                    store.alter_file("A", wider).map(|_| ())
                }
                _ => store.delete_queue("Q"),
            };
            ended[what] += u64::from(done.is_err());
            before
        };
        assert!(disk.steps() > before);
        let (store, engine) = opened(&disk.after_power_cut(), small()).expect("the store opens");
        let records = count(&store, "A");
        match what {
            0 => assert!(matches!(records, Some(700) | None), "{records:?}"),
            _ => assert_eq!(records, Some(700)),
        }
        let depth = store.queue("Q").ok().map(|queue| queue.facts().expect("counted").depth);
        assert!(depth == Some(300) || (what == 2 && depth.is_none()), "{depth:?}");
        let indexes = usize::from(round % 2 == 0);
        let expected = records.map_or(0, |_| 1 + indexes) + usize::from(depth.is_some());
        assert_eq!(used(&engine).len(), expected, "round {round}");
        assert_eq!(store.sweep(None).expect("swept"), 0);
    }
    assert!(ended.iter().all(|ended| *ended > 3), "the power is cut in the middle: {ended:?}");
}

/// Counts of uses survive the process that collected them, and distinguish pages read from the medium from those in memory.
#[test]
fn uses_survive_a_restart_and_tell_pages_from_memory() {
    let disk = FakeDisk::new(7);
    let tiny = Settings { cache_bytes: 1 << 16, ..Settings::default() };
    {
        let (store, engine) = opened(&disk, tiny).expect("it opens");
        let file = define(&store, definition("USED", false));
        load(&store, &file, 20_000, true);
        store.keep_use().expect("kept");
        engine.close().expect("closed");
    }
    let (store, _engine) = opened(&disk.after_power_cut(), tiny).expect("it opens");
    let unit = store.begin().expect("a unit");
    let file = store.file(&unit, "USED").expect("opened");
    let kept = file.uses(&unit).expect("uses");
    assert_eq!((kept.inserted, kept.read), (20_000, 0));
    assert!(kept.since_ms > 0);
    // The cache is smaller than the file: a lookup far from the last one reads pages, the same one again does not.
    for number in (0..20_000u16).step_by(97) {
        file.read(&unit, By::Key(&number.to_be_bytes()), Relation::Equal).expect("a record");
    }
    let cold = file.uses(&unit).expect("uses");
    assert!(cold.data_missed > 50 && cold.index_missed > 0, "{cold:?}");
    assert!(cold.data_missed <= cold.lookups && cold.index_missed <= cold.data_missed, "{cold:?}");
    for _ in 0..100 {
        file.read(&unit, By::Key(&7u16.to_be_bytes()), Relation::Equal).expect("a record");
    }
    let warm = file.uses(&unit).expect("uses").since(&cold);
    assert_eq!((warm.read, warm.lookups), (100, 100));
    assert!(warm.data_missed <= 1 && warm.index_missed <= 1, "{warm:?}");
}
