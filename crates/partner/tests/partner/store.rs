//! Searching and purging the transaction store.

use std::io::Cursor;

use quayline_partner::{
    Again, Desk, DeskLimits, Details, Entry, EntryId, Filter, Kind, Ledger, Part, Release, SendRequest, State,
    StoreKey, Way,
};
use quayline_store::StoreError;
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};

use crate::world::{NOON_MS, World, orders};

const DAY_MS: u64 = 86_400_000;

/// Ten days with an interchange of thirty orders each.
fn filled() -> World {
    let world = World::with("usage = \"both\"\nkeep = \"rejected\"\nkeep-days = 5", "");
    for day in 0..10_u32 {
        world.now_ms.set(NOON_MS + u64::from(day) * DAY_MS);
        let names: Vec<String> = (0..30).map(|order| format!("PO{day}-{order}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = world.receive(&orders(day + 1, &names));
        assert_eq!(report.delivered, 30, "{report:?}");
    }
    world
}

#[test]
fn every_search_pages_through_the_same_entries() {
    let world = filled();
    let ledger = world.ledger();
    let all = |filter: &Filter| {
        let mut filter = Filter { limit: 7, ..filter.clone() };
        let mut ids = Vec::new();
        loop {
            let found = ledger.search(&filter).expect("a search");
            ids.extend(found.entries.iter().map(|entry| entry.id));
            match found.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "the newest first, none twice");
        ids.len()
    };
    let transactions = Filter { kind: Some(Kind::Transaction), ..Filter::default() };
    let of_acme = Filter { partner: Some("ACME".into()), ..transactions.clone() };
    let day = |from: u64, to: u64| Filter {
        from_ms: Some(NOON_MS + from * DAY_MS - 1),
        to_ms: Some(NOON_MS + to * DAY_MS),
        ..of_acme.clone()
    };
    assert_eq!(all(&transactions), 300);
    assert_eq!(all(&of_acme), 300);
    // Of all kinds: interchanges and groups come between documents, and so do our acknowledgments.
    let any_kind = |filter: &Filter| Filter { kind: None, ..filter.clone() };
    assert_eq!(all(&any_kind(&of_acme)), all(&any_kind(&transactions)));
    assert_eq!(all(&any_kind(&of_acme)), 10 * (30 + 1 + 2));
    assert_eq!(all(&any_kind(&day(3, 5))), 2 * 33);
    assert_eq!(all(&Filter { partner: Some("OTHER".into()), ..Filter::default() }), 0);
    assert_eq!(all(&day(3, 5)), 60);
    assert_eq!(all(&Filter { partner: None, ..day(3, 5) }), 60);
    assert_eq!(all(&Filter { state: Some(State::Delivered), ..transactions.clone() }), 300);
    assert_eq!(all(&Filter { state: Some(State::Rejected), ..transactions.clone() }), 0);
    assert_eq!(
        all(&Filter {
            number: Some("4".into()),
            partner: Some("ACME".into()),
            kind: Some(Kind::Interchange),
            ..Filter::default()
        }),
        2
    );
    assert_eq!(all(&Filter { field: Some(("order".into(), "PO4-17".into())), ..Filter::default() }), 1);
    assert_eq!(all(&Filter { field: Some(("order".into(), "PO4".into())), ..Filter::default() }), 0);
    assert_eq!(all(&Filter { document: Some("855".into()), ..transactions }), 0);
}

/// Regression: a search by partner alone read all entries of the store.
#[test]
fn a_search_by_partner_alone_reads_its_page_only() {
    const OTHER: &str = "name = \"OTHER\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"OTHER\"\n\
        [[rule]]\ndirection = \"receive\"\ndeliver = \"folder:other\"\n";
    let world = World::with("usage = \"both\"\nkeep = \"rejected\"", "");
    world.write("partners/other.toml", OTHER);
    let other = |number: u32, orders_of: &[&str]| {
        orders(number, orders_of).replace("*01*ACME           *", "*01*OTHER          *")
    };
    world.receive(&other(1, &["A1", "A2", "A3"]));
    let names: Vec<String> = (0..250).map(|order| format!("PO{order}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let filter = Filter { partner: Some("OTHER".into()), limit: 5, ..Filter::default() };
    let mut reads = Vec::new();
    for number in 1..=4 {
        world.receive(&orders(number, &names));
        let store = world.store();
        let ledger = Ledger::open(&store).expect("files");
        let counted = || {
            let uses = store.used_files().expect("counts");
            uses.into_iter().map(|(_, used)| used.read).sum::<u64>()
        };
        let before = counted();
        let found = ledger.search(&filter).expect("a search");
        assert_eq!((found.entries.len(), found.next.is_some()), (5, true));
        assert!(found.entries.iter().all(|entry| entry.partner == "OTHER"));
        reads.push(counted() - before);
    }
    // The page, and what finds the first entry of each kind; a store of four times the size reads the same.
    assert!(reads.iter().all(|read| *read == reads[0] && *read <= 2 * 5), "{reads:?}");
}

#[test]
fn a_control_number_finds_an_interchange_with_what_is_in_it() {
    let world = World::with("usage = \"both\"\nenvelope = \"delayed\"", "");
    world.receive(&orders(905, &["PO1", "PO2"]));
    let kinds = |number: &str| {
        let entries = world.search(&Filter { number: Some(number.into()), limit: 100, ..Filter::default() });
        entries.iter().map(|entry| (entry.kind, entry.way)).collect::<Vec<_>>()
    };
    let received = [
        (Kind::Interchange, Way::Received),
        (Kind::Transaction, Way::Received),
        (Kind::Transaction, Way::Received),
        (Kind::Group, Way::Received),
    ];
    assert_eq!(kinds("905"), received);
    assert_eq!(kinds("000000905"), received);
    // Documents get their number when their envelope closes. Number 1 is also that of our acknowledgment.
    world.send(Some("ACME"), "order", "{\"number\":\"A1\",\"kind\":\"SA\"}\n").expect("it waits");
    assert_eq!(kinds("2").len(), 0);
    assert_eq!(world.release(&Release::All).interchanges, 1);
    let sent = [Kind::Transaction, Kind::Interchange, Kind::Group];
    let found = kinds("2");
    assert!(found.len() == 3 && sent.iter().all(|kind| found.contains(&(*kind, Way::Sent))), "{found:?}");
    assert_eq!(kinds("906"), []);
}

#[test]
fn workers_that_take_numbers_ahead_share_units_of_work() {
    let world = World::new();
    let limits = DeskLimits { entry_numbers_ahead: 10, ..DeskLimits::default() };
    let receive = |desk: &mut Desk<'_>, number: u32, order: &str| {
        let edi = orders(number, &[order]);
        desk.receive("in.x12", &mut Cursor::new(edi.into_bytes()), Again::No)
    };
    let before = world.engine.position();
    world
        .at_desk(limits, |desk| {
            desk.together(|desk| {
                receive(desk, 1, "PO1")?;
                let again = receive(desk, 1, "PO1")?;
                assert_eq!(again.findings[0].1.code.0, "PTN-106", "what is not committed yet counts");
                receive(desk, 2, "PO2")
            })
        })
        .expect("received");
    assert_eq!(world.files("orders").len(), 2);
    assert!(world.engine.position() > before);
    // What fails undoes what shares its unit of work.
    let failed = world.at_desk(limits, |desk| {
        desk.together(|desk| {
            receive(desk, 3, "PO3")?;
            desk.resend(EntryId(9_999))
        })
    });
    assert_eq!(failed.expect_err("no such entry").0[0].code.0, "PTN-301");
    assert_eq!(world.files("orders").len(), 2);
    assert_eq!(world.receive(&orders(3, &["PO3"])).delivered, 1);
    let ids: Vec<u64> = world.entries(Kind::Transaction).iter().map(|entry| entry.id.0).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[test]
fn a_purge_removes_what_is_old_with_its_fields() {
    let world = filled();
    let ledger = world.ledger();
    // Day 9 is now; entries of days 0 to 4 are at least five days old.
    let removed = ledger.purge(NOON_MS + 9 * DAY_MS, None).expect("purged");
    let transactions = Filter { kind: Some(Kind::Transaction), limit: 1_000, ..Filter::default() };
    assert_eq!(ledger.search(&transactions).expect("a search").entries.len(), 150);
    // Documents and groups; interchanges, and the acknowledgments of ours.
    assert_eq!(removed, 5 * (30 + 1 + 2));
    let field = |order: &str| Filter { field: Some(("order".into(), order.into())), limit: 10, ..Filter::default() };
    assert_eq!(ledger.search(&field("PO4-1")).expect("a search").entries.len(), 0);
    assert_eq!(ledger.search(&field("PO5-1")).expect("a search").entries.len(), 1);
    assert_eq!(ledger.purge(NOON_MS + 9 * DAY_MS, Some(0)).expect("purged"), 5 * 33);
    // Numbers go on.
    let report = world.receive(&orders(11, &["PO1"]));
    assert_eq!(report.delivered, 1);
    assert!(world.entries(Kind::Transaction)[0].id.0 > 330);
}

#[test]
fn stored_bytes_are_encrypted_if_the_store_has_a_key() {
    let world = World::with("usage = \"both\"\nenvelope = \"delayed\"", "");
    world.receive(&orders(1, &["PO1"]).replace("N1*BY*ACME", "N1*BY*OPENLY KEPT"));
    let key = |byte: &str| StoreKey::parse(&byte.repeat(32)).expect("a key");
    let store = world.store();
    let holds = |text: &str| {
        let files = ["PARTNER.ENTRIES", "PARTNER.BODIES", "PARTNER.PENDING", "PARTNER.OUTBOX"];
        let unit = store.begin().expect("a unit");
        let has = |name: &&str| {
            let mut browse = store.file(&unit, name).expect("a file").browse();
            std::iter::from_fn(|| browse.next(&unit).ok())
                .any(|record| record.bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        };
        files.iter().any(has)
    };
    // A name that compression leaves as it is.
    assert!(holds("OPENLY KEPT"));
    let book = world.book();
    let ledger = Ledger::open_with(&store, Some(key("0a"))).expect("a store with a key");
    let mut desk = Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk");
    let secret = orders(2, &["PO2"]).replace("N1*BY*ACME", "N1*BY*SECRETIVE BUYER");
    desk.receive("in.x12", &mut Cursor::new(secret.into_bytes()), Again::No).expect("received");
    let request = SendRequest { name: "out", to: Some("ACME"), from: None, document: "order", again: Again::No };
    desk.send(&request, &mut Cursor::new(b"{\"number\":\"UNREADABLE7\",\"kind\":\"SA\"}\n".to_vec()))
        .expect("it waits");
    assert!(!holds("SECRETIVE"), "a document that was received");
    assert!(!holds("BEG*00*SA*UNREADABLE7"), "a document that waits");
    assert!(holds("PO1") && !holds("PO2"), "a business field");
    // What was stored before the key came, and what came after it, is found together, the newest first, in pages of any length.
    desk.receive("in.x12", &mut Cursor::new(orders(3, &["PO1"]).into_bytes()), Again::No).expect("received");
    for limit in [1, 2, 10] {
        let mut filter = Filter { field: Some(("order".into(), "PO1".into())), limit, ..Filter::default() };
        let mut numbers = Vec::new();
        loop {
            let found = ledger.search(&filter).expect("a search");
            numbers.extend(found.entries.into_iter().map(|entry| entry.details.interchange));
            match found.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        assert_eq!(numbers, ["000000003", "000000001"], "pages of {limit}");
    }
    // It comes back whole, and waiting documents leave.
    let filter = Filter { field: Some(("order".into(), "PO2".into())), limit: 10, ..Filter::default() };
    let id = ledger.search(&filter).expect("a search").entries[0].id;
    let unit = ledger.begin().expect("a unit");
    let body = ledger.body(&unit, id, Part::Document).expect("readable").expect("kept");
    assert!(String::from_utf8(body).expect("text").contains("SECRETIVE BUYER"));
    drop(unit);
    assert_eq!(desk.release(&Release::All).expect("released").interchanges, 1);
    drop(desk);
    // Without the key nothing is found, read or stored; another key is refused.
    let closed = Ledger::open(&store).expect("files");
    assert_eq!(closed.search(&filter).expect_err("no key").0[0].code.0, "PTN-305");
    let unit = closed.begin().expect("a unit");
    assert_eq!(closed.body(&unit, id, Part::Document).expect_err("no key").0[0].code.0, "PTN-305");
    drop(unit);
    let refused = Desk::new(&book, &closed, DeskLimits::default(), || world.now_ms.get());
    assert_eq!(refused.err().expect("nothing may be stored in plain form").0[0].code.0, "PTN-305");
    assert_eq!(Ledger::open_with(&store, Some(key("0b"))).expect_err("another key").0[0].code.0, "PTN-305");
    // A purge finds the keys of both kinds again.
    assert!(ledger.purge(NOON_MS + 9_000 * DAY_MS, Some(1)).expect("purged") > 6);
    let unit = store.begin().expect("a unit");
    let mut fields = store.file(&unit, "PARTNER.FIELDS").expect("a file").browse();
    assert!(fields.next(&unit).is_err(), "no key is left");
}

/// Keys of values are sorted within blocks of 65,536 entries. A search must find the entries of all blocks, also the first and the last of a block, in pages
/// of any length, with and without the key that the store got after half of the entries.
#[test]
fn a_value_is_found_in_all_blocks_of_entries() {
    const BLOCK: u64 = 65_536;
    let world = World::with("usage = \"both\"", "");
    let store = world.store();
    let key = || StoreKey::parse(&"0a".repeat(32)).expect("a key");
    let ends = [1, 2, 5, 6, 9].map(|block| [block * BLOCK - 2, block * BLOCK - 1, block * BLOCK, block * BLOCK + 1]);
    let mut ids: Vec<u64> = ends.concat();
    ids.insert(0, 3);
    let time_of = |id: u64| NOON_MS + id * (DAY_MS / 10_000);
    let value_of = |at: usize| if at.is_multiple_of(3) { "seldom" } else { "often" };
    let mut ledger = Ledger::open(&store).expect("a ledger");
    for (at, &id) in ids.iter().enumerate() {
        if at == ids.len() / 2 {
            ledger = Ledger::open_with(&store, Some(key())).expect("a store with a key");
        }
        let mut unit = ledger.begin().expect("a unit");
        unit.set_number("partner/entries", id).expect("the number of the newest entry");
        let details = Details {
            interchange: "4711".to_owned(),
            fields: vec![("order".to_owned(), value_of(at).to_owned())],
            ..Details::default()
        };
        let entry = Entry {
            id: EntryId(id),
            kind: Kind::Transaction,
            partner: "ACME".to_owned(),
            time_ms: time_of(id),
            state: State::Delivered,
            due_ms: time_of(id),
            way: Way::Received,
            context: 1,
            number: format!("{at:04}"),
            details,
        };
        ledger.insert(&mut unit, &entry).expect("inserted");
        unit.commit().expect("committed");
    }
    let by = |value: &str| Filter { field: Some(("order".into(), value.into())), ..Filter::default() };
    let filters =
        [by("often"), by("seldom"), by("never"), Filter { number: Some("04711".into()), ..Filter::default() }];
    let times = [None, Some(BLOCK - 1), Some(BLOCK), Some(2 * BLOCK + 1), Some(5 * BLOCK), Some(20 * BLOCK)];
    for filter in &filters {
        for (from, to) in times.iter().flat_map(|from| times.iter().map(move |to| (*from, *to))) {
            let fits = |at: usize, id: u64| {
                filter.field.as_ref().is_none_or(|(_, value)| *value == value_of(at))
                    && from.is_none_or(|from| id >= from)
                    && to.is_none_or(|to| id < to)
            };
            let mut expected: Vec<u64> =
                ids.iter().enumerate().filter(|(at, id)| fits(*at, **id)).map(|(_, id)| *id).collect();
            expected.reverse();
            for limit in [1, 2, 3, 50] {
                let (from_ms, to_ms) = (from.map(time_of), to.map(time_of));
                let mut filter = Filter { limit, from_ms, to_ms, ..filter.clone() };
                let mut seen = Vec::new();
                loop {
                    let found = ledger.search(&filter).expect("a search");
                    seen.extend(found.entries.iter().map(|entry| entry.id.0));
                    match found.next {
                        Some(next) => filter.after = Some(next),
                        None => break,
                    }
                }
                assert_eq!(seen, expected, "{filter:?}");
            }
        }
    }
    // The place of another search is refused.
    let page = ledger.search(&Filter { limit: 1, ..by("often") }).expect("a search");
    let other = Filter { after: page.next, ..by("seldom") };
    assert_eq!(ledger.search(&other).expect_err("another value").0[0].code.0, "PTN-306");
    assert_eq!(ledger.purge(time_of(100 * BLOCK), Some(1)).expect("purged"), ids.len() as u64);
    let unit = store.begin().expect("a unit");
    assert!(store.file(&unit, "PARTNER.FIELDS").expect("a file").browse().next(&unit).is_err(), "no key is left");
}

/// A store whose keys have another form is refused; otherwise, searches would find nothing.
#[test]
fn a_store_with_keys_of_another_form_is_refused() {
    let store = World::with("usage = \"both\"", "").store();
    let mut unit = store.begin().expect("a unit");
    let key = KeyPlace { offset: 0, length: 26 };
    let definition = FileDefinition {
        name: "PARTNER.FIELDS".to_owned(),
        organisation: Organisation::KeySequenced(key),
        record_bytes_min: 26,
        record_bytes_max: 26,
        alternates: Vec::new(),
    };
    store.define_file(&mut unit, definition).expect("defined");
    unit.commit().expect("committed");
    assert!(matches!(Ledger::open(&store), Err(StoreError::Version { file, .. }) if file == "PARTNER.FIELDS"));
}

/// A search by time alone walked all entries, from the newest back.
#[test]
fn a_search_by_time_finds_what_a_walk_finds() {
    let world = World::new();
    let day = 86_400_000;
    for number in 1..=12_u32 {
        world.now_ms.set(NOON_MS + u64::from(number) * day);
        world.receive(&orders(number, &["PO1"]));
    }
    world.ledger().purge(world.now_ms.get(), Some(8)).expect("purged");
    let all = world.search(&Filter { limit: 1_000, ..Filter::default() });
    for (from, to) in [(0, 3), (5, 5), (5, 6), (4, 9), (10, 30), (0, 40)] {
        let (from, to) = (NOON_MS + from * day, NOON_MS + to * day);
        let filter = Filter { from_ms: Some(from), to_ms: Some(to), limit: 1_000, ..Filter::default() };
        let expected: Vec<_> = all.iter().filter(|one| (from..to).contains(&one.time_ms)).cloned().collect();
        assert_eq!(world.search(&filter), expected, "{from} to {to}");
        // A page continues where the one before ended.
        let mut pages = Vec::new();
        let mut page = Filter { limit: 2, ..filter.clone() };
        loop {
            let found = world.ledger().search(&page).expect("a search");
            pages.extend(found.entries);
            match found.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        pages.reverse();
        assert_eq!(pages, expected, "{from} to {to}, in pages");
    }
}

#[test]
fn entries_are_found_by_map_rule_and_finding() {
    let world = World::new();
    world.receive(&orders(7, &["PO1", "PO2"]));
    world.receive(&orders(8, &["PO3"]).replacen("*SA*", "*XX*", 1));
    let [first, _, bad] = &world.entries(Kind::Transaction)[..] else { panic!("three orders") };
    assert_eq!(bad.state, State::Rejected);
    let find = |filter: Filter| world.search(&Filter { kind: Some(Kind::Transaction), limit: 10, ..filter }).len();
    let (map, code) = (Some(first.details.map.clone()), Some(bad.details.findings[0].code.clone()));
    assert_eq!(find(Filter { map, ..Filter::default() }), 2, "the rejected order was not mapped");
    assert_eq!(find(Filter { finding: code, ..Filter::default() }), 1);
    assert_eq!(find(Filter { rule: Some("ACME/orders".to_owned()), ..Filter::default() }), 2);
    assert_eq!(find(Filter { rule: Some("ACME/other".to_owned()), ..Filter::default() }), 0);
}

#[test]
fn entries_have_the_guide_that_checked_them() {
    let world = World::new();
    world.receive(&orders(7, &["PO1"]));
    let guide = world.entries(Kind::Transaction).remove(0).details.guide;
    let [name, version, digest] = guide.split(' ').collect::<Vec<_>>()[..] else { panic!("{guide}") };
    assert_eq!((version, digest.len()), ("005010", 16), "{guide}");
    let find =
        |guide: &str| world.search(&Filter { guide: Some(guide.to_owned()), limit: 10, ..Filter::default() }).len();
    assert_eq!((find(name), find(digest), find("0000")), (1, 1, 0));
    let text = std::fs::read_to_string(world.path("x12-trade.guide")).expect("a guide");
    world.write("x12-trade.guide", &(text + "\n"));
    world.receive(&orders(8, &["PO2"]));
    assert_eq!(find(digest), 2, "a line break changes no guide");
}

fn with_order(world: &World, order: &str) -> Vec<(State, String)> {
    let field = Some(("order".to_owned(), order.to_owned()));
    let found = world.search(&Filter { kind: Some(Kind::Transaction), field, limit: 100, ..Filter::default() });
    found.into_iter().map(|entry| (entry.state, entry.details.rule)).collect()
}

/// Business fields were recorded by the rule that delivers a document, so nobody found the documents that are looked for most.
#[test]
fn documents_that_are_not_processed_are_found_by_their_business_fields() {
    let world = World::new();
    let good = orders(7, &["PO1", "PO2"]);
    // The guide rejects PO2.
    world.receive(&good.replacen("BEG*00*SA*PO2**20260401", "BEG*00*SA*PO2**2026", 1));
    assert_eq!(with_order(&world, "PO1"), [(State::Delivered, "ACME/orders".to_owned())]);
    assert_eq!(with_order(&world, "PO2"), [(State::Rejected, String::new())]);
    // A duplicate.
    world.receive_again(&good, Again::Yes);
    let states: Vec<State> = with_order(&world, "PO2").into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, [State::Rejected, State::Duplicate]);
    let duplicate = world.entries(Kind::Transaction).pop().expect("an entry");
    assert_eq!(duplicate.details.findings[0].code, "PTN-109");
    // The document of a rejected group.
    world.receive(&orders(8, &["PO3"]).replace("GE*1*8", "GE*3*8"));
    assert_eq!(with_order(&world, "PO3"), [(State::Rejected, String::new())]);
    // Processed again, both entries have the field.
    let entry = world.entries(Kind::Transaction).pop().expect("an entry");
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(entry.id, None)).expect("processed");
    assert_eq!(done.state, State::Delivered, "{done:?}");
    assert_eq!(with_order(&world, "PO3").len(), 2);
}

/// A value in a character set other than ISO 8859-1 and UTF-8 could only be found by other letters than those that a person sees.
#[test]
fn a_business_field_is_found_by_the_text_that_people_see() {
    let rule = "[[rule]]\nname = \"edifact\"\ndirection = \"receive\"\ndocument = \"ORDERS\"\ndeliver = \"folder:edifact\"\nfields = { order = \"BGM02\" }\n";
    let world = World::with("usage = \"both\"", rule);
    for (number, syntax, value, seen) in [
        (1, "UNOC", &b"M\xfcller-1"[..], "Müller-1"),
        (2, "UNOE", b"\xb7\xd0\xda\xd0\xd7-2", "Заказ-2"),
        (3, "UNOW", "Müller-3".as_bytes(), "Müller-3"),
        (4, "UNOL", b"\xa4-4", "€-4"),
        // A set that is not declared: UTF-8 if it is, otherwise ISO 8859-1.
        (5, "UNOA", "Müller-5".as_bytes(), "Müller-5"),
        (6, "UNOA", b"M\xfcller-6", "Müller-6"),
    ] {
        let version = if syntax == "UNOW" { 4 } else { 3 };
        let head = format!(
            "UNB+{syntax}:{version}+5412345000013:14+4012345500004:14+260401:1200+{number}'UNH+1+ORDERS:D:96A:UN'BGM+220+"
        );
        let tail = format!("+9'UNS+S'UNT+4+1'UNZ+1+{number}'");
        let edi = [head.as_bytes(), value, tail.as_bytes()].concat();
        let mut source = Cursor::new(edi);
        world
            .at_desk(DeskLimits::default(), |desk| desk.receive(&format!("{number}.edi"), &mut source, Again::No))
            .unwrap_or_else(|findings| panic!("{findings}"));
        assert_eq!(with_order(&world, seen).len(), 1, "{syntax} {seen}: {:?}", world.entries(Kind::Transaction).pop());
    }
}
