//! Real interchanges from `QUAYLINE_CORPUS` (by default `../shared` beside the workspace): each is read, and its findings are
//! explained here.

use std::path::{Path, PathBuf};

use quayline_core::{Document, Limits, Severity};
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};

use crate::generic::{documents, json, rewrite};
use crate::trace::trace;

/// Explanations of the expected findings: part of the file name, the codes of its findings, the reason.
const EXPLAINED: &[(&str, &[&str], &str)] = &[
    ("002001~PO830~fail~1", &["EDI-003 warning"], "ISA elements are not padded: 78 bytes"),
    ("003010~PC860~fail~1", &["EDI-003 warning"], "ISA elements are not padded"),
    ("003010~RA820~pass~1", &["EDI-003 warning"], "ISA elements are not padded"),
    ("004010~FA997~pass~1", &["EDI-003 warning"], "ISA06 has 12 characters instead of 15"),
    (
        "004010~SC832~fail~1",
        &["EDI-003 warning", "EDI-013 warning", "EDI-033"],
        "ISA is wrapped inside ISA10; SE01 says 1659 of 17",
    ),
    (
        "004010~SH856~fail~2",
        &["EDI-013 warning", "EDI-033"],
        "N1 and two N3, N4 end with another character; SE01 says 25 of 22",
    ),
    ("004010~X354_SC840", &["EDI-009 warning"], "ISA11 is > in version 00401"),
    ("004010~SS862~fail~1", &["EDI-003 warning", "EDI-013 warning"], "ISA is wrapped behind ISA08"),
    (
        "005010~X212_HR276_Health_Care_Claim_Status_Request_and_Response~case~1",
        &["EDI-001 warning"],
        "prose before ISA",
    ),
    ("005010~X221_HP835_Health_Care_Claim_Payment_Advice~case~2", &["EDI-001 warning"], "prose before ISA"),
    ("pass~admission-request-for-review", &["EDI-033"], "SE01 says 25, there are 26 segments"),
    ("pass~request-for-home-health-care", &["EDI-033"], "SE01 says 19, there are 20 segments"),
    (
        "orders-with-group",
        &["EDI-038", "EDI-038", "EDI-049 warning", "EDI-033"],
        "UNG says 96A and EAN008A, UNH 96B and EAN008B, which have seven characters instead of six; UNT says 21, there are 18 segments",
    ),
];

pub(crate) fn corpus(kind: &str) -> Vec<PathBuf> {
    let root = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(root.join("data").join(kind)) else {
        eprintln!(
            "skipped: {}: no corpus of {kind} in {}; set QUAYLINE_CORPUS",
            std::thread::current().name().unwrap_or("a test"),
            root.display()
        );
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "edi"));
    files.sort();
    files
}

