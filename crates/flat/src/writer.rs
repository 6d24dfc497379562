//! The sink that writes rows.

use memchr::{memchr, memchr2, memchr3};
use quayline_core::{Findings, Limits, Moment, NodeId, Run, Shape, Sink, Value, write_number};

use crate::{Columns, CsvStyle, FlatFault, FlatFaultKind, Header, Quotes};

/// Writes documents as rows into a buffer that the caller drains: after each document, or after many, write [`CsvWriter::bytes`] out and
/// call [`CsvWriter::clear`].
///
/// # What is written
/// * Numbers as [`write_number`] does: exact, with every digit of their scale, no thousands separators. Truth values as `true` and `false`.
/// * `Bytes` as hexadecimal digits, `Raw` as `0x` and hexadecimal digits.
/// * Null and absent values as an empty cell, empty text as `""`.
///
/// Values may come in any order inside a row. Those in document order are written once; a row with others is put in order at its
/// end.
#[derive(Clone, Debug)]
pub struct CsvWriter {
    columns: Columns,
    style: CsvStyle,
    out: Vec<u8>,
    /// First column of the innermost open group occurrence, and of those around it.
    base: u32,
    bases: Vec<u32>,
    lists: Vec<OpenList>,
    /// Open elements below an occurrence that has no columns.
    beyond: u32,
    row: Row,
    first: FirstTexts,
    fault: Option<FlatFault>,
    scratch: Vec<u8>,
    moments: Moments,
}

#[derive(Clone, Copy, Debug)]
struct OpenList {
    node: NodeId,
    next: u32,
}

/// The most recent row.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Start of the row in the buffer.
    start: usize,
    /// Column at the buffer's end.
    column: u32,
    /// True if that column has a value.
    filled: bool,
    /// True if a value arrived out of order.
    shuffled: bool,
    /// True if the row begins with the texts of an earlier one, whose cells are not in `cells`.
    repeated: bool,
    cells: Vec<Cell>,
}

/// Texts that a row began with, for rows that begin with the same.
#[derive(Clone, Debug, Default)]
struct FirstTexts {
    key: Vec<u8>,
    bytes: Vec<u8>,
    column: u32,
    filled: bool,
    /// The cells, relative to the row.
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    column: u32,
    start: usize,
    end: usize,
}

impl CsvWriter {
    /// Creates a writer for documents of `shape`.
    ///
    /// # Errors
    /// See [`Columns::new`] and [`CsvStyle::check`].
    pub fn new(shape: &Shape, style: CsvStyle, limits: &Limits) -> Result<Self, Findings> {
        style.check()?;
        Ok(CsvWriter {
            columns: Columns::new(shape, limits)?,
            style,
            out: Vec::with_capacity(1 << 16),
            base: 0,
            bases: Vec::new(),
            lists: Vec::new(),
            beyond: 0,
            row: Row::default(),
            first: FirstTexts::default(),
            fault: None,
            scratch: Vec::new(),
            moments: Moments::default(),
        })
    }

    /// Declares text leaves that must be dates or timestamps (`FLAT-026`).
    #[must_use]
    pub fn with_moments(mut self, shape: &Shape, moments: &[(NodeId, Moment)]) -> Self {
        self.moments = Moments::new(shape, moments);
        self
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Begins the file: the header, if the style has one. If several writers write one file, only the first calls it.
    pub fn begin(&mut self) {
        if self.style.header == Header::Absent {
            return;
        }
        for column in 0..self.columns.len() {
            if column > 0 {
                self.out.push(self.style.delimiter);
            }
            put_name(&mut self.out, self.columns.name_of(column), self.style);
        }
        self.out.extend_from_slice(self.style.line_end.bytes());
        self.row.start = self.out.len();
    }

    /// Returns the complete rows written since the last [`CsvWriter::clear`], without the rows of an open document.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.bases.is_empty() { &self.out } else { &self.out[..self.row.start] }
    }

