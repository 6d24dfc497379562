//! Messages and their stored form.

use std::cell::RefCell;

use super::window::MessageKey;
use crate::Value;
use crate::codec::{Decoder, Encoder};

/// A larger buffer is not kept for the next message.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of the fields of a stored message that always have the same length.
const HEAD_BYTES: usize = 1 + 24 + 24 + 8 + 8 + 1 + 1 + 24 + 4 + 4;
/// Version of the stored form that ends with the content.
const WHOLE: u8 = 1;
/// Version of the stored form of a message whose content is in parts.
const IN_PARTS: u8 = 2;
/// Highest priority.
pub const PRIORITY_MAX: u8 = 9;
/// Property with the media type of the content, wherever the message came from: the header of HTTP, the property of AMQP.
pub const CONTENT_TYPE: &str = "content-type";
/// Prefix of properties that Quayline sets: parts of AMQP messages and the user. No client can set them.
pub const OF_AMQP: &str = "amqp.";
/// Property with the user that a listener authenticated when the message arrived. Clients cannot set it: listeners take no property whose name begins
/// with `amqp.` from them.
pub const USER_ID: &str = "amqp.user-id";

/// Message id, correlation id or group id: 24 bytes, as in IBM MQ. All zeros means no id.
pub type MessageId = [u8; 24];

/// Whether a message survives a restart.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Persistence {
    /// Survives a restart; durable with its unit of work.
    #[default]
    Persistent,
    /// Exists only in memory and ends with the process. It still becomes visible with its unit of work.
    NotPersistent,
}

/// A message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Message id; zeros ask the queue for a new one.
    pub id: MessageId,
    /// Correlation id.
    pub correlation: MessageId,
    /// Group id.
    pub group: MessageId,
    /// Sequence number in the group, from 1; 0 without a group.
    pub group_sequence: u32,
    /// 0 to 9; 9 is got first.
    pub priority: u8,
    /// Persistence of the message across a restart.
    pub persistence: Persistence,
    /// Milliseconds since 1970 when it was put; the queue sets it.
    pub put_ms: u64,
    /// Expiry time in milliseconds since 1970; 0 for none.
    pub expires_ms: u64,
    /// Queue for the reply; empty for none.
    pub reply_to: String,
    /// Format name; empty for none.
    pub format: String,
    /// Reason why the message is on a backout or dead-letter queue; otherwise empty.
    pub reason: String,
    /// Times that a unit of work that had got it rolled back; the queue counts.
    pub backout_count: u32,
    /// Properties by name.
    pub properties: Vec<(String, Vec<u8>)>,
    /// Content.
    pub payload: Vec<u8>,
}

/// Fields that a queue sets when a message is put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    pub(crate) id: MessageId,
    pub(crate) put_ms: u64,
    pub(crate) priority: u8,
}

