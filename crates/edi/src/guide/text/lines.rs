//! A guide file as lines: indentation makes a tree of them, words are found when a line is looked at.

use core::ops::Range;
use std::borrow::Cow;

use super::codes;
use super::report::{Report, Span};

/// Lines that hold something, in order.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    file: u32,
    lines: Vec<Line<'t>>,
}

#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    /// From 1.
    number: u32,
    /// Spaces before it.
    indent: u32,
    /// Without indentation and white space at the end.
    text: &'t str,
}

/// One line and what is indented below it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    line: usize,
    pub(super) below: Range<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(file: u32, text: &'t str, report: &mut Report) -> Self {
        let mut lines = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1u32..).zip(text.lines()) {
            let content = line.trim_start_matches([' ', '\t']);
            let indentation = &line[..line.len() - content.len()];
            let content = content.trim_end();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let tab = indentation.find('\t');
            if let Some(at) = tab {
                let span = Span { file, line: number, column: small(at) + 1, width: 1 };
                report.error(
                    codes::INDENTATION,
                    span,
                    "the indentation contains a tab",
                    "indent with spaces, two a level",
                );
            }
            // A tab counts as a level, so that what stands there is most likely understood.
            let indent = indentation.bytes().fold(0, |n, byte| if byte == b'\t' { n + 2 } else { n + 1 });
            lines.push(Line { number, indent, text: content });
        }
        Lines { file, lines }
    }

    /// The outermost lines.
    pub(super) fn top(&self, report: &mut Report) -> Vec<Entry> {
        self.entries(0..self.lines.len(), report)
    }

    /// The lines of `within` that are indented least, each with what is indented below it.
    pub(super) fn entries(&self, within: Range<usize>, report: &mut Report) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let Some(first) = self.lines.get(within.clone()).and_then(<[_]>::first) else { return entries };
        for at in within {
            let line = self.lines[at];
            if line.indent > first.indent {
                if let Some(last) = entries.last_mut() {
                    last.below.end = at + 1;
                }
                continue;
            }
            if line.indent < first.indent {
                let span = Span { file: self.file, line: line.number, column: 1, width: line.indent.max(1) };
                let message = format!("the indentation by {} fits no line above", line.indent);
                report.error(
                    codes::INDENTATION,
                    span,
                    message,
                    "give lines of the same level the same indentation, two spaces a level",
                );
            }
            entries.push(Entry { line: at, below: at + 1..at + 1 });
        }
        entries
    }

    /// The words of a line.
    pub(super) fn words(&self, entry: &Entry, report: &mut Report) -> Words<'t> {
        let line = self.lines[entry.line];
        let mut words = Words {
            words: Vec::new(),
            next: 0,
            end: Span { file: self.file, line: line.number, column: line.indent + 1, width: 1 },
            failed: false,
        };
        words.read(line, report);
        words
    }

    /// Each line of `within` as it stands, without white space around it, joined by line feeds.
    pub(super) fn raw(&self, within: Range<usize>) -> String {
        let lines: Vec<&str> = self.lines[within].iter().map(|line| line.text).collect();
        lines.join("\n")
    }
}

/// One word.
#[derive(Clone, Debug)]
pub(super) struct Word<'t> {
    pub(super) text: Cow<'t, str>,
    /// Quoted words are never keywords.
    pub(super) quoted: bool,
    pub(super) span: Span,
}

/// The words of one line, taken one by one. One fault in a line gives one finding: after it, the rest of the line is not looked at.
#[derive(Debug)]
pub(super) struct Words<'t> {
    words: Vec<Word<'t>>,
    next: usize,
    end: Span,
    failed: bool,
}

