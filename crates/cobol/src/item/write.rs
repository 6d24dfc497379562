//! Writing any elementary item.

use quayline_charset::{Charset, Utf16Order};
use quayline_core::{Run, Value};

use super::{Scratch, edited, initial, loaded, read};
use crate::layout::{ByteOrder, Encoding, FloatFormat, ZonedSign};
use crate::plan::{Item, Plan};
use crate::{BadValue, FaultKind, NullAs};

/// Maximum number of digits of a value; longer values are refused without being parsed.
const DIGITS_MAX: usize = 64;

/// A number aligned to nothing yet: digits, sign, scale.
struct Number<'a> {
    digits: &'a [u8],
    negative: bool,
    scale: i32,
}

/// Writes `value` into the item's bytes.
#[inline]
pub(crate) fn encode_item(plan: &Plan, item: &Item, value: Value<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    match (&item.encoding, value) {
        (Encoding::Text { justified: false, .. }, Value::Ascii(run))
            if plan.text.ascii_whole && !is_raw_text(plan, run.bytes(), bytes.len()) =>
        {
            ascii_text(plan, run.bytes(), bytes)
        }
        (_, Value::Null) => null(plan, item, bytes),
        (_, Value::Raw(raw)) => raw_bytes(raw, bytes),
        (
            Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::Boolean,
            Value::Text(run) | Value::Ascii(run),
        )
        | (Encoding::National { .. } | Encoding::Utf8, Value::Text(run) | Value::Ascii(run))
            if is_raw_text(plan, run.bytes(), bytes.len()) =>
        {
            hex_into(run.bytes(), bytes).ok_or(FaultKind::BadHex { bytes: bytes.len() })
        }
        (Encoding::Text { justified, .. }, value) => text(plan, value, *justified, bytes),
        (Encoding::TextEdited { mask }, value) => text_edited(plan, mask, value, bytes),
        (Encoding::Boolean, value) => boolean(plan, value, bytes),
        (Encoding::National { justified }, value) => national(value, *justified, bytes),
        (Encoding::Utf8, value) => utf8(value, bytes),
        (Encoding::Dbcs, Value::Bytes(raw)) => raw_bytes(raw, bytes),
        (Encoding::Dbcs, Value::Text(run) | Value::Ascii(run)) => {
            hex_into(run.bytes(), bytes).ok_or(FaultKind::BadHex { bytes: bytes.len() })
        }
        (Encoding::Float32(_) | Encoding::Float64(_), Value::Float32(x)) => float(item, f64::from(x), bytes),
        (Encoding::Float32(_) | Encoding::Float64(_), Value::Float64(x)) => float(item, x, bytes),
        (_, value) => number(plan, item, value, bytes),
    }
}

/// Returns whether `bytes`, an item that was written from `value`, are a float that does not give the value's number back.
#[inline]
pub(crate) fn is_nearest_float(plan: &Plan, item: &Item, value: Value<'_>, bytes: &[u8]) -> bool {
    matches!(item.encoding, Encoding::Float32(_) | Encoding::Float64(_))
        && read(plan, item, &loaded(plan, bytes), 0, &mut Scratch::default()).is_ok_and(|written| {
            !quayline_core::is_kept_by_float(value, written) || is_below_normalized(item, value, written, bytes)
        })
}

/// Returns whether a hexadecimal float below the normalized ones differs from its number by more than a normalized one may. Below them, each power
/// of two costs a bit of the fraction.
fn is_below_normalized(item: &Item, value: Value<'_>, written: Value<'_>, bytes: &[u8]) -> bool {
    // A normalized fraction of 24 bits has at least 21; one of 56 bits has every double.
    let allowed = match item.encoding {
        Encoding::Float32(FloatFormat::Hexadecimal) => f64::from(f32::EPSILON) * 4.0,
        Encoding::Float64(FloatFormat::Hexadecimal) => 0.0,
        _ => return false,
    };
    let is_unnormalized = matches!(bytes, [first, second, ..] if first & 0x7f == 0 && second & 0xf0 == 0);
    let written = match written {
        Value::Float32(x) => x.into(),
        Value::Float64(x) => x,
        _ => return false,
    };
    is_unnormalized && quayline_core::nearest_float(value).is_some_and(|x| (written - x).abs() > allowed * x.abs())
}

