//! Parameters of an operation: their fields, and the check of their values.

use quayline_cobol::{NoteKind, RecordEncoder};
use quayline_core::{Digits, NodeId, Run, Scalar, Sink, Value, is_rounded_float};

use crate::gate::{CONTROLS, Gate, GateRules, GateState, INEXACT, Numbers, plain_number};
use crate::service::RequestSide;
use crate::typed::{Range, Typed};

/// Location of a parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
}

impl ParameterPlace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ParameterPlace::Path => "path",
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
        }
    }
}

/// A parameter and the field it sets.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// Name as the client writes it; lower case for headers.
    pub(crate) name: String,
    pub(crate) place: ParameterPlace,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
    pub(crate) default: Option<String>,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
    pub(crate) description: String,
    pub(crate) example: Option<String>,
}

/// Sets the field of a parameter. On failure, returns the rule that the value breaks and the expected form.
pub(crate) fn set_parameter<S: Sink>(
    parameter: &Parameter,
    value: &str,
    gate: &mut Gate<'_, S>,
) -> Result<(), (&'static str, String)> {
    let numeric = matches!(
        gate.shape.node(parameter.node).scalar(),
        Some(Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64)
    );
    let range = Range { minimum: parameter.minimum, maximum: parameter.maximum };
    let mut digits = [0u8; 40];
    if !numeric {
        // Digits as text have bounds as well. The field's type refuses texts that are not numbers.
        if plain_number(value, Numbers::Lenient, &mut digits).is_some() && !range.holds(value) {
            return Err(("range", format!("expected {}", range.expected())));
        }
        return set_text(parameter.node, value, gate);
    }
    let is_float = matches!(gate.shape.node(parameter.node).scalar(), Some(Scalar::Float32 | Scalar::Float64));
    if let Some(float) = is_float.then(|| with_exponent(value)).flatten() {
        // The standard library writes a float without an exponent.
        if !range.holds(&float.to_string()) {
            return Err(("range", format!("expected {}", range.expected())));
        }
        if is_rounded_float(value.as_bytes(), &Value::Float64(float)) {
            gate.state.rounded.push(parameter.node);
        }
        let set = gate.set(parameter.node, Value::Float64(float));
        return if set { Ok(()) } else { Err(unfit(parameter.node, gate)) };
    }
    let Some((len, negative, scale)) = plain_number(value, gate.rules.numbers, &mut digits) else {
        let detail = match plain_number(value, Numbers::Lenient, &mut digits) {
            Some(_) => "expected a number without leading zeros",
            None => "expected a number",
        };
        return Err(("type", detail.to_owned()));
    };
    if !range.holds(value) {
        return Err(("range", format!("expected {}", range.expected())));
    }
    let value = Value::Digits(Digits { digits: Run::new(&digits, len), negative, scale });
    if gate.set(parameter.node, value) { Ok(()) } else { Err(unfit(parameter.node, gate)) }
}

/// Reads a JSON number with an exponent. Clients write large and small floats this way: `1e3`, `2.5E-7`.
fn with_exponent(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    plain_number(mantissa, Numbers::Json, &mut [0; 40])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<f64>().ok().filter(|float| is_whole && float.is_finite())
}

fn set_text<S: Sink>(node: NodeId, value: &str, gate: &mut Gate<'_, S>) -> Result<(), (&'static str, String)> {
    if gate.rules.refuses_controls && value.contains(char::is_control) {
        return Err((CONTROLS.0, CONTROLS.1.to_owned()));
    }
    if gate.set(node, Value::Text(Run::from(value.as_bytes()))) { Ok(()) } else { Err(unfit(node, gate)) }
}

fn unfit<S: Sink>(node: NodeId, gate: &Gate<'_, S>) -> (&'static str, String) {
    let typed = gate.rules.typed[node.index()].as_ref();
    let (rule, expected) = typed.map_or(("type", String::new()), |typed| (typed.rule(), typed.expected()));
    (rule, format!("expected {expected}"))
}

impl Parameter {
    /// Returns whether the values of its field are numbers, or the digits of numbers as text.
    pub(crate) fn is_number(&self, side: &RequestSide) -> bool {
        let scalar = side.shape.node(self.node).scalar();
        let is_digits = matches!(side.typed[self.node.index()].as_deref(), Some(Typed::Digits(_)));
        is_digits || matches!(scalar, Some(Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64))
    }
}

/// Checks that a parameter's default or example is a value of its field. The error is the reason.
pub(crate) fn value_fits(
    side: &RequestSide,
    rules: &GateRules,
    parameter: &Parameter,
    value: &str,
) -> Result<(), String> {
    constant_fits(side, rules, |gate| set_parameter(parameter, value, gate))
}

/// Checks that an assigned value is one of its field. The error is the reason.
pub(crate) fn assigned_fits(side: &RequestSide, rules: &GateRules, node: NodeId, value: &str) -> Result<(), String> {
    constant_fits(side, rules, |gate| set_text(node, value, gate))
}

fn constant_fits(
    side: &RequestSide,
    rules: &GateRules,
    set: impl FnOnce(&mut Gate<'_, RecordEncoder>) -> Result<(), (&'static str, String)>,
) -> Result<(), String> {
    let (mut encoder, mut state) = (RecordEncoder::new(&side.plan), GateState::default());
    state.begin(side.shape.len());
    encoder.enter(NodeId::ROOT);
    let mut gate = Gate { rules, shape: &side.shape, state: &mut state, place: "assigned", sink: &mut encoder };
    set(&mut gate).map_err(|(_, detail)| detail)?;
    encoder.leave(NodeId::ROOT);
    let is_rounded =
        !state.rounded.is_empty() || encoder.notes().iter().any(|note| note.kind == NoteKind::NearestFloat);
    match encoder.take() {
        Ok(_) if is_rounded && !rules.rounds_floats => Err(INEXACT.to_owned()),
        Ok(_) => Ok(()),
        Err(faults) => Err(faults.0.first().map_or_else(String::new, |fault| fault.kind.to_string())),
    }
}
