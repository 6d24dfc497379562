//! `quayline convert`: any format to any, no map.

mod definitions;
mod jobs;
mod recognise;
mod show_data;
mod stats;
mod summary;
mod unused;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use quayline_convert::{Conversion, ConvertError, Destination, Rejects, Report, partial_path};
use quayline_core::{Fault, Finding, Severity};
use quayline_meter::Profile;

use crate::apart::Apart;
use crate::args::{ConvertArgs, FromFormat, LimitArg};
use crate::console::{Console, shown};
use crate::exit::{CLI_PARTIAL, Exit, Stop, argument};
use crate::input::with_suffix;
use crate::interrupt;
use crate::memory;
use crate::render::{count_of, grouped};
use crate::store::Ends;

pub(crate) use crate::progress::Bar;
pub(crate) use definitions::output_check;
pub(crate) use jobs::{check_compression, check_interchanges, foreign, no_folder};
pub(crate) use recognise::{extension_of, source_format, target_format};
use stats::{stats_json, stats_text};
pub(crate) use summary::{Summary, merged};

use definitions::Definitions;
use jobs::{Job, jobs};

/// Converts each input in turn; the first that cannot be converted ends it.
pub(crate) fn run(args: &ConvertArgs, console: &Console) -> Result<Exit, Stop> {
    memory::give_large_blocks_back();
    Ends::during(&args.store, |ends| run_all(args, ends, console))
}

fn run_all(args: &ConvertArgs, ends: &Ends<'_>, console: &Console) -> Result<Exit, Stop> {
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let mut exit = Exit::Done;
    let types = if args.by_type { definitions::types(args)?.into_iter().map(Some).collect() } else { vec![None] };
    keep_types_apart(args, types.iter().flatten().map(|only| only.name.as_str()), ends)?;
    for only in types {
        let mut jobs = jobs(args, ends)?;
        if let Some(only) = &only {
            check_by_type(args, &jobs)?;
            jobs.iter_mut().for_each(|job| job.of_type(&only.name));
        }
        if args.profile.is_some() && (jobs.len() > 1 || args.by_type) {
            let finding = argument(format!("--profile is for one run, and this command has {}", jobs.len()));
            return Err(finding.hint("convert one input at a time to profile it").into());
        }
        unused::refuse(args, &jobs)?;
        let definitions = Definitions::read(args, &jobs, only.as_ref(), console)?;
        keep_apart(args, &jobs, &definitions.files)?;
        for job in jobs {
            match convert(job, &definitions, args, &stop, console, ends)? {
                Exit::Done => {}
                Exit::Rejected => exit = Exit::Rejected,
                other => return Ok(other),
            }
        }
    }
    Ok(exit)
}

/// Refuses record types and inputs whose files have one name: `orders-OLD` of type `CUST` and `orders` of type `OLD-CUST`.
fn keep_types_apart<'t>(args: &ConvertArgs, types: impl Iterator<Item = &'t str>, ends: &Ends<'_>) -> Result<(), Stop> {
    if !args.by_type {
        return Ok(());
    }
    let jobs = jobs(args, ends)?;
    check_by_type(args, &jobs)?;
    let mut apart = Apart::default();
    for name in types {
        for job in &jobs {
            let (output, rejects) = job.files_of_type(name);
            output.iter().chain(&rejects).try_for_each(|path| apart.writes(path))?;
        }
    }
    Ok(())
}

/// Refuses runs that would overwrite their inputs, their definitions or their own output.
fn keep_apart(args: &ConvertArgs, jobs: &[Job], definitions: &[PathBuf]) -> Result<(), Stop> {
    let mut apart = Apart::default();
    jobs.iter().for_each(|job| apart.reads(&job.input));
    let named = args.copybook.iter().chain(&args.interface).chain(&args.guide);
    named.chain(definitions).for_each(|file| apart.reads(file));
    for job in jobs {
        if let Some(path) = job.rejects.as_deref().filter(|path| Destination::is_file(path)) {
            apart.writes(path)?;
            apart.writes(&with_suffix(path, ".findings.jsonl"))?;
        }
        job.output.iter().chain(&job.checkpoint).try_for_each(|path| apart.writes(path))?;
    }
    args.profile.iter().try_for_each(|path| apart.writes(path))?;
    jobs.iter().filter_map(Job::folder).try_for_each(|(folder, extension)| apart.splits(folder, extension))
}

/// Checks the options for conversion by type: each type is read from the start of its input and written to a folder.
fn check_by_type(args: &ConvertArgs, jobs: &[Job]) -> Result<(), Stop> {
    if let Some(output) = args.output.as_deref().filter(|output| !output.is_dir()) {
        return Err(no_folder(output).into());
    }
    if let Some(job) = jobs.iter().find(|job| job.from != FromFormat::Record || job.file.is_none()) {
        let finding = argument(format!("{} is not a file of records, which --by-type needs", shown(&job.input)));
        return Err(finding.hint("name a regular file of records; it is read once for each type").into());
    }
    Ok(())
}

