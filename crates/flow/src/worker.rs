//! One flow on one thread: claims messages, drives the units of work that are open, and ends when it is stopped.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use quayline_core::{Finding, Findings, Severity};
use quayline_store::queue::{GetWait, Message, MessageId, Persistence, Select, set_cause};
use quayline_store::{Cause, RollBack, STO_MESSAGE_LENGTH, StoreError};
use quayline_workload::{Kind, Workload};

use crate::codes;
use crate::engine::{Around, Deployed};
use crate::failure::Failure;
use crate::folder::Processed;
use crate::http::Outcome;
use crate::input::{Claimed, Ended, Input, received};
use crate::message::Parcel;
use crate::pipes::Pipes;
use crate::run::{Run, Work, is_conflict};
use crate::stats::{CpuPart, Timed};
use crate::trading::{Trading, trades};

/// First pause before inputs that cannot begin try again: an address is free a moment after the flow that is replaced has ended.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Pause before an input that failed tries again.
const INPUT_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of submitted units of work of a flow on one thread in addition to those of its instances. Default 256, the maximum number of
/// instances. It makes a slow disk block the gets before memory grows.
const COMMITS_MAX: usize = 256;
/// Messages that a flow takes and ends before other work of its thread has its turn. Default 128: below a millisecond, and a turn costs far less.
const MESSAGES_AT_ONCE: usize = 128;
/// Longest sleep between two looks for further messages of one unit of work.
const BATCH_LOOK: Duration = Duration::from_millis(2);

