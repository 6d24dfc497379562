//! Documents to partners, and their acknowledgments.

use quayline_partner::{Again, DeskLimits, Filter, Kind, Release, SendRequest, State, Way};

use crate::world::{NOON_MS, World};

fn order(number: &str) -> String {
    format!("{{\"number\":\"{number}\",\"kind\":\"SA\"}}\n")
}

/// A 997 of ACME for a group that we sent.
fn answer(interchange: u32, body: &str) -> String {
    let segments = body.matches('~').count() + 2;
    format!(
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{interchange:09}*0*P*:~\
         GS*FA*ACME*US*20260401*1200*{interchange}*X*005010~ST*997*0001~{body}SE*{segments}*0001~GE*1*{interchange}~IEA*1*{interchange:09}~"
    )
}

#[test]
fn documents_are_sent_at_once_with_numbers_that_count_up() {
    let world = World::new();
    let report = world.send(Some("ACME"), "order", &(order("A1") + &order("A2"))).expect("sent");
    assert_eq!((report.sent, report.interchanges), (2, 2), "{report:?}");
    let files = world.files("outbox/ACME");
    assert!(files[0].1.starts_with("ISA*00*          *00*          *ZZ*US             *01*ACME           *260401*1200*^*00501*000000001*0*P*:~GS*PO*US*ACME*"), "{files:?}");
    assert!(
        files[0].1.contains("ST*850*0001~BEG*00*SA*A1**20260401~") && files[1].1.contains("*000000002*0*P*"),
        "{files:?}"
    );
    let sent = world.search(&Filter { field: Some(("order".into(), "A2".into())), limit: 10, ..Filter::default() });
    assert_eq!((sent.len(), sent[0].state, sent[0].details.interchange.as_str()), (1, State::Sent, "000000002"));
}

#[test]
fn delayed_documents_go_in_one_group_and_close_by_count_age_and_command() {
    let world = World::with("usage = \"production\"\nenvelope = \"delayed\"\nclose = { count = 3, age = \"1h\" }", "");
    let report = world.send(Some("ACME"), "order", &(order("A1") + &order("A2"))).expect("sent");
    assert_eq!((report.waiting, report.interchanges), (2, 0));
    assert!(world.files("outbox/ACME").is_empty());
    let report = world.send(Some("ACME"), "order", &order("A3")).expect("sent");
    assert_eq!(report.interchanges, 1);
    let files = world.files("outbox/ACME");
    let text = &files[0].1;
    assert_eq!(text.matches("GS*").count(), 1);
    for (number, order) in ["0001", "0002", "0003"].iter().zip(["A1", "A2", "A3"]) {
        assert!(text.contains(&format!("ST*850*{number}~BEG*00*SA*{order}*")), "{text}");
    }
    assert!(text.contains("GE*3*1~IEA*1*000000001~"), "{text}");
    world.send(Some("ACME"), "order", &order("A4")).expect("sent");
    assert_eq!(world.release(&Release::Due).interchanges, 0);
    world.now_ms.set(NOON_MS + 3_600_000);
    assert_eq!(world.release(&Release::Due).interchanges, 1);
    world.send(Some("ACME"), "order", &order("A5")).expect("sent");
    let unknown = world.at_desk(DeskLimits::default(), |desk| desk.release(&Release::Partner("ACNE")));
    let text = unknown.expect_err("no such partner").to_string();
    assert!(text.contains("partner `ACNE` does not exist") && text.contains("did you mean `ACME`?"), "{text}");
    assert_eq!(world.release(&Release::Partner("ACME")).interchanges, 1);
    assert_eq!(world.release(&Release::All).interchanges, 0);
    let states: Vec<_> = world.entries(Kind::Transaction).iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::Sent; 5]);
    assert!(world.files("outbox/ACME")[2].1.contains("*000000003*0*P*"));
}

