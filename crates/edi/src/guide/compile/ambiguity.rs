//! Detection of segments that match two places.

use std::collections::BTreeMap;

use quayline_core::{Finding, stored};

use super::codes::{AMBIGUOUS, warning};
use super::distinguish::{Condition, Shared, owner, reference};
use super::{CompiledItem, ItemId, Transitions, place, small};
use crate::guide::model::{Guide, Requirement, SegmentUse};

/// Two places of a guide that one segment can match, so that one of them is reached only when the other is full.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// Place that takes the segments that match both.
    pub taken: ItemId,
    /// The segment that does not get it.
    pub shadowed: ItemId,
    /// Reason why they cannot be distinguished.
    pub why: String,
    /// The fewest segments, tags and qualifiers only, after which the last one fits both.
    pub example: Vec<String>,
    places: (String, String),
}

/// Maximum number of reported ambiguities; a guide with more has one mistake repeated many times.
const TOLD_MAX: usize = 100;
/// Segments of an example that a message shows.
const SHOWN_MAX: usize = 6;

impl Ambiguity {
    /// Converts the ambiguity to a warning.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (taken, shadowed) = &self.places;
        let first = self.example.len().saturating_sub(SHOWN_MAX);
        let before = if first > 0 { "… " } else { "" };
        let example = self.example[first..].join(" ");
        let last = self.example.last().map_or("", String::as_str);
        let message = format!(
            "{shadowed} cannot be distinguished from {taken}: {}; in `{before}{example}` the last {last} counts as the latter",
            self.why
        );
        warning(AMBIGUOUS, shadowed.as_str(), message)
            .hint("give each a qualifier that the other does not have (`where 01 = …`)")
    }
}

/// Finds pairs of segments with the same tag of which one takes segments that match the other.
pub(super) fn find(
    guide: &Guide,
    uses: &[Option<&SegmentUse>],
    items: &[CompiledItem],
    table: &Transitions,
) -> Vec<Ambiguity> {
    let mut by_tag: BTreeMap<&str, Vec<ItemId>> = BTreeMap::new();
    for (i, item) in items.iter().enumerate().skip(1).filter(|(_, item)| item.loop_number == 0) {
        by_tag.entry(&item.id).or_default().push(ItemId(small(i)));
    }
    let mut mandatory = vec![Vec::new(); items.len()];
    for item in items.iter().skip(1).filter(|item| item.requirement == Requirement::Mandatory) {
        mandatory[item.parent.index()].push(item.rank);
    }
    mandatory.iter_mut().for_each(|ranks| ranks.sort_unstable());
    let search = Search { guide, uses, items, table, mandatory };
    let mut found = Vec::new();
    for places in by_tag.values() {
        for (i, one) in places.iter().enumerate() {
            for other in &places[i + 1..] {
                if found.len() >= TOLD_MAX {
                    return found;
                }
                // Try the place that the walk reaches first.
                let ambiguity = search.pair(*one, *other).or_else(|| search.pair(*other, *one));
                found.extend(ambiguity);
            }
        }
    }
    found.sort_by_key(|ambiguity| ambiguity.shadowed);
    found
}

struct Search<'x> {
    guide: &'x Guide,
    uses: &'x [Option<&'x SegmentUse>],
    items: &'x [CompiledItem],
    table: &'x Transitions,
    /// Ranks of the mandatory children of each item, ascending.
    mandatory: Vec<Vec<u32>>,
}

