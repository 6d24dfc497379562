//! Whether a book that a process keeps is still current.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quayline_partner::{Book, Desk, DeskLimits, Existing, Roster, RosterChange};
use quayline_project::ShapeOptions;

use crate::roster::{CHANGE, partner};
use crate::world::{World, orders};

/// Waits until files count as older than a book that is opened then, and opens one with the clock of the system.
fn book(world: &World) -> Book {
    std::thread::sleep(Duration::from_millis(250));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let now_us = i64::try_from(now.as_micros()).expect("a time");
    let book = Book::open_with(&world.path(""), Some(&world.store()), ShapeOptions::default(), now_us, 1);
    book.unwrap_or_else(|findings| panic!("{findings}"))
}

/// Receives an order, which compiles the map and the guide.
fn used(world: &World, book: &Book) {
    let ledger = world.ledger();
    let mut desk = Desk::new(book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk");
    let mut source = std::io::Cursor::new(orders(1, &["PO1"]).into_bytes());
    desk.receive("in.x12", &mut source, quayline_partner::Again::Yes).expect("received");
}

#[test]
fn a_book_is_current_until_one_of_its_files_changes() {
    let world = World::with("usage = \"both\"\nduplicates = \"accept\"", "");
    world.write("spare/other.guide", "not read by anybody");
    let current = |book: &Book| book.is_current(Some(&world.store()));
    for (file, is_noticed) in [
        ("partners/us.toml", true),
        ("partners/acme.toml", true),
        ("maps/in.qmap", true),
        ("tiny.guide", true),
        ("x12-trade.guide", true),
        ("order.json", true),
        ("spare/other.guide", false),
    ] {
        let book = book(&world);
        used(&world, &book);
        assert!(current(&book) && current(&book), "{file}");
        // The same length, and the same time of the last change as programs can set it.
        let path = world.path(file);
        let (text, times) = (fs::read(&path).expect("a file"), fs::metadata(&path).expect("a file"));
        fs::write(&path, &text).expect("written");
        fs::File::options()
            .write(true)
            .open(&path)
            .expect("open")
            .set_modified(times.modified().expect("a time"))
            .expect("set");
        assert_eq!(current(&book), !is_noticed, "{file}");
    }
}

#[test]
fn new_and_removed_files_and_partners_in_the_store_are_changes() {
    let world = World::new();
    let current = |book: &Book| book.is_current(Some(&world.store()));
    let first = book(&world);
    assert!(current(&first));
    world.write("partners/new.toml", &partner("NEW"));
    assert!(!current(&first));
    let second = book(&world);
    assert!(current(&second) && second.named("NEW").is_some());
    fs::remove_file(world.path("partners/new.toml")).expect("removed");
    assert!(!current(&second));
    let third = book(&world);
    assert!(current(&third));
    // What is used first after a change of its file was read before or after it, which nobody knows: it counts as changed.
    world.write("maps/in.qmap", &fs::read_to_string(world.path("maps/in.qmap")).expect("a map"));
    assert!(current(&third), "the map was not used");
    used(&world, &third);
    assert!(!current(&third));
    let fourth = book(&world);
    let (store, folder) = (world.store(), world.path(""));
    let put = vec![("kept.toml".into(), partner("KEPT"))];
    let change = RosterChange { put, existing: Existing::Refused, kept: Some(quayline_partner::Kept::Store), ..CHANGE };
    let roster = Roster { project: &folder, store: Some(&store), options: ShapeOptions::default() };
    roster.change(&change, world.now_ms.get()).expect("changed");
    assert!(!current(&fourth));
}

/// A map that cannot be used is tried again, because its file may be right by now.
#[test]
fn a_book_with_a_map_that_failed_is_not_current() {
    let world = World::new();
    world.write("maps/in.qmap", "not a map");
    let book = book(&world);
    assert!(book.is_current(Some(&world.store())));
    used(&world, &book);
    assert!(!book.is_current(Some(&world.store())));
}
