//! `quayline profile`: cost of the transactions of a run or a server, and the model for predictions.

use std::fmt::Write as _;
use std::path::Path;

use quayline_capacity::Seconds;
use quayline_core::{Fault, Finding, system_error_text};
use quayline_meter::{Phase, Profile, ProfileClass};
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};

use super::report::finish;
use super::{CAP_COSTS, text_of};
use crate::args::{ProfileArgs, ProfileCommand, ProfileModelArgs, ProfileShowArgs};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop};
use crate::quantity::time_text;

/// Part of a class' time that no phase needs to explain.
const UNACCOUNTED_MAX: f64 = 0.02;
/// Most bytes of a profile.
const PROFILE_BYTES_MAX: u64 = 64 << 20;

/// Shows a profile, or builds a model from it.
pub(crate) fn profile(args: &ProfileArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        ProfileCommand::Show(args) => show(args, console),
        ProfileCommand::Model(args) => model(args),
    }
}

/// Writes the profile of a run. The file gets its name when it is complete.
pub(crate) fn write_profile(profile: &Profile, path: &Path) -> Result<(), Box<Finding>> {
    let mut begun = path.as_os_str().to_owned();
    begun.push(".part");
    let written = std::fs::write(&begun, profile.json()).and_then(|()| std::fs::rename(&begun, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&begun);
        let reason = system_error_text(&error);
        Finding::error(CLI_OUTPUT, Fault::Environment, format!("{} cannot be written: {reason}", shown(path)))
            .hint("choose a folder that exists and can be written; the output of the run itself is complete")
            .into()
    })
}

pub(super) fn read(path: &Path) -> Result<Profile, Stop> {
    Profile::from_json(&text_of(path, PROFILE_BYTES_MAX)?).map_err(|error| {
        Finding::error(CAP_COSTS, Fault::Caller, format!("{}: {error}", shown(path)))
            .hint("`convert --profile FILE` and GET /profile of a server's admin listener give profiles")
            .into()
    })
}

fn show(args: &ProfileShowArgs, console: &Console) -> Result<Exit, Stop> {
    let profile = read(&args.profile)?;
    if args.json {
        write_stdout(profile.json().as_bytes())?;
    } else {
        write_stdout(text(&profile).as_bytes())?;
    }
    finish(report(&profile), &args.report, console)
}

/// Formats the profile as text.
fn text(profile: &Profile) -> String {
    let mut out = String::new();
    let host = &profile.host;
    let _ = writeln!(
        out,
        "{}: {} s, {} s CPU; {}, {} threads, {}, {} build",
        profile.kind,
        seconds(profile.wall_s),
        seconds(profile.cpu_s),
        host.processor,
        host.threads,
        host.system,
        host.build
    );
    for (class, cpu) in profile.classes.iter().zip(profile.cpu_each()) {
        let _ = writeln!(out, "\n{}: {} {}s", class.name, crate::render::grouped(class.count), class.unit);
        let mut line = |name: &str, each: Option<f64>| {
            if let Some(each) = each {
                let _ = writeln!(out, "  {name:<14}{}", time_text(Seconds(each)));
            }
        };
        line("CPU", cpu);
        line("time", (class.count > 0).then(|| class.wall_s / class.count as f64));
        for phase in Phase::ALL {
            line(&format!("  {}", phase.name()), class.phase_each(phase).filter(|each| *each > 0.0));
        }
        for percent in [50.0, 95.0, 99.0] {
            line(&format!("p{percent}"), class.percentile(percent));
        }
        let share = unaccounted(class);
        let verdict = if is_trustworthy(class) { "" } else { ", untrustworthy: expected at most 2 %" };
        let _ = writeln!(out, "  {:<14}{:.1} % of the time{verdict}", "unaccounted", 100.0 * share);
    }
    out
}

/// Returns the share of a class's time outside of all phases; negative if the phases exceed the total.
fn unaccounted(class: &ProfileClass) -> f64 {
    let phases: f64 = class.phases.iter().map(|line| line.wall_s).sum();
    if class.wall_s > 0.0 { (class.wall_s - phases) / class.wall_s } else { 0.0 }
}

/// Returns true if the phases explain the time within 2 %, or within a millisecond in total. The rest passes between two clock readings.
fn is_trustworthy(class: &ProfileClass) -> bool {
    let share = unaccounted(class).abs();
    share <= UNACCOUNTED_MAX || share * class.wall_s <= 1e-3
}

fn seconds(time: f64) -> String {
    format!("{time:.3}")
}

