//! Encoding of text: in the character set of the interchange, with service characters released.

use std::borrow::Cow;

use quayline_charset::{Charset, CodePage, ExtendedText};

use super::write_error::EdiWriteError;
use crate::delimiters::{Delimiters, Standard};
use crate::splitter::LineBreak;
use crate::start::CharacterSet;

/// Encoding of characters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coding {
    Charset(Charset),
    /// Code extension (ISO 2022).
    Extended,
}

impl Coding {
    /// Returns the character set that the user names, otherwise the one that UNB names, otherwise ISO-8859-1.
    pub(super) fn of(named: Option<Charset>, standard: Standard, set: Option<CharacterSet>) -> Self {
        Coding::Charset(match (named, standard, set) {
            (Some(charset), _, _) => charset,
            (None, Standard::Edifact, Some(CharacterSet::Iso2022)) => return Coding::Extended,
            (None, Standard::Edifact, Some(CharacterSet::Utf8 | CharacterSet::Iso10646)) => Charset::Utf8,
            (None, Standard::Edifact, Some(CharacterSet::Iso8859(part @ 2..=9))) => {
                Charset::SingleByte(CodePage::ISO_8859[usize::from(part - 2)])
            }
            (None, Standard::Edifact, Some(CharacterSet::Iso8859(15))) => Charset::SingleByte(CodePage::LATIN9),
            _ => Charset::SingleByte(CodePage::LATIN1),
        })
    }
}

/// A character that the set of an interchange does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the character set does not have the character at byte {offset}")]
pub struct CharacterMissing {
    /// Offset of its first byte in the text.
    pub offset: usize,
}

/// Converts the text of an EDIFACT message for an interchange with another syntax identifier, such as from `UNOC` to `UNOW`. ASCII is the same in all
/// sets.
///
/// # Errors
/// The first character that the other set does not have, or that is invalid in its own set. Code extension (UNOX) is not converted: to or from UNOX,
/// the error is the first byte that is not ASCII, or that selects another set (ESC, SO, SI).
pub fn in_character_set<'t>(text: &'t [u8], from: &[u8], to: &[u8]) -> Result<Cow<'t, [u8]>, CharacterMissing> {
    let (from, to) = (CharacterSet::of(from), CharacterSet::of(to));
    if from == to {
        return Ok(Cow::Borrowed(text));
    }
    // With code extension, bytes of ASCII can be other characters.
    let is_extended = [from, to].contains(&Some(CharacterSet::Iso2022));
    let selects = |byte: u8| is_extended && matches!(byte, 0x0e | 0x0f | 0x1b);
    let Some(offset) = text.iter().position(|byte| !byte.is_ascii() || selects(*byte)) else {
        return Ok(Cow::Borrowed(text));
    };
    let coding = |set| match Coding::of(None, Standard::Edifact, set) {
        Coding::Charset(charset) => Ok(charset),
        Coding::Extended => Err(CharacterMissing { offset }),
    };
    let (source, target) = (coding(from)?, coding(to)?);
    if to.is_some_and(|set| !set.has_more_than_ascii()) {
        return Err(CharacterMissing { offset });
    }
    let mut decoded = Vec::new();
    source.decode_into(text, &mut decoded).map_err(|error| CharacterMissing { offset: error.offset })?;
    let decoded = core::str::from_utf8(&decoded).map_err(|error| CharacterMissing { offset: error.valid_up_to() })?;
    let mut out = Vec::with_capacity(decoded.len());
    target.encode_into(decoded, &mut out).map_err(|error| {
        let mut before = Vec::new();
        let text: String = decoded.chars().take(error.index).collect();
        let offset = source.encode_into(&text, &mut before).map_or(offset, |()| before.len());
        CharacterMissing { offset }
    })?;
    Ok(Cow::Owned(out))
}

/// Text settings of an interchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) delimiters: Delimiters,
    pub(super) charset: Coding,
    pub(super) line_break: LineBreak,
    /// Bitmap of bytes that cannot be written unchanged: service characters, and line breaks, which readers skip.
    marked: [u64; 4],
}

impl Page {
    /// Returns the settings of an interchange that is open. `header` is its ISA or UNB as written.
    pub(super) fn of_header(
        named: Option<Charset>,
        delimiters: Delimiters,
        line_break: LineBreak,
        header: &[u8],
    ) -> Self {
        let is_end = |byte: &u8| [delimiters.element, delimiters.component].contains(byte);
        let set = header.get("UNB+".len()..).and_then(|rest| rest.split(is_end).next()).and_then(CharacterSet::of);
        Page::new(delimiters, Coding::of(named, delimiters.standard, set), line_break)
    }

