//! Rules with several maps, and documents that are answered.

use quayline_partner::{EntryId, Kind, State, Way};

use crate::world::{World, interchange};

const RULE: &str = r#"
[[rule]]
name = "quotes"
direction = "receive"
document = "850"
version = "005010"
when = { BEG02 = "RO" }
map = ["maps/in.qmap", "maps/reply.qmap"]
deliver = { in = "folder:orders", reply = "answer" }
fields = { order = "BEG03" }
"#;

const REPLY: &str = r#"map "order to its answer"
source "../tiny.guide"
target answer "../tiny.guide"
omit standard
if BEG.BEG03 = "BAD" {
  error "nobody can answer this" code "REPLY-1"
}
make BEG {
  BEG01 = "06"
  BEG02 = BEG.BEG02
  BEG03 = BEG.BEG03
  BEG05 = BEG.BEG05
}
for PO1 make PO1 {
  PO1.PO101 = PO1.PO101
  PO1.PO102 = PO1.PO102
  PO1.PO103 = PO1.PO103
}
CTT.CTT.CTT01 = count(PO1)
"#;

/// Orders of kind RO are answered.
pub(crate) fn answering(settings: &str) -> World {
    let world = World::with(settings, RULE);
    world.write("maps/reply.qmap", REPLY);
    world
}

#[test]
fn a_document_is_delivered_and_answered_in_one_unit_of_work() {
    let world = answering("acknowledge = []");
    world.book().check().expect("a good project");
    let report = world.receive(&interchange(7, "P", &[("PO1", "RO"), ("PO2", "SA")]));
    assert_eq!((report.delivered, report.rejected), (2, 0), "{report:?}");
    let orders = world.files("orders");
    let names: Vec<&str> = orders.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ACME-850-2-in.jsonl", "ACME-850-6.jsonl"], "the map names the file where there are several");
    let sent = world.files("outbox/ACME");
    assert_eq!(sent.len(), 1, "{sent:?}");
    let text = &sent[0].1;
    assert!(
        text.contains("*ZZ*US             *01*ACME           *") && text.contains("~BEG*06*RO*PO1**20260401~"),
        "{text}"
    );
    assert!(text.contains("GS*PO*US*ACME*") && text.contains("IEA*1*000000001~"), "{text}");
    let entries = world.entries(Kind::Transaction);
    let answer = entries.iter().find(|entry| entry.way == Way::Sent).expect("the answer");
    assert_eq!((answer.state, answer.details.about), (State::Sent, 2));
    let order = entries.iter().find(|entry| entry.id == EntryId(2)).expect("the order");
    assert!(order.details.outputs.contains(&format!("entry {}", answer.id)), "{:?}", order.details.outputs);
    assert_eq!(order.details.map.split(',').count(), 2, "the digests of both maps");
}

/// Regression: two outputs whose names differ only in characters that a file name cannot have replaced each other.
#[test]
fn outputs_of_similar_names_have_their_own_files() {
    let rule = RULE.replace("{ in = \"folder:orders\", reply = \"answer\" }", "\"folder:orders\"");
    let rule = rule.replace("\"maps/in.qmap\", \"maps/reply.qmap\"", "\"maps/two.qmap\"");
    let world = World::with("acknowledge = []", &rule);
    let flat = "layout = \"csv\"\n[[field]]\nname = \"number\"\n";
    world.write("layouts/a.toml", flat);
    world.write("layouts/b.toml", flat);
    world.write(
        "maps/two.qmap",
        "map \"two\"\nsource \"../tiny.guide\"\ntarget 'a ä' \"../layouts/a.toml\"\ntarget 'a ö' \"../layouts/b.toml\"\nmake 'a ä' { number = BEG.BEG03 }\nmake 'a ö' { number = BEG.BEG02 }\n",
    );
    world.book().check().unwrap_or_else(|findings| panic!("{findings}"));
    let report = world.receive(&interchange(7, "P", &[("PO1", "RO")]));
    assert_eq!(report.delivered, 1, "{report:?}");
    let names: Vec<String> = world.files("orders").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["ACME-850-2-a__-0.csv", "ACME-850-2-a__-1.csv"]);
}

#[test]
fn a_map_that_rejects_keeps_back_what_the_others_made() {
    let world = answering("acknowledge = []");
    let report = world.receive(&interchange(7, "P", &[("BAD", "RO"), ("PO2", "RO")]));
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    assert_eq!((world.files("orders").len(), world.files("outbox/ACME").len()), (1, 1));
    let rejected: Vec<_> =
        world.entries(Kind::Transaction).into_iter().filter(|one| one.state == State::Rejected).collect();
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].details.findings.iter().any(|one| one.message.contains("nobody can answer this")));
    assert!(rejected[0].details.outputs.is_empty());
}

#[test]
fn wrong_deliveries_are_findings_of_the_check() {
    let check = |rule: &str| {
        let world = World::with("usage = \"both\"", rule);
        world.write("maps/reply.qmap", REPLY);
        world.book().check().expect_err("a wrong rule").to_string()
    };
    let found = check(&RULE.replace("reply = \"answer\"", "answer = \"answer\""));
    assert!(found.contains("the map has no output `answer`, but in, reply"), "{found}");
    let found = check(&RULE.replace("in = \"folder:orders\"", "in = \"answer\""));
    assert!(found.contains("output `in` is not EDI, so it cannot answer the partner"), "{found}");
    let found = check(&RULE.replace("\"maps/reply.qmap\"", "\"maps/in.qmap\""));
    assert!(found.contains("two maps of the rule have the name `in`"), "{found}");
}
