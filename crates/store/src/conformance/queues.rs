//! Queues: order, claims, backout, limits, names.

use std::collections::BTreeSet;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::{Check, same, text};
use crate::queue::{
    DEAD_LETTER, DEPTH_EVENT, DEPTH_QUEUE, FAILURE_CODE, GetWait, Message, Persistence, Polled, Queue, QueueDefinition,
    QueueKind, Select,
};
use crate::{STO_BACKED_OUT, STO_POISON, Store, StoreError};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "messages_come_by_priority_then_arrival", run: order },
    Check { name: "a_put_is_available_after_its_commit_only", run: put_is_atomic },
    Check { name: "two_units_never_get_the_same_message", run: claims },
    Check { name: "a_rollback_gives_the_message_back_and_counts", run: rollback },
    Check { name: "a_message_that_fails_too_often_moves_with_its_reason", run: backout },
    Check { name: "a_message_in_its_retry_pause_says_when_it_is_due", run: retry_pause },
    Check { name: "a_message_that_cannot_move_is_a_finding_and_stays", run: poison },
    Check { name: "messages_are_got_by_id_and_by_correlation_id", run: by_id },
    Check { name: "a_waiting_get_is_woken_by_a_put", run: waiting },
    Check { name: "an_expired_message_is_never_got", run: expired },
    Check { name: "expired_messages_leave_room_on_a_full_queue", run: expired_leave_room },
    Check { name: "limits_of_depth_and_length_refuse_and_lose_nothing", run: limits },
    Check { name: "a_queue_deeper_than_memory_keeps_its_order", run: deep },
    Check { name: "an_alias_and_a_topic_lead_to_queues", run: names },
    Check { name: "every_header_field_comes_back", run: header },
    Check { name: "workers_share_a_queue_without_loss_or_double", run: workers },
    Check { name: "get_write_and_put_are_one_unit", run: one_unit },
    Check { name: "purge_and_move_end_with_an_empty_queue", run: purge_and_move },
    Check { name: "marks_of_the_depth_report_once_each_way", run: marks },
    Check { name: "long_content_is_in_parts_and_comes_back", run: super::long::long },
    Check { name: "marks_that_contradict_themselves_are_refused", run: wrong_marks },
];

pub(super) fn define(store: &Store, definition: QueueDefinition) -> Result<Queue, String> {
    let name = definition.name.clone();
    let mut unit = store.begin().map_err(text)?;
    store.define_queue(&mut unit, definition).map_err(text)?;
    unit.commit().map_err(text)?;
    store.queue(&name).map_err(text)
}

fn put(store: &Store, queue: &Queue, message: &Message) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, message).map_err(text)?;
    unit.commit().map(|_| ()).map_err(text)
}

fn message(payload: u32) -> Message {
    Message::new(payload.to_be_bytes())
}

/// Payloads of everything that can be got, as numbers; the gets are committed.
fn take_all(store: &Store, queue: &Queue) -> Result<Vec<u32>, String> {
    let mut found = Vec::new();
    loop {
        let mut unit = store.begin().map_err(text)?;
        match queue.get(&mut unit, Select::First, GetWait::No) {
            Ok(message) => found.push(u32::from_be_bytes(message.payload.as_slice().try_into().map_err(text)?)),
            Err(StoreError::NoMessage { .. }) => return Ok(found),
            Err(error) => return Err(error.to_string()),
        }
        unit.commit().map_err(text)?;
    }
}

fn order(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    for (payload, priority) in [(1, 0), (2, 9), (3, 5), (4, 9), (5, 0), (6, 200)] {
        put(store, &queue, &Message { priority, ..message(payload) })?;
    }
    same("order", take_all(store, &queue)?, vec![2, 4, 6, 3, 1, 5])
}

fn put_is_atomic(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, &message(1)).map_err(text)?;
    same("before the commit", take_all(store, &queue)?, vec![])?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, &message(2)).map_err(text)?;
    unit.roll_back();
    same("depth", queue.facts().map_err(text)?.depth, 1)?;
    same("after it", take_all(store, &queue)?, vec![1])
}

