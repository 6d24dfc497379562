//! Start and end of a record's element.

use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::{memchr, memchr3, memmem};
use quayline_core::Limits;
use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attributes;

use crate::fault::{Syntax, TextPosition, XmlFault, XmlFaultKind};
use crate::style::XmlStyle;

/// Splits a byte stream into record elements: the children of the root, or the outermost element itself if the style has no root.
///
/// It owns no buffer and looks at markup only; [`crate::XmlReader`] checks the content. Every call starts between two records.
#[derive(Clone, Debug)]
pub struct RecordSplitter {
    wrapped: bool,
    limit: usize,
    depth_max: usize,
    at: TextPosition,
    phase: Phase,
    /// Name of the root element, once it was seen.
    root: Arc<[u8]>,
    /// Attributes of the root element that no record holds, until they are taken.
    unread: Option<Arc<XmlFault>>,
    /// In the current record: the start of the next token, and the number of open elements at that point.
    scanned: usize,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// At the first byte of the stream.
    Start,
    /// Before the root element.
    Prolog,
    /// Inside the root element, or between records that have no root element.
    Records,
    /// After the root element.
    Epilog,
}

/// Parts of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum XmlPart {
    /// Before the root element.
    Prolog,
    /// Inside the root element, or between records that have no root element.
    Records,
    /// After the root element.
    Epilog,
}

/// Whether the input is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndOfInput {
    /// More may follow.
    No,
    /// The source ends after the input.
    Yes,
}

/// A record's element as written in the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RawRecord<'a> {
    /// Bytes of the record from its start tag to its end tag.
    pub raw: &'a [u8],
    /// Position of the record.
    pub at: TextPosition,
}

/// Result of one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum XmlStep<'a> {
    /// A record.
    Record {
        /// The record.
        record: RawRecord<'a>,
        /// Bytes of the input that are done with.
        consumed: usize,
    },
    /// Text between records, which is consumed: call again with the input after it.
    Skipped {
        /// Bytes of the input that are done with, at least 1.
        consumed: usize,
    },
    /// The input ends inside a record or other markup: call again with the same bytes and more.
    NeedMore {
        /// Fewest bytes that the next call needs; always more than the input had.
        at_least: usize,
    },
    /// The source has ended.
    Done,
}

/// One piece of markup or text.
enum Token<'a> {
    Text,
    /// Comment or processing instruction.
    Misc,
    CData,
    Declaration,
    /// The document type definition has its own declarations.
    Doctype,
    /// A document type definition that only names another file.
    DoctypeName,
    Start {
        name: &'a [u8],
        empty: bool,
    },
    End {
        name: &'a [u8],
    },
}

/// Names of attributes in a finding, and bytes of the longest one in it.
const NAMES_MAX: usize = 5;
const NAME_MAX: usize = 40;

const BOM: &[u8] = b"\xef\xbb\xbf";

impl RecordSplitter {
    /// Starts at the beginning of a file.
    #[must_use]
    pub fn new(style: &XmlStyle, limits: &Limits) -> Self {
        RecordSplitter {
            wrapped: style.root.is_some(),
            limit: limits.record_bytes_max,
            depth_max: limits.depth_max,
            at: TextPosition::START,
            phase: Phase::Start,
            root: Arc::default(),
            unread: None,
            scanned: 0,
            depth: 0,
        }
    }

    /// Resumes between two calls that consumed input, at a place that [`RecordSplitter::position`] and [`RecordSplitter::part`] returned.
    /// Inside the root element its name is then unknown, so any end tag is accepted for it.
    #[must_use]
    pub fn resume(style: &XmlStyle, limits: &Limits, at: TextPosition, part: XmlPart) -> Self {
        let phase = match part {
            XmlPart::Prolog => Phase::Prolog,
            XmlPart::Records => Phase::Records,
            XmlPart::Epilog => Phase::Epilog,
        };
        RecordSplitter { at, phase, ..RecordSplitter::new(style, limits) }
    }

    /// Returns the part of the document in which the input of the next call begins.
    #[must_use]
    pub fn part(&self) -> XmlPart {
        match self.phase {
            Phase::Start | Phase::Prolog => XmlPart::Prolog,
            Phase::Records => XmlPart::Records,
            Phase::Epilog => XmlPart::Epilog,
        }
    }

    /// Returns the place in the text where the next call's input begins.
    #[must_use]
    pub fn position(&self) -> TextPosition {
        self.at
    }

    /// Returns, once, the warning about attributes of the root element that no record holds, after [`RecordSplitter::split`] has skipped it.
    pub fn take_unread(&mut self) -> Option<Arc<XmlFault>> {
        self.unread.take()
    }