    /// Forgets [`CsvWriter::bytes`] and keeps the memory.
    pub fn clear(&mut self) {
        let done = self.bytes().len();
        let rest = self.out.len() - done;
        self.out.copy_within(done.., 0);
        self.out.truncate(rest);
        self.row.start = 0;
        for cell in &mut self.row.cells {
            cell.start = cell.start.saturating_sub(done);
            cell.end = cell.end.saturating_sub(done);
        }
    }

    /// Truncates [`CsvWriter::bytes`] to the first `len`, at the end of a row. Everything after them is void.
    pub fn back_to(&mut self, len: usize) {
        self.out.truncate(len);
        self.row.start = self.out.len();
        self.bases.clear();
        self.lists.clear();
        self.fault = None;
    }

    /// Returns the reason why the document left last has no row, if it has none.
    pub fn take_fault(&mut self) -> Option<FlatFault> {
        self.fault.take()
    }

    /// Returns the column of the next value of a leaf; `None` if it has none.
    #[inline(always)]
    fn column(&mut self, node: NodeId) -> Option<u32> {
        let columns = self.columns.node(node);
        let mut at = self.base + columns.offset;
        if columns.list && columns.width > 0 {
            at += self.occurrence(node, columns.max)? * columns.width;
        }
        Some(at)
    }

    /// Counts an occurrence of the innermost list; `None` and a fault beyond its maximum.
    fn occurrence(&mut self, node: NodeId, max: u32) -> Option<u32> {
        let open = self.lists.last_mut().filter(|open| open.node == node)?;
        let occurrence = open.next;
        open.next += 1;
        if occurrence < max {
            return Some(occurrence);
        }
        if self.fault.is_none() {
            let kind = FlatFaultKind::Overflow { max };
            let at = self.columns.node(node).offset + self.base;
            let name = self.columns.name_of(at as usize);
            // Up to the list's own index: the name after it is a field of the first occurrence.
            let end = (0..self.lists.len()).try_fold(0, |from, _| name[from..].find(']').map(|at| from + at + 1));
            let list = &name[..end.unwrap_or(name.len())];
            let column = list.rsplit_once('[').map_or(list, |(list, _)| list).to_owned();
            self.fault = Some(FlatFault { kind, line: None, column: Some(column) });
        }
        None
    }

    /// Moves to a column and returns the place of its cell.
    #[inline(always)]
    fn open_cell(&mut self, column: u32) -> usize {
        let row = &mut self.row;
        if column > row.column || (column == row.column && !row.filled) {
            let delimiters = (column - row.column) as usize;
            if delimiters == 1 {
                self.out.push(self.style.delimiter);
            } else {
                self.out.resize(self.out.len() + delimiters, self.style.delimiter);
            }
            row.column = column;
            row.filled = true;
        } else {
            row.shuffled = true;
        }
        self.out.len()
    }

    /// Keeps the texts that the row begins with, if another row may repeat them.
    fn note_first_texts(&mut self, key: &[u8]) {
        let first = &mut self.first;
        first.key.clear();
        if self.row.shuffled || self.fault.is_some() {
            return;
        }
        let start = self.row.start;
        first.key.extend_from_slice(key);
        first.bytes.clear();
        first.bytes.extend_from_slice(&self.out[start..]);
        (first.column, first.filled) = (self.row.column, self.row.filled);
        first.cells.clear();
        let of_row = |cell: &Cell| Cell { start: cell.start - start, end: cell.end - start, ..*cell };
        first.cells.extend(self.row.cells.iter().map(of_row));
    }

    fn end_row(&mut self) {
        if self.fault.is_some() {
            self.out.truncate(self.row.start);
            return;
        }
        if self.row.shuffled {
            self.order_row();
        }
        let rest = self.columns.len() - 1 - self.row.column as usize;
        self.out.resize(self.out.len() + rest, self.style.delimiter);
        self.out.extend_from_slice(self.style.line_end.bytes());
    }

