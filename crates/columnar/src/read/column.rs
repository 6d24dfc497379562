//! One column of a batch, with a known type.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use quayline_core::{Decimal, Digits, Run, Value};

use super::time;

const DAY_MS: i64 = 86_400_000;

/// The values of a leaf.
pub(super) enum Leaf<'a> {
    Null,
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Decimal32(&'a PrimitiveArray<Decimal32Type>, i16),
    Decimal64(&'a PrimitiveArray<Decimal64Type>, i16),
    Decimal128(&'a PrimitiveArray<Decimal128Type>, i16),
    Decimal256(&'a PrimitiveArray<Decimal256Type>, i16),
    Float16(&'a PrimitiveArray<Float16Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Bool(&'a BooleanArray),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
    FixedBytes(&'a FixedSizeBinaryArray),
    /// Days since 1970.
    Date(&'a PrimitiveArray<Date32Type>),
    /// Milliseconds since 1970.
    Date64(&'a PrimitiveArray<Date64Type>),
    Timestamp(&'a [i64], TimeUnit, bool),
    Time32(&'a [i32], TimeUnit),
    Time64(&'a [i64], TimeUnit),
    /// For each row, the index of its value; and the values.
    Dictionary(Vec<usize>, Box<Column<'a>>),
}

/// Values with their nulls.
pub(super) struct Column<'a> {
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) leaf: Leaf<'a>,
}

/// Memory for values that have no bytes in the column.
#[derive(Debug, Default)]
pub(super) struct Scratch(Vec<u8>);

impl<'a> Column<'a> {
    /// Returns `None` for a type that is not a leaf.
    pub(super) fn of(array: &'a ArrayRef) -> Option<Column<'a>> {
        let leaf = match array.data_type() {
            DataType::Null => Leaf::Null,
            DataType::Int8 => Leaf::Int8(array.as_primitive()),
            DataType::Int16 => Leaf::Int16(array.as_primitive()),
            DataType::Int32 => Leaf::Int32(array.as_primitive()),
            DataType::Int64 => Leaf::Int64(array.as_primitive()),
            DataType::UInt8 => Leaf::UInt8(array.as_primitive()),
            DataType::UInt16 => Leaf::UInt16(array.as_primitive()),
            DataType::UInt32 => Leaf::UInt32(array.as_primitive()),
            DataType::UInt64 => Leaf::UInt64(array.as_primitive()),
            DataType::Decimal32(_, scale) => Leaf::Decimal32(array.as_primitive(), (*scale).into()),
            DataType::Decimal64(_, scale) => Leaf::Decimal64(array.as_primitive(), (*scale).into()),
            DataType::Decimal128(_, scale) => Leaf::Decimal128(array.as_primitive(), (*scale).into()),
            DataType::Decimal256(_, scale) => Leaf::Decimal256(array.as_primitive(), (*scale).into()),
            DataType::Float16 => Leaf::Float16(array.as_primitive()),
            DataType::Float32 => Leaf::Float32(array.as_primitive()),
            DataType::Float64 => Leaf::Float64(array.as_primitive()),
            DataType::Boolean => Leaf::Bool(array.as_boolean()),
            DataType::Utf8 => Leaf::Text(array.as_string()),
            DataType::LargeUtf8 => Leaf::LargeText(array.as_string()),
            DataType::Utf8View => Leaf::TextView(array.as_string_view()),
            DataType::Binary => Leaf::Bytes(array.as_binary()),
            DataType::LargeBinary => Leaf::LargeBytes(array.as_binary()),
            DataType::BinaryView => Leaf::BytesView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Leaf::FixedBytes(array.as_fixed_size_binary()),
            DataType::Date32 => Leaf::Date(array.as_primitive()),
            DataType::Date64 => Leaf::Date64(array.as_primitive()),
            DataType::Timestamp(unit, zone) => {
                let values: &[i64] = match unit {
                    TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
                };
                Leaf::Timestamp(values, *unit, zone.is_some())
            }
            DataType::Time32(unit) => {
                let values: &[i32] = match unit {
                    TimeUnit::Second => array.as_primitive::<Time32SecondType>().values(),
                    _ => array.as_primitive::<Time32MillisecondType>().values(),
                };
                Leaf::Time32(values, *unit)
            }
            DataType::Time64(unit) => {
                let values: &[i64] = match unit {
                    TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().values(),
                    _ => array.as_primitive::<Time64MicrosecondType>().values(),
                };
                Leaf::Time64(values, *unit)
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = Column::of(dictionary.values())?;
                // Without values each key is null, and a place cannot be made of it.
                let places = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
                return Some(Column {
                    nulls: dictionary.keys().nulls(),
                    leaf: Leaf::Dictionary(places, Box::new(values)),
                });
            }
            _ => return None,
        };
        Some(Column { nulls: array.nulls(), leaf })
    }

    /// Returns false if the value of a row is a time beyond the length of a day.
    #[inline]
    pub(super) fn has_time_of_day(&self, row: usize) -> bool {
        let is_null = || self.nulls.is_some_and(|nulls| nulls.is_null(row));
        match &self.leaf {
            Leaf::Time32(values, unit) => is_null() || time::is_time_of_day(values[row].into(), *unit),
            Leaf::Time64(values, unit) => is_null() || time::is_time_of_day(values[row], *unit),
            Leaf::Dictionary(places, values) if !is_null() => {
                places.get(row).is_none_or(|place| values.has_time_of_day(*place))
            }
            _ => true,
        }
    }

    /// Returns the value of a row.
    #[inline]
    pub(super) fn value<'s>(&'s self, row: usize, scratch: &'s mut Scratch) -> Value<'s> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Value::Null;
        }
        let int = |n: i64| Value::Int(n, 0);
        match &self.leaf {
            Leaf::Null => Value::Null,
            Leaf::Int8(values) => int(values.value(row).into()),
            Leaf::Int16(values) => int(values.value(row).into()),
            Leaf::Int32(values) => int(values.value(row).into()),
            Leaf::Int64(values) => int(values.value(row)),
            Leaf::UInt8(values) => int(values.value(row).into()),
            Leaf::UInt16(values) => int(values.value(row).into()),
            Leaf::UInt32(values) => int(values.value(row).into()),
            Leaf::UInt64(values) => decimal(values.value(row).into(), 0),
            Leaf::Decimal32(values, scale) => Value::Int(values.value(row).into(), *scale),
            Leaf::Decimal64(values, scale) => Value::Int(values.value(row), *scale),
            Leaf::Decimal128(values, scale) => decimal(values.value(row), *scale),
            Leaf::Decimal256(values, scale) => wide(values.value(row), *scale, &mut scratch.0),
            Leaf::Float16(values) => Value::Float32(values.value(row).to_f32()),
            Leaf::Float32(values) => Value::Float32(values.value(row)),
            Leaf::Float64(values) => Value::Float64(values.value(row)),
            Leaf::Bool(values) => Value::Bool(values.value(row)),
            Leaf::Text(values) => text(values.value(row)),
            Leaf::LargeText(values) => text(values.value(row)),
            Leaf::TextView(values) => text(values.value(row)),
            Leaf::Bytes(values) => Value::Bytes(values.value(row)),
            Leaf::LargeBytes(values) => Value::Bytes(values.value(row)),
            Leaf::BytesView(values) => Value::Bytes(values.value(row)),
            Leaf::FixedBytes(values) => Value::Bytes(values.value(row)),
            Leaf::Date(values) => written(&mut scratch.0, |out| time::date(out, values.value(row).into())),
            // A whole day by the format; a part of a day from other writers is not dropped.
            Leaf::Date64(values) => written(&mut scratch.0, |out| match values.value(row) {
                day if day % DAY_MS == 0 => time::date(out, day / DAY_MS),
                instant => time::timestamp(out, instant, TimeUnit::Millisecond, false),
            }),
            Leaf::Timestamp(values, unit, is_instant) => {
                written(&mut scratch.0, |out| time::timestamp(out, values[row], *unit, *is_instant))
            }
            Leaf::Time32(values, unit) => written(&mut scratch.0, |out| time::time(out, values[row].into(), *unit)),
            Leaf::Time64(values, unit) => written(&mut scratch.0, |out| time::time(out, values[row], *unit)),
            Leaf::Dictionary(places, values) => match places.get(row) {
                Some(place) => values.value(*place, scratch),
                None => Value::Null,
            },
        }
    }
}

/// Ranges of the elements of each row of a list.
pub(super) enum Offsets<'a> {
    Small(&'a OffsetBuffer<i32>),
    Large(&'a OffsetBuffer<i64>),
    Fixed(usize),
}

impl Offsets<'_> {
    #[inline]
    pub(super) fn of_row(&self, row: usize) -> core::ops::Range<usize> {
        match self {
            Offsets::Small(offsets) => place(offsets[row].into())..place(offsets[row + 1].into()),
            Offsets::Large(offsets) => place(offsets[row])..place(offsets[row + 1]),
            Offsets::Fixed(size) => row * size..(row + 1) * size,
        }
    }
}

fn place(offset: i64) -> usize {
    usize::try_from(offset).expect("the library has checked that offsets are not negative")
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Run::from(text.as_bytes()))
}

fn decimal(unscaled: i128, scale: i16) -> Value<'static> {
    match i64::try_from(unscaled) {
        Ok(n) => Value::Int(n, scale),
        Err(_) => Value::Decimal(Decimal { unscaled, scale }),
    }
}

/// Converts an integer of up to 76 digits.
fn wide(n: i256, scale: i16, scratch: &mut Vec<u8>) -> Value<'_> {
    if let Some(n) = n.to_i128() {
        return decimal(n, scale);
    }
    scratch.clear();
    scratch.extend_from_slice(n.to_string().as_bytes());
    let negative = scratch.first() == Some(&b'-');
    Value::Digits(Digits { digits: Run::from(&scratch[usize::from(negative)..]), negative, scale })
}

fn written(scratch: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Value<'_> {
    scratch.clear();
    write(scratch);
    Value::Ascii(Run::from(&scratch[..]))
}
