//! Partitioned steps: tasks that threads take one after another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use quayline_meter::{WaitFor, waiting};
use quayline_project::job::{Partition, PartitionSource, Step, StepBody};

use super::Run;
use super::chunk::Place;
use super::listeners::Listeners;
use super::scope::FlowThread;
use super::step::BodyEnd;
use super::straggler::Splits;
use quayline_core::Stored as _;
use xxhash_rust::xxh3::xxh3_64;

use crate::artifact::{
    Answer, PartitionAnalyzer, PartitionCollector, PartitionOutcome, PartitionPlan, PartitionReducer,
};
use crate::codes;
use crate::context::{JobContext, StepContext};
use crate::error::{BatchError, Kind, Thrown};
use crate::event::{self, Event};
use crate::record::{Counts, ExecutionId, PartitionGiven, PartitionState, Position, StepState, Times};
use crate::repository::{Begun, NUMBER};
use crate::status::BatchStatus;

/// Receives the data of a collector.
pub(super) type Send<'s> = &'s dyn Fn(Option<Vec<u8>>) -> Answer<()>;

/// Maximum number of messages that wait for the analyzer; partitions then block.
pub(super) const MESSAGES_MAX: usize = 1_024;
/// Stack of a thread of partitions.
pub(super) const STACK_BYTES: usize = 4 << 20;
/// Interval between two checks of a thread without a partition.
const LOOK: Duration = Duration::from_millis(10);

/// Message from a partition to the step's thread.
#[expect(
    clippy::large_enum_variant,
    reason = "an end a partition: a box for each would cost more than its place in the channel"
)]
pub(super) enum Message {
    Collected(Option<Vec<u8>>),
    Ended { status: BatchStatus, exit_status: String, counts: Counts, times: Times, cause: Option<Thrown> },
}

/// State of the step's thread: reducer, analyzer, and the combined outcome of the partitions.
pub(super) struct Whole {
    reducer: Option<Box<dyn PartitionReducer>>,
    analyzer: Option<Box<dyn PartitionAnalyzer>>,
    status: BatchStatus,
    times: Times,
    cause: Option<Thrown>,
    /// See [`StepState::began`].
    pub(super) began: ExecutionId,
}

impl Message {
    /// Returns true if another process has taken the partition.
    pub(super) fn is_fenced(&self) -> bool {
        matches!(self, Message::Ended { cause: Some(cause), .. } if cause.class() == codes::FENCED.0)
    }

    /// Returns the reason why the end of the partition could not be written.
    pub(super) fn is_lost(&self) -> Option<&Thrown> {
        match self {
            Message::Ended { cause: Some(cause), .. } if cause.kind != Kind::Plain => Some(cause),
            _ => None,
        }
    }

    /// Creates the message of a partition that failed early.
    pub(super) fn failed(cause: Thrown) -> Self {
        Message::Ended {
            status: BatchStatus::Failed,
            exit_status: BatchStatus::Failed.text().to_owned(),
            counts: Counts::default(),
            times: Times::default(),
            cause: Some(cause),
        }
    }

    /// Creates the message of a partition that was not started.
    pub(super) fn stopped() -> Self {
        Message::Ended {
            status: BatchStatus::Stopped,
            exit_status: BatchStatus::Stopped.text().to_owned(),
            counts: Counts::default(),
            times: Times::default(),
            cause: None,
        }
    }
}

impl Whole {
    /// Handles a message of a partition.
    pub(super) fn take(&mut self, message: Message, context: &StepContext, give_up: &AtomicBool) {
        let analyzed = match message {
            Message::Collected(data) => match &mut self.analyzer {
                Some(analyzer) => analyzer.data(data.as_deref()),
                None => Ok(()),
            },
            Message::Ended { status, exit_status, counts, times, cause } => {
                context.count(|all| all.add(counts));
                self.times.add(times);
                match (status, cause) {
                    (BatchStatus::Failed, cause) => {
                        self.status = BatchStatus::Failed;
                        self.cause = self.cause.take().or(cause);
                    }
                    (BatchStatus::Stopped, _) if self.status == BatchStatus::Completed => {
                        self.status = BatchStatus::Stopped;
                    }
                    _ => {}
                }
                match &mut self.analyzer {
                    Some(analyzer) => analyzer.status(status, &exit_status),
                    None => Ok(()),
                }
            }
        };
        if let Err(thrown) = analyzed {
            // Running partitions continue to their end; no other begins.
            give_up.store(true, Ordering::Relaxed);
            self.fail(thrown);
        }
    }

