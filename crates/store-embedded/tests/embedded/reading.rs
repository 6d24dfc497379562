//! A data folder that is only read: it does not change, and all acknowledged data is readable.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::save::{SaveOptions, check, save};
use quayline_store::{Access, Engine as _, Space, Store, StoreError, StoreLimits};
use quayline_store_embedded::fake::Chance;
use quayline_store_embedded::{EmbeddedEngine, Folder, Medium as _, OpenMode, Overlay, Settings, Work};

use crate::support::clock;

fn to_read(folder: &Path) -> Result<(Store, Arc<EmbeddedEngine>), StoreError> {
    let overlay = Overlay::new(Arc::new(Folder::new(folder)));
    let settings = Settings { work: Work::Inline, ..Settings::default() };
    let engine = Arc::new(EmbeddedEngine::open(Arc::new(overlay), &clock(1), settings)?);
    let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
    Ok((Store::open(shared, clock(2), StoreLimits::default(), Access::Read)?, engine))
}

fn to_write(folder: &Path) -> Result<Store, StoreError> {
    let medium = Folder::create(folder).expect("a folder");
    // Nothing is applied, so everything is in the log.
    let settings = Settings { apply_interval_ms: 3_600_000, ..Settings::default() };
    let engine = EmbeddedEngine::open(Arc::new(medium), &clock(1), settings)?;
    Store::open(Arc::new(engine), clock(2), StoreLimits::default(), Access::Write)
}

fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| {
            let bytes = std::fs::read(folder.join(&name)).expect("readable");
            (name.into_string().expect("text"), bytes)
        })
        .collect()
}

#[test]
fn a_folder_that_is_read_stays_as_it_is_byte_for_byte() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("store");
    {
        let store = to_write(&folder).expect("it opens");
        let mut unit = store.begin().expect("a unit");
        store.define_queue(&mut unit, QueueDefinition::local("Q")).expect("defined");
        for number in 0..2_000u32 {
            unit.put(Space(20), &number.to_be_bytes(), vec![7; 100]).expect("put");
        }
        unit.commit().expect("committed");
        let mut unit = store.begin().expect("a unit");
        store.queue("Q").expect("opened").put(&mut unit, &Message::new(*b"there")).expect("put");
        unit.commit().expect("committed");
        assert!(matches!(to_read(&folder), Err(StoreError::InUse { .. })), "a process writes there");
    }
    let before = content(&folder);
    {
        let (store, engine) = to_read(&folder).expect("it opens");
        // Two may read at once.
        let (second, _) = to_read(&folder).expect("it opens again");
        assert!(matches!(to_write(&folder), Err(StoreError::InUse { .. })), "a process reads there");
        for store in [&store, &second] {
            let unit = store.begin().expect("a unit");
            for number in 0..2_000u32 {
                let found = unit.read(Space(20), &number.to_be_bytes()).expect("readable");
                assert_eq!(found.map(|value| value.len()), Some(100));
            }
            let found = store.queue("Q").expect("opened").browse(&unit, None, 9).expect("readable");
            assert_eq!(found[0].message.payload, b"there");
        }
        let mut unit = store.begin().expect("a unit");
        assert!(matches!(unit.put(Space(20), b"x", b"x".as_slice()), Err(StoreError::ReadOnly)));
        let got = store.queue("Q").expect("opened").get(&mut unit, Select::First, GetWait::No);
        assert!(matches!(got, Err(StoreError::ReadOnly)), "{got:?}");
        drop(unit);
        assert!(engine.check().expect("checked").is_empty());
        let mut bytes = Vec::new();
        let saved = save(engine.as_ref(), &mut bytes, SaveOptions::default(), "save").expect("saved");
        assert!(saved.entries > 2_000);
        assert_eq!(check(&mut bytes.as_slice(), "save").expect("intact"), saved);
        engine.close().expect("closed");
    }
    assert!(content(&folder) == before, "the folder is as it was");
    to_write(&folder).expect("it opens to be written");
}

/// Random writes, lengths and names beside the same on a file in memory.
#[test]
fn an_overlay_reads_as_a_file_does() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let mut chance = Chance(9);
    for round in 0..40 {
        let length = chance.index(20_000);
        let mut expected: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).expect("small")).collect();
        std::fs::write(place.path().join("f"), &expected).expect("written");
        let overlay = Overlay::new(Arc::new(Folder::new(place.path())));
        let file = overlay.open("f", OpenMode::Write).expect("opened");
        for _ in 0..30 {
            match chance.below(3) {
                0 => {
                    let length = chance.index(24_000);
                    file.set_len(length as u64).expect("set");
                    expected.resize(length, 0);
                }
                1 => {
                    let (at, count) = (chance.index(22_000), chance.index(9_000));
                    let byte = u8::try_from(chance.below(256)).expect("small");
                    file.write(at as u64, &vec![byte; count]).expect("written");
                    if count > 0 {
                        expected.resize(expected.len().max(at + count), 0);
                        expected[at..at + count].fill(byte);
                    } else {
                        expected.resize(expected.len().max(at), 0);
                    }
                }
                _ => {
                    let at = chance.index(expected.len().max(1)).min(expected.len());
                    let mut found = vec![1; chance.index(expected.len() - at + 1)];
                    file.read(at as u64, &mut found).expect("read");
                    assert!(found == expected[at..at + found.len()], "round {round}");
                }
            }
            assert_eq!(file.len().expect("a length"), expected.len() as u64);
        }
        overlay.rename("f", "g").expect("renamed");
        assert_eq!(overlay.list().expect("listed"), ["g"]);
        assert!(overlay.open("f", OpenMode::Write).is_err());
        overlay.remove("g").expect("removed");
        assert!(overlay.list().expect("listed").is_empty());
        assert_eq!(std::fs::read(place.path().join("f")).expect("there").len(), length);
    }
}

/// A lock that outlived its process.
///
/// A server was killed while it started a command of a job. The new process had the lock until it ran the command, so the next server was
/// refused with STO-005. The lock of a process that has ended is now tried again for 2 seconds; that of a running one is refused at once.
#[test]
fn the_lock_of_a_process_that_ended_is_awaited() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("store");
    drop(to_write(&folder).expect("it opens"));
    let lock = std::fs::OpenOptions::new().read(true).write(true).open(folder.join("lock")).expect("the lock file");
    let mut ended = std::process::Command::new("true").spawn().expect("a process");
    ended.wait().expect("it ends");
    for (owner, is_awaited) in [(ended.id(), true), (std::process::id(), false)] {
        for opens in [|folder: &Path| to_write(folder).map(drop), |folder: &Path| to_read(folder).map(drop)] {
            lock.lock().expect("locked");
            std::fs::write(folder.join("lock"), owner.to_string()).expect("written");
            std::thread::scope(|scope| {
                let (done, is_done) = std::sync::mpsc::channel::<()>();
                let lock = &lock;
                scope.spawn(move || {
                    // The folder is locked for some tries, or until it is refused.
                    let _ =
                        is_done.recv_timeout(std::time::Duration::from_millis(if is_awaited { 100 } else { 60_000 }));
                    lock.unlock().expect("unlocked");
                });
                assert_eq!(opens(&folder).is_ok(), is_awaited, "owner {owner}");
                drop(done);
            });
        }
    }
}
