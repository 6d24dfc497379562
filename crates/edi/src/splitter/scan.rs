//! Continuation after the last segment of the index: the next window, and segments that end late or never.

use quayline_charset::scan;

use super::binary::Terminator;
use super::merged::Inside;
use super::{EndOfInput, Found, Mode, NoiseTags, Pass, Step, Verdict, WINDOW, u32_of};
use crate::delimiters::{Delimiters, Standard};
use crate::fault::EdiError;
use crate::start::HEADER_BYTES_MAX;

/// Minimum length in bytes of white space between two segments that is a gap. Line breaks and indentation are shorter.
const GAP_BYTES_MIN: usize = 64;

/// Number of bytes that identify the kind of a segment: a tag and the byte after it.
const TAG_BYTES_MAX: usize = 4;

impl Pass<'_> {
    /// Extends the index to the next segment, or moves to the next interchange.
    #[inline(never)]
    pub(super) fn refill(&mut self) -> Verdict {
        match self.splitter.mode {
            Mode::Inside | Mode::Header => self.scan(),
            Mode::PassOver { released } => self.pass_over(released),
            Mode::PassBytes { left } => self.pass_bytes(left),
            Mode::Object { declared } => self.object(declared),
            Mode::First | Mode::Between | Mode::Noise { .. } | Mode::Done => self.between(),
        }
    }

    fn scan(&mut self) -> Verdict {
        if self.splitter.extended.is_on() {
            return self.scan_extended();
        }
        // A scan of one byte more than the maximum length detects a segment that is too long, for any division of the input.
        let most = self.segment_bytes_max() + 1;
        let rest = &self.input[self.at..];
        if self.still_open(rest, most) {
            return Verdict::Step(Step::NeedMore);
        }
        (self.base, self.text) = (self.at, &self.input[self.at..]);
        self.go_on_at(0);
        loop {
            let window = self.window.min(most).min(rest.len());
            self.splitter.index.scan(&self.splitter.delimiters.set(), &rest[..window]);
            if self.splitter.index.segments() > 0 {
                self.splitter.printable = scan::is_printable_but_breaks(&rest[..window]);
                self.next_mark = 0;
                self.scanned = window;
                self.window = if self.window < WINDOW { self.window * 4 } else { WINDOW };
                return self.first_segment();
            }
            if window == rest.len() || window == most {
                break;
            }
            self.window *= 4;
        }
        self.window = WINDOW;
        let mut begin = self.at;
        if self.splitter.mode == Mode::Inside {
            if rest.first().is_some_and(|first| *first <= b' ') {
                begin += self.splitter.blanks_behind(rest, self.at) as usize;
                if let Some(verdict) = self.leave_gap(begin) {
                    return verdict;
                }
            }
            if self.begins(begin) {
                self.at = begin;
                return Verdict::Again;
            }
            if let Some(verdict) = self.binary(begin, Terminator::NotSeen) {
                return verdict;
            }
        }
        // A segment without a terminator may have swallowed the next interchange.
        let is_long = rest.len() >= most;
        if is_long || self.end == EndOfInput::Yes {
            let at = self.at;
            self.found = Found { begin, ..Found::default() };
            self.at += rest.len().min(most);
            // A segment without a terminator is searched to its end.
            if let Some(Inside::At(header)) = self.header_inside() {
                self.splitter.segment += 1;
                return self.cut_segment(header);
            }
            self.at = at;
        }
        if is_long {
            return self.too_long(begin);
        }
        if self.end == EndOfInput::No {
            self.remember_look(begin);
            return Verdict::Step(Step::NeedMore);
        }
        self.last_segment(begin)
    }

    /// Returns the limit of the next segment in bytes. A header has a smaller one: otherwise, each header without a terminator would cost a search
    /// of 1 MiB.
    fn segment_bytes_max(&self) -> usize {
        let most = self.splitter.segment_bytes_max;
        if self.splitter.mode == Mode::Header { most.min(HEADER_BYTES_MAX) } else { most }
    }

    /// Notes that the bytes from `self.at` on hold no terminator. The segment begins at byte `begin` of the input; while its tag is not whole,
    /// it may still be a header or a binary segment, so the next look has to be a full one.
    fn remember_look(&mut self, begin: usize) {
        if self.input.len() - begin > TAG_BYTES_MAX {
            self.splitter.looked = self.input.len() - self.at;
        }
    }

    /// Returns true if the bytes that arrived since the last scan leave the segment open. Each byte is examined once, even if a caller adds a few
    /// bytes at a time.
    fn still_open(&mut self, rest: &[u8], most: usize) -> bool {
        let looked = core::mem::take(&mut self.splitter.looked);
        let open = looked > 0
            && looked <= rest.len()
            && rest.len() < most
            && self.end == EndOfInput::No
            && memchr::memchr_iter(self.splitter.delimiters.terminator, &rest[looked..])
                .all(|at| self.is_released(&rest[..looked + at]));
        if open {
            self.splitter.looked = rest.len();
        }
        open
    }

    /// Returns true if a byte after `before` is released. Line breaks between a release character and the released byte are ignored. The examined
    /// bytes contain no terminator, so the examinations of several terminators never overlap.
    fn is_released(&self, before: &[u8]) -> bool {
        let delimiters = &self.splitter.delimiters;
        let Some(release) = delimiters.release else { return false };
        let is_break = |byte: u8| matches!(byte, b'\r' | b'\n') && !delimiters.is_service(byte);
        let run = before.iter().rev().take_while(|byte| **byte == release || is_break(**byte));
        run.filter(|byte| **byte == release).count() % 2 == 1
    }

    /// Drops the white space before a segment, up to byte `begin` of the input, if it is more than a line break and some indentation. Such a gap is
    /// not part of the segment after it, is never kept in memory and does not count toward the segment's limit. `None` without a gap.
    pub(super) fn leave_gap(&mut self, begin: usize) -> Option<Verdict> {
        let blanks = begin - self.at;
        let is_gap = blanks >= GAP_BYTES_MIN || (blanks > 0 && self.splitter.is_in_gap());
        if !is_gap {
            return None;
        }
        self.splitter.gap_behind = Some(self.splitter.segment);
        self.at = begin;
        self.forget_index();
        Some(match (begin == self.input.len(), self.end) {
            (true, EndOfInput::No) => Verdict::Step(Step::NeedMore),
            (true, EndOfInput::Yes) => {
                self.splitter.mode = Mode::Done;
                Verdict::Step(Step::Done)
            }
            (false, _) => Verdict::Again,
        })
    }

    /// Continues after a scan that found a segment.
    fn first_segment(&mut self) -> Verdict {
        if self.splitter.mode == Mode::Inside {
            return Verdict::Again;
        }
        // ISA11 and ISA16 are separators; UNB may hold none but its own.
        let verdict = self.indexed().unwrap_or(Verdict::Again);
        if self.splitter.mode != Mode::Header {
            return verdict;
        }
        self.splitter.mode = Mode::Inside;
        if self.splitter.delimiters.standard == Standard::X12 {
            self.splitter.index.forget_first_parts();
        }
        verdict
    }

    /// Handles the end of the source without a terminator: the rest is a segment, and a trailer may lack the terminator.
    fn last_segment(&mut self, begin: usize) -> Verdict {
        if begin == self.input.len() {
            self.at = begin;
            self.splitter.mode = Mode::Done;
            return Verdict::Step(Step::Done);
        }
        let with_terminator = [&self.input[self.at..], &[self.splitter.delimiters.terminator]].concat();
        self.splitter.index.scan(&self.splitter.delimiters.set(), &with_terminator);
        let index = &self.splitter.index;
        let is_one = index.segments() > 0;
        let start = u32_of(begin - self.at);
        let mark = u32_of(index.marks().partition_point(|at| *at < start));
        self.next_mark = u32_of(index.marks().len());
        self.found = Found { begin, start, marks: (mark, self.next_mark), ..Found::default() };
        self.forget_index();
        self.at = self.input.len();
        self.splitter.segment += 1;
        let at = self.position();
        if !is_one {
            // The last byte is a release character.
            self.splitter.fault(EdiError::Unterminated, at);
            self.splitter.mode = Mode::Done;
            return Verdict::Again;
        }
        self.splitter.mode = Mode::Done;
        self.splitter.open_end = true;
        if !matches!(self.segment().tag(), b"IEA" | b"UNZ") {
            self.splitter.fault(EdiError::Unterminated, at);
        }
        Verdict::Step(Step::Segment)
    }

    #[cold]
    pub(super) fn too_long(&mut self, begin: usize) -> Verdict {
        self.splitter.segment += 1;
        self.found = Found { begin, start: u32_of(begin - self.base), ..Found::default() };
        let at = self.position();
        self.tell_of(EdiError::SegmentTooLong { limit: self.segment_bytes_max() }, at, begin);
        if self.splitter.mode == Mode::Header {
            self.no_header(begin);
        } else {
            self.splitter.mode = Mode::PassOver { released: false };
        }
        Verdict::Again
    }

    /// Rejects an interchange with an unusable header: moves past the tag, to search for the next one.
    #[cold]
    pub(super) fn no_header(&mut self, begin: usize) {
        self.at = begin + 3;
        let from = self.splitter.offset + begin as u64;
        self.splitter.mode = Mode::Noise { from, told: true, before: b'A', tags: NoiseTags::default() };
    }

    /// Skips a segment that is too long, including its terminator.
    #[cold]
    fn pass_over(&mut self, mut released: bool) -> Verdict {
        let delimiters = self.splitter.delimiters;
        let Delimiters { terminator, release, .. } = delimiters;
        for (i, byte) in self.input[self.at..].iter().enumerate() {
            if released {
                // A line break is left out of a released pair, as everywhere.
                released = matches!(byte, b'\r' | b'\n') && !delimiters.is_service(*byte);
            } else if Some(*byte) == release {
                released = true;
            } else if *byte == terminator {
                self.at += i + 1;
                self.splitter.mode = Mode::Inside;
                self.splitter.extended.reset();
                return Verdict::Again;
            }
        }
        self.at = self.input.len();
        self.splitter.mode = Mode::PassOver { released };
        self.out_of_input()
    }

    /// Skips binary data that is too long, including its terminator.
    #[cold]
    fn pass_bytes(&mut self, left: u64) -> Verdict {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(self.input.len() - self.at);
        self.at += step;
        let left = left - step as u64;
        self.splitter.mode = if left == 0 { Mode::PassOver { released: false } } else { Mode::PassBytes { left } };
        if left == 0 { Verdict::Again } else { self.out_of_input() }
    }

    /// Handles the end of the input.
    pub(super) fn out_of_input(&mut self) -> Verdict {
        Verdict::Step(match self.end {
            EndOfInput::No => Step::NeedMore,
            EndOfInput::Yes => {
                self.splitter.mode = Mode::Done;
                Step::Done
            }
        })
    }
}
