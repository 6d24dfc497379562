//! Short ways for the common encodings, without a loop over digits.
//!
//! Up to 16 digits travel in a `u128`, first digit in the lowest byte, and one shift moves them to the field's last position. The
//! digits that the shift drops must be zeros; otherwise the general way finds the error. Text is kept in an ASCII twin of the image
//! and translated as a whole when the document is complete.

use quayline_core::{Digits, Run};

use crate::layout::{ByteOrder, Encoding, ZonedSign};
use crate::plan::{Item, ItemForm, Plan, SignCode};

/// Fast way to write a node's value in the usual form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    pub(super) way: Way,
    pub(super) offset: u32,
    pub(super) size: u32,
    /// Digits of the field.
    digits: u8,
    scale: i16,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// Into the ASCII twin.
    Text,
    ZonedUnsigned,
    ZonedTrailing,
    PackedSigned,
    PackedUnsigned,
    /// More than 15 digits.
    PackedLong,
    /// Big-endian, signed, 2, 4 or 8 bytes, at most 16 digits.
    BinarySigned,
    BinaryUnsigned,
    /// Encoded by `encode_item`.
    General,
}

impl Put {
    pub(super) const GENERAL: Put = Put { way: Way::General, offset: 0, size: 0, digits: 0, scale: 0 };

    /// Returns the fast way for an item that occurs once in its group and is neither counter nor view.
    pub(super) fn of(plan: &Plan, item: &Item) -> Put {
        if item.form != ItemForm::Plain {
            return Put::GENERAL;
        }
        let (way, digits, scale) = match &item.encoding {
            Encoding::Text { justified: false, .. } if plan.text.bulk.is_some() => (Way::Text, 0, 0),
            Encoding::Zoned { digits, scale, sign: ZonedSign::Unsigned, blank_when_zero: false } if *digits <= 16 => {
                (Way::ZonedUnsigned, *digits, *scale)
            }
            Encoding::Zoned { digits, scale, sign: ZonedSign::TrailingOverpunch, blank_when_zero: false }
                if *digits <= 16 =>
            {
                (Way::ZonedTrailing, *digits, *scale)
            }
            Encoding::Packed { digits, scale, signed } if *digits <= 15 => {
                (if *signed { Way::PackedSigned } else { Way::PackedUnsigned }, *digits, *scale)
            }
            Encoding::Packed { digits, scale, signed: true } if *digits <= 31 => (Way::PackedLong, *digits, *scale),
            Encoding::Binary { digits: digits @ 1..=16, scale, signed, order: ByteOrder::Big, full_range: false }
                if plan.layout.dialect.binary_truncate && matches!(item.size, 2 | 4 | 8) =>
            {
                (if *signed { Way::BinarySigned } else { Way::BinaryUnsigned }, *digits, *scale)
            }
            _ => return Put::GENERAL,
        };
        match (u32::try_from(item.offset), u32::try_from(item.size), u8::try_from(digits)) {
            (Ok(offset), Ok(size), Ok(digits)) => Put { way, offset, size, digits, scale },
            _ => Put::GENERAL,
        }
    }

    /// Writes digits to the field's bytes. Returns `None` if only the general way can write them.
    #[inline(always)]
    pub(super) fn number(self, plan: &Plan, value: Digits<'_>, bytes: &mut [u8]) -> Option<()> {
        if self.way == Way::PackedLong {
            return self.packed_long(value, bytes);
        }
        let digits = aligned(value, self.scale, u32::from(self.digits))?;
        match self.way {
            Way::ZonedUnsigned if !value.negative => {
                put(left(digits | spread(plan.text.zero), self.digits), bytes);
            }
            Way::ZonedTrailing => {
                put(left(digits | spread(plan.text.zero), self.digits), bytes);
                let code: &SignCode = &plan.sign;
                let over = if value.negative { &code.minus } else { &code.plus };
                *bytes.last_mut()? = over[usize::from(digits.to_le_bytes()[15] & 0x0f)];
            }
            Way::PackedSigned => put_packed(digits, if value.negative { 0x0d } else { 0x0c }, bytes),
            Way::PackedUnsigned if !value.negative => put_packed(digits, 0x0f, bytes),
            Way::BinarySigned => {
                let n = magnitude(digits);
                put_binary(if value.negative { n.wrapping_neg() } else { n }, bytes);
            }
            Way::BinaryUnsigned if !value.negative => put_binary(magnitude(digits), bytes),
            _ => return None,
        }
        Some(())
    }

    /// Digits of the field's own scale, in pairs from the last one.
    #[inline(never)]
    fn packed_long(self, value: Digits<'_>, bytes: &mut [u8]) -> Option<()> {
        let digits = value.digits.bytes();
        if value.scale != self.scale || digits.len() > usize::from(self.digits) {
            return None;
        }
        let (last, rest) = digits.split_last()?;
        let (sign_byte, pairs) = bytes.split_last_mut()?;
        *sign_byte = (last & 0x0f) << 4 | if value.negative { 0x0d } else { 0x0c };
        let mut from = rest.rchunks_exact(2);
        let mut to = pairs.iter_mut().rev();
        // The digits come first: a zip takes from its left side before it finds the right one empty.
        for (pair, byte) in from.by_ref().zip(to.by_ref()) {
            *byte = (pair[0] & 0x0f) << 4 | pair[1] & 0x0f;
        }
        if let [odd] = from.remainder() {
            *to.next()? = odd & 0x0f;
        }
        to.for_each(|byte| *byte = 0);
        Some(())
    }
}

