//! Reports of the capacity commands: the files, the baseline, and the exit that follows.

use std::fs;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, system_error_text};
use quayline_report::{Cell, Column, Comparison, Report, Section, Table, Verdict, compare};
use quayline_workload::Accounting;

use super::{BasisWire, CAP_OBJECTIVE, CAP_REGRESSION, CAP_UNLIKE, CAP_UNTRUSTWORTHY, text_of};
use crate::args::{MeasuredArgs, ReportArgs};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop};

/// Most bytes of a baseline.
const BASELINE_BYTES_MAX: u64 = 64 << 20;
/// Figures that a finding names.
const NAMED_MAX: usize = 5;

/// Refuses a baseline that cannot be read, before a run that takes time.
pub(crate) fn check_baseline(args: &ReportArgs) -> Result<(), Stop> {
    args.baseline.as_deref().map_or(Ok(()), |path| baseline(path).map(|_| ()))
}

/// Compares with the baseline, writes the files and reports the verdict. Without `--report` and `--baseline` only the verdict counts.
pub(crate) fn finish(mut report: Report, args: &ReportArgs, console: &Console) -> Result<Exit, Stop> {
    conclude(&mut report, args, console)
}

/// Does the same, and leaves the report with its verdict and comparison. If the baseline has other conditions, it also writes the files, but does not
/// replace the baseline.
fn conclude(report: &mut Report, args: &ReportArgs, console: &Console) -> Result<Exit, Stop> {
    let mut findings = Vec::new();
    let compared = args.baseline.as_deref().map(|path| compared(path, report, args)).transpose();
    let compared = match compared {
        Ok(found) => found,
        Err(stop) => {
            if let Some(name) = args.report.as_ref().filter(|name| !is_baseline(name, args)) {
                write(report, name)?;
            }
            return Err(stop);
        }
    };
    if let Some((path, found)) = args.baseline.as_ref().zip(compared) {
        if found.worse > 0 {
            let rows = found.section.table.rows.iter();
            let mut worse: Vec<&Vec<Cell>> = rows.filter(|row| row.last() == Some(&Cell::text("worse"))).collect();
            worse.sort_by(|a, b| change(b).total_cmp(&change(a)));
            let named: Vec<String> = worse.into_iter().take(NAMED_MAX).filter_map(|row| named(row)).collect();
            let more = found.worse.saturating_sub(named.len());
            let more = if more > 0 { format!("; {more} more") } else { String::new() };
            let tolerance = args.tolerance.0.percent();
            let message = format!(
                "{} of the figures are worse than in {} by more than {tolerance} %: {}{more}",
                found.worse,
                shown(path),
                named.join("; ")
            );
            findings.push(
                Finding::error(CAP_REGRESSION, Fault::Sender, message)
                    .hint("find the change between both runs, or repeat the run to see its noise"),
            );
            if report.verdict == Verdict::Good {
                report.verdict = Verdict::Regression;
                report.summary = format!("{} figures are worse than in the baseline.", found.worse);
            }
        }
        let at = report.sections.len().min(1);
        report.sections.insert(at, found.section);
    }
    match report.verdict {
        Verdict::ObjectiveMissed => findings.push(
            Finding::error(CAP_OBJECTIVE, Fault::Sender, report.summary.clone()).hint(match report.kind.as_str() {
                "gateway" | "flow" => {
                    "repeat the run on an idle machine with a release build; the report has each figure"
                }
                _ => "lower the load or the demand, add servers, or change the objective",
            }),
        ),
        Verdict::Untrustworthy => findings.push(
            Finding::error(CAP_UNTRUSTWORTHY, Fault::Environment, report.summary.clone())
                .hint("stop other programs on this machine, and repeat the run"),
        ),
        Verdict::Good | Verdict::Regression | Verdict::OutOfTolerance => {}
    }
    if let Some(name) = &args.report {
        write(report, name)?;
    }
    console.findings(&findings);
    Ok(match report.verdict {
        Verdict::Good => Exit::Done,
        Verdict::ObjectiveMissed => Exit::Rejected,
        Verdict::OutOfTolerance => Exit::OutOfTolerance,
        Verdict::Regression => Exit::Regression,
        Verdict::Untrustworthy => Exit::Untrustworthy,
    })
}