fn claims(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    put(store, &queue, &message(1))?;
    let mut first = store.begin().map_err(text)?;
    queue.get(&mut first, Select::First, GetWait::No).map_err(text)?;
    let mut second = store.begin().map_err(text)?;
    let error = queue.get(&mut second, Select::First, GetWait::No).err().ok_or("the message is claimed")?;
    same("status", error.status().digits(), "10")?;
    same("browse", queue.browse(&second, None, 10).map_err(text)?.len(), 0)?;
    first.commit().map_err(text)?;
    same("depth", queue.facts().map_err(text)?.depth, 0)
}

fn rollback(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") })?;
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        put(store, &queue, &Message { persistence, ..message(1) })?;
        put(store, &queue, &Message { persistence, ..message(2) })?;
        for count in 0..3 {
            let mut unit = store.begin().map_err(text)?;
            let found = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
            same("the first again", (found.payload, found.backout_count), (1u32.to_be_bytes().to_vec(), count))?;
            unit.roll_back();
            let unit = store.begin().map_err(text)?;
            let browsed = queue.browse(&unit, None, 10).map_err(text)?;
            let counts: Vec<u32> = browsed.iter().map(|browsed| browsed.message.backout_count).collect();
            same("counts of a browse", counts, vec![count + 1, 0])?;
        }
        same("order", take_all(store, &queue)?, vec![1, 2])?;
    }
    Ok(())
}

fn backout(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition { backout_threshold: 2, ..QueueDefinition::local("Q") })?;
    let dead = define(store, QueueDefinition::local(DEAD_LETTER))?;
    put(store, &queue, &message(7))?;
    put(store, &queue, &message(8))?;
    for _ in 0..2 {
        let mut unit = store.begin().map_err(text)?;
        queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        unit.roll_back();
    }
    let mut unit = store.begin().map_err(text)?;
    let found = dead.get(&mut unit, Select::First, GetWait::AtMostMs(5_000)).map_err(text)?;
    same("payload", found.payload.clone(), 7u32.to_be_bytes().to_vec())?;
    let reason = format!("2 units of work that got it from Q rolled back ({STO_BACKED_OUT})");
    same("reason", found.reason.as_str(), reason.as_str())?;
    let code = found.properties.iter().find(|(name, _)| name == FAILURE_CODE).map(|(_, code)| code.as_slice());
    same("code", code, Some(STO_BACKED_OUT.to_string().as_bytes()))?;
    unit.commit().map_err(text)?;
    // The message is on its new queue before its old one counts it.
    let patience = Instant::now() + Duration::from_secs(10);
    while queue.facts().map_err(text)?.moved == 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    same("moved", queue.facts().map_err(text)?.moved, 1)?;
    same("the next message", take_all(store, &queue)?, vec![8])?;
    // `retry` returns messages to the queue on which they failed. A message without such a queue stays.
    put(store, &dead, &found)?;
    put(store, &dead, &message(9))?;
    let outcome = dead.retry(store, u64::MAX).map_err(text)?;
    same("returned and left", (outcome.returned, outcome.left), (1, 1))?;
    let mut unit = store.begin().map_err(text)?;
    let again = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    same("payload again", again.payload, found.payload)?;
    same("no reason, no property", (again.reason.is_empty(), again.properties.is_empty()), (true, true))?;
    unit.commit().map_err(text)?;
    same("what stays", take_all(store, &dead)?, vec![9])
}

/// An engine answered that nothing was due, as if the message had left the queue. Ordered flows then continued with later messages of its key.
fn retry_pause(store: &Store) -> Result<(), String> {
    let definition = QueueDefinition { backout_threshold: 0, retry_ms: 60_000, ..QueueDefinition::local("Q") };
    let queue = define(store, definition)?;
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        put(store, &queue, &Message { persistence, ..message(1) })?;
        put(store, &queue, &Message { persistence, ..message(2) })?;
        let mut unit = store.begin().map_err(text)?;
        let first = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        unit.roll_back();
        let mut unit = store.begin().map_err(text)?;
        let polled = queue.poll_get(&mut unit, Select::Id(first.id), Waker::noop()).map_err(text)?;
        same("due", matches!(polled, Polled::Nothing { due_ms: Some(_) }), true)?;
        // The pause of one message does not stop the others.
        same("the next message", take_all(store, &queue)?, vec![2])?;
    }
    Ok(())
}

