//! Upper limits of the machine for the same bytes: plain passes that do less than any codec must.

use std::hint::black_box;

use crate::Run;
use crate::clock::cpu_of;

/// Bytes of JSON that one block of car records becomes before it is written out (256 KiB of records, 2.1 bytes a byte): source and copy
/// together fill a second-level cache of 1 MiB. A copy inside the first level is up to twice as fast, but no document stays there.
const COPY_BYTES: usize = 512 << 10;

/// Copies a block of JSON repeatedly: the minimum cost of writing the documents of a block, with all data in cache.
#[must_use]
pub fn cached_copy() -> Run {
    let source = vec![0x5au8; COPY_BYTES];
    let mut target = vec![0u8; COPY_BYTES];
    let times = 4_000;
    let ((), cpu) = cpu_of(|| {
        for _ in 0..times {
            black_box(&mut target[..]).copy_from_slice(black_box(&source[..]));
        }
    });
    Run { bytes: (COPY_BYTES * times) as u64, cpu }
}

/// Translates every byte of `records` through a table of 256, one byte at a time: the cost of reading each byte once and writing one
/// without vector instructions.
#[must_use]
pub fn scalar_translate(records: &[u8]) -> Run {
    let table: [u8; 256] = core::array::from_fn(|i| u8::try_from(i ^ 0x5a).expect("below 256"));
    let mut target = vec![0u8; 32 << 10];
    let mut bytes = 0;
    let ((), cpu) = cpu_of(|| {
        while bytes < 256 << 20 {
            for chunk in records.chunks(target.len()) {
                translate(black_box(&table), black_box(chunk), &mut target);
                black_box(&target);
            }
            bytes += records.len();
        }
    });
    Run { bytes: bytes as u64, cpu }
}

/// Translates bytes. It is not inlined, so that the compiler cannot optimize across it; its loop has no vector form on a machine without byte
/// gathers.
#[inline(never)]
fn translate(table: &[u8; 256], source: &[u8], target: &mut [u8]) {
    for (to, from) in target.iter_mut().zip(source) {
        *to = table[usize::from(*from)];
    }
}
