//! One unit at a time: a record, a message, a whole interchange, from bytes in memory into buffers.

use core::convert::Infallible;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quayline_columnar::{
    ColumnInput, ColumnReader, ColumnSink, ParquetEncoder, ParquetOptions, ParquetPages, ParquetWriter,
};
use quayline_core::{ByteOffset, Code, Fault, Finding, Findings, Limits, RecordNumber, Severity, Tally};
use quayline_edi::{EdiMark, EdiWriter, ExcerptWriter};
use quayline_flat::Header;
use quayline_frame::{FrameFault, FrameFaultKind, Framer, FramerOptions, FramingSpec, Part};
use quayline_map::MapPlan;
use quayline_project::{MapFile, ParquetWrite, Schema, SourceFormat, TargetFormat};

use crate::apart::Apart;
use crate::block::{BLOCK_BYTES, Block, EdiPart, Position, Units};
use crate::block_reader::{BUFFER_KEPT_BYTES, BlockRead, BlockReader, SLACK};
use crate::codes;
use crate::csv_header::read_csv_header;
use crate::error::PipelineError;
use crate::lane::Lane;
use crate::lane_facts::LaneFacts;
use crate::lanes::{Ends, MapEnds, Paging, is_columns};
use crate::lot::{FINDINGS_A_LOT, Lot, keep_worst};
use crate::output::{LaneOutput, OutputStart};
use crate::payload::{Columns, Payload};
use crate::reject::RejectForm;
use crate::repeats::Repeats;
use crate::revocable::Revocable;
use crate::settle::{DraftOutput, Drafts, Unsettled, settle, settle_end};
use crate::sink::map::TraceOut;
use crate::source_head::SourceHead;
use crate::spool::{SpoolFolder, SpoolMemory};
use crate::world::World;

/// A source, an optional map and outputs, compiled. It never changes; each thread makes its own [`UnitLane`]s.
pub struct Pipeline {
    source: SourceFormat,
    schema: Arc<Schema>,
    target_schema: Arc<Schema>,
    map: Option<MapStep>,
    /// One, or one for each output of the map.
    targets: Vec<TargetFormat>,
    limits: Limits,
    spool: SpoolFolder,
}

/// The map of a [`Pipeline`].
pub struct MapStep {
    /// The map.
    pub plan: Arc<MapPlan>,
    /// The schema of each output, in the map's order.
    pub schemas: Vec<Arc<Schema>>,
    /// Clock, ids, envelope values and tables.
    pub world: Arc<World>,
}

impl Pipeline {
    /// Creates a pipeline without a map: source and target have the shape of `schema`.
    ///
    /// # Errors
    /// Formats that do not match the schema, and columns (Parquet, Arrow), which are written for many units at once.
    pub fn new(
        source: SourceFormat,
        schema: Arc<Schema>,
        target: TargetFormat,
        limits: Limits,
    ) -> Result<Pipeline, Findings> {
        Pipeline {
            source,
            target_schema: Arc::clone(&schema),
            schema,
            map: None,
            targets: vec![target],
            limits,
            spool: Arc::new(SpoolMemory),
        }
        .checked()
    }

    /// Creates a pipeline without a map whose documents become rows of a Parquet file, which the caller writes: [`Pipeline::columns`] configures the
    /// writer, [`Pipeline::page_lane`] takes its encoder, and [`OutputBuffer::take_pages`] returns its input.
    ///
    /// # Errors
    /// A source that does not match the schema.
    pub fn into_pages(source: SourceFormat, schema: Arc<Schema>, limits: Limits) -> Result<Pipeline, Findings> {
        let pipeline = Pipeline {
            source,
            target_schema: Arc::clone(&schema),
            schema,
            map: None,
            targets: vec![TargetFormat::Parquet(ParquetWrite::default())],
            limits,
            spool: Arc::new(SpoolMemory),
        };
        pipeline.ends().check().map_err(|error| error.findings())?;
        Ok(pipeline)
    }

