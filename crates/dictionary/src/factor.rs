//! Factoring of sources that describe every segment in full at each place: the common part becomes the dictionary, and each place keeps only
//! its differences.

use std::collections::BTreeMap;

use quayline_edi::guide::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Item, LoopUse, Qualifier, Requirement, SegmentDef, SegmentUse, SyntaxNote,
};

use crate::x12_composites;

/// A list of at least this many codes that occurs at several places gets a name.
const SHARED_CODES_MIN: usize = 6;

/// A segment as its place describes it.
#[derive(Clone, Debug)]
pub(crate) struct PlacedSegment {
    pub(crate) tag: String,
    pub(crate) name: Option<String>,
    pub(crate) requirement: Requirement,
    pub(crate) max: Option<u32>,
    pub(crate) position: u32,
    pub(crate) qualifier: Option<Qualifier>,
    pub(crate) elements: Vec<PlacedElement>,
    pub(crate) notes: Vec<SyntaxNote>,
}

/// An element or a component as its place describes it.
#[derive(Clone, Debug)]
pub(crate) struct PlacedElement {
    pub(crate) of: ElementOf,
    pub(crate) name: Option<String>,
    pub(crate) requirement: Requirement,
    pub(crate) repeat: u32,
    pub(crate) codes: Option<Codes>,
    pub(crate) data_type: Option<DataType>,
    pub(crate) min: Option<u32>,
    pub(crate) max: Option<u32>,
    /// Components of a composite; empty if the place does not list them.
    pub(crate) components: Vec<PlacedElement>,
    pub(crate) notes: Vec<SyntaxNote>,
}

/// A segment or a loop as its place describes it.
#[derive(Clone, Debug)]
pub(crate) enum PlacedItem {
    Segment(PlacedSegment),
    Loop(PlacedLoop),
}

/// A loop as its place describes it.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLoop {
    pub(crate) id: String,
    /// True if this is not a loop of the standard but a wrapper that its content replaces.
    pub(crate) wrapper: bool,
    pub(crate) name: Option<String>,
    pub(crate) requirement: Requirement,
    pub(crate) repeat: Option<u32>,
    pub(crate) position: u32,
    pub(crate) items: Vec<PlacedItem>,
}

/// Splits described places into the dictionary and the changes at each place.
///
/// In the dictionary an element is mandatory if it is so at every place, not used if it is so at every place, otherwise optional.
/// If places disagree about the data element at one position, the first is kept and the others are reported.
pub(crate) fn factor(items: &[PlacedItem], dictionary: &mut Dictionary) -> (Vec<Item>, Vec<Disagreement>) {
    let mut factored = Factor { dictionary, disagreements: Vec::new(), lists: shared_lists(items) };
    for_each_segment(items, &mut |segment| factored.collect(segment));
    factored.settle(items);
    factored.complete();
    let structure = items.iter().map(|item| factored.item(item)).collect();
    (structure, factored.disagreements)
}

/// Two places name different data elements at one position of a segment or composite.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Disagreement {
    /// `NM1` or `C040`.
    pub(crate) of: String,
    /// Element or component from 1.
    pub(crate) number: usize,
}

struct Factor<'d> {
    dictionary: &'d mut Dictionary,
    disagreements: Vec<Disagreement>,
    /// Codes that occur at several places, and the name of their list.
    lists: BTreeMap<(String, Vec<String>), String>,
}

