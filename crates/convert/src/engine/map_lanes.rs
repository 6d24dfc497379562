//! Lanes of a map: its outputs, and one compiled loop for each source and kind of output.

use std::path::Path;
use std::sync::Arc;

use quayline_columnar::{
    ArrowIpcWriter, Codec, ColumnSink, Framing, ParquetEncoder, ParquetOptions, ParquetWriter, TextStore,
};
use quayline_core::{Fault, Finding, Shape};
use quayline_edi::{EdiWriter, EdiWriterOptions};
use quayline_flat::{CsvStyle, CsvWriter};
use quayline_frame::{FramerOptions, FramingSpec};
use quayline_json::{JsonStyle, JsonWriter, Stream};
use quayline_map::{MapPlan, Unwatched};
use quayline_project::{JsonWrite, ParquetCompression, Records, Schema, TargetFormat};
use quayline_xml::{XmlStyle, XmlWriter};

use crate::codes;
use crate::engine::checkpoint_file::bad_state;
use crate::engine::csv_header::CsvHeader;
use crate::engine::lane::Lane;
use crate::engine::lanes::{Ends, numbers, spec_error};
use crate::engine::output::{ColumnOutput, EdiOutput, OutFile, OutputWriter, TextOutput};
use crate::engine::target::map::{
    Alone, AnyPart, ColumnsPart, EdiPart, MapTarget, OneRecord, Parts, RecordPart, RunHost, Several, SharedPlaces,
    SpoolFolder, TextPart, Traced, Tracer, usual_envelope,
};
use crate::engine::target::{Framed, TypedEncoder};
use crate::error::ConvertError;
use crate::map_stage::MapStage;

/// The writers of a map's outputs, and the lanes.
type WritersAndLanes<'c> = (Vec<OutputWriter>, Vec<Box<dyn Lane + 'c>>);

