//! Conditions that distinguish a segment from others with the same tag at the same place.

use std::collections::BTreeMap;

use quayline_core::{Finding, stored};

use super::codes::{QUALIFIER, error};
use super::effective::{self, Allowed};
use super::{CompiledItem, ItemId, ItemKind, place, small};
use crate::guide::code_set::CodeSet;
use crate::guide::model::{Guide, Requirement, SegmentUse};

/// One element must have one of these values.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// Element, from 1.
    pub(crate) element: usize,
    /// Component, from 1; 0 for a simple element.
    pub(crate) component: usize,
    pub(crate) set: CodeSet,
    /// Values in order, for messages and comparisons.
    pub(crate) values: Vec<Box<str>>,
}

/// Requirement of a place on one element. It is evaluated only if other places have other requirements and no condition decides. It is a preference:
/// a segment that does not meet it is still read at this place if no other place matches better.
#[derive(Clone, Debug)]
pub(crate) struct Decider {
    /// Element, from 1.
    pub(crate) element: usize,
    /// Component, from 1; 0 for a simple element.
    pub(crate) component: usize,
    pub(crate) needs: Needs,
    /// Codes; empty if any value is allowed.
    pub(crate) set: CodeSet,
}

/// Kind of a [`Decider`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Needs {
    /// A value.
    Value,
    /// No value.
    Nothing,
    /// One of the codes.
    Code,
    /// One of the codes, or no value.
    CodeOrNothing,
}

/// Conditions and deciders that distinguish segments with the same tag.
pub(super) struct Told {
    pub(super) conditions: Vec<Condition>,
    pub(super) deciders: Vec<Decider>,
}

/// Finds the conditions and deciders of all segments and stores them in the items.
///
/// A condition is satisfied by every valid segment of its place, so it may reject a segment:
/// * a qualifier of the guide (`where`) is a condition;
/// * without one, for each other segment with the same tag at the same place, the condition is on the first mandatory element whose codes at
///   the two places are disjoint, or otherwise the first whose codes differ.
///
/// An optional element is never a condition. If conditions do not distinguish two places, all elements with different
/// requirements decide together: codes, and the presence of a value.
pub(super) fn tell_apart(
    guide: &Guide,
    uses: &[Option<&SegmentUse>],
    items: &mut [CompiledItem],
    findings: &mut Vec<Finding>,
) -> Told {
    let mut by_tag: BTreeMap<&str, Vec<ItemId>> = BTreeMap::new();
    for (i, segment) in uses.iter().enumerate() {
        if let Some(segment) = segment {
            by_tag.entry(segment.tag.as_str()).or_default().push(ItemId(small(i)));
        }
    }
    let mut told = Told { conditions: Vec::new(), deciders: Vec::new() };
    for (tag, places) in &by_tag {
        let columns = columns(guide, tag);
        // Codes of each place by column, looked up once.
        let rows: Vec<Vec<Option<Column<'_>>>> = if places.len() > 1 {
            let row = |id: &ItemId| row(guide, uses[id.index()].expect("places are segments"), &columns);
            places.iter().map(row).collect()
        } else {
            Vec::new()
        };
        let mut own: Vec<Vec<Condition>> = Vec::new();
        for (at, id) in places.iter().enumerate() {
            let segment = uses[id.index()].expect("places are segments");
            own.push(match Condition::of_qualifier(guide, segment) {
                Some(condition) => vec![condition],
                None => {
                    let others = (0..places.len()).filter(|other| *other != at && compete(items, *id, places[*other]));
                    conditions(&rows[..], &columns, at, others)
                }
            });
        }
        for (at, id) in places.iter().enumerate() {
            let start = told.deciders.len();
            let rivals: Vec<usize> = (0..places.len())
                .filter(|other| *other != at && meet(items, *id, places[*other]))
                .filter(|other| !exclude(&own[at], &own[*other]))
                .collect();
            if !rivals.is_empty() {
                let asked = |column: (usize, usize)| own[at].iter().any(|one| (one.element, one.component) == column);
                for (number, column) in columns.iter().enumerate().filter(|(_, column)| !asked(**column)) {
                    let one = rows[at][number].as_ref();
                    if rivals.iter().any(|other| differ(one, rows[*other][number].as_ref())) {
                        told.deciders.extend(one.and_then(|one| Decider::new(*column, one)));
                    }
                }
            }
            items[id.index()].deciders = (small(start), small(told.deciders.len()));
        }
        for (id, own) in places.iter().zip(own) {
            let start = told.conditions.len();
            told.conditions.extend(own);
            items[id.index()].conditions = (small(start), small(told.conditions.len()));
        }
    }
    for (i, segment) in uses.iter().enumerate() {
        if let Some(segment) = segment {
            check_qualifier(guide, segment, &|| place(items, ItemId(small(i))), findings);
        }
    }
    told
}

