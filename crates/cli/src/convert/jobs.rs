//! From where to where: one job for each input.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Cursor, IsTerminal as _, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use quayline_convert::{Destination, Input, Output, Source, Target};
use quayline_edi::{EdiWriterOptions, Rules};
use quayline_project::{EdiDocuments, EdiRead, JsonRead, JsonWrite, ParquetWrite, SourceFormat, TargetFormat};

use super::definitions::Definitions;
use super::recognise::{
    HEAD_BYTES, KNOWN_EXTENSIONS, columnar, extension_of, packed_by, source_format, target_format, unread_edi,
};
use crate::args::{ConvertArgs, FromFormat, ToFormat};
use crate::console::shown;
use crate::copybook::unreadable;
use crate::exit::{Stop, argument};
use crate::store::{Ends, record_file, record_file_framing, refuse_framing};
use quayline_core::{Finding, Findings};

/// One conversion to do.
pub(crate) struct Job {
    /// The input as the user named it.
    pub(crate) input: PathBuf,
    /// The input's path, where it is a regular file.
    pub(crate) file: Option<PathBuf>,
    /// Its format.
    pub(crate) from: FromFormat,
    /// The format to write.
    pub(crate) to: ToFormat,
    /// Whether documents are segments of interchanges.
    pub(crate) rows: bool,
    /// The folder that gets a file for each document.
    pub(crate) split: Option<PathBuf>,
    /// The file to write; standard output without one.
    pub(crate) output: Option<PathBuf>,
    /// The rejects file.
    pub(crate) rejects: Option<PathBuf>,
    /// The checkpoint file, where there is to be one.
    pub(crate) checkpoint: Option<PathBuf>,
    /// What was read of a stream to recognise it, and the rest of it.
    stream: Option<Box<dyn Read + Send>>,
}

/// The jobs that the arguments ask for.
pub(crate) fn jobs(args: &ConvertArgs, ends: &Ends<'_>) -> Result<Vec<Job>, Stop> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let several = args.inputs.len() > 1;
    if let Some(folder) = &args.split {
        check_split(folder, several)?;
    }
    if several {
        check_several(args, output)?;
    }
    let jobs =
        args.inputs.iter().map(|input| Job::of(input, output, several, args, ends)).collect::<Result<Vec<_>, _>>()?;
    for (i, job) in jobs.iter().enumerate() {
        check_apart(&jobs[..i], job)?;
    }
    Ok(jobs)
}

/// The folder of `--split` must be there, for one input: files are named by their numbers.
fn check_split(folder: &Path, several: bool) -> Result<(), Stop> {
    if several {
        let finding = argument("--split is for one input: its files are named by the numbers of the documents");
        return Err(finding.hint("convert inputs one at a time, each to a folder of its own").into());
    }
    if !folder.is_dir() {
        return Err(no_folder(folder).into());
    }
    Ok(())
}

/// What stands in the place of a folder for the files of `--split`, or nothing.
pub(crate) fn no_folder(folder: &Path) -> Finding {
    let finding = argument(format!("{} is no folder", shown(folder)));
    let hint = if folder.exists() { "name a folder" } else { "make it first" };
    finding.hint(hint)
}

/// No two inputs may be written to one file: the second would replace what the first gave.
fn check_apart(before: &[Job], job: &Job) -> Result<(), Stop> {
    type Written = fn(&Job) -> Option<&Path>;
    let ends: [(Written, &str); 2] =
        [(|job| job.output.as_deref(), "outputs"), (|job| job.rejects.as_deref(), "rejects")];
    for (written, what) in ends {
        let Some(path) = written(job) else { continue };
        if let Some(other) = before.iter().find(|other| written(other) == Some(path)) {
            let inputs = format!("{} and {}", shown(&other.input), shown(&job.input));
            let finding = argument(format!("the {what} of {inputs} would be one file, {}", shown(path)));
            return Err(finding.hint("convert them one at a time, to files of different names").into());
        }
    }
    Ok(())
}

