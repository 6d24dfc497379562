//! COBOL programs as providers: the worker processes of one service on one server thread.
//!
//! ```text
//! call ─▶ worker with the fewest calls ─▶ slot ─▶ … bell … ─▶ the waiting request ─▶ answer copied out
//!         (all full: queue, bounded by time)
//! ```
//! The attending task rings the bells. Its turn comes when every request that has arrived has submitted its call. An answer remains in its slot until
//! the turn of its request, so it is copied only once, into a buffer that all requests of the thread share.
//!
//! When a worker ends, its current call fails, and calls that it had not begun go to the front of the queue. A new worker starts at once, because a
//! client whose calls end the program must not delay other clients. If the worker ended before it began a call, the new one starts after a pause. The
//! pause doubles up to five seconds.
//!
//! The output of DISPLAY appears in the log (`displayed`). Regardless of the output, the time limits of the program apply, and other tasks of the
//! thread continue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_gateway::{Answered, Held, Measure, Outgoing, ProgramSpec, Provider, ProviderFault, Returned};
use quayline_program::{Completion, End, Slot, Worker, WorkerSpec, WorkingStorage};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::displayed::{Allowance, DISPLAYED_LINES_MAX, Displayed, Output};
use crate::guard::caught;
use crate::reply::{Sender, reply};

/// Function that reports events of workers to an operator.
pub(crate) type Log = Rc<dyn Fn(Said)>;

/// Report about a worker.
pub(crate) enum Said {
    /// The worker ended. `None` if the line is the same as the one before.
    Ended(Option<String>),
    /// Any other line, including the output of DISPLAY.
    Line(String),
}

type Reply = Sender<Result<Filled, ProviderFault>>;

/// The worker processes of one service on one thread.
pub(crate) struct ProgramProvider {
    shared: Rc<Shared>,
}

struct Shared {
    spec: ProgramSpec,
    worker_spec: WorkerSpec,
    lanes: Vec<Lane>,
    waiting: RefCell<VecDeque<Waiting>>,
    log: Log,
    /// Number of lines that the log still accepts from the program.
    allowance: RefCell<Allowance>,
    closed: Cell<bool>,
}

struct Lane {
    worker: RefCell<Option<Rc<RefCell<Worker>>>>,
    calls: RefCell<Vec<Option<Call>>>,
    /// Rung when a call was submitted, and when the provider closes.
    wake: Notify,
    /// Calls that were submitted since the worker's bell was rung last.
    unrung: Cell<usize>,
    /// Number of calls that the worker had completed at the last check, and the time since which the number is unchanged.
    progress: Cell<(u64, Instant)>,
    /// Reason why the worker is missing.
    down: RefCell<Option<String>>,
    /// Pipe with the output of DISPLAY in the worker's program.
    output: RefCell<Option<OwnedFd>>,
    /// Last report about a worker that cannot start. The log does not repeat it for each attempt.
    said: RefCell<Option<String>>,
    /// Last line of a worker that cannot start.
    refusal: RefCell<String>,
}

struct Call {
    reply: Reply,
    tries: u32,
    /// Time at which the call arrived: `wait-limit-ms` counts from here until the program begins it.
    since: Instant,
}

struct Waiting {
    front: Vec<u8>,
    /// Bytes that follow it, and the number of them up to the last that is not 0x00.
    tail: (Arc<[u8]>, usize),
    call: Call,
}

/// A slot with an answer. It is released when the answer is taken, or when no request waits for it. In the meantime, its worker may have ended or
/// have been replaced.
struct Filled {
    shared: Rc<Shared>,
    worker: Rc<RefCell<Worker>>,
    slot: Slot,
}

impl Held for Filled {
    fn take(self: Box<Self>, length: Option<Measure<'_>>, to: &mut Vec<u8>) {
        let mut worker = self.worker.borrow_mut();
        to.clear();
        let length = length.and_then(|Measure { front, length }| {
            worker.look(self.slot, front, to);
            length(to)
        });
        // What was measured is not read again: the worker might have changed it.
        worker.take(self.slot, length.unwrap_or(usize::MAX), to);
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        self.worker.borrow_mut().release(self.slot);
        self.shared.drain();
    }
}

/// Calls that wait for a slot; time bounds them too (`wait-limit-ms`).
const WAITING_MAX: usize = 1024;

/// Time that a worker may take in addition to its calls, for example to load the program.
const SLACK: Duration = Duration::from_secs(5);