    /// Returns the columns of a pipeline created by [`Pipeline::into_pages`], and the options of their file.
    ///
    /// # Errors
    /// A shape without a columnar form.
    ///
    /// # Panics
    /// If the pipeline was created otherwise.
    pub fn columns(&self) -> Result<(Box<ColumnSink>, ParquetOptions), Findings> {
        match self.ends().output(0, Apart::Together).map_err(|error| error.findings())? {
            (OutputStart::Parquet { sink, options }, _) => Ok((sink, options)),
            _ => panic!("the pipeline makes no pages"),
        }
    }

    /// Creates a lane like [`Pipeline::lane`], for a pipeline created by [`Pipeline::into_pages`].
    ///
    /// # Errors
    /// A shape without a columnar form.
    pub fn page_lane(&self, encoder: ParquetEncoder) -> Result<UnitLane<'_>, Findings> {
        UnitLane::new(self, Some(encoder)).map_err(|error| error.findings())
    }

    /// Creates a pipeline with a map, using the source, targets and formats that the map's file names.
    ///
    /// # Errors
    /// Errors of [`Pipeline::new`], and shapes that do not define the format of their documents.
    pub fn through(map: MapFile, world: Arc<World>, limits: Limits) -> Result<Pipeline, Findings> {
        let (source, schema, step, targets) = Pipeline::parts(map, world)?;
        Pipeline::with_map(source, schema, step, targets, limits)
    }

    fn parts(map: MapFile, world: Arc<World>) -> Result<Parts, Findings> {
        let source = map.source.source()?;
        let targets = map.targets.iter().map(|target| target.shape.target()).collect::<Result<Vec<_>, _>>()?;
        let schema = Arc::clone(map.source.schema());
        let schemas = map.targets.iter().map(|target| Arc::clone(target.shape.schema())).collect();
        Ok((source, schema, MapStep { plan: Arc::new(map.plan), schemas, world }, targets))
    }

    /// Creates a pipeline as [`Pipeline::through`] does, for a caller that takes each unit's output as a file: an output may be Parquet, and
    /// [`OutputBuffer::take`] returns a whole file with the rows of the units since the last call.
    ///
    /// # Errors
    /// Those of [`Pipeline::through`], except for Parquet.
    pub fn into_files(map: MapFile, world: Arc<World>, limits: Limits) -> Result<Pipeline, Findings> {
        let (source, schema, step, targets) = Pipeline::parts(map, world)?;
        if targets.iter().any(|target| is_columns(target) && !matches!(target, TargetFormat::Parquet(_))) {
            return Err(columns_of_unit("an Arrow file is not a document of a unit", "choose Parquet").into());
        }
        let pipeline = Pipeline::mapped(source, schema, step, targets, limits);
        pipeline.ends().check().map_err(|error| error.findings())?;
        Ok(pipeline)
    }

    /// Creates a pipeline with a map: `schema` is that of the source, `targets` are the formats of the map's outputs in order.
    ///
    /// # Errors
    /// Errors of [`Pipeline::new`], and outputs that cannot be written together.
    ///
    /// # Panics
    /// If the number of targets differs from the number of the map's outputs.
    pub fn with_map(
        source: SourceFormat,
        schema: Arc<Schema>,
        map: MapStep,
        targets: Vec<TargetFormat>,
        limits: Limits,
    ) -> Result<Pipeline, Findings> {
        Pipeline::mapped(source, schema, map, targets, limits).checked()
    }

    fn mapped(
        source: SourceFormat,
        schema: Arc<Schema>,
        map: MapStep,
        targets: Vec<TargetFormat>,
        limits: Limits,
    ) -> Pipeline {
        assert!(!targets.is_empty() && targets.len() == map.schemas.len(), "a target and a schema for each output");
        Pipeline {
            source,
            target_schema: Arc::clone(&schema),
            schema,
            map: Some(map),
            targets,
            limits,
            spool: Arc::new(SpoolMemory),
        }
    }

    fn checked(self) -> Result<Pipeline, Findings> {
        if self.targets.iter().any(is_columns) {
            let message = "columns are not documents of a unit: Parquet and Arrow are written for many units at once";
            let hint = "choose JSON, XML, CSV, records or EDI, or convert a whole file";
            return Err(columns_of_unit(message, hint).into());
        }
        self.ends().check().map_err(|error| error.findings())?;
        Ok(self)
    }

    /// Returns the unit of one empty record, for a caller that has records without their framing: a unit without bytes has no record. `None`
    /// if the source has no records.
    ///
    /// # Errors
    /// A framing without empty records.
    pub fn empty_record(&self) -> Option<Result<Vec<u8>, Findings>> {
        let SourceFormat::Records(spec) = &self.source else { return None };
        let kind = match spec {
            FramingSpec::Fixed { length } => Some(*length as u64),
            FramingSpec::Layout => Some(1),
            _ => None,
        };
        if let Some(need) = kind {
            let kind = FrameFaultKind::Truncated { part: Part::Record, need, have: 0 };
            let (record, offset) = (RecordNumber(1), ByteOffset(0));
            let fault = FrameFault { kind, record, record_offset: offset, offset, cause: None };
            return Some(Err(fault.finding().into()));
        }
        let framed = || {
            let mut unit = Vec::new();
            let mut framer = Framer::new(spec, FramerOptions::default(), &self.limits)
                .map_err(|error| Findings::from(error.finding()))?;
            framer.frame(b"", &mut unit).map_err(|fault| Findings::from(fault.finding()))?;
            framer.finish(&mut unit);
            Ok(unit)
        };
        Some(framed())
    }

    /// Creates an empty buffer for each output.
    ///
    /// # Errors
    /// A format that cannot represent its documents.
    pub fn buffers(&self) -> Result<Vec<OutputBuffer>, Findings> {
        let ends = self.ends();
        let buffer = |number| {
            let (start, _) = ends.output(number, Apart::Together).map_err(|error| error.findings())?;
            Ok(OutputBuffer::new(start))
        };
        (0..self.targets.len()).map(buffer).collect()
    }

    /// Creates the compiled loop with its memory, for one thread.
    ///
    /// # Errors
    /// A format that cannot represent its documents.
    pub fn lane(&self) -> Result<UnitLane<'_>, Findings> {
        UnitLane::new(self, None).map_err(|error| error.findings())
    }

    /// Returns a lane that also writes a trace to `out`: a line of JSON for each value, with its statement and its source values. A rejected document
    /// or a lane without a map has no trace. Positions are relative to new buffers.
    ///
    /// # Errors
    /// Errors of [`Pipeline::lane`].
    pub fn traced_lane(&self, out: TraceOut) -> Result<UnitLane<'_>, Findings> {
        let mut ends = self.ends();
        if let Some(map) = &mut ends.map {
            map.trace = Some(out);
        }
        UnitLane::with(self, ends, None).map_err(|error| error.findings())
    }

    pub(crate) fn ends(&self) -> Ends<'_> {
        Ends {
            source: &self.source,
            target: &self.targets[0],
            schema: &self.schema,
            target_schema: &self.target_schema,
            limits: &self.limits,
            map: self.map.as_ref().map(|step| MapEnds {
                plan: &step.plan,
                schemas: &step.schemas,
                more: self.targets[1..].iter().collect(),
                world: &step.world,
                spool_folder: SpoolFolder::clone(&self.spool),
                trace: None,
                coverage: None,
            }),
            lanes: 1,
            paging: Paging::Whole,
        }
    }
}

