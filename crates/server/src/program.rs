//! COBOL programs as providers: the worker processes of one service on one server thread.
//!
//! ```text
//! call ─▶ worker with the fewest calls ─▶ slot ─▶ … bell … ─▶ answer copied out ─▶ the waiting request
//!         (all full: queue, bounded by time)
//! ```
//! A worker that ends fails the call it was in; calls that it had not begun go to the front of the queue. A new one is started at once,
//! or, where it ended before it answered anything, after a pause that doubles up to five seconds.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quayline_gateway::{Answered, ProgramSpec, Provider, ProviderFault};
use quayline_program::{Completion, End, Slot, Worker, WorkerSpec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, oneshot};

/// Tells an operator what became of a worker.
pub(crate) type Log = Rc<dyn Fn(String)>;

type Reply = oneshot::Sender<Result<Vec<u8>, ProviderFault>>;

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
    closed: Cell<bool>,
}

struct Lane {
    worker: RefCell<Option<Worker>>,
    calls: RefCell<Vec<Option<Call>>>,
    /// Rung when a call was submitted to a worker that had none, and when the provider closes.
    wake: Notify,
    /// Why there is no worker.
    down: RefCell<Option<String>>,
}

struct Call {
    answer: Vec<u8>,
    reply: Reply,
    tries: u32,
}

struct Waiting {
    record: Vec<u8>,
    call: Call,
    since: Instant,
}

/// Calls that wait for a slot; time bounds them too (`wait-limit-ms`). 1,024 COMMAREAs of 30 KB are 30 MB.
const WAITING_MAX: usize = 1024;

/// How often a call is submitted again because its worker ended before it began: a program may spoil its process so that the next call
/// ends it.
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
            slots: spec.queue,
            memory_bytes_max: spec.memory_bytes_max,
            executable,
            arguments: Vec::new(),
        };
        let lane = |_| Lane {
            worker: RefCell::new(None),
            calls: RefCell::new((0..spec.queue).map(|_| None).collect()),
            wake: Notify::new(),
            down: RefCell::new(None),
        };
        let lanes = (0..spec.workers).map(lane).collect();
        let waiting = RefCell::new(VecDeque::new());
        let shared = Rc::new(Shared { spec: spec.clone(), worker_spec, lanes, waiting, log, closed: Cell::new(false) });
        for lane in 0..shared.lanes.len() {
            shared.clone().begin(lane);
            tokio::task::spawn_local(Rc::clone(&shared).attend(lane));
        }
        ProgramProvider { shared }
    }
}

impl Drop for ProgramProvider {
    /// The attending tasks end, and with them the workers.
    fn drop(&mut self) {
        self.shared.closed.set(true);
        self.shared.lanes.iter().for_each(|lane| lane.wake.notify_one());
    }
}

