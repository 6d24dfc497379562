//! Values of a running map: small copies whose bytes are in one arena.

use quayline_core::{Decimal, Digits, Run, Value, write_number};

/// Bytes in the arena.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Bytes {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Val {
    Absent,
    Text(Bytes),
    Ascii(Bytes),
    Digits {
        bytes: Bytes,
        negative: bool,
        scale: i16,
    },
    Num(i128, i16),
    Float32(f32),
    Float64(f64),
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970-01-01.
    DateTime(i64),
    Bytes(Bytes),
    Raw(Bytes),
    /// A frame, by its first slot.
    Frame(u32),
    /// Kept occurrences: first frame, last frame, count.
    List {
        first: u32,
        last: u32,
        count: u32,
    },
    /// Slot 0 of an occurrence: the next frame or `NONE`, and its number from 0.
    Link {
        next: u32,
        index: u32,
    },
}

/// Value that stands for no frame.
pub(crate) const NONE: u32 = u32::MAX;

impl Val {
    pub(crate) fn int(n: i64) -> Val {
        Val::Num(n.into(), 0)
    }

    pub(crate) fn is_absent(self) -> bool {
        matches!(self, Val::Absent)
    }
}

/// Bytes of all values of a run: constants, then values of frames, then scratch of the statement.
///
/// The buffer always has room for a block after the last byte, so that short values are copied as one block, here and in sinks.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// Initialized to its full length; only `..len` is in use.
    buffer: Vec<u8>,
    len: usize,
    /// A value did not fit any more.
    pub(crate) full: bool,
    scratch: Vec<u8>,
}

/// Maximum number of bytes that one document may keep: 1 GiB, well below the range of 32-bit positions.
pub(crate) const ARENA_MAX: usize = 1 << 30;

/// Number of bytes in the copy of a short value.
const BLOCK: usize = 16;

impl Arena {
    #[inline(always)]
    pub(crate) fn get(&self, bytes: Bytes) -> &[u8] {
        &self.buffer[bytes.start as usize..bytes.start as usize + bytes.len as usize]
    }

    pub(crate) fn get_mut(&mut self, bytes: Bytes) -> &mut [u8] {
        &mut self.buffer[bytes.start as usize..bytes.start as usize + bytes.len as usize]
    }

    #[inline(always)]
    pub(crate) fn run(&self, bytes: Bytes) -> Run<'_> {
        Run::new(&self.buffer[bytes.start as usize..], bytes.len as usize)
    }

    #[inline(always)]
    pub(crate) fn mark(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, mark: usize) {
        self.len = self.len.min(mark);
    }

    /// Returns the bytes from a mark to the end.
    #[inline(always)]
    pub(crate) fn since(&mut self, mark: usize) -> Bytes {
        if self.len > ARENA_MAX {
            self.full = true;
            self.len = mark;
        }
        Bytes { start: small(mark), len: small(self.len - mark) }
    }

    /// Makes room for `need` bytes and a block after the last byte.
    #[inline(always)]
    fn room(&mut self, need: usize) -> &mut [u8] {
        if self.buffer.len() < self.len + need + BLOCK {
            self.grow(need);
        }
        &mut self.buffer[self.len..]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, need: usize) {
        let least = self.len + need + BLOCK;
        self.buffer.resize(least.max(self.buffer.len() * 2).max(4096), 0);
    }

    #[inline(always)]
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Bytes {
        let mark = self.mark();
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self.since(mark)
    }

    #[inline(always)]
    pub(crate) fn keep_run(&mut self, run: Run<'_>) -> Bytes {
        let (mark, len) = (self.mark(), run.len());
        let room = self.room(len);
        match run.tail().first_chunk::<BLOCK>() {
            // Copying a whole block is faster than a call for a few bytes.
            Some(block) if len <= BLOCK => room[..BLOCK].copy_from_slice(block),
            _ => room[..len].copy_from_slice(run.bytes()),
        }
        self.len += len;
        self.since(mark)
    }

    /// Copies a piece of the arena to its end.
    #[inline(always)]
    pub(crate) fn again(&mut self, bytes: Bytes) -> Bytes {
        let (mark, len) = (self.mark(), bytes.len as usize);
        let start = bytes.start as usize;
        self.room(len);
        if len <= BLOCK
            && let Some(block) = self.buffer[start..].first_chunk::<BLOCK>().copied()
        {
            self.buffer[mark..mark + BLOCK].copy_from_slice(&block);
        } else {
            self.buffer.copy_within(start..start + len, mark);
        }
        self.len += len;
        self.since(mark)
    }

    /// Appends the bytes that `write` writes.
    pub(crate) fn written<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> (Bytes, T) {
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.clear();
        let done = write(&mut scratch);
        let bytes = self.keep(&scratch);
        self.scratch = scratch;
        (bytes, done)
    }

    /// Stores a value of the source.
    #[inline(always)]
    pub(crate) fn store(&mut self, value: Value<'_>) -> Val {
        match value {
            Value::Null => Val::Absent,
            Value::Text(run) => Val::Text(self.keep_run(run)),
            Value::Ascii(run) => Val::Ascii(self.keep_run(run)),
            Value::Digits(d) => Val::Digits { bytes: self.keep_run(d.digits), negative: d.negative, scale: d.scale },
            Value::Int(n, scale) => Val::Num(n.into(), scale),
            Value::Decimal(d) => Val::Num(d.unscaled, d.scale),
            Value::Float32(x) => Val::Float32(x),
            Value::Float64(x) => Val::Float64(x),
            Value::Bool(x) => Val::Bool(x),
            Value::Bytes(bytes) => Val::Bytes(self.keep(bytes)),
            Value::Raw(bytes) => Val::Raw(self.keep(bytes)),
        }
    }

    /// Returns the value in the form of the sink interface. Dates and times have no such form.
    #[inline(always)]
    pub(crate) fn value(&self, val: &Val) -> Value<'_> {
        match *val {
            Val::Text(bytes) => Value::Text(self.run(bytes)),
            Val::Ascii(bytes) => Value::Ascii(self.run(bytes)),
            Val::Digits { bytes, negative, scale } => {
                Value::Digits(Digits { digits: self.run(bytes), negative, scale })
            }
            Val::Num(n, scale) => match i64::try_from(n) {
                Ok(n) => Value::Int(n, scale),
                Err(_) => Value::Decimal(Decimal { unscaled: n, scale }),
            },
            Val::Float32(x) => Value::Float32(x),
            Val::Float64(x) => Value::Float64(x),
            Val::Bool(x) => Value::Bool(x),
            Val::Bytes(bytes) => Value::Bytes(self.get(bytes)),
            Val::Raw(bytes) => Value::Raw(self.get(bytes)),
            _ => Value::Null,
        }
    }

    /// Writes a number as exact text at the end of the arena.
    pub(crate) fn number_text(&mut self, val: Val) -> Option<Bytes> {
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.clear();
        let value = match val {
            Val::Num(n, scale) => Value::Decimal(Decimal { unscaled: n, scale }),
            Val::Digits { .. } | Val::Float32(_) | Val::Float64(_) => self.value(&val),
            _ => Value::Null,
        };
        let done = write_number(&mut scratch, value);
        let bytes = done.map(|()| self.keep(&scratch));
        self.scratch = scratch;
        bytes
    }
}

/// Positions of the arena stay below its bound.
#[inline(always)]
pub(crate) fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
