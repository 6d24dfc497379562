//! What tells a segment from others with the same tag that could stand where it stands.

use std::collections::BTreeMap;

use quayline_core::{Finding, packed};

use super::codes::{QUALIFIER, error};
use super::effective::{self, Allowed, Effective};
use super::{CompiledItem, ItemId, ItemKind, place, small};
use crate::guide::code_set::CodeSet;
use crate::guide::model::{Guide, Requirement, SegmentUse};

/// One element must have one of these values.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// From 1.
    pub(crate) element: usize,
    /// From 1; 0 where the element is simple.
    pub(crate) component: usize,
    pub(crate) set: CodeSet,
    /// For messages and comparisons, in order.
    pub(crate) values: Vec<Box<str>>,
}

/// Finds the conditions of all segments and notes them in the items.
///
/// A qualifier of the guide is one. Without it, for each other segment with the same tag that can stand at the same place, it is the first
/// element whose codes at the two places have none in common, or else the first whose codes differ.
pub(super) fn conditions(
    guide: &Guide,
    uses: &[Option<&SegmentUse>],
    items: &mut [CompiledItem],
    findings: &mut Vec<Finding>,
) -> Vec<Condition> {
    let mut by_tag: BTreeMap<&str, Vec<ItemId>> = BTreeMap::new();
    for (i, segment) in uses.iter().enumerate() {
        if let Some(segment) = segment {
            by_tag.entry(segment.tag.as_str()).or_default().push(ItemId(small(i)));
        }
    }
    let mut all = Vec::new();
    let mut ranges = vec![(0, 0); items.len()];
    for (tag, places) in &by_tag {
        let widths = effective::widths(guide, tag);
        let columns: Vec<(usize, usize)> = widths
            .iter()
            .enumerate()
            .flat_map(|(e, components)| {
                let components = if *components == 0 { 0..=0 } else { 1..=*components };
                components.map(move |c| (e + 1, c))
            })
            .collect();
        // Codes of each place by column, looked up once.
        let codes: Vec<Vec<Option<Column<'_>>>> = if places.len() > 1 {
            places
                .iter()
                .map(|id| {
                    let segment = uses[id.index()].expect("places are segments");
                    columns.iter().map(|(e, c)| effective::element(guide, segment, *e, *c).map(Column::new)).collect()
                })
                .collect()
        } else {
            Vec::new()
        };
        for (at, id) in places.iter().enumerate() {
            let segment = uses[id.index()].expect("places are segments");
            let start = all.len();
            if let Some(qualifier) = &segment.qualifier {
                let element = usize::from(qualifier.element);
                let composite = widths.get(element.wrapping_sub(1)).is_some_and(|width| *width > 0);
                let component = usize::from(qualifier.component).max(usize::from(composite));
                all.push(Condition::new(element, component, qualifier.values.iter().map(String::as_str)));
            } else {
                let others =
                    places.iter().enumerate().filter(|(other, place)| *other != at && compete(items, *id, **place));
                let mut chosen: Vec<usize> = Vec::new();
                for (other, _) in others {
                    if let Some(column) = telling(&codes[at], &codes[other])
                        && !chosen.contains(&column)
                    {
                        chosen.push(column);
                    }
                }
                chosen.sort_unstable();
                for column in chosen {
                    let (element, component) = columns[column];
                    let values =
                        codes[at][column].as_ref().and_then(|column| column.values.clone()).unwrap_or_default();
                    all.push(Condition::new(element, component, values));
                }
            }
            ranges[id.index()] = (small(start), small(all.len()));
        }
    }
    for (i, item) in items.iter_mut().enumerate() {
        item.conditions = ranges[i];
    }
    for (i, segment) in uses.iter().enumerate() {
        if let Some(segment) = segment {
            check_qualifier(guide, segment, &|| place(items, ItemId(small(i))), findings);
        }
    }
    all
}

impl Condition {
    fn new<'v>(element: usize, component: usize, values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut values: Vec<Box<str>> = values.into_iter().map(Into::into).collect();
        values.sort();
        values.dedup();
        let set = CodeSet::new(values.iter().map(|value| (&**value, None, None)));
        Condition { element, component, set, values }
    }

    /// Whether no value fulfils both.
    pub(crate) fn excludes(&self, other: &Condition) -> bool {
        self.element == other.element
            && self.component == other.component
            && self.values.iter().all(|value| other.values.binary_search(value).is_err())
    }
}

/// An element at a place, with its codes.
struct Column<'g> {
    effective: Effective<'g>,
    /// In order, where no other value is allowed.
    values: Option<Vec<&'g str>>,
}

impl<'g> Column<'g> {
    fn new(effective: Effective<'g>) -> Self {
        let values = effective.codes.finite().map(|mut values| {
            values.sort_unstable();
            values.dedup();
            values
        });
        Column { effective, values }
    }
}

/// The column that tells a place from another.
fn telling(one: &[Option<Column<'_>>], other: &[Option<Column<'_>>]) -> Option<usize> {
    let mut differs = None;
    for (i, (a, b)) in one.iter().zip(other).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let Some(values) = &a.values else { continue };
        let never = |allowed: Requirement| allowed == Requirement::NotUsed;
        if values.is_empty() || never(a.effective.requirement) || a.effective.codes.is_same_list(b.effective.codes) {
            continue;
        }
        match &b.values {
            Some(others) if others == values => {}
            Some(others) if never(b.effective.requirement) || disjoint(values, others) => return Some(i),
            _ => differs = differs.or(Some(i)),
        }
    }
    differs
}

fn disjoint(one: &[&str], other: &[&str]) -> bool {
    let (few, many) = if one.len() < other.len() { (one, other) } else { (other, one) };
    few.iter().all(|value| many.binary_search(value).is_err())
}

/// The loop in whose list of what may come a segment stands: around its loop where it opens that, otherwise its loop.
pub(super) fn owner(items: &[CompiledItem], id: ItemId) -> ItemId {
    let item = &items[id.index()];
    if item.is_trigger { items[item.parent.index()].parent } else { item.parent }
}

/// Whether two segments with the same tag can both be meant at some place: one's owner is the other's or lies around it.
pub(super) fn compete(items: &[CompiledItem], one: ItemId, other: ItemId) -> bool {
    let (a, b) = (owner(items, one), owner(items, other));
    let inside = |inner: ItemId, outer: ItemId| outer <= inner && inner < items[outer.index()].end;
    inside(a, b) || inside(b, a)
}

/// A qualifier that no segment can have.
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

/// `CLM05-1`, `NM101`.
pub(crate) fn reference(tag: &str, element: usize, component: usize) -> String {
    if component == 0 { format!("{tag}{element:02}") } else { format!("{tag}{element:02}-{component}") }
}

/// Whether the item is a loop.
pub(super) fn is_loop(item: &CompiledItem) -> bool {
    item.kind == ItemKind::Loop
}

packed!(struct Condition { element, component, set, values });
