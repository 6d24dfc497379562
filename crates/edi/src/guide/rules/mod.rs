//! Balances and rules between segments: read, resolved against the structure, made ready to be computed while segments pass by.

mod lower;
mod parse;

use quayline_core::{Code, Fault, Finding, Place, stored};

use self::lower::Unresolved;
use super::compile::{CompiledItem, ItemId, ItemKind};
use super::decimal::Decimal;
use super::model::{Guide, SegmentUse};

/// All rules of a guide, and their inputs from segments.
#[derive(Debug, Default)]
pub(crate) struct RulePlan {
    pub(crate) rules: Vec<CompiledRule>,
    pub(crate) operands: Vec<Operand>,
    /// Feeds; those of one item are adjacent.
    pub(crate) feeds: Vec<Feed>,
    /// Range of `feeds` by item. Empty without rules.
    pub(crate) feeds_of: Vec<(u32, u32)>,
    /// By item: operands that are reset by a loop.
    pub(crate) resets_of: Vec<Vec<u32>>,
    /// By item: rules that are evaluated at the end of a loop, or at a segment.
    pub(crate) rules_of: Vec<Vec<u32>>,
    /// By item: whether rules use it at all.
    pub(crate) weights: Vec<Weight>,
}

/// Uses of an item by rules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    /// True if the segment feeds an operand, or rules are evaluated at it.
    pub(crate) segment: bool,
    /// True if the loop resets operands, or rules are evaluated at its end or at segments in it.
    pub(crate) inside: bool,
    /// True if the same applies to the loop that the segment opens.
    pub(crate) trigger: bool,
}

/// A rule at one loop or segment.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) name: Box<str>,
    pub(crate) message: Box<str>,
    pub(crate) warning: bool,
    pub(crate) test: Expression,
    /// The operand whose place a finding has, the first one that is there.
    pub(crate) places: Vec<u32>,
    /// Element of the segment at which the rule is evaluated.
    pub(crate) here: Option<(usize, usize)>,
    pub(crate) asks: Asks,
}

/// Requirement that a violated rule reports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Asks {
    Value,
    /// Presence or absence: tag or loop, element, component (0 and 0 for a segment or loop).
    Presence {
        there: bool,
        tag: Box<str>,
        element: usize,
        component: usize,
    },
}

/// Value accumulated from segments.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) kind: OperandKind,
    /// Segments and elements as the rule calls them, for messages.
    pub(crate) element: usize,
    pub(crate) component: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OperandKind {
    /// The first value.
    First,
    Sum,
    Count,
    Least,
    Most,
}

/// Representation of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Data {
    Text,
    /// A number with this many implied places.
    Number(u32),
    /// A date of six or eight digits.
    Date,
}

/// A segment that an operand takes from.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    pub(crate) item: ItemId,
    pub(crate) operand: u32,
    /// Applied only if this is true for the segment.
    pub(crate) filter: Option<Expression>,
    pub(crate) take: Take,
}

