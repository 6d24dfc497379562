//! Rules while segments pass by: operands are kept, not segments, so memory does not grow with the transaction.

use core::cmp::Ordering;
use std::sync::Arc;

use super::day::{Days, Which, day, days_of_format};
use super::element::Settings;
use super::explain::COPY_MAX;
use crate::characters::first_characters;
use crate::guide::CompiledGuide;
use crate::guide::compile::{ItemId, ItemKind};
use crate::guide::decimal::Decimal;
use crate::guide::rules::{Comparison, Data, Expression, Feed, OperandKind, Take};
use crate::guide::walk::{Mark, Placement};
use crate::segment::{Element, Segment};

/// Bytes of a value that rules compare; longer ones are compared by these.
const VALUE_BYTES_MAX: usize = 512;

/// Computes the rules of one transaction after another.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleRun {
    /// Repetition of repeated elements that expressions see, from 0.
    repetition: usize,
    guide: Option<Arc<CompiledGuide>>,
    held: Vec<Held>,
    /// Loops that are open and that rules look at, the transaction first.
    open: Vec<Open>,
    /// Number of open loops, whether rules use them or not; 1 directly in the transaction.
    depth: u32,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    item: ItemId,
    /// Loops around it, and itself.
    depth: u32,
    /// Position of its beginning.
    at: Mark,
    /// True after another fault inside. A violated balance then does not prove a fault.
    tainted: bool,
}

/// Accumulated value of an operand.
#[derive(Clone, Debug)]
struct Held {
    there: bool,
    /// Numbers that could not be computed with.
    broken: bool,
    number: Decimal,
    text: Vec<u8>,
    /// Representation of `text`, which depends on the place that it comes from.
    data: Data,
    days: Days,
    item: ItemId,
    at: Mark,
}

/// A violated rule with its position.
#[derive(Debug)]
pub(super) struct RuleFault {
    pub(super) rule: usize,
    /// The segment, and its item.
    pub(super) item: ItemId,
    pub(super) at: Mark,
    pub(super) element: usize,
    pub(super) component: usize,
    pub(super) copy: Vec<u8>,
    /// Segment that made the rule's condition true.
    pub(super) trigger: Option<Trigger>,
}

/// A segment and its element that made a condition true.
#[derive(Debug)]
pub(super) struct Trigger {
    pub(super) item: ItemId,
    pub(super) at: Mark,
    pub(super) element: usize,
    pub(super) component: usize,
}

/// A value of an expression.
#[derive(Clone, Copy)]
enum Value<'v> {
    Absent,
    Number(Decimal),
    Text(&'v [u8]),
}

impl RuleRun {
    /// Begins a transaction.
    pub(super) fn start(&mut self, guide: &Arc<CompiledGuide>, settings: Settings, at: Mark) {
        self.open.clear();
        self.settings = settings;
        if guide.rules.feeds_of.is_empty() {
            self.guide = None;
            return;
        }
        let same = self.guide.as_ref().is_some_and(|other| Arc::ptr_eq(other, guide));
        if !same {
            self.guide = Some(Arc::clone(guide));
            self.held.clear();
            self.held.resize(guide.rules.operands.len(), Held::new());
        }
        self.depth = 1;
        self.enter(guide, ItemId::TRANSACTION, at);
    }

    /// Stops the evaluation of rules.
    pub(super) fn stop(&mut self) {
        self.open.clear();
    }

    /// Returns true if rules use the segment at its place; otherwise skips it.
    #[inline(always)]
    pub(super) fn matters(&mut self, placement: &Placement) -> bool {
        let (Some(guide), Some(open)) = (&self.guide, self.open.last()) else { return false };
        let Some(item) = placement.item else { return true };
        let depth = self.depth.saturating_sub(placement.left);
        let weight = guide.rules.weights[item.index()];
        let entered = match placement.entered {
            0 => false,
            1 => weight.trigger,
            _ => true,
        };
        if weight.segment || entered || placement.doubtful || open.depth > depth {
            return true;
        }
        self.depth = depth + placement.entered;
        false
    }

