//! Lines of a guide file: indentation makes a tree of them, and a line is split into words when it is parsed.

use core::ops::Range;
use std::borrow::Cow;

use super::codes;
use super::report::{Report, Span};

/// Non-empty lines, in order.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    file: u32,
    lines: Vec<Line<'t>>,
}

#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    /// Line number, from 1.
    number: u32,
    /// Spaces before it.
    indent: u32,
    /// Text without indentation and trailing white space.
    text: &'t str,
}

/// A line with the range of lines indented below it.
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
            // A tab counts as a level, which most likely gives the intended nesting.
            let indent = indentation.bytes().fold(0, |n, byte| if byte == b'\t' { n + 2 } else { n + 1 });
            lines.push(Line { number, indent, text: content });
        }
        Lines { file, lines }
    }

    /// Returns the outermost lines.
    pub(super) fn top(&self, report: &mut Report) -> Vec<Entry> {
        self.entries(0..self.lines.len(), report)
    }

    /// Returns the least indented lines of `within`, each with the lines indented below it.
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

    /// Returns the words of a line.
    pub(super) fn words(&self, entry: &Entry, report: &mut Report) -> Words<'t> {
        let Line { number, indent, text } = self.lines[entry.line];
        let end = Span { file: self.file, line: number, column: indent + 1, width: 1 };
        let from = Lexer { text, at: 0, column: indent + 1 };
        let mut words = Words { rest: from, next: None, whole: end, end, failed: false };
        words.look(report);
        words.rest = from;
        words.advance();
        words
    }

    /// Returns the lines of `within`, trimmed and joined by line feeds.
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

/// Words of one line, taken one by one. One fault in a line gives one finding: the rest of the line is then ignored.
#[derive(Debug)]
pub(super) struct Words<'t> {
    rest: Lexer<'t>,
    next: Option<Word<'t>>,
    /// Span of all words, or of the end of the line if it has no words.
    whole: Span,
    end: Span,
    failed: bool,
}

impl<'t> Words<'t> {
    /// Checks all words for faults without storing them: a line may be as long as the file.
    fn look(&mut self, report: &mut Report) {
        let mut words = 0_usize;
        while let Some(found) = self.rest.next() {
            let (column, width) = match &found {
                Ok(token) => (token.column, token.width),
                Err(fault) => (fault.column, fault.width),
            };
            let at = Span { column, width, ..self.end };
            if let Err(fault) = found {
                self.fault(codes::QUOTES, at, fault.message, fault.hint, report);
                break;
            }
            self.whole = if words == 0 { at } else { Span { width: column + width - self.whole.column, ..self.whole } };
            words += 1;
        }
        self.end.column = self.rest.column;
        if words == 0 {
            self.whole = self.end;
        }
    }

    /// Reads the word after the next one.
    fn advance(&mut self) {
        self.next = None;
        if let Some(Ok(Token { text, quoted, column, width })) = self.rest.next() {
            self.next = Some(Word { text, quoted, span: Span { column, width, ..self.end } });
        }
    }

