//! `quayline predict work` of a job: its steps, in their order and at once, as classes of one network.

use quayline_capacity::{GraphPrediction, StepOrder, WorkGraph};
use quayline_core::{Fault, Finding};
use quayline_project::job::{Element, Job, PartitionSource, Step, StepBody};
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};
use quayline_workload::{Demands, Interval, job_graph};
use serde::Serialize;

use super::predict_work::with_items;
use super::report::{basis_section, finish};
use super::{BasisWire, CAP_INTERVALS, refused, weakest};
use crate::args::PredictWorkArgs;
use crate::console::Console;
use crate::exit::{Exit, Stop, argument};

/// A step that was measured.
struct Measured {
    name: String,
    demands: Demands,
    /// Workers that the definition gives it.
    workers: u32,
    is_partitioned: bool,
}

/// One answer.
struct Row {
    /// Value of `--workers`; `None` for that of the definition.
    workers: Option<u32>,
    graph: WorkGraph,
    predicted: GraphPrediction,
}

/// Predicts a job by its steps.
pub(super) fn job(
    args: &PredictWorkArgs,
    job: &Job,
    intervals: &[Interval],
    parts: Vec<(String, Demands)>,
    console: &Console,
) -> Result<Exit, Stop> {
    if args.think.is_some() {
        return Err(
            argument("--think does not apply to a job: its workers take one item after another".to_owned()).into()
        );
    }
    if args.objective.is_given() || args.objective.growth.is_some() {
        let hint = "compare the elapsed time with the window, for each number of items: --items N";
        return Err(argument("objectives and --growth do not apply to the steps of a job".to_owned())
            .hint(hint)
            .into());
    }
    let mut steps = Vec::new();
    let mut missing = Vec::new();
    let order = StepOrder::Sequence(orders(&job.elements, &parts, &mut steps, &mut missing));
    let gone = parts.iter().filter(|(name, _)| !steps.iter().any(|step: &Measured| step.name == *name));
    let mut findings: Vec<Finding> = gone
        .map(|(name, _)| {
            let message = format!("the intervals have a step {name} that the job does not have");
            Finding::warning(CAP_INTERVALS, Fault::Caller, message)
                .hint("measure the job again: its definition has changed")
        })
        .collect();
    findings.extend(missing.iter().map(|name| {
        let message = format!("step {name} was not measured, so the prediction does not include it");
        Finding::warning(CAP_INTERVALS, Fault::Caller, message).hint("run the step while intervals are collected")
    }));
    console.findings(&findings);
    if steps.is_empty() {
        let message = format!("no step of {} was measured", job.id);
        let hint = "run the job of this definition while intervals are collected";
        return Err(Finding::error(CAP_INTERVALS, Fault::Caller, message).hint(hint).into());
    }
    let processors = args.processors.unwrap_or_else(|| intervals.last().map_or(1, |interval| interval.processors));
    let most = steps.iter().map(|step| step.demands.transactions).max().unwrap_or(1);
    let scale = args.items.map_or(1.0, |items| items as f64 / most.max(1) as f64);
    // Without a partitioned step, predict the effect of partitions.
    let none_is = !steps.iter().any(|step| step.is_partitioned);
    let asked: Vec<Option<u32>> =
        if args.workers.is_empty() { vec![None] } else { args.workers.iter().copied().map(Some).collect() };
    let mut rows = Vec::new();
    let mut estimates = Vec::new();
    for workers in asked {
        let of = |step: &Measured| {
            let count = workers.filter(|_| step.is_partitioned || none_is).unwrap_or(step.workers);
            (step.name.clone(), step.demands, count, scale * step.demands.transactions as f64)
        };
        let measured: Vec<(String, Demands, u32, f64)> = steps.iter().map(of).collect();
        let graph = job_graph(&measured, order.clone(), processors, args.faster);
        let estimate = graph.predict().map_err(|error| refused(&error))?;
        rows.push(Row { workers, graph, predicted: estimate.value.clone() });
        estimates.push(estimate);
    }
    let basis = weakest(&estimates).map(|basis| with_items(BasisWire::of(basis), args, most));
    let Some(basis) = basis else { return Err(argument("--workers names no number".to_owned()).into()) };
    let answer = Answer { name: format!("job:{}", job.id), items: args.items, rows };
    super::answer(&args.answer, &answer.wire(&steps, &missing, &basis), || answer.text(&steps, &basis))?;
    let mut report = answer.report(&steps);
    report.sections.push(basis_section(&basis));
    finish(report, &args.report, console)
}

