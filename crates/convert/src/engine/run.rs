//! The course of a run: open, convert, commit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use quayline_columnar::{ColumnInput, ColumnReader};
use quayline_core::{Checkpoint, Fault, Finding, Findings, Place, SourceDigest};
use quayline_edi::{EdiWriterOptions, ExcerptWriter};
use quayline_meter::{Meter, Phase, Totals};
use quayline_pipeline::{
    Apart, BlockReader, Clock, CodeCounts, Ends, Lane, LaneFacts, MapEnds, Paging, PipelineError, Position, RejectForm,
    Repeats, Scheduler, SourceFacts, SourceHead, SpoolFolder, Unsettled, read_csv_header,
};
use quayline_project::{SkipBytes, SourceFormat, TargetFormat};

use crate::checkpoint_file::{CheckpointFile, States, bad_state};
use crate::codes;
use crate::compression::Compressor;
use crate::conversion::{Conversion, Input, Output, Rejects, Start, Target};
use crate::destination::{Destination, partial_path, real_path, with_suffix};
use crate::engine::digest::{definition_digest, source_digest};
use crate::engine::findings_file::FindingsFile;
use crate::engine::output::{OutFile, OutputWriter};
use crate::engine::partial::{PartialFile, sync_folder_of};
use crate::engine::resume::{self, Resume};
use crate::engine::split::{SplitFolder, earlier_files, replaced_by_documents};
use crate::engine::temporary::{TemporaryFolder, to_temporary_file};
use crate::engine::threads::run_all;
use crate::engine::writer::{CheckpointWriter, RejectFiles, Writer, Written, sync_step};
use crate::error::{ConvertError, Stopped};
use crate::report::Report;
use crate::sync::SyncPoint;

impl Conversion {
    /// Does it.
    ///
    /// The calling thread is one of the lanes. An output file takes its name only when this returns `Ok`.
    ///
    /// # Errors
    /// [`ConvertError`]: see there. `Ok` with `tally.records_rejected > 0` means that records were rejected.
    pub fn run(self) -> Result<Report, ConvertError> {
        Run::open(self)?.convert()
    }
}

/// A run whose files are open.
struct Run {
    meter: Meter,
    /// The calling thread's line of time: it opens, is the first lane, and commits, so its time is the wall time of the run.
    clock: Option<Clock>,
    conversion: Conversion,
    reader: Box<dyn Read + Send>,
    source_path: PathBuf,
    source_bytes: Option<u64>,
    from: Position,
    /// Set for a CSV source with a header.
    head: Option<SourceHead>,
    /// Set for a source of columns.
    columns: Option<ColumnReader>,
    warnings: Vec<Finding>,
    resumed: Option<Checkpoint>,
    done: bool,
    /// States in the checkpoint.
    states: States,
    /// True if a resumed run has nothing left to read.
    at_end: bool,
    outs: Vec<OutFile>,
    rejects: Option<RejectFiles>,
    checkpoints: Option<CheckpointWriter>,
}

impl Run {
    fn open(mut conversion: Conversion) -> Result<Run, ConvertError> {
        let meter = Meter::start();
        let mut clock = meter.lane();
        clock.enter(Phase::Other);
        conversion.lanes = conversion.lanes.max(1);
        if conversion.map.as_ref().is_some_and(|stage| stage.trace.is_some()) {
            conversion.lanes = 1;
        }
        ends(&conversion).check()?;
        check_split(&conversion)?;
        check_names(&conversion)?;
        let warnings = targets(&conversion).filter_map(|target| match &target.output {
            Output::Folder { path, extension } => earlier_files(path, extension),
            _ => None,
        });
        let warnings = warnings.collect();
        let source = OpenSource::open(&mut conversion.source.input, &conversion.source.name)?;
        let mut run = Run {
            meter,
            clock: Some(clock),
            reader: source.reader,
            source_path: source.path,
            source_bytes: source.bytes,
            from: Position::START,
            head: None,
            columns: None,
            warnings,
            resumed: None,
            done: false,
            at_end: false,
            states: States::default(),
            outs: Vec::new(),
            rejects: None,
            checkpoints: None,
            conversion,
        };
        let file = match run.conversion.source.format {
            SourceFormat::Columns(_) => run.open_columns(source.file)?,
            _ => run.read_header(source.file)?,
        };
        run.open_checkpoints(file)?;
        run.open_rejects()?;
        run.open_output()?;
        Ok(run)
    }

