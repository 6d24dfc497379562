//! From one interchange to the next.

use quayline_core::ByteOffset;

use super::{Cursor, EndOfInput, LineBreak, Mode, Pass, Step, Told, Verdict, WINDOW_FIRST};
use crate::delimiters::Delimiters;
use crate::fault::EdiError;
use crate::position::Position;
use crate::start::{self, Certain, Start};

const MARK: &[u8] = b"\xef\xbb\xbf";

impl Pass<'_> {
    #[cold]
    pub(super) fn between(&mut self) -> Verdict {
        match self.splitter.mode {
            Mode::First => {
                let rest = &self.input[self.at..];
                if rest.len() < MARK.len() && MARK.starts_with(rest) && self.end == EndOfInput::No {
                    return Verdict::Step(Step::NeedMore);
                }
                self.at += if rest.starts_with(MARK) { MARK.len() } else { 0 };
                self.splitter.mode = Mode::Between;
                Verdict::Again
            }
            Mode::Noise { from, told, before } => self.in_noise(from, told, before),
            Mode::Done => Verdict::Step(Step::Done),
            _ => self.behind_white_space(),
        }
    }

    fn behind_white_space(&mut self) -> Verdict {
        // Transfer programs fill with NUL and end files with 0x1A.
        let white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x1a);
        self.at += self.input[self.at..].iter().take_while(|byte| white(byte)).count();
        let rest = &self.input[self.at..];
        if rest.is_empty() {
            if self.end == EndOfInput::Yes && self.splitter.interchange == 0 {
                self.none();
            }
            return self.out_of_input();
        }
        let at = self.here();
        match start::at(rest, self.end, Certain::Yes) {
            Start::NeedMore => return Verdict::Step(Step::NeedMore),
            Start::Yes { delimiters, skip, leniencies } => return self.begin(delimiters, skip, leniencies),
            Start::Refused(error) => {
                self.splitter.interchange += 1;
                self.splitter.fault(error, Position { interchange: self.splitter.interchange, ..at });
                self.refused(at.byte.0);
            }
            Start::No => self.splitter.mode = Mode::Noise { from: at.byte.0, told: false, before: b' ' },
        }
        Verdict::Again
    }

    fn in_noise(&mut self, from: u64, told: bool, mut before: u8) -> Verdict {
        let rest = &self.input[self.at..];
        for candidate in memchr::memchr2_iter(b'I', b'U', rest) {
            if candidate > 0 {
                before = rest[candidate - 1];
            }
            if before.is_ascii_alphanumeric() {
                continue;
            }
            match start::at(&rest[candidate..], self.end, Certain::No) {
                Start::No => {}
                Start::NeedMore => {
                    self.at += candidate;
                    self.splitter.mode = Mode::Noise { from, told, before };
                    return Verdict::Step(Step::NeedMore);
                }
                Start::Yes { delimiters, skip, leniencies } => {
                    self.at += candidate;
                    self.tell(from, told);
                    return self.begin(delimiters, skip, leniencies);
                }
                // Prose may hold the word; behind a line break or terminator it is meant as a header.
                Start::Refused(error) => {
                    if before < b' ' || before == b'~' || before == b'\'' {
                        self.at += candidate;
                        self.tell(from, told);
                        let at = self.here();
                        self.splitter.interchange += 1;
                        self.splitter.fault(error, Position { interchange: self.splitter.interchange, ..at });
                        self.refused(at.byte.0);
                        return Verdict::Again;
                    }
                }
            }
        }
        self.splitter.mode = Mode::Noise { from, told, before: rest.last().copied().unwrap_or(before) };
        self.at = self.input.len();
        if self.end == EndOfInput::Yes {
            if self.splitter.interchange == 0 {
                self.none();
            } else {
                self.tell(from, told);
            }
        }
        self.out_of_input()
    }

    /// Goes behind the tag of a header that was refused; UNA and UNB are one.
    fn refused(&mut self, from: u64) {
        let rest = &self.input[self.at..];
        let unb = rest.get(9..).map_or(0, |rest| 9 + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count());
        let both = rest.starts_with(b"UNA") && rest.get(unb..).is_some_and(|rest| rest.starts_with(b"UNB"));
        self.at += if both { unb + 3 } else { 3 };
        self.splitter.mode = Mode::Noise { from, told: true, before: b'A' };
    }

    /// The fault of noise that ends here.
    fn tell(&mut self, from: u64, told: bool) {
        let here = self.here().byte.0;
        if !told && here > from {
            self.splitter.fault(
                EdiError::Noise { bytes: here - from },
                Position { byte: ByteOffset(from), ..Position::default() },
            );
        }
    }

    fn none(&mut self) {
        self.splitter.fault(EdiError::NoInterchange, Position::default());
    }

    fn begin(&mut self, delimiters: Delimiters, skip: usize, leniencies: Vec<EdiError>) -> Verdict {
        let splitter = &mut *self.splitter;
        splitter.interchange += 1;
        splitter.segment = 0;
        splitter.told = Told::default();
        splitter.line_break = LineBreak::None;
        splitter.una = skip > 0;
        splitter.delimiters = delimiters;
        splitter.mode = Mode::Header;
        let byte = ByteOffset(splitter.offset + self.at as u64);
        let at = Position { byte, interchange: splitter.interchange, segment: 1, ..Position::default() };
        for error in leniencies {
            splitter.fault(error, at);
        }
        self.at += skip;
        self.next = Cursor::default();
        self.window = WINDOW_FIRST;
        Verdict::Step(Step::Interchange)
    }

    fn here(&self) -> Position {
        Position { byte: ByteOffset(self.splitter.offset + self.at as u64), ..Position::default() }
    }
}
