//! Values that no node takes, and the tokens of the grammar without a node.

use quayline_core::{NodeId, Sink};

use super::{Pass, Stop};
use crate::fault::JsonError;
use crate::token::{self, Form, StringToken};

impl<S: Sink> Pass<'_, S> {
    /// Skips any value and reports it as a problem. `leaf` is set if the node is not yet a step.
    #[cold]
    pub(super) fn wrong_kind(&mut self, expected: &'static str, leaf: Option<NodeId>) -> Result<(), Stop> {
        let start = self.at;
        let found = match self.peek() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'-' | b'0'..=b'9') => "a number",
            Some(b't' | b'f') => "a truth value",
            Some(b'n') => "null",
            _ => return self.unexpected(expected, leaf),
        };
        self.problem(JsonError::Kind { expected, found }, start, leaf);
        self.skip_value()
    }

    /// Skips a value of any kind; its grammar is checked.
    pub(super) fn skip_value(&mut self) -> Result<(), Stop> {
        let base = self.reader.brackets.len();
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.open()?;
                    if self.peek() == Some(bracket + 2) {
                        self.close();
                    } else {
                        self.reader.brackets.push(bracket);
                        if bracket == b'{' {
                            self.name()?;
                            self.colon()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => _ = self.string_token()?,
                Some(b'-' | b'0'..=b'9') => match token::number(self.text, self.at) {
                    Ok(number) => self.at = number.end,
                    Err(lexical) => return self.lexical(lexical, None),
                },
                Some(b't') => self.literal(b"true", None)?,
                Some(b'f') => self.literal(b"false", None)?,
                Some(b'n') => self.literal(b"null", None)?,
                _ => return self.unexpected("a value", None),
            }
            if !self.next_skipped(base)? {
                return Ok(());
            }
        }
    }

    /// Moves to the next value inside the outermost skipped one. Returns false at its end.
    fn next_skipped(&mut self, base: usize) -> Result<bool, Stop> {
        while self.reader.brackets.len() > base {
            let bracket = self.reader.brackets.last().copied().unwrap_or(b'[');
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if bracket == b'{' {
                        self.peek();
                        self.name()?;
                        self.colon()?;
                    }
                    return Ok(true);
                }
                // In ASCII each closing bracket is two after its opening one.
                Some(byte) if byte == bracket + 2 => {
                    self.reader.brackets.pop();
                    self.close();
                }
                _ if bracket == b'{' => return self.unexpected("`,` or `}`", None),
                _ => return self.unexpected("`,` or `]`", None),
            }
        }
        Ok(false)
    }

    /// Reads the name of a member. If it has escapes, its characters are in the scratch buffer.
    pub(super) fn name(&mut self) -> Result<StringToken, Stop> {
        match self.peek() {
            Some(b'"') => self.string_token(),
            _ => self.unexpected("a member name in quotes", None),
        }
    }

    /// Reads a string. If it has escapes, its characters are in the scratch buffer.
    fn string_token(&mut self) -> Result<StringToken, Stop> {
        let start = self.at + 1;
        let token = token::string(self.text, start).and_then(|token| {
            if token.form == Form::Escaped {
                token::unescape(&self.text[start..token.end], start, &mut self.reader.scratch)?;
            }
            Ok(token)
        });
        match token {
            Ok(token) => {
                self.at = token.end + 1;
                Ok(token)
            }
            Err(lexical) => self.lexical(lexical, None),
        }
    }

    pub(super) fn colon(&mut self) -> Result<(), Stop> {
        if self.peek() != Some(b':') {
            return self.unexpected("`:`", None);
        }
        self.at += 1;
        Ok(())
    }

    pub(super) fn literal(&mut self, word: &'static [u8], leaf: Option<NodeId>) -> Result<(), Stop> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let same = word.iter().zip(&self.text[self.at..]).take_while(|(letter, byte)| letter == byte);
        self.at += same.count();
        self.unexpected("true, false or null", leaf)
    }
}
