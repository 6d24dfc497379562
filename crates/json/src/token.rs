//! Strings and numbers of the JSON grammar, RFC 8259 sections 6 and 7.

use quayline_core::{Digits, Run};

use crate::fault::{JsonError, describe};
use crate::number::BEFORE;
use crate::text::block_at;
use quayline_charset::scan::{mask_digits, mask_eq, mask_json_special, mask_json_special_or_high};

/// Maximum number of digits of a number after its exponent was applied.
pub(crate) const DIGITS_MAX: usize = 38;

/// An error and its byte.
#[derive(Debug)]
pub(crate) struct Lexical {
    pub(crate) error: JsonError,
    pub(crate) at: usize,
}

/// A string: its content is `text[start..end]`, and its closing quote is at `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringToken {
    pub(crate) end: usize,
    pub(crate) form: Form,
}

/// Form of a string's content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Printable ASCII without escapes.
    Ascii,
    /// UTF-8 without escapes.
    Utf8,
    /// UTF-8 with escapes.
    Escaped,
}

/// Reads the string whose opening quote is before `start`.
#[inline(always)]
pub(crate) fn string(text: &[u8], start: usize) -> Result<StringToken, Lexical> {
    let mut at = start;
    while let Some(block) = text.get(at..).and_then(|text| text.first_chunk::<16>()) {
        let mask = mask_json_special_or_high(block) | mask_eq(block, 0x7f);
        if mask != 0 {
            let end = at + mask.trailing_zeros() as usize;
            if text[end] == b'"' {
                return Ok(StringToken { end, form: Form::Ascii });
            }
            return string_rest(text, start, end);
        }
        at += 16;
    }
    string_rest(text, start, at)
}

/// Reads the rest of a string of which `text[start..at]` is known to be printable ASCII without quote or backslash.
#[inline(never)]
fn string_rest(text: &[u8], start: usize, mut at: usize) -> Result<StringToken, Lexical> {
    let mut form = Form::Ascii;
    let mut plain = true;
    loop {
        let block = block_at(text, at);
        // Zeros fill the last block, so they look like a control character there.
        let mask = mask_json_special(&block);
        let stop = mask.trailing_zeros() as usize;
        plain &= block[..stop].iter().all(|byte| matches!(byte, 0x20..=0x7e));
        at += stop;
        if stop == 16 {
            continue;
        }
        match text.get(at) {
            Some(b'"') => break,
            Some(b'\\') => {
                form = Form::Escaped;
                at += 2;
            }
            Some(byte) => return Err(Lexical { error: JsonError::Control { byte: *byte }, at }),
            None => return Err(Lexical { error: JsonError::End { expected: "the end of a string" }, at: text.len() }),
        }
    }
    if !plain {
        if let Err(error) = core::str::from_utf8(&text[start..at]) {
            return Err(Lexical { error: JsonError::Utf8, at: start + error.valid_up_to() });
        }
        if form == Form::Ascii {
            form = Form::Utf8;
        }
    }
    Ok(StringToken { end: at, form })
}

/// Replaces the content of `out` by the characters of `raw`, the content of a string. `base` is the place of `raw` in the text.
pub(crate) fn unescape(raw: &[u8], base: usize, out: &mut Vec<u8>) -> Result<(), Lexical> {
    out.clear();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &raw[at..]) {
        out.extend_from_slice(&raw[at..at + next]);
        at += next;
        let wrong = |error| Lexical { error, at: base + at };
        let simple = match raw.get(at + 1) {
            Some(b'"') => b'"',
            Some(b'\\') => b'\\',
            Some(b'/') => b'/',
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let (char, len) = unicode_escape(&raw[at..]).map_err(wrong)?;
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                at += len;
                continue;
            }
            _ => return Err(wrong(JsonError::Escape)),
        };
        out.push(simple);
        at += 2;
    }
    out.extend_from_slice(&raw[at..]);
    Ok(())
}

/// Decodes the `\uXXXX`, or the surrogate pair of two of them, at the start of `raw`. Returns the character and the number of bytes used.
fn unicode_escape(raw: &[u8]) -> Result<(char, usize), JsonError> {
    let unit = |at: usize| -> Option<u32> {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    let first = unit(0).ok_or(JsonError::Escape)?;
    if !(0xd800..0xe000).contains(&first) {
        return Ok((char::from_u32(first).ok_or(JsonError::Surrogate)?, 6));
    }
    let second = unit(6).unwrap_or(0);
    if first >= 0xdc00 || !(0xdc00..0xe000).contains(&second) {
        return Err(JsonError::Surrogate);
    }
    let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    Ok((char::from_u32(code).ok_or(JsonError::Surrogate)?, 12))
}

/// A number: the places of its parts in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) start: usize,
    pub(crate) end: usize,
    whole: usize,
    whole_len: usize,
    fraction: usize,
    fraction_len: usize,
    exponent: Option<i32>,
}

