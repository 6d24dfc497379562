//! A small XML file as a tree: dictionaries are some megabytes at most and are read once.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use quayline_core::Findings;

use crate::codes;
use crate::source_text::SourceText;

/// Deepest nesting. Default 128: maps of implementation guides have some 15 levels.
const DEPTH_MAX: usize = 128;
/// Longest text of a file. 64 MiB: the largest schema of a directory has 12 MB.
const BYTES_MAX: usize = 64 << 20;

/// An element with all in it. Namespace prefixes of names are dropped.
#[derive(Clone, Debug, Default)]
pub struct XmlElement {
    /// Local name.
    pub name: String,
    /// Local names and values.
    pub attributes: Vec<(String, String)>,
    /// Namespaces that are declared here: prefix, empty for the default one, and name.
    pub namespaces: Vec<(String, String)>,
    /// Elements in it.
    pub children: Vec<XmlElement>,
    /// Text directly in it, trimmed.
    pub text: String,
    /// Byte in the file.
    pub at: usize,
}

impl XmlElement {
    /// Reads a whole file.
    ///
    /// # Errors
    /// It is not well-formed, too large, too deep, or has a document type definition.
    pub fn read(source: SourceText<'_>) -> Result<XmlElement, Findings> {
        read(source)
    }

    /// Returns the value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if an attribute of type `xs:boolean` is present and true (XML Schema Part 2, 3.2.2: `true` or `1`, blanks collapsed).
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.attribute(name).is_some_and(|value| matches!(value.trim_ascii(), "true" | "1"))
    }

    /// Returns the first child with a given name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&XmlElement> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Iterates over the children with a given name.
    pub fn children_named<'x>(&'x self, name: &'x str) -> impl Iterator<Item = &'x XmlElement> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns an attribute's value or a child's text, whichever exists; `None` if it is empty.
    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        self.attribute(name)
            .or_else(|| self.child(name).map(|child| child.text.as_str()))
            .filter(|value| !value.is_empty())
    }
}

fn read(source: SourceText<'_>) -> Result<XmlElement, Findings> {
    if source.text.len() > BYTES_MAX {
        return Err(source.refused(codes::NOT_WELL_FORMED, 0, format!("the file has more than {BYTES_MAX} bytes")));
    }
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let skipped = source.text.len() - text.len();
    let mut reader = Reader::from_str(text);
    let (mut open, mut root): (Vec<XmlElement>, Option<XmlElement>) = (Vec::new(), None);
    loop {
        let at = skipped + usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let fault = |message: String| source.refused(codes::NOT_WELL_FORMED, at, message);
        let event = reader.read_event().map_err(|e| fault(format!("not well-formed XML: {e}")))?;
        // Around the root element, a document has comments, processing instructions and white space.
        let is_content = match &event {
            Event::Start(_) | Event::Empty(_) => root.is_some(),
            Event::Text(part) => open.is_empty() && !part.xml10_content().trim_ascii().is_empty(),
            Event::CData(_) | Event::GeneralRef(_) => open.is_empty(),
            _ => false,
        };
        if is_content {
            let place = if root.is_some() { "follows" } else { "precedes" };
            return Err(fault(format!("text or an element {place} the root element")));
        }
        match event {
            Event::Start(tag) => {
                if open.len() == DEPTH_MAX {
                    return Err(fault(format!("elements are nested deeper than {DEPTH_MAX}")));
                }
                open.push(begin(&tag, at).map_err(fault)?);
            }
            Event::Empty(tag) => end(begin(&tag, at).map_err(fault)?, &mut open, &mut root),
            Event::End(_) => {
                let element = open.pop().ok_or_else(|| fault("an end tag without its start tag".into()))?;
                end(element, &mut open, &mut root);
            }
            Event::Text(part) => append(&mut open, &part.xml10_content()),
            Event::CData(part) => append(&mut open, &part.xml10_content()),
            Event::GeneralRef(reference) => append(&mut open, &resolve(&reference).map_err(fault)?),
            Event::DocType(_) => return Err(fault("the file has a document type definition".into())),
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
            Event::Eof if !open.is_empty() => return Err(fault("the file ends inside an element".into())),
            Event::Eof => return root.ok_or_else(|| fault("the file has no element".into())),
        }
    }
}

/// Adds a complete element to the innermost open one, or makes it the root.
fn end(mut element: XmlElement, open: &mut [XmlElement], root: &mut Option<XmlElement>) {
    trim(&mut element.text);
    // A vector with one element has room for four, and a file can have a million elements.
    element.children.shrink_to_fit();
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn begin(tag: &BytesStart<'_>, at: usize) -> Result<XmlElement, String> {
    let mut element = XmlElement { name: tag.local_name().as_ref().to_owned(), at, ..XmlElement::default() };
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| format!("a malformed attribute: {e}"))?;
        let name = attribute.key.local_name().as_ref().to_owned();
        let value = quick_xml::escape::unescape(&attribute.value).map_err(|e| format!("a malformed attribute: {e}"))?;
        let key: &str = attribute.key.as_ref();
        match key.strip_prefix("xmlns") {
            Some("") => element.namespaces.push((String::new(), value.into_owned())),
            Some(prefix) if prefix.starts_with(':') => element.namespaces.push((name, value.into_owned())),
            _ => element.attributes.push((name, value.into_owned())),
        }
    }
    element.attributes.shrink_to_fit();
    Ok(element)
}

fn append(open: &mut [XmlElement], text: &str) {
    if let Some(element) = open.last_mut() {
        // Indentation between elements is by far the most common text.
        if !(element.text.is_empty() && text.trim_ascii().is_empty()) {
            element.text.push_str(text);
        }
    }
}

fn trim(text: &mut String) {
    text.truncate(text.trim_end().len());
    let start = text.len() - text.trim_start().len();
    text.drain(..start);
}

fn resolve(reference: &BytesRef<'_>) -> Result<Cow<'static, str>, String> {
    match reference.resolve_char_ref() {
        Ok(Some(char)) => Ok(char.to_string().into()),
        Ok(None) => match reference.xml10_content().as_ref() {
            "lt" => Ok("<".into()),
            "gt" => Ok(">".into()),
            "amp" => Ok("&".into()),
            "apos" => Ok("'".into()),
            "quot" => Ok("\"".into()),
            _ => Err("an entity that is not one of the five".into()),
        },
        Err(e) => Err(format!("a malformed reference: {e}")),
    }
}
