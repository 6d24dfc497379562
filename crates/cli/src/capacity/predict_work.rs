//! `quayline predict work`: models a flow, a job or an operation as a queueing network, with the demands that a server measured.

use std::path::Path;

use quayline_capacity::{Prediction, Seconds, Validity, Workload};
use quayline_core::{Fault, Finding, nearest};
use quayline_project::job::{Element, Job, JobFile};
use quayline_workload::{Demands, Headroom, Interval, elapsed_s, prediction_report, prediction_text};
use serde::Serialize;

use super::predict_lanes::Lanes;
use super::report::{basis_section, finish};
use super::{BasisWire, CAP_INTERVALS, component, predict_api, predict_job, refused, weakest};
use crate::args::PredictWorkArgs;
use crate::console::Console;
use crate::exit::{Exit, Stop, argument};

/// Content of the definition.
struct Definition {
    /// Name in intervals, `flow:orders`.
    member: String,
    /// Instances, or partitions that run at once.
    workers: u32,
    /// True if a single thread runs the whole workload.
    is_on_one_thread: bool,
    /// The job, if it is one.
    job: Option<Job>,
}

/// Predicts throughput by the number of workers.
pub(super) fn work(args: &PredictWorkArgs, console: &Console) -> Result<Exit, Stop> {
    if !args.parameters.is_empty() && !args.definition.as_ref().is_some_and(|path| is_job(path)) {
        return Err(argument("--param applies only to the definition of a job".to_owned()).into());
    }
    if let Some(path) = &args.profile {
        return lanes(args, &Lanes::of(args, path)?, console);
    }
    if let Some(path) = args.definition.as_ref().filter(|path| quayline_server::is_in_apis(path)) {
        return predict_api::api(args, path, console);
    }
    let definition = match &args.definition {
        Some(path) => definition(path, &args.parameters)?,
        None => Definition {
            member: args.member.clone().unwrap_or_default(),
            workers: 1,
            is_on_one_thread: false,
            job: None,
        },
    };
    let name = args.member.clone().unwrap_or_else(|| definition.member.clone());
    let intervals = component::intervals(&args.from)?;
    let as_used = |demands: Demands| if args.contended { demands.contended() } else { demands };
    let demands = as_used(demands(&intervals, &name)?);
    // Intervals of an earlier version have no steps.
    let parts = Demands::of_parts(&intervals, &name).unwrap_or_default();
    let parts: Vec<_> = parts.into_iter().map(|(name, demands)| (name, as_used(demands))).collect();
    if let Some(job) = definition.job.as_ref().filter(|_| !parts.is_empty()) {
        return predict_job::job(args, job, &intervals, parts, console);
    }
    let measured_on = intervals.last().map_or(1, |interval| interval.processors);
    let processors = if definition.is_on_one_thread { 1 } else { args.processors.unwrap_or(measured_on) };
    let think = args.think.map_or(Seconds(0.0), |think| think.0);
    let workload = demands.network(processors, args.faster, think);
    let workers = if args.workers.is_empty() { vec![definition.workers] } else { args.workers.clone() };
    let mut estimates = Vec::new();
    for workers in &workers {
        estimates.push(workload.predict(*workers).map_err(|error| refused(&error))?);
    }
    let bottleneck = workload.bottleneck().map(|at| workload.stations[at].name.clone());
    let Some(basis) = weakest(&estimates).map(|basis| with_items(BasisWire::of(basis), args, demands.transactions))
    else {
        return Err(argument("--workers names no number".to_owned()).into());
    };
    let rows: Vec<Prediction> = estimates.into_iter().map(|estimate| estimate.value).collect();
    let elapsed = rows.iter().map(|row| elapsed_s(row, args.items)).collect();
    let transactions = demands.transactions;
    let name = name.as_str();
    let answer = Answer {
        name,
        demands,
        transactions,
        workload: &workload,
        rows: &rows,
        elapsed,
        bottleneck,
        notes: String::new(),
    };
    answer.finish(&basis, args, console)
}

/// Predicts a run over files by the number of its threads.
fn lanes(args: &PredictWorkArgs, lanes: &Lanes, console: &Console) -> Result<Exit, Stop> {
    let threads = if args.workers.is_empty() { vec![1] } else { args.workers.clone() };
    let estimates = threads.iter().map(|threads| lanes.predict(*threads)).collect::<Result<Vec<_>, Stop>>()?;
    let transactions = lanes.demands.transactions;
    let Some(basis) = weakest(&estimates).map(|basis| with_items(BasisWire::of(basis), args, transactions)) else {
        return Err(argument("--workers names no number".to_owned()).into());
    };
    let rows: Vec<Prediction> = estimates.into_iter().map(|estimate| estimate.value).collect();
    let elapsed = rows.iter().map(|row| args.items.map(|items| lanes.elapsed_s(row, items))).collect();
    let workload = &lanes.workload;
    let answer = Answer {
        name: &lanes.name,
        demands: lanes.demands,
        transactions: lanes.demands.transactions,
        workload,
        rows: &rows,
        elapsed,
        bottleneck: workload.bottleneck().map(|at| workload.stations[at].name.clone()),
        notes: String::new(),
    };
    answer.finish(&basis, args, console)
}

/// Adds a note to the validity of an answer if its elapsed time is for more items than any measurement had.
pub(super) fn with_items(mut basis: BasisWire, args: &PredictWorkArgs, measured: u64) -> BasisWire {
    if let Some(items) = args.items {
        let measured = measured as f64;
        match Validity::of_range(items as f64, 0.0, measured) {
            Validity::WithinData => {}
            further => basis.validity.push_str(&format!("; elapsed time: {further}, the items")),
        }
    }
    basis
}

