//! Text of single-byte pages to UTF-8 and back: runs of printable ASCII in bulk, everything else by table.

use crate::code_page::Utf8Char;
use crate::{CodePage, Undecodable, Unencodable, scan, translate_append};

/// Bytes looked at in one step: long enough for the bulk path to pay, short enough that one accented letter slows few others.
const STEP: usize = 64;

impl CodePage {
    /// Appends `src` as UTF-8 to `out`. Nothing is replaced or dropped.
    ///
    /// # Errors
    /// [`Undecodable`] with the offset of the first byte that the page does not assign; `out` then holds the text before it.
    pub fn decode_into(&self, src: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
        out.reserve(src.len());
        for (step, block) in src.chunks(STEP).enumerate() {
            let start = out.len();
            translate_append(self.ascii_table(), block, out);
            if let Some(plain) = scan::find_high(&out[start..]) {
                out.truncate(start + plain);
                self.decode_by_char(&block[plain..], out)
                    .map_err(|error| Undecodable { offset: step * STEP + plain + error.offset })?;
            }
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
        while at < bytes.len() {
            let block = &bytes[at..bytes.len().min(at + STEP)];
            let start = out.len();
            translate_append(self.from_ascii_table(), block, out);
            // A zero is a character beyond ASCII, one that the page does not have, or U+0000.
            let Some(plain) = out[start..].iter().position(|byte| *byte == 0) else {
                at += block.len();
                continue;
            };
            out.truncate(start + plain);
            let end = at + block.len();
            at += plain;
            for char in text[at..].chars() {
                let Some(byte) = self.from_char(char) else {
                    return Err(Unencodable { char, index: text[..at].chars().count() });
                };
                out.push(byte);
                at += char.len_utf8();
                if at >= end {
                    break;
                }
            }
        }
        Ok(())
    }

    /// At most [`STEP`] bytes.
    fn decode_by_char(&self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
        // Three bytes are written per character whatever its length, and the next one begins behind its real end.
        let mut buffer = [0; STEP * 3];
        let mut len = 0;
        for (offset, byte) in block.iter().enumerate() {
            let Utf8Char { bytes, len: more } = self.utf8_table()[usize::from(*byte)];
            if more == 0 {
                out.extend_from_slice(&buffer[..len]);
                return Err(Undecodable { offset });
            }
            buffer[len..len + 3].copy_from_slice(&bytes);
            len += usize::from(more);
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
            src in prop::collection::vec(prop_oneof![3 => Just(0x81u8), 1 => any::<u8>()], 0..300),
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
        fn encoding_stops_at_the_first_character_that_is_missing(page in 0..CodePage::all().len(), text in "[ -~éЖΩ€\u{0}\u{85}😀]{0,100}") {
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
