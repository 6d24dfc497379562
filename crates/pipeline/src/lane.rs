//! The loop of one lane: records of a block through a source into a target.

use crate::block::Block;
use crate::lane_facts::LaneFacts;
use crate::lot::{Deferred, Lot};
use crate::target::Target;

/// Decodes the records of a block and drives a target with them. One per lane.
pub(crate) trait Source: Send {
    /// Converts the unit that begins at record `at` of the block: one record, or a record with its children. Every record before the returned
    /// index is written, rejected or skipped in `lot`.
    fn step<T: Target>(&mut self, lane: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize;
}

/// A source and a target composed: compiled as one loop.
pub(crate) struct Loop<S, T> {
    source: S,
    target: T,
    /// Documents that wait with their output, if one continues in the next block and the writer makes the final decision.
    waiting: (Vec<Deferred>, Vec<u8>),
}

impl<S, T> Loop<S, T> {
    pub(crate) fn new(source: S, target: T) -> Self {
        Loop { source, target, waiting: (Vec::new(), Vec::new()) }
    }
}

/// A lane for any source and target.
pub trait Lane: Send {
    /// Converts a block into an empty lot.
    fn convert(&mut self, facts: &LaneFacts, block: &Block, lot: &mut Lot);
}

impl<S: Source, T: Target> Lane for Loop<S, T> {
    fn convert(&mut self, facts: &LaneFacts, block: &Block, lot: &mut Lot) {
        lot.seq = block.seq;
        lot.after = block.after.clone();
        lot.deferring = self.target.defers();
        lot.payload.goes_on = block.goes_on();
        if !self.waiting.0.is_empty() {
            (lot.deferred, lot.deferred_raw) = core::mem::take(&mut self.waiting);
        }
        lot.skipped(block.skipped);
        lot.keep(block.warning.iter().cloned().collect());
        let mut at = 0;
        while at < block.len() {
            if facts.is_cancelled() {
                lot.is_abandoned = true;
                return;
            }
            at = self.source.step(facts, block, at, &mut self.target, lot);
            if facts.stop_at_reject && lot.has_rejects() {
                break;
            }
        }
        if lot.deferring && block.goes_on() {
            self.waiting = (core::mem::take(&mut lot.deferred), core::mem::take(&mut lot.deferred_raw));
        }
        if let Err(findings) = self.target.drain(&mut lot.payload) {
            lot.end = Some(quayline_core::Findings(findings).into());
        }
    }
}
