//! Dates of records as ISO 8601 text.

use proptest::prelude::*;
use quayline_charset::Charset;
use quayline_cobol::{BadValue, FieldRule, Interface, NullAs, Policies, Preserve, RecordPlan};
use quayline_core::DatePattern;

use crate::{decode, ebcdic, encode, layout, plan};

fn dates(rules: &[(&str, &str)]) -> Interface {
    let rule = |(field, pattern): &(&str, &str)| FieldRule {
        field: (*field).into(),
        date: Some(DatePattern::parse(pattern).expect("a pattern")),
        ..FieldRule::default()
    };
    Interface { fields: rules.iter().map(rule).collect(), ..Interface::default() }
}

const COPYBOOK: &str = "01 R.
   05 BORN PIC 9(8).
   05 PAID PIC X(10).
   05 DUE PIC S9(7) COMP-3.
   05 SENT PIC 9(8) COMP OCCURS 2.
   05 SEEN PIC 99/99/99.
   05 COUNTER PIC 9.
";

const RULES: [(&str, &str); 5] =
    [("BORN", "yyyyMMdd"), ("PAID", "dd.MM.yyyy"), ("DUE", "yyyyDDD"), ("SENT", "yyyyMMdd"), ("SEEN", "MMddyy")];

const RECORD: &str = "2026112704.05.1999";

fn record(front: &str, seen: &str) -> Vec<u8> {
    let sent = [19_500_101u32, 20_240_229].map(u32::to_be_bytes).concat();
    [ebcdic(front), vec![0x20, 0x26, 0x33, 0x1c], sent, ebcdic(seen), ebcdic("7")].concat()
}

#[test]
fn dates_are_iso_text_and_come_back() {
    let plan = plan(COPYBOOK, &dates(&RULES), &Policies::default());
    let record = record(RECORD, "11/27/26");
    let document = r#"{"BORN":"2026-11-27","PAID":"1999-05-04","DUE":"2026-11-27","SENT":["1950-01-01","2024-02-29"],"SEEN":"2026-11-27","COUNTER":7}"#;
    assert_eq!(decode(&plan, &record).as_deref(), Ok(document));
    assert_eq!(encode(&plan, document), Ok(record));
    assert_eq!(plan.moments().len(), 5);
    let nodes: Vec<String> = plan.moments().iter().map(|(node, _)| plan.shape().path(*node)).collect();
    assert_eq!(nodes, ["BORN", "PAID", "DUE", "SENT", "SEEN"]);
}

#[test]
fn what_is_not_a_date_is_told_in_both_directions() {
    let plan = plan(COPYBOOK, &dates(&RULES), &Policies::default());
    let told = |front: &str| decode(&plan, &record(front, "11/27/26")).expect_err("no date");
    assert!(told("2026113104.05.1999").starts_with("REC-038 BORN: "), "{}", told("2026113104.05.1999"));
    assert!(told("0000000004.05.1999").starts_with("REC-038 BORN: "), "zeros are not null");
    assert!(told("2026112730.02.1999").starts_with("REC-038 PAID: "), "30 February");
    assert!(told("202611271999-05-04").starts_with("REC-038 PAID: "), "another form");
    assert!(told("20261127          ").starts_with("REC-004 PAID: "), "blanks");
    let document = |born: &str| {
        format!(
            r#"{{"BORN":{born},"PAID":"1999-05-04","DUE":"2026-11-27","SENT":["1950-01-01","2024-02-29"],"SEEN":"2026-11-27","COUNTER":7}}"#
        )
    };
    for wrong in ["\"20261127\"", "\"2026-11-31\"", "\"2026-11-27T00:00:00\"", "\"0x00\""] {
        let told = encode(&plan, &document(wrong)).expect_err(wrong);
        assert!(told.starts_with("REC-038 $.BORN: "), "{wrong}: {told}");
    }
    let told = encode(&plan, &document("\"\"")).expect_err("empty");
    assert!(told.starts_with("REC-035 $.BORN: "), "{told}");
    // Two digits of a year reach from 1950 to 2049.
    let told = encode(&plan, &document("\"2026-11-27\"").replace("\"SEEN\":\"2026", "\"SEEN\":\"2050"));
    assert!(told.as_ref().is_err_and(|told| told.starts_with("REC-038 $.SEEN: ")), "{told:?}");
}

