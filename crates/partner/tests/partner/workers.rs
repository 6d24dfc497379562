//! Two workers on one store at the same time, as two processes are.

use std::cell::Cell;
use std::io::{self, Cursor, Write};
use std::thread;
use std::time::Duration;

use quayline_core::Findings;
use quayline_partner::{
    Again, Book, Desk, DeskLimits, Filter, Kind, Ledger, Release, SendReport, SendRequest, State, StoreKey, Way,
};
use quayline_store::Store;

use crate::world::{NOON_MS, World, orders};

/// Numbers of entries in advance, so that workers do not wait for each other's numbers.
const AHEAD: DeskLimits = DeskLimits {
    unit_transactions_max: 64,
    unit_bytes_max: 4 << 20,
    transaction_bytes_max: 1 << 20,
    send_bytes_max: 1 << 20,
    entry_numbers_ahead: 16,
};

/// Does `first` in a unit of work, which commits while another worker that does `second` waits for its locks.
fn overlapped<T, U: Send>(
    world: &World,
    limits: DeskLimits,
    first: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>,
    second: impl FnOnce(&mut Desk<'_>) -> Result<U, Findings> + Send,
) -> (T, Result<U, Findings>) {
    let (book, store): (Book, Store) = (world.book(), world.store());
    let ledger = Ledger::open(&store).expect("files");
    let mut desk = Desk::new(&book, &ledger, limits, || NOON_MS).expect("a worker");
    let mut unit = store.begin().expect("a unit of work");
    let done = desk.in_unit(&mut unit, &[], first).unwrap_or_else(|findings| panic!("{findings}"));
    let second = thread::scope(|scope| {
        let other = scope.spawn(|| second(&mut Desk::new(&book, &ledger, limits, || NOON_MS)?));
        // Long enough to come to the lock. A slower worker sees the committed state, and the test proves less.
        thread::sleep(Duration::from_millis(300));
        unit.commit().expect("committed");
        other.join().expect("no panic")
    });
    assert!(done.files.write().is_empty());
    (done.done, second)
}

fn send(desk: &mut Desk<'_>, order: &str) -> Result<SendReport, Findings> {
    let mut source = Cursor::new(format!("{{\"number\":\"{order}\",\"kind\":\"SA\"}}\n"));
    let request = SendRequest { name: "out.json", to: Some("ACME"), from: None, document: "order", again: Again::Yes };
    desk.send(&request, &mut source)
}

fn delayed() -> World {
    World::with("usage = \"both\"\nenvelope = \"delayed\"\nclose = { age = \"1h\" }", "")
}

/// A worker that released read the documents, then waited for one that added a document. It removed the envelope that counted the new document,
/// which was never sent.
#[test]
fn a_document_that_comes_during_a_release_is_sent() {
    let world = delayed();
    world.sent("order", &["A1", "A2"]);
    let (_, released) =
        overlapped(&world, DeskLimits::default(), |desk| send(desk, "A3"), |desk| desk.release(&Release::All));
    assert_eq!(released.expect("released").interchanges, 1);
    let texts: String = world.files("outbox/ACME").into_iter().map(|(_, text)| text).collect();
    assert!(["A1", "A2", "A3"].iter().all(|order| texts.contains(&format!("*{order}*"))), "{texts}");
    assert_eq!(world.at_desk(DeskLimits::default(), |desk| desk.waiting()).expect("a list"), []);
}

/// Two workers released one envelope: both sent its documents.
#[test]
fn an_envelope_is_released_by_one_of_two_workers() {
    let world = delayed();
    world.sent("order", &["A1", "A2"]);
    let release = |desk: &mut Desk<'_>| desk.release(&Release::All);
    let (first, second) = overlapped(&world, DeskLimits::default(), release, release);
    assert_eq!((first.interchanges, second.expect("released").interchanges), (1, 0));
    assert_eq!(world.files("outbox/ACME").len(), 1);
}

/// Standard output that calls a function with its first bytes: between the commit of a unit of work and the start of the next one.
struct Between<'b> {
    written: &'b Cell<usize>,
    call: Option<Box<dyn FnOnce() + 'b>>,
}

