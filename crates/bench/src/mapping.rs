//! Measurements of maps in this process: EDI and records in memory, one thread.

use std::time::{Duration, Instant};

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{Interface, Policies as RecordPolicies, RecordDecoder, RecordEncoder, RecordPlan};
use quayline_core::Shape;
use quayline_edi::{DocumentReader, DocumentStep};
use quayline_json::{JsonStyle, JsonWriter};
use quayline_map::{Absent, MapPlan, MapSpec, Mapper, NoFiles, One, Options, Output, Outputs, StillHost, compile};

use crate::Run;
use crate::clock::cpu_of;
use crate::data::Policies;
use crate::interchange::{Checks, Interchange};

/// Claims to JSON documents of another shape.
#[derive(Debug)]
pub struct ClaimMap {
    text: &'static str,
    target: Shape,
}

impl ClaimMap {
    /// Reads the map of `examples/bench` from 837P to a payer's submissions, one for each transaction.
    ///
    /// # Errors
    /// Errors in its target's outline, which are internal errors.
    pub fn new() -> Result<Self, String> {
        let outline = include_str!("../../../examples/bench/claims.shape");
        let target =
            quayline_project::parse_outline("claims.shape", outline).map_err(|findings| findings.to_string())?;
        Ok(ClaimMap { text: include_str!("../../../examples/bench/claims.qmap"), target })
    }

    /// Statements that write a value.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.text.lines().filter(|line| line.trim_start().contains(" = ") && !line.starts_with("fn ")).count()
    }

    /// Compiles it for documents of `claims`.
    ///
    /// # Errors
    /// Errors in the map, which are internal errors.
    pub fn compile(&self, source: &Shape) -> Result<MapPlan, String> {
        plan("claims.qmap", self.text, source, "submission", &self.target, Absent::Refused)
    }

    /// Measures the time of reading and compiling it.
    ///
    /// # Errors
    /// See [`ClaimMap::compile`].
    pub fn compile_time(&self, claims: &Interchange) -> Result<Duration, String> {
        let source = claims.shape();
        let began = Instant::now();
        self.compile(&source)?;
        Ok(began.elapsed())
    }

    /// Converts an interchange to JSON lines with the map and discards the output.
    ///
    /// # Panics
    /// If a generated interchange has a fault, or the map reports one.
    #[must_use]
    pub fn to_json(&self, plan: &MapPlan, claims: &Interchange, checks: Checks) -> Run {
        claims.run(|| {
            let mut reader = DocumentReader::new(&claims.options(checks));
            let writer = JsonWriter::new(&self.target, JsonStyle::default());
            let mut mapper = Mapper::new(plan, One(writer), StillHost::default());
            let mut written = 0;
            claims.buffers(|input, end| {
                let mut pass = reader.over(input, end);
                loop {
                    let step = pass.read(&mut mapper);
                    let writer = mapper.outputs().sink(0);
                    written += writer.bytes().len() as u64;
                    writer.clear();
                    match step {
                        DocumentStep::Document { errors, .. } => {
                            assert_eq!(errors, 0, "interchanges made here are good");
                            assert!(mapper.is_clean(), "{:?}", mapper.outcome().findings);
                            let _ = mapper.outcome();
                        }
                        DocumentStep::NeedMore | DocumentStep::Done => return pass.finish(),
                    }
                }
            });
            written
        })
    }
}

/// Records to records: a hundred fields to a hundred fields.
#[derive(Debug)]
pub struct RecordMap {
    source: RecordPlan,
    target: RecordPlan,
    plan: MapPlan,
    records: Vec<u8>,
}

impl RecordMap {
    /// Reads the map of `examples/bench` from policies of an old system to those of a new one.
    ///
    /// # Errors
    /// Errors in the copybooks or the map, which are internal errors.
    pub fn new() -> Result<Self, String> {
        let source = record_plan("policy.cpy", Policies::COPYBOOK)?;
        let target = record_plan("contract.cpy", include_str!("../../../examples/bench/contract.cpy"))?;
        let text = include_str!("../../../examples/bench/policy.qmap");
        let plan = plan("policy.qmap", text, source.shape(), "contract", target.shape(), Absent::Filled)?;
        let records = Policies::records((24 << 20) / source.length_max(), 2);
        Ok(RecordMap { source, target, plan, records })
    }

    /// Returns the records.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.records
    }

    /// Converts records to records and discards the output.
    ///
    /// # Panics
    /// If a generated record is rejected.
    #[must_use]
    pub fn run(&self) -> Run {
        let ((), cpu) = cpu_of(|| {
            let mut decoder = RecordDecoder::new(&self.source);
            let mut mapper = Mapper::new(&self.plan, One(RecordEncoder::new(&self.target)), StillHost::default());
            let mut sum = 0;
            for record in self.records.chunks_exact(self.source.length_max()) {
                decoder.decode(record, &mut mapper).expect("records made here are good");
                assert!(mapper.is_clean(), "{:?}", mapper.outcome().findings);
                sum += mapper.outputs().sink(0).take().expect("the map gives good records").len();
            }
            std::hint::black_box(sum);
        });
        Run { bytes: self.records.len() as u64, cpu }
    }

    /// Converts records of the source to records of the source without a map, to measure the cost of reading and writing.
    ///
    /// # Panics
    /// If a generated record is rejected.
    #[must_use]
    pub fn copy(&self) -> Run {
        let ((), cpu) = cpu_of(|| {
            let mut decoder = RecordDecoder::new(&self.source);
            let mut encoder = RecordEncoder::new(&self.source);
            let mut sum = 0;
            for record in self.records.chunks_exact(self.source.length_max()) {
                decoder.decode(record, &mut encoder).expect("records made here are good");
                sum += encoder.take().expect("what was read can be written").len();
            }
            std::hint::black_box(sum);
        });
        Run { bytes: self.records.len() as u64, cpu }
    }
}

fn plan(
    name: &str,
    text: &str,
    source: &Shape,
    output: &str,
    target: &Shape,
    absent: Absent,
) -> Result<MapPlan, String> {
    let spec = MapSpec::parse(name, text);
    let outputs = [Output { name: output, shape: target, absent }];
    let compiled = compile(&spec, source, &outputs, Options::default(), &NoFiles);
    compiled.map(|compiled| compiled.plan).map_err(|findings| findings.to_string())
}

fn record_plan(name: &str, text: &str) -> Result<RecordPlan, String> {
    let show = |findings: quayline_core::Findings| findings.to_string();
    let parsed = quayline_cobol::parse(&SourceText::new(name, text), &ParseOptions::default()).map_err(show)?;
    let layout = Layout::build(&parsed.records[0], &Dialect::IBM).map_err(show)?;
    let page = Charset::by_name("cp037").map_err(|_| "code page 037 is built in".to_owned())?;
    RecordPlan::new(&layout, &Interface::default(), &RecordPolicies::default(), page).map_err(show)
}
