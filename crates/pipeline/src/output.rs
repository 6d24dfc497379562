//! Outputs: their beginning, and the targets of their lanes.

use std::sync::Arc;

use quayline_columnar::{Codec, ColumnSink, Framing, ParquetEncoder, ParquetOptions, TextStore};
use quayline_core::{Fault, Finding, Findings, Shape};
use quayline_edi::EdiWriterOptions;
use quayline_flat::{CsvStyle, CsvWriter, FamilyWriter, RowFamilies};
use quayline_frame::{FramerOptions, FramingSpec};
use quayline_json::{JsonStyle, JsonWriter, Numbers, Stream};
use quayline_map::Unwatched;
use quayline_project::{
    JsonNumbers, JsonWrite, ParquetCompression, ParquetWrite, Records, Schema, SourceFormat, TargetFormat,
};
use quayline_xml::{XmlStyle, XmlWriter};

use crate::apart::Apart;
use crate::codes;
use crate::error::PipelineError;
use crate::lane::Lane;
use crate::lanes::{Ends, MapEnds, spec_error};
use crate::sink::map::{
    Alone, AnyPart, ColumnsPart, EdiPart, MapTarget, OneRecord, Parts, RecordPart, RunHost, Several, SharedPlaces,
    TextPart, Traced, Tracer, counted_from, usual_envelope,
};
use crate::sink::{
    Batches, ColumnsTarget, CsvTarget, EdiTarget, Framed, JsonTarget, RecordTarget, TypedEncoder, TypedTarget,
    XmlTarget,
};
use crate::source_head::SourceHead;
use crate::spool::SpoolFolder;

/// Maximum size in bytes of a row group if the source is interchanges, and of one dictionary in it; small because that conversion uses constant
/// memory.
const EDI_ROW_GROUP_BYTES: usize = 2 << 20;
const EDI_DICTIONARY_BYTES: usize = 256 << 10;

/// Beginning of an output, for the caller that owns the bytes.
pub enum OutputStart {
    /// Output of lots one after another, between a beginning and an end.
    Text {
        /// Bytes before the first document.
        prologue: Vec<u8>,
        /// Bytes after the last document.
        epilogue: Vec<u8>,
        /// Length of the bytes that separate documents; the first document of all is written without them.
        separator: usize,
    },
    /// Drafts for a writer of interchanges with these options, which [`settle`](crate::settle()) drives.
    Edi(Box<EdiWriterOptions>),
    /// Pages for a Parquet writer of this sink. Pass its encoder to [`LaneOutput::encode_by`].
    Parquet {
        /// The columns.
        sink: Box<ColumnSink>,
        /// The file.
        options: ParquetOptions,
    },
    /// Batches for an Arrow writer of this sink.
    Arrow {
        /// The columns.
        sink: Box<ColumnSink>,
        /// File or stream.
        framing: Framing,
    },
}

/// Configuration that lanes need to write one output.
pub struct LaneOutput<'c>(Maker<'c>);

impl LaneOutput<'_> {
    /// Encodes the output's pages by this encoder, a copy for each lane.
    pub fn encode_by(&mut self, of_writer: ParquetEncoder) {
        if let Maker::Columns { encoder, .. } = &mut self.0 {
            *encoder = Some(Box::new(of_writer));
        }
    }
}