/// Source with its schema, map, and formats of the outputs.
type Parts = (SourceFormat, Arc<Schema>, MapStep, Vec<TargetFormat>);

fn columns_of_unit(message: &str, hint: &str) -> Finding {
    Finding::error(codes::COLUMNS_OF_UNIT, Fault::Config, message).hint(hint)
}

/// Compiled loop of a [`Pipeline`] with its memory. It keeps nothing of the units that it has run.
pub struct UnitLane<'p> {
    ends: Ends<'p>,
    outputs: Vec<LaneOutput<'p>>,
    /// Number of bytes in a new buffer of each output. The positions of a trace are relative to it.
    written: Vec<u64>,
    /// Lane; created for each unit if the unit's first row names the columns.
    lane: Option<Box<dyn Lane + 'p>>,
    facts: LaneFacts,
    block: Block,
    lot: Lot,
    /// For interchanges: the position at the beginning of each unit. A unit is one block, so no look-ahead for the ends of blocks is needed.
    start: Option<Position>,
}

/// Bytes of a unit.
enum Bytes<'u> {
    Lent(&'u [u8]),
    Held(&'u mut Vec<u8>),
}

/// Result of one unit. Every byte of the unit is in an output, in the rejects, skipped intentionally, or after the point where the unit was
/// lost.
#[derive(Debug, Default)]
pub struct UnitReport {
    /// Records (documents, transactions) of the unit: written, rejected, skipped.
    pub tally: Tally,
    /// Documents that were written.
    pub documents: u64,
    /// The rejected documents in a form that can be converted again with the same settings.
    pub rejects: Vec<u8>,
    /// Findings about the documents; at most 10,000 of a unit.
    pub findings: Vec<Finding>,
    /// Number of findings by code, including those beyond the limit.
    pub findings_by_code: Vec<(Code, u64)>,
    repeats: Repeats,
    /// Number of findings before those that begin with a count.
    counted_from: Option<usize>,
    /// Set if the rest of the unit could not be read. The documents before it are written.
    pub lost: Option<Findings>,
}

impl UnitReport {
    /// Returns true if the complete unit was read and no document was rejected.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.lost.is_none() && self.tally.records_rejected == 0
    }

    /// Returns what a log contains about accepted documents: warnings, and the findings with a count, such as the number of records that an interface
    /// file skips. Notes of a map are not among them.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        let counted_from = self.counted_from.unwrap_or(self.findings.len());
        let all = self.findings.iter().enumerate();
        all.filter(move |(at, finding)| *at >= counted_from || finding.severity == Severity::Warning)
            .map(|(_, finding)| finding)
    }
}

