//! Ids of AMQP messages as ids of ours, and back.
//!
//! AMQP has four types of ids of any length; the store's have 24 bytes. A binary of 24 bytes is unchanged, so ids that IBM MQ made
//! pass unchanged. Any other id is `AMQP`, a byte for the type, a byte for the length, and up to 18 bytes of the id. A longer id is
//! replaced by a digest: it still finds the message and its replies, and the id itself is kept with the message.

use quayline_amqp::Value;
use quayline_store::queue::MessageId;
use ring::digest::{SHA256, digest};

const MARK: &[u8; 4] = b"AMQP";
/// Bytes of an id that fit beside mark, type and length.
const SHORT_MAX: usize = 18;

const ULONG: u8 = 1;
const UUID: u8 = 2;
const BINARY: u8 = 3;
const STRING: u8 = 4;
const DIGEST: u8 = 5;

/// Converts an AMQP id into a message id of the store.
pub(crate) fn from_value(value: &Value) -> MessageId {
    match value {
        Value::Ulong(number) => short(ULONG, &number.to_be_bytes()),
        Value::Uuid(bytes) => short(UUID, bytes),
        Value::Binary(bytes) => match <MessageId>::try_from(bytes.as_slice()) {
            // Bytes that look like a marked id are marked as well, so that nothing has two meanings.
            Ok(id) if !id.starts_with(MARK) && id != [0; 24] => id,
            _ => any(BINARY, bytes),
        },
        Value::String(text) => any(STRING, text.as_bytes()),
        _ => [0; 24],
    }
}

/// Converts a group id, which is text, into an id of the store.
pub(crate) fn from_text(text: &str) -> MessageId {
    any(STRING, text.as_bytes())
}

/// Returns the AMQP id for an id of the store; `None` for no id, and for a digest, which cannot be reversed.
pub(crate) fn to_value(id: &MessageId) -> Option<Value> {
    if *id == [0; 24] {
        return None;
    }
    let Some(rest) = id.strip_prefix(MARK) else { return Some(Value::Binary(id.to_vec())) };
    let [kind, length, bytes @ ..] = rest else { return None };
    let Some(content) = bytes.get(..usize::from(*length)) else { return Some(Value::Binary(id.to_vec())) };
    match *kind {
        ULONG => content.try_into().ok().map(|bytes| Value::Ulong(u64::from_be_bytes(bytes))),
        UUID => content.try_into().ok().map(Value::Uuid),
        BINARY => Some(Value::Binary(content.to_vec())),
        STRING => String::from_utf8(content.to_vec()).ok().map(Value::String),
        DIGEST => None,
        _ => Some(Value::Binary(id.to_vec())),
    }
}

fn any(kind: u8, bytes: &[u8]) -> MessageId {
    if bytes.len() <= SHORT_MAX {
        return short(kind, bytes);
    }
    let whole = [&[kind], bytes].concat();
    short(DIGEST, &digest(&SHA256, &whole).as_ref()[..SHORT_MAX])
}

fn short(kind: u8, bytes: &[u8]) -> MessageId {
    let mut id = [0; 24];
    id[..4].copy_from_slice(MARK);
    id[4] = kind;
    id[5] = u8::try_from(bytes.len()).unwrap_or(0);
    id[6..6 + bytes.len()].copy_from_slice(bytes);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_come_back_and_long_ones_differ() {
        let text = |text: &str| Value::String(text.to_owned());
        for id in [
            Value::Ulong(u64::MAX),
            Value::Uuid([9; 16]),
            Value::Binary(vec![]),
            Value::Binary(vec![7; 18]),
            Value::Binary(vec![7; 24]),
            text(""),
            text("eighteen bytes ok."),
        ] {
            assert_eq!(to_value(&from_value(&id)), Some(id));
        }
        let long = [text(&"x".repeat(19)), text(&"x".repeat(20)), Value::Binary(vec![b'x'; 19])];
        let ids: Vec<_> = long.iter().map(from_value).collect();
        assert!(ids.iter().all(|id| to_value(id).is_none()));
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
        // An id that looks like one of ours is not taken for it.
        let marked = from_value(&Value::Ulong(1)).to_vec();
        assert_ne!(from_value(&Value::Binary(marked.clone())).to_vec(), marked);
    }
}
