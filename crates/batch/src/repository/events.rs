//! Kept events.

use super::{Also, Held, Repository, bytes, read};
use crate::error::BatchError;
use crate::event::{self, Event, EventPosition, Stored, TopicFilter};
use crate::record::Execution;
use crate::work::Work;

/// Events that one unit of work removes.
const TRIM: u64 = 1_000;
/// Key of the topics that are kept.
const KEPT_TOPICS: &[u8] = b"#v";

impl Repository {
    /// A unit of work of its own, which commits only while this process has the execution.
    pub(crate) fn alone(&self, held: Held, also: Also<'_>) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            also(work.as_mut())?;
            work.commit()
        })
    }

    /// Up to `count` kept events after a position, ascending.
    ///
    /// # Errors
    /// Those of the store.
    pub fn events(&self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Event)>, BatchError> {
        let found = self.begin()?.events(after, count)?.into_iter();
        found
            .map(|(at, kept)| {
                let kept: Stored = read("an event", &kept)?;
                Ok((at, kept.event().ok_or(BatchError::Damaged { what: "an event of a later version" })?))
            })
            .collect()
    }

    /// Position of the newest kept event; the very first without any.
    ///
    /// # Errors
    /// Those of the store.
    pub fn newest_event(&self) -> Result<EventPosition, BatchError> {
        Ok(self.begin()?.newest_event()?.unwrap_or_default())
    }

    /// Removes the oldest kept events, so that `retain` stay.
    ///
    /// # Errors
    /// Those of the store.
    pub fn trim_events(&self, retain: u64) -> Result<(), BatchError> {
        loop {
            let mut work = self.begin()?;
            if work.trim_events(retain, TRIM)? == 0 {
                return Ok(());
            }
            work.commit()?;
        }
    }

    /// Remembers which topics are kept, for processes that open this repository without the settings of a project.
    pub(crate) fn remember_filter(&self, filter: TopicFilter) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        if kept_topics(work.as_mut())? != filter {
            work.put(KEPT_TOPICS, &filter.0.to_be_bytes())?;
            work.commit()?;
        }
        Ok(())
    }
}

/// An event as the repository keeps it.
pub(crate) fn stored(event: &Event) -> Vec<u8> {
    bytes(&Stored::from(event))
}

pub(super) fn recovered_event(execution: &Execution, at_ms: u64) -> Event {
    let cause = execution.cause.as_deref().unwrap_or_default();
    Event {
        at_ms,
        topic: event::FAILED,
        job: execution.job.clone(),
        instance: execution.instance,
        execution: execution.id,
        step: None,
        partition: None,
        counts: None,
        text: format!("ends {}: {cause}", execution.status),
    }
}

/// Topics that were kept last.
pub(super) fn kept_topics(work: &mut dyn Work) -> Result<TopicFilter, BatchError> {
    let found = work.get(KEPT_TOPICS)?;
    Ok(TopicFilter(found.and_then(|bits| bits.try_into().ok()).map_or(0, u32::from_be_bytes)))
}
