//! Counts and times by operation, for Prometheus.
//!
//! Times are counted in buckets that grow by the eighth root of two (schema 3 of native histograms). Each thread has its own atomics, which no other
//! thread changes, so that counting never contends for a cache line; a reader adds the threads up. The text form has every eighth bucket, cumulative,
//! as a classic histogram requires; the protobuf form (`protobuf.rs`) has both.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use quayline_meter::{CpuMethod, Phase, PhaseTable, ProcessUse, Profile, ProfileClass, ProfileCpu, ProfilePhase};

use crate::connection_fault::ConnectionFault;
use crate::metric_kind::Kind;

/// Phases of a request, in the order of its way. The names are those of every run.
pub(crate) const PHASES: [Phase; 6] =
    [Phase::Parse, Phase::Wait, Phase::Decode, Phase::Call, Phase::Encode, Phase::Write];

/// Buckets for each doubling.
pub(crate) const PER_DOUBLING: usize = 8;
/// The first bucket ends at 2^-20 s, a little below 1 µs.
pub(crate) const FIRST_EXPONENT: i32 = -20;
/// Number of doublings: up to 64 s. Longer times are in the last bucket too.
const DOUBLINGS: usize = 26;
const BUCKETS: usize = PER_DOUBLING * DOUBLINGS + 1;

/// A distribution of times.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) buckets: Vec<AtomicU64>,
    pub(crate) sum_ns: AtomicU64,
}

impl Default for Times {
    fn default() -> Self {
        Times { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum_ns: AtomicU64::new(0) }
    }
}

impl Times {
    pub(crate) fn record(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        add(&self.buckets[bucket(ns)], 1);
        add(&self.sum_ns, ns);
    }

    /// Returns the upper bound in seconds of each doubling, and the cumulative counts, including the count beyond the last bound.
    pub(crate) fn doublings(&self) -> (Vec<f64>, Vec<u64>) {
        let (mut bounds, mut counts, mut count) = (Vec::new(), Vec::new(), 0);
        for (i, bucket) in self.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            if i % PER_DOUBLING == 0 && i + 1 < BUCKETS {
                bounds.push(bound_seconds(i));
                counts.push(std::mem::take(&mut count));
            }
        }
        counts.push(count);
        (bounds, counts)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    fn merge(&self, other: &Times) {
        for (to, from) in self.buckets.iter().zip(&other.buckets) {
            add(to, from.load(Ordering::Relaxed));
        }
        add(&self.sum_ns, other.sum_ns.load(Ordering::Relaxed));
    }
}

/// Adds to a counter that only this thread changes.
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// Returns the bucket of a time: the first whose upper bound 2^(-20 + i/8) s is at least `ns`, computed without a logarithm.
fn bucket(ns: u64) -> usize {
    // Sixteen thousandths of 2^(k/8), k = 0 … 8.
    const STEPS: [u64; 9] = [16384, 17867, 19484, 21247, 23170, 25268, 27554, 30048, 32768];
    // In units of 2^-34 s.
    const NS: u64 = 1_000_000_000;
    let scaled = if ns < 1 << 30 {
        (ns << 34).div_ceil(NS)
    } else {
        let scaled = (u128::from(ns) << 34).div_ceil(u128::from(NS));
        let Ok(scaled) = u64::try_from(scaled) else { return BUCKETS - 1 };
        scaled
    };
    if scaled <= STEPS[0] {
        return 0;
    }
    let doubling = (63 - (scaled - 1).leading_zeros()) as usize - 14;
    let within = scaled.div_ceil(1 << doubling);
    let step = STEPS.iter().position(|bound| within <= *bound).unwrap_or(PER_DOUBLING);
    (doubling * PER_DOUBLING + step).min(BUCKETS - 1)
}

pub(crate) fn bound_seconds(bucket: usize) -> f64 {
    (f64::from(FIRST_EXPONENT) + bucket as f64 / PER_DOUBLING as f64).exp2()
}

/// Statuses 1xx to 5xx.
const CLASSES: usize = 5;

/// Counters of one operation on one thread.
pub(crate) type Counted = Rc<Arc<OperationMetrics>>;

