//! JSON text.

use quayline_core::{Finding, Shape};
use quayline_json::{JsonStyle, JsonWriter};

use crate::apart::Apart;
use crate::payload::Payload;
use crate::target::Target;

pub(crate) struct JsonTarget {
    writer: JsonWriter,
    /// Ends of documents, if requested.
    cuts: Option<Vec<usize>>,
}

impl JsonTarget {
    pub(crate) fn new(shape: &Shape, style: JsonStyle, apart: Apart) -> Self {
        JsonTarget { writer: JsonWriter::new(shape, style), cuts: (apart == Apart::FileEach).then(Vec::new) }
    }
}

impl Target for JsonTarget {
    type Sink = JsonWriter;

    #[inline(always)]
    fn sink(&mut self) -> &mut JsonWriter {
        &mut self.writer
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        if let Some(cuts) = &mut self.cuts {
            cuts.push(self.writer.bytes().len());
        }
        Ok(())
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.cuts.as_ref().map_or_else(|| self.writer.bytes().len(), Vec::len))
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        if let Some(cuts) = &mut self.cuts {
            core::mem::swap(cuts, &mut payload.cuts);
            cuts.clear();
        }
        (payload.bytes, payload.len) = self.writer.exchange(core::mem::take(&mut payload.bytes));
        Ok(())
    }
}
