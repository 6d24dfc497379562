//! Physical lines to logical lines to text words: columns, indicators, comments, continuation, directives.
//!
//! Leniency, each documented here:
//! * tabs advance to the next of columns 9, 17, 25 …;
//! * a line that begins with a tab and then `*` or `/` is a comment, although the tab puts it after column 7;
//! * in free form a line whose first character is `*` or `/` is a comment, as in compilers' own copybooks;
//! * `D` in column 7 (a debugging line) is a comment, as it is for a compiler without DEBUGGING MODE;
//! * Ctrl-Z ends the text, a byte-order mark at its start is skipped, NUL and form feed count as blanks.

use super::format::{Decided, Format, columns};
use super::report::Report;
use super::source::{Sources, Span};
use super::token::{Token, split};
use crate::codes;

/// A character with the place it was written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ch {
    pub(crate) c: char,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Reads the text words of one source text, up to a PROCEDURE DIVISION.
pub(crate) fn read(sources: &Sources, file: u32, format: Format, report: &mut Report) -> Vec<Token> {
    let text = sources.text(file);
    let mut reader = Reader {
        sources,
        file,
        report,
        format: format.decide(&text),
        tokens: Vec::new(),
        line: Vec::new(),
        quote: None,
        margin: 0,
        ended: false,
    };
    for (number, line) in (1u32..).zip(text.split('\n')) {
        let (line, last) = match line.split_once('\u{1a}') {
            Some((line, _)) => (line, true),
            None => (line, false),
        };
        reader.physical(number, line.trim_end_matches('\r'));
        if last || reader.ended {
            break;
        }
    }
    if !reader.ended {
        reader.flush();
    }
    reader.tokens
}

struct Reader<'a> {
    sources: &'a Sources,
    file: u32,
    report: &'a mut Report,
    format: Decided,
    tokens: Vec<Token>,
    /// The logical line being gathered.
    line: Vec<Ch>,
    /// The quote of the literal that is open at its end.
    quote: Option<char>,
    /// Blanks between its end and column 72: they belong to an open literal that is continued.
    margin: usize,
    ended: bool,
}

/// Last column of the text in fixed form.
const MARGIN_R: usize = 72;