    /// Reads the first row of a CSV source. The next reader rewinds the file.
    fn read_header(&mut self, file: Option<File>) -> Result<Option<File>, ConvertError> {
        let SourceFormat::Csv(style) = self.conversion.source.format else { return Ok(file) };
        let (limits, name) = (&self.conversion.limits, &self.conversion.source.name);
        let io_error = PipelineError::io("read", &self.source_path);
        let (header, reader) = match &file {
            None => read_csv_header(core::mem::replace(&mut self.reader, ended()), style, limits, name, io_error)?,
            Some(file) => {
                let reader = file.try_clone().map_err(ConvertError::io("read", &self.source_path))?;
                (read_csv_header(Box::new(reader), style, limits, name, io_error)?.0, ended())
            }
        };
        self.reader = reader;
        self.from = header.as_ref().map_or(Position::START, |header| header.behind.clone());
        self.take_head(header.map(SourceHead::Csv))?;
        Ok(file)
    }

    /// Opens a source of columns, which is read in places: a stream is copied to a temporary file first.
    fn open_columns(&mut self, file: Option<File>) -> Result<Option<File>, ConvertError> {
        if self.conversion.checkpoints.is_some() {
            let message = "a Parquet or Arrow source cannot be resumed";
            let finding = Finding::error(codes::NOT_RESUMABLE, Fault::Caller, message);
            return Err(finding.hint("leave out checkpoints; such a run starts from the beginning").into());
        }
        let file = match file {
            Some(file) => file,
            None => to_temporary_file(&mut core::mem::replace(&mut self.reader, ended()))
                .map_err(ConvertError::io("read", &self.source_path))?,
        };
        let name = Arc::clone(&self.conversion.source.name);
        let columns = ColumnReader::open(ColumnInput::File(file)).map_err(|error| {
            let place = Place { file: Some(Arc::clone(&name)), ..Place::default() };
            ConvertError::from(error.finding().at(place))
        })?;
        let head = ends(&self.conversion).columns_head(&columns).map_err(|findings| in_file(findings, &name))?;
        self.columns = Some(columns);
        self.take_head(Some(head))?;
        Ok(None)
    }

    /// Keeps the header of the source, and the warnings about it.
    fn take_head(&mut self, head: Option<SourceHead>) -> Result<(), ConvertError> {
        let name = &self.conversion.source.name;
        let warnings =
            ends(&self.conversion).head_warnings(head.as_ref()).map_err(|findings| in_file(findings, name))?;
        self.warnings.extend(in_file(Findings(warnings), name).0);
        self.head = head;
        Ok(())
    }

