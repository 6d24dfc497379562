//! Partitioned steps: tasks that threads take one after another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use quayline_project::job::{Partition, PartitionSource, Step, StepBody};

use super::Run;
use super::chunk::Place;
use super::listeners::Listeners;
use super::scope::FlowThread;
use super::step::BodyEnd;
use quayline_core::Packed as _;
use xxhash_rust::xxh3::xxh3_64;

use crate::artifact::{
    Answer, PartitionAnalyzer, PartitionCollector, PartitionOutcome, PartitionPlan, PartitionReducer,
};
use crate::context::{JobContext, StepContext};
use crate::error::Thrown;
use crate::event::{self, Event};
use crate::record::{Counts, PartitionState, StepState, Times};
use crate::status::BatchStatus;

/// Messages of partitions that wait for the analyzer; beyond them partitions wait.
const MESSAGES_MAX: usize = 1_024;
/// Stack of a thread of partitions.
const STACK_BYTES: usize = 4 << 20;

/// From a partition to the step's thread.
enum Message {
    Collected(Option<Vec<u8>>),
    Ended { status: BatchStatus, exit_status: String, counts: Counts, times: Times, cause: Option<Thrown> },
}

/// The thread of the step: reducer, analyzer, and what came of the partitions.
struct Whole {
    reducer: Option<Box<dyn PartitionReducer>>,
    analyzer: Option<Box<dyn PartitionAnalyzer>>,
    status: BatchStatus,
    times: Times,
    cause: Option<Thrown>,
}

impl Whole {
    fn fail(&mut self, thrown: Thrown) {
        self.status = BatchStatus::Failed;
        self.cause.get_or_insert(thrown);
    }
}

