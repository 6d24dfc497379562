//! The parts of a message that pass through unchanged, and those that other parts of Quayline use.

use quayline_amqp::{Properties, Sections, Value, writer};
use quayline_store::queue::{GetWait, Message, Persistence, Select};

use crate::peer::{Peer, message};
use crate::server::Server;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The sections after the header and the delivery annotations.
fn bare(whole: &[u8]) -> &[u8] {
    let mut reader = quayline_amqp::Reader::new(whole);
    let mut at = 0;
    while reader.descriptor().is_ok_and(|code| code < 0x72) {
        reader.skip().unwrap();
        at = reader.at();
    }
    &whole[at..]
}

/// Encodings that are longer than they need to be, ids of all types, bodies of all kinds: the same bytes come back.
#[test]
fn everything_after_the_header_keeps_its_bytes() {
    let server = Server::start();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    peer.receiver(1, "Q", 100).unwrap();
    let annotations = "00 53 72 d1 0000000a 00000002 a3 01 78 a1 01 79";
    let long_id = &format!("00 53 73 d0 00000027 00000001 b1 0000001e {}", "61".repeat(30));
    let uuid = "00 53 73 c0 12 01 98 000102030405060708090a0b0c0d0e0f";
    let application = "00 80 0000000000000074 c1 0e 04 a1 01 6b 55 07 a1 04 616d7170 a0 00";
    let footer = "00 53 78 c1 01 00";
    for sections in [
        "00 53 75 b0 00000003 010203",
        "00 53 77 b1 00000002 6869",
        "00 53 77 a0 00",
        "00 53 77 d1 00000007 00000002 43 a1 00",
        "00 53 75 a0 01 01 00 53 75 a0 01 02",
        "00 53 76 45 00 53 76 45",
        "",
    ] {
        for properties in [long_id, uuid, ""] {
            let sent = bytes(&[annotations, properties, application, sections, footer].concat());
            peer.put(0, None, &sent).unwrap();
            let found = peer.whole().unwrap();
            assert_eq!(bare(&found), sent, "{properties} {sections}");
        }
    }
}

/// A reply that copies the request's properties and names its id gives the client its own id back, however long.
#[test]
fn a_reply_from_inside_has_the_id_that_the_client_gave() {
    let server = Server::start();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    let own = Value::String("ID:a request of a client with a long name:1:2:3-4".to_owned());
    let properties =
        Properties { message_id: Some(own.clone()), reply_to: Some("OTHER".to_owned()), ..Properties::default() };
    let mut sent = Vec::new();
    properties.write(&mut sent);
    quayline_amqp::write_application_properties(
        &mut sent,
        vec![
            (Value::String("number".to_owned()), Value::Int(7)),
            (Value::String("flag".to_owned()), Value::Boolean(true)),
        ],
    );
    quayline_amqp::write_body(&mut sent, quayline_amqp::BodyKind::Text, b"ask");
    let id = peer.put(0, None, &sent).unwrap();
    peer.outcome(id).unwrap();

    let mut unit = server.store.begin().unwrap();
    let request = server.store.queue("Q").unwrap().get(&mut unit, Select::First, GetWait::AtMostMs(20_000)).unwrap();
    assert_eq!((request.payload.as_slice(), request.reply_to.as_str()), (b"ask".as_slice(), "OTHER"));
    assert_eq!(request.persistence, Persistence::NotPersistent);
    let text = |name: &str| request.properties.iter().find(|(found, _)| found == name).unwrap().1.clone();
    assert_eq!((text("number"), text("flag")), (b"7".to_vec(), b"true".to_vec()));
    let mut reply = Message::new(*b"answer");
    reply.correlation = request.id;
    reply.properties = request.properties.clone();
    reply.properties.push(("more".to_owned(), b"x".to_vec()));
    server.store.queue(&request.reply_to).unwrap().put(&mut unit, &reply).unwrap();
    unit.commit().unwrap();

    peer.receiver(1, "OTHER", 1).unwrap();
    let found = peer.whole().unwrap();
    let sections = Sections::split(&found).unwrap();
    let properties = Properties::read(sections.properties.unwrap()).unwrap();
    assert_eq!(properties.correlation_id, Some(own.clone()));
    assert_ne!(properties.message_id, Some(own));
    assert_eq!(properties.reply_to, None);
    let application = quayline_amqp::read_map(sections.application_properties.unwrap()).unwrap();
    assert_eq!(application.len(), 3);
    // The content is text still, as the request's was.
    let mut expected = Vec::new();
    quayline_amqp::write_body(&mut expected, quayline_amqp::BodyKind::Text, b"answer");
    assert_eq!([sections.body.prefix, sections.body.content].concat(), expected);
}

#[test]
fn a_message_from_inside_is_data_with_its_ids() {
    let server = Server::start();
    let mut unit = server.store.begin().unwrap();
    let sent = Message { correlation: *b"AMQ QMGR1   0123456789ab", priority: 9, ..Message::new([0xff, 0]) };
    let id = server.store.queue("Q").unwrap().put(&mut unit, &sent).unwrap();
    unit.commit().unwrap();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 1).unwrap();
    let found = peer.whole().unwrap();
    let sections = Sections::split(&found).unwrap();
    let properties = Properties::read(sections.properties.unwrap()).unwrap();
    assert_eq!(properties.message_id, Some(Value::Binary(id.to_vec())));
    assert_eq!(properties.correlation_id, Some(Value::Binary(b"AMQ QMGR1   0123456789ab".to_vec())));
    assert_eq!((sections.header.durable, sections.header.priority), (true, Some(9)));
    assert_eq!(sections.body.content, [0xff, 0]);
}

#[test]
fn bytes_that_are_no_message_are_rejected_with_their_place() {
    let server = Server::start();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    let mut misplaced = message(true, b"x");
    writer::descriptor(&mut misplaced, 0x73);
    misplaced.push(0x45);
    for (content, part) in [(vec![1, 2, 3], "byte 0"), (misplaced, "comes after a section")] {
        let id = peer.put(0, None, &content).unwrap();
        let quayline_amqp::DeliveryState::Rejected(Some(error)) = peer.outcome(id).unwrap() else { panic!("rejected") };
        assert_eq!(error.condition, "amqp:decode-error");
        assert!(error.description.contains(part), "{error}");
    }
    assert_eq!(server.depth("Q"), 0);
}