    /// Reads the checkpoint from which to resume, and moves the source there.
    fn open_checkpoints(&mut self, source: Option<File>) -> Result<(), ConvertError> {
        let Some(spec) = self.conversion.checkpoints.clone() else {
            if let Some(mut file) = source {
                let from = SeekFrom::Start(self.from.offset.0);
                file.seek(from).map_err(ConvertError::io("read", &self.source_path))?;
                self.reader = Box::new(file);
            }
            return Ok(());
        };
        let refused = |what: &str, hint: &str| -> ConvertError {
            Finding::error(codes::NOT_RESUMABLE, Fault::Caller, format!("{what} cannot be resumed")).hint(hint).into()
        };
        if !ends(&self.conversion).appends() {
            return Err(refused(
                "a Parquet or Arrow output",
                "such a file is written in one go; leave checkpoints out, or convert to JSON lines, CSV, XML or records",
            ));
        }
        let mut outputs = targets(&self.conversion).map(|target| &target.output);
        let first = outputs.next();
        if outputs.any(|output| !matches!(output, Output::File(_))) {
            return Err(refused(
                "output to a stream, a folder or a compressed file",
                "name output files, or leave checkpoints out",
            ));
        }
        match first.expect("a run has a target") {
            Output::File(path) if Destination::of(path)? != Destination::Stream => {}
            _ => return Err(refused("output to a stream", "name an output file, or leave checkpoints out")),
        }
        if let Rejects::File { path, .. } = &self.conversion.rejects
            && [path.clone(), findings_path(path)].iter().any(|path| !Destination::is_file(path))
        {
            return Err(refused("a run whose rejects go to a stream", "name a rejects file, or leave checkpoints out"));
        }
        let Destination::File(checkpoint_path) = Destination::of(&spec.path)? else {
            return Err(refused("a run whose checkpoint goes to a stream", "name a regular file for the checkpoint"));
        };
        let Some(mut source) = source else {
            return Err(refused("a source that is a stream", "name a regular file, or leave checkpoints out"));
        };
        let io = ConvertError::io("read", &self.source_path);
        let (source_bytes, source_hash) = source_digest(&mut source).map_err(io)?;
        let digest =
            SourceDigest { source_bytes, source_hash, plan_hash: plan_hash(&self.conversion, spec.definitions) };
        let file = CheckpointFile::new(&checkpoint_path);
        match spec.start {
            Start::Anew => file.remove().map_err(ConvertError::io("remove", file.path()))?,
            Start::Resume => {
                if let Some(checkpoint) = file.read()? {
                    self.done = resume::check(&checkpoint, digest, file.path())? == Resume::Done;
                    let changed = resume::changed_since(&source, &self.source_path, file.path());
                    self.warnings.extend(changed.map_err(ConvertError::io("read", file.path()))?);
                    self.from = resume::position(&checkpoint);
                    self.states = States::of(&checkpoint.state)?;
                    // A run that stopped before its first interchange ended has no reader yet.
                    let is_begun = self.from.offset.0 > 0 || !self.states.source.is_empty();
                    if matches!(self.conversion.source.format, SourceFormat::Edi(_)) && !self.done && is_begun {
                        let reader = ends(&self.conversion).reader_at(&self.from, &self.states.source);
                        self.from.reader = Some(Arc::new(reader.ok_or_else(bad_state)?));
                    }
                    self.resumed = Some(checkpoint);
                }
            }
        }
        let last_offset = self.from.offset.0;
        source.seek(SeekFrom::Start(last_offset)).map_err(ConvertError::io("read", &self.source_path))?;
        self.reader = Box::new(source);
        self.at_end = self.resumed.is_some() && last_offset >= source_bytes;
        self.checkpoints = Some(CheckpointWriter { file, spec, digest, last: Instant::now(), last_offset });
        Ok(())
    }

    fn open_rejects(&mut self) -> Result<(), ConvertError> {
        let Rejects::File { path, .. } = &self.conversion.rejects else { return Ok(()) };
        let findings_path = findings_path(path);
        if self.done {
            return Ok(());
        }
        let form = ends(&self.conversion).reject_form(self.head.as_ref())?;
        let (epilogue, trailers) = (form.epilogue().to_vec(), form.trailers());
        let is_lazy = matches!(form, RejectForm::Raw { .. } | RejectForm::Framed { .. });
        let files = match &self.resumed {
            Some(checkpoint) => RejectFiles {
                records: resume::reopen(path, checkpoint.rejects_bytes)?,
                prologue: if is_lazy && checkpoint.rejects_bytes == 0 { form.prologue() } else { Vec::new() },
                findings: FindingsFile::resume(&findings_path, self.states.findings_bytes)?,
                epilogue,
                trailers,
                excerpt: match &self.states.rejects[..] {
                    [] => ExcerptWriter::new(),
                    state => ExcerptWriter::resume(state).ok_or_else(bad_state)?,
                },
            },
            None => {
                let mut records = PartialFile::create(path)?;
                let (prologue, at_once) =
                    if is_lazy { (form.prologue(), Vec::new()) } else { (Vec::new(), form.prologue()) };
                io::Write::write_all(&mut records, &at_once).map_err(ConvertError::io("write", records.partial()))?;
                RejectFiles {
                    records,
                    prologue,
                    findings: FindingsFile::create(&findings_path)?,
                    epilogue,
                    trailers,
                    excerpt: ExcerptWriter::new(),
                }
            }
        };
        self.rejects = Some(files);
        Ok(())
    }

    fn open_output(&mut self) -> Result<(), ConvertError> {
        if self.done {
            return Ok(());
        }
        let more = self.conversion.map.as_mut().map_or(&mut [][..], |stage| &mut stage.more);
        let outputs = core::iter::once(&mut self.conversion.target).chain(more);
        let lengths = self.resumed.iter().map(|checkpoint| checkpoint.output_bytes);
        let mut lengths = lengths.chain(self.states.more.iter().map(|(bytes, _)| *bytes));
        for target in outputs {
            let output = core::mem::replace(&mut target.output, Output::Stream(Box::new(io::sink())));
            self.outs.push(match (output, self.resumed.is_some()) {
                (Output::File(path), true) => {
                    OutFile::File(resume::reopen(&path, lengths.next().ok_or_else(bad_state)?)?)
                }
                (output, _) => out_file(output)?,
            });
        }
        Ok(())
    }

