//! Sources and targets: one job for each input.

use std::ffi::OsStr;
use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_convert::{ColumnsSurvey, Compression, Destination, Input, Output, Source, Target};
use quayline_edi::{EdiWriterOptions, Rules};
use quayline_project::{
    ColumnsRead, EdiDocuments, EdiRead, JsonRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat,
};

use super::definitions::Definitions;
use super::recognise::{
    KNOWN_EXTENSIONS, extension_of, packed_by, source_format, target_format, unread_columns, unread_edi,
};
use crate::args::{CompressArg, ConvertArgs, FromFormat, LimitArg, ToFormat};
use crate::console::shown;
use crate::copybook::unreadable;
use crate::exit::{Stop, argument};
use crate::input::{self, Opened, uncompressed_name, with_suffix};
use crate::store::{Ends, record_file, record_file_framing, refuse_framing};
use quayline_core::{Finding, Findings};

/// One conversion to do.
pub(crate) struct Job {
    /// The input as the user named it.
    pub(crate) input: PathBuf,
    /// Path of the input, if it is a regular file.
    pub(crate) file: Option<PathBuf>,
    /// Format of the input.
    pub(crate) from: FromFormat,
    /// The format to write.
    pub(crate) to: ToFormat,
    /// True if documents are segments of interchanges.
    pub(crate) rows: bool,
    /// The folder that gets a file for each document.
    pub(crate) split: Option<PathBuf>,
    /// The file to write; standard output without one.
    pub(crate) output: Option<PathBuf>,
    /// The rejects file.
    pub(crate) rejects: Option<PathBuf>,
    /// Checkpoint file, if requested.
    pub(crate) checkpoint: Option<PathBuf>,
    /// Compression of the output.
    pub(crate) compression: Option<Compression>,
    /// For columns without a copybook: the shape of their rows.
    pub(crate) schema: Option<Arc<Schema>>,
    /// Input of the job.
    bytes: Option<Input>,
}

/// Creates the jobs for the arguments.
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

/// Checks that the folder of `--split` exists and that there is only one input, because files are named by document numbers.
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

/// Creates the finding for a `--split` path that is not a folder or is missing.
pub(crate) fn no_folder(folder: &Path) -> Finding {
    let finding = argument(format!("{} is not a folder", shown(folder)));
    let hint = if folder.exists() { "name a folder" } else { "make it first" };
    finding.hint(hint)
}

/// Checks that no two inputs are written to one file, because the second would replace the output of the first.
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

