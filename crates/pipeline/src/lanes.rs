//! Sources and targets put together: one compiled loop for each pair.

use std::sync::{Arc, Mutex};

use quayline_columnar::{ColumnOptions, ColumnReader, ColumnSink, RowSource, TextStore, UnknownColumn};
use quayline_core::{ByteOffset, Fault, Finding, Findings, Limits, Shape};
use quayline_edi::GuideDocuments;
use quayline_edi::{CharacterRules, DocumentReader, GenericOptions, ValidatorOptions};
use quayline_frame::{FramingSpec, SpecError};
use quayline_json::Unknown;
use quayline_map::{Coverage, MapPlan};
use quayline_project::{EdiDocuments, EdiRead, Records, Schema, SourceFormat, TargetFormat};
use quayline_xml::XmlWriter;

use crate::block::{BLOCK_BYTES, Block, EdiPart, Position, Units};
use crate::block_reader::Cutter;
use crate::codes;
use crate::cut::{CsvCutter, EdiCutter, FamilyCutter, JsonCutter, RecordCutter, XmlCutter, without_guides};
use crate::error::PipelineError;
use crate::lane::{Lane, Loop};
use crate::reject::RejectForm;
use crate::sink::map::TraceOut;
use crate::source::{
    ColumnsSource, CsvSource, EdiRowSource, EdiSource, FamilySource, JsonSource, RecordSource, TypedSource, XmlSource,
};
use crate::source_head::{ColumnsHead, SourceHead};
use crate::spool::SpoolFolder;
use crate::target::Target;
use crate::world::World;

/// Size of a block in bytes if the target builds columns: a page needs some thousand rows.
const COLUMNS_BLOCK_BYTES: usize = 1 << 20;

/// Rows of a batch of segments: they are short and have sixty columns.
const EDI_BATCH_ROWS: usize = 4096;

/// A map between source and outputs.
#[derive(Clone)]
pub struct MapEnds<'c> {
    /// The map.
    pub plan: &'c MapPlan,
    /// The schema of each output, in the map's order.
    pub schemas: &'c [Arc<Schema>],
    /// The formats of the outputs after the first.
    pub more: Vec<&'c TargetFormat>,
    /// Clock, ids, envelope values and tables.
    pub world: &'c Arc<World>,
    /// Temporary files for output that waits for the end of its source document.
    pub spool_folder: SpoolFolder,
    /// Receives a line of JSON for each value that the map writes; such a run has one lane.
    pub trace: Option<TraceOut>,
    /// Counts of executed statements and of values by source node, in addition to a trace.
    pub coverage: Option<Arc<Mutex<Coverage>>>,
}

/// Handling of long transactions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Paging {
    /// A transaction beyond `EdiRead::page_bytes` becomes several documents.
    Pages,
    /// A transaction is one document, however long it is.
    Whole,
}

/// Source, map and outputs put together: makes the cutter, the lanes, and the way each output starts.
pub struct Ends<'c> {
    /// Format of the source.
    pub source: &'c SourceFormat,
    /// Format of the output; with a map, of the first one.
    pub target: &'c TargetFormat,
    /// Schema of the source.
    pub schema: &'c Arc<Schema>,
    /// Schema by which an output of records is encoded, without a map.
    pub target_schema: &'c Arc<Schema>,
    /// Named bounds.
    pub limits: &'c Limits,
    /// A map between source and outputs, which then need not have one shape.
    pub map: Option<MapEnds<'c>>,
    /// Number of lanes, at least 1.
    pub lanes: usize,
    /// Handling of long transactions; with a map, they never become pages.
    pub paging: Paging,
}

