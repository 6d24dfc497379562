//! What users write: readers, processors, writers, batchlets, listeners and the rest, as traits.

mod properties;
mod registry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::context::{JobContext, StepContext};
use crate::error::Thrown;
use crate::record::StepExecution;
use crate::status::BatchStatus;
use crate::work::Work;

pub use properties::{Expected, Given, Properties, Property, Wrong};
pub use registry::{Maker, Registry};

/// An item: one record, document or message, in the format of its producer.
pub type Item = Vec<u8>;

/// The answer of an artifact.
pub type Answer<T> = Result<T, Thrown>;

/// What an artifact gets when it is made: once for each use in a step execution, and once for each partition.
#[derive(Clone)]
pub struct Injected {
    /// The reference of the artifact, for messages.
    pub name: String,
    /// Properties of this use, resolved.
    pub properties: BTreeMap<String, String>,
    /// The job.
    pub job: Arc<JobContext>,
    /// The step; job listeners and deciders have none.
    pub step: Option<Arc<StepContext>>,
    /// The folder at which relative paths of properties begin.
    pub folder: PathBuf,
}

impl Injected {
    /// A property, if it is there and not empty.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A property that must be there.
    ///
    /// # Errors
    /// It is missing or empty.
    pub fn required(&self, name: &str) -> Answer<&str> {
        self.property(name).ok_or_else(|| {
            let remedy = format!("add <property name=\"{name}\" value=\"...\"/> to the properties of {}", self.name);
            Thrown::property(&self.name, name, "is missing or empty", remedy)
        })
    }

    /// A property that is a number.
    ///
    /// # Errors
    /// It is not a number.
    pub fn number(&self, name: &str, default: u64) -> Answer<u64> {
        let Some(value) = self.property(name) else { return Ok(default) };
        let wrong = |_| {
            Thrown::property(&self.name, name, "is not a number", format!("write digits; the default is {default}"))
        };
        value.parse().map_err(wrong)
    }

    /// A property that is a path.
    ///
    /// # Errors
    /// It is missing or empty.
    pub fn path(&self, name: &str) -> Answer<PathBuf> {
        Ok(self.folder.join(self.required(name)?))
    }
}

/// Where an item is in the input, as far as its reader knows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ItemPlace {
    /// Number in the input, from 1.
    pub record: Option<u64>,
    /// First byte in the input, from 0.
    pub byte: Option<u64>,
}

/// Reads items.
pub trait Reader {
    /// Begins, or continues at a checkpoint that [`Reader::checkpoint`] gave.
    ///
    /// # Errors
    /// The step fails.
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()>;

    /// The next item, or `None` at the end.
    ///
    /// # Errors
    /// Retried or skipped if the job says so; otherwise the step fails.
    fn read(&mut self, work: &mut dyn Work) -> Answer<Option<Item>>;

    /// Prepares a retry without rollback after [`Reader::read`] threw: the next call reads the same item. The default does nothing, which is right for a
    /// reader that does not advance when it throws.
    ///
    /// # Errors
    /// The step fails.
    fn again(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Where the item is that was read last, for people who look for one that was skipped.
    fn place(&self) -> ItemPlace {
        ItemPlace::default()
    }

    /// Whether a restart continues elsewhere than at the last checkpoint. A reader that says no is not asked for a checkpoint, so one with a
    /// large position that seldom changes makes no copy of it.
    fn has_moved(&self) -> bool {
        true
    }

    /// Where a restart continues. Called before each commit.
    ///
    /// # Errors
    /// The step fails.
    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Whether the last call of [`Reader::read`] gave `None` because somebody asked the job to stop, and not because the input ended.
    fn was_interrupted(&self) -> bool {
        false
    }

    /// How much is left to read, in a unit of the reader's own; `None` if it does not know. Progress and time left come from it, and a partition
    /// with nothing left is not asked to split.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Gives a part of what is left away, called before a checkpoint: the checkpoint at which another reader of the same properties begins,
    /// which reads to where this one ended. This reader ends before it, and so do readers that continue at its later checkpoints.
    ///
    /// # Errors
    /// The step fails.
    fn split(&mut self) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Ends.
    ///
    /// # Errors
    /// The step fails.
    fn close(&mut self) -> Answer<()> {
        Ok(())
    }
}

/// What a processor made of the first items of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processed {
    /// The item to write for each of them, or `None` to leave it out.
    pub results: Vec<Option<Item>>,
    /// The exception of the item after these.
    pub thrown: Option<Thrown>,
}

