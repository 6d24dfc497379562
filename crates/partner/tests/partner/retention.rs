//! Retention of each kind of data, as the table of the reference gives it.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use quayline_partner::{Again, DeskLimits, Entry, Filter, Kind, Ledger, Part, Release, State, Way};
use quayline_store::LockWait;
use quayline_store::record_file::{By, Relation};

use crate::world::{NOON_MS, World, interchange, orders};

const DAY_MS: u64 = 86_400_000;

/// A rule for blanket orders with a retention of its own.
const BLANKET: &str = r#"
[[rule]]
name = "blanket"
direction = "receive"
document = "850"
when = { BEG02 = "BK" }
map = "maps/in.qmap"
deliver = "folder:orders"
settings = { keep-days = 3 }
"#;

fn purge(world: &World, days: u64) -> u64 {
    world.ledger().purge(NOON_MS + days * DAY_MS, None).expect("purged")
}

fn all(world: &World) -> Vec<Entry> {
    world.search(&Filter { limit: 1_000, ..Filter::default() })
}

fn count(world: &World, kind: Kind, way: Way) -> usize {
    all(world).iter().filter(|entry| entry.kind == kind && entry.way == way).count()
}

fn body(ledger: &Ledger, entry: &Entry) -> Option<Vec<u8>> {
    let unit = ledger.begin().expect("a unit");
    ledger.body(&unit, entry.id, Part::Document).expect("readable")
}

#[test]
fn documents_interchanges_and_acknowledgments_have_their_own_retention() {
    let world = World::with("usage = \"both\"\nkeep-days = 10", BLANKET);
    world.receive(&interchange(7, "P", &[("PO1", "BK"), ("PO2", "SA")]));
    assert_eq!(purge(&world, 2), 0);
    // The rule's 3 days are for its document only.
    assert_eq!(purge(&world, 3), 1);
    let left = world.entries(Kind::Transaction);
    assert_eq!((left.len(), left[0].details.keep_days), (1, 10));
    assert_eq!(purge(&world, 9), 0);
    assert_eq!(count(&world, Kind::Interchange, Way::Received), 1);
    assert_eq!(count(&world, Kind::Group, Way::Received), 1);
    assert_eq!(count(&world, Kind::Interchange, Way::Sent), 1, "the acknowledgment");
    assert_eq!(purge(&world, 10), 4, "the interchange, its group and document, and the acknowledgment");
    assert_eq!(all(&world).len(), 0);
}

/// An entry has the retention that was set when it was stored.
#[test]
fn a_changed_retention_is_for_later_entries() {
    let world = World::with("usage = \"both\"\nacknowledge = []\nkeep-days = 10", "");
    world.receive(&orders(1, &["PO1"]));
    world.edit("keep-days = 10", "keep-days = 20");
    world.receive(&orders(2, &["PO2"]));
    assert_eq!(purge(&world, 10), 3);
    assert_eq!(world.entries(Kind::Transaction)[0].details.interchange, "000000002");
    assert_eq!(purge(&world, 19), 0);
    assert_eq!(purge(&world, 20), 3);
}

#[test]
fn sent_documents_have_the_retention_of_their_partner_and_others_the_default() {
    let world = World::with("keep-days = 10\nenvelope = \"delayed\"", "");
    world.sent("order", &["A1"]);
    // A document for nobody is kept to be corrected.
    world.send(None, "order", "{\"number\":\"A2\",\"kind\":\"SA\"}\n").expect("kept");
    // A document that waits stays at any age.
    assert_eq!(purge(&world, 100), 0);
    assert_eq!(world.release(&Release::All).interchanges, 1);
    assert_eq!(purge(&world, 100), 3, "the document, its group and its interchange");
    let left = all(&world);
    assert_eq!((left.len(), left[0].state), (1, State::Rejected));
    assert_eq!(purge(&world, 2_554), 0);
    assert_eq!(purge(&world, 2_555), 1);
}

#[test]
fn bytes_of_accepted_documents_are_kept_by_policy_and_those_of_rejected_ones_always() {
    for (policy, kept) in [("all", 2), ("rejected", 1)] {
        let world = World::with(&format!("usage = \"both\"\nkeep = \"{policy}\""), "");
        world.receive(&orders(7, &["PO1", "PO2"]).replacen("PO1*1*1*EA", "PO1*1*X*EA", 1));
        let ledger = world.ledger();
        let bodies = world.entries(Kind::Transaction).iter().filter(|entry| body(&ledger, entry).is_some()).count();
        assert_eq!(bodies, kept, "{policy}");
    }
}

/// The bytes of an interchange as it came go first; its entry and its documents stay until their own time.
#[test]
fn bytes_of_interchanges_have_a_time_of_their_own() {
    let settings = "usage = \"both\"\nkeep-days = 10\nkeep-interchanges = \"all\"\nkeep-interchanges-days = 4";
    let world = World::with(settings, "");
    world.receive(&orders(7, &["PO1"]));
    let received = || all(&world).into_iter().find(|one| one.kind == Kind::Interchange && one.way == Way::Received);
    let kept = || received().map(|entry| entry.details.kept_bytes > 0);
    assert_eq!((purge(&world, 3), kept()), (0, Some(true)));
    assert_eq!((purge(&world, 4), kept()), (0, Some(false)));
    let ledger = world.ledger();
    assert!(body(&ledger, &world.entries(Kind::Transaction)[0]).is_some(), "the document has its own bytes");
    assert_eq!((purge(&world, 10), kept()), (4, None));
}

