//! Record elements of XML.

use quayline_core::{Findings, Limits, Place, Shape};
use quayline_project::Schema;
use quayline_xml::{RawRecord, TextPosition, XmlReader, XmlStyle};

use crate::block::Block;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::target::Target;

pub(crate) struct XmlSource {
    reader: XmlReader,
    shape: Shape,
}

impl XmlSource {
    pub(crate) fn new(schema: &Schema, style: &XmlStyle, limits: &Limits) -> Result<Self, Findings> {
        let mut reader = XmlReader::new(schema.shape(), style, limits)?;
        if let Some(limits) = schema.source_limits() {
            reader = reader.with_limits(limits);
        }
        Ok(XmlSource { reader, shape: schema.shape().clone() })
    }
}

impl Source for XmlSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let position = TextPosition { line: block.line(at), column: block.column(at) };
        let place = || {
            let (line, column) = (u32::try_from(position.line).ok(), u32::try_from(position.column).ok());
            Place { line, column, ..place_of(block, at, &facts.file) }
        };
        target.begin(block.number(at), block.offset(at), block);
        let read = self.reader.record(RawRecord { raw: block.body(at), at: position }, target.sink());
        if self.reader.take_ignored() {
            lot.note_ignored(place);
        }
        let rounded = self.reader.take_rounded();
        let findings = match read {
            Ok(()) => match target.accept() {
                Ok(()) => {
                    lot.note_rounded(&self.shape, &rounded, place);
                    lot.accepted(facts, block, core::iter::once(at), target, place);
                    return at + 1;
                }
                Err(findings) => findings,
            },
            Err(faults) => {
                if faults.sent {
                    target.void();
                }
                faults.findings().0
            }
        };
        lot.rejected(&facts.reject_form, block, at, locate(findings, &place()));
        at + 1
    }
}
