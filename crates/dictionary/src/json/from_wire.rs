//! A guide from its JSON form.

use quayline_core::{Fault, Finding, Place};
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, HlLevel, Item, LoopUse, NoteKind, Qualifier, Requirement, Rule, SegmentDef, SegmentUse, SyntaxNote,
};

use super::wire;
use crate::codes;
use crate::notes::x12_note;
use crate::pyx12::x12_type;
use crate::source_text::SourceText;

/// Converts a guide, or returns every part of it that a guide cannot represent.
pub(super) fn guide(wire: wire::Guide, source: SourceText<'_>) -> Result<Guide, Vec<Finding>> {
    let mut reader = FromWire { source, findings: Vec::new() };
    let guide = reader.guide(wire);
    if reader.findings.is_empty() { Ok(guide) } else { Err(reader.findings) }
}

struct FromWire<'a> {
    source: SourceText<'a>,
    findings: Vec<Finding>,
}

impl FromWire<'_> {
    fn guide(&mut self, wire: wire::Guide) -> Guide {
        let standard = match wire.standard {
            wire::Standard::X12 => Standard::X12,
            wire::Standard::Edifact => Standard::Edifact,
        };
        let mut dictionary = Dictionary::default();
        for (id, element) in wire.elements {
            let element = self.element(&format!("elements.{id}"), element);
            dictionary.elements.insert(id, element);
        }
        for (id, composite) in wire.composites {
            let path = format!("composites.{id}");
            let components = self.uses(&path, "components", composite.components);
            if components.iter().any(|component| matches!(component.of, ElementOf::Composite(_))) {
                self.fault(&path, "a component is a composite, expected a simple element");
            }
            let notes = self.notes(&path, composite.notes);
            dictionary.composites.insert(id, CompositeDef { name: composite.name, components, notes });
        }
        for (tag, segment) in wire.segments {
            let path = format!("segments.{tag}");
            let elements = self.uses(&path, "elements", segment.elements);
            let notes = self.notes(&path, segment.notes);
            dictionary.segments.insert(tag, SegmentDef { name: segment.name, elements, notes });
        }
        for (name, list) in wire.codes {
            let codes = list.codes.into_iter().map(code).collect();
            dictionary.codes.insert(name, CodeList { name: list.name, codes, open: list.open });
        }
        let structure = self.items("structure", wire.structure);
        Guide {
            name: wire.name,
            title: wire.title,
            standard,
            version: wire.version,
            transaction: wire.transaction,
            functional_group: wire.group,
            source: wire.source,
            dictionary,
            structure,
            rules: wire.rules.into_iter().map(rule).collect(),
        }
    }

    fn element(&mut self, path: &str, element: wire::Element) -> ElementDef {
        let data_type = self.data_type(path, &element.data_type);
        if element.min > element.max {
            self.fault(path, format!("min is {}, more than max, {}", element.min, element.max));
        }
        ElementDef { name: element.name, data_type, min: element.min, max: element.max, codes: element.codes }
    }

    fn uses(&mut self, path: &str, key: &str, uses: Vec<wire::Use>) -> Vec<ElementUse> {
        let mut read = Vec::with_capacity(uses.len());
        for (at, of) in uses.into_iter().enumerate() {
            let element = match (of.element, of.composite) {
                (Some(id), None) => ElementOf::Element(id),
                (None, Some(id)) => ElementOf::Composite(id),
                _ => {
                    self.fault(&format!("{path}.{key}[{at}]"), "expected either `element` or `composite`");
                    continue;
                }
            };
            let (requirement, repeat) = (requirement(of.requirement), count(of.repeat));
            read.push(ElementUse { of: element, name: of.name, requirement, repeat });
        }
        read
    }

    fn items(&mut self, path: &str, items: Vec<wire::Item>) -> Vec<Item> {
        let mut read = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            match (item.segment.is_some(), item.loop_id.is_some()) {
                (true, false) => read.push(Item::Segment(self.segment(&path, item))),
                (false, true) => read.push(Item::Loop(self.r#loop(&path, item))),
                _ => self.fault(&path, "expected either `segment` or `loop`"),
            }
        }
        read
    }

    fn segment(&mut self, path: &str, item: wire::Item) -> SegmentUse {
        if !item.items.is_empty() {
            self.fault(path, "a segment has `items`, which only loops have");
        }
        if !item.levels.is_empty() {
            self.fault(path, "a segment has `levels`, which only loops have");
        }
        let changes = item
            .changes
            .into_iter()
            .enumerate()
            .map(|(at, change)| self.change(&format!("{path}.changes[{at}]"), change));
        let changes = changes.collect();
        SegmentUse {
            tag: item.segment.unwrap_or_default(),
            id: item.id,
            name: item.name,
            requirement: requirement(item.requirement),
            max: count(item.max),
            position: item.position,
            qualifier: item.qualifier.map(|qualifier| Qualifier {
                element: qualifier.element,
                component: qualifier.component,
                values: qualifier.values,
            }),
            changes,
            notes: item.notes.map(|notes| self.notes(path, notes)),
        }
    }

    fn r#loop(&mut self, path: &str, item: wire::Item) -> LoopUse {
        if item.id.is_some() || item.qualifier.is_some() || !item.changes.is_empty() || item.notes.is_some() {
            self.fault(path, "a loop has `id`, `where`, `changes` or `notes`, which only segments have");
        }
        if item.items.first().is_none_or(|first| first.segment.is_none()) {
            self.fault(path, "the first of a loop's `items` is not a segment: expected the one that begins it");
        }
        if let Some(level) = item.levels.iter().find(|level| !level.top && level.within.is_empty()) {
            self.fault(path, format!("level {} has neither `top` nor `in`, its parent levels", level.code));
        }
        LoopUse {
            id: item.loop_id.unwrap_or_default(),
            name: item.name,
            requirement: requirement(item.requirement),
            repeat: count(item.max),
            position: item.position,
            levels: item.levels.into_iter().map(level).collect(),
            items: self.items(&format!("{path}.items"), item.items),
        }
    }

    fn change(&mut self, path: &str, change: wire::Change) -> ElementChange {
        if change.element == 0 {
            self.fault(path, "`element` is 0, expected 1 or more");
        }
        ElementChange {
            element: change.element,
            component: change.component,
            name: change.name,
            requirement: change.requirement.map(requirement),
            min: change.min,
            max: change.max,
            repeat: change.repeat,
            codes: change.codes.map(|codes| match codes {
                wire::Codes::These(values) => Codes::These(values),
                wire::Codes::List(name) if name == "*" => Codes::Any,
                wire::Codes::List(name) => Codes::List(name),
            }),
            data_type: change.data_type.map(|text| self.data_type(path, &text)),
        }
    }

    fn data_type(&mut self, path: &str, text: &str) -> DataType {
        let edifact = match text {
            "a" => Some(DataType::Letters),
            "an" => Some(DataType::Alphanumeric),
            "n" => Some(DataType::Number),
            _ => None,
        };
        edifact.or_else(|| x12_type(text)).unwrap_or_else(|| {
            self.fault(path, "`type` is not one of AN, ID, N0 to N9, R, DT, TM, B, a, an, n");
            DataType::Text
        })
    }

    fn notes(&mut self, path: &str, notes: Vec<String>) -> Vec<SyntaxNote> {
        let read = notes.iter().filter_map(|text| {
            let note = note(text);
            if note.is_none() {
                let expected = "expected one of the letters P, R, E, C, L, D, N and two or more numbers of two digits";
                self.fault(path, format!("not a syntax note: {expected}"));
            }
            note
        });
        read.collect()
    }

    fn fault(&mut self, path: &str, message: impl Into<String>) {
        let place = Place { file: Some(self.source.file.into()), path: Some(path.to_owned()), ..Place::default() };
        self.findings.push(Finding::error(codes::NOT_OF_THE_FORM, Fault::Config, message).at(place));
    }
}

