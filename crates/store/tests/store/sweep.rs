//! The sweep of spaces without a name.

use std::sync::mpsc;
use std::time::Duration;

use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, Relation};
use quayline_store::{Space, Store, StoreError};

use crate::retry::opened;

/// Key of the note of a space that has no name.
fn note(space: u32) -> Vec<u8> {
    [&b"store/dropping/"[..], &space.to_be_bytes()].concat()
}

/// A process that opened the store read the note of a copy. The copy got its name, and then the process cleared it: all records of the file were
/// lost.
#[test]
fn a_space_that_got_its_name_after_its_note_was_read_is_kept() {
    let (store, engine) = opened();
    let mut unit = store.begin().expect("a unit");
    let definition = FileDefinition {
        name: "F".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 4 }),
        record_bytes_min: 4,
        record_bytes_max: 40,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).expect("defined");
    file.insert(&mut unit, b"0001").expect("inserted");
    // One of them is the space of the records.
    for space in 1..100 {
        unit.put(Space::CATALOG, &note(space), b"F".to_vec()).expect("noted");
    }
    unit.commit().expect("committed");
    let other = store.clone();
    *engine.after_catalog.lock().expect("no panic") = Some(Box::new(move || {
        let mut unit = other.begin().expect("a unit");
        (1..100).for_each(|space| unit.delete(Space::CATALOG, &note(space)).expect("deleted"));
        unit.commit().expect("committed");
    }));
    assert_eq!(store.sweep(None).expect("swept"), 0);
    assert!(engine.after_catalog.lock().expect("no panic").is_none(), "the notes were read");
    let unit = store.begin().expect("a unit");
    let found = file.read(&unit, By::Key(b"0001"), Relation::Equal);
    assert!(found.is_ok(), "{found:?}");
}

/// Calls a function of the store. Another unit of work calls a second one after the first read of the definition, and may have to wait for a lock.
fn between<T: Send + 'static>(
    call: impl FnOnce(&Store) -> Result<(), StoreError>,
    other: impl FnOnce(&Store) -> T + Send + 'static,
) -> (Store, Result<(), StoreError>, T) {
    let (store, engine) = opened();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, QueueDefinition::local("Q")).expect("defined");
    unit.commit().expect("committed");
    let (done, ended) = mpsc::channel();
    let second = store.clone();
    *engine.after_get.lock().expect("no panic") = Some(Box::new(move || {
        let (sender, first) = mpsc::channel();
        std::thread::spawn(move || {
            let result = other(&second);
            let _ = sender.send(());
            done.send(result).expect("the test waits");
        });
        // The second call ends at once unless it waits for the lock.
        let _ = first.recv_timeout(Duration::from_millis(500));
    }));
    let called = call(&store);
    let other = ended.recv_timeout(Duration::from_secs(60)).expect("the second call ended");
    (store, called, other)
}

/// A process read the definition of a queue, another one deleted the queue, and the first one wrote the definition again: new messages went to spaces
/// that the next process cleared.
#[test]
fn a_queue_that_is_deleted_while_it_is_altered_does_not_come_back() {
    let (store, altered, deleted) =
        between(|store| store.alter_queue(QueueDefinition::local("Q")), |store| store.delete_queue("Q"));
    assert!(altered.is_ok() && deleted.is_ok(), "{altered:?} {deleted:?}");
    let found = store.queue_definition("Q");
    assert!(matches!(found, Err(StoreError::QueueMissing { .. })), "{found:?}");
}

/// A process read the definition of a queue, another one deleted the queue and defined it again, and the first one deleted the new definition: its
/// spaces kept their messages without a name and without a note.
#[test]
fn the_queue_that_is_deleted_is_the_one_that_was_read() {
    let (store, deleted, again) = between(
        |store| store.delete_queue("Q"),
        |store| {
            store.delete_queue("Q").and_then(|()| {
                let mut unit = store.begin()?;
                store.define_queue(&mut unit, QueueDefinition::local("Q"))?;
                unit.commit()
            })
        },
    );
    assert!(deleted.is_ok(), "{deleted:?}");
    // The second process finds that the queue does not exist.
    assert!(matches!(again, Err(StoreError::QueueMissing { .. })), "{again:?}");
    assert!(store.queues(&store.begin().expect("a unit")).expect("read").is_empty());
}

/// A note on a space that a definition names must not cost the records.
#[test]
fn a_space_that_a_definition_names_is_kept() {
    let (store, _engine) = opened();
    let mut unit = store.begin().expect("a unit");
    store.define_queue(&mut unit, QueueDefinition::local("Q")).expect("defined");
    for space in 1..100 {
        unit.put(Space::CATALOG, &note(space), b"Q".to_vec()).expect("noted");
    }
    unit.commit().expect("committed");
    let queue = store.queue("Q").expect("opened");
    let mut unit = store.begin().expect("a unit");
    queue.put(&mut unit, &Message::new("kept")).expect("put");
    unit.commit().expect("committed");
    assert_eq!(store.sweep(None).expect("swept"), 0);
    let found = queue.browse(&store.begin().expect("a unit"), None, 10).expect("browsed");
    assert_eq!(found.len(), 1);
}
