//! Statements: each becomes units, which are put in order later.

use std::collections::HashMap;

use quayline_core::{NodeId, Occurs, near};

use super::source::Context;
use super::target::{Goal, Guard, Step, TargetContext};
use super::types::{Digits, Kind, Ty};
use super::{Local, Lower, Reads, Typed};
use crate::codes;
use crate::plan::{Expr, FloatOp, RaisePlan, SortPlan, TargetPlan};
use crate::syntax::ast::{self, ForBody, Name, Pattern, SetOp, Stmt, StmtKind, TargetPath};
use crate::syntax::text::Span;
use crate::value::Val;

/// A piece of a block that runs at once.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) statement: u32,
    pub(crate) guards: Vec<Guard>,
    pub(crate) address: Vec<Step>,
    /// The leaf that is written, and its number among those of one list.
    pub(crate) leaf: Option<(NodeId, u32)>,
    pub(crate) kind: UnitKind,
    pub(crate) reads: Reads,
    pub(crate) writes: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(crate) enum UnitKind {
    Emit {
        target: TargetPlan,
        expr: u32,
    },
    Touch,
    /// Opens a mandatory group that no other unit opens.
    Visit,
    Set {
        var: u16,
        expr: u32,
    },
    Filter {
        expr: u32,
    },
    /// Counts an occurrence for which the filters hold, or leaves it out because there are enough.
    Take {
        limit: u16,
    },
    Skip,
    Drop {
        /// Ordinal and output of the document around it; outside of any, it omits all that follow.
        document: Option<(u32, u16)>,
    },
    Raise,
    Envelope {
        name: u16,
        expr: u32,
    },
    Loop(Box<LoopUnit>),
    /// Replays recorded output.
    Replay {
        recording: u16,
        list: NodeId,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct LoopUnit {
    pub(crate) scope: u16,
    pub(crate) owner: u16,
    pub(crate) cursor: u16,
    pub(crate) picks: Vec<u16>,
    pub(crate) sort: Vec<SortPlan>,
    /// On the outermost loop of the statement: the limit that it resets.
    pub(crate) restarts: Option<u16>,
    /// On the innermost loop: the limit that ends it.
    pub(crate) limit: Option<u16>,
    pub(crate) body: Vec<Unit>,
    pub(crate) recording: Option<u16>,
}

impl Lower<'_> {
    /// Builds the units of the complete map.
    pub(crate) fn root_units(&mut self, body: &[Stmt]) -> Vec<Unit> {
        let scope = self.scope(NodeId::ROOT);
        let cursor = self.new_cursor(scope, None, None);
        self.chain.push(Context { cursor, node: NodeId::ROOT, binding: None, picks: Vec::new() });
        let explicit = makes_documents(body, self.outputs.first().map_or("", |output| output.name));
        let single = self.outputs.len() == 1 && !explicit;
        let step = Step::Document { output: 0, ordinal: 0 };
        let context = TargetContext {
            output: single.then_some(0),
            node: NodeId::ROOT,
            address: if single { vec![step] } else { Vec::new() },
        };
        let mut units = Vec::new();
        if single {
            let span = body.first().map_or(Span::default(), |statement| statement.span);
            self.made_document(0, step, span);
            units.push(self.touch(0, &context.address, &[]));
        }
        self.statements_into(body, &context, &[], &mut units);
        if self.overflow {
            self.error(
                codes::TOO_LARGE,
                Span::default(),
                "the map is too large when its functions and parts are put in",
            )
            .hint = Some("split it into several maps".to_owned());
        }
        units
    }

    pub(crate) fn touch(&self, statement: u32, address: &[Step], guards: &[Guard]) -> Unit {
        Unit {
            statement,
            guards: guards.to_vec(),
            address: address.to_vec(),
            leaf: None,
            kind: UnitKind::Touch,
            reads: Reads::default(),
            writes: Vec::new(),
        }
    }

    pub(crate) fn statements_into(
        &mut self,
        body: &[Stmt],
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let depth = self.locals.len();
        // The statement that leaves the block, and the units up to it.
        let (mut ended, mut len): (Option<Span>, _) = (None, None);
        for statement in body {
            if let Some(span) = ended.take() {
                let line = self.line(span);
                self.warning(codes::NEVER, statement.span, format!("this never runs: line {line} leaves the block"))
                    .hint = Some("remove it, or put the statement before it under a condition".to_owned());
            }
            if self.overflow {
                break;
            }
            self.statement_into(statement, context, guards, units);
            if len.is_none() && matches!(statement.kind, StmtKind::Skip | StmtKind::Drop) {
                (ended, len) = (Some(statement.span), Some(units.len()));
            }
        }
        units.truncate(len.unwrap_or(usize::MAX));
        for at in (depth..self.locals.len()).rev() {
            let local = &self.locals[at];
            if !local.used && !local.span.eq(&Span::default()) {
                let (name, span, mutable) = (local.name.clone(), local.span, local.mutable);
                let word = if mutable { "variable" } else { "name" };
                self.warning(codes::UNUSED, span, format!("the {word} `{name}` is never read")).hint =
                    Some("remove it".to_owned());
            }
        }
        self.locals.truncate(depth);
    }

    fn statement_into(&mut self, statement: &Stmt, context: &TargetContext, guards: &[Guard], units: &mut Vec<Unit>) {
        let id = self.begin_statement(statement.span);
        let span = statement.span;
        match &statement.kind {
            StmtKind::Assign { target, value } => self.assign(id, target, value, context, guards, units),
            StmtKind::AssignList { target, values } => self.assign_list(id, target, values, context, guards, units),
            StmtKind::Envelope { name, value } => self.envelope(id, name, value, context, guards, units),
            StmtKind::Let { name, value } => self.let_value(id, name, value, guards, units),
            StmtKind::Var { name, declared, value } => self.var(id, name, declared.as_ref(), value, guards, units),
            StmtKind::Set { name, op, value } => self.set(id, name, *op, value, span, guards, units),
            StmtKind::For(statement) => self.for_loop(id, statement, span, context, guards, units),
            StmtKind::Make { target, body } => self.make(id, target, body, context, guards, units),
            StmtKind::If { arms, otherwise } => self.if_arms(id, arms, otherwise.as_deref(), context, guards, units),
            StmtKind::Match { subject, arms, otherwise } => {
                self.match_arms(id, subject, arms, otherwise.as_deref(), context, guards, units);
            }
            StmtKind::Use(name) => self.use_part(name, context, guards, units),
            StmtKind::Raise { severity, message, id: own, hint } => {
                self.statements[id as usize].raise = Some(RaisePlan {
                    severity: *severity,
                    message: message.text.clone(),
                    id: own.as_ref().map(|quote| quote.text.clone()),
                    hint: hint.as_ref().map(|quote| quote.text.clone()),
                });
                self.push(id, UnitKind::Raise, Reads::default(), &[], guards, units);
            }
            StmtKind::Drop => {
                let document = context.address.first().and_then(|step| match step {
                    Step::Document { output, ordinal } => Some((*ordinal, *output)),
                    _ => None,
                });
                self.drops.push((document.map(|(_, output)| output), guards.to_vec()));
                self.push(id, UnitKind::Drop { document }, Reads::default(), &[], guards, units);
            }
            StmtKind::Skip => {
                if self.loops_open == 0 {
                    self.error(
                        codes::NO_LOOP,
                        span,
                        "`skip` leaves out an occurrence, and there is no loop around it",
                    )
                    .hint = Some("`drop` leaves out the document".to_owned());
                    return;
                }
                self.push(id, UnitKind::Skip, Reads::default(), &[], guards, units);
            }
            StmtKind::Omit(paths) => {
                for path in paths {
                    if let Some(goal) = self.goal(path, context) {
                        self.omitted.insert((goal.output, goal.node));
                    }
                }
            }
        }
    }

    pub(crate) fn push(
        &mut self,
        statement: u32,
        kind: UnitKind,
        reads: Reads,
        writes: &[u16],
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        self.reads_of(statement, &reads);
        units.push(Unit {
            statement,
            guards: guards.to_vec(),
            address: Vec::new(),
            leaf: None,
            kind,
            reads,
            writes: writes.to_vec(),
        });
    }

    pub(crate) fn reads_of(&mut self, statement: u32, reads: &Reads) {
        let sources = &mut self.statements[statement as usize].sources;
        for (_, node) in &reads.nodes {
            if !sources.contains(node) {
                sources.push(*node);
            }
        }
    }

    pub(crate) fn assign(
        &mut self,
        id: u32,
        target: &TargetPath,
        value: &ast::Expr,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        if self.no_document(target, context) {
            let _ = self.expression(value);
            return;
        }
        let goal = self.goal(target, context);
        let value = self.expression(value);
        let Some(goal) = goal else { return };
        let shape = self.outputs[goal.output].shape;
        if shape.node(goal.node).is_list() {
            let name = shape.node(goal.node).name.clone();
            let hint = if shape.node(goal.node).scalar().is_some() {
                format!("give it a list, {name} = [ … ], or a value for each of a loop: for … make {name} = …")
            } else {
                format!("make its occurrences: make {name} {{ … }}, or for … make {name} {{ … }}")
            };
            self.error(
                codes::TARGET_REPEATS,
                target.span,
                format!("`{name}` repeats in the target and takes no single value"),
            )
            .hint = Some(hint);
            return;
        }
        self.emit(id, &goal, value, None, guards, target.span, units);
    }

    /// Reports a target field outside of any document, in a map that makes its documents with `make`.
    pub(crate) fn no_document(&mut self, target: &TargetPath, context: &TargetContext) -> bool {
        if context.output.is_some() || self.outputs.len() != 1 {
            return false;
        }
        let name = self.outputs[0].name;
        if target.names.len() > 1 && target.names[0].text == name {
            return false;
        }
        let hint = if self.outputs[0].shape.iter().skip(1).any(|(_, node)| node.name == name) {
            format!(
                "to set `{name}` of the document, give the target another name; otherwise move this into `make {name} {{ … }}`"
            )
        } else {
            format!("move it into `make {name} {{ … }}`")
        };
        self.error(
            codes::NO_DOCUMENT,
            target.span,
            format!("this map makes its documents by `make {name}`, and none is open here"),
        )
        .hint = Some(hint);
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one assignment")]
    pub(crate) fn emit(
        &mut self,
        id: u32,
        goal: &Goal,
        value: Typed,
        ordinal: Option<u32>,
        guards: &[Guard],
        span: Span,
        units: &mut Vec<Unit>,
    ) {
        let shape = self.outputs[goal.output].shape;
        self.statements[id as usize].target = Some(shape.path(goal.node));
        if ordinal.is_none() {
            self.write(goal, &goal.address, guards, span);
        }
        let value = self.as_text_of(goal, value);
        let Some(target) = self.fit(goal, &value, guards) else { return };
        self.reads_of(id, &value.reads);
        let mutable = value.reads.vars.iter().any(|var| self.mutable_vars.contains(var));
        let (mut expr, mut reads) = (value.id, value.reads);
        if mutable {
            // A variable changes: its value is taken here, and written when the target's turn comes.
            let var = self.new_var("value");
            units.push(Unit {
                statement: id,
                guards: guards.to_vec(),
                address: Vec::new(),
                leaf: None,
                kind: UnitKind::Set { var, expr },
                reads: reads.clone(),
                writes: vec![var],
            });
            expr = self.expr(Expr::Var(var));
            reads = Reads { vars: vec![var], ..Reads::default() };
        }
        units.push(Unit {
            statement: id,
            guards: guards.to_vec(),
            address: goal.address.clone(),
            leaf: Some((goal.node, ordinal.unwrap_or(0))),
            kind: UnitKind::Emit { target, expr },
            reads,
            writes: Vec::new(),
        });
    }

    fn assign_list(
        &mut self,
        id: u32,
        target: &TargetPath,
        values: &[ast::Expr],
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        if self.no_document(target, context) {
            return;
        }
        let Some(goal) = self.goal(target, context) else { return };
        let shape = self.outputs[goal.output].shape;
        let node = shape.node(goal.node);
        let name = node.name.clone();
        let Occurs::Many { max, .. } = node.occurs else {
            self.error(
                codes::CARDINALITY,
                target.span,
                format!("`{name}` occurs once in the target and is not a list"),
            )
            .hint = Some("give it one value".to_owned());
            return;
        };
        if node.scalar().is_none() {
            self.error(codes::TARGET_GROUP, target.span, format!("the occurrences of `{name}` are groups")).hint =
                Some(format!("make each: make {name} {{ … }}"));
            return;
        }
        if max.is_some_and(|max| values.len() > max as usize) {
            let max = max.unwrap_or(0);
            self.error(
                codes::CARDINALITY,
                target.span,
                format!("`{name}` holds {max} occurrences, and this list has {}", values.len()),
            )
            .hint = Some("shorten the list".to_owned());
        }
        let goal = self.list_goal(goal);
        let typed: Vec<Typed> = values.iter().map(|value| self.expression(value)).collect();
        let has_value = typed.iter().any(|typed| typed.ty.kind != Kind::Absent);
        for ((number, value), typed) in (0..).zip(values).zip(typed) {
            let ordinal = self.ordinal();
            let (before, findings) = (units.len(), self.findings.len());
            let keeps_a_place = has_value && typed.ty.kind == Kind::Absent;
            self.emit(id, &goal, typed, Some(ordinal), guards, value.span, units);
            if keeps_a_place {
                self.findings.truncate(findings);
            }
            for unit in &mut units[before..] {
                if let UnitKind::Emit { target, .. } = &mut unit.kind {
                    target.empty = Some(self.rules.empty_item(goal.output, goal.node));
                    target.element = Some(number);
                }
            }
        }
    }

    pub(crate) fn ordinal(&mut self) -> u32 {
        self.occurrences += 1;
        self.occurrences
    }

    /// Extends a goal to the occurrences of its list, and records that the map fills the list.
    pub(crate) fn list_goal(&mut self, mut goal: Goal) -> Goal {
        goal.address.push(Step::List(goal.node));
        self.lists_made.push((goal.output, goal.address.clone()));
        goal
    }

    fn envelope(
        &mut self,
        id: u32,
        name: &Name,
        value: &ast::Expr,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let is_field =
            context.output.is_some_and(|output| self.outputs[output].shape.child(context.node, "envelope").is_some());
        if is_field {
            let first = Name { text: "envelope".to_owned(), span: name.span };
            let target = TargetPath { names: vec![first, name.clone()], span: name.span };
            return self.assign(id, &target, value, context, guards, units);
        }
        let value = self.text(value);
        let slot = self.envelope_out.iter().position(|known| *known == name.text).unwrap_or_else(|| {
            self.envelope_out.push(name.text.clone());
            self.envelope_set.push((name.text.clone(), name.span));
            self.envelope_out.len() - 1
        });
        self.statements[id as usize].target = Some(format!("envelope.{}", name.text));
        let slot = u16::try_from(slot).unwrap_or(u16::MAX);
        self.push(id, UnitKind::Envelope { name: slot, expr: value.id }, value.reads, &[], guards, units);
    }

    pub(crate) fn new_name(&mut self, name: &Name) {
        if let Some(local) = self.locals.iter().find(|local| local.name == name.text) {
            let first = local.span;
            let line = self.line(first);
            self.error(codes::TWICE, name.span, format!("`{}` has a value since line {line}", name.text)).hint =
                Some("give one of them another name; variables change by `set`".to_owned());
        } else if let Some(context) =
            self.chain.iter().rev().find(|context| self.source.child(context.node, &name.text).is_some())
        {
            let path = self.source.path(context.node);
            let place = if path.is_empty() { "the source".to_owned() } else { path };
            self.warning(codes::HIDES, name.span, format!("`{}` hides the field of that name in {place}", name.text))
                .hint = Some("give it another name".to_owned());
        }
    }

    fn let_value(&mut self, id: u32, name: &Name, value: &ast::Expr, guards: &[Guard], units: &mut Vec<Unit>) {
        self.new_name(name);
        let typed = self.expression(value);
        let plain = matches!(self.exprs[typed.id as usize], Expr::Const(_) | Expr::Slot { .. });
        let (expr, reads, var) = if plain {
            self.reads_of(id, &typed.reads);
            (self.exprs[typed.id as usize], typed.reads, None)
        } else {
            let var = self.new_var(&name.text);
            let nodes = typed.reads.nodes.clone();
            self.push(id, UnitKind::Set { var, expr: typed.id }, typed.reads, &[var], guards, units);
            (Expr::Var(var), Reads { vars: vec![var], nodes, bound: true, ..Reads::default() }, Some(var))
        };
        self.locals.push(Local {
            name: name.text.clone(),
            span: name.span,
            expr,
            ty: typed.ty,
            reads,
            var,
            mutable: false,
            used: false,
        });
    }

    fn var(
        &mut self,
        id: u32,
        name: &Name,
        declared: Option<&ast::TypeName>,
        value: &ast::Expr,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        self.new_name(name);
        let typed = self.expression(value);
        let mut kind = match typed.ty.kind {
            // The variable will change, so its initial value does not bound its length.
            Kind::Text(_) => Kind::Text(None),
            Kind::Decimal(_) => Kind::Decimal(Digits::UNKNOWN),
            kind => kind,
        };
        let var = self.new_var(&name.text);
        if let Some(declared) = declared {
            let Some(wanted) = self.declared(declared) else { return };
            if Ty::new(wanted).join(typed.ty).is_none() {
                self.error(
                    codes::TYPE,
                    value.span,
                    format!("the variable is declared as {wanted}, and begins with {}", typed.ty.kind),
                )
                .hint = Some("begin with a value of its type".to_owned());
            }
            kind = wanted;
            let plan = &mut self.vars[usize::from(var)];
            match wanted {
                Kind::Decimal(Digits { whole: Some(whole), scale: Some(scale), .. }) => {
                    plan.digits = Some((whole, scale))
                }
                Kind::Text(max) => plan.chars = max,
                _ => {}
            }
        } else if kind == Kind::Absent {
            self.error(codes::TYPE, value.span, "nothing determines the type of this variable").hint =
                Some(format!("declare it: var {}: text = absent", name.text));
            kind = Kind::Bad;
        }
        self.mutable_vars.insert(var);
        self.push(id, UnitKind::Set { var, expr: typed.id }, typed.reads, &[var], guards, units);
        let reads = Reads { vars: vec![var], bound: true, ..Reads::default() };
        let ty = Ty { kind, maybe: typed.ty.maybe };
        self.locals.push(Local {
            name: name.text.clone(),
            span: name.span,
            expr: Expr::Var(var),
            ty,
            reads,
            var: Some(var),
            mutable: true,
            used: false,
        });
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn set(
        &mut self,
        id: u32,
        name: &Name,
        op: SetOp,
        value: &ast::Expr,
        span: Span,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let found = self.locals.iter().rposition(|local| local.name == name.text);
        let Some(at) = found else {
            let names: Vec<String> =
                self.locals.iter().filter(|local| local.mutable).map(|local| local.name.clone()).collect();
            let hint = near::offer(&near::nearest(&name.text, names.iter().map(String::as_str)));
            self.error(codes::UNKNOWN_VARIABLE, name.span, format!("there is no variable `{}`", name.text)).hint =
                Some(hint.unwrap_or_else(|| format!("begin it before: var {} = 0", name.text)));
            return;
        };
        let local = self.locals[at].clone();
        let (true, Some(var)) = (local.mutable, local.var) else {
            let line = self.line(local.span);
            self.error(
                codes::UNKNOWN_VARIABLE,
                name.span,
                format!("`{}` does not change: it was named by `let` in line {line}", name.text),
            )
            .hint = Some(format!("write `var {} = …` there", name.text));
            return;
        };
        let value = match op {
            SetOp::Add | SetOp::Subtract => self.number(value),
            SetOp::Append => self.text(value),
            SetOp::Set => self.expression(value),
        };
        if value.ty.is_bad() {
            return;
        }
        if local.ty.join(value.ty).is_none() {
            self.error(codes::TYPE, span, format!("the variable holds {}; this is {}", local.ty.kind, value.ty.kind))
                .hint = Some("give it values of one type".to_owned());
            return;
        }
        let own = self.expr(Expr::Var(var));
        let expr = match op {
            SetOp::Set => value.id,
            // An absent value adds nothing.
            SetOp::Add | SetOp::Subtract => {
                let zero = self.expr(Expr::Const(Val::int(0)));
                let amount = self.expr(Expr::Otherwise(value.id, zero));
                let own = self.expr(Expr::Otherwise(own, zero));
                if local.ty.kind == Kind::Float || value.ty.kind == Kind::Float {
                    let float = if op == SetOp::Add { FloatOp::Add } else { FloatOp::Subtract };
                    self.expr(Expr::FloatOp(float, own, amount))
                } else if op == SetOp::Add {
                    self.expr(Expr::Add(own, amount))
                } else {
                    self.expr(Expr::Subtract(own, amount))
                }
            }
            SetOp::Append => {
                let first = crate::value::small(self.lists.len());
                self.lists.extend([own, value.id]);
                self.expr(Expr::Concat { first, count: 2 })
            }
        };
        if value.ty.maybe && op == SetOp::Set {
            self.locals[at].ty.maybe = true;
        }
        let mut reads = value.reads;
        if op != SetOp::Set {
            reads.vars.push(var);
        }
        self.push(id, UnitKind::Set { var, expr }, reads, &[var], guards, units);
    }

    /// Creates a variable for the number of the selected arm, and returns the guards of the arms.
    pub(crate) fn arm_guards(
        &mut self,
        id: u32,
        expr: u32,
        reads: Reads,
        count: usize,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) -> Vec<Vec<Guard>> {
        let var = self.new_var("arm");
        self.arms.insert(var, u16::try_from(count).unwrap_or(u16::MAX));
        self.push(id, UnitKind::Set { var, expr }, reads, &[var], guards, units);
        (0..count)
            .map(|arm| {
                let mut all = guards.to_vec();
                all.push(Guard { var, arm: u16::try_from(arm).unwrap_or(u16::MAX) });
                all
            })
            .collect()
    }

    fn if_arms(
        &mut self,
        id: u32,
        arms: &[(ast::Expr, Vec<Stmt>)],
        otherwise: Option<&[Stmt]>,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let conditions: Vec<Typed> = arms.iter().map(|(condition, _)| self.condition(condition)).collect();
        let mut seen: HashMap<String, Span> = HashMap::new();
        for condition in &conditions {
            self.constant_condition(condition);
            let text = self.slice(condition.span).to_owned();
            let first = *seen.entry(text).or_insert(condition.span);
            if first != condition.span {
                let line = self.line(first);
                self.warning(
                    codes::NEVER,
                    condition.span,
                    format!("this branch never runs: line {line} asks the same"),
                )
                .hint = Some("correct one of the conditions".to_owned());
            }
        }
        let (expr, reads) = self.arm_number(&conditions);
        let all = self.arm_guards(id, expr, reads, arms.len() + 1, guards, units);
        for ((_, body), guards) in arms.iter().zip(&all) {
            self.statements_into(body, context, guards, units);
        }
        if let (Some(body), Some(guards)) = (otherwise, all.last()) {
            self.statements_into(body, context, guards, units);
        }
    }

    /// Builds an expression for the number of the first true condition, or the number of conditions if none is true.
    pub(crate) fn arm_number(&mut self, conditions: &[Typed]) -> (u32, Reads) {
        let mut reads = Reads::default();
        let count = i64::try_from(conditions.len()).unwrap_or(0);
        let mut expr = self.expr(Expr::Const(Val::int(count)));
        for (number, condition) in conditions.iter().enumerate().rev() {
            let number = i64::try_from(number).unwrap_or(0);
            let this = self.expr(Expr::Const(Val::int(number)));
            expr = self.expr(Expr::If(condition.id, this, expr));
            reads.add(&condition.reads);
        }
        (expr, reads)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn match_arms(
        &mut self,
        id: u32,
        subject: &ast::Expr,
        arms: &[(Vec<Pattern>, Vec<Stmt>)],
        otherwise: Option<&[Stmt]>,
        context: &TargetContext,
        guards: &[Guard],
        units: &mut Vec<Unit>,
    ) {
        let subject = self.expression(subject);
        let var = self.new_var("match");
        let conditions = self.patterns(&subject, var, arms.iter().map(|(patterns, _)| patterns.as_slice()));
        let (expr, mut reads) = self.arm_number(&conditions);
        let expr = self.expr(Expr::Bind(var, subject.id, expr));
        reads.add(&subject.reads);
        let all = self.arm_guards(id, expr, reads, arms.len() + 1, guards, units);
        for ((_, body), guards) in arms.iter().zip(&all) {
            self.statements_into(body, context, guards, units);
        }
        if let (Some(body), Some(guards)) = (otherwise, all.last()) {
            self.statements_into(body, context, guards, units);
        }
    }

    fn use_part(&mut self, name: &Name, context: &TargetContext, guards: &[Guard], units: &mut Vec<Unit>) {
        let key = format!("part {}", name.text);
        if self.too_deep(name.span, &key) {
            return;
        }
        let Some((part, used)) = self.parts.get_mut(&name.text) else {
            if self.is_incomplete {
                return;
            }
            let near = near::nearest(&name.text, self.parts.keys().map(String::as_str));
            let hint =
                near::offer(&near).unwrap_or_else(|| format!("define it at the top level: part {} {{ … }}", name.text));
            self.error(codes::UNKNOWN_PART, name.span, format!("there is no part `{}`", name.text)).hint = Some(hint);
            return;
        };
        *used = true;
        let body = part.body.clone();
        self.inlined.push(key);
        self.statements_into(&body, context, guards, units);
        self.inlined.pop();
    }
}

/// Returns true if a map makes the documents of its only output explicitly.
fn makes_documents(body: &[Stmt], output: &str) -> bool {
    let is_output = |target: &TargetPath| target.names.len() == 1 && target.names[0].text == output;
    body.iter().any(|statement| match &statement.kind {
        StmtKind::Make { target, .. } => is_output(target),
        StmtKind::For(statement) => {
            statement.make.as_ref().is_some_and(is_output)
                || matches!(&statement.body, ForBody::Block(body) if makes_documents(body, output))
        }
        StmtKind::If { arms, otherwise } => {
            arms.iter().any(|(_, body)| makes_documents(body, output))
                || otherwise.as_ref().is_some_and(|body| makes_documents(body, output))
        }
        StmtKind::Match { arms, otherwise, .. } => {
            arms.iter().any(|(_, body)| makes_documents(body, output))
                || otherwise.as_ref().is_some_and(|body| makes_documents(body, output))
        }
        _ => false,
    })
}