/// Returns the record byte of a character, or the space if it has none.
pub(crate) fn char_byte(plan: &Plan, c: char) -> u8 {
    match plan.charset {
        Charset::SingleByte(page) => page.from_char(c).unwrap_or(plan.text.space),
        _ => u8::try_from(c).unwrap_or(b' '),
    }
}

/// Reads hexadecimal digits, with or without `0x` in front, that fill `to` exactly.
pub(crate) fn hex_into(hex: &[u8], to: &mut [u8]) -> Option<()> {
    let hex = hex.strip_prefix(b"0x").unwrap_or(hex);
    if hex.len() != 2 * to.len() {
        return None;
    }
    let nibble = |c: u8| char::from(c).to_digit(16).and_then(|n| u8::try_from(n).ok());
    for (to, pair) in to.iter_mut().zip(hex.chunks_exact(2)) {
        *to = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(())
}

/// Writes the bytes of null, if a rule or policy defines them.
fn null(plan: &Plan, item: &Item, bytes: &mut [u8]) -> Result<(), FaultKind> {
    match item.null {
        NullAs::Error => return Err(FaultKind::NullValue),
        // In these encodings spaces are a number that nobody sent.
        NullAs::Spaces
            if matches!(
                item.encoding,
                Encoding::Binary { .. } | Encoding::Float32(_) | Encoding::Float64(_) | Encoding::Dbcs
            ) =>
        {
            return Err(FaultKind::NullValue);
        }
        NullAs::Spaces => match item.encoding {
            Encoding::National { .. } => fill(bytes, Charset::Utf16(Utf16Order::BigEndian).space()),
            Encoding::Utf8 => bytes.fill(b' '),
            Encoding::Text { .. } => fill(bytes, plan.charset.space()),
            _ => bytes.fill(plan.text.space),
        },
        NullAs::Zeros => initial(plan, item, None, bytes),
        NullAs::LowValues => bytes.fill(0),
        NullAs::Value => initial(plan, item, plan.layout.field(item.field).value.as_ref(), bytes),
    }
    Ok(())
}

fn raw_bytes(raw: &[u8], bytes: &mut [u8]) -> Result<(), FaultKind> {
    if raw.len() != bytes.len() {
        return Err(FaultKind::BadHex { bytes: bytes.len() });
    }
    bytes.copy_from_slice(raw);
    Ok(())
}

#[inline]
fn ascii_text(plan: &Plan, text: &[u8], bytes: &mut [u8]) -> Result<(), FaultKind> {
    let text = if text.len() > bytes.len() { trim_spaces(text, bytes.len())? } else { text };
    let (front, rest) = bytes.split_at_mut(text.len());
    for (to, from) in front.iter_mut().zip(text) {
        *to = plan.text.from_ascii[usize::from(from & 0x7f)];
    }
    rest.fill(plan.text.space);
    Ok(())
}

/// Cuts text that is longer than its field, if the excess is spaces.
fn trim_spaces(text: &[u8], max: usize) -> Result<&[u8], FaultKind> {
    let len = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    if len > max { Err(FaultKind::TextTooLong { found: len, max, unit: "characters" }) } else { Ok(&text[..max]) }
}

/// Returns a value as text.
fn as_str<'a>(value: Value<'a>, scratch: &'a mut Vec<u8>) -> Result<&'a str, FaultKind> {
    let bytes = match value {
        Value::Text(run) | Value::Ascii(run) => run.bytes(),
        Value::Bool(true) => b"true",
        Value::Bool(false) => b"false",
        Value::Bytes(raw) => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            scratch.extend(raw.iter().flat_map(|b| [HEX[usize::from(b >> 4)], HEX[usize::from(b & 0x0f)]]));
            scratch
        }
        number => {
            quayline_core::write_number(scratch, number)
                .ok_or(FaultKind::WrongKind { expected: "text", found: "no text" })?;
            scratch
        }
    };
    core::str::from_utf8(bytes)
        .map_err(|_| FaultKind::WrongKind { expected: "text", found: "bytes that are not UTF-8" })
}

