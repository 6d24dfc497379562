//! Acknowledgments that come late, twice, from another identity, or contradict each other.

use quayline_partner::{DeskLimits, Entry, Filter, Kind, State, Way};

use crate::world::{NOON_MS, World};

const EXPECTING: &str =
    "usage = \"production\"\nenvelope = \"delayed\"\nclose = { count = 2 }\nexpect = \"997\"\ndue = \"2h\"";

fn isa(sender: &str, number: u32) -> String {
    format!("ISA*00*          *00*          *01*{sender:15}*ZZ*US             *260401*1200*^*00501*{number:09}*0*P*:~")
}

fn group(number: u32, body: &str) -> String {
    let segments = body.matches('~').count() + 2;
    format!("GS*FA*ACME*US*20260401*1200*{number}*X*005010~ST*997*0001~{body}SE*{segments}*0001~GE*1*{number}~")
}

/// A 997 of an identity of ACME.
fn answer_of(sender: &str, number: u32, body: &str) -> String {
    format!("{}{}IEA*1*{number:09}~", isa(sender, number), group(number, body))
}

fn answer(number: u32, body: &str) -> String {
    answer_of("ACME", number, body)
}

fn sent(world: &World, kind: Kind) -> Vec<Entry> {
    let all = world.entries(kind).into_iter();
    all.filter(|one| one.way == Way::Sent && one.details.document != "acknowledgment").collect()
}

fn states(world: &World, kind: Kind) -> Vec<State> {
    sent(world, kind).iter().map(|one| one.state).collect()
}

/// The reports of TA1 segments were dropped at the next transaction of their interchange. Quayline itself writes TA1 before groups.
#[test]
fn a_ta1_beside_a_group_is_matched() {
    let world = World::with("usage = \"production\"\nexpect = \"ta1\"", "");
    world.sent("order", &["A1", "A2"]);
    let edi = format!(
        "{}TA1*000000001*260401*1200*A*000~TA1*000000002*260401*1200*R*020~{}IEA*1*000000001~",
        isa("ACME", 1),
        group(1, "AK1*PO*1~AK9*A*1*1*1~")
    );
    let report = world.receive(&edi);
    assert_eq!((report.delivered, report.matched), (1, 3), "{report:?}");
    assert_eq!(states(&world, Kind::Interchange), [State::Accepted, State::Refused]);
    assert_eq!(states(&world, Kind::Transaction), [State::Accepted, State::Refused]);
}

/// A TA1 was matched by its number alone. Numbers recur, so a TA1 also names the date and time of the interchange that it answers.
#[test]
fn a_ta1_answers_the_interchange_of_its_date_and_time() {
    let world = World::with("usage = \"production\"\nexpect = \"ta1\"", "");
    world.sent("order", &["A1"]);
    let ta1 = |number: u32, when: &str| format!("{}TA1*000000001*{when}*R*020~IEA*0*{number:09}~", isa("ACME", number));
    for (number, when) in [(1, "250401*1200"), (2, "260401*1159")] {
        let report = world.receive(&ta1(number, when));
        assert_eq!(report.matched, 0, "{report:?}");
        let text = format!("{:?}", report.findings);
        let sent = "interchange 000000001 was sent as 260401 1200";
        assert!(text.contains("PTN-107") && text.contains(sent), "{text}");
        assert_eq!(states(&world, Kind::Interchange), [State::Expecting]);
    }
    // The century and seconds of some partners name the same time.
    let report = world.receive(&ta1(3, "20260401*120000"));
    assert_eq!(report.matched, 1, "{report:?}");
    assert_eq!(states(&world, Kind::Interchange), [State::Refused]);
}

/// The version in AK1 was not compared with that of the group.
#[test]
fn an_answer_to_a_group_of_another_version_accepts_only_what_it_names() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let report = world.receive(&answer(1, "AK1*PO*1*004010~AK9*A*2*2*2~"));
    let text = format!("{:?}", report.findings);
    assert!(text.contains("PTN-112") && text.contains("it names version 004010"), "{text}");
    assert_eq!(states(&world, Kind::Transaction), [State::Sent; 2]);
    assert!(world.receive(&answer(2, "AK1*PO*1*005010~AK9*A*2*2*2~")).findings.is_empty());
}

/// A partner that answers from another of its identities answered what was "never sent".
#[test]
fn an_answer_may_come_from_another_identity() {
    let world = World::with(EXPECTING, "");
    world.edit("[settings]", "[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"ACMEACK\"\n[settings]");
    world.sent("order", &["A1", "A2"]);
    let report = world.receive(&answer_of("ACMEACK", 1, "AK1*PO*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*A~AK9*A*2*2*2~"));
    assert_eq!((report.matched, report.findings.len()), (3, 0), "{report:?}");
    assert_eq!(states(&world, Kind::Transaction), [State::Accepted; 2]);
}

