//! Kept events.

use quayline_store::queue::{Message, Queue};
use quayline_store::{StoreError, Unit};

use super::{Also, Held, Repository, bytes, read};
use crate::error::BatchError;
use crate::event::{Event, EventPage, EventPosition, EventsWanted, Keeping, StoredEvent, TopicFilter};
use crate::record::Execution;
use crate::work::Work;

/// Events that one unit of work removes.
const TRIM: u64 = 1_000;
/// Maximum number of events that are read for one page: 10,000. It limits the time of a request whose filter matches nothing.
const SCAN: usize = 10_000;
/// Number of events that are read at once.
pub(super) const READ: usize = 500;
/// Key of the kept topics. Its value has their bits and the name of the queue.
const KEPT_TOPICS: &[u8] = b"#v";

impl Repository {
    /// Runs a separate unit of work, which commits only while this process owns the execution.
    pub(crate) fn alone(&self, held: Held, also: Also<'_>) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            also(work.as_mut())?;
            work.commit()
        })
    }

    /// Returns up to `count` kept events after a position in ascending order.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn events(&self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Event)>, BatchError> {
        let found = self.begin()?.events(after, count)?.into_iter();
        found
            .map(|(at, kept)| {
                let kept: StoredEvent = read("an event", &kept)?;
                Ok((at, kept.event().ok_or(BatchError::Damaged { what: "an event of a later version" })?))
            })
            .collect()
    }

    /// Returns up to `count` events after a position that pass a filter. A page may have fewer, because it reads 10,000 events at most.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn event_page(
        &self,
        wanted: &EventsWanted,
        after: EventPosition,
        count: usize,
    ) -> Result<EventPage, BatchError> {
        let mut page = EventPage { events: Vec::new(), next: after, removed: self.events_removed_after(after)? };
        let mut seen = 0;
        while page.events.len() < count && seen < SCAN {
            let found = self.events(page.next, READ)?;
            if found.is_empty() {
                break;
            }
            for (at, event) in found {
                seen += 1;
                page.next = at;
                if wanted.has(&event) {
                    page.events.push((at, event));
                    if page.events.len() == count {
                        break;
                    }
                }
            }
        }
        Ok(page)
    }

    /// Returns true if events after a position may have been removed.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn events_removed_after(&self, after: EventPosition) -> Result<bool, BatchError> {
        if after == EventPosition::default() {
            return Ok(false);
        }
        let oldest = self.events(EventPosition::default(), 1)?.first().map(|(at, _)| *at);
        // In a store, the numbers have no gaps.
        let follows = |oldest: EventPosition| oldest.0 == 0 && oldest.1 == after.1 + 1;
        Ok(oldest.is_some_and(|oldest| oldest > after && !follows(oldest)))
    }

    /// Returns the position of the newest kept event; the default position without kept events.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn newest_event(&self) -> Result<EventPosition, BatchError> {
        Ok(self.begin()?.newest_event()?.unwrap_or_default())
    }

    /// Removes the oldest kept events, so that `retain` stay.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn trim_events(&self, retain: u64) -> Result<(), BatchError> {
        loop {
            let mut work = self.begin()?;
            if work.trim_events(retain, TRIM)? == 0 {
                return Ok(());
            }
            work.commit()?;
        }
    }

    /// Stores which events to keep, none without settings, for processes that open this repository without the settings of a project.
    pub(crate) fn remember(&self, keeping: Option<&Keeping>) -> Result<(), BatchError> {
        let queue = keeping.and_then(|keeping| keeping.queue.as_ref());
        let queue = queue.map(|queue| queue.name().to_owned()).unwrap_or_default();
        let filter = keeping.map(|keeping| keeping.filter).unwrap_or_default();
        let mut work = self.begin()?;
        if kept_topics(work.as_mut())? != (filter, queue.clone()) {
            work.put(KEPT_TOPICS, &[filter.0.to_be_bytes().as_slice(), queue.as_bytes()].concat())?;
            work.commit()?;
        }
        Ok(())
    }

    /// Keeps events of changes that no engine makes, by the stored settings.
    pub(super) fn keep_unattended(&self, work: &mut dyn Work, events: &[Event]) -> Result<(), BatchError> {
        let (filter, queue) = kept_topics(work)?;
        for event in events.iter().filter(|event| filter.wants(event.topic)) {
            work.keep_event(stored(event))?;
            if !queue.is_empty()
                && let Some(queue) = self.backend.queue(&queue)
            {
                put_on(work, &queue, event)?;
            }
        }
        Ok(())
    }
}

/// Encodes an event for the repository.
pub(crate) fn stored(event: &Event) -> Vec<u8> {
    bytes(&StoredEvent::from(event))
}

/// Returns an event of an execution as a whole.
pub(crate) fn event_of(execution: &Execution, topic: &'static str, at_ms: u64, text: String) -> Event {
    Event {
        at_ms,
        topic,
        job: execution.job.clone(),
        instance: execution.instance,
        execution: execution.id,
        step: None,
        partition: None,
        counts: None,
        text,
    }
}

/// Puts an event on a queue in the same unit of work. Returns whether the queue has room for the event. A stalled subscriber must not delay jobs.
pub(crate) fn put_on(work: &mut dyn Work, queue: &Queue, event: &Event) -> Result<bool, BatchError> {
    let Some(unit) = work.unit() else { return Ok(true) };
    match put_event(unit, queue, event) {
        Ok(()) => Ok(true),
        Err(StoreError::QueueFull { .. } | StoreError::MessageTooLong { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Puts an event on a queue as JSON.
pub(super) fn put_event(unit: &mut Unit, queue: &Queue, event: &Event) -> Result<(), StoreError> {
    let topic = format!("batch/{}", event.topic);
    let properties = vec![("topic".to_owned(), topic.into_bytes()), ("job".to_owned(), event.job.clone().into_bytes())];
    let message = Message { format: "json".to_owned(), properties, ..Message::new(event.json().to_string()) };
    queue.put(unit, &message).map(|_| ())
}

/// Returns the stored topics, and the name of the queue that also gets their events.
fn kept_topics(work: &mut dyn Work) -> Result<(TopicFilter, String), BatchError> {
    let found = work.get(KEPT_TOPICS)?.unwrap_or_default();
    let Some((bits, queue)) = found.split_first_chunk() else { return Ok(Default::default()) };
    let damaged = |_| BatchError::Damaged { what: "the topics of kept events" };
    Ok((TopicFilter(u32::from_be_bytes(*bits)), String::from_utf8(queue.to_vec()).map_err(damaged)?))
}
