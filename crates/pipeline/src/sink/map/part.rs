//! One output of a map, in a lane.

use quayline_core::Finding;

use super::world::EnvelopeSet;
use crate::error::PipelineError;
use crate::lane::OutputExtent;
use crate::lot::Payload;
use crate::spool::SpoolFiles;

/// An output that takes documents, and takes them back as long as their source document is not kept.
pub(crate) trait Part: Send {
    /// Whether the writer has the last word on its documents.
    fn defers(&self) -> bool {
        false
    }

    /// Where the envelope values are that the source document has set so far; for interchanges.
    fn look_at(&mut self, _set: &EnvelopeSet) {}

    /// Envelope values that the source document has set, and the time of its unit where that is not the run's; for interchanges.
    fn envelope(&mut self, _values: &[(String, String)], _now: Option<i64>) {}

    /// Where the output stands since it left the last time; `None` where values have no place yet.
    fn at(&self) -> Option<u64> {
        None
    }

    /// Ends the document that was left last; it cannot be discarded any more.
    ///
    /// # Errors
    /// What the format cannot hold.
    fn settle(&mut self) -> Result<(), Vec<Finding>>;

    /// The source document is good: all up to here stays.
    fn keep(&mut self) -> OutputExtent;

    /// The source document is not: goes back to where the last one was kept.
    fn back(&mut self);

    /// Hands out what was kept, and keeps what was not for the next block, where the source document goes on.
    ///
    /// # Errors
    /// The spool cannot be written, or the format's.
    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>>;
}

/// A spool that cannot be written.
pub(crate) fn spool_error(files: &dyn SpoolFiles) -> impl Fn(std::io::Error) -> Vec<Finding> + '_ {
    move |error| PipelineError::spool(files)(error).findings().0
}
