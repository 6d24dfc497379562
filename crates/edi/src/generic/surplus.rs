//! Elements of headers and trailers for which documents have no field.

use super::reader::DocumentPass;
use crate::Closed;
use crate::fault::EdiError;
use crate::level::Level;
use crate::position::Position;

impl DocumentPass<'_> {
    /// Reports elements of the headers of a document, at the first document with each header.
    #[cold]
    pub(super) fn header_elements(&mut self, headers: [Option<(Level, Position)>; 3]) {
        for (level, at) in headers.into_iter().flatten() {
            let is_first = match level {
                Level::Interchange => self.state.in_interchange == 1,
                Level::Group => self.state.in_group == 1,
                Level::Transaction => true,
            };
            if is_first {
                self.envelope_elements(level, false, at);
            }
        }
    }

    /// Reports elements that documents have no field for. Those of an interchange or a group are reported once, and reject no transaction.
    #[cold]
    fn envelope_elements(&mut self, level: Level, in_trailer: bool, at: Position) {
        let standard = self.pass.delimiters().standard;
        let error = EdiError::EnvelopeElements { standard, level, in_trailer };
        if level == Level::Transaction {
            self.fault(error, at);
        } else {
            self.pass.put_fault(error, at);
            self.state.faults.extend(self.pass.take_faults());
        }
    }

    /// Reports elements of a trailer after its count and its control number (X12.5 and X12.6; ISO 9735-1).
    #[inline]
    pub(super) fn check_trailer_elements(&mut self, level: Level, closed: Closed) {
        if closed == Closed::ByTrailer && self.pass.segment().len() > 2 {
            let at = self.pass.position().element(3);
            self.envelope_elements(level, true, at);
        }
    }
}
