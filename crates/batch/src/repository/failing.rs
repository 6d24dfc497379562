//! Steps whose process ended.

use super::partitions::each;
use super::{bytes, read_state, step_execution_key, step_key, steps_of};
use crate::error::BatchError;
use crate::record::{Counts, Execution, StepState};
use crate::status::BatchStatus;
use crate::work::Work;

/// Marks the steps that an ended process left running as FAILED, with the metrics of their committed work.
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
            step.user_data = state.progress.user_data.as_deref().map(<[u8]>::to_vec);
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

/// Metrics of the partitions that an execution ran, up to their last checkpoints.
fn counts_of_partitions(work: &mut dyn Work, execution: &Execution, step: &[u8]) -> Result<Counts, BatchError> {
    let mut counts = Counts::default();
    each(work, step, &mut |_, state| {
        // A partition that did not run has the metrics of an earlier execution.
        if state.execution == execution.id {
            counts.add(state.progress.counts);
        }
    })?;
    Ok(counts)
}
