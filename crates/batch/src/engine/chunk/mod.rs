//! The chunk loop (sections 8.2.1 and 11.6 to 11.10).
//!
//! ```text
//! open ─▶ [ begin ─ before_chunk ─ (read ─ process)* ─ wait for the commit before ─ write ─ checkpoints ─ after_chunk ─ submit ]* ─▶ close
//!            ▲                          │ exception: skip, retry, or roll back:
//!            └── reopen at the last checkpoint, one item a chunk until past the item that failed
//! ```

mod gathered;
mod pace;
mod recover;
mod span;

use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_project::job::{Chunk, Step, StepBody};

use super::Run;
use super::adaptive::Adaptive;
use super::fault::{Faults, Remedy};
use super::item_clock::{ItemClock, Looks};
use super::listeners::Listeners;
use super::origin::{Origin, shown};
use super::partition::{bound, choice};
use super::step::ns;
use super::straggler::Splits;
use crate::artifact::{Answer, CheckpointAlgorithm, Item, ItemPlace, Lent, Needs, Processor, Reader, Writer};
use crate::context::{JobContext, StepContext};
use crate::error::{BatchError, Kind, Thrown};
use crate::event;
use crate::record::{Counts, Pace, PartitionState, Position, Progress, Reject, Stage, StepState, Times};
use crate::repository::Large;
use crate::work::{Confirm, Pending, Work};

use gathered::Read;
use span::Spans;

/// Outcome of the loop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ChunkEnd {
    Finished,
    Stopped,
}

/// Destination of checkpoints.
pub(super) enum Place<'s> {
    Step(&'s mut StepState),
    Partition(u32, &'s mut PartitionState, &'s Splits<'s>),
}

impl Place<'_> {
    fn pace(&mut self) -> &mut Option<Pace> {
        match self {
            Place::Step(state) => &mut state.pace,
            Place::Partition(_, state, _) => &mut state.pace,
        }
    }

    fn progress(&mut self) -> &mut Progress {
        match self {
            Place::Step(state) => &mut state.progress,
            Place::Partition(_, state, _) => &mut state.progress,
        }
    }
}

/// A running chunk step, or a running partition.
pub(super) struct ChunkRun<'c, 's> {
    run: &'c Run<'c>,
    step: &'c Step,
    chunk: &'c Chunk,
    job: &'c Arc<JobContext>,
    context: &'c Arc<StepContext>,
    listeners: &'c mut Listeners,
    reader: Box<dyn Reader>,
    processor: Option<Box<dyn Processor>>,
    writer: Box<dyn Writer>,
    algorithm: Option<Box<dyn CheckpointAlgorithm>>,
    place: &'c mut Place<'s>,
    /// Called after each commit, on this thread: the collector.
    committed: &'c mut dyn FnMut(&StepContext) -> Answer<()>,
    faults: Faults,
    /// The size of chunks, if it follows the cost of commits.
    adaptive: Option<Adaptive>,
    clock: ItemClock,
    /// True if skipped items are saved.
    keeps_rejects: bool,
    /// True if a checkpoint writes only the changed pages of a large position.
    in_pages: bool,
    /// True if this chunk has nothing to commit.
    is_idle: bool,
    /// Position of the last skipped read failure, until an item is read.
    skipped_at: Option<ItemPlace>,
    /// Items that this chunk skipped.
    rejects: Vec<Reject>,
    /// Time of the last kept checkpoint event.
    kept_checkpoint: Option<Instant>,
    /// True if this loop wrote the preceding checkpoint, so that its large positions are separate records.
    has_written: bool,
    /// Items that still run one by one after a rollback.
    one_by_one: u64,
    /// True if the current chunk is one of these.
    is_retrying: bool,
    /// True if the last read found the end, and so no item.
    is_at_end: bool,
    /// The commit of the chunk before.
    pending: Option<Pending>,
    /// Work of that chunk.
    under_way: UnderWay,
    /// Exception of a refused commit of a single item. The engine skips the item when it reads it again.
    refused: Option<Thrown>,
    /// True if the outcome of the last commit is unknown, because the connection to the database was lost.
    pub(super) is_uncertain: bool,
    /// Metrics at the last checkpoint.
    counts: Counts,
    /// End of the chunk before the last checkpoint, until that checkpoint is known to be durable.
    before: Option<(Progress, Counts)>,
    /// Partition that the current chunk creates from the range that this one gives away.
    split_off: Option<u32>,
    /// True if the chunk waits for the results of its writes, because a commit without that was refused.
    confirms: bool,
    pub(super) times: Times,
    spans: Spans,
    /// Items that wait for a processor that takes the items of a chunk together.
    gathered: Vec<Item>,
    /// Origins of these items, if the chunk may skip.
    gathered_from: Vec<Origin>,
    /// Bytes of items that such a processor has received and returned in this step, which determine the size of a chunk.
    grown: (u64, u64),
    /// Bytes of items at which a chunk ends.
    bytes_max: usize,
    /// Bytes that an item takes in addition to its own.
    bytes_more: usize,
    /// Number of the item that was read last, or skipped in reading, in the step execution.
    number: u64,
    /// True if the chunk may skip, so that the origin of each item is recorded.
    is_tracking: bool,
    /// True if the chunk may retry.
    can_retry: bool,
    /// Items that were read and are not in the metrics yet.
    uncounted: u64,
    /// Items to write.
    items: Vec<Item>,
    /// Origins of these items, if the chunk may skip.
    items_from: Vec<Origin>,
}

