//! Gathers the character-string after PICTURE and maps errors in it back to the source.

use super::parser::{Failed, Parser};
use super::source::Span;
use super::token::{Kind, Token};
use crate::codes;
use crate::picture::{Picture, PictureError};

/// Reads the picture at the cursor.
pub(super) fn picture(p: &mut Parser<'_>, clause: Span) -> Result<Picture, Failed> {
    let mut text = String::new();
    let mut chars = 0;
    // Start of each word in the string.
    let mut words: Vec<(usize, Span)> = Vec::new();
    let mut open = 0usize;
    while let Some(token) = p.peek() {
        let joined = text.is_empty() || !token.spaced || open > 0;
        let Some(piece) =
            piece(token).filter(|_| joined && !(text.is_empty() && p.at_entry() && !p.followed_by_clause()))
        else {
            break;
        };
        words.push((chars, token.at));
        text.push_str(piece);
        chars += piece.chars().count();
        match token.kind {
            Kind::LeftParen => open += 1,
            Kind::RightParen => open = open.saturating_sub(1),
            _ => {}
        }
        p.next();
    }
    let Some((_, first)) = words.first().copied() else {
        let message = format!("PICTURE is followed by {}, expected a character-string", p.found());
        return Err(p.fail(codes::PICTURE_SYMBOL, clause, message, "write one, such as `PIC X(10)` or `PIC S9(5)V99`"));
    };
    if let Some(token) = p.peek().filter(|t| t.kind == Kind::LeftParen) {
        return Err(p.fail(
            codes::PICTURE_STRUCTURE,
            token.at,
            "the picture contains a blank",
            "remove the blank in front of the parenthesis",
        ));
    }
    if text.contains(':') {
        let hint = "this copybook is made for `COPY … REPLACING`; give the replacing text when you read it alone";
        return Err(p.fail(
            codes::PLACEHOLDER,
            first.to(p.last_span()),
            format!("the picture `{text}` holds a placeholder that was not replaced"),
            hint,
        ));
    }
    match Picture::parse(&text, &p.settings, p.positions_max) {
        Ok(picture) => Ok(picture),
        Err(error) => {
            let at = locate(&words, &error);
            let hint = error.hint;
            Err(p.fail(error.code, at, error.message, hint))
        }
    }
}

fn piece(token: &Token) -> Option<&str> {
    match token.kind {
        Kind::Word => Some(&token.text),
        Kind::LeftParen => Some("("),
        Kind::RightParen => Some(")"),
        Kind::Colon => Some(":"),
        _ => None,
    }
}

/// Returns the place of the wrong characters of the string. For a word that a replacement inserted, it is the place of the whole
/// word.
fn locate(words: &[(usize, Span)], error: &PictureError) -> Span {
    let word = |at: usize| words.iter().rev().find(|(start, _)| *start <= at).or(words.first());
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let Some(&(start, first)) = word(error.at.start) else { return Span::default() };
    let Some(&(last_start, last)) = word(error.at.end.saturating_sub(1)) else { return first };
    let inside = |offset: usize, span: Span| span.column + clamp(offset).min(span.width.saturating_sub(1));
    let from = Span { column: inside(error.at.start - start.min(error.at.start), first), width: 1, ..first };
    let end = error.at.end.saturating_sub(1);
    from.to(Span { column: inside(end - last_start.min(end), last), width: 1, ..last })
}
