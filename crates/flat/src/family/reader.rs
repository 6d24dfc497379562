//! Reader that turns the rows of a document into events.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{Finding, Findings, Limits, Moment, NodeId, NodeKind, Occurs, RoundedLeaves, Shape, Sink, Value};

use super::{ColumnRole, RowFamilies, RowKind};
use crate::cells::Cells;
use crate::header::Header;
use crate::reader::{Check, has_empty_text, send_cell};
use crate::{CsvStyle, EmptyCell, EndOfInput, FlatFault, FlatFaultKind, Row, RowSplitter, RowStep};

/// Turns the rows of one document into the document.
#[derive(Clone, Debug)]
pub struct FamilyReader {
    shape: Shape,
    families: Arc<RowFamilies>,
    style: CsvStyle,
    limits: Limits,
    header: Header,
    cells: Cells,
    /// Cells of the document's first row that all of its rows must share.
    common: Vec<Option<Vec<u8>>>,
    rows: Vec<Member>,
    faults: Vec<FlatFault>,
    moments: Vec<(NodeId, Moment)>,
    rounded: RoundedLeaves,
}

/// Outcome of reading the rows of a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FamilyRead {
    /// The rows are blank lines; nothing was sent.
    Blank,
    /// A document, which was sent to the sink. If there are faults, the caller must discard it.
    Document(Vec<FlatFault>),
}

/// A row of a kind.
#[derive(Clone, Debug)]
struct Member {
    bytes: Range<usize>,
    line: u64,
    kind: usize,
    /// Nesting depth; 0 for the row that begins the document.
    depth: usize,
}

impl FamilyReader {
    /// Creates a reader for documents of `shape`.
    ///
    /// # Errors
    /// Those of [`CsvStyle::check`].
    pub fn new(shape: &Shape, families: &Arc<RowFamilies>, style: CsvStyle, limits: &Limits) -> Result<Self, Findings> {
        style.check()?;
        let header = families.columns().map(|columns| Header::all(&columns)).unwrap_or_default();
        Ok(FamilyReader {
            shape: shape.clone(),
            families: Arc::clone(families),
            style,
            limits: limits.clone(),
            header,
            cells: Cells::default(),
            common: Vec::new(),
            rows: Vec::new(),
            faults: Vec::new(),
            moments: Vec::new(),
            rounded: RoundedLeaves::default(),
        })
    }

    /// Declares text leaves whose cells must be dates or timestamps (`FLAT-026`).
    #[must_use]
    pub fn with_moments(mut self, moments: &[(NodeId, Moment)]) -> Self {
        self.moments = moments.to_vec();
        self
    }

    /// Reads the header row; rows of kinds have none.
    ///
    /// # Errors
    /// As [`crate::CsvReader::header`].
    pub fn header(&mut self, row: Row<'_>) -> Result<(), Findings> {
        let Some(columns) = self.families.columns() else { return Ok(()) };
        let split = Header::split(row.raw, self.style.delimiter, &mut self.cells, &columns, self.style.header);
        if let Err((kind, _)) = split {
            return Err(FlatFault { kind, line: Some(row.line), column: None }.finding().into());
        }
        self.header = Header::read(row.raw, &self.cells, &columns, self.style.header)?;
        Ok(())
    }

