//! How far the partitions of a step are.

use super::position::without_positions;
use super::{PAGE, Repository, step_key};
use crate::error::BatchError;
use crate::record::{Counts, Execution, PartitionState, StepExecution};
use crate::status::BatchStatus;
use crate::work::{PageOf, Work};

/// Partitions that are shown as the slowest.
const SLOWEST: usize = 5;

/// How far the partitions of a step are, up to their last checkpoints.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PartitionProgress {
    /// Partitions that completed, in this execution or in an earlier one.
    pub completed: u32,
    /// Partitions that this execution has begun and not completed, as far as they have committed something.
    pub begun: u32,
    /// All others.
    pub waiting: u32,
    /// Of those begun, the ones with the fewest items, the slowest first: number and metrics.
    pub slowest: Vec<(u32, Counts)>,
}

impl Repository {
    /// How far the partitions of a step are that an execution runs or left. `None` if the step is not partitioned or has completed, or if a
    /// later execution has continued it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn partition_progress(
        &self,
        execution: &Execution,
        step: &StepExecution,
    ) -> Result<Option<PartitionProgress>, BatchError> {
        let is_last = self.instance(execution.instance)?.is_some_and(|instance| instance.last == execution.id);
        if step.status == BatchStatus::Completed || !is_last {
            return Ok(None);
        }
        let mut progress = PartitionProgress::default();
        let mut begun: Vec<(u32, Counts)> = Vec::new();
        each(self.begin()?.as_mut(), &step_key(execution.instance, &step.step), &mut |number, state| {
            if state.status == BatchStatus::Completed {
                progress.completed += 1;
            } else if state.execution == execution.id {
                progress.begun += 1;
                begun.push((number, state.progress.counts));
                begun.sort_by_key(|(number, counts)| (counts.read, *number));
                begun.truncate(SLOWEST);
            } else {
                progress.waiting += 1;
            }
        })?;
        progress.slowest = begun;
        let count = progress.completed + progress.begun + progress.waiting;
        Ok((count > 0).then_some(progress))
    }
}

/// Visits the partitions of a step. Large positions stay where they are, so the memory does not depend on their number.
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
