//! Target side of a run: open nodes, type checks, completeness.

use quayline_core::{Digits, NodeId, NumberScratch, Occurs, Scalar, Sink, Value, is_kept_by_float, read_number};

use super::fault::What;
use super::mapper::{Flow, Mapper};
use crate::functions::{decimal, texts};
use crate::host::{Host, Outputs};
use crate::observe::Observer;
use crate::plan::{BITS, EmptyItem, Expr, ExprId, Fit, Op, Opening, StatementId, VarId};
use crate::value::{ARENA_MAX, Bytes, Val};

/// Open nodes of the target, from the document inward.
#[derive(Debug, Default)]
pub(super) struct Target {
    open: Vec<Open>,
    /// Number of open nodes, from the outermost, that were sent to the sink.
    sent: usize,
    /// Empty lists whose parents were not sent yet, outermost first.
    empty: Vec<EmptyList>,
    /// Values of `LIST = [value, …]` that are absent, since the last one that is present.
    gap: Vec<(Option<ExprId>, u32)>,
    /// Their target.
    gap_target: u32,
    /// Occurrences of the list before them.
    gap_from: u32,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    what: Opening,
    output: u16,
    node: NodeId,
    /// Bits of the mandatory children that were written.
    set: u128,
    /// Number of written mandatory children without a bit.
    more: u32,
    /// Occurrences of a list.
    count: u32,
    /// True for a list that appears with its parent even if it is empty.
    is_kept: bool,
}

/// A list without occurrences whose source list is present.
#[derive(Clone, Copy, Debug)]
struct EmptyList {
    /// Number of nodes that are open around it.
    depth: usize,
    output: u16,
    node: NodeId,
}

impl Open {
    /// Records that a mandatory child was written.
    #[inline(always)]
    fn stands(&mut self, bit: u8) {
        if bit < BITS {
            self.set |= 1 << bit;
        } else if bit == BITS {
            self.more += 1;
        }
    }
}

impl Target {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.empty.clear();
        self.gap.clear();
        self.sent = 0;
    }
}

