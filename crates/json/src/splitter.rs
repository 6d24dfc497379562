//! Start and end of documents in a stream.

use core::ops::Range;

use quayline_charset::scan::mask_eq;
use quayline_core::{Finding, Limits, Place};

use crate::fault::{JsonError, describe};

/// Finds the documents in a stream of JSON text.
///
/// A stream whose first byte is `[` is one array of documents; any other is a sequence of documents with or without white space
/// (line feeds, as in JSON lines) between them. The splitter holds no text and looks at each byte once. Its state is a few words,
/// and the caller keeps only the document that is not complete yet, which [`Limits::record_bytes_max`] bounds.
///
/// It finds only brackets and strings; [`crate::JsonReader`] decides whether a document is valid. An invalid one ends as follows:
/// * a text that does not begin with a bracket ends before the next line feed, in an array before the next `,`, `]` or white space;
/// * the last document of a stream that ends inside it is the rest of the stream.
///
/// # Leniency
/// * A byte order mark at the start of the stream is passed over: editors write it.
#[derive(Clone, Debug)]
pub struct JsonSplitter {
    place: InStream,
    value: Option<InValue>,
    limit: usize,
}

/// Whether the input is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndOfInput {
    /// More may follow.
    No,
    /// The source ends after the input.
    Yes,
}

/// Result of one call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Split {
    /// A document.
    Document {
        /// Range of the document in the input.
        at: Range<usize>,
        /// Bytes of the input that are done with.
        consumed: usize,
    },
    /// The input ends before the document does: call again with the bytes after `consumed` and more.
    NeedMore {
        /// Bytes of the input that are done with.
        consumed: usize,
    },
    /// The source has ended and all documents were found.
    Done {
        /// Bytes of the input that are done with.
        consumed: usize,
    },
}

/// The stream cannot be split further.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct SplitFault {
    /// The error.
    pub error: JsonError,
    /// Byte in the input of the call, from 0.
    pub at: usize,
}

impl SplitFault {
    /// Returns the finding at `place`, whose byte the caller sets to the input's place in the stream plus [`SplitFault::at`].
    #[must_use]
    pub fn finding(&self, place: Place) -> Finding {
        self.error.finding(place)
    }
}

/// Between documents.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum InStream {
    /// At the first byte of the stream.
    Start,
    /// Before the first byte that is not white space.
    Before,
    /// Between the documents of a sequence.
    Sequence,
    /// After `[`.
    First,
    /// After a document in an array.
    Behind,
    /// After `,` in an array.
    Comma,
    /// After `]`.
    End,
}

const PLACES: [InStream; 7] = [
    InStream::Start,
    InStream::Before,
    InStream::Sequence,
    InStream::First,
    InStream::Behind,
    InStream::Comma,
    InStream::End,
];

/// Inside a document that starts at the first byte of the input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct InValue {
    /// Number of bytes scanned.
    scanned: usize,
    /// Open brackets; 0 in a text that does not begin with one.
    depth: usize,
    string: bool,
    /// True after a backslash.
    escaped: bool,
}

impl JsonSplitter {
    /// Starts at the beginning of a stream.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        JsonSplitter::resume(limits, 0)
    }

    /// Resumes after a document, with the number that [`JsonSplitter::state`] returned there.
    #[must_use]
    pub fn resume(limits: &Limits, state: u64) -> Self {
        let place = usize::try_from(state).ok().and_then(|state| PLACES.get(state)).copied();
        JsonSplitter { place: place.unwrap_or(InStream::Start), value: None, limit: limits.record_bytes_max }
    }

    /// Returns the state for a checkpoint after a document: a small number.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.place as u64
    }

    /// Returns whether the stream is one array, which is known after its first byte.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.place >= InStream::First
    }

    /// Finds the next document of `input`, which begins with the first byte that was not consumed.
    ///
    /// # Errors
    /// [`SplitFault`] if an array is broken between documents or a document is longer than the limit. The state is unchanged: the
    /// next call with the same bytes returns the fault again.
    pub fn split(&mut self, input: &[u8], end: EndOfInput) -> Result<Split, SplitFault> {
        let mut next = self.clone();
        let split = next.step(input, end)?;
        *self = next;
        Ok(split)
    }

    fn step(&mut self, input: &[u8], end: EndOfInput) -> Result<Split, SplitFault> {
        let start = if self.value.is_some() { 0 } else { self.between(input, end)? };
        let Some(value) = &mut self.value else {
            return Ok(match end {
                EndOfInput::Yes => Split::Done { consumed: start },
                EndOfInput::No => Split::NeedMore { consumed: start },
            });
        };
        let text = &input[start..];
        let found = if value.depth > 0 { value.nested(text) } else { value.plain(text, self.place) };
        let too_long = SplitFault { error: JsonError::TooLong { limit: self.limit }, at: start + self.limit };
        let len = match (found, end) {
            (Some(len), _) => len,
            (None, EndOfInput::Yes) => text.len(),
            (None, EndOfInput::No) if text.len() > self.limit => return Err(too_long),
            (None, EndOfInput::No) => return Ok(Split::NeedMore { consumed: start }),
        };
        if len > self.limit {
            return Err(too_long);
        }
        self.value = None;
        if self.place != InStream::Sequence {
            self.place = InStream::Behind;
        }
        Ok(Split::Document { at: start..start + len, consumed: start + len })
    }

    /// Moves from after a document to the next one. Returns the byte where it begins, or where the input or the stream ends.
    fn between(&mut self, input: &[u8], end: EndOfInput) -> Result<usize, SplitFault> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let mut at = 0;
        if self.place == InStream::Start {
            if input.len() < MARK.len() && MARK.starts_with(input) && end == EndOfInput::No {
                return Ok(0);
            }
            self.place = InStream::Before;
            at = if input.starts_with(MARK) { MARK.len() } else { 0 };
        }
        while let Some(byte) = input.get(at).copied() {
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                at += 1;
                continue;
            }
            let wrong = |expected| SplitFault { error: JsonError::Array { expected, found: describe(byte) }, at };
            self.place = match (self.place, byte) {
                (InStream::Start | InStream::Before, b'[') => InStream::First,
                (InStream::First | InStream::Behind, b']') => InStream::End,
                (InStream::Behind, b',') => InStream::Comma,
                (InStream::Behind, _) => return Err(wrong("`,` or `]`")),
                (InStream::First, b',') => return Err(wrong("a document or `]`")),
                (InStream::Comma, b',' | b']') => return Err(wrong("a document")),
                (InStream::End, _) => {
                    return Err(SplitFault { error: JsonError::BehindArray { found: describe(byte) }, at });
                }
                (place, _) => {
                    let bracket = usize::from(matches!(byte, b'{' | b'['));
                    let string = bracket == 0 && byte == b'"';
                    self.value = Some(InValue { scanned: 1, depth: bracket, string, escaped: false });
                    if place == InStream::Before {
                        self.place = InStream::Sequence;
                    }
                    return Ok(at);
                }
            };
            at += 1;
        }
        if end == EndOfInput::Yes && matches!(self.place, InStream::First | InStream::Behind | InStream::Comma) {
            return Err(SplitFault { error: JsonError::OpenArray, at });
        }
        Ok(at)
    }
}

