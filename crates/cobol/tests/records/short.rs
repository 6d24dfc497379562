//! Records that end before their layout does, and bytes after the last field.

use expect_test::expect;
use proptest::prelude::*;
use quayline_charset::Charset;
use quayline_cobol::{
    BadValue, Interface, LengthMismatch, NoteKind, Policies, Preserve, RecordDecoder, RecordPlan, ShortRecord,
};
use quayline_core::Sink;
use quayline_json::{JsonStyle, JsonWriter};

use crate::{decode, encode, hex, layout, plan, plan_in};

const TEXTS: &str = "01 R.\n 05 A PIC X(5).\n 05 B PIC X(10).\n 05 C PIC X(5).";

fn ascii(lines: &str, policies: &Policies) -> RecordPlan {
    plan_in(&layout(lines), "ascii", &Interface::default(), policies)
}

fn short(short: ShortRecord) -> Policies {
    Policies { short: Some(short), ..Policies::default() }
}

/// Decodes a line of a LINE SEQUENTIAL file.
fn line(plan: &RecordPlan, record: &[u8]) -> Result<String, String> {
    let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
    let done = RecordDecoder::of_lines(plan).decode(record, &mut writer);
    done.map_err(|faults| {
        writer.discard();
        faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect::<String>()
    })?;
    Ok(String::from_utf8(writer.bytes().to_vec()).expect("JSON is UTF-8").trim_end().to_owned())
}