/// One operation on one thread, which alone may count.
#[derive(Debug, Default)]
pub(crate) struct OperationMetrics {
    answers: [AtomicU64; CLASSES],
    /// Bytes of the bodies of requests.
    received: AtomicU64,
    bytes: AtomicU64,
    /// Values that answers show otherwise than their records have them.
    replaced: AtomicU64,
    /// Fields of requests that got the nearest float.
    rounded: AtomicU64,
    /// TLS handshakes of connections whose first request was for it: full, resumed.
    handshakes: [AtomicU64; 2],
    total: Times,
    phases: PhaseTable<Times>,
    /// CPU time of phases that only compute.
    computed: PhaseTable<Computed>,
}

/// Segments of a phase, if the system reports interruptions of threads.
#[derive(Debug, Default)]
struct Computed {
    /// CPU nanoseconds of the segments without an interruption, which are their wall time.
    clean_ns: AtomicU64,
    clean: AtomicU64,
    interrupted: AtomicU64,
}

impl Computed {
    /// Returns the CPU seconds of all segments: interrupted ones have the mean of the others. `None` without a segment to judge by.
    fn seconds(&self) -> Option<f64> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        let (clean, interrupted) = (of(&self.clean), of(&self.interrupted));
        (clean > 0.0).then(|| of(&self.clean_ns) / 1e9 * (clean + interrupted) / clean)
    }
}

impl OperationMetrics {
    pub(crate) fn phase(&self, phase: Phase, time: Duration) {
        self.phases[phase].record(time);
    }

