//! Records of one description.

use quayline_cobol::{RecordDecoder, RecordPlan};
use quayline_core::Severity;
use quayline_frame::{CarriageReturn, FramingSpec, LineEnd};

use crate::block::Block;
use crate::codes;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::repeats::{RepeatKey, Words};
use crate::target::Target;

/// Creates a decoder for records in this framing.
pub(super) fn decoder(plan: &RecordPlan, framing: &FramingSpec) -> RecordDecoder {
    match framing {
        FramingSpec::Lines(_) => RecordDecoder::of_lines(plan),
        _ => RecordDecoder::new(plan),
    }
}

/// Counts a line that ends in a CR, which then is a part of the record: files of other systems have CR LF.
pub(super) fn note_carriage_return(lot: &mut Lot, block: &Block, at: usize, facts: &LaneFacts) {
    let words = || Words {
        one: "line ends in CR before its line end, and the CR is a part of the record".to_owned(),
        many: "lines end in CR before their line end, and the CR is a part of the record".to_owned(),
        hint: "for files with CR LF, use `--framing lines:crlf`, or `lines:strip-cr` if only some lines have it"
            .to_owned(),
        severity: Severity::Warning,
    };
    lot.repeats.add(codes::CARRIAGE_RETURN, RepeatKey::Others, || place_of(block, at, &facts.file), words);
}

/// Returns true if a CR at the end of a record may be a part of the line end that the framing does not remove.
pub(super) fn may_have_carriage_return(framing: &FramingSpec) -> bool {
    matches!(framing, FramingSpec::Lines(spec) if spec.end == LineEnd::Lf && spec.carriage_return == CarriageReturn::Keep)
}

pub(crate) struct RecordSource {
    plan: RecordPlan,
    decoder: RecordDecoder,
    notes_carriage_returns: bool,
}

impl RecordSource {
    pub(crate) fn new(plan: &RecordPlan, framing: &FramingSpec) -> Self {
        let notes_carriage_returns = may_have_carriage_return(framing);
        RecordSource { plan: plan.clone(), decoder: decoder(plan, framing), notes_carriage_returns }
    }
}

impl Source for RecordSource {
    #[inline]
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        target.begin(block.number(at), block.offset(at), block);
        if self.notes_carriage_returns && block.body(at).ends_with(b"\r") {
            note_carriage_return(lot, block, at, facts);
        }
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
