//! The interface of targets: documents in, output of a block out.

use quayline_core::{ByteOffset, Finding, Place, RecordNumber, Sink};

use crate::block::Block;
use crate::payload::Payload;
use crate::repeats::Repeats;

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

    /// Counts what is unusual about the document that was accepted last.
    fn add_repeats(&mut self, _repeats: &mut Repeats, _place: impl Fn() -> Place) {}

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
    /// True if there are notes on them.
    pub(crate) has_notes: bool,
}
