//! Interchanges are checked before they are kept. That includes the last document of a block, although only the next block shows whether its
//! transaction continues.

use std::sync::Arc;

use quayline_convert::Start;
use quayline_core::Limits;
use quayline_edi::{EdiWriterOptions, OutboundOptions, ValidationLevel};
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_project::{EdiRead, Schema, SourceFormat, TargetFormat, read_guides};

use crate::crash::{Unsynced, check};
use crate::kit::*;

const GUIDE: &str = "guide 850 \"Purchase order\"
standard X12
version 005010
transaction 850 group PO
element 92 ID 2..2 codes 92
element 324 AN 1..22
element 350 AN 1..20
element 212 R 1..17
element 354 N0 1..9
codes 92
  NE
segment BEG
  92 M
  324 M
segment PO1
  350 M
  212 O
segment CTT
  354 M
structure
  segment BEG M 1
  loop PO1 O * \"Line\"
    segment PO1 M 1
  segment CTT M 1
rules
  rule lines \"the number of lines differs\"
    CTT01 = count(PO1)
";

fn documents() -> Arc<GuideDocuments> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("850.guide");
    std::fs::write(&path, GUIDE).expect("written");
    let set = read_guides(&[path], &Limits::default(), None).unwrap_or_else(|findings| panic!("{findings}"));
    Arc::new(GuideDocuments::new(set, NodeNames::References))
}

/// The total at the end of an order.
#[derive(Clone, Copy, Eq, PartialEq)]
enum End {
    Right,
    WrongCount,
    Missing,
}

fn order(number: usize, lines: usize, end: End) -> String {
    let lines_of: Vec<String> =
        (1..=lines).map(|line| format!("{{\"PO1\":{{\"PO101\":\"{line}\",\"PO102\":9.5}}}}")).collect();
    let ctt = match end {
        End::Right => format!(",\"CTT\":{{\"CTT01\":{lines}}}"),
        End::WrongCount => ",\"CTT\":{\"CTT01\":7}".to_owned(),
        End::Missing => String::new(),
    };
    format!(
        "{{\"standard\":\"X12\",\"interchange\":{{\"sender_qualifier\":\"ZZ\",\"sender\":\"A\",\"receiver_qualifier\":\"ZZ\",\"receiver\":\"B\",\"date\":\"260401\",\"time\":\"1200\",\"version\":\"00501\"}},\"group\":{{\"sender\":\"A\",\"receiver\":\"B\",\"date\":\"20260401\",\"time\":\"1200\"}},\"transaction\":{{}},\"BEG\":{{\"BEG01\":\"NE\",\"BEG02\":\"O{number}\"}},\"PO1\":[{}]{ctt}}}\n",
        lines_of.join(",")
    )
}

fn checked(documents: &Arc<GuideDocuments>) -> TargetFormat {
    TargetFormat::Edi(EdiWriterOptions {
        guides: Some(Arc::clone(documents)),
        check: Some(OutboundOptions::default()),
        ..EdiWriterOptions::default()
    })
}

fn kit(orders: &str, lanes: usize) -> Kit {
    let documents = documents();
    let schema = Arc::new(Schema::edi_by_guide(&documents));
    Kit { lanes, ..Kit::new(schema, orders.as_bytes(), JSON, checked(&documents)) }
}

/// Order `i`: some are larger than a block, some are wrong at their ends.
fn orders(count: usize) -> (String, usize) {
    let mut wrong = 0;
    let mut text = String::new();
    for i in 1..=count {
        let end = match i % 5 {
            2 => End::Missing,
            4 => End::WrongCount,
            _ => End::Right,
        };
        wrong += usize::from(end != End::Right);
        text.push_str(&order(i, if i % 3 == 0 { 9_000 } else { 8 }, end));
    }
    (text, wrong)
}

#[test]
fn documents_at_the_end_of_a_block_are_refused_like_others() {
    // The last one is wrong, or right.
    for count in [17, 18] {
        let (text, wrong) = orders(count);
        let one = kit(&text, 1);
        let report = one.ok();
        assert_eq!((report.tally.records_rejected, report.tally.records_out), (wrong as u64, (count - wrong) as u64));
        let out = one.text("out");
        assert_eq!(out.matches("~ST*850*").count(), count - wrong);
        assert_eq!(out.matches("~CTT*").count(), count - wrong);
        let rejected: String = text
            .lines()
            .enumerate()
            .filter(|(i, _)| matches!((i + 1) % 5, 2 | 4))
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        assert!(one.text("rejects") == rejected, "the rejects are the documents, in their order");
        let findings = one.text("rejects.findings.jsonl");
        assert_eq!(
            (findings.matches("EDI-108").count(), findings.matches("EDI-130").count()),
            (count.div_ceil(5) - usize::from(count % 5 == 1), (count + 1) / 5)
        );
        for lanes in [2, 4] {
            let several = kit(&text, lanes);
            assert_eq!(several.ok().tally, report.tally);
            for name in ["out", "rejects", "rejects.findings.jsonl"] {
                assert!(several.text(name) == one.text(name), "{lanes} lanes: {name}");
            }
        }
    }
}

