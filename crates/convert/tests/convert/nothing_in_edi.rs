//! Damaged interchanges, under lenient and strict rules: each segment is in the output, in the rejects or in a finding.

use std::sync::Arc;

use proptest::prelude::*;
use quayline_core::Limits;
use quayline_edi::{EdiWriterOptions, Rules};
use quayline_project::{EdiRead, Schema, SourceFormat, TargetFormat};

use crate::kit::*;

/// An X12 interchange and an EDIFACT interchange.
fn interchanges() -> Vec<u8> {
    let mut text = String::from(
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~",
    );
    for group in 1..=2 {
        text.push_str(&format!("GS*PO*S*R*20260401*1200*{group}*X*005010~"));
        for i in 1..=4 {
            text.push_str(&format!(
                "ST*850*{group}{i:03}~BEG*00*SA*PO{group}{i}**20260401~PO1*1*{i}*EA*9.5**VN*A{group}{i}:B~"
            ));
            text.push_str(&format!("SE*4*{group}{i:03}~"));
        }
        text.push_str(&format!("GE*4*{group}~"));
    }
    text.push_str("IEA*2*000000001~\r\nUNA:+.? '\r\nUNB+UNOC:3+S:14+R:14+260401:1200+7'\r\n");
    for i in 1..=5 {
        text.push_str(&format!("UNH+{i}+ORDERS:D:96A:UN'\r\nBGM+220+{i}'\r\nFTX+ZZZ+++LINE {i}'\r\nUNT+4+{i}'\r\n"));
    }
    text.push_str("UNZ+5+7'\r\n");
    text.into_bytes()
}

