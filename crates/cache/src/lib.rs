//! A folder of compiled definitions, kept from one run to the next, and a [`Pool`] of those that a process shares.
//!
//! ```text
//! kind, engine, content of all that went in ──digest──▶ Key ──▶ FOLDER/0123…cdef.qlc
//!
//! entry   8 bytes "QLCACHE1" │ 16 key │ 8 length │ 16 digest of key and payload │ payload
//! ```
//!
//! An entry is the result that a run would compile anyway, so no run depends on it. An entry that cannot be read, or is truncated, changed or
//! foreign, counts as absent, and a failed write is ignored. Entries are written under a temporary name and renamed, so concurrent runs see complete
//! entries only. `engine` identifies the build of the program; a build never reads the entries of another.
//!
//! Digests are XXH3 of 128 bits. They detect damage and distinguish contents. They do not stop a person who may write into the folder, so
//! Quayline does not use a folder that others may write to.

mod entry;
mod pool;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::Xxh3;

pub use entry::Key;
pub use pool::{Lease, Pool};

/// Maximum number of bytes in a folder, by default.
pub const BYTES_MAX: u64 = 256 << 20;

/// Extension of entries.
const EXTENSION: &str = "qlc";
/// Extension of temporary files, which become entries when they are complete.
const UNDER_WAY: &str = "tmp";
/// Age after which a temporary file counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Interval at which the time of an entry in use is updated.
const MARKED: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    engine: Vec<u8>,
    bytes_max: u64,
    /// Look-ups: found, not found.
    looked_up: [AtomicU64; 2],
    /// Keys that were not found, up to a bound.
    missed: Mutex<HashSet<u128>>,
    /// Entries that were removed to make room.
    removed: AtomicU64,
}

/// Maximum number of keys without an entry that are counted separately.
const MISSED_MAX: usize = 10_000;

impl Cache {
    /// Creates a cache for the build that `engine` identifies. The folder is created when needed and may grow to `bytes_max` bytes.
    #[must_use]
    pub fn new(folder: PathBuf, engine: Vec<u8>, bytes_max: u64) -> Self {
        Cache {
            folder,
            engine,
            bytes_max,
            looked_up: Default::default(),
            missed: Mutex::default(),
            removed: AtomicU64::new(0),
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Computes the key of a definition of this kind that is made of `parts`.
    #[must_use]
    pub fn key<'p>(&self, kind: &str, parts: impl IntoIterator<Item = &'p [u8]>) -> Key {
        let mut hash = Xxh3::new();
        let mut add = |part: &[u8]| {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(&self.engine);
        add(kind.as_bytes());
        parts.into_iter().for_each(add);
        Key(hash.digest128())
    }

    /// Returns the payload of a key; `None` if the entry is missing or damaged.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let found = self.find(key);
        self.looked_up[usize::from(found.is_none())].fetch_add(1, Ordering::Relaxed);
        if found.is_none() {
            let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
            if missed.len() < MISSED_MAX {
                missed.insert(key.0);
            }
        }
        found
    }

    /// Returns the number of look-ups of this process: found, not found.
    #[must_use]
    pub fn looked_up(&self) -> [u64; 2] {
        [0, 1].map(|at: usize| self.looked_up[at].load(Ordering::Relaxed))
    }

    /// Returns the number of distinct definitions that this process did not find, counted up to 10,000.
    #[must_use]
    pub fn different_missed(&self) -> u64 {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Returns the number of entries that this process removed to make room.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    fn find(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        if !is_own(&self.folder) {
            return None;
        }
        let meta = file.metadata().ok()?;
        if meta.len() > self.bytes_max {
            return None;
        }
        let mut head: entry::Head = [0; 48];
        let mut payload = Vec::with_capacity(usize::try_from(meta.len()).ok()? + 1);
        let read = file.read_exact(&mut head).and_then(|()| file.read_to_end(&mut payload));
        if read.is_err() || head != entry::head(key, &payload) {
            // Damaged: the next run need not look at it again.
            let _ = fs::remove_file(&path);
            return None;
        }
        if meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > MARKED)) {
            // What is used stays; if the mark cannot be set, it goes a little earlier.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(payload)
    }

    /// Stores an entry. Returns false if that failed, which a caller may ignore: the entry is then compiled again.
    pub fn put(&self, key: Key, payload: &[u8]) -> bool {
        if payload.len() as u64 > self.bytes_max / 4 {
            return false;
        }
        self.write(key, payload).is_ok()
    }

    fn write(&self, key: Key, payload: &[u8]) -> io::Result<()> {
        /// Number in the temporary name: threads of one process may write the same entry.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        make(&self.folder)?;
        if !is_own(&self.folder) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        self.clear(payload.len() as u64)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let new = self.folder.join(format!("{}-{}-{number}.{UNDER_WAY}", key.digits(), std::process::id()));
        let written = OpenOptions::new().write(true).create_new(true).open(&new).and_then(|mut file| {
            file.write_all(&entry::head(key, payload))?;
            file.write_all(payload)
        });
        let kept = written.and_then(|()| fs::rename(&new, self.path(key)));
        if kept.is_err() {
            let _ = fs::remove_file(&new);
        }
        kept
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{}.{EXTENSION}", key.digits()))
    }

    /// Removes abandoned temporary files, then the entries that were unused for longest, until `more` bytes have room.
    fn clear(&self, more: u64) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = more;
        for found in fs::read_dir(&self.folder)? {
            let path = found?.path();
            // Another run may have removed it.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let age = meta.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
            match path.extension().and_then(OsStr::to_str) {
                Some(UNDER_WAY) if meta.is_file() && age > ABANDONED => {
                    let _ = fs::remove_file(&path);
                }
                Some(EXTENSION) if meta.is_file() => {
                    total += meta.len();
                    entries.push((age, meta.len(), path));
                }
                _ => {}
            }
        }
        entries.sort();
        while total > self.bytes_max
            && let Some((_, length, path)) = entries.pop()
        {
            let _ = fs::remove_file(&path);
            self.removed.fetch_add(1, Ordering::Relaxed);
            total -= length;
        }
        Ok(())
    }
}

/// Creates the folder, for its owner only.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns true if the folder belongs to this user and no other user may write to it.
#[cfg(unix)]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.uid() == owner && meta.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_own(folder: &Path) -> bool {
    folder.is_dir()
}
