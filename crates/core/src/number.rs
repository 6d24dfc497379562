//! Numbers as decimal text and back, without tricks. The JSON crate has a faster way.

use std::io::Write as _;

use crate::{Digits, NodeId, Run, Scalar, Value};

/// Appends the exact decimal text of a number (`-12.50`, `0.005`, `123000`) to `out`. A float is written as the shortest text that reads
/// back as the same double; this applies to 32-bit floats too, so that all formats show the same value.
///
/// All decimals of the scale are written, so `S9(3)V99` gives `1.00`; -0 keeps its minus sign. Returns `None`, and writes
/// nothing, for a value that is not a number.
pub fn write_number(out: &mut Vec<u8>, value: Value<'_>) -> Option<()> {
    match value {
        Value::Digits(Digits { digits, negative, scale }) => write_digits(out, digits.bytes(), negative, scale),
        Value::Int(n, scale) => {
            write_digits(out, decimal(n.unsigned_abs().into(), &mut [0; 39]), n < 0, scale);
        }
        Value::Decimal(d) => {
            write_digits(out, decimal(d.unscaled.unsigned_abs(), &mut [0; 39]), d.unscaled < 0, d.scale);
        }
        Value::Float32(x) => append(out, format_args!("{}", f64::from(x))),
        Value::Float64(x) => append(out, format_args!("{x}")),
        _ => return None,
    }
    Some(())
}

fn append(out: &mut Vec<u8>, text: core::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a vector does not fail");
}

/// Writes the digits of `n` to the end of `buffer`. It does not allocate, since it runs once for each field.
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

/// Returns true if all digits before the exponent are zeros. A number that is too small for a float is not zero.
fn is_zero(text: &[u8]) -> bool {
    let end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    !text[..end].iter().any(|b| matches!(b, b'1'..=b'9'))
}

/// Leaves whose numbers a source rounded to floats, see [`is_rounded_float`].
#[derive(Clone, Debug, Default)]
pub struct RoundedLeaves(Vec<NodeId>);

impl RoundedLeaves {
    /// Adds a leaf.
    #[cold]
    pub fn add(&mut self, leaf: NodeId) {
        if self.0.last() != Some(&leaf) {
            self.0.push(leaf);
        }
    }

    /// Removes and returns the leaves, each once.
    pub fn take(&mut self) -> Vec<NodeId> {
        let mut leaves = core::mem::take(&mut self.0);
        leaves.sort_unstable();
        leaves.dedup();
        leaves
    }
}

/// Returns true if `x`, written with as many digits as `text`, gives the number of `text` back.
///
/// Floats keep every number of 6 digits (32 bits) and 15 digits (64 bits); for longer ones this depends on the number. `text` is a
/// decimal number, with or without a sign, a point and an exponent.
fn keeps_number(text: &[u8], x: f64) -> bool {
    /// A 64-bit float has at most 767 significant digits.
    const DIGITS_MAX: usize = 767;
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], core::str::from_utf8(&text[at + 1..]).ok().and_then(|text| text.parse::<i64>().ok())),
        None => (text, Some(0)),
    };
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let is_digit = |byte: &u8| matches!(byte, b'1'..=b'9');
    let (Some(first), Some(last)) = (mantissa.iter().position(is_digit), mantissa.iter().rposition(is_digit)) else {
        return x == 0.0;
    };
    let digits = || mantissa[first..=last].iter().filter(|byte| **byte != b'.');
    let precision = digits().count() - 1;
    let Some(exponent) = exponent.filter(|_| precision < DIGITS_MAX) else { return false };
    // Power of ten of the first digit.
    let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let power = if first < point { place(point - first) - 1 } else { -place(first - point) };
    let Some(power) = power.checked_add(exponent) else { return false };
    let written = |precision: usize| {
        let written = format!("{:.precision$e}", x.abs());
        let (digits, power) = written.split_once('e').unwrap_or_default();
        (digits.bytes().filter(|byte| *byte != b'.').collect::<Vec<u8>>(), power.parse::<i64>().ok())
    };
    let (rounded, power_of_ten) = written(precision);
    if power_of_ten == Some(power) && rounded.iter().eq(digits()) {
        return true;
    }
    // A float halfway between two numbers of so many digits gives the other one too, the one that was not rounded to: `1.63166046142578125` is
    // written as …12 here and as …13 by whoever looks for the shortest text.
    if written(precision + 1).0.last() != Some(&b'5') {
        return false;
    }
    let (exact, power_of_ten) = written(DIGITS_MAX);
    let is_halfway = exact[precision + 1] == b'5' && exact[precision + 2..].iter().all(|digit| *digit == b'0');
    let mut up = exact[..=precision].to_vec();
    is_halfway && power_of_ten == Some(power) && (up.iter().eq(digits()) || count_up(&mut up) && up.iter().eq(digits()))
}