fn convert(
    mut job: Job,
    definitions: &Definitions,
    args: &ConvertArgs,
    stop: &Arc<AtomicBool>,
    console: &Console,
    ends: &Ends<'_>,
) -> Result<Exit, Stop> {
    let source = shown(&job.input);
    let unit = if job.from == FromFormat::Edi { "transaction" } else { "record" };
    let file = job.file.clone();
    let output = job.output.clone();
    let checkpoint = job.checkpoint.clone();
    let mut conversion =
        Conversion::new(job.source(definitions)?, job.target(definitions, ends)?, job.schema_of(definitions));
    conversion.target_schema.clone_from(&definitions.target_schema);
    conversion.lanes = usize::from(args.jobs);
    conversion.limits = LimitArg::limits(&args.reading.source.limit);
    conversion.cancel = Arc::clone(stop);
    conversion.rejects = match job.rejects {
        Some(path) => Rejects::File { path, max: args.max_rejects },
        None => Rejects::Stop,
    };
    conversion.checkpoints = job.checkpoint.map(|path| {
        let mut checkpoints = definitions.checkpoints(path);
        if args.resume {
            console.findings(checkpoints.resume().as_slice());
        }
        checkpoints
    });
    if !args.no_progress && !console.json() {
        conversion.progress = Bar::on_terminal().map(|bar| Box::new(bar) as Box<dyn quayline_convert::Progress>);
    }
    let found = output.as_deref().and_then(left_behind);
    let early = Arc::new(Mutex::new(None));
    conversion.early = Some(Arc::clone(&early));
    let shows = if args.show_data { file.as_deref() } else { None };
    match conversion.run() {
        Ok(report) => Ok(tell(&source, unit, &report, args, shows, definitions, console)),
        Err(ConvertError::ClosedPipe) => Err(Stop::closed_pipe(&args.rejects)),
        Err(error) => {
            let mut findings = ends.failed().unwrap_or_else(|| error.findings().0);
            if unit == "transaction" {
                without_records(&mut findings);
            }
            if let Some(file) = shows {
                show_data::add(&mut findings, file, definitions);
            }
            let resumable = resumable(&error, checkpoint.as_deref());
            let exit = match &error {
                _ if resumable => Exit::Resumable,
                ConvertError::Stopped(_) => Exit::Interrupted,
                _ => Exit::of_findings(&findings),
            };
            // Ignore the partial file of an earlier run.
            let left = output.filter(|output| left_behind(output) != found);
            findings.extend(left.and_then(|output| incomplete(&output, &error, resumable, args)));
            let early = early.lock().ok().and_then(|mut early| early.take());
            // A resumed run begins after what this run converted, and does not find it again.
            if let Some(report) = &early {
                let is_worth = |finding: &Finding| is_lost(report, finding);
                tell_findings(unit, report, is_worth, shows, definitions, console);
            }
            let findings = if console.json() { findings } else { merged(findings) };
            console.findings(&findings);
            if let (true, Some(report)) = (args.stats, early) {
                tell_stats(&source, &report, console);
            }
            Ok(exit)
        }
    }
}

/// Returns true if `--resume` can continue a run that ended early: it was stopped or failed because of the environment, and there is a checkpoint.
fn resumable(error: &ConvertError, checkpoint: Option<&Path>) -> bool {
    match error {
        ConvertError::Stopped(stopped) => stopped.checkpoint.is_some(),
        ConvertError::Io { .. } => checkpoint.is_some_and(Path::exists),
        _ => false,
    }
}

/// Returns length and time of the partial file of an output, if it exists.
fn left_behind(output: &Path) -> Option<(u64, Option<std::time::SystemTime>)> {
    let meta = partial_path(output).metadata().ok()?;
    Some((meta.len(), meta.modified().ok()))
}

/// Returns the note that an output keeps its partial name.
pub(crate) fn partial_note(partial: &Path) -> Finding {
    let is_empty = partial.metadata().is_ok_and(|meta| meta.len() == 0);
    let mut magic = [0; 4];
    let is_parquet = File::open(partial).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PAR1";
    let state = match (is_empty, is_parquet) {
        (true, _) => "is still empty",
        (false, true) => "lacks the footer of Parquet, so readers refuse it",
        (false, false) => "holds what was done",
    };
    let message = format!("the output is not complete: {} {state}", shown(partial));
    Finding { severity: Severity::Note, ..Finding::error(CLI_PARTIAL, Fault::Environment, message) }
}

