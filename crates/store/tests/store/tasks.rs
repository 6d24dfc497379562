//! Tasks that hold no thread: they are woken when a message arrives or a lock is free.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use quayline_store::queue::{GetWait, Message, Polled, Queue, QueueDefinition, Select};
use quayline_store::{LockWait, RollBack, Space, Store, StoreError};

use crate::new_store;

/// Counts its wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn task() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

fn queue(store: &Store, name: &str) -> Queue {
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, QueueDefinition::local(name)).expect("a definition");
    unit.commit().expect("a commit");
    store.queue(name).expect("a queue")
}

fn put(store: &Store, queue: &Queue, message: &Message) {
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, message).expect("a put");
    unit.commit().expect("a commit");
}

#[test]
fn an_arrival_wakes_one_task_and_a_rollback_wakes_all() {
    let store = new_store();
    let queue = queue(&store, "Q");
    let (first, second) = (task(), task());
    let mut unit = store.begin().expect("a unit");
    for (_, waker) in [&first, &second, &first] {
        let found = queue.poll_get(&mut unit, Select::First, waker).expect("an answer");
        assert!(matches!(found, Polled::Nothing { due_ms: None }));
    }
    let woken = || (first.0.0.load(Ordering::SeqCst), second.0.0.load(Ordering::SeqCst));
    put(&store, &queue, &Message::new(*b"a"));
    assert_eq!(woken(), (1, 0), "the task that waits longest, once");
    let Polled::Message(message) = queue.poll_get(&mut unit, Select::First, &first.1).expect("an answer") else {
        panic!("a message is there");
    };
    assert_eq!(message.payload, b"a");
    unit.roll_back();
    assert_eq!(woken(), (1, 1), "the message is available again");
}

#[test]
fn a_task_that_looks_for_one_message_is_woken_with_all_others() {
    let store = new_store();
    let queue = queue(&store, "Q");
    let (any, choosy) = (task(), task());
    let mut unit = store.begin().expect("a unit");
    let wanted = [7; 24];
    queue.poll_get(&mut unit, Select::First, &any.1).expect("an answer");
    queue.poll_get(&mut unit, Select::Correlation(wanted), &choosy.1).expect("an answer");
    put(&store, &queue, &Message { correlation: wanted, ..Message::new(*b"a") });
    assert_eq!((any.0.0.load(Ordering::SeqCst), choosy.0.0.load(Ordering::SeqCst)), (1, 1));
    let found = queue.poll_get(&mut unit, Select::Correlation(wanted), &choosy.1).expect("an answer");
    assert!(matches!(found, Polled::Message(_)));
}

#[test]
fn a_delayed_message_says_when_it_is_due() {
    let store = new_store();
    let mut unit = store.begin().expect("a unit");
    let definition = QueueDefinition { retry_ms: 500, backout_threshold: 0, ..QueueDefinition::local("Q") };
    store.define_queue(&mut unit, definition).expect("a definition");
    unit.commit().expect("a commit");
    let queue = store.queue("Q").expect("a queue");
    put(&store, &queue, &Message::new(*b"a"));
    let (_, waker) = task();
    let mut unit = store.begin().expect("a unit");
    assert!(matches!(queue.poll_get(&mut unit, Select::First, &waker), Ok(Polled::Message(_))));
    unit.roll_back();
    let mut unit = store.begin().expect("a unit");
    let found = queue.poll_get(&mut unit, Select::First, &waker).expect("an answer");
    assert!(matches!(found, Polled::Nothing { due_ms: Some(1_000_500) }), "{found:?}");
    // A browse left it out, so the queue looked empty.
    let seen = queue.browse(&unit, None, 10).expect("messages");
    let seen: Vec<_> = seen.iter().map(|browsed| (browsed.message.backout_count, browsed.due_ms)).collect();
    assert_eq!(seen, [(1, Some(1_000_500))]);
}

#[test]
fn work_that_is_ended_from_outside_counts_no_rollback() {
    let store = new_store();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, QueueDefinition::local("Q")).expect("a definition");
    unit.commit().expect("a commit");
    let queue = store.queue("Q").expect("a queue");
    put(&store, &queue, &Message::new(*b"a"));
    let (_, waker) = task();
    for (how, count) in [(RollBack::Ended, 0), (RollBack::Failed(None), 1), (RollBack::Ended, 1)] {
        let mut unit = store.begin().expect("a unit");
        assert!(matches!(queue.poll_get(&mut unit, Select::First, &waker), Ok(Polled::Message(_))));
        unit.roll_back_as(how);
        let unit = store.begin().expect("a unit");
        let seen = queue.browse(&unit, None, 10).expect("messages");
        assert_eq!(seen.iter().map(|browsed| browsed.message.backout_count).collect::<Vec<_>>(), [count]);
    }
}

