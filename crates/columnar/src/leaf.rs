//! Buffers of one leaf's values.

use arrow_buffer::i256;
use quayline_core::{Moment, NoFloat, Run, Value, read_float32, read_float64};

use crate::bytes_column::{BytesColumn, set, set_null};
use crate::error::Reason;
use crate::number::{Precision, small, wide};
use crate::plan::{LeafKind, TextStore, Width};
use crate::validity::Validity;

/// The column of one leaf. The sink holds its length, beside those of its siblings.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) store: Store,
    pub(crate) validity: Validity,
    /// For integers that are dates or timestamps, the kind of moment.
    moment: Option<Moment>,
}

#[derive(Debug)]
pub(crate) enum Store {
    /// The node is a group.
    Group,
    Int32(Numbers<i32>),
    Int64(Numbers<i64>),
    Int128(Numbers<i128>),
    Int256(Numbers<i256>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bool(Vec<bool>),
    Text(BytesColumn),
    Bytes(BytesColumn),
}

#[derive(Debug)]
pub(crate) struct Numbers<T> {
    /// Values; nulls after the last one may be missing.
    pub(crate) values: Vec<T>,
    precision: Precision,
    /// Digits that surely fit.
    digits: usize,
    scale: i16,
    /// Magnitudes below this fit.
    limit: u64,
}

impl Leaf {
    pub(crate) fn new(kind: Option<LeafKind>, text: TextStore) -> Self {
        let store = match kind {
            None => Store::Group,
            Some(LeafKind::Number { width, integer: true, .. }) => match width {
                Width::W32 => Store::Int32(Numbers::integers(10, 1 << 31)),
                _ => Store::Int64(Numbers::integers(19, u64::MAX)),
            },
            Some(LeafKind::Number { width, precision, .. }) => match width {
                Width::W32 => Store::Int32(Numbers::new(precision)),
                Width::W64 => Store::Int64(Numbers::new(precision)),
                Width::W128 => Store::Int128(Numbers::new(precision)),
                Width::W256 => Store::Int256(Numbers::new(precision)),
            },
            Some(LeafKind::Float32) => Store::Float32(Vec::new()),
            Some(LeafKind::Float64) => Store::Float64(Vec::new()),
            Some(LeafKind::Bool) => Store::Bool(Vec::new()),
            Some(LeafKind::Text) => Store::Text(BytesColumn::new(text)),
            Some(LeafKind::Bytes) => Store::Bytes(BytesColumn::new(text)),
            Some(LeafKind::Moment(Moment::Date)) => Store::Int32(Numbers::moments(10)),
            Some(LeafKind::Moment(Moment::Timestamp)) => Store::Int64(Numbers::moments(19)),
        };
        let moment = match kind {
            Some(LeafKind::Moment(moment)) => Some(moment),
            _ => None,
        };
        Leaf { store, validity: Validity::default(), moment }
    }

    /// Puts a value at index `at`, which is the column's length. After an error the entry is null.
    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, value: Value<'_>) -> Result<(), Reason> {
        let done = match (&mut self.store, value) {
            (Store::Text(column), Value::Ascii(run)) => {
                column.put(at, run, &self.validity).map_err(|_| Reason::TooMuch)
            }
            (Store::Int32(numbers), value) => numbers.put(at, value),
            (Store::Int64(numbers), value) => numbers.put(at, value),
            (Store::Int128(numbers), value) => numbers.put(at, value),
            (Store::Int256(numbers), value) => numbers.put(at, value),
            (_, value) => return self.put_rare(at, value),
        };
        if done.is_ok() { Ok(()) } else { self.put_rare(at, value) }
    }

    /// Puts a null at `at`, the column's length.
    #[inline]
    pub(crate) fn put_null(&mut self, at: usize) {
        self.validity.set_null(at);
        if let Store::Text(column) = &mut self.store
            && column.is_interned()
        {
            column.put_empty(at);
        } else {
            self.put_place_holder(at);
        }
    }

    #[inline(never)]
    fn put_place_holder(&mut self, at: usize) {
        match &mut self.store {
            Store::Group => {}
            Store::Int32(numbers) => set_null(&mut numbers.values, at),
            Store::Int64(numbers) => set_null(&mut numbers.values, at),
            Store::Int128(numbers) => set_null(&mut numbers.values, at),
            Store::Int256(numbers) => set_null(&mut numbers.values, at),
            Store::Float32(values) => set_null(values, at),
            Store::Float64(values) => set_null(values, at),
            Store::Bool(values) => set_null(values, at),
            Store::Text(column) | Store::Bytes(column) => column.put_empty(at),
        }
    }

