//! Messages as HTTP: content as the body, everything around it as headers.

use std::fmt::Write as _;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use quayline_core::{from_hex, hex};
use quayline_gateway::{Problem, decode_path};
use quayline_store::queue::{CONTENT_TYPE, Message, MessageId, OF_AMQP, PRIORITY_MAX, Persistence};

use crate::api::v1::MessageHead;
use crate::headers::insert;

/// Prefix of properties that belong to AMQP: sections in binary form.
const PREFIX: &str = "quayline-";

pub(crate) const MESSAGE_ID: &str = "quayline-message-id";
pub(crate) const CLAIM: &str = "quayline-claim";
const CORRELATION: &str = "quayline-correlation-id";
const GROUP: &str = "quayline-group-id";
const SEQUENCE: &str = "quayline-group-sequence";
const PRIORITY: &str = "quayline-priority";
const PERSISTENT: &str = "quayline-persistent";
const EXPIRES_MS: &str = "quayline-expires-ms";
const REPLY_TO: &str = "quayline-reply-to";
const FORMAT: &str = "quayline-format";
const PROPERTY: &str = "quayline-property";
const OMITTED: &str = "quayline-properties-omitted";
/// Bytes of properties in the head of an answer: many clients take heads of 8 KiB or 16 KiB.
const PROPERTY_BYTES_MAX: usize = 4 << 10;
const PUT_MS: &str = "quayline-put-ms";
const BACKOUTS: &str = "quayline-backout-count";
pub(crate) const REASON: &str = "quayline-reason";

/// Headers that a request may set, with their descriptions.
pub(crate) const SETTABLE: [(&str, &str); 9] = [
    (CORRELATION, "Correlation id: up to 48 hexadecimal digits."),
    (GROUP, "Group id: up to 48 hexadecimal digits."),
    (SEQUENCE, "Number in the group, from 1."),
    (PRIORITY, "0 to 9; 9 is got first. Default 0."),
    (PERSISTENT, "`true` (default), or `false` for a message that ends with the server's process."),
    (EXPIRES_MS, "Milliseconds after which the message expires. By default it never expires."),
    (REPLY_TO, "Queue for the reply."),
    (FORMAT, "Format name, percent-encoded."),
    (PROPERTY, "`name=value`, both percent-encoded. The header may occur more than once."),
];

/// Response headers that pages of other origins may read.
pub(crate) const EXPOSED_HEADERS: &str = "etag, retry-after, location, x-request-id, quayline-message-id, quayline-claim, quayline-correlation-id, quayline-group-id, quayline-group-sequence, quayline-priority, quayline-persistent, quayline-expires-ms, quayline-reply-to, quayline-format, quayline-property, quayline-put-ms, quayline-backout-count, quayline-reason";

/// Parses an id of up to 48 hexadecimal digits, padded with zeros.
pub(crate) fn id_of(place: &'static str, name: &str, digits: &str) -> Result<MessageId, Box<Problem>> {
    let mut id = [0; 24];
    let bytes = from_hex(digits).filter(|bytes| !bytes.is_empty() && bytes.len() <= id.len());
    let bytes = bytes.ok_or_else(|| {
        Box::new(Problem::bad_parameter(place, name, "form", "expected 2 to 48 hexadecimal digits, an even number"))
    })?;
    id[..bytes.len()].copy_from_slice(&bytes);
    if id == [0; 24] {
        return Err(Box::new(Problem::bad_parameter(place, name, "form", "zeros are not an id")));
    }
    Ok(id)
}

/// Parses a whole number within bounds.
pub(crate) fn number(
    place: &'static str,
    name: &str,
    text: &str,
    (least, most): (u64, u64),
) -> Result<u64, Box<Problem>> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        let expected = format!("expected a whole number from {least} to {most}");
        Box::new(Problem::bad_parameter(place, name, "range", expected))
    })
}

