//! Edited documents with `_preserve`: their values are written, and all other bytes are restored.

use proptest::prelude::*;
use quayline_cobol::layout::Dialect;
use quayline_cobol::{
    BadValue, Interface, NoteKind, NullAs, Policies, Preserve, RecordEncoder, RecordPlan, RedefinesChoice, ShortRecord,
};
use quayline_json::{JsonReader, ReaderOptions};
use serde_json::{Value, json};

use super::laws::{DIRTY, dirty};
use super::{decode, ebcdic, encode, hex, layout_with, plan_in, to_hex};

fn keeping(lines: &str) -> RecordPlan {
    keeping_with(lines, &Interface::default(), Policies::default())
}

fn keeping_with(lines: &str, interface: &Interface, policies: Policies) -> RecordPlan {
    let policies = Policies { preserve: Preserve::Yes, ..policies };
    plan_in(&layout_with(lines, &Dialect::IBM), "cp037", interface, &policies)
}

fn document(plan: &RecordPlan, record: &[u8]) -> Value {
    let text = decode(plan, record).expect("the record decodes");
    assert_eq!(encode(plan, &text).as_deref(), Ok(record), "{text}");
    serde_json::from_str(&text).expect("JSON")
}

/// Decodes a record, changes its document, and returns the bytes that come back, or the faults.
fn edited(plan: &RecordPlan, record: &[u8], edit: impl FnOnce(&mut Value)) -> Result<Vec<u8>, String> {
    let mut document = document(plan, record);
    edit(&mut document);
    encode(plan, &document.to_string())
}

const PLAIN: &str = "01 R.
 05 A PIC S9(3).
 05 FILLER PIC X.
 05 B PIC ZZ9.
 05 P PIC S9(5) COMP-3.
 05 C PIC X(2).";

// `--preserve` laid the kept bytes over the new document without comparing values, so `{"P":-456}` was written as 453 without a finding.
// Its two sides agreed on offsets only. The bytes of a member are now restored only where they decode to its value, which the law below
// tests for random edits.
#[test]
fn an_edited_value_is_written_and_all_other_bytes_are_restored() {
    let plan = keeping(PLAIN);
    let record = [ebcdic("123?007"), hex("00123f"), ebcdic("xy")].concat();
    let with = |name: &str, value: Value| edited(&plan, &record, |it| it[name] = value).map(|bytes| to_hex(&bytes));
    assert_eq!(with("A", json!(123)).as_deref(), Ok("f1f2f36ff0f0f700123fa7a8"), "the same values keep their bytes");
    assert_eq!(with("A", json!(456)).as_deref(), Ok("f4f5c66ff0f0f700123fa7a8"));
    assert_eq!(with("B", json!(345)).as_deref(), Ok("f1f2f36ff3f4f500123fa7a8"));
    assert_eq!(with("P", json!(-456)).as_deref(), Ok("f1f2f36ff0f0f700456da7a8"));
    assert_eq!(with("P", json!(456)).as_deref(), Ok("f1f2f36ff0f0f700456ca7a8"));
    assert_eq!(with("C", json!("z")).as_deref(), Ok("f1f2f36ff0f0f700123fa940"));
    let gone = edited(&plan, &record, |it| drop(it.as_object_mut().expect("object").remove("P"))).expect("encodes");
    assert_eq!(to_hex(&gone), "f1f2f36ff0f0f700000ca7a8", "one kept byte alone would be the number 3");
}

#[test]
fn values_that_win_over_their_bytes_are_noted_once_a_document() {
    let plan = keeping(PLAIN);
    let record = [ebcdic("123?007"), hex("00123f"), ebcdic("xy")].concat();
    let mut encoder = RecordEncoder::new(&plan);
    let mut notes = |document: &Value| {
        let mut reader = JsonReader::new(plan.shape(), ReaderOptions::default());
        reader.read(document.to_string().as_bytes(), &mut encoder).expect("JSON");
        encoder.take().expect("encodes");
        encoder.notes().iter().map(|note| note.kind).collect::<Vec<_>>()
    };
    let mut document = document(&plan, &record);
    assert_eq!(notes(&document), []);
    document["C"] = json!("zz");
    assert_eq!(notes(&document), [], "no bytes of C were kept");
    (document["A"], document["B"]) = (json!(1), json!(2));
    assert_eq!(notes(&document), [NoteKind::NotRestored]);
    document["_preserve"] = Value::Null;
    assert_eq!(notes(&document), []);
}

