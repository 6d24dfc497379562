//! One segment as spans into the input.

use core::fmt;

use quayline_charset::{Ends, scan};
use quayline_core::Run;

use crate::delimiters::Delimiters;

/// A segment: its tag and elements are found already, nothing is copied.
///
/// Elements count from 1 as in the standards (`CLM05` is `element(5)`); 0 is the tag.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    /// The tag if it differs from `text`; otherwise empty.
    pub(crate) own_tag: &'a [u8],
    pub(crate) text: &'a [u8],
    pub(crate) start: u32,
    /// Ends of the elements, at least one; positions in `text` that rise from `start`.
    pub(crate) ends: Ends<'a>,
    pub(crate) parts: &'a [u32],
    pub(crate) marks: &'a [u32],
    pub(crate) delimiters: &'a Delimiters,
    /// The last element is binary data.
    pub(crate) binary: bool,
    /// True if the segment is known to be printable ASCII; false means unknown.
    pub(crate) printable: bool,
}

impl<'a> Segment<'a> {
    /// Returns the tag: `ST`, `NM1`, `UNH`.
    #[inline(always)]
    #[must_use]
    pub fn tag(&self) -> &'a [u8] {
        if self.own_tag.is_empty() { &self.text[self.start as usize..self.ends[0] as usize] } else { self.own_tag }
    }

    /// Returns the tag with the bytes after it.
    #[inline(always)]
    #[must_use]
    pub fn tag_run(&self) -> Run<'a> {
        if self.own_tag.is_empty() {
            Run::new(&self.text[self.start as usize..], (self.ends[0] - self.start) as usize)
        } else {
            self.own_tag.into()
        }
    }

    /// Returns the number of elements without the tag.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a segment is never empty: it has a tag")]
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Returns an element by its number; `None` if the segment ends before it.
    #[inline(always)]
    #[must_use]
    pub fn element(&self, number: usize) -> Option<Element<'a>> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { self.start } else { self.ends[number - 1] + 1 };
        let (parts, marks) = (inside(self.parts, start, end), inside(self.marks, start, end));
        Some(Element { text: self.text, start, end, parts, marks, delimiters: self.delimiters })
    }

    /// Iterates over all elements from number 1.
    #[inline(always)]
    #[must_use]
    pub fn elements(&self) -> Elements<'a> {
        let (first, rest) = self.ends.positions().split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        let start = first + 1;
        // A tag may have parts and marks too.
        let behind = |positions: &'a [u32]| &positions[positions.iter().take_while(|at| **at < start).count()..];
        let (parts, marks) = (behind(self.parts), behind(self.marks));
        Elements { text: self.text, start, ends: rest.iter(), parts, marks, delimiters: self.delimiters }
    }

    /// Iterates over the original bytes of the elements from number 1, including component separators and release characters.
    #[inline(always)]
    pub fn raw_elements(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.ends.between(self.text)
    }

    /// Iterates over the original bytes of the elements, each with the bytes after it.
    #[inline(always)]
    pub fn raw_runs(&self) -> impl ExactSizeIterator<Item = Run<'a>> + use<'a> {
        let text = self.text;
        let (first, rest) = self.ends.positions().split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        let mut start = first as usize + 1;
        rest.iter().map(move |end| {
            let end = *end as usize;
            let run = Run::new(text.get(start..).unwrap_or_default(), end.saturating_sub(start));
            start = end + 1;
            run
        })
    }

    /// Returns the original bytes of the segment without its terminator.
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        &self.text[self.start as usize..self.end() as usize]
    }

    /// Returns true if every element is plain: no components, repetitions, release characters or line breaks.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.parts.is_empty() && self.marks.is_empty()
    }

    /// Returns true if the segment is printable ASCII.
    #[inline(always)]
    pub(crate) fn is_printable(&self) -> bool {
        self.printable || scan::is_ascii_printable(self.raw())
    }

    /// Returns the element from `start` up to `end`, with the separators inside; the segment must have no marks.
    #[inline(always)]
    pub(crate) fn span(&self, start: u32, end: u32, parts: &'a [u32]) -> Element<'a> {
        Element { text: self.text, start, end, parts, marks: &[], delimiters: self.delimiters }
    }

    /// Returns true if the segment contains release characters or line breaks.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Returns the bytes of the last element if they are length-counted binary data (BIN, BDS).
    #[must_use]
    pub fn binary(&self) -> Option<&'a [u8]> {
        if self.binary { self.element(self.len()).map(|element| element.raw()) } else { None }
    }

    /// Returns the delimiters of its interchange.
    #[must_use]
    pub fn delimiters(&self) -> &'a Delimiters {
        self.delimiters
    }

    #[inline(always)]
    fn end(&self) -> u32 {
        *self.ends.last().expect("a segment has at least the end of its tag")
    }
}