/// Builds the report of a profile. Two reports of one kind on one machine can be compared.
fn report(profile: &Profile) -> Report {
    let host = &profile.host;
    let micros = |each: Option<f64>| each.map_or(Cell::Empty, |each| Cell::Number(each * 1e6));
    let mut columns = vec![
        Column::new("class", ""),
        Column::new("count", ""),
        Column::lower("CPU time", "µs"),
        Column::lower("time", "µs"),
    ];
    columns.extend(Phase::ALL.map(|phase| Column::lower(phase.name(), "µs")));
    columns.extend([
        Column::lower("p50", "µs"),
        Column::lower("p95", "µs"),
        Column::new("p99", "µs"),
        Column::new("unaccounted", "%"),
    ]);
    let rows = profile.classes.iter().zip(profile.cpu_each()).map(|(class, cpu)| {
        let mut row = vec![
            Cell::text(class.name.clone()),
            Cell::Number(class.count as f64),
            micros(cpu),
            micros((class.count > 0).then(|| class.wall_s / class.count as f64)),
        ];
        row.extend(Phase::ALL.map(|phase| micros(class.phase_each(phase).filter(|each| *each > 0.0))));
        row.extend([50.0, 95.0, 99.0].map(|percent| micros(class.percentile(percent))));
        row.push(Cell::Number(100.0 * unaccounted(class)));
        row
    });
    let series = Phase::ALL.map(|phase| {
        let each = |class: &ProfileClass| class.phase_each(phase).unwrap_or(0.0) * 1e6;
        (phase.name().to_owned(), profile.classes.iter().map(each).collect::<Vec<f64>>())
    });
    let doubtful: Vec<&str> =
        profile.classes.iter().filter(|class| !is_trustworthy(class)).map(|class| class.name.as_str()).collect();
    let (verdict, summary) = if doubtful.is_empty() {
        let (wall, cpu) = (seconds(profile.wall_s), seconds(profile.cpu_s));
        (Verdict::Good, format!("{} classes in {wall} s, {cpu} s CPU.", profile.classes.len()))
    } else {
        let names = doubtful.join(", ");
        (Verdict::Untrustworthy, format!("More than 2 % of the time is in no phase: {names}."))
    };
    Report {
        kind: format!("profile of {}", profile.kind),
        title: format!("What the transactions of `{}` cost", profile.kind),
        verdict,
        summary,
        conditions: vec![
            ("processor".to_owned(), host.processor.clone()),
            ("threads".to_owned(), host.threads.to_string()),
            ("system".to_owned(), host.system.clone()),
            ("build".to_owned(), host.build.clone()),
        ],
        sections: vec![Section {
            id: "classes".to_owned(),
            title: "Cost of a transaction".to_owned(),
            notes: vec![
                "CPU time is that of the process, divided among the classes by their phases that compute. Phases are wall time."
                    .to_owned(),
            ],
            table: Table { columns, rows: rows.collect() },
            picture: Some(Picture::Bars {
                across: "µs".to_owned(),
                rows: profile.classes.iter().map(|class| class.name.clone()).collect(),
                series: series.into_iter().filter(|(_, each)| each.iter().any(|each| *each > 0.0)).collect(),
            }),
        }],
    }
}

/// Prints the queueing network of one class as a file for `quayline predict`.
fn model(args: &ProfileModelArgs) -> Result<Exit, Stop> {
    let profile = read(&args.profile)?;
    let names = || profile.classes.iter().map(|class| class.name.as_str()).collect::<Vec<_>>().join(", ");
    let refuse = |what: String, hint: String| Finding::error(CAP_COSTS, Fault::Caller, what).hint(hint);
    let at = match &args.class {
        Some(name) => profile.classes.iter().position(|class| class.name == *name).ok_or_else(|| {
            refuse(format!("{} has no class {name}", shown(&args.profile)), format!("its classes are {}", names()))
        })?,
        None if profile.classes.len() == 1 => 0,
        None if profile.classes.is_empty() => {
            let hint = "send requests to the server, and get its profile again".to_owned();
            return Err(refuse(format!("{} has no class", shown(&args.profile)), hint).into());
        }
        None => {
            let what = format!("{} has {} classes, expected one", shown(&args.profile), profile.classes.len());
            return Err(refuse(what, format!("choose one with --class: {}", names())).into());
        }
    };
    let class = &profile.classes[at];
    let Some(cpu) = profile.cpu_each()[at] else {
        let what = format!("{}: {} has no {}s", shown(&args.profile), class.name, class.unit);
        return Err(refuse(what, "measure again with some load".to_owned()).into());
    };
    write_stdout(network(&profile, class, cpu).as_bytes())?;
    Ok(Exit::Done)
}

fn network(profile: &Profile, class: &ProfileClass, cpu: f64) -> String {
    let host = &profile.host;
    let mut out = format!(
        "# Demands of one {} of {}, from {} of them by `{}` ({} build) on {}, {} threads.\n\
         # Measured on a busy machine, demands contain its other work. docs/reference/capacity.md lists the keys.\n",
        class.unit,
        class.name,
        crate::render::grouped(class.count),
        profile.kind,
        host.build,
        host.processor,
        host.threads
    );
    let mut station = |name: &str, servers: u32, demand: f64, note: &str| {
        if demand > 0.0 {
            let _ = write!(
                out,
                "\n# {note}\n[[station]]\nname = \"{name}\"\nservers = {servers}\ndemand = \"{:.3}us\"\norigin = \"measured\"\n",
                demand * 1e6
            );
        }
    };
    station("cpu", host.threads, cpu, "CPU time of the process, on all of its threads.");
    let waits = |phase: Phase| {
        // A phase with CPU time waited for the rest of its time; without, only phases without computation are known to wait.
        let line = class.phases.iter().find(|line| line.phase == phase.name())?;
        Some((line.wall_s - line.cpu_s?).max(0.0) / class.count as f64)
    };
    let device: f64 = [Phase::Read, Phase::Write, Phase::Commit].into_iter().filter_map(waits).sum();
    station(
        "device",
        1,
        device,
        "Reading, writing and commits, without their CPU time: one device serves one after another.",
    );
    let call = class.phase_each(Phase::Call).unwrap_or(0.0);
    station(
        "call",
        0,
        call,
        "The provider. 0 servers is a delay; give it the number of its slots or connections if calls queue.",
    );
    out
}
