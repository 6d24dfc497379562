//! A document on its way to an interchange: what a sink was sent, in arenas that are used again.

use core::ops::Range;

use quayline_core::NodeId;

/// The document so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// Values of header leaves by node.
    fields: Vec<Option<Range<usize>>>,
    text: Vec<u8>,
    pub(super) segments: Vec<DraftSegment>,
    pub(super) parts: Vec<Part>,
    pub(super) has_group: bool,
    pub(super) has_transaction: bool,
}

/// One segment.
#[derive(Clone, Debug, Default)]
pub(super) struct DraftSegment {
    pub(super) tag: Range<usize>,
    pub(super) parts: Range<usize>,
}

/// One step in writing a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// An element begins.
    Element,
    /// A repetition of the element begins, the first too.
    Repetition,
    /// A component, the first too: its text.
    Component(Range<usize>),
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

    pub(super) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.text[range.clone()]
    }

    /// A header field, empty where it is absent.
    pub(super) fn field(&self, node: NodeId) -> &[u8] {
        self.fields[node.index()].as_ref().map_or(b"", |range| self.bytes(range))
    }

    pub(super) fn set_field(&mut self, node: NodeId, text: &[u8]) {
        let range = self.keep(text);
        self.fields[node.index()] = Some(range);
    }

    pub(super) fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// Whether some data holds a byte, binary data apart.
    pub(super) fn holds(&self, byte: u8) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Component(range) if memchr::memchr(byte, self.bytes(range)).is_some()))
    }
}