/// Checks a message that reaches the backout threshold while the backout queue is missing.
fn poison(store: &Store) -> Result<(), String> {
    let limits = QueueDefinition { backout_threshold: 2, retry_ms_max: 1, ..QueueDefinition::local("Q") };
    let queue = define(store, QueueDefinition { backout_queue: "B".to_owned(), ..limits.clone() })?;
    put(store, &queue, &message(7))?;
    let fail = |queue: &Queue| -> Result<(), String> {
        let mut unit = store.begin().map_err(text)?;
        // A test clock may not advance; the message then waits for its retry delay.
        match queue.get(&mut unit, Select::First, GetWait::AtMostMs(500)) {
            Ok(_) => unit.roll_back(),
            Err(StoreError::NoMessage { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    };
    fail(&queue)?;
    same("not yet", (queue.facts().map_err(text)?.poison, store.poison_findings()), (0, Vec::new()))?;
    same("no finding", queue.poison_finding(store).map_err(text)?, None)?;
    fail(&queue)?;
    // If several processes share the queue, the count is stored with the message after the rollback.
    let patience = Instant::now() + Duration::from_secs(10);
    while queue.facts().map_err(text)?.poison == 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    let facts = queue.facts().map_err(text)?;
    same("depth, poison, moved", (facts.depth, facts.poison, facts.moved), (1, 1, 0))?;
    same("tried", facts.not_moved >= 1, true)?;
    let finding = queue.poison_finding(store).map_err(text)?.ok_or("a finding was expected")?;
    same("code", finding.code, STO_POISON)?;
    let why = "1 message of queue Q failed too often and cannot move to backout queue B: no queue B";
    same("message", finding.message.as_str(), why)?;
    same("remedy", finding.hint.as_deref().unwrap_or_default().contains("`quayline queue define B`"), true)?;
    same("once for the queue", store.poison_findings(), vec![("Q".to_owned(), finding)])?;
    // The backout queue of the dead-letter queue does not exist either.
    let dead = define(store, QueueDefinition { name: DEAD_LETTER.to_owned(), ..limits })?;
    put(store, &dead, &message(8))?;
    fail(&dead)?;
    fail(&dead)?;
    let own = store.poison_findings().into_iter().find(|(queue, _)| queue == DEAD_LETTER);
    let own = own.map(|(_, finding)| finding.message).unwrap_or_default();
    same("its own", own.ends_with("the queue is its own backout queue"), true)
}

fn by_id(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    for number in 0..20u8 {
        let (id, correlation) = ([number + 1; 24], [100 + number % 4; 24]);
        put(store, &queue, &Message { id, correlation, ..message(number.into()) })?;
    }
    let get = |select| -> Result<Option<u32>, String> {
        let mut unit = store.begin().map_err(text)?;
        let found = match queue.get(&mut unit, select, GetWait::No) {
            Ok(found) => Some(u32::from_be_bytes(found.payload.as_slice().try_into().map_err(text)?)),
            Err(StoreError::NoMessage { .. }) => None,
            Err(error) => return Err(error.to_string()),
        };
        unit.commit().map_err(text)?;
        Ok(found)
    };
    same("by id", get(Select::Id([18; 24]))?, Some(17))?;
    same("by the same id", get(Select::Id([18; 24]))?, None)?;
    same("by correlation", get(Select::Correlation([102; 24]))?, Some(2))?;
    same("the next", get(Select::Correlation([102; 24]))?, Some(6))?;
    same("the first", get(Select::First)?, Some(0))?;
    same("no such", get(Select::Correlation([99; 24]))?, None)?;
    for (number, group_sequence) in [(40, 3), (41, 1), (42, 2)] {
        put(store, &queue, &Message { group: [7; 24], group_sequence, ..message(number) })?;
    }
    same("the first of the group", get(Select::Group([7; 24]))?, Some(41))?;
    same("the second", get(Select::Group([7; 24]))?, Some(42))?;
    same("the third", get(Select::Group([7; 24]))?, Some(40))?;
    same("none is left", get(Select::Group([7; 24]))?, None)?;
    same("without a correlation id", get(Select::Correlation([0; 24]))?, None)
}

fn waiting(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    std::thread::scope(|scope| {
        let any = scope.spawn(|| {
            let mut unit = store.begin()?;
            let found = queue.get(&mut unit, Select::First, GetWait::AtMostMs(20_000))?;
            unit.commit()?;
            Ok::<_, StoreError>(found.payload)
        });
        let one = scope.spawn(|| {
            let mut unit = store.begin()?;
            let found = queue.get(&mut unit, Select::Correlation([5; 24]), GetWait::AtMostMs(20_000))?;
            unit.commit()?;
            Ok::<_, StoreError>(found.payload)
        });
        std::thread::sleep(Duration::from_millis(10));
        put(store, &queue, &message(1))?;
        let found = any.join().map_err(|_| "a panic".to_owned())?.map_err(text)?;
        same("woken", found, 1u32.to_be_bytes().to_vec())?;
        put(store, &queue, &Message { correlation: [5; 24], ..message(2) })?;
        let found = one.join().map_err(|_| "a panic".to_owned())?.map_err(text)?;
        same("woken", found, 2u32.to_be_bytes().to_vec())
    })?;
    let mut unit = store.begin().map_err(text)?;
    let error = queue.get(&mut unit, Select::First, GetWait::AtMostMs(5)).err().ok_or("nothing is there")?;
    same("wait limit", error, StoreError::NoMessage { queue: "Q".to_owned(), waited_ms: 5 })
}

/// Regression: expired messages kept a queue full forever, and a purge of them reported none.
fn expired_leave_room(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition { depth_max: 5, ..QueueDefinition::local("FULL") })?;
    for round in 0..3u8 {
        // Between messages that stay for a while, so that they are not the first.
        put(store, &queue, &Message { priority: 9, ..message(1) })?;
        for persistence in [Persistence::Persistent, Persistence::NotPersistent, Persistence::Persistent] {
            put(store, &queue, &Message { expires_ms: 1, persistence, ..message(2) })?;
        }
        put(store, &queue, &message(3))?;
        same("full", queue.facts().map_err(text)?.depth, 5)?;
        for number in 4..7 {
            put(store, &queue, &message(number))?;
        }
        let facts = queue.facts().map_err(text)?;
        same("expired", (facts.expired, facts.depth), (u64::from(round) * 4 + 3, 5))?;
        let mut unit = store.begin().map_err(text)?;
        match queue.put(&mut unit, &message(7)) {
            Err(StoreError::QueueFull { .. }) => {}
            other => return Err(format!("expected a full queue, found {other:?}")),
        }
        unit.roll_back();
        same("purged", queue.purge(store).map_err(text)?, 5)?;
        put(store, &queue, &Message { expires_ms: 1, ..message(8) })?;
        same("purged expired ones", queue.purge(store).map_err(text)?, 1)?;
    }
    Ok(())
}

fn expired(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        put(store, &queue, &Message { expires_ms: 1, persistence, ..message(1) })?;
        put(store, &queue, &Message { expires_ms: u64::MAX, persistence, ..message(2) })?;
        same("what is left", take_all(store, &queue)?, vec![2])?;
    }
    let facts = queue.facts().map_err(text)?;
    same("counts", (facts.expired, facts.depth), (2, 0))
}

fn limits(store: &Store) -> Result<(), String> {
    let definition = QueueDefinition { depth_max: 2, message_bytes_max: 4, ..QueueDefinition::local("Q") };
    let queue = define(store, definition)?;
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, &message(1)).map_err(text)?;
    queue.put(&mut unit, &message(2)).map_err(text)?;
    let error = queue.put(&mut unit, &message(3)).err().ok_or("the queue is full")?;
    same("full", error.status().digits(), "34")?;
    let error = queue.put(&mut unit, &Message::new(*b"12345")).err().ok_or("the message is long")?;
    same("long", error.status().digits(), "44")?;
    unit.commit().map_err(text)?;
    same("nothing is lost", take_all(store, &queue)?, vec![1, 2])
}

