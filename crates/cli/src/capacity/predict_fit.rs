//! `quayline predict item-count`, `scaling` and `cost`: fits of measured runs, and predictions for other settings.

use quayline_capacity::fit::{
    ChunkModel, Coefficient, CostModel, CostSample, LoadPoint, UslPrediction, Work, checkpoint_interval_daly, fit_usl,
};
use quayline_capacity::{Bytes, Estimate, ModelError, Seconds, Validity};
use quayline_core::Findings;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{BasisWire, CAP_FILE, answer, print_json, read, refused};
use crate::args::{PredictCostArgs, PredictItemCountArgs, PredictScalingArgs};
use crate::console::write_stdout;
use crate::exit::{Exit, Stop, argument};
use crate::quantity::{Duration, time_text};

fn stop(error: ModelError) -> Stop {
    refused(&error).into()
}

/// Formats a coefficient with half of its 95 % interval.
fn with_width(of: Coefficient, show: impl Fn(f64) -> String) -> String {
    if of.half_width.is_finite() {
        format!("{} ± {}", show(of.value), show(of.half_width))
    } else {
        format!("{} (too few runs for a confidence interval)", show(of.value))
    }
}

fn time(seconds: f64) -> String {
    time_text(Seconds(seconds))
}

/// Predicts the elapsed time of a batch step by its item count.
pub(super) fn item_count(args: &PredictItemCountArgs) -> Result<Exit, Stop> {
    let (_, file): (_, ItemCountFile) = read(&args.file)?;
    let runs: Vec<(u64, Seconds)> = file.run.iter().map(|run| (run.item_count, run.elapsed.0)).collect();
    let estimate = ChunkModel::fit(file.records, &runs).map_err(stop)?;
    let model = estimate.value;
    let mut weakest = estimate.validity.clone();
    let mut rows = Vec::new();
    for items in &args.item_count {
        let elapsed = model.elapsed(*items).map_err(stop)?;
        weakest = weakest.weaker(elapsed.validity.clone());
        let validity = elapsed.validity.to_string();
        rows.push(ElapsedWire { item_count: *items, elapsed_s: elapsed.value.0, validity });
    }
    let enough = model.item_count_for_overhead(args.overhead.0.0).map_err(stop)?;
    weakest = weakest.weaker(enough.validity.clone());
    let worst = runs.iter().filter_map(|(items, elapsed)| {
        let fitted = model.elapsed(*items).ok()?.value.0;
        Some((fitted / elapsed.0 - 1.0).abs()).filter(|error| error.is_finite())
    });
    let worst = worst.fold(0.0, f64::max);
    let interval = match args.between_failures {
        None => None,
        Some(between) => {
            let cost = Seconds(model.per_checkpoint.value.max(f64::MIN_POSITIVE));
            Some(checkpoint_interval_daly(cost, between.0).map_err(stop)?.value)
        }
    };
    let per_item = model.fixed.value / file.records.max(1) as f64;
    let interval_items = interval.filter(|_| per_item > 0.0).map(|interval| (interval.0 / per_item).round().max(1.0));
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and such an item count is one checkpoint")]
    let interval_validity = interval_items.and_then(|items| model.elapsed(items as u64).ok()).map(|of| of.validity);
    weakest = interval_validity.iter().fold(weakest, |weakest, of| weakest.weaker(of.clone()));
    let interval_validity = interval_validity.map(|of| of.to_string());
    let basis = basis_of(&estimate, &weakest);
    if args.json {
        print_json(&ItemCountWire {
            schema: "quayline.item-count/1",
            fixed_s: model.fixed.value,
            per_checkpoint_s: model.per_checkpoint.value,
            worst_error: worst,
            predictions: rows,
            item_count_for_overhead: enough.value,
            item_count_validity: enough.validity.to_string(),
            overhead: args.overhead.0.0,
            interval_s: interval.map(|interval| interval.0),
            interval_items,
            interval_validity,
            basis: &basis,
        })?;
        return Ok(Exit::Done);
    }
    let mut text = format!("Without checkpoints: {}\n", with_width(model.fixed, time));
    text.push_str(&format!("A checkpoint: {}\n", with_width(model.per_checkpoint, time)));
    text.push_str(&format!("Largest error over the runs: {:.1} %\n\n", worst * 100.0));
    if !rows.is_empty() {
        text.push_str(&format!("{:>12} {:>12}  validity\n", "item count", "elapsed"));
        for ElapsedWire { item_count, elapsed_s, validity } in &rows {
            text.push_str(&format!("{item_count:>12} {:>12}  {validity}\n", time(*elapsed_s)));
        }
        text.push('\n');
    }
    let percent = args.overhead.0.percent();
    text.push_str(&format!(
        "Checkpoints take at most {percent} % of the time from an item count of {} on ({})\n",
        enough.value, enough.validity
    ));
    if let (Some(interval), Some(items)) = (interval, interval_items) {
        text.push_str(&format!(
            "With those failures the least is lost with a checkpoint each {}: an item count of {items}{}\n",
            time_text(interval),
            interval_validity.map(|validity| format!(" ({validity})")).unwrap_or_default()
        ));
    }
    text.push_str(&basis.text());
    write_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the basis of an answer whose rows have at worst this validity.
fn basis_of<T>(estimate: &Estimate<T>, weakest: &Validity) -> BasisWire {
    BasisWire { validity: weakest.to_string(), ..BasisWire::of(estimate) }
}

/// Predicts throughput by workers, partitions or users.
pub(super) fn scaling(args: &PredictScalingArgs) -> Result<Exit, Stop> {
    if args.answer.keep.is_some() && args.workers.is_empty() {
        return Err(argument("--keep needs a prediction: name numbers of workers by --workers".to_owned()).into());
    }
    let (_, file): (_, ScalingFile) = read(&args.file)?;
    let points: Vec<LoadPoint> =
        file.run.iter().map(|run| LoadPoint { load: run.workers, throughput: run.throughput }).collect();
    let estimate = fit_usl(&points).map_err(stop)?;
    let fit = &estimate.value;
    let mut weakest = estimate.validity.clone();
    let mut rows = Vec::new();
    for workers in &args.workers {
        let predicted = fit.predict(f64::from(*workers)).map_err(stop)?;
        let UslPrediction { throughput, interval } = predicted.value;
        weakest = weakest.weaker(predicted.validity.clone());
        // Without a spare run the error is unknown.
        let known = interval.high.is_finite();
        let (least, most) = (known.then_some(interval.low), known.then_some(interval.high));
        let validity = predicted.validity.to_string();
        rows.push(ThroughputWire { workers: *workers, throughput: throughput.0, least, most, validity });
    }
    let basis = basis_of(&estimate, &weakest);
    let peak = fit.peak();
    let wire = ScalingWire {
        schema: "quayline.scaling/1",
        gamma: fit.gamma,
        alpha: fit.alpha,
        beta: fit.beta,
        r_squared: fit.r_squared,
        peak_workers: peak.as_ref().and_then(|peak| peak.as_ref().ok()).map(|peak| peak.value.load),
        peak_throughput: peak.as_ref().and_then(|peak| peak.as_ref().ok()).map(|peak| peak.value.throughput.0),
        peak_validity: peak.as_ref().map(|peak| match peak {
            Ok(peak) => peak.validity.to_string(),
            Err(error) => format!("not predicted: {error}"),
        }),
        limit: fit.limit().map(|rate| rate.0),
        predictions: rows,
        basis: &basis,
    };
    answer(&args.answer, &wire, || scaling_text(&wire))?;
    Ok(Exit::Done)
}

fn scaling_text(found: &ScalingWire<'_>) -> String {
    let mut text = format!(
        "One worker: {:.1} a second\nContention: {:.3} %\nCoherency: {:.5} %\nExplained: {:.2} %\n",
        found.gamma,
        found.alpha * 100.0,
        found.beta * 100.0,
        found.r_squared * 100.0
    );
    match (found.peak_workers.zip(found.peak_throughput), &found.peak_validity) {
        (Some((workers, throughput)), Some(validity)) => {
            text.push_str(&format!("Peak: {throughput:.1} a second with {workers:.0} workers ({validity})\n"));
        }
        (None, Some(why)) => text.push_str(&format!("Peak: {}\n", why.replacen(':', ";", 1))),
        _ => text.push_str("Peak: none; throughput rises towards its limit\n"),
    }
    if let Some(limit) = found.limit {
        text.push_str(&format!("Limit by contention alone: {limit:.1} a second (a bound, which no load reaches)\n"));
    }
    if !found.predictions.is_empty() {
        text.push_str(&format!("\n{:>8} {:>12}  {:<24}  validity\n", "workers", "a second", "95 % interval"));
        for ThroughputWire { workers, throughput, least, most, validity } in &found.predictions {
            let interval = match (least, most) {
                (Some(least), Some(most)) => format!("{least:.1} to {most:.1}"),
                _ => "too few runs".to_owned(),
            };
            text.push_str(&format!("{workers:>8} {throughput:>12.1}  {interval:<24}  {validity}\n"));
        }
    }
    text.push('\n');
    text.push_str(&found.basis.text());
    text
}

/// Predicts CPU time by size, fields and connections, and the savings of omitting some.
pub(super) fn cost(args: &PredictCostArgs) -> Result<Exit, Stop> {
    let (mut toml, file): (_, CostFile) = read(&args.file)?;
    for spanned in &file.what_if {
        if spanned.get_ref().bytes.is_none() && spanned.get_ref().fields.is_none() {
            let message = format!("what-if {}: `bytes` or `fields` is missing", spanned.get_ref().name);
            toml.find(CAP_FILE, message, spanned, "say what the transaction would have");
        }
    }
    if !toml.findings.is_empty() {
        return Err(Findings(toml.findings).into());
    }
    let work = |bytes: Option<f64>, fields: Option<f64>, connections: Option<f64>| Work {
        bytes: Bytes(bytes.unwrap_or(0.0)),
        fields: fields.unwrap_or(0.0),
        connections: connections.unwrap_or(0.0),
    };
    let samples: Vec<CostSample> = file
        .run
        .iter()
        .map(|run| CostSample { work: work(run.bytes, run.fields, run.connections), cost: run.cost.0 })
        .collect();
    let estimate = CostModel::fit(&samples).map_err(stop)?;
    let model = &estimate.value;
    let mut weakest = estimate.validity.clone();
    let mut rows: Vec<WhatIfWire> = Vec::new();
    for asked in &file.what_if {
        let asked = asked.get_ref();
        let predicted = model.predict(&work(asked.bytes, asked.fields, asked.connections)).map_err(stop)?;
        weakest = weakest.weaker(predicted.validity.clone());
        let cost_s = predicted.value.0;
        let change = rows.first().map(|first| cost_s / first.cost_s - 1.0).filter(|change| change.is_finite());
        rows.push(WhatIfWire { name: asked.name.clone(), cost_s, change, validity: predicted.validity.to_string() });
    }
    let basis = basis_of(&estimate, &weakest);
    if args.json {
        print_json(&CostWire {
            schema: "quayline.cost/1",
            fixed_s: model.fixed.value,
            per_byte_s: model.per_byte.value,
            per_field_s: model.per_field.value,
            per_connection_s: model.per_connection.value,
            r_squared: model.r_squared,
            condition: model.condition,
            worst_error: model.worst_error,
            what_ifs: rows,
            basis: &basis,
        })?;
        return Ok(Exit::Done);
    }
    write_stdout(cost_text(&estimate, &rows, &basis).as_bytes())?;
    Ok(Exit::Done)
}

fn cost_text(estimate: &Estimate<CostModel>, rows: &[WhatIfWire], basis: &BasisWire) -> String {
    let model = &estimate.value;
    let kilobyte = Coefficient { value: model.per_byte.value * 1000.0, half_width: model.per_byte.half_width * 1000.0 };
    let mut text = format!("A transaction: {}\n", with_width(model.fixed, time));
    for (name, part) in
        [("1,000 bytes", kilobyte), ("A field", model.per_field), ("A connection", model.per_connection)]
    {
        if part.value > 0.0 {
            text.push_str(&format!("{name}: {}\n", with_width(part, time)));
        }
    }
    text.push_str(&format!(
        "Explained: {:.2} %; largest error over the runs: {:.1} %\n",
        model.r_squared * 100.0,
        model.worst_error * 100.0
    ));
    if model.condition > 30.0 {
        text.push_str(&format!(
            "The parts are hard to distinguish (condition number {:.0}): vary bytes and fields apart\n",
            model.condition
        ));
    }
    if !rows.is_empty() {
        text.push_str(&format!("\n{:<24} {:>10} {:>9}\n", "what if", "CPU time", "change"));
        for WhatIfWire { name, cost_s, change, validity } in rows {
            let change = change.map_or_else(|| "-".to_owned(), |change| format!("{:+.1} %", change * 100.0));
            text.push_str(&format!("{name:<24} {:>10} {change:>9}  {validity}\n", time(*cost_s)));
        }
    }
    text.push('\n');
    text.push_str(&basis.text());
    text
}

/// Runs of one step with different item counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ItemCountFile {
    /// Records of the step.
    records: u64,
    run: Vec<ItemCountRun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ItemCountRun {
    item_count: u64,
    elapsed: Duration,
}

/// Runs with different numbers of workers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingFile {
    run: Vec<ScalingRun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingRun {
    workers: f64,
    throughput: f64,
}

/// Runs with different sizes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CostFile {
    run: Vec<CostRun>,
    #[serde(default)]
    what_if: Vec<Spanned<WhatIf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostRun {
    bytes: Option<f64>,
    fields: Option<f64>,
    connections: Option<f64>,
    cost: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIf {
    name: String,
    bytes: Option<f64>,
    fields: Option<f64>,
    connections: Option<f64>,
}

#[derive(Serialize)]
struct ItemCountWire<'a> {
    schema: &'static str,
    fixed_s: f64,
    per_checkpoint_s: f64,
    worst_error: f64,
    predictions: Vec<ElapsedWire>,
    item_count_for_overhead: u64,
    item_count_validity: String,
    overhead: f64,
    interval_s: Option<f64>,
    interval_items: Option<f64>,
    interval_validity: Option<String>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct ElapsedWire {
    item_count: u64,
    elapsed_s: f64,
    validity: String,
}

#[derive(Serialize)]
struct ScalingWire<'a> {
    schema: &'static str,
    gamma: f64,
    alpha: f64,
    beta: f64,
    r_squared: f64,
    peak_workers: Option<f64>,
    peak_throughput: Option<f64>,
    peak_validity: Option<String>,
    limit: Option<f64>,
    predictions: Vec<ThroughputWire>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct ThroughputWire {
    workers: u32,
    throughput: f64,
    least: Option<f64>,
    most: Option<f64>,
    validity: String,
}

#[derive(Serialize)]
struct CostWire<'a> {
    schema: &'static str,
    fixed_s: f64,
    per_byte_s: f64,
    per_field_s: f64,
    per_connection_s: f64,
    r_squared: f64,
    condition: f64,
    worst_error: f64,
    what_ifs: Vec<WhatIfWire>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct WhatIfWire {
    name: String,
    cost_s: f64,
    change: Option<f64>,
    validity: String,
}
