//! Mapping of a guide's items to nodes of a shape.

use core::ops::Range;

use quayline_core::{NodeId, Occurs, Scalar, ShapeBuilder, stored};

use super::{NodeNames, ranks};
use crate::guide::compile::{effective, small};
use crate::guide::{DataType, ElementOf, Guide, Item, LoopUse, Qualifier, Requirement, SegmentUse, item_names};

/// The nodes of one guide.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Node that contains the outermost items.
    pub(crate) root: NodeId,
    /// Plans by item, in the order of the compiled guide.
    pub(crate) items: Vec<ItemPlan>,
    /// Elements of segments, then components of composites.
    pub(crate) elements: Vec<ElementPlan>,
}

/// Destination of an item.
#[derive(Clone, Debug)]
pub(crate) struct ItemPlan {
    /// Node; the root if documents have no place for the item.
    pub(crate) node: NodeId,
    pub(crate) list: bool,
    /// For a loop that may alternate with other repeated loops: the list that contains all of them in their order; otherwise the root.
    pub(crate) turns: NodeId,
    pub(crate) is_loop: bool,
    /// Rank among its siblings.
    pub(crate) rank: u32,
    /// True among siblings in any order of which some are repeatable: equal ones are grouped.
    pub(crate) gathered: bool,
    /// For a loop: true if pages begin with it.
    pub(crate) begins_page: bool,
    /// For a loop: true if it contains loops, so that the segments before them are repeated on the next page.
    pub(crate) has_loops: bool,
    /// For a segment: its elements.
    pub(crate) elements: Range<usize>,
    /// For a segment: its tag.
    pub(crate) tag: Box<str>,
    /// For a segment: the element or component that distinguishes it from others with its tag, and its possible values there.
    pub(crate) qualifier: Option<Qualifier>,
}

impl ItemPlan {
    /// Returns true for a segment that documents have a place for.
    #[inline(always)]
    pub(crate) fn has_node(&self) -> bool {
        self.node != NodeId::ROOT && !self.is_loop
    }

    /// Returns the node in the enclosing loop, and whether it is a list.
    #[inline(always)]
    pub(crate) fn held(&self) -> (NodeId, bool) {
        if self.turns == NodeId::ROOT { (self.node, self.list) } else { (self.turns, true) }
    }
}

/// Destination of an element or component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementPlan {
    pub(crate) node: NodeId,
    pub(crate) kind: Kind,
    pub(crate) list: bool,
    /// For a composite: range of its components in [`Plan::elements`].
    pub(crate) components: (u32, u32),
    /// Fewest characters.
    pub(crate) min: u32,
    pub(crate) mandatory: bool,
}

/// Conversion of an element to a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Documents have no place for it.
    Out,
    Text,
    Bytes,
    /// Number with a decimal mark.
    Decimal,
    /// Number with this many implied places.
    Implied(u8),
    Composite,
}

/// Minimum number of repetitions of a loop with which pages begin.
const MANY: u32 = 1000;

impl Plan {
    /// Returns the components of a composite.
    #[inline(always)]
    pub(crate) fn components(&self, of: &ElementPlan) -> &[ElementPlan] {
        &self.elements[of.components.0 as usize..of.components.1 as usize]
    }

    /// Adds the nodes of a guide to the open group of `shape`.
    pub(crate) fn new(
        guide: &Guide,
        shape: &mut ShapeBuilder,
        root: NodeId,
        names: NodeNames,
        taken: Vec<String>,
    ) -> Self {
        let transaction = ItemPlan {
            node: root,
            list: false,
            turns: NodeId::ROOT,
            is_loop: true,
            rank: 0,
            gathered: false,
            begins_page: false,
            has_loops: guide.structure.iter().any(|item| matches!(item, Item::Loop(_))),
            elements: 0..0,
            tag: "".into(),
            qualifier: None,
        };
        let plan = Plan { root, items: vec![transaction], elements: Vec::new() };
        let mut builder = Builder { guide, shape, names, plan };
        builder.items(&guide.structure, taken, true);
        builder.plan
    }
}

