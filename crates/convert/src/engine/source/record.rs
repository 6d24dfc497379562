//! Records of one description.

use quayline_cobol::{RecordDecoder, RecordPlan};

use crate::engine::block::Block;
use crate::engine::lane::{LaneFacts, Source, Target};
use crate::engine::lot::{Lot, locate, place_of};

pub(crate) struct RecordSource {
    plan: RecordPlan,
    decoder: RecordDecoder,
}

impl RecordSource {
    pub(crate) fn new(plan: &RecordPlan) -> Self {
        RecordSource { plan: plan.clone(), decoder: RecordDecoder::new(plan) }
    }
}

impl Source for RecordSource {
    #[inline]
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        target.begin(block.number(at), block.offset(at), block);
        match self.decoder.decode(block.body(at), target.sink()) {
            Ok(()) => match target.accept() {
                Ok(()) => {
                    lot.accepted(facts, block, core::iter::once(at), target, || place_of(block, at, &facts.file));
                }
                Err(findings) => {
                    lot.rejected(&facts.reject_form, block, at, locate(findings, &place_of(block, at, &facts.file)));
                }
            },
            Err(faults) => {
                target.void();
                let findings = faults.findings(&self.plan, Some(&facts.file), block.number(at), Some(block.offset(at)));
                lot.rejected(&facts.reject_form, block, at, findings);
            }
        }
        at + 1
    }
}
