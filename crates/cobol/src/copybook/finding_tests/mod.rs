//! One rendered finding for every code, at least.

mod entries;
mod source;
mod structure;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use quayline_core::Limits;

use super::{Format, MemoryLibrary, ParseOptions, SourceText};
use crate::layout::Dialect;
use crate::layout::tests::show;
use crate::{codes, parse};

/// Returns the findings and warnings of parsing and layout, or the rows of the layout if there are none.
fn shown(text: &str, options: &ParseOptions<'_>) -> String {
    match parse(&SourceText::new("a.cpy", text), options) {
        Err(findings) => findings.to_string(),
        Ok(copybook) => show(&copybook, &Dialect::IBM),
    }
}

fn free(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, &ParseOptions { format: Format::Free, ..ParseOptions::default() }));
}

fn fixed(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, &ParseOptions { format: Format::Fixed, ..ParseOptions::default() }));
}

fn library(members: &[(&str, &str)]) -> MemoryLibrary {
    let members: BTreeMap<String, String> = members.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
    MemoryLibrary(members)
}

fn copying(members: &[(&str, &str)], text: &str, expected: Expect) {
    let library = library(members);
    expected
        .assert_eq(&shown(text, &ParseOptions { format: Format::Free, library: &library, ..ParseOptions::default() }));
}

fn limited(limits: &Limits, text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, &ParseOptions { format: Format::Free, limits, ..ParseOptions::default() }));
}

#[test]
fn many_findings_come_at_once_in_the_order_of_the_text() {
    fixed(
        "       01  ORDER-RECORD.\n           05  ORDER-ID    PIC 9(9\n           05  AMOUNT      PIC S9(5)V9V9 COMP-3.\n           05  QTY         PIC 9(4) COMP-8.\n           05  LINES OCCURS 10.\n           05  LAST        PIC X(3).\n",
        expect![[r#"
            error[COB-042]: the repeat count is not a whole number
              at a.cpy:2:34
              |
            2 |            05  ORDER-ID    PIC 9(9
              |                                  ^

            hint: a repeat count is a whole number from 1 on in parentheses: `X(10)`

            error[COB-031]: USAGE COMP-8 is not supported
              at a.cpy:4:37
              |
            4 |            05  QTY         PIC 9(4) COMP-8.
              |                                     ^^^^^^

            hint: the usages are DISPLAY, COMP, COMP-1 to COMP-6, COMP-X, BINARY, PACKED-DECIMAL, NATIONAL, UTF-8, DISPLAY-1, INDEX, POINTER, PROCEDURE-POINTER, FUNCTION-POINTER, BINARY-CHAR to BINARY-DOUBLE, FLOAT-SHORT and FLOAT-LONG

            error[COB-027]: LINES has neither a picture nor fields of its own
              at a.cpy:5:16
              |
            5 |            05  LINES OCCURS 10.
              |                ^^^^^

            hint: give it a PICTURE, or fields with higher level numbers"#]],
    );
}

#[test]
fn every_code_is_shown_here_and_explained_in_the_documents() {
    let tests =
        [include_str!("mod.rs"), include_str!("source.rs"), include_str!("entries.rs"), include_str!("structure.rs")]
            .concat();
    let documents = include_str!("../../../../../docs/reference/errors/cobol.md");
    for code in codes::ALL {
        assert!(tests.contains(&format!("[{code}]")), "{code} has no rendered finding");
        assert!(documents.contains(&format!("| {code} |")), "{code} is not in docs/reference/errors/cobol.md");
    }
    for line in documents.lines().filter_map(|l| l.strip_prefix("| COB-")) {
        let code = format!("COB-{}", line.split(' ').next().unwrap_or(""));
        assert!(codes::ALL.iter().any(|c| c.0 == code), "{code} is explained, but never found");
    }
}
