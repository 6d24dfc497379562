//! Numbers as decimal text, the plain way; the JSON writer has a faster one.

use std::io::Write as _;

use crate::{Digits, Value};

/// Appends a number's exact decimal text (`-12.50`, `0.005`, `123000`) to `out`; floats in the shortest form that reads back the same.
///
/// All decimals of the scale are written, so `S9(3)V99` gives `1.00`; a minus sign is written for -0 too. Returns `None`, and writes
/// nothing, for a value that is no number.
pub fn write_number(out: &mut Vec<u8>, value: Value<'_>) -> Option<()> {
    match value {
        Value::Digits(Digits { digits, negative, scale }) => write_digits(out, digits.bytes(), negative, scale),
        Value::Int(n, scale) => {
            write_digits(out, decimal(n.unsigned_abs().into(), &mut [0; 39]), n < 0, scale);
        }
        Value::Decimal(d) => {
            write_digits(out, decimal(d.unscaled.unsigned_abs(), &mut [0; 39]), d.unscaled < 0, d.scale);
        }
        Value::Float32(x) => append(out, format_args!("{x}")),
        Value::Float64(x) => append(out, format_args!("{x}")),
        _ => return None,
    }
    Some(())
}

fn append(out: &mut Vec<u8>, text: core::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a vector does not fail");
}

/// The digits of `n`, at the end of `buffer`; no allocation, since this runs once a field.
fn decimal(mut n: u128, buffer: &mut [u8; 39]) -> &[u8] {
    let mut at = buffer.len();
    while let Some(wide) = (n > u128::from(u64::MAX)).then_some(n) {
        at -= 1;
        buffer[at] = digit(u64::try_from(wide % 10).unwrap_or(0));
        n = wide / 10;
    }
    let mut n = u64::try_from(n).unwrap_or(0);
    loop {
        at -= 1;
        buffer[at] = digit(n % 10);
        n /= 10;
        if n == 0 {
            return &buffer[at..];
        }
    }
}

fn digit(n: u64) -> u8 {
    b'0' + u8::try_from(n).expect("a remainder by 10")
}

fn write_digits(out: &mut Vec<u8>, digits: &[u8], negative: bool, scale: i16) {
    if negative {
        out.push(b'-');
    }
    let decimals = usize::from(scale.max(0).unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    let first = whole.iter().position(|d| *d != b'0').unwrap_or(whole.len());
    if first == whole.len() {
        out.push(b'0');
    } else {
        out.extend_from_slice(&whole[first..]);
        out.extend(core::iter::repeat_n(b'0', usize::from(scale.min(0).unsigned_abs())));
    }
    if decimals > 0 {
        out.push(b'.');
        out.extend(core::iter::repeat_n(b'0', decimals - fraction.len()));
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_decimal_text() {
        let text = |digits: &str, negative, scale| {
            let mut out = Vec::new();
            let digits = digits.as_bytes().into();
            write_number(&mut out, Value::Digits(Digits { digits, negative, scale })).expect("a number");
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(text("00123", false, 0), "123");
        assert_eq!(text("00123", true, 2), "-1.23");
        assert_eq!(text("123", false, -3), "123000");
        assert_eq!(text("000", false, -3), "0");
        assert_eq!(text("123", true, 5), "-0.00123");
        assert_eq!(text("000", true, 2), "-0.00");
    }

    #[test]
    fn integers_and_floats() {
        let text = |value| {
            let mut out = Vec::new();
            write_number(&mut out, value).expect("a number");
            String::from_utf8(out).expect("ASCII")
        };
        let decimal = |unscaled, scale| text(Value::Decimal(crate::Decimal { unscaled, scale }));
        assert_eq!(text(Value::Int(0, 0)), "0");
        assert_eq!(text(Value::Int(i64::MIN, 3)), "-9223372036854775.808");
        assert_eq!(decimal(i128::MIN, 0), i128::MIN.to_string());
        assert_eq!(decimal(u64::MAX.into(), 0), u64::MAX.to_string());
        assert_eq!(decimal(i128::from(u64::MAX) + 1, 1), "1844674407370955161.6");
        assert_eq!(text(Value::Float32(0.1)), "0.1");
        assert_eq!(text(Value::Float64(-2.5e-3)), "-0.0025");
        assert_eq!(write_number(&mut Vec::new(), Value::Null), None);
    }
}