    #[inline(never)]
    fn put_rare(&mut self, at: usize, value: Value<'_>) -> Result<(), Reason> {
        let done = match value {
            Value::Null => {
                self.put_null(at);
                return Ok(());
            }
            value => match self.moment {
                Some(moment) => moment_of(moment, value).and_then(|n| self.convert(at, Value::Int(n, 0))),
                None => self.convert(at, value),
            },
        };
        if done.is_err() {
            self.put_null(at);
        }
        done
    }

    fn convert(&mut self, at: usize, value: Value<'_>) -> Result<(), Reason> {
        match &mut self.store {
            Store::Group => return Err(Reason::Mismatch("a value")),
            Store::Int32(numbers) => {
                let n = numbers.precision.exact(value)?.to_i128().and_then(|n| i32::try_from(n).ok());
                set(&mut numbers.values, at, n.ok_or(Reason::Precision)?);
            }
            Store::Int64(numbers) => {
                let n = numbers.precision.exact(value)?.to_i128().and_then(|n| i64::try_from(n).ok());
                set(&mut numbers.values, at, n.ok_or(Reason::Precision)?);
            }
            Store::Int128(numbers) => {
                let n = numbers.precision.exact(value)?.to_i128();
                set(&mut numbers.values, at, n.ok_or(Reason::Precision)?);
            }
            Store::Int256(numbers) => {
                let n = numbers.precision.exact(value)?;
                set(&mut numbers.values, at, n);
            }
            Store::Float32(values) => {
                let x = match value {
                    Value::Float32(x) => x,
                    value => read_float32(float_text(value)?.as_bytes()).map_err(no_float)?,
                };
                set(values, at, x);
            }
            Store::Float64(values) => {
                let x = match value {
                    Value::Float64(x) => x,
                    Value::Float32(x) => x.into(),
                    value => read_float64(float_text(value)?.as_bytes()).map_err(no_float)?,
                };
                set(values, at, x);
            }
            Store::Bool(values) => {
                let truth = match value {
                    Value::Bool(truth) => truth,
                    Value::Text(run) | Value::Ascii(run) => match run.bytes() {
                        b"true" => true,
                        b"false" => false,
                        _ => return Err(Reason::Mismatch("text other than true or false")),
                    },
                    Value::Raw(_) => return Err(Reason::Raw),
                    _ => return Err(Reason::Mismatch("a number or bytes")),
                };
                set(values, at, truth);
            }
            Store::Text(column) => put_text(column, at, value, &self.validity)?,
            Store::Bytes(column) => put_bytes(column, at, value, &self.validity)?,
        }
        Ok(())
    }

    /// Forgets the values from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.validity.truncate(len);
        if let Store::Text(column) | Store::Bytes(column) = &mut self.store {
            column.truncate(len);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.validity.clear();
        if let Store::Text(column) | Store::Bytes(column) = &mut self.store {
            column.clear();
        }
    }

    /// Bytes in use by `len` values.
    pub(crate) fn memory(&self, len: usize) -> usize {
        self.validity.memory()
            + match &self.store {
                Store::Group => 0,
                Store::Int32(_) | Store::Float32(_) => len * 4,
                Store::Int64(_) | Store::Float64(_) => len * 8,
                Store::Int128(_) => len * 16,
                Store::Int256(_) => len * 32,
                Store::Bool(_) => len,
                Store::Text(column) | Store::Bytes(column) => column.memory(len),
            }
    }
}

const NOT_A_NUMBER: Reason = Reason::Mismatch("text that is not a number");

fn no_float(no: NoFloat) -> Reason {
    match no {
        NoFloat::NotANumber => NOT_A_NUMBER,
        NoFloat::OutOfRange => Reason::Mismatch("a number beyond the range of the float"),
    }
}