    /// Returns the next record of `input`, which starts at the first unconsumed byte.
    ///
    /// # Errors
    /// [`XmlFault`]. The start of the next record is then unknown.
    pub fn split<'a>(&mut self, input: &'a [u8], end: EndOfInput) -> Result<XmlStep<'a>, XmlFault> {
        if self.phase == Phase::Start {
            return self.start(input, end);
        }
        if input.is_empty() && end == EndOfInput::Yes {
            return match self.phase {
                Phase::Epilog => Ok(XmlStep::Done),
                Phase::Records if !self.wrapped => Ok(XmlStep::Done),
                Phase::Records => Err(self.fault(XmlFaultKind::Truncated, input)),
                _ => Err(self.fault(XmlFaultKind::Syntax(Syntax::Root), input)),
            };
        }
        loop {
            let from = self.scanned;
            let Some((token, len)) = self.token(input, from, end)? else {
                return self.short(input, end);
            };
            let stop = from + len;
            if stop > self.limit && !matches!(token, Token::Text if self.depth == 0) {
                return Err(self.fault(XmlFaultKind::TooLarge { limit: self.limit }, &[]));
            }
            if self.depth == 0 {
                match self.between(&token, &input[..stop])? {
                    Between::Skip => return Ok(self.skip(&input[..stop])),
                    Between::Begin => {}
                    Between::Whole => return Ok(self.record(&input[..stop])),
                }
            }
            match token {
                Token::Doctype | Token::DoctypeName => return Err(self.fault(XmlFaultKind::Doctype, &input[..from])),
                Token::Declaration => return Err(self.fault(XmlFaultKind::Syntax(Syntax::Markup), &input[..from])),
                Token::Start { empty: false, .. } => self.depth += 1,
                Token::End { .. } => self.depth -= 1,
                _ => {}
            }
            if self.depth > self.depth_max {
                return Err(self.fault(XmlFaultKind::TooDeep { limit: self.depth_max }, &input[..from]));
            }
            self.scanned = stop;
            if self.depth == 0 {
                return Ok(self.record(&input[..stop]));
            }
        }
    }

    /// Interprets a token between records.
    fn between(&mut self, token: &Token<'_>, text: &[u8]) -> Result<Between, XmlFault> {
        let fault = |syntax| XmlFaultKind::Syntax(syntax);
        let blank = |text: &[u8]| text.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
        match (token, self.phase) {
            (Token::Text, _) => match blank(text) {
                None => Ok(Between::Skip),
                Some(at) => Err(self.fault(fault(Syntax::TextOutside), &text[..at])),
            },
            (Token::CData, _) => Err(self.fault(fault(Syntax::TextOutside), &[])),
            (Token::Misc, _) => Ok(Between::Skip),
            (Token::Declaration, _) => Err(self.fault(fault(Syntax::Markup), &[])),
            (Token::DoctypeName, Phase::Prolog) => Ok(Between::Skip),
            (Token::DoctypeName, Phase::Records) if !self.wrapped => Ok(Between::Skip),
            (Token::Doctype | Token::DoctypeName, _) => Err(self.fault(XmlFaultKind::Doctype, &[])),
            (Token::Start { .. }, Phase::Epilog) => Err(self.fault(fault(Syntax::Root), &[])),
            (Token::Start { name, empty }, Phase::Prolog) if self.wrapped => {
                if memchr(b'&', text).is_some() && has_undeclared_entity(text) {
                    return Err(self.fault(XmlFaultKind::Entity, &[]));
                }
                self.root = Arc::from(*name);
                self.unread = unread_attributes(text)
                    .map_err(|Malformed| self.fault(fault(Syntax::AttributeForm), &[]))?
                    .map(|names| Arc::new(self.fault(XmlFaultKind::RootAttributes { names }, &[])));
                self.phase = if *empty { Phase::Epilog } else { Phase::Records };
                Ok(Between::Skip)
            }
            (Token::Start { empty: true, .. }, _) => Ok(Between::Whole),
            (Token::Start { .. }, _) => Ok(Between::Begin),
            (Token::End { name }, Phase::Records) if self.wrapped && (self.root.is_empty() || *self.root == **name) => {
                self.phase = Phase::Epilog;
                Ok(Between::Skip)
            }
            (Token::End { .. }, _) => Err(self.fault(fault(Syntax::EndTag), &[])),
        }
    }

    fn skip(&mut self, text: &[u8]) -> XmlStep<'static> {
        self.at = self.at.behind(text);
        self.scanned = 0;
        XmlStep::Skipped { consumed: text.len() }
    }

    fn record<'a>(&mut self, raw: &'a [u8]) -> XmlStep<'a> {
        let at = self.at;
        self.at = at.behind(raw);
        (self.scanned, self.depth) = (0, 0);
        if !self.wrapped {
            self.phase = Phase::Records;
        }
        XmlStep::Record { record: RawRecord { raw, at }, consumed: raw.len() }
    }

    fn short(&self, input: &[u8], end: EndOfInput) -> Result<XmlStep<'static>, XmlFault> {
        // A few more bytes are allowed, so that markup is recognised before its length is judged: any chunking gives the same
        // fault.
        if input.len() > self.limit + 9 {
            return Err(self.fault(XmlFaultKind::TooLarge { limit: self.limit }, &[]));
        }
        match end {
            EndOfInput::No => Ok(XmlStep::NeedMore { at_least: input.len() + 1 }),
            EndOfInput::Yes => Err(self.fault(XmlFaultKind::Truncated, input)),
        }
    }

    /// Reads the byte order mark and the XML declaration. Only UTF-8 is accepted.
    fn start<'a>(&mut self, input: &'a [u8], end: EndOfInput) -> Result<XmlStep<'a>, XmlFault> {
        const DECLARATION: &[u8] = b"<?xml";
        let more = end == EndOfInput::No;
        if input.starts_with(b"\xfe\xff")
            || input.starts_with(b"\xff\xfe")
            || input.starts_with(b"\0<")
            || input.starts_with(b"<\0")
        {
            return Err(self.fault(XmlFaultKind::Encoding, &[]));
        }
        let skip = if input.starts_with(BOM) { BOM.len() } else { 0 };
        let text = &input[skip..];
        let may_grow =
            input.len() < 4 || (text.len() <= DECLARATION.len() && DECLARATION.starts_with(&text[..text.len().min(5)]));
        if more && may_grow {
            return Ok(XmlStep::NeedMore { at_least: input.len() + 1 });
        }
        let declared =
            text.strip_prefix(DECLARATION).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
        if !declared {
            self.phase = if self.wrapped { Phase::Prolog } else { Phase::Records };
            if skip == 0 {
                return self.split(input, end);
            }
            return Ok(XmlStep::Skipped { consumed: skip });
        }
        let Some(stop) = memmem::find(text, b"?>") else {
            return self.short(input, end);
        };
        if let Some(name) = encoding(&text[..stop])
            .filter(|name| !name.eq_ignore_ascii_case(b"utf-8") && !name.eq_ignore_ascii_case(b"us-ascii"))
        {
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            let name = Some(name).filter(|name| (1..=40).contains(&name.len()) && name.iter().all(is_plain));
            let encoding = name.and_then(|name| core::str::from_utf8(name).ok()).map(str::to_owned);
            return Err(self.fault(XmlFaultKind::Declared { encoding }, &[]));
        }
        self.phase = if self.wrapped { Phase::Prolog } else { Phase::Records };
        self.at = self.at.behind(&text[..stop + 2]);
        Ok(XmlStep::Skipped { consumed: skip + stop + 2 })
    }

    /// Returns the token at `from` and its length; `None` if the input ends inside it.
    fn token<'a>(&self, input: &'a [u8], from: usize, end: EndOfInput) -> Result<Option<(Token<'a>, usize)>, XmlFault> {
        let rest = &input[from..];
        let delimited = |token: Token<'a>, open: usize, close: &[u8]| {
            let found = rest.get(open..).and_then(|rest| memmem::find(rest, close));
            Ok(found.map(|at| (token, open + at + close.len())))
        };
        match rest {
            [] => Ok(None),
            [b'<'] => Ok(None),
            [b'<', b'?', ..] => {
                let declaration = rest.starts_with(b"<?xml") && rest.get(5).is_some_and(u8::is_ascii_whitespace);
                delimited(if declaration { Token::Declaration } else { Token::Misc }, 2, b"?>")
            }
            [b'<', b'!', ..] => {
                if rest.starts_with(b"<!--") {
                    // XML 1.0, production 15: two hyphens only end a comment.
                    let Some(hyphens) = memmem::find(&rest[4..], b"--").map(|at| at + 4) else { return Ok(None) };
                    match rest.get(hyphens + 2) {
                        None => Ok(None),
                        Some(b'>') => Ok(Some((Token::Misc, hyphens + 3))),
                        Some(_) => Err(self.fault(XmlFaultKind::Syntax(Syntax::Comment), &input[..from + hyphens])),
                    }
                } else if rest.starts_with(b"<![CDATA[") {
                    delimited(Token::CData, 9, b"]]>")
                } else if rest.starts_with(b"<!DOCTYPE") {
                    Ok(doctype(rest))
                } else if rest.len() < 9
                    && [&b"<!--"[..], b"<![CDATA[", b"<!DOCTYPE"].iter().any(|m| m.starts_with(rest))
                {
                    Ok(None)
                } else {
                    Err(self.fault(XmlFaultKind::Syntax(Syntax::Markup), &input[..from]))
                }
            }
            [b'<', b'/', ..] => {
                Ok(memchr(b'>', rest).map(|stop| (Token::End { name: name(&rest[2..stop]) }, stop + 1)))
            }
            [b'<', ..] => {
                let Some(stop) = tag_end(rest) else { return Ok(None) };
                let empty = rest[stop - 1] == b'/';
                let name = name(&rest[1..stop - usize::from(empty)]);
                if name.is_empty() {
                    return Err(self.fault(XmlFaultKind::Syntax(Syntax::Markup), &input[..from]));
                }
                Ok(Some((Token::Start { name, empty }, stop + 1)))
            }
            _ => match memchr(b'<', rest) {
                Some(len) => Ok(Some((Token::Text, len))),
                // Between records text is blank; it need not be seen whole.
                None if self.depth == 0 || end == EndOfInput::Yes => Ok(Some((Token::Text, rest.len()))),
                None => Ok(None),
            },
        }
    }

    fn fault(&self, kind: XmlFaultKind, before: &[u8]) -> XmlFault {
        XmlFault { kind, at: self.at.behind(before), path: String::new() }
    }
}

