//! Long stretches without a segment: each byte is examined a constant number of times, however few bytes arrive at a time.

use std::time::{Duration, Instant};

use quayline_core::Limits;
use quayline_edi::{EndOfInput, EnvelopeReader, Event, LineBreak, Rules};

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";
const X12: [&str; 2] =
    ["GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*PO1**20260401~", "SE*3*0001~GE*1*1~IEA*1*000000001~"];

/// Returns gaps: name, text before, repeated piece, and text after.
fn gaps() -> Vec<(&'static str, String, Vec<u8>, String)> {
    let x12 = |name, piece: &[u8], behind: &str| {
        (name, format!("{ISA}{}", X12[0]), piece.to_vec(), format!("{behind}{}", X12[1]))
    };
    let edifact = |name, syntax: &str, piece: &[u8], behind: &str| {
        let front = format!("UNB+{syntax}+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'BGM+220+1'");
        (name, front, piece.to_vec(), format!("{behind}UNT+3+1'UNZ+1+1'"))
    };
    vec![
        x12("blanks", b" ", ""),
        x12("line ends", b"\n", ""),
        x12("CR LF", b"\r\n", ""),
        x12("NULs", b"\0", "~"),
        x12("lower case", b"abcd", "~"),
        x12("a BIN without a length", b"BIN", "~"),
        x12("headers without separators", b"ISAUNB", "~"),
        x12("elements", b"*", "~"),
        edifact("blanks of EDIFACT", "UNOA:3", b" ", ""),
        edifact("released terminators", "UNOA:3", b"?'", "'"),
        edifact("released terminators with line breaks", "UNOA:3", b"?\r\n'", "'"),
        edifact("release characters", "UNOA:3", b"????", "'"),
        edifact("escape sequences", "UNOX:4", b"\x1b(B", "'"),
        edifact("released terminators by code extension", "UNOX:4", b"?'", "'"),
        edifact("blanks by code extension", "UNOX:4", b" ", ""),
    ]
}

/// Reads a gap of `bytes` bytes that arrives in pieces of `step`. Returns the duration, the events, and the maximum number of bytes kept.
fn read(gap: &(&str, String, Vec<u8>, String), bytes: usize, step: usize) -> (Duration, Vec<Event>, usize) {
    let (_, front, piece, behind) = gap;
    let mut text = front.clone().into_bytes();
    text.extend(piece.iter().cycle().take(bytes / piece.len() * piece.len()));
    text.extend_from_slice(behind.as_bytes());
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut events, mut from, mut to, mut kept) = (Vec::new(), 0, 0, 0);
    let begun = Instant::now();
    loop {
        to = (to + step).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        let last = loop {
            let event = pass.advance();
            if matches!(event, Event::NeedMore | Event::Done) {
                break event;
            }
            events.push(event);
        };
        from += pass.finish();
        kept = kept.max(to - from);
        if last == Event::Done {
            return (begun.elapsed(), events, kept);
        }
    }
}

/// A gap that arrived in small pieces was read from its beginning each time, so its cost grew with the square of its length; only segments
/// that begin with certain letters were spared. Doubling the gap now doubles the cost, with room for a busy machine.
#[test]
fn a_gap_in_small_pieces_costs_its_length() {
    for gap in gaps() {
        let least = |bytes| (0..5).map(|_| read(&gap, bytes, 64).0).min().expect("some runs");
        let (short, long) = (least(100_000), least(800_000));
        let allowed = short * 8 * 3 + Duration::from_millis(250);
        assert!(long < allowed, "{}: {short:?} for 100 kB, {long:?} for 800 kB", gap.0);
    }
}

/// Regression: white space between segments was kept in memory up to the limit of a segment, and one byte more made the next segment too long.
#[test]
fn white_space_between_segments_is_not_held_and_has_no_limit() {
    for gap in gaps().iter().filter(|(name, ..)| name.contains("blank") || *name == "line ends" || *name == "CR LF") {
        let (_, short, _) = read(gap, 10, 1 << 20);
        for step in [1 << 10, 1 << 22] {
            let (_, long, kept) = read(gap, 3 << 20, step);
            assert_eq!(long, short, "{}", gap.0);
            assert!(kept <= 1 << 10, "{}: {kept} bytes kept", gap.0);
        }
    }
}

/// The rest of a gap is not a line break in the style of the interchange.
#[test]
fn a_gap_behind_the_header_is_no_line_break() {
    for (gap, expected) in [("\n".to_owned(), LineBreak::Lf), (" ".repeat(100) + "\n", LineBreak::None)] {
        let text = format!("{ISA}{gap}{}{}", X12[0], X12[1]);
        for at in ISA.len()..ISA.len() + gap.len() {
            let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
            let mut pass = reader.over(&text.as_bytes()[..at], EndOfInput::No);
            while pass.advance() != Event::NeedMore {}
            let from = pass.finish();
            let mut pass = reader.over(&text.as_bytes()[from..], EndOfInput::Yes);
            while pass.advance() != Event::Segment {}
            assert_eq!(pass.style().0, expected, "split at byte {at}");
        }
    }
}
