//! The threads that run flows.
//!
//! Each thread has its own runtime, and each flow has its own lanes, handles and inputs on each thread with instances of it. Threads share only the
//! store and the counters. A unit of work that waits for its commit, a lock or another system is a future of some hundred bytes; only woken futures
//! are polled.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::{Condvar, Mutex};
use quayline_core::{Fault, Finding, Findings, Place};
use quayline_store::{Clock, Store};
use quayline_workload::{Kind, Workload};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::codes;
use crate::compile::Flow;
use crate::failure::Failure;
use crate::http::KeptSockets;
use crate::input::Keys;
use crate::outbox::{Again, Attempted, LeftFiles, Owner, Unwritten, Writer};
use crate::run::Observer;
use crate::stats::{FlowStats, NodeStats};
use crate::worker::run_flow;

/// Settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Threads. Default: one for each core.
    pub threads: usize,
    /// Behaviour of an instance during the commit of its unit of work.
    pub commits: Commits,
}

/// Behaviour of an instance during the commit of its unit of work.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Commits {
    /// The instance takes the next message. The outcome of the commit wakes the task that completes the unit of work.
    #[default]
    Free,
    /// The instance blocks its thread, like the instances of other engines. It is slow and serves as a comparison.
    Held,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        EngineOptions { threads, commits: Commits::default() }
    }
}

/// Runs flows over a store.
pub struct Engine {
    store: Store,
    threads: Vec<Thread>,
    flows: Flows,
    pub(crate) observer: Arc<dyn Observer>,
    // Ends after the threads have ended.
    files: Writer,
}

type Flows = Arc<Mutex<BTreeMap<String, Entry>>>;

struct Thread {
    sender: Option<UnboundedSender<Arc<Deployed>>>,
    handle: Option<JoinHandle<()>>,
}

/// A deployed flow, running or stopped.
struct Entry {
    deployed: Arc<Deployed>,
    /// True if the flow should run: the latest order of an operator, which remains in effect when flows are loaded again.
    is_running: bool,
}

impl Entry {
    fn is_stopped(&self) -> bool {
        !self.is_running || self.deployed.broken().is_some()
    }
}

/// A flow that is running, as its threads see it.
pub(crate) struct Deployed {
    pub(crate) flow: Arc<Flow>,
    pub(crate) stats: Arc<FlowStats>,
    /// Instances by thread.
    pub(crate) slots: Vec<usize>,
    stopping: AtomicBool,
    wakers: Mutex<Vec<Option<Waker>>>,
    /// Wakes what waits beside these tasks: pauses of units of work, and of a flow that does not run yet.
    stopped: Notify,
    /// Threads that it was given to and that still run it.
    running: Mutex<usize>,
    ended: Condvar,
    /// Failure that ended the flow; `None` if an operator stopped it.
    broken: Mutex<Option<String>>,
    /// Sockets of the version before, or for the next one, so that a client never finds the address closed.
    pub(crate) sockets: Mutex<KeptSockets>,
    /// Orders by user or key, by node.
    keys: Mutex<BTreeMap<usize, Arc<Mutex<Keys>>>>,
}

/// State of a flow.
#[derive(Clone, Debug)]
pub struct FlowState {
    /// The flow.
    pub flow: Arc<Flow>,
    /// Counters of the flow.
    pub stats: Arc<FlowStats>,
    /// True if the flow takes messages.
    pub is_running: bool,
    /// Failure that ended the flow; `None` if an operator stopped it.
    pub broken: Option<String>,
}

impl Deployed {
    /// `is_shared` is true if other processes use the store too.
    fn new(flow: Arc<Flow>, (threads, is_shared): (usize, bool), first: usize) -> Self {
        // A timer fires once, a folder and an address have one owner, and messages of a queue in its order come one after another. If another process may
        // own the order of keys, the thread that becomes its owner keeps it alone.
        let is_of_one = flow.file.nodes.iter().filter(|node| node.kind.is_input).any(|node| {
            node.kind.name != "queue_input"
                || match node.text("order") {
                    Some("by_queue") => true,
                    Some("by_user" | "by_key") => is_shared,
                    _ => false,
                }
        });
        let instances = usize::try_from(flow.file.additional_instances).unwrap_or(0) + 1;
        let mut slots = vec![0; threads];
        if is_of_one {
            slots[first % threads] = instances;
        } else {
            (0..instances).for_each(|instance| slots[(first + instance) % threads] += 1);
        }
        let stats = Arc::new(FlowStats::new(flow.file.nodes.len()));
        Deployed {
            flow,
            stats,
            wakers: Mutex::new(vec![None; slots.len()]),
            slots,
            stopping: AtomicBool::new(false),
            stopped: Notify::new(),
            running: Mutex::new(0),
            ended: Condvar::new(),
            broken: Mutex::new(None),
            sockets: Mutex::default(),
            keys: Mutex::default(),
        }
    }