/// Adds 1 to a number of decimal digits. Returns false if it would need one more digit.
fn count_up(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return true;
        }
        *digit = b'0';
    }
    false
}

/// Returns true if `value` is a float that does not give the number of `text` back when it is written with as many digits.
#[inline]
#[must_use]
pub fn is_rounded_float(text: &[u8], value: &Value<'_>) -> bool {
    let is_short = |digits_max| text.len() <= digits_max && !text.iter().any(|byte| matches!(byte, b'e' | b'E'));
    match *value {
        Value::Float32(_) if is_short(6) => false,
        Value::Float64(_) if is_short(15) => false,
        Value::Float32(x) => !keeps_number(text, x.into()),
        Value::Float64(x) => !keeps_number(text, x),
        _ => false,
    }
}

/// Returns whether the float `written`, with as many digits as `value`, gives the number of `value` back; true if one of them is not a
/// number. The digits of a value that is a float are those of its shortest text.
#[must_use]
pub fn is_kept_by_float(value: Value<'_>, written: Value<'_>) -> bool {
    let written = match written {
        Value::Float32(x) => f64::from(x),
        Value::Float64(x) => x,
        _ => return true,
    };
    match value {
        Value::Float32(x) if f64::from(x) == written => return true,
        Value::Float64(x) if x == written => return true,
        _ => {}
    }
    number_text(value).is_none_or(|text| keeps_number(&text, written))
}

/// Returns the 64-bit float that is nearest to a number; `None` if the value is not a number, or beyond every float.
#[must_use]
pub fn nearest_float(value: Value<'_>) -> Option<f64> {
    let text = number_text(value)?;
    core::str::from_utf8(&text).ok()?.parse().ok().filter(|float: &f64| float.is_finite())
}

/// Returns the text of a number; `None` if the value is not a number. The digits of a value that is a float are those of its shortest text.
fn number_text(value: Value<'_>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    match value {
        Value::Float32(x) => text.extend_from_slice(format!("{x:e}").as_bytes()),
        Value::Float64(x) => text.extend_from_slice(format!("{x:e}").as_bytes()),
        Value::Text(run) | Value::Ascii(run) => text.extend_from_slice(run.bytes().trim_ascii()),
        number => {
            write_number(&mut text, number)?;
        }
    }
    // Texts of raw bytes and blanks are not numbers.
    let is_number = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    (is_number && !text.is_empty()).then_some(text)
}

/// Longest number in characters that [`read_number`] reads: the 38 digits that a field may have, and room for leading zeros.
const TEXT_MAX: usize = 64;

/// Scratch space of [`read_number`] for the digits of a number; the bytes after them let a sink copy whole blocks.
pub type NumberScratch = [u8; TEXT_MAX + 16];

