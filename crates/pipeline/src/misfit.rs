//! Diagnosis for a source whose first records are mostly rejected, which usually means wrong settings.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Place, RecordNumber};
use quayline_frame::{FramingInUse, explain_misfit};

use crate::block::Block;
use crate::codes;
use crate::lane_facts::SourceFacts;
use crate::lot::Lot;

/// Returns a finding that explains why most records of the first block were rejected, or why the framing is broken in it.
pub(crate) fn explain(facts: &SourceFacts, block: &Block, lot: &Lot, file: &Arc<str>) -> Option<Finding> {
    let tally = lot.tally;
    let first = block.before.next == RecordNumber::FIRST;
    let broken = lot.end.is_some();
    let mostly_rejected = tally.records_rejected * 2 > tally.records_in;
    if !first || !(mostly_rejected || broken) {
        return None;
    }
    let unknown_only =
        !lot.findings.is_empty() && lot.findings.iter().all(|finding| finding.code == codes::UNKNOWN_TYPE);
    let sample = &block.bytes[..block.filled];
    let used = FramingInUse {
        spec: facts.framing,
        junk: lot.findings.iter().filter_map(|finding| finding.place.record).min(),
        breaks: lot.end.as_ref().and_then(|error| error.findings().0.iter().find_map(|finding| finding.place.record)),
        lengths: facts.record_lengths.clone(),
    };
    let found = explain_misfit(sample, facts.bytes, facts.record_length, &used).or_else(|| {
        let message = match (tally.records_rejected, tally.records_in) {
            (_, 1) => "the first record was rejected".to_owned(),
            (rejected, all) => format!("{rejected} of the first {all} records were rejected"),
        };
        (!broken && !unknown_only).then(|| {
            Finding::warning(codes::MISFIT, Fault::Config, message)
                .hint("no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it")
        })
    });
    found.map(|finding| {
        let place = Place { file: Some(Arc::clone(file)), ..finding.place.clone() };
        finding.at(place)
    })
}
