//! Description of a columnar file (Parquet or Arrow IPC), without its rows.

use std::fs::File;

use quayline_columnar::{ColumnForm, ColumnInput, ColumnReader, shape_of};
use quayline_core::{Findings, Limits, Shape};

/// Schema of a Parquet or Arrow IPC file.
#[derive(Clone, Debug)]
pub struct ColumnsSurvey {
    /// `Parquet file`, `Arrow IPC file` or `Arrow IPC stream`.
    pub form: &'static str,
    /// Number of rows, if the file states it before its end.
    pub rows: Option<u64>,
    /// Name and type of each column.
    pub columns: Vec<(String, String)>,
    /// The shape of its rows; or why they are not read.
    pub shape: Result<Shape, Findings>,
}

impl ColumnsSurvey {
    /// Returns true if a file with this beginning is one.
    #[must_use]
    pub fn recognizes(head: &[u8]) -> bool {
        ColumnForm::of(head).is_some()
    }

    /// Reads the schema.
    ///
    /// # Errors
    /// A file that cannot be read as columns.
    pub fn of(file: File, limits: &Limits) -> Result<ColumnsSurvey, Findings> {
        let reader = ColumnReader::open(ColumnInput::File(file)).map_err(|error| Findings::from(error.finding()))?;
        let fields = reader.schema().fields().iter();
        Ok(ColumnsSurvey {
            form: reader.form().words(),
            rows: reader.rows_total(),
            columns: fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect(),
            shape: shape_of(reader.schema(), limits),
        })
    }
}
