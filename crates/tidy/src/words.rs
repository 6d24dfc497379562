//! Phrases that readers of the documents misunderstand, with replacements.

/// A word or phrase that documents do not use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refused {
    /// The phrase in lower case, with single blanks between words.
    pub phrase: &'static str,
    /// Words to write instead.
    pub instead: &'static str,
    /// Longer phrases that contain it and are plain English.
    pub unless: &'static [&'static str],
}

/// A refused phrase at its place in a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Occurrence {
    /// Line, from 1, of the phrase's first word.
    pub line: usize,
    /// The entry that refuses it.
    pub refused: Refused,
}

const fn refused(phrase: &'static str, instead: &'static str) -> Refused {
    Refused { phrase, instead, unless: &[] }
}

/// Every refused phrase. The dictionary has each of them, but search engines, other manuals and native speakers use the right-hand side for the
/// same thing.
pub const REFUSED: &[Refused] = &[
    refused("told", "reported, said, distinguished"),
    refused("tells", "reports, says"),
    Refused { phrase: "behind", instead: "after", unless: &["behind a proxy", "behind the gateway"] },
    refused("stands", "is, appears"),
    refused("stand", "be, appear"),
    refused("standing", "that is"),
    refused("goes on", "continues, resumes"),
    refused("go on", "continue, resume"),
    refused("so many", "that many, or the number"),
    refused("whoever", "the one who, people who"),
    refused("by itself", "automatically, alone"),
    refused("by themselves", "automatically, alone"),
    refused("as seen from", "relative to"),
    refused("asked for", "requested"),
    refused("asks for", "requests, requires"),
    refused("ask for", "request"),
    refused("held against", "compared with, checked against"),
    refused("hold against", "compare with, check against"),
    refused("mend", "fix"),
    refused("mended", "fixed"),
    refused("is none", "is not a"),
    refused("are none", "are not"),
    refused("there is none", "it is missing"),
    refused("taken back", "withdrawn, undone"),
    refused("takes back", "withdraws, undoes"),
    refused("as it were", "nothing"),
    Refused {
        phrase: "is no",
        instead: "is not a",
        unless: &["there is no", "is no longer", "is no more", "is no less", "is no better"],
    },
    Refused { phrase: "are no", instead: "are not", unless: &["there are no", "are no longer", "are no more"] },
    refused("seen from", "relative to"),
    refused("looked at", "read, checked"),
    refused("anew", "again, from the beginning"),
    refused("besides", "also"),
    refused("meanwhile", "at the same time"),
    Refused {
        phrase: "else",
        instead: "otherwise",
        unless: &["everything else", "nothing else", "anything else", "something else", "nobody else", "anybody else"],
    },
];

/// Finds the refused phrases of a Markdown text, in order. Code is not prose: fenced blocks, code spans and link targets are skipped.
#[must_use]
pub fn refused_words(markdown: &str) -> Vec<Occurrence> {
    let (prose, lines) = prose(markdown);
    refused_in(&prose, &lines, REFUSED)
}

/// Finds the refused phrases of a message in the sources: a string literal as written. Code spans, placeholders and single words (keywords, names) are
/// not prose. `else` is allowed, because it is a word of the languages whose faults the messages explain.
#[must_use]
pub fn refused_in_message(literal: &str) -> Vec<Occurrence> {
    if !literal.trim().contains(' ') {
        return Vec::new();
    }
    let text = literal.replace("\\\n", " ").replace("\\n", "\n\n").replace("\\\"", "\"");
    let mut spoken = String::new();
    for part in text.split('{') {
        let end = part.find('}').map_or(0, |at| at + 1);
        spoken.push('\u{2026}');
        spoken.push_str(if spoken.len() > 3 { &part[end..] } else { part });
    }
    let (prose, lines) = prose(&spoken);
    let words: Vec<Refused> = REFUSED.iter().filter(|refused| refused.phrase != "else").copied().collect();
    refused_in(&prose, &lines, &words)
}

fn refused_in(prose: &str, lines: &[usize], words: &[Refused]) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for refused in words {
        for (at, _) in prose.match_indices(refused.phrase) {
            let end = at + refused.phrase.len();
            let whole = !prose[..at].ends_with(is_word) && !prose[end..].starts_with(is_word);
            let plain = refused.unless.iter().any(|longer| {
                longer.match_indices(refused.phrase).any(|(before, _)| {
                    at.checked_sub(before)
                        .is_some_and(|start| prose.get(start..).is_some_and(|rest| rest.starts_with(longer)))
                })
            });
            if whole && !plain {
                found.push(Occurrence { line: lines[at], refused: *refused });
            }
        }
    }
    found.sort_by_key(|occurrence| occurrence.line);
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// Returns the text in lower case without code, with single blanks, and the line of each byte. A phrase can therefore continue on the next
/// line.
fn prose(markdown: &str) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(markdown.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let spoken = line.split('`').step_by(2).collect::<Vec<_>>().join("\u{2026}");
        let mut rest = spoken.as_str();
        let mut kept = String::new();
        while let Some((before, target)) = rest.split_once("](") {
            kept.push_str(before);
            kept.push('\u{2026}');
            rest = target.split_once(')').map_or("", |(_, after)| after);
        }
        kept.push_str(rest);
        for word in kept.split_whitespace() {
            text.push_str(&word.to_lowercase());
            text.push(' ');
            lines.resize(text.len(), number);
        }
        // A heading or an empty line ends a sentence.
        if line.trim().is_empty() || line.starts_with('#') {
            text.push('\n');
            lines.resize(text.len(), number);
        }
    }
    (text, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(markdown: &str) -> Vec<(usize, &'static str)> {
        refused_words(markdown).iter().map(|occurrence| (occurrence.line, occurrence.refused.phrase)).collect()
    }

    #[test]
    fn a_phrase_is_found_across_lines_and_in_any_case() {
        assert_eq!(lines_of("It stands here. It goes\non.\n\nTold."), [(1, "stands"), (1, "goes on"), (4, "told")]);
        assert_eq!(lines_of("It goes\n\non."), []);
    }

    #[test]
    fn code_and_targets_of_links_are_not_prose() {
        assert_eq!(lines_of("`else` and [x](behind.md)\n```\ntold\n```\n"), []);
    }

    #[test]
    fn messages_are_prose_without_place_holders() {
        let phrases = |literal: &str| -> Vec<&'static str> {
            refused_in_message(literal).iter().map(|occurrence| occurrence.refused.phrase).collect()
        };
        assert_eq!(phrases("{} is no map, {told}"), ["is no"]);
        assert_eq!(phrases("there is no map; it is no longer here, `is no` code"), Vec::<&str>::new());
        assert_eq!(phrases("write it\\n  anew"), ["anew"]);
        assert_eq!(phrases("behind"), Vec::<&str>::new());
    }

    #[test]
    fn longer_words_and_plain_phrases_pass() {
        assert_eq!(lines_of("They understand a stand-alone server behind a proxy, and nothing else."), []);
        assert_eq!(lines_of("1, else 2; nothing else"), [(1, "else")]);
    }
}
