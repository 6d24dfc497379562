//! Phase clocks, counters and the time-accounting identity.
//!
//! A [`Meter`] covers a run. Each thread that works for it has a [`Lane`]: a line of time that is in one [`Phase`] at a time. When the
//! thread is done, the lane's [`Totals`] are merged with those of the other threads, and [`Meter::report`] turns them into a [`Report`],
//! plain data that a command line or an API renders.
//!
//! ```
//! use quayline_meter::{Meter, Phase};
//!
//! let meter = Meter::start();
//! let mut lane = meter.lane();
//! lane.enter(Phase::Read);
//! let batch = vec![0x40u8; 256 << 10];
//! lane.enter(Phase::Decode);
//! lane.counters.records += 1;
//! lane.counters.bytes_in += batch.len() as u64;
//! let report = meter.report(&lane.finish());
//! assert_eq!(report.counters.records, 1);
//! assert!(report.identity_holds(0.01));
//! ```
//!
//! # The identity
//!
//! The wall times of a lane's phases and its *unaccounted* time add up to its elapsed time; the same holds for CPU time. Elapsed time is read
//! when the lane begins and ends, and phase times are charged in between, so the difference is a measurement. It is positive for time between
//! phases, which must be small, and negative for time charged twice. The report shows it on a separate line and never spreads it over the phases.
//!
//! # What it costs
//!
//! A change of phase reads the monotonic clock (about 25 ns, no system call on Linux). If the system reports [interruptions](interruptions()) and the
//! thread had none, CPU time passed like wall time. Otherwise the change also reads the thread's CPU clock (a system call, 100 to
//! 500 ns). Phases therefore change once per batch of about [`BATCH_BYTES`], not per record: five changes take 3 µs at most, and a
//! batch at 800 MB/s takes 330 µs, which is under 1 %. Steps of [documents](document()) divide a batch by time stamps of the processor, and take about
//! 0.5 % of the CPU time. [`Totals::switches`] counts the changes. Counters are plain additions. A [`Histogram`] takes one
//! addition to a fixed table per value; nothing here allocates per record.
//!
//! Phases give the purpose of the time. [`Report::waits`] gives its use: on a processor, or waiting for one, for a device, a commit or another
//! thread. The kernel counts waits for a processor by thread, so a lane reads them only when it begins and ends.
//!
//! A decoder that drives an encoder through the sink seam is one compiled loop, with no clock between them. Their time is charged
//! to one phase. A map between the two has steps of its own, where the system reports interruptions. [`Lane::move_estimate`] can move a share that was found by timing some batches twice; the report then marks the
//! phase's time as an estimate.

mod clock;
mod histogram;
#[allow(
    unsafe_code,
    reason = "a field of the thread's control block, which the kernel changes, and a time stamp of the processor"
)]
mod interruptions;
mod lane;
mod meter;
mod phase;
mod process;
mod profile;
mod report;
mod steps;
mod text;
mod totals;
mod waiting;

pub use clock::{Clock, Instant, SystemClock};
pub use histogram::Histogram;
pub use interruptions::interruptions;
pub use lane::Lane;
pub use meter::Meter;
pub use phase::{Phase, PhaseTable};
pub use process::ProcessUse;
pub use profile::{PROFILE_SCHEMA, Profile, ProfileClass, ProfileCpu, ProfileError, ProfileHost, ProfilePhase};
pub use report::{CpuMethod, Percentiles, PhaseLine, Report, Unaccounted, Waits};
pub use steps::{document, step};
pub use text::{CpuWire, WaitsWire};
pub use totals::{Counters, Times, Totals};
pub use waiting::{ThreadWaits, WaitFor, Waited, thread_waits, waited_beside, waited_by_work, waiting};

/// Bytes of input after which a lane should change its phases: 256 KiB. Smaller batches cost more clock readings, larger ones fall out
/// of the second-level cache.
pub const BATCH_BYTES: usize = 256 << 10;