    /// Evaluates the next segment.
    #[inline(never)]
    pub(super) fn segment(
        &mut self,
        placement: &Placement,
        segment: &Segment<'_>,
        at: Mark,
        right: bool,
    ) -> Vec<RuleFault> {
        let mut faults = Vec::new();
        let Some(guide) = self.guide.take() else { return faults };
        self.depth = self.depth.saturating_sub(placement.left);
        while self.open.last().is_some_and(|open| open.depth > self.depth) {
            self.leave(&guide, &mut faults);
        }
        if let Some(item) = placement.item {
            for outer in (0..placement.entered).rev() {
                let mut inner = guide.item(item).parent;
                for _ in 0..outer {
                    inner = guide.item(inner).parent;
                }
                self.depth += 1;
                if guide.rules.weights[inner.index()].inside {
                    self.enter(&guide, inner, at);
                }
            }
            let (from, to) = guide.rules.feeds_of[item.index()];
            let feeds = &guide.rules.feeds[from as usize..to as usize];
            if !right && !feeds.is_empty() {
                self.taint();
            }
            for feed in feeds {
                self.feed(&guide, feed, segment, at);
            }
            for rule in &guide.rules.rules_of[item.index()] {
                // The rules of loops are decided at their ends.
                if guide.item(item).kind == ItemKind::Segment && !self.is_tainted() {
                    self.decide(&guide, *rule as usize, Some(segment), item, at, &mut faults);
                }
            }
        }
        if placement.doubtful {
            self.taint();
        }
        self.guide = Some(guide);
        faults
    }

    /// Ends the transaction.
    pub(super) fn end(&mut self) -> Vec<RuleFault> {
        let mut faults = Vec::new();
        let Some(guide) = self.guide.clone() else { return faults };
        while !self.open.is_empty() {
            self.leave(&guide, &mut faults);
        }
        faults
    }

    /// Records a fault of the structure. A violation in an open loop then does not prove a fault.
    pub(super) fn taint(&mut self) {
        for open in &mut self.open {
            open.tainted = true;
        }
    }

    fn is_tainted(&self) -> bool {
        self.open.last().is_none_or(|open| open.tainted)
    }

    fn enter(&mut self, guide: &CompiledGuide, item: ItemId, at: Mark) {
        for operand in &guide.rules.resets_of[item.index()] {
            let held = &mut self.held[*operand as usize];
            (held.there, held.broken, held.number) = (false, false, Decimal::ZERO);
        }
        self.open.push(Open { item, depth: self.depth, at, tainted: false });
    }

    fn leave(&mut self, guide: &CompiledGuide, faults: &mut Vec<RuleFault>) {
        let Some(open) = self.open.pop() else { return };
        if open.tainted {
            return;
        }
        for rule in &guide.rules.rules_of[open.item.index()] {
            let trigger = if open.item == ItemId::TRANSACTION { open.item } else { ItemId(open.item.0 + 1) };
            self.decide(guide, *rule as usize, None, trigger, open.at, faults);
        }
    }

    fn decide(
        &self,
        guide: &CompiledGuide,
        number: usize,
        segment: Option<&Segment<'_>>,
        item: ItemId,
        at: Mark,
        faults: &mut Vec<RuleFault>,
    ) {
        let rule = &guide.rules.rules[number];
        if self.truth(guide, &rule.test, segment) != Some(false) {
            return;
        }
        let mut fault = RuleFault { rule: number, item, at, element: 0, component: 0, copy: Vec::new(), trigger: None };
        let place = rule.places.iter().find(|operand| self.held[**operand as usize].there);
        if let Some((element, component)) = rule.here {
            (fault.element, fault.component) = (element, component);
        } else if let Some(operand) = place {
            let (held, of) = (&self.held[*operand as usize], &guide.rules.operands[*operand as usize]);
            (fault.item, fault.at, fault.element, fault.component) = (held.item, held.at, of.element, of.component);
            fault.copy = first_characters(&held.text, COPY_MAX, self.settings.single_byte).to_vec();
        }
        if let Expression::Implies(pair) = &rule.test {
            fault.trigger = self.trigger(guide, &pair.0);
        }
        faults.push(fault);
    }

