//! The values of leaves.

use quayline_core::{Digits, NodeId, Run, Sink, Value, is_rounded_float};

use super::{Pass, Stop};
use crate::fault::JsonError;
use crate::members::Kind;
use crate::token::{self, Form, StringToken};

impl<S: Sink> Pass<'_, S> {
    /// The value of a leaf.
    #[inline(always)]
    pub(super) fn leaf(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        match self.peek() {
            Some(b'"') => self.string(node, kind),
            Some(b'-' | b'0'..=b'9') => self.number(node, kind),
            _ => self.word(node, kind),
        }
    }

    #[inline(always)]
    fn string(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        let start = self.at + 1;
        let token = match token::string(self.text, start) {
            Ok(token) => token,
            Err(lexical) => return self.lexical(lexical, Some(node)),
        };
        if token.form == Form::Ascii && kind == Kind::Text {
            self.at = token.end + 1;
            let text = self.text;
            let value = Value::Ascii(Run::new(&text[start..], token.end - start));
            if self.reader.checks.is_some() {
                self.check_value(node, value, start - 1);
            }
            self.sink.value(node, value);
            return Ok(());
        }
        self.other_string(node, kind, token)
    }

    /// Reads a string that has escapes or non-ASCII characters, or whose leaf is not text.
    #[inline(never)]
    fn other_string(&mut self, node: NodeId, kind: Kind, token: StringToken) -> Result<(), Stop> {
        let start = self.at;
        let raw = &self.text[start + 1..token.end];
        let mut scratch = core::mem::take(&mut self.reader.scratch);
        let (content, form) = match token.form {
            Form::Escaped => {
                if let Err(lexical) = token::unescape(raw, start + 1, &mut scratch) {
                    return self.lexical(lexical, Some(node));
                }
                let printable = scratch.iter().all(|byte| matches!(byte, 0x20..=0x7e));
                (scratch.as_slice(), if printable { Form::Ascii } else { Form::Utf8 })
            }
            form => (raw, form),
        };
        self.at = token.end + 1;
        let sent = self.send_string(node, kind, content, form);
        self.reader.scratch = scratch;
        if let Err(error) = sent {
            self.problem(error, start, Some(node));
        }
        Ok(())
    }

    fn send_string(&mut self, node: NodeId, kind: Kind, content: &[u8], form: Form) -> Result<(), JsonError> {
        let mut room = Vec::new();
        let value = match kind {
            Kind::Decimal | Kind::Float32 | Kind::Float64 if self.reader.strict => {
                return Err(JsonError::Kind { expected: expected(kind), found: "a string" });
            }
            Kind::Bool | Kind::Group => return Err(JsonError::Kind { expected: expected(kind), found: "a string" }),
            Kind::Decimal | Kind::Float32 | Kind::Float64
                if content.starts_with(b"0x") && unhex(&content[2..], &mut room) =>
            {
                Value::Raw(&room)
            }
            Kind::Bytes if content.starts_with(b"0x") && unhex(&content[2..], &mut room) => Value::Raw(&room),
            Kind::Bytes if unhex(content, &mut room) => Value::Bytes(&room),
            Kind::Bytes => return Err(JsonError::Hex),
            Kind::Decimal | Kind::Float32 | Kind::Float64
                if let Ok(number) = token::number(content, 0)
                    && number.end == content.len() =>
            {
                number_value(kind, &number, content, &mut room)?
            }
            _ if form == Form::Ascii => Value::Ascii(content.into()),
            _ => Value::Text(content.into()),
        };
        if is_rounded_float(content, &value) {
            self.reader.rounded.add(node);
        }
        self.sink.value(node, value);
        match self.reader.checks.as_ref().and_then(|checks| checks.value(node, value)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn number(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        if kind == Kind::Decimal
            && let Some(number) = token::short_number(self.text, self.at)
        {
            let start = self.at;
            self.at = number.end;
            let digits = Run::new(&number.digits, number.len);
            let value = Value::Digits(Digits { digits, negative: number.negative, scale: number.scale });
            if self.reader.checks.is_some() {
                self.check_value(node, value, start);
            }
            self.sink.value(node, value);
            return Ok(());
        }
        self.other_number(node, kind)
    }

    /// Reads a number that is long, has an exponent or ends the text, or whose leaf is not a decimal.
    #[inline(never)]
    fn other_number(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        let start = self.at;
        let number = match token::number(self.text, start) {
            Ok(number) => number,
            Err(lexical) => return self.lexical(lexical, Some(node)),
        };
        self.at = number.end;
        let error = match number_value(kind, &number, self.text, &mut self.reader.scratch) {
            Ok(value) => {
                if is_rounded_float(&self.text[number.start..number.end], &value) {
                    self.reader.rounded.add(node);
                }
                self.sink.value(node, value);
                self.reader.checks.as_ref().and_then(|checks| checks.value(node, value))
            }
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            self.problem(error, start, Some(node));
        }
        Ok(())
    }

    /// Reads a literal name where a leaf's value is expected, or reports what does not belong there.
    #[inline(never)]
    fn word(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        let value = match self.peek() {
            Some(b'n') if !self.reader.strict => {
                let start = self.at;
                self.literal(b"null", Some(node))?;
                if self.reader.checks.is_some() {
                    self.check_null(node, self.reader.members.node(node).list, start);
                }
                Value::Null
            }
            Some(b't') if kind == Kind::Bool => {
                self.literal(b"true", Some(node))?;
                Value::Bool(true)
            }
            Some(b'f') if kind == Kind::Bool => {
                self.literal(b"false", Some(node))?;
                Value::Bool(false)
            }
            _ => return self.wrong_kind(expected(kind), Some(node)),
        };
        self.sink.value(node, value);
        Ok(())
    }
}

/// Converts a number to the node's kind.
fn number_value<'a>(
    kind: Kind,
    number: &token::Number,
    text: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<Value<'a>, JsonError> {
    let digits = &text[number.start..number.end];
    let parsed = || core::str::from_utf8(digits).expect("a number of the JSON grammar is ASCII");
    match kind {
        Kind::Decimal => number.digits(text, scratch).map(Value::Digits),
        Kind::Float32 => match parsed().parse::<f32>() {
            Ok(float) if float.is_finite() && (float != 0.0 || is_zero(digits)) => Ok(Value::Float32(float)),
            _ => Err(JsonError::Float),
        },
        Kind::Float64 => match parsed().parse::<f64>() {
            Ok(float) if float.is_finite() && (float != 0.0 || is_zero(digits)) => Ok(Value::Float64(float)),
            _ => Err(JsonError::Float),
        },
        _ => Err(JsonError::Kind { expected: expected(kind), found: "a number" }),
    }
}

/// Returns true if a number is zero as written, and not only as the nearest float.
fn is_zero(number: &[u8]) -> bool {
    let end = number.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(number.len());
    !number[..end].iter().any(|b| matches!(b, b'1'..=b'9'))
}

pub(super) fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Group => "an object",
        Kind::Text => "a string",
        Kind::Decimal | Kind::Float32 | Kind::Float64 => "a number",
        Kind::Bool => "true or false",
        Kind::Bytes => "a string of hexadecimal digits",
    }
}

/// Decodes pairs of hexadecimal digits into `out`. Returns false if `text` is not such pairs.
fn unhex(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    out.clear();
    let (pairs, rest) = text.as_chunks::<2>();
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return false };
        out.push(u8::try_from(high << 4 | low).expect("two hexadecimal digits make a byte"));
    }
    rest.is_empty()
}
