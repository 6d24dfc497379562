//! Telling a record's type by some of its bytes.

use quayline_charset::Charset;
use quayline_cobol::layout::{ByteOrder, Encoding, FieldIndex, FieldKind, Layout, OverpunchVariant, ZonedSign};

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
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// Text without surrounding blanks.
    Text,
    /// Zoned digits, the last of which may have a sign of this form in ASCII data; values are numbers as [`Test::number`] returns them. With
    /// BLANK WHEN ZERO, spaces are 0.
    Zoned { signed: bool, blank: bool, overpunch: OverpunchVariant },
    /// Packed digits, with or without a sign nibble at the end. A leading pad nibble is not part of the number.
    Packed { sign: bool, digits: usize, signed: bool },
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
            Encoding::Zoned {
                scale: 0,
                sign: sign @ (ZonedSign::Unsigned | ZonedSign::TrailingOverpunch),
                blank_when_zero,
                ..
            } => Form::Zoned {
                signed: *sign == ZonedSign::TrailingOverpunch,
                blank: *blank_when_zero,
                overpunch: layout.dialect.overpunch,
            },
            Encoding::Packed { scale: 0, digits, signed } => {
                Form::Packed { sign: true, digits: usize::from(*digits), signed: *signed }
            }
            Encoding::PackedUnsigned { scale: 0, digits } => {
                Form::Packed { sign: false, digits: usize::from(*digits), signed: false }
            }
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
        let values = written.iter().map(|value| form.value(value.trim(), charset, length)).collect::<Option<Vec<_>>>();
        let written = written.iter().map(|value| value.trim().to_owned()).collect();
        Ok(Test { offset, length, form, values: values.ok_or(Unfit::Value)?, written, charset })
    }

    /// Returns the first value that this test and another take from the same bytes in the same form, as the user wrote it.
    pub(crate) fn shared_value(&self, other: &Test) -> Option<&str> {
        if (self.offset, self.length, self.form) != (other.offset, other.length, other.form) {
            return None;
        }
        let shared = self.values.iter().position(|value| other.values.contains(value))?;
        self.written.get(shared).map(String::as_str)
    }

    /// Returns the values as the user wrote them.
    pub(crate) fn written(&self) -> &[String] {
        &self.written
    }

    /// Returns the record's content at the position: a number or text if it is one, otherwise the first bytes in hexadecimal.
    pub(crate) fn shown(&self, record: &[u8]) -> String {
        let start = self.offset.min(record.len());
        let bytes = &record[start..(self.offset + self.length).min(record.len())];
        let shown = match self.form {
            Form::Text => {
                let mut text = Vec::new();
                self.charset.decode_into(bytes, &mut text).ok().and_then(|()| String::from_utf8(text).ok())
            }
            Form::Zoned { .. } | Form::Packed { .. } => self.number(bytes).and_then(|number| match &number[..] {
                [] => Some("0".to_owned()),
                text => String::from_utf8(text.to_vec()).ok(),
            }),
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
            Form::Text => self.values.iter().any(|value| value == trimmed(bytes, self.charset)),
            Form::Zoned { .. } | Form::Packed { .. } => {
                whole && self.number(bytes).is_some_and(|number| self.values.contains(&number))
            }
            Form::Binary { order, signed } => {
                whole
                    && binary(bytes, order, signed)
                        .is_some_and(|n| self.values.iter().any(|value| *value == n.to_be_bytes()))
            }
        }
    }

    /// Returns a zoned or packed number as text: a minus sign, and digits without leading zeros, none for zero. Returns `None` for other bytes.
    fn number(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (digits, is_negative, signed) = match self.form {
            Form::Zoned { blank: true, .. } if bytes.iter().all(|byte| self.charset.space() == [*byte]) => {
                return Some(Vec::new());
            }
            Form::Zoned { signed, overpunch, .. } => {
                let (digits, is_negative) = self.zoned(bytes, overpunch)?;
                (digits, is_negative, signed)
            }
            Form::Packed { sign, digits, signed } => {
                let mut nibbles: Vec<u8> = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).collect();
                let is_negative = match if sign { nibbles.pop()? } else { 0x0f } {
                    0x0a | 0x0c | 0x0e | 0x0f => false,
                    0x0b | 0x0d => true,
                    _ => return None,
                };
                let front = nibbles.len().saturating_sub(digits);
                (nibbles.split_off(front), is_negative, signed)
            }
            Form::Text | Form::Binary { .. } => return None,
        };
        if is_negative && !signed || digits.iter().any(|digit| *digit > 9) {
            return None;
        }
        Some(plain(is_negative, digits.into_iter().map(|digit| b'0' + digit)))
    }

    /// Returns the digits of a zoned number, and whether its sign is minus; `None` for other bytes.
    fn zoned(&self, bytes: &[u8], overpunch: OverpunchVariant) -> Option<(Vec<u8>, bool)> {
        let is_ebcdic = matches!(self.charset, Charset::SingleByte(page) if page.is_ebcdic());
        let zone = if is_ebcdic { 0xf0 } else { 0x30 };
        let (last, others) = bytes.split_last()?;
        // Overpunch: zones of EBCDIC; in ASCII data, `{` and `A` to `I` for plus and `}` and `J` to `R` for minus, or `p` to `y` for minus.
        let of_ebcdic = overpunch == OverpunchVariant::Ebcdic;
        let (digit, is_negative) = match (is_ebcdic, *last) {
            (_, byte) if byte & 0xf0 == zone => (byte & 0x0f, false),
            (true, byte) if matches!(byte & 0xf0, 0xa0 | 0xc0 | 0xe0) => (byte & 0x0f, false),
            (true, byte) if matches!(byte & 0xf0, 0xb0 | 0xd0) => (byte & 0x0f, true),
            (false, b'{') if of_ebcdic => (0, false),
            (false, byte @ b'A'..=b'I') if of_ebcdic => (byte - b'A' + 1, false),
            (false, b'}') if of_ebcdic => (0, true),
            (false, byte @ b'J'..=b'R') if of_ebcdic => (byte - b'J' + 1, true),
            (false, byte @ b'p'..=b'y') if !of_ebcdic => (byte - b'p', true),
            _ => return None,
        };
        if !others.iter().all(|byte| byte & 0xf0 == zone) {
            return None;
        }
        let digits = others.iter().map(|byte| byte & 0x0f).chain([digit]).collect();
        Some((digits, is_negative))
    }
}

