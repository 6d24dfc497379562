//! `quayline.mapProcessor`: one document through a map.
//!
//! **Time and ids.** The map's `now()` is when the instance of the job was created, so a restart tomorrow gives the dates of today. Ids are made
//! of instance, execution, step, partition and number of the item: no two items of a repository share one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quayline_cache::{Lease, Pool};
use quayline_core::{Fault, Finding, Findings, Limits};
use quayline_edi::EdiWriteError;
use quayline_frame::FramingSpec;
use quayline_pipeline::{
    CsvTable, FunctionSource, MapStep, OutputBuffer, Pipeline, UnitLane, UnitReport, UnitWorld, World,
};
use quayline_project::{
    EnvelopeValue, JsonRead, JsonWrite, LookupTable, MapFile, ShapeOptions, SourceFormat, TargetFormat, check_envelope,
};
use xxhash_rust::xxh3::Xxh3;

use super::file_reader::of_findings;
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, Processor};
use crate::context::StepContext;
use crate::error::Thrown;
use crate::external::{FUNCTION_TIME, FunctionProgram};

/// The project's folder and the properties that a compiled map depends on.
type Key = (PathBuf, [String; 6]);

static MAPS: Pool<Key, Compiled> = Pool::new();

/// A map for one processor at a time: its world has the time and ids of the current item.
pub(super) struct Compiled {
    pipeline: Pipeline,
    world: Arc<World>,
    /// Bytes at the beginning of an output before its first document.
    prologue: usize,
    /// Line end of a target that has records, empty in other framings than lines; `None` for a target of text.
    record_end: Option<&'static [u8]>,
    /// One empty record with its framing, if the source has records. A unit without bytes has none.
    empty_record: Option<Answer<Vec<u8>>>,
}

impl MapProcessor {
    pub(super) fn new(with: &Injected) -> Answer<MapProcessor> {
        let limits = limits(with)?;
        let path = with.path("map")?;
        let tables: Vec<(String, PathBuf)> =
            pairs(with, "lookups")?.into_iter().map(|(name, file)| (name, with.folder.join(file))).collect();
        let properties = ["map", "limit", "envelope", "lookups", "functions", "function-timeout-s"]
            .map(|name| with.property(name).unwrap_or_default().to_owned());
        let lease = MAPS.lease((with.folder.clone(), properties), || {
            let given = pairs(with, "envelope")?;
            compile(&path, limits, given, &tables, functions(with)?).map_err(|findings| of_findings(&findings))
        })?;
        let compiled = lease.value;
        let lane = compiled.pipeline.lane().map_err(|findings| of_findings(&findings))?;
        let outputs = compiled.pipeline.buffers().map_err(|findings| of_findings(&findings))?;
        if outputs.len() != 1 {
            let message = format!("names a map with {} outputs, expected one", outputs.len());
            return Err(Thrown::property(&with.name, "map", message, "write a map with one target"));
        }
        let job = &with.job;
        let mut seed = Xxh3::new();
        for number in [job.created_ms, job.instance.0, job.execution.0] {
            seed.update(&number.to_le_bytes());
        }
        if let Some(step) = &with.step {
            seed.update(step.step.as_bytes());
            seed.update(&step.partition.map_or(u64::MAX, u64::from).to_le_bytes());
        }
        Ok(MapProcessor {
            lane,
            outputs,
            name: Arc::from(with.name.as_str()),
            step: with.step.clone(),
            now: i64::try_from(job.created_ms.saturating_mul(1_000)).unwrap_or(i64::MAX),
            seed: seed.digest(),
            items: 0,
            map: lease,
        })
    }
}

/// Returns the pairs `NAME=VALUE` of a property, separated by bars.
fn pairs(with: &Injected, property: &str) -> Answer<Vec<(String, String)>> {
    pairs_of(with.property(property).unwrap_or_default())
        .map_err(|(what, remedy)| Thrown::property(&with.name, property, what, remedy))
}

/// Parses the pairs of a text. The error is a description of the fault and a remedy.
pub(super) fn pairs_of(text: &str) -> Result<Vec<(String, String)>, (String, String)> {
    LookupTable::pairs(text).map_err(|part| {
        let remedy =
            "write NAME=VALUE, several with a bar between them: interchange.sender=ACME|interchange.receiver=SHOP";
        (format!("has `{part}`, which is not NAME=VALUE"), remedy.to_owned())
    })
}

fn refusal(message: String) -> Finding {
    Finding::error(crate::codes::PROPERTY, Fault::Config, message)
}

