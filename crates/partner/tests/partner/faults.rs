//! Faults of one document, file or partner, and their effect on the others.

use std::io::Cursor;

use quayline_partner::{Again, DeskLimits, EntryId, Filter, Kind, Part, SendRequest, State, Way};

use crate::world::{World, interchange, orders};

fn acknowledgments(world: &World) -> String {
    world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect()
}

fn body(world: &World, id: EntryId) -> Option<Vec<u8>> {
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    ledger.body(&unit, id, Part::Document).expect("readable")
}

/// A second file with the same bytes was archived as `sent before` after a crash: its claim was retried without knowing that it is another file.
#[test]
fn two_claims_of_the_same_bytes_are_two_sources() {
    let world = World::with("usage = \"both\"\nduplicates = \"accept\"", "");
    let send = |claim: &str| {
        let mut source = Cursor::new(b"{\"number\":\"A1\",\"kind\":\"SA\"}\n".to_vec());
        let again = Again::once(claim);
        let request = SendRequest { name: "a.json", to: Some("ACME"), from: None, document: "order", again };
        world.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut source)).expect("sent")
    };
    let reports = ["1-a", "2-a", "2-a"].map(send);
    assert_eq!(reports.each_ref().map(|report| (report.sent, report.repeated)), [(1, false), (1, false), (0, true)]);
    let receive = |claim: &str| world.receive_again(&orders(7, &["PO1"]), Again::once(claim));
    let reports = ["3-a", "4-a", "4-a"].map(receive);
    assert_eq!(reports.each_ref().map(|report| report.delivered), [1, 1, 0]);
    assert_eq!(reports[2].findings[0].1.code.0, "PTN-106");
}

const DRAFTS: &str = r#"
[[rule]]
name = "drafts"
direction = "receive"
document = "850"
when = { BEG02 = "RO" }
deliver = "folder:drafts"
settings = { keep-days = 3, keep = "rejected", reject-on = "nothing" }
"#;

/// The settings of a rule for documents received did nothing.
#[test]
fn a_rule_decides_what_is_rejected_and_kept() {
    let world = World::with("usage = \"both\"", DRAFTS);
    let edi = interchange(7, "P", &[("PO1", "RO"), ("PO2", "SA")]).replace("PO1*1*1*EA", "PO1*1*X*EA");
    let report = world.receive(&edi);
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    assert_eq!((world.files("drafts").len(), world.files("orders").len()), (1, 0));
    let entries = world.entries(Kind::Transaction);
    assert_eq!((entries[0].state, entries[0].details.keep_days), (State::Delivered, 3));
    assert_eq!((entries[1].state, entries[1].details.keep_days), (State::Rejected, 2_555));
    assert!(!entries[0].details.findings.is_empty(), "its findings are kept");
    assert_eq!((body(&world, entries[0].id), body(&world, entries[1].id).is_some()), (None, true));
    // The acknowledgment says the same.
    let text = acknowledgments(&world);
    assert!(text.contains("~AK5*E*5~") && text.contains("~AK5*R*5~") && text.contains("~AK9*P*2*2*1~"), "{text}");
    // The same settings decide when a document is processed again.
    let settings = "settings = { keep-days = 3, keep = \"rejected\", reject-on = \"nothing\" }\n";
    let world = World::with("usage = \"both\"", &DRAFTS.replace(settings, ""));
    let report = world.receive(&interchange(7, "P", &[("PO1", "RO")]).replace("PO1*1*1*EA", "PO1*1*X*EA"));
    assert_eq!(report.rejected, 1, "{report:?}");
    let id = world.entries(Kind::Transaction)[0].id;
    world.edit("deliver = \"folder:drafts\"\n", &format!("deliver = \"folder:drafts\"\n{settings}"));
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, None)).expect("done");
    assert_eq!(done.state, State::Delivered, "{done:?}");
}

fn message(number: u32, body: &str) -> String {
    format!(
        "UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+{number}'UNH+1+ORDERS:D:96A:UN'BGM+220+{body}+9'UNT+3+1'UNZ+1+{number}'"
    )
}

const ANY: &str =
    "\n[[rule]]\nname = \"any\"\ndirection = \"receive\"\nstandard = \"edifact\"\ndeliver = \"folder:any\"\n";

