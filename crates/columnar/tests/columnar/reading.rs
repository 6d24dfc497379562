//! Files of other writers: their types, their codecs, and damage.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::{Float64Type, Int8Type, Int32Type};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array,
    DictionaryArray, DurationSecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array,
    Int8Array, Int64Array, LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
    Time32MillisecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use expect_test::expect;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use quayline_columnar::{
    ColumnInput, ColumnOptions, ColumnReader, ColumnSink, RowFault, RowSource, UnknownColumn, shape_of,
};
use quayline_core::{Limits, NodeId, Occurs, Scalar, Shape, Sink, Value, write_number};

/// Writes events as text.
struct Text<'s>(&'s Shape, String);

impl Text<'_> {
    fn name(&mut self, node: NodeId) {
        let name = &self.0.node(node).name;
        self.1.push_str(&format!(" {name}="));
    }
}

impl Sink for Text<'_> {
    fn enter(&mut self, node: NodeId) {
        self.name(node);
        self.1.push('{');
    }
    fn leave(&mut self, _node: NodeId) {
        self.1.push('}');
    }
    fn open_list(&mut self, node: NodeId) {
        self.name(node);
        self.1.push('[');
    }
    fn close_list(&mut self, _node: NodeId) {
        self.1.push(']');
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.name(node);
        let mut number = Vec::new();
        match value {
            Value::Null => self.1.push_str("null"),
            Value::Text(run) | Value::Ascii(run) => {
                self.1.push_str(&format!("{:?}", str::from_utf8(run.bytes()).unwrap()))
            }
            Value::Bool(truth) => self.1.push_str(&truth.to_string()),
            Value::Bytes(bytes) | Value::Raw(bytes) => self.1.push_str(&format!("{bytes:02x?}")),
            number_value => {
                write_number(&mut number, number_value).unwrap();
                self.1.push_str(str::from_utf8(&number).unwrap());
            }
        }
    }
    fn discard(&mut self) {}
    fn null_branch(&mut self, node: NodeId) {
        self.name(node);
        self.1.push_str("null");
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// Two rows of everything that is read.
fn everything() -> RecordBatch {
    let mut nested = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    nested.values().values().append_value(1);
    nested.values().append(true);
    nested.values().append(true);
    nested.append(true);
    nested.append(false);
    let member = |name: &str, of_type| Arc::new(Field::new(name, of_type, true));
    let people: StructArray = StructArray::new(
        Fields::from(vec![member("NAME", DataType::Utf8), member("AGE", DataType::Int8)]),
        vec![
            Arc::new(StringArray::from(vec![Some("ANN"), None, Some("CY")])),
            Arc::new(Int8Array::from(vec![30, 40, -1])),
        ],
        None,
    );
    let people_type = Arc::new(Field::new("item", people.data_type().clone(), false));
    let people = ListArray::new(people_type, OffsetBuffer::new(vec![0, 2, 3].into()), Arc::new(people), None);
    let address = StructArray::new(
        Fields::from(vec![member("CITY", DataType::Utf8)]),
        vec![Arc::new(StringArray::from(vec!["Ulm", "?"]))],
        Some(NullBuffer::from(vec![true, false])),
    );
    let pair = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), None]), Some(vec![Some(3), Some(4)])],
        2,
    );
    let wide = i256::from_string("12345678901234567890123456789012345678901234567890").unwrap();
    batch(vec![
        ("unsigned", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ("long", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
        ("amount", Arc::new(Decimal128Array::from(vec![-5, 1_000]).with_precision_and_scale(20, 3).unwrap())),
        ("wide", Arc::new(Decimal256Array::from(vec![wide, i256::ZERO]).with_precision_and_scale(60, 2).unwrap())),
        ("float", Arc::new(Float32Array::from(vec![1.1, -0.0]))),
        ("yes", Arc::new(BooleanArray::from(vec![true, false]))),
        ("large", Arc::new(LargeStringArray::from(vec!["é", ""]))),
        ("view", Arc::new(StringViewArray::from(vec!["a text longer than twelve bytes", "b"]))),
        ("kind", Arc::new(DictionaryArray::<Int8Type>::from_iter(vec![Some("RED"), None]))),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"\0\xff"[..], b""]))),
        ("key", Arc::new(FixedSizeBinaryArray::try_from_iter(vec![[1u8, 2], [3, 4]].into_iter()).unwrap())),
        ("day", Arc::new(Date32Array::from(vec![20_779, -1]))),
        ("day64", Arc::new(Date64Array::from(vec![86_400_000, 86_400_001]))),
        ("local", Arc::new(TimestampMicrosecondArray::from(vec![1, -1]))),
        ("instant", Arc::new(TimestampMicrosecondArray::from(vec![0, 1]).with_timezone("Europe/Berlin"))),
        ("clock", Arc::new(Time32MillisecondArray::from(vec![3_600_001, 0]))),
        ("people", Arc::new(people)),
        ("address", Arc::new(address)),
        ("pair", Arc::new(pair)),
        ("nested", Arc::new(nested.finish())),
    ])
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn ipc(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// The rows by the shape that the columns have.
fn read(bytes: Vec<u8>) -> Vec<String> {
    let mut reader = ColumnReader::open(ColumnInput::Memory(Bytes::from(bytes))).unwrap();
    let shape = shape_of(reader.schema(), &Limits::default()).unwrap();
    let source = RowSource::new(reader.schema(), &shape, UnknownColumn::Error).unwrap();
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        let mut rows = source.rows(&batch);
        for row in 0..batch.num_rows() {
            let mut text = Text(&shape, String::new());
            rows.send(row, &mut text).unwrap();
            found.push(text.1.trim_start().to_owned());
        }
    }
    found
}

