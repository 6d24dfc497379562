//! Notes on keywords of a description that Quayline does not check. Each keyword is reported once, however often it occurs.

use quayline_core::{Finding, Severity};

use crate::shape::codes;
use crate::shape::source_file::SourceFile;

/// Keywords with their distinct places.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(String, Unchecked, Vec<usize>)>);

/// Documents in which Quayline does not check a keyword.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unchecked {
    All,
    /// Only the documents that it writes.
    Written,
    /// All documents, but the number of decimals is checked.
    ButDecimals,
    /// All documents, but the maximum is checked.
    ButMaximum,
}

impl Notes {
    /// Adds a keyword at a byte offset of the file.
    pub(crate) fn add(&mut self, word: &str, unchecked: Unchecked, at: usize) {
        match self.0.iter_mut().find(|(known, of, _)| known == word && *of == unchecked) {
            // A definition is read as often as it is referred to.
            Some((_, _, places)) if places.contains(&at) => {}
            Some((_, _, places)) => places.push(at),
            None => self.0.push((word.to_owned(), unchecked, vec![at])),
        }
    }

    /// Returns one finding for each keyword.
    pub(crate) fn findings(self, file: &SourceFile) -> Vec<Finding> {
        let finding = |(word, unchecked, places): (String, Unchecked, Vec<usize>)| {
            let times = match places.len() {
                1 => String::new(),
                2 => ", here and at 1 other place".to_owned(),
                count => format!(", here and at {} other places", count - 1),
            };
            let message = match unchecked {
                Unchecked::All => format!("`{word}` is not checked{times}"),
                Unchecked::ButDecimals => format!("`{word}` is checked only for the number of decimals{times}"),
                Unchecked::ButMaximum => format!("`{word}` is checked only as a maximum{times}"),
                Unchecked::Written => format!("`{word}` is not checked in documents that are written{times}"),
            };
            let mut finding = file.warning(codes::NOT_CHECKED, places[0], message);
            finding.severity = Severity::Note;
            finding
        };
        self.0.into_iter().map(finding).collect()
    }
}
