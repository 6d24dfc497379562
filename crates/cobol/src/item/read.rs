//! Reads any elementary item, with the exact reason if its bytes are not a value.

use quayline_charset::{Charset, Utf16Order};
use quayline_core::{Decimal, Digits, Run, Value};

use super::{Loaded, Scratch, char_byte};
use crate::FaultKind;
use crate::Trim;
use crate::layout::{ByteOrder, EditSymbol, EditedPicture, Encoding, FloatFormat, ZonedSign};
use crate::plan::{Item, Plan, SignCode};

/// Reads the value of `item`, whose first byte is at `at`.
pub(crate) fn read<'a>(
    plan: &Plan,
    item: &Item,
    loaded: &'a Loaded,
    at: usize,
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    let size = item.size;
    let Some(end) = at.checked_add(size).filter(|end| *end <= loaded.len) else {
        return Err(FaultKind::ShortRecord { found: loaded.len, need: at.saturating_add(size) });
    };
    let raw = &loaded.raw[at..end];
    match &item.encoding {
        Encoding::Text { justified, .. } => text(plan, raw, loaded, at, *justified, scratch),
        Encoding::Boolean => {
            check_boolean(plan, raw).map_err(|kind| unless_empty(plan, raw, kind))?;
            text(plan, raw, loaded, at, false, scratch)
        }
        Encoding::TextEdited { mask } => {
            check_insertions(plan, mask, raw)?;
            text(plan, raw, loaded, at, false, scratch)
        }
        Encoding::Zoned { scale, sign, blank_when_zero, .. } => {
            zoned(plan, raw, *scale, *sign, *blank_when_zero, scratch).map_err(|kind| unless_empty(plan, raw, kind))
        }
        Encoding::Packed { digits, scale, signed } => {
            packed(raw, *digits, *scale, *signed, scratch).map_err(|kind| unless_empty(plan, raw, kind))
        }
        Encoding::PackedUnsigned { digits, scale } => {
            packed_unsigned(raw, *digits, *scale, scratch).map_err(|kind| unless_empty(plan, raw, kind))
        }
        Encoding::Binary { scale, signed: false, order, .. } if let Some(wide) = beyond_i128(raw, *order) => {
            // 39 digits, which no decimal of ours has.
            let text = wide.to_string();
            scratch.digits[..text.len()].copy_from_slice(text.as_bytes());
            Ok(Value::Digits(Digits { digits: Run::new(&scratch.digits, text.len()), negative: false, scale: *scale }))
        }
        Encoding::Binary { scale, signed, order, .. } => Ok(binary(raw, *scale, *signed, *order)),
        Encoding::Float32(format) => float32(raw, *format),
        Encoding::Float64(format) => float64(raw, *format),
        Encoding::Edited(picture) => edited(plan, picture, raw, scratch).map_err(|kind| unless_empty(plan, raw, kind)),
        Encoding::National { justified } => national(plan, raw, *justified, scratch),
        Encoding::Utf8 => utf8(plan, raw, scratch),
        Encoding::Dbcs => Ok(Value::Bytes(raw)),
    }
}

/// Returns the value as an integer, if it is one.
pub(crate) fn integer(value: Value<'_>) -> Option<i128> {
    let (unscaled, scale) = match value {
        Value::Int(n, scale) => (i128::from(n), scale),
        Value::Decimal(d) => (d.unscaled, d.scale),
        Value::Digits(d) => (d.unscaled()?, d.scale),
        _ => return None,
    };
    let factor = 10i128.checked_pow(u32::from(scale.unsigned_abs()))?;
    if scale <= 0 { unscaled.checked_mul(factor) } else { (unscaled % factor == 0).then_some(unscaled / factor) }
}

/// Returns the value as trimmed text, for comparison with the cases of a choice; `None` if it has no text.
pub(crate) fn as_text(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Text(run) | Value::Ascii(run) => core::str::from_utf8(run.bytes()).ok()?.trim().to_owned(),
        other => {
            let mut text = Vec::new();
            quayline_core::write_number(&mut text, other)?;
            String::from_utf8(text).ok()?
        }
    })
}

