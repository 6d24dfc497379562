//! Guides as text, in one canonical form.

use super::words;
use crate::delimiters::Standard;
use crate::guide::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, Item, LoopUse, Rule, SegmentDef, SegmentUse, SyntaxNote,
};

/// Maximum width in columns of a line with several codes.
const WIDTH: usize = 120;

/// Formats the guide as one file without includes.
#[must_use]
pub fn write_guide(guide: &Guide) -> String {
    write_guide_including(guide, &[])
}

/// Formats the guide as a file with these includes: names and their definitions. Definitions that equal those of an include are omitted.
///
/// Duplicate definitions in the includes must be equal, see `GDE-011`.
#[must_use]
pub fn write_guide_including(guide: &Guide, includes: &[(&str, &Dictionary)]) -> String {
    let mut out = Out::default();
    out.line(0, &["guide".into(), word(&guide.name), title(guide.title.as_ref())]);
    let standard = match guide.standard {
        Standard::X12 => "X12",
        Standard::Edifact => "EDIFACT",
    };
    out.line(0, &["standard".into(), standard.into()]);
    out.line(0, &["version".into(), word(&guide.version)]);
    let group = guide.functional_group.as_ref().map(|group| format!("group {}", word(group)));
    out.line(0, &["transaction".into(), word(&guide.transaction), group.unwrap_or_default()]);
    if let Some(source) = &guide.source {
        out.line(0, &["source".into(), quoted(source)]);
    }
    for (name, _) in includes {
        out.line(0, &["include".into(), quoted(name)]);
    }
    let included: Vec<&Dictionary> = includes.iter().map(|(_, dictionary)| *dictionary).collect();
    out.dictionary(&guide.dictionary, &included);
    out.blank();
    out.line(0, &["structure".into()]);
    out.items(1, &guide.structure);
    if !guide.rules.is_empty() {
        out.blank();
        out.line(0, &["rules".into()]);
        guide.rules.iter().for_each(|rule| out.rule(rule));
    }
    out.text
}

/// Formats a dictionary as a file to include.
#[must_use]
pub fn write_dictionary(heading: Option<&str>, source: Option<&str>, dictionary: &Dictionary) -> String {
    let mut out = Out::default();
    out.line(0, &["dictionary".into(), heading.map(quoted).unwrap_or_default()]);
    if let Some(source) = source {
        out.line(0, &["source".into(), quoted(source)]);
    }
    out.dictionary(dictionary, &[]);
    out.text
}

