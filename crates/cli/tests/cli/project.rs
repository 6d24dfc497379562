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

/// Regression: files that others use were refused although they are correct: schemas of several elements or of definitions, and interface files of layouts.
#[test]
fn files_that_others_use_have_no_findings() {
    let world = World::new();
    world.run("new bank").code(0);
    let schema = |body: &str| format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{body}</xs:schema>");
    let of_type = |name: &str| format!("<xs:element name=\"{name}\" type=\"T\"/>");
    let of_types = "<xs:complexType name=\"T\"><xs:sequence><xs:element name=\"x\" type=\"xs:string\"/></xs:sequence></xs:complexType>";
    let include = "<xs:include schemaLocation=\"types.xsd\"/>";
    let two = "       01 A.\n          05 K PIC X.\n       01 B.\n          05 K PIC X.\n          05 V PIC X.\n";
    let defs =
        r##"{"$defs":{"Name":{"type":"string"},"P":{"type":"object","properties":{"n":{"$ref":"#/$defs/Name"}}}}}"##;
    world
        .write("bank/schemas/types.xsd", schema(of_types))
        .write("bank/schemas/m.xsd", schema(&format!("{include}{}{}", of_type("a"), of_type("b"))))
        .write("bank/schemas/defs.json", defs)
        .write("bank/copybooks/two.cpy", two)
        .write("bank/layouts/two.toml", "layout = \"record\"\ncopybook = \"../copybooks/two.cpy\"\ninterface = \"../layouts/types.toml\"\nencoding = \"ascii\"\nframing = \"lines\"\n")
        .write("bank/layouts/types.toml", "[records]\nby = \"K\"\n[[records.type]]\nrecord = \"A\"\nvalue = \"A\"\n[[records.type]]\nrecord = \"B\"\nvalue = \"B\"\n")
        .write("bank/maps/b.qmap", "source \"../schemas/m.xsd#b\"\ntarget o \"../schemas/defs.json#P\"\nn = x\n");
    let ran = world.run("check bank");
    assert!(ran.code == Some(0) && !ran.err().contains("SHP-"), "{}{}", ran.out(), ran.err());
    // Faults in them are found.
    for (file, broken, code) in [
        ("m.xsd", schema(&format!("{}{}", of_type("a"), of_type("b"))), "error[SHP-004]"),
        ("types.xsd", "<xs:schema".to_owned(), "error[SHP-003]"),
        ("defs.json", defs.replace("defs/Name", "defs/Q"), "error[SHP-004]"),
    ] {
        let path = format!("bank/schemas/{file}");
        let whole = world.read(&path);
        world.write(&path, broken);
        let ran = world.run("check bank").code(2).err();
        assert!(ran.contains(code) && ran.contains(file), "{file}: {ran}");
        world.write(&path, whole);
    }
}

/// Regression: a map that is not UTF-8 had no findings.
#[test]
fn a_map_that_cannot_be_read_is_an_error() {
    let world = World::new();
    world.run("new bank").code(0);
    world.write("bank/maps/latin.qmap", b"source \"a.shape\"\n# \xe4\n");
    let ran = world.run("check bank").code(2).err();
    assert!(ran.contains("error[SHP-001]: is not UTF-8 at byte 19"), "{ran}");
}