/// What several inputs ask for beyond one.
fn check_several(args: &ConvertArgs, output: Option<&Path>) -> Result<(), Stop> {
    if args.inputs.iter().filter(|input| *input == Path::new("-")).count() > 1 {
        return Err(argument("standard input can be read once only").hint("name `-` once").into());
    }
    if let Some(rejects) = args.rejects.as_deref().filter(|path| !path.is_dir()) {
        let inputs = args.inputs.len();
        let finding =
            argument(format!("the rejects of {inputs} inputs need a folder, and {} is not a folder", shown(rejects)));
        return Err(finding.hint("make the folder and name it with --rejects").into());
    }
    for (given, name) in [(args.checkpoint.is_some(), "--checkpoint"), (args.resume, "--resume")] {
        if given {
            let finding = argument(format!("{name} is for one input, and there are {}", args.inputs.len()));
            return Err(finding.hint("convert them one at a time").into());
        }
    }
    match output {
        Some(folder) if folder.is_dir() => Ok(()),
        Some(folder) => {
            let finding =
                argument(format!("{} inputs need a folder, and {} is not a folder", args.inputs.len(), shown(folder)));
            Err(finding.hint("make the folder and name it with -o").into())
        }
        None => match args.to {
            None | Some(ToFormat::Jsonl | ToFormat::Record | ToFormat::Edi) => Ok(()),
            Some(_) => {
                let finding = argument("several inputs cannot share one output of this format");
                Err(finding.hint("name a folder with -o, or write JSON lines").into())
            }
        },
    }
}

impl Job {
    fn of(
        input: &Path,
        output: Option<&Path>,
        several: bool,
        args: &ConvertArgs,
        ends: &Ends<'_>,
    ) -> Result<Job, Stop> {
        let (file, stream, head) = match record_file(input) {
            Some(name) => (None, Some(ends.reader(name)?), Vec::new()),
            None => open(input)?,
        };
        let from = match (args.from, record_file(input)) {
            (None, Some(_)) => FromFormat::Record,
            (Some(from), _) => from,
            (None, None) => source_format(input, &head),
        };
        check_record_files(input, from, output, args)?;
        // Who says what the bytes are knows it.
        if let (None, Some(finding)) = (args.from, foreign(input, &head, "convert")) {
            return Err(finding.into());
        }
        if let (FromFormat::Edi, Some(form)) = (from, unread_edi(&head)) {
            return Err(unread(input, form, "convert").into());
        }
        let folder = output.filter(|path| several || path.is_dir());
        let to = match (args.to, output) {
            (Some(to), _) => to,
            (None, Some(path)) if record_file(path).is_some() => ToFormat::Record,
            (None, Some(path)) if folder.is_none() => target_format(path).ok_or_else(|| {
                let finding = argument(format!("the name {} does not say which format to write", shown(path)));
                finding.hint(format!("known are {KNOWN_EXTENSIONS}; or add --to"))
            })?,
            (None, None) if args.split.is_some() => ToFormat::Json,
            (None, _) if matches!(from, FromFormat::Record | FromFormat::Edi) => ToFormat::Jsonl,
            (None, _) => ToFormat::Record,
        };
        check_ends(input, from, to)?;
        let output = match (folder, output) {
            (Some(folder), _) => Some(folder.join(output_name(input, to)?)),
            (None, output) => output.map(Path::to_owned),
        };
        if output.is_none() && args.split.is_none() && is_binary(to) && std::io::stdout().is_terminal() {
            let finding = argument("this format is bytes that no terminal can show");
            return Err(finding.hint("name a file with -o, or send standard output elsewhere").into());
        }
        let rejects = match &args.rejects {
            Some(folder) if folder.is_dir() => Some(folder.join(rejects_name(input)?)),
            rejects => rejects.clone(),
        };
        let no_file = [&output, &rejects]
            .into_iter()
            .flatten()
            .find(|path| record_file(path).is_some() || !Destination::is_file(path));
        let resumable = file.is_some() && output.is_some() && no_file.is_none() && can_resume(to);
        if (args.resume || args.checkpoint.is_some()) && !resumable {
            let finding = argument(match no_file {
                Some(path) => format!("{} is no regular file, so a run that writes it cannot be resumed", shown(path)),
                None => "only a conversion from a file to a file of lines or records can be resumed".to_owned(),
            });
            return Err(finding.hint("leave --checkpoint and --resume out").into());
        }
        let checkpoint = match (&args.checkpoint, &output) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(output)) if resumable => Some(with_suffix(output, ".checkpoint")),
            _ => None,
        };
        let table = matches!(to, ToFormat::Csv | ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream);
        let rows = from == FromFormat::Edi && (args.rows || table && args.guide.is_empty());
        Ok(Job {
            input: input.to_owned(),
            file,
            from,
            to,
            rows,
            split: args.split.clone(),
            output,
            rejects,
            checkpoint,
            stream,
        })
    }

    /// Whether one end is interchanges.
    pub(crate) fn is_edi(&self) -> bool {
        self.from == FromFormat::Edi || self.to == ToFormat::Edi
    }

    /// The source of the conversion.
    pub(crate) fn source(&mut self, definitions: &Definitions) -> Result<Source, Stop> {
        let format = match self.from {
            FromFormat::Record if record_file(&self.input).is_some() => SourceFormat::Records(record_file_framing()),
            FromFormat::Record => SourceFormat::Records(definitions.source_framing()?),
            FromFormat::Json => SourceFormat::Json(JsonRead { ignore_unknown: definitions.ignore_unknown }),
            FromFormat::Csv => SourceFormat::Csv(definitions.csv(Some(&self.input))),
            FromFormat::Xml => SourceFormat::Xml(definitions.xml()),
            FromFormat::Edi => SourceFormat::Edi(EdiRead {
                rules: if definitions.strict { Rules::Strict } else { Rules::Lenient },
                charset: definitions.edi_charset,
                documents: if self.rows { EdiDocuments::Rows } else { EdiDocuments::Transactions },
                page_bytes: definitions.page_bytes,
                guides: definitions.guides.clone().filter(|_| !self.rows),
                level: definitions.level,
            }),
        };
        let name = if self.input == Path::new("-") { "<stdin>".to_owned() } else { shown(&self.input) };
        let input = match self.stream.take() {
            Some(stream) => Input::Stream(stream),
            None => Input::File(self.input.clone()),
        };
        Ok(Source { name: name.into(), input, format })
    }

    /// The target of the conversion.
    pub(crate) fn target(&self, definitions: &Definitions, ends: &Ends<'_>) -> Result<Target, Stop> {
        let into = self.output.as_deref().and_then(record_file);
        let json = JsonWrite { numbers: definitions.numbers };
        let format = match self.to {
            ToFormat::Jsonl => TargetFormat::JsonLines(json),
            ToFormat::Json if self.split.is_some() => TargetFormat::JsonLines(json),
            ToFormat::Json => TargetFormat::JsonArray(json),
            ToFormat::Csv => TargetFormat::Csv(definitions.csv(self.output.as_deref())),
            ToFormat::Xml => TargetFormat::Xml(definitions.xml()),
            ToFormat::Parquet => TargetFormat::Parquet(ParquetWrite::default()),
            ToFormat::Arrow => TargetFormat::ArrowFile,
            ToFormat::ArrowStream => TargetFormat::ArrowStream,
            ToFormat::Record if into.is_some() => TargetFormat::Records(record_file_framing()),
            ToFormat::Record => TargetFormat::Records(definitions.target_framing()?),
            ToFormat::Edi => TargetFormat::Edi(EdiWriterOptions {
                charset: definitions.edi_charset,
                guides: definitions.guides.clone(),
                check: definitions.output_check.clone(),
                ..EdiWriterOptions::default()
            }),
        };
        if let Some(folder) = &self.split {
            let output = Output::Folder { path: folder.clone(), extension: extension_of(self.to) };
            return Ok(Target { output, format });
        }
        if let Some(name) = into {
            return Ok(Target { output: Output::Stream(ends.writer(name)?), format });
        }
        let output = match &self.output {
            Some(path) => Output::File(path.clone()),
            None => Output::Stream(Box::new(File::from(
                std::io::stdout().as_fd().try_clone_to_owned().map_err(Stop::from)?,
            ))),
        };
        Ok(Target { output, format })
    }
}

