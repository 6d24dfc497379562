//! Progress reports of a run.

/// Receiver of progress, called after every block in source order, from the thread that wrote the block.
pub trait Progress: Send + Sync {
    /// Reports the present position of the run.
    fn advance(&self, at: Advance);
}

/// Position of a run. All counts are from the start of the source, including the part before a resume.
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
