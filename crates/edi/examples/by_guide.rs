//! Measures documents by guide, one thread, CPU time of that thread.
//!
//! `cargo run --release -p quayline-edi --example by_guide GUIDE FILE [rounds] [page_bytes] [row]`: the guide's includes lie beside it; only rows
//! whose names have `row` in them are run, all for none.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use quayline_core::{Limits, NodeId, Sink, Value};
use quayline_edi::guide::{GuideResolver, GuideSet, GuideText, ResolveError, parse_guide};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, ValidatorOptions,
};
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_json::{JsonStyle, JsonWriter};

/// Maximum number of bytes that a reader holds at a time.
const BUFFER: usize = 64 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let guide = arguments.next().expect("a guide file");
    let file = arguments.next().expect("a file of interchanges");
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let page_bytes = arguments.next().and_then(|text| text.parse().ok()).filter(|bytes| *bytes > 0);
    let part = arguments.next().unwrap_or_default();
    let start = cpu_seconds();
    let name = Path::new(&guide).file_name().expect("a file").to_string_lossy().into_owned();
    let beside = Beside(Path::new(&guide).parent().map(Path::to_path_buf).unwrap_or_default());
    let text = std::fs::read_to_string(&guide).expect("readable");
    let guide = parse_guide(&name, &text, &beside, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}"));
    let set = GuideSet::new([guide]).unwrap_or_else(|findings| panic!("{findings}"));
    let guides = Arc::new(GuideDocuments::new(set, NodeNames::References));
    println!("guide loaded in {:.2} ms", (cpu_seconds() - start) * 1e3);
    let text = std::fs::read(file).expect("readable");
    let options = GenericOptions { guides: Some(Arc::clone(&guides)), page_bytes, ..GenericOptions::default() };
    let generic = GenericOptions::default();
    let checked = GenericOptions { validation: Some(ValidatorOptions::default()), ..options.clone() };
    let mut rows: Vec<Row<'_>> = vec![
        ("documents without a guide to nothing", Box::new(|| drive(&generic, &text, &mut Nothing).0)),
        ("documents without a guide as JSON", Box::new(|| json(&generic, &text))),
        ("documents by guide to nothing", Box::new(|| drive(&options, &text, &mut Nothing).0)),
        ("documents by guide as JSON", Box::new(|| json(&options, &text))),
        ("documents by guide, checked, to nothing", Box::new(|| drive(&checked, &text, &mut Nothing).0)),
        ("documents by guide, checked, as JSON", Box::new(|| json(&checked, &text))),
        ("documents by guide written again", Box::new(|| rewrite(&options, &text))),
    ];
    let (documents, errors) = drive(&checked, &text, &mut Nothing);
    println!("{:.1} MB, {documents} documents, {errors} errors", text.len() as f64 / 1e6);
    for (what, run) in rows.iter_mut().filter(|(what, _)| what.contains(&part)) {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let start = cpu_seconds();
            black_box(run());
            best = best.min(cpu_seconds() - start);
        }
        println!("  {what:40} {:7.0} MB/CPU-s", text.len() as f64 / best / 1e6);
    }
}

/// Name of a measurement and the function that runs it.
type Row<'a> = (&'static str, Box<dyn FnMut() -> u64 + 'a>);

/// Documents and errors.
fn drive(options: &GenericOptions, text: &[u8], sink: &mut impl Sink) -> (u64, u64) {
    drive_with(options, text, sink, |_| {})
}

fn drive_with<S: Sink>(
    options: &GenericOptions,
    text: &[u8],
    sink: &mut S,
    mut done: impl FnMut(&mut S),
) -> (u64, u64) {
    let mut reader = DocumentReader::new(options);
    let (mut from, mut documents, mut all) = (0, 0, 0);
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        loop {
            match pass.read(sink) {
                DocumentStep::Document { errors, .. } => {
                    documents += 1;
                    all += errors;
                    done(sink);
                }
                DocumentStep::NeedMore => break,
                DocumentStep::Done => return (documents, all),
            }
        }
        from += pass.finish();
    }
}

fn json(options: &GenericOptions, text: &[u8]) -> u64 {
    let reader = DocumentReader::new(options);
    let mut writer = JsonWriter::new(reader.shape(), JsonStyle::default());
    drive_with(options, text, &mut writer, |writer| {
        black_box(writer.bytes());
        writer.clear();
    })
    .0
}

fn rewrite(options: &GenericOptions, text: &[u8]) -> u64 {
    let mut writer = EdiWriter::new(EdiWriterOptions { guides: options.guides.clone(), ..EdiWriterOptions::default() });
    drive_with(options, text, &mut writer, |writer| {
        assert_eq!(writer.take_errors(), []);
        black_box(writer.bytes());
        writer.clear();
    })
    .0
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
        black_box((node, value));
    }
    fn discard(&mut self) {}
}

/// Files of one folder.
struct Beside(std::path::PathBuf);

impl GuideResolver for Beside {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        let path = self.0.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(GuideText { name: name.to_owned(), text }),
            Err(error) => Err(ResolveError::Unreadable { name: name.to_owned(), reason: error.to_string() }),
        }
    }
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