    /// Returns the order of a node by user or key, which the inputs of all threads share.
    pub(crate) fn keys(&self, node: usize) -> Arc<Mutex<Keys>> {
        Arc::clone(self.keys.lock().entry(node).or_default())
    }

    fn broken(&self) -> Option<String> {
        self.broken.lock().clone()
    }

    /// Ends the flow on all threads, because it cannot work.
    pub(crate) fn breaks(&self, observer: &Arc<dyn Observer>, now_ms: u64, finding: Finding) {
        observer.failed(self.flow.name(), &finding, false);
        *self.broken.lock() = Some(format!("{}: {}", finding.code, finding.message));
        self.stats.broke(now_ms, finding);
        self.stop();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps the waker of the task that runs the flow on a thread. The waker of a unit of work does not belong here: it would replace that of the task,
    /// and wakes nothing after the unit ended.
    pub(crate) fn register(&self, thread: usize, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        if !wakers[thread].as_ref().is_some_and(|known| known.will_wake(waker)) {
            wakers[thread] = Some(waker.clone());
        }
    }

    /// Waits, and returns true if the flow is to stop.
    pub(crate) async fn stopped_within(&self, pause: Duration) -> bool {
        let stopped = async {
            // It exists before the flag is read, so a stop in between wakes it, too.
            let notified = self.stopped.notified();
            if !self.is_stopping() {
                notified.await;
            }
        };
        tokio::time::timeout(pause, stopped).await.is_ok()
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stopped.notify_waiters();
        let wakers: Vec<Waker> = self.wakers.lock().iter_mut().filter_map(Option::take).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wait(&self) {
        let mut running = self.running.lock();
        while *running > 0 {
            self.ended.wait(&mut running);
        }
    }
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        store: &Store,
        clock: &Arc<dyn Clock>,
        observer: &Arc<dyn Observer>,
        options: EngineOptions,
    ) -> Result<Engine, Findings> {
        Engine::start_with(store, clock, observer, options, None)
    }

    /// Starts an engine with the classes of work that the process shares.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_with(
        store: &Store,
        clock: &Arc<dyn Clock>,
        observer: &Arc<dyn Observer>,
        options: EngineOptions,
        workload: Option<&Arc<Workload>>,
    ) -> Result<Engine, Findings> {
        let no_thread = |error: std::io::Error| {
            let message = format!("no thread can be started: {}", quayline_core::system_error_text(&error));
            Findings(vec![
                Finding::error(codes::FILE_SYSTEM, Fault::Environment, message).hint("raise the limit of threads"),
            ])
        };
        let flows = Flows::default();
        let left = FilesLeft {
            flows: Arc::clone(&flows),
            clock: Arc::clone(clock),
            observer: Arc::clone(observer),
            again: OnceLock::new(),
            waiting: Mutex::default(),
        };
        let left = Arc::new(left);
        let reports = Arc::clone(&left);
        let report = Box::new(move |attempted: Attempted<'_>| match attempted {
            Attempted::Left(unwritten, more) => reports.report(unwritten, more),
            Attempted::Ended(left) => reports.ended(left),
        });
        let files = Writer::start(store, report).map_err(no_thread)?;
        // Set here and nowhere else.
        let _ = left.again.set(files.again.clone());
        let base_ms = clock.now_ms().saturating_sub(clock.steady_ms());
        let mut threads = Vec::new();
        for number in 0..options.threads.max(1) {
            let (sender, receiver) = unbounded_channel();
            let (store, clock, observer) = (store.clone(), Arc::clone(clock), Arc::clone(observer));
            let (commits, files, workload) = (options.commits, Arc::clone(&left), workload.cloned());
            let around = Around { store, clock, observer, commits, files, workload, base_ms };
            let handle = std::thread::Builder::new()
                .name(format!("flow-{number}"))
                .spawn(move || thread(number, receiver, &around))
                .map_err(no_thread)?;
            threads.push(Thread { sender: Some(sender), handle: Some(handle) });
        }
        Ok(Engine { store: store.clone(), threads, flows, observer: Arc::clone(observer), files })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Runs a flow. If one of this name runs, it finishes the units of work that it has open first, so that no message is lost or processed twice. If one
    /// of this name is stopped, the new one is stopped, too.
    pub fn deploy(&self, flow: Flow) {
        static FIRST: AtomicUsize = AtomicUsize::new(0);
        let name = flow.name().to_owned();
        let first = FIRST.fetch_add(1, Ordering::Relaxed);
        let deployed = Arc::new(Deployed::new(Arc::new(flow), self.shape(), first));
        loop {
            let before = {
                let mut flows = self.flows.lock();
                let Some(entry) = flows.get(&name) else {
                    self.run(&deployed);
                    flows.insert(name, Entry { deployed, is_running: true });
                    return;
                };
                Arc::clone(&entry.deployed)
            };
            // It stays in the list meanwhile, so that operators see it and can stop it.
            before.stop();
            before.wait();
            if self.replace(&name, &before, &deployed) {
                return;
            }
        }
    }