/// Reads `text` as a number, in the form that a leaf of type `scalar` takes.
///
/// A decimal becomes [`Value::Digits`] with every digit as written: an optional sign, digits, and a point among or before them
/// (`-012.50`, `+7`, `.5`), nothing more. A float may have an exponent and becomes the nearest float. Returns `None` if the leaf is
/// not a number or the text has another form (blank, raw bytes `0x...`, an exponent in a decimal, more than 64 characters), or if it
/// is not zero and less than every float; the
/// source then passes the text unchanged and the sink judges it.
#[must_use]
pub fn read_number<'a>(scalar: &Scalar, text: &[u8], scratch: &'a mut NumberScratch) -> Option<Value<'a>> {
    match scalar {
        Scalar::Decimal { .. } => read_digits(text, scratch).map(Value::Digits),
        Scalar::Float32 => read_float32(text).ok().map(Value::Float32),
        Scalar::Float64 => read_float64(text).ok().map(Value::Float64),
        Scalar::Text { .. } | Scalar::Bool | Scalar::Bytes { .. } => None,
    }
}

/// Reason for which a text is not a float.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoFloat {
    /// The text is not a number with an optional exponent: `NaN` and `inf` are not either.
    NotANumber,
    /// The number is greater than every float, or it is not zero and its nearest float is.
    OutOfRange,
}

/// Returns the 32-bit float that is nearest to the number in a text.
///
/// # Errors
/// [`NoFloat`].
pub fn read_float32(text: &[u8]) -> Result<f32, NoFloat> {
    let float: f32 = float_text(text).and_then(|text| text.parse().ok()).ok_or(NoFloat::NotANumber)?;
    if float.is_finite() && (float != 0.0 || is_zero(text)) { Ok(float) } else { Err(NoFloat::OutOfRange) }
}

/// Returns the 64-bit float that is nearest to the number in a text.
///
/// # Errors
/// [`NoFloat`].
pub fn read_float64(text: &[u8]) -> Result<f64, NoFloat> {
    let float: f64 = float_text(text).and_then(|text| text.parse().ok()).ok_or(NoFloat::NotANumber)?;
    if float.is_finite() && (float != 0.0 || is_zero(text)) { Ok(float) } else { Err(NoFloat::OutOfRange) }
}

/// Reads `text` as a truth value: `true` or `1`, `false` or `0`. Returns `None` for any other text, `TRUE` and blanks included.
///
/// Source: XML Schema 1.1 part 2, clause 3.3.2.2, lexical mapping of `boolean`.
#[must_use]
pub fn read_bool(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"1" => Some(true),
        b"false" | b"0" => Some(false),
        _ => None,
    }
}

fn read_digits<'a>(text: &[u8], scratch: &'a mut NumberScratch) -> Option<Digits<'a>> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if unsigned.len() > TEXT_MAX {
        return None;
    }
    let (mut len, mut point) = (0, None);
    for byte in unsigned {
        match byte {
            b'0'..=b'9' => {
                scratch[len] = *byte;
                len += 1;
            }
            b'.' if point.is_none() => point = Some(len),
            _ => return None,
        }
    }
    let scale = match point {
        None => 0,
        // A point at the end separates nothing.
        Some(at) => i16::try_from(len - at).ok().filter(|scale| *scale > 0)?,
    };
    (len > 0).then(|| Digits { digits: Run::new(&scratch[..], len), negative, scale })
}

