//! The outcome of a run, as data.

use core::time::Duration;

use crate::{Counters, Histogram, Phase, ProcessUse, Times, Totals};

/// The outcome of a run. Rendering is the caller's.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Wall time of the run.
    pub wall: Duration,
    /// Lanes that worked for it.
    pub lanes: u32,
    /// Time of all lanes from begin to end, which the phases and [`Report::unaccounted`] add up to.
    pub lane_time: Times,
    /// Phases that took time, in the order of a record's way.
    pub phases: Vec<PhaseLine>,
    /// Lane time outside of all phases.
    pub unaccounted: Unaccounted,
    /// Counts.
    pub counters: Counters,
    /// Resources that the process used during the run.
    pub process: ProcessUse,
    /// Changes of phase.
    pub switches: u64,
    /// Time of the lanes that measuring took: the changes of phase and the steps of documents, each at its cost on this machine.
    pub measuring: Duration,
    /// Source of the CPU times of phases.
    pub method: CpuMethod,
    /// Segments of time that were measured, if the method knows interruptions; otherwise 0.
    pub segments: u64,
    /// Segments in which a thread lost its processor, and whose CPU time is that of the thread's clock.
    pub interrupted: u64,
    /// Time for which the lanes could have run and had no processor; `None` if the system does not count it.
    pub run_queue: Option<Duration>,
}

/// Source of the CPU times of phases.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CpuMethod {
    /// The thread's CPU clock, read at each change of phase. A batch of documents has one phase for all computing.
    #[default]
    ThreadClock,
    /// The wall clock and the processor's time stamps, as long as the thread keeps its processor; otherwise the thread's CPU clock.
    Interruptions,
}

impl CpuMethod {
    /// Name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CpuMethod::ThreadClock => "thread clock",
            CpuMethod::Interruptions => "rseq and TSC",
        }
    }
}

/// Cost of each kind of reading on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    /// Both clocks.
    pub(crate) both: Duration,
    /// The wall clock and the interruptions.
    pub(crate) look: Duration,
    /// A step of a document.
    pub(crate) step: Duration,
}

impl Costs {
    fn of(&self, totals: &Totals) -> Duration {
        let times = |cost: Duration, n: u64| cost.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
        if totals.by_interruptions == 0 {
            return times(self.both, totals.switches);
        }
        times(self.look, totals.switches) + times(self.both, totals.thread_clock) + times(self.step, totals.steps)
    }
}

/// The lanes' time by activity of the threads, instead of by phase. The parts add up to the phases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// Time on a processor.
    pub cpu: Duration,
    /// Time ready without a free processor. If the system does not count it, it is 0 and the time is in the other parts.
    pub run_queue: Duration,
    /// Time of reading and writing: devices and sockets.
    pub device: Duration,
    /// Time of making units of work durable.
    pub commit: Duration,
    /// Time waiting for a provider.
    pub provider: Duration,
    /// Time waiting for locks and turns.
    pub lock: Duration,
    /// Time waiting for room: full queues, limits of memory.
    pub backpressure: Duration,
    /// Time waiting for work, for the end of another thread or for the other side.
    pub others: Duration,
    /// Other time off the processor in computing phases: page faults, locks of the allocator.
    pub rest: Duration,
}

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseLine {
    /// The phase.
    pub phase: Phase,
    /// Time of the phase, summed over lanes.
    pub times: Times,
    /// Share of the lanes' wall time, 0 to 1.
    pub share: f64,
    /// The part of the time that is an estimate.
    pub estimated: Times,
}

/// Time that no phase explains, in nanoseconds; negative if phases were charged more than there was.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Unaccounted {
    /// Nanoseconds of wall time.
    pub wall_ns: i64,
    /// Nanoseconds of CPU time.
    pub cpu_ns: i64,
}

impl Report {
    pub(crate) fn new(wall: Duration, totals: &Totals, process: ProcessUse, costs: Costs) -> Self {
        let lane_wall = totals.elapsed.wall.as_secs_f64();
        let mut sum = Times::default();
        let mut phases = Vec::new();
        for (phase, times) in totals.phases.iter() {
            sum += *times;
            if *times != Times::default() {
                let share = if lane_wall > 0.0 { times.wall.as_secs_f64() / lane_wall } else { 0.0 };
                phases.push(PhaseLine { phase, times: *times, share, estimated: totals.estimated[phase] });
            }
        }
        let unaccounted = Unaccounted {
            wall_ns: nanos(totals.elapsed.wall) - nanos(sum.wall),
            cpu_ns: nanos(totals.elapsed.cpu) - nanos(sum.cpu),
        };
        Report {
            wall,
            lanes: totals.lanes,
            lane_time: totals.elapsed,
            phases,
            unaccounted,
            counters: totals.counters,
            process,
            switches: totals.switches,
            measuring: costs.of(totals),
            method: match totals.by_interruptions {
                0 => CpuMethod::ThreadClock,
                _ => CpuMethod::Interruptions,
            },
            segments: totals.segments,
            interrupted: totals.interrupted,
            run_queue: totals.run_queue,
        }
    }

