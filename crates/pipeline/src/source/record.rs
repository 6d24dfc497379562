//! Records of one description.

use quayline_cobol::{RecordDecoder, RecordPlan};
use quayline_frame::FramingSpec;

use crate::block::Block;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::stray::StrayLineEnd;
use crate::target::Target;

/// Creates a decoder for records in this framing.
pub(super) fn decoder(plan: &RecordPlan, framing: &FramingSpec) -> RecordDecoder {
    match framing {
        FramingSpec::Lines(_) => RecordDecoder::of_lines(plan),
        _ => RecordDecoder::new(plan),
    }
}

/// Counts the record at `at` if it contains the line end.
#[inline]
pub(super) fn note_stray(stray: Option<StrayLineEnd>, lot: &mut Lot, block: &Block, at: usize, facts: &LaneFacts) {
    let body = block.body(at);
    if let Some(stray) = stray.filter(|stray| stray.is_in(body)) {
        stray.add_to(&mut lot.repeats, body, || place_of(block, at, &facts.file));
    }
}

pub(crate) struct RecordSource {
    plan: RecordPlan,
    decoder: RecordDecoder,
    stray: Option<StrayLineEnd>,
}

impl RecordSource {
    pub(crate) fn new(plan: &RecordPlan, framing: &FramingSpec) -> Self {
        RecordSource { plan: plan.clone(), decoder: decoder(plan, framing), stray: StrayLineEnd::of(framing) }
    }
}

impl Source for RecordSource {
    #[inline]
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        target.begin(block.number(at), block.offset(at), block);
        note_stray(self.stray, lot, block, at, facts);
        self.decoder.comes_from(block.number(at).0, None, &facts.file);
        match self.decoder.decode(block.body(at), target.sink()) {
            Ok(()) => match target.accept() {
                Ok(()) => {
                    let notes = self.decoder.notes();
                    if !notes.is_empty() {
                        lot.repeats.add_notes(&self.plan, 0, notes, &place_of(block, at, &facts.file));
                    }
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
