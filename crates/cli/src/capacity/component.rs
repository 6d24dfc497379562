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
    Finding::error(CAP_INTERVALS, Fault::Caller, format!("{name} is not a file of intervals: {why}"))
        .hint("`quayline report component --json` writes such a file")
        .into()
}

/// Reads the answer of `--json`, or one interval in each line.
fn parsed(text: &str) -> Result<Vec<Interval>, String> {
    match serde_json::from_str::<Intervals>(text) {
        Ok(all) if all.schema == INTERVALS_SCHEMA => Ok(all.intervals),
        Ok(all) => Err(format!("the schema is `{}`, expected `{INTERVALS_SCHEMA}`", all.schema)),
        Err(error) => match of_lines(text) {
            Ok(intervals) if !intervals.is_empty() || text.trim().is_empty() => Ok(intervals),
            Err((line, why)) if line > 1 => Err(format!("line {line}: {why}")),
            _ => Err(error.to_string()),
        },
    }
}

/// Reads one interval in each line. A crash may have cut the last line, which then has no line feed. The error has the number of its line.
fn of_lines(text: &str) -> Result<Vec<Interval>, (usize, serde_json::Error)> {
    let mut intervals = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match Interval::from_json(line.trim_end()) {
            Ok(interval) => intervals.push(interval),
            Err(_) if !line.ends_with('\n') => {}
            Err(why) => return Err((at + 1, why)),
        }
    }
    Ok(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line that a crash had cut made the whole file unreadable, and the message named no line.
    #[test]
    fn a_line_that_a_crash_cut_is_skipped_and_others_are_named() {
        let line = |begin_ms| Interval { begin_ms, seconds: 60.0, ..Interval::default() }.json();
        let begins = |text: &str| {
            parsed(text).map(|intervals| intervals.iter().map(|interval| interval.begin_ms).collect::<Vec<_>>())
        };
        let (one, two) = (line(1), line(2));
        let cut = &two[..two.len() - 5];
        assert_eq!(begins(&format!("{one}\n\n{two}")), Ok(vec![1, 2]));
        assert_eq!(begins(&format!("{one}\n{cut}")), Ok(vec![1]));
        let wrong = begins(&format!("{one}\n{cut}\n{two}\n")).expect_err("a cut line in the middle");
        assert!(wrong.starts_with("line 2: "), "{wrong}");
        assert_eq!(begins("").map_err(|_| ()), Ok(Vec::new()));
        let wrong = begins("nonsense").expect_err("not an interval");
        assert!(!wrong.starts_with("line"), "{wrong}");
    }
}