/// A purge of all entries older than some days, and what it forgets: sources, and numbers for the search for duplicates.
#[test]
fn a_purge_by_age_overrides_every_retention_and_forgets_what_came() {
    let world = World::with("usage = \"both\"\nacknowledge = []\nkeep-days = 10", "");
    let edi = orders(7, &["PO1"]);
    world.receive(&edi);
    let ledger = world.ledger();
    assert_eq!(ledger.purge(NOON_MS + DAY_MS, Some(2)).expect("purged"), 0);
    assert_eq!(world.receive(&edi).findings[0].1.code.0, "PTN-106");
    assert_eq!(ledger.purge(NOON_MS + 2 * DAY_MS, Some(2)).expect("purged"), 3);
    assert_eq!(world.receive(&edi).delivered, 1, "neither the same bytes nor the same number");
}

/// A purge without an age keeps the positions of sources for the default retention, also if their entries went earlier.
#[test]
fn sources_are_known_for_the_default_retention() {
    let world = World::with("usage = \"both\"\nacknowledge = []\nkeep-days = 10", "");
    let edi = orders(7, &["PO1"]);
    world.receive(&edi);
    assert_eq!(purge(&world, 2_554), 3);
    assert_eq!(world.receive(&edi).findings[0].1.code.0, "PTN-106");
    assert_eq!(purge(&world, 2_555), 0);
    assert_eq!(world.receive(&edi).delivered, 1);
}

#[test]
fn a_retention_of_no_days_is_refused() {
    let world = World::with("keep-days = 0", "");
    let opened = quayline_partner::Book::open(&world.path(""), quayline_project::ShapeOptions::default(), 0, 1);
    let findings = opened.expect_err("refused").to_string();
    assert!(findings.contains("entries cannot be kept for 0 days") && findings.contains("from 1"), "{findings}");
}

/// A source that fails in its second pass, after some bytes.
struct Failing {
    bytes: Cursor<Vec<u8>>,
    passes: u32,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.passes > 0 && self.bytes.position() >= 300_000 {
            return Err(io::Error::other("the disk fails"));
        }
        let most = buffer.len().min(100_000);
        self.bytes.read(&mut buffer[..most])
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.passes += 1;
        self.bytes.seek(to)
    }
}

/// Regression: an interchange of an unknown sender has its state from the first unit of work on, so a purge removed it before it was complete. Each
/// further attempt then failed, because the entry was missing.
#[test]
fn an_interchange_that_a_purge_removed_halfway_is_received() {
    let world = World::new();
    let numbers: Vec<String> = (0..4_000).map(|number| format!("PO{number}")).collect();
    let names: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let edi = orders(7, &names).replace("ACME           *ZZ", "OTHER          *ZZ");
    let mut source = Failing { bytes: Cursor::new(edi.clone().into_bytes()), passes: 0 };
    let failed = world.at_desk(DeskLimits::default(), |desk| desk.receive("in.x12", &mut source, Again::No));
    assert!(failed.expect_err("the source fails").to_string().contains("the disk fails"));
    let begun = world.entries(Kind::Interchange);
    assert_eq!((begun.len(), begun[0].state), (1, State::Unrouted));
    assert!(world.ledger().purge(NOON_MS + DAY_MS, Some(0)).expect("purged") > 1);
    let report = world.receive(&edi);
    assert_eq!((report.interchanges, report.unrouted), (1, 4_000), "{:?}", report.findings);
    assert_eq!(world.entries(Kind::Interchange)[0].details.transactions, 4_000);
}

/// Regression: a purge waited for a source that was being received again, and then removed its new state.
#[test]
fn a_purge_leaves_the_state_of_a_source_that_is_being_received() {
    let world = World::new();
    world.receive(&orders(7, &["PO1"]));
    let store = world.store();
    let ledger = Ledger::open(&store).expect("files");
    let mut unit = store.begin().expect("a unit");
    let arrivals = store.file(&unit, "PARTNER.ARRIVALS").expect("a file");
    let first = arrivals.read(&unit, By::Key(&[0; 16]), Relation::AtLeast).expect("a source").key;
    arrivals.read_for_update(&mut unit, By::Key(&first), Relation::Equal, LockWait::No).expect("locked");
    ledger.purge_sources(NOON_MS + DAY_MS, Some(0)).expect("nothing to wait for");
    drop(unit);
    let unit = store.begin().expect("a unit");
    assert!(arrivals.read(&unit, By::Key(&first), Relation::Equal).is_ok());
    ledger.purge_sources(NOON_MS + DAY_MS, Some(0)).expect("purged");
    let unit = store.begin().expect("a unit");
    assert!(arrivals.read(&unit, By::Key(&first), Relation::Equal).is_err());
}
