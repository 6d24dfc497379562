//! Measures columns, Arrow IPC and Parquet without a decoder: values as one would send them, from prepared buffers.
//!
//! ```text
//! cargo run --release -p quayline-columnar --example columns -- [LAYOUT [OUTPUT [RECORDS [FILE]]]]
//! ```
//! * `LAYOUT`: `disp`, a DISPLAY-heavy record of 200 bytes (seven texts of few variants, seven random numbers); `comp3`, a packed one of 152
//!   bytes (26 random numbers, two texts); `unique`, 200 bytes of eight texts that never repeat; `blank`, 200 bytes of fields half of which
//!   are null.
//! * `OUTPUT`: `parquet`, `uncompressed`, `ipc`, or `sink` for the columns alone.
//!
//! Prints record bytes a CPU second, bytes written and peak memory.

use std::io::Write;

use quayline_columnar::{
    ArrowIpcWriter, Codec, ColumnOptions, ColumnSink, Framing, ParquetOptions, ParquetWriter, TextStore,
};
use quayline_core::{Digits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};

/// One field of the record.
#[derive(Clone, Copy)]
enum Field {
    /// Few variants of so many words.
    Text {
        width: usize,
        words: usize,
    },
    /// Anything.
    Unique {
        width: usize,
    },
    Number {
        digits: usize,
        scale: i16,
        signed: bool,
    },
    /// A number that is null half of the time.
    Blank {
        digits: usize,
    },
}

/// Name, bytes of a record as it stands in a file, fields.
struct Layout {
    record_bytes: usize,
    fields: Vec<Field>,
}

fn layout(name: &str) -> Layout {
    let text = |width, words| Field::Text { width, words };
    let number = |digits| Field::Number { digits, scale: 0, signed: false };
    let money = |digits, scale| Field::Number { digits, scale, signed: true };
    let fields = match name {
        "disp" => vec![
            number(10),
            text(25, 1),
            text(15, 1),
            text(40, 3),
            text(20, 2),
            text(2, 1),
            number(5),
            number(8),
            money(11, 2),
            money(11, 2),
            money(7, 4),
            number(6),
            text(1, 0),
            text(39, 4),
        ],
        "comp3" => [
            vec![Field::Unique { width: 12 }, number(9), money(8, 0)],
            vec![money(11, 2); 12],
            vec![money(5, 0); 8],
            vec![money(17, 2); 2],
            vec![money(9, 6); 3],
            vec![text(2, 0)],
        ]
        .concat(),
        "unique" => vec![Field::Unique { width: 25 }; 8],
        "blank" => vec![Field::Blank { digits: 10 }; 20],
        other => panic!("no layout {other}"),
    };
    Layout { record_bytes: if name == "comp3" { 152 } else { 200 }, fields }
}

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

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "disp".to_owned());
    let mode = args.next().unwrap_or_else(|| "parquet".to_owned());
    let records: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let path = args.next().unwrap_or_else(|| "/dev/null".to_owned());
    let layout = layout(&name);
    let ring = Ring::new(&layout.fields);
    let shape = shape(&layout.fields);
    let text = if mode == "ipc" { TextStore::Plain } else { TextStore::Interned };
    let mut sink = ColumnSink::new(&shape, &ColumnOptions { text, ..ColumnOptions::default() }).expect("a valid shape");
    let out = std::io::BufWriter::new(std::fs::File::create(path).expect("the output"));

    let start = cpu_seconds();
    let send = |sink: &mut ColumnSink, record| send(&ring, &layout.fields, record, sink);
    let bytes = match mode.as_str() {
        "sink" => {
            let mut kept = 0;
            drive(send, records, &mut sink, |sink| kept += sink.take_batch().expect("a batch").num_rows());
            assert_eq!(kept, records);
            0
        }
        "ipc" => {
            let mut writer = ArrowIpcWriter::new(out, &sink, Framing::File).expect("a header");
            drive(send, records, &mut sink, |sink| {
                writer.write(&sink.take_batch().expect("a batch")).expect("written")
            });
            writer.finish().expect("a footer").1
        }
        _ => {
            let codec = if mode == "uncompressed" { Codec::Uncompressed } else { Codec::Snappy };
            let options = ParquetOptions { codec, ..ParquetOptions::default() };
            let mut writer = ParquetWriter::new(out, &sink, &options).expect("a header");
            let mut encoder = writer.encoder();
            drive(send, records, &mut sink, |sink| {
                writer.write(encoder.take_pages(sink).expect("pages")).expect("written")
            });
            writer.finish().expect("a footer").1
        }
    };
    let seconds = cpu_seconds() - start;
    let record_bytes = (records * layout.record_bytes) as f64;
    writeln!(
        std::io::stderr(),
        "{name} {mode}: {:.0} MB/s of record bytes, {:.0} ns a record, {:.1} bytes a record out, peak {} MB",
        record_bytes / seconds / 1e6,
        seconds / records as f64 * 1e9,
        bytes as f64 / records as f64,
        peak_kilobytes() / 1024,
    )
    .expect("stderr");
}

