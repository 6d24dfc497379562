//! Files that a command creates together, or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use super::partial::write_whole;
use crate::error::ConvertError;

/// Files and folders that a command has created. [`NewFiles::undo`] removes them after a failure.
#[derive(Debug, Default)]
pub struct NewFiles {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl NewFiles {
    /// Creates a folder and those around it, unless it exists.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(&mut self, folder: &Path) -> Result<(), ConvertError> {
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let new: Vec<PathBuf> = folder.ancestors().take_while(is_new).map(Path::to_owned).collect();
        self.folders.extend(new.into_iter().rev());
        fs::create_dir_all(folder).map_err(ConvertError::io("create", folder))
    }

    /// Writes a new file and the folders around it.
    ///
    /// # Errors
    /// Those of [`write_whole`], and a folder that cannot be created.
    pub fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<(), ConvertError> {
        path.parent().map_or(Ok(()), |folder| self.folder(folder))?;
        write_whole(path, bytes)?;
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Copies a file to a new one.
    ///
    /// # Errors
    /// Those of [`NewFiles::file`], and a file that cannot be read.
    pub fn copy(&mut self, from: &Path, to: &Path) -> Result<(), ConvertError> {
        let bytes = fs::read(from).map_err(ConvertError::io("read", from))?;
        self.file(to, &bytes)
    }

    /// Returns the files, in the order in which they were written.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Removes the files, and the folders unless others have put files into them.
    pub fn undo(&self) {
        self.files.iter().for_each(|path| drop(fs::remove_file(path)));
        self.folders.iter().rev().for_each(|path| drop(fs::remove_dir(path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_created_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("old")).unwrap();
        let mut new = NewFiles::default();
        new.file(&path("a/b/c.txt"), b"c").unwrap();
        new.copy(&path("a/b/c.txt"), &path("old/d.txt")).unwrap();
        assert_eq!(new.files(), [path("a/b/c.txt"), path("old/d.txt")]);
        assert!(new.copy(&path("nothing"), &path("e/f")).is_err() && !path("e").exists());
        new.undo();
        assert!(!path("a").exists() && !path("old/d.txt").exists() && path("old").is_dir());
    }
}
