//! Measures columns and Parquet on the values of a DISPLAY-heavy record: 200 bytes, seven texts, seven numbers.
//!
//! ```text
//! cargo run --release -p quayline-columnar --example disphvy -- [RECORDS] [parquet|uncompressed|plain|sink|ipc] [FILE]
//! ```
//! The values come from a ring of prepared records, as a decoder would send them; nothing is decoded. Prints record bytes a CPU second.

use std::io::Write;

use quayline_columnar::{
    ArrowIpcWriter, Codec, ColumnOptions, ColumnSink, Framing, ParquetOptions, ParquetWriter, TextStore,
};
use quayline_core::{Digits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};

/// One field of the record.
enum Field {
    Text { width: usize, words: usize },
    Number { width: usize, scale: i16, signed: bool },
}

const FIELDS: [(&str, Field); 14] = [
    ("CUST-ID", Field::Number { width: 10, scale: 0, signed: false }),
    ("LAST-NAME", Field::Text { width: 25, words: 1 }),
    ("FIRST-NAME", Field::Text { width: 15, words: 1 }),
    ("STREET", Field::Text { width: 40, words: 3 }),
    ("CITY", Field::Text { width: 20, words: 2 }),
    ("STATE", Field::Text { width: 2, words: 1 }),
    ("ZIP", Field::Number { width: 5, scale: 0, signed: false }),
    ("OPENED", Field::Number { width: 8, scale: 0, signed: false }),
    ("BALANCE", Field::Number { width: 11, scale: 2, signed: true }),
    ("LIMIT", Field::Number { width: 11, scale: 2, signed: true }),
    ("RATE", Field::Number { width: 7, scale: 4, signed: true }),
    ("TXN-COUNT", Field::Number { width: 6, scale: 0, signed: false }),
    ("STATUS", Field::Text { width: 1, words: 0 }),
    ("NOTE", Field::Text { width: 39, words: 4 }),
];
const WORDS: [&str; 20] = [
    "ALPHA",
    "BRAVO",
    "CHARLIE",
    "DELTA",
    "ECHO",
    "FOXTROT",
    "GOLF",
    "HOTEL",
    "INDIA",
    "JULIETT",
    "KILO",
    "LIMA",
    "MIKE",
    "O'BRIEN",
    "SMITH & CO",
    "PAPA-QUEBEC",
    "ROMEO",
    "SIERRA",
    "TANGO",
    "UNIFORM",
];
const RECORD_BYTES: usize = 200;
/// Records in the ring, enough that branches and caches see fresh values.
const RING: usize = 50_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let records: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mode = args.next().unwrap_or_else(|| "parquet".to_owned());
    let path = args.next().unwrap_or_else(|| "/dev/null".to_owned());
    let ring = ring();
    let mut shape = Shape::builder("DISP-REC");
    for (name, field) in &FIELDS {
        let scalar = match *field {
            Field::Text { width, .. } => Scalar::Text { chars_max: u32::try_from(width).ok() },
            Field::Number { width, scale, signed } => {
                Scalar::Decimal { digits: u16::try_from(width).expect("short"), scale, signed }
            }
        };
        shape.scalar(*name, scalar, Occurs::Once);
    }
    let shape = shape.finish();
    let text = if matches!(mode.as_str(), "ipc" | "plain") { TextStore::Plain } else { TextStore::Interned };
    let mut sink = ColumnSink::new(&shape, &ColumnOptions { text, ..ColumnOptions::default() }).expect("a valid shape");
    let out = std::io::BufWriter::new(std::fs::File::create(path).expect("the output"));

    let start = cpu_seconds();
    let bytes = match mode.as_str() {
        "sink" => {
            let mut kept = 0;
            drive(&ring, records, &mut sink, |sink| kept += sink.take_batch().expect("a batch").num_rows());
            assert_eq!(kept, records);
            0
        }
        "ipc" => {
            let mut writer = ArrowIpcWriter::new(out, &sink, Framing::File).expect("a header");
            drive(&ring, records, &mut sink, |sink| {
                writer.write(&sink.take_batch().expect("a batch")).expect("written");
            });
            writer.finish().expect("a footer").1
        }
        _ => {
            let codec = if mode == "uncompressed" { Codec::Uncompressed } else { Codec::Snappy };
            let options = ParquetOptions { codec, ..ParquetOptions::default() };
            let mut writer = ParquetWriter::new(out, &sink, &options).expect("a header");
            let mut encoder = writer.encoder();
            drive(&ring, records, &mut sink, |sink| {
                writer.write(encoder.take_pages(sink).expect("pages")).expect("written");
            });
            writer.finish().expect("a footer").1
        }
    };
    let seconds = cpu_seconds() - start;
    let record_bytes = (records * RECORD_BYTES) as f64;
    let mut stderr = std::io::stderr().lock();
    writeln!(
        stderr,
        "{mode}: {:.0} MB/s of record bytes, {:.0} ns a record, {bytes} bytes out, {:.2} of the record bytes, peak {} MB",
        record_bytes / seconds / 1e6,
        seconds / records as f64 * 1e9,
        bytes as f64 / record_bytes,
        peak_kilobytes() / 1024,
    )
    .expect("stderr");
}

