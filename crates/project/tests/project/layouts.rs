use expect_test::{Expect, expect};
use quayline_project::{ShapeFile, ShapeOptions, outline_of, parse_outline};

use crate::loading::load;

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check(layout: &str, expect: Expect) {
    expect.assert_eq(&load("orders.toml", &[("orders.toml", layout), ("orders.cpy", COPYBOOK)]));
}

const COPYBOOK: &str = "\
       01 ORDER-REC.
          05 ORDER-NO PIC X(12).
          05 AMOUNT PIC S9(7)V99 COMP-3.
       01 LINE-REC.
          05 ITEM PIC X(5).
";

#[test]
fn columns_of_csv() {
    check(
        r#"
layout = "csv"
delimiter = ";"
[[field]]
name = "order"
length = 12
required = true
[[field]]
name = "amount"
type = "decimal"
digits = 9
decimals = 2
"#,
        expect![[r#"
            orders
              order text(12)
              amount? decimal(9,2)
            CsvStyle { delimiter: 59, quotes: Needed, header: Present, line_end: Lf, empty: Absent }
        "#]],
    );
}

#[test]
fn fixed_fields() {
    check(
        r#"
layout = "fixed"
encoding = "ascii"
[[field]]
name = "order no"
length = 12
[[field]]
name = "amount"
start = 15
length = 10
type = "decimal"
decimals = 2
point = "written"
[[field]]
name = "count"
length = 4
type = "integer"
sign = "leading"
"#,
        expect![[r#"
            R1
              'order no' text(12)
              amount decimal(8,2)
              count decimal(3)
            Lines(LineSpec { end: Lf, carriage_return: Strip }) true
        "#]],
    );
}

#[test]
fn fixed_fields_of_several_kinds() {
    check(
        r#"
layout = "fixed"
encoding = "ascii"
key = { start = 1, length = 1 }
[[record]]
name = "head"
value = "H"
[[record.field]]
name = "kind"
length = 1
[[record.field]]
name = "order"
length = 8
[[record]]
name = "lines"
value = "L"
parent = "head"
[[record.field]]
name = "kind"
length = 1
[[record.field]]
name = "quantity"
length = 6
type = "integer"
"#,
        expect![[r#"
            RECORD
              head?
                kind text(1)
                order text(8)
                lines*
                  kind text(1)
                  quantity unsigned(6)
            Lines(LineSpec { end: Lf, carriage_return: Strip }) true
        "#]],
    );
}

#[test]
fn records_of_a_copybook() {
    check(
        "layout = \"record\"\ncopybook = \"orders.cpy\"\nrecord-name = \"order-rec\"\nencoding = \"cp037\"\nframing = \"rdw\"\n",
        expect![[r#"
        ORDER-REC
          ORDER-NO text(12)
          AMOUNT decimal(9,2)
        Rdw(RdwSpec { header: TwoReserved, order: Big, counts: Whole, adjustment: 0, reserved: Zero, length_max: 32760 }) true
    "#]],
    );
    expect![[r#"
        LINE-REC
          ITEM text(5)
        Fixed { length: 5 } false
    "#]]
    .assert_eq(&load("orders.cpy#LINE-REC", &[("orders.cpy", COPYBOOK)]));
    expect![[r#"
        Error SHP-004 orders.cpy: the copybook describes 2 records and one is needed (name one after the file: "orders.cpy#RECORD", of ORDER-REC, LINE-REC; or all by a layout file)
    "#]].assert_eq(&load("orders.cpy", &[("orders.cpy", COPYBOOK)]));
}

#[test]
fn what_is_wrong_with_a_layout() {
    check(
        "layout = \"csv\"\nfoo = 1\n",
        expect![[r#"
            Error SHP-009 orders.toml:2:1: unknown field `foo`, expected one of `layout`, `name`, `delimiter`, `header`, `line-end`, `quotes`, `encoding`, `framing`, `copybook`, `record-name`, `interface`, `dialect`, `short`, `long`, `blank`, `low-values`, `invalid`, `field`, `key`, `group-by`, `key-order`, `record` (docs/reference/layouts.md has every key of a layout file)
        "#]],
    );
    check(
        "layout = \"csv\"\ncopybook = \"a.cpy\"\n",
        expect![[r#"
        Error SHP-009 orders.toml:1:10: `copybook` says nothing of a layout of kind csv (leave it out, or name another kind)
    "#]],
    );
    check(
        "layout = \"fixed\"\n[[field]]\nname = \"a\"\n[[field]]\nname = \"b\"\nlength = 3\ntype = \"bool\"\n",
        expect![[r#"
        Error SHP-009 orders.toml:3:8: `a` has no length (say how many characters it has: length = 9)
        Error SHP-009 orders.toml:5:8: `b` cannot be such a field (fixed fields are text, decimal or integer; decimals, point and sign are for numbers)
    "#]],
    );
    check(
        "layout = \"fixed\"\n[[field]]\nname = \"a\"\nlength = 3\n[[field]]\nname = \"a\"\nstart = 2\nlength = 3\n",
        expect![[r#"
        Error SHP-009 orders.toml:6:8: two fields `a` (names of fields are unique in their record)
        Error SHP-009 orders.toml:6:8: `a` begins at column 2, and the field before it ends at 3 (columns count from 1, and fields are in order)
    "#]],
    );
    check(
        "layout = \"record\"\ncopybook = \"gone.cpy\"\n",
        expect![[r#"
        Error SHP-001 gone.cpy: the copybook cannot be read: no such file or directory (check the path)
    "#]],
    );
}

/// The outline of a picture with `P` could not be read again.
#[test]
fn the_outline_of_a_copybook_is_read_again() {
    let copybook =
        "       01 R.\n           05 A PIC 9(4)P.\n           05 B PIC SPP9 COMP-3.\n           05 C PIC X(3).\n";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("r.cpy"), copybook).expect("a file");
    let loaded = ShapeFile::load(folder.path(), "r.cpy", &ShapeOptions::default()).expect("a shape");
    let outline = outline_of(loaded.shape());
    expect![[r#"
        R
          A unsigned(4,-1)
          B decimal(1,3)
          C text(3)
    "#]]
    .assert_eq(&outline);
    let again = parse_outline("r.shape", &outline).unwrap_or_else(|findings| panic!("{findings}"));
    assert_eq!(outline_of(&again), outline);
    for wrong in ["text(-1)", "bytes(-1)", "decimal(-1)", "decimal(4,-39)", "decimal(4,39)"] {
        assert!(parse_outline("r.shape", &format!("r\n  a {wrong}\n")).is_err(), "{wrong}");
    }
}

#[test]
fn outlines() {
    let outline = "order\n  # a comment\n  number text(22)\n  'ship to'?\n    name text\n  lines*1..5\n    quantity decimal(9,3)\n    notes* text(80)\n";
    expect![[r#"
        order
          number text(22)
          'ship to'?
            name text
          lines*1..5
            quantity decimal(9,3)
            notes* text(80)
    "#]]
    .assert_eq(&load("a.shape", &[("a.shape", outline)]));
    expect![[r#"
        Error SHP-003 a.shape:5:3: `money` is not a type (types are text, text(n), decimal(digits, scale), unsigned(digits, scale), float, float32, bool, bytes)
        Error SHP-003 a.shape:6:3: `*x` is not a valid count (write `name`, `name?`, `name*` or `name*1..5`)
        Error SHP-003 a.shape:3:5: a node inside of a field (a node with a type holds a value; leave the type out to make it a group)
        Error SHP-003 a.shape:4:3: `a` occurs here twice (names are unique in their group; what repeats is a list: `name*`)
        Error SHP-003 a.shape:7:1: a second node without a group around it (indent it: the first line is the document, all others lie inside)
    "#]].assert_eq(&load("a.shape", &[("a.shape", "order\n  a text\n    b text\n  a text\n  c money\n  d*x text\nother\n")]));
    expect![[r#"
        Error SHP-002 a.docx: the name does not say what describes the shape (it ends in .guide, .cpy, .toml (a layout), .json (JSON Schema), .xsd or .shape (an outline), or is a built-in guide: builtin:NAME)
    "#]].assert_eq(&load("a.docx", &[("a.docx", "")]));
    expect![[r#"
        Error SHP-001 gone.shape: cannot be read: no such file or directory (check the path; paths in a map are relative to the map's folder)
    "#]].assert_eq(&load("gone.shape", &[]));
}

#[test]
fn rows_with_equal_keys_are_one_document() {
    check(
        r#"
layout = "csv"
group-by = ["order"]
key-order = "ascending"
[[field]]
name = "sku"
list = "lines"
[[field]]
name = "order"
required = true
"#,
        expect![[r#"
            orders
              order text
              lines*1..
                sku? text
            CsvStyle { delimiter: 44, quotes: Needed, header: Present, line_end: Lf, empty: Absent }
        "#]],
    );
    check(
        r#"
layout = "csv"
group-by = ["nothing", "sku"]
[[field]]
name = "sku"
list = "lines"
[[field]]
name = "text"
list = "texts"
[[field]]
name = "lines"
"#,
        expect![[r#"
            Error SHP-009 orders.toml:3:12: the key `nothing` is not a field (keys are fields that all rows of a document have)
            Error SHP-009 orders.toml:3:12: the key `sku` is a field of the list (keys are fields that all rows of a document have)
            Error SHP-009 orders.toml:9:8: a second list `texts` (each row is one occurrence of one list)
            Error SHP-009 orders.toml:6:8: the list cannot have the name `lines` (name it as no field is named)
        "#]],
    );
    check(
        "layout = \"csv\"\n[[field]]\nname = \"sku\"\nlist = \"lines\"\n",
        expect![[r#"
        Error SHP-009 orders.toml:4:8: `list` is for CSV layouts with `group-by` (name the fields that separate documents: group-by = ["order"])
    "#]],
    );
}

#[test]
fn rows_of_several_kinds() {
    let record = |name: &str, rest: &str| {
        format!(
            "[[record]]\nname = \"{name}\"\n{rest}\n[[record.field]]\nname = \"kind\"\n[[record.field]]\nname = \"x\"\n"
        )
    };
    let head = record("head", "value = \"H\"");
    let lines = record("lines", "value = \"L\"\nparent = \"head\"");
    check(
        &format!("layout = \"csv\"\n{head}{lines}"),
        expect![[r#"
        orders
          head?
            kind? text
            x? text
            lines*
              kind? text
              x? text
        CsvStyle { delimiter: 44, quotes: Needed, header: Absent, line_end: Lf, empty: Absent }
    "#]],
    );
    let wrong = record("lines", "parent = \"nobody\"");
    let key = "key = { start = 1, length = 1 }";
    check(
        &format!("layout = \"csv\"\nheader = true\n{key}\n{head}{head}{wrong}"),
        expect![[r#"
        Error SHP-009 orders.toml:1:10: rows of several kinds have no header (leave `header` out)
        Error SHP-009 orders.toml:3:7: the key of rows is a column, counted from 1 (say key = { column = 1 }, which is also the default)
        Error SHP-009 orders.toml:20:10: there is no record `nobody` above (describe it before its parts)
        Error SHP-009 orders.toml:5:8: two records `head` (names of records are unique)
        Error SHP-009 orders.toml:12:8: two kinds of row have the value `H` (give each kind values of its own)
        Error SHP-009 orders.toml:12:8: two records `head` (names of records are unique)
        Error SHP-009 orders.toml:19:8: `lines` has no value, or no field for the cell 1 that holds it (say what its key holds: value = "H", and its [[record.field]])
    "#]],
    );
}

/// Dates in the wrong format are reported before the map runs.
#[test]
fn maps_are_checked_by_dates_of_their_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let layout = "layout = \"parquet\"\n[[field]]\nname = \"day\"\ntype = \"date\"\n[[field]]\nname = \"id\"\n";
    std::fs::write(folder.path().join("rows.toml"), layout).expect("written");
    std::fs::write(folder.path().join("in.shape"), "order\n  number text(10)\n  day text(8)\n").expect("written");
    let warnings = |value: &str| {
        let map = format!("map \"m\"\nsource \"in.shape\"\ntarget rows \"rows.toml\"\nday = {value}\nid = number\n");
        std::fs::write(folder.path().join("m.qmap"), map).expect("written");
        let options = quayline_project::ShapeOptions::default();
        let opened = quayline_project::MapFile::open(&folder.path().join("m.qmap"), &options, &options);
        let findings = opened.unwrap_or_else(|findings| panic!("{findings}")).findings;
        findings.iter().map(|finding| finding.code.0).collect::<Vec<_>>()
    };
    assert_eq!(warnings("format(date(day, \"CCYYMMDD\"), \"YYYY-MM-DD\")"), [""; 0]);
    assert_eq!(warnings("format(date(day, \"CCYYMMDD\"), \"DD.MM.YYYY\")"), ["MAP-066"]);
    assert_eq!(warnings("\"2026-02-29\""), ["MAP-066"]);
}

/// Regression: the name of a record in a layout had no effect if its interface file has [records].
#[test]
fn the_name_of_a_record_and_types_of_records_exclude_each_other() {
    let layout = "layout = \"record\"\ncopybook = \"orders.cpy\"\ninterface = \"types.toml\"\nencoding = \"ascii\"\nframing = \"lines\"\n";
    let named = format!("{layout}record-name = \"ORDER-REC\"\n");
    let types = "[records]\nby = { offset = 0, length = 1 }\n[[records.type]]\nrecord = \"LINE-REC\"\nvalue = \"L\"\n";
    let shown = |reference: &str, layout: &str| {
        load(reference, &[("a.toml", layout), ("orders.cpy", COPYBOOK), ("types.toml", types)])
    };
    assert!(shown("a.toml", layout).contains("ITEM text(5)"), "{}", shown("a.toml", layout));
    expect![[r##"
        Error SHP-009 a.toml:3:13: `record-name` names the record ORDER-REC, and [records] of the interface file names all records (leave out the name of the record, or name an interface file without [records])
        Error SHP-009 a.toml:3:13: `#ORDER-REC` names a record, and [records] of the interface file names all records (leave out the name of the record, or name an interface file without [records])
    "##]]
    .assert_eq(&format!("{}{}", shown("a.toml", &named), shown("a.toml#ORDER-REC", layout)));
}

/// Regression: a finding about the copybook that Quayline makes from a fixed layout had a line of the copybook as its place in the layout.
#[test]
fn findings_of_fixed_fields_are_in_the_layout() {
    check(
        "layout = \"fixed\"\nencoding = \"ascii\"\n[[field]]\nname = \"a\"\nlength = 1\n[[field]]\nname = \"big\"\nlength = 99999999\nstart = 9\n",
        expect![[r#"
            Error COB-042 orders.toml:7:8: the picture has more than 16777216 character positions (check the repeat count, or allow more with `--limit record-bytes=N`)
        "#]],
    );
}