fn code(code: wire::Code) -> CodeEntry {
    match code {
        wire::Code::Plain(value) => CodeEntry { value, name: None, from: None, until: None },
        wire::Code::Full(wire::FullCode { value, name, from, until }) => CodeEntry { value, name, from, until },
    }
}

fn level(level: wire::Level) -> HlLevel {
    let wire::Level { code, top, within } = level;
    HlLevel { code, top, within }
}

fn rule(rule: wire::Rule) -> Rule {
    let wire::Rule { name, at, expression, message, warning } = rule;
    Rule { name, at, expression, message, warning }
}

fn requirement(requirement: wire::Requirement) -> Requirement {
    match requirement {
        wire::Requirement::Mandatory => Requirement::Mandatory,
        wire::Requirement::Optional => Requirement::Optional,
        wire::Requirement::NotUsed => Requirement::NotUsed,
    }
}

fn count(count: wire::Count) -> Option<u32> {
    match count {
        wire::Count::Number(number) => Some(number),
        wire::Count::Any(wire::Star::Star) => None,
    }
}

/// Parses a syntax note: the five letters of X12, `D` for exactly one (EDIFACT D1) and `N` for none of the others (EDIFACT D7).
fn note(text: &str) -> Option<SyntaxNote> {
    let kind = match text.chars().next()? {
        'D' => NoteKind::ExactlyOne,
        'N' => NoteKind::IfFirstThenNone,
        _ => return x12_note(text),
    };
    Some(SyntaxNote { kind, ..x12_note(&text.replacen(['D', 'N'], "P", 1))? })
}