/// Returns whether an attribute in a start tag refers to an entity that is not declared.
fn has_undeclared_entity(tag: &[u8]) -> bool {
    let Ok(tag) = core::str::from_utf8(tag) else { return false };
    let mut attributes =
        Attributes::new(tag.trim_start_matches('<').trim_end_matches(['>', '/']), name(&tag.as_bytes()[1..]).len());
    attributes.with_checks(false);
    attributes.flatten().any(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0).is_err())
}

/// An attribute is not of the form name="value", or has the name of another one.
struct Malformed;

/// Returns the names of the attributes in a start tag of a root element, except declarations of namespaces and those prefixed `xml:` or
/// `xsi:`; `None` if it has none or is not in UTF-8.
///
/// Source: XML 1.0, productions 40 and 41, and the constraint Unique Att Spec.
fn unread_attributes(tag: &[u8]) -> Result<Option<String>, Malformed> {
    let Ok(content) = core::str::from_utf8(tag.strip_prefix(b"<").unwrap_or(tag)) else { return Ok(None) };
    let content = content.strip_suffix('>').unwrap_or(content);
    let content = content.strip_suffix('/').unwrap_or(content);
    let mut names: Vec<String> = Vec::new();
    let mut others = 0;
    let mut attributes = Attributes::new(content, name(content.as_bytes()).len());
    // Its own search for duplicates takes the square of their number.
    attributes.with_checks(false);
    let mut known = BTreeSet::new();
    for attribute in attributes {
        let name = attribute.map_err(|_| Malformed)?.key.into_inner();
        if !known.insert(name) {
            return Err(Malformed);
        }
        if name == "xmlns" || ["xmlns:", "xml:", "xsi:"].iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        if names.len() < NAMES_MAX && name.len() <= NAME_MAX {
            names.push(name.to_owned());
        } else {
            others += 1;
        }
    }
    names.extend((others > 0).then(|| format!("{others} more")));
    Ok((!names.is_empty()).then(|| names.join(", ")))
}

