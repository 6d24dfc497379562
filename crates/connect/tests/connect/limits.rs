//! Clients that are slow, silent, unknown or disconnected, or that send too much.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_amqp::{AmqpError, DeliveryState, LinkTarget, Performative};
use quayline_connect::{Authenticator, ListenerLimits, ListenerSettings, Transport};
use quayline_store::queue::{Message, QueueDefinition, USER_ID};

use crate::peer::{Answer, Peer, message};
use crate::server::{Server, settings};

fn define(server: &Server, definition: QueueDefinition) {
    let mut unit = server.store.begin().unwrap();
    server.store.define_queue(&mut unit, definition).unwrap();
    unit.commit().unwrap();
}

fn fill(server: &Server, queue: &str, count: usize, bytes: usize) {
    let queue = server.store.queue(queue).unwrap();
    for _ in 0..count {
        let mut unit = server.store.begin().unwrap();
        queue.put(&mut unit, &Message::new(vec![7; bytes])).unwrap();
        unit.commit().unwrap();
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_client_that_does_not_read_or_settle_is_sent_no_more() {
    let limits = ListenerLimits { unsettled_bytes: 5 << 20, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    fill(&server, "Q", 20, 1 << 20);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 1_000).unwrap();
    let mut got = Vec::new();
    for _ in 0..5 {
        got.push(peer.get().unwrap().0);
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.listener.facts().sent, 5);
    // Others are served meanwhile.
    let mut other = Peer::connect(server.listener.address()).unwrap();
    other.sender(0, "OTHER").unwrap();
    let id = other.put(0, None, &message(true, b"x")).unwrap();
    assert_eq!(other.outcome(id).unwrap(), DeliveryState::Accepted);
    // What is settled makes room.
    for id in got {
        peer.settle(id, true, DeliveryState::Accepted).unwrap();
    }
    for _ in 0..5 {
        peer.get().unwrap();
    }
    eventually("the accepted messages are gone", || server.depth("Q") == 15);
}

#[test]
fn a_message_of_100_mb_passes_and_a_larger_one_ends_its_link() {
    const BYTES: usize = 100 << 20;
    let server = Server::start();
    define(&server, QueueDefinition { message_bytes_max: BYTES as u64, ..QueueDefinition::local("HUGE") });
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    let attached = peer.sender(0, "HUGE").unwrap();
    assert_eq!(attached.max_message_size, Some((BYTES as u64) + (1 << 20)));
    let content: Vec<u8> = (0_u32..).flat_map(u32::to_le_bytes).take(BYTES).collect();
    let id = peer.put(0, None, &message(true, &content)).unwrap();
    assert_eq!(peer.outcome(id).unwrap(), DeliveryState::Accepted);
    peer.receiver(1, "HUGE", 1).unwrap();
    let (id, _, found) = peer.get().unwrap();
    assert!(found == content);
    peer.settle(id, false, DeliveryState::Accepted).unwrap();
    peer.confirmed(id).unwrap();
    assert_eq!(server.depth("HUGE"), 0);
    peer.put(0, None, &message(true, &[content.as_slice(), &[0; 2 << 20]].concat())).unwrap();
    let error = peer.until(|answer| match answer.performative {
        Performative::Detach(detach) => detach.error,
        _ => None,
    });
    assert_eq!(error.unwrap().condition, "amqp:link:message-size-exceeded");
}

#[test]
fn connections_that_say_nothing_end() {
    let limits = ListenerLimits { handshake_ms: 200, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    let mut silent: Vec<Peer> = (0..10).map(|_| Peer::raw(server.listener.address()).unwrap()).collect();
    silent[0].bytes(b"AMQ").unwrap();
    eventually("all were accepted", || server.listener.facts().accepted == 10);
    eventually("all have ended", || server.listener.facts().connections == 0);
    assert_eq!(server.listener.facts().refused, 10);
}

#[test]
fn the_limit_on_connections_refuses_and_frees() {
    let limits = ListenerLimits { connections: 2, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    let first = Peer::connect(server.listener.address()).unwrap();
    let _second = Peer::connect(server.listener.address()).unwrap();
    assert!(Peer::connect(server.listener.address()).is_err());
    drop(first);
    eventually("the place is free", || server.listener.facts().connections == 1);
    Peer::connect(server.listener.address()).unwrap();
}

#[derive(Debug)]
struct OneUser;

impl Authenticator for OneUser {
    fn mechanisms(&self, _transport: Transport) -> Vec<String> {
        vec!["PLAIN".to_owned()]
    }

    fn password(&self, user: &str, password: &str) -> Option<String> {
        (user == "clerk" && password == "secret").then(|| user.to_owned())
    }

    fn certificate(&self, _certificate: &[u8]) -> Option<String> {
        None
    }
}

#[test]
fn a_user_needs_the_right_password_and_nobody_leaves_sasl_out() {
    let server = Server::with(ListenerSettings { authenticator: Arc::new(OneUser), ..settings() });
    let address = server.listener.address();
    assert_eq!(Peer::plain(address, "clerk", "secret").unwrap().1, 0);
    assert_eq!(Peer::plain(address, "clerk", "wrong").unwrap().1, 1);
    assert_eq!(Peer::plain(address, "somebody", "secret").unwrap().1, 1);
    assert!(Peer::connect(address).is_err());
    assert_eq!(server.listener.facts().unauthenticated, 2);
}

/// Messages did not name their sender, so flows could not keep the order of a user.
#[test]
fn a_message_has_the_user_of_its_login_and_nobody_sends_for_another() {
    let named = |user: Option<&str>| {
        let mut out = Vec::new();
        quayline_amqp::Header { durable: true, ..Default::default() }.write(&mut out);
        let user_id = user.map(|user| user.as_bytes().to_vec());
        quayline_amqp::Properties { user_id, ..Default::default() }.write(&mut out);
        let text = |text: &str| quayline_amqp::Value::String(text.to_owned());
        quayline_amqp::write_application_properties(&mut out, vec![(text(USER_ID), text("boss"))]);
        quayline_amqp::write_body(&mut out, quayline_amqp::BodyKind::Data, b"x");
        out
    };
    let users = |server: &Server| -> Vec<Vec<String>> {
        let found = server.store.queue("Q").unwrap().browse(&server.store.begin().unwrap(), None, 9).unwrap();
        let of = |properties: &[(String, Vec<u8>)]| {
            let users = properties.iter().filter(|(name, _)| name == USER_ID);
            users.map(|(_, user)| String::from_utf8(user.clone()).unwrap()).collect()
        };
        found.iter().map(|found| of(&found.message.properties)).collect()
    };
    let server = Server::with(ListenerSettings { authenticator: Arc::new(OneUser), ..settings() });
    let mut peer = Peer::plain(server.listener.address(), "clerk", "secret").unwrap().0.opened().unwrap();
    peer.sender(0, "Q").unwrap();
    for user in [None, Some("clerk")] {
        let id = peer.put(0, None, &named(user)).unwrap();
        assert_eq!(peer.outcome(id).unwrap(), DeliveryState::Accepted);
    }
    let id = peer.put(0, None, &named(Some("boss"))).unwrap();
    let DeliveryState::Rejected(Some(error)) = peer.outcome(id).unwrap() else { panic!("it names another user") };
    assert_eq!(error.condition, "amqp:unauthorized-access");
    assert_eq!(users(&server), [["clerk"], ["clerk"]]);
    // Without a login, nothing is known of the user, whatever the message says.
    let server = Server::start();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    let id = peer.put(0, None, &named(Some("boss"))).unwrap();
    assert_eq!(peer.outcome(id).unwrap(), DeliveryState::Accepted);
    assert_eq!(users(&server), [Vec::<String>::new()]);
}

/// A program that dies on a message dies on the first that it has; the others were only sent ahead.
#[test]
fn a_broken_connection_counts_against_the_oldest_message_only() {
    let server = Server::start();
    fill(&server, "Q", 3, 1);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 10).unwrap();
    for _ in 0..3 {
        assert_eq!(peer.get().unwrap().1, 0);
    }
    drop(peer);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 10).unwrap();
    let counts: Vec<u32> = (0..3).map(|_| peer.get().unwrap().1).collect();
    assert_eq!(counts, [1, 0, 0]);
    // A close counts nothing.
    peer.send(Performative::Close(None), b"").unwrap();
    peer.until(|answer| matches!(answer.performative, Performative::Close(_)).then_some(())).unwrap();
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 10).unwrap();
    let counts: Vec<u32> = (0..3).map(|_| peer.get().unwrap().1).collect();
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn a_server_that_stops_says_so_and_keeps_what_was_not_settled() {
    let server = Server::start();
    fill(&server, "Q", 2, 1);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.receiver(0, "Q", 10).unwrap();
    peer.get().unwrap();
    let store = server.store.clone();
    let stopping = std::thread::spawn(move || server.listener.stop());
    let error = peer.until(|answer| match answer.performative {
        Performative::Close(error) => error,
        _ => None,
    });
    assert_eq!(error.unwrap().condition, "amqp:connection:forced");
    drop(peer);
    stopping.join().unwrap();
    let found = store.queue("Q").unwrap().browse(&store.begin().unwrap(), None, 9).unwrap();
    assert_eq!(found.iter().map(|found| found.message.backout_count).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn a_transaction_that_is_open_too_long_is_rolled_back() {
    let limits = ListenerLimits { transaction_ms: 100, transactions: 1, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    assert!(matches!(peer.coordinator(0).unwrap().target, Some(LinkTarget::Coordinator(_))));
    peer.sender(1, "Q").unwrap();
    let txn_id = peer.declare(0).unwrap();
    assert!(peer.declare(0).unwrap_err().to_string().contains("amqp:resource-limit-exceeded"));
    let state = DeliveryState::Transactional { txn_id: txn_id.clone(), outcome: None };
    let id = peer.put(1, Some(state), &message(true, b"x")).unwrap();
    assert!(matches!(peer.outcome(id).unwrap(), DeliveryState::Transactional { outcome: Some(_), .. }));
    std::thread::sleep(Duration::from_millis(300));
    let DeliveryState::Rejected(Some(AmqpError { condition, description })) =
        peer.discharge(0, &txn_id, false).unwrap()
    else {
        panic!("it is too old")
    };
    assert_eq!(condition, "amqp:transaction:rollback");
    assert!(description.contains("amqp:transaction:timeout"), "{description}");
    assert_eq!(server.depth("Q"), 0);
    let unknown = peer.discharge(0, &txn_id, false).unwrap();
    assert!(
        matches!(unknown, DeliveryState::Rejected(Some(error)) if error.condition == "amqp:transaction:unknown-id")
    );
}

/// The limits of connections multiplied: ten clients could open as many units of work as the store permits, and all other work stopped.
#[test]
fn transactions_of_all_clients_have_a_limit_together() {
    let limits = ListenerLimits { transactions_all: 3, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    let mut first = Peer::connect(server.listener.address()).unwrap();
    first.coordinator(0).unwrap();
    let txn_id = first.declare(0).unwrap();
    first.declare(0).unwrap();
    let mut second = Peer::connect(server.listener.address()).unwrap();
    second.coordinator(0).unwrap();
    second.declare(0).unwrap();
    let refused = second.declare(0).unwrap_err().to_string();
    assert!(refused.contains("amqp:resource-limit-exceeded") && refused.contains("all clients"), "{refused}");
    // A transaction that ends makes room, and so does a connection.
    assert_eq!(first.discharge(0, &txn_id, false).unwrap(), DeliveryState::Accepted);
    second.declare(0).unwrap();
    assert!(second.declare(0).is_err());
    drop(first);
    eventually("its transaction is rolled back", || server.listener.facts().rolled_back == 1);
    second.declare(0).unwrap();
}

/// The listener claimed and returned the same message for ever, on a thread that serves other clients too.
#[test]
fn a_link_that_sends_settled_ends_if_the_store_begins_no_unit() {
    let server = Server::start();
    fill(&server, "Q", 3, 1);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    // The first message brings the others into memory, so that they can be claimed without a unit of work.
    peer.settled_receiver(0, "Q", 1).unwrap();
    peer.get().unwrap();
    eventually("it is deleted", || server.depth("Q") == 2 && server.store.units_open() == 0);
    let units = server.all_units();
    peer.credit(0, 1, 10).unwrap();
    let error = peer.detached().unwrap();
    assert!(error.contains("amqp:resource-limit-exceeded") && error.contains("units_open_max"), "{error}");
    drop(units);
    peer.settled_receiver(1, "Q", 10).unwrap();
    for _ in 0..2 {
        peer.get().unwrap();
    }
    eventually("both are deleted", || server.depth("Q") == 0);
}

/// The client's outcome was lost: no answer, and the message came again without a word.
#[test]
fn an_outcome_that_the_store_cannot_take_is_reported() {
    let server = Server::start();
    let rejected = DeliveryState::Rejected(None);
    for (state, count) in [(DeliveryState::Accepted, 0), (rejected, 1)] {
        fill(&server, "Q", 1, 1);
        let mut peer = Peer::connect(server.listener.address()).unwrap();
        peer.receiver(0, "Q", 1).unwrap();
        let (id, ..) = peer.get().unwrap();
        let units = server.all_units();
        peer.settle(id, false, state).unwrap();
        assert_eq!(peer.confirmed(id).unwrap(), Some(DeliveryState::Released));
        let error = peer.detached().unwrap();
        assert!(error.contains("units_open_max"), "{error}");
        drop(units);
        peer.receiver(1, "Q", 1).unwrap();
        let (id, found, _) = peer.get().unwrap();
        assert_eq!(found, count);
        peer.settle(id, false, DeliveryState::Accepted).unwrap();
        peer.confirmed(id).unwrap();
    }
}

/// The server closed the connection while the messages were on their way to the disk. The client sent them again, and they were on the queue twice.
#[test]
fn a_server_that_stops_acknowledges_what_it_commits() {
    const COUNT: u32 = 300;
    let server = Server::on_slow_disk(Duration::from_millis(300));
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    for _ in 0..COUNT {
        peer.put(0, None, &message(true, b"x")).unwrap();
    }
    // The units of work have begun to commit, and none is durable.
    eventually("a commit is in progress", || server.store.units_open() > 0);
    assert_eq!(server.listener.facts().received, 0);
    let store = server.store.clone();
    let stopping = std::thread::spawn(move || server.listener.stop());
    let mut accepted = 0;
    let error = peer.until(|answer| match answer.performative {
        Performative::Disposition(found) => {
            assert_eq!(found.state, Some(DeliveryState::Accepted));
            accepted += u64::from(found.last.unwrap_or(found.first) - found.first + 1);
            None
        }
        Performative::Close(error) => error,
        _ => None,
    });
    assert_eq!(error.unwrap().condition, "amqp:connection:forced");
    drop(peer);
    stopping.join().unwrap();
    assert!(accepted > 0);
    assert_eq!(store.queue("Q").unwrap().facts().unwrap().depth, accepted);
}

/// Regression: the links of a client that broke the protocol or fell silent counted as closed. A message that kills its client was then delivered
/// again and again.
#[test]
fn a_client_that_breaks_the_protocol_or_hangs_counts_against_its_oldest_message() {
    let limits = ListenerLimits { idle_ms: 1_000, ..ListenerLimits::default() };
    for is_silent in [false, true] {
        let server = Server::with(ListenerSettings { limits, ..settings() });
        fill(&server, "Q", 2, 1);
        let mut peer = Peer::connect(server.listener.address()).unwrap();
        peer.receiver(0, "Q", 10).unwrap();
        for _ in 0..2 {
            assert_eq!(peer.get().unwrap().1, 0);
        }
        if !is_silent {
            peer.bytes(&[0xff; 64]).unwrap();
        }
        let closed = |answer: Answer| match answer.performative {
            Performative::Close(error) => error,
            _ => None,
        };
        let error = peer.until(closed).unwrap();
        let expected = if is_silent { "amqp:resource-limit-exceeded" } else { "amqp:connection:framing-error" };
        assert_eq!(error.condition, expected);
        let mut peer = Peer::connect(server.listener.address()).unwrap();
        peer.receiver(0, "Q", 10).unwrap();
        let counts: Vec<u32> = (0..2).map(|_| peer.get().unwrap().1).collect();
        assert_eq!(counts, [1, 0], "silent: {is_silent}");
    }
}

/// Declares a transaction with the outcome of the first message of Q.
fn with_outcome(peer: &mut Peer, outcome: DeliveryState) -> Vec<u8> {
    peer.coordinator(0).unwrap();
    peer.receiver(1, "Q", 1).unwrap();
    let (id, ..) = peer.get().unwrap();
    let txn_id = peer.declare(0).unwrap();
    let state = DeliveryState::Transactional { txn_id: txn_id.clone(), outcome: Some(Box::new(outcome)) };
    peer.settle(id, true, state).unwrap();
    txn_id
}

/// The message returned to its queue, and came to the same client again.
#[test]
fn a_message_that_cannot_be_delivered_moves_away_with_its_transaction() {
    let server = Server::start();
    fill(&server, "Q", 1, 1);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    let outcome =
        DeliveryState::Modified { delivery_failed: false, undeliverable_here: true, message_annotations: None };
    let txn_id = with_outcome(&mut peer, outcome);
    assert_eq!(peer.discharge(0, &txn_id, false).unwrap(), DeliveryState::Accepted);
    assert_eq!((server.depth("Q"), server.depth("DEAD.LETTER")), (0, 1));
}

/// The transaction failed with all its other messages, as often as the client repeated it.
#[test]
fn a_message_that_is_rejected_without_a_backout_queue_returns_with_its_transaction() {
    let server = Server::start();
    server.store.delete_queue("DEAD.LETTER").unwrap();
    fill(&server, "Q", 1, 1);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    let txn_id = with_outcome(&mut peer, DeliveryState::Rejected(None));
    peer.sender(2, "OTHER").unwrap();
    let state = DeliveryState::Transactional { txn_id: txn_id.clone(), outcome: None };
    peer.put(2, Some(state), &message(true, b"x")).unwrap();
    assert_eq!(peer.discharge(0, &txn_id, false).unwrap(), DeliveryState::Accepted);
    assert_eq!((server.depth("Q"), server.depth("OTHER")), (1, 1));
    peer.credit(1, 1, 1).unwrap();
    assert_eq!(peer.get().unwrap().1, 1);
}

/// The message came in spite of the limit, and a client that refuses it by an error got it again at once.
#[test]
fn a_message_that_is_longer_than_its_receiver_takes_ends_the_link() {
    let server = Server::start();
    fill(&server, "Q", 1, 5_000);
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    for (handle, mode) in [(0, "copy"), (1, "move")] {
        peer.receiver_of(handle, "Q", mode, 5_000).unwrap();
        let error = peer.detached().unwrap();
        assert!(error.contains("amqp:link:message-size-exceeded") && error.contains("at most 5000"), "{mode}: {error}");
    }
    // Only the get counts.
    peer.receiver_of(2, "Q", "move", 6_000).unwrap();
    let (_, count, content) = peer.get().unwrap();
    assert_eq!((count, content.len()), (1, 5_000));
}

/// Aborted messages used up the credit, and the listener granted no more.
#[test]
fn a_client_can_send_after_any_number_of_aborted_messages() {
    let limits = ListenerLimits { credit: 4, ..ListenerLimits::default() };
    let server = Server::with(ListenerSettings { limits, ..settings() });
    let mut peer = Peer::connect(server.listener.address()).unwrap();
    peer.sender(0, "Q").unwrap();
    peer.coordinator(1).unwrap();
    for handle in [0, 1] {
        for _ in 0..200 {
            peer.abort(handle).unwrap();
        }
    }
    let id = peer.put(0, None, &message(true, b"x")).unwrap();
    assert_eq!(peer.outcome(id).unwrap(), DeliveryState::Accepted);
    peer.declare(1).unwrap();
}
