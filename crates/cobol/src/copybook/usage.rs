//! USAGE in every spelling.

use super::entry::Usage;
use super::parser::{Failed, Parser};
use crate::codes;

/// Returns whether the word names a usage without the word USAGE.
pub(super) fn is_usage_word(word: &str) -> bool {
    // COMP-3 is a usage, supported or not; COMP-TABLE is a name.
    let computational = word.strip_prefix("COMPUTATIONAL-").or_else(|| word.strip_prefix("COMP-"));
    computational.is_some_and(|rest| rest.len() == 1)
        || matches!(
            word,
            "FLOAT-SHORT"
                | "FLOAT-LONG"
                | "FLOAT-EXTENDED"
                | "FLOAT-BINARY-32"
                | "FLOAT-BINARY-64"
                | "FLOAT-BINARY-128"
                | "FLOAT-DECIMAL-16"
                | "FLOAT-DECIMAL-34"
                | "DISPLAY"
                | "DISPLAY-1"
                | "COMP"
                | "COMPUTATIONAL"
                | "BINARY"
                | "BINARY-CHAR"
                | "BINARY-SHORT"
                | "BINARY-LONG"
                | "BINARY-DOUBLE"
                | "PACKED-DECIMAL"
                | "NATIONAL"
                | "UTF-8"
                | "INDEX"
                | "POINTER"
                | "POINTER-32"
                | "PROCEDURE-POINTER"
                | "PROGRAM-POINTER"
                | "FUNCTION-POINTER"
                | "OBJECT"
                | "BIT"
        )
}

/// Reads `[USAGE [IS]] …` with the cursor at its first word.
pub(super) fn usage(p: &mut Parser<'_>) -> Result<Usage, Failed> {
    if p.next_if(&["USAGE"]).is_some() {
        p.next_if(&["IS"]);
    }
    let at = p.span();
    let Some(token) = p.peek().filter(|t| t.word().is_some()) else {
        return Err(p.fail(codes::CLAUSE_SYNTAX, at, format!("USAGE is followed by {}", p.found()), KNOWN));
    };
    p.next();
    let word =
        token.text.strip_prefix("COMPUTATIONAL").map_or_else(|| token.text.clone(), |rest| format!("COMP{rest}"));
    let usage = match word.as_str() {
        "DISPLAY" => Usage::Display,
        "COMP" | "COMP-4" | "BINARY" => Usage::Binary,
        "COMP-1" => Usage::Comp1,
        "COMP-2" => Usage::Comp2,
        "COMP-3" | "PACKED-DECIMAL" => Usage::Packed,
        "COMP-5" => Usage::Comp5,
        "COMP-6" => Usage::Comp6,
        "COMP-X" => Usage::CompX,
        "COMP-N" => Usage::CompN,
        "NATIONAL" => Usage::National,
        "DISPLAY-1" => Usage::Display1,
        "UTF-8" => Usage::Utf8,
        "INDEX" => Usage::Index,
        "POINTER" if p.next_if(&["32"]).is_some() => Usage::Pointer32,
        "POINTER" => Usage::Pointer,
        "POINTER-32" => Usage::Pointer32,
        "PROCEDURE-POINTER" | "PROGRAM-POINTER" => Usage::ProcedurePointer,
        "FUNCTION-POINTER" => Usage::FunctionPointer,
        "BINARY-CHAR" => native(p, 1),
        "BINARY-SHORT" => native(p, 2),
        "BINARY-LONG" => native(p, 4),
        "BINARY-DOUBLE" => native(p, 8),
        "FLOAT-SHORT" | "FLOAT-BINARY-32" => Usage::FloatShort,
        "FLOAT-LONG" | "FLOAT-BINARY-64" => Usage::FloatLong,
        "OBJECT" => {
            p.next_if(&["REFERENCE"]);
            if p.peek().is_some_and(|t| t.word().is_some_and(|w| !super::clauses::is_clause_word(w))) {
                p.next();
            }
            let hint = "an object reference means nothing outside its program; describe its bytes as `PIC X(n)`";
            return Err(p.fail(
                codes::UNSUPPORTED,
                at.to(p.last_span()),
                "USAGE OBJECT REFERENCE is not supported",
                hint,
            ));
        }
        _ => return Err(p.fail(codes::UNSUPPORTED, at, format!("USAGE {} is not supported", token.text), KNOWN)),
    };
    if p.next_if(&["NATIVE"]).is_some() {
        // An IBM i and COBOL/2 word without effect on z/OS.
    }
    Ok(usage)
}

const KNOWN: &str = "the usages are DISPLAY, COMP, COMP-1 to COMP-6, COMP-X, BINARY, PACKED-DECIMAL, NATIONAL, UTF-8, DISPLAY-1, INDEX, \
                     POINTER, PROCEDURE-POINTER, FUNCTION-POINTER, BINARY-CHAR to BINARY-DOUBLE, FLOAT-SHORT and FLOAT-LONG";

fn native(p: &mut Parser<'_>, bytes: u8) -> Usage {
    let signed = p.next_if(&["SIGNED", "UNSIGNED"]).is_none_or(|t| t.is("SIGNED"));
    Usage::Native { bytes, signed }
}

/// Reads `GROUP-USAGE [IS] NATIONAL|UTF-8`.
pub(super) fn group_usage(p: &mut Parser<'_>) -> Result<Usage, Failed> {
    match p.next_if(&["NATIONAL", "UTF-8"]) {
        Some(token) if token.is("NATIONAL") => Ok(Usage::National),
        Some(_) => Ok(Usage::Utf8),
        None => {
            let message = format!("GROUP-USAGE is followed by {}", p.found());
            Err(p.fail(codes::CLAUSE_SYNTAX, p.span(), message, "write `GROUP-USAGE NATIONAL` or `GROUP-USAGE UTF-8`"))
        }
    }
}
