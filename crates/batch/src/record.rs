//! Records of the job repository.
//!
//! ```text
//! key                                   record
//! i <instance>                          Instance
//! n <job name> 0 <instance>             (empty)         instances of a job
//! e <execution>                         Execution
//! x <instance> <execution>              (empty)         executions of an instance
//! s <execution> <number>                StepExecution   in the order of their starts
//! t <instance> <step> 0                 StepState       start count, status, checkpoint of a step that is not partitioned
//! t <instance> <step> 0 <partition>     PartitionState  the same of a partition
//! l <execution>                         Lease           of an execution that is not over
//! b <instance> <step> 0 [<partition>] p position        a large position of a reader (p = 1), a writer (2), or user data (3)
//! k <instance> <step> 0 <partition>     PartitionGiven  properties of a partition that was split off or that processes share
//! o <execution> <step>                  Offer           a step whose partitions other processes may run
//! y <execution> <step> 0 <partition> n  data            what a collector in another process gave
//! q <execution>                         (empty)         somebody asked the execution to stop
//! w <execution>                         milliseconds    its process ended, and nobody has continued it
//! u <instance>                          count           how often it was continued without an operator
//! g <instance>                          executions      it is removed, and what these had is not yet
//! z <execution> <partition>             step            somebody asked to split a partition; an empty step is any
//! r <execution> <step> 0 <partition> n  Reject          an item that was skipped
//! d <digest>                            job XML
//! ```
//! Numbers in keys are 8 bytes (4 of a partition), high byte first. A checkpoint writes one record: that of the step or partition. A position
//! of more than 4 KiB is a record of its own, which is written when it changes; the state then begins with a byte 2 and a byte with a bit
//! for each such position. In pages of 4 KiB it is several records, whose keys have the number of the page (4 bytes) behind `p`; the state then
//! begins with a byte 3, the byte with the bits, and the bytes of each such position (8 bytes each).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use quayline_core::{Stored, StoredReader, store_bytes, stored};

use crate::chunk_times::ChunkSpread;
use crate::status::BatchStatus;

pub use crate::times::Times;

/// Number of a job instance, from 1.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct InstanceId(pub u64);

/// Number of a job execution, from 1.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ExecutionId(pub u64);

stored!(struct InstanceId(number));
stored!(struct ExecutionId(number));

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A job instance: common properties of its executions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instance {
    /// Number of the instance.
    pub id: InstanceId,
    /// The job's id.
    pub job: String,
    /// Last execution.
    pub last: ExecutionId,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// The folder at which relative paths of the job begin.
    pub folder: String,
}

stored!(struct Instance { id, job, last, created_ms, folder });

/// A job execution.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Execution {
    /// Number of the execution.
    pub id: ExecutionId,
    /// The instance.
    pub instance: InstanceId,
    /// The job's id.
    pub job: String,
    /// Batch status.
    pub status: BatchStatus,
    /// Exit status; empty while the execution runs and none was set.
    pub exit_status: Option<String>,
    /// Job parameters of this start or restart.
    pub parameters: BTreeMap<String, String>,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// Start time in milliseconds since 1970.
    pub started_ms: Option<u64>,
    /// End time in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Time of the last update in milliseconds since 1970.
    pub updated_ms: u64,
    /// Job-level element at which a restart begins, from a `stop` element.
    pub restart_at: Option<String>,
    /// Digest of the job XML.
    pub digest: u64,
    /// Number of step executions.
    pub steps: u32,
    /// Cause of the failure: class and message.
    pub cause: Option<String>,
    /// Location as `HOST:FOLDER` of its job log; empty if unknown.
    pub node: String,
    /// Operator who started it. Empty if the admin listener does not authenticate operators.
    pub submitter: Option<String>,
}

