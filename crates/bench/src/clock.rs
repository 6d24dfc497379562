//! CPU time of this process.

use core::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time that all threads of this process have used. Time of other processes does not count.
#[must_use]
pub fn process_cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// Measures the CPU time of `work`.
pub fn cpu_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = process_cpu();
    let done = work();
    (done, process_cpu().saturating_sub(before))
}
