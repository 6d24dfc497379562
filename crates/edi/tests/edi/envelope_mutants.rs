//! Valid files with one fault in their envelopes: each must give one finding, at its segment and element, with the code of its acknowledgment.

use std::fmt::Write as _;

use quayline_edi::ValidatorOptions;

use crate::mutants::{findings, guide};

const FILES: [(&str, &str, &str); 5] = [
    ("837P", "837p.guide", include_str!("../mutants/837p.x12")),
    ("835", "835.guide", include_str!("../mutants/835.x12")),
    ("850", "850.guide", include_str!("../mutants/850.x12")),
    ("ORDERS", "orders.guide", include_str!("../mutants/orders.edi")),
    ("INVOIC", "invoic.guide", include_str!("../mutants/invoic.edi")),
];

/// A file as its lines, one segment each, without terminators.
type Lines = Vec<Vec<String>>;

/// A fault: how it is made, and the finding that it must give.
struct Class {
    name: &'static str,
    /// Tag of the segment that changes. Each such segment makes one mutant.
    tag: &'static str,
    how: How,
    /// Codes of findings that name it.
    codes: &'static [&'static str],
    /// Codes of the acknowledgment: TA105, AK905 or AK501 in X12, data element 0085 in EDIFACT.
    notes: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum How {
    /// The element, counted from 1, has this value.
    Set(usize, &'static str),
    /// The element has this character appended.
    Append(usize, char),
    /// The element of this segment and that of the trailer (tag, element) have this value.
    Both(usize, &'static str, usize, &'static str),
    /// The segment is missing.
    Missing,
    /// The segment and the one after it change places.
    Late,
    /// The tag is another.
    Tag(fn(&str) -> String),
    /// The transaction has the control number of the one before it.
    Again(&'static str),
}

use How::{Again, Append, Both, Late, Missing, Set, Tag};

const fn class(
    name: &'static str,
    tag: &'static str,
    how: How,
    codes: &'static [&'static str],
    notes: &'static [&'static str],
) -> Class {
    Class { name, tag, how, codes, notes }
}

const X12: &[Class] = &[
    class("SE01 wrong", "SE", Append(1, '7'), &["EDI-033"], &["4"]),
    class("SE01 with letters", "SE", Append(1, 'A'), &["EDI-034"], &["4"]),
    class("SE02 wrong", "SE", Append(2, '7'), &["EDI-032"], &["3"]),
    class("GE01 wrong", "GE", Append(1, '7'), &["EDI-033"], &["5"]),
    class("GE01 with letters", "GE", Append(1, 'A'), &["EDI-034"], &["5"]),
    class("GE02 wrong", "GE", Append(2, '7'), &["EDI-032"], &["4"]),
    class("IEA01 wrong", "IEA", Append(1, '7'), &["EDI-033"], &["021"]),
    class("IEA01 with letters", "IEA", Append(1, 'A'), &["EDI-034"], &["021"]),
    class("IEA02 wrong", "IEA", Set(2, "000000077"), &["EDI-032"], &["001"]),
    class("SE missing", "SE", Missing, &["EDI-030"], &["2"]),
    class("GE missing", "GE", Missing, &["EDI-030"], &["3", "024"]),
    class("IEA missing", "IEA", Missing, &["EDI-030"], &["023"]),
    class("ST missing", "ST", Missing, &["EDI-035", "EDI-031"], &["024"]),
    class("GS missing", "GS", Missing, &["EDI-040", "EDI-031"], &["024"]),
    class("SE after GE", "SE", Late, &["EDI-030", "EDI-031"], &["2", "024"]),
    class("GS01 empty", "GS", Set(1, ""), &["EDI-037"], &["1"]),
    class("GS02 empty", "GS", Set(2, ""), &["EDI-037"], &["024"]),
    class("GS04 not a date", "GS", Set(4, "20261399"), &["EDI-038"], &["024"]),
    class("GS05 not a time", "GS", Set(5, "2575"), &["EDI-038"], &["024"]),
    class("GS06 not a number", "GS", Both(6, "GE", 2, "1A"), &["EDI-038"], &["6"]),
    class("GS07 not a code", "GS", Set(7, "Q"), &["EDI-038"], &["2"]),
    class("GS08 empty", "GS", Set(8, ""), &["EDI-037"], &["2"]),
    class("ISA01 not a code", "ISA", Set(1, "77"), &["EDI-038"], &["010"]),
    class("ISA03 not a code", "ISA", Set(3, "77"), &["EDI-038"], &["012"]),
    class("ISA05 not a code", "ISA", Set(5, "Q1"), &["EDI-038"], &["005"]),
    class("ISA06 empty", "ISA", Set(6, "               "), &["EDI-037", "EDI-038"], &["006"]),
    class("ISA07 not a code", "ISA", Set(7, "Q1"), &["EDI-038"], &["007"]),
    class("ISA08 empty", "ISA", Set(8, "               "), &["EDI-037", "EDI-038"], &["008"]),
    class("ISA09 not a date", "ISA", Set(9, "261399"), &["EDI-038"], &["014"]),
    class("ISA10 not a time", "ISA", Set(10, "2575"), &["EDI-038"], &["015"]),
    class("ISA12 not a code", "ISA", Set(12, "00999"), &["EDI-038"], &["017"]),
    class("ISA13 not a number", "ISA", Both(13, "IEA", 2, "00000000A"), &["EDI-038"], &["018"]),
    class("ISA14 not a code", "ISA", Set(14, "7"), &["EDI-038"], &["019"]),
    class("ISA15 not a code", "ISA", Set(15, "X"), &["EDI-038"], &["020"]),
    class("ST01 empty", "ST", Set(1, ""), &["EDI-037"], &["6"]),
    class("ST02 empty", "ST", Both(2, "SE", 2, ""), &["EDI-037"], &["7"]),
    class("ST02 again", "ST", Again("SE"), &["EDI-039"], &["23"]),
    class("tag in lower case", "N4", Tag(lower_case), &["EDI-019", "EDI-101"], &["5"]),
    class("tag of five letters", "N4", Tag(five_letters), &["EDI-019", "EDI-101"], &["5"]),
];