enum Between {
    Skip,
    Begin,
    Whole,
}

/// Reads a document type definition. One with declarations is refused at the first sign of them.
fn doctype(rest: &[u8]) -> Option<(Token<'_>, usize)> {
    let mut at = 9;
    loop {
        let found = at + rest[at..].iter().position(|b| matches!(b, b'>' | b'[' | b'"' | b'\''))?;
        match rest[found] {
            b'>' => return Some((Token::DoctypeName, found + 1)),
            b'[' => return Some((Token::Doctype, 9)),
            quote => at = found + 2 + memchr(quote, &rest[found + 1..])?,
        }
    }
}

/// Returns the name at the start of a tag's content.
fn name(content: &[u8]) -> &[u8] {
    let end = content.iter().position(|b| b.is_ascii_whitespace() || *b == b'/').unwrap_or(content.len());
    &content[..end]
}

/// Finds the `>` that ends a start tag, outside attribute values.
fn tag_end(tag: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let found = at + memchr3(b'>', b'"', b'\'', &tag[at..])?;
        match tag[found] {
            b'>' => return Some(found),
            quote => at = found + 2 + memchr(quote, &tag[found + 1..])?,
        }
    }
}

/// Returns the encoding that a declaration names.
fn encoding(declaration: &[u8]) -> Option<&[u8]> {
    let rest = &declaration[memmem::find(declaration, b"encoding")? + 8..];
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    Some(&rest[..memchr(*quote, rest)?])
}