impl<'p> UnitLane<'p> {
    fn new(pipeline: &'p Pipeline, encoder: Option<ParquetEncoder>) -> Result<UnitLane<'p>, PipelineError> {
        UnitLane::with(pipeline, pipeline.ends(), encoder)
    }

    fn with(
        pipeline: &'p Pipeline,
        ends: Ends<'p>,
        encoder: Option<ParquetEncoder>,
    ) -> Result<UnitLane<'p>, PipelineError> {
        let (mut outputs, mut written) = (Vec::new(), Vec::new());
        for number in 0..pipeline.targets.len() {
            let (start, mut output) = ends.output(number, Apart::Together)?;
            if let OutputStart::Parquet { sink, options } = &start
                && encoder.is_none()
            {
                let writer = ParquetWriter::new(std::io::sink(), sink, options);
                output.encode_by(writer.map_err(|error| PipelineError::from(error.finding()))?.encoder());
            }
            outputs.push(output);
            written.push(match &start {
                // The first document has no separator before it.
                OutputStart::Text { prologue, separator, .. } => prologue.len().saturating_sub(*separator) as u64,
                OutputStart::Edi(_) | OutputStart::Parquet { .. } | OutputStart::Arrow { .. } => 0,
            });
        }
        if let (Some(encoder), Some(output)) = (encoder, outputs.first_mut()) {
            output.encode_by(encoder);
        }
        let named_by_unit = match ends.source {
            SourceFormat::Csv(style) => style.header != Header::Absent,
            SourceFormat::Columns(_) => true,
            _ => false,
        };
        let lane = if named_by_unit { None } else { ends.lanes(&outputs, &written, None)?.pop() };
        let facts = LaneFacts {
            file: Arc::from(""),
            reject_form: ends.reject_form(None)?,
            stop_at_reject: false,
            split: false,
            spool_folder: SpoolFolder::clone(&pipeline.spool),
            records: None,
            cancel: Arc::default(),
        };
        let start = match ends.source {
            SourceFormat::Edi(_) => Some(ends.cutter_for(usize::MAX, &Position::START, None, &facts.file)?.position()),
            _ => None,
        };
        Ok(UnitLane { block: ends.block(), ends, outputs, written, lane, facts, lot: Lot::new(), start })
    }

