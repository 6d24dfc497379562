//! The sweep of spaces without a name.

use quayline_store::Space;
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, Relation};

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
