//! Files of one run, deleted at its end.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A folder below `target/bench` that is deleted on drop.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Creates an empty folder; the remains of an interrupted run are deleted.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn new(folder: &Path) -> io::Result<Scratch> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(folder)?;
        Ok(Scratch { folder: folder.to_path_buf() })
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        self.write_repeated(name, bytes, bytes.len() as u64)
    }

    /// Writes complete copies of `block`, at least one, up to a length of about `bytes`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write_repeated(&self, name: &str, block: &[u8], bytes: u64) -> io::Result<PathBuf> {
        let path = self.path(name);
        let mut file = File::create(&path)?;
        for _ in 0..(bytes / block.len() as u64).max(1) {
            file.write_all(block)?;
        }
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays is found and deleted by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