type Opened = (Option<PathBuf>, Option<Box<dyn Read + Send>>, Vec<u8>);

/// The first bytes of an input; for a stream also the stream itself, which can be read once only.
fn open(input: &Path) -> Result<Opened, Stop> {
    let refuse = |error: std::io::Error| Stop::from(unreadable(input, &error));
    let mut head = Vec::new();
    let most = HEAD_BYTES as u64;
    if input == Path::new("-") {
        let mut stdin = crate::interrupt::Stdin::new();
        stdin.by_ref().take(most).read_to_end(&mut head).map_err(refuse)?;
        return Ok((None, Some(Box::new(Cursor::new(head.clone()).chain(stdin))), head));
    }
    let mut file = File::open(input).map_err(refuse)?;
    let regular = file.metadata().map_err(refuse)?.is_file();
    file.by_ref().take(most).read_to_end(&mut head).map_err(refuse)?;
    if regular {
        Ok((Some(input.to_owned()), None, head))
    } else {
        Ok((None, Some(Box::new(Cursor::new(head.clone()).chain(file))), head))
    }
}

/// Name of an input's output in a folder.
fn output_name(input: &Path, to: ToFormat) -> Result<PathBuf, Stop> {
    let stem = input.file_stem().filter(|_| input != Path::new("-"));
    let stem = stem.ok_or_else(|| {
        argument("standard input has no name for its output").hint("name a file with -o, not a folder")
    })?;
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension_of(to));
    Ok(PathBuf::from(name))
}

