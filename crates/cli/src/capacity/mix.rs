//! `quayline measure mix`: scripts of virtual users.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use quayline_core::{Fault, Finding, system_error_text};
use quayline_measure::{MIX_USERS_MAX, Mix, MixClass, MixPace, MixStep};
use quayline_workload::Accounting;
use serde::Deserialize;

use super::{CAP_FILE, read};
use crate::args::MeasureMixArgs;
use crate::console::{Console, shown};
use crate::exit::{CLI_INPUT, CLI_MEASURE, Exit, Stop};
use crate::quantity::Duration;

/// Most bytes of a body.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Runs a mix.
pub(crate) fn measure_mix(args: &MeasureMixArgs, account: Accounting, console: &Console) -> Result<Exit, Stop> {
    let (_, wire): (_, Wire) = read(&args.mix)?;
    if let Some(id) = args.process.filter(|id| !Path::new(&format!("/proc/{id}/task")).exists()) {
        let finding = Finding::error(CLI_MEASURE, Fault::Caller, format!("--process: no process has the number {id}"));
        return Err(finding
            .hint("give the number of the server's process on this machine, or leave the option out")
            .into());
    }
    let time = |seconds: f64| std::time::Duration::from_secs_f64(seconds);
    let mix = Mix {
        address: args.address.unwrap_or(wire.address),
        headers: headers(&args.mix, &wire.headers)?,
        classes: classes(&args.mix, wire.class)?,
        warm_up: time(args.warm_up),
        time: time(args.seconds),
        process: args.process,
    };
    let run = mix.run().map_err(|error| {
        let message = format!("{}: {}", mix.address, system_error_text(&error));
        Finding::error(CLI_MEASURE, Fault::Environment, message)
            .hint("start the server, or name its address with --address")
    })?;
    super::report::finish_measured(run.report(), None, account, &args.report, console)
}

fn wrong(path: &Path, what: &str, hint: &str) -> Stop {
    Finding::error(CAP_FILE, Fault::Config, format!("{}: {what}", shown(path))).hint(hint).into()
}

/// Formats header lines. Refuses line ends in a name or value, which would inject another header.
fn headers(path: &Path, given: &BTreeMap<String, String>) -> Result<String, Stop> {
    let mut lines = String::new();
    for (name, value) in given {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte));
        if !is_name || value.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(wrong(
                path,
                &format!("`{name}` is not a header with its value"),
                "write names and values without line ends",
            ));
        }
        lines.push_str(&format!("{name}: {value}\r\n"));
    }
    Ok(lines)
}

fn classes(path: &Path, given: Vec<ClassWire>) -> Result<Vec<MixClass>, Stop> {
    if given.is_empty() {
        return Err(wrong(path, "there is no [[class]]", "add a [[class]] with users and at least one [[class.step]]"));
    }
    let users: u64 = given.iter().map(|class| u64::from(class.users)).sum();
    if !(1..=u64::from(MIX_USERS_MAX)).contains(&users) {
        let what = format!("there are {users} users, expected 1 to {MIX_USERS_MAX}");
        return Err(wrong(path, &what, "each user has a connection; run several commands for more"));
    }
    let mut names = BTreeSet::new();
    let mut classes = Vec::new();
    for class in given {
        if !names.insert(class.name.clone()) {
            return Err(wrong(
                path,
                &format!("two classes are called {}", class.name),
                "give each class a name of its own",
            ));
        }
        let all: f64 = class.step.iter().map(|step| step.weight).sum();
        let is_valid = class.step.iter().all(|step| step.weight.is_finite() && step.weight >= 0.0);
        if !is_valid || all <= 0.0 {
            let what =
                format!("the weights of the steps of {} are not numbers from 0 of which one is above 0", class.name);
            return Err(wrong(path, &what, "add a [[class.step]] with a weight"));
        }
        let pace = pace(path, &class)?;
        let steps = class.step.into_iter().map(|step| self::step(path, step)).collect::<Result<_, Stop>>()?;
        classes.push(MixClass { name: class.name, users: class.users, pace, in_turn: class.in_turn, steps });
    }
    Ok(classes)
}

