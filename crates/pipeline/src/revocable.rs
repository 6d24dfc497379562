//! Output that can be taken back.

use quayline_edi::{EdiMark, EdiWriter};

/// Output that can be taken back to a mark.
///
/// A rejected document, a rolled-back unit of work and a resumed run are the same to a writer: what was written since the mark never was.
/// Marks nest: going back to one makes those after it void.
pub trait Revocable {
    /// A point in the output.
    type Mark;

    /// The point that the output has reached. A writer may first end what is pending there.
    fn mark(&mut self) -> Self::Mark;

    /// Takes back everything that was written since the mark.
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
