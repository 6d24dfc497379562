//! Lanes alternate at the source and at the output; output has the order of the source.
//!
//! The lanes themselves read and write. A lane takes an empty lot, takes the next block (under the reader's lock), converts it,
//! and submits the lot. The lane that submits the next lot in order becomes the writer and writes all lots that are ready, while the
//! other lanes continue. Therefore n lanes are n threads, a block stays in the cache of the core that read it, and one lane is a plain loop.
//!
//! Memory is bounded: each lane has one block. There are some more lots than lanes, so that a lane that the scheduler suspends for a moment does not
//! block the others at once. No block is started while the waiting lots exceed a number of bytes. A lot allocates memory only when it is used. A lane
//! takes a lot before it takes a block, so the next block in order always has a lot and the lanes cannot deadlock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use quayline_core::{Finding, Findings};
use quayline_meter::Phase;

use crate::block::Block;
use crate::block_reader::{BlockRead, BlockReader};
use crate::error::PipelineError;
use crate::lane::Lane;
use crate::lane_facts::LaneFacts;
use crate::lot::Lot;
use crate::misfit;

/// A lane's line of time.
pub type Clock = quayline_meter::Lane;

/// Writes lots in order.
pub trait OrderedSink: Send {
    /// Error that ends a run.
    type Error: From<PipelineError> + Send;

    /// Writes one lot.
    ///
    /// # Errors
    /// The error that ends the run.
    fn write(&mut self, lot: &mut Lot, clock: &mut Clock) -> Result<(), Self::Error>;
}

/// State shared by the lanes of a run.
pub struct Scheduler<'r, W: OrderedSink> {
    block_reader: Mutex<BlockReader<'r>>,
    order: Mutex<Order<W>>,
    changed: Condvar,
    /// Maximum number of bytes of lots that wait to be written, from which on no further block is started.
    ready_bytes_max: usize,
    /// Bytes of memory that free lots keep.
    free_bytes_max: usize,
    stop: AtomicBool,
    cancel: &'r AtomicBool,
    facts: &'r LaneFacts,
    source_path: &'r std::path::Path,
}

struct Order<W: OrderedSink> {
    next: u64,
    ready: Vec<Lot>,
    /// Bytes of memory of `ready`.
    ready_bytes: usize,
    free: Vec<Lot>,
    /// Bytes of memory of `free`.
    free_bytes: usize,
    /// `None` while a lane writes.
    writer: Option<W>,
    error: Option<W::Error>,
}

impl<'r, W: OrderedSink> Scheduler<'r, W> {
    /// Lanes take blocks from `block_reader` and hand lots to `writer`; `source_path` names the source in errors of reading. Set `cancel` to stop
    /// before the next block.
    #[must_use]
    pub fn new(
        block_reader: BlockReader<'r>,
        writer: W,
        lanes: usize,
        cancel: &'r AtomicBool,
        facts: &'r LaneFacts,
        source_path: &'r std::path::Path,
    ) -> Self {
        let lots = lots(lanes);
        Scheduler {
            block_reader: Mutex::new(block_reader),
            order: Mutex::new(Order {
                next: 0,
                ready: Vec::with_capacity(lots),
                ready_bytes: 0,
                free: (0..lots).map(|_| Lot::new()).collect(),
                free_bytes: 0,
                writer: Some(writer),
                error: None,
            }),
            changed: Condvar::new(),
            ready_bytes_max: READY_BYTES_A_LANE * lanes,
            free_bytes_max: if lanes == 1 { usize::MAX } else { FREE_BYTES_A_LANE * lanes },
            stop: AtomicBool::new(false),
            cancel,
            facts,
            source_path,
        }
    }

