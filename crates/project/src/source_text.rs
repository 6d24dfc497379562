//! A user's text and the places in it.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::Place;

/// A user's file in memory, from which byte ranges become places.
#[derive(Clone, Debug)]
pub struct UserText {
    /// The file as the user named it.
    pub name: Arc<str>,
    /// Content of the file.
    pub text: Arc<str>,
}

impl UserText {
    /// Returns the place of a byte range: its first line, and the part of the range on that line.
    #[must_use]
    pub fn place(&self, range: &Range<usize>) -> Place {
        let start = floor_char_boundary(&self.text, range.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_text = self.text[line_start..].lines().next().unwrap_or("");
        let line = 1 + self.text[..line_start].matches('\n').count();
        let column = 1 + self.text[line_start..start].chars().count();
        let end = floor_char_boundary(&self.text, range.end).min(line_start + line_text.len()).max(start);
        let width = self.text[start..end].chars().count().max(1);
        Place::source(&self.name, number(line), number(column), number(width), line_text)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
