//! Structures of sources brought into the form of guides: wrapper loops spliced in, triggers in front, twins qualified.

use std::collections::BTreeMap;

use quayline_edi::guide::{Qualifier, Requirement};

use crate::factor::{PlacedItem, PlacedLoop, PlacedSegment};

impl PlacedItem {
    /// Returns the position among the siblings.
    pub(crate) fn position(&self) -> u32 {
        match self {
            PlacedItem::Segment(segment) => segment.position,
            PlacedItem::Loop(of) => of.position,
        }
    }

    fn set_position(&mut self, position: u32) {
        match self {
            PlacedItem::Segment(segment) => segment.position = position,
            PlacedItem::Loop(of) => of.position = position,
        }
    }

    fn set_optional(&mut self) {
        match self {
            PlacedItem::Segment(segment) => segment.requirement = Requirement::Optional,
            PlacedItem::Loop(of) => of.requirement = Requirement::Optional,
        }
    }

    fn is_mandatory(&self) -> bool {
        let requirement = match self {
            PlacedItem::Segment(segment) => segment.requirement,
            PlacedItem::Loop(of) => of.requirement,
        };
        requirement == Requirement::Mandatory
    }

    /// Returns the segment that begins the loop.
    fn trigger(&self) -> Option<&PlacedSegment> {
        match self {
            PlacedItem::Segment(segment) => Some(segment),
            PlacedItem::Loop(of) => of.items.first().and_then(PlacedItem::trigger),
        }
    }
}

/// Splices loops that do not begin with a segment, and wrappers that occur once, into their parents; drops empty ones; makes
/// triggers mandatory.
///
/// Calls `warn` for loops whose splicing allows more than the source does.
pub(crate) fn tidy(items: &mut Vec<PlacedItem>, warn: &mut dyn FnMut(&str, &str)) {
    let mut spliced = !items.is_sorted_by_key(PlacedItem::position);
    let mut tidied: Vec<PlacedItem> = Vec::with_capacity(items.len());
    let mut groups: Vec<(u32, u32)> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        let PlacedItem::Loop(mut of) = item else {
            groups.push((item.position(), 0));
            tidied.push(item);
            continue;
        };
        tidy(&mut of.items, warn);
        if of.items.is_empty() {
            continue;
        }
        let begins = matches!(of.items[0], PlacedItem::Segment(_));
        if begins && !(of.wrapper && of.repeat == Some(1)) {
            trigger_in_front(&mut of);
            groups.push((of.position, 0));
            tidied.push(PlacedItem::Loop(of));
            continue;
        }
        spliced = true;
        splice(&mut of, warn);
        for item in of.items {
            groups.push((of.position, item.position().max(1)));
            tidied.push(item);
        }
    }
    if spliced {
        renumber(&mut tidied, &groups);
    }
    *items = tidied;
}

/// Moves the first segment to the front: it opens the loop, so it is mandatory and has no alternative.
fn trigger_in_front(of: &mut PlacedLoop) {
    let next = of.items.get(1).map(PlacedItem::position);
    if let Some(PlacedItem::Segment(trigger)) = of.items.first_mut() {
        trigger.requirement = Requirement::Mandatory;
        // A second one in a row is the next repetition.
        if of.repeat != Some(1) {
            trigger.max = Some(1);
        }
        if next == Some(trigger.position) {
            trigger.position = trigger.position.saturating_sub(1);
        }
    }
}

/// Replaces a loop by its content, which is optional if the loop is and repeated like the loop. A wrapper's own requirement is
/// ignored: that of its content counts.
fn splice(of: &mut PlacedLoop, warn: &mut dyn FnMut(&str, &str)) {
    if of.requirement == Requirement::Optional && !of.wrapper {
        let mandatory = of.items.iter().filter(|item| item.is_mandatory()).count();
        if mandatory > 0 && of.items.len() > 1 {
            warn(&of.id, "it is optional, and so becomes all in it");
        }
        of.items.iter_mut().for_each(PlacedItem::set_optional);
    }
    if of.repeat == Some(1) {
        return;
    }
    let repeated = |repeat: Option<u32>| of.repeat.and_then(|of| of.checked_mul(repeat?));
    let several = of.items.len() > 1;
    for item in &mut of.items {
        match item {
            PlacedItem::Segment(segment) => segment.max = repeated(segment.max),
            PlacedItem::Loop(only) => only.repeat = repeated(only.repeat),
        }
        if several {
            item.set_position(1);
        }
    }
    if several {
        warn(&of.id, "it repeats, but no segment begins it; what is in it may come in any order");
    }
}

/// Numbers items in tens; those that had the same place keep the same number.
fn renumber(items: &mut [PlacedItem], groups: &[(u32, u32)]) {
    let mut number = 0;
    for (at, item) in items.iter_mut().enumerate() {
        if at == 0 || groups[at] != groups[at - 1] {
            number += 10;
        }
        item.set_position(number);
    }
}

/// Adds qualifiers to segments that have twins: the same tag among their siblings, or more than one place of which one begins a
/// loop.
pub(crate) fn qualify(items: &mut [PlacedItem], key: &dyn Fn(&PlacedSegment) -> Option<Qualifier>) {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    count(items, &mut seen);
    assign(items, &seen, key);
}

#[derive(Default)]
struct Seen {
    places: u32,
    triggers: u32,
}

fn count(items: &[PlacedItem], seen: &mut BTreeMap<String, Seen>) {
    for item in items {
        match item {
            PlacedItem::Segment(segment) => seen.entry(segment.tag.clone()).or_default().places += 1,
            PlacedItem::Loop(of) => {
                if let Some(trigger) = item.trigger() {
                    seen.entry(trigger.tag.clone()).or_default().triggers += 1;
                }
                count(&of.items, seen);
            }
        }
    }
}

fn assign(items: &mut [PlacedItem], seen: &BTreeMap<String, Seen>, key: &dyn Fn(&PlacedSegment) -> Option<Qualifier>) {
    let mut siblings: BTreeMap<String, u32> = BTreeMap::new();
    for trigger in items.iter().filter_map(PlacedItem::trigger) {
        *siblings.entry(trigger.tag.clone()).or_default() += 1;
    }
    for item in items {
        match item {
            PlacedItem::Segment(segment) => {
                let seen = &seen[&segment.tag];
                if siblings[&segment.tag] > 1 || (seen.triggers > 0 && seen.places > 1) {
                    segment.qualifier = key(segment);
                }
            }
            PlacedItem::Loop(of) => assign(&mut of.items, seen, key),
        }
    }
}
