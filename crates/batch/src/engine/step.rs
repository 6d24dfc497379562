//! Steps: the decision to run them, their listeners, body and outcome.

use std::sync::Arc;
use std::time::Instant;

use quayline_project::job::{ArtifactRef, Step, StepBody};

use super::Run;
use super::chunk::{ChunkEnd, ChunkRun, Place};
use super::listeners::Listeners;
use super::scope::{ElementEnd, FlowThread, Termination};
use crate::artifact::Answer;
use crate::context::{JobContext, StepContext};
use crate::error::{BatchError, Thrown};
use crate::event::{self, Event};
use crate::record::{Position, Progress, StepExecution, StepState, Times};
use crate::status::BatchStatus;

/// How the body of a step ended.
pub(super) struct BodyEnd {
    pub(super) status: BatchStatus,
    /// Return value of the batchlet.
    pub(super) exit_status: Option<String>,
    pub(super) times: Times,
    pub(super) cause: Option<Thrown>,
    /// True if it is unknown whether the last commit is durable, so that the checkpoint in the repository counts.
    pub(super) is_uncertain: bool,
}

impl BodyEnd {
    pub(super) fn failed(thrown: Thrown) -> Self {
        BodyEnd { cause: Some(thrown), ..BodyEnd::of(BatchStatus::Failed) }
    }

    pub(super) fn of(status: BatchStatus) -> Self {
        BodyEnd { status, exit_status: None, times: Times::default(), cause: None, is_uncertain: false }
    }
}

