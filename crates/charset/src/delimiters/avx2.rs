//! Two compares of 32 bytes; positions by counting trailing zeros, some at once so that the loop seldom turns.
//!
//! # Unsafe code
//!
//! `classes` loads 64 bytes from a `&[u8; 64]`, without alignment. `flatten` stores positions eight at a time, so up to seven beyond
//! those it counts; its caller's room of 128 holds them, and `set_len` admits only the counted ones. The loop of `block.rs`
//! guarantees the room, and `DelimiterIndex::scan_for` the instructions.

use core::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
};

use super::block::{BATCH, Classes, Found, reserve, scan_loop};
use super::{Carry, DelimiterIndex, Needles, Stop, scalar};

struct Vectors {
    element: __m256i,
    terminator: __m256i,
    component: __m256i,
    repetition: __m256i,
    release: __m256i,
    cr: __m256i,
    lf: __m256i,
}

scan_loop!("avx2,bmi1,bmi2,popcnt", Vectors, load, classes, store);

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn load(set: &Needles) -> Vectors {
    let splat = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
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
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn classes(vectors: &Vectors, block: &[u8; 64]) -> Classes {
    let from = block.as_ptr().cast::<__m256i>();
    // SAFETY: the block has 64 bytes, and the loads need no alignment.
    let (low, high) = unsafe { (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))) };
    let bits = |low: __m256i, high: __m256i| {
        let low = _mm256_movemask_epi8(low).cast_unsigned();
        let high = _mm256_movemask_epi8(high).cast_unsigned();
        u64::from(high) << 32 | u64::from(low)
    };
    let one = |needle| bits(_mm256_cmpeq_epi8(low, needle), _mm256_cmpeq_epi8(high, needle));
    let either = |bytes, a, b| _mm256_or_si256(_mm256_cmpeq_epi8(bytes, a), _mm256_cmpeq_epi8(bytes, b));
    let two = |a, b| bits(either(low, a, b), either(high, a, b));
    Classes {
        element: one(vectors.element),
        terminator: one(vectors.terminator),
        part: two(vectors.component, vectors.repetition),
        release: one(vectors.release),
        line_break: two(vectors.cr, vectors.lf),
    }
}

/// # Safety
/// The machine has the kernel's instructions, and each list has room for 128 more positions.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[expect(clippy::cast_possible_truncation, reason = "there are fewer ends than positions, which have 32 bits")]
unsafe fn store<const SEGMENTS: bool>(found: Found, base: u32, index: &mut DelimiterIndex) {
    let (ends, parts) = (index.ends.len() as u32, index.parts.len() as u32);
    let mut terminators = if SEGMENTS { found.terminators } else { 0 };
    while terminators != 0 {
        let below = (terminators & terminators.wrapping_neg()) - 1;
        index.stops.push(Stop {
            end: ends + (found.ends & below).count_ones(),
            part: parts + (found.parts & below).count_ones(),
        });
        terminators &= terminators - 1;
    }
    // SAFETY: the caller's promises.
    unsafe {
        flatten(found.ends, base, &mut index.ends);
        if found.parts != 0 {
            flatten(found.parts, base, &mut index.parts);
        }
        if found.marks != 0 {
            flatten(found.marks, base, &mut index.marks);
        }
    }
}

/// Appends `base` plus the number of each bit.
///
/// # Safety
/// The machine has the kernel's instructions, and `out` has room for 128 more.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn flatten(mut mask: u64, base: u32, out: &mut Vec<u32>) {
    let count = mask.count_ones() as usize;
    let len = out.len();
    debug_assert!(out.capacity() - len >= 72);
    // SAFETY: stores reach at most 7 positions beyond the last of at most 64, and the caller made room for these; those up to
    // `count` are initialised when `set_len` admits them.
    unsafe {
        let to: *mut u32 = out.as_mut_ptr().add(len);
        let mut done = 0;
        while done < count {
            for i in 0..8 {
                to.add(done + i).write(base + mask.trailing_zeros());
                mask &= mask.wrapping_sub(1);
            }
            done += 8;
        }
        out.set_len(len + count);
    }
}
