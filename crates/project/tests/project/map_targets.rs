//! Maps checked by what copybooks, layouts and guides know about leaves: initial values, counters, forms of dates.

use expect_test::{Expect, expect};
use quayline_map::{Ends, propose};
use quayline_project::{MapFile, MapTarget, ShapeFile, ShapeOptions, ShapeRules};

const GUIDE: &str = "guide 850
standard X12
version 005010
transaction 850 group PO
element 67 DT 8 \"Ord date\"
element 68 DT 6 \"Short date\"
element 69 DT 6..8 \"Other date\"
element 70 AN 1..22 \"Ord number\"
element 72 AN 1..22 \"Lin sku\"
element 73 R 1..9 \"Lin quantity\"
element 71 R 1..9 \"Line count\"
segment BEG
  70 M
  67 M
  68 M
  69 M
segment PO1
  72 M
  73 M
segment CTT
  71 M
structure
  segment BEG M 1
  loop PO1 M 50
    segment PO1 M 1
  segment CTT M 1
";

const COPYBOOK: &str = "       01 ORD.
           05 ORD-NUMBER       PIC X(22).
           05 ORD-DATE         PIC 9(8).
           05 ORD-VERSION      PIC X(2) VALUE '01'.
           05 ORD-STATE        PIC X(1).
           05 ORD-SHIP         PIC X(10).
           05 ORD-SHIP-PARTS REDEFINES ORD-SHIP.
              10 SHIP-CODE     PIC X(4).
              10 SHIP-REST     PIC X(6).
           05 FILLER           PIC X(3).
           05 BUYER.
              10 BUYER-ID      PIC X(10).
              10 BUYER-NAME    PIC X(20).
           05 LINE-COUNT       PIC 9(4) COMP.
           05 ORD-LINES OCCURS 1 TO 50 TIMES DEPENDING ON LINE-COUNT.
              10 LIN-SKU       PIC X(22).
              10 LIN-QUANTITY  PIC S9(9) COMP-3.
";

const RECORD: &str = "layout = \"record\"
copybook = \"order.cpy\"
interface = \"names.toml\"
encoding = \"cp037\"
framing = \"rdw\"
";

const INTERFACE: &str = "redefines = \"all\"
[[field]]
name = \"ORD-DATE\"
date = \"yyyyMMdd\"
[[field]]
name = \"ORD-STATE\"
default = \"N\"
";

