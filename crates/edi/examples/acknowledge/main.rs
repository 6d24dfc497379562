//! What acknowledging costs: `acknowledge 997|999|ta1|contrl GUIDE|- FILE [OUT]`.
//!
//! Validates a file by a guide (`-`: without one) with and without acknowledging it, one after the other, and prints megabytes per CPU second of
//! the best repetitions and their ratio. The acknowledgment goes to OUT.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, missing_docs, reason = "a measuring program")]

use std::sync::Arc;

use quayline_core::Limits;
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, AcknowledgmentTally, MemoryOutput, Stamp};
use quayline_edi::guide::{CompiledGuide, GuideResolver, GuideText, ResolveError, parse_guide};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

/// Bytes of a read.
const BUFFER: usize = 256 << 10;
const REPETITIONS: usize = 7;

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
    let mut next = |what| args.next().unwrap_or_else(|| panic!("{what}"));
    let (kind, guide, data) = (next("a kind of acknowledgment"), next("a guide or -"), next("a file"));
    let stamp = Stamp::new("20260401", "1200").expect("a date and a time");
    let options = AcknowledgmentOptions::by_name(&kind, stamp).expect("997, 999, ta1 or contrl");
    let guide = (guide != "-").then(|| {
        let text = std::fs::read_to_string(&guide).expect("the guide is there");
        let parsed = parse_guide(&guide, &text, &Folder, &Limits::default());
        let parsed = parsed.unwrap_or_else(|findings| panic!("{findings}"));
        Arc::new(CompiledGuide::new(&parsed).unwrap_or_else(|findings| panic!("{findings}")))
    });
    let bytes = std::fs::read(&data).expect("the file is there");
    let mut best = [f64::MAX; 2];
    let mut written = (AcknowledgmentTally::default(), Vec::new());
    for _ in 0..REPETITIONS {
        for (with, best) in best.iter_mut().enumerate() {
            let before = cpu_seconds();
            if with == 0 {
                validate(&bytes, guide.as_ref());
            } else {
                written = acknowledge(&bytes, guide.as_ref(), &options);
            }
            *best = best.min(cpu_seconds() - before);
        }
    }
    let speed = |seconds: f64| bytes.len() as f64 / 1e6 / seconds;
    let (tally, text) = written;
    println!("{tally:?}\nacknowledgment: {} bytes", text.len());
    println!(
        "without {:.0}, with {:.0} MB per CPU second: {:.3} times the time",
        speed(best[0]),
        speed(best[1]),
        best[1] / best[0]
    );
    if let Some(out) = args.next() {
        std::fs::write(out, text).expect("writable");
    }
}

fn validate(text: &[u8], guide: Option<&Arc<CompiledGuide>>) -> u64 {
    let mut found = 0;
    drive(text, guide, |_, _, faults| found += faults.len() as u64);
    found
}

fn acknowledge(
    text: &[u8],
    guide: Option<&Arc<CompiledGuide>>,
    options: &AcknowledgmentOptions,
) -> (AcknowledgmentTally, Vec<u8>) {
    let mut acknowledger = Acknowledger::new(options.clone());
    let mut output = MemoryOutput::default();
    drive(text, guide, |event, pass, faults| acknowledger.event(event, pass, faults, &mut output));
    (acknowledger.tally(), output.written().to_vec())
}

/// Reads and validates; gives `take` each event with the faults found on the way to it.
fn drive(
    text: &[u8],
    guide: Option<&Arc<CompiledGuide>>,
    mut take: impl FnMut(Event, &quayline_edi::EnvelopePass<'_>, &[EdiFault]),
) {
    let limits = Limits { findings_max: usize::MAX, ..Limits::default() };
    let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions { findings_max: usize::MAX, ..ValidatorOptions::default() });
    let mut faults: Vec<EdiFault> = Vec::new();
    let mut from = 0;
    loop {
        let to = (from + BUFFER).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..to], end);
        let done = loop {
            let event = pass.advance();
            match event {
                Event::TransactionStart => validator.begin(guide, &pass),
                Event::Segment if pass.in_transaction() => {
                    validator.segment(&pass);
                }
                Event::TransactionEnd(closed) => {
                    validator.end(closed, &pass);
                }
                _ => {}
            }
            if pass.has_faults() {
                faults.extend(pass.take_faults());
            }
            if validator.has_faults() {
                faults.extend(validator.take_faults());
            }
            take(event, &pass, &faults);
            faults.clear();
            if matches!(event, Event::NeedMore | Event::Done) {
                break event == Event::Done;
            }
        };
        from += pass.finish();
        if done {
            return;
        }
    }
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
