//! `quayline calibrate`: performance of this machine, changes to it, and projections to another machine.

use std::io::IsTerminal as _;
use std::path::Path;

use quayline_calibrate::{Calibration, calibrate as rate};
use quayline_capacity::calibration::{
    Change, HostProfile, Kernel, KernelChange, KernelRate, Optimised, Projection, Unlike, compare, project, same_work,
};
use quayline_capacity::{Estimate, Share};
use quayline_core::{Fault, Finding, system_error_text};
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use serde::Serialize;

use super::profile::{ProfileWire, read};
use super::report::{check_baseline, finish};
use super::{BasisWire, CAP_CALIBRATE, CAP_REGRESSION, CAP_UNLIKE, print_json, refused};
use crate::args::{CalibrateArgs, CalibrateCommand, CompareProfilesArgs, ProjectCostArgs};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop, argument};
use crate::quantity::time_text;

/// Share of the time that other programs may take before the rates mean nothing.
const DISTURBANCE_MAX: f64 = 0.5;
/// Longest time for one kernel.
const TIME_MAX: f64 = 60.0;

/// Rates this machine, or answers from profiles.
pub(crate) fn calibrate(args: &CalibrateArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        None => run(args, console),
        Some(CalibrateCommand::Compare(args)) => compare_profiles(args, console),
        Some(CalibrateCommand::Project(args)) => project_cost(args),
    }
}

fn run(args: &CalibrateArgs, console: &Console) -> Result<Exit, Stop> {
    check_baseline(&args.report)?;
    let time = args.time.0.0;
    if !(0.005..=TIME_MAX).contains(&time) {
        return Err(argument(format!("--time is {time} s, expected 5ms to {TIME_MAX}s")).into());
    }
    let parent = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("quayline-calibrate-{}", std::process::id()));
    let of = Calibration { folder: folder.clone(), time: std::time::Duration::from_secs_f64(time) };
    let show = std::io::stderr().is_terminal() && !console.json();
    let done = rate(&of, &mut |name| {
        if show {
            console.line(name);
        }
    });
    // The folder is of this run alone.
    let _ = std::fs::remove_dir_all(&folder);
    let profile = done.map_err(|error| {
        Finding::error(
            CAP_CALIBRATE,
            Fault::Environment,
            format!("{} in {}: {}", error.what, shown(&folder), error.reason),
        )
        .hint("choose a folder on a disk with a gigabyte of free space with --folder")
    })?;
    let wire = ProfileWire::of(&profile);
    if let Some(path) = &args.output {
        write(path, &wire)?;
    }
    if args.json {
        print_json(&wire)?;
    } else {
        write_stdout(text(&profile).as_bytes())?;
    }
    finish(report(&profile), &args.report, console)
}

fn write(path: &Path, profile: &ProfileWire) -> Result<(), Stop> {
    let mut text = serde_json::to_string_pretty(profile).expect("a profile has string keys and plain values");
    text.push('\n');
    std::fs::write(path, text).map_err(|error| {
        let reason = system_error_text(&error);
        Finding::error(CLI_OUTPUT, Fault::Environment, format!("{} cannot be written: {reason}", shown(path))).into()
    })
}

/// Formats a rate with a decimal prefix.
fn rate_text(rate: f64) -> String {
    let (value, prefix) = match rate {
        rate if rate >= 1e9 => (rate / 1e9, " G"),
        rate if rate >= 1e6 => (rate / 1e6, " M"),
        rate if rate >= 1e3 => (rate / 1e3, " k"),
        rate => (rate, " "),
    };
    format!("{value:.2}{prefix}")
}

fn text(profile: &HostProfile) -> String {
    let HostProfile { host, kernels, rating, disturbance, optimised, .. } = profile;
    let mut text = format!(
        "{}, {} threads, {} cores, {} MiB, {}\n\n",
        host.processor, host.threads, host.cores, host.memory_mib, host.system
    );
    text.push_str(&format!(
        "{:<14} {:>12} {:>12} {:>8}  a CPU second\n",
        "kernel", "one thread", "all threads", "spread"
    ));
    for figure in kernels {
        let spread = figure.one.spread.0.max(figure.all.spread.0) * 100.0;
        let unit = figure.kernel.unit();
        let of = if figure.kernel.is_processor_bound() { "" } else { " a second of wall time, all threads together" };
        text.push_str(&format!(
            "{:<14} {:>12} {:>12} {spread:>6.1} %  {unit}{of}\n",
            figure.kernel.name(),
            rate_text(figure.one.rate),
            rate_text(figure.all.rate)
        ));
    }
    text.push_str(&format!(
        "\nRating: {:.1} capacity units: {:.0} units of work a second if nothing but the processors limits, {} of CPU time each\n",
        rating.capacity().0,
        rating.units.0,
        time_text(rating.cpu)
    ));
    text.push_str(&format!("Reached with a durable journal: {:.0} units of work a second\n", rating.durable.0));
    text.push_str(&format!("Taken by other programs: {:.1} % of the time\n", disturbance.percent()));
    if *optimised == Optimised::No {
        text.push_str("This is a debug build: its rates say nothing about the machine\n");
    }
    text
}