#[test]
fn bytes_of_another_view_do_not_change_the_view_that_was_chosen() {
    let choice = RedefinesChoice {
        storage: "D".into(),
        by: "K".into(),
        cases: vec![(vec!["1".into()], "D".into()), (vec!["2".into()], "E".into())],
        otherwise: None,
    };
    let interface = Interface { choices: vec![choice], ..Interface::default() };
    let lines =
        "01 R.\n 05 K PIC X.\n 05 D.\n  10 D1 PIC S9(5) COMP-3.\n  10 FILLER PIC X.\n 05 E REDEFINES D PIC X(4).";
    let plan = keeping_with(lines, &interface, Policies::default());
    let record = [ebcdic("1"), hex("00123f7f")].concat();
    let back = edited(&plan, &record, |it| {
        it["K"] = json!("2");
        it["E"] = json!("wxyz");
        it.as_object_mut().expect("object").remove("D");
    });
    assert_eq!(back.as_deref(), Ok(&ebcdic("2wxyz")[..]));
}

#[test]
fn views_that_share_bytes_agree_after_an_edit() {
    // The dirty bytes of P are those of X too, and only one of the values was edited: the document contradicts itself.
    let plan = keeping("01 R.\n 05 P PIC S9(5) COMP-3.\n 05 X REDEFINES P PIC X(3).\n 05 F PIC 9 COMP-3.");
    let record = hex("00123f5c");
    let other = edited(&plan, &record, |it| it["P"] = json!(124)).expect_err("X has the bytes of 123");
    assert!(other.contains("REC-032"), "{other}");
    let one = edited(&plan, &record, |it| {
        it["P"] = json!(124);
        it.as_object_mut().expect("object").remove("X");
    });
    assert_eq!(one.map(|bytes| to_hex(&bytes)).as_deref(), Ok("00124c5c"));
}

const TABLE: &str = "01 R.
 05 N PIC 9.
 05 T OCCURS 0 TO 3 DEPENDING ON N.
  10 X PIC X.
  10 FILLER PIC X.
 05 W PIC 9(2).";

// Deleting an element moved W under the kept bytes of a FILLER: `2a?b!12` became `1b?1!` without a finding. A record of varying length now
// has a checksum of its places in `_preserve`, and a document with other places is refused.
#[test]
fn a_document_whose_tables_changed_is_refused() {
    let plan = keeping(TABLE);
    let record = ebcdic("2a?b!12");
    let said = edited(&plan, &record, |it| {
        it["N"] = json!(1);
        it["T"].as_array_mut().expect("list").remove(0);
    });
    assert!(said.as_ref().is_err_and(|said| said.contains("REC-034")), "{said:?}");
    assert_eq!(edited(&plan, &record, |it| it["W"] = json!(34)), Ok(ebcdic("2a?b!34")));
    // Texts of earlier versions have no checksum: the values still come first.
    let old = r#"{"N":1,"T":[{"X":"b"}],"W":12,"_preserve":";2:6f;4:5a"}"#;
    assert_eq!(encode(&plan, old), Ok(ebcdic("1b?12")));
    let old = r#"{"N":2,"T":[{"X":"a"},{"X":"b"}],"W":12,"_preserve":";2:6f;4:5a"}"#;
    assert_eq!(encode(&plan, old), Ok(record));
}

#[test]
fn a_document_of_the_same_length_with_other_places_is_refused() {
    let lines = "01 R.
 05 N PIC 9.
 05 T OCCURS 0 TO 3 DEPENDING ON N.
  10 M PIC 9.
  10 U OCCURS 0 TO 3 DEPENDING ON M.
   15 X PIC X.
   15 FILLER PIC X.
 05 W PIC X.";
    let plan = keeping(lines);
    let record = ebcdic("22a?b!1c!w");
    let moved = edited(&plan, &record, |it| {
        let moved = it["T"][0]["U"].as_array_mut().expect("list").pop().expect("two");
        it["T"][1]["U"].as_array_mut().expect("list").push(moved);
        (it["T"][0]["M"], it["T"][1]["M"]) = (json!(1), json!(2));
    });
    assert!(moved.as_ref().is_err_and(|said| said.contains("REC-034")), "{moved:?}");
}

