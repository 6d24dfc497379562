//! `quayline serve`.

use std::ffi::OsString;
use std::path::Path;

use quayline_core::{Fault, Finding};
use quayline_gateway::Definitions;
use quayline_server::ServeConfig;

use crate::args::ServeArgs;
use crate::console::Console;
use crate::exit::{CLI_LISTEN, Exit, Stop};

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

/// The process that calls a COBOL program: not a command for people, so it is no part of the arguments.
pub(crate) fn worker(arguments: &[OsString]) -> Option<i32> {
    let (command, rest) = arguments.get(1..)?.split_first()?;
    (command == Path::new(quayline_program::WORKER_ARGUMENT)).then(|| quayline_program::run_worker(rest))
}