fn text(plan: &Plan, value: Value<'_>, justified: bool, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut scratch = Vec::new();
    let text = as_str(value, &mut scratch)?;
    let mut encoded = Vec::with_capacity(bytes.len());
    plan.charset.encode_into(text, &mut encoded).map_err(|e| FaultKind::Unmappable {
        code: u32::from(e.char),
        position: e.index + 1,
        page: plan.charset.name(),
    })?;
    let space = plan.charset.space();
    if encoded.len() > bytes.len() {
        let text = encoded.chunks(space.len()).rposition(|unit| unit != space).map_or(0, |i| (i + 1) * space.len());
        if text > bytes.len() {
            // In code pages of one byte for each character, bytes are characters.
            let unit = if let Charset::SingleByte(_) = plan.charset { "characters" } else { "bytes" };
            return Err(FaultKind::TextTooLong { found: text, max: bytes.len(), unit });
        }
        encoded.truncate(bytes.len());
    }
    let blanks = bytes.len() - encoded.len();
    let (front, back) = if justified { (blanks, 0) } else { (0, blanks) };
    let end = bytes.len() - back;
    fill(&mut bytes[..front], space);
    bytes[front..end].copy_from_slice(&encoded);
    fill(&mut bytes[end..], space);
    Ok(())
}

/// Fills with a character of one or more bytes.
fn fill(bytes: &mut [u8], unit: &[u8]) {
    bytes.iter_mut().zip(unit.iter().cycle()).for_each(|(to, from)| *to = *from);
}

/// Returns the text if it is in raw form (`0x…`) and a policy uses that form.
fn raw_form<'a>(plan: &Plan, text: &'a str) -> Option<&'a [u8]> {
    (keeps_raw(plan) && text.starts_with("0x")).then_some(text.as_bytes())
}

/// Returns whether text for a field of `size` bytes is the raw form of its bytes. Text of that length would not fit the field, so
/// no text is mistaken for it.
pub(crate) fn is_raw_text(plan: &Plan, text: &[u8], size: usize) -> bool {
    text.len() == 2 + 2 * size && text.starts_with(b"0x") && keeps_raw(plan)
}

/// Returns true if documents show bytes that are not a value of their field, and may contain them.
pub(crate) fn keeps_raw(plan: &Plan) -> bool {
    [plan.policies.invalid, plan.policies.blank, plan.policies.low_values].contains(&BadValue::Raw)
}

fn text_edited(plan: &Plan, mask: &[Option<char>], value: Value<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut scratch = Vec::new();
    let text = as_str(value, &mut scratch)?;
    if text.bytes().all(|b| b == b' ') && text.len() <= mask.len() {
        bytes.fill(plan.text.space);
        return Ok(());
    }
    let byte_of = |c: char, position: usize, out: &mut Vec<u8>| {
        let mut utf8 = [0; 4];
        plan.charset.encode_into(c.encode_utf8(&mut utf8), out).map_err(|_| FaultKind::Unmappable {
            code: u32::from(c),
            position,
            page: plan.charset.name(),
        })
    };
    // The picture has a byte for each position, and a character of UTF-8 can have several.
    let mut encoded = Vec::with_capacity(mask.len());
    for (i, c) in text.chars().enumerate() {
        byte_of(c, i + 1, &mut encoded)?;
    }
    let mut insertion = Vec::with_capacity(1);
    for (i, (inserted, to)) in mask.iter().zip(bytes.iter_mut()).enumerate() {
        // Trailing blanks were cut on decode, so a text may end early.
        let byte = encoded.get(i).copied();
        let Some(inserted) = inserted else {
            *to = byte.unwrap_or(plan.text.space);
            continue;
        };
        insertion.clear();
        byte_of(*inserted, i + 1, &mut insertion)?;
        match (&insertion[..], byte) {
            ([inserted], None) => *to = *inserted,
            ([inserted], Some(byte)) if *inserted == byte => *to = byte,
            _ => return Err(FaultKind::BadInsertion { position: i + 1 }),
        }
    }
    if encoded.iter().skip(mask.len()).any(|byte| *byte != plan.text.space) {
        let unit = if encoded.len() == text.chars().count() { "characters" } else { "bytes" };
        return Err(FaultKind::TextTooLong { found: encoded.len(), max: mask.len(), unit });
    }
    Ok(())
}

