//! Quick check of a value at its place, with the result yes or no.

use crate::calendar::is_day;
use crate::content_error::ContentErrorKind;
use crate::delimiters::Standard;
use crate::guide::code_set::Key;
use crate::guide::compile::{Cell, Form};

/// Settings for checking values, in addition to their place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Day for dated codes, `YYYYMMDD`.
    pub(crate) day: Option<u32>,
    pub(crate) numbers: Numbers,
    /// True if each byte is a character, because the interchange or the user names such a set.
    pub(crate) single_byte: bool,
}

impl Default for Settings {
    /// Settings of a plain X12 interchange.
    fn default() -> Self {
        Settings { day: None, numbers: Numbers { mark: b'.', standard: Standard::X12 }, single_byte: false }
    }
}

impl Settings {
    /// Returns the number of characters of a value. If no set is named, those of UTF-8 if it is valid, otherwise its bytes.
    pub(super) fn characters(self, data: &[u8]) -> usize {
        if self.single_byte || data.is_ascii() {
            return data.len();
        }
        core::str::from_utf8(data).map_or(data.len(), |text| text.chars().count())
    }
}

/// The form of numbers with decimals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// Decimal mark that is allowed in addition to the point.
    pub(crate) mark: u8,
    pub(crate) standard: Standard,
}

/// Returns true if a value without neighbors, of printable ASCII and at least one byte, has the form and length of its place.
///
/// `format` returns the value of the element with the format of a date, if the form requires it.
#[inline(always)]
pub(super) fn is_of_form(cell: &Cell, key: Key<'_>, numbers: Numbers, format: impl FnOnce() -> u64) -> bool {
    let fits = cell.fits(key.bytes.len());
    match cell.form {
        Form::Text | Form::Binary => fits,
        Form::Decimal => decimal_is_right(cell, key, numbers),
        Form::Integer => integer_is_right(cell, key, numbers),
        Form::Date => fits && is_date(key.bytes),
        Form::Time => fits && is_time(key.bytes),
        Form::Letters => fits && is_letters(key.bytes),
        Form::X12Period => fits && is_x12_period(format(), key.bytes),
        Form::EdifactPeriod | Form::Composite => false,
    }
}

/// Returns true if a date, time or range has the format of a code of X12 data element 1250.
#[inline(always)]
fn is_x12_period(format: u64, bytes: &[u8]) -> bool {
    const D8: u64 = code("D8");
    if format == D8 {
        return bytes.len() == 8 && is_date(bytes);
    }
    x12_period(format).is_none_or(|period| period.fits(bytes))
}

/// Returns true if all bytes are digits.
#[inline(always)]
pub(super) fn is_digits(key: Key<'_>) -> bool {
    if key.word != 0 && key.bytes.len() <= 8 {
        // Bytes after the value are 0 in the word; they count as digits here.
        let fill = 0x3030_3030_3030_3030 & !(u64::MAX >> (64 - 8 * key.bytes.len()));
        return word_is_digits(key.word | fill);
    }
    !key.bytes.is_empty() && key.bytes.iter().all(u8::is_ascii_digit)
}

#[inline(always)]
fn word_is_digits(word: u64) -> bool {
    ((word & 0xf0f0_f0f0_f0f0_f0f0) | (word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0) >> 4)
        == 0x3333_3333_3333_3333
}

#[inline(always)]
fn integer_is_right(cell: &Cell, key: Key<'_>, numbers: Numbers) -> bool {
    if is_digits(key) {
        return digits_are_right(cell, key, numbers);
    }
    match key.bytes.split_first() {
        Some((b'-', rest)) => {
            let fits = !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) && cell.fits(rest.len());
            fits && number_form(key.bytes, cell.min(), numbers).is_none()
        }
        _ => false,
    }
}

/// Returns true if a number that consists of digits has an allowed length and no leading zeros that a document would lose.
#[inline(always)]
fn digits_are_right(cell: &Cell, key: Key<'_>, numbers: Numbers) -> bool {
    let is_plain = key.bytes[0] != b'0' || key.bytes.len() == 1;
    cell.fits(key.bytes.len()) && (is_plain || number_form(key.bytes, cell.min(), numbers).is_none())
}

