//! A guide as a tree that people read.

use std::fmt::Write as _;

use quayline_edi::Standard;
use quayline_edi::guide::{
    Codes, DataType, ElementChange, ElementOf, ElementUse, Guide, Item, Qualifier, Requirement, SegmentUse,
};

use crate::render::{Paint, Style};

/// Level of detail of a guide's listing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Detail {
    /// Loops and segments.
    Segments,
    /// Elements and components too.
    Elements,
}

/// Formats the guide: a heading, then a line for each loop, segment and, if requested, element.
pub(super) fn tree(guide: &Guide, detail: Detail, paint: Paint) -> String {
    let mut rows = Vec::new();
    items(guide, &guide.structure, detail, 0, &mut rows);
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let mut text = heading(guide, paint);
    for row in rows {
        let name = row.name.as_deref().unwrap_or_default();
        let what = format!("{:width$}", row.what);
        let what = if row.strong { paint.text(Style::Strong, &what) } else { what };
        let line = format!("{what}  {} {:>6}  {name}{}", row.requirement, row.count, row.rest);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for rule in &guide.rules {
        let _ = writeln!(text, "rule {} at {}: {}", rule.name, or_all(&rule.at), rule.expression);
    }
    text
}

/// One line.
struct Row {
    what: String,
    strong: bool,
    requirement: char,
    count: String,
    name: Option<String>,
    rest: String,
}

fn heading(guide: &Guide, paint: Paint) -> String {
    let title = guide.title.as_deref().unwrap_or_default();
    let mut text = format!("{}  {title}", paint.text(Style::Strong, &guide.name)).trim_end().to_owned();
    let group = guide.functional_group.as_ref().map(|group| format!(", group {group}")).unwrap_or_default();
    let (standard, kind) = match guide.standard {
        Standard::X12 => ("X12", "transaction"),
        Standard::Edifact => ("EDIFACT", "message"),
    };
    let _ = write!(text, "\n{standard} {}, {kind} {}{group}\n", guide.version, guide.transaction);
    if let Some(source) = &guide.source {
        let _ = writeln!(text, "{}", paint.text(Style::Faint, &format!("from {source}")));
    }
    text.push('\n');
    text
}

fn items(guide: &Guide, of: &[Item], detail: Detail, depth: usize, rows: &mut Vec<Row>) {
    for item in of {
        match item {
            Item::Segment(of) => {
                let dictionary_name = guide.dictionary.segments.get(&of.tag).and_then(|def| def.name.clone());
                let qualifier = of.qualifier.as_ref().map(qualifier_text).unwrap_or_default();
                rows.push(Row {
                    what: format!("{:indent$}{}{qualifier}", "", of.tag, indent = 2 * depth),
                    strong: false,
                    requirement: letter(of.requirement),
                    count: count(of.max),
                    name: of.name.clone().or(dictionary_name),
                    rest: String::new(),
                });
                if detail == Detail::Elements {
                    elements(guide, of, depth + 1, rows);
                }
            }
            Item::Loop(of) => {
                rows.push(Row {
                    what: format!("{:indent$}{}", "", of.id, indent = 2 * depth),
                    strong: true,
                    requirement: letter(of.requirement),
                    count: count(of.repeat),
                    name: of.name.clone(),
                    rest: String::new(),
                });
                items(guide, &of.items, detail, depth + 1, rows);
            }
        }
    }
}

fn elements(guide: &Guide, segment: &SegmentUse, depth: usize, rows: &mut Vec<Row>) {
    let Some(def) = guide.dictionary.segments.get(&segment.tag) else { return };
    for (number, of) in (1..).zip(&def.elements) {
        element(guide, segment, of, (number, 0), depth, rows);
        let ElementOf::Composite(id) = &of.of else { continue };
        let used = change(segment, number, 0).and_then(|change| change.requirement).unwrap_or(of.requirement);
        let Some(composite) = guide.dictionary.composites.get(id).filter(|_| used != Requirement::NotUsed) else {
            continue;
        };
        for (part, component) in (1..).zip(&composite.components) {
            element(guide, segment, component, (number, part), depth + 1, rows);
        }
    }
}

/// Formats an element or component, with its changes at the place.
fn element(
    guide: &Guide,
    segment: &SegmentUse,
    of: &ElementUse,
    (number, part): (u8, u8),
    depth: usize,
    rows: &mut Vec<Row>,
) {
    let change = change(segment, number, part);
    let requirement = change.and_then(|change| change.requirement).unwrap_or(of.requirement);
    let part_text = if part > 0 { format!("-{part}") } else { String::new() };
    let mut name = change.and_then(|change| change.name.clone()).or_else(|| of.name.clone());
    let mut rest = String::new();
    match &of.of {
        ElementOf::Composite(id) => {
            name = name.or_else(|| guide.dictionary.composites.get(id).and_then(|def| def.name.clone()));
            rest = format!("  {id}");
        }
        ElementOf::Element(id) => {
            let def = guide.dictionary.elements.get(id);
            name = name.or_else(|| def.and_then(|def| def.name.clone()));
            if let (Some(def), true) = (def, requirement != Requirement::NotUsed) {
                let data_type = change.and_then(|change| change.data_type).unwrap_or(def.data_type);
                let min = change.and_then(|change| change.min).unwrap_or(def.min);
                let max = change.and_then(|change| change.max).unwrap_or(def.max);
                rest = format!("  {id} {} {min}..{max}", type_text(data_type));
                let listed = def.codes.clone().map(Codes::List);
                rest += &codes_text(guide, change.and_then(|change| change.codes.as_ref()).or(listed.as_ref()));
            }
        }
    }
    let repeat = change.and_then(|change| change.repeat).map_or(of.repeat, Some);
    rows.push(Row {
        what: format!("{:indent$}{}{number:02}{part_text}", "", segment.tag, indent = 2 * depth),
        strong: false,
        requirement: letter(requirement),
        count: count(repeat),
        name,
        rest,
    });
}

fn change(segment: &SegmentUse, element: u8, component: u8) -> Option<&ElementChange> {
    segment.changes.iter().find(|change| change.element == element && change.component == component)
}

/// Formats a few codes, or the number of many codes.
fn codes_text(guide: &Guide, codes: Option<&Codes>) -> String {
    const SHOWN: usize = 8;
    let (values, open): (Vec<&str>, bool) = match codes {
        None | Some(Codes::Any) => return String::new(),
        Some(Codes::These(values)) => (values.iter().map(String::as_str).collect(), false),
        Some(Codes::List(name)) => {
            let Some(list) = guide.dictionary.codes.get(name) else { return format!("  codes {name}") };
            (list.codes.iter().map(|code| code.value.as_str()).collect(), list.open)
        }
    };
    let open = if open { ", open" } else { "" };
    if values.len() > SHOWN {
        format!("  {} codes{open}", values.len())
    } else {
        format!("  {}{open}", values.join(" "))
    }
}

/// Formats the element and its first values.
fn qualifier_text(qualifier: &Qualifier) -> String {
    const SHOWN: usize = 5;
    let part = if qualifier.component > 0 { format!("-{}", qualifier.component) } else { String::new() };
    let more = if qualifier.values.len() > SHOWN { "|…" } else { "" };
    let values = qualifier.values.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("|");
    format!(" {:02}{part} = {values}{more}", qualifier.element)
}

fn letter(requirement: Requirement) -> char {
    match requirement {
        Requirement::Mandatory => 'M',
        Requirement::Optional => 'O',
        Requirement::NotUsed => 'N',
    }
}

fn count(max: Option<u32>) -> String {
    max.map_or_else(|| "*".to_owned(), |max| max.to_string())
}

fn or_all(at: &str) -> &str {
    if at.is_empty() { "the transaction" } else { at }
}

fn type_text(data_type: DataType) -> String {
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
