//! Segments that contain the header of another interchange, because the interchange before it was cut off.
//!
//! A transfer that breaks off and files that are put together afterwards leave a segment without its end: `REF*DP*0ISA*00*…~`. Without this
//! module, that segment would contain the header, and the second interchange would be part of the first. Quayline ends the segment before a
//! header that cannot be part of a text ([`start::sure`]).
//!
//! To search each segment would cost more than to split it. These are searched:
//! * segments with at least as many elements as a header has, after those of the segment that was cut off;
//! * segments with a line break;
//! * segments of at least [`LONG`] or [`LONG_EDIFACT`] bytes, and those that have no terminator: the second interchange may have other delimiters.
//!
//! A header with another element separator may also be a quotation in a text. Quayline takes it for one if a segment of the outer interchange
//! follows. If the outer interchange was cut off, its terminator is a character of the second one, and no segment of the first follows.
//!
//! Binary data and text with code extension are not searched.

use quayline_charset::Ends;

use super::{EndOfInput, Found, Mode, Pass, Step, Verdict, is_header, u32_of};
use crate::delimiters::Standard;
use crate::fault::EdiError;
use crate::start;

/// Number of elements of ISA without its tag, which is part of the element that was cut off.
const ISA_ELEMENTS: usize = 16;
/// Number of mandatory elements of UNB without its tag.
const UNB_ELEMENTS: usize = 5;
/// Minimum length in bytes of an X12 segment that may contain a header with other delimiters. Few segments are as long.
const LONG: usize = 64;
/// The same for EDIFACT, in which a header with other delimiters is an ISA.
const LONG_EDIFACT: usize = 106;
/// White space between two segments.
const BLANKS_MAX: usize = 80;

/// Returns true if a segment with a valid tag may contain a header after its first element. This is on the hot path, so it has no branch on the standard.
#[inline(always)]
pub(super) fn may_hold_header(text: &[u8], start: u32, ends: &Ends<'_>, standard: Standard) -> bool {
    let least = 2 + UNB_ELEMENTS + (ISA_ELEMENTS - UNB_ELEMENTS) * usize::from(standard == Standard::X12);
    let end = ends[ends.len() - 1] as usize;
    (ends.len() >= least) | (end >= start as usize + long(standard))
        && holds_header(&text[start as usize..end], start, ends, least, standard)
}

/// Returns the minimum length of a segment that is searched.
#[inline(always)]
fn long(standard: Standard) -> usize {
    LONG + (LONG_EDIFACT - LONG) * usize::from(standard == Standard::Edifact)
}

/// Returns true if an element that the elements of a header may follow ends with its tag, or if a long segment contains a header. X12 has few
/// segments with as many elements as ISA.
#[cold]
#[inline(never)]
fn holds_header(segment: &[u8], start: u32, ends: &Ends<'_>, least: usize, standard: Standard) -> bool {
    let ends_with_tag = || {
        let mut candidates = ends[..ends.len() - UNB_ELEMENTS].iter().map(|end| (*end - start) as usize);
        standard == Standard::X12 || candidates.any(|end| segment[..end].ends_with(b"UNB"))
    };
    ends.len() >= least && ends_with_tag() || segment.len() >= long(standard) && headers(segment).next().is_some()
}

/// Returns the places of the headers in a segment.
fn headers(segment: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let candidates = memchr::memchr2_iter(b'I', b'U', segment).filter(|at| *at > 0);
    // The segment is complete, so its end is the end of what may be a header, for any division of the input.
    candidates.filter(|at| start::sure(&segment[*at..], EndOfInput::Yes) == Some(true))
}

/// Returns the element separator of a header.
fn separator_of(header: &[u8]) -> Option<u8> {
    header.get(if header.starts_with(b"UNA") { 4 } else { 3 }).copied()
}

/// What the bytes after a segment are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    /// A segment of the same interchange.
    Segment,
    Other,
    /// There are too few bytes.
    Unknown,
}

/// Place of a header inside a segment.
pub(super) enum Inside {
    At(usize),
    /// More bytes are needed to tell a header from a quotation.
    Unknown,
}