fn deep(store: &Store) -> Result<(), String> {
    const COUNT: u32 = 9_000;
    let queue = define(store, QueueDefinition::local("Q"))?;
    for begin in (0..COUNT).step_by(500) {
        let mut unit = store.begin().map_err(text)?;
        for payload in begin..begin + 500 {
            queue.put(&mut unit, &message(payload)).map_err(text)?;
        }
        unit.commit().map_err(text)?;
    }
    let facts = queue.facts().map_err(text)?;
    same("depth", facts.depth, u64::from(COUNT))?;
    same("memory is bounded", facts.in_memory <= store.limits().queue_window_messages_max as u64, true)?;
    let mut found = Vec::new();
    let mut unit = store.begin().map_err(text)?;
    for number in 0..COUNT {
        let message = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        found.push(u32::from_be_bytes(message.payload.as_slice().try_into().map_err(text)?));
        if number % 100 == 99 {
            std::mem::replace(&mut unit, store.begin().map_err(text)?).commit().map_err(text)?;
        }
    }
    same("order", found == (0..COUNT).collect::<Vec<_>>(), true)?;
    same("empty", take_all(store, &queue)?, vec![])
}

fn names(store: &Store) -> Result<(), String> {
    let (one, two) = (define(store, QueueDefinition::local("ONE"))?, define(store, QueueDefinition::local("TWO"))?);
    let alias = QueueDefinition { kind: QueueKind::Alias("ONE".to_owned()), ..QueueDefinition::local("ALIAS") };
    let alias = define(store, alias)?;
    put(store, &alias, &message(1))?;
    same("through the alias", take_all(store, &one)?, vec![1])?;
    let both = QueueKind::Topic(vec!["ALIAS".to_owned(), "TWO".to_owned()]);
    let topic = define(store, QueueDefinition { kind: both, ..QueueDefinition::local("TOPIC") })?;
    put(store, &topic, &message(2))?;
    same("both", (take_all(store, &one)?, take_all(store, &two)?), (vec![2], vec![2]))?;
    let mut unit = store.begin().map_err(text)?;
    let error = topic.get(&mut unit, Select::First, GetWait::No).err().ok_or("a topic has no messages")?;
    same("status", error.status().digits(), "37")?;
    let alias = |name: &str, target: &str| {
        let kind = QueueKind::Alias(target.to_owned());
        QueueDefinition { kind, ..QueueDefinition::local(name) }
    };
    // A name that leads nowhere yet is allowed, one that leads back to itself is not.
    store.define_queue(&mut unit, alias("A", "B")).map_err(text)?;
    let circle = store.define_queue(&mut unit, alias("B", "A")).err().map(|error| error.status().digits());
    same("a circle", circle, Some("39"))?;
    unit.commit().map_err(text)?;
    same("an alias that leads nowhere", store.queue("A").err().map(|error| error.status().digits()), Some("35"))?;
    define(store, QueueDefinition { depth_max: 1, ..QueueDefinition::local("B") })?;
    let again = store.alter_queue(alias("A", "A")).err().map(|error| error.status().digits());
    same("an alias of itself", again, Some("39"))?;
    let b = store.queue("B").map_err(text)?;
    put(store, &b, &message(3))?;
    store.alter_queue(QueueDefinition { depth_max: 2, ..QueueDefinition::local("B") }).map_err(text)?;
    // The handle from before the change has the new limit.
    put(store, &b, &message(4))?;
    let b = store.queue("A").map_err(text)?;
    same("messages stay, and there is room", take_all(store, &b)?, vec![3, 4])?;
    // Concurrent units of work observe the limit together.
    let (mut first, mut second, mut third) =
        (store.begin().map_err(text)?, store.begin().map_err(text)?, store.begin().map_err(text)?);
    b.put(&mut first, &message(5)).map_err(text)?;
    b.put(&mut second, &message(6)).map_err(text)?;
    let full = b.put(&mut third, &message(7)).err().map(|error| error.status().digits());
    same("the limit of uncommitted messages", full.is_some(), true)?;
    drop(first);
    b.put(&mut third, &message(7)).map_err(text)?;
    second.commit().map_err(text)?;
    third.commit().map_err(text)?;
    same("after a rollback", take_all(store, &b)?, vec![6, 7])?;
    store.delete_queue("B").map_err(text)?;
    same("deleted", store.queue("B").err().map(|error| error.status().digits()), Some("35"))?;
    let mut unit = store.begin().map_err(text)?;
    let refused = b.put(&mut unit, &message(8)).err().map(|error| error.status().digits());
    same("a put by a handle from before", refused, Some("35"))?;
    let refused = b.get(&mut unit, Select::First, GetWait::AtMostMs(60_000)).err().map(|error| error.status().digits());
    same("a get by a handle from before", refused, Some("35"))?;
    drop(unit);
    same("no queue", store.queue("NONE").err().map(|error| error.status().digits()), Some("35"))
}

