//! Repeats a unit of any bytes. In every format that other targets read, eight times as many bytes must take about eight times as long.
//!
//! The first byte chooses the target. The second byte determines the part of the input before the repeated unit. A reader whose time grows with
//! the square of the input takes 64 times as long.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Targets whose own checks take linear time.
const SUBJECTS: [(&str, crate::Target); 10] = [
    ("edi", crate::edi::fuzz),
    ("validate", crate::validate::fuzz),
    ("csv", crate::csv::fuzz),
    ("json", crate::json::fuzz),
    ("xml", crate::xml::fuzz),
    ("framing", crate::framing::split_only),
    ("copybook", crate::copybook::fuzz),
    ("guide", crate::guide::fuzz),
    ("map", crate::map::fuzz),
    ("record_decode", crate::record_decode::fuzz),
];

/// Bytes of the smaller input, and the factor for the larger one.
const BYTES: usize = 6 << 10;
const TIMES: usize = 8;

/// Nanoseconds below which a run of the larger input proves nothing, because a busy machine can add as much.
const NOISE_NS: u64 = 50_000_000;

/// Maximum ratio of the times of both inputs. Linear time gives [`TIMES`], quadratic time 64.
const RATIO_MAX: u64 = 28;

/// Runs of each input. The shortest counts, because other work can only make a run longer.
const RUNS: usize = 3;

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, share, data @ ..] = data else { return };
    let (name, run) = SUBJECTS[usize::from(*choice) % SUBJECTS.len()];
    let (head, unit) = data.split_at(usize::from(*share) * data.len() / 256);
    if unit.is_empty() || head.len() > BYTES / 4 || unit.len() > BYTES / 4 {
        return;
    }
    let of = |bytes: usize| [head, &unit.repeat(bytes / unit.len())].concat();
    let (small, large) = (of(BYTES), of(BYTES * TIMES));
    let (mut least_small, mut least_large) = (u64::MAX, u64::MAX);
    for _ in 0..RUNS {
        least_large = least_large.min(time(run, &large));
        if least_large < NOISE_NS {
            return;
        }
        least_small = least_small.min(time(run, &small));
        if least_large <= RATIO_MAX * least_small {
            return;
        }
    }
    panic!("{name}: {BYTES} bytes take {least_small} ns, {TIMES} times as many {least_large} ns");
}

/// Returns the nanoseconds of CPU time that a run takes. Readers have no threads of their own, and other work does not count.
fn time(run: fn(&[u8]), data: &[u8]) -> u64 {
    let begun = clock_gettime(ClockId::ThreadCPUTime);
    run(data);
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from((tv_sec - begun.tv_sec) * 1_000_000_000 + (tv_nsec - begun.tv_nsec)).expect("a clock goes forward")
}
