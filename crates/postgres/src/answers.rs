//! Answers of the server.

use std::ops::Range;

/// Answers of a pipeline. Buffers are reused.
#[derive(Debug, Default)]
pub struct Answers {
    /// Rows that each statement changed or returned, in the order of the pipeline.
    pub counts: Vec<u64>,
    /// Names of the columns of the last statement that was described.
    pub columns: Vec<String>,
    /// Type numbers of these columns.
    pub types: Vec<u32>,
    /// Whether a fetch ended because its portal has no more rows.
    pub is_last: bool,
    bytes: Vec<u8>,
    fields: Vec<Option<Range<usize>>>,
    rows: Vec<Range<usize>>,
}

impl Answers {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.bytes.clear();
        self.fields.clear();
        self.rows.clear();
        self.is_last = false;
    }

    /// Rows of all statements, in order.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if the answer has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a row by number.
    #[must_use]
    pub fn row(&self, number: usize) -> Option<Row<'_>> {
        let fields = self.fields.get(self.rows.get(number)?.clone())?;
        Some(Row { bytes: &self.bytes, fields })
    }

    /// Iterates over all rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.len()).filter_map(|number| self.row(number))
    }

    /// Takes the body of a DataRow message.
    pub(crate) fn add_row(&mut self, body: &[u8]) -> Option<()> {
        let first = self.fields.len();
        let (count, mut rest) = body.split_first_chunk::<2>()?;
        for _ in 0..u16::from_be_bytes(*count) {
            let (length, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            match usize::try_from(i32::from_be_bytes(*length)) {
                Ok(length) => {
                    let begin = self.bytes.len();
                    self.bytes.extend_from_slice(rest.get(..length)?);
                    rest = rest.get(length..)?;
                    self.fields.push(Some(begin..begin + length));
                }
                Err(_) => self.fields.push(None),
            }
        }
        self.rows.push(first..self.fields.len());
        Some(())
    }

    /// Takes the body of a RowDescription message.
    pub(crate) fn describe(&mut self, body: &[u8]) -> Option<()> {
        self.columns.clear();
        self.types.clear();
        let (count, mut rest) = body.split_first_chunk::<2>()?;
        for _ in 0..u16::from_be_bytes(*count) {
            let end = rest.iter().position(|byte| *byte == 0)?;
            self.columns.push(core::str::from_utf8(rest.get(..end)?).ok()?.to_owned());
            let fixed = rest.get(end + 1..end + 19)?;
            self.types.push(u32::from_be_bytes(fixed.get(6..10)?.try_into().ok()?));
            rest = rest.get(end + 19..)?;
        }
        Some(())
    }
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    bytes: &'a [u8],
    fields: &'a [Option<Range<usize>>],
}

impl<'a> Row<'a> {
    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns true if the row has no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the bytes of a column; `None` if it is null or does not exist.
    #[must_use]
    pub fn get(&self, column: usize) -> Option<&'a [u8]> {
        self.bytes.get(self.fields.get(column)?.clone()?)
    }

    /// Decodes a column of type `bigint` that arrived in binary form.
    #[must_use]
    pub fn int8(&self, column: usize) -> Option<i64> {
        self.get(column)?.try_into().ok().map(i64::from_be_bytes)
    }

    /// Decodes a column of type `boolean` that arrived in binary form.
    #[must_use]
    pub fn bool(&self, column: usize) -> Option<bool> {
        Some(self.get(column)? == [1])
    }

    /// Returns a column as text.
    #[must_use]
    pub fn text(&self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.get(column)?).ok()
    }
}
