//! Makes transactions of a guide that lead to a place. Used by the tests of `quayline-cli` too.

use std::fmt::Write as _;

use quayline_edi::Standard;
use quayline_edi::guide::{Codes, ElementOf, Guide, Item, ItemId, Requirement, SegmentUse};

/// Elements to generate in the segment at the place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    /// Only mandatory ones, with the first of their codes.
    LeastFirst,
    /// Only mandatory ones, with the last of their codes.
    LeastLast,
    /// All that are allowed, with the first of their codes.
    MostFirst,
    /// All that are allowed, with the last of their codes.
    MostLast,
}

pub(crate) const FILLS: [Fill; 4] = [Fill::LeastFirst, Fill::LeastLast, Fill::MostFirst, Fill::MostLast];

/// Makes transactions of a guide that lead to a place.
pub(crate) struct Maker<'g> {
    pub(crate) guide: &'g Guide,
    /// The place, and the loops around it.
    pub(crate) target: Vec<ItemId>,
    pub(crate) fill: Fill,
    /// The segments with the places that they are made for.
    pub(crate) made: Vec<(ItemId, String)>,
    pub(crate) next: u32,
}

impl Maker<'_> {
    pub(crate) fn items(&mut self, items: &[Item], is_loop: bool, wanted: bool) {
        for (i, item) in items.iter().enumerate() {
            let id = ItemId(self.next);
            self.next += 1;
            let asked = wanted && self.target.contains(&id);
            match item {
                Item::Segment(segment) => {
                    let must = is_loop && i == 0 || segment.requirement == Requirement::Mandatory;
                    if wanted && (asked || must) {
                        let fill = if self.target.last() == Some(&id) { self.fill } else { Fill::LeastFirst };
                        let text = self.segment(segment, fill);
                        self.made.push((id, text));
                    }
                }
                Item::Loop(inner) => {
                    let must = inner.requirement == Requirement::Mandatory;
                    self.items(&inner.items, true, wanted && (asked || must));
                }
            }
        }
    }

    fn segment(&self, segment: &SegmentUse, fill: Fill) -> String {
        let (element, component) = if self.guide.standard == Standard::X12 { ('*', ':') } else { ('+', ':') };
        let mut text = segment.tag.clone();
        let Some(def) = self.guide.dictionary.segments.get(&segment.tag) else { return text };
        for (usage, number) in def.elements.iter().zip(1u8..) {
            text.push(element);
            let requirement = requirement(segment, number, 0, usage.requirement);
            match &usage.of {
                ElementOf::Element(id) => text.push_str(&self.value(segment, (number, 0), id, requirement, fill)),
                ElementOf::Composite(id) => {
                    let Some(def) = self.guide.dictionary.composites.get(id) else { continue };
                    let qualified = segment.qualifier.as_ref().is_some_and(|qualifier| qualifier.element == number);
                    let most = matches!(fill, Fill::MostFirst | Fill::MostLast);
                    if requirement == Requirement::NotUsed
                        || (requirement == Requirement::Optional && !most && !qualified)
                    {
                        continue;
                    }
                    let mut parts = String::new();
                    for (usage, at) in def.components.iter().zip(1u8..) {
                        let ElementOf::Element(id) = &usage.of else { continue };
                        let own = self::requirement(segment, number, at, usage.requirement);
                        let value = self.value(segment, (number, at), id, own, fill);
                        let _ = write!(parts, "{}{value}", if at > 1 { ":" } else { "" });
                    }
                    // A mandatory composite has a value, even if each of its components may be absent.
                    let is_empty = parts.trim_end_matches(component).is_empty();
                    if let (true, Requirement::Mandatory) = (is_empty, requirement)
                        && let Some(ElementOf::Element(id)) = def.components.first().map(|usage| &usage.of)
                    {
                        parts = self.value(segment, (number, 1), id, Requirement::Mandatory, fill);
                    }
                    text.push_str(parts.trim_end_matches(component));
                }
            }
        }
        text.truncate(text.trim_end_matches(element).len());
        text
    }

    fn value(
        &self,
        segment: &SegmentUse,
        (number, component): (u8, u8),
        id: &str,
        requirement: Requirement,
        fill: Fill,
    ) -> String {
        if let Some(qualifier) = &segment.qualifier
            && (qualifier.element, qualifier.component.max(1)) == (number, component.max(1))
        {
            return qualifier.values[0].clone();
        }
        let (most, last) = match fill {
            Fill::LeastFirst => (false, false),
            Fill::LeastLast => (false, true),
            Fill::MostFirst => (true, false),
            Fill::MostLast => (true, true),
        };
        if requirement == Requirement::NotUsed || (requirement == Requirement::Optional && !most) {
            return String::new();
        }
        let dictionary = &self.guide.dictionary;
        let Some(def) = dictionary.elements.get(id) else { return "1".to_owned() };
        let change = segment.changes.iter().rfind(|change| (change.element, change.component) == (number, component));
        let list = |name: &String| {
            let list = dictionary.codes.get(name).filter(|list| !list.open)?;
            Some(list.codes.iter().map(|code| code.value.clone()).collect::<Vec<_>>())
        };
        let codes = match change.and_then(|change| change.codes.as_ref()) {
            Some(Codes::Any) => None,
            Some(Codes::These(values)) => Some(values.clone()),
            Some(Codes::List(name)) => list(name),
            None => def.codes.as_ref().and_then(list),
        };
        let plain = |code: &&String| !code.contains(['*', ':', '^', '~', '+', '\'', '?']);
        let mut codes = codes.iter().flatten().filter(plain);
        let code = if last { codes.next_back() } else { codes.next() };
        code.cloned().unwrap_or_else(|| "1".repeat(def.min.max(1) as usize))
    }
}

fn requirement(segment: &SegmentUse, element: u8, component: u8, own: Requirement) -> Requirement {
    let change = segment.changes.iter().rfind(|change| (change.element, change.component) == (element, component));
    change.and_then(|change| change.requirement).unwrap_or(own)
}