#[test]
fn every_type_keeps_its_values_whatever_the_form_and_codec() {
    let rows = read(ipc(&everything(), None));
    let text = rows.join("\n").replace(" ", "\n  ");
    expect![[r#"
        row={
          unsigned=18446744073709551615
          long=-9223372036854775808
          amount=-0.005
          wide=123456789012345678901234567890123456789012345678.90
          float=1.100000023841858
          yes=true
          large="é"
          view="a
          text
          longer
          than
          twelve
          bytes"
          kind="RED"
          bytes=[00,
          ff]
          key=[01,
          02]
          day="2026-11-22"
          day64="1970-01-02"
          local="1970-01-01T00:00:00.000001"
          instant="1970-01-01T00:00:00.000000Z"
          clock="01:00:00.001"
          people=[
          people={
          NAME="ANN"
          AGE=30}
          people={
          NAME=null
          AGE=40}]
          address={
          CITY="Ulm"}
          pair=[
          pair=1
          pair=null]
          nested=[
          nested={
          element=[
          element=1]}
          nested={
          element=[]}]}
        row={
          unsigned=0
          long=null
          amount=1.000
          wide=0.00
          float=-0
          yes=false
          large=""
          view="b"
          kind=null
          bytes=[]
          key=[03,
          04]
          day="1969-12-31"
          day64="1970-01-02T00:00:00.001"
          local="1969-12-31T23:59:59.999999"
          instant="1970-01-01T00:00:00.000001Z"
          clock="00:00:00.000"
          people=[
          people={
          NAME="CY"
          AGE=-1}]
          pair=[
          pair=3
          pair=4]}"#]]
    .assert_eq(&text);
    let mut stream = StreamWriter::try_new(Vec::new(), &everything().schema()).unwrap();
    stream.write(&everything()).unwrap();
    assert_eq!(read(stream.into_inner().unwrap()), rows);
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        assert_eq!(read(ipc(&everything(), Some(compression))), rows, "{compression:?}");
    }
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ] {
        assert_eq!(read(parquet(&everything(), compression)), rows, "{compression}");
    }
}

#[test]
fn batches_are_bounded_however_large_the_writer_made_them() {
    let texts: Vec<String> = (0..20_000).map(|n| format!("{n:0>500}")).collect();
    let one = batch(vec![("text", Arc::new(StringArray::from(texts)) as ArrayRef)]);
    for bytes in [ipc(&one, None), parquet(&one, Compression::SNAPPY)] {
        let is_parquet = bytes.starts_with(b"PAR1");
        let total = bytes.len() as u64;
        let mut reader = ColumnReader::open(ColumnInput::Memory(bytes.into())).unwrap();
        let (mut rows, mut most, mut done) = (0, 0, 0);
        while let Some(batch) = reader.next_batch().unwrap() {
            rows += batch.num_rows();
            most = most.max(batch.num_rows());
            assert!(reader.bytes_done() >= done);
            done = reader.bytes_done();
        }
        assert_eq!((rows, reader.bytes_done()), (20_000, total));
        // 500 bytes a row: a batch of a Parquet file stays near its bound of bytes.
        assert!(most <= if is_parquet { 3_000 } else { 8_192 }, "{most}");
    }
}