/// Returns the order of elements, with the measured steps. Elements are sequential in document order: only those that ran count toward the duration
/// of a job.
fn orders(
    elements: &[Element],
    parts: &[(String, Demands)],
    steps: &mut Vec<Measured>,
    missing: &mut Vec<String>,
) -> Vec<StepOrder> {
    let mut found = Vec::new();
    for element in elements {
        match element {
            Element::Step(step) => match parts.iter().find(|(name, _)| *name == step.id) {
                Some((name, demands)) => {
                    found.push(StepOrder::Step(steps.len()));
                    let (workers, is_partitioned) = workers(step);
                    steps.push(Measured { name: name.clone(), demands: *demands, workers, is_partitioned });
                }
                // A batchlet has no items.
                None if matches!(step.body, StepBody::Chunk(_)) => missing.push(step.id.clone()),
                None => missing.push(format!("{} (a batchlet)", step.id)),
            },
            Element::Flow(flow) => found.push(StepOrder::Sequence(orders(&flow.elements, parts, steps, missing))),
            Element::Split(split) => {
                let flows =
                    split.flows.iter().map(|flow| StepOrder::Sequence(orders(&flow.elements, parts, steps, missing)));
                found.push(StepOrder::Together(flows.collect()));
            }
            Element::Decision(_) => {}
        }
    }
    found
}

/// Returns the threads of a step, and whether it is partitioned. A mapper decides at run time: it counts as the partitions that its properties name, or
/// as one.
pub(super) fn workers(step: &Step) -> (u32, bool) {
    let at_once = |partitions: u32, threads: u32| if threads == 0 { partitions } else { threads.min(partitions) };
    match step.partition.as_ref().map(|partition| &partition.source) {
        Some(PartitionSource::Plan { partitions, threads, .. }) => (at_once(*partitions, *threads).max(1), true),
        Some(PartitionSource::Mapper(mapper)) => {
            let number = |name: &str| mapper.properties.get(name).and_then(|text| text.trim().parse().ok());
            let by_default = if mapper.name == "quayline.fileMapper" { 2 } else { 1 };
            let partitions = number("partitions").unwrap_or(by_default);
            (at_once(partitions, number("threads").unwrap_or(0)).max(1), true)
        }
        None => (1, false),
    }
}

impl Row {
    fn items(&self) -> f64 {
        self.graph.steps.iter().map(|step| step.transactions).sum()
    }

    fn throughput(&self) -> f64 {
        self.items() / self.predicted.elapsed.0
    }

    /// Returns the mean response time of an item over all steps.
    fn response_s(&self) -> f64 {
        let phases = self.predicted.phases.iter();
        let of_phase = |phase: &quayline_capacity::GraphPhase| -> f64 {
            phase.running.iter().map(|(_, rate, response)| rate.0 * phase.time.0 * response.0).sum()
        };
        phases.map(of_phase).sum::<f64>() / self.items()
    }

    /// Returns the mean utilization of a station over the whole job.
    fn utilization(&self, station: usize) -> f64 {
        let busy: f64 = self.predicted.phases.iter().map(|phase| phase.utilization[station].0 * phase.time.0).sum();
        busy / self.predicted.elapsed.0
    }

    /// Returns begin and end of a step in seconds.
    fn span(&self, step: usize) -> (f64, f64) {
        let runs = |phase: &&quayline_capacity::GraphPhase| phase.running.iter().any(|(running, ..)| *running == step);
        let mut phases = self.predicted.phases.iter().filter(runs);
        let Some(first) = phases.next() else { return (0.0, 0.0) };
        let last = phases.next_back().unwrap_or(first);
        (first.begin.0, last.begin.0 + last.time.0)
    }

    fn bottleneck(&self, step: usize) -> &str {
        self.graph.bottleneck(step).map_or("other", |at| self.graph.stations[at].0.as_str())
    }

    fn name(&self) -> String {
        self.workers.map_or_else(|| "as defined".to_owned(), |workers| workers.to_string())
    }
}

