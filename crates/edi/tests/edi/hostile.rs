//! Hostile input: memory stays bounded and one finding describes the fault.

use std::collections::BTreeMap;

use quayline_core::Limits;
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";
const GS: &str = "GS*PO*S*R*20260401*1200*1*X*005010~";

/// Feeds the pieces one after another and keeps the unconsumed bytes. Returns the codes of the findings and the maximum number of bytes kept.
fn feed(pieces: impl IntoIterator<Item = Vec<u8>>) -> (Vec<&'static str>, usize) {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut kept, mut most, mut codes) = (Vec::new(), 0, Vec::new());
    let mut pieces = pieces.into_iter().peekable();
    loop {
        let end = if pieces.peek().is_some() { EndOfInput::No } else { EndOfInput::Yes };
        let mut pass = reader.over(&kept, end);
        let last = loop {
            let event = pass.advance();
            codes.extend(pass.take_faults().map(|fault| fault.error.code().0));
            if matches!(event, Event::NeedMore | Event::Done) {
                break event;
            }
        };
        let consumed = pass.finish();
        kept.drain(..consumed);
        most = most.max(kept.len());
        match (last, pieces.next()) {
            (Event::NeedMore, Some(piece)) => kept.extend(piece),
            (Event::Done, None) => return (codes, most),
            other => panic!("{other:?}"),
        }
    }
}

fn check(pieces: impl IntoIterator<Item = Vec<u8>>, codes: &[&str], kept_max: usize) {
    let (found, most) = feed(pieces);
    assert_eq!(found, codes);
    assert!(most <= kept_max, "{most} bytes kept");
}

fn with(head: &str, piece: &[u8], times: usize, tail: &str) -> impl Iterator<Item = Vec<u8>> {
    let (head, piece, tail) = (head.as_bytes().to_vec(), piece.to_vec(), tail.as_bytes().to_vec());
    core::iter::once(head).chain(core::iter::repeat_n(piece, times)).chain([tail])
}

#[test]
fn one_endless_segment() {
    let piece = [b'A'; 1 << 16];
    check(with(&format!("{ISA}{GS}ST*850*0001~N1*"), &piece, 400, ""), &["EDI-010", "EDI-030"], (1 << 20) + (1 << 17));
    check(
        with(&format!("{ISA}{GS}ST*850*0001~N1*"), &piece, 400, "~SE*3*0001~GE*1*1~IEA*1*000000001~"),
        &["EDI-010"],
        (1 << 20) + (1 << 17),
    );
    check(
        with(
            "UNB+UNOA:1+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'FTX+",
            "?'????????????".repeat(1000).as_bytes(),
            100,
            "'UNT+3+1'UNZ+1+1'",
        ),
        &["EDI-010"],
        (1 << 20) + (1 << 17),
    );
}

#[test]
fn a_million_empty_elements() {
    check(
        with(&format!("{ISA}{GS}ST*850*0001~N1"), &[b'*'; 1000], 1000, "~SE*3*0001~GE*1*1~IEA*1*000000001~"),
        &["EDI-011"],
        1 << 20,
    );
}

#[test]
fn a_million_empty_components_and_segments() {
    check(
        with(&format!("{ISA}{GS}ST*850*0001~N1*"), &[b':'; 1000], 1000, "~SE*3*0001~GE*1*1~IEA*1*000000001~"),
        &[],
        1 << 20,
    );
    check(
        with(&format!("{ISA}{GS}ST*850*0001~"), &[b'~'; 1000], 1000, "SE*2*0001~GE*1*1~IEA*1*000000001~"),
        &["EDI-020"],
        1 << 16,
    );
}

#[test]
fn headers_that_are_none() {
    check(with(&ISA.replace('*', "A"), b"ST*850*0001~", 1000, ""), &["EDI-005"], 2000);
    check(with("ISA*00*", &[b'*'; 100], 1000, ""), &["EDI-006"], 2000);
    check(with("ISA", &[b'~'; 100], 1000, ""), &["EDI-006"], 2000);
    check(with("UNA", &[b'\''; 100], 1000, ""), &["EDI-004"], 2000);
    check(with("UNB+", b"ABCDEFG", 10_000, ""), &["EDI-004"], 2000);
    check(with("", b"ISA U ", 100_000, ""), &["EDI-005"], 2000);
}

#[test]
fn binary_data_without_an_end() {
    check(
        with(&format!("{ISA}{GS}ST*275*0001~BIN*99999999999*"), &[0; 1 << 16], 400, ""),
        &["EDI-016", "EDI-030"],
        1 << 17,
    );
    check(with(&format!("{ISA}{GS}ST*275*0001~BIN*9999999*"), &[0; 1 << 16], 10, ""), &["EDI-017"], 1 << 20);
    check(
        with(&format!("{ISA}{GS}ST*275*0001~BIN*"), &[b'9'; 1000], 1500, ""),
        &["EDI-010", "EDI-030"],
        (1 << 20) + (1 << 17),
    );
}

#[test]
fn groups_in_groups_and_transactions_in_transactions() {
    let ung = "UNG+ORDERS+S+R+260401:1200+3+UN+D:96A'";
    let (codes, most) = feed(with("UNB+UNOA:1+A+B+990802:1557+1'", ung.as_bytes(), 100_000, "UNZ+1+1'"));
    let mut counts = BTreeMap::new();
    codes.iter().for_each(|code| *counts.entry(*code).or_insert(0) += 1);
    // Each is a separate fault, up to the limit of findings.
    assert!(counts.values().sum::<i32>() <= 1000, "{counts:?}");
    assert!(most < 1 << 12);
    check(
        [format!("UNB+UNOA:1+A+B+990802:1557+1'{ung}{}UNE+0+4'UNE+1+3'UNZ+1+1'", ung.replace("+3+", "+4+"))
            .into_bytes()],
        &["EDI-036"],
        1 << 12,
    );
}

#[test]
fn an_isa_of_wrong_width() {
    check(
        [format!("{}{GS}GE*0*1~IEA*1*000000001~", ISA.replace("SENDER    ", "S")).into_bytes()],
        &["EDI-003"],
        1 << 12,
    );
}
