//! Bytes through a table of 256.
//!
//! | kernel | needs | how | bytes a step |
//! |---|---|---|---|
//! | [`Kernel::Scalar`] | nothing | one load a byte | 8 |
//! | [`Kernel::Avx2`] | AVX2 | sixteen shuffles of 16 entries each | 64 |
//! | [`Kernel::Avx512Vbmi`] | AVX-512 F, BW, VBMI | two shuffles of 128 entries, one blend | 256 |
//!
//! A kernel is chosen once per process. Short inputs stay cheap: below one block the AVX2 kernel uses the scalar loop, and the AVX-512
//! kernel masks its one load and store.
//!
//! # Unsafe code
//!
//! `Kernel::run` and the kernels need a `dst` that can be written for `src.len()` bytes and does not overlap `src`, and a machine
//! with the kernel's instructions. [`Kernel::translate`] guarantees the first by its assertion and an exclusive borrow,
//! [`translate_append`] by reserving room in a vector that is borrowed exclusively. For the second, `Kernel::translate` takes any
//! kernel up to the active one and checks a higher one against [`Kernel::available`]; every processor with AVX-512 has AVX2. Every
//! kernel writes all `src.len()` bytes and no other, on which the `set_len` of `translate_append` relies. The tests look at both.

use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Writes `table[b]` for each byte `b` of `src` to the beginning of `dst`; the rest of `dst` is unchanged.
///
/// # Panics
/// If `dst` is shorter than `src`.
#[inline]
pub fn translate(table: &[u8; 256], src: &[u8], dst: &mut [u8]) {
    Kernel::active().translate(table, src, dst);
}

/// Appends `table[b]` for each byte `b` of `src` to `out`.
#[inline]
pub fn translate_append(table: &[u8; 256], src: &[u8], out: &mut Vec<u8>) {
    out.reserve(src.len());
    let len = out.len();
    // SAFETY: `reserve` made room for `src.len()` bytes after `len`, `src` cannot overlap `out`, which is borrowed exclusively, and
    // the kernel is available. It writes all those bytes, so they are initialised when `set_len` admits them.
    unsafe {
        Kernel::active().run(table, src, out.as_mut_ptr().add(len));
        out.set_len(len + src.len());
    }
}

/// Translates like [`translate()`], but without vector instructions: for tests and as the reference of measurements.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn translate_scalar(table: &[u8; 256], src: &[u8], dst: &mut [u8]) {
    Kernel::Scalar.translate(table, src, dst);
}

/// A way to translate.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Kernel {
    /// Plain loads and stores.
    Scalar = 1,
    /// 32-byte vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2 = 2,
    /// 64-byte vectors with byte permutes over 128 entries.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi = 3,
}

impl Kernel {
    /// Returns the fastest kernel of this machine.
    #[inline]
    #[must_use]
    pub fn active() -> Kernel {
        match ACTIVE.load(Ordering::Relaxed) {
            1 => Kernel::Scalar,
            #[cfg(target_arch = "x86_64")]
            2 => Kernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            3 => Kernel::Avx512Vbmi,
            _ => Kernel::choose(),
        }
    }

    /// Returns the kernels that this machine can run, slowest first.
    #[must_use]
    pub fn available() -> Vec<Kernel> {
        #[allow(unused_mut, reason = "one kernel only on other machines")]
        let mut kernels = vec![Kernel::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                kernels.push(Kernel::Avx2);
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vbmi")
            {
                kernels.push(Kernel::Avx512Vbmi);
            }
        }
        kernels
    }

    /// Translates like [`translate()`] with this kernel.
    ///
    /// # Panics
    /// If `dst` is shorter than `src`, or the machine does not have the kernel's instructions.
    pub fn translate(self, table: &[u8; 256], src: &[u8], dst: &mut [u8]) {
        assert!(dst.len() >= src.len(), "{} bytes do not fit into {}", src.len(), dst.len());
        if self > Kernel::active() {
            assert!(Kernel::available().contains(&self), "{self:?} is not available on this machine");
        }
        // SAFETY: `dst` has room for `src.len()` bytes and, being borrowed exclusively, does not overlap `src`; the kernel is no higher
        // than the active one, whose instructions include those of the lower ones, or was just found to be available.
        unsafe { self.run(table, src, dst.as_mut_ptr()) }
    }