/// Step property that selects the handling of skipped items.
const REJECTS: &str = "quayline.rejects";
/// Step property that selects the form of large positions.
const CHECKPOINTS: &str = "quayline.checkpoints";

/// Step property with the size in bytes of items at which a chunk ends.
const CHUNK_BYTES_MAX: &str = "quayline.chunk-bytes-max";

/// Bytes that a row takes until its unit of work is in the store: item, change, lock, undo, and its part of the record of the log.
pub(super) const ROW_BYTES: usize = 1_536;

/// Work of a chunk whose commit is in progress.
#[derive(Clone, Copy, Default)]
struct UnderWay {
    /// Items that it read or skipped in reading.
    read: u64,
    /// Items that it gave to the writer.
    written: usize,
    /// True if the chunk repeats items of a chunk that was rolled back.
    is_one_by_one: bool,
}

/// Reason for the end of reading and processing in a chunk.
enum Filled {
    /// The chunk is full.
    Full,
    /// The reader is at its end.
    AtEnd,
    /// A stop was requested.
    Stop,
}

/// Artifact that opens first: the reader when a step begins, the writer after a rollback (sections 11.8 and 11.11).
#[derive(Clone, Copy)]
enum Order {
    ReaderFirst,
    WriterFirst,
}

/// An exception that ends a chunk.
enum Broken {
    /// The chunk rolls back and runs again.
    RollBack(Thrown),
    /// The step fails.
    Fail(Thrown),
}

impl From<Thrown> for Broken {
    fn from(thrown: Thrown) -> Self {
        Broken::Fail(thrown)
    }
}

impl<'c, 's> ChunkRun<'c, 's> {
    pub(super) fn new(
        run: &'c Run<'c>,
        step: &'c Step,
        job: &'c Arc<JobContext>,
        context: &'c Arc<StepContext>,
        listeners: &'c mut Listeners,
        place: &'c mut Place<'s>,
        committed: &'c mut dyn FnMut(&StepContext) -> Answer<()>,
    ) -> Answer<Self> {
        let StepBody::Chunk(chunk) = &step.body else { unreachable!("a batchlet is not a chunk") };
        let registry = &run.engine.registry;
        context.set_item_count(chunk.item_count);
        let adaptive = Adaptive::of(&step.properties, chunk.item_count)?;
        let keeps_rejects = choice(step, REJECTS, ["drop", "keep"])?;
        let in_pages = choice(step, CHECKPOINTS, ["whole", "delta"])?;
        let bytes_max = bound(step, CHUNK_BYTES_MAX, run.engine.settings.chunk_bytes_max)?;
        let inject = |artifact| run.inject(artifact, job, Some(context));
        Ok(ChunkRun {
            reader: registry.make_reader(&inject(&chunk.reader))?,
            processor: chunk.processor.as_ref().map(|p| registry.make_processor(&inject(p))).transpose()?,
            writer: registry.make_writer(&inject(&chunk.writer))?,
            algorithm: chunk
                .checkpoint_algorithm
                .as_ref()
                .map(|algorithm| registry.make_checkpoint_algorithm(&inject(algorithm)))
                .transpose()?,
            run,
            step,
            chunk,
            job,
            context,
            listeners,
            place,
            committed,
            faults: Faults::default(),
            adaptive,
            clock: ItemClock::default(),
            keeps_rejects,
            in_pages,
            is_idle: false,
            skipped_at: None,
            rejects: Vec::new(),
            kept_checkpoint: None,
            has_written: false,
            one_by_one: 0,
            is_retrying: false,
            is_at_end: false,
            pending: None,
            under_way: UnderWay::default(),
            refused: None,
            is_uncertain: false,
            counts: context.counts(),
            before: None,
            split_off: None,
            confirms: false,
            times: Times::default(),
            spans: Spans::new(run.engine.chunk_histograms(run.held.execution, &step.id)),
            gathered: Vec::new(),
            gathered_from: Vec::new(),
            grown: (0, 0),
            bytes_max,
            bytes_more: 0,
            number: 0,
            is_tracking: !chunk.skippable.include.is_empty(),
            can_retry: !chunk.retryable.include.is_empty(),
            uncounted: 0,
            items: Vec::new(),
            items_from: Vec::new(),
        })
    }

