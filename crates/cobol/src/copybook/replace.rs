//! REPLACING: the text words that match, and their replacements.

use super::source::Span;
use super::token::{Kind, Token};

/// One `old BY new`.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    rule: Rule,
    new: Vec<Token>,
    at: Span,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Whole text words.
    Words(Vec<Token>),
    /// The beginning of a word.
    Leading(String),
    /// The end of a word.
    Trailing(String),
}

impl Replacement {
    pub(crate) fn new(edge: Option<&str>, old: Vec<Token>, new: Vec<Token>, at: Span) -> Result<Self, &'static str> {
        let Some(edge) = edge else {
            if old.is_empty() {
                return Err("the text to replace is empty");
            }
            return Ok(Replacement { rule: Rule::Words(old), new, at });
        };
        let [Token { kind: Kind::Word, text, .. }] = &old[..] else {
            return Err("LEADING and TRAILING replace a part of one word");
        };
        if new.len() > 1 || new.iter().any(|t| t.kind != Kind::Word) {
            return Err("LEADING and TRAILING put in a part of one word, or nothing");
        }
        let part = text.clone();
        let rule = if edge == "LEADING" { Rule::Leading(part) } else { Rule::Trailing(part) };
        Ok(Replacement { rule, new, at })
    }

    /// Returns how many of the text words match.
    fn matches(&self, text: &[Token]) -> Option<usize> {
        match &self.rule {
            Rule::Words(old) => {
                let same =
                    text.len() >= old.len() && old.iter().zip(text).all(|(o, t)| o.kind == t.kind && o.text == t.text);
                same.then_some(old.len())
            }
            Rule::Leading(part) => (text[0].kind == Kind::Word && text[0].text.starts_with(part.as_str())).then_some(1),
            Rule::Trailing(part) => (text[0].kind == Kind::Word && text[0].text.ends_with(part.as_str())).then_some(1),
        }
    }

    fn put(&self, matched: &[Token], out: &mut Vec<Token>) {
        let first = &matched[0];
        let part = self.new.first().map_or("", |t| t.text.as_str());
        match &self.rule {
            Rule::Words(_) => {
                for (i, token) in self.new.iter().enumerate() {
                    let spaced = if i == 0 { first.spaced } else { token.spaced };
                    let starts_line = i == 0 && first.starts_line;
                    out.push(Token { at: first.at, spaced, starts_line, ..token.clone() });
                }
            }
            Rule::Leading(old) => {
                out.push(Token { text: format!("{part}{}", &first.text[old.len()..]), ..first.clone() })
            }
            Rule::Trailing(old) => {
                let kept = &first.text[..first.text.len() - old.len()];
                out.push(Token { text: format!("{kept}{part}"), ..first.clone() });
            }
        }
    }
}

/// Result of a replacement.
pub(crate) struct Replaced {
    pub(crate) tokens: Vec<Token>,
    /// Places of the rules that matched nothing.
    pub(crate) unused: Vec<Span>,
    /// The result exceeds the allowed bytes, and `tokens` is cut.
    pub(crate) overflow: bool,
}

/// Applies the first rule that matches at each place; inserted words are not examined again.
pub(crate) fn replace(tokens: Vec<Token>, list: &[Replacement], bytes_max: usize) -> Replaced {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut used = vec![false; list.len()];
    let mut at = 0;
    let mut bytes = 0usize;
    let mut gap = false;
    while at < tokens.len() && bytes <= bytes_max {
        let before = out.len();
        match list.iter().enumerate().find_map(|(i, r)| r.matches(&tokens[at..]).map(|n| (i, n))) {
            Some((rule, count)) => {
                used[rule] = true;
                list[rule].put(&tokens[at..at + count], &mut out);
                // A word that vanishes leaves its blank.
                gap = out.len() == before && (gap || tokens[at].spaced);
                at += count;
            }
            None => {
                out.push(tokens[at].clone());
                at += 1;
            }
        }
        if let Some(token) = out.get_mut(before) {
            token.spaced |= gap;
            gap = false;
        }
        bytes += out[before..].iter().map(|t| t.text.len() + 1).sum::<usize>();
    }
    let overflow = bytes > bytes_max;
    glue(&mut out);
    let unused = list.iter().zip(used).filter(|(_, used)| !used).map(|(r, _)| r.at).collect();
    Replaced { tokens: out, unused, overflow }
}

/// Joins words that are adjacent without a blank.
pub(crate) fn glue(tokens: &mut Vec<Token>) {
    tokens.dedup_by(|next, kept| {
        let joined = next.kind == Kind::Word && kept.kind == Kind::Word && !next.spaced;
        if joined {
            kept.text.push_str(&next.text);
            kept.at = kept.at.to(next.at);
        }
        joined
    });
}