    /// Puts a version of a flow in the place of one that has ended, and runs it if the flow is meant to run. False if another one has taken the place.
    fn replace(&self, name: &str, before: &Arc<Deployed>, next: &Arc<Deployed>) -> bool {
        let mut flows = self.flows.lock();
        let Some(entry) = flows.get_mut(name).filter(|entry| Arc::ptr_eq(&entry.deployed, before)) else {
            return false;
        };
        let sockets = std::mem::take(&mut *before.sockets.lock());
        if entry.is_running {
            *next.sockets.lock() = sockets;
            self.run(next);
        }
        entry.deployed = Arc::clone(next);
        true
    }

    /// Returns the number of threads, and whether other processes use the store too.
    fn shape(&self) -> (usize, bool) {
        (self.threads.len(), self.store.engine().shared().is_some())
    }

    fn run(&self, deployed: &Arc<Deployed>) {
        *deployed.running.lock() = deployed.slots.iter().filter(|slots| **slots > 0).count();
        for (thread, slots) in self.threads.iter().zip(&deployed.slots) {
            if *slots > 0
                && let Some(sender) = &thread.sender
            {
                // The thread takes flows until the engine ends.
                let _ = sender.send(Arc::clone(deployed));
            }
        }
    }

    /// Stops a flow after its open units of work. Returns false if the flow does not exist.
    pub fn stop(&self, name: &str) -> bool {
        let Some(deployed) = self.flows.lock().get_mut(name).map(|entry| {
            entry.is_running = false;
            Arc::clone(&entry.deployed)
        }) else {
            return false;
        };
        deployed.stop();
        deployed.wait();
        deployed.sockets.lock().clear();
        true
    }

    /// Restarts a flow that was stopped, after its open units of work. Its counters start again, too. Returns false if the flow does not exist.
    pub fn restart(&self, name: &str) -> bool {
        let before = match self.flows.lock().get_mut(name) {
            Some(entry) if !entry.is_stopped() => return true,
            Some(entry) => {
                entry.is_running = true;
                Arc::clone(&entry.deployed)
            }
            None => return false,
        };
        before.wait();
        let next = Arc::new(Deployed::new(Arc::clone(&before.flow), self.shape(), 0));
        // Otherwise another request has started or stopped it.
        let _ = self.replace(name, &before, &next);
        true
    }

    /// Stops a flow and forgets it.
    pub fn remove(&self, name: &str) -> bool {
        let mut is_known = false;
        while self.stop(name) {
            is_known = true;
            let mut flows = self.flows.lock();
            if flows.get(name).is_some_and(|entry| !entry.is_running) {
                flows.remove(name);
            }
        }
        is_known
    }