/// Returns the more specific fault of a numeric field that was never filled.
fn unless_empty(plan: &Plan, raw: &[u8], kind: FaultKind) -> FaultKind {
    if raw.iter().all(|b| *b == plan.text.space) {
        FaultKind::Blank
    } else if raw.iter().all(|b| *b == 0) {
        FaultKind::LowValues
    } else {
        kind
    }
}

fn text<'a>(
    plan: &Plan,
    raw: &[u8],
    loaded: &'a Loaded,
    at: usize,
    justified: bool,
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    let translated = &loaded.text[at..at + raw.len()];
    if !matches!(plan.charset, Charset::Utf16(_)) && translated.iter().all(|b| b.is_ascii()) {
        let range = trimmed(translated, plan.policies.trim, justified);
        return Ok(Value::Ascii(Run::new(&loaded.text[at + range.start..], range.len())));
    }
    scratch.text.clear();
    plan.charset.decode_into(raw, &mut scratch.text).map_err(|e| FaultKind::BadCharacter {
        byte: raw.get(e.offset).copied().unwrap_or_default(),
        position: e.offset + 1,
        page: plan.charset.name(),
    })?;
    let range = trimmed(&scratch.text, plan.policies.trim, justified);
    Ok(Value::Text(Run::new(&scratch.text[range.start..], range.len())))
}

fn check_boolean(plan: &Plan, raw: &[u8]) -> Result<(), FaultKind> {
    match raw.iter().position(|byte| byte.wrapping_sub(plan.text.zero) > 1) {
        Some(at) => Err(FaultKind::BadDigit { digit: at + 1, found: raw[at], expected: "0 or 1" }),
        None => Ok(()),
    }
}

/// Blanks alone are the empty text: the result of INITIALIZE or of MOVE SPACES to the group.
fn check_insertions(plan: &Plan, mask: &[Option<char>], raw: &[u8]) -> Result<(), FaultKind> {
    if raw.iter().all(|byte| *byte == plan.text.space) {
        return Ok(());
    }
    let differs = |(inserted, byte): (&Option<char>, &u8)| inserted.is_some_and(|c| char_byte(plan, c) != *byte);
    match mask.iter().zip(raw).position(differs) {
        Some(at) => Err(FaultKind::BadInsertion { position: at + 1 }),
        None => Ok(()),
    }
}

fn trimmed(text: &[u8], trim: Trim, justified: bool) -> core::ops::Range<usize> {
    let first = || text.iter().position(|b| *b != b' ').unwrap_or(text.len());
    let last = || text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    match trim {
        Trim::Keep => 0..text.len(),
        // The blanks in front are padding, and those at the end are not.
        Trim::Nuls if justified => {
            let end = text.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
            first().min(end)..end
        }
        Trim::Nuls => 0..text.iter().rposition(|b| !matches!(b, b' ' | 0)).map_or(0, |i| i + 1),
        Trim::Padding if justified => first()..text.len(),
        Trim::Padding => 0..last(),
        Trim::Both => first().min(last())..last(),
    }
}

fn zoned<'a>(
    plan: &Plan,
    raw: &[u8],
    scale: i16,
    sign: ZonedSign,
    blank_when_zero: bool,
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    let code = &plan.text;
    if blank_when_zero && raw.iter().all(|b| *b == code.space) {
        return Ok(Value::Int(0, scale));
    }
    let (digits, over, separate) = match sign {
        ZonedSign::Unsigned | ZonedSign::TrailingOverpunch => (raw, Some(raw.len() - 1), None),
        ZonedSign::LeadingOverpunch => (raw, Some(0), None),
        ZonedSign::TrailingSeparate => (&raw[..raw.len() - 1], None, Some(raw[raw.len() - 1])),
        ZonedSign::LeadingSeparate => (&raw[1..], None, Some(raw[0])),
    };
    let mut negative = match separate {
        None => false,
        Some(b) if b == code.plus => false,
        Some(b) if b == code.minus => true,
        Some(found) => return Err(FaultKind::BadSign { found, expected: "a plus or minus character" }),
    };
    for (i, byte) in digits.iter().enumerate() {
        let digit = if over == Some(i) {
            let decoded = plan.sign.decode[usize::from(*byte)];
            if decoded == SignCode::INVALID {
                return Err(FaultKind::BadSign { found: *byte, expected: "a digit with a sign zone" });
            }
            negative = decoded & SignCode::NEGATIVE != 0;
            decoded & 0x0f
        } else {
            let digit = byte.wrapping_sub(code.zero);
            if digit > 9 {
                return Err(FaultKind::BadDigit { digit: i + 1, found: *byte, expected: "a digit character" });
            }
            digit
        };
        scratch.digits[i] = b'0' + digit;
    }
    if negative && sign == ZonedSign::Unsigned {
        return Err(FaultKind::NegativeUnsigned);
    }
    Ok(Value::Digits(Digits { digits: Run::new(&scratch.digits, digits.len()), negative, scale }))
}

