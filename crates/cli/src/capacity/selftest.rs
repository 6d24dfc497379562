//! `quayline selftest`: published figures computed again by this build.

use quayline_capacity::selftest::{Kind, Outcome, run};
use quayline_core::{Fault, Finding};
use serde::Serialize;

use super::{CAP_SELFTEST, print_json};
use crate::args::{SelftestArea, SelftestArgs};
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop};

/// Runs the self-test of an area.
pub(crate) fn selftest(args: &SelftestArgs, console: &Console) -> Result<Exit, Stop> {
    let SelftestArea::Capacity = args.area;
    let outcomes = run();
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.passed()).collect();
    if args.json {
        print_json(&wire(&outcomes))?;
    } else {
        write_stdout(text(&outcomes, args.all).as_bytes())?;
    }
    let findings: Vec<Finding> = failed.iter().map(|outcome| finding(outcome)).collect();
    console.findings(&findings);
    Ok(if findings.is_empty() { Exit::Done } else { Exit::OurBug })
}

fn finding(outcome: &Outcome) -> Finding {
    let found = match (&outcome.found, &outcome.error) {
        (Some(found), _) => format!("{found}"),
        (None, Some(error)) => format!("no answer ({error})"),
        (None, None) => "no answer".to_owned(),
    };
    let Outcome { group, name, expected, allowed, .. } = outcome;
    let message = format!("{group}, {name}: {found}, expected {expected} within {allowed:e}");
    Finding::error(CAP_SELFTEST, Fault::Ours, message).hint("report it with this output and the version")
}

fn text(outcomes: &[Outcome], all: bool) -> String {
    let mut text = String::new();
    let mut groups: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !groups.contains(&outcome.group) {
            groups.push(outcome.group);
        }
    }
    for group in groups {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.group == group).collect();
        let passed = of.iter().filter(|outcome| outcome.passed()).count();
        text.push_str(&format!("{group:<14} {passed:>3} of {:>3}\n", of.len()));
        for outcome in of.iter().filter(|outcome| all || !outcome.passed()) {
            let verdict = if outcome.passed() { "ok" } else { "WRONG" };
            let found = outcome.found.map_or_else(|| "none".to_owned(), |found| format!("{found:.6}"));
            let Outcome { name, expected, source, .. } = outcome;
            text.push_str(&format!("  {verdict:<5} {found:>16} {expected:>16.6}  {name} ({source})\n"));
        }
    }
    for kind in [Kind::Published, Kind::OtherSolver, Kind::Printed, Kind::Derived] {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.kind == kind).collect();
        let passed = of.iter().filter(|outcome| outcome.passed()).count();
        let meaning = match kind {
            Kind::Published => "published answers",
            Kind::OtherSolver => "answers of other solvers",
            Kind::Printed => "figures of the documents that the models answer",
            Kind::Derived => "figures derived from those",
        };
        text.push_str(&format!("{passed} of {} {meaning}\n", of.len()));
    }
    text
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    figures: usize,
    passed: usize,
    outcomes: Vec<OutcomeWire<'a>>,
}

#[derive(Serialize)]
struct OutcomeWire<'a> {
    group: &'a str,
    name: &'a str,
    source: &'a str,
    kind: &'static str,
    found: Option<f64>,
    expected: f64,
    allowed: f64,
    passed: bool,
}

impl<'a> OutcomeWire<'a> {
    fn of(outcome: &'a Outcome) -> OutcomeWire<'a> {
        let Outcome { group, name, source, kind, found, expected, allowed, .. } = outcome;
        OutcomeWire {
            group,
            name,
            source,
            kind: kind.name(),
            found: *found,
            expected: *expected,
            allowed: *allowed,
            passed: outcome.passed(),
        }
    }
}

fn wire(outcomes: &[Outcome]) -> Wire<'_> {
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let figures = outcomes.len();
    Wire { schema: "quayline.selftest/1", figures, passed, outcomes: outcomes.iter().map(OutcomeWire::of).collect() }
}
