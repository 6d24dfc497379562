use expect_test::{Expect, expect};

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
            Lines(LineSpec { end: Lf, carriage_return: Keep }) true
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
            Lines(LineSpec { end: Lf, carriage_return: Keep }) true
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
        Error SHP-009 orders.toml:2:1: unknown field `foo`, expected one of `layout`, `name`, `delimiter`, `header`, `line-end`, `quotes`, `encoding`, `framing`, `copybook`, `record-name`, `interface`, `dialect`, `field`, `key`, `record` (docs/reference/layouts.md has every key of a layout file)
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
        Error SHP-003 a.shape:5:3: `money` is no type (types are text, text(n), decimal(digits, scale), unsigned(digits, scale), float, float32, bool, bytes)
        Error SHP-003 a.shape:6:3: `*x` is not a valid count (write `name`, `name?`, `name*` or `name*1..5`)
        Error SHP-003 a.shape:3:5: a node inside of a field (a node with a type holds a value; leave the type out to make it a group)
        Error SHP-003 a.shape:4:3: `a` occurs here twice (names are unique in their group; what repeats is a list: `name*`)
        Error SHP-003 a.shape:7:1: a second node without a group around it (indent it: the first line is the document, all others lie inside)
    "#]].assert_eq(&load("a.shape", &[("a.shape", "order\n  a text\n    b text\n  a text\n  c money\n  d*x text\nother\n")]));
    expect![[r#"
        Error SHP-002 a.docx: the name does not say what describes the shape (it ends in .guide, .cpy, .toml (a layout), .json (JSON Schema), .xsd or .shape (an outline))
    "#]].assert_eq(&load("a.docx", &[("a.docx", "")]));
    expect![[r#"
        Error SHP-001 gone.shape: cannot be read: no such file or directory (check the path; paths in a map are seen from the map's folder)
    "#]].assert_eq(&load("gone.shape", &[]));
}
