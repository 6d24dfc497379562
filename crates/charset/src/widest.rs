//! A hot loop compiled twice: for any machine of its kind, and for one with wide vectors.
//!
//! # Unsafe code
//!
//! `run_wide` may be called only on a machine that has every instruction set of its `target_feature` attribute. `wide` guarantees
//! that: it is true only after `find` has detected each of them. Keep the two lists equal. Nothing else is required: `Hot::run` is a
//! safe function, and a race on `WIDE` only repeats the detection.

use core::sync::atomic::{AtomicU8, Ordering};

/// A hot loop with its data. (A closure would not do, because it cannot be marked for inlining.)
pub trait Hot {
    /// The result of the loop.
    type Output;

    /// Runs the loop. Implementations are `#[inline(always)]`, like the small functions that they call, because functions that are
    /// not inlined are not compiled twice.
    fn run(self) -> Self::Output;
}

/// Runs `hot`, compiled for AVX-512 (F, BW, VL), BMI and LZCNT on a machine that has them; the result is the same either way.
#[inline(always)]
pub fn widest<H: Hot>(hot: H) -> H::Output {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` has found every instruction set that `run_wide` is compiled for.
        return unsafe { run_wide(hot) };
    }
    hot.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn run_wide<H: Hot>(hot: H) -> H::Output {
    hot.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn wide() -> bool {
    match WIDE.load(Ordering::Relaxed) {
        0 => find(),
        found => found == 2,
    }
}

/// 0 before the machine was asked, 1 for no, 2 for yes.
#[cfg(target_arch = "x86_64")]
static WIDE: AtomicU8 = AtomicU8::new(0);

#[cfg(target_arch = "x86_64")]
#[cold]
fn find() -> bool {
    let found = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    WIDE.store(if found { 2 } else { 1 }, Ordering::Relaxed);
    found
}
