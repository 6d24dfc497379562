//! `quayline serve` and `quayline measure`.

use std::ffi::OsString;

use quayline_core::{Fault, Finding};
use quayline_gateway::Definitions;
use quayline_measure::{GatewayStudy, StudyOptions};
use quayline_server::ServeConfig;

use crate::args::{MeasureArgs, MeasureCommand, ServeArgs};
use crate::console::Console;
use crate::exit::{CLI_LISTEN, CLI_MEASURE, Exit, Stop};

/// Serves the project until it is told to stop.
pub(crate) fn run(args: &ServeArgs, _console: &Console) -> Result<Exit, Stop> {
    let root = std::fs::canonicalize(&args.project).unwrap_or_else(|_| args.project.clone());
    let mut config = ServeConfig::load(&root)?;
    if let Some(listen) = args.listen {
        config.listen = Some(listen);
        config.check()?;
    }
    config.threads = args.threads.or(config.threads);
    let definitions = Definitions::load(&root)?;
    let log = Box::new(|line: &str| eprintln!("{line}"));
    let listen = config.listen();
    quayline_server::serve(config, root, definitions, log, |address| eprintln!("listening on {address}")).map_err(
        |error| {
            Finding::error(CLI_LISTEN, Fault::Environment, format!("{listen} cannot be listened on: {}", error.kind()))
                .hint("choose another address with --listen, or stop what uses it")
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
