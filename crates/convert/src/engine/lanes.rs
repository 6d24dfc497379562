//! Sources and targets put together: one compiled loop for each pair.

use std::io;
use std::sync::Arc;

use quayline_columnar::{
    ArrowIpcWriter, Codec, ColumnOptions, ColumnSink, Framing, ParquetOptions, ParquetWriter, TextStore,
};
use quayline_core::{Fault, Finding, Findings, Limits, Shape};
use quayline_edi::{DocumentReader, EdiWriter, GenericOptions, ValidatorOptions, guide::GuideDocuments};
use quayline_flat::CsvWriter;
use quayline_frame::{FramerOptions, FramingSpec, SpecError};
use quayline_json::{JsonStyle, JsonWriter, Numbers, Stream, Unknown};
use quayline_project::{
    EdiDocuments, EdiRead, JsonNumbers, JsonWrite, ParquetCompression, Records, Schema, SourceFormat, TargetFormat,
};
use quayline_xml::XmlWriter;

use crate::codes;
use crate::engine::block::{BLOCK_BYTES, Block, EdiPart, Position, Units};
use crate::engine::csv_header::CsvHeader;
use crate::engine::cut::{CsvCutter, EdiCutter, JsonCutter, RecordCutter, XmlCutter, without_guides};
use crate::engine::intake::Cutter;
use crate::engine::lane::{Lane, Loop, Target};
use crate::engine::map_lanes;
use crate::engine::output::{ColumnOutput, EdiOutput, OutFile, OutputWriter, TextOutput};
use crate::engine::reject::RejectForm;
use crate::engine::source::{CsvSource, EdiRowSource, EdiSource, JsonSource, RecordSource, TypedSource, XmlSource};
use crate::engine::target::{
    BatchTarget, CsvTarget, EdiTarget, Framed, JsonTarget, PagesTarget, RecordTarget, TypedTarget, XmlTarget,
};
use crate::error::ConvertError;
use crate::map_stage::MapStage;

/// Bytes of a block where the target builds columns: a page wants some thousand rows.
const COLUMNS_BLOCK_BYTES: usize = 1 << 20;

/// Rows of a batch of segments: they are short and have sixty columns.
const EDI_BATCH_ROWS: usize = 4096;

/// Bytes of a row group, and of one dictionary in it, where the source is interchanges: what is converted in constant memory has less of it.
const EDI_ROW_GROUP_BYTES: usize = 2 << 20;
const EDI_DICTIONARY_BYTES: usize = 256 << 10;

/// The ends of a conversion, from which lanes are made.
pub(crate) struct Ends<'c> {
    pub(crate) source: &'c SourceFormat,
    pub(crate) target: &'c TargetFormat,
    pub(crate) schema: &'c Arc<Schema>,
    /// What a target of records is encoded by.
    pub(crate) target_schema: &'c Arc<Schema>,
    pub(crate) limits: &'c Limits,
    /// A map between them: then they need not have one shape.
    pub(crate) map: Option<&'c MapStage>,
    /// How many lanes there are.
    pub(crate) lanes: usize,
}

impl<'c> Ends<'c> {
    /// Checks that the ends fit together.
    pub(crate) fn check(&self) -> Result<(), ConvertError> {
        let records = |schema: &Schema| !matches!(schema.records(), Records::None);
        let source = matches!(self.source, SourceFormat::Records(_)) && !records(self.schema);
        let target =
            self.map.is_none() && matches!(self.target, TargetFormat::Records(_)) && !records(self.target_schema);
        if source || target {
            let end = if source { "source" } else { "target" };
            let message = format!("the {end} is a record file, but there is no record description");
            let finding = Finding::error(codes::NO_DESCRIPTION, Fault::Config, message);
            return Err(finding.hint("name a copybook").into());
        }
        if let Some(stage) = self.map {
            let formats: Vec<&TargetFormat> =
                core::iter::once(self.target).chain(stage.more.iter().map(|target| &target.format)).collect();
            map_lanes::check(stage, &formats)?;
            return self.check_edi_source();
        }
        if self.schema.shape() != self.target_schema.shape() {
            let message = "source and target have different fields, names or record types";
            let finding = Finding::error(codes::OTHER_SHAPE, Fault::Config, message);
            return Err(finding
                .hint("use one copybook and one interface file for both; only code page and policies may differ")
                .into());
        }
        self.check_edi_source()?;
        match self.target {
            TargetFormat::Edi(options) if !self.is_by_guide(options.guides.as_ref()) => Err(other_shape()),
            _ => Ok(()),
        }
    }