fn compile(
    path: &Path,
    limits: Limits,
    envelope: Vec<(String, String)>,
    tables: &[(String, PathBuf)],
    functions: Vec<FunctionProgram>,
) -> Result<(Compiled, Vec<PathBuf>), Findings> {
    let options = ShapeOptions::default();
    let map = MapFile::open(path, &options, &options)?;
    let values: Vec<_> = envelope
        .iter()
        .map(|(name, value)| EnvelopeValue { name, value, option: "the property `envelope`", must_be_taken: true })
        .collect();
    check_envelope(&map, &values, refusal)?;
    let lookups = CsvTable::all(LookupTable::of_map(&map.plan, tables, "the property `lookups`")?);
    let functions = FunctionProgram::of_map(map.plan.own_functions(), functions).map_err(|(what, remedy)| {
        refusal(format!("the property `functions` does not suit the map: {what}")).hint(remedy)
    })?;
    // If the map's file names a columnar file, an item is a row in JSON.
    let source = match map.source.source()? {
        SourceFormat::Columns(_) => SourceFormat::Json(JsonRead::default()),
        source => source,
    };
    let target = |format| match format {
        TargetFormat::Parquet(_) | TargetFormat::ArrowFile => TargetFormat::JsonLines(JsonWrite::default()),
        format => format,
    };
    let targets = map.targets.iter().map(|to| to.shape.target().map(target)).collect::<Result<Vec<_>, _>>()?;
    let record_end = match targets.first() {
        Some(TargetFormat::Records(FramingSpec::Lines(lines))) => Some(lines.end.bytes()),
        Some(TargetFormat::Records(_)) => Some(&[][..]),
        _ => None,
    };
    let schema = Arc::clone(map.source.schema());
    let schemas = map.targets.iter().map(|to| Arc::clone(to.shape.schema())).collect();
    let mut world = World::new(0, 0, envelope, lookups);
    world.functions = functions.into_iter().map(|program| Box::new(program) as Box<dyn FunctionSource>).collect();
    let world = Arc::new(world);
    let step = MapStep { plan: Arc::new(map.plan), schemas, world: Arc::clone(&world) };
    let pipeline = Pipeline::with_map(source, schema, step, targets, limits)?;
    let prologue = pipeline.buffers()?.first().map_or(0, |buffer| buffer.bytes().len());
    let files = map.files.into_iter().chain(tables.iter().map(|(_, file)| file.clone())).collect();
    let empty_record = pipeline.empty_record().map(|record| record.map_err(|findings| of_findings(&findings)));
    Ok((Compiled { pipeline, world, prologue, record_end, empty_record }, files))
}

/// Returns the programs of the property `functions`.
fn functions(with: &Injected) -> Answer<Vec<FunctionProgram>> {
    let time = Duration::from_secs(with.number("function-timeout-s", FUNCTION_TIME.as_secs())?.max(1));
    let program = |(name, command)| FunctionProgram { name, command, folder: with.folder.clone(), time };
    Ok(pairs(with, "functions")?.into_iter().map(program).collect())
}

pub(super) struct MapProcessor {
    lane: UnitLane<'static>,
    outputs: Vec<OutputBuffer>,
    name: Arc<str>,
    step: Option<Arc<StepContext>>,
    now: i64,
    seed: u64,
    /// Items without a step to count them.
    items: u64,
    map: Lease<Key, Compiled>,
}

/// Notes the warnings about an item in the job log.
pub(super) fn note_warnings(step: &StepContext, number: u64, report: &UnitReport) {
    for finding in report.warnings() {
        step.note(finding.code.0, || {
            let hint = finding.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("item {number}: {}: {}{hint}", finding.code.0, finding.message)
        });
    }
}

impl Processor for MapProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        self.items += 1;
        // Items that were rolled back are read again, and counted again.
        let number = self.step.as_ref().map_or(self.items, |step| step.counts().read);
        let seed = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let world = UnitWorld { now: self.now, seed, envelope: Vec::new() };
        let compiled = self.map.value;
        compiled.world.set_unit(Some(world));
        let unit = match &compiled.empty_record {
            Some(record) if item.is_empty() && !self.step.as_ref().is_some_and(|step| step.items_are_files()) => {
                record.as_ref().map_err(Thrown::clone)?
            }
            _ => item,
        };
        let report = self.lane.run(&self.name, unit, &mut self.outputs);
        let [output] = self.outputs.as_mut_slice() else { unreachable!("checked when the lane was made") };
        let prologue = compiled.prologue;
        let bytes = output.bytes();
        let is_empty = bytes.len() <= prologue;
        let mut document = bytes.get(prologue..).unwrap_or_default().to_vec();
        let ended = output.take();
        if !report.is_good() {
            let lost = report.lost.iter().flat_map(|findings| &findings.0);
            let mut found: Vec<_> = report.findings.iter().chain(lost).cloned().collect();
            // Here no option names it.
            for finding in found.iter_mut().filter(|finding| finding.code == EdiWriteError::FIELD_MISSING) {
                finding.hint = Some("set it in the map, or in the property `envelope` of the processor".to_owned());
            }
            return Err(of_findings(&Findings(found)));
        }
        if let Some(step) = &self.step {
            note_warnings(step, number, &report);
        }
        if is_empty && ended.len() <= prologue {
            return Ok(None);
        }
        if prologue == 0 && ended.len() > document.len() {
            // An interchange: its trailers belong to the item.
            document = ended;
        }
        let kept = match compiled.record_end {
            // Each byte of a record may belong to its last field.
            Some(end) => document.strip_suffix(end).map_or(document.len(), <[u8]>::len),
            None => document.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1),
        };
        document.truncate(kept);
        Ok(Some(document))
    }
}
