//! Definition of a queue.

use crate::codec::{Decoder, Encoder};
use crate::{Space, StoreError};

/// Version of the stored form. Version 1 has no marks of the depth, version 2 has no space for parts.
const VERSION: u8 = 3;

/// Kind of object that a queue name refers to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum QueueKind {
    /// A queue that holds messages.
    Local,
    /// An alias of another queue.
    Alias(String),
    /// A topic: a message that is put there is put on each of these queues, which are its durable subscriptions.
    Topic(Vec<String>),
}

/// User-defined attributes of a queue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueueDefinition {
    /// Name.
    pub name: String,
    /// Kind of object that the name refers to.
    pub kind: QueueKind,
    /// Most messages. Default 1,000,000.
    pub depth_max: u64,
    /// Longest content in bytes. Default 4 MB; at most 100 MiB.
    pub message_bytes_max: u64,
    /// Rollbacks after which a message moves to the backout queue; 0 is never. Default 3.
    pub backout_threshold: u32,
    /// Queue for messages that reach the threshold; empty is [`DEAD_LETTER`].
    pub backout_queue: String,
    /// Milliseconds until a message that was rolled back may be got again, after the first rollback; each further one doubles the pause. Default 0;
    /// at most `retry_ms_max`.
    pub retry_ms: u64,
    /// Longest pause. Default 60,000.
    pub retry_ms_max: u64,
    /// Depth at which an event reports that the queue is deep; 0 turns events off.
    pub depth_high_mark: u64,
    /// Depth at which an event reports that the queue is no longer deep. Default 0: an empty queue.
    pub depth_low_mark: u64,
    /// Queue for these events; empty for no events.
    pub event_queue: String,
}

/// Queue of last resort. It is an ordinary queue that the user defines.
pub const DEAD_LETTER: &str = "DEAD.LETTER";
/// Longest content that a queue may allow.
const MESSAGE_BYTES_MAX: u64 = 100 << 20;

impl QueueDefinition {
    /// Returns a local queue with default attributes.
    #[must_use]
    pub fn local(name: &str) -> Self {
        QueueDefinition {
            name: name.to_owned(),
            kind: QueueKind::Local,
            depth_max: 1_000_000,
            message_bytes_max: 4 << 20,
            backout_threshold: 3,
            backout_queue: String::new(),
            retry_ms: 0,
            retry_ms_max: 60_000,
            depth_high_mark: 0,
            depth_low_mark: 0,
            event_queue: String::new(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let wrong = |what: String| Err(StoreError::BadDefinition { name: self.name.clone(), what });
        if self.message_bytes_max > MESSAGE_BYTES_MAX {
            let found = self.message_bytes_max;
            return wrong(format!("messages of up to {found} bytes, expected at most {MESSAGE_BYTES_MAX} (100 MiB)"));
        }
        if self.depth_max == 0 && self.kind == QueueKind::Local {
            return wrong("its depth limit is 0: no message could be put".to_owned());
        }
        if self.retry_ms > self.retry_ms_max {
            let (found, max) = (self.retry_ms, self.retry_ms_max);
            return wrong(format!("a pause of {found} ms before a message comes again, expected at most {max}"));
        }
        if self.backout_queue == self.name || self.kind == QueueKind::Alias(self.name.clone()) {
            return wrong("the queue names itself".to_owned());
        }
        self.check_marks().or_else(wrong)
    }

    /// Returns the name of the queue for messages that reach the backout threshold.
    #[must_use]
    pub fn backout_target(&self) -> &str {
        if self.backout_queue.is_empty() { DEAD_LETTER } else { &self.backout_queue }
    }

    /// Returns the retry delay in milliseconds after this number of rollbacks.
    pub(crate) fn pause_ms(&self, rollbacks: u32) -> u64 {
        let doubled = self.retry_ms.saturating_mul(1 << rollbacks.saturating_sub(1).min(32));
        doubled.min(self.retry_ms_max)
    }
}

/// A queue as the catalog has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StoredQueue {
    pub(crate) definition: QueueDefinition,
    /// Space of the messages.
    pub(crate) messages: Space,
    /// Space of the backout counts.
    pub(crate) counts: Space,
    /// Space of the parts of long messages; `None` for a queue that was defined before there were parts: its messages are stored whole.
    pub(crate) parts: Option<Space>,
}

impl StoredQueue {
    /// Returns the spaces of a local queue.
    pub(crate) fn spaces(&self) -> Vec<Space> {
        [self.messages, self.counts].into_iter().chain(self.parts).collect()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let definition = &self.definition;
        let mut out = Encoder::default();
        out.u8(VERSION);
        out.u32(self.messages.0);
        out.u32(self.counts.0);
        let (kind, names) = match &definition.kind {
            QueueKind::Local => (0, [].as_slice()),
            QueueKind::Alias(name) => (1, std::slice::from_ref(name)),
            QueueKind::Topic(names) => (2, names.as_slice()),
        };
        out.u8(kind);
        out.u32(u32::try_from(names.len()).unwrap_or(u32::MAX));
        names.iter().for_each(|name| out.text(name));
        out.u64(definition.depth_max);
        out.u64(definition.message_bytes_max);
        out.u32(definition.backout_threshold);
        out.text(&definition.backout_queue);
        out.u64(definition.retry_ms);
        out.u64(definition.retry_ms_max);
        out.u64(definition.depth_high_mark);
        out.u64(definition.depth_low_mark);
        out.text(&definition.event_queue);
        // 0 is the space of the definitions, which no queue has.
        out.u32(self.parts.map_or(0, |space| space.0));
        out.0
    }

    pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        StoredQueue::read(name, bytes).ok_or_else(|| StoreError::BadDefinition {
            name: name.to_owned(),
            what: "the stored definition is of no known form".to_owned(),
        })
    }

    fn read(name: &str, bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder(bytes);
        let version = from.u8()?;
        if !(1..=VERSION).contains(&version) {
            return None;
        }
        let (messages, counts) = (Space(from.u32()?), Space(from.u32()?));
        let kind = from.u8()?;
        let mut names = (0..from.u32()?).map(|_| from.text()).collect::<Option<Vec<_>>>()?;
        let kind = match kind {
            0 => QueueKind::Local,
            1 => QueueKind::Alias(names.pop()?),
            2 => QueueKind::Topic(names),
            _ => return None,
        };
        let mut definition = QueueDefinition {
            name: name.to_owned(),
            kind,
            depth_max: from.u64()?,
            message_bytes_max: from.u64()?,
            backout_threshold: from.u32()?,
            backout_queue: from.text()?,
            retry_ms: from.u64()?,
            retry_ms_max: from.u64()?,
            depth_high_mark: 0,
            depth_low_mark: 0,
            event_queue: String::new(),
        };
        if version > 1 {
            definition.depth_high_mark = from.u64()?;
            definition.depth_low_mark = from.u64()?;
            definition.event_queue = from.text()?;
        }
        let parts = if version > 2 { Some(Space(from.u32()?)).filter(|space| space.0 != 0) } else { None };
        from.end()?;
        Some(StoredQueue { definition, messages, counts, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_versions_have_no_parts_and_no_marks() {
        let definition = QueueDefinition::local("Q");
        let stored = StoredQueue { definition, messages: Space(7), counts: Space(8), parts: Some(Space(9)) };
        let mut bytes = stored.encode();
        assert_eq!(StoredQueue::decode("Q", &bytes).expect("version 3"), stored);
        // The space of the parts.
        bytes.truncate(bytes.len() - 4);
        bytes[0] = 2;
        let without_parts = StoredQueue { parts: None, ..stored };
        assert_eq!(StoredQueue::decode("Q", &bytes).expect("version 2"), without_parts);
        // Two marks of 8 bytes and the length of an empty name.
        bytes.truncate(bytes.len() - 20);
        bytes[0] = 1;
        let read = StoredQueue::decode("Q", &bytes).expect("version 1");
        assert_eq!((read.definition, read.messages), (without_parts.definition, Space(7)));
        bytes[0] = 4;
        assert!(StoredQueue::decode("Q", &bytes).is_err());
    }
}
