//! Files that are written once, after the commit.
//!
//! ```text
//! checkpoint "flow-file/PATH"  ─▶ length of the path (4 bytes), path, content
//! ```
//!
//! The entry commits with the unit of work. Then the file is written under a temporary name, synced and renamed, and the entry is removed. After a
//! restart every entry that is left is written again: a rename of the same content over the file changes nothing.
//!
//! A file has one entry, whose lock puts units of work and writers into one order: a unit of work holds it from the end of its processing until its
//! commit, a writer from before it reads the entry until the entry is removed. So the last content that committed is what the file has in the end.

use std::fs::File;
use std::io::Write as _;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use quayline_store::{Direction, KeyRange, LockWait, Page, PageLimit, Space, Store, StoreError, Unit};

const PREFIX: &str = "flow-file/";
/// Longest wait for another writer of the same file, which holds a thread of the pool for files. Default 60 s: 100 MB on a slow disk.
const LOCK_WAIT_MS: u64 = 60_000;

/// Longest path that is a key as it is. Keys have at most 1,024 bytes.
const PATH_BYTES_MAX: usize = 900;

/// The key of a file's entry.
pub(crate) fn key(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.len() <= PATH_BYTES_MAX { format!("{PREFIX}{path}") } else { format!("{PREFIX}long/{}", digest(&path)) }
}

fn digest(path: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(path.as_bytes()))
}

pub(crate) fn entry(path: &Path, content: &[u8]) -> Vec<u8> {
    let path = path.to_string_lossy();
    let length = u32::try_from(path.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], path.as_bytes(), content].concat()
}

fn read(entry: &[u8]) -> Option<(PathBuf, &[u8])> {
    let (length, rest) = entry.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let path = std::str::from_utf8(rest.get(..length)?).ok()?;
    Some((PathBuf::from(path), &rest[length..]))
}

/// Writes the file of an entry and removes the entry. An error leaves the entry for the next start.
pub(crate) fn write(store: &Store, key: &str) -> Result<(), String> {
    let shown = |error: StoreError| error.to_string();
    let mut unit = store.begin().map_err(shown)?;
    // Another writer, or a unit of work with a newer content, has it: what is read afterwards is the newest.
    let kept =
        unit.read_for_update(Space::CHECKPOINTS, key.as_bytes(), LockWait::AtMostMs(LOCK_WAIT_MS)).map_err(shown)?;
    let Some(entry) = kept else { return Ok(()) };
    let (path, content) = read(&entry).ok_or("the entry of the outbox is of no known form")?;
    let system = |error: std::io::Error| format!("{}: {}", path.display(), quayline_core::system_error_text(&error));
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    std::fs::create_dir_all(folder).map_err(system)?;
    // Of its own for each way to write the path, whatever the length of the name.
    let temporary = folder.join(format!(".{}.part", digest(key)));
    let mut file = File::create(&temporary).map_err(system)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(system)?;
    std::fs::rename(&temporary, &path).map_err(system)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(system)?;
    unit.delete(Space::CHECKPOINTS, key.as_bytes()).map_err(shown)?;
    // Nobody waits: an entry that comes back after a crash writes the same file again.
    unit.submit_with(Box::new(|_| ()));
    Ok(())
}

/// Writes every file whose entry an earlier process left.
pub(crate) fn write_all(store: &Store) -> Result<(), String> {
    let shown = |error: StoreError| error.to_string();
    let unit = store.begin().map_err(shown)?;
    let keys = keys(&unit, PREFIX).map_err(shown)?;
    drop(unit);
    keys.iter().try_for_each(|key| write(store, key))
}

/// Names of the checkpoints with a prefix.
pub(crate) fn keys(unit: &Unit, prefix: &str) -> Result<Vec<String>, StoreError> {
    let mut keys = Vec::new();
    let mut page = Page::default();
    let mut next = Some(Bound::Included(prefix.as_bytes().to_vec()));
    while let Some(bound) = next {
        let range = KeyRange::ALL.after(Direction::Forward, &bound);
        unit.page(Space::CHECKPOINTS, range, Direction::Forward, PageLimit::default(), &mut page)?;
        next = page.next.take();
        for (key, _) in page.iter() {
            if !key.starts_with(prefix.as_bytes()) {
                next = None;
                break;
            }
            keys.extend(String::from_utf8(key.to_vec()));
        }
    }
    Ok(keys)
}
