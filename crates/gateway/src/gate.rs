//! The gate between a request's sources (body, parameters, assignments) and the record encoder: which source may set which field,
//! types, required fields.

use std::sync::Arc;

use quayline_cobol::RecordPlan;
use quayline_core::{Digits, NodeId, Run, Scalar, Shape, Sink, Value};

use crate::problem::FieldError;
use crate::service::Options;
use crate::typed::Typed;

/// Rules for the content of a body, compiled once for an operation.
#[derive(Debug)]
pub(crate) struct GateRules {
    /// Nodes that the body may not set: a parameter or an assignment does, or they are omitted.
    pub(crate) closed: Vec<bool>,
    pub(crate) typed: Vec<Option<Arc<Typed>>>,
    /// Nodes that are required.
    pub(crate) required: Vec<NodeId>,
    /// Minimum number of elements of each list, if it is enforced.
    pub(crate) minimum: Vec<u32>,
    /// True if numbers may be strings and may have leading zeros, and `null` or an empty string means an absent number.
    pub(crate) numbers: Numbers,
    /// True if Quayline refuses text with control characters.
    pub(crate) refuses_controls: bool,
    /// True if a number that a float field does not keep becomes the nearest float. Otherwise Quayline refuses it.
    pub(crate) rounds_floats: bool,
}

/// Forms of numbers in requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Numbers {
    /// JSON numbers only.
    Json,
    /// Lenient forms that clients of other gateways send.
    Lenient,
}

impl GateRules {
    pub(crate) fn new(plan: &RecordPlan, typed: Vec<Option<Arc<Typed>>>, options: Options) -> Self {
        let minimums = options.enforce_minimum_items;
        let nodes = plan.shape().len();
        GateRules {
            closed: vec![false; nodes],
            typed,
            required: Vec::new(),
            minimum: if minimums { minimum_items(plan) } else { vec![0; nodes] },
            refuses_controls: options.refuse_controls,
            rounds_floats: options.round_floats,
            numbers: if options.lenient_requests { Numbers::Lenient } else { Numbers::Json },
        }
    }
}

/// Returns the OCCURS minimum of each node's list. The shape has 0 for a list with a counter, because COBOL programs may write 0 even
/// if the minimum is higher.
pub(crate) fn minimum_items(plan: &RecordPlan) -> Vec<u32> {
    let occurs = |node| plan.layout().field(plan.field_of(node)?).occurs;
    let is_list = |(_, node): &(NodeId, &quayline_core::Node)| node.is_list();
    plan.shape()
        .iter()
        .map(|each| if is_list(&each) { occurs(each.0).map_or(0, |occurs| occurs.min) } else { 0 })
        .collect()
}

/// Observations while a request is read.
#[derive(Debug, Default)]
pub(crate) struct GateState {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) seen: Vec<bool>,
    /// Members whose value is null or another form of an absent value, with all members below them.
    pub(crate) removed: Vec<bool>,
    /// Float fields whose numbers a parameter rounded when it was read. Body and encoder keep their own lists.
    pub(crate) rounded: Vec<NodeId>,
    counts: Vec<u32>,
    text: Vec<u8>,
    number: Vec<u8>,
}

impl GateState {
    pub(crate) fn begin(&mut self, nodes: usize) {
        self.errors.clear();
        self.rounded.clear();
        self.counts.clear();
        self.seen.clear();
        self.seen.resize(nodes, false);
        self.removed.clear();
        self.removed.resize(nodes, false);
    }
}

/// The sink before the encoder. `leave(ROOT)` is held back, because parameters follow the body.
pub(crate) struct Gate<'a, S> {
    pub(crate) rules: &'a GateRules,
    pub(crate) shape: &'a Shape,
    pub(crate) state: &'a mut GateState,
    /// Source of the values: `body`, `query`, …
    pub(crate) place: &'static str,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Gate<'_, S> {
    fn error(&mut self, node: NodeId, rule: &str, detail: String) {
        const ERRORS_MAX: usize = 50;
        if self.state.errors.len() < ERRORS_MAX {
            let field = format!("$.{}", self.shape.path(node));
            self.state.errors.push(FieldError { place: self.place, field, rule: rule.to_owned(), detail });
        }
    }

    /// Sets a value of a parameter or an assignment, inside its groups. Returns whether its field accepts it.
    pub(crate) fn set(&mut self, node: NodeId, value: Value<'_>) -> bool {
        self.enter_around(node);
        let done = self.put(node, value);
        let mut at = node;
        while let Some(parent) = self.around(at) {
            self.sink.leave(parent);
            at = parent;
        }
        done
    }

    fn around(&self, node: NodeId) -> Option<NodeId> {
        self.shape.node(node).parent.filter(|parent| *parent != NodeId::ROOT)
    }

    /// Enters the groups around a node, outermost first.
    fn enter_around(&mut self, node: NodeId) {
        if let Some(parent) = self.around(node) {
            self.enter_around(parent);
            self.sink.enter(parent);
        }
    }

    /// Reads a value in another form than JSON's. Returns `None` if it means absent.
    fn lenient<'v>(&self, node: NodeId, value: Value<'v>, digits: &'v mut [u8; 40]) -> Result<Option<Value<'v>>, ()> {
        let is_number =
            matches!(self.shape.node(node).scalar(), Some(Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64));
        match &value {
            Value::Null => Ok(None),
            // Bytes of the record are not for clients to set.
            Value::Raw(_) => Err(()),
            Value::Text(run) | Value::Ascii(run) if is_number => {
                let text = core::str::from_utf8(run.bytes()).map_err(|_| ())?.trim_matches(' ');
                if text.is_empty() {
                    return Ok(None);
                }
                let (len, negative, scale) = plain_number(text, Numbers::Lenient, digits).ok_or(())?;
                Ok(Some(Value::Digits(Digits { digits: Run::new(&digits[..], len), negative, scale })))
            }
            _ => Ok(Some(value)),
        }
    }

    fn put(&mut self, node: NodeId, value: Value<'_>) -> bool {
        let mut digits = [0; 40];
        let value = match self.rules.numbers {
            Numbers::Json => value,
            Numbers::Lenient => match self.lenient(node, value, &mut digits) {
                Ok(Some(value)) => value,
                Ok(None) if !self.shape.node(node).is_list() => {
                    self.state.removed[node.index()] = true;
                    return true;
                }
                // An element that is left out would move those after it.
                Ok(None) => match self.shape.node(node).scalar() {
                    Some(Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64) => Value::Int(0, 0),
                    Some(Scalar::Text { .. }) => Value::Text(Run::from(&b""[..])),
                    _ => return false,
                },
                Err(()) => return false,
            },
        };
        self.state.seen[node.index()] = true;
        let Some(typed) = &self.rules.typed[node.index()] else {
            self.sink.value(node, value);
            return true;
        };
        // The encoder refuses a value of another type for a number.
        let number = !matches!(
            value,
            Value::Text(_) | Value::Ascii(_) | Value::Bool(_) | Value::Null | Value::Bytes(_) | Value::Raw(_)
        );
        if let (Typed::Range(range), true) = (&**typed, number) {
            self.state.number.clear();
            let _: Option<()> = quayline_core::write_number(&mut self.state.number, value);
            let holds = core::str::from_utf8(&self.state.number).is_ok_and(|text| range.holds(text));
            if holds {
                self.sink.value(node, value);
            }
            return holds;
        }
        let text: &[u8] = match &value {
            Value::Text(run) | Value::Ascii(run) => run.bytes(),
            Value::Bool(true) => b"true",
            Value::Bool(false) => b"false",
            number => {
                self.state.number.clear();
                let _: Option<()> = quayline_core::write_number(&mut self.state.number, *number);
                &self.state.number
            }
        };
        if typed.read(text, &mut self.state.text).is_some() {
            self.sink.value(node, Value::Text(Run::from(self.state.text.as_slice())));
            return true;
        }
        false
    }
}

