//! Notes on keywords of a description that Quayline does not check. Each keyword is reported once, however often it occurs.

use quayline_core::{Finding, Severity};

use crate::shape::codes;
use crate::shape::source_file::SourceFile;

/// Keywords with their distinct places.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(String, Vec<usize>)>);

impl Notes {
    /// Adds a keyword at a byte offset of the file.
    pub(crate) fn add(&mut self, word: &str, at: usize) {
        match self.0.iter_mut().find(|(known, _)| known == word) {
            // A definition is read as often as it is referred to.
            Some((_, places)) if places.contains(&at) => {}
            Some((_, places)) => places.push(at),
            None => self.0.push((word.to_owned(), vec![at])),
        }
    }

    /// Returns one finding for each keyword.
    pub(crate) fn findings(self, file: &SourceFile) -> Vec<Finding> {
        let finding = |(word, places): (String, Vec<usize>)| {
            let times = match places.len() {
                1 => String::new(),
                2 => ", here and at 1 other place".to_owned(),
                count => format!(", here and at {} other places", count - 1),
            };
            let mut finding = file.warning(codes::NOT_CHECKED, places[0], format!("`{word}` is not checked{times}"));
            finding.severity = Severity::Note;
            finding
        };
        self.0.into_iter().map(finding).collect()
    }
}
