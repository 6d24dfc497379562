//! Entries and their clauses.

use expect_test::expect;

use super::*;

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
            warning[COB-022]: the entry has no period at its end; one is assumed here
              at a.cpy:1:4
              |
            1 | 01 A
              |    ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period at its end; one is assumed here
              at a.cpy:2:12
              |
            2 |   05 B PIC X
              |            ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period at its end; one is assumed here
              at a.cpy:3:23
              |
            3 |   05 C PIC 9(3) VALUE 5
              |                       ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period at its end; one is assumed here
              at a.cpy:5:6
              |
            5 |      3
              |      ^

            hint: end the entry with a period
            warning[COB-022]: the entry has no period at its end; one is assumed here
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
            error[COB-023]: 50 is not a level number
              at a.cpy:2:3
              |
            2 |   50 B PIC X.
              |   ^^

            hint: levels are 01 to 49, 66, 77 and 88

            error[COB-023]: 00 is not a level number
              at a.cpy:3:3
              |
            3 |   00 C PIC X.
              |   ^^

            hint: levels are 01 to 49, 66, 77 and 88

            error[COB-023]: 123456 is not a level number
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
        error[COB-024]: level 05 follows a level 77, which has no fields
          at a.cpy:2:6
          |
        2 |   05 B PIC X.
          |      ^

        hint: make the level 77 a level 01, or begin a record with a level 01 here

        error[COB-024]: F follows a level 66 of its record
          at a.cpy:3:38
          |
        3 | 01 C. 05 D PIC X. 66 E RENAMES D. 05 F PIC X.
          |                                      ^

        hint: move E after all other entries of the record"#]],
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

        hint: move it after the entry whose values it names

        error[COB-025]: this level 66 has no record in front of it
          at a.cpy:2:4
          |
        2 | 66 B RENAMES C.
          |    ^

        hint: move it after the record whose fields it renames

        error[COB-025]: this level 88 has no field in front of it
          at a.cpy:3:38
          |
        3 | 01 R. 05 D PIC X. 66 E RENAMES D. 88 F VALUE 'X'.
          |                                      ^

        hint: move it after the entry whose values it names"#]],
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
        error[COB-030]: `$` is not valid in a data name
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

            error[COB-031]: numbers in national characters are not supported
              at a.cpy:5:7
              |
            5 |  05 E PIC 9 NATIONAL.
              |       ^^^

            hint: describe it as national text, `PIC N(n)`

            error[COB-031]: level 78 (a named constant) is not supported
              at a.cpy:6:1
              |
            6 | 78 F VALUE 1.
              | ^^

            hint: write the constant's value where its name is used, and delete this entry

            error[COB-031]: literals with the prefix B, BX or H are not supported
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
            error[COB-040]: `Q` is not a picture symbol
              at a.cpy:2:15
              |
            2 |  05 B PIC X(3)Q(2).
              |               ^

            hint: the symbols are X A 9 N G U 1 S V P, and for edited items Z * + - CR DB , . B 0 / and the currency symbol

            error[COB-041]: write S once, before everything else
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

            hint: if the field is not a number, describe it as text, `PIC X(n)`

            error[COB-044]: external floating-point items (`E`) are not supported
              at a.cpy:6:18
              |
            6 |  05 F PIC +9.9(3)E+99.
              |                  ^

            hint: describe the field as text of the same length, `PIC X(n)`, and convert it later"#]],
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

        hint: it belongs to a numeric DISPLAY item with an S in its picture; add the S, because SEPARATE takes a byte of the record, or give the item its right USAGE

        error[COB-051]: JUSTIFIED is on the group C
          at a.cpy:3:7
          |
        3 |  05 C JUST.
          |       ^^^^

        hint: move it to the elementary items that it is meant for
    "#]],
    );
}

#[test]
fn value_of_a_double_byte_item() {
    free(
        "01 A PIC G(2) USAGE DISPLAY-1 VALUE G'あ'.",
        expect![[r#"
        0    4     01 A PIC G(2) DISPLAY-1 min 4 max 4
        warning[COB-054]: the VALUE of A has double-byte characters whose bytes are not known
          at a.cpy:1:31
          |
        1 | 01 A PIC G(2) USAGE DISPLAY-1 VALUE G'あ'.
          |                               ^^^^^

        hint: Quayline writes spaces for an absent field: write the bytes as VALUE GX'…', or give the field a default in the interface
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
