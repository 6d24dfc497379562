//! Comparison of `docs/reference/json.md` with the output of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::convert::{ITEMS, item, items};
use crate::world::World;

/// One field of each kind, and every clause that has a separate member.
const KINDS: &str = "       01  K EXTERNAL.
           05  C             PIC 9 BLANK WHEN ZERO.
               88  NONE      VALUE 0 2 THRU 4.
           05  F             PIC S9(4) COMP VALUE 7.
           05  G REDEFINES F PIC X(2) GLOBAL.
           05  H             PIC S9(3) COMP-3.
           05  I             PIC S9(9) COMP SYNC.
           05  J             COMP-1.
           05  L             PIC ZZ9.
           05  FILLER        PIC N(2) NATIONAL.
           05  T OCCURS 1 TO 3 DEPENDING ON C PIC A(2).
           05  Z             PIC X JUST.
           66  R RENAMES C THRU F.
";

#[test]
fn the_layout_has_the_members_that_are_documented() {
    let world = World::with([("k.cpy", KINDS.replace("EXTERNAL", "").as_bytes())]);
    let ran = world.run("inspect k.cpy --json");
    let mut members = members_of(&ran.code(0).stdout);
    // EXTERNAL and GLOBAL are allowed only at level 01 and not everywhere together; a separate copybook has their members.
    let world = World::with([("k.cpy", &b"       01  E PIC X EXTERNAL.\n       01  G PIC X GLOBAL.\n"[..])]);
    members.extend(members_of(&world.run("inspect k.cpy --json").code(0).stdout));
    same("quayline.layout/1", &members, &["records[].dialect"]);
}

#[test]
fn a_finding_has_the_members_that_are_documented() {
    let world = World::with([("items.cpy", ITEMS.as_bytes())]);
    world.write("items.dat", item("BAD", [0x12, 0x34], "00100"));
    let data = world.run("convert items.dat -c items.cpy -e cp037 --json");
    world.write("items.cpy", "       01 R.\n          05 A PIC Q.\n");
    let copybook = world.run("inspect items.cpy --json");
    let mut members = members_of(data.code(1).stderr.split(|byte| *byte == b'\n').next().expect("a line"));
    members.extend(members_of(copybook.code(2).stderr.split(|byte| *byte == b'\n').next().expect("a line")));
    // A wrong code of a component, and a component that is too long in the second repetition of an element.
    let claims = fs::read_to_string(examples().join("claims.x12")).expect("an example");
    let broken =
        claims.replacen("SV1*HC:", "SV1*QQ:", 1).replacen("*19800229*F~", "*19800229*F**:RET:2106-3^:ZZZ9:2135-2~", 1);
    world.write("claims.x12", &broken);
    let guide = examples().join("837p.guide");
    let edi = world.run(&format!("validate claims.x12 --guide {} --json", guide.display()));
    let text = edi.code(1).out();
    for line in text.lines().filter(|line| line.contains("quayline.finding/1")) {
        members.extend(members_of(line.as_bytes()));
    }
    assert!(
        text.contains(r#""element":1,"component":1,"loops":"2000A/2000B/2300/2400","reference":"SV101-1""#),
        "{text}"
    );
    same("quayline.finding/1", &members, &[]);
}

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi")
}

#[test]
fn answers_about_guides_have_the_members_that_are_documented() {
    let world = World::with([("mine.json", crate::guide::MESSAGE.as_bytes())]);
    same("quayline.guide-import/1", &members_of(&world.run("guide import mine.json -o . --json").code(0).stdout), &[]);
    same("quayline.guide-check/1", &members_of(&world.run("guide check ORDERS-MINE.guide --json").code(0).stdout), &[]);
}

#[test]
fn a_proposal_has_the_members_that_are_documented() {
    let world = World::with([("items.cpy", ITEMS.replace("X(3)", "X(5)").as_bytes())]);
    world.write("items.dat", items().repeat(200));
    let ran = world.run("inspect items.dat --copybook items.cpy --json");
    // Of records that are cut at their end, and of files that are not of records: other tests have them.
    let others = ["copybook.fits[].short", "looks_like"];
    let open = [&["copybook.fits[].first_fault", "copybook.misfit"][..], &others].concat();
    same("quayline.proposal/1", &members_of(&ran.code(0).stdout), &open);
}

#[test]
fn statistics_have_the_members_that_are_documented() {
    let world = World::with([("items.cpy", ITEMS.as_bytes()), ("items.dat", items().as_slice())]);
    let ran = world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --stats --json");
    same("quayline.stats/1", &members_of(&ran.code(0).stderr), &["phases_s", "cpu.phases_s", "findings_by_code"]);
}

/// Compares a JSON object with the section that documents it.
pub(crate) fn documented(section: &str, json: &[u8], open: &[&str]) {
    same(section, &members_of(json), open);
}

/// Compares the members that occurred with those of one section. Below those in `open`, names are arbitrary.
fn same(section: &str, seen: &BTreeSet<String>, open: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let text = fs::read_to_string(path).expect("docs/reference/json.md is there");
    let lines = text
        .lines()
        .skip_while(|line| *line != format!("## {section}"))
        .skip(1)
        .take_while(|line| !line.starts_with("## "));
    let documented: BTreeSet<String> =
        lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect();
    let below_open = |member: &&String| open.iter().any(|open| member.starts_with(&format!("{open}.")));
    let seen: BTreeSet<String> =
        seen.iter().filter(|member| !below_open(member) && *member != "schema").cloned().collect();
    let undocumented: Vec<&String> = seen.difference(&documented).collect();
    let unseen: Vec<&String> = documented.difference(&seen).filter(|member| !open.contains(&member.as_str())).collect();
    assert!(
        undocumented.is_empty() && unseen.is_empty(),
        "{section}: undocumented {undocumented:?}, never seen {unseen:?}"
    );
}

/// Paths of all members of a JSON object that are not objects or lists of objects themselves.
fn members_of(json: &[u8]) -> BTreeSet<String> {
    let value: Value = serde_json::from_slice(json).expect("JSON");
    let mut members = BTreeSet::new();
    collect(&value, "", &mut members);
    members
}

fn collect(value: &Value, path: &str, members: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, &path, members);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            values.iter().for_each(|value| collect(value, &format!("{path}[]"), members));
        }
        // An empty list of objects names no member, and an empty list of plain values is one.
        Value::Array(_) if matches!(path, "records[].renames") => {}
        _ => {
            members.insert(path.to_owned());
        }
    }
}
