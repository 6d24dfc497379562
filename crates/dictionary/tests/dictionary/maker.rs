//! Makes transactions of a guide that lead to a place. Used by the tests of `quayline-cli` too.

use quayline_edi::Standard;
use quayline_edi::guide::{Codes, DataType, ElementOf, Guide, Item, ItemId, Requirement, SegmentUse};

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
    next: u32,
    /// For each HL so far, its index in `made`.
    levels: Vec<usize>,
    /// HL01 of the loops around.
    parents: Vec<usize>,
}

impl<'g> Maker<'g> {
    pub(crate) fn new(guide: &'g Guide, target: Vec<ItemId>, fill: Fill) -> Self {
        Maker { guide, target, fill, made: Vec::new(), next: 1, levels: Vec::new(), parents: Vec::new() }
    }

    /// Makes the segments of the whole structure.
    pub(crate) fn make(&mut self) {
        self.items(&self.guide.structure, false, true);
    }

    fn items(&mut self, items: &[Item], is_loop: bool, wanted: bool) {
        let around = self.parents.len();
        for (i, item) in items.iter().enumerate() {
            let id = ItemId(self.next);
            self.next += 1;
            let asked = wanted && self.target.contains(&id);
            match item {
                Item::Segment(segment) => {
                    let must = is_loop && i == 0 || segment.requirement == Requirement::Mandatory;
                    if wanted && (asked || must) {
                        let fill = if self.target.last() == Some(&id) { self.fill } else { Fill::LeastFirst };
                        let mut text = self.segment(segment, fill);
                        if segment.tag == "HL" {
                            text = self.level(&text);
                        }
                        self.made.push((id, text));
                    }
                }
                Item::Loop(inner) => {
                    let must = inner.requirement == Requirement::Mandatory;
                    self.items(&inner.items, true, wanted && (asked || must));
                }
            }
        }
        self.parents.truncate(around);
    }

    /// Numbers an HL, and tells the one around it that there is one inside.
    fn level(&mut self, text: &str) -> String {
        let mut fields: Vec<String> = text.split('*').map(str::to_owned).collect();
        self.levels.push(self.made.len());
        fields[1] = self.levels.len().to_string();
        if let Some(parent) = self.parents.last() {
            fields[2] = parent.to_string();
            let (_, around) = &mut self.made[self.levels[parent - 1]];
            let mut of_parent: Vec<&str> = around.split('*').collect();
            if of_parent.len() > 4 {
                of_parent[4] = "1";
            }
            *around = of_parent.join("*");
        } else {
            fields[2].clear();
        }
        self.parents.push(self.levels.len());
        fields.join("*")
    }

