//! Application advices: 824 and APERAK, sent and received.

use quayline_partner::{AdviceOutcome, DeskLimits, Entry, Kind, State, Way};

use crate::crash::at_every_commit_in;
use crate::world::{World, interchange, orders};

/// A map that takes no orders of the kind RO.
const PICKY: &str = r#"map "order to JSON"
source "../tiny.guide"
target order "../order.json"
number = BEG.BEG03
kind = BEG.BEG02
if BEG.BEG02 <> "SA" {
  error "this kind of order is not taken, and the text of the reason is longer than the sixty characters of an element"
}
"#;

fn picky(settings: &str) -> World {
    let world = World::with(settings, "");
    world.write("maps/in.qmap", PICKY);
    world
}

fn documents(world: &World, way: Way) -> Vec<Entry> {
    world.entries(Kind::Transaction).into_iter().filter(|entry| entry.way == way).collect()
}

#[test]
fn a_document_that_a_map_rejects_is_advised_of() {
    let world = picky("advise = [\"824\"]\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"");
    let report = world.receive(&interchange(7, "P", &[("PO1", "SA"), ("PO2", "RO")]));
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    assert!(world.files("acks")[0].1.contains("AK9*A*2*2*2~"), "the syntax is good");
    let files = world.files("out");
    assert_eq!(files.len(), 1, "{files:?}");
    let text = &files[0].1;
    assert!(text.starts_with("ISA*00*          *00*          *ZZ*US             *01*ACME           *"), "{text}");
    let rejected = &documents(&world, Way::Received)[1];
    let expected =
        format!("ST*824*0001~BGN*11*{}*20260401*1200~OTI*TR*TN*PO2*****7*0002*850*005010~TED*024*", rejected.id);
    assert!(text.contains("GS*AG*US*ACME*") && text.contains(&expected), "{text}");
    assert!(text.contains("~NTE**") && text.contains("characters of an element~SE*6*0001~"), "{text}");
    let advice = &documents(&world, Way::Sent)[0];
    assert_eq!((advice.details.document.as_str(), advice.details.about), ("824", rejected.id.0));
    assert_eq!((rejected.state, rejected.details.answered_by), (State::Rejected, advice.id.0));
    assert!(
        rejected.details.history.iter().any(|line| line.what.starts_with("the partner was advised")),
        "{rejected:?}"
    );
    let story = world.at_desk(DeskLimits::default(), |desk| desk.story(rejected.id)).expect("a story");
    assert_eq!(story.answer.map(|answer| answer.id), Some(advice.id));
}

#[test]
fn syntax_errors_and_our_own_mistakes_are_not_advised_of() {
    let world = picky("advise = [\"824\"]\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"");
    world.receive(&orders(7, &["PO1"]).replace("PO1*1*1*EA", "PO1*1*X*EA"));
    world.write("maps/in.qmap", "not a map");
    assert_eq!(world.receive(&orders(8, &["PO1"])).rejected, 1);
    assert_eq!(world.files("out"), []);
    assert_eq!(documents(&world, Way::Sent).len(), 0);
}

#[test]
fn a_command_advises_of_any_received_document() {
    let world = World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"", "");
    world.receive(&orders(7, &["PO1"]));
    let id = documents(&world, Way::Received)[0].id;
    let advise =
        |outcome, texts: &[String]| world.at_desk(DeskLimits::default(), |desk| desk.advise(id, outcome, texts));
    let texts = ["The ship  date is past; #1_a".to_owned(), "call us".to_owned()];
    let wrong = advise(AdviceOutcome::Rejected, &["The ship date * is past".to_owned()]).expect_err("a delimiter");
    assert!(wrong.0[0].code.0 == "PTN-115" && wrong.0[0].message.contains("\"*\""), "{wrong}");
    for (text, part, hint) in [
        ("The ship date * is past", "contains \"*\"", "choose other `delimiters`"),
        ("a\u{1}b\nc*", "contains U+0001, U+000A, \"*\"", "remove U+0001, U+000A from the text"),
        ("caf\u{e9}", "contains \"\u{e9}\"", "remove \"\u{e9}\" from the text"),
        ("  lead trail  ", "begins or ends with white space", "remove the white space"),
        ("end\n", "begins or ends with white space", "remove the white space"),
        (&format!("{}   {}", "y".repeat(60), "z".repeat(60)), "has several blanks in a row where", "write one blank"),
        (&format!("{} {}  x", "y".repeat(60), "z".repeat(80)), "has several blanks in a row where", "write one blank"),
    ] {
        let wrong = advise(AdviceOutcome::Rejected, &[text.to_owned()]).expect_err(text);
        let finding = &wrong.0[0];
        assert!(finding.code.0 == "PTN-115" && finding.message.contains(part), "{wrong}");
        assert!(finding.hint.as_deref().is_some_and(|found| found.contains(hint)), "{wrong}");
    }
    assert_eq!(world.files("out"), [], "nothing is sent");
    let first = advise(AdviceOutcome::Rejected, &texts).expect("advised");
    assert!(
        world.files("out")[0]
            .1
            .contains("OTI*TR*TN*PO1*****7*0001*850*005010~TED*024*The ship  date is past; #1_a~TED*024*call us~SE*6*")
    );
    let second = advise(AdviceOutcome::Accepted, &[]).expect("advised");
    assert!(world.files("out")[1].1.contains("OTI*TA*TN*PO1*****7*0001*850*005010~SE*4*"));
    assert_eq!(documents(&world, Way::Received)[0].details.answered_by, second.0);
    let refused = world.at_desk(DeskLimits::default(), |desk| desk.advise(first, AdviceOutcome::Rejected, &[]));
    assert_eq!(refused.expect_err("it was sent").0[0].code.0, "PTN-303");
    let received = world.entries(Kind::Interchange)[0].id;
    assert!(world.at_desk(DeskLimits::default(), |desk| desk.advise(received, AdviceOutcome::Rejected, &[])).is_err());
}

#[test]
fn a_partner_that_cannot_be_advised_is_a_finding_of_the_document() {
    let settings =
        "advise = [\"824\"]\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"\ndelimiters = \"-:^~\"";
    let world = picky(settings);
    // GS03 of the advice contains the element separator.
    world.edit("id = \"ACME\"", "id = \"ACME\"\ngroup = \"AC-ME\"");
    let report = world.receive(&interchange(7, "P", &[("PO1", "SA"), ("PO2", "RO")]));
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    assert_eq!(world.files("out"), []);
    assert_eq!(documents(&world, Way::Sent), [], "an advice that cannot be written leaves no entry");
    let rejected = &documents(&world, Way::Received)[1];
    assert!(codes(rejected).contains(&"PTN-114"), "{rejected:?}");
    assert_eq!(rejected.details.answered_by, 0);
}

fn codes(entry: &Entry) -> Vec<&str> {
    entry.details.findings.iter().map(|finding| finding.code.as_str()).collect()
}

/// Regression: characters of a reason disappeared without a finding.
#[test]
fn characters_that_an_automatic_advice_cannot_contain_are_counted() {
    // The element separator is in the code of every reason.
    let settings =
        "advise = [\"824\"]\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"\ndelimiters = \"-:^~\"";
    let world = picky(settings);
    world.receive(&interchange(7, "P", &[("PO1", "SA"), ("PO2", "RO")]));
    let sent = &world.files("out")[0].1;
    assert!(sent.contains("~TED-024-MAP?"), "{sent}");
    let rejected = &documents(&world, Way::Received)[1];
    let finding = rejected.details.findings.iter().find(|finding| finding.code == "PTN-115").expect("the warning");
    assert!(finding.message.contains("1 texts or references with characters"), "{finding:?}");
    assert_eq!(finding.severity, "warning");
}

/// Regression: an APERAK had only capital letters, digits and some signs, and characters and texts disappeared.
#[test]
fn the_text_of_an_aperak_is_exact_or_refused() {
    let order = "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+1'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNZ+1+1'";
    let long = "x".repeat(351);
    for (version, text, expected) in [
        (
            "UNOC:3",
            "it's + a ? test: \u{fc}, call-centre",
            Ok("ERC+OTHER'FTX+AAO+++it?'s ?+ a ?? test?: \u{fc}, call-centre'"),
        ),
        ("UNOW:4", "\u{65e5}\u{672c}", Ok("FTX+AAO+++\u{65e5}\u{672c}'")),
        ("UNOA:3", "it's late", Ok("FTX+AAO+++IT?'S LATE'")),
        ("UNOC:3", "\u{fc}n\u{ef} \u{65e5}\u{672c}", Err("\"\u{65e5}\", \"\u{672c}\"")),
        ("UNOA:3", "a#b \u{fc}", Err("\"#\", \"\u{fc}\"")),
        ("UNOC:3", "a\tb", Err("U+0009")),
        ("UNOC:3", "", Err("text 1 of the advice is empty")),
        ("UNOC:3", &long, Err("longer than 5 lines of 70 characters")),
    ] {
        let settings = format!(
            "usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge = []\nvalidate = \"envelope\"\nversion = \"{version}\""
        );
        let world = World::with(&settings, "");
        assert!(world.receive(order).findings.len() < 3);
        let id = documents(&world, Way::Received)[0].id;
        let done =
            world.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &[text.to_owned()]));
        let folder = world.path("out");
        match expected {
            Ok(body) => {
                done.expect("advised");
                let file = std::fs::read_dir(folder).expect("a folder").next().expect("a file").expect("an entry");
                let bytes = std::fs::read(file.path()).expect("bytes");
                let is_utf8 = version == "UNOW:4";
                let sent: String = if is_utf8 {
                    String::from_utf8(bytes).expect("UTF-8")
                } else {
                    bytes.into_iter().map(char::from).collect()
                };
                assert!(sent.contains(body), "{version} {text}: {sent}");
            }
            Err(message) => {
                let found = done.expect_err("refused");
                assert_eq!(found.0[0].code.0, "PTN-115", "{found}");
                assert!(found.0[0].message.contains(message), "{version} {text}: {found}");
                assert!(!folder.exists(), "nothing is sent");
            }
        }
    }
}