    /// Returns all flows, by name.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowState> {
        let flows = self.flows.lock();
        let state = |entry: &Entry| FlowState {
            flow: Arc::clone(&entry.deployed.flow),
            stats: Arc::clone(&entry.deployed.stats),
            is_running: !entry.is_stopped(),
            broken: entry.deployed.broken(),
        };
        flows.values().map(state).collect()
    }

    /// Ends all flows after the units of work that they have open, then the threads. Returns the files that are committed and could not be written.
    pub fn drain(mut self) -> Vec<LeftFiles> {
        self.end();
        self.files.finish()
    }

    fn end(&mut self) {
        let flows: Vec<Arc<Deployed>> = self.flows.lock().values().map(|entry| Arc::clone(&entry.deployed)).collect();
        flows.iter().for_each(|deployed| deployed.stop());
        flows.iter().for_each(|deployed| deployed.wait());
        for thread in &mut self.threads {
            drop(thread.sender.take());
            if let Some(handle) = thread.handle.take() {
                // A thread that panicked has said so.
                let _ = handle.join();
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reports files that could not be written, and has them written again.
pub(crate) struct FilesLeft {
    flows: Flows,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    again: OnceLock<Again>,
    /// Nodes that wait for folders.
    waiting: Mutex<BTreeSet<(Owner, PathBuf)>>,
}

impl FilesLeft {
    /// Records that a flow could not write a file.
    pub(crate) fn left(&self, unwritten: &Unwritten) {
        self.report(unwritten, 0);
        self.wanted();
    }

    /// Requests that the files that are left in the store are written soon.
    pub(crate) fn wanted(&self) {
        if let Some(again) = self.again.get() {
            again.wanted();
        }
    }

    fn report(&self, unwritten: &Unwritten, more: u64) {
        let Unwritten { owner, why, folder, .. } = unwritten;
        let mut message = format!("the file is not written yet: {why}");
        if more > 0 {
            message += &format!("; {more} more wait for the same folder");
        }
        let hint = match folder {
            Some(folder) => format!(
                "the content is in the store, and Quayline tries again at least once a minute; check the folder, its permissions and the space on \
                 the disk. If the flow names the wrong folder, correct it for later messages, and make {} a symbolic link to the right folder \
                 for this one",
                folder.display()
            ),
            None => "the content is in the store, and Quayline tries again; check the store".to_owned(),
        };
        let mut failure = Failure::new(codes::FILE_SYSTEM, message, hint);
        failure.finding.fault = Fault::Environment;
        let owner = owner.clone().unwrap_or_default();
        failure.node = Some(owner.node.clone()).filter(|node| !node.is_empty());
        let finding = failure.located(&owner.flow);
        self.observer.failed(&owner.flow, &finding, false);
        self.with_node(&owner, |stats| stats.waits(self.clock.now_ms(), finding));
        if let Some(folder) = folder {
            self.waiting.lock().insert((owner, folder.clone()));
        }
    }

    /// Ends the wait of nodes whose folders have no file left.
    fn ended(&self, left: &BTreeMap<PathBuf, u64>) {
        let mut waiting = self.waiting.lock();
        let is_left = |(_, folder): &(Owner, PathBuf)| left.contains_key(folder);
        let (still, ended) = std::mem::take(&mut *waiting).into_iter().partition(is_left);
        *waiting = still;
        let ended: BTreeSet<(Owner, PathBuf)> = ended;
        let still: BTreeSet<&Owner> = waiting.iter().map(|(owner, _)| owner).collect();
        let ended: BTreeSet<&Owner> = ended.iter().map(|(owner, _)| owner).collect();
        for owner in ended.difference(&still) {
            self.with_node(owner, NodeStats::continues);
        }
    }

    fn with_node(&self, owner: &Owner, then: impl FnOnce(&NodeStats)) {
        let deployed = self.flows.lock().get(&owner.flow).map(|entry| Arc::clone(&entry.deployed));
        if let Some(deployed) = deployed
            && let Some(at) = deployed.flow.file.nodes.iter().position(|known| known.name == owner.node)
        {
            then(&deployed.stats.nodes[at]);
        }
    }
}

/// Objects that a thread passes to each of its flows.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) commits: Commits,
    pub(crate) files: Arc<FilesLeft>,
    pub(crate) workload: Option<Arc<Workload>>,
    /// The wall clock when the steady clock was zero, as it was when the engine started.
    pub(crate) base_ms: u64,
}

fn thread(number: usize, mut receiver: UnboundedReceiver<Arc<Deployed>>, around: &Around) {
    let _working = around.workload.as_ref().map(|workload| workload.join(Kind::Flow, None));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime without I/O of its own can be built");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        while let Some(deployed) = receiver.recv().await {
            let around = around.clone();
            tokio::task::spawn_local(async move {
                let end = End(Arc::clone(&deployed));
                let (observer, clock) = (Arc::clone(&around.observer), Arc::clone(&around.clock));
                if AssertUnwindSafe(run_flow(Arc::clone(&deployed), around, number)).catch_unwind().await.is_err() {
                    let message = "the flow ended by an internal error; its open units of work are rolled back";
                    let hint = "start it again with `quayline flow start`, and report the error with the lines of the log before it";
                    let name = deployed.flow.name();
                    let place = Place { path: Some(format!("flow {name}")), ..Place::default() };
                    deployed.breaks(&observer, clock.now_ms(), Finding::error(codes::BROKEN, Fault::Ours, message).at(place).hint(hint));
                }
                drop(end);
            });
        }
    });
}

struct End(Arc<Deployed>);

impl Drop for End {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}
