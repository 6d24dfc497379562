//! Detection of the rows that begin a document.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use quayline_core::{Findings, Limits};

use super::{ColumnRole, KeyOrder, RowFamilies, push_key};
use crate::cells::Cells;
use crate::header::Header;
use crate::{CsvStyle, FlatFault, FlatFaultKind, Row};

/// Distinguishes rows that begin a document from rows that continue one. The caller passes the rows in order; it may start again at the first
/// row of a document that was not complete.
#[derive(Clone, Debug)]
pub struct FamilySplitter {
    families: Arc<RowFamilies>,
    delimiter: u8,
    cells: Cells,
    /// The cells of keys, and whether `""` is a value there.
    keys: Vec<(usize, bool)>,
    key: Vec<u8>,
    previous: Option<Vec<u8>>,
    seen: HashSet<u64>,
    hashes: RandomState,
    groups_max: usize,
}

impl FamilySplitter {
    /// Creates a splitter positioned after the header, which is `header` if the style has one.
    ///
    /// # Errors
    /// The header does not fit the columns.
    pub fn new(
        families: &Arc<RowFamilies>,
        style: CsvStyle,
        limits: &Limits,
        header: Option<&[u8]>,
    ) -> Result<Self, Findings> {
        let mut cells = Cells::default();
        let mut keys = Vec::new();
        if let RowFamilies::Keys { columns, .. } = &**families
            && let Some(named) = families.columns()
        {
            let header = match header {
                None => Header::all(&named),
                Some(raw) => {
                    Header::split(raw, style.delimiter, &mut cells, &named, style.header).map_err(|(kind, _)| {
                        Findings::from(FlatFault { kind, line: Some(1), column: None }.finding())
                    })?;
                    Header::read(raw, &cells, &named, style.header)?
                }
            };
            let places = columns.iter().zip(&header.cells);
            let keys_of = places.filter(|(column, _)| column.role == ColumnRole::Key);
            keys = keys_of.filter_map(|(column, cell)| Some(((*cell)?, column.has_empty_text))).collect();
        }
        Ok(FamilySplitter {
            families: Arc::clone(families),
            delimiter: style.delimiter,
            cells,
            keys,
            key: Vec::new(),
            previous: None,
            seen: HashSet::new(),
            hashes: RandomState::new(),
            groups_max: limits.groups_max,
        })
    }

    /// Returns true if a row begins a document. A row whose kind or key cannot be read continues the preceding document and is refused with it.
    ///
    /// # Errors
    /// `FLAT-017` for a key that recurs or descends, and `FLAT-018` if there are more keys than the limit. In both cases rows of one document may be
    /// anywhere in the file, so reading stops.
    pub fn begins(&mut self, row: Row<'_>) -> Result<bool, FlatFault> {
        if row.raw.is_empty() {
            // A blank line is not a row, so it has no key.
            return Ok(false);
        }
        if self.cells.split(row.raw, self.delimiter).is_err() {
            return Ok(false);
        }
        let order = match &*self.families {
            RowFamilies::Kinds { cell, kinds } => {
                let parentless = |value: &[u8]| {
                    kinds.iter().any(|kind| kind.parent.is_none() && kind.values.iter().any(|v| v.as_bytes() == value))
                };
                return Ok(*cell < self.cells.len() && parentless(self.cells.run(row.raw, *cell).bytes()));
            }
            RowFamilies::Keys { order, .. } => *order,
        };
        if self.keys.iter().any(|(cell, _)| *cell >= self.cells.len()) {
            return Ok(false);
        }
        self.key.clear();
        for (cell, has_empty_text) in &self.keys {
            push_key(&mut self.key, self.cells.value(row.raw, *cell, *has_empty_text));
        }
        let Some(previous) = &self.previous else {
            self.remember(row, order)?;
            return Ok(true);
        };
        match self.key.as_slice().cmp(previous) {
            core::cmp::Ordering::Equal => return Ok(false),
            core::cmp::Ordering::Less if order == KeyOrder::Ascending => {
                return Err(fault(row, FlatFaultKind::KeyOrder { ascending: true }));
            }
            _ => {}
        }
        self.remember(row, order)?;
        Ok(true)
    }

    fn remember(&mut self, row: Row<'_>, order: KeyOrder) -> Result<(), FlatFault> {
        if order == KeyOrder::Together {
            if self.seen.len() >= self.groups_max {
                return Err(fault(row, FlatFaultKind::Groups { limit: self.groups_max }));
            }
            if !self.seen.insert(self.hashes.hash_one(self.key.as_slice())) {
                return Err(fault(row, FlatFaultKind::KeyOrder { ascending: false }));
            }
        }
        let previous = self.previous.get_or_insert_default();
        previous.clear();
        previous.extend_from_slice(&self.key);
        Ok(())
    }
}

fn fault(row: Row<'_>, kind: FlatFaultKind) -> FlatFault {
    FlatFault { kind, line: Some(row.line), column: None }
}
