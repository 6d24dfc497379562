//! The sink that writes elements.

use core::ops::Range;

use quayline_core::{Findings, NodeId, NodeKind, Shape, Sink, Value, write_number};

use crate::fault::{TextPosition, XmlFault, XmlFaultKind};
use crate::names::{Part, element_names, parts};
use crate::style::{Namespaces, Spacing, XmlStyle};
use crate::text;

/// Writes documents as record elements into a buffer that the caller drains: after each document, or after many, write [`XmlWriter::bytes`]
/// out and call [`XmlWriter::clear`].
///
/// Tags are made once for the shape. Numbers are written as [`write_number`] does, truth values as `true` and `false`, `Bytes` as
/// hexadecimal digits, `Raw` as `0x` and hexadecimal digits; the rest is in the crate's own documentation.
#[derive(Clone, Debug)]
pub struct XmlWriter {
    style: XmlStyle,
    tags: Vec<Tags>,
    /// The bytes of all tags.
    arena: Vec<u8>,
    out: Vec<u8>,
    /// Start of the document begun last.
    start: usize,
    open: bool,
    /// For each open group that may have attributes, the position in `out` for its next attribute.
    attributes: Vec<(NodeId, usize)>,
    /// For documents of an XML schema, the path of each node.
    paths: Option<Vec<String>>,
    /// The first fault of the open document: a text that documents of the schema cannot hold.
    fault: Option<XmlFault>,
}

/// Tags of a node in the arena, with the white space before them.
#[derive(Clone, Debug)]
struct Tags {
    /// `<NAME>`
    open: Range<usize>,
    /// `</NAME>`
    close: Range<usize>,
    /// `<NAME escaped="true">`
    escaped: Range<usize>,
    /// `<NAME xsi:nil="true"/>`
    nil: Range<usize>,
    part: Part,
    /// True for a group that has attributes or text.
    marked: bool,
    /// True for a group with a field `@escaped`, which gives the mark of its text another name.
    escaped_is_field: bool,
}

const XSI: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

impl XmlWriter {
    /// Creates a writer for documents of `shape`.
    ///
    /// # Errors
    /// See [`XmlStyle::check`], and `XML-001` for siblings with the same element name.
    pub fn new(shape: &Shape, style: XmlStyle) -> Result<Self, Findings> {
        style.check()?;
        let names = element_names(shape, &style.record)?;
        let paths = style.is_described.then(|| shape.iter().map(|(id, _)| shape.path(id)).collect());
        let mut writer = XmlWriter {
            style,
            tags: Vec::new(),
            arena: Vec::new(),
            out: Vec::with_capacity(1 << 16),
            start: 0,
            open: false,
            attributes: Vec::new(),
            paths,
            fault: None,
        };
        let parts = parts(shape);
        let prefixes = Prefixes::new(writer.style.namespaces.as_ref(), &parts);
        let mut levels: Vec<usize> = Vec::with_capacity(shape.len());
        for (id, node) in shape.iter() {
            let level =
                node.parent.map_or(usize::from(writer.style.root.is_some()), |parent| levels[parent.index()] + 1);
            levels.push(level);
            let has = |wanted: fn(Part) -> bool| shape.children(id).any(|child| wanted(parts[child.index()]));
            let kind = match (&node.kind, parts[id.index()]) {
                (_, part @ (Part::Attribute | Part::Text)) => Kind { part, ..Kind::LEAF },
                (NodeKind::Group, _) => Kind {
                    group: true,
                    marked: has(|part| part != Part::Element),
                    text: has(|part| part == Part::Text),
                    escaped_is_field: shape
                        .children(id)
                        .any(|child| parts[child.index()] == Part::Attribute && names[child.index()] == "escaped"),
                    ..Kind::LEAF
                },
                _ => Kind::LEAF,
            };
            let name = format!("{}{}", prefixes.of_node[id.index()], names[id.index()]);
            let declared = if id == NodeId::ROOT { prefixes.declared.as_str() } else { "" };
            writer.add_tags(id, &name, declared, level, kind);
        }
        Ok(writer)
    }

