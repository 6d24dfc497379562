//! Outputs that go into record files.

use quayline_partner::{Again, Book, DeskLimits, Kind, State};
use quayline_project::ShapeOptions;
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};

use crate::world::{World, interchange};

const MAP: &str = r#"map "order to a record"
source "../tiny.guide"
target record "../order.toml"
ORDER-ID = BEG.BEG03
LINES = count(PO1)
"#;

const LAYOUT: &str = "layout = \"record\"\ncopybook = \"order.cpy\"\nencoding = \"cp037\"\nframing = \"rdw\"\n";

const COPYBOOK: &str =
    "       01  ORDER-RECORD.\n           05  ORDER-ID  PIC X(8).\n           05  LINES     PIC 9(3).\n";

/// Orders of kind RO become records of a file. Other orders go to a folder.
fn world(rule: &str) -> World {
    let text = format!(
        "[[rule]]\nname = \"records\"\ndirection = \"receive\"\ndocument = \"850\"\nversion = \"005010\"\nwhen = {{ BEG02 = \"RO\" }}\nfields = {{ order = \"BEG03\" }}\n{rule}\n"
    );
    let world = World::with("acknowledge = []", &text);
    world.write("maps/record.qmap", MAP);
    world.write("order.toml", LAYOUT);
    world.write("order.cpy", COPYBOOK);
    world
}

const RULE: &str = "map = \"maps/record.qmap\"\ndeliver = \"file:ORDERS\"";

fn define(world: &World) {
    let ledger = world.ledger();
    let store = ledger.store();
    let mut unit = store.begin().expect("a unit");
    let definition = FileDefinition {
        name: "ORDERS".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
        record_bytes_min: 11,
        record_bytes_max: 11,
        alternates: Vec::new(),
    };
    store.define_file(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
}

/// Returns the order and the number of lines of each record.
fn records(world: &World) -> Vec<String> {
    let ledger = world.ledger();
    let store = ledger.store();
    let unit = store.begin().expect("a unit");
    let file = store.file(&unit, "ORDERS").expect("the file");
    let mut browse = file.browse();
    let mut found = Vec::new();
    while let Ok(record) = browse.next(&unit) {
        // EBCDIC digits and letters of this test.
        let text = |byte: &u8| match byte {
            0xf0..=0xf9 => char::from(byte - 0xf0 + b'0'),
            0xc1..=0xc9 => char::from(byte - 0xc1 + b'A'),
            _ => ' ',
        };
        found.push(record.bytes.iter().map(text).collect());
    }
    found
}

#[test]
fn records_are_inserted_in_the_unit_of_work_of_their_document() {
    let world = world(RULE);
    world.book().check().expect("a good project");
    define(&world);
    let report = world.receive(&interchange(7, "P", &[("A1", "RO"), ("PO2", "SA"), ("B2", "RO")]));
    assert_eq!((report.delivered, report.rejected), (3, 0), "{report:?}");
    assert_eq!(records(&world), ["A1      001", "B2      001"]);
    let entries = world.entries(Kind::Transaction);
    assert!(entries.iter().any(|entry| entry.details.outputs == ["file:ORDERS"]), "{entries:?}");
    assert_eq!(world.files("orders").len(), 1);
}

#[test]
fn a_refused_record_rejects_its_document_only() {
    let world = world(RULE);
    define(&world);
    let report = world.receive(&interchange(7, "P", &[("A1", "RO"), ("A1", "RO"), ("C3", "RO")]));
    assert_eq!((report.delivered, report.rejected), (2, 1), "{report:?}");
    assert_eq!(records(&world), ["A1      001", "C3      001"]);
    let rejected = world.entries(Kind::Transaction).into_iter().find(|one| one.state == State::Rejected);
    let rejected = rejected.expect("the second order");
    assert!(rejected.details.findings.iter().any(|one| one.code == "STO-012"), "{:?}", rejected.details.findings);
    assert!(rejected.details.outputs.is_empty());
}

#[test]
fn a_file_that_is_not_defined_is_a_finding() {
    let world = world(RULE);
    let mut source = std::io::Cursor::new(interchange(7, "P", &[("A1", "RO")]).into_bytes());
    let done = world.at_desk(DeskLimits::default(), |desk| desk.receive("in.x12", &mut source, Again::No));
    let found = done.expect_err("no file").to_string();
    assert!(found.contains("record file ORDERS is not defined") && found.contains("quayline file define"), "{found}");
}

#[test]
fn what_a_record_file_cannot_take_is_found_by_the_check() {
    let check = |rule: &str| world(rule).book().check().expect_err("a wrong rule").to_string();
    let found = check("map = \"maps/in.qmap\"\ndeliver = \"file:ORDERS\"");
    assert!(found.contains("output `order` is not records in a framing"), "{found}");
    let found = check("deliver = \"file:ORDERS\"");
    assert!(found.contains("the document itself is EDI"), "{found}");
    let world = World::with("send-to = \"file:ORDERS\"", "");
    let opened = Book::open(&world.path(""), ShapeOptions::default(), 0, 7);
    let found = opened.expect_err("a wrong place").to_string();
    assert!(found.contains("an interchange is EDI"), "{found}");
}
