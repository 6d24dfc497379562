//! Report of a run: its results and its cost.

use std::path::PathBuf;

use quayline_core::{Code, Finding, RecordNumber, Tally};

/// Results and cost of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Counts from the start of the source, also after a resume; [`Report::adds_up`] holds.
    pub tally: Tally,
    /// Documents written in this run: the number of records, except where children are nested in their parents.
    pub documents: u64,
    /// Bytes of the source that were read in this run.
    pub source_bytes: u64,
    /// Bytes of the output, from its start.
    pub output_bytes: u64,
    /// Bytes of the rejects file, from its start.
    pub rejects_bytes: u64,
    /// Path of the output, if it is a file.
    pub output: Option<PathBuf>,
    /// Path of the rejects, if there are any.
    pub rejects: Option<PathBuf>,
    /// Number of findings of severity error that reject nothing, such as a wrong count in the trailer of an interchange. Counted from the start of the
    /// source, also after a resume.
    pub errors: u64,
    /// Number of those errors that occur before the checkpoint from which the run resumed.
    pub errors_before: u64,
    /// The first findings, in order, at most [`Limits::findings_max`](quayline_core::Limits). Errors take the place of later warnings.
    pub findings: Vec<Finding>,
    /// Warnings that are one each however often they came in this run, such as binary numbers beyond their picture, by field; each message
    /// begins with its count, and its place is that of the first.
    pub repeated: Vec<Finding>,
    /// Number of findings of this run by code.
    pub findings_by_code: Vec<(Code, u64)>,
    /// Names of the guides by which transactions were read or checked, in order. In this run.
    pub guides: Vec<String>,
    /// Probable cause if many of the first records were rejected and look like another framing or copybook.
    pub misfit: Option<Finding>,
    /// Set when this run went on from a checkpoint: the first record of this run.
    pub resumed_at: Option<RecordNumber>,
    /// Records that `tally` counts from before the checkpoint.
    pub records_before: u64,
    /// Time by phase, with the accounting identity; CPU time and peak memory of the process. Decoding and encoding are one
    /// composed loop and are charged to the phase `decode`; `commit` is fsync, checkpoints and renames.
    pub cost: quayline_meter::Report,
}

impl Report {
    /// Returns true if every record read is counted exactly once: written, rejected or skipped.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let t = &self.tally;
        t.records_in == t.records_out + t.records_rejected + t.records_skipped
    }
}