    fn is_by_guide(&self, guides: Option<&Arc<GuideDocuments>>) -> bool {
        match guides {
            Some(documents) => *self.shape() == *documents.shape(),
            None => *self.shape() == quayline_edi::generic_shape(),
        }
    }

    fn check_edi_source(&self) -> Result<(), ConvertError> {
        let fits = match self.source {
            SourceFormat::Edi(EdiRead { documents: EdiDocuments::Rows, .. }) => {
                *self.shape() == quayline_edi::row_shape()
            }
            SourceFormat::Edi(read) => self.is_by_guide(read.guides.as_ref()),
            _ => true,
        };
        if fits { Ok(()) } else { Err(other_shape()) }
    }

    /// Whether output may be continued behind a checkpoint.
    pub(crate) fn appends(&self) -> bool {
        let more = self.map.map_or(&[][..], |stage| &stage.more).iter().map(|target| &target.format);
        !core::iter::once(self.target).chain(more).any(|format| {
            matches!(format, TargetFormat::Parquet(_) | TargetFormat::ArrowFile | TargetFormat::ArrowStream)
        })
    }

    pub(crate) fn block_bytes(&self) -> usize {
        match (self.source, self.target) {
            _ if self.appends() => BLOCK_BYTES,
            // Segments are short and have sixty columns: a small block has many rows, and batches are not compressed.
            (SourceFormat::Edi(_), TargetFormat::Parquet(_)) => BLOCK_BYTES,
            (SourceFormat::Edi(_), _) => BLOCK_BYTES / 2,
            _ => COLUMNS_BLOCK_BYTES,
        }
    }

    pub(crate) fn block(&self) -> Block {
        Block::new(match self.source {
            SourceFormat::Records(_) => Units::Records(quayline_frame::Batch::new()),
            SourceFormat::Json(_) | SourceFormat::Csv(_) | SourceFormat::Xml(_) => Units::Documents(Vec::new()),
            SourceFormat::Edi(_) => Units::Interchanges(EdiPart::default()),
        })
    }

    pub(crate) fn cutter(&self, from: &Position, file: &Arc<str>) -> Result<Box<dyn Cutter>, ConvertError> {
        Ok(match self.source {
            SourceFormat::Records(spec) => {
                Box::new(RecordCutter::new(spec, self.limits, self.schema, from, file).map_err(spec_error)?)
            }
            SourceFormat::Json(_) => Box::new(JsonCutter::new(self.limits, from, file)),
            SourceFormat::Csv(style) => Box::new(CsvCutter::new(*style, self.limits, from, file)),
            SourceFormat::Xml(style) => Box::new(XmlCutter::new(style, self.limits, from, file)),
            SourceFormat::Edi(read) => {
                let options = self.edi(read);
                let documents_only = options.page_bytes.is_none() || self.pages_in_lane();
                let options = if documents_only { without_guides(options) } else { options };
                Box::new(EdiCutter::new(&options, self.block_bytes(), from))
            }
        })
    }

    /// Whether the lane finds the pages of transactions by itself, since it is alone: to find them before takes as long as to send them. Only of
    /// targets that can hold a document which goes on in the next block.
    fn pages_in_lane(&self) -> bool {
        let holds = matches!(self.target, TargetFormat::JsonLines(_) | TargetFormat::JsonArray(_));
        let by_guide = matches!(
            self.source,
            SourceFormat::Edi(EdiRead { documents: EdiDocuments::Transactions, guides: Some(_), .. })
        );
        self.lanes == 1 && self.map.is_none() && holds && by_guide
    }