impl<'x> Search<'x> {
    /// Returns the ambiguity if `taken` takes segments that also match `shadowed`.
    fn pair(&self, taken: ItemId, shadowed: ItemId) -> Option<Ambiguity> {
        let (inner, outer) = (owner(self.items, taken), owner(self.items, shadowed));
        let inside = outer <= inner && inner < self.items[outer.index()].end;
        let (child_taken, child_shadowed) = (self.child(taken), self.child(shadowed));
        let used = |id: ItemId| self.items[id.index()].max != Some(0);
        if !inside || !used(child_taken) || !used(child_shadowed) || child_taken == child_shadowed {
            return None;
        }
        // At the taken place, the loops up to the other's owner may end, and no mandatory item is between them.
        let (mut at, mut own) = (child_taken, inner);
        while own != outer {
            if !self.is_free(own, at, None) {
                return None;
            }
            at = own;
            own = self.items[own.index()].parent;
        }
        let (rank_at, rank) = (self.items[at.index()].rank, self.items[child_shadowed.index()].rank);
        let behind = rank > rank_at || (rank == rank_at && (inner != outer || child_taken < child_shadowed));
        if !behind || (at != child_shadowed && !self.is_free(own, at, Some(child_shadowed))) {
            return None;
        }
        // A mandatory first occurrence is unambiguous; a second one may be taken by the other place.
        let first = &self.items[child_taken.index()];
        let repeats = first.max != Some(1);
        if first.requirement == Requirement::Mandatory && !repeats {
            return None;
        }
        let shared = self.shared(taken, shadowed)?;
        let why = self.why(taken, shadowed, &shared);
        let mut example = Vec::new();
        self.prefix(child_taken, &mut example);
        if first.requirement == Requirement::Mandatory {
            self.instance(child_taken, &mut example);
        }
        example.push(self.both(taken, &shared));
        let places = self.names(taken, shadowed);
        Some(Ambiguity { taken, shadowed, why, example, places })
    }

    /// Returns the item of its owner that a segment is or opens.
    fn child(&self, id: ItemId) -> ItemId {
        let item = &self.items[id.index()];
        if item.is_trigger { item.parent } else { id }
    }

    /// Returns true if a loop has no mandatory item after `from` and before `to` (or the loop's end).
    fn is_free(&self, own: ItemId, from: ItemId, to: Option<ItemId>) -> bool {
        let rank = self.items[from.index()].rank;
        let end = to.map_or(u32::MAX, |to| self.items[to.index()].rank);
        let ranks = &self.mandatory[own.index()];
        let next = ranks.partition_point(|mandatory| *mandatory <= rank);
        ranks.get(next).is_none_or(|next| *next >= end)
    }