/// Returns what begins a request: a user's think time, or a rate.
fn pace(path: &Path, class: &ClassWire) -> Result<MixPace, Stop> {
    let name = &class.name;
    let think = class.think.map_or(0.0, |think| think.0.0);
    let closed = MixPace::Closed(std::time::Duration::try_from_secs_f64(think).unwrap_or_default());
    match (class.rate, class.arrivals) {
        (None, None) => Ok(closed),
        (None, Some(_)) => Err(wrong(path, &format!("{name} has `arrivals` without `rate`"), "add a rate a second")),
        (Some(_), _) if class.think.is_some() => {
            let hint = "remove `think`: with a rate, a request does not wait for the answer before it";
            Err(wrong(path, &format!("{name} has `rate` and `think`"), hint))
        }
        (Some(rate), _) if !(0.001..=1e6).contains(&rate) => {
            let what = format!("the rate of {name} is {rate}, expected 0.001 to 1000000");
            Err(wrong(path, &what, "write requests a second"))
        }
        (Some(rate), Some(ArrivalsWire::Fixed)) => Ok(MixPace::Fixed(rate)),
        (Some(rate), _) => Ok(MixPace::Poisson(rate)),
    }
}

fn step(path: &Path, step: StepWire) -> Result<MixStep, Stop> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain(&step.method) || !plain(&step.target) || !step.target.starts_with('/') {
        let what = format!("`{} {}` is not a method and a path", step.method, step.target);
        return Err(wrong(path, &what, "write the path from its first / on, with spaces as %20"));
    }
    if step.content_type.as_ref().is_some_and(|kind| kind.bytes().any(|byte| byte.is_ascii_control())) {
        let what = format!("the content-type of {} has a control character", step.target);
        return Err(wrong(path, &what, "write the type without line ends"));
    }
    let body = match (step.body, step.body_file) {
        (Some(_), Some(_)) => {
            let what = format!("{} has a body and a body-file", step.target);
            return Err(wrong(path, &what, "keep one of them"));
        }
        (Some(text), None) => text.into_bytes(),
        (None, Some(name)) => {
            let body = path.parent().unwrap_or(Path::new(".")).join(name);
            let unreadable = |why: String| -> Stop {
                Finding::error(CLI_INPUT, Fault::Caller, format!("{} {why}", shown(&body))).into()
            };
            let cannot = |error: std::io::Error| unreadable(format!("cannot be read: {}", system_error_text(&error)));
            let bytes = std::fs::metadata(&body).map_err(cannot)?.len();
            if bytes > BODY_BYTES_MAX {
                return Err(unreadable(format!("has {bytes} bytes, expected at most {BODY_BYTES_MAX}")));
            }
            std::fs::read(&body).map_err(cannot)?
        }
        (None, None) => Vec::new(),
    };
    Ok(MixStep {
        name: step.name.unwrap_or_else(|| format!("{} {}", step.method, step.target)),
        weight: step.weight,
        method: step.method,
        target: step.target,
        content_type: step.content_type,
        body,
    })
}

/// A file of a mix.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    address: SocketAddr,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    class: Vec<ClassWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClassWire {
    name: String,
    users: u32,
    think: Option<Duration>,
    /// Requests a second that do not depend on answers.
    rate: Option<f64>,
    arrivals: Option<ArrivalsWire>,
    #[serde(default)]
    in_turn: bool,
    #[serde(default)]
    step: Vec<StepWire>,
}

/// Intervals between requests at a rate.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ArrivalsWire {
    Random,
    Fixed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StepWire {
    name: Option<String>,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default = "get")]
    method: String,
    target: String,
    content_type: Option<String>,
    body: Option<String>,
    body_file: Option<String>,
}

fn one() -> f64 {
    1.0
}

fn get() -> String {
    "GET".to_owned()
}
