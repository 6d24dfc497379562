//! Sections of a message (part 3 of the standard).
//!
//! The bare message is the part that an intermediary must not change: properties, application properties and body. [`Sections`]
//! finds the beginning and end of each section and decodes the header alone, so everything else can be kept and sent on byte for
//! byte.

use crate::codes;
use crate::reader::{DecodeError, Reader};
use crate::value::Value;
use crate::writer::{self, ListWriter};

/// The section that an intermediary reads and changes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Header {
    /// True if the message must survive a restart of the broker.
    pub durable: bool,
    /// Priority; 4 by default.
    pub priority: Option<u8>,
    /// Milliseconds to live.
    pub ttl: Option<u32>,
    /// True if no other link acquired the message before.
    pub first_acquirer: bool,
    /// Attempts that failed.
    pub delivery_count: u32,
}

impl Header {
    /// Writes the section.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::HEADER);
        list.flag(self.durable).ubyte(self.priority).uint(self.ttl).flag(self.first_acquirer);
        list.uint((self.delivery_count != 0).then_some(self.delivery_count));
        list.end();
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut fields = reader.fields()?;
        Ok(Header {
            durable: fields.next(Reader::boolean)?.unwrap_or(false),
            priority: fields.next(Reader::ubyte)?,
            ttl: fields.next(Reader::uint)?,
            first_acquirer: fields.next(Reader::boolean)?.unwrap_or(false),
            delivery_count: fields.next(Reader::uint)?.unwrap_or(0),
        })
    }
}

/// Kind of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BodyKind {
    /// The body section is missing.
    Missing,
    /// One binary; `content` is its bytes.
    Data,
    /// One value that is a string; `content` is its text.
    Text,
    /// One value that is a binary; `content` is its bytes.
    Binary,
    /// Any other combination of sections; `content` has all of them.
    Sections,
}

/// The body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Body<'a> {
    /// Kind.
    pub kind: BodyKind,
    /// Bytes before the content: descriptor, constructor and length. Together they are the section as it was.
    pub prefix: &'a [u8],
    /// Content.
    pub content: &'a [u8],
}

/// The sections of a message in their encoded form, descriptors included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sections<'a> {
    /// Header.
    pub header: Header,
    /// Message annotations.
    pub annotations: Option<&'a [u8]>,
    /// Properties.
    pub properties: Option<&'a [u8]>,
    /// Application properties.
    pub application_properties: Option<&'a [u8]>,
    /// Body.
    pub body: Body<'a>,
    /// Footer.
    pub footer: Option<&'a [u8]>,
}

impl<'a> Sections<'a> {
    /// Finds the sections.
    ///
    /// # Errors
    /// [`DecodeError`]; [`DecodeError::Order`] for sections that occur twice or out of the standard's order.
    pub fn split(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut sections = Sections {
            header: Header { priority: None, ..Header::default() },
            annotations: None,
            properties: None,
            application_properties: None,
            body: Body { kind: BodyKind::Missing, prefix: &[], content: &[] },
            footer: None,
        };
        let mut reader = Reader::new(bytes);
        // Codes of the sections ascend; data and sequences may repeat.
        let mut last = 0;
        while !reader.is_at_end() {
            let at = reader.at();
            let code = reader.descriptor()?;
            let repeats = matches!(code, codes::DATA | codes::AMQP_SEQUENCE) && code == last;
            let follows_body = (codes::DATA..=codes::AMQP_VALUE).contains(&last);
            let is_second_body = follows_body && (codes::DATA..=codes::AMQP_VALUE).contains(&code) && !repeats;
            if !(codes::HEADER..=codes::FOOTER).contains(&code) {
                return Err(DecodeError::Descriptor { at });
            }
            if is_second_body || code < last || code == last && !repeats {
                return Err(DecodeError::Order { at });
            }
            last = code;
            let value_at = reader.at();
            if code == codes::HEADER {
                sections.header = Header::read(&mut reader)?;
                continue;
            }
            let constructor = reader.peek()?;
            reader.skip()?;
            let section = &bytes[at..reader.at()];
            match code {
                codes::DELIVERY_ANNOTATIONS => {}
                codes::MESSAGE_ANNOTATIONS => sections.annotations = Some(section),
                codes::PROPERTIES => sections.properties = Some(section),
                codes::APPLICATION_PROPERTIES => sections.application_properties = Some(section),
                codes::FOOTER => sections.footer = Some(section),
                _ if repeats => {
                    // From the first of them to here.
                    let begin = at - sections.body.prefix.len() - sections.body.content.len();
                    sections.body = Body { kind: BodyKind::Sections, prefix: &[], content: &bytes[begin..reader.at()] };
                }
                _ => sections.body = Body::of(code, constructor, value_at - at, section)?,
            }
        }
        Ok(sections)
    }
}

