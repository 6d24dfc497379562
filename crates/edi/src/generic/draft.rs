//! Drafts of documents for an interchange: the events that a sink received, in reusable arenas.

use std::sync::Arc;

use quayline_core::{NodeId, Sink, Value, write_number};

use super::shape::Nodes;
use super::write_error::EdiWriteError;
use crate::delimiters::Standard;
use crate::documents::{GuideDocuments, GuideDraft};
use crate::envelope::{OF_GROUP, dates_have_century, header_fields};
use crate::level::Level;

/// A generic document that is complete but not yet written: [`EdiDrafter`] makes it, [`super::EdiWriter::write`] writes it. Therefore documents can
/// be made and written by different threads.
#[derive(Clone, Debug)]
pub struct EdiDraft {
    pub(super) draft: Draft,
    pub(super) errors: Vec<EdiWriteError>,
}

impl EdiDraft {
    /// Bytes of memory that it takes, about.
    #[must_use]
    pub fn memory(&self) -> usize {
        let draft = &self.draft;
        size_of::<Self>()
            + draft.fields.capacity() * size_of::<Option<Span>>()
            + draft.text.capacity()
            + draft.segments.capacity() * size_of::<DraftSegment>()
            + draft.parts.capacity() * size_of::<Part>()
            + draft.slots.capacity() * size_of::<Slot>()
    }
}

/// Takes documents of [`super::generic_shape`] and hands them out whole.
#[derive(Clone, Debug)]
pub struct EdiDrafter {
    pub(super) nodes: Arc<Nodes>,
    /// Number of nodes of generic documents; the later nodes belong to guides and are no header fields.
    len: usize,
    pub(super) draft: Draft,
    /// Forms that the current element has, one bit each. An empty list is absent, because XML cannot distinguish the two.
    forms: u32,
    parts_from: u32,
    pub(super) errors: Vec<EdiWriteError>,
    complete: bool,
    /// Last generic node; nodes after it belong to guides.
    last: NodeId,
    guide: Option<Box<GuideDraft>>,
}

const VALUE: u32 = 1;
const COMPONENTS: u32 = 2;
const REPETITIONS: u32 = 4;
const BINARY: u32 = 8;

impl EdiDrafter {
    pub(super) fn of(nodes: Arc<Nodes>) -> Self {
        EdiDrafter {
            last: nodes.binary,
            len: nodes.binary.index() + 1,
            draft: Draft::new(nodes.binary.index() + 1),
            nodes,
            forms: 0,
            parts_from: 0,
            errors: Vec::new(),
            complete: false,
            guide: None,
        }
    }

    /// Creates a drafter of documents by guide; a writer with the same guides writes them.
    #[must_use]
    pub fn by_guide(documents: &Arc<GuideDocuments>) -> Self {
        let mut drafter = EdiDrafter::of(Arc::clone(&documents.nodes));
        drafter.guide = Some(Box::new(GuideDraft::new(documents)));
        drafter
    }

    /// Creates a drafter of generic documents.
    #[must_use]
    pub fn new() -> Self {
        EdiDrafter::of(Arc::new(Nodes::build().1))
    }

    /// Returns the last document if it is complete and was not discarded. `used` is a written draft whose memory is reused.
    pub fn take(&mut self, used: Option<EdiDraft>) -> Option<EdiDraft> {
        if !core::mem::take(&mut self.complete) {
            return None;
        }
        let mut other = used.map_or_else(|| Draft::new(self.len), |used| used.draft);
        core::mem::swap(&mut other, &mut self.draft);
        Some(EdiDraft { draft: other, errors: core::mem::take(&mut self.errors) })
    }

    /// Restores a taken draft as the last document, so that its header can be filled and it can be taken again.
    pub fn put_back(&mut self, draft: EdiDraft) {
        (self.draft, self.errors, self.complete) = (draft.draft, draft.errors, true);
    }
}