#[test]
fn the_first_document_that_is_refused_ends_a_run_without_rejects() {
    let text = order(1, 9_000, End::Right) + &order(2, 9_000, End::Missing);
    for lanes in [1, 3] {
        let kit = Kit { rejects: false, ..kit(&text, lanes) };
        let error = kit.run().expect_err("it is refused");
        assert!(error.to_string().contains("error[EDI-108]: CTT is missing"), "{error}");
        assert!(!kit.path("out").exists());
    }
}

#[test]
fn a_checked_run_resumes_at_every_step() {
    let (text, _) = orders(14);
    check(&kit(&text, 1), Unsynced::Garbage);
    check(&kit(&text, 2), Unsynced::Kept);
}

/// Pages of one transaction: what its end lacks is found there, by pages of JSON and of interchanges.
#[test]
fn a_transaction_in_pages_is_checked_to_its_end() {
    let documents = documents();
    let schema = Arc::new(Schema::edi_by_guide(&documents));
    let good = kit(&(order(1, 20_000, End::Right) + &order(2, 3, End::Right)), 1);
    good.ok();
    let interchange = good.bytes("out");
    let read = EdiRead { guides: Some(Arc::clone(&documents)), page_bytes: 4 << 10, ..EdiRead::default() };
    let pages = Kit::new(Arc::clone(&schema), &interchange, SourceFormat::Edi(read.clone()), jsonl());
    pages.ok();
    let text = pages.text("out");
    assert!(text.contains("\"page\":7"));
    for lanes in [1, 3] {
        let back = Kit { lanes, ..Kit::new(Arc::clone(&schema), text.as_bytes(), JSON, checked(&documents)) };
        back.ok();
        assert!(back.bytes("out") == interchange, "{lanes} lanes: pages of JSON are one transaction again");
        let paged = SourceFormat::Edi(read.clone());
        let back = Kit { lanes, ..Kit::new(Arc::clone(&schema), &interchange, paged, checked(&documents)) };
        back.ok();
        assert!(back.bytes("out") == interchange, "{lanes} lanes: pages of interchanges too");
    }
    // Of pages that are written already the end is an error of the run.
    let cut: String = text.lines().map(|line| line.replace(",\"CTT\":{\"CTT01\":20000}", "") + "\n").collect();
    assert_ne!(cut, text);
    let back = Kit::new(Arc::clone(&schema), cut.as_bytes(), JSON, checked(&documents));
    let report = back.ok();
    assert_eq!(report.errors, 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].code.0, "EDI-108");
    // Of an interchange that is read without its checks nothing is written, whatever its length.
    let cut = String::from_utf8(interchange).expect("ASCII").replace("~CTT*20000~SE*20004*", "~CTT*7~SE*20004*");
    let unchecked = EdiRead { level: ValidationLevel::Envelope, ..read };
    for lanes in [1, 3] {
        let from = SourceFormat::Edi(unchecked.clone());
        let back = Kit { lanes, ..Kit::new(Arc::clone(&schema), cut.as_bytes(), from, checked(&documents)) };
        let report = back.ok();
        assert_eq!((report.tally.records_rejected, report.tally.records_out), (1, 1));
        assert!(back.text("out").len() < 400, "{lanes} lanes: only the other transaction is written");
        assert!(back.text("rejects").contains("~CTT*7~"));
    }
}

/// The last page of a block waits for the next block. A document that the next block refuses ended the run after that page was accepted and before it was
/// written: the checkpoint counted it, and a resumed run refused the next page (EDI-064).
#[test]
fn a_page_that_waits_is_not_in_the_checkpoint_of_a_refused_run() {
    let documents = documents();
    let schema = Arc::new(Schema::edi_by_guide(&documents));
    let good = kit(&(order(1, 16_000, End::Right) + &order(2, 3, End::Right) + &order(3, 9_000, End::Right)), 1);
    good.ok();
    let interchange = good.bytes("out");
    let read = EdiRead { guides: Some(Arc::clone(&documents)), page_bytes: 4 << 10, ..EdiRead::default() };
    let pages = Kit::new(Arc::clone(&schema), &interchange, SourceFormat::Edi(read), jsonl());
    pages.ok();
    let (text, right, wrong) = (pages.text("out"), "\"CTT\":{\"CTT01\":3}", "\"CTT\":{\"CTT01\":7}");
    assert_eq!(text.matches(right).count(), 1);
    for lanes in [1, 3] {
        let kit = Kit::new(Arc::clone(&schema), text.replace(right, wrong).as_bytes(), JSON, checked(&documents));
        let kit = Kit { rejects: false, lanes, ..kit };
        let run = |start| {
            let mut conversion = kit.conversion();
            conversion.checkpoints = Some(kit.checkpoints(start));
            conversion.run()
        };
        let error = run(Start::Anew).expect_err("order 2 is refused").to_string();
        assert!(error.contains("EDI-130"), "{error}");
        // A correction of the same length beyond the first and last 64 KiB, which the digest covers.
        std::fs::write(kit.path("in.dat"), &text).expect("written");
        run(Start::Resume).unwrap_or_else(|error| panic!("{error}"));
        assert!(kit.bytes("out") == interchange, "{lanes} lanes: {} bytes", kit.bytes("out").len());
    }
}
