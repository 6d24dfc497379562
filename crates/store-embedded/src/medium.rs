//! The layer through which all file access goes, so that tests run the whole engine over a disk that loses, reorders and tears writes.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A data folder.
pub trait Medium: Send + Sync + Debug {
    /// Returns the folder's name for messages.
    fn name(&self) -> String;
    /// Names of all files.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>>;
    /// Renames a file and replaces one of the new name. Files that are open stay open.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes all names durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_folder(&self) -> io::Result<()>;
    /// Takes the folder for this process until the answer is dropped; `None` if another process has it.
    ///
    /// # Errors
    /// Those of the system.
    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>>;
    /// Locks the folder for a process that only reads: others may read at the same time, and nobody may write.
    ///
    /// # Errors
    /// Those of the system.
    fn lock_to_read(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.lock()
    }
}

/// Mode of opening a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OpenMode {
    /// For reading; the file exists.
    Read,
    /// For reading and writing; the file exists.
    Write,
    /// For reading and writing; created if missing, otherwise unchanged.
    Create,
}

/// An open file.
pub trait MediumFile: Send + Sync + Debug {
    /// Length in bytes.
    ///
    /// # Errors
    /// Those of the system.
    fn len(&self) -> io::Result<u64>;
    /// Returns true if the file is empty.
    ///
    /// # Errors
    /// Those of the system.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Sets the length; new bytes are zero.
    ///
    /// # Errors
    /// Those of the system.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Fills `into` from a place.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` past the end.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
    /// Writes at a place; the file grows as needed.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything written so far durable, and the length needed to read it.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// File whose lock keeps a second process out. It contains the process id of the last process that could write.
const LOCK_FILE: &str = "lock";
/// Number of times that the lock of a process that ended is tried, and the milliseconds between two tries: 2 seconds in all.
const TRIES: u32 = 200;
const TRY_AGAIN: Duration = Duration::from_millis(10);

impl Folder {
    /// A folder that exists.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Folder(path.to_owned())
    }

    /// Makes the folder, for its owner only, if it is missing.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        Ok(Folder(path.to_owned()))
    }
}

impl Medium for Folder {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            // A name that is not Unicode is not one of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create(mode == OpenMode::Create);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Arc::new(DiskFile(options.open(self.0.join(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let path = self.0.join(LOCK_FILE);
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let Some(locked) = Locked::take_named(&path, open, File::try_lock)? else { return Ok(None) };
        // The lock holds without its owner's number, which also a full disk must not prevent.
        let _ = locked.0.set_len(0).and_then(|()| (&locked.0).write_all(std::process::id().to_string().as_bytes()));
        Ok(Some(Box::new(locked)))
    }

    fn lock_to_read(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let path = self.0.join(LOCK_FILE);
        let locked = match Locked::take_named(&path, || File::open(&path), File::try_lock_shared) {
            // A copy without it, on a medium that nobody writes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Box::new(()))),
            other => other?,
        };
        Ok(locked.map(|locked| Box::new(locked) as Box<dyn Send + Sync>))
    }
}

/// A locked file. Dropping it releases the lock at once. Closing the file would not: a command that another thread is starting has a copy of the
/// descriptor, and the lock would last until the copy is closed, too.
struct Locked(File);

impl Locked {
    /// Tries to lock the file with the name. A restore may replace the folder while this process waits: the lock is then that of a file that was
    /// removed, which keeps nobody out, and the name is opened again.
    fn take_named(
        name: &Path,
        open: impl Fn() -> io::Result<File>,
        try_lock: fn(&File) -> Result<(), fs::TryLockError>,
    ) -> io::Result<Option<Locked>> {
        for _ in 0..TRIES {
            let Some(locked) = Locked::take(open()?, try_lock)? else { return Ok(None) };
            if locked.has(name)? {
                return Ok(Some(locked));
            }
        }
        Ok(None)
    }

    /// Returns true if the file still has the name.
    fn has(&self, name: &Path) -> io::Result<bool> {
        let held = self.0.metadata()?;
        Ok(fs::metadata(name).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())))
    }

    /// Tries to lock the file. Returns `None` if another process has the lock.
    ///
    /// A process that was killed while it started a command leaves the lock to the new process, until that runs the command a moment later.
    fn take(file: File, try_lock: fn(&File) -> Result<(), fs::TryLockError>) -> io::Result<Option<Locked>> {
        for _ in 0..TRIES {
            match try_lock(&file) {
                Ok(()) => return Ok(Some(Locked(file))),
                Err(fs::TryLockError::WouldBlock) if has_ended(&file) => std::thread::sleep(TRY_AGAIN),
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // After an error, the lock ends with the last copy of the descriptor.
        let _ = self.0.unlock();
    }
}

/// Returns true if the process whose number the lock file has is ending or has ended. A process has no command line from then on.
fn has_ended(file: &File) -> bool {
    let mut number = [0; 16];
    let length = std::os::unix::fs::FileExt::read_at(file, &mut number, 0).unwrap_or(0);
    let number = str::from_utf8(&number[..length]).ok().and_then(|text| text.parse::<u32>().ok());
    let command_line = |number: u32| fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    cfg!(target_os = "linux") && number.is_some_and(|number| command_line(number).is_empty())
}

#[derive(Debug)]
struct DiskFile(File);

impl MediumFile for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, into, at)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

    use super::*;

    /// A process opened the file, a restore exchanged the folder and ended, and the process held the lock of the removed file: another process locked
    /// the new one, and both wrote to the store.
    #[test]
    fn the_lock_is_that_of_the_file_with_the_name() {
        let place = tempfile::TempDir::new().unwrap();
        let name = place.path().join(LOCK_FILE);
        for try_lock in [File::try_lock, File::try_lock_shared] {
            let is_first = std::cell::Cell::new(true);
            let open = || {
                let file = File::create(&name)?;
                if is_first.replace(false) {
                    fs::remove_file(&name)?;
                    File::create(&name)?;
                }
                Ok(file)
            };
            let held = Locked::take_named(&name, open, try_lock).unwrap();
            assert!(held.is_some());
            let other = Locked::take_named(&name, || File::create(&name), File::try_lock).unwrap();
            assert!(other.is_none(), "two processes hold the lock");
        }
    }

    #[test]
    fn a_lock_ends_although_a_command_that_is_being_started_has_a_copy() {
        let place = tempfile::TempDir::new().unwrap();
        let take = |try_lock| {
            let file = File::create(place.path().join(LOCK_FILE)).unwrap();
            // A new process has the same open file until it runs its command.
            let copy = file.try_clone().unwrap();
            (Locked::take(file, try_lock).unwrap(), copy)
        };
        for try_lock in [File::try_lock, File::try_lock_shared] {
            let (held, _copy) = take(try_lock);
            assert!(held.is_some());
            assert!(take(File::try_lock).0.is_none(), "it is held");
            drop(held);
            assert!(take(File::try_lock).0.is_some(), "it has ended");
        }
    }
}
