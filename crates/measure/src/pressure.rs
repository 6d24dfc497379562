//! How much of the machine other programs use during a measurement: above a limit, a run has figures and no verdict.

use std::time::{Duration, Instant};

use quayline_meter::ProcessUse;

use crate::server::ServerProcess;

/// Part of the machine that other programs may use for a verdict.
pub(crate) const OUTSIDE_MAX: f64 = 0.10;

/// Runs a function and returns the share of the machine that other programs used during that time. A server is a part of this work.
pub(crate) fn beside_others<T>(server: Option<&ServerProcess>, run: impl FnOnce() -> T) -> (T, f64) {
    let clock = server.map(ServerProcess::cpu);
    let own = || {
        let server = clock.as_ref().map_or(Duration::ZERO, crate::CpuClock::read);
        (server + ProcessUse::now().cpu).as_secs_f64()
    };
    let processors = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    let (began, busy, used) = (Instant::now(), busy_s(), own());
    let done = run();
    let (seconds, busy, used) = (began.elapsed().as_secs_f64(), busy_s() - busy, own() - used);
    // The kernel counts the time of the machine in ticks of 10 ms, so short runs have no share.
    let outside = if seconds < 0.2 { 0.0 } else { (busy - used) / (seconds * processors) };
    (done, outside.max(0.0))
}

/// Returns the busy time of the machine in seconds, over all processors. Source: proc(5), /proc/stat in ticks of 10 ms.
fn busy_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // User, nice, system, interrupts and stolen time.
    [0, 1, 2, 5, 6, 7].into_iter().filter_map(|at| fields.get(at)).sum::<f64>() / 100.0
}
