//! Transactions by guide in pages: a single lane finds them itself, several lanes are given their ends. Both write the same bytes.

use std::sync::Arc;

use quayline_edi::EdiWriterOptions;
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_project::{EdiRead, JsonWrite, Schema, SourceFormat, TargetFormat, read_guides};

use quayline_core::Limits;

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
element 933 AN 1..264
codes 92
  NE
segment BEG
  92 M
  324 M
segment PO1
  350 M
  212 O
segment MSG
  933 M
structure
  segment BEG M 1
  segment MSG O *
  loop PO1 O * \"Line\"
    segment PO1 M 1
    segment MSG O *
";

/// Generates transactions: some short, one with many lines, one with long notes before the first line and after the second. Every fifth is bad.
fn interchange() -> Vec<u8> {
    let mut text =
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~"
            .to_owned();
    text.push_str("GS*PO*S*R*20260401*1200*1*X*005010~");
    for i in 1..=60usize {
        let (lines, notes) = match i % 20 {
            3 => (16_000, 1),
            8 => (3, 3_000),
            12 => (300, 2),
            _ => (i % 7, i % 3),
        };
        text.push_str(&format!("ST*850*{i:04}~BEG*NE*PO{i}~"));
        let note = |text: &mut String| (0..notes).for_each(|n| text.push_str(&format!("MSG*WORDS OF THE NOTE, {n}~")));
        note(&mut text);
        for line in 1..=lines {
            text.push_str(&format!("PO1*{line}*{}~", if i % 5 == 4 && line + 1 >= lines { "X" } else { "9.5" }));
            if line == 2 {
                note(&mut text);
            }
        }
        let segments = 3 + lines + notes * (1 + usize::from(lines > 1));
        text.push_str(&format!("SE*{}*{i:04}~", segments + usize::from(i % 20 == 13)));
    }
    text.push_str("GE*60*1~IEA*1*000000001~");
    text.into_bytes()
}

fn kit(data: &[u8], page_bytes: usize, to: TargetFormat, lanes: usize) -> Kit {
    kit_by(GUIDE, data, page_bytes, to, lanes)
}

fn kit_by(guide: &str, data: &[u8], page_bytes: usize, to: TargetFormat, lanes: usize) -> Kit {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("850.guide");
    std::fs::write(&path, guide).expect("written");
    let set = read_guides(&[path], &Limits::default(), None).unwrap_or_else(|findings| panic!("{findings}"));
    let documents = Arc::new(GuideDocuments::new(set, NodeNames::References));
    let schema = Arc::new(Schema::edi_by_guide(&documents));
    let from = SourceFormat::Edi(EdiRead { guides: Some(documents), page_bytes, ..EdiRead::default() });
    Kit { lanes, ..Kit::new(schema, data, from, to) }
}

#[test]
fn a_lane_alone_writes_what_several_write() {
    let data = interchange();
    assert!(data.len() > 3 << 18, "several blocks");
    let json = JsonWrite::default();
    for page in [1, 300, 4 << 10, 64 << 10, 1 << 20] {
        for to in [TargetFormat::JsonLines(json), TargetFormat::JsonArray(json)] {
            let alone = kit(&data, page, to.clone(), 1);
            let report = alone.ok();
            assert!(report.tally.records_rejected > 8 && report.tally.records_out > 40, "{page}: {:?}", report.tally);
            let several = kit(&data, page, to, 3);
            assert_eq!(several.ok().tally, report.tally, "pages of {page}");
            for name in ["out", "rejects", "rejects.findings.jsonl"] {
                let (one, all) = (alone.text(name), several.text(name));
                let differ = one.lines().zip(all.lines()).find(|(one, all)| one != all);
                assert!(one == all, "pages of {page}: {name} has {} and {} bytes, {differ:?}", one.len(), all.len());
            }
        }
    }
}

/// Interchanges of six transactions: the second and the sixth are long and bad, the fourth is short and bad.
fn bad_in_turn(interchanges: usize) -> Vec<u8> {
    let mut text = String::new();
    for n in 1..=interchanges {
        text.push_str(&format!(
            "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*{n:09}*0*T*:~\
             GS*PO*S*R*20260401*1200*{n}*X*005010~"
        ));
        for i in 1..=6 {
            let (lines, price) = match i {
                2 => (400, "X"),
                4 => (1, "X"),
                6 => (500, "X"),
                _ => (1, "9.5"),
            };
            text.push_str(&format!("ST*850*{i:04}~BEG*NE*PO{i}~"));
            (1..=lines).for_each(|line| text.push_str(&format!("PO1*{line}*{price}~")));
            text.push_str(&format!("SE*{}*{i:04}~", lines + 3));
        }
        text.push_str(&format!("GE*6*{n}~IEA*1*{n:09}~"));
    }
    text.into_bytes()
}

