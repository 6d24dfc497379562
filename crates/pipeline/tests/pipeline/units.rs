//! A record, an interchange, a bad document.

use std::fs;
use std::sync::Arc;

use expect_test::expect;
use quayline_core::Limits;
use quayline_pipeline::{Pipeline, World};
use quayline_project::{SourceFormat, TargetFormat};

use crate::support::{JSON, PERSON, examples, jsonl, map, person, pipeline, records, run, schema, shown, text};

#[test]
fn an_ebcdic_record_becomes_json_by_its_interface() {
    let schema = schema(PERSON, "[rename]\nBALANCE = \"balance\"\n");
    let pipeline = pipeline(SourceFormat::Records(records("fixed:14")), &schema, jsonl());
    let (report, outputs) = run(&pipeline, &person("0042", "ADA"));
    expect![[r#"
        in 1, out 1, rejected 0, skipped 0, documents 1
    "#]]
    .assert_eq(&shown(&report));
    expect![[r#"
        {"ID":42,"NAME":"ADA","balance":12345.67}
    "#]]
    .assert_eq(&text(&outputs[0]));
    assert!(report.is_good() && report.rejects.is_empty());
}

/// The records are decoded with the copybook of the map's target: they equal the expected output of the map's test case.
#[test]
fn claims_of_an_interchange_become_cobol_records_through_a_map() {
    let map = map("claims.qmap");
    let target = &map.targets[0].shape;
    let (back_format, back_schema) = (target.source().expect("records are read"), Arc::clone(target.schema()));
    let claims = Pipeline::through(map, Arc::new(World::default()), Limits::default());
    let claims = claims.unwrap_or_else(|findings| panic!("{findings}"));
    let back = pipeline(back_format, &back_schema, jsonl());
    let cases = examples().join("maps/maps/tests/claims");
    for case in ["two-claims", "patients-and-ranges"] {
        let interchange = fs::read(cases.join(case).join("input.x12")).expect("a case");
        let (report, outputs) = run(&claims, &interchange);
        assert!(report.is_good(), "{case}: {}", shown(&report));
        let (report, again) = run(&back, &outputs[0]);
        assert!(report.is_good(), "{case}: {}", shown(&report));
        let expected = fs::read_to_string(cases.join(case).join("expected.jsonl")).expect("a case");
        assert_eq!(text(&again[0]), expected, "{case}");
    }
}

#[test]
fn a_bad_document_is_taken_back_with_its_findings() {
    let schema = schema(PERSON, "");
    let pipeline = pipeline(SourceFormat::Records(records("fixed:14")), &schema, jsonl());
    let mut unit = person("0001", "ADA");
    let mut bad = person("0002", "BOB");
    bad[13] = 0x70;
    unit.extend(&bad);
    unit.extend(person("0003", "EVE"));
    let (report, outputs) = run(&pipeline, &unit);
    expect![[r#"
        in 3, out 2, rejected 1, skipped 0, documents 2
        REC-002 at record 2: sign is 0x0, expected 0xa to 0xf
    "#]]
    .assert_eq(&shown(&report));
    expect![[r#"
        {"ID":1,"NAME":"ADA","BALANCE":12345.67}
        {"ID":3,"NAME":"EVE","BALANCE":12345.67}
    "#]]
    .assert_eq(&text(&outputs[0]));
    assert_eq!(report.rejects, bad, "the rejects can be converted again");
    assert!(!report.is_good());
}

/// Regression: the bound of findings applied to each block of a unit: 2.8 MB of bad records had 110,000.
#[test]
fn findings_of_a_unit_have_one_bound() {
    let pipeline = pipeline(SourceFormat::Records(records("fixed:14")), &schema(PERSON, ""), jsonl());
    let mut bad = person("0002", "BOB");
    bad[13] = 0x70;
    let (report, _) = run(&pipeline, &bad.repeat(200_000));
    assert_eq!((report.tally.records_rejected, report.findings.len()), (200_000, 10_000));
    let counted: u64 = report.findings_by_code.iter().map(|(_, count)| count).sum();
    assert_eq!(counted, 200_000);
}

/// The transaction comes back whole, in an interchange that can be converted again; the good ones around it are written.
#[test]
fn a_bad_transaction_takes_back_what_the_map_made_of_it() {
    let claims = Pipeline::through(map("claims.qmap"), Arc::new(World::default()), Limits::default());
    let claims = claims.unwrap_or_else(|findings| panic!("{findings}"));
    let input = fs::read_to_string(examples().join("maps/maps/tests/claims/two-claims/input.x12")).expect("a case");
    let (_, good) = run(&claims, input.as_bytes());
    // A second transaction like the first, whose last claim has an invalid amount.
    let (head, rest) = input.split_at(input.find("ST*837").expect("a transaction"));
    let (transaction, tail) = rest.split_at(rest.find("GE*").expect("the group's trailer"));
    let claim = transaction.rfind("CLM*").expect("a claim");
    let mut elements: Vec<&str> = transaction[claim..].split('*').collect();
    elements[2] = "A LOT";
    let second = format!("{}{}", &transaction[..claim], elements.join("*")).replace("*0001*005010", "*0002*005010");
    let second = second.replace("*0001~", "*0002~");
    let both = format!("{head}{transaction}{second}{}", tail.replacen("GE*1*", "GE*2*", 1));
    let (report, outputs) = run(&claims, both.as_bytes());
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (1, 1), "{}", shown(&report));
    assert_eq!(outputs, good, "nothing of the second transaction is in the output");
    assert!(!report.findings.is_empty() && report.findings.iter().all(|finding| finding.place.record.is_some()));
    let rejects = text(&report.rejects);
    assert!(rejects.starts_with("ISA*") && rejects.contains("A LOT") && rejects.trim_end().contains("IEA*1*"));
    assert!(!rejects.contains("*0001*005010X222A1~ST"), "{rejects}");
    let (again, _) = run(&claims, &report.rejects);
    assert_eq!((again.tally.records_in, again.tally.records_rejected), (1, 1), "{}", shown(&again));
}

/// A lane keeps nothing of a unit: a bad one in between changes nothing.
#[test]
fn units_of_one_lane_are_those_of_a_lane_each() {
    let schema = schema(PERSON, "");
    let pipeline = pipeline(JSON, &schema, TargetFormat::Records(records("rdw")));
    let units = [
        r#"{"ID":1,"NAME":"ADA","BALANCE":1}"#,
        r#"{"ID":"x"}"#,
        "{",
        r#"{"ID":2,"NAME":"EVE","BALANCE":-2.5}{"ID":3,"NAME":"BOB","BALANCE":0}"#,
        "",
    ];
    let mut lane = pipeline.lane().expect("a lane");
    let mut outputs = pipeline.buffers().expect("buffers");
    for unit in units.iter().chain(units.iter().rev()) {
        let report = lane.run(&Arc::from("unit"), unit.as_bytes(), &mut outputs);
        let (alone, bytes) = run(&pipeline, unit.as_bytes());
        assert_eq!(shown(&report), shown(&alone));
        assert_eq!(outputs[0].take(), bytes[0], "{unit}");
    }
}
