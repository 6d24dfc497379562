//! What a run tells while it goes on.

/// Told after every block that was written, from whichever thread wrote it, in order of the source.
pub trait Progress: Send + Sync {
    /// The run has come to here.
    fn advance(&self, at: Advance);
}

/// Where a run is. All counts are from the start of the source, also after a resume.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Advance {
    /// Source bytes converted.
    pub source_bytes: u64,
    /// Source bytes in all, where known.
    pub source_bytes_total: Option<u64>,
    /// Records read.
    pub records: u64,
    /// Records rejected.
    pub rejected: u64,
    /// Bytes written to the output.
    pub output_bytes: u64,
}
