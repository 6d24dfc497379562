//! Messages as JSON.

use quayline_core::hex;
use serde_json::{Map, Value, json};

use super::{Message, MessageId, Persistence};

/// Handling of the content in an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Content {
    /// Include the content.
    Included,
    /// Omit the content.
    LeftOut,
}

impl Message {
    /// Formats the message as one line of JSON. `due_ms` is the time in milliseconds since 1970 at which it becomes available again. Bytes that are
    /// not UTF-8 are written in hexadecimal, under the name with the suffix `_hex`.
    #[must_use]
    pub fn as_json(&self, content: Content, due_ms: Option<u64>) -> String {
        let content = (content == Content::Included).then_some(self.payload.as_slice());
        self.json(content, self.payload.len() as u64, due_ms)
    }

    pub(super) fn json(&self, content: Option<&[u8]>, bytes: u64, due_ms: Option<u64>) -> String {
        let message = self;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
        let id = |id: &MessageId| (*id != [0; 24]).then(|| hex(id));
        put("message_id", json!(hex(&message.id)));
        put("priority", json!(message.priority));
        put("persistent", json!(message.persistence == Persistence::Persistent));
        put("put_ms", json!(message.put_ms));
        put("bytes", json!(bytes));
        put("backout_count", json!(message.backout_count));
        let ids = [("correlation_id", &message.correlation), ("group_id", &message.group)];
        for (name, found) in ids {
            if let Some(digits) = id(found) {
                put(name, json!(digits));
            }
        }
        for (name, number) in
            [("group_sequence", u64::from(message.group_sequence)), ("expires_at_ms", message.expires_ms)]
        {
            if number != 0 {
                put(name, json!(number));
            }
        }
        for (name, text) in [("reply_to", &message.reply_to), ("format", &message.format), ("reason", &message.reason)]
        {
            if !text.is_empty() {
                put(name, json!(text));
            }
        }
        if let Some(due_ms) = due_ms {
            put("available_at_ms", json!(due_ms));
        }
        if !message.properties.is_empty() {
            let mut properties = Map::new();
            for (name, value) in &message.properties {
                bytes_into(&mut properties, name, value);
            }
            put("properties", Value::Object(properties));
        }
        if let Some(content) = content {
            bytes_into(&mut object, "content", content);
        }
        format!("{}\n", Value::Object(object))
    }
}

fn bytes_into(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), json!(text)),
        Err(_) => object.insert(format!("{name}_hex"), json!(hex(bytes))),
    };
}
