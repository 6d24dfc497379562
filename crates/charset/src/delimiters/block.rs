//! The common part of both vector kernels: the bit arithmetic on the masks of one block, and the loop over blocks.
//!
//! # Unsafe code
//!
//! `scan` and `step` need the instructions of their kernel, which `DelimiterIndex::scan_for` guarantees. `step` also needs room for
//! 128 more entries in each list: 64 that a block can have, and 64 that a kernel may write beyond them before it sets the length.
//! `reserve` makes room for all blocks of a batch and 64 entries more, before each batch and before the last, partial block; a block
//! never adds more than 64 entries to a list. The byte-by-byte way appends with `push` and needs no room.

use super::{Carry, DelimiterIndex};

/// One bit per byte of a block of 64, the first byte's lowest; released bytes are still included.
#[derive(Clone, Copy)]
pub(super) struct Classes {
    pub(super) element: u64,
    pub(super) terminator: u64,
    /// Component, repetition.
    pub(super) part: u64,
    pub(super) release: u64,
    pub(super) line_break: u64,
}

/// The bits without released bytes.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) ends: u64,
    pub(super) terminators: u64,
    pub(super) parts: u64,
    pub(super) marks: u64,
}

impl Classes {
    /// Resolves release characters and line breaks. Returns `None` if only the byte-by-byte way is right, because a line break
    /// separates a release character from the byte that it releases.
    #[inline(always)]
    pub(super) fn resolve(self, carry: &mut Carry) -> Option<Found> {
        // Precedence as in `Needles::class`; absent needles equal the terminator.
        let terminator = self.terminator;
        let element = self.element & !terminator;
        let release = self.release & !(terminator | element);
        let part = self.part & !(terminator | element | release);
        let breaks = self.line_break & !(terminator | element | release | part);
        let mut found = Found { ends: terminator | element, terminators: terminator, parts: part, marks: 0 };
        let mut next = *carry;
        if release != 0 || carry.released {
            let (released, out) = released(release, carry.released);
            if released & breaks != 0 {
                return None;
            }
            next.released = out;
            let data = !released;
            found = Found {
                ends: found.ends & data,
                terminators: terminator & data,
                parts: part & data,
                marks: release & data,
            };
        }
        next.terminated = found.terminators >> 63 != 0;
        if breaks != 0 {
            // Adding 1 where a run of breaks starts after a terminator carries through the run and clears it.
            let starts = breaks & (found.terminators << 1 | u64::from(carry.terminated));
            let behind = breaks & !breaks.wrapping_add(starts);
            found.marks |= breaks & !behind;
            next.terminated |= behind >> 63 != 0;
        }
        *carry = next;
        Some(found)
    }
}

/// Bits of the bytes that a release character makes data, and whether the last byte of the block releases the first of the next.
///
/// In a run of release characters every second one is data. Runs that start at odd places are found by adding their first bit: the
/// carry leaves the run, so the bits that the sum changed separate odd from even.
#[inline(always)]
fn released(release: u64, carried: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let carried = u64::from(carried);
    let active = release & !carried;
    let follows = active << 1 | carried;
    let odd_starts = active & !EVEN & !follows;
    let (even_runs, out) = odd_starts.overflowing_add(active);
    ((EVEN ^ (even_runs << 1)) & follows, out)
}

/// Defines a kernel's loop. `classes` takes a block of 64 bytes, `flatten` writes the positions of a mask's bits, and both are
/// compiled for `$features`.
macro_rules! scan_loop {
    ($features:literal, $vectors:ty, $load:path, $classes:path, $store:ident) => {
        /// # Safety
        /// The machine has the kernel's instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn scan<const SEGMENTS: bool>(set: &Needles, text: &[u8], index: &mut DelimiterIndex) {
            let vectors: $vectors = $load(set);
            let mut carry = Carry::START;
            let mut base = 0u32;
            let (blocks, rest) = text.as_chunks::<64>();
            // Room for everything that a batch of blocks can hold is made before the batch, so the loop itself checks nothing.
            for batch in blocks.chunks(BATCH) {
                reserve(index, batch.len() * 64);
                for block in batch {
                    let classes = $classes(&vectors, block);
                    // SAFETY: `reserve` made room for all positions of the batch and one block more.
                    unsafe { step::<SEGMENTS>(set, classes, block, base, &mut carry, index) };
                    base += 64;
                }
            }
            if !rest.is_empty() {
                let mut block = [0; 64];
                block[..rest.len()].copy_from_slice(rest);
                let all = $classes(&vectors, &block);
                let there = u64::MAX >> (64 - rest.len());
                let classes = Classes {
                    element: all.element & there,
                    terminator: all.terminator & there,
                    part: all.part & there,
                    release: all.release & there,
                    line_break: all.line_break & there,
                };
                reserve(index, 64);
                // SAFETY: as above.
                unsafe { step::<SEGMENTS>(set, classes, rest, base, &mut carry, index) };
            }
        }

        /// # Safety
        /// The machine has the kernel's instructions, and each list of `index` has room for 128 more positions.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn step<const SEGMENTS: bool>(
            set: &Needles,
            classes: Classes,
            block: &[u8],
            base: u32,
            carry: &mut Carry,
            index: &mut DelimiterIndex,
        ) {
            let Some(found) = classes.resolve(carry) else {
                return scalar::<SEGMENTS>(set, block, base, carry, index);
            };
            // SAFETY: the caller's promises.
            unsafe { $store::<SEGMENTS>(found, base, index) };
        }
    };
}

/// Blocks between two checks of the room.
pub(super) const BATCH: usize = 512;

/// Makes room for the positions of `bytes` bytes and for the block that is written beyond them.
pub(super) fn reserve(index: &mut DelimiterIndex, bytes: usize) {
    for list in [&mut index.ends, &mut index.parts, &mut index.marks] {
        list.reserve(bytes + 64);
    }
    index.stops.reserve(bytes + 64);
}

pub(super) use scan_loop;