/// Makes the message of a request.
pub(crate) fn from_request(headers: &HeaderMap, payload: Vec<u8>, now_ms: u64) -> Result<Message, Box<Problem>> {
    let mut message = Message::new(payload);
    for (name, value) in headers {
        let name = name.as_str();
        if name == CONTENT_TYPE {
            // AMQP takes nothing else for it (part 3, section 3.2.4: a symbol).
            if value.to_str().is_err() {
                let detail = "the value has other characters than visible ASCII";
                return Err(Box::new(Problem::bad_header(CONTENT_TYPE, "text", detail)));
            }
            add(&mut message, CONTENT_TYPE, CONTENT_TYPE, value.as_bytes().to_vec())?;
        }
        if !name.starts_with(PREFIX) {
            continue;
        }
        let value = value.to_str().map_err(|_| {
            Box::new(Problem::bad_header(name, "text", "the value has other characters than visible ASCII"))
        })?;
        set(&mut message, name, value.trim(), now_ms)?;
    }
    let has_group = message.group != [0; 24];
    if has_group != (message.group_sequence != 0) {
        let detail = format!("{GROUP} and {SEQUENCE} go together");
        return Err(Box::new(Problem::bad_header(if has_group { SEQUENCE } else { GROUP }, "required", &detail)));
    }
    Ok(message)
}

fn set(message: &mut Message, name: &str, value: &str, now_ms: u64) -> Result<(), Box<Problem>> {
    let text = || {
        let decoded = decode_path(value).map(|text| text.into_owned());
        decoded.ok_or_else(|| Box::new(Problem::bad_header(name, "form", "expected percent-encoded UTF-8")))
    };
    match name {
        CORRELATION => message.correlation = id_of("header", name, value)?,
        GROUP => message.group = id_of("header", name, value)?,
        SEQUENCE => {
            let sequence = number("header", name, value, (1, u64::from(u32::MAX)))?;
            message.group_sequence = u32::try_from(sequence).unwrap_or(u32::MAX);
        }
        PRIORITY => {
            let priority = number("header", name, value, (0, u64::from(PRIORITY_MAX)))?;
            message.priority = u8::try_from(priority).unwrap_or(PRIORITY_MAX);
        }
        PERSISTENT => {
            message.persistence = match value {
                "true" => Persistence::Persistent,
                "false" => Persistence::NotPersistent,
                _ => return Err(Box::new(Problem::bad_header(name, "form", "expected `true` or `false`"))),
            };
        }
        EXPIRES_MS => message.expires_ms = now_ms.saturating_add(number("header", name, value, (1, u64::MAX / 2))?),
        REPLY_TO => message.reply_to = text()?,
        FORMAT => message.format = text()?,
        PROPERTY => {
            let form = || Box::new(Problem::bad_header(name, "form", "expected `name=value`, both percent-encoded"));
            let (key, property) = value.split_once('=').ok_or_else(form)?;
            let (key, property) = decode_path(key).zip(decode_path(property)).ok_or_else(form)?;
            if key.is_empty() || key.starts_with(OF_AMQP) || key == CONTENT_TYPE {
                let detail = "the name is empty, is `content-type`, or begins with `amqp.`";
                return Err(Box::new(Problem::bad_header(name, "name", detail)));
            }
            add(message, name, &key, property.into_owned().into_bytes())?;
        }
        _ => {
            let detail = "no such header of a message; docs/reference/queues-http.md lists them";
            return Err(Box::new(Problem::bad_header(name, "unknown", detail)));
        }
    }
    Ok(())
}

/// Adds a property. A message has each once: two would be one member twice in JSON, and AMQP does not allow it (part 3, section 3.2.5).
fn add(message: &mut Message, header: &str, key: &str, value: Vec<u8>) -> Result<(), Box<Problem>> {
    if message.properties.iter().any(|(known, _)| known == key) {
        return Err(Box::new(Problem::bad_header(header, "once", "the property occurs twice")));
    }
    message.properties.push((key.to_owned(), value));
    Ok(())
}

