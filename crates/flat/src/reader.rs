//! The source that reads rows.

use core::cell::RefCell;

use quayline_core::{
    Digits, Finding, Findings, Limits, Moment, NodeId, NodeKind, NumberScratch, Occurs, RoundedLeaves, Run, Scalar,
    Shape, Sink, Value, is_rounded_float, read_bool, read_number,
};

use crate::cells::Cells;
use crate::header::Header;
use crate::style;
use crate::{Bound, Columns, CsvStyle, EmptyCell, FlatFault, FlatFaultKind, Row};

/// Turns rows into documents of a shape. A document's values come in the order of the shape, whatever the order of the columns.
///
/// The cell of a number is a number if [`read_number`] reads it as one, a cell of bytes is its hexadecimal digits, and that of a truth
/// value is `true`, `false` (in any case), `1` or `0`. Every other cell is text, which the receiver judges. Numbers, truth values, dates
/// and timestamps have no empty text, so their cell `""` is an empty cell.
///
/// If the style has a header, call [`CsvReader::header`] with the first row.
#[derive(Clone, Debug)]
pub struct CsvReader {
    shape: Shape,
    columns: Columns,
    style: CsvStyle,
    header: Header,
    cells: Cells,
    /// For each column, 1 + the index of the last filled column before it; 0 for none.
    filled: Vec<u32>,
    /// For each column, 1 + the index of the last column before it that the file has; 0 for none.
    present: Vec<u32>,
    /// Columns whose cells are checked before a row is sent.
    checks: Vec<(usize, Check)>,
    /// Columns that must have a value in each row.
    required: Vec<usize>,
    /// Leaves whose empty cells are null, in ascending order.
    nulls: Vec<NodeId>,
    /// Lists with such a leaf, in ascending order.
    null_lists: Vec<NodeId>,
    /// Lists, and the leaf that counts the elements of each, in ascending order.
    counters: Vec<(NodeId, NodeId)>,
    /// For each column, true if its type has an empty text.
    texts: Vec<bool>,
    /// For each cell of a row, true if its column's type has an empty text.
    text_cells: Vec<bool>,
    rounded: RoundedLeaves,
}

/// Content of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowRead {
    /// A document, which went to the sink.
    Document,
    /// A blank line; nothing was sent.
    Blank,
}

impl CsvReader {
    /// Creates a reader for documents of `shape`.
    ///
    /// # Errors
    /// See [`Columns::new`] and [`CsvStyle::check`].
    pub fn new(shape: &Shape, style: CsvStyle, limits: &Limits) -> Result<Self, Findings> {
        style.check()?;
        let columns = Columns::new(shape, limits)?;
        let header = Header::all(&columns);
        let mut reader = CsvReader {
            shape: shape.clone(),
            columns,
            style,
            header,
            cells: Cells::default(),
            filled: Vec::new(),
            present: Vec::new(),
            checks: Vec::new(),
            required: Vec::new(),
            nulls: Vec::new(),
            null_lists: Vec::new(),
            counters: Vec::new(),
            texts: Vec::new(),
            text_cells: Vec::new(),
            rounded: RoundedLeaves::default(),
        };
        reader.note_types(&[]);
        reader.note_present();
        Ok(reader)
    }

    /// Declares text leaves whose cells must be dates or timestamps (`FLAT-026`).
    #[must_use]
    pub fn with_moments(mut self, moments: &[(NodeId, Moment)]) -> Self {
        self.note_types(moments);
        self.note_present();
        self
    }

    /// Reads the empty cells of these leaves as null, also with a style that reads other empty cells as absent. A list with such a leaf has as many
    /// elements as its counter says, if `counters` names one, or as its type requires: nulls at its end are elements, too.
    #[must_use]
    pub fn with_nulls(mut self, mut leaves: Vec<NodeId>, mut counters: Vec<(NodeId, NodeId)>) -> Self {
        leaves.sort_unstable();
        counters.sort_unstable();
        let shape = &self.shape;
        let around =
            |leaf: &NodeId| core::iter::successors(Some(*leaf), |at| shape.node(*at).parent).collect::<Vec<_>>();
        let is_null = |leaf: &NodeId| self.style.empty == EmptyCell::Null || leaves.binary_search(leaf).is_ok();
        let all = shape.iter().map(|(id, _)| id).filter(|id| matches!(shape.node(*id).kind, NodeKind::Scalar(_)));
        let mut lists: Vec<NodeId> = all.filter(is_null).flat_map(|leaf| around(&leaf)).collect();
        lists.retain(|id| matches!(shape.node(*id).occurs, Occurs::Many { .. }));
        lists.sort_unstable();
        lists.dedup();
        (self.nulls, self.null_lists, self.counters) = (leaves, lists, counters);
        self
    }

