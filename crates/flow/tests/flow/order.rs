//! Order by queue and by key, and a flow that is replaced while messages come.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_store::queue::{DEAD_LETTER, GetWait, Message, Persistence, Queue, QueueDefinition, Select, USER_ID};

use crate::postgres::Postgres;
use crate::processes::process;
use crate::support::{World, ended, until};

fn flow(order: &str, instances: usize) -> String {
    format!(
        "additional_instances = {instances}\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\n{order}\nout = \"choose\"\n\
         [node.choose]\ntype = \"filter\"\nwhen = 'envelope.property_fail = \"yes\" and envelope.backout_count = \"0\"'\nout = \"fail\"\nno_match = \"put\"\n\
         [node.fail]\ntype = \"throw\"\ntext = \"the first attempt\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
    )
}

fn message(key: usize, number: usize, fails: bool) -> Message {
    let fail = if fails { "yes" } else { "no" };
    let key_text = key.to_string().into_bytes();
    let properties =
        vec![("key".to_owned(), key_text.clone()), ("fail".to_owned(), fail.into()), (USER_ID.to_owned(), key_text)];
    Message { properties, ..Message::new(format!("{key} {number}")) }
}

/// Messages of which some fail at first, also with a pause before their retry: those of one key leave in the order in which they came.
fn check(order: &str, keys: usize, instances: usize, retry_ms: u64) {
    check_with(order, keys, instances, retry_ms, 37);
}

/// One of `fails_every` messages fails at first.
fn check_with(order: &str, keys: usize, instances: usize, retry_ms: u64, fails_every: usize) {
    check_in(&World::new(), 600, order, (keys, instances), retry_ms, fails_every);
}

fn check_in(
    world: &World,
    count: usize,
    order: &str,
    (keys, instances): (usize, usize),
    retry_ms: u64,
    fails_every: usize,
) {
    let input = world.queue_with(QueueDefinition { retry_ms, ..QueueDefinition::local("IN") });
    let out = world.queue("OUT");
    let fails = |number: usize| number % fails_every == 5 % fails_every;
    for number in 0..count {
        world.put(&input, &message(number % keys, number, fails(number)));
    }
    let engine = world.engine(&flow(order, instances));
    let mut last: HashMap<String, usize> = HashMap::new();
    for _ in 0..count {
        let text = world.get_text(&out);
        let (key, number) = text.split_once(' ').expect("key and number");
        let number = number.parse().expect("a number");
        if let Some(before) = last.insert(key.to_owned(), number) {
            assert!(before < number, "key {key}: {before} came before {number}");
        }
    }
    until("all units of work end", || ended(&engine).0 == count as u64);
    assert_eq!(last.len(), keys);
    let failing = (0..count).filter(|number| fails(*number)).count() as u64;
    assert_eq!(ended(&engine).1, failing, "the messages that fail at first: {}", world.errors());
}

#[test]
fn messages_of_one_key_stay_in_order_under_many_instances() {
    let by_key = "order = \"by_key\"\norder_key = \"envelope.property_key\"";
    for keys in [1, 3, 100, 600] {
        check(by_key, keys, 63, 0);
    }
    check(by_key, 10, 63, 3);
    // The threads give many messages back and get messages of the same keys at the same time.
    for keys in [1, 2, 7] {
        check_with(by_key, keys, 63, 0, 2);
    }
}

/// The engine over a database answered that a message in its retry pause was not due at all, and the flow took it for one that had left the queue: later
/// messages of its key came first. Now the engine knows the pause of each message that this process gave back.
#[test]
fn messages_stay_in_order_during_a_retry_pause_in_a_database() {
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped: messages_stay_in_order_during_a_retry_pause_in_a_database: PostgreSQL's server is not installed"
        );
        return;
    };
    let by_key = "order = \"by_key\"\norder_key = \"envelope.property_key\"";
    let orders = [(by_key, 3, 20), ("order = \"by_user\"", 3, 20), ("order = \"by_queue\"", 1, 20), (by_key, 3, 0)];
    for (order, keys, retry_ms) in orders {
        let world = process(&postgres);
        check_in(&world, 60, order, (keys, 7), retry_ms, 13);
        for queue in ["IN", "OUT"] {
            world.store.delete_queue(queue).expect("a queue that nobody uses");
        }
    }
}

