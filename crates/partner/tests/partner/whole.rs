//! Received interchanges that are kept as they came.

use std::io::Cursor;

use quayline_core::Findings;
use quayline_partner::{Again, DeskLimits, Entry, EntryId, Filter, Kind, State, StoreKey, Way};

use crate::world::{World, orders};

fn received(world: &World) -> Vec<Entry> {
    world.entries(Kind::Interchange).into_iter().filter(|entry| entry.way == Way::Received).collect()
}

fn bytes(world: &World, id: EntryId) -> Result<Vec<u8>, Findings> {
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    let entry = ledger.need(&unit, id)?;
    let mut all = Vec::new();
    ledger.bytes_of(&unit, &entry, &mut |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(all)
}

/// Counts the pieces of received interchanges in the store.
fn pieces(world: &World) -> u64 {
    let store = world.store();
    let unit = store.begin().expect("a unit");
    store.file(&unit, "PARTNER.RECEIVED").expect("the file").facts(&unit).expect("facts").records
}

#[test]
fn rejected_interchanges_are_kept_as_they_came_by_default() {
    let world = World::new();
    let good = orders(7, &["PO1"]);
    world.receive(&good);
    assert_eq!(bytes(&world, received(&world)[0].id).expect_err("not kept").0[0].code.0, "PTN-302");
    // Line breaks and a wrong count stay what they are.
    let bad = orders(8, &["PO2"]).replace('~', "~\r\n").replace("GE*1*8", "GE*2*8");
    let unknown = orders(9, &["PO3"]).replace("ACME           *ZZ", "OTHER          *ZZ");
    let cut = "ISA*00*          *00*          *01*AC";
    world.receive(&format!("{bad}\r\n{unknown}{cut}"));
    let entries = received(&world);
    assert_eq!(entries.len(), 4);
    assert_eq!(bytes(&world, entries[1].id).expect("kept"), bad.trim_end().as_bytes());
    assert_eq!(bytes(&world, entries[2].id).expect("kept"), unknown.as_bytes());
    assert_eq!((entries[3].state, bytes(&world, entries[3].id).expect("kept")), (State::Unrouted, cut.into()));
}

/// The remedy was the setting that the partner has.
#[test]
fn the_bytes_of_a_sent_document_are_in_its_interchange() {
    let world = World::new();
    world.sent("order", &["A1"]);
    let sent = |kind| world.entries(kind).into_iter().find(|entry| entry.way == Way::Sent).expect("sent").id;
    let found = bytes(&world, sent(Kind::Transaction)).expect_err("in the interchange").to_string();
    let interchange = sent(Kind::Interchange);
    assert!(found.contains("PTN-302") && found.contains(&format!("see entry {interchange}")), "{found}");
    assert!(bytes(&world, interchange).expect("kept").starts_with(b"ISA"));
}

#[test]
fn the_policy_keeps_all_or_none_and_a_purge_removes_the_bytes_first() {
    let world = World::with("usage = \"both\"\nkeep-interchanges = \"all\"\nkeep-interchanges-days = 30", "");
    let text = orders(7, &["PO1", "PO2"]);
    world.receive(&text);
    let id = received(&world)[0].id;
    assert_eq!(bytes(&world, id).expect("kept"), text.as_bytes());
    let day = 86_400_000;
    let now = world.now_ms.get();
    assert_eq!(world.ledger().purge(now + 29 * day, None).expect("purged"), 0);
    assert_eq!(bytes(&world, id).expect("kept"), text.as_bytes());
    assert_eq!(world.ledger().purge(now + 31 * day, None).expect("purged"), 0);
    assert_eq!(bytes(&world, id).expect_err("gone").0[0].code.0, "PTN-302");
    let entry = &received(&world)[0];
    assert!(entry.details.history.iter().any(|line| line.what.contains("were purged")), "{entry:?}");
    world.edit("keep-interchanges = \"all\"\nkeep-interchanges-days = 30", "keep-interchanges = \"none\"");
    world.receive(&orders(8, &["PO1"]).replace("GE*1*8", "GE*2*8"));
    assert_eq!(bytes(&world, received(&world)[1].id).expect_err("not kept").0[0].code.0, "PTN-302");
    // The entry takes its bytes with it.
    world.edit("keep-interchanges = \"none\"", "keep-interchanges = \"all\"");
    world.receive(&orders(9, &["PO1"]));
    assert_eq!(pieces(&world), 1);
    assert!(world.ledger().purge(now + 3_000 * day, None).expect("purged") > 0);
    assert_eq!(pieces(&world), 0);
}

/// Regression: the bytes of a segment that the end of the file or another interchange cut off were not kept.
#[test]
fn cut_interchanges_come_back_byte_by_byte() {
    let whole = orders(1, &["PO1", "PO2"]);
    let second = whole.find("PO2").expect("the second order");
    for cut in ["~N1*B", "~SE*", "~GE*1", "~IEA*"]
        .map(|text| second + whole[second..].find(text).map_or(0, |at| at + text.len()))
    {
        let world = World::with("usage = \"both\"\nkeep-interchanges = \"all\"", "");
        let text = &whole[..cut];
        world.receive(text);
        let entries = received(&world);
        assert_eq!(entries.len(), 1);
        let kept = bytes(&world, entries[0].id).expect("kept");
        assert_eq!(core::str::from_utf8(&kept), Ok(text));
    }
}

#[test]
fn interchanges_of_any_size_and_standard_come_back_byte_by_byte() {
    let world = World::with("usage = \"both\"\nkeep-interchanges = \"all\"", "");
    let numbers: Vec<String> = (0..100).map(|n| format!("PO{n}")).collect();
    let references = "REF*CT*12345678901234567890~".repeat(2_000);
    let large = orders(1, &numbers.iter().map(String::as_str).collect::<Vec<_>>());
    let large = large.replace("~N1*BY", &format!("~{references}N1*BY")).replace("~SE*6*", "~SE*2006*");
    assert!(large.len() > 4 << 20, "{}", large.len());
    let edifact = "UNA:+.? '\r\nUNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+5'\r\nUNH+1+ORDERS:D:96A:UN'\r\nBGM+220+PO?'1+9'\r\nUNS+S'\r\nUNT+4+1'\r\nUNZ+1+5'";
    let text = format!("{large}\r\n{edifact}\r\n{}", orders(2, &["X"]));
    let mut source = Cursor::new(text.clone().into_bytes());
    // In units of work of a few transactions, so that the interchange ends in another one than it began.
    let limits = DeskLimits { unit_transactions_max: 30, ..DeskLimits::default() };
    let done = world.at_desk(limits, |desk| desk.receive("in.x12", &mut source, Again::No));
    done.unwrap_or_else(|findings| panic!("{findings}"));
    let entries = received(&world);
    assert_eq!(entries.len(), 3);
    assert!(bytes(&world, entries[0].id).expect("kept") == large.as_bytes());
    assert_eq!(bytes(&world, entries[1].id).expect("kept"), edifact.as_bytes());
    assert_eq!(bytes(&world, entries[2].id).expect("kept"), orders(2, &["X"]).as_bytes());
    let found = world.search(&Filter {
        number: Some("1".into()),
        limit: 10,
        kind: Some(Kind::Interchange),
        ..Filter::default()
    });
    assert!(found.iter().any(|entry| entry.id == entries[0].id && entry.details.kept_bytes == large.len() as u64));
}

#[test]
fn kept_interchanges_are_encrypted_with_the_store() {
    let world = World::with("usage = \"both\"\nkeep-interchanges = \"all\"", "");
    let key = || StoreKey::parse(&"07".repeat(32)).expect("a key");
    let store = world.store();
    let ledger = quayline_partner::Ledger::open_with(&store, Some(key())).expect("files");
    let book = world.book();
    let text = orders(7, &["PO1"]);
    let mut desk =
        quayline_partner::Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk");
    desk.receive("in.x12", &mut Cursor::new(text.clone().into_bytes()), Again::No).expect("received");
    let unit = ledger.begin().expect("a unit");
    let found =
        ledger.search(&Filter { kind: Some(Kind::Interchange), limit: 10, ..Filter::default() }).expect("found");
    let entry = found.entries.iter().find(|entry| entry.way == Way::Received).expect("an interchange");
    let mut all = Vec::new();
    ledger
        .bytes_of(&unit, entry, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })
        .expect("kept");
    assert_eq!(all, text.as_bytes());
    let file = store.file(&unit, "PARTNER.RECEIVED").expect("a file");
    let mut browse = file.browse();
    let record = browse.next(&unit).expect("a piece");
    assert!(!record.bytes.windows(4).any(|window| window == b"ACME"), "the piece is encrypted");
}
