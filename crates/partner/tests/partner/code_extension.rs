//! EDIFACT with code extension (UNOX, ISO 2022): escape sequences select the character sets of the bytes.

use std::fs;
use std::io::Cursor;

use quayline_partner::{Again, DeskLimits, Kind, Part, SendReport, SendRequest, State};

use crate::world::World;

const ANY: &str = "\n[[rule]]\nname = \"any\"\ndirection = \"receive\"\ndeliver = \"folder:any\"\n";

/// Characters with bytes that are also those of `?`, `'`, `+` and `:`.
const JAPANESE: &[u8] = b"\x1b$B?M$'$+$:\x1b(B";

fn message(number: u32, text: &[u8]) -> Vec<u8> {
    [format!("UNH+{number}+ORDERS:D:96A:UN'FTX+AAI+++").as_bytes(), text, format!("'UNT+3+{number}'").as_bytes()]
        .concat()
}

fn interchange(parties: &str, messages: &[Vec<u8>]) -> Vec<u8> {
    let head = format!("UNB+UNOX:4+{parties}+20260401:1200+1'");
    [head.as_bytes(), &messages.concat(), format!("UNZ+{}+1'", messages.len()).as_bytes()].concat()
}

const FROM_US: &str = "4012345500004:14+5412345000013:14";
const FROM_ACME: &str = "5412345000013:14+4012345500004:14";

fn world(settings: &str) -> World {
    World::with(&format!("usage = \"both\"\nvalidate = \"envelope\"\nacknowledge = []\n{settings}"), ANY)
}

fn send(world: &World, edi: &[u8]) -> SendReport {
    let request = SendRequest { name: "out.edi", to: Some("ACME"), from: None, document: "", again: Again::Yes };
    let done = world.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut Cursor::new(edi.to_vec())));
    done.unwrap_or_else(|findings| panic!("{findings}"))
}

fn files(world: &World, folder: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        fs::read_dir(world.path(folder)).expect("a folder").map(|one| one.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("bytes")).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Regression: Japanese text went to a partner with ISO 8859-1 as other letters, because all of its bytes are ASCII.
#[test]
fn japanese_text_is_sent_as_it_is_or_refused() {
    for (settings, expected) in [
        ("version = \"UNOC:3\"", "PTN-208"),
        ("version = \"UNOX:4\"", ""),
        ("version = \"UNOX:4\"\nline-breaks = true", ""),
        ("version = \"UNOX:4\"\ndelimiters = \"|%*~!\"", ""),
    ] {
        let world = world(settings);
        let report = send(&world, &interchange(FROM_US, &[message(1, JAPANESE)]));
        let codes: Vec<&str> = report.findings.iter().map(|(_, finding)| finding.code.0).collect();
        assert_eq!(codes.join(" "), expected, "{settings}");
        if expected.is_empty() {
            let sent = files(&world, "outbox/ACME").remove(0);
            assert!(has(&sent, JAPANESE), "{settings}: {}", sent.escape_ascii());
            // Sent again in a new envelope.
            let entry = world.entries(Kind::Interchange)[0].id;
            world.at_desk(DeskLimits::default(), |desk| desk.reenvelope(entry)).expect("sent again");
            assert!(files(&world, "outbox/ACME").iter().all(|sent| has(sent, JAPANESE)), "{settings}");
        }
    }
}

/// Bytes that select a set in which delimiters can be other characters are not rewritten.
#[test]
fn other_delimiters_are_refused_where_ascii_is_not_selected() {
    let world = world("version = \"UNOX:4\"\ndelimiters = \"|%*~!\"");
    let report = send(&world, &interchange(FROM_US, &[message(1, b"\x1b)I\x0e1\x0f")]));
    assert!(report.rejected == 1 && report.findings[0].1.code.0 == "PTN-202", "{report:?}");
}

/// Regression: the second message uses the set that the first one selected, and its copy did not have the selection.
#[test]
fn a_message_keeps_the_sets_that_earlier_messages_selected() {
    let messages = [message(1, b"Gr\x1b-A\xfc\xdfe"), message(2, b"Gr\xfc\xdfe")];
    // Received: each message is delivered and kept as an interchange of its own.
    let world = world("version = \"UNOX:4\"");
    let edi = interchange(FROM_ACME, &messages);
    let received =
        world.at_desk(DeskLimits::default(), |desk| desk.receive("in.edi", &mut Cursor::new(edi.clone()), Again::No));
    assert_eq!(received.expect("received").delivered, 2);
    let delivered = files(&world, "any");
    assert!(
        has(&delivered[1], b"\x1b-AUNH+2+") && has(&delivered[1], b"Gr\xfc\xdfe'"),
        "{}",
        delivered[1].escape_ascii()
    );
    let second = world.entries(Kind::Transaction).into_iter().find(|entry| entry.number == "2").expect("an entry");
    let ledger = world.ledger();
    let kept = ledger.body(&ledger.begin().expect("a unit"), second.id, Part::Document).expect("read").expect("kept");
    assert_eq!(kept, delivered[1]);
    drop(ledger);
    let again = world.at_desk(DeskLimits::default(), |desk| desk.reprocess(second.id, None)).expect("processed");
    assert!(again.state == State::Delivered && again.findings.is_empty(), "{again:?}");
    // Sent: each message goes into an interchange of its own.
    send(&world, &interchange(FROM_US, &messages));
    let sent = files(&world, "outbox/ACME").pop().expect("sent");
    assert!(has(&sent, b"UNH+1+ORDERS:D:96A:UN'\x1b-AFTX+AAI+++Gr\xfc\xdfe'"), "{}", sent.escape_ascii());
}

/// Regression: the header of a received interchange was copied as UTF-8.
#[test]
fn a_copied_header_has_the_bytes_of_the_source() {
    let world = world("version = \"UNOX:4\"");
    let parties = FROM_ACME.as_bytes();
    let head = [b"UNB+UNOX:4+", parties, b"+20260401:1200+1+", JAPANESE, b"'"].concat();
    let edi = [&head[..], &message(1, b"A"), b"UNZ+1+1'"].concat();
    let received =
        world.at_desk(DeskLimits::default(), |desk| desk.receive("in.edi", &mut Cursor::new(edi.clone()), Again::No));
    assert_eq!(received.expect("received").delivered, 1);
    assert_eq!(files(&world, "any"), [edi]);
}
