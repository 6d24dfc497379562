//! Steps whose process ended.

use super::{PAGE, VERSION_LARGE, bytes, read, read_state, step_execution_key, step_key, steps_of};
use crate::error::BatchError;
use crate::record::{Counts, Execution, PartitionState, StepState};
use crate::status::BatchStatus;
use crate::work::{PageOf, Work};

/// Steps that an ended process left running become FAILED, with the metrics of what it had committed.
pub(super) fn fail_steps(work: &mut dyn Work, execution: &Execution) -> Result<(), BatchError> {
    for mut step in steps_of(work, execution.id)? {
        if !step.status.is_running() {
            continue;
        }
        let key = step_key(execution.instance, &step.step);
        if let Some(found) = work.get(&key)? {
            let mut state: StepState = read_state(work, &key, "a step", &found)?;
            step.counts = match state.plan {
                None => state.progress.counts,
                Some(count) => {
                    step.partitions = count;
                    counts_of_partitions(work, execution, &key)?
                }
            };
            step.user_data = state.progress.user_data.clone();
            state.status = BatchStatus::Failed;
            state.exit_status = Some(BatchStatus::Failed.text().to_owned());
            work.put(&key, &bytes(&state))?;
        }
        step.status = BatchStatus::Failed;
        step.exit_status = Some(BatchStatus::Failed.text().to_owned());
        step.ended_ms = execution.ended_ms;
        step.cause = execution.cause.clone();
        work.put(&step_execution_key(execution.id, step.number), &bytes(&step))?;
    }
    Ok(())
}

/// Metrics of the partitions that an execution ran, up to their last checkpoints. Large positions, which no metric needs, stay where they are.
fn counts_of_partitions(work: &mut dyn Work, execution: &Execution, step: &[u8]) -> Result<Counts, BatchError> {
    let mut counts = Counts::default();
    let mut after = step.to_vec();
    loop {
        let page = work.page(PageOf { prefix: step, after: Some(&after), newest_first: false, count: PAGE })?;
        let Some((last, _)) = page.last() else { return Ok(counts) };
        after.clone_from(last);
        for (_, value) in &page {
            let state: PartitionState = match value.as_slice() {
                [VERSION_LARGE, _, rest @ ..] => {
                    quayline_core::Packed::unpack_all(rest).ok_or(BatchError::Damaged { what: "a partition" })?
                }
                value => read("a partition", value)?,
            };
            // A partition that did not run has the metrics of an earlier execution.
            if state.execution == execution.id {
                counts.add(state.progress.counts);
            }
        }
    }
}
