//! Size of the folder after a compaction, and preservation of its content.

use std::sync::Arc;

use quayline_store::{Batch, Change, Engine as _, FullKey};
use quayline_store_embedded::fake::{Chance, FakeDisk, Trouble};
use quayline_store_embedded::{EmbeddedEngine, Medium, Settings, Work};

use crate::support::{SPACES, open, small, state};

fn bytes(disk: &FakeDisk) -> usize {
    let names = disk.list().expect("a list");
    names.iter().map(|name| disk.content(name).map_or(0, |content| content.len())).sum()
}

fn segments(disk: &FakeDisk) -> usize {
    disk.list().expect("a list").iter().filter(|name| name.starts_with("log-")).count()
}

fn change_all(engine: &EmbeddedEngine, records: u64, change: &dyn Fn(u64) -> Change) {
    for first in (0..records).step_by(1_000) {
        let numbers = first..records.min(first + 1_000);
        let batch: Batch =
            numbers.map(|number| (FullKey::new(SPACES[0], &number.to_be_bytes()), change(number))).collect();
        engine.commit(batch, Box::new(|_| ())).expect("committed");
    }
}

/// Stores records of 32 bytes, whose first 8 are the key, and deletes and stores them again three times.
fn churned(disk: &FakeDisk, records: u64) -> EmbeddedEngine {
    let engine = open(disk, Settings::default(), 1).expect("a store");
    for _ in 0..3 {
        let record = |number: u64| {
            let mut chance = Chance(number);
            let rest = (0..3).map(|_| chance.below(u64::MAX));
            let record: Vec<u8> = std::iter::once(number).chain(rest).flat_map(u64::to_be_bytes).collect();
            Change::Put(record.into())
        };
        change_all(&engine, records, &record);
        change_all(&engine, records, &|_| Change::Delete);
        change_all(&engine, records, &record);
    }
    engine
}

/// A compaction did not remove the log: up to three segments of 16 MB with their spares, even for little data.
#[test]
fn a_compacted_folder_has_at_most_twice_the_live_data() {
    for records in [20_000, 150_000] {
        let disk = FakeDisk::new(1);
        let engine = churned(&disk, records);
        let before = bytes(&disk);
        let (told, left) = engine.compact().expect("compacted");
        engine.close().expect("closed");
        drop(engine);
        let after = bytes(&disk);
        // Closing the tree writes some pages.
        assert!((after as u64).abs_diff(left) <= 64 << 10, "the compaction said {told} before and {left} now: {after}");
        let live = usize::try_from(records * 32).expect("a small number of this test");
        assert!(after <= 2 * live, "{records} records: {before} bytes before, {after} after, {live} live");
        // Also once the store is opened again and written to.
        let engine = open(&disk, Settings::default(), 2).expect("opens again");
        let one = vec![(FullKey::new(SPACES[1], b"one"), Change::Put(Arc::from(b"more".as_slice())))];
        engine.commit(one, Box::new(|_| ())).expect("committed");
        engine.close().expect("closed");
        assert!(bytes(&disk) <= 2 * live, "{records} records: {} bytes after one more unit", bytes(&disk));
        let found = state(&engine).expect("readable");
        assert_eq!(found.len() as u64, records + 1);
        assert_eq!(engine.check().expect("checked"), []);
    }
}

#[test]
fn a_compaction_beside_commits_loses_none_of_them() {
    let disk = FakeDisk::new(2);
    let settings = Settings { work: Work::Background, apply_interval_ms: 1, ..small() };
    let engine = open(&disk, settings, 1).expect("a store");
    std::thread::scope(|scope| {
        for me in 0..3u64 {
            let engine = &engine;
            scope.spawn(move || {
                for number in 0..300u64 {
                    let key = FullKey::new(SPACES[0], &[me.to_be_bytes(), number.to_be_bytes()].concat());
                    let batch = vec![(key, Change::Put(Arc::from([1; 100].as_slice())))];
                    engine.commit(batch, Box::new(|_| ())).expect("committed");
                }
            });
        }
        scope.spawn(|| {
            (0..20).for_each(|_| {
                engine.compact().expect("compacted");
            })
        });
    });
    assert_eq!(state(&engine).expect("readable").len(), 900);
    engine.compact().expect("compacted");
    assert_eq!(segments(&disk), 1);
    drop(engine);
    let engine = open(&disk.after_power_cut(), small(), 2).expect("opens again");
    assert_eq!(state(&engine).expect("readable").len(), 900);
}

/// Power cuts at each step of one compaction: the state is the same, and the next compaction succeeds.
#[test]
fn a_power_cut_at_any_step_of_a_compaction_loses_nothing() {
    let disk = FakeDisk::new(3);
    let engine = open(&disk, small(), 1).expect("a store");
    // Values of 100 bytes, so that several segments and a spare one are there.
    change_all(&engine, 500, &|number| {
        Change::Put(Arc::from([u8::try_from(number % 251).unwrap_or(0); 100].as_slice()))
    });
    engine.apply().expect("applied");
    change_all(&engine, 200, &|_| Change::Delete);
    let expected = state(&engine).expect("readable");
    drop(engine);
    let disk = disk.after_process_end();
    let mut cuts = 0;
    loop {
        let image = disk.deep_copy();
        let engine = open(&image, small(), 2).expect("opens");
        image.set_trouble(Trouble { cut_in: Some(cuts), ..Trouble::default() });
        let compacted = engine.compact();
        let is_off = image.is_off();
        drop(engine);
        for _ in 0..3 {
            let image = image.after_power_cut();
            let engine = open(&image, small(), 3).expect("an image opens");
            assert_eq!(state(&engine).expect("readable"), expected, "a cut after {cuts} steps");
            engine.compact().expect("compacted");
            drop(engine);
            assert_eq!(segments(&image), 1, "a cut after {cuts} steps");
            let engine = open(&image, small(), 4).expect("opens again");
            assert_eq!(state(&engine).expect("readable"), expected, "a cut after {cuts} steps");
        }
        if !is_off {
            compacted.expect("nothing went wrong");
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 10, "a compaction has {cuts} steps");
}
