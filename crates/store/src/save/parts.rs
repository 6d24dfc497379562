//! A save as parts in a folder, which can resume. See the parent module for the semantics.

use std::io::{self, Read, Write};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::manifest::{MANIFEST, MANIFEST_BYTES_MAX, MANIFEST_PARTIAL, Manifest, PART_PARTIAL, Part, TITLE, is_part};
use super::saved::Saved;
use super::write::{Cut, FileWriter, Piece, pieces, put_entry};
use super::{Content, Entries, SaveFacts, SaveOptions, failed, store_all};
use crate::StoreError;
use crate::engine::{Engine, EntryRange, Snapshot};

/// Bytes of entries that are digested at once.
const CHUNK: usize = 64 << 10;

/// Folder of a save in parts. All file access goes through it, so that tests can inject failures and truncations.
pub trait PartFolder: Sync {
    /// Returns the name of the folder for messages.
    fn name(&self) -> String;
    /// Names of all files.
    ///
    /// # Errors
    /// Errors of the system.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file from its beginning.
    ///
    /// # Errors
    /// Errors of the system.
    fn read(&self, file: &str) -> io::Result<Box<dyn Read + Send + '_>>;
    /// Makes an empty file, or empties one.
    ///
    /// # Errors
    /// Errors of the system.
    fn create(&self, file: &str) -> io::Result<Box<dyn PartFile + '_>>;
    /// Renames a file and replaces one of the new name.
    ///
    /// # Errors
    /// Errors of the system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// Errors of the system.
    fn remove(&self, file: &str) -> io::Result<()>;
    /// Makes all names durable.
    ///
    /// # Errors
    /// Errors of the system.
    fn sync(&self) -> io::Result<()>;
}

/// A file that is written.
pub trait PartFile: Write {
    /// Makes everything that was written durable.
    ///
    /// # Errors
    /// Errors of the system.
    fn sync(&mut self) -> io::Result<()>;
}

/// Outcome of [`save_parts`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PartsSaved {
    /// Contents of the folder.
    pub facts: SaveFacts,
    /// Parts of an earlier run that hold still.
    pub kept: usize,
    /// Parts of an earlier run that were rewritten or dropped because their entries changed.
    pub changed: usize,
    /// Errors of parts of an earlier run that were rewritten because their files are damaged.
    pub damaged: Vec<StoreError>,
    /// True if the save is complete, false after a stop.
    pub is_complete: bool,
}

fn path(folder: &dyn PartFolder, file: &str) -> String {
    format!("{}/{file}", folder.name())
}

fn manifest_bytes(folder: &dyn PartFolder) -> Result<Option<Vec<u8>>, StoreError> {
    let name = path(folder, MANIFEST);
    let names = folder.list().map_err(failed(&folder.name(), "listed"))?;
    if !names.iter().any(|name| name == MANIFEST) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let from = folder.read(MANIFEST).map_err(failed(&name, "read"))?;
    from.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(failed(&name, "read"))?;
    Ok(Some(bytes))
}

fn parsed(folder: &dyn PartFolder, bytes: &[u8]) -> Result<Manifest, StoreError> {
    let name = path(folder, MANIFEST);
    match std::str::from_utf8(bytes) {
        Ok(text) => Manifest::parse(text, &name),
        Err(error) => Err(StoreError::BadSave {
            file: name,
            byte: error.valid_up_to() as u64,
            what: "the manifest is not text".to_owned(),
        }),
    }
}

fn store_manifest(folder: &dyn PartFolder, manifest: &Manifest) -> Result<(), StoreError> {
    let name = path(folder, MANIFEST);
    let write = || {
        let mut file = folder.create(MANIFEST_PARTIAL)?;
        file.write_all(manifest.text().as_bytes())?;
        file.sync()?;
        drop(file);
        folder.rename(MANIFEST_PARTIAL, MANIFEST)?;
        folder.sync()
    };
    write().map_err(failed(&name, "written"))
}

/// State of a part of an earlier run.
#[derive(Debug)]
enum Found {
    Holds,
    Changed,
    Damaged(StoreError),
}

