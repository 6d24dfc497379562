//! Messages of AMQP as messages of the store, and back.
//!
//! Flows and commands see content, its media type, ids, priority, expiry, reply queue, and application properties as text. Anything that a flow
//! does not change leaves with the bytes with which it arrived: the sections are kept beside the fields, under names that begin
//! with `amqp.`, and are sent again if they still agree with the fields. A message that a flow made from another one, such as a
//! reply, has other ids, so its properties are written from its fields.

use quayline_amqp::{
    AmqpError, Body, BodyKind, Header, Properties, Sections, Value, condition, read_map, write_application_properties,
    write_body, write_delivery_annotations,
};
use quayline_store::queue::{CONTENT_TYPE, Message, MessageId, OF_AMQP, PRIORITY_MAX, Persistence};

use crate::ids;

/// Prefix of the names of kept sections; application properties with such a name, or with the name of the media type, are kept in their section only.
const ANNOTATIONS: &str = "amqp.annotations";
const PROPERTIES: &str = "amqp.properties";
const APPLICATION: &str = "amqp.application-properties";
const BODY: &str = "amqp.body";
const FOOTER: &str = "amqp.footer";
/// Format of content that is encoded sections: lists, maps, several data sections.
const FORMAT_SECTIONS: &str = "AMQP";
/// Priority of a message that names none: the standard's default.
const PRIORITY_DEFAULT: u8 = 4;
/// Bytes of all sections but the body. Default of brokers is about the same; each is decoded as a whole.
pub(crate) const HEADERS_BYTES_MAX: usize = 1 << 20;

/// A message that arrived.
pub(crate) struct Arrived {
    pub(crate) message: Message,
    /// The destination that it names; an anonymous link needs it.
    pub(crate) to: Option<String>,
    /// The user that the message names as its producer.
    pub(crate) user: Option<Vec<u8>>,
}

/// Converts a message of AMQP.
pub(crate) fn from_amqp(mut bytes: Vec<u8>, now_ms: u64) -> Result<Arrived, AmqpError> {
    let sections = Sections::split(&bytes)?;
    let headers = bytes.len() - sections.body.content.len();
    if headers > HEADERS_BYTES_MAX {
        let what = format!("properties and annotations have {headers} bytes, at most {HEADERS_BYTES_MAX} are taken");
        return Err(AmqpError::new(condition::RESOURCE_LIMIT, what));
    }
    let properties = sections.properties.map(Properties::read).transpose()?.unwrap_or_default();
    let mut kept = Vec::new();
    let mut keep = |name: &str, section: Option<&[u8]>| {
        kept.extend(section.map(|section| (name.to_owned(), section.to_vec())));
    };
    keep(ANNOTATIONS, sections.annotations);
    keep(PROPERTIES, sections.properties);
    keep(APPLICATION, sections.application_properties);
    keep(FOOTER, sections.footer);
    // An empty prefix is a message without a body.
    keep(BODY, Some(sections.body.prefix).filter(|_| sections.body.kind != BodyKind::Sections));
    if let Some(section) = sections.application_properties {
        kept.extend(as_text(section)?);
    }
    // Where clients of HTTP read it too.
    kept.extend(properties.content_type.as_ref().map(|media| (CONTENT_TYPE.to_owned(), media.as_bytes().to_vec())));
    let header = sections.header;
    let by_ttl = header.ttl.map(|ttl| now_ms.saturating_add(u64::from(ttl)));
    let absolute = properties.absolute_expiry_time.and_then(|at| u64::try_from(at).ok());
    let id = |value: &Option<Value>| value.as_ref().map_or([0; 24], ids::from_value);
    let mut message = Message {
        id: id(&properties.message_id),
        correlation: id(&properties.correlation_id),
        group: properties.group_id.as_deref().map_or([0; 24], ids::from_text),
        group_sequence: properties.group_sequence.unwrap_or(0),
        priority: header.priority.unwrap_or(PRIORITY_DEFAULT).min(PRIORITY_MAX),
        persistence: if header.durable { Persistence::Persistent } else { Persistence::NotPersistent },
        // 0 means never, so a message that expired in 1970 expires a moment later.
        expires_ms: by_ttl.into_iter().chain(absolute).min().map_or(0, |at| at.max(1)),
        reply_to: properties.reply_to.unwrap_or_default(),
        properties: kept,
        ..Message::default()
    };
    if sections.body.kind == BodyKind::Sections {
        message.format = FORMAT_SECTIONS.to_owned();
    }
    // The content is not moved: a message may have 100 MB.
    let length = sections.body.content.len();
    let end = bytes.len() - sections.footer.map_or(0, <[u8]>::len);
    bytes.truncate(end);
    bytes.drain(..end - length);
    message.payload = bytes;
    Ok(Arrived { message, to: properties.to, user: properties.user_id })
}

