//! Layouts of minimal copybooks, as rows: offset, bytes (× occurrences, + stride if it differs), level, name, description.

mod places;
mod sizes;

use core::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Dialect, FieldKind, Layout};
use crate::copybook::{Copybook, Format, ParseOptions, SourceText};
use crate::parse;

pub(crate) fn parse_free(text: &str) -> Result<Copybook, String> {
    let options = ParseOptions { format: Format::Free, ..ParseOptions::default() };
    parse(&SourceText::new("test.cpy", text), &options).map_err(|findings| findings.to_string())
}

/// Rows of every record, then warnings; or the findings.
pub(crate) fn rendered(text: &str, dialect: &Dialect) -> String {
    match parse_free(text) {
        Err(findings) => findings,
        Ok(copybook) => show(&copybook, dialect),
    }
}

pub(crate) fn show(copybook: &Copybook, dialect: &Dialect) -> String {
    let mut out = String::new();
    let mut notes: Vec<String> = copybook.warnings.iter().map(ToString::to_string).collect();
    for record in &copybook.records {
        match Layout::build(record, dialect) {
            Ok(layout) => {
                rows(&layout, &mut out);
                notes.extend(layout.warnings.iter().map(ToString::to_string));
            }
            Err(findings) => notes.push(findings.to_string()),
        }
    }
    for note in notes {
        out.push_str(&note);
        out.push('\n');
    }
    out
}

fn rows(layout: &Layout, out: &mut String) {
    for (index, field) in layout.iter() {
        let mut depth = 0;
        let mut at = field.parent;
        while let Some(group) = at {
            depth += 1;
            at = layout.field(group).parent;
        }
        let mut row = format!("{:<4} {}", field.offset, field.size);
        if field.stride != field.size {
            write!(row, "+{}", field.stride - field.size).unwrap();
        }
        write!(row, "{:1$} {2:02} {3}", "", (10 + 2 * depth).max(row.len()) - row.len(), field.level, field.name)
            .unwrap();
        if let Some(occurs) = field.occurs {
            write!(row, " [{}..{}", occurs.min, occurs.max).unwrap();
            if let Some(counter) = occurs.depending_on {
                write!(row, " by {}", layout.path(counter)).unwrap();
            }
            row.push(']');
        }
        if let Some(storage) = field.redefines {
            write!(row, " = {}", layout.path(storage)).unwrap();
        }
        if field.slack_before > 0 {
            write!(row, " slack {}", field.slack_before).unwrap();
        }
        if field.kind != FieldKind::Group {
            write!(row, " {}", field.description).unwrap();
        }
        if index.0 == 0 {
            write!(row, " min {} max {}", layout.length_min, layout.length_max).unwrap();
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    for rename in &layout.renames {
        writeln!(out, "{:<4} {:<5}   66 {}", rename.offset, rename.size, rename.name).unwrap();
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&rendered(text, &Dialect::IBM));
}

#[test]
fn groups_tables_and_items_follow_each_other() {
    check(
        "01 R.
           05 A PIC X(3).
           05 G OCCURS 2 TIMES.
             10 B PIC 9(4) COMP.
             10 C PIC S9(5)V99 COMP-3 OCCURS 3.
           05 FILLER PIC X.",
        expect![[r#"
            0    32    01 R min 32 max 32
            0    3       05 A PIC X(3)
            3    14      05 G [2..2]
            3    2         10 B PIC 9(4) COMP
            5    4         10 C [3..3] PIC S9(5)V99 COMP-3
            31   1       05 FILLER PIC X
        "#]],
    );
}