impl<'a> Body<'a> {
    fn of(code: u64, constructor: u8, value_at: usize, section: &'a [u8]) -> Result<Self, DecodeError> {
        use crate::codes::{BIN8, BIN32, STR8, STR32};
        let kind = match (code, constructor) {
            (codes::DATA, BIN8 | BIN32) => BodyKind::Data,
            (codes::DATA, code) => {
                return Err(DecodeError::Type { at: value_at, code, expected: "a binary" });
            }
            (codes::AMQP_VALUE, STR8 | STR32) => BodyKind::Text,
            (codes::AMQP_VALUE, BIN8 | BIN32) => BodyKind::Binary,
            _ => return Ok(Body { kind: BodyKind::Sections, prefix: &[], content: section }),
        };
        let length = if constructor & 0x10 == 0 { 1 } else { 4 };
        let (prefix, content) = section.split_at(value_at + 1 + length);
        Ok(Body { kind, prefix, content })
    }

    /// Kind of a message body, identified by its stored prefix.
    #[must_use]
    pub fn kind_of_prefix(prefix: &[u8]) -> Option<BodyKind> {
        use crate::codes::{BIN8, BIN32, STR8, STR32};
        let mut reader = Reader::new(prefix);
        match (reader.descriptor().ok()?, reader.peek().ok()?) {
            (codes::DATA, BIN8 | BIN32) => Some(BodyKind::Data),
            (codes::AMQP_VALUE, STR8 | STR32) => Some(BodyKind::Text),
            (codes::AMQP_VALUE, BIN8 | BIN32) => Some(BodyKind::Binary),
            _ => None,
        }
    }
}

/// Writes a body section. Text that is not UTF-8 becomes data.
pub fn write_body(out: &mut Vec<u8>, kind: BodyKind, content: &[u8]) {
    match (kind, std::str::from_utf8(content)) {
        (BodyKind::Missing, _) if content.is_empty() => {}
        (BodyKind::Sections, _) => out.extend_from_slice(content),
        (BodyKind::Text, Ok(text)) => {
            writer::descriptor(out, codes::AMQP_VALUE);
            writer::string(out, text);
        }
        (BodyKind::Binary, _) => {
            writer::descriptor(out, codes::AMQP_VALUE);
            writer::binary(out, content);
        }
        _ => {
            writer::descriptor(out, codes::DATA);
            writer::binary(out, content);
        }
    }
}

/// Properties of a message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Properties {
    /// Message id: a ulong, UUID, binary or string.
    pub message_id: Option<Value>,
    /// User that sent it.
    pub user_id: Option<Vec<u8>>,
    /// Node that it is for.
    pub to: Option<String>,
    /// Subject.
    pub subject: Option<String>,
    /// Node for replies.
    pub reply_to: Option<String>,
    /// Correlation id: as the message id.
    pub correlation_id: Option<Value>,
    /// MIME type.
    pub content_type: Option<String>,
    /// MIME encoding.
    pub content_encoding: Option<String>,
    /// Milliseconds since 1970.
    pub absolute_expiry_time: Option<i64>,
    /// Milliseconds since 1970.
    pub creation_time: Option<i64>,
    /// Group.
    pub group_id: Option<String>,
    /// Number in the group.
    pub group_sequence: Option<u32>,
    /// Group of replies.
    pub reply_to_group_id: Option<String>,
}

