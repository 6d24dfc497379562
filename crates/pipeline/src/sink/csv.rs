//! Rows of CSV.

use quayline_core::{Finding, Findings, Limits, Shape};
use quayline_flat::{CsvStyle, CsvWriter};

use crate::lane::Target;
use crate::lot::Payload;

pub(crate) struct CsvTarget {
    writer: CsvWriter,
}

impl CsvTarget {
    pub(crate) fn new(shape: &Shape, style: CsvStyle, limits: &Limits) -> Result<Self, Findings> {
        Ok(CsvTarget { writer: CsvWriter::new(shape, style, limits)? })
    }
}

impl Target for CsvTarget {
    type Sink = CsvWriter;

    #[inline(always)]
    fn sink(&mut self) -> &mut CsvWriter {
        &mut self.writer
    }

    #[inline]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        match self.writer.take_fault() {
            None => Ok(()),
            Some(fault) => Err(vec![fault.finding()]),
        }
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.writer.bytes().len())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        payload.fill(self.writer.bytes());
        self.writer.clear();
        Ok(())
    }
}
