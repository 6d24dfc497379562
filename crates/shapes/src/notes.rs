//! What a description asks for and nobody checks: told once for each word, however often it stands there.

use quayline_core::{Finding, Severity};

use crate::codes;
use crate::source_file::SourceFile;

/// Words and how often they were met.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(String, usize, usize)>);

impl Notes {
    /// A word at a byte of the file.
    pub(crate) fn add(&mut self, word: &str, at: usize) {
        match self.0.iter_mut().find(|(known, ..)| known == word) {
            Some((_, _, count)) => *count += 1,
            None => self.0.push((word.to_owned(), at, 1)),
        }
    }

    /// One finding a word.
    pub(crate) fn findings(self, file: &SourceFile) -> Vec<Finding> {
        let finding = |(word, at, count): (String, usize, usize)| {
            let times = if count == 1 { String::new() } else { format!(", here and at {} other places", count - 1) };
            let mut finding = file.warning(codes::NOT_CHECKED, at, format!("`{word}` is not checked{times}"));
            finding.severity = Severity::Note;
            finding
        };
        self.0.into_iter().map(finding).collect()
    }
}