impl Provider for ProgramProvider {
    fn call<'a>(&'a self, parts: [&[u8]; 2], answer: Vec<u8>, _: &dyn Fn() -> String) -> Answered<'a> {
        let (reply, answered) = oneshot::channel();
        self.shared.submit(&parts, Call { answer, reply, tries: 0 });
        Box::pin(async move {
            answered
                .await
                .unwrap_or_else(|_| Err(ProviderFault::Absent { reason: "the provider was closed".to_owned() }))
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
    fn submit(&self, parts: &[&[u8]], call: Call) {
        // Calls that wait already come first.
        if self.waiting.borrow().is_empty() {
            if let Some(call) = self.try_submit(parts, call) {
                self.wait(parts.concat(), call);
            }
        } else {
            self.wait(parts.concat(), call);
        }
    }

    fn wait(&self, record: Vec<u8>, call: Call) {
        if let Some(why) = self.all_down() {
            let _ = call.reply.send(Err(ProviderFault::Absent { reason: why }));
            return;
        }
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= WAITING_MAX {
            let _ = call.reply.send(Err(ProviderFault::Busy { retry_after: self.spec.wait_limit }));
            return;
        }
        waiting.push_back(Waiting { record, call, since: Instant::now() });
    }

    fn all_down(&self) -> Option<String> {
        let mut why = None;
        for lane in &self.lanes {
            why = Some(lane.down.borrow().clone()?);
        }
        why
    }

    /// Submits to the worker with the fewest calls; gives the call back where all are full.
    fn try_submit(&self, parts: &[&[u8]], call: Call) -> Option<Call> {
        let load = |lane: &&Lane| lane.worker.borrow().as_ref().filter(|w| w.has_room()).map(Worker::outstanding);
        let Some(lane) = self.lanes.iter().filter(|lane| load(lane).is_some()).min_by_key(load) else {
            return Some(call);
        };
        let mut worker = lane.worker.borrow_mut();
        let Some(worker) = worker.as_mut() else { return Some(call) };
        let first = worker.outstanding() == 0;
        let Some(slot) = worker.submit(parts) else { return Some(call) };
        lane.calls.borrow_mut()[slot.index()] = Some(call);
        if first {
            lane.wake.notify_one();
        }
        None
    }

    /// Hands waiting calls to workers with room.
    fn drain(&self) {
        loop {
            let Some(next) = self.waiting.borrow_mut().pop_front() else { return };
            let Waiting { record, call, since } = next;
            if call.reply.is_closed() {
                continue;
            }
            if let Some(call) = self.try_submit(&[&record], call) {
                self.waiting.borrow_mut().push_front(Waiting { record, call, since });
                return;
            }
        }
    }

    /// Refuses what has waited too long.
    fn expire(&self) {
        let limit = self.spec.wait_limit;
        loop {
            let old = self.waiting.borrow().front().is_some_and(|waiting| waiting.since.elapsed() > limit);
            if !old {
                return;
            }
            if let Some(waiting) = self.waiting.borrow_mut().pop_front() {
                let _ = waiting.call.reply.send(Err(ProviderFault::Busy { retry_after: limit }));
            }
        }
    }

    fn begin(self: Rc<Self>, lane: usize) -> bool {
        let lane = &self.lanes[lane];
        match Worker::start(&self.worker_spec) {
            Ok(worker) => {
                *lane.worker.borrow_mut() = Some(worker);
                *lane.down.borrow_mut() = None;
                self.drain();
                true
            }
            Err(error) => {
                (self.log)(format!("program {}: no worker can be started: {error}", self.spec.program));
                *lane.down.borrow_mut() = Some(error.to_string());
                false
            }
        }
    }

    /// Attends one worker after another, until the provider is dropped.
    async fn attend(self: Rc<Self>, index: usize) {
        let mut pause = Duration::ZERO;
        loop {
            let answered =
                if self.lanes[index].worker.borrow().is_some() { self.attend_worker(index).await } else { false };
            if self.closed.get() {
                return;
            }
            pause = if answered {
                Duration::ZERO
            } else {
                (pause * 2).clamp(Duration::from_millis(50), Duration::from_secs(5))
            };
            if !pause.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.lanes[index].wake.notified() => {}
                }
                self.expire();
            }
            if self.closed.get() {
                return;
            }
            Rc::clone(&self).begin(index);
        }
    }

    /// Attends a worker until it ends; whether it has answered any call.
    async fn attend_worker(&self, index: usize) -> bool {
        let lane = &self.lanes[index];
        let Some((bell, death)) = descriptors(lane) else {
            *lane.worker.borrow_mut() = None;
            return false;
        };
        let tick = (self.spec.time_limit / 8).clamp(Duration::from_millis(2), Duration::from_millis(50));
        loop {
            let busy =
                lane.worker.borrow().as_ref().is_some_and(|w| w.outstanding() > 0) || !self.waiting.borrow().is_empty();
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
                    if let Some(answered) = self.bury(lane) {
                        return answered;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                () = tokio::time::sleep(tick), if busy => {
                    self.expire();
                    let limit = self.spec.time_limit;
                    if let Some(worker) = lane.worker.borrow_mut().as_mut()
                        && worker.running().is_some_and(|(_, ran)| ran > limit)
                    {
                        worker.kill();
                    }
                }
                () = lane.wake.notified() => {
                    if self.closed.get() {
                        *lane.worker.borrow_mut() = None;
                        return true;
                    }
                }
            }
        }
    }

    fn take_done(&self, lane: &Lane) {
        let mut worker = lane.worker.borrow_mut();
        let Some(worker) = worker.as_mut() else { return };
        let mut calls = lane.calls.borrow_mut();
        worker.completions(|worker, Completion { slot, .. }| match calls[slot.index()].take() {
            Some(Call { mut answer, reply, .. }) => {
                worker.take(slot, &mut answer);
                // A client that is gone needs no answer.
                let _ = reply.send(Ok(answer));
            }
            None => worker.release(slot),
        });
    }

    /// A worker ended: fails the call it was in, queues those it had not begun. `None` while it is still there.
    fn bury(&self, lane: &Lane) -> Option<bool> {
        let (end, current) = lane.worker.borrow_mut().as_mut()?.end()?;
        self.take_done(lane);
        let worker = lane.worker.borrow_mut().take()?;
        let answered = worker.calls_done() > 0;
        (self.log)(format!("program {}: {}", self.spec.program, end.reason()));
        let absent = matches!(end, End::NoRuntime | End::NoProgram);
        if absent {
            *lane.down.borrow_mut() = Some(end.reason());
        }
        let fault = || match end {
            End::TimeLimit => ProviderFault::TimeLimit { limit: self.spec.time_limit },
            End::NoRuntime | End::NoProgram => ProviderFault::Absent { reason: end.reason() },
            end => ProviderFault::Ended { reason: end.reason() },
        };
        let mut again: Vec<(Slot, Call)> = Vec::new();
        for (slot, call) in outstanding(&worker, lane) {
            if absent || Some(slot) == current || call.tries + 1 >= TRIES_MAX {
                let _ = call.reply.send(Err(fault()));
            } else {
                again.push((slot, Call { tries: call.tries + 1, ..call }));
            }
        }
        for (slot, call) in again.into_iter().rev() {
            let mut record = Vec::new();
            worker.recall(slot, &mut record);
            self.waiting.borrow_mut().push_front(Waiting { record, call, since: Instant::now() });
        }
        if absent && self.all_down().is_some() {
            for waiting in self.waiting.borrow_mut().drain(..) {
                let _ = waiting.call.reply.send(Err(fault()));
            }
        }
        Some(answered)
    }
}

fn outstanding(worker: &Worker, lane: &Lane) -> Vec<(Slot, Call)> {
    let mut calls = lane.calls.borrow_mut();
    worker.submitted().filter_map(|slot| Some((slot, calls[slot.index()].take()?))).collect()
}

#[expect(deprecated, reason = "the call is unsound for types that close their descriptor early; an OwnedFd does not")]
fn descriptors(lane: &Lane) -> Option<(AsyncFd<OwnedFd>, AsyncFd<OwnedFd>)> {
    let worker = lane.worker.borrow();
    let worker = worker.as_ref()?;
    let watch = |fd: std::os::fd::BorrowedFd<'_>| {
        AsyncFd::with_interest(fd.try_clone_to_owned().ok()?, Interest::READABLE).ok()
    };
    Some((watch(worker.bell())?, watch(worker.death())?))
}
