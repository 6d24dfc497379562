//! Rates this machine: [`calibrate`] runs each kernel of [`quayline_capacity::calibration`] on one thread, on a thread for each core and on
//! all threads, followed by the commercial mix on a temporary store, and returns a [`HostProfile`].
//!
//! ```text
//!  Kernel ─▶ kernels::prepare, once for each thread ─▶ slices: run batches until the slice ends ─▶ median rate and spread
//!  commercial mix: keyed read, update, queue get and put, journal, commit ─▶ Rating
//! ```
//!
//! * **Rates are operations a CPU second**, from the threads' own CPU clocks. Other load on the processor makes a run longer without lowering
//!   the rate. Contention for caches and memory does lower it, so [`HostProfile::disturbance`] reports how busy other programs were.
//! * **The mix is rated by CPU time** of the whole process, since the engine has its own threads. A rating is valid as long as neither disk nor
//!   memory is the limit, so the profile also has the rate reached with a durable journal.
//! * [`primitives`] are workloads for `quayline measure`: the network and cryptography.
//! * **Work is fixed.** Every input is generated from constants, so two machines do the same work.

mod certificate;
mod host;
mod kernels;
mod keys;
mod mix;
pub mod primitives;
mod run;
mod tls;

use std::path::PathBuf;
use std::time::Duration;

use quayline_capacity::calibration::{Host, HostProfile, KERNELS_VERSION, Kernel, KernelFigure, Optimised};

/// Settings of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// An empty or new folder on the disk to rate. Calibration removes its files at the end.
    pub folder: PathBuf,
    /// Time for each kernel on each number of threads.
    pub time: Duration,
}

/// Error of rating a machine.
#[derive(Debug)]
pub struct CalibrateError {
    /// Measurement that failed.
    pub what: &'static str,
    /// Cause of the failure.
    pub reason: String,
}

impl core::fmt::Display for CalibrateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.what, self.reason)
    }
}

impl std::error::Error for CalibrateError {}

/// Returns the facts of this machine, which decide whether two measurements can be compared.
#[must_use]
pub fn host() -> Host {
    host::facts()
}

/// Rates this machine. `progress` receives the name of each kernel before it runs.
///
/// # Errors
/// [`CalibrateError`] if the folder cannot be written or a kernel fails.
pub fn calibrate(of: &Calibration, progress: &mut dyn FnMut(&'static str)) -> Result<HostProfile, CalibrateError> {
    std::fs::create_dir_all(&of.folder)
        .map_err(|error| CalibrateError { what: "the folder", reason: error.to_string() })?;
    let host = host();
    let mut runner = run::Runner::new(of.time);
    let mut kernels = Vec::with_capacity(Kernel::ALL.len());
    let bed = kernels::Bed::new(&of.folder).map_err(|reason| CalibrateError { what: "the store", reason })?;
    for kernel in Kernel::ALL.iter().copied() {
        progress(kernel.name());
        let mut at = |threads| {
            runner
                .measure(kernel.is_processor_bound(), threads, &|| kernels::prepare(kernel, &bed))
                .map_err(|reason| CalibrateError { what: kernel.name(), reason })
        };
        let one = at(1)?;
        let cores = if host.cores < host.threads { Some(at(host.cores)?) } else { None };
        kernels.push(KernelFigure { kernel, one, cores, all: at(host.threads)? });
    }
    drop(bed);
    progress("commercial mix");
    let mix_failed = |reason| CalibrateError { what: "the commercial mix", reason };
    let rating = mix::rate(&of.folder, host.threads, of.time * 2).map_err(mix_failed)?;
    Ok(HostProfile {
        kernels_version: KERNELS_VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        optimised: if cfg!(debug_assertions) { Optimised::No } else { Optimised::Yes },
        host,
        kernels,
        rating,
        disturbance: runner.disturbance(),
    })
}
