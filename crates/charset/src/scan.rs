//! Searches in text, sixteen bytes at a time.
//!
//! The `mask_` functions take a block of 16 bytes and return one bit per byte, the first byte's lowest. They compile to a few SSE2
//! instructions on x86-64, which always has them, and to plain loops elsewhere. [`plain`] holds the loops, and tests compare both.
//!
//! # Unsafe code
//!
//! All of it is in `sse2`, and needs two things. The instructions are SSE2, which is part of x86-64; other targets compile [`plain`]
//! instead. `load` reads 16 bytes, which its argument `&[u8; 16]` has; the load needs no alignment. No pointer leaves a function.

/// Bytes equal to `byte`.
#[inline(always)]
#[must_use]
pub fn mask_eq(block: &[u8; 16], byte: u8) -> u16 {
    kernels::mask_eq(block, byte)
}

/// Bytes that a JSON string must escape: below 0x20, `"`, `\`.
#[inline(always)]
#[must_use]
pub fn mask_json_special(block: &[u8; 16]) -> u16 {
    kernels::mask_json_special(block)
}

/// Bytes that a JSON string must escape or that are not ASCII: below 0x20, `"`, `\`, 0x80 and above.
#[inline(always)]
#[must_use]
pub fn mask_json_special_or_high(block: &[u8; 16]) -> u16 {
    kernels::mask_json_special_or_high(block)
}

/// Bytes `0` to `9` of ASCII.
#[inline(always)]
#[must_use]
pub fn mask_digits(block: &[u8; 16]) -> u16 {
    kernels::mask_range(block, b'0', b'9')
}

/// Bytes from `first` to `last`, both included, `first <= last`.
#[inline(always)]
#[must_use]
pub fn mask_range(block: &[u8; 16], first: u8, last: u8) -> u16 {
    kernels::mask_range(block, first, last)
}

/// Bytes from 0x80.
#[inline(always)]
#[must_use]
pub fn mask_high(block: &[u8; 16]) -> u16 {
    kernels::mask_high(block)
}

/// Returns the length of `bytes` without the `blank`s at their end.
#[inline]
#[must_use]
pub fn trim_end(bytes: &[u8], blank: u8) -> usize {
    let mut len = bytes.len();
    while let Some(block) = bytes[..len].last_chunk::<16>() {
        let other = !mask_eq(block, blank);
        if other != 0 {
            return len - other.leading_zeros() as usize;
        }
        len -= 16;
    }
    while len > 0 && bytes[len - 1] == blank {
        len -= 1;
    }
    len
}

/// Counts the `blank`s at the beginning of `bytes`.
#[inline]
#[must_use]
pub fn count_start(bytes: &[u8], blank: u8) -> usize {
    find(bytes, |block| !mask_eq(block, blank), |byte| byte != blank).unwrap_or(bytes.len())
}

/// Returns whether every byte is printable ASCII, 0x20 to 0x7E.
#[inline]
#[must_use]
pub fn is_ascii_printable(bytes: &[u8]) -> bool {
    let printable = |byte: u8| matches!(byte, 0x20..=0x7e);
    find(bytes, |block| !mask_range(block, 0x20, 0x7e), |byte| !printable(byte)).is_none()
}

/// Returns whether every byte is printable ASCII, CR or LF. It looks at all bytes, so it suits texts of a few hundred bytes and
/// more.
#[inline]
#[must_use]
pub fn is_printable_but_breaks(bytes: &[u8]) -> bool {
    // Without a branch, so that the compiler takes a vector at a time.
    let odd =
        |byte: u8| u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') & u8::from(byte != b'\n') & u8::from(byte != b'\r');
    bytes.iter().fold(0, |found, byte| found | odd(*byte)) == 0
}

/// Returns the offset of the first byte at or above 0x80.
#[inline]
#[must_use]
pub fn find_high(bytes: &[u8]) -> Option<usize> {
    find(bytes, mask_high, |byte| byte >= 0x80)
}

/// Returns the offset of the first byte equal to `byte`.
#[inline]
#[must_use]
pub fn find_eq(bytes: &[u8], byte: u8) -> Option<usize> {
    find(bytes, |block| mask_eq(block, byte), |other| other == byte)
}

/// Returns the offset of the first byte that a JSON string must escape.
#[inline]
#[must_use]
pub fn find_json_special(bytes: &[u8]) -> Option<usize> {
    find(bytes, mask_json_special, plain::json_special)
}

/// Returns the offset of the first matching byte. `mask` sets a bit for each match in a block of 16 bytes; `one` tests a single byte.
#[inline(always)]
fn find(bytes: &[u8], mask: impl Fn(&[u8; 16]) -> u16, one: impl Fn(u8) -> bool) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<16>();
    for (i, block) in blocks.iter().enumerate() {
        let mask = mask(block);
        if mask != 0 {
            return Some(16 * i + mask.trailing_zeros() as usize);
        }
    }
    if let Some(last) = bytes.last_chunk::<16>() {
        // The last block overlaps bytes that have no bit.
        let mask = mask(last);
        return (mask != 0).then(|| bytes.len() - 16 + mask.trailing_zeros() as usize);
    }
    rest.iter().position(|byte| one(*byte))
}

#[cfg(target_arch = "x86_64")]
use sse2 as kernels;