    /// Writes the cells again in the order of the columns.
    fn order_row(&mut self) {
        if self.row.repeated {
            let start = self.row.start;
            let of_row = |cell: &Cell| Cell { start: cell.start + start, end: cell.end + start, ..*cell };
            self.row.cells.extend(self.first.cells.iter().map(of_row));
        }
        self.row.cells.sort_by_key(|cell| cell.column);
        self.scratch.clear();
        let mut column = 0;
        for cell in &self.row.cells {
            let delimiters = (cell.column - column) as usize;
            self.scratch.resize(self.scratch.len() + delimiters, self.style.delimiter);
            self.scratch.extend_from_slice(&self.out[cell.start..cell.end]);
            column = cell.column;
        }
        self.row.column = column;
        self.out.truncate(self.row.start);
        self.out.extend_from_slice(&self.scratch);
    }
}

impl Sink for CsvWriter {
    fn enter(&mut self, node: NodeId) {
        if self.beyond > 0 {
            self.beyond += 1;
            return;
        }
        if node == NodeId::ROOT {
            self.base = 0;
            self.bases.clear();
            self.bases.push(0);
            self.lists.clear();
            self.fault = None;
            self.row.start = self.out.len();
            (self.row.column, self.row.filled, self.row.shuffled, self.row.repeated) = (0, false, false, false);
            self.row.cells.clear();
            return;
        }
        match self.column(node) {
            Some(base) => {
                self.bases.push(self.base);
                self.base = base;
            }
            None => self.beyond = 1,
        }
    }

    fn leave(&mut self, node: NodeId) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        self.base = self.bases.pop().unwrap_or(0);
        if node == NodeId::ROOT {
            self.end_row();
        }
    }

    fn open_list(&mut self, node: NodeId) {
        if self.beyond == 0 {
            self.lists.push(OpenList { node, next: 0 });
        }
    }

    fn close_list(&mut self, _node: NodeId) {
        if self.beyond == 0 {
            self.lists.pop();
        }
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if self.beyond > 0 {
            return;
        }
        let Some(column) = self.column(node) else { return };
        if matches!(value, Value::Null) {
            return;
        }
        if let Some(fault) = self.moments.fault(node, value) {
            self.fault.get_or_insert(fault);
        }
        let start = self.open_cell(column);
        match self.moments.in_one_form(node, value) {
            Some(text) => put_value(&mut self.out, Value::Ascii(text[..].into()), self.style),
            None => put_value(&mut self.out, value, self.style),
        }
        let end = self.out.len();
        self.row.cells.push(Cell { column, start, end });
    }

    #[inline]
    fn first_texts<'v>(&mut self, key: &[u8], texts: impl Iterator<Item = (NodeId, Run<'v>)>) {
        if self.first.key == key && !key.is_empty() {
            self.out.extend_from_slice(&self.first.bytes);
            (self.row.column, self.row.filled, self.row.repeated) = (self.first.column, self.first.filled, true);
            return;
        }
        texts.for_each(|(leaf, text)| self.value(leaf, Value::Ascii(text)));
        self.note_first_texts(key);
    }

    fn discard(&mut self) {
        self.out.truncate(self.row.start);
        self.bases.clear();
        self.lists.clear();
        self.beyond = 0;
        self.fault = None;
    }
}

/// A file that begins with this begins with a byte order mark, not with text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// For each leaf that is a date or timestamp, its kind and path; empty if the shape has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments(Vec<Option<(Moment, String)>>);

impl Moments {
    pub(crate) fn new(shape: &Shape, moments: &[(NodeId, Moment)]) -> Self {
        let of = |id: NodeId| moments.iter().find(|(leaf, _)| *leaf == id).map(|(_, moment)| (*moment, shape.path(id)));
        Moments(if moments.is_empty() { Vec::new() } else { shape.iter().map(|(id, _)| of(id)).collect() })
    }

