//! Transition from one interchange to the next.

use quayline_core::ByteOffset;

use super::{EndOfInput, LineBreak, Mode, Pass, Step, Told, Verdict, WINDOW_FIRST};
use crate::delimiters::Delimiters;
use crate::fault::{EdiError, FaultContext};
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
            Mode::Noise { from, told, before, tags } => self.in_noise(from, told, before, tags),
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
            Start::Yes { delimiters, skip, extended, leniencies } => {
                return self.begin(delimiters, skip, extended, leniencies);
            }
            Start::Refused(_) if self.is_cut(rest) => return Verdict::Step(Step::NeedMore),
            Start::Refused(error) => self.refused(error, at),
            Start::No => {
                self.splitter.mode =
                    Mode::Noise { from: at.byte.0, told: false, before: b' ', tags: NoiseTags::default() };
            }
        }
        Verdict::Again
    }

    fn in_noise(&mut self, from: u64, told: bool, mut before: u8, mut tags: NoiseTags) -> Verdict {
        let rest = &self.input[self.at..];
        for candidate in memchr::memchr2_iter(b'I', b'U', rest) {
            if candidate > 0 {
                before = rest[candidate - 1];
            }
            // After a letter or digit the tag may be part of a word, so only a header that cannot be mistaken counts.
            if before.is_ascii_alphanumeric() {
                match start::sure(&rest[candidate..], self.end) {
                    Some(true) => {}
                    Some(false) => continue,
                    None => {
                        self.at += candidate;
                        tags.look(&rest[..candidate]);
                        self.splitter.mode = Mode::Noise { from, told, before, tags };
                        return Verdict::Step(Step::NeedMore);
                    }
                }
            }
            let mut start = start::at(&rest[candidate..], self.end, Certain::No);
            if matches!(start, Start::Refused(_)) {
                // Prose can contain the word. After a line break or a terminator, the sender meant a header.
                if !(before < b' ' || before == b'~' || before == b'\'') {
                    continue;
                }
                if self.is_cut(&rest[candidate..]) {
                    start = Start::NeedMore;
                }
            }
            match start {
                Start::No => {}
                Start::NeedMore => {
                    self.at += candidate;
                    tags.look(&rest[..candidate]);
                    self.splitter.mode = Mode::Noise { from, told, before, tags };
                    return Verdict::Step(Step::NeedMore);
                }
                Start::Yes { delimiters, skip, extended, leniencies } => {
                    self.at += candidate;
                    tags.look(&rest[..candidate]);
                    self.tell(from, told, tags);
                    return self.begin(delimiters, skip, extended, leniencies);
                }
                Start::Refused(error) => {
                    self.at += candidate;
                    tags.look(&rest[..candidate]);
                    self.tell(from, told, tags);
                    let at = self.here();
                    self.refused(error, at);
                    return Verdict::Again;
                }
            }
        }
        tags.look(rest);
        self.splitter.mode = Mode::Noise { from, told, before: rest.last().copied().unwrap_or(before), tags };
        self.at = self.input.len();
        if self.end == EndOfInput::Yes {
            if self.splitter.interchange == 0 {
                self.none();
            } else {
                self.tell(from, told, tags);
            }
        }
        self.out_of_input()
    }

    /// Returns true if more of a refused header may follow; its fault contains all of it, for any chunks.
    fn is_cut(&self, header: &[u8]) -> bool {
        self.end == EndOfInput::No && header.len() < start::HEADER_BYTES_MAX
    }

    /// Reports a refused header, with its text for acknowledgments, and moves past its tag; UNA and UNB are one header.
    fn refused(&mut self, error: EdiError, at: Position) {
        let rest = &self.input[self.at..];
        let context = FaultContext {
            tag: rest.iter().take(3).map(|byte| char::from(*byte)).collect(),
            copy: rest[..rest.len().min(start::HEADER_BYTES_MAX)].to_vec(),
            ..FaultContext::default()
        };
        self.splitter.interchange += 1;
        self.splitter.fault_of(error, Position { interchange: self.splitter.interchange, ..at }, Some(context));
        let unb = rest.get(9..).map_or(0, |rest| 9 + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count());
        let both = rest.starts_with(b"UNA") && rest.get(unb..).is_some_and(|rest| rest.starts_with(b"UNB"));
        self.at += if both { unb + 3 } else { 3 };
        self.splitter.mode = Mode::Noise { from: at.byte.0, told: true, before: b'A', tags: NoiseTags::default() };
    }

    /// Reports the noise that ends here.
    fn tell(&mut self, from: u64, told: bool, tags: NoiseTags) {
        let here = self.here().byte.0;
        if !told && here > from {
            self.splitter.fault(
                EdiError::Noise { bytes: here - from, has_transactions: tags.has_transactions() },
                Position { byte: ByteOffset(from), ..Position::default() },
            );
        }
    }

    fn none(&mut self) {
        self.splitter.fault(EdiError::NoInterchange, Position::default());
    }

    fn begin(&mut self, delimiters: Delimiters, skip: usize, extended: bool, leniencies: Vec<EdiError>) -> Verdict {
        let splitter = &mut *self.splitter;
        splitter.before = splitter.style();
        splitter.interchange += 1;
        splitter.segment = 0;
        splitter.told = Told::default();
        splitter.line_break = LineBreak::None;
        splitter.gap_behind = None;
        splitter.una = skip > 0;
        splitter.una_bytes = skip;
        splitter.reserved = self.input[self.at..].get(7).copied().filter(|_| skip > 0).unwrap_or(b' ');
        splitter.delimiters = delimiters;
        splitter.extended.begin(extended);
        splitter.mode = Mode::Header;
        let byte = ByteOffset(splitter.offset + self.at as u64);
        let at = Position { byte, interchange: splitter.interchange, segment: 1, ..Position::default() };
        for error in leniencies {
            splitter.fault(error, at);
        }
        self.at += skip;
        self.forget_index();
        self.window = WINDOW_FIRST;
        Verdict::Step(Step::Interchange)
    }

    fn here(&self) -> Position {
        Position { byte: ByteOffset(self.splitter.offset + self.at as u64), ..Position::default() }
    }
}