/// Saves the current contents of an engine to a folder, or resumes an unfinished save there. Other threads may commit at the same time. `stop` is
/// called after each block; if it returns true, the save ends with all finished parts and can resume.
///
/// # Errors
/// [`StoreError::Exists`] if the folder has a complete save; errors of the two media.
pub fn save_parts(
    engine: &dyn Engine,
    folder: &dyn PartFolder,
    options: SaveOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<PartsSaved, StoreError> {
    let before = match manifest_bytes(folder)? {
        None => Manifest::default(),
        // Somebody's file that has this name by chance stays.
        Some(bytes) if !bytes.starts_with(TITLE.as_bytes()) => {
            return Err(StoreError::Exists { kind: "file", name: path(folder, MANIFEST) });
        }
        Some(bytes) => match parsed(folder, &bytes) {
            // Without its manifest no part can be trusted, so all parts are rewritten.
            Err(error @ StoreError::BadSave { .. }) => {
                let mut saved = save_into(engine, folder, options, stop, &[])?;
                saved.damaged.insert(0, error);
                return Ok(saved);
            }
            found => found?,
        },
    };
    if before.is_complete {
        return Err(StoreError::Exists { kind: "save", name: folder.name() });
    }
    save_into(engine, folder, options, stop, &before.parts)
}

fn save_into(
    engine: &dyn Engine,
    folder: &dyn PartFolder,
    options: SaveOptions,
    stop: &(dyn Fn() -> bool + Sync),
    before: &[Part],
) -> Result<PartsSaved, StoreError> {
    let snapshot = engine.snapshot()?;
    let mut saved = PartsSaved::default();
    let found = compare(snapshot.as_ref(), folder, options.threads, stop, before)?;
    let parts = Parts { folder, snapshot: snapshot.as_ref(), options, stop };
    // Until a part is rewritten, the manifest names its earlier version.
    let mut manifest = Manifest { is_complete: false, position: snapshot.position(), parts: before.to_vec() };
    for (index, (part, found)) in before.iter().zip(found).enumerate() {
        match found {
            None => return Ok(saved),
            Some(Found::Holds) => {
                saved.kept += 1;
                continue;
            }
            Some(Found::Changed) => saved.changed += 1,
            Some(Found::Damaged(error)) => saved.damaged.push(error),
        }
        let below = index.checked_sub(1).map(|index| before[index].last.as_slice());
        let mut written = None;
        let keys = range(below, Some(&part.last));
        let is_whole = parts.write(keys, u64::MAX, part.number, &mut |new| {
            written = Some(new);
            Ok(())
        })?;
        if !is_whole {
            return Ok(saved);
        }
        let at = manifest.parts.iter().position(|old| old.number == part.number);
        let at = at.expect("the manifest begins with the parts of the earlier run");
        match written {
            // The part owns the same keys, whether or not the last of them still exists.
            Some(new) => manifest.parts[at] = Part { last: part.last.clone(), ..new },
            // Nothing has these keys in this snapshot, so the part after it may own them too.
            None => drop(manifest.parts.remove(at)),
        }
        store_manifest(folder, &manifest)?;
    }
    let next = before.iter().map(|part| part.number).max().unwrap_or(0) + 1;
    let keys = range(before.last().map(|part| part.last.as_slice()), None);
    let is_whole = parts.write(keys, options.part_bytes, next, &mut |new| {
        manifest.parts.push(new);
        store_manifest(folder, &manifest)
    })?;
    if !is_whole {
        return Ok(saved);
    }
    manifest.is_complete = true;
    store_manifest(folder, &manifest)?;
    remove_strays(folder, &manifest)?;
    saved.is_complete = true;
    saved.facts = facts(&manifest);
    Ok(saved)
}

fn facts(manifest: &Manifest) -> SaveFacts {
    let sum = |value: fn(&Part) -> u64| manifest.parts.iter().map(value).sum();
    SaveFacts { position: manifest.position, entries: sum(|part| part.entries), bytes: sum(|part| part.bytes) }
}

/// Returns the key range of a part: after the last key of the preceding part, up to its own last key.
fn range<'a>(below: Option<&'a [u8]>, last: Option<&'a [u8]>) -> EntryRange<'a> {
    (below.map_or(Bound::Unbounded, Bound::Excluded), last.map_or(Bound::Unbounded, Bound::Included))
}

/// Compares parts of an earlier run with their files and with the snapshot, several at once. `None` for those that a stop left out.
fn compare(
    snapshot: &dyn Snapshot,
    folder: &dyn PartFolder,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    parts: &[Part],
) -> Result<Vec<Option<Found>>, StoreError> {
    each_part(parts.len(), threads, &|index| {
        if stop() {
            return Ok(None);
        }
        let part = &parts[index];
        let below = index.checked_sub(1).map(|index| parts[index].last.as_slice());
        match file_holds(folder, part, below) {
            Ok(()) => {}
            // A disk that cannot read this part may well be able to write another one.
            Err(error @ (StoreError::BadSave { .. } | StoreError::Version { .. } | StoreError::Io { .. })) => {
                return Ok(Some(Found::Damaged(error)));
            }
            Err(error) => return Err(error),
        }
        let mut content = Content::new();
        let mut raw = Vec::new();
        snapshot.visit(range(below, Some(&part.last)), &mut |key, value| {
            put_entry(&mut raw, key, value);
            if raw.len() >= CHUNK {
                content.add(&raw);
                raw.clear();
            }
            Ok(())
        })?;
        content.add(&raw);
        Ok(Some(if content.digest() == part.content { Found::Holds } else { Found::Changed }))
    })
}

/// Runs work for each part on several threads. Answers are in the order of the parts; the error is that of the first part which has one.
fn each_part<T: Send>(
    count: usize,
    threads: usize,
    work: &(dyn Fn(usize) -> Result<T, StoreError> + Sync),
) -> Result<Vec<T>, StoreError> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<Result<T, StoreError>>>> = Mutex::new((0..count).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let answer = work(index);
                    answers.lock()[index] = Some(answer);
                }
            });
        }
    });
    answers.into_inner().into_iter().map(|answer| answer.expect("every index below the count was worked on")).collect()
}