    pub(super) fn new(delimiters: Delimiters, charset: Coding, line_break: LineBreak) -> Self {
        let mut marked = [0; 4];
        for byte in (0..=u8::MAX).filter(|byte| delimiters.is_service(*byte) || matches!(byte, b'\r' | b'\n')) {
            marked[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Page { delimiters, charset, line_break, marked }
    }

    /// Returns the settings for a segment whose text has no release characters.
    pub(super) fn without_release(&self) -> Self {
        Page::new(Delimiters { release: None, ..self.delimiters }, self.charset, self.line_break)
    }

    /// Checks the length in a segment of X12 with binary data, by which readers find the end of the data. `text` is the segment without its terminator.
    /// Without a length and data, readers take it like other segments.
    pub(super) fn check_binary_length(&self, text: &[u8]) -> Result<(), EdiWriteError> {
        let at = match text.first_chunk() {
            Some(b"BIN") if self.delimiters.standard == Standard::X12 => 1,
            Some(b"BDS") if self.delimiters.standard == Standard::X12 => 2,
            _ => return Ok(()),
        };
        let mut elements = text.splitn(at + 2, |byte| *byte == self.delimiters.element).skip(at);
        let declared = elements.next().unwrap_or_default();
        let Some(found) = elements.next().map(<[u8]>::len) else {
            let is_declared = declared.iter().any(|digit| matches!(digit, b'1'..=b'9'));
            return if is_declared { Err(EdiWriteError::BinaryLength { found: 0 }) } else { Ok(()) };
        };
        let number = core::str::from_utf8(declared).ok().and_then(|text| text.parse::<usize>().ok());
        if declared.iter().all(u8::is_ascii_digit) && number == Some(found) {
            return Ok(());
        }
        Err(EdiWriteError::BinaryLength { found })
    }

    #[inline(always)]
    fn is_marked(&self, byte: u8) -> bool {
        self.marked[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0
    }

    /// Appends UTF-8 text in the character set, service characters released.
    pub(super) fn text(&self, text: &[u8], encoded: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), EdiWriteError> {
        let bytes = if text.is_ascii() {
            text
        } else {
            encoded.clear();
            let Coding::Charset(charset) = self.charset else { return self.extended(text, out) };
            let error = EdiWriteError::Character { charset: charset.name() };
            let text = core::str::from_utf8(text).map_err(|_| error.clone())?;
            if charset.encode_into(text, encoded).is_err() {
                // Bytes that the set does not have are read as ISO-8859-1 and are written back unchanged. A byte that it has would be read as
                // another letter.
                encoded.clear();
                for char in text.chars() {
                    if charset.encode_into(char.encode_utf8(&mut [0; 4]), encoded).is_ok() {
                        continue;
                    }
                    let is_outside = |byte: &u8| charset.decode_into(&[*byte], &mut Vec::new()).is_err();
                    let byte = u8::try_from(char).ok().filter(is_outside);
                    encoded.push(byte.ok_or(error.clone())?);
                }
            }
            &encoded[..]
        };
        self.release(bytes, out)
    }

    /// Writes text with code extension: bytes of characters beyond ASCII are never service characters.
    fn extended(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), EdiWriteError> {
        let error = || EdiWriteError::Character { charset: "ISO 2022 (UNOX)" };
        let text = core::str::from_utf8(text).map_err(|_| error())?;
        let mut writer = ExtendedText::default();
        for char in text.chars() {
            match u8::try_from(char).ok().filter(u8::is_ascii) {
                // A control character that would switch sets is not valid in text.
                Some(0x0e | 0x0f | 0x1b) => return Err(error()),
                Some(byte) => {
                    writer.ascii(out);
                    self.release(&[byte], out)?;
                }
                None => writer.put(char, out).map_err(|_| error())?,
            }
        }
        writer.ascii(out);
        Ok(())
    }

    /// Appends bytes, service characters released.
    pub(super) fn release(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EdiWriteError> {
        let d = &self.delimiters;
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| self.is_marked(**byte)) {
            if !d.is_service(*byte) {
                // Readers leave a line break out, a released one too.
                return Err(EdiWriteError::LineBreak);
            }
            let release = d.release.ok_or(EdiWriteError::Collision {
                what: match *byte {
                    byte if byte == d.element => "element separator",
                    byte if byte == d.component => "component separator",
                    byte if byte == d.terminator => "segment terminator",
                    _ => "repetition separator",
                },
            })?;
            out.extend_from_slice(&bytes[from..at]);
            out.push(release);
            from = at;
        }
        out.extend_from_slice(&bytes[from..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_its_characters_in_another_set() {
        let latin = b"FTX+AAI+++Gr\xfc\xdfe'";
        let check = |from: &[u8], to: &[u8]| in_character_set(latin, from, to).map(Cow::into_owned);
        assert_eq!(check(b"UNOC", b"UNOC").as_deref(), Ok(&latin[..]));
        assert_eq!(check(b"UNOC", b"UNOW").as_deref(), Ok("FTX+AAI+++Grüße'".as_bytes()));
        assert_eq!(check(b"UNOC", b"UNOA"), Err(CharacterMissing { offset: 12 }));
        assert_eq!(check(b"UNOC", b"UNOE"), Err(CharacterMissing { offset: 12 }), "no umlauts among Cyrillic letters");
        assert_eq!(check(b"UNOC", b"UNOX"), Err(CharacterMissing { offset: 12 }));
        assert_eq!(in_character_set(b"A'", b"UNOC", b"UNOA").as_deref(), Ok(&b"A'"[..]));
    }

    /// Regression: Japanese text with code extension has only bytes of ASCII, so it counted as ASCII in every set.
    #[test]
    fn text_with_code_extension_is_not_ascii() {
        let japanese = b"FTX+AAI+++\x1b$B?M\x1b(B'";
        let missing = Err(CharacterMissing { offset: 10 });
        assert_eq!(in_character_set(japanese, b"UNOX", b"UNOX").as_deref(), Ok(&japanese[..]));
        assert_eq!(in_character_set(japanese, b"UNOX", b"UNOC"), missing);
        assert_eq!(in_character_set(japanese, b"UNOX", b"UNOW"), missing);
        assert_eq!(in_character_set(b"FTX+AAI+++\x0eA\x0f'", b"UNOX", b"UNOC"), missing);
        assert_eq!(in_character_set(b"FTX+AAI+++A'", b"UNOX", b"UNOC").as_deref(), Ok(&b"FTX+AAI+++A'"[..]));
        // The same bytes in another set are control characters.
        assert_eq!(in_character_set(b"A\x1b'", b"UNOC", b"UNOA").as_deref(), Ok(&b"A\x1b'"[..]));
        assert_eq!(in_character_set(b"A\x1b'", b"UNOC", b"UNOX"), Err(CharacterMissing { offset: 1 }));
    }
}
