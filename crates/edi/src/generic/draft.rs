//! A document on its way to an interchange: what a sink was sent, in arenas that are used again.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{NodeId, Sink, Value, write_number};

use super::shape::Nodes;
use super::write_error::EdiWriteError;
use crate::guide::{GuideDocuments, GuideDraft};

/// A generic document that was sent and not yet written: [`EdiDrafter`] makes it, [`super::EdiWriter::write`] writes it. So what makes the
/// documents and what writes them may be different threads.
#[derive(Clone, Debug)]
pub struct EdiDraft {
    pub(super) draft: Draft,
    pub(super) errors: Vec<EdiWriteError>,
}

/// Takes documents of [`super::generic_shape`] and hands them out whole.
#[derive(Clone, Debug)]
pub struct EdiDrafter {
    pub(super) nodes: Arc<Nodes>,
    len: usize,
    pub(super) draft: Draft,
    /// Forms that the current element has, a bit each. An empty list is none: XML cannot tell it from one that is absent.
    forms: u32,
    parts_from: usize,
    pub(super) errors: Vec<EdiWriteError>,
    complete: bool,
    /// Nodes behind this one are those of guides.
    last: NodeId,
    guide: Option<Box<GuideDraft>>,
}

const VALUE: u32 = 1;
const COMPONENTS: u32 = 2;
const REPETITIONS: u32 = 4;
const BINARY: u32 = 8;

impl EdiDrafter {
    pub(super) fn of(nodes: Arc<Nodes>, len: usize) -> Self {
        EdiDrafter {
            last: nodes.binary,
            nodes,
            len,
            draft: Draft::new(len),
            forms: 0,
            parts_from: 0,
            errors: Vec::new(),
            complete: false,
            guide: None,
        }
    }

    /// A drafter of documents by guide; they are written by a writer with the same guides.
    #[must_use]
    pub fn by_guide(documents: &Arc<GuideDocuments>) -> Self {
        let mut drafter = EdiDrafter::of(Arc::clone(&documents.nodes), documents.shape().len());
        drafter.guide = Some(Box::new(GuideDraft::new(documents)));
        drafter
    }

    /// A drafter of generic documents.
    #[must_use]
    pub fn new() -> Self {
        let (shape, nodes) = Nodes::build();
        EdiDrafter::of(Arc::new(nodes), shape.len())
    }

    /// The document that was sent, if it is complete and was not discarded. `used` is one that was written, whose memory is used again.
    pub fn take(&mut self, used: Option<EdiDraft>) -> Option<EdiDraft> {
        if !core::mem::take(&mut self.complete) {
            return None;
        }
        let mut other = used.map_or_else(|| Draft::new(self.len), |used| used.draft);
        core::mem::swap(&mut other, &mut self.draft);
        Some(EdiDraft { draft: other, errors: core::mem::take(&mut self.errors) })
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
            self.parts_from = self.draft.parts.len();
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
            return guide.leave(node);
        }
        if node == self.nodes.segments {
            let parts = self.parts_from..self.draft.parts.len();
            if let Some(segment) = self.draft.segments.last_mut() {
                segment.parts = parts;
            }
        } else if node == self.nodes.elements {
            if self.forms.count_ones() > 1 {
                self.errors.push(EdiWriteError::Element);
            }
        } else if node == NodeId::ROOT {
            if let Some(guide) = &mut self.guide
                && let Err(error) = guide.finish(&mut self.draft)
            {
                self.errors.push(error);
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
            if let Err(error) = guide.value(node, value) {
                self.errors.push(error);
            }
            return;
        }
        let mut number = Vec::new();
        let text: &[u8] = match value {
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
        let nodes = &self.nodes;
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
    fields: Vec<Option<Range<usize>>>,
    text: Vec<u8>,
    pub(crate) segments: Vec<DraftSegment>,
    pub(crate) parts: Vec<Part>,
    pub(crate) has_group: bool,
    pub(crate) has_transaction: bool,
}

/// One segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftSegment {
    pub(crate) tag: Range<usize>,
    pub(crate) parts: Range<usize>,
}

/// One step in writing a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// An element begins.
    Element,
    /// A repetition of the element begins, the first too.
    Repetition,
    /// A component, the first too: its text.
    Component(Range<usize>),
    /// A component that is a number, with a point before its decimal places.
    Number(Range<usize>),
    /// Bytes that are written as they are.
    Binary(Range<usize>),
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
        self.has_group = false;
        self.has_transaction = false;
    }

    pub(crate) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.text[range.clone()]
    }

    /// A header field, empty where it is absent.
    pub(crate) fn field(&self, node: NodeId) -> &[u8] {
        self.fields[node.index()].as_ref().map_or(b"", |range| self.bytes(range))
    }

    /// Which page of its transaction the document is, from 1.
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
        let range = self.keep(text);
        self.fields[node.index()] = Some(range);
    }

    pub(crate) fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// Whether some data or header field holds a byte, binary data apart.
    pub(super) fn holds(&self, byte: u8) -> bool {
        let inside = |range: &Range<usize>| memchr::memchr(byte, self.bytes(range)).is_some();
        let data = self.parts.iter().any(|part| match part {
            Part::Component(range) | Part::Number(range) => inside(range),
            Part::Element | Part::Repetition | Part::Binary(_) => false,
        });
        data || self.fields.iter().flatten().any(inside)
    }
}
