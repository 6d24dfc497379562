//! Measures the speed of maps beside a plain copy of the same events: `cargo run --release -p quayline-map --example speed`.
//!
//! Both drive the same sink, which copies every value behind the other as a record writer does. CPU time, best of several repetitions.

use std::time::Instant;

use quayline_core::{Document, NodeId, Occurs, Run, Scalar, Shape, Sink, Value, write_number};
use quayline_map::{Absent, MapSpec, Mapper, NoFiles, One, Options, Output, StillHost, compile};

/// Copies values into one buffer.
#[derive(Default)]
struct Copying {
    bytes: Vec<u8>,
    total: usize,
}

impl Sink for Copying {
    fn enter(&mut self, _: NodeId) {
        self.bytes.push(b'{');
    }
    fn leave(&mut self, node: NodeId) {
        self.bytes.push(b'}');
        if node == NodeId::ROOT {
            self.total += self.bytes.len();
            self.bytes.clear();
        }
    }
    fn open_list(&mut self, _: NodeId) {
        self.bytes.push(b'[');
    }
    fn close_list(&mut self, _: NodeId) {
        self.bytes.push(b']');
    }
    #[inline]
    fn value(&mut self, _: NodeId, value: Value<'_>) {
        match value {
            Value::Text(run) | Value::Ascii(run) => self.run(run),
            Value::Digits(digits) => self.run(digits.digits),
            other => {
                write_number(&mut self.bytes, other);
            }
        }
        self.bytes.push(b',');
    }
    fn discard(&mut self) {}
}

impl Copying {
    #[inline]
    fn run(&mut self, run: Run<'_>) {
        let len = self.bytes.len();
        match run.tail().first_chunk::<16>() {
            Some(block) if run.len() <= 16 => {
                self.bytes.extend_from_slice(block);
                self.bytes.truncate(len + run.len());
            }
            _ => self.bytes.extend_from_slice(run.bytes()),
        }
    }
}

fn main() {
    record();
    claims();
}

/// CPU time of this thread, which others on the machine do not lengthen.
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let seconds = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
    seconds
}

fn seconds(mut run: impl FnMut()) -> f64 {
    (0..9)
        .map(|_| {
            let began = cpu();
            run();
            cpu() - began
        })
        .fold(f64::MAX, f64::min)
}

/// A record of 100 fields to another of 100 fields: 70 copies, 10 texts that are changed, 10 sums, 10 dates.
fn record() {
    let (mut source, mut target) = (Shape::builder("in"), Shape::builder("out"));
    let mut map = String::new();
    for n in 0..100 {
        let (text, number) =
            (Scalar::Text { chars_max: Some(20) }, Scalar::Decimal { digits: 9, scale: 2, signed: true });
        let scalar = if n % 2 == 0 || n >= 90 { text } else { number };
        source.scalar(format!("F{n}"), scalar.clone(), Occurs::Once);
        target.scalar(format!("T{n}"), scalar, Occurs::Once);
        let expression = match n {
            90.. => format!("format(date(F{n}, \"CCYYMMDD\"), \"YYYY-MM-DD\")"),
            70..80 if n % 2 == 0 => format!("upper(F{n})"),
            70..90 if n % 2 == 1 => format!("fit(F{n} + F{}, 9, 2)", n - 2),
            _ => format!("F{n}"),
        };
        map.push_str(&format!("T{n} = {expression}\n"));
    }
    let (source, target) = (source.finish(), target.finish());
    let outputs = [Output { name: "out", shape: &target, absent: Absent::Refused }];
    let spec = MapSpec::parse("speed.qmap", &map);
    let began = Instant::now();
    let plan = compile(&spec, &source, &outputs, Options::default(), &NoFiles).expect("a sound map").plan;
    let compiled = began.elapsed();
    // A record in a padded buffer, as a decoder hands it on.
    let mut record = Vec::new();
    let mut fields: Vec<(usize, usize)> = Vec::new();
    for n in 0..100 {
        let value = if n >= 90 {
            "20260131"
        } else if n % 2 == 0 {
            "some text of it"
        } else {
            "001234567"
        };
        fields.push((record.len(), value.len()));
        record.extend_from_slice(value.as_bytes());
    }
    let bytes = record.len();
    record.extend_from_slice(&[b' '; 32]);
    let drive = |sink: &mut dyn FnMut(NodeId, Value<'_>)| {
        for (n, (at, len)) in (1u32..).zip(&fields) {
            let run = Run::new(&record[*at..], *len);
            let number = n % 2 == 0 && n < 91;
            let value = if number {
                Value::Digits(quayline_core::Digits { digits: run, negative: false, scale: 2 })
            } else {
                Value::Ascii(run)
            };
            sink(NodeId(n), value);
        }
    };
    const COUNT: usize = 20_000;
    let mut plain = Copying::default();
    let copy = seconds(|| {
        for _ in 0..COUNT {
            plain.enter(NodeId::ROOT);
            drive(&mut |node, value| plain.value(node, value));
            plain.leave(NodeId::ROOT);
        }
    });
    let mut mapper = Mapper::new(&plan, One(Copying::default()), StillHost::default());
    let mapped = seconds(|| {
        for _ in 0..COUNT {
            mapper.enter(NodeId::ROOT);
            drive(&mut |node, value| mapper.value(node, value));
            mapper.leave(NodeId::ROOT);
        }
    });
    assert!(mapper.is_clean(), "{:?}", mapper.outcome().findings);
    report("record of 100 fields", bytes * COUNT, COUNT * 100, copy, mapped);
    eprintln!("  compiled in {:.2} ms", compiled.as_secs_f64() * 1e3);
}