impl Run<'_> {
    pub(super) fn partitioned(
        &self,
        step: &Step,
        thread: &FlowThread,
        context: &Arc<StepContext>,
        state: &mut StepState,
        partitions: &mut u32,
    ) -> BodyEnd {
        let Some(partition) = &step.partition else { unreachable!("the step is partitioned") };
        let job = &thread.context;
        let mut whole = Whole {
            reducer: None,
            analyzer: None,
            status: BatchStatus::Completed,
            times: Times::default(),
            cause: None,
        };
        if let Err(thrown) = self.partitions(step, partition, (job, context), state, partitions, &mut whole) {
            whole.fail(thrown);
        }
        let outcome = match whole.status {
            BatchStatus::Completed => PartitionOutcome::Commit,
            _ => PartitionOutcome::Rollback,
        };
        if let Some(reducer) = &mut whole.reducer {
            let reduced = match outcome {
                PartitionOutcome::Commit => reducer.before_completion(),
                PartitionOutcome::Rollback => reducer.rollback(),
            };
            let after = reducer.after_completion(outcome);
            if let Err(thrown) = reduced.and(after) {
                whole.fail(thrown);
            }
        }
        BodyEnd { status: whole.status, exit_status: None, times: whole.times, cause: whole.cause }
    }

    fn partitions(
        &self,
        step: &Step,
        partition: &Partition,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        state: &mut StepState,
        partitions: &mut u32,
        whole: &mut Whole,
    ) -> Answer<()> {
        let registry = &self.engine.registry;
        let inject = |artifact| self.inject(artifact, job, Some(context));
        whole.analyzer = partition.analyzer.as_ref().map(|a| registry.make_analyzer(&inject(a))).transpose()?;
        whole.reducer = partition.reducer.as_ref().map(|r| registry.make_reducer(&inject(r))).transpose()?;
        if let Some(reducer) = &mut whole.reducer {
            reducer.begin()?;
        }
        let (mut plan, must_repeat) = match &partition.source {
            PartitionSource::Plan { threads, properties, .. } => {
                (PartitionPlan { properties: properties.clone(), threads: *threads, replaces: false }, false)
            }
            PartitionSource::Mapper(mapper) => {
                let mut mapper = registry.make_mapper(&inject(mapper))?;
                (mapper.plan()?, mapper.must_repeat())
            }
        };
        let digest = must_repeat.then(|| digest(&plan.properties));
        if let Some(count) = state.plan.filter(|_| !plan.replaces) {
            let before = self.repository().plan_digest(self.held.instance, &step.id)?;
            let (now, changed) = (plan.properties.len(), digest.is_some() && before.is_some() && before != digest);
            if changed || (must_repeat && u64::from(count) != now as u64) {
                let what = format!("step {} was planned in {count} partitions before", step.id);
                let message = if u64::from(count) == now as u64 {
                    format!("{what}, with other properties")
                } else {
                    format!("{what}, now in {now}")
                };
                return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                    "restore the input and the parameters of the first execution (--same-params), or start the job anew",
                ));
            }
        }
        match state.plan {
            // A restart keeps the number of partitions, unless the plan says otherwise: so the specification has it.
            Some(count) if !plan.replaces => {
                plan.properties.resize(usize::try_from(count).unwrap_or(usize::MAX), BTreeMap::new());
            }
            Some(_) => self.repository().forget_partitions(self.held, &step.id)?,
            None => {}
        }
        let count = u32::try_from(plan.properties.len()).unwrap_or(u32::MAX);
        *partitions = count;
        state.plan = Some(count);
        let mut known = self.repository().partitions(self.held.instance, &step.id)?;
        let new = (0..count).filter(|number| !known.contains_key(number)).collect::<Vec<_>>();
        self.repository().plan_partitions(self.held, &step.id, state, new.into_iter(), digest)?;
        let mut todo = Vec::new();
        for number in 0..count {
            let known = known.remove(&number).unwrap_or_default();
            if known.status != BatchStatus::Completed {
                todo.push((number, known));
            }
        }
        self.run_all(step, (job, context), &plan, todo, whole);
        Ok(())
    }

    fn run_all(
        &self,
        step: &Step,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        plan: &PartitionPlan,
        todo: Vec<(u32, PartitionState)>,
        whole: &mut Whole,
    ) {
        let most = self.engine.settings.partition_threads_max.max(1).min(todo.len());
        let wanted = usize::try_from(plan.threads).unwrap_or(usize::MAX);
        let threads = if wanted == 0 { most } else { wanted.min(most) };
        let (next, give_up) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = sync_channel(MESSAGES_MAX);
        let worker = |sender: SyncSender<Message>| {
            let _working = self.working();
            while let Some((number, known)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                if job.stop.is_set() || give_up.load(Ordering::Relaxed) {
                    let stopped = (BatchStatus::Stopped, BatchStatus::Stopped.text().to_owned());
                    let _ = sender.send(Message::Ended {
                        status: stopped.0,
                        exit_status: stopped.1,
                        counts: Counts::default(),
                        times: Times::default(),
                        cause: None,
                    });
                    return;
                }
                let properties = plan.properties.get(*number as usize);
                let ended = self.one_partition(step, job, (*number, known.clone()), properties, &sender);
                // The step's thread receives until all threads are gone.
                let _ = sender.send(ended);
            }
        };
        std::thread::scope(|scope| {
            for number in 0..threads {
                let builder = std::thread::Builder::new().name(format!("partition {number}")).stack_size(STACK_BYTES);
                let (sender, worker) = (sender.clone(), &worker);
                if let Err(error) = builder.spawn_scoped(scope, move || worker(sender))
                    && number == 0
                {
                    whole.fail(Thrown::new(
                        "quayline.Environment",
                        format!("no thread for partitions: {}", error.kind()),
                    ));
                }
            }
            drop(sender);
            receive(&receiver, context, whole, &give_up);
        });
    }

    fn one_partition(
        &self,
        step: &Step,
        job: &JobContext,
        (number, mut state): (u32, PartitionState),
        properties: Option<&BTreeMap<String, String>>,
        sender: &SyncSender<Message>,
    ) -> Message {
        let none = BTreeMap::new();
        let user_data = state.progress.user_data.clone();
        let context = StepContext::new(&step.id, number + 1, step.properties.clone(), Some(number), user_data);
        let context = Arc::new(context);
        let job = Arc::new(job.for_thread());
        self.event(
            event::PARTITION_STARTED,
            Some(&context),
            None,
            format!("partition {number} of step {} starts", step.id),
        );
        let begin = std::time::Instant::now();
        state.progress.counts = Counts::default();
        state.execution = self.held.execution;
        let mut end = match step.of_partition(properties.unwrap_or(&none)) {
            Ok(step) => self.partition_body(&step, &job, &context, number, &mut state, sender),
            Err(findings) => {
                let found = findings.0.first().map(Thrown::from_finding);
                BodyEnd::failed(
                    found.unwrap_or_else(|| Thrown::new("quayline.Configuration", "a partition's properties")),
                )
            }
        };
        end.times.total_ns = super::step::ns(begin);
        context.set_status(end.status);
        let exit_status = context.exit_status().or(end.exit_status.take());
        let exit_status = exit_status.unwrap_or_else(|| end.status.text().to_owned());
        state.status = end.status;
        state.exit_status = Some(exit_status.clone());
        state.progress.user_data = context.user_data();
        state.progress.counts = context.counts();
        let event = self.ended_partition(step, &context, end.status, &exit_status);
        let saved = self.repository().save_partition(self.held, (&step.id, number), &state, &self.keeper(&event));
        if let Err(error) = saved {
            end = BodyEnd { times: end.times, ..BodyEnd::failed(error.into()) };
        }
        if let Some(thrown) = &end.cause {
            self.log_thrown(Some(&context), &format!("partition {number} of step {}", step.id), thrown);
        }
        if end.status == state.status {
            self.engine.tell(event);
        } else {
            // Its end could not be written.
            self.engine.tell(self.ended_partition(step, &context, end.status, end.status.text()));
        }
        Message::Ended { status: end.status, exit_status, counts: context.counts(), times: end.times, cause: end.cause }
    }

    fn ended_partition(
        &self,
        step: &Step,
        context: &StepContext,
        status: BatchStatus,
        exit_status: &str,
    ) -> Option<Event> {
        let topic = match status {
            BatchStatus::Completed => event::PARTITION_COMPLETED,
            BatchStatus::Stopped => event::PARTITION_STOPPED,
            _ => event::PARTITION_FAILED,
        };
        let number = context.partition.unwrap_or_default();
        let text = format!("partition {number} of step {} ends {status}, exit status {exit_status}", step.id);
        self.made(topic, Some(context), Some(context.counts()), text)
    }

    fn partition_body(
        &self,
        step: &Step,
        job: &Arc<JobContext>,
        context: &Arc<StepContext>,
        number: u32,
        state: &mut PartitionState,
        sender: &SyncSender<Message>,
    ) -> BodyEnd {
        let collector = step.partition.as_ref().and_then(|partition| partition.collector.as_ref());
        let made =
            collector.map(|artifact| self.engine.registry.make_collector(&self.inject(artifact, job, Some(context))));
        let mut collector = match made.transpose() {
            Ok(collector) => collector,
            Err(thrown) => return BodyEnd::failed(thrown),
        };
        let collect = |collector: &mut Option<Box<dyn PartitionCollector>>| -> Answer<()> {
            if let Some(collector) = collector {
                let data = collector.collect()?;
                let _ = sender.send(Message::Collected(data));
            }
            Ok(())
        };
        match &step.body {
            StepBody::Batchlet(batchlet) => {
                let end = self.batchlet(batchlet, job, context);
                match collect(&mut collector) {
                    Err(thrown) if end.cause.is_none() => BodyEnd::failed(thrown),
                    _ => end,
                }
            }
            StepBody::Chunk(_) => {
                let mut listeners = Listeners::default();
                if let Err(thrown) = listeners.make(self, &step.listeners, job, Some(context)) {
                    return BodyEnd::failed(thrown);
                }
                let mut place = Place::Partition(number, state);
                let mut committed = |_: &StepContext| collect(&mut collector);
                let end = self.chunk_body(step, job, context, &mut listeners, &mut place, &mut committed);
                if end.cause.is_none()
                    && let Err(thrown) = collect(&mut collector)
                {
                    return BodyEnd::failed(thrown);
                }
                end
            }
        }
    }
}

