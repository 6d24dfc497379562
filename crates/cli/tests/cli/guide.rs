//! `quayline guide`.

use expect_test::expect;

use crate::world::World;

/// A message described by its user.
pub(crate) const MESSAGE: &str = r#"{
  "name": "ORDERS-MINE", "title": "Orders as we take them", "standard": "EDIFACT", "version": "D:96A:UN", "transaction": "ORDERS",
  "elements": { "1001": { "name": "Document", "type": "an", "min": 1, "max": 3, "codes": "1001" },
                "1004": { "name": "Number", "type": "an", "min": 1, "max": 35 },
                "3035": { "name": "Party", "type": "an", "min": 1, "max": 3 } },
  "composites": { "C002": { "components": [ { "element": "1001", "requirement": "mandatory" } ] } },
  "segments": { "BGM": { "name": "Beginning", "elements": [ { "composite": "C002" }, { "element": "1004" } ] },
                "NAD": { "elements": [ { "element": "3035", "requirement": "mandatory" } ] } },
  "codes": { "1001": { "codes": [ "220", "221" ] } },
  "structure": [
    { "segment": "BGM", "requirement": "mandatory", "changes": [ { "element": 2, "requirement": "mandatory", "name": "Our number" } ] },
    { "loop": "SG1", "max": 9, "items": [ { "segment": "NAD", "where": { "element": 1, "values": ["BY"] } } ] },
    { "loop": "SG2", "max": "*", "items": [ { "segment": "NAD", "where": { "element": 1, "values": ["SU", "DP"] } } ] }
  ]
}"#;

#[test]
fn a_description_is_imported_checked_and_shown() {
    let world = World::with([("mine.json", MESSAGE.as_bytes())]);
    world.run("guide import mine.json -o guides").check(expect![[r#"
        exit 0
        --- stdout
        1 guide written to guides
    "#]]);
    world.run("guide check guides/ORDERS-MINE.guide").check(expect![[r#"
        exit 0
        --- stdout
        guides/ORDERS-MINE.guide: 3 segments in 2 loops, every place can be distinguished from the others
    "#]]);
    world.run("guide show guides/ORDERS-MINE.guide --elements").check(expect![[r#"
        exit 0
        --- stdout
        ORDERS-MINE  Orders as we take them
        EDIFACT D:96A:UN, message ORDERS

        BGM               M      1  Beginning
          BGM01           O      1    C002
            BGM01-1       M      1  Document  1001 an 1..3  220 221
          BGM02           M      1  Our number  1004 an 1..35
        SG1               O      9
          NAD 01 = BY     O      1
            NAD01         M      1  Party  3035 an 1..3
        SG2               O      *
          NAD 01 = SU|DP  O      1
            NAD01         M      1  Party  3035 an 1..3
    "#]]);
    // What `show --json` prints is a description again.
    let shown = world.run("guide show guides/ORDERS-MINE.guide --json").code(0).stdout.clone();
    world.write("again.json", &shown).run("guide import again.json -o again --json").check(expect![[r#"
        exit 0
        --- stdout
        {
          "schema": "quayline.guide-import/1",
          "guides": [
            {
              "file": "again/ORDERS-MINE.guide",
              "guide": "ORDERS-MINE",
              "title": "Orders as we take them"
            }
          ]
        }
    "#]]);
    assert_eq!(
        std::fs::read(world.path("guides/ORDERS-MINE.guide")).expect("written"),
        std::fs::read(world.path("again/ORDERS-MINE.guide")).expect("written")
    );
}

#[test]
fn places_that_cannot_be_told_apart_are_named() {
    let message = MESSAGE.replace(r#""where": { "element": 1, "values": ["SU", "DP"] }"#, r#""name": "Any party""#);
    let world = World::with([(
        "mine.json",
        message.replace(r#", "where": { "element": 1, "values": ["BY"] }"#, "").as_bytes(),
    )]);
    world.run("guide import mine.json -o .").code(0);
    world.run("guide check ORDERS-MINE.guide").check(expect![[r#"
        exit 0
        --- stdout
        ORDERS-MINE.guide: 3 segments in 2 loops, 1 place cannot be distinguished from another
        --- stderr
        warning[GDE-110]: SG2/NAD cannot be distinguished from SG1/NAD: neither NAD has a qualifier or codes that the other does not have; in `BGM NAD` the last NAD counts as the latter
          at ORDERS-MINE.guide, SG2/NAD

        hint: give each a qualifier that the other does not have (`where 01 = …`)
    "#]]);
    world.run("guide check ORDERS-MINE.guide --json").check(expect![[r#"
        exit 0
        --- stdout
        {
          "schema": "quayline.guide-check/1",
          "files": [
            {
              "file": "ORDERS-MINE.guide",
              "segments": 3,
              "loops": 2,
              "errors": 0,
              "warnings": 1,
              "ambiguities": 1
            }
          ]
        }
        --- stderr
        {"schema":"quayline.finding/1","code":"GDE-110","severity":"warning","fault":"config","message":"SG2/NAD cannot be distinguished from SG1/NAD: neither NAD has a qualifier or codes that the other does not have; in `BGM NAD` the last NAD counts as the latter","file":"ORDERS-MINE.guide","path":"SG2/NAD","hint":"give each a qualifier that the other does not have (`where 01 = …`)"}
    "#]]);
}

#[test]
fn mistakes_are_told() {
    let world =
        World::with([("mine.json", MESSAGE.as_bytes()), ("x.txt", b"hello"), ("bad.guide", b"guide X\nnonsense 1\n")]);
    world.run("guide import x.txt -o .").check(expect![[r#"
        exit 2
        --- stderr
        error[DIC-003]: none of the forms of dictionaries that can be imported
          at x.txt

        hint: `docs/guides/import-guides.md` lists them, and how to fetch the open ones
    "#]]);
    world.run("guide import nowhere -o .").check(expect![[r#"
        exit 2
        --- stderr
        error[DIC-001]: no such file or folder
          at nowhere
    "#]]);
    world.run("guide import mine.json -o . --only INVOIC").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --only INVOIC: none of the sources has such a guide

        hint: name a guide (837-005010X222A1) or a transaction (837)
    "#]]);
    world.run("guide check bad.guide nowhere.guide").check(expect![[r#"
        exit 2
        --- stdout
        bad.guide: 2 errors
        nowhere.guide: 1 error
        --- stderr
        error[GDE-008]: the guide does not say its standard
          at bad.guide:1:1
          |
        1 | guide X
          | ^^^^^

        hint: write `standard X12` or `standard EDIFACT`

        error[GDE-003]: `nonsense` is not expected here
          at bad.guide:2:1
          |
        2 | nonsense 1
          | ^^^^^^^^

        hint: known here: guide, dictionary, standard, version, transaction, source, include, overlay, element, composite, segment, codes, structure, changes, rules

        error[CLI-002]: nowhere.guide cannot be read: no such file or directory
    "#]]);
}
