//! The part of a standard's dictionary that a guide needs.

use std::collections::BTreeMap;

use quayline_edi::guide::{Dictionary, ElementOf, Item, SegmentDef};

/// Returns the part of a dictionary that a structure uses.
pub(crate) fn used(dictionary: &Dictionary, structure: &[Item]) -> Dictionary {
    let mut used = Dictionary::default();
    add_segments(dictionary, structure, &mut used.segments);
    let uses = used.segments.values().flat_map(|segment| &segment.elements);
    let mut elements: Vec<&str> = Vec::new();
    for of in uses {
        match &of.of {
            ElementOf::Element(id) => elements.push(id),
            ElementOf::Composite(id) => {
                used.composites.extend(dictionary.composites.get(id).map(|def| (id.clone(), def.clone())));
            }
        }
    }
    for component in used.composites.values().flat_map(|composite| &composite.components) {
        if let ElementOf::Element(id) = &component.of {
            elements.push(id);
        }
    }
    for id in elements {
        let Some(def) = dictionary.elements.get(id) else { continue };
        if let Some((name, list)) = def.codes.as_ref().and_then(|name| dictionary.codes.get_key_value(name)) {
            used.codes.insert(name.clone(), list.clone());
        }
        used.elements.insert(id.to_owned(), def.clone());
    }
    used
}

fn add_segments(dictionary: &Dictionary, items: &[Item], segments: &mut BTreeMap<String, SegmentDef>) {
    for item in items {
        match item {
            Item::Segment(of) => {
                segments.extend(dictionary.segments.get(&of.tag).map(|def| (of.tag.clone(), def.clone())));
            }
            Item::Loop(of) => add_segments(dictionary, &of.items, segments),
        }
    }
}