#[inline(always)]
fn decimal_is_right(cell: &Cell, key: Key<'_>, numbers: Numbers) -> bool {
    if is_digits(key) {
        return digits_are_right(cell, key, numbers);
    }
    let fits = decimal_digits(key.bytes, numbers).is_some_and(|digits| cell.fits(digits));
    fits && !has_odd_form(key.bytes, cell.min(), numbers)
}

/// Returns the number of digits of a decimal in the form of the standard: a minus sign, digits, a decimal mark. In X12, an exponent may follow,
/// which does not count; in EDIFACT, a digit must follow the mark. `None` if it is not a number.
///
/// Source: X12.6, decimal data elements (R); ISO 9735-1, numeric data elements.
#[inline]
pub(super) fn decimal_digits(bytes: &[u8], Numbers { mark, standard }: Numbers) -> Option<usize> {
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let (mut digits, mut marks) = (0, 0);
    for (i, byte) in rest.iter().enumerate() {
        if byte.is_ascii_digit() {
            digits += 1;
        } else if (*byte == mark || *byte == b'.') && marks == 0 {
            marks = 1;
        } else if *byte == b'E' && digits > 0 && standard == Standard::X12 {
            let exponent = &rest[i + 1..];
            let exponent = exponent.strip_prefix(b"-").unwrap_or(exponent);
            let good = !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit);
            return good.then_some(digits);
        } else {
            return None;
        }
    }
    let ends = standard == Standard::X12 || rest.last().is_some_and(u8::is_ascii_digit);
    (digits > 0 && ends).then_some(digits)
}

/// Returns true if a decimal has an exponent or leading zeros, which documents do not keep; both are rare.
fn has_odd_form(bytes: &[u8], min: u32, numbers: Numbers) -> bool {
    let has_zero = || bytes.strip_prefix(b"-").unwrap_or(bytes).starts_with(b"0");
    let may_be_odd = bytes.len() > 1 && numbers.standard == Standard::X12 && (has_zero() || bytes.contains(&b'E'));
    may_be_odd && number_form(bytes, min, numbers).is_some()
}

/// Returns the fault of a number's form: an exponent, or leading zeros beyond those of the least length. `0.5` has none.
///
/// Source: X12.6, numeric (N) and decimal (R) data elements. ISO 9735 allows leading zeros.
#[cold]
pub(super) fn number_form(bytes: &[u8], min: u32, numbers: Numbers) -> Option<ContentErrorKind> {
    if numbers.standard != Standard::X12 {
        return None;
    }
    if bytes.contains(&b'E') {
        return Some(ContentErrorKind::NumberForm { exponent: true });
    }
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_odd = matches!(rest, [b'0', b'0'..=b'9', ..]) && digits > min.max(1) as usize;
    is_odd.then_some(ContentErrorKind::NumberForm { exponent: false })
}

pub(super) fn is_letters(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b' ')
}

/// Returns true for a date in the form `YYMMDD` or `CCYYMMDD`.
#[inline]
pub(super) fn is_date(bytes: &[u8]) -> bool {
    match bytes.len() {
        8 => {
            let Some(block) = bytes.first_chunk::<8>() else { return false };
            let word = u64::from_le_bytes(*block);
            word_is_digits(word) && is_day(number_of_eight(word))
        }
        6 => bytes.iter().all(u8::is_ascii_digit) && is_day(20_000_000 + number(bytes)),
        _ => false,
    }
}

/// Returns true for the digits of a date in the form `YYMMDD` or `CCYYMMDD` whose month exists: only its day can be wrong.
pub(super) fn has_month(bytes: &[u8]) -> bool {
    matches!(bytes.len(), 6 | 8)
        && bytes.iter().all(u8::is_ascii_digit)
        && (1..=12).contains(&number(&bytes[bytes.len() - 4..bytes.len() - 2]))
}

/// Parses eight digits.
#[inline(always)]
fn number_of_eight(word: u64) -> u32 {
    let pairs = (word & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    ((fours & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32) as u32
}

pub(super) fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |n, digit| n * 10 + u32::from(digit.wrapping_sub(b'0')))
}

