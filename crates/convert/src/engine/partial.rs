//! Files that take their name only when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that is written as `PATH.partial`.
#[derive(Debug)]
pub(crate) struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    file: File,
    len: u64,
}

impl PartialFile {
    /// The name of `path` while it is not complete.
    pub(crate) fn partial_path(path: &Path) -> PathBuf {
        with_suffix(path, ".partial")
    }

    /// Starts anew; what an earlier run left under the partial name is overwritten.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let partial = Self::partial_path(path);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&partial)?;
        lock(&file)?;
        file.set_len(0)?;
        Ok(PartialFile { path: path.to_owned(), partial, file, len: 0 })
    }

    /// Goes on behind the first `len` bytes; what follows them is cut off. `Ok(Err(found))` where fewer bytes are there.
    pub(crate) fn resume(path: &Path, len: u64) -> io::Result<Result<Self, u64>> {
        let partial = Self::partial_path(path);
        let mut file = OpenOptions::new().read(true).write(true).open(&partial)?;
        lock(&file)?;
        let found = file.metadata()?.len();
        if found < len {
            return Ok(Err(found));
        }
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len))?;
        Ok(Ok(PartialFile { path: path.to_owned(), partial, file, len }))
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name it has.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Gives it its name.
    pub(crate) fn rename(&self) -> io::Result<()> {
        fs::rename(&self.partial, &self.path)
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `path` with letters behind its last one.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes the names in the folder of `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Two runs that write one file would destroy it. A run that was just killed may hold its lock for a moment longer. A file system without
/// locks lets it pass.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Ok(()) | Err(fs::TryLockError::Error(_)) => return Ok(()),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another run is writing it"))
}

const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
