//! CSV: a line for each cell, so that reports of different shape can be put below one another.

use crate::model::{Cell, Report};

/// Writes the lines, with a header (RFC 4180).
pub(crate) fn lines(report: &Report) -> String {
    let mut text = String::from("section,row,column,unit,value\r\n");
    for section in &report.sections {
        for row in &section.table.rows {
            let name = row.first().map(plain).unwrap_or_default();
            for (column, cell) in section.table.columns.iter().zip(row).skip(1) {
                if *cell == Cell::Empty {
                    continue;
                }
                let fields = [section.id.clone(), name.clone(), column.name.clone(), column.unit.clone(), plain(cell)];
                text.push_str(&fields.map(|field| quoted(&field)).join(","));
                text.push_str("\r\n");
            }
        }
    }
    text
}

/// Formats a cell with all its digits.
pub(crate) fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => format!("{number}"),
        Cell::Empty => String::new(),
    }
}

fn quoted(field: &str) -> String {
    // A spreadsheet takes these as formulas; a leading apostrophe makes them text there.
    let guarded = match field.chars().next() {
        Some('=' | '+' | '@') => format!("'{field}"),
        Some('-') if field.parse::<f64>().is_err() => format!("'{field}"),
        _ => field.to_owned(),
    };
    if guarded.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}
