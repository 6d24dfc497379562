//! Line and column in a text, kept from block to block and through a checkpoint.

use memchr::{memchr_iter, memrchr};
use quayline_core::Place;

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TextPlace {
    line: u64,
    /// Column in characters.
    column: u64,
}

/// Number of bits of a state for the column; a larger column is limited to the maximum.
const COLUMN_BITS: u32 = 23;
const COLUMN_MAX: u64 = (1 << COLUMN_BITS) - 1;

impl TextPlace {
    /// Returns the position after `text`, which begins at this one.
    pub(crate) fn behind(self, text: &[u8]) -> TextPlace {
        match memrchr(b'\n', text) {
            None => TextPlace { line: self.line, column: self.column + characters(text) },
            Some(last) => TextPlace {
                line: self.line + memchr_iter(b'\n', &text[..=last]).count() as u64,
                column: 1 + characters(&text[last + 1..]),
            },
        }
    }

    /// Puts it into the place of a finding.
    pub(crate) fn tell(self, place: &mut Place) {
        place.line = u32::try_from(self.line).ok();
        place.column = u32::try_from(self.column).ok();
    }

    /// Encodes the position in at most 60 bits; 0 is the start of a text.
    pub(crate) fn state(self) -> u64 {
        (self.line - 1) << COLUMN_BITS | (self.column - 1).min(COLUMN_MAX)
    }

    /// Decodes the result of [`TextPlace::state`].
    pub(crate) fn of_state(state: u64) -> TextPlace {
        TextPlace { line: (state >> COLUMN_BITS) + 1, column: (state & COLUMN_MAX) + 1 }
    }
}

/// Characters of UTF-8. Counts of 255 bytes fit a byte, so that the loop is one comparison and one subtraction a vector.
fn characters(text: &[u8]) -> u64 {
    let begin = |byte: &u8| u8::from(byte & 0xc0 != 0x80);
    text.chunks(255).map(|chunk| u64::from(chunk.iter().map(begin).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_moves_as_an_editor_shows_it() {
        let start = TextPlace::of_state(0);
        let behind = |text: &str| {
            let TextPlace { line, column } = start.behind(text.as_bytes());
            (line, column)
        };
        assert_eq!(behind(""), (1, 1));
        assert_eq!(behind("ab"), (1, 3));
        assert_eq!(behind("äb"), (1, 3));
        assert_eq!(behind("a\n"), (2, 1));
        assert_eq!(behind("a\n\nxyz"), (3, 4));
        assert_eq!(behind(&"a\n".repeat(1000)), (1001, 1));
        // The position after several parts is the same as after the whole text.
        let text = "a\nbü\n\nc".as_bytes();
        for cut in 0..text.len() {
            assert_eq!(start.behind(&text[..cut]).behind(&text[cut..]), start.behind(text));
        }
        let place = start.behind(text);
        assert_eq!(TextPlace::of_state(place.state()), place);
    }
}