fn header(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    let sent = Message {
        id: [1; 24],
        correlation: [2; 24],
        group: [3; 24],
        group_sequence: 4,
        priority: 5,
        persistence: Persistence::Persistent,
        put_ms: 0,
        expires_ms: u64::MAX,
        reply_to: "REPLY".to_owned(),
        format: "MQSTR".to_owned(),
        reason: String::new(),
        backout_count: 0,
        properties: vec![("a".to_owned(), b"1".to_vec()), ("b".to_owned(), Vec::new())],
        payload: vec![0; 70_000],
    };
    put(store, &queue, &sent)?;
    let mut unit = store.begin().map_err(text)?;
    let browsed = queue.browse(&unit, None, 2).map_err(text)?;
    same("browsed", browsed.len(), 1)?;
    let found = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    same("put time", found.put_ms > 0, true)?;
    same("message", found == Message { put_ms: found.put_ms, ..sent }, true)
}

fn workers(store: &Store) -> Result<(), String> {
    const COUNT: u32 = 400;
    let (input, output) = (define(store, QueueDefinition::local("IN"))?, define(store, QueueDefinition::local("OUT"))?);
    for payload in 0..COUNT {
        put(store, &input, &message(payload))?;
    }
    let work = || -> Result<(), StoreError> {
        loop {
            let mut unit = store.begin()?;
            match input.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => output.put(&mut unit, &Message::new(message.payload))?,
                Err(StoreError::NoMessage { .. }) => return Ok(()),
                Err(error) => return Err(error),
            };
            unit.commit()?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a panic".to_owned())?.map_err(text))
    })?;
    let found = take_all(store, &output)?;
    same("count", found.len(), COUNT as usize)?;
    same("each once", found.into_iter().collect::<BTreeSet<_>>().len(), COUNT as usize)
}

