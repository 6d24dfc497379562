//! `quayline selftest`, `check-report`, `predict`, `size`, `advise` and `calibrate`: the capacity models on the command line.

mod advise;
mod calibrate;
mod check_report;
mod component;
mod cost;
mod headroom;
mod mix;
mod predict;
mod predict_api;
mod predict_audit;
mod predict_fit;
mod predict_job;
mod predict_lanes;
mod predict_report;
mod predict_work;
mod profile;
mod questionnaire;
mod report;
mod selftest;
mod size;

pub(crate) use advise::advise;
pub(crate) use calibrate::calibrate;
pub(crate) use check_report::check_report;
pub(crate) use component::report;
pub(crate) use cost::{profile, write_profile};
pub(crate) use mix::measure_mix;
pub(crate) use predict::predict;
pub(crate) use report::{check_baseline, finish_measured};
pub(crate) use selftest::selftest;
pub(crate) use size::size;

use std::fs;
use std::path::Path;

use quayline_capacity::{Estimate, ModelError, Origin};
use quayline_core::{Code, Fault, Finding, system_error_text};
use quayline_project::UserFile;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::KeepArgs;
use crate::console::{shown, write_stdout};
use crate::exit::{CLI_INPUT, Stop};

/// A file of figures, a model or a sizing question is not as it should be.
pub(crate) const CAP_FILE: Code = Code("CAP-001");
/// A model has no answer for these numbers.
pub(crate) const CAP_MODEL: Code = Code("CAP-002");
/// Figures of a report contradict each other.
pub(crate) const CAP_CONTRADICTION: Code = Code("CAP-003");
/// A column of a report is calculated from another one.
pub(crate) const CAP_CALCULATED: Code = Code("CAP-004");
/// A figure of the self-test is outside its tolerance.
pub(crate) const CAP_SELFTEST: Code = Code("CAP-005");
/// No machine of the catalog is sufficient.
pub(crate) const CAP_NO_MACHINE: Code = Code("CAP-006");

/// A file is not a profile of this version.
pub(crate) const CAP_PROFILE: Code = Code("CAP-007");
/// Two runs cannot be compared.
pub(crate) const CAP_UNLIKE: Code = Code("CAP-008");
/// A figure is worse than before.
pub(crate) const CAP_REGRESSION: Code = Code("CAP-009");
/// An objective is missed.
pub(crate) const CAP_OBJECTIVE: Code = Code("CAP-010");
/// A measurement cannot be trusted.
pub(crate) const CAP_UNTRUSTWORTHY: Code = Code("CAP-011");
/// A machine cannot be rated.
pub(crate) const CAP_CALIBRATE: Code = Code("CAP-012");

/// A file is not a prediction, or not a log of audits.
pub(crate) const CAP_PREDICTION: Code = Code("CAP-013");
/// A prediction is further from the measurement than its tolerance, or drifts.
pub(crate) const CAP_TOLERANCE: Code = Code("CAP-014");

/// A file is not a profile of costs, or has no class to model.
pub(crate) const CAP_COSTS: Code = Code("CAP-015");

/// The server or the store has no intervals.
pub(crate) const CAP_INTERVALS: Code = Code("CAP-016");

/// The page that lists every key.
const PAGE: &str = "docs/reference/capacity.md";

/// Most bytes of a model or a file of figures.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a text file of bounded size.
fn text_of(path: &Path, bytes_max: u64) -> Result<String, Stop> {
    let refused = |reason: String| Finding::error(CLI_INPUT, Fault::Caller, format!("{} {reason}", shown(path)));
    let unreadable = |error: std::io::Error| refused(format!("cannot be read: {}", system_error_text(&error)));
    let bytes = fs::metadata(path).map_err(unreadable)?.len();
    if bytes > bytes_max {
        let reason = format!("has {bytes} bytes, expected at most {bytes_max}");
        return Err(refused(reason).hint("split the file, or check that it is the one you mean").into());
    }
    let text = fs::read(path).map_err(unreadable)?;
    Ok(String::from_utf8(text).map_err(|_| refused("is not UTF-8".to_owned()).hint("save it as UTF-8"))?)
}

/// Reads a TOML file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<(UserFile, T), Stop> {
    let text = text_of(path, FILE_BYTES_MAX)?;
    if text.trim_start().starts_with('{') {
        let hint =
            "`quayline profile model FILE --class NAME` makes a model of a stored profile; write other figures as TOML";
        let finding = Finding::error(CAP_FILE, Fault::Caller, format!("{} is JSON, expected TOML", shown(path)));
        return Err(finding.hint(hint).into());
    }
    let file = UserFile::new(&shown(path), &text);
    let value = file.parse(CAP_FILE, PAGE)?;
    Ok((file, value))
}

/// Converts an error of a model to a finding.
fn refused(error: &ModelError) -> Finding {
    Finding::error(CAP_MODEL, Fault::Config, error.to_string()).hint(error.remedy())
}

/// Returns the estimate with the weakest validity, which is the validity of a table of estimates.
fn weakest<T>(rows: &[Estimate<T>]) -> Option<&Estimate<T>> {
    let (first, others) = rows.split_first()?;
    Some(others.iter().fold(first, |weakest, row| weakest.weaker(row)))
}

fn print_json(answer: &impl Serialize) -> Result<(), Stop> {
    let mut text = serde_json::to_string_pretty(answer).expect("an answer has string keys and plain values");
    text.push('\n');
    write_stdout(text.as_bytes())?;
    Ok(())
}

/// Keeps a prediction, and prints it as JSON or as text.
fn answer(args: &KeepArgs, answer: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Stop> {
    if let Some(path) = &args.keep {
        let mut json = serde_json::to_string_pretty(answer).expect("an answer has string keys and plain values");
        json.push('\n');
        report::write_whole(path, &json)?;
    }
    if args.json { print_json(answer) } else { Ok(write_stdout(text().as_bytes())?) }
}

/// Basis of a result.
#[derive(Debug, Serialize)]
struct BasisWire {
    method: &'static str,
    source: &'static str,
    /// Passes of the Linearizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<usize>,
    validity: String,
    origin: &'static str,
    assumptions: Vec<&'static str>,
}

impl BasisWire {
    fn of<T>(estimate: &Estimate<T>) -> BasisWire {
        BasisWire {
            method: estimate.method.name(),
            source: estimate.method.source(),
            passes: estimate.passes,
            validity: estimate.validity.to_string(),
            origin: estimate.origin.name(),
            assumptions: estimate.method.assumptions().iter().map(|assumption| assumption.text()).collect(),
        }
    }

    /// Formats the number of passes as an addition to the method.
    fn passes_text(&self) -> String {
        self.passes.map_or_else(String::new, |passes| format!(", {passes} passes"))
    }

    /// Formats the basis as lines of text.
    fn text(&self) -> String {
        let mut text = format!("Method: {}{} ({})\n", self.method, self.passes_text(), self.source);
        text.push_str(&format!("Validity: {}; inputs: {}\n", self.validity, self.origin));
        for assumption in &self.assumptions {
            text.push_str(&format!("Assumes: {assumption}\n"));
        }
        text
    }
}

/// Origin of a number in a user's file.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OriginWire {
    Measured,
    Derived,
    #[default]
    Assumed,
}

impl From<OriginWire> for Origin {
    fn from(wire: OriginWire) -> Origin {
        match wire {
            OriginWire::Measured => Origin::Measured,
            OriginWire::Derived => Origin::Derived,
            OriginWire::Assumed => Origin::Assumed,
        }
    }
}
