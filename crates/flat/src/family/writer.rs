//! Documents as the rows that they are made of.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{Findings, Moment, NodeId, Shape, Sink, Value};

use super::{ColumnRole, KeyOrder, RowFamilies, push_key};
use crate::writer::{Moments, put_name, put_value};
use crate::{CsvStyle, FlatFault, FlatFaultKind, Header};

/// Writes each document as its rows, such that a [`super::FamilyReader`] of the same families reads the same document.
///
/// A row of a kind whose kind cell got no value has the first value of its kind there. Members may come in any order.
#[derive(Clone, Debug)]
pub struct FamilyWriter {
    families: Arc<RowFamilies>,
    style: CsvStyle,
    /// By node: the row and cell of a leaf, or the row that a group begins.
    nodes: Vec<Place>,
    /// By kind: its values as cells, each in the form for text and the form for numbers.
    values: Vec<Vec<Vec<u8>>>,
    out: Vec<u8>,
    /// Start of the most recent document.
    start: usize,
    /// Cells of the open document.
    text: Vec<u8>,
    rows: Vec<OpenRow>,
    open: Vec<usize>,
    fault: Option<FlatFault>,
    moments: Moments,
    /// In files with keys, the end and the key of each document since the last [`FamilyWriter::clear`].
    keys: Vec<(usize, Vec<u8>)>,
}

/// The keys of a part of a file, for the comparison with the part before it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeySpan {
    first: Vec<u8>,
    last: Vec<u8>,
    order: KeyOrder,
}

impl KeySpan {
    /// Compares the first document of a part with the last one of the part before it, which is `last`, and moves `last` on. After an error,
    /// `last` is the same.
    ///
    /// # Errors
    /// `FLAT-028`: a reader would make one document of both, or refuse the file.
    pub fn follow(self, last: &mut Option<Vec<u8>>) -> Result<(), FlatFault> {
        if let Some(kind) = last.as_ref().and_then(|last| self.order.fault(last, &self.first)) {
            return Err(FlatFault { kind, line: None, column: None });
        }
        *last = Some(self.last);
        Ok(())
    }
}

impl KeySpan {
    /// Returns the span of this part and the one directly after it.
    ///
    /// # Errors
    /// As [`KeySpan::follow`].
    pub fn join(self, next: KeySpan) -> Result<KeySpan, FlatFault> {
        let (first, order, mut last) = (self.first, self.order, Some(self.last));
        next.follow(&mut last)?;
        Ok(KeySpan { first, last: last.unwrap_or_default(), order })
    }
}

impl KeyOrder {
    /// Returns the fault of a document with key `next` directly after one with key `last`.
    fn fault(self, last: &[u8], next: &[u8]) -> Option<FlatFaultKind> {
        let is_wrong = match self {
            KeyOrder::Together => next == last,
            KeyOrder::Ascending => next <= last,
        };
        is_wrong.then_some(FlatFaultKind::KeyRepeats { ascending: self == KeyOrder::Ascending })
    }
}