#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    /// Words with one space between; empty ones are left out.
    fn line(&mut self, level: usize, words: &[String]) {
        self.text.extend(core::iter::repeat_n("  ", level));
        let mut first = true;
        for word in words.iter().filter(|word| !word.is_empty()) {
            if !core::mem::replace(&mut first, false) {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn dictionary(&mut self, dictionary: &Dictionary, included: &[&Dictionary]) {
        let mut first = true;
        let mut gap = |out: &mut Out| {
            if core::mem::replace(&mut first, false) {
                out.blank();
            }
        };
        for (id, element) in &dictionary.elements {
            if !included.iter().any(|other| other.elements.get(id) == Some(element)) {
                gap(self);
                self.element(id, element);
            }
        }
        for (id, composite) in &dictionary.composites {
            if !included.iter().any(|other| other.composites.get(id) == Some(composite)) {
                self.blank();
                self.composite(id, composite);
            }
        }
        for (tag, segment) in &dictionary.segments {
            if !included.iter().any(|other| other.segments.get(tag) == Some(segment)) {
                self.blank();
                self.segment_definition(tag, segment);
            }
        }
        for (name, list) in &dictionary.codes {
            if !included.iter().any(|other| other.codes.get(name) == Some(list)) {
                self.blank();
                self.code_list(name, list);
            }
        }
    }

    fn element(&mut self, id: &str, element: &ElementDef) {
        let letters = matches!(element.data_type, DataType::Letters | DataType::Alphanumeric | DataType::Number);
        let data_type = words::data_type(element.data_type);
        let representation = match (element.min, element.max) {
            (1, max) if letters => format!("{data_type}..{max}"),
            (min, max) if letters && min == max => format!("{data_type}{max}"),
            (min, max) if min == max => format!("{data_type} {max}"),
            (min, max) => format!("{data_type} {min}..{max}"),
        };
        let codes = element.codes.as_ref().map(|list| format!("codes {}", word(list)));
        self.line(
            0,
            &["element".into(), word(id), representation, title(element.name.as_ref()), codes.unwrap_or_default()],
        );
    }

    fn composite(&mut self, id: &str, composite: &CompositeDef) {
        self.line(0, &["composite".into(), word(id), title(composite.name.as_ref())]);
        self.uses(&composite.components, false);
        self.notes(1, &composite.notes);
    }

    fn segment_definition(&mut self, tag: &str, segment: &SegmentDef) {
        self.line(0, &["segment".into(), word(tag), title(segment.name.as_ref())]);
        self.uses(&segment.elements, true);
        self.notes(1, &segment.notes);
    }

    fn uses(&mut self, uses: &[ElementUse], in_segment: bool) {
        for used in uses {
            let (id, composite) = match &used.of {
                ElementOf::Element(id) => (id, false),
                ElementOf::Composite(id) => (id, true),
            };
            let looks = in_segment && words::looks_composite(id);
            let kind = match (composite, looks) {
                (true, false) => "composite",
                (false, true) => "element",
                _ => "",
            };
            let repeat = match used.repeat {
                Some(1) => String::new(),
                Some(n) => format!("repeat {n}"),
                None => "repeat *".to_owned(),
            };
            let requirement = words::requirement(used.requirement).to_owned();
            self.line(1, &[kind.to_owned(), word(id), requirement, repeat, title(used.name.as_ref())]);
        }
    }

    fn notes(&mut self, level: usize, notes: &[SyntaxNote]) {
        if !notes.is_empty() {
            let notes: Vec<String> =
                core::iter::once("notes".to_owned()).chain(notes.iter().map(words::note)).collect();
            self.line(level, &notes);
        }
    }

    fn code_list(&mut self, name: &str, list: &CodeList) {
        let open = if list.open { "open" } else { "" };
        self.line(0, &["codes".into(), word(name), title(list.name.as_ref()), open.into()]);
        let mut row: Vec<String> = Vec::new();
        for code in &list.codes {
            let value = word(&code.value);
            if plain(code) && !value.starts_with('"') {
                let wide = row.iter().map(|word| word.chars().count() + 1).sum::<usize>() + value.chars().count() + 2;
                if wide > WIDTH {
                    self.line(1, &core::mem::take(&mut row));
                }
                row.push(value);
                continue;
            }
            if !row.is_empty() {
                self.line(1, &core::mem::take(&mut row));
            }
            let day = |word: &str, day: Option<u32>| day.map(|day| format!("{word} {day:08}")).unwrap_or_default();
            self.line(1, &[value, title(code.name.as_ref()), day("from", code.from), day("until", code.until)]);
        }
        if !row.is_empty() {
            self.line(1, &row);
        }
    }

    fn items(&mut self, level: usize, items: &[Item]) {
        for item in items {
            match item {
                Item::Segment(segment) => self.segment(level, segment),
                Item::Loop(inner) => self.loop_use(level, inner),
            }
        }
    }

    fn segment(&mut self, level: usize, segment: &SegmentUse) {
        let id = segment.id.as_ref().map(|id| format!("id {}", word(id)));
        let qualifier = segment.qualifier.as_ref().map(|qualifier| {
            let values: Vec<String> = qualifier.values.iter().map(|value| word(value)).collect();
            format!("where {} = {}", words::place(qualifier.element, qualifier.component), values.join("|"))
        });
        self.line(
            level,
            &[
                "segment".into(),
                word(&segment.tag),
                words::requirement(segment.requirement).into(),
                count(segment.max),
                title(segment.name.as_ref()),
                id.unwrap_or_default(),
                position(segment.position),
                qualifier.unwrap_or_default(),
            ],
        );
        segment.changes.iter().for_each(|change| self.change(level + 1, change));
        match segment.notes.as_deref() {
            None => {}
            Some([]) => self.line(level + 1, &["notes none".into()]),
            Some(notes) => self.notes(level + 1, notes),
        }
    }

    fn loop_use(&mut self, level: usize, inner: &LoopUse) {
        self.line(
            level,
            &[
                "loop".into(),
                word(&inner.id),
                words::requirement(inner.requirement).into(),
                count(inner.repeat),
                title(inner.name.as_ref()),
                position(inner.position),
            ],
        );
        for of in &inner.levels {
            let top = if of.top { "top" } else { "" };
            let within: Vec<String> = of.within.iter().map(|code| word(code)).collect();
            let within = if within.is_empty() { String::new() } else { format!("in {}", within.join(" ")) };
            self.line(level + 1, &["level".into(), word(&of.code), top.into(), within]);
        }
        self.items(level + 1, &inner.items);
    }

    fn change(&mut self, level: usize, change: &ElementChange) {
        let mut line = vec![
            words::place(change.element, change.component),
            change.requirement.map(|requirement| words::requirement(requirement).to_owned()).unwrap_or_default(),
            change.data_type.map(|data_type| format!("as {}", words::data_type(data_type))).unwrap_or_default(),
            words::length(change.min, change.max),
            change.repeat.map(|n| format!("repeat {}", count((n != u32::MAX).then_some(n)))).unwrap_or_default(),
            title(change.name.as_ref()),
        ];
        match &change.codes {
            None => self.line(level, &line),
            Some(Codes::Any) => {
                line.push("codes any".to_owned());
                self.line(level, &line);
            }
            Some(Codes::List(name)) => {
                line.push(format!("codes list {}", word(name)));
                self.line(level, &line);
            }
            Some(Codes::These(values)) => self.these(level, line, values),
        }
    }

    /// Writes codes in the line itself, or in lines below if there are many.
    fn these(&mut self, level: usize, mut line: Vec<String>, values: &[String]) {
        line.push("codes".to_owned());
        let values: Vec<String> = values
            .iter()
            .map(|value| if value == "any" || value == "list" { quoted(value) } else { word(value) })
            .collect();
        let width = |words: &[String]| words.iter().map(|word| word.chars().count() + 1).sum::<usize>();
        if 2 * level + width(&line) + width(&values) <= WIDTH {
            line.extend(values);
            self.line(level, &line);
            return;
        }
        self.line(level, &line);
        let mut row: Vec<String> = Vec::new();
        for value in values {
            if 2 * level + 2 + width(&row) + value.chars().count() > WIDTH && !row.is_empty() {
                self.line(level + 1, &core::mem::take(&mut row));
            }
            row.push(value);
        }
        self.line(level + 1, &row);
    }

    fn rule(&mut self, rule: &Rule) {
        let at = if rule.at.is_empty() { String::new() } else { format!("at {}", word(&rule.at)) };
        let warning = if rule.warning { "warning" } else { "" };
        self.line(1, &["rule".into(), word(&rule.name), at, warning.into(), title(rule.message.as_ref())]);
        for line in rule.expression.lines() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.line(2, &[line.to_owned()]);
            }
        }
    }
}

fn count(count: Option<u32>) -> String {
    count.map_or_else(|| "*".to_owned(), |n| n.to_string())
}

fn position(position: u32) -> String {
    if position == 0 { String::new() } else { format!("position {position}") }
}

fn plain(code: &CodeEntry) -> bool {
    code.name.is_none() && code.from.is_none() && code.until.is_none()
}

fn title(text: Option<&String>) -> String {
    text.map(|text| quoted(text)).unwrap_or_default()
}

/// Words that have another meaning if they are not quoted.
const KEYWORDS: [&str; 16] = [
    "notes",
    "composite",
    "element",
    "from",
    "until",
    "top",
    "codes",
    "as",
    "id",
    "position",
    "where",
    "repeat",
    "at",
    "warning",
    "of",
    "group",
];

/// Returns the text unchanged, or quoted if it would not be read as one word.
fn word(text: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=' | '|' | '\u{feff}');
    let bare = !text.is_empty() && !text.starts_with('#') && !text.contains(special) && !KEYWORDS.contains(&text);
    if bare { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
