//! Saves: one position while others commit, as one archive and as parts that continue after a stop.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Check, same, text};
use crate::save::{self, Packing, PartFile, PartFolder, SaveOptions};
use crate::{EVERY_ENTRY, Engine, FullKey, MemoryEngine, Space, Store, StoreError};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "a_save_holds_one_position_while_others_commit_and_restores_all", run: saved },
    Check { name: "a_save_in_parts_continues_at_the_position_of_its_last_run", run: parts },
];

type Entry = (Vec<u8>, Vec<u8>);

/// Returns every entry of an engine.
fn entries(engine: &dyn Engine) -> Result<Vec<Entry>, String> {
    let mut all = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        all.push((key.to_vec(), value.to_vec()));
        Ok(())
    };
    engine.snapshot().and_then(|snapshot| snapshot.visit(EVERY_ENTRY, &mut visit)).map_err(text)?;
    Ok(all)
}

fn saved(store: &Store) -> Result<(), String> {
    const PAIRS: u8 = 4;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut unit = store.begin().map_err(text)?;
    for number in 0..2_000u32 {
        unit.put(Space(20), &number.to_be_bytes(), vec![7; 1000]).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let saves = std::thread::scope(|scope| {
        for me in 0..PAIRS {
            let stop = &stop;
            // Two keys far from each other, always changed to the same number.
            scope.spawn(move || -> Result<(), StoreError> {
                for number in 0u64.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let mut unit = store.begin()?;
                    unit.put(Space(16), &[me], number.to_be_bytes().as_slice())?;
                    unit.put(Space(30), &[me], number.to_be_bytes().as_slice())?;
                    unit.commit()?;
                }
                Ok(())
            });
        }
        let save_one = |packing| -> Result<Vec<u8>, String> {
            let mut bytes = Vec::new();
            save::save(
                store.engine().as_ref(),
                &mut bytes,
                SaveOptions { packing, threads: 3, ..SaveOptions::default() },
                "test",
            )
            .map_err(text)?;
            Ok(bytes)
        };
        let saves = (0..6).map(|number| save_one(if number % 2 == 0 { Packing::None } else { Packing::Deflate }));
        let saves: Vec<_> = saves.collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        saves
    });
    for bytes in saves {
        let bytes = bytes?;
        let facts = save::check(&mut bytes.as_slice(), "test").map_err(text)?;
        same("bytes", facts.bytes, bytes.len() as u64)?;
        let restored = MemoryEngine::new();
        same("restored", save::restore(&restored, &mut bytes.as_slice(), "test").map_err(text)?, facts)?;
        let all = entries(&restored)?;
        same("entries", all.len() as u64, facts.entries)?;
        same("records", all.iter().filter(|(key, _)| key[..4] == 20u32.to_be_bytes()).count(), 2_000)?;
        for me in 0..PAIRS {
            let value = |space: u32| {
                let key = FullKey::new(Space(space), &[me]);
                all.iter().find(|(found, _)| *found == key.bytes()).map(|(_, value)| value.clone())
            };
            same("both keys of a unit", value(16), value(30))?;
        }
        // Any damage is found before anything is restored.
        for at in (0..bytes.len()).step_by(bytes.len() / 50 + 1).chain([bytes.len() - 1]) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            same("damage", save::check(&mut damaged.as_slice(), "test").is_err(), true)?;
        }
        same("cut", save::check(&mut &bytes[..bytes.len() - 9], "test").is_err(), true)?;
    }
    let mut bytes = Vec::new();
    save::save(
        store.engine().as_ref(),
        &mut bytes,
        SaveOptions { packing: Packing::Deflate, ..SaveOptions::default() },
        "test",
    )
    .map_err(text)?;
    let restored = MemoryEngine::new();
    save::restore(&restored, &mut bytes.as_slice(), "test").map_err(text)?;
    same("everything", entries(&restored)? == entries(store.engine().as_ref())?, true)
}

/// A folder in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Arc<Mutex<Vec<u8>>>>>);

impl PartFolder for Memory {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().keys().cloned().collect())
    }

    fn read(&self, file: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        let found = self.0.lock().get(file).map(|content| content.lock().clone());
        found.map_or(Err(io::ErrorKind::NotFound.into()), |bytes| Ok(Box::new(io::Cursor::new(bytes)) as Box<_>))
    }

    fn create(&self, file: &str) -> io::Result<Box<dyn PartFile + '_>> {
        let content = Arc::default();
        self.0.lock().insert(file.to_owned(), Arc::clone(&content));
        Ok(Box::new(MemoryFile(content)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.0.lock();
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, file: &str) -> io::Result<()> {
        self.0.lock().remove(file).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PartFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks that a save that is stopped repeatedly while the store changes ends with the state of its last run and reuses unchanged parts.
fn parts(store: &Store) -> Result<(), String> {
    let options = SaveOptions { packing: Packing::Deflate, threads: 2, part_bytes: 8 << 10, block_bytes: 1 << 10 };
    let mut unit = store.begin().map_err(text)?;
    for number in 0..1_000u32 {
        unit.put(Space(20), &number.to_be_bytes(), vec![7; 100]).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let folder = Memory::default();
    let mut kept = 0;
    // Stops after 20, 40, ... blocks; the last run of the loop has the time to end.
    for run in 0u8.. {
        if run == 12 {
            return Err("the save did not end in 12 runs".to_owned());
        }
        let left = AtomicU64::new(u64::from(run + 1) * 20);
        let stop = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err();
        let before = entries(store.engine().as_ref())?;
        let saved = save::save_parts(store.engine().as_ref(), &folder, options, &stop).map_err(text)?;
        same("damaged parts", saved.damaged.len(), 0)?;
        kept = kept.max(saved.kept);
        if saved.is_complete {
            same("runs before the last one", run > 1, true)?;
            same("checked", save::check_parts(&folder, 2).map_err(|_| "damaged")?, saved.facts)?;
            let restored = MemoryEngine::new();
            same("restored", save::restore_parts(&restored, &folder).map_err(text)?, saved.facts)?;
            same("the state of the last run", entries(&restored)? == before, true)?;
            same("parts that changed", saved.changed > 0, true)?;
            break;
        }
        match save::check_parts(&folder, 2) {
            Err(found) if matches!(found[..], [StoreError::UnfinishedSave { .. }]) => {}
            found => return Err(format!("expected an unfinished save, found {found:?}")),
        }
        // One record is changed, one added and one deleted, all within the part that was saved first.
        let mut unit = store.begin().map_err(text)?;
        unit.put(Space(20), &u32::from(run).to_be_bytes(), vec![run; 100]).map_err(text)?;
        unit.put(Space(20), &[0, 0, 0, run, 1], vec![run; 50]).map_err(text)?;
        unit.delete(Space(20), &(40 + u32::from(run)).to_be_bytes()).map_err(text)?;
        unit.commit().map_err(text)?;
    }
    same("parts that were kept", kept > 5, true)?;
    match save::save_parts(store.engine().as_ref(), &folder, options, &|| false) {
        Err(StoreError::Exists { kind: "save", .. }) => Ok(()),
        found => Err(format!("expected that a complete save is refused, found {found:?}")),
    }
}