/// A 997 of a sender that was unknown was `unrouted` for ever: a document that is processed again was never matched.
#[test]
fn an_answer_is_matched_when_it_is_processed_again() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let report = world.receive(&answer_of("ACMEACK", 1, "AK1*PO*1~AK9*R*2*2*0~"));
    assert_eq!((report.unrouted, report.matched), (1, 0), "{report:?}");
    world.edit("[settings]", "[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"ACMEACK\"\n[settings]");
    let filter = Filter { kind: Some(Kind::Transaction), state: Some(State::Unrouted), limit: 1, ..Filter::default() };
    let id = world.search(&filter)[0].id;
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, None)).expect("done");
    assert_eq!(done.state, State::Delivered, "{done:?}");
    assert_eq!(states(&world, Kind::Transaction), [State::Refused; 2]);
}

#[test]
fn the_worst_of_several_answers_holds() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let accepted = "AK1*PO*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*A~AK9*A*2*2*2~";
    assert!(world.receive(&answer(1, accepted)).findings.is_empty());
    // The same answer again is a line of the history.
    assert!(world.receive(&answer(2, accepted)).findings.is_empty());
    let first = sent(&world, Kind::Transaction).remove(0);
    assert!(first.details.history.iter().any(|line| line.what.starts_with("answered again")), "{first:?}");
    // The group is refused later, and so is what it holds.
    let report = world.receive(&answer(3, "AK1*PO*1~AK9*R*2*2*0*1~"));
    assert!(report.matched == 1, "{report:?}");
    let codes = |number: usize| {
        let entry = world.entries(Kind::Transaction).into_iter().filter(|one| one.way == Way::Received).nth(number);
        let findings = entry.expect("an acknowledgment").details.findings;
        findings.iter().map(|finding| finding.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(codes(2), ["PTN-112", "PTN-111"]);
    assert_eq!(states(&world, Kind::Group), [State::Refused]);
    assert_eq!(states(&world, Kind::Transaction), [State::Refused; 2]);
    // A later acceptance changes nothing.
    world.receive(&answer(4, accepted));
    assert_eq!(codes(3), ["PTN-112"; 3]);
    assert_eq!(states(&world, Kind::Transaction), [State::Refused; 2]);
}

/// CONTRL answers an interchange as a whole: what it refuses later leaves none of its documents accepted.
#[test]
fn a_late_refusal_by_contrl_refuses_what_was_accepted() {
    let world = World::with("usage = \"production\"\nexpect = \"contrl\"", "");
    let orders = "UNB+UNOC:3+4012345500004:14+5412345000013:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNZ+1+77'";
    let sent_report = world.send(Some("ACME"), "", orders).expect("sent");
    assert_eq!(sent_report.sent, 1, "{sent_report:?}");
    let number = sent(&world, Kind::Interchange)[0].number.clone();
    let answer = |own: u32, uci: &str| {
        format!(
            "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+{own}'UNH+1+CONTRL:D:3:UN'UCI+{number}+4012345500004:14+5412345000013:14+{uci}'UNT+3+1'UNZ+1+{own}'"
        )
    };
    assert_eq!(world.receive(&answer(1, "7")).matched, 1);
    assert_eq!(states(&world, Kind::Interchange), [State::Accepted]);
    assert_eq!(states(&world, Kind::Transaction), [State::Accepted]);
    assert_eq!(world.receive(&answer(2, "4+18")).matched, 1);
    assert_eq!(states(&world, Kind::Interchange), [State::Refused]);
    assert_eq!(states(&world, Kind::Transaction), [State::Refused]);
}

/// The receipt of an interchange (action 8 of UCI) accepted all its messages, although it says nothing about them.
#[test]
fn a_receipt_by_contrl_leaves_messages_unanswered() {
    let orders = "UNB+UNOC:3+4012345500004:14+5412345000013:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNH+2+ORDERS:D:96A:UN'BGM+220+A2+9'UNS+S'UNT+4+2'UNZ+2+77'";
    let (accepted, refused) = (State::Accepted, State::Refused);
    for (uci, ucm, interchange, messages) in [
        ("7", "", accepted, [accepted; 2]),
        ("7", "UCM+1+ORDERS:D:96A:UN+4+18'", accepted, [refused, accepted]),
        ("4+18", "", refused, [refused; 2]),
    ] {
        let world = World::with(&EXPECTING.replace("997", "contrl"), "");
        world.send(Some("ACME"), "", orders).expect("sent");
        let number = sent(&world, Kind::Interchange)[0].number.clone();
        let answer = |own: u32, uci: &str, ucm: &str| {
            let segments = 3 + ucm.matches('\'').count();
            world.receive(&format!(
                "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+{own}'UNH+1+CONTRL:D:3:UN'UCI+{number}+4012345500004:14+5412345000013:14+{uci}'{ucm}UNT+{segments}+1'UNZ+1+{own}'"
            ))
        };
        let report = answer(1, "8", "");
        assert_eq!((report.matched, report.findings.len()), (1, 0), "{report:?}");
        assert_eq!(states(&world, Kind::Interchange), [accepted]);
        assert_eq!(states(&world, Kind::Transaction), [State::Sent; 2]);
        // The answer about the content is no contradiction, nor is a receipt that is late.
        for (own, uci, ucm) in [(2, uci, ucm), (3, "8", "")] {
            let report = answer(own, uci, ucm);
            let text = format!("{:?}", report.findings);
            assert!(report.matched > 0 && !text.contains("PTN-112"), "{uci}: {text}");
            assert_eq!(states(&world, Kind::Interchange), [interchange], "{uci}");
            assert_eq!(states(&world, Kind::Transaction), messages, "{uci}");
        }
    }
}

/// A 997 without its end (AK9), or with unknown codes, counted as an acceptance with errors.
#[test]
fn an_answer_without_its_end_decides_nothing() {
    // Otherwise the guide of the 997 rejects it.
    let world = World::with(&format!("{EXPECTING}\nvalidate = \"envelope\""), "");
    world.sent("order", &["A1", "A2"]);
    let report = world.receive(&answer(1, "AK1*PO*1~AK2*850*0001~AK5*Z~"));
    assert_eq!(report.matched, 2, "{report:?}");
    assert_eq!(states(&world, Kind::Transaction), [State::Sent; 2]);
    assert_eq!(states(&world, Kind::Group), [State::Expecting]);
    let entry = world.entries(Kind::Transaction).pop().expect("the 997");
    let found: Vec<&str> = entry.details.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(found, ["PTN-112"; 2], "{entry:?}");
    // Counts that contradict each other are a warning, and what the counts leave open stays open.
    world.receive(&answer(2, "AK1*PO*1~AK9*A*2*2*1~AK5*A~"));
    assert_eq!(states(&world, Kind::Group), [State::Accepted]);
    assert_eq!(states(&world, Kind::Transaction), [State::Sent; 2]);
    let entry = world.entries(Kind::Transaction).pop().expect("the 997");
    let found: Vec<&str> = entry.details.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(found.iter().any(|text| text.contains("accepted, but not all of its transaction sets")), "{found:?}");
    assert!(found.iter().any(|text| text.starts_with("1 segments of the acknowledgment belong to no")), "{found:?}");
}

/// The partner received one transaction of two and accepted its group: the other one was accepted, too.
#[test]
fn a_group_that_arrived_in_part_accepts_only_what_it_names() {
    for (counts, words) in [
        ("A*1*1*1", "it counts 1 transaction sets, and the group has 2"),
        ("A*5*5*5", "the number of transaction sets received differs from those reported"),
        ("A*2*2*2", "the number of transaction sets received differs from those reported"),
    ] {
        let world = World::with(EXPECTING, "");
        world.sent("order", &["A1", "A2"]);
        let report = world.receive(&answer(1, &format!("AK1*PO*1~AK2*850*0001~AK5*A~AK9*{counts}~")));
        assert_eq!(states(&world, Kind::Transaction), [State::Accepted, State::Sent], "{counts}");
        let told: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.message.as_str()).collect();
        assert!(told.len() == 1 && told[0].contains(words), "{counts}: {told:?}");
    }
    // Without transactions of its own, an answer is about all of them.
    for (counts, expected) in [("A*2*2*2", State::Accepted), ("A*1*1*1", State::Sent), ("A*5*5*5", State::Sent)] {
        let world = World::with(EXPECTING, "");
        world.sent("order", &["A1", "A2"]);
        world.receive(&answer(1, &format!("AK1*PO*1~AK9*{counts}~")));
        assert_eq!(states(&world, Kind::Transaction), [expected; 2], "{counts}");
    }
}

