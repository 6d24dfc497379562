//! The shared memory of one worker, version 1.
//!
//! ```text
//! file offset   bytes
//! 0             4096   control page:
//!   0             4      magic "QLW1"
//!   4             4      slots
//!   8             4      bytes of a COMMAREA
//!   12            4      pages of a slot
//!   64            4      submit ring: tail (caller writes)
//!   128           4      submit ring: head (worker writes)
//!   192           4      done ring: tail (worker writes)
//!   256           4      done ring: head (caller writes)
//!   320           4      1 while the worker sleeps
//!   384           4      1 while the caller waits for the bell
//!   448           4      slot being called, plus 1; 0 for none (worker writes)
//!   456           8      when that call began: CLOCK_MONOTONIC, nanoseconds (worker writes)
//!   512           4 × SLOTS_MAX   submit ring: slot numbers
//!   1024          4 × SLOTS_MAX   done ring: slot numbers
//!   1536          4 × SLOTS_MAX   RETURN-CODE by slot
//! 4096          slots × pages × 4096   the COMMAREAs, each at the end of its pages
//! ```
//!
//! Ring positions count up and wrap; a ring has as many places as there can be slots, so it is never full.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::io;
use std::os::fd::BorrowedFd;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Most calls that one worker holds, waiting or running. 64: more would only lengthen the queue in front of one process.
pub(crate) const SLOTS_MAX: usize = 64;
pub(crate) const PAGE: usize = 4096;
const MAGIC: u32 = u32::from_le_bytes(*b"QLW1");

pub(crate) const SUBMIT_TAIL: usize = 64;
pub(crate) const SUBMIT_HEAD: usize = 128;
pub(crate) const DONE_TAIL: usize = 192;
pub(crate) const DONE_HEAD: usize = 256;
pub(crate) const WORKER_SLEEPS: usize = 320;
pub(crate) const CALLER_WAITS: usize = 384;
pub(crate) const CURRENT: usize = 448;
pub(crate) const BEGAN: usize = 456;
const SUBMIT_RING: usize = 512;
const DONE_RING: usize = 1024;
const RETURN_CODES: usize = 1536;

/// How many COMMAREAs of how many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) slots: usize,
    pub(crate) length: usize,
}

impl Geometry {
    pub(crate) fn slot_bytes(self) -> usize {
        self.length.max(1).next_multiple_of(PAGE)
    }

    pub(crate) fn file_bytes(self) -> usize {
        PAGE + self.slots * self.slot_bytes()
    }
}

/// Which side maps: the worker's side has unmapped pages around every slot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Caller,
    Worker,
}

/// A mapping of the shared memory.
#[derive(Debug)]
pub(crate) struct Area {
    base: *mut u8,
    mapped: usize,
    geometry: Geometry,
    side: Side,
}

// SAFETY: the mapping belongs to the value, whichever thread holds it; shared words are only reached as atomics.
unsafe impl Send for Area {}

impl Area {
    /// Maps a new file of `geometry` and writes its head.
    pub(crate) fn create(file: BorrowedFd<'_>, geometry: Geometry) -> io::Result<Area> {
        rustix::fs::ftruncate(file, geometry.file_bytes() as u64)?;
        let area = Area::map(file, geometry, Side::Caller)?;
        for (at, value) in [(0, MAGIC), (4, narrow(geometry.slots)), (8, narrow(geometry.length))] {
            area.word(at).store(value, core::sync::atomic::Ordering::Relaxed);
        }
        area.word(CALLER_WAITS).store(1, core::sync::atomic::Ordering::SeqCst);
        Ok(area)
    }

    /// Maps a file that the caller made, in the worker.
    pub(crate) fn open(file: BorrowedFd<'_>) -> io::Result<Area> {
        let mut head = [0u8; 12];
        rustix::io::pread(file, &mut head[..], 0)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let geometry = Geometry { slots: word(4) as usize, length: word(8) as usize };
        if word(0) != MAGIC || geometry.slots == 0 || geometry.slots > SLOTS_MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        Area::map(file, geometry, Side::Worker)
    }

