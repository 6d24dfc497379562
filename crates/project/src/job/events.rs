//! Topics of job events, filters over topics, and `jobs/events.toml`, which selects the events that a project keeps.

use std::io;
use std::path::Path;

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use serde::Deserialize;

use crate::codes::JOB_EVENTS as EVENTS;
use crate::{TomlFile, UserText};

/// An execution is created.
pub const SUBMITTED: &str = "jobs/instance/submitted";
/// An execution of the instance runs.
pub const INSTANCE_DISPATCHED: &str = "jobs/instance/dispatched";
/// Somebody stops the instance.
pub const INSTANCE_STOPPING: &str = "jobs/instance/stopping";
/// The instance is COMPLETED.
pub const INSTANCE_COMPLETED: &str = "jobs/instance/completed";
/// The instance is STOPPED.
pub const INSTANCE_STOPPED: &str = "jobs/instance/stopped";
/// The instance is FAILED.
pub const INSTANCE_FAILED: &str = "jobs/instance/failed";
/// The instance was removed with all its data in the repository.
pub const INSTANCE_PURGED: &str = "jobs/instance/purged";
/// An execution was created and will run soon.
pub const STARTING: &str = "jobs/execution/starting";
/// An execution runs.
pub const STARTED: &str = "jobs/execution/started";
/// A restart runs.
pub const RESTARTING: &str = "jobs/execution/restarting";
/// An execution ended COMPLETED.
pub const COMPLETED: &str = "jobs/execution/completed";
/// An execution ended FAILED.
pub const FAILED: &str = "jobs/execution/failed";
/// An execution ended STOPPED.
pub const STOPPED: &str = "jobs/execution/stopped";
/// An event that only the job log records.
pub const LOG: &str = "jobs/execution/jobLogPart";
/// A step runs.
pub const STEP_STARTED: &str = "jobs/execution/step/started";
/// A step ended COMPLETED.
pub const STEP_COMPLETED: &str = "jobs/execution/step/completed";
/// A step ended FAILED.
pub const STEP_FAILED: &str = "jobs/execution/step/failed";
/// A step ended STOPPED.
pub const STEP_STOPPED: &str = "jobs/execution/step/stopped";
/// A chunk committed.
pub const CHECKPOINT: &str = "jobs/execution/step/checkpoint";
/// A partition runs.
pub const PARTITION_STARTED: &str = "jobs/execution/partition/started";
/// A partition ended COMPLETED.
pub const PARTITION_COMPLETED: &str = "jobs/execution/partition/completed";
/// A partition ended FAILED.
pub const PARTITION_FAILED: &str = "jobs/execution/partition/failed";
/// A partition ended STOPPED.
pub const PARTITION_STOPPED: &str = "jobs/execution/partition/stopped";
/// A flow of a split runs.
pub const SPLIT_FLOW_STARTED: &str = "jobs/execution/split-flow/started";
/// A flow of a split ended.
pub const SPLIT_FLOW_ENDED: &str = "jobs/execution/split-flow/ended";

/// All topics below the root `batch`. The order gives the numbers that stored events contain, so new topics are added at the end.
pub const TOPICS: [&str; 25] = [
    SUBMITTED,
    STARTED,
    RESTARTING,
    COMPLETED,
    FAILED,
    STOPPED,
    LOG,
    STEP_STARTED,
    STEP_COMPLETED,
    STEP_FAILED,
    STEP_STOPPED,
    CHECKPOINT,
    PARTITION_STARTED,
    PARTITION_COMPLETED,
    PARTITION_FAILED,
    PARTITION_STOPPED,
    SPLIT_FLOW_STARTED,
    SPLIT_FLOW_ENDED,
    INSTANCE_DISPATCHED,
    INSTANCE_STOPPING,
    INSTANCE_COMPLETED,
    INSTANCE_STOPPED,
    INSTANCE_FAILED,
    INSTANCE_PURGED,
    STARTING,
];

/// Returns whether job logs have the events of a topic. They leave out checkpoints, and events of moments that another event also reports.
#[must_use]
pub fn is_logged(topic: &str) -> bool {
    let is_of_instance = topic.starts_with("jobs/instance/") && topic != SUBMITTED;
    topic != CHECKPOINT && topic != STARTING && !is_of_instance
}

/// Returns the number of a topic in [`TOPICS`].
#[must_use]
pub fn number_of(topic: &str) -> Option<u32> {
    TOPICS.iter().position(|known| *known == topic).and_then(|number| u32::try_from(number).ok())
}

/// Set of requested topics, with one bit for each so that a check costs nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TopicFilter(pub u32);

impl TopicFilter {
    /// Every topic.
    pub const ALL: TopicFilter = TopicFilter((1 << TOPICS.len()) - 1);

    /// Adds the topics that a pattern names, and returns how many these are. In a pattern, `*` is one level and `#` at its end is all levels that
    /// follow, as in AMQP brokers; the root `batch/` may be left out.
    pub fn add(&mut self, pattern: &str) -> usize {
        let pattern = pattern.strip_prefix("batch/").unwrap_or(pattern);
        let mut found = 0;
        for (number, _) in TOPICS.iter().enumerate().filter(|(_, topic)| matches(pattern, topic)) {
            self.0 |= 1 << number;
            found += 1;
        }
        found
    }

