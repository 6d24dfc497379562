//! Saves in parts on a disk that loses power, fails and changes bytes.
#![expect(clippy::unwrap_used, reason = "a test stops at what is wrong")]

use std::collections::BTreeMap;

use quayline_store::save::{Packing, SaveOptions, check_parts, restore_parts, save, save_parts};
use quayline_store::{Change, EVERY_ENTRY, Engine, FullKey, MemoryEngine, Space, StoreError};
use quayline_store_embedded::fake::{Chance, FakeDisk, Trouble};
use quayline_store_embedded::{Medium as _, SaveFolder};

use crate::support::count_of;

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(chance: &mut Chance) -> SaveOptions {
    let packing = if chance.below(2) == 0 { Packing::None } else { Packing::Deflate };
    SaveOptions { packing, threads: 1 + chance.index(3), part_bytes: 2_000, block_bytes: 500 }
}

/// Changes some records, and adds and removes others.
fn change(engine: &MemoryEngine, chance: &mut Chance, count: u64) {
    for _ in 0..count {
        let key = FullKey::new(Space(16 + u32::try_from(chance.below(3)).unwrap()), &chance.below(400).to_be_bytes());
        let change = match chance.below(4) {
            0 => Change::Delete,
            _ => Change::Put(vec![u8::try_from(chance.below(256)).unwrap(); chance.index(80)].into()),
        };
        engine.commit(vec![(key, change)], Box::new(|_| ())).unwrap();
    }
}

fn state(engine: &dyn Engine) -> State {
    let mut state = State::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        state.insert(key.to_vec(), value.to_vec());
        Ok(())
    };
    engine.snapshot().unwrap().visit(EVERY_ENTRY, &mut visit).unwrap();
    state
}

fn restored(disk: &FakeDisk) -> State {
    let engine = MemoryEngine::new();
    let facts = check_parts(&SaveFolder(disk), 2).unwrap();
    assert_eq!(restore_parts(&engine, &SaveFolder(disk)).unwrap(), facts);
    let state = state(&engine);
    assert_eq!(state.len() as u64, facts.entries);
    state
}

/// Cuts the power, or lets the disk fail, at each step of a save, and at random steps of the runs after it, while the store changes. The save that
/// finally completes has the store as it was at its last run, and no other file.
#[test]
fn a_save_continues_after_trouble_at_every_step() {
    let rounds = count_of("QUAYLINE_SAVE_ROUNDS", 1);
    let (mut kept, mut changed, mut cuts) = (0, 0, 0);
    for round in 0..rounds {
        for step in 0.. {
            let seed = round * 1_000_000 + step;
            let mut chance = Chance(seed);
            let engine = MemoryEngine::new();
            change(&engine, &mut chance, 600);
            let mut disk = FakeDisk::new(seed);
            let fails = chance.below(3) == 0;
            disk.set_trouble(match fails {
                true => Trouble { fail_in: Some((step, std::io::ErrorKind::StorageFull)), ..Trouble::default() },
                false => Trouble { cut_in: Some(step), ..Trouble::default() },
            });
            let mut runs = 0;
            let mut saved = save_parts(&engine, &SaveFolder(&disk), options(&mut chance), &|| false);
            let first_is_whole = saved.is_ok();
            while saved.is_err() {
                runs += 1;
                cuts += 1;
                disk = if disk.is_off() { disk.after_power_cut() } else { disk.after_process_end() };
                let count = if chance.below(3) == 0 { 0 } else { chance.below(30) };
                change(&engine, &mut chance, count);
                if runs < 3 {
                    disk.set_trouble(Trouble { cut_in: Some(chance.below(150)), ..Trouble::default() });
                }
                saved = save_parts(&engine, &SaveFolder(&disk), options(&mut chance), &|| false);
                if let Err(StoreError::Exists { .. }) = saved {
                    // The cut came after the save was complete, while files were removed. It holds an earlier state.
                    break;
                }
            }
            if let Ok(saved) = saved {
                assert!(saved.is_complete && saved.damaged.is_empty(), "seed {seed}: {saved:?}");
                assert!(restored(&disk) == state(&engine), "seed {seed}: another state");
                let names = disk.list().unwrap();
                assert!(!names.iter().any(|name| name.ends_with(".partial")), "seed {seed}: {names:?}");
                kept += saved.kept;
                changed += saved.changed;
            } else {
                restored(&disk);
            }
            if first_is_whole {
                assert!(step > 50, "the save has few steps: {step}");
                break;
            }
        }
    }
    assert!(kept > 100 && changed > 20 && cuts > 50, "{kept} kept, {changed} changed, {cuts} cuts");
}

