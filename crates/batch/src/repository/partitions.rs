//! Progress of steps and their partitions.

use std::collections::BTreeMap;

use super::position::without_positions;
use super::{PAGE, Repository, step_key};
use crate::error::BatchError;
use crate::record::{Counts, Execution, ExecutionId, InstanceId, Pace, PartitionState, StepExecution, StepState};
use crate::status::BatchStatus;
use crate::work::{PageOf, Work};

/// Partitions that are shown as the slowest.
const SLOWEST: usize = 5;
/// Factor by which a straggler takes longer than the mean of the other partitions.
const STRAGGLER: f64 = 2.0;

/// Progress of a step up to its last checkpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepProgress {
    /// Metrics of this execution.
    pub counts: Counts,
    /// Items that it reads in a second.
    pub rate: Option<f64>,
    /// Remaining share of the input of this execution: 1 is all. `None` if a reader does not know it.
    pub share_left: Option<f64>,
    /// Seconds that are left, if it continues as it went.
    pub seconds_left: Option<f64>,
    /// Time of the last checkpoint, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// Progress of its partitions.
    pub partitions: Option<PartitionProgress>,
}

/// Progress of the partitions of a step up to their last checkpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionProgress {
    /// Partitions that completed, in this execution or in an earlier one.
    pub completed: u32,
    /// Number of partitions that this execution has begun and not completed, if they have committed.
    pub begun: u32,
    /// Number of all other partitions.
    pub waiting: u32,
    /// Begun partitions that are expected to end last, the last first.
    pub slowest: Vec<Slow>,
}

/// One of the slowest partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// Number of the partition.
    pub partition: u32,
    /// Metrics of the partition.
    pub counts: Counts,
    /// Pace of the partition.
    pub pace: Option<Pace>,
    /// True if it is expected to take more than twice the average of the partitions of this execution.
    pub is_straggler: bool,
}

impl Slow {
    /// Items that it reads in a second.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.pace.and_then(|pace| rate(self.counts.read, pace.began_ms, pace.at_ms))
    }
}

/// State of a partition before a step runs it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Begun {
    /// Status of the partition.
    pub(crate) status: BatchStatus,
    /// The execution that ran it last.
    pub(crate) execution: ExecutionId,
}

/// Totals of the partitions of this execution.
#[derive(Default)]
struct Sums {
    /// Milliseconds that partitions take, up to their ends.
    durations_ms: f64,
    count: u32,
    /// Completed by this execution, and parts of those begun.
    done: f64,
    /// Parts of those begun that are left.
    left: f64,
    at_ms: Option<u64>,
    /// True if a reader does not know its remaining input.
    is_unknown: bool,
}

impl Repository {
    /// Returns the progress of a step of a running or ended execution. `None` if the step has completed, or if a later execution has continued it.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn step_progress(
        &self,
        execution: &Execution,
        step: &StepExecution,
    ) -> Result<Option<StepProgress>, BatchError> {
        let is_last = self.instance(execution.instance)?.is_some_and(|instance| instance.last == execution.id);
        if step.status == BatchStatus::Completed || !is_last {
            return Ok(None);
        }
        let mut work = self.begin()?;
        let key = step_key(execution.instance, &step.step);
        let Some(found) = work.get(&key)? else { return Ok(None) };
        let state: StepState = without_positions("a step", &found)?;
        if state.last != (execution.id, step.number) {
            // The step was run again in this execution, and this record is of the earlier run.
            return Ok(None);
        }
        let now = step.ended_ms.unwrap_or_else(|| self.now_ms());
        let mut progress = match state.plan {
            None => StepProgress {
                counts: state.progress.counts,
                share_left: state.pace.and_then(|pace| pace.share_left()),
                seconds_left: state.pace.and_then(|pace| since(pace.seconds_left()?, pace.at_ms, now)),
                at_ms: state.pace.map(|pace| pace.at_ms),
                ..StepProgress::default()
            },
            Some(_) => partitions(work.as_mut(), execution, step, (&key, now))?,
        };
        if !step.status.is_running() {
            // Nothing advances; the metrics of the step are those that it ended with.
            progress.seconds_left = None;
            progress.counts = step.counts;
            for slow in progress.partitions.iter_mut().flat_map(|found| &mut found.slowest) {
                (slow.pace, slow.is_straggler) = (None, false);
            }
        }
        progress.rate = rate(progress.counts.read, step.started_ms, progress.at_ms.unwrap_or(now));
        Ok(Some(progress))
    }

    /// Returns the partitions of a step that have a state, by number, without their positions, which may be large and are needed only to
    /// run a partition. Waits for a database that does not respond.
    pub(crate) fn partitions(&self, instance: InstanceId, step: &str) -> Result<BTreeMap<u32, Begun>, BatchError> {
        self.patiently(|| {
            let mut found = BTreeMap::new();
            each(self.begin()?.as_mut(), &step_key(instance, step), &mut |number, state| {
                found.insert(number, Begun { status: state.status, execution: state.execution });
            })?;
            Ok(found)
        })
    }

    /// Returns a partition that begins, with its complete state. Waits for a database that does not respond.
    pub(crate) fn begun_partition(
        &self,
        instance: InstanceId,
        step: &str,
        partition: u32,
    ) -> Result<Option<PartitionState>, BatchError> {
        self.patiently(|| self.partition(instance, step, partition))
    }
}

