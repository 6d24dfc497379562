//! Interfaces of user-written artifacts: readers, processors, writers, batchlets, listeners and others, as traits.

mod properties;
mod registry;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::chunk_times::ChunkTimes;
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

/// Input of an artifact's constructor, which is called once for each use in a step execution, and once for each partition.
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
    /// Returns a property if it is present and not empty.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a mandatory property.
    ///
    /// # Errors
    /// The property is missing or empty.
    pub fn required(&self, name: &str) -> Answer<&str> {
        self.property(name).ok_or_else(|| {
            let remedy = format!("add <property name=\"{name}\" value=\"...\"/> to the properties of {}", self.name);
            Thrown::property(&self.name, name, "is missing or empty", remedy)
        })
    }

    /// Returns a numeric property, or the default.
    ///
    /// # Errors
    /// The value is not a number.
    pub fn number(&self, name: &str, default: u64) -> Answer<u64> {
        let Some(value) = self.property(name) else { return Ok(default) };
        let wrong = |_| {
            Thrown::property(&self.name, name, "is not a number", format!("write digits; the default is {default}"))
        };
        value.parse().map_err(wrong)
    }

    /// Returns a mandatory property as a path, relative to the job's folder.
    ///
    /// # Errors
    /// The property is missing or empty.
    pub fn path(&self, name: &str) -> Answer<PathBuf> {
        Ok(self.folder.join(self.required(name)?))
    }
}

/// Position of an item in the input, as far as its reader knows it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ItemPlace {
    /// Number in the input, from 1.
    pub record: Option<u64>,
    /// First byte in the input, from 0.
    pub byte: Option<u64>,
}

/// Bytes that an artifact lends to the engine or gives away.
pub type Lent<'a> = Cow<'a, [u8]>;

/// Reads items.
pub trait Reader {
    /// Begins, or continues at a checkpoint that [`Reader::checkpoint`] gave.
    ///
    /// # Errors
    /// The step fails.
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()>;

    /// Returns the next item, or `None` at the end.
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

    /// Returns the position of the last item, for messages about skipped items.
    fn place(&self) -> ItemPlace {
        ItemPlace::default()
    }

    /// Returns true if the restart position has changed since the last checkpoint. If it returns false, the engine does not call `checkpoint`, which
    /// avoids copies of large, rarely changing positions.
    fn has_moved(&self) -> bool {
        true
    }

    /// Returns the restart position. Called before each commit. A reader that has these bytes anyway lends them, and the engine copies them only if they
    /// differ from those of the last checkpoint.
    ///
    /// # Errors
    /// The step fails.
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(None)
    }

    /// Returns true if the last call of [`Reader::read`] returned `None` because of a stop request, and not because the input ended.
    fn was_interrupted(&self) -> bool {
        false
    }

    /// Returns the amount of remaining input in a reader-specific unit; `None` if unknown. Progress and remaining time are computed from it, and a
    /// partition without remaining input is not asked to split.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Gives away a part of the remaining input; called before a checkpoint. Returns the checkpoint at which another reader with the same properties
    /// begins. That reader reads up to the former end. This reader ends before it, and so do readers that continue at its later checkpoints.
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

/// Result of processing the first items of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processed {
    /// Item to write for each of them, or `None` to filter it.
    pub results: Vec<Option<Item>>,
    /// The exception of the item after these.
    pub thrown: Option<Thrown>,
}

/// Makes one item of another.
pub trait Processor {
    /// Returns the item to write, or `None` to filter it.
    ///
    /// # Errors
    /// Retried or skipped if the job says so; otherwise the step fails.
    fn process(&mut self, item: &Item) -> Answer<Option<Item>>;

    /// Returns true if the engine should pass all items of a chunk together, because each call is expensive.
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
    /// Begins, or continues at a checkpoint and discards everything written after it.
    ///
    /// # Errors
    /// The step fails.
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()>;

    /// Writes the items of a chunk, as part of the chunk's unit of work.
    ///
    /// # Errors
    /// Retried or skipped if the job says so; otherwise the step fails.
    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()>;

    /// Returns true if the engine may call [`Writer::write`] with parts of a chunk to find the items that fail. Such a writer keeps its internal
    /// state unchanged when it throws; the engine undoes its changes in the unit of work.
    fn isolates(&self) -> bool {
        false
    }

    /// Reports that the engine skips the next `count` items of the chunk, after [`Writer::write`] refused them.
    fn skipped(&mut self, count: usize) {
        let _ = count;
    }