/// Changes one byte in each file of a save's folder, one file after another.
#[test]
fn damage_to_any_part_is_found_and_named_and_repaired_by_the_next_run() {
    let mut chance = Chance(7);
    let engine = MemoryEngine::new();
    change(&engine, &mut chance, 900);
    let options = SaveOptions { packing: Packing::Deflate, threads: 2, part_bytes: 2_000, block_bytes: 500 };
    let whole = FakeDisk::new(1);
    assert!(save_parts(&engine, &SaveFolder(&whole), options, &|| false).unwrap().is_complete);
    let unfinished = FakeDisk::new(2);
    let blocks = std::sync::atomic::AtomicU64::new(0);
    let stop = || blocks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 25;
    assert!(!save_parts(&engine, &SaveFolder(&unfinished), options, &stop).unwrap().is_complete);
    let parts = |disk: &FakeDisk| {
        let names = disk.list().unwrap().into_iter();
        names.filter(|name| name.starts_with("part-")).collect::<Vec<_>>()
    };
    assert!(parts(&whole).len() > parts(&unfinished).len() && parts(&unfinished).len() > 3);

    for name in whole.list().unwrap() {
        let content = whole.content(&name).unwrap();
        for at in (0..content.len()).step_by(37).chain([content.len() - 1]) {
            let copy = whole.deep_copy();
            let mut bytes = content.clone();
            bytes[at] ^= 4;
            copy.set_content(&name, bytes);
            let found = check_parts(&SaveFolder(&copy), 2).unwrap_err();
            let [StoreError::BadSave { file, .. } | StoreError::Version { file, .. }] = &found[..] else {
                panic!("byte {at} of {name}: {found:?}");
            };
            assert!(file.ends_with(&name), "byte {at} of {name}: {file}");
            assert!(restore_parts(&MemoryEngine::new(), &SaveFolder(&copy)).is_err(), "byte {at} of {name}");
        }
    }
    // Every damaged part is named, and one that is missing or exchanged for another.
    let copy = whole.deep_copy();
    let names = parts(&copy);
    copy.set_content(&names[1], copy.content(&names[2]).unwrap());
    copy.remove(&names[4]).unwrap();
    let found = check_parts(&SaveFolder(&copy), 3).unwrap_err();
    let texts: Vec<String> = found.iter().map(|error| format!("{error:?}")).collect();
    assert!(texts.len() == 2 && texts[0].contains(&names[1]) && texts[1].contains(&names[4]), "{texts:?}");

    for name in parts(&unfinished).into_iter().chain(["manifest".to_owned()]) {
        let copy = unfinished.deep_copy();
        let mut bytes = copy.content(&name).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        copy.set_content(&name, bytes);
        let saved = save_parts(&engine, &SaveFolder(&copy), options, &|| false).unwrap();
        assert!(saved.is_complete && saved.damaged.len() == 1, "{name}: {saved:?}");
        assert!(format!("{:?}", saved.damaged[0]).contains(&name), "{name}: {saved:?}");
        assert!(restored(&copy) == state(&engine), "{name}");
    }
    // A file of somebody else that has the name of the manifest stays.
    let other = FakeDisk::new(3);
    save_parts(&engine, &SaveFolder(&other), options, &|| true).unwrap();
    other.open("manifest", quayline_store_embedded::OpenMode::Create).unwrap().write(0, b"my ship").unwrap();
    let refused = save_parts(&engine, &SaveFolder(&other), options, &|| false);
    assert!(matches!(refused, Err(StoreError::Exists { kind: "file", .. })), "{refused:?}");
    assert_eq!(other.content("manifest").unwrap(), b"my ship");
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let mut chance = Chance(11);
    let engine = MemoryEngine::new();
    change(&engine, &mut chance, 2_000);
    let archive = |threads| {
        let mut bytes = Vec::new();
        let options = SaveOptions { packing: Packing::Deflate, threads, block_bytes: 300, ..SaveOptions::default() };
        save(&engine, &mut bytes, options, "test").unwrap();
        bytes
    };
    let one = archive(1);
    assert!(one.len() > 10_000);
    for threads in [2, 3, 8] {
        assert!(archive(threads) == one, "{threads} threads");
    }
    // A writer that fails ends the readers and packers.
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for room in [0, 70, 2_000, 9_000] {
        let options = SaveOptions { threads: 3, block_bytes: 300, ..SaveOptions::default() };
        let failed = save(&engine, &mut Full(room), options, "test").unwrap_err();
        assert!(matches!(failed, StoreError::Io { kind: std::io::ErrorKind::StorageFull, .. }), "{failed:?}");
    }
}