    /// Returns the topics that these patterns match.
    ///
    /// # Errors
    /// The first pattern that matches no topic.
    pub fn of<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<TopicFilter, &'p str> {
        let mut filter = TopicFilter::default();
        for pattern in patterns {
            if filter.add(pattern) == 0 {
                return Err(pattern);
            }
        }
        Ok(filter)
    }

    /// Returns true if a topic is requested.
    #[must_use]
    pub fn wants(self, topic: &str) -> bool {
        self.0 != 0 && number_of(topic).is_some_and(|number| self.0 & (1 << number) != 0)
    }
}

fn matches(pattern: &str, topic: &str) -> bool {
    let (mut pattern, mut topic) = (pattern.split('/'), topic.split('/'));
    loop {
        match (pattern.next(), topic.next()) {
            (Some("#"), _) => return pattern.next().is_none(),
            (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(level), Some(found)) if level == found => {}
            _ => return false,
        }
    }
}

/// Retention of job events in a project: `jobs/events.toml`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventSettings {
    /// Topics whose events are kept. By default all but checkpoints and parts of the job log.
    pub keep: TopicFilter,
    /// Minimum time in milliseconds between stored checkpoint events of a step or partition; 0 stores each.
    pub checkpoint_sample_ms: u64,
    /// Events that stay; older ones are removed.
    pub retain: u64,
    /// Queue or topic of the store that gets each event too.
    pub topic: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Wire {
    keep: Option<Vec<String>>,
    #[serde(default)]
    checkpoint_sample_ms: u64,
    #[serde(default = "retain")]
    retain: u64,
    topic: Option<String>,
}

fn retain() -> u64 {
    100_000
}

const REMEDY: &str = "docs/reference/jobs.md shows every key of jobs/events.toml";

impl EventSettings {
    /// Reads `jobs/events.toml` of a project's folder. Without the file, no event is kept.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn open(project: &Path) -> Result<Option<EventSettings>, Findings> {
        const NAME: &str = "jobs/events.toml";
        match std::fs::read_to_string(project.join(NAME)) {
            Ok(text) => EventSettings::parse(NAME, &text).map(Some),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => {
                let message = format!("the settings of events cannot be read: {}", system_error_text(&error));
                let place = Place { file: Some(NAME.into()), ..Place::default() };
                Err(Finding::error(EVENTS, Fault::Environment, message).at(place).into())
            }
        }
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<EventSettings, Findings> {
        let source = UserText { name: name.into(), text: text.into() };
        let file = TomlFile::parse(&source, EVENTS, REMEDY)?;
        let wire = file.read::<Wire>(EVENTS, REMEDY)?;
        let mut wrong = Vec::new();
        let mut keep = TopicFilter::ALL;
        match &wire.keep {
            None => keep.0 &= !TopicFilter::of([CHECKPOINT, LOG]).unwrap_or_default().0,
            Some(patterns) => {
                keep = TopicFilter::default();
                for pattern in patterns.iter().filter(|pattern| keep.add(pattern) == 0) {
                    let finding =
                        Finding::error(EVENTS, Fault::Config, format!("`{pattern}` names no topic of events"));
                    wrong.push(finding.at(file.place(&["keep"])).hint(topics_hint()));
                }
            }
        }
        if wire.retain == 0 {
            let finding = Finding::error(EVENTS, Fault::Config, "`retain` is 0: no event would stay".to_owned());
            let hint = "write the number of events that stay, or remove the file to keep none";
            wrong.push(finding.at(file.place(&["retain"])).hint(hint));
        }
        if !wrong.is_empty() {
            return Err(Findings(wrong));
        }
        Ok(EventSettings {
            keep,
            checkpoint_sample_ms: wire.checkpoint_sample_ms,
            retain: wire.retain,
            topic: wire.topic,
        })
    }
}

/// Returns the hint for patterns that match no topic.
#[must_use]
pub fn topics_hint() -> String {
    format!("topics are {}; `*` is one level, `#` at the end is all that follow", TOPICS.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_levels() {
        let of = |pattern| TopicFilter::of([pattern]).map(|filter| filter.0.count_ones());
        assert_eq!(of("#"), Ok(25));
        assert_eq!(of("batch/jobs/#"), Ok(25));
        assert_eq!(of("jobs/execution/*"), Ok(7));
        assert_eq!(of("jobs/instance/*"), Ok(7));
        assert_eq!(of("jobs/execution/*/started"), Ok(3));
        assert_eq!(of("jobs/execution/step/checkpoint"), Ok(1));
        assert_eq!(of("jobs/execution/step/checkpoint/#"), Ok(1));
        for none in ["", "jobs", "jobs/*", "jobs/#/started", "jobs/execution/start", "/jobs/#"] {
            assert_eq!(of(none), Err(none), "{none}");
        }
    }

    #[test]
    fn a_file_names_all_that_is_wrong_with_it() {
        let text = "keep = [\"jobs/instance/#\", \"jobs/nothing\"]\nretain = 0\n";
        let findings = EventSettings::parse("events.toml", text).unwrap_err().0;
        let shown: Vec<_> = findings.iter().map(|finding| (finding.place.line, finding.message.as_str())).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert_eq!((shown[0].0, shown[1].0), (Some(1), Some(2)), "{shown:?}");
        assert!(EventSettings::parse("events.toml", "kept = []\n").is_err());
    }

    #[test]
    fn checkpoints_are_kept_on_request_only() {
        let settings = EventSettings::parse("events.toml", "").unwrap();
        assert!(!settings.keep.wants(CHECKPOINT) && !settings.keep.wants(LOG));
        assert_eq!(settings.keep.0.count_ones(), 23);
        assert_eq!((settings.retain, settings.checkpoint_sample_ms, settings.topic), (100_000, 0, None));
    }
}
