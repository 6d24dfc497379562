//! Records of several types: a document becomes a record and those nested in it.

use core::ops::Range;

use quayline_cobol::{RecordEncoder, RecordNote};
use quayline_core::{Fault, Finding, NodeId, Place, Sink, Value};
use quayline_project::{Found, RecordTypes};

use crate::codes;
use crate::repeats::Repeats;
use crate::revocable::Revocable as _;
use crate::sink::map::{AnyPart, RecordPart};
use crate::sink::record::{DocumentEncoder, Framed, findings};

/// Routes the events of a document to the encoders of its records.
pub(crate) struct TypedEncoder<'s> {
    types: &'s RecordTypes,
    /// The type whose group a node is, if any.
    group_of: Vec<Option<u16>>,
    encoders: Vec<Option<RecordEncoder>>,
    open: Vec<Open>,
    /// Bodies of the document's records, each after those nested in it.
    bodies: Vec<u8>,
    /// The records as the document has them: parents before their children.
    records: Vec<Written>,
    /// True if a record has an explicit position among the others.
    has_places: bool,
    findings: Vec<Finding>,
    /// Notes on the records, each with its type.
    notes: Vec<(usize, RecordNote)>,
}

/// A record of the document.
#[derive(Clone, Debug)]
struct Written {
    /// Range of its bytes in `bodies`.
    body: Range<usize>,
    /// The record that it is nested in, by its place in `records`.
    parent: Option<usize>,
    /// Position in the original file, kept in `_preserve`.
    place: Option<u64>,
}

/// A record whose group is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    of_type: usize,
    group: NodeId,
    /// Index in `records`.
    index: usize,
}

