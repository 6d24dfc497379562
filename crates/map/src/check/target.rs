//! Target side of the checker: paths, types, completeness.

use std::collections::BTreeMap;

use quayline_core::near::{nearest, offer};
use quayline_core::{NodeId, NodeKind, Occurs, Scalar, Severity, Shape};

use super::types::{Digits, Kind};
use super::{Absent, Lower, Typed};
use crate::codes;
use crate::plan::{BITS, Expr, Fit, TargetPlan};
use crate::syntax::ast::TargetPath;
use crate::syntax::name::{is_nameable, quoted_path};
use crate::syntax::text::Span;
use crate::value::Val;

/// Digits that `fit` takes at most.
const FIT_MAX: u16 = 38;

/// Names that a finding about several fields lists.
const NAMES_SHOWN: usize = 6;

/// One step of the way to a target node.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Step {
    Document { output: u16, ordinal: u32 },
    Group(NodeId),
    List(NodeId),
    Occurrence { node: NodeId, ordinal: u32 },
}

/// A decided condition: its variable equals this arm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Guard {
    pub(crate) var: u16,
    pub(crate) arm: u16,
}

/// Returns true if two statements never both run.
pub(crate) fn exclusive(a: &[Guard], b: &[Guard]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.var == y.var && x.arm != y.arm))
}

/// Base of relative target paths.
#[derive(Clone, Debug)]
pub(crate) struct TargetContext {
    /// Output of the open document; `None` outside of any document in a map with several outputs.
    pub(crate) output: Option<usize>,
    pub(crate) node: NodeId,
    pub(crate) address: Vec<Step>,
}

/// An assignment of a target leaf.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) address: Vec<Step>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) span: Span,
    /// True if the path may have meant another field.
    meant: bool,
}

/// A document or occurrence that the map makes.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) output: usize,
    pub(crate) node: NodeId,
    pub(crate) address: Vec<Step>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) span: Span,
}

/// Resolved target path.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) output: usize,
    pub(crate) node: NodeId,
    /// Groups and documents on the way, without the node itself.
    pub(crate) address: Vec<Step>,
    /// True if the path is misspelt and this is the likely intended node. The rest is checked as if it had been written.
    pub(crate) meant: bool,
}

