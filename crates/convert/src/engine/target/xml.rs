//! Record elements of XML.

use quayline_core::{Finding, Findings, Shape};
use quayline_xml::{XmlStyle, XmlWriter};

use crate::engine::lane::Target;
use crate::engine::lot::Payload;

pub(crate) struct XmlTarget {
    writer: XmlWriter,
}

impl XmlTarget {
    pub(crate) fn new(shape: &Shape, style: &XmlStyle) -> Result<Self, Findings> {
        Ok(XmlTarget { writer: XmlWriter::new(shape, style.clone())? })
    }
}

impl Target for XmlTarget {
    type Sink = XmlWriter;

    #[inline(always)]
    fn sink(&mut self) -> &mut XmlWriter {
        &mut self.writer
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        Ok(())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        payload.fill(self.writer.bytes());
        self.writer.clear();
        Ok(())
    }
}