struct Answer {
    name: String,
    items: Option<u64>,
    rows: Vec<Row>,
}

impl Answer {
    fn text(&self, steps: &[Measured], basis: &BasisWire) -> String {
        let us = |seconds: f64| format!("{:.1} us", seconds * 1e6);
        let transactions: u64 = steps.iter().map(|step| step.demands.transactions).sum();
        let mut text = format!("{}, from {transactions} items\n", self.name);
        text.push_str(&format!(
            "{:<20} {:>12} {:>14} {:>14} {:>14}\n",
            "step", "items", "processors", "store", "other"
        ));
        for step in steps {
            let Demands { cpu_s, helper_cpu_s, other_s, transactions, .. } = step.demands;
            let (cpu, helper, other) = (us(cpu_s), us(helper_cpu_s), us(other_s));
            text.push_str(&format!("{:<20} {transactions:>12} {cpu:>14} {helper:>14} {other:>14}\n", step.name));
        }
        text.push_str(&format!("\n{:>10} {:>14} {:>12}", "workers", "per second", "processors"));
        text.push_str(if self.items.is_some() { "      elapsed\n" } else { "\n" });
        for row in &self.rows {
            let busy = 100.0 * row.utilization(0);
            text.push_str(&format!("{:>10} {:>14.1} {busy:>10.1} %", row.name(), row.throughput()));
            if self.items.is_some() {
                text.push_str(&format!(" {:>10.1} s", row.predicted.elapsed.0));
            }
            text.push('\n');
        }
        let Some(row) = self.rows.last() else { return text };
        let title = row.workers.map_or_else(|| "as defined".to_owned(), |workers| format!("with {workers} workers"));
        text.push_str(&format!("\nSteps {title}:\n"));
        for (at, step) in row.graph.steps.iter().enumerate() {
            let (begin, end) = row.span(at);
            let rate = step.transactions / (end - begin);
            text.push_str(&format!("{:<20} {:>4} at once {rate:>14.1} per second", step.name, step.workers));
            if self.items.is_some() {
                text.push_str(&format!("  from {begin:.1} s to {end:.1} s"));
            }
            text.push_str(&format!("  bottleneck: {}\n", row.bottleneck(at)));
        }
        text.push('\n');
        text.push_str(&basis.text());
        text
    }

    fn wire<'a>(&'a self, steps: &'a [Measured], missing: &'a [String], basis: &'a BasisWire) -> Wire<'a> {
        let step = |step: &'a Measured| StepWire { name: &step.name, demands: step.demands };
        let row = |row: &'a Row| RowWire {
            workers: row.workers.unwrap_or_else(|| row.graph.steps.iter().map(|step| step.workers).max().unwrap_or(1)),
            throughput_per_s: row.throughput(),
            response_s: row.response_s(),
            utilization: (0..row.graph.stations.len()).map(|at| row.utilization(at)).collect(),
            elapsed_s: self.items.map(|_| row.predicted.elapsed.0),
            steps: (0..row.graph.steps.len()).map(|at| RowStepWire::of(row, at, self.items.is_some())).collect(),
        };
        Wire {
            schema: "quayline.work-prediction/1",
            name: &self.name,
            stations: self.rows[0].graph.stations.iter().map(|(name, _)| name.as_str()).collect(),
            steps: steps.iter().map(step).collect(),
            not_measured: missing,
            predictions: self.rows.iter().map(row).collect(),
            basis,
        }
    }

    fn report(&self, steps: &[Measured]) -> Report {
        let demands = |step: &Measured| {
            let Demands { cpu_s, helper_cpu_s, other_s, transactions, .. } = step.demands;
            let us = |seconds: f64| Cell::Number(1e6 * seconds);
            vec![
                Cell::text(step.name.clone()),
                Cell::Number(transactions as f64),
                us(cpu_s),
                us(helper_cpu_s),
                us(other_s),
            ]
        };
        let row = |row: &Row| {
            let mut cells =
                vec![Cell::text(row.name()), Cell::Number(row.throughput()), Cell::Number(1e6 * row.response_s())];
            cells.extend((0..row.graph.stations.len()).map(|at| Cell::Number(100.0 * row.utilization(at))));
            cells.push(self.items.map_or(Cell::Empty, |_| Cell::Number(row.predicted.elapsed.0)));
            cells
        };
        let counted = |row: &Row| row.workers.map(|workers| (f64::from(workers), row.throughput()));
        let points: Vec<(f64, f64)> = self.rows.iter().filter_map(counted).collect();
        let mut columns =
            vec![Column::new("workers", ""), Column::higher("throughput", "per s"), Column::lower("response", "us")];
        columns.extend(self.rows[0].graph.stations.iter().map(|(name, _)| Column::new(name, "%")));
        columns.push(Column::lower("elapsed", "s"));
        let lines = || Picture::Lines {
            across: "workers".to_owned(),
            up: "items per s".to_owned(),
            series: vec![Series { name: "predicted".to_owned(), style: SeriesStyle::Line, points: points.clone() }],
        };
        Report {
            kind: "work-prediction".to_owned(),
            title: format!("Prediction of {}", self.name),
            verdict: Verdict::Good,
            summary: format!(
                "{} steps, each with its own demands; those that run at once share the stations.",
                steps.len()
            ),
            conditions: vec![("work".to_owned(), self.name.clone())],
            sections: vec![
                Section {
                    id: "workers".to_owned(),
                    title: "Throughput by workers".to_owned(),
                    notes: vec![
                        "Columns of stations have their utilization; of a delay the mean number there, times 100."
                            .to_owned(),
                    ],
                    table: Table { columns, rows: self.rows.iter().map(row).collect() },
                    picture: (points.len() > 1).then(lines),
                },
                Section {
                    id: "steps".to_owned(),
                    title: "Demands of an item by step".to_owned(),
                    notes: Vec::new(),
                    table: Table {
                        columns: vec![
                            Column::new("step", ""),
                            Column::new("items", ""),
                            Column::lower("processors", "us"),
                            Column::lower("store", "us"),
                            Column::lower("other", "us"),
                        ],
                        rows: steps.iter().map(demands).collect(),
                    },
                    picture: None,
                },
            ],
        }
    }
}

