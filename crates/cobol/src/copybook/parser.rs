//! Text words to entries: finds the data division, walks its sections, recovers at the next entry.

use crate::codes;
use quayline_core::Code;

use super::clauses;
use super::entry::{Entry, Reference};
use super::hierarchy::Section;
use super::report::Report;
use super::source::{Sources, Span};
use super::special_names;
use super::token::{Kind, Token};
use crate::picture::PictureSettings;

/// Reads entries from text words.
pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    sources: &'a Sources,
    report: &'a mut Report,
    pub(super) settings: PictureSettings,
    /// Most character positions of an item.
    pub(super) positions_max: usize,
    section: Option<Section>,
    file_name: Option<String>,
    pub(super) entries: Vec<Entry>,
    /// True in a section without records.
    skipping_section: bool,
}

/// Result of parsing.
pub(crate) struct Parsed {
    pub(crate) entries: Vec<Entry>,
    /// Start of the data division or section, in a program.
    pub(crate) data_start: Option<Span>,
}

/// A finding was reported; the caller continues with the next entry.
pub(super) struct Failed;

impl<'a> Parser<'a> {
    pub(crate) fn new(
        tokens: &'a [Token],
        sources: &'a Sources,
        report: &'a mut Report,
        settings: PictureSettings,
        positions_max: usize,
    ) -> Self {
        Parser {
            tokens,
            at: 0,
            sources,
            report,
            settings,
            positions_max,
            section: None,
            file_name: None,
            entries: Vec::new(),
            skipping_section: false,
        }
    }

    pub(crate) fn parse(mut self) -> Parsed {
        let start = data_start(self.tokens);
        special_names::read(&self.tokens[..start.unwrap_or(0)], &mut self.settings, self.sources, self.report);
        self.at = start.unwrap_or(0);
        while let Some(token) = self.peek() {
            if token.is("PROCEDURE") && self.peek_at(1).is_some_and(|t| t.is("DIVISION")) {
                break;
            }
            self.statement(token);
        }
        Parsed { entries: self.entries, data_start: start.and_then(|i| self.tokens.get(i)).map(|t| t.at) }
    }

    /// Parses one header or entry, or skips a statement that is neither.
    fn statement(&mut self, token: &'a Token) {
        let second = self.peek_at(1);
        let header = |word: &str| second.is_some_and(|t| t.is(word));
        match token.word() {
            Some("DATA") if header("DIVISION") => self.skip_statement(),
            Some(name) if header("SECTION") => {
                self.section_header(name, token.at);
                self.skip_statement();
            }
            Some("FD" | "SD" | "RD" | "CD") => {
                self.file_name = second.and_then(Token::word).map(str::to_owned);
                self.skip_statement();
            }
            Some("EXEC") => self.skip_exec(),
            Some("EJECT" | "SKIP1" | "SKIP2" | "SKIP3") => {
                self.at += 1;
                self.next_if_period();
            }
            Some("TITLE") => {
                self.at += 2;
                self.next_if_period();
            }
            Some(word) if !self.skipping_section && word.bytes().all(|b| b.is_ascii_digit()) => clauses::entry(self),
            _ if self.skipping_section => self.skip_statement(),
            _ if token.kind == Kind::Period => self.at += 1,
            _ => {
                let message = format!("expected a level number, found {}", token.shown());
                let hint = "an entry begins with a level number from 01 to 49, 66, 77 or 88, and ends with a period";
                self.error(codes::UNEXPECTED, token.at, message, hint);
                self.excuse_group();
                self.at += 1;
                self.recover();
            }
        }
    }

    fn section_header(&mut self, name: &str, at: Span) {
        self.file_name = None;
        self.skipping_section = false;
        self.section = match name {
            "FILE" => Some(Section::File),
            "WORKING-STORAGE" => Some(Section::WorkingStorage),
            "LOCAL-STORAGE" => Some(Section::LocalStorage),
            "LINKAGE" => Some(Section::Linkage),
            _ => {
                self.skipping_section = true;
                let hint = "only FILE, WORKING-STORAGE, LOCAL-STORAGE and LINKAGE hold records";
                self.warning(codes::IGNORED, at, format!("{name} SECTION is left out"), hint);
                None
            }
        };
    }

    /// Skips `EXEC … END-EXEC[.]`: DECLARE SECTION and DECLARE TABLE describe no storage.
    fn skip_exec(&mut self) {
        while let Some(token) = self.next() {
            if token.is("END-EXEC") {
                self.next_if_period();
                return;
            }
        }
    }

