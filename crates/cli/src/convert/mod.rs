//! `quayline convert`: any format to any, no map.

mod definitions;
mod jobs;
mod progress;
mod recognise;
mod show_data;
mod stats;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quayline_convert::{Conversion, ConvertError, Rejects, Report, Start};
use quayline_core::Finding;

use crate::args::ConvertArgs;
use crate::console::{Console, shown};
use crate::exit::{Exit, Stop};
use crate::interrupt;
use crate::render::grouped;

use definitions::Definitions;
use jobs::{Job, jobs};
use progress::Bar;
use stats::{stats_json, stats_text};

/// Findings printed of one run; the rest is counted, and stands in full beside the rejects file.
const FINDINGS_SHOWN: usize = 10;

/// Converts each input in turn; the first that cannot be converted ends it.
pub(crate) fn run(args: &ConvertArgs, console: &Console) -> Result<Exit, Stop> {
    let jobs = jobs(args)?;
    let definitions = Definitions::read(args, &jobs, console)?;
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let mut exit = Exit::Done;
    for job in jobs {
        match convert(job, &definitions, args, &stop, console)? {
            Exit::Done => {}
            Exit::Rejected => exit = Exit::Rejected,
            other => return Ok(other),
        }
    }
    Ok(exit)
}

fn convert(
    mut job: Job,
    definitions: &Definitions,
    args: &ConvertArgs,
    stop: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Exit, Stop> {
    let source = shown(&job.input);
    let file = job.file.clone();
    let checkpoint = job.checkpoint.clone();
    let mut conversion =
        Conversion::new(job.source(definitions)?, job.target(definitions)?, Arc::clone(&definitions.schema));
    conversion.target_schema.clone_from(&definitions.target_schema);
    conversion.lanes = usize::from(args.jobs);
    conversion.cancel = Arc::clone(stop);
    conversion.rejects = match job.rejects {
        Some(path) => Rejects::File { path, max: args.max_rejects },
        None => Rejects::Stop,
    };
    conversion.checkpoints = job.checkpoint.map(|path| {
        let mut checkpoints = definitions.checkpoints(path);
        if args.resume {
            checkpoints.start = Start::Resume;
        }
        checkpoints
    });
    if !args.no_progress && !console.json() {
        conversion.progress = Bar::on_terminal().map(|bar| Box::new(bar) as Box<dyn quayline_convert::Progress>);
    }
    match conversion.run() {
        Ok(report) => {
            let shows = if args.show_data { file.as_deref() } else { None };
            Ok(tell(&source, &report, args, shows, definitions, console))
        }
        Err(ConvertError::ClosedPipe) => Err(Stop::ClosedPipe),
        Err(error) => {
            let mut findings = error.findings().0;
            if let (true, Some(file)) = (args.show_data, file.as_deref()) {
                show_data::add(&mut findings, file, definitions);
            }
            console.findings(&findings);
            Ok(exit_of(&error, &findings, checkpoint.as_deref(), console))
        }
    }
}

/// Which exit an early end has.
fn exit_of(
    error: &ConvertError,
    findings: &[Finding],
    checkpoint: Option<&std::path::Path>,
    console: &Console,
) -> Exit {
    match error {
        ConvertError::Stopped(stopped) if stopped.checkpoint.is_some() => Exit::Resumable,
        ConvertError::Stopped(_) => Exit::Interrupted,
        ConvertError::Io { .. } if checkpoint.is_some_and(std::path::Path::exists) => {
            console
                .note("\nhint: when that is mended, the same command with --resume goes on from the last checkpoint\n");
            Exit::Resumable
        }
        _ => Exit::of_findings(findings),
    }
}

/// Tells what is worth telling of a run that came to its end.
fn tell(
    source: &str,
    report: &Report,
    args: &ConvertArgs,
    shows: Option<&std::path::Path>,
    definitions: &Definitions,
    console: &Console,
) -> Exit {
    let shown_max = if console.json() { usize::MAX } else { FINDINGS_SHOWN };
    let mut findings: Vec<Finding> = report.findings.iter().take(shown_max).cloned().collect();
    if let Some(file) = shows {
        show_data::add(&mut findings, file, definitions);
    }
    console.findings(&findings);
    let rejected = report.tally.records_rejected;
    if rejected > 0 && !console.json() {
        let blank = if findings.is_empty() { "" } else { "\n" };
        let of = grouped(report.tally.records_in);
        let place = report.rejects.as_ref().map_or_else(String::new, |path| {
            let path = shown(path);
            format!(": {path} holds them whole, {path}.findings.jsonl says why")
        });
        console.note(&format!("{blank}{} of {of} records were rejected{place}\n", grouped(rejected)));
    }
    if args.stats {
        if console.json() {
            console.note(&format!("{}\n", stats_json(source, report)));
        } else {
            console.note(&stats_text(source, report));
        }
    }
    if rejected > 0 { Exit::Rejected } else { Exit::Done }
}
