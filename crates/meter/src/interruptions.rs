//! Interruptions of the calling thread, as restartable sequences of Linux report them.
//!
//! glibc 2.35 and later registers a `struct rseq` for each thread with the kernel. If its field `rseq_cs` points to a descriptor of a critical
//! section, the kernel looks at it each time that it takes the processor from the thread, moves the thread to another one or delivers a signal. If
//! the thread is outside of the section, the kernel clears the field. Our section contains no instruction, so the thread is always outside. As long
//! as the field is set, the thread has had its processor without a break, and time on the wall clock is CPU time.
//!
//! ```text
//!  field set ── work ── field still set: CPU time = wall time        a load and a comparison, no system call
//!            └─ work ── field cleared:   CPU time = thread clock     a system call, then the field is set again
//! ```
//!
//! Interrupts, and what the host of a virtual machine takes without reporting it, remain in the time of the thread, as in the CPU clocks of Linux.
//!
//! Sources: Linux, `kernel/rseq.c` and `include/uapi/linux/rseq.h`; glibc manual, section "Restartable Sequences".

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod system {
    use core::cell::Cell;
    use core::ffi::CStr;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// Signature before the address that the kernel resumes at: glibc registers this value on x86.
    const SIGNATURE: u32 = 0x5305_3053;
    /// Offsets in `struct rseq`.
    const CPU_ID: usize = 4;
    const CRITICAL_SECTION: usize = 8;
    /// Size of the first version of `struct rseq`, without padding at its end.
    const SIZE_LEAST: u32 = 20;
    /// Length of the sleep that the kernel must report.
    const SLEEP: Duration = Duration::from_micros(20);

    /// Memory without instructions, for the section and the address after it. The kernel refuses a descriptor, and ends the process, if
    /// the signature is not before `resume`.
    #[repr(C, align(16))]
    #[allow(dead_code, reason = "the kernel reads it")]
    struct Landing {
        signature: u32,
        resume: u32,
        section: u64,
    }

    static LANDING: Landing = Landing { signature: SIGNATURE, resume: 0, section: 0 };

    /// `struct rseq_cs`.
    #[repr(C, align(32))]
    #[allow(dead_code, reason = "the kernel reads it")]
    struct Descriptor {
        version: u32,
        flags: u32,
        start: *const u64,
        length: u64,
        resume: *const u32,
    }

    // SAFETY: neither the descriptor nor the memory that it points to ever changes.
    unsafe impl Sync for Descriptor {}

    static DESCRIPTOR: Descriptor = Descriptor {
        version: 0,
        flags: 0,
        start: &raw const LANDING.section,
        length: 1,
        resume: &raw const LANDING.resume,
    };

    #[derive(Clone, Copy)]
    enum Field {
        Unknown,
        Missing,
        At(*mut u64),
    }

    struct Thread {
        field: Cell<Field>,
        seen: Cell<u64>,
    }

    thread_local! {
        static THREAD: Thread = const { Thread { field: Cell::new(Field::Unknown), seen: Cell::new(0) } };
    }

    #[inline]
    pub(super) fn interruptions() -> Option<u64> {
        THREAD.with(|thread| match thread.field.get() {
            Field::At(field) => Some(thread.look(field)),
            Field::Missing => None,
            Field::Unknown => thread.begin(),
        })
    }

    #[inline]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has the instruction, and Linux permits it in user space unless a process forbids it for itself.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    impl Thread {
        #[inline]
        fn look(&self, field: *mut u64) -> u64 {
            let own = (&raw const DESCRIPTOR) as u64;
            // SAFETY: `field` is in this thread's block of thread-local memory, see `find`. Only the kernel changes it at the same time, when this
            // thread does not run, so a single load and a single store of an aligned word are enough. The descriptor lives as long as the process.
            unsafe {
                if field.read_volatile() != own {
                    self.seen.set(self.seen.get().wrapping_add(1));
                    field.write_volatile(own);
                }
            }
            self.seen.get()
        }

        #[cold]
        fn begin(&self) -> Option<u64> {
            static REPORTS_SLEEP: OnceLock<bool> = OnceLock::new();
            let found = find().filter(|field| {
                *REPORTS_SLEEP.get_or_init(|| {
                    // Some kernels look at the field only if the thread was interrupted outside of a system call. Phases contain system calls.
                    let before = self.look(*field);
                    std::thread::sleep(SLEEP);
                    self.look(*field) != before
                })
            });
            self.field.set(found.map_or(Field::Missing, Field::At));
            found.map(|field| self.look(field))
        }
    }

    /// Returns the address of `rseq_cs` of the calling thread; `None` if the thread is not registered with the kernel.
    fn find() -> Option<*mut u64> {
        let size = symbol(c"__rseq_size")?.cast::<u32>();
        let offset = symbol(c"__rseq_offset")?.cast::<isize>();
        // SAFETY: glibc defines both as constants of these types (sys/rseq.h) and sets them before the first thread of the program begins.
        let (size, offset) = unsafe { (size.read(), offset.read()) };
        if size < SIZE_LEAST {
            return None;
        }
        let pointer: *mut u8;
        // SAFETY: on x86-64, the first word of the thread control block is its own address (System V ABI, ELF handling of thread-local storage).
        unsafe {
            core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly));
        }
        let area = pointer.wrapping_offset(offset);
        // SAFETY: glibc places `struct rseq` at this offset from the thread pointer. Its size includes both fields, and it is aligned to 32 bytes.
        let processor = unsafe { area.add(CPU_ID).cast::<i32>().read_volatile() };
        // Negative numbers: not registered, or refused by the kernel.
        // SAFETY: as above.
        (processor >= 0).then(|| unsafe { area.add(CRITICAL_SECTION) }.cast())
    }

    /// Looks a symbol up, because older versions of the library do not have it.
    fn symbol(name: &CStr) -> Option<*const u8> {
        // SAFETY: the name ends in NUL, and the default handle searches what is loaded already.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!address.is_null()).then(|| address.cast::<u8>().cast_const())
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod system {
    pub(super) fn interruptions() -> Option<u64> {
        None
    }

    pub(super) fn ticks() -> u64 {
        0
    }
}

/// Returns a number that differs from an earlier one of the same thread if the thread lost its processor, moved to another one or received a
/// signal in between. `None` if the system does not report it: then it never does on this thread.
#[inline]
#[must_use]
pub fn interruptions() -> Option<u64> {
    system::interruptions()
}

/// Returns the processor's time stamp, in units of its own. Only differences without an [interruption](interruptions) mean anything. 0 where
/// interruptions are not reported.
#[inline]
#[must_use]
pub(crate) fn ticks() -> u64 {
    system::ticks()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::{Clock, SystemClock};

    fn is_there() -> bool {
        let is_there = interruptions().is_some();
        if !is_there {
            let thread = std::thread::current();
            eprintln!("skipped: {}: the system does not report interruptions", thread.name().unwrap_or("a test"));
        }
        is_there
    }

    #[test]
    fn a_sleep_is_an_interruption_and_two_readings_are_none() {
        if !is_there() {
            return;
        }
        let quiet = (0..1_000).any(|_| interruptions() == interruptions());
        assert!(quiet, "one of a thousand pairs of readings has no interruption in between");
        let before = interruptions();
        std::thread::sleep(Duration::from_micros(100));
        assert_ne!(interruptions(), before);
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    fn signals_are_interruptions_and_do_no_harm() {
        extern "C" fn nothing(_: libc::c_int) {}

        if !is_there() {
            return;
        }
        let handler = nothing as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing, so it may run at any instruction.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        let before = interruptions();
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_ne!(interruptions(), before);

        // SAFETY: every thread may ask for its own identifier.
        let target = unsafe { libc::pthread_self() };
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                for _ in 0..500 {
                    // SAFETY: the signal has a handler, and the scope keeps the target's thread alive.
                    unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
                    std::thread::yield_now();
                }
            });
            let (mut readings, mut changes, mut seen) = (0u32, 0u32, interruptions());
            while !sender.is_finished() {
                let now = interruptions();
                readings += 1;
                changes += u32::from(now != seen);
                seen = now;
            }
            assert!(changes > 0 && changes <= readings, "{changes} of {readings}");
        });
    }

    /// Returns the time that the host of a virtual machine took from its processors and reported; zero where it reports nothing.
    fn stolen() -> Duration {
        let Ok(text) = std::fs::read_to_string("/proc/stat") else { return Duration::ZERO };
        let ticks = text.lines().next().and_then(|all| all.split_ascii_whitespace().nth(8)?.parse::<u64>().ok());
        // Linux counts in hundredths of a second here.
        Duration::from_millis(10 * ticks.unwrap_or(0))
    }

    #[test]
    fn segments_without_an_interruption_have_the_cpu_time_of_the_thread() {
        if !is_there() {
            return;
        }
        // Other programs can interrupt every segment of a round, or leave processors free for all of it.
        let mut faults = Vec::new();
        for _ in 0..5 {
            match round() {
                Ok(()) => return,
                Err(fault) => faults.push(fault),
            }
        }
        panic!("{}", faults.join("\n"));
    }

    /// Works for 300 ms of CPU time in segments, beside threads that want the processors too, and compares the clocks.
    fn round() -> Result<(), String> {
        let stop = AtomicBool::new(false);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..processors {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        core::hint::spin_loop();
                    }
                });
            }
            let (start, mut clean, mut segments, mut dirty) = (SystemClock.now(), Duration::ZERO, 0u32, 0u32);
            let stolen_before = stolen();
            let mut seen = interruptions();
            while SystemClock.now().since(start).cpu < Duration::from_millis(300) {
                // A system call for the condition, then a segment of a thousand times its length.
                seen = if interruptions() == seen { seen } else { interruptions() };
                let began = SystemClock.wall();
                while SystemClock.wall() - began < Duration::from_micros(500) {
                    core::hint::spin_loop();
                }
                let ended = SystemClock.wall();
                segments += 1;
                if interruptions() == seen {
                    clean += ended - began;
                } else {
                    dirty += 1;
                    seen = interruptions();
                }
            }
            stop.store(true, Ordering::Relaxed);
            let took = SystemClock.now().since(start);
            // What the host takes from a thread is no interruption, but a kernel that knows of it does not count it as CPU time.
            let stolen = stolen().saturating_sub(stolen_before);
            let (rest, ratio) = (f64::from(dirty) / f64::from(segments), clean.as_secs_f64() / took.cpu.as_secs_f64());
            let all = format!("{ratio}: {clean:?} of {took:?}, {dirty} of {segments} interrupted, {stolen:?} stolen");
            // The threads beside it take turns with this one, so it was interrupted, and its wall time is well above its CPU time.
            if dirty == 0 || dirty == segments || took.wall <= took.cpu.mul_f64(1.2) {
                return Err(format!("not interrupted in part: {all}"));
            }
            // Dirty segments are missing from the sum. Each of the others has its CPU time, so the sum is never above that of the thread.
            if clean >= took.cpu.mul_f64(1.03) + stolen {
                return Err(format!("more than the CPU time: {all}"));
            }
            if ratio <= 1.0 - rest - 0.15 {
                return Err(format!("less than the CPU time: {all}"));
            }
            Ok(())
        })
    }
}
