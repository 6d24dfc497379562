//! 64 bytes a compare; positions by compressing the vector 0, 1, … 63 under the mask.
//!
//! # Unsafe code
//!
//! `classes` loads 64 bytes from a `&[u8; 64]`, and `IOTA` has 64, all without alignment. `append` and `stop` store whole vectors, up
//! to 64 entries beyond the length whatever they count; the caller's room of 128 holds them, and `set_len` admits only the counted
//! ones. `stop` writes a `Stop` as two 32-bit numbers, `end` in the low half: the type is `repr(C)` with the fields in this order,
//! and x86-64 is little-endian. The loop of `block.rs` guarantees the room, and `DelimiterIndex::scan_for` the instructions.

use core::arch::x86_64::{
    __m512i, _mm_unpacklo_epi8, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_maskz_compress_epi64,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi8, _pext_u64,
};

use super::block::{BATCH, Classes, Found, reserve, scan_loop};
use super::{Carry, DelimiterIndex, Needles, Stop, scalar};

struct Vectors {
    element: __m512i,
    terminator: __m512i,
    component: __m512i,
    repetition: __m512i,
    release: __m512i,
    cr: __m512i,
    lf: __m512i,
}

const IOTA: [u8; 64] = {
    let mut iota = [0u8; 64];
    let mut i = 0u8;
    while i < 64 {
        iota[i as usize] = i;
        i += 1;
    }
    iota
};

scan_loop!("avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt", Vectors, load, classes, store);

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
fn load(set: &Needles) -> Vectors {
    let splat = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    Vectors {
        element: splat(set.element),
        terminator: splat(set.terminator),
        component: splat(set.component),
        repetition: splat(set.repetition),
        release: splat(set.release),
        cr: splat(set.cr),
        lf: splat(set.lf),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
fn classes(vectors: &Vectors, block: &[u8; 64]) -> Classes {
    // SAFETY: the block has 64 bytes, and the load needs no alignment.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let eq = |needle| _mm512_cmpeq_epi8_mask(bytes, needle);
    Classes {
        element: eq(vectors.element),
        terminator: eq(vectors.terminator),
        part: eq(vectors.component) | eq(vectors.repetition),
        release: eq(vectors.release),
        line_break: eq(vectors.cr) | eq(vectors.lf),
    }
}

/// # Safety
/// The machine has the kernel's instructions, and each list has room for 128 more positions.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
#[expect(clippy::cast_possible_truncation, reason = "there are fewer ends than positions, which have 32 bits")]
unsafe fn store<const SEGMENTS: bool>(found: Found, base: u32, index: &mut DelimiterIndex) {
    let (ends, parts) = (index.ends.len() as u32, index.parts.len() as u32);
    // SAFETY: the caller's promises. The bit of a terminator among the bits of `ends` is its number among the block's ends.
    unsafe {
        flatten::<32>(found.ends, base, &mut index.ends);
        if SEGMENTS {
            stop(found, Stop { end: ends, part: parts }, &mut index.stops);
        }
        flatten::<16>(found.parts, base, &mut index.parts);
        if found.marks != 0 {
            flatten::<16>(found.marks, base, &mut index.marks);
        }
    }
}

/// Appends for each terminator `before` plus the numbers of ends and parts before it in the block.
///
/// # Safety
/// The machine has the kernel's instructions, and `out` has room for 128 more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
unsafe fn stop(found: Found, before: Stop, out: &mut Vec<Stop>) {
    let count = found.terminators.count_ones() as usize;
    let len = out.len();
    debug_assert!(out.capacity() - len >= 64);
    let bases = _mm512_set1_epi64((u64::from(before.part) << 32 | u64::from(before.end)).cast_signed());
    // SAFETY: the array has 64 bytes. A `Stop` is two numbers of 32 bits, `end` first; stores reach at most 64 of them beyond
    // `len`, and the caller made room for these; those up to `count` are initialised when `set_len` admits them.
    unsafe {
        let iota = _mm512_loadu_si512(IOTA.as_ptr().cast());
        // The number of a terminator's bit among those of ends; and among those of parts and terminators, less the terminators before it.
        let ends = _mm512_maskz_compress_epi8(_pext_u64(found.terminators, found.ends), iota);
        let merged = _pext_u64(found.terminators, found.terminators | found.parts);
        let parts = _mm512_sub_epi8(_mm512_maskz_compress_epi8(merged, iota), iota);
        let to: *mut Stop = out.as_mut_ptr().add(len);
        // Eight at a time, rarely more.
        let mut done = 0;
        let (mut ends, mut parts) = (ends, parts);
        loop {
            let pairs = _mm_unpacklo_epi8(_mm512_castsi512_si128(ends), _mm512_castsi512_si128(parts));
            _mm512_storeu_si512(to.add(done).cast(), _mm512_add_epi32(_mm512_cvtepu8_epi32(pairs), bases));
            done += 8;
            if done >= count {
                break;
            }
            (ends, parts) = (_mm512_maskz_compress_epi64(0xfe, ends), _mm512_maskz_compress_epi64(0xfe, parts));
        }
        out.set_len(len + count);
    }
}

/// Appends `base` plus the number of each bit.
///
/// # Safety
/// The machine has the kernel's instructions, and `out` has room for 128 more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
unsafe fn flatten<const MOSTLY: usize>(mask: u64, base: u32, out: &mut Vec<u32>) {
    // SAFETY: the array has 64 bytes; the rest are the caller's promises.
    unsafe {
        let numbers = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(IOTA.as_ptr().cast()));
        append::<MOSTLY>(numbers, mask.count_ones() as usize, base, out);
    }
}

/// Appends `base` plus each of the first `count` bytes of `numbers`.
///
/// # Safety
/// The machine has the kernel's instructions, `count` is at most 64, and `out` has room for 128 more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
unsafe fn append<const MOSTLY: usize>(numbers: __m512i, count: usize, base: u32, out: &mut Vec<u32>) {
    let len = out.len();
    debug_assert!(out.capacity() - len >= 64);
    let bases = _mm512_set1_epi32(base.cast_signed());
    // SAFETY: stores reach at most 64 positions beyond `len`, and the caller made room for these; those up to `count` are
    // initialised when `set_len` admits them.
    unsafe {
        let to: *mut u32 = out.as_mut_ptr().add(len);
        let put = |at: usize, quarter| {
            _mm512_storeu_si512(to.add(at).cast(), _mm512_add_epi32(_mm512_cvtepu8_epi32(quarter), bases));
        };
        put(0, _mm512_castsi512_si128(numbers));
        if MOSTLY > 16 || count > 16 {
            put(16, _mm512_extracti32x4_epi32::<1>(numbers));
            if count > 32 {
                put(32, _mm512_extracti32x4_epi32::<2>(numbers));
                put(48, _mm512_extracti32x4_epi32::<3>(numbers));
            }
        }
        out.set_len(len + count);
    }
}
