//! Revocable output.

use quayline_edi::{EdiMark, EdiWriter};

/// Output that can be reset to a mark.
///
/// A rejected document, a rolled-back unit of work and a resumed run are the same for a writer: it discards everything written since the mark.
/// Marks nest: resetting to one invalidates later ones.
pub trait Revocable {
    /// A point in the output.
    type Mark;

    /// Returns the current end of the output. A writer may first complete pending output.
    fn mark(&mut self) -> Self::Mark;

    /// Discards everything written since the mark.
    fn back_to(&mut self, mark: Self::Mark);

    /// Makes everything so far permanent: earlier marks are void.
    fn keep(&mut self);
}

/// Bytes in memory; the mark is a length.
impl Revocable for Vec<u8> {
    type Mark = usize;

    fn mark(&mut self) -> usize {
        self.len()
    }

    fn back_to(&mut self, mark: usize) {
        self.truncate(mark);
    }

    fn keep(&mut self) {}
}

/// Interchanges: bytes, envelopes that are open, and control numbers.
impl Revocable for EdiWriter {
    type Mark = EdiMark;

    fn mark(&mut self) -> EdiMark {
        EdiWriter::mark(self)
    }

    fn back_to(&mut self, mark: EdiMark) {
        EdiWriter::back_to(self, mark);
    }

    fn keep(&mut self) {}
}
