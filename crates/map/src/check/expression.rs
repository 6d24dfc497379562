//! Expressions: their types and the source nodes and variables that each reads.

use std::collections::HashMap;

use quayline_core::{Decimal, NodeId, Scalar, near};

use super::fold::order_of;
use super::types::{Digits, Kind, Ty};
use super::{Lower, Reads, Typed};
use crate::codes;
use crate::functions::Builtin;
use crate::plan::{Compare, Expr, FloatOp};
use crate::syntax::ast::{self, Binary, ExprKind, Path, Pattern, Set, Unary};
use crate::syntax::text::Span;
use crate::value::{Val, small};

impl Lower<'_> {
    /// Checks an expression of any type.
    pub(crate) fn expression(&mut self, expr: &ast::Expr) -> Typed {
        if self.overflow {
            return self.bad(expr.span);
        }
        let typed = match &expr.kind {
            ExprKind::Text(text) => {
                let val = self.text_constant(text);
                let chars = small(text.chars().count());
                Some(self.constant_value(val, Kind::Text(Some(chars)), expr.span))
            }
            ExprKind::Number(n) => {
                Some(self.constant_value(Val::Num(n.unscaled, n.scale), Kind::Decimal(digits_of(*n)), expr.span))
            }
            ExprKind::Bool(value) => Some(self.constant_value(Val::Bool(*value), Kind::Bool, expr.span)),
            ExprKind::Date(days) => Some(self.constant_value(Val::Date(*days), Kind::Date, expr.span)),
            ExprKind::Absent => {
                let id = self.expr(Expr::Absent);
                Some(Typed { id, ty: Ty { kind: Kind::Absent, maybe: true }, reads: Reads::default(), span: expr.span })
            }
            ExprKind::Path(path) => self.path_or_local(path),
            ExprKind::Call { name, arguments, field } => self.call(name, arguments, field.as_ref(), expr.span),
            ExprKind::Aggregate { name, value, path, filter, separator } => {
                self.fold(name, value.as_deref(), path, filter.as_deref(), separator.as_deref(), expr.span)
            }
            ExprKind::Unary(op, inner) => self.unary(*op, inner, expr.span),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, expr.span),
            ExprKind::If { condition, then, otherwise } => {
                self.choice(condition, then, otherwise.as_deref(), expr.span)
            }
            ExprKind::Match { subject, arms, otherwise } => {
                self.match_value(subject, arms, otherwise.as_deref(), expr.span)
            }
            ExprKind::In { value, set, negated } => self.member(value, set, *negated, expr.span),
            ExprKind::Bad => None,
        };
        let typed = typed.unwrap_or_else(|| self.bad(expr.span));
        // An expression has no type only if it has an error; its statement is dropped.
        if typed.ty.is_bad() && !self.is_uncalled && self.untyped.is_none() {
            self.untyped = Some(expr.span);
        }
        typed
    }

    pub(crate) fn bad(&mut self, span: Span) -> Typed {
        let id = self.expr(Expr::Absent);
        Typed { id, ty: Ty::BAD, reads: Reads::default(), span }
    }

    pub(crate) fn constant_value(&mut self, val: Val, kind: Kind, span: Span) -> Typed {
        let id = self.expr(Expr::Const(val));
        Typed { id, ty: Ty::new(kind), reads: Reads::default(), span }
    }

    fn path_or_local(&mut self, path: &Path) -> Option<Typed> {
        let first = &path.steps[0];
        let found = (self.locals_from..self.locals.len()).rev().find(|at| self.locals[*at].name == first.name.text);
        if let Some(at) = found {
            self.locals[at].used = true;
            let local = self.locals[at].clone();
            if path.steps.len() > 1 || first.select.is_some() {
                self.error(codes::NO_LIST, path.span, format!("`{}` is a value and has no parts", local.name)).hint =
                    Some("write its name alone".to_owned());
                return None;
            }
            let id = self.expr(local.expr);
            return Some(Typed { id, ty: local.ty, reads: local.reads, span: path.span });
        }
        if first.name.text == "envelope" && path.steps.len() == 2 && first.select.is_none() && !self.chain.is_empty() {
            let shadowed = self.chain.iter().any(|context| self.source.child(context.node, "envelope").is_some());
            if !shadowed {
                let name = &path.steps[1].name.text;
                let slot = self.envelope_in.iter().position(|known| known == name).unwrap_or_else(|| {
                    self.envelope_in.push(name.clone());
                    self.envelope_in.len() - 1
                });
                let id = self.expr(Expr::Envelope(u16::try_from(slot).unwrap_or(u16::MAX)));
                let ty = Ty { kind: Kind::Text(None), maybe: true };
                return Some(Typed { id, ty, reads: Reads::default(), span: path.span });
            }
        }
        self.path_value(path)
    }

    /// Checks an expression that must be true or false.
    pub(crate) fn condition(&mut self, expr: &ast::Expr) -> Typed {
        let typed = self.expression(expr);
        match typed.ty.kind {
            Kind::Bool | Kind::Bad => typed,
            kind => {
                let hint = match &expr.kind {
                    ExprKind::Path(_) => "compare it, or ask whether it is there: present(…)",
                    _ => "compare it with something",
                };
                self.error(codes::TYPE, expr.span, format!("a condition is true or false; this is {kind}")).hint =
                    Some(hint.to_owned());
                Typed { ty: Ty::BAD, ..typed }
            }
        }
    }

    /// Checks an expression that must be text; numbers are converted.
    pub(crate) fn text(&mut self, expr: &ast::Expr) -> Typed {
        let typed = self.expression(expr);
        self.as_text(typed)
    }

    pub(crate) fn as_text(&mut self, typed: Typed) -> Typed {
        match typed.ty.kind {
            Kind::Text(_) | Kind::Bad | Kind::Absent => typed,
            Kind::Decimal(digits) => {
                let id = self.expr(Expr::Text(typed.id));
                Typed { id, ty: Ty { kind: Kind::Text(digits.chars()), ..typed.ty }, ..typed }
            }
            kind => {
                let hint = match kind {
                    Kind::Date | Kind::Time | Kind::DateTime => "write it in a format: format(…, \"CCYYMMDD\")",
                    Kind::Bool => "choose a text: if … then \"Y\" else \"N\"",
                    Kind::Float => "round it to a number of decimals: round(…, 2)",
                    _ => "turn it into text: hex(…)",
                };
                self.error(codes::TYPE, typed.span, format!("text is needed here; this is {kind}")).hint =
                    Some(hint.to_owned());
                Typed { ty: Ty::BAD, ..typed }
            }
        }
    }

    pub(crate) fn number(&mut self, expr: &ast::Expr) -> Typed {
        let typed = self.expression(expr);
        self.as_number(typed)
    }

    pub(crate) fn as_number(&mut self, typed: Typed) -> Typed {
        match typed.ty.kind {
            Kind::Decimal(_) | Kind::Float | Kind::Bad | Kind::Absent => typed,
            kind => {
                let hint = match kind {
                    Kind::Text(_) => "turn it into a number: number(…); texts are joined by `&`",
                    _ => "name a number",
                };
                self.error(codes::TYPE, typed.span, format!("a number is needed here; this is {kind}")).hint =
                    Some(hint.to_owned());
                Typed { ty: Ty::BAD, ..typed }
            }
        }
    }

    fn unary(&mut self, op: Unary, inner: &ast::Expr, span: Span) -> Option<Typed> {
        match op {
            Unary::Not => {
                let typed = self.condition(inner);
                let id = self.expr(Expr::Not(typed.id));
                Some(Typed { id, ty: Ty::BOOL, span, ..typed })
            }
            Unary::Minus => {
                let typed = self.number(inner);
                let id = self.expr(Expr::Minus(typed.id));
                let kind = match typed.ty.kind {
                    Kind::Decimal(digits) => Kind::Decimal(Digits { signed: true, ..digits }),
                    kind => kind,
                };
                Some(Typed { id, ty: Ty { kind, ..typed.ty }, span, ..typed })
            }
        }
    }

    fn binary(&mut self, op: Binary, left: &ast::Expr, right: &ast::Expr, span: Span) -> Option<Typed> {
        match op {
            Binary::And | Binary::Or => {
                let (a, b) = (self.condition(left), self.condition(right));
                let id =
                    if op == Binary::And { self.expr(Expr::And(a.id, b.id)) } else { self.expr(Expr::Or(a.id, b.id)) };
                Some(self.both(id, Ty::BOOL, a, b, span))
            }
            Binary::Concat => {
                let mut parts = Vec::new();
                self.concat_parts(left, &mut parts);
                self.concat_parts(right, &mut parts);
                Some(self.concat(&parts, span))
            }
            Binary::Otherwise => {
                let (mut a, b) = (self.expression(left), self.expression(right));
                self.quiet(&mut a);
                if self.is_never_blank(&a) && !self.reads_occurrence(left) {
                    self.warning(
                        codes::NEVER,
                        right.span,
                        "this is never used: the value left of `??` is always present",
                    )
                    .hint = Some("remove `??` and what follows".to_owned());
                }
                let joined = self.joined(&a, &b, "the values around `??`")?;
                let id = self.expr(Expr::Otherwise(a.id, b.id));
                let ty = Ty { maybe: b.ty.maybe, ..joined };
                Some(self.both(id, ty, a, b, span))
            }
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => {
                self.arithmetic(op, left, right, span)
            }
            _ => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.compare(op, a, b, span)
            }
        }
    }

    /// Returns true if a value is certainly neither absent nor an empty text, which `??` and `present` take as absent.
    pub(super) fn is_never_blank(&self, value: &Typed) -> bool {
        let may_be_blank = |(_, leaf): &(u16, NodeId)| {
            let is_text = matches!(self.source.node(*leaf).scalar(), Some(Scalar::Text { .. }));
            self.rules.may_be_blank(*leaf, is_text)
        };
        let may_be_empty = match self.exprs[value.id as usize] {
            Expr::Const(Val::Text(text) | Val::Ascii(text)) => text.len == 0,
            Expr::Call { function, .. } => matches!(value.ty.kind, Kind::Text(_)) && function != Builtin::FormatDate,
            _ => false,
        };
        let Reads { nodes, vars, .. } = &value.reads;
        !(value.ty.maybe || value.ty.is_bad() || may_be_empty || !vars.is_empty() || nodes.iter().any(may_be_blank))
    }

    /// Returns true if an expression reads the current value of a list of values, which may be empty in the source.
    fn reads_occurrence(&self, expr: &ast::Expr) -> bool {
        let mut names = Vec::new();
        expr.first_names(&mut names);
        self.chain.iter().filter(|context| self.source.node(context.node).scalar().is_some()).any(|context| {
            names.iter().any(|name| *name == "it" || context.binding.as_ref().is_some_and(|own| own.text == *name))
        })
    }

    fn concat_parts(&mut self, expr: &ast::Expr, parts: &mut Vec<Typed>) {
        if let ExprKind::Binary(Binary::Concat, left, right) = &expr.kind {
            self.concat_parts(left, parts);
            self.concat_parts(right, parts);
        } else {
            let part = self.text(expr);
            parts.push(part);
        }
    }

    /// Builds `join`: the first part separates the others that are neither absent nor empty.
    pub(super) fn join_texts(&mut self, parts: &[Typed], span: Span) -> Typed {
        let separator = match parts[0].ty.kind {
            Kind::Text(max) => max,
            _ => Some(0),
        };
        let whole = self.concat(&parts[1..], span);
        let kind = match (whole.ty.kind, separator) {
            (Kind::Text(Some(max)), Some(separator)) => {
                let between = u32::try_from(parts.len() - 2).ok().and_then(|n| n.checked_mul(separator));
                Kind::Text(between.and_then(|between| max.checked_add(between)))
            }
            (Kind::Text(_), _) => Kind::Text(None),
            (kind, _) => kind,
        };
        let (first, count) = self.list(parts);
        let id = self.expr(Expr::Joined { first, count });
        let mut reads = whole.reads;
        reads.add(&parts[0].reads);
        // Texts may be empty, and then nothing is there.
        Typed { id, ty: Ty { kind, maybe: true }, reads, ..whole }
    }

    /// Builds a concatenation. Absent parts add nothing; the result is absent if all parts are.
    fn concat(&mut self, parts: &[Typed], span: Span) -> Typed {
        let (first, count) = self.list(parts);
        let id = self.expr(Expr::Concat { first, count });
        let max = parts.iter().try_fold(0u32, |sum, part| match part.ty.kind {
            Kind::Text(Some(max)) => sum.checked_add(max),
            Kind::Absent => Some(sum),
            _ => None,
        });
        let mut reads = Reads::default();
        for part in parts {
            reads.add(&part.reads);
        }
        let bad = parts.iter().any(|part| part.ty.is_bad());
        let kind = if bad { Kind::Bad } else { Kind::Text(max) };
        Typed { id, ty: Ty { kind, maybe: parts.iter().all(|part| part.ty.maybe) }, reads, span }
    }

    pub(crate) fn list(&mut self, parts: &[Typed]) -> (u32, u32) {
        let first = small(self.lists.len());
        self.lists.extend(parts.iter().map(|part| part.id));
        (first, small(parts.len()))
    }

    pub(crate) fn both(&mut self, id: u32, ty: Ty, a: Typed, b: Typed, span: Span) -> Typed {
        let mut reads = a.reads;
        reads.add(&b.reads);
        Typed { id, ty, reads, span }
    }

    fn joined(&mut self, a: &Typed, b: &Typed, what: &str) -> Option<Ty> {
        let joined = a.ty.join(b.ty);
        if joined.is_none() {
            let message = format!("{what} differ in type: {} and {}", a.ty.kind, b.ty.kind);
            let hint = match (a.ty.kind, b.ty.kind) {
                (Kind::Text(_), Kind::Decimal(_)) | (Kind::Decimal(_), Kind::Text(_)) => {
                    "make both text by text(…), or both numbers by number(…)"
                }
                _ => "give both one type",
            };
            self.error(codes::TYPE, b.span, message).hint = Some(hint.to_owned());
        }
        joined
    }

    fn arithmetic(&mut self, op: Binary, left: &ast::Expr, right: &ast::Expr, span: Span) -> Option<Typed> {
        let (a, b) = (self.number(left), self.number(right));
        let maybe = a.ty.maybe || b.ty.maybe;
        let (x, y) = match (a.ty.kind, b.ty.kind) {
            (Kind::Decimal(x), Kind::Decimal(y)) => (x, y),
            (Kind::Bad, _) | (_, Kind::Bad) => return None,
            (Kind::Absent, _) | (_, Kind::Absent) => {
                self.error(codes::TYPE, span, "`absent` is not a number").hint = Some("write a number".to_owned());
                return None;
            }
            _ => {
                let float = match op {
                    Binary::Add => FloatOp::Add,
                    Binary::Subtract => FloatOp::Subtract,
                    Binary::Multiply => FloatOp::Multiply,
                    _ => FloatOp::Divide,
                };
                let id = self.expr(Expr::FloatOp(float, a.id, b.id));
                return Some(self.both(id, Ty { kind: Kind::Float, maybe }, a, b, span));
            }
        };
        let bounded = |whole: Option<u16>| whole.filter(|whole| *whole <= 38);
        let (expr, kind) = match op {
            Binary::Add | Binary::Subtract => {
                let signed = x.signed || y.signed || op == Binary::Subtract;
                let digits = Digits {
                    whole: bounded(x.whole.zip(y.whole).map(|(x, y)| x.max(y) + 1)),
                    scale: x.scale.zip(y.scale).map(|(x, y)| x.max(y)),
                    signed,
                    sum_of: x.sum_of.max(y.sum_of),
                };
                let expr = if op == Binary::Add { Expr::Add(a.id, b.id) } else { Expr::Subtract(a.id, b.id) };
                (expr, Kind::Decimal(digits))
            }
            Binary::Multiply => {
                let digits = Digits {
                    whole: bounded(x.whole.zip(y.whole).map(|(x, y)| x + y)),
                    scale: x.scale.zip(y.scale).map(|(x, y)| x.saturating_add(y)),
                    signed: x.signed || y.signed,
                    sum_of: x.sum_of.max(y.sum_of),
                };
                (Expr::Multiply(a.id, b.id), Kind::Decimal(digits))
            }
            _ => {
                self.error(codes::QUOTIENT, span, "a quotient has no last digit").hint =
                    Some("give the number of decimals: round(a / b, 2), or round(a / b, 2, half-even)".to_owned());
                return None;
            }
        };
        let id = self.expr(expr);
        Some(self.both(id, Ty { kind, maybe }, a, b, span))
    }

    pub(crate) fn compare(&mut self, op: Binary, a: Typed, b: Typed, span: Span) -> Option<Typed> {
        let (mut a, mut b) = (a, b);
        match (a.ty.kind, b.ty.kind) {
            (Kind::Bad, _) | (_, Kind::Bad) => return None,
            (Kind::Absent, _) | (_, Kind::Absent) => {
                let other = if a.ty.kind == Kind::Absent { b.span } else { a.span };
                let name = self.slice(other).to_owned();
                self.error(codes::NEVER, span, "`absent` equals nothing, so this never holds").hint =
                    Some(format!("ask `present({name})` or `not present({name})`"));
                return None;
            }
            (Kind::Decimal(_), Kind::Float) | (Kind::Float, Kind::Decimal(_)) => {
                a.ty.kind = Kind::Float;
                b.ty.kind = Kind::Float;
            }
            _ => {}
        }
        if a.ty.join(b.ty).is_none() {
            let message = format!("{} is compared with {}", a.ty.kind, b.ty.kind);
            let hint = match (a.ty.kind, b.ty.kind) {
                (Kind::Text(_), Kind::Decimal(_)) if matches!(self.exprs[b.id as usize], Expr::Const(_)) => {
                    format!("compare it with text: \"{}\"", self.slice(b.span))
                }
                (Kind::Decimal(_), Kind::Text(_)) if matches!(self.exprs[a.id as usize], Expr::Const(_)) => {
                    format!("compare it with text: \"{}\"", self.slice(a.span))
                }
                (Kind::Text(_), Kind::Decimal(_)) | (Kind::Decimal(_), Kind::Text(_)) => {
                    "turn the text into a number: number(…)".to_owned()
                }
                (Kind::Text(_), Kind::Date | Kind::Time | Kind::DateTime)
                | (Kind::Date | Kind::Time | Kind::DateTime, Kind::Text(_)) => {
                    "read the text as a date: date(…, \"CCYYMMDD\")".to_owned()
                }
                _ => "compare values of one type".to_owned(),
            };
            self.error(codes::TYPE, span, message).hint = Some(hint);
            return None;
        }
        let compare = match op {
            Binary::Equal => Compare::Equal,
            Binary::Unequal => Compare::Unequal,
            Binary::Less => Compare::Less,
            Binary::LessEqual => Compare::LessEqual,
            Binary::Greater => Compare::Greater,
            _ => Compare::GreaterEqual,
        };
        self.impossible(compare, &a, &b, span);
        let id = self.expr(Expr::Compare(compare, order_of(a.ty.kind), a.id, b.id));
        Some(self.both(id, Ty::BOOL, a, b, span))
    }

    /// Comparisons with constants that a value of its type never equals.
    fn impossible(&mut self, compare: Compare, a: &Typed, b: &Typed, span: Span) {
        let constant = |this: &Self, typed: &Typed| match this.exprs[typed.id as usize] {
            Expr::Const(val) => Some(val),
            _ => None,
        };
        let (x, y) = (constant(self, a), constant(self, b));
        if x.is_some() && y.is_some() {
            self.warning(codes::CONSTANT, span, "two constants are compared: the answer is always the same").hint =
                Some("compare a value of the source with one of them".to_owned());
            return;
        }
        let (known, other, val) = match (x, y) {
            (Some(val), None) => (a, b, val),
            (None, Some(val)) => (b, a, val),
            _ => return,
        };
        let never = match (self.known_text(known), &self.exprs[other.id as usize]) {
            (Some(text), Expr::Slot { statement_node, .. }) => self.rules.source(*statement_node, &text),
            _ => None,
        };
        let reason = match (known.ty.kind, other.ty.kind, val) {
            (Kind::Text(Some(len)), Kind::Text(Some(max)), _) if len > max => {
                format!("it has {len} characters, but the compared value has at most {max}")
            }
            (Kind::Decimal(n), Kind::Decimal(bound), _) if n.whole > bound.whole && bound.whole.is_some() => {
                format!(
                    "it has {} digits, but the compared value has at most {}",
                    n.whole.unwrap_or(0),
                    bound.whole.unwrap_or(0)
                )
            }
            (_, Kind::Decimal(Digits { signed: false, .. }), Val::Num(n, _)) if n < 0 => {
                "it is below zero, but the compared value never is".to_owned()
            }
            _ if never.is_some() => never.unwrap_or_default(),
            _ => return,
        };
        match compare {
            Compare::Equal => self.warning(codes::NEVER, span, format!("this never holds: {reason}")),
            Compare::Unequal => self.warning(codes::NEVER, span, format!("this always holds: {reason}")),
            _ => return,
        }
        .hint = Some("correct the constant".to_owned());
    }

    fn choice(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: Option<&ast::Expr>,
        span: Span,
    ) -> Option<Typed> {
        let condition = self.condition(condition);
        self.constant_condition(&condition);
        let then = self.expression(then);
        let otherwise = match otherwise {
            Some(otherwise) => self.expression(otherwise),
            None => {
                let id = self.expr(Expr::Absent);
                Typed { id, ty: Ty { kind: Kind::Absent, maybe: true }, reads: Reads::default(), span }
            }
        };
        let ty = self.joined(&then, &otherwise, "the values of `then` and `else`")?;
        let id = self.expr(Expr::If(condition.id, then.id, otherwise.id));
        let mut reads = condition.reads;
        reads.add(&then.reads);
        reads.add(&otherwise.reads);
        Some(Typed { id, ty, reads, span })
    }

    /// Warns about a condition that is a constant.
    pub(crate) fn constant_condition(&mut self, condition: &Typed) {
        if let Expr::Const(Val::Bool(value)) = self.exprs[condition.id as usize] {
            let word = if value { "always holds" } else { "never holds" };
            self.warning(codes::CONSTANT, condition.span, format!("this condition {word}")).hint =
                Some("remove it, and what never happens".to_owned());
        }
    }

    fn match_value(
        &mut self,
        subject: &ast::Expr,
        arms: &[(Vec<Pattern>, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        span: Span,
    ) -> Option<Typed> {
        let subject = self.expression(subject);
        let var = self.new_var("match");
        let conditions = self.patterns(&subject, var, arms.iter().map(|(patterns, _)| patterns.as_slice()));
        let mut value = match otherwise {
            Some(otherwise) => self.expression(otherwise),
            None => {
                let id = self.expr(Expr::Absent);
                Typed { id, ty: Ty { kind: Kind::Absent, maybe: true }, reads: Reads::default(), span }
            }
        };
        let mut arms: Vec<Typed> = arms.iter().map(|(_, arm)| self.expression(arm)).collect();
        while let (Some(arm), Some(condition)) = (arms.pop(), conditions.get(arms.len())) {
            let ty = self.joined(&arm, &value, "the values of the arms")?;
            let id = self.expr(Expr::If(condition.id, arm.id, value.id));
            let mut reads = arm.reads;
            reads.add(&value.reads);
            reads.add(&condition.reads);
            value = Typed { id, ty, reads, span };
        }
        let id = self.expr(Expr::Bind(var, subject.id, value.id));
        let mut reads = subject.reads;
        reads.add(&value.reads);
        Some(Typed { id, ty: value.ty, reads, span })
    }

    /// Conditions of the arms of a match over a bound variable.
    pub(crate) fn patterns<'p>(
        &mut self,
        subject: &Typed,
        var: u16,
        arms: impl Iterator<Item = &'p [Pattern]>,
    ) -> Vec<Typed> {
        let mut seen: HashMap<String, Span> = HashMap::new();
        let mut conditions = Vec::new();
        for patterns in arms {
            let mut all: Vec<Typed> =
                patterns.iter().map(|pattern| self.pattern(subject, var, pattern, &mut seen)).collect();
            // The first pattern is outermost, so a run follows the patterns in a loop.
            let mut condition = all.pop().unwrap_or_else(|| self.bad(subject.span));
            while let Some(before) = all.pop() {
                let id = self.expr(Expr::Or(before.id, condition.id));
                let span = before.span;
                condition = self.both(id, Ty::BOOL, before, condition, span);
            }
            conditions.push(condition);
        }
        conditions
    }

    fn pattern(&mut self, subject: &Typed, var: u16, pattern: &Pattern, seen: &mut HashMap<String, Span>) -> Typed {
        let bound = |this: &mut Self| {
            let id = this.expr(Expr::Bound(var));
            Typed { id, ty: subject.ty, reads: Reads::default(), span: subject.span }
        };
        match pattern {
            Pattern::Value(value) => {
                if matches!(value.kind, ExprKind::Absent) {
                    let left = bound(self);
                    let present = self.expr(Expr::Present(left.id));
                    let id = self.expr(Expr::Not(present));
                    return Typed { id, ty: Ty::BOOL, reads: Reads::default(), span: value.span };
                }
                let key = format!("{:?}", value.kind);
                if matches!(value.kind, ExprKind::Text(_) | ExprKind::Number(_) | ExprKind::Date(_) | ExprKind::Bool(_))
                {
                    if let Some(first) = seen.get(&key).copied() {
                        let line = self.line(first);
                        self.warning(
                            codes::NEVER,
                            value.span,
                            format!("this arm never fires: line {line} has the same value"),
                        )
                        .hint = Some("remove one of them".to_owned());
                    }
                    seen.entry(key).or_insert(value.span);
                }
                let (left, right) = (bound(self), self.expression(value));
                self.compare(Binary::Equal, left, right, value.span).unwrap_or_else(|| self.bad(value.span))
            }
            Pattern::Range(low, high) => {
                let span = low.span.to(high.span);
                let (left, low) = (bound(self), self.expression(low));
                let above = self.compare(Binary::GreaterEqual, left, low, span).unwrap_or_else(|| self.bad(span));
                let (left, high) = (bound(self), self.expression(high));
                let below = self.compare(Binary::LessEqual, left, high, span).unwrap_or_else(|| self.bad(span));
                let id = self.expr(Expr::And(above.id, below.id));
                self.both(id, Ty::BOOL, above, below, span)
            }
        }
    }

    fn member(&mut self, value: &ast::Expr, set: &Set, negated: bool, span: Span) -> Option<Typed> {
        let typed = match set {
            Set::Table(name) => {
                let value = self.text(value);
                let table = self.table(name)?;
                let id = self.expr(Expr::InTable { table, key: value.id });
                Typed { id, ty: Ty::BOOL, span, ..value }
            }
            Set::Values(values) => {
                if values.is_empty() {
                    self.error(codes::NEVER, span, "nothing is in an empty list").hint =
                        Some("write the values".to_owned());
                    return None;
                }
                let value = self.expression(value);
                let var = self.new_var("in");
                let patterns: Vec<Pattern> = values.iter().cloned().map(Pattern::Value).collect();
                let condition = self.patterns(&value, var, core::iter::once(patterns.as_slice())).pop()?;
                let id = self.expr(Expr::Bind(var, value.id, condition.id));
                self.both(id, Ty::BOOL, value, condition, span)
            }
        };
        if !negated {
            return Some(typed);
        }
        let id = self.expr(Expr::Not(typed.id));
        Some(Typed { id, ..typed })
    }

    pub(crate) fn table(&mut self, name: &ast::Name) -> Option<u16> {
        if let Some(table) = self.tables.get_mut(&name.text) {
            table.used = true;
            return Some(table.index);
        }
        if self.is_incomplete {
            return None;
        }
        let near = near::nearest(&name.text, self.tables.keys().map(String::as_str));
        let hint = near::offer(&near).unwrap_or_else(|| format!("define it: table {} {{ \"a\" => \"b\" }}", name.text));
        self.error(codes::UNKNOWN_TABLE, name.span, format!("there is no table `{}`", name.text)).hint = Some(hint);
        None
    }

    /// Builds a call of a builtin function whose operands are checked.
    pub(crate) fn builtin(&mut self, function: Builtin, parts: &[Typed], ty: Ty, span: Span) -> Typed {
        let (first, count) = self.list(parts);
        let id = self.expr(Expr::Call { function, first, count });
        let mut reads = Reads::default();
        for part in parts {
            reads.add(&part.reads);
        }
        Typed { id, ty, reads, span }
    }
}

/// Bounds of a literal.
pub(crate) fn digits_of(n: Decimal) -> Digits {
    let len = n.unscaled.unsigned_abs().to_string().len();
    let scale = n.scale.max(0);
    let whole = len.saturating_sub(usize::try_from(scale).unwrap_or(0));
    Digits {
        whole: Some(u16::try_from(whole).unwrap_or(38)),
        scale: Some(n.scale),
        signed: n.unscaled < 0,
        sum_of: None,
    }
}
