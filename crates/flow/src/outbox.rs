//! Files that are written exactly once, after the commit.
//!
//! ```text
//! checkpoint "flow-file/PATH"  ─▶ length of the path with the highest bit set (4 bytes), path, length of FLOW/NODE (2 bytes), FLOW/NODE, content
//!                                 or, of earlier versions: length of the path (4 bytes), path, content
//! ```
//!
//! The entry commits with the unit of work. The file is then written under a temporary name, synced and renamed, and the entry is removed. After a
//! restart, every remaining entry is written again; renaming the same content over the file changes nothing.
//!
//! A file has one entry, whose lock orders units of work and writers. A unit of work holds the lock from the end of its processing until its
//! commit, a writer from before it reads the entry until the entry is removed. The file therefore ends with the content that committed last.
//!
//! A file that cannot be written, because a folder is not mounted or a disk is full, is left to a thread of the engine, which retries after increasing
//! delays. The thread also writes the entries of earlier processes, so a missing folder prevents no flow from starting.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use quayline_store::{Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, StoreError, Unit};

const PREFIX: &str = "flow-file/";
/// Longest wait for another writer of the same file, which holds a thread of the pool for files. Default 60 s: 100 MB on a slow disk.
const LOCK_WAIT_MS: u64 = 60_000;
/// First and longest pause before files that are left are written again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// Pause between two looks for files that other processes on the same store left.
const LOOK: Duration = Duration::from_secs(60);

/// Longest path that is used as a key unchanged. Keys have at most 1,024 bytes.
const PATH_BYTES_MAX: usize = 900;
/// Bit of the length of the path that says that an entry names its node.
const NAMED: u32 = 1 << 31;

/// The node whose file an entry is.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Owner {
    pub(crate) flow: String,
    pub(crate) node: String,
}

/// A file that cannot be written now.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// Unknown for entries of earlier versions, and if the store failed.
    pub(crate) owner: Option<Owner>,
    pub(crate) why: String,
    /// Folder of the file; unknown if the store failed.
    pub(crate) folder: Option<PathBuf>,
    /// True if no file in the folder can be written.
    is_of_folder: bool,
    /// True if a unit of work or another writer has the entry, and writes the file itself.
    is_busy: bool,
}

/// Files of a folder that are committed and not written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftFiles {
    /// Absolute path of the folder.
    pub folder: PathBuf,
    /// Number of files.
    pub files: u64,
}

/// Returns the key of a file's entry.
pub(crate) fn key(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.len() <= PATH_BYTES_MAX { format!("{PREFIX}{path}") } else { format!("{PREFIX}long/{}", digest(&path)) }
}

fn digest(path: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(path.as_bytes()))
}

pub(crate) fn entry(path: &Path, owner: &Owner, content: &[u8]) -> Vec<u8> {
    let path = path.to_string_lossy();
    let length = u32::try_from(path.len()).unwrap_or(u32::MAX) | NAMED;
    let owner = format!("{}/{}", owner.flow, owner.node);
    let owner_length = u16::try_from(owner.len()).unwrap_or(u16::MAX);
    [&length.to_le_bytes()[..], path.as_bytes(), &owner_length.to_le_bytes(), owner.as_bytes(), content].concat()
}

/// Returns the content of an entry.
pub(crate) fn content(entry: &[u8]) -> Option<&[u8]> {
    read(entry).map(|(_, _, content)| content)
}

/// Decodes an entry: path, node and content.
fn read(entry: &[u8]) -> Option<(PathBuf, Option<Owner>, &[u8])> {
    let (length, rest) = entry.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    let (path, rest) = rest.split_at_checked(usize::try_from(length & !NAMED).ok()?)?;
    let path = PathBuf::from(std::str::from_utf8(path).ok()?);
    if length & NAMED == 0 {
        return Some((path, None, rest));
    }
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (owner, content) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let (flow, node) = std::str::from_utf8(owner).ok()?.split_once('/')?;
    Some((path, Some(Owner { flow: flow.to_owned(), node: node.to_owned() }), content))
}

/// Writes the file of an entry and removes the entry. Returns the node if the file existed with another content. An error leaves the entry.
pub(crate) fn write(store: &Store, key: &str) -> Result<Option<Owner>, Unwritten> {
    write_unless_busy(store, key, LockWait::AtMostMs(LOCK_WAIT_MS))
}

