//! Values made of all occurrences of a list: `sum`, `count`, `any`, …

use quayline_core::{NodeId, Occurs};

use super::source::{At, Context, Through};
use super::types::{Digits, Kind, Ty};
use super::{Lower, Reads, Typed};
use crate::codes;
use crate::plan::{Expr, FoldOp, FoldPlan, Order};
use crate::syntax::ast::{self, Name, Path};
use crate::syntax::text::Span;

impl Lower<'_> {
    pub(crate) fn fold(
        &mut self,
        name: &Name,
        value: Option<&ast::Expr>,
        path: &Path,
        filter: Option<&ast::Expr>,
        separator: Option<&ast::Expr>,
        span: Span,
    ) -> Option<Typed> {
        let op = match name.text.as_str() {
            "count" => FoldOp::Count,
            "sum" => FoldOp::Sum,
            "min" => FoldOp::Min,
            "max" => FoldOp::Max,
            "any" => FoldOp::Any,
            "all" => FoldOp::All,
            _ => FoldOp::Join,
        };
        let base = self.follow(path, Through::Lists)?;
        if base.lists.is_empty() {
            let name = path.steps.last().map_or("", |step| step.name.text.as_str()).to_owned();
            self.error(codes::NO_LIST, path.span, format!("`{name}` does not repeat, so there is nothing to fold"))
                .hint = Some("name a list of the source after `for`".to_owned());
            return None;
        }
        let (depth, choices) = (self.chain.len(), self.choices);
        let outer: Vec<u16> = self.chain.iter().map(|context| context.cursor).collect();
        let (mut levels, mut above) = (Vec::new(), base.cursor);
        for list in &base.lists {
            let scope = self.scope(*list);
            let cursor = self.new_cursor(scope, Some(above), Some(self.complete(*list)));
            levels.push((scope, cursor));
            self.chain.push(Context { cursor, node: *list, binding: None, picks: Vec::new() });
            above = cursor;
        }
        self.chain.push(Context { cursor: above, node: base.node, binding: None, picks: Vec::new() });
        let filter = filter.map(|filter| self.condition(filter));
        let filter = self.with_end_of_path(op, &base, above, filter);
        let value = value.map(|value| match op {
            FoldOp::Any | FoldOp::All => self.condition(value),
            FoldOp::Join => self.text(value),
            _ => self.expression(value),
        });
        self.chain.truncate(depth);
        let separator = separator.map(|separator| self.text(separator));

        let mut reads = base.reads.clone();
        let first = base.lists[0];
        reads.add(&self.read(base.cursor, first));
        let mut own = Reads::default();
        for part in [&filter, &value].into_iter().flatten() {
            own.add(&part.reads);
        }
        let cursors: Vec<u16> = levels.iter().map(|(_, cursor)| *cursor).collect();
        let simple =
            self.choices == choices && self.known_before((base.cursor, first), &own, &cursors) && base.picks.is_empty();
        self.choices += 1;
        reads.add(&own);
        if let Some(separator) = &separator {
            reads.add(&separator.reads);
        }
        let kind = value.as_ref().map(|value| value.ty.kind);
        let (kind, order) = self.fold_type(op, kind, &base.lists, value.as_ref().map_or(span, |value| value.span))?;
        let running = simple
            && match op {
                FoldOp::Count | FoldOp::Sum | FoldOp::Any | FoldOp::All => true,
                FoldOp::Min | FoldOp::Max => matches!(order, Order::Number | Order::Moment | Order::Float),
                FoldOp::Join => false,
            };
        let slot = running.then(|| self.new_slot(self.cursors[usize::from(base.cursor)].scope, first));
        let fold = u16::try_from(self.folds.len()).unwrap_or(u16::MAX);
        if self.folds.len() > usize::from(u16::MAX) - 2 {
            self.overflow = true;
        }
        if running {
            let (innermost, _) = levels[levels.len() - 1];
            self.scopes[usize::from(innermost)].folds.push(fold);
        } else {
            for (scope, _) in &levels {
                self.scopes[usize::from(*scope)].retained = true;
            }
        }
        self.folds.push(FoldPlan {
            op,
            owner: base.cursor,
            levels,
            filter: filter.map(|filter| filter.id),
            value: value.as_ref().map(|value| value.id),
            separator: separator.map(|separator| separator.id),
            order,
            slot,
            outer,
            statement: self.statement,
        });
        let mut id = self.expr(Expr::Fold(fold));
        for pick in base.picks.iter().rev() {
            id = self.expr(Expr::Pick { pick: *pick, value: id });
        }
        let maybe = matches!(op, FoldOp::Min | FoldOp::Max | FoldOp::Join);
        Some(Typed { id, ty: Ty { kind, maybe }, reads, span })
    }

    /// Adds to the filter of a fold over `LIST.GROUP` or `LIST.FIELD` that an occurrence has the group or field. Others do not count. An empty text is
    /// a value, but `count` and `present` count it as absent.
    fn with_end_of_path(&mut self, op: FoldOp, base: &At, cursor: u16, filter: Option<Typed>) -> Option<Typed> {
        let node = base.node;
        if base.lists.last() == Some(&node) {
            return filter;
        }
        let span = filter.as_ref().map_or(Span::default(), |filter| filter.span);
        let (id, reads) = if self.source.node(node).scalar().is_some() {
            let slot = self.slot(node);
            let value = match op {
                FoldOp::Count => Expr::Slot { cursor, slot, statement_node: node },
                _ => Expr::PresentSlot { cursor, slot },
            };
            let value = self.expr(value);
            let mut reads = self.read(cursor, node);
            reads.nodes.push((cursor, node));
            (self.expr(Expr::Present(value)), reads)
        } else {
            let at = At { cursor, node, picks: Vec::new(), maybe: true, reads: Reads::default(), lists: Vec::new() };
            self.group_present(&at)
        };
        let mut all = Typed { id, ty: Ty::BOOL, reads, span };
        if let Some(filter) = filter {
            all.id = self.expr(Expr::And(id, filter.id));
            all.reads.add(&filter.reads);
        }
        Some(all)
    }

    fn fold_type(&mut self, op: FoldOp, value: Option<Kind>, lists: &[NodeId], span: Span) -> Option<(Kind, Order)> {
        let most = lists.iter().try_fold(1u64, |most, list| match self.source.node(*list).occurs {
            Occurs::Many { max: Some(max), .. } => most.checked_mul(max.into()),
            _ => None,
        });
        let places = most.map(|most| u16::try_from(most.to_string().len()).unwrap_or(20));
        let kind = match (op, value) {
            (FoldOp::Count, _) => Kind::Decimal(Digits { whole: places, scale: Some(0), signed: false, sum_of: None }),
            (FoldOp::Any | FoldOp::All, _) => Kind::Bool,
            (FoldOp::Join, _) => Kind::Text(None),
            (_, Some(Kind::Bad) | None) => Kind::Bad,
            (FoldOp::Sum, Some(Kind::Decimal(digits))) => Kind::Decimal(Digits {
                whole: digits.whole.zip(places).map(|(digits, places)| digits + places),
                sum_of: if places.is_none() { digits.whole.or(digits.sum_of) } else { digits.sum_of },
                ..digits
            }),
            (FoldOp::Sum, Some(Kind::Float)) => Kind::Float,
            (
                FoldOp::Min | FoldOp::Max,
                Some(
                    kind @ (Kind::Decimal(_) | Kind::Text(_) | Kind::Float | Kind::Date | Kind::Time | Kind::DateTime),
                ),
            ) => kind,
            (_, Some(kind)) => {
                let word = if op == FoldOp::Sum { "sum" } else { "min and max" };
                let hint = if matches!(kind, Kind::Text(_)) {
                    "turn it into a number first: number(…)"
                } else {
                    "name a value that can be added or ordered"
                };
                self.error(codes::TYPE, span, format!("{word} cannot take {kind}")).hint = Some(hint.to_owned());
                return None;
            }
        };
        let order = match value {
            Some(kind) => order_of(kind),
            None => Order::Number,
        };
        Some((kind, order))
    }

    /// Checks `present(LIST)`, which is true if the list has an occurrence.
    pub(crate) fn any_occurrence(&mut self, path: &Path) -> Option<Typed> {
        let name = Name { text: "count".to_owned(), span: path.span };
        let count = self.fold(&name, None, path, None, None, path.span)?;
        let zero = self.expr(Expr::Const(crate::value::Val::int(0)));
        let id = self.expr(Expr::Compare(crate::plan::Compare::Greater, Order::Number, count.id, zero));
        Some(Typed { id, ty: Ty::BOOL, ..count })
    }
}

pub(crate) fn order_of(kind: Kind) -> Order {
    match kind {
        Kind::Decimal(_) => Order::Number,
        Kind::Float => Order::Float,
        Kind::Bool => Order::Bool,
        Kind::Date | Kind::Time | Kind::DateTime => Order::Moment,
        Kind::Bytes(_) => Order::Bytes,
        Kind::Text(_) | Kind::Bad | Kind::Absent => Order::Text,
    }
}