    /// Begins the file: declaration and root element. Several writers for one file: the first only.
    pub fn begin(&mut self) {
        self.out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        if let Some(root) = &self.style.root {
            self.out.extend_from_slice(format!("<{root}{XSI}>\n").as_bytes());
        }
        self.start = self.out.len();
    }

    /// Ends the file. The last writer only.
    pub fn end(&mut self) {
        if let Some(root) = &self.style.root {
            self.out.extend_from_slice(format!("</{root}>\n").as_bytes());
        }
        self.start = self.out.len();
    }

    /// Returns the text written since the last [`XmlWriter::clear`], without the open document.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.open { &self.out[..self.start] } else { &self.out }
    }

    /// Forgets [`XmlWriter::bytes`] and keeps the memory.
    pub fn clear(&mut self) {
        let done = self.bytes().len();
        let rest = self.out.len() - done;
        self.out.copy_within(done.., 0);
        self.out.truncate(rest);
        self.start = 0;
    }

    /// Returns the buffer instead of its bytes, so that nothing is copied. The writer continues with `buffer`, whose content is
    /// lost. No document may be open.
    #[must_use]
    pub fn exchange(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        debug_assert!(!self.open, "a document is open");
        buffer.clear();
        self.start = 0;
        core::mem::replace(&mut self.out, buffer)
    }

    /// Moves the written text to `into`, including the beginning of an open document as far as it cannot change. `discard` cannot
    /// withdraw that part afterwards.
    pub fn take_written(&mut self, into: &mut Vec<u8>) {
        let end = self.attributes.first().map_or(self.out.len(), |(_, at)| *at);
        into.extend_from_slice(&self.out[..end]);
        self.out.drain(..end);
        self.attributes.iter_mut().for_each(|(_, at)| *at -= end);
        self.start = self.start.saturating_sub(end);
    }

    /// Truncates the output to the first `len` bytes. Everything after them is void, including an open document.
    pub fn back_to(&mut self, len: usize) {
        self.out.truncate(len);
        self.start = self.out.len();
        self.open = false;
        self.attributes.clear();
        self.fault = None;
    }

    /// Returns the number of bytes written since the last [`XmlWriter::clear`], including those of the open document.
    #[must_use]
    pub fn written(&self) -> usize {
        self.out.len()
    }

    /// Returns and clears the reason why the last document cannot be written. Only documents of an XML schema have one.
    pub fn take_fault(&mut self) -> Option<XmlFault> {
        self.fault.take()
    }

    /// Returns whether a text must be marked as escaped. A document of an XML schema cannot be marked, so it gets a fault.
    fn is_marked(&mut self, node: NodeId, text: &[u8]) -> bool {
        if text::is_holdable(text) {
            return false;
        }
        if self.paths.is_some() {
            let is_wrong = |c: &char| !text::is_allowed(*c);
            let character = core::str::from_utf8(text).ok().and_then(|text| text.chars().find(is_wrong));
            self.fault(node, XmlFaultKind::Unwritable { character: character.unwrap_or('\0') });
        }
        true
    }

    /// Refuses an empty element to which the schema gives a default: readers take the default for its text.
    #[cold]
    fn check_empty(&mut self, node: NodeId) {
        if self
            .style
            .leaves
            .defaults
            .get(node.index())
            .is_some_and(|default| default.as_deref().is_some_and(|text| !text.is_empty()))
        {
            self.fault(node, XmlFaultKind::EmptyIsDefault);
        }
    }

    /// Keeps the first fault of a document of an XML schema.
    fn fault(&mut self, node: NodeId, kind: XmlFaultKind) {
        let Some(paths) = self.paths.as_ref().filter(|_| self.fault.is_none()) else { return };
        self.fault = Some(XmlFault { kind, at: TextPosition::START, path: paths[node.index()].clone() });
    }

    fn add_tags(&mut self, id: NodeId, name: &str, declared: &str, level: usize, kind: Kind) {
        if kind.part != Part::Element {
            let none = self.add("");
            let open = if kind.part == Part::Attribute { self.add(&format!(" {name}=\"")) } else { none.clone() };
            self.tags.push(Tags {
                open,
                close: none.clone(),
                escaped: none.clone(),
                nil: none,
                part: kind.part,
                marked: false,
                escaped_is_field: false,
            });
            return;
        }
        let indent = match self.style.spacing {
            Spacing::Pretty => format!("\n{:1$}", "", 2 * level),
            Spacing::Compact => String::new(),
        };
        // Line feeds follow records, so none precedes a record.
        let before = if id == NodeId::ROOT { indent.trim_start_matches('\n') } else { &indent };
        let xsi = if id == NodeId::ROOT && self.style.root.is_none() { XSI } else { "" };
        let (closed, behind) = match (kind.group, id) {
            (true, NodeId::ROOT) if kind.text => ("", "\n"),
            (true, _) if kind.text => ("", ""),
            (true, NodeId::ROOT) => (indent.as_str(), "\n"),
            (true, _) => (indent.as_str(), ""),
            (false, _) => ("", ""),
        };
        let tags = Tags {
            open: self.add(&format!("{before}<{name}{declared}{xsi}>")),
            close: self.add(&format!("{closed}</{name}>{behind}")),
            escaped: self.add(&format!("{before}<{name} escaped=\"true\">")),
            nil: self.add(&format!("{before}<{name} xsi:nil=\"true\"/>")),
            part: Part::Element,
            marked: kind.marked,
            escaped_is_field: kind.escaped_is_field,
        };
        self.tags.push(tags);
    }

    fn add(&mut self, text: &str) -> Range<usize> {
        let start = self.arena.len();
        self.arena.extend_from_slice(text.as_bytes());
        start..self.arena.len()
    }

    #[inline]
    fn tag(&mut self, node: NodeId, which: impl Fn(&Tags) -> &Range<usize>) {
        let range = which(&self.tags[node.index()]).clone();
        self.out.extend_from_slice(&self.arena[range]);
    }
}

