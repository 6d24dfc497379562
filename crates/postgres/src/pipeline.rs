//! Statements that travel together.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

/// A statement by its text. Equal texts are the same statement, and each connection parses it once.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) id: u32,
    pub(crate) text: Arc<str>,
}

static KNOWN: OnceLock<Mutex<HashMap<Arc<str>, u32>>> = OnceLock::new();

impl Statement {
    /// Returns the statement with this text.
    #[must_use]
    pub fn new(text: &str) -> Statement {
        let mut known = KNOWN.get_or_init(Mutex::default).lock();
        if let Some((text, id)) = known.get_key_value(text) {
            return Statement { id: *id, text: Arc::clone(text) };
        }
        let (id, text) = (u32::try_from(known.len()).unwrap_or(u32::MAX), Arc::<str>::from(text));
        known.insert(Arc::clone(&text), id);
        Statement { id, text }
    }

    /// Returns the text of the statement.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Param<'p> {
    /// The null value.
    Null,
    /// A value in the binary form of its type: big-endian integers, the bytes of `bytea` and `text`.
    Binary(&'p [u8]),
    /// A value in text form, which the server parses like a literal.
    Text(&'p [u8]),
}

/// Form of the rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// The text form of their types.
    Text,
    /// The binary form of their types.
    Binary,
}

/// A statement whose answer is expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) tag: u32,
    /// The statement that it binds; `None` if it takes further rows of a portal.
    pub(crate) binds: Option<u32>,
}

/// Statements with their parameters, encoded.
#[derive(Debug, Default)]
pub struct Pipeline {
    pub(crate) out: Vec<u8>,
    pub(crate) sent: Vec<Sent>,
    /// Statements that occur, once each.
    pub(crate) uses: Vec<Statement>,
    last: Option<u32>,
}

impl Pipeline {
    /// Returns true if nothing waits to be sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Bytes that wait to be sent.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.out.len()
    }

    /// Bytes of memory.
    pub(crate) fn capacity(&self) -> usize {
        self.out.capacity()
    }

    /// Drops the messages that were not sent.
    pub fn clear(&mut self) {
        self.out.clear();
        self.sent.clear();
        self.uses.clear();
        self.last = None;
    }

    /// Adds a statement. `tag` comes back with the error if it fails.
    pub fn add(&mut self, statement: &Statement, params: &[Param<'_>], rows: Format, tag: u32) {
        self.used(statement);
        bind(&mut self.out, "", statement.id, params, rows);
        message(&mut self.out, b'E', |out| out.extend_from_slice(&[0; 5]));
        self.sent.push(Sent { tag, binds: Some(statement.id) });
    }

    /// Adds a statement that changes rows, with its values in binary form.
    pub fn change(&mut self, statement: &Statement, params: &[&[u8]], tag: u32) {
        self.used(statement);
        let begin = self.out.len();
        self.out.extend_from_slice(&[b'B', 0, 0, 0, 0, 0]);
        name_of(&mut self.out, statement.id);
        self.out.extend_from_slice(&[0, 0, 1, 0, 1]);
        self.out.extend_from_slice(&count16(params.len()));
        for param in params {
            self.out.extend_from_slice(&length32(param.len()));
            self.out.extend_from_slice(param);
        }
        self.out.extend_from_slice(&[0, 0]);
        close(&mut self.out, begin);
        self.out.extend_from_slice(&[b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0]);
        self.sent.push(Sent { tag, binds: Some(statement.id) });
    }

    /// Opens a portal for a query and describes its columns. It lives until its transaction ends.
    pub(crate) fn open_portal(&mut self, portal: &str, statement: &Statement, params: &[Param<'_>], rows: Format) {
        self.used(statement);
        bind(&mut self.out, portal, statement.id, params, rows);
        message(&mut self.out, b'D', |out| {
            out.push(b'P');
            out.extend_from_slice(portal.as_bytes());
            out.push(0);
        });
        self.sent.push(Sent { tag: 0, binds: Some(statement.id) });
    }

    /// Takes the next rows of a portal.
    pub(crate) fn fetch(&mut self, portal: &str, rows: u32) {
        message(&mut self.out, b'E', |out| {
            out.extend_from_slice(portal.as_bytes());
            out.push(0);
            out.extend_from_slice(&rows.to_be_bytes());
        });
        self.sent.push(Sent { tag: 0, binds: None });
    }

    fn used(&mut self, statement: &Statement) {
        if self.last != Some(statement.id) {
            self.last = Some(statement.id);
            if !self.uses.iter().any(|used| used.id == statement.id) {
                self.uses.push(statement.clone());
            }
        }
    }
}

fn bind(out: &mut Vec<u8>, portal: &str, id: u32, params: &[Param<'_>], rows: Format) {
    message(out, b'B', |out| {
        out.extend_from_slice(portal.as_bytes());
        out.push(0);
        name_of(out, id);
        out.push(0);
        out.extend_from_slice(&count16(params.len()));
        for param in params {
            out.extend_from_slice(&[0, u8::from(matches!(param, Param::Binary(_)))]);
        }
        out.extend_from_slice(&count16(params.len()));
        for param in params {
            match param {
                Param::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Param::Binary(bytes) | Param::Text(bytes) => {
                    out.extend_from_slice(&length32(bytes.len()));
                    out.extend_from_slice(bytes);
                }
            }
        }
        out.extend_from_slice(&[0, 1, 0, u8::from(rows == Format::Binary)]);
    });
}

/// Appends a message: its kind, its length, its body.
pub(crate) fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    body(out);
    close(out, begin);
}

/// Writes the length of the message that begins here.
fn close(out: &mut [u8], begin: usize) {
    let length = length32(out.len() - begin - 1);
    if let Some(place) = out.get_mut(begin + 1..begin + 5) {
        place.copy_from_slice(&length);
    }
}

/// Appends the name of a prepared statement.
pub(crate) fn name_of(out: &mut Vec<u8>, id: u32) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'q');
    let mut started = false;
    for shift in (0..8).rev() {
        let digit = (id >> (4 * shift)) & 0xf;
        if digit != 0 || started || shift == 0 {
            started = true;
            out.push(DIGITS[digit as usize]);
        }
    }
}

fn count16(count: usize) -> [u8; 2] {
    u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes()
}

fn length32(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

impl Pipeline {
    /// Moves the messages of another pipeline to the end of this one.
    pub fn append(&mut self, other: &mut Pipeline) {
        self.out.append(&mut other.out);
        self.sent.append(&mut other.sent);
        for statement in other.uses.drain(..) {
            self.used(&statement);
        }
        other.clear();
    }
}