fn boolean(plan: &Plan, value: Value<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut scratch = Vec::new();
    let text = match value {
        Value::Bool(x) => {
            if x {
                "1"
            } else {
                "0"
            }
        }
        other => as_str(other, &mut scratch)?,
    };
    if text.len() > bytes.len() || !text.bytes().all(|b| matches!(b, b'0' | b'1')) {
        return Err(FaultKind::WrongKind { expected: "zeros and ones", found: "other text" });
    }
    bytes.fill(plan.text.zero);
    for (to, from) in bytes.iter_mut().zip(text.bytes()) {
        *to = plan.text.zero + (from - b'0');
    }
    Ok(())
}

fn national(value: Value<'_>, justified: bool, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut scratch = Vec::new();
    let text = as_str(value, &mut scratch)?;
    let mut encoded = Vec::with_capacity(bytes.len());
    Charset::Utf16(Utf16Order::BigEndian).encode_into(text, &mut encoded).map_err(|e| FaultKind::Unmappable {
        code: u32::from(e.char),
        position: e.index + 1,
        page: "UTF-16BE",
    })?;
    // Blanks beyond the field are no text; those within it belong to text that is justified.
    while encoded.len() > bytes.len() && encoded.ends_with(&[0x00, 0x20]) {
        encoded.truncate(encoded.len() - 2);
    }
    if encoded.len() > bytes.len() {
        return Err(FaultKind::TextTooLong { found: encoded.len() / 2, max: bytes.len() / 2, unit: "characters" });
    }
    let blanks = bytes.len() - encoded.len();
    let front = if justified { blanks } else { 0 };
    for pair in bytes.chunks_exact_mut(2) {
        pair.copy_from_slice(&[0x00, 0x20]);
    }
    bytes[front..front + encoded.len()].copy_from_slice(&encoded);
    Ok(())
}

fn utf8(value: Value<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut scratch = Vec::new();
    let text = as_str(value, &mut scratch)?.trim_end_matches(' ');
    if text.len() > bytes.len() {
        return Err(FaultKind::TextTooLong { found: text.len(), max: bytes.len(), unit: "bytes" });
    }
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[text.len()..].fill(b' ');
    Ok(())
}

fn number(plan: &Plan, item: &Item, value: Value<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut buffer = [b'0'; DIGITS_MAX];
    let number = match value {
        Value::Digits(d) => Number { digits: d.digits.bytes(), negative: d.negative, scale: i32::from(d.scale) },
        Value::Int(n, scale) => {
            Number { digits: itoa(u128::from(n.unsigned_abs()), &mut buffer), negative: n < 0, scale: i32::from(scale) }
        }
        Value::Decimal(d) => Number {
            digits: itoa(d.unscaled.unsigned_abs(), &mut buffer),
            negative: d.unscaled < 0,
            scale: i32::from(d.scale),
        },
        Value::Text(run) | Value::Ascii(run) => {
            let text = run.bytes().trim_ascii();
            if text.is_empty() {
                return null(plan, item, bytes);
            }
            if let Ok(text) = core::str::from_utf8(text)
                && let Some(raw) = raw_form(plan, text)
            {
                return hex_into(raw, bytes).ok_or(FaultKind::BadHex { bytes: bytes.len() });
            }
            parse(text, &mut buffer).ok_or(FaultKind::NotANumber)?
        }
        Value::Float32(x) => return number_text(plan, item, &format!("{x:e}"), bytes),
        Value::Float64(x) => return number_text(plan, item, &format!("{x:e}"), bytes),
        Value::Bool(_) => return Err(FaultKind::WrongKind { expected: "a number", found: "a truth value" }),
        _ => return Err(FaultKind::WrongKind { expected: "a number", found: "bytes" }),
    };
    write_number(plan, item, &number, bytes)
}

fn number_text(plan: &Plan, item: &Item, text: &str, bytes: &mut [u8]) -> Result<(), FaultKind> {
    number(plan, item, Value::Text(Run::from(text.as_bytes())), bytes)
}