    /// Converts one unit, whose bytes are a complete file of the source format, and appends its documents to `outputs`. These are the result of
    /// [`Pipeline::buffers`], and may have been used with another lane of the same pipeline. `name` names the unit in findings.
    ///
    /// A document that cannot be read, mapped or written is discarded in every output; its findings are in the report. To discard the
    /// whole unit, mark the buffers before the call and reset them to the marks.
    ///
    /// # Panics
    /// If the number of buffers differs from the number of outputs.
    pub fn run(&mut self, name: &Arc<str>, unit: &[u8], outputs: &mut [OutputBuffer]) -> UnitReport {
        self.run_bytes(name, Bytes::Lent(unit), outputs)
    }

    /// Converts one unit whose memory the lane may use during the call, so that interchanges of megabytes are not copied. `unit` is unchanged
    /// afterwards.
    ///
    /// # Panics
    /// See [`UnitLane::run`].
    pub fn run_held(&mut self, name: &Arc<str>, unit: &mut Vec<u8>, outputs: &mut [OutputBuffer]) -> UnitReport {
        self.run_bytes(name, Bytes::Held(unit), outputs)
    }

    fn run_bytes(&mut self, name: &Arc<str>, unit: Bytes<'_>, outputs: &mut [OutputBuffer]) -> UnitReport {
        assert_eq!(outputs.len(), self.outputs.len(), "a buffer for each output");
        let mut report = UnitReport::default();
        self.facts.file = Arc::clone(name);
        let done = match (unit, self.start.clone()) {
            (Bytes::Lent(unit), Some(start)) => {
                self.block.bytes.clear();
                self.block.bytes.extend_from_slice(unit);
                self.convert_interchanges(start, outputs, &mut report)
            }
            (Bytes::Held(unit), Some(start)) => {
                std::mem::swap(&mut self.block.bytes, unit);
                let done = self.convert_interchanges(start, outputs, &mut report);
                std::mem::swap(&mut self.block.bytes, unit);
                done
            }
            (Bytes::Lent(unit), None) => self.convert(unit, outputs, &mut report),
            (Bytes::Held(unit), None) => self.convert(unit, outputs, &mut report),
        };
        if let Err(error) = done {
            report.lost = Some(error.findings());
        }
        report
    }

    /// Converts the interchanges in the block's bytes.
    fn convert_interchanges(
        &mut self,
        start: Position,
        outputs: &mut [OutputBuffer],
        report: &mut UnitReport,
    ) -> Result<(), PipelineError> {
        let block = &mut self.block;
        let len = block.bytes.len();
        block.bytes.resize(len + SLACK, 0);
        (block.seq, block.skipped, block.filled) = (0, 0, len);
        block.units = Units::Interchanges(EdiPart { len, is_last: true, is_whole: true, ..EdiPart::default() });
        block.after = start.clone();
        block.before = start;
        let mut unsettled = Unsettled::default();
        let mut excerpt = ExcerptWriter::new();
        let done = self.convert_block(BlockRead::Block, outputs, report, &mut unsettled, &mut excerpt);
        self.block.bytes.truncate(len);
        // Release the memory that one very large unit required.
        if self.block.bytes.capacity() > (8 * len).max(BUFFER_KEPT_BYTES) {
            self.block.bytes.shrink_to_fit();
        }
        done.and_then(|end| {
            self.end_unit(outputs, report, &mut unsettled, &mut excerpt)?;
            end.map_or(Ok(()), Err)
        })
    }

