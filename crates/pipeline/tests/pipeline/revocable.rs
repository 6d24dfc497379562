//! Buffers go back to marks.

use std::fs;
use std::sync::Arc;

use quayline_edi::EdiWriterOptions;
use quayline_pipeline::{OutputBuffer, Revocable};
use quayline_project::{EdiRead, JsonWrite, Schema, SourceFormat, TargetFormat, xml};

use crate::support::{JSON, PERSON, examples, jsonl, pipeline, schema, text};

/// Every text format: output after a reset is the same as without the discarded output.
#[test]
fn a_unit_that_is_taken_back_never_was() {
    let schema = schema(PERSON, "");
    let style = xml::XmlStyle { record: "person".to_owned(), ..xml::XmlStyle::default() };
    let formats = [jsonl(), TargetFormat::JsonArray(JsonWrite::default()), TargetFormat::Xml(style)];
    let unit = |id| format!("{{\"ID\":{id},\"NAME\":\"ADA\",\"BALANCE\":1}}");
    for format in formats {
        let pipeline = pipeline(JSON, &schema, format);
        let mut lane = pipeline.lane().expect("a lane");
        let name = Arc::from("unit");
        let mut expected = pipeline.buffers().expect("buffers");
        let mut outputs = pipeline.buffers().expect("buffers");
        for id in 1..6 {
            let Ok(mark) = outputs[0].mark();
            if id % 2 == 1 {
                assert!(lane.run(&name, unit(100 + id).as_bytes(), &mut outputs).is_good());
                assert_ne!(outputs[0].bytes(), expected[0].bytes());
                let Ok(()) = outputs[0].back_to(mark);
            }
            assert!(lane.run(&name, unit(id).as_bytes(), &mut expected).is_good());
            assert!(lane.run(&name, unit(id).as_bytes(), &mut outputs).is_good());
        }
        assert_eq!(outputs[0].take(), expected[0].take());
        // Marks nest: back to the outermost at once.
        let Ok(mark) = outputs[0].mark();
        let Ok(_inner) = outputs[0].mark();
        assert!(lane.run(&name, unit(7).as_bytes(), &mut outputs).is_good());
        let Ok(()) = outputs[0].back_to(mark);
        assert_eq!(outputs[0].take(), expected[0].take(), "an output without documents");
    }
}

/// Interchanges: envelopes that were opened and control numbers that were given go back too.
#[test]
fn control_numbers_go_back_with_their_interchange() {
    let edi = SourceFormat::Edi(EdiRead::default());
    let pipeline = pipeline(edi, &Arc::new(Schema::edi()), TargetFormat::Edi(EdiWriterOptions::default()));
    let input = fs::read(examples().join("maps/maps/tests/claims/two-claims/input.x12")).expect("a case");
    let mut lane = pipeline.lane().expect("a lane");
    let name = Arc::from("unit");
    let mut run = |outputs: &mut [OutputBuffer]| {
        let report = lane.run(&name, &input, outputs);
        assert!(report.is_good(), "{:?}", report.findings);
    };
    let mut expected = pipeline.buffers().expect("buffers");
    run(&mut expected);
    run(&mut expected);
    let mut outputs = pipeline.buffers().expect("buffers");
    let Ok(start) = outputs[0].mark();
    run(&mut outputs);
    run(&mut outputs);
    let Ok(()) = outputs[0].back_to(start);
    run(&mut outputs);
    let Ok(mark) = outputs[0].mark();
    run(&mut outputs);
    let Ok(()) = outputs[0].back_to(mark);
    run(&mut outputs);
    assert_eq!(text(&outputs[0].take()), text(&expected[0].take()), "two interchanges");
}

#[test]
#[should_panic(expected = "a mark is void")]
fn a_mark_is_void_once_the_output_was_kept() {
    let pipeline = pipeline(JSON, &schema(PERSON, ""), jsonl());
    let mut outputs = pipeline.buffers().expect("buffers");
    let Ok(mark) = outputs[0].mark();
    let Ok(()) = outputs[0].keep(mark.clone());
    let Ok(()) = outputs[0].back_to(mark);
}
