//! Output that rules and settings deliver to `output`: standard output of a command, and the unit of work of a caller.

use std::cell::{Cell, RefCell};
use std::io::{self, Cursor, Write};
use std::rc::Rc;

use quayline_core::Findings;
use quayline_partner::{
    Again, Desk, DeskLimits, HandedOutput, Kind, Ledger, OutputKind, ReceiveReport, SendReport, SendRequest, State,
};

use crate::world::{World, interchange, orders};

/// A stream that a test can close.
#[derive(Clone, Default)]
struct Stream {
    text: Rc<RefCell<Vec<u8>>>,
    is_closed: Rc<Cell<bool>>,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.text.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    fn text(&self) -> String {
        String::from_utf8(self.text.borrow().clone()).expect("text")
    }
}

const RULE: &str = "[[rule]]\nname = \"output\"\ndirection = \"receive\"\ndocument = \"850\"\nversion = \"005010\"\nmap = \"maps/in.qmap\"\ndeliver = \"output\"\n";

fn world(settings: &str) -> World {
    World::with(settings, RULE)
}

fn at_desk<T>(
    world: &World,
    stream: Option<&Stream>,
    work: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>,
) -> Result<T, Findings> {
    let (book, ledger) = (world.book(), world.ledger());
    let stream = stream.map(|stream| Box::new(stream.clone()) as Box<dyn Write>);
    let now = || world.now_ms.get();
    let mut desk = Desk::with_output(&book, &ledger, DeskLimits::default(), now, stream)?;
    work(&mut desk)
}

fn receive(world: &World, stream: Option<&Stream>, edi: &str) -> Result<ReceiveReport, Findings> {
    let mut source = Cursor::new(edi.as_bytes().to_vec());
    at_desk(world, stream, |desk| desk.receive("in.x12", &mut source, Again::No))
}

fn send(world: &World, stream: Option<&Stream>, order: &str) -> Result<SendReport, Findings> {
    let mut source = Cursor::new(made(order).into_bytes());
    let request = SendRequest { name: "out.json", to: Some("ACME"), from: None, document: "order", again: Again::Yes };
    at_desk(world, stream, |desk| desk.send(&request, &mut source))
}

fn made(order: &str) -> String {
    format!("{{\"number\":\"{order}\",\"kind\":\"SA\"}}\n")
}

#[test]
fn documents_acknowledgments_and_interchanges_go_to_the_stream() {
    let world = world("acknowledge-to = \"output\"\nsend-to = \"output\"");
    let stream = Stream::default();
    let report = receive(&world, Some(&stream), &orders(1, &["PO1", "PO2"])).expect("received");
    assert!(report.is_good(), "{report:?}");
    let text = stream.text();
    let (documents, answer) = text.split_at(text.find("ISA").expect("an acknowledgment"));
    assert_eq!(documents, made("PO1") + &made("PO2"));
    assert!(answer.contains("AK9*A*2*2*2"), "{answer}");
    let stream = Stream::default();
    send(&world, Some(&stream), "A1").expect("sent");
    assert!(stream.text().contains("BEG*00*SA*A1**20260401"), "{}", stream.text());
    let outputs: Vec<_> =
        world.entries(Kind::Interchange).into_iter().flat_map(|entry| entry.details.outputs).collect();
    assert_eq!(outputs, ["output", "output"]);
}

#[test]
fn a_stream_that_is_closed_loses_and_repeats_nothing() {
    let world = world("acknowledge = []");
    let stream = Stream::default();
    stream.is_closed.set(true);
    let report = receive(&world, Some(&stream), &orders(1, &["PO1"])).expect("received");
    let (_, found) = &report.findings[0];
    assert!(found.code.0 == "PTN-300" && found.message.contains("standard output cannot be written"), "{found}");
    let left = world.ledger().outbox_page(None, 10).expect("a page").files;
    assert_eq!((left.len(), &left[0].path, left[0].bytes), (1, &None, made("PO1").len() as u64), "{left:?}");
    // A worker without a stream, such as the server, leaves it alone.
    assert!(at_desk(&world, None, |desk| Ok(desk.take_undelivered())).expect("a desk").is_empty());
    stream.is_closed.set(false);
    for number in 2..=3 {
        receive(&world, Some(&stream), &orders(number, &[&format!("PO{number}")])).expect("received");
    }
    assert_eq!(stream.text(), made("PO1") + &made("PO2") + &made("PO3"));
}

