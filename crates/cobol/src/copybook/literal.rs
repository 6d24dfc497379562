//! VALUE literals and condition names.

use super::parser::{Failed, Parser};
use super::source::Span;
use super::token::{Kind, Prefix, Token};
use crate::codes;

/// VALUE literal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Literal {
    /// Quoted text.
    Text(String),
    /// `X'..'`.
    Hex(Vec<u8>),
    /// Number as written, without leading `+`: `-12.5`.
    Number(String),
    /// ZERO, SPACE, HIGH-VALUE, LOW-VALUE, QUOTE, NULL.
    Figurative(Figurative),
    /// `ALL literal`.
    All(Box<Literal>),
}

/// Figurative constants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are COBOL's own words")]
pub enum Figurative {
    Zero,
    Space,
    HighValue,
    LowValue,
    Quote,
    Null,
}

/// A level-88 condition name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Condition {
    /// Name, upper case.
    pub name: String,
    /// Single values and THRU ranges.
    pub values: Vec<(Literal, Option<Literal>)>,
}

/// Reads one literal, figurative constant or `ALL literal`. Literals joined by `&` are one.
pub(super) fn literal(p: &mut Parser<'_>, of: &str) -> Result<(Literal, Span), Failed> {
    let start = p.span();
    let mut all = false;
    while p.next_if(&["ALL"]).is_some() {
        all = true;
    }
    let mut found = single(p, of)?;
    while p.next_if(&["&"]).is_some() {
        let at = p.span();
        found = match (found, single(p, of)?) {
            (Literal::Text(a), Literal::Text(b)) => Literal::Text(a + &b),
            (Literal::Hex(a), Literal::Hex(b)) => Literal::Hex([a, b].concat()),
            _ => {
                let hint = "join literals of one kind, or write them as one";
                return Err(p.fail(codes::UNSUPPORTED, at, "literals of different kinds are joined with `&`", hint));
            }
        };
    }
    // ALL before a figurative constant has no effect.
    let found = if all && !matches!(found, Literal::Figurative(_)) { Literal::All(Box::new(found)) } else { found };
    Ok((found, start.to(p.last_span())))
}

fn single(p: &mut Parser<'_>, of: &str) -> Result<Literal, Failed> {
    let expected = "write a number, quoted text, X'…', or a figurative constant such as SPACES or ZERO";
    let found = p.peek().and_then(|token| match token.kind {
        Kind::Literal(prefix) => Some(quoted(p, prefix, token)),
        Kind::Word => figurative(&token.text)
            .map(Literal::Figurative)
            .or_else(|| number(&token.text, p.settings.decimal_comma).map(Literal::Number))
            .map(Ok),
        _ => None,
    });
    match found {
        Some(literal) => {
            p.next();
            literal
        }
        None => {
            Err(p.fail(codes::CLAUSE_SYNTAX, p.span(), format!("{of} needs a literal, found {}", p.found()), expected))
        }
    }
}

/// Parses `1,2,3` without blanks: several numbers in one word, if the comma is not the decimal point.
pub(super) fn numbers(p: &mut Parser<'_>) -> Option<Vec<String>> {
    let word = p.peek()?.word().filter(|w| w.contains(',') && !p.settings.decimal_comma)?;
    let numbers: Vec<String> =
        word.split(',').filter(|w| !w.is_empty()).map(|w| number(w, false)).collect::<Option<_>>()?;
    p.next();
    (!numbers.is_empty()).then_some(numbers)
}

fn quoted(p: &mut Parser<'_>, prefix: Prefix, token: &Token) -> Result<Literal, Failed> {
    let text = &token.text;
    let hint = "write an even number of hexadecimal digits, 0 to 9 and A to F";
    Ok(match prefix {
        Prefix::None | Prefix::National | Prefix::Utf8 => Literal::Text(text.clone()),
        Prefix::NullTerminated => Literal::Text(format!("{text}\0")),
        Prefix::Hex => match quayline_core::from_hex(text) {
            Some(bytes) => Literal::Hex(bytes),
            None => {
                return Err(p.fail(
                    codes::CLAUSE_SYNTAX,
                    token.at,
                    "the literal is not whole bytes in hexadecimal",
                    hint,
                ));
            }
        },
        Prefix::DbcsHex => match quayline_core::from_hex(text).filter(|bytes| bytes.len().is_multiple_of(2)) {
            Some(bytes) => Literal::Hex(bytes),
            None => {
                let message = "the literal does not consist of double-byte characters of four hexadecimal digits each";
                return Err(p.fail(codes::CLAUSE_SYNTAX, token.at, message, hint));
            }
        },
        Prefix::NationalHex => {
            let units = quayline_core::from_hex(text)
                .map(|b| b.chunks(2).map(|c| c.iter().fold(0, |n, b| n << 8 | u16::from(*b))).collect::<Vec<u16>>());
            match units.filter(|_| text.len().is_multiple_of(4)).and_then(|u| String::from_utf16(&u).ok()) {
                Some(text) => Literal::Text(text),
                None => {
                    let message = "the literal is not UTF-16 in hexadecimal, four digits a unit";
                    return Err(p.fail(codes::CLAUSE_SYNTAX, token.at, message, hint));
                }
            }
        }
        Prefix::Utf8Hex => match quayline_core::from_hex(text).and_then(|b| String::from_utf8(b).ok()) {
            Some(text) => Literal::Text(text),
            None => {
                return Err(p.fail(codes::CLAUSE_SYNTAX, token.at, "the literal is not UTF-8 in hexadecimal", hint));
            }
        },
        Prefix::Other => {
            let hint = "write it as X'…' or as text";
            return Err(p.fail(
                codes::UNSUPPORTED,
                token.at,
                "literals with the prefix B, BX or H are not supported",
                hint,
            ));
        }
    })
}

pub(super) fn figurative(word: &str) -> Option<Figurative> {
    Some(match word {
        "ZERO" | "ZEROS" | "ZEROES" => Figurative::Zero,
        "SPACE" | "SPACES" => Figurative::Space,
        "HIGH-VALUE" | "HIGH-VALUES" => Figurative::HighValue,
        "LOW-VALUE" | "LOW-VALUES" => Figurative::LowValue,
        "QUOTE" | "QUOTES" => Figurative::Quote,
        "NULL" | "NULLS" => Figurative::Null,
        _ => return None,
    })
}

/// Normalizes a numeric literal: `.` as the decimal point, no leading `+`. `1.5E-3` is a numeric literal, too.
pub(super) fn number(word: &str, decimal_comma: bool) -> Option<String> {
    let point = if decimal_comma { ',' } else { '.' };
    let (mantissa, exponent) = match word.split_once('E') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once(point).unwrap_or((unsigned, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
        return None;
    }
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || !digits(exponent) {
            return None;
        }
    }
    Some(word.strip_prefix('+').unwrap_or(word).replace(point, "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_take_a_point() {
        assert_eq!(number("+012.50", false).as_deref(), Some("012.50"));
        assert_eq!(number("-,5", true).as_deref(), Some("-.5"));
        assert_eq!(number("1.5E-3", false).as_deref(), Some("1.5E-3"));
        for wrong in ["", "+", ".", "1.2.3", "1,2", "A1", "1E", "--1"] {
            assert_eq!(number(wrong, false), None, "{wrong}");
        }
    }
}
