//! Smallest and largest value of a page or chunk.

use arrow_buffer::i256;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::statistics::{Statistics, ValueStatistics};

/// Smallest and largest value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Range {
    /// No range: the column has no value, or its type has no order that all readers share.
    None,
    Bool(bool, bool),
    Int32(i32, i32),
    Int64(i64, i64),
    /// Big-endian on this many bytes.
    Wide(i256, i256, usize),
    Bytes(Bound, Bound),
}

/// A byte string, or a bound for one longer than [`BOUND_BYTES_MAX`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Bound {
    bytes: Vec<u8>,
    exact: bool,
}

/// Bytes of a bound in the footer.
const BOUND_BYTES_MAX: usize = 64;

impl Range {
    /// Returns the range of byte strings. It has no upper bound if the largest string is long and its truncated form cannot be incremented.
    pub(crate) fn of_bytes<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut ends: Option<(&[u8], &[u8])> = None;
        let mut prefixes = (0, 0);
        for value in values {
            let prefix = prefix(value);
            let Some((min, max)) = &mut ends else {
                ends = Some((value, value));
                prefixes = (prefix, prefix);
                continue;
            };
            // Equal prefixes decide nothing; most values differ there.
            if prefix <= prefixes.0 && value < *min {
                (*min, prefixes.0) = (value, prefix);
            }
            if prefix >= prefixes.1 && value > *max {
                (*max, prefixes.1) = (value, prefix);
            }
        }
        ends.and_then(|(min, max)| Some(Range::Bytes(Bound::below(min), Bound::above(max)?))).unwrap_or(Range::None)
    }

    /// Merges both ranges. A part without a value is ignored, but one whose values have no range leaves the whole without one.
    pub(crate) fn merge(&mut self, other: &Range) {
        match (&mut *self, other) {
            (Range::Bool(min, max), Range::Bool(low, high)) => (*min, *max) = (*min & low, *max | high),
            (Range::Int32(min, max), Range::Int32(low, high)) => (*min, *max) = (*low.min(min), *high.max(max)),
            (Range::Int64(min, max), Range::Int64(low, high)) => (*min, *max) = (*low.min(min), *high.max(max)),
            (Range::Wide(min, max, _), Range::Wide(low, high, _)) => (*min, *max) = (*low.min(min), *high.max(max)),
            (Range::Bytes(min, max), Range::Bytes(low, high)) => {
                if low.bytes < min.bytes || (low.bytes == min.bytes && low.exact) {
                    *min = low.clone();
                }
                if high.bytes > max.bytes || (high.bytes == max.bytes && high.exact) {
                    *max = high.clone();
                }
            }
            _ => *self = Range::None,
        }
    }

    /// Statistics of a chunk of this physical type; `None` leaves only the null count.
    pub(crate) fn statistics(&self, nulls: u64) -> Option<Statistics> {
        let nulls = Some(nulls);
        Some(match self {
            Range::None => return None,
            Range::Bool(min, max) => Statistics::boolean(Some(*min), Some(*max), None, nulls, false),
            Range::Int32(min, max) => Statistics::int32(Some(*min), Some(*max), None, nulls, false),
            Range::Int64(min, max) => Statistics::int64(Some(*min), Some(*max), None, nulls, false),
            Range::Wide(min, max, len) => {
                let fixed = |n| Some(FixedLenByteArray::from(big_endian(n, *len)));
                Statistics::fixed_len_byte_array(fixed(*min), fixed(*max), None, nulls, false)
            }
            Range::Bytes(min, max) => {
                let bytes = |bound: &Bound| Some(ByteArray::from(bound.bytes.clone()));
                Statistics::ByteArray(
                    ValueStatistics::new(bytes(min), bytes(max), None, nulls, false)
                        .with_min_is_exact(min.exact)
                        .with_max_is_exact(max.exact),
                )
            }
        })
    }
}

impl Bound {
    fn below(value: &[u8]) -> Self {
        let bytes = cut(value).to_vec();
        Bound { exact: bytes.len() == value.len(), bytes }
    }

    /// Returns a bound not below `value`: its cut with the last byte incremented, which must be UTF-8 again, since text has no
    /// other bounds.
    fn above(value: &[u8]) -> Option<Self> {
        let mut bytes = cut(value).to_vec();
        if bytes.len() == value.len() {
            return Some(Bound { bytes, exact: true });
        }
        while let Some(last) = bytes.pop() {
            if last < 0x7f {
                bytes.push(last + 1);
                return Some(Bound { bytes, exact: false });
            }
            if last >= 0x80 {
                return None;
            }
        }
        None
    }
}

/// Returns at most [`BOUND_BYTES_MAX`] bytes, in whole characters for text.
fn cut(value: &[u8]) -> &[u8] {
    if value.len() <= BOUND_BYTES_MAX {
        return value;
    }
    let end = (BOUND_BYTES_MAX - 3..=BOUND_BYTES_MAX).rev().find(|end| value[*end] & 0xc0 != 0x80);
    &value[..end.unwrap_or(BOUND_BYTES_MAX)]
}

/// Returns the first eight bytes as an integer with the same order.
#[inline(always)]
fn prefix(value: &[u8]) -> u64 {
    if let Some(bytes) = value.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    if value.is_empty() {
        return 0;
    }
    value.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)) << (8 * (8 - value.len()))
}

/// Encodes an integer as two's complement, high byte first, in the `len` bytes that hold it.
pub(crate) fn big_endian(n: i256, len: usize) -> Vec<u8> {
    n.to_be_bytes()[32 - len..].to_vec()
}
