//! Counters of a flow and of its nodes, shared by the threads that run it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use quayline_core::Finding;

use crate::trace::{TraceEvent, Traced};

/// Figures of a running flow. Counters start at zero when the flow is started.
#[derive(Debug)]
pub struct FlowStats {
    /// Counters by node number.
    pub nodes: Vec<NodeStats>,
    /// Units of work that committed.
    pub committed: AtomicU64,
    /// Units of work that were rolled back.
    pub rolled_back: AtomicU64,
    /// Messages received.
    pub received: AtomicU64,
    /// Units of work that were rolled back and repeated because they and others waited for each other's locks.
    pub conflicts: AtomicU64,
    /// Units of work that are open.
    pub open: AtomicU64,
    /// Open units of work that deliver a message to another system and wait for their next attempt.
    pub undelivered: AtomicU64,
    /// Nanoseconds of the units of work that ended, each from its first message to its commit or rollback.
    pub wall_ns: AtomicU64,
    /// Nanoseconds for which messages waited for other systems: databases, services, brokers, and programs in other processes.
    pub external_ns: AtomicU64,
    /// Nanoseconds for which units of work waited for files that are written or moved after the commit.
    pub device_ns: AtomicU64,
    /// CPU time of the flow's threads by purpose, measured for one unit of work in 32.
    pub cpu: CpuSplit,
    last_error: Mutex<Option<LastError>>,
    not_begun: Mutex<Option<String>>,
    pub(crate) traced: Traced,
}

/// Figures of one node.
#[derive(Debug, Default)]
pub struct NodeStats {
    /// Messages that arrived, of an input those that it received.
    pub messages: AtomicU64,
    /// Failures.
    pub failures: AtomicU64,
    /// Warnings about messages that the node accepted, such as those of a map.
    pub warnings: AtomicU64,
    /// Messages that ended at the node: `no_match` leads to no node, or a map made no document.
    pub dropped: AtomicU64,
    /// True if another process on the store takes the messages of this node.
    pub is_elsewhere: AtomicBool,
    last_error: Mutex<Option<LastError>>,
    last_warning: Mutex<Option<LastError>>,
    waits_for: Mutex<Option<LastError>>,
}

/// The last failure of a node.
#[derive(Clone, Debug)]
pub struct LastError {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The failure.
    pub finding: Finding,
}

/// Purpose of CPU time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CpuPart {
    /// Getting and putting messages.
    Queues,
    /// Record files.
    Files,
    /// Expressions, maps and the flow itself.
    Flow,
    /// Handing units of work to the log, and the log's own work where it is done on this thread.
    Commit,
}

/// Nanoseconds by part, of the units of work that were sampled.
#[derive(Debug, Default)]
pub struct CpuSplit {
    parts: [AtomicU64; 4],
    /// Messages of the sampled units of work.
    pub messages: AtomicU64,
}

impl CpuSplit {
    pub(crate) fn add(&self, part: CpuPart, ns: u64) {
        self.parts[part as usize].fetch_add(ns, Ordering::Relaxed);
    }

    /// Microseconds of a part for each message; 0 before the first sample.
    #[must_use]
    pub fn us_per_message(&self, part: CpuPart) -> f64 {
        let messages = self.messages.load(Ordering::Relaxed);
        if messages == 0 {
            return 0.0;
        }
        self.parts[part as usize].load(Ordering::Relaxed) as f64 / messages as f64 / 1_000.0
    }
}

/// Adds the time from its begin to a sum when it ends.
pub(crate) struct Timed<'s> {
    began: Instant,
    sum: &'s AtomicU64,
}

impl<'s> Timed<'s> {
    /// Begins now.
    pub(crate) fn new(sum: &'s AtomicU64) -> Timed<'s> {
        Timed::since(Instant::now(), sum)
    }

    pub(crate) fn since(began: Instant, sum: &'s AtomicU64) -> Timed<'s> {
        Timed { began, sum }
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.sum.fetch_add(ns, Ordering::Relaxed);
    }
}

/// A wait of a node, until it is dropped.
pub(crate) struct Waiting<'s>(pub(crate) &'s NodeStats);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.continues();
    }
}

impl FlowStats {
    pub(crate) fn new(nodes: usize) -> Self {
        FlowStats {
            nodes: (0..nodes).map(|_| NodeStats::default()).collect(),
            committed: AtomicU64::new(0),
            rolled_back: AtomicU64::new(0),
            received: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            open: AtomicU64::new(0),
            undelivered: AtomicU64::new(0),
            wall_ns: AtomicU64::new(0),
            external_ns: AtomicU64::new(0),
            device_ns: AtomicU64::new(0),
            cpu: CpuSplit::default(),
            last_error: Mutex::new(None),
            not_begun: Mutex::new(None),
            traced: Traced::default(),
        }
    }

    /// Returns the most recent failure that rolled back a unit of work.
    #[must_use]
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }

    /// Returns the reason why an input of the flow cannot start, such as an address in use. The flow keeps retrying.
    #[must_use]
    pub fn not_begun(&self) -> Option<String> {
        self.not_begun.lock().clone()
    }

    pub(crate) fn begins(&self, obstacle: Option<String>) {
        *self.not_begun.lock() = obstacle;
    }

    /// Starts recording the paths of messages. Recording ends automatically half a minute after the last [`FlowStats::take_trace`].
    pub fn begin_trace(&self, now_ms: u64) {
        self.traced.begin(now_ms);
    }

    /// Returns the steps of messages since the last call, and the number of steps dropped for lack of room.
    pub fn take_trace(&self, now_ms: u64) -> (Vec<TraceEvent>, u64) {
        self.traced.take(now_ms)
    }

    /// Records that the flow ended because of a failure.
    pub(crate) fn broke(&self, at_ms: u64, finding: Finding) {
        *self.last_error.lock() = Some(LastError { at_ms, finding });
    }

    pub(crate) fn rolled_back(&self, at_ms: u64, finding: Finding) {
        self.rolled_back.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock() = Some(LastError { at_ms, finding });
    }
}

impl NodeStats {
    /// Returns the last failure.
    #[must_use]
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }

    /// Returns the last warning.
    #[must_use]
    pub fn last_warning(&self) -> Option<LastError> {
        self.last_warning.lock().clone()
    }

    pub(crate) fn warned(&self, at_ms: u64, count: u64, last: Finding) {
        self.warnings.fetch_add(count, Ordering::Relaxed);
        *self.last_warning.lock() = Some(LastError { at_ms, finding: last });
    }

    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the failure because of which the node waits now: another system does not take its messages or cannot be reached, or its files cannot be
    /// written.
    #[must_use]
    pub fn waits_for(&self) -> Option<LastError> {
        self.waits_for.lock().clone()
    }

    /// Records a failure after which the node waits and tries again.
    pub(crate) fn waits(&self, at_ms: u64, finding: Finding) {
        *self.waits_for.lock() = Some(LastError { at_ms, finding: finding.clone() });
        self.failed(at_ms, finding);
    }

    /// Records that the node no longer waits.
    pub(crate) fn continues(&self) {
        *self.waits_for.lock() = None;
    }

    pub(crate) fn failed(&self, at_ms: u64, finding: Finding) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock() = Some(LastError { at_ms, finding });
    }
}
