//! Arrow arrays as text, read by the libraries' own readers.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use quayline_columnar::Framing;

/// The rows of an IPC file or stream, which must have this schema.
pub(crate) fn ipc(bytes: &[u8], framing: Framing, schema: &Schema) -> Vec<String> {
    let batches: Vec<RecordBatch> = match framing {
        Framing::File => {
            let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
            assert_eq!(*reader.schema(), *schema);
            reader.collect::<Result<_, _>>().unwrap()
        }
        Framing::Stream => {
            let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
            assert_eq!(*reader.schema(), *schema);
            reader.collect::<Result<_, _>>().unwrap()
        }
    };
    batches.into_iter().flat_map(rows).collect()
}

/// The rows of a Parquet file, which must have this schema.
pub(crate) fn parquet(bytes: Vec<u8>, schema: &Schema) -> Vec<String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
    assert_eq!(reader.schema().fields(), schema.fields());
    let batches: Vec<RecordBatch> = reader.with_batch_size(5).build().unwrap().collect::<Result<_, _>>().unwrap();
    batches.into_iter().flat_map(rows).collect()
}

/// The rows of a batch.
pub(crate) fn rows(batch: RecordBatch) -> Vec<String> {
    let columns = StructArray::from(batch);
    (0..columns.len()).map(|row| value(&columns, row)).collect()
}

fn value(array: &dyn Array, at: usize) -> String {
    if array.is_null(at) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let members = array.as_struct().columns().iter().zip(fields);
            let members: Vec<String> =
                members.map(|(column, field)| format!("{}:{}", field.name(), value(column, at))).collect();
            format!("{{{}}}", members.join(","))
        }
        DataType::List(_) => {
            let elements = array.as_list::<i32>().value(at);
            let elements: Vec<String> = (0..elements.len()).map(|at| value(&elements, at)).collect();
            format!("[{}]", elements.join(","))
        }
        DataType::Int32 => array.as_primitive::<Int32Type>().value(at).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(at),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(at),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(at).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).to_string(),
        DataType::Boolean => array.as_boolean().value(at).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(at).to_owned(),
        DataType::Binary => format!("{:02x?}", array.as_binary::<i32>().value(at)),
        other => panic!("{other} is not a type of ours"),
    }
}
