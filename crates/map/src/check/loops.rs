//! Statements that open a scope: `make`, `for`.

use quayline_core::{NodeId, NodeKind, Occurs};

use super::fold::order_of;
use super::source::{At, Context, Through};
use super::statement::{LoopUnit, Unit, UnitKind};
use super::target::{Guard, Made, Step, TargetContext};
use super::types::Ty;
use super::{Lower, Reads, Typed};
use crate::codes;
use crate::plan::{Expr, SortPlan};
use crate::syntax::ast::{For, ForBody, Stmt, TargetPath};
use crate::syntax::text::Span;

/// Maximum number of occurrences in a target list from which the checker does not warn about an unbounded source list. Guides use such numbers for
/// "any".
const PRACTICALLY_ANY: u32 = 10_000;

impl Lower<'_> {
    /// Opens the context of a target group, of one occurrence of a list, or of a document.
    fn open_target(
        &mut self,
        target: &TargetPath,
        context: &TargetContext,
        guards: &[Guard],
    ) -> Option<(TargetContext, bool)> {
        let document = match target.names.as_slice() {
            [name] => {
                self.outputs.iter().position(|output| output.name == name.text).filter(|_| context.output.is_none())
            }
            _ => None,
        };
        if let Some(output) = document {
            let step = Step::Document { output: u16::try_from(output).unwrap_or(u16::MAX), ordinal: self.ordinal() };
            self.made.push(Made {
                output,
                node: NodeId::ROOT,
                address: vec![step],
                guards: guards.to_vec(),
                span: target.span,
            });
            return Some((TargetContext { output: Some(output), node: NodeId::ROOT, address: vec![step] }, true));
        }
        if self.no_document(target, context) {
            return None;
        }
        let goal = self.goal(target, context)?;
        let node = self.outputs[goal.output].shape.node(goal.node);
        if !matches!(node.kind, NodeKind::Group) {
            let name = node.name.clone();
            self.error(codes::TARGET_LEAF, target.span, format!("`{name}` has a value and no fields")).hint =
                Some(if node.is_list() {
                    format!("give it a list, {name} = [ … ], or for … make {name} = …")
                } else {
                    format!("set it: {name} = …")
                });
            return None;
        }
        if !node.is_list() {
            let mut address = goal.address;
            address.push(Step::Group(goal.node));
            return Some((TargetContext { output: Some(goal.output), node: goal.node, address }, false));
        }
        let goal = self.list_goal(goal);
        let mut address = goal.address;
        address.push(Step::Occurrence { node: goal.node, ordinal: self.ordinal() });
        self.made.push(Made {
            output: goal.output,
            node: goal.node,
            address: address.clone(),
            guards: guards.to_vec(),
            span: target.span,
        });
        Some((TargetContext { output: Some(goal.output), node: goal.node, address }, true))
    }

    pub(crate) fn make(
        &mut self,
        id: u32,
        target: &TargetPath,
        body: &[Stmt],
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let Some((context, occurrence)) = self.open_target(target, context, guards) else { return };
        if occurrence {
            units.push(self.touch(id, &context.address, guards));
        }
        self.statements_into(body, &context, guards, units);
    }

    pub(crate) fn for_loop(
        &mut self,
        id: u32,
        statement: &For,
        span: Span,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let Some(at) = self.follow(&statement.path, Through::Lists) else {
            // Do not also report the loop's target as missing.
            if let Some(goal) = statement.make.as_ref().and_then(|target| self.goal(target, context)) {
                self.omitted.insert((goal.output, goal.node));
            }
            return;
        };
        if let Some(binding) = &statement.binding {
            self.new_name(binding);
        }
        if at.lists.is_empty() {
            self.for_group(id, statement, &at, context, guards, units);
            return;
        }
        self.check_cardinality(statement, &at, context);
        let depth = self.chain.len();
        let mut levels = Vec::new();
        let mut owner = at.cursor;
        for list in &at.lists {
            let scope = self.scope(*list);
            let cursor = self.new_cursor(scope, Some(owner), None);
            levels.push((scope, owner, cursor));
            let last = list == &at.lists[at.lists.len() - 1];
            let binding = if last && at.node == *list { statement.binding.clone() } else { None };
            self.chain.push(Context { cursor, node: *list, binding, picks: Vec::new() });
            owner = cursor;
        }
        let last = at.lists[at.lists.len() - 1];
        if at.node != last {
            self.chain.push(Context {
                cursor: owner,
                node: at.node,
                binding: statement.binding.clone(),
                picks: Vec::new(),
            });
        }
        self.loops_open += 1;
        let mut body = Vec::new();
        let mut inner_guards: Vec<Guard> = Vec::new();
        if at.node != last {
            // A group inside the last list: its occurrences without the group are passed over.
            let inner = At {
                cursor: owner,
                node: at.node,
                picks: Vec::new(),
                maybe: true,
                reads: Reads::default(),
                lists: Vec::new(),
            };
            let (expr, reads) = self.group_present(&inner);
            body.push(self.filter_unit(id, expr, reads));
        }
        if let Some(filter) = &statement.filter {
            let typed = self.condition(filter);
            self.constant_condition(&typed);
            self.reads_of(id, &typed.reads);
            body.push(self.filter_unit(id, typed.id, typed.reads));
        }
        let limit = statement.limit.map(|limit| {
            self.limits.push(limit);
            u16::try_from(self.limits.len() - 1).unwrap_or(u16::MAX)
        });
        if let Some(limit) = limit {
            body.push(Unit { kind: UnitKind::Take { limit }, ..self.filter_unit(id, 0, Reads::default()) });
        }
        let (sort, sort_reads) = self.sort_keys(id, statement, &at);
        inner_guards.clear();
        let list_address = self.loop_body(id, statement, context, &inner_guards, &mut body);
        self.loops_open -= 1;
        self.chain.truncate(depth);
        let Some(mut address) = list_address else { return };
        if statement.make.is_none() {
            match self.common_list(&body, context, span) {
                Some(common) => address = common,
                None => return,
            }
        }
        let mut unit: Option<Unit> = None;
        for (i, (scope, owner, cursor)) in levels.iter().enumerate().rev() {
            let innermost = i + 1 == levels.len();
            let inner = match unit.take() {
                None => core::mem::take(&mut body),
                Some(unit) => vec![unit],
            };
            let mut reads = Reads::default();
            if i == 0 {
                reads.add(&at.reads);
                reads.add(&sort_reads);
            }
            let ordinal = self.ordinal();
            let leaf = match address.last() {
                Some(Step::List(node)) => Some((*node, ordinal)),
                _ => None,
            };
            unit = Some(Unit {
                statement: id,
                guards: if i == 0 { guards.to_vec() } else { Vec::new() },
                address: address.clone(),
                leaf,
                kind: UnitKind::Loop(Box::new(LoopUnit {
                    scope: *scope,
                    owner: *owner,
                    cursor: *cursor,
                    picks: if i == 0 { at.picks.clone() } else { Vec::new() },
                    sort: if innermost { sort.clone() } else { Vec::new() },
                    restarts: if i == 0 { limit } else { None },
                    limit: if innermost { limit } else { None },
                    body: inner,
                    recording: None,
                })),
                reads,
                writes: Vec::new(),
            });
        }
        units.extend(unit);
    }

    /// Checks the sort keys of a loop, and returns them with the nodes that they read.
    fn sort_keys(&mut self, id: u32, statement: &For, at: &At) -> (Vec<SortPlan>, Reads) {
        let (mut keys, mut reads) = (Vec::new(), Reads::default());
        if at.lists.len() > 1
            && let Some(first) = statement.sort.first()
        {
            let path = statement.path.steps.last().map_or("", |step| step.name.text.as_str()).to_owned();
            let message =
                format!("`sort` orders the occurrences of one list, and the path to `{path}` goes through several");
            self.error(codes::CARDINALITY, first.value.span, message).hint =
                Some("write a loop in a loop, and sort the inner one".to_owned());
        }
        for key in &statement.sort {
            let typed = self.expression(&key.value);
            self.reads_of(id, &typed.reads);
            reads.add(&typed.reads);
            keys.push(SortPlan { expr: typed.id, order: order_of(typed.ty.kind), descending: key.descending });
        }
        (keys, reads)
    }

    fn filter_unit(&mut self, statement: u32, expr: u32, reads: Reads) -> Unit {
        Unit {
            statement,
            guards: Vec::new(),
            address: Vec::new(),
            leaf: None,
            kind: UnitKind::Filter { expr },
            reads,
            writes: Vec::new(),
        }
    }

    /// Lowers the body of a loop; gives the address of the list that it fills (of no list: empty).
    fn loop_body(
        &mut self,
        id: u32,
        statement: &For,
        context: &TargetContext,
        guards: &[Guard],
        body: &mut Vec<Unit>,
    ) -> Option<Vec<Step>> {
        match (&statement.make, &statement.body) {
            (Some(target), ForBody::Value(value)) => {
                if self.no_document(target, context) {
                    return None;
                }
                let goal = self.goal(target, context)?;
                let node = self.outputs[goal.output].shape.node(goal.node);
                if node.scalar().is_none() || !node.is_list() {
                    let name = node.name.clone();
                    self.error(
                        codes::CARDINALITY,
                        target.span,
                        format!("`{name}` is not a list of values, and a loop gives many"),
                    )
                    .hint = Some(format!("make groups: for … make {name} {{ … }}; or give it one value"));
                    return None;
                }
                let goal = self.list_goal(goal);
                let value = self.expression(value);
                let ordinal = self.ordinal();
                self.emit(id, &goal, value, Some(ordinal), guards, target.span, body);
                if let Some(Unit { kind: UnitKind::Emit { target, .. }, .. }) = body.last_mut() {
                    target.empty = Some(self.rules.empty_item(goal.output, goal.node));
                }
                Some(goal.address)
            }
            (Some(target), ForBody::Block(statements)) => {
                let (inner, occurrence) = self.open_target(target, context, guards)?;
                if !occurrence {
                    // Reported by the check of cardinality.
                    self.statements_into(statements, &inner, guards, body);
                    return None;
                }
                body.push(self.touch(id, &inner.address, guards));
                self.statements_into(statements, &inner, guards, body);
                let mut address = inner.address;
                address.pop();
                Some(address)
            }
            (None, ForBody::Block(statements)) => {
                self.statements_into(statements, context, guards, body);
                Some(Vec::new())
            }
            (None, ForBody::Value(_)) => None,
        }
    }

    /// Returns the target list that a loop without `make` fills. Such a loop may fill one enclosing list, make documents, or write nothing.
    fn common_list(&mut self, body: &[Unit], context: &TargetContext, span: Span) -> Option<Vec<Step>> {
        let base = context.address.len();
        let mut common: Option<Vec<Step>> = None;
        for unit in body {
            if unit.address.is_empty()
                || matches!(unit.address[0], Step::Document { ordinal, .. } if ordinal > 0 && base == 0)
            {
                continue;
            }
            let at = unit.address.iter().skip(base).position(|step| matches!(step, Step::List(_)));
            let Some(at) = at else {
                let place = self.statements[unit.statement as usize].span;
                let target = self.statements[unit.statement as usize].target.clone().unwrap_or_default();
                self.error(codes::CARDINALITY, place, format!("`{target}` occurs once, and the enclosing loop would set it many times")).hint =
                    Some("choose one occurrence, `…[0]`, fold them, `sum(… for …)`, or let the loop make occurrences: for … make …".to_owned());
                return None;
            };
            let list = unit.address[..=base + at].to_vec();
            match &common {
                None => common = Some(list),
                Some(known) if *known == list => {}
                Some(_) => {
                    self.error(
                        codes::CARDINALITY,
                        span,
                        "this loop fills two lists of the target, which follow each other",
                    )
                    .hint = Some("write one loop for each list".to_owned());
                    return None;
                }
            }
        }
        Some(common.unwrap_or_default())
    }

    fn check_cardinality(&mut self, statement: &For, at: &At, context: &TargetContext) {
        let Some(target) = &statement.make else { return };
        if context.output.is_none() {
            return;
        }
        let errors = self.findings.len();
        let goal = self.goal(target, context);
        // The check of the body reports unknown paths.
        self.findings.truncate(errors);
        let Some(goal) = goal else { return };
        let node = self.outputs[goal.output].shape.node(goal.node);
        let name = node.name.clone();
        let most = at.lists.iter().try_fold(1u32, |most, list| match self.source.node(*list).occurs {
            Occurs::Many { max: Some(max), .. } => most.checked_mul(max),
            _ => None,
        });
        let least: u32 = at.lists.iter().fold(1u32, |least, list| match self.source.node(*list).occurs {
            Occurs::Many { min, .. } if statement.filter.is_none() => least.saturating_mul(min),
            _ => 0,
        });
        let source = statement.path.steps.last().map_or("", |step| step.name.text.as_str()).to_owned();
        let many = most.map_or("any number of times".to_owned(), |most| format!("up to {most} times"));
        match node.occurs {
            Occurs::Once | Occurs::Optional => {
                self.error(
                    codes::CARDINALITY,
                    target.span,
                    format!("`{name}` occurs once in the target, and `{source}` repeats {many}"),
                )
                .hint = Some(format!("choose one: for {source}[0] make {name} {{ … }}, or {source}[… = …]"));
            }
            Occurs::Many { min, max } => {
                let bound = most.into_iter().chain(statement.limit).min();
                if let Some(max) = max
                    && bound.map_or(max < PRACTICALLY_ANY, |bound| bound > max)
                {
                    self.warning(
                        codes::CARDINALITY,
                        target.span,
                        format!("`{name}` holds {max} occurrences, and `{source}` repeats {many}"),
                    )
                    .hint = Some(format!(
                        "take the first ones: for {source} limit {max} make …; as it is, one more is a finding when it comes"
                    ));
                }
                // Constant elements that are always written.
                let fixed = self
                    .made
                    .iter()
                    .filter(|made| made.output == goal.output && made.node == goal.node && made.guards.is_empty())
                    .count();
                let least = least.saturating_add(u32::try_from(fixed).unwrap_or(0));
                if min > least {
                    self.warning(
                        codes::CARDINALITY,
                        target.span,
                        format!(
                            "`{name}` needs {min} occurrence{} at least, and `{source}` may have {least}",
                            if min == 1 { "" } else { "s" }
                        ),
                    )
                    .hint = Some("add those that are missing by `make`".to_owned());
                }
            }
        }
    }

    /// Checks `for GROUP { … }`: the body runs once if the group is present, with paths relative to it.
    fn for_group(
        &mut self,
        id: u32,
        statement: &For,
        at: &At,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        if let Some(first) = statement.sort.first() {
            let name = statement.path.steps.last().map_or("", |step| step.name.text.as_str()).to_owned();
            let message = format!("`{name}` does not repeat, so there is nothing to sort");
            self.error(codes::NO_LIST, first.value.span, message).hint = Some("leave `sort` out".to_owned());
        }
        let mut conditions = Vec::new();
        let depth = self.chain.len();
        let reads;
        let mut present = if at.picks.is_empty() {
            let (expr, found) = self.group_present(at);
            reads = found;
            expr
        } else {
            let typed = self.presence(&statement.path);
            reads = typed.as_ref().map(|typed| typed.reads.clone()).unwrap_or_default();
            typed.map_or(0, |typed| typed.id)
        };
        let mut all_reads = reads;
        self.chain.push(Context {
            cursor: at.cursor,
            node: at.node,
            binding: statement.binding.clone(),
            picks: at.picks.clone(),
        });
        if let Some(filter) = &statement.filter {
            let typed = self.condition(filter);
            all_reads.add(&typed.reads);
            present = self.expr(Expr::And(present, typed.id));
        }
        conditions.push(Typed { id: present, ty: Ty::BOOL, reads: all_reads, span: statement.path.span });
        let (expr, reads) = self.arm_number(&conditions);
        let all = self.arm_guards(id, expr, reads, 2, guards, units);
        let guards = &all[0];
        match (&statement.make, &statement.body) {
            (Some(target), ForBody::Block(body)) => self.make(id, target, body, context, guards, units),
            (None, ForBody::Block(body)) => self.statements_into(body, context, guards, units),
            (Some(target), ForBody::Value(value)) => self.assign(id, target, value, context, guards, units),
            (None, ForBody::Value(_)) => {}
        }
        self.chain.truncate(depth);
    }
}
