//! Telling a record's type by some of its bytes.

use quayline_charset::Charset;
use quayline_cobol::layout::{ByteOrder, Encoding, FieldIndex, FieldKind, Layout, ZonedSign};

/// Test whether a record has one of some values at a position.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    offset: usize,
    length: usize,
    form: Form,
    values: Vec<Vec<u8>>,
    /// The values as the user wrote them.
    written: Vec<String>,
    charset: Charset,
}

/// Bytes of a value that are shown.
const SHOWN_MAX: usize = 16;

/// Form in which bytes are compared with values.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Text without surrounding blanks.
    Text,
    /// Zoned digits, the last of which may have a positive sign; values are digits without leading zeros.
    Zoned,
    /// Packed digits, with or without a sign nibble at the end. A leading pad nibble is not part of the number.
    Packed { sign: bool, digits: usize },
    /// A binary number; values are 16 bytes, big-endian, two's complement.
    Binary { order: ByteOrder, signed: bool },
}

/// Reason why a field cannot discriminate record types.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unfit {
    /// The field is a group, repeated, or neither text nor a whole number.
    Kind,
    /// A table of variable length precedes the field.
    Slides,
    /// A value is not a whole number, or has a character that the code page lacks.
    Value,
}

impl Test {
    /// Creates a test on a field.
    pub(crate) fn on_field(
        layout: &Layout,
        index: FieldIndex,
        values: &[String],
        charset: Charset,
    ) -> Result<Self, Unfit> {
        let field = layout.field(index);
        let FieldKind::Item(encoding) = &field.kind else { return Err(Unfit::Kind) };
        let mut at = Some(index);
        while let Some(index) = at {
            if layout.field(index).occurs.is_some() {
                return Err(Unfit::Kind);
            }
            at = layout.field(index).parent;
        }
        let slides = layout.dialect.odo_slide
            && layout
                .fields
                .iter()
                .any(|f| f.offset < field.offset && f.occurs.is_some_and(|o| o.depending_on.is_some()));
        if slides {
            return Err(Unfit::Slides);
        }
        let form = match encoding {
            Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::Boolean => Form::Text,
            Encoding::Zoned { scale: 0, sign: ZonedSign::Unsigned | ZonedSign::TrailingOverpunch, .. } => Form::Zoned,
            Encoding::Packed { scale: 0, digits, .. } => Form::Packed { sign: true, digits: usize::from(*digits) },
            Encoding::PackedUnsigned { scale: 0, digits } => Form::Packed { sign: false, digits: usize::from(*digits) },
            Encoding::Binary { scale: 0, order, signed, .. } => Form::Binary { order: *order, signed: *signed },
            _ => return Err(Unfit::Kind),
        };
        Test::new(field.offset, field.size, form, values, charset)
    }

    /// Creates a test on bytes as text.
    pub(crate) fn on_bytes(offset: usize, length: usize, values: &[String], charset: Charset) -> Result<Self, Unfit> {
        Test::new(offset, length, Form::Text, values, charset)
    }

    fn new(offset: usize, length: usize, form: Form, written: &[String], charset: Charset) -> Result<Self, Unfit> {
        let values = written.iter().map(|value| form.value(value.trim(), charset)).collect::<Option<Vec<_>>>();
        let written = written.iter().map(|value| value.trim().to_owned()).collect();
        Ok(Test { offset, length, form, values: values.ok_or(Unfit::Value)?, written, charset })
    }

    /// Returns the values as the user wrote them.
    pub(crate) fn written(&self) -> &[String] {
        &self.written
    }

    /// Returns the record's content at the position: a number or text if it is one, otherwise the first bytes in hexadecimal.
    pub(crate) fn shown(&self, record: &[u8]) -> String {
        let start = self.offset.min(record.len());
        let bytes = &record[start..(self.offset + self.length).min(record.len())];
        let digits = |digits: &mut dyn Iterator<Item = u8>| -> Option<String> {
            digits.map(|digit| (digit <= 9).then(|| char::from(b'0' + digit))).collect()
        };
        let shown = match self.form {
            Form::Text => {
                let mut text = Vec::new();
                self.charset.decode_into(bytes, &mut text).ok().and_then(|()| String::from_utf8(text).ok())
            }
            Form::Zoned => self.zoned(bytes).map(|digits| digits.map(|digit| char::from(b'0' + digit)).collect()),
            Form::Packed { sign, .. } => {
                let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
                digits(&mut nibbles.take((bytes.len() * 2).saturating_sub(usize::from(sign))))
            }
            Form::Binary { order, signed } => binary(bytes, order, signed).map(|number| number.to_string()),
        };
        let shown = shown.map(|text| text.trim_end().to_owned());
        match shown.filter(|text| text.chars().count() <= SHOWN_MAX && !text.chars().any(char::is_control)) {
            Some(text) => text,
            None => {
                let hex: String = bytes.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect();
                format!("0x{hex}{}", if bytes.len() > SHOWN_MAX { "…" } else { "" })
            }
        }
    }

