//! Two workers on one store at the same time, as two processes are.

use std::io::Cursor;
use std::thread;
use std::time::Duration;

use quayline_core::Findings;
use quayline_partner::{Again, Book, Desk, DeskLimits, Ledger, Release, SendReport, SendRequest};
use quayline_store::Store;

use crate::world::{NOON_MS, World};

/// Does `first` in a unit of work, which commits while another worker that does `second` waits for its locks.
fn overlapped<T, U: Send>(
    world: &World,
    limits: DeskLimits,
    first: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>,
    second: impl FnOnce(&mut Desk<'_>) -> Result<U, Findings> + Send,
) -> (T, Result<U, Findings>) {
    let (book, store): (Book, Store) = (world.book(), world.store());
    let ledger = Ledger::open(&store).expect("files");
    let mut desk = Desk::new(&book, &ledger, limits, || NOON_MS).expect("a worker");
    let mut unit = store.begin().expect("a unit of work");
    let done = desk.in_unit(&mut unit, &[], first).unwrap_or_else(|findings| panic!("{findings}"));
    let second = thread::scope(|scope| {
        let other = scope.spawn(|| second(&mut Desk::new(&book, &ledger, limits, || NOON_MS)?));
        // Long enough to come to the lock. A slower worker sees the committed state, and the test proves less.
        thread::sleep(Duration::from_millis(300));
        unit.commit().expect("committed");
        other.join().expect("no panic")
    });
    assert!(done.files.write().is_empty());
    (done.done, second)
}

fn send(desk: &mut Desk<'_>, order: &str) -> Result<SendReport, Findings> {
    let mut source = Cursor::new(format!("{{\"number\":\"{order}\",\"kind\":\"SA\"}}\n"));
    let request = SendRequest { name: "out.json", to: Some("ACME"), from: None, document: "order", again: Again::Yes };
    desk.send(&request, &mut source)
}

fn delayed() -> World {
    World::with("usage = \"both\"\nenvelope = \"delayed\"\nclose = { age = \"1h\" }", "")
}

/// A worker that released read the documents, then waited for one that added a document. It removed the envelope that counted the new document,
/// which was never sent.
#[test]
fn a_document_that_comes_during_a_release_is_sent() {
    let world = delayed();
    world.sent("order", &["A1", "A2"]);
    let (_, released) =
        overlapped(&world, DeskLimits::default(), |desk| send(desk, "A3"), |desk| desk.release(&Release::All));
    assert_eq!(released.expect("released").interchanges, 1);
    let texts: String = world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect();
    assert!(["A1", "A2", "A3"].iter().all(|order| texts.contains(&format!("*{order}*"))), "{texts}");
    assert_eq!(world.at_desk(DeskLimits::default(), |desk| desk.waiting()).expect("a list"), []);
}

/// Two workers released one envelope: both sent its documents.
#[test]
fn an_envelope_is_released_by_one_of_two_workers() {
    let world = delayed();
    world.sent("order", &["A1", "A2"]);
    let release = |desk: &mut Desk<'_>| desk.release(&Release::All);
    let (first, second) = overlapped(&world, DeskLimits::default(), release, release);
    assert_eq!((first.interchanges, second.expect("released").interchanges), (1, 0));
    assert_eq!(world.files("outbox/ACME").len(), 1);
}