impl Pass<'_> {
    /// Returns the place in the input of the first header inside the segment that was found last, which ends before `self.at`.
    #[inline]
    pub(super) fn header_inside(&self) -> Option<Inside> {
        if self.is_searched() { self.search_header() } else { None }
    }

    /// Returns true if the segment that was found last is one of those that are searched for a header.
    fn is_searched(&self) -> bool {
        let splitter = &*self.splitter;
        let Found { begin, number, marks, .. } = self.found;
        if splitter.extended.is_on() {
            return false;
        }
        let standard = splitter.delimiters.standard;
        let text = &self.input[begin..self.at];
        let is_binary = standard == Standard::X12 && (text.starts_with(b"BIN") || text.starts_with(b"BDS"));
        let is_isa = standard == Standard::X12 && splitter.mode == Mode::Header;
        // A header at the beginning of a segment begins an interchange, even if it is unusable.
        let begins = splitter.mode == Mode::Inside && is_header(text);
        if is_binary || is_isa || begins {
            return false;
        }
        let Some(span) = splitter.index.segment(number) else {
            // The segment has no terminator.
            return true;
        };
        let elements = match standard {
            Standard::X12 => 1 + ISA_ELEMENTS,
            Standard::Edifact => 1 + UNB_ELEMENTS,
        };
        let marks = &splitter.index.marks()[marks.0 as usize..marks.1 as usize];
        span.ends.len() >= elements
            || text.len() >= long(standard)
            || marks.iter().any(|at| matches!(self.text[*at as usize], b'\r' | b'\n'))
    }

    #[cold]
    fn search_header(&self) -> Option<Inside> {
        let text = &self.input[self.found.begin..self.at];
        // Only data segments contain texts.
        let is_body = self.splitter.mode == Mode::Inside && self.splitter.index.segment(self.found.number).is_some();
        let element = self.splitter.delimiters.element;
        for header in headers(text) {
            let may_be_text = is_body && separator_of(&text[header..]) != Some(element);
            match if may_be_text { self.next_is() } else { Next::Other } {
                Next::Segment => {}
                Next::Other => return Some(Inside::At(self.found.begin + header)),
                Next::Unknown => return Some(Inside::Unknown),
            }
        }
        None
    }

    /// Returns whether the interchange continues after the segment that was found last, with a tag and its separator.
    fn next_is(&self) -> Next {
        let delimiters = &self.splitter.delimiters;
        let rest = &self.input[self.at..];
        let blanks = rest.iter().take(BLANKS_MAX).take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = &rest[blanks..];
        let tag = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
        let least = if delimiters.standard == Standard::X12 { 2 } else { 3 };
        match rest.get(tag) {
            _ if blanks == BLANKS_MAX || tag > 3 || !rest.first().is_none_or(u8::is_ascii_uppercase) => Next::Other,
            // Another interchange begins: the terminator is a service character of its UNA.
            Some(_) if is_header(rest) => Next::Other,
            None if self.end == EndOfInput::No => Next::Unknown,
            Some(byte) if tag >= least && (*byte == delimiters.element || *byte == delimiters.terminator) => {
                Next::Segment
            }
            _ => Next::Other,
        }
    }

    /// Ends the segment that was found last before the header of another interchange at byte `header` of the input, and reports it.
    #[cold]
    pub(super) fn cut_segment(&mut self, header: usize) -> Verdict {
        let begin = self.found.begin;
        let lines = self.input[begin..header].trim_ascii_end();
        // Spaces can be data; with a line break they are what separates the two.
        let has_break = self.input[begin + lines.len()..header].iter().any(|byte| matches!(byte, b'\r' | b'\n'));
        let part = if has_break { lines } else { &self.input[begin..header] };
        let terminated = [part, &[self.splitter.delimiters.terminator]].concat();
        self.splitter.index.scan(&self.splitter.delimiters.set(), &terminated);
        (self.base, self.text) = (begin, &self.input[begin..]);
        let marks = u32_of(self.splitter.index.marks().len());
        self.next_mark = marks;
        self.found = Found { begin, marks: (0, marks), ..Found::default() };
        self.forget_index();
        self.at = header;
        self.splitter.mode = Mode::Between;
        let at = self.position();
        let tag = self.input[header..header + 3].iter().map(|byte| char::from(*byte)).collect::<String>().into();
        let is_whole = self.splitter.index.segments() > 0;
        let is_trailer = is_whole && matches!(self.segment().tag(), b"IEA" | b"UNZ");
        let error = if is_trailer { EdiError::TrailerMerged { tag } } else { EdiError::HeaderInside { tag } };
        self.splitter.fault(error, at);
        if is_whole {
            Verdict::Step(Step::Segment)
        } else {
            // The part before the header ends with a release character.
            self.splitter.segment -= 1;
            Verdict::Again
        }
    }
}