impl<S: Sink> Sink for Gate<'_, S> {
    fn enter(&mut self, node: NodeId) {
        self.state.seen[node.index()] = true;
        if let (true, Some(count)) = (self.shape.node(node).is_list(), self.state.counts.last_mut()) {
            *count += 1;
        }
        self.sink.enter(node);
    }

    fn leave(&mut self, node: NodeId) {
        if node != NodeId::ROOT {
            self.sink.leave(node);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        self.state.seen[node.index()] = true;
        if self.rules.closed[node.index()] {
            self.error(node, "closed", "this member is not part of the request".to_owned());
        }
        self.state.counts.push(0);
        self.sink.open_list(node);
    }

    fn close_list(&mut self, node: NodeId) {
        let count = self.state.counts.pop().unwrap_or(0);
        let min = self.rules.minimum[node.index()];
        if count < min {
            self.error(node, "minItems", format!("the list has {count} elements, expected at least {min}"));
        }
        self.sink.close_list(node);
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let (true, Some(count)) = (self.shape.node(node).is_list(), self.state.counts.last_mut()) {
            *count += 1;
        }
        if self.rules.closed[node.index()] {
            self.error(node, "closed", "this member is not part of the request".to_owned());
        } else if self.rules.refuses_controls && has_controls(&value) {
            self.error(node, CONTROLS.0, CONTROLS.1.to_owned());
        } else if !self.put(node, value) {
            let typed = self.rules.typed[node.index()].clone();
            let untyped = || ("type", "a number".to_owned());
            let (rule, expected) = typed.map_or_else(untyped, |typed| (typed.rule(), typed.expected()));
            self.error(node, rule, format!("expected {expected}"));
        }
    }

    fn null_branch(&mut self, node: NodeId) {
        let below = node.index()..self.shape.node(node).subtree_end.index();
        self.state.removed[below].fill(true);
    }

    fn discard(&mut self) {
        self.sink.discard();
    }
}

/// Name of the rule for text without control characters, and its expectation.
pub(crate) const CONTROLS: (&str, &str) = ("control-character", "expected text without control characters");

/// The text about a number that a float field does not keep. The rule is the code of [`quayline_cobol::NoteKind::NearestFloat`].
pub(crate) const INEXACT: &str = "the field is a float that does not keep all digits of the number";

fn has_controls(value: &Value<'_>) -> bool {
    match value {
        Value::Text(run) => core::str::from_utf8(run.bytes()).is_ok_and(|text| text.contains(char::is_control)),
        _ => false,
    }
}

/// Returns digits, sign and scale of a number in JSON's grammar without exponent, at most 38 digits, after leading zeros if they
/// are allowed.
pub(crate) fn plain_number(text: &str, numbers: Numbers, digits: &mut [u8; 40]) -> Option<(usize, bool, i16)> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let point = rest.bytes().position(|byte| byte == b'.');
    let (mut whole, part) = point.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
    if numbers == Numbers::Lenient && whole.len() > 1 {
        let zeros = whole.bytes().take_while(|byte| *byte == b'0').count();
        whole = &whole[zeros.min(whole.len() - 1)..];
    }
    let part_text = part.unwrap_or("");
    if whole.is_empty()
        || part == Some("")
        || whole.len() > 1 && whole.starts_with('0')
        || whole.len() + part_text.len() > 38
    {
        return None;
    }
    let mut len = 0;
    for byte in whole.bytes().chain(part_text.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        digits[len] = byte;
        len += 1;
    }
    Some((len, negative, i16::try_from(part_text.len()).ok()?))
}
