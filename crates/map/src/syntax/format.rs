//! Formatter with one layout for all maps: two spaces for each level, single spaces between words, at most one empty line. Line breaks are kept.

use std::sync::Arc;

use quayline_core::{Findings, Severity};

use super::parser;
use super::text::SourceText;
use super::token::{Kind, Token, tokens};

/// Formats a map. The result has the same meaning, and formatting it again changes nothing.
///
/// # Errors
/// The findings of a text that cannot be parsed.
pub fn format_map(name: &str, text: &str) -> Result<String, Findings> {
    let source = Arc::new(SourceText::new(name, text));
    let parsed = parser::parse(&source, 0);
    if parsed.findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Findings(parsed.findings));
    }
    let all = tokens(&source, 0);
    let laid_out = layout(&source, &all);
    // Check that the layout did not change the tokens.
    let again = SourceText::new(name, &laid_out);
    let words = |source: &SourceText, all: &[Token]| {
        all.iter().map(|token| source.slice(token.span).trim_end().to_owned()).collect::<Vec<_>>()
    };
    if words(&source, &all) == words(&again, &tokens(&again, 0)) { Ok(laid_out) } else { Ok(text.to_owned()) }
}

fn layout(source: &SourceText, all: &[Token]) -> String {
    let mut out = String::with_capacity(source.text().len());
    let mut open: Vec<&'static str> = Vec::new();
    let mut before: Option<Token> = None;
    let mut operand = false;
    // The same before the last token.
    let mut operand_before = false;
    // Number of `if` values without their `else` so far.
    let mut thens = 0usize;
    for token in all {
        if token.kind == Kind::End {
            break;
        }
        let closes = matches!(token.kind, Kind::Sign("}" | ")" | "]"));
        if closes {
            open.pop();
        }
        match before {
            None => {}
            Some(last) if token.breaks > 0 || last.kind == Kind::Comment => {
                let empty = token.breaks > 1 && last.kind != Kind::Sign("{") && token.kind != Kind::Sign("}");
                out.push('\n');
                if empty {
                    out.push('\n');
                }
                let level = open.len() + usize::from(continues(source, *token, last, operand, thens));
                out.extend(core::iter::repeat_n("  ", level));
            }
            Some(_) if token.kind == Kind::Comment => out.push_str("  "),
            Some(last) if blank(source, last, *token, operand, operand_before) => out.push(' '),
            Some(_) => {}
        }
        out.push_str(source.slice(token.span).trim_end());
        match source.slice(token.span) {
            "then" if token.kind == Kind::Word => thens += 1,
            "else" if token.kind == Kind::Word => thens = thens.saturating_sub(1),
            "=" | "{" | "}" if !matches!(token.kind, Kind::Text | Kind::Quoted) && open.last() != Some(&"(") => {
                thens = 0
            }
            _ => {}
        }
        if let Kind::Sign(sign @ ("{" | "(" | "[")) = token.kind {
            open.push(sign);
        }
        // True if a following sign would be a binary operator.
        let unary = token.kind == Kind::Sign("-") && !operand;
        operand_before = operand;
        operand = match token.kind {
            Kind::Sign(")" | "]") | Kind::Number | Kind::Text | Kind::Date | Kind::Quoted => true,
            Kind::Word => !is_operator_word(source.slice(token.span)),
            _ => false,
        };
        before = Some(if unary { Token { kind: Kind::Open, ..*token } } else { *token });
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn is_operator_word(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "or"
            | "not"
            | "in"
            | "if"
            | "then"
            | "else"
            | "where"
            | "for"
            | "match"
            | "limit"
            | "make"
            | "sort"
            | "by"
    )
}

/// Returns true if a line continues the preceding one.
fn continues(source: &SourceText, token: Token, last: Token, operand: bool, thens: usize) -> bool {
    let word = source.slice(token.span);
    match token.kind {
        Kind::Sign("{" | "}" | ")" | "]") | Kind::Comment => false,
        Kind::Sign(sign) => operand || sign == "-",
        Kind::Word => match word {
            "and" | "or" | "then" | "where" | "sort" | "limit" => operand,
            "else" => thens > 0,
            _ => {
                matches!(
                    last.kind,
                    Kind::Sign(
                        "=" | "+"
                            | "-"
                            | "*"
                            | "/"
                            | "&"
                            | "??"
                            | "+="
                            | "-="
                            | "&="
                            | "=>"
                            | "<"
                            | ">"
                            | "<="
                            | ">="
                            | "!="
                            | "<>"
                            | "."
                    ) | Kind::Open
                ) || (last.kind == Kind::Word
                    && is_operator_word(source.slice(last.span))
                    && source.slice(last.span) != "else")
            }
        },
        _ => matches!(last.kind, Kind::Sign(sign) if !matches!(sign, "{" | "}" | "(" | "[" | ",")),
    }
}

/// Returns true if a space separates two tokens of one line.
fn blank(source: &SourceText, last: Token, token: Token, operand: bool, operand_before: bool) -> bool {
    let touching = last.span.end == token.span.start;
    match (last.kind, token.kind) {
        // After a unary sign.
        (Kind::Open, _) => false,
        (Kind::Sign("(" | "[" | "."), _) | (_, Kind::Sign(")" | "]" | "," | "." | ":")) => false,
        (Kind::Word | Kind::Quoted | Kind::Sign("]"), Kind::Sign("(" | "[")) => {
            // Only the parenthesis of a call and the bracket of a selection directly follow a name. A function may have the name of an operator.
            let word = source.slice(last.span);
            let is_call = operand || !operand_before && !matches!(word, "if" | "match");
            !(touching && (is_call || word == "not"))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// `for(…)` in a value became `for (…)`, which is not a call.
    #[test]
    fn a_function_with_the_name_of_an_operator_is_still_called() {
        let text = "x = by(1)+for(2)\ny = sum(a for b where(c=1))\nif(x in(\"1\",\"2\")and(y=1)){drop}\n";
        let laid_out = format_map("m", text).expect("a map");
        expect![[r#"
            x = by(1) + for(2)
            y = sum(a for b where (c = 1))
            if (x in ("1", "2") and (y = 1)) { drop }
        "#]]
        .assert_eq(&laid_out);
        assert_eq!(format_map("m", &laid_out).as_ref(), Ok(&laid_out));
    }

    #[test]
    fn a_layout_for_all() {
        let text = "map   \"x\"\nsource \"a\" # the source\n\n\n\nfn f( a,b )=a  &  b\na . b=f(x , -5)   # sum\nfor  N1 [N101=\"ST\"] make  lines{\nx=a-b -5\nif not(x=1){drop}\n\n}\ny=a\n&b\n  + c\ntable t{\"a\"=>\"b\",else \"c\"}\n";
        expect![[r#"
            map "x"
            source "a"  # the source

            fn f(a, b) = a & b
            a.b = f(x, -5)  # sum
            for N1 [N101 = "ST"] make lines {
              x = a-b - 5
              if not(x = 1) { drop }
            }
            y = a
              & b
              + c
            table t { "a" => "b", else "c" }
        "#]]
        .assert_eq(&layout(&SourceText::new("", text), &tokens(&SourceText::new("", text), 0)));
    }
}