#[test]
fn a_table_that_ends_the_record_keeps_its_new_elements() {
    let dialect = Dialect { odo_slide: false, ..Dialect::IBM };
    let layout = layout_with("01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 4 DEPENDING ON N PIC X.", &dialect);
    let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
    let plan = plan_in(&layout, "cp037", &Interface::default(), &policies);
    let record = ebcdic("2ab");
    assert_eq!(edited(&plan, &record, |it| it["T"][1] = json!("c")), Ok(ebcdic("2ac")));
    let longer = edited(&plan, &record, |it| {
        it["N"] = json!(3);
        it["T"].as_array_mut().expect("list").push(json!("c"));
    });
    assert!(longer.as_ref().is_err_and(|said| said.contains("REC-034")), "{longer:?}");
}

#[test]
fn a_short_record_is_longer_if_a_missing_field_was_given_a_value() {
    let policies = Policies { short: Some(ShortRecord::Pad), ..Policies::default() };
    let plan = keeping_with("01 R.\n 05 A PIC X(2).\n 05 B PIC X(2).\n 05 C PIC X.", &Interface::default(), policies);
    let record = ebcdic("ab");
    assert_eq!(edited(&plan, &record, |it| it["A"] = json!("x")), Ok(ebcdic("x ")));
    assert_eq!(edited(&plan, &record, |it| it["B"] = json!("y")), Ok(ebcdic("aby  ")));
}

#[test]
fn null_and_its_bytes_are_the_same_value() {
    let policies =
        Policies { blank: BadValue::Null, invalid: BadValue::Null, null: Some(NullAs::Zeros), ..Policies::default() };
    let plan = keeping_with("01 R.\n 05 A PIC 9(3).\n 05 B PIC 9(3) COMP-3.", &Interface::default(), policies);
    for record in ["404040001f", "c1404000ff", "f1f2f300ff"] {
        let bytes = hex(record);
        let mut document = document(&plan, &bytes);
        document["A"] = json!(7);
        let back = encode(&plan, &document.to_string()).expect("encodes");
        assert_eq!(to_hex(&back), format!("f0f0f7{}", &record[6..]));
    }
}

// For each value of a view, the encoder looked at all bytes of the view: 4,000 members took 60 times as long as 400, with and without
// `_preserve`. Each view is now looked at once, so the time grows with the size. The bound is between 10 and 100 times.
#[test]
fn the_time_of_a_document_grows_with_its_size_whatever_the_number_of_views_and_members() {
    let views = |count: usize| {
        let view = |i| format!("\n 05 V{i} REDEFINES BASE.\n  10 A{i} PIC S9(3) COMP-3.\n  10 B{i} PIC S9(3) COMP-3.");
        ("01 R.\n 05 BASE PIC X(4).".to_owned() + &(0..count).map(view).collect::<String>(), hex("123f456f"))
    };
    let members = |count: usize| {
        let member = |i| format!("\n  10 A{i} PIC S9(3) COMP-3.");
        let lines = format!("01 R.\n 05 BASE PIC X({}).\n 05 V REDEFINES BASE.", 2 * count);
        (lines + &(0..count).map(member).collect::<String>(), hex("123f").repeat(count))
    };
    let time_of = |(lines, record): (String, Vec<u8>)| {
        let plan = keeping(&lines);
        let mut document = document(&plan, &record);
        let fields = document.as_object_mut().expect("object");
        fields.remove("BASE");
        for view in fields.values_mut().filter_map(Value::as_object_mut) {
            view.values_mut().step_by(2).for_each(|value| *value = json!(7));
        }
        let text = document.to_string();
        let mut encoder = RecordEncoder::new(&plan);
        let mut once = || {
            let start = std::time::Instant::now();
            let mut reader = JsonReader::new(plan.shape(), ReaderOptions::default());
            reader.read(text.as_bytes(), &mut encoder).expect("JSON");
            encoder.take().expect("encodes");
            start.elapsed()
        };
        (0..25).map(|_| once()).min().expect("some")
    };
    for (kind, few, many) in [
        ("views", time_of(views(300)), time_of(views(3_000))),
        ("members", time_of(members(400)), time_of(members(4_000))),
    ] {
        assert!(many < few * 30, "ten times the {kind} take {many:?} instead of {few:?}");
    }
}

