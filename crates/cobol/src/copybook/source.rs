//! The texts a copybook is made of, and places in them.

use std::sync::Arc;

use quayline_core::Place;

/// Place of an entry in a user's copybook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourcePlace {
    /// File as named by the user or found by COPY.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A stretch of one line of one source text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    /// Index into [`Sources`].
    pub(crate) file: u32,
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in characters of the line as written, from 1.
    pub(crate) column: u32,
    /// Characters.
    pub(crate) width: u32,
}

impl Span {
    /// Returns the span from the start of this one to the end of another if both are on one line, otherwise this one.
    pub(crate) fn to(self, end: Span) -> Span {
        if (self.file, self.line) == (end.file, end.line) && end.column + end.width > self.column {
            Span { width: end.column + end.width - self.column, ..self }
        } else {
            self
        }
    }

    /// Returns the empty span directly after this one.
    pub(crate) fn end(self) -> Span {
        Span { column: self.column + self.width.saturating_sub(1), width: 1, ..self }
    }
}

/// One text: the copybook itself, or a member that COPY brought in.
#[derive(Debug)]
struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    /// Byte at which each line starts.
    lines: Vec<usize>,
    /// The COPY statement that brought it in.
    copied_at: Option<Span>,
}

/// All texts read for one copybook. The first is the caller's text.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: Vec<SourceFile>,
}

/// Findings do not show a longer line, since it is not a line of a copybook.
const SHOWN_LINE_CHARS_MAX: usize = 256;

impl Sources {
    pub(crate) fn add(&mut self, name: Arc<str>, text: Arc<str>, copied_at: Option<Span>) -> u32 {
        let mut lines = vec![0];
        lines.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        let index = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push(SourceFile { name, text, lines, copied_at });
        index
    }

    pub(crate) fn name(&self, file: u32) -> &Arc<str> {
        &self.files[file as usize].name
    }

    pub(crate) fn text(&self, file: u32) -> Arc<str> {
        Arc::clone(&self.files[file as usize].text)
    }

    pub(crate) fn copied_at(&self, file: u32) -> Option<Span> {
        self.files[file as usize].copied_at
    }

    /// Returns the place in the caller's text from which this span came: the span itself, or the outermost COPY statement.
    pub(crate) fn root(&self, mut span: Span) -> Span {
        while let Some(at) = self.copied_at(span.file) {
            span = at;
        }
        span
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        let file = &self.files[span.file as usize];
        let mut place = Place {
            file: Some(Arc::clone(&file.name)),
            line: Some(span.line),
            column: Some(span.column),
            width: Some(span.width.max(1)),
            ..Place::default()
        };
        let line = self.line(span);
        let chars = line.chars().take(SHOWN_LINE_CHARS_MAX + 1).count();
        if chars <= SHOWN_LINE_CHARS_MAX {
            // A caret never points beyond the place directly after the line.
            let room = u32::try_from(chars).unwrap_or(u32::MAX).saturating_add(1);
            place.column = Some(span.column.clamp(1, room));
            place.width = Some(span.width.clamp(1, room.saturating_sub(span.column).max(1)));
            place.line_text = Some(line.to_owned());
        }
        if let Some(at) = file.copied_at {
            place.detail = Some(format!("copied at {}:{}", self.name(at.file), at.line));
        }
        place
    }

    pub(crate) fn source_place(&self, span: Span) -> SourcePlace {
        SourcePlace { file: Arc::clone(self.name(span.file)), line: span.line, column: span.column }
    }

    fn line(&self, span: Span) -> &str {
        let file = &self.files[span.file as usize];
        let index = span.line.saturating_sub(1) as usize;
        let Some(start) = file.lines.get(index) else { return "" };
        let end = file.lines.get(index + 1).copied().unwrap_or(file.text.len());
        file.text[*start..end].trim_end_matches(['\n', '\r'])
    }
}
