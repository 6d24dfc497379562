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

/// A file of lines without trailing blanks was refused, and the option that the finding recommended lost the truncated ends of lines.
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

/// Bytes that a policy ignores are counted by field, in one warning for each. The number of lanes has no effect.
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
                "REC-041 10000 values of N (PIC 9(3)) became null: the bytes are not a value of the field; the first is here Some(1)",
                "REC-042 6000 records have more bytes after the last field, which were ignored; the first is here Some(5)",
                "REC-043 4285 values of C (PIC S9(4) COMP) with more digits than the picture; the first is here Some(7)",
            ]
        );
        assert!(report.findings.is_empty());
    }
}

const SEGMENTS: &str = "
       01 R.
          05 T PIC X.
          05 A PIC X(8).
          05 B REDEFINES A PIC X(3).
";

const VIEWS: &str = r#"
[records]
by = "T"
[[records.type]]
record = "R"
view = "A"
value = "1"
[[records.type]]
record = "R"
view = "B"
value = "2"
"#;

fn rdw(records: &[&str]) -> Vec<u8> {
    let header = |body: &[u8]| [0, u8::try_from(body.len() + 4).expect("short"), 0, 0];
    records.iter().map(|record| ebcdic(record)).flat_map(|body| [&header(&body)[..], &body].concat()).collect()
}

fn back(kit: &Kit, schema: &str, copybook: &str, spec: &str) -> Vec<u8> {
    let to = quayline_project::TargetFormat::Records(framing(spec));
    let back = Kit::new(schema_with(copybook, schema, &Policies::default()), &kit.bytes("out"), JSON, to);
    let report = back.ok();
    assert_eq!(report.tally.records_rejected, 0, "{:?}", report.findings);
    back.bytes("out")
}

/// A type with a short view was refused as too short, and written with the length of the longest view.
#[test]
fn segments_have_the_length_of_their_view_both_ways() {
    let data = rdw(&["1AAAAAAAA", "2BBB", "2CCC", "1DDDDDDDD"]);
    let kit = Kit::new(schema(SEGMENTS, VIEWS), &data, records("rdw"), jsonl());
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.findings.len()), (4, 0));
    assert_eq!(back(&kit, VIEWS, SEGMENTS, "rdw"), data);
    // What is cut off is still found: a policy for short records is not needed, so it hides nothing.
    let cut = Kit::new(schema(SEGMENTS, VIEWS), &rdw(&["1AAA", "2BBB"]), records("rdw"), jsonl());
    let report = cut.ok();
    assert_eq!((report.tally.records_rejected, report.findings[0].code.0), (1, "REC-011"));
    assert!(report.findings[0].place.path.as_deref().is_some_and(|path| path == "A"), "{}", report.findings[0]);
}

const UNFRAMED: &str = "
       01 R.
          05 N PIC 9.
          05 T OCCURS 0 TO 5 TIMES DEPENDING ON N.
             10 U PIC X(2).
";

/// Records that only their counters separate were read as records of full length, and most were lost.
#[test]
fn records_end_where_their_counters_say() {
    let mut data = Vec::new();
    for i in 0..40_000usize {
        data.extend(ebcdic(&format!("{}{}", i % 6, "xy".repeat(i % 6))));
    }
    let mut one = Vec::new();
    for lanes in [1, 3] {
        let kit = Kit { lanes, ..Kit::new(schema(UNFRAMED, ""), &data, records("layout"), jsonl()) };
        assert_eq!(kit.ok().tally.records_out, 40_000);
        assert_eq!(back(&kit, "", UNFRAMED, "layout"), data);
        if lanes == 1 {
            one = kit.bytes("out");
        }
        assert_eq!(kit.bytes("out"), one);
    }
    // A cut record and a bad counter stop the run and lose nothing in silence.
    let cut = Kit::new(schema(UNFRAMED, ""), &ebcdic("1xy2xy"), records("layout"), jsonl());
    let report = cut.ok();
    assert_eq!(report.tally.records_out, 1);
    assert_eq!(report.findings.iter().map(|finding| finding.code.0).collect::<Vec<_>>(), ["FRM-001"]);
    let bad = Kit::new(schema(UNFRAMED, ""), &ebcdic("1xy7xyxy"), records("layout"), jsonl());
    let said = bad.run().expect_err("no count").to_string();
    assert!(said.contains("FRM-012"), "{said}");
}

/// A record of an unknown type was reported once a record, without its value.
#[test]
fn unknown_types_are_one_finding_a_value() {
    let mut names = vec!["1AAAAAAAA"];
    names.extend(["ZAAAAAAAA"; 200]);
    names.push("YAAAAAAAA");
    let kit = Kit::new(schema(SEGMENTS, VIEWS), &rdw(&names), records("rdw"), jsonl());
    let report = kit.ok();
    let said: Vec<String> =
        report.repeated.iter().map(|finding| format!("{} {}", finding.code, finding.message)).collect();
    assert_eq!(
        said,
        [
            "CNV-026 200 records have the value `Z` (1 byte from byte 0 on), which no record type has; the first is here",
            "CNV-026 1 record has the value `Y` (1 byte from byte 0 on), which no record type has",
        ]
    );
    assert!(report.findings.is_empty() && report.misfit.is_none(), "{:?}", report.misfit);
    let hint = report.repeated[0].hint.as_deref().expect("a hint");
    assert!(hint.starts_with("known values are `1`, `2`;"), "{hint}");
    // Where the first such record stops the run, it is the only finding.
    let stop = Kit { rejects: false, ..Kit::new(schema(SEGMENTS, VIEWS), &rdw(&names), records("rdw"), jsonl()) };
    let said = stop.run().expect_err("stopped").to_string();
    assert_eq!((said.matches("CNV-026").count(), said.matches("FRM-040").count()), (1, 0), "{said}");
}

/// Null became zero; what `--blank null` reads as null is written as blanks again.
#[test]
fn null_in_a_document_is_a_finding_or_what_was_asked_for() {
    let copybook = "\n       01 R.\n          05 N PIC 9(3).\n          05 A PIC X(2).\n";
    let fixed = quayline_project::TargetFormat::Records(framing("fixed:5"));
    let json = b"{\"N\":null,\"A\":\"x\"}\n";
    let kit = Kit::new(schema(copybook, ""), json, JSON, fixed.clone());
    let report = kit.ok();
    assert_eq!((report.tally.records_rejected, report.findings[0].code.0), (1, "REC-035"));
    let blank = Policies { blank: BadValue::Null, ..Policies::default() };
    let read = Kit::new(schema_with(copybook, "", &blank), &ebcdic("   x "), records("fixed:5"), jsonl());
    read.ok();
    assert_eq!(read.bytes("out"), json);
    let write = Kit::new(schema_with(copybook, "", &blank), json, JSON, fixed.clone());
    write.ok();
    assert_eq!(write.bytes("out"), ebcdic("   x "));
    let ruled = "[[field]]\nname = \"N\"\nnull = \"zeros\"\n";
    let write = Kit::new(schema(copybook, ruled), json, JSON, fixed);
    write.ok();
    assert_eq!(write.bytes("out"), ebcdic("000x "));
}
