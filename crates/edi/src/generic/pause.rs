//! Places between documents at which another reader can continue, although no document ends there.

use super::reader::DocumentPass;

/// Handling of pauses between documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pauses {
    Never,
    /// The pass stops if no level is open and it has no fault to report.
    Between,
    /// The pass stopped for a pause.
    Now,
}

impl DocumentPass<'_> {
    /// Stops ([`super::DocumentStep::NeedMore`], [`DocumentPass::is_paused`]) after the next header or trailer of a group or interchange if
    /// [`DocumentPass::is_between`] is true there. If trailers are missing, no document ends at that place.
    pub fn pause(&mut self) {
        self.pauses = Pauses::Between;
    }

    /// Returns true if [`DocumentPass::pause`] stopped the pass.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pauses == Pauses::Now
    }

    /// Undoes the step that read a header, if that header ended a transaction without a trailer. Another reader then begins with the header. Returns
    /// the number of bytes up to the end of the header, which a reader of the document needs to find the document's end. `None` if anything other
    /// than a header ended the document.
    pub fn put_header_back(&mut self) -> Option<usize> {
        let behind = self.pass.consumed();
        (!self.is_open() && self.pass.put_header_back()).then_some(behind)
    }

    pub(super) fn pauses_here(&mut self) -> bool {
        if self.pauses == Pauses::Between && self.is_between() {
            self.pauses = Pauses::Now;
        }
        self.is_paused()
    }
}