/// CONTRL refused the messages that `reject-on = "nothing"` delivered.
#[test]
fn contrl_accepts_what_is_delivered() {
    let world = World::with("usage = \"both\"\nreject-on = \"nothing\"", ANY);
    let report = world.receive(&message(7, "A1").replace("UNT+3+1", "UNT+4+1"));
    assert_eq!(report.delivered, 1, "{report:?}");
    let text = acknowledgments(&world);
    assert!(text.contains("'UCI+7+5412345000013:14+4012345500004:14+7'") && !text.contains("UCM+"), "{text}");
}

/// An oversized transaction was acknowledged as accepted, and its end was lost.
#[test]
fn an_oversized_transaction_is_refused() {
    let world = World::new();
    world.edit("guides = [\"tiny.guide\"]\n", "");
    let long = orders(7, &["PO1", "PO2"]).replacen(
        "~CTT*1~SE*6*",
        &format!("~{}CTT*1~SE*26*", "MSG*A long text~".repeat(20)),
        1,
    );
    let limits = DeskLimits { transaction_bytes_max: 300, ..DeskLimits::default() };
    let mut source = Cursor::new(long.into_bytes());
    let report = world.at_desk(limits, |desk| desk.receive("in.x12", &mut source, Again::No)).expect("received");
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    let text = acknowledgments(&world);
    assert!(text.contains("~AK2*850*0001~AK5*R*5~AK2*850*0002~AK5*A~AK9*P*2*2*1~"), "{text}");
    // What is no interchange is kept whole, in as many entries as it takes.
    let mail: String = (0..200).map(|line| format!("line {line} of a mail\n")).collect();
    let mut source = Cursor::new(mail.clone().into_bytes());
    let report = world.at_desk(limits, |desk| desk.receive("mail.txt", &mut source, Again::No)).expect("received");
    assert_eq!(report.unrouted, 1, "{report:?}");
    let parts = world.search(&Filter { state: Some(State::Unrouted), limit: 100, ..Filter::default() });
    let kept: Vec<u8> = parts.iter().flat_map(|part| body(&world, part.id).expect("kept")).collect();
    assert_eq!((parts.len(), kept == mail.as_bytes()), (mail.len().div_ceil(300), true));
    assert!(parts[1].details.history.iter().any(|line| line.what.starts_with("part 2 of ")), "{:?}", parts[1]);
}

/// Pieces outside of interchanges beyond the first hundred were counted, and their bytes lost.
#[test]
fn every_piece_outside_of_interchanges_is_kept() {
    let world = World::new();
    let broken = "ISA*00*          *00*          *01*ACME~\n";
    let edi: String = (1..=120).map(|number| format!("{broken}{}", orders(number, &["PO1"]))).collect();
    let report = world.receive(&edi);
    assert_eq!((report.delivered, report.unrouted), (120, 120));
    let kept = world.search(&Filter { state: Some(State::Unrouted), limit: 1_000, ..Filter::default() });
    assert!(kept.len() == 120 && kept.iter().all(|one| body(&world, one.id).is_some()));
}

/// A header that cannot be used, after an interchange without its trailer, was answered inside the acknowledgment for the partner of that
/// interchange, and its bytes were lost.
#[test]
fn a_broken_header_is_not_of_the_interchange_before_it() {
    let world = World::with("usage = \"both\"\nacknowledge = [\"997\", \"ta1\"]", "");
    let first = orders(7, &["PO1"]);
    let unclosed = &first[..first.find("GE*").expect("a trailer")];
    let second = orders(9, &["PO2"]).replace("01*ACME  ", "01*OTHER ").replace("*:~GS", "*A~GS");
    let report = world.receive(&format!("{unclosed}{second}"));
    assert_eq!(report.delivered, 0, "{report:?}");
    let text = acknowledgments(&world);
    assert!(text.contains("TA1*000000007*260401*1200*R*023~") && !text.contains("OTHER"), "{text}");
    let kept = world.search(&Filter { state: Some(State::Unrouted), limit: 10, ..Filter::default() });
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(body(&world, kept[0].id).as_deref(), Some(second.as_bytes()));
}