impl Factor<'_> {
    /// Collects the longest list of elements, the first name and the first notes.
    fn collect(&mut self, segment: &PlacedSegment) {
        let def = self
            .dictionary
            .segments
            .entry(segment.tag.clone())
            .or_insert_with(|| SegmentDef { notes: segment.notes.clone(), ..SegmentDef::default() });
        extend(&mut def.elements, &segment.elements, &segment.tag, &mut self.disagreements);
        for element in &segment.elements {
            let ElementOf::Composite(id) = &element.of else { continue };
            let def = self.dictionary.composites.entry(id.clone()).or_default();
            if def.components.is_empty() {
                def.notes.clone_from(&element.notes);
            }
            extend(&mut def.components, &element.components, id, &mut self.disagreements);
        }
    }

    /// Requirements and repetitions that all places share.
    fn settle(&mut self, items: &[PlacedItem]) {
        let mut segments: BTreeMap<(&str, usize), Shared> = BTreeMap::new();
        let mut composites: BTreeMap<(&str, usize), Shared> = BTreeMap::new();
        for_each_segment(items, &mut |segment| {
            for (at, element) in segment.elements.iter().enumerate() {
                segments.entry((&segment.tag, at)).or_default().add(element);
                let ElementOf::Composite(id) = &element.of else { continue };
                for (at, component) in element.components.iter().enumerate() {
                    composites.entry((id, at)).or_default().add(component);
                }
            }
        });
        for ((tag, at), shared) in segments {
            let def = self.dictionary.segments.get_mut(tag);
            if let Some(element) = def.and_then(|def| def.elements.get_mut(at)) {
                shared.apply(element);
            }
        }
        for ((id, at), shared) in composites {
            let def = self.dictionary.composites.get_mut(id);
            if let Some(component) = def.and_then(|def| def.components.get_mut(at)) {
                shared.apply(component);
            }
        }
    }

    /// Completes composites whose components no place lists, mostly since none uses them.
    fn complete(&mut self) {
        let empty = self.dictionary.composites.iter().filter(|(_, def)| def.components.is_empty());
        let empty: Vec<String> = empty.map(|(id, _)| id.clone()).collect();
        for id in empty {
            if x12_composites::define(&id, self.dictionary) {
                continue;
            }
            let placeholder = format!("{id}-1");
            let text = ElementDef { name: None, data_type: DataType::Text, min: 1, max: 80, codes: None };
            self.dictionary.elements.insert(placeholder.clone(), text);
            let of = ElementOf::Element(placeholder);
            let component = ElementUse { of, name: None, requirement: Requirement::Optional, repeat: Some(1) };
            self.dictionary
                .composites
                .insert(id, CompositeDef { components: vec![component], ..CompositeDef::default() });
        }
    }

    fn item(&mut self, item: &PlacedItem) -> Item {
        match item {
            PlacedItem::Segment(segment) => Item::Segment(self.segment(segment)),
            PlacedItem::Loop(of) => Item::Loop(LoopUse {
                id: of.id.clone(),
                name: of.name.clone(),
                requirement: of.requirement,
                repeat: of.repeat,
                position: of.position,
                levels: Vec::new(),
                items: of.items.iter().map(|item| self.item(item)).collect(),
            }),
        }
    }

    fn segment(&mut self, segment: &PlacedSegment) -> SegmentUse {
        let def = self.dictionary.segments.get(&segment.tag).cloned().unwrap_or_default();
        let mut changes = Vec::new();
        for (at, element) in segment.elements.iter().enumerate() {
            let Some(base) = def.elements.get(at) else { continue };
            self.changes(&mut changes, element, base, (at + 1, 0));
            let ElementOf::Composite(id) = &base.of else { continue };
            // Nothing else matters for an unused composite.
            if element.requirement == Requirement::NotUsed {
                continue;
            }
            let base: CompositeDef = self.dictionary.composites.get(id).cloned().unwrap_or_default();
            for (part, component) in element.components.iter().enumerate() {
                if let Some(base) = base.components.get(part) {
                    self.changes(&mut changes, component, base, (at + 1, part + 1));
                }
            }
            // Components beyond those that the place lists are not used there.
            for part in element.components.len()..base.components.len() {
                if !element.components.is_empty() && base.components[part].requirement != Requirement::NotUsed {
                    changes.push(not_used(at + 1, part + 1));
                }
            }
        }
        for at in segment.elements.len()..def.elements.len() {
            if def.elements[at].requirement != Requirement::NotUsed {
                changes.push(not_used(at + 1, 0));
            }
        }
        SegmentUse {
            tag: segment.tag.clone(),
            id: None,
            name: segment.name.clone(),
            requirement: segment.requirement,
            max: segment.max,
            position: segment.position,
            qualifier: segment.qualifier.clone(),
            changes,
            notes: (segment.notes != def.notes).then(|| segment.notes.clone()),
        }
    }

    fn changes(
        &mut self,
        changes: &mut Vec<ElementChange>,
        placed: &PlacedElement,
        base: &ElementUse,
        (element, component): (usize, usize),
    ) {
        if placed.of != base.of {
            return;
        }
        let used = placed.requirement != Requirement::NotUsed;
        let own = match &base.of {
            ElementOf::Element(id) => self.dictionary.elements.get(id),
            ElementOf::Composite(_) => None,
        };
        let own_name = base.name.as_ref().or_else(|| own.and_then(|own| own.name.as_ref()));
        let mut change = ElementChange {
            element: narrow(element),
            component: narrow(component),
            name: placed.name.clone().filter(|name| used && Some(name) != own_name),
            requirement: (placed.requirement != base.requirement).then_some(placed.requirement),
            repeat: (used && bounded(placed.repeat) != base.repeat).then_some(placed.repeat),
            ..ElementChange::default()
        };
        if used {
            change.min = placed.min.filter(|min| own.is_none_or(|own| own.min != *min));
            change.max = placed.max.filter(|max| own.is_none_or(|own| own.max != *max));
            change.data_type = placed.data_type.filter(|of| own.is_none_or(|own| own.data_type != *of));
            change.codes = placed.codes.as_ref().map(|codes| self.named(&placed.of, codes));
        }
        let empty = ElementChange { element: change.element, component: change.component, ..ElementChange::default() };
        if change != empty {
            changes.push(change);
        }
    }

    /// Returns the list's name if these codes occur at several places.
    fn named(&mut self, of: &ElementOf, codes: &Codes) -> Codes {
        let (Codes::These(values), ElementOf::Element(id)) = (codes, of) else { return codes.clone() };
        let Some(name) = self.lists.get(&(id.clone(), values.clone())) else { return codes.clone() };
        self.dictionary.codes.entry(name.clone()).or_insert_with(|| CodeList {
            name: None,
            codes: values.iter().map(|value| plain_code(value)).collect(),
            open: false,
        });
        Codes::List(name.clone())
    }
}