/// Number of times that a call is submitted again because its worker ended between two calls: a program may damage its process so that it ends
/// before the next call begins. The end of a worker during a call counts against that call only; otherwise, waiting calls would fail together
/// with several failing ones.
const TRIES_MAX: u32 = 3;

impl ProgramProvider {
    /// Starts the workers; they load the program while the first calls come.
    pub(crate) fn start(spec: &ProgramSpec, length: usize, executable: PathBuf, log: Log) -> Self {
        let worker_spec = WorkerSpec {
            program: spec.program.clone(),
            folders: spec.modules.clone(),
            work_folder: Some(spec.work_folder.clone()),
            environment: spec.environment.clone(),
            length,
            parameters: spec.parameters.clone(),
            slots: spec.slots,
            memory_bytes_max: spec.memory_bytes_max,
            working_storage: match spec.working_storage {
                quayline_gateway::WorkingStorage::Fresh => WorkingStorage::Fresh,
                quayline_gateway::WorkingStorage::Keep => WorkingStorage::Keep,
            },
            executable,
            arguments: Vec::new(),
        };
        let lane = |_| Lane {
            worker: RefCell::new(None),
            calls: RefCell::new((0..spec.slots).map(|_| None).collect()),
            wake: Notify::new(),
            unrung: Cell::new(0),
            progress: Cell::new((0, Instant::now())),
            down: RefCell::new(None),
            output: RefCell::new(None),
            said: RefCell::new(None),
            refusal: RefCell::default(),
        };
        let lanes = (0..spec.workers).map(lane).collect();
        let waiting = RefCell::new(VecDeque::new());
        let (allowance, closed) = (RefCell::default(), Cell::new(false));
        let shared = Rc::new(Shared { spec: spec.clone(), worker_spec, lanes, waiting, log, allowance, closed });
        for lane in 0..shared.lanes.len() {
            shared.clone().begin(lane);
            let shared = Rc::clone(&shared);
            tokio::task::spawn_local(async move {
                while caught(Rc::clone(&shared).attend(lane)).await.is_err() {
                    shared.restart(lane);
                }
            });
        }
        ProgramProvider { shared }
    }
}

impl Drop for ProgramProvider {
    /// Ends the attending tasks and with them the workers.
    fn drop(&mut self) {
        self.shared.closed.set(true);
        self.shared.lanes.iter().for_each(|lane| lane.wake.notify_one());
    }
}

impl Provider for ProgramProvider {
    fn call<'a>(&'a self, record: Outgoing<'_>, _: &dyn Fn() -> String) -> Answered<'a> {
        let (sender, answered) = reply();
        self.shared.submit(record, Call { reply: sender, tries: 0, since: Instant::now() });
        Box::pin(async move {
            match answered.await {
                Some(done) => done.map(|filled| Returned::Held(Box::new(filled))),
                None => Err(ProviderFault::Absent { reason: "the provider was closed".to_owned() }),
            }
        })
    }

    fn ready(&self) -> Result<(), String> {
        let down = |lane: &Lane| lane.down.borrow().clone();
        match self.shared.lanes.iter().filter_map(down).next() {
            Some(why) if self.shared.lanes.iter().all(|lane| lane.down.borrow().is_some()) => Err(why),
            _ => Ok(()),
        }
    }
}

impl Shared {
    fn submit(&self, record: Outgoing<'_>, call: Call) {
        let Outgoing { front, tail, tail_used } = record;
        // Calls that wait already come first.
        let behind = !self.waiting.borrow().is_empty();
        let Some(call) = (if behind { Some(call) } else { self.try_submit(front, &tail[..tail_used], call) }) else {
            return;
        };
        if let Some(why) = self.all_down() {
            let _ = call.reply.send(Err(ProviderFault::Absent { reason: why }));
            return;
        }
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= WAITING_MAX {
            self.refuse(call);
            return;
        }
        let tail = (Arc::clone(tail), tail_used);
        waiting.push_back(Waiting { front: front.to_vec(), tail, call });
    }

    fn all_down(&self) -> Option<String> {
        let mut why = None;
        for lane in &self.lanes {
            why = Some(lane.down.borrow().clone()?);
        }
        why
    }

