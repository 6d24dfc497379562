//! A flow on one thread: its lanes, handles and figures, and the processing of one message.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::{poll_fn, ready};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::Either;
use quayline_core::{Fault, Finding};
use quayline_meter::Clock as _;
use quayline_partner::PendingFiles;
use quayline_project::{FlowProperty, PropertyValue};
use quayline_store::queue::{MessageId, Queue};
use quayline_store::record_file::RecordFile;
use quayline_store::{Clock, STO_DEADLOCK, Store, StoreError, Unit};

use crate::codes;
use crate::compile::Flow;
use crate::engine::{Around, Commits, Deployed, FilesLeft};
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::http::{Outcome, ReplyTo};
use crate::message::Parcel;
use crate::pipes::{Lanes, Pipes};
use crate::stats::{CpuPart, FlowStats, Timed};
use crate::trading::Trading;

/// Nodes that the messages of one unit of work may reach: a split of a million parts over ten nodes.
const STEPS_MAX: u64 = 10_000_000;
/// Nodes that a unit of work runs before other work of its thread has its turn. Default 512: below a millisecond.
const STEPS_AT_ONCE: u64 = 512;
/// Time after which a file that is kept open `until_idle` is looked up again.
const IDLE: Duration = Duration::from_secs(10);
/// One unit of work in this number is measured.
const SAMPLE: u64 = 32;

/// Receiver of events of running flows. It is called on the threads of the engine, so it must not block.
pub trait Observer: Send + Sync {
    /// A unit of work was rolled back, or a node failed where a wire handles it (`handled`).
    fn failed(&self, flow: &str, finding: &Finding, handled: bool);
    /// A trace node ran.
    fn trace(&self, flow: &str, node: &str, text: &str);
}

/// Time for which a unit of work may still wait after its flow was asked to stop. Its message is then returned as after a timeout.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// Number of a message that leaves a node after a failure, which differs from those of messages that leave it otherwise.
const AFTER_FAILURE: u64 = u64::MAX;

/// A flow on one thread.
pub(crate) struct Run<'p> {
    pub(crate) flow: &'p Flow,
    pub(crate) name: Rc<str>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    base_ms: u64,
    pub(crate) lanes: Lanes<'p>,
    pub(crate) stats: Arc<FlowStats>,
    pub(crate) observer: Arc<dyn Observer>,
    files_left: Arc<FilesLeft>,
    /// Numbers of the inputs whose units of work were submitted to the log since the last call. Their instances are free.
    pub(crate) submitted: RefCell<Vec<usize>>,
    commits: Commits,
    stop: (Arc<Deployed>, usize),
    pub(crate) sql: crate::sql::Sessions,
    pub(crate) http: crate::call::Connections,
    pub(crate) programs: crate::program::Pools,
    pub(crate) nats: crate::nats::Publishers,
    pub(crate) amqp: crate::amqp::Senders,
    pub(crate) kafka: crate::kafka_output::Senders,
    /// The partners, if the flow has nodes of partners.
    pub(crate) trading: Option<&'p Trading>,
    pub(crate) worker: crate::trading::Worker<'p>,
    queues: RefCell<HashMap<String, Queue>>,
    files: RefCell<HashMap<String, (RecordFile, Instant)>>,
    /// Messages whose units of work waited for locks of others that waited for theirs, and how often.
    pub(crate) conflicting: RefCell<HashMap<MessageId, u32>>,
    units: Cell<u64>,
}