impl fmt::Debug for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No payload: debug output ends up in logs.
        f.debug_struct("Segment").field("elements", &self.len()).field("bytes", &self.raw().len()).finish()
    }
}

/// Returns the positions of a sorted list from `start` up to `end`.
#[inline(always)]
fn inside(positions: &[u32], start: u32, end: u32) -> &[u32] {
    if positions.is_empty() {
        return positions;
    }
    let first = positions.partition_point(|at| *at < start);
    let behind = positions.partition_point(|at| *at < end);
    &positions[first..behind]
}

/// The elements of a segment.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    text: &'a [u8],
    start: u32,
    ends: core::slice::Iter<'a, u32>,
    /// Separators from the next element on.
    parts: &'a [u32],
    marks: &'a [u32],
    delimiters: &'a Delimiters,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Element<'a>> {
        let end = *self.ends.next()?;
        let start = core::mem::replace(&mut self.start, end + 1);
        let take = |positions: &mut &'a [u32]| {
            let mut count = 0;
            while positions.get(count).is_some_and(|at| *at < end) {
                count += 1;
            }
            let (these, rest) = positions.split_at(count);
            *positions = rest;
            these
        };
        let (parts, marks) = (take(&mut self.parts), take(&mut self.marks));
        Some(Element { text: self.text, start, end, parts, marks, delimiters: self.delimiters })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// An element, a repetition of one, or a component: a span of the input.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    text: &'a [u8],
    start: u32,
    end: u32,
    /// Component and repetition separators inside.
    parts: &'a [u32],
    /// Release characters and line breaks inside.
    marks: &'a [u32],
    delimiters: &'a Delimiters,
}

impl<'a> Element<'a> {
    /// Returns the original bytes.
    #[inline(always)]
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        &self.text[self.start as usize..self.end as usize]
    }

    /// Returns the original bytes, with the bytes after them.
    #[inline(always)]
    #[must_use]
    pub fn run(&self) -> Run<'a> {
        Run::new(&self.text[self.start as usize..], (self.end - self.start) as usize)
    }

    /// Returns true if the element is empty, or contains only line breaks of a wrapped file.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end || self.marks.len() == (self.end - self.start) as usize
    }

    /// Returns true if the element has one repetition with one component.
    #[inline(always)]
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the data without release characters and line breaks, using `scratch` if there are any, and otherwise the span itself.
    ///
    /// For an element with parts, this is all of them with their separators; use [`Element::repetitions`] and [`Element::components`] first.
    #[inline(always)]
    #[must_use]
    pub fn data<'s>(&self, scratch: &'s mut Vec<u8>) -> Run<'s>
    where
        'a: 's,
    {
        if self.marks.is_empty() {
            return Run::new(&self.text[self.start as usize..], (self.end - self.start) as usize);
        }
        self.unmarked(scratch)
    }

    /// Returns true if the element has more than one repetition.
    #[inline(always)]
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.delimiters
            .repetition
            .is_some_and(|separator| self.parts.iter().any(|at| self.text[*at as usize] == separator))
    }

    /// Iterates over the repetitions; one if the element is not repeated.
    #[inline(always)]
    #[must_use]
    pub fn repetitions(&self) -> Parts<'a> {
        // No part is an element separator.
        self.split(self.delimiters.repetition.unwrap_or(self.delimiters.element))
    }

    /// Iterates over the components; one if the element is not a composite.
    #[inline(always)]
    #[must_use]
    pub fn components(&self) -> Parts<'a> {
        self.split(self.delimiters.component)
    }

    /// Returns a component by its number, from 1.
    #[must_use]
    pub fn component(&self, number: usize) -> Option<Element<'a>> {
        self.components().nth(number.checked_sub(1)?)
    }

    #[inline(always)]
    fn split(&self, separator: u8) -> Parts<'a> {
        Parts { whole: *self, separator, start: Some(self.start), from: 0 }
    }

    #[cold]
    #[inline(never)]
    fn unmarked<'s>(&self, scratch: &'s mut Vec<u8>) -> Run<'s>
    where
        'a: 's,
    {
        scratch.clear();
        let mut from = self.start as usize;
        for mark in self.marks {
            scratch.extend_from_slice(&self.text[from..*mark as usize]);
            from = *mark as usize + 1;
        }
        scratch.extend_from_slice(&self.text[from..self.end as usize]);
        Run::from(&scratch[..])
    }
}

