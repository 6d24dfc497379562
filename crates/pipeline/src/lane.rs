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
    /// Converts the unit that begins at record `at` of the block: one record, or a record with its children. Every record before the returned
    /// index is written, rejected or skipped in `lot`.
    fn step<T: Target>(&mut self, lane: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize;
}

/// Takes documents and gives output for a whole block. One per lane.
pub(crate) trait Target: Send {
    type Sink: Sink;

    /// Returns true if the writer produces the output from the result of [`Target::drain`] and may still refuse a document.
    fn defers(&self) -> bool {
        false
    }

    /// Announces the next document: its number, its first byte in the source, and the block that contains it.
    fn begin(&mut self, _number: RecordNumber, _from: ByteOffset, _block: &Block) {}

    /// Returns the sink that a source drives: one document between two calls of [`Target::accept`].
    fn sink(&mut self) -> &mut Self::Sink;

    /// Adds the complete document to the output.
    ///
    /// # Errors
    /// Content that the format cannot represent; nothing of the document is then in the output. The findings do not have record and byte yet.
    fn accept(&mut self) -> Result<(), Vec<Finding>>;

    /// Discards the document that was sent, because it is faulty.
    fn void(&mut self) {
        self.sink().discard();
    }

    /// Returns additional results of the document that was accepted last.
    fn take_extras(&mut self) -> Option<MapExtras> {
        None
    }

    /// Returns the position of the output in the next result of [`Target::drain`]: bytes, columns, or documents for separate files. Documents
    /// accepted later are separate from those before it.
    ///
    /// # Errors
    /// Errors of [`Target::drain`].
    fn mark(&mut self) -> Result<usize, Vec<Finding>>;

    /// Hands out the output since the last call.
    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>>;
}

/// Additional results of a map for a source document.
#[derive(Debug, Default)]
pub(crate) struct MapExtras {
    /// Findings that refuse nothing.
    pub(crate) notes: Vec<Finding>,
    /// Number of documents made from it.
    pub(crate) documents: u64,
    /// If the writer makes the final decision: its extent in each output.
    pub(crate) taken: Vec<OutputExtent>,
}

/// Documents of one output that were made from a source document.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputExtent {
    pub(crate) documents: u64,
    /// Number of these documents that the writer writes.
    pub(crate) drafts: usize,
    /// For text: the end of the output after it.
    pub(crate) end: u64,
}

/// State shared by all lanes of a run.
#[derive(Debug)]
pub struct LaneFacts {
    /// The source's name, for places.
    pub file: Arc<str>,
    /// The form of rejected documents.
    pub reject_form: RejectForm,
    /// True if a lane may stop at its first reject.
    pub stop_at_reject: bool,
    /// True if each document goes to a separate file.
    pub split: bool,
    /// Storage for the bytes of a document that continues over several blocks.
    pub spool_folder: SpoolFolder,
    /// Set for a source of records.
    pub records: Option<SourceFacts>,
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
