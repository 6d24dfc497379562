//! Outputs: their beginning, and the targets of their lanes.

use std::sync::Arc;

use quayline_columnar::{Codec, ColumnSink, Framing, ParquetEncoder, ParquetOptions, TextStore};
use quayline_core::{Fault, Finding, Shape};
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
    Alone, AnyPart, ColumnsPart, EdiPart, EnvelopeDefaults, MapTarget, Parts, RecordPart, RunHost, Several,
    SharedPlaces, TextPart, Traced, Tracer, counted_from, usual_envelope,
};
use crate::sink::{
    Batches, ColumnsTarget, DocumentEncoder, EdiTarget, Framed, NullMembers, OneRecord, RecordTarget, TextTarget,
    TextWriter, TypedEncoder, WithNulls,
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

/// Members of a map's documents that are null without a value.
type Nulls = Option<Arc<NullMembers>>;

/// Components of an output in a lane.
enum Maker<'c> {
    Json { shape: &'c Shape, style: JsonStyle, apart: Apart, nulls: Nulls },
    Xml { shape: &'c Shape, style: &'c XmlStyle, apart: Apart, nulls: Nulls },
    Csv { schema: &'c Schema, style: CsvStyle },
    Families { schema: &'c Schema, families: &'c Arc<RowFamilies>, style: CsvStyle },
    Records { schema: &'c Arc<Schema>, spec: &'c FramingSpec, options: FramerOptions },
    Edi { options: &'c EdiWriterOptions, defaults: EnvelopeDefaults },
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
        let nulls = || self.map.as_ref().and_then(|_| NullMembers::of(shape, schema.source_limits()));
        let (start, maker) = match format {
            TargetFormat::JsonLines(write) => json(shape, write, Stream::Lines, apart, nulls()),
            TargetFormat::JsonArray(write) => json(shape, write, Stream::Array, apart, nulls()),
            TargetFormat::Xml(style) => {
                let mut writer = XmlWriter::new(shape, style.clone())?;
                writer.begin();
                let prologue = writer.bytes().to_vec();
                writer.clear();
                writer.end();
                let start = OutputStart::Text { prologue, epilogue: writer.bytes().to_vec(), separator: 0 };
                (start, Maker::Xml { shape, style, apart, nulls: nulls() })
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
    fn counting(&self, options: &EdiWriterOptions) -> (EdiWriterOptions, EnvelopeDefaults) {
        let mut counting = options.clone();
        let Some(map) = &self.map else { return (counting, EnvelopeDefaults::default()) };
        let mut defaults = map.world.envelope.clone();
        let standard = options.guides.as_ref().map(|documents| documents.guides().compiled(0).standard());
        counted_from(&mut counting.numbers, standard, &mut defaults);
        defaults.extend(usual_envelope(options));
        (counting, EnvelopeDefaults { values: Arc::from(defaults), now: map.world.now })
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
            return (0..self.lanes).map(|_| self.with_writer(maker, WithoutMap { ends: self, head })).collect();
        };
        if let Some(out) = &map.trace {
            let places = SharedPlaces::default();
            let parts = self.parts(map, outputs)?;
            let parts = Traced::new(parts, written, &places);
            let folder = SpoolFolder::clone(&map.spool_folder);
            let tracer = Tracer::new(map.plan, places, Arc::clone(out), folder).counting(map.coverage.clone());
            let target = MapTarget::new(map.plan, parts, RunHost::new(map.world), tracer, self.limits);
            return Ok(vec![self.lane(target, head)?]);
        }
        (0..self.lanes).map(|_| self.lane_with_map(map, outputs, head)).collect()
    }

    /// Creates the writer of an output and passes it to `user`.
    fn with_writer<U: WriterUser<'c>>(&self, maker: &Maker<'c>, user: U) -> Result<U::Made, PipelineError> {
        match maker {
            Maker::Json { shape, style, apart, nulls } => {
                let writer = JsonWriter::new(shape, *style);
                match nulls {
                    None => user.text(writer, *apart),
                    Some(nulls) => user.text(WithNulls::new(writer, nulls), *apart),
                }
            }
            Maker::Xml { shape, style, apart, nulls } => {
                let writer = XmlWriter::new(shape, (*style).clone())?;
                match nulls {
                    None => user.text(writer, *apart),
                    Some(nulls) => user.text(WithNulls::new(writer, nulls), *apart),
                }
            }
            Maker::Csv { schema, style } => {
                let writer = CsvWriter::new(schema.shape(), *style, self.limits)?;
                user.text(writer.with_moments(schema.shape(), schema.moments()), Apart::Together)
            }
            Maker::Families { schema, families, style } => {
                let writer = FamilyWriter::new(schema.shape(), families, *style)?;
                user.text(writer.with_moments(schema.shape(), schema.moments()), Apart::Together)
            }
            Maker::Records { schema, spec, options } => {
                let framed = self.framed(spec, options, schema)?;
                match schema.records() {
                    Records::One(plan) => user.records(OneRecord::new(plan), framed),
                    Records::Types(types) => user.records(TypedEncoder::new(types, schema.shape().len()), framed),
                    Records::None => unreachable!("an output of records without a description was refused"),
                }
            }
            Maker::Edi { options, defaults } => user.interchanges(options, defaults),
            Maker::Columns { sink, encoder } => user.columns(sink.sibling(), encoder.as_deref().cloned()),
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
            [LaneOutput(Maker::Json { shape, style, apart, nulls: None })] => {
                let part = TextPart::new(JsonWriter::new(shape, *style), *apart, folder);
                self.mapped(map, Alone(part), head)
            }
            [LaneOutput(Maker::Records { schema, spec, options })] if let Records::One(record) = schema.records() => {
                let part = RecordPart::new(OneRecord::new(record), self.framed(spec, options, schema)?, folder);
                self.mapped(map, Alone(part), head)
            }
            outputs => self.mapped(map, Several(self.parts(map, outputs)?), head),
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

    fn parts(&self, map: &MapEnds<'c>, outputs: &[LaneOutput<'c>]) -> Result<Vec<AnyPart<'c>>, PipelineError> {
        let part = |output: &LaneOutput<'c>| self.with_writer(&output.0, OfMap(SpoolFolder::clone(&map.spool_folder)));
        outputs.iter().map(part).collect()
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

/// Uses the writer of an output. Each format has a writer of its own type, and the loops around it are compiled for each.
trait WriterUser<'c> {
    type Made;

    fn text<W: TextWriter + 'c>(self, writer: W, apart: Apart) -> Result<Self::Made, PipelineError>;

    fn records<E: DocumentEncoder + 'c>(self, encoder: E, framed: Framed) -> Result<Self::Made, PipelineError>;

    fn interchanges(self, options: &EdiWriterOptions, defaults: &EnvelopeDefaults)
    -> Result<Self::Made, PipelineError>;

    fn columns(self, sink: ColumnSink, encoder: Option<ParquetEncoder>) -> Result<Self::Made, PipelineError>;
}

/// Makes a lane that writes the documents of the source as they are.
struct WithoutMap<'e, 'c> {
    ends: &'e Ends<'c>,
    head: Option<&'e SourceHead>,
}

impl<'c> WriterUser<'c> for WithoutMap<'_, 'c> {
    type Made = Box<dyn Lane + 'c>;

    fn text<W: TextWriter + 'c>(self, writer: W, apart: Apart) -> Result<Self::Made, PipelineError> {
        self.ends.lane(TextTarget::new(writer, apart), self.head)
    }

    fn records<E: DocumentEncoder + 'c>(self, encoder: E, framed: Framed) -> Result<Self::Made, PipelineError> {
        self.ends.lane(RecordTarget::new(encoder, framed), self.head)
    }

    fn interchanges(
        self,
        options: &EdiWriterOptions,
        _defaults: &EnvelopeDefaults,
    ) -> Result<Self::Made, PipelineError> {
        self.ends.lane(EdiTarget::new(options), self.head)
    }

    fn columns(self, sink: ColumnSink, encoder: Option<ParquetEncoder>) -> Result<Self::Made, PipelineError> {
        match encoder {
            Some(encoder) => self.ends.lane(ColumnsTarget::new(sink, encoder), self.head),
            None => self.ends.lane(ColumnsTarget::new(sink, Batches), self.head),
        }
    }
}

/// Makes one of a map's outputs.
struct OfMap(SpoolFolder);

impl<'c> WriterUser<'c> for OfMap {
    type Made = AnyPart<'c>;

    fn text<W: TextWriter + 'c>(self, writer: W, apart: Apart) -> Result<AnyPart<'c>, PipelineError> {
        Ok(W::any(TextPart::new(writer, apart, self.0)))
    }

    fn records<E: DocumentEncoder + 'c>(self, encoder: E, framed: Framed) -> Result<AnyPart<'c>, PipelineError> {
        Ok(E::any(RecordPart::new(encoder, framed, self.0)))
    }

    fn interchanges(
        self,
        options: &EdiWriterOptions,
        defaults: &EnvelopeDefaults,
    ) -> Result<AnyPart<'c>, PipelineError> {
        Ok(AnyPart::Edi(Box::new(EdiPart::new(options, defaults.clone()))))
    }

    fn columns(self, sink: ColumnSink, encoder: Option<ParquetEncoder>) -> Result<AnyPart<'c>, PipelineError> {
        Ok(AnyPart::Columns(Box::new(ColumnsPart::new(sink, encoder))))
    }
}

fn json<'c>(
    shape: &'c Shape,
    write: &JsonWrite,
    stream: Stream,
    apart: Apart,
    nulls: Nulls,
) -> (OutputStart, Maker<'c>) {
    let style = JsonStyle { stream, numbers: numbers(write), ..JsonStyle::default() };
    let mut writer = JsonWriter::new(shape, style);
    writer.begin();
    let prologue = writer.bytes().to_vec();
    writer.clear();
    writer.end();
    // In an array, every document begins with the comma after the preceding one.
    let separator = usize::from(stream == Stream::Array);
    let start = OutputStart::Text { prologue, epilogue: writer.bytes().to_vec(), separator };
    (start, Maker::Json { shape, style, apart, nulls })
}

/// Returns the format of JSON numbers.
fn numbers(write: &JsonWrite) -> Numbers {
    match write.numbers {
        JsonNumbers::Exact => Numbers::Exact,
        JsonNumbers::SafeStrings => Numbers::StringsWhenUnsafe,
        JsonNumbers::Strings => Numbers::Strings,
    }
}