    pub(super) fn run(&mut self) -> Answer<ChunkEnd> {
        let opened = self.open(Order::ReaderFirst).or_else(|thrown| self.recover(thrown));
        let ended = opened.and_then(|()| self.chunks());
        if ended.is_err()
            && let Err(thrown) = self.settle()
        {
            // The step has already failed. Its last checkpoint is the previous one.
            self.run.log_thrown(Some(self.context), "the last commit", &thrown);
        }
        self.tell(self.context.notes_left());
        let complete = matches!(ended, Ok(ChunkEnd::Finished));
        // Section 11.8: the writer first.
        let closed = self.writer.close(complete);
        let closed = closed.and(self.reader.close());
        match (ended, closed) {
            (Ok(_), Err(thrown)) => Err(thrown),
            (ended, _) => ended,
        }
    }

    /// Returns the time, if the step is measured.
    fn now(&self) -> Option<Instant> {
        self.run.engine.settings.measures.then(Instant::now)
    }

    /// Puts notes into the job log.
    fn tell(&self, notes: Vec<String>) {
        notes.into_iter().for_each(|note| self.run.event(event::LOG, Some(self.context), None, note));
    }

    fn open(&mut self, order: Order) -> Answer<()> {
        // The state in the repository is unknown, so the next checkpoint writes the whole state.
        self.has_written = false;
        self.rejects.clear();
        let progress = self.place.progress();
        let (reader, writer) = (progress.reader.clone(), progress.writer.clone());
        let mut work = self.run.repository().begin()?;
        let (reader, writer) = (reader.as_deref(), writer.as_deref());
        let opened = match order {
            Order::ReaderFirst => {
                self.reader.open(reader, work.as_mut()).and_then(|()| self.writer.open(writer, work.as_mut()))
            }
            Order::WriterFirst => {
                self.writer.open(writer, work.as_mut()).and_then(|()| self.reader.open(reader, work.as_mut()))
            }
        };
        if let Err(thrown) = &opened {
            self.context.set_exception(Some(thrown));
        }
        opened?;
        self.set_out();
        Ok(work.commit()?)
    }

    fn chunks(&mut self) -> Answer<ChunkEnd> {
        loop {
            match self.next_chunk() {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {}
                Err(thrown) => self.recover(thrown)?,
            }
        }
    }