    /// How interchanges are read. Faults are bounded by lots, not by the reader, which would take documents for good once it tells no more.
    fn edi(&self, read: &EdiRead) -> GenericOptions {
        GenericOptions {
            limits: Limits { findings_max: usize::MAX, ..self.limits.clone() },
            rules: read.rules,
            charset: read.charset,
            validation: read.guides.as_ref().map(|_| ValidatorOptions {
                level: read.level,
                findings_max: usize::MAX,
                ..ValidatorOptions::default()
            }),
            guides: match read.documents {
                EdiDocuments::Transactions => read.guides.clone(),
                EdiDocuments::Rows => None,
            },
            // A map takes a transaction whole, however long it is.
            page_bytes: self.map.is_none().then_some(read.page_bytes as u64),
        }
    }

    /// The reader of a source of interchanges where a checkpoint stands.
    pub(crate) fn reader_at(&self, from: &Position, state: &[u8]) -> Option<DocumentReader> {
        let SourceFormat::Edi(read) = self.source else { return None };
        DocumentReader::resume(&self.edi(read), from.offset, state)
    }

    pub(crate) fn reject_form(&self, header: Option<&CsvHeader>) -> Result<RejectForm, ConvertError> {
        Ok(match self.source {
            SourceFormat::Records(spec) => RejectForm::records(spec, self.limits, self.schema.pad_byte().unwrap_or(0)),
            SourceFormat::Json(_) => RejectForm::Line { prologue: Vec::new(), epilogue: Vec::new() },
            SourceFormat::Csv(_) => {
                let prologue = header.map_or_else(Vec::new, |header| [&header.raw[..], b"\n"].concat());
                RejectForm::Line { prologue, epilogue: Vec::new() }
            }
            SourceFormat::Xml(style) => {
                let mut writer = XmlWriter::new(self.shape(), style.clone())?;
                writer.begin();
                let prologue = writer.bytes().to_vec();
                writer.clear();
                writer.end();
                RejectForm::Line { prologue, epilogue: writer.bytes().to_vec() }
            }
            SourceFormat::Edi(_) => RejectForm::Interchanges,
        })
    }

    /// What is odd about the header of a CSV source; refuses one that does not fit.
    pub(crate) fn header_warnings(&self, header: Option<&CsvHeader>) -> Result<Vec<Finding>, Findings> {
        let SourceFormat::Csv(style) = self.source else { return Ok(Vec::new()) };
        let source = CsvSource::new(self.shape(), *style, self.limits, header.map(|header| &header.raw[..]))?;
        Ok(source.warnings().to_vec())
    }