#[test]
fn acknowledgments_are_matched_also_partial_and_rejected_ones() {
    let world = World::with(
        "usage = \"production\"\nenvelope = \"delayed\"\nclose = { count = 2 }\nexpect = \"997\"\ndue = \"2h\"",
        "",
    );
    world.send(Some("ACME"), "order", &(order("A1") + &order("A2"))).expect("sent");
    let overdue = |at: u64| {
        let filter = Filter { state: Some(State::Expecting), overdue_at_ms: Some(at), limit: 10, ..Filter::default() };
        world.search(&filter).len()
    };
    assert_eq!(overdue(NOON_MS + 3_600_000), 0);
    assert_eq!(overdue(NOON_MS + 3 * 3_600_000), 1);
    let report = world.receive(&answer(1, "AK1*PO*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*R*5~AK9*P*2*2*1~"));
    assert_eq!((report.delivered, report.matched), (1, 3), "{report:?}");
    let state = |kind| {
        let all = world.entries(kind);
        all.iter()
            .filter(|entry| entry.way == Way::Sent && entry.details.document != "acknowledgment")
            .map(|entry| entry.state)
            .collect::<Vec<_>>()
    };
    assert_eq!(state(Kind::Transaction), [State::Accepted, State::Refused]);
    assert_eq!(state(Kind::Group), [State::PartlyAccepted]);
    assert_eq!(overdue(NOON_MS + 3 * 3_600_000), 0);
    let refused = world.search(&Filter { state: Some(State::Refused), limit: 10, ..Filter::default() });
    assert!(
        refused[0].details.history.iter().any(|line| line.what.contains("one or more segments are wrong")),
        "{refused:?}"
    );
    // A group that is accepted as a whole accepts what it holds.
    world.send(Some("ACME"), "order", &(order("A3") + &order("A4"))).expect("sent");
    world.receive(&answer(2, "AK1*PO*2~AK9*A*2*2*2~"));
    assert_eq!(state(Kind::Transaction), [State::Accepted, State::Refused, State::Accepted, State::Accepted]);
    // A 997 is not answered.
    assert_eq!(world.files("outbox/ACME").len(), 2);
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_is_named() {
    let world = World::new();
    let report = world.receive(&answer(1, "AK1*PO*77~AK9*A*1*1*1~"));
    assert_eq!(report.findings[0].1.code.0, "PTN-107");
    let entry = &world.entries(Kind::Transaction)[0];
    assert!(entry.details.findings[0].message.contains("group 77, which was never sent"), "{entry:?}");
}

/// Numbers of groups come again after the last of their range. The answer to the new group also accepted the documents of the old one.
#[test]
fn an_answer_is_about_the_newest_group_with_its_number() {
    let world = World::with("usage = \"production\"\ngroup-numbers = { first = 1, last = 2 }", "");
    for number in ["A1", "A2", "A3"] {
        world.send(Some("ACME"), "order", &order(number)).expect("sent");
    }
    let states = || {
        let all = world.entries(Kind::Transaction);
        all.iter().filter(|entry| entry.way == Way::Sent).map(|entry| entry.state).collect::<Vec<_>>()
    };
    world.receive(&answer(1, "AK1*PO*1~AK9*A*1*1*1~"));
    assert_eq!(states(), [State::Sent, State::Sent, State::Accepted]);
    // A later refusal is about the same group, and refuses what it holds.
    world.receive(&answer(2, "AK1*PO*1~AK9*R*1*1*0~"));
    assert_eq!(states(), [State::Sent, State::Sent, State::Refused]);
}

/// A 997 with the number of a group and another functional identifier accepted or refused the group.
#[test]
fn an_answer_to_something_else_with_the_same_number_changes_nothing() {
    let world = World::new();
    world.send(Some("ACME"), "order", &order("A1")).expect("sent");
    let sent = |kind| {
        let all = world.entries(kind);
        all.into_iter().find(|entry| entry.way == Way::Sent && entry.details.document != "997").expect("sent").state
    };
    let report = world.receive(&answer(1, "AK1*IN*1~AK9*R*1*1*0~"));
    assert_eq!((report.matched, report.findings[0].1.code.0), (0, "PTN-107"));
    let message = &report.findings[0].1.message;
    assert!(message.contains("group 1 of IN") && message.contains("sent as PO"), "{message}");
    let report = world.receive(&answer(2, "AK1*PO*1~AK2*810*0001~AK5*R*5~AK9*P*1*1*1~"));
    assert_eq!(report.matched, 1, "{report:?}");
    assert_eq!((sent(Kind::Transaction), sent(Kind::Group)), (State::Sent, State::PartlyAccepted));
}

#[test]
fn the_same_bytes_are_sent_again_and_new_numbers_replace_an_interchange() {
    let world = World::new();
    world.send(Some("ACME"), "order", &order("A1")).expect("sent");
    let sent = world.entries(Kind::Interchange).remove(0);
    let limits = quayline_partner::DeskLimits::default;
    world.at_desk(limits(), |desk| desk.resend(sent.id)).expect("sent again");
    let files = world.files("outbox/ACME");
    assert_eq!(files.len(), 2);
    assert_eq!(files[0].1, files[1].1);
    let report = world.at_desk(limits(), |desk| desk.reenvelope(sent.id)).expect("in a new envelope");
    assert_eq!((report.sent, report.interchanges), (1, 1));
    let files = world.files("outbox/ACME");
    assert!(
        files.iter().any(|(_, text)| text.contains("*000000002*0*P*") && text.contains("BEG*00*SA*A1*")),
        "{files:?}"
    );
    assert_eq!(world.entries(Kind::Interchange)[0].state, State::Replaced);
    let twice = world.at_desk(limits(), |desk| desk.reenvelope(sent.id));
    assert_eq!(twice.expect_err("replaced").0[0].code.0, "PTN-303");
}

/// Regression: transaction numbers began again in an interchange. In a new envelope, each document then had the fields of another.
#[test]
fn documents_keep_their_fields_in_a_new_envelope_if_numbers_begin_again() {
    let settings = "usage = \"both\"\nenvelope = \"delayed\"\ntransaction-numbers = { first = 1, last = 3 }";
    let world = World::with(settings, "");
    for orders in [["A1", "A2"], ["A3", "A4"]] {
        world.sent("order", &orders);
        world.release(&Release::All);
    }
    let sent = world.entries(Kind::Interchange).remove(1);
    let numbers =
        |entries: &[quayline_partner::Entry]| entries.iter().map(|one| one.number.clone()).collect::<Vec<_>>();
    assert_eq!(numbers(&world.entries(Kind::Transaction)), ["0001", "0002", "0003", "0001"]);
    let limits = quayline_partner::DeskLimits::default;
    world.at_desk(limits(), |desk| desk.reenvelope(sent.id)).expect("in a new envelope");
    let transactions = world.entries(Kind::Transaction);
    for (old, new, order) in [(2, 4, "A3"), (3, 5, "A4")] {
        let (old, new) = (&transactions[old], &transactions[new]);
        assert_eq!((old.details.replaced_by, new.details.about), (new.id.0, old.id.0));
        assert_eq!(new.details.fields, [("order".to_owned(), order.to_owned())]);
        let edi = &world.files("outbox/ACME")[2].1;
        assert!(edi.contains(&format!("ST*850*{}~BEG*00*SA*{order}*", new.number)), "{edi}");
    }
}

#[test]
fn what_goes_into_a_new_envelope_is_found_and_the_old_group_is_no_longer_overdue() {
    let world = World::with("usage = \"both\"\nexpect = \"997\"\nenvelope = \"delayed\"", "");
    world.send(Some("ACME"), "order", &(order("A1") + &order("A2"))).expect("they wait");
    world.release(&Release::All);
    let sent = world.entries(Kind::Interchange).remove(0);
    let limits = quayline_partner::DeskLimits::default;
    world.at_desk(limits(), |desk| desk.reenvelope(sent.id)).expect("in a new envelope");
    let transactions = world.entries(Kind::Transaction);
    let states: Vec<State> = transactions.iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::Replaced, State::Replaced, State::Sent, State::Sent]);
    for (old, new) in [(0, 2), (1, 3)] {
        let (old, new) = (&transactions[old], &transactions[new]);
        assert_eq!((old.details.replaced_by, new.details.about), (new.id.0, old.id.0));
        assert_eq!((&old.details.fields, &old.details.rule), (&new.details.fields, &new.details.rule));
    }
    let by_field = Filter { field: Some(("order".into(), "A2".into())), limit: 10, ..Filter::default() };
    assert_eq!(
        world.search(&by_field).iter().map(|entry| entry.state).collect::<Vec<_>>(),
        [State::Replaced, State::Sent]
    );
    let overdue = Filter {
        state: Some(State::Expecting),
        overdue_at_ms: Some(world.now_ms.get() + 2 * 86_400_000),
        limit: 10,
        ..Filter::default()
    };
    let overdue = world.search(&overdue);
    assert_eq!(overdue.iter().map(|entry| entry.number.as_str()).collect::<Vec<_>>(), ["2"], "the new group only");
}

