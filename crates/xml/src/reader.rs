//! The source that reads record elements.

mod limits;
mod marks;

use std::borrow::Cow;
use std::sync::Arc;

use quayline_core::{
    Findings, Limits, NodeId, NodeKind, Occurs, RoundedLeaves, Run, Scalar, Shape, Sink, SourceLimits, Value,
    is_rounded_float, read_bool, read_number,
};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::errors::{Error, IllFormedError};
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::fault::{Syntax, XmlFault, XmlFaultKind, XmlFaults};
use crate::names::{Part, element_names, parts};
use crate::splitter::RawRecord;
use crate::style::{LeafTexts, Namespaces, WhiteSpace, XmlStyle};
use crate::text::{self, local_name, short};
use limits::Checks;
use marks::{Declared, Holders, Marks, Prefixes};

/// Turns record elements into documents of a shape. The content of a number is a number if [`read_number`] reads it as one; that of
/// an element of bytes is hexadecimal. All other values are text, which the receiver judges.
///
/// White space between the elements of a group is ignored; inside a leaf all of it is text. Comments and processing instructions
/// are skipped.
#[derive(Clone, Debug)]
pub struct XmlReader {
    plan: Plan,
    faults_max: usize,
    /// For each node, the occurrence of its parent in which it occurred most recently.
    seen: Vec<u64>,
    /// Occurrences of groups so far, all records together.
    stamp: u64,
    /// The text of the current leaf, if it comes in parts.
    text: String,
    /// True if something was ignored since the last [`XmlReader::take_ignored`].
    ignored: bool,
    rounded: RoundedLeaves,
}

/// Data that does not change from record to record.
#[derive(Clone, Debug)]
struct Plan {
    shape: Shape,
    names: Vec<String>,
    /// Elements in each node in document order, and in order of their names.
    children: Vec<Vec<NodeId>>,
    by_name: Vec<Vec<NodeId>>,
    /// Attributes of each node, and its text.
    attributes: Vec<Vec<NodeId>>,
    text: Vec<Option<NodeId>>,
    /// For each node, true if it is an attribute in the namespace of XML itself, such as `xml:lang`.
    is_of_xml: Vec<bool>,
    /// For each node, true if it is in a namespace.
    is_in_a_namespace: Vec<bool>,
    leaves: LeafTexts,
    ignore_unknown: bool,
    is_described: bool,
    /// True if a schema describes the document and the record is the whole document, which then declares each prefix.
    is_whole: bool,
    checks: Option<Checks>,
}

impl Plan {
    /// Returns the field of a group for an attribute without its prefix.
    fn attribute(&self, group: NodeId, name: &str) -> Option<NodeId> {
        self.attributes[group.index()].iter().copied().find(|field| self.names[field.index()] == name)
    }

    /// Returns whether the node accepts the type that `xsi:type` names. Without a schema, it accepts all types.
    fn has_type(&self, node: NodeId, name: &str) -> bool {
        let Some(types) = self.leaves.types.get(node.index()) else { return true };
        let is_text = self.shape.node(node).kind != NodeKind::Group && !self.leaves.complex_types.contains(name);
        is_text || types.iter().any(|known| **known == *name)
    }

    /// Returns the value that the schema gives a node whose attribute is missing or whose element is empty.
    fn default_of(&self, node: NodeId) -> Option<&str> {
        self.leaves.defaults.get(node.index())?.as_deref()
    }

    /// Returns a text with the white space that its type has, and where it begins in the record if it is unchanged there.
    fn spaced<'t>(&self, node: NodeId, text: &'t str, start: Option<usize>) -> (Cow<'t, str>, Option<usize>) {
        let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
        match self.leaves.white_space.get(node.index()).copied().unwrap_or_default() {
            WhiteSpace::Preserve => (Cow::Borrowed(text), start),
            WhiteSpace::Replace if text.contains(['\t', '\n', '\r']) => {
                (Cow::Owned(text.replace(['\t', '\n', '\r'], " ")), None)
            }
            WhiteSpace::Replace => (Cow::Borrowed(text), start),
            WhiteSpace::Collapse => {
                let after = text.trim_start_matches(is_space);
                let start = start.map(|start| start + text.len() - after.len());
                let text = after.trim_end_matches(is_space);
                if text.contains(['\t', '\n', '\r']) || text.contains("  ") {
                    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
                    (Cow::Owned(words.join(" ")), None)
                } else {
                    (Cow::Borrowed(text), start)
                }
            }
        }
    }
}