impl<O: Outputs, H: Host, V: Observer> Mapper<'_, O, H, V> {
    pub(super) fn operation(&mut self, op: Op) -> Flow {
        match op {
            Op::Open { what, output, node } => {
                let output = if what == Opening::Document { output } else { self.output() };
                self.target.open.push(Open { what, output, node, set: 0, more: 0, count: 0, is_kept: false });
                // A mandatory group is sent even if nothing in it has a value.
                if what == Opening::Group
                    && self.target.sent + 1 == self.target.open.len()
                    && self.plan.outputs[usize::from(output)].mandatory[node.index()] != u8::MAX
                {
                    self.send();
                }
            }
            Op::Close => self.close(),
            Op::Touch => self.send(),
            Op::Copy { target, cursor, slot } => {
                let base = self.cursors[usize::from(cursor)];
                let at = base.wrapping_add(slot);
                if let Some(val) = self.slots.get(at as usize).copied() {
                    self.emit(target, &val, None, at);
                }
            }
            Op::Emit { target, expr } => {
                let mark = self.arena.mark();
                self.statement = self.plan.targets[target as usize].statement;
                let faults = self.faults_so_far();
                let val = self.eval(expr);
                if val.is_absent() && self.faults_so_far() > faults {
                    // The missing value is already reported.
                    self.count_as_set(self.plan.targets[target as usize].node);
                    self.ran(self.statement);
                } else {
                    self.emit(target, &val, Some(expr), 0);
                }
                self.arena.release(mark);
            }
            Op::Set { var, expr, statement } => {
                self.statement = statement;
                self.ran(statement);
                self.set(var, expr);
            }
            Op::Unless { var, arm, to } => {
                if !matches!(self.vars[usize::from(var)], Val::Num(n, _) if n == i128::from(arm)) {
                    return Flow::To(to);
                }
            }
            Op::Loop(number) => self.kept_loop(number),
            Op::Filter { expr, statement } => {
                self.statement = statement;
                let mark = self.arena.mark();
                let holds = self.truth(expr);
                self.arena.release(mark);
                if !holds {
                    return Flow::Over;
                }
            }
            Op::Take(limit) => {
                if self.has_enough(Some(limit)) {
                    return Flow::Over;
                }
                self.taken[usize::from(limit)] += 1;
            }
            Op::Skip => return Flow::Over,
            Op::Drop { statement } => {
                self.ran(statement);
                self.drop_document();
            }
            Op::Raise { statement } => {
                self.statement = statement;
                self.ran(statement);
                let path = self.place(None);
                self.fault(What::Rule, path, None);
            }
            Op::Envelope { name, expr, statement } => {
                self.statement = statement;
                self.ran(statement);
                let mark = self.arena.mark();
                let val = self.eval(expr);
                if let Some(bytes) = self.text_of(val)
                    && let Ok(text) = core::str::from_utf8(self.arena.get(bytes))
                {
                    self.host.set_envelope(&self.plan.envelope_out[usize::from(name)], text);
                }
                self.arena.release(mark);
            }
            Op::Record { recording: number, output } => {
                // The recorded list has the position of the outer target; its counts start at zero.
                let outer = core::mem::take(&mut self.target);
                self.outer_targets.push(outer);
                self.recordings[usize::from(number)].clear();
                self.recording.push(number);
                self.recording_output.push(output);
            }
            Op::EndRecord => {
                self.close_target(0);
                self.recording.pop();
                self.recording_output.pop();
                if let Some(outer) = self.outer_targets.pop() {
                    self.target = outer;
                }
            }
            Op::Replay { recording, list } => self.replay(recording, list),
        }
        Flow::Next
    }

    fn output(&self) -> u16 {
        let inner = self.target.open.last().map(|open| open.output);
        inner.or(self.recording_output.last().copied()).unwrap_or(0)
    }

    /// Sends an event to the open document's sink, or to the recording.
    #[inline(always)]
    fn event(&mut self, output: u16, event: Event) {
        match self.recording.last() {
            None => event.send(self.outputs.sink(usize::from(output))),
            Some(number) => event.send(&mut self.recordings[usize::from(*number)]),
        }
    }

    /// Sends the open nodes that were not sent yet.
    #[inline(always)]
    pub(super) fn send(&mut self) {
        if self.target.sent < self.target.open.len() {
            self.send_open();
        }
    }

    fn send_open(&mut self) {
        let mut empty = 0;
        while self.target.sent < self.target.open.len() {
            let at = self.target.sent;
            let Open { what, output, node, .. } = self.target.open[at];
            self.target.sent += 1;
            if let (Opening::Group | Opening::List, Some(parent)) = (what, at.checked_sub(1)) {
                let bit = self.plan.outputs[usize::from(output)].mandatory[node.index()];
                self.target.open[parent].stands(bit);
            }
            match what {
                Opening::Document => self.event(output, Event::Enter(NodeId::ROOT)),
                Opening::Group => self.event(output, Event::Enter(node)),
                Opening::List => self.event(output, Event::OpenList(node)),
                Opening::Occurrence => {
                    self.event(output, Event::Enter(node));
                    self.count_occurrence(at, output, node);
                }
            }
            while let Some(list) = self.target.empty.get(empty).copied().filter(|list| list.depth == at + 1) {
                empty += 1;
                self.target.open[at].stands(self.plan.outputs[usize::from(list.output)].mandatory[list.node.index()]);
                self.event(list.output, Event::OpenList(list.node));
                self.event(list.output, Event::CloseList(list.node));
            }
        }
        self.target.empty.clear();
    }

    /// Counts an occurrence of the list that is open around position `at`.
    #[inline(always)]
    fn count_occurrence(&mut self, at: usize, output: u16, node: NodeId) {
        let Some(list) = at.checked_sub(1).map(|at| &mut self.target.open[at]) else { return };
        if list.what != Opening::List {
            return;
        }
        list.count = list.count.saturating_add(1);
        let count = list.count;
        if let Occurs::Many { max: Some(max), .. } = self.plan.outputs[usize::from(output)].shape.node(node).occurs
            && count == max.saturating_add(1)
        {
            let path = self.place(None);
            self.fault(What::TooMany { max }, path, None);
        }
    }

    fn close(&mut self) {
        if !self.target.gap.is_empty() {
            self.fill_end();
        }
        let Some(open) = self.target.open.pop() else { return };
        if self.target.sent <= self.target.open.len() {
            return self.close_unsent(open);
        }
        self.target.sent = self.target.open.len();
        let plan = &self.plan.outputs[usize::from(open.output)];
        let (required, more) = plan.required[open.node.index()];
        if open.what != Opening::List && (required & !open.set != 0 || open.more < more) {
            self.missing(open, required & !open.set);
        }
        match open.what {
            Opening::Group | Opening::Occurrence => self.event(open.output, Event::Leave(open.node)),
            Opening::List => {
                self.event(open.output, Event::CloseList(open.node));
                let min = plan.fewest(open.node);
                if open.count < min {
                    let path = Some(plan.shape.path(open.node));
                    self.fault(What::TooFew { min, found: open.count }, path, None);
                }
            }
            Opening::Document => self.end_document(open.output),
        }
    }

    /// Closes a node that was not sent. An empty list may still appear with its parent; without the parent, what it holds is void.
    fn close_unsent(&mut self, open: Open) {
        let depth = self.target.open.len();
        if open.is_kept {
            self.target.empty.push(EmptyList { depth, output: open.output, node: open.node });
        }
        while self.target.empty.last().is_some_and(|list| list.depth > depth) {
            self.target.empty.pop();
        }
    }

    #[cold]
    fn missing(&mut self, open: Open, bits: u128) {
        if self.dropped {
            return;
        }
        let plan = &self.plan.outputs[usize::from(open.output)];
        let missing: Vec<NodeId> = plan
            .shape
            .children(open.node)
            .filter(|child| {
                let bit = plan.mandatory[child.index()];
                bit == BITS || (bit < BITS && bits & (1 << bit) != 0)
            })
            .collect();
        let names = missing.iter().map(|child| plan.shape.node(*child).name.clone()).collect();
        let mut path = self.place(None).unwrap_or_default();
        if open.what == Opening::Group {
            path = if path.is_empty() {
                plan.shape.node(open.node).name.clone()
            } else {
                format!("{path}.{}", plan.shape.node(open.node).name)
            };
        }
        // Report the first statement that writes one of the nodes, rather than the statement that ran last.
        let within =
            |node: NodeId| missing.iter().any(|child| node >= *child && node < plan.shape.node(*child).subtree_end);
        let writers = self.plan.targets.iter().filter(|target| target.output == open.output && within(target.node));
        // A loop with an empty body writes no leaf.
        let makes = |op: &Op| matches!(op, Op::Open { what: Opening::Occurrence, output, node } if *output == open.output && within(*node));
        let makers = self.plan.loops.iter().filter(|each| self.plan.blocks[each.body as usize].code.iter().any(makes));
        let first = writers.map(|target| target.statement).min();
        self.statement = first.or_else(|| makers.map(|each| each.statement).min()).unwrap_or(u32::MAX);
        let path = (!path.is_empty()).then_some(path);
        self.fault(What::Missing(names), path, None);
    }

    fn end_document(&mut self, output: u16) {
        let sink = self.outputs.sink(usize::from(output));
        sink.leave(NodeId::ROOT);
        if self.dropped || self.refused {
            sink.discard();
            if self.refused {
                self.outcome.refused += 1;
            } else {
                self.outcome.dropped += 1;
            }
        } else {
            self.outcome.written[usize::from(output)] += 1;
        }
        // A fault in one of several documents does not touch the next.
        self.refused = self.refused_outside;
        self.dropped = self.dropped_outside;
    }

    fn in_document(&self) -> bool {
        self.target.open.first().is_some_and(|open| open.what == Opening::Document) || !self.outer_targets.is_empty()
    }

    pub(super) fn refuse(&mut self) {
        self.refused = true;
        if !self.in_document() {
            self.refused_outside = true;
        }
    }

    fn drop_document(&mut self) {
        self.dropped = true;
        if !self.in_document() {
            self.dropped_outside = true;
        }
    }

    /// Closes the documents that were partly sent, and marks them as void.
    pub(super) fn discard_documents(&mut self) {
        self.recording.clear();
        self.recording_output.clear();
        while let Some(outer) = self.outer_targets.pop() {
            self.target = outer;
        }
        self.dropped = true;
        self.refused = false;
        self.close_target(0);
    }

    pub(super) fn close_target(&mut self, depth: usize) {
        while self.target.open.len() > depth {
            self.close();
        }
    }

    fn replay(&mut self, number: u16, list: NodeId) {
        let recording = core::mem::take(&mut self.recordings[usize::from(number)]);
        if !recording.is_empty() {
            self.send();
            let output = self.output();
            let bit = self.plan.outputs[usize::from(output)].mandatory[list.index()];
            if let Some(open) = self.target.open.last_mut() {
                open.stands(bit);
            }
            match self.recording.last().copied() {
                None => {
                    recording.replay(self.outputs.sink(usize::from(output)));
                }
                Some(outer) => recording.replay(&mut self.recordings[usize::from(outer)]),
            }
        }
        self.recordings[usize::from(number)] = recording;
        self.recordings[usize::from(number)].clear();
    }

    /// Returns the path of the node that is being written, with occurrences counted from 0.
    pub(super) fn place(&self, leaf: Option<NodeId>) -> Option<String> {
        let mut path = String::new();
        let mut index = None;
        let all = self.outer_targets.iter().flat_map(|target| &target.open).chain(&self.target.open);
        let mut output = 0;
        for open in all {
            output = usize::from(open.output);
            match open.what {
                Opening::Document => continue,
                Opening::List => index = Some(open.count),
                Opening::Group | Opening::Occurrence => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&self.plan.outputs[output].shape.node(open.node).name);
                    if let Some(count) = index.take() {
                        path.push_str(&format!("[{}]", count.saturating_sub(1)));
                    }
                }
            }
        }
        if let Some(leaf) = leaf {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&self.plan.outputs[output].shape.node(leaf).name);
            if let Some(count) = index {
                path.push_str(&format!("[{count}]"));
            }
        }
        (!path.is_empty()).then_some(path)
    }

    #[cold]
    fn misfit(&mut self, what: What, node: NodeId, slot: u32, expr: Option<ExprId>) {
        let source = match expr {
            Some(expr) => self.source_of(expr),
            None => self.slot_node(slot),
        };
        let path = self.place(Some(node));
        self.fault(what, path, source);
    }

    /// Writes a value to a target leaf, if it fits.
    #[inline]
    fn emit(&mut self, target: u32, val: &Val, expr: Option<ExprId>, slot: u32) {
        let plan = self.plan.targets[target as usize];
        let node = plan.node;
        if V::WATCHES {
            self.observer.ran(StatementId(plan.statement));
        }
        if val.is_absent() {
            if let Some(empty) = plan.empty {
                self.no_value(target, empty, expr, slot);
            }
            return;
        }
        if plan.element.is_some() {
            self.fill_gap(target);
        }
        self.statement = plan.statement;
        // Newly computed values are not copied: a copy would load each part before its store has completed.
        let made;
        let fitted = if fits(plan.fit, val) {
            val
        } else {
            match self.fitted(plan.fit, target, *val) {
                Ok(fitted) => {
                    made = fitted;
                    &made
                }
                Err(what) => {
                    self.count_as_set(node);
                    return self.misfit(what, node, slot, expr);
                }
            }
        };
        self.send();
        let at = self.target.open.len() - 1;
        let open = &mut self.target.open[at];
        let output = open.output;
        if open.what == Opening::List {
            self.count_value(at, node);
        } else {
            open.stands(plan.bit);
        }
        match self.recording.last() {
            None => self.outputs.sink(usize::from(output)).value(node, self.arena.value(fitted)),
            Some(number) => self.recordings[usize::from(*number)].value(node, self.arena.value(fitted)),
        }
        if V::WATCHES {
            self.tell(plan.statement, output, node, slot, expr);
        }
    }

    /// Handles an occurrence without a value. In `LIST = [value, …]` it counts only if a value follows.
    #[cold]
    fn no_value(&mut self, target: u32, empty: EmptyItem, expr: Option<ExprId>, slot: u32) {
        let Some(element) = self.plan.targets[target as usize].element else {
            return self.empty_item(target, empty, expr, slot);
        };
        if element == 0 {
            self.target.gap.clear();
        }
        self.target.gap.push((expr, slot));
        (self.target.gap_target, self.target.gap_from) = (target, self.target.open.last().map_or(0, |list| list.count));
    }

    /// Writes the occurrences without a value at the end of `LIST = [value, …]` that the list needs.
    #[cold]
    fn fill_end(&mut self) {
        let target = self.target.gap_target;
        let plan = self.plan.targets[target as usize];
        let Some(open) = self.target.open.last().copied() else { return };
        // Occurrences of later statements follow those of this one.
        let is_sent = self.target.sent == self.target.open.len() && open.count == self.target.gap_from;
        if let Some(empty) = plan.empty.filter(|_| is_sent && open.what == Opening::List && open.node == plan.node) {
            let missing = self.plan.outputs[usize::from(open.output)].fewest(open.node).saturating_sub(open.count);
            self.target.gap.truncate(missing as usize);
            self.fill(target, empty);
        }
        self.target.gap.clear();
    }

    /// Writes the occurrences without a value that come before this one in `LIST = [value, …]`.
    #[inline(never)]
    fn fill_gap(&mut self, target: u32) {
        let plan = self.plan.targets[target as usize];
        if let Some(empty) = plan.empty.filter(|_| plan.element != Some(0)) {
            self.fill(target, empty);
        }
        self.target.gap.clear();
    }

    fn fill(&mut self, target: u32, empty: EmptyItem) {
        for at in 0..self.target.gap.len() {
            let (expr, slot) = self.target.gap[at];
            self.empty_item(target, empty, expr, slot);
        }
    }

    /// Writes an occurrence without a value, so that the occurrences after it keep their places.
    #[cold]
    fn empty_item(&mut self, target: u32, empty: EmptyItem, expr: Option<ExprId>, slot: u32) {
        let plan = self.plan.targets[target as usize];
        self.statement = plan.statement;
        let val = match (empty, plan.fit) {
            (EmptyItem::Null, _) => Some(Val::Absent),
            (EmptyItem::Initial, Fit::Text { .. }) => Some(Val::Ascii(Bytes::default())),
            (EmptyItem::Initial, Fit::Decimal { .. }) => Some(Val::Num(0, 0)),
            (EmptyItem::Initial, Fit::Float32 | Fit::ExactFloat32) => Some(Val::Float32(0.0)),
            (EmptyItem::Initial, Fit::Float64 | Fit::ExactFloat64) => Some(Val::Float64(0.0)),
            _ => None,
        };
        if val.is_none() {
            let occurrence = self.target.open.last().map_or(0, |list| list.count).saturating_add(1);
            self.misfit(What::EmptyItem { occurrence }, plan.node, slot, expr);
        }
        self.send();
        let Some(at) = self.target.open.len().checked_sub(1) else { return };
        let output = usize::from(self.target.open[at].output);
        self.count_value(at, plan.node);
        if let Some(val) = val {
            match self.recording.last() {
                None => self.outputs.sink(output).value(plan.node, self.arena.value(&val)),
                Some(number) => self.recordings[usize::from(*number)].value(plan.node, self.arena.value(&val)),
            }
        }
    }

    #[cold]
    fn count_as_set(&mut self, node: NodeId) {
        if let Some(open) = self.target.open.last_mut()
            && open.what != Opening::List
        {
            open.stands(self.plan.outputs[usize::from(open.output)].mandatory[node.index()]);
        }
    }

    /// Sends an open target list, even an empty one, if its source list is present, unless it would be the only content of its parent or must not
    /// be empty. If its parent has no content yet, the list appears when the parent does.
    pub(super) fn send_list(&mut self) {
        let (sent, depth) = (self.target.sent, self.target.open.len());
        let Some(open) = self.target.open.last_mut() else { return };
        if open.what == Opening::List && sent < depth {
            let plan = &self.plan.outputs[usize::from(open.output)];
            let may_be_empty = matches!(plan.shape.node(open.node).occurs, Occurs::Many { min: 0, .. })
                && plan.list_min[open.node.index()] == 0;
            if may_be_empty && sent + 1 == depth {
                self.send();
            } else {
                open.is_kept = may_be_empty;
            }
        }
    }

    fn count_value(&mut self, at: usize, node: NodeId) {
        let open = &mut self.target.open[at];
        open.count = open.count.saturating_add(1);
        let (count, output) = (open.count, open.output);
        if let Occurs::Many { max: Some(max), .. } = self.plan.outputs[usize::from(output)].shape.node(node).occurs
            && count == max.saturating_add(1)
        {
            let path = Some(self.plan.outputs[usize::from(output)].shape.path(node));
            self.fault(What::TooMany { max }, path, None);
        }
    }

    fn tell(&mut self, statement: u32, output: u16, node: NodeId, slot: u32, expr: Option<ExprId>) {
        let mut sources = Vec::new();
        match expr {
            None => {
                if let Some(leaf) = self.slot_node(slot) {
                    sources.push((leaf, self.origins.get(slot as usize).copied().unwrap_or(0)));
                }
            }
            Some(expr) => self.sources_of(expr, &mut sources),
        }
        self.observer.wrote(StatementId(statement), usize::from(output), node, &sources);
    }

    /// Converts a value for a leaf of this type, if the quick check did not already accept it.
    #[inline(never)]
    fn fitted(&mut self, fit: Fit, target: u32, val: Val) -> Result<Val, What> {
        match (fit, val) {
            (Fit::Text { max }, Val::Ascii(bytes)) => {
                if bytes.len <= max {
                    Ok(val)
                } else {
                    Err(What::TooLong { max, found: bytes.len as usize })
                }
            }
            (Fit::Text { max }, Val::Text(bytes)) => {
                if bytes.len <= max {
                    return Ok(val);
                }
                let found = texts::char_count(self.arena.get(bytes));
                if found <= max as usize { Ok(val) } else { Err(What::TooLong { max, found }) }
            }
            (Fit::Decimal { digits, scale, signed }, _) => self.fitted_number(digits, scale, signed, val),
            (Fit::Bool, Val::Bool(_)) => Ok(val),
            (Fit::Bytes { max }, Val::Bytes(bytes)) => {
                if bytes.len <= max {
                    Ok(val)
                } else {
                    Err(What::TooManyBytes { max, found: bytes.len as usize })
                }
            }
            (_, Val::Raw(_)) => Err(What::Raw),
            (Fit::Text { max }, Val::Digits { .. } | Val::Num(..)) => {
                let bytes = self.arena.number_text(val).ok_or(What::Overflow)?;
                if bytes.len <= max {
                    Ok(Val::Ascii(bytes))
                } else {
                    Err(What::TooLong { max, found: bytes.len as usize })
                }
            }
            (Fit::Float64, _) => {
                let x = self.float(val)?;
                if x.is_finite() { Ok(Val::Float64(x)) } else { Err(What::Float) }
            }
            (Fit::ExactFloat64, _) => {
                let x = self.float(val)?;
                self.gives_back(val, x.is_finite(), || format!("{x:e}")).map(|()| Val::Float64(x))
            }
            (Fit::ExactFloat32, _) => {
                let (n, scale) = self.exact(val)?;
                let x: f32 = format!("{n}e{}", -i32::from(scale)).parse().map_err(|_| What::NotANumber)?;
                self.gives_back(val, x.is_finite(), || format!("{x:e}")).map(|()| Val::Float32(x))
            }
            (Fit::Float32, Val::Float32(x)) => {
                if x.is_finite() {
                    Ok(val)
                } else {
                    Err(What::Float)
                }
            }
            (Fit::Float32, _) => {
                let x = self.float(val)?;
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the nearest 32-bit float is what is wanted, checked to be finite"
                )]
                let narrow = x as f32;
                if !narrow.is_finite() || narrow == 0.0 && x != 0.0 {
                    return Err(What::Float);
                }
                if !is_kept_by_float(Value::Float64(x), Value::Float32(narrow)) && !self.rounded.contains(&target) {
                    self.rounded.push(target);
                }
                Ok(Val::Float32(narrow))
            }
            (Fit::Text { .. }, _) => Err(What::Kind { wanted: "text" }),
            (Fit::Bool, _) => Err(What::Kind { wanted: "a truth value" }),
            (Fit::Bytes { .. }, _) => Err(What::Kind { wanted: "bytes" }),
        }
    }

    /// Checks that the shortest text of a float is the exact number that it was made from.
    fn gives_back(&self, val: Val, is_finite: bool, text: impl Fn() -> String) -> Result<(), What> {
        if !is_finite {
            return Err(What::Float);
        }
        let number = self.exact(val)?;
        let text = text();
        let back = text.split_once('e').and_then(|(digits, exponent)| {
            let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let scale = i32::try_from(decimals).ok()? - exponent.parse::<i32>().ok()?;
            Some((digits.replace('.', "").parse::<i128>().ok()?, i16::try_from(scale).ok()?))
        });
        if back.is_some_and(|back| decimal::compare(back, number).is_eq()) { Ok(()) } else { Err(What::FloatDigits) }
    }

    fn fitted_number(&mut self, digits: u16, scale: i16, signed: bool, val: Val) -> Result<Val, What> {
        if let Val::Float32(_) | Val::Float64(_) = val {
            return Err(What::Kind { wanted: "an exact number" });
        }
        let number = self.exact(val)?;
        if number.0 < 0 && !signed {
            return Err(What::Sign);
        }
        let whole = i32::from(digits) - i32::from(scale);
        let found = decimal::whole_digits(number);
        if i64::from(found) > i64::from(whole.max(0)) {
            return Err(What::Digits { whole: whole.max(0), found });
        }
        if number.1 <= scale {
            // A negative zero loses its sign if the type has none.
            let zero = number.0 == 0 && !signed;
            return Ok(if zero || matches!(val, Val::Text(_) | Val::Ascii(_)) {
                Val::Num(number.0, number.1)
            } else {
                val
            });
        }
        match decimal::round(number, scale, decimal::Mode::Down) {
            Some(cut) if decimal::compare(cut, number).is_eq() => Ok(Val::Num(cut.0, cut.1)),
            _ => Err(What::Decimals { scale, found: decimal::trimmed(number).1 }),
        }
    }

    /// Converts a value to an exact number.
    pub(super) fn exact(&self, val: Val) -> Result<(i128, i16), What> {
        match val {
            Val::Num(n, scale) => Ok((n, scale)),
            Val::Digits { bytes, negative, scale } => {
                let digits = Digits { digits: self.arena.run(bytes), negative, scale };
                digits.unscaled().map(|n| (n, scale)).ok_or(What::Overflow)
            }
            Val::Text(bytes) | Val::Ascii(bytes) => {
                let mut scratch: NumberScratch = [0; 80];
                let scalar = Scalar::Decimal { digits: 38, scale: 0, signed: true };
                match read_number(&scalar, self.arena.get(bytes), &mut scratch) {
                    Some(Value::Digits(digits)) => digits.unscaled().map(|n| (n, digits.scale)).ok_or(What::Overflow),
                    _ => Err(What::NotANumber),
                }
            }
            Val::Raw(_) => Err(What::Raw),
            _ => Err(What::Kind { wanted: "a number" }),
        }
    }

    /// Sets a variable. Appending to it costs time for the appended bytes only.
    fn set(&mut self, var: VarId, expr: ExprId) {
        let mark = self.arena.mark();
        if let Expr::Concat { first, count } = self.plan.exprs[expr as usize]
            && self.appends(var, first)
        {
            self.append(var, first + 1, count - 1);
            self.arena.release(mark);
            return;
        }
        let val = self.eval(expr);
        let plan = &self.plan.vars[usize::from(var)];
        if !val.is_absent()
            && let Some((whole, scale)) = plan.digits
            && let Err(what) = self.fitted_number(whole + u16::try_from(scale.max(0)).unwrap_or(0), scale, true, val)
        {
            let what = match what {
                What::Digits { .. } | What::Decimals { .. } => What::Variable(var),
                other => other,
            };
            self.fault(what, None, None);
        }
        let at = usize::from(var);
        self.vars[at] = val;
        match val {
            Val::Text(bytes) | Val::Ascii(bytes) | Val::Bytes(bytes) | Val::Raw(bytes) | Val::Digits { bytes, .. } => {
                let (arena, kept) = (&self.arena, &mut self.var_bytes[at]);
                self.var_bytes_sum = self.var_bytes_sum.saturating_sub(kept.len());
                kept.clear();
                kept.extend_from_slice(arena.get(bytes));
                self.var_chars[at] = texts::char_count(kept);
                self.grown(var, bytes.len as usize);
            }
            _ => {}
        }
        self.arena.release(mark);
    }

    /// Returns true if a concatenation from the part `first` on begins with the variable, which is text or absent.
    fn appends(&self, var: VarId, first: u32) -> bool {
        matches!(self.plan.exprs[self.plan.lists[first as usize] as usize], Expr::Var(own) if own == var)
            && matches!(self.vars[usize::from(var)], Val::Text(_) | Val::Ascii(_) | Val::Absent)
    }

    fn append(&mut self, var: VarId, first: u32, count: u32) {
        let at = usize::from(var);
        // The parts are one text before the variable changes, as they may hold it.
        let val = self.concat(first, count);
        let Some(bytes) = self.text_of(val) else { return };
        let len = self.var_bytes[at].len();
        let (is_absent, is_text) = (self.vars[at].is_absent(), matches!(self.vars[at], Val::Text(_)));
        if is_absent {
            self.var_bytes_sum = self.var_bytes_sum.saturating_sub(len);
            self.var_bytes[at].clear();
            self.var_chars[at] = 0;
        } else if len + bytes.len as usize > self.text_max {
            self.vars[at] = Val::Absent;
            return self.fault(What::Text { max: self.text_max }, None, None);
        }
        let added = self.arena.get(bytes);
        self.var_chars[at] += texts::char_count(added);
        self.var_bytes[at].extend_from_slice(added);
        let is_text = is_text || matches!(val, Val::Text(_));
        self.vars[at] = if is_text { Val::Text(Bytes::default()) } else { Val::Ascii(Bytes::default()) };
        self.grown(var, bytes.len as usize);
    }

    /// Records that a variable has grown by this many bytes, and checks its limits.
    fn grown(&mut self, var: VarId, by: usize) {
        let at = usize::from(var);
        self.var_bytes_sum += by;
        if self.var_bytes_sum > ARENA_MAX {
            self.vars[at] = Val::Absent;
            self.var_bytes_sum -= self.var_bytes[at].len();
            self.var_bytes[at] = Vec::new();
            return self.fault(What::Size, None, None);
        }
        if self.plan.vars[at].chars.is_some_and(|max| self.var_chars[at] > max as usize) {
            self.fault(What::Variable(var), None, None);
        }
    }
}