    fn convert(mut self) -> Result<Report, ConvertError> {
        let mut clock = self.clock.take().expect("a run is opened with a clock and converts once");
        let outs = core::mem::take(&mut self.outs);
        if outs.is_empty() {
            let checkpoint =
                self.resumed.clone().expect("outputs are opened unless a checkpoint says that the run is done");
            return self.take_names(checkpoint, clock);
        }
        let conversion = &self.conversion;
        let ends = ends(conversion);
        let n = conversion.lanes;
        let tally = self.resumed.as_ref().map(|checkpoint| checkpoint.tally).unwrap_or_default();
        let output_path = match &outs[0] {
            OutFile::File(file) => Some(file.path().to_owned()),
            OutFile::Stream { .. } | OutFile::Held { .. } => None,
            OutFile::Folder(folder) => Some(folder.folder.clone()),
            OutFile::Compressed { to, .. } => match to.inner() {
                OutFile::File(file) => Some(file.path().to_owned()),
                _ => None,
            },
        };
        let split = matches!(outs[0], OutFile::Folder(_));
        let begun: Vec<PathBuf> = outs.iter().filter(|_| self.resumed.is_none()).filter_map(OutFile::partial).collect();
        let made = outputs_and_lanes(&ends, outs, &self.states, self.head.as_ref());
        let (outputs, lanes) = made.inspect_err(|_| {
            // Nothing was converted: the ends do not fit together.
            for path in &begun {
                let _ = std::fs::remove_file(path);
            }
        })?;
        let spool_folder = spool_folder(conversion);
        let rejects_max = match &conversion.rejects {
            Rejects::Stop => None,
            Rejects::File { max, .. } => *max,
        };
        let writer = Writer {
            outputs,
            spool_folder: SpoolFolder::clone(&spool_folder),
            rejects: self.rejects.take(),
            rejects_max,
            findings_max: conversion.limits.findings_max,
            checkpoints: self.checkpoints.take(),
            hook: conversion.sync_hook.as_deref(),
            progress: conversion.progress.as_deref(),
            source_bytes_total: self.source_bytes,
            ends_by_form: !matches!(conversion.source.format, SourceFormat::Records(_) | SourceFormat::Columns(_)),
            state: Written {
                position: self.from.clone(),
                tally,
                documents: 0,
                errors: self.states.errors,
                named_interchange: String::from_utf8(core::mem::take(&mut self.states.named_interchange))
                    .map_err(|_| bad_state())?,
                findings: Vec::new(),
                counts: CodeCounts::default(),
                repeats: Repeats::default(),
                misfit: None,
            },
            page_transaction: None,
            unsettled: Unsettled::default(),
            is_amid_lot: false,
            stopped_at_reject: false,
        };
        let facts = LaneFacts {
            file: Arc::clone(&conversion.source.name),
            reject_form: ends.reject_form(self.head.as_ref())?,
            stop_at_reject: conversion.rejects == Rejects::Stop,
            // Of a map, documents of a source document have no name but their number.
            split: split && conversion.map.is_none(),
            spool_folder,
            records: match &conversion.source.format {
                SourceFormat::Records(framing) => Some(SourceFacts {
                    framing: *framing,
                    bytes: self.source_bytes,
                    record_length: conversion.schema.record_length(),
                    record_lengths: conversion.schema.record_lengths(),
                }),
                SourceFormat::Json(_)
                | SourceFormat::Csv(_)
                | SourceFormat::Xml(_)
                | SourceFormat::Edi(_)
                | SourceFormat::Columns(_) => None,
            },
            cancel: Arc::clone(&conversion.cancel),
        };
        let mut block_reader = match self.columns.take() {
            Some(columns) => BlockReader::of_rows(columns),
            None => {
                let header = self.head.as_ref().and_then(SourceHead::csv).map(|header| &header.raw[..]);
                let cutter = ends.cutter(&self.from, header, &facts.file)?;
                let reader = core::mem::replace(&mut self.reader, ended());
                BlockReader::new(reader, cutter, ends.block_bytes(), &conversion.limits)
            }
        };
        if self.at_end {
            block_reader.end();
        }
        let scheduler = Scheduler::new(block_reader, writer, n, &conversion.cancel, &facts, &self.source_path);
        let mut totals = run_all(&scheduler, lanes, || ends.block(), &self.meter, &mut clock);
        let (writer, error) = scheduler.finish();
        let mut writer = writer.expect("every lane gave the writer back");
        let stopped = conversion.cancel.load(Ordering::Relaxed);
        if let (Some(early), true) = (&conversion.early, error.is_some() || stopped) {
            totals.merge(&clock.finish());
            let report = self.report(&writer, false, output_path.clone(), &totals);
            *early.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
            clock = self.meter.lane();
        }
        match error {
            None if stopped => Err(stop(&mut writer)),
            None => {
                writer.commit(&mut clock)?;
                totals.merge(&clock.finish());
                Ok(self.report(&writer, true, output_path, &totals))
            }
            Some(error) => {
                if writer.stopped_at_reject && !writer.is_at_end() {
                    // The output up to the position is sound: a run with more rejects allowed continues from here.
                    writer.checkpoint()?;
                }
                Err(error)
            }
        }
    }

