//! COPY and REPLACE: text manipulation before anything is understood.
//!
//! Words are compared without regard to case, literals exactly; separators (blank, comma, semicolon) match each other. A nested COPY is
//! expanded before the REPLACING of the COPY around it applies to its text (Enterprise COBOL forbids REPLACING there; GnuCOBOL and ISO 2002
//! allow it). Words that a replacement brings together without a blank between them become one word, so `:TAG:-NAME` works.

use crate::codes;
use std::collections::HashMap;
use std::sync::Arc;

use quayline_core::Limits;

use super::format::Format;
use super::library::{CopyError, CopyLibrary};
use super::lines;
use super::replace::{Replacement, glue, replace};
use super::report::Report;
use super::source::{Sources, Span};
use super::token::{Kind, Token};
use super::{ParseOptions, SourceText};

/// Number of members whose text, or whose absence, an expansion keeps. More names are looked up each time.
const MEMBERS_KEPT_MAX: usize = 1_000;

/// Input and output of the expansion.
pub(crate) struct Expander<'a> {
    pub(crate) sources: &'a mut Sources,
    pub(crate) report: &'a mut Report,
    pub(crate) library: &'a dyn CopyLibrary,
    pub(crate) copy_remedy: &'a str,
    pub(crate) format: Format,
    pub(crate) limits: &'a Limits,
    /// Members being expanded, outermost first, with their source texts.
    stack: Vec<(Arc<str>, u32)>,
    /// Answers of the library by member and its library: a search reads folders.
    members: HashMap<(String, Option<String>), Result<SourceText, CopyError>>,
    /// Bytes of text words read so far.
    bytes: usize,
    exhausted: bool,
}

impl<'a> Expander<'a> {
    pub(crate) fn new(sources: &'a mut Sources, report: &'a mut Report, options: &ParseOptions<'a>) -> Self {
        let ParseOptions { library, copy_remedy, format, limits, .. } = *options;
        Expander {
            sources,
            report,
            library,
            copy_remedy,
            format,
            limits,
            stack: Vec::new(),
            members: HashMap::new(),
            bytes: 0,
            exhausted: false,
        }
    }

    /// Returns the text words of the source text `file`, with every COPY expanded and every REPLACE applied.
    pub(crate) fn expand(&mut self, file: u32) -> Vec<Token> {
        self.stack.push((Arc::clone(self.sources.name(file)), file));
        let tokens = self.text(file);
        self.stack.pop();
        self.replace_statements(tokens)
    }

    /// Applies a REPLACING phrase from the caller.
    pub(crate) fn replace_all(&mut self, phrase: &str, tokens: Vec<Token>) -> Vec<Token> {
        let file = self.sources.add(Arc::from("replacing"), Arc::from(phrase), None);
        let start = Span { file, line: 1, column: 1, width: 1 };
        let words = lines::read(self.sources, file, Format::Free, self.report);
        let mut at = Cursor { tokens: &words, at: 0 };
        let list = self.replacements(&mut at, start);
        if let Some(token) = at.peek() {
            self.syntax(token.at, format!("{} does not belong to a REPLACING phrase", token.shown()));
        }
        let mut out = Vec::new();
        self.replaced(tokens, &list, start, &mut out);
        out
    }

    fn text(&mut self, file: u32) -> Vec<Token> {
        let tokens = lines::read(self.sources, file, self.format, self.report);
        self.bytes += tokens.iter().map(|t| t.text.len() + 1).sum::<usize>();
        let mut out = Vec::with_capacity(tokens.len());
        let mut at = Cursor { tokens: &tokens, at: 0 };
        while let Some(token) = at.next() {
            if token.is("COPY") {
                self.copy(token.at, &mut at, &mut out);
            } else if token.is("EXEC") && at.peek_is(0, "SQL") && at.peek_is(1, "INCLUDE") {
                self.sql_include(token.at, &mut at, &mut out);
            } else {
                out.push(token.clone());
            }
        }
        out
    }

    /// Expands `COPY member [OF|IN library] [SUPPRESS] [REPLACING …].`
    fn copy(&mut self, start: Span, at: &mut Cursor<'_>, out: &mut Vec<Token>) {
        let Some(name) = at.next_if(|t| matches!(t.kind, Kind::Word | Kind::Literal(_))) else {
            self.syntax(start, "COPY names no member".to_owned());
            return;
        };
        let library = at
            .next_if(|t| t.is("OF") || t.is("IN"))
            .and_then(|_| at.next_if(|t| matches!(t.kind, Kind::Word | Kind::Literal(_))));
        if at.next_if(|t| t.is("SUPPRESS")).is_some() {
            at.next_if(|t| t.is("PRINTING"));
        }
        let list = match at.next_if(|t| t.is("REPLACING")) {
            Some(token) => self.replacements(at, token.at),
            None => Vec::new(),
        };
        if at.next_if(|t| t.kind == Kind::Period).is_none() {
            let found = at.peek().map_or("the end of the text".to_owned(), Token::shown);
            self.syntax(start, format!("the COPY statement does not end with a period, but with {found}"));
            if !list.is_empty() {
                at.skip_past_period();
            }
        }
        let Some(text) = self.member(name, library, start.to(name.at)) else { return };
        self.replaced(text, &list, start, out);
    }

