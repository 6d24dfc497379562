//! Names of delivered files: types of documents come from partners and can have any characters.

use std::fs;

use quayline_partner::{DeskLimits, Kind, Ledger};
use quayline_store::LockWait;
use quayline_store::record_file::{By, Relation};

use crate::world::{World, orders};

const ANY: &str = "\n[[rule]]\nname = \"any\"\ndirection = \"receive\"\ndeliver = \"folder:any\"\n";

fn names(world: &World, folder: &str) -> Vec<String> {
    world.files(folder).into_iter().map(|(name, _)| name).collect()
}

/// Regression: `8/0` in ST01 became a folder that does not exist. The file was never written, and no later file of the folder either.
#[test]
fn a_document_of_any_type_has_a_name() {
    let world = World::with("usage = \"both\"\nvalidate = \"envelope\"", ANY);
    let odd = orders(7, &["PO1", "PO2"]).replacen("ST*850*", "ST*8/0*", 1);
    let report = world.receive(&odd);
    assert!(report.delivered == 2 && report.findings.is_empty(), "{report:?}");
    assert_eq!(names(&world, "any"), ["ACME-8_0-2.x12"]);
    let entry = world.entries(Kind::Transaction).into_iter().find(|entry| entry.details.document == "8/0");
    assert!(entry.expect("an entry").details.outputs[0].ends_with("any/ACME-8_0-2.x12"));
    assert_eq!(names(&world, "orders").len(), 1);
}

/// A store of an earlier version has names that no file can have.
#[test]
fn a_stored_file_with_an_unusable_name_is_written() {
    let world = World::new();
    world.write("orders", "not a folder");
    world.receive(&orders(7, &["PO1", "PO2"]));
    let store = world.store();
    let ledger = Ledger::open(&store).expect("files");
    let file = ledger.outbox_page(None, 1).expect("a page").files.remove(0);
    let name = file.path.expect("a path").file_name().expect("a name").to_string_lossy().into_owned();
    let mut unit = store.begin().expect("a unit");
    let outbox = store.file(&unit, "PARTNER.OUTBOX").expect("a file");
    let key = [&file.entry.0.to_be_bytes()[..], &[0, 0]].concat();
    let record = outbox.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::No).expect("a record");
    let at = record.bytes.windows(name.len()).position(|window| window == name.as_bytes()).expect("its name");
    let mut record = record.bytes.to_vec();
    let long = format!("ACME-8/0{}-3.json", "x".repeat(300));
    record.splice(
        at - 4..at + name.len(),
        [&u32::try_from(long.len()).expect("a length").to_le_bytes()[..], long.as_bytes()].concat(),
    );
    outbox.set(&mut unit, &record).expect("changed");
    unit.commit().expect("a commit");
    drop((ledger, outbox, store));
    fs::remove_file(world.path("orders")).expect("removed");
    let listed = world.ledger().outbox_page(None, 1).expect("a page").files.remove(0).path.expect("a path");
    let left = world.at_desk(DeskLimits::default(), |desk| Ok(desk.take_undelivered())).expect("a desk");
    assert_eq!(left, []);
    let names = names(&world, "orders");
    assert!(names.len() == 2 && names.iter().any(|name| name.ends_with("xx-3.json")), "{names:?}");
    assert!(world.path("").join(listed).exists());
    assert!(world.ledger().outbox_page(None, 10).expect("a page").files.is_empty());
}

/// Regression: after one file that could not be written, no other file of its folder was written.
#[test]
fn a_file_that_cannot_be_written_keeps_no_other_back() {
    let world = World::new();
    world.write("orders", "not a folder");
    world.receive(&orders(7, &["PO1", "PO2", "PO3"]));
    fs::remove_file(world.path("orders")).expect("removed");
    let first = world.ledger().outbox_page(None, 1).expect("a page").files.remove(0).path.expect("a path");
    fs::create_dir_all(world.path("").join(&first)).expect("a folder with the name of the file");
    for _ in 0..2 {
        let left = world.at_desk(DeskLimits::default(), |desk| Ok(desk.take_undelivered())).expect("a desk");
        assert!(left.len() == 1 && left[0].code.0 == "PTN-300", "{left:?}");
    }
    let written = fs::read_dir(world.path("orders")).expect("a folder").count();
    assert_eq!(written, 3, "two files, and the folder in place of the first");
}
