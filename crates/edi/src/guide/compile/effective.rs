//! Effective definition of an element at one place of the structure: that of the dictionary with the changes of the place.

use crate::guide::model::{
    CodeList, Codes, CompositeDef, DataType, ElementDef, ElementOf, Guide, Requirement, SegmentUse,
};

/// A simple element or component at its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective<'g> {
    /// Data element number.
    pub(crate) number: &'g str,
    pub(crate) name: Option<&'g str>,
    pub(crate) data_type: DataType,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) requirement: Requirement,
    pub(crate) repeat: Option<u32>,
    pub(crate) codes: Allowed<'g>,
}

/// Codes at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Allowed<'g> {
    /// Any value.
    Any,
    /// A list of the dictionary, by its name.
    List(&'g str, &'g CodeList),
    /// Only these codes, from the element's own list.
    These(&'g [String], Option<&'g CodeList>),
}

impl<'g> Allowed<'g> {
    /// Returns the values if no others are allowed.
    pub(crate) fn finite(self) -> Option<Vec<&'g str>> {
        match self {
            Allowed::Any => None,
            Allowed::List(_, list) if list.open => None,
            Allowed::List(_, list) => Some(list.codes.iter().map(|code| code.value.as_str()).collect()),
            Allowed::These(values, _) => Some(values.iter().map(String::as_str).collect()),
        }
    }

    /// Returns true if both are the same list, which avoids the comparison of a thousand codes.
    pub(crate) fn is_same_list(self, other: Allowed<'_>) -> bool {
        matches!((self, other), (Allowed::List(_, a), Allowed::List(_, b)) if core::ptr::eq(a, b))
    }
}

/// Returns the composite at element `number` (from 1) of a segment, if it is one in the dictionary.
pub(crate) fn composite<'g>(guide: &'g Guide, tag: &str, number: usize) -> Option<(&'g str, &'g CompositeDef)> {
    match &guide.dictionary.segments.get(tag)?.elements.get(number.checked_sub(1)?)?.of {
        ElementOf::Composite(id) => guide.dictionary.composites.get_key_value(id).map(|(id, def)| (id.as_str(), def)),
        ElementOf::Element(_) => None,
    }
}

/// Returns the requirement on a composite at a place.
pub(crate) fn composite_requirement(guide: &Guide, segment: &SegmentUse, number: usize) -> Requirement {
    let change = segment.changes.iter().rfind(|change| usize::from(change.element) == number && change.component == 0);
    let own = || guide.dictionary.segments.get(&segment.tag)?.elements.get(number.checked_sub(1)?);
    let own = || own().map_or(Requirement::Optional, |usage| usage.requirement);
    change.and_then(|change| change.requirement).unwrap_or_else(own)
}

/// Returns a simple element (`component` 0) or a component at a place; `None` if it does not exist in the dictionary.
pub(crate) fn element<'g>(
    guide: &'g Guide,
    segment: &'g SegmentUse,
    number: usize,
    component: usize,
) -> Option<Effective<'g>> {
    let dictionary = &guide.dictionary;
    let of_segment = dictionary.segments.get(&segment.tag)?.elements.get(number.checked_sub(1)?)?;
    let usage = match (&of_segment.of, component) {
        (ElementOf::Element(_), 0) => of_segment,
        (ElementOf::Composite(id), 1..) => dictionary.composites.get(id)?.components.get(component - 1)?,
        _ => return None,
    };
    let ElementOf::Element(id) = &usage.of else { return None };
    let (id, def) = dictionary.elements.get_key_value(id)?;
    let mut effective = of_definition(guide, id, def);
    effective.name = usage.name.as_deref().or(effective.name);
    effective.requirement = usage.requirement;
    effective.repeat = usage.repeat;
    for change in &segment.changes {
        if usize::from(change.element) != number || usize::from(change.component) != component {
            continue;
        }
        effective.name = change.name.as_deref().or(effective.name);
        effective.requirement = change.requirement.unwrap_or(effective.requirement);
        effective.min = change.min.unwrap_or(effective.min);
        effective.max = change.max.unwrap_or(effective.max);
        effective.repeat = change.repeat.or(effective.repeat);
        effective.data_type = change.data_type.unwrap_or(effective.data_type);
        let own = def.codes.as_ref().and_then(|name| dictionary.codes.get(name));
        match &change.codes {
            None => {}
            Some(Codes::Any) => effective.codes = Allowed::Any,
            Some(Codes::These(values)) => effective.codes = Allowed::These(values, own),
            Some(Codes::List(name)) => {
                if let Some(list) = dictionary.codes.get(name) {
                    effective.codes = Allowed::List(name, list);
                }
            }
        }
    }
    Some(effective)
}

fn of_definition<'g>(guide: &'g Guide, number: &'g str, def: &'g ElementDef) -> Effective<'g> {
    let codes = match &def.codes {
        Some(name) => guide.dictionary.codes.get(name).map_or(Allowed::Any, |list| Allowed::List(name, list)),
        None => Allowed::Any,
    };
    Effective {
        number,
        name: def.name.as_deref(),
        data_type: def.data_type,
        min: def.min,
        max: def.max,
        requirement: Requirement::Optional,
        repeat: Some(1),
        codes,
    }
}

/// Returns, for each element of a segment, its number of components (0 for a simple element).
pub(crate) fn widths(guide: &Guide, tag: &str) -> Vec<usize> {
    let Some(def) = guide.dictionary.segments.get(tag) else { return Vec::new() };
    let of = |usage: &crate::guide::model::ElementUse| match &usage.of {
        ElementOf::Element(_) => 0,
        ElementOf::Composite(id) => guide.dictionary.composites.get(id).map_or(0, |def| def.components.len()),
    };
    def.elements.iter().map(of).collect()
}
