//! The shared memory of one worker, version 4.
//!
//! ```text
//! file offset   bytes
//! 0             4096   control page:
//!   0             4      magic "QLW4"
//!   4             4      slots
//!   8             4      bytes of a COMMAREA, that is of all parameters together
//!   12            4      parameters
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
//!   1792          4 × SLOTS_MAX   bytes that the caller wrote, by slot; the rest of the COMMAREA is 0x00
//!   2048          4 × SLOTS_MAX   owner of a submitted call, by slot: 0 nobody yet, 1 the worker, which has begun it, 2 the caller,
//!                                 which has withdrawn it
//!   2304          4 × PARAMETERS_MAX   bytes of each parameter
//! 4096          slots × pages × 4096   the COMMAREAs
//! ```
//!
//! Ring positions count up and wrap; a ring has as many places as there can be slots, so it is never full.
//!
//! The program never sees this memory. The worker copies a COMMAREA into private pages, calls the program with their address, and
//! copies the result back. In the worker's address space nothing is mapped for 4 GiB on either side of the private pages and of the
//! shared file. Every 32-bit subscript or offset that leaves its item therefore ends the process instead of reaching another call:
//!
//! ```text
//! | 4 GiB nothing | COMMAREA of the current call | 4 GiB nothing | shared file | 4 GiB nothing |
//! ```
//!
//! A program with several parameters (`PROCEDURE DIVISION USING A B`) has private pages for each of them, with the same distance in between, so that
//! an overrun of one does not reach another either. In a slot they follow one another without gaps.
//!
//! The alternative is to change the mapping for each call: a system call, and a page fault for each page that the program touches.
//! The two costs have not been compared on a quiet machine yet.
//!
//! # Unsafe code
//!
//! * **Bounds.** Every address is `shared` or the pages of a parameter and an offset that follows from the geometry. `map` makes mappings of that
//!   size. `create` sets the length of the file; `open` takes the geometry from the file's head, which the caller of programs has
//!   written, and refuses a wrong magic, more than [`SLOTS_MAX`] slots, or parameters that are not the bytes of a slot. `slot` asserts the number of a slot. Words are at constant
//!   offsets of the control page, ring positions are taken modulo [`SLOTS_MAX`], and slot numbers from the ring are checked
//!   where they are read.
//! * **Sides.** `begin` and `finish` need the private pages, which only the worker's side has. Only `worker.rs` calls them, with an
//!   `Area` from `open`. Nothing checks this at run time.
//! * **The other process** may write at any time. So words are only used as atomics, and COMMAREAs only by copying bytes through raw
//!   pointers: no reference into them ever exists, and any bytes are valid. `copy_out` copies before anybody looks.
//! * **Lifetime.** The mapping belongs to the value, `drop` unmaps it, and `word`, `began` and `return_code` borrow from the value.
//!   `addresses` are for the program to use from `begin` to `finish`. The type is `Send` because nothing in it belongs to a thread;
//!   it is not `Sync`.
//! * **Reservation.** A fixed mapping replaces what is there: `map` makes them all inside of what `reserve` has just reserved.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::io;
use std::os::fd::BorrowedFd;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Most calls that one worker holds, waiting or running. 64: more would only lengthen the queue in front of one process.
pub(crate) const SLOTS_MAX: usize = 64;
pub(crate) const PAGE: usize = 4096;
const MAGIC: u32 = u32::from_le_bytes(*b"QLW4");

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
const USED: usize = 1792;
const CLAIMS: usize = 2048;
const PARAMETERS: usize = 2304;
/// Most parameters of a program. 32: more would be a record.
pub(crate) const PARAMETERS_MAX: usize = 32;

/// Address space without any mapping on either side of the program's pages: the reach of a 32-bit offset.
const GUARD_MAX: usize = 4 << 30;
/// Smallest guard, if the system grants less address space: no table of COBOL is larger than this by accident.
const GUARD_MIN: usize = 64 << 20;

/// Number and size of the COMMAREAs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) slots: usize,
    pub(crate) length: usize,
    /// Bytes of each parameter; those after `count` are 0.
    parameters: [u32; PARAMETERS_MAX],
    count: usize,
}

impl Geometry {
    /// Computes the geometry; `None` for no parameters or more than [`PARAMETERS_MAX`].
    pub(crate) fn new(slots: usize, parameters: &[usize]) -> Option<Geometry> {
        let count = parameters.len();
        let mut bytes = [0; PARAMETERS_MAX];
        for (to, from) in bytes.get_mut(..count)?.iter_mut().zip(parameters) {
            *to = u32::try_from(*from).ok()?;
        }
        let length = parameters.iter().try_fold(0u32, |sum, bytes| sum.checked_add(u32::try_from(*bytes).ok()?))?;
        (count > 0).then_some(Geometry { slots, length: length as usize, parameters: bytes, count })
    }

    pub(crate) fn slot_bytes(self) -> usize {
        pages(self.length)
    }

    pub(crate) fn file_bytes(self) -> usize {
        PAGE + self.slots * self.slot_bytes()
    }