    /// Returns a fault if the value of a leaf is not valid.
    #[inline(always)]
    pub(crate) fn fault(&self, node: NodeId, value: Value<'_>) -> Option<FlatFault> {
        if self.0.is_empty() { None } else { self.check(node, value) }
    }

    /// Returns the text of a timestamp that has a blank in the place of `T`, with `T`.
    #[inline(always)]
    pub(crate) fn in_one_form(&self, node: NodeId, value: Value<'_>) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        let (moment, _) = self.0.get(node.index())?.as_ref()?;
        let (Value::Text(run) | Value::Ascii(run)) = value else { return None };
        moment.in_one_form(run.bytes())
    }

    #[inline(never)]
    fn check(&self, node: NodeId, value: Value<'_>) -> Option<FlatFault> {
        let (moment, name) = self.0.get(node.index())?.as_ref()?;
        let is_right = match value {
            Value::Null => true,
            Value::Text(run) | Value::Ascii(run) => moment.read(run.bytes()).is_some(),
            _ => false,
        };
        let kind = FlatFaultKind::NotMoment(*moment);
        (!is_right).then(|| FlatFault { kind, line: None, column: Some(name.clone()) })
    }
}

/// Appends a value as a cell; null is an empty cell.
#[inline(always)]
pub(crate) fn put_value(out: &mut Vec<u8>, value: Value<'_>, style: CsvStyle) {
    match value {
        Value::Null => {}
        Value::Ascii(run) => {
            debug_assert!(run.is_printable());
            ascii(out, run, style.delimiter, style.quotes)
        }
        Value::Text(run) => text(out, run.bytes(), style.delimiter, style.quotes),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Bytes(bytes) => hex(out, bytes, style.quotes),
        Value::Raw(bytes) => {
            out.extend_from_slice(b"0x");
            hex(out, bytes, Quotes::Needed);
        }
        number => {
            let done = write_number(out, number);
            debug_assert!(done.is_some());
        }
    }
}

/// Appends the name of a column, or the value of a kind, as a cell.
pub(crate) fn put_name(out: &mut Vec<u8>, name: &str, style: CsvStyle) {
    text(out, name.as_bytes(), style.delimiter, Quotes::Needed);
}

/// Writes printable ASCII, which has no line ends. Most cells are short: one look at sixteen bytes, and one copy of as many.
#[inline(always)]
fn ascii(out: &mut Vec<u8>, run: Run<'_>, delimiter: u8, quotes: Quotes) {
    let len = run.len();
    if let Some(block) = run.tail().first_chunk::<16>()
        && (1..=16).contains(&len)
        && quotes == Quotes::Needed
        && !block.iter().fold(false, |special, byte| special | (*byte == delimiter) | (*byte == b'"'))
    {
        out.extend_from_slice(block);
        out.truncate(out.len() - 16 + len);
    } else {
        long_ascii(out, run.bytes(), delimiter, quotes);
    }
}

#[inline(never)]
fn long_ascii(out: &mut Vec<u8>, bytes: &[u8], delimiter: u8, quotes: Quotes) {
    let plain = !bytes.is_empty() && quotes == Quotes::Needed && memchr2(delimiter, b'"', bytes).is_none();
    if plain { out.extend_from_slice(bytes) } else { quoted(out, bytes) }
}

fn text(out: &mut Vec<u8>, bytes: &[u8], delimiter: u8, quotes: Quotes) {
    let plain = quotes == Quotes::Needed
        && !bytes.is_empty()
        && memchr3(delimiter, b'"', b'\n', bytes).is_none()
        && memchr(b'\r', bytes).is_none()
        && !bytes.starts_with(BOM);
    if plain { out.extend_from_slice(bytes) } else { quoted(out, bytes) }
}

fn quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let mut rest = bytes;
    while let Some(at) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn hex(out: &mut Vec<u8>, bytes: &[u8], quotes: Quotes) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let quote = bytes.is_empty() || quotes == Quotes::Text;
    let quote: &[u8] = if quote { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    out.extend(bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]));
    out.extend_from_slice(quote);
}
