//! Partners in the store.

use std::path::Path;
use std::sync::{Arc, Barrier};

use quayline_core::Findings;
use quayline_edi::Standard;
use quayline_partner::Again;
use quayline_partner::{
    Book, DeskLimits, Existing, Expected, Kept, Roster, RosterChange, RosterLine, SendRequest, stored_version,
};
use quayline_project::ShapeOptions;
use quayline_store::{Access, Clock, ManualClock, MemoryEngine, Store, StoreLimits};

use crate::roster::{CHANGE, partner};
use crate::world::{NOON_MS, World, orders};

fn change(world: &World, store: &Store, change: &RosterChange<'_>) -> Result<Vec<RosterLine>, Findings> {
    roster(&world.path(""), store).change(change, NOON_MS)
}

fn roster<'r>(project: &'r Path, store: &'r Store) -> Roster<'r> {
    Roster { project, store: Some(store), options: ShapeOptions::default() }
}

fn into_store(source: &str, text: &str) -> RosterChange<'static> {
    RosterChange { put: vec![(source.into(), text.to_owned())], kept: Some(Kept::Store), ..CHANGE }
}

fn removal(name: &str) -> RosterChange<'static> {
    RosterChange { remove: vec![name.to_owned()], ..CHANGE }
}

fn book(world: &World, store: &Store) -> Result<Book, Findings> {
    Book::open_with(&world.path(""), Some(store), ShapeOptions::default(), 0, 7)
}

fn names(book: &Book) -> Vec<(String, String)> {
    let all = book.partners().iter();
    all.map(|partner| (partner.name.clone(), partner.path.file_name().expect("a name").to_string_lossy().into_owned()))
        .collect()
}

/// Moves all partner files of the world into the store, and removes the folder.
fn move_into(world: &World, store: &Store) -> Vec<(String, String)> {
    let texts = world.files("partners");
    std::fs::remove_dir_all(world.path("partners")).expect("a folder");
    let put = texts.iter().map(|(name, text)| (name.into(), text.clone())).collect();
    let lines = change(world, store, &RosterChange { put, kept: Some(Kept::Store), ..CHANGE }).expect("added");
    assert!(lines.iter().all(|line| line.what == "added"), "{lines:?}");
    texts
}

/// Everything that works with files works with the store alone: receiving, and sending by the rules of our own partner.
#[test]
fn partners_in_the_store_receive_and_send() {
    let world = World::new();
    let store = world.store();
    move_into(&world, &store);
    assert!(!world.path("partners").exists());
    let book = book(&world, &store).expect("partners");
    book.check().expect("no errors");
    assert_eq!(names(&book), [("ACME".to_owned(), "store:ACME".to_owned()), ("US".to_owned(), "store:US".to_owned())]);
    let ledger = quayline_partner::Ledger::open(&store).expect("files");
    let mut desk = quayline_partner::Desk::new(&book, &ledger, DeskLimits::default(), || NOON_MS).expect("a desk");
    let mut edi = std::io::Cursor::new(orders(1, &["A"]).into_bytes());
    let report = desk.receive("in.x12", &mut edi, Again::No).expect("received");
    assert_eq!((report.delivered, report.acknowledgments), (1, 1), "{report:?}");
    let request = SendRequest { name: "o", to: Some("ACME"), from: None, document: "order", again: Again::Yes };
    let mut json = std::io::Cursor::new(b"{\"number\":\"1\",\"kind\":\"SA\"}\n".to_vec());
    assert_eq!(desk.send(&request, &mut json).expect("sent").sent, 1);
    let all = book.explain(orders(2, &["B"]).as_bytes()).expect("an explanation");
    assert_eq!(all[0].sources, ["store:US", "store:ACME"].map(|path| Some(path.to_owned())));
}