impl Reader<'_> {
    fn physical(&mut self, number: u32, line: &str) {
        let shown = line.trim_start();
        if let Some(word) = foreign_include(shown) {
            let at = self.span(number, line.chars().count() - shown.chars().count() + 1, word.len());
            let hint = format!("write `COPY` instead of `{word}`, or expand the member before reading the copybook");
            self.error(
                codes::FOREIGN_INCLUDE,
                at,
                format!("`{word}` is not COBOL: it is a statement of a source library"),
                hint,
            );
            return;
        }
        match self.format {
            Decided::Fixed => self.fixed(number, line),
            Decided::Free => self.free(number, line),
        }
    }

    fn free(&mut self, number: u32, line: &str) {
        let text: Vec<Ch> = characters(number, line).map(|(_, ch)| ch).collect();
        let Some(first) = text.iter().find(|ch| !ch.c.is_whitespace()) else { return };
        if matches!(first.c, '*' | '/') {
            return;
        }
        self.begin(&text);
        self.margin = 0;
    }

    fn fixed(&mut self, number: u32, line: &str) {
        let mut indicator = Ch { c: ' ', line: number, column: 7 };
        let mut text = Vec::with_capacity(line.len().min(MARGIN_R));
        let mut end = 7;
        let mut past = None;
        let mut cut = None;
        for (column, ch) in characters(number, line) {
            match column {
                0..=6 => {}
                7 if ch.c != '\t' => indicator = ch,
                8..=MARGIN_R => {
                    text.push(ch);
                    end = column;
                }
                _ if ch.c.is_whitespace() => {}
                _ => {
                    cut = cut.or(Some(ch));
                    if column == MARGIN_R + 1 && end == MARGIN_R {
                        past = Some(ch);
                    }
                }
            }
        }
        let first = text.iter().copied().find(|ch| !ch.c.is_whitespace());
        let tabbed = line.starts_with('\t') && first.is_some_and(|ch| matches!(ch.c, '*' | '/'));
        match indicator.c {
            '*' | '/' | 'D' | 'd' => return,
            _ if tabbed => return,
            ' ' | '-' => {}
            // `$SET` and `>>` may begin here.
            '$' | '>' => text.insert(0, indicator),
            found => {
                let at = self.span(number, indicator.column as usize, 1);
                let hint = "column 7 holds a blank, `*`, `/`, `-` or `D`; if the text is in free form, add `--source-format free`";
                self.error(codes::INDICATOR, at, format!("column 7 holds `{found}`, which is not an indicator"), hint);
            }
        }
        if first.is_none() && matches!(indicator.c, ' ' | '-') {
            return;
        }
        if indicator.c == '-' {
            self.continuation(indicator, &text);
        } else {
            self.begin(&text);
        }
        self.margin = MARGIN_R - end;
        // Only a person's editor writes tabs, and no tool that writes them puts an identification after column 72.
        if let Some(ch) = cut.filter(|_| line.contains('\t')) {
            return self.pushed_past_margin(number, ch);
        }
        if let (Some(ch), None, Some(last)) = (past, self.quote, text.last())
            && (last.c.is_alphanumeric() || last.c == '-')
            && runs_on(line, ch.column as usize - 1)
        {
            self.past_margin(number, ch);
        }
    }

    fn pushed_past_margin(&mut self, number: u32, ch: Ch) {
        let at = self.span(number, ch.column as usize, 1);
        let message = "tabs push this text past column 72, where fixed form ends: it would not be read";
        let hint = "if the text is in free form, add `--source-format free`; otherwise replace the tabs by blanks and end the line by column 72";
        self.error(codes::TEXT_PAST_MARGIN, at, message, hint);
    }

    fn past_margin(&mut self, number: u32, ch: Ch) {
        let at = self.span(number, ch.column as usize, 1);
        self.report.warning(
            self.sources,
            codes::TEXT_PAST_MARGIN,
            at,
            "a word runs past column 72; text from column 73 on is ignored",
            "move the text to the left, or if the text is in free form, add `--source-format free`",
        );
    }

    /// Joins a line with `-` in column 7 to the one before it.
    fn continuation(&mut self, indicator: Ch, text: &[Ch]) {
        let at = self.span(indicator.line, indicator.column as usize, 1);
        if self.line.is_empty() {
            self.error(
                codes::CONTINUATION,
                at,
                "there is no line before this one to continue",
                "remove the `-` from column 7",
            );
            self.append(text);
            return;
        }
        let Some(first) = text.iter().position(|ch| !ch.c.is_whitespace()) else { return };
        if let Some(quote) = self.quote {
            if text[first].c == quote {
                let last = self.line.last().copied().unwrap_or(indicator);
                self.line.extend(std::iter::repeat_n(Ch { c: ' ', ..last }, self.margin));
                self.append(&text[first + 1..]);
                return;
            }
            let message = format!(
                "the continuation of the literal does not start with {}",
                if quote == '"' { "`\"`" } else { "`'`" }
            );
            let at = self.span(text[first].line, text[first].column as usize, 1);
            self.error(
                codes::CONTINUATION,
                at,
                message,
                "start the continued part with the quote the literal began with",
            );
            self.quote = None;
        }
        // A closing quote in column 72 and the first of two here are the halves of a doubled quote.
        let halves = self.margin == 0
            && matches!(text[first].c, '"' | '\'')
            && self.line.last().is_some_and(|ch| ch.c == text[first].c)
            && text.get(first + 1).is_some_and(|ch| ch.c == text[first].c);
        if halves {
            self.append(&text[first + 1..]);
            return;
        }
        while self.line.last().is_some_and(|ch| ch.c.is_whitespace()) {
            self.line.pop();
        }
        self.append(&text[first..]);
    }

    /// Ends the line gathered so far and begins another.
    fn begin(&mut self, text: &[Ch]) {
        self.flush();
        if !self.ended {
            self.append(text);
            self.directive();
        }
    }

    /// Adds characters up to a `*>` comment, and follows the quotes.
    fn append(&mut self, text: &[Ch]) {
        for (i, ch) in text.iter().enumerate() {
            match self.quote {
                None if ch.c == '*' && text.get(i + 1).is_some_and(|next| next.c == '>') => return,
                None if matches!(ch.c, '"' | '\'') => self.quote = Some(ch.c),
                Some(quote) if quote == ch.c => self.quote = None,
                _ => {}
            }
            self.line.push(*ch);
        }
    }

    /// Splits the gathered line into text words.
    fn flush(&mut self) {
        let Reader { sources, file, report, tokens, line, .. } = self;
        let before = tokens.len();
        split(line, *file, tokens, |at| {
            let hint = "close it with the quote it began with; to continue it, put `-` in column 7 of the next line";
            report.error(sources, codes::LITERAL_NOT_CLOSED, at, "the literal has no closing quote on its line", hint);
        });
        self.line.clear();
        self.quote = None;
        if let [first, second, ..] = &tokens[before..]
            && first.is("PROCEDURE")
            && second.is("DIVISION")
        {
            tokens.truncate(before);
            self.ended = true;
        }
    }

    /// Removes a gathered `>>` or `$` line and applies it.
    fn directive(&mut self) {
        let Some(first) = self.line.iter().copied().find(|ch| !ch.c.is_whitespace()) else { return };
        if !matches!(first.c, '>' | '$') {
            return;
        }
        let text: String = self.line.iter().map(|ch| ch.c.to_ascii_uppercase()).collect();
        let trimmed = text.trim();
        // A line may also begin with a picture of a currency symbol.
        let dollar = |word: &&str| {
            ["SET", "IF", "ELSE", "END", "DISPLAY", "REGION", "END-REGION"].iter().any(|w| word.starts_with(w))
        };
        let Some(rest) = trimmed.strip_prefix(">>").or_else(|| trimmed.strip_prefix('$').filter(dollar)) else {
            return;
        };
        let words: Vec<&str> =
            rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|w| !w.is_empty()).collect();
        // A picture may begin a line with its currency symbol: `$ZZ9.99`.
        let indicator = self.format == Decided::Fixed && first.column == 7;
        let known = ["IF", "ELSE", "ELIF", "END", "SET", "REGION", "DISPLAY"].map(Some);
        if first.c == '$' && !indicator && !known.contains(&words.first().copied()) {
            return;
        }
        let at = self.span(first.line, first.column as usize, trimmed.chars().count());
        self.line.clear();
        self.quote = None;
        match words.first().copied() {
            Some("IF" | "ELSE" | "ELIF" | "END" | "END-IF" | "EVALUATE" | "WHEN" | "END-EVALUATE") => {
                let hint =
                    "keep the lines that apply and delete the others, or let the compiler expand the copybook first";
                self.error(codes::DIRECTIVE, at, "conditional compilation is not supported", hint);
            }
            Some("SOURCE" | "SET") if rest.contains("SOURCE") => match words.last().copied() {
                Some("FREE") => self.format = Decided::Free,
                Some("FIXED") => self.format = Decided::Fixed,
                _ => {
                    let hint = "say FREE or FIXED";
                    self.error(codes::DIRECTIVE, at, "the source format is neither FREE nor FIXED", hint);
                }
            },
            // LISTING, PAGE, CALLINTERFACE, SET of other things: no effect on a layout.
            _ => {}
        }
    }

    fn span(&self, line: u32, column: usize, width: usize) -> Span {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { file: self.file, line, column: number(column), width: number(width) }
    }

    fn error(&mut self, code: quayline_core::Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.report.error(self.sources, code, at, message, hint);
    }
}

/// Returns the characters of a line, each with its column after tabs are expanded. NUL and form feed are blanks.
fn characters(number: u32, line: &str) -> impl Iterator<Item = (usize, Ch)> + '_ {
    columns(line).map(move |(index, column, c)| {
        let c = if matches!(c, '\0' | '\u{c}') { ' ' } else { c };
        (column, Ch { c, line: number, column: u32::try_from(index + 1).unwrap_or(u32::MAX) })
    })
}

/// Returns whether the characters from index `at` on, from column 73, continue a word that was cut and are not an identification.
fn runs_on(line: &str, at: usize) -> bool {
    let rest: String = line.chars().skip(at).collect();
    let rest = rest.trim_end();
    rest.starts_with(|c: char| c.is_alphabetic() || c == '-') && rest.contains(['.', ' ', '(', ')', '\'', '"'])
}

/// Recognizes the inclusion statements of Librarian and Panvalet.
fn foreign_include(line: &str) -> Option<&'static str> {
    let upper: String = line.chars().take(10).collect::<String>().to_ascii_uppercase();
    ["-INC", "++INCLUDE"]
        .into_iter()
        .find(|word| upper.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t'])))
}
