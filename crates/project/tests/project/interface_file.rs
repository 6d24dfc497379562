use expect_test::{Expect, expect};
use quayline_project::InterfaceFile;

#[expect(clippy::needless_pass_by_value, reason = "inline expectations are written in place")]
fn check(text: &str, expected: Expect) {
    let shown = match InterfaceFile::parse("car.toml", text) {
        Ok(file) => match &file.records {
            Some(records) => {
                let mut records = records.clone();
                records.place = Default::default();
                records.types.iter_mut().for_each(|t| t.place = Default::default());
                format!("{records:?}\n")
            }
            None => {
                let i = &file.interface;
                let mut lines = format!("{:?} {:?} {:?} {:?}\n", i.wrapper, i.key_style, i.fillers, i.redefines);
                for rule in &i.fields {
                    lines += &format!("{}: {:?} {:?} {:?}\n", rule.field, rule.include, rule.rename, rule.default);
                }
                for choice in &i.choices {
                    lines += &format!("{choice:?}\n");
                }
                lines
            }
        },
        Err(findings) => format!("{findings}\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn an_empty_file_is_the_default() {
    check(
        "",
        expect![[r#"
        None Cobol Drop All
    "#]],
    );
    assert_eq!(InterfaceFile::parse("a", "").expect("parses").interface, InterfaceFile::default().interface);
}

#[test]
fn tables_and_field_entries_make_one_rule_a_field() {
    check(
        r#"
wrapper = "CAR100CP"
key-style = "underscore"
redefines = "original"
exclude = ["REQ-BLOCK", "carmodel-dealers"]
[rename]
"CARMODEL-1-REF" = "Ref"
[default]
"REQ-CAR-MODEL" = "ASTRAL"
"REQ-MAX" = 1_00
RATE = -12.50
[[field]]
name = "REQ-MAX"
rename = "max"
include = true
"#,
        expect![[r#"
            Some("CAR100CP") Underscore Drop Original
            REQ-BLOCK: Some(false) None None
            CARMODEL-DEALERS: Some(false) None None
            CARMODEL-1-REF: None Some("Ref") None
            RATE: None None Some("-12.50")
            REQ-CAR-MODEL: None None Some("ASTRAL")
            REQ-MAX: Some(true) Some("max") Some("100")
        "#]],
    );
}

#[test]
fn choices_gather_the_values_of_a_view() {
    check(
        r#"
[[choose]]
storage = "ADDRESS"
by = "KIND"
when = { "P" = "BOX", "S" = "STREET", "Q " = "BOX" }
otherwise = "ADDRESS"
"#,
        expect![[r#"
            None Cobol Drop All
            RedefinesChoice { storage: "ADDRESS", by: "KIND", cases: [(["P", "Q"], "BOX"), (["S"], "STREET")], otherwise: Some("ADDRESS") }
        "#]],
    );
}

#[test]
fn record_types_nest_and_skip() {
    check(
        r#"
[records]
by = "REC-TYPE"
skip-first = 1
otherwise = "skip"
[[records.type]]
record = "CUSTOMER"
value = "C"
[[records.type]]
record = "ITEM"
view = "ITEM-B"
values = ["O", 7]
parent = "customer"
by = { offset = 3, length = 1 }
[[records.type]]
skip = true
value = "T"
"#,
        expect![[r#"
            RecordRules { by: Some(Field("REC-TYPE")), skip_first: 1, skip_last: 0, otherwise: Skip, types: [RecordType { uses: Record { record: "CUSTOMER", view: None, rename: None, parent: None }, by: None, values: ["C"], place: Place { file: None, line: None, column: None, width: None, line_text: None, record: None, byte: None, path: None, detail: None, parts: [] } }, RecordType { uses: Record { record: "ITEM", view: Some("ITEM-B"), rename: None, parent: Some(0) }, by: Some(Bytes { offset: 3, length: 1 }), values: ["O", "7"], place: Place { file: None, line: None, column: None, width: None, line_text: None, record: None, byte: None, path: None, detail: None, parts: [] } }, RecordType { uses: Skip, by: None, values: ["T"], place: Place { file: None, line: None, column: None, width: None, line_text: None, record: None, byte: None, path: None, detail: None, parts: [] } }], place: Place { file: None, line: None, column: None, width: None, line_text: None, record: None, byte: None, path: None, detail: None, parts: [] } }
        "#]],
    );
}

#[test]
fn a_misspelt_key_is_an_error() {
    check(
        "wrapper = \"A\"\nexlude = [\"B\"]\n",
        expect![[r#"
            error[PRJ-001]: unknown field `exlude`, expected one of `wrapper`, `key-style`, `prefix`, `fillers`, `redefines`, `include`, `exclude`, `rename`, `default`, `field`, `choose`, `records`, `skip-bytes-first`, `skip-bytes-last`, `record-number`, `parent-number`, `source-file`
              at car.toml:2:1
              |
            2 | exlude = ["B"]
              | ^^^^^^

            hint: docs/reference/interface.md shows every key of an interface file
        "#]],
    );
}

#[test]
fn a_wrong_type_is_an_error() {
    check(
        "fillers = \"dropped\"\n",
        expect![[r#"
        error[PRJ-001]: unknown variant `dropped`, expected `drop` or `keep`
          at car.toml:1:11
          |
        1 | fillers = "dropped"
          |           ^^^^^^^^^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]],
    );
    check(
        "exclude = \"A\"\n",
        expect![[r#"
        error[PRJ-001]: invalid type: string "A", expected a list
          at car.toml:1:11
          |
        1 | exclude = "A"
          |           ^^^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]],
    );
    check(
        "[default]\nA = [1]\n",
        expect![[r#"
        error[PRJ-001]: expected a string, a number, true or false
          at car.toml:2:5
          |
        2 | A = [1]
          |     ^^^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]],
    );
}

#[test]
fn broken_toml_is_one_finding() {
    check(
        "wrapper = \"A\n",
        expect![[r#"
        error[PRJ-001]: invalid basic string, expected `"`
          at car.toml:1:13
          |
        1 | wrapper = "A
          |             ^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]],
    );
}

#[test]
fn all_findings_come_at_once() {
    check(
        r#"
exclude = ["A", ""]
include = ["A"]
[rename]
B = ""
[[choose]]
storage = "S"
by = "K"
"#,
        expect![[r#"
            error[PRJ-002]: `A` has two rules for `include`
              at car.toml:2:12
              |
            2 | exclude = ["A", ""]
              |            ^^^

            hint: keep one of them

            error[PRJ-003]: a field's name is empty
              at car.toml:2:17
              |
            2 | exclude = ["A", ""]
              |                 ^^

            hint: write a COBOL name or names joined by points

            error[PRJ-003]: a key is empty
              at car.toml:5:5
              |
            5 | B = ""
              |     ^^

            hint: write at least one character

            error[PRJ-004]: `[[choose]]` has no cases
              at car.toml:6:1
              |
            6 | [[choose]]
              | ^^^^^^^^^^

            hint: name values and views: when = { "A" = "VIEW-A", "B" = "VIEW-B" }
        "#]],
    );
}

#[test]
fn record_types_that_cannot_be_told_apart_are_errors() {
    check(
        r#"
[records]
otherwise = "NOPE"
[[records.type]]
record = "A"
value = "1"
[[records.type]]
record = "B"
values = ["1"]
parent = "C"
[[records.type]]
value = "3"
"#,
        expect![[r#"
            error[PRJ-004]: nothing distinguishes records of this type from others
              at car.toml:4:1
              |
            4 | [[records.type]]
              | ^^^^^^^^^^^^^^^^

            hint: add `by = "FIELD"` to [records] or to the type

            error[PRJ-004]: nothing distinguishes records of this type from others
              at car.toml:7:1
              |
            7 | [[records.type]]
              | ^^^^^^^^^^^^^^^^

            hint: add `by = "FIELD"` to [records] or to the type

            error[PRJ-006]: this value already identifies an earlier type
              at car.toml:9:11
              |
            9 | values = ["1"]
              |           ^^^

            hint: give each type values of its own

            error[PRJ-005]: no record type before this one is named `C`
              at car.toml:10:10
               |
            10 | parent = "C"
               |          ^^^

            hint: name a record type above this one; parents come first

            error[PRJ-004]: nothing distinguishes records of this type from others
              at car.toml:11:1
               |
            11 | [[records.type]]
               | ^^^^^^^^^^^^^^^^

            hint: add `by = "FIELD"` to [records] or to the type

            error[PRJ-004]: a record type needs `record` or `skip = true`
              at car.toml:11:1
               |
            11 | [[records.type]]
               | ^^^^^^^^^^^^^^^^

            hint: a type is either a record, `record = "NAME"`, or left out, `skip = true`

            error[PRJ-005]: no [[records.type]] is named `NOPE`
              at car.toml:3:13
              |
            3 | otherwise = "NOPE"
              |             ^^^^^^

            hint: write "reject", "skip" or the name of a record type of this file
        "#]],
    );
    check(
        "[records]\nby = 5\n",
        expect![[r#"
        error[PRJ-001]: expected a field's name or { offset = …, length = … }
          at car.toml:2:6
          |
        2 | by = 5
          |      ^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]],
    );
}

#[test]
fn names_keep_their_places() {
    let file = InterfaceFile::parse("car.toml", "exclude = [\n  \"ä-b\",\n]\n").expect("parses");
    let place = file.place_of("Ä-B").expect("named");
    assert_eq!((place.line, place.column, place.width), (Some(2), Some(3), Some(5)));
    assert_eq!(file.place_of("C"), None);
}