/// Checks the additional requirements of several inputs.
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
    // `convert IN OUT`, as other programs have it.
    if let (None, Some(last)) = (output, args.inputs.last())
        && target_format(last).is_some()
        && matches!(last.try_exists(), Ok(false))
    {
        let finding = argument(format!("the input {} does not exist", shown(last)));
        return Err(finding.hint(format!("to write that file, name it as the output: -o {}", shown(last))).into());
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
        let opened = match record_file(input) {
            Some(name) => Opened::of_stream(ends.reader(name)?),
            None => input::open(input, args.decompress)?,
        };
        let (file, head) = (opened.file.clone(), opened.head.clone());
        let name = uncompressed_name(input, opened.compression);
        let from = match (args.from, record_file(input)) {
            (None, Some(_)) => FromFormat::Record,
            (Some(from), _) => from,
            (None, None) => source_format(&name, &head),
        };
        check_record_files(input, from, output, args)?;
        // With an explicit format, the content is not checked.
        if let (None, Some(finding)) = (args.from, foreign(input, &head, "convert")) {
            return Err(finding.into());
        }
        if let (FromFormat::Edi, Some(form)) = (from, unread_edi(&head)) {
            return Err(unread(input, form, "convert").into());
        }
        let folder = output.filter(|path| several || path.is_dir());
        let named = output.filter(|_| folder.is_none());
        let compression = CompressArg::of_output(args.compress, named);
        let to = match (args.to, output) {
            (Some(to), _) => to,
            (None, Some(path)) if record_file(path).is_some() => ToFormat::Record,
            (None, Some(path)) if folder.is_none() => {
                target_format(&uncompressed_name(path, compression)).ok_or_else(|| {
                    let finding = argument(format!("the name {} does not say which format to write", shown(path)));
                    finding.hint(format!("known are {KNOWN_EXTENSIONS}; or add `--to`, such as `--to record`"))
                })?
            }
            (None, None) if args.split.is_some() => ToFormat::Json,
            (None, _) if matches!(from, FromFormat::Record | FromFormat::Edi) => ToFormat::Jsonl,
            (None, _) if is_columns(from) && args.copybook.is_empty() => ToFormat::Jsonl,
            (None, _) => ToFormat::Record,
        };
        check_ends(input, from, to)?;
        check_compression(to, compression)?;
        let output = match (folder, output) {
            (Some(folder), _) => Some(folder.join(output_name(input, &name, to, compression)?)),
            (None, output) => output.map(Path::to_owned),
        };
        let binary = is_binary(to) || compression.is_some();
        if output.is_none() && args.split.is_none() && binary && std::io::stdout().is_terminal() {
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
        let resumable = file.is_some()
            && output.is_some()
            && no_file.is_none()
            && can_resume(to)
            && compression.is_none()
            && !is_columns(from);
        if (args.resume || args.checkpoint.is_some()) && !resumable {
            let finding = argument(match no_file {
                Some(path) => format!("{} is not a regular file, so a run that writes it cannot be resumed", shown(path)),
                None => "only a conversion from a file to a file of lines or records can be resumed; compressed files and columns cannot".to_owned(),
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
        let by_columns = is_columns(from) && args.copybook.is_empty() && to != ToFormat::Record;
        let (bytes, schema) = if is_columns(from) {
            columns_input(opened, input, by_columns, args)?
        } else {
            (opened.into_input(input), None)
        };
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
            compression,
            schema,
            bytes: Some(bytes),
        })
    }

    /// Returns the output and rejects of one record type, which have its name.
    pub(crate) fn files_of_type(&self, name: &str) -> (Option<PathBuf>, Option<PathBuf>) {
        let named = |path: &PathBuf| {
            let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let (stem, rest) =
                file.split_once('.').map_or((file, String::new()), |(stem, rest)| (stem, format!(".{rest}")));
            path.with_file_name(format!("{stem}-{name}{rest}"))
        };
        (self.output.as_ref().map(named), self.rejects.as_ref().map(named))
    }

    /// Returns the folder of documents and the extension of their names, if each document goes to a file.
    pub(crate) fn folder(&self) -> Option<(&Path, &'static str)> {
        self.split.as_deref().map(|folder| (folder, extension_of(self.to)))
    }

    /// Turns the job into that of one record type.
    pub(crate) fn of_type(&mut self, name: &str) {
        (self.output, self.rejects) = self.files_of_type(name);
        self.checkpoint = None;
    }

    /// Returns true if source or target is interchanges.
    pub(crate) fn is_edi(&self) -> bool {
        self.from == FromFormat::Edi || self.to == ToFormat::Edi
    }

    /// Returns the shape of the documents: that of the columns, if no copybook describes them.
    pub(crate) fn schema_of(&self, definitions: &Definitions) -> Arc<Schema> {
        Arc::clone(self.schema.as_ref().unwrap_or(&definitions.schema))
    }

    /// Opens the source of the conversion.
    pub(crate) fn source(&mut self, definitions: &Definitions) -> Result<Source, Stop> {
        let format = match self.from {
            FromFormat::Record if record_file(&self.input).is_some() => SourceFormat::Records(record_file_framing()),
            FromFormat::Record => SourceFormat::Records(definitions.source_framing()?),
            FromFormat::Json => SourceFormat::Json(JsonRead { ignore_unknown: definitions.ignore_unknown }),
            FromFormat::Csv => SourceFormat::Csv(definitions.csv(Some(&self.input))),
            FromFormat::Xml => SourceFormat::Xml(definitions.xml()),
            FromFormat::Parquet | FromFormat::Arrow => {
                SourceFormat::Columns(ColumnsRead { ignore_unknown: definitions.ignore_unknown })
            }
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
        let input = self.bytes.take().unwrap_or_else(|| Input::File(self.input.clone()));
        Ok(Source { name: name.into(), input, format })
    }

    /// Creates the target of the conversion.
    pub(crate) fn target(&self, definitions: &Definitions, ends: &Ends<'_>) -> Result<Target, Stop> {
        let into = self.output.as_deref().and_then(record_file);
        let json = JsonWrite { numbers: definitions.numbers };
        let format = match self.to {
            ToFormat::Jsonl => TargetFormat::JsonLines(json),
            ToFormat::Json if self.split.is_some() => TargetFormat::JsonLines(json),
            ToFormat::Json => TargetFormat::JsonArray(json),
            ToFormat::Csv => {
                let name = self.output.as_deref().map(|path| uncompressed_name(path, self.compression));
                TargetFormat::Csv(definitions.csv(name.as_deref()))
            }
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
        if let Some((folder, extension)) = self.folder() {
            let output = Output::Folder { path: folder.to_owned(), extension };
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
        let output = match self.compression {
            Some(compression) => Output::Compressed(Box::new(output), compression),
            None => output,
        };
        Ok(Target { output, format })
    }
}

/// Opens a columnar file and, if no copybook describes it, returns the shape of its rows.
fn columns_input(
    opened: Opened,
    input: &Path,
    by_columns: bool,
    args: &ConvertArgs,
) -> Result<(Input, Option<Arc<Schema>>), Stop> {
    let file = opened.into_file(input)?;
    if !by_columns {
        return Ok((Input::Opened(file), None));
    }
    let refuse = |error: std::io::Error| Stop::from(unreadable(input, &error));
    let twin = file.try_clone().map_err(refuse)?;
    let in_file = |Findings(mut findings): Findings| {
        for finding in &mut findings {
            finding.place.file = Some(shown(input).into());
        }
        Findings(findings)
    };
    let survey = ColumnsSurvey::of(twin, &LimitArg::limits(&args.reading.source.limit)).map_err(in_file)?;
    let shape = survey.shape.map_err(in_file)?;
    Ok((Input::Opened(file), Some(Arc::new(Schema::of_shape(shape)))))
}

/// Returns the name of an input's output in a folder.
fn output_name(input: &Path, name: &Path, to: ToFormat, compression: Option<Compression>) -> Result<PathBuf, Stop> {
    let stem = name.file_stem().filter(|_| input != Path::new("-"));
    let stem = stem.ok_or_else(|| {
        argument("standard input has no name for its output").hint("name a file with -o, not a folder")
    })?;
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension_of(to));
    if let Some(compression) = compression {
        name.push(".");
        name.push(compression.extension());
    }
    Ok(PathBuf::from(name))
}

/// Returns the name of an input's rejects in a folder: that of the input, since they are records of that file.
fn rejects_name(input: &Path) -> Result<&OsStr, Stop> {
    input.file_name().filter(|_| input != Path::new("-")).ok_or_else(|| {
        argument("standard input has no name for its rejects").hint("name a file with --rejects, not a folder").into()
    })
}

/// Checks the options for a record file, which contains only records and has no framing.
fn check_record_files(input: &Path, from: FromFormat, output: Option<&Path>, args: &ConvertArgs) -> Result<(), Stop> {
    let is_input = record_file(input).is_some();
    let is_output = output.is_some_and(|path| record_file(path).is_some());
    let other_input = is_input && from != FromFormat::Record;
    if other_input || is_output && args.to.is_some_and(|to| to != ToFormat::Record) {
        let option = if other_input { "--from" } else { "--to" };
        let finding = argument(format!("{option} names another format, and a record file holds records"));
        return Err(finding.hint(format!("leave {option} out")).into());
    }
    if is_output && matches!(args.compress, Some(CompressArg::Gzip | CompressArg::Zstd)) {
        let finding = argument("a record file of the store is not compressed as a whole");
        return Err(finding.hint("leave --compress out").into());
    }
    refuse_framing("--framing", is_input && args.framing.is_some())?;
    refuse_framing("--to-framing", is_output && args.to_framing.is_some())
}

/// Interchanges have no copybook: the other end must hold the same documents.
fn check_ends(input: &Path, from: FromFormat, to: ToFormat) -> Result<(), Stop> {
    let what = match (from, to) {
        (FromFormat::Edi, ToFormat::Record) => "interchanges do not become records of a copybook",
        (FromFormat::Record, ToFormat::Edi) => "records of a copybook do not become interchanges",
        (FromFormat::Csv | FromFormat::Parquet | FromFormat::Arrow, ToFormat::Edi) => "rows do not become interchanges",
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

/// Refuses outer compression for Parquet and Arrow, which are compressed internally and need random access.
pub(crate) fn check_compression(to: ToFormat, compression: Option<Compression>) -> Result<(), Stop> {
    let columns = matches!(to, ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream);
    if !columns || compression.is_none() {
        return Ok(());
    }
    let finding = argument("Parquet and Arrow files are read in places, so they are not compressed as a whole");
    Err(finding.hint("leave --compress out, and .gz or .zst out of the name; pages of Parquet are compressed").into())
}

fn is_columns(from: FromFormat) -> bool {
    matches!(from, FromFormat::Parquet | FromFormat::Arrow)
}

/// Refuses input that is neither records nor text: unsupported compression and unsupported columnar files.
pub(crate) fn foreign(input: &Path, head: &[u8], command: &str) -> Option<Finding> {
    if let Some(by) = packed_by(head) {
        return Some(packed(input, by, command));
    }
    let form = unread_columns(head)?;
    let finding = argument(format!("{} is {form}, which is not read", shown(input)));
    Some(finding.hint("write it as Parquet or Arrow IPC with a program that reads it, and convert that; if it holds records all the same, say so with `--from record`"))
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

/// Formats whose file can be cut back to a record and continued.
fn can_resume(to: ToFormat) -> bool {
    matches!(to, ToFormat::Jsonl | ToFormat::Json | ToFormat::Csv | ToFormat::Xml | ToFormat::Record | ToFormat::Edi)
}

fn is_binary(to: ToFormat) -> bool {
    matches!(to, ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream | ToFormat::Record)
}