fn report(what: &str, bytes: usize, values: usize, copy: f64, mapped: f64) {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (bytes, values) = (bytes as f64, values as f64);
    eprintln!(
        "{what}: copy {:.0} MB/s ({:.1} ns a value), map {:.0} MB/s ({:.1} ns a value), {:.2} of the copy",
        bytes / copy / 1e6,
        copy / values * 1e9,
        bytes / mapped / 1e6,
        mapped / values * 1e9,
        copy / mapped
    );
}

const CLAIM: [(&str, &[(&str, bool)]); 6] = [
    (
        "CLM",
        &[
            ("CLM01", false),
            ("CLM02", true),
            ("CLM05-1", false),
            ("CLM05-3", false),
            ("CLM06", false),
            ("CLM07", false),
            ("CLM08", false),
            ("CLM09", false),
        ],
    ),
    ("DTP", &[("DTP01", false), ("DTP02", false), ("DTP03", false)]),
    ("REF", &[("REF01", false), ("REF02", false)]),
    ("HI", &[("HI01-1", false), ("HI01-2", false), ("HI02-1", false), ("HI02-2", false)]),
    (
        "NM1",
        &[
            ("NM101", false),
            ("NM102", false),
            ("NM103", false),
            ("NM104", false),
            ("NM105", false),
            ("NM108", false),
            ("NM109", false),
        ],
    ),
    ("PRV", &[("PRV01", false), ("PRV02", false), ("PRV03", false)]),
];
const LINE: [(&str, &[(&str, bool)]); 3] = [
    ("LX", &[("LX01", true)]),
    (
        "SV1",
        &[
            ("SV101-1", false),
            ("SV101-2", false),
            ("SV102", true),
            ("SV103", false),
            ("SV104", true),
            ("SV105", false),
            ("SV107-1", false),
        ],
    ),
    ("DTP", &[("DTP01", false), ("DTP02", false), ("DTP03", false)]),
];