/// Ranges of the scalars in a line of JSON without blanks, and the name of the member of each.
fn leaves(json: &str) -> Vec<(String, core::ops::Range<usize>)> {
    let bytes = json.as_bytes();
    let (mut all, mut name, mut at) = (Vec::new(), String::new(), 0);
    while at < bytes.len() {
        let from = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if bytes[at] == b':' {
                    name = json[from + 1..at - 1].to_owned();
                    continue;
                }
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                at += 1;
                continue;
            }
            _ => at += json[at..].find([',', '}', ']']).expect("an end"),
        }
        if name != "_preserve" {
            all.push((name.clone(), from..at));
        }
    }
    all
}

/// The document as it is read, without `_preserve`.
fn values(json: &str) -> Value {
    let mut document: Value = serde_json::from_str(json).expect("JSON");
    document.as_object_mut().expect("object").remove("_preserve");
    document
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    // Not 0: an edit of -0 to 0 changes no number, so the bytes of the sign stay.
    #[test]
    fn an_edit_changes_the_edited_value_and_no_other(
        record in dirty(), at in any::<prop::sample::Index>(), number in 1u32..100, text in "[A-Z]{1,2}",
    ) {
        let plan = keeping(DIRTY);
        let json = decode(&plan, &record).map_err(TestCaseError::fail)?;
        let leaves = leaves(&json);
        let (name, range) = at.get(&leaves);
        let is_text = json[range.clone()].starts_with(['"', 'n']);
        let new = if is_text { json!(text) } else { json!(number) }.to_string();
        let json = format!("{}{new}{}", &json[..range.start], &json[range.end..]);
        // An edit of one of several views contradicts the others, and one of a counter its list.
        match encode(&plan, &json) {
            Ok(back) => {
                let read = decode(&plan, &back).map_err(TestCaseError::fail)?;
                prop_assert_eq!(values(&read), values(&json), "{}", name);
            }
            Err(said) => {
                let shared = ["N", "ST", "SP1", "SP2", "SB", "PT", "PX", "T2", "T3"].contains(&&**name);
                prop_assert!(shared, "{}: {}: {}", name, said, json);
            }
        }
    }

    #[test]
    fn an_edited_table_is_refused_or_written_with_all_its_values(record in dirty(), gone in any::<prop::sample::Index>()) {
        let plan = keeping(DIRTY);
        let mut document: Value = serde_json::from_str(&decode(&plan, &record).map_err(TestCaseError::fail)?).expect("JSON");
        let table = document["T"].as_array_mut().expect("list");
        prop_assume!(!table.is_empty());
        table.remove(gone.index(table.len()));
        let count = table.len();
        document["N"] = json!(count);
        if document.get("_preserve").is_some() {
            let said = encode(&plan, &document.to_string()).expect_err("the places changed");
            prop_assert!(said.contains("REC-034"), "{}", said);
        }
    }
}

/// A value may equal bytes of which another view has written some and the rest is initial; these bytes belong to it, too.
#[test]
fn a_value_keeps_the_initial_bytes_that_it_agrees_with() {
    let layout = layout_with("01 R USAGE COMP-6.\n 05 A PIC 9(2).\n 05 B REDEFINES A PIC 9(9).", &Dialect::GNUCOBOL);
    let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
    let plan = plan_in(&layout, "ascii", &Interface::default(), &policies);
    for record in ["7720202020", "7721202020", "0720202020", "0712345678"] {
        let record = hex(record);
        let text = decode(&plan, &record).expect("decoded");
        assert_eq!(encode(&plan, &text).map(|back| to_hex(&back)), Ok(to_hex(&record)), "{text}");
    }
}

/// Of runs that overlap, only one was compared with the places of values.
#[test]
fn runs_that_overlap_do_not_overwrite_values() {
    let plan = keeping("01 R.\n 05 A PIC X(4).\n 05 B PIC X(4).\n 05 C PIC X(4).\n 05 N PIC 9(3) COMP-3.");
    for patch in [format!(";0:{};1:c1", "c1".repeat(14)), format!(";0:{};1:c1;2:c1", "c1".repeat(13))] {
        let document = json!({ "A": "AAAA", "B": "AAAA", "C": "new", "N": 7, "_preserve": patch });
        let written = encode(&plan, &document.to_string()).map(|record| to_hex(&record));
        assert_eq!(written, Ok(format!("{}{}007f", "c1".repeat(8), to_hex(&ebcdic("new ")))), "{patch}");
    }
}
