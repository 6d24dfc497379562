//! `quayline profile`: cost of the transactions of a run or a server, and the model for predictions.

use std::fmt::Write as _;
use std::path::Path;

use quayline_capacity::Seconds;
use quayline_core::{Fault, Finding, system_error_text};
use quayline_measure::profile_report;
use quayline_meter::{Phase, Profile, ProfileClass};

use super::report::finish;
use super::{CAP_COSTS, text_of};
use crate::args::{ProfileArgs, ProfileCommand, ProfileModelArgs, ProfileShowArgs};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_OUTPUT, Exit, Stop};
use crate::quantity::time_text;

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
    finish(profile_report(&profile), &args.report, console)
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
            line("    CPU", class.phase_cpu_each(phase));
        }
        for percent in [50.0, 95.0, 99.0] {
            line(&format!("p{percent}"), class.percentile(percent));
        }
        if let Some(source) = &class.cpu_by {
            let _ = writeln!(out, "  {:<14}{source}", "CPU of phases");
        }
        let share = class.unaccounted_share();
        let verdict = if class.is_trustworthy() { "" } else { ", untrustworthy: expected at most 2 %" };
        let _ = writeln!(out, "  {:<14}{:.1} % of the time{verdict}", "unaccounted", 100.0 * share);
    }
    out
}

fn seconds(time: f64) -> String {
    format!("{time:.3}")
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
