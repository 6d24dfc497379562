//! Segments with binary data, whose bytes are counted and not scanned: X12's BIN (length, data) and BDS (filter, length, data).

use quayline_core::ByteOffset;

use super::{EndOfInput, Found, Mode, Own, Pass, Step, Verdict, u32_of};
use crate::delimiters::Standard;
use crate::fault::{EdiError, FaultContext};
use crate::position::Position;

/// Maximum number of bytes before the data.
const HEAD_BYTES_MAX: usize = 64;

/// Whether the index has the end of the segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Terminator {
    /// The index has the end of the segment: faults can be reported now.
    Seen,
    /// The index does not have the end of the segment: the segment will be handled again.
    NotSeen,
}

impl Pass<'_> {
    /// Handles the segment at byte `begin` of the input, which is not counted yet, if it is a binary one. `None` if it is not, or if it is read like
    /// other segments.
    #[cold]
    pub(super) fn binary(&mut self, begin: usize, seen: Terminator) -> Option<Verdict> {
        if self.splitter.delimiters.standard != Standard::X12 {
            return None;
        }
        let text = &self.input[begin..];
        let count = match text.first_chunk::<3>()? {
            b"BIN" => 1,
            b"BDS" => 2,
            _ => return None,
        };
        let delimiters = self.splitter.delimiters;
        let mut ends = [0usize; 4];
        let mut found = 0;
        let head = &text[..text.len().min(HEAD_BYTES_MAX)];
        for (at, byte) in head.iter().enumerate() {
            if found > count {
                break;
            }
            if *byte == delimiters.terminator {
                // Without data, it is read like other segments.
                let is_declared = |digit: &u8| matches!(digit, b'1'..=b'9');
                if found == count && ends[0] == 3 && text[ends[count - 1] + 1..at].iter().any(is_declared) {
                    let place = self.upcoming(begin);
                    if seen == Terminator::Seen {
                        self.tell_of(EdiError::BinaryEnd, place, begin);
                    }
                }
                return None;
            }
            if *byte == delimiters.element {
                ends[found] = at;
                found += 1;
            }
        }
        if found <= count {
            let more = text.len() < HEAD_BYTES_MAX && self.end == EndOfInput::No;
            return more.then(|| self.wait(begin));
        }
        if ends[0] != 3 {
            return None;
        }
        let digits = &text[ends[count - 1] + 1..ends[count]];
        let number = core::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let at = self.upcoming(begin);
        let tell = |pass: &mut Self, error, at| {
            if seen == Terminator::Seen {
                pass.tell_of(error, at, begin);
            }
        };
        let Some(declared) = number.and_then(|text| text.parse::<u64>().ok()) else {
            tell(self, EdiError::BinaryLength, at.element(if count == 1 { 1 } else { 2 }));
            return None;
        };
        let data = begin + ends[count] + 1;
        if declared > self.splitter.binary_bytes_max as u64 {
            self.tell_of(EdiError::BinaryTooLong { declared, limit: self.splitter.binary_bytes_max }, at, begin);
            self.count(begin);
            self.at = data;
            self.splitter.mode = Mode::PassBytes { left: declared };
            return Some(Verdict::Again);
        }
        let there = self.input.len() - data;
        if there as u64 <= declared {
            if self.end == EndOfInput::No {
                return Some(self.wait(begin));
            }
            self.splitter.fault(EdiError::BinaryCut { declared, found: there as u64 }, at);
            self.count(begin);
            self.at = self.input.len();
            self.splitter.mode = Mode::Done;
            return Some(Verdict::Again);
        }
        let mut len = usize::try_from(declared).expect("less than the input's length");
        if self.input[data + len] != delimiters.terminator {
            if seen == Terminator::NotSeen {
                return None;
            }
            // The data ends at the terminator, and only its length is wrong.
            len = memchr::memchr(delimiters.terminator, &self.input[data..])?;
            tell(self, EdiError::BinaryEnd, at);
        }
        ends[count + 1] = ends[count] + 1 + len;
        self.count(begin);
        self.found.own = Own::tag(*b"BIN", Own::BINARY);
        self.splitter.index.set_segment(0, &ends.map(u32_of)[..count + 2]);
        self.at = data + len + 1;
        Some(Verdict::Step(Step::Segment))
    }

    /// Reports a fault of the segment at `begin`, with its tag for acknowledgments.
    #[cold]
    pub(super) fn tell_of(&mut self, error: EdiError, at: Position, begin: usize) {
        let tag = self.input[begin..].iter().take(3).take_while(|byte| byte.is_ascii_alphanumeric());
        let context = FaultContext { tag: tag.map(|byte| char::from(*byte)).collect(), ..FaultContext::default() };
        self.splitter.fault_of(error, at, Some(context));
    }

    /// Returns the position of the segment at `begin`, which is not counted yet.
    fn upcoming(&self, begin: usize) -> Position {
        Position {
            byte: ByteOffset(self.splitter.offset + begin as u64),
            interchange: self.splitter.interchange,
            segment: self.splitter.segment + 1,
            ..Position::default()
        }
    }

    fn count(&mut self, begin: usize) {
        self.splitter.segment += 1;
        self.found = Found { begin, ..Found::default() };
        (self.base, self.text) = (begin, &self.input[begin..]);
        self.forget_index();
    }

    fn wait(&mut self, begin: usize) -> Verdict {
        self.at = begin;
        self.forget_index();
        Verdict::Step(Step::NeedMore)
    }
}