    /// Records a segment of a phase that only computes. `kept` is true if the thread kept its processor, and `None` if the system does not report it.
    pub(crate) fn computed(&self, phase: Phase, time: Duration, kept: Option<bool>) {
        self.phase(phase, time);
        let computed = &self.computed[phase];
        match kept {
            Some(true) => {
                add(&computed.clean_ns, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
                add(&computed.clean, 1);
            }
            Some(false) => add(&computed.interrupted, 1),
            None => {}
        }
    }

    pub(crate) fn answered(&self, status: u16, bytes: usize, time: Duration) {
        let class = usize::from(status / 100).clamp(1, CLASSES) - 1;
        add(&self.answers[class], 1);
        add(&self.bytes, bytes as u64);
        self.total.record(time);
    }

    /// Counts values that an answer shows otherwise than its record has them.
    pub(crate) fn replaced(&self, values: u64) {
        if values > 0 {
            add(&self.replaced, values);
        }
    }

    /// Counts the body of a request.
    pub(crate) fn received(&self, bytes: usize) {
        add(&self.received, bytes as u64);
    }

    /// Counts fields of requests that got the nearest float.
    pub(crate) fn rounded(&self, fields: u64) {
        if fields > 0 {
            add(&self.rounded, fields);
        }
    }

    /// Counts the handshake of the connection of which this is the first request.
    pub(crate) fn shook_hands(&self, is_resumed: bool) {
        add(&self.handshakes[usize::from(is_resumed)], 1);
    }

    /// Returns the total costs of all requests.
    fn class(&self, name: String) -> ProfileClass {
        let seconds = |times: &Times| times.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        // The total ends when the answer is complete. What the system and the client take after that is in the metrics only.
        let phases = PHASES.into_iter().filter(|phase| *phase != Phase::Write);
        let phases = phases.map(|phase| (phase, seconds(&self.phases[phase])));
        let buckets = self.total.buckets.iter().enumerate();
        let buckets = buckets.map(|(bucket, count)| (bound_seconds(bucket), count.load(Ordering::Relaxed)));
        ProfileClass {
            name,
            unit: "request".to_owned(),
            count: self.answers.iter().map(|count| count.load(Ordering::Relaxed)).sum(),
            bytes_in: self.received.load(Ordering::Relaxed),
            bytes_out: self.bytes.load(Ordering::Relaxed),
            wall_s: seconds(&self.total),
            phases: phases
                .filter(|(_, wall_s)| *wall_s > 0.0)
                .map(|(phase, wall_s)| ProfilePhase {
                    phase: phase.name().to_owned(),
                    wall_s,
                    cpu_s: self.computed[phase].seconds(),
                })
                .collect(),
            cpu_by: self.cpu_by(),
            times: buckets.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Returns the source of the CPU times of phases, if there are any.
    fn cpu_by(&self) -> Option<ProfileCpu> {
        let of = |count: &dyn Fn(&Computed) -> u64| self.computed.iter().map(|(_, computed)| count(computed)).sum();
        let clean: u64 = of(&|computed| computed.clean.load(Ordering::Relaxed));
        let interrupted: u64 = of(&|computed| computed.interrupted.load(Ordering::Relaxed));
        let all: f64 = self.computed.iter().filter_map(|(_, computed)| computed.seconds()).sum();
        let clean_ns: u64 = of(&|computed| computed.clean_ns.load(Ordering::Relaxed));
        (clean > 0).then(|| ProfileCpu {
            method: CpuMethod::Interruptions.name().to_owned(),
            segments: clean + interrupted,
            interrupted,
            estimated_s: (all - clean_ns as f64 / 1e9).max(0.0),
        })
    }

    fn merge(&self, other: &OperationMetrics) {
        for (to, from) in self.answers.iter().zip(&other.answers) {
            add(to, from.load(Ordering::Relaxed));
        }
        add(&self.received, other.received.load(Ordering::Relaxed));
        add(&self.bytes, other.bytes.load(Ordering::Relaxed));
        add(&self.replaced, other.replaced.load(Ordering::Relaxed));
        add(&self.rounded, other.rounded.load(Ordering::Relaxed));
        self.total.merge(&other.total);
        for (phase, from) in other.phases.iter() {
            self.phases[phase].merge(from);
        }
        for (phase, from) in other.computed.iter() {
            let to = &self.computed[phase];
            add(&to.clean_ns, from.clean_ns.load(Ordering::Relaxed));
            add(&to.clean, from.clean.load(Ordering::Relaxed));
            add(&to.interrupted, from.interrupted.load(Ordering::Relaxed));
        }
    }
}

/// Counters of all operations by id and thread. They are kept across a reload.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    operations: Mutex<Vec<(String, Vec<Arc<OperationMetrics>>)>>,
    /// Requests that no operation was found for.
    pub(crate) elsewhere: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) reloads: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
    /// Bugs of ours that ended a request or a task.
    pub(crate) panics: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
    /// Connections refused by a limit: of all, of one address.
    pub(crate) connections_refused: [AtomicU64; 2],
    /// Connections that ended below requests, by [`ConnectionFault`].
    pub(crate) connection_faults: [AtomicU64; ConnectionFault::ALL.len()],
    /// TLS handshakes: full, resumed.
    pub(crate) handshakes: [AtomicU64; 2],
    /// Handshakes of connections whose first request was not for an operation.
    pub(crate) other_handshakes: [AtomicU64; 2],
    /// Connections that were accepted.
    pub(crate) connections: AtomicU64,
    /// Connections that ended early to make room.
    pub(crate) connections_shed: AtomicU64,
    pub(crate) workers_ended: AtomicU64,
    /// Lines of the audit that could not be written.
    pub(crate) audit_lost: Arc<AtomicU64>,
    pub(crate) access_log_lost: Arc<AtomicU64>,
    /// Claims of messages that their clients did not settle in time.
    pub(crate) claims_ended: AtomicU64,
    /// Requests refused because the audit could not be written.
    pub(crate) unaudited: AtomicU64,
    /// Counters of spans.
    pub(crate) telemetry: Arc<Telemetry>,
}

/// Counters of spans.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
    /// Requests to the collector that failed.
    pub(crate) failed: AtomicU64,
}

impl Metrics {
    /// Adds counters of an operation for one more thread.
    pub(crate) fn of(&self, id: &str) -> Arc<OperationMetrics> {
        let mut operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = Arc::new(OperationMetrics::default());
        match operations.iter_mut().find(|(known, _)| known == id) {
            Some((_, threads)) => threads.push(Arc::clone(&metrics)),
            None => operations.push((id.to_owned(), vec![Arc::clone(&metrics)])),
        }
        metrics
    }

