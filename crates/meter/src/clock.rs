//! Clocks, injected so that tests need no real time.

use core::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::Times;

/// A reading of both clocks; only differences mean anything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Instant {
    /// Monotonic wall time.
    pub wall: Duration,
    /// CPU time of the thread that read.
    pub cpu: Duration,
}

impl Instant {
    /// Returns the time since an earlier reading on the same thread; 0 if a clock went back.
    #[must_use]
    pub fn since(self, earlier: Instant) -> Times {
        Times { wall: self.wall.saturating_sub(earlier.wall), cpu: self.cpu.saturating_sub(earlier.cpu) }
    }
}

/// Reads time.
pub trait Clock {
    /// Reads both clocks for the calling thread.
    fn now(&self) -> Instant;

    /// Reads the wall clock alone.
    fn wall(&self) -> Duration {
        self.now().wall
    }

    /// Returns a number that changes when the calling thread loses its processor; `None` if the system does not report it. Between two readings
    /// with the same number, CPU time is wall time.
    fn interruptions(&self) -> Option<u64> {
        None
    }

    /// Returns the time for which the calling thread was ready without a processor since it started; `None` if the system does not count it.
    fn run_queue(&self) -> Option<Duration> {
        None
    }
}

impl<C: Clock> Clock for &C {
    fn now(&self) -> Instant {
        (**self).now()
    }
    fn wall(&self) -> Duration {
        (**self).wall()
    }
    fn interruptions(&self) -> Option<u64> {
        (**self).interruptions()
    }
    fn run_queue(&self) -> Option<Duration> {
        (**self).run_queue()
    }
}

/// The machine's monotonic clock and thread CPU clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant {
            wall: duration(clock_gettime(ClockId::Monotonic)),
            cpu: duration(clock_gettime(ClockId::ThreadCPUTime)),
        }
    }

    fn wall(&self) -> Duration {
        duration(clock_gettime(ClockId::Monotonic))
    }

    fn interruptions(&self) -> Option<u64> {
        crate::interruptions()
    }

    fn run_queue(&self) -> Option<Duration> {
        // Run time, time on run queues, slices. Source: Documentation/scheduler/sched-stats.rst of Linux.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }
}

pub(crate) fn duration(time: Timespec) -> Duration {
    // Both parts are never negative on these clocks; a broken kernel reads as zero.
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_counts_what_a_thread_waits_for_a_processor() {
        let before = SystemClock.run_queue();
        std::thread::sleep(Duration::from_millis(2));
        let after = SystemClock.run_queue();
        assert_eq!(before.is_some(), after.is_some());
        assert!(after >= before, "{before:?} {after:?}");
        // The clock of a reference is that of what it refers to.
        assert_eq!(Clock::run_queue(&&SystemClock).is_some(), after.is_some());
    }

    #[test]
    fn work_takes_wall_and_cpu_time() {
        let start = SystemClock.now();
        let mut sum = 0u64;
        while SystemClock.now().since(start).cpu < Duration::from_millis(5) {
            sum = core::hint::black_box(sum + 1);
        }
        let took = SystemClock.now().since(start);
        assert!(took.wall >= Duration::from_millis(4), "{took:?}");
        assert_eq!(start.since(SystemClock.now()), Times::default());
    }
}