fn one_unit(store: &Store) -> Result<(), String> {
    let (input, output) = (define(store, QueueDefinition::local("IN"))?, define(store, QueueDefinition::local("OUT"))?);
    put(store, &input, &message(1))?;
    for commits in [false, true] {
        let mut unit = store.begin().map_err(text)?;
        let message = input.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        unit.put(crate::Space(99), b"record", message.payload.clone()).map_err(text)?;
        output.put(&mut unit, &message).map_err(text)?;
        unit.put_checkpoint("flow", b"1").map_err(text)?;
        if commits {
            unit.commit().map_err(text)?;
        } else {
            unit.roll_back();
        }
        let unit = store.begin().map_err(text)?;
        let depths = (input.facts().map_err(text)?.depth, output.facts().map_err(text)?.depth);
        same("depths", depths, if commits { (0, 1) } else { (1, 0) })?;
        same("record", unit.read(crate::Space(99), b"record").map_err(text)?.is_some(), commits)?;
        same("checkpoint", unit.checkpoint("flow").map_err(text)?.is_some(), commits)?;
    }
    Ok(())
}

fn purge_and_move(store: &Store) -> Result<(), String> {
    let (one, two) = (define(store, QueueDefinition::local("ONE"))?, define(store, QueueDefinition::local("TWO"))?);
    for payload in 0..1_200 {
        put(store, &one, &message(payload))?;
    }
    same("moved", one.move_to(store, &two, 1_000).map_err(|stopped| text(stopped.error))?, 1_000)?;
    same("purged", one.purge(store).map_err(text)?, 200)?;
    let found = take_all(store, &two)?;
    same("order", found == (0..1_000).collect::<Vec<_>>(), true)
}

/// Events on a queue, as their kind and depth.
fn events(store: &Store, queue: &Queue) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    loop {
        let mut unit = store.begin().map_err(text)?;
        let message = match queue.get(&mut unit, Select::First, GetWait::No) {
            Ok(message) => message,
            Err(StoreError::NoMessage { .. }) => return Ok(found),
            Err(error) => return Err(error.to_string()),
        };
        unit.commit().map_err(text)?;
        let of = |name: &str| {
            let value = message.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            String::from_utf8(value.unwrap_or_default()).map_err(text)
        };
        same("queue of the event", of(DEPTH_QUEUE)?, "Q".to_owned())?;
        let payload = String::from_utf8(message.payload.clone()).map_err(text)?;
        let depth = payload.split("\"depth\":").nth(1).and_then(|rest| rest.split(',').next());
        found.push((of(DEPTH_EVENT)?, depth.unwrap_or_default().to_owned()));
    }
}