fn packed<'a>(
    raw: &[u8],
    digits: u16,
    scale: i16,
    signed: bool,
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    let count = usize::from(digits);
    let skip = raw.len() * 2 - 1 - count;
    let nibble = |i: usize| if i.is_multiple_of(2) { raw[i / 2] >> 4 } else { raw[i / 2] & 0x0f };
    for i in 0..count {
        let found = nibble(skip + i);
        if found > 9 {
            return Err(FaultKind::BadDigit { digit: i + 1, found, expected: "0 to 9" });
        }
        scratch.digits[i] = b'0' + found;
    }
    let negative = match nibble(skip + count) {
        0x0b | 0x0d => true,
        0x0a | 0x0c | 0x0e | 0x0f => false,
        found => return Err(FaultKind::BadSign { found, expected: "0xa to 0xf" }),
    };
    if negative && !signed {
        return Err(FaultKind::NegativeUnsigned);
    }
    Ok(Value::Digits(Digits { digits: Run::new(&scratch.digits, count), negative, scale }))
}

fn packed_unsigned<'a>(raw: &[u8], digits: u16, scale: i16, scratch: &'a mut Scratch) -> Result<Value<'a>, FaultKind> {
    let count = usize::from(digits);
    let skip = raw.len() * 2 - count;
    for i in 0..count {
        let at = skip + i;
        let found = if at.is_multiple_of(2) { raw[at / 2] >> 4 } else { raw[at / 2] & 0x0f };
        if found > 9 {
            return Err(FaultKind::BadDigit { digit: i + 1, found, expected: "0 to 9" });
        }
        scratch.digits[i] = b'0' + found;
    }
    Ok(Value::Digits(Digits { digits: Run::new(&scratch.digits, count), negative: false, scale }))
}

/// Returns the number of an unsigned binary of 16 bytes if it is greater than every signed one.
fn beyond_i128(raw: &[u8], order: ByteOrder) -> Option<u128> {
    let bytes: [u8; 16] = raw.try_into().ok()?;
    let number = match order {
        ByteOrder::Big => u128::from_be_bytes(bytes),
        ByteOrder::Little => u128::from_le_bytes(bytes),
    };
    i128::try_from(number).is_err().then_some(number)
}

fn binary(raw: &[u8], scale: i16, signed: bool, order: ByteOrder) -> Value<'static> {
    let fill = |top: u8| if signed && top & 0x80 != 0 { 0xff } else { 0 };
    let mut bytes = [0u8; 17];
    match order {
        ByteOrder::Big => {
            bytes.fill(fill(raw[0]));
            bytes[17 - raw.len()..].copy_from_slice(raw);
        }
        ByteOrder::Little => {
            bytes.fill(fill(raw[raw.len() - 1]));
            for (to, from) in bytes.iter_mut().rev().zip(raw) {
                *to = *from;
            }
        }
    }
    let unscaled = i128::from_be_bytes(bytes[1..].try_into().expect("17 bytes without the first are 16"));
    i64::try_from(unscaled).map_or(Value::Decimal(Decimal { unscaled, scale }), |n| Value::Int(n, scale))
}

/// Converts hexadecimal floating point: sign, 7-bit exponent of 16 in excess 64, fraction (z/Architecture Principles of Operation, chapter 18).
fn hexadecimal(sign: bool, exponent: u8, fraction: u64, fraction_bits: i32) -> f64 {
    let power = 4 * (i32::from(exponent) - 64) - fraction_bits;
    // The fraction has at most 56 bits: the conversion rounds to nearest; both scale factors are powers of two and exact.
    #[expect(clippy::cast_precision_loss, reason = "documented: beyond 53 bits the nearest double")]
    let magnitude = fraction as f64 * f64::powi(2.0, power);
    if sign { -magnitude } else { magnitude }
}