/// Stops a flow in the retry pause of a message, or replaces it.
fn check_stopped(world: &World, order: &str, is_replaced: bool) {
    let retries = QueueDefinition { retry_ms: 600_000, retry_ms_max: 600_000, ..QueueDefinition::local("IN") };
    let input = world.queue_with(retries);
    let out = world.queue("OUT");
    for number in 0..6 {
        world.put(&input, &message(0, number, number == 0));
    }
    let engine = world.engine(&flow(order, 3));
    until("the first message fails", || ended(&engine).1 == 1);
    if is_replaced {
        engine.deploy(world.compile(&flow(order, 2)).expect("a flow"));
    } else {
        assert!(engine.stop("test") && engine.restart("test"));
    }
    let texts: Vec<String> = (0..6).map(|_| world.get_text(&out)).collect();
    assert_eq!(texts, ["0 0", "0 1", "0 2", "0 3", "0 4", "0 5"], "{order}, replaced: {is_replaced}");
}

/// The flow that began did not know the message in its pause, and took later messages of its key. Now it ends the pauses at its start.
#[test]
fn messages_stay_in_order_if_the_flow_ends_in_a_retry_pause() {
    let orders =
        ["order = \"by_key\"\norder_key = \"envelope.property_key\"", "order = \"by_user\"", "order = \"by_queue\""];
    for (order, is_replaced) in orders.into_iter().flat_map(|order| [(order, false), (order, true)]) {
        check_stopped(&World::new(), order, is_replaced);
    }
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped in part: messages_stay_in_order_if_the_flow_ends_in_a_retry_pause: PostgreSQL's server is not installed"
        );
        return;
    };
    for (order, is_replaced) in orders.into_iter().zip([false, true, false]) {
        let world = process(&postgres);
        check_stopped(&world, order, is_replaced);
        for queue in ["IN", "OUT"] {
            world.store.delete_queue(queue).expect("a queue that nobody uses");
        }
    }
}

/// A message in its pause was hidden from other processes as long as the process of its pause lived, so that the next owner took later messages of its key.
#[test]
fn messages_stay_in_order_if_another_process_takes_over_in_a_retry_pause() {
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped: messages_stay_in_order_if_another_process_takes_over_in_a_retry_pause: PostgreSQL's server is not installed"
        );
        return;
    };
    for order in
        ["order = \"by_key\"\norder_key = \"envelope.property_key\"", "order = \"by_user\"", "order = \"by_queue\""]
    {
        let (world, other) = (process(&postgres), process(&postgres));
        let retries = QueueDefinition { retry_ms: 600_000, retry_ms_max: 600_000, ..QueueDefinition::local("IN") };
        let (input, out) = (world.queue_with(retries), world.queue("OUT"));
        for number in 0..6 {
            world.put(&input, &message(0, number, number == 0));
        }
        let first = world.engine(&flow(order, 3));
        until("the first message fails", || ended(&first).1 == 1);
        let second = other.engine(&flow(order, 3));
        assert!(first.stop("test"), "{order}");
        let texts: Vec<String> = (0..6).map(|_| world.get_text(&out)).collect();
        assert_eq!(texts, ["0 0", "0 1", "0 2", "0 3", "0 4", "0 5"], "{order}");
        drop((first, second, other, input, out));
        for queue in ["IN", "OUT"] {
            world.store.delete_queue(queue).expect("an unused queue");
        }
    }
}

/// The order by user id of IBM's MQInput node: messages of one user one after another, those of others at the same time.
#[test]
fn messages_of_one_user_stay_in_order_under_many_instances() {
    for users in [1, 3, 100] {
        check("order = \"by_user\"", users, 63, 0);
    }
    check("order = \"by_user\"", 10, 63, 3);
}

/// A sequence for each key, from one key to 100,000.
#[test]
fn messages_of_up_to_100_000_keys_keep_their_order() {
    const BATCH: usize = 1_000;
    let by_key = "order = \"by_key\"\norder_key = \"envelope.property_key\"";
    for (keys, count) in [(1, 5_000), (10, 5_000), (1_000, 20_000), (100_000, 120_000)] {
        let world = World::new();
        let deep =
            |name: &str| world.queue_with(QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) });
        let (input, out) = (deep("IN"), deep("OUT"));
        for first in (0..count).step_by(BATCH) {
            let mut unit = world.store.begin().expect("a unit");
            for number in first..first + BATCH {
                let message =
                    Message { persistence: Persistence::NotPersistent, ..message(number % keys, number, false) };
                input.put(&mut unit, &message).expect("a put");
            }
            unit.commit().expect("a commit");
        }
        let engine = world.engine(&flow(by_key, 63));
        let mut last: HashMap<String, usize> = HashMap::new();
        for _ in (0..count).step_by(BATCH) {
            let mut unit = world.store.begin().expect("a unit");
            for _ in 0..BATCH {
                let message = out.get(&mut unit, Select::First, GetWait::AtMostMs(60_000)).expect("a message");
                let text = String::from_utf8(message.payload).expect("text");
                let (key, number) = text.split_once(' ').expect("key and number");
                let number = number.parse().expect("a number");
                if let Some(before) = last.insert(key.to_owned(), number) {
                    assert!(before < number, "{keys} keys, key {key}: {before} came before {number}");
                }
            }
            unit.commit().expect("a commit");
        }
        assert_eq!(last.len(), keys);
        until("all units of work end", || ended(&engine).0 == count as u64);
        assert_eq!(ended(&engine).1, 0, "{}", world.errors());
    }
}

