//! `quayline serve` and `quayline measure`.

use std::ffi::OsString;

use quayline_core::{Fault, Finding, Findings};
use quayline_gateway::Definitions;
use quayline_measure::{GatewayStudy, StudyOptions};
use quayline_server::{ServeConfig, ServeError};

use crate::args::{MeasureArgs, MeasureCommand, ServeArgs};
use crate::console::Console;
use crate::exit::{CLI_INPUT, CLI_LISTEN, CLI_MEASURE, Exit, Stop};

/// Serves the project until it is told to stop.
pub(crate) fn run(args: &ServeArgs, _console: &Console) -> Result<Exit, Stop> {
    let root = args.project.clone();
    let (mut config, definitions) = match (ServeConfig::load(&root), Definitions::load(&root)) {
        (Ok(config), Ok(definitions)) => (config, definitions),
        (config, definitions) => {
            let all = [config.err(), definitions.err()].into_iter().flatten();
            return Err(Findings(all.flat_map(|findings| findings.0).collect()).into());
        }
    };
    if definitions.operations.is_empty() {
        let what =
            format!("{} has no API: expected services in services/*.toml and APIs in apis/*.toml", root.display());
        let hint = "`quayline service new COPYBOOK` proposes a service; docs/reference/gateway.md shows both files";
        return Err(Finding::error(CLI_INPUT, Fault::Config, what).hint(hint).into());
    }
    if let Some(listen) = args.listen {
        config.listen = Some(listen);
        config.check()?;
    }
    config.threads = args.threads.or(config.threads);
    if args.check {
        let findings = quayline_server::cannot_work(&config, &definitions);
        if !findings.is_empty() {
            return Err(Findings(findings).into());
        }
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        eprintln!(
            "{}, {}, {}: no findings",
            count(definitions.services.len(), "service"),
            count(definitions.apis.len(), "API"),
            count(definitions.operations.len(), "operation")
        );
        return Ok(Exit::Done);
    }
    let log = Box::new(|line: &str| eprintln!("{line}"));
    quayline_server::serve(config, root, definitions, log, |address| eprintln!("listening on {address}")).map_err(
        |error| {
            let (what, hint) = match &error {
                ServeError::Listener(address, error) => (
                    format!("{address} cannot be listened on: {}", error.kind()),
                    "choose another address with --listen, or stop what uses it",
                ),
                other => (other.to_string(), "see `[serve]` in quayline.toml"),
            };
            Finding::error(CLI_LISTEN, Fault::Environment, what).hint(hint)
        },
    )?;
    Ok(Exit::Done)
}

/// Runs a study and prints its tables; rejected where a bar is missed.
pub(crate) fn measure(args: &MeasureArgs, _console: &Console) -> Result<Exit, Stop> {
    let MeasureCommand::Gateway(args) = &args.what;
    let options = StudyOptions {
        project: args.project.clone(),
        seconds: args.seconds,
        clients: args.clients.clone(),
        out: args.out.clone(),
        saturated_only: args.saturated,
        short: args.short,
    };
    let study = GatewayStudy::run(&options)
        .map_err(|why| Finding::error(CLI_MEASURE, Fault::Environment, why).hint("see what the server said above"))?;
    crate::console::write_stdout(study.tables().as_bytes())?;
    Ok(if study.holds() { Exit::Done } else { Exit::Rejected })
}

/// Processes that are no commands for people, so they are no part of the arguments: one that calls a COBOL program, one that is measured.
pub(crate) fn hidden(arguments: &[OsString]) -> Option<i32> {
    let (command, rest) = arguments.get(1..)?.split_first()?;
    match command.to_str()? {
        quayline_program::WORKER_ARGUMENT => Some(quayline_program::run_worker(rest)),
        quayline_measure::CHILD_ARGUMENT => Some(quayline_measure::run_child(rest)),
        _ => None,
    }
}
