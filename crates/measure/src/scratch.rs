//! Folder for the data of a measurement.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use quayline_core::system_error_text;

/// New folder for the data of a run, which is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Creates a folder in the folder that the user names, or in the one for temporary files. A run overwrites and removes only files in its own
    /// folder, because the named one may have others.
    ///
    /// # Errors
    /// A message if the folder cannot be created.
    pub fn new(named: Option<&Path>) -> Result<Scratch, String> {
        let Some(parent) = named else { return Scratch::inside(&std::env::temp_dir(), "quayline-measure") };
        std::fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
        Scratch::inside(parent, "quayline-measure")
    }

    /// Creates a folder inside another one. Other users may write to its parent, so a folder that exists already is not used.
    ///
    /// # Errors
    /// A message if the folder cannot be created.
    pub(crate) fn inside(parent: &Path, name: &str) -> Result<Scratch, String> {
        const NAMES_MAX: u32 = 100;
        let mut number = 0;
        loop {
            let folder = parent.join(format!("{name}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Scratch { folder }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES_MAX => number += 1,
                Err(error) => return Err(at(&folder, &error)),
            }
        }
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover of a temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), system_error_text(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a study wrote to the named folder itself, replaced files of the same name, and left its own.
    #[test]
    fn a_run_leaves_the_named_folder_as_it_was() {
        let parent = tempfile::tempdir().expect("a folder");
        let own = parent.path().join("policies.dat");
        std::fs::write(&own, "mine").expect("a file");
        let (first, second) = (Scratch::new(Some(parent.path())), Scratch::new(Some(parent.path())));
        let (first, second) = (first.expect("a folder"), second.expect("another folder"));
        assert!(first.folder().starts_with(parent.path()) && first.folder() != second.folder());
        std::fs::write(first.folder().join("policies.dat"), "data").expect("a file");
        drop((first, second));
        assert_eq!(std::fs::read_to_string(&own).expect("a file"), "mine");
        assert_eq!(std::fs::read_dir(parent.path()).expect("a folder").count(), 1);
    }
}