/// A late answer turned `replaced` into `accepted`, and a replaced interchange could be sent again.
#[test]
fn what_is_replaced_stays_replaced() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let old = sent(&world, Kind::Interchange).remove(0).id;
    world.at_desk(DeskLimits::default(), |desk| desk.reenvelope(old)).expect("in a new envelope");
    world.receive(&answer(1, "AK1*PO*1~AK2*850*0001~AK5*A~AK9*P*2*2*1~"));
    let all = states(&world, Kind::Transaction);
    assert_eq!(all, [State::Replaced, State::Replaced, State::Sent, State::Sent]);
    assert_eq!(states(&world, Kind::Group), [State::Replaced, State::Expecting]);
    let entry = world.entries(Kind::Transaction).pop().expect("the 997");
    assert!(entry.details.findings.iter().all(|finding| finding.code == "PTN-112"), "{entry:?}");
    let again = world.at_desk(DeskLimits::default(), |desk| desk.resend(old)).expect_err("replaced");
    assert_eq!(again.0[0].code.0, "PTN-303");
}

/// A document that was sent again was overdue at once, or remained rejected: it must await a new answer.
#[test]
fn what_is_sent_again_awaits_its_answer() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let id = sent(&world, Kind::Interchange).remove(0).id;
    world.receive(&answer(1, "AK1*PO*1~AK9*R*2*2*0~"));
    world.now_ms.set(NOON_MS + 5 * 3_600_000);
    world.at_desk(DeskLimits::default(), |desk| desk.resend(id)).expect("sent again");
    let group = sent(&world, Kind::Group).remove(0);
    assert_eq!((group.state, group.due_ms), (State::Expecting, NOON_MS + 7 * 3_600_000));
    world.receive(&answer(2, "AK1*PO*1~AK9*A*2*2*2~"));
    assert_eq!(states(&world, Kind::Transaction), [State::Accepted; 2]);
}

