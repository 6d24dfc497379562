//! The clauses of a data description entry.

use super::entry::{Entry, Renames, Sign};
use super::literal;
use super::literal::{Condition, Literal};
use super::parser::{Failed, Parser};
use super::source::Span;
use super::token::{Kind, Token};
use super::usage;
use crate::codes;

/// Parses one entry, from its level number to after its period.
pub(super) fn entry(p: &mut Parser<'_>) {
    let Some(level) = p.next() else { return };
    let number: u32 = if level.text.len() > 4 { 0 } else { level.text.parse().unwrap_or(0) };
    let done = match number {
        1..=49 | 77 => data(p, u8::try_from(number).unwrap_or(1), level),
        66 => renames(p, level),
        88 => condition(p),
        78 => Err(p.fail(
            codes::UNSUPPORTED,
            level.at,
            "level 78 (a named constant) is not supported",
            "write the constant's value where its name is used, and delete this entry",
        )),
        _ => Err(p.fail(
            codes::LEVEL_NUMBER,
            level.at,
            format!("{} is not a level number", level.text),
            "levels are 01 to 49, 66, 77 and 88",
        )),
    };
    match done {
        Ok(()) => period(p),
        Err(Failed) => {
            p.excuse_group();
            p.recover();
        }
    }
}

/// Parses the period after an entry. If the period is missing before the next entry, that entry ends this one.
fn period(p: &mut Parser<'_>) {
    if p.next_if_period() {
        return;
    }
    if p.peek().is_none() || p.at_entry() {
        let at = p.last_span().end();
        p.warning(
            codes::PERIOD_MISSING,
            at,
            "the entry has no period at its end; one is assumed here",
            "end the entry with a period",
        );
        return;
    }
    let (at, found) = (p.span(), p.found());
    let hint = "check the spelling of the clause; an entry ends with a period";
    p.error(codes::UNEXPECTED, at, format!("expected a clause or a period, found {found}"), hint);
    p.excuse_group();
    p.recover();
}

/// Levels 01 to 49 and 77.
fn data(p: &mut Parser<'_>, level: u8, token: &Token) -> Result<(), Failed> {
    let mut entry = Entry::new(level, token.at);
    if let Some(word) = name(p) {
        entry.at = word.at;
        entry.filler = word.text == "FILLER";
        entry.name.clone_from(&word.text);
        if !entry.filler {
            check_name(p, word);
        }
    }
    let mut result = Ok(());
    while let Some(token) = p.peek() {
        if token.kind == Kind::Period || p.at_entry() || !token.word().is_some_and(is_clause_word) {
            break;
        }
        result = clause(p, &mut entry, token);
        if result.is_err() {
            entry.broken = true;
            break;
        }
    }
    p.push(entry);
    result
}

/// Parses the entry's name, if it has one. IBM allows some clause words as names: they are names if a clause or period follows.
fn name<'a>(p: &mut Parser<'a>) -> Option<&'a Token> {
    let token = p.peek().filter(|t| t.kind == Kind::Word || t.kind == Kind::Colon)?;
    let next = p.peek_at(1);
    let before_clause = next.is_none_or(|t| t.kind == Kind::Period || t.word().is_some_and(is_clause_word));
    let soft = matches!(
        token.text.as_str(),
        "ALIGNED"
            | "ANY"
            | "BASED"
            | "BIT"
            | "BYTE-LENGTH"
            | "CONSTANT"
            | "DATE"
            | "DYNAMIC"
            | "LIKE"
            | "OBJECT"
            | "SAME"
            | "SIGNED"
            | "TYPE"
            | "TYPEDEF"
            | "UNSIGNED"
            | "VOLATILE"
    );
    if is_clause_word(&token.text) && !(soft && before_clause) {
        return None;
    }
    p.next()
}

/// Longest data name. Enterprise COBOL has 30, GnuCOBOL 63.
const NAME_CHARS_MAX: usize = 63;

