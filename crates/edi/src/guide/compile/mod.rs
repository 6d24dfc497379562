//! Compilation of a guide to flat tables: its items, the transitions of each segment, and the requirements on its elements.

mod ambiguity;
mod cell;
mod check;
mod codes;
mod distinguish;
pub(crate) mod effective;
mod flatten;
mod layout;
mod levels;
#[cfg(test)]
mod tests;
mod transitions;

use std::collections::BTreeMap;

use quayline_core::{Finding, Findings, Severity, stored};

pub use ambiguity::Ambiguity;
pub(crate) use cell::{Cell, Way};
pub(crate) use distinguish::{Condition, Needs, reference};
pub(crate) use layout::{Form, Layouts, Note, Spec};
pub(crate) use transitions::{Candidate, NO_SLOT, Transitions, tag_key};

use super::model::{Guide, Requirement};
use super::rules::{self, RulePlan};
use crate::delimiters::Standard;
pub(crate) use levels::FlatLevels;
use levels::HlLevels;

/// A compiled guide: the structure as transitions by tag and qualifier, the elements as tables.
///
/// Compiling reports all errors of a guide at once. Valid but suspicious definitions are [`CompiledGuide::warnings`], above all
/// [`CompiledGuide::ambiguities`]: segments that match two places.
///
/// # Placement of a segment
/// Open loops are searched from the innermost outward. Within a loop, the segment takes the first place at or after the current one that has the
/// segment's tag, a matching qualifier and room for another occurrence. Adjacent siblings with the same position come in any order. If several places
/// remain that have different requirements on the segment's elements, the one with the best match is taken, and the first of equal ones.
#[derive(Debug)]
pub struct CompiledGuide {
    name: Box<str>,
    standard: Standard,
    version: Box<str>,
    transaction: Box<str>,
    functional_group: Option<Box<str>>,
    items: Vec<CompiledItem>,
    pub(crate) transitions: Transitions,
    pub(crate) layouts: Layouts,
    pub(crate) rules: RulePlan,
    /// By item: its HL level including the enclosing ones; empty if HL loops do not nest.
    hl: HlLevels,
    warnings: Vec<Finding>,
    ambiguities: Vec<Ambiguity>,
}

/// Number of an item of a guide's structure: 0 is the transaction, then segments and loops in the guide's order, a loop before its items.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ItemId(pub u32);

impl ItemId {
    /// The transaction, which contains all other items.
    pub const TRANSACTION: ItemId = ItemId(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A segment or loop of a guide's structure.
#[derive(Clone, Debug)]
pub struct CompiledItem {
    /// Loop or segment.
    pub kind: ItemKind,
    /// Tag of the segment, id of the loop.
    pub id: Box<str>,
    /// Name for people.
    pub name: Option<Box<str>>,
    /// Loop that contains it; for the transaction, itself.
    pub parent: ItemId,
    /// The first item that is not inside it.
    pub end: ItemId,
    /// Number of enclosing loops; 0 for the transaction and 1 for its direct children.
    pub depth: u32,
    /// Whether the item is mandatory.
    pub requirement: Requirement,
    /// Most occurrences; `None` is unbounded.
    pub max: Option<u32>,
    /// True if it opens the loop that contains it.
    pub is_trigger: bool,
    /// Index in `Transitions::slots`.
    pub(crate) slot: u32,
    /// Rank among its siblings: those with the same rank come in any order.
    pub(crate) rank: u32,
    /// For loops: its number among loops.
    pub(crate) loop_number: u32,
    /// Conditions that distinguish the segment from others: range of `Transitions::conditions`.
    pub(crate) conditions: (u32, u32),
    /// Deciders for cases that the conditions leave open: range of `Transitions::deciders`.
    pub(crate) deciders: (u32, u32),
}

/// Kind of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ItemKind {
    /// A segment.
    Segment,
    /// A loop; also the transaction as a whole.
    Loop,
}

impl CompiledGuide {
    /// Compiles.
    ///
    /// # Errors
    /// All that is wrong with the guide, `GDE-101` and following.
    pub fn new(guide: &Guide) -> Result<Self, Findings> {
        let mut findings = check::dictionary(guide);
        let flat = flatten::flatten(guide, &mut findings);
        check::structure(guide, &flat, &mut findings);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        let mut items = flat.items;
        let told = distinguish::tell_apart(guide, &flat.uses, &mut items, &mut findings);
        let transitions = transitions::build(&mut items, told, guide);
        let ambiguities = ambiguity::find(guide, &flat.uses, &items, &transitions);
        let rules = rules::compile(guide, &items, &flat.uses, &mut findings);
        let hl = HlLevels::of(guide, &items, &mut findings);
        findings.extend(ambiguities.iter().map(Ambiguity::finding));
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        Ok(CompiledGuide {
            name: guide.name.as_str().into(),
            standard: guide.standard,
            version: guide.version.as_str().into(),
            transaction: guide.transaction.as_str().into(),
            functional_group: guide.functional_group.as_deref().map(Into::into),
            layouts: layout::build(guide, &flat.uses, &items),
            rules,
            hl,
            items,
            transitions,
            warnings: findings,
            ambiguities,
        })
    }

