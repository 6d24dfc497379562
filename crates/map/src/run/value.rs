//! Values while a map runs: small copies whose bytes stand in one arena.

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
    /// Kept occurrences: first frame, last frame, how many.
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

/// No frame.
pub(crate) const NONE: u32 = u32::MAX;

impl Val {
    pub(crate) fn int(n: i64) -> Val {
        Val::Num(n.into(), 0)
    }

    pub(crate) fn is_absent(self) -> bool {
        matches!(self, Val::Absent)
    }
}

/// The bytes of all values of a run: constants, then what frames hold, then scratch of the statement.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) bytes: Vec<u8>,
    /// A value did not fit any more.
    pub(crate) full: bool,
}

/// Bytes that one document may keep: 1 GiB, far from what 32-bit positions reach.
const ARENA_MAX: usize = 1 << 30;

impl Arena {
    #[inline(always)]
    pub(crate) fn get(&self, bytes: Bytes) -> &[u8] {
        &self.bytes[bytes.start as usize..bytes.start as usize + bytes.len as usize]
    }

    #[inline(always)]
    pub(crate) fn run(&self, bytes: Bytes) -> Run<'_> {
        Run::new(&self.bytes[bytes.start as usize..], bytes.len as usize)
    }

    #[inline(always)]
    pub(crate) fn mark(&self) -> usize {
        self.bytes.len()
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, mark: usize) {
        self.bytes.truncate(mark);
    }

    /// From a mark to the end.
    #[inline(always)]
    pub(crate) fn since(&mut self, mark: usize) -> Bytes {
        if self.bytes.len() > ARENA_MAX {
            self.full = true;
            self.bytes.truncate(mark);
        }
        Bytes { start: small(mark), len: small(self.bytes.len() - mark) }
    }

    #[inline(always)]
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Bytes {
        let mark = self.mark();
        self.bytes.extend_from_slice(bytes);
        self.since(mark)
    }

    #[inline(always)]
    pub(crate) fn keep_run(&mut self, run: Run<'_>) -> Bytes {
        let mark = self.mark();
        let (len, tail) = (run.len(), run.tail());
        if len <= 16 && tail.len() >= 16 {
            // One block copy instead of a call for a few bytes.
            let block: &[u8; 16] = tail[..16].try_into().expect("sixteen bytes");
            self.bytes.extend_from_slice(block);
            self.bytes.truncate(mark + len);
        } else {
            self.bytes.extend_from_slice(run.bytes());
        }
        self.since(mark)
    }

    /// A copy of a piece of the arena at its end.
    pub(crate) fn again(&mut self, bytes: Bytes) -> Bytes {
        let mark = self.mark();
        self.bytes.extend_from_within(bytes.start as usize..bytes.start as usize + bytes.len as usize);
        self.since(mark)
    }

    /// What a source sent, kept.
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

    /// As it passes through the seam; dates and the like have no such form.
    #[inline(always)]
    pub(crate) fn value(&self, val: Val) -> Value<'_> {
        match val {
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

    /// A number as exact text at the end of the arena.
    pub(crate) fn number_text(&mut self, val: Val) -> Option<Bytes> {
        let mark = self.mark();
        match val {
            Val::Digits { bytes, negative, scale } => {
                // The digits stand in the same arena: they are copied out before it grows.
                let mut digits = [0u8; 80];
                let source = self.get(bytes);
                let len = source.len().min(digits.len());
                digits[..len].copy_from_slice(&source[source.len() - len..]);
                let digits = Digits { digits: Run::new(&digits, len), negative, scale };
                write_number(&mut self.bytes, Value::Digits(digits))?;
            }
            Val::Num(n, scale) => write_number(&mut self.bytes, Value::Decimal(Decimal { unscaled: n, scale }))?,
            Val::Float32(x) => write_number(&mut self.bytes, Value::Float32(x))?,
            Val::Float64(x) => write_number(&mut self.bytes, Value::Float64(x))?,
            _ => return None,
        }
        Some(self.since(mark))
    }
}

/// Positions of the arena stay below its bound.
#[inline(always)]
pub(crate) fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
