//! A conversion in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::Policies;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_convert::{Checkpoints, Conversion, ConvertError, Input, Output, Rejects, Report, Source, Start, Target};
use quayline_core::Findings;
use quayline_frame::FramingSpec;
use quayline_project::{InterfaceFile, JsonRead, JsonWrite, Schema, SourceFormat, TargetFormat};

pub(crate) const PERSON: &str = "
       01 PERSON.
          05 ID      PIC 9(4).
          05 NAME    PIC X(6).
          05 BALANCE PIC S9(5)V99 COMP-3.
";

/// Six-letter names that differ from record to record.
pub(crate) fn person(i: u32) -> Vec<u8> {
    let mut record = ebcdic(&format!("{:04}", i % 10_000));
    let letter = |shift: u32| char::from_u32(u32::from(b'A') + (i >> shift) % 26).expect("a letter");
    let name: String = [0, 3, 7].iter().map(|shift| letter(*shift)).collect();
    record.extend(ebcdic(&format!("{name:<6}")));
    record.extend([0x12, 0x34, 0x50 | (i % 10) as u8, 0x7c]);
    record
}

/// Returns record `i` with an invalid sign nibble.
pub(crate) fn bad_person(i: u32) -> Vec<u8> {
    let mut record = person(i);
    *record.last_mut().expect("not empty") = 0x70;
    record
}

pub(crate) fn ebcdic(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    page().encode_into(text, &mut bytes).expect("in cp037");
    bytes
}

pub(crate) fn page() -> Charset {
    Charset::by_name("cp037").expect("cp037 is known")
}

pub(crate) fn layouts(copybook: &str) -> Vec<Layout> {
    let text = SourceText::new("test.cpy", copybook);
    let parsed = quayline_cobol::parse(&text, &ParseOptions::default()).unwrap_or_else(|findings| panic!("{findings}"));
    let build = |record| Layout::build(record, &Dialect::IBM).unwrap_or_else(|findings| panic!("{findings}"));
    parsed.records.iter().map(build).collect()
}

pub(crate) fn try_schema(copybook: &str, interface: &str) -> Result<Arc<Schema>, Findings> {
    let file = InterfaceFile::parse("test.toml", interface)?;
    Schema::compile(&layouts(copybook), &file, &Policies::default(), page()).map(Arc::new)
}

pub(crate) fn schema(copybook: &str, interface: &str) -> Arc<Schema> {
    try_schema(copybook, interface).unwrap_or_else(|findings| panic!("{findings}"))
}

pub(crate) fn framing(text: &str) -> FramingSpec {
    FramingSpec::parse(text).expect("a framing")
}

pub(crate) fn records(spec: &str) -> SourceFormat {
    SourceFormat::Records(framing(spec))
}

pub(crate) const JSON: SourceFormat = SourceFormat::Json(JsonRead { ignore_unknown: false });

pub(crate) fn jsonl() -> TargetFormat {
    TargetFormat::JsonLines(JsonWrite::default())
}

/// A folder with a source, for building conversions.
pub(crate) struct Kit {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) schema: Arc<Schema>,
    pub(crate) from: SourceFormat,
    pub(crate) to: TargetFormat,
    pub(crate) lanes: usize,
    pub(crate) rejects: bool,
}

impl Kit {
    pub(crate) fn new(schema: Arc<Schema>, data: &[u8], from: SourceFormat, to: TargetFormat) -> Kit {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("in.dat"), data).expect("written");
        Kit { folder, schema, from, to, lanes: 1, rejects: true }
    }

    /// Persons, fixed, to JSON lines.
    pub(crate) fn persons(data: &[u8]) -> Kit {
        Kit::new(schema(PERSON, ""), data, records("fixed:14"), jsonl())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}; there is {:?}", self.names()))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("readable");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("readable").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    pub(crate) fn conversion(&self) -> Conversion {
        let source =
            Source { name: "in.dat".into(), input: Input::File(self.path("in.dat")), format: self.from.clone() };
        let target = Target { output: Output::File(self.path("out")), format: self.to.clone() };
        let mut conversion = Conversion::new(source, target, Arc::clone(&self.schema));
        conversion.lanes = self.lanes;
        if self.rejects {
            conversion.rejects = Rejects::File { path: self.path("rejects"), max: None };
        }
        conversion
    }

    pub(crate) fn checkpoints(&self, start: Start) -> Checkpoints {
        Checkpoints { every_bytes: 1, start, ..Checkpoints::new(self.path("out.checkpoint"), 7) }
    }

    pub(crate) fn run(&self) -> Result<Report, ConvertError> {
        checked(self.conversion().run())
    }

    pub(crate) fn ok(&self) -> Report {
        self.run().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Holds every report to its identities.
pub(crate) fn checked(result: Result<Report, ConvertError>) -> Result<Report, ConvertError> {
    if let Ok(report) = &result {
        assert!(report.adds_up(), "{:?}", report.tally);
        // CPU time, since on a busy machine wall time passes between two readings of the clock. The host of a virtual machine can take the processor
        // for some milliseconds, which the thread sees as its own time and the system does not count.
        let (off, all) = (report.cost.unaccounted.cpu_ns.unsigned_abs(), report.cost.lane_time.cpu.as_nanos());
        assert!(u128::from(off) <= all / 10 + 10_000_000, "{:?}", report.cost);
    }
    result
}

/// Returns the error of a failed run, without the name of the folder.
pub(crate) fn said(kit: &Kit, error: &ConvertError) -> String {
    relative(kit.folder.path(), &error.to_string())
}

fn relative(folder: &Path, text: &str) -> String {
    text.replace(&format!("{}/", folder.display()), "")
}