impl XmlReader {
    /// Creates a reader for documents of `shape`.
    ///
    /// # Errors
    /// See [`crate::XmlWriter::new`].
    pub fn new(shape: &Shape, style: &XmlStyle, limits: &Limits) -> Result<Self, Findings> {
        style.check()?;
        let names = element_names(shape, &style.record)?;
        let parts = parts(shape);
        let all = |part: Part| {
            let of = |id: NodeId| shape.children(id).filter(|child| parts[child.index()] == part).collect();
            shape.iter().map(|(id, _)| of(id)).collect::<Vec<Vec<NodeId>>>()
        };
        let (children, attributes) = (all(Part::Element), all(Part::Attribute));
        let text = all(Part::Text).iter().map(|of| of.first().copied()).collect();
        let mut by_name = children.clone();
        by_name.iter_mut().for_each(|ids| ids.sort_by_key(|id| names[id.index()].as_str()));
        let seen = vec![0; shape.len()];
        let of_node = style.namespaces.as_ref().map(|namespaces| namespaces.of_node.as_slice()).unwrap_or_default();
        let is_of_xml = (0..shape.len()).map(|at| of_node.get(at) == Some(&Namespaces::OF_XML)).collect();
        let is_in_a_namespace = (0..shape.len()).map(|at| of_node.get(at).is_some_and(|of| *of != 0)).collect();
        let leaves = style.leaves.clone();
        let plan = Plan {
            shape: shape.clone(),
            names,
            children,
            by_name,
            attributes,
            text,
            is_of_xml,
            is_in_a_namespace,
            leaves,
            ignore_unknown: style.ignore_unknown,
            is_described: style.is_described,
            is_whole: style.is_described && style.root.is_none(),
            checks: None,
        };
        Ok(XmlReader {
            plan,
            faults_max: limits.findings_max.max(1),
            seen,
            stamp: 0,
            text: String::new(),
            ignored: false,
            rounded: RoundedLeaves::default(),
        })
    }

    /// Returns a reader that refuses records beyond these limits of the nodes of its shape.
    #[must_use]
    pub fn with_limits(mut self, limits: &Arc<SourceLimits>) -> Self {
        self.plan.checks = Some(Checks::new(&self.plan.shape, limits));
        self
    }

    /// Sends one record to `sink`.
    ///
    /// # Errors
    /// [`XmlFaults`], all faults of the record that could be found, at most `Limits::findings_max`. The sink received nothing or a
    /// well-formed document; [`XmlFaults::sent`] says which, and the caller then calls [`Sink::discard`].
    pub fn record<S: Sink>(&mut self, record: RawRecord<'_>, sink: &mut S) -> Result<(), XmlFaults> {
        let whole = |kind, before: &[u8]| {
            let fault = XmlFault { kind, at: record.at.behind(before), path: String::new() };
            XmlFaults { faults: vec![fault], sent: false }
        };
        let raw = core::str::from_utf8(record.raw)
            .map_err(|error| whole(XmlFaultKind::Encoding, &record.raw[..error.valid_up_to()]))?;
        if let Some(at) = text::find_forbidden(raw) {
            return Err(whole(XmlFaultKind::Syntax(Syntax::Character), &record.raw[..at]));
        }
        let mut run = Running {
            plan: &self.plan,
            seen: &mut self.seen,
            stamp: &mut self.stamp,
            text: &mut self.text,
            faults_max: self.faults_max,
            xml: Reader::from_str(raw),
            record,
            sink,
            open: Vec::new(),
            faults: Vec::new(),
            sent: false,
            instance: Vec::new(),
            prefixes: Prefixes::default(),
            ignored: false,
            rounded: &mut self.rounded,
        };
        run.document();
        let (faults, sent) = (run.faults, run.sent);
        self.ignored |= run.ignored;
        if faults.is_empty() { Ok(()) } else { Err(XmlFaults { faults, sent }) }
    }
}

/// State while one record is read.
struct Running<'r, 'x, S> {
    plan: &'r Plan,
    seen: &'r mut [u64],
    stamp: &'r mut u64,
    text: &'r mut String,
    faults_max: usize,
    xml: Reader<&'x [u8]>,
    record: RawRecord<'x>,
    sink: &'r mut S,
    open: Vec<OpenGroup>,
    faults: Vec<XmlFault>,
    sent: bool,
    /// Prefixes in scope that the record declares for the namespace of `xsi:type`, and those that hide one of them.
    instance: Vec<Declared>,
    prefixes: Prefixes,
    ignored: bool,
    rounded: &'r mut RoundedLeaves,
}

