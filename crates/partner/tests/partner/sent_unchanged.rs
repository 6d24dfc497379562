//! Interchanges that are sent without a map, sent again, and put into new envelopes.

use std::collections::HashSet;

use quayline_partner::{DeskLimits, Kind, SendReport, State, Way};

use crate::world::{World, orders};

fn send(world: &World, edi: &str) -> SendReport {
    world.send(Some("ACME"), "", edi).unwrap_or_else(|findings| panic!("{findings}"))
}

/// An interchange from us, with a document of one segment.
fn ours(segment: &str) -> String {
    let from =
        orders(7, &[]).replace("*01*ACME           *ZZ*US             *", "*ZZ*US             *01*ACME           *");
    let documents = format!("ST*841*0001~{segment}SE*3*0001~GE*1*");
    from.replace("GS*PO*ACME*US*", "GS*SP*US*ACME*").replace("GE*0*", &documents)
}

/// Regression: Quayline sent repetition separators to partners whose version has none, as if they were data.
#[test]
fn repetitions_need_a_version_that_has_them() {
    let repeated = ours("REF*ZZ*A^B~");
    for (version, expected) in [("00401", "PTN-202"), ("00402", ""), ("00501", "")] {
        let world = World::with(&format!("usage = \"both\"\nversion = \"{version}\""), "");
        let report = send(&world, &repeated);
        let codes: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.code.0).collect();
        assert_eq!(codes.join(" "), expected, "{version}");
        assert_eq!(send(&world, &ours("REF*ZZ*AB~")).sent, 1);
        // Binary data stays as it is while no byte of the document is a repetition separator.
        assert_eq!(send(&world, &ours("BIN*5*a~b*c~")).sent, 1, "{version}");
    }
    // Without repetitions, their separator is data.
    let world = World::with("usage = \"both\"\nversion = \"00401\"", "");
    let old = ours("REF*ZZ*A^B~").replace("*^*00501*", "*U*00401*");
    assert_eq!(send(&world, &old).sent, 1);
    assert!(
        world.files("outbox/ACME")[0].1.contains("*U*00401*")
            && world.files("outbox/ACME")[0].1.contains("REF*ZZ*A^B~")
    );
}

/// Regression: documents kept their line breaks in interchanges without line breaks.
#[test]
fn line_breaks_are_those_of_the_partner() {
    let broken = ours("REF*ZZ*AB~").replace('~', "~\n");
    for (line_breaks, count) in [(false, 0), (true, 7)] {
        let world = World::with(&format!("usage = \"both\"\nline-breaks = {line_breaks}"), "");
        assert_eq!(send(&world, &broken).sent, 1);
        let sent = &world.files("outbox/ACME")[0].1;
        assert_eq!(sent.matches('\n').count(), count, "{sent}");
    }
    // The bytes of binary data stay as they are.
    let world = World::with("usage = \"both\"", "");
    assert_eq!(send(&world, &ours("BIN*5*a~\nb*~")).sent, 1);
    assert!(world.files("outbox/ACME")[0].1.contains("BIN*5*a~\nb*~"));
}

/// EDIFACT has repetitions from syntax version 4 on.
#[test]
fn repetitions_of_edifact_need_syntax_version_4() {
    let edi = "UNB+UNOC:4+4012345500004:14+5412345000013:14+20260401:1200+1'UNH+1+ORDERS:D:96A:UN'RFF+ON:1*ON:2'UNT+3+1'UNZ+1+1'";
    for (version, expected) in [("UNOC:3", "PTN-202"), ("UNOC:4", "")] {
        let world = World::with(&format!("usage = \"both\"\nversion = \"{version}\"\ndelimiters = \"+:*'?\""), "");
        let report = send(&world, edi);
        let codes: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.code.0).collect();
        assert_eq!(codes.join(" "), expected, "{version}");
    }
}

/// Regression: Quayline refused to put a document with binary data into a new envelope, although its delimiters stay as they are.
#[test]
fn a_document_with_binary_data_gets_a_new_envelope() {
    let world = World::new();
    assert_eq!(send(&world, &ours("BIN*5*a~b*c~")).sent, 1);
    let id = world.entries(Kind::Interchange)[0].id;
    let report = world.at_desk(DeskLimits::default(), |desk| desk.reenvelope(id)).expect("a new envelope");
    assert_eq!(report.sent, 1);
    let files = world.files("outbox/ACME");
    assert!(files.len() == 2 && files.iter().all(|(_, text)| text.contains("BIN*5*a~b*c~")), "{files:?}");
    // Other delimiters would change the data or its length.
    world.edit("usage = \"both\"", "usage = \"both\"\ndelimiters = \"|:^~\"");
    let refused = send(&world, &ours("BIN*5*a~b*c~"));
    assert_eq!(refused.findings[0].1.code.0, "PTN-202");
}

/// Regression: without `--document`, Quayline ran the map of a rule that names no document.
#[test]
fn an_interchange_is_sent_without_the_map_of_a_rule() {
    let rules = "\n[[rule]]\nname = \"all\"\ndirection = \"send\"\nmap = \"maps/out.qmap\"\n";
    let world = World::with("usage = \"both\"", rules);
    let report = send(&world, &ours("REF*ZZ*A~"));
    assert_eq!((report.sent, report.findings.len()), (1, 0), "{report:?}");
    assert!(world.files("outbox/ACME")[0].1.contains("~REF*ZZ*A~"));
    assert_eq!(world.entries(Kind::Transaction)[0].details.rule, "");
    // With a name of the document, the rule applies.
    assert_eq!(world.sent("order of another kind", &["A1"]).sent, 1);
    assert_eq!(world.entries(Kind::Transaction)[1].details.rule, "ACME/all");
}

/// Regression: the history of an entry keeps 64 lines, so the file of the 64th repetition replaced that of the 63rd.
#[test]
fn each_repetition_has_its_own_file() {
    let world = World::new();
    world.sent("order", &["A1"]);
    let id = world.entries(Kind::Interchange)[0].id;
    let mut places = HashSet::new();
    for number in 1..=70 {
        let place = world.at_desk(DeskLimits::default(), |desk| desk.resend(id)).expect("sent again");
        assert!(place.ends_with(&format!("-again-{number}.x12")), "{place}");
        places.insert(place);
    }
    assert_eq!((places.len(), world.files("outbox/ACME").len()), (70, 71));
    let entry = &world.entries(Kind::Interchange)[0];
    assert_eq!((entry.state, entry.way), (State::Sent, Way::Sent));
    let last = &entry.details.history.last().expect("a line").what;
    assert!(last.starts_with("sent again to ") && last.ends_with("-again-70.x12 (repetition 70)"), "{last}");
}
