//! Records of one description.

use quayline_cobol::{RecordDecoder, RecordPlan};
use quayline_core::{ByteOffset, Place, Severity};
use quayline_frame::{CarriageReturn, FramingSpec, LineEnd, LineSpec};

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

/// Bytes of a line end that the framing keeps in a record. Files of other systems have such line ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum StrayLineEnd {
    /// A CR before the LF of `lines`.
    CarriageReturn,
    /// An LF without its CR in `lines:crlf`: the record may be several lines.
    LineFeed,
}

impl StrayLineEnd {
    /// Returns the line end that records in this framing may contain.
    pub(super) fn of(framing: &FramingSpec) -> Option<Self> {
        match framing {
            FramingSpec::Lines(LineSpec { end: LineEnd::Lf, carriage_return: CarriageReturn::Keep }) => {
                Some(StrayLineEnd::CarriageReturn)
            }
            FramingSpec::Lines(LineSpec { end: LineEnd::CrLf, .. }) => Some(StrayLineEnd::LineFeed),
            _ => None,
        }
    }

    /// Counts the record at `at` if it contains the line end.
    #[inline]
    pub(super) fn note(self, lot: &mut Lot, block: &Block, at: usize, facts: &LaneFacts) {
        let body = block.body(at);
        match self {
            StrayLineEnd::CarriageReturn if body.ends_with(b"\r") => note_carriage_return(lot, block, at, facts),
            StrayLineEnd::LineFeed if body.contains(&b'\n') => note_line_feed(lot, block, at, facts),
            _ => {}
        }
    }
}

#[cold]
fn note_carriage_return(lot: &mut Lot, block: &Block, at: usize, facts: &LaneFacts) {
    let words = || Words {
        one: "line ends in CR before its line end, and the CR is a part of the record".to_owned(),
        many: "lines end in CR before their line end, and the CR is a part of the record".to_owned(),
        hint: "for files with CR LF, use `--framing lines:crlf`, or `lines:strip-cr` if only some lines have it"
            .to_owned(),
        severity: Severity::Warning,
    };
    lot.repeats.add(codes::CARRIAGE_RETURN, RepeatKey::Others, || place_of(block, at, &facts.file), words);
}

#[cold]
fn note_line_feed(lot: &mut Lot, block: &Block, at: usize, facts: &LaneFacts) {
    let words = || Words {
        one: "record contains an LF without a CR: it may be several lines".to_owned(),
        many: "records contain an LF without a CR: they may be several lines each".to_owned(),
        hint: codes::LINE_FEED_HINT.to_owned(),
        severity: Severity::Warning,
    };
    let place = || {
        let place = place_of(block, at, &facts.file);
        let inside = block.body(at).iter().position(|byte| *byte == b'\n').unwrap_or(0) as u64;
        Place { byte: place.byte.map(|byte| ByteOffset(byte.0 + inside)), ..place }
    };
    lot.repeats.add(codes::LINE_FEED, RepeatKey::Others, place, words);
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
        if let Some(stray) = self.stray {
            stray.note(lot, block, at, facts);
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