fn float32(raw: &[u8], format: FloatFormat) -> Result<Value<'static>, FaultKind> {
    let bytes: [u8; 4] = raw.try_into().map_err(|_| FaultKind::NotFinite)?;
    let x = match format {
        FloatFormat::IeeeBig => f32::from_be_bytes(bytes),
        FloatFormat::IeeeLittle => f32::from_le_bytes(bytes),
        FloatFormat::Hexadecimal => {
            let word = u32::from_be_bytes(bytes);
            let x = hexadecimal(word >> 31 == 1, raw[0] & 0x7f, u64::from(word & 0x00ff_ffff), 24);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked: 24 bits of fraction fit unless the exponent does not"
            )]
            let short = x as f32;
            if f64::from(short) != x || short.is_subnormal() {
                // Beyond the range of an IEEE single, which has less than half of the exponents, or in the part where it has fewer
                // digits.
                return Ok(Value::Float64(x));
            }
            short
        }
    };
    if x.is_finite() { Ok(Value::Float32(x)) } else { Err(FaultKind::NotFinite) }
}

fn float64(raw: &[u8], format: FloatFormat) -> Result<Value<'static>, FaultKind> {
    let bytes: [u8; 8] = raw.try_into().map_err(|_| FaultKind::NotFinite)?;
    let x = match format {
        FloatFormat::IeeeBig => f64::from_be_bytes(bytes),
        FloatFormat::IeeeLittle => f64::from_le_bytes(bytes),
        FloatFormat::Hexadecimal => {
            let word = u64::from_be_bytes(bytes);
            hexadecimal(word >> 63 == 1, raw[0] & 0x7f, word & 0x00ff_ffff_ffff_ffff, 56)
        }
    };
    if x.is_finite() { Ok(Value::Float64(x)) } else { Err(FaultKind::NotFinite) }
}

fn national<'a>(plan: &Plan, raw: &[u8], justified: bool, scratch: &'a mut Scratch) -> Result<Value<'a>, FaultKind> {
    scratch.text.clear();
    Charset::Utf16(Utf16Order::BigEndian).decode_into(raw, &mut scratch.text).map_err(|e| FaultKind::BadCharacter {
        byte: raw.get(e.offset).copied().unwrap_or_default(),
        position: e.offset + 1,
        page: "UTF-16BE",
    })?;
    let range = trimmed(&scratch.text, plan.policies.trim, justified);
    Ok(Value::Text(Run::new(&scratch.text[range.start..], range.len())))
}

/// Reads PIC U: UTF-8, padded with spaces. Bytes after the text may be binary zeros, as a group move leaves them.
fn utf8<'a>(plan: &Plan, raw: &[u8], scratch: &'a mut Scratch) -> Result<Value<'a>, FaultKind> {
    let end = raw.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    let text = core::str::from_utf8(&raw[..end]).map_err(|e| FaultKind::BadCharacter {
        byte: raw[e.valid_up_to()],
        position: e.valid_up_to() + 1,
        page: "UTF-8",
    })?;
    scratch.text.clear();
    scratch.text.extend_from_slice(text.as_bytes());
    let range = trimmed(&scratch.text, plan.policies.trim, false);
    Ok(Value::Text(Run::new(&scratch.text[range.start..], range.len())))
}