/// One folder that could not be written made every command fail, even unrelated ones.
#[test]
fn an_unwritable_folder_keeps_nothing_else_back() {
    let world = World::new();
    world.write("orders", "not a folder");
    let report = world.receive(&orders(7, &["PO1", "PO2"]));
    assert_eq!((report.delivered, report.findings[0].1.code.0), (2, "PTN-300"), "{report:?}");
    // Another command does its work, and tries again.
    let report = world.sent("order", &["A1"]);
    assert_eq!((report.sent, report.findings[0].1.code.0), (1, "PTN-300"), "{report:?}");
    assert_eq!(world.files("outbox/ACME").len(), 2, "the acknowledgment and the order");
    std::fs::remove_file(world.path("orders")).expect("removed");
    assert!(world.sent("order", &["A2"]).findings.is_empty());
    assert_eq!(world.files("orders").len(), 2);
}

/// A map that does not compile ended the run, for all partners.
#[test]
fn a_map_that_cannot_be_used_rejects_its_documents_only() {
    let broken = DRAFTS.replace("deliver", "map = \"maps/broken.qmap\"\ndeliver");
    let world = World::with("usage = \"both\"", &broken);
    world.write("maps/broken.qmap", "map \"m\"\nnonsense\n");
    let report = world.receive(&interchange(7, "P", &[("PO1", "RO"), ("PO2", "SA")]));
    assert_eq!((report.delivered, report.rejected), (1, 1), "{report:?}");
    let rejected = world.entries(Kind::Transaction).remove(0);
    assert!(rejected.details.findings.iter().any(|one| one.code == "PTN-011"), "{rejected:?}");
    std::fs::copy(world.path("maps/in.qmap"), world.path("maps/broken.qmap")).expect("corrected");
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(rejected.id, None)).expect("done");
    assert_eq!(done.state, State::Delivered, "{done:?}");
}

/// One number that was much too high, or the end of a range, ended the check for gaps for ever.
#[test]
fn gaps_are_found_after_a_stray_number_and_after_the_last_one() {
    let world = World::new();
    let found = |number: u32| world.receive(&orders(number, &["PO1"])).findings.len();
    assert_eq!([7, 999_000, 8, 9].map(found), [0, 1, 0, 0]);
    assert_eq!([12, 13].map(found), [1, 0], "10 and 11 are missing");
    // Numbers that came late do not count as missing once more.
    assert_eq!([10, 11, 14, 15].map(found), [0, 0, 0, 0]);
    let world = World::new();
    let found = |number: u32| world.receive(&orders(number, &["PO1"])).findings.len();
    assert_eq!([999_999_998, 999_999_999, 1, 2, 4].map(found), [0, 0, 0, 0, 1]);
}

/// A number may come again after the days of `duplicate-days`.
#[test]
fn duplicates_have_a_window() {
    let world = World::with("usage = \"both\"\nduplicate-days = 30", "");
    let day = 86_400_000;
    assert_eq!(world.receive(&orders(7, &["PO1"])).delivered, 1);
    world.now_ms.set(world.now_ms.get() + 29 * day);
    assert_eq!(world.receive(&orders(7, &["PO2"])).delivered, 0);
    world.now_ms.set(world.now_ms.get() + 2 * day);
    assert_eq!(world.receive(&orders(7, &["PO3"])).delivered, 1);
}

/// A purge never removed the stored positions of sources.
#[test]
fn a_purge_forgets_sources() {
    let world = World::with("usage = \"both\"\nduplicates = \"accept\"", "");
    let edi = orders(7, &["PO1"]);
    world.receive(&edi);
    assert_eq!(world.receive(&edi).findings[0].1.code.0, "PTN-106");
    world.now_ms.set(world.now_ms.get() + 31 * 86_400_000);
    assert!(world.ledger().purge(world.now_ms.get(), Some(30)).expect("purged") > 0);
    assert_eq!(world.receive(&edi).delivered, 1);
}

const OTHER: &str = "name = \"OTHER\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"01\"\nid = \"12345\"\n";
const OWN_TWO: &str =
    "own = true\nname = \"US-TWO\"\n[[identity]]\nstandard = \"x12\"\nqualifier = \"ZZ\"\nid = \"USTWO\"\n";