impl Run<'_> {
    pub(super) fn step(&self, step: &Step, thread: &FlowThread) -> Result<Result<ElementEnd, Termination>, BatchError> {
        let found = self.repository().step_state(self.held.instance, &step.id)?;
        let is_new = found.is_none();
        let mut state = found.unwrap_or_default();
        if !is_new && state.status == BatchStatus::Completed {
            if !step.allow_start_if_complete {
                return self.pass_over(step, &state).map(Ok);
            }
            state.progress = Progress::default();
            state.plan = None;
            state.began = self.held.execution;
            if step.partition.is_some() {
                self.repository().forget_partitions(self.held, &step.id)?;
            }
        }
        if step.start_limit > 0 && state.starts >= step.start_limit {
            let message =
                format!("step {} started {} times, and its start-limit is {}", step.id, state.starts, step.start_limit);
            let thrown = Thrown::new("quayline.StartLimitReached", message)
                .hint("raise start-limit and restart with --accept-drift, or start a new instance of the job");
            self.log_thrown(None, &format!("step {}", step.id), &thrown);
            // Section 8.2.4: the job fails, regardless of the transitions of the step.
            return Ok(Err(Termination::Failed { exit_status: None, cause: Some(thrown) }));
        }
        state.starts += 1;
        state.status = BatchStatus::Started;
        state.exit_status = None;
        state.progress.counts = crate::record::Counts::default();
        state.pace = None;
        let mut record = StepExecution {
            execution: self.held.execution,
            step: step.id.clone(),
            status: BatchStatus::Started,
            started_ms: self.repository().now_ms(),
            ..StepExecution::default()
        };
        let text = format!("step {} starts, start {}", step.id, state.starts);
        let event = self.made(event::STEP_STARTED, None, None, text);
        let event = event.map(|event| Event { step: Some(step.id.clone()), ..event });
        self.repository().begin_step(self.held, &mut record, &mut state, &self.keeper(std::slice::from_ref(&event)))?;
        let user_data = state.progress.user_data.as_deref().map(<[u8]>::to_vec);
        let mut context = StepContext::new(&step.id, record.number, step.properties.clone(), None, user_data);
        context.began = state.began;
        let context = Arc::new(context);
        self.engine.tell(event);
        let end = self.listened(step, thread, &context, &mut state);
        self.end_step(step, &context, state, record, end).map(Ok)
    }

    /// Skips a step that completed earlier; its old exit status counts.
    fn pass_over(&self, step: &Step, state: &StepState) -> Result<ElementEnd, BatchError> {
        let text = format!("step {} completed before and is passed over", step.id);
        self.event(event::LOG, None, None, text);
        let steps = self.repository().steps(state.last.0)?;
        let last = steps.into_iter().filter(|known| known.number == state.last.1).collect();
        let exit_status = state.exit_status.clone().unwrap_or_default();
        Ok(ElementEnd { status: BatchStatus::Completed, exit_status, steps: last, cause: None })
    }

    fn listened(&self, step: &Step, thread: &FlowThread, context: &Arc<StepContext>, state: &mut StepState) -> BodyEnd {
        let begin = Instant::now();
        let mut listeners = Listeners::default();
        let made = listeners.make(self, &step.listeners, &thread.context, Some(context));
        let mut end = match made.and_then(|()| listeners.each(|listener| listener.before_step())) {
            Ok(()) if step.partition.is_some() => self.partitioned(step, thread, context, state),
            Ok(()) => match &step.body {
                StepBody::Batchlet(batchlet) => self.batchlet(batchlet, &thread.context, context),
                StepBody::Chunk(_) => {
                    let mut place = Place::Step(state);
                    self.chunk_body(step, &thread.context, context, &mut listeners, &mut place, &mut |_| Ok(()))
                }
            },
            Err(thrown) => BodyEnd::failed(thrown),
        };
        context.set_status(end.status);
        if let Some(thrown) = &end.cause {
            context.set_exception(Some(thrown));
        }
        if context.exit_status().is_none()
            && let Some(returned) = &end.exit_status
        {
            context.set_exit_status(returned.clone());
        }
        match listeners.each(|listener| listener.after_step()) {
            Ok(()) => {}
            // The first exception is the cause.
            Err(thrown) if end.cause.is_some() => {
                self.log_thrown(Some(context), &format!("a listener after step {}", step.id), &thrown);
            }
            Err(thrown) => {
                end = BodyEnd { times: end.times, is_uncertain: end.is_uncertain, ..BodyEnd::failed(thrown) };
                context.set_status(end.status);
            }
        }
        if step.partition.is_none() {
            // Partitions have a total each, and theirs are added like all other times.
            end.times.total_ns = ns(begin);
        }
        end
    }

    fn end_step(
        &self,
        step: &Step,
        context: &StepContext,
        mut state: StepState,
        mut record: StepExecution,
        end: BodyEnd,
    ) -> Result<ElementEnd, BatchError> {
        if let Some(thrown) = &end.cause {
            self.log_thrown(Some(context), &format!("step {}", step.id), thrown);
        }
        let exit_status = context.exit_status().unwrap_or_else(|| end.status.text().to_owned());
        state.status = end.status;
        state.exit_status = Some(exit_status.clone());
        state.progress.user_data = context.user_data().map(Position::from);
        record.status = end.status;
        record.exit_status = Some(exit_status.clone());
        record.ended_ms = Some(self.repository().now_ms());
        record.counts = context.counts();
        record.times = end.times;
        record.chunks = self.engine.chunk_spread(self.held.execution, &step.id);
        self.engine.measured.lock().remove(&(self.held.execution, step.id.clone()));
        record.user_data = context.user_data();
        record.cause = end.cause.as_ref().map(Thrown::to_string);
        let topic = match end.status {
            BatchStatus::Completed => event::STEP_COMPLETED,
            BatchStatus::Stopped => event::STEP_STOPPED,
            _ => event::STEP_FAILED,
        };
        let text = format!("step {} ends {}, exit status {exit_status}", step.id, end.status);
        let event = self.made(topic, Some(context), Some(record.counts), text);
        let repository = self.repository();
        repository.save_step(
            self.held,
            (&mut record, &mut state),
            end.is_uncertain,
            &self.keeper(std::slice::from_ref(&event)),
        )?;
        self.engine.tell(event);
        Ok(ElementEnd { status: end.status, exit_status, steps: vec![record], cause: end.cause })
    }

    pub(super) fn batchlet(
        &self,
        artifact: &ArtifactRef,
        job: &Arc<JobContext>,
        context: &Arc<StepContext>,
    ) -> BodyEnd {
        let with = self.inject(artifact, job, Some(context));
        let done = self.engine.registry.make_batchlet(&with).and_then(|mut batchlet| batchlet.process());
        match done {
            Ok(exit_status) => {
                let status = if job.stop.is_set() { BatchStatus::Stopped } else { BatchStatus::Completed };
                BodyEnd { exit_status, ..BodyEnd::of(status) }
            }
            Err(thrown) => {
                context.set_exception(Some(&thrown));
                BodyEnd::failed(thrown)
            }
        }
    }

    pub(super) fn chunk_body(
        &self,
        step: &Step,
        job: &Arc<JobContext>,
        context: &Arc<StepContext>,
        listeners: &mut Listeners,
        place: &mut Place<'_>,
        committed: &mut dyn FnMut(&StepContext) -> Answer<()>,
    ) -> BodyEnd {
        let mut chunk = match ChunkRun::new(self, step, job, context, listeners, place, committed) {
            Ok(chunk) => chunk,
            Err(thrown) => return BodyEnd::failed(thrown),
        };
        let ended = chunk.run();
        let (times, is_uncertain) = (chunk.times, chunk.is_uncertain);
        let status = match &ended {
            Ok(ChunkEnd::Finished) => BatchStatus::Completed,
            Ok(ChunkEnd::Stopped) => BatchStatus::Stopped,
            Err(_) => BatchStatus::Failed,
        };
        BodyEnd { times, cause: ended.err(), is_uncertain, ..BodyEnd::of(status) }
    }
}

/// Nanoseconds since an instant.
pub(super) fn ns(since: impl Into<Option<Instant>>) -> u64 {
    since.into().map_or(0, |since| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