/// Headers and trailers of transactions that were seen between interchanges, and the last bytes, because a tag can be cut by the end of the input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NoiseTags {
    last: [u8; 4],
    seen: u8,
}

impl Default for NoiseTags {
    fn default() -> Self {
        NoiseTags { last: [b' '; 4], seen: 0 }
    }
}

impl NoiseTags {
    /// ST and SE, UNH and UNT.
    const PAIRS: [u8; 2] = [0b0011, 0b1100];

    fn look(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            // A full stop or a comma ends a word of prose, such as `St.`.
            if byte.is_ascii_punctuation() && !matches!(byte, b'.' | b',' | b'\'') {
                self.seen |= match self.last {
                    [_, before, b'S', b'T'] if !before.is_ascii_alphanumeric() => 0b0001,
                    [_, before, b'S', b'E'] if !before.is_ascii_alphanumeric() => 0b0010,
                    [before, b'U', b'N', b'H'] if !before.is_ascii_alphanumeric() => 0b0100,
                    [before, b'U', b'N', b'T'] if !before.is_ascii_alphanumeric() => 0b1000,
                    _ => 0,
                };
            }
            self.last = [self.last[1], self.last[2], self.last[3], byte];
        }
    }

    fn has_transactions(self) -> bool {
        NoiseTags::PAIRS.iter().any(|pair| self.seen & pair == *pair)
    }

    pub(super) fn to_bits(self) -> u64 {
        u64::from(u32::from_le_bytes(self.last)) << 4 | u64::from(self.seen)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        let [a, b, c, d, ..] = (bits >> 4).to_le_bytes();
        NoiseTags { last: [a, b, c, d], seen: bits.to_le_bytes()[0] & 0b1111 }
    }
}