fn write_number(plan: &Plan, item: &Item, number: &Number<'_>, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let mut aligned = [b'0'; DIGITS_MAX];
    let negative = number.negative;
    match &item.encoding {
        Encoding::Zoned { digits, scale, sign, blank_when_zero } => {
            let digits = align(number, *digits, *scale, &mut aligned)?;
            let zero = digits.iter().all(|d| *d == b'0');
            if *blank_when_zero && zero {
                bytes.fill(plan.text.space);
                return Ok(());
            }
            zoned(plan, digits, negative, zero, *sign, bytes)
        }
        Encoding::Packed { digits, scale, signed } => {
            let n = usize::from(*digits);
            let digits = align(number, *digits, *scale, &mut aligned[..n])?;
            let zero = digits.iter().all(|d| *d == b'0');
            if negative && !signed && !zero {
                return Err(FaultKind::NegativeUnsigned);
            }
            let sign = match (signed, negative) {
                (true, false) => 0x0c,
                (true, true) => 0x0d,
                (false, _) => 0x0f,
            };
            pack(digits, Some(sign), bytes);
            Ok(())
        }
        Encoding::PackedUnsigned { digits, scale } => {
            let digits = align(number, *digits, *scale, &mut aligned)?;
            if negative && digits.iter().any(|d| *d != b'0') {
                return Err(FaultKind::NegativeUnsigned);
            }
            pack(digits, None, bytes);
            Ok(())
        }
        Encoding::Binary { digits, scale, signed, order, full_range } => {
            let truncate = !full_range && plan.layout.dialect.binary_truncate && *digits > 0;
            let max = if truncate { *digits } else { 39 };
            let digits = align(number, max, *scale, &mut aligned)?;
            binary(digits, negative, *signed, *order, bytes)
        }
        Encoding::Edited(picture) => {
            let digits = align(number, picture.digits, picture.scale, &mut aligned)?;
            use crate::layout::EditSymbol::{Credit, Debit, FloatMinus, FloatPlus, Minus, Plus};
            let signed =
                picture.symbols.iter().any(|s| matches!(s, Credit | Debit | FloatMinus | FloatPlus | Minus | Plus));
            if negative && !signed && digits.iter().any(|d| *d != b'0') {
                return Err(FaultKind::NegativeUnsigned);
            }
            let mut chars = Vec::with_capacity(bytes.len());
            edited::edit(picture, digits, negative, &mut chars);
            for (position, (to, c)) in (1..).zip(bytes.iter_mut().zip(chars)) {
                let byte = match plan.charset {
                    Charset::SingleByte(page) => page.from_char(c),
                    _ => u8::try_from(c).ok().filter(u8::is_ascii),
                };
                let page = plan.charset.name();
                *to = byte.ok_or(FaultKind::Unmappable { code: u32::from(c), position, page })?;
            }
            Ok(())
        }
        Encoding::Float32(_) | Encoding::Float64(_) => {
            let mut text = Vec::new();
            if negative {
                text.push(b'-');
            }
            text.extend_from_slice(number.digits);
            let exponent = format!("e{}", -number.scale);
            text.extend_from_slice(exponent.as_bytes());
            let text = core::str::from_utf8(&text).map_err(|_| FaultKind::NotANumber)?;
            // An IEEE single is the nearest to the decimal number, not to the nearest double.
            let x = match item.encoding {
                Encoding::Float32(FloatFormat::IeeeBig | FloatFormat::IeeeLittle) => text.parse::<f32>().map(f64::from),
                _ => text.parse::<f64>(),
            };
            let x = x.map_err(|_| FaultKind::NotANumber)?;
            if x == 0.0 && number.digits.iter().any(|digit| *digit != b'0') {
                return Err(FaultKind::OutOfRange { bytes: bytes.len() });
            }
            float(item, x, bytes)
        }
        _ => Err(FaultKind::WrongKind { expected: "text", found: "a number" }),
    }
}

/// Aligns the number's digits at `scale`, right-aligned in `digits` positions at the start of `out`.
#[inline]
fn align<'a>(number: &Number<'_>, digits: u16, scale: i16, out: &'a mut [u8]) -> Result<&'a [u8], FaultKind> {
    let width = usize::from(digits);
    let shift = i32::from(scale) - number.scale;
    let mut source = number.digits;
    let mut zeros = 0;
    if shift < 0 {
        let cut = usize::try_from(-shift).unwrap_or(usize::MAX).min(source.len());
        let (keep, dropped) = source.split_at(source.len() - cut);
        if dropped.iter().any(|d| *d != b'0') {
            return Err(FaultKind::TooManyDecimals { max: scale });
        }
        source = keep;
    } else {
        zeros = usize::try_from(shift).unwrap_or(0);
    }
    if source.len() + zeros > width {
        let first = source.iter().position(|d| *d != b'0').unwrap_or(source.len());
        source = &source[first..];
        if source.is_empty() {
            zeros = 0;
        }
        if source.len() + zeros > width {
            let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX) - i64::from(scale);
            return Err(FaultKind::TooManyDigits { found: whole(source.len() + zeros), max: whole(width) });
        }
    }
    let out = &mut out[..width];
    let end = width - zeros;
    let start = end - source.len();
    out[..start].fill(b'0');
    out[start..end].copy_from_slice(source);
    out[end..].fill(b'0');
    Ok(out)
}