    /// Completes a run that was stopped between the end of its conversion and the removal of its checkpoint.
    fn take_names(self, checkpoint: Checkpoint, mut clock: Clock) -> Result<Report, ConvertError> {
        clock.enter(Phase::Commit);
        let more = self.conversion.map.as_ref().map_or(&[][..], |stage| &stage.more);
        let lengths = core::iter::once(checkpoint.output_bytes).chain(self.states.more.iter().map(|(bytes, _)| *bytes));
        let targets = core::iter::once(&self.conversion.target).chain(more).zip(lengths);
        let outputs: Vec<(PathBuf, u64)> = targets
            .filter_map(|(target, bytes)| match &target.output {
                Output::File(path) => Some((path.clone(), bytes)),
                Output::Stream(_) | Output::Folder { .. } | Output::Compressed(..) => None,
            })
            .collect();
        let hook = self.conversion.sync_hook.as_deref();
        let rejects = match &self.conversion.rejects {
            Rejects::Stop => None,
            Rejects::File { path, .. } => Some(path.clone()),
        };
        if let Some(path) = &rejects {
            let findings = findings_path(path);
            resume::take_name(hook, SyncPoint::FindingsRename, &findings, Some(self.states.findings_bytes))?;
            resume::take_name(hook, SyncPoint::RejectsRename, path, Some(checkpoint.rejects_bytes))?;
        }
        for (output, bytes) in &outputs {
            resume::take_name(hook, SyncPoint::OutputRename, output, Some(*bytes))?;
        }
        for path in rejects.iter().chain(outputs.iter().map(|(path, _)| path)) {
            sync_step(hook, SyncPoint::Folder, "sync the folder of", path, || sync_folder_of(&real_path(path)))?;
        }
        if let Some(checkpoints) = &self.checkpoints {
            let file = &checkpoints.file;
            sync_step(hook, SyncPoint::CheckpointRemove, "remove", file.path(), || file.remove())?;
        }
        Ok(Report {
            tally: checkpoint.tally,
            documents: 0,
            source_bytes: 0,
            output_bytes: outputs.iter().map(|(_, bytes)| bytes).sum(),
            rejects_bytes: checkpoint.rejects_bytes,
            output: outputs.into_iter().next().map(|(path, _)| path),
            rejects,
            errors: self.states.errors,
            errors_before: self.states.errors,
            findings: Vec::new(),
            repeated: Vec::new(),
            findings_by_code: Vec::new(),
            guides: Vec::new(),
            misfit: None,
            resumed_at: Some(checkpoint.next),
            records_before: checkpoint.tally.records_in,
            cost: self.meter.report(&clock.finish()),
        })
    }

