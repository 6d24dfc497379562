//! The threads that run flows.
//!
//! Each thread has a runtime of its own, and each flow its own lanes, handles and inputs on each thread where it has instances: threads share the store, the
//! counters and nothing else. A unit of work that waits for its commit, a lock or the outside is a future of some hundred bytes; only those that are
//! woken are polled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use quayline_core::{Fault, Finding, Findings};
use quayline_store::{Clock, Store};
use quayline_workload::{Kind, Workload};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::codes;
use crate::compile::Flow;
use crate::run::Observer;
use crate::stats::FlowStats;
use crate::worker::run_flow;

/// How an engine runs.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Threads. Default: one for each core.
    pub threads: usize,
    /// What an instance does while its unit of work commits.
    pub commits: Commits,
}

/// What an instance does while its unit of work commits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Commits {
    /// It takes the next message; the outcome wakes what is left to do.
    #[default]
    Free,
    /// It holds its thread, as the instances of other engines do. The slow twin, to compare with.
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
    flows: Mutex<BTreeMap<String, Entry>>,
}

struct Thread {
    sender: Option<UnboundedSender<Arc<Deployed>>>,
    handle: Option<JoinHandle<()>>,
}

/// A flow that the engine knows, running or stopped.
struct Entry {
    deployed: Arc<Deployed>,
    is_running: bool,
}

/// A flow that is running, as its threads see it.
pub(crate) struct Deployed {
    pub(crate) flow: Arc<Flow>,
    pub(crate) stats: Arc<FlowStats>,
    /// Instances by thread.
    pub(crate) slots: Vec<usize>,
    stopping: AtomicBool,
    wakers: Mutex<Vec<Option<Waker>>>,
    /// Threads that still run it.
    running: Mutex<usize>,
    ended: Condvar,
}

/// What is known of a flow.
#[derive(Clone, Debug)]
pub struct FlowState {
    /// The flow.
    pub flow: Arc<Flow>,
    /// Its figures.
    pub stats: Arc<FlowStats>,
    /// Whether it takes messages.
    pub is_running: bool,
}

