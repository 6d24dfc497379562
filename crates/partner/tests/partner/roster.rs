//! Changes of partners in files and in the store.

use std::path::Path;
use std::sync::Barrier;

use quayline_core::Findings;
use quayline_partner::{CHANGES_FILE, Existing, Expected, Roster, RosterChange, RosterLine};
use quayline_project::ShapeOptions;

use crate::world::{NOON_MS, World};

/// A change that replaces what is there.
pub(crate) const CHANGE: RosterChange<'_> = RosterChange {
    put: Vec::new(),
    remove: Vec::new(),
    existing: Existing::Replaced,
    kept: None,
    expected: Expected::Anything,
    by: "test",
};

fn in_files(project: &Path, change: &RosterChange<'_>) -> Result<Vec<RosterLine>, Findings> {
    Roster { project, store: None, options: ShapeOptions::default() }.change(change, NOON_MS)
}

fn put(world: &World, source: &str, text: &str) -> Result<Vec<RosterLine>, Findings> {
    in_files(&world.path(""), &RosterChange { put: vec![(source.into(), text.to_owned())], ..CHANGE })
}

fn remove(world: &World, names: &[&str]) -> Result<Vec<RosterLine>, Findings> {
    let remove = names.iter().map(|name| (*name).to_owned()).collect();
    in_files(&world.path(""), &RosterChange { remove, ..CHANGE })
}

pub(crate) fn partner(name: &str) -> String {
    format!("name = \"{name}\"\n\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"{name}\"\n")
}

/// If two changes read the files at the same time, each check would ignore the other change and allow two partners with the same identity.
#[test]
fn changes_happen_one_after_the_other() {
    let world = World::new();
    let (threads, rounds) = (4, 5);
    let start = Barrier::new(threads);
    let (world, start) = (world.path(""), &start);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let world = &world;
            scope.spawn(move || {
                start.wait();
                for round in 0..rounds {
                    let text = partner(&format!("P{thread}{round}"));
                    // Each round uses one identity, so exactly one of the threads gets it.
                    let shared =
                        format!("{text}\n[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"R{round}\"\n");
                    let put = vec![("p.toml".into(), shared)];
                    // Quayline refuses the change if another thread was first.
                    let _ = in_files(world, &RosterChange { put, existing: Existing::Refused, ..CHANGE });
                }
            });
        }
    });
    let names = std::fs::read_dir(world.join("partners")).expect("a folder");
    let names: Vec<String> =
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    let added = names.iter().filter(|name| name.starts_with('P')).count();
    assert_eq!(added, rounds, "{names:?}");
    assert!(names.iter().all(|name| !name.ends_with(".partial")), "{names:?}");
    let record = std::fs::read_to_string(world.join("partners").join(CHANGES_FILE)).expect("the record");
    assert_eq!(record.lines().count(), rounds, "{record}");
}

#[test]
fn a_partner_is_named_and_removed_once() {
    let world = World::new();
    let unnamed = partner("X").replace("name = \"X\"\n", "");
    let found = put(&world, "-", &unnamed).expect_err("no name");
    assert!(found.0[0].message.contains("has no `name`"), "{found}");
    assert_eq!(put(&world, "dir/Y.toml", &unnamed.replace('X', "Y")).expect("added")[0].name, "Y");
    let lines = remove(&world, &["Y", "Y"]).expect("removed");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!world.path("partners/Y.toml").exists());
}

#[test]
fn findings_of_json_name_the_partner_and_no_line_of_a_text_that_nobody_has() {
    let world = World::new();
    let json = r#"{"partners": [{"name": "A", "settings": {"usage": "never"}}]}"#;
    let found = put(&world, "all.json", json).expect_err("no such usage");
    let place = &found.0[0].place;
    assert_eq!((place.line, place.column, place.line_text.as_deref()), (None, None, None), "{found}");
    assert_eq!(place.path.as_deref(), Some("partner A"), "{found}");
}

#[test]
fn a_value_of_the_wrong_kind_is_told_what_is_expected() {
    let world = World::new();
    let found = put(&world, "p.toml", &format!("{}\n[settings]\ndelimiters = {{ element = \"*\" }}\n", partner("A")));
    let text = found.expect_err("no such form").to_string();
    assert!(text.contains("one for each standard") && !text.contains("Wire"), "{text}");
}

/// A disk that fails before the last file is written leaves the old files.
#[test]
fn what_cannot_be_written_changes_nothing() {
    let world = World::new();
    // A folder takes the name of the second new file.
    std::fs::create_dir(world.path("partners/B.toml.partial")).expect("a folder");
    let both = partners_json(&["A", "B"]);
    let found = put(&world, "all.json", &both).expect_err("not writable");
    assert_eq!(found.0[0].code.0, "PTN-018");
    assert!(!world.path("partners/A.toml").exists() && !world.path("partners/A.toml.partial").exists());
    assert_eq!(recorded(&world), "", "nothing happened, so nothing is on record");
}

fn recorded(world: &World) -> String {
    std::fs::read_to_string(world.path("partners").join(CHANGES_FILE)).expect("the record")
}

/// The record lists the changes that were made, and those that failed.
#[test]
fn a_file_that_cannot_be_replaced_is_on_record_as_failed() {
    let world = World::new();
    // A folder in the place of one of the new files.
    std::fs::create_dir(world.path("partners/A.toml")).expect("a folder");
    let found = put(&world, "all.json", &partners_json(&["A", "B"])).expect_err("not replaceable");
    assert_eq!(found.0[0].code.0, "PTN-018");
    let text = recorded(&world);
    let failed: Vec<&str> = text.lines().filter(|line| line.contains("\"failed\"")).collect();
    assert!(failed.iter().any(|line| line.contains("\"A\"")), "{text}");
    assert_eq!(world.path("partners/B.toml").exists(), !failed.iter().any(|line| line.contains("\"B\"")), "{text}");
}

#[test]
fn a_change_does_not_wait_for_ever() {
    let world = World::new();
    put(&world, "p.toml", &partner("A")).expect("added");
    let held =
        std::fs::File::options().append(true).open(world.path("partners").join(CHANGES_FILE)).expect("the record");
    held.lock().expect("a lock");
    let found = put(&world, "p.toml", &partner("B")).expect_err("it is locked");
    assert!(found.0[0].message.contains("another process"), "{found}");
    drop(held);
    put(&world, "p.toml", &partner("B")).expect("added");
}

fn partners_json(names: &[&str]) -> String {
    let one = |name: &&str| {
        format!(r#"{{"name": "{name}", "identity": [{{"standard": "x12", "qualifier": "ZZ", "id": "{name}"}}]}}"#)
    };
    format!(r#"{{"partners": [{}]}}"#, names.iter().map(one).collect::<Vec<_>>().join(","))
}