    fn convert(
        &mut self,
        unit: &[u8],
        outputs: &mut [OutputBuffer],
        report: &mut UnitReport,
    ) -> Result<(), PipelineError> {
        let name = Arc::clone(&self.facts.file);
        let io_error = || PipelineError::io("read", &*name);
        let mut reader: Box<dyn Read + Send + '_> = Box::new(unit);
        let mut from = Position::START;
        let mut first_row = None;
        if let SourceFormat::Csv(style) = self.ends.source
            && style.header != Header::Absent
        {
            let (header, rest) = read_csv_header(reader, *style, self.ends.limits, &name, io_error())?;
            from = header.as_ref().map_or(from, |header| header.behind.clone());
            reader = rest;
            first_row = header.as_ref().map(|header| header.raw.clone());
            self.begin(header.map(SourceHead::Csv), report)?;
        }
        let mut block_reader = if let SourceFormat::Columns(_) = self.ends.source {
            let input = ColumnInput::Memory(unit.to_vec().into());
            let columns = ColumnReader::open(input).map_err(|error| PipelineError::from(error.finding()))?;
            self.begin(Some(self.ends.columns_head(&columns)?), report)?;
            BlockReader::of_rows(columns)
        } else {
            // A unit of many documents is read in blocks, which limits the output that waits to be written to one block.
            let cutter = self.ends.cutter(&from, first_row.as_deref(), &name)?;
            BlockReader::new(reader, cutter, BLOCK_BYTES.min(unit.len() + 1), self.ends.limits)
        };
        let never = AtomicBool::new(false);
        let mut unsettled = Unsettled::default();
        let mut excerpt = ExcerptWriter::new();
        let done = loop {
            let taken = match block_reader.take(&mut self.block, &never) {
                Ok(BlockRead::End | BlockRead::Stopped) => break Ok(()),
                Ok(taken) => taken,
                Err(error) => break Err(io_error()(error)),
            };
            if let Some(end) = self.convert_block(taken, outputs, report, &mut unsettled, &mut excerpt)? {
                break Err(end);
            }
        };
        self.end_unit(outputs, report, &mut unsettled, &mut excerpt)?;
        done
    }

    /// Converts the block. Returns the error that ends the unit early, if any.
    fn convert_block(
        &mut self,
        taken: BlockRead,
        outputs: &mut [OutputBuffer],
        report: &mut UnitReport,
        unsettled: &mut Unsettled,
        excerpt: &mut ExcerptWriter,
    ) -> Result<Option<PipelineError>, PipelineError> {
        let lane = self.lane.as_mut().expect("a lane was made with the pipeline's, or for the unit's head");
        self.lot.clear();
        lane.convert(&self.facts, &self.block, &mut self.lot);
        self.lot.end_with(taken);
        settle(outputs, &mut self.lot, false, unsettled, &SpoolMemory)?;
        let lot = &mut self.lot;
        let mut more = core::mem::take(&mut lot.payload.more);
        let payloads = core::iter::once(&mut lot.payload).chain(&mut more);
        outputs.iter_mut().zip(payloads).try_for_each(|(output, payload)| output.append(payload))?;
        lot.payload.more = more;
        report.add(lot, &self.facts.reject_form, excerpt)?;
        Ok(lot.end.take())
    }

    /// Completes the outputs and the report at the end of a unit.
    fn end_unit(
        &mut self,
        outputs: &mut [OutputBuffer],
        report: &mut UnitReport,
        unsettled: &mut Unsettled,
        excerpt: &mut ExcerptWriter,
    ) -> Result<(), PipelineError> {
        // The last document of interchanges may have waited for a page that did not come.
        self.lot.clear();
        settle_end(outputs, &mut self.lot, unsettled);
        outputs.iter_mut().for_each(OutputBuffer::flush);
        report.add(&mut self.lot, &self.facts.reject_form, excerpt)?;
        report.counted_from = Some(report.findings.len());
        report.findings.extend(report.repeats.findings());
        if !report.rejects.is_empty() {
            excerpt.finish(&mut report.rejects);
            report.rejects.extend_from_slice(self.facts.reject_form.epilogue());
        }
        Ok(())
    }
}

impl UnitLane<'_> {
    /// Makes the lane for a unit whose start names its columns.
    fn begin(&mut self, head: Option<SourceHead>, report: &mut UnitReport) -> Result<(), PipelineError> {
        report.findings = self.ends.head_warnings(head.as_ref())?;
        self.facts.reject_form = self.ends.reject_form(head.as_ref())?;
        self.lane = self.ends.lanes(&self.outputs, &self.written, head.as_ref())?.pop();
        Ok(())
    }
}

