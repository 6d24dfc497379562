//! Text words: the parts of a line of COBOL.

use super::lines::Ch;
use super::source::Span;

/// Kind of a text word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// A COBOL word, a number or a piece of a picture; upper case.
    Word,
    /// A quoted literal; the text is that between the quotes, with doubled quotes made single.
    Literal(Prefix),
    /// `.` followed by a blank.
    Period,
    LeftParen,
    RightParen,
    Colon,
    /// `==`.
    PseudoDelimiter,
}

/// Letters before the opening quote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Prefix {
    None,
    /// `X`: hexadecimal digits.
    Hex,
    /// `N` or `G`: national or double-byte characters.
    National,
    /// `NX`: hexadecimal digits of UTF-16 units.
    NationalHex,
    /// `U`: UTF-8 characters.
    Utf8,
    /// `UX`: hexadecimal digits of UTF-8 bytes.
    Utf8Hex,
    /// `Z`: ends with a zero byte.
    NullTerminated,
    /// `GX`: hexadecimal digits of double-byte characters.
    DbcsHex,
    /// `B`, `BX`, `H`: prefixes that Quayline does not support.
    Other,
}

impl Prefix {
    fn of(word: &str) -> Option<Prefix> {
        Some(match word {
            "X" => Prefix::Hex,
            "N" | "G" => Prefix::National,
            "NX" => Prefix::NationalHex,
            "U" => Prefix::Utf8,
            "UX" => Prefix::Utf8Hex,
            "Z" => Prefix::NullTerminated,
            "GX" => Prefix::DbcsHex,
            "B" | "BX" | "H" => Prefix::Other,
            _ => return None,
        })
    }
}

/// One text word with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) at: Span,
    /// A blank, comma or semicolon precedes it.
    pub(crate) spaced: bool,
    /// First on its line.
    pub(crate) starts_line: bool,
}

impl Token {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    pub(crate) fn word(&self) -> Option<&str> {
        (self.kind == Kind::Word).then_some(self.text.as_str())
    }

    /// Returns the token's name for messages. Copybooks are not payload, but literals may be, so these are not named.
    pub(crate) fn shown(&self) -> String {
        match self.kind {
            Kind::Word if self.text.chars().count() > 40 => {
                format!("`{}…`", self.text.chars().take(40).collect::<String>())
            }
            Kind::Word => format!("`{}`", self.text),
            Kind::Literal(_) => "a literal".to_owned(),
            Kind::Period => "a period".to_owned(),
            Kind::LeftParen => "`(`".to_owned(),
            Kind::RightParen => "`)`".to_owned(),
            Kind::Colon => "`:`".to_owned(),
            Kind::PseudoDelimiter => "`==`".to_owned(),
        }
    }
}

/// Splits one logical line; calls `open` for a literal that the line does not close.
pub(crate) fn split(chars: &[Ch], file: u32, tokens: &mut Vec<Token>, mut open: impl FnMut(Span)) {
    let mut splitter = Splitter { chars, file, at: 0, spaced: true, starts_line: true };
    while splitter.skip_separators(tokens.last()) {
        let (token, closed) = splitter.next();
        if !closed {
            open(token.at);
        }
        tokens.push(token);
    }
}

struct Splitter<'a> {
    chars: &'a [Ch],
    file: u32,
    at: usize,
    spaced: bool,
    starts_line: bool,
}

impl Splitter<'_> {
    fn char(&self, index: usize) -> Option<char> {
        self.chars.get(index).map(|ch| ch.c)
    }

    fn blank_at(&self, index: usize) -> bool {
        self.char(index).is_none_or(char::is_whitespace)
    }

    /// Returns true if a separator may end here: at a blank, or at the `==` that ends pseudo-text.
    fn ends_at(&self, index: usize) -> bool {
        self.blank_at(index) || self.char(index) == Some('=') && self.char(index + 1) == Some('=')
    }

    /// Skips blanks, and commas and semicolons that separate. Returns whether a token follows. A comma directly after `)` belongs to
    /// a picture: `9(3),9(3)`. So does one that begins a picture, or a value with a decimal comma: `PIC ,999`, `VALUE ,25`.
    fn skip_separators(&mut self, last: Option<&Token>) -> bool {
        let behind_paren = !self.starts_line && last.is_some_and(|t| t.kind == Kind::RightParen);
        let begins = last.is_some_and(|t| {
            t.kind == Kind::Word && matches!(t.text.as_str(), "PIC" | "PICTURE" | "IS" | "VALUE" | "VALUES")
        });
        self.spaced = self.starts_line;
        while let Some(c) = self.char(self.at) {
            let picture_comma = c == ','
                && (behind_paren && !self.spaced || begins && self.spaced)
                && !self.blank_at(self.at + 1)
                && !matches!(self.char(self.at + 1), Some('"' | '\''));
            if !(c.is_whitespace() || (matches!(c, ',' | ';') && !picture_comma)) {
                return true;
            }
            self.spaced = true;
            self.at += 1;
        }
        false
    }

    /// Returns the token at `at`, and true if it is complete.
    fn next(&mut self) -> (Token, bool) {
        let start = self.at;
        let c = self.chars[start].c;
        let mut text = String::new();
        let mut closed = true;
        let kind = match c {
            '(' => self.single(Kind::LeftParen),
            ')' => self.single(Kind::RightParen),
            ':' => self.single(Kind::Colon),
            '.' if self.ends_at(start + 1) => self.single(Kind::Period),
            '=' if self.char(start + 1) == Some('=') => {
                self.at += 2;
                Kind::PseudoDelimiter
            }
            '"' | '\'' => {
                closed = self.quoted(&mut text);
                Kind::Literal(Prefix::None)
            }
            _ => {
                self.word(&mut text);
                match (self.char(self.at), Prefix::of(&text)) {
                    (Some('"' | '\''), Some(prefix)) => {
                        text.clear();
                        closed = self.quoted(&mut text);
                        Kind::Literal(prefix)
                    }
                    _ => Kind::Word,
                }
            }
        };
        let token = Token { kind, text, at: self.span(start), spaced: self.spaced, starts_line: self.starts_line };
        self.starts_line = false;
        (token, closed)
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    fn word(&mut self, text: &mut String) {
        while let Some(c) = self.char(self.at) {
            let ends = match c {
                '(' | ')' | ':' | '"' | '\'' => true,
                '.' | ',' | ';' => self.ends_at(self.at + 1),
                '=' => self.char(self.at + 1) == Some('='),
                _ => c.is_whitespace(),
            };
            if ends && !text.is_empty() {
                return;
            }
            text.extend(c.to_uppercase());
            self.at += 1;
            if ends {
                return;
            }
        }
    }

    /// Reads a quoted text and returns whether the closing quote was found.
    fn quoted(&mut self, text: &mut String) -> bool {
        let quote = self.chars[self.at].c;
        self.at += 1;
        while let Some(c) = self.char(self.at) {
            self.at += 1;
            if c != quote {
                text.push(c);
            } else if self.char(self.at) == Some(quote) {
                text.push(quote);
                self.at += 1;
            } else {
                return true;
            }
        }
        false
    }

    /// Returns the place from `start` to `at`; for text across a continuation, the part on the first line.
    fn span(&self, start: usize) -> Span {
        let first = self.chars[start];
        let last = self.chars[start..self.at].iter().take_while(|ch| ch.line == first.line).last().unwrap_or(&first);
        let width = (last.column + 1).saturating_sub(first.column).max(1);
        Span { file: self.file, line: first.line, column: first.column, width }
    }
}
