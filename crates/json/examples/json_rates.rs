//! Measures the cost of one leaf for the writer and the reader, on events like those of the car inquiry record (100 cars, 25 dealers,
//! 2,100 leaves).
#![expect(clippy::print_stdout, clippy::cast_possible_truncation, reason = "a measuring program")]
//!
//! `cargo run --release -p quayline-json --example json_rates [seconds]`

use std::hint::black_box;
use std::time::{Duration, Instant};

use quayline_core::{Digits, Limits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};
use quayline_json::{EndOfInput, JsonReader, JsonSplitter, JsonStyle, JsonWriter, ReaderOptions, Split};

const CAR_FIELDS: [&str; 20] = [
    "CARMODEL-1-REF",
    "CARMODEL-2-MODEL",
    "CARMODEL-3-COST",
    "CARMODEL-4-LEATHERSEATS",
    "CARMODEL-5-SUNROOF",
    "CARMODEL-6-REARCAMERA",
    "CARMODEL-7-SATNAV",
    "CARMODEL-8-HEATEDSEATS",
    "CARMODEL-9-BLUETOOTH",
    "CARMODEL-10-PARKINGSENSORS",
    "CARMODEL-11-ALLOYS",
    "CARMODEL-12-REMOTESTART",
    "CARMODEL-13-BLINDSPOT",
    "CARMODEL-14-THIRDROWSEATING",
    "CARMODEL-15-HEATEDMIRRORS",
    "CARMODEL-16-FRONTCAMERA",
    "CARMODEL-17-HEATEDWINDSCREEN",
    "CARMODEL-18-ALARM",
    "CARMODEL-19-TRACKER",
    "CARMODEL-20-POWERSEATS",
];

const DEALER_FIELDS: [(&str, usize); 4] = [
    ("CARMODEL-DEALERSHIP", 16),
    ("CARMODEL-DEALER-COUNTRY", 2),
    ("CARMODEL-DEALER-ADDRES", 90),
    ("CARMODEL-DEALER-PHONE-NUMBE", 16),
];

/// Data of a decoder: for each leaf its node, offset in the translated record, and length.
struct Record {
    shape: Shape,
    cars: NodeId,
    dealers: NodeId,
    text: Vec<u8>,
    leaves: Vec<(NodeId, u32, u32)>,
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1.0);
    let memcpy = time(seconds / 2.0, {
        let from = vec![1u8; 30_128];
        let mut to = vec![0u8; 30_128];
        move || black_box(&mut to).copy_from_slice(black_box(&from))
    });
    println!("memcpy of 30,128 bytes: {:.3} us, {:.1} GB/s", memcpy * 1e6, 30_128.0 / memcpy / 1e9);
    strings(seconds);
    digits(seconds);
    ints(seconds);
}

fn strings(seconds: f64) {
    let record = car_record();
    let leaves = record.leaves.len() as f64;
    let stream = write("write strings", &record.shape, leaves, seconds, |writer| drive(&record, writer));
    read("read strings", &record.shape, &stream, leaves, seconds);
    let mut array = b"[\n".to_vec();
    (0..16).for_each(|_| array.extend_from_slice(&[stream.trim_ascii_end(), b",\n"].concat()));
    array.extend_from_slice(b"0]");
    let time = time(seconds, || {
        let mut splitter = JsonSplitter::new(&Limits::default());
        let mut rest = array.as_slice();
        while let Split::Document { consumed, .. } = splitter.split(rest, EndOfInput::Yes).expect("an array") {
            rest = &rest[consumed..];
        }
    });
    report("split", 16.0 * leaves, array.len(), time);
}

fn numbers() -> Shape {
    let mut numbers = Shape::builder("R");
    for name in CAR_FIELDS {
        numbers.scalar(name, Scalar::Decimal { digits: 11, scale: 2, signed: true }, Occurs::Once);
    }
    numbers.finish()
}

fn digits(seconds: f64) {
    let shape = numbers();
    let digits: Vec<u8> = (0..64_000u32).map(|i| b'0' + (i.wrapping_mul(2_654_435_761) >> 28 & 7) as u8).collect();
    let stream = write("write digits", &shape, 2_000.0, seconds, |writer| {
        for row in 0..100 {
            writer.enter(NodeId::ROOT);
            for n in 0..20u32 {
                let at = (row * 20 + n as usize) * 11;
                let digits = Run::new(&digits[at..], 11);
                writer.value(NodeId(1 + n), Value::Digits(Digits { digits, negative: at & 64 != 0, scale: 2 }));
            }
            writer.leave(NodeId::ROOT);
        }
    });
    read("read digits", &shape, &stream, 2_000.0, seconds);
}

fn ints(seconds: f64) {
    let shape = numbers();
    let ints: Vec<i64> = (0..2_000i64).map(|i| (i * 2_654_435_761) % (10i64.pow(1 + (i % 9) as u32)) - 40).collect();
    let stream = write("write ints", &shape, 2_000.0, seconds, |writer| {
        for row in ints.chunks(20) {
            writer.enter(NodeId::ROOT);
            for (n, value) in (1u32..).zip(row) {
                writer.value(NodeId(n), Value::Int(*value, 0));
            }
            writer.leave(NodeId::ROOT);
        }
    });
    read("read ints", &shape, &stream, 2_000.0, seconds);
}