impl<'c> Ends<'c> {
    /// Checks that the ends fit together.
    ///
    /// # Errors
    /// A record file without a record description; shapes that differ, without a map; outputs of a map that cannot be written together.
    pub fn check(&self) -> Result<(), PipelineError> {
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
        if let Some(map) = &self.map {
            check_outputs(map, &self.formats().collect::<Vec<_>>())?;
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

    fn check_edi_source(&self) -> Result<(), PipelineError> {
        let fits = match self.source {
            SourceFormat::Edi(EdiRead { documents: EdiDocuments::Rows, .. }) => {
                *self.shape() == quayline_edi::row_shape()
            }
            SourceFormat::Edi(read) => self.is_by_guide(read.guides.as_ref()),
            _ => true,
        };
        if fits { Ok(()) } else { Err(other_shape()) }
    }

    /// Returns the formats of all outputs, in order.
    pub fn formats(&self) -> impl Iterator<Item = &'c TargetFormat> + '_ {
        core::iter::once(self.target).chain(self.map.iter().flat_map(|map| map.more.iter().copied()))
    }

    /// Returns true if output can be continued after a checkpoint.
    #[must_use]
    pub fn appends(&self) -> bool {
        !self.formats().any(is_columns)
    }

    /// Bytes of a block of the source before it grows for a document that does not fit.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        match (self.source, self.target) {
            _ if self.appends() => BLOCK_BYTES,
            // Segments are short and have sixty columns: a small block has many rows, and batches are not compressed.
            (SourceFormat::Edi(_), TargetFormat::Parquet(_)) => BLOCK_BYTES,
            (SourceFormat::Edi(_), _) => BLOCK_BYTES / 2,
            _ => COLUMNS_BLOCK_BYTES,
        }
    }

    /// Creates an empty block for the source.
    #[must_use]
    pub fn block(&self) -> Block {
        Block::new(match self.source {
            SourceFormat::Records(_) => Units::Records(quayline_frame::RecordSpans::new()),
            SourceFormat::Json(_) | SourceFormat::Csv(_) | SourceFormat::Xml(_) => Units::Documents(Vec::new()),
            SourceFormat::Edi(_) => Units::Interchanges(EdiPart::default()),
            SourceFormat::Columns(_) => Units::Rows(None),
        })
    }

    /// Creates the cutter of a source that is read in blocks, from a position on. `header` is the first row of CSV, and `file` names the source in
    /// findings. Rows of columns are not cut.
    ///
    /// # Errors
    /// An inconsistent framing.
    pub fn cutter(
        &self,
        from: &Position,
        header: Option<&[u8]>,
        file: &Arc<str>,
    ) -> Result<Box<dyn Cutter>, PipelineError> {
        self.cutter_for(self.block_bytes(), from, header, file)
    }

    /// Creates a cutter for blocks of this many bytes.
    pub fn cutter_for(
        &self,
        block_bytes: usize,
        from: &Position,
        header: Option<&[u8]>,
        file: &Arc<str>,
    ) -> Result<Box<dyn Cutter>, PipelineError> {
        Ok(match self.source {
            SourceFormat::Records(spec) => {
                Box::new(RecordCutter::new(spec, self.limits, self.schema, from, file).map_err(spec_error)?)
            }
            SourceFormat::Json(_) => Box::new(JsonCutter::new(self.limits, from, file)),
            SourceFormat::Csv(style) if let Some(families) = self.schema.families() => {
                Box::new(FamilyCutter::new(*style, families, self.limits, from, header, file)?)
            }
            SourceFormat::Csv(style) => Box::new(CsvCutter::new(*style, self.limits, from, file)),
            SourceFormat::Xml(style) => Box::new(XmlCutter::new(style, self.limits, from, file)),
            SourceFormat::Edi(read) => {
                let options = self.edi(read);
                let documents_only = options.page_bytes.is_none() || self.pages_in_lane();
                let options = if documents_only { without_guides(options) } else { options };
                Box::new(EdiCutter::new(&options, block_bytes, from))
            }
            SourceFormat::Columns(_) => unreachable!("a reader of columns gives blocks of rows"),
        })
    }

    /// Returns true if the lane detects the pages of transactions itself. This is for a single lane, because detecting them first takes as long as
    /// sending them, and for targets that can contain a document that continues in the next block.
    fn pages_in_lane(&self) -> bool {
        let holds = matches!(self.target, TargetFormat::JsonLines(_) | TargetFormat::JsonArray(_));
        let by_guide = matches!(
            self.source,
            SourceFormat::Edi(EdiRead { documents: EdiDocuments::Transactions, guides: Some(_), .. })
        );
        self.lanes == 1 && self.are_pages() && holds && by_guide
    }