/// Appends the text of a cell as a reader sees it: without its quotes.
fn put_plain(key: &mut Vec<u8>, cell: &[u8]) {
    match cell.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        None => key.extend_from_slice(cell),
        Some(quoted) => {
            let mut rest = quoted;
            while let Some(at) = memchr::memchr(b'"', rest) {
                key.extend_from_slice(&rest[..=at]);
                rest = rest.get(at + 2..).unwrap_or_default();
            }
            key.extend_from_slice(rest);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Nowhere,
    /// Begins a row of this kind.
    Row(usize),
    /// A cell of a row of this kind.
    Cell(usize, usize),
}

#[derive(Clone, Debug)]
struct OpenRow {
    kind: usize,
    cells: Vec<Option<Range<usize>>>,
}

/// In files with keys: index of the row of document fields, and of the row of row fields.
const DOCUMENT: usize = 0;
const LINE: usize = 1;

impl FamilyWriter {
    /// Creates a writer for documents of `shape`.
    ///
    /// # Errors
    /// Those of [`CsvStyle::check`].
    pub fn new(shape: &Shape, families: &Arc<RowFamilies>, style: CsvStyle) -> Result<Self, Findings> {
        style.check()?;
        let mut nodes = vec![Place::Nowhere; shape.len()];
        let mut values = Vec::new();
        match &**families {
            RowFamilies::Kinds { kinds, .. } => {
                for (number, kind) in kinds.iter().enumerate() {
                    nodes[kind.group.index()] = Place::Row(number);
                    values.push(kind.values.iter().flat_map(|value| forms(value, style)).collect());
                    for (cell, leaf) in kind.cells.iter().enumerate() {
                        nodes[leaf.index()] = Place::Cell(number, cell);
                    }
                }
            }
            RowFamilies::Keys { columns, list, .. } => {
                nodes[NodeId::ROOT.index()] = Place::Row(DOCUMENT);
                nodes[list.index()] = Place::Row(LINE);
                for (cell, column) in columns.iter().enumerate() {
                    let row = if column.role == ColumnRole::Row { LINE } else { DOCUMENT };
                    nodes[column.leaf.index()] = Place::Cell(row, cell);
                }
            }
        }
        Ok(FamilyWriter {
            families: Arc::clone(families),
            style,
            nodes,
            values,
            out: Vec::new(),
            start: 0,
            text: Vec::new(),
            rows: Vec::new(),
            open: Vec::new(),
            fault: None,
            moments: Moments::default(),
            keys: Vec::new(),
        })
    }

    /// Declares text leaves that must be dates or timestamps (`FLAT-026`).
    #[must_use]
    pub fn with_moments(mut self, shape: &Shape, moments: &[(NodeId, Moment)]) -> Self {
        self.moments = Moments::new(shape, moments);
        self
    }

    /// Begins the file: the header, where the style has one. Several writers for one file: the first only.
    pub fn begin(&mut self) {
        let RowFamilies::Keys { columns, .. } = &*self.families else { return };
        if self.style.header == Header::Absent {
            return;
        }
        for (number, column) in columns.iter().enumerate() {
            if number > 0 {
                self.out.push(self.style.delimiter);
            }
            put_name(&mut self.out, &column.name, self.style);
        }
        self.out.extend_from_slice(self.style.line_end.bytes());
    }

    /// Returns the rows of the documents completed since the last [`FamilyWriter::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Forgets [`FamilyWriter::bytes`] and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.start = 0;
        self.keys.clear();
    }

    /// Returns the keys of the documents in [`FamilyWriter::bytes`]; `None` without documents, or for rows of kinds.
    #[must_use]
    pub fn key_span(&self) -> Option<KeySpan> {
        let RowFamilies::Keys { order, .. } = &*self.families else { return None };
        let ((_, first), (_, last)) = (self.keys.first()?, self.keys.last()?);
        Some(KeySpan { first: first.clone(), last: last.clone(), order: *order })
    }

    /// Goes back to the first `len` bytes of [`FamilyWriter::bytes`], at the end of a document.
    pub fn back_to(&mut self, len: usize) {
        self.out.truncate(len);
        self.start = self.out.len();
        while self.keys.pop_if(|(end, _)| *end > len).is_some() {}
        self.forget();
    }

    /// Returns the reason if the most recent document has no rows.
    pub fn take_fault(&mut self) -> Option<FlatFault> {
        self.fault.take()
    }

    fn forget(&mut self) {
        self.text.clear();
        self.rows.clear();
        self.open.clear();
        self.fault = None;
    }

    fn width(&self, kind: usize) -> usize {
        match &*self.families {
            RowFamilies::Kinds { kinds, .. } => kinds[kind].cells.len(),
            RowFamilies::Keys { columns, .. } => columns.len(),
        }
    }

    fn end_document(&mut self) {
        if self.fault.is_some() {
            return;
        }
        let families = Arc::clone(&self.families);
        match &*families {
            RowFamilies::Kinds { cell, kinds } => {
                for row in &self.rows {
                    let values = &self.values[row.kind];
                    let text = |number: usize| row.cells[number].clone().map(|range| &self.text[range]);
                    if text(*cell).is_some_and(|text| !values.iter().any(|value| value == text)) {
                        let kind = FlatFaultKind::OtherKind { kind: kinds[row.kind].name.clone() };
                        self.fault = Some(FlatFault { kind, line: None, column: None });
                        self.out.truncate(self.start);
                        return;
                    }
                    for number in 0..row.cells.len() {
                        if number > 0 {
                            self.out.push(self.style.delimiter);
                        }
                        let first = || values.first().map(Vec::as_slice).filter(|_| number == *cell);
                        self.out.extend_from_slice(text(number).or_else(first).unwrap_or_default());
                    }
                    self.out.extend_from_slice(self.style.line_end.bytes());
                }
            }
            RowFamilies::Keys { columns, order, .. } => {
                let [document, lines @ ..] = self.rows.as_slice() else { return };
                if lines.is_empty() {
                    self.fault = Some(FlatFault { kind: FlatFaultKind::NoRow, line: None, column: None });
                    return;
                }
                let (mut key, mut plain) = (Vec::new(), Vec::new());
                for (number, _) in columns.iter().enumerate().filter(|(_, column)| column.role == ColumnRole::Key) {
                    let cell = row_text(&self.text, document, number);
                    plain.clear();
                    put_plain(&mut plain, cell);
                    push_key(&mut key, (!cell.is_empty()).then_some(&plain));
                }
                if let Some(kind) = self.keys.last().and_then(|(_, last)| order.fault(last, &key)) {
                    self.fault = Some(FlatFault { kind, line: None, column: None });
                    return;
                }
                for line in lines {
                    for (number, column) in columns.iter().enumerate() {
                        if number > 0 {
                            self.out.push(self.style.delimiter);
                        }
                        let row = if column.role == ColumnRole::Row { line } else { document };
                        self.out.extend_from_slice(row_text(&self.text, row, number));
                    }
                    self.out.extend_from_slice(self.style.line_end.bytes());
                }
                self.keys.push((self.out.len(), key));
            }
        }
    }
}