/// Writes a message for AMQP.
pub(crate) fn to_amqp(message: &Message, now_ms: u64) -> Vec<u8> {
    let kept =
        |name: &str| message.properties.iter().find(|(found, _)| found == name).map(|(_, section)| section.as_slice());
    let mut out = Vec::with_capacity(512 + message.payload.len());
    let ttl =
        (message.expires_ms != 0).then(|| u32::try_from(message.expires_ms.saturating_sub(now_ms)).unwrap_or(u32::MAX));
    Header {
        durable: message.persistence == Persistence::Persistent,
        priority: (message.priority != PRIORITY_DEFAULT).then_some(message.priority),
        ttl,
        first_acquirer: message.backout_count == 0,
        delivery_count: message.backout_count,
    }
    .write(&mut out);
    if !message.reason.is_empty() {
        let name = Value::Symbol("x-opt-quayline-reason".to_owned());
        write_delivery_annotations(&mut out, vec![(name, Value::String(message.reason.clone()))]);
    }
    out.extend_from_slice(kept(ANNOTATIONS).unwrap_or_default());
    write_properties(&mut out, message, kept(PROPERTIES));
    write_application(&mut out, message, kept(APPLICATION));
    write_content(&mut out, message, kept(BODY));
    out.extend_from_slice(kept(FOOTER).unwrap_or_default());
    out
}

/// Encodes a message for another broker. The message gets its own id and keeps all received properties except destination and user.
/// `duplicate_property` names an application property that receives the id in hexadecimal digits, for brokers that detect duplicates by it.
pub(crate) fn to_broker(message: &Message, now_ms: u64, duplicate_property: Option<&str>) -> Vec<u8> {
    let kept =
        |name: &str| message.properties.iter().find(|(found, _)| found == name).map(|(_, section)| section.as_slice());
    let mut out = Vec::with_capacity(512 + message.payload.len());
    let ttl =
        (message.expires_ms != 0).then(|| u32::try_from(message.expires_ms.saturating_sub(now_ms)).unwrap_or(u32::MAX));
    Header {
        durable: message.persistence == Persistence::Persistent,
        priority: (message.priority != PRIORITY_DEFAULT).then_some(message.priority),
        ttl,
        first_acquirer: false,
        delivery_count: 0,
    }
    .write(&mut out);
    out.extend_from_slice(kept(ANNOTATIONS).unwrap_or_default());
    let was = kept(PROPERTIES).and_then(|section| Properties::read(section).ok()).unwrap_or_default();
    let known = was.message_id.iter().find(|value| ids::from_value(value) == message.correlation).cloned();
    let content_type = media_type(message).or(was.content_type.clone());
    let id = |id: &MessageId| (*id != [0; 24]).then(|| Value::Binary(id.to_vec()));
    let properties = Properties {
        message_id: id(&message.id),
        correlation_id: known.or_else(|| ids::to_value(&message.correlation)).or_else(|| id(&message.correlation)),
        content_type,
        // Brokers compare the user with the login.
        user_id: None,
        to: None,
        ..was
    };
    properties.write(&mut out);
    let own = own(message);
    // With their types, where the flow received them from a broker and changed none.
    let typed = kept(APPLICATION)
        .filter(|section| as_text(section).is_ok_and(|text| text.iter().eq(own.iter().copied())))
        .and_then(|section| read_map(section).ok());
    let mut pairs = typed.unwrap_or_else(|| pairs_of(own, kept(APPLICATION)));
    if let Some(name) = duplicate_property {
        let id = message.id.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.retain(|(found, _)| found.text() != Some(name));
        pairs.push((Value::String(name.to_owned()), Value::String(id)));
    }
    if !pairs.is_empty() {
        write_application_properties(&mut out, pairs);
    }
    write_content(&mut out, message, kept(BODY));
    out.extend_from_slice(kept(FOOTER).unwrap_or_default());
    out
}

