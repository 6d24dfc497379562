//! Layouts of minimal copybooks, as rows: offset, bytes (× occurrences, + stride where it differs), level, name, description.

use core::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Dialect, FieldKind, Layout};
use crate::copybook::{Copybook, Format, ParseOptions, SourceText, parse};

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

/// One item a row: bytes and description.
fn sizes(items: &[&str], dialect: &Dialect) -> String {
    let mut out = String::new();
    for item in items {
        let text = format!("01 R. 05 A {item}.");
        match parse_free(&text).map(|c| Layout::build(&c.records[0], dialect)) {
            Ok(Ok(layout)) => {
                let field = &layout.fields[1];
                writeln!(out, "{:<3} {item} -> {}", field.size, kind(&field.kind)).unwrap();
            }
            Ok(Err(findings)) => {
                writeln!(out, "-   {item} -> {} {}", findings.0[0].code, findings.0[0].message).unwrap()
            }
            Err(findings) => writeln!(out, "-   {item} -> {}", findings.lines().next().unwrap()).unwrap(),
        }
    }
    out
}

fn kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Group => "group".to_owned(),
        FieldKind::Item(super::Encoding::Edited(e)) => format!("Edited digits {} scale {}", e.digits, e.scale),
        FieldKind::Item(encoding) => format!("{encoding:?}"),
    }
}

const BINARY: &[&str] = &[
    "PIC 9 COMP",
    "PIC 99 BINARY",
    "PIC S999 COMP-4",
    "PIC S9(4) COMPUTATIONAL",
    "PIC 9(5) USAGE IS COMPUTATIONAL-4",
    "PIC S9(9) COMP",
    "PIC S9(10) COMP",
    "PIC S9(16)V99 BINARY",
    "PIC S9(19) COMP",
    "PIC S9(31) COMP-5",
    "PIC S9(1) COMP-5",
    "PIC S9(4) COMP-5",
    "PIC 9(18) COMP-5",
    "PIC 9(2) COMP-X",
    "PIC 9(5) COMP-X",
    "PIC 9(9) COMP-X",
    "PIC 9(12) COMP-X",
    "PIC S9(3) COMP-X",
    "PIC X(3) COMP-X",
    "PIC X COMP-X",
    "PIC X(17) COMP-X",
    "PIC 9(5) COMP-N",
    "PIC S9P(3) COMP",
    "PIC VP9(4) COMP",
    "BINARY-CHAR",
    "BINARY-SHORT UNSIGNED",
    "BINARY-LONG SIGNED",
    "USAGE BINARY-DOUBLE",
    "INDEX",
    "USAGE IS POINTER",
    "POINTER-32",
    "PROCEDURE-POINTER",
    "FUNCTION-POINTER",
    "COMP-1",
    "COMPUTATIONAL-2",
    "FLOAT-SHORT",
    "FLOAT-LONG",
];