#[test]
fn an_advice_with_too_many_texts_is_refused() {
    let world = World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"", "");
    world.receive(&orders(7, &["PO1"]));
    let id = documents(&world, Way::Received)[0].id;
    let advise = |count: usize| {
        let texts: Vec<String> = (1..=count).map(|number| format!("reason {number}")).collect();
        world.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &texts))
    };
    let refused = advise(21).expect_err("too many");
    assert!(refused.0[0].message.contains("at most 20 texts, and there are 21"), "{refused}");
    assert_eq!(world.files("out"), []);
    advise(20).expect("advised");
    assert!(world.files("out")[0].1.contains("TED*024*reason 20~"));
}

#[test]
fn an_advice_names_a_document_as_its_sender_does() {
    let world = World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge-to = \"folder:acks\"", "");
    world.receive(&orders(7, &["po_1#a"]));
    let id = documents(&world, Way::Received)[0].id;
    let refused = ["\u{4f60}".to_owned()];
    let refused = world.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &refused));
    assert!(refused.expect_err("a character").0[0].message.contains("\"\u{4f60}\""));
    let text = ["a reason".to_owned()];
    world.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &text)).expect("advised");
    let sent = &world.files("out")[0].1;
    assert!(sent.contains("OTI*TR*TN*po_1#a*****7*"), "{sent}");
    assert!(sent.contains("TED*024*a reason~"), "{sent}");
}

