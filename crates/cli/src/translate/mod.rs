//! `quayline translate`: documents through a map.

mod acknowledge;
mod outputs;
mod unused;
mod world;

use std::fs;
use std::io::{BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use quayline_convert::{
    Checkpoints, ColumnsSurvey, Conversion, ConvertError, Destination, Input, MapStage, Rejects, Report, Source,
    definition_digest, partial_path,
};
use quayline_core::{Finding, Findings, Severity};
use quayline_edi::Rules;
use quayline_map::Coverage;
use quayline_pipeline::World;
use quayline_project::csv::{CsvStyle, Header};
use quayline_project::xml::XmlStyle;
use quayline_project::{
    ColumnsRead, EdiRead, EnvelopeValue, Form, JsonRead, MapFile, ShapeOptions, SourceFormat, check_envelope,
};

use crate::apart::Apart;
use crate::args::{DecompressArg, FromFormat, LimitArg, TranslateArgs, UnknownArg};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::convert::{
    Bar, Summary, foreign, is_lost, keep_profile, merged, partial_note, tell_errors, tell_rejected, tell_stats,
};
use crate::copybook::unreadable;
use crate::exit::{Exit, Stop, argument};
use crate::input::with_suffix;
use crate::input::{self, Opened};
use crate::interrupt;
use crate::named::{charset_named, edi_charset_named};

use crate::store::{Ends, record_file, record_file_framing, refuse_framing};

use acknowledge::Acknowledging;
use outputs::{Outputs, Wanted};

/// Translates each input in turn; the first that cannot be translated ends it.
pub(crate) fn run(args: &TranslateArgs, console: &Console) -> Result<Exit, Stop> {
    run_with(args, console, None)
}

/// Runs the command, and counts executed statements and source values.
pub(crate) fn run_covered(
    args: &TranslateArgs,
    console: &Console,
    coverage: &Arc<Mutex<Coverage>>,
) -> Result<Exit, Stop> {
    run_with(args, console, Some(Arc::clone(coverage)))
}

fn run_with(args: &TranslateArgs, console: &Console, coverage: Option<Arc<Mutex<Coverage>>>) -> Result<Exit, Stop> {
    let map = open(args)?;
    // Notes are for the author of the map, and `map check` prints them; a run does not repeat them.
    let worth_telling = |finding: &&Finding| match finding.severity {
        Severity::Error => true,
        Severity::Warning => !args.quiet,
        Severity::Note => !args.quiet && args.explain,
    };
    let findings: Vec<Finding> = map.findings.iter().filter(worth_telling).cloned().collect();
    console.findings(&findings);
    if args.explain {
        write_stdout(map.plan.explain().as_bytes())?;
        return Ok(Exit::Done);
    }
    let inputs = inputs(args)?;
    let several = inputs.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    let wanted = Wanted::read(args, &map)?;
    let jobs = inputs.iter().map(|input| Job::of(input, &wanted, several, args)).collect::<Result<Vec<_>, _>>()?;
    unused::refuse(args, &map, &jobs)?;
    keep_apart(args, &map, &wanted, &jobs)?;
    let stop = interrupt::stop_flag().map_err(Stop::from)?;
    let kept = match jobs.first() {
        Some(job) if args.resume => job.checkpoint.as_deref().map(Checkpoints::kept),
        _ => None,
    };
    let kept = kept.transpose().map_err(|error| Stop::from(error.findings()))?.flatten();
    check_envelope_of(args, &map)?;
    let world = Arc::new(world::read(args, &map.plan, kept.as_deref())?);
    let mut trace = args.trace.as_deref().map(trace_file).transpose()?;
    if coverage.is_some() && trace.is_none() {
        // The coverage needs a trace, whose output is discarded.
        trace = Some(Arc::new(Mutex::new(Box::new(std::io::sink()))));
    }
    let plan = Arc::new(map.plan.clone());
    let exit = Ends::during(&args.store, |ends| {
        let trace = trace.clone();
        let shared = Shared { map: &map, plan, world, wanted: &wanted, args, stop, trace, coverage, console, ends };
        let mut exit = Exit::Done;
        for (number, job) in jobs.iter().enumerate() {
            shared.world.set_unit(world::of_input(&shared.world, number));
            match shared.translate(job)? {
                Exit::Done => {}
                Exit::Rejected => exit = Exit::Rejected,
                other => return Ok(other),
            }
        }
        Ok(exit)
    })?;
    if let Some(trace) = &trace {
        trace.lock().unwrap_or_else(PoisonError::into_inner).flush().map_err(Stop::from)?;
    }
    Ok(exit)
}

/// Refuses envelope values that are unused or invalid.
fn check_envelope_of(args: &TranslateArgs, map: &MapFile) -> Result<(), Findings> {
    let of = |who: &Option<String>| who.as_deref().map(|who| who.rsplit(':').next().unwrap_or(who).to_owned());
    let options = [
        ("--sender", "sender", of(&args.sender)),
        ("--receiver", "receiver", of(&args.receiver)),
        ("--control-number", "control_number", args.control_number.clone()),
    ];
    let given = args.envelope.iter().filter_map(|text| text.split_once('='));
    let named: Vec<_> = given.map(|(name, value)| (name, value, format!("--envelope {name}"))).collect();
    let to_edi = map.targets.iter().any(|target| matches!(target.shape.form(), Form::Guide(_)));
    let mut values: Vec<EnvelopeValue<'_>> = Vec::new();
    for (option, name, value) in &options {
        let must_be_taken = !to_edi;
        values.extend(value.as_deref().map(|value| EnvelopeValue { name, value, option, must_be_taken }));
    }
    values.extend(named.iter().map(|(name, value, option)| EnvelopeValue { name, value, option, must_be_taken: true }));
    check_envelope(map, &values, argument)
}

/// Refuses runs that would overwrite their input or their own output.
fn keep_apart(args: &TranslateArgs, map: &MapFile, wanted: &Wanted, jobs: &[Job]) -> Result<(), Stop> {
    let mut apart = Apart::default();
    jobs.iter().for_each(|job| apart.reads(&job.input));
    map.files.iter().for_each(|file| apart.reads(file));
    let lookups = args.lookup.iter().filter_map(|lookup| lookup.split_once('='));
    lookups.for_each(|(_, file)| apart.reads(Path::new(file)));
    for path in jobs.iter().filter_map(|job| job.rejects.as_deref()).filter(|path| Destination::is_file(path)) {
        apart.writes(path)?;
        apart.writes(&with_suffix(path, ".findings.jsonl"))?;
    }
    for job in jobs {
        for path in job.outputs.files().chain(job.ack.as_deref()).chain(job.checkpoint.as_deref()) {
            apart.writes(path)?;
        }
    }
    args.trace.iter().chain(&args.profile).try_for_each(|path| apart.writes(path))?;
    // With --split, there is one input.
    let mut folders = jobs.iter().take(1).flat_map(|job| job.outputs.folders(wanted));
    folders.try_for_each(|(folder, extension)| apart.splits(folder, extension))
}

/// Returns the digest of a file without loading it whole. It digests each piece together with the digest of the pieces before.
fn digest_of(path: &Path) -> Result<u64, Stop> {
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let (mut digest, mut piece) = (0u64, Vec::new());
    loop {
        piece.clear();
        (&file).take(PIECE).read_to_end(&mut piece).map_err(|error| unreadable(path, &error))?;
        if piece.is_empty() {
            return Ok(digest);
        }
        digest = definition_digest([&digest.to_le_bytes()[..], &piece]);
    }
}

/// Bytes of a file that are digested at once.
const PIECE: u64 = 1 << 20;

/// Opens the file of a trace.
fn trace_file(path: &Path) -> Result<Arc<Mutex<Box<dyn Write + Send>>>, Stop> {
    if path == Path::new("-") || !Destination::is_file(path) {
        return Err(argument(format!("{} is not a regular file", shown(path))).hint("a trace goes to a file").into());
    }
    let file = fs::File::create(path).map_err(|error| unreadable(path, &error))?;
    Ok(Arc::new(Mutex::new(Box::new(BufWriter::new(file)))))
}

/// Opens the map, with its shapes completed by the arguments.
fn open(args: &TranslateArgs) -> Result<MapFile, Stop> {
    let options = |encoding: &Option<String>, framing: &Option<String>| -> Result<ShapeOptions, Stop> {
        let encoding = encoding.as_deref().map(charset_named).transpose()?;
        let limits = LimitArg::limits(&args.limit);
        Ok(ShapeOptions { encoding, framing: framing.clone(), limits, cache: cache(), ..ShapeOptions::default() })
    };
    let source = options(&args.from_encoding, &args.from_framing)?;
    let target = options(&args.to_encoding, &args.to_framing)?;
    Ok(MapFile::open(&args.map, &source, &target)?)
}

/// Returns the inputs, including the files of folders by name.
fn inputs(args: &TranslateArgs) -> Result<Vec<PathBuf>, Stop> {
    let mut inputs = Vec::new();
    for input in &args.inputs {
        if input == Path::new("-") || !input.is_dir() {
            inputs.push(input.clone());
            continue;
        }
        let entries = fs::read_dir(input).map_err(|error| unreadable(input, &error))?;
        let mut files: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
        files.sort();
        if files.is_empty() {
            return Err(argument(format!("there is no file in {}", shown(input)))
                .hint("name a folder that holds some")
                .into());
        }
        inputs.extend(files);
    }
    if inputs.iter().filter(|input| *input == Path::new("-")).count() > 1 {
        return Err(argument("standard input can be read once only").hint("name `-` once").into());
    }
    Ok(inputs)
}

/// One translation to do.
struct Job {
    input: PathBuf,
    /// True if it begins like a columnar file.
    columns: bool,
    outputs: Outputs,
    rejects: Option<PathBuf>,
    ack: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
}

impl Job {
    fn of(input: &Path, wanted: &Wanted, several: bool, args: &TranslateArgs) -> Result<Job, Stop> {
        let stdin = input == Path::new("-");
        let (mut compression, mut columns) = (None, false);
        if !stdin && record_file(input).is_none() {
            // Reading from a pipe here would lose data.
            if input.is_file() {
                let opened = input::open(input, DecompressArg::Auto)?;
                compression = opened.compression;
                columns = ColumnsSurvey::recognizes(&opened.head);
                if let Some(finding) = foreign(input, &opened.head, "translate") {
                    return Err(finding.into());
                }
            } else {
                fs::File::open(input).map_err(|error| unreadable(input, &error))?;
            }
        }
        let outputs = Outputs::of(input, wanted, several)?;
        let beside = |folder: &Option<PathBuf>, what: &str| -> Result<Option<PathBuf>, Stop> {
            match folder {
                Some(folder) if folder.is_dir() => {
                    let name = input.file_name().filter(|_| !stdin).ok_or_else(|| {
                        argument(format!("standard input has no name for its {what}")).hint("name a file, not a folder")
                    })?;
                    Ok(Some(folder.join(name)))
                }
                Some(path) if several => {
                    let finding = argument(format!(
                        "the {what} of several inputs need a folder, and {} is not a folder",
                        shown(path)
                    ));
                    Err(finding.hint("make the folder first").into())
                }
                path => Ok(path.clone()),
            }
        };
        let rejects = beside(&args.rejects, "rejects")?;
        let ack = beside(&args.ack_output, "acknowledgments")?;
        let read_again = !stdin && record_file(input).is_none() && !columns && compression.is_none();
        let regular = read_again && fs::metadata(input).is_ok_and(|meta| meta.is_file());
        let files_only = outputs.are_files() && rejects.iter().all(|path| Destination::is_file(path));
        // A pipe can be read only once, so a later run could not compare its tables with it.
        let mut tables = args.lookup.iter().filter_map(|lookup| lookup.split_once('='));
        let are_files = tables.all(|(_, file)| Path::new(file).is_file() || !Path::new(file).exists());
        let resumable = regular && files_only && are_files && outputs.can_resume() && args.trace.is_none();
        if (args.resume || args.checkpoint.is_some()) && !are_files {
            let finding = argument("a table of --lookup is not a regular file, so a later run cannot compare it");
            return Err(finding.hint("write the table to a file, or leave --checkpoint and --resume out").into());
        }
        if (args.resume || args.checkpoint.is_some()) && (!resumable || several) {
            let finding = argument("only a translation from one file to files of lines or records can be resumed");
            return Err(finding.hint("leave --checkpoint and --resume out").into());
        }
        let checkpoint = match (&args.checkpoint, outputs.first_file()) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(output)) if resumable => Some(with_suffix(output, ".checkpoint")),
            _ => None,
        };
        Ok(Job { input: input.to_owned(), columns, outputs, rejects, ack, checkpoint })
    }
}