impl Lower<'_> {
    /// Follows a path from a context; lists on the way are refused, at its end not.
    pub(crate) fn goal(&mut self, path: &TargetPath, context: &TargetContext) -> Option<Goal> {
        let mut names = path.names.as_slice();
        let mut goal = match context.output {
            Some(output) => Goal { output, node: context.node, address: context.address.clone(), meant: false },
            None => self.output_of(path)?,
        };
        let first = &names[0].text;
        let known = self.outputs[goal.output].shape.child(goal.node, first).is_some();
        if context.output.is_none()
            || (!known && goal.node == NodeId::ROOT && names.len() > 1 && self.outputs[goal.output].name == *first)
        {
            names = &names[1..];
        }
        let shape = self.outputs[goal.output].shape;
        for (i, name) in names.iter().enumerate() {
            let child = if let Some(child) = shape.child(goal.node, &name.text) {
                child
            } else {
                let children: Vec<&str> =
                    shape.children(goal.node).map(|child| shape.node(child).name.as_str()).collect();
                let near = nearest(&name.text, children.iter().copied());
                let mut hint = offer(&near);
                if hint.is_none() {
                    let elsewhere: Vec<String> = shape
                        .iter()
                        .skip(1)
                        .filter(|(_, node)| node.name == name.text)
                        .map(|(id, _)| shape.path(id))
                        .take(3)
                        .collect();
                    hint = (!elsewhere.is_empty()).then(|| format!("it is at {}", elsewhere.join(", ")));
                }
                if hint.is_none() && !children.is_empty() {
                    let more = if children.len() > 8 { ", …" } else { "" };
                    hint = Some(format!(
                        "there is: {}{more}",
                        children.iter().take(8).copied().collect::<Vec<_>>().join(", ")
                    ));
                }
                let place =
                    if goal.node == NodeId::ROOT { shape.node(goal.node).name.clone() } else { shape.path(goal.node) };
                self.error(codes::UNKNOWN_TARGET, name.span, format!("the target has no `{}` in {place}", name.text))
                    .hint = hint;
                let [meant] = &near[..] else { return None };
                goal.meant = true;
                shape.child(goal.node, meant)?
            };
            let node = shape.node(child);
            if i + 1 < names.len() {
                if node.is_list() {
                    self.error(
                        codes::TARGET_REPEATS,
                        name.span,
                        format!("`{}` repeats in the target: which occurrence is written?", name.text),
                    )
                    .hint = Some(format!(
                        "make one: make {} {{ … }}, or one for each of a loop: for … make {} {{ … }}",
                        name.text, name.text
                    ));
                    return None;
                }
                if matches!(node.kind, NodeKind::Group) {
                    goal.address.push(Step::Group(child));
                }
            }
            goal.node = child;
        }
        Some(goal)
    }

    /// Returns the output named by the first part of a path, if there are several.
    fn output_of(&mut self, path: &TargetPath) -> Option<Goal> {
        let first = &path.names[0];
        let found = self.outputs.iter().position(|output| output.name == first.text);
        let Some(output) = found else {
            let names: Vec<&str> = self.outputs.iter().map(|output| output.name).collect();
            let hint = offer(&nearest(&first.text, names.iter().copied()));
            let list = names.join(", ");
            self.error(
                codes::UNKNOWN_OUTPUT,
                first.span,
                format!("the map has several targets, and `{}` is not one of them", first.text),
            )
            .hint = Some(hint.unwrap_or_else(|| format!("begin with the target's name: {list}")));
            return None;
        };
        let number = u16::try_from(output).unwrap_or(u16::MAX);
        let step = Step::Document { output: number, ordinal: 0 };
        if path.names.len() > 1 {
            self.made_document(output, step, path.span);
        }
        Some(Goal { output, node: NodeId::ROOT, address: vec![step], meant: false })
    }

    /// Records a document that is created by writing to it.
    pub(crate) fn made_document(&mut self, output: usize, step: Step, span: Span) {
        if !self.made.iter().any(|made| made.address == [step]) {
            self.made.push(Made { output, node: NodeId::ROOT, address: vec![step], guards: Vec::new(), span });
        }
    }

    /// Notes that a leaf is set, and refuses a second time.
    pub(crate) fn write(&mut self, goal: &Goal, address: &[Step], guards: &[Guard], span: Span) {
        let all = self.written[goal.output].entry(goal.node).or_default();
        let first = all
            .iter()
            .find(|written| {
                !written.meant && !goal.meant && written.address == address && !exclusive(&written.guards, guards)
            })
            .map(|written| written.span);
        all.push(Written { address: address.to_vec(), guards: guards.to_vec(), span, meant: goal.meant });
        if let Some(first) = first {
            let line = self.line(first);
            let path = self.outputs[goal.output].shape.path(goal.node);
            self.error(codes::SET_TWICE, span, format!("`{path}` is set in line {line} already")).hint =
                Some("choose in one statement: … = if condition then … else …".to_owned());
        }
    }

    /// Checks a value against a target leaf.
    pub(crate) fn fit(&mut self, goal: &Goal, value: &Typed, guards: &[Guard]) -> Option<TargetPlan> {
        let shape = self.outputs[goal.output].shape;
        let node = shape.node(goal.node);
        let path = shape.path(goal.node);
        let Some(scalar) = node.scalar() else {
            let first = shape.children(goal.node).next().map(|child| shape.node(child).name.clone());
            let name = node.name.clone();
            self.error(codes::TARGET_GROUP, value.span, format!("`{path}` is a group and takes no value")).hint =
                first.map(|first| format!("set its fields: {name}.{first} = …"));
            return None;
        };
        let scalar = scalar.clone();
        if !self.is_never_the_date(goal, value, &path) {
            self.holds(goal, &scalar, value, &path)?;
            self.allowed(goal, value, &path);
        }
        if value.ty.kind == Kind::Absent {
            self.warning(codes::NEVER, value.span, format!("`{path}` never gets a value from this")).hint =
                Some(format!("say so by `omit {path}`"));
        } else if value.ty.maybe
            && node.occurs == Occurs::Once
            && self.outputs[goal.output].absent == Absent::Refused
            && guards.is_empty()
        {
            self.warning(
                codes::MAYBE_ABSENT,
                value.span,
                format!("`{path}` must have a value, and this may be absent"),
            )
            .hint =
                Some("give a default: … ?? \"…\"; or write it only if it is present: if present(…) { … }".to_owned());
        }
        let fit = match scalar {
            Scalar::Text { chars_max } => Fit::Text { max: chars_max.unwrap_or(u32::MAX) },
            Scalar::Decimal { digits, scale, signed } => Fit::Decimal { digits, scale, signed },
            Scalar::Float32 if matches!(value.ty.kind, Kind::Decimal(_)) => Fit::ExactFloat32,
            Scalar::Float64 if matches!(value.ty.kind, Kind::Decimal(_)) => Fit::ExactFloat64,
            Scalar::Float32 => Fit::Float32,
            Scalar::Float64 => Fit::Float64,
            Scalar::Bool => Fit::Bool,
            Scalar::Bytes { len_max } => Fit::Bytes { max: len_max.unwrap_or(u32::MAX) },
        };
        Some(TargetPlan {
            bit: u8::MAX,
            output: u16::try_from(goal.output).unwrap_or(u16::MAX),
            node: goal.node,
            statement: self.statement,
            fit,
            empty: None,
            element: None,
        })
    }

    /// Warns about known texts that constraints beyond the leaf's type do not allow.
    fn allowed(&mut self, goal: &Goal, value: &Typed, path: &str) {
        let rules = self.rules;
        if let Some(text) = self.known_text(value) {
            if let Some(why) = rules.target(goal.output, goal.node, &text) {
                self.warning(codes::NOT_ALLOWED, value.span, format!("`{path}` does not allow this text: {why}"))
                    .hint = Some("correct the text: documents with it are rejected when they are written".to_owned());
            }
        } else if let Some(sample) = self.samples.get(&value.id).cloned() {
            if let Some(why) = rules.target(goal.output, goal.node, &sample) {
                let message = format!("`{path}` does not allow dates and times in this format: {why}");
                let wanted = self.format_of(goal);
                self.warning(codes::NOT_ALLOWED, value.span, message).hint =
                    Some(format!("choose the format of the leaf: format(…, \"{wanted}\")"));
            }
        } else if let (Kind::Text(_), Expr::Slot { .. }) = (value.ty.kind, &self.exprs[value.id as usize])
            && let Some(wanted) = rules.digits(goal.output, goal.node)
        {
            let message = format!("{wanted}, and this text may hold other characters");
            self.warning(codes::NOT_ALLOWED, value.span, message).hint = Some(
                "leave it out, so that numbers count, or write a number in a format: format(…, \"000000000\")"
                    .to_owned(),
            );
        }
    }

    /// Returns the text of a constant.
    pub(crate) fn known_text(&self, value: &Typed) -> Option<String> {
        let Expr::Const(Val::Text(bytes) | Val::Ascii(bytes)) = self.exprs[value.id as usize] else { return None };
        let start = bytes.start as usize;
        let bytes = self.constants.get(start..start + bytes.len as usize)?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// Warns about envelope values that the map sets but neither an output header nor the map itself reads.
    pub(crate) fn check_envelope(&mut self) {
        let Some(known) = self.rules.envelope() else { return };
        for (name, span) in core::mem::take(&mut self.envelope_set) {
            let plain = name.replace('-', "_");
            if known.contains(&plain) || self.envelope_in.contains(&name) {
                continue;
            }
            let hint = offer(&nearest(&plain, known.iter().map(String::as_str)));
            self.error(codes::UNKNOWN_ENVELOPE, span, format!("no header of an output has a field `{name}`")).hint =
                Some(hint.unwrap_or_else(|| format!("there is: {}", known.join(", "))));
        }
    }

    /// Checks whether a leaf's type can represent a value's type without loss.
    fn holds(&mut self, goal: &Goal, scalar: &Scalar, value: &Typed, path: &str) -> Option<()> {
        let span = value.span;
        let constant = match self.exprs[value.id as usize] {
            Expr::Const(val) => Some(val),
            _ => None,
        };
        match (scalar, value.ty.kind) {
            (_, Kind::Bad) => return None,
            (_, Kind::Absent) | (Scalar::Bool, Kind::Bool) | (Scalar::Float32 | Scalar::Float64, Kind::Float) => {}
            (Scalar::Float32 | Scalar::Float64, Kind::Decimal(own)) => {
                // Any number with so many digits is the shortest text of a float (IEEE 754, clause 5.12.2).
                let is_short = *scalar == Scalar::Float32 || self.rules.is_short_float(goal.output, goal.node);
                let kept = if is_short { 6 } else { 15 };
                let found = own.whole.zip(own.scale).map(|(whole, scale)| i32::from(whole) + i32::from(scale));
                if let Some(found) = found.filter(|found| *found > kept && constant.is_none()) {
                    let message =
                        format!("`{path}` is a float, which keeps {kept} digits, and this number has up to {found}");
                    self.warning(codes::DIGITS_LOST, span, message).hint = Some(
                        "round it, or take the nearest float: float(text(…)); as it is, a number that the float changes is a finding of the run"
                            .to_owned(),
                    );
                }
            }
            (Scalar::Text { chars_max }, Kind::Text(chars)) => match (chars_max, chars) {
                (Some(max), Some(chars)) if chars > *max => {
                    if constant.is_some() {
                        self.error(
                            codes::TOO_LONG,
                            span,
                            format!("`{path}` has {max} characters, and this text {chars}"),
                        )
                        .hint = Some("shorten it".to_owned());
                        return None;
                    }
                    self.warning(
                        codes::TRUNCATION,
                        span,
                        format!("`{path}` has {max} characters, and this up to {chars}"),
                    )
                    .hint = Some(format!(
                        "cut it on purpose: left(…, {max}); as it is, a longer text is a finding of the run"
                    ));
                }
                (Some(max), None) => {
                    self.finding(
                        Severity::Note,
                        codes::TRUNCATION,
                        span,
                        format!("`{path}` has {max} characters, and nothing bounds this text"),
                    )
                    .hint = Some(format!(
                        "cut it on purpose: left(…, {max}); as it is, a longer text is a finding of the run"
                    ));
                }
                _ => {}
            },
            (Scalar::Text { chars_max }, Kind::Decimal(digits)) => {
                if let (Some(max), Some(chars)) = (chars_max, digits.chars())
                    && chars > *max
                {
                    self.warning(
                        codes::TRUNCATION,
                        span,
                        format!("`{path}` has {max} characters, and this number up to {chars}"),
                    )
                    .hint = Some("write it in a format: format(…, \"00000\")".to_owned());
                }
            }
            (Scalar::Decimal { digits, scale, signed }, Kind::Decimal(own)) => {
                return self.digits_fit((*digits, *scale, *signed), own, constant, span, path);
            }
            (Scalar::Bytes { len_max }, Kind::Bytes(len)) => {
                if let (Some(max), Some(len)) = (len_max, len)
                    && len > *max
                {
                    self.warning(codes::TRUNCATION, span, format!("`{path}` has {max} bytes, and this up to {len}"))
                        .hint = Some("choose a longer target".to_owned());
                }
            }
            (scalar, kind) => {
                let wanted = self.held_dates(goal).unwrap_or(Kind::from(scalar));
                let dated = self.date_hint(goal, kind);
                let hint = match (scalar, kind) {
                    (Scalar::Decimal { .. } | Scalar::Float32 | Scalar::Float64, Kind::Text(_)) => {
                        "turn it into a number: number(…)"
                    }
                    (Scalar::Decimal { .. }, Kind::Float) => "give the number of decimals: round(…, 2)",
                    (Scalar::Text { .. }, Kind::Date | Kind::DateTime) => &dated,
                    (Scalar::Text { .. }, Kind::Time) => "write it in a format: format(…, \"HHMM\")",
                    (Scalar::Decimal { .. }, Kind::Date | Kind::DateTime) => {
                        "number(format(…, \"CCYYMMDD\")) gives its digits"
                    }
                    (Scalar::Decimal { .. }, Kind::Time) => "number(format(…, \"HHMM\")) gives its digits",
                    (Scalar::Text { .. }, Kind::Bool) => "choose a text: if … then \"Y\" else \"N\"",
                    (Scalar::Bool, Kind::Text(_)) => "compare it: … = \"Y\"",
                    (Scalar::Bool, Kind::Decimal(_)) => "compare it: … != 0",
                    (Scalar::Text { .. }, Kind::Bytes(_)) => "hex(…) gives bytes as text",
                    _ => "choose a value of the target's type",
                };
                self.error(codes::CANNOT_HOLD, span, format!("`{path}` holds {wanted}; this is {kind}")).hint =
                    Some(hint.to_owned());
                return None;
            }
        }
        Some(())
    }

    fn digits_fit(
        &mut self,
        bound: (u16, i16, bool),
        own: Digits,
        constant: Option<Val>,
        span: Span,
        path: &str,
    ) -> Option<()> {
        let (digits, scale, signed) = bound;
        let whole = u16::try_from((i32::from(digits) - i32::from(scale)).max(0)).unwrap_or(0);
        // A negative scale is a number of zeros before the point, which `fit` counts as digits.
        let fitted = if scale < 0 { whole } else { digits };
        let fit = (fitted <= FIT_MAX).then(|| format!("fit(…, {fitted}, {})", scale.max(0)));
        if let Some(found) = own.whole
            && found > whole
        {
            let message = format!(
                "`{path}` has {whole} digits before the point, and this {}{found}",
                if constant.is_some() { "" } else { "up to " }
            );
            if constant.is_some_and(|val| !matches!(val, Val::Num(0, _))) {
                self.error(codes::DIGITS_LOST, span, message).hint = Some("correct the number".to_owned());
                return None;
            }
            if constant.is_none() {
                let hint = fit
                    .as_ref()
                    .map(|fit| format!("declare that it fits: {fit}; a larger number is then a finding of the run"));
                self.warning(codes::DIGITS_LOST, span, message).hint = hint;
            }
        }
        if let (None, Some(found)) = (own.whole, own.sum_of) {
            let hint = fit
                .as_ref()
                .map(|fit| format!("declare that it fits: {fit}; as it is, a larger number is a finding of the run"));
            let (severity, why) = if found > whole {
                (Severity::Warning, format!("each value of this sum up to {found}"))
            } else {
                (Severity::Note, "nothing bounds the number of values in this sum".to_owned())
            };
            let message = format!("`{path}` has {whole} digits before the point, and {why}");
            self.finding(severity, codes::DIGITS_LOST, span, message).hint = hint;
        }
        let wide = scale.max(0);
        // Whether another value is a multiple of a power of ten is known in the run only.
        if let (..0, Some(Val::Num(n, 0)), Some(unit)) =
            (scale, constant, 10_i128.checked_pow(scale.unsigned_abs().into()))
            && n % unit != 0
        {
            let message = format!("`{path}` holds only multiples of {unit}, and this is another number");
            self.error(codes::DECIMALS_LOST, span, message).hint = Some("correct the number".to_owned());
            return None;
        }
        if let Some(found) = own.scale
            && found > wide
        {
            let message = format!(
                "`{path}` has {wide} decimals, and this {}{found}",
                if constant.is_some() { "" } else { "up to " }
            );
            let hint = format!("round it: round(…, {wide}) or round(…, {wide}, half-even)");
            if constant.is_some() {
                self.error(codes::DECIMALS_LOST, span, message).hint = Some(hint);
                return None;
            }
            self.warning(codes::DECIMALS_LOST, span, message).hint = Some(hint);
        }
        if own.signed && !signed {
            let message = format!("`{path}` has no sign, and this may be negative");
            let negative = matches!(constant, Some(Val::Num(n, _)) if n < 0);
            if negative {
                self.error(codes::SIGN_LOST, span, message).hint = Some("correct the number".to_owned());
                return None;
            }
            if constant.is_none() && own.whole.is_some() {
                self.warning(codes::SIGN_LOST, span, message).hint = Some(
                    "say that it never is: unsigned(…), and one that is becomes a finding; abs(…) takes the sign off"
                        .to_owned(),
                );
            }
        }
        Some(())
    }

    /// Reports mandatory nodes that no statement sets, for every document and occurrence that the map makes. In a record they are a warning.
    pub(crate) fn check_complete(&mut self) {
        if self.is_incomplete {
            return;
        }
        for made in core::mem::take(&mut self.made) {
            let is_filled = self.outputs[made.output].absent == Absent::Filled;
            let mut missing = Vec::new();
            self.missing(&made, made.node, &made.address, &mut missing);
            let never: Vec<NodeId> = missing.iter().filter(|(_, some)| some.is_none()).map(|(node, _)| *node).collect();
            if !never.is_empty() {
                self.never_set(&made, &never, is_filled);
            }
            if is_filled {
                continue;
            }
            for (node, some) in missing {
                let Some(span) = some else { continue };
                let path = self.outputs[made.output].shape.path(node);
                self.warning(
                    codes::SOMETIMES_SET,
                    span,
                    format!("`{path}` is mandatory, and set under a condition only"),
                )
                .hint = Some("set it in every branch: if … { … } else { … }".to_owned());
            }
        }
    }

    fn never_set(&mut self, made: &Made, never: &[NodeId], is_filled: bool) {
        let shape = self.outputs[made.output].shape;
        let nodes = &never[..never.len().min(NAMES_SHOWN)];
        let more =
            if never.len() > nodes.len() { format!(" and {} more", never.len() - nodes.len()) } else { String::new() };
        let listed = nodes.iter().map(|node| shape.path(*node)).collect::<Vec<_>>().join(", ");
        // `omit` is relative to the occurrence that the statement makes.
        let relative: Vec<String> = nodes.iter().map(|node| quoted_path(shape, made.node, *node)).collect();
        let omit = format!("omit {}{}", relative.join(", "), if more.is_empty() { "" } else { ", …" });
        let names = |node: &NodeId| {
            let around = core::iter::successors(Some(*node), |at| shape.node(*at).parent);
            around.take_while(|at| *at != made.node).map(|at| &shape.node(at).name)
        };
        let unnameable = never.iter().flat_map(names).find(|name| !is_nameable(name)).cloned();
        let it = if never.len() == 1 { "it" } else { "them" };
        let finding = if is_filled {
            let message = format!("never set, so written as spaces or zeros: {listed}{more}");
            self.warning(codes::NEVER_SET, made.span, message)
        } else {
            self.error(codes::NEVER_SET, made.span, format!("mandatory, but never set: {listed}{more}"))
        };
        let reason = if is_filled { "that is intended".to_owned() } else { format!("something else provides {it}") };
        finding.hint = Some(match unnameable {
            None => format!("set {it}, or write `{omit}` if {reason}"),
            Some(name) => {
                format!("a map cannot quote the name `{name}`: rename the field in the description of the target")
            }
        });
    }

    fn missing(&self, made: &Made, group: NodeId, address: &[Step], out: &mut Vec<(NodeId, Option<Span>)>) {
        let shape = self.outputs[made.output].shape;
        let all = &self.written[made.output];
        for child in shape.children(group) {
            if self.omitted.contains(&(made.output, child)) {
                continue;
            }
            let node = shape.node(child);
            let touched = |from: NodeId, to: NodeId, step: Step| {
                all.range(from..to).any(|(_, written)| {
                    written.iter().any(|w| {
                        w.address.len() > address.len()
                            && w.address.starts_with(address)
                            && w.address[address.len()] == step
                    })
                }) || self.lists_made.iter().any(|(output, list)| {
                    *output == made.output
                        && list.len() > address.len()
                        && list.starts_with(address)
                        && list[address.len()] == step
                })
            };
            match (&node.kind, node.occurs) {
                (_, Occurs::Many { min: 0, .. }) => {}
                (_, Occurs::Many { .. }) => {
                    let needs = |leaf: NodeId| shape.node(leaf).scalar().is_some() && self.needs_value(made, leaf);
                    let mut inner = (child.0..node.subtree_end.0).map(NodeId);
                    if !touched(child, node.subtree_end, Step::List(child)) && inner.any(needs) {
                        out.push((child, None));
                    }
                }
                (NodeKind::Scalar(_), Occurs::Once) => {
                    let here: Vec<&Written> =
                        all.get(&child).into_iter().flatten().filter(|written| written.address == address).collect();
                    if here.is_empty() {
                        if self.needs_value(made, child) {
                            out.push((child, None));
                        }
                        continue;
                    }
                    // A document that is left out needs no value.
                    let drops = self
                        .drops
                        .iter()
                        .filter(|(output, _)| output.is_none_or(|output| usize::from(output) == made.output));
                    let lists: Vec<Vec<Guard>> = here
                        .iter()
                        .map(|written| &written.guards)
                        .chain(drops.map(|(_, guards)| guards))
                        .map(|guards| guards.iter().filter(|guard| !made.guards.contains(guard)).copied().collect())
                        .collect();
                    if !self.covers(&lists) {
                        out.push((child, Some(here[0].span)));
                    }
                }
                (NodeKind::Group, occurs) => {
                    let mut inner = address.to_vec();
                    inner.push(Step::Group(child));
                    if occurs == Occurs::Once || touched(child, node.subtree_end, Step::Group(child)) {
                        let before = out.len();
                        self.missing(made, child, &inner, out);
                        // An optional group that exists only under a condition may lack nodes guarded by the same condition.
                        if occurs == Occurs::Optional {
                            let mut at = 0;
                            out.retain(|(_, some)| {
                                at += 1;
                                at <= before || some.is_none()
                            });
                        }
                    }
                }
                (NodeKind::Scalar(_), Occurs::Optional) => {}
            }
        }
    }

    /// Returns true if a mandatory leaf that no statement sets is worth a finding: a record's field may have an initial value.
    fn needs_value(&self, made: &Made, leaf: NodeId) -> bool {
        let is_set = |leaf: NodeId| self.written[made.output].contains_key(&leaf);
        self.outputs[made.output].absent == Absent::Refused || self.rules.needs_value(made.output, leaf, &is_set)
    }

    /// Returns true if, for every combination of conditions, one of the lists of guards holds.
    fn covers(&self, lists: &[Vec<Guard>]) -> bool {
        if lists.iter().any(Vec::is_empty) {
            return true;
        }
        let Some(var) = lists.first().and_then(|list| list.first()).map(|guard| guard.var) else { return false };
        let arms = self.arms.get(&var).copied().unwrap_or(0);
        arms > 0
            && (0..arms).all(|arm| {
                let rest: Vec<Vec<Guard>> = lists
                    .iter()
                    .filter(|list| list.iter().all(|guard| guard.var != var || guard.arm == arm))
                    .map(|list| list.iter().filter(|guard| guard.var != var).copied().collect())
                    .collect();
                self.covers(&rest)
            })
    }
}

