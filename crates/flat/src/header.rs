//! The header row against the columns of a shape.

use std::collections::HashMap;

use quayline_core::{Code, Fault, Finding, Findings, PRESERVE, PRESERVE_REMEDY, Place, Severity};

use crate::Columns;
use crate::FlatFaultKind;
use crate::cells::Cells;
use crate::fault::NOT_UTF8;
use crate::style;

/// Two columns have one name.
pub(crate) const TWICE: Code = Code("FLAT-006");

/// Findings of one kind that are reported individually; the rest is counted.
const TOLD_MAX: usize = 20;

/// The cell of a row that holds each column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    /// For each column of the shape, the index of its cell; `None` if the file does not have the column.
    pub(crate) cells: Vec<Option<usize>>,
    /// Cells of a row.
    pub(crate) width: usize,
    pub(crate) warnings: Vec<Finding>,
}

impl Header {
    /// Creates the header of a file without a header row: all columns in order.
    pub(crate) fn all(columns: &Columns) -> Self {
        Header { cells: (0..columns.len()).map(Some).collect(), width: columns.len(), warnings: Vec::new() }
    }

    /// Splits a header row. If all columns must be known, only a limited number of cells is read: any further cells are unknown or duplicates, and
    /// the findings list only the first of those.
    pub(crate) fn split(
        raw: &[u8],
        delimiter: u8,
        cells: &mut Cells,
        columns: &Columns,
        style: style::Header,
    ) -> Result<(), (FlatFaultKind, usize)> {
        match style {
            style::Header::Open => cells.split(raw, delimiter),
            _ => cells.split_first(raw, delimiter, columns.len() + TOLD_MAX),
        }
    }

    /// Reads a header row.
    pub(crate) fn read(raw: &[u8], row: &Cells, columns: &Columns, style: style::Header) -> Result<Self, Findings> {
        let by_name: HashMap<&str, usize> = columns.names().enumerate().map(|(i, name)| (name, i)).collect();
        let mut header = Header { cells: vec![None; columns.len()], width: row.len(), warnings: Vec::new() };
        let mut errors = Vec::new();
        let mut more = row.more();
        let mut ignored = 0usize;
        // A header of commas has millions of faults, and the search for similar names takes all columns.
        let mut note = |cell: usize, finding: &dyn Fn() -> Finding| {
            if errors.len() < TOLD_MAX { errors.push(at(cell, finding())) } else { more += 1 }
        };
        for i in 0..row.len() {
            let bytes = row.run(raw, i).bytes();
            let Ok(name) = core::str::from_utf8(bytes) else {
                note(i, &|| Finding::error(NOT_UTF8, Fault::Sender, "the column's name is not UTF-8"));
                continue;
            };
            match by_name.get(name) {
                None if style == style::Header::Open => ignored += 1,
                None => note(i, &|| unknown(name, columns)),
                Some(column) if header.cells[*column].is_some() => {
                    let message = format!("column {name} occurs twice in the header");
                    note(i, &|| Finding::error(TWICE, Fault::Sender, &*message).hint("keep one of them"));
                }
                Some(column) => header.cells[*column] = Some(i),
            }
        }
        if !errors.is_empty() {
            return Err(Findings(cut(errors, more)));
        }
        header.warnings = header.missing(columns).into_iter().collect();
        if ignored > 0 {
            let message = match ignored {
                1 => "1 column of the header is left out: the record has no field for it".to_owned(),
                many => format!("{many} columns of the header are left out: the record has no field for them"),
            };
            let mut note = Finding::warning(Code("FLAT-005"), Fault::Sender, message);
            note.severity = Severity::Note;
            header
                .warnings
                .push(note.hint("describe them to keep them; without `--unknown ignore`, a finding names each"));
        }
        Ok(header)
    }

    /// Returns a warning for columns that every record has and the file does not. A list may have fewer occurrences than possible, so
    /// only its occurrences up to the last one of the file must have all columns.
    fn missing(&self, columns: &Columns) -> Option<Finding> {
        let mut last: HashMap<&str, u32> = HashMap::new();
        for (name, _) in columns.names().zip(&self.cells).filter(|(_, cell)| cell.is_some()) {
            for (list, index) in occurrences(name) {
                let known = last.entry(list).or_default();
                *known = index.max(*known);
            }
        }
        let is_due =
            |name: &str| occurrences(name).all(|(list, index)| last.get(list).is_some_and(|last| index <= *last));
        let missing: Vec<&str> = columns
            .names()
            .zip(&self.cells)
            .filter(|(name, cell)| cell.is_none() && is_due(name))
            .map(|(name, _)| name)
            .collect();
        let (first, more) = (missing.first()?, missing.len() - 1);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("the header does not have column {first}{more}: their values are absent");
        let fault = Finding::warning(Code("FLAT-007"), Fault::Sender, message);
        Some(fault.hint("add the columns, or give defaults in the interface"))
    }
}

/// Returns the lists in the name of a column, outermost first, and the index in each: for `A[1].B[0]`, `A` and 1, `A[1].B` and 0.
fn occurrences(name: &str) -> impl Iterator<Item = (&str, u32)> {
    name.match_indices('[').filter_map(|(at, _)| {
        let (index, _) = name[at + 1..].split_once(']')?;
        Some((&name[..at], index.parse().ok()?))
    })
}

fn at(cell: usize, finding: Finding) -> Finding {
    let detail = Some(format!("column {} of the header", cell + 1));
    finding.at(Place { line: Some(1), detail, ..Place::default() })
}

fn unknown(name: &str, columns: &Columns) -> Finding {
    let same = |name: &str| -> String {
        name.trim().chars().map(|c| if matches!(c, '_' | ' ') { '-' } else { c.to_ascii_uppercase() }).collect()
    };
    let plain = same(name);
    let near = columns.names().find(|known| same(known) == plain);
    // A name is the user's own vocabulary; one that is long is rather a row of data.
    let shown = if name.chars().count() <= 60 { format!("`{name}`") } else { "of more than 60 characters".to_owned() };
    let finding =
        Finding::error(Code("FLAT-005"), Fault::Sender, format!("the record has no field for column {shown}"));
    let index = name.rfind('[').zip(name.rfind(']'));
    let list = index.and_then(|(open, _)| columns.names().filter(|known| known.starts_with(&name[..=open])).last());
    if name.rsplit('.').next() == Some(PRESERVE) {
        return finding.hint(PRESERVE_REMEDY);
    }
    match (near, list) {
        (Some(known), _) => finding.hint(format!("write it `{known}`")),
        (None, Some(last)) => finding.hint(format!("the last column of that list is `{last}`")),
        (None, None) => finding.hint("remove the column or correct its name; is the first row the header?"),
    }
}

/// Keeps the first findings, and adds one that counts the rest.
fn cut(mut errors: Vec<Finding>, more: usize) -> Vec<Finding> {
    let more = more + errors.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        errors.truncate(TOLD_MAX);
        let message = format!("{more} more columns of the header are unknown or doubled");
        errors.push(Finding::error(Code("FLAT-005"), Fault::Sender, message));
    }
    errors
}
