//! Kill -9 of the server while clients send, receive and transact.
//!
//! After any number of kills, a message whose acceptance a client saw is received or still there; a message is received twice only if the server
//! died before it could confirm; and a transaction that moves a message happened once, regardless of the outcome that the client saw.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_amqp::DeliveryState;
use quayline_connect::Listener;

use crate::peer::{Peer, message};
use crate::server::{settings, store};

const FOLDER: &str = "QUAYLINE_AMQP_FOLDER";

/// The process that is killed.
#[test]
fn killed_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let listener = Listener::start(store(Path::new(&folder)), settings()).unwrap();
    println!("\nlistening {}", listener.address());
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn start(folder: &Path) -> (Child, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::killed_child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = loop {
        let line = lines.next().unwrap().unwrap();
        if let Some(address) = line.strip_prefix("listening ") {
            break address.parse().unwrap();
        }
    };
    // The rest of its output goes nowhere; the pipe stays open as long as it writes.
    std::thread::spawn(move || lines.for_each(drop));
    (child, address)
}

/// Knowledge of the clients across all kills.
#[derive(Default)]
struct Known {
    next: AtomicU64,
    /// Messages that the server accepted.
    accepted: Mutex<BTreeSet<u64>>,
    /// Messages that were received, with the number of times and of confirmations.
    received: Mutex<BTreeMap<u64, (u32, u32)>>,
}

fn number(content: &[u8]) -> u64 {
    u64::from_be_bytes(content[..8].try_into().unwrap())
}

/// Sends until the connection breaks, with up to ten unconfirmed messages.
fn send(address: SocketAddr, known: &Known, queue: &str) -> std::io::Result<()> {
    let mut peer = Peer::connect(address)?;
    peer.sender(0, queue)?;
    loop {
        let mut sent = Vec::new();
        for _ in 0..10 {
            let number = known.next.fetch_add(1, Ordering::SeqCst);
            sent.push((peer.put(0, None, &message(true, &number.to_be_bytes()))?, number));
        }
        // One range may answer several, in the order of the deliveries.
        let mut answered = 0;
        while answered < sent.len() {
            let ids: Vec<u32> = sent.iter().map(|(id, _)| *id).collect();
            let (first, last, state) = peer.until(|answer| match answer.performative {
                quayline_amqp::Performative::Disposition(found) => {
                    Some((found.first, found.last.unwrap_or(found.first), found.state))
                }
                _ => None,
            })?;
            assert_eq!(state, Some(DeliveryState::Accepted));
            let mut accepted = known.accepted.lock().unwrap();
            for id in first..=last {
                let place = ids.iter().position(|sent| *sent == id).unwrap();
                accepted.insert(sent[place].1);
                answered += 1;
            }
        }
    }
}

/// Receives until the connection breaks; each message is accepted and the confirmation awaited.
fn receive(address: SocketAddr, known: &Known, queue: &str) -> std::io::Result<()> {
    let mut peer = Peer::connect(address)?;
    // One at a time: what comes while this waits for a confirmation would be passed over.
    peer.receiver(0, queue, 1)?;
    for count in 1.. {
        let (id, _, content) = peer.get()?;
        known.received.lock().unwrap().entry(number(&content)).or_default().0 += 1;
        peer.settle(id, false, DeliveryState::Accepted)?;
        peer.confirmed(id)?;
        known.received.lock().unwrap().entry(number(&content)).or_default().1 += 1;
        peer.credit(0, count, 1)?;
    }
    Ok(())
}

/// Moves messages from one queue to another in transactions until the connection breaks; every fifth is rolled back.
fn transact(address: SocketAddr) -> std::io::Result<()> {
    let mut peer = Peer::connect(address)?;
    peer.coordinator(1)?;
    peer.sender(2, "TX.OUT")?;
    peer.receiver(0, "TX.IN", 1)?;
    for round in 0_u32.. {
        let txn_id = peer.declare(1)?;
        let (id, _, content) = peer.get()?;
        let state = |outcome| DeliveryState::Transactional { txn_id: txn_id.clone(), outcome };
        peer.put(2, Some(state(None)), &message(true, &content))?;
        peer.settle(id, true, state(Some(Box::new(DeliveryState::Accepted))))?;
        let rolls_back = round % 5 == 4;
        let outcome = peer.discharge(1, &txn_id, rolls_back)?;
        assert_eq!(outcome, DeliveryState::Accepted);
        peer.credit(0, round + 1, 1)?;
    }
    Ok(())
}