/// Encoded as by `stored!`; executions of earlier versions end before the node.
impl Stored for Execution {
    fn store(&self, to: &mut Vec<u8>) {
        let Execution { id, instance, job, status, exit_status, parameters, created_ms, started_ms, .. } = self;
        let Execution { ended_ms, updated_ms, restart_at, digest, steps, cause, node, submitter, .. } = self;
        (*id, *instance).store(to);
        job.store(to);
        status.store(to);
        exit_status.store(to);
        parameters.store(to);
        (*created_ms, *started_ms, *ended_ms).store(to);
        updated_ms.store(to);
        restart_at.store(to);
        (*digest, *steps).store(to);
        cause.store(to);
        node.store(to);
        submitter.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (id, instance) = Stored::load(from)?;
        let (job, status, exit_status) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let parameters = Stored::load(from)?;
        let (created_ms, started_ms, ended_ms) = Stored::load(from)?;
        let (updated_ms, restart_at) = (Stored::load(from)?, Stored::load(from)?);
        let (digest, steps) = Stored::load(from)?;
        let cause = Stored::load(from)?;
        let (node, submitter) =
            if from.is_empty() { Default::default() } else { (Stored::load(from)?, Stored::load(from)?) };
        Some(Execution {
            id,
            instance,
            job,
            status,
            exit_status,
            parameters,
            created_ms,
            started_ms,
            ended_ms,
            updated_ms,
            restart_at,
            digest,
            steps,
            cause,
            node,
            submitter,
        })
    }
}

/// The eight metrics of the specification.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Items that the reader returned.
    pub read: u64,
    /// Items that the writer took.
    pub write: u64,
    /// Chunks that committed.
    pub commit: u64,
    /// Chunks that rolled back.
    pub rollback: u64,
    /// Read exceptions that were skipped.
    pub read_skip: u64,
    /// Items whose processing was skipped.
    pub process_skip: u64,
    /// Items whose writing was skipped.
    pub write_skip: u64,
    /// Items that the processor filtered.
    pub filter: u64,
}

stored!(struct Counts { read, write, commit, rollback, read_skip, process_skip, write_skip, filter });

impl Counts {
    /// Returns the metrics by their names in the specification.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("READ_COUNT", self.read),
            ("WRITE_COUNT", self.write),
            ("COMMIT_COUNT", self.commit),
            ("ROLLBACK_COUNT", self.rollback),
            ("READ_SKIP_COUNT", self.read_skip),
            ("PROCESS_SKIP_COUNT", self.process_skip),
            ("WRITE_SKIP_COUNT", self.write_skip),
            ("FILTER_COUNT", self.filter),
        ]
    }

    /// Adds the metrics of a partition.
    pub fn add(&mut self, other: Counts) {
        self.read += other.read;
        self.write += other.write;
        self.commit += other.commit;
        self.rollback += other.rollback;
        self.read_skip += other.read_skip;
        self.process_skip += other.process_skip;
        self.write_skip += other.write_skip;
        self.filter += other.filter;
    }
}

/// Progress of a step or partition up to its last checkpoint.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Pace {
    /// Start time in this execution, in milliseconds since 1970.
    pub began_ms: u64,
    /// Time of its last checkpoint, in milliseconds since 1970.
    pub at_ms: u64,
    /// Remaining input of its reader at the start, and now, in a reader-specific unit.
    pub ahead: Option<(u64, u64)>,
}

stored!(struct Pace { began_ms, at_ms, ahead });

impl Pace {
    /// Returns the share of the input that is left, from 1 to 0.
    #[must_use]
    pub fn share_left(&self) -> Option<f64> {
        self.ahead.filter(|(whole, _)| *whole > 0).map(|(whole, left)| (left as f64 / whole as f64).min(1.0))
    }

    /// Estimates the seconds that are left after the last checkpoint, at the rate so far.
    #[must_use]
    pub fn seconds_left(&self) -> Option<f64> {
        let left = self.share_left().filter(|left| *left < 1.0)?;
        Some(self.at_ms.saturating_sub(self.began_ms) as f64 / 1e3 * left / (1.0 - left))
    }
}

/// A step execution.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StepExecution {
    /// The execution.
    pub execution: ExecutionId,
    /// Number in the execution, from 1.
    pub number: u32,
    /// The step's id.
    pub step: String,
    /// Batch status.
    pub status: BatchStatus,
    /// Exit status.
    pub exit_status: Option<String>,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// End time in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Metrics.
    pub counts: Counts,
    /// Times.
    pub times: Times,
    /// Persistent user data.
    pub user_data: Option<Vec<u8>>,
    /// Number of partitions; 0 if the step is not partitioned.
    pub partitions: u32,
    /// Cause of the failure: class and message.
    pub cause: Option<String>,
    /// Times of its chunks in the process that ran the step, when the step has ended.
    pub chunks: Option<ChunkSpread>,
}

