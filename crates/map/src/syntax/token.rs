//! Lexer: words, numbers, texts and signs of a map.
//!
//! A name may contain dashes and begin with digits: `CUST-NAME`, `NM103`, `CLM05-1`, `2010AA`. The rules are:
//! * a dash belongs to a name if a letter or digit is directly on both sides of it and the whole contains a letter, so a subtraction
//!   needs spaces;
//! * a run of digits is a name after the point of a path, and before a point that a name directly follows or a `[` (`2300.CLM`, `2400[0]`).

use super::text::{SourceText, Span, offset};

/// Kind of a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Word,
    /// A name in single quotes.
    Quoted,
    /// Digits, perhaps with a point.
    Number,
    /// `2026-01-31`.
    Date,
    /// A text in double quotes.
    Text,
    /// A sign: `=`, `+=`, `{`.
    Sign(&'static str),
    /// `#` to the end of the line; only kept for the formatter.
    Comment,
    /// A character that begins nothing.
    Stray,
    /// A text or quoted name that its line does not close.
    Open,
    /// End of the text.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Line breaks between the token before and this one.
    pub(crate) breaks: u32,
}

/// All signs. A longer sign precedes its prefixes.
const SIGNS: [&str; 28] = [
    "??", "=>", "->", "+=", "-=", "&=", "!=", "<>", "<=", ">=", "==", "=", "<", ">", "+", "-", "*", "/", "&", "(", ")",
    "[", "]", "{", "}", ",", ".", ":",
];

/// Returns all tokens of a text, including comments, followed by [`Kind::End`].
pub(crate) fn tokens(source: &SourceText, file: u16) -> Vec<Token> {
    let mut lexer = Lexer { text: source.text(), bytes: source.text().as_bytes(), at: 0, file, out: Vec::new() };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    file: u16,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        loop {
            let mut breaks = 0;
            while let Some(byte) = self.bytes.get(self.at) {
                match byte {
                    b'\n' => breaks += 1,
                    b' ' | b'\t' | b'\r' | 0x0c => {}
                    0xef if self.at == 0 && self.bytes.starts_with(b"\xef\xbb\xbf") => self.at = 2,
                    _ => break,
                }
                self.at += 1;
            }
            let start = self.at;
            let kind = self.next();
            let span = Span { file: self.file, start: offset(start), end: offset(self.at) };
            self.out.push(Token { kind, span, breaks });
            if kind == Kind::End {
                return;
            }
        }
    }

    fn next(&mut self) -> Kind {
        let Some(first) = self.text[self.at..].chars().next() else { return Kind::End };
        match first {
            '#' => {
                self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
                Kind::Comment
            }
            '"' => self.quoted('"', Kind::Text),
            '\'' => self.quoted('\'', Kind::Quoted),
            '0'..='9' => self.digits(),
            _ if begins_word(first) => {
                self.at += self.word_len();
                Kind::Word
            }
            '|' => {
                self.at += 1;
                Kind::Sign("|")
            }
            _ => match SIGNS.iter().find(|sign| self.text[self.at..].starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    Kind::Sign(sign)
                }
                None => {
                    self.at += first.len_utf8();
                    Kind::Stray
                }
            },
        }
    }

    /// Reads a quoted text, which must end on its line. A backslash escapes the next character.
    fn quoted(&mut self, end: char, kind: Kind) -> Kind {
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\n' => {
                    self.at += 1 + i;
                    return Kind::Open;
                }
                '\\' if end == '"' => match chars.next() {
                    Some((i, '\n')) => {
                        self.at += 1 + i;
                        return Kind::Open;
                    }
                    _ => continue,
                },
                _ if c == end => {
                    self.at += 2 + i;
                    return kind;
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        Kind::Open
    }

    fn digits(&mut self) -> Kind {
        let word = self.word_len();
        let digits = self.digit_run(0);
        if is_date(&self.bytes[self.at..self.at + word]) {
            self.at += word;
            return Kind::Date;
        }
        if self.text[self.at..self.at + word].chars().any(|c| !c.is_ascii_digit() && c != '-') {
            self.at += word;
            return Kind::Word;
        }
        let behind_point =
            self.out.last().is_some_and(|token| token.kind == Kind::Sign(".") && token.span.end as usize == self.at);
        let rest = &self.text[self.at + digits..];
        let names_follow = |rest: &str| {
            let mut chars = rest.chars();
            chars.next() == Some('.') && chars.next().is_some_and(|c| begins_word(c) || c == '\'')
        };
        if behind_point || rest.starts_with('[') || names_follow(rest) {
            self.at += digits;
            return Kind::Word;
        }
        if rest.starts_with('.') {
            let fraction = self.digit_run(digits + 1);
            let behind = &self.text[self.at + digits + 1 + fraction..];
            let path = behind.starts_with('[')
                || behind.chars().next().is_some_and(begins_word)
                || (behind.starts_with('.')
                    && behind[1..].chars().next().is_some_and(|c| begins_word(c) || c.is_ascii_digit()));
            if fraction > 0 && path {
                self.at += digits;
                return Kind::Word;
            }
            if fraction > 0 {
                self.at += digits + 1 + fraction;
                return Kind::Number;
            }
        }
        self.at += digits;
        Kind::Number
    }

    fn digit_run(&self, from: usize) -> usize {
        self.bytes[self.at + from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Returns the length in bytes of the longest run of word characters, including dashes between them.
    fn word_len(&self) -> usize {
        let rest = &self.text[self.at..];
        let mut end = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            if is_word(c) || (i == 0 && begins_word(c)) {
                end = i + c.len_utf8();
            } else if c != '-' || i == 0 || !chars.peek().is_some_and(|(_, next)| is_word(*next)) {
                break;
            }
        }
        end
    }
}