/// The text is one form: it leaves the store as it came, with comments, by way of files too.
#[test]
fn a_text_comes_back_byte_by_byte_from_the_store_and_from_files() {
    let world = World::new();
    let store = world.store();
    let project = world.path("");
    // Without a name in it, and with white space that no writer of TOML would make.
    let text =
        format!("# a customer  \n\n{}\n\n", partner("A.B").replace("name = \"A.B\"\n", "").replace(" = ", "   =  "));
    change(&world, &store, &into_store("dir/A.B.toml", &text)).expect("added");
    let exported = roster(&project, &store).text("A.B", Some(Kept::Store)).expect("a partner");
    assert_eq!((exported.text.as_str(), exported.path.to_str()), (text.as_str(), Some("store:A.B")));
    let json = roster(&project, &store).export(&[], None).expect("JSON").to_string();

    let (files, empty) = (World::new(), World::new());
    std::fs::remove_dir_all(files.path("partners")).expect("a folder");
    let all = RosterChange { put: vec![("all.json".into(), json.clone())], ..CHANGE };
    change(&files, &files.store(), &all).expect("added to files");
    assert!(files.path("partners/A.B.toml").exists());
    assert_eq!(roster(&files.path(""), &files.store()).export(&[], None).expect("JSON").to_string(), json);
    // By the text itself.
    files.write("partners/A.B.toml", &exported.text);
    let again = roster(&files.path(""), &files.store()).text("A.B", Some(Kept::Files)).expect("a partner");
    let other = empty.store();
    change(&empty, &other, &into_store("A.B.toml", &again.text)).expect("added");
    assert_eq!(roster(&empty.path(""), &other).text("A.B", None).expect("a partner").text, text);
}

#[test]
fn a_name_in_both_is_a_finding_that_names_both_places() {
    let world = World::new();
    let store = world.store();
    // Before the change ...
    let found = change(&world, &store, &into_store("acme.toml", &partner("ACME"))).expect_err("it is a file");
    assert!(found.to_string().contains("partners/acme.toml"), "{found}");
    assert!(found.to_string().contains("out of `partners`"), "{found}");
    // ... and if somebody writes the file later.
    change(&world, &store, &into_store("b.toml", &partner("B"))).expect("added");
    world.write("partners/b.toml", &partner("B"));
    let found = book(&world, &store).expect_err("twice").to_string();
    assert!(found.contains("PTN-003") && found.contains("store:B") && found.contains("partners/b.toml"), "{found}");
    let found = change(&world, &store, &removal("B")).expect_err("which one?").to_string();
    assert!(found.contains("store:B") && found.contains("partners/b.toml") && found.contains("--in-store"), "{found}");
    change(&world, &store, &RosterChange { kept: Some(Kept::Store), ..removal("B") }).expect("removed from the store");
    assert!(world.path("partners/b.toml").exists());
    book(&world, &store).expect("one of each").check().expect("no errors");
}

