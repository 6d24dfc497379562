//! A flow that is killed at random, again and again, in most tests together with the server on its other side.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use quayline_store::queue::{DEAD_LETTER, GetWait, Message, QueueDefinition, Select};
use quayline_store::{Store, StoreError};

use crate::crash::open;
use crate::support::{PATIENCE, run, running, until};

/// Runs the flow of a folder in the child process until it is killed.
pub(crate) fn child(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("flow.toml")).expect("a file");
    let (store, _engine) = open(&folder.join("data"));
    let _running = run(&store, folder, &text, 2);
    std::fs::write(folder.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

/// Queue to which the flow of a bridge puts each message.
pub(crate) const KEPT: &str = "KEPT";
/// Messages of a round.
pub(crate) const PER_ROUND: usize = 300;

/// A folder with a flow and its store.
pub(crate) struct Bridge {
    place: tempfile::TempDir,
    text: String,
    outbox: String,
}

impl Bridge {
    pub(crate) fn new(text: &str, outbox: &str) -> Bridge {
        Bridge::with(text, outbox, &[])
    }

    /// A bridge with more queues.
    pub(crate) fn with(text: &str, outbox: &str, queues: &[&str]) -> Bridge {
        let place = tempfile::TempDir::new().expect("a temporary folder");
        std::fs::write(place.path().join("flow.toml"), text).expect("a file");
        let bridge = Bridge { place, text: text.to_owned(), outbox: outbox.to_owned() };
        bridge.in_store(|store| {
            let mut unit = store.begin().expect("a unit");
            for name in [KEPT, outbox, DEAD_LETTER].iter().chain(queues) {
                let definition = QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) };
                store.define_queue(&mut unit, definition).expect("a definition");
            }
            unit.commit().expect("a commit");
        });
        bridge
    }

    /// Folder of the flow.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Opens the store between two children.
    pub(crate) fn in_store<T>(&self, work: impl FnOnce(&Store) -> T) -> T {
        let (store, engine) = open(&self.place.path().join("data"));
        let done = work(&store);
        drop(store);
        engine.close().expect("closed");
        done
    }

    /// Starts a child that runs the flow, and waits until it does. `test` is the name of the child's test, and `variable` passes its folder.
    pub(crate) fn child(&self, (test, variable): (&str, &str)) -> Child {
        running(test, variable, self.place.path())
    }

    /// Kills a child that processes messages of the store, in each round after `put`, which puts them between two children. `kill_other` kills the other
    /// side. Half as many kills as `rounds` must leave messages on `queues`; on a busy machine this may take more rounds. Returns their number.
    pub(crate) fn kills_of_queues(
        &self,
        child: (&str, &str),
        (rounds, pause_ms): (u32, u32),
        mut put: impl FnMut(&Store, u32),
        kill_other: impl Fn(),
        queues: &[&str],
    ) -> u32 {
        let mut seed = 0x51ed_u32;
        let (mut with_work, mut latest_ms) = (0, pause_ms);
        for round in 0..rounds * 4 {
            if round >= rounds && with_work * 2 >= rounds {
                return round;
            }
            self.in_store(|store| put(store, round));
            let mut child = self.child(child);
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            std::thread::sleep(Duration::from_micros(u64::from((seed >> 8) % (latest_ms * 1_000))));
            kill_other();
            child.kill().expect("kill -9");
            child.wait().expect("the child ended");
            let is_left = self.in_store(|store| queues.iter().any(|name| depth(store, name) > 0));
            with_work += u32::from(is_left);
            latest_ms = next_latest(latest_ms, pause_ms, is_left);
        }
        assert!(with_work * 2 >= rounds, "only {with_work} of {} kills left work", rounds * 4);
        rounds * 4
    }

    /// Kills a child that runs the flow in each round, and before it the other side, which starts again. `test` is the name of the child's test, and
    /// `variable` passes its folder. At the beginning of a round, `send` sends the messages with its numbers to the other side. A pause between kills
    /// takes up to `pause_ms`. Returns the number of messages.
    pub(crate) fn kills(
        &self,
        child: (&str, &str),
        (rounds, pause_ms): (u32, u32),
        mut send: impl FnMut(Range<usize>),
        kill: impl Fn(),
        again: impl Fn(),
    ) -> usize {
        let mut seed = 0x0bad_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Duration::from_millis(u64::from((seed >> 16) % below))
        };
        let (mut sent, mut with_work, mut latest_ms) = (0, 0, pause_ms);
        for round in 0..rounds * 4 {
            if round >= rounds && with_work * 2 >= rounds {
                return sent;
            }
            let mut child = self.child(child);
            send(sent..sent + PER_ROUND);
            sent += PER_ROUND;
            std::thread::sleep(random(latest_ms));
            kill();
            std::thread::sleep(random(40));
            again();
            std::thread::sleep(random(latest_ms));
            child.kill().expect("kill -9");
            child.wait().expect("the child ended");
            let is_left = self.in_store(|store| depth(store, KEPT) < sent as u64 || depth(store, &self.outbox) > 0);
            with_work += u32::from(is_left);
            latest_ms = next_latest(latest_ms, pause_ms, is_left);
        }
        assert!(with_work * 2 >= rounds, "only {with_work} of {} kills left work", rounds * 4);
        sent
    }

    /// Runs the flow to its end: each of `count` messages is on the queue [`KEPT`] once, and the outbox is empty. Returns the messages in their order.
    pub(crate) fn ends_with_each_effect_once(&self, count: usize) -> Vec<Message> {
        self.ends(|store, failed| {
            loop {
                let received = depth(store, KEPT);
                if received >= count as u64 {
                    break;
                }
                until("a message is received", || depth(store, KEPT) > received);
            }
            until_empty(store, &[&self.outbox]);
            assert_eq!(depth(store, DEAD_LETTER), 0, "{}", failed());
        });
        let mut effects = BTreeSet::new();
        let kept = self.in_store(|store| all(store, KEPT));
        assert!(kept.iter().all(|message| effects.insert(&message.payload)), "a message has two effects");
        assert_eq!(kept.len(), count);
        kept
    }

    /// Runs the flow while `work` waits for its end. Its second argument returns the errors of the flow.
    pub(crate) fn ends(&self, work: impl FnOnce(&Store, &dyn Fn() -> String)) {
        self.in_store(|store| {
            let (flows, said) = run(store, self.place.path(), &self.text, 2);
            let failed =
                || said.failed.lock().expect("no panic").iter().map(|(f, _)| f.to_string()).collect::<String>();
            work(store, &failed);
            flows.drain();
        });
    }
}

