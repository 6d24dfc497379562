//! Syntax notes as text: `P0304`, `R010203`.

use quayline_edi::guide::{NoteKind, SyntaxNote};

/// Reads an X12 note: a letter (P, R, E, C, L) and at least two numbers of two digits. Returns `None` for any other text.
pub(crate) fn x12_note(text: &str) -> Option<SyntaxNote> {
    let mut chars = text.trim().chars();
    let kind = match chars.next()? {
        'P' => NoteKind::AllOrNone,
        'R' => NoteKind::OneOrMore,
        'E' => NoteKind::OneOrNone,
        'C' => NoteKind::IfFirstThenAll,
        'L' => NoteKind::IfFirstThenOne,
        _ => return None,
    };
    let digits = chars.as_str();
    if digits.len() < 4 || !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let elements: Vec<u8> =
        digits.as_bytes().chunks_exact(2).map(|pair| (pair[0] - b'0') * 10 + (pair[1] - b'0')).collect();
    (!elements.contains(&0)).then_some(SyntaxNote { kind, elements })
}

/// Returns the note for a segment that has only this many elements: those beyond are never present. Returns `None` if nothing of
/// the note remains.
pub(crate) fn fit(mut note: SyntaxNote, elements: usize) -> Option<SyntaxNote> {
    let there = |element: &u8| usize::from(*element) <= elements;
    if note.elements.iter().all(there) {
        return Some(note);
    }
    match note.kind {
        NoteKind::OneOrMore | NoteKind::OneOrNone | NoteKind::ExactlyOne => note.elements.retain(there),
        NoteKind::IfFirstThenOne | NoteKind::IfFirstThenNone if note.elements.first().is_some_and(there) => {
            note.elements.retain(there);
        }
        _ => return None,
    }
    (note.elements.len() > 1).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_shrink_to_the_elements_there_are() {
        let shrunk = |text, elements| fit(x12_note(text).expect("a note"), elements).map(|note| note.elements);
        assert_eq!(shrunk("R010203", 2), Some(vec![1, 2]));
        assert_eq!(shrunk("L010203", 2), Some(vec![1, 2]));
        for gone in ["R0203", "P0203", "C0203", "L0301", "C010203"] {
            assert_eq!(shrunk(gone, 2), None, "{gone}");
        }
    }

    #[test]
    fn letters_and_pairs_of_digits() {
        assert_eq!(x12_note("L030405"), Some(SyntaxNote { kind: NoteKind::IfFirstThenOne, elements: vec![3, 4, 5] }));
        for not in ["", "P", "P03", "P030", "Q0304", "P03O4", "P0003"] {
            assert_eq!(x12_note(not), None, "{not}");
        }
    }
}
