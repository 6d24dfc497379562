//! Stop requests from another process: a file for each execution in a folder beside the store, because only one process can open the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::engine::Engine;
use crate::record::ExecutionId;
use crate::repository::Repository;

/// Folder of stop requests beside a store. Requests for executions of a repository in a database are in the database.
pub struct StopRequests {
    folder: PathBuf,
}

impl StopRequests {
    /// Requests in the folder of a store.
    #[must_use]
    pub fn new(store: &Path) -> Self {
        StopRequests { folder: store.join("job-stops") }
    }

    /// Returns the requests for executions of a repository; `None` if it is in a database. A store may use the same folder then, and its executions
    /// have the same numbers.
    #[must_use]
    pub fn of(store: &Path, repository: &Repository) -> Option<Self> {
        (!repository.is_shared()).then(|| StopRequests::new(store))
    }

    /// Requests that the process of an execution stop it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn request(&self, execution: ExecutionId) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::write(self.folder.join(execution.to_string()), b"")
    }

    /// Requests a split of a partition from the process that runs the execution. An empty step matches any step.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn request_split(&self, execution: ExecutionId, step: &str, partition: u32) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // A digest has the length of a file name, whichever step it is.
        let step_digest = xxh3_64(step.as_bytes());
        fs::write(self.folder.join(format!("{execution}-split-{partition}-{step_digest:016x}")), step)
    }

    fn take_splits(&self, engine: &Engine) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some((execution, partition)) = name.to_str().and_then(|name| name.split_once("-split-")) else {
                continue;
            };
            let partition = partition.split_once('-').map_or(partition, |(partition, _)| partition);
            let (Ok(execution), Ok(partition)) = (execution.parse(), partition.parse()) else { continue };
            let step = fs::read_to_string(entry.path()).unwrap_or_default();
            if engine.split(ExecutionId(execution), &step, partition) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Removes requests for executions that no process runs.
    pub fn clear(&self) {
        // A missing folder contains no requests.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Removes the request for an execution: one of an earlier store must not stop a new execution of the same number.
    pub fn remove(&self, execution: ExecutionId) {
        // The file is usually missing.
        let _ = fs::remove_file(self.folder.join(execution.to_string()));
    }

    /// Executes the requests for executions of this process: stops executions and splits partitions.
    pub fn look(&self, engine: &Engine) {
        self.take_splits(engine);
        for execution in engine.running() {
            if self.folder.join(execution.to_string()).exists() {
                // The execution may have ended in the meantime.
                let _ = engine.stop(execution);
                self.remove(execution);
            }
        }
    }
}