    fn children(&self, of: ItemId) -> impl Iterator<Item = ItemId> + '_ {
        let end = self.items[of.index()].end;
        let mut next = ItemId(of.0 + 1);
        core::iter::from_fn(move || {
            let this = next;
            (this < end).then(|| {
                next = self.items[this.index()].end;
                this
            })
        })
    }

    fn conditions(&self, id: ItemId) -> &[Condition] {
        let (from, to) = self.items[id.index()].conditions;
        &self.table.conditions[from as usize..to as usize]
    }

    /// Returns the content of a segment that matches both places; `None` if they can be distinguished.
    fn shared(&self, taken: ItemId, shadowed: ItemId) -> Option<Shared<'x>> {
        let (a, b) = (self.conditions(taken), self.conditions(shadowed));
        if a.iter().any(|one| b.iter().any(|other| one.excludes(other))) {
            return None;
        }
        Shared::of(self.guide, self.uses[taken.index()]?, self.uses[shadowed.index()]?)
    }

    fn why(&self, taken: ItemId, shadowed: ItemId, shared: &Shared<'_>) -> String {
        let (a, b) = (self.conditions(taken), self.conditions(shadowed));
        let tag = &self.items[taken.index()].id;
        let name = |condition: &Condition| reference(tag, condition.element, condition.component);
        if let Some(differs) = shared.differs.as_ref().filter(|differs| {
            let is_open = a.is_empty() && b.is_empty();
            is_open || (differs.both_closed && differs.value.is_some() && (a.is_empty() || b.is_empty()))
        }) {
            let name = reference(tag, differs.column.0, differs.column.1);
            return match differs.value {
                Some(value) => format!("{name} may be {value} in both"),
                None => format!("{name} may be left out in both"),
            };
        }
        match (a, b) {
            ([], []) => format!("neither {tag} has a qualifier or codes that the other does not have"),
            ([], [condition, ..]) => format!("the former has no qualifier, so any {} is taken", name(condition)),
            ([condition, ..], []) => format!("only the latter requires {}", name(condition)),
            ([one, ..], others) => {
                let same = others.iter().find(|other| other.element == one.element && other.component == one.component);
                match same.and_then(|other| common(one, other)) {
                    Some(value) => format!("{} may be {value} in both", name(one)),
                    None => {
                        format!("different elements distinguish them, {} and {}", name(one), name(&others[0]))
                    }
                }
            }
        }
    }

    /// Names the two places by their difference: their loops, or otherwise their number among the segments of their loop.
    fn names(&self, taken: ItemId, shadowed: ItemId) -> (String, String) {
        let names = (place(self.items, taken), place(self.items, shadowed));
        if names.0 != names.1 {
            return names;
        }
        let number = |id: ItemId| {
            let parent = self.items[id.index()].parent;
            let alike = |other: &ItemId| {
                let (one, other) = (&self.items[id.index()], &self.items[other.index()]);
                one.kind == other.kind && one.id == other.id
            };
            let count = self.children(parent).filter(alike).take_while(|other| *other <= id).count();
            let name = self.items[id.index()].name.as_deref().map_or(String::new(), |name| format!(" ({name})"));
            format!("{}[{count}]{name}", place(self.items, id))
        };
        (number(taken), number(shadowed))
    }

    /// Builds an example segment that matches both places.
    fn both(&self, taken: ItemId, shared: &Shared<'_>) -> String {
        let asked = shared.segment.iter().map(|(column, value)| (*column, value.unwrap_or(""))).collect();
        self.text(&self.items[taken.index()].id, &asked)
    }

    /// Builds an example segment that matches its place.
    fn one(&self, id: ItemId) -> String {
        let mut asked: BTreeMap<(usize, usize), &str> = BTreeMap::new();
        for condition in self.conditions(id) {
            let value = condition.values.first().map_or("", |value| value);
            asked.entry((condition.element, condition.component)).or_insert(value);
        }
        self.text(&self.items[id.index()].id, &asked)
    }

    /// Formats a tag with values for the required elements.
    fn text(&self, tag: &str, asked: &BTreeMap<(usize, usize), &str>) -> String {
        let separator = match self.guide.standard {
            crate::delimiters::Standard::X12 => '*',
            crate::delimiters::Standard::Edifact => '+',
        };
        let mut text = tag.to_owned();
        let (mut element, mut component) = (0, 1);
        for ((e, c), value) in asked {
            while element < *e {
                text.push(separator);
                element += 1;
                component = 1;
            }
            while component < *c {
                text.push(':');
                component += 1;
            }
            text.push_str(value);
        }
        text
    }

    /// Collects the minimum segments before an item.
    fn prefix(&self, id: ItemId, out: &mut Vec<String>) {
        let item = &self.items[id.index()];
        let parent = item.parent;
        if parent != ItemId::TRANSACTION {
            self.prefix(parent, out);
        }
        for sibling in self.children(parent) {
            let before = &self.items[sibling.index()];
            if before.rank < item.rank && before.requirement == Requirement::Mandatory {
                self.instance(sibling, out);
            }
        }
    }

    /// Collects the minimum segments of an item.
    fn instance(&self, id: ItemId, out: &mut Vec<String>) {
        if !super::distinguish::is_loop(&self.items[id.index()]) {
            out.push(self.one(id));
            return;
        }
        for child in self.children(id) {
            if self.items[child.index()].requirement == Requirement::Mandatory {
                self.instance(child, out);
            }
        }
    }
}

/// Returns a value that both conditions allow.
fn common<'c>(one: &'c Condition, other: &Condition) -> Option<&'c str> {
    one.values.iter().find(|value| other.values.binary_search(value).is_ok()).map(|value| &**value)
}

stored!(struct Ambiguity { taken, shadowed, why, example, places });
