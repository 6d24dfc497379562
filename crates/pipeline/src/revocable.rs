//! Revocable output.

use core::convert::Infallible;

use quayline_edi::{EdiMark, EdiWriter};
use quayline_flat::{CsvWriter, FamilyWriter};
use quayline_json::JsonWriter;
use quayline_xml::XmlWriter;

/// Output that can be reset to a mark.
///
/// A rejected document, a rolled-back unit of work and a resumed run are the same for a writer: it discards everything written since the mark.
/// Marks nest: resetting to one, or keeping what was written since, invalidates later ones.
pub trait Revocable {
    /// A point in the output.
    type Mark;
    /// Reason for which a file cannot be cut or a spool cannot be written; memory has none.
    type Error;

    /// Returns the current end of the output. A writer may first complete pending output.
    ///
    /// # Errors
    /// Pending output cannot be completed.
    fn mark(&mut self) -> Result<Self::Mark, Self::Error>;

    /// Discards everything written since the mark.
    ///
    /// # Errors
    /// The output cannot be cut.
    fn back_to(&mut self, mark: Self::Mark) -> Result<(), Self::Error>;

    /// Makes everything written since the mark permanent.
    ///
    /// # Errors
    /// Output that waited for this cannot be written.
    fn keep(&mut self, mark: Self::Mark) -> Result<(), Self::Error>;
}

/// Output in memory: nothing waits, and nothing fails.
macro_rules! revocable_in_memory {
    ($output:ty, $mark:ty, $at:expr, $back:expr) => {
        impl Revocable for $output {
            type Mark = $mark;
            type Error = Infallible;

            #[inline(always)]
            fn mark(&mut self) -> Result<$mark, Infallible> {
                Ok($at(self))
            }

            fn back_to(&mut self, mark: $mark) -> Result<(), Infallible> {
                $back(self, mark);
                Ok(())
            }

            #[inline(always)]
            fn keep(&mut self, _: $mark) -> Result<(), Infallible> {
                Ok(())
            }
        }
    };
}

revocable_in_memory!(Vec<u8>, usize, |output: &mut Vec<u8>| output.len(), Vec::truncate);
// Bytes, envelopes that are open, and control numbers.
revocable_in_memory!(EdiWriter, EdiMark, |output: &mut EdiWriter| EdiWriter::mark(output), EdiWriter::back_to);
// A reset discards an open document, too.
revocable_in_memory!(JsonWriter, usize, |output: &mut JsonWriter| output.bytes().len(), JsonWriter::back_to);
revocable_in_memory!(XmlWriter, usize, |output: &mut XmlWriter| output.written(), XmlWriter::back_to);
revocable_in_memory!(CsvWriter, usize, |output: &mut CsvWriter| output.bytes().len(), CsvWriter::back_to);
revocable_in_memory!(FamilyWriter, usize, |output: &mut FamilyWriter| output.bytes().len(), FamilyWriter::back_to);
