//! SPECIAL-NAMES: the two clauses that change pictures.

use super::report::Report;
use super::source::Sources;
use super::token::{Kind, Token};
use crate::codes;
use crate::picture::{Currency, PictureSettings};

/// Reads the text before a program's data division.
pub(crate) fn read(tokens: &[Token], settings: &mut PictureSettings, sources: &Sources, report: &mut Report) {
    let mut at = match tokens.iter().position(|t| t.is("SPECIAL-NAMES")) {
        Some(start) => start + 1,
        None => return,
    };
    while at < tokens.len() {
        let rest = &tokens[at..];
        if rest[0].is("DECIMAL-POINT") {
            settings.decimal_comma |= rest.iter().skip(1).take(2).any(|t| t.is("COMMA"));
        }
        if rest[0].is("CURRENCY") {
            match currency(rest) {
                Ok(currency) => settings.currencies.push(currency),
                Err(why) => {
                    let hint = "write `CURRENCY SIGN IS 'x'`, or `CURRENCY SIGN IS 'x' WITH PICTURE SYMBOL 'y'` with one character each";
                    report.error_in_front(sources, codes::CLAUSE_SYNTAX, rest[0].at, why, hint);
                }
            }
        }
        at += 1;
    }
}

/// `CURRENCY [SIGN] [IS] 'x' [[WITH] PICTURE SYMBOL 'y']`.
fn currency(tokens: &[Token]) -> Result<Currency, &'static str> {
    let mut rest = tokens.iter().skip(1).filter(|t| !t.is("SIGN") && !t.is("IS") && !t.is("WITH"));
    let one = |token: Option<&Token>| {
        let token = token.filter(|t| matches!(t.kind, Kind::Literal(_)))?;
        let mut chars = token.text.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    let sign = one(rest.next()).ok_or("the currency sign is not a literal of one character")?;
    if !rest.next().is_some_and(|t| t.is("PICTURE") || t.is("PIC")) {
        return Ok(Currency { symbol: upper(sign), sign });
    }
    let symbol = rest.next().filter(|t| t.is("SYMBOL")).and_then(|_| one(rest.next()));
    let symbol = symbol.ok_or("the picture symbol of the currency is not a literal of one character")?;
    Ok(Currency { symbol: upper(symbol), sign })
}

/// Pictures are upper case by the time they are read.
fn upper(c: char) -> char {
    c.to_uppercase().next().unwrap_or(c)
}