    /// Returns the first byte and the number of bytes.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.offset, self.length)
    }

    /// Bytes from the start of a record that the test looks at.
    pub(crate) fn end(&self) -> usize {
        self.offset + self.length
    }

    /// Returns true if the record has one of the values. A record that ends before the field matches only a blank value.
    pub(crate) fn fits(&self, record: &[u8]) -> bool {
        let start = self.offset.min(record.len());
        let end = (self.offset + self.length).min(record.len());
        let bytes = &record[start..end];
        let whole = bytes.len() == self.length;
        match self.form {
            Form::Text => {
                let space = self.charset.space();
                // A character of UTF-16 has two bytes, either of which may be that of a blank.
                let mut units = bytes.chunks(space.len());
                let first = units.clone().position(|unit| unit != space).map_or(bytes.len(), |at| at * space.len());
                let last =
                    units.rposition(|unit| unit != space).map_or(first, |at| ((at + 1) * space.len()).min(bytes.len()));
                self.values.iter().any(|value| *value == bytes[first..last])
            }
            Form::Zoned => whole && self.zoned(bytes).is_some_and(|digits| self.has(digits)),
            Form::Packed { sign, digits } => {
                let nibbles = bytes.iter().flat_map(|b| [b >> 4, b & 0x0f]);
                let count = (bytes.len() * 2).saturating_sub(usize::from(sign));
                let digits = nibbles.take(count).skip(count.saturating_sub(digits));
                // Values are not negative.
                let is_positive =
                    !sign || bytes.last().is_some_and(|byte| matches!(byte & 0x0f, 0x0a | 0x0c | 0x0e | 0x0f));
                whole && is_positive && self.has(digits)
            }
            Form::Binary { order, signed } => {
                whole
                    && binary(bytes, order, signed)
                        .is_some_and(|n| self.values.iter().any(|value| *value == n.to_be_bytes()))
            }
        }
    }

    /// Returns the digits of a non-negative zoned number; `None` for other bytes.
    fn zoned<'b>(&self, bytes: &'b [u8]) -> Option<impl Iterator<Item = u8> + Clone + use<'b>> {
        let zone = if matches!(self.charset, Charset::SingleByte(page) if page.is_ebcdic()) { 0xf0 } else { 0x30 };
        let (last, others) = bytes.split_last()?;
        let is_digit = |byte: u8| byte & 0xf0 == zone && byte & 0x0f <= 9;
        let is_ebcdic = zone == 0xf0;
        // Positive overpunch: zones C, A and E of EBCDIC; `{` and `A` to `I` in ASCII data, or plain digits.
        let is_last = is_digit(*last)
            || match is_ebcdic {
                true => matches!(last & 0xf0, 0xa0 | 0xc0 | 0xe0) && last & 0x0f <= 9,
                false => matches!(last, b'{' | b'A'..=b'I'),
            };
        if !is_last || !others.iter().all(|byte| is_digit(*byte)) {
            return None;
        }
        Some(bytes.iter().map(move |byte| match (is_ebcdic, byte) {
            (false, b'{') => 0,
            (_, byte) => byte & 0x0f,
        }))
    }

    /// Returns true if these digits, without leading zeros, equal one of the values.
    fn has(&self, digits: impl Iterator<Item = u8> + Clone) -> bool {
        let significant = digits.skip_while(|d| *d == 0);
        self.values.iter().any(|value| significant.clone().eq(value.iter().copied()))
    }
}

impl Form {
    fn value(self, text: &str, charset: Charset) -> Option<Vec<u8>> {
        match self {
            Form::Text => {
                let mut bytes = Vec::new();
                charset.encode_into(text, &mut bytes).ok()?;
                Some(bytes)
            }
            Form::Zoned | Form::Packed { .. } => {
                let digits = text.trim_start_matches('0');
                let whole = !text.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                whole.then(|| digits.bytes().map(|b| b - b'0').collect())
            }
            Form::Binary { .. } => text.parse::<i128>().ok().map(|n| n.to_be_bytes().to_vec()),
        }
    }
}

fn binary(bytes: &[u8], order: ByteOrder, signed: bool) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    let mut wide = [0u8; 16];
    let start = 16 - bytes.len();
    wide[start..].copy_from_slice(bytes);
    if order == ByteOrder::Little {
        wide[start..].reverse();
    }
    if signed && wide[start] & 0x80 != 0 {
        wide[..start].fill(0xff);
    }
    Some(i128::from_be_bytes(wide))
}
