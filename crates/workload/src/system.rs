//! The system's counters of the process and its threads.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::figure::Figure;
use crate::pressure::pressure;

/// The kernel's counters of a thread.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ThreadUse {
    /// Number of the thread in the system.
    pub tid: u32,
    /// Name of the thread, at most 15 bytes.
    pub name: String,
    /// Nanoseconds on a processor since it began.
    pub run_ns: u64,
    /// Nanoseconds for which it could have run and had no processor.
    pub wait_ns: u64,
}

/// The kernel's counters of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// CPU time of all threads, of ended ones too, in nanoseconds.
    pub cpu_ns: u64,
    /// Share of time for which some process of the machine waited for a processor, over the last ten seconds; `None` if the system does not
    /// say it.
    pub pressure: Option<f64>,
}

/// Source of the collector's readings.
pub trait Probe: Send {
    /// Lists every thread of the process.
    fn threads(&mut self) -> Vec<ThreadUse>;
    /// Reads the counters of the process.
    fn process(&mut self) -> Process;
    /// Processors that the process may use.
    fn processors(&self) -> u32;
    /// Milliseconds since 1970.
    fn unix_ms(&self) -> u64;
    /// Returns the time of a monotonic clock.
    fn uptime(&self) -> Duration;
    /// Figures of the machine; none by default.
    fn figures(&mut self) -> Vec<Figure> {
        Vec::new()
    }
}

/// Linux, by `/proc`. Source: proc(5), and the kernel's `sched-stats` and `psi` documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Probe for System {
    fn threads(&mut self) -> Vec<ThreadUse> {
        let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let tid = entry.file_name().to_str()?.parse().ok()?;
                let (run_ns, wait_ns) = schedule_of(tid)?;
                let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).ok()?;
                Some(ThreadUse { tid, name: name.trim_end().to_owned(), run_ns, wait_ns })
            })
            .collect()
    }

    fn process(&mut self) -> Process {
        let pressure = std::fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| pressure(&text));
        Process { cpu_ns: ns(clock_gettime(ClockId::ProcessCPUTime)), pressure }
    }

    fn processors(&self) -> u32 {
        std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1))
    }

    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn uptime(&self) -> Duration {
        Duration::from_nanos(ns(clock_gettime(ClockId::Monotonic)))
    }

    fn figures(&mut self) -> Vec<Figure> {
        crate::machine::figures()
    }
}

/// Returns the CPU time of the current thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// Reads run time and run-queue wait of a thread of this process, in nanoseconds.
pub(crate) fn schedule_of(tid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn ns(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_what_this_thread_computes() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let before = (schedule_of(tid).unwrap(), thread_cpu_ns());
        let mut sum = 0u64;
        while thread_cpu_ns() - before.1 < 30_000_000 {
            sum = core::hint::black_box(sum + 1);
        }
        let cpu = thread_cpu_ns() - before.1;
        // The kernel's account is brought up to date when the thread leaves the processor.
        std::thread::sleep(Duration::from_millis(2));
        let run = schedule_of(tid).unwrap().0 - before.0.0;
        assert!(run >= cpu * 9 / 10 && run <= cpu * 12 / 10 + 5_000_000, "{run} ns of {cpu} ns");
        assert!(System.threads().iter().any(|thread| thread.tid == tid && thread.run_ns > 0));
    }
}
