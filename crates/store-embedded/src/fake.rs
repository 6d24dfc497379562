//! A simulated disk in memory that loses, reorders and tears unsynced writes, and fails on demand.
//!
//! Model of the medium, also in `docs/reference/store-format.md`:
//! - A sector of 512 bytes is written whole or not at all. Sectors of unsynced writes survive a power cut in any combination.
//! - A sync that succeeds makes the file's writes and its length durable. Names need a sync of the folder; without one, a cut keeps any first
//!   part of the renames, creations and removals, in their order.
//! - After a sync that fails, any part of the writes is on the disk, and no later sync writes the rest, although reads still show it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::medium::{Medium, MediumFile, OpenMode};

const SECTOR: usize = 512;

/// A small generator of random numbers: SplitMix64, so that a seed repeats a run.
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// A number below `bound`, which is above 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// An index below `bound`.
    pub fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap_or(0)
    }
}

/// Failures to simulate, and their times. A step is a write, a sync, a change of length or of a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// Steps until the power is cut; `None` is never.
    pub cut_in: Option<u64>,
    /// Steps until one step fails with this kind, without a power cut.
    pub fail_in: Option<(u64, io::ErrorKind)>,
    /// Steps after that one that fail too.
    pub fail_after: u64,
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, Arc<Mutex<Content>>),
    Rename(String, String),
    Remove(String),
}

type Names = BTreeMap<String, Arc<Mutex<Content>>>;

#[derive(Debug, Default)]
struct Disk {
    names: Names,
    durable_names: Names,
    unsynced: Vec<NameChange>,
    trouble: Trouble,
    off: bool,
    steps: u64,
}

/// The disk. Clones share it.
#[derive(Clone, Debug)]
pub struct FakeDisk {
    disk: Arc<Mutex<Disk>>,
    locked: Arc<AtomicBool>,
    chance: Arc<Mutex<Chance>>,
}