    /// Runs one chunk. Returns the outcome of the step if it was the last, after waiting for the last commit.
    fn next_chunk(&mut self) -> Answer<Option<ChunkEnd>> {
        if self.job.stop.is_set() {
            self.end_span(self.now())?;
            self.settle()?;
            return Ok(Some(ChunkEnd::Stopped));
        }
        let begin = self.now();
        self.begin_span(begin)?;
        let mut turn = self.run.turn(&self.step.id);
        if turn.is_some() {
            self.times.wait_ns += ns(begin);
        }
        if self.one_by_one == 0
            && let Some(algorithm) = &mut self.algorithm
        {
            // The specification has a time limit for the checkpoint here; the unit of work has other limits.
            let _ = algorithm.timeout_s()?;
            algorithm.begin()?;
        }
        let checkpoints_ns = self.times.checkpoint_ns + self.times.commit_ns;
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.begin(checkpoints_ns);
        }
        let waited = quayline_program::waited_here();
        let mut work = self.run.repository().begin()?;
        let (mut read, left) = (0, self.one_by_one);
        self.is_retrying = left > 0;
        match self.one_chunk(&mut work, &mut read) {
            Ok(filled) => {
                self.under_way = UnderWay { read, written: self.items.len(), is_one_by_one: left > 0 };
                self.commit(work, &filled)?;
                self.tell(self.context.take_notes());
                let overhead = self.times.checkpoint_ns + self.times.commit_ns;
                if let Some(turn) = &mut turn {
                    turn.done(read - u64::from(self.is_at_end), 0);
                    turn.in_checkpoint(overhead.saturating_sub(checkpoints_ns));
                    turn.in_programs(quayline_program::waited_here().saturating_sub(waited));
                }
                if let Some(adaptive) = &mut self.adaptive
                    && left == 0
                {
                    adaptive.end(u32::try_from(read).unwrap_or(u32::MAX), overhead);
                }
                let end = match filled {
                    Filled::Full => return Ok(None),
                    Filled::AtEnd => ChunkEnd::Finished,
                    Filled::Stop => ChunkEnd::Stopped,
                };
                if let Err(thrown) = self.settle() {
                    if thrown.kind == Kind::Deferred {
                        self.take_counts_back(1);
                    }
                    return Err(thrown);
                }
                self.end_span(self.now())?;
                Ok(Some(end))
            }
            Err(Broken::RollBack(thrown)) => {
                self.spans.drop_current();
                // The rollback procedure of section 11.11.
                let closed = self.writer.close(false);
                let closed = closed.and(self.reader.close());
                self.roll_back(work, &thrown)?;
                closed?;
                turn.iter_mut().for_each(|turn| turn.done(1, 1));
                // All items that the chunk had read, including the failed one, run one by one; so do those still left of an earlier rollback.
                self.one_by_one = left.max(read);
                self.open_again()?;
                Ok(None)
            }
            Err(Broken::Fail(thrown)) => {
                self.spans.drop_current();
                // The first exception counts; further ones of listeners do not.
                if let Err(other) = self.roll_back(work, &thrown) {
                    self.run.log_thrown(Some(self.context), "after that", &other);
                }
                // If the step recovers, it repeats this chunk in the same mode.
                self.one_by_one = left;
                Err(thrown)
            }
        }
    }

    fn one_chunk(&mut self, work: &mut Box<dyn Work>, read: &mut u64) -> Result<Filled, Broken> {
        self.listeners.each(|listener| listener.before_chunk())?;
        let cpu_ns = self.cpu_ns();
        let filled = self.fill(work, read)?;
        self.filled_since(cpu_ns);
        if !self.items.is_empty() {
            // The chunk before is durable before anything of this one is written.
            self.settle()?;
            self.write(work)?;
        }
        let (begin, commit_ns) = (self.now(), self.times.commit_ns);
        self.context.count(|counts| counts.commit += 1);
        self.context.set_times(self.times);
        self.listeners.each(|listener| listener.after_chunk())?;
        let left = self.reader.left();
        let given = self.give_away(&filled)?;
        self.advance(left);
        let has_moved = self.reader.has_moved() || !self.has_written;
        let before = self.place.progress();
        let reader = if has_moved {
            Position::shared(self.reader.checkpoint()?, before.reader.as_ref())
        } else {
            before.reader.clone()
        };
        let writer = Position::shared(self.writer.checkpoint()?, before.writer.as_ref());
        let user_data = Position::shared(self.context.user_data().map(Lent::from), before.user_data.as_ref());
        // A checkpoint that shares positions with the one before is written only if that one holds.
        self.settle()?;
        let progress = Progress { reader, writer, user_data, counts: self.context.counts() };
        let last = std::mem::replace(self.place.progress(), progress);
        if let Err(error) = self.put_checkpoint(work, &filled, &last, given) {
            // The unit of work is rolled back, and so is the state of the step.
            *self.place.progress() = last;
            return Err(Thrown::from(error).into());
        }
        self.counts = self.context.counts();
        let counts = last.counts;
        self.before = Some((last, counts));
        // The commit before is not a part of this checkpoint.
        self.times.checkpoint_ns += ns(begin).saturating_sub(self.times.commit_ns - commit_ns);
        Ok(filled)
    }

    /// Writes the checkpoint with all that belongs to it, if there is anything to commit.
    fn put_checkpoint(
        &mut self,
        work: &mut Box<dyn Work>,
        filled: &Filled,
        last: &Progress,
        given: Option<Vec<u8>>,
    ) -> Result<(), BatchError> {
        // The end of the step writes the same state again, so a last chunk that did nothing has nothing to commit.
        self.is_idle = matches!(filled, Filled::AtEnd)
            && self.has_written
            && self.rejects.is_empty()
            && work.is_untouched()
            && self.place.progress().is_at(last);
        if self.is_idle {
            return Ok(());
        }
        let (repository, held) = (self.run.repository(), self.run.held);
        repository.put_rejects(work.as_mut(), held, self.context.counts().commit, &self.rejects)?;
        self.keep_checkpoint(work.as_mut())?;
        let step = &self.step.id;
        if let (Some(given), Place::Partition(number, _, splits)) = (given, &*self.place) {
            let made = repository.split_partition(work.as_mut(), held, (step, *number), given, splits.properties);
            self.split_off = Some(made?);
        }
        let large = Large { before: self.has_written.then_some(last), in_pages: self.in_pages };
        match &mut *self.place {
            Place::Step(state) => repository.put_checkpoint(work.as_mut(), held, (step, None), *state, large),
            Place::Partition(number, state, _) => {
                repository.put_checkpoint(work.as_mut(), held, (step, Some(*number)), *state, large)
            }
        }?;
        self.has_written = true;
        Ok(())
    }

    /// Returns the beginning of the range that the reader gives away, if a split was requested. The reader's own range ends there.
    fn give_away(&mut self, filled: &Filled) -> Answer<Option<Vec<u8>>> {
        let Place::Partition(_, _, splits) = &*self.place else { return Ok(None) };
        let straggler = &splits.straggler;
        straggler.set_left(self.reader.left().unwrap_or_default());
        // A chunk that is the last one, or one that was rolled back, gives nothing away.
        if !matches!(filled, Filled::Full) || self.one_by_one > 0 || !straggler.is_asked() {
            return Ok(None);
        }
        let given = if splits.is_apart || self.writer.takes_several() { self.reader.split()? } else { None };
        if given.is_none() {
            straggler.refuse();
            let why = if splits.is_apart || self.writer.takes_several() {
                "its reader has nothing to give away"
            } else {
                "its writer would share the output of another partition"
            };
            let number = self.context.partition.unwrap_or_default();
            let text = format!("partition {number} of step {} is not split: {why}", self.step.id);
            self.run.event(event::LOG, Some(self.context), None, text);
        }
        Ok(given)
    }

    /// Keeps the event of a checkpoint in the checkpoint's unit of work, if such events are kept and the last one is old enough.
    fn keep_checkpoint(&mut self, work: &mut dyn Work) -> Result<(), BatchError> {
        let engine = self.run.engine;
        let Some(keeping) = engine.keeping.as_ref().filter(|keeping| keeping.filter.wants(event::CHECKPOINT)) else {
            return Ok(());
        };
        let sample = Duration::from_millis(keeping.checkpoint_sample_ms);
        if self.kept_checkpoint.is_some_and(|last| last.elapsed() < sample) {
            return Ok(());
        }
        self.kept_checkpoint = Some(Instant::now());
        let event = self.run.made(event::CHECKPOINT, Some(self.context), Some(self.context.counts()), String::new());
        engine.keep(work, event.as_ref())
    }

    /// Reads and processes until the chunk is full.
    fn fill(&mut self, work: &mut Box<dyn Work>, read: &mut u64) -> Result<Filled, Broken> {
        self.items.clear();
        self.items_from.clear();
        self.gathered.clear();
        self.gathered_from.clear();
        let filled = self.gather(work, read)?;
        self.process_gathered()?;
        Ok(filled)
    }

    /// Reads until the chunk is full, and processes items unless they are processed together.
    fn gather(&mut self, work: &mut Box<dyn Work>, read: &mut u64) -> Result<Filled, Broken> {
        let takes_chunks = self.processor.as_ref().is_some_and(|processor| processor.takes_chunks());
        let looks = match (self.listeners.needs() < Needs::Items, self.processor.is_none() || takes_chunks) {
            (true, true) => Looks::Once,
            (true, false) => Looks::Shared,
            (false, _) => Looks::Apart,
        };
        self.clock.begin_chunk(if self.run.engine.settings.measures { looks } else { Looks::Never });
        let gathered = self.gather_items(work, read, takes_chunks);
        self.clock.end_chunk(&mut self.times);
        self.count_reads();
        gathered
    }

    /// Adds the number of items read to the metrics.
    fn count_reads(&mut self) {
        let count = std::mem::take(&mut self.uncounted);
        if count > 0 {
            self.context.count(|counts| counts.read += count);
        }
    }

    fn gather_items(&mut self, work: &mut Box<dyn Work>, read: &mut u64, takes_chunks: bool) -> Result<Filled, Broken> {
        let most = self.adaptive.as_ref().map_or(self.chunk.item_count, Adaptive::count);
        let deadline = (self.chunk.time_limit_s > 0)
            .then(|| Instant::now() + Duration::from_secs(u64::from(self.chunk.time_limit_s)));
        let (mut bytes, mut waiting, mut count, mut rejects) = (0, 0, 0, 0);
        // A store has no place for changes of a unit of work but the memory; a database receives them during the chunk.
        self.bytes_more = if self.writer.takes_several() && work.unit().is_some() { ROW_BYTES } else { 0 };
        loop {
            *read += 1;
            self.clock.begin_item();
            let next = self.read(work)?;
            self.is_at_end = matches!(next, Read::End);
            match next {
                Read::End if self.reader.was_interrupted() => return Ok(Filled::Stop),
                Read::End => {
                    self.one_by_one = 0;
                    return Ok(Filled::AtEnd);
                }
                Read::Skipped => {}
                Read::Item(item) => {
                    self.uncounted += 1;
                    self.number += 1;
                    // Listeners and processors look at metrics in the middle of a chunk.
                    if self.clock.looks() != Looks::Once {
                        self.count_reads();
                    }
                    let from = self.origin();
                    if takes_chunks {
                        waiting += item.len();
                        self.gathered.push(item);
                        self.gathered_from.extend(from);
                        if self.is_portion(waiting, bytes) {
                            bytes += self.process_portion()?;
                            waiting = 0;
                        }
                    } else if let Some(item) = self.process(item, from)? {
                        bytes += item.len() + self.bytes_more;
                        self.items.push(item);
                        self.items_from.extend(from);
                    }
                }
            }
            count += 1;
            bytes += self.bytes_of_rejects(&mut rejects);
            if self.job.stop.is_set() {
                return Ok(Filled::Stop);
            }
            if self.one_by_one > 0 {
                self.one_by_one -= 1;
                return Ok(Filled::Full);
            }
            let is_ready = match &mut self.algorithm {
                Some(algorithm) => algorithm.is_ready()?,
                None => count >= most || deadline.is_some_and(|deadline| Instant::now() >= deadline),
            };
            if is_ready || bytes + waiting >= self.bytes_max {
                return Ok(Filled::Full);
            }
        }
    }

    fn read(&mut self, work: &mut Box<dyn Work>) -> Result<Read, Broken> {
        loop {
            self.listeners.each(|listener| listener.before_read())?;
            let begin = self.clock.begin_part();
            let answer = self.reader.read(work.as_mut());
            self.clock.read(begin);
            let thrown = match answer {
                Ok(Some(item)) => {
                    self.skipped_at = None;
                    self.listeners.each(|listener| listener.after_read(&item))?;
                    return Ok(Read::Item(item));
                }
                Ok(None) => return Ok(Read::End),
                Err(thrown) => thrown,
            };
            self.count_reads();
            self.context.set_exception(Some(&thrown));
            let told = self.listeners.each(|listener| listener.on_read_error(&thrown));
            self.heard("reading", &thrown, told)?;
            self.number += 1;
            let from = self.origin();
            self.number -= 1;
            match self.remedy(&thrown, from.as_slice()) {
                Remedy::Fail => return Err(Broken::Fail(thrown)),
                Remedy::Skip => {
                    let at = self.reader.place();
                    if at != ItemPlace::default() && self.skipped_at.replace(at) == Some(at) {
                        // Skipping it did not help, and would not help a thousand times.
                        return Err(Broken::Fail(
                            thrown.hint("the reader cannot continue after this place: fix the input"),
                        ));
                    }
                    self.listeners.each(|listener| listener.on_skip_read(&thrown))?;
                    self.context.count(|counts| counts.read_skip += 1);
                    self.number += 1;
                    let from = self.origin();
                    self.reject(Stage::Read, None, from.as_ref(), &thrown);
                    let what = format!("{} skipped in reading", shown(from.as_slice(), 1));
                    self.run.log_thrown(Some(self.context), &what, &thrown);
                    return Ok(Read::Skipped);
                }
                Remedy::Retry => {
                    self.listeners.each(|listener| listener.on_retry_read(&thrown))?;
                    self.reader.again()?;
                }
                Remedy::RollBack => {
                    self.listeners.each(|listener| listener.on_retry_read(&thrown))?;
                    return Err(Broken::RollBack(thrown));
                }
            }
        }
    }

    /// Returns the origin of the last item, if the chunk may skip.
    fn origin(&self) -> Option<Origin> {
        self.is_tracking.then(|| Origin { number: self.number, place: self.reader.place() })
    }

    fn process(&mut self, item: Item, from: Option<Origin>) -> Result<Option<Item>, Broken> {
        loop {
            let Some(processor) = &mut self.processor else { return Ok(Some(item)) };
            self.listeners.each(|listener| listener.before_process(&item))?;
            let begin = self.clock.begin_part();
            let answer = processor.process(&item);
            self.clock.processed(begin);
            let thrown = match answer {
                Ok(result) => {
                    self.listeners.each(|listener| listener.after_process(&item, result.as_ref()))?;
                    if result.is_none() {
                        self.context.count(|counts| counts.filter += 1);
                    }
                    return Ok(result);
                }
                Err(thrown) => thrown,
            };
            if !self.processes_again(&item, from.as_ref(), thrown)? {
                return Ok(None);
            }
        }
    }

    /// Remembers a skipped item until the chunk commits, if the step keeps them.
    fn reject(&mut self, stage: Stage, item: Option<&Item>, from: Option<&Origin>, thrown: &Thrown) {
        if !self.keeps_rejects {
            return;
        }
        let place = from.map(|from| from.place).unwrap_or_default();
        self.rejects.push(Reject {
            step: self.step.id.clone(),
            partition: self.context.partition,
            stage,
            chunk: self.context.counts().commit + 1,
            number: from.map(|from| from.number),
            item: item.cloned(),
            class: thrown.class().to_owned(),
            message: thrown.message.clone(),
            record: place.record,
            byte: place.byte,
        });
    }

    /// Logs an exception if a listener that received it throws. The exception of the listener then fails the step, so only the log has the first one.
    fn heard(&self, doing: &str, thrown: &Thrown, told: Answer<()>) -> Answer<()> {
        if told.is_err() {
            self.run.log_thrown(Some(self.context), doing, thrown);
        }
        told
    }

    /// `from` has the origins of the items that failed, if they are known.
    fn remedy(&mut self, thrown: &Thrown, from: &[Origin]) -> Remedy {
        match self.faults.remedy(self.chunk, &self.run.engine.registry, thrown, self.is_retrying) {
            // Stop requests are checked between chunks, which a retry without limit never reaches.
            Remedy::Retry if self.job.stop.is_set() => Remedy::RollBack,
            Remedy::Fail => {
                if let Some(limits) = self.faults.limits_reached(self.chunk, &self.run.engine.registry, thrown) {
                    let at = match from {
                        [] => String::new(),
                        [one] => format!(" at {one}"),
                        [first, .., last] => format!(" at {first} to {last}"),
                    };
                    self.run.log_thrown(Some(self.context), &format!("{limits}{at}"), thrown);
                }
                Remedy::Fail
            }
            remedy => remedy,
        }
    }

    fn write(&mut self, work: &mut Box<dyn Work>) -> Result<(), Broken> {
        let (items, from) = (std::mem::take(&mut self.items), std::mem::take(&mut self.items_from));
        let written = self.write_items(work, &items, &from, 0);
        (self.items, self.items_from) = (items, from);
        written
    }

    /// Writes items of a chunk, of which `first` are before them.
    fn write_items(
        &mut self,
        work: &mut Box<dyn Work>,
        items: &[Item],
        from: &[Origin],
        first: usize,
    ) -> Result<(), Broken> {
        if let Some(thrown) = self.refused.take() {
            self.listeners.each(|listener| listener.on_write_error(items, &thrown))?;
            return match self.remedy(&thrown, from) {
                Remedy::Skip => self.skip_written(items, from, &thrown),
                _ => Err(Broken::Fail(thrown)),
            };
        }
        // Listeners must see committed results, and a bad item should be found without reading its chunk again. If neither applies, the result comes
        // with the commit.
        let is_heard = self.listeners.needs() == Needs::Results;
        let confirms = self.confirms || !work.defers() || is_heard || self.is_tracking || self.can_retry;
        let mut is_repeated = false;
        loop {
            let mark = confirms.then(|| (work.mark(), self.context.mark_notes()));
            if !std::mem::take(&mut is_repeated) {
                self.listeners.each(|listener| listener.before_write(items))?;
            }
            let (begin, cpu_ns) = (self.now(), self.cpu_ns());
            if self.confirms {
                work.set_by_item();
            }
            self.context.set_written_from(first);
            let mut answer = self.writer.write(items, work.as_mut());
            if confirms && answer.is_ok() {
                // A constraint that is checked now is found like all other refusals.
                let finds = self.confirms || self.is_tracking || self.can_retry;
                answer = work.confirm(if finds { Confirm::Constraints } else { Confirm::Writes });
            }
            self.times.write_ns += ns(begin);
            self.written_since(cpu_ns);
            let thrown = match answer {
                Ok(()) => {
                    self.listeners.each(|listener| listener.after_write(items))?;
                    self.context.count(|counts| counts.write += items.len() as u64);
                    return Ok(());
                }
                Err(thrown) => thrown,
            };
            if !thrown.has_remedy() {
                return Err(Broken::Fail(thrown));
            }
            match mark {
                Some((mark, notes)) => {
                    work.back_to(mark).map_err(Thrown::from)?;
                    self.context.back_to_notes(&notes);
                }
                // The chunk begins again, with marks, and its items one by one.
                None => return Err(Broken::Fail(Thrown { kind: Kind::Deferred, ..thrown })),
            }
            if thrown.kind == Kind::Plain && work.defers() && !work.by_item() && self.writer.isolates() {
                // A statement for each item names the item.
                work.set_by_item();
                is_repeated = true;
                continue;
            }
            self.context.set_exception(Some(&thrown));
            let told = self.listeners.each(|listener| listener.on_write_error(items, &thrown));
            self.heard("writing", &thrown, told)?;
            match self.remedy(&thrown, from) {
                Remedy::Fail => return Err(Broken::Fail(thrown)),
                Remedy::Skip if items.len() > 1 && self.writer.isolates() => {
                    self.faults.take_back_skip();
                    let (left, right) = items.split_at(items.len() / 2);
                    let (left_from, right_from) = from.split_at(left.len().min(from.len()));
                    self.write_items(work, left, left_from, first)?;
                    return self.write_items(work, right, right_from, first + left.len());
                }
                Remedy::Skip => return self.skip_written(items, from, &thrown),
                Remedy::Retry => self.listeners.each(|listener| listener.on_retry_write(items, &thrown))?,
                Remedy::RollBack => {
                    self.listeners.each(|listener| listener.on_retry_write(items, &thrown))?;
                    return Err(Broken::RollBack(thrown));
                }
            }
        }
    }

    /// Leaves out items that cannot be written.
    fn skip_written(&mut self, items: &[Item], from: &[Origin], thrown: &Thrown) -> Result<(), Broken> {
        self.listeners.each(|listener| listener.on_skip_write(items, thrown))?;
        self.writer.skipped(items.len());
        self.context.count(|counts| counts.write_skip += 1);
        for (at, item) in items.iter().enumerate() {
            self.reject(Stage::Write, Some(item), from.get(at), thrown);
        }
        let what = format!("{} skipped in writing", shown(from, items.len()));
        self.run.log_thrown(Some(self.context), &what, thrown);
        Ok(())
    }

    fn commit(&mut self, work: Box<dyn Work>, filled: &Filled) -> Answer<()> {
        self.rejects.clear();
        let read_before = self.before.as_ref().map_or(0, |(_, counts)| counts.read);
        self.spans.submitted(self.counts.commit, self.counts.read.saturating_sub(read_before), self.is_idle);
        if !self.is_idle {
            let begin = self.now();
            self.pending = Some(work.submit());
            self.times.commit_ns += ns(begin);
        }
        if !self.is_retrying
            && let Some(algorithm) = &mut self.algorithm
        {
            algorithm.end()?;
        }
        let engine = self.run.engine;
        if engine.observers.iter().any(|observer| observer.wants(event::CHECKPOINT)) {
            let counts = Some(self.counts);
            engine.tell(self.run.made(event::CHECKPOINT, Some(self.context), counts, String::new()));
        }
        // After an empty last chunk the collector is called once, at the end of the partition.
        let is_over = matches!(filled, Filled::AtEnd) && self.items.is_empty();
        if !is_over && self.step.partition.as_ref().is_some_and(|partition| partition.collector.is_some()) {
            self.settle()?;
            (self.committed)(self.context)?;
        }
        Ok(())
    }
}