impl EdiDrafter {
    /// Sets a header field of the last document if it has no value; a group is then written. `level` and `name` are those of
    /// [`crate::header_fields`], such as `sender` of the interchange. Returns false if the field does not exist.
    pub fn fill(&mut self, level: Level, name: &str, text: &[u8]) -> bool {
        let nodes = match level {
            Level::Interchange => &self.nodes.interchange,
            Level::Group => &self.nodes.group,
            Level::Transaction => &self.nodes.transaction,
        };
        let standards = [Standard::X12, Standard::Edifact];
        let found: Vec<NodeId> = standards
            .into_iter()
            .flat_map(|standard| header_fields(standard, level).iter().zip(nodes.fields(standard)))
            .filter(|(field, _)| field.name == name)
            .map(|(_, node)| *node)
            .collect();
        let replaces_usual = (level, name) == (Level::Group, "agency")
            && !text.is_empty()
            && core::mem::take(&mut self.draft.has_usual_agency);
        for node in &found {
            if self.draft.field(*node).is_empty() || replaces_usual {
                self.draft.set_field(*node, text);
            }
        }
        self.draft.has_group |= level == Level::Group && !found.is_empty();
        !found.is_empty()
    }

    /// Returns the value of a header field of the last document without trailing spaces; empty without the field.
    #[must_use]
    pub fn field(&self, level: Level, name: &str) -> &[u8] {
        let nodes = match level {
            Level::Interchange => &self.nodes.interchange,
            Level::Group => &self.nodes.group,
            Level::Transaction => &self.nodes.transaction,
        };
        let of = |standard| header_fields(standard, level).iter().zip(nodes.fields(standard));
        let fields =
            [Standard::X12, Standard::Edifact].into_iter().flat_map(of).filter(|(field, _)| field.name == name);
        fields.map(|(_, node)| self.draft.field(*node).trim_ascii_end()).find(|text| !text.is_empty()).unwrap_or(b"")
    }

    /// Completes the group of the last document. Every X12 document gets one, with sender and receiver of its interchange. A group that an EDIFACT
    /// document already has gets the parties of the interchange and the type of the message, before syntax version 4, which requires neither.
    pub fn fill_group(&mut self, standard: Standard) {
        let is_required = standard == Standard::X12
            || self.draft.has_group && self.field(Level::Interchange, "syntax_version") != b"4";
        if !is_required {
            return;
        }
        for (party, qualifier) in [("sender", "sender_qualifier"), ("receiver", "receiver_qualifier")] {
            self.fill_from(Level::Interchange, party, party);
            // An address is a pair: with the qualifier of another party it would identify neither.
            let is_same = self.field(Level::Group, party) == self.field(Level::Interchange, party);
            if standard == Standard::Edifact && is_same {
                self.fill_from(Level::Interchange, qualifier, qualifier);
            }
        }
        if standard == Standard::Edifact {
            for (of_message, of_group) in OF_GROUP {
                self.fill_from(Level::Transaction, of_message, of_group);
            }
        }
        self.draft.has_group = true;
    }

    /// Sets a header field of the group to that of another header, unless the group has a value or the other header has none.
    fn fill_from(&mut self, level: Level, name: &str, of_group: &str) {
        let text = self.field(level, name).to_vec();
        if !text.is_empty() {
            self.fill(Level::Group, of_group, &text);
        }
    }

    /// Sets date and time in the headers of the last document that have none. `date` is `CCYYMMDD`; a header whose version has no century gets the
    /// last six digits. `time` is `HHMM`.
    pub fn fill_time(&mut self, standard: Standard, date: &[u8; 8], time: &[u8; 4]) {
        for level in [Level::Interchange, Level::Group] {
            let has_century = match (standard, level) {
                (Standard::X12, Level::Group) => dates_have_century(self.field(level, "version")) != Some(false),
                (Standard::X12, _) => false,
                (Standard::Edifact, _) => self.field(Level::Interchange, "syntax_version") == b"4",
            };
            if level == Level::Interchange || self.draft.has_group {
                self.fill(level, "date", if has_century { date } else { &date[2..] });
                self.fill(level, "time", time);
            }
        }
    }
}

impl Default for EdiDrafter {
    fn default() -> Self {
        EdiDrafter::new()
    }
}

impl Sink for EdiDrafter {
    fn enter(&mut self, node: NodeId) {
        if node > self.last
            && let Some(guide) = &mut self.guide
        {
            return guide.enter(node);
        }
        let nodes = &self.nodes;
        if node == NodeId::ROOT {
            if let Some(guide) = &mut self.guide {
                guide.clear();
            }
            self.draft.clear();
            self.errors.clear();
            self.complete = false;
        } else if node == nodes.group.group {
            self.draft.has_group = true;
        } else if node == nodes.transaction.group {
            self.draft.has_transaction = true;
        } else if node == nodes.segments {
            self.parts_from = number(self.draft.parts.len());
            self.draft.segments.push(DraftSegment::default());
        } else if node == nodes.elements {
            self.forms = 0;
            self.draft.parts.push(Part::Element);
        } else if node == nodes.repetitions {
            self.forms |= REPETITIONS;
            self.draft.parts.push(Part::Repetition);
        }
    }

