//! `--stats`: what a run did and what it cost, as text and as JSON (`quayline.stats/1` in docs/json.md).

use std::fmt::Write as _;
use std::time::Duration;

use quayline_convert::Report;
use serde_json::{Value, json};

use crate::render::grouped;

/// The statistics as people read them. `source` is the input as the user named it.
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
        line("resumed", format!("at record {}", grouped(first)));
    }
    line("bytes", format!("{} in, {} out", grouped(report.source_bytes), grouped(report.output_bytes)));
    line("time", format!("{} s, {} CPU s on {}", seconds(cost.wall), seconds(cost.cpu), lanes(cost.lanes)));
    line(
        "rate",
        format!(
            "{:.1} MB/s, {:.1} MB per CPU second, {:.3} CPU microseconds a record",
            megabytes_per_second(report.source_bytes, cost.wall),
            megabytes_per_second(report.source_bytes, cost.cpu),
            micros_each(cost.cpu, records_of_run(report)),
        ),
    );
    line(
        "identity",
        format!(
            "{} s of lanes = {} read + {} convert + {} write + {} sync + {} idle + {} other",
            seconds(lane_time(report)),
            seconds(cost.read),
            seconds(cost.convert),
            seconds(cost.write),
            seconds(cost.sync),
            seconds(cost.idle),
            seconds(cost.other)
        ),
    );
    line("memory", format!("{:.1} MB at most", cost.peak_memory_bytes as f64 / 1e6));
    for (code, count) in &report.findings_by_code {
        line("found", format!("{code} {} times", grouped(*count)));
    }
    text
}

/// The statistics as programs read them.
pub(crate) fn stats_json(source: &str, report: &Report) -> Value {
    let (tally, cost) = (&report.tally, &report.cost);
    json!({
        "schema": "quayline.stats/1",
        "source": source,
        "output": report.output.as_ref().map(|path| path.display().to_string()),
        "rejects": report.rejects.as_ref().map(|path| path.display().to_string()),
        "records_in": tally.records_in,
        "records_out": tally.records_out,
        "records_rejected": tally.records_rejected,
        "records_skipped": tally.records_skipped,
        "documents": report.documents,
        "resumed_at": report.resumed_at,
        "adds_up": report.adds_up(),
        "source_bytes": report.source_bytes,
        "output_bytes": report.output_bytes,
        "rejects_bytes": report.rejects_bytes,
        "lanes": cost.lanes,
        "wall_s": cost.wall.as_secs_f64(),
        "cpu_s": cost.cpu.as_secs_f64(),
        "convert_cpu_s": cost.convert_cpu.as_secs_f64(),
        "phases_s": {
            "read": cost.read.as_secs_f64(),
            "convert": cost.convert.as_secs_f64(),
            "write": cost.write.as_secs_f64(),
            "sync": cost.sync.as_secs_f64(),
            "idle": cost.idle.as_secs_f64(),
            "other": cost.other.as_secs_f64(),
        },
        "mb_per_s": megabytes_per_second(report.source_bytes, cost.wall),
        "mb_per_cpu_s": megabytes_per_second(report.source_bytes, cost.cpu),
        "cpu_us_per_record": micros_each(cost.cpu, records_of_run(report)),
        "peak_memory_bytes": cost.peak_memory_bytes,
        "findings_by_code": report.findings_by_code.iter().map(|(code, count)| (code.0.to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
    })
}

/// Records of this run: after a resume, those before it cost nothing now.
fn records_of_run(report: &Report) -> u64 {
    report.tally.records_in - report.resumed_at.map_or(0, |first| first.saturating_sub(1)).min(report.tally.records_in)
}

fn lane_time(report: &Report) -> Duration {
    report.cost.wall * u32::try_from(report.cost.lanes).unwrap_or(u32::MAX)
}

fn lanes(n: usize) -> String {
    crate::render::count_of(n, "thread")
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
