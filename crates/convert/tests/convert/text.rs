//! CSV and XML at either end.

use std::fs;
use std::io::Read;

use expect_test::expect;
use quayline_convert::Input;
use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{ParquetWrite, SourceFormat, TargetFormat};

use crate::kit::*;

fn csv() -> SourceFormat {
    SourceFormat::Csv(CsvStyle::default())
}

fn xml() -> SourceFormat {
    SourceFormat::Xml(XmlStyle::default())
}

fn to_csv() -> TargetFormat {
    TargetFormat::Csv(CsvStyle::default())
}

fn to_xml() -> TargetFormat {
    TargetFormat::Xml(XmlStyle::default())
}

fn to_fixed() -> TargetFormat {
    TargetFormat::Records(framing("fixed:14"))
}

#[test]
fn records_become_csv_and_xml() {
    let data = [person(1), person(27)].concat();
    let mut kit = Kit::persons(&data);
    kit.to = to_csv();
    kit.ok();
    expect![[r#"
        ID,NAME,BALANCE
        1,BAA,12345.17
        27,BDA,12345.77
    "#]]
    .assert_eq(&kit.text("out"));
    kit.to = to_xml();
    kit.ok();
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <records xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
        <record><ID>1</ID><NAME>BAA</NAME><BALANCE>12345.17</BALANCE></record>
        <record><ID>27</ID><NAME>BDA</NAME><BALANCE>12345.77</BALANCE></record>
        </records>
    "#]]
    .assert_eq(&kit.text("out"));
}

/// Any text to any text and back to the records, for any number of lanes.
#[test]
fn text_goes_back_to_the_same_records() {
    let data: Vec<u8> = (0..30_000).flat_map(person).collect();
    for (to, from) in [(to_csv(), csv()), (to_xml(), xml())] {
        let mut kit = Kit::persons(&data);
        kit.to = to.clone();
        kit.ok();
        let text = kit.bytes("out");
        kit.lanes = 3;
        kit.ok();
        assert!(kit.bytes("out") == text, "{to:?}");
        for lanes in [1, 3] {
            let mut back = Kit::new(schema(PERSON, ""), &text, from.clone(), to_fixed());
            back.lanes = lanes;
            back.ok();
            assert!(back.bytes("out") == data, "{from:?}");
        }
        for (other, read) in [(to_csv(), csv()), (to_xml(), xml()), (jsonl(), JSON)] {
            let between = Kit::new(schema(PERSON, ""), &text, from.clone(), other);
            between.ok();
            let back = Kit::new(schema(PERSON, ""), &between.bytes("out"), read, to_fixed());
            back.ok();
            assert!(back.bytes("out") == data, "{from:?}");
        }
    }
}

/// The layout determines the types of digits in text. JSON therefore gets numbers and columns get values, from CSV and XML alike.
#[test]
fn numbers_of_csv_and_xml_are_numbers() {
    let data: Vec<u8> = (0..100).flat_map(person).collect();
    let parquet = TargetFormat::Parquet(ParquetWrite::default());
    for to in [jsonl(), parquet, TargetFormat::ArrowFile] {
        let mut direct = Kit::persons(&data);
        direct.to = to.clone();
        direct.ok();
        for (text, read) in [(to_csv(), csv()), (to_xml(), xml())] {
            let mut kit = Kit::persons(&data);
            kit.to = text;
            kit.ok();
            let through = Kit::new(schema(PERSON, ""), &kit.bytes("out"), read.clone(), to.clone());
            through.ok();
            assert!(through.bytes("out") == direct.bytes("out"), "{read:?} to {to:?}");
        }
    }
    let mut kit = Kit::new(schema(PERSON, ""), b"ID,NAME,BALANCE\n007,7,+1.5\n,8,1e3\n\"9\",,-0\n", csv(), jsonl());
    kit.ok();
    expect![[r#"
        {"ID":7,"NAME":"7","BALANCE":1.5}
        {"NAME":"8","BALANCE":"1e3"}
        {"ID":9,"BALANCE":-0}
    "#]]
    .assert_eq(&kit.text("out"));
    kit.from = xml();
    fs::write(kit.path("in.dat"), "<a><record><ID>\n 7 </ID><NAME> 7</NAME><BALANCE>x</BALANCE></record></a>")
        .expect("written");
    kit.ok();
    expect![[r#"
        {"ID":7,"NAME":" 7","BALANCE":"x"}
    "#]]
    .assert_eq(&kit.text("out"));
}

/// Attributes of the root around the records were left out silently.
#[test]
fn attributes_of_the_root_are_a_warning() {
    let record = "<record><ID>7</ID><NAME>A</NAME><BALANCE>1</BALANCE></record>";
    for (root, said) in [
        ("<a>", None),
        ("<a xmlns='urn:x' xmlns:y='urn:y' xsi:schemaLocation='z' xml:lang='de'>", None),
        ("<?xml version='1.0'?>\n <a run='5>4' xml:lang='de' y:state=\"\">", Some("run, y:state")),
        ("<a b='' c='' d='' e='' f='' g='' h=''>", Some("b, c, d, e, f, 2 more")),
    ] {
        for records in [0, 3, 20_000] {
            let text = format!("{root}{}</a>", record.repeat(records));
            let kit = Kit::new(schema(PERSON, ""), text.as_bytes(), xml(), jsonl());
            let report = kit.ok();
            assert_eq!(report.tally.records_out, records as u64);
            let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), usize::from(said.is_some()), "{root} {records}: {found:?}");
            if let Some(names) = said {
                let message = format!("attributes of the root element are not read: {names}");
                assert!(found[0].contains("warning[XML-036]") && found[0].contains(&message), "{found:?}");
                assert_eq!(report.findings[0].place.column, Some(if root.starts_with("<?") { 2 } else { 1 }));
            }
        }
    }
}

/// Line, column and byte are those of the file, for any blocks and line breaks.
#[test]
fn faults_of_json_are_placed_in_the_file() {
    let good = "{\"ID\":1,\"NAME\":\"ÄÖ\"}";
    let places = |text: &str, unlike: &str| {
        let kit = Kit::new(schema(PERSON, ""), text.as_bytes(), JSON, to_csv());
        let report = kit.ok();
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        let place = &finding.place;
        let byte = text.find(unlike).expect("it is there");
        assert_eq!(place.byte.map(|byte| byte.0), Some(byte as u64), "{finding}");
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        assert_eq!(place.line.zip(place.column), u32::try_from(line).ok().zip(u32::try_from(column).ok()), "{finding}");
    };
    let bad = "{\"ID\":2,\n \"NAME\":\"Ü\", \"NAMES\":3}";
    let lines = format!("{good}\n\n").repeat(20_000);
    places(&format!("{lines}  {bad}\n{good}"), "\"NAMES\"");
    places(&format!("\u{feff}\n{good} {bad}\n"), "\"NAMES\"");
    let array = format!("[{}{bad},{good}]", format!("{good}, ").repeat(20_000));
    places(&array, "\"NAMES\"");
    places(&array.replace('\n', ""), "\"NAMES\"");
    // What the record's encoder finds is at the document's line.
    let kit = Kit::new(schema(PERSON, ""), format!("{lines}{{\"ID\":12345}}").as_bytes(), JSON, to_fixed());
    let report = kit.ok();
    assert_eq!(report.findings[0].place.line, Some(40_001));
}

#[test]
fn columns_may_stand_in_any_order_and_rows_may_be_bad() {
    let text = "NAME,BALANCE,ID\nBAA,12345.17,1\nBAA,x,1\nBAA,1\n\"BDA\",12345.77,27\n";
    let kit = Kit::new(schema(PERSON, ""), text.as_bytes(), csv(), to_fixed());
    let report = kit.ok();
    assert_eq!(kit.bytes("out"), [person(1), person(27)].concat());
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    expect![[r#"
        error[REC-026]: expected a number
          at in.dat, record 2, byte 31, $.BALANCE (4 bytes, PIC S9(5)V99 COMP-3)

        hint: write plain digits with an optional sign and a decimal point, without grouping
        error[FLAT-011]: the row has 2 cells, the header has 3 columns
          at in.dat:4, record 3, byte 39

        hint: write every cell of the row, empty ones too, or name the delimiter that the file uses"#]]
    .assert_eq(&findings.join("\n"));
    assert_eq!(kit.text("rejects"), "NAME,BALANCE,ID\nBAA,x,1\nBAA,1\n");
    let again = Kit::new(schema(PERSON, ""), &kit.bytes("rejects"), csv(), to_fixed());
    assert_eq!(again.ok().tally.records_rejected, 2);
    assert_eq!(again.bytes("rejects"), kit.bytes("rejects"));
}

#[test]
fn a_header_that_does_not_fit_is_refused_and_a_short_one_warned_of() {
    let kit = Kit::new(schema(PERSON, ""), b"ID,NAM,ID\n1,A,2\n", csv(), to_fixed());
    let error = kit.run().expect_err("NAM is no column");
    expect![[r#"
        error[FLAT-005]: the record has no field for column `NAM`
          at in.dat:1 (column 2 of the header)

        hint: remove the column or correct its name; is the first row the header?

        error[FLAT-006]: column ID occurs twice in the header
          at in.dat:1 (column 3 of the header)

        hint: keep one of them"#]]
    .assert_eq(&said(&kit, &error));
    assert_eq!(kit.names(), ["in.dat"]);
    let kit = Kit::new(schema(PERSON, ""), b"ID,BALANCE\n1,2\n", csv(), to_fixed());
    let report = kit.ok();
    expect![[r#"
        warning[FLAT-007]: the header does not have column NAME: their values are absent
          at in.dat

        hint: add the columns, or give defaults in the interface"#]]
    .assert_eq(&report.findings.iter().map(ToString::to_string).collect::<String>());
}

#[test]
fn a_stream_of_csv_is_read_behind_its_header() {
    struct Dribble(Vec<u8>, usize);
    impl Read for Dribble {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let n = (self.0.len() - self.1).min(3).min(buf.len());
            buf[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }
    let text = "ID,NAME,BALANCE\n1,BAA,12345.17\n27,BDA,12345.77";
    let kit = Kit::new(schema(PERSON, ""), b"", csv(), to_fixed());
    let mut conversion = kit.conversion();
    conversion.source.input = Input::Stream(Box::new(Dribble(text.as_bytes().to_vec(), 0)));
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(kit.bytes("out"), [person(1), person(27)].concat());
}

#[test]
fn bad_elements_are_rejected_and_a_broken_file_ends_the_run() {
    let text = "<all>\n<record><ID>1</ID><NAME>BAA</NAME><BALANCE>12345.17</BALANCE></record>\n<record><ID>1</ID><AGE>7</AGE></record>\n</all>\n";
    let kit = Kit::new(schema(PERSON, ""), text.as_bytes(), xml(), to_fixed());
    let report = kit.ok();
    assert_eq!(kit.bytes("out"), person(1));
    expect![[r#"
        error[XML-020]: the element AGE is not known here
          at in.dat:3:19, record 2, byte 77

        hint: remove the element or correct its name"#]]
    .assert_eq(&report.findings.iter().map(ToString::to_string).collect::<String>());
    let again = Kit::new(schema(PERSON, ""), &kit.bytes("rejects"), xml(), to_fixed());
    assert_eq!(again.ok().tally.records_rejected, 1);
    assert_eq!(again.bytes("rejects"), kit.bytes("rejects"));
    fs::write(kit.path("in.dat"), text.replace("</all>", "</al>")).expect("written");
    let error = kit.run().expect_err("the root is not closed");
    expect![[r#"
        error[XML-010]: an end tag that does not close the element that is open
          at in.dat:4:1, record 3

        hint: correct the file with the program that wrote it: it is not well-formed XML"#]]
    .assert_eq(&said(&kit, &error));
}