/// Returns true for a time in the form `HHMM` or `HHMMSS`, with up to two more digits.
#[inline]
pub(super) fn is_time(bytes: &[u8]) -> bool {
    (matches!(bytes.len(), 4 | 6 | 7 | 8))
        && bytes.iter().all(u8::is_ascii_digit)
        && number(&bytes[..2]) < 24
        && number(&bytes[2..4]) < 60
        && bytes.get(4..6).is_none_or(|seconds| number(seconds) < 60)
}

/// Form of dates, times and ranges for a format code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    /// `C` for `CCYYMMDD`, `Y` for `YYMMDD`, `M` for `CCYYMM`, `A` for `CCYY`, `h` for `HHMM`, `s` for `HHMMSS`; others are themselves.
    parts: &'static str,
    pub(super) expected: &'static str,
}

impl Period {
    pub(super) fn fits(self, bytes: &[u8]) -> bool {
        self.fits_by(bytes, is_date)
    }

    /// Returns true if its days have two digits of the year.
    pub(super) fn has_short_days(self) -> bool {
        self.parts.contains('Y')
    }

    /// Returns whether the text has this form, with another check of its dates.
    pub(super) fn fits_by(self, bytes: &[u8], is_date: impl Fn(&[u8]) -> bool) -> bool {
        let mut rest = bytes;
        for part in self.parts.bytes() {
            let len = match part {
                b'C' => 8,
                b'Y' | b'M' | b's' => 6,
                b'A' | b'h' => 4,
                _ => 1,
            };
            let Some((this, behind)) = rest.split_at_checked(len) else { return false };
            let digits = || this.iter().all(u8::is_ascii_digit);
            let good = match part {
                b'C' | b'Y' => is_date(this),
                b'M' => digits() && (1..=12).contains(&number(&this[4..])),
                b'A' => digits(),
                b'h' | b's' => is_time(this),
                other => this == [other],
            };
            if !good {
                return false;
            }
            rest = behind;
        }
        rest.is_empty()
    }
}

const fn period(parts: &'static str, expected: &'static str) -> Option<Period> {
    Some(Period { parts, expected })
}

const fn code(text: &str) -> u64 {
    let (bytes, mut word, mut i) = (text.as_bytes(), 0u64, 0);
    while i < bytes.len() {
        word |= (bytes[i] as u64) << (8 * i);
        i += 1;
    }
    word
}

/// Returns a code without blanks after it.
fn without_blanks(code: u64) -> u64 {
    let mut bytes = code.to_le_bytes();
    for byte in bytes.iter_mut().rev().skip_while(|byte| **byte == 0) {
        if *byte != b' ' {
            break;
        }
        *byte = 0;
    }
    u64::from_le_bytes(bytes)
}

/// Codes of X12 data element 1250 whose form is clear.
pub(super) fn x12_period(format: u64) -> Option<Period> {
    const D8: u64 = code("D8");
    const D6: u64 = code("D6");
    const RD8: u64 = code("RD8");
    const RD6: u64 = code("RD6");
    const DT: u64 = code("DT");
    const RDT: u64 = code("RDT");
    const TM: u64 = code("TM");
    const CM: u64 = code("CM");
    const CY: u64 = code("CY");
    match without_blanks(format) {
        D8 => period("C", "CCYYMMDD"),
        D6 => period("Y", "YYMMDD"),
        RD8 => period("C-C", "CCYYMMDD-CCYYMMDD"),
        RD6 => period("Y-Y", "YYMMDD-YYMMDD"),
        DT => period("Ch", "CCYYMMDDHHMM"),
        RDT => period("Ch-Ch", "CCYYMMDDHHMM-CCYYMMDDHHMM"),
        TM => period("h", "HHMM"),
        CM => period("M", "CCYYMM"),
        CY => period("A", "CCYY"),
        _ => None,
    }
}

