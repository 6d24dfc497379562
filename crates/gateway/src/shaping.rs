//! Shaping between decoder and writer: types, omitted members, members that a client did not select, and lists that are too short.

use std::sync::Arc;

use quayline_cobol::layout::{Encoding, FieldKind};
use quayline_cobol::{RecordPlan, Trim};
use quayline_core::{Node, NodeId, NodeKind, Run, Shape, Sink, Value};

use crate::gate::minimum_items;
use crate::service::Options;
use crate::typed::{Shown, Typed};

/// Treatment of each node of a response, compiled once.
#[derive(Debug)]
pub(crate) struct ShapingRules {
    typed: Vec<Option<Arc<Typed>>>,
    options: Options,
    /// Groups that are left out if they show nothing.
    groups_once: Vec<bool>,
    /// Minimum number of elements of each list; empty if it is not enforced.
    minimum: Vec<u32>,
    is_list: Vec<bool>,
    /// Blanks that answers leave out.
    trim: Trim,
    /// Fields that are padded on the left.
    justified: Vec<bool>,
}

impl ShapingRules {
    /// Creates the state. `around` has the nodes that enclose every answer: the root and, if there is one, the wrapper.
    pub(crate) fn new(
        plan: &RecordPlan,
        shape: &Shape,
        typed: Vec<Option<Arc<Typed>>>,
        (options, trim): (Options, Trim),
        around: &[NodeId],
    ) -> Self {
        let omissible = |id, node: &Node| node.kind == NodeKind::Group && !node.is_list() && !around.contains(&id);
        let groups_once = shape.iter().map(|(id, node)| omissible(id, node)).collect();
        let minimum = minimum_items(plan);
        let enforced = options.enforce_minimum_items_of_answers && minimum.iter().any(|min| *min > 0);
        let is_list = shape.iter().map(|(_, node)| node.is_list()).collect();
        let is_justified = |(id, _): (NodeId, &Node)| {
            let kind = plan.field_of(id).map(|field| &plan.layout().field(field).kind);
            matches!(
                kind,
                Some(FieldKind::Item(Encoding::Text { justified: true, .. } | Encoding::National { justified: true }))
            )
        };
        let justified = shape.iter().map(is_justified).collect();
        let minimum = if enforced { minimum } else { Vec::new() };
        ShapingRules { typed, options, groups_once, minimum, is_list, trim, justified }
    }

    /// Types by node.
    pub(crate) fn typed(&self) -> &[Option<Arc<Typed>>] {
        &self.typed
    }

    /// Returns whether the decoder may drive the writer directly.
    pub(crate) fn is_plain(&self) -> bool {
        let Options { omit_empty, omit_low_values, controls_to_spaces, .. } = self.options;
        let changed = omit_empty || omit_low_values || controls_to_spaces || !self.minimum.is_empty();
        !changed && self.typed.iter().all(Option::is_none)
    }
}