    /// The writer of the output, and `n` lanes.
    ///
    /// `written` tells whether output goes on in which documents stand already.
    pub(crate) fn writer_and_lanes(
        &self,
        out: OutFile,
        written: bool,
        state: &[u8],
        header: Option<&CsvHeader>,
        n: usize,
    ) -> Result<(OutputWriter, Vec<Box<dyn Lane + 'c>>), ConvertError> {
        let split = matches!(out, OutFile::Folder(_));
        match self.target {
            TargetFormat::Edi(options) => {
                let text = TextOutput::start(out, &[], Vec::new(), 0)?;
                let writer = if state.is_empty() {
                    Some(EdiWriter::new(options.clone()))
                } else {
                    EdiWriter::resume(options.clone(), state)
                };
                let writer = writer.ok_or_else(crate::engine::checkpoint_file::bad_state)?;
                let lanes = (0..n).map(|_| self.lane(EdiTarget::new(options), header)).collect::<Result<_, _>>()?;
                Ok((OutputWriter::Edi(Box::new(EdiOutput::new(text, writer))), lanes))
            }
            TargetFormat::JsonLines(write) => self.json(out, write, Stream::Lines, written, header, n),
            TargetFormat::JsonArray(write) => self.json(out, write, Stream::Array, written, header, n),
            TargetFormat::Records(spec) => self.records(out, spec, header, n),
            TargetFormat::Csv(style) => {
                let mut writer = CsvWriter::new(self.shape(), *style, self.limits)?;
                writer.begin();
                let output = TextOutput::start(out, writer.bytes(), Vec::new(), 0)?;
                let lane = |_| self.lane(CsvTarget::new(self.shape(), *style, self.limits)?, header);
                Ok((OutputWriter::Text(output), (0..n).map(lane).collect::<Result<_, _>>()?))
            }
            TargetFormat::Xml(style) => {
                let mut writer = XmlWriter::new(self.shape(), style.clone())?;
                writer.begin();
                let prologue = writer.bytes().to_vec();
                writer.clear();
                writer.end();
                let output = TextOutput::start(out, &prologue, writer.bytes().to_vec(), 0)?;
                let lane = |_| self.lane(XmlTarget::new(self.shape(), style, split)?, header);
                Ok((OutputWriter::Text(output), (0..n).map(lane).collect::<Result<_, _>>()?))
            }
            TargetFormat::Parquet(write) => {
                let sink = self.columns(TextStore::Interned)?;
                let codec = match write.compression {
                    ParquetCompression::Snappy => Codec::Snappy,
                    ParquetCompression::None => Codec::Uncompressed,
                };
                let options = match self.source {
                    SourceFormat::Edi(_) => ParquetOptions {
                        codec,
                        row_group_bytes_max: EDI_ROW_GROUP_BYTES,
                        dictionary_bytes_max: EDI_DICTIONARY_BYTES,
                        ..ParquetOptions::default()
                    },
                    _ => ParquetOptions { codec, ..ParquetOptions::default() },
                };
                let output = ColumnOutput::start(out, |out| ParquetWriter::new(out, &sink, &options))?;
                let writer = output.writer.as_ref().expect("the output was just started");
                let lane = |_| self.lane(PagesTarget::new(sink.sibling(), writer.encoder()), header);
                let lanes = (0..n).map(lane).collect::<Result<_, _>>()?;
                Ok((OutputWriter::Parquet(Box::new(output)), lanes))
            }
            TargetFormat::ArrowFile | TargetFormat::ArrowStream => {
                let framing =
                    if matches!(self.target, TargetFormat::ArrowFile) { Framing::File } else { Framing::Stream };
                let sink = self.columns(TextStore::Plain)?;
                let output = ColumnOutput::start(out, |out| ArrowIpcWriter::new(out, &sink, framing))?;
                let lanes =
                    (0..n).map(|_| self.lane(BatchTarget::new(sink.sibling()), header)).collect::<Result<_, _>>()?;
                Ok((OutputWriter::Arrow(output), lanes))
            }
        }
    }

    fn json(
        &self,
        out: OutFile,
        write: &JsonWrite,
        stream: Stream,
        written: bool,
        header: Option<&CsvHeader>,
        n: usize,
    ) -> Result<(OutputWriter, Vec<Box<dyn Lane + 'c>>), ConvertError> {
        let split = matches!(out, OutFile::Folder(_));
        let style = JsonStyle { stream, numbers: numbers(write), ..JsonStyle::default() };
        let mut writer = JsonWriter::new(self.shape(), style);
        writer.begin();
        let prologue = writer.bytes().to_vec();
        writer.clear();
        writer.end();
        // In an array every document begins with the comma behind the one before.
        let drop_first = usize::from(stream == Stream::Array && !written);
        let output = TextOutput::start(out, &prologue, writer.bytes().to_vec(), drop_first)?;
        let lane = |_| self.lane(JsonTarget::new(self.shape(), style, split), header);
        Ok((OutputWriter::Text(output), (0..n).map(lane).collect::<Result<_, _>>()?))
    }

    fn records(
        &self,
        out: OutFile,
        spec: &FramingSpec,
        header: Option<&CsvHeader>,
        n: usize,
    ) -> Result<(OutputWriter, Vec<Box<dyn Lane + 'c>>), ConvertError> {
        let options = FramerOptions {
            pad: self.target_schema.pad_byte().unwrap_or(0),
            record_bytes_max: self.target_schema.record_bytes_max(),
            ..FramerOptions::default()
        };
        let prologue = Framed::prologue(spec, options.clone(), self.limits).map_err(spec_error)?;
        let output = TextOutput::start(out, &prologue, Vec::new(), 0)?;
        let framed = || Framed::new(spec, options.clone(), self.limits, self.target_schema).map_err(spec_error);
        let lane = |_| match self.target_schema.records() {
            Records::One(plan) => self.lane(RecordTarget::new(plan, framed()?), header),
            Records::Types(types) => self.lane(TypedTarget::new(types, self.shape().len(), framed()?), header),
            Records::None => unreachable!("Ends::check refused a target of records without a description"),
        };
        let lanes = (0..n).map(lane).collect::<Result<_, ConvertError>>()?;
        Ok((OutputWriter::Text(output), lanes))
    }