/// Returns the text of a row's cell; empty without a value.
fn row_text<'a>(text: &'a [u8], row: &OpenRow, cell: usize) -> &'a [u8] {
    row.cells[cell].clone().map_or(&[], |range| &text[range])
}

/// Formats the value of a kind as a cell: as text, and as a number, which is never quoted.
fn forms(value: &str, style: CsvStyle) -> [Vec<u8>; 2] {
    let mut text = Vec::new();
    put_value(&mut text, Value::Text(value.as_bytes().into()), style);
    [text, value.as_bytes().to_vec()]
}

impl Sink for FamilyWriter {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.forget();
            self.start = self.out.len();
        }
        if let Place::Row(kind) = self.nodes[node.index()] {
            self.open.push(self.rows.len());
            let cells = vec![None; self.width(kind)];
            self.rows.push(OpenRow { kind, cells });
        }
    }

    fn leave(&mut self, node: NodeId) {
        if let Place::Row(_) = self.nodes[node.index()] {
            self.open.pop();
        }
        if node == NodeId::ROOT {
            self.end_document();
        }
    }

    fn open_list(&mut self, _node: NodeId) {}

    fn close_list(&mut self, _node: NodeId) {}

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let Place::Cell(kind, cell) = self.nodes[node.index()] else { return };
        let Some(row) = self.open.last().and_then(|row| self.rows.get_mut(*row)) else { return };
        if matches!(value, Value::Null) || row.kind != kind {
            return;
        }
        if let Some(fault) = self.moments.fault(node, value) {
            self.fault.get_or_insert(fault);
        }
        let start = self.text.len();
        match self.moments.in_one_form(node, value) {
            Some(text) => put_value(&mut self.text, Value::Ascii(text[..].into()), self.style),
            None => put_value(&mut self.text, value, self.style),
        }
        row.cells[cell] = Some(start..self.text.len());
    }

    fn discard(&mut self) {
        self.back_to(self.start);
    }
}