/// Returns the number of leading items that are loops in any order. They alternate if two or more are repeatable; otherwise the number is 0.
fn loops_in_turns(items: &[Item], ranks: &[u32]) -> usize {
    let loops = items.iter().zip(ranks).map_while(|(item, rank)| match item {
        Item::Loop(inner) if *rank == ranks[0] => Some(inner),
        _ => None,
    });
    let repeated = |inner: &&LoopUse| inner.repeat != Some(1) && inner.requirement != Requirement::NotUsed;
    if loops.clone().filter(repeated).count() > 1 { loops.count() } else { 0 }
}

fn loop_id(item: &Item) -> Option<&str> {
    match item {
        Item::Loop(inner) => Some(&inner.id),
        Item::Segment(_) => None,
    }
}

/// Returns the common prefix of the ids of loops, or the first and the last id.
fn name_of_turns(ids: &[&str]) -> String {
    let (first, last) = (ids.first().copied().unwrap_or_default(), ids.last().copied().unwrap_or_default());
    let common = first
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .rfind(|len| ids.iter().all(|id| id.starts_with(&first[..*len])));
    match common {
        Some(len) if len < first.len() => first[..len].to_owned(),
        _ => format!("{first}_{last}"),
    }
}

struct Builder<'g, 's> {
    guide: &'g Guide,
    shape: &'s mut ShapeBuilder,
    names: NodeNames,
    plan: Plan,
}

impl Builder<'_, '_> {
    /// Adds items. `used` is true if the enclosing loop has a node.
    fn items(&mut self, items: &[Item], mut taken: Vec<String>, used: bool) {
        let ranks = ranks(items);
        let gathered = gathered(items, &ranks);
        let mut before = None;
        // The list of the alternating loops, and the number of loops still to be added to it.
        let mut turns = (NodeId::ROOT, 0, Vec::new());
        for (at, ((item, name), gathered)) in items.iter().zip(item_names(items)).zip(gathered).enumerate() {
            let rank = ranks[at];
            if turns.1 == 0 {
                turns = (NodeId::ROOT, loops_in_turns(&items[at..], &ranks[at..]), Vec::new());
                if used && turns.1 > 0 {
                    let ids: Vec<&str> = items[at..at + turns.1].iter().filter_map(loop_id).collect();
                    let name = self.name(&name_of_turns(&ids), None, &mut taken);
                    turns.0 = self.shape.open(name, occurs(Requirement::Optional, None));
                }
            }
            let node = match item {
                Item::Segment(segment) => self.segment(segment, &name, rank, gathered, used, &mut taken),
                Item::Loop(inner) if turns.0 != NodeId::ROOT => {
                    self.loop_use(inner, &name, rank, (used, turns.0), &mut turns.2)
                }
                Item::Loop(inner) => self.loop_use(inner, &name, rank, (used, NodeId::ROOT), &mut taken),
            };
            turns.1 = turns.1.saturating_sub(1);
            let node = if turns.0 == NodeId::ROOT {
                node
            } else if turns.1 == 0 {
                self.shape.close();
                turns.0
            } else {
                continue;
            };
            if node != NodeId::ROOT && before.replace(rank) == Some(rank) {
                self.shape.mix(node);
            }
        }
    }

    fn segment(
        &mut self,
        segment: &SegmentUse,
        name: &str,
        rank: u32,
        gathered: bool,
        used: bool,
        taken: &mut Vec<String>,
    ) -> NodeId {
        let defined = self.guide.dictionary.segments.get(&segment.tag);
        let words = segment.name.as_deref().or(defined.and_then(|defined| defined.name.as_deref()));
        let list = segment.max != Some(1);
        let used = used && segment.requirement != Requirement::NotUsed;
        let mut node = NodeId::ROOT;
        let mut elements = 0..0;
        if used {
            let name = self.name(name, words, taken);
            node = self.shape.open(name, occurs(segment.requirement, segment.max));
            elements = self.elements(segment);
            self.shape.close();
        }
        self.plan.items.push(ItemPlan {
            node,
            list,
            turns: NodeId::ROOT,
            is_loop: false,
            rank,
            gathered,
            begins_page: false,
            has_loops: false,
            elements,
            tag: segment.tag.as_str().into(),
            qualifier: segment.qualifier.clone(),
        });
        node
    }