fn check_name(p: &mut Parser<'_>, word: &Token) {
    if word.kind == Kind::Colon || p.peek().is_some_and(|t| t.kind == Kind::Colon && !t.spaced) {
        placeholder(p, word.at);
        return;
    }
    let chars = word.text.chars().count();
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let wrong = if let Some(c) = word.text.chars().find(|c| !legal(*c)) {
        format!("`{c}` is not valid in a data name")
    } else if word.text.starts_with('-') || word.text.ends_with('-') {
        "a data name does not begin or end with a hyphen".to_owned()
    } else if !word.text.chars().any(char::is_alphabetic) {
        "a data name has at least one letter".to_owned()
    } else if chars > NAME_CHARS_MAX {
        format!("the data name has {chars} characters, at most {NAME_CHARS_MAX} are supported")
    } else {
        return;
    };
    p.error(codes::NAME, word.at, wrong, "use letters, digits, hyphens and underscores");
}

/// Skips a `:TAG:` that no REPLACING removed, and the word that it is part of.
fn placeholder(p: &mut Parser<'_>, at: Span) {
    let mut text = String::new();
    let mut end = at;
    p.at_previous();
    while let Some(token) =
        p.peek().filter(|t| matches!(t.kind, Kind::Word | Kind::Colon) && (!t.spaced || text.is_empty()))
    {
        text.push_str(if token.kind == Kind::Colon { ":" } else { &token.text });
        end = token.at;
        p.next();
    }
    let tag = text.split(':').nth(1).unwrap_or("TAG");
    let member = p.member(at);
    let hint = format!(
        "name its text with `--replacing :{tag}:=CUST`, or read it through a copybook of one line, `COPY {member} REPLACING ==:{tag}:== BY ==CUST==.`"
    );
    p.error(codes::PLACEHOLDER, at.to(end), format!("`{text}` holds a placeholder that was not replaced"), hint);
}

/// Returns whether a clause begins with the word.
pub(super) fn is_clause_word(word: &str) -> bool {
    usage::is_usage_word(word)
        || matches!(
            word,
            "PIC"
                | "PICTURE"
                | "USAGE"
                | "REDEFINES"
                | "OCCURS"
                | "VALUE"
                | "VALUES"
                | "SIGN"
                | "LEADING"
                | "TRAILING"
                | "SYNC"
                | "SYNCHRONIZED"
                | "SYNCHRONISED"
                | "JUST"
                | "JUSTIFIED"
                | "BLANK"
                | "EXTERNAL"
                | "GLOBAL"
                | "GROUP-USAGE"
                | "RENAMES"
                | "DATE"
                | "TYPE"
                | "TYPEDEF"
                | "VOLATILE"
                | "DYNAMIC"
                | "ANY"
                | "BYTE-LENGTH"
                | "IS"
                | "CONSTANT"
                | "SAME"
                | "LIKE"
                | "BASED"
                | "ALIGNED"
                | "UNSIGNED"
                | "SIGNED"
        )
}

pub(super) fn is_figurative(word: &str) -> bool {
    literal::figurative(word).is_some()
}