/// A document went to the partner that had its id under another qualifier, and always came from our first identity.
#[test]
fn a_document_goes_from_whom_and_to_whom_it_says() {
    let world = World::new();
    world.write("partners/other.toml", OTHER);
    world.write("partners/ustwo.toml", OWN_TWO);
    let send = |text: String, to: Option<&str>, from: Option<&str>| {
        let mut source = Cursor::new(text.into_bytes());
        let request = SendRequest { name: "out.x12", to, from, document: "", again: Again::Yes };
        let report = world.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut source)).expect("done");
        report.findings.first().map(|(_, finding)| finding.code.0)
    };
    let between = |sender: &str, receiver: &str| {
        orders(7, &["PO1"])
            .replace("*ZZ*US             *", &format!("*{receiver:18}*"))
            .replace("*01*ACME           *", &format!("*{sender:18}*"))
    };
    assert_eq!(send(between("ZZ*US", "ZZ*12345"), None, None), Some("PTN-200"), "another company may have the id");
    assert_eq!(send(between("ZZ*US", "ZZ*12345"), Some("OTHER"), None), Some("PTN-206"));
    assert_eq!(send(between("ZZ*USTWO", "01*12345"), None, Some("US")), Some("PTN-206"));
    assert!(world.files("outbox/OTHER").is_empty());
    assert_eq!(send(between("ZZ*USTWO", "01*12345"), None, None), None);
    let files = world.files("outbox/OTHER");
    assert!(files.len() == 1 && files[0].1.contains("*ZZ*USTWO          *01*12345          *"), "{files:?}");
    // The same bytes from another of our identities are another source.
    let again = |from: &str| {
        let mut source = Cursor::new(b"{\"number\":\"A1\",\"kind\":\"SA\"}\n".to_vec());
        let request =
            SendRequest { name: "a.json", to: Some("ACME"), from: Some(from), document: "order", again: Again::No };
        world.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut source)).map(|report| report.repeated)
    };
    assert!(!again("US").expect("sent"));
    // US-TWO has no rule for it, so it is refused for that and not as a repetition.
    assert_eq!(again("US-TWO").expect_err("no rule").0[0].code.0, "PTN-105");
}

const TO_ACME: &str = r#"
[[rule]]
name = "rush"
direction = "send"
document = "order"
when = { BEG02 = "RO" }
map = "maps/out.qmap"
settings = { send-to = "folder:rush" }
[[rule]]
name = "plain"
direction = "send"
document = "order"
map = "maps/out.qmap"
[[rule]]
name = "as-it-is"
direction = "send"
document = "850"
version = "005010"
standard = "x12"
settings = { send-to = "folder:as-it-is" }
"#;

/// Rules with conditions on content were never chosen for documents to send.
#[test]
fn conditions_choose_among_rules_with_one_map() {
    let world = World::with("usage = \"both\"", TO_ACME);
    world.book().check().expect("a good project");
    let text = "{\"number\":\"A1\",\"kind\":\"RO\"}\n{\"number\":\"A2\",\"kind\":\"SA\"}\n";
    let report = world.send(Some("ACME"), "order", text).expect("sent");
    assert_eq!((report.sent, world.files("rush").len(), world.files("outbox/ACME").len()), (2, 1, 1));
    let entries = world.entries(Kind::Transaction);
    let rules: Vec<&str> = entries.iter().map(|entry| entry.details.rule.as_str()).collect();
    assert_eq!(rules, ["ACME/rush", "ACME/plain"]);
    let as_it_is = orders(7, &["PO1"])
        .replace("*01*ACME           *ZZ*US             *", "*ZZ*US             *01*ACME           *");
    world.send(Some("ACME"), "", &as_it_is).expect("sent");
    assert_eq!(world.files("as-it-is").len(), 1);
    let sent = world.entries(Kind::Transaction).pop().expect("an entry");
    assert_eq!((sent.way, sent.details.rule.as_str()), (Way::Sent, "ACME/as-it-is"));
    // What a map makes is not known before it runs.
    let two = TO_ACME.replacen("maps/out.qmap", "maps/other.qmap", 1);
    let world = World::with("usage = \"both\"", &two);
    std::fs::copy(world.path("maps/out.qmap"), world.path("maps/other.qmap")).expect("a copy");
    let found = world.book().check().expect_err("refused").to_string();
    assert!(
        found.contains("PTN-015") && found.contains("`rush` and `plain` send `order` by different maps"),
        "{found}"
    );
}

