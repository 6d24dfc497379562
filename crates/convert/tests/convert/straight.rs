use expect_test::{Expect, expect};
use quayline_convert::Output;
use quayline_project::{JsonWrite, ParquetWrite, TargetFormat};

use crate::kit::*;

fn text_of(data: &[u8], expected: Expect) {
    let kit = Kit::persons(data);
    kit.ok();
    expected.assert_eq(&kit.text("out"));
}

#[test]
fn records_become_json_lines() {
    text_of(
        &[person(1), person(27)].concat(),
        expect![[r#"
            {"ID":1,"NAME":"BAA","BALANCE":12345.17}
            {"ID":27,"NAME":"BDA","BALANCE":12345.77}
        "#]],
    );
}

#[test]
fn an_empty_source_gives_an_empty_output_and_a_warning() {
    let kit = Kit::persons(b"");
    let report = kit.ok();
    assert_eq!(kit.bytes("out"), b"");
    let codes: Vec<_> = report.findings.iter().map(|f| f.code.0).collect();
    assert_eq!(codes, ["FRM-007"]);
}

#[test]
fn an_array_has_commas_between_its_documents_for_any_number_of_lanes() {
    for n in [0, 1, 2, 60_000] {
        let data: Vec<u8> = (0..n).flat_map(person).collect();
        let mut kit = Kit::persons(&data);
        kit.ok();
        let lines = kit.text("out");
        kit.to = TargetFormat::JsonArray(JsonWrite::default());
        for lanes in [1, 3] {
            kit.lanes = lanes;
            kit.ok();
            let joined = lines.trim_end().replace('\n', ",\n");
            let whole = if n == 0 { "[\n]\n".to_owned() } else { format!("[\n{joined}\n]\n") };
            assert!(kit.text("out") == whole, "{n} documents, {lanes} lanes");
        }
    }
}

#[test]
fn any_number_of_lanes_writes_the_same_bytes() {
    let data: Vec<u8> = (0..200_000u32).flat_map(|i| if i % 997 == 5 { bad_person(i) } else { person(i) }).collect();
    let mut kit = Kit::persons(&data);
    let report = kit.ok();
    assert_eq!((report.tally.records_in, report.tally.records_rejected), (200_000, 201));
    let (out, rejects) = (kit.bytes("out"), kit.bytes("rejects"));
    let findings = kit.bytes("rejects.findings.jsonl");
    for lanes in [2, 3, 8] {
        kit.lanes = lanes;
        let report = kit.ok();
        assert_eq!((report.cost.lanes, report.tally.records_rejected), (u32::try_from(lanes).expect("few"), 201));
        assert!(kit.bytes("out") == out, "{lanes} lanes");
        assert!(kit.bytes("rejects") == rejects, "{lanes} lanes");
        assert!(kit.bytes("rejects.findings.jsonl") == findings, "{lanes} lanes");
    }
}

/// Records to JSON and back give the same file, in every framing.
#[test]
fn json_goes_back_to_the_same_records() {
    let bodies: Vec<Vec<u8>> = (0..40_000).map(person).collect();
    let fixed = bodies.concat();
    for spec in ["fixed:14", "rdw", "rdw:le,body", "vb", "vbs", "lines:lf25", "mf", "gnucobol:1"] {
        // Fixed records into the framing, then to JSON, and back into the framing.
        let kit = Kit::new(schema(PERSON, ""), &fixed, records("fixed:14"), TargetFormat::Records(framing(spec)));
        kit.ok();
        let framed = kit.bytes("out");
        let kit = Kit::new(schema(PERSON, ""), &framed, records(spec), jsonl());
        assert_eq!(kit.ok().tally.records_out, 40_000, "{spec}");
        let json = kit.bytes("out");
        for lanes in [1, 2] {
            let mut kit = Kit::new(schema(PERSON, ""), &json, JSON, TargetFormat::Records(framing("fixed:14")));
            kit.lanes = lanes;
            kit.ok();
            assert!(kit.bytes("out") == fixed, "{spec}");
        }
    }
}

#[test]
fn a_json_array_is_read_as_its_documents() {
    let json = r#"[{"ID":1,"NAME":"BAA","BALANCE":12345.17}, {"BALANCE":12345.77,"ID":27,"NAME":"BDA"}]"#;
    let kit = Kit::new(schema(PERSON, ""), json.as_bytes(), JSON, TargetFormat::Records(framing("fixed:14")));
    kit.ok();
    assert_eq!(kit.bytes("out"), [person(1), person(27)].concat());
}

#[test]
fn columns_are_written_by_all_lanes() {
    let data: Vec<u8> = (0..200_000).flat_map(person).collect();
    for (to, start, end) in [
        (TargetFormat::Parquet(ParquetWrite::default()), &b"PAR1"[..], &b"PAR1"[..]),
        (TargetFormat::ArrowFile, b"ARROW1", b"ARROW1"),
        (TargetFormat::ArrowStream, b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0"),
    ] {
        let mut kit = Kit::persons(&data);
        kit.to = to;
        kit.ok();
        let one = kit.bytes("out");
        assert!(one.starts_with(start) && one.ends_with(end), "{:?}", kit.to);
        kit.lanes = 2;
        let report = kit.ok();
        assert!(kit.bytes("out") == one, "{:?}", kit.to);
        assert_eq!(report.output_bytes, one.len() as u64);
        assert_eq!(kit.names(), ["in.dat", "out", "rejects", "rejects.findings.jsonl"]);
    }
}

#[test]
fn one_code_page_goes_to_another() {
    let kit = Kit::new(schema(PERSON, ""), &person(7), records("fixed:14"), TargetFormat::Records(framing("lines")));
    let file = quayline_project::InterfaceFile::default();
    let page = quayline_charset::Charset::by_name("ascii").expect("known");
    let ascii = quayline_project::Schema::compile(&layouts(PERSON), &file, &Default::default(), page);
    let mut conversion = kit.conversion();
    conversion.target_schema = Some(std::sync::Arc::new(ascii.unwrap_or_else(|f| panic!("{f}"))));
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(kit.bytes("out"), b"0007HAA   \x12\x34\x57\x7c\n");
}

#[test]
fn streams_take_output_as_well() {
    let kit = Kit::persons(&person(1));
    let mut conversion = kit.conversion();
    let file = std::fs::File::create(kit.path("stream")).expect("made");
    conversion.target.output = Output::Stream(Box::new(file));
    let report = checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.output, None);
    assert_eq!(report.output_bytes, kit.bytes("stream").len() as u64);
    assert!(!kit.path("out").exists() && !kit.path("out.partial").exists());
}