/// Returns a note about the partial output of a run, if there is one.
fn incomplete(output: &Path, error: &ConvertError, resumable: bool, args: &ConvertArgs) -> Option<Finding> {
    let partial = partial_path(output);
    // A run that was stopped names it itself.
    if matches!(error, ConvertError::Stopped(_)) || !partial.exists() {
        return None;
    }
    let finding = partial_note(&partial);
    Some(match error {
        ConvertError::Io { .. } if resumable => {
            finding.hint("after the fix, the same command with --resume continues from the last checkpoint")
        }
        ConvertError::Refused(findings)
            if args.rejects.is_none() && findings.first_error().is_some_and(is_of_a_record) =>
        {
            finding
                .hint("to continue past records that do not convert, run again with --rejects FILE, without --resume")
        }
        _ => finding,
    })
}

/// Returns true if a finding refuses one record, as opposed to the framing, whose loss affects all following records.
fn is_of_a_record(finding: &Finding) -> bool {
    finding.fault == Fault::Sender && finding.place.record.is_some() && !finding.code.0.starts_with("FRM-")
}

/// Returns true if only the report of a run that ended early has a finding: errors of rejected documents stand beside them.
pub(crate) fn is_lost(report: &Report, finding: &Finding) -> bool {
    report.rejects.is_none() || finding.severity != Severity::Error
}

/// Prints findings of a run about its records.
fn tell_findings(
    unit: &str,
    report: &Report,
    is_worth: impl Fn(&Finding) -> bool,
    shows: Option<&Path>,
    definitions: &Definitions,
    console: &Console,
) {
    let mut summary = Summary::of(report, console, is_worth);
    if let Some(file) = shows {
        show_data::add(&mut summary.findings, file, definitions);
    }
    if unit == "transaction" {
        without_records(&mut summary.findings);
    }
    summary.tell(console);
}

/// Prints the summary of a completed run.
fn tell(
    source: &str,
    unit: &str,
    report: &Report,
    args: &ConvertArgs,
    shows: Option<&Path>,
    definitions: &Definitions,
    console: &Console,
) -> Exit {
    tell_findings(unit, report, |_| true, shows, definitions, console);
    if let Some(misfit) = &report.misfit {
        console.findings(std::slice::from_ref(misfit));
    }
    let rejected = tell_rejected(report, unit, console);
    if args.stats {
        tell_stats(source, report, console);
    }
    let unwritten = keep_profile("convert", unit, report, args.profile.as_deref(), console);
    if report.errors > 0 {
        tell_errors(report, unit, console);
    }
    if rejected + report.errors > 0 { Exit::Rejected } else { unwritten.unwrap_or(Exit::Done) }
}

/// Writes the cost profile of a run if requested. Returns the exit code if that fails.
pub(crate) fn keep_profile(
    kind: &str,
    unit: &str,
    report: &Report,
    path: Option<&Path>,
    console: &Console,
) -> Option<Exit> {
    let mut profile = Profile::of_run(kind, unit, &report.cost);
    for class in &mut profile.classes {
        (class.bytes_in, class.bytes_out) = (report.source_bytes, report.output_bytes);
    }
    let finding = crate::capacity::write_profile(&profile, path?).err()?;
    let exit = Exit::of_findings(std::slice::from_ref(&*finding));
    console.findings(std::slice::from_ref(&*finding));
    Some(exit)
}

/// Interchanges have places of their own; the number of the document stands in the findings beside the rejects.
fn without_records(findings: &mut [Finding]) {
    findings.iter_mut().for_each(|finding| finding.place.record = None);
}

/// Prints and returns the number of rejected documents, with the guides that judged and the files.
pub(crate) fn tell_rejected(report: &Report, unit: &str, console: &Console) -> u64 {
    let rejected = report.tally.records_rejected;
    if rejected > 0 {
        let of = count_of(report.tally.records_in, unit);
        let guides = match &report.guides[..] {
            [] => String::new(),
            [one] => format!(", checked by guide {one}"),
            many => format!(", checked by guides {}", many.join(", ")),
        };
        let place = report.rejects.as_ref().map_or_else(String::new, |path| {
            let path = shown(path);
            format!(": {path} contains the rejected ones, {path}.findings.jsonl the reasons")
        });
        console.paragraph(&format!("{} of {of} rejected{guides}{place}", grouped(rejected)));
    }
    rejected
}

/// Prints the number of errors that reject nothing, and how many of them an earlier run reported.
pub(crate) fn tell_errors(report: &Report, unit: &str, console: &Console) {
    let verb = |count, one: &'static str, many| if count == 1 { one } else { many };
    let (errors, before) = (report.errors, report.errors_before);
    let earlier = if before > 0 {
        let precede = verb(before, "precedes", "precede");
        format!("; {} {precede} the checkpoint from which this run resumed", count_of(before, "error"))
    } else {
        String::new()
    };
    let (counted, reject) = (count_of(errors, "error"), verb(errors, "rejects", "reject"));
    let message = format!("{counted} outside of {unit}s {reject} none of them, but something is wrong{earlier}");
    console.paragraph(&message);
}

pub(crate) fn tell_stats(source: &str, report: &Report, console: &Console) {
    if console.json() {
        console.line(&stats_json(source, report));
    } else {
        console.paragraph(&stats_text(source, report));
    }
}
