//! A wall clock that is set back.

use std::sync::Arc;

use quayline_store::queue::{Claimed, GetWait, Message, QueueDefinition, Select};
use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreError, StoreLimits};

const HOUR_MS: u64 = 3_600_000;

fn with_queue() -> (Store, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(10 * HOUR_MS, 1));
    let shared: Arc<ManualClock> = Arc::clone(&clock);
    let store = Store::open(Arc::new(MemoryEngine::new()), shared, StoreLimits::default(), Access::Write);
    let store = store.expect("a new store");
    let mut unit = store.begin().expect("a unit");
    let definition = QueueDefinition { retry_ms: 1_000, backout_threshold: 0, ..QueueDefinition::local("Q") };
    store.define_queue(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
    (store, clock)
}

/// Regression: the retry delay was measured with the wall clock, so setting the clock back an hour lengthened the wait by an hour.
#[test]
fn a_pause_ends_in_time_when_the_clock_is_set_back() {
    let (store, clock) = with_queue();
    let queue = store.queue("Q").expect("opened");
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &Message::new(*b"again")).expect("put");
    unit.commit().expect("committed");
    let mut unit = store.begin().expect("a unit");
    queue.get(&mut unit, Select::First, GetWait::No).expect("there");
    unit.roll_back();

    clock.set(9 * HOUR_MS);
    let mut unit = store.begin().expect("a unit");
    let found = queue.get(&mut unit, Select::First, GetWait::No);
    assert!(matches!(found, Err(StoreError::NoMessage { .. })), "{found:?}");
    // The reported time is relative to the current wall clock.
    let browsed = queue.browse(&unit, None, 9).expect("readable");
    assert_eq!(browsed[0].due_ms, Some(9 * HOUR_MS + 1_000));
    match queue.claim(&store, Select::First, None).expect("readable") {
        Claimed::Nothing { due_ms } => assert_eq!(due_ms, Some(9 * HOUR_MS + 1_000)),
        Claimed::Message(..) => panic!("it waits"),
    }
    clock.set(9 * HOUR_MS + 1_000);
    assert_eq!(queue.get(&mut unit, Select::First, GetWait::No).expect("due").payload, b"again");
    unit.commit().expect("committed");
}

/// Expiry is a time of day, so it follows the clock; ids, order and control numbers do not.
#[test]
fn order_and_numbers_do_not_follow_the_clock() {
    let (store, clock) = with_queue();
    let queue = store.queue("Q").expect("opened");
    let mut ids = Vec::new();
    for (number, hour) in [10u64, 8, 12, 1].into_iter().enumerate() {
        clock.set(hour * HOUR_MS);
        let mut unit = store.begin().expect("a unit");
        ids.push(queue.put(&mut unit, &Message::new(vec![u8::try_from(number).expect("small")])).expect("put"));
        assert_eq!(unit.next_number("control").expect("a number"), number as u64 + 1);
        unit.commit().expect("committed");
    }
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
    for number in 0..4u8 {
        let mut unit = store.begin().expect("a unit");
        assert_eq!(queue.get(&mut unit, Select::First, GetWait::No).expect("there").payload, [number]);
        unit.commit().expect("committed");
    }
    let mut unit = store.begin().expect("a unit");
    clock.set(5 * HOUR_MS);
    queue.put(&mut unit, &Message { expires_ms: 6 * HOUR_MS, ..Message::new(*b"soon") }).expect("put");
    unit.commit().expect("committed");
    clock.set(7 * HOUR_MS);
    clock.set(4 * HOUR_MS);
    let mut unit = store.begin().expect("a unit");
    assert_eq!(queue.get(&mut unit, Select::First, GetWait::No).expect("not expired now").payload, b"soon");
}

/// Each rollback doubles the pause of a message, up to the longest one.
#[test]
fn the_pause_of_a_message_that_fails_again_doubles() {
    let (store, clock) = with_queue();
    let definition = store.queue_definition("Q").expect("defined");
    store.alter_queue(QueueDefinition { retry_ms_max: 6_000, ..definition }).expect("altered");
    let queue = store.queue("Q").expect("opened");
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &Message::new(*b"again")).expect("put");
    unit.commit().expect("committed");
    let mut now_ms = 10 * HOUR_MS;
    for (failures, pause_ms) in (0u32..).zip([1_000, 2_000, 4_000, 6_000, 6_000]) {
        let mut unit = store.begin().expect("a unit");
        let found = queue.get(&mut unit, Select::First, GetWait::No).expect("due");
        assert_eq!(found.backout_count, failures);
        unit.roll_back();
        let mut unit = store.begin().expect("a unit");
        let browsed = queue.browse(&unit, None, 9).expect("readable");
        assert_eq!(browsed[0].due_ms, Some(now_ms + pause_ms), "after {} failures", failures + 1);
        clock.set(now_ms + pause_ms - 1);
        let early = queue.get(&mut unit, Select::First, GetWait::No);
        assert!(matches!(early, Err(StoreError::NoMessage { .. })), "{early:?}");
        now_ms += pause_ms;
        clock.set(now_ms);
    }
    // A message without a failed get has no retry delay.
    let mut unit = store.begin().expect("a unit");
    queue.get(&mut unit, Select::First, GetWait::No).expect("due");
    unit.commit().expect("committed");
}