/// Returns the simple elements (component 0) and components of a segment.
fn columns(guide: &Guide, tag: &str) -> Vec<(usize, usize)> {
    let widths = effective::widths(guide, tag);
    let of = |(e, components): (usize, &usize)| {
        let components = if *components == 0 { 0..=0 } else { 1..=*components };
        components.map(move |c| (e + 1, c)).collect::<Vec<_>>()
    };
    widths.iter().enumerate().flat_map(of).collect()
}

fn row<'g>(guide: &'g Guide, segment: &'g SegmentUse, columns: &[(usize, usize)]) -> Vec<Option<Column<'g>>> {
    columns.iter().map(|(e, c)| Column::new(guide, segment, *e, *c)).collect()
}

/// Returns the conditions of a place without a qualifier.
fn conditions(
    rows: &[Vec<Option<Column<'_>>>],
    columns: &[(usize, usize)],
    at: usize,
    others: impl Iterator<Item = usize>,
) -> Vec<Condition> {
    let mut chosen: Vec<usize> = others.filter_map(|other| telling(&rows[at], &rows[other])).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let condition = |number: usize| {
        let (element, component) = columns[number];
        let values = rows[at][number].as_ref().and_then(|column| column.values.clone()).unwrap_or_default();
        Condition::new(element, component, values)
    };
    chosen.into_iter().map(condition).collect()
}

/// Returns true if no segment satisfies the conditions of both places.
fn exclude(one: &[Condition], other: &[Condition]) -> bool {
    one.iter().any(|one| other.iter().any(|other| one.excludes(other)))
}

impl Decider {
    /// Creates a decider; `None` if the place has no requirement.
    fn new((element, component): (usize, usize), column: &Column<'_>) -> Option<Self> {
        let codes = column.values.as_ref();
        let needs = match (column.requirement, codes) {
            (Requirement::NotUsed, _) => Needs::Nothing,
            (Requirement::Mandatory, Some(_)) => Needs::Code,
            (Requirement::Mandatory, None) => Needs::Value,
            (Requirement::Optional, Some(_)) => Needs::CodeOrNothing,
            (Requirement::Optional, None) => return None,
        };
        let values = codes.filter(|_| needs != Needs::Nothing).into_iter().flatten();
        Some(Decider { element, component, needs, set: CodeSet::new(values.map(|value| (*value, None, None))) })
    }
}

impl Condition {
    /// Creates the condition of a `where` clause.
    fn of_qualifier(guide: &Guide, segment: &SegmentUse) -> Option<Self> {
        let qualifier = segment.qualifier.as_ref()?;
        let element = usize::from(qualifier.element);
        let component = usize::from(qualifier.component);
        let composite = effective::composite(guide, &segment.tag, element).is_some();
        let component = component.max(usize::from(composite));
        Some(Condition::new(element, component, qualifier.values.iter().map(String::as_str)))
    }

    fn new<'v>(element: usize, component: usize, values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut values: Vec<Box<str>> = values.into_iter().map(Into::into).collect();
        values.sort();
        values.dedup();
        let set = CodeSet::new(values.iter().map(|value| (&**value, None, None)));
        Condition { element, component, set, values }
    }

    /// Returns true if no value satisfies both.
    pub(crate) fn excludes(&self, other: &Condition) -> bool {
        self.element == other.element
            && self.component == other.component
            && self.values.iter().all(|value| other.values.binary_search(value).is_err())
    }
}

/// An element at a place, with its codes.
struct Column<'g> {
    /// Requirement. A component of an optional composite is optional, regardless of the composite's definition.
    requirement: Requirement,
    codes: Allowed<'g>,
    /// Values in order, if no other value is allowed.
    values: Option<Vec<&'g str>>,
}

