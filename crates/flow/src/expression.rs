//! Expressions of a node, compiled together as one map from the message to a small document of their values.
//!
//! The map language then has one parser, one checker and one evaluator for maps and flows. What a node's expressions do not read is not kept, and a node
//! whose expressions read the envelope only does not read the content of the message at all.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity, Shape};
use quayline_map::{Absent, MapPlan, MapSpec, NoFiles, NoRules, Options, Output, compile_by};
use quayline_pipeline::{MapStep, OutputBuffer, Pipeline, UnitLane, World};
use quayline_project::{JsonRead, JsonWrite, Schema, ShapeFile, SourceFormat, TargetFormat, UserText, parse_outline};

use crate::codes;
use crate::failure::Failure;
use crate::message::ENVELOPE_NAMES;

/// What an expression gives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Gives {
    Text,
    Truth,
}

/// An expression as the user wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Name of its value: that of the property.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where the text is, quotes included.
    pub(crate) span: Range<usize>,
    pub(crate) gives: Gives,
}

/// The compiled expressions of a node.
#[derive(Clone, Debug)]
pub(crate) struct Expressions {
    names: Vec<String>,
    plan: Arc<MapPlan>,
    source: SourceFormat,
    schema: Arc<Schema>,
    target: Arc<Schema>,
    reads_content: bool,
}

/// The value of an expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Evaluated {
    Text(String),
    Truth(bool),
    Absent,
}

impl Expressions {
    /// Compiles the expressions of a node; `shape` is that of the messages, if their content is read.
    pub(crate) fn compile(
        written: &[Written],
        shape: Option<&ShapeFile>,
        file: &UserText,
        findings: &mut Vec<Finding>,
    ) -> Option<Expressions> {
        let mut outline = String::from("values\n");
        let mut text = String::new();
        let mut is_sound = true;
        for one in written {
            let kind = if one.gives == Gives::Truth { "bool" } else { "text" };
            outline.push_str(&format!("  {}? {kind}\n", one.name));
            // One line each, so that the line of a finding says which; the columns stay.
            let expression: String = one.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let statement = format!("{} = {expression}\n", one.name);
            // Alone first: what is not complete must not continue on the line of the next one.
            let alone = MapSpec::parse("expression", &statement);
            if !alone.is_sound() {
                findings.extend(alone.findings().iter().map(|finding| {
                    let mut finding = finding.clone();
                    finding.message = finding.message.replace("the end of the map", "the end of the expression");
                    finding.place = place_of(&finding.place, std::slice::from_ref(one), file);
                    finding
                }));
                is_sound = false;
            }
            text.push_str(&statement);
        }
        if !is_sound {
            return None;
        }
        let target = match parse_outline("values", &outline) {
            Ok(target) => target,
            Err(found) => {
                findings.extend(found.0);
                return None;
            }
        };
        let spec = MapSpec::parse("expressions", &text);
        let nothing = Shape::builder("message").finish();
        let source_shape = shape.map_or(&nothing, ShapeFile::shape);
        let outputs = [Output { name: "values", shape: &target, absent: Absent::Refused }];
        let options = shape.map_or_else(Options::default, |shape| Options { order: shape.order() });
        let compiled = compile_by(&spec, source_shape, &outputs, options, &NoFiles, &NoRules);
        let (plan, found) = match compiled {
            Ok(compiled) => (Some(compiled.plan), compiled.findings),
            Err(Findings(found)) => (None, found),
        };
        let is_wrong = plan.is_none();
        for mut finding in found {
            // Notes about shapes and lengths are for maps; here only what stops the expression matters.
            if finding.severity == Severity::Error || !is_wrong && finding.severity == Severity::Warning {
                finding.place = place_of(&finding.place, written, file);
                if is_wrong && shape.is_none() && finding.hint.is_none() {
                    finding.hint = Some("name the shape of the messages at the input: message = \"…\"".to_owned());
                }
                findings.push(finding);
            }
        }
        let plan = plan?;
        for name in plan.envelope_read() {
            if !ENVELOPE_NAMES.contains(&name.as_str()) && !name.starts_with("property_") {
                let at = written.iter().find(|one| one.text.contains(name.as_str())).or(written.first())?;
                let near = quayline_core::nearest(name, ENVELOPE_NAMES.iter().copied());
                let hint = near.map_or_else(
                    || "a property NAME of the message is `envelope.property_NAME`".to_owned(),
                    |near| format!("did you mean `envelope.{near}`?"),
                );
                let message = format!("a message has no envelope value `{name}`");
                findings.push(
                    Finding::error(codes::UNKNOWN_ENVELOPE, Fault::Config, message).at(file.place(&at.span)).hint(hint),
                );
                return None;
            }
        }
        let reads_content = plan.reads_source();
        let source = match shape {
            Some(shape) if reads_content => match shape.source() {
                Ok(source) => source,
                Err(found) => {
                    findings.extend(found.0);
                    return None;
                }
            },
            _ => SourceFormat::Json(JsonRead { ignore_unknown: true }),
        };
        Some(Expressions {
            names: written.iter().map(|one| one.name.clone()).collect(),
            plan: Arc::new(plan),
            source,
            schema: shape
                .map_or_else(|| Arc::new(Schema::of_shape(nothing.clone())), |shape| Arc::clone(shape.schema())),
            target: Arc::new(Schema::of_shape(target)),
            reads_content,
        })
    }