    /// Returns the lanes' time by activity.
    ///
    /// Time off the processor is known by phase, and waits for a processor only for the lane as a whole. Computing phases rarely wait for anything
    /// else, so these waits are charged to computing phases first; the rest is divided among the other phases in proportion to their time off the processor.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let mut waits = Waits::default();
        let (mut computing, mut blocked) = (Duration::ZERO, Duration::ZERO);
        for line in &self.phases {
            let off = line.times.wall.saturating_sub(line.times.cpu);
            waits.cpu += line.times.wall.min(line.times.cpu);
            if line.phase.computes() {
                computing += off;
                continue;
            }
            blocked += off;
            *match line.phase {
                Phase::Read | Phase::Write => &mut waits.device,
                Phase::Commit => &mut waits.commit,
                Phase::Call => &mut waits.provider,
                Phase::Lock => &mut waits.lock,
                Phase::Backpressure => &mut waits.backpressure,
                _ => &mut waits.others,
            } += off;
        }
        let run_queue = self.run_queue.unwrap_or_default().min(computing + blocked);
        let of_computing = run_queue.min(computing);
        waits.rest = computing - of_computing;
        let left = run_queue - of_computing;
        if !blocked.is_zero() {
            let keeps = 1.0 - left.as_secs_f64() / blocked.as_secs_f64();
            let Waits { device, commit, provider, lock, backpressure, others, .. } = &mut waits;
            for part in [device, commit, provider, lock, backpressure, others] {
                *part = part.mul_f64(keeps.clamp(0.0, 1.0));
            }
        }
        waits.run_queue = run_queue;
        waits
    }

    /// Returns the share of the lanes' wall time that measuring took.
    #[must_use]
    pub fn measuring_share(&self) -> f64 {
        let lanes = self.lane_time.wall.as_secs_f64();
        if lanes > 0.0 { self.measuring.as_secs_f64() / lanes } else { 0.0 }
    }

    /// Returns whether the phases account for the lanes' wall time up to a share of `tolerance` (0.02 is 2 %), or a millisecond a
    /// lane.
    #[must_use]
    pub fn identity_holds(&self, tolerance: f64) -> bool {
        let slack = self.lane_time.wall.as_secs_f64() * tolerance;
        let off = self.unaccounted.wall_ns.unsigned_abs() as f64 / 1e9;
        off <= slack.max(f64::from(self.lanes) * 1e-3)
    }

    /// Returns the unaccounted share of the lanes' wall time; negative as in [`Unaccounted`].
    #[must_use]
    pub fn unaccounted_share(&self) -> f64 {
        let lanes = self.lane_time.wall.as_secs_f64();
        if lanes > 0.0 { self.unaccounted.wall_ns as f64 / 1e9 / lanes } else { 0.0 }
    }

    /// Records a second of the run's wall time; `None` if that was not measurable.
    #[must_use]
    pub fn records_per_s(&self) -> Option<f64> {
        per(self.counters.records as f64, self.wall)
    }

    /// Returns the CPU time of the process per record, including refused records.
    #[must_use]
    pub fn cpu_per_record(&self) -> Option<Duration> {
        let records = self.counters.records + self.counters.rejected;
        (records > 0).then(|| self.process.cpu.div_f64(records as f64))
    }

    /// Processors busy on average: process CPU time over wall time.
    #[must_use]
    pub fn cpus_busy(&self) -> Option<f64> {
        per(self.process.cpu.as_secs_f64(), self.wall)
    }
}

/// A distribution in a few numbers; units are the histogram's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: u64,
    /// Half of the values do not exceed it.
    pub p50: u64,
    /// 90 in 100 do not.
    pub p90: u64,
    /// 99 in 100 do not.
    pub p99: u64,
    /// 999 in 1,000 do not.
    pub p99_9: u64,
    /// Largest.
    pub max: u64,
}

impl Percentiles {
    /// Summarizes a histogram; `None` if it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let at = |percent| histogram.percentile(percent);
        Some(Percentiles {
            count: histogram.count(),
            mean: histogram.mean()?,
            min: histogram.min()?,
            p50: at(50.0)?,
            p90: at(90.0)?,
            p99: at(99.0)?,
            p99_9: at(99.9)?,
            max: histogram.max()?,
        })
    }
}

fn per(amount: f64, time: Duration) -> Option<f64> {
    (time > Duration::ZERO).then(|| amount / time.as_secs_f64())
}

/// Saturates after 292 years.
fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
