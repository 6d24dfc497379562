//! Tables that slide.

use expect_test::expect;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{FieldRule, Interface, NoteKind, Policies, Preserve, RecordDecoder};

use crate::{decode, ebcdic, encode, layout_with, plan, plan_in, to_hex};

const NESTED: &str = "\
01 R.
   05 N PIC 9.
   05 T OCCURS 1 TO 3 TIMES DEPENDING ON N.
     10 M PIC 9.
     10 U OCCURS 0 TO 4 TIMES DEPENDING ON M PIC X.
   05 Z PIC X.";

fn rule(field: &str, include: bool) -> FieldRule {
    FieldRule { field: field.into(), include: Some(include), ..FieldRule::default() }
}

#[test]
fn nested_tables_slide_what_is_behind_them() {
    let plan = plan(NESTED, &Interface::default(), &Policies::default());
    let record = ebcdic("22AB1CZ");
    let json = decode(&plan, &record).expect("decodes");
    expect![[r#"{"N":2,"T":[{"M":2,"U":["A","B"]},{"M":1,"U":["C"]}],"Z":"Z"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(record));
}

#[test]
fn a_count_of_zero_is_legal_below_the_minimum() {
    let plan = plan(NESTED, &Interface::default(), &Policies::default());
    let json = decode(&plan, &ebcdic("0Z")).expect("decodes");
    expect![[r#"{"N":0,"T":[],"Z":"Z"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(ebcdic("0Z")));
}

#[test]
fn excluded_tables_still_slide() {
    let fields = vec![rule("T", false), rule("N", false)];
    let plan = plan(NESTED, &Interface { fields, ..Interface::default() }, &Policies::default());
    expect![[r#"{"Z":"Z"}"#]].assert_eq(&decode(&plan, &ebcdic("22AB1CZ")).expect("decodes"));
    expect![[r#"{"Z":"Z"}"#]].assert_eq(&decode(&plan, &ebcdic("0Z")).expect("decodes"));
}

#[test]
fn counters_are_set_from_their_lists() {
    let plan = plan(NESTED, &Interface::default(), &Policies::default());
    let json = r#"{"Z":"Z","T":[{"U":["A","B"]},{"U":[]}]}"#;
    assert_eq!(encode(&plan, json), Ok(ebcdic("22AB0Z")));
    expect![[r#"
        REC-031 $.T[1].U: list has 1 element, its counter says 3
    "#]]
    .assert_eq(&encode(&plan, r#"{"T":[{"U":["A","B"]},{"M":3,"U":["C"]}]}"#).expect_err("they differ"));
    expect![[r#"
        REC-030 $.T: list has more than 3 elements
    "#]]
    .assert_eq(&encode(&plan, r#"{"T":[{},{},{},{"M":1}]}"#).expect_err("too many"));
}

#[test]
fn bad_counters_are_one_fault() {
    let plan = plan(NESTED, &Interface::default(), &Policies::default());
    expect![[r#"
        REC-009 N: counter is too large, expected 0 to 3
    "#]]
    .assert_eq(&decode(&plan, &ebcdic("42AB1CZ")).expect_err("out of range"));
    let odd = decode(&plan, &ebcdic("22AB9CZ")).expect_err("out of range");
    expect![[r#"
        REC-009 T[1].M: counter is too large, expected 0 to 4
    "#]]
    .assert_eq(&odd);
    let letter = decode(&plan, &ebcdic("&2AB1CZ")).expect_err("not numeric");
    expect![[r#"
        REC-002 N: sign is 0x50, expected a digit with a sign zone
        REC-010 N: counter is not a number: sign is 0x50, expected a digit with a sign zone
    "#]]
    .assert_eq(&letter);
}

#[test]
fn counters_stand_anywhere_and_several_tables_share_one() {
    let text = "\
01 R.
   05 HEAD.
      10 N PIC S9(4) COMP.
      10 N-VIEW REDEFINES N PIC X(2).
   05 G.
      10 A OCCURS 0 TO 3 DEPENDING ON N PIC 9(2).
   05 B OCCURS 0 TO 3 DEPENDING ON N PIC X.
   05 P PIC S9(3) COMP-3.
   05 C OCCURS 1 TO 2 DEPENDING ON P.
      10 D OCCURS 2 PIC X.
   05 TAIL-X PIC XX.";
    let plan = plan(text, &Interface::default(), &Policies::default());
    let mut record = vec![0, 2];
    record.extend(ebcdic("1234XY"));
    record.extend([0x00, 0x1c]);
    record.extend(ebcdic("pqZZ"));
    let json = decode(&plan, &record).expect("decodes");
    expect![[r#"{"HEAD":{"N":2,"N-VIEW":"\u0000"},"G":{"A":[12,34]},"B":["X","Y"],"P":1,"C":[{"D":["p","q"]}],"TAIL-X":"ZZ"}"#]]
        .assert_eq(&json.replace("\\u0000\\u0002", "\\u0000"));
    assert_eq!(encode(&plan, &json).map(|r| to_hex(&r)), Ok(to_hex(&record)));
    let short = r#"{"G":{"A":[1]},"B":["X","Y"]}"#;
    expect![[r#"
        REC-031 $.B: list has 2 elements, its counter says 1
    "#]]
    .assert_eq(&encode(&plan, short).expect_err("one counter, two lengths"));
}

#[test]
fn without_sliding_every_item_keeps_its_place() {
    let layout = layout_with(NESTED, &Dialect { odo_slide: false, ..Dialect::IBM });
    let plan = plan_in(&layout, "cp037", &Interface::default(), &Policies::default());
    let record = ebcdic("22AB  1C         Z");
    assert_eq!(record.len(), 18);
    let record = [&record[..16], &ebcdic("Z")[..]].concat();
    let json = decode(&plan, &record).expect("decodes");
    expect![[r#"{"N":2,"T":[{"M":2,"U":["A","B"]},{"M":1,"U":["C"]}],"Z":"Z"}"#]].assert_eq(&json);
    let again = encode(&plan, &json).expect("encodes");
    assert_eq!((again.len(), again.last().copied()), (17, Some(0xe9)));
}

#[test]
fn records_end_where_they_should() {
    let plan = plan(NESTED, &Interface::default(), &Policies::default());
    expect![[r#"
        REC-011 Z: record ends before the field: it has 6 bytes, 7 are needed
    "#]]
    .assert_eq(&decode(&plan, &ebcdic("22AB1C")).expect_err("short"));
    expect![[r#"
        REC-012 : record has 9 bytes, its layout 7
    "#]]
    .assert_eq(&decode(&plan, &ebcdic("22AB1CZ  ")).expect_err("long"));
    let padded = [ebcdic("22AB1CZ"), vec![0x40; 10]].concat();
    assert!(decode(&plan, &padded).is_ok(), "padded to its maximum, as a COMMAREA is");
}

#[test]
fn the_front_of_a_record_says_how_long_it_is() {
    let tables = "01 R.
 05 N PIC 9.
 05 M PIC 9(3) COMP-3.
 05 H PIC X(4).
 05 T PIC X(5) OCCURS 0 TO 5 TIMES DEPENDING ON N.
 05 U OCCURS 0 TO 4 TIMES DEPENDING ON M.
  10 A PIC X(3).
 05 Z PIC X(2).";
    let plan = plan(tables, &Interface::default(), &Policies::default());
    assert_eq!(plan.length_front(), Some(3));
    let mut decoder = RecordDecoder::new(&plan);
    let mut length = |n: &str, m: [u8; 2]| decoder.length(&[&ebcdic(n)[..], &m].concat());
    assert_eq!(length("0", [0x00, 0x0c]), Some(9));
    assert_eq!(length("2", [0x00, 0x3c]), Some(9 + 10 + 9));
    assert_eq!(length("5", [0x00, 0x4c]), Some(9 + 25 + 12));
    assert_eq!(length("6", [0x00, 0x4c]), None, "more than the table holds");
    assert_eq!(length("5", [0xff, 0xff]), None, "no number");
    for other in [
        "01 R.\n 05 A PIC X(3).\n 05 T PIC X OCCURS 3.",
        "01 R.\n 05 T OCCURS 2.\n  10 N PIC 9.\n  10 U PIC X OCCURS 0 TO 3 TIMES DEPENDING ON N.",
    ] {
        assert_eq!(super::plan(other, &Interface::default(), &Policies::default()).length_front(), None, "{other}");
    }
}

/// A field slides if a table of varying length is complete before it. Fields inside the table do not, unless another table is before them.
#[test]
fn fields_after_a_table_of_varying_length_slide() {
    let text = "       01 R.\n          05 N PIC 9.\n          05 G OCCURS 1 TO 3 DEPENDING ON N.\n             10 A PIC X(2).\n             10 B PIC X.\n          05 C PIC X(4).\n          05 D REDEFINES C PIC 9(4).\n          05 M PIC 9.\n          05 T OCCURS 0 TO 2 DEPENDING ON M PIC X.\n          05 E PIC X.\n";
    let parsed = quayline_cobol::parse(&SourceText::new("t.cpy", text), &ParseOptions::default()).expect("a copybook");
    for odo_slide in [true, false] {
        let dialect = Dialect { odo_slide, ..Dialect::default() };
        let layout = Layout::build(&parsed.records[0], &dialect).expect("a layout");
        let sliding = layout.sliding();
        let names: Vec<&str> = layout
            .iter()
            .filter(|(index, _)| sliding[index.0 as usize])
            .map(|(_, field)| field.name.as_str())
            .collect();
        assert_eq!(names, if odo_slide { &["C", "D", "M", "T", "E"][..] } else { &[] });
    }
}

/// Regression: occurrences beyond the count were replaced by initial ones on the way back, without a word.
#[test]
fn bytes_beyond_the_count_are_noted_where_tables_do_not_slide() {
    let dialect = Dialect { odo_slide: false, ..Dialect::IBM };
    let text = "01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 3 DEPENDING ON N.\n  10 A PIC 9.\n  10 B PIC X.\n 05 Z PIC X.";
    let layout = layout_with(text, &dialect);
    let notes = |record: &str, policies: &Policies| {
        let plan = plan_in(&layout, "cp037", &Interface::default(), policies);
        let mut decoder = RecordDecoder::new(&plan);
        let mut writer = quayline_json::JsonWriter::new(plan.shape(), quayline_json::JsonStyle::default());
        decoder.decode(&ebcdic(record), &mut writer).expect("decodes");
        decoder.notes().iter().map(|note| (note.kind, note.offset)).collect::<Vec<_>>()
    };
    let plain = Policies::default();
    for clean in ["31x2y3zZ", "11x0 0 Z", "11x    Z", "11x\0\0\0\0Z", "00 0 0 Z"] {
        assert_eq!(notes(clean, &plain), [], "{clean}");
    }
    assert_eq!(notes("11x2y3zZ", &plain), [(NoteKind::Stale, 3)]);
    assert_eq!(notes("21x2y3zZ", &plain), [(NoteKind::Stale, 5)]);
    assert_eq!(notes("21x2y3zZ", &Policies { preserve: Preserve::Yes, ..Policies::default() }), []);
}
