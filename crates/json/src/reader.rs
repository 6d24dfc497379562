//! The source that reads JSON text.

use quayline_core::{Limits, NodeId, Run, Shape, Sink, Value};

use crate::fault::{JsonError, JsonFault, JsonProblem, describe};
use crate::members::{Kind, Member, Members};
use crate::token::{self, Form, Lexical, StringToken};

/// Choices of a [`JsonReader`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReaderOptions {
    /// Of these, `depth_max` and `findings_max` apply.
    pub limits: Limits,
    /// What a member that the shape does not have is.
    pub unknown: Unknown,
}

/// What a member that the shape does not have is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unknown {
    /// A problem: it is most often a name written wrongly.
    #[default]
    Error,
    /// Passed over; its value is held to the grammar all the same.
    Ignore,
}

/// Reads documents and drives a sink by the shape.
///
/// The text is held to RFC 8259 strictly. The document is an object, the shape's root. Members may stand in any order and may be missing:
/// what that means is for the sink to say.
///
/// # What is sent
/// * A string for a text node is `Ascii` where it has printable ASCII only, otherwise `Text`; without escapes it is a span of the input.
/// * A number for a decimal node is `Digits` with every digit written (`-12.50` is `1250` at scale 2). An exponent is worked in, as long as
///   the result has at most 38 digits. A string that holds a number is the same; any other string is sent as text, for the sink to judge.
/// * A number for a float node is the nearest float.
/// * A string for a node of bytes holds hexadecimal digits and is `Bytes`.
/// * A string that begins with `0x` and goes on with hexadecimal digits is `Raw`, except for a text node.
/// * `null` is `Null` for a leaf; for a group or list it is as if the member were missing.
///
/// # What is refused
/// Besides the grammar: a member twice in one object (RFC 8259 leaves it open; two values for one field are never right), an unknown
/// member (see [`Unknown`]), a value of the wrong kind. All of these in a document are found at once; a fault of grammar ends it.
///
/// # Leniency
/// * A byte order mark before the document is passed over: editors write it.
#[derive(Clone, Debug)]
pub struct JsonReader {
    members: Members,
    options: ReaderOptions,
    visits: Vec<Visit>,
    /// Counts object occurrences over the reader's life, so that each has its own number.
    clock: u64,
    scratch: Vec<u8>,
    steps: Vec<Step>,
    brackets: Vec<u8>,
    problems: Vec<Problem>,
    more: usize,
}

/// What is remembered of a node from one member to the next.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// The object occurrence in which the node was seen last.
    seen: u64,
    /// The member that is likely to come first in this group, and behind this member: learned, at first the shape's order.
    first: NodeId,
    next: NodeId,
}

/// Where in the document the reader is.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeId,
    index: Option<u32>,
}

#[derive(Debug, Clone)]
struct Problem {
    error: JsonError,
    at: usize,
    path: String,
}

/// The text cannot be read further; the problem is recorded.
#[derive(Debug)]
struct Stop;

/// No node has this id.
const NO_NODE: NodeId = NodeId(u32::MAX);

impl JsonReader {
    /// A reader of documents of `shape`.
    #[must_use]
    pub fn new(shape: &Shape, options: ReaderOptions) -> Self {
        let mut visits = vec![Visit { seen: 0, first: NO_NODE, next: NO_NODE }; shape.len()];
        for (group, _) in shape.iter() {
            let mut last = None;
            for child in shape.children(group) {
                match last {
                    None => visits[group.index()].first = child,
                    Some(NodeId(last)) => visits[last as usize].next = child,
                }
                last = Some(child);
            }
        }
        JsonReader {
            members: Members::new(shape),
            options,
            visits,
            clock: 0,
            scratch: Vec::new(),
            steps: Vec::new(),
            brackets: Vec::new(),
            problems: Vec::new(),
            more: 0,
        }
    }

