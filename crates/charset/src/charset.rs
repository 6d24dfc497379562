//! Character sets of record text.

use crate::{CodePage, utf16};

/// Character set of a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Charset {
    /// One byte a character.
    SingleByte(&'static CodePage),
    /// UTF-8, one to four bytes a character.
    Utf8,
    /// UTF-16, two or four bytes a character: COBOL's NATIONAL.
    Utf16(Utf16Order),
}

/// Byte order of UTF-16 units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Utf16Order {
    /// High byte first, as on z/OS.
    BigEndian,
    /// Low byte first.
    LittleEndian,
}

/// The first bytes that are not a character.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("byte {offset} of the text is not a character of the code page")]
pub struct Undecodable {
    /// Offset in the bytes to decode, from 0.
    pub offset: usize,
}

/// The first character that the character set does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("character {index} of the text, U+{:04X}, is not in the code page", u32::from(*char))]
pub struct Unencodable {
    /// The character.
    pub char: char,
    /// Index of the character in the text, from 0.
    pub index: usize,
}

impl Charset {
    /// Returns all character sets: the single-byte pages as in [`CodePage::all`], then UTF-8 and UTF-16.
    pub fn all() -> impl Iterator<Item = Charset> {
        let pages = CodePage::all().iter().map(Charset::SingleByte);
        pages.chain([Charset::Utf8, Charset::Utf16(Utf16Order::BigEndian), Charset::Utf16(Utf16Order::LittleEndian)])
    }

    /// Returns whether each ASCII character is the byte of its number, and no other character has such a byte.
    #[must_use]
    pub fn extends_ascii(self) -> bool {
        match self {
            Charset::SingleByte(page) => !page.is_ebcdic(),
            Charset::Utf8 => true,
            Charset::Utf16(_) => false,
        }
    }

    /// Returns the name that Quayline prints, such as `IBM037` or `UTF-8`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Charset::SingleByte(page) => page.name(),
            Charset::Utf8 => "UTF-8",
            Charset::Utf16(Utf16Order::BigEndian) => "UTF-16BE",
            Charset::Utf16(Utf16Order::LittleEndian) => "UTF-16LE",
        }
    }

    /// Returns the single-byte page, if this is one.
    #[must_use]
    pub fn code_page(self) -> Option<&'static CodePage> {
        match self {
            Charset::SingleByte(page) => Some(page),
            Charset::Utf8 | Charset::Utf16(_) => None,
        }
    }

    /// Returns the encoded space, which pads fields.
    #[must_use]
    pub fn space(self) -> &'static [u8] {
        match self {
            Charset::SingleByte(page) if page.is_ebcdic() => b"\x40",
            Charset::SingleByte(_) | Charset::Utf8 => b" ",
            Charset::Utf16(Utf16Order::BigEndian) => b"\0 ",
            Charset::Utf16(Utf16Order::LittleEndian) => b" \0",
        }
    }

    /// Appends `src` as UTF-8 to `out`. Nothing is replaced or dropped, so [`Charset::encode_into`] restores `src`.
    ///
    /// # Errors
    /// [`Undecodable`] at an unassigned byte, a malformed UTF-8 sequence, half a surrogate pair or an odd last byte. `out` then
    /// holds everything before it, and decoding may resume after it.
    pub fn decode_into(self, src: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
        match self {
            Charset::SingleByte(page) => page.decode_into(src, out),
            Charset::Utf8 => match core::str::from_utf8(src) {
                Ok(text) => {
                    out.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                Err(error) => {
                    out.extend_from_slice(&src[..error.valid_up_to()]);
                    Err(Undecodable { offset: error.valid_up_to() })
                }
            },
            Charset::Utf16(order) => utf16::decode_into(order, src, out),
        }
    }

    /// Appends `text` in this character set to `out`.
    ///
    /// # Errors
    /// [`Unencodable`] for the first character that the set does not have. `out` then holds everything before it.
    pub fn encode_into(self, text: &str, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        match self {
            Charset::SingleByte(page) => page.encode_into(text, out),
            Charset::Utf8 => {
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Charset::Utf16(order) => {
                utf16::encode_into(order, text, out);
                Ok(())
            }
        }
    }
}

impl core::fmt::Display for Charset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
