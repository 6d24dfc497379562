//! Initial values of views: absent members of a redefinition had the bytes of the original.

use quayline_cobol::{Absent, FieldRule, Interface, Policies, RecordPlan, RedefinesChoice};

use super::{decode, ebcdic, encode, plan, to_hex};

const LINES: &str = "01 R.\n 05 K PIC X.\n 05 A PIC X(7).\n 05 B REDEFINES A.\n  10 N PIC 9(2).\n  10 P PIC S9(3) COMP-3.\n  10 FILLER PIC X.\n  \
                     10 Q PIC 9.\n 05 C REDEFINES A.\n  10 D PIC 9(5).\n  10 E PIC XX.";

fn choice() -> RedefinesChoice {
    RedefinesChoice {
        storage: "A".into(),
        by: "K".into(),
        cases: vec![(vec!["B".into()], "B".into()), (vec!["C".into()], "C".into())],
        otherwise: Some("A".into()),
    }
}

/// Shows a redefinition in place of the original.
fn only(view: &str, originals: &[&str]) -> Interface {
    let rule = |field: &str, include| FieldRule { field: field.into(), include: Some(include), ..FieldRule::default() };
    let fields = originals.iter().map(|field| rule(field, false)).chain([rule(view, true)]).collect();
    Interface { fields, ..Interface::default() }
}

fn with(interface: &Interface, absent: Absent) -> RecordPlan {
    plan(LINES, interface, &Policies { absent, ..Policies::default() })
}

