//! Queues over the engine: their state after a restart, and messages that never reach the tree.

use std::sync::Arc;

use quayline_store::queue::{GetWait, Message, Persistence, Queue, QueueDefinition, Select};
use quayline_store::{Access, Engine, Store, StoreLimits};
use quayline_store_embedded::fake::{Chance, FakeDisk, Trouble};
use quayline_store_embedded::{EmbeddedEngine, Settings, Work};

use crate::support::{clock, open, small};

/// Longer content is in parts.
const PART: usize = 300;

fn store(disk: &FakeDisk, settings: Settings) -> (Store, Arc<EmbeddedEngine>) {
    let engine = Arc::new(open(disk, settings, 1).expect("the store opens"));
    let limits = StoreLimits { queue_window_messages_max: 5, message_part_bytes: PART, ..StoreLimits::default() };
    (Store::open(engine.clone(), clock(2), limits, Access::Write).expect("the store opens"), engine)
}

fn define(store: &Store, definition: QueueDefinition) -> Queue {
    let name = definition.name.clone();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
    store.queue(&name).expect("opened")
}

fn put(store: &Store, queue: &Queue, message: &Message) {
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, message).expect("put");
    unit.commit().expect("committed");
}

#[test]
fn a_restart_keeps_persistent_messages_their_order_and_their_backout_count() {
    let disk = FakeDisk::new(1);
    {
        let (store, engine) = store(&disk, small());
        let queue = define(&store, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") });
        for payload in 0..20u8 {
            put(&store, &queue, &Message::new([payload]));
            put(&store, &queue, &Message { persistence: Persistence::NotPersistent, ..Message::new([100 + payload]) });
            if payload == 11 {
                engine.apply().expect("applied");
            }
        }
        for _ in 0..2 {
            let mut unit = store.begin().expect("a unit");
            queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
            unit.roll_back();
        }
        engine.flush().expect("the counts are written");
        // This unit is open when the process ends.
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        std::mem::forget(unit);
    }
    let (store, _engine) = store(&disk.after_power_cut(), small());
    let queue = store.queue("Q").expect("opened");
    assert_eq!(queue.facts().expect("facts").depth, 20);
    for payload in 0..20u8 {
        let mut unit = store.begin().expect("a unit");
        let found = queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        assert_eq!(
            (found.payload.as_slice(), found.backout_count),
            ([payload].as_slice(), if payload == 0 { 2 } else { 0 })
        );
        unit.commit().expect("committed");
    }
}

#[test]
fn a_message_that_is_put_and_got_never_reaches_the_tree() {
    let (store, engine) = store(&FakeDisk::new(1), small());
    let queue = define(&store, QueueDefinition::local("Q"));
    engine.apply().expect("applied");
    let before = engine.facts().applied_changes;
    for payload in 0..100u8 {
        put(&store, &queue, &Message::new([payload]));
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        unit.commit().expect("committed");
    }
    assert_eq!(engine.facts().delta_bytes, 0, "nothing is left in memory");
    engine.apply().expect("applied");
    assert_eq!(engine.facts().applied_changes, before);
}

#[test]
fn a_log_of_passing_messages_is_freed() {
    let disk = FakeDisk::new(1);
    let (store, _engine) = store(&disk, Settings { work: Work::Background, apply_interval_ms: 1, ..small() });
    let queue = define(&store, QueueDefinition::local("Q"));
    for _ in 0..2_000 {
        put(&store, &queue, &Message::new(vec![1; 200]));
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        unit.commit().expect("committed");
    }
    let files: &dyn quayline_store_embedded::Medium = &disk;
    let segments = || files.list().expect("a list").iter().filter(|name| name.starts_with("log-")).count();
    // The applier is a thread of its own; on a busy machine it comes to its turn later.
    let began = std::time::Instant::now();
    while segments() >= 20 && began.elapsed() < std::time::Duration::from_secs(60) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(segments() < 20, "about 80 segments were written, {} are left", segments());
}

/// Moves messages from one queue to another until the power is cut; afterwards each message is on exactly one of them, with all parts of its content.
#[test]
fn a_power_cut_leaves_each_message_on_exactly_one_queue() {
    const MESSAGES: usize = 30;
    let mut chance = Chance(8);
    let mut disk = FakeDisk::new(2);
    {
        let (store, _engine) = store(&disk, small());
        let queue = define(&store, QueueDefinition::local("A"));
        define(&store, QueueDefinition::local("B"));
        (0..30u8).for_each(|number| put(&store, &queue, &Message::new(content(number))));
    }
    for image in 0..300 {
        disk.set_trouble(Trouble { cut_in: Some(8 + chance.below(120)), ..Trouble::default() });
        let (from, to) = if image % 2 == 0 { ("A", "B") } else { ("B", "A") };
        if let Ok(engine) = open(&disk, small(), image) {
            let engine = Arc::new(engine);
            let limits = StoreLimits { message_part_bytes: PART, ..StoreLimits::default() };
            let opened = Store::open(engine.clone(), clock(image), limits, Access::Write);
            if let Ok(store) = opened {
                while move_one(&store, from, to).is_some() {
                    if chance.below(6) == 0 && engine.apply().is_err() {
                        break;
                    }
                }
            }
        }
        disk = disk.after_power_cut();
        let (store, _engine) = store(&disk, small());
        let unit = store.begin().expect("a unit");
        let mut found: Vec<u8> = ["A", "B"]
            .iter()
            .flat_map(|name| store.queue(name).expect("opened").browse(&unit, None, 100).expect("readable"))
            .map(|browsed| {
                let payload = browsed.message.payload;
                assert!(payload == content(payload[0]), "image {image}: a message has other content");
                payload[0]
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found.len(), MESSAGES, "image {image}");
        found.dedup();
        assert_eq!(found.len(), MESSAGES, "image {image}: a message is there twice");
    }
}

/// One of three messages has one byte, the others have one part and several.
fn content(number: u8) -> Vec<u8> {
    vec![number; [1, PART, 3 * PART + 1][usize::from(number % 3)]]
}

fn move_one(store: &Store, from: &str, to: &str) -> Option<()> {
    let (from, to) = (store.queue(from).ok()?, store.queue(to).ok()?);
    let mut unit = store.begin().ok()?;
    let message = from.get(&mut unit, Select::First, GetWait::No).ok()?;
    to.put(&mut unit, &message).ok()?;
    unit.commit().ok().map(|_| ())
}