fn marks(store: &Store) -> Result<(), String> {
    let reports = define(store, QueueDefinition::local("EVENTS"))?;
    let definition = QueueDefinition {
        depth_high_mark: 4,
        depth_low_mark: 1,
        event_queue: "EVENTS".to_owned(),
        backout_threshold: 0,
        ..QueueDefinition::local("Q")
    };
    let queue = define(store, definition)?;
    let high = |depth: &str| ("depth-high".to_owned(), depth.to_owned());
    let low = |depth: &str| ("depth-low".to_owned(), depth.to_owned());
    for number in 0..3 {
        put(store, &queue, &message(number))?;
    }
    // A unit that rolls back crosses no mark, and its event is rolled back with it.
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, &message(90)).map_err(text)?;
    unit.roll_back();
    same("events after a rollback", events(store, &reports)?, vec![])?;
    for number in 3..9 {
        put(store, &queue, &message(number))?;
    }
    same("events of a rise", events(store, &reports)?, vec![high("4")])?;
    same("above", queue.facts().map_err(text)?.is_above_mark, true)?;
    let take = |count: u32| -> Result<(), String> {
        for _ in 0..count {
            let mut unit = store.begin().map_err(text)?;
            queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
            unit.commit().map_err(text)?;
        }
        Ok(())
    };
    // Between the marks, nothing is reported again.
    take(6)?;
    for number in 0..3 {
        put(store, &queue, &message(number))?;
    }
    take(4)?;
    same("events between the marks", events(store, &reports)?, vec![])?;
    let mut unit = store.begin().map_err(text)?;
    queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    unit.roll_back();
    same("events of a get that rolls back", events(store, &reports)?, vec![])?;
    take(1)?;
    same("events of a fall", events(store, &reports)?, vec![low("1")])?;
    // One unit may cross the mark with several puts.
    let mut unit = store.begin().map_err(text)?;
    let before = queue.facts().map_err(text)?;
    for number in 0..6 {
        queue.put(&mut unit, &message(number)).map_err(text)?;
    }
    let facts = queue.facts().map_err(text)?;
    same("before the commit", (facts.depth, facts.uncommitted), (before.depth, 6))?;
    unit.commit().map_err(text)?;
    let facts = queue.facts().map_err(text)?;
    same("after the commit", (facts.depth, facts.uncommitted), (before.depth + 6, 0))?;
    same("events of one unit", events(store, &reports)?, vec![high("4")])?;
    let facts = queue.facts().map_err(text)?;
    let counts = (facts.depth_high_events, facts.depth_low_events, facts.depth_events_lost);
    same("counts of events", counts, (2, 1, 0))?;
    // Puts continue if the event queue is missing.
    store.delete_queue("EVENTS").map_err(text)?;
    take(7)?;
    same("depth", queue.facts().map_err(text)?.depth, 0)?;
    same("lost events", queue.facts().map_err(text)?.depth_events_lost, 1)
}

fn wrong_marks(store: &Store) -> Result<(), String> {
    let local = || QueueDefinition::local("W");
    for (definition, expected) in [
        (QueueDefinition { depth_low_mark: 1, ..local() }, "need a high mark"),
        (QueueDefinition { event_queue: "E".to_owned(), ..local() }, "need a high mark"),
        (QueueDefinition { depth_high_mark: 2, depth_low_mark: 2, ..local() }, "less than the high mark"),
        (QueueDefinition { depth_high_mark: 9, depth_max: 8, ..local() }, "at most the depth limit"),
        (QueueDefinition { depth_high_mark: 9, event_queue: "W".to_owned(), ..local() }, "its own event queue"),
    ] {
        let mut unit = store.begin().map_err(text)?;
        match store.define_queue(&mut unit, definition) {
            Err(StoreError::BadDefinition { what, .. }) if what.contains(expected) => {}
            other => return Err(format!("found {other:?}, expected `{expected}`")),
        }
    }
    Ok(())
}