/// A unit of work in progress.
pub(crate) struct Work {
    pub(crate) unit: Unit,
    pub(crate) after: Vec<After>,
    pub(crate) began: Instant,
    pub(crate) deadline: Instant,
    steps: u64,
    sample: Option<Sample>,
    pub(crate) messages: u64,
    /// The message that is processed now.
    pub(crate) message: Option<MessageId>,
    /// Gets and puts of the unit before the message that is processed now.
    pub(crate) before: usize,
    /// True if no change of the unit of work has to survive a power failure.
    pub(crate) is_written_only: bool,
    /// True if a wait was abandoned because the flow stops, so that the rollback is not a failure.
    pub(crate) is_cut_short: bool,
    /// The last message that was put, without its content.
    pub(crate) template: Option<crate::nodes::Template>,
    /// Files to be written after the commit: entries of the outbox by their keys.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Action after the commit.
pub(crate) enum After {
    Answer(ReplyTo),
    /// A file whose content is kept in the store under this name.
    File(String),
    /// Documents for folders, kept in the transaction store, and the name of their node.
    Delivery(PendingFiles, String),
    /// The file of a folder input.
    Processed(crate::folder::Processed),
}

struct Sample {
    part: CpuPart,
    since: Duration,
}

/// A step of the processing of a message.
enum Step {
    Visit(usize, Parcel),
    /// Nodes after this are inside the `try` node.
    EndTry(usize, Parcel),
    /// Remaining parts of a split: node, message, parts, number of the next part.
    Parts(usize, Parcel, Rc<Vec<core::ops::Range<usize>>>, Rc<[u8]>, usize),
}

/// Result of a node.
pub(crate) enum Gives {
    /// A message for each terminal.
    Out(Vec<(&'static str, Parcel)>),
    /// The message as it came, by this terminal.
    Same(&'static str),
    /// A message for one node.
    To(usize, Parcel),
    Parts(Vec<core::ops::Range<usize>>, Rc<[u8]>),
    Try,
}

/// Returns true if the unit of work and another one waited for each other's locks.
pub(crate) fn is_conflict(failure: &Failure) -> bool {
    failure.finding.code == STO_DEADLOCK
}

/// Returns true if no node may handle a failure: a lock conflict of a message that comes again, or of a request whose client can repeat it. A terminal
/// would commit what the unit of work did before. A message that was got outside the unit of work would be lost instead, so its terminals get the failure.
fn is_only_rolled_back(failure: &Failure, parcel: &Parcel) -> bool {
    is_conflict(failure) && (parcel.received.comes_again || parcel.received.reply.is_some())
}

impl<'p> Run<'p> {
    pub(crate) fn new(
        flow: &'p Flow,
        pipes: &'p Pipes,
        trading: Option<&'p Trading>,
        around: Around,
        stop: (Arc<Deployed>, usize),
    ) -> Self {
        let stats = Arc::clone(&stop.0.stats);
        let Around { store, clock, observer, commits, files, workload: _, base_ms } = around;
        Run {
            flow,
            name: flow.name().into(),
            store,
            clock,
            base_ms,
            lanes: Lanes::new(pipes, flow),
            stats,
            observer,
            files_left: files,
            submitted: RefCell::default(),
            commits,
            stop,
            sql: crate::sql::Sessions::default(),
            http: crate::call::Connections::default(),
            programs: crate::program::Pools::default(),
            nats: crate::nats::Publishers::default(),
            amqp: crate::amqp::Senders::default(),
            kafka: crate::kafka_output::Senders::default(),
            trading,
            worker: RefCell::default(),
            queues: RefCell::default(),
            files: RefCell::default(),
            conflicting: RefCell::default(),
            units: Cell::new(0),
        }
    }

    pub(crate) fn work(&self, unit: Unit) -> Work {
        let count = self.units.get();
        self.units.set(count + 1);
        let sample = count.is_multiple_of(SAMPLE).then(|| Sample { part: CpuPart::Flow, since: cpu() });
        let limit = Duration::from_millis(self.flow.file.time_limit_ms);
        let began = Instant::now();
        Work {
            unit,
            after: Vec::new(),
            began,
            deadline: began + limit,
            steps: 0,
            sample,
            messages: 0,
            message: None,
            before: 0,
            is_written_only: false,
            is_cut_short: false,
            template: None,
            files: BTreeMap::new(),
        }
    }

    /// Milliseconds since 1970 that no change of the wall clock affects while the engine runs.
    pub(crate) fn even_ms(&self) -> u64 {
        self.base_ms.saturating_add(self.clock.steady_ms())
    }

    /// Charges CPU time from here to a part.
    pub(crate) fn part(&self, work: &mut Work, part: CpuPart) {
        if let Some(sample) = &mut work.sample {
            let now = cpu();
            let ns = u64::try_from(now.saturating_sub(sample.since).as_nanos()).unwrap_or(u64::MAX);
            self.stats.cpu.add(sample.part, ns);
            *sample = Sample { part, since: now };
        }
    }

    /// Restarts the CPU clock, so that time of other units of work on this thread is not charged. Call it after each await.
    pub(crate) fn resumed(&self, work: &mut Work) {
        if let Some(sample) = &mut work.sample {
            sample.since = cpu();
        }
    }

    pub(crate) fn queue(&self, name: &str) -> Result<Queue, StoreError> {
        if let Some(queue) = self.queues.borrow().get(name) {
            return Ok(queue.clone());
        }
        let queue = self.store.queue(name)?;
        self.queues.borrow_mut().insert(name.to_owned(), queue.clone());
        Ok(queue)
    }

    /// Returns the flow as the engine runs it.
    pub(crate) fn deployed(&self) -> &Deployed {
        &self.stop.0
    }

    /// Number of the current thread.
    pub(crate) fn thread(&self) -> usize {
        self.stop.1
    }

    /// Returns the time at which a unit of work that waits for an event gives up: its time limit, or some seconds after its flow was asked to stop.
    /// `asked` keeps the time at which the stop was first noticed.
    fn gives_up_at(&self, work: &Work, asked: &mut Option<Instant>) -> Instant {
        if !self.stop.0.is_stopping() {
            return work.deadline;
        }
        work.deadline.min(*asked.get_or_insert_with(Instant::now) + STOP_GRACE)
    }

    /// Returns true if a unit of work gives up instead of waiting for another `pause_ms`.
    pub(crate) fn gives_up(&self, work: &mut Work, asked: &mut Option<Instant>, pause_ms: u64) -> bool {
        let next = Instant::now() + Duration::from_millis(pause_ms);
        let gives_up = next >= self.gives_up_at(work, asked);
        work.is_cut_short |= gives_up && next < work.deadline;
        gives_up
    }

    /// Waits, and says whether the flow is to stop.
    pub(crate) async fn stopped_within(&self, pause: Duration) -> bool {
        self.stop.0.stopped_within(pause).await
    }

    /// Opens a record file, or returns the one kept open according to the node.
    pub(crate) fn file(&self, unit: &Unit, name: &str, keep_open: Option<&str>) -> Result<RecordFile, StoreError> {
        let keeps = keep_open != Some("per_message");
        if keeps && let Some((file, used)) = self.files.borrow_mut().get_mut(name) {
            let now = Instant::now();
            let is_fresh = keep_open == Some("always") || now.duration_since(*used) < IDLE;
            *used = now;
            if is_fresh {
                return Ok(file.clone());
            }
        }
        let file = self.store.file(unit, name)?;
        if keeps {
            self.files.borrow_mut().insert(name.to_owned(), (file.clone(), Instant::now()));
        }
        Ok(file)
    }

    /// Evaluates a node's expressions.
    pub(crate) fn values(&self, at: usize, parcel: &Parcel) -> Result<Vec<Evaluated>, Failure> {
        if self.flow.nodes[at].expressions.is_none() {
            return Ok(Vec::new());
        }
        self.lanes.evaluate(at, self.clock.now_ms(), parcel)
    }

    /// Returns the index of a property's first value among those of its node's expressions.
    pub(crate) fn value_at(&self, at: usize, name: &str) -> usize {
        let before = self.flow.file.nodes[at].properties.iter().take_while(|property| property.kind.name != name);
        let count = |property: &FlowProperty| match &property.value {
            PropertyValue::From(..) => 1,
            PropertyValue::Expressions(all) => all.len(),
            PropertyValue::Cases(cases) => cases.len(),
            _ => 0,
        };
        before.map(count).sum()
    }

    /// Returns the value of a property that is an expression.
    pub(crate) fn value<'v>(&self, at: usize, values: &'v [Evaluated], name: &str) -> Option<&'v Evaluated> {
        let property = self.flow.file.nodes[at].property(name)?;
        if !matches!(property.value, PropertyValue::From(..)) {
            return None;
        }
        Some(values.get(self.value_at(at, name)).unwrap_or(&Evaluated::Absent))
    }

    /// Returns a text property of a node: the constant, or the value of its expression.
    pub(crate) fn text<'v>(
        &'v self,
        at: usize,
        values: &'v [Evaluated],
        name: &str,
    ) -> Result<Option<&'v str>, Failure> {
        let node = &self.flow.file.nodes[at];
        if let Some(text) = node.text(name) {
            return Ok(Some(text));
        }
        match self.value(at, values, name) {
            None => Ok(None),
            Some(Evaluated::Text(text)) => Ok(Some(text)),
            _ => Err(Failure::new(
                codes::NO_VALUE,
                format!("`{name}` has no value for this message"),
                format!("give it a default in the expression: {name}.from = '… ?? \"DEFAULT\"'"),
            )),
        }
    }

