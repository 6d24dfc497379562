//! `quayline.mapProcessor`: one document through a map.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use quayline_core::{Findings, Limits};
use quayline_pipeline::{FunctionSource, MapStep, OutputBuffer, Pipeline, UnitLane, World};
use quayline_project::{JsonRead, JsonWrite, MapFile, ShapeOptions, SourceFormat, TargetFormat};

use super::file_reader::of_findings;
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, Processor};
use crate::error::Thrown;
use crate::external::{FUNCTION_TIME, FunctionProgram};

/// A map's file, when it changed, and the properties `limit`, `functions` and `function-timeout-s`.
type Version = (PathBuf, Option<SystemTime>, [String; 3]);

/// Maps that were compiled. They stay for the life of the process, one for each version of a file, because lanes refer to them.
#[derive(Default)]
pub(super) struct Maps(Mutex<HashMap<Version, &'static Compiled>>);

struct Compiled {
    pipeline: Pipeline,
    /// Bytes at the beginning of an output before its first document.
    prologue: usize,
}

impl Maps {
    pub(super) fn processor(&self, with: &Injected) -> Answer<MapProcessor> {
        with.only(&["map", "limit", "functions", "function-timeout-s"])?;
        let limits = limits(with)?;
        let path = with.path("map")?;
        let changed = std::fs::metadata(&path).and_then(|facts| facts.modified()).ok();
        let properties = ["limit", "functions", "function-timeout-s"];
        let key = (path.clone(), changed, properties.map(|name| with.property(name).unwrap_or_default().to_owned()));
        let mut known = self.0.lock();
        let compiled = match known.get(&key) {
            Some(compiled) => *compiled,
            None => {
                let compiled = compile(&path, limits, with)?;
                let kept: &'static Compiled = Box::leak(Box::new(compiled));
                known.insert(key, kept);
                kept
            }
        };
        let lane = compiled.pipeline.lane().map_err(|findings| of_findings(&findings))?;
        let outputs = compiled.pipeline.buffers().map_err(|findings| of_findings(&findings))?;
        if outputs.len() != 1 {
            let message = format!("names a map with {} outputs, expected one", outputs.len());
            return Err(Thrown::property(&with.name, "map", message, "write a map with one target"));
        }
        Ok(MapProcessor { lane, outputs, prologue: compiled.prologue, name: Arc::from(with.name.as_str()) })
    }
}

fn compile(path: &std::path::Path, limits: Limits, with: &Injected) -> Answer<Compiled> {
    let options = ShapeOptions::default();
    let map = MapFile::open(path, &options, &options).map_err(|findings| of_findings(&findings))?;
    let functions = functions(&map, with)?;
    pipeline(map, functions, limits).map_err(|findings| of_findings(&findings))
}

/// The programs of the map's functions.
fn functions(map: &MapFile, with: &Injected) -> Answer<Vec<Box<dyn FunctionSource>>> {
    let wrong = |what: &str, remedy: &str| Thrown::property(&with.name, "functions", what, remedy);
    let time = Duration::from_secs(with.number("function-timeout-s", FUNCTION_TIME.as_secs())?);
    let mut programs = Vec::new();
    for text in with.property("functions").unwrap_or_default().split('|').map(str::trim).filter(|text| !text.is_empty())
    {
        let Some((name, command)) = text.split_once('=') else {
            return Err(wrong("has a part without `=`", "write NAME=COMMAND, several with a bar between them"));
        };
        programs.push(FunctionProgram {
            name: name.trim().to_owned(),
            command: command.trim().to_owned(),
            folder: with.folder.clone(),
            time,
        });
    }
    let programs = FunctionProgram::of_map(map.plan.own_functions(), programs)
        .map_err(|(what, remedy)| wrong(&format!("does not suit the map: {what}"), &remedy))?;
    Ok(programs.into_iter().map(|program| Box::new(program) as Box<dyn FunctionSource>).collect())
}

fn pipeline(map: MapFile, functions: Vec<Box<dyn FunctionSource>>, limits: Limits) -> Result<Compiled, Findings> {
    // One item is a row of JSON where the map's file names a file of columns.
    let source = match map.source.source()? {
        SourceFormat::Columns(_) => SourceFormat::Json(JsonRead::default()),
        source => source,
    };
    let target = |format| match format {
        TargetFormat::Parquet(_) | TargetFormat::ArrowFile => TargetFormat::JsonLines(JsonWrite::default()),
        format => format,
    };
    let targets = map.targets.iter().map(|to| to.shape.target().map(target)).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::clone(map.source.schema());
    let schemas = map.targets.iter().map(|to| Arc::clone(to.shape.schema())).collect();
    let mut world = World::default();
    world.functions = functions;
    let step = MapStep { plan: Arc::new(map.plan), schemas, world: Arc::new(world) };
    let pipeline = Pipeline::with_map(source, schema, step, targets, limits)?;
    let prologue = pipeline.buffers()?.first().map_or(0, |buffer| buffer.bytes().len());
    Ok(Compiled { pipeline, prologue })
}

pub(super) struct MapProcessor {
    lane: UnitLane<'static>,
    outputs: Vec<OutputBuffer>,
    prologue: usize,
    name: Arc<str>,
}

impl Processor for MapProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let report = self.lane.run(&self.name, item, &mut self.outputs);
        let [output] = self.outputs.as_mut_slice() else { unreachable!("checked when the lane was made") };
        let bytes = output.bytes();
        let is_empty = bytes.len() <= self.prologue;
        let mut document = bytes.get(self.prologue..).unwrap_or_default().to_vec();
        let ended = output.take();
        if !report.is_good() {
            let lost = report.lost.iter().flat_map(|findings| &findings.0);
            let found: Vec<_> = report.findings.iter().chain(lost).cloned().collect();
            return Err(of_findings(&Findings(found)));
        }
        if is_empty && ended.len() <= self.prologue {
            return Ok(None);
        }
        if self.prologue == 0 && ended.len() > document.len() {
            // An interchange: its trailers belong to the item.
            document = ended;
        }
        while document.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            document.pop();
        }
        Ok(Some(document))
    }
}