/// Reads a part to its end and compares it with the manifest.
fn file_holds(folder: &dyn PartFolder, part: &Part, below: Option<&[u8]>) -> Result<(), StoreError> {
    let mut saved = open(folder, part)?;
    let first = saved.entry().map(|(key, _)| key.to_vec());
    while saved.entry().is_some() {
        saved.next()?;
    }
    fits(folder, part, &saved, first.as_deref().zip(below))
}

type PartReader<'a> = Saved<Box<dyn Read + Send + 'a>>;

fn open<'a>(folder: &'a dyn PartFolder, part: &Part) -> Result<PartReader<'a>, StoreError> {
    let name = path(folder, &part.file());
    match folder.read(&part.file()) {
        Ok(from) => Saved::open(from, &name),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::BadSave { file: name, byte: 0, what: "the file of a part is missing".to_owned() })
        }
        Err(error) => Err(StoreError::io(&name, "read", &error)),
    }
}

/// Checks that a fully read part is the one that the manifest names. `first` is its first key and the key before it.
fn fits(
    folder: &dyn PartFolder,
    part: &Part,
    saved: &PartReader<'_>,
    first: Option<(&[u8], &[u8])>,
) -> Result<(), StoreError> {
    let bad =
        |what: &str| Err(StoreError::BadSave { file: path(folder, &part.file()), byte: 0, what: what.to_owned() });
    if saved.facts().entries != part.entries || saved.content() != part.content {
        return bad("the part is another one than the manifest names");
    }
    if saved.last_key() > part.last.as_slice() || first.is_some_and(|(first, below)| first <= below) {
        return bad("the part has keys that belong to another one");
    }
    Ok(())
}

/// Writes parts of one snapshot.
struct Parts<'a> {
    folder: &'a dyn PartFolder,
    snapshot: &'a dyn Snapshot,
    options: SaveOptions,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Parts<'_> {
    /// Writes a range as parts, numbered from `number`, and passes each to `done` when it is durable. Returns true if the complete range is written.
    fn write(
        &self,
        range: EntryRange<'_>,
        part_bytes: u64,
        mut number: u32,
        done: &mut dyn FnMut(Part) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let name = path(self.folder, PART_PARTIAL);
        let failed = || failed(&name, "written");
        let cut = Cut { options: self.options, part_bytes, stop: self.stop };
        let mut file: Option<FileWriter<Box<dyn PartFile + '_>>> = None;
        pieces(self.snapshot, range, cut, &mut |piece| match piece {
            Piece::Block(block) => {
                if file.is_none() {
                    let to = self.folder.create(PART_PARTIAL).map_err(failed())?;
                    file = Some(FileWriter::begin(to, self.options.packing, self.snapshot.position(), &name)?);
                }
                file.as_mut().map_or(Ok(()), |file| file.block(&block))
            }
            Piece::PartEnd { last, content } => {
                let Some(file) = file.take() else { return Ok(()) };
                let (SaveFacts { entries, bytes, .. }, mut to) = file.end()?;
                to.sync().map_err(failed())?;
                drop(to);
                let part = Part { number, entries, bytes, content, last };
                self.folder.rename(PART_PARTIAL, &part.file()).map_err(failed())?;
                number += 1;
                done(part)
            }
        })
    }
}