/// The envelope had the version of the partner, and the text the characters of another set.
#[test]
fn text_is_sent_in_the_character_set_of_the_partner() {
    let send = |version: &str| {
        let world = World::with(&format!("usage = \"both\"\nversion = \"{version}\""), "");
        let mut text = message(7, "GR")
            .replace("5412345000013:14+4012345500004:14", "4012345500004:14+5412345000013:14")
            .into_bytes();
        let at = text.windows(2).position(|two| two == b"GR").expect("a text");
        text.splice(at..at + 2, *b"Gr\xfc\xdfe");
        let request = SendRequest { name: "out.edi", to: Some("ACME"), from: None, document: "", again: Again::Yes };
        let report = world
            .at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut Cursor::new(text.clone())))
            .expect("done");
        let file = std::fs::read_dir(world.path("outbox/ACME")).ok().and_then(|mut all| all.next());
        let bytes = file.map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file"));
        (report.findings.first().map(|(_, finding)| finding.code.0), bytes)
    };
    let holds = |bytes: Option<Vec<u8>>, part: &[u8]| {
        bytes.is_some_and(|bytes| bytes.windows(part.len()).any(|window| window == part))
    };
    assert!(holds(send("UNOC:3").1, b"BGM+220+Gr\xfc\xdfe+9'"));
    assert!(holds(send("UNOW:4").1, "BGM+220+Grüße+9'".as_bytes()));
    let (code, file) = send("UNOA:3");
    assert_eq!((code, file), (Some("PTN-208"), None));
}

/// A document to send that was rejected could only be sent as a new file, and its entry stayed rejected.
#[test]
fn a_rejected_document_to_send_is_corrected() {
    let world = World::new();
    // The partner has no X12 identity, so the document is refused after the map; then the map itself refuses one.
    world.edit(
        "standard = \"x12\"\nqualifier = \"01\"\nid = \"ACME\"",
        "standard = \"edifact\"\nqualifier = \"14\"\nid = \"1\"",
    );
    let report = world.sent("order", &["A1"]);
    assert_eq!((report.rejected, report.entries.len()), (1, 1), "{report:?}");
    let refused = report.entries[0];
    let again = |with: Option<&str>, id| {
        world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, with.map(str::as_bytes)))
    };
    assert_eq!(again(None, refused).expect_err("without its interchange").0[0].code.0, "PTN-302");
    world.edit(
        "standard = \"edifact\"\nqualifier = \"14\"\nid = \"1\"",
        "standard = \"x12\"\nqualifier = \"01\"\nid = \"ACME\"",
    );
    let whole = orders(7, &["A1"])
        .replace("*01*ACME           *ZZ*US             *", "*ZZ*US             *01*ACME           *");
    let done = again(Some(&whole), refused).expect("sent");
    assert_eq!(done.state, State::Sent, "{done:?}");
    let report = world.send(Some("ACME"), "order", "{\"number\":7}\n").expect("kept");
    assert_eq!(report.rejected, 1, "{report:?}");
    let rejected = report.entries[0];
    assert_eq!(again(None, rejected).expect("still wrong").state, State::Rejected);
    let newest = world.entries(Kind::Transaction).pop().expect("an entry").id;
    let done = again(Some("{\"number\":\"A7\",\"kind\":\"SA\"}\n"), newest).expect("sent");
    assert_eq!(done.state, State::Sent, "{done:?}");
    assert_eq!(again(None, rejected).expect_err("replaced").0[0].code.0, "PTN-303");
    assert_eq!(world.search(&Filter { state: Some(State::Rejected), limit: 10, ..Filter::default() }).len(), 0);
    assert_eq!(world.files("outbox/ACME").len(), 2);
}