/// A refused change leaves partners, version and record as they were, whatever part of it is wrong.
#[test]
fn a_refused_change_changes_nothing_and_all_findings_come_at_once() {
    let world = World::new();
    let store = world.store();
    change(&world, &store, &into_store("b.toml", &partner("B"))).expect("added");
    let state = || {
        let all = roster(&world.path(""), &store).texts(&[], None).expect("texts");
        (
            all,
            stored_version(&store).expect("a version"),
            roster(&world.path(""), &store).changes(100).expect("changes"),
        )
    };
    let before = state();
    let good = ("c.toml".into(), partner("C"));
    let put = vec![
        good,
        ("d.toml".into(), partner("D") + "[settings]\nusage = \"never\"\n"),
        ("e.toml".into(), partner("E") + "[settings]\nfields = { \"interchange.password\" = \"SECRET\" }\n"),
    ];
    let wrong = RosterChange { put, kept: Some(Kept::Store), remove: vec!["NOBODY".to_owned()], ..CHANGE };
    let found = change(&world, &store, &wrong).expect_err("three faults").to_string();
    for expected in
        ["`never` is not one of", "`interchange.password` is a secret", "`NOBODY` does not exist in the store"]
    {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    assert_eq!(state(), before);
    // A contradiction with a partner in a file, and a map that is missing.
    let same = partner("F").replace("qualifier = \"ZZ\"\nid = \"F\"", "qualifier = \"01\"\nid = \"ACME\"");
    let rule = "[[rule]]\ndirection = \"receive\"\nmap = \"none.qmap\"\ndeliver = \"folder:x\"\n";
    let found = change(&world, &store, &into_store("f.toml", &(same + rule))).expect_err("twice").to_string();
    assert!(found.contains("has the same identity in") && found.contains("none.qmap"), "{found}");
    assert!(found.contains("store:F"), "{found}");
    let large = format!("{}# {}\n", partner("G"), "x".repeat(1 << 20));
    let found = change(&world, &store, &into_store("g.toml", &large)).expect_err("too large").to_string();
    assert!(found.contains("at most 1048576"), "{found}");
    assert_eq!(state(), before);
}

/// An envelope does not write these fields: the setting had no effect and no finding.
#[test]
fn header_fields_that_no_envelope_takes_from_the_file_are_refused() {
    let world = World::new();
    let store = world.store();
    for field in
        ["group.functional_id", "group-version", "group.sender", "version", "syntax_version", "standards_id", "test"]
    {
        let text = format!("{}[settings]\nfields = {{ \"{field}\" = \"1\" }}\n", partner("B"));
        let found = change(&world, &store, &into_store("b.toml", &text)).expect_err("refused").to_string();
        assert!(found.contains(&format!("`{field}` is not for partner files")), "{field}: {found}");
    }
    let twice = "[settings]\nfields = { agreement = \"A\", \"interchange.agreement\" = \"B\" }\n";
    let found = change(&world, &store, &into_store("b.toml", &(partner("B") + twice))).expect_err("twice").to_string();
    assert!(found.contains("`interchange.agreement` is another spelling of a field that has a value"), "{found}");
}

/// An operator who changes a partner with the version that was read cannot undo the change of another one.
#[test]
fn a_version_detects_the_change_of_another_operator() {
    let world = World::new();
    let store = world.store();
    let line = change(&world, &store, &into_store("b.toml", &partner("B"))).expect("added").remove(0);
    let read = roster(&world.path(""), &store).text("B", None).expect("a partner");
    assert_eq!((read.version(), line.what), (line.version.clone(), "added"));
    let number = book(&world, &store).expect("partners").named("B").expect("B");
    assert_eq!(book(&world, &store).expect("partners").version(number), Some(line.version.clone()));
    let edit = |comment: &str, expected: Expected| {
        let text = format!("{}# {comment}\n", read.text);
        change(&world, &store, &RosterChange { expected, ..into_store("b.toml", &text) })
    };
    let version = || Expected::OneOf(vec![line.version.clone()]);
    edit("first", version()).expect("the version is the newest");
    let found = edit("second", version()).expect_err("it was changed");
    assert_eq!(found.0[0].code.0, "PTN-019", "{found}");
    assert!(found.0[0].message.contains("store:B"), "{found}");
    let removed = change(&world, &store, &RosterChange { expected: version(), ..removal("B") });
    assert_eq!(removed.expect_err("it was changed").0[0].code.0, "PTN-019");
    assert!(roster(&world.path(""), &store).text("B", None).expect("a partner").text.ends_with("# first\n"));
    assert_eq!(edit("third", Expected::Nothing).expect_err("it is there").0[0].code.0, "PTN-019");
    edit("fourth", Expected::Something).expect("it is there");
    change(&world, &store, &removal("B")).expect("removed");
    assert_eq!(edit("fifth", Expected::Something).expect_err("it is gone").0[0].code.0, "PTN-019");
}

/// Changes of the same store from several threads, and of files at the same time: exactly one gets each identity.
#[test]
fn changes_of_files_and_store_happen_one_after_the_other() {
    let world = World::new();
    let store = world.store();
    let (threads, rounds) = (4, 4);
    let (start, project) = (&Barrier::new(threads), &world.path(""));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let store = &store;
            scope.spawn(move || {
                start.wait();
                for round in 0..rounds {
                    let text = partner(&format!("P{thread}{round}"));
                    let text =
                        text + &format!("[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"R{round}\"\n");
                    let kept = Some(if thread % 2 == 0 { Kept::Store } else { Kept::Files });
                    let put = vec![("p.toml".into(), text)];
                    let change = RosterChange { put, kept, existing: Existing::Refused, ..CHANGE };
                    let _ = roster(project, store).change(&change, NOON_MS);
                }
            });
        }
    });
    let book = book(&world, &store).expect("no contradiction");
    let added = book.partners().iter().filter(|partner| partner.name.starts_with('P'));
    assert_eq!(added.count(), rounds);
    assert_eq!(roster(project, &store).changes(100).expect("changes").len(), rounds);
}

