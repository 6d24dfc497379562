//! Prints the cost of a change of phase on this machine, and its share of a batch at a few rates.
//!
//! `cargo run --release -p quayline-meter --example meter_cost`

use std::io::Write;

use quayline_meter::{BATCH_BYTES, Clock, Histogram, Meter, Phase, SystemClock};

fn main() -> std::io::Result<()> {
    const ROUNDS: u32 = 1_000_000;
    let meter = Meter::start();
    let mut lane = meter.lane();
    let start = SystemClock.now();
    for _ in 0..ROUNDS / 2 {
        lane.enter(Phase::Read);
        lane.enter(Phase::Decode);
    }
    let switch_ns = SystemClock.now().since(start).wall.as_secs_f64() * 1e9 / f64::from(ROUNDS);

    let mut histogram = Histogram::new();
    let start = SystemClock.now();
    for i in 0..ROUNDS {
        histogram.record(u64::from(std::hint::black_box(i)));
    }
    let record_ns = SystemClock.now().since(start).wall.as_secs_f64() * 1e9 / f64::from(ROUNDS);

    let mut out = std::io::stdout().lock();
    writeln!(out, "change of phase {switch_ns:.0} ns, histogram {record_ns:.1} ns a value")?;
    for mb_per_s in [100.0, 400.0, 800.0, 2000.0] {
        let batch_ns = BATCH_BYTES as f64 / mb_per_s * 1e3;
        writeln!(out, "five changes a batch at {mb_per_s} MB/s: {:.2} %", 500.0 * switch_ns / batch_ns)?;
    }
    Ok(())
}