/// Runs a flow with this number of instances on the current thread until it is stopped.
pub(crate) async fn run_flow(deployed: Arc<Deployed>, around: Around, thread: usize) {
    let flow = &*deployed.flow;
    let pipes = match Pipes::new(flow) {
        Ok(pipes) => pipes,
        Err(findings) => {
            let now_ms = around.clock.now_ms();
            findings.0.into_iter().for_each(|finding| deployed.breaks(&around.observer, now_ms, finding));
            return;
        }
    };
    let class = around.workload.clone().map(|workload| {
        let class = workload.classes().of(Kind::Flow, flow.name());
        (workload, class)
    });
    let trading = if flow.file.nodes.iter().any(trades) {
        let Some(trading) = opened(&deployed, &around).await else { return };
        Some(trading)
    } else {
        None
    };
    let run = Run::new(flow, &pipes, trading.as_ref(), around, (Arc::clone(&deployed), thread));
    // Outboxes and groups whose time is over have one owner.
    let is_first = deployed.slots.iter().position(|slots| *slots > 0) == Some(thread);
    // A queue that is not defined yet may be defined while the flow runs.
    let mut before_next = FIRST_PAUSE;
    let mut inputs = loop {
        match Input::all(&run, deployed.slots[thread], is_first) {
            Ok(inputs) => break inputs,
            Err(failure) => {
                run.stats.begins(Some(format!("{}: {}", failure.finding.code, failure.finding.message)));
                run.failed(&failure);
            }
        }
        if deployed.stopped_within(before_next).await {
            return;
        }
        before_next = (before_next * 2).min(INPUT_PAUSE);
    };
    run.stats.begins(None);
    // Addresses that this version does not listen on are free.
    deployed.sockets.lock().clear();
    let mut units: FuturesUnordered<Pin<Box<dyn Future<Output = Ended> + '_>>> = FuturesUnordered::new();
    let mut pause: Option<Pin<Box<tokio::time::Sleep>>> = None;
    let mut turn = 0_usize;
    let mut after_others: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    poll_fn(|context| {
        deployed.register(thread, context.waker());
        if after_others.as_mut().is_some_and(|others| others.as_mut().poll(context).is_pending()) {
            return Poll::Pending;
        }
        after_others = None;
        let _charged = Charged::begin(class.as_ref());
        let mut left = MESSAGES_AT_ONCE;
        loop {
            // Messages that never wait would keep the thread from requests, timers and other flows.
            if left == 0 {
                let mut others = Box::pin(tokio::task::yield_now());
                if others.as_mut().poll(context).is_pending() {
                    after_others = Some(others);
                    return Poll::Pending;
                }
                left = MESSAGES_AT_ONCE;
            }
            let mut is_idle = true;
            while left > 0
                && let Poll::Ready(Some(ended)) = units.poll_next_unpin(context)
            {
                is_idle = false;
                left -= 1;
                run.stats.open.fetch_sub(1, Ordering::Relaxed);
                if let Err(failure) = inputs[ended.input].ended(&run, &ended) {
                    run.failed(&failure);
                }
            }
            for input in run.submitted.borrow_mut().drain(..) {
                is_idle = false;
                inputs[input].submitted();
            }
            if left == 0 {
                continue;
            }
            if deployed.is_stopping() {
                inputs.iter_mut().for_each(|input| input.hand_over(&mut deployed.sockets.lock()));
                if units.is_empty() {
                    for input in &mut inputs {
                        input.stop(&run.store).unwrap_or_else(|failure| run.failed(&failure));
                    }
                    return Poll::Ready(());
                }
                return Poll::Pending;
            }
            if let Some(waiting) = &mut pause {
                if waiting.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                pause = None;
            }
            // A flow whose class is above its share takes no more messages for a while; what is open goes on.
            if let Some(due) = class.as_ref().and_then(|(workload, class)| workload.pause(*class)) {
                pause = Some(Box::pin(tokio::time::sleep(due)));
                continue;
            }
            let open_max = deployed.slots[thread] + COMMITS_MAX;
            // Each input is the first in turn, so that a busy one leaves messages of this turn to the others.
            turn = turn.wrapping_add(1);
            for number in 0..inputs.len() {
                let at = (turn % inputs.len() + number) % inputs.len();
                while left > 0 && units.len() < open_max {
                    match inputs[at].poll_claim(&run, context) {
                        Poll::Ready(Ok(claimed)) => {
                            is_idle = false;
                            left -= 1;
                            if let Some((workload, class)) = &class {
                                workload.sign(*class);
                            }
                            start(&run, &units, at, &inputs, claimed);
                        }
                        Poll::Ready(Err(failure)) => {
                            run.failed(&failure);
                            pause = Some(Box::pin(tokio::time::sleep(INPUT_PAUSE)));
                            is_idle = false;
                            break;
                        }
                        Poll::Pending => break,
                    }
                }
            }
            if is_idle {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Opens the partners of a flow, again and again while the store or their files cannot be used. `None` if the flow is stopped before.
async fn opened(deployed: &Deployed, around: &Around) -> Option<Trading> {
    let flow = &*deployed.flow;
    let (clock, mut pause) = (&*around.clock, FIRST_PAUSE);
    let report = |findings: Findings| {
        let failure = Failure::of(findings);
        around.observer.failed(flow.name(), &failure.located(flow.name()), false);
        format!("{}: {}", failure.finding.code, failure.finding.message)
    };
    loop {
        let opened = Trading::open(&flow.root, flow.cache.clone(), &around.store, clock);
        match opened.and_then(|trading| trading.write_left(clock).map(|left| (trading, left))) {
            Ok((trading, left)) => {
                left.into_iter().for_each(|finding| drop(report(finding.into())));
                return Some(trading);
            }
            Err(findings) => deployed.stats.begins(Some(report(findings))),
        }
        if deployed.stopped_within(pause).await {
            return None;
        }
        pause = (pause * 2).min(INPUT_PAUSE);
    }
}

/// Charges the CPU time of a look at a flow to its class, if the class is held to a share.
struct Charged<'w>(Option<(&'w (Arc<Workload>, usize), Duration)>);

impl<'w> Charged<'w> {
    fn begin(class: Option<&'w (Arc<Workload>, usize)>) -> Self {
        let held = class.filter(|(workload, class)| workload.is_held(*class));
        Charged(held.map(|held| (held, Workload::thread_cpu())))
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        if let Some(((workload, class), before)) = self.0.take() {
            workload.charge(*class, Workload::thread_cpu().saturating_sub(before));
        }
    }
}

impl Run<'_> {
    /// Counts the time of a call as a wait of the flow for another system, also if the flow gives it up.
    pub(crate) async fn external<T>(&self, call: impl Future<Output = T>) -> T {
        let _timed = Timed::new(&self.stats.external_ns);
        call.await
    }
}

fn start<'r>(
    run: &'r Run<'_>,
    units: &FuturesUnordered<Pin<Box<dyn Future<Output = Ended> + 'r>>>,
    input: usize,
    inputs: &[Input],
    claimed: Claimed,
) {
    run.stats.open.fetch_add(1, Ordering::Relaxed);
    units.push(Box::pin(unit_of_work(run, input, inputs[input].node, claimed)));
}

/// Executes one unit of work, from the claimed message to the commit or rollback.
async fn unit_of_work(run: &Run<'_>, input: usize, node: usize, claimed: Claimed) -> Ended {
    let Claimed { unit, received, after, key, count, file, failure, frees_early, outgoing, backout } = claimed;
    let mut ended = Ended {
        input,
        id: received.header.id,
        key,
        is_good: false,
        messages: 1,
        file,
        is_free: false,
        is_early: false,
        why: None,
    };
    let mut work = run.work(unit);
    // Whatever way the unit of work ends, and also if the flow gives it up.
    let _timed = Timed::since(work.began, &run.stats.wall_ns);
    work.after = after;
    work.is_written_only = run.flow.file.syncs_persistent_only
        && run.flow.file.nodes[node].kind.name == "queue_input"
        && received.header.persistence == Persistence::NotPersistent;
    if let Some((claim, message)) = outgoing {
        ended.is_good = run.delivery(work, node, claim, &message).await;
        return ended;
    }
    let is_backout = backout.is_some();
    let is_open = failure.is_none() && backout.is_none() && !commits_first(run, node, received.header.persistence);
    let done = match failure {
        Some(failure) => Err(failure),
        None if backout.is_some() => backed_out(run, &mut work, &received, backout).await,
        None if is_open => transaction(run, node, count, &mut work, &received, &mut ended.messages).await,
        None => match without_transaction(run, node, work, &received).await {
            Ok(next) => {
                work = next;
                Ok(())
            }
            Err((next, failure)) => {
                work = next;
                Err(failure)
            }
        },
    };
    let done = match done {
        Ok(()) => match run.keep_answer(&mut work, node, &received) {
            Ok(()) => run.seal(&mut work).await,
            failed => failed,
        },
        failed => failed,
    };
    let mut failed_on = received.header.id;
    let failure = match done {
        Ok(()) if ended.file.as_ref().is_some_and(Processed::is_changed) => {
            work.unit.roll_back();
            ended.is_early = true;
            let message = "the file changed while the flow processed it, so nothing of it was done yet";
            Failure::new(codes::FILE_SYSTEM, message, "raise `settle`, or move complete files into the folder")
        }
        Ok(()) => {
            let commit = run.submit(work);
            if frees_early {
                ended.is_free = true;
                run.submitted.borrow_mut().push(input);
            }
            match commit.await {
                Ok(()) => {
                    if let Some(reply) = &received.reply {
                        reply.end(Outcome::Done);
                    }
                    run.traced_end(node, &received, true);
                    ended.is_good = true;
                    return ended;
                }
                Err(failure) => {
                    if let Some(reply) = &received.reply {
                        reply.end(Outcome::Unknown);
                    }
                    failure
                }
            }
        }
        Err(failure) => {
            failed_on = work.message.unwrap_or(failed_on);
            let conflicts =
                if received.comes_again && is_open { run.conflicts(&failure, &received.header.id) } else { 0 };
            let is_counted = !work.is_cut_short && conflicts == 0;
            let how = if is_counted { RollBack::Failed(Some(failure.cause(&run.name))) } else { RollBack::Ended };
            work.unit.roll_back_from(work.before, how);
            if conflicts > 0 {
                run.traced_end(node, &received, false);
                (ended.is_early, ended.is_good) = (true, false);
                run.stopped_within(Duration::from_millis(run.clock.random() % (1 << conflicts.min(7)))).await;
                return ended;
            }
            failure
        }
    };
    run.failed_for(&failure, &failed_on);
    run.traced_end(node, &received, false);
    ended.why = Some(failure.cause(&run.name));
    // Of a message that was got outside the unit of work there is nothing to repeat.
    ended.is_good = !is_open && !is_backout && ended.file.is_none();
    ended
}

/// Puts a message that failed too often on the queue for such messages.
async fn backed_out(
    run: &Run<'_>,
    work: &mut Work,
    received: &crate::message::Received,
    backout: Option<(String, Cause)>,
) -> Result<(), Failure> {
    let Some((queue, cause)) = backout else { return Ok(()) };
    let mut properties = received.header.properties.clone();
    set_cause(&mut properties, Some(&cause));
    let message = Message {
        // The queue gives it an id of its own.
        id: [0; 24],
        correlation: received.header.id,
        reason: format!("{}: {}", cause.code, cause.text),
        properties,
        payload: received.content.to_vec(),
        ..received.header.clone()
    };
    run.put(work, &queue, &message).await.map_err(|mut failure| {
        if failure.finding.code == STO_MESSAGE_LENGTH {
            let finding = &mut failure.finding;
            finding.message = format!("a message that failed does not fit on its backout queue: {}", finding.message);
            finding.hint = Some(format!(
                "run `quayline queue alter {queue} --message-max {}`; the flow tries again",
                message.payload.len()
            ));
        }
        failure
    })
}

/// Returns true if the get commits before the flow runs.
pub(crate) fn commits_first(run: &Run<'_>, node: usize, persistence: Persistence) -> bool {
    match run.flow.file.nodes[node].text("transaction") {
        Some("no") => true,
        Some("automatic") => persistence == Persistence::NotPersistent,
        _ => false,
    }
}

async fn without_transaction(
    run: &Run<'_>,
    node: usize,
    mut work: Work,
    received: &Rc<crate::message::Received>,
) -> Result<Work, (Work, Failure)> {
    let next = match run.store.begin() {
        Ok(next) => next,
        Err(error) => return Err((work, error.into())),
    };
    let get = std::mem::replace(&mut work.unit, next);
    if let Err(error) = get.submit().await {
        return Err((work, error.into()));
    }
    run.resumed(&mut work);
    let parcel = Parcel::new(Rc::clone(received));
    match within(run, &mut work, node, parcel).await {
        Ok(()) => Ok(work),
        Err(failure) => Err((work, failure)),
    }
}

/// Processes a message and, if the input allows it, the messages that follow, in one unit of work.
async fn transaction(
    run: &Run<'_>,
    node: usize,
    count: u64,
    work: &mut Work,
    first: &Rc<crate::message::Received>,
    messages: &mut u64,
) -> Result<(), Failure> {
    within(run, work, node, Parcel::new(Rc::clone(first))).await?;
    if count <= 1 {
        return Ok(());
    }
    let input = &run.flow.file.nodes[node];
    let queue = run.queue(input.text("queue").unwrap_or_default())?;
    let interval = Duration::from_millis(input.number("commit_interval").unwrap_or(0));
    let until = tokio::time::Instant::now() + interval;
    while *messages < count {
        run.part(work, CpuPart::Queues);
        work.before = work.unit.gets_and_puts();
        let next = queue.get(&mut work.unit, Select::First, GetWait::No);
        run.part(work, CpuPart::Flow);
        match next {
            Ok(message) => {
                *messages += 1;
                let received = received(run, message, queue.name(), true);
                within(run, work, node, Parcel::new(received)).await?;
            }
            Err(StoreError::NoMessage { .. }) => {
                let now = tokio::time::Instant::now();
                if now >= until {
                    break;
                }
                tokio::time::sleep(BATCH_LOOK.min(until - now)).await;
                run.resumed(work);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Processes one message within the time limit of the unit of work.
async fn within(run: &Run<'_>, work: &mut Work, node: usize, parcel: Parcel) -> Result<(), Failure> {
    let deadline = tokio::time::Instant::from_std(work.deadline);
    match tokio::time::timeout_at(deadline, run.process(work, node, parcel)).await {
        Ok(done) => done,
        Err(_) => Err(run.late()),
    }
}

/// Conflicts of a message with other units of work that do not count as failures of the message. The limit ends a conflict that repetition does not end.
const CONFLICTS_MAX: u32 = 100;
/// Messages whose conflicts a thread remembers.
const CONFLICTING_MAX: usize = 10_000;

impl Run<'_> {
    /// Returns the number of conflicts of a message if `failure` is one: the unit of work and another one waited for each other's locks. Quayline
    /// processes the message again, and 0 means that this does not apply.
    fn conflicts(&self, failure: &Failure, id: &MessageId) -> u32 {
        if !is_conflict(failure) {
            return 0;
        }
        let mut known = self.conflicting.borrow_mut();
        if known.len() >= CONFLICTING_MAX {
            known.clear();
        }
        let count = known.entry(*id).or_default();
        *count += 1;
        if *count > CONFLICTS_MAX {
            known.remove(id);
            return 0;
        }
        self.stats.rolled_back.fetch_add(1, Ordering::Relaxed);
        self.stats.conflicts.fetch_add(1, Ordering::Relaxed);
        *count
    }

    /// Warns of a file that the input gives up.
    pub(crate) fn file_given_up(&self, node: usize, message: String) {
        let hint = "correct the cause of the failures, then move the file back into the folder of the input";
        let mut failure = Failure::new(codes::GIVEN_UP, message, hint);
        failure.finding.severity = Severity::Warning;
        failure.node = Some(self.flow.file.nodes[node].name.clone());
        let finding = failure.located(&self.name);
        self.observer.failed(&self.name, &finding, false);
        self.stats.nodes[node].warned(self.clock.now_ms(), 1, finding);
    }

    /// Records a failure that nothing handled.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.rolled_back(failure.located(&self.name));
    }

    /// Records a failure that nothing handled, and names the message of its unit of work.
    pub(crate) fn failed_for(&self, failure: &Failure, id: &MessageId) {
        self.rolled_back(failure.located_for(&self.name, id));
    }

    fn rolled_back(&self, finding: Finding) {
        self.observer.failed(&self.name, &finding, false);
        self.stats.rolled_back(self.clock.now_ms(), finding);
    }
}