/// Codes of EDIFACT data element 2379 whose form is clear.
pub(super) fn edifact_period(format: u64) -> Option<Period> {
    const P101: u64 = code("101");
    const P102: u64 = code("102");
    const P201: u64 = code("201");
    const P203: u64 = code("203");
    const P204: u64 = code("204");
    const P401: u64 = code("401");
    const P402: u64 = code("402");
    const P602: u64 = code("602");
    const P610: u64 = code("610");
    const P718: u64 = code("718");
    const P719: u64 = code("719");
    match without_blanks(format) {
        P101 => period("Y", "YYMMDD"),
        P102 => period("C", "CCYYMMDD"),
        P201 => period("Yh", "YYMMDDHHMM"),
        P203 => period("Ch", "CCYYMMDDHHMM"),
        P204 => period("Cs", "CCYYMMDDHHMMSS"),
        P401 => period("h", "HHMM"),
        P402 => period("s", "HHMMSS"),
        P602 => period("A", "CCYY"),
        P610 => period("M", "CCYYMM"),
        P718 => period("CC", "CCYYMMDDCCYYMMDD"),
        P719 => period("ChCh", "CCYYMMDDHHMMCCYYMMDDHHMM"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_days_and_times() {
        for n in 0..=255u8 {
            for at in 0..8 {
                let mut text = *b"12345678";
                text[at] = n;
                let all = text.iter().all(u8::is_ascii_digit);
                assert_eq!(word_is_digits(u64::from_le_bytes(text)), all, "{n} at {at}");
                let short = &text[..=at];
                if n != 0 {
                    assert_eq!(is_digits(Key::of(short)), short.iter().all(u8::is_ascii_digit), "{n} at {at}");
                }
            }
        }
        for (date, good) in [
            ("20240229", true),
            ("20230229", false),
            ("21000229", false),
            ("20000229", true),
            ("20241301", false),
            ("20240400", false),
            ("20240431", false),
            ("2024043A", false),
            ("240229", true),
            ("230229", false),
            ("2024022", false),
        ] {
            assert_eq!(is_date(date.as_bytes()), good, "{date}");
        }
        for (time, good) in [
            ("2359", true),
            ("2400", false),
            ("235960", false),
            ("12345", false),
            ("1234567", true),
            ("12345678", true),
        ] {
            assert_eq!(is_time(time.as_bytes()), good, "{time}");
        }
    }

    #[test]
    fn numbers() {
        for (text, digits) in [
            ("1", Some(1)),
            ("-12.50", Some(4)),
            (".5", Some(1)),
            ("5.", Some(1)),
            ("1,5", Some(2)),
            ("1.5.1", None),
            ("-", None),
            (".", None),
            ("+1", None),
            ("1E5", Some(1)),
            ("1E-5", Some(1)),
            ("1E", None),
            ("E5", None),
            ("1-", None),
        ] {
            let numbers = Numbers { mark: b',', standard: Standard::X12 };
            assert_eq!(decimal_digits(text.as_bytes(), numbers), digits, "{text}");
        }
        // An exponent, and a mark without a digit after it, were accepted as numbers of EDIFACT.
        for (text, digits) in
            [("12,5", Some(3)), ("-,5", Some(1)), ("12,", None), ("12.", None), ("1E3", None), ("7", Some(1))]
        {
            let numbers = Numbers { mark: b',', standard: Standard::Edifact };
            assert_eq!(decimal_digits(text.as_bytes(), numbers), digits, "{text}");
        }
    }

    #[test]
    fn periods() {
        let x12 = |format: &str, text: &str| x12_period(code(format)).is_none_or(|period| period.fits(text.as_bytes()));
        assert!(x12("D8", "20240101") && !x12("D8", "20240132") && !x12("D8", "202401011"));
        assert!(x12("RD8", "20240101-20240131") && !x12("RD8", "20240101"));
        assert!(x12("D8 ", "20240101") && !x12("D8 ", "20240132"), "blanks after a code do not count");
        assert!(x12("TM", "2359") && x12("DT", "202401012359") && x12("ZZ", "anything"));
        let edifact =
            |format: &str, text: &str| edifact_period(code(format)).is_none_or(|period| period.fits(text.as_bytes()));
        assert!(edifact("102", "20240101") && !edifact("102", "240101") && edifact("718", "2024010120240131"));
        assert!(!edifact("203", "202401012460") && edifact("999", "x"));
    }
}