    pub(super) fn fail(&mut self, thrown: Thrown) {
        self.status = BatchStatus::Failed;
        self.cause.get_or_insert(thrown);
    }
}

/// Planned properties of a partition.
#[derive(Clone, Copy)]
pub(super) struct Planned<'p> {
    /// `None` if the repository has them.
    pub(super) properties: Option<&'p BTreeMap<String, String>>,
    /// See [`StepState::began`].
    pub(super) began: ExecutionId,
}

impl Run<'_> {
    pub(super) fn partitioned(
        &self,
        step: &Step,
        thread: &FlowThread,
        context: &Arc<StepContext>,
        state: &mut StepState,
    ) -> BodyEnd {
        let Some(partition) = &step.partition else { unreachable!("the step is partitioned") };
        let job = &thread.context;
        let mut whole = Whole {
            reducer: None,
            analyzer: None,
            status: BatchStatus::Completed,
            times: Times::default(),
            cause: None,
            began: ExecutionId::default(),
        };
        if let Err(thrown) = self.partitions(step, partition, (job, context), state, &mut whole) {
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
        BodyEnd { times: whole.times, cause: whole.cause, ..BodyEnd::of(whole.status) }
    }

    fn partitions(
        &self,
        step: &Step,
        partition: &Partition,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        state: &mut StepState,
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
        if plan.replaces && state.plan.is_some() {
            // The reducer rolls the work of the previous partitions back before a new one begins (PartitionPlan, setPartitionsOverride).
            if let Some(reducer) = &mut whole.reducer {
                reducer.rollback()?;
            }
            self.repository().forget_partitions(self.held, &step.id)?;
            state.began = self.held.execution;
        }
        whole.began = state.began;
        let mut given = self.repository().given(self.held.instance, &step.id)?;
        if let Some(count) = state.plan.filter(|_| !plan.replaces) {
            let before = self.repository().plan_digest(self.held.instance, &step.id)?;
            // Partitions that were split off are not part of the plan.
            let split_off = given.values().filter(|given| given.parent.is_some()).count();
            let (count, now) = (usize::try_from(count).unwrap_or(usize::MAX), plan.properties.len());
            let planned = count.saturating_sub(split_off);
            let changed = digest.is_some() && before.is_some() && before != digest;
            if changed || (must_repeat && planned != now) {
                let what = format!("step {} was planned in {planned} partitions before", step.id);
                let message = if planned == now {
                    format!("{what}, with other properties")
                } else {
                    format!("{what}, now in {now}")
                };
                return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                    "restore the input and the parameters of the first execution (--same-params), or start a new instance of the job",
                ));
            }
            // A restart keeps the number of partitions unless the plan says otherwise, as the specification requires.
            if now < planned && plan.properties.iter().any(|properties| !properties.is_empty()) {
                let message = format!(
                    "step {} was planned in {planned} partitions before, and the plan now has properties for {now}",
                    step.id
                );
                return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                    "restore the input and the parameters of the first execution (--same-params), or let the mapper discard the partitions before (partitionsOverride)",
                ));
            }
            if now > planned {
                let text = format!(
                    "step {} keeps its {planned} partitions; the plan has {now} now, and the others are ignored",
                    step.id
                );
                self.event(event::LOG, Some(context), None, text);
            }
            plan.properties.resize(count, BTreeMap::new());
        }
        let count = u32::try_from(plan.properties.len()).unwrap_or(u32::MAX);
        state.plan = Some(count);
        let known = self.repository().partitions(self.held.instance, &step.id)?;
        let new = (0..count).filter(|number| !known.contains_key(number)).collect::<Vec<_>>();
        self.repository().plan_partitions(self.held, &step.id, state, new.into_iter(), digest)?;
        for (number, given) in &given {
            if let Some(properties) = plan.properties.get_mut(*number as usize) {
                properties.clone_from(&given.properties);
            }
        }
        if let Some((message, remedy)) = step.not_planned(&plan.properties) {
            return Err(Thrown::of(&["quayline.Configuration"], message).hint(remedy));
        }
        if self.repository().is_shared() && sharing(step)? {
            for (number, properties) in (0..count).zip(&plan.properties) {
                let planned = || PartitionGiven { parent: None, properties: properties.clone() };
                given.entry(number).or_insert_with(planned);
            }
            self.repository().offer(self.held, &step.id, &given)?;
            drop((given, known));
            self.run_shared(step, (job, context), &plan, whole)
        } else {
            let mut todo = VecDeque::new();
            for number in 0..count {
                match known.get(&number) {
                    Some(known) if known.status == BatchStatus::Completed => {}
                    known => todo.push_back(Todo { number, is_new: known.is_none() }),
                }
            }
            drop((given, known));
            self.run_all(step, (job, context), &plan, todo, whole)
        }
    }

    /// Runs partitions on threads of this process.
    fn run_all(
        &self,
        step: &Step,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        plan: &PartitionPlan,
        mut todo: VecDeque<Todo>,
        whole: &mut Whole,
    ) -> Answer<()> {
        let splits = splitting(step)?;
        let most = self.threads_max(step)?;
        let wanted = usize::try_from(plan.threads).unwrap_or(usize::MAX);
        let give_up = AtomicBool::new(false);
        loop {
            let most_now = match (splits, wanted) {
                (false, _) => most.min(todo.len()),
                // Threads without a partition take a part of another's.
                (true, 0) => most.min(todo.len().max(threads_of_machine())),
                (true, _) => most,
            };
            let threads = if wanted == 0 { most_now } else { wanted.min(most_now) };
            let queue = Queue { todo: Mutex::new((todo, 0)), change: Condvar::new() };
            self.run_queue(step, (job, context), plan, (&queue, threads, splits), whole, &give_up);
            if whole.status != BatchStatus::Completed {
                return Ok(());
            }
            // If the answer to the commit of a split was lost, no thread knows the new partition.
            todo = self.not_begun(step)?;
            if todo.is_empty() {
                return Ok(());
            }
            if job.stop.is_set() {
                whole.take(Message::stopped(), context, &give_up);
                return Ok(());
            }
        }
    }

    fn not_begun(&self, step: &Step) -> Answer<VecDeque<Todo>> {
        let known = self.repository().partitions(self.held.instance, &step.id)?.into_iter();
        let left = |known: &Begun| known.status != BatchStatus::Completed && known.execution != self.held.execution;
        Ok(known.filter(|(_, known)| left(known)).map(|(number, _)| Todo { number, is_new: false }).collect())
    }

    /// Returns the maximum number of concurrent partitions of a step, regardless of its plan.
    pub(super) fn threads_max(&self, step: &Step) -> Answer<usize> {
        let most = bound(step, THREADS_MAX, self.engine.settings.partition_threads_max)?;
        Ok(most.clamp(1, PARTITION_THREADS_MAX))
    }

    /// Reads the state of a partition that begins. Not earlier, so that memory contains only the large positions of running partitions.
    fn begun(&self, step: &Step, todo: Todo) -> Answer<PartitionState> {
        if todo.is_new {
            return Ok(PartitionState::default());
        }
        let state = self.repository().begun_partition(self.held.instance, &step.id, todo.number)?;
        Ok(state.ok_or(BatchError::Damaged { what: "a partition" })?)
    }

    fn run_queue(
        &self,
        step: &Step,
        (job, context): (&Arc<JobContext>, &Arc<StepContext>),
        plan: &PartitionPlan,
        (queue, threads, splits): (&Queue, usize, bool),
        whole: &mut Whole,
        give_up: &AtomicBool,
    ) {
        let (sender, receiver) = sync_channel(MESSAGES_MAX);
        let began = whole.began;
        let worker = |sender: SyncSender<Message>| {
            let _working = self.working();
            let over = || job.stop.is_set() || give_up.load(Ordering::Relaxed);
            let none = || {
                if splits {
                    self.engine.stragglers.ask_slowest(self.held.execution, &step.id)
                }
            };
            while let Some(todo) = queue.next(&over, &none) {
                let number = todo.number;
                // Dropped even after a panic of an artifact, so that other threads do not wait for this partition.
                let _running = Running(queue);
                if over() {
                    let _ = sender.send(Message::stopped());
                    return;
                }
                let planned = Planned { properties: plan.properties.get(number as usize), began };
                let made = |number| queue.put(Todo { number, is_new: false });
                let send = |data| {
                    // The step's thread receives until all threads have ended.
                    waiting(WaitFor::Room, || drop(sender.send(Message::Collected(data))));
                    Ok(())
                };
                let ended = match self.begun(step, todo) {
                    Ok(known) => self.one_partition(step, job, (number, known), planned, (&send, &made)),
                    Err(thrown) => Message::failed(thrown),
                };
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
            for message in receiver {
                whole.take(message, context, give_up);
            }
        });
    }

    /// Runs a partition. `send` receives the data of the collector, `made` is called for a new partition that takes a part of the range.
    pub(super) fn one_partition(
        &self,
        step: &Step,
        job: &JobContext,
        (number, mut state): (u32, PartitionState),
        planned: Planned<'_>,
        (send, made): (Send<'_>, &dyn Fn(u32)),
    ) -> Message {
        let given = match planned.properties {
            Some(planned) => Ok(planned.clone()),
            None => self
                .repository()
                .given_of(self.held.instance, &step.id, number)
                .map(|given| given.map(|given| given.properties).unwrap_or_default()),
        };
        let user_data = state.progress.user_data.as_deref().map(<[u8]>::to_vec);
        let mut context = StepContext::new(&step.id, number + 1, step.properties.clone(), Some(number), user_data);
        context.began = planned.began;
        let context = Arc::new(context);
        let job = Arc::new(job.for_thread());
        self.event(
            event::PARTITION_STARTED,
            Some(&context),
            None,
            format!("partition {number} of step {} starts", step.id),
        );
        let begin = std::time::Instant::now();
        if state.execution == self.held.execution {
            // Another process began it in this execution, and its committed work counts.
            context.count(|counts| *counts = state.progress.counts);
        } else {
            state.progress.counts = Counts::default();
            state.pace = None;
        }
        state.execution = self.held.execution;
        let of_step = |properties: &BTreeMap<String, String>| {
            step.of_partition(properties).map_err(|findings| {
                let found = findings.first_error().map(Thrown::from_finding);
                found.unwrap_or_else(|| Thrown::new("quayline.Configuration", "a partition's properties"))
            })
        };
        let made_with = given.map_err(Thrown::from).and_then(|given| Ok((of_step(&given)?, given)));
        let mut end = match made_with {
            Ok((own, given)) => {
                let straggler = self.engine.stragglers.begin(self.held.execution, &step.id, number);
                let is_apart = given.contains_key(NUMBER) && {
                    let mut other = given.clone();
                    other.insert(NUMBER.to_owned(), u32::MAX.to_string());
                    of_step(&other).is_ok_and(|other| writer_of(&other) != writer_of(&own))
                };
                let splits = Splits { straggler, properties: &given, is_apart, made };
                let end = self.partition_body(&own, &job, &context, (number, &splits), &mut state, send);
                self.engine.stragglers.end(self.held.execution, &step.id, number);
                end
            }
            Err(thrown) => BodyEnd::failed(thrown),
        };
        end.times.total_ns = super::step::ns(begin);
        context.set_status(end.status);
        let exit_status = context.exit_status().or(end.exit_status.take());
        let exit_status = exit_status.unwrap_or_else(|| end.status.text().to_owned());
        state.status = end.status;
        state.exit_status = Some(exit_status.clone());
        state.progress.user_data = context.user_data().map(Position::from);
        state.progress.counts = context.counts();
        if let Some(shared) = &mut state.shared {
            shared.times = end.times;
            shared.cause = end.cause.as_ref().map(|cause| (cause.class().to_owned(), cause.message.clone()));
        }
        let event = self.ended_partition(step, &context, end.status, &exit_status);
        let at = (step.id.as_str(), number);
        let saved = self.repository().save_partition(
            self.held,
            at,
            (&mut state, end.is_uncertain),
            &self.keeper(std::slice::from_ref(&event)),
        );
        match (saved, &mut end.cause) {
            (Err(error), _) => end = BodyEnd { times: end.times, ..BodyEnd::failed(error.into()) },
            // Its end is written, so the failure concerns this partition only.
            (Ok(()), Some(cause)) => cause.kind = Kind::Plain,
            (Ok(()), None) => {}
        }
        if let Some(thrown) = &end.cause {
            self.log_thrown(Some(&context), &format!("partition {number} of step {}", step.id), thrown);
        }
        if end.status == state.status {
            self.engine.tell(event);
        } else {
            // The end of the partition could not be written.
            self.engine.tell(self.ended_partition(step, &context, end.status, end.status.text()));
        }
        let counts = state.progress.counts;
        Message::Ended { status: end.status, exit_status, counts, times: end.times, cause: end.cause }
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
        (number, splits): (u32, &Splits<'_>),
        state: &mut PartitionState,
        send: Send<'_>,
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
                send(collector.collect()?)?;
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
                let mut place = Place::Partition(number, state, splits);
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

/// Returns a digest that identifies a plan.
fn digest(properties: &[BTreeMap<String, String>]) -> u64 {
    let mut bytes = Vec::new();
    properties.iter().for_each(|properties| properties.store(&mut bytes));
    xxh3_64(&bytes)
}

/// Returns the properties of a step's writer.
fn writer_of(step: &Step) -> Option<&BTreeMap<String, String>> {
    match &step.body {
        StepBody::Chunk(chunk) => Some(&chunk.writer.properties),
        StepBody::Batchlet(_) => None,
    }
}

/// Step property that selects the handling of partitions that take longer than the others.
const STRAGGLERS: &str = "quayline.stragglers";
/// Step property that selects the processes that run its partitions.
const SHARING: &str = "quayline.partitions";

pub(super) fn splitting(step: &Step) -> Answer<bool> {
    choice(step, STRAGGLERS, ["keep", "split"])
}

fn sharing(step: &Step) -> Answer<bool> {
    choice(step, SHARING, ["local", "shared"])
}

/// Step property with the maximum number of concurrent partitions.
const THREADS_MAX: &str = "quayline.partition-threads-max";
/// Upper limit of partitions of a step that run at once in one process: each has a thread.
const PARTITION_THREADS_MAX: usize = 1_024;

/// Returns a numeric property of a step, from 1, or the default.
pub(super) fn bound(step: &Step, property: &str, default: usize) -> Answer<usize> {
    match step.properties.get(property).map(String::as_str) {
        None | Some("") => Ok(default),
        Some(text) => text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            Thrown::new("quayline.Configuration", format!("property {property} of the step is not a number from 1"))
                .hint("write a whole number, without a unit")
        }),
    }
}

/// Returns true if a property of a step has the second of two values; the first is the default.
pub(super) fn choice(step: &Step, property: &str, [first, second]: [&str; 2]) -> Answer<bool> {
    match step.properties.get(property).map(String::as_str) {
        None | Some("") => Ok(false),
        Some(text) if text == first => Ok(false),
        Some(text) if text == second => Ok(true),
        Some(_) => Err(Thrown::new("quayline.Configuration", format!("property {property} of the step is not known"))
            .hint(format!("write {first} or {second}"))),
    }
}

fn threads_of_machine() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A partition that waits for a thread.
#[derive(Clone, Copy)]
struct Todo {
    number: u32,
    /// True if it has no checkpoint yet.
    is_new: bool,
}

/// Partitions that wait for a thread, and the number of running ones.
struct Queue {
    todo: Mutex<(VecDeque<Todo>, usize)>,
    change: Condvar,
}

impl Queue {
    /// Returns the next partition. If the queue is empty while others run, which may split, waits and calls `none` repeatedly.
    fn next(&self, over: &dyn Fn() -> bool, none: &dyn Fn()) -> Option<Todo> {
        let mut queue = self.todo.lock();
        loop {
            if let Some(next) = queue.0.pop_front() {
                queue.1 += 1;
                return Some(next);
            }
            if queue.1 == 0 || over() {
                return None;
            }
            none();
            waiting(WaitFor::Work, || self.change.wait_for(&mut queue, LOOK));
        }
    }

    fn put(&self, todo: Todo) {
        self.todo.lock().0.push_back(todo);
        self.change.notify_one();
    }
}

/// A partition of a queue that runs.
struct Running<'q>(&'q Queue);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.todo.lock().1 -= 1;
        self.0.change.notify_all();
    }
}