/// Returns true if a quick check shows that a leaf of this type accepts the value unchanged.
#[inline(always)]
fn fits(fit: Fit, val: &Val) -> bool {
    match (fit, val) {
        (Fit::Text { max }, Val::Ascii(bytes) | Val::Text(bytes)) => bytes.len <= max,
        (Fit::Decimal { digits, scale, signed }, Val::Digits { bytes, negative, scale: own }) => {
            quickly_fits(*bytes, *own, digits, scale) && (signed || !negative)
        }
        (Fit::Bool, Val::Bool(_)) => true,
        _ => false,
    }
}

/// Returns true if digits fit without a check of their leading zeros, as most numbers do.
#[inline(always)]
pub(super) fn quickly_fits(bytes: Bytes, own: i16, digits: u16, scale: i16) -> bool {
    let len = i32::try_from(bytes.len).unwrap_or(i32::MAX);
    own <= scale && len - i32::from(own) <= i32::from(digits) - i32::from(scale)
}

/// An event without a value.
#[derive(Clone, Copy)]
enum Event {
    Enter(NodeId),
    Leave(NodeId),
    OpenList(NodeId),
    CloseList(NodeId),
}

impl Event {
    #[inline(always)]
    fn send<S: Sink>(self, sink: &mut S) {
        match self {
            Event::Enter(node) => sink.enter(node),
            Event::Leave(node) => sink.leave(node),
            Event::OpenList(node) => sink.open_list(node),
            Event::CloseList(node) => sink.close_list(node),
        }
    }
}
