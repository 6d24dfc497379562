//! Clauses that are known but not supported, or have no effect on a layout.

use super::parser::{Failed, Parser};
use super::source::Span;
use crate::codes;

pub(super) fn ignored(p: &mut Parser<'_>, word: &str, at: Span) -> Result<(), Failed> {
    match word {
        "VOLATILE" | "ALIGNED" | "BASED" => Ok(()),
        "DATE" => {
            p.next_if(&["FORMAT"]);
            p.next_if(&["IS"]);
            p.next();
            p.warning(
                codes::IGNORED,
                at.to(p.last_span()),
                "DATE FORMAT is left out: the field is read as its picture says",
                "nothing to do; the clause has no effect in current compilers",
            );
            Ok(())
        }
        "DYNAMIC" | "ANY" => {
            p.next_if(&["LENGTH"]);
            let hint = "give the field its largest length, `PIC X(n)`";
            Err(p.fail(codes::UNSUPPORTED, at.to(p.last_span()), format!("{word} LENGTH is not supported"), hint))
        }
        "TYPE" | "TYPEDEF" | "SAME" | "LIKE" => {
            let hint = "write the description of the type where it is used";
            Err(p.fail(codes::UNSUPPORTED, at, format!("the {word} clause is not supported"), hint))
        }
        "CONSTANT" => {
            let hint = "write the constant's value where its name is used, and delete this entry";
            Err(p.fail(codes::UNSUPPORTED, at, "constants are not supported", hint))
        }
        "SIGNED" | "UNSIGNED" => {
            let hint = "it belongs after BINARY-CHAR, BINARY-SHORT, BINARY-LONG or BINARY-DOUBLE; elsewhere write S in the picture";
            Err(p.fail(codes::UNEXPECTED, at, format!("{word} is alone"), hint))
        }
        "RENAMES" => Err(p.fail(
            codes::CLAUSE_SYNTAX,
            at,
            "RENAMES belongs to level 66",
            "change the level to 66, or use REDEFINES",
        )),
        _ => Err(p.fail(codes::UNEXPECTED, at, format!("{word} is not a clause"), "check its spelling")),
    }
}
