//! Counts and times by operation, for Prometheus.
//!
//! Times go into buckets that grow by the eighth root of two (schema 3 of native histograms), as atomics that all threads share. The text
//! form has every eighth of them, cumulated, which is what a classic histogram can hold.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Where a request's time goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// Route, access, headers.
    Parse,
    /// Waiting for the request's body.
    Wait,
    /// Request to record.
    Decode,
    /// The provider: waiting for it and its own time.
    Call,
    /// Record to answer.
    Encode,
    /// From the answer to its last byte handed to the system.
    Write,
}

impl Phase {
    const ALL: [Phase; 6] = [Phase::Parse, Phase::Wait, Phase::Decode, Phase::Call, Phase::Encode, Phase::Write];

    fn name(self) -> &'static str {
        match self {
            Phase::Parse => "parse",
            Phase::Wait => "wait",
            Phase::Decode => "decode",
            Phase::Call => "call",
            Phase::Encode => "encode",
            Phase::Write => "write",
        }
    }
}

/// Buckets for each doubling.
const PER_DOUBLING: usize = 8;
/// From 1 µs to 67 s.
const DOUBLINGS: usize = 26;
const BUCKETS: usize = PER_DOUBLING * DOUBLINGS + 1;

/// A distribution of times.
#[derive(Debug)]
pub(crate) struct Times {
    buckets: Vec<AtomicU64>,
    sum_ns: AtomicU64,
}

impl Default for Times {
    fn default() -> Self {
        Times { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum_ns: AtomicU64::new(0) }
    }
}

impl Times {
    pub(crate) fn record(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// The bucket whose upper bound, 1 µs × 2^(i/8), is the first that is not below `ns`; found without a logarithm.
fn bucket(ns: u64) -> usize {
    // Sixteen thousandths of 2^(k/8), k = 0 … 8.
    const STEPS: [u64; 9] = [16384, 17867, 19484, 21247, 23170, 25268, 27554, 30048, 32768];
    let scaled = (u128::from(ns) * 16_384).div_ceil(1000);
    let Ok(scaled) = u64::try_from(scaled) else { return BUCKETS - 1 };
    if scaled <= STEPS[0] {
        return 0;
    }
    let doubling = (63 - (scaled - 1).leading_zeros()) as usize - 14;
    let within = scaled.div_ceil(1 << doubling);
    let step = STEPS.iter().position(|bound| within <= *bound).unwrap_or(PER_DOUBLING);
    (doubling * PER_DOUBLING + step).min(BUCKETS - 1)
}

fn bound_seconds(bucket: usize) -> f64 {
    1e-6 * (bucket as f64 / PER_DOUBLING as f64).exp2()
}

/// Statuses 1xx to 5xx.
const CLASSES: usize = 5;

/// One operation.
#[derive(Debug, Default)]
pub(crate) struct OperationMetrics {
    answers: [AtomicU64; CLASSES],
    bytes: AtomicU64,
    total: Times,
    phases: [Times; 6],
}

impl OperationMetrics {
    pub(crate) fn phase(&self, phase: Phase, time: Duration) {
        self.phases[phase as usize].record(time);
    }

    pub(crate) fn answered(&self, status: u16, bytes: usize, time: Duration) {
        let class = usize::from(status / 100).clamp(1, CLASSES) - 1;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.total.record(time);
    }
}

/// All operations by id: they outlive a reload.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    operations: Mutex<Vec<(String, Arc<OperationMetrics>)>>,
    /// Requests that no operation was found for.
    pub(crate) elsewhere: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) reloads: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
    pub(crate) workers_ended: AtomicU64,
}