/// Step executions of one execution that have a number of their own. Decimal, so that a person can read both numbers in it.
const NUMBERS: u64 = 1_000_000;

impl StepExecution {
    /// Returns a number that is unique among all step executions; `None` after 999,999 steps of an execution.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        let number = u64::from(self.number);
        (number < NUMBERS).then(|| self.execution.0.saturating_mul(NUMBERS).saturating_add(number))
    }

    /// Returns the execution and the number in it that belong to [`StepExecution::id`].
    #[must_use]
    pub fn of_id(id: u64) -> (ExecutionId, u32) {
        (ExecutionId(id / NUMBERS), u32::try_from(id % NUMBERS).unwrap_or(u32::MAX))
    }
}

/// Encoded as by `stored!`, with the waiting time and the times of chunks; step executions of earlier versions end before these.
impl Stored for StepExecution {
    fn store(&self, to: &mut Vec<u8>) {
        let StepExecution { execution, number, step, status, exit_status, started_ms, .. } = self;
        let StepExecution { ended_ms, counts, times, user_data, partitions, cause, .. } = self;
        (*execution, *number).store(to);
        step.store(to);
        status.store(to);
        exit_status.store(to);
        (*started_ms, *ended_ms).store(to);
        counts.store(to);
        times.store(to);
        user_data.store(to);
        partitions.store(to);
        cause.store(to);
        (times.wait_ns, self.chunks).store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (execution, number) = Stored::load(from)?;
        let (step, status, exit_status) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let (started_ms, ended_ms) = Stored::load(from)?;
        let (counts, mut times) = (Stored::load(from)?, Times::load(from)?);
        let (user_data, partitions, cause) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        times.wait_ns = if from.is_empty() { 0 } else { Stored::load(from)? };
        let chunks = if from.is_empty() { None } else { Stored::load(from)? };
        Some(StepExecution {
            execution,
            number,
            step,
            status,
            exit_status,
            started_ms,
            ended_ms,
            counts,
            times,
            user_data,
            partitions,
            cause,
            chunks,
        })
    }
}

/// Bytes of a position. A checkpoint that is where the one before was shares them, and so does the store that keeps them.
#[derive(Clone)]
pub struct Position(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Deref for Position {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl<B: AsRef<[u8]> + Send + Sync + 'static> From<B> for Position {
    fn from(bytes: B) -> Self {
        Position(Arc::new(bytes))
    }
}

impl Position {
    /// Returns the preceding position if `given` has the same bytes. The older of the two stays, so that the memory of the newer one is free for the next
    /// checkpoint while the cache still has it.
    pub(crate) fn shared(given: Option<Cow<'_, [u8]>>, before: Option<&Position>) -> Option<Position> {
        let given = given?;
        match before {
            Some(before) if **before == *given => Some(before.clone()),
            _ => Some(Position::from(given.into_owned())),
        }
    }

    /// Returns true if both share their bytes.
    pub(crate) fn is(&self, other: &Position) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || **self == **other
    }
}

impl Eq for Position {}

/// Where a chunk continues.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// Reader position at the last checkpoint.
    pub reader: Option<Position>,
    /// Writer position at the last checkpoint.
    pub writer: Option<Position>,
    /// Persistent user data.
    pub user_data: Option<Position>,
    /// Metrics since the execution began.
    pub counts: Counts,
}

/// As `stored!` writes it, but positions as blocks: byte by byte, they cost more than all the rest of a checkpoint.
impl Stored for Progress {
    fn store(&self, to: &mut Vec<u8>) {
        let positions = [&self.reader, &self.writer, &self.user_data];
        // Memory that grows twofold would be half empty, which matters for megabytes.
        to.reserve_exact(positions.into_iter().flatten().map(|p| p.len() + p.len() / 64 + 16).sum());
        for position in positions {
            position.is_some().store(to);
            if let Some(position) = position {
                store_bytes(position, to);
            }
        }
        self.counts.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let mut position = || Some(if bool::load(from)? { Some(Position::from(from.bytes()?.to_vec())) } else { None });
        let (reader, writer, user_data) = (position()?, position()?, position()?);
        Some(Progress { reader, writer, user_data, counts: Counts::load(from)? })
    }
}