impl UnitReport {
    /// Keeps the findings of one block up to the bound of a unit.
    fn keep(&mut self, findings: &mut Vec<Finding>) {
        self.findings.append(findings);
        keep_worst(&mut self.findings, FINDINGS_A_LOT);
    }

    /// Adds the results of one block.
    fn add(&mut self, lot: &mut Lot, form: &RejectForm, excerpt: &mut ExcerptWriter) -> Result<(), PipelineError> {
        self.tally.add(lot.tally);
        self.documents += lot.documents;
        self.keep(&mut lot.findings);
        self.repeats.merge(&mut lot.repeats);
        for (code, times) in &lot.counts.0 {
            match self.findings_by_code.iter_mut().find(|(known, _)| known == code) {
                Some((_, count)) => *count += times,
                None => self.findings_by_code.push((*code, *times)),
            }
        }
        if self.rejects.is_empty() && !lot.rejects.is_empty() {
            self.rejects = form.prologue();
        }
        if lot.excerpts.is_empty() {
            self.rejects.extend_from_slice(&lot.rejects);
            return Ok(());
        }
        for part in lot.excerpts.drain(..) {
            let mut bytes = Vec::new();
            if let Some(mut front) = part.front {
                let read = front.read(0, |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                });
                read.map_err(PipelineError::spool(&SpoolMemory))?;
            }
            bytes.extend_from_slice(&lot.rejects[part.raw]);
            excerpt.add(&part.around, part.is_transaction, &bytes, &mut self.rejects);
        }
        Ok(())
    }
}

/// Documents of one output in memory, in the output's format.
pub struct OutputBuffer {
    bytes: Vec<u8>,
    form: Form,
    /// Number of times that the output was kept or taken; marks with an earlier number are invalid.
    kept: u64,
    /// Key of the last document, if documents of several rows have keys.
    key: Option<Vec<u8>>,
}

/// Format in which documents follow each other.
enum Form {
    Text { prologue: Vec<u8>, epilogue: Vec<u8>, separator: usize },
    Edi(Box<EdiWriter>),
    Pages { pages: Vec<ParquetPages>, sink: Box<ColumnSink>, options: ParquetOptions },
}

/// A point in an [`OutputBuffer`].
#[derive(Clone, Debug)]
pub struct OutputMark {
    len: usize,
    edi: Option<EdiMark>,
    kept: u64,
    key: Option<Vec<u8>>,
}

impl OutputBuffer {
    fn new(start: OutputStart) -> OutputBuffer {
        let (bytes, form) = match start {
            OutputStart::Text { prologue, epilogue, separator } => {
                (prologue.clone(), Form::Text { prologue, epilogue, separator })
            }
            OutputStart::Edi(options) => (Vec::new(), Form::Edi(Box::new(EdiWriter::new(*options)))),
            OutputStart::Parquet { sink, options } => (Vec::new(), Form::Pages { pages: Vec::new(), sink, options }),
            OutputStart::Arrow { .. } => unreachable!("a pipeline with batches was refused"),
        };
        OutputBuffer { bytes, form, kept: 0, key: None }
    }

