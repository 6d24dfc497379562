//! The bound of messages that only memory has.

use std::sync::Arc;

use quayline_store::queue::{GetWait, Message, Persistence, Queue, QueueDefinition, QueueKind, Select};
use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreError, StoreLimits};

const MAX: usize = 10_000;

fn opened() -> (Store, Arc<ManualClock>) {
    opened_with(StoreLimits { queue_memory_bytes_max: MAX, ..StoreLimits::default() })
}

fn opened_with(limits: StoreLimits) -> (Store, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(1_000, 1));
    let shared: Arc<ManualClock> = Arc::clone(&clock);
    let store = Store::open(Arc::new(MemoryEngine::new()), shared, limits, Access::Write).expect("a new store");
    (store, clock)
}

fn define(store: &Store, definition: QueueDefinition) -> Queue {
    let name = definition.name.clone();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
    store.queue(&name).expect("opened")
}

fn volatile(bytes: usize) -> Message {
    let properties = vec![("from".to_owned(), b"here".to_vec())];
    Message { persistence: Persistence::NotPersistent, properties, ..Message::new(vec![7; bytes]) }
}

fn bytes(queue: &Queue) -> u64 {
    queue.facts().expect("facts").memory_bytes
}

/// Puts until the queue is full, each message in its own unit of work. Returns their number.
fn fill(store: &Store, queue: &Queue) -> u64 {
    for count in 0.. {
        let mut unit = store.begin().expect("a unit");
        match queue.put(&mut unit, &volatile(900)) {
            Ok(_) => unit.commit().expect("committed"),
            Err(error @ StoreError::QueueFull { memory_bytes: Some(_), .. }) => {
                let finding = error.finding();
                assert!(finding.hint.expect("a remedy").contains("persistent messages"), "{}", finding.message);
                return count;
            }
            Err(other) => panic!("{other}"),
        };
        assert!(bytes(queue) <= MAX as u64);
    }
    unreachable!("the queue is full before")
}

#[test]
fn messages_that_do_not_persist_have_a_bound_in_bytes() {
    let (store, _) = opened();
    let queue = define(&store, QueueDefinition::local("Q"));
    let count = fill(&store, &queue);
    assert!((9..=10).contains(&count), "{count} messages of about 1,000 bytes");
    // A persistent message is stored on disk, and another queue has a separate limit.
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &Message::new(vec![7; MAX])).expect("put");
    define(&store, QueueDefinition::local("OTHER")).put(&mut unit, &volatile(2 * MAX)).expect("one message fits");
    unit.commit().expect("committed");
    // A get makes room when it commits, and a unit that rolls back takes none.
    let mut unit = store.begin().expect("a unit");
    queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
    let mut other = store.begin().expect("a unit");
    assert!(matches!(queue.put(&mut other, &volatile(900)), Err(StoreError::QueueFull { .. })));
    unit.commit().expect("committed");
    queue.put(&mut other, &volatile(900)).expect("there is room");
    other.roll_back();
    assert_eq!(fill(&store, &queue), 1);
    assert_eq!(queue.purge(&store).expect("purged"), count + 1);
    assert_eq!(bytes(&queue), 0, "nothing is left");
}

/// Rollbacks, expiry, the move to the backout queue and topics all release the bytes of the messages that leave.
#[test]
fn no_way_out_of_a_queue_leaves_bytes() {
    let (store, clock) = opened();
    let backout = define(&store, QueueDefinition::local("B"));
    let limits = QueueDefinition { backout_threshold: 2, backout_queue: "B".to_owned(), ..QueueDefinition::local("Q") };
    let queue = define(&store, limits);
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &volatile(100)).expect("put");
    unit.commit().expect("committed");
    let one = bytes(&queue);
    for _ in 0..2 {
        assert_eq!(bytes(&queue), one);
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        unit.roll_back();
    }
    assert_eq!(bytes(&queue), 0, "the message moved");
    assert!(bytes(&backout) > one, "it has its reason now");
    backout.retry(&store, 1).expect("returned");
    assert_eq!((bytes(&queue), bytes(&backout)), (one, 0));
    assert_eq!(queue.purge(&store).expect("purged"), 1);
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &Message { expires_ms: 2_000, ..volatile(100) }).expect("put");
    unit.commit().expect("committed");
    clock.set(3_000);
    let mut unit = store.begin().expect("a unit");
    assert!(queue.get(&mut unit, Select::First, GetWait::No).is_err(), "it has expired");
    assert_eq!(bytes(&queue), 0, "it is gone");
    // A topic puts on all of its queues or on none.
    let subscribers = vec!["B".to_owned(), "Q".to_owned()];
    let topic = define(&store, QueueDefinition { kind: QueueKind::Topic(subscribers), ..QueueDefinition::local("T") });
    fill(&store, &queue);
    assert!(matches!(topic.put(&mut unit, &volatile(900)), Err(StoreError::QueueFull { .. })));
    assert_eq!(bytes(&backout), 0, "its place is free again");
}

