//! Numbers as decimal text, the plain way; the JSON writer has a faster one.

use crate::{Digits, Value};

/// Appends a number's exact decimal text (`-12.50`, `0.005`, `123000`) to `out`; floats in the shortest form that reads back the same.
///
/// All decimals of the scale are written, so `S9(3)V99` gives `1.00`; a minus sign is written for -0 too. Returns `None`, and writes
/// nothing, for a value that is no number.
pub fn write_number(out: &mut Vec<u8>, value: Value<'_>) -> Option<()> {
    match value {
        Value::Digits(Digits { digits, negative, scale }) => write_digits(out, digits.bytes(), negative, scale),
        Value::Int(n, scale) => {
            write_digits(out, n.unsigned_abs().to_string().as_bytes(), n < 0, scale);
        }
        Value::Decimal(d) => {
            write_digits(out, d.unscaled.unsigned_abs().to_string().as_bytes(), d.unscaled < 0, d.scale);
        }
        Value::Float32(x) => out.extend_from_slice(x.to_string().as_bytes()),
        Value::Float64(x) => out.extend_from_slice(x.to_string().as_bytes()),
        _ => return None,
    }
    Some(())
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
}