    pub(super) fn peek(&self) -> Option<&Word<'t>> {
        if self.failed { None } else { self.next.as_ref() }
    }

    /// Returns the next word if it is not quoted.
    pub(super) fn peek_bare(&self) -> Option<&str> {
        self.peek().filter(|word| !word.quoted).map(|word| &*word.text)
    }

    pub(super) fn take(&mut self) -> Option<Word<'t>> {
        self.peek()?;
        let word = self.next.take();
        self.advance();
        word
    }

    /// Takes the next word if it is this keyword.
    pub(super) fn keyword(&mut self, keyword: &str) -> Option<Span> {
        if self.peek_bare() != Some(keyword) {
            return None;
        }
        self.take().map(|word| word.span)
    }

    /// Takes the next word if it is quoted.
    pub(super) fn text(&mut self) -> Option<String> {
        if !self.peek()?.quoted {
            return None;
        }
        self.take().map(|word| word.text.into_owned())
    }

    /// Takes the next word, or reports that it is missing.
    pub(super) fn need(&mut self, what: &str, form: &str, report: &mut Report) -> Option<Word<'t>> {
        if self.peek().is_none() {
            self.fault(codes::MISSING, self.end, format!("{what} is missing"), format!("form: {form}"), report);
            return None;
        }
        self.take()
    }

    /// Reports a fault and skips the rest of the line.
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

    /// Reports a remaining word.
    pub(super) fn finish(mut self, form: &str, report: &mut Report) {
        if let Some(word) = self.take() {
            let message = format!("`{}` is not expected here", word.text);
            self.fault(codes::WORD, word.span, message, format!("form: {form}"), report);
        }
    }

    /// Returns the span of all words, or of the end of the line if it has no words.
    pub(super) fn span(&self) -> Span {
        self.whole
    }
}

/// Reads the words of a line.
#[derive(Clone, Copy, Debug)]
struct Lexer<'t> {
    text: &'t str,
    /// Bytes that were read.
    at: usize,
    /// Column in characters, from 1.
    column: u32,
}

struct Token<'t> {
    text: Cow<'t, str>,
    quoted: bool,
    column: u32,
    width: u32,
}

/// Quotes that cannot be read.
struct QuoteFault {
    column: u32,
    width: u32,
    message: &'static str,
    hint: &'static str,
}

impl<'t> Lexer<'t> {
    fn char(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        self.column += 1;
        Some(c)
    }

    fn next(&mut self) -> Option<Result<Token<'t>, QuoteFault>> {
        let (from, start, first) = loop {
            let (from, start) = (self.at, self.column);
            match self.char()? {
                c if c.is_whitespace() => {}
                '#' => {
                    // The rest is a comment.
                    self.text = &self.text[..from];
                    self.at = from;
                    return None;
                }
                c => break (from, start, c),
            }
        };
        let text = match first {
            '=' | '|' => Cow::Borrowed(&self.text[from..self.at]),
            '"' => match self.quoted(start) {
                Ok(text) => Cow::Owned(text),
                Err(fault) => return Some(Err(fault)),
            },
            _ => {
                while let Some(c) = self.text[self.at..].chars().next()
                    && !c.is_whitespace()
                    && !matches!(c, '"' | '=' | '|')
                {
                    self.char();
                }
                Cow::Borrowed(&self.text[from..self.at])
            }
        };
        Some(Ok(Token { text, quoted: first == '"', column: start, width: self.column - start }))
    }

    /// Reads the text after an opening quote at column `start`.
    fn quoted(&mut self, start: u32) -> Result<String, QuoteFault> {
        let mut out = String::new();
        while let Some(c) = self.char() {
            match c {
                '"' => return Ok(out),
                '\\' => match self.char() {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some(c @ ('"' | '\\')) => out.push(c),
                    Some('u') if let Some(c) = self.code_point() => out.push(c),
                    _ => {
                        return Err(QuoteFault {
                            column: self.column.saturating_sub(2).max(1),
                            width: 2,
                            message: "the escape is not known",
                            hint: "known are \\\" \\\\ \\n \\r \\t and \\u{1f}",
                        });
                    }
                },
                c => out.push(c),
            }
        }
        Err(QuoteFault {
            column: start,
            width: self.column - start,
            message: "the quotes do not end in this line",
            hint: "write \" after the text; \\\" is a quote in it",
        })
    }

    /// Reads the character of `{1f}` after `\u`.
    fn code_point(&mut self) -> Option<char> {
        let (digits, _) = self.text[self.at..].strip_prefix('{')?.split_once('}')?;
        let c = char::from_u32(quayline_core::hex_number(digits)?)?;
        self.at += digits.len() + 2;
        self.column += small(digits.len()) + 2;
        Some(c)
    }
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
