//! Row groups, statistics, bounds of memory, and outputs that break off.

use std::io::{self, Write};

use bytes::Bytes;
use expect_test::expect;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use quayline_columnar::{
    ArrowIpcWriter, ColumnError, ColumnOptions, ColumnSink, Framing, ParquetOptions, ParquetWriter,
};
use quayline_core::{Fault, NodeId, Occurs, Scalar, Shape, Sink, Value};

use crate::dump;
use crate::model::{Action, Data, check};

fn shape() -> Shape {
    let mut shape = Shape::builder("R");
    shape.scalar("N", Scalar::Decimal { digits: 9, scale: 0, signed: false }, Occurs::Once);
    shape.scalar("KIND", Scalar::Text { chars_max: None }, Occurs::Once);
    shape.scalar("UNIQUE", Scalar::Text { chars_max: None }, Occurs::Once);
    shape.finish()
}

fn send(sink: &mut ColumnSink, n: i64) {
    sink.enter(NodeId::ROOT);
    sink.value(NodeId(1), Value::Int(n, 0));
    sink.value(NodeId(2), Value::Ascii(["RED", "GREEN", "BLUE"][usize::try_from(n % 3).unwrap()].as_bytes().into()));
    let unique = format!("unique value number {n} which is longer than the sixty-four bytes of a bound");
    sink.value(NodeId(3), Value::Ascii(unique.as_bytes().into()));
    sink.leave(NodeId::ROOT);
}

fn write<W: Write + Send>(out: W, rows: i64, options: &ParquetOptions) -> Result<(W, u64, usize), ColumnError> {
    let mut sink =
        ColumnSink::new(&shape(), &ColumnOptions { batch_rows_max: 4096, ..ColumnOptions::default() }).unwrap();
    let mut writer = ParquetWriter::new(out, &sink, options)?;
    let mut encoder = writer.encoder();
    let mut most = 0;
    for n in 0..rows {
        send(&mut sink, n);
        if sink.is_full() {
            let pages = encoder.take_pages(&mut sink)?;
            most = most.max(writer.memory() + pages.memory());
            writer.write(pages)?;
        }
    }
    writer.write(encoder.take_pages(&mut sink)?)?;
    let (out, bytes) = writer.finish()?;
    Ok((out, bytes, most))
}