/// Removes files of parts that the manifest does not name, and unfinished files.
fn remove_strays(folder: &dyn PartFolder, manifest: &Manifest) -> Result<(), StoreError> {
    let named: Vec<String> = manifest.parts.iter().map(Part::file).collect();
    for name in folder.list().map_err(failed(&folder.name(), "listed"))? {
        let is_partial = name == PART_PARTIAL || name == MANIFEST_PARTIAL;
        if is_partial || (is_part(&name) && !named.contains(&name)) {
            folder.remove(&name).map_err(failed(&path(folder, &name), "removed"))?;
        }
    }
    Ok(())
}

/// Returns the manifest of a complete save.
fn complete(folder: &dyn PartFolder) -> Result<Manifest, StoreError> {
    let Some(bytes) = manifest_bytes(folder)? else {
        let what = "the folder has no manifest of a save".to_owned();
        return Err(StoreError::BadSave { file: folder.name(), byte: 0, what });
    };
    let found = parsed(folder, &bytes)?;
    if found.is_complete {
        Ok(found)
    } else {
        Err(StoreError::UnfinishedSave { folder: folder.name(), parts: found.parts.len() })
    }
}

/// Reads all parts of a save, several at once, and checks everything.
///
/// # Errors
/// One error for each damaged part; or a single error if the manifest cannot be used.
pub fn check_parts(folder: &dyn PartFolder, threads: usize) -> Result<SaveFacts, Vec<StoreError>> {
    let manifest = complete(folder).map_err(|error| vec![error])?;
    let parts = &manifest.parts;
    let found = each_part(parts.len(), threads, &|index| {
        let below = index.checked_sub(1).map(|index| parts[index].last.as_slice());
        Ok(file_holds(folder, &parts[index], below).err())
    });
    let damaged: Vec<StoreError> = found.map_err(|error| vec![error])?.into_iter().flatten().collect();
    if damaged.is_empty() { Ok(facts(&manifest)) } else { Err(damaged) }
}

/// Stores a save in parts in an empty engine. Run [`check_parts`] on it first.
///
/// # Errors
/// The first error of [`check_parts`]; errors of the medium.
pub fn restore_parts(engine: &dyn Engine, folder: &dyn PartFolder) -> Result<SaveFacts, StoreError> {
    let manifest = complete(folder)?;
    let mut chain = Chain { folder, parts: &manifest.parts, next: 0, saved: None };
    chain.settle()?;
    store_all(engine, &mut chain)?;
    Ok(facts(&manifest))
}

/// The entries of all parts, one after another.
struct Chain<'a> {
    folder: &'a dyn PartFolder,
    parts: &'a [Part],
    /// Index of the part after the open one.
    next: usize,
    saved: Option<PartReader<'a>>,
}

impl Chain<'_> {
    /// Opens parts until there is an entry, or none is left.
    fn settle(&mut self) -> Result<(), StoreError> {
        loop {
            if let Some(saved) = &self.saved {
                if saved.entry().is_some() {
                    return Ok(());
                }
                fits(self.folder, &self.parts[self.next - 1], saved, None)?;
            }
            let Some(part) = self.parts.get(self.next) else {
                self.saved = None;
                return Ok(());
            };
            self.saved = Some(open(self.folder, part)?);
            self.next += 1;
        }
    }
}

impl Entries for Chain<'_> {
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.saved.as_ref()?.entry()
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        if let Some(saved) = &mut self.saved {
            saved.next()?;
        }
        self.settle()
    }
}
