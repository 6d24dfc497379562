//! What happens to jobs, as it happens: for job logs, progress and subscribers.

use crate::record::{Counts, ExecutionId, InstanceId};

/// Something that happened. Topics have the names of Liberty's topic tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The topic, below the root: `jobs/execution/started`.
    pub topic: &'static str,
    /// The job's id.
    pub job: String,
    /// Instance.
    pub instance: InstanceId,
    /// Execution.
    pub execution: ExecutionId,
    /// Step.
    pub step: Option<String>,
    /// Partition, from 0.
    pub partition: Option<u32>,
    /// Metrics so far, of checkpoints and ends.
    pub counts: Option<Counts>,
    /// What people read: a sentence without payload.
    pub text: String,
}

/// Hears events, on the thread on which they happen. It must not wait.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event);

    /// Whether the observer wants a topic. What nobody wants costs nothing.
    fn wants(&self, topic: &str) -> bool {
        let _ = topic;
        true
    }
}

/// An execution is created.
pub const SUBMITTED: &str = "jobs/instance/submitted";
/// An execution runs.
pub const STARTED: &str = "jobs/execution/started";
/// A restart runs.
pub const RESTARTING: &str = "jobs/execution/restarting";
/// An execution ended COMPLETED.
pub const COMPLETED: &str = "jobs/execution/completed";
/// An execution ended FAILED.
pub const FAILED: &str = "jobs/execution/failed";
/// An execution ended STOPPED.
pub const STOPPED: &str = "jobs/execution/stopped";
/// Something that the job log alone has.
pub const LOG: &str = "jobs/execution/jobLogPart";
/// A step runs.
pub const STEP_STARTED: &str = "jobs/execution/step/started";
/// A step ended COMPLETED.
pub const STEP_COMPLETED: &str = "jobs/execution/step/completed";
/// A step ended FAILED.
pub const STEP_FAILED: &str = "jobs/execution/step/failed";
/// A step ended STOPPED.
pub const STEP_STOPPED: &str = "jobs/execution/step/stopped";
/// A chunk committed.
pub const CHECKPOINT: &str = "jobs/execution/step/checkpoint";
/// A partition runs.
pub const PARTITION_STARTED: &str = "jobs/execution/partition/started";
/// A partition ended COMPLETED.
pub const PARTITION_COMPLETED: &str = "jobs/execution/partition/completed";
/// A partition ended FAILED.
pub const PARTITION_FAILED: &str = "jobs/execution/partition/failed";
/// A partition ended STOPPED.
pub const PARTITION_STOPPED: &str = "jobs/execution/partition/stopped";
/// A flow of a split runs.
pub const SPLIT_FLOW_STARTED: &str = "jobs/execution/split-flow/started";
/// A flow of a split ended.
pub const SPLIT_FLOW_ENDED: &str = "jobs/execution/split-flow/ended";
