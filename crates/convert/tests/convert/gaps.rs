//! Gaps and segments without a tag that are longer than a page: the time is proportional to their length, and they have no other effect.

use std::sync::Arc;
use std::time::Duration;

use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiDocuments, EdiRead, Schema, SourceFormat, TargetFormat};

use crate::kit::*;

/// An interchange of three orders with `gap` in the middle of the second, before its tenth line.
fn orders(standard: &str, gap: &[u8]) -> Vec<u8> {
    let x12 = standard == "X12";
    let mut text = if x12 {
        b"ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~\
          GS*PO*S*R*20260401*1200*1*X*005010~"
            .to_vec()
    } else {
        format!("UNB+{standard}+A+B+990802:1557+1'").into_bytes()
    };
    for order in 1..=3 {
        let head = if x12 { format!("ST*850*{order:04}~") } else { format!("UNH+{order}+ORDERS:D:96A:UN'") };
        text.extend_from_slice(head.as_bytes());
        for line in 1..=20 {
            if (order, line) == (2, 10) {
                text.extend_from_slice(gap);
            }
            let line = if x12 { format!("PO1*{line}*5*EA~") } else { format!("LIN+{line}++A:SA'") };
            text.extend_from_slice(line.as_bytes());
        }
        let tail = if x12 { format!("SE*22*{order:04}~") } else { format!("UNT+22+{order}'") };
        text.extend_from_slice(tail.as_bytes());
    }
    text.extend_from_slice(if x12 { b"GE*3*1~IEA*1*000000001~" } else { b"UNZ+3+1'" });
    text
}

struct Gap {
    standard: &'static str,
    piece: &'static [u8],
    /// Terminator, if it is a segment.
    end: &'static [u8],
}

const GAPS: [Gap; 9] = [
    Gap { standard: "X12", piece: b" ", end: b"" },
    Gap { standard: "X12", piece: b"\r\n", end: b"" },
    Gap { standard: "X12", piece: b"\0", end: b"~" },
    Gap { standard: "X12", piece: b"abc", end: b"~" },
    Gap { standard: "X12", piece: b"*", end: b"~" },
    Gap { standard: "UNOA:3", piece: b"\n", end: b"" },
    Gap { standard: "UNOA:3", piece: b"?'", end: b"'" },
    Gap { standard: "UNOX:4", piece: b"\x1b(B", end: b"'" },
    Gap { standard: "UNOX:4", piece: b"?'", end: b"'" },
];

impl Gap {
    fn of(&self, bytes: usize) -> Vec<u8> {
        let mut gap: Vec<u8> = self.piece.iter().copied().cycle().take(bytes / 6 * 6).collect();
        gap.extend_from_slice(self.end);
        gap
    }
}

fn kit(data: &[u8], documents: EdiDocuments, page_bytes: usize, lanes: usize) -> Kit {
    let rows = documents == EdiDocuments::Rows;
    let schema = Arc::new(if rows { Schema::edi_rows() } else { Schema::edi() });
    let to = if rows { TargetFormat::Csv(CsvStyle::default()) } else { jsonl() };
    let mut kit =
        Kit::new(schema, data, SourceFormat::Edi(EdiRead { documents, page_bytes, ..EdiRead::default() }), to);
    kit.lanes = lanes;
    kit
}

/// The CPU time of a conversion.
fn cost(gap: &Gap, bytes: usize, documents: EdiDocuments, page_bytes: usize, lanes: usize) -> Duration {
    let kit = kit(&orders(gap.standard, &gap.of(bytes)), documents, page_bytes, lanes);
    let one = || match kit.run() {
        Ok(report) => report.cost.lane_time.cpu,
        Err(error) => panic!("{}", said(&kit, &error)),
    };
    one().min(one())
}

/// If one segment filled a whole page, the end of the page advanced by one byte at a time, and the segment was read again each time: a
/// megabyte of line ends took too long to wait for.
#[test]
fn a_gap_of_any_kind_costs_its_length() {
    for gap in &GAPS {
        for documents in [EdiDocuments::Transactions, EdiDocuments::Rows] {
            for (page_bytes, lanes) in [(4_000, 1), (32 << 10, 1), (4_000, 3)] {
                let of = |bytes| cost(gap, bytes, documents, page_bytes, lanes);
                let (short, long) = (of(60_000), of(480_000));
                let allowed = short * 8 * 3 + Duration::from_millis(150);
                assert!(
                    long < allowed,
                    "{} {:?}, {documents:?}, pages of {page_bytes}: {short:?} and {long:?}",
                    gap.standard,
                    gap.piece
                );
            }
        }
    }
}

/// A segment beyond the limit is passed over, white space has no limit.
#[test]
fn a_gap_beyond_the_limit_of_a_segment_costs_its_length_too() {
    for gap in GAPS.iter().filter(|gap| gap.piece != b"*") {
        let of = |bytes| cost(gap, bytes, EdiDocuments::Transactions, 64 << 10, 1);
        let (short, long) = (of(2_000_000), of(8_000_000));
        let allowed = short * 4 * 3 + Duration::from_millis(150);
        assert!(long < allowed, "{} {:?}: {short:?} and {long:?}", gap.standard, gap.piece);
    }
}

#[test]
fn white_space_between_segments_changes_no_document() {
    let without = |standard| {
        let kit = kit(&orders(standard, b""), EdiDocuments::Transactions, 1 << 30, 1);
        kit.ok();
        kit.text("out")
    };
    for (standard, page) in [("X12", 1 << 30), ("UNOA:3", 1 << 30)] {
        for lanes in [1, 3] {
            let gap = [b" \t\r\n".repeat(500_000), b"\r\n".to_vec()].concat();
            let kit = kit(&orders(standard, &gap), EdiDocuments::Transactions, page, lanes);
            let tally = kit.ok().tally;
            assert_eq!((tally.records_out, tally.records_rejected), (3, 0), "{standard}");
            assert_eq!(kit.text("out"), without(standard), "{standard}");
        }
    }
}

/// Records of other formats that fill many blocks are read again a constant number of times too.
#[test]
fn a_record_of_many_blocks_costs_its_length() {
    let cost = |to: &TargetFormat, from: &SourceFormat, source: &[u8]| {
        let mut kit = Kit::new(schema(PERSON, ""), source, from.clone(), to.clone());
        kit.rejects = true;
        let one =
            || kit.run().map_or_else(|error| panic!("{}", said(&kit, &error)), |report| report.cost.lane_time.cpu);
        one().min(one())
    };
    let text = |open: &str, bytes: usize, close: &str| format!("{open}{}{close}", " ".repeat(bytes)).into_bytes();
    let person = r#""ID":1,"NAME":"A","BALANCE":1.00"#;
    for (from, open, close) in [
        (JSON, format!("{{{person}"), "}\n"),
        (
            SourceFormat::Xml(XmlStyle::default()),
            "<records><record><ID>1</ID><NAME>A</NAME><BALANCE>1.00</BALANCE>".to_owned(),
            "</record></records>",
        ),
    ] {
        let to = TargetFormat::Records(framing("fixed:14"));
        let of = |bytes| cost(&to, &from, &text(&open, bytes, close));
        let (short, long) = (of(2_000_000), of(12_000_000));
        assert!(long < short * 6 * 3 + Duration::from_millis(150), "{from:?}: {short:?} and {long:?}");
    }
}