    fn segment(&self, segment: &SegmentUse, fill: Fill) -> String {
        let (element, component) = if self.guide.standard == Standard::X12 { ('*', ':') } else { ('+', ':') };
        let mut text = segment.tag.clone();
        let Some(def) = self.guide.dictionary.segments.get(&segment.tag) else { return text };
        // The elements with their components, each with its data element.
        let mut elements: Vec<Vec<(&'g str, String)>> = Vec::new();
        for (usage, number) in def.elements.iter().zip(1u8..) {
            let requirement = requirement(segment, number, 0, usage.requirement);
            let mut parts = Vec::new();
            match &usage.of {
                ElementOf::Element(id) => {
                    parts.push((id.as_str(), self.value(segment, (number, 0), id, requirement, fill)));
                }
                ElementOf::Composite(id) => {
                    let def = self.guide.dictionary.composites.get(id);
                    let qualified = segment.qualifier.as_ref().is_some_and(|qualifier| qualifier.element == number);
                    let most = matches!(fill, Fill::MostFirst | Fill::MostLast);
                    let is_absent = requirement == Requirement::NotUsed
                        || (requirement == Requirement::Optional && !most && !qualified);
                    let components = def.filter(|_| !is_absent).map_or(&[][..], |def| &def.components);
                    for (usage, at) in components.iter().zip(1u8..) {
                        let ElementOf::Element(id) = &usage.of else { continue };
                        let own = self::requirement(segment, number, at, usage.requirement);
                        parts.push((id.as_str(), self.value(segment, (number, at), id, own, fill)));
                    }
                    // A mandatory composite has a value, even if each of its components may be absent.
                    if requirement == Requirement::Mandatory
                        && parts.iter().all(|(_, value)| value.is_empty())
                        && let Some((id, value)) = parts.first_mut()
                    {
                        *value = self.value(segment, (number, 1), id, Requirement::Mandatory, fill);
                    }
                }
            }
            elements.push(parts);
        }
        if elements.iter().flatten().all(|(_, value)| value.is_empty()) {
            self.one_element(segment, &mut elements);
        }
        in_the_form_of_its_qualifier(&mut elements);
        for parts in &elements {
            text.push(element);
            let values: Vec<&str> = parts.iter().map(|(_, value)| value.as_str()).collect();
            text.push_str(values.join(":").trim_end_matches(component));
        }
        text.truncate(text.trim_end_matches(element).len());
        text
    }

    /// Gives a segment its first element, with the mandatory components, because a segment without elements is invalid.
    fn one_element(&self, segment: &SegmentUse, elements: &mut [Vec<(&'g str, String)>]) {
        let dictionary = &self.guide.dictionary;
        let usages = dictionary.segments.get(&segment.tag).into_iter().flat_map(|def| &def.elements);
        for ((usage, number), parts) in usages.zip(1u8..).zip(elements) {
            if requirement(segment, number, 0, usage.requirement) == Requirement::NotUsed {
                continue;
            }
            let value = |id, at, needed| self.value(segment, (number, at), id, needed, Fill::LeastFirst);
            match &usage.of {
                ElementOf::Element(id) => *parts = vec![(id.as_str(), value(id, 0, Requirement::Mandatory))],
                ElementOf::Composite(id) => {
                    let components = dictionary.composites.get(id).into_iter().flat_map(|def| &def.components);
                    parts.clear();
                    for (usage, at) in components.zip(1u8..) {
                        let ElementOf::Element(id) = &usage.of else { continue };
                        let own = requirement(segment, number, at, usage.requirement);
                        parts.push((id.as_str(), value(id, at, own)));
                    }
                    if let Some((id, first)) = parts.first_mut()
                        && first.is_empty()
                    {
                        *first = value(id, 1, Requirement::Mandatory);
                    }
                }
            }
            return;
        }
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
        // HL04: without lower levels, unless the place must have them.
        let code = if id == "736" && codes.clone().any(|code| code == "0") {
            codes.find(|code| *code == "0")
        } else if last {
            codes.next_back()
        } else {
            codes.next()
        };
        if let Some(code) = code {
            return code.clone();
        }
        if id == "736" {
            return "0".to_owned();
        }
        let length = change.and_then(|change| change.min).unwrap_or(def.min).max(1) as usize;
        let longest = change.and_then(|change| change.max).unwrap_or(def.max) as usize;
        match change.and_then(|change| change.data_type).unwrap_or(def.data_type) {
            DataType::Date if longest >= 8 => "20260401".to_owned(),
            DataType::Date => "260401".to_owned(),
            DataType::Time => "1200".to_owned(),
            DataType::Letters => "A".repeat(length),
            _ => "1".repeat(length),
        }
    }
}

fn requirement(segment: &SegmentUse, element: u8, component: u8, own: Requirement) -> Requirement {
    let change = segment.changes.iter().rfind(|change| (change.element, change.component) == (element, component));
    change.and_then(|change| change.requirement).unwrap_or(own)
}

/// Writes dates and times as the data element 1250 or 2379 of the segment says.
fn in_the_form_of_its_qualifier(elements: &mut [Vec<(&str, String)>]) {
    let find = |elements: &[Vec<(&str, String)>], wanted: [&str; 2]| {
        let all = elements.iter().flatten();
        all.filter(|(id, value)| wanted.contains(id) && !value.is_empty()).map(|(_, value)| value.clone()).next()
    };
    let Some(qualifier) = find(elements, ["1250", "2379"]) else { return };
    let value = match qualifier.as_str() {
        "D8" | "102" => "20260401",
        "D6" | "101" => "260401",
        "RD8" => "20260401-20260430",
        "RD6" => "260401-260430",
        "DT" | "203" => "202604011200",
        "RDT" => "202604011200-202604301200",
        "201" => "2604011200",
        "204" => "20260401120000",
        "TM" | "401" => "1200",
        "402" => "120000",
        "CM" | "610" => "202604",
        "CY" | "602" => "2026",
        "718" => "2026040120260430",
        "719" => "202604011200202604301200",
        _ => return,
    };
    for (id, old) in elements.iter_mut().flatten() {
        if ["1251", "2380"].contains(id) && !old.is_empty() {
            value.clone_into(old);
        }
    }
}
