//! `quayline report component`: the system, its classes of work and their members, interval by interval.

use std::path::Path;

use quayline_core::{Fault, Finding};
use quayline_partner::time_text;
use quayline_server::kept_intervals;
use quayline_workload::{INTERVALS_SCHEMA, Interval, Intervals, component_report};

use super::report::finish;
use super::{CAP_INTERVALS, text_of};
use crate::args::{ComponentArgs, DurabilityOption, FolderArg, IntervalArgs, WorkReportArgs, WorkReportCommand};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop};
use crate::flow::{asked, listener_of};
use crate::store::{Missing, Opened};

/// Most bytes of a file of intervals.
const INTERVALS_BYTES_MAX: u64 = 1 << 30;
/// Runs `quayline report`.
pub(crate) fn report(args: &WorkReportArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        WorkReportCommand::Component(args) => component(args, console),
    }
}

fn component(args: &ComponentArgs, console: &Console) -> Result<Exit, Stop> {
    let intervals = intervals(&args.from)?;
    let report = component_report(&intervals, &time_text);
    if args.json {
        let all = Intervals::new(intervals);
        super::print_json(&all)?;
    } else {
        write_stdout(report.text().as_bytes())?;
    }
    finish(report, &args.report, console)
}

/// Reads the intervals that the arguments name; at least one is required.
pub(super) fn intervals(from: &IntervalArgs) -> Result<Vec<Interval>, Stop> {
    let last = usize::try_from(from.last).unwrap_or(usize::MAX);
    let mut intervals = if let Some(path) = &from.intervals {
        let text = text_of(path, INTERVALS_BYTES_MAX)?;
        parsed(&text).map_err(|why| wrong(&shown(path), &why))?
    } else if let Some(folder) = &from.store {
        let opened = Opened::open(&FolderArg::new(folder.clone(), DurabilityOption::default()), Missing::Refuse)?;
        let found = kept_intervals(&opened.store, last);
        opened.close(Exit::Done)?;
        found.map_err(|error| quayline_core::Findings::from(error.finding()))?
    } else {
        let project = from.project.as_deref().unwrap_or(Path::new("."));
        let address = listener_of(from.admin, project)?;
        let (status, body) = asked(address, "GET", &format!("/intervals?last={last}"))?;
        if status != 200 {
            let what = format!("{address} has no intervals: it answers {status}");
            let hint = "set `collect = true` in [workload] of quayline.toml, and start the server again";
            return Err(Finding::error(CAP_INTERVALS, Fault::Config, what).hint(hint).into());
        }
        parsed(&body).map_err(|why| wrong(&address.to_string(), &why))?
    };
    intervals.sort_by_key(|interval| interval.begin_ms);
    intervals.drain(..intervals.len().saturating_sub(last));
    if intervals.is_empty() {
        let what = "no interval is collected yet";
        let hint = "wait for the end of the first interval: `interval-seconds` in [workload], 60 by default";
        return Err(Finding::error(CAP_INTERVALS, Fault::Environment, what).hint(hint).into());
    }
    Ok(intervals)
}

fn wrong(name: &str, why: &str) -> Stop {
    Finding::error(CAP_INTERVALS, Fault::Caller, format!("{name} has no intervals: {why}"))
        .hint("`quayline report component --json` writes such a file")
        .into()
}

/// Reads the answer of `--json`, or one interval in each line.
fn parsed(text: &str) -> Result<Vec<Interval>, String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty()).map(Interval::from_json).collect();
    match serde_json::from_str::<Intervals>(text) {
        Ok(all) if all.schema == INTERVALS_SCHEMA => Ok(all.intervals),
        Ok(all) => Err(format!("the schema is `{}`, expected `{INTERVALS_SCHEMA}`", all.schema)),
        Err(error) => {
            let found: Result<Vec<Interval>, serde_json::Error> = lines();
            found.map_err(|_| error.to_string())
        }
    }
}