    /// Bytes of each parameter.
    fn parameters(&self) -> impl Iterator<Item = usize> + '_ {
        self.parameters[..self.count].iter().map(|bytes| *bytes as usize)
    }
}

/// Bytes of the whole pages for a length.
fn pages(length: usize) -> usize {
    length.max(1).next_multiple_of(PAGE)
}

/// A parameter in the worker.
#[derive(Clone, Copy, Debug)]
struct Private {
    /// Start of the parameter's pages, and the offset of the parameter in them.
    pages: *mut u8,
    front: usize,
    /// Bytes before it in a slot, and its own.
    offset: usize,
    length: usize,
}

/// The word of a call that is submitted and not begun.
const OFFERED: u32 = 0;

/// The side that takes a submitted call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Claim {
    /// The worker, to run it.
    Begin = 1,
    /// The caller, whose client no longer waits.
    Withdraw = 2,
}

/// The side that maps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    /// The file alone.
    Caller,
    /// Private pages for one COMMAREA and the file, far apart.
    Worker,
}

/// A mapping of the shared memory.
#[derive(Debug)]
pub(crate) struct Area {
    /// Start of the whole mapping or reservation.
    base: *mut u8,
    mapped: usize,
    /// Start of the file.
    shared: *mut u8,
    /// The parameters in the worker; none on the caller's side.
    private: Vec<Private>,
    geometry: Geometry,
}

// SAFETY: the mapping belongs to the value, whichever thread holds it; shared words are only reached as atomics.
unsafe impl Send for Area {}

impl Area {
    /// Maps a new file of `geometry` and writes its head.
    pub(crate) fn create(file: BorrowedFd<'_>, geometry: Geometry) -> io::Result<Area> {
        rustix::fs::ftruncate(file, geometry.file_bytes() as u64)?;
        let area = Area::map(file, geometry, Side::Caller)?;
        let head =
            [(0, MAGIC), (4, narrow(geometry.slots)), (8, narrow(geometry.length)), (12, narrow(geometry.count))];
        let parameters = geometry.parameters.iter().enumerate().map(|(i, bytes)| (PARAMETERS + 4 * i, *bytes));
        for (at, value) in head.into_iter().chain(parameters) {
            area.word(at).store(value, Ordering::Relaxed);
        }
        area.word(CALLER_WAITS).store(1, Ordering::SeqCst);
        Ok(area)
    }

    /// Maps a file that the caller made, in the worker.
    pub(crate) fn open(file: BorrowedFd<'_>) -> io::Result<Area> {
        let mut head = [0u8; PARAMETERS + 4 * PARAMETERS_MAX];
        rustix::io::pread(file, &mut head[..], 0)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (slots, count) = (word(4) as usize, (word(12) as usize).min(PARAMETERS_MAX));
        let parameters: Vec<usize> = (0..count).map(|i| word(PARAMETERS + 4 * i) as usize).collect();
        let geometry = Geometry::new(slots, &parameters).filter(|geometry| {
            word(0) == MAGIC && (1..=SLOTS_MAX).contains(&slots) && geometry.length == word(8) as usize
        });
        Area::map(file, geometry.ok_or(io::ErrorKind::InvalidData)?, Side::Worker)
    }

