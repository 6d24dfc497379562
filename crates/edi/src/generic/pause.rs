//! Places between documents where a reader may be left, although no document ends there.

use super::reader::DocumentPass;

/// Whether a pass stops between documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pauses {
    Never,
    /// Where nothing is open and nothing is still to be told.
    Between,
    /// It stopped there.
    Now,
}

impl DocumentPass<'_> {
    /// Stops ([`super::DocumentStep::NeedMore`], [`DocumentPass::is_paused`]) behind the next header or trailer of a group or interchange where
    /// [`DocumentPass::is_between`]. Where trailers are missing, no document ends there.
    pub fn pause(&mut self) {
        self.pauses = Pauses::Between;
    }

    /// Whether [`DocumentPass::pause`] stopped the pass.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pauses == Pauses::Now
    }

    /// Takes the header back that ended the document before it, a transaction without its trailer. Here a reader may be left, and another
    /// begins with that header. `None` where something else ended it; otherwise the bytes up to the end of the header, which a reader of the
    /// document needs to see that it ends.
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
