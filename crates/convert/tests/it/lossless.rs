//! Damaged and short records: every byte is in the output, in the rejects or in a finding.

use std::sync::Arc;

use quayline_cobol::{BadValue, LengthMismatch, Policies, ShortRecord};
use quayline_project::{InterfaceFile, Schema};

use crate::kit::*;

pub(crate) fn schema_with(copybook: &str, interface: &str, policies: &Policies) -> Arc<Schema> {
    let file = InterfaceFile::parse("test.toml", interface).expect("an interface");
    let schema = Schema::compile(&layouts(copybook), &file, policies, page());
    Arc::new(schema.unwrap_or_else(|findings| panic!("{findings}")))
}

const TEXTS: &str = "
       01 R.
          05 A PIC X(5).
          05 B PIC X(10).
          05 C PIC X(5).
";

fn cut_lines() -> Vec<u8> {
    ["AAAAABBB", "AAAAABBB       CCC", ""].iter().flat_map(|line| [ebcdic(line), vec![0x25]].concat()).collect()
}

/// A file of lines without trailing blanks was refused, and the option that the refusal named lost what the end of the line cut.
#[test]
fn lines_without_trailing_blanks_convert_without_an_option() {
    let kit = Kit::new(schema(TEXTS, ""), &cut_lines(), records("lines:lf25"), jsonl());
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (3, 0));
    let padded = "{\"A\":\"AAAAA\",\"B\":\"BBB\",\"C\":\"\"}\n{\"A\":\"AAAAA\",\"B\":\"BBB\",\"C\":\"CCC\"}\n{\"A\":\"\",\"B\":\"\",\"C\":\"\"}\n";
    assert_eq!(kit.text("out"), padded);
    // Record types read lines in the same way.
    let typed = "[records]\nby = \"A\"\notherwise = \"R\"\n[[records.type]]\nrecord = \"R\"\nvalue = \"AAAAA\"\n";
    let kit = Kit::new(schema(TEXTS, typed), &cut_lines(), records("lines:lf25"), jsonl());
    assert_eq!(kit.ok().tally.records_out, 3);
    // A policy that is named goes before that of the framing.
    let strict = Policies { short: Some(ShortRecord::Error), ..Policies::default() };
    let kit = Kit::new(schema_with(TEXTS, "", &strict), &cut_lines(), records("lines:lf25"), jsonl());
    assert_eq!(kit.ok().tally.records_rejected, 3);
}

/// What a policy passes over is counted, by field, in one warning each; any number of lanes gives the same.
#[test]
fn what_policies_pass_over_is_counted() {
    let copybook = "\n       01 R.\n          05 N PIC 9(3).\n          05 C PIC S9(4) COMP.\n";
    let policies = Policies { invalid: BadValue::Null, long: LengthMismatch::Accept, ..Policies::default() };
    let mut data = Vec::new();
    for i in 0..30_000u32 {
        let text = if i % 3 == 0 { "1X3" } else { "123" };
        let long = if i % 5 == 4 { &b"\xc1"[..] } else { b"" };
        let value: [u8; 2] = if i % 7 == 6 { [0x7f, 0xff] } else { [0, 1] };
        let body = [&ebcdic(text)[..], &value, long].concat();
        data.extend([0, u8::try_from(body.len() + 4).expect("short"), 0, 0]);
        data.extend(body);
    }
    for lanes in [1, 3] {
        let schema = schema_with(copybook, "", &policies);
        let kit = Kit { lanes, ..Kit::new(schema, &data, records("rdw"), jsonl()) };
        let report = kit.ok();
        let said: Vec<String> = report
            .repeated
            .iter()
            .map(|finding| format!("{} {} {:?}", finding.code, finding.message, finding.place.record.map(|n| n.0)))
            .collect();
        assert_eq!(
            said,
            [
                "REC-041 10000 values of N (PIC 9(3)) became null: the bytes are no value of the field; the first is here Some(1)",
                "REC-042 6000 records have more bytes after the last field, which were ignored; the first is here Some(5)",
                "REC-043 4285 values of C (PIC S9(4) COMP) with more digits than the picture; the first is here Some(7)",
            ]
        );
        assert!(report.findings.is_empty());
    }
}