/// Returns true if a report with this name would replace the baseline.
fn is_baseline(name: &Path, args: &ReportArgs) -> bool {
    let json = fs::canonicalize(with_extension(name, "json")).ok();
    json.is_some() && json == args.baseline.as_deref().and_then(|path| fs::canonicalize(path).ok())
}

fn compared(path: &Path, report: &Report, args: &ReportArgs) -> Result<Comparison, Stop> {
    compare(&baseline(path)?, report, args.tolerance.0.0).map_err(|error| {
        Finding::error(CAP_UNLIKE, Fault::Caller, format!("{} cannot be the baseline: {error}", shown(path)))
            .hint("run the same command under the same conditions, and keep its JSON as the baseline")
            .into()
    })
}

/// Returns the relative change in a row of the comparison.
fn change(row: &[Cell]) -> f64 {
    row.get(4).and_then(Cell::number).unwrap_or(0.0).abs()
}

/// Formats a row of the comparison as `figure (before, now)`.
fn named(row: &[Cell]) -> Option<String> {
    let [figure, _, before, now, ..] = row else { return None };
    Some(format!("{figure} ({before}, now {now})"))
}

fn baseline(path: &Path) -> Result<Report, Stop> {
    let text = text_of(path, BASELINE_BYTES_MAX)?;
    Report::from_json(&text).map_err(|error| {
        let finding = Finding::error(CAP_UNLIKE, Fault::Caller, format!("{}: {error}", shown(path)));
        finding.hint("the baseline is the NAME.json that an earlier run wrote with --report NAME").into()
    })
}

/// Writes the three files.
fn write(report: &Report, name: &Path) -> Result<(), Stop> {
    for (extension, text) in [("html", report.html()), ("csv", report.csv()), ("json", report.json())] {
        write_whole(&with_extension(name, extension), &text)?;
    }
    Ok(())
}

/// Writes a file that is whole or not there: it gets its name when it is complete.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Stop> {
    let begun = with_extension(path, "part");
    let written = fs::write(&begun, text).and_then(|()| fs::rename(&begun, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&begun);
        let reason = system_error_text(&error);
        Finding::error(CLI_OUTPUT, Fault::Environment, format!("{} cannot be written: {reason}", shown(path))).into()
    })
}

/// Appends an extension to the name; a dot in the name is part of it.
fn with_extension(name: &Path, extension: &str) -> PathBuf {
    let mut whole = name.as_os_str().to_owned();
    whole.push(".");
    whole.push(extension);
    PathBuf::from(whole)
}

/// Builds the section about the basis of the figures.
pub(super) fn basis_section(basis: &BasisWire) -> Section {
    let mut rows = vec![
        vec![Cell::text("method"), Cell::text(format!("{}{} ({})", basis.method, basis.passes_text(), basis.source))],
        vec![Cell::text("validity"), Cell::text(&basis.validity)],
        vec![Cell::text("inputs"), Cell::text(basis.origin)],
    ];
    rows.extend(basis.assumptions.iter().map(|text| vec![Cell::text("assumption"), Cell::text(*text)]));
    Section {
        id: "basis".to_owned(),
        title: "Method and assumptions".to_owned(),
        notes: Vec::new(),
        table: Table { columns: vec![Column::new("what", ""), Column::new("which", "")], rows },
        picture: None,
    }
}

/// Adds the account of this process and the facts of this machine and build, without which two runs cannot be compared. Prints the report, or
/// `tables` in its place, and finishes it.
pub(crate) fn finish_measured(
    mut report: Report,
    tables: Option<String>,
    account: Accounting,
    args: &MeasuredArgs,
    console: &Console,
) -> Result<Exit, Stop> {
    let account = account.end();
    account.add_to(&mut report);
    if !args.json {
        let text = tables.map_or_else(|| report.text(), |tables| format!("{tables}{}\n", account.line()));
        write_stdout(text.as_bytes())?;
    }
    let host = quayline_calibrate::host();
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    report.conditions.extend([
        ("processor".to_owned(), host.processor),
        ("threads".to_owned(), host.threads.to_string()),
        ("system".to_owned(), host.system),
        ("build".to_owned(), build.to_owned()),
    ]);
    let exit = conclude(&mut report, &args.files, console);
    if args.json {
        write_stdout(report.json().as_bytes())?;
    }
    exit
}
