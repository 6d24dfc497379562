//! Sums over lanes.

use core::ops::{AddAssign, SubAssign};
use core::time::Duration;

use crate::PhaseTable;

/// Wall and CPU time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Times {
    /// Time on the wall clock.
    pub wall: Duration,
    /// Time on the processor.
    pub cpu: Duration,
}

impl AddAssign for Times {
    fn add_assign(&mut self, other: Times) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Ends at zero.
impl SubAssign for Times {
    fn sub_assign(&mut self, other: Times) {
        self.wall = self.wall.saturating_sub(other.wall);
        self.cpu = self.cpu.saturating_sub(other.cpu);
    }
}

impl Times {
    pub(crate) fn min(self, other: Times) -> Times {
        Times { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

/// Things counted, each from 0.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Records or documents that went through.
    pub records: u64,
    /// Records that were refused.
    pub rejected: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Batches.
    pub batches: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.records += other.records;
        self.rejected += other.rejected;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.batches += other.batches;
    }
}

/// The sum of finished lanes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Lanes in the sum.
    pub lanes: u32,
    /// Elapsed time from begin to end, summed over lanes: two lanes of a second each are two seconds.
    pub elapsed: Times,
    /// Charged to each phase.
    pub phases: PhaseTable<Times>,
    /// The part of each phase that is an estimate moved from another.
    pub estimated: PhaseTable<Times>,
    /// Counts.
    pub counters: Counters,
    /// Changes of phase: clock readings that the meter itself cost.
    pub switches: u64,
    /// Lanes whose CPU time is measured by the [interruptions](crate::interruptions()) of their threads.
    pub by_interruptions: u32,
    /// Segments of time between two readings, if interruptions are known.
    pub segments: u64,
    /// Segments in which the thread lost its processor.
    pub interrupted: u64,
    /// Readings of the thread's CPU clock, which only interrupted segments need.
    pub thread_clock: u64,
    /// Segments that are steps of documents.
    pub steps: u64,
    /// Time for which the lanes were ready without a processor; `None` if the system does not count it for each of them.
    pub run_queue: Option<Duration>,
}

impl Totals {
    /// Adds another lane or sum of lanes.
    pub fn merge(&mut self, other: &Totals) {
        self.run_queue = match (self.lanes, other.lanes) {
            (0, _) => other.run_queue,
            (_, 0) => self.run_queue,
            _ => self.run_queue.zip(other.run_queue).map(|(own, others)| own + others),
        };
        self.lanes += other.lanes;
        self.elapsed += other.elapsed;
        for (phase, times) in other.phases.iter() {
            self.phases[phase] += *times;
        }
        for (phase, times) in other.estimated.iter() {
            self.estimated[phase] += *times;
        }
        self.counters += other.counters;
        self.switches += other.switches;
        self.by_interruptions += other.by_interruptions;
        self.segments += other.segments;
        self.interrupted += other.interrupted;
        self.thread_clock += other.thread_clock;
        self.steps += other.steps;
    }
}