    /// Returns a text property that must be present.
    pub(crate) fn needed<'v>(&'v self, at: usize, values: &'v [Evaluated], name: &str) -> Result<&'v str, Failure> {
        self.text(at, values, name)?
            .ok_or_else(|| Failure::new(codes::NO_VALUE, format!("`{name}` has no value"), "set it in the flow file"))
    }

    /// Repeats an operation while another unit of work holds a record, without holding the thread.
    pub(crate) async fn locked<T>(
        &self,
        work: &mut Work,
        mut operation: impl FnMut(&mut Unit) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.part(work, CpuPart::Files);
        let wait_ms = self.store.limits().lock_wait_ms_max;
        let unit = &mut work.unit;
        let mut waited = false;
        let attempt = poll_fn(|context| {
            unit.wake_for_locks(context.waker());
            match operation(unit) {
                Err(StoreError::LockTimeout { .. }) => {
                    waited = true;
                    Poll::Pending
                }
                other => Poll::Ready(other),
            }
        });
        let result = match tokio::time::timeout(Duration::from_millis(wait_ms), attempt).await {
            Ok(result) => result,
            Err(_) => operation(&mut work.unit).map_err(|error| match error {
                StoreError::LockTimeout { space, file, .. } => {
                    StoreError::LockTimeout { space, file, waited_ms: wait_ms }
                }
                other => other,
            }),
        };
        if waited {
            self.resumed(work);
        }
        self.part(work, CpuPart::Flow);
        result
    }

