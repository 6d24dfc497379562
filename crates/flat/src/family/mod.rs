//! Documents that consist of several rows.
//!
//! ```text
//! RowSplitter ─▶ rows ─▶ FamilySplitter: does a row begin a document? ─▶ all rows of a document ─▶ FamilyReader ─▶ Sink
//! Sink ─▶ FamilyWriter ─▶ the rows of each document
//! ```
//!
//! Two forms of files are read and written:
//! * **Kinds:** a cell identifies the kind of each row (for example head and line records). Rows of a kind with a parent are a list within the
//!   preceding row of the parent kind.
//! * **Keys:** consecutive rows with equal keys are one document (a control break). Document fields are equal in all rows of a document; the
//!   other fields belong to a list with one occurrence for each row.
//!
//! # Bounds
//! All rows of one document are in memory, up to `Limits::record_bytes_max`. To detect keys that recur, the reader keeps a hash of eight bytes
//! for each key, up to `Limits::groups_max`; with [`KeyOrder::Ascending`] it keeps none.

mod reader;
mod splitter;
mod writer;

use quayline_core::{Limits, NodeId, Occurs, Scalar, Shape};

pub use reader::{FamilyRead, FamilyReader};
pub use splitter::FamilySplitter;
pub use writer::{FamilyWriter, KeySpan};

use crate::Columns;

/// Rule that groups rows into documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RowFamilies {
    /// A cell identifies the kind of each row.
    Kinds {
        /// Index of that cell, from 0.
        cell: usize,
        /// The kinds; parents come before their children.
        kinds: Vec<RowKind>,
    },
    /// Neighbouring rows with equal keys are one document.
    Keys {
        /// The columns, in the order of a file without a header.
        columns: Vec<KeyedColumn>,
        /// The list that has an occurrence for each row.
        list: NodeId,
        /// Known order of the keys.
        order: KeyOrder,
    },
}

/// A kind of row.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RowKind {
    /// Name of the kind, for findings.
    pub name: String,
    /// Values of the kind cell that select this kind.
    pub values: Vec<String>,
    /// The kind in which its rows are a list.
    pub parent: Option<usize>,
    /// Group of the kind in the shape of the documents.
    pub group: NodeId,
    /// The leaf of each cell.
    pub cells: Vec<NodeId>,
}

/// A column of a file whose documents have keys.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyedColumn {
    /// Name of the column in the header.
    pub name: String,
    /// Leaf of the column in the shape of the documents.
    pub leaf: NodeId,
    /// Role of the column in its document.
    pub role: ColumnRole,
    /// True if `""` is a value of the column's type. Otherwise it is an empty cell.
    pub has_empty_text: bool,
}

/// Role of a column in its document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnRole {
    /// A key: consecutive rows with equal keys are one document.
    Key,
    /// A document field: all rows of a document must have the same value.
    Document,
    /// A row field: each row has its own value.
    Row,
}

/// Known order of the keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum KeyOrder {
    /// Rows with the same key are consecutive. A key that recurs later is a fault.
    #[default]
    Together,
    /// Keys ascend, compared as text.
    Ascending,
}

/// Appends a cell to the key of a row, if it has a value. Keys compare as their cells do, an absent value before an empty text.
fn push_key(key: &mut Vec<u8>, text: Option<&[u8]>) {
    if let Some(text) = text {
        key.push(1);
        key.extend_from_slice(text);
    }
    // A zero after each part sorts before every character of a longer part.
    key.push(0);
}

impl RowFamilies {
    /// Returns the columns of a header as leaves of a flat shape; `None` for kinds, which have no header.
    fn columns(&self) -> Option<Columns> {
        let RowFamilies::Keys { columns, .. } = self else { return None };
        let mut row = Shape::builder("row");
        for column in columns {
            row.scalar(column.name.clone(), Scalar::Text { chars_max: None }, Occurs::Optional);
        }
        let limits = Limits { columns_max: usize::MAX, ..Limits::default() };
        Columns::new(&row.finish(), &limits).ok()
    }
}
