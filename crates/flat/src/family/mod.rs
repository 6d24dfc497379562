//! Documents of several rows.
//!
//! ```text
//! RowSplitter ─▶ rows ─▶ FamilySplitter: does a row begin a document? ─▶ all rows of a document ─▶ FamilyReader ─▶ Sink
//! Sink ─▶ FamilyWriter ─▶ the rows of each document
//! ```
//!
//! Two forms of files are read and written so:
//! * **Kinds:** a cell of each row says what kind of row it is (head and line records). Rows of a kind with a parent are a list in the row of
//!   that kind before them.
//! * **Keys:** neighbouring rows with equal keys are one document (a control break). Fields of the document are equal in all its rows; the
//!   others are those of a list with one occurrence for each row.
//!
//! # Bounds
//! The rows of one document are in memory together, up to `Limits::record_bytes_max`. Keys that may come back are remembered as a hash of
//! eight bytes each, up to `Limits::groups_max`; with [`KeyOrder::Ascending`] nothing is remembered.

mod reader;
mod splitter;
mod writer;

use quayline_core::{Limits, NodeId, Occurs, Scalar, Shape};

pub use reader::{FamilyRead, FamilyReader};
pub use splitter::FamilySplitter;
pub use writer::{FamilyWriter, KeySpan};

use crate::Columns;

/// How rows make documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RowFamilies {
    /// A cell says what kind of row it is.
    Kinds {
        /// That cell, from 0.
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
        /// What is known of the order of keys.
        order: KeyOrder,
    },
}

/// A kind of row.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RowKind {
    /// Its name, for findings.
    pub name: String,
    /// What its kind cell holds.
    pub values: Vec<String>,
    /// The kind in which its rows are a list.
    pub parent: Option<usize>,
    /// Its group in the shape of the documents.
    pub group: NodeId,
    /// The leaf of each cell.
    pub cells: Vec<NodeId>,
}

/// A column of a file whose documents have keys.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyedColumn {
    /// Its name in the header.
    pub name: String,
    /// Its leaf in the shape of the documents.
    pub leaf: NodeId,
    /// What it is.
    pub role: ColumnRole,
}

/// What a column says of its document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnRole {
    /// Rows of a document have the same.
    Key,
    /// Rows of a document must have the same.
    Document,
    /// Each row has its own.
    Row,
}

/// What is known of the order of keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum KeyOrder {
    /// Rows of one key are neighbours. A key that comes back later is a fault.
    #[default]
    Together,
    /// Keys ascend, compared as text.
    Ascending,
}

impl RowFamilies {
    /// The columns of a header, as leaves of a flat shape; `None` for kinds, which have no header.
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