#[test]
fn binary_sizes_follow_the_dialect() {
    expect![[r#"
        2   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        4   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        -   PIC S9(19) COMP -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 19
        -   PIC S9(31) COMP-5 -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 31
        2   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Big, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        4   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   COMP-1 -> Float32(Hexadecimal)
        8   COMPUTATIONAL-2 -> Float64(Hexadecimal)
        4   FLOAT-SHORT -> Float32(Hexadecimal)
        8   FLOAT-LONG -> Float64(Hexadecimal)
    "#]].assert_eq(&sizes(BINARY, &Dialect::IBM));
    expect![[r#"
        1   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        1   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        4   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        -   PIC S9(19) COMP -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 19
        -   PIC S9(31) COMP-5 -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 31
        1   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Little, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Little, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   COMP-1 -> Float32(IeeeLittle)
        8   COMPUTATIONAL-2 -> Float64(IeeeLittle)
        4   FLOAT-SHORT -> Float32(IeeeLittle)
        8   FLOAT-LONG -> Float64(IeeeLittle)
    "#]].assert_eq(&sizes(BINARY, &Dialect::GNUCOBOL));
    expect![[r#"
        1   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        1   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        3   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        5   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        9   PIC S9(19) COMP -> Binary { digits: 19, scale: 0, signed: true, order: Big, full_range: false }
        13  PIC S9(31) COMP-5 -> Binary { digits: 31, scale: 0, signed: true, order: Little, full_range: true }
        1   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Little, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Little, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   COMP-1 -> Float32(IeeeLittle)
        8   COMPUTATIONAL-2 -> Float64(IeeeLittle)
        4   FLOAT-SHORT -> Float32(IeeeLittle)
        8   FLOAT-LONG -> Float64(IeeeLittle)
    "#]].assert_eq(&sizes(BINARY, &Dialect::MICRO_FOCUS));
}

#[test]
fn other_usages_have_one_size_everywhere() {
    let items = [
        "PIC X(10)",
        "PIC A(3)",
        "PIC XA9",
        "PIC X(3) JUST",
        "PIC X(3) JUSTIFIED RIGHT",
        "PIC XXBXX/0",
        "PIC A(3)BA",
        "PIC 9(5)",
        "PIC S9(5)V99",
        "PIC SV9(4)",
        "PIC S9(3)PPP",
        "PIC PPP9(3)",
        "PIC VPPP9(3)",
        "PIC 9(3)P(2)V",
        "PIC S9(5) SIGN LEADING",
        "PIC S9(5) LEADING SEPARATE",
        "PIC S9(5) SIGN IS TRAILING SEPARATE CHARACTER",
        "PIC 9(5) BLANK WHEN ZERO",
        "PIC 9(5) BLANK ZEROES",
        "PIC S9(5) COMP-3",
        "PIC 9(4) PACKED-DECIMAL",
        "PIC S9(31) COMP-3",
        "PIC S9(38) COMP-3",
        "PIC 9PP COMP-3",
        "PIC 9(5) COMP-6",
        "PIC 9(4) COMP-6",
        "PIC N(5)",
        "PIC N(5) USAGE NATIONAL",
        "PIC NBN",
        "PIC N(3) JUST",
        "PIC G(4) DISPLAY-1",
        "PIC G(2)BG",
        "PIC N(2) DISPLAY-1",
        "PIC U(5)",
        "PIC U(5) USAGE UTF-8",
        "PIC U(5) BYTE-LENGTH 10",
        "PIC 1",
        "PIC 1(8)",
        "PIC ZZ,ZZ9.99-",
        "PIC $$$,$$9.99CR",
        "PIC +++,++9.9",
        "PIC **,**9.99DB",
        "PIC 99/99/99",
        "PIC 99B99",
        "PIC 9(3)0009",
        "PIC ZZZ9.99 BLANK WHEN ZERO",
        "PIC $9(5).99",
        "PIC -9(5)",
        "PIC 9(5)+",
        "PIC ZZZPP",
        "PIC ZZ9V99",
        "PIC 9(3),9(3)",
        "PIC +$9(3)",
        "PIC $+++9",
        "PIC Z(5)",
        "PIC .99",
        "PIC -(5)9.9(2)",
        "PIC $(4).$$",
        "PIC ****.**",
        "PIC VPP99-",
        "PIC 9,",
        "PIC x(3)",
        "picture is s9(3)v9 usage display",
        "PIC 9(09)",
    ];
    expect![[r#"
        10  PIC X(10) -> Text { justified: false, alphabetic: false }
        3   PIC A(3) -> Text { justified: false, alphabetic: true }
        3   PIC XA9 -> Text { justified: false, alphabetic: false }
        3   PIC X(3) JUST -> Text { justified: true, alphabetic: false }
        3   PIC X(3) JUSTIFIED RIGHT -> Text { justified: true, alphabetic: false }
        7   PIC XXBXX/0 -> TextEdited { mask: [None, None, Some(' '), None, None, Some('/'), Some('0')] }
        5   PIC A(3)BA -> TextEdited { mask: [None, None, None, Some(' '), None] }
        5   PIC 9(5) -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: false }
        7   PIC S9(5)V99 -> Zoned { digits: 7, scale: 2, sign: TrailingOverpunch, blank_when_zero: false }
        4   PIC SV9(4) -> Zoned { digits: 4, scale: 4, sign: TrailingOverpunch, blank_when_zero: false }
        3   PIC S9(3)PPP -> Zoned { digits: 3, scale: -3, sign: TrailingOverpunch, blank_when_zero: false }
        3   PIC PPP9(3) -> Zoned { digits: 3, scale: 6, sign: Unsigned, blank_when_zero: false }
        3   PIC VPPP9(3) -> Zoned { digits: 3, scale: 6, sign: Unsigned, blank_when_zero: false }
        3   PIC 9(3)P(2)V -> Zoned { digits: 3, scale: -2, sign: Unsigned, blank_when_zero: false }
        5   PIC S9(5) SIGN LEADING -> Zoned { digits: 5, scale: 0, sign: LeadingOverpunch, blank_when_zero: false }
        6   PIC S9(5) LEADING SEPARATE -> Zoned { digits: 5, scale: 0, sign: LeadingSeparate, blank_when_zero: false }
        6   PIC S9(5) SIGN IS TRAILING SEPARATE CHARACTER -> Zoned { digits: 5, scale: 0, sign: TrailingSeparate, blank_when_zero: false }
        5   PIC 9(5) BLANK WHEN ZERO -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: true }
        5   PIC 9(5) BLANK ZEROES -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: true }
        3   PIC S9(5) COMP-3 -> Packed { digits: 5, scale: 0, signed: true }
        3   PIC 9(4) PACKED-DECIMAL -> Packed { digits: 4, scale: 0, signed: false }
        16  PIC S9(31) COMP-3 -> Packed { digits: 31, scale: 0, signed: true }
        20  PIC S9(38) COMP-3 -> Packed { digits: 38, scale: 0, signed: true }
        1   PIC 9PP COMP-3 -> Packed { digits: 1, scale: -2, signed: false }
        3   PIC 9(5) COMP-6 -> PackedUnsigned { digits: 5, scale: 0 }
        2   PIC 9(4) COMP-6 -> PackedUnsigned { digits: 4, scale: 0 }
        10  PIC N(5) -> National { justified: false }
        10  PIC N(5) USAGE NATIONAL -> National { justified: false }
        6   PIC NBN -> National { justified: false }
        6   PIC N(3) JUST -> National { justified: true }
        8   PIC G(4) DISPLAY-1 -> Dbcs
        8   PIC G(2)BG -> Dbcs
        4   PIC N(2) DISPLAY-1 -> Dbcs
        20  PIC U(5) -> Utf8
        20  PIC U(5) USAGE UTF-8 -> Utf8
        10  PIC U(5) BYTE-LENGTH 10 -> Utf8
        1   PIC 1 -> Boolean
        8   PIC 1(8) -> Boolean
        10  PIC ZZ,ZZ9.99- -> Edited digits 7 scale 2
        12  PIC $$$,$$9.99CR -> Edited digits 7 scale 2
        9   PIC +++,++9.9 -> Edited digits 6 scale 1
        11  PIC **,**9.99DB -> Edited digits 7 scale 2
        8   PIC 99/99/99 -> Edited digits 6 scale 0
        5   PIC 99B99 -> Edited digits 4 scale 0
        7   PIC 9(3)0009 -> Edited digits 4 scale 0
        7   PIC ZZZ9.99 BLANK WHEN ZERO -> Edited digits 6 scale 2
        9   PIC $9(5).99 -> Edited digits 7 scale 2
        6   PIC -9(5) -> Edited digits 5 scale 0
        6   PIC 9(5)+ -> Edited digits 5 scale 0
        3   PIC ZZZPP -> Edited digits 3 scale -2
        5   PIC ZZ9V99 -> Edited digits 5 scale 2
        7   PIC 9(3),9(3) -> Edited digits 6 scale 0
        5   PIC +$9(3) -> Edited digits 3 scale 0
        5   PIC $+++9 -> Edited digits 3 scale 0
        5   PIC Z(5) -> Edited digits 5 scale 0
        3   PIC .99 -> Edited digits 2 scale 2
        9   PIC -(5)9.9(2) -> Edited digits 7 scale 2
        7   PIC $(4).$$ -> Edited digits 5 scale 2
        7   PIC ****.** -> Edited digits 6 scale 2
        3   PIC VPP99- -> Edited digits 2 scale 4
        2   PIC 9, -> Edited digits 1 scale 0
        3   PIC x(3) -> Text { justified: false, alphabetic: false }
        4   picture is s9(3)v9 usage display -> Zoned { digits: 4, scale: 1, sign: TrailingOverpunch, blank_when_zero: false }
        9   PIC 9(09) -> Zoned { digits: 9, scale: 0, sign: Unsigned, blank_when_zero: false }
    "#]].assert_eq(&sizes(&items, &Dialect::IBM));
}

#[test]
fn pictures_are_refused_with_the_rule() {
    let items = [
        "PIC 9S",
        "PIC SS9",
        "PIC 9V9V9",
        "PIC 9.9.9",
        "PIC 9V9.9",
        "PIC VV9",
        "PIC 9PP9",
        "PIC P9P",
        "PIC 9VP9",
        "PIC PV9",
        "PIC V",
        "PIC S",
        "PIC P",
        "PIC X9S",
        "PIC XZ",
        "PIC NX",
        "PIC UB",
        "PIC 1B",
        "PIC GN",
        "PIC 9(0)",
        "PIC 9()",
        "PIC 9(A)",
        "PIC 9(99999999999)",
        "PIC X(99999999)",
        "PIC 9(39)",
        "PIC Z(39)",
        "PIC Z9Z",
        "PIC 9Z",
        "PIC Z*",
        "PIC $$++9",
        "PIC Z+++",
        "PIC +9+",
        "PIC 9(15)+-",
        "PIC 9CRDB",
        "PIC CR9",
        "PIC -9CR",
        "PIC $9$",
        "PIC 9$",
        "PIC 9+9",
        "PIC $$9$",
        "PIC Z.Z9",
        "PIC +",
        "PIC $",
        "PIC .",
        "PIC B",
        "PIC Q",
        "PIC C9",
        "PIC +9.99E+99",
        "PIC S9.9",
        "PIC 9)9",
        "PIC Z(40000)",
        "PIC X(40000)B",
        "PIC",
        "PIC (3)",
        "PIC 9 (3)",
        "PIC £9",
    ];
    expect![[r#"
        -   PIC 9S -> error[COB-041]: S stands once, in front of everything else
        -   PIC SS9 -> error[COB-041]: S stands once, in front of everything else
        -   PIC 9V9V9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9.9.9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9V9.9 -> error[COB-041]: the picture has a second decimal point
        -   PIC VV9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9PP9 -> error[COB-041]: P stands left or right of all digit positions, with V at most beside it on the outside
        -   PIC P9P -> error[COB-041]: P stands left or right of all digit positions, with V at most beside it on the outside
        -   PIC 9VP9 -> error[COB-041]: P stands left or right of all digit positions, with V at most beside it on the outside
        -   PIC PV9 -> error[COB-041]: P stands left or right of all digit positions, with V at most beside it on the outside
        -   PIC V -> error[COB-041]: the picture has no digit position
        -   PIC S -> error[COB-041]: the picture has no digit position
        -   PIC P -> error[COB-041]: the picture has no digit position
        -   PIC X9S -> error[COB-041]: this symbol does not belong to the others: X and A stand with X, A, 9, B, 0 and / only
        -   PIC XZ -> error[COB-041]: this symbol does not belong to the others: X and A stand with X, A, 9, B, 0 and / only
        -   PIC NX -> error[COB-041]: this symbol does not belong to the others: only itself and insertion symbols can stand beside it
        -   PIC UB -> error[COB-041]: this symbol does not belong to the others: only itself and insertion symbols can stand beside it
        -   PIC 1B -> error[COB-041]: this symbol does not belong to the others: only itself and insertion symbols can stand beside it
        -   PIC GN -> error[COB-041]: this symbol does not belong to the others: only itself and insertion symbols can stand beside it
        -   PIC 9(0) -> error[COB-042]: the repeat count is zero
        -   PIC 9() -> error[COB-042]: the repeat count is not a whole number
        -   PIC 9(A) -> error[COB-042]: the repeat count is not a whole number
        -   PIC 9(99999999999) -> error[COB-042]: the picture has more than 16777216 character positions (limit record_bytes_max)
        -   PIC X(99999999) -> error[COB-042]: the picture has more than 16777216 character positions (limit record_bytes_max)
        -   PIC 9(39) -> error[COB-043]: the picture has 39 digit positions, at most 38 are supported
        -   PIC Z(39) -> error[COB-043]: the picture has 39 digit positions, at most 38 are supported
        -   PIC Z9Z -> error[COB-041]: zeros are suppressed to the right of a 9
        -   PIC 9Z -> error[COB-041]: zeros are suppressed to the right of a 9
        -   PIC Z* -> error[COB-041]: two ways to suppress zeros in one picture
        -   PIC $$++9 -> error[COB-041]: two symbols float in one picture
        -   PIC Z+++ -> error[COB-041]: two ways to suppress zeros in one picture
        -   PIC +9+ -> error[COB-041]: this symbol breaks a floating string
        -   PIC 9(15)+- -> error[COB-041]: the sign stands inside the picture
        -   PIC 9CRDB -> error[COB-041]: the sign stands inside the picture
        -   PIC CR9 -> error[COB-041]: the sign stands inside the picture
        -   PIC -9CR -> error[COB-041]: the picture has a second sign
        -   PIC $9$ -> error[COB-041]: this symbol breaks a floating string
        -   PIC 9$ -> error[COB-041]: the currency symbol stands inside the picture
        -   PIC 9+9 -> error[COB-041]: the sign stands inside the picture
        -   PIC $$9$ -> error[COB-041]: this symbol breaks a floating string
        -   PIC Z.Z9 -> error[COB-041]: some digits behind the point are suppressed, others not
        -   PIC + -> error[COB-041]: the picture has no digit position
        -   PIC $ -> error[COB-041]: the picture has no digit position
        -   PIC . -> error[COB-041]: the picture has no digit position
        -   PIC B -> error[COB-041]: the picture has no digit position
        -   PIC Q -> error[COB-040]: `Q` is no picture symbol
        -   PIC C9 -> error[COB-040]: `C` is no picture symbol
        -   PIC +9.99E+99 -> error[COB-044]: external floating-point items (`E`) are not supported
        -   PIC S9.9 -> error[COB-041]: S does not belong to an edited picture
        -   PIC 9)9 -> error[COB-040]: `)` is no picture symbol
        -   PIC Z(40000) -> error[COB-042]: an edited picture of 40000 positions, more than 32760
        -   PIC X(40000)B -> error[COB-042]: an edited picture of 40001 positions, more than 32760
        -   PIC -> error[COB-040]: PICTURE is followed by a period, expected a character-string
        -   PIC (3) -> error[COB-040]: `(` is no picture symbol
        -   PIC 9 (3) -> error[COB-041]: a blank stands inside the picture
        -   PIC £9 -> error[COB-040]: `£` is no picture symbol
    "#]].assert_eq(&sizes(&items, &Dialect::IBM));
}

#[test]
fn clauses_are_refused_where_they_mean_nothing() {
    let items = [
        "PIC X COMP",
        "PIC X COMP-3",
        "PIC 9 COMP-1",
        "PIC 9 INDEX",
        "PIC X NATIONAL",
        "PIC 9 NATIONAL",
        "PIC ZZ9 COMP-3",
        "PIC N COMP",
        "PIC X SIGN LEADING",
        "PIC 9 SIGN LEADING",
        "PIC S9 COMP-3 SIGN LEADING",
        "PIC 9 JUST",
        "PIC XBX JUST",
        "PIC S9 BLANK ZERO",
        "PIC **9 BLANK ZERO",
        "PIC X BLANK ZERO",
        "PIC S9 COMP-6",
        "PIC X BYTE-LENGTH 3",
        "OBJECT REFERENCE FOO",
        "PIC X COMP-7",
        "PIC X PIC X",
        "PIC X USAGE DISPLAY USAGE DISPLAY",
        "PIC X DYNAMIC LENGTH",
        "TYPE FOO",
        "PIC 9 UNSIGNED",
        "PIC X GROUP-USAGE NATIONAL",
        "PIC 1 BIT",
        "FLOAT-DECIMAL-16",
        "PIC X ANY LENGTH",
        "CONSTANT 5",
        "RENAMES B",
    ];
    expect![[r#"
        -   PIC X COMP -> COB-050 USAGE COMP does not go with PIC X
        -   PIC X COMP-3 -> COB-050 USAGE COMP-3 does not go with PIC X
        -   PIC 9 COMP-1 -> COB-050 USAGE COMP-1 does not go with PIC 9
        -   PIC 9 INDEX -> COB-050 USAGE INDEX does not go with PIC 9
        -   PIC X NATIONAL -> COB-050 USAGE NATIONAL does not go with PIC X
        -   PIC 9 NATIONAL -> COB-031 numbers in national characters are not supported
        -   PIC ZZ9 COMP-3 -> COB-050 USAGE COMP-3 does not go with PIC ZZ9
        -   PIC N COMP -> COB-050 USAGE COMP does not go with PIC N
        -   PIC X SIGN LEADING -> COB-051 SIGN does not go with A (PIC X)
        -   PIC 9 SIGN LEADING -> COB-051 SIGN does not go with A (PIC 9)
        -   PIC S9 COMP-3 SIGN LEADING -> COB-051 SIGN does not go with A (PIC S9)
        -   PIC 9 JUST -> COB-051 JUSTIFIED does not go with A (PIC 9)
        -   PIC XBX JUST -> COB-051 JUSTIFIED does not go with A (PIC XBX)
        -   PIC S9 BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC S9)
        -   PIC **9 BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC **9)
        -   PIC X BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC X)
        -   PIC S9 COMP-6 -> COB-051 COMP-6 has no sign, but the picture has an S
        -   PIC X BYTE-LENGTH 3 -> COB-051 BYTE-LENGTH belongs to `PIC U` only
        -   OBJECT REFERENCE FOO -> error[COB-031]: USAGE OBJECT REFERENCE is not supported
        -   PIC X COMP-7 -> error[COB-031]: USAGE COMP-7 is not supported
        -   PIC X PIC X -> error[COB-028]: the entry has a second PICTURE clause
        -   PIC X USAGE DISPLAY USAGE DISPLAY -> error[COB-028]: the entry has a second USAGE clause
        -   PIC X DYNAMIC LENGTH -> error[COB-031]: DYNAMIC LENGTH is not supported
        -   TYPE FOO -> error[COB-031]: the TYPE clause is not supported
        -   PIC 9 UNSIGNED -> error[COB-021]: UNSIGNED stands alone
        -   PIC X GROUP-USAGE NATIONAL -> COB-051 GROUP-USAGE stands on an elementary item
        -   PIC 1 BIT -> error[COB-031]: USAGE BIT is not supported
        -   FLOAT-DECIMAL-16 -> error[COB-031]: USAGE FLOAT-DECIMAL-16 is not supported
        -   PIC X ANY LENGTH -> error[COB-031]: ANY LENGTH is not supported
        -   CONSTANT 5 -> error[COB-031]: constants are not supported
        -   RENAMES B -> error[COB-029]: RENAMES belongs to level 66
    "#]]
    .assert_eq(&sizes(&items, &Dialect::IBM));
}

#[test]
fn slack_bytes_follow_the_language_reference() {
    check(
        "01 FIELD-A. 05 FIELD-B PIC X(5). 05 FIELD-C. 10 FIELD-D PIC XX. 10 FIELD-E COMP PIC S9(6) SYNC.
         01 FIELD-L. 05 FIELD-M PIC X(5). 05 FIELD-N PIC XX. 05 FIELD-O. 10 FIELD-P COMP PIC S9(6) SYNC.
         01 WORK-RECORD. 05 WORK-CODE PIC X. 05 COMP-TABLE OCCURS 10 TIMES. 10 COMP-TYPE PIC X.
            10 COMP-PAY PIC S9(4)V99 COMP SYNC. 10 COMP-HRS PIC S9(3) COMP SYNC. 10 COMP-NAME PIC X(5).
         01 COMP-RECORD. 05 A-1 PIC X(5). 05 A-2 PIC X(3). 05 A-3 PIC X(3). 05 B-1 PIC S9999 COMP SYNCHRONIZED LEFT.
            05 B-2 PIC S99999 COMP SYNC RIGHT. 05 B-3 PIC S9999 COMP SYNC.",
        expect![[r#"
            0    12    01 FIELD-A min 12 max 12
            0    5       05 FIELD-B PIC X(5)
            5    7       05 FIELD-C
            5    2         10 FIELD-D PIC XX
            8    4         10 FIELD-E slack 1 PIC S9(6) COMP SYNC
            0    12    01 FIELD-L min 12 max 12
            0    5       05 FIELD-M PIC X(5)
            5    2       05 FIELD-N PIC XX
            8    4       05 FIELD-O slack 1
            8    4         10 FIELD-P PIC S9(6) COMP SYNC
            0    161   01 WORK-RECORD min 161 max 161
            0    1       05 WORK-CODE PIC X
            1    14+2    05 COMP-TABLE [10..10]
            1    1         10 COMP-TYPE PIC X
            4    4         10 COMP-PAY slack 2 PIC S9(4)V99 COMP SYNC
            8    2         10 COMP-HRS PIC S9(3) COMP SYNC
            10   5         10 COMP-NAME PIC X(5)
            0    22    01 COMP-RECORD min 22 max 22
            0    5       05 A-1 PIC X(5)
            5    3       05 A-2 PIC X(3)
            8    3       05 A-3 PIC X(3)
            12   2       05 B-1 slack 1 PIC S9999 COMP SYNC
            16   4       05 B-2 slack 2 PIC S99999 COMP SYNC
            20   2       05 B-3 PIC S9999 COMP SYNC
        "#]],
    );
}

#[test]
fn sync_of_a_group_reaches_its_items_and_each_boundary_is_its_own() {
    let text = "01 R SYNC.
         05 A PIC X. 05 H PIC S9(4) COMP. 05 B PIC X. 05 F PIC S9(9) COMP-5. 05 C PIC X. 05 D PIC S9(18) COMP. 05 E PIC X.
         05 F1 COMP-1. 05 G PIC X. 05 F2 COMP-2. 05 I PIC X. 05 IX INDEX. 05 J PIC X. 05 P POINTER. 05 K PIC X. 05 PP PROCEDURE-POINTER.
         05 L PIC X. 05 PK PIC S9(5) COMP-3. 05 Z PIC 9(3).";
    check(
        text,
        expect![[r#"
            0    83    01 R min 83 max 83
            0    1       05 A PIC X
            2    2       05 H slack 1 PIC S9(4) COMP SYNC
            4    1       05 B PIC X
            8    4       05 F slack 3 PIC S9(9) COMP-5 SYNC
            12   1       05 C PIC X
            16   8       05 D slack 3 PIC S9(18) COMP SYNC
            24   1       05 E PIC X
            28   4       05 F1 slack 3 COMP-1 SYNC
            32   1       05 G PIC X
            40   8       05 F2 slack 7 COMP-2 SYNC
            48   1       05 I PIC X
            52   4       05 IX slack 3 INDEX SYNC
            56   1       05 J PIC X
            60   4       05 P slack 3 POINTER SYNC
            64   1       05 K PIC X
            68   8       05 PP slack 3 PROCEDURE-POINTER SYNC
            76   1       05 L PIC X
            77   3       05 PK PIC S9(5) COMP-3
            80   3       05 Z PIC 9(3)
        "#]],
    );
    expect![[r#"
        0    95    01 R min 95 max 95
        0    1       05 A PIC X
        2    2       05 H slack 1 PIC S9(4) COMP SYNC
        4    1       05 B PIC X
        8    4       05 F slack 3 PIC S9(9) COMP-5 SYNC
        12   1       05 C PIC X
        16   8       05 D slack 3 PIC S9(18) COMP SYNC
        24   1       05 E PIC X
        28   4       05 F1 slack 3 COMP-1 SYNC
        32   1       05 G PIC X
        40   8       05 F2 slack 7 COMP-2 SYNC
        48   1       05 I PIC X
        52   4       05 IX slack 3 INDEX SYNC
        56   1       05 J PIC X
        64   8       05 P slack 7 POINTER SYNC
        72   1       05 K PIC X
        80   8       05 PP slack 7 PROCEDURE-POINTER SYNC
        88   1       05 L PIC X
        89   3       05 PK PIC S9(5) COMP-3
        92   3       05 Z PIC 9(3)
    "#]]
    .assert_eq(&rendered(text, &Dialect::GNUCOBOL));
    expect![[r#"
        0    61    01 R min 61 max 61
        0    1       05 A PIC X
        1    2       05 H PIC S9(4) COMP
        3    1       05 B PIC X
        4    4       05 F PIC S9(9) COMP-5
        8    1       05 C PIC X
        9    8       05 D PIC S9(18) COMP
        17   1       05 E PIC X
        18   4       05 F1 COMP-1
        22   1       05 G PIC X
        23   8       05 F2 COMP-2
        31   1       05 I PIC X
        32   4       05 IX INDEX
        36   1       05 J PIC X
        37   8       05 P POINTER
        45   1       05 K PIC X
        46   8       05 PP PROCEDURE-POINTER
        54   1       05 L PIC X
        55   3       05 PK PIC S9(5) COMP-3
        58   3       05 Z PIC 9(3)
    "#]]
    .assert_eq(&rendered(text, &Dialect::MICRO_FOCUS));
}

#[test]
fn slack_in_nested_tables_and_redefinitions() {
    check(
        "01 R. 05 A PIC X. 05 T OCCURS 2. 10 B PIC X. 10 U OCCURS 3. 15 C PIC S9(4) COMP SYNC. 15 D PIC X. 10 E PIC S9(9) COMP SYNC. 10 F PIC X.
         05 G PIC X. 05 H PIC X(4). 05 I REDEFINES H PIC S9(9) COMP SYNC. 05 J REDEFINES H. 10 K PIC X. 10 L PIC S9(4) COMP SYNC. 05 M COMP SYNC PIC S9(4) OCCURS 3.",
        expect![[r#"
            0    52    01 R min 52 max 52
            0    1       05 A PIC X
            1    20      05 T [2..2]
            1    1         10 B PIC X
            2    3+1       10 U [3..3]
            2    2           15 C PIC S9(4) COMP SYNC
            4    1           15 D PIC X
            16   4         10 E slack 2 PIC S9(9) COMP SYNC
            20   1         10 F PIC X
            41   1       05 G PIC X
            42   4       05 H PIC X(4)
            42   4       05 I = H PIC S9(9) COMP SYNC
            42   4       05 J = H
            42   1         10 K PIC X
            44   2         10 L slack 1 PIC S9(4) COMP SYNC
            46   2       05 M [3..3] PIC S9(4) COMP SYNC
            warning[COB-064]: I is SYNCHRONIZED, but H, which it redefines, begins at byte 42, which is no multiple of 4
              at test.cpy:2:40
              |
            2 |          05 G PIC X. 05 H PIC X(4). 05 I REDEFINES H PIC S9(9) COMP SYNC. 05 J REDEFINES H. 10 K PIC X. 10 L PIC S9(4) COMP SYNC. 05 M COMP SYNC PIC S9(4) OCCURS 3.
              |                                        ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
        "#]],
    );
}

#[test]
fn redefinitions_share_storage() {
    check(
        "01 R. 05 A PIC X(8). 05 B REDEFINES A. 10 C PIC 9(4). 10 D REDEFINES C PIC X(2). 10 E PIC X(4).
         05 F REDEFINES B PIC S9(15) COMP-3. 05 G REDEFINES A OCCURS 2 PIC X(4). 05 FILLER REDEFINES A. 10 H PIC X.
         05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.",
        expect![[r#"
            0    19    01 R min 19 max 19
            0    8       05 A PIC X(8)
            0    8       05 B = A
            0    4         10 C PIC 9(4)
            0    2         10 D = B.C PIC X(2)
            4    4         10 E PIC X(4)
            0    8       05 F = A PIC S9(15) COMP-3
            0    4       05 G [2..2] = A PIC X(4)
            0    1       05 FILLER = A
            0    1         10 H PIC X
            8    4       05 I PIC X(4)
            8    6       05 J = I PIC X(6)
            14   1       05 K PIC X
            15   1       05 T [3..3] PIC X
            15   3       05 U = T PIC X(3)
            18   1       05 V PIC X
            warning[COB-062]: J has 6 bytes, but it redefines I, which has 4
              at test.cpy:3:30
              |
            3 |          05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.
              |                              ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
            warning[COB-063]: T, which is redefined, has an OCCURS clause
              at test.cpy:3:90
              |
            3 |          05 I PIC X(4). 05 J REDEFINES I PIC X(6). 05 K PIC X. 05 T PIC X OCCURS 3. 05 U REDEFINES T PIC X(3). 05 V PIC X.
              |                                                                                          ^^^^^^^^^^^

            hint: the storage of all its occurrences is taken; Enterprise COBOL refuses this: put the table in a group and redefine that
        "#]],
    );
}

#[test]
fn tables_of_varying_length() {
    check(
        "01 R. 05 G. 10 N PIC 9. 10 M PIC S9(4) COMP. 05 T OCCURS 1 TO 3 TIMES DEPENDING ON N OF G. 10 K PIC 9.
            10 U OCCURS 0 TO 4 TIMES DEPENDING K ASCENDING KEY IS V INDEXED BY X1 X2. 15 V PIC X. 15 W PIC X.
         05 S PIC XX OCCURS 5 DEPENDING ON M IN R. 05 Z PIC X.",
        expect![[r#"
            0    41    01 R min 7 max 41
            0    3       05 G
            0    1         10 N PIC 9
            1    2         10 M PIC S9(4) COMP
            3    9       05 T [1..3 by G.N]
            3    1         10 K PIC 9
            4    2         10 U [0..4 by T.K]
            4    1           15 V PIC X
            5    1           15 W PIC X
            30   2       05 S [1..5 by G.M] PIC XX
            40   1       05 Z PIC X
        "#]],
    );
    let mut gnu = Dialect::IBM;
    gnu.odo_slide = false;
    expect![[r#"
        0    11    01 R min 11 max 11
        0    1       05 N PIC 9
        1    3       05 T [1..3 by N]
        1    2         10 A PIC XX
        3    1         10 B PIC X
        10   1       05 Z PIC X
        0    22    01 S min 3 max 22
        0    1       05 N PIC 9
        1    7       05 T [1..3 by N]
        1    2         10 A PIC XX
        3    1         10 U [0..5 by N] PIC X
        0    7     01 Q min 1 max 7
        0    1       05 N PIC 9
        1    2       05 T [0..3 by N] PIC XX
    "#]]
    .assert_eq(&rendered(
        "01 R. 05 N PIC 9. 05 T OCCURS 1 TO 3 DEPENDING ON N. 10 A PIC XX. 10 B PIC X. 05 Z PIC X.
         01 S. 05 N PIC 9. 05 T OCCURS 1 TO 3 DEPENDING ON N. 10 A PIC XX. 10 U OCCURS 0 TO 5 DEPENDING ON N PIC X.
         01 Q. 05 N PIC 9. 05 T OCCURS 0 TO 3 DEPENDING ON N PIC XX.",
        &gnu,
    ));
}

#[test]
fn usage_and_sign_of_a_group_reach_its_items_and_the_nearest_wins() {
    check(
        "01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
         01 S SIGN TRAILING SEPARATE. 05 A PIC S9(3). 05 B PIC 9(3). 05 C PIC X. 05 D PIC S9(3) SIGN LEADING. 05 E PIC S9 COMP.
         01 T GROUP-USAGE NATIONAL. 05 A PIC N(3). 05 G. 10 B PIC N.
         01 V COMP-1. 05 A. 05 B OCCURS 2.",
        expect![[r#"
            0    9     01 R min 9 max 9
            0    2       05 A PIC S9(3) COMP-3
            2    7       05 G
            2    2         10 B PIC S9(4) COMP
            4    5         10 C PIC S9(4) SIGN LEADING SEPARATE
            0    13    01 S min 13 max 13
            0    4       05 A PIC S9(3) SIGN TRAILING SEPARATE
            4    3       05 B PIC 9(3)
            7    1       05 C PIC X
            8    3       05 D PIC S9(3) SIGN LEADING
            11   2       05 E PIC S9 COMP
            0    8     01 T min 8 max 8
            0    6       05 A PIC N(3) NATIONAL
            6    2       05 G
            6    2         10 B PIC N NATIONAL
            0    12    01 V min 12 max 12
            0    4       05 A COMP-1
            4    4       05 B [2..2] COMP-1
            warning[COB-052]: USAGE COMP contradicts COMP-3 of the group
              at test.cpy:1:41
              |
            1 | 01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
              |                                         ^^^^

            hint: the nearer one is taken; Enterprise COBOL refuses this
            warning[COB-052]: USAGE DISPLAY contradicts COMP of the group
              at test.cpy:1:78
              |
            1 | 01 R USAGE COMP-3. 05 A PIC S9(3). 05 G COMP. 10 B PIC S9(4). 10 C PIC S9(4) DISPLAY SIGN LEADING SEPARATE.
              |                                                                              ^^^^^^^

            hint: the nearer one is taken; Enterprise COBOL refuses this
        "#]],
    );
}

#[test]
fn renames_give_a_stretch_another_name() {
    check(
        "01 R. 05 A PIC X(2). 05 B. 10 C PIC X(3). 10 D PIC X(4). 05 E PIC X.
         66 R1 RENAMES A. 66 R2 RENAMES A THRU B. 66 R3 RENAMES C THROUGH E. 66 R4 RENAMES B OF R.",
        expect![[r#"
            0    10    01 R min 10 max 10
            0    2       05 A PIC X(2)
            2    7       05 B
            2    3         10 C PIC X(3)
            5    4         10 D PIC X(4)
            9    1       05 E PIC X
            0    2       66 R1
            0    9       66 R2
            2    8       66 R3
            2    7       66 R4
        "#]],
    );
}

#[test]
fn fragments_items_and_unequal_levels() {
    check(
        "03 A PIC X. 03 B. 05 C PIC X. 01 S. 10 D PIC X. 05 E PIC X. 77 F PIC 9(3) COMP-3. 77 G PIC X VALUE 'A'. 01 H PIC X(5).
         01 I. 05 J. 15 K PIC X. 10 L PIC X. 05 M PIC X.",
        expect![[r#"
            0    2     01 TEST min 2 max 2
            0    1       03 A PIC X
            1    1       03 B
            1    1         05 C PIC X
            0    2     01 S min 2 max 2
            0    1       10 D PIC X
            1    1       05 E PIC X
            0    2     77 F PIC 9(3) COMP-3 min 2 max 2
            0    1     77 G PIC X min 1 max 1
            0    5     01 H PIC X(5) min 5 max 5
            0    3     01 I min 3 max 3
            0    2       05 J
            0    1         15 K PIC X
            1    1         10 L PIC X
            2    1       05 M PIC X
            warning[COB-024]: level 05 does not match its sibling D, which has level 10
              at test.cpy:1:52
              |
            1 | 03 A PIC X. 03 B. 05 C PIC X. 01 S. 10 D PIC X. 05 E PIC X. 77 F PIC 9(3) COMP-3. 77 G PIC X VALUE 'A'. 01 H PIC X(5).
              |                                                    ^

            hint: E is taken as a field of S; give fields of one group one level number
            warning[COB-024]: level 10 does not match its sibling K, which has level 15
              at test.cpy:2:37
              |
            2 |          01 I. 05 J. 15 K PIC X. 10 L PIC X. 05 M PIC X.
              |                                     ^

            hint: L is taken as a field of J; give fields of one group one level number
        "#]],
    );
}