impl<'t> Words<'t> {
    fn read(&mut self, line: Line<'t>, report: &mut Report) {
        let text = line.text;
        let mut chars = text.char_indices().peekable();
        let mut column = line.indent + 1;
        while let Some((from, first)) = chars.next() {
            let start = column;
            column += 1;
            let word = match first {
                _ if first.is_whitespace() => continue,
                '#' => break,
                '=' | '|' => Cow::Borrowed(&text[from..from + 1]),
                '"' => {
                    let mut out = String::new();
                    let mut closed = false;
                    while let Some((_, c)) = chars.next() {
                        column += 1;
                        match c {
                            '"' => {
                                closed = true;
                                break;
                            }
                            '\\' => {
                                column += 1;
                                match chars.next() {
                                    Some((_, 'n')) => out.push('\n'),
                                    Some((_, 'r')) => out.push('\r'),
                                    Some((_, 't')) => out.push('\t'),
                                    Some((_, c @ ('"' | '\\'))) => out.push(c),
                                    Some((at, 'u')) => {
                                        let code =
                                            text[at + 1..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
                                        let character = code
                                            .and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok())
                                            .and_then(char::from_u32);
                                        if let (Some((digits, _)), Some(character)) = (code, character) {
                                            for _ in 0..digits.chars().count() + 2 {
                                                chars.next();
                                                column += 1;
                                            }
                                            out.push(character);
                                        } else {
                                            self.escape(column, report);
                                        }
                                    }
                                    _ => self.escape(column, report),
                                }
                            }
                            c => out.push(c),
                        }
                    }
                    if !closed {
                        self.fault(
                            codes::QUOTES,
                            Span { column: start, width: column - start, ..self.end },
                            "the quotes do not end in this line",
                            "write \" after the text; \\\" is a quote in it",
                            report,
                        );
                    }
                    Cow::Owned(out)
                }
                _ => {
                    while chars.peek().is_some_and(|(_, c)| !c.is_whitespace() && !matches!(c, '"' | '=' | '|')) {
                        chars.next();
                        column += 1;
                    }
                    let to = chars.peek().map_or(text.len(), |(at, _)| *at);
                    Cow::Borrowed(&text[from..to])
                }
            };
            let span = Span { column: start, width: column - start, ..self.end };
            self.words.push(Word { text: word, quoted: first == '"', span });
        }
        self.end.column = column;
    }

    fn escape(&mut self, column: u32, report: &mut Report) {
        self.fault(
            codes::QUOTES,
            Span { column: column.saturating_sub(2).max(1), width: 2, ..self.end },
            "the escape is not known",
            "known are \\\" \\\\ \\n \\r \\t and \\u{1f}",
            report,
        );
    }

    pub(super) fn peek(&self) -> Option<&Word<'t>> {
        if self.failed { None } else { self.words.get(self.next) }
    }

    /// The next word where it is not quoted.
    pub(super) fn peek_bare(&self) -> Option<&str> {
        self.peek().filter(|word| !word.quoted).map(|word| &*word.text)
    }

    pub(super) fn take(&mut self) -> Option<Word<'t>> {
        let word = self.peek()?.clone();
        self.next += 1;
        Some(word)
    }

    /// Takes the next word where it is this keyword.
    pub(super) fn keyword(&mut self, keyword: &str) -> Option<Span> {
        if self.peek_bare() != Some(keyword) {
            return None;
        }
        self.take().map(|word| word.span)
    }

    /// Takes the next word where it is quoted.
    pub(super) fn text(&mut self) -> Option<String> {
        if !self.peek()?.quoted {
            return None;
        }
        self.take().map(|word| word.text.into_owned())
    }

    /// Takes the next word; a finding where there is none.
    pub(super) fn need(&mut self, what: &str, form: &str, report: &mut Report) -> Option<Word<'t>> {
        if self.peek().is_none() {
            self.fault(codes::MISSING, self.end, format!("{what} is missing"), format!("form: {form}"), report);
            return None;
        }
        self.take()
    }

    /// Tells what is wrong and gives the rest of the line up.
    pub(super) fn fault(
        &mut self,
        code: quayline_core::Code,
        at: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
        report: &mut Report,
    ) {
        if !core::mem::replace(&mut self.failed, true) {
            report.error(code, at, message, hint);
        }
    }

    /// A finding for a word that nobody took.
    pub(super) fn finish(mut self, form: &str, report: &mut Report) {
        if let Some(word) = self.take() {
            let message = format!("`{}` is not expected here", word.text);
            self.fault(codes::WORD, word.span, message, format!("form: {form}"), report);
        }
    }

    /// All words together, or where the line ends if there is none.
    pub(super) fn span(&self) -> Span {
        match (self.words.first(), self.words.last()) {
            (Some(first), Some(last)) => {
                Span { width: last.span.column + last.span.width - first.span.column, ..first.span }
            }
            _ => self.end,
        }
    }
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
