//! `--stats`: results and cost of a run, as text and as JSON (`quayline.stats/1` in docs/reference/json.md).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use quayline_convert::Report;
use serde::Serialize;

use crate::console::shown;
use crate::render::{count_of, grouped};

/// Share of the threads' time that phases need not explain, because it passes between two clock readings.
const IDENTITY_TOLERANCE: f64 = 0.02;

/// Formats the statistics as text. `source` is the input as the user named it.
pub(crate) fn stats_text(source: &str, report: &Report) -> String {
    let (tally, cost) = (&report.tally, &report.cost);
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}{value}");
    };
    line("source", source.to_owned());
    let sign = if report.adds_up() { "=" } else { "is not" };
    line(
        "records",
        format!(
            "{} read {sign} {} written + {} rejected + {} skipped",
            grouped(tally.records_in),
            grouped(tally.records_out),
            grouped(tally.records_rejected),
            grouped(tally.records_skipped)
        ),
    );
    if report.documents != tally.records_out {
        line("documents", grouped(report.documents));
    }
    if let Some(first) = report.resumed_at {
        line(
            "resumed",
            format!(
                "at record {}; records and bytes out count from the start, the rest is of this run",
                grouped(first.0)
            ),
        );
    }
    if !report.guides.is_empty() {
        line("guides", report.guides.join(", "));
    }
    line("bytes", format!("{} in, {} out", grouped(report.source_bytes), grouped(report.output_bytes)));
    let threads = count_of(u64::from(cost.lanes), "thread");
    line("time", format!("{} s, {} s CPU, {threads}", seconds(cost.wall), seconds(cost.process.cpu)));
    line(
        "rate",
        format!(
            "{:.1} MB/s, {:.1} MB a CPU second, {:.3} µs CPU a record",
            megabytes_per_second(report.source_bytes, cost.wall),
            megabytes_per_second(report.source_bytes, cost.process.cpu),
            micros_each(cost.process.cpu, records_of_run(report)),
        ),
    );
    let phases: Vec<String> =
        cost.phases.iter().map(|line| format!("{} {}", seconds(line.times.wall), line.phase.name())).collect();
    let rest = format!("{:.3} unaccounted", cost.unaccounted.wall_ns as f64 / 1e9);
    let sum = phases.into_iter().chain([rest]).collect::<Vec<_>>().join(" + ");
    let holds = cost.identity_holds(IDENTITY_TOLERANCE);
    let sign = if holds { "=" } else { "is not" };
    line("phases", format!("{} s of {threads} {sign} {sum}", seconds(cost.lane_time.wall)));
    if !holds {
        let percent = 100.0 * cost.unaccounted_share();
        line("verdict", format!("untrustworthy: {percent:.1} % of the time is in no phase, expected at most 2 %"));
    }
    line("waits", cost.waits_text());
    line("cpu", cost.cpu_text());
    line(
        "overhead",
        format!(
            "{:.2} % of the time for measuring, {} readings of the clock",
            100.0 * cost.measuring_share(),
            grouped(cost.switches)
        ),
    );
    if let Some(bytes) = cost.process.resident_bytes_max {
        line("memory", format!("{:.1} MB at most", bytes as f64 / 1e6));
    }
    for (code, count) in &report.findings_by_code {
        line("found", format!("{code} in {}", count_of(*count, "place")));
    }
    text
}

/// Formats the statistics as one line of JSON.
pub(crate) fn stats_json(source: &str, report: &Report) -> String {
    serde_json::to_string(&StatsWire::of(source, report)).expect("statistics have string keys and plain values")
}

#[derive(Serialize)]
struct StatsWire<'a> {
    schema: &'static str,
    source: &'a str,
    output: Option<String>,
    rejects: Option<String>,
    records_in: u64,
    records_out: u64,
    records_rejected: u64,
    records_skipped: u64,
    adds_up: bool,
    documents: u64,
    resumed_at: Option<u64>,
    source_bytes: u64,
    output_bytes: u64,
    rejects_bytes: u64,
    threads: u32,
    wall_s: f64,
    cpu_s: f64,
    thread_s: f64,
    phases_s: BTreeMap<&'static str, f64>,
    unaccounted_s: f64,
    trustworthy: bool,
    waits: quayline_meter::WaitsWire,
    cpu: quayline_meter::CpuWire,
    measuring_s: f64,
    mb_per_s: f64,
    mb_per_cpu_s: f64,
    cpu_us_per_record: f64,
    peak_memory_bytes: Option<u64>,
    findings_by_code: BTreeMap<&'a str, u64>,
    guides: &'a [String],
}

impl<'a> StatsWire<'a> {
    fn of(source: &'a str, report: &'a Report) -> Self {
        let (tally, cost) = (&report.tally, &report.cost);
        StatsWire {
            schema: "quayline.stats/1",
            source,
            output: report.output.as_deref().map(shown),
            rejects: report.rejects.as_deref().map(shown),
            records_in: tally.records_in,
            records_out: tally.records_out,
            records_rejected: tally.records_rejected,
            records_skipped: tally.records_skipped,
            adds_up: report.adds_up(),
            documents: report.documents,
            resumed_at: report.resumed_at.map(|first| first.0),
            source_bytes: report.source_bytes,
            output_bytes: report.output_bytes,
            rejects_bytes: report.rejects_bytes,
            threads: cost.lanes,
            wall_s: cost.wall.as_secs_f64(),
            cpu_s: cost.process.cpu.as_secs_f64(),
            thread_s: cost.lane_time.wall.as_secs_f64(),
            phases_s: cost.phases.iter().map(|line| (line.phase.name(), line.times.wall.as_secs_f64())).collect(),
            unaccounted_s: cost.unaccounted.wall_ns as f64 / 1e9,
            trustworthy: cost.identity_holds(IDENTITY_TOLERANCE),
            waits: cost.waits_wire(),
            cpu: cost.cpu_wire(),
            measuring_s: cost.measuring.as_secs_f64(),
            mb_per_s: megabytes_per_second(report.source_bytes, cost.wall),
            mb_per_cpu_s: megabytes_per_second(report.source_bytes, cost.process.cpu),
            cpu_us_per_record: micros_each(cost.process.cpu, records_of_run(report)),
            peak_memory_bytes: cost.process.resident_bytes_max,
            findings_by_code: report.findings_by_code.iter().map(|(code, count)| (code.0, *count)).collect(),
            guides: &report.guides,
        }
    }
}

/// Records of this run: after a resume, those before it cost nothing now.
fn records_of_run(report: &Report) -> u64 {
    report.tally.records_in.saturating_sub(report.records_before)
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn megabytes_per_second(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 / 1e6 / time.as_secs_f64() }
}

fn micros_each(time: Duration, records: u64) -> f64 {
    if records == 0 { 0.0 } else { time.as_secs_f64() * 1e6 / records as f64 }
}