    /// Submits to the worker with the fewest calls; gives the call back where all are full.
    fn try_submit(&self, front: &[u8], tail: &[u8], call: Call) -> Option<Call> {
        let mut best: Option<(usize, &Lane, Rc<RefCell<Worker>>)> = None;
        for lane in &self.lanes {
            let Some(worker) = lane.worker.borrow().clone() else { continue };
            let (has_room, load) = (worker.borrow().has_room(), worker.borrow().outstanding());
            if has_room && best.as_ref().is_none_or(|(least, ..)| load < *least) {
                best = Some((load, lane, worker));
            }
        }
        let Some((_, lane, worker)) = best else { return Some(call) };
        let mut worker = worker.borrow_mut();
        let Some(slot) = worker.submit(&[front, tail]) else { return Some(call) };
        lane.calls.borrow_mut()[slot.index()] = Some(call);
        let unrung = lane.unrung.get() + 1;
        lane.unrung.set(unrung);
        if unrung == 1 {
            lane.wake.notify_one();
        }
        if unrung > self.spec.slots / 2 {
            // Enough for the worker to be at while this thread goes on with its requests.
            lane.unrung.set(0);
            worker.ring();
        }
        None
    }

    /// Hands waiting calls to workers with room.
    fn drain(&self) {
        loop {
            let Some(next) = self.waiting.borrow_mut().pop_front() else { return };
            let Waiting { front, tail, call } = next;
            if call.reply.is_closed() {
                continue;
            }
            if call.since.elapsed() > self.spec.wait_limit {
                self.refuse(call);
                continue;
            }
            if let Some(call) = self.try_submit(&front, &tail.0[..tail.1], call) {
                self.waiting.borrow_mut().push_front(Waiting { front, tail, call });
                return;
            }
        }
    }

    /// Rejects calls that have waited too long, in the queue or in a slot of a worker that has not begun them.
    fn expire(&self) {
        let is_old = |call: &Call| call.since.elapsed() > self.spec.wait_limit;
        loop {
            let old = self.waiting.borrow().front().is_some_and(|waiting| is_old(&waiting.call));
            let Some(waiting) = old.then(|| self.waiting.borrow_mut().pop_front()).flatten() else { break };
            self.refuse(waiting.call);
        }
        for lane in &self.lanes {
            let Some(worker) = lane.worker.borrow().clone() else { continue };
            let slots: Vec<Slot> = worker.borrow().submitted().collect();
            for slot in slots {
                let old = lane.calls.borrow()[slot.index()].as_ref().is_some_and(is_old);
                // A call that the worker has begun may have done half of its work already: its own time limit bounds it.
                if old && worker.borrow_mut().withdraw(slot) {
                    let call = lane.calls.borrow_mut()[slot.index()].take();
                    call.into_iter().for_each(|call| self.refuse(call));
                }
            }
        }
    }

    fn refuse(&self, call: Call) {
        let _ = call.reply.send(Err(ProviderFault::Busy { retry_after: self.spec.wait_limit }));
    }

    /// Restarts a lane after an internal error, since its state is unknown: its calls fail, and it gets another worker.
    fn restart(self: &Rc<Self>, lane: usize) {
        let lane = &self.lanes[lane];
        *lane.worker.borrow_mut() = None;
        let calls: Vec<Call> = lane.calls.borrow_mut().iter_mut().filter_map(Option::take).collect();
        for call in calls {
            let reason = "the server failed at this call".to_owned();
            let _ = call.reply.send(Err(ProviderFault::Ended { reason }));
        }
    }

    fn begin(self: Rc<Self>, lane: usize) -> bool {
        let lane = &self.lanes[lane];
        match Worker::start_heard(&self.worker_spec) {
            Ok((worker, output)) => {
                *lane.output.borrow_mut() = Some(output);
                *lane.worker.borrow_mut() = Some(Rc::new(RefCell::new(worker)));
                lane.progress.set((0, Instant::now()));
                lane.unrung.set(0);
                *lane.down.borrow_mut() = None;
                self.drain();
                true
            }
            Err(error) => {
                let why = error.to_string();
                if lane.said.replace(Some(why.clone())).as_ref() != Some(&why) {
                    (self.log)(Said::Line(format!("program {}: cannot start a worker: {why}", self.spec.program)));
                }
                *lane.down.borrow_mut() = Some(why);
                false
            }
        }
    }

    /// Attends one worker after another, until the provider is dropped.
    async fn attend(self: Rc<Self>, index: usize) {
        let mut pause = Duration::ZERO;
        loop {
            let called =
                if self.lanes[index].worker.borrow().is_some() { self.attend_worker(index).await } else { false };
            if self.closed.get() {
                return;
            }
            pause = if called {
                Duration::ZERO
            } else {
                (pause * 2).clamp(Duration::from_millis(50), Duration::from_secs(5))
            };
            self.rest(&self.lanes[index], pause).await;
            if self.closed.get() {
                return;
            }
            Rc::clone(&self).begin(index);
        }
    }

