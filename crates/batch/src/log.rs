//! Job logs: one file of lines for each execution, `job-logs/<execution>.log` in a folder. The logs of a repository in a database are in a subfolder,
//! whose name is the random number of the repository.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use quayline_core::hex;

use crate::error::BatchError;
use crate::event::{Event, Observer, SUBMITTED, is_logged};
use crate::record::{Execution, ExecutionId};
use crate::repository::Repository;

pub use crate::civil_time::{day_ms, time_text};

/// Writes job logs into a folder. A line that cannot be written is lost. The execution continues, because its records are in the repository.
pub struct JobLogs {
    folder: PathBuf,
    /// Folder in which earlier versions wrote logs of this and of other repositories.
    old: Option<PathBuf>,
}

impl JobLogs {
    /// Creates the job logs beside a store.
    #[must_use]
    pub fn new(store: &Path) -> Self {
        JobLogs { folder: store.join("job-logs"), old: None }
    }

    /// Creates the job logs of a repository beside a store. Several repositories in databases may share the folder, and their executions have the same
    /// numbers.
    ///
    /// # Errors
    /// Errors of the repository.
    pub fn of(store: &Path, repository: &Repository) -> Result<Self, BatchError> {
        let logs = JobLogs::new(store);
        if !repository.is_shared() {
            return Ok(logs);
        }
        let folder = logs.folder.join(hex(&repository.identity()?));
        Ok(JobLogs { folder, old: Some(logs.folder) })
    }

    /// Returns the path of an execution's log, which an earlier version may have written.
    #[must_use]
    pub fn find(&self, execution: &Execution) -> PathBuf {
        let path = self.path(execution.id);
        let Some(old) = self.old.as_ref().filter(|_| !path.exists()) else { return path };
        let old = old.join(name_of(execution.id));
        let mut first = String::new();
        let read = File::open(&old).and_then(|file| BufReader::new(file.take(256)).read_line(&mut first));
        // The first line has the time at which the execution was created, which no other repository has in an execution of this number.
        if read.is_ok() && first.starts_with(&time_text(execution.created_ms)) { old } else { path }
    }

    /// Returns the folder of the logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of an execution's log.
    #[must_use]
    pub fn path(&self, execution: ExecutionId) -> PathBuf {
        self.folder.join(name_of(execution))
    }

    /// Removes the log of an execution.
    ///
    /// # Errors
    /// Errors of the system; a missing log is not an error.
    pub fn remove(&self, execution: ExecutionId) -> std::io::Result<()> {
        match std::fs::remove_file(self.path(execution)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Renames the log that an execution of this number left. After `quayline store restore --replace`, new executions have numbers of the replaced store.
    fn put_aside(&self, execution: ExecutionId) {
        let path = self.path(execution);
        if !path.exists() {
            return;
        }
        let names = (1u32..).map(|number| self.folder.join(format!("{execution}.replaced-{number}.log")));
        // A failure to log is ignored; see the type.
        let _ = names.take(1_000).find(|name| !name.exists()).map(|name| std::fs::rename(&path, name));
    }

    fn open(&self, execution: ExecutionId) -> std::io::Result<File> {
        std::fs::create_dir_all(&self.folder)?;
        OpenOptions::new().create(true).append(true).open(self.path(execution))
    }
}

fn name_of(execution: ExecutionId) -> String {
    format!("{execution}.log")
}

impl Observer for JobLogs {
    fn event(&self, event: &Event) {
        let line = format!("{}\n", line_of(event));
        if event.topic == SUBMITTED {
            self.put_aside(event.execution);
        }
        // A failure to log is ignored; see the type.
        let _ = self.open(event.execution).and_then(|mut file| file.write_all(line.as_bytes()));
    }

    fn wants(&self, topic: &str) -> bool {
        is_logged(topic)
    }
}

/// Formats an event as a line: time, topic without its first parts, sentence, metrics of an end.
#[must_use]
pub fn line_of(event: &Event) -> String {
    let topic = event.topic.strip_prefix("jobs/").unwrap_or(event.topic);
    let mut line = format!("{} {topic}: {}", time_text(event.at_ms), event.text);
    if let Some(counts) = event.counts {
        let named = counts.named();
        let nonzero: Vec<String> =
            named.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}")).collect();
        if !nonzero.is_empty() {
            line.push_str(&format!(" ({})", nonzero.join(", ")));
        }
    }
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