    /// Returns every operation with the sums over its threads.
    fn sums(&self) -> Vec<(String, OperationMetrics)> {
        let operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |threads: &[Arc<OperationMetrics>]| {
            let sum = OperationMetrics::default();
            threads.iter().for_each(|thread| sum.merge(thread));
            sum
        };
        operations.iter().map(|(id, threads)| (id.clone(), sum(threads))).collect()
    }

    /// Handshakes of connections whose first request was for an operation: full, resumed.
    pub(crate) fn handshakes_of(&self, id: &str) -> [u64; 2] {
        let operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = operations.iter().find(|(known, _)| known == id).map_or(&[][..], |(_, threads)| threads);
        [0, 1].map(|at: usize| threads.iter().map(|thread| thread.handshakes[at].load(Ordering::Relaxed)).sum())
    }

    /// Requests of an operation.
    pub(crate) fn count(&self, id: &str) -> u64 {
        let operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = operations.iter().find(|(known, _)| known == id).map_or(&[][..], |(_, threads)| threads);
        threads.iter().flat_map(|thread| &thread.answers).map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Requests of an operation that the server could not answer, by its status of class 5xx.
    pub(crate) fn failed(&self, id: &str) -> u64 {
        let operations = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = operations.iter().find(|(known, _)| known == id).map_or(&[][..], |(_, threads)| threads);
        threads.iter().map(|thread| thread.answers[CLASSES - 1].load(Ordering::Relaxed)).sum()
    }

    /// Returns the cost of each operation since the start, `wall` ago. Operations that a reload removed are included.
    pub(crate) fn profile(&self, wall: Duration) -> Profile {
        let mut profile = Profile::of_process("serve", wall.as_secs_f64(), ProcessUse::now());
        profile.classes = self.sums().into_iter().map(|(id, metrics)| metrics.class(id)).collect();
        profile
    }

    /// Prometheus' text format 0.0.4.
    pub(crate) fn text(&self, connections: usize) -> String {
        let mut out = String::new();
        self.families(connections, |family| {
            let _ = write_text(&mut out, family);
        });
        out
    }

    /// Visits every family.
    pub(crate) fn families(&self, connections: usize, mut each: impl FnMut(&Family<'_>)) {
        let operations = self.sums();
        let value = |atomic: &AtomicU64| Sample::Value(atomic.load(Ordering::Relaxed));
        let mut family = |name, kind, help, samples: Vec<(Labels, Sample<'_>)>| {
            each(&Family { name, kind, help, samples });
        };
        let none = || Labels(Vec::new());
        for (name, kind, help, value) in crate::process::samples() {
            family(name, kind, help, vec![(none(), Sample::Number(value))]);
        }
        let open = vec![(none(), Sample::Value(connections as u64))];
        family("quayline_connections", Kind::Gauge, "Connections that are open.", open);
        for (name, help, counter) in [
            ("quayline_unrouted_total", "Requests for a path or method that no API has.", &self.elsewhere),
            ("quayline_refused_total", "Requests refused by authentication or limits.", &self.refused),
            ("quayline_reloads_total", "Times that definitions were read again.", &self.reloads),
            (
                "quayline_reloads_failed_total",
                "Times that changed definitions, keys or certificates were refused.",
                &self.reloads_failed,
            ),
            ("quayline_panics_total", "Bugs of Quayline that ended a request or a task.", &self.panics),
            ("quayline_accept_errors_total", "Connections that the system could not hand over.", &self.accept_errors),
            (
                "quayline_connections_shed_total",
                "Idle connections that ended early to make room.",
                &self.connections_shed,
            ),
            ("quayline_workers_ended_total", "Program workers that ended or were stopped.", &self.workers_ended),
            (
                "quayline_queue_claims_ended_total",
                "Claims of messages that were not settled in time.",
                &self.claims_ended,
            ),
            ("quayline_otlp_spans_total", "Spans that the collector of telemetry took.", &self.telemetry.sent),
            ("quayline_otlp_spans_dropped_total", "Spans that were not sent, or not taken.", &self.telemetry.dropped),
            ("quayline_otlp_failures_total", "Requests to the collector that failed.", &self.telemetry.failed),
            ("quayline_audit_refused_total", "Requests refused while the audit could not be written.", &self.unaudited),
            ("quayline_audit_lines_lost_total", "Lines of the audit that were not written.", &*self.audit_lost),
            (
                "quayline_access_log_lines_lost_total",
                "Lines of the access log that were not written.",
                &*self.access_log_lost,
            ),
        ] {
            family(name, Kind::Counter, help, vec![(none(), value(counter))]);
        }
        let refused = ["all", "address"].iter().zip(&self.connections_refused);
        let refused = refused.map(|(limit, count)| (Labels(vec![("limit", (*limit).to_owned())]), value(count)));
        let help = "Connections refused by the limit of all or of one address.";
        family("quayline_connections_refused_total", Kind::Counter, help, refused.collect());
        let faults = ConnectionFault::ALL.iter().zip(&self.connection_faults);
        let faults = faults.map(|(fault, count)| (Labels(vec![("fault", fault.name().to_owned())]), value(count)));
        let help = "Connections that ended without a request, or beside one.";
        family("quayline_connection_faults_total", Kind::Counter, help, faults.collect());
        let kinds = ["full", "resumed"].iter().zip(&self.handshakes);
        let kinds = kinds.map(|(kind, count)| (Labels(vec![("kind", (*kind).to_owned())]), value(count)));
        family("quayline_tls_handshakes_total", Kind::Counter, "TLS handshakes that succeeded.", kinds.collect());
        let label = |id: &str| ("operation", id.to_owned());
        let mut answers = Vec::new();
        for (id, metrics) in &operations {
            for (class, count) in metrics.answers.iter().enumerate() {
                if count.load(Ordering::Relaxed) > 0 {
                    answers.push((Labels(vec![label(id), ("status", format!("{}xx", class + 1))]), value(count)));
                }
            }
        }
        family("quayline_answers_total", Kind::Counter, "Answers by class of status.", answers);
        let bytes = operations.iter().map(|(id, metrics)| (Labels(vec![label(id)]), value(&metrics.bytes)));
        family("quayline_answer_bytes_total", Kind::Counter, "Bytes of answers' bodies.", bytes.collect());
        let replaced = operations.iter().map(|(id, metrics)| (Labels(vec![label(id)]), value(&metrics.replaced)));
        let help = "Values of answers that became null or the nearest double, or lost control characters.";
        family("quayline_answer_values_replaced_total", Kind::Counter, help, replaced.collect());
        let rounded = operations.iter().map(|(id, metrics)| (Labels(vec![label(id)]), value(&metrics.rounded)));
        let help = "Fields of requests that got the nearest float, with inexact-floats = \"round\".";
        family("quayline_request_values_rounded_total", Kind::Counter, help, rounded.collect());
        let totals = operations.iter().map(|(id, metrics)| (Labels(vec![label(id)]), Sample::Times(&metrics.total)));
        let help = "From a request's headers to its answer.";
        family("quayline_request_seconds", Kind::Histogram, help, totals.collect());
        let mut phases = Vec::new();
        for (id, metrics) in &operations {
            for phase in PHASES {
                let labels = Labels(vec![label(id), ("phase", phase.name().to_owned())]);
                phases.push((labels, Sample::Times(&metrics.phases[phase])));
            }
        }
        family("quayline_phase_seconds", Kind::Histogram, "Where the time of requests goes.", phases);
    }
}

/// Numbers of one name.
pub(crate) struct Family<'a> {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<(Labels, Sample<'a>)>,
}

