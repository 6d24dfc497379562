//! The loop of one lane: records of a block through a source into a target.

use std::sync::Arc;

use quayline_core::{Finding, Sink};

use crate::engine::block::Block;
use crate::engine::lot::{Lot, Payload};
use crate::engine::misfit::SourceFacts;
use crate::engine::reject::RejectForm;

/// Decodes the records of a block and drives a target with them. One per lane.
pub(crate) trait Source: Send {
    /// Converts what begins at record `at` of the block: one record, or a record with its children. Every record up to the index
    /// returned is written, rejected or skipped in `lot`.
    fn step<T: Target>(&mut self, lane: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize;
}

/// Takes documents and gives output for a whole block. One per lane.
pub(crate) trait Target: Send {
    type Sink: Sink;

    /// Whether the writer makes the output of what [`Target::drain`] hands out, and may still refuse a document.
    const DEFERS: bool = false;

    /// What a source drives: one document between two calls of [`Target::accept`].
    fn sink(&mut self) -> &mut Self::Sink;

    /// The document is complete and becomes output.
    ///
    /// # Errors
    /// What the format cannot hold; then nothing of the document is in the output. The findings have no record and byte yet.
    fn accept(&mut self) -> Result<(), Vec<Finding>>;

    /// Hands out the output since the last call.
    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>>;
}

/// What all lanes of a run know.
#[derive(Debug)]
pub(crate) struct LaneFacts {
    /// The source's name, for places.
    pub(crate) file: Arc<str>,
    pub(crate) reject_form: RejectForm,
    /// Whether a lane may stop at its first reject.
    pub(crate) stop_at_reject: bool,
    /// Whether each document goes to a file of its own.
    pub(crate) split: bool,
    /// For a source of records.
    pub(crate) records: Option<SourceFacts>,
}

/// A source and a target composed: compiled as one loop.
pub(crate) struct Loop<S, T> {
    pub(crate) source: S,
    pub(crate) target: T,
}

/// A lane, whatever its source and target.
pub(crate) trait Lane: Send {
    /// Converts a block into an empty lot.
    fn convert(&mut self, facts: &LaneFacts, block: &Block, lot: &mut Lot);
}

impl<S: Source, T: Target> Lane for Loop<S, T> {
    fn convert(&mut self, facts: &LaneFacts, block: &Block, lot: &mut Lot) {
        lot.seq = block.seq;
        lot.after = block.after.clone();
        lot.deferring = T::DEFERS;
        lot.skipped(block.skipped);
        let mut at = 0;
        while at < block.len() {
            at = self.source.step(facts, block, at, &mut self.target, lot);
            if facts.stop_at_reject && lot.has_rejects() {
                break;
            }
        }
        if let Err(findings) = self.target.drain(&mut lot.payload) {
            lot.end = Some(quayline_core::Findings(findings).into());
        }
    }
}
