//! A file of a dictionary: its name and text, and places in it.

use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place};

/// One file of a dictionary, whole.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// File as the user named it.
    pub file: &'a str,
    /// Text of the file.
    pub text: &'a str,
}

impl<'a> SourceText<'a> {
    /// A file and its text.
    #[must_use]
    pub fn new(file: &'a str, text: &'a str) -> Self {
        SourceText { file, text }
    }

    /// The file's name without folders.
    #[must_use]
    pub fn file_name(&self) -> &'a str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(self.file)
    }

    /// Creates an error at a byte offset of the text.
    pub(crate) fn error(&self, code: Code, at: usize, message: impl Into<String>) -> Finding {
        Finding::error(code, Fault::Config, message).at(self.place(at))
    }

    /// Creates a list with one error at a byte offset of the text.
    pub(crate) fn refused(&self, code: Code, at: usize, message: impl Into<String>) -> Findings {
        Findings(vec![self.error(code, at, message)])
    }

    /// Creates a warning at a byte offset of the text.
    pub(crate) fn warning(&self, code: Code, at: usize, message: impl Into<String>) -> Finding {
        Finding::warning(code, Fault::Config, message).at(self.place(at))
    }

    /// Creates warnings at byte offsets of the text, in one pass over it: a large file may have many.
    pub(crate) fn warnings(&self, notes: &[(Code, usize, String)]) -> Vec<Finding> {
        let mut order: Vec<usize> = (0..notes.len()).collect();
        order.sort_by_key(|number| notes[*number].1);
        let mut places = vec![Place::default(); notes.len()];
        let mut walk = Walk { at: 0, line: 1, start: 0, column: 1 };
        for number in order {
            walk.advance(self.text, notes[number].1);
            places[number] = self.place_of(walk);
        }
        let warning = |((code, _, message), place): (&(Code, usize, String), Place)| {
            Finding::warning(*code, Fault::Config, message.as_str()).at(place)
        };
        notes.iter().zip(places).map(warning).collect()
    }

    fn place(&self, at: usize) -> Place {
        let mut walk = Walk { at: 0, line: 1, start: 0, column: 1 };
        walk.advance(self.text, at);
        self.place_of(walk)
    }

    fn place_of(&self, walk: Walk) -> Place {
        let file: Arc<str> = self.file.into();
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (line, column) = (short(walk.line), short(walk.column));
        // A line of a generated file may be as long as the file.
        let rest = &self.text.as_bytes()[walk.start..];
        let end = rest.iter().take(LINE_BYTES_MAX + 1).position(|byte| *byte == b'\n').unwrap_or(rest.len());
        if end > LINE_BYTES_MAX {
            return Place { file: Some(file), line: Some(line), column: Some(column), ..Place::default() };
        }
        let text = self.text[walk.start..walk.start + end].trim_end_matches('\r');
        Place::source(&file, line, column, 1, text)
    }
}

/// Longest line that a finding shows.
const LINE_BYTES_MAX: usize = 200;

/// A walk over the text that counts lines, from 1, and characters of the line, from 1.
#[derive(Clone, Copy)]
struct Walk {
    at: usize,
    line: usize,
    /// Begin of the line.
    start: usize,
    column: usize,
}

impl Walk {
    /// Continues to a byte offset, which is not before the current one.
    fn advance(&mut self, text: &str, to: usize) {
        let to = text.floor_char_boundary(to).max(self.at);
        let passed = &text[self.at..to];
        self.line += passed.matches('\n').count();
        match passed.rfind('\n') {
            Some(last) => {
                self.start = self.at + last + 1;
                self.column = 1 + text[self.start..to].chars().count();
            }
            None => self.column += passed.chars().count(),
        }
        self.at = to;
    }
}