pub(crate) struct Labels(pub(crate) Vec<(&'static str, String)>);

pub(crate) enum Sample<'a> {
    Value(u64),
    Number(f64),
    Times(&'a Times),
}

impl Sample<'_> {
    /// Returns the number of a counter or gauge.
    pub(crate) fn number(&self) -> f64 {
        match self {
            Sample::Value(value) => *value as f64,
            Sample::Number(value) => *value,
            Sample::Times(_) => f64::NAN,
        }
    }
}

impl Labels {
    /// Writes labels for the text form, followed by `more`.
    fn text(&self, more: &str) -> String {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let mut all: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        all.extend((!more.is_empty()).then(|| more.to_owned()));
        if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
    }
}

fn write_text(out: &mut String, family: &Family<'_>) -> std::fmt::Result {
    let Family { name, kind, help, samples } = family;
    let kind = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
    for (labels, sample) in samples {
        let times = match sample {
            Sample::Value(value) => {
                writeln!(out, "{name}{} {value}", labels.text(""))?;
                continue;
            }
            Sample::Number(value) => {
                writeln!(out, "{name}{} {value}", labels.text(""))?;
                continue;
            }
            Sample::Times(times) => times,
        };
        let mut count = 0;
        for (i, bucket) in times.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            if i % PER_DOUBLING == 0 && i + 1 < BUCKETS {
                writeln!(out, "{name}_bucket{} {count}", labels.text(&format!("le=\"{}\"", bound_seconds(i))))?;
            }
        }
        writeln!(out, "{name}_bucket{} {count}", labels.text("le=\"+Inf\""))?;
        writeln!(out, "{name}_sum{} {}", labels.text(""), times.sum_ns.load(Ordering::Relaxed) as f64 / 1e9)?;
        writeln!(out, "{name}_count{} {count}", labels.text(""))?;
    }
    Ok(())
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
    fn the_profile_has_the_sums_of_all_threads() {
        let metrics = Metrics::default();
        for (status, ms) in [(200, 3), (503, 100)] {
            let thread = metrics.of("op");
            thread.phase(Phase::Call, Duration::from_millis(ms - 1));
            thread.answered(status, 10, Duration::from_millis(ms));
            thread.phase(Phase::Write, Duration::from_millis(10 * ms));
        }
        let profile = metrics.profile(Duration::from_secs(1));
        let [class] = &profile.classes[..] else { panic!("{profile:?}") };
        assert_eq!((class.name.as_str(), class.count, class.bytes_out), ("op", 2, 20));
        assert_eq!((class.wall_s, class.phase_each(Phase::Call)), (0.103, Some(0.0505)));
        // The phases were sixteen times the whole: the time after an answer is not a part of it.
        assert!(class.unaccounted_share() >= 0.0, "{}", class.unaccounted_share());
        assert!((0.1..0.11).contains(&class.percentile(100.0).unwrap()), "{:?}", class.times);
        // The reader of JSON may be off by one in the last bit of a bound.
        assert_eq!(Profile::from_json(&profile.json()).unwrap().classes[0].phases, class.phases);
    }

    #[test]
    fn interrupted_segments_have_the_mean_cpu_time_of_the_others() {
        let metrics = Metrics::default();
        for (ms, kept) in [(2, Some(true)), (4, Some(true)), (100, Some(false))] {
            metrics.of("op").computed(Phase::Decode, Duration::from_millis(ms), kept);
        }
        metrics.of("op").computed(Phase::Encode, Duration::from_millis(1), None);
        let profile = metrics.profile(Duration::from_secs(1));
        let class = &profile.classes[0];
        let of = |name: &str| class.phases.iter().find(|phase| phase.phase == name).unwrap();
        assert!((of("decode").cpu_s.unwrap() - 0.009).abs() < 1e-12 && (of("decode").wall_s - 0.106).abs() < 1e-12);
        assert_eq!(of("encode").cpu_s, None);
        let source = class.cpu_by.clone().unwrap();
        assert_eq!((source.segments, source.interrupted), (3, 1));
        assert!((source.estimated_s - 0.003).abs() < 1e-12, "{source:?}");
    }

    #[test]
    fn the_text_has_counts_and_cumulated_buckets() {
        let metrics = Metrics::default();
        metrics.of("op").answered(200, 10, Duration::from_micros(3));
        // Another thread.
        metrics.of("op").answered(503, 0, Duration::from_micros(100));
        let text = metrics.text(2);
        for line in [
            "quayline_connections 2",
            "# TYPE process_cpu_seconds_total counter",
            "# TYPE process_open_fds gauge",
            "quayline_answers_total{operation=\"op\",status=\"2xx\"} 1",
            "quayline_answers_total{operation=\"op\",status=\"5xx\"} 1",
            "quayline_request_seconds_bucket{operation=\"op\",le=\"0.000003814697265625\"} 1",
            "quayline_request_seconds_bucket{operation=\"op\",le=\"+Inf\"} 2",
            "quayline_request_seconds_count{operation=\"op\"} 2",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
    }
}
