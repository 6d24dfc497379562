//! What a run did and what it cost.

use std::path::PathBuf;
use std::time::Duration;

use quayline_core::{Code, Finding, Tally};

/// What a run did and what it cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Counts from the start of the source, also after a resume; [`Report::adds_up`] holds.
    pub tally: Tally,
    /// Documents written: equal to `tally.records_out` except where children are nested in their parents.
    pub documents: u64,
    /// Bytes of the source that were read in this run.
    pub source_bytes: u64,
    /// Bytes of the output, from its start.
    pub output_bytes: u64,
    /// Bytes of the rejects file, from its start.
    pub rejects_bytes: u64,
    /// Where the output is, if it is a file.
    pub output: Option<PathBuf>,
    /// Where the rejects are, if there are any.
    pub rejects: Option<PathBuf>,
    /// The first findings, in order, at most [`Limits::findings_max`](quayline_core::Limits).
    pub findings: Vec<Finding>,
    /// How often each code was found, by code. In this run.
    pub findings_by_code: Vec<(Code, u64)>,
    /// Set when this run went on from a checkpoint: the first record of this run.
    pub resumed_at: Option<u64>,
    /// Where the time went.
    pub cost: Cost,
}

impl Report {
    /// Whether every record read is accounted for exactly once: written, rejected or skipped.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let t = &self.tally;
        t.records_in == t.records_out + t.records_rejected + t.records_skipped
    }
}

/// Where the time of a run went. The identity: `read + convert + write + sync + idle + other == wall × lanes`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// Threads that converted.
    pub lanes: usize,
    /// From start to end.
    pub wall: Duration,
    /// Reading the source and cutting it into blocks of whole records, all lanes.
    pub read: Duration,
    /// Decoding and encoding, one composed loop, all lanes.
    pub convert: Duration,
    /// Writing the output and rejects, all lanes.
    pub write: Duration,
    /// fsync and checkpoints.
    pub sync: Duration,
    /// Waiting for another lane.
    pub idle: Duration,
    /// What no phase claims: start and end of the run.
    pub other: Duration,
    /// CPU time of the process in the run.
    pub cpu: Duration,
    /// CPU time of the lanes while converting only.
    pub convert_cpu: Duration,
    /// Largest resident memory of the process so far, bytes.
    pub peak_memory_bytes: u64,
}
