//! Sixteen shuffles.
//!
//! `pshufb` looks up 16 entries by the low four bits of each byte and gives 0 where the byte's high bit is set. With the table cut
//! into rows `T0 … T15`, a byte `x` below 0x80 has its answer in row `x / 16`. Saturating subtraction of 16 per row makes a byte
//! negative (high bit set) once its row is passed, so a look-up gives 0 from then on. Rows are stored as differences
//! `T0, T0^T1, T1^T2, …`, and the sum by exclusive or of the look-ups `0 ..= x / 16` is row `x / 16`. Bytes from 0x80 take the same
//! road through rows 8 to 15 with the high bit flipped; each half gives 0 for the bytes of the other, so the two are merged by one
//! more exclusive or.
//!
//! Saturation goes down to -128, never to positive, and all bytes of a row keep their low four bits while it is theirs, since 16 is
//! subtracted.
//!
//! # Unsafe code
//!
//! `translate` passes on the caller's promises: `dst` can be written for `src.len()` bytes, does not overlap `src`, and the machine
//! has AVX2. It keeps each block within `src.len()`: below 32 bytes it uses the scalar loop, and the last block begins 32 bytes
//! before the end. Rows of the table are 16 bytes of a `[u8; 256]`. No access needs alignment.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_xor_si128, _mm256_broadcastsi128_si256, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_storeu_si256, _mm256_subs_epi8,
    _mm256_xor_si256,
};

/// # Safety
/// `dst` is valid for writes of `src.len()` bytes and does not overlap `src`; the machine has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn translate(table: &[u8; 256], src: &[u8], dst: *mut u8) {
    let len = src.len();
    if len < 32 {
        // SAFETY: the caller's promises.
        return unsafe { super::scalar(table, src, dst) };
    }
    let rows = differences(table);
    let from = src.as_ptr();
    let mut at = 0;
    while at + 64 <= len {
        // SAFETY: 64 bytes from `at` lie within `src.len()` on both sides.
        unsafe { blocks::<2>(&rows, from.add(at), dst.add(at)) };
        at += 64;
    }
    if at + 32 <= len {
        // SAFETY: 32 bytes from `at` lie within `src.len()` on both sides.
        unsafe { blocks::<1>(&rows, from.add(at), dst.add(at)) };
        at += 32;
    }
    if at < len {
        // The last block overlaps the one before and writes the same bytes again.
        // SAFETY: `len >= 32`, so the last 32 bytes exist on both sides.
        unsafe { blocks::<1>(&rows, from.add(len - 32), dst.add(len - 32)) };
    }
}

/// Returns the rows of the table, each but the first of each half as the difference from the row before.
#[target_feature(enable = "avx2")]
fn differences(table: &[u8; 256]) -> [__m128i; 16] {
    let (rows, _) = table.as_chunks::<16>();
    core::array::from_fn(|i| {
        // SAFETY: a row has 16 bytes, and the load needs no alignment.
        let row = |i: usize| unsafe { _mm_loadu_si128(rows[i].as_ptr().cast()) };
        if i % 8 == 0 { row(i) } else { _mm_xor_si128(row(i), row(i - 1)) }
    })
}

/// Translates `N` blocks of 32 bytes; several at once share the loads of the rows.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `32 * N` bytes; the machine has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn blocks<const N: usize>(rows: &[__m128i; 16], from: *const u8, to: *mut u8) {
    let sixteen = _mm256_set1_epi8(16);
    let flip = _mm256_set1_epi8(i8::MIN);
    let mut low = [_mm256_setzero_si256(); N];
    let mut high = low;
    let mut sum = low;
    for i in 0..N {
        // SAFETY: block `i` lies within the `32 * N` bytes.
        low[i] = unsafe { _mm256_loadu_si256(from.cast::<__m256i>().add(i)) };
        high[i] = _mm256_xor_si256(low[i], flip);
    }
    for row in 0..8 {
        let first = _mm256_broadcastsi128_si256(rows[row]);
        let second = _mm256_broadcastsi128_si256(rows[row + 8]);
        for i in 0..N {
            sum[i] = _mm256_xor_si256(sum[i], _mm256_shuffle_epi8(first, low[i]));
            sum[i] = _mm256_xor_si256(sum[i], _mm256_shuffle_epi8(second, high[i]));
            low[i] = _mm256_subs_epi8(low[i], sixteen);
            high[i] = _mm256_subs_epi8(high[i], sixteen);
        }
    }
    for (i, sum) in sum.into_iter().enumerate() {
        // SAFETY: block `i` lies within the `32 * N` bytes.
        unsafe { _mm256_storeu_si256(to.cast::<__m256i>().add(i), sum) };
    }
}