impl Write for Between<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.set(self.written.get() + 1);
        if let Some(call) = self.call.take() {
            call();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Does `work` with a worker that commits each document, and again with another one after the first commit. Returns the code of the first one's
/// error, and the outputs of both.
fn continued(world: &World, work: impl Fn(&mut Desk<'_>) -> Result<(), Findings>) -> (&'static str, usize, usize) {
    let (book, ledger) = (world.book(), world.ledger());
    let limits = DeskLimits { unit_transactions_max: 1, ..DeskLimits::default() };
    let (first, second) = (Cell::new(0), Cell::new(0));
    let at_desk = |out: Between<'_>| {
        let mut desk = Desk::with_output(&book, &ledger, limits, || NOON_MS, Some(Box::new(out)))?;
        work(&mut desk)
    };
    let other = || at_desk(Between { written: &second, call: None }).expect("the source is continued");
    let stopped = at_desk(Between { written: &first, call: Some(Box::new(other)) });
    (stopped.map_or_else(|found| found.0[0].code.0, |()| "none"), first.get(), second.get())
}

/// A worker that waited for a long source continued it after the first unit of work of another one, which went on as well.
#[test]
fn a_source_that_another_worker_continues_is_delivered_once() {
    let world = World::new();
    world.edit("folder:orders", "output");
    let text = orders(1, &["A1", "A2", "A3"]);
    let receive = |desk: &mut Desk<'_>| desk.receive("in.x12", &mut Cursor::new(text.clone()), Again::No).map(|_| ());
    // The second worker, which starts meanwhile, leaves the output of the first unit of work to the first one.
    assert_eq!(continued(&world, receive), ("PTN-307", 1, 2));

    let world = World::with("usage = \"both\"\nsend-to = \"output\"", "");
    let text = "{\"number\":\"A1\",\"kind\":\"SA\"}\n".repeat(3);
    let request = SendRequest { name: "out.json", to: Some("ACME"), from: None, document: "order", again: Again::No };
    let send = |desk: &mut Desk<'_>| desk.send(&request, &mut Cursor::new(text.clone())).map(|_| ());
    assert_eq!(continued(&world, send), ("PTN-307", 1, 2));
}

/// Output of a run that fails after a unit of work is not written again.
#[test]
fn output_of_a_committed_unit_of_work_is_written_once() {
    let world = World::new();
    world.edit("folder:orders", "output");
    world.edit("[settings]\n", "[settings]\nacknowledge-to = \"queue:MISSING\"\n");
    let (book, ledger) = (world.book(), world.ledger());
    let limits = DeskLimits { unit_transactions_max: 1, ..DeskLimits::default() };
    let written = Cell::new(0);
    let at_desk = |work: &dyn Fn(&mut Desk<'_>) -> Result<(), Findings>| {
        let out = Between { written: &written, call: None };
        let mut desk = Desk::with_output(&book, &ledger, limits, || NOON_MS, Some(Box::new(out)))?;
        work(&mut desk)
    };
    let receive =
        |desk: &mut Desk<'_>| desk.receive("in.x12", &mut Cursor::new(orders(1, &["A1", "A2"])), Again::No).map(|_| ());
    at_desk(&receive).expect_err("the queue of the acknowledgment is missing");
    assert_eq!(written.get(), 2);
    at_desk(&|_| Ok(())).expect("a worker");
    assert_eq!(written.get(), 2);
}

/// Two workers saw that a document or interchange was not replaced, and both replaced it: it was delivered or sent twice.
#[test]
fn an_entry_is_replaced_by_one_of_two_workers() {
    let world = World::new();
    world.receive(&orders(1, &["A1"]));
    let document = world.entries(Kind::Transaction)[0].id;
    let reprocess = |desk: &mut Desk<'_>| desk.reprocess(document, None);
    let (_, second) = overlapped(&world, AHEAD, reprocess, reprocess);
    assert_eq!(second.expect_err("replaced already").0[0].code.0, "PTN-303");
    assert_eq!(world.files("orders").len(), 2, "received, and processed once more");

    let world = World::new();
    world.sent("order", &["A1"]);
    let interchange = world.entries(Kind::Interchange)[0].id;
    let reenvelope = |desk: &mut Desk<'_>| desk.reenvelope(interchange);
    let (_, second) = overlapped(&world, AHEAD, reenvelope, reenvelope);
    assert_eq!(second.expect_err("replaced already").0[0].code.0, "PTN-303");
    assert_eq!(world.files("outbox/ACME").len(), 2, "sent, and in one new envelope");

    // The interchange is sent again twice, under two names.
    let interchange = world.entries(Kind::Interchange)[1].id;
    let resend = |desk: &mut Desk<'_>| desk.resend(interchange);
    let (first, second) = overlapped(&world, AHEAD, resend, resend);
    assert_ne!(first, second.expect("sent again"));
    assert_eq!(world.files("outbox/ACME").len(), 4);
    assert_eq!(world.entries(Kind::Transaction).iter().filter(|entry| entry.state == State::Sent).count(), 1);
}

/// Regression: a purge removed the bytes of an interchange, and wrote back the entry as it was before another worker changed it.
#[test]
fn a_purge_keeps_what_another_worker_changes() {
    const DAY_MS: u64 = 86_400_000;
    let settings = "usage = \"both\"\nkeep-days = 10\nkeep-interchanges = \"all\"\nkeep-interchanges-days = 4";
    for (days, is_there) in [(4, true), (10, false)] {
        let world = World::with(settings, "");
        world.receive(&orders(1, &["A1"]));
        let store = world.store();
        let ledger = Ledger::open(&store).expect("files");
        let received = || {
            let entries = world.entries(Kind::Interchange);
            entries.into_iter().find(|entry| entry.way == Way::Received)
        };
        let mut entry = received().expect("received");
        (entry.state, entry.due_ms) = (State::Refused, NOON_MS);
        let mut unit = ledger.begin().expect("a unit of work");
        ledger.update(&mut unit, &entry).expect("changed");
        thread::scope(|scope| {
            let purge = scope.spawn(|| ledger.purge(NOON_MS + days * DAY_MS, None));
            // Long enough to come to the lock.
            thread::sleep(Duration::from_millis(300));
            unit.commit().expect("committed");
            purge.join().expect("no panic").expect("purged");
        });
        let kept = received().map(|entry| (entry.state, entry.details.kept_bytes));
        assert_eq!(kept, is_there.then_some((State::Refused, 0)));
        let refused = Filter { state: Some(State::Refused), limit: 10, ..Filter::default() };
        assert_eq!(world.search(&refused).len(), usize::from(is_there), "no key of a removed entry is left");
    }
}

/// Two workers received one interchange number in different bytes: both saw that it had not come before, and both processed it.
#[test]
fn an_interchange_number_is_processed_by_one_of_two_workers() {
    let world = World::new();
    let receive =
        |desk: &mut Desk<'_>, order: &str| desk.receive("in.x12", &mut Cursor::new(orders(1, &[order])), Again::No);
    let (first, second) = overlapped(&world, AHEAD, |desk| receive(desk, "A1"), |desk| receive(desk, "A2"));
    assert_eq!((first.delivered, second.expect("received").delivered), (1, 0));
    let states: Vec<State> = world.entries(Kind::Transaction).iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::Delivered, State::Duplicate]);
}

