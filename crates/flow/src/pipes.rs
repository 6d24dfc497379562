//! The compiled loops of a flow on one thread: expressions, maps, checks. Each is made when its node is first used.

use std::cell::RefCell;
use std::sync::Arc;

use quayline_core::{Finding, Findings, Limits};
use quayline_pipeline::{Lookup, MapStep, OutputBuffer, Pipeline, UnitLane, UnitWorld, World};
use quayline_project::{JsonWrite, TargetFormat};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::compile::Flow;
use crate::expression::{self, Evaluated};
use crate::failure::Failure;
use crate::message::Parcel;

/// The pipelines of a flow on one thread.
pub(crate) struct Pipes {
    nodes: Vec<NodePipes>,
}

/// What a map made of a message in one of its outputs.
pub(crate) struct Made {
    /// Number of the output, from 0.
    pub(crate) output: usize,
    pub(crate) content: Vec<u8>,
}

struct NodePipes {
    world: Arc<World>,
    expressions: Option<Pipeline>,
    map: Option<Pipeline>,
    check: Option<Pipeline>,
}

impl Pipes {
    pub(crate) fn new(flow: &Flow) -> Result<Pipes, Findings> {
        let plain = Arc::new(World::default());
        let limits = Limits::default();
        let mut nodes = Vec::with_capacity(flow.nodes.len());
        for (node, written) in flow.nodes.iter().zip(&flow.file.nodes) {
            let world = match &node.map {
                Some(map) if !map.lookups.is_empty() => {
                    let lookups = map.lookups.iter().map(|table| Box::new(table.clone()) as Box<dyn Lookup>);
                    Arc::new(World::new(0, 0, Vec::new(), lookups.collect()))
                }
                _ => Arc::clone(&plain),
            };
            let expressions = match &node.expressions {
                Some(expressions) => Some(expressions.pipeline(&world, &limits)?),
                None => None,
            };
            let map = match &node.map {
                Some(map) => {
                    let step = MapStep {
                        plan: Arc::clone(&map.plan),
                        schemas: map.schemas.clone(),
                        world: Arc::clone(&world),
                    };
                    let (source, schema) = (map.source.clone(), Arc::clone(&map.schema));
                    Some(Pipeline::with_map(source, schema, step, map.targets.clone(), limits.clone())?)
                }
                None => None,
            };
            let checks = written.kind.name == "validate" || written.text("by") == Some("document");
            let check = match &node.shape {
                Some(shape) if checks => {
                    let target = TargetFormat::JsonLines(JsonWrite::default());
                    Some(Pipeline::new(shape.source()?, Arc::clone(shape.schema()), target, limits.clone())?)
                }
                _ => None,
            };
            nodes.push(NodePipes { world, expressions, map, check });
        }
        Ok(Pipes { nodes })
    }
}

type Slot<'p> = RefCell<Option<(UnitLane<'p>, Vec<OutputBuffer>)>>;

/// The memory of the pipelines.
pub(crate) struct Lanes<'p> {
    pipes: &'p Pipes,
    flow: &'p Flow,
    expressions: Vec<Slot<'p>>,
    maps: Vec<Slot<'p>>,
    checks: Vec<Slot<'p>>,
}

impl<'p> Lanes<'p> {
    pub(crate) fn new(pipes: &'p Pipes, flow: &'p Flow) -> Self {
        let slots = || pipes.nodes.iter().map(|_| RefCell::new(None)).collect();
        Lanes { pipes, flow, expressions: slots(), maps: slots(), checks: slots() }
    }

    fn with<T>(
        slot: &Slot<'p>,
        pipeline: &'p Pipeline,
        work: impl FnOnce(&mut UnitLane<'p>, &mut [OutputBuffer]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let refused = |found: Findings| {
            let first = found.0.into_iter().next();
            let text = first.map_or_else(String::new, |finding| finding.message);
            Failure::new(codes::NOT_READABLE, text, "run `quayline flow check`")
        };
        let mut slot = slot.borrow_mut();
        if slot.is_none() {
            *slot = Some((pipeline.lane().map_err(refused)?, pipeline.buffers().map_err(refused)?));
        }
        let (lane, outputs) = slot.as_mut().expect("the lane was made just now");
        work(lane, outputs)
    }

    /// Sets the clock, the seed of ids and the envelope that expressions and maps use.
    fn world(&self, at: usize, now_ms: u64, parcel: &Parcel, names: &[String]) {
        let envelope = names.iter().filter_map(|name| Some((name.clone(), parcel.envelope(name)?))).collect();
        let now = i64::try_from(now_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        // A message that is processed again gets the same ids.
        let seed = xxh3_64(&parcel.received.header.id) ^ parcel.path;
        self.pipes.nodes[at].world.set_unit(Some(UnitWorld { now, seed, envelope }));
    }

    /// Evaluates the expressions of a node.
    pub(crate) fn evaluate(&self, at: usize, now_ms: u64, parcel: &Parcel) -> Result<Vec<Evaluated>, Failure> {
        let (Some(expressions), Some(pipeline)) = (&self.flow.nodes[at].expressions, &self.pipes.nodes[at].expressions)
        else {
            return Ok(Vec::new());
        };
        self.world(at, now_ms, parcel, expressions.envelope_read());
        Lanes::with(&self.expressions[at], pipeline, |lane, outputs| {
            expression::evaluate(expressions, lane, outputs, &parcel.content)
        })
    }

    /// Runs the map of a node on a message. Returns the content of each output that has documents, and warnings.
    pub(crate) fn map(&self, at: usize, now_ms: u64, parcel: &Parcel) -> Result<(Vec<Made>, Vec<Finding>), Failure> {
        let (Some(map), Some(pipeline)) = (&self.flow.nodes[at].map, &self.pipes.nodes[at].map) else {
            return Ok((Vec::new(), Vec::new()));
        };
        self.world(at, now_ms, parcel, map.plan.envelope_read());
        Lanes::with(&self.maps[at], pipeline, |lane, outputs| {
            let report = lane.run(&Arc::from("the message"), &parcel.content, outputs);
            let mut made = Vec::with_capacity(outputs.len());
            for (number, output) in outputs.iter_mut().enumerate() {
                let is_empty = output.is_empty();
                let content = output.take();
                if !is_empty {
                    made.push(Made { output: number, content });
                }
            }
            if !report.is_good() {
                return Err(Failure::unreadable(codes::NOT_MAPPED, report, "the map refuses the message"));
            }
            for Made { output, content } in &mut made {
                let is_text = matches!(map.targets[*output], TargetFormat::JsonLines(_) | TargetFormat::Xml(_));
                if is_text && content.last() == Some(&b'\n') {
                    content.pop();
                }
            }
            Ok((made, report.warnings().cloned().collect()))
        })
    }

    /// Checks a whole message against its shape. `Ok(Err)` describes the mismatch. The documents are in JSON, one on each line.
    pub(crate) fn check(&self, at: usize, parcel: &Parcel) -> Result<Result<Option<Vec<u8>>, Failure>, Failure> {
        let Some(pipeline) = &self.pipes.nodes[at].check else { return Ok(Ok(None)) };
        Lanes::with(&self.checks[at], pipeline, |lane, outputs| {
            let report = lane.run(&Arc::from("the message"), &parcel.content, outputs);
            let documents = outputs[0].take();
            if report.is_good() {
                return Ok(Ok(Some(documents)));
            }
            Ok(Err(Failure::unreadable(codes::NOT_READABLE, report, "the message does not fit its shape")))
        })
    }
}
