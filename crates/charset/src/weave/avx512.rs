//! A permute fills the holes, a compress leaves out what is blank before the next word.

use core::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmpgt_epu8_mask, _mm512_cmpneq_epi8_mask, _mm512_loadu_si512,
    _mm512_mask_cmpneq_epi8_mask, _mm512_mask_permutexvar_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8,
    _mm512_set1_epi8, _mm512_storeu_si512, _mm512_sub_epi8,
};
use core::sync::atomic::{AtomicU8, Ordering};

use super::{CHUNK, Step, Weave, Woven};

/// # Safety
/// `rows` rows, `stride` apart, of `weave.reach` bytes lie in `text`, `rows` times `weave.row_max` bytes and [`Weave::OUT_SLACK`] more in `out`; the
/// machine is one that [`is_there`] is about.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn write(
    weave: &Weave,
    text: &[u8],
    stride: usize,
    rows: usize,
    stops: [u8; 2],
    out: &mut [u8],
) -> Woven {
    let stops = stops.map(|stop| _mm512_set1_epi8(stop.cast_signed()));
    let start = out.as_mut_ptr();
    let mut to = start;
    let mut row = text.as_ptr();
    for done in 0..rows {
        // SAFETY: the texts lie within the row's reach.
        if unsafe { stopped(row.add(weave.first), weave.span, stops) } {
            return Woven { rows: done, bytes: to.addr() - start.addr() };
        }
        for step in &weave.steps {
            // SAFETY: what is read lies within the row's reach; what is kept of all steps of a row is at most `row_max`, and a step writes at
            // most the slack beyond.
            to = unsafe { to.add(if step.long == 0 { chunk(step, row, to) } else { long(step, row, to) }) };
        }
        row = row.wrapping_add(stride);
    }
    Woven { rows, bytes: to.addr() - start.addr() }
}

/// # Safety
/// `len` bytes from `text` on can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
unsafe fn stopped(text: *const u8, len: usize, stops: [__m512i; 2]) -> bool {
    let (space, beyond) = (_mm512_set1_epi8(0x20), _mm512_set1_epi8(0x7e - 0x20));
    let bad = |block: __m512i| {
        _mm512_cmpgt_epu8_mask(_mm512_sub_epi8(block, space), beyond)
            | _mm512_cmpeq_epi8_mask(block, stops[0])
            | _mm512_cmpeq_epi8_mask(block, stops[1])
    };
    let mut found = 0;
    let mut at = 0;
    while at + CHUNK <= len {
        // SAFETY: within `len`.
        found |= bad(unsafe { _mm512_loadu_si512(text.add(at).cast()) });
        at += CHUNK;
    }
    if at < len {
        let rest = u64::MAX >> (CHUNK - (len - at));
        // SAFETY: what the mask does not admit is not read; it becomes 0x00, which may be a stop.
        found |= bad(unsafe { _mm512_maskz_loadu_epi8(rest, text.add(at).cast()) }) & rest;
    }
    found != 0
}

/// # Safety
/// A chunk can be read from the step's place in the row on and written to `to`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
unsafe fn chunk(step: &Step, row: *const u8, to: *mut u8) -> usize {
    // SAFETY: the caller's promise, and the step's own blocks.
    let (text, from, words) = unsafe {
        (
            _mm512_loadu_si512(row.add(step.at as usize).cast()),
            _mm512_loadu_si512(step.from.as_ptr().cast()),
            _mm512_loadu_si512(step.words.as_ptr().cast()),
        )
    };
    let filled = _mm512_mask_permutexvar_epi8(words, step.holes, from, text);
    let mut ink = _mm512_mask_cmpneq_epi8_mask(step.holes, filled, _mm512_set1_epi8(b' '.cast_signed()));
    // Whatever stands before ink in its hole is kept; bits that go on into the word before change nothing, and they end before the next hole.
    for shift in [1, 2, 4, 8] {
        ink |= ink >> shift;
    }
    let keep = ink | step.kept;
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi8(keep, filled)) };
    keep.count_ones() as usize
}

/// # Safety
/// The step's text can be read from its place in the row on, and two chunks written to `to`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,lzcnt,bmi2")]
unsafe fn long(step: &Step, row: *const u8, to: *mut u8) -> usize {
    let size = step.long as usize;
    let first = |bytes: usize| if bytes == 0 { 0 } else { u64::MAX >> (CHUNK - bytes) };
    let masks = [first(size.min(CHUNK)), first(size.saturating_sub(CHUNK))];
    let blank = _mm512_set1_epi8(b' '.cast_signed());
    // SAFETY: what the masks do not admit is not read; the rest is the caller's promise.
    unsafe {
        let from = row.add(step.at as usize);
        let low = _mm512_maskz_loadu_epi8(masks[0], from.cast());
        let high = _mm512_maskz_loadu_epi8(masks[1], from.wrapping_add(CHUNK).cast());
        _mm512_storeu_si512(to.cast(), low);
        _mm512_storeu_si512(to.add(CHUNK).cast(), high);
        let ink = [_mm512_cmpneq_epi8_mask(low, blank) & masks[0], _mm512_cmpneq_epi8_mask(high, blank) & masks[1]];
        let len = |ink: u64| CHUNK - ink.leading_zeros() as usize;
        if ink[1] == 0 { len(ink[0]) } else { CHUNK + len(ink[1]) }
    }
}

/// Whether the machine has the instructions.
#[inline]
pub(super) fn is_there() -> bool {
    match FOUND.load(Ordering::Relaxed) {
        0 => find(),
        found => found == 2,
    }
}

/// 0 before the machine was asked, 1 for no, 2 for yes.
static FOUND: AtomicU8 = AtomicU8::new(0);

#[cold]
fn find() -> bool {
    let found = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    FOUND.store(if found { 2 } else { 1 }, Ordering::Relaxed);
    found
}