fn write_unless_busy(store: &Store, key: &str, wait: LockWait) -> Result<Option<Owner>, Unwritten> {
    let shown = |error: StoreError| Unwritten {
        owner: None,
        is_busy: matches!(error, StoreError::LockTimeout { .. }),
        why: error.to_string(),
        folder: None,
        is_of_folder: false,
    };
    let mut unit = store.begin().map_err(shown)?;
    // Another writer, or a unit of work with a newer content, has it: what is read afterwards is the newest.
    let kept = unit.read_for_update(Space::CHECKPOINTS, key.as_bytes(), wait).map_err(shown)?;
    let Some(entry) = kept else { return Ok(None) };
    let Some((path, owner, content)) = read(&entry) else {
        let why = format!("the entry `{key}` of the store is of no known form");
        return Err(Unwritten { owner: None, why, folder: None, is_of_folder: false, is_busy: false });
    };
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let failed = |is_of_folder: bool| {
        let (path, owner) = (path.display(), owner.clone());
        move |error: std::io::Error| Unwritten {
            owner,
            why: format!("{path}: {}", quayline_core::system_error_text(&error)),
            folder: Some(folder.to_owned()),
            is_of_folder,
            is_busy: false,
        }
    };
    std::fs::create_dir_all(folder).map_err(failed(true))?;
    // Of its own for each way to write the path, whatever the length of the name.
    let temporary = folder.join(format!(".{}.part", digest(key)));
    let mut file = File::create(&temporary).map_err(failed(true))?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed(true))?;
    let is_replaced = has_other_content(&path, content);
    std::fs::rename(&temporary, &path).map_err(failed(false))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(true))?;
    unit.delete(Space::CHECKPOINTS, key.as_bytes()).map_err(shown)?;
    // Nobody waits: an entry that comes back after a crash writes the same file again.
    unit.submit_with(Box::new(|_| ()));
    Ok(owner.filter(|_| is_replaced))
}

/// Returns true if a file exists with another content than this one, which a crash after the rename would leave.
fn has_other_content(path: &Path, content: &[u8]) -> bool {
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
    length
        .is_some_and(|length| length != content.len() as u64 || std::fs::read(path).is_ok_and(|found| found != content))
}

