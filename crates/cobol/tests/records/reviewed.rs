//! Faults that a reader of the documents found, each as its smallest record.

use quayline_cobol::copybook::{self, ParseOptions, SourceText};
use quayline_cobol::layout::Dialect;
use quayline_cobol::{FieldRule, FieldValues, Interface, Policies, Preserve};

use super::{decode, ebcdic, encode, hex, layout, plan, plan_in, to_hex};

fn plain(lines: &str) -> quayline_cobol::RecordPlan {
    plan(lines, &Interface::default(), &Policies::default())
}

/// Text of a UTF-16 file of printable ASCII bytes was read as ASCII, and ASCII text was written with one byte for each character. The plan used
/// the ASCII table for every code other than a single-byte page. For UTF-16 it now uses a table without any text, so that such text always goes
/// through the decoder and is padded with whole characters.
#[test]
fn utf_16_text_is_never_ascii() {
    let layout = layout("01 R.\n 05 A PIC X(4).");
    for (page, json, bytes) in [
        ("utf-16be", r#"{"A":"中中"}"#, "4e2d4e2d"),
        ("utf-16be", r#"{"A":"扡"}"#, "62610020"),
        ("utf-16be", r#"{"A":"ab"}"#, "00610062"),
        ("utf-16be", r#"{"A":"a"}"#, "00610020"),
        ("utf-16be", r#"{"A":""}"#, "00200020"),
        ("utf-16le", r#"{"A":"慡b"}"#, "61616200"),
        ("utf-16le", r#"{"A":"a"}"#, "61002000"),
    ] {
        let plan = plan_in(&layout, page, &Interface::default(), &Policies::default());
        assert_eq!(decode(&plan, &hex(bytes)).as_deref(), Ok(json), "{page} {bytes}");
        assert_eq!(encode(&plan, json).map(|record| to_hex(&record)).as_deref(), Ok(bytes), "{page} {json}");
    }
    let plan = plan_in(&layout, "utf-16be", &Interface::default(), &Policies::default());
    assert_eq!(encode(&plan, "{}").map(|record| to_hex(&record)).as_deref(), Ok("00200020"));
}

/// Slack after an occurrence was written as spaces, slack before a field as zeros. Both must be zeros.
#[test]
fn slack_behind_an_occurrence_is_zero() {
    let plan = plain("01 R.\n 05 T OCCURS 2.\n  10 A PIC X.\n  10 B PIC S9(4) COMP SYNC.\n  10 C PIC X.\n 05 Z PIC X.");
    let record = hex("c1000007c200 c3000008c400 e9");
    let json = r#"{"T":[{"A":"A","B":7,"C":"B"},{"A":"C","B":8,"C":"D"}],"Z":"Z"}"#;
    assert_eq!(decode(&plan, &record).as_deref(), Ok(json));
    assert_eq!(encode(&plan, json), Ok(record));
}

/// PIC 1 showed any character, even one that could not be written again.
#[test]
fn a_boolean_holds_zeros_and_ones() {
    let plan = plain("01 R.\n 05 A PIC 1(2).");
    assert_eq!(decode(&plan, &ebcdic("10")).as_deref(), Ok(r#"{"A":"10"}"#));
    for (bytes, code) in [(ebcdic("A1"), "REC-001"), (ebcdic("12"), "REC-001"), (ebcdic("  "), "REC-004")] {
        let faults = decode(&plan, &bytes).expect_err("no boolean");
        assert!(faults.starts_with(code), "{faults}");
    }
}

/// After the first significant digit, an edited item was read as if zeros were still suppressed: `1 2` was 102 in `ZZZ`, `12-34` was 1234 in
/// `99/99`, `$1$9` was 109 in `$$$9`. Language Reference, Zero suppression and replacement editing, Floating insertion editing: suppression and
/// replacement end at the first nonzero digit or at the decimal point.
#[test]
fn suppression_ends_at_the_first_digit() {
    for (picture, text) in [
        ("ZZZ", "1 2"),
        ("ZZZ9", "1  5"),
        ("***9", "1*25"),
        ("$$$9", "$1$9"),
        ("----9", "-1 23"),
        ("+++9", "+1-9"),
        ("99/99", "12-34"),
        ("Z,ZZ9", "1 123"),
        ("99B99", "12x34"),
        ("9900", "1234"),
        ("9.9", "1 2"),
        ("$$,$$9", " $1 23"),
    ] {
        let plan = plain(&format!("01 R.\n 05 A PIC {picture}."));
        let faults = decode(&plan, &ebcdic(text)).expect_err(&format!("{text:?} is no {picture}"));
        assert!(faults.starts_with("REC-007"), "{picture} {text}: {faults}");
    }
    // Leading zeros that should have been suppressed say the same number.
    let plan = plain("01 R.\n 05 A PIC Z,ZZ9.99.");
    for text in ["0,001.25", " ,  1.25", "    1.25"] {
        assert_eq!(decode(&plan, &ebcdic(text)).as_deref(), Ok(r#"{"A":1.25}"#), "{text}");
    }
}

/// A binary item may contain more digits than its picture (TRUNC(BIN), or a program that moved a group). With `_preserve` it comes back.
#[test]
fn preserved_binaries_may_have_more_digits() {
    let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
    let plan = plan("01 R.\n 05 A PIC 9(4) COMP.", &Interface::default(), &policies);
    let json = decode(&plan, &hex("ffff")).expect("a binary");
    assert_eq!(encode(&plan, &json), Ok(hex("ffff")), "{json}");
}

/// A currency sign of several characters was ignored without a finding, since text before the data division is not checked. Its picture symbol
/// was then unknown.
#[test]
fn a_long_currency_sign_is_refused_where_it_stands() {
    let text = "       SPECIAL-NAMES.\n           CURRENCY SIGN IS 'EUR' WITH PICTURE SYMBOL 'F'.\n       DATA DIVISION.\n       \
                WORKING-STORAGE SECTION.\n       01 R.\n           05 A PIC FF9.\n";
    let findings =
        quayline_cobol::parse(&SourceText::new("t.cpy", text), &ParseOptions::default()).expect_err("not supported");
    let text = findings.to_string();
    assert!(text.contains("currency sign") && text.contains("t.cpy:2:"), "{text}");
}

/// Planning searched all fields of a group for the redefinitions of each: 20,000 fields took seconds. Now they are collected once.
#[test]
fn planning_is_linear_in_the_fields_of_a_group() {
    use std::fmt::Write;
    let cost = |fields: usize| {
        let mut lines = String::from("01 R.\n");
        for i in 0..fields {
            writeln!(lines, " 05 A{i} PIC X.").expect("a string");
        }
        let layout = layout(&lines);
        // The shortest of several runs: another process may interrupt one.
        let run = || {
            let start = std::time::Instant::now();
            plan_in(&layout, "cp037", &Interface::default(), &Policies::default());
            start.elapsed()
        };
        (0..4).map(|_| run()).min().expect("four runs")
    };
    let (some, many) = (cost(4_000), cost(16_000));
    assert!(many < some * 5 + std::time::Duration::from_millis(50), "4,000 fields {some:?}, 16,000 fields {many:?}");
}

/// Each field that a map leaves unset was searched for among all redefinitions and counters.
#[test]
fn the_unset_fields_of_a_record_are_found_in_linear_time() {
    use std::fmt::Write;
    let cost = |fields: usize| {
        let mut lines = String::from("01 R.\n 05 N PIC 9.\n");
        for i in 0..fields {
            writeln!(lines, " 05 A{i} PIC XX.\n 05 B{i} REDEFINES A{i} PIC 99.").expect("a string");
        }
        lines.push_str(" 05 T OCCURS 0 TO 9 DEPENDING ON N PIC X.\n");
        let plan = plan_in(&layout(&lines), "cp037", &Interface::default(), &Policies::default());
        let leaves = || plan.shape().iter().filter(|(_, node)| node.scalar().is_some()).map(|(node, _)| node);
        let start = std::time::Instant::now();
        let unset = leaves().filter(|leaf| plan.needs_value(*leaf, |_| false)).count();
        assert_eq!(leaves().filter(|leaf| plan.counted_list(*leaf).is_some()).count(), 1);
        (unset, start.elapsed())
    };
    let ((few, some), (all, many)) = (cost(4_000), cost(16_000));
    assert!(all > few && few >= 4_000, "{few} and {all} fields need a value");
    assert!(many < some * 6 + std::time::Duration::from_millis(50), "4,000 fields {some:?}, 16,000 fields {many:?}");
}

/// Tabs pushed a clause beyond column 72, and the field had another usage and length without a finding.
#[test]
fn text_that_tabs_push_past_column_72_is_refused() {
    let text = "       01 R.\n\t\t     05  A                                   PIC S9(5)      COMP-3.\n";
    let parse = |format| {
        let options = ParseOptions { format, ..ParseOptions::default() };
        quayline_cobol::parse(&SourceText::new("t.cpy", text), &options)
    };
    let said = parse(copybook::Format::Auto).expect_err("a clause is cut").to_string();
    assert!(said.contains("COB-004") && said.contains("column 72") && said.contains("--source-format free"), "{said}");
    assert!(parse(copybook::Format::Free).is_ok());
}

/// Of each character of several bytes, an edited text got the first byte only.
#[test]
fn edited_text_has_the_bytes_of_its_characters() {
    let layout = layout("01 R.\n 05 A PIC XX/X.");
    for (page, json, bytes) in [
        ("utf-8", r#"{"A":"é/X"}"#, Ok("c3a92f58")),
        ("utf-8", r#"{"A":"é"}"#, Ok("c3a92f20")),
        ("utf-8", r#"{"A":"aé"}"#, Err("REC-028")),
        ("utf-8", r#"{"A":"ab/é"}"#, Err("REC-021")),
        ("ISO-8859-1", r#"{"A":"é"}"#, Ok("e9202f20")),
        ("cp037", r#"{"A":"ab/c"}"#, Ok("81826183")),
        ("utf-16be", r#"{"A":"a/b"}"#, Err("REC-028")),
    ] {
        let plan = plan_in(&layout, page, &Interface::default(), &Policies::default());
        let written = encode(&plan, json).map(|record| to_hex(&record));
        match bytes {
            Ok(bytes) => {
                assert_eq!(written.as_deref(), Ok(bytes), "{page} {json}");
                let read = decode(&plan, &hex(bytes)).expect("it can be read");
                assert!(read.starts_with(&json[..json.len() - 2]), "{page} {json} {read}");
            }
            Err(code) => {
                assert!(written.as_ref().is_err_and(|faults| faults.contains(code)), "{page} {json} {written:?}")
            }
        }
    }
}

/// The time of a document grew with the square of its tables that have a counter of their own.
#[test]
fn counters_of_many_tables_take_a_time_that_grows_with_their_number() {
    const TABLES: usize = 300_000;
    let plan = plain(
        "01 R.\n 05 N PIC 9(6) COMP.\n 05 T OCCURS 1 TO 300000 DEPENDING ON N.\n  10 M PIC 9.\n  10 U PIC X OCCURS 0 TO 1 DEPENDING ON M.",
    );
    let elements = vec![r#"{"M":0,"U":[]}"#; TABLES].join(",");
    let began = std::time::Instant::now();
    let record = encode(&plan, &format!(r#"{{"N":{TABLES},"T":[{elements}]}}"#)).expect("it can be written");
    assert_eq!(record.len(), 4 + TABLES);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Level-88 names were compared by bytes, so a number with another sign code had none.
#[test]
fn a_number_has_its_name_whatever_its_sign_code() {
    let rule = FieldRule { field: "R".into(), values: Some(FieldValues::Names), ..FieldRule::default() };
    let interface = Interface { fields: vec![rule], ..Interface::default() };
    let copybook =
        "01 R.\n 05 ST PIC S9.\n  88 ACTIVE VALUE 1.\n  88 NONE VALUE 0.\n 05 K PIC 9 COMP-3.\n  88 LIVE VALUE 1.";
    let plan = plan(copybook, &interface, &Policies::default());
    for (bytes, json) in [
        ("c11f", r#"{"ST":"ACTIVE","K":"LIVE"}"#),
        ("f11c", r#"{"ST":"ACTIVE","K":"LIVE"}"#),
        ("e11a", r#"{"ST":"ACTIVE","K":"LIVE"}"#),
        ("d12f", r#"{"ST":"-1","K":"2"}"#),
        ("d02f", r#"{"ST":"-0","K":"2"}"#),
    ] {
        assert_eq!(decode(&plan, &hex(bytes)).as_deref(), Ok(json), "{bytes}");
    }
}

/// A VALUE in its edited form was no number, and the field got zero. Enterprise COBOL, Language Reference, VALUE clause.
#[test]
fn a_value_of_an_edited_item_is_stored_without_editing() {
    for (field, text) in [
        ("PIC 99/99/9999 VALUE '01/01/1900'", "01/01/1900"),
        ("PIC $Z,ZZ9.99CR VALUE '$    1.50  '", "$    1.50  "),
        ("PIC ZZ9 VALUE '  7'", "  7"),
        ("PIC XX/XX VALUE 'AB/CD'", "AB/CD"),
        ("PIC XX/XX VALUE ZERO", "00000"),
    ] {
        let plan = plain(&format!("01 R.\n 05 D {field}.\n 05 X PIC X."));
        assert_eq!(encode(&plan, r#"{"X":"a"}"#), Ok(ebcdic(&format!("{text}a"))), "{field}");
    }
    let plan = plain("01 R.\n 05 A PIC N(4) JUST VALUE N'AB'.\n 05 X PIC X.");
    assert_eq!(encode(&plan, r#"{"X":"a"}"#).map(|bytes| to_hex(&bytes)).as_deref(), Ok("004100420020002081"));
}

/// An unsigned number of 16 bytes was negative if its highest bit was set.
#[test]
fn an_unsigned_binary_of_16_bytes_is_never_negative() {
    let layout = super::layout_with("01 R.\n 05 N PIC X(16) COMP-X.", &Dialect::MICRO_FOCUS);
    let plan = plan_in(&layout, "latin1", &Interface::default(), &Policies::default());
    for (bytes, number) in [
        ("ffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"),
        ("80000000000000000000000000000000", "170141183460469231731687303715884105728"),
        ("7fffffffffffffffffffffffffffffff", "170141183460469231731687303715884105727"),
    ] {
        assert_eq!(decode(&plan, &hex(bytes)), Ok(format!(r#"{{"N":{number}}}"#)));
    }
}