/// Returns the integer of 16 digits given as numbers, the last one in the highest byte.
#[inline(always)]
fn magnitude(digits: u128) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "splits the digits into halves")]
    let (high, low) = (digits as u64, (digits >> 64) as u64);
    eight(high) * 100_000_000 + eight(low)
}

/// Converts eight digits, the first in the lowest byte: pairs, then fours, then all, each step in all lanes at once.
#[inline(always)]
fn eight(digits: u64) -> u64 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

#[inline(always)]
fn put_binary(n: u64, bytes: &mut [u8]) {
    let big = n.to_be_bytes();
    match bytes.len() {
        8 => bytes.copy_from_slice(&big),
        4 => bytes.copy_from_slice(&big[4..]),
        _ => bytes.copy_from_slice(&big[6..]),
    }
}

/// Writes printable ASCII to a field of the ASCII twin. Returns `None` if it is too long.
#[inline(always)]
pub(super) fn put_text(run: Run<'_>, field: &mut [u8]) -> Option<()> {
    let (len, size) = (run.len(), field.len());
    if len > size {
        return None;
    }
    if size <= 16
        && let Some(block) = run.tail().first_chunk::<16>()
    {
        let keep = (1u128 << (8 * (len & 15))).wrapping_sub(1) | if len == 16 { u128::MAX } else { 0 };
        let text = u128::from_le_bytes(*block) & keep | spread(b' ') & !keep;
        put(text, field);
    } else {
        field[..len].copy_from_slice(run.bytes());
        field[len..].fill(b' ');
    }
    Some(())
}

/// Copies the bytes of `over` for which `mask` is 0xff; all three have the same length.
pub(super) fn blend(image: &mut [u8], over: &[u8], mask: &[u8]) {
    let word = |bytes: &[u8; 16]| u128::from_le_bytes(*bytes);
    let (image, image_rest) = image.as_chunks_mut::<16>();
    let (over, over_rest) = over.as_chunks::<16>();
    let (mask, mask_rest) = mask.as_chunks::<16>();
    for ((to, over), mask) in image.iter_mut().zip(over).zip(mask) {
        *to = (word(to) & !word(mask) | word(over) & word(mask)).to_le_bytes();
    }
    for ((to, over), mask) in image_rest.iter_mut().zip(over_rest).zip(mask_rest) {
        *to = *to & !mask | over & mask;
    }
}

/// Returns the digits at the field's scale as numbers 0 to 9, the last one in the highest byte; `None` if more than `width` digits
/// remain or decimals would be lost.
#[inline(always)]
fn aligned(value: Digits<'_>, scale: i16, width: u32) -> Option<u128> {
    let len = value.digits.len();
    let block = value.digits.tail().first_chunk::<16>()?;
    if len > 16 || len == 0 {
        return None;
    }
    let mut digits = (u128::from_le_bytes(*block) << (8 * (16 - len))) & spread(0x0f);
    let shift = i32::from(scale) - i32::from(value.scale);
    if shift != 0 {
        let bits = 8 * shift.unsigned_abs();
        if bits >= 128 {
            return None;
        }
        if shift > 0 {
            if digits & ((1 << bits) - 1) != 0 {
                return None;
            }
            digits >>= bits;
        } else {
            if digits >> (128 - bits) != 0 {
                return None;
            }
            digits <<= bits;
        }
    }
    // Digits in front of the field's first.
    let front = 128 - 8 * width;
    if front > 0 && digits << (128 - front) != 0 {
        return None;
    }
    Some(digits)
}

/// Moves the last `width` bytes to the lowest ones.
#[inline(always)]
fn left(digits: u128, width: u8) -> u128 {
    digits >> (128 - 8 * u32::from(width))
}

#[inline(always)]
const fn spread(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// Packs the last 15 digits and a sign nibble.
#[inline(always)]
fn put_packed(digits: u128, sign: u8, bytes: &mut [u8]) {
    let nibbles = digits >> 8 | u128::from(sign) << 120;
    #[expect(clippy::cast_possible_truncation, reason = "splits the digits into halves")]
    let (low, high) = (nibbles as u64, (nibbles >> 64) as u64);
    let packed = squeeze(low) | squeeze(high) << 32;
    let size = bytes.len().min(8);
    put(u128::from(packed >> (8 * (8 - size))), bytes);
}

/// Packs eight bytes that hold a nibble each into four bytes, the first nibble highest.
#[inline(always)]
fn squeeze(nibbles: u64) -> u64 {
    let pairs = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) & 0xffff_ffff
}

/// Writes the lowest bytes of `block` to a field of 1 to 16 bytes by two overlapping stores, so nothing beside it is touched.
///
/// Both come from registers: reading the second back from a stored block would wait until the store has left the store buffer.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "cuts the block into the stored words")]
fn put(block: u128, field: &mut [u8]) {
    let n = field.len().min(16);
    let low = block as u64;
    match n {
        8.. => {
            let last = (block >> (8 * (n - 8))) as u64;
            field[..8].copy_from_slice(&low.to_le_bytes());
            field[n - 8..n].copy_from_slice(&last.to_le_bytes());
        }
        4..8 => {
            let last = (low >> (8 * (n - 4))) as u32;
            field[..4].copy_from_slice(&(low as u32).to_le_bytes());
            field[n - 4..].copy_from_slice(&last.to_le_bytes());
        }
        2..4 => {
            let last = (low >> (8 * (n - 2))) as u16;
            field[..2].copy_from_slice(&(low as u16).to_le_bytes());
            field[n - 2..].copy_from_slice(&last.to_le_bytes());
        }
        1 => field[0] = low as u8,
        _ => {}
    }
}