/// The integer of a column of numbers.
pub(crate) trait Unscaled: Copy + Default {
    /// Most digits that [`Unscaled::from_digits`] takes.
    const DIGITS: usize;
    fn from_digits(digits: Run<'_>, negative: bool) -> Self;
    fn from_i64(n: i64) -> Self;
}

#[expect(clippy::cast_possible_truncation, reason = "nine digits fit")]
impl Unscaled for i32 {
    const DIGITS: usize = 9;
    #[inline(always)]
    fn from_digits(digits: Run<'_>, negative: bool) -> Self {
        sign(small(digits) as i64, negative) as i32
    }
    #[inline(always)]
    fn from_i64(n: i64) -> Self {
        n as i32
    }
}

impl Unscaled for i64 {
    const DIGITS: usize = 18;
    #[inline(always)]
    fn from_digits(digits: Run<'_>, negative: bool) -> Self {
        sign(small(digits).cast_signed(), negative)
    }
    #[inline(always)]
    fn from_i64(n: i64) -> Self {
        n
    }
}

impl Unscaled for i128 {
    const DIGITS: usize = 38;
    #[inline(always)]
    fn from_digits(digits: Run<'_>, negative: bool) -> Self {
        let n = wide(digits).cast_signed();
        if negative { -n } else { n }
    }
    #[inline(always)]
    fn from_i64(n: i64) -> Self {
        n.into()
    }
}

impl Unscaled for i256 {
    const DIGITS: usize = 38;
    #[inline(always)]
    fn from_digits(digits: Run<'_>, negative: bool) -> Self {
        i256::from_i128(i128::from_digits(digits, negative))
    }
    #[inline(always)]
    fn from_i64(n: i64) -> Self {
        i256::from_i128(n.into())
    }
}

#[inline(always)]
fn sign(n: i64, negative: bool) -> i64 {
    let mask = -i64::from(negative);
    (n ^ mask) - mask
}

impl<T: Unscaled> Numbers<T> {
    fn new(precision: Precision) -> Self {
        let digits = T::DIGITS.min(precision.digits.into());
        let limit = POWERS[digits.min(19)];
        Numbers { values: Vec::new(), precision, digits, scale: precision.scale.into(), limit }
    }

    /// Returns the bounds of integers, which accept any value of their bits, whose largest has `digits`: a binary field of four
    /// digits may hold 65,535.
    fn integers(digits: u8, limit: u64) -> Self {
        Numbers { digits: T::DIGITS, limit, ..Numbers::new(Precision { digits, scale: 0 }) }
    }

    /// Returns the bounds of days or microseconds. No number of a document is one: the quick way refuses all, and texts take the exact conversion.
    fn moments(digits: u8) -> Self {
        Numbers { digits: 0, scale: i16::MAX, limit: 0, ..Numbers::new(Precision { digits, scale: 0 }) }
    }

