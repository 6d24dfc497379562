//! Documents that contradict themselves, invalid bytes, and names that two fields could have.

use expect_test::expect;
use quayline_charset::Charset;
use quayline_cobol::{
    BadValue, FieldRule, Interface, KeyStyle, NullAs, OriginMembers, Policies, RecordEncoder, RecordPlan,
    RedefinesChoice,
};
use quayline_core::{NodeId, NodeKind, Sink, Value};

use crate::{decode, encode, layout, plan_in};

const VIEWS: &str = "01 R.
 05 T PIC X.
 05 A PIC X(4).
 05 B REDEFINES A PIC S9(7) COMP-3.";

fn choice(by: &str, storage: &str, cases: &[(&str, &str)]) -> RedefinesChoice {
    RedefinesChoice {
        storage: storage.into(),
        by: by.into(),
        cases: cases.iter().map(|(value, view)| (vec![(*value).to_owned()], (*view).to_owned())).collect(),
        otherwise: None,
    }
}

fn chosen(lines: &str, choices: Vec<RedefinesChoice>, policies: &Policies) -> RecordPlan {
    plan_in(&layout(lines), "ascii", &Interface { choices, ..Interface::default() }, policies)
}

/// `[[choose]]` had no effect on writing: T selected B, and the bytes were those of A.
#[test]
fn a_document_has_the_view_that_its_selector_chooses() {
    let cases = [("1", "A"), ("2", "B")];
    let plan = chosen(VIEWS, vec![choice("T", "A", &cases)], &Policies::default());
    assert_eq!(encode(&plan, r#"{"T":"1","A":"xx"}"#).as_deref(), Ok(&b"1xx  "[..]));
    assert_eq!(encode(&plan, r#"{"B":5,"T":"2"}"#).as_deref(), Ok(&b"2\0\0\0\x5c"[..]));
    // Both, if they agree.
    assert!(encode(&plan, r#"{"T":"1","A":"1234","B":3132333}"#).is_err());
    let mut text = String::new();
    for json in [
        r#"{"T":"2","A":"xx"}"#,
        r#"{"T":"1","B":5}"#,
        r#"{"T":"9","B":5}"#,
        r#"{"A":"xx"}"#,
        r#"{"T":"1","A":"xx","B":5}"#,
    ] {
        text += &encode(&plan, json).expect_err(json);
    }
    expect![[r#"
        REC-037 $.A: the document has the view A, but T = 2 selects B
        REC-037 $.B: the document has the view B, but T = 1 selects A
        REC-037 $.B: the document has the view B, but T selects none
        REC-037 $.A: the document has the view A, but T selects none
        REC-032 $.B: value differs from what another view of the same bytes says
    "#]]
    .assert_eq(&text);
}

/// The selector in an occurrence chooses for that occurrence; one outside of the table chooses for all.
#[test]
fn selectors_in_and_around_tables() {
    let lines = "01 R.
 05 K PIC X.
 05 E OCCURS 2.
  10 T PIC X.
  10 A PIC X(2).
  10 B REDEFINES A PIC 99.
  10 X PIC X(2).
  10 Y REDEFINES X PIC 99.";
    let choices = vec![choice("T", "A", &[("1", "A"), ("2", "B")]), choice("K", "X", &[("x", "X"), ("y", "Y")])];
    let plan = chosen(lines, choices, &Policies::default());
    let good = r#"{"K":"y","E":[{"T":"1","A":"ab","Y":7},{"T":"2","B":12,"Y":8}]}"#;
    assert_eq!(encode(&plan, good).as_deref(), Ok(&b"y1ab0721208"[..]));
    let bad = r#"{"K":"x","E":[{"T":"1","A":"ab","X":"q"},{"T":"1","B":12,"Y":8}]}"#;
    expect![[r#"
        REC-037 $.E[1].B: the document has the view B, but T = 1 selects A
        REC-037 $.E[1].Y: the document has the view Y, but K = x selects X
    "#]]
    .assert_eq(&encode(&plan, bad).expect_err("other views"));
}

/// A view inside a view that the record does not have.
#[test]
fn a_selector_inside_of_a_view() {
    let lines = "01 R.
 05 T PIC X.
 05 A PIC X(3).
 05 B REDEFINES A.
  10 U PIC X.
  10 C PIC X(2).
  10 D REDEFINES C PIC 99.";
    let choices = vec![choice("T", "A", &[("1", "A"), ("2", "B")]), choice("U", "C", &[("c", "C"), ("d", "D")])];
    let plan = chosen(lines, choices, &Policies::default());
    assert_eq!(encode(&plan, r#"{"T":"2","B":{"U":"d","D":5}}"#).as_deref(), Ok(&b"2d05"[..]));
    for (json, views) in [
        (r#"{"T":"2","B":{"U":"c","D":5}}"#, "U = c selects C"),
        (r#"{"T":"1","B":{"U":"d","D":5}}"#, "T = 1 selects A"),
    ] {
        let said = encode(&plan, json).expect_err(json);
        assert!(said.contains("REC-037") && said.contains(views) && said.lines().count() == 1, "{said}");
    }
}

/// Sends values by name, as columns do: those of views that a record does not have are null.
fn sent(plan: &RecordPlan, values: &[(&str, Value<'_>)]) -> Result<Vec<u8>, String> {
    let mut encoder = RecordEncoder::of_files(plan);
    encoder.enter(NodeId::ROOT);
    fn group(plan: &RecordPlan, at: NodeId, values: &[(&str, Value<'_>)], encoder: &mut RecordEncoder) {
        for child in plan.shape().children(at) {
            let node = plan.shape().node(child);
            if node.kind == NodeKind::Group {
                encoder.enter(child);
                group(plan, child, values, encoder);
                encoder.leave(child);
            } else {
                let value = values.iter().find(|(name, _)| *name == node.name).map_or(Value::Null, |(_, value)| *value);
                encoder.value(child, value);
            }
        }
    }
    group(plan, NodeId::ROOT, values, &mut encoder);
    encoder.leave(NodeId::ROOT);
    encoder
        .take()
        .map(<[u8]>::to_vec)
        .map_err(|faults| faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect())
}

/// Null members of a view that the record does not have overwrote the other view: `3pq  ` came back as `3pq\0\0`, or as REC-035.
#[test]
fn nulls_of_an_absent_view_say_nothing() {
    let lines = "01 R.
 05 T PIC X.
 05 A PIC X(4).
 05 B REDEFINES A.
  10 B1 PIC X(2).
  10 B2 PIC X(2).
 05 C REDEFINES A PIC X(2).";
    let text = |text: &'static str| Value::Ascii(text.as_bytes().into());
    let cases = [("1", "A"), ("2", "B"), ("3", "C")];
    for null in [None, Some(NullAs::LowValues), Some(NullAs::Spaces)] {
        let plan = chosen(lines, vec![choice("T", "A", &cases)], &Policies { null, ..Policies::default() });
        assert_eq!(sent(&plan, &[("T", text("3")), ("C", text("pq"))]).as_deref(), Ok(&b"3pq"[..]), "{null:?}");
        assert_eq!(sent(&plan, &[("T", text("1")), ("A", text("pqrs"))]).as_deref(), Ok(&b"1pqrs"[..]), "{null:?}");
        // A null of the view that is there is one.
        let some = sent(&plan, &[("T", text("2")), ("B1", text("pq"))]);
        match null {
            None => {
                expect!["REC-035 $.B.B2: null is not a value of a record's field\n"].assert_eq(&some.expect_err("null"))
            }
            Some(NullAs::LowValues) => assert_eq!(some.as_deref(), Ok(&b"2pq\0\0"[..])),
            _ => assert_eq!(some.as_deref(), Ok(&b"2pq  "[..])),
        }
        // Without a choice, any other view settles it.
        let plan = chosen(lines, Vec::new(), &Policies { null, ..Policies::default() });
        assert_eq!(sent(&plan, &[("T", text("3")), ("C", text("pq"))]).as_deref(), Ok(&b"3pq  "[..]), "{null:?}");
    }
}

/// `"0x…"` put arbitrary bytes into numbers, even if no policy decodes such bytes.
#[test]
fn raw_bytes_are_written_only_where_they_are_read() {
    let lines = "01 R.
 05 Z PIC 9(3).
 05 P PIC 9(3) COMP-3.
 05 F COMP-2.";
    let json = r#"{"Z":"0x414243","P":"0xffff","F":"0x0000000000000000"}"#;
    let plan = |policies: &Policies| plan_in(&layout(lines), "ascii", &Interface::default(), policies);
    expect![[r#"
        REC-026 $.Z: bytes written as 0x… are not a value of this field
        REC-026 $.P: bytes written as 0x… are not a value of this field
        REC-026 $.F: bytes written as 0x… are not a value of this field
    "#]]
    .assert_eq(&encode(&plan(&Policies::default()), json).expect_err("bytes"));
    for raw in [
        Policies { invalid: BadValue::Raw, ..Policies::default() },
        Policies { blank: BadValue::Raw, ..Policies::default() },
        Policies { low_values: BadValue::Raw, ..Policies::default() },
    ] {
        assert_eq!(encode(&plan(&raw), json).as_deref(), Ok(&b"ABC\xff\xff\0\0\0\0\0\0\0\0"[..]));
    }
}

/// In ASCII and UTF-8, text that was decoded to its raw bytes was too long for its field when it was encoded.
#[test]
fn raw_text_comes_back_in_every_code_page() {
    let lines = "01 R.
 05 A PIC X(3).
 05 B PIC X(4).";
    let policies = Policies { invalid: BadValue::Raw, ..Policies::default() };
    for page in ["ascii", "utf-8", "cp037", "latin1"] {
        let plan = plan_in(&layout(lines), page, &Interface::default(), &policies);
        let charset = Charset::by_name(page).expect("a page");
        let mut text = Vec::new();
        charset.encode_into("ab", &mut text).expect("letters");
        for record in [[&text[..], b"\xff", &text, &text].concat(), [&text[..], b"\x00", &text, &text].concat()] {
            let json = decode(&plan, &record).expect(page);
            assert_eq!(encode(&plan, &json).as_deref(), Ok(&record[..]), "{page} {json}");
        }
    }
    // Text of that length that is none does not fit.
    let plan = plan_in(&layout(lines), "ascii", &Interface::default(), &policies);
    assert!(encode(&plan, r#"{"A":"0xzzzzzz"}"#).expect_err("no digits").contains("REC-029"));
}

/// REC-021 counted bytes, but its message said characters.
#[test]
fn too_long_text_is_counted_in_what_is_said() {
    for (page, said) in
        [("utf-8", "text has 6 bytes, field holds 4"), ("latin1", "text has 5 characters, field holds 4")]
    {
        let plan = plan_in(&layout("01 R.\n 05 B PIC X(4)."), page, &Interface::default(), &Policies::default());
        let json = if page == "utf-8" { r#"{"B":"äöü"}"# } else { r#"{"B":"äöüab"}"# };
        assert!(encode(&plan, json).expect_err(page).contains(said), "{page}");
    }
}

fn names(lines: &str, key_style: KeyStyle) -> String {
    let plan = plan_in(&layout(lines), "ascii", &Interface { key_style, ..Interface::default() }, &Policies::default());
    let shape = plan.shape();
    shape.iter().skip(1).map(|(_, node)| node.name.clone()).collect::<Vec<_>>().join(" ")
}

/// A derived name could equal the name of another field: A_B was `a_b_2`, and A-B-2 `a_b_2_2`.
#[test]
fn a_derived_name_is_never_that_of_another_field() {
    let item = |name: &str| format!(" 05 {name} PIC X.\n");
    let fields = |names: &[&str]| format!("01 R.\n{}", names.iter().map(|name| item(name)).collect::<String>());
    assert_eq!(names(&fields(&["A-B", "A_B", "A-B-2"]), KeyStyle::Snake), "a_b a_b_3 a_b_2");
    assert_eq!(names(&fields(&["A-B-2", "A_B", "A-B"]), KeyStyle::Snake), "a_b_2 a_b a_b_3");
    assert_eq!(names(&fields(&["A", "B", "A"]), KeyStyle::Cobol), "A B A_2");
    assert_eq!(names(&fields(&["A", "B"]), KeyStyle::Cobol), "A B");
}

/// `[rename]` to the name of another field renamed the other field and exchanged their data.
#[test]
fn a_rename_to_a_name_that_is_taken_is_an_error() {
    let layout = layout("01 R.\n 05 A-X PIC X.\n 05 B-X PIC X.\n 05 G.\n  10 B-X PIC X.");
    let build = |rules: &[(&str, &str)]| {
        let rule = |(field, name): &(&str, &str)| FieldRule {
            field: (*field).into(),
            rename: Some((*name).into()),
            ..FieldRule::default()
        };
        let interface = Interface { fields: rules.iter().map(rule).collect(), ..Interface::default() };
        RecordPlan::new(&layout, &interface, &Policies::default(), Charset::by_name("ascii").expect("known"))
    };
    for rules in [&[("A-X", "B-X")][..], &[("B-X", "A-X")], &[("A-X", "Z"), ("B-X", "Z")]] {
        let said = build(rules).expect_err("two fields of one name").to_string();
        assert!(said.contains("PLN-006"), "{rules:?}: {said}");
    }
    for rules in [&[("A-X", "B-X"), ("B-X", "A-X")][..], &[("G.B-X", "A-X")]] {
        assert!(build(rules).is_ok(), "{rules:?}");
    }
    // Members with the origin of a record have exactly the names that the user gives.
    let numbered = |name: &str| {
        let origin = OriginMembers { number: Some(name.into()), ..OriginMembers::default() };
        let interface = Interface { origin, ..Interface::default() };
        RecordPlan::new(&layout, &interface, &Policies::default(), Charset::by_name("ascii").expect("known"))
    };
    let said = numbered("B-X").expect_err("two members of one name").to_string();
    assert!(said.contains("PLN-006") && said.contains("the origin of the record the name `B-X`"), "{said}");
    assert!(numbered("RECNO").is_ok());
}

/// The remedy for an ambiguous name contained the same path twice.
#[test]
fn two_fields_of_one_path_cannot_be_told_apart_by_a_rule() {
    let layout = layout("01 R.\n 05 A PIC X.\n 05 A PIC X.\n 05 G.\n  10 C PIC X.\n 05 H.\n  10 C PIC X.");
    let said = |field: &str| {
        let fields = vec![FieldRule { field: field.into(), include: Some(false), ..FieldRule::default() }];
        let interface = Interface { fields, ..Interface::default() };
        let plan =
            RecordPlan::new(&layout, &interface, &Policies::default(), Charset::by_name("ascii").expect("known"));
        plan.expect_err("two fields").to_string()
    };
    assert!(said("A").contains("give them names of their own in the copybook"), "{}", said("A"));
    assert!(said("C").contains("qualify it: one of"), "{}", said("C"));
}

/// Regression: members of two views left a half of a third member's bytes: D2 was written as `0q`.
#[test]
fn members_of_two_views_that_leave_half_a_number_contradict_each_other() {
    let lines = "01 R.
 05 D.
  10 D1 PIC X(2).
  10 D2 PIC 9(2).
 05 E REDEFINES D.
  10 E1 PIC 9(3).
  10 E2 PIC X.";
    let plan = plan_in(&layout(lines), "ascii", &Interface::default(), &Policies::default());
    for json in [r#"{"E":{"E2":"q"},"D":{"D1":"12"}}"#, r#"{"D":{"D1":"12"},"E":{"E2":"q"}}"#] {
        let said = encode(&plan, json).expect_err(json);
        assert!(said.starts_with("REC-032 $.") && said.lines().count() == 1, "{said}");
    }
    assert_eq!(encode(&plan, r#"{"D":{"D1":"12"}}"#).as_deref(), Ok(&b"1200"[..]));
    assert_eq!(encode(&plan, r#"{"D":{"D1":"12"},"E":{"E1":120,"E2":"7"}}"#).as_deref(), Ok(&b"1207"[..]));
}
