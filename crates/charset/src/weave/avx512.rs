//! Writes a block of words and a block of text after them; the number of the text's trailing blanks determines where the next words
//! begin.
//!
//! Blocks have 16 and 32 bytes, and `movemask` finds their blanks: with blocks of 64 and mask registers a text takes twice as long,
//! in fewer instructions. Only the search for stop bytes uses masks, because nothing waits for them.
//!
//! # Unsafe code
//!
//! [`write()`] states the preconditions and [`Weave::write`] guarantees them; `mod.rs` has the proof. Pointers to rows are made by
//! `wrapping_add`, because the one after the last row may lie beyond the text; it is never read. Loads and stores need no alignment.

use core::arch::x86_64::{
    __m512i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_storeu_si128, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_storeu_si256, _mm512_loadu_si512,
    _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_setzero_si512,
    _mm512_ternarylogic_epi64,
};
use core::sync::atomic::{AtomicU8, Ordering};

use super::{CHUNK, HALF, Step, Weave, Woven};

/// # Safety
/// `text` holds `rows` rows, `stride` apart, of `weave.reach` bytes; `out` holds `rows` times `weave.row_max` bytes and
/// [`Weave::OUT_SLACK`] more; [`is_there`] returned true on this machine.
pub(super) unsafe fn write(
    weave: &Weave,
    text: &[u8],
    stride: usize,
    rows: usize,
    stops: [u8; 2],
    out: &mut [u8],
) -> Woven {
    // SAFETY: the caller's promise.
    unsafe {
        let rows = good(weave, text, stride, rows, stops);
        Woven { rows, bytes: write_good(weave, text, stride, rows, out) }
    }
}

/// Counts the rows before the first that has a stop byte.
///
/// # Safety
/// As for [`write()`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2")]
unsafe fn good(weave: &Weave, text: &[u8], stride: usize, rows: usize, stops: [u8; 2]) -> usize {
    let bad = Bad::new(stops);
    let mut row = text.as_ptr().wrapping_add(weave.first);
    for done in 0..rows {
        // SAFETY: the texts lie within the row's reach.
        if unsafe { bad.is_in(row, weave.span) } {
            return done;
        }
        row = row.wrapping_add(stride);
    }
    rows
}

/// Writes rows without examining their content and returns the number of bytes. It enables no mask registers, so that the compiler
/// uses none.
///
/// # Safety
/// As for [`write()`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
unsafe fn write_good(weave: &Weave, text: &[u8], stride: usize, rows: usize, out: &mut [u8]) -> usize {
    let start = out.as_mut_ptr();
    let mut to = start;
    let mut row = text.as_ptr();
    for _ in 0..rows {
        for step in &weave.steps {
            // SAFETY: reads stay within the row's reach; the bytes kept of all steps of a row are at most `row_max`, and a step
            // writes at most the slack beyond.
            to = unsafe { to.add(if step.blocks == 0 { short(step, row, to) } else { long(step, row, to) }) };
        }
        row = row.wrapping_add(stride);
    }
    to.addr() - start.addr()
}

/// Bytes that end the writing: for each below 0x80 whether it is one, in its top bit; those above all are.
#[derive(Clone, Copy)]
struct Bad([__m512i; 2]);

impl Bad {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn new(stops: [u8; 2]) -> Bad {
        let mut table = PRINTABLE;
        for stop in stops {
            table[usize::from(stop & 0x7f)] = 0x80;
        }
        // SAFETY: both halves of the table are read.
        unsafe {
            Bad([_mm512_loadu_si512(table.as_ptr().cast()), _mm512_loadu_si512(table.as_ptr().add(CHUNK).cast())])
        }
    }

    /// # Safety
    /// `len` bytes from `text` on can be read.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2")]
    unsafe fn is_in(self, text: *const u8, len: usize) -> bool {
        let Bad([low, high]) = self;
        let mut found = _mm512_setzero_si512();
        let mut at = 0;
        while at + CHUNK <= len {
            // SAFETY: within `len`.
            let block = unsafe { _mm512_loadu_si512(text.add(at).cast()) };
            found = _mm512_ternarylogic_epi64::<OR>(found, block, _mm512_permutex2var_epi8(low, block, high));
            at += CHUNK;
        }
        let mut found = _mm512_movepi8_mask(found);
        if at < len {
            let rest = u64::MAX >> (CHUNK - (len - at));
            // SAFETY: bytes that the mask does not admit are not read; they become 0x00, which is bad.
            let block = unsafe { _mm512_maskz_loadu_epi8(rest, text.add(at).cast()) };
            found |= _mm512_movepi8_mask(_mm512_or_si512(block, _mm512_permutex2var_epi8(low, block, high))) & rest;
        }
        found != 0
    }
}

/// Truth table of a three-way OR.
const OR: i32 = 0xfe;

/// For each byte below 0x80, nonzero if it is not printable ASCII.
const PRINTABLE: [u8; 2 * CHUNK] = {
    let mut table = [0x80; 2 * CHUNK];
    let mut byte = 0x20;
    while byte <= 0x7e {
        table[byte] = 0;
        byte += 1;
    }
    table
};

/// # Safety
/// A short text can be read from the step's place in the row; a chunk can be written at `to`, and a short text after the words.
#[inline]
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn short(step: &Step, row: *const u8, to: *mut u8) -> usize {
    let before = step.before as usize;
    // SAFETY: the step's own block; the rest is the caller's promise.
    unsafe {
        let text = _mm_loadu_si128(row.add(step.at as usize).cast());
        _mm256_storeu_si256(to.cast(), _mm256_loadu_si256(step.words.as_ptr().cast()));
        if before > HALF {
            _mm256_storeu_si256(to.add(HALF).cast(), _mm256_loadu_si256(step.words.as_ptr().add(HALF).cast()));
        }
        _mm_storeu_si128(to.add(before).cast(), text);
        let blanks = _mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(b' '.cast_signed())));
        let ink = !blanks.cast_unsigned() & step.own;
        before + HALF - ink.leading_zeros() as usize
    }
}

/// # Safety
/// The step's blocks can be read from its place in the row; a chunk can be written at `to`, and the blocks after the words.
#[inline]
#[target_feature(enable = "avx2,lzcnt")]
unsafe fn long(step: &Step, row: *const u8, to: *mut u8) -> usize {
    let before = step.before as usize;
    let mut len = 0;
    // SAFETY: the step's own blocks; the rest is the caller's promise.
    unsafe {
        for at in [0, HALF] {
            _mm256_storeu_si256(to.add(at).cast(), _mm256_loadu_si256(step.words.as_ptr().add(at).cast()));
        }
        for block in 1..=step.blocks as usize {
            let at = (block - 1) * HALF;
            let text = _mm256_loadu_si256(row.add(step.at as usize + at).cast());
            _mm256_storeu_si256(to.add(before + at).cast(), text);
            let blanks = _mm256_movemask_epi8(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b' '.cast_signed())));
            let own = if block == step.blocks as usize { step.own } else { u32::MAX };
            let ink = !blanks.cast_unsigned() & own;
            len = if ink == 0 { len } else { at + HALF - ink.leading_zeros() as usize };
        }
    }
    before + len
}

/// Returns whether the machine has the instructions.
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
    let found = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    FOUND.store(if found { 2 } else { 1 }, Ordering::Relaxed);
    found
}
