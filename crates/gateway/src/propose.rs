//! A service file for a copybook: the proposal that a user then edits, and the table that shows what it does.

use quayline_cobol::KeyStyle;
use quayline_cobol::layout::{FieldIndex, FieldKind, Layout};

use crate::service::single_values;

/// One row of the table that an editor would show.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceRow {
    /// How deep the field stands.
    pub depth: usize,
    /// COBOL name.
    pub field: String,
    /// Whether it is shown.
    pub include: bool,
    /// Name in JSON.
    pub rename: String,
    /// STRUCT, ARRAY with its bounds, or picture and usage.
    pub data_type: String,
    /// Bytes, of all occurrences.
    pub length: usize,
    /// Position from 1; none behind a table of varying length and inside of tables.
    pub start: Option<usize>,
}

/// The rows of a layout with names in this style.
#[must_use]
pub fn service_rows(layout: &Layout, style: KeyStyle) -> Vec<ServiceRow> {
    let mut rows = Vec::new();
    let mut slides = false;
    for (index, field) in layout.iter().skip(1) {
        let (depth, in_table) = around(layout, index);
        let count = field.occurs.map_or(1, |occurs| occurs.max as usize);
        let data_type = match (&field.kind, field.occurs) {
            (_, Some(occurs)) => format!("ARRAY [{}..{}]", occurs.min, occurs.max),
            (FieldKind::Group, None) => "STRUCT".to_owned(),
            (FieldKind::Item(_), None) => field.description.clone(),
        };
        rows.push(ServiceRow {
            depth,
            field: field.name.clone(),
            include: !field.filler && field.redefines.is_none(),
            rename: if field.filler { String::new() } else { style.key(&field.name) },
            data_type,
            length: field.stride * count,
            start: (!slides && !in_table).then_some(field.offset + 1),
        });
        slides |= layout.dialect.odo_slide && field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    }
    rows
}

fn around(layout: &Layout, index: FieldIndex) -> (usize, bool) {
    let (mut depth, mut in_table) = (0, false);
    let mut at = layout.field(index).parent;
    while let Some(parent) = at {
        in_table |= layout.field(parent).occurs.is_some();
        at = layout.field(parent).parent;
        depth += usize::from(at.is_some());
    }
    (depth, in_table)
}

/// The rows as a table.
#[must_use]
pub fn service_table(rows: &[ServiceRow]) -> String {
    let cells = |row: &ServiceRow| -> [String; 7] {
        [
            format!("{:width$}{}", "", row.field, width = 2 * row.depth),
            if row.include { "yes" } else { "no" }.to_owned(),
            row.rename.clone(),
            String::new(),
            row.data_type.clone(),
            row.length.to_string(),
            row.start.map_or_else(String::new, |start| start.to_string()),
        ]
    };
    let head = ["field", "include", "rename", "default", "type", "length", "start"].map(str::to_owned);
    let all: Vec<[String; 7]> = core::iter::once(head).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 7] =
        core::array::from_fn(|column| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &all {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The text of a service file for a program called like the copybook. Groups at the top whose names say so are request or response only.
#[must_use]
pub fn service_file(layout: &Layout, copybook: &str, encoding: &str) -> String {
    let program: String =
        layout.field(FieldIndex::RECORD).name.chars().filter(|c| c.is_ascii_alphanumeric()).take(8).collect();
    let tops: Vec<&str> = layout
        .children(FieldIndex::RECORD)
        .map(|child| layout.field(child))
        .filter(|field| !field.filler && field.redefines.is_none())
        .map(|field| field.name.as_str())
        .collect();
    let says = |name: &str, words: &[&str]| name.split('-').any(|word| words.contains(&word));
    let requests: Vec<&str> = tops.iter().copied().filter(|n| says(n, &["REQ", "REQUEST", "INPUT", "IN"])).collect();
    let others: Vec<&str> = if requests.is_empty() {
        Vec::new()
    } else {
        tops.iter().copied().filter(|name| !requests.contains(name)).collect()
    };
    let list = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        if quoted.is_empty() { String::new() } else { format!("exclude = [{}]\n", quoted.join(", ")) }
    };
    let mut text = format!(
        "# Proposed by `quayline service new`; docs/gateway.md explains every key.\ncopybook = \"{copybook}\"\nencoding = \"{encoding}\"\n\n\
[provider]\nkind = \"program\"\nprogram = \"{program}\"\n\n[request]\nkey-style = \"camel\"\n{}\n[response]\nkey-style = \"camel\"\n{}",
        list(&others),
        list(&requests)
    );
    for (_, field) in layout.iter() {
        if single_values(field).len() >= 2 && !field.filler {
            text.push_str(&format!("\n# [[type]]                         # names of level 88 instead of codes\n# field = \"{}\"\n# is = \"codes\"\n", field.name));
        }
    }
    text
}

/// Reads the layout of a copybook's only or named record, as a service would, within `limits`.
///
/// # Errors
/// What is wrong with the copybook, or that it has several records.
pub fn layout_of(
    path: &std::path::Path,
    record: Option<&str>,
    dialect: &quayline_cobol::layout::Dialect,
    limits: &quayline_core::Limits,
) -> Result<Layout, quayline_core::Findings> {
    crate::service::layout_at(path, &[], record, dialect, limits)
}