/// Name of an input's rejects in a folder: its own, since they are records of that file.
fn rejects_name(input: &Path) -> Result<&OsStr, Stop> {
    input.file_name().filter(|_| input != Path::new("-")).ok_or_else(|| {
        argument("standard input has no name for its rejects").hint("name a file with --rejects, not a folder").into()
    })
}

/// A record file holds records and nothing else, and no framing.
fn check_record_files(input: &Path, from: FromFormat, output: Option<&Path>, args: &ConvertArgs) -> Result<(), Stop> {
    let is_input = record_file(input).is_some();
    let is_output = output.is_some_and(|path| record_file(path).is_some());
    let other_input = is_input && from != FromFormat::Record;
    if other_input || is_output && args.to.is_some_and(|to| to != ToFormat::Record) {
        let option = if other_input { "--from" } else { "--to" };
        let finding = argument(format!("{option} names another format, and a record file holds records"));
        return Err(finding.hint(format!("leave {option} out")).into());
    }
    refuse_framing("--framing", is_input && args.framing.is_some())?;
    refuse_framing("--to-framing", is_output && args.to_framing.is_some())
}

/// Interchanges have no copybook: the other end must hold the same documents.
fn check_ends(input: &Path, from: FromFormat, to: ToFormat) -> Result<(), Stop> {
    let what = match (from, to) {
        (FromFormat::Edi, ToFormat::Record) => "interchanges do not become records of a copybook",
        (FromFormat::Record, ToFormat::Edi) => "records of a copybook do not become interchanges",
        (FromFormat::Csv, ToFormat::Edi) => "rows do not become interchanges",
        _ => return Ok(()),
    };
    let hint = match to {
        ToFormat::Edi => "convert JSON or XML whose documents are as docs/reference/edi.md shows them",
        _ => "name another format with --to",
    };
    Err(argument(format!("{}: {what}", shown(input))).hint(hint).into())
}

fn packed(input: &Path, (name, unpack): (&str, &str), command: &str) -> Finding {
    let finding = argument(format!("{} is compressed ({name})", shown(input)));
    let input = if input == Path::new("-") { String::new() } else { format!(" {}", shown(input)) };
    finding.hint(format!("`{unpack}{input} | quayline {command} - …` reads what is in it"))
}

/// Refuses what is neither records nor text: compressed files and columnar ones.
pub(crate) fn foreign(input: &Path, head: &[u8], command: &str) -> Option<Finding> {
    if let Some(by) = packed_by(head) {
        return Some(packed(input, by, command));
    }
    let form = columnar(head)?;
    let finding = argument(format!("{} is {form}, which is written but not read", shown(input)));
    Some(finding.hint("export it as CSV or JSON lines with a program that reads it, and convert that; if it holds records all the same, say so with `--from record`"))
}

fn unread(input: &Path, (form, convert): (&str, &str), command: &str) -> Finding {
    let finding = argument(format!("{} is in {form}, which is not read as EDI", shown(input)));
    let input = if input == Path::new("-") { String::new() } else { format!(" {}", shown(input)) };
    finding.hint(format!("`{convert}{input} | quayline {command} -` reads what is in it"))
}

/// Refuses interchanges that are compressed, or in UTF-16 or EBCDIC.
pub(crate) fn check_interchanges(input: &Path, head: &[u8], command: &str) -> Result<(), Findings> {
    match (foreign(input, head, command), unread_edi(head)) {
        (Some(finding), _) => Err(finding.into()),
        (None, Some(form)) => Err(unread(input, form, command).into()),
        (None, None) => Ok(()),
    }
}

/// The first bytes of a regular file, as far as they can be read: what is read of a pipe is gone.
pub(crate) fn head_of(input: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if input.is_file()
        && let Ok(file) = File::open(input)
    {
        let _ = file.take(16).read_to_end(&mut head);
    }
    head
}

/// Refuses a file that is compressed; one that cannot be read is somebody else's to tell of.
pub(crate) fn packed_input(input: &Path, command: &str) -> Result<(), Findings> {
    foreign(input, &head_of(input), command).map_or(Ok(()), |finding| Err(finding.into()))
}

/// Formats whose file can be cut back to a record and continued.
fn can_resume(to: ToFormat) -> bool {
    matches!(to, ToFormat::Jsonl | ToFormat::Json | ToFormat::Csv | ToFormat::Xml | ToFormat::Record | ToFormat::Edi)
}

fn is_binary(to: ToFormat) -> bool {
    matches!(to, ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream | ToFormat::Record)
}

/// The path with more at its end.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