    /// Applies what a layout declares. Refuses rows without a value in the column of a leaf that occurs once, outside of lists and optional groups
    /// (`FLAT-029`), and values that exceed the type of their leaf (`FLAT-030`). Records have a value for an absent member, and judge values.
    #[must_use]
    pub fn with_declarations(mut self, moments: &[(NodeId, Moment)]) -> Self {
        let (shape, columns) = (&self.shape, &self.columns);
        self.required.clear();
        let (required, checks) = (&mut self.required, &mut self.checks);
        each_column(shape, columns, (NodeId::ROOT, 0), &mut |column, leaf, scalar| {
            checks.extend(Check::of_declaration(leaf, scalar, moments).map(|check| (column, check)));
            let mut node = Some(leaf);
            let always = core::iter::from_fn(|| {
                node.filter(|node| *node != NodeId::ROOT).inspect(|at| node = shape.node(*at).parent)
            });
            if always.into_iter().all(|node| shape.node(node).occurs == Occurs::Once) {
                required.push(column);
            }
        });
        self
    }

    fn note_types(&mut self, moments: &[(NodeId, Moment)]) {
        self.checks.clear();
        self.texts = vec![true; self.columns.len()];
        let (checks, texts) = (&mut self.checks, &mut self.texts);
        each_column(&self.shape, &self.columns, (NodeId::ROOT, 0), &mut |column, leaf, scalar| {
            checks.extend(Check::of(leaf, scalar, moments).map(|check| (column, check)));
            texts[column] = has_empty_text(leaf, scalar, moments);
        });
    }

    /// Reads the header row; does nothing if the style has none.
    ///
    /// # Errors
    /// Unknown (`FLAT-005`) and doubled (`FLAT-006`) columns, all at once, and the faults of the row itself.
    pub fn header(&mut self, row: Row<'_>) -> Result<(), Findings> {
        if self.style.header == style::Header::Absent {
            return Ok(());
        }
        let split = Header::split(row.raw, self.style.delimiter, &mut self.cells, &self.columns, self.style.header);
        if let Err((kind, _)) = split {
            return Err(FlatFault { kind, line: Some(row.line), column: None }.finding().into());
        }
        self.header = Header::read(row.raw, &self.cells, &self.columns, self.style.header)?;
        self.note_present();
        Ok(())
    }