/// Regression: a message that reached its threshold without a backout queue could not be got for a minute.
#[test]
fn a_message_without_a_backout_queue_can_be_got_again_soon() {
    let store = new_store();
    let mut unit = store.begin().expect("a unit");
    let backout_queue = "NOPE".to_owned();
    let definition = QueueDefinition { backout_threshold: 1, backout_queue, ..QueueDefinition::local("Q") };
    store.define_queue(&mut unit, definition).expect("a definition");
    unit.commit().expect("a commit");
    let queue = store.queue("Q").expect("a queue");
    put(&store, &queue, &Message::new(*b"a"));
    let (_, waker) = task();
    let mut unit = store.begin().expect("a unit");
    assert!(matches!(queue.poll_get(&mut unit, Select::First, &waker), Ok(Polled::Message(_))));
    unit.roll_back();
    let mut unit = store.begin().expect("a unit");
    let found = queue.poll_get(&mut unit, Select::First, &waker).expect("an answer");
    assert!(matches!(found, Polled::Nothing { due_ms: Some(1_001_000) }), "{found:?}");
}

#[test]
fn a_unit_without_a_thread_is_woken_when_its_lock_is_free() {
    let store = new_store();
    let mut holder = store.begin().expect("a unit");
    holder.put(Space::CHECKPOINTS, b"k", *b"1").expect("a put");
    let (count, waker) = task();
    let mut waiter = store.begin().expect("a unit");
    waiter.wake_for_locks(&waker);
    for _ in 0..2 {
        let refused = waiter.put(Space::CHECKPOINTS, b"k", *b"2");
        assert!(matches!(refused, Err(StoreError::LockTimeout { waited_ms: 0, .. })), "{refused:?}");
    }
    // A cycle is detected although no thread waits.
    waiter.put(Space::CHECKPOINTS, b"other", *b"2").expect("a free lock");
    assert!(waiter.put(Space::CHECKPOINTS, b"k", *b"2").is_err());
    let (_, other) = task();
    holder.wake_for_locks(&other);
    let circle = holder.read_for_update(Space::CHECKPOINTS, b"other", LockWait::Default);
    assert!(matches!(circle, Err(StoreError::Deadlock { .. })), "{circle:?}");
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    holder.roll_back();
    assert!(count.0.load(Ordering::SeqCst) >= 1);
    waiter.put(Space::CHECKPOINTS, b"k", *b"2").expect("the lock is free");
    waiter.commit().expect("a commit");
    assert_eq!(store.locks_held(), 0);
}

#[test]
fn a_task_that_has_no_room_hands_its_turn_to_another() {
    let store = new_store();
    let queue = queue(&store, "Q");
    let (full, free) = (task(), task());
    let mut unit = store.begin().expect("a unit");
    for (_, waker) in [&full, &free] {
        queue.poll_get(&mut unit, Select::First, waker).expect("an answer");
    }
    queue.forget(&full.1);
    queue.forget(&full.1);
    assert_eq!(free.0.0.load(Ordering::SeqCst), 0, "there is nothing to look for");
    queue.poll_get(&mut unit, Select::First, &full.1).expect("an answer");
    put(&store, &queue, &Message::new(*b"a"));
    assert_eq!((full.0.0.load(Ordering::SeqCst), free.0.0.load(Ordering::SeqCst)), (0, 1));
    queue.forget(&free.1);
    assert_eq!(full.0.0.load(Ordering::SeqCst), 1, "the message is still there for the other task");
}