/// Zeros, blanks, low-values and high-values in a date are null only by a policy, and come back as they were.
#[test]
fn null_dates_come_back_by_their_policy() {
    let copybook = "01 R.
   05 A PIC 9(8).
   05 B PIC X(8).
   05 C PIC X(8) VALUE HIGH-VALUES.
   05 D PIC 9(8) COMP.
";
    let names = ["A", "B", "C", "D"];
    let rules = names.map(|name| (name, "yyyyMMdd"));
    let nulls = |nulls: [Option<NullAs>; 4]| {
        let mut interface = dates(&rules);
        interface.fields.iter_mut().zip(nulls).for_each(|(rule, null)| rule.null = null);
        interface
    };
    let empty = [ebcdic("00000000"), ebcdic("        "), vec![0xff; 8], vec![0; 4]].concat();
    let document = r#"{"A":null,"B":null,"C":null,"D":null}"#;
    let of_rules = nulls([Some(NullAs::Zeros), Some(NullAs::Spaces), Some(NullAs::Value), Some(NullAs::LowValues)]);
    let all = plan(copybook, &of_rules, &Policies::default());
    assert_eq!(decode(&all, &empty).as_deref(), Ok(document));
    assert_eq!(encode(&all, document), Ok(empty.clone()));
    // Without the rule of one field, that field is a fault.
    for (at, name) in names.iter().enumerate() {
        let mut interface = of_rules.clone();
        interface.fields[at].null = None;
        let told = decode(&plan(copybook, &interface, &Policies::default()), &empty).expect_err(name);
        assert!(told.contains(&format!(" {name}: ")) && told.lines().count() == 1, "{name}: {told}");
        let told = encode(&plan(copybook, &interface, &Policies::default()), document).expect_err(name);
        assert!(told.starts_with(&format!("REC-035 $.{name}: ")), "{told}");
    }
    let blank = Policies { blank: BadValue::Null, ..Policies::default() };
    let blanks = [ebcdic("        "), ebcdic("        "), ebcdic("        ")].concat();
    let three = plan(&copybook.replace("   05 D PIC 9(8) COMP.\n", ""), &dates(&rules[..3]), &blank);
    assert_eq!(decode(&three, &blanks).as_deref(), Ok(r#"{"A":null,"B":null,"C":null}"#));
    assert_eq!(encode(&three, r#"{"A":null,"B":null,"C":null}"#), Ok(blanks));
    // Blanks of two bytes, and blanks that are zero.
    let others = "01 R.\n 05 A PIC N(8).\n 05 B PIC 9(8) BLANK WHEN ZERO.";
    let others = plan(others, &dates(&rules[..2]), &blank);
    let blanks = [[0x00, 0x20].repeat(8), ebcdic("        ")].concat();
    assert_eq!(decode(&others, &blanks).as_deref(), Ok(r#"{"A":null,"B":null}"#));
    assert_eq!(encode(&others, r#"{"A":null,"B":null}"#), Ok(blanks));
    let low = Policies { low_values: BadValue::Null, ..Policies::default() };
    let all = plan(copybook, &dates(&rules), &low);
    assert_eq!(decode(&all, &[0; 28]).as_deref(), Ok(document));
    assert_eq!(encode(&all, document), Ok(vec![0; 28]));
    let raw = Policies { invalid: BadValue::Raw, ..Policies::default() };
    let one = plan("01 R.\n 05 A PIC 9(8).", &dates(&rules[..1]), &raw);
    assert_eq!(decode(&one, &ebcdic("99999999")).as_deref(), Ok(r#"{"A":"0xf9f9f9f9f9f9f9f9"}"#));
    assert_eq!(encode(&one, r#"{"A":"0xf9f9f9f9f9f9f9f9"}"#), Ok(ebcdic("99999999")));
}

#[test]
fn a_pattern_that_does_not_fit_is_told_with_its_remedy() {
    let copybook = "01 R.
   05 G.
      10 A PIC 9(6).
   05 B PIC X(8).
   05 C PIC 9(8)V99.
   05 D COMP-1.
   05 E PIC N(8).
";
    let told = |field: &str, pattern: &str| {
        let interface = dates(&[(field, pattern)]);
        match RecordPlan::new(
            &layout(copybook),
            &interface,
            &Policies::default(),
            Charset::by_name("cp037").expect("known"),
        ) {
            Ok(_) => String::new(),
            Err(findings) => {
                let [finding] = &findings.0[..] else { panic!("{findings}") };
                assert_eq!(finding.code.0, "PLN-008");
                format!("{}; {}", finding.message, finding.hint.as_deref().expect("a remedy"))
            }
        }
    };
    for (field, pattern) in [("A", "yyMMdd"), ("B", "yyyyMMdd"), ("B", "yyDDD"), ("E", "yyyyMMdd")] {
        assert_eq!(told(field, pattern), "", "{field} {pattern}");
    }
    for (field, pattern, expected) in [
        (
            "A",
            "yyyyMMdd",
            "`A` has the date `yyyyMMdd`, which has 8 digits, and the field has 6; write the pattern of the digits",
        ),
        (
            "A",
            "yy-MM-dd",
            "`A` has the date `yy-MM-dd`, which has separators, and the field is a number; a number has only digits",
        ),
        ("B", "yyyy-MM-dd", "`B` has the date `yyyy-MM-dd`, which has 10 characters, and the field has 8; write"),
        ("B", "HHmmss", "`B` has the date `HHmmss`, which has a time of day; write a pattern of a year, month and day"),
        ("C", "yyyyMMdd", "`C` has the date `yyyyMMdd`, which is for a whole number, and this one has decimals; name"),
        (
            "D",
            "yyyyMMdd",
            "`D` has the date `yyyyMMdd`, which is for digits or text, and the field holds neither; name a field of digits or text",
        ),
        (
            "G",
            "yyMMdd",
            "`G` has the date `yyMMdd`, which is for one field, and this is a group; name an elementary field",
        ),
    ] {
        let told = told(field, pattern);
        assert!(told.starts_with(expected), "{told}");
    }
}

/// A day, and a pattern of separators around its parts.
fn pattern() -> impl Strategy<Value = String> {
    let year = prop::sample::select(vec!["yyyy", "yy"]);
    let order = prop::sample::select(vec!["YMD", "DMY", "MDY", "YD", "DY", "YDM"]);
    (year, order, prop::sample::select(vec!["", "-", ".", "/"])).prop_map(|(year, order, between)| {
        let is_julian = order.len() == 2;
        let part = |part: char| match part {
            'Y' => year,
            'M' => "MM",
            _ if is_julian => "DDD",
            _ => "dd",
        };
        order.chars().map(part).collect::<Vec<_>>().join(between)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
    /// Every day that a pattern can hold comes back byte for byte, in each encoding that the pattern fits.
    #[test]
    fn every_date_comes_back(
        pattern in pattern(),
        (year, month, day) in (prop_oneof![1950u32..2050, 0u32..=9999], 1u32..=12, 1u32..=31),
        clauses in prop::sample::select(vec!["9(W)", "S9(W)", "S9(W) COMP-3", "9(W) COMP-6", "9(W) COMP", "S9(9) COMP-5", "X(W)", "X(12)", "X(W) JUST", "N(W)"]),
    ) {
        let date = DatePattern::parse(&pattern).expect("a pattern");
        let clauses = clauses.replace('W', &date.width().to_string());
        let is_text = clauses.starts_with(['X', 'N']);
        prop_assume!(is_text || date.is_digits());
        let iso = format!("{year:04}-{month:02}-{day:02}");
        let plan = plan(&format!("01 R.\n 05 A PIC {clauses}."), &dates(&[("A", &pattern)]), &Policies::default());
        let document = format!(r#"{{"A":"{iso}"}}"#);
        let has_year = pattern.contains("yyyy") || (1950..2050).contains(&year);
        let exists = has_year && quayline_core::Moment::Date.read(iso.as_bytes()).is_some();
        match encode(&plan, &document) {
            Ok(record) => {
                prop_assert!(exists);
                prop_assert_eq!(decode(&plan, &record), Ok(document.clone()), "{} {}", clauses, pattern);
            }
            Err(told) => prop_assert!(!exists && told.starts_with("REC-038 "), "{}", told),
        }
    }

    /// Any bytes of a date come back from a document, or are refused; with preserved bytes, also those of null.
    #[test]
    fn no_date_changes_a_byte(
        text in prop_oneof![
            "[012][09][0-9]{2}[01][0-9][0-3][0-9]",
            Just("00000000".to_owned()),
            Just("        ".to_owned()),
            "[0-9 A-Z]{8}",
        ],
        packed in prop_oneof![Just([0u8; 4]), Just([0x40; 4]), any::<[u8; 4]>(), (0u8..=0x99, 0u8..=0x36, 0u8..10).prop_map(|(y, d, e)| [0x20, y, d, e << 4 | 0x0f])],
        bad in prop_oneof![Just(BadValue::Error), Just(BadValue::Null), Just(BadValue::Raw)],
        null in prop_oneof![Just(None), Just(Some(NullAs::Zeros)), Just(Some(NullAs::Spaces))],
    ) {
        let copybook = "01 R.\n 05 A PIC 9(8).\n 05 B PIC X(8).\n 05 C PIC S9(7) COMP-3.";
        let rules = [("A", "yyyyMMdd"), ("B", "yyyyMMdd"), ("C", "yyyyDDD")];
        let record = [ebcdic(&text), ebcdic(&text), packed.to_vec()].concat();
        let preserve = Preserve::Yes;
        let policies = Policies { invalid: bad, blank: bad, low_values: bad, null, preserve, ..Policies::default() };
        let plan = plan(copybook, &dates(&rules), &policies);
        if let Ok(document) = decode(&plan, &record) {
            prop_assert_eq!(encode(&plan, &document), Ok(record), "{}", document);
        }
    }
}

/// Regression: zeros of a packed date were null only with the sign that Quayline writes, and the hint named the `null` that was already set.
#[test]
fn zeros_are_null_with_any_valid_sign() {
    for (lines, records) in [
        ("01 R.\n 05 D PIC 9(7) COMP-3.", &["0000000f", "0000000c"][..]),
        ("01 R.\n 05 D PIC S9(7) COMP-3.", &["0000000f", "0000000c", "0000000d"]),
        ("01 R.\n 05 D PIC S9(7).", &["f0f0f0f0f0f0f0", "f0f0f0f0f0f0c0", "f0f0f0f0f0f0d0"]),
    ] {
        let rule = FieldRule { null: Some(NullAs::Zeros), ..dates(&[("D", "yyyyDDD")]).fields[0].clone() };
        let interface = Interface { fields: vec![rule], ..Interface::default() };
        let plain = plan(lines, &interface, &Policies::default());
        let kept = plan(lines, &interface, &Policies { preserve: Preserve::Yes, ..Policies::default() });
        for record in records {
            let record = super::hex(record);
            assert_eq!(decode(&plain, &record).as_deref(), Ok(r#"{"D":null}"#), "{lines} {record:02x?}");
            let json = decode(&kept, &record).expect("null");
            assert_eq!(encode(&kept, &json), Ok(record), "{json}");
        }
    }
}
