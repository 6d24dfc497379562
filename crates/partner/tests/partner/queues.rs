//! Sources on queues.

use quayline_core::Findings;
use quayline_partner::{Desk, DeskLimits, Kind, Part, State};
use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Store, StoreError};

use crate::crash::at_every_commit;
use crate::world::{World, orders};

fn of_store(error: StoreError) -> Findings {
    error.finding().into()
}

fn put(store: &Store, queue: &str, messages: &[&str]) -> Result<(), Findings> {
    if let Err(StoreError::QueueMissing { .. }) = store.queue(queue) {
        let mut unit = store.begin().map_err(of_store)?;
        store.define_queue(&mut unit, QueueDefinition::local(queue)).map_err(of_store)?;
        unit.commit().map_err(of_store)?;
    }
    let mut unit = store.begin().map_err(of_store)?;
    let open = store.queue(queue).map_err(of_store)?;
    for message in messages {
        open.put(&mut unit, &Message::new(message.as_bytes())).map_err(of_store)?;
    }
    unit.commit().map(|_| ()).map_err(of_store)
}

fn depth(world: &World, queue: &str) -> u64 {
    world.store().queue(queue).expect("a queue").facts().expect("facts").depth
}

fn receive_all(desk: &mut Desk<'_>) -> Result<u64, Findings> {
    let mut messages = 0;
    while desk.receive_from("IN")?.is_some() {
        messages += 1;
    }
    Ok(messages)
}

fn send_all(desk: &mut Desk<'_>, document: &str) -> Result<(u64, u64), Findings> {
    let (mut sent, mut rejected) = (0, 0);
    while let Some((_, report)) = desk.send_from("OUT", document)? {
        sent += report.sent;
        rejected += report.rejected;
    }
    Ok((sent, rejected))
}

#[test]
fn messages_are_received_whatever_they_hold() {
    let world = World::new();
    let two = orders(1, &["PO1", "PO2"]) + &orders(2, &["PO3"]);
    put(&world.store(), "IN", &[&two, "no interchange", &orders(1, &["PO1"])]).expect("put");
    let messages = world.at_desk(DeskLimits::default(), receive_all).expect("received");
    assert_eq!((messages, depth(&world, "IN")), (3, 0));
    assert_eq!(world.files("orders").len(), 3);
    let states: Vec<State> = world.entries(Kind::Interchange).iter().map(|entry| entry.state).collect();
    let acknowledgment = State::Sent;
    assert!(states.contains(&acknowledgment));
    let received: Vec<State> = states.into_iter().filter(|state| *state != acknowledgment).collect();
    // What is no interchange is kept, and what came before is found by its number.
    assert_eq!(received, [State::Delivered, State::Delivered, State::Unrouted, State::Duplicate]);
    let unknown = world.entries(Kind::Interchange).into_iter().find(|entry| entry.state == State::Unrouted);
    let unknown = unknown.expect("an entry");
    assert!(unknown.details.source.starts_with("queue:IN/"), "{unknown:?}");
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    let body = ledger.body(&unit, unknown.id, Part::Document).expect("readable");
    assert_eq!(body.as_deref(), Some(&b"no interchange"[..]));
}

#[test]
fn a_message_whose_delivery_fails_is_on_the_queue_again() {
    let world = World::with("usage = \"both\"", "");
    world.write(
        "partners/acme.toml",
        &std::fs::read_to_string(world.path("partners/acme.toml"))
            .expect("a file")
            .replace("folder:orders", "queue:MISSING"),
    );
    put(&world.store(), "IN", &[&orders(1, &["PO1", "PO2"])]).expect("put");
    let failed = world.at_desk(DeskLimits::default(), receive_all).expect_err("there is no queue");
    assert_eq!(failed.0[0].code.0, "PTN-300");
    assert_eq!((depth(&world, "IN"), world.entries(Kind::Transaction).len()), (1, 0));
    put(&world.store(), "MISSING", &[]).expect("defined");
    assert_eq!(world.at_desk(DeskLimits::default(), receive_all).expect("received"), 1);
    assert_eq!((depth(&world, "IN"), depth(&world, "MISSING")), (0, 2));
}

#[test]
fn messages_are_sent_or_kept_with_their_findings() {
    let world = World::new();
    let good = "{\"number\":\"A1\",\"kind\":\"SA\"}\n{\"number\":\"A2\",\"kind\":\"SA\"}\n";
    put(&world.store(), "OUT", &[good, "{\"number\":", "{\"number\":\"A3\",\"kind\":\"SA\"}\n"]).expect("put");
    // Our rule names no partner, so nothing can be sent; nothing is lost either.
    let done = world.at_desk(DeskLimits::default(), |desk| send_all(desk, "order")).expect("taken");
    assert_eq!((done, depth(&world, "OUT")), ((0, 4), 0));
    put(&world.store(), "OUT", &["{\"number\":\"A4\",\"kind\":\"SA\"}\n"]).expect("put");
    let done = world.at_desk(DeskLimits::default(), |desk| send_all(desk, "unknown")).expect("taken");
    assert_eq!(done, (0, 1));
    let entries = world.entries(Kind::Transaction);
    assert_eq!(entries.len(), 5);
    assert!(entries.iter().all(|entry| entry.state == State::Rejected && !entry.details.findings.is_empty()));
    let last = entries.last().expect("an entry");
    assert_eq!(last.details.findings[0].code, "PTN-105", "{last:?}");
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    let body = ledger.body(&unit, last.id, Part::Source).expect("readable").expect("kept");
    assert_eq!(body, b"{\"number\":\"A4\",\"kind\":\"SA\"}\n");
}

#[test]
fn messages_are_neither_lost_nor_received_twice() {
    let many = orders(7, &["PO1", "PO2", "PO3", "PO4", "PO5"]) + &orders(8, &["PO6"]);
    let messages = [many.as_str(), "no interchange", &orders(9, &["PO7", "PO8", "PO9"])];
    let prepare = |desk: &mut Desk<'_>| put(desk.ledger().store(), "IN", &messages);
    at_every_commit("usage = \"both\"", &prepare, &|desk| receive_all(desk).map(|_| ()));
}
