//! Two permutes of 128 entries and a blend.
//!
//! `vpermi2b` looks up 128 entries by the low seven bits of each byte; the high bit, taken as a mask, chooses between the two halves.
//!
//! # Unsafe code
//!
//! `translate` passes on the caller's promises: `dst` can be written for `src.len()` bytes, does not overlap `src`, and the machine
//! has AVX-512 F, BW and VBMI. Whole blocks end at or before `src.len()`; the rest is loaded and stored under a mask that admits only
//! its bytes. Rows of the table are 64 bytes of a `[u8; 256]`. No access needs alignment.

use core::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8,
    _mm512_movepi8_mask, _mm512_permutex2var_epi8, _mm512_storeu_si512,
};

/// # Safety
/// `dst` is valid for writes of `src.len()` bytes and does not overlap `src`; the machine has AVX-512 F, BW and VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn translate(table: &[u8; 256], src: &[u8], dst: *mut u8) {
    let (rows, _) = table.as_chunks::<64>();
    // SAFETY: a row has 64 bytes, and the load needs no alignment.
    let table: [__m512i; 4] = core::array::from_fn(|i| unsafe { _mm512_loadu_si512(rows[i].as_ptr().cast()) });
    let from = src.as_ptr();
    let len = src.len();
    let mut at = 0;
    while at + 256 <= len {
        for i in 0..4 {
            // SAFETY: 256 bytes from `at` lie within `src.len()` on both sides.
            unsafe { block(&table, from.add(at + 64 * i), dst.add(at + 64 * i)) };
        }
        at += 256;
    }
    while at + 64 <= len {
        // SAFETY: 64 bytes from `at` lie within `src.len()` on both sides.
        unsafe { block(&table, from.add(at), dst.add(at)) };
        at += 64;
    }
    if at < len {
        let mask = u64::MAX >> (64 - (len - at));
        // SAFETY: the mask admits only the remaining `len - at` bytes on both sides; the others are neither read nor written.
        unsafe {
            let bytes = _mm512_maskz_loadu_epi8(mask, from.add(at).cast());
            _mm512_mask_storeu_epi8(dst.add(at).cast(), mask, look_up(&table, bytes));
        }
    }
}

/// # Safety
/// `from` is valid for reads and `to` for writes of 64 bytes; the machine has AVX-512 F, BW and VBMI.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn block(table: &[__m512i; 4], from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; neither needs alignment.
    unsafe {
        let bytes = _mm512_loadu_si512(from.cast());
        _mm512_storeu_si512(to.cast(), look_up(table, bytes));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(table: &[__m512i; 4], bytes: __m512i) -> __m512i {
    let low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    let high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high)
}