    /// Returns the first value of a condition that is in a segment.
    fn trigger(&self, guide: &CompiledGuide, condition: &Expression) -> Option<Trigger> {
        match condition {
            Expression::Operand(operand) => {
                let (held, of) = (&self.held[*operand as usize], &guide.rules.operands[*operand as usize]);
                let first = matches!(of.kind, OperandKind::First) && held.there;
                first.then_some(Trigger { item: held.item, at: held.at, element: of.element, component: of.component })
            }
            Expression::And(pair) | Expression::Or(pair) | Expression::Implies(pair) | Expression::Compare(_, pair) => {
                self.trigger(guide, &pair.0).or_else(|| self.trigger(guide, &pair.1))
            }
            Expression::In(value, _) => self.trigger(guide, value),
            Expression::Not(inner) | Expression::Present(inner) => self.trigger(guide, inner),
            _ => None,
        }
    }

    /// Takes the values of a segment for an operand: one of each repetition.
    fn feed(&mut self, guide: &CompiledGuide, feed: &Feed, segment: &Segment<'_>, at: Mark) {
        let own = match &feed.take {
            Take::Segment => 1,
            Take::Element { element, .. } => segment.element(*element).map_or(0, |element| repetitions(&element)),
            Take::Computed(_) => all_repetitions(segment),
        };
        // A filter looks at each repetition of its elements, and what is not repeated is taken once.
        let is_once = own == 1;
        let count = if is_once && feed.filter.is_some() { all_repetitions(segment) } else { own };
        if count > REPETITIONS_MAX {
            return self.taint();
        }
        for repetition in 0..count {
            self.repetition = repetition;
            let is_taken = match &feed.filter {
                Some(filter) => self.truth(guide, filter, Some(segment)) == Some(true),
                None => true,
            };
            if is_taken {
                self.feed_one(guide, feed, segment, at);
                if is_once {
                    break;
                }
            }
        }
        self.repetition = 0;
    }

    fn feed_one(&mut self, guide: &CompiledGuide, feed: &Feed, segment: &Segment<'_>, at: Mark) {
        let operand = &guide.rules.operands[feed.operand as usize];
        let mut scratch = Vec::new();
        let mut of_place = Data::Text;
        let value = match &feed.take {
            Take::Segment => Value::Text(b""),
            Take::Element { element, component, data } => {
                let text = text_of(segment, *element, *component, self.repetition, &mut scratch);
                if text.is_empty() {
                    return;
                }
                of_place = *data;
                Value::Text(text)
            }
            Take::Computed(expression) => match self.value(guide, expression, Some(segment)) {
                Value::Number(number) => Value::Number(number),
                _ => return,
            },
        };
        let held = &mut self.held[feed.operand as usize];
        match operand.kind {
            OperandKind::Count => {
                held.there = true;
                held.number = held.number.add(Decimal::of(1)).unwrap_or(held.number);
            }
            OperandKind::First => {
                if let Value::Text(text) = value
                    && !held.there
                {
                    held.there = true;
                    held.text.clear();
                    held.text.extend_from_slice(&text[..text.len().min(VALUE_BYTES_MAX)]);
                    held.data = of_place;
                    held.days = days_of_format(segment, operand.element, operand.component, of_place, self.settings);
                    (held.item, held.at) = (feed.item, at);
                }
            }
            OperandKind::Sum | OperandKind::Least | OperandKind::Most => {
                let implied = if let Data::Number(implied) = of_place { implied } else { 0 };
                let next = match value {
                    Value::Number(number) => Some(number),
                    Value::Text(text) => Decimal::parse(text, self.settings.numbers.mark, implied),
                    Value::Absent => None,
                };
                let result = next.and_then(|next| match operand.kind {
                    OperandKind::Sum => held.number.add(next),
                    _ if !held.there => Some(next),
                    OperandKind::Least => {
                        next.compare(held.number).map(|less| if less.is_lt() { next } else { held.number })
                    }
                    _ => next.compare(held.number).map(|more| if more.is_gt() { next } else { held.number }),
                });
                held.there = true;
                match result {
                    Some(number) => held.number = number,
                    // A value that is not a number has a separate finding.
                    None => held.broken = true,
                }
            }
        }
    }

