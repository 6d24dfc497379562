//! Times of single chunks, and their distribution in a step.

use quayline_core::{Stored, StoredReader};
use quayline_meter::Histogram;

use crate::times::Times;

/// Times of a durable chunk.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ChunkTimes {
    /// Number of the chunk in its step execution or partition, from 1.
    pub chunk: u64,
    /// Items that the reader returned.
    pub items: u64,
    /// Nanoseconds of the chunk. The commit is that of this chunk, although it ends while the next one runs.
    pub times: Times,
    /// CPU time of the chunk's thread. All zero unless a listener [takes times](crate::artifact::Listener::takes_times).
    pub cpu: CpuTimes,
}

/// Nanoseconds of CPU time of a chunk.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTimes {
    /// Reader.
    pub read_ns: u64,
    /// Processor.
    pub process_ns: u64,
    /// Writer.
    pub write_ns: u64,
    /// Whole chunk.
    pub total_ns: u64,
}

/// Distribution of the times of a step's chunks. Chunks that rolled back are not counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ChunkSpread {
    /// Number of chunks.
    pub chunks: u64,
    pub(crate) parts: [PartSpread; PARTS.len()],
}

/// Distribution of one part. Percentiles are exact to 1 in 32.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PartSpread {
    /// 50th percentile in nanoseconds.
    pub p50_ns: u64,
    /// 95th percentile in nanoseconds.
    pub p95_ns: u64,
    /// 99th percentile in nanoseconds.
    pub p99_ns: u64,
    /// Maximum in nanoseconds.
    pub max_ns: u64,
}

const PARTS: [&str; 7] = ["reader", "processor", "writer", "container", "commit", "wait", "total"];

impl ChunkSpread {
    /// Returns the parts by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, PartSpread)> {
        PARTS.into_iter().zip(self.parts)
    }
}

impl Stored for ChunkSpread {
    fn store(&self, to: &mut Vec<u8>) {
        self.chunks.store(to);
        for part in self.parts {
            (part.p50_ns, part.p95_ns).store(to);
            (part.p99_ns, part.max_ns).store(to);
        }
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let mut spread = ChunkSpread { chunks: Stored::load(from)?, ..ChunkSpread::default() };
        for part in &mut spread.parts {
            let ((p50_ns, p95_ns), (p99_ns, max_ns)) = (Stored::load(from)?, Stored::load(from)?);
            *part = PartSpread { p50_ns, p95_ns, p99_ns, max_ns };
        }
        Some(spread)
    }
}

/// Times of the chunks of a step that runs, for all its partitions in this process.
#[derive(Default)]
pub(crate) struct ChunkHistograms([Histogram; PARTS.len()]);

impl ChunkHistograms {
    pub(crate) fn record(&mut self, times: &Times) {
        let Times { read_ns, process_ns, write_ns, commit_ns, wait_ns, total_ns, .. } = *times;
        let parts = [read_ns, process_ns, write_ns, times.container_ns(), commit_ns, wait_ns, total_ns];
        self.0.iter_mut().zip(parts).for_each(|(histogram, ns)| histogram.record(ns));
    }

    /// Returns the distribution so far; `None` before the first chunk.
    pub(crate) fn spread(&self) -> Option<ChunkSpread> {
        let mut spread = ChunkSpread { chunks: self.0[0].count(), ..ChunkSpread::default() };
        for (part, histogram) in spread.parts.iter_mut().zip(&self.0) {
            let percentile = |percent| histogram.percentile(percent).unwrap_or(0);
            let max_ns = histogram.max().unwrap_or(0);
            *part = PartSpread { p50_ns: percentile(50.0), p95_ns: percentile(95.0), p99_ns: percentile(99.0), max_ns };
        }
        (spread.chunks > 0).then_some(spread)
    }
}
