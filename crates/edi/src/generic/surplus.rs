//! Elements of headers and trailers for which documents have no field, and characters of headers outside their set.

use quayline_core::Severity;

use super::reader::DocumentPass;
use crate::Closed;
use crate::fault::{EdiError, EdiFault};
use crate::level::Level;
use crate::position::Position;

impl DocumentPass<'_> {
    /// Reports elements of the headers of a document, at the first document with each header.
    #[cold]
    pub(super) fn header_elements(&mut self, headers: [Option<(Level, Position)>; 3]) {
        for (level, at) in headers.into_iter().flatten() {
            if self.is_first_of(level) {
                self.envelope_elements(level, false, at);
            }
        }
    }

    /// Reports bytes that are not in the character set: once in an interchange if they are written back, otherwise once in each document, which they
    /// reject.
    #[cold]
    pub(super) fn foreign(&mut self, at: Position) {
        let told = match &mut self.state.open {
            Some(open) if !self.state.characters.gives_back() => &mut open.told,
            _ => &mut self.state.told,
        };
        if !core::mem::replace(told, true) {
            self.fault(self.state.characters.foreign(), at);
        }
    }

    /// Reports characters of the headers of a document that are not in their set, once in an interchange if they are written back.
    #[cold]
    pub(super) fn header_characters(&mut self, headers: [Option<(Level, Position)>; 3], page: u64) {
        if !self.state.characters.gives_back() {
            // Every document has the text of the header.
            if let Some((_, at)) = headers.into_iter().flatten().next() {
                self.foreign(at);
            }
            return;
        }
        if page > 1 {
            return;
        }
        let found = headers.into_iter().flatten().find(|(level, _)| self.is_first_of(*level));
        if let Some((level, at)) = found.filter(|_| !core::mem::replace(&mut self.state.told, true)) {
            self.envelope_fault(level, EdiError::Characters, at);
        }
    }

    /// Returns true if the document is the first one with the open header of a level.
    fn is_first_of(&self, level: Level) -> bool {
        match level {
            Level::Interchange => self.state.in_interchange == 1,
            Level::Group => self.state.in_group == 1,
            Level::Transaction => true,
        }
    }

    /// Reports elements that documents have no field for. Those of an interchange or a group are reported once, and reject no transaction.
    #[cold]
    fn envelope_elements(&mut self, level: Level, in_trailer: bool, at: Position) {
        let standard = self.pass.delimiters().standard;
        self.envelope_fault(level, EdiError::EnvelopeElements { standard, level, in_trailer }, at);
    }

    /// Reports a fault of a header or trailer. Those of an interchange or a group reject no transaction.
    fn envelope_fault(&mut self, level: Level, error: EdiError, at: Position) {
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

    /// Collects the faults found by the checks of the guide. Segments without a terminator between them are one: a reader that only passes over them does
    /// not know that they are two, and must end pages at the same places.
    #[cold]
    pub(super) fn keep_found(&mut self) {
        let state = &mut *self.state;
        let Some(validator) = state.body.as_mut().and_then(|body| body.validator()) else { return };
        for fault in validator.take_faults() {
            if let (Some(open), Severity::Error) = (&mut state.open, fault.severity) {
                open.errors += 1;
            }
            state.faults.push(fault);
        }
        state.cuts += u64::from(validator.take_cut().is_some());
    }

    /// Drops the error about the number of segments of a transaction if the missing terminators of its last page explain it.
    #[cold]
    pub(super) fn drop_count(&mut self) {
        let state = &mut *self.state;
        let is_explained = |fault: &EdiFault| matches!(fault.error, EdiError::CountDiffers { level: Level::Transaction, declared, counted, .. } if declared == counted + state.cuts);
        let before = state.faults.len();
        state.faults.retain(|fault| !is_explained(fault));
        if let Some(open) = &mut state.open {
            open.errors -= (before - state.faults.len()) as u64;
        }
    }

    /// Reports a segment whose first element is empty if all of them are. With a guide, the check of elements reports it.
    #[cold]
    pub(super) fn no_elements(&mut self) {
        if self.pass.segment().raw_elements().all(<[u8]>::is_empty) && !self.pass.is_cut() {
            let at = self.pass.position();
            self.pass.put_segment_fault(EdiError::NoElements, at);
            self.keep_faults(false);
        }
    }
}