fn drive(ring: &Ring, records: usize, sink: &mut ColumnSink, mut full: impl FnMut(&mut ColumnSink)) {
    for record in 0..records {
        send(ring, record, sink);
        if sink.is_full() {
            full(sink);
        }
    }
    full(sink);
}

/// The events of one record.
#[inline(never)]
fn send(ring: &Ring, record: usize, sink: &mut ColumnSink) {
    sink.enter(NodeId::ROOT);
    let row = record % RING;
    let mut text = &ring.texts[row * TEXT_BYTES..];
    let mut lengths = &ring.lengths[row * TEXTS..];
    let mut digits = &ring.digits[record.wrapping_mul(7919) % DIGITS..];
    for (node, (_, field)) in (1..).map(NodeId).zip(&FIELDS) {
        match *field {
            Field::Text { width, .. } => {
                sink.value(node, Value::Ascii(Run::new(text, lengths[0].into())));
                lengths = &lengths[1..];
                text = &text[width..];
            }
            Field::Number { width, scale, signed } => {
                // The low bit of the next digit serves as the sign.
                let negative = signed && digits[width] & 1 == 1;
                sink.value(node, Value::Digits(Digits { digits: Run::new(digits, width), negative, scale }));
                digits = &digits[width..];
            }
        }
    }
    sink.leave(NodeId::ROOT);
}

/// Prepared values: texts from 256 variants of a column, as the reference generator makes them, and digits at random. Records take their
/// digits from anywhere in the latter, so that numbers do not repeat as the texts do.
struct Ring {
    texts: Vec<u8>,
    /// Without trailing blanks: a decoder has cut them.
    lengths: Vec<u8>,
    digits: Vec<u8>,
}

const TEXTS: usize = 7;
const TEXT_BYTES: usize = 142;
const DIGITS: usize = 1 << 20;

fn ring() -> Ring {
    let mut random = 20_200_910u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut ring = Ring { texts: Vec::new(), lengths: Vec::new(), digits: Vec::new() };
    for _ in 0..RING {
        for (_, field) in &FIELDS {
            if let Field::Text { width, words } = *field {
                let variant = usize::try_from(next() >> 56).expect("eight bits");
                let mut text = match (width, words) {
                    (2, _) => ["NY", "CA", "TX", "WA"][variant % 4].to_owned(),
                    (_, 0) => "A".to_owned(),
                    _ => (0..words).map(|word| WORDS[(variant * 7 + word * 3) % 20]).collect::<Vec<_>>().join(" "),
                };
                text.truncate(width);
                ring.lengths.push(u8::try_from(text.trim_end().len()).expect("short"));
                ring.texts.extend_from_slice(format!("{text:width$}").as_bytes());
            }
        }
    }
    ring.texts.extend_from_slice(&[b' '; 64]);
    for _ in 0..DIGITS + 128 {
        ring.digits.push(b'0' + u8::try_from((next() >> 32) % 10).expect("a digit"));
    }
    ring
}

/// CPU seconds of this process, user and system.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds: f64 = stat.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}