fn clause(p: &mut Parser<'_>, entry: &mut Entry, token: &Token) -> Result<(), Failed> {
    let at = token.at;
    let word = token.text.as_str();
    if usage::is_usage_word(word) || word == "USAGE" {
        let usage = usage::usage(p)?;
        return once(p, &mut entry.usage, usage, at, "USAGE");
    }
    p.next();
    match word {
        "IS" => Ok(()),
        "PIC" | "PICTURE" => {
            p.next_if(&["IS"]);
            let picture = super::picture_clause::picture(p, at)?;
            once(p, &mut entry.picture, picture, at, "PICTURE")
        }
        "REDEFINES" => {
            let reference = p.reference("REDEFINES")?;
            once(p, &mut entry.redefines, reference, at, "REDEFINES")
        }
        "OCCURS" => {
            let clause = super::occurs::occurs(p, at)?;
            let mut slot = entry.occurs.take().map(|c| (c, at));
            let result = once(p, &mut slot, clause, at, "OCCURS");
            entry.occurs = slot.map(|(clause, _)| clause);
            result
        }
        "VALUE" | "VALUES" => {
            p.next_if(&["IS", "ARE"]);
            let (value, _) = literal::literal(p, "VALUE")?;
            if p.peek().is_some_and(|t| matches!(t.kind, Kind::Literal(_)) || t.is("FROM")) {
                let hint = "give one value; the values of single table elements do not matter to a layout";
                return Err(p.fail(
                    codes::UNSUPPORTED,
                    p.span(),
                    "a list of values is supported at level 88 only",
                    hint,
                ));
            }
            once(p, &mut entry.value, value, at, "VALUE")
        }
        "SIGN" | "LEADING" | "TRAILING" => {
            let sign = sign(p, word)?;
            once(p, &mut entry.sign, sign, at, "SIGN")
        }
        "SYNC" | "SYNCHRONIZED" | "SYNCHRONISED" => {
            p.next_if(&["LEFT", "RIGHT"]);
            flag(p, &mut entry.synchronized, at, "SYNCHRONIZED")
        }
        "JUST" | "JUSTIFIED" => {
            p.next_if(&["RIGHT"]);
            flag(p, &mut entry.justified, at, "JUSTIFIED")
        }
        "BLANK" => {
            p.next_if(&["WHEN"]);
            if p.next_if(&["ZERO", "ZEROS", "ZEROES"]).is_none() {
                let message = format!("BLANK is followed by {}, expected WHEN ZERO", p.found());
                return Err(p.fail(codes::CLAUSE_SYNTAX, p.span(), message, "write `BLANK WHEN ZERO`"));
            }
            flag(p, &mut entry.blank_when_zero, at, "BLANK WHEN ZERO")
        }
        "EXTERNAL" => {
            if p.next_if(&["AS", "BY"]).is_some() {
                literal::literal(p, "EXTERNAL AS")?;
            }
            entry.external = true;
            Ok(())
        }
        "GLOBAL" => {
            entry.global = true;
            Ok(())
        }
        "GROUP-USAGE" => {
            p.next_if(&["IS"]);
            let usage = usage::group_usage(p)?;
            once(p, &mut entry.group_usage, usage, at, "GROUP-USAGE")
        }
        "BYTE-LENGTH" => {
            p.next_if(&["IS"]);
            let bytes = super::occurs::integer(p, "BYTE-LENGTH")?;
            once(p, &mut entry.byte_length, bytes as usize, at, "BYTE-LENGTH")
        }
        _ => super::ignored::ignored(p, word, at),
    }
}

/// Sets a clause that may occur once.
fn once<T>(p: &mut Parser<'_>, slot: &mut Option<(T, Span)>, value: T, at: Span, clause: &str) -> Result<(), Failed> {
    if slot.is_some() {
        twice(p, at, clause);
    } else {
        *slot = Some((value, at));
    }
    Ok(())
}

fn flag(p: &mut Parser<'_>, slot: &mut Option<Span>, at: Span, clause: &str) -> Result<(), Failed> {
    if slot.is_some() {
        twice(p, at, clause);
    }
    *slot = Some(at);
    Ok(())
}

fn twice(p: &mut Parser<'_>, at: Span, clause: &str) {
    p.error(
        codes::CLAUSE_TWICE,
        at,
        format!("the entry has a second {clause} clause"),
        "keep one of them; is a period missing between two entries?",
    );
}

/// `[SIGN [IS]] LEADING|TRAILING [SEPARATE [CHARACTER]]`.
fn sign(p: &mut Parser<'_>, word: &str) -> Result<Sign, Failed> {
    let mut word = word;
    if word == "SIGN" {
        p.next_if(&["IS"]);
        match p.next_if(&["LEADING", "TRAILING"]) {
            Some(token) => word = token.text.as_str(),
            None => {
                let message = format!("SIGN is followed by {}, expected LEADING or TRAILING", p.found());
                return Err(p.fail(
                    codes::CLAUSE_SYNTAX,
                    p.span(),
                    message,
                    "write `SIGN LEADING` or `SIGN TRAILING SEPARATE`",
                ));
            }
        }
    }
    let leading = word == "LEADING";
    let separate = p.next_if(&["SEPARATE"]).is_some();
    if separate {
        p.next_if(&["CHARACTER"]);
    }
    Ok(Sign { leading, separate })
}