/// Components of an output in a lane.
enum Maker<'c> {
    Json { shape: &'c Shape, style: JsonStyle, apart: Apart },
    Xml { shape: &'c Shape, style: &'c XmlStyle, apart: Apart },
    Csv { schema: &'c Schema, style: CsvStyle },
    Families { schema: &'c Schema, families: &'c Arc<RowFamilies>, style: CsvStyle },
    Records { schema: &'c Arc<Schema>, spec: &'c FramingSpec, options: FramerOptions },
    Edi { options: &'c EdiWriterOptions, defaults: Arc<[(String, String)]> },
    Columns { sink: Box<ColumnSink>, encoder: Option<Box<ParquetEncoder>> },
}

impl<'c> Ends<'c> {
    /// Returns the beginning of output `number`, and the configuration for its lanes. Without a map there is one output, 0.
    ///
    /// # Errors
    /// A format that cannot represent the output's shape, or a record file without a record description.
    ///
    /// # Panics
    /// If no output has this number.
    pub fn output(&self, number: usize, apart: Apart) -> Result<(OutputStart, LaneOutput<'c>), PipelineError> {
        let format = self.formats().nth(number).expect("a run has a format for each output");
        let (schema, shape): (&'c Arc<Schema>, &'c Shape) = match &self.map {
            Some(map) => (&map.schemas[number], map.schemas[number].shape()),
            None => (self.target_schema, self.shape()),
        };
        let (start, maker) = match format {
            TargetFormat::JsonLines(write) => json(shape, write, Stream::Lines, apart),
            TargetFormat::JsonArray(write) => json(shape, write, Stream::Array, apart),
            TargetFormat::Xml(style) => {
                let mut writer = XmlWriter::new(shape, style.clone())?;
                writer.begin();
                let prologue = writer.bytes().to_vec();
                writer.clear();
                writer.end();
                let start = OutputStart::Text { prologue, epilogue: writer.bytes().to_vec(), separator: 0 };
                (start, Maker::Xml { shape, style, apart })
            }
            TargetFormat::Csv(style) if let Some(families) = schema.families() => {
                let mut writer = FamilyWriter::new(shape, families, *style)?;
                writer.begin();
                let start = OutputStart::Text { prologue: writer.bytes().to_vec(), epilogue: Vec::new(), separator: 0 };
                (start, Maker::Families { schema, families, style: *style })
            }
            TargetFormat::Csv(style) => {
                let mut writer = CsvWriter::new(shape, *style, self.limits)?;
                writer.begin();
                let start = OutputStart::Text { prologue: writer.bytes().to_vec(), epilogue: Vec::new(), separator: 0 };
                (start, Maker::Csv { schema, style: *style })
            }
            TargetFormat::Records(spec) => {
                if matches!(schema.records(), Records::None) {
                    let message = "an output is a record file, but there is no record description";
                    let finding = Finding::error(codes::NO_DESCRIPTION, Fault::Config, message);
                    return Err(finding.hint("describe the map's target by a copybook").into());
                }
                let options = FramerOptions {
                    pad: schema.pad_byte().unwrap_or(0),
                    record_bytes_max: schema.record_bytes_max(),
                    ..FramerOptions::default()
                };
                let prologue = Framed::prologue(spec, options.clone(), self.limits).map_err(spec_error)?;
                let start = OutputStart::Text { prologue, epilogue: Vec::new(), separator: 0 };
                (start, Maker::Records { schema, spec, options })
            }
            TargetFormat::Edi(options) => {
                let (counting, defaults) = self.counting(options);
                (OutputStart::Edi(Box::new(counting)), Maker::Edi { options, defaults })
            }
            TargetFormat::Parquet(write) => {
                let sink = Box::new(self.columns_of(schema, TextStore::Interned)?);
                let start =
                    OutputStart::Parquet { sink: Box::new(sink.sibling()), options: self.parquet_options(write) };
                (start, Maker::Columns { sink, encoder: None })
            }
            TargetFormat::ArrowFile | TargetFormat::ArrowStream => {
                let framing = if matches!(format, TargetFormat::ArrowFile) { Framing::File } else { Framing::Stream };
                let sink = Box::new(self.columns_of(schema, TextStore::Plain)?);
                (OutputStart::Arrow { sink: Box::new(sink.sibling()), framing }, Maker::Columns { sink, encoder: None })
            }
        };
        Ok((start, LaneOutput(maker)))
    }

    /// Returns the options of a writer that counts from the run's initial numbers, and the envelope values for every document.
    fn counting(&self, options: &EdiWriterOptions) -> (EdiWriterOptions, Arc<[(String, String)]>) {
        let mut counting = options.clone();
        let Some(map) = &self.map else { return (counting, Arc::from([])) };
        let mut defaults = map.world.envelope.clone();
        let standard = options.guides.as_ref().map(|documents| documents.guides().compiled(0).standard());
        counted_from(&mut counting.numbers, standard, &mut defaults);
        defaults.extend(usual_envelope(options, map.world.now));
        (counting, Arc::from(defaults))
    }

    fn parquet_options(&self, write: &ParquetWrite) -> ParquetOptions {
        let codec = match write.compression {
            ParquetCompression::Snappy => Codec::Snappy,
            ParquetCompression::None => Codec::Uncompressed,
        };
        let options = ParquetOptions { codec, ..ParquetOptions::default() };
        match (self.source, &self.map) {
            (SourceFormat::Edi(_), None) => ParquetOptions {
                row_group_bytes_max: EDI_ROW_GROUP_BYTES,
                dictionary_bytes_max: EDI_DICTIONARY_BYTES,
                ..options
            },
            _ => options,
        }
    }

    /// Creates the lanes, one compiled loop each. `written` has the number of bytes already in each output, for the positions of a trace; `head` is
    /// the first row of a CSV source.
    ///
    /// # Errors
    /// A format that cannot represent the documents, or a header that does not match.
    pub fn lanes(
        &self,
        outputs: &[LaneOutput<'c>],
        written: &[u64],
        head: Option<&SourceHead>,
    ) -> Result<Vec<Box<dyn Lane + 'c>>, PipelineError> {
        let Some(map) = &self.map else {
            let maker = &outputs.first().expect("a run has an output").0;
            return (0..self.lanes).map(|_| self.lane_without_map(maker, head)).collect();
        };
        if let Some(out) = &map.trace {
            let places = SharedPlaces::default();
            let parts = outputs.iter().map(|output| self.part(map, &output.0)).collect::<Result<Vec<_>, _>>()?;
            let parts = Traced::new(parts, written, &places);
            let folder = SpoolFolder::clone(&map.spool_folder);
            let tracer = Tracer::new(map.plan, places, Arc::clone(out), folder).counting(map.coverage.clone());
            let target = MapTarget::new(map.plan, parts, RunHost::new(map.world), tracer, self.limits);
            return Ok(vec![self.lane(target, head)?]);
        }
        (0..self.lanes).map(|_| self.lane_with_map(map, outputs, head)).collect()
    }

    fn lane_without_map(
        &self,
        maker: &Maker<'c>,
        head: Option<&SourceHead>,
    ) -> Result<Box<dyn Lane + 'c>, PipelineError> {
        match maker {
            Maker::Json { shape, style, apart } => self.lane(JsonTarget::new(shape, *style, *apart), head),
            Maker::Xml { shape, style, apart } => self.lane(XmlTarget::new(shape, style, *apart)?, head),
            Maker::Csv { schema, style } => self.lane(CsvTarget::new(self.csv_writer(schema, *style)?), head),
            Maker::Families { schema, families, style } => {
                self.lane(CsvTarget::new(family_writer(schema, families, *style)?), head)
            }
            Maker::Records { schema, spec, options } => match schema.records() {
                Records::One(plan) => self.lane(RecordTarget::new(plan, self.framed(spec, options, schema)?), head),
                Records::Types(types) => {
                    let target = TypedTarget::new(types, self.shape().len(), self.framed(spec, options, schema)?);
                    self.lane(target, head)
                }
                Records::None => unreachable!("an output of records without a description was refused"),
            },
            Maker::Edi { options, .. } => self.lane(EdiTarget::new(options), head),
            Maker::Columns { sink, encoder: Some(encoder) } => {
                self.lane(ColumnsTarget::new(sink.sibling(), (**encoder).clone()), head)
            }
            Maker::Columns { sink, encoder: None } => self.lane(ColumnsTarget::new(sink.sibling(), Batches), head),
        }
    }

    fn lane_with_map(
        &self,
        map: &MapEnds<'c>,
        outputs: &[LaneOutput<'c>],
        head: Option<&SourceHead>,
    ) -> Result<Box<dyn Lane + 'c>, PipelineError> {
        let folder = SpoolFolder::clone(&map.spool_folder);
        match outputs {
            [LaneOutput(Maker::Json { shape, style, apart })] => {
                let part = TextPart::new(JsonWriter::new(shape, *style), *apart, folder);
                self.mapped(map, Alone(part), head)
            }
            [LaneOutput(Maker::Records { schema, spec, options })] if let Records::One(record) = schema.records() => {
                let part = RecordPart::new(OneRecord::new(record), self.framed(spec, options, schema)?, folder);
                self.mapped(map, Alone(part), head)
            }
            outputs => {
                let parts = outputs.iter().map(|output| self.part(map, &output.0)).collect::<Result<_, _>>()?;
                self.mapped(map, Several(parts), head)
            }
        }
    }

    fn mapped<O: Parts + 'c>(
        &self,
        map: &MapEnds<'c>,
        parts: O,
        head: Option<&SourceHead>,
    ) -> Result<Box<dyn Lane + 'c>, PipelineError> {
        self.lane(MapTarget::new(map.plan, parts, RunHost::new(map.world), Unwatched, self.limits), head)
    }

    fn part(&self, map: &MapEnds<'c>, maker: &Maker<'c>) -> Result<AnyPart<'c>, PipelineError> {
        let folder = SpoolFolder::clone(&map.spool_folder);
        Ok(match maker {
            Maker::Json { shape, style, apart } => {
                AnyPart::Json(TextPart::new(JsonWriter::new(shape, *style), *apart, folder))
            }
            Maker::Xml { shape, style, apart } => {
                AnyPart::Xml(TextPart::new(XmlWriter::new(shape, (*style).clone())?, *apart, folder))
            }
            Maker::Csv { schema, style } => {
                AnyPart::Csv(TextPart::new(self.csv_writer(schema, *style)?, Apart::Together, folder))
            }
            Maker::Families { schema, families, style } => {
                let writer = family_writer(schema, families, *style)?;
                AnyPart::Families(Box::new(TextPart::new(writer, Apart::Together, folder)))
            }
            Maker::Records { schema, spec, options } => {
                let framed = self.framed(spec, options, schema)?;
                match schema.records() {
                    Records::One(plan) => {
                        AnyPart::Record(Box::new(RecordPart::new(OneRecord::new(plan), framed, folder)))
                    }
                    Records::Types(types) => {
                        let encoder = TypedEncoder::new(types, schema.shape().len());
                        AnyPart::Typed(Box::new(RecordPart::new(encoder, framed, folder)))
                    }
                    Records::None => unreachable!("an output of records without a description was refused"),
                }
            }
            Maker::Edi { options, defaults } => AnyPart::Edi(Box::new(EdiPart::new(options, Arc::clone(defaults)))),
            Maker::Columns { sink, encoder } => {
                AnyPart::Columns(Box::new(ColumnsPart::new(sink.sibling(), encoder.as_deref().cloned())))
            }
        })
    }

    fn csv_writer(&self, schema: &Schema, style: CsvStyle) -> Result<CsvWriter, Findings> {
        let writer = CsvWriter::new(schema.shape(), style, self.limits)?;
        Ok(writer.with_moments(schema.shape(), schema.moments()))
    }

    fn framed(
        &self,
        spec: &FramingSpec,
        options: &FramerOptions,
        schema: &Arc<Schema>,
    ) -> Result<Framed, PipelineError> {
        Framed::new(spec, options.clone(), self.limits, schema).map_err(spec_error)
    }
}