impl Deployed {
    fn new(flow: Arc<Flow>, threads: usize, first: usize) -> Self {
        // Order is kept by one thread, which needs no agreement with others. And a timer fires once, a folder and an address have one owner.
        let is_ordered =
            flow.file.nodes.iter().filter(|node| node.kind.is_input).any(|node| {
                node.kind.name != "queue_input" || matches!(node.text("order"), Some("by_queue" | "by_key"))
            });
        let instances = usize::try_from(flow.file.additional_instances).unwrap_or(0) + 1;
        let mut slots = vec![0; threads];
        if is_ordered {
            slots[first % threads] = instances;
        } else {
            (0..instances).for_each(|instance| slots[(first + instance) % threads] += 1);
        }
        let stats = Arc::new(FlowStats::new(flow.file.nodes.len()));
        let running = slots.iter().filter(|slots| **slots > 0).count();
        Deployed {
            flow,
            stats,
            wakers: Mutex::new(vec![None; slots.len()]),
            slots,
            stopping: AtomicBool::new(false),
            running: Mutex::new(running),
            ended: Condvar::new(),
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn register(&self, thread: usize, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        if !wakers[thread].as_ref().is_some_and(|known| known.will_wake(waker)) {
            wakers[thread] = Some(waker.clone());
        }
    }

    /// Waits, and says whether the flow is to stop.
    pub(crate) async fn stopped_within(&self, pause: Duration, thread: usize) -> bool {
        let stopped = std::future::poll_fn(|context| {
            self.register(thread, context.waker());
            if self.is_stopping() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        tokio::time::timeout(pause, stopped).await.is_ok()
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
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
    /// The system gives no thread; files of an earlier run cannot be written.
    pub fn start(
        store: &Store,
        clock: &Arc<dyn Clock>,
        observer: &Arc<dyn Observer>,
        options: EngineOptions,
    ) -> Result<Engine, Findings> {
        Engine::start_with(store, clock, observer, options, None)
    }

    /// The same with the classes of work that the process shares.
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
        crate::outbox::write_all(store).map_err(|why| {
            let message = format!("files that flows left unwritten cannot be written: {why}");
            Findings(vec![
                Finding::error(codes::FILE_SYSTEM, Fault::Environment, message)
                    .hint("check the folder and its permissions"),
            ])
        })?;
        let mut threads = Vec::new();
        for number in 0..options.threads.max(1) {
            let (sender, receiver) = unbounded_channel();
            let (store, clock, observer) = (store.clone(), Arc::clone(clock), Arc::clone(observer));
            let around = Around { store, clock, observer, commits: options.commits, workload: workload.cloned() };
            let handle = std::thread::Builder::new()
                .name(format!("flow-{number}"))
                .spawn(move || thread(number, receiver, &around))
                .map_err(|error| {
                    let message = format!("no thread can be started: {}", quayline_core::system_error_text(&error));
                    Findings(vec![
                        Finding::error(codes::FILE_SYSTEM, Fault::Environment, message)
                            .hint("raise the limit of threads"),
                    ])
                })?;
            threads.push(Thread { sender: Some(sender), handle: Some(handle) });
        }
        Ok(Engine { store: store.clone(), threads, flows: Mutex::default() })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Runs a flow. If one of this name runs, it finishes the units of work that it has open first, so that no message is lost or processed twice.
    pub fn deploy(&self, flow: Flow) {
        static FIRST: AtomicUsize = AtomicUsize::new(0);
        let name = flow.name().to_owned();
        let first = FIRST.fetch_add(1, Ordering::Relaxed);
        let deployed = Arc::new(Deployed::new(Arc::new(flow), self.threads.len(), first));
        let before = self.flows.lock().remove(&name);
        if let Some(before) = before {
            before.deployed.stop();
            before.deployed.wait();
        }
        self.run(&deployed);
        self.flows.lock().insert(name, Entry { deployed, is_running: true });
    }

    fn run(&self, deployed: &Arc<Deployed>) {
        for (thread, slots) in self.threads.iter().zip(&deployed.slots) {
            if *slots > 0
                && let Some(sender) = &thread.sender
            {
                // The thread takes flows until the engine ends.
                let _ = sender.send(Arc::clone(deployed));
            }
        }
    }

    /// Stops a flow after the units of work that it has open. Returns false if there is no such flow.
    pub fn stop(&self, name: &str) -> bool {
        let Some(deployed) = self.flows.lock().get_mut(name).map(|entry| {
            entry.is_running = false;
            Arc::clone(&entry.deployed)
        }) else {
            return false;
        };
        deployed.stop();
        deployed.wait();
        true
    }

    /// Starts a flow again that was stopped. Its figures start again, too. Returns false if there is no such flow.
    pub fn restart(&self, name: &str) -> bool {
        let flow = match self.flows.lock().get(name) {
            Some(entry) if entry.is_running => return true,
            Some(entry) => Arc::clone(&entry.deployed.flow),
            None => return false,
        };
        let deployed = Arc::new(Deployed::new(flow, self.threads.len(), 0));
        self.run(&deployed);
        self.flows.lock().insert(name.to_owned(), Entry { deployed, is_running: true });
        true
    }

    /// Stops a flow and forgets it.
    pub fn remove(&self, name: &str) -> bool {
        let is_known = self.stop(name);
        self.flows.lock().remove(name);
        is_known
    }

    /// All flows, by name.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowState> {
        let flows = self.flows.lock();
        let state = |entry: &Entry| FlowState {
            flow: Arc::clone(&entry.deployed.flow),
            stats: Arc::clone(&entry.deployed.stats),
            is_running: entry.is_running,
        };
        flows.values().map(state).collect()
    }

    /// Ends all flows after the units of work that they have open, then the threads.
    pub fn drain(mut self) {
        self.end();
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

/// What a thread gives to each of its flows.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) commits: Commits,
    pub(crate) workload: Option<Arc<Workload>>,
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
                // Counted even if the flow panics.
                let end = End(Arc::clone(&deployed));
                run_flow(deployed, around, number).await;
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