impl Message {
    /// Creates a persistent message with content and default properties.
    #[must_use]
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        Message { payload: payload.into(), ..Message::default() }
    }

    /// Encodes the message with its content and the fields that the queue sets.
    pub(crate) fn stored(&self, stamped: &Stamped) -> Value {
        // The form has its length only when it is whole; one buffer for all messages of a thread saves an allocation for each.
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            let mut out = Encoder(std::mem::take(scratch));
            self.encode(stamped, None, &mut out);
            let value = if self.payload.len() <= SCRATCH_BYTES_KEPT {
                out.0.extend_from_slice(&self.payload);
                Value::from(out.0.as_slice())
            } else {
                // Copied once: a buffer with the whole form would hold long content twice.
                let mut value: Value = std::iter::repeat_n(0, out.0.len() + self.payload.len()).collect();
                if let Some(place) = Value::get_mut(&mut value) {
                    let (head, content) = place.split_at_mut(out.0.len());
                    head.copy_from_slice(&out.0);
                    content.copy_from_slice(&self.payload);
                }
                value
            };
            if out.0.capacity() <= 2 * SCRATCH_BYTES_KEPT {
                *scratch = out.0;
            }
            value
        })
    }

    /// Encodes the message without its content, and splits the content into parts.
    pub(crate) fn stored_in_parts(&self, stamped: &Stamped, part_bytes: u32) -> (Value, Vec<Value>) {
        let parts = Parts { bytes: self.payload.len() as u64, part_bytes };
        let mut out = Encoder::default();
        self.encode(stamped, Some(parts), &mut out);
        let length = usize::try_from(part_bytes.max(1)).unwrap_or(usize::MAX);
        (Value::from(out.0), self.payload.chunks(length).map(Value::from).collect())
    }

    /// Bytes of the stored form.
    pub(crate) fn stored_bytes(&self) -> usize {
        let texts = [&self.reply_to, &self.format, &self.reason];
        let properties = self.properties.iter().map(|(name, value)| 8 + name.len() + value.len());
        HEAD_BYTES
            + texts.iter().map(|text| 4 + text.len()).sum::<usize>()
            + properties.sum::<usize>()
            + self.payload.len()
    }

    fn encode(&self, stamped: &Stamped, parts: Option<Parts>, out: &mut Encoder) {
        out.u8(if parts.is_some() { IN_PARTS } else { WHOLE });
        out.0.extend_from_slice(&stamped.id);
        out.0.extend_from_slice(&self.correlation);
        out.u64(self.expires_ms);
        out.u64(stamped.put_ms);
        out.u8(stamped.priority);
        out.u8(u8::from(self.persistence == Persistence::Persistent));
        out.0.extend_from_slice(&self.group);
        out.u32(self.group_sequence);
        if let Some(parts) = parts {
            out.u64(parts.bytes);
            out.u32(parts.part_bytes);
        }
        out.text(&self.reply_to);
        out.text(&self.format);
        out.text(&self.reason);
        out.u32(u32::try_from(self.properties.len()).unwrap_or(u32::MAX));
        for (name, value) in &self.properties {
            out.text(name);
            out.bytes(value);
        }
    }

    /// Reads a stored form. The content of a message in parts is empty.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, Option<Parts>)> {
        let mut from = Decoder(bytes);
        let version = from.u8()?;
        if !(WHOLE..=IN_PARTS).contains(&version) {
            return None;
        }
        let (id, correlation) = (from.array()?, from.array()?);
        let (expires_ms, put_ms) = (from.u64()?, from.u64()?);
        let priority = from.u8()?;
        let persistence = if from.u8()? == 1 { Persistence::Persistent } else { Persistence::NotPersistent };
        let (group, group_sequence) = (from.array()?, from.u32()?);
        let parts = if version == IN_PARTS { Some(Parts::read(&mut from)?) } else { None };
        let (reply_to, format, reason) = (from.text()?, from.text()?, from.text()?);
        let mut properties = Vec::new();
        for _ in 0..from.u32()? {
            properties.push((from.text()?, from.bytes()?.to_vec()));
        }
        let message = Message {
            id,
            correlation,
            group,
            group_sequence,
            priority,
            persistence,
            put_ms,
            expires_ms,
            reply_to,
            format,
            reason,
            backout_count: 0,
            properties,
            payload: from.0.to_vec(),
        };
        Some((message, parts))
    }
}

/// Key of a part: the key of its message, then the number of the part from 0.
pub(crate) type PartKey = [u8; 13];

/// The parts that hold the content of a long message. All have the same length, except the last one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Parts {
    /// Bytes of the content.
    pub(crate) bytes: u64,
    /// Bytes of a part.
    part_bytes: u32,
}

impl Parts {
    fn read(from: &mut Decoder<'_>) -> Option<Self> {
        let (bytes, part_bytes) = (from.u64()?, from.u32()?);
        // The number of a part has four bytes.
        let is_sound = part_bytes > 0 && bytes.div_ceil(u64::from(part_bytes)) <= u64::from(u32::MAX);
        is_sound.then_some(Parts { bytes, part_bytes })
    }

    /// Returns the keys of the parts in ascending order.
    pub(crate) fn keys(self, key: MessageKey) -> impl Iterator<Item = PartKey> {
        let count = u32::try_from(self.bytes.div_ceil(u64::from(self.part_bytes.max(1)))).unwrap_or(u32::MAX);
        (0..count).map(move |number| {
            let mut part = [0; 13];
            part[..9].copy_from_slice(&key);
            part[9..].copy_from_slice(&number.to_be_bytes());
            part
        })
    }
}

/// Fields of a stored message that a queue needs without decoding all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) id: MessageId,
    pub(crate) correlation: MessageId,
    pub(crate) expires_ms: u64,
    pub(crate) group: MessageId,
    pub(crate) group_sequence: u32,
    pub(crate) parts: Option<Parts>,
}

impl Head {
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder(bytes);
        let version = from.u8()?;
        let (id, correlation, expires_ms) = (from.array()?, from.array()?, from.u64()?);
        // Skip the time of the put, the priority and the persistence.
        from.take(10)?;
        let (group, group_sequence) = (from.array()?, from.u32()?);
        let parts = if version == IN_PARTS { Some(Parts::read(&mut from)?) } else { None };
        Some(Head { id, correlation, expires_ms, group, group_sequence, parts })
    }
}
