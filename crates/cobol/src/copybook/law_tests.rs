//! Laws: nothing panics, every place is within its text, every layout is consistent.

use proptest::prelude::*;
use quayline_core::{Finding, Limits};

use super::{Copybook, Format, MemoryLibrary, ParseOptions, SourceText};
use crate::layout::{Dialect, FieldKind, Layout};
use crate::parse;

/// Words that make up copybooks, so that random texts reach deep into the parser.
const WORDS: &[&str] = &[
    "01",
    "03",
    "05",
    "10",
    "49",
    "66",
    "77",
    "88",
    "78",
    "00",
    "1",
    "3",
    "12",
    "999999999999",
    "-5",
    "A",
    "B",
    "C",
    "N",
    "FILLER",
    "PIC",
    "PICTURE IS",
    "X",
    "X(3)",
    "9(4)",
    "S9(5)V99",
    "SVPP9",
    "ZZ,ZZ9.99-",
    "$$$,$$9.99CR",
    "N(2)",
    "U(3)",
    "G(2)",
    "1(8)",
    "9(0)",
    "9(",
    "(3)",
    "P9P",
    "USAGE",
    "COMP",
    "COMP-3",
    "COMP-1",
    "COMP-5",
    "COMP-6",
    "COMP-X",
    "BINARY",
    "DISPLAY",
    "INDEX",
    "POINTER",
    "NATIONAL",
    "BINARY-LONG UNSIGNED",
    "SIGN",
    "LEADING",
    "TRAILING SEPARATE",
    "SYNC",
    "JUST",
    "BLANK WHEN ZERO",
    "OCCURS",
    "OCCURS 3 TIMES",
    "OCCURS 1 TO 5 DEPENDING ON N",
    "OCCURS 0 TO 4000000000 DEPENDING ON A OF B",
    "INDEXED BY IX",
    "ASCENDING KEY IS A",
    "REDEFINES",
    "REDEFINES A",
    "REDEFINES B",
    "RENAMES A THRU B",
    "RENAMES C",
    "VALUE",
    "VALUES ARE",
    "THRU",
    "'abc'",
    "\"x\"",
    "X'0F'",
    "NX'0041'",
    "'",
    "\"",
    "ALL",
    "SPACES",
    "ZERO",
    "EXTERNAL",
    "GLOBAL",
    "GROUP-USAGE NATIONAL",
    "BYTE-LENGTH 4",
    "COPY M",
    "COPY N REPLACING ==A== BY ==C==",
    "COPY Q",
    "REPLACE ==B== BY ==D E==.",
    "REPLACE OFF.",
    "==",
    "BY",
    "REPLACING",
    ":TAG:",
    ".",
    ".",
    ".",
    ".",
    ",",
    ";",
    "&",
    "*>",
    ">>",
    "\n",
    "\n",
    "\n      -    ",
    "\n      *",
    "\n       ",
    "\t",
    "DATA DIVISION.",
    "WORKING-STORAGE SECTION.",
    "FD F.",
    "EXEC SQL",
    "END-EXEC",
    "SPECIAL-NAMES. DECIMAL-POINT IS COMMA.",
    "IDENTIFICATION DIVISION.",
    "TYPE",
    "DATE FORMAT YY",
    "\u{1a}",
    "é",
    "\u{feff}",
    "\0",
    "(",
    ")",
    ":",
    "=",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..60).prop_map(|words| words.join(" "))
}

/// Mostly valid: random fields with rising levels.
fn fields() -> impl Strategy<Value = String> {
    let clause = prop::sample::select(&[
        "PIC X(3)",
        "PIC S9(4) COMP SYNC",
        "PIC S9(9) COMP SYNC",
        "COMP-2 SYNC",
        "PIC 9(2)",
        "",
        "OCCURS 3",
        "OCCURS 0 TO 3 DEPENDING ON N",
        "PIC X OCCURS 2",
        "PIC S9(7) COMP-3",
        "REDEFINES A",
        "REDEFINES A PIC X(9)",
    ]);
    let field =
        (prop::sample::select(&["05", "10", "15", "20"]), prop::sample::select(&["A", "B", "C", "FILLER"]), clause);
    prop::collection::vec(field, 1..12).prop_map(|fields| {
        let mut text = "01 R. 05 N PIC 9.\n".to_owned();
        for (level, name, clause) in fields {
            text.push_str(&format!("{level} {name} {clause}.\n"));
        }
        text
    })
}