#[test]
fn output_that_nothing_takes_is_refused() {
    let world = world("send-to = \"output\"\nacknowledge-to = \"folder:answers\"");
    let report = receive(&world, None, &orders(1, &["PO1"])).expect("received");
    assert_eq!((report.delivered, report.rejected), (0, 1));
    let rejected = world.entries(Kind::Transaction).pop().expect("the document");
    assert_eq!((rejected.state, &*rejected.details.findings[0].code), (State::Rejected, "PTN-300"));
    let found = send(&world, None, "A1").expect_err("nothing takes it").to_string();
    assert!(found.contains("the interchange goes to `output`"), "{found}");
    assert_eq!(world.entries(Kind::Transaction).len(), 1, "the unit of work is undone");
    // A command takes it.
    let stream = Stream::default();
    let done = at_desk(&world, Some(&stream), |desk| desk.reprocess(rejected.id, None)).expect("processed");
    assert_eq!((done.state, stream.text()), (State::Delivered, made("PO1")));
}

/// Receives in a unit of work of the caller.
fn in_unit(
    desk: &mut Desk<'_>,
    unit: &mut quayline_store::Unit,
    edi: &str,
) -> Result<(Vec<HandedOutput>, quayline_partner::PendingFiles), Findings> {
    let kinds = [OutputKind::Document];
    let done = desk.in_unit(unit, &kinds, |desk| desk.receive("m", &mut Cursor::new(edi.as_bytes()), Again::Yes))?;
    assert!(done.done.is_good(), "{:?}", done.done);
    Ok((done.outputs, done.files))
}

#[test]
fn a_unit_of_work_of_the_caller_is_neither_committed_nor_dropped() {
    let world = world("acknowledge-to = \"folder:answers\"");
    let (book, ledger) = (world.book(), world.ledger());
    let limits = DeskLimits { unit_transactions_max: 1, ..DeskLimits::default() };
    let mut desk = Desk::new(&book, &ledger, limits, || world.now_ms.get()).expect("a desk");
    let mut unit = ledger.begin().expect("a unit");
    unit.put_checkpoint("before", b"1").expect("put");
    let (outputs, files) = in_unit(&mut desk, &mut unit, &orders(1, &["PO1", "PO2", "PO3"])).expect("received");
    let texts: Vec<_> = outputs.iter().map(|one| String::from_utf8(one.bytes.clone()).expect("text")).collect();
    assert_eq!(texts, ["PO1", "PO2", "PO3"].map(made));
    assert!(world.entries(Kind::Transaction).is_empty(), "it is not committed");
    // What fails is undone, and the unit stays usable.
    let failed = desk.in_unit(&mut unit, &[], |desk| {
        desk.receive("m", &mut Cursor::new(orders(2, &["PO4"]).as_bytes()), Again::Yes)?;
        Err::<(), _>(Findings(Vec::new()))
    });
    assert!(failed.is_err());
    drop((files, unit));
    assert_eq!((world.entries(Kind::Transaction).len(), world.files("answers").len()), (0, 0));
    let mut unit = ledger.begin().expect("a unit");
    let (_, files) = in_unit(&mut desk, &mut unit, &orders(1, &["PO1"])).expect("received");
    unit.commit().expect("a commit");
    assert_eq!((world.entries(Kind::Transaction).len(), world.files("answers").len()), (1, 0));
    assert!(files.write().is_empty());
    assert_eq!(world.files("answers").len(), 1);
    // The files of the unit are out of the store, so the next worker does not write them again.
    std::fs::remove_dir_all(world.path("answers")).expect("removed");
    let mut unit = ledger.begin().expect("a unit");
    let (_, files) = in_unit(&mut desk, &mut unit, &orders(2, &["PO2"])).expect("received");
    unit.commit().expect("a commit");
    // A worker that comes first writes them, and the caller then finds nothing to do.
    drop(Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk"));
    assert_eq!(world.files("answers").len(), 1);
    std::fs::remove_dir_all(world.path("answers")).expect("removed");
    assert!(files.write().is_empty());
    assert!(world.files("answers").is_empty());
}

/// A unit that does not hold its thread gets the finding of a lock, and its changes are undone.
#[test]
fn a_lock_of_another_unit_is_a_finding_and_the_work_can_be_repeated() {
    let world = world("acknowledge-to = \"folder:answers\"");
    let (book, ledger) = (world.book(), world.ledger());
    let mut desk = Desk::new(&book, &ledger, DeskLimits::default(), || world.now_ms.get()).expect("a desk");
    let mut holder = ledger.begin().expect("a unit");
    let (_, held) = in_unit(&mut desk, &mut holder, &orders(1, &["PO1"])).expect("received");
    let mut unit = ledger.begin().expect("a unit");
    unit.wake_for_locks(std::task::Waker::noop());
    let found = in_unit(&mut desk, &mut unit, &orders(2, &["PO2"])).expect_err("a lock").to_string();
    assert!(found.contains("STO-009"), "{found}");
    assert!(unit.is_empty());
    holder.commit().expect("a commit");
    assert!(held.write().is_empty());
    in_unit(&mut desk, &mut unit, &orders(2, &["PO2"])).expect("the lock is free");
    unit.commit().expect("a commit");
    assert_eq!(world.entries(Kind::Transaction).len(), 2);
}

/// Numbers that were taken in advance are not used a day later, because searches by time rely on their order.
#[test]
fn numbers_of_entries_taken_in_advance_are_used_for_an_hour() {
    let world = World::with("acknowledge = []", "");
    let (book, ledger) = (world.book(), world.ledger());
    let limits = DeskLimits { entry_numbers_ahead: 100, ..DeskLimits::default() };
    let mut desk = Desk::new(&book, &ledger, limits, || world.now_ms.get()).expect("a desk");
    let mut take = |number: u32| {
        let text = interchange(number, "P", &[("PO1", "SA")]);
        desk.receive("in.x12", &mut Cursor::new(text.into_bytes()), Again::Yes).expect("received");
    };
    take(1);
    take(2);
    world.now_ms.set(world.now_ms.get() + 3_600_000);
    take(3);
    let numbers: Vec<u64> = world.entries(Kind::Interchange).iter().map(|entry| entry.id.0).collect();
    assert_eq!(numbers, [1, 4, 101]);
}

fn records(ledger: &Ledger, records: &[&[u8]], longest: u32) {
    use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
    let store = ledger.store();
    let mut unit = store.begin().expect("a unit");
    let definition = FileDefinition {
        name: "BILLING".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 2 }),
        record_bytes_min: 2,
        record_bytes_max: longest,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).expect("defined");
    for record in records {
        file.insert(&mut unit, record).expect("inserted");
    }
    unit.commit().expect("committed");
}