#[test]
fn numbers_have_their_range_and_delimiters_their_setting() {
    let world = World::with(
        "usage = \"test\"\ninterchange-numbers = { first = 7, last = 8 }\ndelimiters = \"|>^~\"\nline-breaks = true\nfields = { \"interchange.acknowledgment_requested\" = \"1\" }",
        "",
    );
    for order_number in ["A1", "A2", "A3"] {
        world.send(Some("ACME"), "order", &order(order_number)).expect("sent");
    }
    let files = world.files("outbox/ACME");
    let numbers: Vec<&str> = files.iter().map(|(_, text)| &text[90..99]).collect();
    // By name: the first and the third, then the second.
    assert_eq!(numbers, ["000000007", "000000007", "000000008"]);
    assert!(
        files[0].1.contains("|1|T|>~\nGS|PO|US|ACME|") && files[0].1.contains("~\nBEG|00|SA|A1||20260401~\n"),
        "{files:?}"
    );
}

/// A spelling with `_` after the level passed the check and was not written.
#[test]
fn every_spelling_of_a_header_field_is_written() {
    for spelling in
        ["interchange.acknowledgment_requested", "interchange_acknowledgment-requested", "acknowledgment-requested"]
    {
        let fields = format!("usage = \"test\"\nfields = {{ \"{spelling}\" = \"1\", group_agency = \"T\" }}");
        let world = World::with(&fields, "");
        world.send(Some("ACME"), "order", &order("A1")).expect("sent");
        let (_, text) = world.files("outbox/ACME").remove(0);
        assert!(text.contains("*1*T*:~") && text.contains("*T*005010~"), "{spelling}: {text}");
    }
}