fn write_properties(out: &mut Vec<u8>, message: &Message, kept: Option<&[u8]>) {
    let was = kept.and_then(|section| Properties::read(section).ok());
    // A message that was stored before media types were properties has it in its section alone.
    let content_type = media_type(message).or_else(|| was.as_ref()?.content_type.clone());
    if let (Some(section), Some(was)) = (kept, &was) {
        let id = |value: &Option<Value>| value.as_ref().map_or([0; 24], ids::from_value);
        let same_id = was.message_id.is_none() || id(&was.message_id) == message.id;
        let same_correlation = id(&was.correlation_id) == message.correlation;
        let same_content = was.content_type == content_type;
        if same_id
            && same_correlation
            && same_content
            && was.reply_to.as_deref().unwrap_or_default() == message.reply_to
        {
            out.extend_from_slice(section);
            return;
        }
    }
    let says_nothing = message.correlation == [0; 24]
        && message.group == [0; 24]
        && message.reply_to.is_empty()
        && content_type.is_none();
    if kept.is_none() && is_of_a_client(message) && says_nothing {
        return;
    }
    // A reply has the id of its request as its correlation id, and perhaps still its sections.
    let known = was.iter().flat_map(|was| [&was.message_id, &was.correlation_id]).flatten();
    let known: Vec<_> = known.map(|value| (ids::from_value(value), value)).collect();
    let value = |id: &MessageId| {
        let found = known.iter().find(|(of, _)| of == id).map(|(_, value)| (*value).clone());
        // The digest of an id that was not kept still helps: it is the same for the same id.
        found.or_else(|| ids::to_value(id)).or_else(|| (*id != [0; 24]).then(|| Value::Binary(id.to_vec())))
    };
    let group = match ids::to_value(&message.group) {
        Some(Value::String(group)) => Some(group),
        Some(_) => Some(message.group.iter().map(|byte| format!("{byte:02x}")).collect()),
        None => None,
    };
    let properties = Properties {
        message_id: value(&message.id),
        correlation_id: value(&message.correlation),
        reply_to: Some(message.reply_to.clone()).filter(|reply_to| !reply_to.is_empty()),
        content_type,
        creation_time: i64::try_from(message.put_ms).ok().filter(|put_ms| *put_ms != 0),
        group_sequence: group.is_some().then_some(message.group_sequence),
        group_id: group,
        ..Properties::default()
    };
    properties.write(out);
}

/// Returns whether a client sent the message, so that a missing section is one that the client left out.
fn is_of_a_client(message: &Message) -> bool {
    message.format == FORMAT_SECTIONS || message.properties.iter().any(|(name, _)| name == BODY)
}

fn write_application(out: &mut Vec<u8>, message: &Message, kept: Option<&[u8]>) {
    let own = own(message);
    if let Some(section) = kept
        && as_text(section).is_ok_and(|text| text.iter().eq(own.iter().copied()))
    {
        out.extend_from_slice(section);
        return;
    }
    let pairs = pairs_of(own, kept);
    if !pairs.is_empty() {
        write_application_properties(out, pairs);
    }
}

/// Returns true if AMQP has a standard field for this message property, so it is not written as an application property.
fn is_ours(name: &str) -> bool {
    name.starts_with(OF_AMQP) || name == CONTENT_TYPE
}

/// Properties of the message that are application properties.
fn own(message: &Message) -> Vec<&(String, Vec<u8>)> {
    message.properties.iter().filter(|(name, _)| !is_ours(name)).collect()
}

