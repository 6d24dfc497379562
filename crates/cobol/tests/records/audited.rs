//! Faults that a reader of the sources found, each as its smallest record.

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::Dialect;
use quayline_cobol::{FieldRule, FieldValues, Interface, Policies, RecordEncoder, RecordPlan, RedefinesChoice};
use quayline_core::{NodeId, Sink as _, Value};
use quayline_json::{JsonReader, ReaderOptions};

use super::{decode, ebcdic, encode, hex, layout, layout_with, plan, plan_in, to_hex};

fn plain(lines: &str) -> RecordPlan {
    plan(lines, &Interface::default(), &Policies::default())
}

fn ascii(lines: &str, dialect: &Dialect) -> RecordPlan {
    plan_in(&layout_with(lines, dialect), "ascii", &Interface::default(), &Policies::default())
}

/// `02` never was the value of a numeric selector, so that the view of `otherwise` was read, or no record.
#[test]
fn a_numeric_selector_chooses_by_its_value() {
    let choose = |cases: &[(&str, &str)]| RedefinesChoice {
        storage: "A".into(),
        by: "KIND".into(),
        cases: cases.iter().map(|(value, view)| (vec![(*value).to_owned()], (*view).to_owned())).collect(),
        otherwise: Some("A".into()),
    };
    let lines = "01 R.\n 05 KIND PIC S9(3)V9.\n 05 A PIC X(4).\n 05 B REDEFINES A PIC 9(4).";
    for case in ["2", "02", "2.0", "+2.00"] {
        let interface = Interface { choices: vec![choose(&[("01", "A"), (case, "B")])], ..Interface::default() };
        let plan = plan(lines, &interface, &Policies::default());
        assert_eq!(decode(&plan, &ebcdic("002{1234")).as_deref(), Ok(r#"{"KIND":2.0,"B":1234}"#), "{case}");
        assert_eq!(decode(&plan, &ebcdic("001{1234")).as_deref(), Ok(r#"{"KIND":1.0,"A":"1234"}"#), "{case}");
    }
    let interface = Interface { choices: vec![choose(&[("1A", "B")])], ..Interface::default() };
    let charset = Charset::by_name("cp037").expect("a known page");
    let told = RecordPlan::new(&layout(lines), &interface, &Policies::default(), charset).map(|_| ()).expect_err("1A");
    assert!(told.to_string().contains("PLN-007") && told.to_string().contains("1A"), "{told}");
}

/// Figurative constants wrote bytes of the record's code page into national and UTF-8 items.
#[test]
fn figurative_constants_have_the_class_of_their_item() {
    let plan = plain(
        "01 R.\n 05 A PIC N(2) VALUE SPACES.\n 05 B PIC N(2) VALUE ZEROS.\n 05 C PIC N(3) VALUE ALL N\"*-\".\n 05 D PIC U(2) VALUE SPACE.\n \
         05 E PIC X(2) VALUE QUOTES.\n 05 F PIC 9(2) VALUE ZERO.\n 05 G PIC X(3) VALUE ALL \"ab\".",
    );
    let record = encode(&plan, "{}").expect("written");
    assert_eq!(
        to_hex(&record),
        format!("00200020 00300030 002a002d002a {} 7f7f f0f0 818281", "20".repeat(record.len() - 14 - 7))
            .replace(' ', "")
    );
    let utf16 = plan_in(
        &layout("01 R.\n 05 A PIC X(4) VALUE ALL \"*\".\n 05 B PIC X(4) VALUE SPACES."),
        "utf-16be",
        &Interface::default(),
        &Policies::default(),
    );
    assert_eq!(encode(&utf16, "{}").map(|record| to_hex(&record)).as_deref(), Ok("002a002a00200020"));
}

/// The VALUE of a group is text over its items. cobc gives the same bytes.
#[test]
fn the_value_of_a_group_is_written_over_its_items() {
    let plan = plain(
        "01 R.\n 05 A VALUE \"ABC123\".\n  10 B PIC X(3).\n  10 C PIC 9(3).\n 05 T VALUE ZERO.\n  10 D PIC X(2) OCCURS 2.\n 05 E PIC X.",
    );
    assert_eq!(encode(&plan, "{}"), Ok(ebcdic("ABC1230000 ")));
    assert_eq!(encode(&plan, r#"{"A":{"C":7}}"#), Ok(ebcdic("ABC0070000 ")));
}

/// A name whose value is shorter than its item was the name of that value and low-values. cobc's SET writes spaces.
#[test]
fn names_of_short_values_are_padded_with_spaces() {
    let rule = FieldRule { field: "S".into(), values: Some(FieldValues::Names), ..FieldRule::default() };
    let interface = Interface { fields: vec![rule], ..Interface::default() };
    let plan = plan("01 R.\n 05 S PIC X(4).\n  88 C VALUE X'01'.", &interface, &Policies::default());
    assert_eq!(decode(&plan, &hex("01404040")).as_deref(), Ok(r#"{"S":"C"}"#));
    assert_eq!(encode(&plan, r#"{"S":"C"}"#), Ok(hex("01404040")));
}

/// A comma at the start of a picture was taken for a separator: the field was a byte shorter. cobc gives 4 bytes.
#[test]
fn a_picture_may_begin_with_a_comma() {
    let plan = plain("01 R.\n 05 A PIC ,999.\n 05 B PIC X.");
    assert_eq!(decode(&plan, &ebcdic(",123B")).as_deref(), Ok(r#"{"A":123,"B":"B"}"#));
    // Commas between values and without blanks still separate.
    let plan = plain("01 R.\n 05 A PIC X, VALUE \"A\".\n  88 B VALUES \"A\",\"B\".\n 05 C ,PIC X.");
    assert_eq!(encode(&plan, "{}"), Ok(ebcdic("A ")));
}

/// The slack of nested tables was spaces, depending on the numbers of their occurrences.
#[test]
fn slack_in_nested_tables_is_zero() {
    let lines = "01 R.\n 05 G OCCURS 3.\n  10 A PIC X.\n  10 T OCCURS 2 PIC S9(4) COMP SYNC.";
    assert_eq!(encode(&plain(lines), "{}").map(|r| to_hex(&r)).as_deref(), Ok("400000000000400000000000400000000000"));
}

/// National text that is justified lost the blanks at its end, and moved to the right.
#[test]
fn justified_national_text_comes_back() {
    let plan = plain("01 R.\n 05 A PIC N(4) JUST.");
    let record = hex("0020 0041 0042 0020");
    let json = decode(&plan, &record).expect("decodes");
    assert_eq!(encode(&plan, &json), Ok(record), "{json}");
    assert_eq!(encode(&plan, r#"{"A":"AB      "}"#).map(|r| to_hex(&r)).as_deref(), Ok("0041004200200020"));
}

/// A decimal number in COMP-1 was rounded to a double first, and one below the least single became 0.
#[test]
fn a_single_is_the_nearest_to_the_decimal_number() {
    let plan = ascii("01 R.\n 05 A COMP-1.", &Dialect::GNUCOBOL);
    let bytes = |json: &str| encode(&plan, json);
    assert_eq!(bytes(r#"{"A":1.00000005960464477539063}"#), Ok(1.000_000_1_f32.to_le_bytes().to_vec()));
    for tiny in ["1e-400", "-1e-50", "1e-46"] {
        let mut encoder = RecordEncoder::new(&plan);
        encoder.enter(NodeId::ROOT);
        encoder.value(NodeId(1), Value::Text(tiny.as_bytes().into()));
        encoder.leave(NodeId::ROOT);
        assert_eq!(encoder.take().expect_err(tiny).0[0].kind.code().0, "REC-025");
        // JSON finds it before.
        let json = format!("{{\"A\":{tiny}}}");
        let read = JsonReader::new(plan.shape(), ReaderOptions::default()).read(json.as_bytes(), &mut encoder);
        assert!(read.is_err(), "{tiny}");
    }
    assert_eq!(bytes(r#"{"A":0e-400}"#), Ok(0f32.to_le_bytes().to_vec()));
}

/// A hexadecimal COMP-2 with 56 bits was rounded to the 53 of a double without a word.
#[test]
fn rounded_floats_are_counted() {
    let notes = |record: &str| {
        let plan = plain("01 R.\n 05 A COMP-2.");
        let mut decoder = quayline_cobol::RecordDecoder::new(&plan);
        let mut writer = quayline_json::JsonWriter::new(plan.shape(), quayline_json::JsonStyle::default());
        decoder.decode(&hex(record), &mut writer).expect("a float");
        decoder.notes().iter().map(|note| note.kind.code().0).collect::<Vec<_>>()
    };
    assert_eq!(notes("41f1111111111111"), ["REC-045"]);
    for exact in ["41f1111111111110", "4110000000000000", "0000000000000000", "c1ffffffffffff00"] {
        assert_eq!(notes(exact), [""; 0], "{exact}");
    }
}

/// A value that a float cannot hold became the nearest without a word.
#[test]
fn nearest_floats_are_counted() {
    let notes = |dialect: &Dialect, usage: &str, value: Value<'_>| {
        let plan = ascii(&format!("01 R.\n 05 A {usage}."), dialect);
        let mut encoder = RecordEncoder::new(&plan);
        encoder.enter(NodeId::ROOT);
        encoder.value(NodeId(1), value);
        encoder.leave(NodeId::ROOT);
        encoder.take().expect("a number");
        encoder.notes().iter().map(|note| note.kind.code().0).collect::<Vec<_>>()
    };
    let text = |text: &'static str| Value::Text(text.as_bytes().into());
    let gnu = &Dialect::GNUCOBOL;
    for rounded in [text("16777217"), Value::Int(16_777_217, 0), Value::Float64(16_777_217.0), text("3.14159265")] {
        assert_eq!(notes(gnu, "COMP-1", rounded), ["REC-049"], "{rounded:?}");
    }
    for kept in [text("16777216"), text(" 0.1 "), Value::Int(1, 1), Value::Float64(0.1), Value::Float32(0.1), text("0")]
    {
        assert_eq!(notes(gnu, "COMP-1", kept), [""; 0], "{kept:?}");
    }
    assert_eq!(notes(gnu, "COMP-2", text("9007199254740993")), ["REC-049"]);
    for kept in [text("9007199254740992"), text("0.1"), Value::Float64(1.0 / 3.0), Value::Float32(0.1)] {
        assert_eq!(notes(gnu, "COMP-2", kept), [""; 0], "{kept:?}");
    }
    // A hexadecimal single has 21 to 24 bits.
    assert_eq!(notes(&Dialect::IBM, "COMP-1", Value::Float32(0.123_456_79)), ["REC-049"]);
    for kept in [Value::Float32(0.1), Value::Float32(0.123_456), text("0.123456")] {
        assert_eq!(notes(&Dialect::IBM, "COMP-1", kept), [""; 0], "{kept:?}");
    }
}

/// Regression: below the normalized floats, a number was written up to 20 % wrong without a finding.
#[test]
fn digits_that_an_unnormalized_float_loses_are_counted() {
    let written = |usage: &str, number: &str| {
        let plan = plain(&format!("01 R.\n 05 A {usage}."));
        let mut encoder = RecordEncoder::new(&plan);
        encoder.enter(NodeId::ROOT);
        encoder.value(NodeId(1), Value::Text(number.as_bytes().into()));
        encoder.leave(NodeId::ROOT);
        let bytes = encoder.take().expect("a number").to_vec();
        let codes = encoder.notes().iter().map(|note| note.kind.code().0).collect::<Vec<_>>();
        (decode(&plan, &bytes).expect("a float"), codes)
    };
    for (usage, number) in [("COMP-2", "1e-94"), ("COMP-2", "-1e-94"), ("COMP-2", "1e-80"), ("COMP-1", "1e-83")] {
        assert_eq!(written(usage, number).1, ["REC-049"], "{usage} {number}");
    }
    for (usage, number) in [("COMP-2", "1e-78"), ("COMP-1", "1e-78"), ("COMP-2", "0"), ("COMP-1", "0.1")] {
        assert_eq!(written(usage, number).1, [""; 0], "{usage} {number}");
    }
    // A number of a record is written back without a note.
    for (usage, number) in [("COMP-2", "1e-94"), ("COMP-1", "1e-83")] {
        let read = written(usage, number).0;
        let again = read.trim().trim_start_matches("{\"A\":").trim_end_matches('}');
        assert_eq!(written(usage, again), (read.clone(), vec![]), "{usage}");
    }
}

/// A number below the least hexadecimal float became 0 silently, and the bits of one near it were cut.
#[test]
fn hexadecimal_floats_have_a_least_number() {
    for (usage, least, bytes) in [("COMP-1", "5.2e-85", "000000"), ("COMP-2", "1.2e-94", "00000000000000")] {
        let plan = plain(&format!("01 R.\n 05 A {usage}."));
        let written = |number: &str| encode(&plan, &format!("{{\"A\":{number}}}"));
        for tiny in ["1e-300", "-1e-100", "2e-95"] {
            assert!(written(tiny).expect_err(tiny).contains("REC-025"), "{usage} {tiny}");
        }
        assert_eq!(written(least).map(|r| to_hex(&r)), Ok(format!("{bytes}01")), "{usage}");
        assert_eq!(written("0").map(|r| to_hex(&r)), Ok(format!("{bytes}00")), "{usage}");
    }
}

/// A currency sign beyond ASCII never was the sign of its picture.
#[test]
fn a_pound_sign_is_read_and_written() {
    let mut dialect = Dialect::IBM;
    dialect.set("currency", "£").expect("a setting");
    let picture = dialect.picture_settings();
    let options = ParseOptions { picture: &picture, ..ParseOptions::default() };
    let parsed = quayline_cobol::parse(&SourceText::new("t.cpy", "       01 R.\n        05 A PIC ££9.99.\n"), &options);
    let parsed = parsed.unwrap_or_else(|findings| panic!("{findings}"));
    let layout = quayline_cobol::layout::Layout::build(&parsed.records[0], &Dialect::IBM).expect("a layout");
    let plan = plan_in(&layout, "cp285", &Interface::default(), &Policies::default());
    let mut bytes = Vec::new();
    Charset::by_name("cp285").expect("known").encode_into("£12.50", &mut bytes).expect("in the page");
    assert_eq!(decode(&plan, &bytes).as_deref(), Ok(r#"{"A":12.50}"#));
    assert_eq!(encode(&plan, r#"{"A":12.50}"#), Ok(bytes));
    let plan = plan_in(&layout, "ascii", &Interface::default(), &Policies::default());
    let told = encode(&plan, r#"{"A":12.50}"#).expect_err("ASCII has no such sign");
    assert!(told.starts_with("REC-022"), "{told}");
}

/// GnuCOBOL does not move what follows a table, but ends a record of variable length with its last occurrence.
#[test]
fn a_record_may_end_with_the_last_occurrence_where_tables_do_not_slide() {
    let plan = ascii("01 R.\n 05 N PIC 9.\n 05 T OCCURS 0 TO 5 DEPENDING ON N PIC X(3).", &Dialect::GNUCOBOL);
    for (record, json) in [
        ("2abcdef", r#"{"N":2,"T":["abc","def"]}"#),
        ("0", r#"{"N":0,"T":[]}"#),
        ("1abc            ", r#"{"N":1,"T":["abc"]}"#),
        ("1abcdef", r#"{"N":1,"T":["abc"]}"#),
    ] {
        assert_eq!(decode(&plan, record.as_bytes()).as_deref(), Ok(json), "{record}");
    }
    for short in ["2abcde", "3abcdef"] {
        let told = decode(&plan, short.as_bytes()).expect_err(short);
        assert!(told.starts_with("REC-011") || told.starts_with("REC-014"), "{told}");
    }
}

/// A fragment of a program with DECIMAL-POINT IS COMMA was read with a decimal point: 1.23456 for 1234.56.
#[test]
fn a_decimal_comma_is_a_setting() {
    let mut dialect = Dialect::IBM;
    dialect.set("decimal", "comma").expect("a setting");
    let picture = dialect.picture_settings();
    let options = ParseOptions { picture: &picture, ..ParseOptions::default() };
    let text = "       01 R.\n        05 A PIC 9.999,99.\n        05 B PIC ,99 VALUE ,25.\n";
    let parsed = quayline_cobol::parse(&SourceText::new("t.cpy", text), &options);
    let parsed = parsed.unwrap_or_else(|findings| panic!("{findings}"));
    let layout = quayline_cobol::layout::Layout::build(&parsed.records[0], &dialect).expect("a layout");
    let plan = plan_in(&layout, "cp037", &Interface::default(), &Policies::default());
    assert_eq!(decode(&plan, &ebcdic("1.234,56,25")).as_deref(), Ok(r#"{"A":1234.56,"B":0.25}"#));
    assert_eq!(encode(&plan, r#"{"A":1234.56}"#), Ok(ebcdic("1.234,56,25")));
}

/// A float far from 1 has many zeros as text, which were more than a number may have.
#[test]
fn a_float_far_from_one_is_a_number() {
    let mut encoder = RecordEncoder::new(&plain("01 R.\n 05 A PIC 9(4)."));
    for (x, code) in [(1e-70, "REC-024"), (1e300, "REC-023")] {
        encoder.enter(NodeId::ROOT);
        encoder.value(NodeId(1), Value::Float64(x));
        encoder.leave(NodeId::ROOT);
        let faults = encoder.take().expect_err("does not fit");
        assert_eq!(faults.0[0].kind.code().0, code, "{x}");
    }
}

/// Quayline wrote spaces for the VALUE of a double-byte item, or the bytes of hexadecimal digits in the literal. `iconv` to IBM930, 933, 935 and
/// 937 returns the expected bytes.
#[test]
fn values_of_double_byte_items() {
    let copybook = "01 R.\n 05 A PIC G(3) DISPLAY-1 VALUE G\"ＡＺ\".\n 05 B PIC G(2) VALUE GX\"42C14EA3\".\n 05 C PIC G(2) VALUE X'4281'.\n \
         05 D PIC G(3) VALUE ALL G'９'.\n 05 E PIC G VALUE SPACES.\n 05 F PIC G(2) VALUE G'4142'.\n 05 G PIC G VALUE G'\u{5c71}'.\n 05 H PIC G.";
    let record = encode(&plain(copybook), "{}").expect("written");
    assert_eq!(to_hex(&record), "42c142e94040 42c14ea3 42814040 42f942f942f9 4040 40404040 4040 4040".replace(' ', ""));
    let told: Vec<String> = super::layout(copybook).warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|finding| finding.contains("COB-054")), "{told:?}");
}
