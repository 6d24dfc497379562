//! Resolution of names: paths become operands that segments feed.

use super::parse::{Ast, Path, Reach};
use super::{Asks, CompiledRule, Data, Expression, Feed, Operand, OperandKind, RulePlan, Take};
use crate::guide::compile::{CompiledItem, ItemId, ItemKind, effective, small};
use crate::guide::model::{DataType, Guide, Rule, SegmentUse};

/// A rule that cannot be resolved.
pub(super) struct Unresolved {
    pub(super) message: String,
    pub(super) hint: &'static str,
}

const LATE: &str = "put the rule at the loop around both, at whose end all values are known, or leave `at` out to check it at the end of the transaction";
const PATHS: &str = "paths are loops, then a segment's element: `2400/SV102`, `CLM05-1`";

impl From<String> for Unresolved {
    fn from(message: String) -> Self {
        Unresolved { message, hint: PATHS }
    }
}

/// Items and, by the same index, the uses they came from.
#[derive(Clone, Copy)]
pub(super) struct Structure<'x, 'g> {
    pub(super) guide: &'g Guide,
    pub(super) items: &'x [CompiledItem],
    pub(super) uses: &'x [Option<&'g SegmentUse>],
}

/// Resolves a rule at each loop or segment that it is for.
pub(super) fn lower(
    structure: Structure<'_, '_>,
    rule: &Rule,
    ast: &Ast,
    plan: &mut RulePlan,
) -> Result<(), Unresolved> {
    let Structure { guide, items, uses } = structure;
    let places = scopes(items, &rule.at);
    if places.is_empty() {
        return Err(format!("`at {}` is not a loop or segment of the structure", rule.at).into());
    }
    for at in places {
        let mut lowering = Lowering { guide, items, uses, at, plan, places: Vec::new(), here: None, late: None };
        let test = lowering.expression(ast)?;
        if let Some(message) = lowering.late {
            return Err(Unresolved { message, hint: LATE });
        }
        let (places, here) = (lowering.places, lowering.here);
        let asks = asks(structure, ast);
        let message =
            rule.message.clone().unwrap_or_else(|| format!("the rule is broken: {}", one_line(&rule.expression)));
        let number = small(plan.rules.len());
        plan.rules.push(CompiledRule {
            name: rule.name.as_str().into(),
            message: message.into(),
            warning: rule.warning,
            test,
            places,
            here,
            asks,
        });
        plan.rules_of[at.index()].push(number);
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Loops or segments that `at` names: the last part of a path, with the others around it.
fn scopes(items: &[CompiledItem], at: &str) -> Vec<ItemId> {
    if at.is_empty() {
        return vec![ItemId::TRANSACTION];
    }
    let names: Vec<&str> = at.split('/').collect();
    let fits = |id: &ItemId| {
        let mut this = *id;
        names.iter().rev().all(|name| {
            let found = this != ItemId::TRANSACTION && &*items[this.index()].id == *name;
            this = items[this.index()].parent;
            found
        })
    };
    let all = || (1..items.len()).map(|i| ItemId(small(i)));
    let loops: Vec<ItemId> = all().filter(|id| items[id.index()].kind == ItemKind::Loop).filter(fits).collect();
    if loops.is_empty() { all().filter(fits).collect() } else { loops }
}

/// Last part of a path.
#[derive(Clone, Debug)]
enum Last {
    Loop(String),
    Segment(String),
    Element { tag: String, element: usize, component: usize },
}

struct Lowering<'x, 'g> {
    guide: &'g Guide,
    items: &'x [CompiledItem],
    uses: &'x [Option<&'g SegmentUse>],
    at: ItemId,
    plan: &'x mut RulePlan,
    places: Vec<u32>,
    here: Option<(usize, usize)>,
    /// Message about a path to a segment that may come after the segment of the rule.
    late: Option<String>,
}

impl Lowering<'_, '_> {
    fn expression(&mut self, ast: &Ast) -> Result<Expression, String> {
        let two = |this: &mut Self, pair: &(Ast, Ast)| -> Result<Box<(Expression, Expression)>, String> {
            Ok(Box::new((this.expression(&pair.0)?, this.expression(&pair.1)?)))
        };
        Ok(match ast {
            Ast::Number(number) => Expression::Number(*number),
            Ast::Text(text) => Expression::Text(text.as_bytes().into()),
            Ast::Path(path) => self.value(path)?,
            Ast::Compare(comparison, pair) => Expression::Compare(*comparison, two(self, pair)?),
            Ast::And(pair) => Expression::And(two(self, pair)?),
            Ast::Or(pair) => Expression::Or(two(self, pair)?),
            Ast::Implies(pair) => Expression::Implies(two(self, pair)?),
            Ast::Not(inner) => Expression::Not(Box::new(self.expression(inner)?)),
            Ast::Add(pair) => Expression::Add(two(self, pair)?),
            Ast::Subtract(pair) => Expression::Subtract(two(self, pair)?),
            Ast::Multiply(pair) => Expression::Multiply(two(self, pair)?),
            Ast::In(value, list) => {
                let value = Box::new(self.expression(value)?);
                Expression::In(value, list.iter().map(|one| self.expression(one)).collect::<Result<_, _>>()?)
            }
            Ast::Call(name, arguments) => self.call(name, arguments)?,
        })
    }

    fn call(&mut self, name: &str, arguments: &[Ast]) -> Result<Expression, String> {
        let mut one = |i: usize| self.expression(&arguments[i]).map(Box::new);
        Ok(match name {
            "abs" => Expression::Absolute(one(0)?),
            "length" => Expression::Length(one(0)?),
            "npi" => Expression::ProviderIdentifier(one(0)?),
            "from" => Expression::From(one(0)?),
            "until" => Expression::Until(one(0)?),
            "default" => Expression::Default(Box::new((*one(0)?, *one(1)?))),
            "day" => Expression::Day,
            "round" => {
                let Ast::Number(places) = &arguments[1] else {
                    return Err("`round` takes a number of places as it is written".to_owned());
                };
                let places = (0..=9).find(|n| {
                    places
                        .compare(crate::guide::decimal::Decimal::of(u64::from(*n)))
                        .is_some_and(core::cmp::Ordering::is_eq)
                });
                Expression::Round(one(0)?, places.ok_or("`round` takes 0 to 9 places")?)
            }
            "present" | "absent" => {
                let Ast::Path(path) = &arguments[0] else { return Err(format!("`{name}` takes a path")) };
                let present = Expression::Present(Box::new(self.presence(path)?));
                if name == "present" { present } else { Expression::Not(Box::new(present)) }
            }
            "sum" | "min" | "max" => {
                let kind = match name {
                    "sum" => OperandKind::Sum,
                    "min" => OperandKind::Least,
                    _ => OperandKind::Most,
                };
                self.aggregate(kind, arguments)?
            }
            _ if arguments.iter().any(|argument| !matches!(argument, Ast::Path(_))) => {
                return Err("`count` takes paths".to_owned());
            }
            _ => self.aggregate(OperandKind::Count, arguments)?,
        })
    }

    /// Lowers `sum` and similar functions. Each loop resets its own operands, so each loop that resets values has an operand.
    fn aggregate(&mut self, kind: OperandKind, arguments: &[Ast]) -> Result<Expression, String> {
        let mut operands: Vec<(ItemId, u32)> = Vec::new();
        for argument in arguments {
            let path = self.aggregated(argument)?;
            let (scope, _) = self.resolve(path, &self.last(path)?)?;
            let known = operands.iter().find(|(of, _)| *of == scope).map(|(_, operand)| *operand);
            let operand = known.unwrap_or_else(|| {
                let new = self.operand(kind, 0, 0);
                operands.push((scope, new));
                new
            });
            let computed = (!matches!(argument, Ast::Path(_))).then_some(argument);
            self.feeds(path, operand, computed)?;
        }
        let parts = operands.into_iter().map(|(_, operand)| Expression::Operand(operand));
        let whole = parts.reduce(|one, other| {
            let both = Box::new((one, other));
            match kind {
                OperandKind::Least => Expression::Least(both),
                OperandKind::Most => Expression::Most(both),
                OperandKind::Sum | OperandKind::Count | OperandKind::First => Expression::Add(both),
            }
        });
        whole.ok_or_else(|| "the function needs at least one path".to_owned())
    }

    /// Returns the path of an argument of `sum` and similar functions: a path, or an expression over one segment.
    fn aggregated<'a>(&self, argument: &'a Ast) -> Result<&'a Path, String> {
        if let Ast::Path(path) = argument {
            return Ok(path);
        }
        let mut paths = Vec::new();
        collect(argument, &mut paths);
        let Some(first) = paths.first() else { return Err("the function needs at least one path".to_owned()) };
        let Last::Element { tag, .. } = self.last(first)? else {
            return Err("only elements can be computed with".to_owned());
        };
        for path in &paths {
            let same = matches!(self.last(path)?, Last::Element { tag: other, .. } if other == tag)
                && path.names[..path.names.len() - 1] == first.names[..first.names.len() - 1];
            if !same {
                return Err("what is computed for each must be of one segment".to_owned());
            }
        }
        Ok(first)
    }

    /// Lowers a path to a value.
    fn value(&mut self, path: &Path) -> Result<Expression, String> {
        let last = self.last(path)?;
        let Last::Element { tag, element, component } = &last else {
            return Err(format!("`{}` is not an element", path.names.join("/")));
        };
        if self.is_here(path, tag) {
            let data = self.data(self.at, *element, *component)?;
            self.here = self.here.or(Some((*element, *component)));
            return Ok(Expression::Here { element: *element, component: *component, data });
        }
        let operand = self.operand(OperandKind::First, *element, *component);
        self.feeds(path, operand, None)?;
        self.places.push(operand);
        Ok(Expression::Operand(operand))
    }

    /// Lowers the operand of `present`.
    fn presence(&mut self, path: &Path) -> Result<Expression, String> {
        if let Last::Element { .. } = self.last(path)? {
            return self.value(path);
        }
        let operand = self.operand(OperandKind::Count, 0, 0);
        self.feeds(path, operand, None)?;
        Ok(Expression::Operand(operand))
    }

    /// Returns true if a path names an element of the segment at which the rule is evaluated.
    fn is_here(&self, path: &Path, tag: &str) -> bool {
        let item = &self.items[self.at.index()];
        item.kind == ItemKind::Segment && path.names.len() == 1 && path.filter.is_none() && &*item.id == tag
    }

    fn operand(&mut self, kind: OperandKind, element: usize, component: usize) -> u32 {
        let number = small(self.plan.operands.len());
        self.plan.operands.push(Operand { kind, element, component });
        number
    }

    /// Makes the segments that a path names feed an operand.
    fn feeds(&mut self, path: &Path, operand: u32, computed: Option<&Ast>) -> Result<(), String> {
        let last = self.last(path)?;
        let (scope, found) = self.resolve(path, &last)?;
        self.plan.resets_of[scope.index()].push(operand);
        for item in found {
            if self.may_come_later(item) {
                let (name, at) = (path.names.join("/"), &self.items[self.at.index()].id);
                self.late
                    .get_or_insert_with(|| format!("`{name}` may come after {at}, at which Quayline checks the rule"));
            }
            let filter = path.filter.as_ref().map(|filter| self.here(filter, item)).transpose()?;
            let take = match (computed, &last) {
                (Some(computed), _) => Take::Computed(self.here(computed, item)?),
                (None, &Last::Element { element, component, .. }) => {
                    Take::Element { element, component, data: self.data(item, element, component)? }
                }
                (None, _) => Take::Segment,
            };
            self.plan.feeds.push(Feed { item, operand, filter, take });
        }
        Ok(())
    }

    /// Returns true if a segment may come after the segment or loop at which the rule is evaluated, in the same repetition of the loop around both.
    /// Items of one position come in any order.
    fn may_come_later(&self, target: ItemId) -> bool {
        if self.at == ItemId::TRANSACTION {
            return false;
        }
        let (mut own, mut other) = (self.at, target);
        while self.items[own.index()].parent != self.items[other.index()].parent {
            let deeper =
                if self.items[own.index()].depth < self.items[other.index()].depth { &mut other } else { &mut own };
            *deeper = self.items[deeper.index()].parent;
        }
        if own == other {
            // The segment itself, or one inside the loop.
            return false;
        }
        let (own, other) = (&self.items[own.index()], &self.items[other.index()]);
        !other.is_trigger && (own.is_trigger || own.rank <= other.rank)
    }

    /// Lowers an expression over elements of one segment.
    fn here(&self, ast: &Ast, item: ItemId) -> Result<Expression, String> {
        let tag = &*self.items[item.index()].id;
        let two = |pair: &(Ast, Ast)| -> Result<Box<(Expression, Expression)>, String> {
            Ok(Box::new((self.here(&pair.0, item)?, self.here(&pair.1, item)?)))
        };
        Ok(match ast {
            Ast::Path(path) => {
                let Last::Element { tag: other, element, component } = self.last(path)? else {
                    return Err(format!("`{}` is not an element of {tag}", path.names.join("/")));
                };
                if other != tag || path.filter.is_some() {
                    return Err(format!("`{}` is not an element of {tag}", path.names.join("/")));
                }
                let data = self.data(item, element, component)?;
                Expression::Here { element, component, data }
            }
            Ast::Number(number) => Expression::Number(*number),
            Ast::Text(text) => Expression::Text(text.as_bytes().into()),
            Ast::Compare(comparison, pair) => Expression::Compare(*comparison, two(pair)?),
            Ast::And(pair) => Expression::And(two(pair)?),
            Ast::Or(pair) => Expression::Or(two(pair)?),
            Ast::Implies(pair) => Expression::Implies(two(pair)?),
            Ast::Not(inner) => Expression::Not(Box::new(self.here(inner, item)?)),
            Ast::Add(pair) => Expression::Add(two(pair)?),
            Ast::Subtract(pair) => Expression::Subtract(two(pair)?),
            Ast::Multiply(pair) => Expression::Multiply(two(pair)?),
            Ast::In(value, list) => {
                let value = Box::new(self.here(value, item)?);
                Expression::In(value, list.iter().map(|one| self.here(one, item)).collect::<Result<_, _>>()?)
            }
            Ast::Call(name @ ("present" | "absent"), arguments) => {
                let present = Expression::Present(Box::new(self.here(&arguments[0], item)?));
                if *name == "present" { present } else { Expression::Not(Box::new(present)) }
            }
            Ast::Call("abs", arguments) => Expression::Absolute(Box::new(self.here(&arguments[0], item)?)),
            Ast::Call("default", arguments) => {
                Expression::Default(Box::new((self.here(&arguments[0], item)?, self.here(&arguments[1], item)?)))
            }
            Ast::Call("from", arguments) => Expression::From(Box::new(self.here(&arguments[0], item)?)),
            Ast::Call("until", arguments) => Expression::Until(Box::new(self.here(&arguments[0], item)?)),
            Ast::Call("length", arguments) => Expression::Length(Box::new(self.here(&arguments[0], item)?)),
            Ast::Call("npi", arguments) => Expression::ProviderIdentifier(Box::new(self.here(&arguments[0], item)?)),
            Ast::Call("day", _) => Expression::Day,
            Ast::Call(name, _) => return Err(format!("`{name}` is not valid in brackets of one segment")),
        })
    }

    /// Parses the last name of a path: a loop, a tag, or a tag with an element.
    fn last(&self, path: &Path) -> Result<Last, String> {
        let name = path.names.last().map_or("", String::as_str);
        let has = |kind: ItemKind| self.items.iter().skip(1).any(|item| item.kind == kind && &*item.id == name);
        if has(ItemKind::Loop) {
            return Ok(Last::Loop(name.to_owned()));
        }
        if has(ItemKind::Segment) {
            return Ok(Last::Segment(name.to_owned()));
        }
        let (reference, component) = match name.split_once('-') {
            Some((reference, component)) => (reference, component.parse().ok()),
            None => (name, Some(0)),
        };
        let split = reference.len().checked_sub(2).filter(|at| reference.is_char_boundary(*at));
        let element = split.map(|at| (&reference[..at], reference[at..].parse::<usize>().ok()));
        match (element, component) {
            (Some((tag, Some(element @ 1..))), Some(component))
                if self.items.iter().skip(1).any(|item| item.kind == ItemKind::Segment && &*item.id == tag) =>
            {
                Ok(Last::Element { tag: tag.to_owned(), element, component })
            }
            _ => Err(format!("`{name}` is not a loop, segment or element of the guide's structure")),
        }
    }

    /// Returns the representation of an element at its place.
    fn data(&self, item: ItemId, element: usize, component: usize) -> Result<Data, String> {
        let at_place = self.uses[item.index()].and_then(|segment| {
            let simple = (component <= 1).then(|| effective::element(self.guide, segment, element, 0)).flatten();
            simple.or_else(|| effective::element(self.guide, segment, element, component.max(1)))
        });
        let found = at_place.ok_or_else(|| {
            let part = if component > 0 { format!("-{component}") } else { String::new() };
            format!("{} has no element {element:02}{part}", self.items[item.index()].id)
        })?;
        Ok(match found.data_type {
            DataType::Implied(places) => Data::Number(u32::from(places)),
            DataType::Decimal | DataType::Number => Data::Number(0),
            DataType::Date => Data::Date,
            _ => Data::Text,
        })
    }

    /// Returns the loop that resets a path's values, and the segments that the path names.
    fn resolve(&self, path: &Path, last: &Last) -> Result<(ItemId, Vec<ItemId>), String> {
        let loops = &path.names[..path.names.len() - 1];
        let scope = match self.items[self.at.index()].kind {
            ItemKind::Loop => self.at,
            ItemKind::Segment => self.items[self.at.index()].parent,
        };
        let inside = self.named(scope, loops, last);
        let direct = |scope: ItemId| -> Vec<ItemId> {
            self.named(scope, &[], last).into_iter().filter(|id| self.holder(*id, last) == scope).collect()
        };
        let found = match path.reach {
            Reach::Own => direct(scope),
            Reach::All => inside,
            Reach::Nearest if loops.is_empty() => {
                let own = direct(scope);
                if own.is_empty() { inside } else { own }
            }
            Reach::Nearest => inside,
        };
        if !found.is_empty() {
            return Ok((scope, found));
        }
        // Around it, the nearest loop first.
        let mut around = scope;
        while around != ItemId::TRANSACTION && path.reach == Reach::Nearest {
            around = self.items[around.index()].parent;
            let named = loops.last().is_none_or(|name| *name == *self.items[around.index()].id);
            let found = if named { direct(around) } else { Vec::new() };
            if !found.is_empty() {
                return Ok((around, found));
            }
        }
        Err(format!("`{}` names nothing in, inside or around the place of the rule", path.names.join("/")))
    }

    /// Returns the loop that contains the target of a path.
    fn holder(&self, id: ItemId, last: &Last) -> ItemId {
        let parent = self.items[id.index()].parent;
        if matches!(last, Last::Loop(_)) { self.items[parent.index()].parent } else { parent }
    }

    /// Segments inside a loop that a path names; of loops, their triggers.
    fn named(&self, scope: ItemId, loops: &[String], last: &Last) -> Vec<ItemId> {
        let inside = (scope.0 + 1..self.items[scope.index()].end.0).map(ItemId);
        inside
            .filter(|id| {
                let item = &self.items[id.index()];
                match last {
                    Last::Loop(name) => item.kind == ItemKind::Loop && *item.id == **name,
                    Last::Segment(tag) | Last::Element { tag, .. } => {
                        item.kind == ItemKind::Segment && *item.id == **tag
                    }
                }
            })
            .filter(|id| {
                let mut names = loops.iter().rev();
                let Some(mut next) = names.next() else { return true };
                let mut at = self.items[id.index()].parent;
                // The last loop of the path must contain it directly.
                if *self.items[at.index()].id != **next {
                    return false;
                }
                loop {
                    if *self.items[at.index()].id == **next {
                        match names.next() {
                            Some(name) => next = name,
                            None => return true,
                        }
                    }
                    if at == scope || at == ItemId::TRANSACTION {
                        return false;
                    }
                    at = self.items[at.index()].parent;
                }
            })
            .map(|id| if matches!(last, Last::Loop(_)) { ItemId(id.0 + 1) } else { id })
            .collect()
    }
}

