//! Characters of an interchange.

use quayline_charset::{Charset, CodePage, scan};
use quayline_core::{Run, Value};

use crate::delimiters::Standard;
use crate::envelope::Header;
use crate::fault::EdiError;
use crate::start::CharacterSet;

/// Decoding of the bytes of an interchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Characters {
    /// Character set of bytes that are not ASCII.
    pub(crate) charset: Charset,
    /// True if such bytes are in the set that the interchange or the user names.
    declared: bool,
}

/// Result of decoding a text in its character set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    Fits,
    /// The text was read as ISO-8859-1.
    Foreign,
}

/// Returns the first `most` characters of a value: those of UTF-8 if it is valid and `single_byte` is false, otherwise bytes.
pub(crate) fn first_characters(value: &[u8], most: usize, single_byte: bool) -> &[u8] {
    if value.len() <= most {
        return value;
    }
    let text = match core::str::from_utf8(value) {
        _ if single_byte => None,
        Ok(text) => Some(text),
        // The caller has cut the last character.
        Err(error) if error.error_len().is_none() => core::str::from_utf8(&value[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let Some(text) = text else { return &value[..most] };
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    &value[..end]
}

impl Characters {
    /// Returns the set that the user names, otherwise the one that UNB names. X12 names none, which means ASCII.
    pub(crate) fn of(header: &Header, named: Option<Charset>) -> Self {
        if let Some(charset) = named {
            return Characters { charset, declared: true };
        }
        let latin = Charset::SingleByte(CodePage::LATIN1);
        let identifier = header.field("syntax_identifier");
        let set = match header.delimiters().standard {
            Standard::X12 => None,
            Standard::Edifact => CharacterSet::of(&identifier),
        };
        match set {
            Some(CharacterSet::Iso8859(1)) => Characters { charset: latin, declared: true },
            Some(CharacterSet::Iso8859(part @ 2..=9)) => {
                let page = CodePage::ISO_8859[usize::from(part - 2)];
                Characters { charset: Charset::SingleByte(page), declared: true }
            }
            Some(CharacterSet::Iso8859(15)) => {
                Characters { charset: Charset::SingleByte(CodePage::LATIN9), declared: true }
            }
            // The splitter has already decoded code extension.
            Some(CharacterSet::Utf8 | CharacterSet::Iso10646 | CharacterSet::Iso2022) => {
                Characters { charset: Charset::Utf8, declared: true }
            }
            _ => Characters { charset: latin, declared: false },
        }
    }

    /// Returns true if the set is named and each of its characters is one byte.
    pub(crate) fn has_declared_bytes(self) -> bool {
        self.declared && matches!(self.charset, Charset::SingleByte(_))
    }

    /// Returns the error of bytes that are not in the set. ISO-8859-1 gives back the bytes of a one-byte set, but not those of UTF-8.
    pub(crate) fn foreign(self) -> EdiError {
        if self.gives_back() { EdiError::Characters } else { EdiError::Encoding { charset: self.charset.name() } }
    }

    /// Returns true if bytes outside of the set, read as ISO-8859-1, are written as the same bytes.
    pub(crate) fn gives_back(self) -> bool {
        matches!(self.charset, Charset::SingleByte(_))
    }

    /// Returns the value of some bytes, using `scratch` if they must be converted.
    #[inline(always)]
    pub(crate) fn value<'a>(self, data: Run<'a>, scratch: &'a mut Vec<u8>) -> (Value<'a>, Fit) {
        if scan::is_ascii_printable(data.bytes()) {
            return (Value::Ascii(data), Fit::Fits);
        }
        self.translate(data, scratch)
    }

    #[cold]
    fn translate<'a>(self, data: Run<'a>, scratch: &'a mut Vec<u8>) -> (Value<'a>, Fit) {
        if data.bytes().is_ascii() {
            return (Value::Text(data), Fit::Fits);
        }
        scratch.clear();
        let decoded = self.charset.decode_into(data.bytes(), scratch);
        let fit = if decoded.is_ok() && self.declared { Fit::Fits } else { Fit::Foreign };
        if decoded.is_err() {
            self.decode_foreign(data.bytes(), scratch);
        }
        (Value::Text(Run::from(&scratch[..])), fit)
    }
}

impl Characters {
    /// Decodes text with bytes outside of the set: these bytes as ISO-8859-1. In UTF-8, one of them changes the bounds of the characters around it, so
    /// all bytes of the text are.
    fn decode_foreign(self, bytes: &[u8], out: &mut Vec<u8>) {
        out.clear();
        let latin = |bytes: &[u8], out: &mut Vec<u8>| {
            let all = Charset::SingleByte(CodePage::LATIN1).decode_into(bytes, out);
            debug_assert!(all.is_ok(), "ISO-8859-1 has every byte");
        };
        if !self.gives_back() {
            return latin(bytes, out);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = out.len();
            let Err(at) = self.charset.decode_into(rest, out) else { return };
            out.truncate(start);
            let (good, bad) = rest.split_at(at.offset);
            let decoded = self.charset.decode_into(good, out);
            debug_assert!(decoded.is_ok(), "the bytes before the first one outside are in the set");
            latin(&bad[..1], out);
            rest = &bad[1..];
        }
    }
}

/// Returns the text of bytes in the character set that an interchange declares. `None` if it declares none, as X12 does, or if the set does not have the
/// bytes.
#[must_use]
pub fn declared_text(interchange: &Header, bytes: &[u8]) -> Option<String> {
    let characters = Characters::of(interchange, None);
    let mut text = Vec::new();
    characters.declared.then(|| characters.charset.decode_into(bytes, &mut text).ok())??;
    String::from_utf8(text).ok()
}

/// Returns the name of a delimiter in documents: the character itself if it is printable, otherwise two hexadecimal digits.
pub(crate) fn delimiter_name(byte: u8) -> String {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte).to_string() } else { format!("{byte:02x}") }
}

/// Parses the result of [`delimiter_name`].
pub(crate) fn delimiter_of(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [byte] => Some(*byte),
        [_, _] => quayline_core::hex_number(name).and_then(|byte| u8::try_from(byte).ok()),
        _ => None,
    }
}