#[test]
fn every_real_file_is_read_and_its_findings_are_explained() {
    let mut wrong = Vec::new();
    for file in [corpus("x12"), corpus("edifact")].concat() {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read(&file).expect("readable");
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut pass = reader.over(&text, EndOfInput::Yes);
        let (mut transactions, mut codes) = (0, Vec::new());
        loop {
            match pass.advance() {
                Event::TransactionStart => transactions += 1,
                Event::Done => break,
                _ => {}
            }
            for fault in pass.take_faults() {
                let word = if fault.severity == Severity::Error { "" } else { " warning" };
                codes.push(format!("{}{word}", fault.error.code().0));
            }
        }
        let explained =
            EXPLAINED.iter().find(|(part, _, _)| name.contains(part)).map_or(&[][..], |(_, codes, _)| codes);
        if transactions == 0 || codes != explained {
            wrong.push(format!("{name}: {transactions} transactions, {codes:?}, explained {explained:?}"));
        }
        assert_eq!(
            trace(&text, [], &Limits::default(), Rules::Lenient),
            trace(&text, 0..text.len(), &Limits::default(), Rules::Lenient),
            "{name}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Documents of a real file are written, and read back as the same documents; clean files come back byte for byte.
#[test]
fn every_real_file_is_written_again() {
    let mut same = 0;
    let files = [corpus("x12"), corpus("edifact")].concat();
    for file in &files {
        let text = std::fs::read(file).expect("readable");
        let faults = documents(&text, [], &mut Document::new());
        let written = rewrite(&text);
        let strip = |(lines, _): (Vec<u8>, Vec<String>)| lines;
        assert_eq!(strip(json(&written, [])), strip(json(&rewrite(&written), [])), "{}", file.display());
        assert_eq!(rewrite(&written), written, "{}: writing is stable", file.display());
        if faults.is_empty()
            && written.trim_ascii_end() == text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).trim_ascii_end()
        {
            same += 1;
        } else {
            eprintln!("{}: {faults:?}", file.display());
        }
    }
    // The others have findings, or line breaks after only some of their segments.
    assert!(files.is_empty() || same >= 57, "{same} of {} files come back byte for byte", files.len());
}

/// Real claims with the small guide of the examples: content without a place is reported, and all other content is written back byte for byte.
#[test]
fn real_claims_by_the_small_guide_come_back() {
    let guides = crate::guide_documents::claims();
    let (mut whole, mut told) = (Vec::new(), Vec::new());
    for file in
        corpus("x12").iter().filter(|file| file.to_string_lossy().contains("HC837_Health_Care_Claim_Professional"))
    {
        let text = std::fs::read(file).expect("readable");
        let mut writer = quayline_edi::EdiWriter::new(quayline_edi::EdiWriterOptions {
            guides: Some(std::sync::Arc::clone(&guides)),
            ..quayline_edi::EdiWriterOptions::default()
        });
        let faults = crate::guide_documents::read(&guides, None, &text, [], &mut writer);
        // What follows a segment without a place can be without the beginning of its loop.
        let errors = writer.take_errors();
        assert!(errors.is_empty() || !faults.is_empty(), "{errors:?}");
        writer.finish();
        let name =
            file.file_stem().expect("a file").to_string_lossy().rsplit('~').next().unwrap_or_default().to_owned();
        if faults.is_empty() {
            assert_eq!(core::str::from_utf8(writer.bytes()), core::str::from_utf8(&rewrite(&text)), "{name}");
            whole.push(name);
        } else {
            told.push(format!("{name}: {}", faults.join(", ")));
        }
    }
    if whole.is_empty() && told.is_empty() {
        return;
    }
    expect_test::expect![[r#"
        whole:
        anesthesia
        commercial-health-insurance
        encounter
        home-infusion-therapy-pharmacy-adjudicated-with-NDC-in-loop-2410
        told:
        COB-claim-from-billing-provider-to-payer-a: EDI-045 at segment 33, element 0, EDI-045 at segment 37, element 0, EDI-045 at segment 38, element 0, EDI-045 at segment 39, element 0, EDI-045 at segment 42, element 0, EDI-045 at segment 43, element 0
        COB-claim-from-payer-a-to-payer-b-in-payer-to-payer: EDI-045 at segment 33, element 0, EDI-045 at segment 37, element 0, EDI-045 at segment 38, element 0, EDI-045 at segment 39, element 0, EDI-045 at segment 40, element 0, EDI-045 at segment 41, element 0, EDI-045 at segment 46, element 0
        out-of-network-repriced-claim: EDI-045 at segment 28, element 0, EDI-045 at segment 30, element 0, EDI-045 at segment 31, element 0, EDI-045 at segment 35, element 0, EDI-045 at segment 36, element 0
        ppo-repriced-claim: EDI-045 at segment 23, element 0, EDI-045 at segment 32, element 0, EDI-045 at segment 36, element 0"#]].assert_eq(&format!("whole:\n{}\ntold:\n{}", whole.join("\n"), told.join("\n")));
}
