//! `quayline guide`.

use expect_test::expect;

use crate::world::World;

const MESSAGE: &str = r#"{
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
    world.run("guide import mine.json -o guides").check(expect![[r#""#]]);
    world.run("guide check guides/ORDERS-MINE.guide").check(expect![[r#""#]]);
    world.run("guide show guides/ORDERS-MINE.guide --elements").check(expect![[r#""#]]);
    // What `show --json` prints is a description again.
    let shown = world.run("guide show guides/ORDERS-MINE.guide --json").code(0).stdout.clone();
    world.write("again.json", &shown).run("guide import again.json -o again --json").check(expect![[r#""#]]);
    assert_eq!(
        std::fs::read(world.path("guides/ORDERS-MINE.guide")).expect("written"),
        std::fs::read(world.path("again/ORDERS-MINE.guide")).expect("written")
    );
}

#[test]
fn places_that_cannot_be_told_apart_are_named() {
    let message = MESSAGE.replace(r#""where": { "element": 1, "values": ["SU", "DP"] }"#, r#""name": "Any party""#);
    let world = World::with([("mine.json", message.replace(r#", "where": { "element": 1, "values": ["BY"] }"#, "").as_bytes())]);
    world.run("guide import mine.json -o .").code(0);
    world.run("guide check ORDERS-MINE.guide").check(expect![[r#""#]]);
    world.run("guide check ORDERS-MINE.guide --json").check(expect![[r#""#]]);
}

#[test]
fn mistakes_are_told() {
    let world = World::with([("mine.json", MESSAGE.as_bytes()), ("x.txt", b"hello"), ("bad.guide", b"guide X\nnonsense 1\n")]);
    world.run("guide import x.txt -o .").check(expect![[r#""#]]);
    world.run("guide import nowhere -o .").check(expect![[r#""#]]);
    world.run("guide import mine.json -o . --only INVOIC").check(expect![[r#""#]]);
    world.run("guide check bad.guide nowhere.guide").check(expect![[r#""#]]);
}