impl<'g> Column<'g> {
    fn new(guide: &'g Guide, segment: &'g SegmentUse, element: usize, component: usize) -> Option<Self> {
        let effective = effective::element(guide, segment, element, component)?;
        let around = if component > 0 {
            effective::composite_requirement(guide, segment, element)
        } else {
            Requirement::Mandatory
        };
        let requirement = match (around, effective.requirement) {
            (Requirement::NotUsed, _) | (_, Requirement::NotUsed) => Requirement::NotUsed,
            (Requirement::Mandatory, own) => own,
            (Requirement::Optional, _) => Requirement::Optional,
        };
        let values = effective.codes.finite().map(|mut values| {
            values.sort_unstable();
            values.dedup();
            values
        });
        Some(Column { requirement, codes: effective.codes, values })
    }

    /// Creates a column for the values of a `where` clause.
    fn asked(values: &'g [String]) -> Self {
        let mut asked: Vec<&str> = values.iter().map(String::as_str).collect();
        asked.sort_unstable();
        asked.dedup();
        Column { requirement: Requirement::Mandatory, codes: Allowed::These(values, None), values: Some(asked) }
    }
}

/// Returns the mandatory column that distinguishes a place from another.
fn telling(one: &[Option<Column<'_>>], other: &[Option<Column<'_>>]) -> Option<usize> {
    let mut differs = None;
    for (i, (a, b)) in one.iter().zip(other).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let Some(values) = &a.values else { continue };
        if values.is_empty() || a.requirement != Requirement::Mandatory || a.codes.is_same_list(b.codes) {
            continue;
        }
        match &b.values {
            Some(others) if others == values => {}
            Some(others) if b.requirement == Requirement::NotUsed || disjoint(values, others) => return Some(i),
            _ => differs = differs.or(Some(i)),
        }
    }
    differs
}

/// Returns true if two places have different requirements on an element.
fn differ(one: Option<&Column<'_>>, other: Option<&Column<'_>>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_some() != other.is_some() };
    let never = |column: &Column<'_>| column.requirement == Requirement::NotUsed;
    if one.requirement != other.requirement {
        return true;
    }
    !never(one) && !one.codes.is_same_list(other.codes) && one.values != other.values
}

/// Content that two places with the same tag both allow, by column: [`Shared::of`].
pub(super) struct Shared<'g> {
    /// Element and component of mandatory values, with one of the codes; unrestricted values are omitted.
    pub(super) segment: Vec<((usize, usize), Option<&'g str>)>,
    /// First element that satisfies both places although their requirements differ.
    pub(super) differs: Option<Difference<'g>>,
}

/// An element on which two places have different requirements.
pub(super) struct Difference<'g> {
    pub(super) column: (usize, usize),
    /// A value that both places allow; `None` if both allow only its absence.
    pub(super) value: Option<&'g str>,
    /// True if both places have codes.
    pub(super) both_closed: bool,
}

impl<'g> Shared<'g> {
    /// Returns the content of a segment that matches both places; `None` if no segment does.
    pub(super) fn of(guide: &'g Guide, one: &'g SegmentUse, other: &'g SegmentUse) -> Option<Self> {
        let columns = columns(guide, &one.tag);
        let mut shared = Shared { segment: Vec::new(), differs: None };
        for column in columns {
            let of = |segment: &'g SegmentUse| {
                let asked = Condition::of_qualifier(guide, segment)
                    .filter(|condition| (condition.element, condition.component) == column)
                    .and(segment.qualifier.as_ref());
                match asked {
                    Some(qualifier) => Some(Column::asked(&qualifier.values)),
                    None => Column::new(guide, segment, column.0, column.1),
                }
            };
            let (Some(a), Some(b)) = (of(one), of(other)) else { continue };
            let never = [&a, &b].iter().any(|column| column.requirement == Requirement::NotUsed);
            let must = [&a, &b].iter().any(|column| column.requirement == Requirement::Mandatory);
            let value = match (&a.values, &b.values) {
                (Some(a), Some(b)) => a.iter().find(|value| b.binary_search(value).is_ok()).copied(),
                (Some(values), None) | (None, Some(values)) => values.first().copied(),
                (None, None) => Some(""),
            };
            let possible = !never && value.is_some();
            if must && !possible {
                return None;
            }
            if must && value.is_some_and(|value| !value.is_empty()) {
                shared.segment.push((column, value));
            }
            if differ(Some(&a), Some(&b)) && shared.differs.is_none() {
                let value = value.filter(|value| possible && !value.is_empty());
                let both_closed = a.values.is_some() && b.values.is_some();
                shared.differs = Some(Difference { column, value, both_closed });
            }
        }
        Some(shared)
    }
}