    /// Returns the warnings about the header: columns that are missing (`FLAT-007`).
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.header.warnings
    }

    /// Returns the floats of the rows since the last call whose numbers have more digits than the floats keep.
    pub fn take_rounded(&mut self) -> Vec<NodeId> {
        self.rounded.take()
    }

    /// Sends one row to `sink`.
    ///
    /// # Errors
    /// [`FlatFault`] with line and column; the sink saw nothing of the row.
    pub fn row<S: Sink>(&mut self, row: Row<'_>, sink: &mut S) -> Result<RowRead, FlatFault> {
        if row.raw.is_empty() && self.header.width > 1 {
            return Ok(RowRead::Blank);
        }
        let fault = |kind, column| FlatFault { kind, line: Some(row.line), column };
        if let Err((kind, cell)) = self.cells.split(row.raw, self.style.delimiter) {
            return Err(fault(kind, self.name_of_cell(cell)));
        }
        let (found, expected) = (self.cells.len(), self.header.width);
        if found != expected {
            return Err(fault(FlatFaultKind::Cells { found, expected }, None));
        }
        let ascii = row.raw.iter().all(|b| (0x20..0x7f).contains(b));
        if !ascii && core::str::from_utf8(row.raw).is_err() {
            let bad = (0..found).find(|i| core::str::from_utf8(self.cells.run(row.raw, *i).bytes()).is_err());
            return Err(fault(FlatFaultKind::NotUtf8, bad.and_then(|i| self.name_of_cell(i))));
        }
        self.cells.without_empty_texts(&self.text_cells);
        let cells = &self.cells;
        note(&mut self.filled, &self.header.cells, |cell| !cells.is_empty_cell(cell));
        let cell = |column: usize| self.header.cells[column].filter(|cell| !cells.is_empty_cell(*cell));
        let mut blanks = Vec::new();
        for (column, check) in &self.checks {
            let Some(cell) = cell(*column) else { continue };
            let text = cells.run(row.raw, cell).bytes();
            if let Some(kind) = check.fault(text) {
                return Err(fault(kind, Some(self.columns.name_of(*column).to_owned())));
            }
            if matches!(check, Check::Moment(moment) if moment.has_blank(text)) {
                blanks.push(cell);
            }
        }
        if let Some(column) = self.required.iter().find(|column| cell(**column).is_none()) {
            return Err(fault(FlatFaultKind::Missing, Some(self.columns.name_of(*column).to_owned())));
        }
        for cell in blanks {
            self.cells.replace_byte(row.raw, cell, Moment::DATE_LEN, b'T');
        }
        let rounded = RefCell::new(core::mem::take(&mut self.rounded));
        let source = Source { reader: self, raw: row.raw, ascii, rounded: &rounded };
        sink.enter(NodeId::ROOT);
        source.children(&Place { group: NodeId::ROOT, base: 0, outer: None }, sink);
        sink.leave(NodeId::ROOT);
        self.rounded = rounded.into_inner();
        Ok(RowRead::Document)
    }

    /// Returns whether an empty cell of a leaf is null.
    fn is_null(&self, leaf: NodeId) -> bool {
        self.style.empty == EmptyCell::Null || self.nulls.binary_search(&leaf).is_ok()
    }

    fn name_of_cell(&self, cell: usize) -> Option<String> {
        let column = self.header.cells.iter().position(|held| *held == Some(cell))?;
        Some(self.columns.name_of(column).to_owned())
    }

    fn note_present(&mut self) {
        note(&mut self.present, &self.header.cells, |_| true);
        self.text_cells = vec![true; self.header.width];
        for (cell, is_text) in self.header.cells.iter().zip(&self.texts) {
            if let Some(of_cell) = cell.and_then(|cell| self.text_cells.get_mut(cell)) {
                *of_cell = *is_text;
            }
        }
    }
}

/// Fills a table of last columns for which `test` holds, so that "is there any in this range, and which is the last" takes one look.
fn note(table: &mut Vec<u32>, cells: &[Option<usize>], test: impl Fn(usize) -> bool) {
    table.clear();
    table.push(0);
    let mut last = 0;
    table.extend((1u32..).zip(cells).map(|(number, cell)| {
        if cell.is_some_and(&test) {
            last = number;
        }
        last
    }));
}

/// A source that sends one row.
struct Source<'a> {
    reader: &'a CsvReader,
    raw: &'a [u8],
    ascii: bool,
    rounded: &'a RefCell<RoundedLeaves>,
}

/// A group occurrence, with the column at which it begins, and those around it.
struct Place<'p> {
    group: NodeId,
    base: u32,
    outer: Option<&'p Place<'p>>,
}