#[cfg(not(target_arch = "x86_64"))]
use plain as kernels;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "SSE2, which every x86-64 processor has")]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    #[inline(always)]
    pub(super) fn mask_eq(block: &[u8; 16], byte: u8) -> u16 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { bits(_mm_cmpeq_epi8(load(block), splat(byte))) }
    }

    #[inline(always)]
    pub(super) fn mask_json_special(block: &[u8; 16]) -> u16 {
        bits(json_special(load(block)))
    }

    #[inline(always)]
    pub(super) fn mask_json_special_or_high(block: &[u8; 16]) -> u16 {
        // The bits are the high bits of the bytes, so those of the block itself join in.
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let bytes = load(block);
            bits(_mm_or_si128(json_special(bytes), bytes))
        }
    }

    #[inline(always)]
    pub(super) fn mask_range(block: &[u8; 16], first: u8, last: u8) -> u16 {
        // A byte is in the range if its distance from `first`, modulo 256, is no more than `last`'s.
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let distance = _mm_sub_epi8(load(block), splat(first));
            bits(_mm_cmpeq_epi8(_mm_min_epu8(distance, splat(last.wrapping_sub(first))), distance))
        }
    }

    #[inline(always)]
    pub(super) fn mask_high(block: &[u8; 16]) -> u16 {
        bits(load(block))
    }

    #[inline(always)]
    fn json_special(bytes: __m128i) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, splat(0x1f)), bytes);
            let quote = _mm_cmpeq_epi8(bytes, splat(b'"'));
            let backslash = _mm_cmpeq_epi8(bytes, splat(b'\\'));
            _mm_or_si128(control, _mm_or_si128(quote, backslash))
        }
    }

    #[inline(always)]
    fn load(block: &[u8; 16]) -> __m128i {
        // SAFETY: SSE2 is part of x86-64; the block has the 16 bytes, and the load needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(byte: u8) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the instruction sets 16 bits")]
    fn bits(bytes: __m128i) -> u16 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_movemask_epi8(bytes).cast_unsigned() as u16 }
    }
}

/// The masks without vector instructions.
#[doc(hidden)]
pub mod plain {
    /// Bytes equal to `byte`.
    #[must_use]
    pub fn mask_eq(block: &[u8; 16], byte: u8) -> u16 {
        mask(block, |b| b == byte)
    }

    /// Bytes that a JSON string must escape.
    #[must_use]
    pub fn mask_json_special(block: &[u8; 16]) -> u16 {
        mask(block, json_special)
    }

    /// Bytes that a JSON string must escape or that are not ASCII.
    #[must_use]
    pub fn mask_json_special_or_high(block: &[u8; 16]) -> u16 {
        mask(block, |b| json_special(b) || b >= 0x80)
    }

    /// Bytes from `first` to `last`.
    #[must_use]
    pub fn mask_range(block: &[u8; 16], first: u8, last: u8) -> u16 {
        mask(block, |b| (first..=last).contains(&b))
    }

    /// Bytes from 0x80.
    #[must_use]
    pub fn mask_high(block: &[u8; 16]) -> u16 {
        mask(block, |b| b >= 0x80)
    }

    pub(super) fn json_special(byte: u8) -> bool {
        byte < 0x20 || byte == b'"' || byte == b'\\'
    }

    fn mask(block: &[u8; 16], is: impl Fn(u8) -> bool) -> u16 {
        block.iter().enumerate().fold(0, |mask, (i, byte)| mask | u16::from(is(*byte)) << i)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![
            any::<u8>(),
            Just(b' '),
            Just(b'"'),
            Just(b'\\'),
            Just(0x1f),
            Just(0x20),
            Just(0x7f),
            Just(0x80),
            b'/'..=b':'
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn vector_masks_equal_plain_ones(block in prop::array::uniform16(byte()), a in byte(), b in byte()) {
            prop_assert_eq!(mask_eq(&block, a), plain::mask_eq(&block, a));
            prop_assert_eq!(mask_json_special(&block), plain::mask_json_special(&block));
            prop_assert_eq!(mask_json_special_or_high(&block), plain::mask_json_special_or_high(&block));
            prop_assert_eq!(mask_digits(&block), plain::mask_range(&block, b'0', b'9'));
            prop_assert_eq!(mask_range(&block, a.min(b), a.max(b)), plain::mask_range(&block, a.min(b), a.max(b)));
            prop_assert_eq!(mask_high(&block), plain::mask_high(&block));
        }

        #[test]
        fn searches_equal_their_definition(
            body in prop::collection::vec(byte(), 0..40),
            blanks in 0..40usize,
        ) {
            let ends = [body.clone(), vec![b' '; blanks]].concat();
            let starts = [vec![b' '; blanks], body].concat();
            prop_assert_eq!(trim_end(&ends, b' '), ends.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1));
            prop_assert_eq!(count_start(&starts, b' '), starts.iter().position(|b| *b != b' ').unwrap_or(starts.len()));
            for bytes in [ends, starts] {
                prop_assert_eq!(is_ascii_printable(&bytes), bytes.iter().all(|b| (0x20..0x7f).contains(b)));
                prop_assert_eq!(find_high(&bytes), bytes.iter().position(|b| *b >= 0x80));
                prop_assert_eq!(find_eq(&bytes, b'"'), bytes.iter().position(|b| *b == b'"'));
                prop_assert_eq!(find_json_special(&bytes), bytes.iter().position(|b| plain::json_special(*b)));
            }
        }
    }

    #[test]
    fn every_byte_is_classed_alike() {
        for byte in 0..=255u8 {
            let block = [byte; 16];
            assert_eq!(mask_json_special(&block), plain::mask_json_special(&block), "{byte:#04x}");
            assert_eq!(mask_digits(&block) != 0, byte.is_ascii_digit());
            assert_eq!(is_ascii_printable(&block), byte.is_ascii_graphic() || byte == b' ');
            assert_eq!(is_ascii_printable(&block[..3]), byte.is_ascii_graphic() || byte == b' ');
        }
    }
}