fn advice(number: u32, body: &str) -> String {
    let segments = body.matches('~').count() + 3;
    format!(
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{number:09}*0*P*:~\
         GS*AG*ACME*US*20260401*1200*{number}*X*005010~ST*824*0001~BGN*11*1*20260401~{body}SE*{segments}*0001~GE*1*{number}~IEA*1*{number:09}~"
    )
}

#[test]
fn an_824_decides_about_what_a_997_accepted() {
    let world = World::with("envelope = \"delayed\"\nclose = { count = 4 }\nexpect = \"997\"", "");
    world.sent("order", &["A1", "A2", "A3", "A4"]);
    let states = || documents(&world, Way::Sent).iter().map(|entry| entry.state).collect::<Vec<_>>();
    let accepted = "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*000000001*0*P*:~\
                    GS*FA*ACME*US*20260401*1200*1*X*005010~ST*997*0001~AK1*PO*1~AK9*A*4*4*4~SE*4*0001~GE*1*1~IEA*1*000000001~";
    world.receive(accepted);
    assert_eq!(states(), [State::Accepted; 4]);
    let body = "OTI*TR*TN*A1*****1*0001*850*005010~TED*024*wrong price*PO1*3*4~NTE**call us~OTI*IA*IX*1*****1*0002*850~OTI*IR*IX*2*****1*0002*850~\
                TED*024*no such item~OTI*TA*TN*A3*****1*0003*850~OTI*TE*TN*A4*****1*0004*850~TED*007~";
    let report = world.receive(&advice(2, body));
    assert_eq!((report.matched, report.delivered, report.unrouted), (4, 1, 0), "{report:?}");
    assert_eq!(states(), [State::Refused, State::PartlyAccepted, State::Accepted, State::AcceptedWithErrors]);
    let first = &documents(&world, Way::Sent)[0];
    let why = "refused by the partner's application in entry";
    let line = first.details.history.iter().find(|line| line.what.contains(why)).expect("the reason");
    assert!(line.what.ends_with("wrong price (at PO1 3 4); call us"), "{line:?}");
    let of_advice = documents(&world, Way::Received).pop().expect("the 824");
    let codes: Vec<&str> = of_advice.details.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["PTN-111"], "a refusal after a 997 is not a contradiction: {of_advice:?}");
    assert_eq!(first.details.answered_by, of_advice.id.0);
    // What was never sent, and what is not named, is a finding and changes nothing.
    let report = world.receive(&advice(3, "OTI*TR*TN*B1*****9*0001*850~OTI*TR*TN*B2~OTI*TR*TN*A3*****1*0003*810~"));
    assert_eq!(report.matched, 0);
    assert_eq!(report.findings.iter().filter(|(_, finding)| finding.code.0 == "PTN-107").count(), 3, "{report:?}");
    // A whole group.
    world.receive(&advice(4, "OTI*GR*TN*1*****1~TED*024*all of it~"));
    assert_eq!(states(), [State::Refused; 4]);
}

