//! Decimal values to the integers of a column.
//!
//! The common case (digits that fit the column at its own scale) takes a few multiplications: one register folds eight digits at a
//! time. All other cases (another scale, more digits than the column has, text) take the exact 256-bit conversion.

use arrow_buffer::i256;
use quayline_core::{Digits, Run, Value};

use crate::error::Reason;

/// Parses up to 19 ASCII digits; an empty run is 0.
#[inline(always)]
pub(crate) fn small(digits: Run<'_>) -> u64 {
    let n = digits.len();
    let tail = digits.tail();
    if n > 8 {
        let bytes = digits.bytes();
        let low = eight(block(bytes, n - 8));
        if n <= 16 {
            return eight(block(bytes, 0) << (8 * (16 - n))) * 100_000_000 + low;
        }
        let middle = eight(block(bytes, n - 16));
        let high = bytes[..n - 16].iter().fold(0, |high, digit| high * 10 + u64::from(digit & 0xf));
        return high * 10_000_000_000_000_000 + middle * 100_000_000 + low;
    }
    if n == 0 {
        return 0;
    }
    let head = match tail.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => short(digits.bytes()),
    };
    eight(head << (8 * (8 - n)))
}

/// Parses up to 38 ASCII digits.
#[inline]
pub(crate) fn wide(digits: Run<'_>) -> u128 {
    let n = digits.len();
    if n <= 19 {
        return u128::from(small(digits));
    }
    let (high, low) = digits.bytes().split_at(n - 19);
    u128::from(small(high.into())) * 10_000_000_000_000_000_000 + u128::from(small(low.into()))
}