/// The common properties of an element at all places.
#[derive(Default)]
struct Shared {
    requirement: Option<Requirement>,
    repeat: Option<u32>,
}

impl Shared {
    fn add(&mut self, element: &PlacedElement) {
        let requirement = *self.requirement.get_or_insert(element.requirement);
        if requirement != element.requirement {
            self.requirement = Some(Requirement::Optional);
        }
        if element.requirement != Requirement::NotUsed {
            self.repeat.get_or_insert(element.repeat);
        }
    }

    fn apply(&self, element: &mut ElementUse) {
        element.requirement = self.requirement.unwrap_or(Requirement::Optional);
        element.repeat = bounded(self.repeat.unwrap_or(1));
    }
}

/// Converts a number of repetitions; `None` is unbounded.
fn bounded(repeat: u32) -> Option<u32> {
    (repeat != u32::MAX).then_some(repeat)
}

/// Creates a code entry without a name or validity dates.
pub(crate) fn plain_code(value: &str) -> CodeEntry {
    CodeEntry { value: value.to_owned(), name: None, from: None, until: None }
}

/// Converts the number of an element, which the standards write with two digits.
pub(crate) fn narrow(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn not_used(element: usize, component: usize) -> ElementChange {
    ElementChange {
        element: narrow(element),
        component: narrow(component),
        requirement: Some(Requirement::NotUsed),
        ..ElementChange::default()
    }
}

fn extend(uses: &mut Vec<ElementUse>, placed: &[PlacedElement], of: &str, disagreements: &mut Vec<Disagreement>) {
    for (at, element) in placed.iter().enumerate() {
        match uses.get(at) {
            Some(known) if known.of != element.of => {
                let disagreement = Disagreement { of: of.to_owned(), number: at + 1 };
                if !disagreements.contains(&disagreement) {
                    disagreements.push(disagreement);
                }
            }
            Some(_) => {}
            None => uses.push(ElementUse {
                of: element.of.clone(),
                name: None,
                requirement: element.requirement,
                repeat: Some(1),
            }),
        }
    }
}

fn for_each_segment<'p>(items: &'p [PlacedItem], visit: &mut dyn FnMut(&'p PlacedSegment)) {
    for item in items {
        match item {
            PlacedItem::Segment(segment) => visit(segment),
            PlacedItem::Loop(of) => for_each_segment(&of.items, visit),
        }
    }
}

/// Returns the long lists of codes that occur at more than one place, named after their element and numbered in order.
fn shared_lists(items: &[PlacedItem]) -> BTreeMap<(String, Vec<String>), String> {
    let mut seen: BTreeMap<(&str, &[String]), u32> = BTreeMap::new();
    let mut order: Vec<(&str, &[String])> = Vec::new();
    for_each_segment(items, &mut |segment| {
        for element in segment.elements.iter().flat_map(|element| core::iter::once(element).chain(&element.components))
        {
            let (ElementOf::Element(id), Some(Codes::These(codes))) = (&element.of, &element.codes) else { continue };
            if codes.len() >= SHARED_CODES_MIN && element.requirement != Requirement::NotUsed {
                let count = seen.entry((id, codes)).or_default();
                *count += 1;
                if *count == 2 {
                    order.push((id, codes));
                }
            }
        }
    });
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut lists = BTreeMap::new();
    for (id, codes) in order {
        let number = numbers.entry(id).or_default();
        *number += 1;
        lists.insert((id.to_owned(), codes.to_vec()), format!("{id}-{number}"));
    }
    lists
}
