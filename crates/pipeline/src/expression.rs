//! Expressions of the map language outside of maps, such as those of a flow node or the condition of a partner's rule. They are compiled
//! together as one map from the document to a small document of their values.
//!
//! Therefore maps, flows and rules share one parser, one checker and one evaluator. Values that no expression reads are not kept, and
//! expressions that read only the envelope do not read the content of the document at all.

use core::ops::Range;
use std::sync::Arc;

use quayline_core::{Finding, Findings, Limits, Place, Severity, Shape};
use quayline_map::{Absent, MapPlan, MapSpec, NoFiles, NoRules, Options, Output, compile_by};
use quayline_project::{JsonRead, JsonWrite, Schema, ShapeFile, SourceFormat, TargetFormat, UserText, parse_outline};

use crate::unit::{MapStep, OutputBuffer, Pipeline, UnitLane, UnitReport};
use crate::world::World;

/// Type of an expression's result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Gives {
    /// A text.
    Text,
    /// A truth value.
    Truth,
}

/// An expression as the user wrote it.
#[derive(Clone, Debug)]
pub struct Written {
    /// Name of its value: that of the property.
    pub name: String,
    /// The text.
    pub text: String,
    /// Position of the text in its file, including quotes.
    pub span: Range<usize>,
    /// Type of its result.
    pub gives: Gives,
}

/// Expressions, compiled. They never change; each thread makes its own [`UnitLane`] of [`Expressions::pipeline`].
#[derive(Clone, Debug)]
pub struct Expressions {
    names: Vec<String>,
    plan: Arc<MapPlan>,
    source: SourceFormat,
    schema: Arc<Schema>,
    target: Arc<Schema>,
    reads_content: bool,
}

/// The value of an expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Evaluated {
    /// A text.
    Text(String),
    /// A truth value.
    Truth(bool),
    /// No value.
    Absent,
}

/// Reason why expressions have no value for a document.
#[derive(Debug)]
pub enum ExpressionFault {
    /// The document does not fit its shape, or an expression fails on it.
    Unreadable(Box<UnitReport>),
    /// The bytes hold another number of documents than one.
    Documents(u64),
    /// The values cannot be read: a defect.
    Damaged,
}

impl Expressions {
    /// Compiles expressions of a file. `shape` is the shape of the documents, if their content is read, and `remedy` is the hint how to name it.
    /// Errors are added to `findings`. The caller checks which of [`Expressions::envelope_read`] its documents have.
    pub fn compile(
        written: &[Written],
        shape: Option<&ShapeFile>,
        remedy: &str,
        file: &UserText,
        findings: &mut Vec<Finding>,
    ) -> Option<Expressions> {
        let mut outline = String::from("values\n");
        let mut text = String::new();
        let mut is_sound = true;
        for one in written {
            let kind = if one.gives == Gives::Truth { "bool" } else { "text" };
            outline.push_str(&format!("  {}? {kind}\n", one.name));
            // One line for each expression, so that the line of a finding identifies it; the columns are unchanged.
            let expression: String = one.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let statement = format!("{} = {expression}\n", one.name);
            // Parse it alone first: an incomplete expression must not continue on the line of the next one.
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
            // Notes about shapes and lengths apply to maps; here only errors of the expression matter.
            if finding.severity == Severity::Error || !is_wrong && finding.severity == Severity::Warning {
                finding.place = place_of(&finding.place, written, file);
                if is_wrong && shape.is_none() && finding.hint.is_none() {
                    finding.hint = Some(remedy.to_owned());
                }
                findings.push(finding);
            }
        }
        let plan = plan?;
        let reads_content = plan.reads_source();
        let source = match shape {
            Some(shape) if reads_content => match shape.source() {
                // One document of a file of columns is a row in JSON.
                Ok(SourceFormat::Columns(_)) => SourceFormat::Json(JsonRead::default()),
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
            schema: match shape.map(ShapeFile::schema) {
                // An expression selects the path of a message. Whether the message is valid is for the nodes on that path.
                Some(schema) if schema.source_limits().is_none() => Arc::clone(schema),
                Some(schema) => Arc::new(Schema::of_shape(schema.shape().clone())),
                None => Arc::new(Schema::of_shape(nothing.clone())),
            },
            target: Arc::new(Schema::of_shape(target)),
            reads_content,
        })
    }

    /// Builds the compiled loop. `world` has the clock and the envelope values.
    ///
    /// # Errors
    /// Formats that do not match the shape.
    pub fn pipeline(&self, world: &Arc<World>, limits: &Limits) -> Result<Pipeline, Findings> {
        let step =
            MapStep { plan: Arc::clone(&self.plan), schemas: vec![Arc::clone(&self.target)], world: Arc::clone(world) };
        let target = TargetFormat::JsonLines(JsonWrite::default());
        Pipeline::with_map(self.source.clone(), Arc::clone(&self.schema), step, vec![target], limits.clone())
    }

    /// Names of envelope values that the expressions read.
    #[must_use]
    pub fn envelope_read(&self) -> &[String] {
        self.plan.envelope_read()
    }

    /// Returns true if the expressions read the content of the document.
    #[must_use]
    pub fn reads_content(&self) -> bool {
        self.reads_content
    }

    /// Evaluates all expressions for a document; `name` names it in findings. The report has the warnings about the document.
    ///
    /// # Errors
    /// The document cannot be read, or an expression fails on it.
    pub fn evaluate(
        &self,
        lane: &mut UnitLane<'_>,
        outputs: &mut [OutputBuffer],
        name: &Arc<str>,
        content: &[u8],
    ) -> Result<(Vec<Evaluated>, UnitReport), ExpressionFault> {
        let content = if self.reads_content { content } else { b"{}" };
        let report = lane.run(name, content, outputs);
        let line = outputs[0].take();
        if !report.is_good() {
            return Err(ExpressionFault::Unreadable(Box::new(report)));
        }
        if report.documents != 1 {
            return Err(ExpressionFault::Documents(report.documents));
        }
        let mut values: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&line).map_err(|_| ExpressionFault::Damaged)?;
        let value = |name: &String| match values.remove(name) {
            Some(serde_json::Value::String(text)) => Evaluated::Text(text),
            Some(serde_json::Value::Bool(truth)) => Evaluated::Truth(truth),
            _ => Evaluated::Absent,
        };
        Ok((self.names.iter().map(value).collect(), report))
    }
}

/// Converts a position in the combined text into a position in the file.
fn place_of(place: &Place, written: &[Written], file: &UserText) -> Place {
    let line = place.line.and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
    let Some(one) = written.get(line.saturating_sub(1)) else {
        // After the last line: at the end of the last expression.
        let end = written.last().map_or(0, |last| last.span.end.saturating_sub(1));
        return file.place(&(end..end + 1));
    };
    let given = &file.text[one.span.clone()];
    // Only in a text without escapes does each character have the position of the finding.
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