/// Prefixes of the names of elements and attributes.
struct Prefixes {
    of_node: Vec<String>,
    /// Declarations of the outermost element.
    declared: String,
}

impl Prefixes {
    fn new(namespaces: Option<&Namespaces>, parts: &[Part]) -> Prefixes {
        let none = Prefixes { of_node: vec![String::new(); parts.len()], declared: String::new() };
        let Some(namespaces) = namespaces.filter(|namespaces| namespaces.of_node.len() == parts.len()) else {
            return none;
        };
        let outermost = namespaces.of_node[0];
        let all_in_some = namespaces.of_node.iter().zip(parts).all(|(of, part)| *part != Part::Element || *of != 0);
        let default = if all_in_some { outermost } else { 0 };
        let mut prefixed = vec![false; namespaces.uris.len() + 1];
        let of_node = namespaces.of_node.iter().zip(parts).map(|(of, part)| {
            // An attribute is never in the default namespace.
            if *of == default && *part == Part::Element {
                return String::new();
            }
            if let Some(used) = prefixed.get_mut(usize::from(*of)) {
                *used = true;
            }
            Namespaces::prefix(*of)
        });
        let of_node = of_node.collect();
        let mut declared = String::new();
        for (number, uri) in (1u16..).zip(&namespaces.uris) {
            let uri = attribute_text(uri);
            if number == default {
                declared.push_str(&format!(" xmlns=\"{uri}\""));
            }
            if prefixed[usize::from(number)] {
                let prefix = Namespaces::prefix(number);
                declared.push_str(&format!(" xmlns:{}=\"{uri}\"", prefix.trim_end_matches(':')));
            }
        }
        Prefixes { of_node, declared }
    }
}

/// The properties of a node that determine its tags.
#[derive(Clone, Copy)]
struct Kind {
    part: Part,
    group: bool,
    marked: bool,
    text: bool,
    escaped_is_field: bool,
}

impl Kind {
    const LEAF: Kind = Kind { part: Part::Element, group: false, marked: false, text: false, escaped_is_field: false };
}