#[test]
fn absent_members_of_a_redefinition_have_their_initial_values() {
    for absent in [Absent::Value, Absent::Initialize] {
        let plan = with(&Interface::default(), absent);
        assert_eq!(encode(&plan, r#"{"K":"x"}"#), Ok(ebcdic("x       ")));
        // N, P of +0, a space, Q, and the last byte of the original.
        let part = encode(&plan, r#"{"K":"x","B":{"N":7}}"#).expect("written");
        assert_eq!(to_hex(&part), "a7 f0f7 000c 40 f0 40".replace(' ', ""));
        // Views of the original come first: the absent members of the others have its bytes.
        let both = encode(&plan, r#"{"K":"x","B":{"N":7},"A":"07"}"#).expect("written");
        assert_eq!(both, ebcdic("x07     "));
    }
    // Bytes that neither view gives have the initial values of the first view in the copybook.
    let lines = "01 R.\n 05 U.\n  10 A PIC X.\n  10 B PIC 9.\n  10 C PIC 9.\n 05 V REDEFINES U.\n  10 D PIC X.\n  10 E PIC X.\n  10 F PIC X.";
    let two = plan(lines, &Interface::default(), &Policies::default());
    assert_eq!(encode(&two, r#"{"V":{"F":"5"},"U":{"A":"x"}}"#), Ok(ebcdic("x05")));
    assert_eq!(encode(&two, r#"{"V":{"F":"5"}}"#), Ok(ebcdic("  5")));
    let low = with(&Interface::default(), Absent::LowValues);
    assert_eq!(encode(&low, r#"{"B":{"N":7}}"#).map(|record| to_hex(&record)).as_deref(), Ok("00f0f70000000000"));
}

#[test]
fn the_selector_chooses_the_initial_values_of_a_view_that_the_document_lacks() {
    let plan = with(&Interface { choices: vec![choice()], ..Interface::default() }, Absent::Value);
    for (document, read) in [
        (r#"{"K":"B"}"#, r#"{"K":"B","B":{"N":0,"P":0,"Q":0}}"#),
        (r#"{"K":"C"}"#, r#"{"K":"C","C":{"D":0,"E":""}}"#),
        (r#"{"K":"?"}"#, r#"{"K":"?","A":""}"#),
        (r#"{"K":"B","B":{"Q":3}}"#, r#"{"K":"B","B":{"N":0,"P":0,"Q":3}}"#),
    ] {
        let record = encode(&plan, document).expect(document);
        assert_eq!(decode(&plan, &record).as_deref(), Ok(read), "{document}");
    }
}

#[test]
fn elements_of_tables_have_the_initial_values_of_their_view() {
    let lines = format!(
        "01 T.\n 05 L PIC 9.\n 05 R OCCURS 0 TO 4 DEPENDING ON L.\n{}",
        &LINES["01 R.\n".len()..].replace(" 05", "  07")
    );
    for choices in [vec![], vec![choice()]] {
        let chosen = !choices.is_empty();
        let plan = plan(&lines, &Interface { choices, ..Interface::default() }, &Policies::default());
        let document = r#"{"R":[{"K":"A","A":"text"},{"K":"B","B":{"P":-12}},{"K":"C","C":{"E":"e"}}]}"#;
        let record = encode(&plan, document).expect("written");
        let expected = ["a3", "c1 a385a7a3 404040", "c2 f0f0 012d 40f040", "c3 f0f0f0f0f0 8540"].concat();
        assert_eq!(to_hex(&record).get(2..), Some(&expected.replace(' ', "")[2..]), "{chosen}");
    }
    let plan = plan(&lines, &Interface { choices: vec![choice()], ..Interface::default() }, &Policies::default());
    let record = encode(&plan, r#"{"R":[{"K":"C"},{"K":"?"},{"K":"B"},{"K":"B"}]}"#).expect("written");
    let read = r#"{"L":4,"R":[{"K":"C","C":{"D":0,"E":""}},{"K":"?","A":""},{"K":"B","B":{"N":0,"P":0,"Q":0}},{"K":"B","B":{"N":0,"P":0,"Q":0}}]}"#;
    assert_eq!(decode(&plan, &record).as_deref(), Ok(read));
}

/// A record whose documents show a redefinition only had the initial values of the original, which no document shows.
#[test]
fn a_record_without_its_view_begins_with_the_first_that_is_shown() {
    let plan = with(&only("B", &["A", "C"]), Absent::Initialize);
    let record = encode(&plan, r#"{"K":"x"}"#).expect("written");
    assert_eq!(to_hex(&record), "a7 f0f0 000c 40 f0 40".replace(' ', ""));
    let named = Interface { views: vec!["C".into()], ..Interface::default() };
    assert_eq!(encode(&with(&named, Absent::Value), "{}"), Ok(ebcdic(" 00000  ")));
}

/// The VALUE clause of the original is the content of the storage until a document has a redefinition.
#[test]
fn a_value_clause_of_the_original_counts_unless_the_document_has_a_redefinition() {
    let lines = "01 R.\n 05 D PIC 9(4) VALUE 2026.\n 05 P REDEFINES D.\n  10 C PIC 99.\n  10 Y PIC 99.";
    for interface in [Interface::default(), only("P", &["D"])] {
        let plan = plan(lines, &interface, &Policies::default());
        assert_eq!(encode(&plan, "{}"), Ok(ebcdic("2026")));
    }
    let value = plan(lines, &Interface::default(), &Policies::default());
    assert_eq!(encode(&value, r#"{"P":{"C":19}}"#), Ok(ebcdic("1900")));
    let initialize = Policies { absent: Absent::Initialize, ..Policies::default() };
    assert_eq!(encode(&plan(lines, &Interface::default(), &initialize), "{}"), Ok(ebcdic("0000")));
}

#[test]
fn defaults_of_a_redefinition_are_among_its_initial_values() {
    let rule = FieldRule { field: "Q".into(), default: Some("9".into()), ..FieldRule::default() };
    let plan = with(&Interface { fields: vec![rule], choices: vec![choice()], ..Interface::default() }, Absent::Value);
    let record = encode(&plan, r#"{"K":"B","B":{"N":1}}"#).expect("written");
    assert_eq!(decode(&plan, &record).as_deref(), Ok(r#"{"K":"B","B":{"N":1,"P":0,"Q":9}}"#));
    // The default does not reach into another view that the document has.
    let other = encode(&plan, r#"{"K":"C","C":{"D":1}}"#).expect("written");
    assert_eq!(decode(&plan, &other).as_deref(), Ok(r#"{"K":"C","C":{"D":1,"E":""}}"#));
}

/// Regression: a selector inside a redefinition did not choose initial values, and the record had those of another view.
#[test]
fn selectors_inside_of_redefinitions_choose_initial_values() {
    let lines = |value: &str| {
        format!(
            "01 R.\n 05 K PIC X{value}.\n 05 A PIC X(8).\n 05 B REDEFINES A.\n  10 S PIC X{value}.\n  10 U PIC X(7) VALUE 'INNER-1'.\n  \
             10 V REDEFINES U.\n   15 P PIC 9(3) VALUE 321.\n   15 Q PIC X(4) VALUE 'QQQQ'."
        )
    };
    let choose = |storage: &str, by: &str, cases: [(&str, &str); 2]| RedefinesChoice {
        storage: storage.into(),
        by: by.into(),
        cases: cases.map(|(value, view)| (vec![value.into()], view.into())).to_vec(),
        otherwise: None,
    };
    let choices = vec![choose("A", "K", [("A", "A"), ("2", "B")]), choose("U", "S", [("1", "U"), ("2", "V")])];
    let interface = Interface { choices: choices.clone(), ..Interface::default() };
    let flat = plan(&lines(""), &interface, &Policies::default());
    for (document, record) in [
        (r#"{"K":"2","B":{"S":"2"}}"#, "22321QQQQ"),
        (r#"{"K":"2","B":{"S":"1"}}"#, "21INNER-1"),
        (r#"{"K":"2","B":{"S":"2","V":{"P":5}}}"#, "22005QQQQ"),
        (r#"{"K":"A"}"#, "A        "),
    ] {
        assert_eq!(encode(&flat, document), Ok(ebcdic(record)), "{document}");
    }
    // The selectors have their values from VALUE clauses, the inner one in the view that the outer one chooses.
    let of_values = plan(&lines(" VALUE '2'"), &interface, &Policies::default());
    assert_eq!(encode(&of_values, "{}"), Ok(ebcdic("22321QQQQ")));

    // A table in the redefinition, and a default of a view that only some elements have.
    let table = "01 R.\n 05 K PIC X.\n 05 A PIC X(8).\n 05 B REDEFINES A.\n  10 T OCCURS 2.\n   15 S PIC X.\n   15 U PIC X(3) VALUE 'IN1'.\n   \
                 15 V REDEFINES U PIC 9(3).";
    let rule = FieldRule { field: "V".into(), default: Some("777".into()), ..FieldRule::default() };
    let interface = Interface { choices, fields: vec![rule], ..Interface::default() };
    let table = plan(table, &interface, &Policies::default());
    let record = encode(&table, r#"{"K":"2","B":{"T":[{"S":"2"},{"S":"1"}]}}"#);
    assert_eq!(record, Ok(ebcdic("227771IN1")));
}

/// Regression: an absent view did not count as an absent member, and Quayline wrote initial values.
#[test]
fn an_absent_view_is_an_error_if_absent_members_are() {
    let chosen = with(&Interface { choices: vec![choice()], ..Interface::default() }, Absent::Error);
    let plain = with(&Interface::default(), Absent::Error);
    for (plan, document, expected) in [
        (&chosen, r#"{"K":"B"}"#, Err("REC-033 $.B")),
        (&chosen, r#"{"K":"x"}"#, Err("REC-033 $.A")),
        (&chosen, r#"{"K":"B","B":{"N":1,"P":2,"Q":3}}"#, Ok(())),
        (&chosen, r#"{"K":"B","B":{"N":1,"Q":3}}"#, Err("REC-033 $.B.P")),
        (&plain, r#"{"K":"B"}"#, Err("REC-033 $.A")),
        (&plain, r#"{"K":"B","A":"text"}"#, Ok(())),
        (&plain, r#"{"K":"B","C":{"D":1,"E":""}}"#, Ok(())),
    ] {
        match (encode(plan, document), expected) {
            (Ok(_), Ok(())) => {}
            (Err(told), Err(expected)) => {
                assert!(told.starts_with(expected) && told.lines().count() == 1, "{document}: {told}")
            }
            (found, _) => panic!("{document}: {found:?}"),
        }
    }
}
