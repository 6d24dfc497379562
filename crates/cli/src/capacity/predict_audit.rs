//! `quayline predict audit`: saved predictions, scored against measurements.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use quayline_capacity::audit::{Audit, LAW_MAX, LoadFigures, Score, audit, audit_by, drifts, interpolated};
use quayline_capacity::{PerSecond, Seconds};
use quayline_core::{Fault, Finding, system_error_text};
use quayline_workload::{audit_report, measured_loads};
use serde::{Deserialize, Serialize};

use super::report::{basis_section, finish};
use super::{
    BasisWire, CAP_CONTRADICTION, CAP_PREDICTION, CAP_TOLERANCE, component, predict_work, print_json, read, refused,
    text_of,
};
use crate::args::PredictAuditArgs;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop, argument};
use crate::quantity::{Duration, time_text};

/// Most bytes of a prediction or a log.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Answers with throughput by users or workers.
const SCHEMAS: [&str; 3] = ["quayline.prediction/1", "quayline.work-prediction/1", "quayline.scaling/1"];

/// Scores a prediction.
pub(super) fn predict_audit(args: &PredictAuditArgs, console: &Console) -> Result<Exit, Stop> {
    let prediction = prediction(&args.prediction)?;
    let think = Seconds(prediction.think_s);
    let predicted: Vec<LoadFigures> = prediction.predictions.iter().map(|row| row.figures(think)).collect();
    let estimate = match (&args.measured, &prediction.name) {
        (Some(path), _) => {
            let file = read::<File>(path)?.1;
            let came: Vec<LoadFigures> = file.measured.iter().map(|load| load.figures(think)).collect();
            audit(&predicted, &came, think)
        }
        (None, Some(name)) => {
            let intervals = component::intervals(&args.from)?;
            let names = prediction.members(name);
            let came = measured_loads(&intervals, &names, think);
            if came.is_empty() {
                predict_work::demands(&intervals, names.first().copied().unwrap_or(name))?;
            }
            audit_by(|load| interpolated(&predicted, load.users), &came, think)
        }
        (None, None) => {
            return Err(argument("the prediction is of a model: name a file of measured loads".to_owned()).into());
        }
    };
    let estimate = estimate.map_err(|error| {
        refused(&error).hint("measure at the numbers of users that were predicted, or predict those that were measured")
    })?;
    let history = args.log.as_deref().map(history).transpose()?.unwrap_or_default();
    let found = &estimate.value;
    let drift = drifts(&history, found.response.0);
    let basis = BasisWire::of(&estimate);
    if args.json {
        print_json(&AuditWire::of(found, drift, &basis))?;
    } else {
        write_stdout(text(found, drift, history.len()).as_bytes())?;
    }
    if let Some(path) = &args.log {
        append(path, found)?;
    }
    let mut findings = Vec::new();
    for score in found.scores.iter().filter(|score| score.law.abs() > LAW_MAX) {
        let (users, off) = (score.users, score.law * 100.0);
        let message = format!(
            "measured at {users} users: throughput times response and think time is {off:+.0} % off the users (Little's law)"
        );
        let finding = Finding::warning(CAP_CONTRADICTION, Fault::Sender, message);
        findings.push(finding.hint("take users, throughput and response time from one interval of one run"));
    }
    let (x, r) = (args.throughput_tolerance.0.0, args.response_tolerance.0.0);
    let out = found.worst.0.0 > x || found.worst.1.0 > r;
    if out {
        let message = format!(
            "the prediction is up to {:.1} % off in throughput and {:.1} % in response time, expected at most {:.1} % and {:.1} %",
            found.worst.0.percent(),
            found.worst.1.percent(),
            x * 100.0,
            r * 100.0
        );
        findings.push(
            Finding::error(CAP_TOLERANCE, Fault::Sender, message).hint(
                "measure the demands again with one user on a quiet machine, or find what the model does not have",
            ),
        );
    }
    if drift == Some(true) {
        let message = format!(
            "the error of the response time drifts: {:.1} % now, more than twice its median before",
            found.response.percent()
        );
        findings.push(
            Finding::warning(CAP_TOLERANCE, Fault::Sender, message)
                .hint("a demand changed since it was measured; measure it again"),
        );
    }
    console.findings(&findings);
    let mut report = audit_report(found, out, time_text(think));
    report.sections.push(basis_section(&basis));
    finish(report, &args.report, console)
}

fn prediction(path: &Path) -> Result<Prediction, Stop> {
    let text = text_of(path, FILE_BYTES_MAX)?;
    let wrong = |reason: String| {
        Finding::error(CAP_PREDICTION, Fault::Caller, format!("{} is not a prediction: {reason}", shown(path)))
            .hint("keep one with --keep FILE of `quayline predict`, `predict work` or `predict scaling`")
    };
    let prediction: Prediction = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if !SCHEMAS.contains(&prediction.schema.as_str()) {
        return Err(wrong(format!("its schema is `{}`", prediction.schema)).into());
    }
    Ok(prediction)
}

/// Errors of the response time of earlier audits. A log that does not exist yet has none.
fn history(path: &Path) -> Result<Vec<f64>, Stop> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = text_of(path, FILE_BYTES_MAX)?;
    let mut errors = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let entry: LogWire = serde_json::from_str(line).map_err(|error| {
            let message = format!("{}:{number} is not an entry of an audit log: {error}", shown(path));
            Finding::error(CAP_PREDICTION, Fault::Caller, message).hint("name a file that only `predict audit` writes")
        })?;
        errors.push(entry.response_error);
    }
    Ok(errors)
}