/// Paths of an expression.
fn collect<'a>(ast: &'a Ast, out: &mut Vec<&'a Path>) {
    match ast {
        Ast::Path(path) => out.push(path),
        Ast::Number(_) | Ast::Text(_) => {}
        Ast::Not(inner) => collect(inner, out),
        Ast::Call(_, arguments) => arguments.iter().for_each(|argument| collect(argument, out)),
        Ast::In(value, list) => {
            collect(value, out);
            list.iter().for_each(|one| collect(one, out));
        }
        Ast::Compare(_, pair)
        | Ast::And(pair)
        | Ast::Or(pair)
        | Ast::Implies(pair)
        | Ast::Add(pair)
        | Ast::Subtract(pair)
        | Ast::Multiply(pair) => {
            collect(&pair.0, out);
            collect(&pair.1, out);
        }
    }
}

/// Returns the requirement of a rule: the part after `then`, or the complete rule.
fn asks(structure: Structure<'_, '_>, ast: &Ast) -> Asks {
    let Structure { guide, items, uses } = structure;
    let (path, there) = match ast {
        Ast::Implies(pair) => return asks(structure, &pair.1),
        Ast::Call("present", arguments) => (&arguments[0], true),
        Ast::Call("absent", arguments) => (&arguments[0], false),
        Ast::Not(inner) => {
            return match asks(structure, inner) {
                Asks::Presence { there, tag, element, component } => {
                    Asks::Presence { there: !there, tag, element, component }
                }
                Asks::Value => Asks::Value,
            };
        }
        _ => return Asks::Value,
    };
    let Ast::Path(path) = path else { return Asks::Value };
    let mut plan = RulePlan::default();
    let at = ItemId::TRANSACTION;
    let lowering = Lowering { guide, items, uses, at, plan: &mut plan, places: Vec::new(), here: None, late: None };
    match lowering.last(path) {
        Ok(Last::Element { tag, element, component }) => Asks::Presence { there, tag: tag.into(), element, component },
        Ok(Last::Segment(tag)) => Asks::Presence { there, tag: tag.into(), element: 0, component: 0 },
        Ok(Last::Loop(name)) => {
            let trigger = items.iter().position(|item| item.kind == ItemKind::Loop && *item.id == *name);
            let tag = trigger.and_then(|at| items.get(at + 1)).map_or(name.as_str().into(), |item| item.id.clone());
            Asks::Presence { there, tag, element: 0, component: 0 }
        }
        Err(_) => Asks::Value,
    }
}