impl Metrics {
    pub(crate) fn of(&self, id: &str) -> Arc<OperationMetrics> {
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, metrics)) = operations.iter().find(|(known, _)| known == id) {
            return Arc::clone(metrics);
        }
        let metrics = Arc::new(OperationMetrics::default());
        operations.push((id.to_owned(), Arc::clone(&metrics)));
        metrics
    }

    /// Prometheus' text format 0.0.4.
    pub(crate) fn text(&self, connections: usize) -> String {
        let mut out = String::new();
        let _ = self.write(&mut out, connections);
        out
    }

    fn write(&self, out: &mut String, connections: usize) -> std::fmt::Result {
        let operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")
        };
        head(out, "quayline_connections", "gauge", "Connections that are open.")?;
        writeln!(out, "quayline_connections {connections}")?;
        for (name, help, value) in [
            ("quayline_unrouted_total", "Requests for a path or method that no API has.", &self.elsewhere),
            ("quayline_refused_total", "Requests refused by authentication or limits.", &self.refused),
            ("quayline_reloads_total", "Times that definitions were read again.", &self.reloads),
            ("quayline_reloads_failed_total", "Times that changed definitions were refused.", &self.reloads_failed),
            (
                "quayline_workers_ended_total",
                "Program workers that ended by themselves or were stopped.",
                &self.workers_ended,
            ),
        ] {
            head(out, name, "counter", help)?;
            writeln!(out, "{name} {}", value.load(Ordering::Relaxed))?;
        }
        head(out, "quayline_answers_total", "counter", "Answers by class of status.")?;
        for (id, metrics) in operations.iter() {
            for (class, count) in metrics.answers.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    writeln!(out, "quayline_answers_total{{operation=\"{id}\",status=\"{}xx\"}} {count}", class + 1)?;
                }
            }
        }
        head(out, "quayline_answer_bytes_total", "counter", "Bytes of answers' bodies.")?;
        for (id, metrics) in operations.iter() {
            writeln!(
                out,
                "quayline_answer_bytes_total{{operation=\"{id}\"}} {}",
                metrics.bytes.load(Ordering::Relaxed)
            )?;
        }
        head(out, "quayline_request_seconds", "histogram", "From a request's headers to its answer.")?;
        for (id, metrics) in operations.iter() {
            times(out, "quayline_request_seconds", &format!("operation=\"{id}\""), &metrics.total)?;
        }
        head(out, "quayline_phase_seconds", "histogram", "Where the time of requests goes.")?;
        for (id, metrics) in operations.iter() {
            for phase in Phase::ALL {
                let labels = format!("operation=\"{id}\",phase=\"{}\"", phase.name());
                times(out, "quayline_phase_seconds", &labels, &metrics.phases[phase as usize])?;
            }
        }
        Ok(())
    }
}

fn times(out: &mut String, name: &str, labels: &str, times: &Times) -> std::fmt::Result {
    let mut count = 0;
    for (i, bucket) in times.buckets.iter().enumerate() {
        count += bucket.load(Ordering::Relaxed);
        if i % PER_DOUBLING == 0 && i + 1 < BUCKETS {
            writeln!(out, "{name}_bucket{{{labels},le=\"{}\"}} {count}", bound_seconds(i))?;
        }
    }
    writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
    writeln!(out, "{name}_sum{{{labels}}} {}", times.sum_ns.load(Ordering::Relaxed) as f64 / 1e9)?;
    writeln!(out, "{name}_count{{{labels}}} {count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_bucket_that_holds_it() {
        for ns in [0, 1, 999, 1000, 1001, 1500, 2000, 2001, 12_345, 1_000_000, 999_999_999, 60_000_000_000] {
            let at = bucket(ns);
            let seconds = ns as f64 / 1e9;
            // Bounds are rounded to 1 in 16384.
            assert!(seconds <= bound_seconds(at) * 1.0002, "{ns} is beyond bucket {at}");
            assert!(at == 0 || seconds > bound_seconds(at - 1) * 0.9998, "{ns} is below bucket {at}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_text_has_counts_and_cumulated_buckets() {
        let metrics = Metrics::default();
        let one = metrics.of("op");
        one.answered(200, 10, Duration::from_micros(3));
        one.answered(503, 0, Duration::from_micros(100));
        let text = metrics.text(2);
        for line in [
            "quayline_connections 2",
            "quayline_answers_total{operation=\"op\",status=\"2xx\"} 1",
            "quayline_answers_total{operation=\"op\",status=\"5xx\"} 1",
            "quayline_request_seconds_bucket{operation=\"op\",le=\"0.000004\"} 1",
            "quayline_request_seconds_bucket{operation=\"op\",le=\"+Inf\"} 2",
            "quayline_request_seconds_count{operation=\"op\"} 2",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
    }
}