    fn leave(&mut self, node: NodeId) {
        if node > self.last
            && let Some(guide) = &mut self.guide
        {
            if let Err(error) = guide.leave(node, &mut self.draft.text) {
                self.errors.push(error);
            }
            return;
        }
        if node == self.nodes.segments {
            let parts = Content::Parts(self.parts_from, number(self.draft.parts.len()));
            if let Some(segment) = self.draft.segments.last_mut() {
                segment.content = parts;
            }
        } else if node == self.nodes.elements {
            if self.forms.count_ones() > 1 {
                self.errors.push(EdiWriteError::Element);
            }
        } else if node == NodeId::ROOT {
            if let Some(guide) = &mut self.guide
                && let Err(error) = guide.finish(&mut self.draft, &mut self.errors)
            {
                self.errors.push(error);
            }
            if self.draft.is_too_long() {
                self.errors.push(EdiWriteError::TooLong);
            }
            self.complete = true;
        }
    }

    fn open_list(&mut self, node: NodeId) {
        if let Some(guide) = &mut self.guide
            && node > self.last
        {
            guide.open_list(node);
        }
    }

    fn close_list(&mut self, node: NodeId) {
        if let Some(guide) = &mut self.guide
            && node > self.last
        {
            guide.close_list(node);
        }
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if node > self.last
            && let Some(guide) = &mut self.guide
        {
            if let Err(error) = guide.value(node, value, &mut self.draft.text) {
                self.errors.push(error);
            }
            return;
        }
        let mut number = Vec::new();
        let nodes = &self.nodes;
        let text: &[u8] = match value {
            // A null in a list keeps the places of the components after it.
            Value::Null if node == nodes.components || node == nodes.repetition_components => b"",
            Value::Null => return,
            Value::Text(run) | Value::Ascii(run) => run.bytes(),
            Value::Bytes(bytes) | Value::Raw(bytes) => bytes,
            Value::Bool(true) => b"true",
            Value::Bool(false) => b"false",
            other => {
                if write_number(&mut number, other).is_none() {
                    return;
                }
                &number
            }
        };
        if node < nodes.segments {
            self.draft.set_field(node, text);
            return;
        }
        let range = self.draft.keep(text);
        if node == nodes.tag {
            if let Some(segment) = self.draft.segments.last_mut() {
                segment.tag = range;
            }
        } else if node == nodes.binary {
            self.forms |= BINARY;
            self.draft.parts.push(Part::Binary(range));
        } else {
            if node == nodes.value {
                self.forms |= VALUE;
            } else if node == nodes.components {
                self.forms |= COMPONENTS;
            }
            self.draft.parts.push(Part::Component(range));
        }
    }

    fn discard(&mut self) {
        self.complete = false;
    }
}

/// The document so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// Values of header leaves by node.
    fields: Vec<Option<Span>>,
    pub(crate) text: Vec<u8>,
    pub(crate) segments: Vec<DraftSegment>,
    /// Parts of generic segments.
    parts: Vec<Part>,
    /// Values of segments by guide.
    pub(crate) slots: Vec<Slot>,
    pub(crate) has_group: bool,
    pub(crate) has_transaction: bool,
    /// True if GS07 has its default value, which a value for the header replaces.
    pub(crate) has_usual_agency: bool,
}

/// Bytes of a draft's text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    pub(crate) const EMPTY: Span = Span { start: 0, len: 0 };

    /// Returns the span from `start` to the end of the text. For a text above 4 GiB, which no writer receives, the result is arbitrary.
    pub(crate) fn behind(start: usize, text: &[u8]) -> Self {
        Span { start: number(start), len: number(text.len() - start) }
    }

    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        let start = self.start as usize;
        text.get(start..start + self.len as usize).unwrap_or_default()
    }
}

/// Converts an index in a draft; [`u32::MAX`] if the draft is too large to be written.
pub(crate) fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// One segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DraftSegment {
    pub(crate) tag: Span,
    pub(crate) content: Content,
}

/// Content of a segment, as a range of indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// Numbers of parts.
    Parts(u32, u32),
    /// Numbers of slots.
    Slots(u32, u32),
}

impl Default for Content {
    fn default() -> Self {
        Content::Parts(0, 0)
    }
}

