use expect_test::expect;
use quayline_convert::{ConvertError, Rejects};
use quayline_core::Fault;

use crate::kit::*;

#[test]
fn rejected_records_go_whole_to_their_file_and_why_beside_it() {
    let data = [person(1), bad_person(2), person(3)].concat();
    let kit = Kit::persons(&data);
    let report = kit.ok();
    assert_eq!(report.tally.records_out, 2);
    assert_eq!(kit.bytes("rejects"), bad_person(2));
    expect![[r#"
        {"record":2,"byte":24,"code":"REC-002","severity":"error","message":"sign is 0x0, expected 0xa to 0xf","path":"BALANCE","detail":"offset 10 in the record, 4 bytes, PIC S9(5)V99 COMP-3","hint":"if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`"}
    "#]]
    .assert_eq(&kit.text("rejects.findings.jsonl"));
}

/// Output and rejects together are the source, and the rejects fail again with the same settings.
#[test]
fn rejects_can_be_converted_again_with_the_same_settings() {
    for spec in ["fixed:14", "rdw", "rdw:le,body", "vb", "vbs", "lines:lf25", "mf", "gnucobol:2"] {
        let bodies: Vec<Vec<u8>> = (0..3_000).map(|i| if i % 10 == 3 { bad_person(i) } else { person(i) }).collect();
        let mut framer =
            quayline_frame::Framer::new(&framing(spec), Default::default(), &Default::default()).expect("a framing");
        let mut data = Vec::new();
        bodies.iter().for_each(|body| framer.frame(body, &mut data).expect("fits"));
        framer.finish(&mut data);
        let kit = Kit::new(schema(PERSON, ""), &data, records(spec), jsonl());
        let report = kit.ok();
        assert_eq!((report.tally.records_out, report.tally.records_rejected), (2_700, 300), "{spec}");
        assert_eq!(report.rejects_bytes, kit.bytes("rejects").len() as u64, "{spec}");
        let again = Kit::new(schema(PERSON, ""), &kit.bytes("rejects"), records(spec), jsonl());
        let report = again.ok();
        assert_eq!((report.tally.records_out, report.tally.records_rejected), (0, 300), "{spec}");
        assert_eq!(again.bytes("rejects"), kit.bytes("rejects"), "{spec}");
    }
}

#[test]
fn without_a_rejects_file_the_first_bad_record_ends_the_run() {
    let mut kit = Kit::persons(&[person(1), bad_person(2), bad_person(3)].concat());
    kit.rejects = false;
    let error = kit.run().expect_err("record 2 is bad");
    assert_eq!(error.fault(), Fault::Sender);
    expect![[r#"
        error[REC-002]: sign is 0x0, expected 0xa to 0xf
          at in.dat, record 2, byte 24, BALANCE (offset 10 in the record, 4 bytes, PIC S9(5)V99 COMP-3)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`"#]]
    .assert_eq(&said(&kit, &error));
    assert_eq!(kit.names(), ["in.dat", "out.partial"]);
}

#[test]
fn more_rejects_than_allowed_end_the_run() {
    let data: Vec<u8> = (0..100).flat_map(|i| if i % 10 == 0 { bad_person(i) } else { person(i) }).collect();
    let kit = Kit::persons(&data);
    let mut conversion = kit.conversion();
    conversion.rejects = Rejects::File { path: kit.path("rejects"), max: Some(9) };
    let error = checked(conversion.run()).expect_err("there are 10");
    expect![[r#"
        error[CNV-004]: 10 records rejected, more than the 9 allowed

        hint: rejects.partial has the records, rejects.findings.jsonl.partial says what is wrong with each"#]]
    .assert_eq(&said(&kit, &error));
    let mut conversion = kit.conversion();
    conversion.rejects = Rejects::File { path: kit.path("rejects"), max: Some(10) };
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn findings_are_shown_up_to_a_limit_and_all_are_in_the_file() {
    let data: Vec<u8> = (0..100).flat_map(bad_person).collect();
    let kit = Kit::persons(&data);
    let mut conversion = kit.conversion();
    conversion.limits.findings_max = 7;
    let report = checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.findings.len(), 7);
    assert_eq!(kit.text("rejects.findings.jsonl").lines().count(), 100);
    let counts: Vec<_> = report.findings_by_code.iter().map(|(code, n)| (code.0, *n)).collect();
    assert_eq!(counts, [("REC-002", 100)]);
    assert_eq!(kit.bytes("rejects"), data);
}

#[test]
fn documents_that_do_not_encode_are_rejected_as_lines() {
    let json = "{\"ID\":1}\n{\"ID\":12345}\n{\"NAME\":\"too long\"}\n{\"ID\":\n{\"NAM\":1}\n";
    let to = quayline_project::TargetFormat::Records(framing("fixed:14"));
    let kit = Kit::new(schema(PERSON, ""), json.as_bytes(), JSON, to);
    let report = kit.ok();
    // The third document begins a bracket that nothing closes, so the rest of the source is one document.
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (1, 3));
    let lines: Vec<String> = kit
        .text("rejects.findings.jsonl")
        .lines()
        .map(|line| line.split(",\"hint\"").next().unwrap_or_default().to_owned())
        .collect();
    expect![[r#"
        {"record":2,"byte":9,"code":"REC-023","severity":"error","message":"number has 5 digits before the point, field holds 4","path":"$.ID","detail":"4 bytes, PIC 9(4)"
        {"record":3,"byte":22,"code":"REC-021","severity":"error","message":"text has 8 characters, field holds 6","path":"$.NAME","detail":"6 bytes, PIC X(6)"
        {"record":4,"byte":49,"code":"JSON-012","severity":"error","message":"expected a number, found an object","path":"$.ID"
        {"record":4,"byte":59,"code":"JSON-002","severity":"error","message":"the document ends where `,` or `}` is expected","path":"$""#]].assert_eq(&lines.join("\n"));
    expect![[r#"
        {"ID":12345}
        {"NAME":"too long"}
        {"ID":
        {"NAM":1}

    "#]]
    .assert_eq(&kit.text("rejects"));
}

#[test]
fn a_last_record_that_is_cut_off_is_rejected() {
    let mut data = [person(1), person(2)].concat();
    data.truncate(20);
    let kit = Kit::persons(&data);
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (1, 1));
    assert_eq!(kit.bytes("rejects"), &data[14..]);
    expect![[r#"
        error[FRM-001]: the source ends inside a record: 8 of 14 bytes are missing
          at in.dat, record 2, byte 14

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing"#]].assert_eq(&format!("{}", report.findings[0]));
}

#[test]
fn a_broken_framing_ends_the_run_where_it_breaks() {
    let mut data = Vec::new();
    for i in 0..5 {
        data.extend([0, 18, 0, 0]);
        data.extend(person(i));
    }
    let good = data.len();
    data.extend([0, 3, 0, 0]);
    data.extend(person(9));
    let kit = Kit::new(schema(PERSON, ""), &data, records("rdw"), jsonl());
    let error = kit.run().expect_err("record 6 has a length of 3");
    assert_eq!(error.fault(), Fault::Sender);
    assert!(matches!(&error, ConvertError::Refused(_)));
    assert!(said(&kit, &error).contains(&format!("record 6, byte {good}")), "{error}");
    expect![[r#"
        error[FRM-002]: the RDW says 3, expected at least 4
          at in.dat, record 6, byte 90

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing

        error[FRM-040]: junk after record 5: `rdw` does not hold there, and no other framing is evident in the first 108 bytes
          at in.dat, record 6

        hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer"#]].assert_eq(&said(&kit, &error));
    assert!(kit.path("out.partial").exists() && !kit.path("out").exists());
}

#[test]
fn another_framing_is_recognised() {
    let mut data = Vec::new();
    for i in 0..2_000 {
        data.extend([0, 18, 0, 0]);
        data.extend(person(i));
    }
    let kit = Kit::persons(&data);
    let report = kit.ok();
    let misfit = report.misfit.expect("nearly all records are rejected");
    expect![[r#"
        error[FRM-040]: junk from the first record on: the framing `fixed:14` does not fit this file
          at in.dat, record 1

        hint: `rdw` fits all 2000 records in the first 36000 bytes (2000 lengths in a row lead from one to the next, records are each 14 bytes long; the last record ends with the file; the longest record is as long as the layout): use it instead"#]].assert_eq(&misfit.to_string());
}

#[test]
fn another_code_page_is_suspected() {
    let data: Vec<u8> = (0..100).flat_map(|i| format!("{i:04}ABCDEF\x12\x34\x56\x7c").into_bytes()).collect();
    let report = Kit::persons(&data).ok();
    let misfit = report.misfit.expect("nearly all records are rejected");
    expect![[r#"
        warning[CNV-030]: 100 of the first 100 records were rejected
          at in.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it"#]].assert_eq(&misfit.to_string());
}