/// The record of changes has who, when, what and the versions, of files and store together, the newest first.
#[test]
fn changes_are_on_record() {
    let world = World::new();
    let store = world.store();
    let b = change(&world, &store, &into_store("b.toml", &partner("B"))).expect("added").remove(0);
    let unchanged = change(&world, &store, &into_store("b.toml", &partner("B"))).expect("nothing to do").remove(0);
    assert_eq!(unchanged.what, "unchanged");
    assert_eq!(stored_version(&store).expect("a version"), 1, "nothing changed");
    let put = vec![("c.toml".into(), partner("C"))];
    roster(&world.path(""), &store).change(&RosterChange { put, ..CHANGE }, NOON_MS + 1_000).expect("added to files");
    roster(&world.path(""), &store).change(&removal("B"), NOON_MS + 2_000).expect("removed");
    let all = roster(&world.path(""), &store).changes(100).expect("changes");
    let told: Vec<_> = all
        .iter()
        .map(|line| format!("{} {} {} {}", line["by"], line["what"], line["partner"], line["file"]))
        .collect();
    assert_eq!(
        told,
        [r#""test" "removed" "B" "store:B""#, r#""test" "added" "C" "C.toml""#, r#""test" "added" "B" "store:B""#]
    );
    assert_eq!((&all[0]["before"], &all[0]["after"]), (&b.version.clone().into(), &serde_json::Value::Null));
    assert_eq!((&all[2]["before"], &all[2]["after"]), (&serde_json::Value::Null, &b.version.into()));
    assert_eq!(roster(&world.path(""), &store).changes(1).expect("changes").len(), 1);
}

/// A thousand partners in the store are found as in files: the book is the same, so a look-up costs the same.
#[test]
fn a_thousand_partners_in_the_store_are_found_by_identity() {
    const PARTNERS: usize = 1_000;
    let world = World::new();
    let store = world.store();
    let put = (0..PARTNERS).map(|at| (format!("p{at}.toml").into(), partner(&format!("P{at}")))).collect();
    change(&world, &store, &RosterChange { put, kept: Some(Kept::Store), ..CHANGE }).expect("added");
    let book = book(&world, &store).expect("partners");
    assert_eq!(book.partners().len(), PARTNERS + 2);
    for at in 0..PARTNERS {
        let name = format!("P{at}");
        let number = book.identified(Standard::X12, "ZZ", &name).expect("known");
        assert_eq!((&book.partner(number).name, Some(number)), (&name, book.named(&name)));
    }
    assert_eq!(stored_version(&store).expect("a version"), 1, "one unit of work");
    // Another opening of the same store sees the same.
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOON_MS, 2));
    let again = Store::open(Arc::clone(&world.engine), clock, StoreLimits::default(), Access::Write).expect("a store");
    assert_eq!(roster(&world.path(""), &again).texts(&[], Some(Kept::Store)).expect("texts").len(), PARTNERS);
    let empty: Arc<dyn quayline_store::Engine> = Arc::new(MemoryEngine::default());
    assert_eq!(stored_version(&world.store_over(&empty)).expect("a version"), 0);
}

/// A reader never sees a half of a change: both partners have the same comment at all times.
#[test]
fn a_reader_sees_whole_changes() {
    let world = World::new();
    let store = world.store();
    let both = |comment: usize| {
        let put = ["A", "Z"].map(|name| (format!("{name}.toml").into(), format!("{}# {comment}\n", partner(name))));
        RosterChange { put: put.to_vec(), kept: Some(Kept::Store), ..CHANGE }
    };
    change(&world, &store, &both(0)).expect("added");
    let project = world.path("");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for comment in 1..40 {
                roster(&project, &store).change(&both(comment), NOON_MS).expect("changed");
            }
        });
        let mut reads = 0;
        while !writer.is_finished() || reads == 0 {
            let all = roster(&project, &store).texts(&[], Some(Kept::Store)).expect("texts");
            let comments: Vec<&str> = all.iter().map(|one| one.text.rsplit("# ").next().unwrap_or_default()).collect();
            assert_eq!(comments.len(), 2);
            assert_eq!(comments[0], comments[1]);
            reads += 1;
        }
    });
}
