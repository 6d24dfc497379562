//! Saves in files and folders of the file system: writing them, reading them, and making a store of one.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_store::save::{
    PartsSaved, SaveFacts, SaveOptions, check, check_parts, restore, restore_parts, save_parts,
};
use quayline_store::{Clock, Engine, StoreError, SystemClock};

use crate::exchange::{remove_store, sync_parent};
use crate::medium::{Folder, Medium as _};
use crate::save_folder::SaveFolder;
use crate::{EmbeddedEngine, Settings};

fn failed(path: &Path, action: &'static str) -> impl Fn(io::Error) -> StoreError {
    let name = path.display().to_string();
    move |error| StoreError::io(&name, action, &error)
}

/// Saves to a folder of parts, which is made if it is missing, or continues there. `stop` is asked after each block.
///
/// # Errors
/// [`StoreError::InUse`] if another process saves there; those of [`save_parts`].
pub fn save_to_folder(
    path: &Path,
    engine: &dyn Engine,
    options: SaveOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<PartsSaved, StoreError> {
    let folder = Folder::create(path).map_err(failed(path, "created"))?;
    sync_parent(path).map_err(failed(path, "created"))?;
    let lock = folder.lock().map_err(failed(path, "locked"))?;
    let _lock = lock.ok_or_else(|| StoreError::InUse { folder: path.display().to_string() })?;
    save_parts(engine, &SaveFolder(&folder), options, stop)
}

/// A save that is read: a file, or a folder of parts.
#[derive(Debug)]
pub struct SaveSource {
    path: PathBuf,
    folder: Option<Folder>,
}

impl SaveSource {
    /// The save of a path.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        SaveSource { path: path.to_owned(), folder: path.is_dir().then(|| Folder::new(path)) }
    }

    fn file(&self) -> Result<BufReader<File>, StoreError> {
        let file = File::open(&self.path).map_err(failed(&self.path, "opened"))?;
        Ok(BufReader::with_capacity(1 << 20, file))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads and checks everything, parts on several threads.
    ///
    /// # Errors
    /// One error for each part, or for the file, that is not as it was written.
    pub fn check(&self, threads: usize) -> Result<SaveFacts, Vec<StoreError>> {
        match &self.folder {
            Some(folder) => check_parts(&SaveFolder(folder), threads),
            None => self.file().and_then(|mut from| check(&mut from, &self.name())).map_err(|error| vec![error]),
        }
    }

    /// Loads the save into an empty engine. Check the save first.
    ///
    /// # Errors
    /// The first of the errors of [`Self::check`]; errors of the engine.
    pub fn store(&self, engine: &dyn Engine) -> Result<SaveFacts, StoreError> {
        match &self.folder {
            Some(folder) => restore_parts(engine, &SaveFolder(folder)),
            None => restore(engine, &mut self.file()?, &self.name()),
        }
    }

    /// Creates a new folder with the store of the save, checked. An existing store there is replaced.
    ///
    /// # Errors
    /// Those of [`Self::store`]; errors of the medium. The folder is then removed.
    pub fn make_store(&self, new: &Path) -> Result<SaveFacts, StoreError> {
        remove_store(new).map_err(failed(new, "removed"))?;
        let made = self.make(new);
        if made.is_err() {
            // What was made of it is of no use.
            let _ = std::fs::remove_dir_all(new);
        }
        made
    }

    fn make(&self, new: &Path) -> Result<SaveFacts, StoreError> {
        let medium = Folder::create(new).map_err(failed(new, "created"))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine = EmbeddedEngine::open(Arc::new(medium), &clock, Settings::default())?;
        let restored = self.store(&engine)?;
        if let Some(damage) = engine.check()?.into_iter().next() {
            return Err(damage);
        }
        engine.close()?;
        Ok(restored)
    }
}