impl Progress {
    /// Returns true if the positions of reader and writer equal those of another checkpoint.
    pub(crate) fn has_positions_of(&self, other: &Progress) -> bool {
        self.reader == other.reader && self.writer == other.writer
    }

    /// Returns true if it differs from another checkpoint at most in metrics.
    pub(crate) fn is_at(&self, other: &Progress) -> bool {
        self.has_positions_of(other) && self.user_data == other.user_data
    }

    /// Returns one of reader, writer and user data, by number from 0.
    pub(crate) fn position(&self, number: usize) -> Option<&Position> {
        [&self.reader, &self.writer, &self.user_data].get(number).and_then(|position| position.as_ref())
    }

    /// Returns reader, writer and user data.
    pub(crate) fn positions(&mut self) -> [&mut Option<Position>; 3] {
        [&mut self.reader, &mut self.writer, &mut self.user_data]
    }
}

/// State of a step in an instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StepState {
    /// Batch status of its last execution.
    pub status: BatchStatus,
    /// Exit status of its last execution.
    pub exit_status: Option<String>,
    /// Starts so far.
    pub starts: u32,
    /// Execution and number of its last step execution.
    pub last: (ExecutionId, u32),
    /// The checkpoint.
    pub progress: Progress,
    /// Number of partitions, as they were planned.
    pub plan: Option<u32>,
    /// Progress of a step without partitions.
    pub pace: Option<Pace>,
    /// Execution in which the step started again from its beginning, because it had completed or its partitions were planned again. 0: never.
    pub began: ExecutionId,
}

/// Encoded as by `stored!`; states of steps that never restarted from the beginning end before `began`, and those of earlier versions before the
/// pace.
impl Stored for StepState {
    fn store(&self, to: &mut Vec<u8>) {
        let StepState { status, exit_status, starts, last, progress, plan, pace, began } = self;
        status.store(to);
        exit_status.store(to);
        starts.store(to);
        last.store(to);
        progress.store(to);
        plan.store(to);
        pace.store(to);
        if *began != ExecutionId::default() {
            began.store(to);
        }
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (status, exit_status, starts) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let (last, progress, plan) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let pace = if from.is_empty() { None } else { Stored::load(from)? };
        let began = if from.is_empty() { ExecutionId::default() } else { Stored::load(from)? };
        Some(StepState { status, exit_status, starts, last, progress, plan, pace, began })
    }
}

/// State of a partition in an instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PartitionState {
    /// Batch status.
    pub status: BatchStatus,
    /// Exit status.
    pub exit_status: Option<String>,
    /// The checkpoint.
    pub progress: Progress,
    /// The execution that ran it last: its metrics are those of this one.
    pub execution: ExecutionId,
    /// State shared by processes about a partition that any of them may run.
    pub shared: Option<Shared>,
    /// Progress.
    pub pace: Option<Pace>,
}

/// State shared by processes about a partition that any of them may run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Shared {
    /// The process that has taken it; it is free again when that process ends.
    pub owner: u64,
    /// The token of its checkpoints.
    pub token: u64,
    /// Times of the partition, when it has ended.
    pub times: Times,
    /// Class and message of the exception that failed it.
    pub cause: Option<(String, String)>,
}

stored!(struct Shared { owner, token, times, cause });

/// Encoded as by `stored!`. States of earlier versions end before the execution, and most before the shared state, which has an owner if it
/// is present; the waiting time and the pace follow.
impl Stored for PartitionState {
    fn store(&self, to: &mut Vec<u8>) {
        let PartitionState { status, exit_status, progress, execution, shared, pace } = self;
        status.store(to);
        exit_status.store(to);
        progress.store(to);
        execution.store(to);
        match shared {
            Some(shared) => shared.store(to),
            None if pace.is_some() => Shared::default().store(to),
            None => {}
        }
        if shared.is_some() || pace.is_some() {
            shared.as_ref().map_or(0, |shared| shared.times.wait_ns).store(to);
            pace.store(to);
        }
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let (status, exit_status, progress) = (Stored::load(from)?, Stored::load(from)?, Stored::load(from)?);
        let execution = if from.is_empty() { ExecutionId::default() } else { Stored::load(from)? };
        let mut shared: Option<Shared> = if from.is_empty() { None } else { Some(Stored::load(from)?) };
        let mut pace = None;
        if !from.is_empty() {
            let wait_ns = Stored::load(from)?;
            shared.iter_mut().for_each(|shared| shared.times.wait_ns = wait_ns);
            pace = Stored::load(from)?;
        }
        // No process has the number 0.
        let shared = shared.filter(|shared| *shared != Shared::default());
        Some(PartitionState { status, exit_status, progress, execution, shared, pace })
    }
}

