//! Numbers of elements as exact decimals.

use quayline_charset::scan::mask_digits;
use quayline_core::{Digits, Run, Value};

/// Room for the digits of a number.
pub(crate) type Scratch = [u8; 64];

/// Parses the number in an element: an optional minus sign, digits and, without implied places, one decimal mark and, in X12, an exponent. `None` for
/// other text, or for more digits than any number may have.
#[inline(always)]
pub(crate) fn number<'a>(
    data: Run<'a>,
    implied: Option<u8>,
    marks: Marks,
    scratch: &'a mut Scratch,
) -> Option<Value<'a>> {
    let len = data.len();
    let Some(block) = data.tail().first_chunk::<16>().filter(|_| len <= 16) else {
        return any_number(data, implied, marks, scratch);
    };
    // Bits of bytes that are not digits, and a bit after the last byte.
    let other = !u32::from(mask_digits(block)) | 1 << (len & 31);
    let first = other.trailing_zeros() as usize;
    if first == len && len > 0 {
        return Some(Value::Digits(Digits { digits: data, negative: false, scale: implied.unwrap_or(0).into() }));
    }
    let rest = (other & (other - 1)).trailing_zeros() as usize;
    if implied.is_some() || rest != len || len < 2 || !marks.are(block[first]) {
        return any_number(data, implied, marks, scratch);
    }
    // Moves the digits after the mark to its position.
    let digits = u128::from_le_bytes(*block);
    let before = (1u128 << (8 * first)) - 1;
    let joined = (digits & before) | (digits >> 8 & !before);
    let out = scratch.first_chunk_mut::<16>()?;
    *out = joined.to_le_bytes();
    let scale = i16::try_from(len - 1 - first).ok()?;
    Some(Value::Digits(Digits { digits: Run::new(&scratch[..16], len - 1), negative: false, scale }))
}

/// Parses any number; the reference for the fast path.
#[inline(never)]
fn any_number<'a>(data: Run<'a>, implied: Option<u8>, marks: Marks, scratch: &'a mut Scratch) -> Option<Value<'a>> {
    let bytes = data.bytes();
    let negative = bytes.first() == Some(&b'-');
    let digits = data.skip(usize::from(negative));
    if digits.len() == 0 {
        return None;
    }
    if digits.bytes().iter().all(u8::is_ascii_digit) {
        return Some(Value::Digits(Digits { digits, negative, scale: implied.unwrap_or(0).into() }));
    }
    match digits.bytes().iter().position(|byte| *byte == b'E') {
        _ if implied.is_some() => None,
        Some(at) if marks == Marks::Point => with_exponent(digits.bytes(), at, negative, scratch),
        _ => with_mark(digits.bytes(), negative, marks, scratch),
    }
}

/// Maximum digits on each side of the decimal mark of a number with an exponent: those of the widest decimals of shapes.
const EXPONENT_DIGITS_MAX: usize = 38;

/// Parses digits with an exponent after byte `at` (X12.6, decimal data elements) into the number without it.
fn with_exponent<'a>(text: &[u8], at: usize, negative: bool, scratch: &'a mut Scratch) -> Option<Value<'a>> {
    let exponent = &text[at + 1..];
    let unsigned = exponent.strip_prefix(b"-").unwrap_or(exponent);
    let power: i16 =
        core::str::from_utf8(exponent).ok().filter(|_| unsigned.iter().all(u8::is_ascii_digit))?.parse().ok()?;
    let mantissa = &text[..at];
    let mark = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(at);
    let mut len = 0;
    for (_, byte) in mantissa.iter().enumerate().filter(|(i, _)| *i != mark) {
        *scratch.get_mut(len).filter(|_| byte.is_ascii_digit())? = *byte;
        len += 1;
    }
    let places = i16::try_from(at.saturating_sub(mark + 1)).ok()?;
    let scale = places.checked_sub(power)?;
    let zeros = usize::from(scale.min(0).unsigned_abs());
    scratch.get_mut(len..len + zeros)?.fill(b'0');
    let (len, scale) = (len + zeros, scale.max(0));
    if len == zeros || len > EXPONENT_DIGITS_MAX || usize::from(scale.unsigned_abs()) > EXPONENT_DIGITS_MAX {
        return None;
    }
    Some(Value::Digits(Digits { digits: Run::new(&scratch[..], len), negative, scale }))
}