/// State shared by all jobs.
struct Shared<'a> {
    map: &'a MapFile,
    plan: Arc<quayline_map::MapPlan>,
    world: Arc<World>,
    wanted: &'a Wanted,
    args: &'a TranslateArgs,
    stop: Arc<AtomicBool>,
    trace: Option<Arc<Mutex<Box<dyn Write + Send>>>>,
    coverage: Option<Arc<Mutex<Coverage>>>,
    console: &'a Console,
    ends: &'a Ends<'a>,
}

impl Shared<'_> {
    fn translate(&self, job: &Job) -> Result<Exit, Stop> {
        let args = self.args;
        let mut targets = job.outputs.targets(self.wanted, self.ends)?;
        let mut format = self.source_format(job)?;
        if record_file(&job.input).is_some() {
            if !matches!(format, SourceFormat::Records(_)) {
                let finding = argument("the map's source is not records, and a record file holds records");
                return Err(finding.hint("name a file of the source's format").into());
            }
            refuse_framing("--from-framing", self.args.from_framing.is_some())?;
            format = SourceFormat::Records(record_file_framing());
        }
        let name = if job.input == Path::new("-") { "<stdin>".to_owned() } else { shown(&job.input) };
        let (input, acknowledging) = self.input(job, &format, &name)?;
        let source = Source { name: name.as_str().into(), input, format };
        let first = targets.remove(0);
        let mut conversion = Conversion::new(source, first, Arc::clone(self.map.source.schema()));
        conversion.map = Some(MapStage {
            plan: Arc::clone(&self.plan),
            schemas: self.map.targets.iter().map(|target| Arc::clone(target.shape.schema())).collect(),
            more: targets,
            world: Arc::clone(&self.world),
            spool_folder: job.outputs.spool_folder(),
            trace: self.trace.clone(),
            coverage: self.coverage.clone(),
        });
        conversion.limits = LimitArg::limits(&args.limit);
        conversion.lanes = usize::from(args.jobs);
        conversion.cancel = Arc::clone(&self.stop);
        conversion.rejects = match &job.rejects {
            Some(path) => Rejects::File { path: path.clone(), max: args.max_rejects },
            None => Rejects::Stop,
        };
        if let Some(path) = &job.checkpoint {
            let mut checkpoints = Checkpoints::new(path.clone(), self.digest()?);
            checkpoints.every_bytes = args.checkpoint_every as u64;
            checkpoints.run = world::kept(&self.world);
            if args.resume {
                let note = checkpoints.resume().filter(|_| !args.quiet);
                self.console.findings(note.as_slice());
            }
            conversion.checkpoints = Some(checkpoints);
        }
        if !args.no_progress && !args.quiet && !self.console.json() {
            conversion.progress = Bar::on_terminal().map(|bar| Box::new(bar) as Box<dyn quayline_convert::Progress>);
        }
        let early = Arc::new(Mutex::new(None));
        conversion.early = Some(Arc::clone(&early));
        let done = conversion.run();
        let acknowledged = acknowledging.map_or(Ok(()), |acknowledging| acknowledging.finish(done.is_ok()));
        let exit = match done {
            Ok(report) => {
                self.warn_of_xml(job, &report);
                self.tell(&name, &report)
            }
            Err(ConvertError::ClosedPipe) => return Err(Stop::closed_pipe(job.ack.iter().chain(&job.rejects))),
            Err(error) => {
                let early = early.lock().ok().and_then(|mut early| early.take());
                self.ended(&name, job, &error, early.as_ref())
            }
        };
        acknowledged?;
        Ok(exit)
    }

    /// Returns the format of the source.
    fn source_format(&self, job: &Job) -> Result<SourceFormat, Stop> {
        let args = self.args;
        let form = self.map.source.form();
        let ignore_unknown = args.unknown == Some(UnknownArg::Ignore);
        let columns = SourceFormat::Columns(ColumnsRead { ignore_unknown });
        let by_columns = args.from.map_or(job.columns, |from| matches!(from, FromFormat::Parquet | FromFormat::Arrow));
        if by_columns && !matches!(form, Form::Guide(_)) {
            return Ok(columns);
        }
        if let Some(from) = args.from {
            return match (form, from) {
                (Form::Guide(_), FromFormat::Edi) | (Form::Records { .. }, FromFormat::Record) => {
                    self.of_shape(ignore_unknown)
                }
                (Form::Guide(_) | Form::Records { .. }, _)
                | (_, FromFormat::Edi | FromFormat::Record | FromFormat::Parquet | FromFormat::Arrow) => {
                    let finding = argument("the map's source has another format than --from");
                    Err(finding
                        .hint("leave --from out; records and EDI follow from the copybook or guide of the source")
                        .into())
                }
                (_, FromFormat::Json) => Ok(SourceFormat::Json(JsonRead { ignore_unknown })),
                (_, FromFormat::Csv) => Ok(csv(
                    match form {
                        Form::Csv(style) => *style,
                        _ => CsvStyle::default(),
                    },
                    ignore_unknown,
                )),
                (_, FromFormat::Xml) => Ok(SourceFormat::Xml(XmlStyle { ignore_unknown, ..outputs::xml_of(form) })),
            };
        }
        self.of_shape(ignore_unknown)
    }

    fn of_shape(&self, ignore_unknown: bool) -> Result<SourceFormat, Stop> {
        let args = self.args;
        Ok(match self.map.source.source()? {
            SourceFormat::Edi(read) => SourceFormat::Edi(EdiRead {
                rules: if args.strict { Rules::Strict } else { Rules::Lenient },
                charset: args.from_encoding.as_deref().map(edi_charset_named).transpose()?,
                level: args.level,
                ..read
            }),
            SourceFormat::Json(_) => SourceFormat::Json(JsonRead { ignore_unknown }),
            SourceFormat::Columns(_) => SourceFormat::Columns(ColumnsRead { ignore_unknown }),
            SourceFormat::Csv(style) => csv(style, ignore_unknown),
            SourceFormat::Xml(style) => SourceFormat::Xml(XmlStyle { ignore_unknown, ..style }),
            other => other,
        })
    }

    /// Opens the source; if it is acknowledged, it is read twice.
    fn input(&self, job: &Job, format: &SourceFormat, name: &str) -> Result<(Input, Option<Acknowledging>), Stop> {
        let Some(path) = &job.ack else {
            let path = job.input.as_path();
            let opened = match record_file(path) {
                Some(name) => Opened::of_stream(self.ends.reader(name)?),
                None => input::open(path, DecompressArg::Auto)?,
            };
            return Ok((opened.into_input(path), None));
        };
        let SourceFormat::Edi(read) = format else {
            return Err(argument("--ack needs EDI input").hint("leave it out").into());
        };
        // A file can be read by two, so that the translation can be resumed; other bytes come once.
        let (input, other) = match job.input.as_path() {
            file if file != Path::new("-")
                && fs::metadata(file).is_ok_and(|meta| meta.is_file())
                && input::open(file, DecompressArg::Auto)?.compression.is_none() =>
            {
                (Input::File(file.to_owned()), Input::File(file.to_owned()))
            }
            file => {
                let reader = input::open(file, DecompressArg::Auto)?.into_reader(file)?;
                let (reader, pieces) = acknowledge::shared(reader);
                (Input::Stream(reader), Input::Stream(pieces))
            }
        };
        let acknowledging = acknowledge::start(other, read, path, name, self.args, &self.world)?;
        Ok((input, Some(acknowledging)))
    }

    /// Returns a digest of all settings that affect the output except the formats: the map with its shapes, its tables, and the arguments.
    fn digest(&self) -> Result<u64, Stop> {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for file in &self.map.files {
            parts.push(fs::read(file).map_err(|error| unreadable(file, &error))?);
        }
        let args = self.args;
        for lookup in &args.lookup {
            let (name, file) = lookup.split_once('=').unwrap_or((lookup, ""));
            parts.push(name.as_bytes().to_vec());
            parts.push(digest_of(Path::new(file))?.to_le_bytes().to_vec());
        }
        let settings = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            args.from_encoding,
            args.to_encoding,
            args.from_framing,
            args.to_framing,
            args.to,
            args.envelope,
            args.sender,
            args.receiver,
            args.control_number,
            args.function,
            args.function_folder
        );
        parts.push(settings.into_bytes());
        Ok(definition_digest(parts.iter().map(Vec::as_slice)))
    }

    /// Reports a run that did not complete.
    fn ended(&self, name: &str, job: &Job, error: &ConvertError, early: Option<&Report>) -> Exit {
        let mut findings = self.ends.failed().unwrap_or_else(|| error.findings().0);
        findings.iter_mut().for_each(with_envelope_hint);
        let resumable = match error {
            ConvertError::Stopped(stopped) => stopped.checkpoint.is_some(),
            ConvertError::Io { .. } => job.checkpoint.as_deref().is_some_and(Path::exists),
            _ => false,
        };
        let exit = match error {
            _ if resumable => Exit::Resumable,
            ConvertError::Stopped(_) => Exit::Interrupted,
            _ => Exit::of_findings(&findings),
        };
        let partial = job.outputs.first_file().map(partial_path).filter(|partial| partial.exists());
        if let (Some(partial), false) = (partial, matches!(error, ConvertError::Stopped(_))) {
            let note = partial_note(&partial);
            findings.push(match error {
                ConvertError::Refused(_) if self.args.rejects.is_none() => note
                    .hint("if the error is in one document, run again with --rejects FILE and without --resume to continue past such documents"),
                ConvertError::Io { .. } if resumable => {
                    note.hint("after the fix, the same command with --resume continues from the last checkpoint")
                }
                _ => note,
            });
        }
        // A resumed run begins after what this run translated, and does not find it again.
        if let Some(report) = early {
            self.tell_findings(report, |finding| is_lost(report, finding));
        }
        let findings = if self.console.json() { findings } else { merged(findings) };
        self.console.findings(&findings);
        if let (true, Some(report)) = (self.args.stats, early) {
            tell_stats(name, report, self.console);
        }
        exit
    }

    /// Prints findings of a run about its documents.
    fn tell_findings(&self, report: &Report, is_worth: impl Fn(&Finding) -> bool) {
        let is_loud = |finding: &Finding| !self.args.quiet || finding.severity == Severity::Error;
        let mut summary = Summary::of(report, self.console, |finding| is_loud(finding) && is_worth(finding));
        summary.findings.iter_mut().for_each(with_envelope_hint);
        summary.tell(self.console);
    }

    /// Prints the summary of a completed run.
    fn tell(&self, name: &str, report: &Report) -> Exit {
        self.tell_findings(report, |_| true);
        if let Some(misfit) = &report.misfit {
            self.console.findings(std::slice::from_ref(misfit));
        }
        let rejected = tell_rejected(report, "document", self.console);
        if self.args.stats {
            tell_stats(name, report, self.console);
        }
        if report.errors_before > 0 {
            tell_errors(report, "document", self.console);
        }
        let unwritten = keep_profile("translate", "document", report, self.args.profile.as_deref(), self.console);
        if rejected + report.errors > 0 { Exit::Rejected } else { unwritten.unwrap_or(Exit::Done) }
    }

    /// Warns that documents of an XML schema have no enclosing element: a file with several is not an XML document.
    fn warn_of_xml(&self, job: &Job, report: &Report) {
        if report.documents > 1 && job.outputs.has_bare_xml(self.wanted) && !self.args.quiet {
            let message = "the output holds several XML documents in sequence, which is not an XML document";
            let finding = Finding { severity: Severity::Warning, ..argument(message) };
            self.console.findings(&[finding.hint("give each a file of its own: --split DIR")]);
        }
    }
}

/// Adds the hint that a missing header field can be given on the command line.
fn with_envelope_hint(finding: &mut Finding) {
    if finding.code == quayline_edi::EdiWriteError::FIELD_MISSING {
        finding.hint =
            Some("set it in the map, or name it with --sender, --receiver or --envelope NAME=VALUE".to_owned());
    }
}

/// Returns the format of CSV whose header may have columns that the source does not know.
fn csv(style: CsvStyle, ignore_unknown: bool) -> SourceFormat {
    let header = match style.header {
        Header::Present if ignore_unknown => Header::Open,
        header => header,
    };
    SourceFormat::Csv(CsvStyle { header, ..style })
}