/// Properties with which a partition was created, if they differ from the plan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PartitionGiven {
    /// The partition whose range it has a part of.
    pub parent: Option<u32>,
    /// Properties of the partition.
    pub properties: BTreeMap<String, String>,
}

stored!(struct PartitionGiven { parent, properties });

/// A partitioned step whose partitions other processes may run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Offer {
    /// The instance.
    pub instance: InstanceId,
    /// The step.
    pub step: String,
    /// True if no further partition may begin.
    pub is_closing: bool,
}

stored!(struct Offer { instance, step, is_closing });

/// Stage at which an item was skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Stage {
    /// The reader threw, so there is no item.
    #[default]
    Read,
    /// The processor threw; the item is its input.
    Process,
    /// The writer threw; the item is its input.
    Write,
}

stored!(enum Stage { 0 Read, 1 Process, 2 Write });

impl Stage {
    /// Returns the name: `read`, `process` or `write`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Process => "process",
            Stage::Write => "write",
        }
    }
}

/// An item that was skipped, with its cause.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reject {
    /// The step.
    pub step: String,
    /// The partition, from 0.
    pub partition: Option<u32>,
    /// Stage at which it was skipped.
    pub stage: Stage,
    /// Number of the chunk in the step execution, from 1.
    pub chunk: u64,
    /// Number of the item in the step execution, from 1, counted as it was read.
    pub number: Option<u64>,
    /// The item.
    pub item: Option<Vec<u8>>,
    /// Class of the exception.
    pub class: String,
    /// Message of the exception.
    pub message: String,
    /// Number of the item in the input, from 1, if the reader knows it.
    pub record: Option<u64>,
    /// Position of the first byte of the item in the input, from 0, if the reader knows it.
    pub byte: Option<u64>,
}

/// Encoded as by `stored!`; rejects of earlier versions end before the position.
impl Stored for Reject {
    fn store(&self, to: &mut Vec<u8>) {
        let Reject { step, partition, stage, chunk, number, item, class, message, record, byte } = self;
        step.store(to);
        partition.store(to);
        stage.store(to);
        chunk.store(to);
        number.store(to);
        item.store(to);
        class.store(to);
        message.store(to);
        record.store(to);
        byte.store(to);
    }

    fn load(from: &mut StoredReader<'_>) -> Option<Self> {
        let mut reject = Reject {
            step: Stored::load(from)?,
            partition: Stored::load(from)?,
            stage: Stored::load(from)?,
            chunk: Stored::load(from)?,
            number: Stored::load(from)?,
            item: Stored::load(from)?,
            class: Stored::load(from)?,
            message: Stored::load(from)?,
            ..Reject::default()
        };
        if !from.is_empty() {
            reject.record = Stored::load(from)?;
            reject.byte = Stored::load(from)?;
        }
        Some(reject)
    }
}

/// Ownership of an execution.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Lease {
    /// The opening of the repository that runs it.
    pub owner: u64,
    /// Ascends with each take-over. A commit with an older one is refused.
    pub token: u64,
    /// Expiry time in milliseconds since 1970 if the owner gives no sign of life; [`u64::MAX`] if the lease ends with the owner.
    pub until_ms: u64,
}

stored!(struct Lease { owner, token, until_ms });

