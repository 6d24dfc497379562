//! The chunk loop (sections 8.2.1 and 11.6 to 11.10).
//!
//! ```text
//! open ─▶ [ begin ─ before_chunk ─ (read ─ process)* ─ wait for the commit before ─ write ─ checkpoints ─ after_chunk ─ submit ]* ─▶ close
//!            ▲                          │ exception: skip, retry, or roll back:
//!            └── reopen at the last checkpoint, one item a chunk until past the item that failed
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_project::job::{Chunk, Step, StepBody};

use super::Run;
use super::fault::{Faults, Remedy};
use super::listeners::Listeners;
use super::step::ns;
use crate::artifact::{Answer, CheckpointAlgorithm, Item, Processor, Reader, Writer};
use crate::context::{JobContext, StepContext};
use crate::error::Thrown;
use crate::event;
use crate::record::{Counts, PartitionState, Progress, StepState, Times};
use crate::work::{Pending, Work};

/// How the loop ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ChunkEnd {
    Finished,
    Stopped,
}

/// Where checkpoints go.
pub(super) enum Place<'s> {
    Step(&'s mut StepState),
    Partition(u32, &'s mut PartitionState),
}

impl Place<'_> {
    fn progress(&mut self) -> &mut Progress {
        match self {
            Place::Step(state) => &mut state.progress,
            Place::Partition(_, state) => &mut state.progress,
        }
    }
}

/// A chunk step, or one partition of it, that runs.
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
    /// Items that still run one by one after a rollback.
    one_by_one: u64,
    /// Whether the chunk under way is one of these.
    is_retrying: bool,
    /// The commit of the chunk before.
    pending: Option<Pending>,
    /// Metrics at the last checkpoint.
    counts: Counts,
    pub(super) times: Times,
    items: Vec<Item>,
}