    fn map(file: BorrowedFd<'_>, geometry: Geometry, side: Side) -> io::Result<Area> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let mapped = match side {
            Side::Caller => geometry.file_bytes(),
            Side::Worker => PAGE + geometry.slots * (geometry.slot_bytes() + PAGE) + PAGE,
        };
        let base = match side {
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            Side::Caller => unsafe { mmap(core::ptr::null_mut(), mapped, both, MapFlags::SHARED, file, 0)? },
            // SAFETY: as above; nothing in it can be touched until it is mapped over below.
            Side::Worker => unsafe {
                mmap_anonymous(core::ptr::null_mut(), mapped, ProtFlags::empty(), MapFlags::PRIVATE)?
            },
        };
        let area = Area { base: base.cast(), mapped, geometry, side };
        if side == Side::Worker {
            let parts = core::iter::once((0, 0, PAGE)).chain(
                (0..geometry.slots)
                    .map(|slot| (area.pages(slot), PAGE + slot * geometry.slot_bytes(), geometry.slot_bytes())),
            );
            for (at, offset, len) in parts {
                // SAFETY: the range lies in the reservation above, which nothing else uses.
                unsafe {
                    let flags = MapFlags::SHARED | MapFlags::FIXED;
                    mmap(area.base.add(at).cast(), len, both, flags, file, offset as u64)?;
                }
            }
        }
        Ok(area)
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Where a slot's pages begin in this mapping.
    fn pages(&self, slot: usize) -> usize {
        match self.side {
            Side::Caller => PAGE + slot * self.geometry.slot_bytes(),
            // An unmapped page in front of each slot, and one behind the last.
            Side::Worker => PAGE + slot * (self.geometry.slot_bytes() + PAGE) + PAGE,
        }
    }

    /// The address of a COMMAREA: its last byte is the last of its pages.
    ///
    /// # Panics
    /// For a slot that there is none of.
    pub(crate) fn commarea(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.geometry.slots, "a slot's number is checked where it comes from");
        let front = self.geometry.slot_bytes() - self.geometry.length;
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.base.add(self.pages(slot) + front) }
    }

    /// Copies `parts`, one behind the other, into a COMMAREA; what they do not reach becomes 0x00, what is too much is left out.
    pub(crate) fn copy_in(&self, slot: usize, parts: &[&[u8]]) {
        let to = self.commarea(slot);
        let mut at = 0;
        for part in parts {
            let len = part.len().min(self.geometry.length - at);
            // SAFETY: `at + len` is at most the COMMAREA's length; the other process holds no Rust reference to it.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), to.add(at), len) };
            at += len;
        }
        // SAFETY: as above.
        unsafe { core::ptr::write_bytes(to.add(at), 0, self.geometry.length - at) };
    }

    /// Copies a COMMAREA out, so that nothing that is read can change while it is read: what `to` does not have yet of its first `length` bytes.
    pub(crate) fn copy_out(&self, slot: usize, length: usize, to: &mut Vec<u8>) {
        let have = to.len();
        let Some(more) = length.min(self.geometry.length).checked_sub(have) else { return };
        to.reserve(more);
        // SAFETY: the source is mapped up to the COMMAREA's length, the target has room for as many bytes, and they do not overlap.
        unsafe {
            core::ptr::copy_nonoverlapping(self.commarea(slot).add(have), to.as_mut_ptr().add(have), more);
            to.set_len(have + more);
        }
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(4) && at < PAGE);
        // SAFETY: inside the control page, aligned, and only ever used as an atomic.
        unsafe { &*self.base.add(at).cast::<AtomicU32>() }
    }

    pub(crate) fn began(&self) -> &AtomicU64 {
        // SAFETY: inside the control page, aligned to 8, and only ever used as an atomic.
        unsafe { &*self.base.add(BEGAN).cast::<AtomicU64>() }
    }

    pub(crate) fn submitted(&self, position: u32) -> &AtomicU32 {
        self.word(SUBMIT_RING + 4 * (position as usize % SLOTS_MAX))
    }

    pub(crate) fn done(&self, position: u32) -> &AtomicU32 {
        self.word(DONE_RING + 4 * (position as usize % SLOTS_MAX))
    }

    pub(crate) fn return_code(&self, slot: usize) -> &AtomicI32 {
        debug_assert!(slot < SLOTS_MAX);
        // SAFETY: inside the control page, aligned, and only ever used as an atomic.
        unsafe { &*self.base.add(RETURN_CODES + 4 * slot).cast::<AtomicI32>() }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map`, and no pointer into it outlives the value.
        let _ = unsafe { munmap(self.base.cast(), self.mapped) };
    }
}

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

pub(crate) fn narrow(n: usize) -> u32 {
    u32::try_from(n).expect("slots and COMMAREAs are checked to be far below 4 GiB")
}
