//! `quayline predict work --profile`: the threads of a conversion or a translation. They read one after another, convert at once, and write in order.

use quayline_capacity::{Estimate, Origin, Prediction, Seconds, Servers, SharedServers, Station, Validity, Workload};
use quayline_core::{Fault, Finding};
use quayline_meter::{Phase, ProfileClass};

use super::{CAP_COSTS, cost, refused};
use crate::args::PredictWorkArgs;
use crate::console::shown;
use crate::exit::Stop;

/// Caveat of the lane model.
const KNOWN: &str = "processors also serve reading and writing, which only bounds the throughput here";

/// Cost of one record in seconds.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct LaneDemands {
    /// Reading, by one thread at a time.
    input_s: f64,
    /// CPU time of decoding, maps and encoding.
    compute_s: f64,
    /// Writing, by one thread at a time.
    output_s: f64,
    /// CPU time of all phases.
    cpu_s: f64,
    /// Opening, compiling and making durable, once for all records.
    fixed_s: f64,
    /// Records that were measured.
    pub(super) transactions: u64,
}

/// The prediction of a run over files.
pub(super) struct Lanes {
    pub(super) name: String,
    pub(super) demands: LaneDemands,
    pub(super) workload: Workload,
}

impl Lanes {
    pub(super) fn of(args: &PredictWorkArgs, path: &std::path::Path) -> Result<Lanes, Stop> {
        let profile = cost::read(path)?;
        let refuse = |what: &str, hint: &str| -> Stop {
            Finding::error(CAP_COSTS, Fault::Caller, format!("{} {what}", shown(path))).hint(hint).into()
        };
        let [class] = profile.classes.as_slice() else {
            let hint = "make a model of one operation with `quayline profile model`";
            return Err(refuse("is not the profile of a run over files", hint));
        };
        if class.count == 0 || class.phases.iter().any(|line| line.cpu_s.is_none()) {
            let hint = "measure a run with `convert --profile FILE` or `translate --profile FILE`";
            return Err(refuse("has no records with CPU time", hint));
        }
        let demands = LaneDemands::of(class);
        let processors = args.processors.unwrap_or(profile.host.threads).max(1);
        // Only computation becomes faster.
        let scaled = |wall: f64, cpu: f64| (wall - cpu).max(0.0) + wall.min(cpu) / args.faster;
        let (input, output) = (sum(class, &[Phase::Read]), sum(class, &[Phase::Write]));
        let station = |name: &str, servers: u32, demand: f64| Station {
            name: name.to_owned(),
            servers: Servers::Count(servers),
            demands: vec![Seconds(demand)],
        };
        let workload = Workload {
            stations: vec![
                station("processors", processors, demands.compute_s / args.faster),
                station("input", 1, scaled(input.0, input.1)),
                station("output", 1, scaled(output.0, output.1)),
            ],
            think: Seconds(0.0),
            origin: Origin::Measured,
            shared: Some(SharedServers { station: 0, demand: Seconds(demands.cpu_s / args.faster) }),
        };
        Ok(Lanes { name: class.name.clone(), demands, workload })
    }

    /// Predicts the throughput with this number of threads, limited by the processors.
    pub(super) fn predict(&self, threads: u32) -> Result<Estimate<Prediction>, Stop> {
        let mut estimate = self.workload.predict(threads).map_err(|error| refused(&error))?;
        estimate.validity = Validity::Approximate(KNOWN);
        Ok(estimate)
    }

    /// Returns the duration of a run over this number of records in seconds.
    pub(super) fn elapsed_s(&self, row: &Prediction, items: u64) -> f64 {
        self.demands.fixed_s + items as f64 / row.throughput.0
    }
}

impl LaneDemands {
    fn of(class: &ProfileClass) -> LaneDemands {
        let compute = sum(class, &[Phase::Parse, Phase::Decode, Phase::Map, Phase::Encode]);
        let (input, output) = (sum(class, &[Phase::Read]), sum(class, &[Phase::Write]));
        let fixed = sum(class, &[Phase::Other, Phase::Commit]);
        LaneDemands {
            input_s: input.0,
            compute_s: compute.1,
            output_s: output.0,
            cpu_s: compute.1 + input.1 + output.1,
            fixed_s: fixed.0 * class.count as f64,
            transactions: class.count,
        }
    }
}

/// Returns wall and CPU seconds of phases for each record.
fn sum(class: &ProfileClass, phases: &[Phase]) -> (f64, f64) {
    let of = |line: &quayline_meter::ProfilePhase| phases.iter().any(|phase| phase.name() == line.phase);
    let lines = || class.phases.iter().filter(|line| of(line));
    let count = class.count as f64;
    let cpu: f64 = lines().filter_map(|line| line.cpu_s).sum();
    (lines().map(|line| line.wall_s).sum::<f64>() / count, cpu / count)
}