/// The reported waits and CPU times must result from the operations that caused them.
#[test]
fn waits_and_costs_are_counted_where_they_arise() {
    use quayline_store::LockWait;
    use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};

    let store = crate::new_store();
    let mut unit = store.begin().unwrap();
    store.define_queue(&mut unit, QueueDefinition::local("Q")).unwrap();
    unit.commit().unwrap();
    let before = store.usage();
    let queue = store.queue("Q").unwrap();
    for _ in 0..100 {
        let mut unit = store.begin().unwrap();
        queue.put(&mut unit, &Message::new(vec![1; 100])).unwrap();
        unit.commit().unwrap();
        let mut unit = store.begin().unwrap();
        queue.get(&mut unit, Select::First, GetWait::No).unwrap();
        unit.commit().unwrap();
    }
    let mut waits = store.begin().unwrap();
    assert!(queue.get(&mut waits, Select::First, GetWait::AtMostMs(5)).is_err());
    let mut holder = store.begin().unwrap();
    let space = quayline_store::Space(9_999);
    holder.put(space, b"k", b"v".as_slice()).unwrap();
    assert!(waits.lock(space, b"k", LockWait::AtMostMs(5)).is_err());
    drop((waits, holder));
    let usage = store.usage();
    assert_eq!((usage.committed - before.committed, usage.rolled_back - before.rolled_back), (200, 1));
    assert_eq!(usage.changes - before.changes, 200);
    assert_eq!((usage.lock_waits, usage.lock_timeouts, usage.deadlocks, usage.message_waits), (1, 1, 0, 1));
    assert!(usage.lock_wait_us >= 5_000 && usage.message_wait_us >= 5_000, "{usage:?}");
    assert!(usage.queues.count >= 6 && usage.queues.mean_ns() > 0, "{usage:?}");
    assert!(
        usage.commits.count >= 6 && usage.commits.mean_ns() > 0 && usage.commit_max_us <= usage.commit_us,
        "{usage:?}"
    );
    assert_eq!(
        store.open_queues().iter().map(|(name, facts)| (name.as_str(), facts.depth)).collect::<Vec<_>>(),
        [("Q", 0)]
    );
}

/// Each file and queue has separate figures, an index counts toward its file, and a wait that blocks no thread is timed as well.
#[test]
fn waits_and_costs_are_known_by_file_and_queue() {
    use quayline_store::Owner;
    use quayline_store::queue::GetWait;
    use quayline_store::record_file::{
        AlternateIndex, By, Duplicates, FileDefinition, KeyPlace, Organisation, Relation,
    };

    let store = crate::store_with(quayline_store::StoreLimits { lock_wait_ms_max: 5, ..Default::default() });
    let (busy, idle) = (queue(&store, "BUSY"), queue(&store, "IDLE"));
    let place = |offset, length| KeyPlace { offset, length };
    let definition = |name: &str| FileDefinition {
        name: name.to_owned(),
        organisation: Organisation::KeySequenced(place(0, 2)),
        record_bytes_min: 4,
        record_bytes_max: 4,
        alternates: vec![AlternateIndex {
            name: "alternate".to_owned(),
            place: place(2, 2),
            duplicates: Duplicates::Unique,
        }],
    };
    let mut unit = store.begin().expect("a unit");
    let file = store.define_file(&mut unit, definition("FILE")).expect("a file");
    store.define_file(&mut unit, definition("UNUSED")).expect("a file");
    unit.commit().expect("a commit");
    for _ in 0..100 {
        let mut unit = store.begin().expect("a unit");
        busy.put(&mut unit, &Message::new(*b"a")).expect("a put");
        assert!(file.read(&unit, By::Key(b"01"), Relation::Equal).is_err());
        unit.commit().expect("a commit");
    }
    // A wait that ends by its limit, in the alternate index: another unit inserts the same alternate key.
    let mut holder = store.begin().expect("a unit");
    file.insert(&mut holder, b"01AA").expect("an insert");
    let mut waiter = store.begin().expect("a unit");
    assert!(matches!(file.insert(&mut waiter, b"02AA"), Err(StoreError::LockTimeout { .. })));
    // A task that waits for the record itself.
    let (_, waker) = task();
    waiter.wake_for_locks(&waker);
    let began = std::time::Instant::now();
    assert!(file.read_for_update(&mut waiter, By::Key(b"01"), Relation::Equal, LockWait::Default).is_err());
    while began.elapsed() < std::time::Duration::from_millis(6) {
        std::thread::yield_now();
    }
    drop(holder);
    let found = file.read_for_update(&mut waiter, By::Key(b"01"), Relation::Equal, LockWait::Default);
    assert!(matches!(found, Err(StoreError::NotFound { .. })), "{found:?}");
    let mut unit = store.begin().expect("a unit");
    assert!(idle.get(&mut unit, Select::First, GetWait::AtMostMs(5)).is_err());
    drop((unit, waiter));

    let found = store.usage_by_owner().expect("figures");
    let of = |owner: Owner| found.iter().find(|(found, _)| *found == owner).map(|(_, facts)| *facts);
    let (file_facts, busy_facts) = (of(Owner::File("FILE".to_owned())), of(Owner::Queue("BUSY".to_owned())));
    let (file_facts, busy_facts) = (file_facts.expect("its figures"), busy_facts.expect("its figures"));
    assert_eq!((file_facts.lock_waits, file_facts.lock_timeouts, file_facts.deadlocks), (2, 1, 0), "{file_facts:?}");
    assert!(file_facts.lock_wait_us >= 11_000, "{file_facts:?}");
    assert!(file_facts.cpu.count >= 3 && busy_facts.cpu.count >= 3, "{found:?}");
    assert_eq!((busy_facts.lock_waits, busy_facts.message_waits), (0, 0));
    let idle_facts = of(Owner::Queue("IDLE".to_owned())).expect("its figures");
    assert!(idle_facts.message_waits == 1 && idle_facts.message_wait_us >= 5_000, "{idle_facts:?}");
    assert!(of(Owner::File("UNUSED".to_owned())).is_none(), "{found:?}");
    // The sums are those of the whole store.
    let usage = store.usage();
    let sum = |value: fn(&quayline_store::OwnerFacts) -> u64| found.iter().map(|(_, facts)| value(facts)).sum::<u64>();
    assert_eq!(sum(|facts| facts.lock_waits), usage.lock_waits);
    assert_eq!(sum(|facts| facts.lock_wait_us), usage.lock_wait_us);
    assert_eq!(sum(|facts| facts.message_wait_us), usage.message_wait_us);
    assert_eq!(sum(|facts| facts.cpu.count), usage.files.count + usage.queues.count);
    store.delete_file("FILE").expect("deleted");
    let found = store.usage_by_owner().expect("figures");
    assert!(!found.iter().any(|(owner, _)| *owner == Owner::File("FILE".to_owned())), "{found:?}");
}