impl Properties {
    /// Reads the section, descriptor included.
    ///
    /// # Errors
    /// [`DecodeError`]; [`DecodeError::Type`] for an id of another type than ids have.
    pub fn read(section: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(section);
        if reader.descriptor()? != codes::PROPERTIES {
            return Err(DecodeError::Descriptor { at: 0 });
        }
        let mut fields = reader.fields()?;
        let text = |found: Option<&str>| found.map(str::to_owned);
        let id = |reader: &mut Reader<'_>| {
            let (at, code) = (reader.at(), reader.peek()?);
            match reader.value()? {
                Value::Null => Ok(None),
                id @ (Value::Ulong(_) | Value::Uuid(_) | Value::Binary(_) | Value::String(_)) => Ok(Some(id)),
                _ => Err(DecodeError::Type { at, code, expected: "an id: a ulong, UUID, binary or string" }),
            }
        };
        Ok(Properties {
            message_id: fields.next(id)?,
            user_id: fields.next(Reader::binary)?.map(<[u8]>::to_vec),
            to: text(fields.next(Reader::string)?),
            subject: text(fields.next(Reader::string)?),
            reply_to: text(fields.next(Reader::string)?),
            correlation_id: fields.next(id)?,
            content_type: text(fields.next(Reader::symbol)?),
            content_encoding: text(fields.next(Reader::symbol)?),
            absolute_expiry_time: fields.next(Reader::timestamp)?,
            creation_time: fields.next(Reader::timestamp)?,
            group_id: text(fields.next(Reader::string)?),
            group_sequence: fields.next(Reader::uint)?,
            reply_to_group_id: text(fields.next(Reader::string)?),
        })
    }

    /// Writes the section.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut list = ListWriter::begin(out, codes::PROPERTIES);
        let timestamp = |out: &mut Vec<u8>, at: i64| writer::value(out, &Value::Timestamp(at));
        list.any(self.message_id.as_ref());
        list.binary(self.user_id.as_deref());
        list.string(self.to.as_deref()).string(self.subject.as_deref()).string(self.reply_to.as_deref());
        list.any(self.correlation_id.as_ref());
        list.symbol(self.content_type.as_deref()).symbol(self.content_encoding.as_deref());
        list.field(self.absolute_expiry_time, timestamp).field(self.creation_time, timestamp);
        list.string(self.group_id.as_deref()).uint(self.group_sequence);
        list.string(self.reply_to_group_id.as_deref());
        list.end();
    }
}

/// Reads the pairs of application properties or annotations, descriptor included.
///
/// # Errors
/// [`DecodeError`].
pub fn read_map(section: &[u8]) -> Result<Vec<(Value, Value)>, DecodeError> {
    let mut reader = Reader::new(section);
    reader.descriptor()?;
    let (at, code) = (reader.at(), reader.peek()?);
    match reader.value()? {
        Value::Map(pairs) => Ok(pairs),
        Value::Null => Ok(Vec::new()),
        _ => Err(DecodeError::Type { at, code, expected: "a map" }),
    }
}

/// Writes application properties.
pub fn write_application_properties(out: &mut Vec<u8>, pairs: Vec<(Value, Value)>) {
    writer::descriptor(out, codes::APPLICATION_PROPERTIES);
    writer::value(out, &Value::Map(pairs));
}

/// Writes delivery annotations.
pub fn write_delivery_annotations(out: &mut Vec<u8>, pairs: Vec<(Value, Value)>) {
    writer::descriptor(out, codes::DELIVERY_ANNOTATIONS);
    writer::value(out, &Value::Map(pairs));
}