#[test]
fn messages_by_queue_stay_in_order() {
    check("order = \"by_queue\"", 1, 3, 0);
    check("order = \"by_queue\"", 1, 3, 3);
}

#[test]
fn a_flow_is_replaced_without_losing_or_repeating_a_message() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&flow("", 7));
    let mut got = Vec::new();
    for round in 0..10 {
        (0..50).for_each(|number| world.put(&input, &message(0, round * 50 + number, false)));
        engine.deploy(world.compile(&flow("", round % 3)).expect("a flow"));
        if round == 4 {
            assert!(engine.stop("test"));
            assert!(engine.restart("test"));
        }
    }
    for _ in 0..500 {
        let text = world.get_text(&out);
        got.push(text[2..].parse::<usize>().expect("a number"));
    }
    got.sort_unstable();
    assert_eq!(got, (0..500).collect::<Vec<_>>());
    assert!(!engine.stop("unknown") && engine.remove("test") && engine.flows().is_empty());
}

/// The setting had no effect and no finding.
#[test]
fn a_commit_count_and_an_order_contradict_each_other() {
    let world = World::new();
    for order in ["by_queue", "by_user", "by_key\"\norder_key = \"envelope.property_key"] {
        let text = flow(&format!("commit_count = 2\norder = \"{order}\""), 0);
        let found = world.compile(&text).expect_err("an error").to_string();
        assert!(found.contains("FLO-010") && found.contains("a unit of work of its own"), "{found}");
    }
    world.compile(&flow("commit_count = 2\norder = \"none\"", 0)).expect("no order");
    world.compile(&flow("commit_count = 1\norder = \"by_queue\"", 0)).expect("one message");
}

#[test]
fn several_messages_share_a_unit_of_work() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    for number in 0..100 {
        world.put(&input, &message(0, number, number == 42));
    }
    let engine = world.engine(&flow("commit_count = 10\ncommit_interval = \"20ms\"", 0));
    let mut got: Vec<usize> = (0..100).map(|_| world.get_text(&out)[2..].parse().expect("a number")).collect();
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<_>>());
    until("the units of work end", || ended(&engine).0 > 0 && input.facts().expect("facts").depth == 0);
    let (committed, rolled_back) = ended(&engine);
    assert!(committed < 40, "units of work of ten messages, one by one after a failure: {committed}");
    assert!((1..=2).contains(&rolled_back), "{rolled_back}");
}

/// Instances drew messages that were given back into the next unit of work that failed: good messages reached the threshold with a bad one.
#[test]
fn a_failure_counts_for_the_message_that_failed() {
    let world = World::new();
    let (input, out, dead) = (world.queue("IN"), world.queue("OUT"), world.queue(DEAD_LETTER));
    for number in 0..100 {
        world.put(&input, &message(0, number, number % 20 == 7));
    }
    let always = flow("commit_count = 20", 15).replace(" and envelope.backout_count = \"0\"", "");
    let engine = world.engine(&always);
    until("the flow processes all messages", || {
        let depth = |queue: &Queue| queue.facts().expect("facts").depth;
        depth(&out) + depth(&dead) == 100 && depth(&input) == 0
    });
    drop(engine);
    let mut bad: Vec<String> = (0..dead.facts().expect("facts").depth).map(|_| world.get_text(&dead)).collect();
    bad.sort();
    assert_eq!(bad, ["0 27", "0 47", "0 67", "0 7", "0 87"]);
}

/// A message that failed by a lock conflict pauses for less than 128 ms.
const LONGEST_PAUSE: Duration = Duration::from_millis(150);

/// Messages that lock two records in different orders. The lock conflicts counted as failures of the messages, of which a part reached the threshold.
#[test]
fn messages_that_wait_for_each_others_locks_are_processed_again() {
    let (put, out, dead) = after_conflicts("");
    assert_eq!((out, dead), (put, 0));
}

