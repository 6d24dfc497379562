//! Borrowed scalar values, which sources send to sinks.

/// A run of bytes inside a longer buffer.
///
/// A sink that copies short runs prefers to move whole 16-byte blocks and keep only `len` bytes of them; a plain slice cannot be
/// read past its end. A `Run` also has the bytes after it in the source's buffer, so the copy stays safe code:
/// `tail()[..16]` exists whenever the source has that much space after the run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    tail: &'a [u8],
    len: usize,
}

impl<'a> Run<'a> {
    /// Creates the run of the first `len` bytes of `tail`; a longer `len` is cut to the length of `tail`.
    #[inline(always)]
    #[must_use]
    pub fn new(tail: &'a [u8], len: usize) -> Self {
        debug_assert!(len <= tail.len());
        Run { tail, len: len.min(tail.len()) }
    }

    /// Returns the bytes of the run.
    #[inline(always)]
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        &self.tail[..self.len]
    }

    /// Returns the run and the bytes after it in the same buffer.
    #[inline(always)]
    #[must_use]
    pub fn tail(self) -> &'a [u8] {
        self.tail
    }

    /// Returns the length in bytes.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns whether all bytes are printable ASCII, as [`Value::Ascii`] promises.
    #[must_use]
    pub fn is_printable(self) -> bool {
        self.bytes().iter().all(|byte| (0x20..0x7f).contains(byte))
    }

    /// Returns the run without its first `n` bytes.
    #[inline(always)]
    #[must_use]
    pub fn skip(self, n: usize) -> Self {
        let n = n.min(self.len);
        Run { tail: &self.tail[n..], len: self.len - n }
    }
}

impl<'a> From<&'a [u8]> for Run<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Run { tail: bytes, len: bytes.len() }
    }
}

/// An exact decimal as its source holds it: ASCII digits, high digit first, leading zeros allowed.
///
/// The value is `±digits × 10^-scale`; `scale` may be negative (COBOL `9(3)PPP`) or exceed the number of digits (`VPP9(3)`).
/// Digits pass from zoned and packed fields, EDI elements, CSV and JSON numbers to text sinks without becoming an integer in between.
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a> {
    /// ASCII `0` to `9` only, at least one.
    pub digits: Run<'a>,
    /// True if the number has a minus sign. `-0` is distinct from `0` so that a sink can write it back.
    pub negative: bool,
    /// Digits after the decimal point.
    pub scale: i16,
}

impl Digits<'_> {
    /// Returns whether every digit is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.digits.bytes().iter().all(|digit| *digit == b'0')
    }

    /// Returns the unscaled integer, or `None` beyond 38 digits.
    #[must_use]
    pub fn unscaled(&self) -> Option<i128> {
        let digits = self.digits.bytes();
        let first = digits.iter().position(|d| *d != b'0').unwrap_or(digits.len());
        let significant = &digits[first..];
        if significant.len() > 38 {
            return None;
        }
        let mut n: i128 = 0;
        let (head, rest) = significant.split_at(significant.len() % 18);
        for chunk in core::iter::once(head).chain(rest.chunks_exact(18)) {
            let part = chunk.iter().fold(0u64, |n, d| n * 10 + u64::from(d - b'0'));
            n = n * 1_000_000_000_000_000_000 + i128::from(part);
        }
        Some(if self.negative { -n } else { n })
    }
}

/// An exact decimal as an integer: the value is `unscaled × 10^-scale`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decimal {
    /// The integer.
    pub unscaled: i128,
    /// Digits after the decimal point; may be negative.
    pub scale: i16,
}

/// One scalar value. A source passes the form that it has; a sink converts it if it needs another.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// The null value: blank by policy, or absent.
    Null,
    /// Text, UTF-8 by contract of the source.
    Text(Run<'a>),
    /// Text that is known to be printable ASCII (0x20 to 0x7e), so sinks need not look for control or multi-byte characters; quotes
    /// and backslashes may occur.
    Ascii(Run<'a>),
    /// An exact decimal as digits.
    Digits(Digits<'a>),
    /// An exact decimal as a small integer: the value is `.0 × 10^-.1`.
    Int(i64, i16),
    /// An exact decimal as an integer that may need more than 64 bits.
    Decimal(Decimal),
    /// A 32-bit float (COMP-1).
    Float32(f32),
    /// A 64-bit float (COMP-2).
    Float64(f64),
    /// A truth value.
    Bool(bool),
    /// Bytes without a text form; text sinks write them as hexadecimal digits.
    Bytes(&'a [u8]),
    /// Bytes that are not a valid value of the node, kept by policy; text sinks write the string `0x` and hexadecimal digits.
    Raw(&'a [u8]),
}
