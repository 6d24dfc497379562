//! Head of a source: its properties for all documents.

use std::sync::{Arc, Mutex, PoisonError};

use quayline_columnar::{RowSource, Rows};
use quayline_core::Shape;
use quayline_json::{JsonStyle, JsonWriter};

use crate::csv_header::CsvHeader;

/// Head of a source, which every lane needs: its properties for all documents.
#[derive(Debug)]
pub enum SourceHead {
    /// The first row of CSV.
    Csv(CsvHeader),
    /// The columns of a file, bound to the shape of the source.
    Columns(Arc<ColumnsHead>),
}

impl SourceHead {
    /// Returns the first row, if the source is CSV.
    #[must_use]
    pub fn csv(&self) -> Option<&CsvHeader> {
        match self {
            SourceHead::Csv(header) => Some(header),
            SourceHead::Columns(_) => None,
        }
    }
}

/// Columns that are bound to a shape.
#[derive(Debug)]
pub struct ColumnsHead {
    pub(crate) shape: Shape,
    pub(crate) rows: RowSource,
    /// Writes rows that are rejected.
    writer: Mutex<JsonWriter>,
}

impl ColumnsHead {
    pub(crate) fn new(shape: &Shape, rows: RowSource) -> Self {
        ColumnsHead { shape: shape.clone(), rows, writer: Mutex::new(JsonWriter::new(shape, JsonStyle::default())) }
    }

    /// Appends a row as a line of JSON, which converts again with `--from json`.
    pub(crate) fn append_row(&self, rows: &mut Rows<'_>, row: usize, out: &mut Vec<u8>) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // A row with a null in a list of structs is written with an empty object there.
        let _ = rows.send(row, &mut *writer);
        out.extend_from_slice(writer.bytes());
        writer.clear();
    }
}
