//! One output of a map, in a lane.

use quayline_core::{Finding, NodeId};

use super::world::EnvelopeSet;
use crate::error::PipelineError;
use crate::payload::Payload;
use crate::repeats::Repeats;
use crate::spool::SpoolFiles;
use crate::target::OutputExtent;

/// An output that takes documents, and takes them back as long as their source document is not kept.
pub(crate) trait Part: Send {
    /// Returns true if the writer makes the final decision on its documents.
    fn defers(&self) -> bool {
        false
    }

    /// Provides the envelope values that the source document sets; for interchanges.
    fn look_at(&mut self, _set: &EnvelopeSet) {}

    /// Provides the envelope values that the source document has set, and the time of its unit if it differs from the run's; for interchanges.
    fn envelope(&mut self, _values: &[(String, String)], _now: Option<i64>) {}

    /// Returns the position of the output since its last drain; `None` if values have no position yet.
    fn at(&self) -> Option<u64> {
        None
    }

    /// Completes the last document; it cannot be discarded any more.
    ///
    /// # Errors
    /// Content that the format cannot represent.
    fn settle(&mut self) -> Result<(), Vec<Finding>>;

    /// Keeps all output so far, because the source document is valid.
    fn keep(&mut self) -> OutputExtent;

    /// Returns the notes on the documents that were kept last.
    fn take_notes(&mut self) -> Repeats {
        Repeats::default()
    }

    /// Returns the leaves of the documents that were kept last whose zeros lost a minus sign, with the number of these zeros.
    fn take_zero_signs(&mut self) -> Vec<(NodeId, u64)> {
        Vec::new()
    }

    /// Discards the output since the last kept document, because the source document is faulty.
    fn back(&mut self);

    /// Moves the kept output to `payload`. If the source document continues in the next block, keeps the rest for it.
    ///
    /// # Errors
    /// The spool cannot be written, or errors of the format.
    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>>;
}

/// Converts the error of a spool that cannot be written.
pub(crate) fn spool_error(files: &dyn SpoolFiles) -> impl Fn(std::io::Error) -> Vec<Finding> + '_ {
    move |error| PipelineError::spool(files)(error).findings().0
}
