//! `quayline advise`: the rules that apply to a server, a class of its work, or measured values.

use std::collections::BTreeMap;
use std::path::Path;

use quayline_capacity::advice::{
    Advice, Metric, Readings, advice_text, advise as advise_on, judged, rules, rules_text,
};
use quayline_core::{Fault, Finding, nearest};
use quayline_workload::readings;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{CAP_FILE, print_json, read};
use crate::args::AdviseArgs;
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop};

/// Prints the rules that apply to collected intervals or to the values of a file, or every rule.
pub(crate) fn advise(args: &AdviseArgs, _console: &Console) -> Result<Exit, Stop> {
    if args.list {
        write_stdout(rules_text().as_bytes())?;
        return Ok(Exit::Done);
    }
    let readings = match &args.file {
        Some(path) => of_file(path)?,
        None => of_intervals(args)?,
    };
    let advice = advise_on(&readings);
    let judged = judged(&readings);
    if args.json {
        print_json(&Wire {
            schema: "quayline.advice/1",
            rules: rules().count(),
            judged,
            advice: advice.iter().map(AdviceWire::of).collect(),
        })?;
    } else {
        write_stdout(advice_text(&advice, judged).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// Reads the values of collected intervals.
fn of_intervals(args: &AdviseArgs) -> Result<Readings, Stop> {
    let intervals = super::component::intervals(&args.from)?;
    if let Some(name) = &args.class {
        let mut names: Vec<&str> = Vec::new();
        for class in intervals.iter().flat_map(|interval| &interval.classes) {
            names.push(&class.name);
            names.extend(class.members.iter().map(|member| member.name.as_str()));
        }
        names.sort_unstable();
        names.dedup();
        if !names.contains(&name.as_str()) {
            let hint = match nearest(name, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the intervals have {}", names.join(", ")),
            };
            let what = format!("no interval has the class or member `{name}`");
            return Err(Finding::error(CAP_FILE, Fault::Config, what).hint(hint).into());
        }
    }
    Ok(readings(&intervals, args.class.as_deref()))
}

/// Reads the values of a file.
fn of_file(path: &Path) -> Result<Readings, Stop> {
    let (mut file, values): (_, File) = read(path)?;
    let mut readings = Readings::new();
    for (name, value) in &values.measured {
        match Metric::by_name(name) {
            Some(metric) => {
                readings.insert(metric, value.get_ref().number());
            }
            None => {
                let names = Metric::ALL.iter().map(|metric| metric.name());
                let hint = nearest(name, names).map_or_else(
                    || "`quayline advise --list` prints every metric with its unit".to_owned(),
                    |name| format!("did you mean `{name}`?"),
                );
                file.find(CAP_FILE, format!("there is no metric `{name}`"), value, hint);
            }
        }
    }
    if !file.findings.is_empty() {
        return Err(quayline_core::Findings(file.findings).into());
    }
    if readings.is_empty() {
        let finding = Finding::error(CAP_FILE, Fault::Config, "[measured] has no value");
        return Err(finding.hint("`quayline advise --list` prints every metric with its unit").into());
    }
    Ok(readings)
}

/// A file of measured values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    measured: BTreeMap<String, Spanned<Reading>>,
}

/// A number or a truth value.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number, true or false")]
enum Reading {
    Holds(bool),
    Number(f64),
}

impl Reading {
    fn number(self) -> f64 {
        match self {
            Reading::Holds(holds) => f64::from(u8::from(holds)),
            Reading::Number(number) => number,
        }
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    rules: usize,
    /// Number of rules whose values were all measured.
    judged: usize,
    advice: Vec<AdviceWire<'a>>,
}

#[derive(Serialize)]
struct AdviceWire<'a> {
    rule: &'a str,
    recommendation: &'a str,
    effect: &'a str,
    source: &'a str,
    evidence: Vec<EvidenceWire>,
}

#[derive(Serialize)]
struct EvidenceWire {
    metric: &'static str,
    unit: &'static str,
    measured: f64,
    relation: &'static str,
    bound: f64,
}

impl<'a> AdviceWire<'a> {
    fn of(advice: &'a Advice) -> AdviceWire<'a> {
        let evidence = advice.evidence.iter().map(|of| EvidenceWire {
            metric: of.metric.name(),
            unit: of.metric.unit(),
            measured: of.measured,
            relation: of.relation.words(),
            bound: of.bound,
        });
        AdviceWire {
            rule: advice.rule.code,
            recommendation: advice.rule.recommendation,
            effect: advice.rule.effect,
            source: advice.rule.source,
            evidence: evidence.collect(),
        }
    }
}