#[test]
fn what_does_not_fit_is_told_at_once() {
    let mut shape = Shape::builder("R");
    shape.scalar("CUST-ID", Scalar::Decimal { digits: 5, scale: 0, signed: false }, Occurs::Once);
    shape.scalar("AMOUNT", Scalar::Decimal { digits: 5, scale: 0, signed: false }, Occurs::Once);
    shape.scalar("MISSING", Scalar::Text { chars_max: None }, Occurs::Once);
    shape.scalar("MAYBE", Scalar::Text { chars_max: None }, Occurs::Optional);
    shape.open("ADDRESS", Occurs::Once);
    shape.scalar("CITY", Scalar::Text { chars_max: None }, Occurs::Once);
    let shape = shape.finish();
    let numbers = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let given = batch(vec![("cust_id", numbers()), ("AMUONT", numbers()), ("ADDRESS", numbers())]);
    let findings = RowSource::new(&given.schema(), &shape, UnknownColumn::Error).unwrap_err();
    expect![[r#"
        error[COL-037]: the column is not a field of the record
          at cust_id

        hint: the field is named CUST-ID: --key-style selects how names are written; --unknown ignore passes such columns over

        error[COL-037]: the column is not a field of the record
          at AMUONT

        hint: the nearest field is AMOUNT; --unknown ignore passes such columns over

        error[COL-040]: the column is Int64, expected a struct
          at ADDRESS

        hint: use the copybook and interface file that the file was written by"#]].assert_eq(&findings.to_string());
    let given = batch(vec![("CUST-ID", numbers()), ("other", numbers())]);
    let source = RowSource::new(&given.schema(), &shape, UnknownColumn::Ignore).unwrap();
    let said: Vec<&str> = source.warnings().iter().map(|warning| warning.message.as_str()).collect();
    let left_out = "1 column is left out: the record has no field for it";
    assert_eq!(said, [left_out, "the file has no column for AMOUNT, MISSING, MAYBE, ADDRESS"]);
    let none = RowSource::new(&given.schema(), &Shape::builder("R").finish(), UnknownColumn::Ignore).unwrap_err();
    assert_eq!(none.0[0].code.0, "COL-038");
    let unread = batch(vec![("took", Arc::new(DurationSecondArray::from(vec![1])) as ArrayRef)]);
    let findings = shape_of(&unread.schema(), &Limits::default()).unwrap_err();
    assert_eq!(findings.0[0].code.0, "COL-034");
}

#[test]
fn a_null_among_structs_refuses_its_row() {
    let member = Arc::new(Field::new("A", DataType::Utf8, true));
    let people = StructArray::new(
        Fields::from(vec![member]),
        vec![Arc::new(StringArray::from(vec!["x", "y"]))],
        Some(NullBuffer::from(vec![true, false])),
    );
    let item = Arc::new(Field::new("item", people.data_type().clone(), true));
    let list = ListArray::new(item, OffsetBuffer::new(vec![0, 1, 2].into()), Arc::new(people), None);
    let batch = batch(vec![("people", Arc::new(list) as ArrayRef)]);
    let shape = shape_of(&batch.schema(), &Limits::default()).unwrap();
    let source = RowSource::new(&batch.schema(), &shape, UnknownColumn::Error).unwrap();
    let mut rows = source.rows(&batch);
    assert_eq!(rows.send(0, &mut Text(&shape, String::new())), Ok(()));
    let fault = rows.send(1, &mut Text(&shape, String::new())).unwrap_err();
    assert_eq!(fault, RowFault::NullElement(NodeId(1)));
    assert_eq!(fault.finding(&shape).place.path.as_deref(), Some("people"));
}

/// NaN and infinities became null of JSON, and a text that is not a number of CSV and XML, without a finding.
#[test]
fn a_float_that_is_no_number_is_a_finding_unless_the_sink_has_it() {
    let floats = Float32Array::from(vec![Some(1.5), Some(f32::NAN), Some(f32::INFINITY), None]);
    let doubles = Float64Array::from(vec![0.5, 0.5, 0.5, f64::NEG_INFINITY]);
    let list = ListArray::from_iter_primitive::<Float64Type, _, _>(vec![
        Some(vec![Some(2.0)]),
        None,
        None,
        Some(vec![Some(f64::NAN)]),
    ]);
    let batch = batch(vec![("a", Arc::new(floats) as ArrayRef), ("b", Arc::new(doubles)), ("c", Arc::new(list))]);
    let shape = shape_of(&batch.schema(), &Limits::default()).unwrap();
    let source = RowSource::new(&batch.schema(), &shape, UnknownColumn::Error).unwrap();
    let mut rows = source.rows(&batch);
    assert_eq!(rows.send(0, &mut Text(&shape, String::new())), Ok(()));
    for (row, column) in [(1, 1), (2, 1), (3, 3)] {
        let fault = rows.send(row, &mut Text(&shape, String::new())).unwrap_err();
        assert_eq!(fault, RowFault::NotFinite(NodeId(column)), "row {row}");
        assert_eq!(fault.finding(&shape).code.0, "COL-042");
    }
    let mut sink = ColumnSink::new(&shape, &ColumnOptions::default()).unwrap();
    for row in 0..4 {
        assert_eq!(rows.send(row, &mut sink), Ok(()), "columns have such floats");
    }
    assert_eq!(sink.rows(), 4);
}

/// Files of other writers: each truncation and each flipped byte gives rows or an error, and never a crash.
#[test]
fn damage_is_an_error_and_never_a_crash() {
    // What the library prints of its own panics is noise here.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut errors = 0;
    for good in [ipc(&everything(), None), parquet(&everything(), Compression::SNAPPY)] {
        let step = (good.len() / 120).max(1);
        for at in (0..good.len()).step_by(step) {
            let mut flipped = good.clone();
            flipped[at] ^= 0x55;
            for bytes in [flipped, good[..at].to_vec()] {
                errors += usize::from(drain(bytes).is_err());
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(errors > 200, "cuts are errors: {errors}");
}

fn drain(bytes: Vec<u8>) -> Result<usize, String> {
    let mut reader = ColumnReader::open(ColumnInput::Memory(bytes.into())).map_err(|error| error.to_string())?;
    let Ok(shape) = shape_of(reader.schema(), &Limits::default()) else { return Ok(0) };
    let source = RowSource::new(reader.schema(), &shape, UnknownColumn::Error).map_err(|error| error.to_string())?;
    let mut rows = 0;
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        let mut each = source.rows(&batch);
        for row in 0..batch.num_rows() {
            let _ = each.send(row, &mut Text(&shape, String::new()));
        }
        rows += batch.num_rows();
    }
    Ok(rows)
}

/// A Parquet file with one column of INT96 timestamps: days since the Julian epoch, and nanoseconds in the day.
fn int96_file(instants: &[(u32, u64)]) -> Vec<u8> {
    int96_file_with(instants, parquet::file::properties::WriterProperties::default())
}

fn int96_file_with(instants: &[(u32, u64)], properties: parquet::file::properties::WriterProperties) -> Vec<u8> {
    use parquet::data_type::{Int96, Int96Type};
    let schema =
        parquet::schema::parser::parse_message_type("message m { required int96 T; optional int32 N; }").unwrap();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let value = |(day, nanos): &(u32, u64)| {
        let mut value = Int96::new();
        let (low, high) = (u32::try_from(nanos & 0xffff_ffff).unwrap(), u32::try_from(nanos >> 32).unwrap());
        value.set_data(low, high, *day);
        value
    };
    let values: Vec<Int96> = instants.iter().map(value).collect();
    column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let numbers: Vec<i32> = (0..).take(instants.len()).collect();
    column.typed::<parquet::data_type::Int32Type>().write_batch(&numbers, Some(&vec![1; numbers.len()]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn texts(file: Vec<u8>) -> Result<Vec<String>, String> {
    let mut reader = ColumnReader::open(ColumnInput::Memory(Bytes::from(file))).map_err(|error| error.to_string())?;
    let shape = shape_of(reader.schema(), &Limits::default()).map_err(|findings| findings.to_string())?;
    let source = RowSource::new(reader.schema(), &shape, UnknownColumn::Error).map_err(|f| f.to_string())?;
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        for row in 0..batch.num_rows() {
            let mut text = Text(&shape, String::new());
            source.rows(&batch).send(row, &mut text).map_err(|fault| fault.finding(&shape).to_string())?;
            rows.push(text.1);
        }
    }
    Ok(rows)
}

/// INT96 outside of the years 1677 to 2262 wrapped to other dates.
#[test]
fn int96_timestamps_are_exact_in_every_year() {
    // 1970-01-01 is day 2,440,588.
    let day = |days: i64| u32::try_from(2_440_588 + days).unwrap();
    let said = texts(int96_file(&[(day(0), 1_000_000_001), (day(20_000), 0)])).unwrap();
    assert_eq!(
        said,
        [r#" row={ T="1970-01-01T00:00:01.000000001" N=0}"#, r#" row={ T="2024-10-04T00:00:00.000000000" N=1}"#]
    );
    let said = texts(int96_file(&[(day(2_932_896), 0), (day(-719_162), 1_000), (day(0), 5_000)])).unwrap();
    assert_eq!(
        said,
        [
            r#" row={ T="9999-12-31T00:00:00.000000" N=0}"#,
            r#" row={ T="0001-01-01T00:00:00.000001" N=1}"#,
            r#" row={ T="1970-01-01T00:00:00.000005" N=2}"#
        ]
    );
    for mixed in [[(day(2_932_896), 0), (day(0), 1)], [(day(2_932_896), 86_399_999_999_999), (day(0), 0)]] {
        let said = texts(int96_file(&mixed)).unwrap_err();
        assert!(said.contains("INT96") && said.contains("1677"), "{said}");
    }
}

/// Nanoseconds inside of structures and lists were cut off.
#[test]
fn int96_timestamps_in_structures_lose_no_nanoseconds() {
    use parquet::data_type::{Int96, Int96Type};
    let file = |nanos: u32| {
        let schema =
            "message m { optional group G { optional group L (LIST) { repeated group list { optional int96 T; } } } }";
        let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
        let properties = Arc::new(parquet::file::properties::WriterProperties::default());
        let mut writer =
            parquet::file::writer::SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values = [0, nanos].map(|nanos| {
            let mut value = Int96::new();
            value.set_data(nanos, 0, 2_440_588);
            value
        });
        // Two elements with a null between them.
        column.typed::<Int96Type>().write_batch(&values, Some(&[4, 3, 4]), Some(&[0, 1, 1])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    };
    let said = texts(file(7_000)).unwrap();
    assert!(said[0].contains("1970-01-01T00:00:00.000007"), "{said:?}");
    let said = texts(file(7_001)).unwrap_err();
    assert!(said.contains("INT96") && said.contains("inside of a structure"), "{said}");
}

/// INT96 whose stored Arrow schema has seconds or milliseconds ended the program.
#[test]
fn int96_timestamps_of_every_stored_unit_are_read() {
    use arrow_schema::{DataType, Field, Schema, TimeUnit};
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        for (zone, end) in [(None, ""), (Some("UTC".into()), "Z")] {
            let stored = Schema::new(vec![
                Field::new("T", DataType::Timestamp(unit, zone), false),
                Field::new("N", DataType::Int32, true),
            ]);
            let entry = parquet::arrow::encode_arrow_schema(&stored);
            let properties = parquet::file::properties::WriterProperties::builder().set_key_value_metadata(Some(vec![
                parquet::file::metadata::KeyValue::new("ARROW:schema".to_owned(), entry),
            ]));
            let file = int96_file_with(&[(2_440_588, 2_000_000_000)], properties.build());
            let decimals = if unit == TimeUnit::Nanosecond { "000000000" } else { "000000" };
            let expected = format!(" row={{ T=\"1970-01-01T00:00:02.{decimals}{end}\" N=0}}");
            assert_eq!(texts(file), Ok(vec![expected]), "{unit:?}");
        }
    }
}

/// A time outside of a day was written as invalid digits: `00:00:-1.999`.
#[test]
fn a_time_that_no_day_has_is_refused() {
    for (millis, is_time) in [(0, true), (86_399_999, true), (86_400_000, false), (-1, false)] {
        let array: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![millis]));
        let mut file = Vec::new();
        let rows = batch(vec![("T", array)]);
        let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let said = texts(file);
        assert_eq!(said.is_ok(), is_time, "{said:?}");
        assert!(is_time || said.unwrap_err().contains("COL-043"));
    }
}

/// Quayline reported a file with an unsupported compression as cut. The library reports the missing feature only as text, so the test uses real
/// files.
#[test]
fn what_the_reader_lacks_is_no_damage() {
    let hint = |file: Vec<u8>| {
        let opened = ColumnReader::open(ColumnInput::Memory(file.into()));
        let Err(error) = opened.and_then(|mut reader| reader.next_batch().map(|_| ())) else {
            panic!("it can be read")
        };
        error.finding().hint.unwrap_or_default()
    };
    let whole = parquet(
        &batch(vec![("codec", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef)]),
        Compression::UNCOMPRESSED,
    );
    // ColumnMetaData of the footer: path_in_schema, then codec, an i32 of the compact protocol; BROTLI is 4, LZO 3.
    let codec =
        whole.windows(8).rposition(|bytes| bytes == b"codec\x15\0\x16").expect("a column without compression") + 6;
    for brotli_or_lzo in [8, 6] {
        let mut file = whole.clone();
        file[codec] = brotli_or_lzo;
        assert!(hint(file).starts_with("write the file with Snappy"), "codec {brotli_or_lzo}");
    }
    assert!(hint(whole[..whole.len() - 9].to_vec()).starts_with("compare the size"));
}