    /// Adds a loop. `used` is true if the enclosing loop has a node; the last argument is the list of the loops that alternate with it.
    fn loop_use(
        &mut self,
        inner: &LoopUse,
        name: &str,
        rank: u32,
        (used, turns): (bool, NodeId),
        taken: &mut Vec<String>,
    ) -> NodeId {
        let used = used && inner.requirement != Requirement::NotUsed;
        let mut node = NodeId::ROOT;
        if used {
            let name = self.name(name, inner.name.as_deref(), taken);
            let occurs = match turns {
                NodeId::ROOT => occurs(inner.requirement, inner.repeat),
                _ => Occurs::Optional,
            };
            node = self.shape.open(name, occurs);
        }
        self.plan.items.push(ItemPlan {
            node,
            list: inner.repeat != Some(1) && turns == NodeId::ROOT,
            turns: if used { turns } else { NodeId::ROOT },
            is_loop: true,
            rank,
            gathered: false,
            begins_page: inner.repeat.is_none_or(|repeat| repeat >= MANY),
            has_loops: inner.items.iter().any(|item| matches!(item, Item::Loop(_))),
            elements: 0..0,
            tag: "".into(),
            qualifier: None,
        });
        self.items(&inner.items, Vec::new(), used);
        if used {
            self.shape.close();
        }
        node
    }

    /// Adds the elements of a segment. Components come first in the list of all elements, so that the segment's elements are adjacent.
    fn elements(&mut self, segment: &SegmentUse) -> Range<usize> {
        let guide = self.guide;
        let Some(defined) = guide.dictionary.segments.get(&segment.tag) else { return 0..0 };
        let mut made: Vec<ElementPlan> = Vec::new();
        let mut taken = Vec::new();
        for (used, number) in defined.elements.iter().zip(1..=u8::MAX) {
            let change = segment.changes.iter().find(|change| (change.element, change.component) == (number, 0));
            let requirement = change.and_then(|change| change.requirement).unwrap_or(used.requirement);
            let repeat = change.and_then(|change| change.repeat.map(Some)).unwrap_or(used.repeat);
            let list = repeat != Some(1);
            let reference = format!("{}{number:02}", segment.tag);
            let own_name = change.and_then(|change| change.name.as_deref()).or(used.name.as_deref());
            if requirement == Requirement::NotUsed {
                made.push(out());
                continue;
            }
            match &used.of {
                ElementOf::Element(_) => {
                    let effective = effective::element(guide, segment, number.into(), 0);
                    let words = own_name.or(effective.as_ref().and_then(|effective| effective.name));
                    let name = self.name(&reference, words, &mut taken);
                    let (data_type, min, max) = effective.map_or((DataType::Text, 1, 0), |effective| {
                        (effective.data_type, effective.min, effective.max)
                    });
                    made.push(self.leaf(name, data_type, (min, max), requirement, repeat));
                }
                ElementOf::Composite(id) => {
                    let Some(composite) = guide.dictionary.composites.get(id) else {
                        made.push(out());
                        continue;
                    };
                    let words = own_name.or(composite.name.as_deref());
                    let name = self.name(&reference, words, &mut taken);
                    let node = self.shape.open(name, occurs(requirement, repeat));
                    let mut parts = Vec::new();
                    let mut inner_taken = Vec::new();
                    for (used, component) in composite.components.iter().zip(1..=u8::MAX) {
                        let effective = effective::element(guide, segment, number.into(), component.into());
                        let (Some(effective), true) = (effective, used.requirement != Requirement::NotUsed) else {
                            parts.push(out());
                            continue;
                        };
                        if effective.requirement == Requirement::NotUsed {
                            parts.push(out());
                            continue;
                        }
                        let words = used.name.as_deref().or(effective.name);
                        let name = self.name(&format!("{reference}-{component}"), words, &mut inner_taken);
                        let length = (effective.min, effective.max);
                        parts.push(self.leaf(name, effective.data_type, length, effective.requirement, Some(1)));
                    }
                    self.shape.close();
                    let from = small(self.plan.elements.len());
                    self.plan.elements.extend(parts);
                    made.push(ElementPlan {
                        node,
                        kind: Kind::Composite,
                        list,
                        components: (from, small(self.plan.elements.len())),
                        min: 0,
                        mandatory: requirement == Requirement::Mandatory,
                    });
                }
            }
        }
        let from = self.plan.elements.len();
        self.plan.elements.extend(made);
        from..self.plan.elements.len()
    }

