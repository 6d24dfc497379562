//! One rendered finding for every code, at least.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use quayline_core::Limits;

use super::{Format, MemoryLibrary, ParseOptions, SourceText, codes, parse};
use crate::layout::Dialect;
use crate::layout::tests::show;

/// Findings and warnings of parsing and layout; rows of the layout where there is nothing to find.
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
fn literal_not_closed() {
    free(
        "01 A PIC X(5) VALUE 'abc.\n01 B PIC X.",
        expect![[r#"
        error[COB-001]: the literal has no closing quote on its line
          at a.cpy:1:21
          |
        1 | 01 A PIC X(5) VALUE 'abc.
          |                     ^^^^^

        hint: close it with the quote it began with; to continue it, put `-` in column 7 of the next line

        warning[COB-022]: the entry has no period behind it; one is assumed here
          at a.cpy:1:25
          |
        1 | 01 A PIC X(5) VALUE 'abc.
          |                         ^

        hint: end the entry with a period"#]],
    );
}

#[test]
fn continuation() {
    fixed(
        "      -    05 A PIC X.\n",
        expect![[r#"
        error[COB-002]: there is no line before this one to continue
          at a.cpy:1:7
          |
        1 |       -    05 A PIC X.
          |       ^

        hint: remove the `-` from column 7"#]],
    );
    fixed(
        "       01 A PIC X(80) VALUE 'abc\n      -    def'.\n",
        expect![[r#"
        error[COB-002]: the continued literal does not go on with `'`
          at a.cpy:2:12
          |
        2 |       -    def'.
          |            ^

        hint: start the continued part with the quote the literal began with"#]],
    );
}

#[test]
fn indicator() {
    fixed(
        "      Q01 A PIC X.\n",
        expect![[r#"
        error[COB-003]: column 7 holds `Q`, which is no indicator
          at a.cpy:1:7
          |
        1 |       Q01 A PIC X.
          |       ^

        hint: column 7 holds a blank, `*`, `/`, `-` or `D`; if the text is in free form, say so (format free)"#]],
    );
}

#[test]
fn text_past_margin() {
    fixed(
        "       01 A.\n           05 A-FIELD-WITH-A-RATHER-LONG-NAME            PIC X(10) JUSTIFIED RIGHT.\n",
        expect![[r#"
            error[COB-021]: expected a clause or a period, found `JUSTI`
              at a.cpy:2:68
              |
            2 |            05 A-FIELD-WITH-A-RATHER-LONG-NAME            PIC X(10) JUSTIFIED RIGHT.
              |                                                                    ^^^^^

            hint: check the spelling of the clause; an entry ends with a period

            warning[COB-004]: a word runs past column 72; what stands from column 73 on is not read
              at a.cpy:2:73
              |
            2 |            05 A-FIELD-WITH-A-RATHER-LONG-NAME            PIC X(10) JUSTIFIED RIGHT.
              |                                                                         ^

            hint: move the text to the left, or say that it is in free form (format free)"#]],
    );
}

#[test]
fn source_too_large() {
    limited(
        &Limits { copybook_bytes_max: 10, ..Limits::default() },
        "01 A PIC X(10).",
        expect![[r#"
        error[COB-005]: a.cpy has 15 bytes, more than a copybook may have: 10 (limit copybook_bytes_max)

        hint: raise the limit, or name another file"#]],
    );
    let library = library(&[("M", "05 B PIC X(20).")]);
    let limits = Limits { copybook_bytes_max: 20, ..Limits::default() };
    let options = ParseOptions { library: &library, limits: &limits, format: Format::Free, ..ParseOptions::default() };
    expect![[r#"
        error[COB-005]: the copybook with everything it copies is longer than 20 bytes (limit copybook_bytes_max)
          at a.cpy:1:7
          |
        1 | 01 A. COPY M.
          |       ^^^^^^

        hint: raise the limit, or copy less"#]]
    .assert_eq(&shown("01 A. COPY M.", &options));
    let limits = Limits { copybook_bytes_max: 40, ..Limits::default() };
    let options =
        ParseOptions { limits: &limits, replacing: Some("==B== BY ==BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB=="), ..options };
    expect![[r#"
        error[COB-005]: the copybook after REPLACING is longer than 40 bytes (limit copybook_bytes_max)
          at replacing:1:1
          |
        1 | ==B== BY ==BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB==
          | ^

        hint: raise the limit, or replace less"#]]
    .assert_eq(&shown("01 A. 05 B PIC X.", &options));
    limited(
        &Limits { findings_max: 1, ..Limits::default() },
        "01 A PIC Q. 01 B PIC Q. 01 C PIC Q.",
        expect![[r#"
        error[COB-040]: `Q` is no picture symbol
          at a.cpy:1:10
          |
        1 | 01 A PIC Q. 01 B PIC Q. 01 C PIC Q.
          |          ^

        hint: the symbols are X A 9 N G U 1 S V P, and for edited items Z * + - CR DB , . B 0 / and the currency symbol

        error[COB-005]: 2 more errors are not shown (limit findings_max)"#]],
    );
}

#[test]
fn directive() {
    free(
        ">>IF X IS DEFINED\n01 A PIC X.\n>>END-IF",
        expect![[r#"
        error[COB-006]: conditional compilation is not supported
          at a.cpy:1:1
          |
        1 | >>IF X IS DEFINED
          | ^^^^^^^^^^^^^^^^^

        hint: keep the lines that apply and delete the others, or let the compiler expand the copybook first

        error[COB-006]: conditional compilation is not supported
          at a.cpy:3:1
          |
        3 | >>END-IF
          | ^^^^^^^^

        hint: keep the lines that apply and delete the others, or let the compiler expand the copybook first"#]],
    );
    free(
        ">>SOURCE FORMAT IS VARIABLE\n01 A PIC X.",
        expect![[r#"
        error[COB-006]: the source format is neither FREE nor FIXED
          at a.cpy:1:1
          |
        1 | >>SOURCE FORMAT IS VARIABLE
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: say FREE or FIXED"#]],
    );
}

#[test]
fn copy_member_not_found() {
    copying(
        &[],
        "01 A.\n  COPY CUSTOMER OF MYLIB.\n  05 B PIC X.",
        expect![[r#"
            error[COB-010]: COPY member CUSTOMER is not in the library
              at a.cpy:2:3
              |
            2 |   COPY CUSTOMER OF MYLIB.
              |   ^^^^^^^^^^^^^

            hint: looked for MYLIB/CUSTOMER, CUSTOMER; name the folder that holds it with `-I`"#]],
    );
    free(
        "01 A.\n  COPY \"cust.cpy\".",
        expect![[r#"
            error[COB-010]: COPY member cust.cpy is not in the library
              at a.cpy:2:3
              |
            2 |   COPY "cust.cpy".
              |   ^^^^^^^^^^^^^^^

            hint: give a folder of copybooks to search"#]],
    );
}

#[test]
fn copy_recursion() {
    copying(
        &[("M", "05 B PIC X.\nCOPY N."), ("N", "\nCOPY M.")],
        "01 A. COPY M.",
        expect![[r#"
        error[COB-011]: M copies itself: a.cpy → M → N → M
          at N:2:1 (copied at M:2)
          |
        2 | COPY M.
          | ^^^^^^

        hint: remove the COPY that closes the circle"#]],
    );
}

#[test]
fn copy_depth() {
    let library = library(&[("M", "05 B PIC X. COPY N."), ("N", "05 C PIC X.")]);
    let limits = Limits { copy_depth_max: 1, ..Limits::default() };
    let options = ParseOptions { library: &library, limits: &limits, format: Format::Free, ..ParseOptions::default() };
    expect![[r#"
        error[COB-012]: COPY is nested deeper than 1 (limit copy_depth_max)
          at M:1:13 (copied at a.cpy:1)
          |
        1 | 05 B PIC X. COPY N.
          |             ^^^^^^

        hint: raise the limit, or copy fewer levels deep"#]]
    .assert_eq(&shown("01 A. COPY M.", &options));
}

#[test]
fn copy_syntax() {
    let members = [("M", "05 B PIC X.")];
    copying(
        &members,
        "01 A. COPY.",
        expect![[r#"
            error[COB-013]: COPY names no member
              at a.cpy:1:7
              |
            1 | 01 A. COPY.
              |       ^^^^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
    copying(
        &members,
        "01 A. COPY M\n 05 C PIC X.",
        expect![[r#"
        error[COB-013]: the COPY statement does not end with a period, but with `05`
          at a.cpy:1:7
          |
        1 | 01 A. COPY M
          |       ^^^^

        hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
    copying(
        &members,
        "01 A. COPY M REPLACING B WITH C.",
        expect![[r#"
            error[COB-013]: this text is followed by `WITH`, expected BY
              at a.cpy:1:24
              |
            1 | 01 A. COPY M REPLACING B WITH C.
              |                        ^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
    copying(
        &members,
        "01 A. COPY M REPLACING ==B== BY ==C.",
        expect![[r#"
            error[COB-013]: the COPY statement does not end with a period, but with the end of the text
              at a.cpy:1:7
              |
            1 | 01 A. COPY M REPLACING ==B== BY ==C.
              |       ^^^^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form

            error[COB-013]: the pseudo-text has no closing `==`
              at a.cpy:1:33
              |
            1 | 01 A. COPY M REPLACING ==B== BY ==C.
              |                                 ^^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form

            error[COB-021]: expected a level number, found `PIC`
              at M:1:6 (copied at a.cpy:1)
              |
            1 | 05 B PIC X.
              |      ^^^

            hint: an entry begins with a level number from 01 to 49, 66, 77 or 88, and ends with a period"#]],
    );
    copying(
        &members,
        "01 A. COPY M REPLACING ==== BY ==C==.",
        expect![[r#"
            error[COB-013]: the text to replace is empty
              at a.cpy:1:24
              |
            1 | 01 A. COPY M REPLACING ==== BY ==C==.
              |                        ^^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
    copying(
        &members,
        "01 A. COPY M REPLACING LEADING ==B C== BY ==C==.",
        expect![[r#"
            error[COB-013]: LEADING and TRAILING replace a part of one word
              at a.cpy:1:24
              |
            1 | 01 A. COPY M REPLACING LEADING ==B C== BY ==C==.
              |                        ^^^^^^^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
    copying(
        &members,
        "REPLACE B. 01 A PIC X.",
        expect![[r#"
            error[COB-013]: this text is followed by a period, expected BY
              at a.cpy:1:9
              |
            1 | REPLACE B. 01 A PIC X.
              |         ^

            hint: write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form"#]],
    );
}

#[test]
fn foreign_include() {
    fixed(
        "       01 A.\n-INC CUSTREC\n       ++INCLUDE OTHER\n",
        expect![[r#"
            error[COB-014]: `-INC` is not COBOL: it is a statement of a source library
              at a.cpy:2:1
              |
            2 | -INC CUSTREC
              | ^^^^

            hint: write `COPY` instead of `-INC`, or expand the member before reading the copybook

            error[COB-014]: `++INCLUDE` is not COBOL: it is a statement of a source library
              at a.cpy:3:8
              |
            3 |        ++INCLUDE OTHER
              |        ^^^^^^^^^

            hint: write `COPY` instead of `++INCLUDE`, or expand the member before reading the copybook"#]],
    );
}

#[test]
fn placeholder() {
    free(
        "01 :TAG:-REC.\n 05 X-:TAG: PIC X(:LEN:).\n 05 B PIC X.",
        expect![[r#"
        error[COB-015]: `:TAG:-REC` holds a placeholder that was not replaced
          at a.cpy:1:4
          |
        1 | 01 :TAG:-REC.
          |    ^^^^^^^^^

        hint: this copybook is made for `COPY … REPLACING ==:TAG:== BY ==…==`; give the replacing text when you read it alone

        error[COB-015]: `X-:TAG:` holds a placeholder that was not replaced
          at a.cpy:2:5
          |
        2 |  05 X-:TAG: PIC X(:LEN:).
          |     ^^^^^^^

        hint: this copybook is made for `COPY … REPLACING ==:TAG:== BY ==…==`; give the replacing text when you read it alone

        error[COB-015]: the picture `X(:LEN:)` holds a placeholder that was not replaced
          at a.cpy:2:17
          |
        2 |  05 X-:TAG: PIC X(:LEN:).
          |                 ^^^^^^^^

        hint: this copybook is made for `COPY … REPLACING`; give the replacing text when you read it alone"#]],
    );
}

#[test]
fn copy_unreadable() {
    struct Broken;
    impl super::CopyLibrary for Broken {
        fn member(&self, member: &str, _: Option<&str>) -> Result<SourceText, super::CopyError> {
            Err(super::CopyError::Unreadable {
                name: format!("lib/{member}.cpy"),
                reason: "permission denied".to_owned(),
            })
        }
    }
    let options = ParseOptions { library: &Broken, format: Format::Free, ..ParseOptions::default() };
    expect![[r#"
        error[COB-016]: lib/M.cpy cannot be read: permission denied
          at a.cpy:1:7
          |
        1 | 01 A. COPY M.
          |       ^^^^^^

        hint: check that it is a text file and that it may be read"#]]
    .assert_eq(&shown("01 A. COPY M.", &options));
}

#[test]
fn replacing_unused() {
    copying(
        &[("M", "05 B-ONE PIC X.")],
        "01 A. COPY M REPLACING ==B== BY ==C==.",
        expect![[r#"
            0    1     01 A min 1 max 1
            0    1       05 B-ONE PIC X
            warning[COB-017]: this text does not occur in what is copied
              at a.cpy:1:24
              |
            1 | 01 A. COPY M REPLACING ==B== BY ==C==.
              |                        ^^

            hint: compare it with the member word by word: a word is replaced as a whole, or use LEADING or TRAILING
        "#]],
    );
}

#[test]
fn nothing_described() {
    free(
        "",
        expect![[r#"
        error[COB-020]: no data description was found
          at a.cpy:1:1
          |
        1 | 
          | ^

        hint: a copybook has entries such as `05 NAME PIC X(10).`; if it has, say which format its columns are in (fixed or free)"#]],
    );
    free(
        "IDENTIFICATION DIVISION. PROGRAM-ID. P. PROCEDURE DIVISION. STOP RUN.",
        expect![[r#"
        error[COB-020]: no data description was found
          at a.cpy:1:1
          |
        1 | IDENTIFICATION DIVISION. PROGRAM-ID. P. PROCEDURE DIVISION. STOP RUN.
          | ^

        hint: a copybook has entries such as `05 NAME PIC X(10).`; if it has, say which format its columns are in (fixed or free)"#]],
    );
}

#[test]
fn unexpected() {
    free(
        "01 A.\n  hello world.\n  05 B PIC X HELLO.\n  05 C PIC X.",
        expect![[r#"
        error[COB-021]: expected a level number, found `HELLO`
          at a.cpy:2:3
          |
        2 |   hello world.
          |   ^^^^^

        hint: an entry begins with a level number from 01 to 49, 66, 77 or 88, and ends with a period

        error[COB-021]: expected a clause or a period, found `HELLO`
          at a.cpy:3:14
          |
        3 |   05 B PIC X HELLO.
          |              ^^^^^

        hint: check the spelling of the clause; an entry ends with a period"#]],
    );
}

#[test]
fn period_missing() {
    free(
        "01 A\n  05 B PIC X\n  05 C PIC 9(3) VALUE 5\n  88 D VALUES 1 2\n     3\n  05 E PIC X",
        expect![[r#"
            0    5     01 A min 5 max 5
            0    1       05 B PIC X
            1    3       05 C PIC 9(3)
            4    1       05 E PIC X
            warning[COB-022]: the entry has no period behind it; one is assumed here
              at a.cpy:1:4
              |
            1 | 01 A
              |    ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period behind it; one is assumed here
              at a.cpy:2:12
              |
            2 |   05 B PIC X
              |            ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period behind it; one is assumed here
              at a.cpy:3:23
              |
            3 |   05 C PIC 9(3) VALUE 5
              |                       ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period behind it; one is assumed here
              at a.cpy:5:6
              |
            5 |      3
              |      ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period behind it; one is assumed here
              at a.cpy:6:12
              |
            6 |   05 E PIC X
              |            ^

            hint: end the entry with a period
        "#]],
    );
}

#[test]
fn level_number() {
    free(
        "01 A.\n  50 B PIC X.\n  00 C PIC X.\n  123456 D PIC X.",
        expect![[r#"
            error[COB-023]: 50 is no level number
              at a.cpy:2:3
              |
            2 |   50 B PIC X.
              |   ^^

            hint: levels are 01 to 49, 66, 77 and 88

            error[COB-023]: 00 is no level number
              at a.cpy:3:3
              |
            3 |   00 C PIC X.
              |   ^^

            hint: levels are 01 to 49, 66, 77 and 88

            error[COB-023]: 123456 is no level number
              at a.cpy:4:3
              |
            4 |   123456 D PIC X.
              |   ^^^^^^

            hint: levels are 01 to 49, 66, 77 and 88"#]],
    );
}

#[test]
fn level_order() {
    free(
        "77 A PIC X.\n  05 B PIC X.\n01 C. 05 D PIC X. 66 E RENAMES D. 05 F PIC X.",
        expect![[r#"
        error[COB-024]: level 05 stands behind a level 77, which has no fields
          at a.cpy:2:6
          |
        2 |   05 B PIC X.
          |      ^

        hint: make the level 77 a level 01, or begin a record with a level 01 here

        error[COB-024]: F stands behind a level 66 of its record
          at a.cpy:3:38
          |
        3 | 01 C. 05 D PIC X. 66 E RENAMES D. 05 F PIC X.
          |                                      ^

        hint: move E behind all other entries of the record"#]],
    );
}

#[test]
fn condition_misplaced() {
    free(
        "88 A VALUE 1.\n66 B RENAMES C.\n01 R. 05 D PIC X. 66 E RENAMES D. 88 F VALUE 'X'.",
        expect![[r#"
        error[COB-025]: this level 88 has no field in front of it
          at a.cpy:1:4
          |
        1 | 88 A VALUE 1.
          |    ^

        hint: move it behind the entry whose values it names

        error[COB-025]: this level 66 has no record in front of it
          at a.cpy:2:4
          |
        2 | 66 B RENAMES C.
          |    ^

        hint: move it behind the record it renames fields of

        error[COB-025]: this level 88 has no field in front of it
          at a.cpy:3:38
          |
        3 | 01 R. 05 D PIC X. 66 E RENAMES D. 88 F VALUE 'X'.
          |                                      ^

        hint: move it behind the entry whose values it names"#]],
    );
}

#[test]
fn group_with_picture_and_item_without() {
    free(
        "01 A.\n  05 B PIC X(3).\n    10 C PIC X.\n  05 D.\n  05 E COMP.\n  05 F OCCURS 3.",
        expect![[r#"
        error[COB-026]: B has a picture, but C belongs to it
          at a.cpy:2:8
          |
        2 |   05 B PIC X(3).
          |        ^^^

        hint: remove the picture, or give C the level number 05

        error[COB-027]: D has neither a picture nor fields of its own
          at a.cpy:4:6
          |
        4 |   05 D.
          |      ^

        hint: give it a PICTURE, or fields with higher level numbers

        error[COB-027]: E has neither a picture nor fields of its own
          at a.cpy:5:6
          |
        5 |   05 E COMP.
          |      ^

        hint: give it a PICTURE, or fields with higher level numbers

        error[COB-027]: F has neither a picture nor fields of its own
          at a.cpy:6:6
          |
        6 |   05 F OCCURS 3.
          |      ^

        hint: give it a PICTURE, or fields with higher level numbers"#]],
    );
}

#[test]
fn clause_twice() {
    free(
        "01 A PIC X PIC 9 OCCURS 2 OCCURS 3.",
        expect![[r#"
        error[COB-028]: the entry has a second PICTURE clause
          at a.cpy:1:12
          |
        1 | 01 A PIC X PIC 9 OCCURS 2 OCCURS 3.
          |            ^^^

        hint: keep one of them; is a period missing between two entries?

        error[COB-028]: the entry has a second OCCURS clause
          at a.cpy:1:27
          |
        1 | 01 A PIC X PIC 9 OCCURS 2 OCCURS 3.
          |                           ^^^^^^

        hint: keep one of them; is a period missing between two entries?"#]],
    );
}

#[test]
fn clause_syntax() {
    free(
        "01 A.\n 05 B PIC X VALUE.\n 05 C PIC X VALUE X'1'.\n 05 D BLANK WHEN NULL.\n 05 E PIC X OCCURS N.\n 05 F SIGN SEPARATE.
 05 G REDEFINES.\n 88 H.\n 88 VALUE 1.\n 05 I PIC X OCCURS 1 TO 3 DEPENDING ON.\n 05 J USAGE.\n 05 K GROUP-USAGE DISPLAY.\n 66 L.",
        expect![[r#"
            error[COB-029]: VALUE needs a literal, found a period
              at a.cpy:2:18
              |
            2 |  05 B PIC X VALUE.
              |                  ^

            hint: write a number, quoted text, X'…', or a figurative constant such as SPACES or ZERO

            error[COB-029]: the literal is not whole bytes in hexadecimal
              at a.cpy:3:19
              |
            3 |  05 C PIC X VALUE X'1'.
              |                   ^^^^

            hint: write an even number of hexadecimal digits, 0 to 9 and A to F

            error[COB-029]: BLANK is followed by `NULL`, expected WHEN ZERO
              at a.cpy:4:18
              |
            4 |  05 D BLANK WHEN NULL.
              |                  ^^^^

            hint: write `BLANK WHEN ZERO`

            error[COB-029]: OCCURS needs a whole number, found `N`
              at a.cpy:5:20
              |
            5 |  05 E PIC X OCCURS N.
              |                    ^

            hint: write the number in digits; named constants are not supported

            error[COB-029]: SIGN is followed by `SEPARATE`, expected LEADING or TRAILING
              at a.cpy:6:12
              |
            6 |  05 F SIGN SEPARATE.
              |            ^^^^^^^^

            hint: write `SIGN LEADING` or `SIGN TRAILING SEPARATE`

            error[COB-029]: REDEFINES needs a data name, found a period
              at a.cpy:7:16
              |
            7 |  05 G REDEFINES.
              |                ^

            hint: name a field of this record

            error[COB-029]: level 88 needs VALUE, found a period
              at a.cpy:8:6
              |
            8 |  88 H.
              |      ^

            hint: write `88 NAME VALUE 'A'.`

            error[COB-029]: level 88 needs a condition name
              at a.cpy:9:5
              |
            9 |  88 VALUE 1.
              |     ^^^^^

            hint: write `88 NAME VALUE 'A'.`

            error[COB-029]: DEPENDING ON needs a data name, found a period
              at a.cpy:10:39
               |
            10 |  05 I PIC X OCCURS 1 TO 3 DEPENDING ON.
               |                                       ^

            hint: name a field of this record

            error[COB-029]: USAGE is followed by a period
              at a.cpy:11:12
               |
            11 |  05 J USAGE.
               |            ^

            hint: the usages are DISPLAY, COMP, COMP-1 to COMP-6, COMP-X, BINARY, PACKED-DECIMAL, NATIONAL, UTF-8, DISPLAY-1, INDEX, POINTER, PROCEDURE-POINTER, FUNCTION-POINTER, BINARY-CHAR to BINARY-DOUBLE, FLOAT-SHORT and FLOAT-LONG

            error[COB-029]: GROUP-USAGE is followed by `DISPLAY`
              at a.cpy:12:19
               |
            12 |  05 K GROUP-USAGE DISPLAY.
               |                   ^^^^^^^

            hint: write `GROUP-USAGE NATIONAL` or `GROUP-USAGE UTF-8`

            error[COB-029]: level 66 needs RENAMES, found a period
              at a.cpy:13:6
               |
            13 |  66 L.
               |      ^

            hint: write `66 NAME RENAMES FIRST-FIELD THRU LAST-FIELD.`"#]],
    );
}

#[test]
fn names() {
    free(
        "01 A.\n 05 B$ PIC X.\n 05 -C PIC X.\n 05 D- PIC X.\n 05 123 PIC X.\n 05 E PIC X.",
        expect![[r#"
        error[COB-030]: `$` cannot stand in a data name
          at a.cpy:2:5
          |
        2 |  05 B$ PIC X.
          |     ^^

        hint: use letters, digits, hyphens and underscores

        error[COB-030]: a data name does not begin or end with a hyphen
          at a.cpy:3:5
          |
        3 |  05 -C PIC X.
          |     ^^

        hint: use letters, digits, hyphens and underscores

        error[COB-030]: a data name does not begin or end with a hyphen
          at a.cpy:4:5
          |
        4 |  05 D- PIC X.
          |     ^^

        hint: use letters, digits, hyphens and underscores

        error[COB-030]: a data name has at least one letter
          at a.cpy:5:5
          |
        5 |  05 123 PIC X.
          |     ^^^

        hint: use letters, digits, hyphens and underscores"#]],
    );
    free(
        &format!("01 A. 05 {} PIC X.", "N".repeat(64)),
        expect![[r#"
        error[COB-030]: the data name has 64 characters, at most 63 are supported
          at a.cpy:1:10
          |
        1 | 01 A. 05 NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN PIC X.
          |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: use letters, digits, hyphens and underscores"#]],
    );
}

#[test]
fn unsupported() {
    free(
        "01 A.\n 05 B OBJECT REFERENCE.\n 05 C TYPE T.\n 05 D PIC X ANY LENGTH.\n 05 E PIC 9 NATIONAL.\n78 F VALUE 1.\n 05 G PIC X VALUE B'1'.
 05 H PIC X VALUES 'A' 'B'.\n 05 I COMP-9.\n01 J CONSTANT AS 5.",
        expect![[r#"
            error[COB-031]: USAGE OBJECT REFERENCE is not supported
              at a.cpy:2:7
              |
            2 |  05 B OBJECT REFERENCE.
              |       ^^^^^^^^^^^^^^^^

            hint: an object reference means nothing outside its program; describe its bytes as `PIC X(n)`

            error[COB-031]: the TYPE clause is not supported
              at a.cpy:3:7
              |
            3 |  05 C TYPE T.
              |       ^^^^

            hint: write the description of the type where it is used

            error[COB-031]: ANY LENGTH is not supported
              at a.cpy:4:13
              |
            4 |  05 D PIC X ANY LENGTH.
              |             ^^^^^^^^^^

            hint: give the field its largest length, `PIC X(n)`

            error[COB-031]: level 78 (a named constant) is not supported
              at a.cpy:6:1
              |
            6 | 78 F VALUE 1.
              | ^^

            hint: write the constant's value where its name is used, and delete this entry

            error[COB-031]: literals with the prefix B, BX, GX or H are not supported
              at a.cpy:7:19
              |
            7 |  05 G PIC X VALUE B'1'.
              |                   ^^^^

            hint: write it as X'…' or as text

            error[COB-031]: a list of values is supported at level 88 only
              at a.cpy:8:24
              |
            8 |  05 H PIC X VALUES 'A' 'B'.
              |                        ^^^

            hint: give one value; the values of single table elements do not matter to a layout

            error[COB-031]: USAGE COMP-9 is not supported
              at a.cpy:9:7
              |
            9 |  05 I COMP-9.
              |       ^^^^^^

            hint: the usages are DISPLAY, COMP, COMP-1 to COMP-6, COMP-X, BINARY, PACKED-DECIMAL, NATIONAL, UTF-8, DISPLAY-1, INDEX, POINTER, PROCEDURE-POINTER, FUNCTION-POINTER, BINARY-CHAR to BINARY-DOUBLE, FLOAT-SHORT and FLOAT-LONG

            error[COB-031]: constants are not supported
              at a.cpy:10:6
               |
            10 | 01 J CONSTANT AS 5.
               |      ^^^^^^^^

            hint: write the constant's value where its name is used, and delete this entry"#]],
    );
}

#[test]
fn ignored() {
    free(
        "01 A.\n 05 B PIC X DATE FORMAT YYXXXX.\nREPORT SECTION.\n01 C TYPE DETAIL.\nLINKAGE SECTION.\n01 D PIC X.",
        expect![[r#"
            0    1     01 A min 1 max 1
            0    1       05 B PIC X
            0    1     01 D PIC X min 1 max 1
            warning[COB-032]: DATE FORMAT is left out: the field is read as its picture says
              at a.cpy:2:13
              |
            2 |  05 B PIC X DATE FORMAT YYXXXX.
              |             ^^^^^^^^^^^^^^^^^^

            hint: nothing to do; the clause has no effect in current compilers
            warning[COB-032]: REPORT SECTION is left out
              at a.cpy:3:1
              |
            3 | REPORT SECTION.
              | ^^^^^^

            hint: only FILE, WORKING-STORAGE, LOCAL-STORAGE and LINKAGE hold records
        "#]],
    );
    free(
        "01 A PIC X.\nEXEC SQL INCLUDE SQLCA END-EXEC.",
        expect![[r#"
            0    1     01 A PIC X min 1 max 1
            warning[COB-032]: EXEC SQL INCLUDE SQLCA is left out: the structure belongs to the SQL precompiler
              at a.cpy:2:1
              |
            2 | EXEC SQL INCLUDE SQLCA END-EXEC.
              | ^^^^^^^^^^^^^^^^^^^^^^

            hint: nothing to do unless records hold it
        "#]],
    );
}

#[test]
fn picture_findings_point_into_the_picture() {
    free(
        "01 A.\n 05 B PIC X(3)Q(2).\n 05 C PIC 9(3)S.\n 05 D PIC X(0).\n 05 E PIC 9(20)V9(20).\n 05 F PIC +9.9(3)E+99.",
        expect![[r#"
            error[COB-040]: `Q` is no picture symbol
              at a.cpy:2:15
              |
            2 |  05 B PIC X(3)Q(2).
              |               ^

            hint: the symbols are X A 9 N G U 1 S V P, and for edited items Z * + - CR DB , . B 0 / and the currency symbol

            error[COB-041]: S stands once, in front of everything else
              at a.cpy:3:15
              |
            3 |  05 C PIC 9(3)S.
              |               ^

            hint: move it to the front: `S9(5)`

            error[COB-042]: the repeat count is zero
              at a.cpy:4:13
              |
            4 |  05 D PIC X(0).
              |             ^

            hint: a repeat count is a whole number from 1 on in parentheses: `X(10)`

            error[COB-043]: the picture has 40 digit positions, at most 38 are supported
              at a.cpy:5:11
              |
            5 |  05 E PIC 9(20)V9(20).
              |           ^^^^^^^^^^^

            hint: if the field is no number, describe it as text, `PIC X(n)`

            error[COB-044]: external floating-point items (`E`) are not supported
              at a.cpy:6:18
              |
            6 |  05 F PIC +9.9(3)E+99.
              |                  ^

            hint: describe the field as text of the same length, `PIC X(n)`, and convert it behind"#]],
    );
}

#[test]
fn usage_and_picture() {
    free(
        "01 A.\n 05 B PIC X(3) COMP.\n 05 C COMP-3.\n  10 D PIC X.",
        expect![[r#"
        error[COB-050]: USAGE COMP does not go with PIC X(3)
          at a.cpy:2:16
          |
        2 |  05 B PIC X(3) COMP.
          |                ^^^^

        hint: use a numeric picture, such as `S9(5)V99`, or remove the usage

        error[COB-050]: USAGE COMP-3 (from its group) does not go with PIC X
          at a.cpy:4:8
          |
        4 |   10 D PIC X.
          |        ^^^

        hint: use a numeric picture, such as `S9(5)V99`, or remove the usage
    "#]],
    );
}

#[test]
fn clause_conflict() {
    free(
        "01 A.\n 05 B PIC 9(3) SIGN LEADING.\n 05 C JUST.\n  10 D PIC X.",
        expect![[r#"
        error[COB-051]: SIGN does not go with B (PIC 9(3))
          at a.cpy:2:16
          |
        2 |  05 B PIC 9(3) SIGN LEADING.
          |                ^^^^

        hint: it belongs to a numeric DISPLAY item with an S in its picture; remove it, or add the S

        error[COB-051]: JUSTIFIED stands on the group C
          at a.cpy:3:7
          |
        3 |  05 C JUST.
          |       ^^^^

        hint: move it to the elementary items that it is meant for
    "#]],
    );
}

#[test]
fn usage_conflict_and_value_kind() {
    free(
        "01 A COMP.\n 05 B PIC 9(3) COMP-3 VALUE 'A'.\n 88 C VALUE 1 THRU 'A'.",
        expect![[r#"
        error[COB-053]: the ends of the range are of different kinds
          at a.cpy:3:13
          |
        3 |  88 C VALUE 1 THRU 'A'.
          |             ^^^^^^^^^^

        hint: both ends of a range are numbers, or both are text"#]],
    );
    free(
        "01 A COMP.\n 05 B PIC 9(3) COMP-3 VALUE 'A'.",
        expect![[r#"
            0    2     01 A min 2 max 2
            0    2       05 B PIC 9(3) COMP-3
            warning[COB-052]: USAGE COMP-3 contradicts COMP of the group
              at a.cpy:2:16
              |
            2 |  05 B PIC 9(3) COMP-3 VALUE 'A'.
              |                ^^^^^^

            hint: the nearer one is taken; Enterprise COBOL refuses this
            warning[COB-053]: B is a number, its VALUE is not
              at a.cpy:2:23
              |
            2 |  05 B PIC 9(3) COMP-3 VALUE 'A'.
              |                       ^^^^^

            hint: the value matters only where a field is absent on encode; write one of the field's kind
        "#]],
    );
}

#[test]
fn redefines() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C REDEFINES Q PIC X.\n 05 D REDEFINES D PIC X.\n 05 E REDEFINES F PIC X.\n 05 F PIC X.\n 05 G REDEFINES B PIC X.
 05 H. 10 I REDEFINES B PIC X.\n 07 J PIC X.",
        expect![[r#"
            warning[COB-024]: level 07 does not match its sibling I, which has level 10
              at a.cpy:9:5
              |
            9 |  07 J PIC X.
              |     ^

            hint: J is taken as a field of H; give fields of one group one level number
            error[COB-060]: C redefines Q, which is not in this record
              at a.cpy:3:7
              |
            3 |  05 C REDEFINES Q PIC X.
              |       ^^^^^^^^^^^

            hint: REDEFINES stands directly behind the field it names, with the same level number, in the same group

            error[COB-061]: D redefines itself
              at a.cpy:4:7
              |
            4 |  05 D REDEFINES D PIC X.
              |       ^^^^^^^^^^^

            hint: REDEFINES stands directly behind the field it names, with the same level number, in the same group

            error[COB-061]: E redefines F, which stands behind it
              at a.cpy:5:7
              |
            5 |  05 E REDEFINES F PIC X.
              |       ^^^^^^^^^^^

            hint: REDEFINES stands directly behind the field it names, with the same level number, in the same group

            error[COB-061]: G redefines B, but F stands between them
              at a.cpy:7:7
              |
            7 |  05 G REDEFINES B PIC X.
              |       ^^^^^^^^^^^

            hint: REDEFINES stands directly behind the field it names, with the same level number, in the same group

            error[COB-061]: I redefines B, but it does not stand in the same group
              at a.cpy:8:13
              |
            8 |  05 H. 10 I REDEFINES B PIC X.
              |             ^^^^^^^^^^^

            hint: REDEFINES stands directly behind the field it names, with the same level number, in the same group
        "#]],
    );
    free(
        "01 A.\n 05 B.\n  10 C PIC X.\n 03 D REDEFINES B PIC X.",
        expect![[r#"
        warning[COB-024]: level 03 does not match its sibling B, which has level 05
          at a.cpy:4:5
          |
        4 |  03 D REDEFINES B PIC X.
          |     ^

        hint: D is taken as a field of A; give fields of one group one level number
        error[COB-061]: D has level 03, but B, which it redefines, has level 05
          at a.cpy:4:7
          |
        4 |  03 D REDEFINES B PIC X.
          |       ^^^^^^^^^^^

        hint: give both the same level number
    "#]],
    );
}

#[test]
fn redefinitions_that_are_odd() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C REDEFINES B PIC S9(9) COMP SYNC.\n 05 D PIC X.\n 05 E PIC S9(4) COMP.\n 05 F REDEFINES E PIC S9(4) COMP SYNC.
 05 G PIC X OCCURS 2.\n 05 H REDEFINES G PIC XX.\n 05 I PIC X.\n 05 J REDEFINES I PIC S9(4) COMP SYNC.",
        expect![[r#"
            0    11    01 A min 11 max 11
            0    1       05 B PIC X
            0    4       05 C = B PIC S9(9) COMP SYNC
            4    1       05 D PIC X
            5    2       05 E PIC S9(4) COMP
            5    2       05 F = E PIC S9(4) COMP SYNC
            7    1       05 G [2..2] PIC X
            7    2       05 H = G PIC XX
            9    1       05 I PIC X
            9    2       05 J = I PIC S9(4) COMP SYNC
            warning[COB-062]: C has 4 bytes, but it redefines B, which has 1
              at a.cpy:3:7
              |
            3 |  05 C REDEFINES B PIC S9(9) COMP SYNC.
              |       ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
            warning[COB-064]: F is SYNCHRONIZED, but E, which it redefines, begins at byte 5, which is no multiple of 2
              at a.cpy:6:5
              |
            6 |  05 F REDEFINES E PIC S9(4) COMP SYNC.
              |     ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
            warning[COB-063]: G, which is redefined, has an OCCURS clause
              at a.cpy:8:7
              |
            8 |  05 H REDEFINES G PIC XX.
              |       ^^^^^^^^^^^

            hint: the storage of all its occurrences is taken; Enterprise COBOL refuses this: put the table in a group and redefine that
            warning[COB-064]: J is SYNCHRONIZED, but I, which it redefines, begins at byte 9, which is no multiple of 2
              at a.cpy:10:5
               |
            10 |  05 J REDEFINES I PIC S9(4) COMP SYNC.
               |     ^

            hint: no slack is inserted in front of a redefinition; align the field that is redefined
            warning[COB-062]: J has 2 bytes, but it redefines I, which has 1
              at a.cpy:10:7
               |
            10 |  05 J REDEFINES I PIC S9(4) COMP SYNC.
               |       ^^^^^^^^^

            hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
        "#]],
    );
    free(
        "01 A.\n 05 N PIC 9.\n 05 B PIC X(5).\n 05 C REDEFINES B.\n  10 D PIC X OCCURS 0 TO 5 DEPENDING ON N.",
        expect![[r#"
            error[COB-063]: D varies in length inside C, which shares its storage by REDEFINES
              at a.cpy:5:14
              |
            5 |   10 D PIC X OCCURS 0 TO 5 DEPENDING ON N.
              |              ^^^^^^^^^^^^^

            hint: give the table a fixed number of occurrences, or describe the variants as records of their own
        "#]],
    );
}

#[test]
fn occurs() {
    free(
        "01 A.\n 05 B PIC X OCCURS 0.\n 05 C PIC X OCCURS 3 TO 2 DEPENDING ON N.\n 05 D PIC X OCCURS 1 TO 3.\n 05 E PIC X OCCURS 99999999999.
 05 F PIC X OCCURS 1 TO UNBOUNDED DEPENDING ON N.",
        expect![[r#"
            error[COB-070]: the table has no occurrence at most
              at a.cpy:2:13
              |
            2 |  05 B PIC X OCCURS 0.
              |             ^^^^^^^^

            hint: the maximum is at least 1

            error[COB-070]: the minimum 3 is above the maximum 2
              at a.cpy:3:13
              |
            3 |  05 C PIC X OCCURS 3 TO 2 DEPENDING ON N.
              |             ^^^^^^^^^^^^^

            hint: write the smaller number first: `OCCURS 0 TO 10 TIMES`

            error[COB-070]: OCCURS with a range has no DEPENDING ON
              at a.cpy:4:13
              |
            4 |  05 D PIC X OCCURS 1 TO 3.
              |             ^^^^^^^^^^^^^

            hint: name the counter, or write one number

            error[COB-070]: the number behind OCCURS is too large
              at a.cpy:5:20
              |
            5 |  05 E PIC X OCCURS 99999999999.
              |                    ^^^^^^^^^^^

            hint: write a number below 4,294,967,296

            error[COB-076]: a table without a maximum is not supported
              at a.cpy:6:25
              |
            6 |  05 F PIC X OCCURS 1 TO UNBOUNDED DEPENDING ON N.
              |                         ^^^^^^^^^

            hint: write the largest number of occurrences that a record can hold"#]],
    );
    free(
        "01 A OCCURS 3 PIC X.",
        expect![[r#"
        error[COB-071]: OCCURS stands at level 01 or 77
          at a.cpy:1:6
          |
        1 | 01 A OCCURS 3 PIC X.
          |      ^^^^^^^^

        hint: repeat a field of the record instead
    "#]],
    );
}

#[test]
fn counters() {
    free(
        "01 A.\n 05 G1. 10 N PIC 9.\n 05 G2. 10 N PIC 9.\n 05 X PIC X.\n 05 V PIC 9V9.\n 05 T OCCURS 2. 10 R PIC 9.\n 05 B PIC X OCCURS 1 TO 3 DEPENDING ON Q.
 05 C PIC X OCCURS 1 TO 3 DEPENDING ON N.\n 05 D PIC X OCCURS 1 TO 3 DEPENDING ON X.\n 05 E PIC X OCCURS 1 TO 3 DEPENDING ON V.
 05 F OCCURS 1 TO 3 DEPENDING ON I. 10 I PIC 9.\n 05 H PIC X OCCURS 1 TO 3 DEPENDING ON Z.\n 05 K PIC X OCCURS 1 TO 3 DEPENDING ON R.
 05 L PIC X OCCURS 1 TO 3 DEPENDING ON G1.\n 05 M PIC X OCCURS 1 TO 3 DEPENDING ON N OF G3.\n 05 Z PIC 9.",
        expect![[r#"
            error[COB-072]: the counter Q is not in this record
              at a.cpy:7:40
              |
            7 |  05 B PIC X OCCURS 1 TO 3 DEPENDING ON Q.
              |                                        ^

            hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it

            error[COB-073]: the counter N is ambiguous: G1.N, G2.N
              at a.cpy:8:40
              |
            8 |  05 C PIC X OCCURS 1 TO 3 DEPENDING ON N.
              |                                        ^

            hint: say which: `N OF group`

            error[COB-074]: the counter X is no whole number: PIC X
              at a.cpy:9:40
              |
            9 |  05 D PIC X OCCURS 1 TO 3 DEPENDING ON X.
              |                                        ^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-074]: the counter V is no whole number: PIC 9V9
              at a.cpy:10:40
               |
            10 |  05 E PIC X OCCURS 1 TO 3 DEPENDING ON V.
               |                                        ^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-075]: the counter I stands in the table it counts, F
              at a.cpy:11:34
               |
            11 |  05 F OCCURS 1 TO 3 DEPENDING ON I. 10 I PIC 9.
               |                                  ^

            hint: move the counter in front of the table, outside other tables

            error[COB-075]: the counter Z stands behind the table it counts, H
              at a.cpy:12:40
               |
            12 |  05 H PIC X OCCURS 1 TO 3 DEPENDING ON Z.
               |                                        ^

            hint: move the counter in front of the table, outside other tables

            error[COB-075]: the counter R repeats in T, so it is not clear which occurrence counts K
              at a.cpy:13:40
               |
            13 |  05 K PIC X OCCURS 1 TO 3 DEPENDING ON R.
               |                                        ^

            hint: move the counter in front of the table, outside other tables

            error[COB-074]: the counter G1 is no whole number: a group
              at a.cpy:14:40
               |
            14 |  05 L PIC X OCCURS 1 TO 3 DEPENDING ON G1.
               |                                        ^^

            hint: use a numeric field without V, such as `PIC 9(3)`

            error[COB-072]: the counter N OF G3 is not in this record
              at a.cpy:15:40
               |
            15 |  05 M PIC X OCCURS 1 TO 3 DEPENDING ON N OF G3.
               |                                        ^^^^^^^

            hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it
        "#]],
    );
}

#[test]
fn renames() {
    free(
        "01 A.\n 05 B PIC X.\n 05 C OCCURS 2. 10 D PIC X.\n 05 E. 10 F PIC X. 10 B PIC X.\n 05 N PIC 9.\n 05 T PIC X OCCURS 1 TO 2 DEPENDING ON N.
 66 R1 RENAMES Q.\n 66 R2 RENAMES B.\n 66 R3 RENAMES D.\n 66 R4 RENAMES F THRU E.\n 66 R5 RENAMES E THRU F.\n 66 R6 RENAMES A.
 66 R7 RENAMES N THRU T.\n 66 R8 RENAMES E THRU N.",
        expect![[r#"
            error[COB-080]: Q is not in this record
              at a.cpy:7:16
              |
            7 |  66 R1 RENAMES Q.
              |                ^

            hint: RENAMES names fields of the record in front of it

            error[COB-080]: B is ambiguous: B, E.B
              at a.cpy:8:16
              |
            8 |  66 R2 RENAMES B.
              |                ^

            hint: say which: `B OF group`

            error[COB-081]: D repeats, it cannot be renamed
              at a.cpy:9:16
              |
            9 |  66 R3 RENAMES D.
              |                ^

            hint: rename the group around the table

            error[COB-081]: E does not end behind F
              at a.cpy:10:23
               |
            10 |  66 R4 RENAMES F THRU E.
               |                       ^

            hint: the field behind THRU stands behind the first one, and not in it

            error[COB-081]: F does not end behind E
              at a.cpy:11:23
               |
            11 |  66 R5 RENAMES E THRU F.
               |                       ^

            hint: the field behind THRU stands behind the first one, and not in it

            error[COB-081]: A is the record itself, it cannot be renamed
              at a.cpy:12:16
               |
            12 |  66 R6 RENAMES A.
               |                ^

            hint: rename its fields

            error[COB-081]: T repeats, it cannot be renamed
              at a.cpy:13:23
               |
            13 |  66 R7 RENAMES N THRU T.
               |                       ^

            hint: rename the group around the table
        "#]],
    );
}

#[test]
fn limits() {
    limited(
        &Limits { record_bytes_max: 1000, ..Limits::default() },
        "01 A.\n 05 B OCCURS 4000000000.\n  10 C PIC X(500) OCCURS 4000000000.\n  10 D PIC X(1001).",
        expect![[r#"
            error[COB-042]: the picture has more than 1000 character positions (limit record_bytes_max)
              at a.cpy:4:12
              |
            4 |   10 D PIC X(1001).
              |            ^^^^^^^

            hint: check the repeat count, or raise the limit"#]],
    );
    limited(
        &Limits { record_bytes_max: 1000, ..Limits::default() },
        "01 A.\n 05 B OCCURS 4000000000.\n  10 C OCCURS 4000000000.\n   15 D PIC X(500) OCCURS 4000000000.",
        expect![[r#"
            error[COB-090]: D ends at byte 2000000000000, but a record has at most 1000 (limit record_bytes_max)
              at a.cpy:4:20
              |
            4 |    15 D PIC X(500) OCCURS 4000000000.
              |                    ^^^^^^^^^^^^^^^^^

            hint: check the OCCURS counts around it, or raise the limit
        "#]],
    );
    limited(
        &Limits { fields_max: 2, ..Limits::default() },
        "01 A.\n 05 B PIC X.\n 05 C PIC X.",
        expect![[r#"
        error[COB-091]: the copybook has more than 2 fields (limit fields_max)
          at a.cpy:3:5
          |
        3 |  05 C PIC X.
          |     ^

        hint: raise the limit, or read fewer records at once"#]],
    );
}

#[test]
fn names_twice() {
    free(
        "01 A.\n 05 B PIC X.\n 05 FILLER PIC X.\n 05 FILLER PIC X.\n 05 G. 10 B PIC X.\n 05 B PIC X.",
        expect![[r#"
            0    5     01 A min 5 max 5
            0    1       05 B PIC X
            1    1       05 FILLER PIC X
            2    1       05 FILLER PIC X
            3    1       05 G
            3    1         10 B PIC X
            4    1       05 B PIC X
            warning[COB-092]: B is the name of two fields of one group, the other is in line 2
              at a.cpy:6:5
              |
            6 |  05 B PIC X.
              |     ^

            hint: rename one of them: a reference to either is ambiguous
        "#]],
    );
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
    let tests = include_str!("finding_tests.rs");
    let documents = include_str!("../../../../docs/errors/cobol.md");
    for code in codes::ALL {
        assert!(tests.contains(&format!("[{code}]")), "{code} has no rendered finding");
        assert!(documents.contains(&format!("| {code} |")), "{code} is not in docs/errors/cobol.md");
    }
    for line in documents.lines().filter_map(|l| l.strip_prefix("| COB-")) {
        let code = format!("COB-{}", line.split(' ').next().unwrap_or(""));
        assert!(codes::ALL.iter().any(|c| c.0 == code), "{code} is explained, but never found");
    }
}
