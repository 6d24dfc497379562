//! Conditions of rules in the expressions of maps.

use std::path::Path;

use quayline_partner::{Filter, Kind, Query, RuleIndex, State};
use quayline_project::partner::{Direction, PartnerFile, Rule};

use crate::world::{World, orders};

fn large(condition: &str) -> String {
    format!(
        "[[rule]]\nname = \"large\"\ndirection = \"receive\"\ndocument = \"850\"\nmap = \"maps/in.qmap\"\nwhere = '{condition}'\n\
         deliver = \"folder:large\"\nfields = {{ order = \"BEG03\" }}\n"
    )
}

#[test]
fn the_content_of_a_document_chooses_its_rule() {
    let world = World::with("usage = \"both\"", &large("sum(PO1.PO102 * PO1.PO104 for PO1) > 100"));
    let text = orders(7, &["PO1", "PO2"]).replacen("PO1*1*1*EA*1", "PO1*1*500*EA*1", 1);
    let report = world.receive(&text);
    assert!(report.is_good(), "{report:?}");
    assert!(world.files("large")[0].1.contains("PO1") && world.files("large").len() == 1);
    assert!(world.files("orders")[0].1.contains("PO2") && world.files("orders").len() == 1);
    let rules: Vec<String> = world.entries(Kind::Transaction).into_iter().map(|entry| entry.details.rule).collect();
    assert_eq!(rules, ["ACME/large", "ACME/orders"]);
    let explained = world.book().explain(text.as_bytes()).expect("an interchange");
    assert_eq!(explained[0].rules, [("ACME/large".to_owned(), None)]);
    let why = "it is not true that sum(PO1.PO102 * PO1.PO104 for PO1) > 100";
    assert_eq!(explained[1].rules, [("ACME/large".to_owned(), Some(why.to_owned())), ("ACME/orders".to_owned(), None)]);
}

#[test]
fn a_document_on_which_a_condition_fails_is_rejected_and_processed_again() {
    let world = World::with("usage = \"both\"", &large("number(BEG.BEG03) > 100"));
    world.book().check().expect("good conditions");
    let report = world.receive(&orders(7, &["101", "PO2"]));
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    let codes: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.code.0).collect();
    assert_eq!(codes.last(), Some(&"PTN-113"), "{report:?}");
    // Its syntax is good, so the acknowledgment accepts it.
    assert!(world.files("outbox/ACME")[0].1.contains("AK9*A*2*2*2~"));
    let rejected = world.search(&Filter { state: Some(State::Rejected), limit: 10, ..Filter::default() });
    assert_eq!(rejected.len(), 1);
    let explained = world.book().explain(orders(7, &["PO2"]).as_bytes()).expect("an interchange");
    assert!(explained[0].rules[0].1.as_ref().is_some_and(|why| why.contains("has no value")), "{explained:?}");
    assert!(explained[0].outcome.is_none());
    world.edit("number(BEG.BEG03) > 100", "BEG.BEG03 = \"PO2\"");
    let id = rejected[0].id;
    let again = world.at_desk(quayline_partner::DeskLimits::default(), |desk| desk.reprocess(id, None));
    assert_eq!(again.expect("processed").state, State::Delivered);
    assert_eq!(world.files("large").len(), 2);
}

#[test]
fn what_is_sent_is_chosen_by_its_content() {
    let rule = "[[rule]]\nname = \"urgent\"\ndirection = \"send\"\ndocument = \"order\"\nmap = \"maps/out.qmap\"\nwhere = 'BEG.BEG02 = \"RO\" and CTT.CTT.CTT01 = 1'\n\
                settings = { send-to = \"folder:urgent\" }\n";
    let world = World::with("usage = \"both\"", rule);
    world.book().check().expect("good conditions");
    let text = "{\"number\":\"1\",\"kind\":\"SA\"}\n{\"number\":\"2\",\"kind\":\"RO\"}\n";
    let report = world.send(Some("ACME"), "order", text).expect("sent");
    assert_eq!((report.sent, report.rejected), (2, 0), "{report:?}");
    assert!(world.files("urgent")[0].1.contains("BEG*00*RO*2*") && world.files("urgent").len() == 1);
    assert!(world.files("outbox/ACME")[0].1.contains("BEG*00*SA*1*") && world.files("outbox/ACME").len() == 1);
}

#[test]
fn a_rule_without_a_map_reads_documents_by_its_guide() {
    let rule = "[[rule]]\nname = \"as-it-came\"\ndirection = \"receive\"\ndocument = \"850\"\nguide = \"tiny.guide\"\nwhere = 'interchange.sender = \"ACME\" and \
                count(PO1) = 1'\ndeliver = \"folder:whole\"\n";
    let world = World::with("usage = \"both\"", rule);
    assert!(world.receive(&orders(7, &["PO1"])).is_good());
    assert!(world.files("whole")[0].1.starts_with("ISA*"));
}