#[test]
fn kill_9_loses_no_accepted_message_and_no_transaction_happens_in_part() {
    const MOVED: u64 = 3_000;
    let kills = std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_u64);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    {
        // Poison is not part of this: rollbacks and broken connections count, but nothing moves away.
        let store = store(&folder);
        for name in ["TX.IN", "MANY"] {
            store.delete_queue(name).unwrap();
            let mut unit = store.begin().unwrap();
            let definition = quayline_store::queue::QueueDefinition::local(name);
            let definition = quayline_store::queue::QueueDefinition { backout_threshold: 0, ..definition };
            store.define_queue(&mut unit, definition).unwrap();
            unit.commit().unwrap();
        }
        let queue = store.queue("TX.IN").unwrap();
        let mut unit = store.begin().unwrap();
        for number in 0..MOVED {
            queue.put(&mut unit, &quayline_store::queue::Message::new(number.to_be_bytes())).unwrap();
        }
        unit.commit().unwrap();
    }
    let known = Known::default();
    for kill in 0..kills {
        let (mut child, address) = start(&folder);
        std::thread::scope(|scope| {
            let workers = [
                scope.spawn(|| send(address, &known, "MANY")),
                scope.spawn(|| receive(address, &known, "MANY")),
                scope.spawn(|| transact(address)),
                scope.spawn(|| transact(address)),
            ];
            // Everybody has done something, on a machine however slow; then at any moment.
            let counts = || (known.accepted.lock().unwrap().len(), known.received.lock().unwrap().len());
            let before = counts();
            let began = Instant::now();
            while (counts().0 < before.0 + 10 || counts().1 < before.1 + 3) && began.elapsed() < Duration::from_secs(30)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis((kill * 97) % 200));
            child.kill().unwrap();
            child.wait().unwrap();
            for worker in workers {
                // Every worker ends by the broken connection, and not by an assertion.
                assert!(worker.join().unwrap().is_err());
            }
        });
    }
    let store = store(&folder);
    let take = |name: &str| {
        let queue = store.queue(name).unwrap();
        let mut found = Vec::new();
        let mut unit = store.begin().unwrap();
        while let Ok(message) =
            queue.get(&mut unit, quayline_store::queue::Select::First, quayline_store::queue::GetWait::No)
        {
            let sections = quayline_amqp::Sections::split(&message.payload);
            let content = sections.map_or(message.payload.as_slice(), |sections| sections.body.content);
            found.push(number(content));
        }
        unit.commit().unwrap();
        found
    };
    let left = take("MANY");
    let accepted = known.accepted.into_inner().unwrap();
    let received = known.received.into_inner().unwrap();
    let there: BTreeSet<u64> = left.iter().copied().collect();
    assert_eq!(there.len(), left.len(), "no message is on the queue twice");
    for number in &accepted {
        assert!(there.contains(number) || received.contains_key(number), "accepted message {number} is lost");
    }
    for (number, (times, confirmed)) in &received {
        assert!(*confirmed <= 1, "message {number} was confirmed {confirmed} times");
        assert!(*confirmed == 0 || !there.contains(number), "message {number} was confirmed and is still there");
        // Once more for each kill at most: the server died after it sent and before it confirmed.
        assert!(u64::from(*times) <= kills, "message {number} was received {times} times");
    }
    let mut moved = [take("TX.IN"), take("TX.OUT")].concat();
    let count = moved.len();
    moved.sort_unstable();
    moved.dedup();
    assert_eq!((moved.len(), count), (usize::try_from(MOVED).unwrap(), usize::try_from(MOVED).unwrap()));
    eprintln!("{kills} kills: {} accepted, {} received, {} left", accepted.len(), received.len(), left.len());
    let least = usize::try_from(kills).unwrap();
    assert!(accepted.len() >= 10 * least && received.len() >= 2 * least, "the clients did something");
}
