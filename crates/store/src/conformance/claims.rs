//! Claims outside of units of work, and which task is woken when a message arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use super::queues::define;
use super::{Check, same, text};
use crate::Store;
use crate::queue::{
    Attempt, Claim, Claimed, DEAD_LETTER, GetWait, Message, Persistence, Queue, QueueDefinition, Select,
};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "a_claim_hides_its_message_until_it_is_given_back", run: hides },
    Check { name: "a_claim_joins_a_unit_of_work", run: joins },
    Check { name: "a_claim_moves_to_the_backout_queue_with_its_reason", run: moves },
    Check { name: "one_arrival_wakes_one_task", run: tasks },
    Check { name: "a_message_that_is_given_back_wakes_a_task", run: given_back },
];

/// Longest wait for a task to be woken.
const WAKE_MAX: Duration = Duration::from_secs(10);

fn put(store: &Store, queue: &Queue, message: &Message) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, message).map_err(text)?;
    unit.commit().map(|_| ()).map_err(text)
}

fn claim(store: &Store, queue: &Queue) -> Result<Option<(Claim, Message)>, String> {
    match queue.claim(store, Select::First, None).map_err(text)? {
        Claimed::Message(claim, message) => Ok(Some((claim, *message))),
        Claimed::Nothing { .. } => Ok(None),
    }
}

fn take(store: &Store, queue: &Queue) -> Result<(Claim, Message), String> {
    claim(store, queue)?.ok_or_else(|| "expected a message".to_owned())
}

fn hides(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        put(store, &queue, &Message { persistence, ..Message::new(*b"a") })?;
        let (held, _) = take(store, &queue)?;
        same("claimed", claim(store, &queue)?.is_none(), true)?;
        let mut unit = store.begin().map_err(text)?;
        same("got", queue.get(&mut unit, Select::First, GetWait::No).is_err(), true)?;
        same("browsed", queue.browse(&unit, None, 9).map_err(text)?.len(), 0)?;
        held.release(Attempt::NotMade);
        let (held, message) = take(store, &queue)?;
        same("not counted", message.backout_count, 0)?;
        held.release(Attempt::Failed);
        let (held, message) = take(store, &queue)?;
        same("counted", message.backout_count, 1)?;
        drop(held);
        let (held, message) = take(store, &queue)?;
        same("a drop does not count", message.backout_count, 1)?;
        held.get(&mut unit).map_err(text)?;
        unit.commit().map_err(text)?;
        same("depth", queue.facts().map_err(text)?.depth, 0)?;
    }
    Ok(())
}

fn joins(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") })?;
    let other = define(store, QueueDefinition::local("OTHER"))?;
    put(store, &queue, &Message::new(*b"a"))?;
    for commits in [false, true] {
        let (held, message) = take(store, &queue)?;
        let mut unit = store.begin().map_err(text)?;
        held.get(&mut unit).map_err(text)?;
        other.put(&mut unit, &message).map_err(text)?;
        if commits {
            unit.commit().map_err(text)?;
        } else {
            unit.roll_back();
        }
        let depths = (queue.facts().map_err(text)?.depth, other.facts().map_err(text)?.depth);
        same("depths", depths, if commits { (0, 1) } else { (1, 0) })?;
    }
    Ok(())
}

fn moves(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    put(store, &queue, &Message::new(*b"a"))?;
    let (held, _) = take(store, &queue)?;
    let mut unit = store.begin().map_err(text)?;
    let Err(refused) = held.move_to_backout(&mut unit, "no", None) else {
        return Err("there is no backout queue".to_owned());
    };
    same("status", refused.1.status().digits(), "35")?;
    drop((refused, unit));
    let dead = define(store, QueueDefinition::local(DEAD_LETTER))?;
    let (held, _) = take(store, &queue)?;
    let mut unit = store.begin().map_err(text)?;
    held.move_to_backout(&mut unit, "the client refused it", None).map_err(|refused| text(refused.1))?;
    unit.commit().map_err(text)?;
    same("depth", queue.facts().map_err(text)?.depth, 0)?;
    same("moved", queue.facts().map_err(text)?.moved, 1)?;
    let (held, message) = take(store, &dead)?;
    same("reason", message.reason.as_str(), "the client refused it")?;
    drop(held);
    let outcome = dead.retry(store, 10).map_err(text)?;
    same("returned", (outcome.returned, outcome.left), (1, 0))?;
    let (_held, message) = take(store, &queue)?;
    same("reason", (message.reason.as_str(), message.properties.len()), ("", 0))
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counter() -> (Waker, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    (Waker::from(Arc::clone(&counter)), counter)
}

fn tasks(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition::local("Q"))?;
    let (first, first_counter) = counter();
    let (second, second_counter) = counter();
    let woken = || (first_counter.0.load(Ordering::SeqCst), second_counter.0.load(Ordering::SeqCst));
    let wait = |waker: &Waker| match queue.claim(store, Select::First, Some(waker)).map_err(text)? {
        Claimed::Nothing { due_ms: None } => Ok(()),
        other => Err(format!("expected nothing, found {other:?}")),
    };
    for waker in [&first, &second, &first] {
        wait(waker)?;
    }
    put(store, &queue, &Message::new(*b"a"))?;
    same("the one that waits longest", woken(), (1, 0))?;
    queue.pass_on();
    same("passed on", woken(), (1, 1))?;
    put(store, &queue, &Message::new(*b"b"))?;
    same("nobody waits", woken(), (1, 1))?;
    queue.purge(store).map_err(text)?;
    wait(&first)?;
    wait(&second)?;
    queue.forget(&first);
    put(store, &queue, &Message::new(*b"c"))?;
    same("one that is forgotten is not woken", woken(), (1, 2))?;
    queue.purge(store).map_err(text)?;
    wait(&first)?;
    wait(&second)?;
    put(store, &queue, &Message::new(*b"d"))?;
    queue.forget(&first);
    same("one that is forgotten after it was woken passes on", woken(), (2, 3))
}

fn given_back(store: &Store) -> Result<(), String> {
    let queue = define(store, QueueDefinition { backout_threshold: 0, ..QueueDefinition::local("Q") })?;
    put(store, &queue, &Message::new(*b"a"))?;
    let (waker, counter) = counter();
    let (held, _) = take(store, &queue)?;
    queue.claim(store, Select::First, Some(&waker)).map_err(text)?;
    held.release(Attempt::NotMade);
    wakes("released", &counter, 1)?;
    let (held, _) = take(store, &queue)?;
    queue.claim(store, Select::First, Some(&waker)).map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    held.get(&mut unit).map_err(text)?;
    unit.roll_back();
    wakes("rolled back", &counter, 2)
}

/// Waits until the task was woken so often. With several processes, another thread that heard of an earlier release may have taken the waker just before,
/// and wakes the task a moment later.
fn wakes(what: &str, counter: &Counter, least: usize) -> Result<(), String> {
    let begun = Instant::now();
    while counter.0.load(Ordering::SeqCst) < least && begun.elapsed() < WAKE_MAX {
        std::thread::sleep(Duration::from_millis(1));
    }
    same(what, counter.0.load(Ordering::SeqCst) >= least, true)
}