/// A 997 for a group of another kind changed the documents of the group with its number, beside a finding that nothing was changed.
#[test]
fn an_answer_to_a_group_of_another_kind_changes_no_document() {
    let world = World::with(EXPECTING, "");
    world.sent("order", &["A1", "A2"]);
    let report = world.receive(&answer(1, "AK1*PR*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*R*5~AK9*P*2*2*1~"));
    assert_eq!(report.matched, 0, "{report:?}");
    assert_eq!(states(&world, Kind::Transaction), [State::Sent; 2]);
    assert_eq!(states(&world, Kind::Group), [State::Expecting]);
    let entry = world.entries(Kind::Transaction).pop().expect("the 997");
    let found: Vec<&str> = entry.details.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(found, ["PTN-107"; 3], "{entry:?}");
    assert!(entry.details.findings[0].message.contains("850 in a group of PO, not of PR"), "{entry:?}");
    // Two groups of one acknowledgment may have one number.
    let both = "AK1*PR*1~AK2*850*0001~AK5*R*5~AK9*R*1*1*0~";
    let edi = format!(
        "{}{}{}IEA*2*000000002~",
        isa("ACME", 2),
        group(2, both),
        group(3, "AK1*PO*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*A~AK9*A*2*2*2~")
    );
    assert_eq!(world.receive(&edi).matched, 3);
    assert_eq!(states(&world, Kind::Transaction), [State::Accepted; 2]);
}

/// A CONTRL was matched by the number in its UCI alone, which also names the parties of the interchange.
#[test]
fn a_contrl_answers_the_interchange_of_its_parties() {
    let world =
        World::with("usage = \"production\"\nenvelope = \"delayed\"\nclose = { count = 2 }\nexpect = \"contrl\"", "");
    let orders = "UNB+UNOC:3+4012345500004:14+5412345000013:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNH+2+ORDERS:D:96A:UN'BGM+220+A2+9'UNS+S'UNT+4+2'UNZ+2+77'";
    let done = world.send(Some("ACME"), "", orders).expect("sent");
    assert_eq!((done.sent + done.waiting, sent(&world, Kind::Interchange).len()), (2, 1), "{done:?}");
    let numbers: Vec<String> = sent(&world, Kind::Transaction).into_iter().map(|one| one.number).collect();
    let around = sent(&world, Kind::Interchange);
    let number = &around[0].number;
    let answer = |own: u32, parties: &str, rest: &str| {
        let segments = rest.matches('\'').count() + 2;
        format!(
            "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+{own}'UNH+1+CONTRL:D:3:UN'UCI+{number}+{parties}{rest}UNT+{segments}+1'UNZ+1+{own}'"
        )
    };
    for (own, parties) in [(1, "ABC:14+DEF:14"), (2, "5412345000013:14+4012345500004:14")] {
        let report = world.receive(&answer(own, parties, "+4+28+UNZ'"));
        assert_eq!(report.matched, 0, "{report:?}");
        assert!(
            report.findings.iter().any(|(_, finding)| finding.message.contains("no interchange was sent between")),
            "{report:?}"
        );
        assert!(states(&world, Kind::Transaction).iter().all(|state| *state != State::Refused));
    }
    // What is refused by itself is not accepted first.
    let first = &numbers[0];
    let partly = format!("+7'UCM+{first}+ORDERS:D:96A:UN+4+29+UNT+2'");
    let report = world.receive(&answer(3, "4012345500004+5412345000013", &partly));
    assert_eq!(report.matched, 2, "{report:?}");
    assert!(!report.findings.iter().any(|(_, finding)| finding.code.0 == "PTN-112"), "{report:?}");
    let mut found: Vec<State> = states(&world, Kind::Transaction);
    found.sort_by_key(|state| state.name());
    assert_eq!(found, [State::Accepted, State::Refused]);
}
