//! Rates this machine: [`calibrate`] runs each kernel of [`quayline_capacity::calibration`] on one thread, on a thread for each core and on
//! all threads, then the commercial mix on a store of its own, and gives a [`HostProfile`].
//!
//! ```text
//!  Kernel ─▶ kernels::prepare, once for each thread ─▶ slices: run batches until the slice ends ─▶ median rate and spread
//!  commercial mix: keyed read, update, queue get and put, journal, commit ─▶ Rating
//! ```
//!
//! * **Rates are operations a CPU second**, read from the threads' own CPU clocks. A neighbour that takes the processor makes a run longer and
//!   not slower. What neighbours take from caches and memory stays in the figures, so [`HostProfile::disturbance`] says how busy they were.
//! * **The mix is rated by CPU time** of the whole process, since the engine works in threads of its own. A rating holds as long as neither disk nor
//!   memory limits, so the profile also has the rate that a durable journal reached.
//! * [`primitives`] are workloads for `quayline measure`: the network and cryptography.
//! * **Work is fixed.** Every input is made by program from constants, so two machines do the same work.

mod certificate;
mod host;
mod kernels;
mod mix;
pub mod primitives;
mod run;
mod tls;

use std::path::PathBuf;
use std::time::Duration;

use quayline_capacity::calibration::{Host, HostProfile, KERNELS_VERSION, Kernel, KernelFigure, Optimised};

/// How to calibrate.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// An empty or new folder on the disk to rate. What is written there is removed at the end.
    pub folder: PathBuf,
    /// Time for each kernel on each number of threads.
    pub time: Duration,
}

/// Why a machine could not be rated.
#[derive(Debug)]
pub struct CalibrateError {
    /// What was being measured.
    pub what: &'static str,
    /// What went wrong.
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

/// Rates this machine. `progress` hears the name of each kernel before it runs.
///
/// # Errors
/// [`CalibrateError`] for a folder that cannot be written, or where a kernel fails.
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
