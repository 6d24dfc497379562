//! APIs over HTTP: CPU time of a request, compared with static bytes over the same HTTP stack.
//!
//! `quayline measure gateway` has all figures of the gateway and its other bars; these two are those of its saturated runs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use super::{Area, Bar, Bench, Measured, Side};

pub(super) const BARS: &[Bar] = &[
    ratio("gateway: 100 cars by static bytes", 2.2, |bench| measured(bench, 0)),
    ratio("gateway: 10 cars by static bytes", 2.5, |bench| measured(bench, 1)),
];

const fn ratio(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Gateway, name, bar, side: Side::AtMost, unit: "CPU time", measure }
}

/// Rows of the single run that both bars share.
static ROWS: OnceLock<Result<Vec<Measured>, String>> = OnceLock::new();

fn measured(bench: &Bench, row: usize) -> Result<Measured, String> {
    if Command::new("cobc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Ok(Measured::skipped("GnuCOBOL (cobc) is not installed"));
    }
    let rows = ROWS.get_or_init(|| run(bench));
    rows.clone()?.into_iter().nth(row).ok_or_else(|| "a row of the report is missing".to_owned())
}

fn run(bench: &Bench) -> Result<Vec<Measured>, String> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership");
    let report = bench.scratch.path("gateway");
    let mut command = Command::new(&bench.quayline);
    command.args(["measure", "gateway"]).arg(project).args(["--saturated", "--report"]).arg(&report);
    // The command exits with 1 if it misses a bar; it writes the report in that case too.
    let output = command.output().map_err(|error| format!("{}: {error}", bench.quayline.display()))?;
    let text = std::fs::read_to_string(report.with_extension("json")).map_err(|_| {
        let said = String::from_utf8(output.stderr).unwrap_or_default();
        format!("no report: {}", said.lines().last().unwrap_or_default())
    })?;
    let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let sections = report["sections"].as_array().ok_or("the report has no sections")?;
    let section =
        sections.iter().find(|section| section["id"] == "saturated").ok_or("the report has no saturated runs")?;
    let columns = section["columns"].as_array().ok_or("the section has no columns")?;
    let place = |name: &str| {
        columns
            .iter()
            .position(|column| column["name"] == name)
            .ok_or_else(|| format!("the report has no column {name}"))
    };
    let (ratio, gateway, fixed) = (place("ratio")?, place("gateway")?, place("static bytes")?);
    let rows = section["rows"].as_array().ok_or("the section has no rows")?;
    rows.iter()
        .map(|row| {
            let cell = |at: usize| row[at].as_f64().ok_or_else(|| "a cell of the report is not a number".to_owned());
            let detail = format!("{:.1} us by {:.1} us", cell(gateway)?, cell(fixed)?);
            Ok(Measured { value: cell(ratio)?, detail })
        })
        .collect()
}
