//! Source texts of a map and places in them.

use std::sync::Arc;

use quayline_core::Place;

/// A piece of one source text, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    /// Index of the text: 0 is the map itself, others are its includes.
    pub(crate) file: u16,
    /// First byte.
    pub(crate) start: u32,
    /// Position after the last byte.
    pub(crate) end: u32,
}

impl Span {
    /// Returns the span from the start of this one to the end of another in the same text.
    pub(crate) fn to(self, last: Span) -> Span {
        if self.file == last.file && last.end > self.start {
            Span { end: last.end.max(self.end), ..self }
        } else {
            self
        }
    }
}

/// One source text under the name that findings show.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    name: Arc<str>,
    text: Arc<str>,
    /// Start of each line.
    lines: Vec<u32>,
}

impl SourceText {
    /// Texts of more than this are refused: 4 MiB, a hundred times the longest real map.
    pub(crate) const BYTES_MAX: usize = 4 << 20;

    /// Creates a source text with its name.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| offset(at + 1));
        SourceText { name: name.into(), text: text.into(), lines: core::iter::once(0).chain(ends).collect() }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Returns the line of a byte, counted from 1.
    pub(crate) fn line(&self, at: u32) -> u32 {
        offset(self.lines.partition_point(|start| *start <= at))
    }

    /// Returns the place of a span with its line. For a span of several lines, this is the first.
    pub(crate) fn place(&self, span: Span) -> Place {
        let line = self.line(span.start);
        let start = self.lines.get(line as usize - 1).copied().unwrap_or(0) as usize;
        let rest = self.text.get(start..).unwrap_or_default();
        let content = rest.lines().next().unwrap_or_default();
        let before = (span.start as usize).saturating_sub(start).min(content.len());
        let until = (span.end as usize).saturating_sub(start).clamp(before, content.len());
        let count = |part: Option<&str>| offset(part.unwrap_or_default().chars().count());
        let column = count(content.get(..before)) + 1;
        let width = count(content.get(before..until)).max(1);
        Place::source(&self.name, line, column, width, content)
    }
}

/// Converts a position in a text shorter than [`SourceText::BYTES_MAX`].
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
