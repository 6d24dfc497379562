//! Segments with code extension (ISO 2022): they are decoded to UTF-8, one at a time, before delimiters are searched.
//!
//! Bytes of a multi-byte character can equal delimiters, and a designated set stays in use until another is designated. Therefore such
//! text is decoded from its beginning, byte by byte. The result is an ordinary segment, except that its positions are those of the decoded
//! text, not of the input.

use quayline_charset::{CodeExtension, CodeProblem, Unit};

use super::{EndOfInput, Found, Mode, Pass, Step, Verdict, u32_of};
use crate::delimiters::Delimiters;
use crate::fault::EdiError;
use crate::position::Position;
use crate::state::{StateReader, StateWriter};

/// Code extension state of a splitter.
#[derive(Clone, Debug, Default)]
pub(super) struct Extended {
    /// True if the caller has disabled code extension.
    off: bool,
    /// State after the current segment, in an interchange with code extension.
    state: Option<CodeExtension>,
    /// State before the current segment, and where its bytes begin in the input of the pass.
    before: CodeExtension,
    from: usize,
    /// The current segment as UTF-8, with its terminator.
    text: Vec<u8>,
    /// State for the next pass if the last one ended inside a segment; `text` is its decoded part.
    pending: Option<Pending>,
}

/// A segment that was read in part.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Bytes read.
    at: usize,
    state: CodeExtension,
    released: bool,
    problem: Option<CodeProblem>,
}

/// Maximum number of bytes of a segment, regardless of the limit: the decoded text has up to three times as many, and positions have 32 bits.
const BYTES_MAX: usize = 1 << 29;

/// Result of [`Extended::read`].
struct Read {
    /// Bytes of the segment with its terminator; `None` if the input ends before it.
    len: Option<usize>,
    behind: CodeExtension,
    /// The first thing that is not a character.
    problem: Option<CodeProblem>,
}

impl Extended {
    pub(super) fn begin(&mut self, extended: bool) {
        self.state = (extended && !self.off).then_some(CodeExtension::START);
        self.before = CodeExtension::START;
    }

    pub(super) fn switch_off(&mut self) {
        self.off = true;
        self.state = None;
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.state.is_some()
    }

    pub(super) fn is_at_start(&self) -> bool {
        self.state.is_none_or(|state| state == CodeExtension::START)
    }

    /// Resets the state after skipped bytes, where the current sets are unknown.
    pub(super) fn reset(&mut self) {
        self.begin(self.state.is_some());
    }

    #[inline]
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.state.map(|_| &self.text[..])
    }

    /// Returns the position in `input` of the character that is byte `at` of the decoded text, after any escape sequences before it.
    pub(super) fn source_of(&self, input: &[u8], at: usize) -> Option<usize> {
        let (mut state, mut source, mut text) = (self.before, self.from, 0);
        while let Some((unit, len)) = state.next(&input[source..]) {
            let decoded = match unit {
                Unit::Function => 0,
                Unit::Plain(_) => 1,
                Unit::Char(char) => char.len_utf8(),
                Unit::Unknown(_) => '\u{fffd}'.len_utf8(),
            };
            if text >= at && decoded > 0 {
                break;
            }
            text += decoded;
            source += len;
        }
        (text == at).then_some(source)
    }

    pub(super) fn put_back(&mut self) {
        if self.state.is_some() {
            self.state = Some(self.before);
        }
    }

    pub(super) fn drop_text(&mut self) {
        self.text = Vec::new();
        self.pending = None;
    }

    pub(super) fn put_state(&self, out: &mut StateWriter) {
        out.flag(self.off);
        out.flag(self.state.is_some());
        self.state.unwrap_or_default().to_bits().iter().for_each(|bits| out.number(*bits));
    }

    pub(super) fn from_state(from: &mut StateReader<'_>) -> Option<Self> {
        let (off, is_on) = (from.flag()?, from.flag()?);
        let state = CodeExtension::from_bits([from.number()?, from.number()?])?;
        Some(Extended { off, state: is_on.then_some(state), before: state, ..Extended::default() })
    }

    /// Decodes `input`, which begins after the preceding segment, up to a terminator. The part decoded by the last pass is not decoded again.
    fn read(&mut self, input: &[u8], delimiters: &Delimiters) -> Read {
        let pending = self.pending.take().filter(|pending| pending.at <= input.len());
        if pending.is_none() {
            self.text.clear();
        }
        let start = Pending { at: 0, state: self.state.unwrap_or_default(), released: false, problem: None };
        let Pending { mut at, mut state, mut released, mut problem } = pending.unwrap_or(start);
        while let Some((unit, len)) = state.next(&input[at..]) {
            at += len;
            match unit {
                Unit::Function => continue,
                Unit::Plain(byte) => {
                    self.text.push(byte);
                    // A line break is left out of a released pair, as everywhere.
                    if released && matches!(byte, b'\r' | b'\n') && !delimiters.is_service(byte) {
                        continue;
                    }
                    if !released && byte == delimiters.terminator {
                        return Read { len: Some(at), behind: state, problem };
                    }
                    if !released && Some(byte) == delimiters.release {
                        released = true;
                        continue;
                    }
                }
                Unit::Char(char) => self.text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                Unit::Unknown(why) => {
                    problem = problem.or(Some(why));
                    self.text.extend_from_slice("\u{fffd}".as_bytes());
                }
            }
            released = false;
        }
        self.pending = Some(Pending { at, state, released, problem });
        Read { len: None, behind: state, problem: problem.or((at < input.len()).then_some(CodeProblem::Cut)) }
    }
}