/// Writes the properties of a message to headers.
pub(crate) fn to_headers(message: &Message, now_ms: u64, headers: &mut HeaderMap) {
    let mut put = |name: &'static str, value: &str| insert(headers, HeaderName::from_static(name), value);
    put(MESSAGE_ID, &hex(&message.id));
    for (name, id) in [(CORRELATION, &message.correlation), (GROUP, &message.group)] {
        if *id != [0; 24] {
            put(name, &hex(id));
        }
    }
    if message.group_sequence != 0 {
        put(SEQUENCE, &message.group_sequence.to_string());
    }
    put(PRIORITY, &message.priority.to_string());
    put(PERSISTENT, if message.persistence == Persistence::Persistent { "true" } else { "false" });
    put(PUT_MS, &message.put_ms.to_string());
    put(BACKOUTS, &message.backout_count.to_string());
    if message.expires_ms != 0 {
        put(EXPIRES_MS, &message.expires_ms.saturating_sub(now_ms).to_string());
    }
    for (name, text) in [(REPLY_TO, &message.reply_to), (FORMAT, &message.format), (REASON, &message.reason)] {
        if !text.is_empty() {
            put(name, &encoded(text.as_bytes()));
        }
    }
    let (mut bytes, mut omitted) = (0, 0u32);
    for (key, value) in shown(message) {
        let pair = format!("{}={}", encoded(key.as_bytes()), encoded(value));
        bytes += pair.len();
        match HeaderValue::from_str(&pair) {
            Ok(pair) if bytes <= PROPERTY_BYTES_MAX => {
                headers.append(HeaderName::from_static(PROPERTY), pair);
            }
            _ => omitted += 1,
        }
    }
    if omitted > 0 {
        headers.insert(HeaderName::from_static(OMITTED), HeaderValue::from(omitted));
    }
    let unknown = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, content_type(message).unwrap_or(unknown));
}

/// Properties that are not the protocol's own.
fn shown(message: &Message) -> impl Iterator<Item = (&str, &[u8])> {
    let properties = message.properties.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
    properties.filter(|(key, _)| *key != CONTENT_TYPE && !key.starts_with(OF_AMQP))
}

/// Returns the media type of the content, if the message has one.
fn content_type(message: &Message) -> Option<HeaderValue> {
    let (_, value) = message.properties.iter().find(|(key, _)| key == CONTENT_TYPE)?;
    HeaderValue::from_bytes(value).ok()
}

/// Describes a message of a page, without its content. `due_ms` is the time at which it becomes available.
pub(crate) fn head(message: &Message, bytes: u64, due_ms: Option<u64>) -> MessageHead {
    let id = |id: &MessageId| (*id != [0; 24]).then(|| hex(id));
    MessageHead {
        message_id: hex(&message.id),
        priority: message.priority,
        persistent: message.persistence == Persistence::Persistent,
        put_ms: message.put_ms,
        bytes,
        backout_count: message.backout_count,
        content_type: content_type(message).and_then(|media| Some(media.to_str().ok()?.to_owned())),
        correlation_id: id(&message.correlation),
        group_id: id(&message.group),
        group_sequence: message.group_sequence,
        expires_at_ms: message.expires_ms,
        reply_to: message.reply_to.clone(),
        format: message.format.clone(),
        reason: message.reason.clone(),
        properties: shown(message).map(|(key, value)| (key.to_owned(), property_text(value))).collect(),
        available_at_ms: due_ms,
    }
}

/// Returns the value of a property as text; invalid UTF-8 is percent-encoded.
fn property_text(value: &[u8]) -> String {
    core::str::from_utf8(value).map_or_else(|_| encoded(value), str::to_owned)
}

/// Percent-encodes all bytes but letters, digits and a few marks.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~:/@,;!$()*".contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