/// Seconds after its last sign of life during which a process counts as alive after a restart of the repository's database.
pub const OWNER_GRACE_SECONDS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_of_earlier_versions_have_no_execution() {
        let state = PartitionState { execution: ExecutionId(7), ..PartitionState::default() };
        let mut bytes = Vec::new();
        state.store(&mut bytes);
        assert_eq!(PartitionState::load_all(&bytes), Some(state.clone()));
        let earlier = &bytes[..bytes.len() - 8];
        assert_eq!(PartitionState::load_all(earlier), Some(PartitionState { execution: ExecutionId(0), ..state }));
    }

    #[test]
    fn records_of_earlier_versions_have_no_pace_node_or_waiting() {
        fn bytes<T: Stored>(record: &T) -> Vec<u8> {
            let mut bytes = Vec::new();
            record.store(&mut bytes);
            bytes
        }
        let pace = Some(Pace { began_ms: 1_000, at_ms: 4_000, ahead: Some((400, 100)) });
        let shared = Some(Shared { owner: 3, token: 4, times: Times { wait_ns: 9, ..Times::default() }, cause: None });
        for (shared, pace) in [(None, pace), (shared.clone(), pace), (shared.clone(), None)] {
            let state = PartitionState { execution: ExecutionId(7), shared, pace, ..PartitionState::default() };
            assert_eq!(PartitionState::load_all(&bytes(&state)), Some(state));
        }
        let whole = PartitionState { execution: ExecutionId(7), shared, ..PartitionState::default() };
        let stored = bytes(&whole);
        let mut earlier = whole.clone();
        earlier.shared.iter_mut().for_each(|shared| shared.times.wait_ns = 0);
        assert_eq!(PartitionState::load_all(&stored[..stored.len() - 9]), Some(earlier));

        let step = StepState { starts: 2, pace, ..StepState::default() };
        let stored = bytes(&step);
        assert_eq!(StepState::load_all(&stored), Some(step.clone()));
        let earlier = &stored[..stored.len() - bytes(&pace).len()];
        assert_eq!(StepState::load_all(earlier), Some(StepState { pace: None, ..step }));

        let execution = Execution { id: ExecutionId(5), node: "n".to_owned(), ..Execution::default() };
        let stored = bytes(&execution);
        assert_eq!(Execution::load_all(&stored), Some(execution.clone()));
        let earlier = &stored[..stored.len() - bytes(&execution.node).len() - 1];
        assert_eq!(Execution::load_all(earlier), Some(Execution { node: String::new(), ..execution }));

        let ran = StepExecution { times: Times { wait_ns: 9, ..Times::default() }, ..StepExecution::default() };
        let stored = bytes(&ran);
        assert_eq!(StepExecution::load_all(&stored), Some(ran.clone()));
        assert_eq!(StepExecution::load_all(&stored[..stored.len() - 1]), Some(ran.clone()));
        assert_eq!(StepExecution::load_all(&stored[..stored.len() - 9]), Some(StepExecution::default()));
        let measured = StepExecution { chunks: Some(ChunkSpread { chunks: 3, ..ChunkSpread::default() }), ..ran };
        assert_eq!(StepExecution::load_all(&bytes(&measured)), Some(measured));
        assert_eq!(pace.and_then(|pace| pace.seconds_left()), Some(1.0));
    }

    #[test]
    fn rejects_of_earlier_versions_have_no_place() {
        let reject = Reject { step: "s".to_owned(), record: Some(7), byte: Some(90), ..Reject::default() };
        let mut bytes = Vec::new();
        reject.store(&mut bytes);
        assert_eq!(Reject::load_all(&bytes), Some(reject.clone()));
        let earlier = &bytes[..bytes.len() - 18];
        assert_eq!(Reject::load_all(earlier), Some(Reject { record: None, byte: None, ..reject }));
    }

    #[test]
    fn progress_has_the_form_of_its_fields() {
        let progress = Progress {
            reader: Some(b"reader".to_vec().into()),
            writer: None,
            user_data: Some(Vec::new().into()),
            counts: Counts { read: 7, ..Counts::default() },
        };
        let (mut whole, mut fields) = (Vec::new(), Vec::new());
        progress.store(&mut whole);
        for position in [&progress.reader, &progress.writer, &progress.user_data] {
            position.as_deref().map(<[u8]>::to_vec).store(&mut fields);
        }
        progress.counts.store(&mut fields);
        assert_eq!(whole, fields);
        assert_eq!(Progress::load_all(&whole), Some(progress));
        assert_eq!(Progress::load_all(&whole[..whole.len() - 1]), None);
    }
}
