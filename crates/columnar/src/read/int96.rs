//! INT96 timestamps of Parquet: a day and the nanoseconds in it, 12 bytes, which Hive, Impala and Spark write.
//!
//! In nanoseconds of 64 bits, as the library gives them, instants outside of the years 1677 to 2262 wrap to others without an error, and
//! 0001-01-01 and 9999-12-31 are common. In microseconds all are right, but nanoseconds are lost. So both are read, and each batch of a
//! column has the form in which its values are exact. Columns inside of structs and lists are read in microseconds, and nanoseconds there are an error.

use std::sync::Arc;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Type;

use super::ColumnReadError;
use super::input::{ColumnForm, ColumnInput, damaged};

/// INT96 columns of a file.
pub(super) struct Int96 {
    /// The file's schema with microseconds for them.
    pub(super) schema: SchemaRef,
    /// Indices of the columns that are or contain some with nanoseconds.
    pub(super) columns: Vec<usize>,
}

impl Int96 {
    /// Finds the INT96 columns of a file, if it has any.
    pub(super) fn find(builder: &ParquetRecordBatchReaderBuilder<ColumnInput>) -> Option<Int96> {
        let leaves = builder.parquet_schema().columns();
        let mut is_int96 = leaves.iter().map(|leaf| leaf.physical_type() == Type::INT96);
        if !is_int96.clone().any(|is| is) {
            return None;
        }
        let schema = builder.schema();
        let fields: Fields = schema.fields().iter().map(|field| in_microseconds(field, &mut is_int96)).collect();
        // If the Arrow schema in the file has another unit, its instants have no nanoseconds.
        let is_exact = |(new, old): (&FieldRef, &FieldRef)| {
            new.data_type() != old.data_type()
                && (old.data_type().is_nested()
                    || matches!(old.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _)))
        };
        let changed = fields.iter().zip(schema.fields()).map(is_exact).enumerate();
        let columns = changed.filter_map(|(column, is_exact)| is_exact.then_some(column)).collect();
        Some(Int96 { schema: Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())), columns })
    }
}

/// Returns the field with microseconds for its INT96 leaves; `leaves` yields, for each leaf in order, true if it is one.
fn in_microseconds(field: &FieldRef, leaves: &mut impl Iterator<Item = bool>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(members) => {
            DataType::Struct(members.iter().map(|member| in_microseconds(member, leaves)).collect())
        }
        DataType::List(element) => DataType::List(in_microseconds(element, leaves)),
        DataType::LargeList(element) => DataType::LargeList(in_microseconds(element, leaves)),
        DataType::FixedSizeList(element, size) => DataType::FixedSizeList(in_microseconds(element, leaves), *size),
        DataType::Map(entries, is_sorted) => DataType::Map(in_microseconds(entries, leaves), *is_sorted),
        leaf => match (leaves.next(), leaf) {
            (Some(true), DataType::Timestamp(_, zone)) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            (_, leaf) => leaf.clone(),
        },
    };
    if data_type == *field.data_type() {
        Arc::clone(field)
    } else {
        Arc::new(Field::clone(field).with_data_type(data_type))
    }
}

/// Returns the batch with nanoseconds in each column in which no value overflows.
pub(super) fn exact(
    wide: &RecordBatch,
    nanos: &RecordBatch,
    columns: &[usize],
) -> Result<RecordBatch, ColumnReadError> {
    let bad = |error: &dyn core::fmt::Display| damaged(ColumnForm::Parquet, error);
    let mut fields: Vec<FieldRef> = wide.schema().fields().iter().cloned().collect();
    let mut arrays: Vec<ArrayRef> = wide.columns().to_vec();
    for (column, nanos) in columns.iter().zip(nanos.columns()) {
        if nanos.data_type().is_nested() {
            if has_nanoseconds(&wide.column(*column).to_data(), &nanos.to_data()) {
                let name = fields[*column].name();
                return Err(bad(&format!(
                    "the column {name} has INT96 timestamps with nanoseconds inside of a structure or list, where only microseconds are read"
                )));
            }
            continue;
        }
        let in_nanos = nanos.as_primitive::<TimestampNanosecondType>();
        let in_micros = wide.column(*column).as_primitive::<TimestampMicrosecondType>();
        let pairs = || in_nanos.iter().zip(in_micros.iter()).filter_map(|(nano, micro)| Some((nano?, micro?)));
        if pairs().all(|(nano, micro)| nano.div_euclid(1_000) == micro) {
            fields[*column] = Arc::new(Field::clone(&fields[*column]).with_data_type(nanos.data_type().clone()));
            arrays[*column] = Arc::clone(nanos);
        } else if pairs().any(|(nano, micro)| rest(nano, micro) != 0) {
            let name = fields[*column].name();
            return Err(bad(&format!(
                "the column {name} has INT96 timestamps outside of the years 1677 to 2262, and these or others with nanoseconds, which \
                 cannot be read exactly together"
            )));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| bad(&error))
}

/// Returns the nanoseconds of an instant beyond its microseconds. Both wrap in the same way.
fn rest(nano: i64, micro: i64) -> i64 {
    nano.wrapping_sub(micro.wrapping_mul(1_000))
}

/// Returns true if an instant inside of a column has nanoseconds. Both have the same rows.
fn has_nanoseconds(wide: &ArrayData, nanos: &ArrayData) -> bool {
    let is_in_nanos = matches!(nanos.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
    if is_in_nanos && wide.data_type() != nanos.data_type() {
        let values = wide.buffer::<i64>(0).iter().zip(nanos.buffer::<i64>(0)).take(nanos.len());
        let mut values = values.enumerate();
        return values.any(|(row, (micro, nano))| nanos.is_valid(row) && rest(*nano, *micro) != 0);
    }
    wide.child_data().iter().zip(nanos.child_data()).any(|(wide, nanos)| has_nanoseconds(wide, nanos))
}