    /// Returns warnings about the header: missing columns (`FLAT-007`).
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.header.warnings
    }

    /// Returns the floats of the documents since the last call whose numbers have more digits than the floats keep.
    pub fn take_rounded(&mut self) -> Vec<NodeId> {
        self.rounded.take()
    }

    /// Sends the document with the rows `raw`, the first of them on line `line`.
    pub fn document<S: Sink>(&mut self, raw: &[u8], line: u64, sink: &mut S) -> FamilyRead {
        self.faults.clear();
        self.rows.clear();
        let mut splitter = RowSplitter::resume(self.style, &self.limits, line);
        let mut at = 0;
        loop {
            match splitter.split(&raw[at..], EndOfInput::Yes) {
                Ok(RowStep::Row { row, consumed }) => {
                    if !row.raw.is_empty() {
                        let bytes = at..at + row.raw.len();
                        self.rows.push(Member { bytes, line: row.line, kind: 0, depth: 0 });
                    }
                    at += consumed;
                }
                Ok(RowStep::NeedMore { .. } | RowStep::Done) => break,
                Err(fault) => {
                    self.faults.push(fault);
                    break;
                }
            }
        }
        if self.rows.is_empty() && self.faults.is_empty() {
            return FamilyRead::Blank;
        }
        let families = Arc::clone(&self.families);
        let rows = core::mem::take(&mut self.rows);
        sink.enter(NodeId::ROOT);
        self.rows = match &*families {
            RowFamilies::Kinds { cell, kinds } => {
                let rows = self.kinds(raw, rows, *cell, kinds);
                if self.faults.is_empty() {
                    let whole = 0..rows.len();
                    self.send(raw, &rows, whole, kinds, sink);
                }
                rows
            }
            RowFamilies::Keys { columns, list, .. } => {
                let roles: Vec<(NodeId, ColumnRole)> =
                    columns.iter().map(|column| (column.leaf, column.role)).collect();
                self.keyed(raw, &rows, &roles, *list, sink);
                rows
            }
        };
        sink.leave(NodeId::ROOT);
        FamilyRead::Document(core::mem::take(&mut self.faults))
    }

    fn fault(&mut self, kind: FlatFaultKind, line: u64, column: Option<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(FlatFault { kind, line: Some(line), column });
        }
    }

    /// Splits a row; false, and a fault, where it has no cells that can be read.
    fn split(&mut self, raw: &[u8], line: u64) -> bool {
        if let Err((kind, _)) = self.cells.split(raw, self.style.delimiter) {
            self.fault(kind, line, None);
            return false;
        }
        if core::str::from_utf8(raw).is_err() {
            self.fault(FlatFaultKind::NotUtf8, line, None);
            return false;
        }
        true
    }

    /// Determines kind and depth of the rows. The first row is the outermost.
    fn kinds(&mut self, raw: &[u8], mut rows: Vec<Member>, cell: usize, kinds: &[RowKind]) -> Vec<Member> {
        // The kinds of the rows above the next one, outermost first.
        let mut open: Vec<usize> = Vec::new();
        for row in &mut rows {
            let bytes = &raw[row.bytes.clone()];
            if !self.split(bytes, row.line) {
                continue;
            }
            let value = if cell < self.cells.len() { self.cells.run(bytes, cell).bytes() } else { b"" };
            let Some(kind) = kinds.iter().position(|kind| kind.values.iter().any(|v| v.as_bytes() == value)) else {
                let mut known: Vec<&str> = kinds.iter().flat_map(|kind| &kind.values).map(String::as_str).collect();
                known.truncate(KINDS_SHOWN);
                self.fault(FlatFaultKind::UnknownKind { cell, known: known.join(", ") }, row.line, None);
                continue;
            };
            let (found, expected) = (self.cells.len(), kinds[kind].cells.len());
            if found != expected {
                self.fault(
                    FlatFaultKind::KindCells { kind: kinds[kind].name.clone(), found, expected },
                    row.line,
                    None,
                );
            }
            row.kind = kind;
            match kinds[kind].parent {
                None => open.clear(),
                Some(parent) => match open.iter().position(|known| *known == parent) {
                    Some(depth) => {
                        open.truncate(depth + 1);
                        row.depth = depth + 1;
                    }
                    None => {
                        let parent = kinds[parent].name.clone();
                        self.fault(FlatFaultKind::NoParent { parent }, row.line, None);
                    }
                },
            }
            open.push(kind);
        }
        rows
    }

    /// Sends row `range.start` with its descendants, the rest of `range`.
    fn send<S: Sink>(&mut self, raw: &[u8], rows: &[Member], range: Range<usize>, kinds: &[RowKind], sink: &mut S) {
        let Member { bytes, line, kind, depth } = &rows[range.start];
        let of = &kinds[*kind];
        sink.enter(of.group);
        let bytes = &raw[bytes.clone()];
        if self.split(bytes, *line) {
            for (cell, leaf) in of.cells.iter().enumerate() {
                self.cell(bytes, *line, Some(cell), *leaf, sink);
            }
        }
        for (number, child) in kinds.iter().enumerate().filter(|(_, child)| child.parent == Some(*kind)) {
            let mut opened = false;
            let mut at = range.start + 1;
            while at < range.end {
                // Descendants of a child are behind it, deeper than it.
                let end = (at + 1..range.end).find(|next| rows[*next].depth <= depth + 1).unwrap_or(range.end);
                if rows[at].kind == number {
                    if !opened {
                        sink.open_list(child.group);
                        opened = true;
                    }
                    self.send(raw, rows, at..end, kinds, sink);
                }
                at = end;
            }
            if opened {
                sink.close_list(child.group);
            }
        }
        sink.leave(of.group);
    }

    /// Sends rows of one key.
    fn keyed<S: Sink>(
        &mut self,
        raw: &[u8],
        rows: &[Member],
        columns: &[(NodeId, ColumnRole)],
        list: NodeId,
        sink: &mut S,
    ) {
        self.common.clear();
        let mut opened = false;
        for row in rows {
            let bytes = &raw[row.bytes.clone()];
            if !self.split(bytes, row.line) {
                continue;
            }
            let (found, expected) = (self.cells.len(), self.header.width);
            if found != expected {
                self.fault(FlatFaultKind::Cells { found, expected }, row.line, None);
                continue;
            }
            if opened {
                self.compare(bytes, row.line, columns);
            } else {
                for (column, (leaf, role)) in columns.iter().enumerate() {
                    let cell = self.header.cells[column];
                    let text = self.value_of(bytes, cell, *leaf).map(<[u8]>::to_vec);
                    self.common.push(text);
                    if *role != ColumnRole::Row {
                        self.cell(bytes, row.line, cell, *leaf, sink);
                    }
                }
                sink.open_list(list);
                opened = true;
            }
            sink.enter(list);
            for (column, (leaf, role)) in columns.iter().enumerate() {
                if *role == ColumnRole::Row {
                    self.cell(bytes, row.line, self.header.cells[column], *leaf, sink);
                }
            }
            sink.leave(list);
        }
        if opened {
            sink.close_list(list);
        }
    }

    /// Checks that a row says the same of its document as the first one.
    fn compare(&mut self, bytes: &[u8], line: u64, columns: &[(NodeId, ColumnRole)]) {
        for (column, (leaf, role)) in columns.iter().enumerate() {
            if *role == ColumnRole::Row {
                continue;
            }
            if self.value_of(bytes, self.header.cells[column], *leaf) != self.common[column].as_deref() {
                let name = self.shape.node(*leaf).name.clone();
                self.fault(FlatFaultKind::Differs, line, Some(name));
            }
        }
    }

    /// Returns the bytes of a leaf's cell, if it has a value.
    fn value_of<'a>(&'a self, raw: &'a [u8], cell: Option<usize>, leaf: NodeId) -> Option<&'a [u8]> {
        let scalar = self.shape.node(leaf).scalar()?;
        self.cells.value(raw, cell?, has_empty_text(leaf, scalar, &self.moments))
    }

    fn cell<S: Sink>(&mut self, raw: &[u8], line: u64, cell: Option<usize>, leaf: NodeId, sink: &mut S) {
        let node = self.shape.node(leaf);
        let NodeKind::Scalar(scalar) = &node.kind else { return };
        let is_there = self.value_of(raw, cell, leaf).is_some();
        if !is_there && node.occurs == Occurs::Once {
            return self.fault(FlatFaultKind::Missing, line, Some(self.shape.path(leaf)));
        }
        let Some(cell) = cell else { return };
        if !is_there {
            if self.style.empty == EmptyCell::Null {
                sink.value(leaf, Value::Null);
            }
            return;
        }
        let run = self.cells.run(raw, cell);
        let check = Check::of(leaf, scalar, &self.moments);
        let check = check.or_else(|| Check::of_declaration(leaf, scalar, &self.moments));
        if let Some(kind) = check.and_then(|check| check.fault(run.bytes())) {
            let name = self.shape.path(leaf);
            return self.fault(kind, line, Some(name));
        }
        if let Some(Check::Moment(moment)) = check
            && let Some(text) = moment.in_one_form(run.bytes())
        {
            return sink.value(leaf, Value::Ascii(text[..].into()));
        }
        if send_cell(sink, leaf, scalar, run, run.bytes().iter().all(|b| (0x20..0x7f).contains(b))) {
            self.rounded.add(leaf);
        }
    }
}

/// Maximum number of faults reported for one document, which is refused anyway.
const FAULTS_MAX: usize = 20;

/// Values of kinds that a finding shows.
const KINDS_SHOWN: usize = 20;
