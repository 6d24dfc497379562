//! Columns: Parquet pages and Arrow batches.

use quayline_columnar::{ColumnSink, ParquetEncoder};
use quayline_core::{Finding, Place};

use crate::lane::Target;
use crate::lot::{Columns, Payload};

/// Encodes pages in the lane; only their order is left to the writer.
pub(crate) struct PagesTarget {
    sink: ColumnSink,
    encoder: ParquetEncoder,
    full: Vec<Columns>,
}

/// Hands over batches.
pub(crate) struct BatchTarget {
    sink: ColumnSink,
    full: Vec<Columns>,
}

impl PagesTarget {
    pub(crate) fn new(sink: ColumnSink, encoder: ParquetEncoder) -> Self {
        PagesTarget { sink, encoder, full: Vec::new() }
    }

    /// The rows so far as pages.
    fn leave(&mut self) -> Result<(), Vec<Finding>> {
        let pages = self.encoder.take_pages(&mut self.sink).map_err(|error| vec![error.finding()])?;
        self.full.push(Columns::Pages(pages));
        Ok(())
    }
}

impl BatchTarget {
    pub(crate) fn new(sink: ColumnSink) -> Self {
        BatchTarget { sink, full: Vec::new() }
    }

    /// The rows so far as a batch.
    fn leave(&mut self) -> Result<(), Vec<Finding>> {
        let batch = self.sink.take_batch().map_err(|error| vec![error.finding()])?;
        self.full.push(Columns::Batch(batch));
        Ok(())
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
        accept(&mut self.sink)?;
        // What leaves depends on the rows of the block only, so that it is the same for any number of lanes.
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

impl Target for BatchTarget {
    type Sink = ColumnSink;

    #[inline(always)]
    fn sink(&mut self) -> &mut ColumnSink {
        &mut self.sink
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        accept(&mut self.sink)?;
        // What leaves depends on the rows of the block only, so that it is the same for any number of lanes.
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