/// Reads a numeric-edited field: digits at digit positions, sign from `-`, `CR` or `DB`; insertion characters may be suppressed.
fn edited<'a>(
    plan: &Plan,
    picture: &EditedPicture,
    raw: &[u8],
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    use EditSymbol::{
        Asterisk, Blank, Credit, Currency, Debit, Digit, FloatCurrency, FloatMinus, FloatPlus, ImpliedPoint,
        InsertZero, Minus, Plus, Point, Scaling, Separator, Slash, Zero,
    };
    let blank = raw.iter().all(|b| *b == plan.text.space);
    let must_have_digit = picture.symbols.contains(&Digit);
    if blank && (picture.blank_when_zero || !must_have_digit) {
        return Ok(Value::Int(0, picture.scale));
    }
    let char_at = |i: usize| {
        raw.get(i).map(|b| match plan.text.to_ascii[usize::from(*b)] {
            // A currency sign beyond ASCII.
            0xff => match plan.charset {
                Charset::SingleByte(page) => page.to_char(*b).unwrap_or('\u{fffd}'),
                _ => '\u{fffd}',
            },
            ascii => char::from(ascii),
        })
    };
    if !must_have_digit && picture.symbols.contains(&Asterisk) && all_asterisks(picture, char_at) {
        return Ok(Value::Int(0, picture.scale));
    }
    let currency = picture.currency;
    let mut position = 0;
    let mut count = 0;
    let mut negative = false;
    let mut float_seen = false;
    // Suppression ends after a digit, the decimal point or a floating symbol.
    let mut started = false;
    for symbol in &picture.symbols {
        let found = match symbol {
            ImpliedPoint => {
                started = true;
                continue;
            }
            Scaling => continue,
            _ => char_at(position).ok_or(FaultKind::BadEdited { position: position + 1 })?,
        };
        let bad = FaultKind::BadEdited { position: position + 1 };
        position += 1;
        let mut digit = |c: char| {
            scratch.digits[count] = u8::try_from(c).unwrap_or(b'0');
            count += 1;
        };
        match symbol {
            Digit if found.is_ascii_digit() => digit(found),
            Zero | Asterisk if found.is_ascii_digit() => digit(found),
            Zero if found == ' ' && !started => digit('0'),
            Asterisk if found == '*' && !started => digit('0'),
            FloatCurrency | FloatPlus | FloatMinus => {
                negative |= found == '-';
                let fits = match symbol {
                    FloatCurrency => found == currency,
                    FloatPlus => matches!(found, '+' | '-'),
                    _ => found == '-',
                };
                if !(found.is_ascii_digit() || !started && (found == ' ' || fits)) {
                    return Err(bad);
                }
                started |= fits;
                // The first symbol of the string is never a digit.
                if float_seen {
                    digit(if found.is_ascii_digit() { found } else { '0' });
                } else if found.is_ascii_digit() {
                    return Err(bad);
                }
                float_seen = true;
            }
            Currency if found == currency || found == ' ' => {}
            Plus if matches!(found, '+' | '-' | ' ') => negative |= found == '-',
            Minus if matches!(found, ' ' | '-') => negative |= found == '-',
            Credit | Debit => {
                let second = char_at(position).ok_or(FaultKind::BadEdited { position: position + 1 })?;
                position += 1;
                let word = if *symbol == Credit { ('C', 'R') } else { ('D', 'B') };
                match (found, second) {
                    pair if pair == word => negative = true,
                    (' ', ' ') => {}
                    _ => return Err(bad),
                }
            }
            Point if found == picture.decimal_point => started = true,
            // While leading zeros are suppressed, insertion characters are replaced by a space, an asterisk or the floating symbol.
            Separator | Blank | InsertZero | Slash => {
                let inserted = match symbol {
                    Separator if picture.decimal_point == ',' => '.',
                    Separator => ',',
                    InsertZero => '0',
                    Slash => '/',
                    _ => ' ',
                };
                if found != inserted {
                    let floats = float_seen && (matches!(found, '+' | '-') || found == currency);
                    if started || !(floats || matches!(found, ' ' | '*')) {
                        return Err(bad);
                    }
                    negative |= found == '-';
                    started |= floats;
                }
            }
            _ => return Err(bad),
        }
        started |= found.is_ascii_digit() && *symbol != InsertZero;
    }
    if count == 0 {
        return Err(FaultKind::BadEdited { position: 1 });
    }
    let digits = Run::new(&scratch.digits, count);
    Ok(Value::Digits(Digits { digits, negative, scale: picture.scale }))
}

/// Returns whether the item is zero with asterisks for every digit: the whole item is asterisks, including signs and currency,
/// except the decimal point.
fn all_asterisks(picture: &EditedPicture, char_at: impl Fn(usize) -> Option<char>) -> bool {
    let mut position = 0;
    picture.symbols.iter().all(|symbol| {
        let cells = position..position + symbol.bytes();
        position = cells.end;
        let expected = if *symbol == EditSymbol::Point { picture.decimal_point } else { '*' };
        cells.into_iter().all(|at| char_at(at) == Some(expected))
    })
}