/// Returns a number in its plain form: digits without leading zeros, after a minus sign if it is negative.
fn plain(is_negative: bool, digits: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut number = vec![b'-'];
    number.extend(digits.skip_while(|digit| *digit == b'0'));
    if !is_negative || number.len() == 1 {
        number.remove(0);
    }
    number
}

/// Returns bytes without surrounding blanks.
fn trimmed(bytes: &[u8], charset: Charset) -> &[u8] {
    let space = charset.space();
    // A character of UTF-16 has two bytes, either of which may be that of a blank.
    let mut units = bytes.chunks(space.len());
    let first = units.clone().position(|unit| unit != space).map_or(bytes.len(), |at| at * space.len());
    let last = units.rposition(|unit| unit != space).map_or(first, |at| ((at + 1) * space.len()).min(bytes.len()));
    &bytes[first..last]
}

impl Form {
    /// Returns the bytes with which a record is compared. If the text is `0x` and all bytes of the field in hexadecimal, it means these bytes: as
    /// characters, it would be longer than the field.
    fn value(self, text: &str, charset: Charset, length: usize) -> Option<Vec<u8>> {
        match self {
            Form::Text => {
                if let Some(bytes) = text.strip_prefix("0x").and_then(|hex| quayline_core::from_hex(hex.as_bytes()))
                    && bytes.len() == length
                {
                    return Some(trimmed(&bytes, charset).to_vec());
                }
                let mut bytes = Vec::new();
                charset.encode_into(text, &mut bytes).ok()?;
                (bytes.len() <= length).then_some(bytes)
            }
            Form::Zoned { signed, .. } | Form::Packed { signed, .. } => {
                let digits_max = if let Form::Packed { digits, .. } = self { digits } else { length };
                let (is_negative, digits) = match text.strip_prefix('-') {
                    Some(digits) => (true, digits),
                    None => (false, text),
                };
                let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let fits = digits.trim_start_matches('0').len() <= digits_max;
                (is_whole && fits && (signed || !is_negative)).then(|| plain(is_negative, digits.bytes()))
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