/// Two workers gave a store its first key: the second key replaced the first one, which had already encrypted entries.
#[test]
fn a_store_has_the_key_of_one_of_two_workers() {
    let world = World::new();
    let store = world.store();
    let key = |byte: &str| StoreKey::parse(&byte.repeat(32)).expect("a key");
    Ledger::open(&store).expect("files");
    let mut unit = store.begin().expect("a unit of work");
    unit.set_number("partner/key", 7).expect("the digest of another key");
    thread::scope(|scope| {
        let other = scope.spawn(|| Ledger::open_with(&store, Some(key("0a"))));
        thread::sleep(Duration::from_millis(300));
        unit.commit().expect("committed");
        let refused = other.join().expect("no panic").expect_err("another key");
        assert_eq!(refused.0[0].code.0, "PTN-305");
    });
}

/// An acknowledgment was compared with the state before a resend that committed meanwhile, and changed nothing.
#[test]
fn an_acknowledgment_sees_what_another_worker_changes() {
    let world = World::with("usage = \"production\"\nexpect = \"997\"", "");
    world.sent("order", &["A1"]);
    let answer = |number: u32, outcome: &str| {
        format!(
            "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{number:09}*0*P*:~\
             GS*FA*ACME*US*20260401*1200*{number}*X*005010~ST*997*0001~AK1*PO*1~AK9*{outcome}~SE*4*0001~GE*1*{number}~IEA*1*{number:09}~"
        )
    };
    world.receive(&answer(1, "R*1*1*0"));
    let state = || world.entries(Kind::Group).into_iter().find(|group| group.way == Way::Sent).map(|group| group.state);
    assert_eq!(state(), Some(State::Refused));
    let interchange = world.entries(Kind::Interchange)[0].id;
    let mut source = Cursor::new(answer(2, "A*1*1*1"));
    let receive = |desk: &mut Desk<'_>| desk.receive("in.x12", &mut source, Again::No).map(|_| ());
    let (_, received) = overlapped(&world, AHEAD, |desk| desk.resend(interchange), receive);
    received.expect("received");
    assert_eq!(state(), Some(State::Accepted));
}
