//! `quayline new` and `quayline check`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json_docs::documented;
use crate::world::World;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every file below a folder, by its relative path.
fn below(folder: &Path, from: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            below(&path, from, files);
        } else {
            files.push(path.strip_prefix(from).expect("below").to_str().expect("our own name").to_owned());
        }
    }
}

#[test]
fn a_new_project_is_whole_and_has_no_findings() {
    let world = World::new();
    let written = world.run("new bank");
    written.code(0);
    let template = repository().join("crates/project/template");
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    below(&template, &template, &mut expected);
    below(&world.path("bank"), &world.path("bank"), &mut found);
    expected.sort();
    found.sort();
    assert_eq!(expected, found, "every file of the template is written");
    let checked = world.run("check bank");
    assert_eq!(checked.code(0).err(), "");
    assert_eq!(checked.out(), "1 copybook, 2 layouts, 1 map, 1 service, 1 API: no findings\n");
    world.run("map test bank/maps").code(0);
    world.run("serve --check bank").code(0);
    documented("quayline.check/1", &world.run("check bank --json").code(0).stdout, &["compiled"]);
}

#[test]
fn nothing_is_replaced() {
    let world = World::with([("bank/maps/accounts.qmap", &b"mine"[..])]);
    let refused = world.run("new bank");
    assert!(refused.code(2).err().contains("PRJ-008"), "{}", refused.err());
    assert_eq!(world.read("bank/maps/accounts.qmap"), b"mine");
    assert!(!world.path("bank/quayline.toml").exists(), "nothing is written beside it");
}

#[test]
fn all_faults_of_a_project_are_found_at_once_and_each_once() {
    let world = World::new();
    world.run("new bank").code(0);
    let change = |file: &str, old: &str, new: &str| {
        let text = String::from_utf8(world.read(file)).expect("UTF-8");
        assert!(text.contains(old), "{file} has no {old}");
        world.write(file, text.replace(old, new));
    };
    change("bank/quayline.toml", "listen", "lisen");
    change("bank/maps/accounts.qmap", "HOLDER =", "HOLDRE =");
    change("bank/services/account.toml", "\"ACCOUNT-ID\"", "\"ACCOUNT-NO\"");
    world.write("bank/schemas/broken.json", "{");
    world.write("bank/guides/broken.guide", "guide \"x\n");
    world.write("bank/copybooks/broken.cpy", "       01 A.\n          05 B PIC Q.\n");
    let checked = world.run("check bank");
    checked.code(2);
    for place in [
        "bank/quayline.toml:3:1",
        "bank/maps/accounts.qmap:6:1",
        "bank/services/account.toml",
        "bank/schemas/broken.json",
        "bank/guides/broken.guide",
        "bank/copybooks/broken.cpy:2:",
    ] {
        assert!(checked.err().contains(place), "{place} is not in\n{}", checked.err());
    }
    // A copybook that two files use is wrong once.
    world.write("bank/copybooks/account.cpy", "       01 ACCOUNT.\n          05 ACCOUNT-ID PIC Q.\n");
    let twice = world.run("check bank");
    let lines = twice.code(2).err();
    assert_eq!(lines.matches("account.cpy:2:").count(), 1, "{lines}");
}

#[test]
fn a_folder_without_a_project_is_refused_with_a_way_to_begin() {
    let world = World::with([("data.csv", &b"a\n1\n"[..])]);
    let refused = world.run("check");
    assert!(refused.code(2).err().contains("quayline new FOLDER"), "{}", refused.err());
}

#[test]
fn the_examples_of_flows_jobs_and_partners_have_no_errors() {
    let world = World::new();
    let examples = repository().join("examples");
    for (project, compiled) in [("flows", "5 flows"), ("b2b", "2 flows"), ("batch", "job"), ("partners", "3 partners")]
    {
        let checked = world.command(["check".into(), examples.join(project)]).output().expect("the command runs");
        let text = String::from_utf8(checked.stdout).expect("UTF-8");
        assert!(checked.status.success(), "{project}: {}", String::from_utf8(checked.stderr).expect("UTF-8"));
        assert!(text.contains(compiled) && !text.contains("error"), "{project}: {text}");
    }
}