/// Returns the text if it has only the characters of numbers: `inf` and `nan` are text.
fn float_text(text: &[u8]) -> Option<&str> {
    let plain = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    core::str::from_utf8(text).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal() -> Scalar {
        Scalar::Decimal { digits: 9, scale: 2, signed: true }
    }

    #[test]
    fn floats_keep_numbers_of_few_digits() {
        for (text, kept32, kept64) in [
            ("16777216", true, true),
            ("16777217", false, true),
            ("0.1", true, true),
            ("-0.100000", true, true),
            ("3.14159265", false, true),
            ("9007199254740992", true, true),
            ("9007199254740993", false, false),
            ("1e10", true, true),
            ("12345.678e-3", true, true),
            ("0.30000000000000004", false, true),
            ("0.1000000000000000055511151231257827021181583404541015625", false, true),
            ("0.1000000000000000055511151231257827021181583404541015626", false, false),
            ("0", true, true),
            ("000.000e5", true, true),
            ("1.17549421e-38", true, true),
            ("1.23456e-42", false, true),
            ("0.000001", true, true),
            // Halfway: 1.63166046142578125 exactly, whose shortest text ends with 3.
            ("-1.6316604614257813", true, true),
            ("-1.6316604614257812", true, true),
            ("-1.6316604614257814", false, false),
        ] {
            let short = Value::Float32(text.parse().expect("a number"));
            assert_eq!(is_rounded_float(text.as_bytes(), &short), !kept32, "{text} in 32 bits");
            let long = Value::Float64(text.parse().expect("a number"));
            assert_eq!(is_rounded_float(text.as_bytes(), &long), !kept64, "{text} in 64 bits");
        }
        assert!(!keeps_number(format!("1{}1", "0".repeat(2_000)).as_bytes(), 1e300));
        assert!(!keeps_number(b"1e99999999999999999999", f64::MAX));
    }

    #[test]
    fn plain_decimals_are_read_with_every_digit() {
        let read = |text: &str| {
            let mut scratch = [0; TEXT_MAX + 16];
            read_number(&decimal(), text.as_bytes(), &mut scratch).map(|value| {
                let Value::Digits(Digits { digits, negative, scale }) = value else { panic!("{value:?}") };
                let digits = core::str::from_utf8(digits.bytes()).expect("digits");
                format!("{}{digits} e-{scale}", if negative { "-" } else { "" })
            })
        };
        assert_eq!(read("12").as_deref(), Some("12 e-0"));
        assert_eq!(read("-012.50").as_deref(), Some("-01250 e-2"));
        assert_eq!(read("+.5").as_deref(), Some("5 e-1"));
        assert_eq!(read("-0").as_deref(), Some("-0 e-0"));
        assert_eq!(read(&"9".repeat(TEXT_MAX)).map(|text| text.len()), Some(TEXT_MAX + 4));
        for text in ["", "-", ".", "5.", "1.2.3", "--1", "1e3", " 1", "1,5", "0x40", "inf", "\u{664}"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read(&"9".repeat(TEXT_MAX + 1)), None);
    }

    #[test]
    fn floats_are_read_as_the_nearest_one() {
        let read = |scalar: &Scalar, text: &str| {
            read_number(scalar, text.as_bytes(), &mut [0; TEXT_MAX + 16]).map(|value| format!("{value:?}"))
        };
        assert_eq!(read(&Scalar::Float32, "0.1").as_deref(), Some("Float32(0.1)"));
        assert_eq!(read(&Scalar::Float64, "-2.5e-3").as_deref(), Some("Float64(-0.0025)"));
        for text in ["inf", "nan", "-infinity", "1e999", "", "e5", "1 "] {
            assert_eq!(read(&Scalar::Float64, text), None, "{text:?}");
        }
        assert_eq!(read(&Scalar::Text { chars_max: None }, "1"), None);
    }

    #[test]
    fn truth_values_have_four_forms() {
        assert_eq!(
            [&b"true"[..], b"1", b"false", b"0"].map(read_bool),
            [Some(true), Some(true), Some(false), Some(false)]
        );
        for text in ["", "TRUE", " true", "yes", "2", "00", "t"] {
            assert_eq!(read_bool(text.as_bytes()), None, "{text:?}");
        }
    }

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
        assert_eq!(text(Value::Float32(0.1)), "0.10000000149011612");
        assert_eq!(text(Value::Float32(-736_519.4)), "-736519.375");
        assert_eq!(text(Value::Float64(-2.5e-3)), "-0.0025");
        assert_eq!(write_number(&mut Vec::new(), Value::Null), None);
    }
}
