//! Flipped bytes: found, named, and nothing else lost.

use quayline_store::{Change, Engine, FullKey, StoreError};
use quayline_store_embedded::fake::{Chance, FakeDisk};

use crate::support::{SPACES, open, small, state};

fn filled(disk: &FakeDisk, records: u64, apply: bool) -> Vec<u64> {
    let engine = open(disk, small(), 3).expect("a new store opens");
    let mut ends = Vec::new();
    for number in 0..records {
        let key = FullKey::new(SPACES[0], &number.to_be_bytes());
        let value = vec![u8::try_from(number % 256).expect("a small number of this test"); 100];
        let position = engine.commit(vec![(key, Change::Put(value.into()))], Box::new(|_| ()));
        ends.push(position.expect("committed").0);
    }
    if apply {
        engine.apply().expect("applied");
    }
    ends
}

#[test]
fn a_flipped_byte_of_the_log_is_refused_and_named() {
    const LOG: &str = "log-0000000001.qls";
    let disk = FakeDisk::new(1);
    let ends = filled(&disk, 50, false);
    let content = disk.content(LOG).expect("a log");
    let (mut refused, mut last) = (0, 0);
    let end = usize::try_from(4096 + ends[49]).expect("a small number of this test");
    let last_begin = usize::try_from(4096 + ends[48]).expect("a small number of this test");
    for at in (0..56).chain(4096..end) {
        let copy = disk.deep_copy();
        let mut bytes = content.clone();
        bytes[at] ^= 0x40;
        copy.set_content(LOG, bytes);
        match open(&copy, small(), 3) {
            Err(StoreError::LogDamaged { file, damaged, intact, byte }) => {
                assert!(file == LOG && intact > damaged && byte <= at as u64, "byte {at}");
                refused += 1;
            }
            Err(StoreError::Damaged { file, .. } | StoreError::Version { file, .. }) => {
                assert_eq!(file, LOG);
                refused += 1;
            }
            Err(other) => panic!("byte {at}: {other}"),
            Ok(engine) => {
                let found = state(&engine).expect("readable").len();
                // The last group alone cannot be distinguished from a torn end.
                let lost_last = at >= last_begin && found == 49;
                assert!(found == 50 || lost_last, "byte {at}: {found} records");
                last += u64::from(lost_last);
            }
        }
    }
    assert!(refused > 7_000 && last > 100, "{refused} refused, {last} in the last group");
}

#[test]
fn a_missing_segment_is_named() {
    let disk = FakeDisk::new(1);
    filled(&disk, 400, false);
    let medium: &dyn quayline_store_embedded::Medium = &disk;
    let mut segments = medium.list().expect("a list");
    segments.retain(|name| name.starts_with("log-"));
    assert!(segments.len() >= 3, "{segments:?}");
    for segment in segments {
        let copy = disk.deep_copy();
        let medium: &dyn quayline_store_embedded::Medium = &copy;
        medium.remove(&segment).expect("removed");
        let error = open(&copy, small(), 3).expect_err("a part of the log is missing");
        let text = error.finding().to_string();
        assert!(text.contains(&segment) && text.contains("STO-003"), "{text}");
    }
}

#[test]
fn a_missing_applied_store_beside_a_log_is_refused() {
    let disk = FakeDisk::new(1);
    filled(&disk, 5, false);
    let medium: &dyn quayline_store_embedded::Medium = &disk;
    medium.remove("store.redb").expect("removed");
    let error = open(&disk, small(), 3).expect_err("half of a store");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn a_flipped_byte_of_the_applied_store_is_never_another_value() {
    let disk = FakeDisk::new(1);
    filled(&disk, 300, true);
    let whole = {
        let engine = open(&disk, small(), 3).expect("opens");
        state(&engine).expect("readable")
    };
    let content = disk.content("store.redb").expect("a store");
    let mut chance = Chance(4);
    let (mut harmless, mut found) = (0, 0);
    for _ in 0..400 {
        let copy = disk.deep_copy();
        let mut bytes = content.clone();
        let at = chance.index(bytes.len());
        bytes[at] ^= 1 << chance.below(8);
        copy.set_content("store.redb", bytes);
        // Opening, reading or checking says so, or everything is there.
        let Ok(engine) = open(&copy, small(), 3) else {
            found += 1;
            continue;
        };
        match state(&engine) {
            Ok(state) if state == whole => harmless += 1,
            Ok(_) => {
                let damage = engine.check();
                assert!(damage.is_err() || damage.is_ok_and(|found| !found.is_empty()), "byte {at} is not found");
                found += 1;
            }
            Err(StoreError::Damaged { .. } | StoreError::Io { .. }) => found += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(found > 0 && harmless > 0, "{found} found, {harmless} harmless");
}

/// Seen in an image of a power cut: the file had grown by a part of a write, and the store did not open.
#[test]
fn a_file_that_ends_within_a_page_opens_with_everything() {
    let disk = FakeDisk::new(1);
    filled(&disk, 300, true);
    let whole = {
        let engine = open(&disk, small(), 3).expect("opens");
        state(&engine).expect("readable")
    };
    let content = disk.content("store.redb").expect("a store");
    for more in [1, 512, 3_584, 4_095, 4_096, 7_680] {
        let copy = disk.deep_copy();
        copy.set_content("store.redb", [content.clone(), vec![0xa5; more]].concat());
        let engine = open(&copy, small(), 3).unwrap_or_else(|error| panic!("{more} bytes more: {error}"));
        assert_eq!(state(&engine).expect("readable"), whole, "{more} bytes more");
        assert!(engine.check().expect("checked").is_empty(), "{more} bytes more");
    }
}

/// The same damage the other way is found: bytes that a commit needs are missing.
#[test]
fn a_file_without_its_end_is_never_another_value() {
    let disk = FakeDisk::new(1);
    filled(&disk, 300, true);
    let whole = {
        let engine = open(&disk, small(), 3).expect("opens");
        state(&engine).expect("readable")
    };
    let content = disk.content("store.redb").expect("a store");
    let mut chance = Chance(7);
    for _ in 0..100 {
        let copy = disk.deep_copy();
        copy.set_content("store.redb", content[..chance.index(content.len())].to_vec());
        let Ok(engine) = open(&copy, small(), 3) else { continue };
        match state(&engine) {
            Ok(state) => assert_eq!(state, whole),
            Err(StoreError::Damaged { .. } | StoreError::Io { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}