#[test]
fn documents_for_nobody_are_refused_and_kept() {
    let world = World::new();
    let unknown = world.send(Some("ACNE"), "order", &order("A1")).expect_err("no such partner");
    assert_eq!((unknown.0[0].code.0, unknown.0[0].hint.as_deref()), ("PTN-200", Some("did you mean `ACME`?")));
    assert_eq!(world.send(None, "invoice", "{}").expect_err("no rule").0[0].code.0, "PTN-105");
    // The map names no receiver.
    let report = world.send(None, "order", &order("A1")).expect("kept");
    assert_eq!((report.rejected, report.findings[0].1.code.0), (1, "PTN-200"));
    assert_eq!(world.entries(Kind::Transaction)[0].state, State::Rejected);
}

/// What the guide of the partner refuses is kept with its finding, and not sent.
#[test]
fn a_document_that_the_guide_refuses_is_not_sent() {
    let world = World::new();
    let report = world.send(Some("ACME"), "order", &order("A1").replace("SA", "QQ")).expect("kept");
    let found: Vec<String> = report.findings.iter().map(|(_, finding)| finding.to_string()).collect();
    assert!(report.rejected == 1 && found[0].contains("EDI-114") && found[0].contains("BEG02"), "{found:?}");
    assert!(world.files("outbox/ACME").is_empty());
    assert_eq!(world.entries(Kind::Transaction)[0].state, State::Rejected);
}

/// A document that names one partner is not sent to another, even by command.
#[test]
fn a_document_for_another_partner_is_not_sent() {
    let world = World::new();
    world.write(
        "partners/other.toml",
        "name = \"OTHER\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"OTHER\"\n[[rule]]\ndirection = \"send\"\ndocument = \"850\"\n",
    );
    let text = crate::world::orders(7, &["PO1"]).replace("*ZZ*US             *", "*01*OTHER          *");
    let send = |to: &str| {
        let mut source = std::io::Cursor::new(text.clone().into_bytes());
        let request = SendRequest { name: "out.x12", to: Some(to), from: None, document: "", again: Again::Yes };
        world.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut source))
    };
    let report = send("ACME").expect("it is kept");
    let codes: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.code.0).collect();
    assert_eq!(codes, ["PTN-206"], "{report:?}");
    assert!(world.files("outbox/ACME").is_empty() && world.files("outbox/OTHER").is_empty());
}

/// A map with another target than EDI could not be used in a rule to send.
#[test]
fn other_formats_are_delivered_without_an_envelope() {
    let rule = |deliver: &str| {
        format!(
            "[[rule]]\nname = \"list\"\ndirection = \"send\"\ndocument = \"list\"\nmap = [\"maps/list.qmap\", \"maps/out.qmap\"]\n{deliver}\n"
        )
    };
    let map = "map \"JSON to CSV\"\nsource \"../order.json\"\ntarget list \"../list.json\"\nnumber = number\n";
    let world = |deliver: &str| {
        let world = World::with("usage = \"both\"", &rule(deliver));
        world.write("maps/list.qmap", map);
        world.write("list.json", r#"{"type":"object","properties":{"number":{"type":"string"}}}"#);
        world
    };
    let good = world("deliver = { list = \"folder:lists\" }");
    good.book().check().expect("a good project");
    let report = good.sent("list", &["A1", "A2"]);
    assert_eq!(
        (report.sent, report.interchanges),
        (4, 2),
        "two documents as a list, and two as interchanges: {report:?}"
    );
    let files = good.files("lists");
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].0.starts_with("ACME-list-list-") && files[0].1.lines().count() == 2, "{files:?}");
    let entry = good.entries(Kind::Transaction).into_iter().find(|one| one.details.standard.is_empty());
    let entry = entry.expect("an entry");
    assert_eq!((entry.state, entry.details.rule.as_str(), entry.details.transactions), (State::Sent, "ACME/list", 2));
    let found = world("").book().check().expect_err("nowhere to go").to_string();
    assert!(found.contains("the output `list` is not EDI, and the rule does not say where it goes"), "{found}");
    let found =
        world("deliver = { list = \"folder:a\", out = \"folder:b\" }").book().check().expect_err("EDI").to_string();
    assert!(found.contains("the output `out` is EDI, and goes to the partner in an interchange"), "{found}");
}