/// Returns two lists. By node: its bit among the mandatory children of its parent (`BITS` beyond the last bit, `u8::MAX` for other nodes). By group:
/// the bits that must be set, and the number of mandatory children beyond them.
pub(crate) fn mandatory(
    shape: &Shape,
    written: &BTreeMap<NodeId, Vec<Written>>,
    lists: &[NodeId],
) -> (Vec<u8>, Vec<(u128, u32)>) {
    let mut bits = vec![u8::MAX; shape.len()];
    let mut required = vec![(0u128, 0u32); shape.len()];
    for (id, node) in shape.iter() {
        if node.kind != NodeKind::Group {
            continue;
        }
        let mut next = 0u8;
        for child in shape.children(id) {
            let inner = shape.node(child);
            let must = match inner.occurs {
                Occurs::Once => true,
                Occurs::Optional => false,
                Occurs::Many { min, .. } => min > 0,
            };
            // A node that no statement sets was reported at compile time, or is omitted.
            let set = written.range(child..inner.subtree_end).next().is_some()
                || lists.iter().any(|list| *list >= child && *list < inner.subtree_end);
            // A mandatory group appears automatically.
            let set = set || inner.kind == NodeKind::Group && inner.occurs == Occurs::Once;
            if !must || !set {
                continue;
            }
            if next < BITS {
                bits[child.index()] = next;
                required[id.index()].0 |= 1 << next;
                next += 1;
            } else {
                bits[child.index()] = BITS;
                required[id.index()].1 += 1;
            }
        }
    }
    (bits, required)
}