impl RowStepWire {
    fn of(row: &Row, at: usize, has_items: bool) -> RowStepWire {
        let step = &row.graph.steps[at];
        let (begin, end) = row.span(at);
        RowStepWire {
            name: step.name.clone(),
            workers: step.workers,
            throughput_per_s: step.transactions / (end - begin),
            bottleneck: row.bottleneck(at).to_owned(),
            begin_s: has_items.then_some(begin),
            end_s: has_items.then_some(end),
        }
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    name: &'a str,
    stations: Vec<&'a str>,
    steps: Vec<StepWire<'a>>,
    not_measured: &'a [String],
    predictions: Vec<RowWire>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct StepWire<'a> {
    name: &'a str,
    demands: Demands,
}

#[derive(Serialize)]
struct RowWire {
    workers: u32,
    throughput_per_s: f64,
    response_s: f64,
    utilization: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_s: Option<f64>,
    steps: Vec<RowStepWire>,
}

#[derive(Serialize)]
struct RowStepWire {
    name: String,
    workers: u32,
    throughput_per_s: f64,
    bottleneck: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    begin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use quayline_project::job::JobFile;

    use super::*;

    #[test]
    fn a_mapper_has_the_partitions_that_its_properties_name() {
        let of = |partition: &str| {
            let xml = format!(
                "<job id=\"j\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">\
                 <batchlet ref=\"quayline.commandBatchlet\"/>{partition}</step></job>"
            );
            let (job, _) =
                JobFile::parse("j.xml", &xml).expect("a job").resolve(&[].into(), &|_| None).expect("values");
            let Element::Step(step) = &job.elements[0] else { panic!("a step") };
            workers(step)
        };
        let mapper = |properties: &str| {
            of(&format!(
                "<partition><mapper ref=\"quayline.fileMapper\"><properties>{properties}</properties></mapper></partition>"
            ))
        };
        let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert_eq!(of(""), (1, false));
        assert_eq!(of("<partition><plan partitions=\"5\" threads=\"3\"/></partition>"), (3, true));
        assert_eq!(mapper(&(property("partitions", "5") + &property("threads", "3"))), (3, true));
        assert_eq!(mapper(&property("partitions", "5")), (5, true));
        assert_eq!(mapper(&property("file", "x")), (2, true));
    }
}
