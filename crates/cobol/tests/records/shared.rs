//! Counters and selectors in storage that views share.

use quayline_charset::Charset;
use quayline_cobol::layout::Dialect;
use quayline_cobol::{Extent, Interface, NullAs, Policies, RecordDecoder, RecordPlan, RedefinesChoice};
use quayline_json::{JsonStyle, JsonWriter};

use super::{encode, layout, layout_with, plan_in};

const COUNTER: &str = "01 R.\n 05 SEL PIC 9.\n 05 A.\n  10 N PIC 9.\n  10 FILLER PIC X.\n 05 B REDEFINES A.\n  10 T PIC XX.\n \
                       05 TAB OCCURS 0 TO 3 DEPENDING ON N PIC X.";
/// The counter is in an inner redefinition.
const INNER: &str = "01 R.\n 05 SEL PIC 9.\n 05 A.\n  10 M PIC X.\n  10 G REDEFINES M.\n   15 N PIC 9.\n  10 FILLER PIC X.\n \
                     05 B REDEFINES A.\n  10 T PIC XX.\n 05 TAB OCCURS 0 TO 3 DEPENDING ON N PIC X.";
const SELECTOR: &str = "01 R.\n 05 SEL PIC 9.\n 05 A.\n  10 K PIC 9.\n  10 FILLER PIC X.\n 05 B REDEFINES A.\n  10 T PIC XX.\n \
                        05 P PIC XX.\n 05 Q REDEFINES P PIC 99.";

fn choice(storage: &str, by: &str, cases: [(&str, &str); 2]) -> RedefinesChoice {
    let cases = cases.map(|(value, view)| (vec![value.into()], view.into())).into();
    RedefinesChoice { storage: storage.into(), by: by.into(), cases, otherwise: None }
}

fn by_sel() -> RedefinesChoice {
    choice("A", "SEL", [("1", "A"), ("2", "B")])
}

fn chosen(lines: &str, dialect: &Dialect, choices: Vec<RedefinesChoice>) -> RecordPlan {
    let interface = Interface { choices, ..Interface::default() };
    plan_in(&layout_with(lines, dialect), "ascii", &interface, &Policies::default())
}

/// Checks the documents of records that one decoder reads in turn, and of each record alone.
fn check(plan: &RecordPlan, records: &[(&str, &str)]) {
    let read = |decoder: &mut RecordDecoder, record: &str| {
        let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
        decoder.decode(record.as_bytes(), &mut writer).unwrap_or_else(|faults| panic!("{record}: {faults:?}"));
        String::from_utf8(writer.bytes().to_vec()).expect("JSON is UTF-8").trim_end().to_owned()
    };
    let mut one = RecordDecoder::new(plan);
    for (record, expected) in records.iter().chain(records.iter().rev()) {
        assert_eq!(read(&mut one, record), *expected, "{record} after others");
        assert_eq!(read(&mut RecordDecoder::new(plan), record), *expected, "{record} alone");
        assert_eq!(plan.extent(record.as_bytes()), Extent::Bytes(record.len()), "{record}");
    }
}

/// Regression: a record with another view than that of the counter had the count of the record before, or no count. Now each record finds
/// the counters of all views before it chooses one.
#[test]
fn a_counter_in_a_view_counts_in_records_with_another_view() {
    for (lines, view) in [(COUNTER, r#""A":{"N":2}"#), (INNER, r#""A":{"M":"2","G":{"N":2}}"#)] {
        let first = format!(r#"{{"SEL":1,{view},"TAB":["X","Y"]}}"#);
        let other = r#"{"SEL":2,"B":{"T":"3."},"TAB":["X","Y","Z"]}"#;
        check(&chosen(lines, &Dialect::IBM, vec![by_sel()]), &[("12.XY", &first), ("23.XYZ", other)]);
        check(&chosen(lines, &Dialect::GNUCOBOL, vec![by_sel()]), &[("12.XYZ", &first), ("23.XYZ", other)]);
    }
}

/// Regression: a selector in a view chose by the byte at the place that it had in the record before.
#[test]
fn a_selector_in_a_view_chooses_in_records_with_another_view() {
    let choices = vec![by_sel(), choice("P", "K", [("1", "P"), ("2", "Q")])];
    let plan = chosen(SELECTOR, &Dialect::IBM, choices);
    check(
        &plan,
        &[
            ("11.07", r#"{"SEL":1,"A":{"K":1},"P":"07"}"#),
            ("21.07", r#"{"SEL":2,"B":{"T":"1."},"P":"07"}"#),
            ("22.07", r#"{"SEL":2,"B":{"T":"2."},"Q":7}"#),
        ],
    );
}

/// Regression: the count of a list replaced a byte that another view of the document had given.
#[test]
fn the_count_of_a_list_agrees_with_another_view_of_the_counter() {
    for (lines, dialect) in [(COUNTER, &Dialect::IBM), (INNER, &Dialect::IBM), (COUNTER, &Dialect::GNUCOBOL)] {
        let plan = chosen(lines, dialect, vec![by_sel()]);
        let of = |text: &str| encode(&plan, &format!(r#"{{"SEL":2,"B":{{"T":"{text}"}},"TAB":["X","Y"]}}"#));
        let told = of("Z.").expect_err("T has the byte of N");
        assert!(told.starts_with("REC-032 $.TAB: ") && told.lines().count() == 1, "{told}");
        assert!(of("2.").expect("they agree").starts_with(b"22.XY"));
    }
    // A null counter takes the count, as an absent one does.
    let interface = Interface { choices: vec![by_sel()], ..Interface::default() };
    let policies = Policies { null: Some(NullAs::Zeros), ..Policies::default() };
    let plan = plan_in(&layout_with(COUNTER, &Dialect::GNUCOBOL), "ascii", &interface, &policies);
    let bytes = encode(&plan, r#"{"SEL":1,"A":{"N":null},"TAB":["X","Y"]}"#).expect("the count of TAB");
    assert!(bytes.starts_with(b"12"), "{bytes:?}");
}

fn refused(lines: &str, choice: RedefinesChoice) -> String {
    let interface = Interface { choices: vec![choice], ..Interface::default() };
    let charset = Charset::by_name("ascii").expect("a known page");
    let made = RecordPlan::new(&layout(lines), &interface, &Policies::default(), charset);
    made.map(|_| ()).expect_err("the choice is wrong").to_string()
}

/// Regression: the decoder took the first byte of a record for the value of a selector that is a table.
#[test]
fn a_table_is_not_a_selector() {
    let lines = "01 R.\n 05 F PIC 9.\n 05 K PIC 9 OCCURS 2.\n 05 P PIC XX.\n 05 Q REDEFINES P PIC 99.";
    let told = refused(lines, choice("P", "K", [("1", "P"), ("2", "Q")]));
    assert!(told.contains("PLN-003") && told.contains("`K` cannot choose a view of `P`"), "{told}");
}

/// Regression: Quayline ignored a choice for storage that nothing redefines.
#[test]
fn a_choice_needs_a_redefinition() {
    let lines = "01 R.\n 05 K PIC X.\n 05 Z PIC XX.\n 05 P PIC XX.\n 05 Q REDEFINES P PIC 99.";
    let told = refused(lines, choice("Z", "K", [("q", "Z"), ("r", "Z")]));
    assert!(told.contains("PLN-003") && told.contains("nothing redefines `Z`"), "{told}");
}