    fn leaf(
        &mut self,
        name: String,
        data_type: DataType,
        (min, max): (u32, u32),
        requirement: Requirement,
        repeat: Option<u32>,
    ) -> ElementPlan {
        let digits = u16::try_from(max.clamp(1, 38)).unwrap_or(38);
        let (kind, scalar) = match data_type {
            DataType::Implied(places) => {
                let scalar = Scalar::Decimal { digits: digits.max(places.into()), scale: places.into(), signed: true };
                (Kind::Implied(places), scalar)
            }
            DataType::Decimal | DataType::Number => {
                // The point may be at any position, so a value with this many digits must fit on either side of it.
                let scale = digits.min(19);
                let scalar =
                    Scalar::Decimal { digits: (digits + scale).min(38), scale: scale.cast_signed(), signed: true };
                (Kind::Decimal, scalar)
            }
            DataType::Binary => (Kind::Bytes, Scalar::Bytes { len_max: Some(max) }),
            DataType::Text
            | DataType::Identifier
            | DataType::Date
            | DataType::Time
            | DataType::Letters
            | DataType::Alphanumeric => (Kind::Text, Scalar::Text { chars_max: Some(max) }),
        };
        let node = self.shape.scalar(name, scalar, occurs(requirement, repeat));
        let mandatory = requirement == Requirement::Mandatory;
        ElementPlan { node, kind, list: repeat != Some(1), components: (0, 0), min, mandatory }
    }

    /// Returns a name that no sibling has.
    fn name(&self, reference: &str, words: Option<&str>, taken: &mut Vec<String>) -> String {
        let slug = match self.names {
            NodeNames::References => None,
            NodeNames::Words => words.map(slug).filter(|slug| !slug.is_empty()),
        };
        unique(slug.as_deref().unwrap_or(reference), taken)
    }
}

fn out() -> ElementPlan {
    ElementPlan { node: NodeId::ROOT, kind: Kind::Out, list: false, components: (0, 0), min: 0, mandatory: false }
}

/// Returns the name, with a numeric suffix if it is taken.
pub(crate) fn unique(name: &str, taken: &mut Vec<String>) -> String {
    let mut made = name.to_owned();
    let mut number = 2u32;
    while taken.contains(&made) {
        made = format!("{name}_{number}");
        number += 1;
    }
    taken.push(made.clone());
    made
}

/// Converts `Name last or organization name` to `name_last_or_organization_name`.
fn slug(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') && c != '\'' {
            out.push('_');
        }
    }
    while out.ends_with('_') {
        out.pop();
    }
    out
}

fn occurs(requirement: Requirement, max: Option<u32>) -> Occurs {
    let mandatory = requirement == Requirement::Mandatory;
    match max {
        Some(1) if mandatory => Occurs::Once,
        Some(1) => Occurs::Optional,
        max => Occurs::Many { min: u32::from(mandatory), max },
    }
}

/// Returns for each item true if it is a segment among siblings in any order, some of which are repeatable.
fn gathered(items: &[Item], ranks: &[u32]) -> Vec<bool> {
    let repeats = |item: &Item| matches!(item, Item::Segment(segment) if segment.max != Some(1));
    (0..items.len())
        .map(|i| {
            let mut siblings = (0..items.len()).filter(|other| ranks[*other] == ranks[i]);
            let several = siblings.clone().count() > 1;
            several && siblings.any(|other| repeats(&items[other])) && matches!(items[i], Item::Segment(_))
        })
        .collect()
}

stored!(struct Plan { root, items, elements });
stored!(struct ItemPlan {
    node, list, turns, is_loop, rank, gathered, begins_page, has_loops, elements, tag, qualifier,
});
stored!(struct ElementPlan { node, kind, list, components, min, mandatory });
stored!(enum Kind { 0 Out, 1 Text, 2 Bytes, 3 Decimal, 4 Implied(places), 5 Composite });