/// Buffers of a [`Shaping`], kept from record to record.
#[derive(Debug, Default)]
pub(crate) struct ShapingState {
    /// Groups and lists that are open and have shown nothing yet.
    pending: Vec<Pending>,
    /// Depth inside an omitted node.
    skip: u32,
    /// Omitted elements of the open list of scalars since the last one that was shown; true for null. One that is shown makes them appear, so that each
    /// element keeps its place.
    omitted: Vec<bool>,
    /// Elements of the open lists, if their minimum is enforced.
    counts: Vec<u32>,
    /// The first list that has fewer elements than it must have, and how many those are.
    pub(crate) short: Option<(NodeId, u32)>,
    /// Values that the answer shows otherwise than the record has them: null for a text that is not of the field's type, or spaces for control characters.
    pub(crate) replaced: u64,
    text: Vec<u8>,
    number: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Pending {
    Group(NodeId),
    List(NodeId),
}

/// The sink that shapes.
pub(crate) struct Shaping<'a, S> {
    pub(crate) rules: &'a ShapingRules,
    pub(crate) state: &'a mut ShapingState,
    /// Nodes that the client selected; all if it selected none.
    pub(crate) wanted: Option<&'a [bool]>,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Shaping<'_, S> {
    fn unwanted(&mut self, node: NodeId) -> bool {
        if self.state.skip > 0 || self.wanted.is_some_and(|wanted| !wanted[node.index()]) {
            self.state.skip += 1;
            return true;
        }
        false
    }

    /// Counts an element of the innermost list.
    fn counted(&mut self, node: NodeId) {
        if let (true, Some(count)) = (self.rules.is_list[node.index()], self.state.counts.last_mut()) {
            *count += 1;
        }
    }

    fn flush(&mut self) {
        for pending in self.state.pending.drain(..) {
            match pending {
                Pending::Group(node) => self.sink.enter(node),
                Pending::List(node) => self.sink.open_list(node),
            }
        }
    }

    fn typed_value(&mut self, typed: &Typed, node: NodeId, value: Value<'_>) {
        let text: &[u8] = match &value {
            Value::Text(run) | Value::Ascii(run) => run.bytes(),
            Value::Null => return self.sink.value(node, value),
            number => {
                self.state.number.clear();
                if quayline_core::write_number(&mut self.state.number, *number).is_none() {
                    return self.sink.value(node, value);
                }
                &self.state.number
            }
        };
        let shown = match typed.show(text, &mut self.state.text) {
            Shown::Text => Value::Text(Run::from(self.state.text.as_slice())),
            Shown::Bool(value) => Value::Bool(value),
            Shown::Null => Value::Null,
            Shown::Replaced => {
                self.state.replaced += 1;
                Value::Null
            }
            Shown::Same => Value::Text(Run::from(text)),
        };
        self.sink.value(node, shown);
    }

    fn omit(&mut self, node: NodeId, value: &Value<'_>) {
        if self.rules.is_list[node.index()] {
            let is_null = matches!(value, Value::Null)
                || matches!(self.rules.typed[node.index()].as_deref(), Some(Typed::Boolean { .. } | Typed::Date(_)));
            self.state.omitted.push(is_null);
        }
    }

    #[inline(never)]
    fn shaped(&mut self, node: NodeId, value: Value<'_>) {
        let options = self.rules.options;
        if options.omit_low_values {
            let low = match &value {
                Value::Text(run) => run.len() > 0 && run.bytes().iter().all(|byte| *byte == 0),
                Value::Null => true,
                _ => false,
            };
            if low {
                return self.omit(node, &value);
            }
        }
        if options.omit_empty
            && let Value::Text(run) | Value::Ascii(run) = &value
            && run.len() == 0
        {
            return self.omit(node, &value);
        }
        self.flush();
        for is_null in self.state.omitted.drain(..) {
            self.sink.value(node, if is_null { Value::Null } else { Value::Text(Run::from(&b""[..])) });
        }
        if let Some(typed) = &self.rules.typed[node.index()] {
            let typed = Arc::clone(typed);
            return self.typed_value(&typed, node, value);
        }
        if options.controls_to_spaces
            && let Value::Text(run) = &value
            && run.bytes().iter().any(|byte| *byte < 0x20)
        {
            self.state.replaced += 1;
            self.state.text.clear();
            self.state.text.extend(run.bytes().iter().map(|byte| if *byte < 0x20 { b' ' } else { *byte }));
            let text = trimmed(&self.state.text, self.rules.trim, self.rules.justified[node.index()]);
            return self.sink.value(node, Value::Text(Run::from(text)));
        }
        self.sink.value(node, value);
    }
}

/// Returns a text without the blanks that `trim` removes.
fn trimmed(text: &[u8], trim: Trim, justified: bool) -> &[u8] {
    match trim {
        Trim::Keep => text,
        Trim::Both => text.trim_ascii(),
        Trim::Padding | Trim::Nuls if justified => text.trim_ascii_start(),
        Trim::Padding | Trim::Nuls => text.trim_ascii_end(),
    }
}

impl<S: Sink> Sink for Shaping<'_, S> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.state.pending.clear();
            self.state.omitted.clear();
            self.state.skip = 0;
            self.state.counts.clear();
            self.state.short = None;
            self.state.replaced = 0;
        } else if self.unwanted(node) {
            return;
        }
        self.counted(node);
        if self.rules.options.omit_empty && self.rules.groups_once[node.index()] {
            return self.state.pending.push(Pending::Group(node));
        }
        self.flush();
        self.sink.enter(node);
    }

    fn leave(&mut self, node: NodeId) {
        if self.state.skip > 0 {
            self.state.skip -= 1;
        } else if self.state.pending.pop().is_none() {
            self.sink.leave(node);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        if self.unwanted(node) {
            return;
        }
        if !self.rules.minimum.is_empty() {
            self.state.counts.push(0);
        }
        if self.rules.options.omit_empty {
            return self.state.pending.push(Pending::List(node));
        }
        self.sink.open_list(node);
    }

    fn close_list(&mut self, node: NodeId) {
        if self.state.skip > 0 {
            self.state.skip -= 1;
            return;
        }
        self.state.omitted.clear();
        if let (Some(min), Some(count)) = (self.rules.minimum.get(node.index()), self.state.counts.pop())
            && count < *min
        {
            self.state.short.get_or_insert((node, *min));
        }
        if self.state.pending.pop().is_none() {
            self.sink.close_list(node);
        }
    }

    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if self.state.skip == 0 && self.wanted.is_none_or(|wanted| wanted[node.index()]) {
            self.counted(node);
            self.shaped(node, value);
        }
    }

    fn discard(&mut self) {
        self.sink.discard();
    }
}

