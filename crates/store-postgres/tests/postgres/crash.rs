//! Several processes on one database, some of which are killed, with restarts of the server: every message is processed once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::{LockWait, Space, Store, StoreError};
use quayline_store_postgres::{Endpoint, PostgresEngine};

use crate::{Server, store};

const PORT: &str = "QUAYLINE_CRASH_PORT";
const DATABASE: &str = "crash";
/// Counters of how often a message was worked on.
const WORKED: Space = Space(30);
/// Accounts that all workers change, two in each unit of work, in any order.
const ACCOUNTS: Space = Space(31);
const ACCOUNT_COUNT: u64 = 64;
const WORKERS: u64 = 4;

fn number(value: Option<quayline_store::Value>) -> i64 {
    value.map_or(0, |value| i64::from_le_bytes(value.as_ref().try_into().unwrap()))
}

/// One unit of work: get, count, move an amount between two accounts, put.
fn work(store: &Store) -> Result<u32, StoreError> {
    let (from, to) = (store.queue("IN")?, store.queue("OUT")?);
    let mut unit = store.begin()?;
    let message = from.get(&mut unit, Select::First, GetWait::AtMostMs(4_000))?;
    let id = u32::from_be_bytes(message.payload.as_slice().try_into().unwrap());
    let worked = number(unit.read_for_update(WORKED, &id.to_be_bytes(), LockWait::Default)?);
    unit.put(WORKED, &id.to_be_bytes(), (worked + 1).to_le_bytes().as_slice())?;
    let id64 = u64::from(id);
    // Any order, so that circles occur.
    let (debit, credit) = (id64 * 7 % ACCOUNT_COUNT, id64 * 11 % ACCOUNT_COUNT);
    for (account, amount) in [(debit, -i64::from(id)), (credit, i64::from(id))] {
        let balance = number(unit.read_for_update(ACCOUNTS, &account.to_be_bytes(), LockWait::Default)?);
        unit.put(ACCOUNTS, &account.to_be_bytes(), (balance + amount).to_le_bytes().as_slice())?;
    }
    to.put(&mut unit, &Message::new(id.to_be_bytes()))?;
    unit.commit()?;
    Ok(id)
}

/// A process that is killed: it works until nothing is left, and opens the store again whenever it is poisoned.
#[test]
fn crash_child() {
    let Some(port) = std::env::var(PORT).ok().and_then(|port| port.parse().ok()) else { return };
    let port: u16 = port;
    let database = Endpoint::parse(&format!("postgresql://quay:s3cret%20word@127.0.0.1:{port}/{DATABASE}")).unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(600) {
        let Ok(engine) = PostgresEngine::open(database.clone()) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let store = store(engine);
        let is_done = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            match work(&store) {
                                // One write a line, so that the parent never reads a part of a number.
                                Ok(id) => {
                                    drop(std::io::stdout().write_all(format!("\nacknowledged {id}\n").as_bytes()))
                                }
                                Err(StoreError::NoMessage { .. }) => return true,
                                Err(StoreError::Deadlock { .. } | StoreError::LockTimeout { .. }) => {}
                                Err(_) => return false,
                            }
                        }
                    })
                })
                .collect();
            workers.into_iter().all(|worker| worker.join().unwrap())
        });
        if is_done {
            return;
        }
    }
    panic!("the work never ends");
}

fn child(server: &Server, seen: &Arc<Mutex<BTreeSet<u32>>>) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::crash_child", "--nocapture", "--test-threads=1"])
        .env(PORT, server.port.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let seen = Arc::clone(seen);
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Some(id) = line.strip_prefix("acknowledged ").and_then(|id| id.parse().ok()) {
                assert!(seen.lock().unwrap().insert(id), "message {id} is acknowledged twice");
            }
        }
    });
    child
}

fn fill(store: &Store, messages: u32) {
    let mut unit = store.begin().unwrap();
    for name in ["IN", "OUT"] {
        // A message that a restart gives back is no poison.
        let definition = QueueDefinition { backout_threshold: 0, ..QueueDefinition::local(name) };
        store.define_queue(&mut unit, definition).unwrap();
    }
    unit.commit().unwrap();
    let queue = store.queue("IN").unwrap();
    let mut unit = store.begin().unwrap();
    for id in 0..messages {
        queue.put(&mut unit, &Message::new(id.to_be_bytes())).unwrap();
    }
    unit.commit().unwrap();
}