/// Builds the report of a profile.
fn report(profile: &HostProfile) -> Report {
    let HostProfile { host, kernels, rating, disturbance, .. } = profile;
    let spread = |rate: &KernelRate| Cell::Number(rate.spread.percent());
    let cores = |rate: Option<KernelRate>| rate.map_or(Cell::Empty, |rate| Cell::Number(rate.rate));
    let row = |figure: &quayline_capacity::calibration::KernelFigure| {
        vec![
            Cell::text(figure.kernel.name()),
            Cell::text(figure.kernel.unit()),
            Cell::Number(figure.one.rate),
            cores(figure.cores),
            Cell::Number(figure.all.rate),
            spread(&figure.one),
            spread(&figure.all),
            Cell::text(figure.kernel.meaning()),
        ]
    };
    let bound: Vec<_> = kernels.iter().filter(|figure| figure.kernel.is_processor_bound()).collect();
    let kept = |figure: &&quayline_capacity::calibration::KernelFigure| 100.0 * figure.all.rate / figure.one.rate;
    let verdict = if disturbance.0 > DISTURBANCE_MAX { Verdict::Untrustworthy } else { Verdict::Good };
    let taken = disturbance.percent();
    let summary = match verdict {
        Verdict::Good => format!("{:.1} capacity units.", rating.capacity().0),
        _ => format!("other programs had the processors for {taken:.0} % of the time, expected at most 50 %"),
    };
    Report {
        kind: "calibration".to_owned(),
        title: format!("What this machine can do: {}", host.processor),
        verdict,
        summary,
        conditions: conditions(profile),
        sections: vec![
            Section {
                id: "rating".to_owned(),
                title: "Rating".to_owned(),
                notes: vec![
                    "Units of work of the commercial mix: keyed reads, an update, an insert, a message in and out, journal and commit.".to_owned(),
                    format!("Other programs took {taken:.1} % of the time."),
                ],
                table: Table {
                    columns: vec![Column::new("figure", ""), Column::higher("value", ""), Column::new("unit", "")],
                    rows: vec![
                        vec![Cell::text("rating"), Cell::Number(rating.capacity().0), Cell::text("capacity units")],
                        vec![Cell::text("all processors"), Cell::Number(rating.units.0), Cell::text("units of work/s")],
                        vec![Cell::text("durable journal"), Cell::Number(rating.durable.0), Cell::text("units of work/s")],
                    ],
                },
                picture: None,
            },
            Section {
                id: "kernels".to_owned(),
                title: "Kernels".to_owned(),
                notes: vec![
                    "Operations a CPU second of a thread; of sync, a second of wall time of all threads. The picture has what a thread keeps of its rate while all threads work.".to_owned(),
                ],
                table: Table {
                    columns: vec![
                        Column::new("kernel", ""),
                        Column::new("counts", ""),
                        Column::higher("one thread", "/s"),
                        Column::higher("a thread a core", "/s"),
                        Column::higher("all threads", "/s"),
                        Column::new("spread, one", "%"),
                        Column::new("spread, all", "%"),
                        Column::new("meaning", ""),
                    ],
                    rows: kernels.iter().map(row).collect(),
                },
                picture: Some(Picture::Bars {
                    across: "rate with all threads busy, % of one thread alone".to_owned(),
                    rows: bound.iter().map(|figure| figure.kernel.name().to_owned()).collect(),
                    series: vec![("all threads".to_owned(), bound.iter().map(kept).collect())],
                }),
            },
        ],
    }
}

