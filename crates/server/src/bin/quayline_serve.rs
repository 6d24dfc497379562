//! The server alone, for tests of this crate; `quayline serve` is the product's command. Prints its address on standard output.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use quayline_gateway::Definitions;
use quayline_server::ServeConfig;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == quayline_program::WORKER_ARGUMENT) {
        std::process::exit(quayline_program::run_worker(&arguments[1..]));
    }
    let root = PathBuf::from(arguments.first().cloned().unwrap_or_else(|| ".".into()));
    let done = ServeConfig::load(&root)
        .and_then(|config| Ok((config, Definitions::load(&root)?)))
        .map_err(|findings| findings.to_string())
        .and_then(|(config, definitions)| {
            let log = Box::new(|line: &str| {
                let _ = writeln!(std::io::stderr(), "{line}");
            });
            let ready = |address| {
                let mut out = std::io::stdout();
                let _ = writeln!(out, "{address}").and_then(|()| out.flush());
            };
            quayline_server::serve(config, root, definitions, log, ready).map_err(|error| error.to_string())
        });
    if let Err(why) = done {
        let _ = writeln!(std::io::stderr(), "{why}");
        std::process::exit(2);
    }
}