const EDIFACT: &[Class] = &[
    class("UNT 0074 wrong", "UNT", Append(1, '7'), &["EDI-033"], &["29"]),
    class("UNT 0074 with letters", "UNT", Append(1, 'A'), &["EDI-034"], &["29"]),
    class("UNT 0062 wrong", "UNT", Append(2, '7'), &["EDI-032"], &["28"]),
    class("UNZ 0036 wrong", "UNZ", Append(1, '7'), &["EDI-033"], &["29"]),
    class("UNZ 0036 with letters", "UNZ", Append(1, 'A'), &["EDI-034"], &["29"]),
    class("UNZ 0020 wrong", "UNZ", Append(2, '7'), &["EDI-032"], &["28"]),
    class("UNT missing", "UNT", Missing, &["EDI-030"], &["13"]),
    class("UNZ missing", "UNZ", Missing, &["EDI-030"], &["13"]),
    class("UNH missing", "UNH", Missing, &["EDI-035", "EDI-031"], &["33"]),
    class("UNB 0004 empty", "UNB", Set(2, ""), &["EDI-037"], &["13"]),
    class("UNB 0010 empty", "UNB", Set(3, ""), &["EDI-037"], &["13"]),
    class("UNB 0020 empty", "UNB", Both(5, "UNZ", 2, ""), &["EDI-037"], &["13"]),
    class("UNH 0062 empty", "UNH", Both(1, "UNT", 2, ""), &["EDI-037"], &["13"]),
    class("UNH 0062 again", "UNH", Again("UNT"), &["EDI-039"], &["26"]),
    class("tag in lower case", "QTY", Tag(lower_case), &["EDI-019", "EDI-101"], &["15"]),
    class("tag of five letters", "QTY", Tag(five_letters), &["EDI-019", "EDI-101"], &["15"]),
];

fn lower_case(tag: &str) -> String {
    tag.to_lowercase()
}

fn five_letters(tag: &str) -> String {
    format!("{tag}ABCDE")[..5].to_owned()
}