#[derive(Clone, Debug)]
pub(crate) enum Take {
    /// The segment itself.
    Segment,
    /// An element of the segment (component 0 is the first).
    Element { element: usize, component: usize, data: Data },
    /// An expression over the segment.
    Computed(Expression),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Number(Decimal),
    Text(Box<[u8]>),
    Operand(u32),
    /// An element of the current segment.
    Here {
        element: usize,
        component: usize,
        data: Data,
    },
    /// Day of the interchange, `YYYYMMDD`.
    Day,
    Add(Box<(Expression, Expression)>),
    Subtract(Box<(Expression, Expression)>),
    Multiply(Box<(Expression, Expression)>),
    /// The lesser or greater of two numbers, or the one that is there.
    Least(Box<(Expression, Expression)>),
    Most(Box<(Expression, Expression)>),
    Absolute(Box<Expression>),
    Round(Box<Expression>, u32),
    /// Characters of a text.
    Length(Box<Expression>),
    /// First and last day of a date or of a range of dates.
    From(Box<Expression>),
    Until(Box<Expression>),
    /// The first if it is there, otherwise the second.
    Default(Box<(Expression, Expression)>),
    Compare(Comparison, Box<(Expression, Expression)>),
    In(Box<Expression>, Vec<Expression>),
    Present(Box<Expression>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    Not(Box<Expression>),
    /// If the first, then the second.
    Implies(Box<(Expression, Expression)>),
    /// True if a text is a national provider identifier with a correct check digit.
    ProviderIdentifier(Box<Expression>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

const SYNTAX: Code = Code("GDE-114");
const UNRESOLVED: Code = Code("GDE-115");

/// Makes the rules of a guide ready.
pub(crate) fn compile(
    guide: &Guide,
    items: &[CompiledItem],
    uses: &[Option<&SegmentUse>],
    findings: &mut Vec<Finding>,
) -> RulePlan {
    let mut plan = RulePlan::default();
    if guide.rules.is_empty() {
        return plan;
    }
    plan.resets_of = vec![Vec::new(); items.len()];
    plan.rules_of = vec![Vec::new(); items.len()];
    for rule in &guide.rules {
        let mut told = |code, message: String, hint: &str| {
            let place = Place { path: Some(format!("rule {}", rule.name)), ..Place::default() };
            findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
        };
        let parsed = match parse::parse(&rule.expression) {
            Ok(parsed) => parsed,
            Err(error) => {
                told(SYNTAX, error.to_string(), "docs/reference/validation.md has the language of rules");
                continue;
            }
        };
        let structure = lower::Structure { guide, items, uses };
        if let Err(Unresolved { message, hint }) = lower::lower(structure, rule, &parsed, &mut plan) {
            told(UNRESOLVED, message, hint);
        }
    }
    plan.feeds.sort_by_key(|feed| feed.item);
    plan.feeds_of = vec![(0, 0); items.len()];
    let mut from = 0;
    for same in plan.feeds.chunk_by(|a, b| a.item == b.item) {
        let to = from + super::compile::small(same.len());
        plan.feeds_of[same[0].item.index()] = (from, to);
        from = to;
    }
    plan.weigh(items);
    plan
}

impl RulePlan {
    fn weigh(&mut self, items: &[CompiledItem]) {
        self.weights = vec![Weight::default(); items.len()];
        for (number, item) in items.iter().enumerate() {
            let (from, to) = self.feeds_of[number];
            let decides = !self.rules_of[number].is_empty();
            if item.kind == ItemKind::Segment {
                self.weights[number].segment = from < to || decides;
                self.weights[item.parent.index()].inside |= decides;
            } else {
                self.weights[number].inside |= decides || !self.resets_of[number].is_empty();
            }
        }
        for (number, item) in items.iter().enumerate() {
            self.weights[number].trigger = self.weights[item.parent.index()].inside;
        }
    }
}

stored!(struct RulePlan { rules, operands, feeds, feeds_of, resets_of, rules_of, weights });
stored!(struct Weight { segment, inside, trigger });
stored!(struct CompiledRule { name, message, warning, test, places, here, asks });
stored!(enum Asks { 0 Value, 1 Presence { there, tag, element, component } });
stored!(struct Operand { kind, element, component });
stored!(enum OperandKind { 0 First, 1 Sum, 2 Count, 3 Least, 4 Most });
stored!(enum Data { 0 Text, 1 Number(places), 2 Date });
stored!(struct Feed { item, operand, filter, take });
stored!(enum Take { 0 Segment, 1 Element { element, component, data }, 2 Computed(expression) });
stored!(enum Expression {
    0 Number(number), 1 Text(text), 2 Operand(operand), 3 Here { element, component, data }, 4 Day, 5 Add(both), 6 Subtract(both),
    7 Multiply(both), 8 Absolute(of), 9 Round(of, places), 10 Length(of), 11 From(of), 12 Until(of), 13 Default(both),
    14 Compare(comparison, both), 15 In(of, values), 16 Present(of), 17 And(both), 18 Or(both), 19 Not(of), 20 Implies(both),
    21 ProviderIdentifier(of), 22 Least(both), 23 Most(both),
});
stored!(enum Comparison { 0 Equal, 1 Unequal, 2 Less, 3 AtMost, 4 More, 5 AtLeast });