/// Builds the application properties: `own` ones newly encoded, followed by the properties of the client's section that have no equivalent here.
fn pairs_of(own: Vec<&(String, Vec<u8>)>, kept: Option<&[u8]>) -> Vec<(Value, Value)> {
    let only_kept = kept.and_then(|section| read_map(section).ok()).unwrap_or_default();
    let only_kept = only_kept.into_iter().filter(|(name, _)| name.text().is_some_and(is_ours));
    own.into_iter().map(as_pair).chain(only_kept).collect()
}

/// Returns the media type of the content. It is `None` unless it is ASCII, since AMQP encodes it as a symbol.
fn media_type(message: &Message) -> Option<String> {
    let (_, value) = message.properties.iter().find(|(name, _)| name == CONTENT_TYPE)?;
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii()).map(str::to_owned)
}

/// Converts a message property into an application property.
fn as_pair((name, value): &(String, Vec<u8>)) -> (Value, Value) {
    let value = match std::str::from_utf8(value) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => Value::Binary(value.clone()),
    };
    (Value::String(name.clone()), value)
}

fn write_content(out: &mut Vec<u8>, message: &Message, prefix: Option<&[u8]>) {
    let payload = &message.payload;
    let Some(prefix) = prefix else {
        let kind = if message.format == FORMAT_SECTIONS { BodyKind::Sections } else { BodyKind::Data };
        return write_body(out, kind, payload);
    };
    if prefix.is_empty() && payload.is_empty() {
        return;
    }
    // Still the same length: the section as it arrived, in its own encoding.
    let length = match prefix.last_chunk::<5>() {
        // A length of four bytes after the constructor of the long form.
        Some([0xb0 | 0xb1, length @ ..]) => usize::try_from(u32::from_be_bytes(*length)).ok(),
        _ => prefix.last().map(|length| usize::from(*length)),
    };
    let kind = Body::kind_of_prefix(prefix).unwrap_or(BodyKind::Data);
    let fits = kind != BodyKind::Text || std::str::from_utf8(payload).is_ok();
    if length == Some(payload.len()) && fits {
        out.extend_from_slice(prefix);
        out.extend_from_slice(payload);
    } else {
        write_body(out, kind, payload);
    }
}

/// Reads the application properties as names and texts.
fn as_text(section: &[u8]) -> Result<Vec<(String, Vec<u8>)>, AmqpError> {
    let mut found = Vec::new();
    for (name, value) in read_map(section)? {
        let Value::String(name) = name else {
            return Err(AmqpError::new(condition::DECODE, "the name of an application property is not a string"));
        };
        if !is_ours(&name) {
            found.push((name, text(&value)));
        }
    }
    Ok(found)
}

