//! Folder for the data of a measurement.

use std::path::{Path, PathBuf};

use quayline_core::system_error_text;

/// The folder that the user names, or a temporary one that ends with this.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    is_own: bool,
}

impl Scratch {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made; in words.
    pub fn new(named: Option<&Path>) -> Result<Scratch, String> {
        let own = || std::env::temp_dir().join(format!("quayline-measure-{}", std::process::id()));
        let folder = named.map_or_else(own, Path::to_owned);
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|error| format!("{}: {}", folder.display(), system_error_text(&error)))?;
        Ok(Scratch { folder, is_own: named.is_none() })
    }

    /// Its path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_own {
            // What is left of a temporary folder harms nobody.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
