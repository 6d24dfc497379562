//! Bytes of binary segments, and characters that a format cannot hold, through every format and back: the same interchange byte for byte.

use std::sync::Arc;

use quayline_core::Limits;
use quayline_edi::EdiWriterOptions;
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiRead, JsonRead, JsonWrite, Schema, SourceFormat, TargetFormat, read_guides};

use crate::kit::*;

const GUIDE: &str = "guide 275 \"Attachment\"
standard X12
version 005010
transaction 275 group PI

element 784 N0 1..15
element 785 B 1..1000000
element 2 AN 1..80
element 3 ID 1..3

segment BIN
  784 M
  785 M
segment BDS
  3 M
  784 M
  785 M
segment MSG
  2 M
  785 O

structure
  segment MSG O *
  segment BIN O *
  segment BDS O *
";

/// Every byte in binary data, and every character that text may have, in values and in odd places.
fn interchange() -> Vec<u8> {
    let all: Vec<u8> = (0..=255).collect();
    let mut text =
        b"ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~\
          GS*PI*S*R*20260401*1200*1*X*005010~ST*275*0001~"
            .to_vec();
    let mut count = 2;
    let mut segment = |parts: &[&[u8]]| {
        parts.iter().for_each(|part| text.extend_from_slice(part));
        text.push(b'~');
        count += 1;
    };
    for byte in 0..=255u8 {
        if !matches!(byte, b'~' | b'*' | b':' | b'^' | b'\r' | b'\n') {
            segment(&[b"MSG*A", &[byte], b"B\\u0041"]);
        }
    }
    // Text that looks like hexadecimal digits, where the guide has bytes in a segment of another kind.
    segment(&[b"MSG*616263*616263"]);
    segment(&[b"MSG*<&>\"]]>*<&>"]);
    segment(&[b"BIN*3*abc"]);
    segment(&[b"BIN*256*", &all]);
    segment(&[b"BIN*6*616263"]);
    segment(&[b"BIN*4*0x61"]);
    segment(&[b"BDS*ASC*3*~*:"]);
    text.extend_from_slice(format!("SE*{count}*0001~GE*1*1~IEA*1*000000001~").as_bytes());
    text
}

fn there_and_back(schema: &Arc<Schema>, read: EdiRead, write: EdiWriterOptions, to: TargetFormat, from: SourceFormat) {
    let there = Kit::new(Arc::clone(schema), &interchange(), SourceFormat::Edi(read), to.clone());
    let tally = there.ok().tally;
    assert_eq!((tally.records_out, tally.records_rejected), (1, 0), "{to:?}: {}", there.text("rejects.findings.jsonl"));
    let back = Kit::new(Arc::clone(schema), &there.bytes("out"), from, TargetFormat::Edi(write));
    let tally = back.ok().tally;
    assert_eq!((tally.records_out, tally.records_rejected), (1, 0), "{to:?}: {:?}", back.names());
    let (found, expected) = (back.bytes("out"), interchange());
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(found == expected, "{to:?}: differs at byte {differs:?}, {} and {} bytes", found.len(), expected.len());
}

fn formats() -> [(TargetFormat, SourceFormat); 3] {
    let json = || SourceFormat::Json(JsonRead { ignore_unknown: false });
    [
        (TargetFormat::JsonLines(JsonWrite::default()), json()),
        (TargetFormat::JsonArray(JsonWrite::default()), json()),
        (TargetFormat::Xml(XmlStyle::default()), SourceFormat::Xml(XmlStyle::default())),
    ]
}

/// XML wrote binary data as hexadecimal digits, and read the digits as the data.
#[test]
fn binary_data_and_control_characters_come_back() {
    for (to, from) in formats() {
        there_and_back(&Arc::new(Schema::edi()), EdiRead::default(), EdiWriterOptions::default(), to, from);
    }
}

/// With a guide, an element of bytes outside of binary segments was written as text and read as hexadecimal digits.
#[test]
fn binary_data_and_control_characters_come_back_by_guide() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("275.guide");
    std::fs::write(&path, GUIDE).expect("written");
    let set = read_guides(&[path], &Limits::default(), None).unwrap_or_else(|findings| panic!("{findings}"));
    let documents = Arc::new(GuideDocuments::new(set, NodeNames::References));
    let schema = Arc::new(Schema::edi_by_guide(&documents));
    for (to, from) in formats() {
        let read = EdiRead {
            guides: Some(Arc::clone(&documents)),
            level: quayline_edi::ValidationLevel::Envelope,
            ..EdiRead::default()
        };
        let write = EdiWriterOptions { guides: Some(Arc::clone(&documents)), ..EdiWriterOptions::default() };
        there_and_back(&schema, read, write, to, from);
    }
}

/// Text that is not hexadecimal is a finding, never bytes.
#[test]
fn xml_of_bytes_that_is_not_hexadecimal_is_refused() {
    let (to, from) = formats()[2].clone();
    let there = Kit::new(Arc::new(Schema::edi()), &interchange(), SourceFormat::Edi(EdiRead::default()), to);
    there.ok();
    let xml = there.text("out").replacen("<binary>616263</binary>", "<binary>61626</binary>", 1);
    let back = Kit::new(Arc::new(Schema::edi()), xml.as_bytes(), from, TargetFormat::Edi(EdiWriterOptions::default()));
    assert_eq!(back.ok().tally.records_rejected, 1);
    let findings = back.text("rejects.findings.jsonl");
    assert!(findings.contains("XML-028"), "{findings}");
}