/// Makes one item of another.
pub trait Processor {
    /// The item to write, or `None` to leave it out.
    ///
    /// # Errors
    /// Retried or skipped if the job says so; otherwise the step fails.
    fn process(&mut self, item: &Item) -> Answer<Option<Item>>;

    /// Whether the engine gives the items of a chunk together, because each call is expensive.
    fn takes_chunks(&self) -> bool {
        false
    }

    /// Processes items until one throws.
    fn process_all(&mut self, items: &[Item]) -> Processed {
        let mut processed = Processed::default();
        for item in items {
            match self.process(item) {
                Ok(result) => processed.results.push(result),
                Err(thrown) => {
                    processed.thrown = Some(thrown);
                    break;
                }
            }
        }
        processed
    }
}

/// Writes the items of a chunk.
pub trait Writer {
    /// Begins, or continues at a checkpoint: whatever was written after it never was.
    ///
    /// # Errors
    /// The step fails.
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()>;

    /// Writes the items of a chunk, as a part of the chunk's unit of work.
    ///
    /// # Errors
    /// Retried or skipped if the job says so; otherwise the step fails.
    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()>;

    /// Whether the engine may call [`Writer::write`] with parts of a chunk to find the items that fail. A writer that says so leaves its own state
    /// as it was when it throws; what it did in the unit of work is taken back for it.
    fn isolates(&self) -> bool {
        false
    }

    /// Returns whether the engine may roll a chunk back and repeat it item by item to find the items that fail. Otherwise the engine skips all items of
    /// the chunk together, unless [`Writer::isolates`] is true.
    fn isolates_by_rollback(&self) -> bool {
        false
    }

    /// Whether several partitions may write to the same place: everything that is written is a part of the unit of work.
    fn takes_several(&self) -> bool {
        false
    }

    /// Where a restart continues. What was written before is durable when this returns, unless it is a part of the unit of work.
    ///
    /// # Errors
    /// The step fails.
    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Ends. `complete` says whether the step came to the end of its input.
    ///
    /// # Errors
    /// The step fails.
    fn close(&mut self, complete: bool) -> Answer<()> {
        let _ = complete;
        Ok(())
    }
}

/// A task that is not chunks.
pub trait Batchlet {
    /// Runs; the answer is the exit status of the step unless somebody sets another one. Ends soon after `job.stop` is set.
    ///
    /// # Errors
    /// The step fails.
    fn process(&mut self) -> Answer<Option<String>>;
}

/// Says when a chunk ends, for `checkpoint-policy="custom"`.
pub trait CheckpointAlgorithm {
    /// Seconds that a checkpoint may take; 0 is no limit.
    ///
    /// # Errors
    /// The step fails.
    fn timeout_s(&mut self) -> Answer<u32> {
        Ok(0)
    }

    /// A chunk begins.
    ///
    /// # Errors
    /// The step fails.
    fn begin(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Whether the chunk ends after this item.
    ///
    /// # Errors
    /// The step fails.
    fn is_ready(&mut self) -> Answer<bool>;

    /// The chunk has committed.
    ///
    /// # Errors
    /// The step fails.
    fn end(&mut self) -> Answer<()> {
        Ok(())
    }
}

/// Decides where the job continues.
pub trait Decider {
    /// The exit status by which the transitions are chosen. `steps` are the step executions before: several after a split.
    ///
    /// # Errors
    /// The job fails.
    fn decide(&mut self, steps: &[StepExecution]) -> Answer<String>;
}

/// A plan of partitions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PartitionPlan {
    /// Properties by partition.
    pub properties: Vec<BTreeMap<String, String>>,
    /// Partitions at once; 0 is as many as the engine allows.
    pub threads: u32,
    /// Whether a restart takes this plan instead of the one before, and runs all of its partitions from the start.
    pub replaces: bool,
}