    /// Returns the report of a run that is complete or that ended early.
    fn report(&self, writer: &Writer<'_>, is_complete: bool, output: Option<PathBuf>, totals: &Totals) -> Report {
        let state = &writer.state;
        let mut findings = self.warnings.clone();
        // Records of unknown types are one finding a value: each stands in `repeated`, and beside the rejects.
        findings
            .extend(state.findings.iter().filter(|finding| finding.code != quayline_pipeline::UNKNOWN_TYPE).cloned());
        // A file of columns, an interchange or an XML document is never empty.
        let may_be_empty = match self.conversion.source.format {
            SourceFormat::Records(_) => true,
            // A CSV file with only a header, or an empty array, says that there is nothing.
            SourceFormat::Csv(_) | SourceFormat::Json(_) => state.position.offset.0 == 0,
            SourceFormat::Xml(_) | SourceFormat::Edi(_) | SourceFormat::Columns(_) => false,
        };
        if is_complete && state.tally.records_in == 0 && may_be_empty {
            let place = Place { file: Some(Arc::clone(&self.conversion.source.name)), ..Place::default() };
            // A source with other bytes than those to skip has records or an error.
            let finding = match self.conversion.schema.skip_bytes() {
                SkipBytes { first: 0, last: 0 } => quayline_frame::empty_source(),
                SkipBytes { first, last } => quayline_frame::all_skipped(first, last as u64),
            };
            findings.push(finding.at(place));
        }
        Report {
            tally: state.tally,
            documents: state.documents,
            source_bytes: state.position.offset.0 - self.from.offset.0,
            output_bytes: writer.output_bytes(),
            rejects_bytes: writer.rejects.as_ref().map_or(0, |files| files.records.len()),
            output,
            rejects: writer.rejects.as_ref().map(|files| files.records.path().to_owned()),
            errors: state.errors,
            errors_before: self.states.errors,
            findings,
            repeated: state.repeats.findings(),
            findings_by_code: state.counts.clone().sorted(),
            guides: guides_used(&self.conversion),
            misfit: state.misfit.clone(),
            resumed_at: self.resumed.as_ref().map(|checkpoint| checkpoint.next),
            records_before: self.resumed.as_ref().map_or(0, |checkpoint| checkpoint.tally.records_in),
            cost: self.meter.report(totals),
        }
    }
}

/// Returns the names of the guides that were chosen for transactions of the source and the outputs.
fn guides_used(conversion: &Conversion) -> Vec<String> {
    let more = conversion.map.iter().flat_map(|stage| &stage.more);
    let targets = core::iter::once(&conversion.target).chain(more).filter_map(|target| match &target.format {
        TargetFormat::Edi(options) => options.guides.as_ref(),
        _ => None,
    });
    let source = match &conversion.source.format {
        SourceFormat::Edi(read) => read.guides.as_ref(),
        _ => None,
    };
    let names = source.into_iter().chain(targets).flat_map(|documents| documents.guides().used());
    names.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Findings at the source.
fn in_file(Findings(mut findings): Findings, name: &Arc<str>) -> Findings {
    for finding in &mut findings {
        finding.place.file = Some(Arc::clone(name));
    }
    Findings(findings)
}

fn stop(writer: &mut Writer<'_>) -> ConvertError {
    if !writer.is_at_end()
        && let Err(error) = writer.checkpoint()
    {
        return error;
    }
    ConvertError::Stopped(Stopped {
        next: writer.state.position.next,
        checkpoint: writer.checkpoints.as_ref().map(|c| c.file.path().to_owned()).filter(|path| path.exists()),
        partial: writer.outputs.first().and_then(OutputWriter::partial),
    })
}

fn ends(conversion: &Conversion) -> Ends<'_> {
    Ends {
        source: &conversion.source.format,
        target: &conversion.target.format,
        schema: &conversion.schema,
        target_schema: conversion.target_schema.as_ref().unwrap_or(&conversion.schema),
        limits: &conversion.limits,
        map: conversion.map.as_ref().map(|stage| MapEnds {
            plan: &stage.plan,
            schemas: &stage.schemas,
            more: stage.more.iter().map(|target| &target.format).collect(),
            world: &stage.world,
            spool_folder: spool_folder(conversion),
            trace: stage.trace.clone(),
            coverage: stage.coverage.clone(),
        }),
        lanes: conversion.lanes,
        paging: Paging::Pages,
    }
}

/// Returns the folder for waiting output: that of the output, or the one for temporary files.
fn spool_folder(conversion: &Conversion) -> SpoolFolder {
    let folder = conversion.map.as_ref().map_or_else(std::env::temp_dir, |stage| stage.spool_folder.clone());
    Arc::new(TemporaryFolder(folder))
}

/// Returns a reader at its end, for a resumed run whose checkpoint is at the end of the source.
fn ended() -> Box<dyn Read + Send> {
    Box::new(io::empty())
}