/// The repetitions of an element, or its components.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    whole: Element<'a>,
    separator: u8,
    /// Start of the next part.
    start: Option<u32>,
    /// Index of its first separator among those of the whole.
    from: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Element<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Element<'a>> {
        let start = self.start?;
        let whole = &self.whole;
        let mut to = self.from;
        while whole.parts.get(to).is_some_and(|at| whole.text[*at as usize] != self.separator) {
            to += 1;
        }
        let separator = whole.parts.get(to).copied();
        let end = separator.unwrap_or(whole.end);
        let part = Element {
            start,
            end,
            parts: &whole.parts[self.from..to],
            marks: inside(whole.marks, start, end),
            ..*whole
        };
        self.start = separator.map(|at| at + 1);
        self.from = to + 1;
        Some(part)
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Element").field("bytes", &(self.end - self.start)).finish()
    }
}

/// Segments that outlive the input.
#[derive(Clone, Default)]
pub(crate) struct SegmentBuffer {
    text: Vec<u8>,
    positions: Vec<u32>,
    kept: Vec<Kept>,
}

/// Position of a segment in the buffer.
#[derive(Clone, Copy)]
struct Kept {
    /// First byte. The segment is followed, up to `tag_end`, by its tag if that differs from the segment's text.
    text: usize,
    end: usize,
    tag_end: usize,
    /// First of its positions: ends, then parts, then marks, all from its first byte.
    ends: usize,
    parts: usize,
    marks: usize,
    positions_end: usize,
    binary: bool,
    printable: bool,
}

impl SegmentBuffer {
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.text.len() + size_of_val(&self.positions[..]) + size_of_val(&self.kept[..])
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Forgets all but the first ones.
    pub(crate) fn truncate(&mut self, len: usize) {
        if let Some(first) = self.kept.get(len) {
            self.text.truncate(first.text);
            self.positions.truncate(first.ends);
            self.kept.truncate(len);
        }
    }

    pub(crate) fn push(&mut self, segment: &Segment<'_>) {
        let text = self.text.len();
        self.text.extend_from_slice(segment.raw());
        let end = self.text.len();
        // Most tags equal the text.
        self.text.extend_from_slice(segment.own_tag);
        let tag_end = self.text.len();
        // Padding, so that blocks of 16 bytes can be read at any position of the content.
        self.text.extend_from_slice(&[0; 16]);
        let mut put = |positions: &[u32]| {
            let from = self.positions.len();
            if !positions.is_empty() {
                self.positions.extend(positions.iter().map(|at| at - segment.start));
            }
            from
        };
        let (ends, parts, marks) = (put(segment.ends.positions()), put(segment.parts), put(segment.marks));
        let positions_end = self.positions.len();
        let Segment { binary, printable, .. } = *segment;
        self.kept.push(Kept { text, end, tag_end, ends, parts, marks, positions_end, binary, printable });
    }

    pub(crate) fn get<'s>(&'s self, number: usize, delimiters: &'s Delimiters) -> Segment<'s> {
        let kept = self.kept[number];
        Segment {
            own_tag: &self.text[kept.end..kept.tag_end],
            text: &self.text[kept.text..],
            start: 0,
            ends: Ends::new(&self.positions[kept.ends..kept.parts]).expect("those of a segment, which rise"),
            parts: &self.positions[kept.parts..kept.marks],
            marks: &self.positions[kept.marks..kept.positions_end],
            delimiters,
            binary: kept.binary,
            printable: kept.printable,
        }
    }
}

impl fmt::Debug for SegmentBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentBuffer").field("segments", &self.kept.len()).finish_non_exhaustive()
    }
}
