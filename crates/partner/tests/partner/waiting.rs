//! Documents that wait for their envelope by the settings of a rule.

use quayline_partner::{DeskLimits, Kind, Release, State, Way};

use crate::world::{NOON_MS, World};

const LATE: &str = r#"
[[rule]]
name = "late"
direction = "send"
document = "late"
map = "maps/out.qmap"
[rule.settings]
envelope = "delayed"
close = { age = "1h" }
send-to = "folder:late"
delimiters = "|>^~"
expect = "997"
due = "2h"
interchange-numbers = { first = 1000, last = 2000 }
"#;

fn late() -> World {
    World::with("usage = \"production\"\ninterchange-numbers = { first = 1, last = 100 }", LATE)
}

/// A delayed envelope closed by the settings of the partner: the age of a rule never came, and its place, delimiters, expectation and numbers
/// were dropped. The text had the delimiters of the rule, and the envelope those of the partner.
#[test]
fn an_envelope_closes_by_the_settings_of_its_rule() {
    let world = late();
    world.sent("late", &["A1", "A2"]);
    assert_eq!(world.release(&Release::Due).interchanges, 0);
    world.now_ms.set(NOON_MS + 3_600_000);
    assert_eq!(world.release(&Release::Due).interchanges, 1);
    let files = world.files("late");
    assert_eq!((files.len(), world.files("outbox/ACME").len()), (1, 0));
    let text = &files[0].1;
    assert!(
        text.starts_with("ISA|") && text.contains("|000001000|") && text.contains("~ST|850|0002~BEG|00|SA|A2|"),
        "{text}"
    );
    let group = world.entries(Kind::Group).remove(0);
    assert_eq!((group.state, group.due_ms), (State::Expecting, NOON_MS + 3 * 3_600_000));
    let interchange = world.entries(Kind::Interchange).remove(0);
    assert_eq!(interchange.details.rule, "ACME/late");
    // The same settings apply when it is sent again.
    world.at_desk(DeskLimits::default(), |desk| desk.resend(interchange.id)).expect("sent again");
    world.at_desk(DeskLimits::default(), |desk| desk.reenvelope(interchange.id)).expect("in a new envelope");
    let texts: Vec<String> = world.files("late").into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("|000001000|")).count(), 2, "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("|000001001|")), "{texts:?}");
}

/// Delimiters were edited while documents waited: their envelope had the new ones, and the command panicked.
#[test]
fn an_envelope_keeps_what_shapes_its_bytes() {
    let world = late();
    world.sent("late", &["A1"]);
    world.edit("delimiters = \"|>^~\"", "delimiters = \"#>^~\"");
    world.sent("late", &["A2"]);
    let waiting = world.at_desk(DeskLimits::default(), |desk| desk.waiting()).expect("a list");
    assert_eq!(waiting.iter().map(|one| (one.rule.as_str(), one.count)).collect::<Vec<_>>(), [("ACME/late", 1); 2]);
    assert_eq!(world.release(&Release::All).interchanges, 2);
    let texts: String = world.files("late").into_iter().map(|(_, text)| text).collect();
    assert!(texts.contains("ST|850|0001~BEG|00|SA|A1|") && texts.contains("ST#850#0001~BEG#00#SA#A2#"), "{texts}");
}

/// A rule that is renamed or removed leaves its documents to the settings of the partner, with a warning.
#[test]
fn documents_of_a_missing_rule_are_sent_with_a_warning() {
    let world = late();
    world.sent("late", &["A1"]);
    world.edit("name = \"late\"", "name = \"later\"");
    let report = world.release(&Release::All);
    assert_eq!((report.interchanges, report.findings.len()), (1, 1), "{report:?}");
    assert_eq!(report.findings[0].1.code.0, "PTN-207");
    let files = world.files("outbox/ACME");
    assert!(files[0].1.starts_with("ISA|") && files[0].1.contains("BEG|00|SA|A1|"), "{files:?}");
}

/// One removed partner file ended `release --all` for all partners after it.
#[test]
fn a_missing_partner_keeps_no_other_envelope_back() {
    let world = World::with("usage = \"both\"\nenvelope = \"delayed\"", "");
    let others = ["B1", "B2", "B3", "B4"];
    for name in others {
        world.write(
            &format!("partners/{name}.toml"),
            &format!("name = \"{name}\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"{name}\"\n[settings]\nenvelope = \"delayed\"\nclose = {{ age = \"1h\" }}\n"),
        );
        let text = "{\"number\":\"A1\",\"kind\":\"SA\"}\n";
        world.send(Some(name), "order", text).expect("it waits");
    }
    std::fs::remove_file(world.path("partners/B2.toml")).expect("removed");
    world.now_ms.set(NOON_MS + 3_600_000);
    let released = world.at_desk(DeskLimits::default(), |desk| {
        let before = desk.commits();
        desk.release(&Release::Due).map(|report| (report, desk.commits() - before))
    });
    let (report, commits) = released.expect("released");
    assert_eq!((report.interchanges, report.findings.len()), (3, 1), "{report:?}");
    assert_eq!(report.findings[0].1.code.0, "PTN-200");
    assert_eq!(commits, 3, "B1 before B2 is tried alone, B3 with B4, and the outbox");
    assert!(report.findings[0].1.message.contains("B2"), "{report:?}");
    let waiting = world.at_desk(DeskLimits::default(), |desk| desk.waiting()).expect("a list");
    assert_eq!(waiting.len(), 1, "its documents wait: {waiting:?}");
}

/// Two rules for one partner with ranges of their own had one register: 1, 1000, 1, 1000.
#[test]
fn each_range_of_numbers_counts_alone() {
    let rule = |name: &str, first: u32, last: u32| {
        format!(
            "\n[[rule]]\nname = \"{name}\"\ndirection = \"send\"\ndocument = \"{name}\"\nmap = \"maps/out.qmap\"\nsettings = {{ interchange-numbers = {{ first = {first}, last = {last} }} }}\n"
        )
    };
    let settings = "interchange-numbers = { first = 5000, last = 6000 }";
    let world = World::with(settings, &(rule("a", 1, 100) + &rule("b", 1000, 2000)));
    for document in ["a", "b", "a", "b", "order"] {
        world.sent(document, &["A1"]);
    }
    let sent = world.entries(Kind::Interchange);
    let numbers: Vec<&str> = sent.iter().map(|entry| entry.number.trim_start_matches('0')).collect();
    assert_eq!(numbers, ["1", "1000", "2", "1001", "5000"]);
    // Another name of the partner's file changes nothing: numbers are between identities.
    world.edit("name = \"ACME\"", "name = \"ACME-NEW\"");
    world.send(Some("ACME-NEW"), "order", "{\"number\":\"A2\",\"kind\":\"SA\"}\n").expect("sent");
    let last = world.entries(Kind::Interchange).pop().expect("an entry");
    assert_eq!((last.number.as_str(), last.way), ("000005001", Way::Sent));
    // Ranges that overlap would give numbers twice.
    let world = World::with(settings, &(rule("a", 1, 1000) + &rule("b", 1000, 2000)));
    let opened = quayline_partner::Book::open(&world.path(""), quayline_project::ShapeOptions::default(), 0, 0);
    let found = opened.err().map(|found| found.to_string()).unwrap_or_default();
    assert!(
        found.contains("PTN-014") && found.contains("rule `b` (1000 to 2000) overlaps that of rule `a` (1 to 1000)"),
        "{found}"
    );
}
