//! Null in a document, and records that end with their view or by their own counters.

use expect_test::expect;
use proptest::prelude::*;
use quayline_cobol::layout::Layout;
use quayline_cobol::{
    Absent, BadValue, Extent, FieldRule, Interface, NullAs, Policies, Preserve, RecordDecoder, RecordEncoder,
    RecordPlan, RedefinesChoice,
};
use quayline_core::Sink;
use quayline_json::{JsonReader, ReaderOptions};

use crate::{decode, ebcdic, encode, layout, plan, plan_in, to_hex};

const ACCOUNT: &str = "01 R.
 05 ID PIC 9(3).
 05 NAME PIC X(4).
 05 BAL PIC S9(3) COMP-3.
 05 CNT PIC 9 VALUE 1.
 05 G.
  10 QTY PIC S9(4) COMP.
 05 ITEM OCCURS 0 TO 3 DEPENDING ON CNT.
  10 SKU PIC X(2).";

fn ascii(lines: &str, policies: &Policies) -> RecordPlan {
    plan_in(&layout(lines), "ascii", &Interface::default(), policies)
}

/// Null became zero, spaces or the VALUE without a word, also where missing members are an error.
#[test]
fn null_is_a_finding_unless_something_says_what_it_becomes() {
    let json = r#"{"ID":null,"NAME":null,"BAL":null,"G":{"QTY":null},"ITEM":[{"SKU":null}]}"#;
    for absent in [Absent::Value, Absent::Initialize, Absent::LowValues, Absent::Error] {
        let plan = ascii(ACCOUNT, &Policies { absent, ..Policies::default() });
        expect![[r#"
            REC-035 $.ID: null is not a value of a record's field
            REC-035 $.NAME: null is not a value of a record's field
            REC-035 $.BAL: null is not a value of a record's field
            REC-035 $.G.QTY: null is not a value of a record's field
            REC-035 $.ITEM[0].SKU: null is not a value of a record's field
        "#]]
        .assert_eq(&encode(&plan, json).expect_err("null"));
    }
    let branches = r#"{"ID":1,"NAME":"A","BAL":1,"G":null,"ITEM":null}"#;
    expect![[r#"
        REC-035 $.G.QTY: null is not a value of a record's field
        REC-035 $.ITEM: null is not a value of a record's field
    "#]]
    .assert_eq(&encode(&ascii(ACCOUNT, &Policies::default()), branches).expect_err("null"));
    for (null, bytes) in [
        (NullAs::Zeros, "30303020202020000c3100002020"),
        (NullAs::Value, "30303020202020000c3100002020"),
        (NullAs::LowValues, "0000000000000000003100000000"),
    ] {
        let plan = ascii(ACCOUNT, &Policies { null: Some(null), ..Policies::default() });
        assert_eq!(encode(&plan, json).map(|record| to_hex(&record)).as_deref(), Ok(bytes), "{null:?}");
    }
    let spaces = ascii(ACCOUNT, &Policies { null: Some(NullAs::Spaces), ..Policies::default() });
    expect![[r#"
        REC-035 $.G.QTY: null is not a value of a record's field
    "#]]
    .assert_eq(&encode(&spaces, json).expect_err("spaces are a number in COMP"));
    let rule = |field: &str, null| FieldRule { field: field.into(), null: Some(null), ..FieldRule::default() };
    let fields = vec![rule("G", NullAs::Zeros), rule("NAME", NullAs::Spaces)];
    let ruled = plan_in(&layout(ACCOUNT), "ascii", &Interface { fields, ..Interface::default() }, &Policies::default());
    let some = r#"{"ID":7,"NAME":null,"BAL":1,"G":{"QTY":null},"ITEM":[]}"#;
    assert_eq!(encode(&ruled, some).as_deref(), Ok(&b"007    \x00\x1c0\0\0"[..]));
}

/// If missing members are errors, the counter of a table was reported as missing, although it is set from the table.
#[test]
fn a_counter_is_never_missing() {
    let plan = ascii(ACCOUNT, &Policies { absent: Absent::Error, ..Policies::default() });
    let json = r#"{"ID":7,"NAME":"A","BAL":1,"G":{"QTY":2},"ITEM":[{"SKU":"xy"}]}"#;
    assert_eq!(encode(&plan, json).as_deref(), Ok(&b"007A   \x00\x1c1\0\x02xy"[..]));
    let missing = encode(&plan, r#"{"ID":7,"NAME":"A","BAL":1,"G":{"QTY":2}}"#).expect_err("no list");
    assert!(missing.starts_with("REC-033 $.ITEM"), "{missing}");
}

/// A null view means that the bytes belong to another view. Without another view, it is a null like any other.
#[test]
fn a_null_view_needs_another_view() {
    let text = "01 R.\n 05 A PIC 9(2).\n 05 B REDEFINES A PIC X(2).\n 05 C PIC X.";
    let plan = plan(text, &Interface::default(), &Policies::default());
    assert_eq!(encode(&plan, r#"{"A":null,"B":"xy","C":"z"}"#), Ok(ebcdic("xyz")));
    expect![[r#"
        REC-035 $.A: null is not a value of a record's field
        REC-035 $.B: null is not a value of a record's field
    "#]]
    .assert_eq(&encode(&plan, r#"{"A":null,"B":null,"C":"z"}"#).expect_err("no view"));
}

/// A record whose invalid bytes became null is encoded unchanged with the patch of `_preserve`.
#[test]
fn preserved_nulls_come_back() {
    let policies = Policies { preserve: Preserve::Yes, invalid: BadValue::Null, ..Policies::default() };
    let plan = plan("01 R.\n 05 A PIC 9(2).\n 05 B PIC X.", &Interface::default(), &policies);
    let json = decode(&plan, &ebcdic("x1b")).expect("nulled");
    assert_eq!(encode(&plan, &json), Ok(ebcdic("x1b")), "{json}");
    assert!(encode(&plan, r#"{"A":null,"B":"b"}"#).expect_err("no patch").starts_with("REC-035"));
}

/// The patch was made for a field of the template, and laid over one that null had become: `00 f0 f0` came back as `00 40 40`.
#[test]
fn preserved_nulls_come_back_whatever_null_becomes() {
    let text = "01 R.\n 05 A PIC 9(3).\n 05 V PIC 9(2).\n 05 W REDEFINES V PIC 9(2).\n 05 B PIC X.";
    for null in [NullAs::Spaces, NullAs::Zeros, NullAs::LowValues, NullAs::Value] {
        let fields = vec![FieldRule { field: "A".into(), null: Some(null), ..FieldRule::default() }];
        let policies = Policies {
            preserve: Preserve::Yes,
            invalid: BadValue::Null,
            short: Some(quayline_cobol::ShortRecord::Null),
            null: Some(null),
            ..Policies::default()
        };
        let plan = plan_in(&layout(text), "cp037", &Interface { fields, ..Interface::default() }, &policies);
        for record in [
            &[0, 0xf0, 0xf0, 0xf1, 0xf2, 0xc1][..],
            &[0x40, 0x40, 0, 0xf1, 0xf2, 0xc1],
            &[0, 0, 0x40, 0, 0xf2, 0xc1],
            &[0xf0, 0xf0],
            &[0, 0xf0, 0xf0],
            &[],
        ] {
            let Ok(json) = decode(&plan, record) else { continue };
            assert_eq!(encode(&plan, &json).as_deref(), Ok(record), "{null:?}: {json}");
        }
    }
}

proptest! {
    /// Blanks that decoding reads as null are written as blanks with the same option.
    #[test]
    fn blanks_that_read_as_null_are_written_as_blanks(
        blank in prop::collection::vec(any::<bool>(), 4),
        low in any::<bool>(),
    ) {
        let text = "01 R.\n 05 A PIC 9(2).\n 05 B PIC S9(3) COMP-3.\n 05 C PIC ZZ9.\n 05 D PIC S9(2) SIGN LEADING SEPARATE.";
        let policies = match low {
            false => Policies { blank: BadValue::Null, ..Policies::default() },
            true => Policies { low_values: BadValue::Null, ..Policies::default() },
        };
        let plan = plan(text, &Interface::default(), &policies);
        let fill = if low { 0 } else { 0x40 };
        let values = [ebcdic("12"), vec![0x12, 0x3c], ebcdic("  7"), ebcdic("+12")];
        let mut record = Vec::new();
        for (i, (value, blank)) in values.iter().zip(&blank).enumerate() {
            // Spaces in a suppressed picture are zero.
            record.extend(if *blank && (low || i != 2) { vec![fill; value.len()] } else { value.clone() });
        }
        let json = decode(&plan, &record).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode(&plan, &json), Ok(record), "{}", json);
    }
}

const SEGMENT: &str = "01 R.\n 05 T PIC X.\n 05 A PIC X(8).\n 05 B REDEFINES A PIC X(3).";

fn choose(storage: &str, by: &str, cases: &[(&str, &str)]) -> RedefinesChoice {
    let cases = cases.iter().map(|(value, view)| (vec![(*value).to_owned()], (*view).to_owned())).collect();
    RedefinesChoice { storage: storage.into(), by: by.into(), cases, otherwise: None }
}

fn chosen(text: &str, choices: Vec<RedefinesChoice>) -> RecordPlan {
    plan(text, &Interface { choices, ..Interface::default() }, &Policies::default())
}

/// Encodes a record of a file.
fn encode_file(plan: &RecordPlan, json: &str) -> Result<Vec<u8>, String> {
    let mut encoder = RecordEncoder::of_files(plan);
    let read = JsonReader::new(plan.shape(), ReaderOptions::default()).read(json.as_bytes(), &mut encoder);
    read.unwrap_or_else(|fault| panic!("{json}: {fault:?}"));
    let record = encoder.take().map(<[u8]>::to_vec);
    record.map_err(|faults| faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect())
}

/// A segment whose type has a short view was refused as too short, and written with the length of the longest view.
#[test]
fn a_record_ends_with_its_chosen_view() {
    let by_type = chosen(SEGMENT, vec![choose("A", "T", &[("1", "A"), ("2", "B")])]);
    for record in ["1AAAAAAAA", "2BBB"] {
        let json = decode(&by_type, &ebcdic(record)).expect(record);
        assert_eq!(encode_file(&by_type, &json), Ok(ebcdic(record)), "{json}");
        assert_eq!(by_type.extent(&[ebcdic(record), ebcdic("XXXXXXXXXX")].concat()), Extent::Bytes(record.len()));
        // A program's memory keeps its length.
        assert_eq!(encode(&by_type, &json).map(|record| record.len()), Ok(9));
    }
    let always = plan(SEGMENT, &only_b(&layout(SEGMENT)), &Policies::default());
    assert_eq!(decode(&always, &ebcdic("2BBB")).as_deref(), Ok(r#"{"T":"2","B":"BBB"}"#));
    assert_eq!(encode_file(&always, r#"{"T":"2","B":"BBB"}"#), Ok(ebcdic("2BBB")));
    assert_eq!(decode(&always, &ebcdic("2BBB     ")).as_deref(), Ok(r#"{"T":"2","B":"BBB"}"#), "padded");
    expect![[r#"
        REC-015 : 5 bytes follow the last field of the record, expected none or padding (spaces or low-values)
    "#]]
    .assert_eq(&decode(&always, &ebcdic("2BBBABCDE")).expect_err("another view's bytes"));
    expect![[r#"
        REC-011 B: record ends before the field: it has 3 bytes, 4 are needed
    "#]]
    .assert_eq(&decode(&always, &ebcdic("2BB")).expect_err("short of its view"));
}

fn only_b(layout: &Layout) -> Interface {
    let path = |name: &str| layout.path(layout.named(name)[0]);
    let rule = |name: &str, include| FieldRule { field: path(name), include: Some(include), ..FieldRule::default() };
    Interface { fields: vec![rule("A", false), rule("B", true)], views: vec![path("B")], ..Interface::default() }
}

/// Storage inside a view ends the record if the view does; storage that is followed by a field never does.
#[test]
fn only_the_last_storage_ends_a_record() {
    let nested = "01 R.\n 05 T PIC X.\n 05 A PIC X(8).\n 05 B REDEFINES A.\n  10 U PIC X.\n  10 C PIC X(5).\n  10 D REDEFINES C PIC X(2).";
    let plan =
        chosen(nested, vec![choose("A", "T", &[("1", "A"), ("2", "B")]), choose("C", "U", &[("x", "C"), ("y", "D")])]);
    for record in ["1AAAAAAAA", "2xCCCCC", "2yDD"] {
        let json = decode(&plan, &ebcdic(record)).expect(record);
        assert_eq!(encode_file(&plan, &json), Ok(ebcdic(record)), "{json}");
    }
    let followed = chosen(&format!("{SEGMENT}\n 05 Z PIC X."), vec![choose("A", "T", &[("1", "A"), ("2", "B")])]);
    assert!(decode(&followed, &ebcdic("2BBB")).is_err());
    assert_eq!(decode(&followed, &ebcdic("2BBB     Z")).as_deref(), Ok(r#"{"T":"2","B":"BBB","Z":"Z"}"#));
    // A longer view that the document has is refused, as its selector says another.
    let plan = chosen(SEGMENT, vec![choose("A", "T", &[("1", "A"), ("2", "B")])]);
    // A document without a view was written, although nobody can read a record whose selector chooses none.
    for document in [r#"{"T":"9"}"#, "{}"] {
        assert!(encode_file(&plan, document).expect_err("no view").contains("REC-013"), "{document}");
    }
    assert_eq!(encode_file(&plan, r#"{"T":"2"}"#), Ok(ebcdic("2   ")));
    assert!(encode_file(&plan, r#"{"T":"2","A":"AAAAAAAA"}"#).expect_err("the view B").contains("REC-037"));
}

/// Elements of tables were written although their selectors chose no view, so that nobody could read the record.
#[test]
fn selectors_in_tables_choose_a_view_or_are_refused() {
    let table =
        "01 R.\n 05 N PIC 9.\n 05 LN OCCURS 2.\n  10 TYP PIC X.\n  10 ART PIC X(4).\n  10 NUM REDEFINES ART PIC 9(4).";
    let cases = || vec![choose("ART", "TYP", &[("A", "ART"), ("N", "NUM")])];
    let (open, sliding) =
        (chosen(table, cases()), chosen(&table.replace("OCCURS 2", "OCCURS 0 TO 2 DEPENDING ON N"), cases()));
    let otherwise = chosen(table, vec![RedefinesChoice { otherwise: Some("ART".into()), ..cases().remove(0) }]);
    let whole = r#"{"N":2,"LN":[{"TYP":"A","ART":"AAAA"},{"TYP":"N","NUM":12}]}"#;
    for plan in [&open, &sliding, &otherwise] {
        assert_eq!(encode_file(plan, whole), Ok(ebcdic("2AAAAAN0012")));
    }
    for (document, place) in
        [(r#"{"N":2,"LN":[{"TYP":"Q"},{"TYP":"N","NUM":1}]}"#, "LN[0]"), (r#"{"N":2,"LN":[{"TYP":"A"},{}]}"#, "LN[1]")]
    {
        for plan in [&open, &sliding] {
            let found = encode_file(plan, document).expect_err("no view");
            assert!(found.contains("REC-013") && found.contains(place), "{document}: {found}");
        }
        let json = encode_file(&otherwise, document).and_then(|record| decode(&otherwise, &record));
        assert!(json.is_ok(), "{json:?}");
    }
    // An element that the document does not have is in the record of a table of fixed length, and nobody can read it.
    let one = r#"{"N":1,"LN":[{"TYP":"A"}]}"#;
    assert!(encode_file(&open, one).expect_err("no view").contains("LN[1]"));
    assert_eq!(encode_file(&sliding, one), Ok(ebcdic("1A    ")));
    assert_eq!(encode_file(&otherwise, one), Ok(ebcdic("1A         ")));
}

const ODO: &str = "01 R.
 05 K PIC X.
 05 N PIC 9.
 05 T OCCURS 0 TO 3 DEPENDING ON N.
  10 M PIC 9 COMP-3.
  10 U OCCURS 0 TO 4 DEPENDING ON M PIC X(2).
  10 F OCCURS 2 PIC X.
 05 P PIC 9(2).
 05 Q OCCURS 1 TO 5 DEPENDING ON P PIC X.
 05 A PIC X(4).
 05 B REDEFINES A PIC X.";

proptest! {
    /// The counters of a record determine its length, regardless of the bytes after it, and one byte less is too short.
    #[test]
    fn the_extent_is_what_decoding_takes(
        rows in prop::collection::vec(0u8..=4, 0..=3),
        q in 0usize..=5,
        short in any::<bool>(),
        behind in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let plan = chosen(ODO, vec![choose("A", "K", &[("a", "A"), ("b", "B")])]);
        let mut record = ebcdic(if short { "b" } else { "a" });
        record.extend(ebcdic(&rows.len().to_string()));
        for units in &rows {
            record.push(units << 4 | 0x0f);
            record.extend(ebcdic(&"xy".repeat((*units).into())));
            record.extend(ebcdic("FF"));
        }
        record.extend(ebcdic(&format!("0{q}{}{}", "q".repeat(q), if short { "B" } else { "AAAA" })));
        let json = decode(&plan, &record).map_err(TestCaseError::fail)?;
        prop_assert_eq!(encode_file(&plan, &json), Ok(record.clone()), "{}", json);
        let all = [&record[..], &behind].concat();
        prop_assert_eq!(plan.extent(&all), Extent::Bytes(record.len()));
        for cut in 0..record.len() {
            match plan.extent(&all[..cut]) {
                Extent::Bytes(length) => prop_assert_eq!(length, record.len()),
                Extent::NeedMore { at_least } => prop_assert!(at_least > cut && at_least <= record.len()),
                Extent::Bad(fault) => prop_assert!(false, "{fault}"),
            }
        }
    }
}

#[test]
fn a_bad_counter_has_no_extent() {
    let plan = plan(
        "01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 3 DEPENDING ON N PIC X.",
        &Interface::default(),
        &Policies::default(),
    );
    assert!(matches!(plan.extent(&ebcdic("4abcd")), Extent::Bad(fault) if fault.offset == 0));
    assert!(matches!(plan.extent(&ebcdic("&")), Extent::Bad(_)));
    assert_eq!(plan.extent(&[]), Extent::NeedMore { at_least: 1 });
    let mut decoder = RecordDecoder::new(&plan);
    let mut sink = quayline_json::JsonWriter::new(plan.shape(), quayline_json::JsonStyle::default());
    decoder.decode(&ebcdic("2ab"), &mut sink).expect("decodes");
    sink.discard();
}