impl Pass<'_> {
    /// Implements [`Pass::scan`] for text with code extension.
    #[cold]
    pub(super) fn scan_extended(&mut self) -> Verdict {
        let most = self.splitter.segment_bytes_max.min(BYTES_MAX) + 1;
        self.forget_index();
        let rest = &self.input[self.at..];
        let rest = &rest[..rest.len().min(most)];
        let delimiters = self.splitter.delimiters;
        let Read { len, behind, problem } = self.splitter.extended.read(rest, &delimiters);
        let mut begin = self.at;
        if self.splitter.mode == Mode::Inside && rest.first().is_some_and(|first| *first <= b' ') {
            begin += self.splitter.blanks_behind(rest, self.at) as usize;
            if len.is_none()
                && let Some(verdict) = self.leave_gap(begin)
            {
                self.splitter.extended.pending = None;
                return verdict;
            }
        }
        if self.splitter.mode == Mode::Inside && self.begins(begin) {
            self.splitter.extended.pending = None;
            self.at = begin;
            return Verdict::Again;
        }
        let is_open = len.is_none();
        let len = match len {
            Some(len) => len,
            None => {
                if rest.len() >= most {
                    self.splitter.extended.pending = None;
                    return self.too_long(begin);
                }
                if self.end == EndOfInput::No {
                    return Verdict::Step(Step::NeedMore);
                }
                if begin == self.input.len() {
                    self.at = begin;
                    self.splitter.mode = Mode::Done;
                    return Verdict::Step(Step::Done);
                }
                self.splitter.extended.pending = None;
                self.splitter.extended.text.push(delimiters.terminator);
                rest.len()
            }
        };
        let splitter = &mut *self.splitter;
        splitter.extended.from = self.at;
        splitter.extended.before = splitter.extended.state.replace(behind).unwrap_or(behind);
        splitter.index.scan(&delimiters.set(), &splitter.extended.text);
        let start = splitter.blanks(&splitter.extended.text);
        let marks = splitter.index.marks();
        let mark = u32_of(marks.partition_point(|at| (*at as usize) < start));
        self.found = Found { begin, start: u32_of(start), marks: (mark, u32_of(marks.len())), ..Found::default() };
        self.at += len;
        self.splitter.segment += 1;
        let at = self.position();
        if let Some(problem) = problem {
            self.splitter.fault(EdiError::CodeExtension { problem }, at);
        }
        if is_open || self.splitter.index.segments() == 0 {
            return self.extended_end(at);
        }
        let verdict = self.special();
        if self.splitter.mode == Mode::Header {
            self.splitter.mode = Mode::Inside;
        }
        verdict
    }

    /// Handles the end of the source after the decoded text, without a terminator.
    fn extended_end(&mut self, at: Position) -> Verdict {
        self.splitter.mode = Mode::Done;
        if self.splitter.index.segments() == 0 {
            // The last byte is a release character.
            self.splitter.fault(EdiError::Unterminated, at);
            return Verdict::Again;
        }
        self.splitter.open_end = true;
        if self.segment().tag() != b"UNZ" {
            self.splitter.fault(EdiError::Unterminated, at);
        }
        Verdict::Step(Step::Segment)
    }
}