#[test]
fn row_groups_end_at_their_bounds_and_hold_statistics() {
    let options = ParquetOptions { row_group_rows_max: 10_000, ..ParquetOptions::default() };
    let (bytes, _, _) = write(Vec::new(), 20_000, &options).unwrap();
    let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let mut text = String::new();
    for group in file.metadata().row_groups() {
        text.push_str(&format!("{} rows\n", group.num_rows()));
        for column in group.columns() {
            let statistics = column.statistics().unwrap();
            let show = |bytes: Option<&[u8]>| match column.column_descr().name() {
                "N" => bytes.map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()).to_string()),
                _ => bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
            };
            text.push_str(&format!(
                "  {} {:?} to {:?}{}, {:?} nulls, {}\n",
                column.column_path(),
                show(statistics.min_bytes_opt()).unwrap(),
                show(statistics.max_bytes_opt()).unwrap(),
                if statistics.max_is_exact() { "" } else { " cut" },
                statistics.null_count_opt().unwrap(),
                column.encodings().map(|encoding| encoding.to_string()).collect::<Vec<_>>().join(" "),
            ));
        }
    }
    expect![[r#"
        8192 rows
          "N" "0" to "8191", 0 nulls, PLAIN RLE
          "KIND" "BLUE" to "RED", 0 nulls, PLAIN RLE RLE_DICTIONARY
          "UNIQUE" "unique value number 0 which is longer than the sixty-four bytes " to "unique value number 999 which is longer than the sixty-four bytf" cut, 0 nulls, PLAIN RLE
        8192 rows
          "N" "8192" to "16383", 0 nulls, PLAIN RLE
          "KIND" "BLUE" to "RED", 0 nulls, PLAIN RLE RLE_DICTIONARY
          "UNIQUE" "unique value number 10000 which is longer than the sixty-four by" to "unique value number 9999 which is longer than the sixty-four byu" cut, 0 nulls, PLAIN RLE
        3616 rows
          "N" "16384" to "19999", 0 nulls, PLAIN RLE
          "KIND" "BLUE" to "RED", 0 nulls, PLAIN RLE RLE_DICTIONARY
          "UNIQUE" "unique value number 16384 which is longer than the sixty-four by" to "unique value number 19999 which is longer than the sixty-four bz" cut, 0 nulls, PLAIN RLE
    "#]].assert_eq(&text);
}

#[test]
fn memory_is_bounded_by_the_row_group() {
    let options = ParquetOptions { row_group_bytes_max: 1 << 18, ..ParquetOptions::default() };
    let (bytes, _, small) = write(Vec::new(), 50_000, &options).unwrap();
    assert!(small < 3 << 20, "{small} bytes");
    let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    assert!(file.metadata().num_row_groups() > 1);
    let (_, _, large) = write(io::sink(), 200_000, &options).unwrap();
    assert!(large < small + small / 10, "{small} bytes grew to {large}");
}

fn groups_of_one(writer: &mut ParquetWriter<Vec<u8>>, sink: &mut ColumnSink, rows: core::ops::Range<i64>) {
    let mut encoder = writer.encoder();
    for n in rows {
        send(sink, n);
        writer.write(encoder.take_pages(sink).unwrap()).unwrap();
    }
}

/// The library keeps 600 bytes for each column of each row group until the end, so memory grew by 14 MB a gigabyte of segments.
#[test]
fn the_footer_of_many_row_groups_stays_small_and_is_read() {
    let options = ParquetOptions { row_group_rows_max: 1, ..ParquetOptions::default() };
    for groups in [0, 1, 14, 15, 16, 127, 128, 1000] {
        let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
        let mut writer = ParquetWriter::new(Vec::new(), &sink, &options).unwrap();
        groups_of_one(&mut writer, &mut sink, 0..groups);
        let memory = writer.memory();
        let (bytes, len) = writer.finish().unwrap();
        assert_eq!(bytes.len() as u64, len);
        let file = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
        assert_eq!(file.metadata().file_metadata().num_rows(), groups);
        assert_eq!(i64::try_from(file.metadata().num_row_groups()).unwrap(), groups);
        for (group, n) in file.metadata().row_groups().iter().zip(0..) {
            assert_eq!((group.num_rows(), group.ordinal()), (1, Some(n)));
        }
        let mut rows = 0;
        for batch in ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap().build().unwrap() {
            rows += i64::try_from(batch.unwrap().num_rows()).unwrap();
        }
        assert_eq!(rows, groups);
        assert!(memory < 6000 + 400 * usize::try_from(groups).unwrap(), "{memory} bytes for {groups} row groups");
    }
}

#[test]
fn what_is_taken_back_was_never_there() {
    let options = ParquetOptions { row_group_rows_max: 3, ..ParquetOptions::default() };
    let file = |with: bool| {
        let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
        let mut writer = ParquetWriter::new(Vec::new(), &sink, &options).unwrap();
        groups_of_one(&mut writer, &mut sink, 0..7);
        let mark = writer.mark().unwrap();
        if with {
            groups_of_one(&mut writer, &mut sink, 7..100);
            let out = writer.back_to(mark).unwrap();
            assert!(out.len() as u64 > mark.bytes());
            out.truncate(usize::try_from(mark.bytes()).unwrap());
        }
        groups_of_one(&mut writer, &mut sink, 100..104);
        writer.finish().unwrap()
    };
    let (bytes, len) = file(true);
    assert_eq!(bytes.len() as u64, len);
    assert!((bytes, len) == file(false));
}

#[test]
fn no_rows_are_a_valid_file() {
    let (bytes, _, _) = write(Vec::new(), 0, &ParquetOptions::default()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 0);
    assert_eq!(reader.build().unwrap().count(), 0);
}

#[test]
fn an_unfinished_file_is_not_taken_for_complete() {
    let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    let mut out = Vec::new();
    let options = ParquetOptions { row_group_rows_max: 10, ..ParquetOptions::default() };
    let mut writer = ParquetWriter::new(&mut out, &sink, &options).unwrap();
    let mut encoder = writer.encoder();
    for n in 0..25 {
        send(&mut sink, n);
        writer.write(encoder.take_pages(&mut sink).unwrap()).unwrap();
    }
    drop(writer);
    assert!(out.starts_with(b"PAR1") && !out.ends_with(b"PAR1"), "row groups are written, the footer is not");
    assert!(SerializedFileReader::new(Bytes::from(out)).is_err());

    let mut out = Vec::new();
    let mut writer = ArrowIpcWriter::new(&mut out, &sink, Framing::File).unwrap();
    send(&mut sink, 1);
    writer.write(&sink.take_batch().unwrap()).unwrap();
    drop(writer);
    assert!(arrow_ipc::reader::FileReader::try_new(io::Cursor::new(out), None).is_err());
}

/// Accepts this number of bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let n = buf.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_the_environments_fault_at_every_byte() {
    let options = ParquetOptions { row_group_rows_max: 5000, ..ParquetOptions::default() };
    let (_, len, _) = write(io::sink(), 9000, &options).unwrap();
    let len = usize::try_from(len).unwrap();
    for room in [0, 3, 4, 1000, len / 2, len - 5000, len - 100, len - 9, len - 1] {
        let error = write(Full(room), 9000, &options).map(|_| ()).unwrap_err();
        assert!(matches!(error, ColumnError::Output(_)), "room for {room} of {len}: {error:?}");
        assert_eq!(error.fault(), Fault::Environment);
    }
    assert!(write(Full(len), 9000, &options).is_ok());
    expect![[r#"
        error[COL-020]: cannot write the output: no storage space

        hint: free space or choose another output; the partial output is not a complete file"#]]
    .assert_eq(&write(Full(10), 9000, &options).map(|_| ()).unwrap_err().finding().to_string());

    for framing in [Framing::File, Framing::Stream] {
        let ipc = |room: usize| {
            let mut sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
            let mut writer = ArrowIpcWriter::new(Full(room), &sink, framing)?;
            send(&mut sink, 1);
            writer.write(&sink.take_batch()?)?;
            writer.finish().map(|(_, len)| len)
        };
        let len = usize::try_from(ipc(1 << 20).unwrap()).unwrap();
        for room in 0..len {
            assert!(matches!(ipc(room), Err(ColumnError::Output(_))), "room for {room} of {len}: {:?}", ipc(room));
        }
        assert!(ipc(len).is_ok());
    }
}

#[test]
fn encoders_in_several_threads_fill_one_file_in_order() {
    let first = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    let mut writer = ParquetWriter::new(Vec::new(), &first, &ParquetOptions::default()).unwrap();
    let workers: Vec<_> = (0..4)
        .map(|part| {
            let (mut sink, mut encoder) = (first.sibling(), writer.encoder());
            std::thread::spawn(move || {
                for n in part * 1000..(part + 1) * 1000 {
                    send(&mut sink, n);
                }
                encoder.take_pages(&mut sink).unwrap()
            })
        })
        .collect();
    for worker in workers {
        writer.write(worker.join().unwrap()).unwrap();
    }
    let rows = dump::parquet(writer.finish().unwrap().0, &first.schema());
    assert_eq!(rows.len(), 4000);
    for (n, row) in rows.iter().enumerate() {
        assert!(row.starts_with(&format!("{{N:{n},KIND:{},", ["RED", "GREEN", "BLUE"][n % 3])), "row {n} is {row}");
    }
}

#[test]
fn pages_of_another_shape_are_refused() {
    let mut other = Shape::builder("R");
    other.scalar("A", Scalar::Bool, Occurs::Once);
    let mut other = ColumnSink::new(&other.finish(), &ColumnOptions::default()).unwrap();
    let sink = ColumnSink::new(&shape(), &ColumnOptions::default()).unwrap();
    let writer = ParquetWriter::new(Vec::new(), &sink, &ParquetOptions::default()).unwrap();
    assert!(matches!(writer.encoder().take_pages(&mut other), Err(ColumnError::OtherShape)));
}

/// Columns whose values repeat much, little and not at all, so that each encoding and each change between them occurs.
#[test]
fn large_batches_of_every_kind_of_column_are_read_back() {
    let decimal = |digits, scale| Scalar::Decimal { digits, scale, signed: true };
    let text = Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("R");
    for (name, scalar) in [
        ("INT32", decimal(9, 0)),
        ("INT64", decimal(18, 0)),
        ("DEC32", decimal(9, 2)),
        ("DEC64", decimal(18, 3)),
        ("DEC128", decimal(25, 4)),
        ("DEC256", decimal(50, 5)),
        ("TEXT", text.clone()),
        ("BYTES", Scalar::Bytes { len_max: None }),
        ("FLOAT", Scalar::Float64),
        ("BOOL", Scalar::Bool),
    ] {
        for kind in ["FEW", "MANY", "ALL", "RUNS", "NULLS"] {
            shape.scalar(format!("{name}-{kind}"), scalar.clone(), Occurs::Once);
        }
    }
    shape.scalar("LIST", text, Occurs::Many { min: 0, max: None });
    let shape = shape.finish();
    let mut random = 1u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let mut actions = Vec::new();
    for row in 0..9000 {
        let mut members: Vec<Data> = Vec::new();
        for leaf in 0..50 {
            let n = match leaf % 5 {
                0 => next(20),
                1 => next(2500),
                2 => next(1 << 28),
                3 => row / 700,
                _ if next(10) > 0 => {
                    members.push(Data::Null);
                    continue;
                }
                _ => next(1 << 20),
            };
            members.push(match leaf / 5 {
                0 => Data::Int(n.cast_signed(), 0),
                1 => Data::Number(format!("{:018}", n * 3), n % 2 == 1, 0),
                2 => Data::Number(n.to_string(), true, 2),
                3 => Data::Number(format!("{n}012"), false, 3),
                4 => Data::Number(format!("{n}000000{n:04}"), n % 3 == 0, 4),
                5 => Data::Number(format!("{n}{}", "7".repeat(35)), n % 3 == 0, 5),
                6 => Data::Text(format!("text {n} of a column")),
                7 => Data::Bytes(n.to_le_bytes().to_vec()),
                8 => Data::Float(n as f64 / 4.0),
                _ => Data::Bool(n % 3 == 0),
            });
        }
        members.push(Data::List((0..next(4)).map(|_| Data::Text(next(30).to_string())).collect()));
        actions.push(Action::Keep(Data::Group(members)));
    }
    check(
        &shape,
        &ColumnOptions { batch_rows_max: 4000, batch_bytes_max: 64 << 20, ..ColumnOptions::default() },
        &actions,
    );
}
