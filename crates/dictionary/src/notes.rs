//! Syntax notes as text: `P0304`, `R010203`.

use quayline_edi::guide::{NoteKind, SyntaxNote};

/// Reads an X12 note: a letter (P, R, E, C, L) and at least two numbers of two digits. `None` where it is not one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_pairs_of_digits() {
        assert_eq!(x12_note("L030405"), Some(SyntaxNote { kind: NoteKind::IfFirstThenOne, elements: vec![3, 4, 5] }));
        for not in ["", "P", "P03", "P030", "Q0304", "P03O4", "P0003"] {
            assert_eq!(x12_note(not), None, "{not}");
        }
    }
}