    /// Runs one lane until the source ends or the run does. `clock` is that of the thread it runs on.
    pub fn run(&self, lane: &mut dyn Lane, mut block: Block, clock: &mut Clock) {
        let panic_flag = PanicFlag(self);
        // A lane whose block ends inside a document keeps its turn: the next block belongs to the same document.
        let mut turn: Option<MutexGuard<'_, BlockReader<'r>>> = None;
        while let Some(mut lot) = self.free_lot(clock) {
            clock.enter(Phase::Lock);
            let mut block_reader = turn.take().unwrap_or_else(|| lock(&self.block_reader));
            if self.stop.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed) {
                break;
            }
            clock.enter(Phase::Read);
            let taken = block_reader.take(&mut block, self.cancel);
            lot.seq = block.seq;
            if matches!(taken, Ok(BlockRead::Block)) && block.goes_on() {
                turn = Some(block_reader);
            } else {
                drop(block_reader);
            }
            match taken {
                Ok(BlockRead::End | BlockRead::Stopped) => break,
                Ok(taken) => {
                    clock.enter(Phase::Decode);
                    self.convert(lane, &block, taken, &mut lot);
                    if lot.is_abandoned {
                        // No lot after this one can be written, so no lane waits for it.
                        self.stop_all();
                        break;
                    }
                    clock.counters.bytes_in += lot.after.offset.0 - block.before.offset.0;
                    clock.counters.batches += 1;
                }
                Err(source) => {
                    lot.after = block.before.clone();
                    lot.end = Some(PipelineError::io("read", self.source_path)(source));
                }
            }
            self.hand_in(lot, clock);
        }
        drop(panic_flag);
    }

    /// Takes the writer back when all lanes have ended, with the error that ended the run.
    pub fn finish(self) -> (Option<W>, Option<W::Error>) {
        let order = self.order.into_inner().unwrap_or_else(PoisonError::into_inner);
        (order.writer, order.error)
    }

    fn convert(&self, lane: &mut dyn Lane, block: &Block, taken: BlockRead, lot: &mut Lot) {
        lane.convert(self.facts, block, lot);
        lot.end_with(taken);
        if let Some(records) = &self.facts.records {
            lot.misfit = misfit::explain(records, block, lot, &self.facts.file);
        }
    }

    /// Stops the lanes, also those that wait.
    fn stop_all(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _order = lock(&self.order);
        self.changed.notify_all();
    }

    /// Waits for an empty lot; `None` when the run ends.
    fn free_lot(&self, clock: &mut Clock) -> Option<Lot> {
        clock.enter(Phase::Lock);
        let mut order = lock(&self.order);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            // The next lot in order is never among the waiting ones, so the lane that works on it will write them and wake this one.
            if (order.ready.is_empty() || order.ready_bytes < self.ready_bytes_max)
                && let Some(lot) = order.free.pop()
            {
                order.free_bytes -= lot.memory();
                return Some(lot);
            }
            clock.enter(Phase::Backpressure);
            order = self.changed.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Submits a lot, and writes lots as long as the next one in order is ready and no other lane writes.
    fn hand_in(&self, lot: Lot, clock: &mut Clock) {
        clock.enter(Phase::Lock);
        let bytes = lot.memory();
        let mut order = lock(&self.order);
        order.ready_bytes += bytes;
        order.ready.push(lot);
        while order.error.is_none()
            && let Some(at) = order.ready.iter().position(|lot| lot.seq == order.next)
            && let Some(mut writer) = order.writer.take()
        {
            let mut lot = order.ready.swap_remove(at);
            // The memory of the lot is unchanged since the lot was submitted.
            order.ready_bytes -= lot.memory();
            drop(order);
            clock.enter(Phase::Write);
            let misfit = lot.misfit.clone();
            let mut done = writer.write(&mut lot, clock);
            if let (Ok(()), Some(end)) = (&done, lot.end.take()) {
                done = Err(with_misfit(end, misfit).into());
            }
            lot.clear();
            clock.enter(Phase::Lock);
            order = lock(&self.order);
            order.writer = Some(writer);
            order.next += 1;
            if order.free_bytes + lot.memory() > self.free_bytes_max {
                // Memory that large documents required is released at once.
                lot = Lot::new();
            }
            order.free_bytes += lot.memory();
            order.free.push(lot);
            if let Err(error) = done {
                order.error = Some(error);
                self.stop.store(true, Ordering::Relaxed);
            }
            self.changed.notify_all();
        }
    }
}

/// Wakes the other lanes when a lane panics, so that the run ends with that panic instead of blocking forever.
struct PanicFlag<'e, 'r, W: OrderedSink>(&'e Scheduler<'r, W>);

impl<W: OrderedSink> Drop for PanicFlag<'_, '_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop_all();
        }
    }
}

/// Some lots of usual size, or one of a large document.
const READY_BYTES_A_LANE: usize = 1 << 20;

/// Memory of one lot of usual size for each lane, so that a free lot usually has its memory already.
const FREE_BYTES_A_LANE: usize = 2 << 20;

/// Returns the number of lots: a few for each lane, and relatively fewer for many lanes.
fn lots(lanes: usize) -> usize {
    match lanes {
        0 | 1 => 1,
        _ => (4 * lanes + 4).min(24).max(2 * lanes),
    }
}

/// Adds a finding about the likely framing to a framing error in the first block.
fn with_misfit(end: PipelineError, misfit: Option<Finding>) -> PipelineError {
    match end {
        PipelineError::Refused(Findings(mut findings)) => {
            findings.extend(misfit);
            PipelineError::Refused(Findings(findings))
        }
        end => end,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
