//! `quayline.parquetReader`: reads rows of a Parquet file, each as one JSON item.
//!
//! The checkpoint has 24 bytes: number of the next row from 0, number of rows of the file and its length in bytes. A restart begins at the row group
//! that contains the row. A reader that has given away a part of its range adds the first row that it does not read.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_columnar::{ColumnInput, ColumnReader, RowSource, UnknownColumn, shape_of};
use quayline_core::{Limits, Shape, Sink as _};
use quayline_json::{JsonStyle, JsonWriter};
use quayline_project::{ShapeFile, ShapeOptions};

use super::file_reader::{damaged, io, note, numbers, of_findings};
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, ItemPlace, Lent, Reader};
use crate::codes;
use crate::context::StepContext;
use crate::error::Thrown;
use crate::work::Work;

pub(super) struct ParquetReader {
    path: PathBuf,
    step: Option<Arc<StepContext>>,
    /// The shape that the columns fill; `None` takes that of the columns.
    shape: Option<ShapeFile>,
    /// Handling of columns that the shape does not have.
    unknown: UnknownColumn,
    limits: Limits,
    from: u64,
    to: u64,
    /// End of the range in the properties; `to` is less if a part of the range was given away.
    given_to: u64,
    rows_total: u64,
    length: u64,
    /// The next row.
    row: u64,
    open: Option<Open>,
    /// Reason for refusing the last row, for a retry with the same values.
    refused: Option<Thrown>,
    is_again: bool,
}

/// A file that is being read.
struct Open {
    columns: ColumnReader,
    rows: RowSource,
    shape: Shape,
    writer: JsonWriter,
    /// Rows of the batch, in `writer`, that are left.
    items: VecDeque<Result<Range<usize>, Thrown>>,
}

impl ParquetReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let limits = limits(with)?;
        let shape = match with.property("shape") {
            Some(_) => Some(shape_file(&with.path("shape")?, &limits)?),
            None => None,
        };
        Ok(ParquetReader {
            path: with.path("file")?,
            step: with.step.clone(),
            shape,
            unknown: match with.property("unknown") {
                Some("ignore") => UnknownColumn::Ignore,
                _ => UnknownColumn::Error,
            },
            limits,
            from: with.number("from", 0)?,
            to: with.number("to", u64::MAX)?,
            given_to: with.number("to", u64::MAX)?,
            rows_total: 0,
            length: 0,
            row: 0,
            open: None,
            refused: None,
            is_again: false,
        })
    }

    fn checkpoint_at(&self, row: u64) -> Vec<u8> {
        let end = (self.to != self.given_to).then_some(self.to);
        [row, self.rows_total, self.length].into_iter().chain(end).flat_map(u64::to_le_bytes).collect()
    }

    fn end(&self) -> u64 {
        self.to.min(self.rows_total)
    }
}

/// Reads the shape file that a property names.
pub(super) fn shape_file(path: &Path, limits: &Limits) -> Answer<ShapeFile> {
    let options = ShapeOptions { limits: limits.clone(), ..ShapeOptions::default() };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    ShapeFile::load(folder, &name, &options).map_err(|findings| of_findings(&findings))
}

/// Opens a Parquet file at a row, and returns its length in bytes.
pub(super) fn open_at(path: &Path, row: u64) -> Answer<(ColumnReader, u64)> {
    let file = File::open(path).map_err(|error| io(path, "opened", &error))?;
    let length = file.metadata().map_err(|error| io(path, "read", &error))?.len();
    let columns = ColumnReader::parquet_from(ColumnInput::File(file), row).map_err(|error| {
        let thrown = Thrown::from_finding(&error.finding());
        Thrown { message: format!("{}: {}", path.display(), thrown.message), ..thrown }
    })?;
    Ok((columns, length))
}

impl Open {
    /// Converts the rows of the next batch. Returns false at the end.
    fn fill(&mut self, row: u64) -> Answer<bool> {
        let Some(batch) = self.columns.next_batch().map_err(|error| Thrown::from_finding(&error.finding()))? else {
            return Ok(false);
        };
        self.writer.clear();
        let mut rows = self.rows.rows(&batch);
        for at in 0..batch.num_rows() {
            let start = self.writer.bytes().len();
            let item = match rows.send(at, &mut self.writer) {
                // The item is the row without its line end.
                Ok(()) => Ok(start..self.writer.bytes().len() - 1),
                Err(fault) => {
                    self.writer.discard();
                    let thrown = Thrown::from_finding(&fault.finding(&self.shape));
                    let message = format!("row {}: {}", row + at as u64 + 1, thrown.message);
                    Err(Thrown { message, ..thrown })
                }
            };
            self.items.push_back(item);
        }
        Ok(true)
    }
}