/// Returns the members of a response that `fields=` selects: names or paths, separated by commas; `a(b,c)` is `a.b,a.c`. A path may be any
/// tail, unambiguous or not: every member that ends with it is selected, with all of its content and the groups around it. A name that only
/// other responses of the operation have selects nothing; [`fields_fault`] has refused all others before the call.
pub(crate) fn wanted(shape: &Shape, asked: &str) -> Vec<bool> {
    let mut wanted = vec![false; shape.len()];
    for path in paths(asked).unwrap_or_default() {
        for id in named(shape, &path) {
            let end = shape.node(id).subtree_end;
            wanted[id.index()..end.index()].fill(true);
            let mut at = shape.node(id).parent;
            while let Some(parent) = at {
                wanted[parent.index()] = true;
                at = shape.node(parent).parent;
            }
        }
    }
    wanted[0] = true;
    wanted
}

/// Returns the fault of a `fields=`: a name that no response of the operation has, or unbalanced parentheses.
pub(crate) fn fields_fault<'a>(shapes: impl Iterator<Item = &'a Shape> + Clone, asked: &str) -> Option<String> {
    let paths = match paths(asked) {
        Ok(paths) => paths,
        Err(fault) => return Some(fault),
    };
    let is_known = |path: &str| shapes.clone().any(|shape| named(shape, path).next().is_some());
    let unknown = paths.iter().find(|path| !is_known(path))?;
    Some(format!("the response has no member `{}`", shown(unknown)))
}

/// Returns the members whose paths end with `path`.
fn named<'a>(shape: &'a Shape, path: &str) -> impl Iterator<Item = NodeId> + use<'a> {
    let names: Vec<String> = path.split('.').map(str::to_owned).collect();
    shape.iter().skip(1).map(|(id, _)| id).filter(move |id| ends_with(shape, *id, &names))
}

/// Returns a client's text for a message: truncated, without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn ends_with(shape: &Shape, node: NodeId, names: &[String]) -> bool {
    let mut at = Some(node);
    for name in names.iter().rev() {
        match at {
            Some(id) if id != NodeId::ROOT && shape.node(id).name == *name => at = shape.node(id).parent,
            _ => return false,
        }
    }
    true
}

fn paths(asked: &str) -> Result<Vec<String>, String> {
    const PATHS_MAX: usize = 100;
    let mut paths = Vec::new();
    let mut outer: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut after_close = false;
    for c in asked.chars().chain([',']) {
        match c {
            '(' if !name.is_empty() => outer.push(core::mem::take(&mut name)),
            ',' | ')' => {
                if !name.is_empty() {
                    let mut path = outer.join(".");
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&core::mem::take(&mut name));
                    paths.push(path);
                } else if !after_close {
                    return Err("a name is empty".to_owned());
                }
                after_close = c == ')';
                if c == ')' && outer.pop().is_none() {
                    return Err("a parenthesis is closed that was not opened".to_owned());
                }
                continue;
            }
            '(' => return Err("a parenthesis has no name before it".to_owned()),
            ' ' => {}
            c => name.push(c),
        }
        after_close = false;
        if paths.len() > PATHS_MAX {
            return Err(format!("more than {PATHS_MAX} names are requested"));
        }
    }
    if outer.is_empty() { Ok(paths) } else { Err("a parenthesis is not closed".to_owned()) }
}

#[cfg(test)]
mod tests {
    use quayline_core::{Occurs, Scalar};

    use super::*;

    fn shape() -> Shape {
        let mut b = Shape::builder("R");
        b.open("head", Occurs::Once);
        b.scalar("id", Scalar::Text { chars_max: None }, Occurs::Once);
        b.close();
        b.open("cars", Occurs::Many { min: 0, max: Some(3) });
        b.scalar("id", Scalar::Text { chars_max: None }, Occurs::Once);
        b.scalar("cost", Scalar::Text { chars_max: None }, Occurs::Once);
        b.close();
        b.finish()
    }

    #[test]
    fn fields_are_names_paths_and_groups_of_them() {
        let on = |asked: &str| match fields_fault([&shape()].into_iter(), asked) {
            None => Ok::<String, String>(wanted(&shape(), asked).iter().map(|w| if *w { '1' } else { '0' }).collect()),
            Some(fault) => Err(fault),
        };
        // root head id cars id cost
        assert_eq!(on("cost"), Ok("100101".into()));
        assert_eq!(on("id"), Ok("111110".into()));
        assert_eq!(on("cars(id,cost)"), Ok("100111".into()));
        assert_eq!(on("cars.id, head"), Ok("111110".into()));
        for bad in ["", "nope", "cars(id", "id)", "(id)", "a,,b"] {
            assert!(on(bad).is_err(), "{bad}");
        }
    }
}