/// A source whose only header cannot be used had the finding that it holds no interchange, and not the reason.
#[test]
fn an_unusable_header_is_named_with_its_fault() {
    let world = World::new();
    let whole = orders(7, &["PO1"]);
    // Without ISA16, and with a letter as the separator of elements.
    for (text, code) in [(whole.replacen("*0*P*:~", "*0*P~", 1), "EDI-"), (whole.replace('*', "Q"), "EDI-")] {
        let report = world.receive(&text);
        assert_eq!((report.unrouted, report.findings[0].1.code.0), (1, "PTN-110"), "{report:?}");
        assert!(report.findings[1..].iter().any(|(_, finding)| finding.code.0.starts_with(code)), "{report:?}");
        let mut entries = world.entries(Kind::Interchange);
        entries.retain(|entry| entry.way == Way::Received);
        let entry = entries.pop().expect("an entry");
        assert!(entry.details.findings.iter().any(|finding| finding.code.starts_with(code)), "{entry:?}");
    }
}

/// An interchange whose header cannot be used got no answer, although `validate --ack` answers it. The partner took it for delivered.
#[test]
fn an_unusable_header_is_answered_if_it_names_the_partner_and_us() {
    let whole = orders(7, &["PO1"]);
    let broken = whole.replacen("*0*P*:~", "*0*P~", 1);
    let answered = |world: &World, edi: &str, again: Again| {
        let report = world.receive_again(edi, again);
        assert!(!report.is_good() && report.delivered == 0, "{report:?}");
        report.acknowledgments
    };
    let world = World::new();
    assert_eq!(answered(&world, &broken, Again::No), 1);
    let text = acknowledgments(&world);
    assert!(
        text.contains("*ZZ*US             *01*ACME           *") && text.contains("TA1*000000007*260401*1200*R*0"),
        "{text}"
    );
    assert!(text.contains("IEA*0*000000001~"), "{text}");
    let entries = world.entries(Kind::Interchange);
    let [received, answer] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((received.state, received.details.answered_by), (State::Unrouted, answer.id.0));
    assert_eq!((answer.state, answer.details.about, &*answer.partner), (State::Sent, received.id.0, "ACME"));
    // The same bytes are answered once, unless they are to be received again.
    let report = world.receive(&broken);
    assert_eq!((report.acknowledgments, report.findings[0].1.code.0), (0, "PTN-106"), "{report:?}");
    assert_eq!(answered(&world, &broken, Again::Yes), 1);
    assert!(acknowledgments(&world).contains("IEA*0*000000002~"));
    // A letter as the separator, and a header after another interchange.
    let world = World::new();
    assert_eq!(answered(&world, &whole.replace('*', "Q"), Again::No), 1);
    let report = world.receive(&(orders(8, &["PO2"]) + &broken.replace("000000007", "000000009")));
    assert_eq!((report.delivered, report.unrouted, report.acknowledgments), (1, 1, 2), "{report:?}");
    assert!(acknowledgments(&world).contains("TA1*000000009*260401*1200*R*0"));
    // EDIFACT: the release character separates elements too.
    let edifact = "UNA:+.+ 'UNB+UNOC:3+5412345000013:14+4012345500004:14+260401:1200+77'UNH+1+ORDERS:D:96A:UN'BGM+220+A1+9'UNT+3+1'UNZ+1+77'";
    assert_eq!(answered(&world, edifact, Again::No), 1);
    let text = acknowledgments(&world);
    assert!(text.contains("UCI+77+5412345000013:14+4012345500004:14+4+"), "{text}");
}

/// A file of such headers only became one entry, and Quayline answered the first ten.
#[test]
fn each_unusable_header_has_its_entry_and_its_answer() {
    let broken = |number: u32| orders(number, &["PO1"]).replacen("*0*P*:~", "*0*P~", 1);
    let world = World::new();
    let text: String = (1..=12).map(broken).collect();
    let report = world.receive(&text);
    assert_eq!(
        (report.unrouted, report.acknowledgments, report.findings[0].1.code.0),
        (12, 12, "PTN-110"),
        "{report:?}"
    );
    let received: Vec<_> =
        world.entries(Kind::Interchange).into_iter().filter(|one| one.way == Way::Received).collect();
    assert_eq!(received.len(), 12);
    assert!(received.iter().all(|entry| entry.details.answered_by != 0 && !entry.details.findings.is_empty()));
    assert_eq!(received.iter().map(|entry| entry.details.bytes).sum::<u64>(), text.len() as u64);
    let answers = acknowledgments(&world);
    assert!((1..=12).all(|number| answers.contains(&format!("TA1*{number:09}*"))), "{answers}");
}

