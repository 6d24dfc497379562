//! A guide into its JSON form.

use quayline_edi::Standard;
use quayline_edi::guide::{self, Codes, DataType, ElementOf, Item, NoteKind, Requirement, SyntaxNote};

use super::wire;

pub(super) fn guide(guide: &guide::Guide) -> wire::Guide {
    let dictionary = &guide.dictionary;
    wire::Guide {
        name: guide.name.clone(),
        title: guide.title.clone(),
        standard: match guide.standard {
            Standard::X12 => wire::Standard::X12,
            Standard::Edifact => wire::Standard::Edifact,
        },
        version: guide.version.clone(),
        transaction: guide.transaction.clone(),
        group: guide.functional_group.clone(),
        source: guide.source.clone(),
        elements: dictionary.elements.iter().map(|(id, def)| (id.clone(), element(def))).collect(),
        composites: dictionary.composites.iter().map(|(id, def)| (id.clone(), composite(def))).collect(),
        segments: dictionary.segments.iter().map(|(tag, def)| (tag.clone(), segment(def))).collect(),
        codes: dictionary.codes.iter().map(|(name, list)| (name.clone(), code_list(list))).collect(),
        structure: guide.structure.iter().map(item).collect(),
        rules: guide.rules.iter().map(rule).collect(),
    }
}

fn element(def: &guide::ElementDef) -> wire::Element {
    wire::Element {
        name: def.name.clone(),
        data_type: data_type(def.data_type),
        min: def.min,
        max: def.max,
        codes: def.codes.clone(),
    }
}

fn composite(def: &guide::CompositeDef) -> wire::Composite {
    wire::Composite { name: def.name.clone(), components: uses(&def.components), notes: notes(&def.notes) }
}

fn segment(def: &guide::SegmentDef) -> wire::Segment {
    wire::Segment { name: def.name.clone(), elements: uses(&def.elements), notes: notes(&def.notes) }
}

fn uses(uses: &[guide::ElementUse]) -> Vec<wire::Use> {
    let one = |of: &guide::ElementUse| {
        let (element, composite) = match &of.of {
            ElementOf::Element(id) => (Some(id.clone()), None),
            ElementOf::Composite(id) => (None, Some(id.clone())),
        };
        wire::Use {
            element,
            composite,
            name: of.name.clone(),
            requirement: requirement(of.requirement),
            repeat: count(of.repeat),
        }
    };
    uses.iter().map(one).collect()
}

fn code_list(list: &guide::CodeList) -> wire::CodeList {
    let code = |code: &guide::CodeEntry| match code {
        guide::CodeEntry { value, name: None, from: None, until: None } => wire::Code::Plain(value.clone()),
        guide::CodeEntry { value, name, from, until } => {
            wire::Code::Full(wire::FullCode { value: value.clone(), name: name.clone(), from: *from, until: *until })
        }
    };
    wire::CodeList { name: list.name.clone(), open: list.open, codes: list.codes.iter().map(code).collect() }
}

fn item(item: &Item) -> wire::Item {
    match item {
        Item::Segment(of) => wire::Item {
            segment: Some(of.tag.clone()),
            id: of.id.clone(),
            name: of.name.clone(),
            requirement: requirement(of.requirement),
            max: count(of.max),
            position: of.position,
            qualifier: of.qualifier.as_ref().map(|qualifier| wire::Qualifier {
                element: qualifier.element,
                component: qualifier.component,
                values: qualifier.values.clone(),
            }),
            changes: of.changes.iter().map(change).collect(),
            notes: of.notes.as_deref().map(notes),
            ..wire::Item::default()
        },
        Item::Loop(of) => wire::Item {
            loop_id: Some(of.id.clone()),
            name: of.name.clone(),
            requirement: requirement(of.requirement),
            max: count(of.repeat),
            position: of.position,
            levels: of.levels.iter().map(level).collect(),
            items: of.items.iter().map(self::item).collect(),
            ..wire::Item::default()
        },
    }
}

fn level(level: &guide::HlLevel) -> wire::Level {
    wire::Level { code: level.code.clone(), top: level.top, within: level.within.clone() }
}

fn change(change: &guide::ElementChange) -> wire::Change {
    wire::Change {
        element: change.element,
        component: change.component,
        name: change.name.clone(),
        requirement: change.requirement.map(requirement),
        data_type: change.data_type.map(data_type),
        min: change.min,
        max: change.max,
        repeat: change.repeat,
        codes: change.codes.as_ref().map(|codes| match codes {
            Codes::These(values) => wire::Codes::These(values.clone()),
            Codes::List(name) => wire::Codes::List(name.clone()),
            Codes::Any => wire::Codes::List("*".into()),
        }),
    }
}

fn rule(rule: &guide::Rule) -> wire::Rule {
    wire::Rule {
        name: rule.name.clone(),
        at: rule.at.clone(),
        expression: rule.expression.clone(),
        message: rule.message.clone(),
        warning: rule.warning,
    }
}

fn requirement(requirement: Requirement) -> wire::Requirement {
    match requirement {
        Requirement::Mandatory => wire::Requirement::Mandatory,
        Requirement::Optional => wire::Requirement::Optional,
        Requirement::NotUsed => wire::Requirement::NotUsed,
    }
}

fn count(count: Option<u32>) -> wire::Count {
    count.map_or(wire::Count::Any(wire::Star::Star), wire::Count::Number)
}

fn data_type(data_type: DataType) -> String {
    match data_type {
        DataType::Text => "AN".into(),
        DataType::Identifier => "ID".into(),
        DataType::Implied(places) => format!("N{places}"),
        DataType::Decimal => "R".into(),
        DataType::Date => "DT".into(),
        DataType::Time => "TM".into(),
        DataType::Binary => "B".into(),
        DataType::Letters => "a".into(),
        DataType::Alphanumeric => "an".into(),
        DataType::Number => "n".into(),
    }
}

fn notes(notes: &[SyntaxNote]) -> Vec<String> {
    notes.iter().map(note).collect()
}

fn note(note: &SyntaxNote) -> String {
    let kind = match note.kind {
        NoteKind::AllOrNone => 'P',
        NoteKind::OneOrMore => 'R',
        NoteKind::OneOrNone => 'E',
        NoteKind::ExactlyOne => 'D',
        NoteKind::IfFirstThenAll => 'C',
        NoteKind::IfFirstThenOne => 'L',
        NoteKind::IfFirstThenNone => 'N',
    };
    note.elements.iter().fold(String::from(kind), |text, element| format!("{text}{element:02}"))
}