/// Result of an attempt to write all files that are left.
pub(crate) enum Attempted<'a> {
    /// A file cannot be written, and this number of others waits for the same folder.
    Left(&'a Unwritten, u64),
    /// The attempt ended, and these folders have files left, with their numbers.
    Ended(&'a BTreeMap<PathBuf, u64>),
}

/// Receives the results of attempts to write files.
pub(crate) type Report = Box<dyn Fn(Attempted<'_>) + Send>;

/// State of the thread that writes files again.
#[derive(Debug, Default)]
struct Wish {
    is_wanted: bool,
    is_ending: bool,
}

/// Requests another attempt to write files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Again(Arc<(Mutex<Wish>, Condvar)>);

impl Again {
    /// Wakes the thread because a file was not written.
    pub(crate) fn wanted(&self) {
        self.0.0.lock().is_wanted = true;
        self.0.1.notify_all();
    }

    /// Waits until a file is left or the time is over. Returns whether the thread is to end.
    fn wait(&self, until_wanted: bool, pause: Option<Duration>) -> bool {
        let mut wish = self.0.0.lock();
        let mut is_early = |wish: &mut Wish| !(wish.is_ending || until_wanted && wish.is_wanted);
        if let Some(pause) = pause {
            self.0.1.wait_while_for(&mut wish, &mut is_early, pause);
        } else {
            self.0.1.wait_while(&mut wish, &mut is_early);
        }
        // What was left just before the end has its attempt.
        wish.is_ending && !wish.is_wanted
    }
}

/// The thread that writes pending files. Dropping it finishes the current file and ends the thread.
pub(crate) struct Writer {
    pub(crate) again: Again,
    /// Files that the last attempt left.
    left: Arc<Mutex<Vec<LeftFiles>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Begins with the files that earlier processes left.
    pub(crate) fn start(store: &Store, report: Report) -> std::io::Result<Writer> {
        let again = Again::default();
        let (store, wishes) = (store.clone(), again.clone());
        let left_files = Arc::<Mutex<Vec<LeftFiles>>>::default();
        let keeps = Arc::clone(&left_files);
        let looks = store.engine().shared().is_some().then_some(LOOK);
        let thread = std::thread::Builder::new().name("flow-files".to_owned()).spawn(move || {
            let mut pause = PAUSE.0;
            loop {
                wishes.0.0.lock().is_wanted = false;
                let round = round(&store, &report);
                let left = round.left.into_iter().map(|(folder, files)| LeftFiles { folder, files });
                *keeps.lock() = left.collect();
                let ends = if round.is_complete {
                    pause = PAUSE.0;
                    wishes.wait(true, looks) || wishes.wait(false, Some(pause))
                } else {
                    let ends = wishes.wait(false, Some(pause));
                    pause = (pause * 2).min(PAUSE.1);
                    ends
                };
                if ends {
                    return;
                }
            }
        })?;
        Ok(Writer { again, left: left_files, thread: Some(thread) })
    }

    /// Ends the thread, and returns the files that it could not write.
    pub(crate) fn finish(&mut self) -> Vec<LeftFiles> {
        self.again.0.0.lock().is_ending = true;
        self.again.0.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        self.left.lock().clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Outcome of an attempt to write all files that are left.
#[derive(Default)]
struct Round {
    /// Number of files by folder.
    left: BTreeMap<PathBuf, u64>,
    /// False if another attempt is necessary.
    is_complete: bool,
}

/// Writes every file that is left. A folder where nothing can be written is tried once.
fn round(store: &Store, report: &Report) -> Round {
    let mut folders: BTreeMap<PathBuf, (Unwritten, u64)> = BTreeMap::new();
    let mut round = Round { left: BTreeMap::new(), is_complete: true };
    let mut next = Some(Bound::Included(PREFIX.as_bytes().to_vec()));
    while let Some(bound) = next {
        let found = store.begin().and_then(|unit| keys_from(&unit, PREFIX, &bound));
        let keys = match found {
            Ok((keys, after)) => {
                next = after;
                keys
            }
            Err(error) => {
                let why = error.to_string();
                let unwritten = Unwritten { owner: None, why, folder: None, is_of_folder: false, is_busy: false };
                report(Attempted::Left(&unwritten, 0));
                round.is_complete = false;
                return round;
            }
        };
        for key in keys {
            // The key of a long path does not have its folder.
            let path = Path::new(&key[PREFIX.len()..]);
            let folder = path.parent().filter(|folder| folder.is_absolute()).unwrap_or(path).to_owned();
            if let Some((_, more)) = folders.get_mut(&folder) {
                *more += 1;
                continue;
            }
            // A unit of work or a writer that has the entry now writes it itself.
            match write_unless_busy(store, &key, LockWait::No) {
                Ok(_) => {}
                Err(unwritten) => {
                    round.is_complete = false;
                    if unwritten.is_of_folder {
                        folders.insert(folder, (unwritten, 0));
                    } else if !unwritten.is_busy {
                        round.leaves(&unwritten, 0, &folder);
                        report(Attempted::Left(&unwritten, 0));
                    }
                }
            }
        }
    }
    for (folder, (unwritten, more)) in &folders {
        round.leaves(unwritten, *more, folder);
        report(Attempted::Left(unwritten, *more));
    }
    report(Attempted::Ended(&round.left));
    round
}

impl Round {
    /// Counts a file, and the others that wait for its folder.
    fn leaves(&mut self, unwritten: &Unwritten, more: u64, folder: &Path) {
        let folder = unwritten.folder.as_deref().unwrap_or(folder);
        *self.left.entry(folder.to_owned()).or_default() += 1 + more;
    }
}

/// Names of the checkpoints with a prefix.
pub(crate) fn keys(unit: &Unit, prefix: &str) -> Result<Vec<String>, StoreError> {
    let mut keys = Vec::new();
    let mut next = Some(Bound::Included(prefix.as_bytes().to_vec()));
    while let Some(bound) = next {
        let (more, after) = keys_from(unit, prefix, &bound)?;
        keys.extend(more);
        next = after;
    }
    Ok(keys)
}

/// Start of a range of checkpoint names.
type Beginning = Bound<Vec<u8>>;

/// Returns some checkpoint names with a prefix, and the start of the next ones.
fn keys_from(unit: &Unit, prefix: &str, bound: &Beginning) -> Result<(Vec<String>, Option<Beginning>), StoreError> {
    let mut keys = Vec::new();
    let mut page = Page::default();
    let range = KeyRange::ALL.after(Direction::Forward, bound);
    unit.page(Space::CHECKPOINTS, range, Direction::Forward, PageLimit::default(), &mut page)?;
    let mut next = page.next.take();
    for (key, _) in page.iter() {
        if !key.starts_with(prefix.as_bytes()) {
            next = None;
            break;
        }
        keys.extend(String::from_utf8(key.to_vec()));
    }
    Ok((keys, next))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use super::*;

    #[test]
    fn an_entry_of_this_version_and_one_of_an_earlier_are_read() {
        let owner = Owner { flow: "orders".to_owned(), node: "write".to_owned() };
        let new = entry(Path::new("/a/b"), &owner, b"content");
        assert_eq!(read(&new).unwrap(), (PathBuf::from("/a/b"), Some(owner), &b"content"[..]));
        let old = [&4u32.to_le_bytes()[..], b"/a/bcontent"].concat();
        assert_eq!(read(&old).unwrap(), (PathBuf::from("/a/b"), None, &b"content"[..]));
        assert!((0..new.len() - 7).all(|end| read(&new[..end]).is_none()));
    }
}