impl Source<'_> {
    /// Sends the children of a group occurrence.
    fn children<S: Sink>(&self, place: &Place<'_>, sink: &mut S) {
        let reader = self.reader;
        let shape = &reader.shape;
        for child in shape.children(place.group) {
            let columns = self.reader.columns.node(child);
            let at = place.base + columns.offset;
            let end = at + columns.width * columns.max;
            if last(&self.reader.present, at, end).is_none() {
                continue;
            }
            let filled = last(&self.reader.filled, at, end);
            match shape.node(child).occurs {
                Occurs::Many { min, .. } => {
                    let used = filled.map_or(0, |column| (column - at) / columns.width + 1);
                    let has_nulls = !reader.null_lists.is_empty() && reader.null_lists.binary_search(&child).is_ok();
                    if used == 0 && min > 0 && !has_nulls {
                        continue;
                    }
                    let counted = if has_nulls { self.counted(child, place).min(columns.max) } else { 0 };
                    let times = used.max(min.min(columns.max)).max(counted);
                    sink.open_list(child);
                    for occurrence in 0..times {
                        self.occurrence(child, at + occurrence * columns.width, true, place, sink);
                    }
                    sink.close_list(child);
                }
                Occurs::Optional if filled.is_none() => {}
                Occurs::Once | Occurs::Optional => self.occurrence(child, at, false, place, sink),
            }
        }
    }

    /// Returns the number of elements that the counter of a list says; 0 if it has no counter or that has no number.
    fn counted(&self, list: NodeId, place: &Place<'_>) -> u32 {
        let reader = self.reader;
        let of = |place: &Place<'_>| {
            let at = reader.counters.binary_search_by_key(&list, |(list, _)| *list).ok()?;
            let counter = reader.counters[at].1;
            let group = reader.shape.node(counter).parent?;
            let mut place = place;
            while place.group != group {
                place = place.outer?;
            }
            let column = place.base + reader.columns.node(counter).offset;
            let text = reader.cells.run(self.raw, reader.header.cells[column as usize]?);
            core::str::from_utf8(text.bytes()).ok()?.trim().parse().ok()
        };
        of(place).unwrap_or(0)
    }

    fn occurrence<S: Sink>(&self, node: NodeId, at: u32, in_list: bool, outer: &Place<'_>, sink: &mut S) {
        let reader = self.reader;
        if reader.shape.node(node).kind == NodeKind::Group {
            sink.enter(node);
            self.children(&Place { group: node, base: at, outer: Some(outer) }, sink);
            sink.leave(node);
            return;
        }
        match self.reader.header.cells[at as usize] {
            Some(cell) if !self.reader.cells.is_empty_cell(cell) => {
                let NodeKind::Scalar(scalar) = &reader.shape.node(node).kind else { return };
                if send_cell(sink, node, scalar, reader.cells.run(self.raw, cell), self.ascii) {
                    self.rounded.borrow_mut().add(node);
                }
            }
            // Inside a list a place must be kept.
            cell if in_list || (cell.is_some() && self.reader.is_null(node)) => sink.value(node, Value::Null),
            _ => {}
        }
    }
}

/// Sends a cell that is not empty. Cells of bytes and of truth values were checked before. Returns true if a number was rounded to a
/// float.
#[inline]
pub(crate) fn send_cell<S: Sink>(sink: &mut S, node: NodeId, scalar: &Scalar, run: Run<'_>, is_ascii: bool) -> bool {
    let mut scratch: NumberScratch = [0; _];
    let number = match scalar {
        Scalar::Text { .. } => None,
        Scalar::Bytes { .. } => {
            send_bytes(sink, node, run.bytes());
            return false;
        }
        Scalar::Bool => truth_of(run.bytes()).map(Value::Bool),
        scalar => read_number(scalar, run.bytes(), &mut scratch),
    };
    let is_rounded = number.as_ref().is_some_and(|number| is_rounded_float(run.bytes(), number));
    let text = if is_ascii { Value::Ascii(run) } else { Value::Text(run) };
    sink.value(node, number.unwrap_or(text));
    is_rounded
}

#[inline(never)]
fn send_bytes<S: Sink>(sink: &mut S, node: NodeId, cell: &[u8]) {
    match bytes_of(cell) {
        Some((bytes, true)) => sink.value(node, Value::Raw(&bytes)),
        Some((bytes, false)) => sink.value(node, Value::Bytes(&bytes)),
        None => sink.value(node, Value::Null),
    }
}

/// Decodes a cell of hexadecimal digits. The flag is true if the digits follow `0x`; such a cell is not a valid value of the field.
pub(crate) fn bytes_of(cell: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (digits, is_raw) = cell.strip_prefix(b"0x").map_or((cell, false), |digits| (digits, true));
    Some((quayline_core::from_hex(digits)?, is_raw))
}

/// Parses a truth value in any case, since spreadsheets write `TRUE` and `FALSE`.
fn truth_of(cell: &[u8]) -> Option<bool> {
    let is = |word: &[u8]| cell.eq_ignore_ascii_case(word);
    read_bool(cell).or_else(|| if is(b"true") { Some(true) } else { is(b"false").then_some(false) })
}

/// Check of a cell's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    Bytes,
    Truth,
    Moment(Moment),
    Length(u32),
    Number { digits: u16, scale: i16, signed: bool },
}

impl Check {
    /// Returns the check for the cells of a leaf.
    pub(crate) fn of(leaf: NodeId, scalar: &Scalar, moments: &[(NodeId, Moment)]) -> Option<Check> {
        match (scalar, moments.iter().find(|(node, _)| *node == leaf)) {
            (Scalar::Bytes { .. }, _) => Some(Check::Bytes),
            (Scalar::Bool, _) => Some(Check::Truth),
            (_, Some((_, moment))) => Some(Check::Moment(*moment)),
            _ => None,
        }
    }