fn family_writer(schema: &Schema, families: &Arc<RowFamilies>, style: CsvStyle) -> Result<FamilyWriter, Findings> {
    let writer = FamilyWriter::new(schema.shape(), families, style)?;
    Ok(writer.with_moments(schema.shape(), schema.moments()))
}

fn json<'c>(shape: &'c Shape, write: &JsonWrite, stream: Stream, apart: Apart) -> (OutputStart, Maker<'c>) {
    let style = JsonStyle { stream, numbers: numbers(write), ..JsonStyle::default() };
    let mut writer = JsonWriter::new(shape, style);
    writer.begin();
    let prologue = writer.bytes().to_vec();
    writer.clear();
    writer.end();
    // In an array, every document begins with the comma after the preceding one.
    let separator = usize::from(stream == Stream::Array);
    let start = OutputStart::Text { prologue, epilogue: writer.bytes().to_vec(), separator };
    (start, Maker::Json { shape, style, apart })
}

/// Returns the format of JSON numbers.
fn numbers(write: &JsonWrite) -> Numbers {
    match write.numbers {
        JsonNumbers::Exact => Numbers::Exact,
        JsonNumbers::SafeStrings => Numbers::StringsWhenUnsafe,
        JsonNumbers::Strings => Numbers::Strings,
    }
}
