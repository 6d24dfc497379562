//! Times of a step or chunk.

use quayline_core::{Stored, StoredReader};

/// Nanoseconds of a step by who spent them. Those of partitions are added, so several threads have more than the clock on the wall.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Times {
    /// Reader.
    pub read_ns: u64,
    /// Processor.
    pub process_ns: u64,
    /// Writer.
    pub write_ns: u64,
    /// Checkpoint: the data of reader and writer and the record. A part of the container's time.
    pub checkpoint_ns: u64,
    /// Commits: handing them over, and waiting until they are durable.
    pub commit_ns: u64,
    /// Elapsed time of the step.
    pub total_ns: u64,
    /// Waiting for a turn among other work, or for a database that does not answer.
    pub wait_ns: u64,
}

/// Packs the times without `wait_ns`, which a later version added. Each record that contains times packs `wait_ns` at its own end.
impl Stored for Times {
    fn store(&self, to: &mut Vec<u8>) {
        (self.read_ns, self.process_ns, self.write_ns).store(to);
        (self.checkpoint_ns, self.commit_ns, self.total_ns).store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (read_ns, process_ns, write_ns) = Stored::load(from)?;
        let (checkpoint_ns, commit_ns, total_ns) = Stored::load(from)?;
        Some(Times { read_ns, process_ns, write_ns, checkpoint_ns, commit_ns, total_ns, wait_ns: 0 })
    }
}

impl Times {
    /// Adds the times of a partition.
    pub fn add(&mut self, other: Times) {
        self.read_ns += other.read_ns;
        self.process_ns += other.process_ns;
        self.write_ns += other.write_ns;
        self.checkpoint_ns += other.checkpoint_ns;
        self.commit_ns += other.commit_ns;
        self.total_ns += other.total_ns;
        self.wait_ns += other.wait_ns;
    }

    /// Returns the time of the container: the total without reader, processor, writer, commits and waiting.
    #[must_use]
    pub fn container_ns(&self) -> u64 {
        let named = self.read_ns + self.process_ns + self.write_ns + self.commit_ns + self.wait_ns;
        self.total_ns.saturating_sub(named)
    }
}