    /// Converts the common cases; an error means that the value needs the exact conversion.
    #[inline(always)]
    fn put(&mut self, at: usize, value: Value<'_>) -> Result<(), Reason> {
        let n = match value {
            Value::Digits(d) if d.scale == self.scale && d.digits.len() <= self.digits => {
                T::from_digits(d.digits, d.negative)
            }
            Value::Int(n, scale) if scale == self.scale && n.unsigned_abs() < self.limit => T::from_i64(n),
            _ => return Err(Reason::Precision),
        };
        set(&mut self.values, at, n);
        Ok(())
    }
}

/// Powers of ten; the last represents "any 64-bit integer".
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut n = 1;
    while n < 19 {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers[19] = u64::MAX;
    powers
};

/// Writes a number as text for the standard library's parser, which rounds correctly.
fn float_text(value: Value<'_>) -> Result<String, Reason> {
    Ok(match value {
        Value::Digits(_) | Value::Int(..) | Value::Decimal(_) => number_text(value),
        Value::Text(run) | Value::Ascii(run) => {
            core::str::from_utf8(run.bytes()).map_err(|_| Reason::Utf8)?.trim().to_owned()
        }
        Value::Raw(_) => return Err(Reason::Raw),
        Value::Float32(_) | Value::Float64(_) => return Err(Reason::Mismatch("a float of more bits")),
        Value::Null | Value::Bool(_) | Value::Bytes(_) => return Err(Reason::Mismatch("a truth value or bytes")),
    })
}

/// Writes the digits of an exact decimal with its point and without leading zeros: `-12.50`.
fn number_text(value: Value<'_>) -> String {
    let (negative, mut digits, scale) = match value {
        Value::Digits(d) => (d.negative, d.digits.bytes().iter().map(|digit| char::from(*digit)).collect(), d.scale),
        Value::Int(n, scale) => (n < 0, n.unsigned_abs().to_string(), scale),
        Value::Decimal(d) => (d.unscaled < 0, d.unscaled.unsigned_abs().to_string(), d.scale),
        _ => return String::new(),
    };
    let first = digits.find(|digit| digit != '0').unwrap_or(digits.len());
    digits.drain(..first);
    if let Ok(zeros) = usize::try_from(-i32::from(scale)) {
        if !digits.is_empty() {
            digits.push_str(&"0".repeat(zeros));
        }
    } else {
        let scale = usize::from(scale.unsigned_abs());
        if digits.len() < scale {
            digits.insert_str(0, &"0".repeat(scale - digits.len()));
        }
        digits.insert(digits.len() - scale, '.');
    }
    if digits.is_empty() || digits.starts_with('.') {
        digits.insert(0, '0');
    }
    if negative {
        digits.insert(0, '-');
    }
    digits
}

/// Days or microseconds of a text.
fn moment_of(moment: Moment, value: Value<'_>) -> Result<i64, Reason> {
    match value {
        Value::Text(run) | Value::Ascii(run) => moment
            .read(run.bytes())
            .ok_or(Reason::Mismatch("text of another form, or a day or time that does not exist")),
        Value::Raw(_) => Err(Reason::Raw),
        _ => Err(Reason::Mismatch("another value")),
    }
}

#[inline]
fn put_text(column: &mut BytesColumn, at: usize, value: Value<'_>, validity: &Validity) -> Result<(), Reason> {
    let text = match value {
        Value::Text(run) => {
            if !run.bytes().is_ascii() {
                core::str::from_utf8(run.bytes()).map_err(|_| Reason::Utf8)?;
            }
            return column.put(at, run, validity).map_err(|_| Reason::TooMuch);
        }
        Value::Ascii(run) => return column.put(at, run, validity).map_err(|_| Reason::TooMuch),
        Value::Bytes(bytes) => quayline_core::hex(bytes),
        Value::Raw(bytes) => format!("0x{}", quayline_core::hex(bytes)),
        Value::Bool(truth) => truth.to_string(),
        Value::Float32(x) => f64::from(x).to_string(),
        Value::Float64(x) => x.to_string(),
        value => number_text(value),
    };
    column.put(at, text.as_bytes().into(), validity).map_err(|_| Reason::TooMuch)
}

fn put_bytes(column: &mut BytesColumn, at: usize, value: Value<'_>, validity: &Validity) -> Result<(), Reason> {
    let bytes = match value {
        Value::Bytes(bytes) | Value::Raw(bytes) => {
            return column.put(at, bytes.into(), validity).map_err(|_| Reason::TooMuch);
        }
        Value::Text(run) | Value::Ascii(run) => {
            quayline_core::from_hex(run.bytes().strip_prefix(b"0x").unwrap_or(run.bytes()))
                .ok_or(Reason::Mismatch("text that is not pairs of hexadecimal digits"))?
        }
        _ => return Err(Reason::Mismatch("a number or truth value")),
    };
    column.put(at, bytes[..].into(), validity).map_err(|_| Reason::TooMuch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quayline_core::{Decimal, Digits};

    /// A number in a column of dates was taken as days since 1970, and one in a column of timestamps as microseconds.
    #[test]
    fn numbers_are_not_dates() {
        for (moment, text) in [(Moment::Date, &b"2026-01-31"[..]), (Moment::Timestamp, b"2026-01-31T12:30:00")] {
            let mut leaf = Leaf::new(Some(LeafKind::Moment(moment)), TextStore::Plain);
            leaf.put(0, Value::Text(text.into())).unwrap();
            let digits = |digits: &'static [u8]| Digits { digits: digits.into(), negative: false, scale: 0 };
            let numbers = [
                Value::Int(20260131, 0),
                Value::Int(0, i16::MAX),
                Value::Decimal(Decimal { unscaled: 7, scale: 0 }),
                Value::Digits(digits(b"20260131")),
                Value::Digits(digits(b"")),
            ];
            for (value, at) in numbers.into_iter().zip(1..) {
                assert!(matches!(leaf.put(at, value), Err(Reason::Mismatch("another value"))), "{value:?}");
                assert!(!leaf.validity.is_valid(at));
            }
            assert!(leaf.validity.is_valid(0));
        }
    }

    #[test]
    fn numbers_have_a_plain_text() {
        let digits = |digits: &'static [u8], scale| {
            number_text(Value::Digits(Digits { digits: digits.into(), negative: true, scale }))
        };
        assert_eq!(digits(b"001250", 2), "-12.50");
        assert_eq!(digits(b"5", 3), "-0.005");
        assert_eq!(digits(b"012", -2), "-1200");
        assert_eq!(digits(b"000", 0), "-0");
        assert_eq!(number_text(Value::Int(i64::MIN, 0)), "-9223372036854775808");
        assert_eq!(number_text(Value::Decimal(Decimal { unscaled: 7, scale: 0 })), "7");
    }
}
