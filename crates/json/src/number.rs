//! Numbers as JSON writes them: exact decimals with every fractional digit, and shortest floats.

use std::io::Write as _;

use quayline_charset::scan;
use quayline_core::{Decimal, Digits};

/// Bytes beyond the number that the writers here may write.
pub(crate) const SLACK: usize = 32;

/// Most digits of an `i128`.
const DECIMAL_DIGITS_MAX: usize = 39;

/// Writes up to 16 digits with a point before the last `scale`, without leading zeros; returns the length.
///
/// `digits` holds ASCII, first digit in the lowest byte; bytes beyond `len` are ignored. `scale < len <= 16`. `out` holds at least
/// 17 + 16 bytes.
#[inline(always)]
pub(crate) fn put_short(digits: u128, len: usize, scale: usize, out: &mut [u8]) -> usize {
    let whole = len - scale;
    // One zero precedes the point, however many there are.
    let stop = 1u32 << (whole - 1);
    let leading = (!u32::from(scan::mask_eq(&digits.to_le_bytes(), b'0')) | stop).trailing_zeros() as usize;
    if scale == 0 {
        out[..16].copy_from_slice(&(digits >> (8 * leading)).to_le_bytes());
        return len - leading;
    }
    // The point is inserted while all digits have fixed places, so that only one shift depends on the value.
    let before = BEFORE[whole & 15];
    let pointed = digits & before | (digits & !before) << 8 | POINT[whole & 15];
    out[..16].copy_from_slice(&(pointed >> (8 * leading)).to_le_bytes());
    out[16 - leading] = digits.to_le_bytes()[15];
    len + 1 - leading
}

/// Writes 17 to 32 digits with a point before the last `scale`, without leading zeros; returns the length.
///
/// Bytes of `block` beyond `len` digits are ignored; `scale < len`. `out` holds at least 65 bytes.
#[inline(always)]
pub(crate) fn put_two_blocks(block: &[u8; 32], len: usize, scale: usize, out: &mut [u8]) -> usize {
    let whole = len - scale;
    // One zero precedes the point, however many there are.
    let stop = 1u32 << (whole - 1);
    let (first, last) = (block.first_chunk::<16>(), block.last_chunk::<16>());
    let zeros = |half: Option<&[u8; 16]>| half.map_or(0, |half| u32::from(scan::mask_eq(half, b'0')));
    let leading = (!(zeros(first) | zeros(last) << 16) | stop).trailing_zeros() as usize;
    let (digits, kept) = (len - leading, whole - leading);
    // Room after the digits, so that whole blocks can be copied wherever the digits begin.
    let mut padded = [0; 64];
    padded[..32].copy_from_slice(block);
    out[..32].copy_from_slice(&padded[leading..leading + 32]);
    if scale == 0 {
        return digits;
    }
    out[kept + 1..kept + 33].copy_from_slice(&padded[whole..whole + 32]);
    out[kept] = b'.';
    digits + 1
}

/// The lowest `n` bytes.
pub(crate) const BEFORE: [u128; 16] = {
    let mut masks = [0; 16];
    let mut n = 0;
    while n < 16 {
        masks[n] = (1 << (8 * n)) - 1;
        n += 1;
    }
    masks
};

/// A point at byte `n`.
const POINT: [u128; 16] = {
    let mut points = [0; 16];
    let mut n = 0;
    while n < 16 {
        points[n] = (b'.' as u128) << (8 * n);
        n += 1;
    }
    points
};

/// Converts `n`, below 10^16, to 16 decimal digits, the first in the lowest byte.
#[inline(always)]
pub(crate) fn sixteen_digits(n: u64) -> u128 {
    const EIGHT: u64 = 100_000_000;
    eight_digits(n / EIGHT) | eight_digits(n % EIGHT) << 64
}

/// Converts `n`, below 10^8, to eight decimal digits, the first in the lowest byte.
#[inline(always)]
pub(crate) fn eight_digits(n: u64) -> u128 {
    // Halves of four digits, then of two, then of one, each step in all lanes at once. 10486 / 2^20 and 103 / 2^10 are just above
    // 1/100 and 1/10, exact after truncation for operands below 10,000 and 100.
    let fours = (n / 10_000) | ((n % 10_000) << 32);
    let hundreds = (fours * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    u128::from(tens | (twos - tens * 10) << 8 | ZEROS)
}

/// Bytes that [`put_digits`] needs for `digits` digits at `scale`, its slack included.
pub(crate) fn digits_room(digits: usize, scale: i16) -> usize {
    digits + usize::from(scale.unsigned_abs()) + 4 + SLACK
}

/// Writes any number of digits at any scale with its sign; returns the length.
pub(crate) fn put_digits(value: Digits<'_>, out: &mut [u8]) -> usize {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if value.negative {
        put(b"-");
    }
    let all = value.digits.bytes();
    let scale = usize::from(value.scale.unsigned_abs());
    let fraction = if value.scale > 0 { scale } else { 0 };
    let (whole, behind) = all.split_at(all.len().saturating_sub(fraction));
    let whole = &whole[leading_zeros(whole)..];
    put(if whole.is_empty() { b"0" } else { whole });
    if value.scale < 0 && !whole.is_empty() {
        (0..scale).for_each(|_| put(b"0"));
    }
    if fraction > 0 {
        put(b".");
        (behind.len()..fraction).for_each(|_| put(b"0"));
        put(behind);
    }
    at
}

/// Writes the digits of an integer of any size into `scratch`.
pub(crate) fn decimal_digits(decimal: Decimal, scratch: &mut [u8; DECIMAL_DIGITS_MAX]) -> Digits<'_> {
    let mut n = decimal.unscaled.unsigned_abs();
    let mut start = DECIMAL_DIGITS_MAX;
    while start == DECIMAL_DIGITS_MAX || n > 0 {
        start -= 1;
        scratch[start] = b'0' + u8::try_from(n % 10).expect("a remainder of division by ten is below ten");
        n /= 10;
    }
    Digits { digits: scratch[start..].into(), negative: decimal.unscaled < 0, scale: decimal.scale }
}

/// Digits of the number without leading zeros.
pub(crate) fn significant_digits(digits: &[u8]) -> usize {
    digits.len() - leading_zeros(digits)
}

/// Returns a buffer for [`decimal_digits`].
pub(crate) fn decimal_scratch() -> [u8; DECIMAL_DIGITS_MAX] {
    [0; DECIMAL_DIGITS_MAX]
}

/// Writes the shortest text that reads back as the same float (`1.0`, `1e300`); returns the length, at most [`SLACK`].
pub(crate) fn put_float(value: impl core::fmt::Debug, out: &mut [u8]) -> usize {
    let room = out.len();
    let mut rest = out;
    write!(rest, "{value:?}").expect("a float takes at most 24 bytes");
    room - rest.len()
}

fn leading_zeros(digits: &[u8]) -> usize {
    digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len())
}