    /// Reads the document `text` and sends it to `sink`.
    ///
    /// # Errors
    /// [`JsonFault`] with all that is wrong. The sink has then received a well-formed document from which parts are missing; the caller
    /// calls [`Sink::discard`].
    pub fn read<S: Sink>(&mut self, text: &[u8], sink: &mut S) -> Result<(), JsonFault> {
        self.steps.clear();
        self.brackets.clear();
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut pass = Pass { reader: self, text, at: start, depth: 0, sink };
        let _: Result<(), Stop> = pass.document();
        if self.problems.is_empty() { Ok(()) } else { Err(self.fault(text)) }
    }

    #[cold]
    fn fault(&mut self, text: &[u8]) -> JsonFault {
        let mut problems = core::mem::take(&mut self.problems);
        problems.sort_by_key(|problem| problem.at);
        let (mut at, mut line, mut column) = (0, 1, 1);
        let problems = problems.into_iter().map(|problem| {
            for byte in &text[at..problem.at] {
                match byte {
                    b'\n' => (line, column) = (line + 1, 1),
                    // The second and later bytes of a character.
                    0x80..=0xbf => {}
                    _ => column += 1,
                }
            }
            at = problem.at;
            JsonProblem { error: problem.error, byte: at, line, column, path: problem.path }
        });
        JsonFault { problems: problems.collect(), more: core::mem::take(&mut self.more) }
    }
}

/// One reading of one document.
struct Pass<'a, S> {
    reader: &'a mut JsonReader,
    text: &'a [u8],
    at: usize,
    depth: usize,
    sink: &'a mut S,
}