const OUT: &str = r#"map "record to order"
source "../billing.toml"
target order "../tiny.guide"
omit standard
make BEG {
  BEG01 = "00"
  BEG02 = "SA"
  BEG03 = ID
  BEG05 = "20260401"
}
make N1 {
  N1.N101 = "BY"
  N1.N102 = "US"
}
make PO1 {
  PO1.PO101 = "1"
  PO1.PO102 = 1
  PO1.PO103 = "EA"
  PO1.PO104 = 1
  PO1.PO106 = "VP"
  PO1.PO107 = "X"
}
CTT.CTT.CTT01 = 1
"#;

/// Sends the record file to ACME; the layout of the map has this framing.
fn send_records(framing: &str, document: &str) -> (World, Result<SendReport, Findings>) {
    let world = World::new();
    world.write(
        "billing.toml",
        &format!("layout = \"record\"\ncopybook = \"billing.cpy\"\nencoding = \"ascii\"\nframing = \"{framing}\"\n"),
    );
    world.write("billing.cpy", "       01  BILLING.\n           05  ID  PIC X(4).\n");
    world.write("maps/out.qmap", OUT);
    records(&world.ledger(), &[b"B002", b"A001", b"C003"], 4);
    let request = SendRequest { name: "file:BILLING", to: Some("ACME"), from: None, document, again: Again::No };
    let done = world.at_desk(DeskLimits::default(), |desk| {
        let bytes = desk.records_to_send(&request, "BILLING")?;
        desk.send(&request, &mut Cursor::new(bytes))
    });
    (world, done)
}

#[test]
fn the_records_of_a_file_are_documents_in_the_order_of_its_key() {
    for framing in ["rdw", "fixed:4", "vb"] {
        let (world, done) = send_records(framing, "order");
        let done = done.unwrap_or_else(|findings| panic!("{framing}: {findings}"));
        assert_eq!((done.sent, done.rejected), (3, 0), "{framing}: {done:?}");
        let entries = world.entries(Kind::Transaction);
        let fields: Vec<_> = entries.iter().map(|entry| entry.details.fields[0].1.as_str()).collect();
        assert_eq!(fields, ["A001", "B002", "C003"], "{framing}");
        assert_eq!(entries[0].details.source, "file:BILLING");
    }
}

#[test]
fn records_that_the_map_cannot_read_are_refused() {
    let found = |framing, document| send_records(framing, document).1.expect_err("refused").to_string();
    let wrong = found("fixed:5", "order");
    assert!(wrong.contains("a record has 4 bytes, and the layout of the map has 5"), "{wrong}");
    assert!(found("rdw", "").contains("without a map Quayline sends interchanges unchanged"));
    let world = World::new();
    records(&world.ledger(), &[b"A001"], 4);
    let request = SendRequest { name: "f", to: Some("ACME"), from: None, document: "order", again: Again::No };
    let refused = |file: &str| {
        let done = world.at_desk(DeskLimits::default(), |desk| desk.records_to_send(&request, file));
        done.expect_err("refused").to_string()
    };
    assert!(refused("BILLING").contains("does not read records"));
}