    /// # Safety
    /// `dst` is valid for writes of `src.len()` bytes and does not overlap `src`; the machine has the kernel's instructions.
    #[inline]
    unsafe fn run(self, table: &[u8; 256], src: &[u8], dst: *mut u8) {
        // SAFETY: the caller's promises are the kernels'.
        unsafe {
            match self {
                Kernel::Scalar => scalar(table, src, dst),
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx2 => avx2::translate(table, src, dst),
                #[cfg(target_arch = "x86_64")]
                Kernel::Avx512Vbmi => avx512::translate(table, src, dst),
            }
        }
    }

    #[cold]
    fn choose() -> Kernel {
        let best = Kernel::available().into_iter().max().unwrap_or(Kernel::Scalar);
        ACTIVE.store(best as u8, Ordering::Relaxed);
        best
    }
}

/// The chosen kernel's number; 0 before the first use.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// # Safety
/// `dst` is valid for writes of `src.len()` bytes and does not overlap `src`.
unsafe fn scalar(table: &[u8; 256], src: &[u8], dst: *mut u8) {
    let (blocks, rest) = src.as_chunks::<8>();
    let mut at = dst;
    for block in blocks {
        // Eight loads into one word and one store: byte stores would be the bottleneck.
        let word = u64::from_le_bytes(block.map(|byte| table[usize::from(byte)]));
        // SAFETY: block `i` ends at `8 * i + 8 <= src.len()` bytes behind `dst`.
        unsafe {
            at.cast::<u64>().write_unaligned(word.to_le());
            at = at.add(8);
        }
    }
    for (i, byte) in rest.iter().enumerate() {
        // SAFETY: the blocks and `i < rest.len()` bytes lie before, so this is within `src.len()`.
        unsafe { at.add(i).write(table[usize::from(*byte)]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CodePage;

    /// A table without any regularity, and bytes that meet every entry at every place.
    fn scrambled() -> ([u8; 256], Vec<u8>) {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        let table = core::array::from_fn(|_| next());
        (table, (0..4096).map(|_| next()).collect())
    }

    #[test]
    fn every_kernel_gives_the_table_at_every_length_and_alignment() {
        let (table, bytes) = scrambled();
        for kernel in Kernel::available() {
            let lengths = (0..=300).chain([511, 512, 513, 1000, 1023, 1024, 1025, 2000]);
            for len in lengths {
                for from in [0, 1, 7, 31, 63] {
                    let to = (len * 7 + from) % 65;
                    let src = &bytes[from..from + len];
                    let mut dst = vec![0xee; to + len + 70];
                    kernel.translate(&table, src, &mut dst[to..to + len]);
                    let expected: Vec<u8> = src.iter().map(|byte| table[usize::from(*byte)]).collect();
                    assert_eq!(dst[to..to + len], expected, "{kernel:?} {len} {from}");
                    assert!(
                        dst[..to].iter().chain(&dst[to + len..]).all(|byte| *byte == 0xee),
                        "{kernel:?} {len} {from} wrote outside"
                    );
                }
            }
        }
    }

    #[test]
    fn every_kernel_knows_every_entry() {
        let all: Vec<u8> = (0..=255).collect();
        for kernel in Kernel::available() {
            for page in CodePage::all() {
                let mut out = [0; 256];
                kernel.translate(page.ascii_table(), &all, &mut out);
                assert_eq!(&out, page.ascii_table(), "{kernel:?}");
            }
        }
    }

    #[test]
    fn appending_keeps_what_is_there() {
        let (table, bytes) = scrambled();
        let mut out = b"kept".to_vec();
        translate_append(&table, &bytes, &mut out);
        translate_append(&table, &[], &mut out);
        let mut expected = b"kept".to_vec();
        expected.extend(bytes.iter().map(|byte| table[usize::from(*byte)]));
        assert_eq!(out, expected);
    }

    #[test]
    #[should_panic(expected = "3 bytes do not fit into 2")]
    fn a_short_destination_is_refused() {
        translate(CodePage::IBM037.ascii_table(), &[0; 3], &mut [0; 2]);
    }
}