impl<S: Sink> Pass<'_, S> {
    fn document(&mut self) -> Result<(), Stop> {
        // The root is entered whatever follows, so that `discard` after a fault voids this document and not the one before.
        self.sink.enter(NodeId::ROOT);
        let read = match self.peek() {
            Some(b'{') => self.object(NodeId::ROOT),
            _ => self.wrong_kind("an object", None),
        };
        self.sink.leave(NodeId::ROOT);
        read?;
        match self.peek() {
            None => Ok(()),
            Some(byte) => self.stop(JsonError::Behind { found: describe(byte) }, self.at, None),
        }
    }

    /// The object that begins here: one occurrence of `group`.
    fn object(&mut self, group: NodeId) -> Result<(), Stop> {
        self.open()?;
        self.reader.clock += 1;
        let occurrence = self.reader.clock;
        if self.peek() == Some(b'}') {
            self.close();
            return Ok(());
        }
        let mut last = group;
        let mut guess = self.reader.visits[group.index()].first;
        loop {
            self.peek();
            let start = self.at;
            let member = match self.reader.members.matches(guess, &self.text[start..]) {
                Some(len) => {
                    self.at += len;
                    Some(guess)
                }
                None => self.named_member(group, last)?,
            };
            if let Some(child) = member {
                let visit = &mut self.reader.visits[child.index()];
                let seen = core::mem::replace(&mut visit.seen, occurrence);
                (guess, last) = (visit.next, child);
                if seen == occurrence {
                    self.problem(JsonError::Duplicate, start, Some(child));
                    self.skip_value()?;
                } else {
                    self.member(child)?;
                }
            } else {
                self.skip_value()?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.unexpected("`,` or `}`", None),
            }
        }
        self.close();
        Ok(())
    }

    /// A member whose name is not the expected one: reads name and colon and looks the name up.
    #[inline(never)]
    fn named_member(&mut self, group: NodeId, last: NodeId) -> Result<Option<NodeId>, Stop> {
        let start = self.at;
        let token = self.name()?;
        self.colon()?;
        let raw = &self.text[start + 1..token.end];
        let name = if token.form == Form::Escaped { self.reader.scratch.as_slice() } else { raw };
        let child = self.reader.members.child(group, name);
        if let Some(child) = child {
            let visits = &mut self.reader.visits;
            if last == group {
                visits[group.index()].first = child;
            } else {
                visits[last.index()].next = child;
            }
        } else if self.reader.options.unknown == Unknown::Error {
            // Suggestions cost a look at every name of the group, so a document full of strangers gets a few only.
            const SUGGESTIONS_MAX: usize = 20;
            let few = self.reader.problems.len() < SUGGESTIONS_MAX;
            let nearest = if few { self.reader.members.nearest(group, name) } else { None };
            let name = shown(name);
            self.problem_named(JsonError::Unknown { nearest }, start, &name);
        }
        Ok(child)
    }

    /// The value of the member `child`.
    #[inline(always)]
    fn member(&mut self, child: NodeId) -> Result<(), Stop> {
        let member = self.reader.members.node(child);
        if !member.list && member.kind != Kind::Group {
            return self.leaf(child, member.kind);
        }
        self.branch(child, member)
    }

    fn branch(&mut self, child: NodeId, member: Member) -> Result<(), Stop> {
        match self.peek() {
            Some(b'n') => self.literal(b"null", Some(child)),
            Some(b'[') if member.list => {
                self.reader.steps.push(Step { node: child, index: Some(0) });
                self.sink.open_list(child);
                let read = self.list(child, member.kind);
                self.sink.close_list(child);
                self.reader.steps.pop();
                read
            }
            _ if member.list => self.wrong_kind("an array", Some(child)),
            _ => {
                self.reader.steps.push(Step { node: child, index: None });
                let read = self.group(child);
                self.reader.steps.pop();
                read
            }
        }
    }

    /// One occurrence of a group.
    fn group(&mut self, group: NodeId) -> Result<(), Stop> {
        if self.peek() != Some(b'{') {
            return self.wrong_kind("an object", None);
        }
        self.sink.enter(group);
        let read = self.object(group);
        self.sink.leave(group);
        read
    }

    /// The array that begins here: the occurrences of `node`.
    fn list(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        self.open()?;
        if self.peek() == Some(b']') {
            self.close();
            return Ok(());
        }
        loop {
            if kind == Kind::Group {
                self.group(node)?;
            } else {
                self.leaf(node, kind)?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.unexpected("`,` or `]`", None),
            }
            if let Some(Step { index: Some(index), .. }) = self.reader.steps.last_mut() {
                *index += 1;
            }
        }
        self.close();
        Ok(())
    }

    /// The value of a leaf.
    #[inline(always)]
    fn leaf(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
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
            self.sink.value(node, Value::Ascii(Run::new(&self.text[start..], token.end - start)));
            return Ok(());
        }
        self.other_string(node, kind, token)
    }

    /// A string with escapes, beyond ASCII, or for a leaf that is not text.
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
        self.sink.value(node, value);
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        let start = self.at;
        let number = match token::number(self.text, start) {
            Ok(number) => number,
            Err(lexical) => return self.lexical(lexical, Some(node)),
        };
        self.at = number.end;
        if kind == Kind::Decimal {
            match number.digits(self.text, &mut self.reader.scratch) {
                Ok(digits) => self.sink.value(node, Value::Digits(digits)),
                Err(error) => self.problem(error, start, Some(node)),
            }
            return Ok(());
        }
        match number_value(kind, &number, self.text, &mut self.reader.scratch) {
            Ok(value) => self.sink.value(node, value),
            Err(error) => self.problem(error, start, Some(node)),
        }
        Ok(())
    }

    /// A literal name where a leaf's value is expected, or something that does not belong there.
    #[inline(never)]
    fn word(&mut self, node: NodeId, kind: Kind) -> Result<(), Stop> {
        let value = match self.peek() {
            Some(b'n') => {
                self.literal(b"null", Some(node))?;
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

    /// Whatever value stands here is passed over and, if it is one, is a problem. `leaf` is set where the node is not yet a step.
    #[cold]
    fn wrong_kind(&mut self, expected: &'static str, leaf: Option<NodeId>) -> Result<(), Stop> {
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

    /// Passes over a value of any kind, which is held to the grammar.
    fn skip_value(&mut self) -> Result<(), Stop> {
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

    /// Behind a value that is passed over: goes to the next one inside the outermost, or tells that there is none.
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
                // In ASCII each closing bracket stands two behind its opening one.
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

    /// The name of a member; with escapes, its characters are in the scratch.
    fn name(&mut self) -> Result<StringToken, Stop> {
        match self.peek() {
            Some(b'"') => self.string_token(),
            _ => self.unexpected("a member name in quotes", None),
        }
    }

    /// The string that begins here; with escapes, its characters are in the scratch.
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

    fn colon(&mut self) -> Result<(), Stop> {
        if self.peek() != Some(b':') {
            return self.unexpected("`:`", None);
        }
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, word: &'static [u8], leaf: Option<NodeId>) -> Result<(), Stop> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let same = word.iter().zip(&self.text[self.at..]).take_while(|(letter, byte)| letter == byte);
        self.at += same.count();
        self.unexpected("true, false or null", leaf)
    }

    /// Passes over white space; the byte behind it.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes an opening bracket.
    #[inline(always)]
    fn open(&mut self) -> Result<(), Stop> {
        let limit = self.reader.options.limits.depth_max;
        if self.depth == limit {
            return self.stop(JsonError::Depth { limit }, self.at, None);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Passes a closing bracket.
    #[inline(always)]
    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    #[cold]
    fn unexpected<T>(&mut self, expected: &'static str, leaf: Option<NodeId>) -> Result<T, Stop> {
        let error = match self.peek() {
            None => JsonError::End { expected },
            Some(byte) => JsonError::Unexpected { expected, found: describe(byte) },
        };
        self.stop(error, self.at, leaf)
    }

    #[cold]
    fn lexical<T>(&mut self, lexical: Lexical, leaf: Option<NodeId>) -> Result<T, Stop> {
        self.stop(lexical.error, lexical.at, leaf)
    }

    #[cold]
    fn stop<T>(&mut self, error: JsonError, at: usize, leaf: Option<NodeId>) -> Result<T, Stop> {
        self.problem(error, at, leaf);
        Err(Stop)
    }

    #[cold]
    fn problem(&mut self, error: JsonError, at: usize, leaf: Option<NodeId>) {
        if let Some(leaf) = leaf {
            let name = self.reader.members.name(leaf).to_owned();
            // In a list the leaf is the last step already.
            if self.reader.steps.last().is_none_or(|step| step.node != leaf) {
                return self.problem_named(error, at, &name);
            }
        }
        let path = self.path();
        self.push(Problem { error, at, path });
    }

    #[cold]
    fn problem_named(&mut self, error: JsonError, at: usize, name: &str) {
        let path = format!("{}.{name}", self.path());
        self.push(Problem { error, at, path });
    }

    fn push(&mut self, problem: Problem) {
        if self.reader.problems.len() < self.reader.options.limits.findings_max.max(1) {
            self.reader.problems.push(problem);
        } else {
            self.reader.more += 1;
        }
    }

    fn path(&self) -> String {
        let mut path = String::from("$");
        for step in &self.reader.steps {
            path.push('.');
            path.push_str(self.reader.members.name(step.node));
            if let Some(index) = step.index {
                path.push_str(&format!("[{index}]"));
            }
        }
        path
    }
}

/// A number as the node's kind takes it.
fn number_value<'a>(
    kind: Kind,
    number: &token::Number,
    text: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<Value<'a>, JsonError> {
    let digits = &text[number.start..number.end];
    let parsed = core::str::from_utf8(digits).expect("a number of the JSON grammar is ASCII");
    match kind {
        Kind::Decimal => number.digits(text, scratch).map(Value::Digits),
        Kind::Float32 => match parsed.parse::<f32>() {
            Ok(float) if float.is_finite() => Ok(Value::Float32(float)),
            _ => Err(JsonError::Float),
        },
        Kind::Float64 => match parsed.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Value::Float64(float)),
            _ => Err(JsonError::Float),
        },
        _ => Err(JsonError::Kind { expected: expected(kind), found: "a number" }),
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Group => "an object",
        Kind::Text => "a string",
        Kind::Decimal | Kind::Float32 | Kind::Float64 => "a number",
        Kind::Bool => "true or false",
        Kind::Bytes => "a string of hexadecimal digits",
    }
}

/// Puts the bytes that pairs of hexadecimal digits stand for into `out`; false where `text` is not such pairs.
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

/// A name from the document as a message shows it: bounded, without control characters.
fn shown(name: &[u8]) -> String {
    const CHARS_MAX: usize = 64;
    let name = core::str::from_utf8(name).unwrap_or_default();
    let mut shown: String = name.chars().take(CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect();
    if name.chars().nth(CHARS_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}
