//! A layout as a tree that people read.

use quayline_cobol::layout::{Field, FieldIndex, FieldKind, Layout, Occurs, Rename};

use super::{Paint, Style, bytes_text, count_of, grouped, literal_text};

/// Formats the layout: a heading, a line for each field, its slack and conditions, totals.
pub(crate) fn layout_tree(layout: &Layout, color: bool) -> String {
    let paint = Paint::new(color);
    let rows = Rows::of(layout);
    let name_width = rows.0.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(14, 70);
    let mut text = heading(layout, paint);
    let columns = format!("{:>8} {:>8} {:>8}  {:name_width$}  type", "from 0", "from 1", "length", "level and name");
    text.push_str(&paint.text(Style::Faint, &columns));
    text.push('\n');
    for row in &rows.0 {
        text.push_str(&row.text(name_width, paint));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&totals(layout, &rows));
    text
}

/// One printed line.
struct Row {
    /// Offset and length in bytes; conditions have none.
    place: Option<(usize, usize)>,
    slides: bool,
    name: String,
    kind: String,
    faint: bool,
}

impl Row {
    fn text(&self, name_width: usize, paint: Paint) -> String {
        let numbers = match self.place {
            Some((offset, length)) => {
                let mark = if self.slides { "~" } else { "" };
                format!("{:>8} {:>8} {length:>8}", format!("{mark}{offset}"), format!("{mark}{}", offset + 1))
            }
            None => " ".repeat(26),
        };
        let line = format!("{numbers}  {:name_width$}  {}", self.name, self.kind);
        let line = line.trim_end();
        if self.faint { paint.text(Style::Faint, line) } else { line.to_owned() }
    }
}

struct Rows(Vec<Row>);

impl Rows {
    fn of(layout: &Layout) -> Rows {
        let mut rows = Rows(Vec::new());
        rows.field(layout, &layout.sliding(), FieldIndex::RECORD, 0);
        for rename in &layout.renames {
            rows.rename(layout, rename);
        }
        rows
    }

    fn field(&mut self, layout: &Layout, sliding: &[bool], index: FieldIndex, depth: usize) {
        let field = layout.field(index);
        let indent = "  ".repeat(depth);
        let slides = sliding[index.index()];
        if field.slack_before > 0 {
            let place = Some((field.offset - field.slack_before, field.slack_before));
            let name = format!("{indent}-- slack");
            self.0.push(Row { place, slides, name, kind: format!("before {}", field.name), faint: true });
        }
        let occurs = field.occurs.map_or_else(String::new, |occurs| format!(" {}", occurs_text(layout, occurs)));
        let name = format!("{indent}{:02} {}{occurs}", field.level, field.name);
        self.0.push(Row {
            place: Some((field.offset, field.size)),
            slides,
            name,
            kind: kind_text(layout, field),
            faint: false,
        });
        for condition in &field.conditions {
            let values: Vec<String> = condition
                .values
                .iter()
                .map(|(low, high)| match high {
                    None => literal_text(low),
                    Some(high) => format!("{} thru {}", literal_text(low), literal_text(high)),
                })
                .collect();
            let name = format!("{indent}   88 {}", condition.name);
            self.0.push(Row { place: None, slides: false, name, kind: values.join(", "), faint: true });
        }
        for child in layout.children(index) {
            self.field(layout, sliding, child, depth + 1);
        }
        if field.stride > field.size {
            let place = Some((field.offset + field.size, field.stride - field.size));
            let name = format!("{indent}-- slack");
            self.0.push(Row { place, slides, name, kind: format!("after each {}", field.name), faint: true });
        }
    }

    fn rename(&mut self, layout: &Layout, rename: &Rename) {
        let from = &layout.field(rename.from).name;
        let kind = match rename.thru {
            None => format!("renames {from}"),
            Some(thru) => format!("renames {from} thru {}", layout.field(thru).name),
        };
        let name = format!("  66 {}", rename.name);
        self.0.push(Row { place: Some((rename.offset, rename.size)), slides: false, name, kind, faint: false });
    }
}