    fn columns(&self, text: TextStore) -> Result<ColumnSink, ConvertError> {
        self.columns_of(self.shape(), text)
    }

    pub(crate) fn columns_of(&self, shape: &Shape, text: TextStore) -> Result<ColumnSink, ConvertError> {
        let defaults = ColumnOptions::default();
        let batch_rows_max = match self.source {
            // Batches take twice what pages do.
            SourceFormat::Edi(_) if text == TextStore::Plain => EDI_BATCH_ROWS / 2,
            SourceFormat::Edi(_) => EDI_BATCH_ROWS,
            // A block is a batch.
            _ => usize::MAX,
        };
        let batch_bytes_max = if batch_rows_max == usize::MAX { usize::MAX } else { defaults.batch_bytes_max };
        let options = ColumnOptions { text, limits: self.limits.clone(), batch_rows_max, batch_bytes_max, ..defaults };
        Ok(ColumnSink::new(shape, &options)?)
    }

    /// A lane into `target`, from whatever the source is.
    pub(crate) fn lane<T: Target + 'c>(
        &self,
        target: T,
        header: Option<&CsvHeader>,
    ) -> Result<Box<dyn Lane + 'c>, ConvertError> {
        Ok(match (self.source, self.schema.records()) {
            (SourceFormat::Records(framing), Records::One(plan)) => {
                Box::new(Loop::new(RecordSource::new(plan, framing), target))
            }
            (SourceFormat::Records(framing), Records::Types(types)) => {
                Box::new(Loop::new(TypedSource::new(types, framing), target))
            }
            (SourceFormat::Records(_), Records::None) => {
                unreachable!("Ends::check refused a source of records without a description")
            }
            (SourceFormat::Json(read), _) => {
                let unknown = if read.ignore_unknown { Unknown::Ignore } else { Unknown::Error };
                Box::new(Loop::new(JsonSource::new(self.shape(), unknown, self.limits), target))
            }
            (SourceFormat::Csv(style), _) => {
                let header = header.map(|header| &header.raw[..]);
                Box::new(Loop::new(CsvSource::new(self.shape(), *style, self.limits, header)?, target))
            }
            (SourceFormat::Xml(style), _) => {
                Box::new(Loop::new(XmlSource::new(self.shape(), style, self.limits)?, target))
            }
            (SourceFormat::Edi(read), _) => match read.documents {
                EdiDocuments::Transactions => {
                    let options = self.edi(read);
                    let alone = self.pages_in_lane();
                    let source = if alone { EdiSource::alone(&options) } else { EdiSource::new(&options) };
                    Box::new(Loop::new(source, target))
                }
                EdiDocuments::Rows => Box::new(Loop::new(EdiRowSource::new(&self.edi(read)), target)),
            },
        })
    }

    fn shape(&self) -> &'c Shape {
        self.schema.shape()
    }
}

/// How numbers of JSON are written.
pub(crate) fn numbers(write: &JsonWrite) -> Numbers {
    match write.numbers {
        JsonNumbers::Exact => Numbers::Exact,
        JsonNumbers::SafeStrings => Numbers::StringsWhenUnsafe,
        JsonNumbers::Strings => Numbers::Strings,
    }
}

fn other_shape() -> ConvertError {
    let message = "interchanges are converted as documents of another shape than the other end has";
    let finding = Finding::error(codes::OTHER_SHAPE, Fault::Config, message);
    finding.hint("leave copybook and interface file out").into()
}

pub(crate) fn spec_error(error: SpecError) -> ConvertError {
    Findings(vec![error.finding()]).into()
}

/// A reader that has ended: what a resumed run reads when its checkpoint stands at the end of the source.
pub(crate) fn ended() -> Box<dyn io::Read + Send> {
    Box::new(io::empty())
}