/// Claims with lines, 60 statements.
fn claims() {
    let text = || Scalar::Text { chars_max: Some(50) };
    let number = || Scalar::Decimal { digits: 18, scale: 2, signed: true };
    let mut source = Shape::builder("837");
    source.open("2300", Occurs::Many { min: 0, max: None });
    let segments = |shape: &mut quayline_core::ShapeBuilder, all: &[(&str, &[(&str, bool)])]| {
        for (tag, elements) in all {
            shape.open(*tag, Occurs::Optional);
            for (name, is_number) in *elements {
                shape.scalar(*name, if *is_number { number() } else { text() }, Occurs::Optional);
            }
            shape.close();
        }
    };
    segments(&mut source, &CLAIM);
    source.open("2400", Occurs::Many { min: 0, max: None });
    segments(&mut source, &LINE);
    let source = source.finish();

    let mut target = Shape::builder("claims");
    let mut map = String::from("for 2300 make claims {\n");
    target.open("claims", Occurs::Many { min: 0, max: None });
    let mut fields =
        |target: &mut quayline_core::ShapeBuilder, all: &[(&str, &[(&str, bool)])], indent: &str, times: usize| {
            for time in 0..times {
                for (tag, elements) in all {
                    for (name, is_number) in *elements {
                        target.scalar(
                            format!("{name}_{tag}{time}"),
                            if *is_number { number() } else { text() },
                            Occurs::Optional,
                        );
                        let from = format!("{tag}.{name}");
                        let value = match *name {
                            "DTP03" => format!("format(date({from}, \"CCYYMMDD\"), \"YYYY-MM-DD\")"),
                            "NM103" => format!("{from} & \", \" & {tag}.NM104"),
                            _ => from,
                        };
                        map.push_str(&format!("{indent}{name}_{tag}{time} = {value}\n"));
                    }
                }
            }
            if times == 2 {
                map.push_str("  for 2400 make lines {\n");
            }
        };
    fields(&mut target, &CLAIM, "  ", 2);
    target.open("lines", Occurs::Many { min: 0, max: None });
    fields(&mut target, &LINE, "    ", 1);
    map.push_str("  }\n}\n");
    let target = target.finish();
    let statements = map.lines().filter(|line| line.contains('=')).count();
    let outputs = [Output { name: "out", shape: &target, absent: Absent::Refused }];
    let spec = MapSpec::parse("speed.qmap", &map);
    let plan = compile(&spec, &source, &outputs, Options::default(), &NoFiles).expect("a sound map").plan;

    let mut document = Document::new();
    let (mut bytes, mut values) = (0, 0);
    let claim = source.child(NodeId::ROOT, "2300").expect("a loop");
    document.enter(NodeId::ROOT);
    document.open_list(claim);
    let mut segment_events = |document: &mut Document, parent: NodeId, all: &[(&str, &[(&str, bool)])]| {
        for (tag, elements) in all {
            let segment = source.child(parent, tag).expect("a segment");
            document.enter(segment);
            for (name, is_number) in *elements {
                let node = source.child(segment, name).expect("an element");
                let value = match (*name, *is_number) {
                    ("DTP03", _) => "20260131",
                    (_, true) => "12350",
                    _ => "ABCD1",
                };
                bytes += value.len() + 1;
                values += 1;
                let run = Run::from(value.as_bytes());
                let value = if *is_number {
                    Value::Digits(quayline_core::Digits { digits: run, negative: false, scale: 2 })
                } else {
                    Value::Ascii(run)
                };
                document.value(node, value);
            }
            document.leave(segment);
        }
    };
    for _ in 0..2_000 {
        document.enter(claim);
        segment_events(&mut document, claim, &CLAIM);
        let line = source.child(claim, "2400").expect("a loop");
        document.open_list(line);
        for _ in 0..3 {
            document.enter(line);
            segment_events(&mut document, line, &LINE);
            document.leave(line);
        }
        document.close_list(line);
        document.leave(claim);
    }
    document.close_list(claim);
    document.leave(NodeId::ROOT);

    let mut plain = Copying::default();
    let copy = seconds(|| document.replay(&mut plain));
    let mut mapper = Mapper::new(&plan, One(Copying::default()), StillHost::default());
    let mapped = seconds(|| document.replay(&mut mapper));
    assert!(mapper.is_clean(), "{:?}", mapper.outcome().findings);
    report(&format!("claims, {statements} statements"), bytes, values, copy, mapped);
}