#[inline]
fn zoned(
    plan: &Plan,
    digits: &[u8],
    negative: bool,
    zero: bool,
    sign: ZonedSign,
    bytes: &mut [u8],
) -> Result<(), FaultKind> {
    let code = &plan.text;
    let sign_char = if negative { code.minus } else { code.plus };
    let over = if negative { &plan.sign.minus } else { &plan.sign.plus };
    let last = bytes.len() - 1;
    let body = match sign {
        ZonedSign::Unsigned if negative && !zero => return Err(FaultKind::NegativeUnsigned),
        ZonedSign::Unsigned | ZonedSign::TrailingOverpunch | ZonedSign::LeadingOverpunch => &mut bytes[..],
        ZonedSign::TrailingSeparate => {
            bytes[last] = sign_char;
            &mut bytes[..last]
        }
        ZonedSign::LeadingSeparate => {
            bytes[0] = sign_char;
            &mut bytes[1..]
        }
    };
    for (to, digit) in body.iter_mut().zip(digits) {
        *to = code.zero + (digit & 0x0f);
    }
    match sign {
        ZonedSign::TrailingOverpunch => body[last] = over[usize::from(digits[last] & 0x0f)],
        ZonedSign::LeadingOverpunch => body[0] = over[usize::from(digits[0] & 0x0f)],
        _ => {}
    }
    Ok(())
}

/// Packs digits from the right, followed by a sign nibble if there is one.
#[inline]
fn pack(digits: &[u8], sign: Option<u8>, bytes: &mut [u8]) {
    let mut digits = digits.iter().rev().map(|d| d & 0x0f);
    let mut low = sign.or_else(|| digits.next());
    for byte in bytes.iter_mut().rev() {
        let high = digits.next().unwrap_or(0);
        *byte = high << 4 | low.unwrap_or(0);
        low = digits.next();
    }
}

fn binary(digits: &[u8], negative: bool, signed: bool, order: ByteOrder, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let out_of_range = FaultKind::OutOfRange { bytes: bytes.len() };
    let mut magnitude: u128 = 0;
    for d in digits {
        let next = magnitude.checked_mul(10).and_then(|m| m.checked_add(u128::from(d & 0x0f)));
        magnitude = next.ok_or_else(|| out_of_range.clone())?;
    }
    if negative && !signed && magnitude != 0 {
        return Err(FaultKind::NegativeUnsigned);
    }
    let bits = u32::try_from(8 * bytes.len()).unwrap_or(128);
    let limit = if signed { 1u128 << (bits - 1) } else { u128::MAX >> (128 - bits) };
    let fits = match (signed, negative) {
        (true, true) => magnitude <= limit,
        (true, false) => magnitude < limit,
        (false, _) => magnitude <= limit,
    };
    if !fits {
        return Err(out_of_range);
    }
    let word = if negative { magnitude.wrapping_neg() } else { magnitude };
    let big = word.to_be_bytes();
    let from = &big[16 - bytes.len()..];
    match order {
        ByteOrder::Big => bytes.copy_from_slice(from),
        ByteOrder::Little => bytes.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from),
    }
    Ok(())
}

