//! CSV: a sink that writes a document as one row, and a source that reads rows back.
//!
//! * [`CsvWriter`] is a [`quayline_core::Sink`]: columns are the leaf paths of a shape, lists spread to their maximum (`A.B[0].C`).
//! * [`RowSplitter`] finds rows in a byte stream, quotes respected; [`CsvReader`] maps columns by their header and drives a sink.
//! * [`FamilyReader`] and [`FamilyWriter`] do the same for documents of several rows: head and line records, and rows with equal keys.
//!
//! Sans-IO. Grammar: RFC 4180, in UTF-8.
//!
//! # Departures, and what CSV cannot say
//! * Rows end with LF or CR LF; the last may end with the file.
//! * A UTF-8 byte order mark before the header is skipped: spreadsheet programs write it.
//! * Blank lines are skipped if a row has more than one column.
//! * An empty cell without quotes is an absent value (so is a null), one with quotes is empty text.
//! * Occurrences at the end of a list whose cells are all empty do not exist: a list is as long as its last filled occurrence. A
//!   list without any filled cell is empty if its minimum is 0, otherwise absent.

mod cells;
mod columns;
mod family;
mod fault;
mod header;
mod reader;
mod rows;
mod style;
mod writer;

pub use columns::Columns;
pub use family::{
    ColumnRole, FamilyRead, FamilyReader, FamilySplitter, FamilyWriter, KeyOrder, KeySpan, KeyedColumn, RowFamilies,
    RowKind,
};
pub use fault::{Bound, FlatFault, FlatFaultKind};
pub use reader::{CsvReader, RowRead};
pub use rows::{EndOfInput, Row, RowSplitter, RowStep};
pub use style::{CsvStyle, EmptyCell, Header, LineEnd, Quotes};
pub use writer::CsvWriter;
