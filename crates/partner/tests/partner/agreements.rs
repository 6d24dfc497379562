//! Which settings and which rule apply to a document: rule, agreement, partner, own file; and rules by application.

use quayline_partner::{Entry, Kind, Way};

use crate::world::{World, orders};

const SECOND_OWN: &str = "own = true\nname = \"US-TWO\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"USTWO\"\n[settings]\nkeep-days = 41\nduplicate-days = 42\n";

/// Settings of the partner and its agreements with both of our files.
const SETTINGS: &str = r#"usage = "both"
keep-days = 30
due = "30h"
keep = "all"
[[agreement]]
with = "US"
settings = { keep-days = 20, due = "20h" }
[[agreement]]
with = "US-TWO"
settings = { keep-days = 21 }
"#;

/// A rule for blanket orders, with settings of its own.
const BLANKET: &str = r#"
[[rule]]
name = "blanket"
direction = "receive"
document = "850"
when = { BEG02 = "BK" }
map = "maps/in.qmap"
deliver = "folder:orders"
settings = { keep-days = 10 }
"#;

fn world() -> World {
    let world = World::with(SETTINGS, BLANKET);
    world.write("partners/us-two.toml", SECOND_OWN);
    world
}

/// Returns the retention of the entries of a kind.
fn days(world: &World, kind: Kind) -> Vec<u64> {
    let received = |entry: &Entry| entry.way == Way::Received;
    world.entries(kind).iter().filter(|entry| received(entry)).map(|entry| entry.details.keep_days).collect()
}

/// The rule wins over the agreement, the agreement over the partner, and the partner over our own file.
#[test]
fn the_most_specific_setting_wins() {
    let world = world();
    world.receive(&orders(7, &["PO1"]).replace("BEG*00*SA", "BEG*00*BK"));
    assert_eq!((days(&world, Kind::Transaction), days(&world, Kind::Interchange)), (vec![10], vec![20]));
    world.receive(&orders(8, &["PO2"]));
    assert_eq!(days(&world, Kind::Transaction), [10, 20], "a rule without settings");
    // The agreement with our other file applies to its interchanges only.
    world.receive(&orders(9, &["PO3"]).replace("*ZZ*US             *", "*ZZ*USTWO          *"));
    assert_eq!(days(&world, Kind::Transaction), [10, 20, 21]);
    // Without the agreement the partner's own settings apply, and without those the own file.
    world.edit("settings = { keep-days = 21 }", "settings = { due = \"1h\" }");
    world.receive(&orders(10, &["PO4"]).replace("*ZZ*US             *", "*ZZ*USTWO          *"));
    world.edit("keep-days = 30\n", "");
    world.receive(&orders(11, &["PO5"]).replace("*ZZ*US             *", "*ZZ*USTWO          *"));
    assert_eq!(days(&world, Kind::Transaction), [10, 20, 21, 30, 41]);
}

#[test]
fn explain_names_the_place_of_each_setting() {
    let world = world();
    let book = world.book();
    let explained = |edi: &str| {
        let all = book.explain(edi.as_bytes()).expect("explained");
        let settings = all[0].settings.iter();
        settings.map(|(name, value, layer)| format!("{name} = {value} ({layer})")).collect::<Vec<_>>()
    };
    let first = explained(&orders(7, &["PO1"]).replace("BEG*00*SA", "BEG*00*BK"));
    for expected in ["keep-days = 10 (rule blanket)", "due = 20h (agreement with US)", "keep = all (partner ACME)"] {
        assert!(first.iter().any(|line| line == expected), "{expected}: {first:?}");
    }
    let second = explained(&orders(7, &["PO1"]).replace("*ZZ*US             *", "*ZZ*USTWO          *"));
    for expected in
        ["keep-days = 21 (agreement with US-TWO)", "due = 30h (partner ACME)", "duplicate-days = 42 (own US-TWO)"]
    {
        assert!(second.iter().any(|line| line == expected), "{expected}: {second:?}");
    }
}

/// Rules for one application each: GS03, and data element 0026 of UNB.
const BY_APPLICATION: &str = r#"
[[rule]]
name = "retail"
direction = "receive"
document = "850"
application = "RETAIL"
deliver = "folder:retail"
[[rule]]
name = "messages"
direction = "receive"
standard = "edifact"
deliver = "folder:messages"
[[rule]]
name = "messages-of-retail"
direction = "receive"
standard = "edifact"
application = "RETAIL"
deliver = "folder:messages-of-retail"
"#;

#[test]
fn an_application_chooses_the_rule() {
    let world = World::with("usage = \"both\"\nvalidate = \"envelope\"", BY_APPLICATION);
    assert_eq!(world.receive(&orders(7, &["PO1"])).delivered, 1);
    let retail = orders(8, &["PO2"]).replace("GS*PO*ACME*US*", "GS*PO*ACME*RETAIL*");
    assert_eq!(world.receive(&retail).delivered, 1);
    let message = |number: u32, application: &str| {
        format!(
            "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+{number}++{application}'UNH+1+ORDERS:D:96A:UN'BGM+220+A{number}+9'UNT+3+1'UNZ+1+{number}'"
        )
    };
    assert_eq!(world.receive(&message(1, "WHOLESALE")).delivered, 1);
    assert_eq!(world.receive(&message(2, "RETAIL")).delivered, 1);
    let rules: Vec<String> = world.entries(Kind::Transaction).iter().map(|entry| entry.details.rule.clone()).collect();
    assert_eq!(rules, ["ACME/orders", "ACME/retail", "ACME/messages", "ACME/messages-of-retail"]);
    let counts = ["orders", "retail", "messages", "messages-of-retail"].map(|folder| world.files(folder).len());
    assert_eq!(counts, [1; 4]);
    // `explain` says why the more general rule does not take it.
    let all = world.book().explain(message(3, "RETAIL").as_bytes()).expect("explained");
    assert!(format!("{:?}", all[0].rules).contains("messages-of-retail"), "{all:?}");
}
