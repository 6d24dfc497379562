//! The time of a step, divided among its chunks.
//!
//! ```text
//! span of chunk n:   read, process ─ wait for commit n - 1 ─ write, checkpoint, submit
//! chunk n:           the span without that wait, and the wait for commit n in the next span
//! ```
//! The times of all chunks therefore add up to that of the step, without further clock readings.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use quayline_workload::Workload;

use super::ChunkRun;
use crate::artifact::Answer;
use crate::chunk_times::{ChunkHistograms, ChunkTimes, CpuTimes};
use crate::record::Times;

#[derive(Default)]
pub(super) struct Spans {
    all: Arc<Mutex<ChunkHistograms>>,
    current: Option<Span>,
    /// The chunk whose commit is in progress, after its span.
    under_way: Option<ChunkTimes>,
    /// CPU time of reading with processing, and of writing, in the current chunk.
    fill_cpu_ns: u64,
    write_cpu_ns: u64,
}

/// A chunk that runs.
struct Span {
    begun: Instant,
    /// CPU time of the thread, if a listener takes times.
    cpu_ns: Option<u64>,
    /// Times of the step before this chunk.
    before: Times,
    /// Wait for the commit of the chunk before.
    other_ns: u64,
    /// Number and items of the chunk, when its commit is in progress.
    submitted: Option<(u64, u64)>,
    is_durable: bool,
}

impl Spans {
    pub(super) fn new(all: Arc<Mutex<ChunkHistograms>>) -> Self {
        Spans { all, ..Spans::default() }
    }

    /// Drops the current chunk, which does not commit.
    pub(super) fn drop_current(&mut self) {
        self.current = None;
    }

    /// Drops the chunk whose commit failed.
    pub(super) fn commit_failed(&mut self) {
        self.under_way = None;
        self.current = self.current.take().filter(|span| span.submitted.is_none());
    }

    pub(super) fn submitted(&mut self, chunk: u64, items: u64, is_durable: bool) {
        if let Some(span) = &mut self.current {
            (span.submitted, span.is_durable) = (Some((chunk, items)), is_durable);
        }
    }
}

impl ChunkRun<'_, '_> {
    /// Returns the CPU time of the thread, if a listener takes times.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        let cpu = self.listeners.take_times().then(Workload::thread_cpu)?;
        u64::try_from(cpu.as_nanos()).ok()
    }

    pub(super) fn filled_since(&mut self, cpu_ns: Option<u64>) {
        self.spans.fill_cpu_ns += since(self.cpu_ns(), cpu_ns);
    }

    pub(super) fn written_since(&mut self, cpu_ns: Option<u64>) {
        self.spans.write_cpu_ns += since(self.cpu_ns(), cpu_ns);
    }

    /// Begins a chunk. The one before ends.
    pub(super) fn begin_span(&mut self, now: Option<Instant>) -> Answer<()> {
        self.end_span(now)?;
        (self.spans.fill_cpu_ns, self.spans.write_cpu_ns) = (0, 0);
        let (cpu_ns, before) = (self.cpu_ns(), self.times);
        self.spans.current =
            now.map(|begun| Span { begun, cpu_ns, before, other_ns: 0, submitted: None, is_durable: false });
        Ok(())
    }

    pub(super) fn end_span(&mut self, now: Option<Instant>) -> Answer<()> {
        let (Some(span), Some(now)) = (self.spans.current.take(), now) else { return Ok(()) };
        let Some((chunk, items)) = span.submitted else { return Ok(()) };
        let total_ns = u64::try_from(now.duration_since(span.begun).as_nanos()).unwrap_or(u64::MAX);
        let (all, before) = (self.times, span.before);
        let times = Times {
            read_ns: all.read_ns - before.read_ns,
            process_ns: all.process_ns - before.process_ns,
            write_ns: all.write_ns - before.write_ns,
            checkpoint_ns: all.checkpoint_ns - before.checkpoint_ns,
            commit_ns: (all.commit_ns - before.commit_ns).saturating_sub(span.other_ns),
            wait_ns: all.wait_ns - before.wait_ns,
            total_ns: total_ns.saturating_sub(span.other_ns),
        };
        // Reader and processor share the CPU time in the proportion of their times.
        let (filled, both) = (self.spans.fill_cpu_ns, (times.read_ns + times.process_ns).max(1));
        let read = u128::from(filled) * u128::from(times.read_ns) / u128::from(both);
        let read_ns = if times.process_ns == 0 { filled } else { u64::try_from(read).unwrap_or(filled) };
        let total_ns = since(self.cpu_ns(), span.cpu_ns);
        let cpu = CpuTimes { read_ns, process_ns: filled - read_ns, write_ns: self.spans.write_cpu_ns, total_ns };
        let chunk = ChunkTimes { chunk, items, times, cpu };
        if span.is_durable {
            return self.measured(&chunk);
        }
        self.spans.under_way = Some(chunk);
        Ok(())
    }

    /// Ends the wait for a commit, which succeeded.
    pub(super) fn durable(&mut self, waited_ns: u64) -> Answer<()> {
        let spans = &mut self.spans;
        if let Some(span) = spans.current.as_mut().filter(|span| span.submitted.is_some()) {
            span.is_durable = true;
            return Ok(());
        }
        let Some(mut chunk) = spans.under_way.take() else { return Ok(()) };
        chunk.times.commit_ns += waited_ns;
        chunk.times.total_ns += waited_ns;
        spans.current.iter_mut().for_each(|span| span.other_ns += waited_ns);
        self.measured(&chunk)
    }

    fn measured(&mut self, chunk: &ChunkTimes) -> Answer<()> {
        self.spans.all.lock().record(&chunk.times);
        if !self.listeners.take_times() {
            return Ok(());
        }
        self.listeners.each(|listener| listener.on_chunk_times(chunk))
    }
}

fn since(now: Option<u64>, before: Option<u64>) -> u64 {
    now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}