    fn map(file: BorrowedFd<'_>, geometry: Geometry, side: Side) -> io::Result<Area> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let len = geometry.file_bytes();
        if side == Side::Caller {
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            let base = unsafe { mmap(core::ptr::null_mut(), len, both, MapFlags::SHARED, file, 0)? }.cast();
            return Ok(Area { base, mapped: len, shared: base, private: Vec::new(), geometry });
        }
        let (base, mapped, guard) = reserve(geometry)?;
        let mut area = Area { base, mapped, shared: base, private: Vec::new(), geometry };
        let (mut at, mut offset) = (guard, 0);
        for length in geometry.parameters() {
            let bytes = pages(length);
            // SAFETY: the reservation is as long as all guards, all private pages and the file, and `at` counts them up; nothing else uses it.
            let start = unsafe {
                let start = base.add(at);
                mmap_anonymous(start.cast(), bytes, both, MapFlags::PRIVATE | MapFlags::FIXED)?;
                start
            };
            area.private.push(Private { pages: start, front: bytes - length, offset, length });
            at += bytes + guard;
            offset += length;
        }
        // SAFETY: as above; the file and a guard are what is left of the reservation.
        unsafe {
            area.shared = base.add(at);
            mmap(area.shared.cast(), len, both, MapFlags::SHARED | MapFlags::FIXED, file, 0)?;
        }
        Ok(area)
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the bytes of address space that the mapping takes, most of them without memory.
    pub(crate) fn address_bytes(&self) -> usize {
        self.mapped
    }

    /// Returns the start of a slot's COMMAREA in the shared file.
    ///
    /// # Panics
    /// If the slot does not exist.
    fn slot(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.geometry.slots, "a slot's number is checked where it comes from");
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.shared.add(PAGE + slot * self.geometry.slot_bytes()) }
    }

    /// Returns the addresses of the parameters for the program. Each ends with the last byte of its pages.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = *mut u8> + '_ {
        // SAFETY: `front` is less than the bytes of the pages.
        self.private.iter().map(|private| unsafe { private.pages.add(private.front) })
    }

    /// Copies a slot's COMMAREA to the private pages, in the worker.
    pub(crate) fn begin(&self, slot: usize) {
        let all = (self.used(slot).load(Ordering::Relaxed) as usize).min(self.geometry.length);
        for Private { pages, front, offset, length } in &self.private {
            let used = all.saturating_sub(*offset).min(*length);
            // SAFETY: `front + length` is the size of the private pages, `used` at most `length`, and `offset + length` at most the bytes of a slot. The
            // bytes before a parameter are cleared because a program that writes there must not leave a message to the next call.
            unsafe {
                core::ptr::write_bytes(*pages, 0, *front);
                let parameter = pages.add(*front);
                core::ptr::copy_nonoverlapping(self.slot(slot).add(*offset), parameter, used);
                core::ptr::write_bytes(parameter.add(used), 0, length - used);
            }
        }
    }

    /// Copies the parameters back to their slot, in the worker.
    pub(crate) fn finish(&self, slot: usize) {
        for Private { pages, front, offset, length } in &self.private {
            // SAFETY: both sides have `length` bytes and do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(pages.add(*front), self.slot(slot).add(*offset), *length) };
        }
    }

    /// Copies `parts`, in sequence, into a COMMAREA, which continues with 0x00; bytes beyond its end are dropped. Returns the bytes
    /// copied.
    pub(crate) fn copy_in(&self, slot: usize, parts: &[&[u8]]) -> usize {
        let to = self.slot(slot);
        let mut at = 0;
        for part in parts {
            let len = part.len().min(self.geometry.length - at);
            // SAFETY: `at + len` is at most the COMMAREA's length; the other process holds no Rust reference to it.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), to.add(at), len) };
            at += len;
        }
        self.used(slot).store(narrow(at), Ordering::Relaxed);
        at
    }

    /// Copies the first `length` bytes of a COMMAREA to `to`, except those that `to` already has, so that the bytes cannot change
    /// while they are read.
    pub(crate) fn copy_out(&self, slot: usize, length: usize, to: &mut Vec<u8>) {
        let have = to.len();
        let Some(more) = length.min(self.geometry.length).checked_sub(have) else { return };
        to.reserve(more);
        // SAFETY: the source is mapped up to the COMMAREA's length, the target has room for as many bytes, and they do not overlap.
        unsafe {
            core::ptr::copy_nonoverlapping(self.slot(slot).add(have), to.as_mut_ptr().add(have), more);
            to.set_len(have + more);
        }
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(4) && at < PAGE);
        // SAFETY: inside the control page, aligned, and only ever used as an atomic.
        unsafe { &*self.shared.add(at).cast::<AtomicU32>() }
    }

    pub(crate) fn began(&self) -> &AtomicU64 {
        // SAFETY: inside the control page, aligned to 8, and only ever used as an atomic.
        unsafe { &*self.shared.add(BEGAN).cast::<AtomicU64>() }
    }

    pub(crate) fn submitted(&self, position: u32) -> &AtomicU32 {
        self.word(SUBMIT_RING + 4 * (position as usize % SLOTS_MAX))
    }

    pub(crate) fn done(&self, position: u32) -> &AtomicU32 {
        self.word(DONE_RING + 4 * (position as usize % SLOTS_MAX))
    }

    fn used(&self, slot: usize) -> &AtomicU32 {
        debug_assert!(slot < SLOTS_MAX);
        self.word(USED + 4 * slot)
    }

    /// Makes a submitted call available to the worker, before its slot is in the ring.
    pub(crate) fn offer(&self, slot: usize) {
        self.word(CLAIMS + 4 * slot).store(OFFERED, Ordering::SeqCst);
    }

    /// Takes a submitted call for one side. Returns whether the other side has not taken it before.
    pub(crate) fn claim(&self, slot: usize, by: Claim) -> bool {
        debug_assert!(slot < SLOTS_MAX);
        let word = self.word(CLAIMS + 4 * slot);
        word.compare_exchange(OFFERED, by as u32, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    pub(crate) fn return_code(&self, slot: usize) -> &AtomicI32 {
        debug_assert!(slot < SLOTS_MAX);
        // SAFETY: inside the control page, aligned, and only ever used as an atomic.
        unsafe { &*self.shared.add(RETURN_CODES + 4 * slot).cast::<AtomicI32>() }
    }
}

/// Reserves address space for a worker: its start, its length, and the length of each guard.
fn reserve(geometry: Geometry) -> io::Result<(*mut u8, usize, usize)> {
    let mut guard = GUARD_MAX;
    loop {
        let private: usize = geometry.parameters().map(|length| pages(length) + guard).sum();
        let mapped = guard + private + geometry.file_bytes() + guard;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the system chooses overlaps nothing; nothing in it can be touched.
        match unsafe { mmap_anonymous(core::ptr::null_mut(), mapped, ProtFlags::empty(), flags) } {
            Ok(base) => return Ok((base.cast(), mapped, guard)),
            Err(_) if guard > GUARD_MIN => guard /= 2,
            Err(error) => return Err(error.into()),
        }
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