fn begins_word(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '@' | '$')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_date(bytes: &[u8]) -> bool {
    bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(i, byte)| if i == 4 || i == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
}

/// Returns true if a name needs no quotes at any position of a path.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let source = SourceText::new("", name);
    let found = tokens(&source, 0);
    matches!(found[..], [Token { kind: Kind::Word, .. }, Token { kind: Kind::End, .. }])
        || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn check(text: &str, expect: &expect_test::Expect) {
        let source = SourceText::new("", text);
        let shown: Vec<String> = tokens(&source, 0)
            .iter()
            .filter(|token| token.kind != Kind::End)
            .map(|token| {
                let kind = match token.kind {
                    Kind::Sign(_) => String::new(),
                    kind => format!("{kind:?}:"),
                };
                format!("{kind}{}", source.slice(token.span))
            })
            .collect();
        expect.assert_eq(&shown.join(" "));
    }

    #[test]
    fn names_have_dashes_and_digits() {
        check("CUST-NAME NM103 CLM05-1 2010AA", &expect!["Word:CUST-NAME Word:NM103 Word:CLM05-1 Word:2010AA"]);
        check("Money.@currency Money.$text", &expect!["Word:Money . Word:@currency Word:Money . Word:$text"]);
        check("a - 5 a -5 a-5 5-3", &expect!["Word:a - Number:5 Word:a - Number:5 Word:a-5 Number:5 - Number:3"]);
    }

    #[test]
    fn digits_are_names_in_paths() {
        check("2300.2400.LX01", &expect!["Word:2300 . Word:2400 . Word:LX01"]);
        check(
            "2400[0].SV1 12.50 2300 a.2300",
            &expect!["Word:2400 [ Number:0 ] . Word:SV1 Number:12.50 Number:2300 Word:a . Word:2300"],
        );
        check("2300.2400.5", &expect!["Word:2300 . Word:2400 . Word:5"]);
    }

    #[test]
    fn texts_dates_and_comments() {
        check(
            r#""a\"b" 'ship to' 2026-01-31 # all"#,
            &expect![[r#"Text:"a\"b" Quoted:'ship to' Date:2026-01-31 Comment:# all"#]],
        );
        check("\"open\nnext", &expect![[r#"Open:"open Word:next"#]]);
        check("a ?? b += ; ", &expect!["Word:a ?? Word:b += Stray:;"]);
    }
}
