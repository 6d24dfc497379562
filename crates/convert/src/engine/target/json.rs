//! JSON text.

use quayline_core::{Finding, Shape};
use quayline_json::{JsonStyle, JsonWriter};

use crate::engine::lane::Target;
use crate::engine::lot::Payload;

pub(crate) struct JsonTarget {
    writer: JsonWriter,
}

impl JsonTarget {
    pub(crate) fn new(shape: &Shape, style: JsonStyle) -> Self {
        JsonTarget { writer: JsonWriter::new(shape, style) }
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
        Ok(())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        (payload.bytes, payload.len) = self.writer.exchange(core::mem::take(&mut payload.bytes));
        Ok(())
    }
}