/// Writes, and reports the rate. Returns the output.
fn write(name: &str, shape: &Shape, leaves: f64, seconds: f64, mut drive: impl FnMut(&mut JsonWriter)) -> Vec<u8> {
    let mut writer = JsonWriter::new(shape, JsonStyle::default());
    let time = time(seconds, || {
        writer.clear();
        drive(&mut writer);
        black_box(writer.bytes());
    });
    report(name, leaves, writer.bytes().len(), time);
    writer.bytes().to_vec()
}

/// Reads the lines in `stream` and reports.
fn read(name: &str, shape: &Shape, stream: &[u8], leaves: f64, seconds: f64) {
    let mut reader = JsonReader::new(shape, ReaderOptions::default());
    let time_read = time(seconds, || {
        for line in stream.split_inclusive(|byte| *byte == b'\n') {
            reader.read(line, &mut Count::default()).expect("what the writer wrote is read");
        }
    });
    let time_lines = time(seconds / 4.0, || {
        stream.split_inclusive(|byte| *byte == b'\n').for_each(|line| _ = black_box(line));
    });
    report(name, leaves, stream.len(), time_read - time_lines);
}

/// A sink that looks at each value's length.
#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn enter(&mut self, node: NodeId) {
        black_box(node);
    }
    fn leave(&mut self, node: NodeId) {
        black_box(node);
    }
    fn open_list(&mut self, node: NodeId) {
        black_box(node);
    }
    fn close_list(&mut self, node: NodeId) {
        black_box(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.0 += node.index()
            + match value {
                Value::Ascii(run) | Value::Text(run) => run.len(),
                Value::Digits(digits) => digits.digits.len(),
                _ => 1,
            };
        black_box(self.0);
    }
    fn discard(&mut self) {}
}

fn report(name: &str, leaves: f64, len: usize, time: f64) {
    println!(
        "{name}: {leaves} leaves, {len} bytes: {:.2} us, {:.2} ns a leaf, {:.2} GB/s of JSON",
        time * 1e6,
        time / leaves * 1e9,
        len as f64 / time / 1e9
    );
}

/// Seconds of one call, the best of ten slices of the time given.
fn time(seconds: f64, mut call: impl FnMut()) -> f64 {
    let slice = Duration::from_secs_f64(seconds / 10.0);
    (0..10)
        .map(|_| {
            let start = Instant::now();
            let mut calls = 0u32;
            while start.elapsed() < slice {
                (0..16).for_each(|_| call());
                calls += 16;
            }
            start.elapsed().as_secs_f64() / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

fn drive(record: &Record, sink: &mut impl Sink) {
    let mut leaves = record.leaves.iter();
    sink.enter(NodeId::ROOT);
    for (list, times, fields) in [(record.cars, 100, CAR_FIELDS.len()), (record.dealers, 25, DEALER_FIELDS.len())] {
        sink.open_list(list);
        for _ in 0..times {
            sink.enter(list);
            for (leaf, offset, len) in leaves.by_ref().take(fields) {
                sink.value(*leaf, Value::Ascii(Run::new(&record.text[*offset as usize..], *len as usize)));
            }
            sink.leave(list);
        }
        sink.close_list(list);
    }
    sink.leave(NodeId::ROOT);
}

fn car_record() -> Record {
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("CAR100CP");
    let cars = shape.open("CARMODEL-CAR-DATA", Occurs::Many { min: 1, max: Some(100) });
    let car_fields: Vec<NodeId> = CAR_FIELDS.iter().map(|name| shape.scalar(*name, text(), Occurs::Once)).collect();
    shape.close();
    let dealers = shape.open("CARMODEL-DEALER-DATA", Occurs::Many { min: 1, max: Some(25) });
    let dealer_fields = DEALER_FIELDS.map(|(name, width)| (shape.scalar(name, text(), Occurs::Once), width));
    let mut record =
        Record { shape: shape.finish(), cars, dealers, text: vec![b' '; 30_128], leaves: Vec::with_capacity(2_100) };
    let mut random = 1u64;
    let mut offset = 0;
    let mut push = |record: &mut Record, leaf: NodeId, width: usize, len: usize| {
        record.text[offset..offset + len].fill(b'M');
        record.leaves.push((leaf, offset as u32, len as u32));
        offset += width;
    };
    for _ in 0..100 {
        for (i, leaf) in car_fields.iter().enumerate() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let len = match i {
                0 => 8,
                1 => 5 + (random >> 60) as usize % 7,
                2 => 5,
                _ => 1 + 2 * (random >> 63) as usize,
            };
            push(&mut record, *leaf, 12, len);
        }
    }
    for _ in 0..25 {
        for (leaf, width) in dealer_fields {
            push(&mut record, leaf, width, width.min(40));
        }
    }
    record
}
