//! Profiles of machines as files: `quayline.machine/1`.

use std::path::Path;

use quayline_capacity::calibration::{Host, HostProfile, Kernel, KernelFigure, KernelRate, Optimised, Rating};
use quayline_capacity::{PerSecond, Seconds, Share};
use quayline_core::{Fault, Finding};
use serde::{Deserialize, Serialize};

use super::{CAP_PROFILE, text_of};
use crate::console::shown;
use crate::exit::Stop;

const SCHEMA: &str = "quayline.machine/1";
/// Most bytes of a profile.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a profile.
pub(super) fn read(path: &Path) -> Result<HostProfile, Stop> {
    let text = text_of(path, PROFILE_BYTES_MAX)?;
    let wrong = |reason: String| {
        Finding::error(CAP_PROFILE, Fault::Caller, format!("{} is not a profile: {reason}", shown(path)))
            .hint("`quayline calibrate -o FILE` writes a profile of the machine on which it runs")
    };
    // Read the schema first: a cost profile has none of the other fields, so an error about one of them would not help.
    let Schema { schema } = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if schema != SCHEMA {
        return Err(wrong(format!("its schema is `{schema}`, expected `{SCHEMA}`")).into());
    }
    let wire: ProfileWire = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    wire.profile().map_err(|reason| wrong(reason).into())
}

/// Schema that a file declares.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// A profile as a file.
#[derive(Deserialize, Serialize)]
pub(super) struct ProfileWire {
    schema: String,
    kernels_version: u32,
    program: String,
    build: BuildWire,
    host: HostWire,
    kernels: Vec<KernelWire>,
    rating: RatingWire,
    disturbance: f64,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum BuildWire {
    Release,
    Debug,
}

#[derive(Deserialize, Serialize)]
struct HostWire {
    processor: String,
    architecture: String,
    threads: u32,
    cores: u32,
    memory_mib: u64,
    system: String,
}

#[derive(Deserialize, Serialize)]
struct KernelWire {
    kernel: String,
    unit: String,
    one: RateWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cores: Option<RateWire>,
    all: RateWire,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
struct RateWire {
    rate: f64,
    spread: f64,
}

#[derive(Deserialize, Serialize)]
struct RatingWire {
    capacity_units: f64,
    units_per_s: f64,
    cpu_s: f64,
    durable_per_s: f64,
}

impl From<KernelRate> for RateWire {
    fn from(rate: KernelRate) -> RateWire {
        RateWire { rate: rate.rate, spread: rate.spread.0 }
    }
}

impl RateWire {
    fn rate(self) -> Result<KernelRate, String> {
        let valid = self.rate.is_finite() && self.rate > 0.0 && self.spread.is_finite() && self.spread >= 0.0;
        if !valid {
            return Err(format!("a rate is {} with a spread of {}, expected positive numbers", self.rate, self.spread));
        }
        Ok(KernelRate { rate: self.rate, spread: Share(self.spread) })
    }
}

impl ProfileWire {
    pub(super) fn of(profile: &HostProfile) -> ProfileWire {
        let HostProfile { kernels_version, program, optimised, host, kernels, rating, disturbance } = profile;
        let kernel = |figure: &KernelFigure| KernelWire {
            kernel: figure.kernel.name().to_owned(),
            unit: figure.kernel.unit().to_owned(),
            one: figure.one.into(),
            cores: figure.cores.map(RateWire::from),
            all: figure.all.into(),
        };
        ProfileWire {
            schema: SCHEMA.to_owned(),
            kernels_version: *kernels_version,
            program: program.clone(),
            build: match optimised {
                Optimised::Yes => BuildWire::Release,
                Optimised::No => BuildWire::Debug,
            },
            host: HostWire {
                processor: host.processor.clone(),
                architecture: host.architecture.clone(),
                threads: host.threads,
                cores: host.cores,
                memory_mib: host.memory_mib,
                system: host.system.clone(),
            },
            kernels: kernels.iter().map(kernel).collect(),
            rating: RatingWire {
                capacity_units: rating.capacity().0,
                units_per_s: rating.units.0,
                cpu_s: rating.cpu.0,
                durable_per_s: rating.durable.0,
            },
            disturbance: disturbance.0,
        }
    }

    fn profile(self) -> Result<HostProfile, String> {
        let mut kernels = Vec::with_capacity(self.kernels.len());
        for wire in self.kernels {
            // A newer program may have kernels unknown to this one; their version differs, and comparisons report that.
            let Some(kernel) = Kernel::by_name(&wire.kernel) else { continue };
            let cores = wire.cores.map(RateWire::rate).transpose()?;
            kernels.push(KernelFigure { kernel, one: wire.one.rate()?, cores, all: wire.all.rate()? });
        }
        if kernels.is_empty() {
            return Err("it has no kernel".to_owned());
        }
        let HostWire { processor, architecture, threads, cores, memory_mib, system } = self.host;
        Ok(HostProfile {
            kernels_version: self.kernels_version,
            program: self.program,
            optimised: match self.build {
                BuildWire::Release => Optimised::Yes,
                BuildWire::Debug => Optimised::No,
            },
            host: Host { processor, architecture, threads, cores, memory_mib, system },
            kernels,
            rating: Rating {
                units: PerSecond(self.rating.units_per_s),
                cpu: Seconds(self.rating.cpu_s),
                durable: PerSecond(self.rating.durable_per_s),
            },
            disturbance: Share(self.disturbance),
        })
    }
}