fn limits() -> Limits {
    Limits {
        record_bytes_max: 100_000,
        copybook_bytes_max: 100_000,
        copy_depth_max: 5,
        findings_max: 40,
        ..Limits::default()
    }
}

fn library() -> MemoryLibrary {
    let members = [
        ("M", "05 A PIC X.\n   COPY N REPLACING ==A== BY ==A B==.\n"),
        ("N", "       10 A PIC 9.\n  COPY M. 88 B VALUE 'x"),
        ("N2", ""),
    ];
    MemoryLibrary(members.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect())
}

fn reads(text: &str, format: Format) -> Result<(), TestCaseError> {
    let (limits, library) = (limits(), library());
    let options = ParseOptions { format, limits: &limits, library: &library, ..ParseOptions::default() };
    match parse(&SourceText::new("text", text), &options) {
        Err(findings) => {
            prop_assert!(!findings.0.is_empty());
            findings.0.iter().try_for_each(|f| in_its_text(f, text, &library))
        }
        Ok(copybook) => {
            copybook.warnings.iter().try_for_each(|f| in_its_text(f, text, &library))?;
            layouts(&copybook, text, &library)
        }
    }
}

fn layouts(copybook: &Copybook, text: &str, library: &MemoryLibrary) -> Result<(), TestCaseError> {
    prop_assert!(!copybook.records.is_empty());
    for record in &copybook.records {
        for dialect in [Dialect::IBM, Dialect::GNUCOBOL, Dialect::MICRO_FOCUS] {
            match Layout::build(record, &dialect) {
                Err(findings) => findings.0.iter().try_for_each(|f| in_its_text(f, text, library))?,
                Ok(layout) => is_a_layout(&layout)?,
            }
        }
    }
    Ok(())
}

fn in_its_text(finding: &Finding, text: &str, library: &MemoryLibrary) -> Result<(), TestCaseError> {
    let place = &finding.place;
    let Some(file) = place.file.as_deref() else { return Ok(()) };
    let source = if file == "text" { text } else { &library.0[file] };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let (line, column) = (place.line.unwrap() as usize, place.column.unwrap() as usize);
    let written = source.split('\n').nth(line - 1);
    prop_assert!(written.is_some(), "line {line} of {file}: {finding}");
    let chars = written.unwrap().trim_end_matches('\r').chars().count();
    let end = column + place.width.unwrap() as usize - 1;
    prop_assert!(column >= 1 && end <= chars + 1, "columns {column} to {end} of {chars} in {file}: {finding}");
    let _ = finding.to_string();
    Ok(())
}

fn is_a_layout(layout: &Layout) -> Result<(), TestCaseError> {
    prop_assert!(layout.length_min <= layout.length_max);
    prop_assert_eq!(layout.length_max, layout.fields[0].size);
    for (index, field) in layout.iter() {
        prop_assert!(field.stride >= field.size && field.size > 0, "{}", field.name);
        let mut end = field.offset;
        for child in layout.children(index) {
            let child_field = layout.field(child);
            prop_assert_eq!(child_field.parent, Some(index));
            let extent = child_field.occurs.map_or(child_field.size, |o| o.max as usize * child_field.stride);
            match child_field.redefines {
                Some(storage) => prop_assert_eq!(child_field.offset, layout.field(storage).offset),
                None => prop_assert_eq!(child_field.offset, end + child_field.slack_before),
            }
            end = end.max(child_field.offset + extent);
        }
        if field.kind == FieldKind::Group {
            prop_assert_eq!(field.offset + field.size, end, "{}", field.name);
        } else {
            prop_assert_eq!(field.subtree_end.0, index.0 + 1);
        }
        if let Some(counter) = field.occurs.and_then(|o| o.depending_on) {
            prop_assert!(counter < index);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        reads(&text, Format::Auto)?;
        reads(&text, Format::Fixed)?;
    }

    #[test]
    fn any_soup_is_read(text in soup()) {
        reads(&text, Format::Free)?;
        reads(&text, Format::Fixed)?;
        reads(&text, Format::Auto)?;
    }

    #[test]
    fn any_fields_are_laid_out(text in fields()) {
        reads(&text, Format::Free)?;
    }

    #[test]
    fn any_picture_is_read(text in "[XA9NGU1SVPZ*+.,$B0/ECRD()123-]{0,12}") {
        let settings = crate::picture::PictureSettings::DEFAULT;
        if let Err(error) = crate::picture::Picture::parse(&text, &settings, 1000) {
            prop_assert!(error.at.start < error.at.end && error.at.end <= text.len().max(1), "{:?} in {text:?}", error);
        }
    }
}