/// Converts eight ASCII digits, the first in the lowest byte; a byte of 0 counts as the digit 0.
#[inline(always)]
fn eight(digits: u64) -> u64 {
    let pairs = ((digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(42_949_672_960_001) >> 32
}

#[inline(always)]
fn block(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the run has eight bytes there"))
}

#[cold]
fn short(bytes: &[u8]) -> u64 {
    let mut block = [0; 8];
    block[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(block)
}

/// Digits and scale of a column of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// Most digits, 1 to 76.
    pub(crate) digits: u8,
    /// Digits after the point, 0 to 76.
    pub(crate) scale: u8,
}

impl Precision {
    /// Converts any numeric value to the unscaled integer at the column's scale: the exact, slower conversion.
    #[cold]
    pub(crate) fn exact(self, value: Value<'_>) -> Result<i256, Reason> {
        let (unscaled, scale) = match value {
            Value::Digits(d) => (signed(d)?, d.scale),
            Value::Int(n, scale) => (i256::from_i128(n.into()), scale),
            Value::Decimal(d) => (i256::from_i128(d.unscaled), d.scale),
            Value::Text(run) | Value::Ascii(run) => parse(run.bytes())?,
            Value::Raw(_) => return Err(Reason::Raw),
            Value::Bytes(_) => return Err(Reason::Mismatch("bytes")),
            Value::Bool(_) => return Err(Reason::Mismatch("a truth value")),
            Value::Float32(_) | Value::Float64(_) => return Err(Reason::Mismatch("a float")),
            Value::Null => return Err(Reason::Mismatch("null")),
        };
        self.fit(rescale(unscaled, i32::from(scale), i32::from(self.scale))?)
    }

    fn fit(self, unscaled: i256) -> Result<i256, Reason> {
        let limit = i256::from_i128(10).checked_pow(self.digits.into()).ok_or(Reason::Precision)?;
        let magnitude = unscaled.checked_abs().ok_or(Reason::Precision)?;
        if magnitude < limit { Ok(unscaled) } else { Err(Reason::Precision) }
    }
}

fn signed(d: Digits<'_>) -> Result<i256, Reason> {
    let magnitude = magnitude(d.digits.bytes())?;
    Ok(if d.negative { magnitude.wrapping_neg() } else { magnitude })
}

fn magnitude(digits: &[u8]) -> Result<i256, Reason> {
    let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
    let digits = &digits[first..];
    if digits.len() > 76 {
        return Err(Reason::Precision);
    }
    let (head, rest) = digits.split_at(digits.len() % 18);
    let mut n = i256::from_i128(small(head.into()).into());
    for chunk in rest.chunks_exact(18) {
        n = n.wrapping_mul(i256::from_i128(1_000_000_000_000_000_000));
        n = n.wrapping_add(i256::from_i128(small(chunk.into()).into()));
    }
    Ok(n)
}

fn rescale(unscaled: i256, from: i32, to: i32) -> Result<i256, Reason> {
    if unscaled == i256::ZERO || from == to {
        return Ok(unscaled);
    }
    let power = i256::from_i128(10).checked_pow(from.abs_diff(to)).ok_or(if from < to {
        Reason::Precision
    } else {
        Reason::Inexact
    })?;
    if from < to {
        return unscaled.checked_mul(power).ok_or(Reason::Precision);
    }
    let quotient = unscaled.wrapping_div(power);
    if quotient.wrapping_mul(power) == unscaled { Ok(quotient) } else { Err(Reason::Inexact) }
}

/// Parses plain decimal text: sign, digits, point, digits. Surrounding blanks are allowed.
fn parse(text: &[u8]) -> Result<(i256, i16), Reason> {
    let text = text.trim_ascii();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, part) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
    let digits = [whole, part].concat();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Reason::Mismatch("text that is not a plain decimal number"));
    }
    let scale = i16::try_from(part.len()).map_err(|_| Reason::Precision)?;
    let n = magnitude(&digits)?;
    Ok((if negative { n.wrapping_neg() } else { n }, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quayline_core::Decimal;

    #[test]
    fn digits_fold_to_integers_for_every_length() {
        let digits = b"1234567890123456789012345678901234567890";
        for n in 0..=19 {
            let expected = digits[..n].iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            assert_eq!(small(digits[..n].into()), expected, "{n} digits, nothing behind");
            assert_eq!(small(Run::new(digits, n)), expected, "{n} digits, more behind");
            let nines = [b'9'; 19];
            assert_eq!(small(nines[..n].into()), 10u64.pow(u32::try_from(n).unwrap()) - 1);
        }
        for n in 0..=38 {
            let expected = digits[..n].iter().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
            assert_eq!(wide(Run::new(digits, n)), expected, "{n} digits");
        }
    }

    #[test]
    fn other_scales_are_exact_or_refused() {
        let money = Precision { digits: 5, scale: 2 };
        let exact = |value| money.exact(value).map(|n| n.to_i128().unwrap());
        let digits =
            |digits: &'static [u8], scale| Value::Digits(Digits { digits: digits.into(), negative: true, scale });
        assert_eq!(exact(digits(b"12", 0)), Ok(-1200));
        assert_eq!(exact(digits(b"12", -1)), Ok(-12_000));
        assert_eq!(exact(digits(b"12", -2)), Err(Reason::Precision));
        assert_eq!(exact(digits(b"0000000012", 2)), Ok(-12));
        assert_eq!(exact(digits(b"1200", 4)), Ok(-12));
        assert_eq!(exact(digits(b"1201", 4)), Err(Reason::Inexact));
        assert_eq!(exact(digits(b"0", 300)), Ok(0));
        assert_eq!(exact(digits(b"1", 300)), Err(Reason::Inexact));
        assert_eq!(exact(digits(b"1", -300)), Err(Reason::Precision));
        assert_eq!(exact(Value::Int(-99_999, 2)), Ok(-99_999));
        assert_eq!(exact(Value::Int(100_000, 2)), Err(Reason::Precision));
        assert_eq!(exact(Value::Decimal(Decimal { unscaled: i128::MIN, scale: 2 })), Err(Reason::Precision));
        assert_eq!(exact(Value::Text(b" -1.5 "[..].into())), Ok(-150));
        assert_eq!(exact(Value::Ascii(b".25"[..].into())), Ok(25));
        assert!(matches!(exact(Value::Text(b"1e5"[..].into())), Err(Reason::Mismatch(_))));
        assert!(matches!(exact(Value::Text(b"."[..].into())), Err(Reason::Mismatch(_))));
    }

    #[test]
    fn seventy_six_digits_are_exact() {
        let most = Precision { digits: 76, scale: 10 };
        let nines = [b'9'; 76];
        let text = most.exact(Value::Digits(Digits { digits: nines[..].into(), negative: false, scale: 10 })).unwrap();
        assert_eq!(text.to_string(), "9".repeat(76));
        let more = [b'9'; 77];
        assert_eq!(
            most.exact(Value::Digits(Digits { digits: more[..].into(), negative: false, scale: 10 })),
            Err(Reason::Precision)
        );
    }
}