fn partitions(
    work: &mut dyn Work,
    execution: &Execution,
    step: &StepExecution,
    (key, now): (&[u8], u64),
) -> Result<StepProgress, BatchError> {
    let mut all = PartitionProgress::default();
    let (mut counts, mut sums) = (Counts::default(), Sums::default());
    let mut begun: Vec<(f64, Slow)> = Vec::new();
    each(work, key, &mut |number, state| {
        let is_own = state.execution == execution.id;
        let is_over = state.status == BatchStatus::Completed;
        if is_own {
            counts.add(state.progress.counts);
            sums.at_ms = sums.at_ms.max(state.pace.map(|pace| pace.at_ms));
        }
        let duration = state.pace.map(|pace| match (is_over, pace.seconds_left()) {
            (true, _) => pace.at_ms.saturating_sub(pace.began_ms) as f64,
            (false, Some(left)) => pace.at_ms.saturating_sub(pace.began_ms) as f64 + left * 1e3,
            // The duration is unknown, but at least the time so far.
            (false, None) => now.saturating_sub(pace.began_ms) as f64,
        });
        match (is_over, is_own) {
            (true, _) => all.completed += 1,
            (false, true) => {
                all.begun += 1;
                let slow =
                    Slow { partition: number, counts: state.progress.counts, pace: state.pace, is_straggler: false };
                // The partition that ends last comes first; among those with unknown ends, the one that has read least.
                let ends =
                    duration.map_or(f64::MAX, |duration| state.pace.map_or(0, |pace| pace.began_ms) as f64 + duration);
                begun.push((ends, slow));
                begun.sort_by(|a, b| {
                    let read = (a.1.counts.read, a.1.partition).cmp(&(b.1.counts.read, b.1.partition));
                    b.0.total_cmp(&a.0).then(read)
                });
                begun.truncate(SLOWEST);
            }
            (false, false) => all.waiting += 1,
        }
        if let Some(duration) = duration.filter(|_| is_own) {
            sums.durations_ms += duration;
            sums.count += 1;
        }
        if is_own {
            match (is_over, state.pace.and_then(|pace| pace.share_left())) {
                (true, _) => sums.done += 1.0,
                (false, Some(left)) => {
                    sums.done += 1.0 - left;
                    sums.left += left;
                }
                (false, None) => sums.is_unknown = true,
            }
        }
    })?;
    all.slowest = begun.into_iter().map(|(_, slow)| slow).collect();
    for slow in &mut all.slowest {
        let Some(pace) = slow.pace else { continue };
        let own = match pace.seconds_left() {
            Some(left) => pace.at_ms.saturating_sub(pace.began_ms) as f64 + left * 1e3,
            None => now.saturating_sub(pace.began_ms) as f64,
        };
        let others = (sums.durations_ms - own) / f64::from(sums.count.saturating_sub(1).max(1));
        slow.is_straggler = sums.count > 1 && own > STRAGGLER * others;
    }
    let mut progress = StepProgress { counts, at_ms: sums.at_ms, ..StepProgress::default() };
    if all.completed + all.begun + all.waiting > 0 {
        if !sums.is_unknown && sums.done > 0.0 {
            // Partitions that completed before this execution are not part of its work.
            let left = sums.left + f64::from(all.waiting);
            progress.share_left = Some(left / (sums.done + left));
            let at_ms = sums.at_ms.unwrap_or(now);
            let took = at_ms.saturating_sub(step.started_ms) as f64 / 1e3;
            progress.seconds_left = since(took * left / sums.done, at_ms, now);
        }
        progress.partitions = Some(all);
    }
    Ok(progress)
}

/// Visits the partitions of a step. Large positions are not read, so memory does not depend on their number.
pub(super) fn each(
    work: &mut dyn Work,
    step: &[u8],
    visit: &mut dyn FnMut(u32, PartitionState),
) -> Result<(), BatchError> {
    let damaged = BatchError::Damaged { what: "a partition" };
    let mut after = step.to_vec();
    loop {
        let page = work.page(PageOf { prefix: step, after: Some(&after), newest_first: false, count: PAGE })?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after.clone_from(last);
        for (key, value) in &page {
            let number = key.get(step.len()..).and_then(|number| number.try_into().ok()).map(u32::from_be_bytes);
            visit(number.ok_or_else(|| damaged.clone())?, without_positions("a partition", value)?);
        }
    }
}

/// Returns items per second. `None` within the first tenth of a second, which is too short for a rate.
fn rate(items: u64, from_ms: u64, to_ms: u64) -> Option<f64> {
    let ms = to_ms.saturating_sub(from_ms);
    (ms >= 100).then(|| items as f64 * 1e3 / ms as f64)
}

/// Returns the remaining seconds now, from those at a checkpoint.
fn since(left: f64, at_ms: u64, now: u64) -> Option<f64> {
    Some((left - now.saturating_sub(at_ms) as f64 / 1e3).max(0.0))
}