/// Regression: `catch` took the conflict, and the work before it was committed.
#[test]
fn a_lock_conflict_is_not_caught() {
    let caught = format!("catch = \"dead\"\n[node.dead]\ntype = \"queue_output\"\nqueue = \"{DEAD_LETTER}\"\n");
    let (put, out, dead) = after_conflicts(&caught);
    assert_eq!((out, dead), (put, 0));
    // A message that was got outside the unit of work does not come again. Without `catch`, it would be lost.
    let (put, out, dead) = after_conflicts(&format!("transaction = \"no\"\n{caught}"));
    assert!(out + dead == put && dead > 0, "{put} {out} {dead}");
}

/// Processes messages until some conflict, with more lines of the input. Returns the numbers of messages put, processed and caught.
fn after_conflicts(more: &str) -> (u64, u64, u64) {
    let world = World::new();
    let keys = ["K0", "K1", "K2"];
    world.file("F", &keys);
    let (input, out, dead) = (world.queue("IN"), world.queue("OUT"), world.queue(DEAD_LETTER));
    let read = |name: &str, next: &str| {
        format!(
            "[node.{name}]\ntype = \"record_read\"\nfile = \"F\"\nkey.from = 'envelope.property_{name}'\nlock = true\nout = \"{next}\"\n"
        )
    };
    let engine = world.engine(&format!(
        "additional_instances = 7\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"one\"\n{more}{}{}\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
        read("one", "two"),
        read("two", "put"),
    ));
    let stats = std::sync::Arc::clone(&engine.flows()[0].stats);
    let conflicts = || stats.conflicts.load(Ordering::Relaxed);
    let depth = |queue: &Queue| queue.facts().expect("facts").depth;
    let mut put = 0;
    while put < 400 || conflicts() + depth(&dead) == 0 && put < 40_000 {
        let (one, two) = (keys[put % 3], keys[(put + 1 + put / 3 % 2) % 3]);
        let properties = vec![("one".to_owned(), one.into()), ("two".to_owned(), two.into())];
        world.put(&input, &Message { properties, ..Message::new("m") });
        put += 1;
    }
    until("the flow processes all messages", || input.facts().expect("facts").depth == 0);
    // Regression: if the pause of a message that had failed was the last event of a thread, the flow did not notice that it was stopped.
    std::thread::sleep(LONGEST_PAUSE);
    drop(engine);
    assert!(conflicts() + depth(&dead) > 0 && stats.rolled_back.load(Ordering::Relaxed) == conflicts(), "{stats:?}");
    (put as u64, depth(&out), depth(&dead))
}

/// A message that was given back was forgotten if its unit of work could not begin, and its key stayed busy until the flow was loaded again.
#[test]
fn a_message_that_cannot_be_taken_again_keeps_its_place() {
    let world = World::with_few_units();
    let input = world.queue_with(QueueDefinition { retry_ms: 300, ..QueueDefinition::local("IN") });
    let out = world.queue("OUT");
    let engine = world.engine(&flow("order = \"by_key\"\norder_key = \"envelope.property_key\"", 3));
    world.put(&input, &message(1, 0, true));
    until("the first attempt fails", || ended(&engine).1 == 1);
    world.put(&input, &message(1, 1, false));
    let mut units = world.all_units();
    until("the message is refused", || {
        units.extend(world.all_units());
        world.errors().contains("units_open_max")
    });
    drop(units);
    assert_eq!([world.get_text(&out), world.get_text(&out)], ["1 0", "1 1"], "{}", world.errors());
}

/// Counts of the messages that the flow returned to a queue.
fn returned(world: &World, queue: &Queue) -> Vec<u32> {
    let unit = world.store.begin().expect("a unit");
    let found = queue.browse(&unit, None, 100).expect("messages");
    found.iter().map(|found| found.message.backout_count).collect()
}

/// A stop counted a failure for each message that waited for its key. After three stops, good messages were on the backout queue.
#[test]
fn a_flow_that_stops_returns_messages_that_wait_for_their_key_uncounted() {
    let world = World::new();
    let (input, late) = (world.queue("IN"), "LATE");
    world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("OUT") });
    for number in 0..5 {
        world.put(&input, &message(0, number, false));
    }
    let order = "order = \"by_key\"\norder_key = \"envelope.property_key\"";
    // The second input cannot begin at first, so that the first one begins several times. It counted each time, and a stop kept the messages that waited.
    let text = format!("{}[node.late]\ntype = \"queue_input\"\nqueue = \"{late}\"\nout = \"put\"\n", flow(order, 1));
    let engine = world.engine(&text);
    until("the second input cannot begin", || world.errors().matches(late).count() > 2);
    world.queue(late);
    let depth = || returned(&world, &input).len();
    until("the first message is put, the second waits for room, and the others for their key", || depth() == 0);
    assert!(engine.stop("test"));
    assert_eq!(returned(&world, &input), [0; 4], "{}", world.errors());
}
