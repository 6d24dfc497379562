//! The loop of one lane: records of a block through a source into a target.

use std::sync::Arc;

use quayline_core::{ByteOffset, Finding, RecordNumber, Sink};

use crate::block::Block;
use crate::lot::{Deferred, Lot, Payload};
use crate::misfit::SourceFacts;
use crate::reject::RejectForm;
use crate::spool::SpoolFolder;

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
    fn defers(&self) -> bool {
        false
    }

    /// The document that is sent next: its number, its first byte in the source, and the block that holds it.
    fn begin(&mut self, _number: RecordNumber, _from: ByteOffset, _block: &Block) {}

    /// What a source drives: one document between two calls of [`Target::accept`].
    fn sink(&mut self) -> &mut Self::Sink;

    /// The document is complete and becomes output.
    ///
    /// # Errors
    /// What the format cannot hold; then nothing of the document is in the output. The findings have no record and byte yet.
    fn accept(&mut self) -> Result<(), Vec<Finding>>;

    /// The document that was sent is bad: nothing of it becomes output.
    fn void(&mut self) {
        self.sink().discard();
    }

    /// What else there is to say of the document that was accepted last.
    fn take_extra(&mut self) -> Option<Extra> {
        None
    }

    /// Where the output stands in what [`Target::drain`] will hand out: bytes, columns, or documents that go to files of their own. What is
    /// accepted behind it stands apart from what was before it.
    ///
    /// # Errors
    /// As [`Target::drain`].
    fn mark(&mut self) -> Result<usize, Vec<Finding>>;

    /// Hands out the output since the last call.
    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>>;
}

/// What a map has to say of a source document.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// Findings that refuse nothing.
    pub(crate) notes: Vec<Finding>,
    /// Documents that came of it.
    pub(crate) documents: u64,
    /// Where the writer has the last word: what came of it in each output.
    pub(crate) taken: Vec<OutputExtent>,
}

/// What came of a source document in one output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputExtent {
    pub(crate) documents: u64,
    /// Of them, those that the writer writes.
    pub(crate) drafts: usize,
    /// Of text: where the output ends behind it.
    pub(crate) end: u64,
}

/// What all lanes of a run know.
#[derive(Debug)]
pub struct LaneFacts {
    /// The source's name, for places.
    pub file: Arc<str>,
    /// The form of rejected documents.
    pub reject_form: RejectForm,
    /// Whether a lane may stop at its first reject.
    pub stop_at_reject: bool,
    /// Whether each document goes to a file of its own.
    pub split: bool,
    /// Where bytes of a document wait that reaches over blocks.
    pub spool_folder: SpoolFolder,
    /// For a source of records.
    pub records: Option<SourceFacts>,
}

/// A source and a target composed: compiled as one loop.
pub(crate) struct Loop<S, T> {
    source: S,
    target: T,
    /// Documents that wait with their output, where one goes on in the next block and the writer has the last word.
    waiting: (Vec<Deferred>, Vec<u8>),
}

impl<S, T> Loop<S, T> {
    pub(crate) fn new(source: S, target: T) -> Self {
        Loop { source, target, waiting: (Vec::new(), Vec::new()) }
    }
}

/// A lane, whatever its source and target.
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
        let mut at = 0;
        while at < block.len() {
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
