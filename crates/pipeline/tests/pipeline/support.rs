//! Definitions for pipelines, and one unit run through.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::Policies;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_core::Limits;
use quayline_frame::FramingSpec;
use quayline_pipeline::{Pipeline, UnitReport};
use quayline_project::{InterfaceFile, JsonRead, JsonWrite, MapFile, Schema, ShapeOptions, SourceFormat, TargetFormat};

pub(crate) const PERSON: &str = "
       01 PERSON.
          05 ID      PIC 9(4).
          05 NAME    PIC X(6).
          05 BALANCE PIC S9(5)V99 COMP-3.
";

pub(crate) const JSON: SourceFormat = SourceFormat::Json(JsonRead { ignore_unknown: false });

pub(crate) fn person(id: &str, name: &str) -> Vec<u8> {
    let page = Charset::by_name("cp037").expect("known");
    let mut record = Vec::new();
    page.encode_into(&format!("{id}{name:<6}"), &mut record).expect("in cp037");
    record.extend([0x12, 0x34, 0x56, 0x7c]);
    record
}

pub(crate) fn schema(copybook: &str, interface: &str) -> Arc<Schema> {
    let text = SourceText::new("test.cpy", copybook);
    let parsed = quayline_cobol::parse(&text, &ParseOptions::default()).unwrap_or_else(|findings| panic!("{findings}"));
    let build = |record| Layout::build(record, &Dialect::IBM).unwrap_or_else(|findings| panic!("{findings}"));
    let layouts: Vec<Layout> = parsed.records.iter().map(build).collect();
    let file = InterfaceFile::parse("test.toml", interface).unwrap_or_else(|findings| panic!("{findings}"));
    let page = Charset::by_name("cp037").expect("known");
    let schema = Schema::compile(&layouts, &file, &Policies::default(), page);
    Arc::new(schema.unwrap_or_else(|findings| panic!("{findings}")))
}

pub(crate) fn records(framing: &str) -> FramingSpec {
    FramingSpec::parse(framing).expect("a framing")
}

pub(crate) fn jsonl() -> TargetFormat {
    TargetFormat::JsonLines(JsonWrite::default())
}

pub(crate) fn pipeline(source: SourceFormat, schema: &Arc<Schema>, target: TargetFormat) -> Pipeline {
    Pipeline::new(source, Arc::clone(schema), target, Limits::default()).unwrap_or_else(|findings| panic!("{findings}"))
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

pub(crate) fn map(name: &str) -> MapFile {
    let options = ShapeOptions::default();
    let path = examples().join("maps/maps").join(name);
    MapFile::open(&path, &options, &options).unwrap_or_else(|findings| panic!("{findings}"))
}

/// Runs one unit on its own: the report, and the complete bytes of each output.
pub(crate) fn run(pipeline: &Pipeline, unit: &[u8]) -> (UnitReport, Vec<Vec<u8>>) {
    let mut outputs = pipeline.buffers().expect("buffers");
    let mut lane = pipeline.lane().expect("a lane");
    let report = lane.run(&Arc::from("unit"), unit, &mut outputs);
    (report, outputs.iter_mut().map(quayline_pipeline::OutputBuffer::take).collect())
}

/// Formats the report: the tally, and each finding with its record.
pub(crate) fn shown(report: &UnitReport) -> String {
    let tally = report.tally;
    let mut lines = format!(
        "in {}, out {}, rejected {}, skipped {}, documents {}\n",
        tally.records_in, tally.records_out, tally.records_rejected, tally.records_skipped, report.documents
    );
    let lost = report.lost.iter().flat_map(|findings| &findings.0);
    for finding in report.findings.iter().chain(lost) {
        let record = finding.place.record.map_or_else(String::new, |record| format!(" at record {record}"));
        lines.push_str(&format!("{}{record}: {}\n", finding.code, finding.message));
    }
    lines
}

/// Returns output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text is UTF-8")
}