    /// Returns the check that values are within the type of a leaf.
    pub(crate) fn of_declaration(leaf: NodeId, scalar: &Scalar, moments: &[(NodeId, Moment)]) -> Option<Check> {
        match *scalar {
            Scalar::Text { chars_max: Some(max) } if moments.iter().all(|(node, _)| *node != leaf) => {
                Some(Check::Length(max))
            }
            Scalar::Decimal { digits, scale, signed } => Some(Check::Number { digits, scale, signed }),
            _ => None,
        }
    }

    pub(crate) fn fault(self, cell: &[u8]) -> Option<FlatFaultKind> {
        match self {
            Check::Bytes => bytes_of(cell).is_none().then_some(FlatFaultKind::Hex),
            Check::Truth => truth_of(cell).is_none().then_some(FlatFaultKind::NotBool),
            Check::Moment(moment) => moment.read(cell).is_none().then_some(FlatFaultKind::NotMoment(moment)),
            Check::Length(max) => {
                let starts = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
                let is_long = cell.len() > max as usize && starts(cell) > max as usize;
                is_long.then_some(FlatFaultKind::Exceeds(Bound::Length(max)))
            }
            Check::Number { digits, scale, signed } => {
                let mut scratch: NumberScratch = [0; _];
                let decimal = Scalar::Decimal { digits, scale, signed };
                // A receiver judges text that is not a number.
                let Some(Value::Digits(number)) = read_number(&decimal, cell, &mut scratch) else { return None };
                exceeded(number, digits, scale, signed).map(FlatFaultKind::Exceeds)
            }
        }
    }
}

/// Returns the bound of a decimal that a number exceeds. Zeros before and after the number are not digits of its value.
fn exceeded(number: Digits<'_>, digits: u16, scale: i16, signed: bool) -> Option<Bound> {
    if number.negative && !signed && !number.is_zero() {
        return Some(Bound::Unsigned);
    }
    let all = number.digits.bytes();
    let (whole, fraction) = all.split_at(all.len().saturating_sub(usize::try_from(number.scale).unwrap_or(0)));
    let whole_max = u32::try_from(i32::from(digits) - i32::from(scale)).unwrap_or(0);
    let whole_len = whole.len() - whole.iter().take_while(|digit| **digit == b'0').count();
    if whole_len > whole_max as usize {
        return Some(Bound::Digits(whole_max));
    }
    let decimals_max = u32::try_from(scale).unwrap_or(0);
    let decimals = fraction.len() - fraction.iter().rev().take_while(|digit| **digit == b'0').count();
    if decimals > decimals_max as usize {
        return Some(Bound::Decimals(decimals_max));
    }
    // With more decimals than digits, the first decimals are zeros.
    let zeros = decimals_max.saturating_sub(u32::from(digits)) as usize;
    let is_above = fraction.iter().take(zeros).any(|digit| *digit != b'0');
    is_above.then_some(Bound::Total(u32::from(digits)))
}

/// Returns whether `""` is a value of a leaf: an empty text, or zero bytes.
pub(crate) fn has_empty_text(leaf: NodeId, scalar: &Scalar, moments: &[(NodeId, Moment)]) -> bool {
    matches!(scalar, Scalar::Text { .. } | Scalar::Bytes { .. }) && moments.iter().all(|(node, _)| *node != leaf)
}

/// Calls `each` with the columns of a group occurrence that begins at the given column.
fn each_column(
    shape: &Shape,
    columns: &Columns,
    (group, base): (NodeId, u32),
    each: &mut impl FnMut(usize, NodeId, &Scalar),
) {
    for child in shape.children(group) {
        let place = columns.node(child);
        for occurrence in 0..place.max {
            let at = base + place.offset + occurrence * place.width;
            match &shape.node(child).kind {
                NodeKind::Group => each_column(shape, columns, (child, at), each),
                NodeKind::Scalar(scalar) => each(at as usize, child, scalar),
            }
        }
    }
}

/// Returns the last column that the table records in `from..to`.
fn last(table: &[u32], from: u32, to: u32) -> Option<u32> {
    table[to as usize].checked_sub(1).filter(|column| *column >= from)
}
