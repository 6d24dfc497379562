//! Prints the rate of each translation kernel against a copy of the same bytes, for blocks in cache, a large buffer, and short fields.
//!
//! `cargo run --release -p quayline-charset --example translate_bench`

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use quayline_charset::{CodePage, Kernel, translate_append};

fn main() -> std::io::Result<()> {
    let table = CodePage::IBM037.ascii_table();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:>12} {:>12} {:>10} {:>8}", "bytes", "kernel", "GB/s", "of copy")?;
    for len in [8usize, 16, 30, 63, 200, 4 << 10, 30_128, 64 << 20] {
        let src: Vec<u8> = (0..len).map(|i| (i * 31 % 251).to_le_bytes()[0]).collect();
        let mut dst = vec![0u8; len];
        let copy = rate(len, || dst.copy_from_slice(black_box(&src)));
        writeln!(out, "{len:>12} {:>12} {copy:>10.2} {:>8.2}", "copy", 1.0)?;
        for kernel in Kernel::available() {
            let rate = rate(len, || kernel.translate(black_box(table), black_box(&src), &mut dst));
            let name = format!("{kernel:?}");
            writeln!(out, "{len:>12} {name:>12} {rate:>10.2} {:>8.2}", rate / copy)?;
        }
        let mut sink = Vec::with_capacity(len);
        let append = rate(len, || {
            sink.clear();
            translate_append(black_box(table), black_box(&src), &mut sink);
        });
        writeln!(out, "{len:>12} {:>12} {append:>10.2} {:>8.2}", "append", append / copy)?;
    }

    writeln!(out, "\ntext of 30,128 bytes, GB/s of EBCDIC")?;
    for (name, page, foreign) in
        [("plain", 37, 0), ("1 in 40 accented", 37, 40), ("1 in 8 accented", 37, 8), ("Cyrillic", 1025, 1)]
    {
        let page = CodePage::by_ccsid(page).unwrap_or(CodePage::IBM037);
        let other = if foreign == 1 { 'Ж' } else { 'é' };
        let text: String = (0..30_128).map(|i| if foreign > 0 && i % foreign == 0 { other } else { 'a' }).collect();
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        page.encode_into(&text, &mut bytes).expect("the page has the characters");
        let decode = rate(bytes.len(), || {
            back.clear();
            page.decode_into(black_box(&bytes), &mut back).expect("all bytes are assigned");
        });
        let mut again = Vec::new();
        let encode = rate(bytes.len(), || {
            again.clear();
            page.encode_into(black_box(&text), &mut again).expect("the page has the characters");
        });
        writeln!(out, "{name:>20}: decode {decode:6.2}, encode {encode:6.2}")?;
    }
    Ok(())
}

/// Best of several timings, in gigabytes a second.
fn rate(len: usize, mut work: impl FnMut()) -> f64 {
    let rounds = (100 << 20) / (len + 64) + 1;
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..rounds {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() / rounds as f64);
    }
    len as f64 / best / 1e9
}