    /// Evaluates a condition; `None` if a required value is absent.
    fn truth(&self, guide: &CompiledGuide, expression: &Expression, segment: Option<&Segment<'_>>) -> Option<bool> {
        let truth = |expression| self.truth(guide, expression, segment);
        match expression {
            Expression::And(pair) => match (truth(&pair.0), truth(&pair.1)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Expression::Or(pair) => match (truth(&pair.0), truth(&pair.1)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Expression::Not(inner) => truth(inner).map(|truth| !truth),
            Expression::Implies(pair) => match truth(&pair.0) {
                Some(true) => truth(&pair.1),
                _ => Some(true),
            },
            Expression::Present(inner) => Some(match &**inner {
                Expression::Operand(operand) => self.held[*operand as usize].there,
                Expression::Here { element, component, .. } => segment.is_some_and(|segment| {
                    let count = segment.element(*element).map_or(0, |element| repetitions(&element));
                    let is_there = |at| !text_of(segment, *element, *component, at, &mut Vec::new()).is_empty();
                    (0..count.min(REPETITIONS_MAX)).any(is_there)
                }),
                other => !matches!(self.value(guide, other, segment), Value::Absent),
            }),
            Expression::Compare(comparison, pair) => {
                let ordering = self.compare(guide, &pair.0, &pair.1, segment)?;
                Some(match comparison {
                    Comparison::Equal => ordering.is_eq(),
                    Comparison::Unequal => ordering.is_ne(),
                    Comparison::Less => ordering.is_lt(),
                    Comparison::AtMost => ordering.is_le(),
                    Comparison::More => ordering.is_gt(),
                    Comparison::AtLeast => ordering.is_ge(),
                })
            }
            Expression::In(value, list) => {
                let mut known = true;
                for one in list {
                    match self.compare(guide, value, one, segment) {
                        Some(Ordering::Equal) => return Some(true),
                        Some(_) => {}
                        None => known = false,
                    }
                }
                known.then_some(false)
            }
            Expression::ProviderIdentifier(inner) => {
                let mut scratch = Vec::new();
                match self.evaluate(guide, inner, segment, &mut scratch) {
                    Value::Text(text) => Some(is_provider_identifier(text)),
                    Value::Number(_) | Value::Absent => None,
                }
            }
            // A value in place of a condition.
            _ => None,
        }
    }

    fn compare(
        &self,
        guide: &CompiledGuide,
        a: &Expression,
        b: &Expression,
        segment: Option<&Segment<'_>>,
    ) -> Option<Ordering> {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let a = self.evaluate(guide, a, segment, &mut one);
        let b = self.evaluate(guide, b, segment, &mut two);
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => a.compare(b),
            (Value::Text(a), Value::Text(b)) => Some(a.trim_ascii_end().cmp(b.trim_ascii_end())),
            (Value::Number(a), Value::Text(b)) => a.compare(Decimal::parse(b, self.settings.numbers.mark, 0)?),
            (Value::Text(a), Value::Number(b)) => Decimal::parse(a, self.settings.numbers.mark, 0)?.compare(b),
            _ => None,
        }
    }

    /// Evaluates numbers and presence; texts of the current segment are not kept.
    fn value(&self, guide: &CompiledGuide, expression: &Expression, segment: Option<&Segment<'_>>) -> Value<'static> {
        let mut scratch = Vec::new();
        match self.evaluate(guide, expression, segment, &mut scratch) {
            Value::Absent => Value::Absent,
            Value::Number(number) => Value::Number(number),
            Value::Text(text) => {
                Decimal::parse(text, self.settings.numbers.mark, 0).map_or(Value::Text(b""), Value::Number)
            }
        }
    }

    fn evaluate<'v>(
        &'v self,
        guide: &CompiledGuide,
        expression: &'v Expression,
        segment: Option<&Segment<'v>>,
        scratch: &'v mut Vec<u8>,
    ) -> Value<'v> {
        let numbers = |pair: &(Expression, Expression), with: fn(Decimal, Decimal) -> Option<Decimal>| {
            let value = |one| match self.value(guide, one, segment) {
                Value::Number(number) => Some(number),
                _ => None,
            };
            match (value(&pair.0), value(&pair.1)) {
                (Some(a), Some(b)) => with(a, b).map_or(Value::Absent, Value::Number),
                _ => Value::Absent,
            }
        };
        match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Text(text) => Value::Text(text),
            Expression::Day => self.settings.day.map_or(Value::Absent, |day| Value::Number(Decimal::of(day.into()))),
            Expression::Operand(operand) => {
                let (held, of) = (&self.held[*operand as usize], &guide.rules.operands[*operand as usize]);
                match (of.kind, held.data) {
                    (OperandKind::Count | OperandKind::Sum, _) if held.broken => Value::Absent,
                    (OperandKind::Count | OperandKind::Sum, _) => Value::Number(held.number),
                    _ if !held.there || held.broken => Value::Absent,
                    (OperandKind::First, Data::Text | Data::Date) => Value::Text(&held.text),
                    (OperandKind::First, Data::Number(implied)) => {
                        Decimal::parse(&held.text, self.settings.numbers.mark, implied)
                            .map_or(Value::Absent, Value::Number)
                    }
                    _ => Value::Number(held.number),
                }
            }
            Expression::Here { element, component, data } => {
                let Some(segment) = segment else { return Value::Absent };
                let text = text_of(segment, *element, *component, self.repetition, scratch);
                match data {
                    _ if text.is_empty() => Value::Absent,
                    Data::Text | Data::Date => Value::Text(text),
                    Data::Number(implied) => {
                        Decimal::parse(text, self.settings.numbers.mark, *implied).map_or(Value::Absent, Value::Number)
                    }
                }
            }
            Expression::Add(pair) => numbers(pair, Decimal::add),
            Expression::Subtract(pair) => numbers(pair, Decimal::subtract),
            Expression::Multiply(pair) => numbers(pair, Decimal::multiply),
            Expression::Least(pair) => {
                numbers_there(self.value(guide, &pair.0, segment), self.value(guide, &pair.1, segment), Ordering::Less)
            }
            Expression::Most(pair) => {
                let (one, other) = (self.value(guide, &pair.0, segment), self.value(guide, &pair.1, segment));
                numbers_there(one, other, Ordering::Greater)
            }
            Expression::Absolute(inner) => match self.value(guide, inner, segment) {
                Value::Number(number) => number.absolute().map_or(Value::Absent, Value::Number),
                _ => Value::Absent,
            },
            Expression::Round(inner, places) => match self.value(guide, inner, segment) {
                Value::Number(number) => number.round(*places).map_or(Value::Absent, Value::Number),
                _ => Value::Absent,
            },
            Expression::Length(inner) => match self.evaluate(guide, inner, segment, scratch) {
                Value::Text(text) => Value::Number(Decimal::of(self.settings.characters(text) as u64)),
                _ => Value::Absent,
            },
            Expression::From(inner) => self.day(guide, inner, segment, Which::First),
            Expression::Until(inner) => self.day(guide, inner, segment, Which::Last),
            Expression::Default(pair) => match self.evaluate(guide, &pair.0, segment, scratch) {
                Value::Absent => match &pair.1 {
                    Expression::Text(text) => Value::Text(text),
                    other => self.value(guide, other, segment),
                },
                value => value,
            },
            // A condition in place of a value.
            Expression::Compare(..)
            | Expression::In(..)
            | Expression::Present(_)
            | Expression::And(_)
            | Expression::Or(_)
            | Expression::Not(_)
            | Expression::Implies(_)
            | Expression::ProviderIdentifier(_) => Value::Absent,
        }
    }
}

