//! One segment as spans into the input.

use core::fmt;

use quayline_core::Run;

use crate::delimiters::Delimiters;

/// A segment: its tag and elements are found already, nothing is copied.
///
/// Elements count from 1 as in the standards (`CLM05` is `element(5)`); 0 is the tag.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    pub(crate) tag: &'a [u8],
    pub(crate) text: &'a [u8],
    pub(crate) start: u32,
    /// At least one; positions rise from `start` and lie in `text`.
    pub(crate) ends: &'a [u32],
    pub(crate) parts: &'a [u32],
    pub(crate) marks: &'a [u32],
    pub(crate) delimiters: &'a Delimiters,
    /// The last element is binary data.
    pub(crate) binary: bool,
}

impl<'a> Segment<'a> {
    /// The tag: `ST`, `NM1`, `UNH`.
    #[inline(always)]
    #[must_use]
    pub fn tag(&self) -> &'a [u8] {
        self.tag
    }

    /// Number of elements, the tag not counted.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a segment is never empty: it has a tag")]
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// An element by its number; `None` where the segment ends before.
    #[inline(always)]
    #[must_use]
    pub fn element(&self, number: usize) -> Option<Element<'a>> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { self.start } else { self.ends[number - 1] + 1 };
        Some(self.span(start, end))
    }

    /// All elements from number 1.
    #[inline(always)]
    pub fn elements(&self) -> impl ExactSizeIterator<Item = Element<'a>> + use<'a> {
        let segment = *self;
        let (first, rest) = self.ends.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        let mut start = first + 1;
        rest.iter().map(move |end| {
            let element = segment.span(start, *end);
            start = *end + 1;
            element
        })
    }

    /// Bytes of each element from number 1 as they stand in the input, delimiters between components and release characters included.
    #[inline(always)]
    pub fn raw_elements(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let text = self.text;
        let (first, rest) = self.ends.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        let mut start = first as usize + 1;
        rest.iter().map(move |end| {
            let end = *end as usize;
            let raw = &text[start..end];
            start = end + 1;
            raw
        })
    }

    /// The segment as it stands in the input, without its terminator.
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        &self.text[self.start as usize..self.end() as usize]
    }

    /// Whether every element is plain: no components, repetitions, release characters or line breaks.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.parts.is_empty() && self.marks.is_empty()
    }

    /// The bytes of the last element where they were counted and not looked at (BIN, BDS).
    #[must_use]
    pub fn binary(&self) -> Option<&'a [u8]> {
        if self.binary { self.element(self.len()).map(|element| element.raw()) } else { None }
    }

    /// The delimiters of its interchange.
    #[must_use]
    pub fn delimiters(&self) -> &'a Delimiters {
        self.delimiters
    }

    /// Bytes from the beginning of the segment to that of an element.
    #[must_use]
    pub fn offset_of(&self, element: &Element<'_>) -> usize {
        (element.start - self.start) as usize
    }

    #[inline(always)]
    fn end(&self) -> u32 {
        *self.ends.last().expect("a segment has at least the end of its tag")
    }

    #[inline(always)]
    fn span(&self, start: u32, end: u32) -> Element<'a> {
        Element { text: self.text, start, end, parts: self.parts, marks: self.marks, delimiters: self.delimiters }
    }
}

impl fmt::Debug for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No payload: debug output ends up in logs.
        f.debug_struct("Segment").field("elements", &self.len()).field("bytes", &self.raw().len()).finish()
    }
}

/// An element, a repetition of one, or a component: a span of the input.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    text: &'a [u8],
    start: u32,
    end: u32,
    /// Of the whole segment.
    parts: &'a [u32],
    marks: &'a [u32],
    delimiters: &'a Delimiters,
}

impl<'a> Element<'a> {
    /// The bytes as they stand in the input.
    #[inline(always)]
    #[must_use]
    pub fn raw(&self) -> &'a [u8] {
        &self.text[self.start as usize..self.end as usize]
    }

    /// The bytes as they stand in the input, with what lies behind them.
    #[inline(always)]
    #[must_use]
    pub fn run(&self) -> Run<'a> {
        Run::new(&self.text[self.start as usize..], (self.end - self.start) as usize)
    }

    /// Whether nothing stands there.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether it has one repetition of one component.
    #[inline(always)]
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.parts.is_empty() || self.inner(self.parts).is_empty()
    }

    /// The data: release characters and line breaks removed, through `scratch` where there are any, otherwise the span itself.
    ///
    /// Of an element with parts it is all of them with their separators; take [`Element::repetitions`] and [`Element::components`] first.
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

    /// The repetitions; one where the element is not repeated.
    pub fn repetitions(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let separator = self.delimiters.repetition.unwrap_or(self.delimiters.element);
        self.split(separator)
    }

    /// The components; one where the element is no composite.
    pub fn components(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        self.split(self.delimiters.component)
    }

    /// A component by its number, from 1.
    #[must_use]
    pub fn component(&self, number: usize) -> Option<Element<'a>> {
        self.components().nth(number.checked_sub(1)?)
    }

    fn split(&self, separator: u8) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let whole = *self;
        let mut parts = self.inner(self.parts).iter().filter(move |at| whole.text[**at as usize] == separator);
        let mut next = Some(self.start);
        core::iter::from_fn(move || {
            let start = next?;
            let end = parts.next().copied();
            next = end.map(|end| end + 1);
            Some(Element { start, end: end.unwrap_or(whole.end), ..whole })
        })
    }

    #[cold]
    #[inline(never)]
    fn unmarked<'s>(&self, scratch: &'s mut Vec<u8>) -> Run<'s>
    where
        'a: 's,
    {
        let marks = self.inner(self.marks);
        if marks.is_empty() {
            return Run::new(&self.text[self.start as usize..], (self.end - self.start) as usize);
        }
        scratch.clear();
        let mut from = self.start as usize;
        for mark in marks {
            scratch.extend_from_slice(&self.text[from..*mark as usize]);
            from = *mark as usize + 1;
        }
        scratch.extend_from_slice(&self.text[from..self.end as usize]);
        Run::from(&scratch[..])
    }

    /// The positions of a list that lie inside.
    #[inline(always)]
    fn inner(&self, positions: &'a [u32]) -> &'a [u32] {
        // Segments have few of them; hostile ones have a million.
        if positions.len() > 16 {
            let first = positions.partition_point(|at| *at < self.start);
            return &positions[first..positions.partition_point(|at| *at < self.end)];
        }
        let first = positions.iter().position(|at| *at >= self.start).unwrap_or(positions.len());
        let behind = positions[first..].iter().position(|at| *at >= self.end).map_or(positions.len(), |n| first + n);
        &positions[first..behind]
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Element").field("bytes", &(self.end - self.start)).finish()
    }
}
