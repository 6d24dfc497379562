//! JSON documents.

use quayline_core::{Limits, Shape};
use quayline_json::{JsonReader, ReaderOptions, Unknown};
use quayline_project::Schema;

use crate::block::Block;
use crate::cut::json_place;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::target::Target;

pub(crate) struct JsonSource {
    reader: JsonReader,
    shape: Shape,
}

impl JsonSource {
    pub(crate) fn new(schema: &Schema, unknown: Unknown, limits: &Limits) -> Self {
        let shape = schema.shape();
        let mut reader = JsonReader::new(shape, ReaderOptions { limits: limits.clone(), unknown });
        if let Some(limits) = schema.source_limits() {
            reader = reader.with_limits(shape, limits);
        }
        JsonSource { reader, shape: shape.clone() }
    }
}

impl Source for JsonSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let place = || {
            let mut place = place_of(block, at, &facts.file);
            let before = block.offset(at).0 - block.before.offset.0;
            let before = usize::try_from(before).expect("a document lies in its block");
            json_place(&block.before).behind(&block.bytes[..before]).tell(&mut place);
            place
        };
        target.begin(block.number(at), block.offset(at), block);
        let read = self.reader.read(block.body(at), target.sink());
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
                Err(findings) => locate(findings, &place()),
            },
            Err(fault) => {
                target.void();
                fault.findings(&place()).0
            }
        };
        lot.rejected(&facts.reject_form, block, at, findings);
        at + 1
    }
}
