//! A guide as flat tables: what its items are, what each segment leads to, what its elements must be.

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

use quayline_core::{Finding, Findings, Severity, packed};

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

/// A guide ready for use: the structure as transitions by tag and qualifier, the elements as tables.
///
/// Compiling finds all that is wrong with a guide at once. What works but may not be what was meant are [`CompiledGuide::warnings`], above all
/// [`CompiledGuide::ambiguities`]: segments that could stand at two places.
///
/// # How a segment finds its place
/// Of the loops that are open, the innermost one first; in it, of the places that are not behind us, the first with the segment's tag whose
/// qualifier fits and that is not full. Siblings next to each other with the same position come in any order. Where several places are left
/// that ask something different of the segment's elements, the one that the elements fit best is taken, and the first of those alike.
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
    /// By item: levels of HL around it and its own; empty where HL loops do not nest.
    hl: HlLevels,
    warnings: Vec<Finding>,
    ambiguities: Vec<Ambiguity>,
}

/// Number of an item of a guide's structure: 0 is the transaction, then segments and loops in the guide's order, a loop before its items.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ItemId(pub u32);

impl ItemId {
    /// The transaction, which holds all others.
    pub const TRANSACTION: ItemId = ItemId(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A segment or loop of a guide's structure.
#[derive(Clone, Debug)]
pub struct CompiledItem {
    /// Which of both.
    pub kind: ItemKind,
    /// Tag of the segment, id of the loop.
    pub id: Box<str>,
    /// Name for people.
    pub name: Option<Box<str>>,
    /// The loop that it stands in; of the transaction, itself.
    pub parent: ItemId,
    /// The first item that is not inside it.
    pub end: ItemId,
    /// Loops around it; 0 for the transaction and 1 for what stands directly in it.
    pub depth: u32,
    /// Whether it must stand there.
    pub requirement: Requirement,
    /// Most occurrences; `None` is unbounded.
    pub max: Option<u32>,
    /// Whether it opens the loop that it stands in.
    pub is_trigger: bool,
    /// Its place in `Transitions::slots`.
    pub(crate) slot: u32,
    /// Its place among its siblings: those with the same rank come in any order.
    pub(crate) rank: u32,
    /// Of loops: its number among loops.
    pub(crate) loop_number: u32,
    /// Conditions that tell the segment from others: range of `Transitions::conditions`.
    pub(crate) conditions: (u32, u32),
    /// What decides where conditions do not: range of `Transitions::deciders`.
    pub(crate) deciders: (u32, u32),
}

/// What an item is.
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
        let rules = rules::compile(guide, &items, &mut findings);
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

    /// The guide's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// X12 or EDIFACT.
    #[must_use]
    pub fn standard(&self) -> Standard {
        self.standard
    }

    /// What an interchange names to ask for it ([`Guide::version`]).
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// ST01 or UNH 0065.
    #[must_use]
    pub fn transaction(&self) -> &str {
        &self.transaction
    }

    /// GS01.
    #[must_use]
    pub fn functional_group(&self) -> Option<&str> {
        self.functional_group.as_deref()
    }

    /// All items; [`ItemId`] is the index.
    #[must_use]
    pub fn items(&self) -> &[CompiledItem] {
        &self.items
    }

    /// An item.
    ///
    /// # Panics
    /// If it is one of another guide.
    #[must_use]
    pub fn item(&self, id: ItemId) -> &CompiledItem {
        &self.items[id.index()]
    }

    /// The items directly in a loop.
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

    /// Of an HL segment that opens a loop: levels of HL around it and its own; 0 for others, and where there is only one.
    #[inline(always)]
    pub(crate) fn hl_level(&self, id: ItemId) -> u8 {
        self.hl.level(id)
    }

    /// Where HL loops follow each other: what the guide says of their levels.
    pub(crate) fn flat_levels(&self) -> Option<&FlatLevels> {
        self.hl.flat()
    }

    /// What works but may not be what was meant.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// Places that a segment cannot tell apart.
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

/// Where something stands, for findings.
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

packed!(struct CompiledGuide {
    name, standard, version, transaction, functional_group, items, transitions, layouts, rules, hl, warnings, ambiguities,
});
packed!(struct ItemId(number));
packed!(enum ItemKind { 0 Segment, 1 Loop });
packed!(struct CompiledItem {
    kind, id, name, parent, end, depth, requirement, max, is_trigger, slot, rank, loop_number, conditions, deciders,
});
