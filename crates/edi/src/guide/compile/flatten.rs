//! The structure as a list in document order.

use std::collections::BTreeMap;

use quayline_core::Finding;

use super::codes::{LOOP, OCCURRENCES, TAG, TOO_LARGE, TWICE, error};
use super::{CompiledItem, ItemId, ItemKind, place, small};
use crate::delimiters::Standard;
use crate::guide::model::{Guide, Item, LoopUse, Requirement, SegmentUse};
use crate::level::Level;

/// Items and, by the same index, the uses they came from.
pub(super) struct Flat<'g> {
    pub(super) items: Vec<CompiledItem>,
    pub(super) uses: Vec<Option<&'g SegmentUse>>,
}

/// Loops inside loops. The deepest guides have eight.
pub(crate) const DEPTH_MAX: usize = 32;
/// Maximum number of items of a guide. The largest have some thousand.
const ITEMS_MAX: usize = 20_000;
/// Maximum number of places of one tag. Guides have up to about 100. Places of one tag are compared in pairs, so a limit keeps the time linear.
const PLACES_MAX: usize = 1_000;

pub(super) fn flatten<'g>(guide: &'g Guide, findings: &mut Vec<Finding>) -> Flat<'g> {
    let root = CompiledItem {
        kind: ItemKind::Loop,
        id: guide.transaction.as_str().into(),
        name: guide.title.as_deref().map(Into::into),
        parent: ItemId::TRANSACTION,
        end: ItemId(1),
        depth: 0,
        requirement: Requirement::Mandatory,
        max: Some(1),
        is_trigger: false,
        slot: 0,
        rank: 0,
        loop_number: 0,
        conditions: (0, 0),
        deciders: (0, 0),
    };
    let mut flat = Flat { items: vec![root], uses: vec![None] };
    if guide.structure.is_empty() {
        findings.push(error(LOOP, guide.name.as_str(), "the structure has no segments"));
    }
    children(guide, &guide.structure, ItemId::TRANSACTION, 1, &mut flat, findings);
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for segment in flat.uses.iter().flatten() {
        *places.entry(segment.tag.as_str()).or_default() += 1;
    }
    for (tag, count) in places.into_iter().filter(|(_, count)| *count > PLACES_MAX) {
        let message = format!("{tag} has {count} places, at most {PLACES_MAX} are allowed");
        let hint = "merge places that differ in codes only, or split the guide by kinds of transactions";
        findings.push(error(TOO_LARGE, guide.name.as_str(), message).hint(hint));
    }
    flat.items[0].end = ItemId(small(flat.items.len()));
    flat
}

fn children<'g>(
    guide: &Guide,
    items: &'g [Item],
    parent: ItemId,
    depth: usize,
    flat: &mut Flat<'g>,
    findings: &mut Vec<Finding>,
) {
    let (mut rank, mut position) = (0, 0);
    let mut ids: Vec<&str> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        if flat.items.len() >= ITEMS_MAX || depth > DEPTH_MAX {
            if findings.iter().all(|finding| finding.code != TOO_LARGE) {
                let message =
                    format!("the structure has more than {ITEMS_MAX} items or loops nested deeper than {DEPTH_MAX}");
                let hint = "split the guide by kinds of transactions, or merge loops";
                findings.push(error(TOO_LARGE, guide.name.as_str(), message).hint(hint));
            }
            return;
        }
        let own = match item {
            Item::Segment(segment) => segment.position,
            Item::Loop(inner) => inner.position,
        };
        if i > 0 && (own == 0 || own != position) {
            rank += 1;
        }
        position = own;
        let id = ItemId(small(flat.items.len()));
        let is_trigger = i == 0 && parent != ItemId::TRANSACTION;
        let made = CompiledItem {
            parent,
            end: ItemId(id.0 + 1),
            depth: small(depth),
            rank,
            is_trigger,
            ..match item {
                Item::Segment(segment) => of_segment(segment, is_trigger),
                Item::Loop(inner) => of_loop(inner),
            }
        };
        flat.items.push(made);
        flat.uses.push(if let Item::Segment(segment) = item { Some(segment) } else { None });
        let at = || place(&flat.items, id);
        let (requirement, max) = (flat.items[id.index()].requirement, flat.items[id.index()].max);
        if max == Some(0) && requirement != Requirement::NotUsed {
            findings.push(error(
                OCCURRENCES,
                at(),
                "at most 0 occurrences are allowed, but it is not marked as not used",
            ));
        }
        let name = match item {
            Item::Segment(segment) => {
                check_tag(guide.standard, segment, &at, findings);
                segment.id.as_deref()
            }
            Item::Loop(inner) => {
                if !matches!(inner.items.first(), Some(Item::Segment(_))) {
                    let message =
                        "the loop's first item is not a segment; a loop begins with the segment that opens it";
                    findings.push(error(LOOP, at(), message));
                }
                Some(inner.id.as_str())
            }
        };
        if let Some(name) = name {
            if ids.contains(&name) {
                let message = format!("two items here have the id `{name}`, so documents cannot name them");
                findings.push(error(TWICE, at(), message));
            }
            ids.push(name);
        }
        if let Item::Loop(inner) = item {
            children(guide, &inner.items, id, depth + 1, flat, findings);
            flat.items[id.index()].end = ItemId(small(flat.items.len()));
        }
    }
}

fn of_segment(segment: &SegmentUse, is_trigger: bool) -> CompiledItem {
    let max = if segment.requirement == Requirement::NotUsed { Some(0) } else { segment.max };
    CompiledItem {
        kind: ItemKind::Segment,
        id: segment.tag.as_str().into(),
        name: segment.name.as_deref().map(Into::into),
        // A loop cannot exist without its trigger, so the trigger is mandatory.
        requirement: if is_trigger { Requirement::Mandatory } else { segment.requirement },
        max,
        parent: ItemId::TRANSACTION,
        end: ItemId(0),
        depth: 0,
        is_trigger,
        slot: 0,
        rank: 0,
        loop_number: 0,
        conditions: (0, 0),
        deciders: (0, 0),
    }
}

fn of_loop(inner: &LoopUse) -> CompiledItem {
    CompiledItem {
        kind: ItemKind::Loop,
        id: inner.id.as_str().into(),
        name: inner.name.as_deref().map(Into::into),
        requirement: inner.requirement,
        max: if inner.requirement == Requirement::NotUsed { Some(0) } else { inner.repeat },
        parent: ItemId::TRANSACTION,
        end: ItemId(0),
        depth: 0,
        is_trigger: false,
        slot: 0,
        rank: 0,
        loop_number: 0,
        conditions: (0, 0),
        deciders: (0, 0),
    }
}

fn check_tag(standard: Standard, segment: &SegmentUse, at: &dyn Fn() -> String, findings: &mut Vec<Finding>) {
    let tag = segment.tag.as_bytes();
    let good = matches!(tag.len(), 2 | 3)
        && tag[0].is_ascii_uppercase()
        && tag.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if !good {
        findings.push(error(TAG, at(), "the tag is not two or three capital letters or digits, a letter first"));
    } else if Level::of(standard, tag).is_some() {
        let message = "segments of the envelope are not part of a guide's structure";
        findings.push(error(TAG, at(), message).hint("remove it; the envelope is checked automatically"));
    }
}
