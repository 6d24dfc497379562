//! Columns: Parquet pages and Arrow batches.

use quayline_columnar::{ColumnSink, ParquetEncoder};
use quayline_core::{Finding, Place};

use crate::payload::{Columns, Payload};
use crate::target::Target;

/// Consumer of rows: the part of a [`ColumnsTarget`] in which pages and batches differ.
pub(crate) trait TakeRows: Send {
    /// Takes the rows of a sink.
    fn take(&mut self, sink: &mut ColumnSink) -> Result<Columns, Vec<Finding>>;
}

/// Encodes pages in the lane; only their order is left to the writer.
impl TakeRows for ParquetEncoder {
    fn take(&mut self, sink: &mut ColumnSink) -> Result<Columns, Vec<Finding>> {
        self.take_pages(sink).map(Columns::Pages).map_err(|error| vec![error.finding()])
    }
}

/// Hands over batches.
pub(crate) struct Batches;

impl TakeRows for Batches {
    fn take(&mut self, sink: &mut ColumnSink) -> Result<Columns, Vec<Finding>> {
        sink.take_batch().map(Columns::Batch).map_err(|error| vec![error.finding()])
    }
}

/// Rows of columns.
pub(crate) struct ColumnsTarget<T> {
    sink: ColumnSink,
    rows: T,
    full: Vec<Columns>,
}

impl<T: TakeRows> ColumnsTarget<T> {
    pub(crate) fn new(sink: ColumnSink, rows: T) -> Self {
        ColumnsTarget { sink, rows, full: Vec::new() }
    }

    /// Takes the rows so far.
    fn leave(&mut self) -> Result<(), Vec<Finding>> {
        self.full.push(self.rows.take(&mut self.sink)?);
        Ok(())
    }
}

impl<T: TakeRows> Target for ColumnsTarget<T> {
    type Sink = ColumnSink;

    #[inline(always)]
    fn sink(&mut self) -> &mut ColumnSink {
        &mut self.sink
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        accept(&mut self.sink)?;
        // The output depends only on the rows of the block, so it is the same for any number of lanes.
        if self.sink.is_full() { self.leave() } else { Ok(()) }
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        if self.sink.rows() > 0 {
            self.leave()?;
        }
        Ok(self.full.len())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        if self.sink.rows() > 0 {
            self.leave()?;
        }
        payload.columns.append(&mut self.full);
        Ok(())
    }
}

#[inline(always)]
fn accept(sink: &mut ColumnSink) -> Result<(), Vec<Finding>> {
    match sink.take_refusal() {
        None => Ok(()),
        Some(refusal) => Err(refusal.findings(&Place::default()).0),
    }
}
