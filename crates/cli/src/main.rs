//! The `quayline` command: arguments in, exit code out.
//!
//! Data goes to standard output, all other text to standard error. Functions that are independent of the command line (reading, converting,
//! detecting) are in the lower crates; this crate has arguments, text output, and exit codes.

mod admin;
mod apart;
mod api;
mod args;
mod cache;
mod capacity;
mod closed_output;
mod complete;
mod console;
mod convert;
mod copybook;
mod env_vars;
mod exit;
mod expected;
mod flow;
mod fmt;
mod guide;
mod infer;
mod input;
mod inspect;
mod interrupt;
mod job;
mod map;
mod memory;
mod named;
mod new_text;
mod operator;
mod partner;
mod progress;
mod project;
mod quantity;
mod queues;
#[cfg(test)]
mod reference;
mod renamed;
mod render;
mod serve;
mod service;
mod spelling;
mod store;
mod translate;
mod validate;
mod workload;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use args::{Cli, Command};
use console::Console;
use exit::{Exit, Stop};

fn main() -> ExitCode {
    // Comes first, because a process that calls a COBOL program has no command line.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = serve::hidden(&arguments) {
        std::process::exit(code);
    }
    exit::report_our_bugs();
    interrupt::survive_file_size_limit();
    ExitCode::from(exit::or_our_bug(run).code())
}

/// Runs the command of this process and reports the reason if it stopped.
fn run() -> Exit {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Err(error) = closed_output::refuse_writes() {
        return Stop::from(error).report(&Console::plain());
    }
    let cli = match Cli::of(&arguments) {
        Ok(cli) => cli,
        Err(answer) => return exit::answer_of_arguments(&answer, &arguments, expected::of(&answer, &arguments)),
    };
    let console = Console::new(cli.color, cli.command.json());
    cache::begin(cli.no_cache);
    let stopped = match cli.command {
        Command::Inspect(args) => inspect::run(&args, &console),
        Command::Convert(args) => convert::run(&args, &console),
        Command::Translate(args) => translate::run(&args, &console),
        Command::New(args) => project::new(&args, &console),
        Command::Check(args) => project::check(&args, &console),
        Command::Partner(args) => partner::run(&args, &console),
        Command::Transaction(args) => partner::run_transaction(&args, &console),
        Command::Interchange(args) => partner::run_interchange(&args, &console),
        Command::Envelope(args) => partner::run_envelope(&args, &console),
        Command::Serve(args) => serve::run(&args, &console),
        Command::Service(args) => service::run(&args, &console),
        Command::Api(args) => api::run(&args, &console),
        Command::Measure(args) => serve::measure(&args, &console),
        Command::Validate(args) => validate::run(&args, &console),
        Command::Guide(args) => guide::run(&args, &console),
        Command::Infer(args) => infer::run(&args, &console),
        Command::Map(args) => map::run(&args, &console),
        Command::Profile(args) => capacity::profile(&args, &console),
        Command::Predict(args) => capacity::predict(&args, &console),
        Command::Size(args) => capacity::size(&args, &console),
        Command::Calibrate(args) => capacity::calibrate(&args, &console),
        Command::Advise(args) => capacity::advise(&args, &console),
        Command::Report(args) => capacity::report(&args, &console),
        Command::CheckReport(args) => capacity::check_report(&args, &console),
        Command::Selftest(args) => capacity::selftest(&args, &console),
        Command::File(args) => store::run_file(&args, &console),
        Command::Queue(args) => store::run_queue(&args, &console),
        Command::Job(args) => job::run(&args, &console),
        Command::Store(args) => store::run(&args, &console),
        Command::Flow(args) => flow::run(&args, &console),
        Command::Completions(args) => complete::run(args.shell, &console),
    };
    let flushed = std::io::stdout().flush().map_err(Stop::from);
    match stopped.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        Err(stop) => stop.report(&console),
    }
}