/// What tells one plan from another.
fn digest(properties: &[BTreeMap<String, String>]) -> u64 {
    let mut bytes = Vec::new();
    properties.iter().for_each(|properties| properties.pack(&mut bytes));
    xxh3_64(&bytes)
}

/// Takes what partitions send, until all threads are gone.
fn receive(receiver: &Receiver<Message>, context: &StepContext, whole: &mut Whole, give_up: &AtomicBool) {
    for message in receiver {
        let analyzed = match message {
            Message::Collected(data) => match &mut whole.analyzer {
                Some(analyzer) => analyzer.data(data.as_deref()),
                None => Ok(()),
            },
            Message::Ended { status, exit_status, counts, times, cause } => {
                context.count(|all| all.add(counts));
                whole.times.add(times);
                match (status, cause) {
                    (BatchStatus::Failed, cause) => {
                        whole.status = BatchStatus::Failed;
                        whole.cause = whole.cause.take().or(cause);
                    }
                    (BatchStatus::Stopped, _) if whole.status == BatchStatus::Completed => {
                        whole.status = BatchStatus::Stopped;
                    }
                    _ => {}
                }
                match &mut whole.analyzer {
                    Some(analyzer) => analyzer.status(status, &exit_status),
                    None => Ok(()),
                }
            }
        };
        if let Err(thrown) = analyzed {
            // Partitions that run go on to their end; no other begins.
            give_up.store(true, Ordering::Relaxed);
            whole.fail(thrown);
        }
    }
}