/// A group occurrence that is open.
struct OpenGroup {
    node: NodeId,
    /// Index in its list, from 0, for paths.
    occurrence: Option<usize>,
    /// Number of the occurrence, among all.
    stamp: u64,
    /// Byte of the record where its start tag begins.
    at: usize,
    /// Position of the child that is likely next.
    guess: usize,
    list: Option<OpenList>,
    /// Text so far if the group has text, and the attributes of the element.
    text: Option<String>,
    nil: bool,
    escaped: bool,
}

/// A list that is open.
#[derive(Clone, Copy)]
struct OpenList {
    node: NodeId,
    /// Index of the next occurrence, which is the number of occurrences so far.
    next: usize,
    /// Byte of the record where the first occurrence begins.
    at: usize,
}

/// Form of a start tag: with or without an end tag.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Form {
    Empty,
    Open,
}

/// The record cannot be read further; a fault was noted.
struct Stopped;

impl<'x, S: Sink> Running<'_, 'x, S> {
    fn document(&mut self) {
        // Whatever stopped it, the document ends well formed and a fault says why.
        if self.walk().is_err() && self.faults.is_empty() {
            self.fault(XmlFaultKind::Syntax(Syntax::EndTag), self.at(), None);
        }
        while let Some(open) = self.open.pop() {
            self.leave(open);
        }
    }

    fn walk(&mut self) -> Result<(), Stopped> {
        loop {
            let at = self.at();
            match self.event()? {
                Event::Start(tag) => self.element(&tag, Form::Open, at)?,
                Event::Empty(tag) => self.element(&tag, Form::Empty, at)?,
                Event::End(_) => self.end()?,
                Event::Text(part) if self.holds_text() => self.add_text(&part.xml10_content()),
                Event::CData(part) if self.holds_text() => self.add_text(&part.xml10_content()),
                Event::GeneralRef(reference) if self.holds_text() => {
                    if let Some(text) = self.resolve(&reference, at, None) {
                        self.add_text(&text);
                    }
                }
                Event::Text(part) if part.trim_ascii().is_empty() => {}
                Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                    self.fault(XmlFaultKind::TextInGroup, at, None)
                }
                Event::Comment(_) | Event::PI(_) => {}
                Event::Decl(_) => self.fault(XmlFaultKind::Syntax(Syntax::Markup), at, None),
                Event::DocType(_) => self.fault(XmlFaultKind::Doctype, at, None),
                Event::Eof if self.open.is_empty() => return Ok(()),
                Event::Eof => {
                    self.fault(XmlFaultKind::Truncated, at, None);
                    return Err(Stopped);
                }
            }
        }
    }

    /// Returns the next event. XML that is not well-formed is reported and stops the record.
    fn event(&mut self) -> Result<Event<'x>, Stopped> {
        let start = self.at();
        let event = self.xml.read_event().map_err(|error| {
            let syntax = match error {
                Error::IllFormed(IllFormedError::UnclosedReference) => Syntax::Reference,
                Error::IllFormed(_) => Syntax::EndTag,
                _ => Syntax::Markup,
            };
            let at = usize::try_from(self.xml.error_position()).unwrap_or(0);
            self.fault(XmlFaultKind::Syntax(syntax), at, None);
            Stopped
        })?;
        if let Event::Text(part) = &event
            && let Some(at) = section_end(part.as_bytes())
        {
            self.fault(XmlFaultKind::Syntax(Syntax::SectionEnd), start + at, None);
        }
        Ok(event)
    }

    fn element(&mut self, tag: &BytesStart<'x>, form: Form, at: usize) -> Result<(), Stopped> {
        // Forgets the declarations of elements that ended before this one.
        let depth = self.open.len();
        while self.instance.pop_if(|declared| declared.depth >= depth).is_some() {}
        self.prefixes.leave(depth);
        let local = tag.local_name();
        let name = local.as_ref();
        let Some(group) = self.open.last().map(|open| open.node) else {
            let marks = self.marks(tag, Some(NodeId::ROOT), at);
            return self.root(name, tag, marks, form, at);
        };
        if self.refuses_elements() {
            self.fault(XmlFaultKind::NilWithContent, at, None);
            return self.skip(tag, form, at);
        }
        let node = self.find(name);
        let marks = self.marks(tag, node, at);
        let Some(node) = node else {
            self.ignored |= self.plan.ignore_unknown;
            if !self.ignored {
                let expected = self.similar(group, name);
                self.fault(XmlFaultKind::UnknownElement { name: short(name), expected }, at, None);
            }
            return self.skip(tag, form, at);
        };
        let occurrence = match self.place(node, at) {
            Ok(occurrence) => occurrence,
            Err(kind) => {
                self.fault(kind, at, Some((node, None)));
                return self.skip(tag, form, at);
            }
        };
        if let Some(kind) = self.other_type(node, &marks) {
            self.fault(kind, at, Some((node, occurrence)));
            return self.skip(tag, form, at);
        }
        if self.plan.shape.node(node).kind != NodeKind::Group {
            self.ignored |= self.plan.ignore_unknown && !marks.own.is_empty();
            for attribute in &marks.own {
                if self.plan.ignore_unknown {
                    self.check_reference(attribute, at);
                    continue;
                }
                let name = short(attribute.key.as_ref());
                self.fault(XmlFaultKind::Attribute { name }, at, Some((node, occurrence)));
            }
            return self.leaf(node, occurrence, marks, form, at);
        }
        if marks.nil && occurrence.is_none() && self.plan.text[node.index()].is_none() {
            // XML Schema part 1, clause 3.3.4: no content, but attributes.
            self.check_null(node, occurrence, at);
            let has_mandatory = self.plan.checks.as_ref().is_some_and(|checks| checks.has_attributes(node));
            if marks.own.is_empty() && !has_mandatory {
                self.sink.null_branch(node);
                return self.no_content(node, form, at);
            }
            self.enter(node, occurrence, &marks, at);
            let read = self.no_content(node, form, at);
            if let Some(open) = self.open.pop() {
                self.leave(open);
            }
            return read;
        }
        if marks.nil && occurrence.is_some() && self.plan.text[node.index()].is_none() {
            self.fault(XmlFaultKind::NilOccurrence, at, Some((node, occurrence)));
            return self.skip(tag, form, at);
        }
        self.enter(node, occurrence, &marks, at);
        if form == Form::Empty { self.end() } else { Ok(()) }
    }

    /// Returns the fault for an `xsi:type` that the shape does not allow at a node.
    fn other_type(&self, node: NodeId, marks: &Marks<'_>) -> Option<XmlFaultKind> {
        let name = marks.of_type.as_deref().filter(|name| !self.plan.has_type(node, name))?;
        Some(XmlFaultKind::OtherType { name: short(name) })
    }

    /// Reads up to the end of a null element, which has white space and comments in it at most.
    fn no_content(&mut self, node: NodeId, form: Form, at: usize) -> Result<(), Stopped> {
        if form == Form::Empty {
            return Ok(());
        }
        let mut is_wrong = false;
        loop {
            match self.event()? {
                Event::End(_) => break,
                Event::Comment(_) | Event::PI(_) => {}
                Event::Text(part) if part.trim_ascii().is_empty() => {}
                Event::Start(inner) => {
                    is_wrong = true;
                    self.skip(&inner, Form::Open, at)?;
                }
                Event::Eof => {
                    self.fault(XmlFaultKind::Truncated, at, Some((node, None)));
                    return Err(Stopped);
                }
                _ => is_wrong = true,
            }
        }
        if is_wrong {
            self.fault(XmlFaultKind::NilWithContent, at, Some((node, None)));
        }
        Ok(())
    }

    /// Reads the root element of the record.
    fn root(
        &mut self,
        name: &str,
        tag: &BytesStart<'x>,
        marks: Marks<'_>,
        form: Form,
        at: usize,
    ) -> Result<(), Stopped> {
        let record = &self.plan.names[0];
        if self.sent {
            self.fault(XmlFaultKind::Syntax(Syntax::Root), at, None);
            return Err(Stopped);
        }
        if name != record {
            let kind = XmlFaultKind::UnknownElement { name: short(name), expected: Some(record.clone()) };
            self.fault(kind, at, None);
            self.skip(tag, form, at)?;
            return Err(Stopped);
        }
        self.sent = true;
        let other = self.other_type(NodeId::ROOT, &marks);
        let null = (marks.nil && self.plan.text[0].is_none()).then_some(XmlFaultKind::NilOccurrence);
        if let Some(kind) = other.or(null) {
            self.fault(kind, at, None);
        }
        self.enter(NodeId::ROOT, None, &marks, at);
        if form == Form::Empty { self.end() } else { Ok(()) }
    }

    fn enter(&mut self, node: NodeId, occurrence: Option<usize>, marks: &Marks<'_>, at: usize) {
        *self.stamp += 1;
        let text = self.plan.text[node.index()].is_some().then(String::new);
        let (stamp, nil, escaped) = (*self.stamp, marks.nil, marks.escaped);
        self.open.push(OpenGroup { node, occurrence, stamp, at, guess: 0, list: None, text, nil, escaped });
        self.sink.enter(node);
        let mut sent = Vec::new();
        let holders = Holders::of(&marks.own);
        for attribute in &marks.own {
            let key = attribute.key.as_ref();
            let name = local_name(key);
            let found = self.plan.attribute(node, name);
            // Attributes with the same local name have different namespaces: the form of the tag has been checked.
            let holds = |child: &NodeId| {
                let is_of_xml = self.plan.is_of_xml[child.index()];
                let is_plain = name.len() == key.len() && !is_of_xml;
                // With a prefix, it is another attribute than one without a namespace (Namespaces in XML 1.0, clause 6.2).
                let is_other = self.plan.is_described
                    && name.len() < key.len()
                    && !key.starts_with("xml:")
                    && !self.plan.is_in_a_namespace[child.index()];
                is_plain || !(is_other || sent.contains(child) || holders.hide(attribute, is_of_xml))
            };
            let Some(child) = found.filter(holds) else {
                self.ignored |= self.plan.ignore_unknown;
                if self.plan.ignore_unknown {
                    self.check_reference(attribute, at);
                } else {
                    let name = short(if found.is_some() { key } else { name });
                    self.fault(XmlFaultKind::Attribute { name }, at, None);
                }
                continue;
            };
            sent.push(child);
            match attribute.normalized_value(XmlVersion::Implicit1_0) {
                Ok(value) if text::find_forbidden(&value).is_some() => {
                    self.fault(XmlFaultKind::Syntax(Syntax::Character), at, Some((child, None)));
                }
                Ok(value) => {
                    let escaped = marks.escaped_fields.contains(&child);
                    self.send(child, None, &Marks { escaped, ..Marks::default() }, (&value, None), at)
                }
                Err(_) => self.fault(XmlFaultKind::Entity, at, Some((child, None))),
            }
        }
        self.check_attributes(node, &sent, at);
        let plan = self.plan;
        for child in &plan.attributes[node.index()] {
            if let Some(default) = plan.default_of(*child)
                && !sent.contains(child)
            {
                self.send(*child, None, &Marks::default(), (default, None), at);
            }
        }
    }

    /// Ends the innermost group.
    fn end(&mut self) -> Result<(), Stopped> {
        if self.plan.checks.is_some() {
            self.check_elements();
        }
        let open = self.open.pop().ok_or(Stopped)?;
        self.leave(open);
        Ok(())
    }

    fn leave(&mut self, mut open: OpenGroup) {
        if let Some(list) = open.list {
            self.sink.close_list(list.node);
        }
        if let (Some(node), Some(text)) = (self.plan.text[open.node.index()], open.text.take()) {
            // Between elements, white space alone is not text.
            let between = !self.plan.children[open.node.index()].is_empty() && text.trim_ascii().is_empty();
            if !between || open.nil {
                let text = if between { "" } else { &*text };
                let marks = Marks { nil: open.nil, escaped: open.escaped, ..Marks::default() };
                let at = open.at;
                // The group is in the path of faults.
                self.open.push(open);
                self.send(node, None, &marks, (text, None), at);
                let Some(again) = self.open.pop() else { return };
                open = again;
            }
        }
        // A list without elements is present but empty, if that is allowed.
        for child in &self.plan.children[open.node.index()] {
            let may_be_empty = matches!(self.plan.shape.node(*child).occurs, Occurs::Many { min: 0, .. });
            if may_be_empty && self.seen[child.index()] != open.stamp {
                self.sink.open_list(*child);
                self.sink.close_list(*child);
            }
        }
        self.sink.leave(open.node);
    }

    /// Returns whether the innermost group is null and has a text, which is null then.
    fn refuses_elements(&self) -> bool {
        self.open.last().is_some_and(|open| open.nil && open.text.is_some())
    }

    /// Returns whether the innermost group has text beside elements.
    fn holds_text(&self) -> bool {
        self.open.last().is_some_and(|open| open.text.is_some())
    }

    fn add_text(&mut self, part: &str) {
        if let Some(text) = self.open.last_mut().and_then(|open| open.text.as_mut()) {
            text.push_str(part);
        }
    }

    /// Returns the child of the innermost group with this name.
    fn find(&mut self, name: &str) -> Option<NodeId> {
        let open = self.open.last_mut()?;
        let children = &self.plan.children[open.node.index()];
        // Elements mostly come in the order of the shape, so it is the child seen last (of a list) or the next one.
        for position in [open.guess, open.guess + 1] {
            if let Some(child) = children.get(position)
                && self.plan.names[child.index()] == name
            {
                open.guess = position;
                return Some(*child);
            }
        }
        let by_name = &self.plan.by_name[open.node.index()];
        let found = by_name.binary_search_by_key(&name, |id| self.plan.names[id.index()].as_str()).ok()?;
        let child = by_name[found];
        open.guess = children.binary_search(&child).unwrap_or(0);
        Some(child)
    }

    /// Opens or continues the child's list. Returns the number of the occurrence, for a list.
    fn place(&mut self, node: NodeId, at: usize) -> Result<Option<usize>, XmlFaultKind> {
        if self.plan.checks.is_some() {
            self.check_list_before(node);
        }
        let Some(open) = self.open.last_mut() else { return Ok(None) };
        if let Some(list) = &mut open.list {
            if list.node == node {
                list.next += 1;
                return Ok(Some(list.next - 1));
            }
            self.sink.close_list(list.node);
            open.list = None;
        }
        let is_list = self.plan.shape.node(node).is_list();
        if self.seen[node.index()] == open.stamp {
            return Err(if is_list { XmlFaultKind::Scattered } else { XmlFaultKind::Repeated });
        }
        self.seen[node.index()] = open.stamp;
        if is_list {
            self.sink.open_list(node);
            open.list = Some(OpenList { node, next: 1, at });
        }
        Ok(is_list.then_some(0))
    }

    fn leaf(
        &mut self,
        node: NodeId,
        occurrence: Option<usize>,
        marks: Marks<'_>,
        form: Form,
        at: usize,
    ) -> Result<(), Stopped> {
        let (text, start) = match form {
            Form::Empty => (Cow::Borrowed(""), None),
            Form::Open => self.content(node, occurrence)?,
        };
        self.send(node, occurrence, &marks, (&text, start), at);
        if let Cow::Owned(buffer) = text {
            *self.text = buffer;
        }
        Ok(())
    }

    fn send(
        &mut self,
        node: NodeId,
        occurrence: Option<usize>,
        marks: &Marks<'_>,
        (text, start): (&str, Option<usize>),
        at: usize,
    ) {
        if marks.nil {
            if !text.is_empty() {
                self.fault(XmlFaultKind::NilWithContent, at, Some((node, occurrence)));
            }
            self.check_null(node, occurrence, at);
            return self.sink.value(node, Value::Null);
        }
        if marks.escaped {
            return match text::read_escaped(text) {
                Some(text) => self.value(node, occurrence, Value::Text(text.as_bytes().into()), at),
                None => self.fault(XmlFaultKind::Escape, at, Some((node, occurrence))),
            };
        }
        let plan = self.plan;
        // An attribute that is there has a value, be it empty (XML Schema part 1, clauses 3.2.1 and 3.3.1).
        let (text, start) = match plan.default_of(node) {
            Some(default) if text.is_empty() && !plan.shape.node(node).name.starts_with('@') => (default, None),
            _ => (text, start),
        };
        let (text, start) = plan.spaced(node, text, start);
        let text = &*text;
        if let Some(Scalar::Bytes { .. }) = self.plan.shape.node(node).scalar() {
            return self.bytes(node, occurrence, text.trim_ascii(), at);
        }
        if let Some(Scalar::Bool) = self.plan.shape.node(node).scalar() {
            return match read_bool(text.trim_ascii().as_bytes()) {
                Some(truth) => self.sink.value(node, Value::Bool(truth)),
                None => self.fault(XmlFaultKind::NotBool, at, Some((node, occurrence))),
            };
        }
        // White space around a number means nothing (XML Schema part 2, whiteSpace of `decimal` and `double` is `collapse`).
        if let Some(scalar) = self.plan.shape.node(node).scalar() {
            let number = text.trim_ascii();
            // A decimal may end with its point (XML Schema part 2, clause 3.3.3).
            let number = match (scalar, number.strip_suffix('.')) {
                (Scalar::Decimal { .. }, Some(whole)) if whole.ends_with(|c: char| c.is_ascii_digit()) => whole,
                _ => number,
            };
            let text = number.as_bytes();
            if let Some(number) = read_number(scalar, text, &mut [0; _]) {
                if is_rounded_float(text, &number) {
                    self.rounded.add(node);
                }
                return self.value(node, occurrence, number, at);
            }
        }
        // Text that is unchanged in the record can be copied in blocks, because the bytes after it are known.
        let run = match start {
            Some(start) => Run::new(&self.record.raw[start..], text.len()),
            None => text.as_bytes().into(),
        };
        let ascii = text.bytes().all(|b| (0x20..0x7f).contains(&b));
        self.value(node, occurrence, if ascii { Value::Ascii(run) } else { Value::Text(run) }, at);
    }

    #[inline(always)]
    fn value(&mut self, node: NodeId, occurrence: Option<usize>, value: Value<'_>, at: usize) {
        if self.plan.checks.is_some() {
            self.check_value(node, occurrence, value, at);
        }
        self.sink.value(node, value);
    }

    /// Reads bytes as the writer writes them: hexadecimal digits, after `0x` if they are not a valid value of the node.
    fn bytes(&mut self, node: NodeId, occurrence: Option<usize>, text: &str, at: usize) {
        let (digits, is_raw) = match text.strip_prefix("0x") {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        match quayline_core::from_hex(digits) {
            Some(bytes) if is_raw => self.sink.value(node, Value::Raw(&bytes)),
            Some(bytes) => self.value(node, occurrence, Value::Bytes(&bytes), at),
            None => self.fault(XmlFaultKind::Hex, at, Some((node, occurrence))),
        }
    }

    /// Returns the text up to a leaf's end tag, and its place in the record if it is unchanged there.
    fn content(&mut self, node: NodeId, occurrence: Option<usize>) -> Result<(Cow<'x, str>, Option<usize>), Stopped> {
        let mut first: Option<(Cow<'x, str>, Option<usize>)> = None;
        let mut parts = 0;
        loop {
            let at = self.at();
            let (part, start) = match self.event()? {
                Event::End(_) => break,
                Event::Text(part) => {
                    let text = part.xml10_content();
                    let start = matches!(text, Cow::Borrowed(_)).then_some(at);
                    (text, start)
                }
                Event::CData(part) => (part.xml10_content(), None),
                Event::GeneralRef(reference) => match self.resolve(&reference, at, Some((node, occurrence))) {
                    Some(text) => (text, None),
                    None => continue,
                },
                Event::Start(tag) => {
                    let local = tag.local_name();
                    let kind = XmlFaultKind::UnknownElement { name: short(local.as_ref()), expected: None };
                    self.fault(kind, at, Some((node, occurrence)));
                    self.skip(&tag, Form::Open, at)?;
                    continue;
                }
                Event::Empty(tag) => {
                    let local = tag.local_name();
                    let kind = XmlFaultKind::UnknownElement { name: short(local.as_ref()), expected: None };
                    self.fault(kind, at, Some((node, occurrence)));
                    continue;
                }
                Event::Comment(_) | Event::PI(_) => continue,
                Event::Decl(_) => {
                    self.fault(XmlFaultKind::Syntax(Syntax::Markup), at, Some((node, occurrence)));
                    continue;
                }
                Event::DocType(_) => {
                    self.fault(XmlFaultKind::Doctype, at, Some((node, occurrence)));
                    continue;
                }
                Event::Eof => {
                    self.fault(XmlFaultKind::Truncated, at, Some((node, occurrence)));
                    return Err(Stopped);
                }
            };
            parts += 1;
            if parts == 1 {
                first = Some((part, start));
                continue;
            }
            if let Some((before, _)) = first.take() {
                self.text.clear();
                self.text.push_str(&before);
            }
            self.text.push_str(&part);
        }
        if parts > 1 {
            return Ok((Cow::Owned(core::mem::take(self.text)), None));
        }
        Ok(first.unwrap_or((Cow::Borrowed(""), None)))
    }

    fn resolve(
        &mut self,
        reference: &BytesRef<'x>,
        at: usize,
        leaf: Option<(NodeId, Option<usize>)>,
    ) -> Option<Cow<'x, str>> {
        let named = match &**reference {
            "lt" => Some("<"),
            "gt" => Some(">"),
            "amp" => Some("&"),
            "apos" => Some("'"),
            "quot" => Some("\""),
            _ => None,
        };
        if let Some(text) = named {
            return Some(Cow::Borrowed(text));
        }
        if !reference.is_char_ref() {
            self.fault(XmlFaultKind::Entity, at, leaf);
            return None;
        }
        match reference.resolve_char_ref() {
            Ok(Some(c)) if text::is_allowed(c) => Some(Cow::Owned(c.to_string())),
            _ => {
                self.fault(XmlFaultKind::Syntax(Syntax::Character), at, leaf);
                None
            }
        }
    }

    /// Skips an element with its content, which must be well-formed too (XML 1.0, clause 4.1, Entity Declared).
    fn skip(&mut self, tag: &BytesStart<'x>, form: Form, from: usize) -> Result<(), Stopped> {
        self.check_references(tag, from);
        let mut depth = u64::from(form == Form::Open);
        while depth > 0 {
            let at = self.at();
            match self.event()? {
                Event::Start(tag) => {
                    self.check_references(&tag, at);
                    depth += 1;
                }
                Event::Empty(tag) => self.check_references(&tag, at),
                Event::End(_) => depth -= 1,
                Event::GeneralRef(reference) => drop(self.resolve(&reference, at, None)),
                Event::Text(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) => {}
                Event::Decl(_) => self.fault(XmlFaultKind::Syntax(Syntax::Markup), at, None),
                Event::DocType(_) => self.fault(XmlFaultKind::Doctype, at, None),
                Event::Eof => {
                    self.fault(XmlFaultKind::Syntax(Syntax::EndTag), from, None);
                    return Err(Stopped);
                }
            }
        }
        Ok(())
    }

    /// Reports malformed attributes of an element that is skipped, and references to undeclared entities in them.
    fn check_references(&mut self, tag: &BytesStart<'x>, at: usize) {
        self.check_markup(tag, at);
        for attribute in tag.attributes() {
            match attribute {
                Ok(attribute) => self.check_reference(&attribute, at),
                Err(_) => return self.fault(XmlFaultKind::Syntax(Syntax::AttributeForm), at, None),
            }
        }
    }

    fn check_reference(&mut self, attribute: &Attribute<'_>, at: usize) {
        if !attribute.value.contains('&') {
            return;
        }
        match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Err(_) => self.fault(XmlFaultKind::Entity, at, None),
            Ok(value) if text::find_forbidden(&value).is_some() => {
                self.fault(XmlFaultKind::Syntax(Syntax::Character), at, None);
            }
            Ok(_) => {}
        }
    }

    /// Returns a child of the group whose name differs from `name` only in case or in `_` instead of `-`.
    fn similar(&self, group: NodeId, name: &str) -> Option<String> {
        let plain = |name: &str| name.replace('_', "-").to_ascii_uppercase();
        let wanted = plain(name);
        let names = self.plan.children[group.index()].iter().map(|id| &self.plan.names[id.index()]);
        names.into_iter().find(|known| plain(known) == wanted).cloned()
    }

    /// Returns the byte of the record where the next event begins.
    fn at(&self) -> usize {
        usize::try_from(self.xml.buffer_position()).unwrap_or(0)
    }

    #[cold]
    fn fault(&mut self, kind: XmlFaultKind, at: usize, leaf: Option<(NodeId, Option<usize>)>) {
        if self.faults.len() >= self.faults_max {
            return;
        }
        let groups = self.open.iter().skip(1).map(|open| (open.node, open.occurrence));
        let parts = groups.chain(leaf).map(|(node, occurrence)| {
            let name = &self.plan.shape.node(node).name;
            occurrence.map_or_else(|| name.clone(), |n| format!("{name}[{n}]"))
        });
        let path = parts.collect::<Vec<_>>().join(".");
        let before = &self.record.raw[..at.min(self.record.raw.len())];
        self.faults.push(XmlFault { kind, at: self.record.at.behind(before), path });
    }
}

/// Returns the place of `]]>`, which text may not have (XML 1.0, production 14).
fn section_end(text: &[u8]) -> Option<usize> {
    // Few texts have a bracket.
    if text.contains(&b']') { text.windows(3).position(|window| window == b"]]>") } else { None }
}