fn disjoint(one: &[&str], other: &[&str]) -> bool {
    let (few, many) = if one.len() < other.len() { (one, other) } else { (other, one) };
    few.iter().all(|value| many.binary_search(value).is_err())
}

/// Returns the loop that has a segment as a child: the parent of its loop if the segment opens it, otherwise its loop.
pub(super) fn owner(items: &[CompiledItem], id: ItemId) -> ItemId {
    let item = &items[id.index()];
    if item.is_trigger { items[item.parent.index()].parent } else { item.parent }
}

/// Returns true if two segments with the same tag can compete: one's owner is the other's or contains it.
pub(super) fn compete(items: &[CompiledItem], one: ItemId, other: ItemId) -> bool {
    let (a, b) = (owner(items, one), owner(items, other));
    let inside = |inner: ItemId, outer: ItemId| outer <= inner && inner < items[outer.index()].end;
    inside(a, b) || inside(b, a)
}

/// Returns true if in some state a segment could go to either of two places: while the loops of the inner one are open, the outer one is
/// still ahead.
pub(super) fn meet(items: &[CompiledItem], one: ItemId, other: ItemId) -> bool {
    let (a, b) = (owner(items, one), owner(items, other));
    let inside = |inner: ItemId, outer: ItemId| outer <= inner && inner < items[outer.index()].end;
    let (inner, outer, around) = match (inside(a, b), inside(b, a)) {
        (true, true) => return true,
        (true, false) => (a, other, b),
        (false, true) => (b, one, a),
        (false, false) => return false,
    };
    let mut path = inner;
    while items[path.index()].parent != around {
        path = items[path.index()].parent;
    }
    let child = if items[outer.index()].is_trigger { items[outer.index()].parent } else { outer };
    items[child.index()].rank >= items[path.index()].rank
}

/// Reports a qualifier that no segment can satisfy.
fn check_qualifier(guide: &Guide, segment: &SegmentUse, at: &dyn Fn() -> String, findings: &mut Vec<Finding>) {
    let Some(qualifier) = &segment.qualifier else { return };
    let number = usize::from(qualifier.element);
    let composite = effective::composite(guide, &segment.tag, number).is_some();
    let component = usize::from(qualifier.component).max(usize::from(composite));
    let name = reference(&segment.tag, number, component);
    let Some(element) = effective::element(guide, segment, number, component) else {
        findings.push(error(QUALIFIER, at(), format!("the qualifier {name} is not an element of {}", segment.tag)));
        return;
    };
    if qualifier.values.is_empty() {
        findings.push(error(QUALIFIER, at(), format!("the qualifier {name} has no values, so it never matches")));
    }
    if element.requirement == Requirement::NotUsed {
        let message = format!("the qualifier {name} never matches: the element is marked as not used");
        findings.push(error(QUALIFIER, at(), message));
    }
    let finite = element.codes.finite();
    for value in &qualifier.values {
        let len = small(value.chars().count());
        let why = if len < element.min || len > element.max {
            format!("its length is not {} to {}", element.min, element.max)
        } else if finite.as_ref().is_some_and(|codes| !codes.contains(&value.as_str())) {
            match element.codes {
                Allowed::List(list, _) => format!("it is not in the code list {list}"),
                _ => "it is not among the codes of the element here".to_owned(),
            }
        } else {
            continue;
        };
        findings.push(error(QUALIFIER, at(), format!("the qualifier {name} = {value} never matches: {why}")));
    }
}

/// Formats a reference such as `CLM05-1` or `NM101`.
pub(crate) fn reference(tag: &str, element: usize, component: usize) -> String {
    if component == 0 { format!("{tag}{element:02}") } else { format!("{tag}{element:02}-{component}") }
}

/// Returns true if the item is a loop.
pub(super) fn is_loop(item: &CompiledItem) -> bool {
    item.kind == ItemKind::Loop
}

stored!(struct Condition { element, component, set, values });
stored!(struct Decider { element, component, needs, set });
stored!(enum Needs { 0 Value, 1 Nothing, 2 Code, 3 CodeOrNothing });