/// Why reading and processing of a chunk paused.
enum Filled {
    /// The chunk is full.
    Full,
    /// The reader is at its end.
    AtEnd,
    /// Somebody asked to stop.
    Stop,
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
        let StepBody::Chunk(chunk) = &step.body else { unreachable!("a batchlet is no chunk") };
        let registry = &run.engine.registry;
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
            one_by_one: 0,
            is_retrying: false,
            pending: None,
            counts: Counts::default(),
            times: Times::default(),
            items: Vec::new(),
        })
    }

    pub(super) fn run(&mut self) -> Answer<ChunkEnd> {
        let ended = self.open().and_then(|()| self.chunks());
        // A commit that is under way is waited for, whatever happened after it.
        let ended = match (self.settle(), ended) {
            (Err(thrown), Ok(_)) => Err(thrown),
            (_, ended) => ended,
        };
        let complete = matches!(ended, Ok(ChunkEnd::Finished));
        let closed = self.reader.close();
        let closed = self.writer.close(complete && closed.is_ok()).and(closed);
        match (ended, closed) {
            (Ok(_), Err(thrown)) => Err(thrown),
            (ended, _) => ended,
        }
    }

    fn open(&mut self) -> Answer<()> {
        let progress = self.place.progress();
        let (reader, writer) = (progress.reader.clone(), progress.writer.clone());
        let mut work = self.run.repository().begin()?;
        let opened = self
            .reader
            .open(reader.as_deref(), work.as_mut())
            .and_then(|()| self.writer.open(writer.as_deref(), work.as_mut()));
        if let Err(thrown) = &opened {
            self.context.set_exception(Some(thrown));
        }
        opened?;
        Ok(work.commit()?)
    }

    fn chunks(&mut self) -> Answer<ChunkEnd> {
        loop {
            if self.job.stop.is_set() {
                return Ok(ChunkEnd::Stopped);
            }
            if self.one_by_one == 0
                && let Some(algorithm) = &mut self.algorithm
            {
                // The specification has a time for the checkpoint here; the unit of work has bounds of its own.
                let _ = algorithm.timeout_s()?;
                algorithm.begin()?;
            }
            let mut work = self.run.repository().begin()?;
            let mut read = 0;
            let left = self.one_by_one;
            self.is_retrying = left > 0;
            match self.one_chunk(&mut work, &mut read) {
                Ok(filled) => {
                    self.commit(work, &filled)?;
                    match filled {
                        Filled::Full => {}
                        Filled::AtEnd => return Ok(ChunkEnd::Finished),
                        Filled::Stop => return Ok(ChunkEnd::Stopped),
                    }
                }
                Err(Broken::RollBack(thrown)) => {
                    self.roll_back(work, &thrown)?;
                    // All that the chunk had read, with the item that failed, runs one by one; and what still ran so, runs so again.
                    self.one_by_one = left.max(read);
                    self.reopen()?;
                }
                Err(Broken::Fail(thrown)) => {
                    // The first exception counts; what listeners add to it does not.
                    let _ = self.roll_back(work, &thrown);
                    return Err(thrown);
                }
            }
        }
    }

    fn one_chunk(&mut self, work: &mut Box<dyn Work>, read: &mut u64) -> Result<Filled, Broken> {
        self.listeners.each(|listener| listener.before_chunk())?;
        let filled = self.fill(work, read)?;
        if !self.items.is_empty() {
            // The chunk before is durable before anything of this one is written.
            self.settle()?;
            self.write(work)?;
        }
        let begin = Instant::now();
        let reader = self.reader.checkpoint()?;
        let writer = self.writer.checkpoint()?;
        self.settle()?;
        self.context.count(|counts| counts.commit += 1);
        self.counts = self.context.counts();
        self.listeners.each(|listener| listener.after_chunk()).inspect_err(|_| {
            self.context.count(|counts| counts.commit -= 1);
        })?;
        let progress = Progress { reader, writer, user_data: self.context.user_data(), counts: self.counts };
        *self.place.progress() = progress;
        let (repository, held) = (self.run.repository(), self.run.held);
        match &*self.place {
            Place::Step(state) => repository.put_step(work.as_mut(), held, &self.step.id, state),
            Place::Partition(number, state) => {
                repository.put_partition(work.as_mut(), held, (&self.step.id, *number), state)
            }
        }
        .map_err(Thrown::from)?;
        self.times.checkpoint_ns += ns(begin);
        Ok(filled)
    }

    /// Reads and processes until the chunk is full.
    fn fill(&mut self, work: &mut Box<dyn Work>, read: &mut u64) -> Result<Filled, Broken> {
        self.items.clear();
        let deadline = (self.chunk.time_limit_s > 0)
            .then(|| Instant::now() + Duration::from_secs(u64::from(self.chunk.time_limit_s)));
        let bytes_max = self.run.engine.settings.chunk_bytes_max;
        let mut bytes = 0;
        let mut count = 0;
        loop {
            *read += 1;
            match self.read(work)? {
                Read::End => {
                    self.one_by_one = 0;
                    return Ok(Filled::AtEnd);
                }
                Read::Skipped => {}
                Read::Item(item) => {
                    self.context.count(|counts| counts.read += 1);
                    if let Some(item) = self.process(item)? {
                        bytes += item.len();
                        self.items.push(item);
                    }
                }
            }
            count += 1;
            if self.job.stop.is_set() {
                return Ok(Filled::Stop);
            }
            if self.one_by_one > 0 {
                self.one_by_one -= 1;
                return Ok(Filled::Full);
            }
            let is_ready = match &mut self.algorithm {
                Some(algorithm) => algorithm.is_ready()?,
                None => count >= self.chunk.item_count || deadline.is_some_and(|deadline| Instant::now() >= deadline),
            };
            if is_ready || bytes >= bytes_max {
                return Ok(Filled::Full);
            }
        }
    }

    fn read(&mut self, work: &mut Box<dyn Work>) -> Result<Read, Broken> {
        loop {
            self.listeners.each(|listener| listener.before_read())?;
            let begin = Instant::now();
            let answer = self.reader.read(work.as_mut());
            self.times.read_ns += ns(begin);
            let thrown = match answer {
                Ok(Some(item)) => {
                    self.listeners.each(|listener| listener.after_read(&item))?;
                    return Ok(Read::Item(item));
                }
                Ok(None) => return Ok(Read::End),
                Err(thrown) => thrown,
            };
            self.context.set_exception(Some(&thrown));
            self.listeners.each(|listener| listener.on_read_error(&thrown))?;
            match self.remedy(&thrown) {
                Remedy::Fail => return Err(Broken::Fail(thrown)),
                Remedy::Skip => {
                    self.listeners.each(|listener| listener.on_skip_read(&thrown))?;
                    self.context.count(|counts| counts.read_skip += 1);
                    self.run.log_thrown(Some(self.context), "a read is skipped", &thrown);
                    return Ok(Read::Skipped);
                }
                Remedy::Retry => self.listeners.each(|listener| listener.on_retry_read(&thrown))?,
                Remedy::RollBack => {
                    self.listeners.each(|listener| listener.on_retry_read(&thrown))?;
                    return Err(Broken::RollBack(thrown));
                }
            }
        }
    }

    fn process(&mut self, item: Item) -> Result<Option<Item>, Broken> {
        let Some(processor) = &mut self.processor else { return Ok(Some(item)) };
        loop {
            self.listeners.each(|listener| listener.before_process(&item))?;
            let begin = Instant::now();
            let answer = processor.process(&item);
            self.times.process_ns += ns(begin);
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
            self.context.set_exception(Some(&thrown));
            self.listeners.each(|listener| listener.on_process_error(&item, &thrown))?;
            let registry = &self.run.engine.registry;
            match self.faults.remedy(self.chunk, registry, &thrown, self.is_retrying) {
                Remedy::Fail => return Err(Broken::Fail(thrown)),
                Remedy::Skip => {
                    self.listeners.each(|listener| listener.on_skip_process(&item, &thrown))?;
                    self.context.count(|counts| counts.process_skip += 1);
                    self.run.log_thrown(Some(self.context), "an item is skipped in processing", &thrown);
                    return Ok(None);
                }
                Remedy::Retry => self.listeners.each(|listener| listener.on_retry_process(&item, &thrown))?,
                Remedy::RollBack => {
                    self.listeners.each(|listener| listener.on_retry_process(&item, &thrown))?;
                    return Err(Broken::RollBack(thrown));
                }
            }
        }
    }

    fn remedy(&mut self, thrown: &Thrown) -> Remedy {
        self.faults.remedy(self.chunk, &self.run.engine.registry, thrown, self.is_retrying)
    }

    fn write(&mut self, work: &mut Box<dyn Work>) -> Result<(), Broken> {
        let items = std::mem::take(&mut self.items);
        let written = self.write_items(work, &items);
        self.items = items;
        written
    }

    fn write_items(&mut self, work: &mut Box<dyn Work>, items: &[Item]) -> Result<(), Broken> {
        loop {
            let mark = work.mark();
            self.listeners.each(|listener| listener.before_write(items))?;
            let begin = Instant::now();
            let answer = self.writer.write(items, work.as_mut());
            self.times.write_ns += ns(begin);
            let thrown = match answer {
                Ok(()) => {
                    self.listeners.each(|listener| listener.after_write(items))?;
                    self.context.count(|counts| counts.write += items.len() as u64);
                    return Ok(());
                }
                Err(thrown) => thrown,
            };
            work.back_to(mark);
            self.context.set_exception(Some(&thrown));
            self.listeners.each(|listener| listener.on_write_error(items, &thrown))?;
            match self.remedy(&thrown) {
                Remedy::Fail => return Err(Broken::Fail(thrown)),
                Remedy::Skip if items.len() > 1 && self.writer.isolates() => {
                    self.faults.take_back_skip();
                    let (left, right) = items.split_at(items.len() / 2);
                    self.write_items(work, left)?;
                    return self.write_items(work, right);
                }
                Remedy::Skip => {
                    self.listeners.each(|listener| listener.on_skip_write(items, &thrown))?;
                    self.context.count(|counts| counts.write_skip += 1);
                    let what = format!("{} items are skipped in writing", items.len());
                    self.run.log_thrown(Some(self.context), &what, &thrown);
                    return Ok(());
                }
                Remedy::Retry => self.listeners.each(|listener| listener.on_retry_write(items, &thrown))?,
                Remedy::RollBack => {
                    self.listeners.each(|listener| listener.on_retry_write(items, &thrown))?;
                    return Err(Broken::RollBack(thrown));
                }
            }
        }
    }

    fn commit(&mut self, work: Box<dyn Work>, filled: &Filled) -> Answer<()> {
        self.pending = Some(work.submit());
        if !self.is_retrying
            && let Some(algorithm) = &mut self.algorithm
        {
            algorithm.end()?;
        }
        self.run.event(event::CHECKPOINT, Some(self.context), Some(self.counts), String::new());
        // After an empty last chunk the collector is called once, at the end of the partition.
        let is_over = matches!(filled, Filled::AtEnd) && self.items.is_empty();
        if !is_over && self.step.partition.as_ref().is_some_and(|partition| partition.collector.is_some()) {
            self.settle()?;
            (self.committed)(self.context)?;
        }
        Ok(())
    }

    /// Waits for the commit that is under way.
    fn settle(&mut self) -> Answer<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let begin = Instant::now();
        let outcome = pending.wait();
        self.times.commit_ns += ns(begin);
        Ok(outcome?)
    }

    fn roll_back(&mut self, work: Box<dyn Work>, thrown: &Thrown) -> Answer<()> {
        let told = self.listeners.each(|listener| listener.on_chunk_error(thrown));
        drop(work);
        self.items.clear();
        let settled = self.settle();
        let kept = self.counts;
        self.context.count(|counts| {
            counts.rollback += 1;
            // What was skipped stays skipped; what was read and written is read and written again.
            (counts.read, counts.write, counts.filter, counts.commit) =
                (kept.read, kept.write, kept.filter, kept.commit);
        });
        self.run.log_thrown(Some(self.context), "a chunk is rolled back", thrown);
        settled.and(told)
    }

    fn reopen(&mut self) -> Answer<()> {
        self.reader.close()?;
        self.writer.close(false)?;
        self.open()
    }
}

/// What a read came to.
enum Read {
    Item(Item),
    Skipped,
    End,
}
