//! Record elements of XML.

use quayline_core::{Finding, Findings, Shape};
use quayline_xml::{XmlStyle, XmlWriter};

use crate::apart::Apart;
use crate::payload::Payload;
use crate::target::Target;

pub(crate) struct XmlTarget {
    writer: XmlWriter,
    /// Ends of documents, if requested.
    cuts: Option<Vec<usize>>,
}

impl XmlTarget {
    pub(crate) fn new(shape: &Shape, style: &XmlStyle, apart: Apart) -> Result<Self, Findings> {
        Ok(XmlTarget { writer: XmlWriter::new(shape, style.clone())?, cuts: (apart == Apart::FileEach).then(Vec::new) })
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
        payload.bytes = self.writer.exchange(core::mem::take(&mut payload.bytes));
        payload.len = payload.bytes.len();
        Ok(())
    }
}
