//! Measures the splitter against a pass that only writes the positions of delimiters, one thread, CPU time of that thread.
//!
//! `cargo run --release -p quayline-edi --example measure [megabytes] [rounds]`
#![expect(clippy::print_stdout, reason = "a measuring program")]

mod generate;

use std::hint::black_box;

use quayline_charset::{DelimiterIndex, DelimiterKernel, DelimiterSet};
use quayline_core::Limits;
use quayline_edi::{EndOfInput, Rules, SegmentSplitter, Step};

/// What a reader holds at a time.
const BUFFER: usize = 256 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(95);
    let rounds: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(9);
    let inputs = [
        (
            "837P",
            generate::claims(megabytes * 1056, 1),
            DelimiterSet {
                element: b'*',
                terminator: b'~',
                component: Some(b':'),
                repetition: Some(b'^'),
                release: None,
            },
        ),
        (
            "ORDERS",
            generate::orders(megabytes * 782, 1),
            DelimiterSet {
                element: b'+',
                terminator: b'\'',
                component: Some(b':'),
                repetition: None,
                release: Some(b'?'),
            },
        ),
    ];
    for (name, text, set) in inputs {
        println!("{name}: {:.1} MB, {:?}", text.len() as f64 / 1e6, DelimiterKernel::active());
        #[expect(clippy::type_complexity, reason = "a table of names and passes, used here only")]
        let mut rows: Vec<(&str, Box<dyn FnMut() -> u64 + '_>)> = vec![
            ("write delimiter positions, AVX2", Box::new(|| positions(DelimiterKernel::Avx2, &set, &text))),
            ("write delimiter positions, best kernel", Box::new(|| positions(DelimiterKernel::active(), &set, &text))),
            ("split into segments", Box::new(|| segments(&text))),
            ("split into elements", Box::new(|| elements(&text))),
            ("split into components, released", Box::new(|| components(&text))),
        ];
        let mut best = vec![f64::MAX; rows.len()];
        for _ in 0..rounds {
            for (i, (_, run)) in rows.iter_mut().enumerate() {
                let start = cpu_seconds();
                black_box(run());
                best[i] = best[i].min(cpu_seconds() - start);
            }
        }
        for (i, (what, _)) in rows.iter().enumerate() {
            println!(
                "  {what:40} {:7.0} MB/CPU-s  {:.2} of the positions pass",
                text.len() as f64 / best[i] / 1e6,
                best[1] / best[i]
            );
        }
    }
}

fn positions(kernel: DelimiterKernel, set: &DelimiterSet, text: &[u8]) -> u64 {
    let mut index = DelimiterIndex::new();
    let mut sum = 0;
    for window in text.chunks(1 << 14) {
        index.scan_with(kernel, set, window);
        sum += (index.ends().len() + index.parts().len()) as u64;
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

/// CPU seconds of this thread.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
