//! `jobs/settings.toml`: how a project's jobs run, and how long they are kept.

use std::io;
use std::path::Path;

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use serde::Deserialize;

use crate::codes::JOB_SETTINGS as SETTINGS;
use crate::{TomlFile, UserText};

/// Action of a server on executions whose process has ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum TakeOver {
    /// The server marks them FAILED, and an operator restarts them.
    #[default]
    Mark,
    /// The server also restarts them with their parameters.
    Restart,
}

/// Settings for running a project's jobs and retaining their history.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JobSettings {
    /// Action of a server on executions whose process has ended.
    pub take_over: TakeOver,
    /// Restarts of an instance without an operator, one after another. Default 3, so that a job that ends its process does not do so for ever.
    pub restarts_max: u64,
    /// Days after which a server removes instances that ended; `None` keeps them.
    pub retain_days: Option<u64>,
    /// Bytes of items at which a chunk ends.
    pub chunk_bytes_max: Option<usize>,
    /// Partitions of a step that run at once.
    pub partition_threads_max: Option<usize>,
}

impl Default for JobSettings {
    fn default() -> Self {
        JobSettings {
            take_over: TakeOver::Mark,
            restarts_max: RESTARTS_MAX,
            retain_days: None,
            chunk_bytes_max: None,
            partition_threads_max: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Wire {
    #[serde(default)]
    take_over: TakeOver,
    #[serde(default = "restarts_max")]
    restarts_max: u64,
    retain_days: Option<u64>,
    chunk_bytes_max: Option<usize>,
    partition_threads_max: Option<usize>,
}

const RESTARTS_MAX: u64 = 3;
/// Partitions of a step that run at once in one process at most: each has a thread.
const THREADS_MAX: usize = 1_024;

fn restarts_max() -> u64 {
    RESTARTS_MAX
}

const REMEDY: &str = "docs/reference/jobs.md shows every key of jobs/settings.toml";

impl JobSettings {
    /// Reads `jobs/settings.toml` of a project's folder. Without the file, every key has its default.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn open(project: &Path) -> Result<JobSettings, Findings> {
        const NAME: &str = "jobs/settings.toml";
        match std::fs::read_to_string(project.join(NAME)) {
            Ok(text) => JobSettings::parse(NAME, &text),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(JobSettings::default())
            }
            Err(error) => {
                let message = format!("the settings of jobs cannot be read: {}", system_error_text(&error));
                let place = Place { file: Some(NAME.into()), ..Place::default() };
                Err(Finding::error(SETTINGS, Fault::Environment, message).at(place).into())
            }
        }
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<JobSettings, Findings> {
        let source = UserText { name: name.into(), text: text.into() };
        let file = TomlFile::parse(&source, SETTINGS, REMEDY)?;
        let wire = file.read::<Wire>(SETTINGS, REMEDY)?;
        let mut wrong = Vec::new();
        let mut check = |key: &str, is_good: bool, what: &str, hint: &str| {
            if !is_good {
                let finding = Finding::error(SETTINGS, Fault::Config, format!("`{key}` is {what}"));
                wrong.push(finding.at(file.place(&[key])).hint(hint));
            }
        };
        let hint = "write the number of days, or remove the key to keep all instances";
        check("retain-days", wire.retain_days != Some(0), "0: a server would remove every instance at its end", hint);
        let hint = "write a number of bytes, such as 16777216";
        check("chunk-bytes-max", wire.chunk_bytes_max != Some(0), "0: no item would fit a chunk", hint);
        let threads = wire.partition_threads_max.is_none_or(|threads| (1..=THREADS_MAX).contains(&threads));
        check("partition-threads-max", threads, "not a number from 1 to 1024", "each partition that runs has a thread");
        if !wrong.is_empty() {
            return Err(Findings(wrong));
        }
        Ok(JobSettings {
            take_over: wire.take_over,
            restarts_max: wire.restarts_max,
            retain_days: wire.retain_days,
            chunk_bytes_max: wire.chunk_bytes_max,
            partition_threads_max: wire.partition_threads_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_all_that_is_wrong_with_it() {
        let text = "retain-days = 0\nchunk-bytes-max = 0\npartition-threads-max = 2000\n";
        let findings = JobSettings::parse("settings.toml", text).unwrap_err().0;
        let lines: Vec<_> = findings.iter().map(|finding| finding.place.line).collect();
        assert_eq!(lines, [Some(1), Some(2), Some(3)], "{findings:?}");
        assert!(JobSettings::parse("settings.toml", "take-over = \"never\"\n").is_err());
        assert!(JobSettings::parse("settings.toml", "retain = 5\n").is_err());
    }

    #[test]
    fn without_keys_every_value_is_the_default() {
        assert_eq!(JobSettings::parse("settings.toml", ""), Ok(JobSettings::default()));
        let text = "take-over = \"restart\"\nrestarts-max = 1\nretain-days = 30\n";
        let settings = JobSettings::parse("settings.toml", text).unwrap();
        assert_eq!((settings.take_over, settings.restarts_max, settings.retain_days), (TakeOver::Restart, 1, Some(30)));
    }
}