/// `66 name RENAMES a [THRU b]`.
fn renames(p: &mut Parser<'_>, level: &Token) -> Result<(), Failed> {
    let mut entry = Entry::new(66, level.at);
    let Some(word) = name(p) else {
        return Err(p.fail(
            codes::CLAUSE_SYNTAX,
            p.span(),
            "level 66 needs a name",
            "write `66 NAME RENAMES FIRST-FIELD THRU LAST-FIELD.`",
        ));
    };
    (entry.at, entry.filler) = (word.at, false);
    entry.name.clone_from(&word.text);
    check_name(p, word);
    if p.next_if(&["RENAMES"]).is_none() {
        let message = format!("level 66 needs RENAMES, found {}", p.found());
        return Err(p.fail(
            codes::CLAUSE_SYNTAX,
            p.span(),
            message,
            "write `66 NAME RENAMES FIRST-FIELD THRU LAST-FIELD.`",
        ));
    }
    let from = p.reference("RENAMES")?;
    let thru = match p.next_if(&["THRU", "THROUGH"]) {
        Some(_) => Some(p.reference("THRU")?),
        None => None,
    };
    entry.renames = Some(Renames { from, thru });
    p.push(entry);
    Ok(())
}

/// `88 name VALUE[S] [IS|ARE] literal [THRU literal] … [WHEN SET TO FALSE literal]`.
fn condition(p: &mut Parser<'_>) -> Result<(), Failed> {
    let Some(word) = name(p) else {
        return Err(p.fail(
            codes::CLAUSE_SYNTAX,
            p.span(),
            "level 88 needs a condition name",
            "write `88 NAME VALUE 'A'.`",
        ));
    };
    check_name(p, word);
    if p.next_if(&["VALUE", "VALUES"]).is_none() {
        let message = format!("level 88 needs VALUE, found {}", p.found());
        return Err(p.fail(codes::CLAUSE_SYNTAX, p.span(), message, "write `88 NAME VALUE 'A'.`"));
    }
    p.next_if(&["IS", "ARE"]);
    let mut condition = Condition { name: word.text.clone(), values: Vec::new() };
    loop {
        let (from, at) = match literal::numbers(p) {
            Some(mut numbers) => {
                let last = numbers.pop().unwrap_or_default();
                condition.values.extend(numbers.into_iter().map(|number| (Literal::Number(number), None)));
                (Literal::Number(last), p.last_span())
            }
            None => literal::literal(p, "VALUE")?,
        };
        let mut thru = None;
        if p.next_if(&["THRU", "THROUGH"]).is_some() {
            let (to, to_at) = literal::literal(p, "THRU")?;
            if !same_kind(&from, &to) {
                let hint = "both ends of a range are numbers, or both are text";
                p.error(codes::VALUE_KIND, at.to(to_at), "the ends of the range are of different kinds", hint);
            }
            thru = Some(to);
        }
        condition.values.push((from, thru));
        let more = p.peek().is_some_and(|t| t.kind != Kind::Period && !t.is("WHEN") && !t.is("FALSE") && !t.is("IN"))
            && !p.at_entry();
        if !more {
            break;
        }
    }
    if p.next_if(&["IN"]).is_some() {
        // IN alphabet-name: a collating sequence, no storage.
        p.next();
    }
    if p.next_if(&["WHEN"]).is_some() {
        p.next_if(&["SET"]);
        p.next_if(&["TO"]);
    }
    if p.next_if(&["FALSE"]).is_some() {
        p.next_if(&["IS"]);
        literal::literal(p, "FALSE")?;
    }
    match p.entries.last_mut() {
        Some(entry) if entry.level != 66 => entry.conditions.push(condition),
        _ => {
            let hint = "move it after the entry whose values it names";
            p.error(codes::CONDITION_MISPLACED, word.at, "this level 88 has no field in front of it", hint);
        }
    }
    Ok(())
}

/// Returns whether two literals may be the ends of a range. A figurative constant takes the kind of the other end, as in
/// `1 THRU HIGH-VALUES`, which compilers accept for text and for numbers.
fn same_kind(from: &Literal, to: &Literal) -> bool {
    let is_number = |literal: &Literal| matches!(literal, Literal::Number(_));
    let is_figurative = |literal: &Literal| matches!(literal, Literal::Figurative(_));
    is_figurative(from) || is_figurative(to) || is_number(from) == is_number(to)
}