const ROWS: &str = "layout = \"csv\"
[[field]]
name = \"day\"
type = \"date\"
required = true
[[field]]
name = \"at\"
type = \"timestamp\"
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("850.guide", GUIDE),
        ("order.cpy", COPYBOOK),
        ("order.toml", RECORD),
        ("names.toml", INTERFACE),
        ("rows.toml", ROWS),
        ("in.shape", "in\n  day text(8)\n  iso? text(10)\n  number decimal(8)\n"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

/// Compares the findings of a map with these ends.
fn check(source: &str, target: &str, body: &str, expected: Expect) {
    let folder = folder();
    let path = folder.path().join("m.qmap");
    std::fs::write(&path, format!("source \"{source}\"\ntarget t \"{target}\"\n{body}\n")).expect("written");
    let options = ShapeOptions::default();
    let findings = match MapFile::open(&path, &options, &options) {
        Ok(file) => file.findings,
        Err(findings) => findings.0,
    };
    let line = |finding: &quayline_core::Finding| {
        let hint = finding.hint.as_deref().unwrap_or_default();
        format!("{:?} {}: {}\n  {hint}\n", finding.severity, finding.code.0, finding.message)
    };
    expected.assert_eq(&findings.iter().map(line).collect::<String>());
}

/// Fields of a record that no statement sets were written as zeros and blanks in silence.
#[test]
fn fields_of_records_that_are_never_set() {
    let lines = "for PO1 make ORD-LINES {\n  LIN-SKU = PO1.PO101\n}";
    check(
        "850.guide",
        "order.toml",
        &format!("ORD-NUMBER = BEG.BEG01\n{lines}"),
        expect![[r#"
        Warning MAP-056: never set, so written as spaces or zeros: ORD-DATE, ORD-SHIP, BUYER.BUYER-ID, BUYER.BUYER-NAME
          set them, or write `omit ORD-DATE, ORD-SHIP, BUYER.BUYER-ID, BUYER.BUYER-NAME` if that is intended
        Warning MAP-056: never set, so written as spaces or zeros: ORD-LINES.LIN-QUANTITY
          set it, or write `omit LIN-QUANTITY` if that is intended
    "#]],
    );
    check(
        "850.guide",
        "order.toml",
        &format!("ORD-NUMBER = BEG.BEG01\nORD-SHIP-PARTS.SHIP-CODE = \"A\"\nomit ORD-DATE, BUYER\n{lines}"),
        expect![[r#"
            Warning MAP-056: never set, so written as spaces or zeros: ORD-LINES.LIN-QUANTITY
              set it, or write `omit LIN-QUANTITY` if that is intended
        "#]],
    );
    check(
        "850.guide",
        "order.toml",
        "ORD-SHIP = \"A\"\nORD-NUMBER = \"1\"\nomit ORD-DATE, BUYER\nfor PO1 make ORD-LINES {\n  LIN-SKU = \"1\"\n  omit LIN-QUANTITY\n}",
        expect![[""]],
    );
}

/// Texts in another form than the dates of the target passed the check, and every document was rejected.
#[test]
fn dates_of_targets() {
    let all = "omit ORD-NUMBER, BUYER, ORD-SHIP\nORD-DATE = ";
    for value in ["date(BEG.BEG02, \"CCYYMMDD\")", "format(date(BEG.BEG02, \"CCYYMMDD\"), \"YYYY-MM-DD\")"] {
        check("850.guide", "order.toml", &format!("{all}{value}"), expect![[""]]);
    }
    for (value, expected) in [
        (
            "BEG.BEG02",
            expect![[r#"
            Warning MAP-066: `ORD-DATE` holds dates in the form YYYY-MM-DD, and `BEG.BEG02` those in the form CCYYMMDD
              read the date: date(BEG.BEG02, "CCYYMMDD")
        "#]],
        ),
        (
            "BEG.BEG03",
            expect![[r#"
            Warning MAP-066: `ORD-DATE` holds dates in the form YYYY-MM-DD, and `BEG.BEG03` those in the form YYMMDD
              read the date: date(BEG.BEG03, "YYMMDD", 1970)
        "#]],
        ),
        (
            "BEG.BEG04 ?? \"2026-01-31\"",
            expect![[r#"
            Warning MAP-060: this is never used: the value left of `??` is always present
              remove `??` and what follows
            Warning MAP-066: `ORD-DATE` holds dates in the form YYYY-MM-DD, and `BEG.BEG04` those in the form CCYYMMDD
              read the date: date(BEG.BEG04, "CCYYMMDD")
        "#]],
        ),
        (
            "format(date(BEG.BEG02, \"CCYYMMDD\"), \"CCYYMMDD\")",
            expect![[r#"
            Warning MAP-066: `ORD-DATE` does not allow dates and times in this format: expected a date YYYY-MM-DD
              choose the format of the leaf: format(…, "YYYY-MM-DD")
        "#]],
        ),
        (
            "CTT.CTT01",
            expect![[r#"
            Warning MAP-066: `ORD-DATE` holds dates in the form YYYY-MM-DD, and this is a number
              if it is a date in another form, read it: date(format(…, "00000000"), "CCYYMMDD")
        "#]],
        ),
    ] {
        check("850.guide", "order.toml", &format!("{all}{value}"), expected);
    }
    for (body, expected) in [
        (
            "day = date(day, \"CCYYMMDD\")\nat = at-time(date(day, \"CCYYMMDD\"), time(\"1200\", \"HHMM\"))",
            expect![[""]],
        ),
        ("day = iso ?? \"2026-01-31\"", expect![[""]]),
        (
            "day = day",
            expect![[r#"
            Warning MAP-066: `day` holds dates in the form YYYY-MM-DD, and this text has at most 8 characters
              if it is a date in another form, read it: date(…, "CCYYMMDD")
        "#]],
        ),
        (
            "day = number",
            expect![[r#"
            Warning MAP-066: `day` holds dates in the form YYYY-MM-DD, and this is a number
              if it is a date in another form, read it: date(format(…, "00000000"), "CCYYMMDD")
        "#]],
        ),
        (
            "day = at-time(date(day, \"CCYYMMDD\"), time(\"1200\", \"HHMM\"))\nat = date(day, \"CCYYMMDD\")",
            expect![[r#"
                Error MAP-041: `day` holds a date; this is a date and time
                  take the date: date-of(…)
                Error MAP-041: `at` holds a date and time; this is a date
                  add a time: at-time(…, time)
            "#]],
        ),
    ] {
        check("in.shape", "rows.toml", body, expected);
    }
    // A date of a record in an interchange.
    check(
        "order.toml",
        "850.guide",
        "omit standard, interchange, group, transaction, CTT\nBEG.BEG01 = ORD-NUMBER\nBEG.BEG02 = ORD-DATE\nBEG.BEG03 = date(ORD-DATE, \"YYYY-MM-DD\")\nBEG.BEG04 = date(ORD-DATE, \"YYYY-MM-DD\")\nomit PO1",
        expect![[r#"
            Warning MAP-066: `BEG.BEG02` holds dates in the form CCYYMMDD, and `ORD-DATE` those in the form YYYY-MM-DD
              read the date: date(ORD-DATE, "YYYY-MM-DD")
        "#]],
    );
}

/// The proposal set a counter, which the writer sets itself, and copied dates in another form.
#[test]
fn proposals_for_records() {
    let folder = folder();
    let options = ShapeOptions::default();
    let load = |name: &str| ShapeFile::load(folder.path(), name, &options).unwrap_or_else(|found| panic!("{found}"));
    let source = load("850.guide");
    let targets = [MapTarget { name: "t".to_owned(), shape: load("order.toml") }];
    let words = ShapeFile::load(
        folder.path(),
        "850.guide",
        &ShapeOptions { names: quayline_edi::NodeNames::Words, ..ShapeOptions::default() },
    )
    .unwrap_or_else(|found| panic!("{found}"));
    let proposed = propose(&Ends {
        source_file: "850.guide",
        source: source.shape(),
        source_words: Some(words.shape()),
        source_meanings: &[],
        source_aside: &["standard", "delimiters", "interchange", "group", "transaction"],
        target_name: "t",
        target_file: "order.toml",
        target: targets[0].shape.shape(),
        target_words: None,
        target_meanings: &[],
        target_aside: &[],
        rules: &ShapeRules { source: &source, targets: &targets },
    });
    expect![[r#"
        map "edi to ORD"
        source "850.guide"
        target t "order.toml"

        ORD-NUMBER = BEG.BEG01  # guess
        ORD-DATE = date(BEG.BEG02, "CCYYMMDD")  # guess
        # ORD-VERSION = …  # optional, text of at most 2 characters
        # ORD-STATE = …  # optional, text of at most 1 character
        # ORD-SHIP = …  # mandatory, text of at most 10 characters
        # ORD-SHIP-PARTS.SHIP-CODE = …  # optional, text of at most 4 characters
        # ORD-SHIP-PARTS.SHIP-REST = …  # optional, text of at most 6 characters
        # BUYER.BUYER-ID = …  # mandatory, text of at most 10 characters
        # BUYER.BUYER-NAME = …  # mandatory, text of at most 20 characters
        # LINE-COUNT is left out: Quayline counts ORD-LINES
        for PO1 make ORD-LINES {  # guess
          LIN-SKU = PO1.PO101  # guess
          LIN-QUANTITY = round(PO1.PO102, 0)  # guess
        }
        mandatory 3
    "#]]
    .assert_eq(&format!("{}mandatory {}\n", proposed.text, proposed.mandatory_open));
}