/// What the parts of an output in the lanes are made of.
enum Maker<'c> {
    Json { shape: &'c Shape, style: JsonStyle, split: bool },
    Xml { shape: &'c Shape, style: &'c XmlStyle, split: bool },
    Csv { shape: &'c Shape, style: CsvStyle },
    Records { schema: &'c Arc<Schema>, spec: &'c FramingSpec, options: FramerOptions },
    Edi { options: &'c EdiWriterOptions, defaults: Arc<[(String, String)]> },
    Columns { sink: ColumnSink, encoders: Vec<Option<ParquetEncoder>> },
}

impl Maker<'_> {
    /// Bytes of the first document that are not written.
    fn drop_first(&self, writer: &OutputWriter) -> u64 {
        match (self, writer) {
            (Maker::Json { .. }, OutputWriter::Text(output)) => output.drop_first as u64,
            _ => 0,
        }
    }
}

/// Checks that the outputs of a map can be written together.
pub(crate) fn check(stage: &MapStage, formats: &[&TargetFormat]) -> Result<(), ConvertError> {
    let outputs = (0..).take_while(|output| stage.plan.output(*output).is_some()).count();
    debug_assert_eq!((outputs, outputs), (formats.len(), stage.schemas.len()), "a target and a schema for each output");
    let is_edi = |format: &TargetFormat| matches!(format, TargetFormat::Edi(_));
    let cannot_cut = |format: &TargetFormat| match format {
        TargetFormat::Parquet(_) | TargetFormat::ArrowFile | TargetFormat::ArrowStream => true,
        TargetFormat::Records(spec) => {
            matches!(spec, FramingSpec::Blocked(_) | FramingSpec::Spanned(_) | FramingSpec::MicroFocus)
        }
        _ => false,
    };
    if formats.iter().any(|format| is_edi(format)) && formats.iter().any(|format| cannot_cut(format)) {
        let message = "interchanges and columns, or blocked records, cannot be outputs of one run";
        let finding = Finding::error(codes::OTHER_SHAPE, Fault::Config, message);
        return Err(finding.hint("an interchange may be refused when its envelope is written, and the others cannot be taken back then: run two maps").into());
    }
    Ok(())
}

impl<'c> Ends<'c> {
    /// The writers of a map's outputs, and `n` lanes.
    pub(crate) fn map_writers_and_lanes(
        &self,
        stage: &'c MapStage,
        outs: Vec<OutFile>,
        states: &[Vec<u8>],
        header: Option<&CsvHeader>,
        n: usize,
    ) -> Result<WritersAndLanes<'c>, ConvertError> {
        let formats = core::iter::once(self.target).chain(stage.more.iter().map(|target| &target.format));
        let folder: SpoolFolder = Arc::from(stage.spool_folder.as_path());
        let mut writers = Vec::new();
        let mut makers = Vec::new();
        for (((format, out), schema), number) in formats.zip(outs).zip(&stage.schemas).zip(0..) {
            let state = states.get(number).map_or(&[][..], Vec::as_slice);
            let (mut writer, maker) = self.output(stage, format, schema, out, state, n)?;
            if let (OutputWriter::Edi(output), true) = (&mut writer, stage.schemas.len() > 1) {
                output.name = stage.plan.output_name(number).map(str::to_owned);
            }
            writers.push(writer);
            makers.push(maker);
        }
        let plan: &'c MapPlan = &stage.plan;
        if let Some(out) = &stage.trace {
            let places = SharedPlaces::default();
            let bases: Vec<u64> =
                writers.iter().zip(&makers).map(|(writer, maker)| writer.bytes() - maker.drop_first(writer)).collect();
            let parts = makers.iter_mut().map(|maker| self.part(maker, &folder)).collect::<Result<Vec<_>, _>>()?;
            let parts = Traced::new(parts, &bases, &places);
            let tracer = Tracer::new(plan, places, Arc::clone(out), folder).counting(stage.coverage.clone());
            let target = MapTarget::new(plan, parts, RunHost::new(&stage.world), tracer, self.limits);
            return Ok((writers, vec![self.lane(target, header)?]));
        }
        let mut lanes: Vec<Box<dyn Lane + 'c>> = Vec::with_capacity(n);
        for _ in 0..n {
            let host = RunHost::new(&stage.world);
            let lane = match makers.as_mut_slice() {
                [Maker::Json { shape, style, split }] => {
                    let part = TextPart::new(JsonWriter::new(shape, *style), *split, Arc::clone(&folder));
                    self.mapped(plan, Alone(part), host, header)?
                }
                [Maker::Records { schema, spec, options }] if let Records::One(record) = schema.records() => {
                    let part = RecordPart::new(
                        OneRecord::new(record),
                        self.framed(spec, options, schema)?,
                        Arc::clone(&folder),
                    );
                    self.mapped(plan, Alone(part), host, header)?
                }
                makers => {
                    let parts = makers.iter_mut().map(|maker| self.part(maker, &folder)).collect::<Result<_, _>>()?;
                    self.mapped(plan, Several(parts), host, header)?
                }
            };
            lanes.push(lane);
        }
        Ok((writers, lanes))
    }

    fn mapped<O: Parts + 'c>(
        &self,
        plan: &'c MapPlan,
        parts: O,
        host: RunHost,
        header: Option<&CsvHeader>,
    ) -> Result<Box<dyn Lane + 'c>, ConvertError> {
        self.lane(MapTarget::new(plan, parts, host, Unwatched, self.limits), header)
    }

    fn output(
        &self,
        stage: &MapStage,
        format: &'c TargetFormat,
        schema: &'c Arc<Schema>,
        out: OutFile,
        state: &[u8],
        n: usize,
    ) -> Result<(OutputWriter, Maker<'c>), ConvertError> {
        let split = matches!(out, OutFile::Folder(_));
        let shape = schema.shape();
        Ok(match format {
            TargetFormat::JsonLines(write) => json(shape, out, write, Stream::Lines, split)?,
            TargetFormat::JsonArray(write) => json(shape, out, write, Stream::Array, split)?,
            TargetFormat::Xml(style) => {
                let mut writer = XmlWriter::new(shape, style.clone())?;
                writer.begin();
                let prologue = writer.bytes().to_vec();
                writer.clear();
                writer.end();
                let output = TextOutput::start(out, &prologue, writer.bytes().to_vec(), 0)?;
                (OutputWriter::Text(output), Maker::Xml { shape, style, split })
            }
            TargetFormat::Csv(style) => {
                let mut writer = CsvWriter::new(shape, *style, self.limits)?;
                writer.begin();
                let output = TextOutput::start(out, writer.bytes(), Vec::new(), 0)?;
                (OutputWriter::Text(output), Maker::Csv { shape, style: *style })
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
                let output = TextOutput::start(out, &prologue, Vec::new(), 0)?;
                (OutputWriter::Text(output), Maker::Records { schema, spec, options })
            }
            TargetFormat::Edi(options) => {
                let text = TextOutput::start(out, &[], Vec::new(), 0)?;
                let writer = if state.is_empty() {
                    Some(EdiWriter::new(options.clone()))
                } else {
                    EdiWriter::resume(options.clone(), state)
                };
                let writer = writer.ok_or_else(bad_state)?;
                let mut defaults = stage.world.envelope.clone();
                defaults.extend(usual_envelope(options, stage.world.now));
                let defaults = Arc::from(defaults);
                (OutputWriter::Edi(Box::new(EdiOutput::new(text, writer))), Maker::Edi { options, defaults })
            }
            TargetFormat::Parquet(write) => {
                let sink = self.columns_of(shape, TextStore::Interned)?;
                let codec = match write.compression {
                    ParquetCompression::Snappy => Codec::Snappy,
                    ParquetCompression::None => Codec::Uncompressed,
                };
                let options = ParquetOptions { codec, ..ParquetOptions::default() };
                let output = ColumnOutput::start(out, |out| ParquetWriter::new(out, &sink, &options))?;
                let writer = output.writer.as_ref().expect("the output was just started");
                let encoders = (0..n).map(|_| Some(writer.encoder())).collect();
                (OutputWriter::Parquet(Box::new(output)), Maker::Columns { sink, encoders })
            }
            TargetFormat::ArrowFile | TargetFormat::ArrowStream => {
                let framing = if matches!(format, TargetFormat::ArrowFile) { Framing::File } else { Framing::Stream };
                let sink = self.columns_of(shape, TextStore::Plain)?;
                let output = ColumnOutput::start(out, |out| ArrowIpcWriter::new(out, &sink, framing))?;
                (OutputWriter::Arrow(output), Maker::Columns { sink, encoders: (0..n).map(|_| None).collect() })
            }
        })
    }

    fn part(&self, maker: &mut Maker<'c>, folder: &SpoolFolder) -> Result<AnyPart<'c>, ConvertError> {
        let folder = Arc::clone(folder);
        Ok(match maker {
            Maker::Json { shape, style, split } => {
                AnyPart::Json(TextPart::new(JsonWriter::new(shape, *style), *split, folder))
            }
            Maker::Xml { shape, style, split } => {
                AnyPart::Xml(TextPart::new(XmlWriter::new(shape, style.clone())?, *split, folder))
            }
            Maker::Csv { shape, style } => {
                AnyPart::Csv(TextPart::new(CsvWriter::new(shape, *style, self.limits)?, false, folder))
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
            Maker::Columns { sink, encoders } => {
                AnyPart::Columns(Box::new(ColumnsPart::new(sink.sibling(), encoders.pop().flatten())))
            }
        })
    }

    fn framed(
        &self,
        spec: &FramingSpec,
        options: &FramerOptions,
        schema: &Arc<Schema>,
    ) -> Result<Framed, ConvertError> {
        Framed::new(spec, options.clone(), self.limits, schema).map_err(spec_error)
    }
}

fn json<'c>(
    shape: &'c Shape,
    out: OutFile,
    write: &JsonWrite,
    stream: Stream,
    split: bool,
) -> Result<(OutputWriter, Maker<'c>), ConvertError> {
    let style = JsonStyle { stream, numbers: numbers(write), ..JsonStyle::default() };
    let mut writer = JsonWriter::new(shape, style);
    writer.begin();
    let prologue = writer.bytes().to_vec();
    writer.clear();
    writer.end();
    // In an array every document begins with the comma behind the one before.
    let written = out.bytes() > prologue.len() as u64;
    let drop_first = usize::from(stream == Stream::Array && !written);
    let output = TextOutput::start(out, &prologue, writer.bytes().to_vec(), drop_first)?;
    Ok((OutputWriter::Text(output), Maker::Json { shape, style, split }))
}

/// Where output waits: beside what is written, or among temporary files.
pub(crate) fn spool_folder(stage: Option<&MapStage>) -> Arc<Path> {
    stage.map_or_else(|| Arc::from(std::env::temp_dir()), |stage| Arc::from(stage.spool_folder.as_path()))
}
