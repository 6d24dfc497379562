//! Packages of EDIFACT (ISO 9735-8): UNO, an object that Quayline skips by its length, and UNP.

use quayline_core::ByteOffset;

use super::{EndOfInput, Mode, Pass, Step, Verdict};
use crate::delimiters::Delimiters;
use crate::fault::{EdiError, FaultContext};
use crate::position::Position;

/// Maximum number of bytes of white space between an object and its trailer.
const BLANKS_MAX: usize = 64;

/// Length of the tag of the trailer and the separator or terminator after it.
const TRAILER_BYTES: usize = 4;

impl Pass<'_> {
    /// Reports the package of the current UNO. If UNO has a length, the next step searches for the end of the object.
    #[cold]
    pub(super) fn package(&mut self, at: Position, begin: usize) {
        // The splitter finds a segment twice if it was put back.
        let is_told = core::mem::replace(&mut self.splitter.told.package, at.segment) == at.segment;
        if !is_told {
            self.tell_of(EdiError::Package, at, begin);
        }
        if self.splitter.extended.is_on() {
            return;
        }
        // The length of the object is S022 0810.
        let segment = self.segment();
        let length = segment.element(4).and_then(|status| status.component(1)).map_or(&b""[..], |length| length.raw());
        if length.is_empty() {
            return;
        }
        let digits = core::str::from_utf8(length).ok().filter(|_| length.iter().all(u8::is_ascii_digit));
        let limit = self.splitter.binary_bytes_max;
        let error = match digits.and_then(|digits| digits.parse::<u64>().ok()) {
            None => EdiError::BinaryLength,
            Some(declared) if declared > limit as u64 => EdiError::BinaryTooLong { declared, limit },
            Some(0) => return,
            Some(declared) => {
                self.splitter.mode = Mode::Object { declared };
                return self.forget_index();
            }
        };
        if !is_told {
            self.tell_of(error, at.element(4), begin);
        }
    }

    /// Skips the object of a package if UNP follows it. Otherwise, its length is wrong and could hide other messages, so Quayline reads the data
    /// after UNO as segments.
    #[cold]
    pub(super) fn object(&mut self, declared: u64) -> Verdict {
        let rest = &self.input[self.at..];
        let len = usize::try_from(declared).unwrap_or(usize::MAX);
        let behind = rest.get(len..).unwrap_or_default();
        let blanks = self.splitter.blanks(&behind[..behind.len().min(BLANKS_MAX)]);
        let trailer = behind[blanks..].first_chunk::<TRAILER_BYTES>();
        if trailer.is_none() && self.end == EndOfInput::No {
            return Verdict::Step(Step::NeedMore);
        }
        self.splitter.mode = Mode::Inside;
        if trailer.is_some_and(|trailer| is_trailer(*trailer, &self.splitter.delimiters)) {
            self.at += len;
            return Verdict::Again;
        }
        let byte = ByteOffset(self.splitter.offset + self.at as u64);
        let (interchange, segment) = (self.splitter.interchange, self.splitter.segment);
        let at = Position { byte, interchange, segment, ..Position::default() };
        let context = FaultContext { tag: "UNO".into(), ..FaultContext::default() };
        self.splitter.fault_of(EdiError::BinaryEnd, at, Some(context));
        Verdict::Again
    }
}

fn is_trailer(bytes: [u8; TRAILER_BYTES], delimiters: &Delimiters) -> bool {
    let [tag @ .., end] = bytes;
    tag == *b"UNP" && (end == delimiters.element || end == delimiters.terminator)
}