    /// Returns the bytes so far, without the epilogue of the output and without the trailers of open interchanges.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns true if the output has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.form {
            Form::Text { prologue, .. } => self.bytes.len() == prologue.len(),
            Form::Edi(writer) => self.bytes.is_empty() && writer.bytes().is_empty(),
            Form::Pages { pages, .. } => pages.is_empty(),
        }
    }

    /// Ends the output, hands its bytes out, and begins the next one. Control numbers of interchanges count on.
    ///
    /// # Panics
    /// If the pages of a Parquet file are of other columns than those of the pipeline, which its lanes exclude.
    pub fn take(&mut self) -> Vec<u8> {
        self.kept += 1;
        self.key = None;
        match &mut self.form {
            Form::Text { prologue, epilogue, .. } => {
                self.bytes.extend_from_slice(epilogue);
                core::mem::replace(&mut self.bytes, prologue.clone())
            }
            Form::Edi(writer) => {
                writer.finish();
                self.bytes.extend_from_slice(writer.bytes());
                writer.clear();
                core::mem::take(&mut self.bytes)
            }
            Form::Pages { pages, sink, options } => {
                let written = |pages: &mut Vec<ParquetPages>| {
                    let mut writer = ParquetWriter::new(Vec::new(), sink, options)?;
                    pages.drain(..).try_for_each(|pages| writer.write(pages))?;
                    writer.finish().map(|(bytes, _)| bytes)
                };
                written(pages).expect("the lane was made with the same columns, and memory takes everything")
            }
        }
    }

    /// Hands out the rows so far, for the Parquet writer whose encoder the lane has.
    pub fn take_pages(&mut self) -> Vec<ParquetPages> {
        self.kept += 1;
        match &mut self.form {
            Form::Pages { pages, .. } => core::mem::take(pages),
            Form::Text { .. } | Form::Edi(_) => Vec::new(),
        }
    }

    fn check(&self, mark: &OutputMark) {
        assert_eq!(mark.kept, self.kept, "a mark is void once the output was kept or handed out");
    }

    /// Moves the pending bytes of the interchange writer to the buffer.
    fn flush(&mut self) {
        if let Form::Edi(writer) = &mut self.form {
            self.bytes.extend_from_slice(writer.bytes());
            writer.clear();
        }
    }

    /// Appends the output of a block.
    fn append(&mut self, payload: &mut Payload) -> Result<(), PipelineError> {
        if let Form::Pages { pages, .. } = &mut self.form {
            pages.extend(payload.columns.drain(..).filter_map(|columns| match columns {
                Columns::Pages(pages) => Some(pages),
                Columns::Batch(_) | Columns::Written => None,
            }));
            return Ok(());
        }
        if core::mem::take(&mut payload.keys_unknown) {
            self.key = None;
        }
        if let Some(keys) = payload.keys.take() {
            keys.follow(&mut self.key).map_err(|fault| fault.finding())?;
        }
        let mut skip = match &self.form {
            Form::Text { prologue, separator, .. } if self.bytes.len() == prologue.len() => *separator,
            _ => 0,
        };
        if let Some(mut front) = payload.front.take() {
            let bytes = &mut self.bytes;
            let read = front.read(skip as u64, |part| {
                bytes.extend_from_slice(part);
                Ok(())
            });
            read.map_err(PipelineError::spool(&SpoolMemory))?;
            skip = 0;
        }
        self.bytes.extend_from_slice(payload.bytes.get(skip..payload.len).unwrap_or_default());
        Ok(())
    }
}

impl Revocable for OutputBuffer {
    type Mark = OutputMark;
    type Error = Infallible;

    fn mark(&mut self) -> Result<OutputMark, Infallible> {
        let edi = match &mut self.form {
            Form::Edi(writer) => Some(writer.mark()),
            Form::Text { .. } | Form::Pages { .. } => None,
        };
        let len = if let Form::Pages { pages, .. } = &self.form { pages.len() } else { self.bytes.len() };
        Ok(OutputMark { len, edi, kept: self.kept, key: self.key.clone() })
    }

    /// # Panics
    /// If the output was kept or taken since the mark.
    fn back_to(&mut self, mark: OutputMark) -> Result<(), Infallible> {
        self.check(&mark);
        if let Form::Pages { pages, .. } = &mut self.form {
            pages.truncate(mark.len);
            return Ok(());
        }
        self.bytes.truncate(mark.len);
        self.key = mark.key;
        if let (Form::Edi(writer), Some(mark)) = (&mut self.form, mark.edi) {
            writer.back_to(mark);
        }
        Ok(())
    }

    /// # Panics
    /// If the output was kept or taken since the mark.
    fn keep(&mut self, mark: OutputMark) -> Result<(), Infallible> {
        self.check(&mark);
        self.kept += 1;
        Ok(())
    }
}

impl DraftOutput for OutputBuffer {
    fn drafts(&mut self) -> Option<Drafts<'_>> {
        match &mut self.form {
            Form::Edi(writer) => Some(Drafts { writer, is_split: false, name: None }),
            Form::Text { .. } | Form::Pages { .. } => None,
        }
    }
}
