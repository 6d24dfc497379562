//! Numbers of elements as exact decimals.

use quayline_core::{Digits, Run, Value};

/// Room for the digits of a number.
pub(crate) type Scratch = [u8; 64];

/// The number that an element holds: digits with a minus sign before them or not and, where no places are implied, one decimal mark.
/// `None` where it is none, or longer than any number is.
#[inline(always)]
pub(crate) fn number<'a>(
    data: Run<'a>,
    implied: Option<u8>,
    marks: Marks,
    scratch: &'a mut Scratch,
) -> Option<Value<'a>> {
    let bytes = data.bytes();
    let negative = bytes.first() == Some(&b'-');
    let digits = data.skip(usize::from(negative));
    if digits.len() == 0 {
        return None;
    }
    if digits.bytes().iter().all(u8::is_ascii_digit) {
        return Some(Value::Digits(Digits { digits, negative, scale: implied.unwrap_or(0).into() }));
    }
    if implied.is_some() { None } else { with_mark(digits.bytes(), negative, marks, scratch) }
}

/// What may stand before the decimal places.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Marks {
    /// X12: a point.
    Point,
    /// EDIFACT: comma and point mean the same, whatever UNA says (ISO 9735-1, numeric data elements).
    Either,
}

#[inline(always)]
fn with_mark<'a>(digits: &[u8], negative: bool, marks: Marks, scratch: &'a mut Scratch) -> Option<Value<'a>> {
    let mark = digits.iter().position(|byte| *byte == b'.' || *byte == b',' && marks == Marks::Either)?;
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
            let mut scratch = [0; 64];
            let value = number(Run::from(text.as_bytes()), implied, marks, &mut scratch)?;
            let mut out = Vec::new();
            quayline_core::write_number(&mut out, value)?;
            String::from_utf8(out).ok()
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
            ("1E5", None, Marks::Point, None),
        ] {
            assert_eq!(check(text, implied, marks).as_deref(), expected, "{text}");
        }
    }
}
