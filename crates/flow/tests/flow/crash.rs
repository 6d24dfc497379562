//! A process that runs flows is killed again and again: every message has its effect once.
//!
//! The child process is this test binary. A variable of the environment names its folder. It puts the requests of its round and runs a sample until
//! it is killed. The number of rounds alone determines the expected effects, so lost and repeated ones are both detected.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_store::queue::{DEAD_LETTER, GetWait, Message, Persistence, QueueDefinition, Select};
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
use quayline_store::{Access, Clock, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

use crate::support::{PATIENCE, Said, kills, until};

const FOLDER: &str = "QUAYLINE_TEST_CRASH_FOLDER";
const FILE: &str = "DATA.IA13.VSAM.KSDS1";
/// Records of the file of sample 1, which are read in units of work of 1,000.
const PASSED: u32 = 1_500;
/// Keys that samples 3 and 4 use, as in the report.
const KEYS: u32 = 27;

/// A sample, and the requests of one round.
#[derive(Clone, Copy)]
struct Case {
    sample: &'static str,
    requests: u32,
}

const CASES: [Case; 5] = [
    Case { sample: "1", requests: 1 },
    Case { sample: "2b", requests: 600 },
    Case { sample: "3", requests: 600 },
    Case { sample: "4", requests: 600 },
    Case { sample: "5", requests: 600 },
];

pub(crate) fn open(folder: &Path) -> (Store, Arc<EmbeddedEngine>) {
    open_with(folder, Settings::default())
}

fn open_with(folder: &Path, settings: Settings) -> (Store, Arc<EmbeddedEngine>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let medium = Folder::create(folder).expect("a folder");
    let engine = Arc::new(EmbeddedEngine::open(Arc::new(medium), &clock, settings).expect("an engine"));
    let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
    (Store::open(shared, clock, StoreLimits::default(), Access::Write).expect("a store"), engine)
}

fn key(number: u32) -> String {
    format!("K{number:07}")
}

impl Case {
    fn project() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows"))
    }

    fn flow(self) -> Flow {
        let path = Case::project().join(format!("flows/sample{}.toml", self.sample));
        Flow::open(&path, &Case::project(), None).unwrap_or_else(|findings| panic!("{findings}"))
    }

    fn queue(self, name: &str) -> String {
        format!("SAMPLE{}.{name}", self.sample.to_uppercase())
    }

    fn run(self, store: &Store) -> (Engine, Arc<Said>) {
        let said = Arc::new(Said::default());
        let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine = Engine::start(store, &clock, &observer, EngineOptions { threads: 2, ..EngineOptions::default() })
            .expect("threads");
        engine.deploy(self.flow());
        (engine, said)
    }

    /// Defines the queues and files of the sample, with the records that it needs.
    fn prepare(self, store: &Store, rounds: u32) {
        let mut unit = store.begin().expect("a unit");
        let flow = self.flow();
        let names: HashSet<&str> = flow.input_queues().chain(flow.output_queues()).chain([DEAD_LETTER]).collect();
        for name in names {
            // A kill during a unit of work is no rollback, so nothing is ever backed out.
            let definition = QueueDefinition { depth_max: 2_000_000, ..QueueDefinition::local(name) };
            store.define_queue(&mut unit, definition).expect("a definition");
        }
        let definition = FileDefinition {
            name: FILE.to_owned(),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
            record_bytes_min: 32,
            record_bytes_max: 32,
            alternates: Vec::new(),
        };
        let file = store.define_file(&mut unit, definition).expect("a definition");
        let records = match self.sample {
            "1" => PASSED,
            "2b" => 0,
            "5" => rounds * self.requests,
            _ => KEYS,
        };
        for number in 0..records {
            let mut record = key(number).into_bytes();
            record.extend([0; 8]);
            record.extend(b"THE ????? RECORD");
            file.insert(&mut unit, &record).expect("a record");
            if number % 5_000 == 4_999 {
                unit.commit().expect("a commit");
                unit = store.begin().expect("a unit");
            }
        }
        unit.commit().expect("a commit");
    }

    /// The request with this number.
    fn request(self, number: u32) -> String {
        let request = |inside: &str| format!("<VSAM><Request>{inside}</Request></VSAM>");
        let position =
            |key: &str| request(&format!("<FileName>/'{FILE}'</FileName><Position><Key>{key}</Key></Position>"));
        match self.sample {
            "1" => request(&format!("<FileName>/'{FILE}'</FileName>")),
            "2b" => format!(
                "<msg_SampleStruct><intField1>000</intField1><intField2>-4</intField2><charField1>{}</charField1>\
                 <charField2>THE ????? RECORD</charField2></msg_SampleStruct>",
                key(number)
            ),
            "5" => request(&format!(
                "<Position><Mode>KEY_EQ</Mode><Key>{}</Key><KeyType>Parser String</KeyType></Position>",
                key(number)
            )),
            _ => position(&key(number % KEYS)),
        }
    }

    /// Puts the requests of a round in one unit of work.
    fn put_round(self, store: &Store, round: u32) {
        let queue = store.queue(&self.queue("REQUEST")).expect("a queue");
        let mut unit = store.begin().expect("a unit");
        for number in round * self.requests..(round + 1) * self.requests {
            queue.put(&mut unit, &Message::new(self.request(number))).expect("a put");
        }
        unit.commit().expect("a commit");
    }

    /// Returns all messages of a queue.
    fn messages(self, store: &Store, name: &str) -> Vec<Message> {
        let queue = store.queue(&self.queue(name)).expect("a queue");
        let mut unit = store.begin().expect("a unit");
        let mut found = Vec::new();
        loop {
            match queue.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => found.push(message),
                Err(StoreError::NoMessage { .. }) => break,
                Err(error) => panic!("{error}"),
            }
            if found.len() % 5_000 == 0 {
                unit.commit().expect("a commit");
                unit = store.begin().expect("a unit");
            }
        }
        unit.commit().expect("a commit");
        found
    }

    /// Compares the effects of the sample with those expected after `rounds` rounds.
    fn check(self, store: &Store, rounds: u32) {
        let requests = rounds * self.requests;
        let mut records = Vec::new();
        let unit = store.begin().expect("a unit");
        let file = store.file(&unit, FILE).expect("a file");
        file.scan(&unit, &mut |_, record| {
            records.push(record.to_vec());
            Ok(())
        })
        .expect("a scan");
        unit.roll_back();
        if self.sample == "1" {
            assert_eq!(self.messages(store, "STATUS").len(), requests as usize, "each pass has one status message");
            assert_eq!(self.messages(store, "ERROR").len(), 0);
            let passed = self.messages(store, "RECORD");
            assert_eq!(passed.len(), (requests * PASSED) as usize);
            // One pass after another, each record in its order.
            let expected = (0..requests).flat_map(|_| 0..PASSED).map(key);
            assert!(passed.iter().zip(expected).all(|(message, key)| message.payload.starts_with(key.as_bytes())));
            return;
        }
        let replies = self.messages(store, "REPLY");
        let answered: HashSet<_> = replies.iter().map(|reply| reply.correlation).collect();
        assert_eq!(answered.len(), replies.len(), "a request has two replies");
        assert_eq!(answered.len(), requests as usize, "every request has a reply");
        match self.sample {
            "2b" => {
                assert_eq!(self.messages(store, "DUPLICATE").len(), 0, "no record is written twice");
                let keys = records.iter().map(|record| record[..8].to_vec());
                assert!(keys.eq((0..requests).map(|number| key(number).into_bytes())), "every record is there");
            }
            "3" => assert!(replies.iter().all(|reply| reply.payload.len() == 32), "every reply has the record"),
            "4" => {
                let raised =
                    records.iter().map(|record| u32::from_be_bytes([record[8], record[9], record[10], record[11]]));
                assert_eq!(raised.sum::<u32>(), requests, "every request raised its count once");
            }
            _ => assert!(records.is_empty(), "every record is deleted: {} are left", records.len()),
        }
    }
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(folder.join("round")).expect("a file");
    let (sample, round) = text.split_once(' ').expect("a sample and a round");
    let case = CASES.into_iter().find(|case| case.sample == sample).expect("a sample");
    let (store, _engine) = open(&folder.join("data"));
    let left = store.queue(&case.queue("REQUEST")).and_then(|queue| queue.facts()).expect("facts").depth;
    case.put_round(&store, round.parse().expect("a number"));
    let _running = case.run(&store);
    std::fs::write(folder.join("part"), left.to_string()).expect("a file");
    std::fs::rename(folder.join("part"), folder.join("running")).expect("a name");
    // The parent kills this process; if the parent is gone, it ends by itself.
    std::thread::sleep(PATIENCE);
}

