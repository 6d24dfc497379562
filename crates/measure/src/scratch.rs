//! Folder for the data of a measurement.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use quayline_core::system_error_text;

/// Folder that the user names, or a temporary folder that is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    is_own: bool,
}

impl Scratch {
    /// Creates the folder.
    ///
    /// # Errors
    /// A message if the folder cannot be created.
    pub fn new(named: Option<&Path>) -> Result<Scratch, String> {
        let (folder, made) = match named {
            Some(folder) => (folder.to_owned(), std::fs::create_dir_all(folder)),
            None => own(),
        };
        made.map_err(|error| format!("{}: {}", folder.display(), system_error_text(&error)))?;
        Ok(Scratch { folder, is_own: named.is_none() })
    }

    /// Creates a folder inside another one, and removes it on drop.
    ///
    /// # Errors
    /// A message if the folder cannot be created.
    pub(crate) fn inside(parent: &Path, name: &str) -> Result<Scratch, String> {
        let folder = parent.join(format!("{name}-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|error| format!("{}: {}", folder.display(), system_error_text(&error)))?;
        Ok(Scratch { folder, is_own: true })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Creates a temporary folder. Other users may write to its parent, so a folder that exists already is not taken.
fn own() -> (PathBuf, io::Result<()>) {
    const NAMES_MAX: u32 = 100;
    let mut number = 0;
    loop {
        let folder = std::env::temp_dir().join(format!("quayline-measure-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES_MAX => number += 1,
            made => return (folder, made),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_own {
            // A leftover of a temporary folder does no harm.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
