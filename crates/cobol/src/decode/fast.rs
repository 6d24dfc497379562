//! Short ways to the common numbers: whole blocks, without a loop over digits. What they refuse is read by `slow`.

use quayline_charset::scan;

use super::State;
use crate::plan::{Plan, SignCode};

/// Bytes of the longest packed decimal that is read as an integer: 15 digits and the sign.
pub(super) const PACKED_INTEGER_BYTES: usize = 8;

impl State {
    #[inline(always)]
    pub(super) fn zoned_trailing(&mut self, plan: &Plan, at: usize, size: usize) -> Option<bool> {
        let block = self.loaded.text.get(at..)?.first_chunk::<16>()?;
        let code = plan.sign.decode[usize::from(*self.loaded.raw.get(at + size - 1)?)];
        let front = (1u32 << (size - 1)) - 1;
        if at + size > self.loaded.len
            || u32::from(scan::mask_digits(block)) & front != front
            || code == SignCode::INVALID
        {
            return None;
        }
        self.scratch.digits[..16].copy_from_slice(block);
        self.scratch.digits[size - 1] = b'0' + (code & 0x0f);
        Some(code & SignCode::NEGATIVE != 0)
    }

    #[inline(always)]
    pub(super) fn packed(&mut self, at: usize, size: usize, pad: usize, signed: bool) -> Option<bool> {
        // A record is padded, so a whole block can be had wherever the field begins.
        let raw = self.loaded.raw.get(at..)?.first_chunk::<16>()?;
        let sign = raw[(size - 1) & 0x0f] & 0x0f;
        let negative = matches!(sign, 0x0b | 0x0d);
        let mut digits = ((1u32 << (2 * size - 1)) - 1) & !((1 << pad) - 1);
        if size > 8 {
            let nibbles = expand_nibbles(raw[8..].first_chunk::<8>()?);
            let bad = u32::from(scan::mask_range(&nibbles, 0x0a, 0xff));
            if bad & (digits >> 16) != 0 {
                return None;
            }
            self.scratch.digits[16..32].copy_from_slice(&nibbles.map(|n| n | b'0'));
            digits &= 0xffff;
        }
        let nibbles = expand_nibbles(raw.first_chunk::<8>()?);
        let bad = u32::from(scan::mask_range(&nibbles, 0x0a, 0xff));
        if at + size > self.loaded.len || bad & digits != 0 || sign < 0x0a || (negative && !signed) {
            return None;
        }
        self.scratch.digits[..16].copy_from_slice(&nibbles.map(|n| n | b'0'));
        Some(negative)
    }

    /// Returns the unscaled number of a packed decimal of at most [`PACKED_INTEGER_BYTES`] bytes; `None` if only the general way can read it, which
    /// also takes a zero with a minus sign.
    #[inline(always)]
    pub(super) fn packed_integer(&self, at: usize, size: usize, pad: usize, signed: bool) -> Option<i64> {
        let block = *self.loaded.raw.get(at..)?.first_chunk::<8>()?;
        let word = u64::from_be_bytes(block) >> (64 - 8 * size);
        let (digits, sign) = (word >> 4 & (u64::MAX >> (4 * (17 - 2 * size + pad))), word & 0x0f);
        let negative = matches!(sign, 0x0b | 0x0d);
        // A digit above 9 carries into the next one when 6 is added.
        const SIXES: u64 = 0x0666_6666_6666_6666;
        const CARRIES: u64 = 0x1111_1111_1111_1110;
        let bad = ((digits + SIXES) ^ digits ^ SIXES) & CARRIES;
        if at + size > self.loaded.len || bad != 0 || sign < 0x0a || (negative && (!signed || digits == 0)) {
            return None;
        }
        // Two digits of each byte to a number, then two bytes, then two pairs.
        let pairs = digits - 6 * (digits >> 4 & 0x0f0f_0f0f_0f0f_0f0f);
        let fours = pairs - 156 * (pairs >> 8 & 0x00ff_00ff_00ff_00ff);
        let eights = fours - 55_536 * (fours >> 16 & 0x0000_ffff_0000_ffff);
        let n = ((eights >> 32) * 100_000_000 + (eights & 0xffff_ffff)).cast_signed();
        Some(if negative { -n } else { n })
    }

    #[inline(always)]
    pub(super) fn binary(&self, at: usize, size: usize, signed: bool) -> Option<Result<i64, u64>> {
        let block = *self.loaded.raw.get(at..)?.first_chunk::<8>()?;
        if at + size > self.loaded.len {
            return None;
        }
        let shift = 64 - 8 * size;
        let word = u64::from_be_bytes(block);
        if signed {
            return Some(Ok(word.cast_signed() >> shift));
        }
        let n = word >> shift;
        Some(i64::try_from(n).map_err(|_| n))
    }
}

/// Returns the nibbles of eight bytes, high first, one a byte. It compiles to one interleave on machines with vectors.
#[inline(always)]
fn expand_nibbles(bytes: &[u8; 8]) -> [u8; 16] {
    let mut nibbles = [0; 16];
    for (pair, byte) in nibbles.chunks_exact_mut(2).zip(bytes) {
        pair[0] = byte >> 4;
        pair[1] = byte & 0x0f;
    }
    nibbles
}