/// The writers of the outputs, and the lanes.
type OutputsAndLanes<'c> = (Vec<OutputWriter>, Vec<Box<dyn Lane + 'c>>);

fn outputs_and_lanes<'c>(
    ends: &Ends<'c>,
    outs: Vec<OutFile>,
    states: &States,
    head: Option<&SourceHead>,
) -> Result<OutputsAndLanes<'c>, ConvertError> {
    let mut writers = Vec::new();
    let mut outputs = Vec::new();
    let more = states.more.iter().map(|(_, state)| &state[..]);
    let states = core::iter::once(&states.output[..]).chain(more).chain(core::iter::repeat(&[][..]));
    for ((number, out), state) in outs.into_iter().enumerate().zip(states) {
        let apart = if matches!(out, OutFile::Folder(_)) { Apart::FileEach } else { Apart::Together };
        let (start, mut output) = ends.output(number, apart)?;
        let mut writer = OutputWriter::start(start, out, state)?;
        if let (OutputWriter::Edi(output), Some(map)) = (&mut writer, &ends.map)
            && map.schemas.len() > 1
        {
            output.name = map.plan.output_name(number).map(str::to_owned);
        }
        if let Some(encoder) = writer.encoder() {
            output.encode_by(encoder);
        }
        writers.push(writer);
        outputs.push(output);
    }
    let written: Vec<u64> = writers.iter().map(|writer| writer.bytes() - writer.drop_first()).collect();
    let lanes = ends.lanes(&outputs, &written, head)?;
    Ok((writers, lanes))
}

struct OpenSource {
    reader: Box<dyn Read + Send>,
    /// A regular file, in place of the reader.
    file: Option<File>,
    path: PathBuf,
    bytes: Option<u64>,
}

impl OpenSource {
    fn open(input: &mut Input, name: &str) -> Result<OpenSource, ConvertError> {
        match core::mem::replace(input, Input::Stream(ended())) {
            Input::Stream(reader) => Ok(OpenSource { reader, file: None, path: name.into(), bytes: None }),
            Input::Opened(file) => {
                let bytes = file.metadata().ok().map(|meta| meta.len());
                Ok(OpenSource { reader: ended(), file: Some(file), path: name.into(), bytes })
            }
            Input::File(path) => {
                let file = File::open(&path).map_err(ConvertError::io("open", &path))?;
                let meta = file.metadata().map_err(ConvertError::io("open", &path))?;
                if meta.is_dir() {
                    return Err(ConvertError::io("read", &path)(io::ErrorKind::IsADirectory.into()));
                }
                let regular = meta.is_file();
                let (reader, file): (Box<dyn Read + Send>, _) =
                    if regular { (ended(), Some(file)) } else { (Box::new(file), None) };
                Ok(OpenSource { reader, file, path, bytes: regular.then_some(meta.len()) })
            }
        }
    }
}

/// The bytes of a source that is read from its start to its end, its path for messages, and its length where it has one.
pub(crate) type Opened = (Box<dyn Read + Send>, PathBuf, Option<u64>);

/// Opens a source that is read once. `name` is that of a stream or of an open file in messages.
pub(crate) fn open_input(input: &mut Input, name: &str) -> Result<Opened, ConvertError> {
    let OpenSource { reader, file, path, bytes } = OpenSource::open(input, name)?;
    Ok((file.map_or(reader, |file| Box::new(file)), path, bytes))
}

/// Opens an output at its beginning.
fn out_file(output: Output) -> Result<OutFile, ConvertError> {
    Ok(match output {
        Output::Stream(stream) => OutFile::Stream { stream, bytes: 0 },
        Output::Folder { path, extension } => OutFile::Folder(SplitFolder::new(&path, extension)),
        Output::File(path) => OutFile::File(PartialFile::create(&path)?),
        Output::Compressed(to, compression) => {
            let to = Compressor::new(out_file(*to)?, compression).map_err(ConvertError::io("write", "<output>"))?;
            OutFile::Compressed { to: Box::new(to), bytes: 0 }
        }
    })
}

/// Returns the targets of a run: one, or all targets of a map.
fn targets(conversion: &Conversion) -> impl Iterator<Item = &Target> {
    let more = conversion.map.as_ref().map_or(&[][..], |stage| &stage.more);
    core::iter::once(&conversion.target).chain(more)
}