#[test]
fn an_unusable_header_without_certain_parties_is_not_answered() {
    let broken = orders(7, &["PO1"]).replacen("*0*P*:~", "*0*P~", 1);
    let header = &broken[..broken.find("*0*P~").expect("an ISA")];
    let next = orders(8, &["PO2"]);
    let cut = |text: &str| format!("{}{next}", &header[..header.find(text).expect("an element")]);
    for (text, what) in [
        (broken.replace("*01*ACME ", "*01*OTHER"), "another sender"),
        (broken.replace("*ZZ*US ", "*ZZ*WE "), "another receiver"),
        (broken.replace("*01*ACME           *ZZ*US             ", "*ZZ*US             *01*ACME           "), "our own"),
        (broken.replace("*000000007", "*00000000X"), "no control number"),
        (cut("501*"), "cut off before the control number"),
        (cut("00007"), "cut off in the control number"),
    ] {
        let world = World::new();
        let report = world.receive(&text);
        let answered = u64::from(text.contains(&next));
        assert_eq!((report.acknowledgments, report.delivered), (answered, answered), "{what}: {report:?}");
        assert!(!acknowledgments(&world).contains("TA1"), "{what}");
        // The header counts as received, with an answer or without one.
        if answered == 0 {
            assert_eq!(world.receive(&text).findings[0].1.code.0, "PTN-106", "{what}");
            assert_eq!(world.receive_again(&text, Again::Yes).unrouted, 1, "{what}");
        }
    }
    let world = World::with("usage = \"both\"\nacknowledge = []", "");
    assert_eq!(world.receive(&broken).acknowledgments, 0);
}

/// `--with` took the document of another partner, or of another type, for the correction of a delivered one.
#[test]
fn a_correction_is_of_the_same_partner_and_type() {
    let world = World::new();
    let text = orders(7, &["PO1"]);
    assert_eq!(world.receive(&text).delivered, 1);
    let id = world.entries(Kind::Transaction)[0].id;
    let correct = |text: &str| world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, Some(text.as_bytes())));
    for (wrong, what) in [
        (text.replace("*01*ACME           ", "*01*NOBODY         "), "an unknown sender"),
        (text.replace("ST*850*", "ST*855*"), "a document of type 855: it was delivered as 850"),
    ] {
        let refused = correct(&wrong).expect_err("another document");
        assert_eq!(refused.0[0].code.0, "PTN-303", "{refused:?}");
        assert!(refused.0[0].message.contains(what), "{refused:?}");
    }
    assert_eq!(world.entries(Kind::Transaction).len(), 1, "nothing was changed");
    assert_eq!(correct(&text.replace("PO1*1*1*EA", "PO1*1*2*EA")).expect("the same document").state, State::Delivered);
    // What nobody could process may come from anybody.
    let unknown = text.replace("*01*ACME           ", "*01*NOBODY         ");
    world.receive(&unknown);
    let id = world.entries(Kind::Transaction).pop().expect("unrouted").id;
    let done = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(id, Some(orders(8, &["PO2"]).as_bytes())));
    assert_eq!(done.expect("corrected").state, State::Delivered);
}

/// The remedy for an unknown sender processed documents without an acknowledgment. Receiving the file again has one.
#[test]
fn a_file_of_an_unknown_sender_is_received_again_and_acknowledged() {
    let world = World::new();
    let acme = std::fs::read_to_string(world.path("partners/acme.toml")).expect("a file");
    std::fs::remove_file(world.path("partners/acme.toml")).expect("removed");
    let text = interchange(7, "T", &[("PO1", "SA")]);
    let report = world.receive(&text);
    let hint =
        report.findings.iter().find_map(|(_, finding)| finding.hint.clone().filter(|hint| hint.contains("--again")));
    assert!(hint.is_some(), "{report:?}");
    world.write("partners/acme.toml", &acme);
    let report = world.receive_again(&text, Again::Yes);
    assert_eq!(report.delivered, 1, "{report:?}");
    assert!(acknowledgments(&world).contains("AK9*A*1*1*1~"), "{}", acknowledgments(&world));
    let group = world.entries(Kind::Group).pop().expect("a group");
    assert!(group.details.test && !group.details.own.is_empty(), "{group:?}");
}