/// Fails on each message of a queue once. Returns their number.
fn fail_on_all(store: &Store, queue: &Queue) -> usize {
    let mut units = Vec::new();
    loop {
        let mut unit = store.begin().expect("a unit");
        if queue.get(&mut unit, Select::First, GetWait::No).is_err() {
            break;
        }
        units.push(unit);
    }
    let count = units.len();
    units.into_iter().for_each(quayline_store::Unit::roll_back);
    count
}

fn put_numbers(store: &Store, queue: &Queue, count: u8) {
    for number in 0..count {
        let mut unit = store.begin().expect("a unit");
        queue.put(&mut unit, &Message::new(vec![number; 1_000])).expect("put");
        unit.commit().expect("committed");
    }
}

/// Persistent messages that wait for their retry are in the store only, and return in order within the limits of the memory window.
#[test]
fn a_retry_pause_keeps_no_content_in_memory() {
    let (store, clock) = opened_with(StoreLimits { queue_window_messages_max: 8, ..StoreLimits::default() });
    let definition = QueueDefinition { retry_ms: 1_000, backout_threshold: 0, ..QueueDefinition::local("Q") };
    let queue = define(&store, definition);
    put_numbers(&store, &queue, 100);
    assert_eq!(fail_on_all(&store, &queue), 100);
    assert_eq!(queue.facts().expect("facts").in_memory, 0);
    let unit = store.begin().expect("a unit");
    let seen = queue.browse(&unit, None, 1_000).expect("browsed");
    assert!(seen.len() == 100 && seen.iter().all(|seen| seen.due_ms == Some(2_000) && seen.bytes == 1_000));
    clock.set(5_000);
    for number in 0..100 {
        let mut unit = store.begin().expect("a unit");
        let message = queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        assert_eq!((message.payload, message.backout_count), (vec![number; 1_000], 1));
        assert!(queue.facts().expect("facts").in_memory <= 8);
        unit.commit().expect("committed");
    }
    assert_eq!(fail_on_all(&store, &queue), 0);
}

/// A queue with the maximum number of delayed messages returns no other message until a delay ends.
#[test]
fn the_number_of_messages_in_a_retry_pause_is_bounded() {
    let (store, clock) = opened_with(StoreLimits { queue_delayed_max: 5, ..StoreLimits::default() });
    let definition = QueueDefinition { retry_ms: 1_000, backout_threshold: 0, ..QueueDefinition::local("Q") };
    let queue = define(&store, definition);
    put_numbers(&store, &queue, 9);
    for _ in 0..5 {
        let mut unit = store.begin().expect("a unit");
        queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        unit.roll_back();
    }
    let mut unit = store.begin().expect("a unit");
    assert!(matches!(queue.get(&mut unit, Select::First, GetWait::No), Err(StoreError::NoMessage { .. })));
    clock.set(5_000);
    let mut units = Vec::new();
    for number in 0..9 {
        let mut unit = store.begin().expect("a unit");
        let message = queue.get(&mut unit, Select::First, GetWait::No).expect("a message");
        assert_eq!(message.payload.first(), Some(&number));
        units.push(unit);
    }
    for unit in units {
        unit.commit().expect("committed");
    }
}