fn float(item: &Item, x: f64, bytes: &mut [u8]) -> Result<(), FaultKind> {
    if !x.is_finite() {
        return Err(FaultKind::NotFinite);
    }
    let out_of_range = FaultKind::OutOfRange { bytes: bytes.len() };
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest single is what COMP-1 means")]
    let short = x as f32;
    if short == 0.0
        && x != 0.0
        && matches!(item.encoding, Encoding::Float32(FloatFormat::IeeeBig | FloatFormat::IeeeLittle))
    {
        return Err(out_of_range);
    }
    match item.encoding {
        Encoding::Float32(FloatFormat::IeeeBig) if short.is_finite() => bytes.copy_from_slice(&short.to_be_bytes()),
        Encoding::Float32(FloatFormat::IeeeLittle) if short.is_finite() => bytes.copy_from_slice(&short.to_le_bytes()),
        Encoding::Float64(FloatFormat::IeeeBig) => bytes.copy_from_slice(&x.to_be_bytes()),
        Encoding::Float64(FloatFormat::IeeeLittle) => bytes.copy_from_slice(&x.to_le_bytes()),
        Encoding::Float32(FloatFormat::Hexadecimal) => {
            let word = hexadecimal(x, 24).ok_or(out_of_range)?;
            let word = u32::try_from(word).map_err(|_| FaultKind::OutOfRange { bytes: 4 })?;
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Encoding::Float64(FloatFormat::Hexadecimal) => {
            bytes.copy_from_slice(&hexadecimal(x, 56).ok_or(out_of_range)?.to_be_bytes());
        }
        _ => return Err(out_of_range),
    }
    Ok(())
}

/// Returns sign, excess-64 exponent of 16 and `bits` of fraction (24 or 56), rounded half away from zero; `None` beyond 16^63, and for
/// values other than zero that would become zero. The result is normalised, except for values that only an unnormalised fraction can hold.
fn hexadecimal(x: f64, bits: u32) -> Option<u64> {
    let sign = u64::from(x.is_sign_negative()) << (bits + 7);
    if x == 0.0 {
        return Some(sign);
    }
    let word = x.to_bits();
    let exponent = i32::try_from((word >> 52) & 0x7ff).ok()?;
    let (mut mantissa, mut power) = match exponent {
        0 => (word & 0x000f_ffff_ffff_ffff, -1074),
        _ => (word & 0x000f_ffff_ffff_ffff | 1 << 52, exponent - 1075),
    };
    let lead = mantissa.leading_zeros() - 11;
    mantissa <<= lead;
    power -= i32::try_from(lead).ok()?;
    // x = 0.1… × 2^top in binary; the hexadecimal exponent is the next multiple of four.
    let top = power + 53;
    let sixteen = top.div_euclid(4) + i32::from(top.rem_euclid(4) != 0);
    let right = u32::try_from(4 * sixteen - top).ok()?;
    let mut fraction = (mantissa << 3) >> right;
    let mut sixteen = sixteen;
    if bits == 24 {
        fraction = (fraction + (1 << 31)) >> 32;
        if fraction >> 24 != 0 {
            fraction >>= 4;
            sixteen += 1;
        }
    }
    let biased = sixteen + 64;
    if biased < 0 {
        // Below the normalised range the fraction has leading zeros.
        let cut = 4 * biased.unsigned_abs();
        let rounded = if cut <= bits { (fraction + (1 << (cut - 1))) >> cut } else { 0 };
        return (rounded != 0).then_some(sign | rounded);
    }
    if (biased, fraction, bits) == (128, 1 << 52, 56) {
        // 16^63 itself: the double that is nearest to the largest number, which reads as it.
        return Some(sign | ((1 << 63) - 1));
    }
    let biased = u64::try_from(biased).ok().filter(|b| *b < 128)?;
    Some(sign | biased << bits | fraction)
}

/// Writes the decimal digits of `n` at the end of `buffer`.
fn itoa(mut n: u128, buffer: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + u8::try_from(n % 10).unwrap_or(0);
        n /= 10;
        if n == 0 {
            return &buffer[at..];
        }
    }
}

/// Parses `[+-]digits[.digits][e[+-]digits]`.
fn parse<'a>(text: &[u8], buffer: &'a mut [u8; DIGITS_MAX]) -> Option<Number<'a>> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], core::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let mut count = 0;
    let mut scale = 0i32;
    let mut point = false;
    for b in mantissa {
        match b {
            b'0'..=b'9' => {
                if count == 0 && *b == b'0' && !point {
                    continue;
                }
                *buffer.get_mut(count)? = *b;
                count += 1;
                scale += i32::from(point);
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if !mantissa.iter().any(u8::is_ascii_digit) {
        return None;
    }
    if count == 0 {
        buffer[0] = b'0';
        count = 1;
    }
    let scale = scale.checked_sub(exponent).filter(|s| s.unsigned_abs() < 100_000)?;
    Some(Number { digits: &buffer[..count], negative, scale })
}
