//! Interchanges with other control numbers.

use quayline_core::Limits;

use crate::delimiters::{Delimiters, Standard};
use crate::envelope::{Closed, EnvelopeReader, Event};
use crate::level::Level;
use crate::position::EndOfInput;
use crate::splitter::Rules;

/// Replaces the control numbers of interchanges and groups by those that `take` returns, in order: in ISA13 and IEA02, GS06 and GE02, data
/// elements 0020 of UNB and UNZ, 0048 of UNG and UNE. All other bytes are unchanged.
///
/// # Errors
/// Errors of `take`.
pub fn renumbered<E>(edi: &[u8], limits: &Limits, take: &mut dyn FnMut(Level) -> Result<u64, E>) -> Result<Vec<u8>, E> {
    let mut reader = EnvelopeReader::new(limits, Rules::Lenient);
    let mut pass = reader.over(edi, EndOfInput::Yes);
    let mut out = Vec::with_capacity(edi.len());
    let mut copied = 0;
    let (mut interchange, mut group) = (String::new(), String::new());
    loop {
        let event = pass.advance();
        let (element, number) = match event {
            Event::InterchangeStart => {
                let standard = pass.delimiters().standard;
                let number = take(Level::Interchange)?;
                interchange = if standard == Standard::X12 { format!("{number:09}") } else { number.to_string() };
                (if standard == Standard::X12 { 13 } else { 5 }, &interchange)
            }
            Event::GroupStart => {
                group = take(Level::Group)?.to_string();
                (if pass.delimiters().standard == Standard::X12 { 6 } else { 5 }, &group)
            }
            Event::GroupEnd(Closed::ByTrailer) => (2, &group),
            Event::InterchangeEnd(Closed::ByTrailer) => (2, &interchange),
            Event::Done => break,
            _ => continue,
        };
        let start = pass.segment_start();
        let segment = pass.segment();
        // For text with code extension, use the original bytes of the segment.
        let raw = pass.source().unwrap_or(segment.raw());
        out.extend_from_slice(&edi[copied..start]);
        out.extend_from_slice(&with_element(raw, pass.delimiters(), element, number.as_bytes()));
        copied = start + raw.len();
    }
    out.extend_from_slice(&edi[copied..]);
    Ok(out)
}

const ESCAPE: u8 = 0x1b;

/// Returns the number of bytes from an escape sequence of ISO 2022 to the end of the one that returns to a single-byte set. Between them, bytes
/// of delimiters are parts of characters. The result is at least 1, for the escape character itself.
fn designated(text: &[u8]) -> usize {
    if text.get(1) != Some(&b'$') {
        return 1;
    }
    let back = (2..text.len()).find(|at| text[*at] == ESCAPE && text.get(at + 1).is_some_and(|next| *next != b'$'));
    back.map_or(text.len(), |at| (at + 3).min(text.len()))
}

/// Returns the range of an element of a segment, counting the tag as number 0 and honoring release characters.
fn element_range(segment: &[u8], delimiters: &Delimiters, number: usize) -> Option<core::ops::Range<usize>> {
    let (mut at, mut start, mut count) = (0, 0, 0);
    while at <= segment.len() {
        let byte = segment.get(at).copied();
        if byte == Some(ESCAPE) {
            at += designated(&segment[at..]);
            continue;
        }
        if byte.is_some() && byte == delimiters.release {
            at += 2;
            continue;
        }
        if byte.is_none() || byte == Some(delimiters.element) {
            if count == number {
                return Some(start..at);
            }
            count += 1;
            start = at + 1;
        }
        at += 1;
    }
    None
}

/// Replaces the value of an element, counting the tag as number 0. Returns the segment unchanged if it has no such element.
pub fn with_element(segment: &[u8], delimiters: &Delimiters, number: usize, value: &[u8]) -> Vec<u8> {
    match element_range(segment, delimiters, number) {
        Some(range) => [&segment[..range.start], value, &segment[range.end..]].concat(),
        None => segment.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_replaced_and_nothing_else() {
        let edi = b"UNA:+.? 'UNB+UNOA:3+A?+:14+B+260401:1200+1'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UNT+3+1'UNZ+1+1'";
        let mut next = 40;
        let out = renumbered(edi, &Limits::default(), &mut |_| {
            next += 1;
            Ok::<u64, ()>(next)
        });
        let expected = "UNA:+.? 'UNB+UNOA:3+A?+:14+B+260401:1200+41'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UNT+3+1'UNZ+1+41'";
        assert_eq!(String::from_utf8(out.expect("numbers")).expect("text"), expected);
    }
    /// Regression: numbers were written to other positions if a multi-byte character preceded them.
    #[test]
    fn numbers_are_replaced_in_text_by_code_extension() {
        let edi = b"UNB+UNOX:4+\x1b$B$++'\x1b(B:14+\x1b-A\x1b.A:14+260401:1200+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++\x1b$B$+\x1b(B'UNT+3+1'UNZ+1+1'";
        let out = renumbered(edi, &Limits::default(), &mut |_| Ok::<u64, ()>(4711)).expect("numbers");
        let expected = edi.to_vec();
        let text = |bytes: &[u8]| bytes.iter().map(|b| char::from(*b)).collect::<String>();
        let expected = text(&expected).replace("1200+1'", "1200+4711'").replace("UNZ+1+1'", "UNZ+1+4711'");
        assert_eq!(text(&out), expected);
    }

    #[test]
    fn an_interchange_of_x12_has_nine_digits_and_its_groups_theirs() {
        let edi = b"ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*1200*^*00501*000000001*0*P*:~GS*PO*A*B*20260101*1200*1*X*005010~ST*997*0001~SE*2*0001~GE*1*1~IEA*1*000000001~";
        let out =
            renumbered(edi, &Limits::default(), &mut |level| Ok::<u64, ()>(if level == Level::Group { 8 } else { 77 }));
        let text = String::from_utf8(out.expect("numbers")).expect("text");
        assert!(text.contains("*00501*000000077*0*P") && text.ends_with("GE*1*8~IEA*1*000000077~"), "{text}");
        assert!(text.contains("*1200*8*X*") && text.contains("ST*997*0001~SE*2*0001~"), "{text}");
    }
}
