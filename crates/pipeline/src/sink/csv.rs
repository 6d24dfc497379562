//! Rows of CSV.

use quayline_core::{Finding, Sink};
use quayline_flat::{CsvWriter, FamilyWriter, FlatFault, KeySpan};

use crate::payload::Payload;
use crate::target::Target;

/// A writer of rows: a row for each document, or several.
pub(crate) trait RowWriter: Sink + Send {
    /// Returns the complete documents since the last [`RowWriter::clear`].
    fn bytes(&self) -> &[u8];
    fn clear(&mut self);
    /// Returns the fault because of which the last document has no rows.
    fn take_fault(&mut self) -> Option<FlatFault>;
    /// Returns the keys of the documents.
    fn keys(&self) -> Option<KeySpan>;
}

macro_rules! row_writer {
    ($writer:ty, $keys:expr) => {
        impl RowWriter for $writer {
            fn bytes(&self) -> &[u8] {
                <$writer>::bytes(self)
            }
            fn clear(&mut self) {
                <$writer>::clear(self);
            }
            fn take_fault(&mut self) -> Option<FlatFault> {
                <$writer>::take_fault(self)
            }
            fn keys(&self) -> Option<KeySpan> {
                $keys(self)
            }
        }
    };
}

row_writer!(CsvWriter, |_| None);
row_writer!(FamilyWriter, FamilyWriter::key_span);

pub(crate) struct CsvTarget<W>(W);

impl<W: RowWriter> CsvTarget<W> {
    pub(crate) fn new(writer: W) -> Self {
        CsvTarget(writer)
    }
}

impl<W: RowWriter> Target for CsvTarget<W> {
    type Sink = W;

    #[inline(always)]
    fn sink(&mut self) -> &mut W {
        &mut self.0
    }

    #[inline]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        match self.0.take_fault() {
            None => Ok(()),
            Some(fault) => Err(vec![fault.finding()]),
        }
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.0.bytes().len())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        payload.fill(self.0.bytes());
        payload.keys = self.0.keys();
        self.0.clear();
        Ok(())
    }
}