/// Regression: a single lane wrote the rejected pages of a block before the small rejects of the block: 0002, 0006, 0004. The rejects of several
/// interchanges had each interchange twice.
#[test]
fn rejected_pages_and_small_rejects_are_in_the_order_of_the_source() {
    let control_numbers = |text: &str, tag: &str, at: usize| -> Vec<String> {
        let segments = text.split('~').filter(|segment| segment.starts_with(tag));
        segments.map(|segment| segment.split('*').nth(at).expect("an element").to_owned()).collect()
    };
    for interchanges in [1, 59] {
        let data = bad_in_turn(interchanges);
        for to in ["JSON", "EDI"] {
            let of = |lanes| {
                let mut kit = kit(&data, 1 << 10, jsonl(), lanes);
                if let (SourceFormat::Edi(read), "EDI") = (&kit.from, to) {
                    kit.to = TargetFormat::Edi(EdiWriterOptions { guides: read.guides.clone(), ..Default::default() });
                }
                let tally = kit.ok().tally;
                assert_eq!(
                    (tally.records_in, tally.records_rejected),
                    (6 * interchanges as u64, 3 * interchanges as u64)
                );
                kit.text("rejects")
            };
            let alone = of(1);
            let transactions = control_numbers(&alone, "ST*", 2);
            assert_eq!(transactions, ["0002", "0004", "0006"].repeat(interchanges), "{to}");
            let expected: Vec<String> = (1..=interchanges).map(|n| format!("{n:09}")).collect();
            assert_eq!(control_numbers(&alone, "ISA*", 13), expected, "{to}");
            assert!(of(3) == alone, "{to}");
        }
    }
}

/// Several lanes lost the line break at the end of each page of a rejected transaction.
#[test]
fn line_breaks_between_pages_are_in_the_rejects_of_any_number_of_lanes() {
    let lines: String = (1..=2_000).map(|n| format!("PO1*{n}*{}~", if n == 1_500 { "X" } else { "9.5" })).collect();
    let text = format!(
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~\
         GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*NE*PO1~{lines}SE*2003*0001~GE*1*1~IEA*1*000000001~"
    );
    for line_break in ["\n", "\r\n"] {
        let data = text.replace('~', &format!("~{line_break}"));
        for page in [300, 2 << 10] {
            for lanes in [1, 2, 3] {
                let kit = kit(data.as_bytes(), page, jsonl(), lanes);
                assert!(kit.ok().tally.records_rejected > 0);
                // The only transaction of the source, with its headers and trailers.
                assert!(kit.text("rejects") == data, "pages of {page}, {lanes} lanes");
            }
        }
    }
}

/// Regression: a lane took the elements of pages that other lanes read as right. It reported a rule whose sum lacked a wrong value of such a page.
#[test]
fn findings_of_pages_are_the_same_for_any_number_of_lanes() {
    let guide = GUIDE.replacen("  324 M\n", "  324 M\n  212 O\n", 1)
        + "rules\n  rule total \"the order is not the sum of its lines\"\n    BEG03 = sum(PO1/PO102)\n";
    let line = |n: usize| match n {
        3 => "PO1*3*X~".to_owned(),
        // A segment that the guide does not have; a segment that has no terminator.
        700 => "PO1*7005~ZZZ*1~".to_owned(),
        1_200 => "PO1*1200*5MSG*WORDS~MSG**~".to_owned(),
        _ => format!("PO1*{n}*1~"),
    };
    for wrong in [vec![3], vec![700], vec![1_200], vec![3, 700, 1_200], vec![]] {
        let lines: String = (1..=2_000).map(|n| line(if wrong.contains(&n) { n } else { n.max(4) + 2_000 })).collect();
        let text = format!(
            "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~\
             GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*NE*PO1*2001~{lines}SE*2003*0001~GE*1*1~IEA*1*000000001~"
        );
        let told = |lanes: usize, page: usize| {
            let kit = kit_by(&guide, text.as_bytes(), page, jsonl(), lanes);
            assert!(kit.ok().tally.records_rejected > 0);
            kit.text("rejects.findings.jsonl")
        };
        for page in [300, 2 << 10] {
            let one = told(1, page);
            if wrong.iter().all(|n| *n == 3) {
                assert_eq!(one.contains("EDI-130"), wrong.is_empty(), "{wrong:?}: {one}");
            }
            for lanes in [2, 3] {
                assert_eq!(one, told(lanes, page), "{wrong:?}, pages of {page}, {lanes} lanes");
            }
        }
    }
}

#[test]
fn pages_of_a_lane_alone_become_the_same_interchange() {
    let data = interchange();
    let pages = kit(&data, 4 << 10, jsonl(), 1);
    pages.ok();
    let good = pages.text("out");
    assert!(good.contains("\"page\":7"), "there are pages");
    let back = kit(good.as_bytes(), 4 << 10, jsonl(), 1);
    let SourceFormat::Edi(EdiRead { guides, .. }) = &back.from else { panic!("interchanges") };
    let to = TargetFormat::Edi(EdiWriterOptions { guides: guides.clone(), ..EdiWriterOptions::default() });
    let back = Kit { from: JSON, to, ..back };
    back.ok();
    let whole = kit(&data, 64 << 20, jsonl(), 1);
    whole.ok();
    let again = kit(whole.text("out").as_bytes(), 1, jsonl(), 1);
    let again = Kit { from: JSON, to: back.to.clone(), ..again };
    again.ok();
    // Of a bad transaction good pages are written; so only the good ones are compared.
    let transactions = |bytes: Vec<u8>| -> Vec<String> {
        let text = String::from_utf8(bytes).expect("ASCII");
        text.split("~ST*").skip(1).map(|text| text.split("~SE*").next().unwrap_or_default().to_owned()).collect()
    };
    let (paged, whole) = (transactions(back.bytes("out")), transactions(again.bytes("out")));
    assert!(whole.len() > 40 && whole.iter().all(|text| paged.contains(text)), "{} and {}", whole.len(), paged.len());
}

#[test]
fn a_lane_alone_resumes_at_every_step() {
    check(&kit(&interchange(), 64 << 10, jsonl(), 1), Unsynced::Garbage);
}
