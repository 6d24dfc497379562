//! A process that runs flows is killed again and again: every message has its effect once.
//!
//! The child is this test binary: it is started with a variable of the environment that names the data folder, and runs sample 4 until it is killed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_store::queue::{DEAD_LETTER, GetWait, Message, QueueDefinition, Select};
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
use quayline_store::{Access, Clock, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

use crate::support::{PATIENCE, Said};

const FOLDER: &str = "QUAYLINE_TEST_CRASH_FOLDER";
const FILE: &str = "DATA.IA13.VSAM.KSDS1";
const KEYS: u32 = 27;
const REQUESTS: u32 = 3_000;
/// Kills of the process. More with `QUAYLINE_KILLS`.
const KILLS: u32 = 25;

pub(crate) fn open(folder: &Path) -> (Store, Arc<EmbeddedEngine>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let medium = Folder::create(folder).expect("a folder");
    let engine = Arc::new(EmbeddedEngine::open(Arc::new(medium), &clock, Settings::default()).expect("an engine"));
    let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
    (Store::open(shared, clock, StoreLimits::default(), Access::Write).expect("a store"), engine)
}

fn run(store: &Store) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = Engine::start(store, &clock, &observer, EngineOptions { threads: 2, ..EngineOptions::default() })
        .expect("threads");
    let project = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows"));
    engine.deploy(
        Flow::open(&project.join("flows/sample4.toml"), &project, None).unwrap_or_else(|findings| panic!("{findings}")),
    );
    (engine, said)
}

fn key(number: u32) -> String {
    format!("KEY_{number:04}")
}

fn prepare(store: &Store) {
    let mut unit = store.begin().expect("a unit");
    for name in ["SAMPLE4.REQUEST", "SAMPLE4.REPLY", DEAD_LETTER] {
        // A kill during a unit of work is no rollback, so nothing is ever backed out.
        store.define_queue(&mut unit, QueueDefinition::local(name)).expect("a definition");
    }
    let definition = FileDefinition {
        name: FILE.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
        record_bytes_min: 32,
        record_bytes_max: 32,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).expect("a definition");
    for number in 0..KEYS {
        let mut record = key(number).into_bytes();
        record.extend([0; 8]);
        record.extend(b"THE ????? RECORD");
        file.insert(&mut unit, &record).expect("a record");
    }
    unit.commit().expect("a commit");
    let queue = store.queue("SAMPLE4.REQUEST").expect("a queue");
    for from in (0..REQUESTS).step_by(500) {
        let mut unit = store.begin().expect("a unit");
        for number in from..from + 500 {
            let key = key(number % KEYS);
            let text = format!(
                "<VSAM><Request><FileName>/'{FILE}'</FileName><Position><Key>{key}</Key></Position></Request></VSAM>"
            );
            queue.put(&mut unit, &Message::new(text)).expect("a put");
        }
        unit.commit().expect("a commit");
    }
}

/// The child. Without the variable this is no test of its own.
#[test]
fn child_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (store, _engine) = open(Path::new(&folder));
    let _running = run(&store);
    std::fs::write(Path::new(&folder).join("running"), "").expect("a file");
    // The parent kills this process; if the parent is gone, it ends by itself.
    std::thread::sleep(PATIENCE);
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", "crash::child_that_is_killed", "--test-threads", "1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

#[test]
fn every_request_has_its_effect_once_however_often_the_process_is_killed() {
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let folder = place.path().join("data");
    {
        let (store, engine) = open(&folder);
        prepare(&store);
        drop(store);
        engine.close().expect("closed");
    }
    let mut seed = 0x9e37_79b9_u32;
    for _ in 0..crate::support::kills(KILLS) {
        let mark = folder.join("running");
        let _ = std::fs::remove_file(&mark);
        let mut child = start(&folder);
        crate::support::until("the child runs the flow", || mark.exists());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_millis(u64::from(seed % 60)));
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
    }
    let (store, engine) = open(&folder);
    let queue = store.queue("SAMPLE4.REQUEST").expect("a queue");
    let left = queue.facts().expect("facts").depth;
    let (flows, said) = run(&store);
    let end = Instant::now() + PATIENCE;
    while queue.facts().expect("facts").depth > 0 {
        assert!(Instant::now() < end, "requests are stuck");
        std::thread::sleep(Duration::from_millis(10));
    }
    flows.drain();
    assert!(said.failed.lock().expect("no panic").is_empty());
    let mut answered = HashSet::new();
    let reply = store.queue("SAMPLE4.REPLY").expect("a queue");
    let mut unit = store.begin().expect("a unit");
    loop {
        match reply.get(&mut unit, Select::First, GetWait::No) {
            Ok(message) => assert!(answered.insert(message.correlation), "a request has two replies"),
            Err(StoreError::NoMessage { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(answered.len(), REQUESTS as usize, "every request has a reply");
    let file = store.file(&unit, FILE).expect("a file");
    let mut raised = 0;
    file.scan(&unit, &mut |_, record| {
        raised += u32::from_be_bytes(record[8..12].try_into().expect("four bytes"));
        Ok(())
    })
    .expect("a scan");
    assert_eq!(raised, REQUESTS, "every request raised its count once");
    assert!(
        left < u64::from(REQUESTS),
        "the children that were killed did a part of the work: {left} requests were left"
    );
    unit.roll_back();
    drop(store);
    engine.close().expect("closed");
}