/// Plans partitions at run time.
pub trait PartitionMapper {
    /// The plan.
    ///
    /// # Errors
    /// The step fails.
    fn plan(&mut self) -> Answer<PartitionPlan>;

    /// Whether a restart must make the plan of the first execution: then another one fails the step instead of mixing ranges of both.
    fn must_repeat(&self) -> bool {
        false
    }
}

/// How a partitioned step ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PartitionOutcome {
    /// All partitions completed.
    Commit,
    /// A partition did not complete.
    Rollback,
}

/// Sees a partitioned step as a whole, on the step's thread.
pub trait PartitionReducer {
    /// The step begins.
    ///
    /// # Errors
    /// The step fails.
    fn begin(&mut self) -> Answer<()> {
        Ok(())
    }

    /// All partitions completed.
    ///
    /// # Errors
    /// The step fails.
    fn before_completion(&mut self) -> Answer<()> {
        Ok(())
    }

    /// A partition did not complete.
    ///
    /// # Errors
    /// The step fails.
    fn rollback(&mut self) -> Answer<()> {
        Ok(())
    }

    /// The step ended.
    ///
    /// # Errors
    /// The step fails.
    fn after_completion(&mut self, outcome: PartitionOutcome) -> Answer<()> {
        let _ = outcome;
        Ok(())
    }
}

/// Collects data of a partition, on the partition's thread: after each checkpoint and at the end.
pub trait PartitionCollector {
    /// Data for the analyzer.
    ///
    /// # Errors
    /// The partition fails.
    fn collect(&mut self) -> Answer<Option<Vec<u8>>>;
}

/// Analyzes what partitions collect, on the step's thread.
pub trait PartitionAnalyzer {
    /// Data of a collector.
    ///
    /// # Errors
    /// The step fails.
    fn data(&mut self, data: Option<&[u8]>) -> Answer<()>;

    /// A partition ended.
    ///
    /// # Errors
    /// The step fails.
    fn status(&mut self, status: BatchStatus, exit_status: &str) -> Answer<()> {
        let _ = (status, exit_status);
        Ok(())
    }
}

/// Hears what happens. One trait has the methods of all listener kinds: a listener of a job hears `before_job` and `after_job`, one of a step all others.
#[allow(
    unused_variables,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the names are those of the specification; an error fails the step or job"
)]
pub trait Listener {
    fn before_job(&mut self) -> Answer<()> {
        Ok(())
    }
    fn after_job(&mut self) -> Answer<()> {
        Ok(())
    }
    fn before_step(&mut self) -> Answer<()> {
        Ok(())
    }
    fn after_step(&mut self) -> Answer<()> {
        Ok(())
    }
    fn before_chunk(&mut self) -> Answer<()> {
        Ok(())
    }
    fn after_chunk(&mut self) -> Answer<()> {
        Ok(())
    }
    fn on_chunk_error(&mut self, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn before_read(&mut self) -> Answer<()> {
        Ok(())
    }
    fn after_read(&mut self, item: &Item) -> Answer<()> {
        Ok(())
    }
    fn on_read_error(&mut self, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn before_process(&mut self, item: &Item) -> Answer<()> {
        Ok(())
    }
    fn after_process(&mut self, item: &Item, result: Option<&Item>) -> Answer<()> {
        Ok(())
    }
    fn on_process_error(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn before_write(&mut self, items: &[Item]) -> Answer<()> {
        Ok(())
    }
    fn after_write(&mut self, items: &[Item]) -> Answer<()> {
        Ok(())
    }
    fn on_write_error(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_skip_read(&mut self, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_skip_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_skip_write(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_retry_read(&mut self, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_retry_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
    fn on_retry_write(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        Ok(())
    }
}
