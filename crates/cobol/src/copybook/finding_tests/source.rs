//! Source text, COPY and REPLACE.

use expect_test::expect;

use super::*;

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

        warning[COB-022]: the entry has no period at its end; one is assumed here
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
        error[COB-002]: the continuation of the literal does not start with `'`
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
        error[COB-003]: column 7 holds `Q`, which is not an indicator
          at a.cpy:1:7
          |
        1 |       Q01 A PIC X.
          |       ^

        hint: column 7 holds a blank, `*`, `/`, `-` or `D`; if the text is in free form, add `--source-format free`"#]],
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

            warning[COB-004]: a word runs past column 72; text from column 73 on is ignored
              at a.cpy:2:73
              |
            2 |            05 A-FIELD-WITH-A-RATHER-LONG-NAME            PIC X(10) JUSTIFIED RIGHT.
              |                                                                         ^

            hint: move the text to the left, or if the text is in free form, add `--source-format free`"#]],
    );
}

#[test]
fn source_too_large() {
    limited(
        &Limits { copybook_bytes_max: 10, ..Limits::default() },
        "01 A PIC X(10).",
        expect![[r#"
            error[COB-005]: a.cpy has 15 bytes, more than a copybook may have: 10

            hint: name the copybook itself: a record description has far less text; or allow more with `--limit copybook-bytes=N`"#]],
    );
    let library = library(&[("M", "05 B PIC X(20).")]);
    let limits = Limits { copybook_bytes_max: 20, ..Limits::default() };
    let options = ParseOptions { library: &library, limits: &limits, format: Format::Free, ..ParseOptions::default() };
    expect![[r#"
        error[COB-005]: the copybook with everything it copies is longer than 20 bytes
          at a.cpy:1:7
          |
        1 | 01 A. COPY M.
          |       ^^^^^^

        hint: copy less: look for a member that is copied again and again, or allow more with `--limit copybook-bytes=N`"#]]
    .assert_eq(&shown("01 A. COPY M.", &options));
    let limits = Limits { copybook_bytes_max: 40, ..Limits::default() };
    let options =
        ParseOptions { limits: &limits, replacing: Some("==B== BY ==BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB=="), ..options };
    expect![[r#"
        error[COB-005]: the copybook after REPLACING is longer than 40 bytes
          at replacing:1:1
          |
        1 | ==B== BY ==BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB==
          | ^

        hint: replace less: look for a replacement that grows each time, or allow more with `--limit copybook-bytes=N`"#]]
    .assert_eq(&shown("01 A. 05 B PIC X.", &options));
    limited(
        &Limits { findings_max: 1, ..Limits::default() },
        "01 A PIC Q. 01 B PIC Q. 01 C PIC Q.",
        expect![[r#"
            error[COB-040]: `Q` is not a picture symbol
              at a.cpy:1:10
              |
            1 | 01 A PIC Q. 01 B PIC Q. 01 C PIC Q.
              |          ^

            hint: the symbols are X A 9 N G U 1 S V P, and for edited items Z * + - CR DB , . B 0 / and the currency symbol

            error[COB-005]: 2 more errors are not shown; `--limit findings=N` shows more"#]],
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
        error[COB-012]: COPY is nested deeper than 1
          at M:1:13 (copied at a.cpy:1)
          |
        1 | 05 B PIC X. COPY N.
          |             ^^^^^^

        hint: look for a member that copies itself, or allow more with `--limit copy-depth=N`"#]]
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

            hint: name its text with `--replacing :TAG:=CUST`, or read it through a copybook of one line, `COPY a REPLACING ==:TAG:== BY ==CUST==.`

            error[COB-015]: `X-:TAG:` holds a placeholder that was not replaced
              at a.cpy:2:5
              |
            2 |  05 X-:TAG: PIC X(:LEN:).
              |     ^^^^^^^

            hint: name its text with `--replacing :TAG:=CUST`, or read it through a copybook of one line, `COPY a REPLACING ==:TAG:== BY ==CUST==.`

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
    impl crate::copybook::CopyLibrary for Broken {
        fn member(&self, member: &str, _: Option<&str>) -> Result<SourceText, crate::copybook::CopyError> {
            Err(crate::copybook::CopyError::Unreadable {
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