    fn sql_include(&mut self, start: Span, at: &mut Cursor<'_>, out: &mut Vec<Token>) {
        at.at += 2;
        let name = at.next();
        at.next_if(|t| t.is("END-EXEC"));
        at.next_if(|t| t.kind == Kind::Period);
        let Some(name) = name else { return };
        if name.is("SQLCA") || name.is("SQLDA") {
            self.report.warning(
                self.sources,
                codes::IGNORED,
                start.to(name.at),
                format!("EXEC SQL INCLUDE {} is left out: the structure belongs to the SQL precompiler", name.text),
                "nothing to do unless records hold it",
            );
            return;
        }
        if let Some(text) = self.member(name, None, start.to(name.at)) {
            out.extend(text);
        }
    }

    /// Returns the expanded text of a member.
    fn member(&mut self, name: &Token, library: Option<&Token>, at: Span) -> Option<Vec<Token>> {
        if self.exhausted {
            return None;
        }
        if self.stack.len() > self.limits.copy_depth_max {
            let message = format!("COPY is nested deeper than {}", self.limits.copy_depth_max);
            self.error(
                codes::COPY_DEPTH,
                at,
                message,
                "look for a member that copies itself, or allow more with `--limit copy-depth=N`".to_owned(),
            );
            return None;
        }
        let found = match self.found(name, library) {
            Ok(found) => found,
            Err(error) => {
                self.missing(name, at, &error);
                return None;
            }
        };
        if self.stack.iter().any(|(open, _)| *open == found.name) {
            let mut chain: Vec<&str> = self.stack.iter().map(|(name, _)| &**name).collect();
            chain.push(&found.name);
            let message = format!("{} copies itself: {}", found.name, chain.join(" → "));
            self.error(codes::COPY_RECURSION, at, message, "remove the COPY that closes the circle".to_owned());
            return None;
        }
        if self.bytes + found.text.len() > self.limits.copybook_bytes_max {
            self.exhausted = true;
            let message = format!(
                "the copybook with everything it copies is longer than {} bytes",
                self.limits.copybook_bytes_max
            );
            self.error(
                codes::SOURCE_TOO_LARGE,
                at,
                message,
                "copy less: look for a member that is copied again and again, or allow more with `--limit copybook-bytes=N`".to_owned(),
            );
            return None;
        }
        let file = self.sources.add(Arc::clone(&found.name), found.text, Some(at));
        self.stack.push((found.name, file));
        let text = self.text(file);
        self.stack.pop();
        Some(text)
    }

    /// Looks a member up once, since a copybook may name it many times.
    fn found(&mut self, name: &Token, library: Option<&Token>) -> Result<SourceText, CopyError> {
        let key = (name.text.clone(), library.map(|token| token.text.clone()));
        if let Some(known) = self.members.get(&key) {
            return known.clone();
        }
        let found = self.library.member(&key.0, key.1.as_deref());
        if self.members.len() < MEMBERS_KEPT_MAX {
            self.members.insert(key, found.clone());
        }
        found
    }

    fn missing(&mut self, name: &Token, at: Span, error: &CopyError) {
        match error {
            CopyError::NotFound { tried } => {
                let message = format!("COPY member {} is not in the library", name.text);
                let hint = if tried.is_empty() {
                    "give a folder of copybooks to search".to_owned()
                } else {
                    format!("looked for {}; {}", tried.join(", "), self.copy_remedy)
                };
                self.error(codes::COPY_NOT_FOUND, at, message, hint);
            }
            CopyError::Unreadable { name, reason } => {
                let hint = "check that it is a text file and that it may be read".to_owned();
                self.error(codes::COPY_UNREADABLE, at, format!("{name} cannot be read: {reason}"), hint);
            }
        }
    }

    fn replaced(&mut self, text: Vec<Token>, list: &[Replacement], at: Span, out: &mut Vec<Token>) {
        if list.is_empty() {
            out.extend(text);
            return;
        }
        let room = self.limits.copybook_bytes_max;
        let replaced = replace(text, list, room);
        if replaced.overflow {
            self.exhausted = true;
            let message = format!("the copybook after REPLACING is longer than {room} bytes");
            self.error(
                codes::SOURCE_TOO_LARGE,
                at,
                message,
                "replace less: look for a replacement that grows each time, or allow more with `--limit copybook-bytes=N`".to_owned(),
            );
            return;
        }
        for unused in replaced.unused {
            self.report.warning(
                self.sources,
                codes::REPLACING_UNUSED,
                unused,
                "this text does not occur in what is copied",
                "compare it with the member word by word: a word is replaced as a whole, or use LEADING or TRAILING",
            );
        }
        out.extend(replaced.tokens);
    }