/// Regression: an 824 that named nothing had no finding, and one about a group ended the wait for its 997.
#[test]
fn an_824_answers_documents_and_not_their_syntax() {
    let world = World::with("expect = \"997\"", "");
    world.sent("order", &["A1"]);
    let group = || world.entries(Kind::Group).into_iter().find(|entry| entry.way == Way::Sent).expect("a group").state;
    assert_eq!(group(), State::Expecting);
    let report = world.receive(&advice(2, ""));
    assert_eq!(report.matched, 0);
    assert!(report.findings.iter().any(|(_, finding)| finding.code.0 == "PTN-107"), "{report:?}");
    let report = world.receive(&advice(3, "OTI*TA*TN*X*****1~"));
    assert_eq!((report.matched, group()), (1, State::Expecting), "{report:?}");
    assert_eq!(documents(&world, Way::Sent)[0].state, State::Accepted);
    let accepted = "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*000000004*0*P*:~\
                    GS*FA*ACME*US*20260401*1200*4*X*005010~ST*997*0001~AK1*PO*1~AK9*A*1*1*1~SE*4*0001~GE*1*4~IEA*1*000000004~";
    world.receive(accepted);
    assert_eq!(group(), State::Accepted);
    world.receive(&advice(5, "OTI*GR*TN*X*****1~"));
    assert_eq!(group(), State::Refused);
}

