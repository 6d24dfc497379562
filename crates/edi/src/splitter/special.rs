//! Segments that are not certainly plain data.

use quayline_core::ByteOffset;

use super::binary::Terminator;
use super::{Mode, Own, Pass, Step, Verdict, needs_release, u32_of};
use crate::delimiters::{Delimiters, Standard};
use crate::fault::EdiError;
use crate::position::Position;

impl Pass<'_> {
    /// Judges the segment that was found last: one of the envelope, with binary data, with marks or a bad tag, or beyond a limit.
    #[inline(never)]
    pub(super) fn special(&mut self) -> Verdict {
        let begin = self.segment_start();
        let at = self.position();
        let segment = self.segment();
        let (is_empty, elements) = (segment.raw().is_empty(), segment.len());
        let tag = Tag::of(segment.tag(), segment.delimiters());
        let is_nested = segment.delimiters().standard == Standard::Edifact
            && segment.tag().contains(&segment.delimiters().component);
        let raw_tag_len = segment.tag().len();
        let line_break = self.line_break();
        if is_empty {
            self.splitter.segment -= 1;
            if !core::mem::replace(&mut self.splitter.told.empty, true) {
                self.splitter.fault(EdiError::Empty, at);
            }
            return Verdict::Again;
        }
        let is_header = self.splitter.segment == 1;
        if !is_header && self.begins(begin) {
            self.at = begin;
            self.splitter.segment -= 1;
            return Verdict::Again;
        }
        // Delimiters that the index found in binary data do not count.
        if self.splitter.delimiters.standard == Standard::X12
            && tag.as_ref().is_some_and(|tag| matches!(&tag.bytes, b"BIN" | b"BDS"))
        {
            let (found, behind) = (self.found, self.at);
            self.splitter.segment -= 1;
            if let Some(verdict) = self.binary(begin, Terminator::Seen) {
                return verdict;
            }
            (self.found, self.at) = (found, behind);
            self.splitter.segment += 1;
        }
        if elements > self.splitter.elements_max {
            self.tell_of(EdiError::TooManyElements { limit: self.splitter.elements_max }, at, begin);
            if is_header {
                self.no_header(begin);
            }
            return Verdict::Again;
        }
        if let Some(byte) = line_break
            && !core::mem::replace(&mut self.splitter.told.break_inside, true)
        {
            self.splitter.fault(EdiError::LineBreakInside, Position { byte, ..at });
        }
        if !self.splitter.told.release
            && let Some(element) = self.needless_release()
        {
            self.splitter.told.release = true;
            self.splitter.fault(EdiError::NeedlessRelease, at.element(element));
        }
        let Some(tag) = tag else {
            // Acknowledgments identify the segment by the part of its tag that fits.
            let standard = self.splitter.delimiters.standard;
            self.tell_of(EdiError::Tag { standard, bytes: raw_tag_len }, at, begin);
            return Verdict::Step(Step::Segment);
        };
        if is_nested && !core::mem::replace(&mut self.splitter.told.nesting, true) {
            self.splitter.fault(EdiError::Nesting, at);
        }
        if usize::from(tag.len) != raw_tag_len {
            self.found.own = Own::tag(tag.bytes, tag.len);
        }
        match (self.splitter.delimiters.standard, &tag.bytes) {
            (Standard::X12, b"IEA") | (Standard::Edifact, b"UNZ") => self.splitter.mode = Mode::Between,
            (Standard::X12, b"ISX") if self.splitter.segment == 2 => {
                // The following segments use a release character, but the index does not know it.
                let release = self.segment().element(1).and_then(|element| element.raw().first().copied());
                if let Some(byte) = release.filter(|byte| !self.splitter.delimiters.is_service(*byte)) {
                    self.splitter.delimiters.release = Some(byte);
                    self.forget_index();
                }
            }
            (Standard::Edifact, b"UNO") => self.package(at, begin),
            _ => {}
        }
        Verdict::Step(Step::Segment)
    }

    /// Returns the number of the first element with a release character before a character that needs none.
    fn needless_release(&self) -> Option<u32> {
        let segment = self.segment();
        let delimiters = segment.delimiters();
        let release = delimiters.release.filter(|_| segment.is_marked())?;
        let is_break = |byte: u8| matches!(byte, b'\r' | b'\n') && !delimiters.is_service(byte);
        let mark = segment.marks.iter().find(|mark| {
            let mut behind = segment.text[**mark as usize..].iter().copied();
            // Line breaks are left out, those after a release character too.
            behind.next() == Some(release)
                && behind.find(|byte| !is_break(*byte)).is_some_and(|byte| !needs_release(delimiters, byte))
        })?;
        Some(u32_of(segment.ends.positions().partition_point(|end| end < mark)))
    }

    /// Returns the position of the first line break inside the segment.
    fn line_break(&self) -> Option<ByteOffset> {
        let segment = self.segment();
        if self.splitter.extended.is_on()
            && segment.marks.iter().any(|mark| matches!(segment.text[*mark as usize], b'\r' | b'\n'))
        {
            // Positions are those of the text as it was read.
            return Some(ByteOffset(self.splitter.offset + self.found.begin as u64));
        }
        let mark = segment.marks.iter().find(|mark| matches!(segment.text[**mark as usize], b'\r' | b'\n'))?;
        Some(ByteOffset(self.splitter.offset + self.base as u64 + u64::from(*mark)))
    }
}

/// A tag without line breaks and explicit nesting, filled with NUL.
struct Tag {
    bytes: [u8; 3],
    len: u8,
}

impl Tag {
    /// Parses a tag: two or three capital letters or digits (in EDIFACT three), the first a letter, and in EDIFACT perhaps the numbers of explicit
    /// nesting. `None` for other bytes.
    fn of(raw: &[u8], delimiters: &Delimiters) -> Option<Self> {
        let mut tag = Tag { bytes: [0; 3], len: 0 };
        let is_edifact = delimiters.standard == Standard::Edifact;
        let end = raw.iter().position(|byte| is_edifact && *byte == delimiters.component).unwrap_or(raw.len());
        let is_number =
            |byte: &u8| byte.is_ascii_digit() || *byte == delimiters.component || matches!(byte, b'\r' | b'\n');
        if !raw[end..].iter().all(is_number) {
            return None;
        }
        for byte in raw[..end].iter().filter(|byte| !matches!(byte, b'\r' | b'\n')) {
            if !byte.is_ascii_uppercase() && !byte.is_ascii_digit() {
                return None;
            }
            *tag.bytes.get_mut(usize::from(tag.len))? = *byte;
            tag.len += 1;
        }
        (tag.len >= 2 + u8::from(is_edifact) && tag.bytes[0].is_ascii_uppercase()).then_some(tag)
    }
}