fn append(path: &Path, found: &Audit) -> Result<(), Stop> {
    let entry = LogWire {
        schema: "quayline.audit/1".to_owned(),
        throughput_error: found.throughput.0,
        response_error: found.response.0,
    };
    let mut line = serde_json::to_string(&entry).expect("an entry has string keys and plain values");
    line.push('\n');
    let written =
        OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(|error| {
        let reason = system_error_text(&error);
        Finding::error(CLI_OUTPUT, Fault::Environment, format!("{} cannot be written: {reason}", shown(path))).into()
    })
}

fn text(found: &Audit, drift: Option<bool>, before: usize) -> String {
    let mut text = format!("{:>8} {:>12} {:>12} {:>12}\n", "users", "tx/s", "response", "p95");
    for Score { users, throughput, response, percentile, .. } in &found.scores {
        // Loads of intervals have a mean number of users, with a fraction.
        let users = (users * 10.0).round() / 10.0;
        let percentile = percentile.map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        text.push_str(&format!(
            "{users:>8} {:>+10.1} % {:>+10.1} % {percentile:>12}\n",
            throughput * 100.0,
            response * 100.0
        ));
    }
    text.push_str(&format!(
        "\nMean absolute error: throughput {:.1} %, response {:.1} %\n",
        found.throughput.percent(),
        found.response.percent()
    ));
    if !found.unmatched.is_empty() {
        let users: Vec<String> =
            found.unmatched.iter().map(|users| format!("{}", (users * 10.0).round() / 10.0)).collect();
        text.push_str(&format!("Not predicted: {} users\n", users.join(", ")));
    }
    match drift {
        Some(true) => text.push_str("Drift: the error is more than twice its median before\n"),
        Some(false) => text.push_str(&format!("No drift in {before} audits\n")),
        None => {}
    }
    text
}

/// A kept prediction, as far as an audit needs it.
#[derive(Deserialize)]
struct Prediction {
    schema: String,
    /// Member of intervals, or file of an API; absent for a model.
    name: Option<String>,
    /// Demands of the member, or of each operation of an API with its name.
    #[serde(default)]
    demands: serde_json::Value,
    #[serde(default)]
    think_s: f64,
    predictions: Vec<RowWire>,
}

impl Prediction {
    /// Returns the members of intervals whose transactions were predicted together.
    fn members<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        match self.demands.as_array() {
            Some(operations) => operations.iter().filter_map(|operation| operation["name"].as_str()).collect(),
            None => vec![name],
        }
    }
}

#[derive(Deserialize)]
struct RowWire {
    #[serde(alias = "workers")]
    users: u32,
    #[serde(alias = "throughput_per_s")]
    throughput: f64,
    response_s: Option<f64>,
    p95_s: Option<f64>,
}

impl RowWire {
    /// Returns the figures of a load. A fit of throughput has no response time; it is derived by Little's law.
    fn figures(&self, think: Seconds) -> LoadFigures {
        LoadFigures {
            users: f64::from(self.users),
            throughput: PerSecond(self.throughput),
            response: self.response_s.map_or_else(|| by_law(self.users, self.throughput, think), Seconds),
            percentile: self.p95_s.map(Seconds),
        }
    }
}

/// Returns the response time of users by Little's law.
fn by_law(users: u32, throughput: f64, think: Seconds) -> Seconds {
    Seconds((f64::from(users) / throughput - think.0).max(0.0))
}

/// A file of measured loads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    measured: Vec<MeasuredWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredWire {
    #[serde(alias = "workers")]
    users: u32,
    throughput: f64,
    response: Option<Duration>,
    p95: Option<Duration>,
}

impl MeasuredWire {
    /// Returns the figures of a load. A missing response time is derived from users, throughput and think time.
    fn figures(&self, think: Seconds) -> LoadFigures {
        let by_law = || by_law(self.users, self.throughput, think);
        LoadFigures {
            users: f64::from(self.users),
            throughput: PerSecond(self.throughput),
            response: self.response.map_or_else(by_law, |response| response.0),
            percentile: self.p95.map(|time| time.0),
        }
    }
}

#[derive(Deserialize, Serialize)]
struct LogWire {
    schema: String,
    throughput_error: f64,
    response_error: f64,
}

#[derive(Serialize)]
struct AuditWire<'a> {
    schema: &'static str,
    loads: Vec<ScoreWire>,
    throughput_error: f64,
    response_error: f64,
    not_predicted: Vec<f64>,
    drift: Option<bool>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct ScoreWire {
    users: f64,
    throughput_error: f64,
    response_error: f64,
    p95_error: Option<f64>,
    law_error: f64,
}

impl<'a> AuditWire<'a> {
    fn of(found: &Audit, drift: Option<bool>, basis: &'a BasisWire) -> AuditWire<'a> {
        let score = |score: &Score| ScoreWire {
            users: score.users,
            throughput_error: score.throughput,
            response_error: score.response,
            p95_error: score.percentile,
            law_error: score.law,
        };
        AuditWire {
            schema: "quayline.prediction-audit/1",
            loads: found.scores.iter().map(score).collect(),
            throughput_error: found.throughput.0,
            response_error: found.response.0,
            not_predicted: found.unmatched.clone(),
            drift,
            basis,
        }
    }
}