    /// Returns the guide's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the standard, X12 or EDIFACT.
    #[must_use]
    pub fn standard(&self) -> Standard {
        self.standard
    }

    /// Returns the version by which an interchange selects it ([`Guide::version`]).
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the transaction type: ST01 or UNH 0065.
    #[must_use]
    pub fn transaction(&self) -> &str {
        &self.transaction
    }

    /// Returns the functional group, GS01.
    #[must_use]
    pub fn functional_group(&self) -> Option<&str> {
        self.functional_group.as_deref()
    }

    /// Returns all items; [`ItemId`] is the index.
    #[must_use]
    pub fn items(&self) -> &[CompiledItem] {
        &self.items
    }

    /// Returns an item.
    ///
    /// # Panics
    /// If it belongs to another guide.
    #[must_use]
    pub fn item(&self, id: ItemId) -> &CompiledItem {
        &self.items[id.index()]
    }

    /// Iterates over the direct children of a loop.
    pub fn children(&self, of: ItemId) -> impl Iterator<Item = ItemId> + '_ {
        let end = self.item(of).end;
        let mut next = ItemId(of.0 + 1);
        core::iter::from_fn(move || {
            let this = next;
            (this < end).then(|| {
                next = self.item(this).end;
                this
            })
        })
    }

    /// Loops around an item, the outermost first, the transaction left out: `2000A/2010AA`.
    #[must_use]
    pub fn path(&self, id: ItemId) -> String {
        path(&self.items, id)
    }

    /// Returns the HL level of an HL segment that opens a loop, including the enclosing levels; 0 for other segments, and if there is only one level.
    #[inline(always)]
    pub(crate) fn hl_level(&self, id: ItemId) -> u8 {
        self.hl.level(id)
    }

    /// Returns the guide's definition of levels if HL loops are consecutive rather than nested.
    pub(crate) fn flat_levels(&self) -> Option<&FlatLevels> {
        self.hl.flat()
    }

    /// Returns the warnings about valid but suspicious definitions.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// Returns pairs of places that a segment cannot distinguish.
    #[must_use]
    pub fn ambiguities(&self) -> &[Ambiguity] {
        &self.ambiguities
    }
}

/// Loops around an item.
pub(crate) fn path(items: &[CompiledItem], id: ItemId) -> String {
    let mut loops = Vec::new();
    let mut at = items[id.index()].parent;
    while at != ItemId::TRANSACTION {
        loops.push(&*items[at.index()].id);
        at = items[at.index()].parent;
    }
    loops.reverse();
    loops.join("/")
}

/// Returns the place of an item for findings.
pub(crate) fn place(items: &[CompiledItem], id: ItemId) -> String {
    let item = &items[id.index()];
    let path = path(items, id);
    let what = if item.kind == ItemKind::Loop { "loop " } else { "" };
    if path.is_empty() { format!("{what}{}", item.id) } else { format!("{path}/{what}{}", item.id) }
}

/// Positions in tables have 32 bits; guides have far fewer items.
pub(crate) fn small(number: usize) -> u32 {
    u32::try_from(number).expect("a guide has less than 2^32 items, which `flatten` checks")
}

/// Numbers by name.
pub(crate) type Names = BTreeMap<Box<str>, u32>;

stored!(struct CompiledGuide {
    name, standard, version, transaction, functional_group, items, transitions, layouts, rules, hl, warnings, ambiguities,
});
stored!(struct ItemId(number));
stored!(enum ItemKind { 0 Segment, 1 Loop });
stored!(struct CompiledItem {
    kind, id, name, parent, end, depth, requirement, max, is_trigger, slot, rank, loop_number, conditions, deciders,
});
