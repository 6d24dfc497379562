//! Expressions of a node: compiled against the shape of the arriving messages, and evaluated for each message.
//!
//! The pipeline compiles and evaluates expressions, as it does for conditions of partners' rules. This module adds the parts for flows: the values
//! of a message's envelope, and failures.

use std::sync::Arc;

use quayline_core::{Fault, Finding, Shape};
use quayline_pipeline::{ExpressionFault, OutputBuffer, UnitLane};
use quayline_project::{ShapeFile, UserText};

use crate::codes;
use crate::failure::Failure;
use crate::message::ENVELOPE_NAMES;

pub(crate) use quayline_pipeline::{Evaluated, Expressions, Gives, WrittenExpression as Written};

/// Compiles the expressions of a node; `shape` is that of the messages, if their content is read, and `remedy` how to name it.
pub(crate) fn compile(
    written: &[Written],
    shape: Option<&ShapeFile>,
    remedy: &str,
    file: &UserText,
    findings: &mut Vec<Finding>,
) -> Option<Expressions> {
    let expressions = Expressions::compile(written, shape, remedy, file, findings)?;
    for name in expressions.envelope_read() {
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
    Some(expressions)
}

/// Evaluates all expressions of a node for a message.
pub(crate) fn evaluate(
    expressions: &Expressions,
    lane: &mut UnitLane<'_>,
    outputs: &mut [OutputBuffer],
    content: &[u8],
) -> Result<Vec<Evaluated>, Failure> {
    let evaluated = expressions.evaluate(lane, outputs, &Arc::from("the message"), content);
    evaluated.map(|(values, _)| values).map_err(|fault| match fault {
        ExpressionFault::Unreadable(report) => {
            Failure::unreadable(codes::NOT_READABLE, *report, "the content of the message does not fit its shape")
        }
        ExpressionFault::Documents(documents) => Failure::new(
            codes::NOT_READABLE,
            format!("the message holds {documents} documents, expected one"),
            "split the message first, with a split node and `by = \"document\"`",
        ),
        ExpressionFault::Damaged => {
            Failure::new(codes::NOT_READABLE, "the values of the expressions cannot be read", "report this as a defect")
        }
    })
}

/// Returns true if two shapes have the same nodes.
pub(crate) fn same_shape(a: &Shape, b: &Shape) -> bool {
    a == b
}