    /// Waits before starting another worker. The time limit of waiting calls still applies.
    async fn rest(&self, lane: &Lane, pause: Duration) {
        const LOOK: Duration = Duration::from_millis(50);
        let end = Instant::now() + pause;
        while !self.closed.get() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left.min(LOOK)) => {}
                () = lane.wake.notified() => {}
            }
            self.expire();
        }
    }

    /// Attends a worker until it ends. Returns whether it has begun any call.
    async fn attend_worker(self: &Rc<Self>, index: usize) -> bool {
        let lane = &self.lanes[index];
        let Some((bell, death)) = descriptors(lane) else {
            *lane.worker.borrow_mut() = None;
            return false;
        };
        let mut output = lane.output.borrow_mut().take().and_then(|pipe| Output::new(pipe).ok());
        let tick = (self.spec.time_limit / 8).clamp(Duration::from_millis(2), Duration::from_millis(50));
        // The time is kept across all turns of the loop. Otherwise, a program that displays all the time would postpone each check.
        let (mut looked, mut was_busy) = (Instant::now(), false);
        loop {
            let busy = lane.worker.borrow().as_ref().is_some_and(|w| w.borrow().is_called())
                || !self.waiting.borrow().is_empty();
            if busy && !was_busy {
                // The time before the call does not count for the call.
                looked = Instant::now();
                let done = lane.worker.borrow().as_ref().map_or(0, |worker| worker.borrow().calls_done());
                lane.progress.set((done, looked));
            }
            was_busy = busy;
            let must_look = busy || self.allowance.borrow().has_left_out();
            tokio::select! {
                biased;
                ready = bell.readable() => {
                    if let Ok(mut ready) = ready {
                        ready.clear_ready();
                    }
                    self.take_done(lane);
                    self.drain();
                }
                _ = death.readable() => {
                    if let Some(called) = self.bury(lane, &mut output) {
                        return called;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                () = tokio::time::sleep_until((looked + tick).into()), if must_look => {}
                () = lane.wake.notified() => {
                    if self.closed.get() {
                        *lane.worker.borrow_mut() = None;
                        return true;
                    }
                    lane.unrung.set(0);
                    if let Some(worker) = lane.worker.borrow().as_ref() {
                        worker.borrow().ring();
                    }
                }
                is_open = Output::more(&mut output) => {
                    if let Some(known) = &mut output {
                        self.pass_on(lane, known, !is_open);
                    }
                    if !is_open {
                        output = None;
                    }
                    // The program may display without end, so the connections of this thread get a turn after each read.
                    tokio::task::yield_now().await;
                }
            }
            if must_look && looked.elapsed() >= tick {
                looked = Instant::now();
                if busy {
                    self.look(lane);
                }
                self.tell_left_out();
            }
        }
    }

    /// Checks a worker with calls. A worker rings no bell between two short calls, or while a long call runs.
    fn look(self: &Rc<Self>, lane: &Lane) {
        self.take_done(lane);
        self.drain();
        self.expire();
        let Some(worker) = lane.worker.borrow().clone() else { return };
        let mut worker = worker.borrow_mut();
        let overtime = worker.running().is_some_and(|(_, ran)| ran > self.spec.time_limit);
        // A second limit applies to the report of the worker, because its program may have overwritten the report.
        let (done, since) = lane.progress.get();
        if done != worker.calls_done() || !worker.is_called() {
            lane.progress.set((worker.calls_done(), Instant::now()));
        }
        if overtime || worker.is_called() && since.elapsed() > self.spec.time_limit * 2 + SLACK {
            worker.kill();
        }
    }

    /// Logs the output of DISPLAY, up to the allowed number of lines.
    fn pass_on(&self, lane: &Lane, output: &mut Output, is_over: bool) {
        let mut each = |line: Displayed<'_>| {
            // A worker that cannot start writes this line at every attempt.
            if line.starts_with(quayline_program::CANNOT_BEGIN) {
                let text = line.to_string();
                if lane.refusal.replace(text.clone()) == text {
                    return;
                }
            }
            self.tell_left_out();
            if self.allowance.borrow_mut().takes_line() {
                (self.log)(Said::Line(format!("program {} displays: {line}", self.spec.program)));
            }
        };
        output.lines(&mut each);
        if is_over {
            output.end_line(&mut each);
        }
    }

    /// Logs the number of lines that were left out in the last second.
    fn tell_left_out(&self) {
        let count = self.allowance.borrow_mut().left_out(Instant::now());
        if let Some(count) = count {
            (self.log)(Said::Line(format!(
                "program {}: {count} displayed lines were left out; at most {DISPLAYED_LINES_MAX} are logged in a second",
                self.spec.program
            )));
        }
    }

    /// Completes every request whose call is done.
    fn take_done(self: &Rc<Self>, lane: &Lane) {
        let Some(worker) = lane.worker.borrow().clone() else { return };
        let mut done: Vec<(Option<Call>, Slot)> = Vec::with_capacity(self.spec.slots);
        worker.borrow_mut().completions(|Completion { slot, .. }| done.push((None, slot)));
        {
            let mut calls = lane.calls.borrow_mut();
            done.iter_mut().for_each(|(call, slot)| *call = calls[slot.index()].take());
        }
        for (call, slot) in done {
            let filled = Filled { shared: Rc::clone(self), worker: Rc::clone(&worker), slot };
            if let Some(call) = call {
                // A client that is gone needs no answer.
                let _ = call.reply.send(Ok(filled));
            }
        }
    }

    /// Fails the current call of a worker that has ended, and queues the calls that it had not begun. Returns whether it has begun any call, or
    /// `None` while it runs.
    fn bury(self: &Rc<Self>, lane: &Lane, output: &mut Option<Output>) -> Option<bool> {
        let (end, current) = lane.worker.borrow().as_ref()?.borrow_mut().end()?;
        self.take_done(lane);
        if let Some(output) = output {
            // A child process of the program may keep the pipe open and continue to write.
            const READS_MAX: usize = 16;
            for _ in 0..READS_MAX {
                if !output.rest() {
                    break;
                }
                self.pass_on(lane, output, false);
            }
            output.forget();
            self.pass_on(lane, output, true);
        }
        let worker = lane.worker.borrow_mut().take()?;
        let worker = worker.borrow();
        let called = worker.calls_done() > 0 || current.is_some();
        // A program may also end with these codes during a call.
        let absent = !called && matches!(end, End::NoRuntime | End::NoProgram);
        let before = lane.said.replace(absent.then(|| end.reason()));
        let is_known = absent && before == Some(end.reason());
        (self.log)(Said::Ended((!is_known).then(|| format!("program {}: {}", self.spec.program, end.reason()))));
        if absent {
            *lane.down.borrow_mut() = Some(end.reason());
        }
        let fault = || match end {
            End::TimeLimit => ProviderFault::TimeLimit { limit: self.spec.time_limit },
            End::NoRuntime | End::NoProgram if absent => ProviderFault::Absent { reason: end.reason() },
            end => ProviderFault::Ended { reason: end.reason() },
        };
        let mut again: Vec<(Slot, Call)> = Vec::new();
        for (slot, call) in outstanding(&worker, lane) {
            let tries = call.tries + u32::from(current.is_none());
            if absent || Some(slot) == current || tries >= TRIES_MAX {
                let _ = call.reply.send(Err(fault()));
            } else {
                again.push((slot, Call { tries, ..call }));
            }
        }
        for (slot, call) in again.into_iter().rev() {
            let mut front = Vec::new();
            worker.recall(slot, &mut front);
            let tail = (Arc::from([]), 0);
            self.waiting.borrow_mut().push_front(Waiting { front, tail, call });
        }
        if absent && self.all_down().is_some() {
            for waiting in self.waiting.borrow_mut().drain(..) {
                let _ = waiting.call.reply.send(Err(fault()));
            }
        }
        Some(called)
    }
}

fn outstanding(worker: &Worker, lane: &Lane) -> Vec<(Slot, Call)> {
    let mut calls = lane.calls.borrow_mut();
    worker.submitted().filter_map(|slot| Some((slot, calls[slot.index()].take()?))).collect()
}

#[expect(deprecated, reason = "the call is unsound for types that close their descriptor early; an OwnedFd does not")]
fn descriptors(lane: &Lane) -> Option<(AsyncFd<OwnedFd>, AsyncFd<OwnedFd>)> {
    let worker = lane.worker.borrow();
    let worker = worker.as_ref()?.borrow();
    let watch = |fd: std::os::fd::BorrowedFd<'_>| {
        AsyncFd::with_interest(fd.try_clone_to_owned().ok()?, Interest::READABLE).ok()
    };
    Some((watch(worker.bell())?, watch(worker.death())?))
}
