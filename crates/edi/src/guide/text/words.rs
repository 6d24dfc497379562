//! The words of the file form: how data types, requirements, lengths and notes are written and read.

use core::fmt::Write as _;

use crate::guide::{DataType, NoteKind, Requirement, SyntaxNote};

/// Formats a requirement.
pub(super) fn requirement(requirement: Requirement) -> &'static str {
    match requirement {
        Requirement::Mandatory => "M",
        Requirement::Optional => "O",
        Requirement::NotUsed => "N",
    }
}

/// Parses a requirement in the letters of X12, of guides or of EDIFACT.
pub(super) fn read_requirement(word: &str) -> Option<Requirement> {
    match word {
        "M" | "R" => Some(Requirement::Mandatory),
        "O" | "S" | "C" | "X" => Some(Requirement::Optional),
        "N" => Some(Requirement::NotUsed),
        _ => None,
    }
}

/// Formats a data type.
pub(super) fn data_type(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Text => "AN",
        DataType::Identifier => "ID",
        DataType::Implied(places) => {
            ["N0", "N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8", "N9"][usize::from(places.min(9))]
        }
        DataType::Decimal => "R",
        DataType::Date => "DT",
        DataType::Time => "TM",
        DataType::Binary => "B",
        DataType::Letters => "a",
        DataType::Alphanumeric => "an",
        DataType::Number => "n",
    }
}

/// Accepted forms of data types.
pub(super) const DATA_TYPES: &str = "AN ID N0 to N9 R DT TM B (X12), a an n (EDIFACT)";

/// Parses a data type.
pub(super) fn read_data_type(word: &str) -> Option<DataType> {
    Some(match word {
        "AN" => DataType::Text,
        "ID" => DataType::Identifier,
        "N" => DataType::Implied(0),
        "R" => DataType::Decimal,
        "DT" => DataType::Date,
        "TM" => DataType::Time,
        "B" => DataType::Binary,
        "a" => DataType::Letters,
        "an" => DataType::Alphanumeric,
        "n" => DataType::Number,
        _ => match word.as_bytes() {
            [b'N', places @ b'0'..=b'9'] => DataType::Implied(places - b'0'),
            _ => return None,
        },
    })
}

/// Formats a length: `2..3`, `3..3`, `2..`, `..3`; empty if both are absent.
pub(super) fn length(min: Option<u32>, max: Option<u32>) -> String {
    if min.is_none() && max.is_none() {
        return String::new();
    }
    let text = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
    format!("{}..{}", text(min), text(max))
}

/// Lengths: at least one of both; `3` is `3..3`.
pub(super) fn read_length(word: &str) -> Option<(Option<u32>, Option<u32>)> {
    let one = |word: &str| if word.is_empty() { Some(None) } else { number(word).map(Some) };
    let Some((min, max)) = word.split_once("..") else {
        let both = number(word)?;
        return Some((Some(both), Some(both)));
    };
    let (min, max) = (one(min)?, one(max)?);
    (min.is_some() || max.is_some()).then_some((min, max))
}

/// Digits only, without a sign.
pub(super) fn number(word: &str) -> Option<u32> {
    (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())).then(|| word.parse().ok())?
}

/// Formats a note in X12 notation if possible, otherwise as `D1(1,2)`.
pub(super) fn note(note: &SyntaxNote) -> String {
    let (letter, number) = match note.kind {
        NoteKind::AllOrNone => (Some('P'), '2'),
        NoteKind::OneOrMore => (Some('R'), '3'),
        NoteKind::OneOrNone => (Some('E'), '4'),
        NoteKind::ExactlyOne => (None, '1'),
        NoteKind::IfFirstThenAll => (Some('C'), '5'),
        NoteKind::IfFirstThenOne => (Some('L'), '6'),
        NoteKind::IfFirstThenNone => (None, '7'),
    };
    let mut out = String::new();
    if let Some(letter) = letter
        && note.elements.iter().all(|element| *element < 100)
        && !note.elements.is_empty()
    {
        out.push(letter);
        for element in &note.elements {
            let _ = write!(out, "{element:02}");
        }
        return out;
    }
    let elements: Vec<String> = note.elements.iter().map(u8::to_string).collect();
    let _ = write!(out, "D{number}({})", elements.join(","));
    out
}

/// Accepted forms of notes.
pub(super) const NOTES: &str = "P0304, R, E, C, L (X12) or D1(3,4) to D7 (EDIFACT), elements by their number from 1";

/// Parses a note.
pub(super) fn read_note(word: &str) -> Option<SyntaxNote> {
    let (kind, elements) = if let Some(rest) = word.strip_prefix('D') {
        let (number, elements) = rest.strip_suffix(')')?.split_once('(')?;
        let kind = match number {
            "1" => NoteKind::ExactlyOne,
            "2" => NoteKind::AllOrNone,
            "3" => NoteKind::OneOrMore,
            "4" => NoteKind::OneOrNone,
            "5" => NoteKind::IfFirstThenAll,
            "6" => NoteKind::IfFirstThenOne,
            "7" => NoteKind::IfFirstThenNone,
            _ => return None,
        };
        let elements: Option<Vec<u8>> = elements.split(',').map(element).collect();
        (kind, elements?)
    } else {
        let kind = match word.as_bytes().first()? {
            b'P' => NoteKind::AllOrNone,
            b'R' => NoteKind::OneOrMore,
            b'E' => NoteKind::OneOrNone,
            b'C' => NoteKind::IfFirstThenAll,
            b'L' => NoteKind::IfFirstThenOne,
            _ => return None,
        };
        let digits = &word[1..];
        if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let elements: Option<Vec<u8>> = (0..digits.len() / 2).map(|i| element(&digits[2 * i..2 * i + 2])).collect();
        (kind, elements?)
    };
    Some(SyntaxNote { kind, elements })
}

/// Parses `05` or `05-1` to element and component; 0 without a component.
pub(super) fn read_place(word: &str) -> Option<(u8, u8)> {
    match word.split_once('-') {
        None => Some((element(word)?, 0)),
        Some((first, second)) => Some((element(first)?, element(second)?)),
    }
}

/// Formats element and component as `05-1`.
pub(super) fn place(element: u8, component: u8) -> String {
    if component == 0 { format!("{element:02}") } else { format!("{element:02}-{component}") }
}

fn element(digits: &str) -> Option<u8> {
    number(digits).and_then(|n| u8::try_from(n).ok()).filter(|n| *n > 0)
}

/// Returns true for ids that are composites by default: a letter C, E or S and three digits, as in both standards.
pub(super) fn looks_composite(id: &str) -> bool {
    matches!(id.as_bytes(), [b'C' | b'E' | b'S', rest @ ..] if rest.len() == 3 && rest.iter().all(u8::is_ascii_digit))
}