    /// Processes a message from an input on: everything that its wires lead to. A failure that nothing handled is the result.
    pub(crate) async fn process(&self, work: &mut Work, input: usize, parcel: Parcel) -> Result<(), Failure> {
        work.messages += 1;
        work.message = Some(parcel.received.header.id);
        let terminal = parcel.received.terminal;
        if terminal == "out" {
            self.stats.received.fetch_add(1, Ordering::Relaxed);
            self.stats.nodes[input].messages.fetch_add(1, Ordering::Relaxed);
        }
        let failed = match self.pass_on(work, input, terminal, parcel.clone()).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if self.flow.file.nodes[input].wire("catch").is_empty() || is_only_rolled_back(&failed, &parcel) {
            return Err(failed);
        }
        self.handled(&failed);
        let parcel = Parcel { failure: Some(Rc::new(failed)), ..parcel };
        self.pass_on(work, input, "catch", parcel).await
    }

    /// Sends a message along the wires of a terminal.
    pub(crate) async fn pass_on(
        &self,
        work: &mut Work,
        at: usize,
        terminal: &str,
        parcel: Parcel,
    ) -> Result<(), Failure> {
        let mut stack = Vec::new();
        self.push(&mut stack, at, terminal, &parcel, 0);
        while let Some(step) = stack.pop() {
            work.steps += 1;
            if work.steps.is_multiple_of(STEPS_AT_ONCE) {
                // A message of many parts is no reason for others on this thread to wait.
                self.part(work, CpuPart::Flow);
                tokio::task::yield_now().await;
                self.resumed(work);
            }
            if let Some(failure) = self.too_much(work) {
                return Err(failure);
            }
            match step {
                Step::EndTry(..) => {}
                Step::Parts(node, parcel, parts, content, next) => match parts.get(next) {
                    Some(range) => {
                        let mut part = parcel.with_content(&content[range.clone()]);
                        part.part = next as u64 + 1;
                        stack.push(Step::Parts(node, parcel, parts, content, next + 1));
                        self.push(&mut stack, node, "out", &part, next as u64 + 1);
                    }
                    None => self.push(&mut stack, node, "done", &parcel, 0),
                },
                Step::Visit(node, parcel) => {
                    self.stats.nodes[node].messages.fetch_add(1, Ordering::Relaxed);
                    match self.node(work, node, &parcel).await {
                        Ok(Gives::Out(out)) => {
                            for (number, (terminal, parcel)) in out.iter().enumerate().rev() {
                                self.push(&mut stack, node, terminal, parcel, number as u64);
                            }
                        }
                        Ok(Gives::Same(terminal)) => self.push(&mut stack, node, terminal, &parcel, 0),
                        Ok(Gives::To(to, parcel)) => stack.push(Step::Visit(to, parcel)),
                        Ok(Gives::Parts(parts, content)) => {
                            stack.push(Step::Parts(node, parcel, Rc::new(parts), content, 0))
                        }
                        Ok(Gives::Try) => {
                            stack.push(Step::EndTry(node, parcel.clone()));
                            self.push(&mut stack, node, "try", &parcel, 0);
                        }
                        Err(failure) => self.unwind(&mut stack, node, parcel, failure)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends a failure where a wire handles it.
    fn unwind(&self, stack: &mut Vec<Step>, at: usize, parcel: Parcel, mut failure: Failure) -> Result<(), Failure> {
        let node = &self.flow.file.nodes[at];
        if failure.node.is_none() {
            failure.node = Some(node.name.clone());
        }
        let located = failure.located(&self.name);
        self.traced_failure(at, &parcel, &located);
        self.stats.nodes[at].failed(self.clock.now_ms(), located);
        if is_only_rolled_back(&failure, &parcel) {
            return Err(failure);
        }
        if !node.wire("failure").is_empty() {
            self.handled(&failure);
            let parcel = Parcel { status: failure.status, failure: Some(Rc::new(failure)), ..parcel };
            self.push(stack, at, "failure", &parcel, AFTER_FAILURE);
            return Ok(());
        }
        while let Some(step) = stack.pop() {
            // A failure whose `catch` has no node would vanish with its message.
            if let Step::EndTry(at, parcel) = step
                && !self.flow.file.nodes[at].wire("catch").is_empty()
            {
                self.handled(&failure);
                let parcel = Parcel { failure: Some(Rc::new(failure)), ..parcel };
                self.push(stack, at, "catch", &parcel, AFTER_FAILURE);
                return Ok(());
            }
        }
        Err(failure)
    }

    fn handled(&self, failure: &Failure) {
        self.observer.failed(&self.name, &failure.located(&self.name), true);
    }

    /// Schedules a message at the targets of a terminal, as one of several that leave the node.
    fn push(&self, stack: &mut Vec<Step>, at: usize, terminal: &str, parcel: &Parcel, number: u64) {
        self.traced(at, terminal, parcel);
        let wire = self.flow.file.nodes[at].wire(terminal);
        let kind = self.flow.file.nodes[at].kind.name;
        if wire.is_empty() && (terminal == "no_match" || kind == "aggregate" && terminal != "failure") {
            self.stats.nodes[at].dropped();
        }
        for to in wire.iter().rev() {
            stack.push(Step::Visit(*to, parcel.towards(self.flow.nodes[*to].digest, number)));
        }
    }

    fn too_much(&self, work: &Work) -> Option<Failure> {
        if work.steps > STEPS_MAX {
            let message = format!("one unit of work reached more than {STEPS_MAX} nodes");
            return Some(Failure::new(codes::STEPS, message, "split the message into smaller ones before this flow"));
        }
        // A look at the clock costs as much as a node, so it is not done for each.
        if work.steps.is_multiple_of(64) && Instant::now() >= work.deadline {
            return Some(self.late());
        }
        None
    }

    /// Puts the files of a unit of work into it. This is the last that it does, in the order of the keys, so that no two units of work wait for each
    /// other, and it holds the locks of the files no longer than its commit takes.
    pub(crate) async fn seal(&self, work: &mut Work) -> Result<(), Failure> {
        for (key, entry) in std::mem::take(&mut work.files) {
            self.locked(work, |unit| unit.put_checkpoint(&key, &entry)).await?;
            work.after.push(After::File(key));
        }
        Ok(())
    }

    /// Submits a unit of work to the log. It commits even if the future is dropped. An error means that it did not commit. Work after the commit that
    /// fails is reported and done later.
    pub(crate) fn submit(&self, mut work: Work) -> impl Future<Output = Result<(), Failure>> + use<'p> {
        self.part(&mut work, CpuPart::Commit);
        let Work { unit, after, sample, messages, is_written_only, .. } = work;
        // What happens after the commit must not happen without it.
        let ticket = if is_written_only && after.is_empty() { unit.submit_written() } else { unit.submit() };
        let outcome = match self.commits {
            Commits::Free => Either::Left(ticket),
            Commits::Held => Either::Right(ready(ticket.wait())),
        };
        if let Some(sample) = sample {
            let ns = u64::try_from(cpu().saturating_sub(sample.since).as_nanos()).unwrap_or(u64::MAX);
            self.stats.cpu.add(CpuPart::Commit, ns);
            self.stats.cpu.messages.fetch_add(messages, Ordering::Relaxed);
        }
        let (store, stats) = (self.store.clone(), Arc::clone(&self.stats));
        let (flow, now_ms) = (self.flow, self.clock.now_ms());
        let (observer, name, files) = (Arc::clone(&self.observer), Rc::clone(&self.name), Arc::clone(&self.files_left));
        let has_files = after.iter().any(|one| matches!(one, After::File(_)));
        let mut unwritten = RequestsWriting(has_files.then(|| Arc::clone(&files)));
        async move {
            outcome.await.inspect_err(|_| unwritten.end())?;
            stats.committed.fetch_add(1, Ordering::Relaxed);
            let _timed = (!after.is_empty()).then(|| Timed::new(&stats.device_ns));
            for one in after {
                let store = store.clone();
                match one {
                    After::Answer(reply) => {
                        reply.answer().into_iter().for_each(|answer| reply.end(Outcome::Answer(answer)))
                    }
                    After::File(key) => {
                        // What cannot be written now is written again and again; the entry is in the store.
                        let written = tokio::task::spawn_blocking(move || crate::outbox::write(&store, &key)).await;
                        match written {
                            Ok(Err(unwritten)) => files.left(&unwritten),
                            Ok(Ok(Some(replaced))) => {
                                let nodes = flow.file.nodes.iter().zip(&stats.nodes);
                                for (_, stats) in nodes.filter(|(node, _)| node.name == replaced.node) {
                                    let message = format!(
                                        "flow {name}, node {}: a file that existed has a new content",
                                        replaced.node
                                    );
                                    stats.warned(now_ms, 1, Finding::warning(codes::REPLACED, Fault::Config, message));
                                }
                            }
                            Ok(Ok(None)) | Err(_) => {}
                        }
                    }
                    After::Delivery(files, node) => {
                        let left = tokio::task::spawn_blocking(move || files.write()).await.unwrap_or_default();
                        for finding in left {
                            let failure = Failure { node: Some(node.clone()), ..Failure::of(finding.into()) };
                            observer.failed(&name, &failure.located(&name), false);
                        }
                    }
                    After::Processed(file) => {
                        let moved = tokio::task::spawn_blocking(move || file.finish(&store)).await;
                        if let Ok(Err(why)) = moved {
                            let hint = "check the permissions of the folder, and what changes files in it";
                            let finding = Failure::new(codes::FILE_SYSTEM, why, hint).located(&name);
                            observer.failed(&name, &finding, false);
                        }
                    }
                }
            }
            unwritten.end();
            Ok(())
        }
    }

    pub(crate) fn late(&self) -> Failure {
        let limit_ms = self.flow.file.time_limit_ms;
        let message = format!("the unit of work took longer than {limit_ms} ms");
        Failure::new(codes::TIME_LIMIT, message, "raise `time_limit` in the flow file, or make the flow's work smaller")
    }
}

/// Files that a unit of work leaves to the thread for unwritten files if its future is dropped, such as at the time limit of a pass.
struct RequestsWriting(Option<Arc<FilesLeft>>);

impl RequestsWriting {
    /// Notes that the files are written or reported, or that the unit of work has none.
    fn end(&mut self) {
        self.0 = None;
    }
}

impl Drop for RequestsWriting {
    fn drop(&mut self) {
        self.0.iter().for_each(|files| files.wanted());
    }
}

fn cpu() -> Duration {
    quayline_meter::SystemClock.now().cpu
}