/// Formats `[12]`, or `[1..100 by COUNTER]` for a table with a counter.
pub(crate) fn occurs_text(layout: &Layout, occurs: Occurs) -> String {
    match occurs.depending_on {
        Some(counter) => format!("[{}..{} by {}]", occurs.min, occurs.max, layout.field(counter).name),
        None => format!("[{}]", occurs.max),
    }
}

fn kind_text(layout: &Layout, field: &Field) -> String {
    let mut text = match field.kind {
        FieldKind::Group => "group".to_owned(),
        FieldKind::Item(_) => field.description.clone(),
    };
    if let Some(original) = field.redefines {
        text.push_str(&format!(", redefines {}", layout.field(original).name));
    }
    if let Some(value) = &field.value {
        text.push_str(&format!(", value {}", literal_text(value)));
    }
    if field.external {
        text.push_str(", external");
    }
    if field.global {
        text.push_str(", global");
    }
    text
}

fn heading(layout: &Layout, paint: Paint) -> String {
    let record = layout.field(FieldIndex::RECORD);
    let length = if layout.length_min == layout.length_max {
        bytes_text(layout.length_max)
    } else {
        format!("{} to {}", grouped(layout.length_min as u64), bytes_text(layout.length_max))
    };
    format!("{}  {length}, {}:{}\n\n", paint.text(Style::Strong, &record.name), record.source.file, record.source.line)
}

fn totals(layout: &Layout, rows: &Rows) -> String {
    let totals = Totals::of(layout);
    let mut parts =
        vec![format!("{} in {}", count_of(totals.items as u64, "item"), count_of(totals.groups as u64, "group"))];
    if totals.tables > 0 {
        let variable =
            if totals.variable_tables > 0 { format!(" ({} variable)", totals.variable_tables) } else { String::new() };
        parts.push(format!("{}{variable}", count_of(totals.tables as u64, "table")));
    }
    let counts = [
        (totals.redefinitions, "redefinition"),
        (totals.renames, "rename"),
        (totals.conditions, "condition"),
        (totals.fillers, "filler"),
        (totals.slack_bytes, "slack byte"),
    ];
    parts.extend(counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| count_of(n as u64, what)));
    let mut text = format!("{}\n", parts.join(", "));
    if rows.0.iter().any(|row| row.slides) {
        text.push_str("~ moves to the front when a table before it is shorter than its maximum\n");
    }
    text
}

/// Counts over a layout.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Totals {
    /// Elementary items.
    pub(crate) items: usize,
    /// Groups, the record included.
    pub(crate) groups: usize,
    /// OCCURS.
    pub(crate) tables: usize,
    /// OCCURS DEPENDING ON among them.
    pub(crate) variable_tables: usize,
    /// REDEFINES.
    pub(crate) redefinitions: usize,
    /// Level 66.
    pub(crate) renames: usize,
    /// Level 88.
    pub(crate) conditions: usize,
    /// FILLER items and groups.
    pub(crate) fillers: usize,
    /// Slack bytes of SYNCHRONIZED in one occurrence of everything.
    pub(crate) slack_bytes: usize,
}

impl Totals {
    /// Counts.
    pub(crate) fn of(layout: &Layout) -> Totals {
        let mut totals = Totals { renames: layout.renames.len(), ..Totals::default() };
        for field in &layout.fields {
            match field.kind {
                FieldKind::Group => totals.groups += 1,
                FieldKind::Item(_) => totals.items += 1,
            }
            totals.tables += usize::from(field.occurs.is_some());
            totals.variable_tables += usize::from(field.occurs.is_some_and(|occurs| occurs.depending_on.is_some()));
            totals.redefinitions += usize::from(field.redefines.is_some());
            totals.conditions += field.conditions.len();
            totals.fillers += usize::from(field.filler);
            totals.slack_bytes += field.slack_before + field.stride.saturating_sub(field.size);
        }
        totals
    }
}