/// Reads the number at `start`, where a minus sign or a digit is expected.
pub(crate) fn number(text: &[u8], start: usize) -> Result<Number, Lexical> {
    let whole = start + usize::from(text.get(start) == Some(&b'-'));
    let whole_len = count_digits(text, whole);
    let mut end = whole + whole_len;
    if whole_len == 0 {
        return Err(no_digit(text, end));
    }
    if whole_len > 1 && text[whole] == b'0' {
        return Err(Lexical { error: JsonError::LeadingZero, at: whole });
    }
    let mut number = Number { start, end, whole, whole_len, fraction: end, fraction_len: 0, exponent: None };
    if text.get(end) == Some(&b'.') {
        number.fraction = end + 1;
        number.fraction_len = count_digits(text, end + 1);
        end += 1 + number.fraction_len;
        if number.fraction_len == 0 {
            return Err(no_digit(text, end));
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let (exponent, behind) = exponent(text, end + 1)?;
        number.exponent = Some(exponent);
        end = behind;
    }
    number.end = end;
    Ok(number)
}

/// A plain decimal whose text after the sign fits 15 bytes.
pub(crate) struct ShortNumber {
    /// Digits without the decimal point; bytes beyond `len` are undefined.
    pub(crate) digits: [u8; 16],
    pub(crate) len: usize,
    pub(crate) scale: i16,
    pub(crate) negative: bool,
    /// The byte after it.
    pub(crate) end: usize,
}

/// Reads the number at `start` if it is a short one. Returns `None` also if it is not a number or the text ends soon after it.
#[inline(always)]
pub(crate) fn short_number(text: &[u8], start: usize) -> Option<ShortNumber> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let block = text.get(first..)?.first_chunk::<16>()?;
    let others = u32::from(!mask_digits(block)) | 1 << 16;
    let whole = others.trailing_zeros() as usize;
    if whole == 0 || whole == 16 || (whole > 1 && block[0] == b'0') {
        return None;
    }
    let all = u128::from_le_bytes(*block);
    let (digits, fraction, stop) = if block[whole] == b'.' {
        let fraction = (others >> (whole + 1)).trailing_zeros() as usize;
        let stop = whole + 1 + fraction;
        let before = BEFORE[whole];
        (all & before | all >> 8 & !before, fraction, stop)
    } else {
        (all, 0, whole)
    };
    if stop == 16 || stop == whole + 1 || matches!(block[stop], b'e' | b'E') {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 16")]
    let scale = fraction as i16;
    Some(ShortNumber { digits: digits.to_le_bytes(), len: whole + fraction, scale, negative, end: first + stop })
}

#[inline(always)]
fn count_digits(text: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let other = !mask_digits(&block_at(text, at));
        if other != 0 {
            return at + other.trailing_zeros() as usize - start;
        }
        at += 16;
    }
}

/// Reads the exponent whose sign or first digit is at `at`, and returns it with the byte after it. An exponent beyond any limit
/// stays beyond it.
#[inline(never)]
fn exponent(text: &[u8], at: usize) -> Result<(i32, usize), Lexical> {
    let sign = text.get(at).filter(|byte| matches!(byte, b'+' | b'-'));
    let start = at + usize::from(sign.is_some());
    let len = count_digits(text, start);
    if len == 0 {
        return Err(no_digit(text, start));
    }
    let magnitude =
        text[start..start + len].iter().fold(0i32, |n, digit| (n * 10 + i32::from(digit - b'0')).min(1_000_000));
    Ok((if sign == Some(&b'-') { -magnitude } else { magnitude }, start + len))
}

#[cold]
fn no_digit(text: &[u8], at: usize) -> Lexical {
    let expected = "a digit";
    let error = match text.get(at) {
        None => JsonError::End { expected },
        Some(byte) => JsonError::Unexpected { expected, found: describe(*byte) },
    };
    Lexical { error, at }
}

impl Number {
    /// Returns the number as an exact decimal, in `text` or, if a point or an exponent has to be removed, in `scratch`.
    pub(crate) fn digits<'a>(&self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<Digits<'a>, JsonError> {
        let negative = self.whole > self.start;
        if self.exponent.is_some() {
            return self.without_exponent(text, scratch);
        }
        if self.fraction_len == 0 {
            return Ok(Digits { digits: Run::new(&text[self.whole..], self.whole_len), negative, scale: 0 });
        }
        self.join(text, scratch);
        let scale = i16::try_from(self.fraction_len).map_err(|_| JsonError::Digits { limit: i16::MAX as usize })?;
        Ok(Digits { digits: scratch.as_slice().into(), negative, scale })
    }

    #[inline(never)]
    fn without_exponent<'a>(&self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<Digits<'a>, JsonError> {
        let too_many = JsonError::Digits { limit: DIGITS_MAX };
        self.join(text, scratch);
        let zeros = scratch.iter().position(|digit| *digit != b'0').unwrap_or(scratch.len());
        scratch.drain(..zeros);
        let mut scale =
            i64::try_from(self.fraction_len).map_err(|_| too_many.clone())? - i64::from(self.exponent.unwrap_or(0));
        if scratch.is_empty() {
            scratch.push(b'0');
            scale = 0;
        }
        if scale > DIGITS_MAX as i64 || scale < -(DIGITS_MAX as i64) {
            return Err(too_many);
        }
        while scale < 0 {
            scratch.push(b'0');
            scale += 1;
        }
        if scratch.len() > DIGITS_MAX {
            return Err(too_many);
        }
        let scale = i16::try_from(scale).map_err(|_| too_many)?;
        Ok(Digits { digits: scratch.as_slice().into(), negative: self.whole > self.start, scale })
    }

    /// Appends all digits to `scratch` without the decimal point.
    fn join(&self, text: &[u8], scratch: &mut Vec<u8>) {
        scratch.clear();
        scratch.extend_from_slice(&text[self.whole..self.whole + self.whole_len]);
        scratch.extend_from_slice(&text[self.fraction..self.fraction + self.fraction_len]);
    }
}