impl<'s> TypedEncoder<'s> {
    pub(crate) fn new(types: &'s RecordTypes, nodes: usize) -> Self {
        let mut group_of = vec![None; nodes];
        let mut encoders = Vec::new();
        for index in 0..types.count() {
            let plan = types.plan(index);
            if plan.is_some() {
                group_of[types.group(index).index()] = u16::try_from(index).ok();
            }
            encoders.push(plan.map(RecordEncoder::of_files));
        }
        TypedEncoder {
            types,
            group_of,
            encoders,
            open: Vec::new(),
            bodies: Vec::new(),
            records: Vec::new(),
            has_places: false,
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the records in the order of the original file. Children of each parent are sorted by position; a record without a
    /// position follows its predecessor in the document.
    fn in_places(&self) -> Vec<usize> {
        let mut children: Vec<Vec<(u64, usize)>> = vec![Vec::new(); self.records.len()];
        let mut roots = Vec::new();
        for (index, record) in self.records.iter().enumerate() {
            let siblings = record.parent.map_or(&mut roots, |parent| &mut children[parent]);
            let place = record.place.or(siblings.last().map(|(place, _)| *place)).unwrap_or(0);
            siblings.push((place, index));
        }
        roots.sort_by_key(|(place, _)| *place);
        let mut order = Vec::with_capacity(self.records.len());
        let mut open: Vec<usize> = roots.into_iter().rev().map(|(_, index)| index).collect();
        while let Some(index) = open.pop() {
            order.push(index);
            let mut below = core::mem::take(&mut children[index]);
            below.sort_by_key(|(place, _)| *place);
            open.extend(below.into_iter().rev().map(|(_, index)| index));
        }
        order
    }

    /// Takes the place of a record off the text of its `_preserve`: `#` and a number, then the bytes that are kept.
    #[cold]
    fn placed(&mut self, text: &[u8]) -> Option<usize> {
        let digits = text.strip_prefix(b"#")?;
        let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let place = core::str::from_utf8(&digits[..len]).ok()?.parse().ok()?;
        let behind = match digits.get(len) {
            None => len + 1,
            Some(b';') => len + 2,
            Some(_) => return None,
        };
        let open = self.open.last()?;
        self.records[open.index].place = Some(place);
        self.has_places = true;
        Some(behind)
    }

    /// Returns the encoder of the innermost open record, and the node in its shape.
    #[inline]
    fn inner(&mut self, node: NodeId) -> Option<(&mut RecordEncoder, NodeId)> {
        let open = self.open.last()?;
        let encoder = self.encoders[open.of_type].as_mut()?;
        Some((encoder, NodeId(node.0 - open.group.0)))
    }

    /// Returns true if a node is the `_preserve` member of the innermost open record.
    fn is_preserve(&self, node: NodeId) -> bool {
        let plan = self.open.last().and_then(|open| Some((open.group, self.types.plan(open.of_type)?)));
        plan.is_some_and(|(group, plan)| plan.preserve_node().is_some_and(|own| group.0 + own.0 == node.0))
    }

    fn begin(&mut self, of_type: usize, group: NodeId) {
        let parent = self.open.last().map(|open| open.index);
        self.open.push(Open { of_type, group, index: self.records.len() });
        self.records.push(Written { body: 0..0, parent, place: None });
        if let Some(encoder) = &mut self.encoders[of_type] {
            encoder.enter(NodeId::ROOT);
        }
    }

    fn end(&mut self) {
        let Some(Open { of_type, index, .. }) = self.open.pop() else { return };
        let (Some(encoder), Some(plan)) = (&mut self.encoders[of_type], self.types.plan(of_type)) else { return };
        encoder.leave(NodeId::ROOT);
        self.notes.extend(encoder.notes().iter().map(|note| (of_type, *note)));
        match encoder.take() {
            Ok(body) => {
                // A type field that the document gives may be that of another type.
                let read_as = self.types.find(body);
                if read_as != Found::Type(of_type) {
                    self.findings.push(other_type(self.types, of_type, read_as));
                }
                let start = self.bodies.len();
                self.bodies.extend_from_slice(body);
                self.records[index].body = start..self.bodies.len();
            }
            Err(faults) => {
                let name = self.types.name(of_type);
                for mut finding in findings(&faults, plan) {
                    finding.place.path = finding.place.path.map(|path| format!("{name}: {path}"));
                    self.findings.push(finding);
                }
            }
        }
    }

    fn clear(&mut self) {
        self.open.clear();
        self.bodies.clear();
        self.records.clear();
        self.has_places = false;
        self.findings.clear();
        self.notes.clear();
    }
}

/// Creates the finding for a record whose bytes identify another type than its document.
#[cold]
fn other_type(types: &RecordTypes, of_type: usize, read_as: Found) -> Finding {
    let other = match read_as {
        Found::Type(index) => format!("would be read as {}", types.name(index)),
        Found::Skip | Found::SkipUnknown => "would be left out when it is read".to_owned(),
        Found::Unknown => "would be of no known type".to_owned(),
    };
    let own = types.name(of_type);
    let is_set = types.sets_type(of_type);
    let what =
        if is_set { "the field that says the type contradicts" } else { "the bytes that say the type contradict" };
    let message = format!("{what} {own}: the record {other}");
    let hint = match types.discriminator(of_type) {
        _ if is_set => "leave the field out of the document: it is set from the type".to_owned(),
        Some(bytes) => format!("set the fields of these bytes: {bytes}"),
        None => "set the fields that say the type to a value that no other type has".to_owned(),
    };
    Finding::error(codes::OTHER_TYPE, Fault::Sender, message)
        .at(Place { path: Some(own.to_owned()), ..Place::default() })
        .hint(hint)
}

impl Sink for TypedEncoder<'_> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.clear();
        } else if let Some(of_type) = self.group_of[node.index()] {
            self.begin(of_type.into(), node);
        } else if let Some((encoder, node)) = self.inner(node) {
            encoder.enter(node);
        }
    }

    fn leave(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
        } else if self.group_of[node.index()].is_some() {
            self.end();
        } else if let Some((encoder, node)) = self.inner(node) {
            encoder.leave(node);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.open_list(node);
        }
    }

    fn close_list(&mut self, node: NodeId) {
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.close_list(node);
        }
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let Value::Ascii(run) | Value::Text(run) = value
            && run.bytes().first() == Some(&b'#')
            && self.is_preserve(node)
            && let Some(behind) = self.placed(run.bytes())
        {
            let rest = run.bytes().get(behind..).unwrap_or_default();
            if let (false, Some((encoder, node))) = (rest.is_empty(), self.inner(node)) {
                encoder.value(node, Value::Ascii(rest.into()));
            }
            return;
        }
        if let Some((encoder, node)) = self.inner(node) {
            encoder.value(node, value);
        }
    }

    fn null_branch(&mut self, node: NodeId) {
        // A null record is absent; its content would form a separate record.
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.null_branch(node);
        }
    }

    fn discard(&mut self) {
        self.clear();
    }
}

impl DocumentEncoder for TypedEncoder<'_> {
    fn frame(&mut self, framed: &mut Framed) -> Result<(), Vec<Finding>> {
        if !self.findings.is_empty() {
            return Err(core::mem::take(&mut self.findings));
        }
        if self.records.is_empty() {
            let finding = Finding::error(codes::NO_RECORD, Fault::Sender, "the document holds no record");
            return Err(vec![finding.hint("give it one member, named after a record type and holding its fields")]);
        }
        let mark = if self.records.len() > 1 {
            let Ok(mark) = framed.mark();
            Some(mark)
        } else {
            None
        };
        let order = if self.has_places { self.in_places() } else { (0..self.records.len()).collect() };
        for record in order {
            if let Err(found) = framed.add(&self.bodies[self.records[record].body.clone()]) {
                if let Some(mark) = mark {
                    let Ok(()) = framed.back_to(mark);
                }
                return Err(found);
            }
        }
        Ok(())
    }

    fn add_repeats(&self, repeats: &mut Repeats, place: impl Fn() -> Place) {
        for (of_type, note) in &self.notes {
            if let Some(plan) = self.types.plan(*of_type) {
                repeats.add_notes(plan, *of_type, core::slice::from_ref(note), &place());
            }
        }
    }

    fn any<'s>(part: RecordPart<Self>) -> AnyPart<'s>
    where
        Self: 's,
    {
        AnyPart::Typed(Box::new(part))
    }
}