fn conditions(profile: &HostProfile) -> Vec<(String, String)> {
    let host = &profile.host;
    let build = if profile.optimised == Optimised::Yes { "release" } else { "debug" };
    [
        ("processor", host.processor.clone()),
        ("architecture", host.architecture.clone()),
        ("hardware threads", host.threads.to_string()),
        ("cores", host.cores.to_string()),
        ("system", host.system.clone()),
        ("kernels", format!("version {}", profile.kernels_version)),
        ("build", build.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn unlike(unlike: &Unlike, hint: &'static str) -> Finding {
    Finding::error(CAP_UNLIKE, Fault::Caller, format!("the profiles differ: {unlike}")).hint(hint)
}

fn compare_profiles(args: &CompareProfilesArgs, console: &Console) -> Result<Exit, Stop> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let changes = compare(&before, &after).map_err(|error| {
        unlike(&error, "compare profiles of one machine; `quayline calibrate project` projects costs between machines")
    })?;
    let slower: Vec<&str> =
        changes.iter().filter(|of| of.change == Change::Slower).map(|of| of.kernel.name()).collect();
    if args.json {
        print_json(&CompareWire {
            schema: "quayline.profile-comparison/1",
            kernels: changes.iter().map(ChangeWire::of).collect(),
            rating: after.rating.units.0 / before.rating.units.0,
        })?;
    } else {
        let mut text = format!("{:<14} {:>10} {:>11} {:>8}\n", "kernel", "one thread", "all threads", "noise");
        for KernelChange { kernel, one, all, noise, change } in &changes {
            text.push_str(&format!(
                "{:<14} {:>+8.1} % {:>+9.1} % {:>6.1} %  {}\n",
                kernel.name(),
                (one - 1.0) * 100.0,
                (all - 1.0) * 100.0,
                noise * 100.0,
                change_name(*change)
            ));
        }
        let rating = (after.rating.units.0 / before.rating.units.0 - 1.0) * 100.0;
        text.push_str(&format!("\nRating: {rating:+.1} %\n"));
        write_stdout(text.as_bytes())?;
    }
    if slower.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!("slower beyond the noise of both runs: {}", slower.join(", "));
    let finding = Finding::error(CAP_REGRESSION, Fault::Environment, message);
    console.findings(&[finding.hint("find what changed on the machine, or repeat the run")]);
    Ok(Exit::Regression)
}

fn change_name(change: Change) -> &'static str {
    match change {
        Change::Same => "same",
        Change::Faster => "faster",
        Change::Slower => "slower",
    }
}

fn project_cost(args: &ProjectCostArgs) -> Result<Exit, Stop> {
    let (base, target) = (read(&args.base)?, read(&args.target)?);
    same_work(&base, &target)
        .map_err(|error| unlike(&error, "calibrate both machines with the same release of Quayline"))?;
    let shares: Vec<(Kernel, Share)> = args.share.iter().map(|part| (part.0, part.1)).collect();
    let sum: f64 = shares.iter().map(|(_, share)| share.percent()).sum();
    if !shares.is_empty() && (sum - 100.0).abs() > 1.0 {
        let finding = argument(format!("the parts of --share add up to {sum} %, expected 100 %"));
        return Err(finding.hint("give the rest to the kernel that resembles it most").into());
    }
    let estimate = project(args.cpu.0, &shares, &base, &target).map_err(|error| refused(&error))?;
    let basis = BasisWire::of(&estimate);
    let Estimate { value: Projection { least, likely, most, capacity }, .. } = estimate;
    if args.json {
        print_json(&ProjectionWire {
            schema: "quayline.projection/1",
            cpu_s: args.cpu.0.0,
            least_s: least.0,
            likely_s: likely.0,
            most_s: most.0,
            capacity_per_s: capacity.0,
            basis: &basis,
        })?;
        return Ok(Exit::Done);
    }
    let mut text = format!("Here: {} of CPU time on {}\n", time_text(args.cpu.0), base.host.processor);
    text.push_str(&format!(
        "There: {} of CPU time on {}, {} to {}\n",
        time_text(likely),
        target.host.processor,
        time_text(least),
        time_text(most)
    ));
    text.push_str(&format!(
        "All {} threads: {:.1} transactions a second if nothing but the processors limits\n",
        target.host.threads, capacity.0
    ));
    if args.share.is_empty() {
        text.push_str("No --share: every kernel counts alike, so the range is the widest\n");
    }
    text.push_str(&basis.text());
    write_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct CompareWire {
    schema: &'static str,
    kernels: Vec<ChangeWire>,
    rating: f64,
}

#[derive(Serialize)]
struct ChangeWire {
    kernel: &'static str,
    one: f64,
    all: f64,
    noise: f64,
    change: &'static str,
}

impl ChangeWire {
    fn of(change: &KernelChange) -> ChangeWire {
        let KernelChange { kernel, one, all, noise, change } = *change;
        ChangeWire { kernel: kernel.name(), one, all, noise, change: change_name(change) }
    }
}

#[derive(Serialize)]
struct ProjectionWire<'a> {
    schema: &'static str,
    cpu_s: f64,
    least_s: f64,
    likely_s: f64,
    most_s: f64,
    capacity_per_s: f64,
    basis: &'a BasisWire,
}