#[test]
fn everything_that_is_wrong_with_conditions_is_found() {
    let rules = [
        large("BEG.BEG03 = "),
        large("BEG.BEG99 = \"1\"").replace("large", "second"),
        large("envelope.queue = \"A\"").replace("large", "third"),
        large("BEG.BEG03").replace("large", "fourth"),
    ];
    let world = World::with("usage = \"both\"", &rules.concat());
    let found = world.book().check().expect_err("wrong conditions").0;
    let shown: Vec<String> =
        found.iter().map(|finding| format!("{} {} {}", finding.code, finding.place, finding.message)).collect();
    assert_eq!(found.len(), 4, "{shown:#?}");
    assert!(found.iter().all(|finding| finding.place.line.is_some()), "{found:#?}");
    assert!(shown[1].contains("BEG99") && shown[2].starts_with("PTN-016"), "{shown:#?}");
    for (keys, expected) in [
        ("where = 'true'\nmap = \"maps/in.qmap\"", "the rule does not name it"),
        ("document = \"850\"\nwhere = 'true'", "does not say what the names in `where` mean"),
        ("document = \"850\"\nguide = \"tiny.guide\"", "which is missing"),
    ] {
        let text = format!("[[rule]]\ndirection = \"receive\"\ndeliver = \"folder:in\"\n{keys}\n");
        let found = PartnerFile::parse(Path::new("acme.toml"), &text).expect_err("a wrong file").0;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains(expected), "{found:?}");
    }
}

/// Fields and conditions of elements that the documents cannot have were accepted, and searches by them found nothing.
#[test]
fn elements_that_the_guide_does_not_have_are_findings() {
    let rule = |keys: &str| {
        format!(
            "[[rule]]\nname = \"other\"\ndirection = \"receive\"\ndocument = \"850\"\nversion = \"005010\"\ndeliver = \"folder:in\"\n{keys}\n"
        )
    };
    for (keys, expected) in [
        (
            "fields = { a = \"BEG77\" }",
            "the field `a` of rule `other` reads BEG77, but segment BEG of guide 850 ends with element 12",
        ),
        ("fields = { a = \"QQQ01\" }", "the field `a` of rule `other` reads QQQ01, but guide 850 has no segment QQQ"),
        ("fields = { a = \"BEG03-2\" }", "reads BEG03-2, but element 03 of BEG in guide 850 has no components"),
        (
            "when = { QQQ01 = \"A\" }\nmap = \"maps/in.qmap\"",
            "`when` of rule `other` reads QQQ01, but guide 850 has no segment QQQ",
        ),
    ] {
        let world = World::with("usage = \"both\"", &rule(keys));
        let found = world.book().check().expect_err("an impossible element").0;
        assert_eq!(found.len(), 1, "{keys}: {found:#?}");
        assert_eq!(found[0].code.0, "PTN-020", "{keys}: {found:#?}");
        assert!(found[0].message.contains(expected), "{keys}: {found:#?}");
        assert!(found[0].place.line.is_some() && found[0].hint.is_some(), "{keys}: {found:#?}");
    }
    // No guide describes documents of another type, so nothing is known about their elements.
    for keys in ["fields = { a = \"BEG03\", b = \"PO101\" }", "fields = { a = \"BIG02\" }"] {
        let rule = if keys.contains("BIG") { rule(keys).replace("850", "810") } else { rule(keys) };
        World::with("usage = \"both\"", &rule).book().check().unwrap_or_else(|found| panic!("{keys}: {found}"));
    }
    for (element, expected) in [
        ("BEG00", "`BEG00` is not an element"),
        ("BEG03-0", "`BEG03-0` is not an element"),
        ("B*03", "`B*03` is not an element"),
        ("ST02", "`ST02` is in a header or trailer"),
        ("UNH01-1", "`UNH01-1` is in a header or trailer"),
    ] {
        let text = rule(&format!("fields = {{ a = \"{element}\" }}"));
        let found = PartnerFile::parse(Path::new("acme.toml"), &text).expect_err("not an element").0;
        assert!(found.len() == 1 && found[0].message.contains(expected), "{element}: {found:#?}");
    }
}

#[test]
fn expressions_are_evaluated_for_rules_that_the_index_finds() {
    let rule = |name: &str, document: &str, condition: &str| {
        format!(
            "[[rule]]\nname = \"{name}\"\ndirection = \"receive\"\ndeliver = \"folder:in\"\ndocument = \"{document}\"\n{condition}\n"
        )
    };
    let with_where =
        |name: &str, document: &str, text: &str| rule(name, document, &format!("map = \"a.qmap\"\nwhere = '{text}'"));
    let many: String = (0..5_000).map(|n| with_where(&format!("r{n}"), &format!("D{n}"), "true")).collect();
    let some = with_where("large", "850", "a") + &with_where("larger", "850", "b") + &rule("other", "850", "");
    for text in [
        many.clone() + &some,
        many[..20 * many.len() / 5_000].rsplit_once("[[rule]]").expect("rules").0.to_owned() + &some,
    ] {
        let partners = [PartnerFile::parse(Path::new("acme.toml"), &text).expect("a good file").0];
        let (index, findings) = RuleIndex::new(&partners);
        assert_eq!(findings, []);
        let choose = |document: &str, wanted: &str| {
            let mut evaluated = 0;
            let mut holds = |_, rule: &Rule| {
                evaluated += 1;
                rule.condition.as_ref().is_none_or(|condition| condition.text == wanted)
            };
            let query = Query {
                direction: Direction::Receive,
                standard: None,
                document,
                version: "005010",
                application: "",
                test: false,
            };
            let id = index.choose(&partners, &[0], &query, &mut holds).expect("a rule");
            (partners[0].rules[id.rule].name.clone(), evaluated)
        };
        // However many rules there are: only those of the document are evaluated, in the order of the file, until one holds.
        assert_eq!(choose("D7", "true"), ("r7".to_owned(), 1));
        assert_eq!(choose("850", "a"), ("large".to_owned(), 1));
        assert_eq!(choose("850", "b"), ("larger".to_owned(), 2));
        assert_eq!(choose("850", "c"), ("other".to_owned(), 3));
    }
}
