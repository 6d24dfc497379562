//! A flow between two sides of which both are killed at random, again and again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_project::FlowFile;
use quayline_store::queue::{DEAD_LETTER, GetWait, QueueDefinition, Select};
use quayline_store::{Clock, Store, StoreError, SystemClock};

use crate::crash::open;
use crate::support::{PATIENCE, Said, until};

/// Runs a flow over a store.
pub(crate) fn run(store: &Store, project: &Path, text: &str) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let file = FlowFile::parse("bridge.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, project, None).unwrap_or_else(|findings| panic!("{findings}")));
    (engine, said)
}

/// Runs the flow of a folder in the child process until it is killed.
pub(crate) fn child(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("flow.toml")).expect("a file");
    let (store, _engine) = open(&folder.join("data"));
    let _running = run(&store, folder, &text);
    std::fs::write(folder.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

/// A folder with a flow and its store.
pub(crate) struct Bridge {
    place: tempfile::TempDir,
    text: String,
}

impl Bridge {
    pub(crate) fn new(text: &str, queues: &[&str]) -> Bridge {
        let place = tempfile::TempDir::new().expect("a temporary folder");
        std::fs::write(place.path().join("flow.toml"), text).expect("a file");
        let (store, engine) = open(&place.path().join("data"));
        let mut unit = store.begin().expect("a unit");
        for name in queues {
            store.define_queue(&mut unit, QueueDefinition::local(name)).expect("a definition");
        }
        unit.commit().expect("a commit");
        drop(store);
        engine.close().expect("closed");
        Bridge { place, text: text.to_owned() }
    }

    /// Kills a child that runs the flow, in every second round after a restart of the other side. `test` is the name of the child's test, and
    /// `variable` passes its folder. The child runs for up to `run_ms` each time.
    pub(crate) fn kills(
        &self,
        (test, variable): (&str, &str),
        (rounds, run_ms): (u32, u32),
        kill: impl Fn(),
        again: impl Fn(),
    ) {
        let mut seed = 0x0bad_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Duration::from_millis(u64::from((seed >> 16) % below))
        };
        for round in 0..rounds {
            let mark = self.place.path().join("running");
            let _ = std::fs::remove_file(&mark);
            let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
                .args(["--exact", test, "--test-threads", "1"])
                .env(variable, self.place.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a child");
            until("the child runs the flow", || mark.exists());
            std::thread::sleep(random(run_ms));
            if round % 2 == 1 {
                kill();
                std::thread::sleep(random(40));
                again();
                std::thread::sleep(random(run_ms));
            }
            child.kill().expect("kill -9");
            child.wait().expect("the child ended");
        }
    }

    /// Runs the flow to its end: each of `count` messages is on the queue `kept` once, and the outbox is empty.
    pub(crate) fn ends_with_each_effect_once(&self, kept: &str, outbox: &str, count: usize) {
        let (store, engine) = open(&self.place.path().join("data"));
        let depth = |name: &str| store.queue(name).and_then(|queue| queue.facts()).expect("facts").depth;
        let done = depth(kept);
        let (flows, said) = run(&store, self.place.path(), &self.text);
        let told = || said.failed.lock().expect("no panic").iter().map(|(f, _)| f.to_string()).collect::<String>();
        until("everything is received", || depth(kept) >= count as u64);
        until("everything is delivered", || depth(outbox) == 0);
        flows.drain();
        assert_eq!(depth(DEAD_LETTER), 0, "{}", told());
        let mut effects = BTreeSet::new();
        let mut unit = store.begin().expect("a unit");
        let queue = store.queue(kept).expect("a queue");
        loop {
            match queue.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => assert!(effects.insert(message.payload), "a message has two effects"),
                Err(StoreError::NoMessage { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        unit.roll_back();
        assert_eq!(effects.len(), count, "{}", told());
        assert!(done > 0, "the children that were killed did a part of the work");
        drop((store, queue));
        engine.close().expect("closed");
    }
}
