//! Columns: Parquet pages and Arrow batches.

use quayline_columnar::{ColumnSink, ParquetEncoder};
use quayline_core::{Finding, Place};

use crate::engine::lane::Target;
use crate::engine::lot::{Columns, Payload};

/// Encodes pages in the lane; only their order is left to the writer.
pub(crate) struct PagesTarget {
    sink: ColumnSink,
    encoder: ParquetEncoder,
}

/// Hands over batches.
pub(crate) struct BatchTarget {
    sink: ColumnSink,
}

impl PagesTarget {
    pub(crate) fn new(sink: ColumnSink, encoder: ParquetEncoder) -> Self {
        PagesTarget { sink, encoder }
    }
}

impl BatchTarget {
    pub(crate) fn new(sink: ColumnSink) -> Self {
        BatchTarget { sink }
    }
}

impl Target for PagesTarget {
    type Sink = ColumnSink;

    #[inline(always)]
    fn sink(&mut self) -> &mut ColumnSink {
        &mut self.sink
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        accept(&mut self.sink)
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        if self.sink.rows() > 0 {
            let pages = self.encoder.take_pages(&mut self.sink).map_err(|error| vec![error.finding()])?;
            payload.columns.push(Columns::Pages(pages));
        }
        Ok(())
    }
}

impl Target for BatchTarget {
    type Sink = ColumnSink;

    #[inline(always)]
    fn sink(&mut self) -> &mut ColumnSink {
        &mut self.sink
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        accept(&mut self.sink)
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        if self.sink.rows() > 0 {
            let batch = self.sink.take_batch().map_err(|error| vec![error.finding()])?;
            payload.columns.push(Columns::Batch(batch));
        }
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