impl FakeDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        FakeDisk { disk: Arc::default(), locked: Arc::default(), chance: Arc::new(Mutex::new(Chance(seed ^ 0x5eed))) }
    }

    /// Sets the failures to simulate from now on.
    pub fn set_trouble(&self, trouble: Trouble) {
        self.disk.lock().trouble = trouble;
    }

    /// Returns true if the power was cut.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.disk.lock().off
    }

    /// Steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.disk.lock().steps
    }

    /// Returns the disk after a power cut: synced bytes, and any part of the others.
    #[must_use]
    pub fn after_power_cut(&self) -> FakeDisk {
        let disk = self.disk.lock();
        let mut chance = self.chance.lock();
        let mut names = disk.durable_names.clone();
        let kept = chance.index(disk.unsynced.len() + 1);
        for change in &disk.unsynced[..kept] {
            change_names(&mut names, change);
        }
        let names: Names = names
            .into_iter()
            .map(|(name, content)| {
                let image = surviving(&content.lock(), &mut chance);
                let content = Content { now: image.clone(), durable: image, dirty: BTreeSet::new() };
                (name, Arc::new(Mutex::new(content)))
            })
            .collect();
        let fresh = FakeDisk::new(chance.below(u64::MAX));
        *fresh.disk.lock() = Disk { durable_names: names.clone(), names, ..Disk::default() };
        fresh
    }

    /// Returns the disk after only the process ended.
    #[must_use]
    pub fn after_process_end(&self) -> FakeDisk {
        let fresh = FakeDisk { disk: Arc::clone(&self.disk), locked: Arc::default(), chance: Arc::clone(&self.chance) };
        fresh.disk.lock().trouble = Trouble::default();
        fresh
    }

    /// Content of a file as reads see it.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        self.disk.lock().names.get(name).map(|content| content.lock().now.clone())
    }

    /// Replaces the content of a file, durably.
    pub fn set_content(&self, name: &str, bytes: Vec<u8>) {
        if let Some(content) = self.disk.lock().names.get(name) {
            *content.lock() = Content { now: bytes.clone(), durable: bytes, dirty: BTreeSet::new() };
        }
    }

    /// Returns a deep copy.
    #[must_use]
    pub fn deep_copy(&self) -> FakeDisk {
        let disk = self.disk.lock();
        let names: Names = disk
            .names
            .iter()
            .map(|(name, content)| (name.clone(), Arc::new(Mutex::new(content.lock().clone()))))
            .collect();
        let fresh = FakeDisk::new(disk.steps);
        *fresh.disk.lock() = Disk { durable_names: names.clone(), names, ..Disk::default() };
        fresh
    }

    fn step(&self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.steps += 1;
        if disk.trouble.cut_in == Some(0) {
            disk.off = true;
        }
        if disk.off {
            return Err(io::Error::other("the power was cut"));
        }
        if let Some(left) = &mut disk.trouble.cut_in {
            *left -= 1;
        }
        match &mut disk.trouble.fail_in {
            Some((0, kind)) => {
                let kind = *kind;
                match disk.trouble.fail_after.checked_sub(1) {
                    Some(left) => disk.trouble.fail_after = left,
                    None => disk.trouble.fail_in = None,
                }
                Err(io::Error::from(kind))
            }
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change_name(&self, change: NameChange) {
        let mut disk = self.disk.lock();
        change_names(&mut disk.names, &change);
        disk.unsynced.push(change);
    }
}

fn change_names(names: &mut Names, change: &NameChange) {
    match change {
        NameChange::Add(name, content) => {
            names.insert(name.clone(), Arc::clone(content));
        }
        NameChange::Rename(from, to) => {
            if let Some(content) = names.remove(from) {
                names.insert(to.clone(), content);
            }
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
    }
}

fn surviving(content: &Content, chance: &mut Chance) -> Vec<u8> {
    let mut image = content.durable.clone();
    let manner = chance.below(4);
    for sector in &content.dirty {
        // All lost, all kept, or each on its own.
        if manner == 0 || (manner > 1 && chance.below(2) == 0) {
            continue;
        }
        keep_sector(content, *sector, &mut image);
    }
    if chance.below(2) == 0 {
        image.resize(content.now.len(), 0);
    }
    image
}

fn keep_sector(content: &Content, sector: usize, image: &mut Vec<u8>) {
    let (begin, end) = (sector * SECTOR, ((sector + 1) * SECTOR).min(content.now.len()));
    if begin < end {
        if image.len() < end {
            image.resize(end, 0);
        }
        image[begin..end].copy_from_slice(&content.now[begin..end]);
    }
}

impl Medium for FakeDisk {
    fn name(&self) -> String {
        "a disk in memory".to_owned()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.disk.lock().names.keys().cloned().collect())
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        let found = self.disk.lock().names.get(name).cloned();
        let content = match (found, mode) {
            (Some(content), _) => content,
            (None, OpenMode::Create) => {
                self.step()?;
                let content = Arc::new(Mutex::new(Content::default()));
                self.change_name(NameChange::Add(name.to_owned(), Arc::clone(&content)));
                content
            }
            (None, _) => return Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Ok(Arc::new(FakeFile { content, disk: self.clone(), writable: mode != OpenMode::Read }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        self.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step()?;
        self.change_name(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.step()?;
        let mut disk = self.disk.lock();
        disk.unsynced.clear();
        disk.durable_names = disk.names.clone();
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        if self.locked.swap(true, Ordering::SeqCst) {
            return Ok(None);
        }
        Ok(Some(Box::new(Unlock(Arc::clone(&self.locked)))))
    }
}

struct Unlock(Arc<AtomicBool>);

impl Drop for Unlock {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct FakeFile {
    content: Arc<Mutex<Content>>,
    disk: FakeDisk,
    writable: bool,
}

impl FakeFile {
    fn may_write(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::Error::from(io::ErrorKind::PermissionDenied)) }
    }
}

fn place(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

impl MediumFile for FakeFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().now.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.may_write()?;
        self.disk.step()?;
        let mut content = self.content.lock();
        let (before, after) = (content.now.len(), place(length)?);
        content.now.resize(after, 0);
        // What was cut off earlier must not come back as content of the grown file once it is synced.
        content.dirty.extend(before / SECTOR..after.div_ceil(SECTOR));
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let content = self.content.lock();
        let at = place(at)?;
        match content.now.get(at..).and_then(|rest| rest.get(..into.len())) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.may_write()?;
        if self.disk.is_off() {
            return Err(io::Error::other("the power was cut"));
        }
        // A write during the cut, or one that fails, may still land in part: what happens to its sectors is decided with the others.
        let outcome = self.disk.step();
        let mut content = self.content.lock();
        let begin = place(at)?;
        let end = begin + bytes.len();
        if content.now.len() < end {
            content.now.resize(end, 0);
        }
        content.now[begin..end].copy_from_slice(bytes);
        content.dirty.extend(begin / SECTOR..end.div_ceil(SECTOR));
        outcome
    }

    fn sync(&self) -> io::Result<()> {
        self.may_write()?;
        if let Err(error) = self.disk.step() {
            if !self.disk.is_off() {
                let content = &mut *self.content.lock();
                let mut image = std::mem::take(&mut content.durable);
                for sector in std::mem::take(&mut content.dirty) {
                    if self.disk.chance.lock().below(2) == 0 {
                        keep_sector(content, sector, &mut image);
                    }
                }
                content.durable = image;
            }
            return Err(error);
        }
        let content = &mut *self.content.lock();
        let mut image = std::mem::take(&mut content.durable);
        image.resize(content.now.len(), 0);
        for sector in std::mem::take(&mut content.dirty) {
            keep_sector(content, sector, &mut image);
        }
        content.durable = image;
        Ok(())
    }
}