    /// The pipeline of one thread.
    pub(crate) fn pipeline(&self, world: &Arc<World>, limits: &Limits) -> Result<Pipeline, Findings> {
        let step =
            MapStep { plan: Arc::clone(&self.plan), schemas: vec![Arc::clone(&self.target)], world: Arc::clone(world) };
        let target = TargetFormat::JsonLines(JsonWrite::default());
        Pipeline::with_map(self.source.clone(), Arc::clone(&self.schema), step, vec![target], limits.clone())
    }

    /// Names of envelope values that the expressions read.
    pub(crate) fn envelope_read(&self) -> &[String] {
        self.plan.envelope_read()
    }

    /// Evaluates all expressions for a message.
    pub(crate) fn evaluate(
        &self,
        lane: &mut UnitLane<'_>,
        outputs: &mut [OutputBuffer],
        content: &[u8],
    ) -> Result<Vec<Evaluated>, Failure> {
        let content = if self.reads_content { content } else { b"{}" };
        let report = lane.run(&Arc::from("the message"), content, outputs);
        let line = outputs[0].take();
        if !report.is_good() {
            return Err(Failure::unreadable(
                codes::NOT_READABLE,
                report,
                "the content of the message does not fit its shape",
            ));
        }
        if report.documents != 1 {
            return Err(Failure::new(
                codes::NOT_READABLE,
                format!("the message holds {} documents, expected one", report.documents),
                "split the message first, with a split node and `by = \"document\"`",
            ));
        }
        let mut values: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&line).map_err(|_| {
            Failure::new(codes::NOT_READABLE, "the values of the expressions cannot be read", "report this as a defect")
        })?;
        Ok(self
            .names
            .iter()
            .map(|name| match values.remove(name) {
                Some(serde_json::Value::String(text)) => Evaluated::Text(text),
                Some(serde_json::Value::Bool(truth)) => Evaluated::Truth(truth),
                _ => Evaluated::Absent,
            })
            .collect())
    }
}

/// A place of the expressions' text as one of the flow file.
fn place_of(place: &Place, written: &[Written], file: &UserText) -> Place {
    let line = place.line.and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
    let Some(one) = written.get(line.saturating_sub(1)) else {
        // After the last line: at the end of the last expression.
        let end = written.last().map_or(0, |last| last.span.end.saturating_sub(1));
        return file.place(&(end..end + 1));
    };
    let given = &file.text[one.span.clone()];
    // Only a text without escapes has each of its characters where the finding says.
    let inner = given.get(1..given.len().saturating_sub(1)).unwrap_or_default();
    if inner != one.text {
        return file.place(&one.span);
    }
    let before = one.name.chars().count() + " = ".len();
    let column = place.column.and_then(|column| usize::try_from(column).ok()).unwrap_or(1).saturating_sub(1);
    let skipped = column.saturating_sub(before);
    let width = place.width.and_then(|width| usize::try_from(width).ok()).unwrap_or(1);
    let byte = |count: usize| inner.char_indices().nth(count).map_or(inner.len(), |(at, _)| at);
    let start = one.span.start + 1;
    file.place(&(start + byte(skipped)..start + byte(skipped + width)))
}

/// Whether two shapes have the same nodes.
pub(crate) fn same_shape(a: &Shape, b: &Shape) -> bool {
    a == b
}