    /// Marks the last entry as erroneous: one of its fields was wrong, so a lack of fields needs no finding.
    pub(super) fn excuse_group(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            entry.broken = true;
        }
    }

    pub(super) fn push(&mut self, mut entry: Entry) {
        entry.section = self.section;
        entry.file_name.clone_from(&self.file_name);
        self.entries.push(entry);
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + ahead)
    }

    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub(super) fn next_if(&mut self, words: &[&str]) -> Option<&'a Token> {
        self.peek().filter(|t| t.word().is_some_and(|w| words.contains(&w)))?;
        self.next()
    }

    pub(super) fn next_if_period(&mut self) -> bool {
        let found = self.peek().is_some_and(|t| t.kind == Kind::Period);
        self.at += usize::from(found);
        found
    }

    /// Moves back by one word.
    pub(super) fn at_previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Returns the position of the last word read.
    pub(super) fn last_span(&self) -> Span {
        self.tokens.get(self.at.saturating_sub(1)).map_or(Span { file: 0, line: 1, column: 1, width: 1 }, |t| t.at)
    }

    /// Returns the place of the next word; at the end, the place after the last one.
    pub(super) fn span(&self) -> Span {
        self.peek().map_or_else(|| self.last_span().end(), |t| t.at)
    }

    pub(super) fn found(&self) -> String {
        self.peek().map_or("the end of the text".to_owned(), Token::shown)
    }

    /// Returns whether the next words begin an entry: the first on its line, a level number, then a name or clause word.
    pub(super) fn at_entry(&self) -> bool {
        let Some(level) = self.peek() else { return false };
        let number = level.word().is_some_and(|w| w.len() <= 2 && w.bytes().all(|b| b.is_ascii_digit()));
        number
            && level.starts_line
            && self.peek_at(1).is_some_and(|t| {
                t.word().is_some_and(|w| {
                    w.bytes().any(|b| b.is_ascii_alphabetic())
                        && !matches!(w, "THRU" | "THROUGH" | "TIMES" | "TO" | "WHEN")
                        && !clauses::is_figurative(w)
                })
            })
    }

    /// Returns whether the word after the next one begins a clause: `99 OCCURS` on a line of its own is a picture.
    pub(super) fn followed_by_clause(&self) -> bool {
        self.peek_at(1).and_then(Token::word).is_some_and(clauses::is_clause_word)
    }

    /// Moves after the next period, or before the apparent next entry.
    pub(super) fn recover(&mut self) {
        while self.peek().is_some() && !self.at_entry() {
            if self.next_if_period() {
                return;
            }
            self.at += 1;
        }
    }

    fn skip_statement(&mut self) {
        while let Some(token) = self.next() {
            if token.kind == Kind::Period {
                return;
            }
        }
    }

    /// Reads a reference: `name [OF|IN name]…`
    pub(super) fn reference(&mut self, of: &str) -> Result<Reference, Failed> {
        let Some(first) = self.peek().filter(|t| t.kind == Kind::Word && !clauses::is_clause_word(&t.text)) else {
            let message = format!("{of} needs a data name, found {}", self.found());
            return Err(self.fail(codes::CLAUSE_SYNTAX, self.span(), message, "name a field of this record"));
        };
        self.at += 1;
        let mut reference = Reference { name: first.text.clone(), qualifiers: Vec::new(), at: first.at };
        while self.next_if(&["OF", "IN"]).is_some() {
            match self.next() {
                Some(token) if token.kind == Kind::Word => {
                    reference.qualifiers.push(token.text.clone());
                    reference.at = reference.at.to(token.at);
                }
                _ => {
                    let at = self.last_span();
                    return Err(self.fail(
                        codes::CLAUSE_SYNTAX,
                        at,
                        "OF needs the name of a group",
                        "name the group of the field",
                    ));
                }
            }
        }
        Ok(reference)
    }

    pub(super) fn fail(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) -> Failed {
        self.error(code, at, message, hint);
        Failed
    }

    /// Returns the name by which COPY refers to the source text: its file's name without folder and extension.
    pub(super) fn member(&self, at: Span) -> String {
        let name = self.sources.name(at.file);
        let file = name.rsplit(['/', '\u{5c}']).next().unwrap_or(name);
        file.split('.').next().unwrap_or(file).to_owned()
    }

    pub(super) fn error(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.report.error(self.sources, code, at, message, hint);
    }

    pub(super) fn warning(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.report.warning(self.sources, code, at, message, hint);
    }
}

/// Returns the index of the first word of a program's data division, or of its first section if it has no such header; `None` for a
/// copybook.
fn data_start(tokens: &[Token]) -> Option<usize> {
    let pair = |first: &[&str], second: &str| {
        tokens.windows(2).position(|w| w[0].word().is_some_and(|t| first.contains(&t)) && w[1].is(second))
    };
    let program = || {
        pair(&["IDENTIFICATION", "ID", "ENVIRONMENT"], "DIVISION")?;
        pair(&["FILE", "WORKING-STORAGE", "LOCAL-STORAGE", "LINKAGE"], "SECTION").or(Some(tokens.len()))
    };
    pair(&["DATA"], "DIVISION").or_else(program)
}