#[test]
fn an_aperak_is_sent_and_understood() {
    let text = "UNB+UNOC:3+4012345500004:14+5412345000013:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNZ+1+77'";
    let world =
        World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge = []\nvalidate = \"envelope\"", "");
    // One side sends an order.
    world.send(Some("ACME"), "", text).expect("sent");
    let sent = documents(&world, Way::Sent).remove(0);
    // The other receives one, and says that it cannot take it.
    let rule = "[[rule]]\nname = \"edifact\"\ndirection = \"receive\"\ndocument = \"ORDERS\"\ndeliver = \"folder:orders\"\nfields = { order = \"BGM02\" }\n";
    let other =
        World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge = []\nvalidate = \"envelope\"", rule);
    let order = text
        .replace("+4012345500004:14+5412345000013:14+", "+5412345000013:14+4012345500004:14+")
        .replace("+77'", "+1'");
    assert!(other.receive(&order).is_good());
    let id = documents(&other, Way::Received)[0].id;
    let reason = ["MAP-999 the price is wrong".to_owned()];
    other.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &reason)).expect("advised");
    let advice = &other.files("out")[0].1;
    let body = format!(
        "UNH+1+APERAK:D:96A:UN'BGM+313+{id}+27'DTM+137:202604011200:203'RFF+ACE:1'RFF+ACW:1'RFF+AGO:A1'ERC+MAP-999'FTX+AAO+++the price is wrong'UNT+9+1'"
    );
    assert!(advice.contains(&body), "{advice}");
    other.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Accepted, &[])).expect("advised");
    assert!(other.files("out")[1].1.contains(&format!("BGM+312+{id}+29'")), "{:?}", other.files("out"));
    // It goes back as if the partner had sent it.
    assert_eq!(sent.details.interchange, "1");
    let back = advice.replace("+4012345500004:14+5412345000013:14+", "+5412345000013:14+4012345500004:14+");
    let report = world.receive(&back);
    assert_eq!((report.matched, report.delivered), (1, 1), "{report:?}");
    let sent = documents(&world, Way::Sent).remove(0);
    assert_eq!(sent.state, State::Refused);
    assert!(
        sent.details.history.iter().any(|line| line.what.contains("error MAP-999; the price is wrong")),
        "{sent:?}"
    );
}

#[test]
fn function_response_and_name_of_an_aperak_decide() {
    for (bgm, erc, state) in [
        ("313+1+27", "ERC+1'", State::Refused),
        ("313+1+12", "", State::Refused),
        ("313+1+29", "", State::Accepted),
        ("313+1+29", "ERC+1'", State::AcceptedWithErrors),
        ("313+1+45", "", State::AcceptedWithErrors),
        ("313+1+29+RE", "", State::Accepted),
        ("312+1+45+AP", "", State::AcceptedWithErrors),
        ("312+1+9+RE", "", State::Refused),
        ("313+1++RE", "", State::Refused),
        ("313+1++AP", "ERC+1'", State::AcceptedWithErrors),
        ("313+1++CA", "", State::AcceptedWithErrors),
        ("313+1", "", State::Refused),
        ("312+1", "", State::Accepted),
        ("312+1+9", "ERC+1'", State::AcceptedWithErrors),
        ("+1", "ERC+1'", State::Refused),
        ("+1", "", State::Accepted),
    ] {
        let world =
            World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge = []\nvalidate = \"envelope\"", "");
        let order = "UNB+UNOC:3+4012345500004:14+5412345000013:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNS+S'UNT+4+1'UNZ+1+77'";
        world.send(Some("ACME"), "", order).expect("sent");
        let count = 5 + usize::from(!erc.is_empty());
        let text = format!(
            "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+9'UNH+1+APERAK:D:96A:UN'BGM+{bgm}'\
             RFF+ACE:1'RFF+ACW:1'{erc}UNT+{count}+1'UNZ+1+9'"
        );
        let report = world.receive(&text);
        assert_eq!(report.matched, 1, "{bgm} {report:?}");
        assert_eq!(documents(&world, Way::Sent)[0].state, state, "{bgm} {erc}");
    }
}