impl Reader for ParquetReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.to = self.given_to;
        self.row = self.from;
        let mut known = None;
        if let Some(bytes) = checkpoint {
            let (start, end) = bytes.split_at_checked(24).ok_or_else(damaged)?;
            let [row, rows, length] = numbers(start).ok_or_else(damaged)?;
            if !end.is_empty() {
                [self.to] = numbers(end).ok_or_else(damaged)?;
            }
            self.row = row;
            known = Some((rows, length));
        }
        let (columns, length) = open_at(&self.path, self.row)?;
        self.length = length;
        self.rows_total = columns.rows_total().unwrap_or(0);
        if let Some((rows, bytes)) = known
            && (rows, bytes) != (self.rows_total, length)
        {
            let message = format!(
                "{} has {} rows in {length} bytes, but had {rows} in {bytes} at the checkpoint",
                self.path.display(),
                self.rows_total
            );
            return Err(Thrown::of(&["quayline.Environment"], message)
                .hint("restore the file that the job began with, or start a new instance of the job"));
        }
        let shape = match &self.shape {
            Some(file) => file.shape().clone(),
            None => shape_of(columns.schema(), &self.limits).map_err(|findings| of_findings(&findings))?,
        };
        let rows = RowSource::new(columns.schema(), &shape, self.unknown).map_err(|findings| of_findings(&findings))?;
        // Once for all ranges of a file.
        if checkpoint.is_none()
            && self.from == 0
            && let Some(step) = &self.step
        {
            rows.warnings().iter().for_each(|finding| note(step, &self.path, finding));
        }
        if checkpoint.is_none()
            && self.from > self.rows_total
            && let Some(step) = &self.step
        {
            let (path, rows, from, code) = (self.path.display(), self.rows_total, self.from, codes::SKIPPED_ALL);
            step.note(code.0, || {
                format!("{path}: {code}: the file has {rows} rows, and the property from begins at {from}")
            });
        }
        let writer = JsonWriter::new(&shape, JsonStyle::default());
        self.open = Some(Open { columns, rows, shape, writer, items: VecDeque::new() });
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        let refused = self.refused.take();
        if std::mem::take(&mut self.is_again)
            && let Some(thrown) = refused
        {
            return Err(self.refused.insert(thrown).clone());
        }
        if self.row >= self.end() {
            return Ok(None);
        }
        let Some(open) = &mut self.open else { return Err(damaged()) };
        if open.items.is_empty() && !open.fill(self.row)? {
            let message = format!("{} ends before row {} of {}", self.path.display(), self.row + 1, self.rows_total);
            return Err(Thrown::of(&["quayline.Environment"], message)
                .hint("the file is damaged: write it again, then start a new instance of the job"));
        }
        let item = open.items.pop_front().transpose();
        self.row += 1;
        match item {
            Ok(range) => Ok(range.map(|range| open.writer.bytes()[range].to_vec())),
            Err(thrown) => Err(self.refused.insert(thrown).clone()),
        }
    }

    fn again(&mut self) -> Answer<()> {
        self.is_again = true;
        Ok(())
    }

    fn place(&self) -> ItemPlace {
        ItemPlace { record: Some(self.row), byte: None }
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some(self.checkpoint_at(self.row).into()))
    }

    fn left(&self) -> Option<u64> {
        Some(self.end().saturating_sub(self.row))
    }

    /// Gives away the second half of the remaining range.
    fn split(&mut self) -> Answer<Option<Vec<u8>>> {
        let end = self.end();
        let middle = self.row + end.saturating_sub(self.row) / 2;
        if middle <= self.row || middle >= end {
            return Ok(None);
        }
        let begin = [middle, self.rows_total, self.length, end].map(u64::to_le_bytes).concat();
        self.to = middle;
        Ok(Some(begin))
    }

    fn close(&mut self) -> Answer<()> {
        self.open = None;
        Ok(())
    }
}