impl XmlWriter {
    /// Writes an attribute into the start tag of the open group, which was usually written just before.
    fn attribute(&mut self, node: NodeId, value: Value<'_>) {
        if matches!(value, Value::Null) {
            return;
        }
        let from = self.out.len();
        self.tag(node, |tags| &tags.open);
        match value {
            Value::Text(run) if self.is_marked(node, run.bytes()) => {
                self.out.truncate(self.out.len() - "=\"".len());
                self.out.extend_from_slice(b".escaped=\"true\"");
                self.tag(node, |tags| &tags.open);
                text::write_attribute(&mut self.out, run.bytes());
            }
            Value::Text(run) | Value::Ascii(run) => text::write_attribute(&mut self.out, run.bytes()),
            value => plain(&mut self.out, value),
        }
        self.out.push(b'"');
        self.add_to_start_tag(from);
    }

    /// Moves the text written from `from` on into the start tag of the open group.
    fn add_to_start_tag(&mut self, from: usize) {
        let len = self.out.len() - from;
        if let Some((_, at)) = self.attributes.last_mut() {
            self.out[*at..].rotate_right(len);
            *at += len;
        }
    }

    /// Writes the text of the open group.
    fn text(&mut self, node: NodeId, value: Value<'_>) {
        match value {
            Value::Null => {
                let from = self.out.len();
                self.out.extend_from_slice(b" xsi:nil=\"true\"");
                self.add_to_start_tag(from);
            }
            Value::Text(run) if self.is_marked(node, run.bytes()) => {
                let from = self.out.len();
                let group = self.attributes.last().map(|(group, _)| *group);
                let is_taken = group.is_some_and(|group| self.tags[group.index()].escaped_is_field);
                let mark: &[u8] = if is_taken { b" text.escaped=\"true\"" } else { b" escaped=\"true\"" };
                self.out.extend_from_slice(mark);
                self.add_to_start_tag(from);
                text::write_escaped(&mut self.out, run.bytes());
            }
            value => self.plain(node, value),
        }
    }

    /// Writes a value between tags.
    fn plain(&mut self, node: NodeId, value: Value<'_>) {
        let from = self.out.len();
        plain(&mut self.out, value);
        if self.out.len() == from {
            self.check_empty(node);
        }
    }
}

/// Writes a value between tags.
fn plain(out: &mut Vec<u8>, value: Value<'_>) {
    if let Value::Ascii(run) = value {
        debug_assert!(run.is_printable());
    }
    match value {
        Value::Null => {}
        Value::Text(run) | Value::Ascii(run) => text::write(out, run.bytes()),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Bytes(bytes) => hex(out, bytes),
        Value::Raw(bytes) => {
            out.extend_from_slice(b"0x");
            hex(out, bytes);
        }
        number => {
            let done = write_number(out, number);
            debug_assert!(done.is_some());
        }
    }
}

impl Sink for XmlWriter {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.start = self.out.len();
            self.open = true;
            self.fault = None;
        }
        self.tag(node, |tags| &tags.open);
        if self.tags[node.index()].marked {
            self.attributes.push((node, self.out.len() - 1));
        }
    }

    fn leave(&mut self, node: NodeId) {
        if self.tags[node.index()].marked {
            self.attributes.pop();
        }
        self.tag(node, |tags| &tags.close);
        if node == NodeId::ROOT {
            self.open = false;
        }
    }

    fn open_list(&mut self, _node: NodeId) {}

    fn close_list(&mut self, _node: NodeId) {}

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        match self.tags[node.index()].part {
            Part::Element => {}
            Part::Attribute => return self.attribute(node, value),
            Part::Text => return self.text(node, value),
        }
        match value {
            Value::Null => return self.tag(node, |tags| &tags.nil),
            Value::Text(run) if self.is_marked(node, run.bytes()) => {
                self.tag(node, |tags| &tags.escaped);
                text::write_escaped(&mut self.out, run.bytes());
                return self.tag(node, |tags| &tags.close);
            }
            _ => self.tag(node, |tags| &tags.open),
        }
        self.plain(node, value);
        self.tag(node, |tags| &tags.close);
    }

    fn discard(&mut self) {
        self.out.truncate(self.start);
        self.open = false;
        self.attributes.clear();
        self.fault = None;
    }
}

/// Returns text as the value of an attribute.
fn attribute_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]));
}