/// A value of a segment with its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) text: Span,
    /// Repetition, from 0.
    pub(crate) repetition: u32,
    /// Element, from 1.
    pub(crate) element: u8,
    /// Component, from 1; 0 for a simple element.
    pub(crate) component: u8,
    pub(crate) form: Form,
}

/// Form in which a value is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    Text,
    /// A number, with a point before its decimal places.
    Number,
    /// Unchanged bytes.
    Binary,
}

/// One step in writing a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// An element begins.
    Element,
    /// A repetition of the element begins, the first too.
    Repetition,
    /// A component, the first too: its text.
    Component(Span),
    /// A component that is a number, with a point before its decimal places.
    Number(Span),
    /// Bytes that are written unchanged.
    Binary(Span),
}

impl Draft {
    pub(super) fn new(nodes: usize) -> Self {
        Draft { fields: vec![None; nodes], ..Draft::default() }
    }

    pub(super) fn clear(&mut self) {
        self.fields.fill(None);
        self.text.clear();
        self.segments.clear();
        self.parts.clear();
        self.slots.clear();
        self.has_group = false;
        self.has_transaction = false;
        self.has_usual_agency = false;
    }

    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        span.of(&self.text)
    }

    /// Returns true if a count exceeds the range of its indexes.
    fn is_too_long(&self) -> bool {
        [self.text.len(), self.parts.len(), self.slots.len()].into_iter().any(|len| u32::try_from(len).is_err())
    }

    /// Returns the parts of a segment in writing order; `scratch` is reusable memory.
    pub(super) fn parts<'d>(&'d self, segment: DraftSegment, scratch: &'d mut Vec<Part>) -> &'d [Part] {
        match segment.content {
            Content::Parts(from, to) => &self.parts[from as usize..to as usize],
            Content::Slots(from, to) => {
                scratch.clear();
                put_parts(&self.slots[from as usize..to as usize], scratch);
                scratch
            }
        }
    }

    /// Returns a header field; empty if it is absent.
    pub(crate) fn field(&self, node: NodeId) -> &[u8] {
        self.fields[node.index()].map_or(b"", |span| self.bytes(span))
    }

    /// Returns the page number of the document in its transaction, from 1.
    pub(crate) fn page(&self, node: NodeId) -> Result<u64, EdiWriteError> {
        match self.field(node) {
            b"" => Ok(1),
            text => {
                let number = core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                number.filter(|page| *page > 0).ok_or(EdiWriteError::Page { page: 0 })
            }
        }
    }

    pub(crate) fn set_field(&mut self, node: NodeId, text: &[u8]) {
        let span = self.keep(text);
        self.fields[node.index()] = Some(span);
    }

    pub(crate) fn keep(&mut self, text: &[u8]) -> Span {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        Span::behind(start, &self.text)
    }

    /// Returns true if data or a header field contains a byte; binary data is excluded.
    pub(super) fn holds(&self, byte: u8) -> bool {
        let inside = |span: Span| memchr::memchr(byte, self.bytes(span)).is_some();
        let parts = self.parts.iter().any(|part| match part {
            Part::Component(span) | Part::Number(span) => inside(*span),
            Part::Element | Part::Repetition | Part::Binary(_) => false,
        });
        let slots = || self.slots.iter().any(|slot| slot.form != Form::Binary && inside(slot.text));
        parts || slots() || self.fields.iter().flatten().any(|span| inside(*span))
    }
}

/// Appends elements, repetitions and components up to the last non-empty one.
fn put_parts(slots: &[Slot], parts: &mut Vec<Part>) {
    let (mut element, mut repetition, mut component) = (0u8, 0u32, 0u8);
    for (i, slot) in slots.iter().enumerate() {
        if slot.element != element {
            while element < slot.element {
                parts.push(Part::Element);
                element += 1;
            }
            (repetition, component) = (0, 0);
            let repeats =
                slots[i..].iter().take_while(|other| other.element == element).any(|other| other.repetition > 0);
            if repeats {
                parts.push(Part::Repetition);
            }
        }
        while repetition < slot.repetition {
            parts.push(Part::Repetition);
            repetition += 1;
            component = 0;
        }
        while component + 1 < slot.component {
            parts.push(Part::Component(Span::EMPTY));
            component += 1;
        }
        component = slot.component;
        parts.push(match slot.form {
            Form::Text => Part::Component(slot.text),
            Form::Number => Part::Number(slot.text),
            Form::Binary => Part::Binary(slot.text),
        });
    }
}
