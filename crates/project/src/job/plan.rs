//! The plan of a job: its elements as text, with the work that a crash repeats.

use std::fmt::Write as _;

use super::{ArtifactRef, Element, Job, PartitionSource, Step, StepBody};

/// Describes the work that a crash repeats or loses for an artifact.
pub type Delivery = fn(&ArtifactRef) -> &'static str;

/// Formats the elements of a job, with the work that a crash repeats.
#[must_use]
pub fn plan_text(job: &Job, delivery: Delivery) -> String {
    let mut text = format!("job {}\n", job.id);
    elements(&job.elements, 1, delivery, &mut text);
    text
}

fn elements(list: &[Element], depth: usize, delivery: Delivery, text: &mut String) {
    let indent = "  ".repeat(depth);
    for element in list {
        match element {
            Element::Step(step) => step_plan(step, &indent, delivery, text),
            Element::Flow(flow) => {
                let _ = writeln!(text, "{indent}flow {}", flow.id);
                elements(&flow.elements, depth + 1, delivery, text);
            }
            Element::Split(split) => {
                let _ = writeln!(text, "{indent}split {}: {} flows at the same time", split.id, split.flows.len());
                for flow in &split.flows {
                    let _ = writeln!(text, "{indent}  flow {}", flow.id);
                    elements(&flow.elements, depth + 2, delivery, text);
                }
            }
            Element::Decision(decision) => {
                let _ = writeln!(text, "{indent}decision {} by {}", decision.id, decision.decider.name);
            }
        }
        for transition in element.transitions() {
            let _ = writeln!(text, "{indent}  on {}: {}", transition.on, transition.action);
        }
        if let Some(next) = element.next() {
            let _ = writeln!(text, "{indent}  then {next}");
        }
    }
}

fn step_plan(step: &Step, indent: &str, delivery: Delivery, text: &mut String) {
    match &step.body {
        StepBody::Batchlet(batchlet) => {
            let _ = writeln!(text, "{indent}step {}: batchlet {}", step.id, batchlet.name);
            let _ = writeln!(text, "{indent}  a crash runs the whole step again");
        }
        StepBody::Chunk(chunk) => {
            let processor =
                chunk.processor.as_ref().map(|processor| format!(", {}", processor.name)).unwrap_or_default();
            let _ = writeln!(
                text,
                "{indent}step {}: {}{processor}, {}, {}",
                step.id,
                chunk.reader.name,
                chunk.writer.name,
                chunk.end_text()
            );
            let _ = writeln!(text, "{indent}  reader: {}", delivery(&chunk.reader));
            if let Some(processor) = &chunk.processor {
                let _ = writeln!(text, "{indent}  processor: {}", delivery(processor));
            }
            let _ = writeln!(text, "{indent}  writer: {}", delivery(&chunk.writer));
        }
    }
    match step.partition.as_ref().map(|partition| &partition.source) {
        Some(PartitionSource::Plan { partitions, .. }) => {
            let _ = writeln!(text, "{indent}  {partitions} partitions");
        }
        Some(PartitionSource::Mapper(mapper)) => {
            let _ = writeln!(text, "{indent}  partitions by {}", mapper.name);
        }
        None => {}
    }
}
