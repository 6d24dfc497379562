//! Messages whose content is stored in parts.

use super::queues::define;
use super::{same, text};
use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::queue::{Content, GetWait, Message, Persistence, Queue, QueueDefinition, QueueKind, Select};
use crate::{Store, StoreError};

/// Returns content of three full parts and one part of five bytes.
fn content(store: &Store) -> Vec<u8> {
    let length = 3 * store.limits().message_part_bytes + 5;
    (0..length).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect()
}

fn put(store: &Store, queue: &Queue, message: &Message) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, message).map_err(text)?;
    unit.commit().map(|_| ()).map_err(text)
}

/// Entries in the space of the parts of a queue.
fn parts(store: &Store, name: &str) -> Result<usize, String> {
    let unit = store.begin().map_err(text)?;
    let spaces = store.queue_spaces(&unit, name).map_err(text)?.ok_or("the queue exists")?;
    let space = *spaces.get(2).ok_or("a new queue has a space for parts")?;
    let mut page = Page::default();
    let limit = PageLimit { entries: 100, bytes: usize::MAX };
    store.0.engine.page(space, KeyRange::ALL, Direction::Forward, limit, &mut page).map_err(text)?;
    Ok(page.len())
}

/// Sends long content through every operation of a queue and compares it after each.
pub(super) fn long(store: &Store) -> Result<(), String> {
    let content = content(store);
    let is_content = |message: &Message| message.payload == content;
    let definition = QueueDefinition {
        backout_threshold: 2,
        backout_queue: "B".to_owned(),
        retry_ms_max: 0,
        ..QueueDefinition::local("Q")
    };
    let (queue, backout) = (define(store, definition)?, define(store, QueueDefinition::local("B"))?);
    let message = Message { correlation: [3; 24], ..Message::new(content.clone()) };
    put(store, &queue, &message)?;
    put(store, &queue, &Message::new(*b"short"))?;
    same("parts", parts(store, "Q")?, 4)?;
    // Reads without a get.
    let unit = store.begin().map_err(text)?;
    let found = queue.browse(&unit, None, 9).map_err(text)?;
    same("browsed", found.iter().map(|found| found.bytes).collect::<Vec<_>>(), vec![content.len() as u64, 5])?;
    same("with content", found.first().is_some_and(|found| is_content(&found.message)), true)?;
    let found = queue.browse_within(&unit, None, 9, 1_000, Content::LeftOut).map_err(text)?;
    same("long content takes no room", found.iter().map(|found| found.bytes).sum::<u64>(), content.len() as u64 + 5)?;
    same("without content", found.iter().all(|found| found.message.payload.is_empty()), true)?;
    let peeked = queue.peek(store, Select::Correlation([3; 24])).map_err(text)?;
    same("peeked", peeked.is_some_and(|message| is_content(&message)), true)?;
    drop(unit);
    // Given back, moved away, returned, moved, got.
    for _ in 0..2 {
        let mut unit = store.begin().map_err(text)?;
        let message = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        same("got", is_content(&message), true)?;
        unit.roll_back();
    }
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while backout.facts().map_err(text)?.depth == 0 && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    same("parts moved", (parts(store, "Q")?, parts(store, "B")?), (0, 4))?;
    same("returned", backout.retry(store, 9).map_err(text)?.returned, 1)?;
    same("parts returned", (parts(store, "Q")?, parts(store, "B")?), (4, 0))?;
    same("moved", queue.move_to(store, &backout, 9).map_err(|stopped| text(stopped.error))?, 2)?;
    let mut unit = store.begin().map_err(text)?;
    let got = backout.get(&mut unit, Select::Correlation([3; 24]), GetWait::No).map_err(text)?;
    same("got at last", is_content(&got), true)?;
    unit.commit().map_err(text)?;
    same("nothing is left", (parts(store, "Q")?, parts(store, "B")?), (0, 0))?;
    same("the short one is", backout.purge(store).map_err(text)?, 1)?;
    outside_of_units(store, &queue, &message)?;
    topic(store, &queue, &backout, &message)
}

/// Messages that expire, that do not persist, that are purged and that never were committed.
fn outside_of_units(store: &Store, queue: &Queue, message: &Message) -> Result<(), String> {
    put(store, queue, &Message { expires_ms: 1, ..message.clone() })?;
    let mut unit = store.begin().map_err(text)?;
    let found = queue.get(&mut unit, Select::First, GetWait::No);
    same("expired", matches!(found, Err(StoreError::NoMessage { .. })), true)?;
    put(store, queue, &Message { persistence: Persistence::NotPersistent, ..message.clone() })?;
    let got = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
    same("in memory", got.payload == message.payload, true)?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    queue.put(&mut unit, message).map_err(text)?;
    unit.roll_back();
    put(store, queue, message)?;
    same("purged", queue.purge(store).map_err(text)?, 1)?;
    // The expired message is deleted without a unit that waits for it.
    let mut unit = store.begin().map_err(text)?;
    unit.put(crate::Space::CHECKPOINTS, b"after", b"1".as_slice()).map_err(text)?;
    unit.commit().map_err(text)?;
    same("nothing is left", parts(store, "Q")?, 0)
}

/// Checks that both subscriber queues of a topic store the parts.
fn topic(store: &Store, queue: &Queue, backout: &Queue, message: &Message) -> Result<(), String> {
    let subscribers = vec!["Q".to_owned(), "B".to_owned()];
    let topic = define(store, QueueDefinition { kind: QueueKind::Topic(subscribers), ..QueueDefinition::local("T") })?;
    put(store, &topic, message)?;
    same("parts of both", (parts(store, "Q")?, parts(store, "B")?), (4, 4))?;
    for queue in [queue, backout] {
        let mut unit = store.begin().map_err(text)?;
        let got = queue.get(&mut unit, Select::First, GetWait::No).map_err(text)?;
        same("got by a subscriber", got.payload == message.payload, true)?;
        unit.commit().map_err(text)?;
    }
    store.delete_queue("Q").map_err(text)
}