    /// Returns true if several partitions may write to the same target, because all output is part of the unit of work.
    fn takes_several(&self) -> bool {
        false
    }

    /// Returns the restart position, as [`Reader::checkpoint`]. All earlier output is durable when this returns, unless it is part of the unit of work.
    ///
    /// # Errors
    /// The step fails.
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(None)
    }

    /// Ends the writer. `complete` is true if the step reached the end of its input.
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

/// Decides when a chunk ends, for `checkpoint-policy="custom"`.
pub trait CheckpointAlgorithm {
    /// Returns the time limit for a checkpoint in seconds; 0 for none.
    ///
    /// # Errors
    /// The step fails.
    fn timeout_s(&mut self) -> Answer<u32> {
        Ok(0)
    }

    /// Called at the beginning of a chunk.
    ///
    /// # Errors
    /// The step fails.
    fn begin(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Returns true if the chunk ends after this item.
    ///
    /// # Errors
    /// The step fails.
    fn is_ready(&mut self) -> Answer<bool>;

    /// Called after the commit of a chunk.
    ///
    /// # Errors
    /// The step fails.
    fn end(&mut self) -> Answer<()> {
        Ok(())
    }
}

/// Decides which element the job runs next.
pub trait Decider {
    /// Returns the exit status that selects the transition. `steps` are the preceding step executions; there are several after a split.
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
    /// Maximum number of concurrent partitions; 0 for the engine's limit.
    pub threads: u32,
    /// True if a restart uses this plan instead of the earlier one, and runs all of its partitions from the start.
    pub replaces: bool,
}

/// Plans partitions at run time.
pub trait PartitionMapper {
    /// Returns the plan.
    ///
    /// # Errors
    /// The step fails.
    fn plan(&mut self) -> Answer<PartitionPlan>;

    /// Returns true if a restart must produce the plan of the first execution. A different plan then fails the step instead of mixing ranges of both.
    fn must_repeat(&self) -> bool {
        false
    }
}

/// Outcome of a partitioned step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PartitionOutcome {
    /// All partitions completed.
    Commit,
    /// A partition did not complete.
    Rollback,
}

/// Sees a partitioned step as a whole, on the step's thread.
pub trait PartitionReducer {
    /// Called when the step begins.
    ///
    /// # Errors
    /// The step fails.
    fn begin(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Called when all partitions have completed.
    ///
    /// # Errors
    /// The step fails.
    fn before_completion(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Called when a partition did not complete.
    ///
    /// # Errors
    /// The step fails.
    fn rollback(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Called when the step has ended.
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
    /// Returns data for the analyzer.
    ///
    /// # Errors
    /// The partition fails.
    fn collect(&mut self) -> Answer<Option<Vec<u8>>>;
}

/// Analyzes the data of collectors, on the thread of the step.
pub trait PartitionAnalyzer {
    /// Receives data of a collector.
    ///
    /// # Errors
    /// The step fails.
    fn data(&mut self, data: Option<&[u8]>) -> Answer<()>;

    /// Receives the outcome of a partition.
    ///
    /// # Errors
    /// The step fails.
    fn status(&mut self, status: BatchStatus, exit_status: &str) -> Answer<()> {
        let _ = (status, exit_status);
        Ok(())
    }
}

/// What a [`Listener`] needs from the engine.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Needs {
    /// Calls for chunks. Items are read, written and committed as without the listener.
    #[default]
    Chunks,
    /// Also calls for items. The engine measures each item, and does not wait for the results of writes.
    Items,
    /// Also the results of writes, when they are known. In a database, this takes a round trip for each chunk.
    Results,
}

/// Receives job events. One trait has the methods of all listener kinds: `before_job` and `after_job` are called for a listener of a job, all others
/// for one of a step.
#[allow(
    unused_variables,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the names are those of the specification; an error fails the step or job"
)]
pub trait Listener {
    /// Returns what the listener needs. Less than [`Needs::Results`] makes chunks cheaper.
    fn needs(&self) -> Needs {
        Needs::Results
    }
    /// Returns true if [`Listener::on_chunk_times`] does something. The engine then measures CPU time too.
    fn takes_times(&self) -> bool {
        false
    }
    /// Receives the times of a chunk when it is durable, while the next chunk runs.
    fn on_chunk_times(&mut self, times: &ChunkTimes) -> Answer<()> {
        Ok(())
    }
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