/// Files of one document each are JSON, XML or EDI.
fn check_split(conversion: &Conversion) -> Result<(), ConvertError> {
    let apart = |target: &Target| {
        matches!(target.format, TargetFormat::JsonLines(_) | TargetFormat::Xml(_) | TargetFormat::Edi(_))
            || !matches!(target.output, Output::Folder { .. })
    };
    if targets(conversion).all(apart) {
        return Ok(());
    }
    let message = "documents of this format do not go to files of their own";
    Err(Finding::error(codes::NOT_SPLIT, Fault::Caller, message).hint("choose JSON, XML or EDI").into())
}

/// Checks that no two files of a run are the same.
fn check_names(conversion: &Conversion) -> Result<(), ConvertError> {
    let mut named: Vec<(&str, PathBuf)> = Vec::new();
    if let Input::File(path) = &conversion.source.input {
        named.push(("source", path.clone()));
    }
    for target in targets(conversion) {
        let output = match &target.output {
            Output::Compressed(to, _) => to,
            output => output,
        };
        if let Output::File(path) = output {
            named.push(("output", path.clone()));
            named.push(("partial output", partial_path(path)));
        }
    }
    if let Rejects::File { path, .. } = &conversion.rejects {
        named.push(("rejects file", path.clone()));
        named.push(("partial rejects file", partial_path(path)));
        named.push(("findings file", findings_path(path)));
    }
    if let Some(checkpoints) = &conversion.checkpoints {
        named.push(("checkpoint", checkpoints.path.clone()));
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (i, (what, path)) in named.iter().enumerate() {
        // Devices may stand for several ends.
        if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            continue;
        }
        if let Some((other, _)) = named[..i].iter().find(|(_, known)| real(known) == real(path)) {
            let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
            let finding =
                Finding::error(codes::SAME_FILE, Fault::Caller, format!("the {other} and the {what} are one file"));
            return Err(finding.at(place).hint("name another file").into());
        }
    }
    check_folders(conversion, &named)
}

/// Checks that the documents of a folder replace neither one of the named files nor the documents of another target.
fn check_folders(conversion: &Conversion, named: &[(&str, PathBuf)]) -> Result<(), ConvertError> {
    let refused = |path: &Path, message: String| -> Result<(), ConvertError> {
        let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
        Err(Finding::error(codes::SAME_FILE, Fault::Caller, message).at(place).hint("name another folder").into())
    };
    let mut known: Vec<(PathBuf, &str)> = Vec::new();
    for target in targets(conversion) {
        let Output::Folder { path, extension } = &target.output else { continue };
        let folder = path.canonicalize().unwrap_or_else(|_| path.clone());
        if known.contains(&(folder.clone(), extension)) {
            return refused(
                path,
                format!("two outputs have documents of the same names, `.{extension}`, in one folder"),
            );
        }
        known.push((folder, extension));
        if let Some(file) = replaced_by_documents(path, extension, named.iter().map(|(_, path)| path.as_path())) {
            let what = named.iter().find(|(_, path)| path == file).map_or("file", |(what, _)| what);
            return refused(file, format!("the {what} has the name of a document of the output folder"));
        }
    }
    Ok(())
}

fn findings_path(rejects: &Path) -> PathBuf {
    with_suffix(rejects, ".findings.jsonl")
}

/// Number of the layout of [`States`], which changes with it: 2 since it has the length of the findings file, 3 since it has the number of errors and
/// the last key of a text output.
const STATES_LAYOUT: u8 = 3;

/// Computes the digest of everything that shapes output, rejects and their order. The maximum number of rejects is not included, because it may be raised
/// for a resume.
fn plan_hash(conversion: &Conversion, definitions: u64) -> u64 {
    let rejects = matches!(conversion.rejects, Rejects::File { .. });
    let format = |target: &Target| match &target.format {
        TargetFormat::Edi(options) => TargetFormat::Edi(EdiWriterOptions { guides: None, ..options.clone() }),
        other => other.clone(),
    };
    let formats: Vec<TargetFormat> = targets(conversion).map(format).collect();
    let settings = format!(
        "{} {STATES_LAYOUT} {:?} {:?} {rejects} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        conversion.source.format,
        formats,
        conversion.limits,
        ends(conversion).block_bytes(),
    );
    definition_digest([&definitions.to_le_bytes()[..], settings.as_bytes()])
}