/// Reads a flow or a job.
fn definition(path: &Path, parameters: &[String]) -> Result<Definition, Stop> {
    if is_job(path) {
        return job(path, parameters);
    }
    let flow = quayline_project::FlowFile::open(path)?;
    let inputs = flow.nodes.iter().filter(|node| node.kind.is_input);
    let is_on_one_thread = inputs.clone().any(|node| {
        node.kind.name != "queue_input" || matches!(node.text("order"), Some("by_queue" | "by_user" | "by_key"))
    });
    let instances = flow.additional_instances.saturating_add(1);
    Ok(Definition { member: format!("flow:{}", flow.name), workers: instances, is_on_one_thread, job: None })
}

fn is_job(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xml")
}

fn job(path: &Path, parameters: &[String]) -> Result<Definition, Stop> {
    let file = JobFile::open(path)?;
    let (job, _) = file.resolve(&crate::job::parameters(parameters)?, &quayline_batch::system_property)?;
    let workers = job.elements.iter().map(threads_of).max().unwrap_or(1);
    Ok(Definition { member: format!("job:{}", job.id), workers, is_on_one_thread: false, job: Some(job) })
}

/// Threads that an element of a job has at once.
fn threads_of(element: &Element) -> u32 {
    match element {
        Element::Step(step) => predict_job::workers(step).0,
        Element::Flow(flow) => flow.elements.iter().map(threads_of).max().unwrap_or(1),
        Element::Split(split) => {
            split.flows.iter().map(|flow| flow.elements.iter().map(threads_of).max().unwrap_or(1)).sum()
        }
        Element::Decision(_) => 1,
    }
}

/// Returns the demands of a member, or the reason why they are unknown.
pub(super) fn demands(intervals: &[Interval], name: &str) -> Result<Demands, Stop> {
    Demands::of(intervals, name).map_err(|names| {
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if names.is_empty() => "send some load, and wait for the end of an interval".to_owned(),
            None => format!("the intervals have {}", names.join(", ")),
        };
        let what = format!("no interval has a transaction of `{name}`");
        Finding::error(CAP_INTERVALS, Fault::Caller, what).hint(hint).into()
    })
}

pub(super) struct Answer<'a, D> {
    pub(super) name: &'a str,
    pub(super) demands: D,
    pub(super) transactions: u64,
    pub(super) workload: &'a Workload,
    pub(super) rows: &'a [Prediction],
    /// Elapsed time of each row, if there are items.
    pub(super) elapsed: Vec<Option<f64>>,
    pub(super) bottleneck: Option<String>,
    /// Text below the table.
    pub(super) notes: String,
}

impl<D: Serialize> Answer<'_, D> {
    pub(super) fn finish(&self, basis: &BasisWire, args: &PredictWorkArgs, console: &Console) -> Result<Exit, Stop> {
        let largest = self.rows.iter().max_by_key(|row| row.users).expect("a prediction has a row");
        let headroom = args.objective.headroom(self.workload, largest.users)?;
        super::answer(&args.answer, &self.wire(&headroom, basis), || {
            let advice = args.objective.advice(self.workload, largest, "worker");
            self.text(&headroom, &advice, basis)
        })?;
        let mut report = prediction_report(self.name, self.workload, self.rows, &self.elapsed);
        if args.objective.is_given() {
            (report.verdict, report.summary) = args.objective.verdict(self.workload, largest, "worker")?;
        }
        report.sections.push(basis_section(basis));
        finish(report, &args.report, console)
    }

    fn wire<'b>(&'b self, headroom: &Headroom, basis: &'b BasisWire) -> Wire<'b, D> {
        let row = |(row, elapsed): (&Prediction, &Option<f64>)| RowWire {
            workers: row.users,
            throughput_per_s: row.throughput.0,
            response_s: row.response.0,
            p50_s: row.percentiles[0].0,
            p95_s: row.percentiles[1].0,
            p99_s: row.percentiles[2].0,
            utilization: row.utilization.iter().map(|share| share.0).collect(),
            elapsed_s: *elapsed,
        };
        Wire {
            schema: "quayline.work-prediction/1",
            name: self.name,
            demands: &self.demands,
            stations: self.workload.stations.iter().map(|station| station.name.as_str()).collect(),
            bottleneck: self.bottleneck.as_deref(),
            think_s: self.workload.think.0,
            predictions: self.rows.iter().zip(&self.elapsed).map(row).collect(),
            workers_max: headroom.most,
            exhausted_months: headroom.months(),
            exhausted: headroom.date(),
            basis,
        }
    }

    fn text(&self, headroom: &Headroom, advice: &str, basis: &BasisWire) -> String {
        let table = prediction_text(self.name, self.transactions, self.workload, self.rows, &self.elapsed);
        format!("{table}{}{advice}{}{}", headroom.text("Workers"), self.notes, basis.text())
    }
}

#[derive(Serialize)]
struct Wire<'a, D> {
    schema: &'static str,
    name: &'a str,
    demands: &'a D,
    stations: Vec<&'a str>,
    bottleneck: Option<&'a str>,
    think_s: f64,
    predictions: Vec<RowWire>,
    workers_max: u32,
    exhausted_months: Option<f64>,
    exhausted: Option<String>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct RowWire {
    workers: u32,
    throughput_per_s: f64,
    response_s: f64,
    p50_s: f64,
    p95_s: f64,
    p99_s: f64,
    utilization: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_s: Option<f64>,
}