#[test]
fn two_processes_with_kills_and_restarts_of_the_server_do_all_work_once() {
    let Some(server) = &Server::start() else {
        eprintln!(
            "skipped: two_processes_with_kills_and_restarts_of_the_server_do_all_work_once: PostgreSQL's server is not installed"
        );
        return;
    };
    server.ready();
    let rounds: u32 = std::env::var("QUAYLINE_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(6);
    let messages = 700 * rounds;
    drop(server.empty(DATABASE));
    fill(&store(PostgresEngine::open(server.database(DATABASE)).unwrap()), messages);
    let seen: Arc<Mutex<BTreeSet<u32>>> = Arc::default();
    let mut children = [child(server, &seen), child(server, &seen)];
    for round in 0..rounds {
        std::thread::sleep(Duration::from_millis(500 + u64::from(round * 131 % 400)));
        match round % 3 {
            0 | 2 => {
                let index = usize::try_from(round / 2 % 2).unwrap();
                children[index].kill().unwrap();
                children[index].wait().unwrap();
                children[index] = child(server, &seen);
            }
            // By turns as an operator does it, and as a crash does: the server then recovers, and tables that are not logged are empty.
            _ if round % 2 == 0 => server.restart(),
            _ => server.crash(),
        }
    }
    server.ready();
    let begin = Instant::now();
    for child in &mut children {
        while child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(300), "the work never ends");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let store = store(PostgresEngine::open(server.database(DATABASE)).unwrap());
    let (rest, out) = (store.queue("IN").unwrap(), store.queue("OUT").unwrap());
    let mut unit = store.begin().unwrap();
    assert!(rest.get(&mut unit, Select::First, GetWait::No).is_err(), "nothing is left");
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    while let Ok(message) = out.get(&mut unit, Select::First, GetWait::No) {
        *times.entry(u32::from_be_bytes(message.payload.as_slice().try_into().unwrap())).or_default() += 1;
    }
    assert_eq!(times.len(), usize::try_from(messages).unwrap(), "no message is lost");
    assert!(times.values().all(|times| *times == 1), "no message is doubled");
    for id in 0..messages {
        assert_eq!(number(unit.read(WORKED, &id.to_be_bytes()).unwrap()), 1, "message {id} is counted once");
    }
    let mut expected = vec![0; usize::try_from(ACCOUNT_COUNT).unwrap()];
    for id in 0..i64::from(messages) {
        let at = |factor: i64| usize::try_from(id * factor).unwrap() % expected.len();
        let (debit, credit) = (at(7), at(11));
        expected[debit] -= id;
        expected[credit] += id;
    }
    for (account, expected) in (0u64..).zip(expected) {
        let balance = number(unit.read(ACCOUNTS, &account.to_be_bytes()).unwrap());
        assert_eq!(balance, expected, "account {account}: no update is lost");
    }
    let acknowledged = seen.lock().unwrap();
    assert!(acknowledged.iter().all(|id| times.contains_key(id)), "acknowledged and lost");
    assert!(!acknowledged.is_empty());
}

/// Each get of a unit stepped over all messages that the unit had already got: 10,000 of them took minutes.
#[test]
fn a_unit_with_many_messages_takes_time_by_their_number() {
    let Some(server) = &Server::start() else {
        eprintln!(
            "skipped: a_unit_with_many_messages_takes_time_by_their_number: PostgreSQL's server is not installed"
        );
        return;
    };
    server.ready();
    drop(server.empty("many"));
    let store = store(PostgresEngine::open(server.database("many")).unwrap());
    fill(&store, 20_000);
    let queue = store.queue("IN").unwrap();
    let get_all = |count: u32| {
        let mut unit = store.begin().unwrap();
        let begin = Instant::now();
        for id in 0..count {
            let message = queue.get(&mut unit, Select::First, GetWait::No).unwrap();
            assert_eq!(message.payload, id.to_be_bytes(), "in order");
        }
        let took = begin.elapsed();
        // The next unit begins with the first message again.
        unit.roll_back();
        took
    };
    get_all(200);
    let few = get_all(1_000);
    let many = get_all(16_000);
    assert!(many < few * 16 * 4, "{few:?} for 1,000 and {many:?} for 16,000");
}