/// A mutant: its lines, the range of lines that its finding may name, and the element.
fn mutant(class: &Class, lines: &Lines, at: usize) -> Option<(Lines, std::ops::RangeInclusive<usize>, Option<usize>)> {
    let mut lines = lines.clone();
    let trailer = |lines: &Lines, tag: &str| (at..lines.len()).find(|i| lines[*i][0] == tag);
    let set = |line: &mut Vec<String>, element: usize, value: &str| -> Option<()> {
        // An element that is already so is not a fault.
        let now = line.get_mut(element).filter(|now| **now != value)?;
        value.clone_into(now);
        Some(())
    };
    match class.how {
        Set(element, value) => {
            set(&mut lines[at], element, value)?;
            Some((lines, at..=at, Some(element)))
        }
        Append(element, more) => {
            lines[at].get_mut(element)?.push(more);
            Some((lines, at..=at, Some(element)))
        }
        Both(element, tag, other, value) => {
            let end = trailer(&lines, tag)?;
            set(&mut lines[at], element, value)?;
            set(&mut lines[end], other, value)?;
            Some((lines, at..=at, Some(element)))
        }
        Missing => {
            let header = (0..at).rev().find(|i| matches!(lines[*i][0].as_str(), "ISA" | "UNB" | "GS" | "ST" | "UNH"));
            lines.remove(at);
            // The finding of a missing trailer may be at its header, or where the next part begins.
            let last = at.min(lines.len() - 1);
            let first = header.filter(|_| matches!(class.tag, "SE" | "GE" | "IEA" | "UNT" | "UNZ")).unwrap_or(at - 1);
            Some((lines, first..=last, None))
        }
        Late => {
            if lines[at + 1][0] != "GE" {
                return None;
            }
            lines.swap(at, at + 1);
            Some((lines, at..=at + 1, None))
        }
        Tag(change) => {
            lines[at][0] = change(&lines[at][0]);
            Some((lines, at..=at, None))
        }
        Again(tag) => {
            let element = if class.tag == "ST" { 2 } else { 1 };
            let before = (0..at).rev().find(|i| lines[*i][0] == class.tag)?;
            let number = lines[before][element].clone();
            let end = trailer(&lines, tag)?;
            set(&mut lines[at], element, &number)?;
            set(&mut lines[end], 2, &number)?;
            Some((lines, at..=at, Some(element)))
        }
    }
}

#[test]
fn one_fault_of_an_envelope_gives_one_finding() {
    let (mut made, mut wrong) = (0, String::new());
    for (name, of, text) in FILES {
        let compiled =
            quayline_edi::guide::CompiledGuide::new(&guide(of)).unwrap_or_else(|findings| panic!("{findings}"));
        let compiled = std::sync::Arc::new(compiled);
        let is_x12 = text.starts_with("ISA");
        let (head, body) = if is_x12 { ("", text) } else { text.split_at(text.find("UNB").expect("a header")) };
        let (separator, terminator) = if is_x12 { ("*", "~\n") } else { ("+", "'\n") };
        let lines: Lines =
            body.split_terminator(terminator).map(|line| line.split(separator).map(str::to_owned).collect()).collect();
        for class in if is_x12 { X12 } else { EDIFACT } {
            let places = (0..lines.len()).filter(|i| lines[*i][0] == class.tag);
            let mutants: Vec<_> = places.filter_map(|at| mutant(class, &lines, at)).collect();
            assert!(
                !mutants.is_empty()
                    || lines.iter().all(|line| line[0] != class.tag)
                    || class.name.ends_with("again")
                    || matches!(class.how, Late),
                "{name}: {}",
                class.name
            );
            for (changed, at, element) in mutants {
                made += 1;
                let mut starts = Vec::new();
                let mut out = head.to_owned();
                for line in &changed {
                    starts.push(out.len() as u64);
                    out.push_str(&line.join(separator));
                    out.push_str(terminator);
                }
                let found = findings(out.as_bytes(), &compiled, &ValidatorOptions::default());
                let told: Vec<String> = found
                    .iter()
                    .map(|fault| {
                        let codes = fault.error.acknowledgment();
                        format!("{} at {} {codes:?}: {}", fault.error.code(), fault.at, fault.error)
                    })
                    .collect();
                let is_right = matches!(&found[..], [fault] if {
                    let codes = fault.error.acknowledgment();
                    let notes = if is_x12 {
                        vec![codes.interchange_note, codes.group, codes.transaction]
                    } else {
                        vec![codes.contrl]
                    };
                    let line = starts.partition_point(|start| *start <= fault.at.byte.0) - 1;
                    class.codes.contains(&fault.error.code().0)
                        && notes.iter().flatten().any(|note| class.notes.contains(note))
                        && at.contains(&line)
                        && element.is_none_or(|element| fault.at.element as usize == element)
                });
                if !is_right {
                    let _ = writeln!(wrong, "{name}, {} at line {at:?}:\n  {}", class.name, told.join("\n  "));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{made} made; wrong:\n{wrong}");
    assert!(made > 200, "{made}");
}