pub(crate) fn depth(store: &Store, queue: &str) -> u64 {
    store.queue(queue).and_then(|queue| queue.facts()).expect("facts").depth
}

/// Waits until queues are empty and no unit of work has put a message that they do not count yet. A commit changes its queues one after another, so
/// name them in the order in which messages pass through them. Many kills leave thousands of messages, so the limit applies to each part of the wait in
/// which nothing changes.
pub(crate) fn until_empty(store: &Store, queues: &[&str]) {
    let left = |name: &&str| {
        let facts = store.queue(name).and_then(|queue| queue.facts()).expect("facts");
        facts.depth + facts.uncommitted
    };
    let sum = || queues.iter().map(left).sum::<u64>();
    loop {
        let left = sum();
        if left == 0 {
            return;
        }
        until("a message is processed", || sum() != left);
    }
}

/// Messages of a queue.
pub(crate) fn all(store: &Store, queue: &str) -> Vec<Message> {
    let mut unit = store.begin().expect("a unit");
    let queue = store.queue(queue).expect("a queue");
    let mut messages = Vec::new();
    loop {
        match queue.get(&mut unit, Select::First, GetWait::No) {
            Ok(message) => messages.push(message),
            Err(StoreError::NoMessage { .. }) => break,
            Err(error) => panic!("{error}"),
        }
        if messages.len() % 1_000 == 0 {
            unit.commit().expect("a commit");
            unit = store.begin().expect("a unit");
        }
    }
    unit.roll_back();
    messages
}

/// Number of the message, which is its content.
pub(crate) fn number(message: &Message) -> usize {
    std::str::from_utf8(&message.payload).ok().and_then(|text| text.parse().ok()).expect("a number")
}

/// Returns the longest pause before the next kill: half of the last one if that kill came too late to leave work, so that a machine of any speed has
/// kills in the middle of work.
fn next_latest(latest_ms: u32, pause_ms: u32, left_work: bool) -> u32 {
    if left_work { (latest_ms * 2).min(pause_ms) } else { (latest_ms / 2).max(1) }
}