/// A listener that waits for messages of a deleted queue learns that it is gone, and so does a get that waits with its thread.
#[test]
fn the_deletion_of_a_queue_wakes_those_that_wait_for_its_messages() {
    let store = new_store();
    let queue = queue(&store, "Q");
    assert!(store.is_queue_open("Q") && !store.is_queue_open("OTHER"));
    let (count, waker) = task();
    let mut unit = store.begin().expect("a unit");
    let found = queue.poll_get(&mut unit, Select::First, &waker).expect("an answer");
    assert!(matches!(found, Polled::Nothing { due_ms: None }));
    let (blocked, of_thread) = (queue.clone(), store.clone());
    let waits = std::thread::spawn(move || {
        let mut unit = of_thread.begin().expect("a unit");
        blocked.get(&mut unit, Select::First, GetWait::AtMostMs(600_000)).expect_err("no message")
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    store.delete_queue("Q").expect("deleted");
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    for refused in [queue.poll_get(&mut unit, Select::First, &waker).expect_err("deleted"), waits.join().expect("ends")]
    {
        assert!(matches!(&refused, StoreError::QueueMissing { name } if name == "Q"), "{refused:?}");
    }
    // A queue of the same name is another one.
    let again = self::queue(&store, "Q");
    put(&store, &again, &Message::new(*b"new"));
    assert!(queue.poll_get(&mut unit, Select::First, &waker).is_err());
    assert_eq!(again.facts().expect("figures").depth, 1);
}

/// Many threads alter a queue at once: its open handles have the definition that the catalog has.
#[test]
fn an_open_queue_has_the_definition_that_committed_last() {
    let store = new_store();
    let queue = queue(&store, "Q");
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..200 {
                    let definition =
                        QueueDefinition { depth_max: 1 + thread * 1_000 + round, ..QueueDefinition::local("Q") };
                    store.alter_queue(definition).expect("altered");
                }
            });
        }
    });
    let kept = store.queue_definition("Q").expect("defined");
    assert_eq!(*queue.definition().expect("local"), kept);
    assert_eq!(*store.queue("Q").expect("opened").definition().expect("local"), kept);
}
