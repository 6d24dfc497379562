//! Measurements in this process: conversions of records in memory, one thread.
//!
//! A complete conversion runs, including framing, blocks and output, as `quayline convert` does, except that the files are in memory. Therefore a bar
//! shows the cost for users without that of their disk.

use std::io::{self, Cursor};
use std::sync::Arc;
use std::time::Duration;

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{LengthMismatch, Policies};
use quayline_convert::{Conversion, Input, Output, Report, Source, Target};
use quayline_frame::FramingSpec;
use quayline_project::{InterfaceFile, JsonRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat};

use crate::Run;
use crate::clock::cpu_of;
use crate::data::{CarRecords, DisplayHeavy, PackedHeavy};

/// Size of the records in memory in bytes: more than any cache contains, and small enough that a run takes a fraction of a second.
const BYTES: usize = 32 << 20;

/// Records in memory and how to convert them.
#[derive(Debug)]
pub struct Subject {
    schema: Arc<Schema>,
    records: Arc<[u8]>,
    record_length: usize,
}

/// Result of one conversion.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Bytes that it wrote.
    pub output_bytes: u64,
    /// CPU time of all its threads.
    pub cpu: Duration,
}

impl Subject {
    /// Customers: text and zoned numbers.
    ///
    /// # Errors
    /// The findings of its copybook: our fault.
    pub fn display_heavy() -> Result<Subject, String> {
        let records = DisplayHeavy::records(BYTES / DisplayHeavy::LENGTH, 2);
        Self::new(DisplayHeavy::COPYBOOK, "", records, DisplayHeavy::LENGTH)
    }

    /// Positions: packed decimals.
    ///
    /// # Errors
    /// The findings of its copybook: our fault.
    pub fn packed_heavy() -> Result<Subject, String> {
        let records = PackedHeavy::records(BYTES / PackedHeavy::LENGTH, 2);
        Self::new(PackedHeavy::COPYBOOK, "", records, PackedHeavy::LENGTH)
    }

    /// Creates car inquiries of 100 cars and 25 dealers with the baseline interface.
    ///
    /// # Errors
    /// Findings of its copybook or interface file, which are internal errors.
    pub fn cars() -> Result<Subject, String> {
        let interface = include_str!("../../../examples/dealership/baseline.toml");
        Self::of_cars(CarRecords::FULL, interface, BYTES / CarRecords::COMMAREA)
    }

    /// Creates this many car inquiries with an interface file's text.
    ///
    /// # Errors
    /// The findings of the interface file.
    pub fn of_cars(cars: CarRecords, interface: &str, count: usize) -> Result<Subject, String> {
        Self::new(CarRecords::COPYBOOK, interface, cars.records(count), cars.record_length())
    }

    fn new(copybook: &str, interface: &str, records: Vec<u8>, record_length: usize) -> Result<Subject, String> {
        let schema = schema(copybook, interface)?;
        Ok(Subject { schema: Arc::new(schema), records: records.into(), record_length })
    }

    /// Returns the records.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.records
    }

    /// Returns the number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records.len() / self.record_length
    }

    /// Returns a run that counts record bytes, for either direction.
    #[must_use]
    pub fn record_rate(&self, done: Done) -> Run {
        Run { bytes: self.records.len() as u64, cpu: done.cpu }
    }

    /// Converts records to JSON lines and discards them.
    ///
    /// # Panics
    /// If a generated record is rejected.
    #[must_use]
    pub fn to_json(&self) -> Done {
        self.convert(self.record_source(), json_lines(), Box::new(io::sink()))
    }

    /// Converts records to Parquet and discards it.
    ///
    /// # Panics
    /// If a generated record is rejected.
    #[must_use]
    pub fn to_parquet(&self) -> Done {
        self.convert(self.record_source(), TargetFormat::Parquet(ParquetWrite::default()), Box::new(io::sink()))
    }

    /// Returns the records as JSON lines.
    ///
    /// # Panics
    /// If a generated record is rejected.
    #[must_use]
    pub fn json(&self) -> Arc<[u8]> {
        let (written, bytes) = Collected::new();
        let _ = self.convert(self.record_source(), json_lines(), Box::new(written));
        bytes.lock().map(|bytes| bytes.as_slice().into()).unwrap_or_default()
    }

    /// Converts JSON lines to records and discards them.
    ///
    /// # Panics
    /// If a generated document is rejected.
    #[must_use]
    pub fn from_json(&self, json: &Arc<[u8]>) -> Done {
        let source = Source {
            name: "memory.jsonl".into(),
            input: Input::Stream(Box::new(Cursor::new(Arc::clone(json)))),
            format: SourceFormat::Json(JsonRead::default()),
        };
        self.convert(source, TargetFormat::Records(self.framing()), Box::new(io::sink()))
    }

    fn record_source(&self) -> Source {
        Source {
            name: "memory".into(),
            input: Input::Stream(Box::new(Cursor::new(Arc::clone(&self.records)))),
            format: SourceFormat::Records(self.framing()),
        }
    }

    fn framing(&self) -> FramingSpec {
        FramingSpec::Fixed { length: self.record_length }
    }

    fn convert(&self, source: Source, format: TargetFormat, output: Box<dyn io::Write + Send>) -> Done {
        let target = Target { output: Output::Stream(output), format };
        let conversion = Conversion::new(source, target, Arc::clone(&self.schema));
        let (report, cpu) = cpu_of(|| conversion.run());
        let report: Report = report.unwrap_or_else(|error| panic!("data made here converts: {error}"));
        assert_eq!(report.tally.records_rejected, 0, "data made here has no bad record");
        Done { output_bytes: report.output_bytes, cpu }
    }
}

/// Builds the schema with code page 037; bytes after the last field of a COMMAREA are ignored.
fn schema(copybook: &str, interface: &str) -> Result<Schema, String> {
    let text = |findings: quayline_core::Findings| findings.to_string();
    let parsed =
        quayline_cobol::parse(&SourceText::new("bench.cpy", copybook), &ParseOptions::default()).map_err(text)?;
    let layouts: Result<Vec<Layout>, _> =
        parsed.records.iter().map(|record| Layout::build(record, &Dialect::IBM)).collect();
    let interface = InterfaceFile::parse("bench.toml", interface).map_err(text)?;
    let policies = Policies { long: LengthMismatch::Accept, ..Policies::default() };
    let page = Charset::by_name("cp037").map_err(|_| "code page 037 is built in".to_owned())?;
    Schema::compile(&layouts.map_err(text)?, &interface, &policies, page).map_err(text)
}

fn json_lines() -> TargetFormat {
    TargetFormat::JsonLines(JsonWrite::default())
}

/// An output stream whose bytes can be read.
pub(crate) struct Collected(Arc<std::sync::Mutex<Vec<u8>>>);

impl Collected {
    pub(crate) fn new() -> (Collected, Arc<std::sync::Mutex<Vec<u8>>>) {
        let bytes = Arc::default();
        (Collected(Arc::clone(&bytes)), bytes)
    }
}

impl io::Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().map_err(|_| io::Error::other("a thread that wrote panicked"))?;
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
