//! Measures the splitter against a pass that only writes the positions of delimiters, one thread, CPU time of that thread.
//!
//! `cargo run --release -p quayline-edi --example measure [megabytes] [rounds] [row]`; with `FILE=...` that file instead of generated ones.
#![expect(clippy::print_stdout, reason = "a measuring program")]

mod generate;

use std::hint::black_box;

use quayline_charset::{DelimiterIndex, DelimiterKernel, DelimiterSet};
use quayline_core::{Limits, NodeId, Sink, Value};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, EnvelopeReader, Event, GenericOptions,
    Rules, SegmentSplitter, Step, generic_shape,
};
use quayline_json::{JsonStyle, JsonWriter};

/// What is measured, and how it is run.
type Row<'a> = (&'static str, Box<dyn FnMut() -> u64 + 'a>);

/// What a reader holds at a time.
const BUFFER: usize = 64 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(95);
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(9);
    let only = arguments.next().unwrap_or_default();
    let x12 =
        DelimiterSet { element: b'*', terminator: b'~', component: Some(b':'), repetition: Some(b'^'), release: None };
    let edifact =
        DelimiterSet { element: b'+', terminator: b'\'', component: Some(b':'), repetition: None, release: Some(b'?') };
    let inputs = match std::env::var("FILE") {
        Ok(file) => {
            let text = std::fs::read(&file).expect("a file that can be read");
            let set = if text.starts_with(b"ISA") { x12 } else { edifact };
            vec![(file, text, set)]
        }
        Err(_) => vec![
            ("837P".to_owned(), generate::claims(megabytes * 1056, 1), x12),
            ("ORDERS".to_owned(), generate::orders(megabytes * 782, 1), edifact),
        ],
    };
    let kernels = DelimiterKernel::available();
    let second = kernels[kernels.len().saturating_sub(2)];
    for (name, text, set) in inputs {
        println!("{name}: {:.1} MB, {:?}, second {second:?}", text.len() as f64 / 1e6, DelimiterKernel::active());
        let mut rows: Vec<Row<'_>> = vec![
            ("write delimiter positions, second kernel", Box::new(|| positions(second, &set, &text))),
            ("write delimiter positions, best kernel", Box::new(|| positions(DelimiterKernel::active(), &set, &text))),
            ("index", Box::new(|| index(DelimiterKernel::active(), &set, &text))),
            ("split into segments", Box::new(|| segments(&text))),
            ("split into elements", Box::new(|| elements(&text))),
            ("split into components, released", Box::new(|| components(&text))),
            ("envelopes checked", Box::new(|| envelopes(&text))),
            ("generic documents to nothing", Box::new(|| documents(&text, &mut Nothing))),
            ("generic documents as JSON", Box::new(|| json(&text))),
            ("generic documents written again", Box::new(|| rewrite(&text))),
        ];
        rows.retain(|(what, _)| what.contains(&only) || what.contains("best kernel"));
        let ceiling = rows.iter().position(|(what, _)| what.contains("best kernel")).expect("kept");
        let mut times = vec![Vec::new(); rows.len()];
        for _ in 0..rounds {
            for (i, (_, run)) in rows.iter_mut().enumerate() {
                let start = cpu_seconds();
                black_box(run());
                times[i].push(cpu_seconds() - start);
            }
        }
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        for (i, (what, _)) in rows.iter().enumerate() {
            let ratio = median(times[ceiling].iter().zip(&times[i]).map(|(ceiling, time)| ceiling / time).collect());
            let rate = text.len() as f64 / median(times[i].clone()) / 1e6;
            println!("  {what:40} {rate:7.0} MB/CPU-s  {ratio:.3} of the positions pass");
        }
    }
}

fn positions(kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) -> u64 {
    let mut index = DelimiterIndex::new();
    let mut sum = 0;
    for window in text.chunks(BUFFER) {
        index.scan_positions(kernel, set, window);
        sum += (index.ends().len() + index.parts().len()) as u64;
    }
    sum
}

/// What the splitter lets the index do.
fn index(kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) -> u64 {
    let mut index = DelimiterIndex::new();
    let mut sum = 0;
    for window in text.chunks(BUFFER) {
        index.scan_with(kernel, set, window);
        sum += (index.ends().len() + index.segments() as usize) as u64;
    }
    sum
}

/// Feeds the text as a reader would: a buffer at a time, the rest of a segment carried over.
fn feed(text: &[u8], mut segment: impl FnMut(&quayline_edi::Segment<'_>) -> u64) -> u64 {
    let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
    let (mut from, mut sum) = (0, 0);
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = splitter.over(&text[from..to], end);
        loop {
            match pass.advance() {
                Step::Segment => sum += segment(&pass.segment()),
                Step::Interchange => {}
                Step::NeedMore => break,
                Step::Done => return sum,
            }
        }
        from += pass.finish();
    }
}

fn segments(text: &[u8]) -> u64 {
    feed(text, |segment| segment.len() as u64)
}

fn elements(text: &[u8]) -> u64 {
    feed(text, |segment| segment.raw_elements().map(|element| element.len() as u64 + 1).sum())
}

fn components(text: &[u8]) -> u64 {
    let mut scratch = Vec::new();
    feed(text, |segment| {
        let mut sum = 0;
        for element in segment.elements() {
            if element.is_simple() {
                sum += element.data(&mut scratch).len() as u64;
            } else {
                for repetition in element.repetitions() {
                    for component in repetition.components() {
                        sum += component.data(&mut scratch).len() as u64;
                    }
                }
            }
        }
        sum
    })
}

fn envelopes(text: &[u8]) -> u64 {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut from, mut sum) = (0, 0);
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        loop {
            match pass.advance() {
                Event::Segment => sum += pass.segment().len() as u64,
                Event::NeedMore => break,
                Event::Done => {
                    assert_eq!(pass.take_faults().count(), 0, "the generated file is good");
                    return sum;
                }
                _ => {}
            }
        }
        from += pass.finish();
    }
}

fn documents(text: &[u8], sink: &mut impl Taken) -> u64 {
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let (mut from, mut sum) = (0, 0);
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        loop {
            match pass.read(sink) {
                DocumentStep::Document { .. } => sum += sink.take(),
                DocumentStep::NeedMore => break,
                DocumentStep::Done => return sum,
            }
        }
        from += pass.finish();
        sum += sink.take_part();
    }
}

fn json(text: &[u8]) -> u64 {
    documents(text, &mut JsonWriter::new(&generic_shape(), JsonStyle::default()))
}

fn rewrite(text: &[u8]) -> u64 {
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    let most = documents(text, &mut writer);
    writer.finish();
    let sum = most + writer.bytes().len() as u64;
    assert_eq!(sum, text.len() as u64, "the generated file is canonical");
    sum
}

/// A sink whose output is taken after each document.
trait Taken: Sink {
    fn take(&mut self) -> u64;
    /// Output of a document that is not complete.
    fn take_part(&mut self) -> u64 {
        0
    }
}

impl Taken for JsonWriter {
    fn take_part(&mut self) -> u64 {
        self.take()
    }
    fn take(&mut self) -> u64 {
        let len = self.bytes().len() as u64;
        self.clear();
        len
    }
}

impl Taken for EdiWriter {
    fn take(&mut self) -> u64 {
        let len = self.bytes().len() as u64;
        self.clear();
        len
    }
}

struct Nothing;

impl Sink for Nothing {
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
        black_box((node, &value));
    }
    fn discard(&mut self) {}
}

impl Taken for Nothing {
    fn take(&mut self) -> u64 {
        1
    }
}

/// CPU seconds of this thread.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