/// GnuCOBOL, Micro Focus and FTP remove trailing blanks of a line, and READ adds them again. Such lines were refused, and the option that
/// the finding recommended turned the truncated text, and everything after it, into null.
#[test]
fn lines_are_padded_as_read_pads_them() {
    let plan = ascii(TEXTS, &Policies::default());
    assert_eq!(line(&plan, b"AAAAABBB").as_deref(), Ok(r#"{"A":"AAAAA","B":"BBB","C":""}"#));
    assert_eq!(line(&plan, b"AAAAABBB       CCC").as_deref(), Ok(r#"{"A":"AAAAA","B":"BBB","C":"CCC"}"#));
    assert_eq!(line(&plan, b"").as_deref(), Ok(r#"{"A":"","B":"","C":""}"#));
    let json = line(&plan, b"AAAAABBB       CCC").expect("decodes");
    assert_eq!(encode(&plan, &json).as_deref(), Ok(&b"AAAAABBB       CCC  "[..]));
    let numbers = ascii("01 R.\n 05 A PIC X(2).\n 05 N PIC 9(3).\n 05 P PIC S9(4) COMP.", &Policies::default());
    expect![[r#"
        REC-004 P: field holds only spaces
    "#]]
    .assert_eq(&line(&numbers, b"AA123").expect_err("no number"));
    expect![[r#"
        REC-014 N: record ends inside the field: 2 of its 3 bytes are present
    "#]]
    .assert_eq(&line(&numbers, b"AA12").expect_err("a number that is cut"));
    let blank = Policies { blank: BadValue::Null, ..Policies::default() };
    let numbers = ascii("01 R.\n 05 A PIC X(2).\n 05 N PIC 9(3).\n 05 Z PIC ZZ9 BLANK WHEN ZERO.", &blank);
    assert_eq!(line(&numbers, b"A").as_deref(), Ok(r#"{"A":"A","N":null,"Z":0}"#));
    // A policy that is named goes before the framing's.
    let strict = ascii(TEXTS, &short(ShortRecord::Error));
    assert!(line(&strict, b"AAAAABBB").expect_err("short").starts_with("REC-011"));
}

/// If missing fields became null, so did a text and a number that the end of the record truncates.
#[test]
fn a_cut_text_keeps_its_characters_and_a_cut_number_is_refused() {
    for policy in [ShortRecord::Null, ShortRecord::Pad] {
        let plan = ascii(TEXTS, &short(policy));
        let json = decode(&plan, b"AAAAABBB").expect("decodes");
        assert!(json.starts_with(r#"{"A":"AAAAA","B":"BBB","C":"#), "{policy:?}: {json}");
        for usage in ["9(4)", "S9(4) COMP-3", "S9(8) COMP", "ZZZ9", "1(4)", "S9(4) SIGN LEADING SEPARATE"] {
            let plan = ascii(&format!("01 R.\n 05 A PIC X.\n 05 N PIC {usage}."), &short(policy));
            let faults = decode(&plan, b"A12").expect_err(usage);
            assert!(faults.starts_with("REC-014 N:"), "{policy:?} {usage}: {faults}");
        }
    }
    let plan = ascii(TEXTS, &short(ShortRecord::Null));
    assert_eq!(decode(&plan, b"AAAAA").as_deref(), Ok(r#"{"A":"AAAAA","B":null,"C":null}"#));
    // Half a character is not a character.
    let wide = plan_in(&layout("01 R.\n 05 A PIC X(8)."), "utf-16be", &Interface::default(), &short(ShortRecord::Pad));
    assert_eq!(decode(&wide, &hex("00410042")).as_deref(), Ok(r#"{"A":"AB"}"#));
    assert!(decode(&wide, &hex("004100")).expect_err("cut").starts_with("REC-014"));
    let national = ascii("01 R.\n 05 A PIC N(3).", &short(ShortRecord::Null));
    assert_eq!(decode(&national, &hex("4e2d")).as_deref(), Ok(r#"{"A":"中"}"#));
    assert!(decode(&national, &hex("4e2d00")).expect_err("cut").starts_with("REC-014"));
    // An insertion that is missing is not what the picture says, so the end is not where a blank was cut.
    let edited = ascii("01 R.\n 05 A PIC XX/XX.", &short(ShortRecord::Pad));
    assert_eq!(decode(&edited, b"").as_deref(), Ok(r#"{"A":""}"#));
    assert_eq!(decode(&edited, b"ab/c").as_deref(), Ok(r#"{"A":"ab/c"}"#));
    assert!(decode(&edited, b"ab").expect_err("cut").starts_with("REC-014"));
}

/// A record that ends before the counter of a table has no table. One that ends inside the counter has lost it.
#[test]
fn a_missing_counter_is_no_table_and_a_cut_one_a_fault() {
    let text = "01 R.\n 05 A PIC X(2).\n 05 N PIC 9(2).\n 05 T OCCURS 0 TO 3 DEPENDING ON N PIC X.\n 05 Z PIC X.";
    let plan = ascii(text, &short(ShortRecord::Null));
    assert_eq!(decode(&plan, b"AA").as_deref(), Ok(r#"{"A":"AA","N":null,"T":[],"Z":null}"#));
    assert!(decode(&plan, b"AA0").expect_err("cut").starts_with("REC-014"));
    let padded = ascii(text, &short(ShortRecord::Pad));
    assert!(decode(&padded, b"AA").expect_err("blank").starts_with("REC-004"));
    assert_eq!(decode(&padded, b"AA02x").as_deref(), Ok(r#"{"A":"AA","N":2,"T":["x",""],"Z":""}"#));
}

/// Regression: bytes after the last table of a record of full length were dropped, regardless of their content. Two records were lost in `1A2BC3`.
#[test]
fn bytes_after_the_last_table_are_padding_or_a_finding() {
    let text = "01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 5 DEPENDING ON N PIC X.";
    let strict = ascii(text, &Policies::default());
    expect![[r#"
        REC-015 : 4 bytes follow the last field of the record, expected none or padding (spaces or low-values)
    "#]]
    .assert_eq(&decode(&strict, b"1A2BC3").expect_err("other records"));
    for padding in [b"    ", b"\0\0\0\0"] {
        let record = [b"1A", &padding[..]].concat();
        assert_eq!(decode(&strict, &record).as_deref(), Ok(r#"{"N":1,"T":["A"]}"#));
    }
    // Regression: a byte that is repeated, or alone, passed as padding, so the next record `0` was lost in `4ABCD0`.
    for (record, count) in [(b"4ABCD0", 1), (b"4ABCDE", 1), (b"2ABCCC", 3), (b"1A0000", 4), (b"1A\xff\xff\xff\xff", 4)]
    {
        let said = decode(&strict, record).expect_err("no padding");
        assert!(said.starts_with(&format!("REC-015 : {count} byte")), "{said}");
    }
    let wide = "01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 2 DEPENDING ON N PIC N.";
    let wide = super::plan_in(&super::layout(wide), "utf-16", &Interface::default(), &Policies::default());
    assert_eq!(decode(&wide, b"1\0A\0 ").as_deref(), Ok(r#"{"N":1,"T":["A"]}"#));
    let preserve = ascii(text, &Policies { preserve: Preserve::Yes, ..Policies::default() });
    let json = decode(&preserve, b"1A2BC3").expect("kept");
    assert_eq!(encode(&preserve, &json).as_deref(), Ok(&b"1A2BC3"[..]), "{json}");
    let accept = ascii(text, &Policies { long: LengthMismatch::Accept, ..Policies::default() });
    let mut decoder = RecordDecoder::new(&accept);
    let mut writer = JsonWriter::new(accept.shape(), JsonStyle::default());
    decoder.decode(b"1A2BC3", &mut writer).expect("accepted");
    assert_eq!(
        decoder.notes().iter().map(|note| (note.kind, note.offset)).collect::<Vec<_>>(),
        [(NoteKind::Ignored, 2)]
    );
}

/// The finding did not name a missing field that is not shown.
#[test]
fn a_short_record_names_its_first_missing_field() {
    let plan = plan(
        "01 R.\n 05 A PIC X.\n 05 G.\n  10 FILLER PIC X(3).\n  10 B PIC X(2).",
        &hidden("B"),
        &Policies::default(),
    );
    expect![[r#"
        REC-011 G.FILLER: record ends before the field: it has 3 bytes, 6 are needed
    "#]]
    .assert_eq(&decode(&plan, &hex("c1c1c1")).expect_err("short"));
}

fn hidden(field: &str) -> Interface {
    let rule = quayline_cobol::FieldRule { field: field.into(), include: Some(false), ..Default::default() };
    Interface { fields: vec![rule], ..Interface::default() }
}

/// Short records were accepted without a note. Lines have none, because editors cut the blanks at their ends.
#[test]
fn accepted_short_records_are_noted() {
    for (policy, words) in [
        (ShortRecord::Pad, "shorter than the layout; blanks are added"),
        (ShortRecord::Null, "shorter than the layout; fields after the end are null"),
    ] {
        let plan =
            ascii("01 R.\n 05 A PIC X(2).\n 05 B PIC X(2).", &Policies { short: Some(policy), ..Policies::default() });
        let noted = |mut decoder: RecordDecoder, record: &[u8]| {
            let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
            decoder.decode(record, &mut writer).expect("accepted");
            decoder.notes().iter().map(|note| (note.kind, note.offset)).collect::<Vec<_>>()
        };
        assert_eq!(noted(RecordDecoder::new(&plan), b"aa"), [(NoteKind::Short, 2)]);
        assert_eq!(noted(RecordDecoder::new(&plan), b"aabb"), []);
        assert_eq!(noted(RecordDecoder::of_lines(&plan), b"aa"), []);
        assert_eq!(NoteKind::Short.words(&plan, None), (format!("record is {words}"), format!("records are {words}")));
    }
}

/// A COMP item with more digits than its picture was read without a note.
#[test]
fn binaries_beyond_their_pictures_are_noted() {
    let plan =
        ascii("01 R.\n 05 A PIC S9(4) COMP.\n 05 B PIC 9(3) COMP.\n 05 C PIC S9(4) COMP-5.", &Policies::default());
    let mut decoder = RecordDecoder::new(&plan);
    let mut noted = |record: &str| {
        let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
        decoder.decode(&hex(record), &mut writer).expect("decodes");
        decoder.notes().iter().map(|note| (note.kind, note.offset)).collect::<Vec<_>>()
    };
    assert_eq!(noted("270f03e77fff"), []);
    assert_eq!(noted("271003e87fff"), [(NoteKind::BeyondPicture, 0), (NoteKind::BeyondPicture, 2)]);
    assert_eq!(noted("d8f0ffff7fff"), [(NoteKind::BeyondPicture, 0), (NoteKind::BeyondPicture, 2)]);
    let nulled = ascii("01 R.\n 05 A PIC 9(2).", &Policies { invalid: BadValue::Null, ..Policies::default() });
    let mut decoder = RecordDecoder::new(&nulled);
    let mut writer = JsonWriter::new(nulled.shape(), JsonStyle::default());
    decoder.decode(b"1x", &mut writer).expect("nulled");
    assert_eq!(decoder.notes().len(), 1);
}

const MIXED: &str = "01 R.
 05 A PIC X(3).
 05 N PIC 9(2).
 05 T OCCURS 0 TO 4 DEPENDING ON N.
  10 U PIC X(2).
  10 V PIC 9.
 05 P PIC S9(3) COMP-3.
 05 Z PIC X(4).";

proptest! {
    /// For a record of any length, each byte is in the document, or the record is refused, or the bytes are noted: the encoding of the document
    /// is a prefix of the record.
    #[test]
    fn no_byte_of_a_short_or_long_record_is_lost(
        count in 0u8..=4,
        letters in prop::collection::vec(prop::sample::select(b"AZ09 ".to_vec()), 40),
        cut in 0usize..30,
        policy in prop::sample::select(vec![ShortRecord::Error, ShortRecord::Pad, ShortRecord::Null]),
        long in prop::sample::select(vec![LengthMismatch::Error, LengthMismatch::Accept]),
    ) {
        let policies = Policies { short: Some(policy), long, blank: BadValue::Null, ..Policies::default() };
        let plan = ascii(MIXED, &policies);
        let mut record = letters[..3].to_vec();
        record.extend(format!("0{count}").bytes());
        for row in letters[3..].chunks(2).take(count.into()) {
            record.extend(row);
            record.push(b'7');
        }
        record.extend([0x12, 0x3c]);
        record.extend(&letters[20..]);
        record.truncate(cut);
        let mut decoder = RecordDecoder::new(&plan);
        let mut seen = Texts { plan: &plan, text: Vec::new() };
        if decoder.decode(&record, &mut seen).is_ok() {
            let noted = decoder.notes().iter().find(|note| note.kind == NoteKind::Ignored).map(|note| note.offset);
            let end = noted.unwrap_or(record.len());
            // Blanks that pad say nothing; every other byte is in a value, in the order of the record.
            let ink = |bytes: &[u8]| bytes.iter().filter(|b| **b != b' ').copied().collect::<Vec<_>>();
            let padding = record[..end].iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
            let whole = ink(&record[..padding]);
            let tail = whole.len().saturating_sub(seen.text.len());
            prop_assert_eq!(&whole[..whole.len() - tail], &seen.text[..whole.len().min(seen.text.len())]);
            let rest = &whole[whole.len() - tail..];
            prop_assert!(rest.is_empty(), "{rest:?} of {record:?}");
        }
    }
}

/// A sink that collects the bytes of a record from its values.
struct Texts<'p> {
    plan: &'p RecordPlan,
    text: Vec<u8>,
}

impl Sink for Texts<'_> {
    fn enter(&mut self, _: quayline_core::NodeId) {}
    fn leave(&mut self, _: quayline_core::NodeId) {}
    fn open_list(&mut self, _: quayline_core::NodeId) {}
    fn close_list(&mut self, _: quayline_core::NodeId) {}
    fn value(&mut self, node: quayline_core::NodeId, value: quayline_core::Value<'_>) {
        use quayline_core::Value;
        let name = &self.plan.shape().node(node).name;
        match value {
            Value::Ascii(run) | Value::Text(run) => self.text.extend(run.bytes().iter().filter(|b| **b != b' ')),
            Value::Digits(_) if name == "P" => self.text.extend([0x12, 0x3c]),
            Value::Digits(digits) => self.text.extend(digits.digits.bytes()),
            _ => {}
        }
    }
    fn discard(&mut self) {}
}

/// Lines are padded with the blank of their code page.
#[test]
fn lines_of_ebcdic_are_padded_in_their_code_page() {
    let plan = plan_in(&layout(TEXTS), "cp037", &Interface::default(), &Policies::default());
    let mut bytes = Vec::new();
    Charset::by_name("cp037").expect("known").encode_into("AAAAABBB", &mut bytes).expect("in the page");
    assert_eq!(line(&plan, &bytes).as_deref(), Ok(r#"{"A":"AAAAA","B":"BBB","C":""}"#));
}

const VIEWS: &str = "01 R.\n 05 K PIC X(2).\n 05 A PIC X(10).\n 05 B REDEFINES A PIC 9(4).\n 05 Z PIC 9(3).";

/// A record that ended inside one view was read as null in the following fields, without a finding: the dropped view left its mark, so every
/// other view seemed to fit, and the end of the record was not checked.
#[test]
fn a_dropped_view_does_not_hide_that_the_record_ends() {
    let plan = ascii(VIEWS, &Policies::default());
    expect![[r#"
        REC-011 A: record ends before the field: it has 6 bytes, 12 are needed
    "#]]
    .assert_eq(&decode(&plan, b"K1ABCD").expect_err("no view fits"));
    expect![[r#"
        REC-011 Z: record ends before the field: it has 6 bytes, 15 are needed
    "#]]
    .assert_eq(&decode(&plan, b"K11234").expect_err("a view fits, the fields after it are missing"));
    assert_eq!(
        decode(&plan, b"K1ABCDEFGHIJ123").as_deref(),
        Ok(r#"{"K":"K1","A":"ABCDEFGHIJ","B":null,"Z":123}"#),
        "a whole record whose digits fit one view only"
    );
    // The view that ends first is not always the first one.
    let other = "01 R.\n 05 K PIC X(2).\n 05 B PIC 9(4).\n 05 A REDEFINES B PIC X(10).\n 05 Z PIC 9(3).";
    let plan = ascii(other, &Policies::default());
    assert!(decode(&plan, b"K1ABCD").expect_err("neither fits").contains("REC-"), "a fault of either view");
}

proptest! {
    #[test]
    fn no_prefix_of_a_record_with_views_is_accepted(
        first in 1usize..12, second in 1usize..12, bytes in proptest::collection::vec(prop_oneof![Just(b'7'), Just(b'X')], 40),
        numeric in any::<bool>(), group in any::<bool>(), cut in 0usize..40,
    ) {
        let (a, b) = if numeric { ("X", "9") } else { ("9", "X") };
        let second = second.min(first);
        let view = if group {
            format!(" 05 B REDEFINES A.\n  10 B-1 PIC {b}({second}).")
        } else {
            format!(" 05 B REDEFINES A PIC {b}({second}).")
        };
        let plan = ascii(&format!("01 R.\n 05 K PIC X(2).\n 05 A PIC {a}({first}).\n{view}\n 05 Z PIC X(3)."), &Policies::default());
        let whole = 2 + first + 3;
        let cut = cut.min(whole - 1);
        let decoded = decode(&plan, &bytes[..cut]);
        prop_assert!(decoded.is_err(), "{cut} of {whole} bytes were accepted: {decoded:?}");
    }
}

const CUT: &str = "01 R.
 05 K PIC X(2).
 05 T PIC X(3).
 05 N PIC 9(3).
 05 B PIC S9(4) COMP.
 05 F COMP-2.
 05 L PIC 9.
 05 TB OCCURS 0 TO 3 DEPENDING ON L.
  10 TX PIC X(2).
  10 TN PIC 9(3) COMP.";

/// Regression: a record that ended before a number or the counter of a table came back at its full length, or its document was refused.
#[test]
fn preserved_short_records_come_back_at_their_length() {
    let mut whole = b"AAtxt012\0\x07\x40\x59\0\0\0\0\0\x002".to_vec();
    whole.extend(b"ab\0\x01cd\0\x02");
    let nulls = [BadValue::Error, BadValue::Null];
    for (policy, blank, low_values) in [
        (ShortRecord::Null, nulls[0], nulls[0]),
        (ShortRecord::Null, nulls[1], nulls[0]),
        (ShortRecord::Null, nulls[0], nulls[1]),
        (ShortRecord::Pad, nulls[1], nulls[0]),
        (ShortRecord::Pad, nulls[1], nulls[1]),
    ] {
        let back = Policies { preserve: Preserve::Yes, blank, low_values, ..Policies::default() };
        let there = ascii(CUT, &Policies { short: Some(policy), ..back.clone() });
        let back = ascii(CUT, &back);
        for cut in (0..=whole.len()).rev() {
            let Ok(json) = decode(&there, &whole[..cut]) else { continue };
            assert_eq!(
                encode(&back, &json).as_deref(),
                Ok(&whole[..cut]),
                "{policy:?} {blank:?} {low_values:?} {json}"
            );
            // A CSV file leaves out members without a value, and elements without one.
            let mut document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            let members = document.as_object_mut().expect("an object");
            members.retain(|_, value| !value.is_null());
            let rows = members["TB"].as_array_mut().expect("a list");
            rows.retain(|row| row.as_object().is_some_and(|row| row.values().any(|value| !value.is_null())));
            let fewer = document.to_string();
            assert_eq!(
                encode(&back, &fewer).as_deref(),
                Ok(&whole[..cut]),
                "{policy:?} {blank:?} {low_values:?} {fewer}"
            );
        }
    }
}

/// An element that the bytes have is missing from the document, and the record does not end before it.
#[test]
fn a_list_shorter_than_its_counter_is_refused_if_the_record_has_its_elements() {
    let policies = Policies { preserve: Preserve::Yes, short: Some(ShortRecord::Null), ..Policies::default() };
    let plan = ascii("01 R.\n 05 L PIC 9.\n 05 T PIC X(2) OCCURS 0 TO 3 DEPENDING ON L.\n 05 Z PIC X(2).", &policies);
    let json = decode(&plan, b"2abcd").expect("decodes");
    assert_eq!(encode(&plan, &json).as_deref(), Ok(&b"2abcd"[..]));
    let fewer = json.replace(r#","cd""#, "");
    assert_ne!(fewer, json);
    assert!(encode(&plan, &fewer).expect_err("one element is missing").starts_with("REC-031"));
}
