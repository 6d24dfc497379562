//! A project in a temporary folder, a store in memory or in a folder, and an engine that runs flows over it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_core::Finding;
use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_project::FlowFile;
use quayline_store::queue::{GetWait, Message, Queue, QueueDefinition, Select};
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
use quayline_store::{Access, Clock, MemoryEngine, Store, StoreLimits, SystemClock, Unit};
use tempfile::TempDir;

/// Longest wait for anything, on a machine with other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Records the reports of flows.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) failed: Mutex<Vec<(Finding, bool)>>,
    pub(crate) traced: Mutex<Vec<String>>,
    /// Whether the text `panic` of a trace node is a text like any other.
    pub(crate) quiet: AtomicBool,
}

impl Observer for Said {
    fn failed(&self, _flow: &str, finding: &Finding, handled: bool) {
        self.failed.lock().expect("no panic").push((finding.clone(), handled));
    }

    fn trace(&self, _flow: &str, node: &str, text: &str) {
        assert!(text != "panic" || self.quiet.load(Ordering::Relaxed), "as the message says");
        self.traced.lock().expect("no panic").push(format!("{node}: {text}"));
    }
}

/// A project with a store.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) said: Arc<Said>,
}

impl World {
    pub(crate) fn new() -> World {
        let clock = Arc::new(SystemClock);
        let store = Store::open(Arc::new(MemoryEngine::new()), clock, StoreLimits::default(), Access::Write);
        World::over(store.expect("a new store"))
    }

    pub(crate) fn over(store: Store) -> World {
        World { folder: TempDir::new().expect("a temporary folder"), store, said: Arc::default() }
    }

    /// Returns a project whose store allows few simultaneous units of work.
    pub(crate) fn with_few_units() -> World {
        let limits = StoreLimits { units_open_max: 16, ..StoreLimits::default() };
        let store = Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), limits, Access::Write);
        World::over(store.expect("a new store"))
    }

    /// Takes all units of work that the store still allows.
    pub(crate) fn all_units(&self) -> Vec<Unit> {
        std::iter::from_fn(|| self.store.begin().ok()).collect()
    }

    pub(crate) fn queue(&self, name: &str) -> Queue {
        self.queue_with(QueueDefinition::local(name))
    }

    pub(crate) fn queue_with(&self, definition: QueueDefinition) -> Queue {
        let name = definition.name.clone();
        let mut unit = self.store.begin().expect("a unit");
        self.store.define_queue(&mut unit, definition).expect("a definition");
        unit.commit().expect("a commit");
        self.store.queue(&name).expect("a queue")
    }

    /// A key-sequenced file of records of 32 bytes with a key of 8.
    pub(crate) fn file(&self, name: &str, keys: &[&str]) {
        let mut unit = self.store.begin().expect("a unit");
        let definition = FileDefinition {
            name: name.to_owned(),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
            record_bytes_min: 32,
            record_bytes_max: 32,
            alternates: Vec::new(),
        };
        let file = self.store.define_file(&mut unit, definition).expect("a definition");
        for key in keys {
            file.insert(&mut unit, &record(key)).expect("a record");
        }
        unit.commit().expect("a commit");
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn compile(&self, text: &str) -> Result<Flow, quayline_core::Findings> {
        Flow::parse("test.toml", text, self.folder.path(), None)
    }

    pub(crate) fn engine(&self, flow: &str) -> Engine {
        let engine = self.empty_engine(2);
        let flow = self.compile(flow).unwrap_or_else(|findings| panic!("{findings}"));
        engine.deploy(flow);
        engine
    }

    pub(crate) fn empty_engine(&self, threads: usize) -> Engine {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let observer: Arc<dyn Observer> = Arc::clone(&self.said) as Arc<dyn Observer>;
        Engine::start(&self.store, &clock, &observer, EngineOptions { threads, ..EngineOptions::default() })
            .expect("threads")
    }

    pub(crate) fn put(&self, queue: &Queue, message: &Message) {
        let mut unit = self.store.begin().expect("a unit");
        queue.put(&mut unit, message).expect("a put");
        unit.commit().expect("a commit");
    }

    pub(crate) fn get(&self, queue: &Queue) -> Message {
        let mut unit = self.store.begin().expect("a unit");
        let wait = GetWait::AtMostMs(60_000);
        let message =
            queue.get(&mut unit, Select::First, wait).unwrap_or_else(|error| panic!("{error}: {}", self.errors()));
        unit.commit().expect("a commit");
        message
    }

    pub(crate) fn get_text(&self, queue: &Queue) -> String {
        String::from_utf8(self.get(queue).payload).expect("text")
    }

    pub(crate) fn errors(&self) -> String {
        let failed = self.said.failed.lock().expect("no panic");
        failed.iter().map(|(finding, _)| finding.to_string()).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs a flow over a store, on this number of threads.
pub(crate) fn run(store: &Store, project: &Path, text: &str, threads: usize) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let file = FlowFile::parse("test.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, project, None).unwrap_or_else(|findings| panic!("{findings}")));
    (engine, said)
}

/// Starts a test of this binary as a child process, with its folder in a variable of the environment. Returns when the child has written `running`.
pub(crate) fn running(test: &str, variable: &str, place: &Path) -> Child {
    let mark = place.join("running");
    let _ = std::fs::remove_file(&mark);
    let child = Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", test, "--test-threads", "1"])
        .env(variable, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    until("the child runs the flow", || mark.exists());
    child
}

/// A record of 32 bytes.
pub(crate) fn record(key: &str) -> Vec<u8> {
    let mut record = key.as_bytes().to_vec();
    record.resize(8, b' ');
    record.extend([0; 8]);
    record.extend(b"A RECORD        ");
    record
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Units of work of the only flow that ended: committed, rolled back.
pub(crate) fn ended(engine: &Engine) -> (u64, u64) {
    let flows = engine.flows();
    let stats = &flows[0].stats;
    (stats.committed.load(Ordering::Relaxed), stats.rolled_back.load(Ordering::Relaxed))
}

/// Number of kills of both sides of a bridge: `QUAYLINE_BRIDGE_KILLS`, otherwise `QUAYLINE_KILLS`, otherwise `usually`.
pub(crate) fn bridge_kills(usually: u32) -> u32 {
    std::env::var("QUAYLINE_BRIDGE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or_else(|| kills(usually))
}

/// Number of kills of a process: `QUAYLINE_KILLS`, otherwise `usually`.
pub(crate) fn kills(usually: u32) -> u32 {
    std::env::var("QUAYLINE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(usually)
}