    fn are_pages(&self) -> bool {
        self.map.is_none() && self.paging == Paging::Pages
    }

    /// Returns the options for reading interchanges. Lots limit the number of faults, not the reader, which would accept documents once it reports no
    /// more.
    fn edi(&self, read: &EdiRead) -> GenericOptions {
        GenericOptions {
            limits: Limits { findings_max: usize::MAX, ..self.limits.clone() },
            rules: read.rules,
            charset: read.charset,
            validation: read.guides.as_ref().map(|_| ValidatorOptions {
                level: read.level,
                characters: CharacterRules::Unchecked(read.charset),
                findings_max: usize::MAX,
                ..ValidatorOptions::default()
            }),
            guides: match read.documents {
                EdiDocuments::Transactions => read.guides.clone(),
                EdiDocuments::Rows => None,
            },
            // A map takes a transaction whole, however long it is.
            page_bytes: self.are_pages().then_some(read.page_bytes as u64),
        }
    }

    /// Creates a reader of a source of interchanges at a checkpoint.
    #[must_use]
    pub fn reader_at(&self, from: &Position, state: &[u8]) -> Option<DocumentReader> {
        let SourceFormat::Edi(read) = self.source else { return None };
        DocumentReader::resume(&self.edi(read), from.offset, state)
    }

    /// Creates a reader of a source of interchanges that finds documents and checks envelopes, at the beginning or at a saved state. `None`
    /// for a state of another reader, and for other sources.
    pub(crate) fn envelope_reader(&self, at: Option<(ByteOffset, &[u8])>) -> Option<DocumentReader> {
        let SourceFormat::Edi(read) = self.source else { return None };
        let options = without_guides(self.edi(read));
        match at {
            Some((offset, state)) => DocumentReader::resume(&options, offset, state),
            None => Some(DocumentReader::new(&options)),
        }
    }

