//! Names of segments and loops among their siblings, in documents, overlays and messages.

use std::collections::BTreeMap;

use super::{Codes, Item, SegmentUse};

/// Returns a name for each item, unique among these siblings.
///
/// The name of a loop is its id. The name of a segment is its `id` if it has one, its tag if no sibling has the same tag, and otherwise the tag and
/// its first qualifying code (`REF_D9`): the code of its qualifier, or the first code of the first element that has codes in all siblings with that
/// tag. If that is ambiguous, a number is appended: `REF_2`.
#[must_use]
pub fn item_names(items: &[Item]) -> Vec<String> {
    let mut tags: BTreeMap<&str, Vec<&SegmentUse>> = BTreeMap::new();
    for item in items {
        if let Item::Segment(segment) = item {
            tags.entry(&segment.tag).or_default().push(segment);
        }
    }
    let mut used: BTreeMap<String, u32> = BTreeMap::new();
    items
        .iter()
        .map(|item| {
            let name = match item {
                Item::Loop(inner) => inner.id.clone(),
                Item::Segment(segment) => segment_name(segment, &tags[segment.tag.as_str()]),
            };
            unique(name, &mut used)
        })
        .collect()
}

/// Returns the name, with a numeric suffix if it is taken.
fn unique(name: String, used: &mut BTreeMap<String, u32>) -> String {
    if !used.contains_key(&name) {
        used.insert(name.clone(), 1);
        return name;
    }
    loop {
        let number = used.entry(name.clone()).or_insert(1);
        *number += 1;
        let next = format!("{name}_{number}");
        if !used.contains_key(&next) {
            used.insert(next.clone(), 1);
            return next;
        }
    }
}

fn segment_name(segment: &SegmentUse, siblings: &[&SegmentUse]) -> String {
    if let Some(id) = &segment.id {
        return id.clone();
    }
    if siblings.len() < 2 {
        return segment.tag.clone();
    }
    let code = match &segment.qualifier {
        Some(qualifier) => qualifier.values.first(),
        None => telling_place(siblings).and_then(|place| codes_at(segment, place)).and_then(<[String]>::first),
    };
    match code {
        Some(code) => format!("{}_{code}", segment.tag),
        None => segment.tag.clone(),
    }
}

/// Returns the first element for which all siblings without a qualifier have codes.
fn telling_place(siblings: &[&SegmentUse]) -> Option<(u8, u8)> {
    let open: Vec<&&SegmentUse> = siblings.iter().filter(|segment| segment.qualifier.is_none()).collect();
    let mut places: Vec<(u8, u8)> =
        open.first()?.changes.iter().map(|change| (change.element, change.component)).collect();
    places.sort_unstable();
    places.into_iter().find(|place| open.iter().all(|segment| codes_at(segment, *place).is_some()))
}

fn codes_at(segment: &SegmentUse, place: (u8, u8)) -> Option<&[String]> {
    let change = segment.changes.iter().find(|change| (change.element, change.component) == place)?;
    match &change.codes {
        Some(Codes::These(values)) => Some(values),
        _ => None,
    }
}