impl InValue {
    /// Returns the length of the value once its outermost bracket is closed.
    ///
    /// Examines 64 bytes at a time. The parity of the quotation marks before a byte shows whether it is inside a string. Brackets outside
    /// strings are counted with population counts, unless the block has enough closing brackets to end the value.
    fn nested(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = self.scanned;
        while let Some(block) = text[at..].first_chunk::<64>() {
            let masks = Masks::of(block);
            if masks.backslashes != 0 || self.escaped {
                if let Some(len) = self.bytes(block, at) {
                    return Some(len);
                }
            } else {
                let inside = parity(masks.quotes) ^ if self.string { u64::MAX } else { 0 };
                let (opens, closes) = (masks.opens & !inside, masks.closes & !inside);
                if (closes.count_ones() as usize) < self.depth {
                    self.depth = self.depth + opens.count_ones() as usize - closes.count_ones() as usize;
                } else {
                    let mut brackets = opens | closes;
                    while brackets != 0 {
                        let bit = brackets.trailing_zeros();
                        if opens >> bit & 1 == 1 {
                            self.depth += 1;
                        } else if self.depth == 1 {
                            return Some(at + bit as usize + 1);
                        } else {
                            self.depth -= 1;
                        }
                        brackets &= brackets - 1;
                    }
                }
                self.string = inside >> 63 == 1;
            }
            at += block.len();
        }
        let found = self.bytes(&text[at..], at);
        self.scanned = text.len();
        found
    }

    /// Does the same byte by byte; `at` is the start of `bytes`.
    fn bytes(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        for (i, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'"' => self.string = !self.string,
                b'\\' if self.string => self.escaped = true,
                _ if self.string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 1 => return Some(at + i + 1),
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Returns the length of a value that is not an object or array.
    fn plain(&mut self, text: &[u8], place: InStream) -> Option<usize> {
        let mut at = self.scanned;
        if place == InStream::Sequence {
            let end = memchr::memchr(b'\n', &text[at..]);
            self.scanned = text.len();
            return end.map(|end| at + end);
        }
        loop {
            if self.string && !self.pass_string(text, &mut at) {
                return None;
            }
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b'"');
            let Some(next) = text[at..].iter().position(ends) else {
                self.scanned = text.len();
                return None;
            };
            at += next;
            if text[at] != b'"' {
                return Some(at);
            }
            self.string = true;
            at += 1;
        }
    }

    /// Moves after the quote that closes the string at `at`. Returns false if the text ends before it.
    fn pass_string(&mut self, text: &[u8], at: &mut usize) -> bool {
        while let Some(next) = memchr::memchr2(b'"', b'\\', &text[*at..]) {
            let stop = *at + next;
            if text[stop] == b'"' {
                *at = stop + 1;
                self.string = false;
                return true;
            }
            if stop + 1 == text.len() {
                // The byte after the backslash has not arrived; both are examined again.
                self.scanned = stop;
                return false;
            }
            *at = stop + 2;
        }
        self.scanned = text.len();
        false
    }
}

/// The bytes of a block of 64 that may be structure of a document; the first byte's bit is the lowest.
struct Masks {
    quotes: u64,
    backslashes: u64,
    /// `{` and `[`.
    opens: u64,
    /// `}` and `]`.
    closes: u64,
}

impl Masks {
    #[inline(always)]
    fn of(block: &[u8; 64]) -> Self {
        let mut masks = Masks { quotes: 0, backslashes: 0, opens: 0, closes: 0 };
        let (blocks, _) = block.as_chunks::<16>();
        for (i, bytes) in blocks.iter().enumerate() {
            // The brackets of one side differ in this bit only.
            let folded = bytes.map(|byte| byte | 0x20);
            let at = |mask: u16| u64::from(mask) << (16 * i);
            masks.quotes |= at(mask_eq(bytes, b'"'));
            masks.backslashes |= at(mask_eq(bytes, b'\\'));
            masks.opens |= at(mask_eq(&folded, b'{'));
            masks.closes |= at(mask_eq(&folded, b'}'));
        }
        masks
    }
}

/// Computes the prefix parity: bit `i` of the result is the parity of the bits `0..=i`.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