/// Damage to the file at a place: a share of its length.
#[derive(Clone, Debug)]
enum Damage {
    Replace(f64, u8),
    Insert(f64, Vec<u8>),
    Delete(f64, usize),
    Repeat(f64, usize),
    /// The file ends early.
    Cut(f64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = || prop_oneof![3 => prop::sample::select(b"~'*+:?^ \r\nA7".to_vec()), 1 => any::<u8>()];
    prop_oneof![
        4 => (0.0..1.0, byte()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        3 => (0.0..1.0, prop::collection::vec(byte(), 1..12)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        3 => (0.0..1.0, 1..40usize).prop_map(|(at, len)| Damage::Delete(at, len)),
        2 => (0.0..1.0, 1..60usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        1 => (0.1..1.0).prop_map(Damage::Cut),
    ]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
fn damaged(mut data: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let place = |at: f64| (at * data.len() as f64) as usize;
        let until = |at: usize, len: usize| (at + len).min(data.len());
        match damage {
            Damage::Replace(at, byte) => {
                let at = place(*at);
                data[at] = *byte;
            }
            Damage::Insert(at, bytes) => {
                let at = place(*at);
                data.splice(at..at, bytes.iter().copied());
            }
            Damage::Delete(at, len) => {
                let at = place(*at);
                let end = until(at, *len);
                data.drain(at..end);
            }
            Damage::Repeat(at, len) => {
                let at = place(*at);
                let again = data[at..until(at, *len)].to_vec();
                data.splice(at..at, again);
            }
            Damage::Cut(at) => data.truncate(place(*at)),
        }
    }
    data
}

/// Pieces between the terminators of the standard whose headers came last, as the writer would write them, with their ranges.
fn pieces(data: &[u8]) -> Vec<(std::ops::Range<usize>, Vec<u8>)> {
    let mut pieces = Vec::new();
    let (mut start, mut terminator, mut released) = (0, b'~', false);
    for end in 0..=data.len() {
        let rest = &data[end..];
        if rest.starts_with(b"ISA*") {
            terminator = b'~';
        } else if rest.starts_with(b"UNA:") || rest.starts_with(b"UNB+") {
            terminator = b'\'';
        }
        if end == data.len() || (data[end] == terminator && !released) {
            let piece = as_written(&data[start..end]);
            if !piece.is_empty() {
                pieces.push((start..end, piece));
            }
            start = end + 1;
        }
        // Line breaks are left out before release characters mean anything.
        if !matches!(data.get(end), Some(b'\r' | b'\n')) {
            released = terminator == b'\'' && !released && rest.starts_with(b"?");
        }
    }
    pieces
}

/// Returns a segment without what the writer leaves out.
fn as_written(segment: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    // NUL and 0x1A before an interchange are passed over.
    let is_fill = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x1a);
    let fill = segment.iter().take_while(|byte| is_fill(byte)).count();
    let unfilled = &segment[fill..];
    let starts = [&b"ISA"[..], b"UNA", b"UNB"].iter().any(|tag| unfilled.starts_with(tag));
    let segment = if starts || unfilled.is_empty() { unfilled } else { segment }.trim_ascii();
    // X12.6 does not count spaces at the end of an element as data, and fields of headers are without them.
    let is_header = segment.starts_with(b"GS*") || segment.starts_with(b"ST*");
    for &byte in segment {
        match byte {
            // Release characters that release nothing are not written again, and one finding names line breaks inside of segments.
            b'?' | b'\r' | b'\n' => continue,
            b'*' if is_header => while written.pop_if(|last| *last == b' ').is_some() {},
            // Empty components at the end of an element.
            b'+' | b'*' => while written.pop_if(|last| *last == b':').is_some() {},
            _ => {}
        }
        written.push(byte);
    }
    // Empty elements at the end, and blanks as around the segment.
    while written.pop_if(|last| matches!(last, b'+' | b'*' | b':' | b' ' | b'\t')).is_some() {}
    written
}

fn count_of(message: &str) -> usize {
    message.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn has_tag(segment: &[u8], tags: &[&[u8]]) -> bool {
    let rest = |tag: &&[u8]| {
        segment.strip_prefix(*tag).map(|rest| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric()))
    };
    tags.iter().any(|tag| rest(tag) == Some(true))
}

/// Returns the bytes up to the next segment with one of these tags.
fn up_to(data: &[u8], tags: &[&[u8]]) -> usize {
    pieces(data).iter().skip(1).find(|(_, piece)| has_tag(piece, tags)).map_or(data.len(), |(range, _)| range.start)
}

fn check(data: &[u8], rules: Rules) -> Result<(), TestCaseError> {
    let from = SourceFormat::Edi(EdiRead { rules, ..EdiRead::default() });
    let to = TargetFormat::Edi(EdiWriterOptions::default());
    let kit = Kit::new(Arc::new(Schema::edi()), data, from, to);
    let mut conversion = kit.conversion();
    conversion.limits = Limits { findings_max: 10_000, ..Limits::default() };
    let report = match checked(conversion.run()) {
        Ok(report) => report,
        Err(error) => {
            // A run that fails says so; its output is not there to be mistaken for a whole one.
            prop_assert!(!kit.path("out").exists(), "{error}");
            return Ok(());
        }
    };
    let mut held: Vec<Vec<u8>> = Vec::new();
    for name in ["out", "rejects"] {
        held.extend(pieces(&kit.bytes(name)).into_iter().map(|(_, piece)| piece));
    }
    let findings: Vec<_> = report.findings.iter().chain(&report.repeated).collect();
    // The byte after ISA16, which may be damaged.
    let terminator = if data.starts_with(b"ISA") { data.get(105).copied().unwrap_or(b'~') } else { b'~' };
    for (range, piece) in pieces(data) {
        if let Some(at) = held.iter().position(|held| *held == piece) {
            held.swap_remove(at);
            continue;
        }
        // Headers and trailers of interchanges and groups come once for all their transactions, and count those that are in the same file. A trailer that
        // follows a wrong one has no finding of its own.
        let is_envelope = has_tag(&piece, &[b"ISA", b"GS", b"GE", b"IEA", b"UNA", b"UNB", b"UNZ", b"SE", b"UNT"]);
        let said = findings.iter().any(|finding| {
            let Some(byte) = finding.place.byte else { return false };
            let at = usize::try_from(byte.0).expect("small");
            // What is between interchanges is one finding with the number of its bytes.
            let between = match finding.code.0 {
                "EDI-001" => count_of(&finding.message),
                // An interchange whose header is not readable.
                _ if finding.hint.as_ref().is_some_and(|hint| hint.contains("passed over")) => {
                    // The interchange of EDIFACT is the last one, and its header may have two segments.
                    let is_last = data[at..].starts_with(b"UN");
                    if is_last { data.len() - at } else { up_to(&data[at..], &[b"UNA", b"UNB"]) }
                }
                "EDI-012" => data.len() - at,
                // A header that goes on to the next terminator.
                "EDI-003" => finding.message.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0),
                "EDI-035" => up_to(&data[at..], &[b"ST", b"UNH", b"GS", b"UNG"]),
                // A segment of X12 ends at its own terminator, and may hold those of EDIFACT.
                _ if ![&b"UNA:"[..], b"UNB+"].iter().any(|tag| data[..at].windows(4).any(|here| here == *tag)) => {
                    data[at..].iter().position(|byte| *byte == terminator).unwrap_or(data.len() - at)
                }
                _ => 0,
            };
            (range.start..=range.end + 1).contains(&at) || (at..at + between).contains(&range.start)
        });
        prop_assert!(
            is_envelope || said,
            "`{}` at {range:?} is nowhere\n{}\nout {}\nrejects {}",
            piece.escape_ascii(),
            findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            kit.bytes("out").escape_ascii(),
            kit.bytes("rejects").escape_ascii(),
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
    #[test]
    fn no_segment_is_missing(damages in prop::collection::vec(damage(), 0..4), strict in any::<bool>()) {
        check(&damaged(interchanges(), &damages), if strict { Rules::Strict } else { Rules::Lenient })?;
    }
}
