//! The list of files that are committed and not yet written.

use std::fs;

use quayline_partner::{Desk, DeskLimits, Kind, Ledger, OutboxFile, StoreKey};
use quayline_store::LockWait;
use quayline_store::record_file::{By, Relation};

use crate::world::{World, orders};

/// Returns all files in pages of this size.
fn pages(ledger: &Ledger, size: usize) -> Vec<OutboxFile> {
    let (mut all, mut after) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let page = ledger.outbox_page(after.as_deref(), size).expect("a page");
        assert!(page.files.len() <= size && (page.files.len() == size || page.next.is_none()), "{page:?}");
        all.extend(page.files);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

#[test]
fn files_that_cannot_be_written_are_listed_and_stay() {
    let world = World::new();
    let ledger = world.ledger();
    assert_eq!(pages(&ledger, 10), []);
    world.write("orders", "not a folder");
    world.write("outbox", "not a folder");
    world.receive(&orders(7, &["PO1", "PO2", "PO3", "PO4"]));
    let ledger = world.ledger();
    let all = pages(&ledger, 10);
    assert_eq!(all.len(), 5, "four documents and their acknowledgment: {all:?}");
    for size in 1..=5 {
        assert_eq!(pages(&ledger, size), all, "pages of {size}");
    }
    for entry in world.entries(Kind::Transaction) {
        let file = all.iter().find(|file| file.entry == entry.id).expect("the file of the document");
        assert_eq!(
            file.path.as_ref().map(|path| world.path("").join(path).display().to_string()),
            entry.details.outputs.first().cloned()
        );
    }
    // A worker that writes a file has it locked meanwhile.
    let store = world.store();
    let mut unit = store.begin().expect("a unit");
    let outbox = store.file(&unit, "PARTNER.OUTBOX").expect("a file");
    let key = [&all[1].entry.0.to_be_bytes()[..], &[0, 0]].concat();
    outbox.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::No).expect("locked");
    assert_eq!(pages(&Ledger::open(&store).expect("files"), 2), all);
    // A page begins after a file that has been written since.
    let first = ledger.outbox_page(None, 2).expect("a page");
    assert_eq!(first.next.as_ref(), Some(&key));
    outbox.remove(&mut unit, &key).expect("removed");
    unit.commit().expect("a commit");
    let rest = world.ledger().outbox_page(first.next.as_deref(), 10).expect("a page");
    assert_eq!((&rest.files[..], rest.next), (&all[2..], None));
    let wrong = ledger.outbox_page(Some(&key[1..]), 10).expect_err("no place");
    assert_eq!(wrong.0[0].code.0, "PTN-306");
    // The next worker writes the files, with as many bytes as the list gave.
    for name in ["orders", "outbox"] {
        fs::remove_file(world.path(name)).expect("removed");
    }
    world.at_desk(DeskLimits::default(), |_| Ok(())).expect("a desk");
    for file in [&all[..1], &all[2..]].concat() {
        let path = world.path("").join(file.path.expect("a path"));
        assert_eq!(fs::metadata(&path).expect("written").len(), file.bytes, "{}", path.display());
    }
    assert_eq!(pages(&world.ledger(), 10), []);
}

#[test]
fn an_encrypted_outbox_is_listed_with_its_key() {
    let world = World::new();
    for name in ["orders", "outbox"] {
        world.write(name, "not a folder");
    }
    let (store, book) = (world.store(), world.book());
    let key = StoreKey::parse(&"0a".repeat(32)).expect("a key");
    let ledger = Ledger::open_with(&store, Some(key)).expect("files");
    let mut desk = Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk");
    let mut source = std::io::Cursor::new(orders(7, &["PO1", "PO2"]).into_bytes());
    desk.receive("in.x12", &mut source, quayline_partner::Again::No).expect("received");
    drop(desk);
    let all = pages(&ledger, 10);
    assert_eq!(all.len(), 3, "{all:?}");
    let closed = Ledger::open(&store).expect("files").outbox_page(None, 10).expect_err("no key");
    assert_eq!(closed.0[0].code.0, "PTN-305");
    for name in ["orders", "outbox"] {
        fs::remove_file(world.path(name)).expect("removed");
    }
    drop(Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk"));
    for file in all {
        let path = world.path("").join(file.path.expect("a path"));
        assert_eq!(fs::metadata(path).expect("written").len(), file.bytes);
    }
}
