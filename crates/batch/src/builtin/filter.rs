//! `quayline.filterProcessor`: filters the items for which a condition is false. The condition is an expression of maps. Other items stay unchanged.

use std::path::PathBuf;
use std::sync::Arc;

use quayline_cache::{Lease, Pool};
use quayline_core::Findings;
use quayline_pipeline::{
    Evaluated, ExpressionFault, Expressions, Gives, OutputBuffer, Pipeline, UnitLane, UnitWorld, World,
    WrittenExpression,
};
use quayline_project::{ShapeFile, ShapeOptions, UserText};
use xxhash_rust::xxh3::xxh3_64;

use super::file_reader::of_findings;
use super::limits::limits;
use super::map::note_warnings;
use crate::artifact::{Answer, Injected, Item, Processor};
use crate::context::StepContext;
use crate::error::Thrown;

/// The project's folder and the properties that a compiled condition depends on.
type Key = (PathBuf, [String; 3]);

/// A compiled condition.
pub(super) struct Condition {
    expressions: Expressions,
    pipeline: Pipeline,
    world: Arc<World>,
}

static CONDITIONS: Pool<Key, Condition> = Pool::new();

impl FilterProcessor {
    pub(super) fn new(with: &Injected) -> Answer<FilterProcessor> {
        let limits = limits(with)?;
        let (text, shape) = (with.required("where")?, with.required("shape")?);
        let properties = ["where", "shape", "limit"].map(|name| with.property(name).unwrap_or_default().to_owned());
        let lease = CONDITIONS.lease((with.folder.clone(), properties), || {
            let shape = ShapeFile::load(&with.folder, shape, &ShapeOptions::default())
                .map_err(|findings| of_findings(&findings))?;
            let quoted = format!("\"{text}\"");
            let written = [WrittenExpression {
                name: "where".to_owned(),
                text: text.to_owned(),
                span: 0..quoted.len(),
                gives: Gives::Truth,
            }];
            let file = UserText { name: Arc::from("where"), text: quoted.into() };
            let mut findings = Vec::new();
            let remedy = "use the names of the shape; `quayline inspect` lists them";
            let expressions = Expressions::compile(&written, Some(&shape), remedy, &file, &mut findings);
            // The quotation mark is not in the property.
            findings
                .iter_mut()
                .for_each(|finding| finding.place.column = finding.place.column.map(|column| column - 1));
            let expressions = expressions.ok_or_else(|| of_findings(&Findings(findings)))?;
            if let Some(name) = expressions.envelope_read().first() {
                let message = format!("reads `envelope.{name}`, and items have no such value");
                return Err(Thrown::property(&with.name, "where", message, "read the fields of the item"));
            }
            let world = Arc::new(World::new(0, 0, Vec::new(), Vec::new()));
            let pipeline = expressions.pipeline(&world, &limits).map_err(|findings| of_findings(&findings))?;
            Ok((Condition { expressions, pipeline, world }, shape.files().to_vec()))
        })?;
        let lane = lease.value.pipeline.lane().map_err(|findings| of_findings(&findings))?;
        let outputs = lease.value.pipeline.buffers().map_err(|findings| of_findings(&findings))?;
        Ok(FilterProcessor {
            lane,
            outputs,
            name: Arc::from(with.name.as_str()),
            step: with.step.clone(),
            now: i64::try_from(with.job.created_ms.saturating_mul(1_000)).unwrap_or(i64::MAX),
            condition: lease,
        })
    }
}

pub(super) struct FilterProcessor {
    lane: UnitLane<'static>,
    outputs: Vec<OutputBuffer>,
    name: Arc<str>,
    step: Option<Arc<StepContext>>,
    /// Time at which the instance of the job was created, in microseconds. A later restart therefore gets the same results.
    now: i64,
    condition: Lease<Key, Condition>,
}

impl Processor for FilterProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let condition = self.condition.value;
        condition.world.set_unit(Some(UnitWorld { now: self.now, seed: xxh3_64(item), envelope: Vec::new() }));
        match condition.expressions.evaluate(&mut self.lane, &mut self.outputs, &self.name, item) {
            Ok((values, report)) => {
                if let Some(step) = &self.step {
                    note_warnings(step, step.counts().read, &report);
                }
                Ok((values.first() == Some(&Evaluated::Truth(true))).then(|| item.clone()))
            }
            Err(ExpressionFault::Unreadable(report)) => {
                let lost = report.lost.map(|Findings(lost)| lost).unwrap_or_default();
                Err(of_findings(&Findings(report.findings.into_iter().chain(lost).collect())))
            }
            Err(ExpressionFault::Documents(count)) => {
                Err(Thrown::of(&["quayline.Rejected"], format!("the item has {count} documents, expected one"))
                    .hint("let the reader make an item of each document: quayline.documentReader"))
            }
            Err(ExpressionFault::Damaged) => {
                Err(Thrown::new("quayline.Internal", "the value of the condition cannot be read"))
            }
        }
    }
}