fn text(value: &Value) -> Vec<u8> {
    let text = match value {
        Value::Null => String::new(),
        Value::Boolean(value) => value.to_string(),
        Value::Byte(value) => value.to_string(),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) | Value::Timestamp(value) => value.to_string(),
        Value::Float(bits) => f32::from_bits(*bits).to_string(),
        Value::Double(bits) => f64::from_bits(*bits).to_string(),
        Value::Char(value) => value.to_string(),
        Value::Binary(bytes) => return bytes.clone(),
        Value::Uuid(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        }
        other => match (other.text(), other.unsigned()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(number)) => number.to_string(),
            // Decimals, and types that the standard does not allow here, in their own encoding.
            (None, None) => {
                let mut out = Vec::new();
                quayline_amqp::writer::value(&mut out, other);
                return out;
            }
        },
    };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that was put by HTTP had its media type as an application property for AMQP, and one of AMQP had none for HTTP.
    #[test]
    fn the_media_type_is_the_same_for_amqp_and_http() {
        let properties_of = |bytes: &[u8]| {
            let sections = Sections::split(bytes).expect("sections");
            let properties = sections.properties.map(|section| Properties::read(section).expect("properties"));
            (properties, sections.application_properties.map(|section| read_map(section).expect("a map")))
        };
        // As HTTP puts it.
        let mut put = Message::new("{}");
        put.properties.push((CONTENT_TYPE.to_owned(), b"application/json".to_vec()));
        for sent in [to_amqp(&put, 1), to_broker(&put, 1, None)] {
            let (properties, application) = properties_of(&sent);
            let media = properties.expect("properties").content_type;
            assert_eq!((media.as_deref(), application), (Some("application/json"), None));
        }
        // From AMQP, with an application property of that name.
        let mut bytes = Vec::new();
        Properties { content_type: Some("text/plain".to_owned()), ..Properties::default() }.write(&mut bytes);
        let strange = (Value::String(CONTENT_TYPE.to_owned()), Value::Int(7));
        let typed = vec![strange.clone(), (Value::String("n".to_owned()), Value::Int(1))];
        write_application_properties(&mut bytes, typed.clone());
        write_body(&mut bytes, BodyKind::Data, b"x");
        let mut arrived = from_amqp(bytes.clone(), 1).expect("a message").message;
        let media: Vec<_> = arrived.properties.iter().filter(|(name, _)| name == CONTENT_TYPE).collect();
        assert_eq!(media, [&(CONTENT_TYPE.to_owned(), b"text/plain".to_vec())]);
        assert!(to_amqp(&arrived, 1).ends_with(&bytes), "the sections leave as they came");
        // A flow changes the media type and a property: nothing else is lost.
        for (name, value) in &mut arrived.properties {
            match name.as_str() {
                CONTENT_TYPE => *value = b"text/csv".to_vec(),
                "n" => *value = b"2".to_vec(),
                _ => {}
            }
        }
        let (properties, application) = properties_of(&to_amqp(&arrived, 1));
        assert_eq!(properties.expect("properties").content_type.as_deref(), Some("text/csv"));
        let text = (Value::String("n".to_owned()), Value::String("2".to_owned()));
        assert_eq!(application, Some(vec![text, strange]));
    }

    #[test]
    fn a_message_for_another_broker_keeps_what_it_said_and_has_its_own_id() {
        let mut bytes = Vec::new();
        Header { priority: Some(7), ..Header::default() }.write(&mut bytes);
        let said = Properties {
            message_id: Some(Value::String("a message id that does not fit".to_owned())),
            user_id: Some(b"sender".to_vec()),
            to: Some("here".to_owned()),
            subject: Some("order".to_owned()),
            reply_to: Some("answers".to_owned()),
            content_type: Some("application/json".to_owned()),
            ..Properties::default()
        };
        said.write(&mut bytes);
        let typed = vec![(Value::String("count".to_owned()), Value::Long(5))];
        write_application_properties(&mut bytes, typed.clone());
        write_body(&mut bytes, BodyKind::Text, b"old");
        let arrived = from_amqp(bytes, 1).expect("a message").message;
        let mut outgoing = Message { correlation: arrived.id, id: [9; 24], ..arrived };
        outgoing.payload = b"new content".to_vec();

        let sent = to_broker(&outgoing, 1, Some("twice"));
        let sections = Sections::split(&sent).expect("sections");
        assert_eq!((sections.header.priority, sections.body.kind), (Some(7), BodyKind::Text));
        assert_eq!(sections.body.content, b"new content");
        let properties = Properties::read(sections.properties.expect("properties")).expect("properties");
        let expected = Properties {
            message_id: Some(Value::Binary(vec![9; 24])),
            correlation_id: said.message_id.clone(),
            user_id: None,
            to: None,
            ..said
        };
        assert_eq!(properties, expected);
        let pairs = read_map(sections.application_properties.expect("a map")).expect("a map");
        let id = (Value::String("twice".to_owned()), Value::String("09".repeat(24)));
        assert_eq!(pairs, [typed, vec![id]].concat());

        // A changed property replaces the types by text; none of either is no section.
        outgoing.properties.push(("more".to_owned(), b"x".to_vec()));
        let sent = to_broker(&outgoing, 1, None);
        let pairs = read_map(Sections::split(&sent).expect("sections").application_properties.expect("a map"));
        assert_eq!(pairs.expect("a map")[0].1, Value::String("5".to_owned()));
        let bare = to_broker(&Message::new("x"), 1, None);
        assert_eq!(Sections::split(&bare).expect("sections").application_properties, None);
    }
}
