//! OCCURS.

use super::clauses::is_clause_word;
use super::entry::OccursClause;
use super::parser::{Failed, Parser};
use super::source::Span;
use super::token::Kind;
use crate::codes;

/// Parses `[m TO] n [TIMES] [DEPENDING [ON] name] [ASCENDING|DESCENDING [KEY] [IS] name…]… [INDEXED [BY] name…]`, after the word
/// OCCURS.
pub(super) fn occurs(p: &mut Parser<'_>, start: Span) -> Result<OccursClause, Failed> {
    if p.next_if(&["DYNAMIC", "ANY"]).is_some() {
        return Err(unbounded(p, start.to(p.last_span())));
    }
    let first = integer(p, "OCCURS")?;
    let mut range = (first, first);
    let ranged = p.next_if(&["TO"]).is_some();
    if ranged {
        if p.next_if(&["UNBOUNDED"]).is_some() {
            return Err(unbounded(p, p.last_span()));
        }
        range.1 = integer(p, "OCCURS … TO")?;
    }
    p.next_if(&["TIMES"]);
    let at = start.to(p.last_span());
    let mut clause = OccursClause { min: range.0, max: range.1, depending_on: None, at };
    loop {
        if p.next_if(&["DEPENDING"]).is_some() {
            p.next_if(&["ON"]);
            clause.depending_on = Some(p.reference("DEPENDING ON")?);
        } else if p.next_if(&["ASCENDING", "DESCENDING"]).is_some() {
            p.next_if(&["KEY"]);
            p.next_if(&["IS"]);
            names(p, "KEY IS")?;
        } else if p.next_if(&["INDEXED"]).is_some() {
            p.next_if(&["BY"]);
            names(p, "INDEXED BY")?;
        } else {
            break;
        }
    }
    check(p, &mut clause, ranged)
}

fn check(p: &mut Parser<'_>, clause: &mut OccursClause, ranged: bool) -> Result<OccursClause, Failed> {
    let at = clause.at;
    if clause.max == 0 {
        return Err(p.fail(
            codes::OCCURS_RANGE,
            at,
            "the table has no occurrence at most",
            "the maximum is at least 1",
        ));
    }
    if clause.min > clause.max {
        let message = format!("the minimum {} is above the maximum {}", clause.min, clause.max);
        return Err(p.fail(codes::OCCURS_RANGE, at, message, "write the smaller number first: `OCCURS 0 TO 10 TIMES`"));
    }
    match clause.depending_on {
        None if ranged => {
            let hint = "name the counter, or write one number";
            return Err(p.fail(codes::OCCURS_RANGE, at, "OCCURS with a range has no DEPENDING ON", hint));
        }
        // Enterprise COBOL assumes 1 if the minimum is omitted.
        Some(_) if !ranged => clause.min = 1,
        _ => {}
    }
    Ok(clause.clone())
}

fn unbounded(p: &mut Parser<'_>, at: Span) -> Failed {
    let hint = "write the largest number of occurrences that a record can hold";
    p.fail(codes::OCCURS_UNBOUNDED, at, "a table without a maximum is not supported", hint)
}

/// Reads a whole number that fits 32 bits.
pub(super) fn integer(p: &mut Parser<'_>, of: &str) -> Result<u32, Failed> {
    let at = p.span();
    let digits = p.peek().and_then(|t| t.word()).filter(|w| w.bytes().all(|b| b.is_ascii_digit()));
    match digits.map(str::parse::<u32>) {
        Some(Ok(number)) => {
            p.next();
            Ok(number)
        }
        Some(Err(_)) => Err(p.fail(
            codes::OCCURS_RANGE,
            at,
            format!("the number after {of} is too large"),
            "write a number below 4,294,967,296",
        )),
        None => {
            let message = format!("{of} needs a whole number, found {}", p.found());
            Err(p.fail(
                codes::CLAUSE_SYNTAX,
                at,
                message,
                "write the number in digits; named constants are not supported",
            ))
        }
    }
}

/// Reads one or more names, with qualifiers.
fn names(p: &mut Parser<'_>, of: &str) -> Result<(), Failed> {
    p.reference(of)?;
    while p.peek().is_some_and(|t| {
        t.kind == Kind::Word
            && !is_clause_word(&t.text)
            && !matches!(t.text.as_str(), "ASCENDING" | "DESCENDING" | "INDEXED" | "DEPENDING" | "KEY")
    }) && !p.at_entry()
    {
        p.reference(of)?;
    }
    Ok(())
}
