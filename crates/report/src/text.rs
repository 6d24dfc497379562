//! Tables as text for a terminal.

use crate::model::{Cell, Report};

/// Writes the report as text.
pub(crate) fn write(report: &Report) -> String {
    let mut text = format!("{}\n{}\n", report.title, report.summary);
    for section in report.sections.iter().filter(|section| !section.table.rows.is_empty()) {
        text.push_str(&format!("\n{}\n", section.title));
        let head = section.table.columns.iter().map(|column| match column.unit.as_str() {
            "" => column.name.clone(),
            unit => format!("{} [{unit}]", column.name),
        });
        let mut rows: Vec<Vec<String>> = vec![head.collect()];
        // Columns in which nothing was measured are left out.
        rows.extend(
            section
                .table
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.to_string().replace('\u{2009}', "")).collect()),
        );
        let kept: Vec<usize> = (0..section.table.columns.len())
            .filter(|at| rows[1..].iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty())))
            .collect();
        // A row shows each column with its width, to the left if it has text.
        let columns: Vec<(usize, usize, bool)> = kept
            .into_iter()
            .map(|at| {
                let width = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
                (at, width, section.table.rows.iter().any(|row| matches!(row[at], Cell::Text(_))))
            })
            .collect();
        for row in &rows {
            let mut line = String::new();
            for (at, width, is_text) in &columns {
                let cell = &row[*at];
                let fill = " ".repeat(width - cell.chars().count());
                let (before, after) = if *is_text { ("", fill.as_str()) } else { (fill.as_str(), "") };
                line.push_str(&format!("{before}{cell}{after}  "));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Section, Table, Verdict};

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let columns = vec![Column::new("name", ""), Column::new("rate", "per s"), Column::new("never", "s")];
        let row = |name: &str, rate: f64| vec![Cell::text(name), Cell::Number(rate), Cell::Empty];
        let section = |id: &str, rows| Section {
            id: id.to_owned(),
            title: format!("Section {id}"),
            notes: Vec::new(),
            table: Table { columns: columns.clone(), rows },
            picture: None,
        };
        let report = Report {
            kind: "test".to_owned(),
            title: "Title".to_owned(),
            verdict: Verdict::Good,
            summary: "All is well.".to_owned(),
            conditions: Vec::new(),
            sections: vec![section("a", vec![row("one", 1.5), row("three", 12_000.0)]), section("b", Vec::new())],
        };
        let expected =
            "Title\nAll is well.\n\nSection a\nname   rate [per s]\none             1.5\nthree         12000\n";
        assert_eq!(report.text(), expected);
    }
}