fn shape(fields: &[Field]) -> Shape {
    let mut shape = Shape::builder("RECORD");
    for (i, field) in fields.iter().enumerate() {
        let scalar = match *field {
            Field::Text { .. } | Field::Unique { .. } => Scalar::Text { chars_max: None },
            Field::Number { digits, scale, signed } => {
                Scalar::Decimal { digits: u16::try_from(digits).expect("short"), scale, signed }
            }
            Field::Blank { digits } => {
                Scalar::Decimal { digits: u16::try_from(digits).expect("short"), scale: 0, signed: false }
            }
        };
        shape.scalar(format!("FIELD-{i}"), scalar, Occurs::Once);
    }
    shape.finish()
}

fn drive(
    send: impl Fn(&mut ColumnSink, usize),
    records: usize,
    sink: &mut ColumnSink,
    mut full: impl FnMut(&mut ColumnSink),
) {
    for record in 0..records {
        send(sink, record);
        assert!(sink.take_refusal().is_none());
        if sink.is_full() {
            full(sink);
        }
    }
    full(sink);
}

/// The events of one record.
#[inline(never)]
fn send(ring: &Ring, fields: &[Field], record: usize, sink: &mut ColumnSink) {
    let mut texts = &ring.texts[record % RING * ring.text_bytes..];
    let mut lengths = &ring.lengths[record % RING * ring.text_fields..];
    // Records take their digits from anywhere, so that numbers do not repeat as texts do.
    let mut digits = &ring.digits[record.wrapping_mul(7919) % DIGITS..];
    sink.enter(NodeId::ROOT);
    for (node, field) in (1..).map(NodeId).zip(fields) {
        let value = match *field {
            Field::Text { width, .. } => {
                let run = Run::new(texts, lengths[0].into());
                (texts, lengths) = (&texts[width..], &lengths[1..]);
                Value::Ascii(run)
            }
            Field::Unique { width } => {
                let run = Run::new(digits, width);
                digits = &digits[width..];
                Value::Ascii(run)
            }
            Field::Number { digits: width, scale, signed } => {
                let run = Run::new(digits, width);
                digits = &digits[width..];
                // The low bit of the next digit serves as the sign.
                Value::Digits(Digits { digits: run, negative: signed && digits[0] & 1 == 1, scale })
            }
            Field::Blank { digits: width } => {
                let run = Run::new(digits, width);
                digits = &digits[width..];
                if digits[0] & 1 == 1 {
                    Value::Null
                } else {
                    Value::Digits(Digits { digits: run, negative: false, scale: 0 })
                }
            }
        };
        sink.value(node, value);
    }
    sink.leave(NodeId::ROOT);
}

/// Prepared values: texts from 256 variants of a column, as the reference generator makes them, and digits at random.
struct Ring {
    texts: Vec<u8>,
    /// Without trailing blanks: a decoder has cut them.
    lengths: Vec<u8>,
    text_bytes: usize,
    text_fields: usize,
    digits: Vec<u8>,
}

/// Records whose texts are prepared, enough that branches and caches see fresh values.
const RING: usize = 50_000;
const DIGITS: usize = 1 << 20;

impl Ring {
    fn new(fields: &[Field]) -> Self {
        let mut random = 20_200_910u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let mut ring =
            Ring { texts: Vec::new(), lengths: Vec::new(), text_bytes: 0, text_fields: 0, digits: Vec::new() };
        for _ in 0..RING {
            for field in fields {
                if let Field::Text { width, words } = *field {
                    let variant = usize::try_from(next() >> 56).expect("eight bits");
                    let mut text = match (width, words) {
                        (_, 0) => "A".to_owned(),
                        (2, _) => ["NY", "CA", "TX", "WA"][variant % 4].to_owned(),
                        _ => (0..words).map(|word| WORDS[(variant * 7 + word * 3) % 20]).collect::<Vec<_>>().join(" "),
                    };
                    text.truncate(width);
                    ring.lengths.push(u8::try_from(text.trim_end().len()).expect("short"));
                    ring.texts.extend_from_slice(format!("{text:width$}").as_bytes());
                }
            }
        }
        ring.text_bytes = ring.texts.len() / RING;
        ring.text_fields = ring.lengths.len() / RING;
        ring.texts.extend_from_slice(&[b' '; 64]);
        ring.digits.extend((0..DIGITS + 512).map(|_| b'0' + u8::try_from((next() >> 32) % 10).expect("a digit")));
        ring
    }
}

/// CPU seconds of this thread, user and system; nanoseconds as Linux accounts them.
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