    /// Applies `REPLACE ==a== BY ==b== ….` up to the next REPLACE, or `REPLACE OFF.`
    fn replace_statements(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        if !tokens.iter().any(|t| t.is("REPLACE")) {
            return tokens;
        }
        let mut out = Vec::with_capacity(tokens.len());
        let mut at = Cursor { tokens: &tokens, at: 0 };
        let mut active: Option<(Span, Vec<Replacement>)> = None;
        loop {
            let start = at.at;
            while at.peek().is_some_and(|t| !t.is("REPLACE")) {
                at.at += 1;
            }
            let stretch = tokens[start..at.at].to_vec();
            match &active {
                Some((span, list)) => self.replaced(stretch, list, *span, &mut out),
                None => out.extend(stretch),
            }
            let Some(word) = at.next() else { break };
            active = None;
            if at.next_if(|t| t.is("OFF")).is_none() {
                let list = self.replacements(&mut at, word.at);
                active = Some((word.at, list));
            }
            if at.next_if(|t| t.kind == Kind::Period).is_none() {
                self.syntax(word.at, "the REPLACE statement does not end with a period".to_owned());
            }
        }
        glue(&mut out);
        out
    }

    /// Parses `==a== BY ==b== …` up to the first word that is not an operand.
    fn replacements(&mut self, at: &mut Cursor<'_>, start: Span) -> Vec<Replacement> {
        let mut list = Vec::new();
        let mut wrong = false;
        loop {
            let edge = at.next_if(|t| t.is("LEADING") || t.is("TRAILING"));
            let Some(old) = self.operand(at, true) else { break };
            let place = edge.map_or(old.1, |t| t.at);
            if at.next_if(|t| t.is("BY")).is_none() {
                let found = at.peek().map_or("the end of the text".to_owned(), Token::shown);
                self.syntax(place, format!("this text is followed by {found}, expected BY"));
                wrong = true;
                at.skip_to_period();
                break;
            }
            let Some(new) = self.operand(at, false) else {
                self.syntax(place, "BY names no text to put in".to_owned());
                wrong = true;
                break;
            };
            match Replacement::new(edge.map(|t| t.text.as_str()), old.0, new.0, place) {
                Ok(replacement) => list.push(replacement),
                Err(why) => {
                    self.syntax(place, why.to_owned());
                    wrong = true;
                }
            }
        }
        if list.is_empty() && !wrong {
            self.syntax(start, "there is no text to replace".to_owned());
        }
        list
    }

    /// Reads an operand: pseudo-text without its delimiters, a literal, or an identifier with its qualifiers and subscripts.
    fn operand(&mut self, at: &mut Cursor<'_>, old: bool) -> Option<(Vec<Token>, Span)> {
        let first = at.next_if(|t| !(t.kind == Kind::Period || old && t.is("BY")))?;
        if first.kind == Kind::PseudoDelimiter {
            let mut text = Vec::new();
            loop {
                match at.next() {
                    Some(token) if token.kind == Kind::PseudoDelimiter => return Some((text, first.at)),
                    Some(token) => text.push(token.clone()),
                    None => {
                        self.syntax(first.at, "the pseudo-text has no closing `==`".to_owned());
                        return Some((text, first.at));
                    }
                }
            }
        }
        let mut text = vec![first.clone()];
        while let Some(word) = at.next_if(|t| t.is("OF") || t.is("IN")) {
            text.push(word.clone());
            text.extend(at.next().cloned());
        }
        if at.next_if(|t| t.kind == Kind::LeftParen).is_some() {
            text.push(at.tokens[at.at - 1].clone());
            while let Some(token) = at.next() {
                text.push(token.clone());
                if token.kind == Kind::RightParen {
                    break;
                }
            }
        }
        Some((text, first.at))
    }

    fn syntax(&mut self, at: Span, message: String) {
        let hint = "write `COPY name REPLACING ==old text== BY ==new text==.`; REPLACE has the same form";
        self.error(codes::COPY_SYNTAX, at, message, hint.to_owned());
    }

    fn error(&mut self, code: quayline_core::Code, at: Span, message: String, hint: String) {
        self.report.error(self.sources, code, at, message, hint);
    }
}

/// A place in a list of text words.
struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn peek_is(&self, ahead: usize, word: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|t| t.is(word))
    }

    fn next(&mut self) -> Option<&'t Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    fn next_if(&mut self, test: impl Fn(&Token) -> bool) -> Option<&'t Token> {
        self.peek().filter(|t| test(t))?;
        self.next()
    }

    fn skip_to_period(&mut self) {
        while self.peek().is_some_and(|t| t.kind != Kind::Period) {
            self.at += 1;
        }
    }

    fn skip_past_period(&mut self) {
        self.skip_to_period();
        self.at = (self.at + 1).min(self.tokens.len());
    }
}
