//! The order of the records of a family, the record type in a record's own field, and time by the size of a family.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_cobol::{Policies, Preserve};
use quayline_project::{InterfaceFile, Schema, SourceFormat, TargetFormat};

use crate::kit::*;

const BOOK: &str = "
       01 C.
          05 RT PIC X.
          05 A PIC X.
       01 O.
          05 RT PIC X.
          05 A PIC X.
       01 P.
          05 RT PIC X.
          05 A PIC X.
       01 L.
          05 RT PIC X.
          05 N PIC 9.
          05 FILLER PIC X.
";
const TYPES: &str = r#"
[records]
by = "RT"
[[records.type]]
record = "C"
value = "C"
[[records.type]]
record = "O"
value = "O"
parent = "C"
[[records.type]]
record = "P"
value = "P"
parent = "C"
[[records.type]]
record = "L"
value = "L"
parent = "O"
"#;

fn schema_of(preserve: Preserve) -> Arc<Schema> {
    let file = InterfaceFile::parse("test.toml", TYPES).expect("an interface");
    let policies = Policies { preserve, ..Policies::default() };
    Arc::new(Schema::compile(&layouts(BOOK), &file, &policies, page()).unwrap_or_else(|findings| panic!("{findings}")))
}

fn file(records: &str) -> Vec<u8> {
    records.split(' ').flat_map(|record| [ebcdic(&record.replace('_', " ")), vec![0x25]].concat()).collect()
}

fn to_records() -> TargetFormat {
    TargetFormat::Records(framing("lines:lf25"))
}

const MIXED: &str = "C1 O2 P3 O4 L1x L2_ P5 C6 P7 O8 C9 O1 P2";

/// `C1 O2 P3 O4` came back as `C1 O2 O4 P3`, also with `--preserve`, and nothing was said.
#[test]
fn the_order_of_siblings_comes_back_with_preserve() {
    let schema = schema_of(Preserve::Yes);
    for (there, back) in
        [(jsonl(), JSON), (TargetFormat::Xml(Default::default()), SourceFormat::Xml(Default::default()))]
    {
        let kit = Kit::new(Arc::clone(&schema), &file(MIXED), records("lines:lf25"), there);
        let report = kit.ok();
        assert!(report.repeated.is_empty() && report.findings.is_empty(), "{:?}", report.repeated);
        let back = Kit::new(Arc::clone(&schema), &kit.bytes("out"), back, to_records());
        back.ok();
        assert_eq!(back.bytes("out"), file(MIXED), "{}", kit.text("out"));
        // A family in order holds no places.
        assert!(!kit.text("out").lines().any(|line| line.contains("\"A\":\"9\"") && line.contains("_preserve")));
    }
}

/// Changed or added parts of such a document take the place next to their neighbours.
#[test]
fn records_without_a_place_follow_the_one_before_them() {
    let schema = schema_of(Preserve::Yes);
    let document = r##"{"C":{"A":"1","O":[{"A":"2","_preserve":"#1"},{"A":"n"},{"A":"4","L":[{"N":1}],"_preserve":"#3"}],"P":[{"A":"3","_preserve":"#2"}]}}"##;
    let kit = Kit::new(schema, document.as_bytes(), JSON, to_records());
    kit.ok();
    assert_eq!(kit.bytes("out"), file("C1 O2 On P3 O4 L1_"));
}

#[test]
fn without_preserve_the_order_is_a_counted_warning() {
    let kit = Kit::new(schema_of(Preserve::No), &file(MIXED), records("lines:lf25"), jsonl());
    let report = kit.ok();
    let said: Vec<String> = report.repeated.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("warning[CNV-032]: 2 documents have records of several types in turn"), "{said:?}");
    assert!(said[0].contains("record 4"), "{said:?}");
    let kit = Kit::new(schema_of(Preserve::No), &file("C1 O2 L1x O3 P4 P5"), records("lines:lf25"), jsonl());
    assert!(kit.ok().repeated.is_empty());
}

/// `{"C":{"RT":"O"}}` wrote a record of type O, and `"X"` one of no type.
#[test]
fn a_record_whose_type_field_says_another_type_is_refused() {
    let documents = "{\"C\":{\"RT\":\"O\",\"A\":\"1\"}}\n{\"C\":{\"RT\":\"X\",\"A\":\"1\"}}\n\
                     {\"C\":{\"A\":\"1\",\"O\":[{\"RT\":\"P\",\"A\":\"2\"}]}}\n{\"C\":{\"RT\":\"C\",\"A\":\"1\",\"O\":[{\"A\":\"2\"}]}}\n";
    let kit = Kit::new(schema_of(Preserve::No), documents.as_bytes(), JSON, to_records());
    let report = kit.ok();
    let said: Vec<String> =
        report.findings.iter().map(|finding| finding.to_string().lines().next().unwrap_or("").to_owned()).collect();
    assert_eq!(
        said,
        [
            "error[CNV-031]: the field that says the type contradicts C: the record would be read as O",
            "error[CNV-031]: the field that says the type contradicts C: the record would be of no known type",
            "error[CNV-031]: the field that says the type contradicts O: the record would be read as P",
        ]
    );
    assert_eq!(kit.bytes("out"), file("C1 O2"));
}

/// Each child looked for its parent from the end of its family: 100,000 children of one record took 4 seconds, 400,000 a minute.
#[test]
fn a_family_costs_what_it_has_children() {
    let schema = schema_of(Preserve::No);
    let run = |children: usize| {
        let mut data = file("C1");
        for i in 0..children {
            data.extend(file(["O2", "L1x", "P3"][i % 3]));
        }
        let kit = Kit::new(Arc::clone(&schema), &data, records("lines:lf25"), jsonl());
        let begun = Instant::now();
        assert_eq!(kit.ok().documents, 1);
        begun.elapsed()
    };
    let (few, many) = (run(20_000), run(160_000));
    assert!(many < few * 24 + Duration::from_millis(300), "8 times the children: {few:?}, then {many:?}");
}
