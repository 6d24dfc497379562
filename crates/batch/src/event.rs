//! Job events: live, for job logs and progress; and kept in the repository, for subscribers that connect later.
//!
//! An event that `jobs/events.toml` keeps is part of the unit of work that it describes, such as a checkpoint or the end of a step. Therefore an
//! event is kept exactly if it happened. Events have the order of their commits.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use quayline_core::stored;
use quayline_store::Store;
use quayline_store::queue::Queue;
use serde_json::{Value, json};

use crate::civil_time::time_text;
use crate::record::{Counts, ExecutionId, InstanceId};

pub use quayline_project::job::events::*;

/// A job event. Topics have the names of Liberty's topic tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The topic, below the root: `jobs/execution/started`.
    pub topic: &'static str,
    /// The job's id.
    pub job: String,
    /// Instance.
    pub instance: InstanceId,
    /// Execution.
    pub execution: ExecutionId,
    /// Step.
    pub step: Option<String>,
    /// Partition, from 0.
    pub partition: Option<u32>,
    /// Metrics so far, of checkpoints and ends.
    pub counts: Option<Counts>,
    /// Description: a sentence without payload.
    pub text: String,
}

/// Receives events, on the thread on which they happen. It must not block.
pub trait Observer: Send + Sync {
    /// Receives an event.
    fn event(&self, event: &Event);

    /// Returns true if the observer needs a topic. Unneeded topics cost nothing.
    fn wants(&self, topic: &str) -> bool {
        let _ = topic;
        true
    }
}

/// Selection of the events that an engine keeps.
#[derive(Clone)]
pub struct Keeping {
    /// Topics that are kept.
    pub filter: TopicFilter,
    /// Minimum interval in milliseconds between kept checkpoint events of a step or partition; 0 keeps each.
    pub checkpoint_sample_ms: u64,
    /// Events that stay.
    pub retain: u64,
    /// Gets each event as JSON too. The repository must be in the same store.
    pub queue: Option<Queue>,
    /// Brings the events to a queue of a store, if the repository is elsewhere.
    pub relay: Option<Arc<Relay>>,
}

/// Moves the events of a repository to a queue of a store.
pub struct Relay {
    pub(crate) store: Store,
    pub(crate) queue: Queue,
    pub(crate) filter: TopicFilter,
}

impl Relay {
    /// Creates a relay for events of these topics.
    #[must_use]
    pub fn new(store: Store, queue: Queue, filter: TopicFilter) -> Self {
        Relay { store, queue, filter }
    }
}

/// Where an event is among the kept ones: the first number orders transactions of a database (0 in a store), the second the events in it.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct EventPosition(pub u64, pub u64);

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for EventPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, second) = text.split_once('.').ok_or(())?;
        let number = |text: &str| text.parse().map_err(|_| ());
        Ok(EventPosition(number(first)?, number(second)?))
    }
}

/// Filter of events.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventsWanted {
    /// Topics of the events.
    pub topics: TopicFilter,
    /// Id of the job, or `None` for all jobs.
    pub job: Option<String>,
    /// Number of the execution, or `None` for all executions.
    pub execution: Option<ExecutionId>,
}

impl EventsWanted {
    /// Returns true if an event matches the filter.
    #[must_use]
    pub fn has(&self, event: &Event) -> bool {
        self.topics.wants(event.topic)
            && self.job.as_ref().is_none_or(|job| *job == event.job)
            && self.execution.is_none_or(|execution| execution == event.execution)
    }
}

/// Page of kept events.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventPage {
    /// Events in ascending order.
    pub events: Vec<(EventPosition, Event)>,
    /// Position at which the next page begins.
    pub next: EventPosition,
    /// True if events between the start of the page and its first event were removed.
    pub removed: bool,
}

/// A kept event in the form of the repository.
pub(crate) struct StoredEvent {
    at_ms: u64,
    topic: u32,
    job: String,
    instance: InstanceId,
    execution: ExecutionId,
    step: Option<String>,
    partition: Option<u32>,
    counts: Option<Counts>,
    text: String,
}

stored!(struct StoredEvent { at_ms, topic, job, instance, execution, step, partition, counts, text });

impl From<&Event> for StoredEvent {
    fn from(event: &Event) -> Self {
        StoredEvent {
            at_ms: event.at_ms,
            topic: number_of(event.topic).unwrap_or(u32::MAX),
            job: event.job.clone(),
            instance: event.instance,
            execution: event.execution,
            step: event.step.clone(),
            partition: event.partition,
            counts: event.counts,
            text: event.text.clone(),
        }
    }
}

impl StoredEvent {
    /// Converts to an event; `None` if its topic belongs to a later version.
    pub(crate) fn event(self) -> Option<Event> {
        Some(Event {
            at_ms: self.at_ms,
            topic: TOPICS.get(usize::try_from(self.topic).ok()?)?,
            job: self.job,
            instance: self.instance,
            execution: self.execution,
            step: self.step,
            partition: self.partition,
            counts: self.counts,
            text: self.text,
        })
    }
}

impl Event {
    /// Formats the event as JSON: topic below `batch`, time according to RFC 3339, ids, metrics by the names of the specification.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = json!({
            "topic": format!("batch/{}", self.topic), "time": time_text(self.at_ms), "jobName": self.job,
            "instanceId": self.instance.0, "executionId": self.execution.0,
        });
        if let Some(step) = &self.step {
            value["stepName"] = json!(step);
        }
        if let Some(partition) = self.partition {
            value["partitionNumber"] = json!(partition);
        }
        if let Some(counts) = self.counts {
            value["metrics"] = counts.named().into_iter().collect();
        }
        if !self.text.is_empty() {
            value["text"] = json!(self.text);
        }
        value
    }
}