/// Reasons after the last document that Quayline reads belong to no document.
#[test]
fn an_advice_about_too_many_documents_is_read_to_a_limit() {
    let world = World::with("usage = \"both\"", "");
    let oti = |number: usize| format!("OTI*TR*TN*X*****9*{number:05}*850~TED*024*reason {number}~");
    // Several statements about one document count once.
    let body: String = (0..10_000).map(oti).chain((0..10).map(|_| oti(7))).collect();
    let report = world.receive(&advice(2, &body));
    let found = |report: &quayline_partner::ReceiveReport| {
        let entry = documents(&world, Way::Received).pop().expect("the 824");
        assert_eq!(report.delivered + report.rejected, 1);
        (entry.details.findings.iter().any(|one| one.message.contains("more than 10,000")), entry.details.findings_more)
    };
    assert!(!found(&report).0, "{report:?}");
    let report = world.receive(&advice(3, &(body + &oti(10_000))));
    assert!(found(&report).0, "{report:?}");
}

#[test]
fn an_aperak_names_references_as_their_sender_does() {
    let rule = "[[rule]]\nname = \"edifact\"\ndirection = \"receive\"\ndocument = \"ORDERS\"\ndeliver = \"folder:orders\"\nfields = { order = \"BGM02\" }\n";
    let world =
        World::with("usage = \"both\"\nsend-to = \"folder:out\"\nacknowledge = []\nvalidate = \"envelope\"", rule);
    let order = "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+ref_1a'UNH+m?+1+ORDERS:D:96A:UN'BGM+220+po#7+9'UNS+S'UNT+4+m?+1'UNZ+1+ref_1a'";
    assert!(world.receive(order).is_good());
    let id = documents(&world, Way::Received)[0].id;
    world.at_desk(DeskLimits::default(), |desk| desk.advise(id, AdviceOutcome::Rejected, &[])).expect("advised");
    let sent = &world.files("out")[0].1;
    assert!(sent.contains("RFF+ACE:ref_1a'RFF+ACW:m?+1'RFF+AGO:po#7'"), "{sent}");
}

/// The advice changes the state of the document that it names, although Quayline rejects the advice itself.
#[test]
fn an_advice_of_which_no_rule_can_be_chosen_is_rejected_with_the_reason() {
    let rule = "[[rule]]\nname = \"advices\"\ndirection = \"receive\"\ndocument = \"824\"\nguide = \"tiny.guide\"\nwhere = 'count(PO1) = 1'\ndeliver = \"folder:advices\"\n";
    let world = World::with("usage = \"both\"", rule);
    world.sent("order", &["A1"]);
    let report = world.receive(&advice(2, "OTI*TR*TN*A1*****1*0001*850~"));
    assert_eq!((report.matched, report.delivered, report.rejected), (1, 0, 1), "{report:?}");
    let received = documents(&world, Way::Received).pop().expect("the 824");
    let codes: Vec<&str> = received.details.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(codes.contains(&"PTN-113"), "{codes:?}");
    assert_eq!(documents(&world, Way::Sent)[0].state, State::Refused);
}

#[test]
fn advices_commit_with_what_they_are_about() {
    let edi = interchange(7, "P", &[("PO1", "RO"), ("PO2", "SA"), ("PO3", "RO"), ("PO4", "RO")]);
    for envelope in ["immediate", "delayed"] {
        let settings = format!("advise = [\"824\"]\nenvelope = \"{envelope}\"\nclose = {{ count = 2 }}");
        at_every_commit_in(&|| picky(&settings), &|_| Ok(()), &|desk| crate::crash::receive(desk, &edi));
    }
}

#[test]
fn advices_are_matched_once() {
    let body = "OTI*TR*TN*A1*****1*0001*850~OTI*TA*TN*A2*****1*0002*850~OTI*TR*TN*A3*****2*0001*850~";
    let edi = advice(1, body) + &advice(2, "OTI*TE*TN*A2*****1*0002*850~");
    let settings = "envelope = \"delayed\"\nclose = { count = 2 }";
    at_every_commit_in(
        &|| World::with(settings, ""),
        &|desk| {
            crate::crash::send(desk, &["A1", "A2", "A3"])?;
            desk.release(&quayline_partner::Release::All).map(|_| ())
        },
        &|desk| crate::crash::receive(desk, &edi),
    );
}
