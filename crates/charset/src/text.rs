//! Translation between text of single-byte pages and UTF-8: runs of printable ASCII in bulk, all other bytes by table.

use crate::code_page::Utf8Char;
use crate::{CodePage, Undecodable, Unencodable, scan, translate_append};

/// Bytes translated in bulk after another character; doubles as long as bulk succeeds.
const BULK_MIN: usize = 64;

/// Maximum number of bytes translated in bulk before they are checked, so that they stay in the first-level cache.
const BULK_MAX: usize = 4096;

/// Bytes converted one by one before bulk is tried again.
const SINGLE: usize = 32;

impl CodePage {
    /// Appends `src` as UTF-8 to `out`. Nothing is replaced or dropped.
    ///
    /// # Errors
    /// [`Undecodable`] with the offset of the first byte that the page does not assign; `out` then holds the text before it.
    pub fn decode_into(&self, src: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
        out.reserve(src.len());
        let mut at = 0;
        let mut bulk = BULK_MIN;
        while at < src.len() {
            let block = &src[at..src.len().min(at + bulk)];
            let start = out.len();
            translate_append(self.ascii_table(), block, out);
            let Some(plain) = scan::find_high(&out[start..]) else {
                at += block.len();
                bulk = BULK_MAX.min(bulk * 2);
                continue;
            };
            bulk = BULK_MIN;
            out.truncate(start + plain);
            at += plain;
            let block = &src[at..src.len().min(at + SINGLE)];
            self.decode_by_char(block, out).map_err(|error| Undecodable { offset: at + error.offset })?;
            at += block.len();
        }
        Ok(())
    }

    /// Appends `text` in this page to `out`.
    ///
    /// # Errors
    /// [`Unencodable`] for the first character that the page does not have; `out` then holds the text before it.
    pub fn encode_into(&self, text: &str, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        out.reserve(text.len());
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut bulk = BULK_MIN;
        while at < bytes.len() {
            let block = &bytes[at..bytes.len().min(at + bulk)];
            let start = out.len();
            translate_append(self.from_ascii_table(), block, out);
            // A zero is a character beyond ASCII, one that the page does not have, or U+0000.
            let Some(plain) = scan::find_eq(&out[start..], 0) else {
                at += block.len();
                bulk = BULK_MAX.min(bulk * 2);
                continue;
            };
            bulk = BULK_MIN;
            out.truncate(start + plain);
            at += plain;
            let mut single = [0; SINGLE];
            let mut len = 0;
            for (to, char) in single.iter_mut().zip(text[at..].chars()) {
                let Some(byte) = self.from_char(char) else {
                    out.extend_from_slice(&single[..len]);
                    return Err(Unencodable { char, index: text[..at].chars().count() });
                };
                *to = byte;
                len += 1;
                at += char.len_utf8();
            }
            out.extend_from_slice(&single[..len]);
        }
        Ok(())
    }

    /// Decodes at most [`SINGLE`] bytes.
    fn decode_by_char(&self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
        // Four bytes are written per character whatever its length, and the next one begins after its real end.
        let mut buffer = [0; SINGLE * 3 + 1];
        let mut len = 0;
        for (offset, byte) in block.iter().enumerate() {
            let Utf8Char(char) = self.utf8_table()[usize::from(*byte)];
            if char[3] == 0 {
                out.extend_from_slice(&buffer[..len]);
                return Err(Undecodable { offset });
            }
            buffer[len..len + 4].copy_from_slice(&char);
            len += usize::from(char[3]);
        }
        out.extend_from_slice(&buffer[..len]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn decoding_is_the_page_byte_by_byte_and_encoding_gives_it_back(
            page in 0..CodePage::all().len(),
            src in prop::collection::vec(prop_oneof![60 => Just(0x81u8), 1 => any::<u8>()], 0..900),
        ) {
            let page = &CodePage::all()[page];
            let mut out = b"before".to_vec();
            let result = page.decode_into(&src, &mut out);
            let bad = src.iter().position(|byte| page.to_char(*byte).is_none());
            let expected: String = src[..bad.unwrap_or(src.len())].iter().filter_map(|byte| page.to_char(*byte)).collect();
            prop_assert_eq!(result, bad.map_or(Ok(()), |offset| Err(Undecodable { offset })));
            prop_assert_eq!(&out[6..], expected.as_bytes());

            let mut back = Vec::new();
            prop_assert_eq!(page.encode_into(&expected, &mut back), Ok(()));
            prop_assert_eq!(&back[..], &src[..bad.unwrap_or(src.len())]);
        }

        #[test]
        fn encoding_stops_at_the_first_character_that_is_missing(page in 0..CodePage::all().len(), text in "[ -~éЖΩ€\u{0}\u{85}😀]{0,100}[ -~]{0,300}é[a-z]{0,100}[Жé]?") {
            let page = &CodePage::all()[page];
            let mut out = Vec::new();
            let result = page.encode_into(&text, &mut out);
            let bad = text.chars().enumerate().find(|(_, char)| page.from_char(*char).is_none());
            let expected: Vec<u8> = text.chars().map_while(|char| page.from_char(char)).collect();
            prop_assert_eq!(result, bad.map_or(Ok(()), |(index, char)| Err(Unencodable { char, index })));
            prop_assert_eq!(out, expected);
        }
    }
}