/// Allowed decimal marks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Marks {
    /// X12: a point.
    Point,
    /// EDIFACT: comma and point are equivalent, regardless of UNA (ISO 9735-1, numeric data elements).
    Either,
}

impl Marks {
    #[inline(always)]
    fn are(self, byte: u8) -> bool {
        byte == b'.' || byte == b',' && self == Marks::Either
    }
}

fn with_mark<'a>(digits: &[u8], negative: bool, marks: Marks, scratch: &'a mut Scratch) -> Option<Value<'a>> {
    let mark = digits.iter().position(|byte| marks.are(*byte))?;
    let (whole, places) = (&digits[..mark], &digits[mark + 1..]);
    let len = whole.len() + places.len();
    if len == 0 || len > scratch.len() {
        return None;
    }
    scratch[..whole.len()].copy_from_slice(whole);
    scratch[whole.len()..len].copy_from_slice(places);
    if !scratch[..len].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let scale = i16::try_from(places.len()).ok()?;
    Some(Value::Digits(Digits { digits: Run::new(&scratch[..], len), negative, scale }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let check = |text: &str, implied: Option<u8>, marks: Marks| {
            // Bytes after the number in the input do not affect the result.
            let [alone, among] = ["", "1.0-123456789012345"].map(|behind| {
                let (text, mut scratch) = ([text, behind].concat(), [0; 64]);
                let run = Run::new(text.as_bytes(), text.len() - behind.len());
                let value = number(run, implied, marks, &mut scratch)?;
                let mut out = Vec::new();
                quayline_core::write_number(&mut out, value)?;
                String::from_utf8(out).ok()
            });
            assert_eq!(alone, among, "{text}");
            alone
        };
        for (text, implied, marks, expected) in [
            ("1250", Some(2), Marks::Point, Some("12.50")),
            ("-5", Some(2), Marks::Point, Some("-0.05")),
            ("12.5", None, Marks::Point, Some("12.5")),
            (".5", None, Marks::Point, Some("0.5")),
            ("12,5", None, Marks::Either, Some("12.5")),
            ("12,5", None, Marks::Point, None),
            ("12.5", Some(0), Marks::Point, None),
            ("5.", None, Marks::Point, Some("5")),
            ("-", None, Marks::Point, None),
            (".", None, Marks::Point, None),
            ("1.2.3", None, Marks::Point, None),
            ("1E5", None, Marks::Point, Some("100000")),
            ("-12.5E1", None, Marks::Point, Some("-125")),
            ("12.5E2", None, Marks::Point, Some("1250")),
            (".5E-1", None, Marks::Point, Some("0.05")),
            ("1E-3", None, Marks::Point, Some("0.001")),
            ("1E37", None, Marks::Point, Some("10000000000000000000000000000000000000")),
            ("1E38", None, Marks::Point, None),
            ("1E-38", None, Marks::Point, Some("0.00000000000000000000000000000000000001")),
            ("1E-39", None, Marks::Point, None),
            ("1E99999", None, Marks::Point, None),
            ("1E+5", None, Marks::Point, None),
            ("1E", None, Marks::Point, None),
            ("1E-", None, Marks::Point, None),
            ("E5", None, Marks::Point, None),
            ("1.1.1E5", None, Marks::Point, None),
            ("1E5", Some(0), Marks::Point, None),
            ("1E5", None, Marks::Either, None),
            ("", None, Marks::Point, None),
            ("0123456789.12345", None, Marks::Point, Some("123456789.12345")),
            ("01234567890.12345", None, Marks::Point, Some("1234567890.12345")),
            ("1234567890123456", Some(2), Marks::Point, Some("12345678901234.56")),
            ("12345678901234567", Some(2), Marks::Point, Some("123456789012345.67")),
        ] {
            assert_eq!(check(text, implied, marks).as_deref(), expected, "{text}");
        }
    }
}
