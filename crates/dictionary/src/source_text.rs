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

    fn place(&self, at: usize) -> Place {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[start..].chars().count() + 1;
        let line_text = self.text[start..].lines().next().unwrap_or_default();
        let file: Arc<str> = self.file.into();
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        // A line of a generated file may be as long as the file.
        if line_text.len() > 200 {
            return Place {
                file: Some(file),
                line: Some(short(line)),
                column: Some(short(column)),
                ..Place::default()
            };
        }
        Place::source(&file, short(line), short(column), 1, line_text)
    }
}