impl RuleRun {
    /// Evaluates `from` and `until`.
    fn day(
        &self,
        guide: &CompiledGuide,
        inner: &Expression,
        segment: Option<&Segment<'_>>,
        which: Which,
    ) -> Value<'static> {
        let mut scratch = Vec::new();
        let found = match self.evaluate(guide, inner, segment, &mut scratch) {
            Value::Text(text) => day(text, which, self.days(guide, inner, segment)),
            _ => None,
        };
        found.map_or(Value::Absent, |day| Value::Number(Decimal::of(day.into())))
    }

    /// Returns the digits that a day of a value may have.
    fn days(&self, guide: &CompiledGuide, expression: &Expression, segment: Option<&Segment<'_>>) -> Days {
        match (expression, segment) {
            (Expression::Operand(operand), _) => self.held[*operand as usize].days,
            (Expression::Here { element, component, data }, Some(segment)) => {
                days_of_format(segment, *element, *component, *data, self.settings)
            }
            (Expression::Default(pair), _) => match self.value(guide, &pair.0, segment) {
                Value::Absent => self.days(guide, &pair.1, segment),
                _ => self.days(guide, &pair.0, segment),
            },
            _ => Days::Any,
        }
    }
}

impl Held {
    fn new() -> Self {
        Held {
            there: false,
            broken: false,
            number: Decimal::ZERO,
            text: Vec::new(),
            data: Data::Text,
            days: Days::Any,
            item: ItemId::TRANSACTION,
            at: Mark::default(),
        }
    }
}