fn survives(sample: &str, usually: u32) {
    let case = CASES.into_iter().find(|case| case.sample == sample).expect("a sample");
    let rounds = kills(usually);
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let data = place.path().join("data");
    {
        let (store, engine) = open(&data);
        case.prepare(&store, rounds);
        drop(store);
        engine.close().expect("closed");
    }
    let mut seed = 0x9e37_79b9_u32;
    let mut interrupted = 0;
    for round in 0..rounds {
        let mark = place.path().join("running");
        let _ = std::fs::remove_file(&mark);
        std::fs::write(place.path().join("round"), format!("{sample} {round}")).expect("a file");
        let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
            .args(["--exact", "crash::child_that_is_killed", "--test-threads", "1"])
            .env(FOLDER, place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let end = Instant::now() + PATIENCE;
        // Without a pause between two looks: the kill is to come while the first requests are processed.
        while !mark.exists() {
            assert!(Instant::now() < end, "the child does not run the flow");
            std::thread::yield_now();
        }
        // What the child before this one left.
        let left = std::fs::read_to_string(&mark).expect("a file");
        interrupted += u32::from(left != "0");
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Every second kill comes early, since a fast machine is done with all requests within milliseconds.
        let longest_us = if round % 2 == 0 { 2_000 } else { 60_000 };
        std::thread::sleep(Duration::from_micros(u64::from((seed >> 8) % longest_us)));
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
    }
    let (store, engine) = open(&data);
    let queue = store.queue(&case.queue("REQUEST")).expect("a queue");
    interrupted += u32::from(queue.facts().expect("facts").depth > 0);
    let (flows, said) = case.run(&store);
    until("no request is stuck", || queue.facts().expect("facts").depth == 0);
    flows.drain();
    assert!(said.failed.lock().expect("no panic").is_empty());
    case.check(&store, rounds);
    eprintln!("sample {sample}: {rounds} kills, {interrupted} of them before all requests were processed");
    assert!(interrupted > 0, "a kill interrupts work");
    drop((store, queue));
    engine.close().expect("closed");
}

#[test]
fn a_pass_over_a_file_sends_each_record_once_and_in_order_however_often_the_process_is_killed() {
    survives("1", 8);
}

#[test]
fn every_record_is_written_once_however_often_the_process_is_killed() {
    survives("2b", 8);
}

#[test]
fn every_reading_request_has_one_reply_however_often_the_process_is_killed() {
    survives("3", 8);
}

#[test]
fn every_request_has_its_effect_once_however_often_the_process_is_killed() {
    survives("4", 25);
}

#[test]
fn every_record_is_deleted_once_however_often_the_process_is_killed() {
    survives("5", 8);
}

#[test]
fn units_of_messages_that_are_not_persistent_are_synced_unless_the_flow_says_otherwise() {
    let case = CASES.into_iter().find(|case| case.sample == "4").expect("a sample");
    let place = tempfile::TempDir::new().expect("a temporary folder");
    // Without the syncs that the store makes once a second, whose number depends on how busy the machine is.
    let (store, engine) = open_with(place.path(), Settings { apply_interval_ms: 3_600_000, ..Settings::default() });
    case.prepare(&store, 1);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let observer: Arc<dyn Observer> = Arc::new(Said::default());
    let flows = Engine::start(&store, &clock, &observer, EngineOptions::default()).expect("threads");
    let (request, reply) = (store.queue("SAMPLE4.REQUEST"), store.queue("SAMPLE4.REPLY"));
    let (request, reply) = (request.expect("a queue"), reply.expect("a queue"));
    let syncs = |persistence: Persistence, count: u32| {
        let before = quayline_store::Engine::facts(&*engine).syncs;
        for number in 0..count {
            let mut unit = store.begin().expect("a unit");
            let message = Message { persistence, ..Message::new(case.request(number)) };
            request.put(&mut unit, &message).expect("a put");
            unit.commit().expect("a commit");
            let mut unit = store.begin().expect("a unit");
            reply.get(&mut unit, Select::First, GetWait::AtMostMs(60_000)).expect("a reply");
            unit.commit().expect("a commit");
        }
        quayline_store::Engine::facts(&*engine).syncs - before
    };
    flows.deploy(case.flow());
    let all = syncs(Persistence::NotPersistent, 100);
    assert!(all >= 100, "{all} syncs for 100 requests: each update of a record is durable before its reply");
    let mut flow = case.flow();
    flow.file.syncs_persistent_only = true;
    flows.deploy(flow);
    let few = syncs(Persistence::NotPersistent, 100);
    assert!(few < 10, "{few} syncs for 100 requests");
    let all = syncs(Persistence::Persistent, 20);
    assert!(all >= 60, "{all} syncs for 20 requests: each has its put, its update with the reply, and its get");
    drop(flows);
    drop((store, request, reply));
    // The end of the process loses nothing of either kind: the folder is opened as it is.
    drop(engine);
    let (store, engine) = open(place.path());
    let unit = store.begin().expect("a unit");
    let mut raised = 0;
    store
        .file(&unit, FILE)
        .expect("a file")
        .scan(&unit, &mut |_, record| {
            raised += u32::from_be_bytes([record[8], record[9], record[10], record[11]]);
            Ok(())
        })
        .expect("a scan");
    assert_eq!(raised, 220);
    drop((unit, store));
    engine.close().expect("closed");
}
