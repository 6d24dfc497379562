//! Changes of the definition of a queue, alias or topic.

use super::{QueueDefinition, QueueKind};
use crate::StoreError;

/// Attributes to change; those that are `None` stay.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct QueueChange {
    /// Target of an alias.
    pub alias: Option<String>,
    /// All subscribers of a topic.
    pub subscribers: Option<Vec<String>>,
    /// Most messages.
    pub depth_max: Option<u64>,
    /// Longest content in bytes.
    pub message_bytes_max: Option<u64>,
    /// Rollbacks after which a message moves to the backout queue; 0 is never.
    pub backout_threshold: Option<u32>,
    /// Queue for messages that reach the threshold.
    pub backout_queue: Option<String>,
    /// Milliseconds until a message that was rolled back may be got again.
    pub retry_ms: Option<u64>,
    /// Depth at which an event reports that the queue is deep. 0 turns events off; it also removes the low mark and the event queue unless the change
    /// sets them.
    pub depth_high_mark: Option<u64>,
    /// Depth at which an event reports that the queue is no longer deep.
    pub depth_low_mark: Option<u64>,
    /// Queue for these events.
    pub event_queue: Option<String>,
}

impl QueueChange {
    /// Returns true if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == QueueChange::default()
    }

    fn has_limits(&self) -> bool {
        let kind = QueueChange { alias: self.alias.clone(), subscribers: self.subscribers.clone(), ..Self::default() };
        *self != kind
    }

    /// Returns the changed definition.
    ///
    /// # Errors
    /// [`StoreError::BadDefinition`] if the change makes both an alias and a topic, or gives limits to an alias or a topic.
    pub fn applied_to(&self, definition: QueueDefinition) -> Result<QueueDefinition, StoreError> {
        let wrong =
            |what: &str| Err(StoreError::BadDefinition { name: definition.name.clone(), what: what.to_owned() });
        let kind = match (&self.alias, &self.subscribers) {
            (Some(_), Some(_)) => return wrong("it cannot be an alias and a topic at once"),
            (Some(target), None) => QueueKind::Alias(target.clone()),
            (None, Some(subscribers)) if subscribers.is_empty() => return wrong("a topic has at least one subscriber"),
            (None, Some(subscribers)) => QueueKind::Topic(subscribers.clone()),
            (None, None) => definition.kind.clone(),
        };
        if kind != QueueKind::Local && self.has_limits() {
            return wrong("an alias or a topic has no limits of its own; change the queue that it leads to");
        }
        let ends_events =
            self.depth_high_mark == Some(0) && self.depth_low_mark.is_none() && self.event_queue.is_none();
        let (low_mark, event_queue) =
            if ends_events { (0, String::new()) } else { (definition.depth_low_mark, definition.event_queue) };
        Ok(QueueDefinition {
            kind,
            depth_max: self.depth_max.unwrap_or(definition.depth_max),
            message_bytes_max: self.message_bytes_max.unwrap_or(definition.message_bytes_max),
            backout_threshold: self.backout_threshold.unwrap_or(definition.backout_threshold),
            backout_queue: self.backout_queue.clone().unwrap_or(definition.backout_queue),
            retry_ms: self.retry_ms.unwrap_or(definition.retry_ms),
            depth_high_mark: self.depth_high_mark.unwrap_or(definition.depth_high_mark),
            depth_low_mark: self.depth_low_mark.unwrap_or(low_mark),
            event_queue: self.event_queue.clone().unwrap_or(event_queue),
            name: definition.name,
            retry_ms_max: definition.retry_ms_max,
        })
    }
}