/// Returns true if a text is a national provider identifier: ten digits, the first 1 or 2, with a check digit by the Luhn formula over them and the
/// prefix 80840, which adds 24. Source: CMS, "Requirements for National Provider Identifier (NPI) and NPI Check Digit".
fn is_provider_identifier(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    if text.len() != 10 || !matches!(text[0], b'1' | b'2') || !text.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let digit = |(at, byte): (usize, &u8)| match (u32::from(byte - b'0'), at % 2) {
        (digit, 0) => digit * 2 / 10 + digit * 2 % 10,
        (digit, _) => digit,
    };
    (24 + text.iter().enumerate().map(digit).sum::<u32>()).is_multiple_of(10)
}

/// Returns the lesser or greater of two numbers, or the one that is there.
fn numbers_there(one: Value<'static>, other: Value<'static>, wanted: Ordering) -> Value<'static> {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match a.compare(b) {
            Some(ordering) => Value::Number(if ordering == wanted { a } else { b }),
            None => Value::Absent,
        },
        (Value::Number(a), _) | (_, Value::Number(a)) => Value::Number(a),
        _ => Value::Absent,
    }
}

/// Repetitions of an element that rules look at. Each one is found from the first, so the time grows with the square of their number.
const REPETITIONS_MAX: usize = 1_000;

fn repetitions(element: &Element<'_>) -> usize {
    if element.is_simple() { 1 } else { element.repetitions().count() }
}

/// Returns the repetitions of the element of a segment that has most.
fn all_repetitions(segment: &Segment<'_>) -> usize {
    segment.elements().map(|element| repetitions(&element)).max().unwrap_or(1)
}

/// Returns the data of a repetition of an element, from 0, or of a component of it. An element that is not repeated has its value in each.
fn text_of<'v>(
    segment: &Segment<'v>,
    element: usize,
    component: usize,
    repetition: usize,
    scratch: &'v mut Vec<u8>,
) -> &'v [u8] {
    let Some(found) = segment.element(element) else { return b"" };
    if found.is_simple() && component <= 1 {
        return found.data(scratch).bytes();
    }
    let at = if repetition > 0 && repetitions(&found) == 1 { 0 } else { repetition };
    let part = found.repetitions().nth(at).and_then(|one| one.component(component.max(1)));
    part.map_or(&b""[..], |part| part.data(scratch).bytes())
}