    /// Returns the format of rejected documents. `head` is the result of [`Ends::columns_head`] or the first row of a CSV source.
    ///
    /// # Errors
    /// An XML style with invalid XML names.
    pub fn reject_form(&self, head: Option<&SourceHead>) -> Result<RejectForm, PipelineError> {
        Ok(match self.source {
            SourceFormat::Records(spec) => {
                RejectForm::records(self.schema, spec, self.limits, self.schema.pad_byte().unwrap_or(0))
            }
            SourceFormat::Json(_) => RejectForm::Line { prologue: Vec::new(), epilogue: Vec::new() },
            SourceFormat::Csv(_) => {
                let header = head.and_then(SourceHead::csv);
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
            SourceFormat::Columns(_) => match head {
                Some(SourceHead::Columns(head)) => RejectForm::Rows(Arc::clone(head)),
                _ => RejectForm::Line { prologue: Vec::new(), epilogue: Vec::new() },
            },
        })
    }

    /// Warnings about the header of a CSV source, or the columns of a source of rows.
    ///
    /// # Errors
    /// A header that does not fit the shape.
    pub fn head_warnings(&self, head: Option<&SourceHead>) -> Result<Vec<Finding>, Findings> {
        match (self.source, head) {
            (SourceFormat::Csv(style), head) => {
                let header = head.and_then(SourceHead::csv).map(|header| &header.raw[..]);
                if let Some(families) = self.schema.families() {
                    let source = FamilySource::new(self.schema, families, *style, self.limits, header)?;
                    return Ok(source.warnings().to_vec());
                }
                Ok(CsvSource::new(self.schema, *style, self.limits, header)?.warnings().to_vec())
            }
            (_, Some(SourceHead::Columns(head))) => Ok(head.rows.warnings().to_vec()),
            _ => Ok(Vec::new()),
        }
    }

    /// Binds the columns of a source of rows to its shape.
    ///
    /// # Errors
    /// Columns that do not fit the shape.
    pub fn columns_head(&self, reader: &ColumnReader) -> Result<SourceHead, Findings> {
        let ignore = matches!(self.source, SourceFormat::Columns(read) if read.ignore_unknown);
        let unknown = if ignore { UnknownColumn::Ignore } else { UnknownColumn::Error };
        let mut rows = RowSource::new(reader.schema(), self.shape(), unknown)?;
        if self.schema.has_required() {
            rows = rows.with_required(self.shape());
        }
        Ok(SourceHead::Columns(Arc::new(ColumnsHead::new(self.shape(), rows))))
    }

    pub(crate) fn columns_of(&self, schema: &Schema, text: TextStore) -> Result<ColumnSink, PipelineError> {
        let defaults = ColumnOptions::default();
        let batch_rows_max = match self.source {
            // Batches take twice as much memory as pages.
            SourceFormat::Edi(_) if text == TextStore::Plain => EDI_BATCH_ROWS / 2,
            SourceFormat::Edi(_) => EDI_BATCH_ROWS,
            // A block is a batch.
            _ => usize::MAX,
        };
        let batch_bytes_max = if batch_rows_max == usize::MAX { usize::MAX } else { defaults.batch_bytes_max };
        let options = ColumnOptions {
            text,
            limits: self.limits.clone(),
            batch_rows_max,
            batch_bytes_max,
            moments: schema.column_moments(),
            ..defaults
        };
        Ok(ColumnSink::new(schema.shape(), &options)?)
    }

    /// Creates a lane into `target` for any source.
    pub(crate) fn lane<T: Target + 'c>(
        &self,
        target: T,
        head: Option<&SourceHead>,
    ) -> Result<Box<dyn Lane + 'c>, PipelineError> {
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
                Box::new(Loop::new(JsonSource::new(self.schema, unknown, self.limits), target))
            }
            (SourceFormat::Csv(style), _) => {
                let header = head.and_then(SourceHead::csv).map(|header| &header.raw[..]);
                if let Some(families) = self.schema.families() {
                    let source = FamilySource::new(self.schema, families, *style, self.limits, header)?;
                    return Ok(Box::new(Loop::new(source, target)));
                }
                Box::new(Loop::new(CsvSource::new(self.schema, *style, self.limits, header)?, target))
            }
            (SourceFormat::Xml(style), _) => {
                Box::new(Loop::new(XmlSource::new(self.schema, style, self.limits)?, target))
            }
            (SourceFormat::Columns(_), _) => {
                let Some(SourceHead::Columns(head)) = head else {
                    unreachable!("a source of rows is opened before its lanes are made")
                };
                Box::new(Loop::new(ColumnsSource::new(head), target))
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

    pub(crate) fn shape(&self) -> &'c Shape {
        self.schema.shape()
    }
}

/// Checks that the outputs of a map can be written together.
fn check_outputs(map: &MapEnds<'_>, formats: &[&TargetFormat]) -> Result<(), PipelineError> {
    let outputs = (0..).take_while(|output| map.plan.output(*output).is_some()).count();
    debug_assert_eq!((outputs, outputs), (formats.len(), map.schemas.len()), "a target and a schema for each output");
    let is_edi = |format: &TargetFormat| matches!(format, TargetFormat::Edi(_));
    let cannot_cut = |format: &TargetFormat| match format {
        TargetFormat::Records(spec) => {
            matches!(spec, FramingSpec::Blocked(_) | FramingSpec::Spanned(_) | FramingSpec::MicroFocus)
        }
        format => is_columns(format),
    };
    if formats.iter().any(|format| is_edi(format)) && formats.iter().any(|format| cannot_cut(format)) {
        let message = "interchanges and columns, or blocked records, cannot be outputs of one run";
        let finding = Finding::error(codes::OTHER_SHAPE, Fault::Config, message);
        return Err(finding.hint("an interchange may be refused when its envelope is written, and the others cannot be undone then: run two maps").into());
    }
    Ok(())
}

/// Returns true if a format is columnar.
pub(crate) fn is_columns(format: &TargetFormat) -> bool {
    matches!(format, TargetFormat::Parquet(_) | TargetFormat::ArrowFile | TargetFormat::ArrowStream)
}

fn other_shape() -> PipelineError {
    let message = "interchanges are converted as documents of another shape than the other end has";
    let finding = Finding::error(codes::OTHER_SHAPE, Fault::Config, message);
    finding.hint("leave copybook and interface file out").into()
}

pub(crate) fn spec_error(error: SpecError) -> PipelineError {
    Findings(vec![error.finding()]).into()
}
