//! Job logs: one file of lines for each execution, `job-logs/<execution>.log` in a folder.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::event::{Event, Observer, is_logged};
use crate::record::ExecutionId;

pub use crate::civil_time::{day_ms, time_text};

/// Writes job logs into a folder. A line that cannot be written is lost. The execution continues, because its records are in the repository.
pub struct JobLogs {
    folder: PathBuf,
}

impl JobLogs {
    /// Creates the job logs beside a store.
    #[must_use]
    pub fn new(store: &Path) -> Self {
        JobLogs { folder: store.join("job-logs") }
    }

    /// Returns the folder of the logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of an execution's log.
    #[must_use]
    pub fn path(&self, execution: ExecutionId) -> PathBuf {
        self.folder.join(format!("{execution}.log"))
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

    fn open(&self, execution: ExecutionId) -> std::io::Result<File> {
        std::fs::create_dir_all(&self.folder)?;
        OpenOptions::new().create(true).append(true).open(self.path(execution))
    }
}

impl Observer for JobLogs {
    fn event(&self, event: &Event) {
        let line = format!("{}\n", line_of(event));
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
