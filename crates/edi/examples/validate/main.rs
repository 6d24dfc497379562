//! Validates a file by a guide and says how fast: `validate GUIDE FILE [envelope|guide|notes|rules] [repetitions]`.
//!
//! Prints the first findings, then megabytes per CPU second of the best repetition.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, missing_docs, reason = "a measuring program")]

use std::sync::Arc;

use quayline_core::Limits;
use quayline_edi::guide::{CompiledGuide, GuideResolver, GuideText, ResolveError, parse_guide};
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules, ValidationLevel, Validator, ValidatorOptions};

/// Bytes of a read.
const BUFFER: usize = 256 << 10;

struct Folder;

impl GuideResolver for Folder {
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError> {
        let path = std::path::Path::new(from).parent().map_or_else(|| name.into(), |folder| folder.join(name));
        let text =
            std::fs::read_to_string(&path).map_err(|_| ResolveError::NotFound { tried: vec![name.to_owned()] })?;
        Ok(GuideText { name: path.display().to_string(), text })
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (guide, data) = (args.next().expect("a guide"), args.next().expect("a file"));
    let level = match args.next().as_deref() {
        Some("envelope") => ValidationLevel::Envelope,
        Some("guide") => ValidationLevel::Guide,
        Some("notes") => ValidationLevel::Notes,
        _ => ValidationLevel::Rules,
    };
    let repetitions: u32 = args.next().map_or(5, |n| n.parse().expect("a number"));
    let text = std::fs::read_to_string(&guide).expect("the guide is there");
    let before = cpu_seconds();
    let parsed = match parse_guide(&guide, &text, &Folder, &Limits::default()) {
        Ok(parsed) => parsed,
        Err(findings) => panic!("{findings}"),
    };
    let read = cpu_seconds();
    let compiled = match CompiledGuide::new(&parsed) {
        Ok(compiled) => Arc::new(compiled),
        Err(findings) => panic!("{findings}"),
    };
    for warning in compiled.warnings().iter().take(10) {
        println!("{warning}");
    }
    let items = compiled.items().len();
    println!(
        "guide: {items} items, read in {:.1} ms, compiled in {:.1} ms",
        (read - before) * 1e3,
        (cpu_seconds() - read) * 1e3
    );
    let bytes = std::fs::read(&data).expect("the file is there");
    let mut best = f64::MAX;
    for repetition in 0..repetitions {
        let before = cpu_seconds();
        let (findings, segments) = validate(&bytes, &compiled, level, repetition == 0);
        best = best.min(cpu_seconds() - before);
        if repetition == 0 {
            println!("{segments} segments, {findings} findings");
        }
    }
    println!("{level:?}: {:.0} MB per CPU second", bytes.len() as f64 / 1e6 / best);
}

fn validate(text: &[u8], guide: &Arc<CompiledGuide>, level: ValidationLevel, print: bool) -> (usize, u64) {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions { level, ..ValidatorOptions::default() });
    let (mut from, mut findings, mut segments) = (0, 0, 0);
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        let done = loop {
            match pass.advance() {
                Event::TransactionStart => validator.begin(Some(guide), &pass),
                Event::Segment => {
                    segments += 1;
                    validator.segment(&pass);
                }
                Event::TransactionEnd(closed) => {
                    validator.end(closed, &pass);
                }
                Event::NeedMore => break false,
                Event::Done => break true,
                _ => {}
            }
            if validator.has_faults() || pass.has_faults() {
                for fault in pass.take_faults().chain(validator.take_faults()) {
                    findings += 1;
                    if print && findings <= 20 {
                        println!("{}\n", fault.finding(None));
                    }
                }
            }
        };
        from += pass.finish();
        if done {
            return (findings, segments);
        }
    }
}

/// CPU seconds of this thread.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
