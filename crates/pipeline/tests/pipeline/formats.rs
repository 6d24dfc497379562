//! Requirements of formats on units.

use std::sync::Arc;

use expect_test::expect;
use quayline_core::Limits;
use quayline_pipeline::Pipeline;
use quayline_project::{JsonWrite, ParquetWrite, SourceFormat, TargetFormat, csv};

use crate::support::{JSON, PERSON, jsonl, person, pipeline, records, run, schema, shown, text};

#[test]
fn the_first_row_of_each_unit_names_its_columns() {
    let schema = schema(PERSON, "");
    let pipeline = pipeline(SourceFormat::Csv(csv::CsvStyle::default()), &schema, jsonl());
    for unit in ["ID,NAME,BALANCE\n1,ADA,2.5\n", "NAME,BALANCE,ID\nADA,2.5,1\n"] {
        let (report, outputs) = run(&pipeline, unit.as_bytes());
        assert!(report.is_good(), "{}", shown(&report));
        assert_eq!(text(&outputs[0]), "{\"ID\":1,\"NAME\":\"ADA\",\"BALANCE\":2.5}\n");
    }
    let (report, outputs) = run(&pipeline, b"ID,NAME\n1,ADA,surplus\n");
    assert!(!report.is_good());
    assert!(outputs[0].is_empty());
    assert_eq!(report.tally.records_in, report.tally.records_out + report.tally.records_rejected);
}

#[test]
fn documents_of_an_array_are_separated_across_units() {
    let schema = schema(PERSON, "");
    let source = SourceFormat::Records(records("fixed:14"));
    let pipeline = pipeline(source, &schema, TargetFormat::JsonArray(JsonWrite::default()));
    let mut outputs = pipeline.buffers().expect("buffers");
    let mut lane = pipeline.lane().expect("a lane");
    for id in ["0001", "0002"] {
        let report = lane.run(&Arc::from("unit"), &person(id, "ADA"), &mut outputs);
        assert!(report.is_good());
    }
    expect![[r#"
        [
        {"ID":1,"NAME":"ADA","BALANCE":12345.67},
        {"ID":2,"NAME":"ADA","BALANCE":12345.67}
        ]
    "#]]
    .assert_eq(&text(&outputs[0].take()));
}

/// Documents before the position where framing is lost are written, and the report has that position.
#[test]
fn the_rest_of_a_torn_unit_is_reported() {
    let schema = schema(PERSON, "");
    let pipeline = pipeline(SourceFormat::Records(records("fixed:14")), &schema, jsonl());
    let mut unit = person("0001", "ADA");
    unit.extend(&person("0002", "BOB")[..9]);
    let (report, outputs) = run(&pipeline, &unit);
    expect![[r#"
        in 2, out 1, rejected 1, skipped 0, documents 1
        FRM-001 at record 2: the source ends inside a record: 5 of 14 bytes are missing
    "#]]
    .assert_eq(&shown(&report));
    assert_eq!(outputs[0].iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(report.rejects, &unit[14..]);
    let (report, _) = run(&pipeline, b"");
    assert!(report.is_good() && report.tally.records_in == 0);
}

#[test]
fn columns_are_refused_with_a_remedy() {
    let schema = schema(PERSON, "");
    for format in [TargetFormat::Parquet(ParquetWrite::default()), TargetFormat::ArrowStream, TargetFormat::ArrowFile] {
        let refused = Pipeline::new(JSON, Arc::clone(&schema), format, Limits::default()).err().expect("refused");
        expect![[r#"
            error[CNV-016]: columns are not documents of a unit: Parquet and Arrow are written for many units at once

            hint: choose JSON, XML, CSV, records or EDI, or convert a whole file"#]]
        .assert_eq(refused.to_string().trim_end());
    }
}
