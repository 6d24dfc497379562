//! Files that take their name only when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::destination::{Destination, create_beside, open_stream, partial_path, real_path};
use crate::error::ConvertError;

/// A file that is written as `PATH.partial`. If the name is that of a pipe or device, it is written directly and cannot be synced, renamed or
/// resumed.
#[derive(Debug)]
pub(crate) struct PartialFile {
    path: PathBuf,
    /// The file that `path` leads to; none for a stream.
    real: Option<PathBuf>,
    partial: PathBuf,
    file: File,
    len: u64,
}

impl PartialFile {
    /// Creates a new file. A file of an earlier run with the partial name is overwritten. The new file gets the permissions of the one it will replace.
    pub(crate) fn create(path: &Path) -> Result<Self, ConvertError> {
        let Destination::File(real) = Destination::of(path)? else {
            let file = open_stream(path).map_err(ConvertError::io("open", path))?;
            return Ok(PartialFile { path: path.to_owned(), real: None, partial: path.to_owned(), file, len: 0 });
        };
        let partial = partial_path(&real);
        let make = || {
            let file = opened_alone(&partial, || create_beside(&partial))?;
            file.set_len(0)?;
            if let Ok(replaced) = fs::metadata(&real)
                && !replaced.permissions().readonly()
            {
                file.set_permissions(replaced.permissions())?;
            }
            Ok(file)
        };
        let file = make().map_err(ConvertError::io("create", &partial))?;
        Ok(PartialFile { path: path.to_owned(), real: Some(real), partial, file, len: 0 })
    }

    /// Resumes after the first `len` bytes, and truncates the rest. Returns `Ok(Err(found))` if the file has fewer bytes.
    pub(crate) fn resume(path: &Path, len: u64) -> io::Result<Result<Self, u64>> {
        let (real, partial) = (real_path(path), partial_path(path));
        let mut file = opened_alone(&partial, || OpenOptions::new().read(true).write(true).open(&partial))?;
        let found = file.metadata()?.len();
        if found < len {
            return Ok(Err(found));
        }
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len))?;
        Ok(Ok(PartialFile { path: path.to_owned(), real: Some(real), partial, file, len }))
    }

    /// Returns true if written bytes cannot be truncated.
    pub(crate) fn is_stream(&self) -> bool {
        self.real.is_none()
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the final name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the present name.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Syncs the written bytes to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.is_stream() { Ok(()) } else { self.file.sync_data() }
    }

    /// Truncates the file to its first `len` bytes.
    pub(crate) fn cut(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.file.seek(SeekFrom::Start(len))?;
        self.len = len;
        Ok(())
    }

    /// Gives it its name.
    pub(crate) fn rename(&self) -> io::Result<()> {
        self.real.as_ref().map_or(Ok(()), |real| fs::rename(&self.partial, real))
    }

    /// Makes its name durable.
    pub(crate) fn sync_folder(&self) -> io::Result<()> {
        self.real.as_ref().map_or(Ok(()), |real| sync_folder_of(real))
    }
}

/// Writes a small file atomically: a reader never finds a partial file under its name. Writes directly to anything that is not a regular file.
///
/// # Errors
/// As [`Destination::of`]; where it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ConvertError> {
    write_complete(path, |file| file.write_all(bytes).map_err(ConvertError::io("write", path)))
}

/// Writes a file that takes its name when `write` has succeeded. If it fails, nothing remains. Writes directly to anything that is not a regular file.
///
/// # Errors
/// Those of `write`; as [`Destination::of`]; where it cannot be written.
pub fn write_complete<T, E: From<ConvertError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut file = PartialFile::create(path)?;
    let done = write(&mut file).and_then(|done| {
        let named = file.sync().and_then(|()| file.rename()).and_then(|()| file.sync_folder());
        named.map_err(ConvertError::io("write", path))?;
        Ok(done)
    });
    if done.is_err() && !file.is_stream() {
        let _ = fs::remove_file(file.partial());
    }
    done
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

/// Makes the names in the folder of `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Opens and locks the file with the name. A run that held the lock may have given the file its final name meanwhile: the lock is then that of a complete
/// output, and the name is opened again.
fn opened_alone(name: &Path, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
    for _ in 0..LOCK_TRIES {
        let file = open()?;
        lock(&file)?;
        if is_named(&file, name)? {
            return Ok(file);
        }
    }
    Err(busy())
}

/// Returns true if the open file still has the name.
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let held = file.metadata()?;
        Ok(fs::symlink_metadata(name).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())))
    }
    // Other systems do not rename an open file.
    #[cfg(not(unix))]
    {
        let _ = (file, name);
        Ok(true)
    }
}

/// Locks the file, because two runs that write one file would destroy it. A run that was just killed may hold its lock for a moment. If the file
/// system does not support locks, there is no protection.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Ok(()) | Err(fs::TryLockError::Error(_)) => return Ok(()),
        }
    }
    Err(busy())
}

fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another run is writing it")
}

const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_waited_for_another_one_leaves_its_output_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut first = PartialFile::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| PartialFile::create(&path).unwrap());
            // Time to open the file and to wait for its lock.
            std::thread::sleep(LOCK_PAUSE * 5);
            first.rename().unwrap();
            drop(first);
            let mut second = second.join().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"first");
            second.write_all(b"second").unwrap();
            second.rename().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"second");
        });
    }

    #[test]
    fn two_runs_do_not_write_one_file_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let _first = PartialFile::create(&path).unwrap();
        let second = PartialFile::create(&path).unwrap_err();
        assert!(second.to_string().contains("another run is writing it"), "{second}");
    }
}
