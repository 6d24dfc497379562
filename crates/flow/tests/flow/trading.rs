//! Nodes of trading partners: everything is in the unit of work of the message, and each message has its effect once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_partner::{Entry, Filter, Kind, Ledger, State};
use quayline_project::FlowFile;
use quayline_store::queue::{GetWait, Message, Queue, QueueDefinition, Select};
use quayline_store::{Clock, Store, SystemClock};

use crate::crash::open;
use crate::support::{PATIENCE, Said, World, ended, kills, until};

const OWN: &str = r#"
own = true
name = "US"
[[identity]]
standard = "x12"
qualifier = "ZZ"
id = "US"
[[rule]]
name = "orders-out"
direction = "send"
document = "order"
map = "maps/out.qmap"
"#;

const ACME: &str = r#"
name = "ACME"
[[identity]]
standard = "x12"
qualifier = "01"
id = "ACME"
[settings]
guides = ["850.guide"]
SETTINGS
[[rule]]
name = "orders"
direction = "receive"
document = "850"
map = "maps/in.qmap"
deliver = "DELIVER"
fields = { order = "BEG03" }
"#;

const IN: &str = "map \"order to JSON\"\nsource \"../850.guide\"\ntarget order \"../order.json\"\nnumber = BEG.BEG03\nkind = BEG.BEG02\n";

const OUT: &str = r#"map "JSON to order"
source "../order.json"
target order "../850.guide"
omit standard
make BEG {
  BEG01 = "00"
  BEG02 = kind
  BEG03 = number
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

const ORDER: &str = r#"{"type":"object","properties":{"number":{"type":"string"},"kind":{"type":"string"}}}"#;

/// Writes the project of a partner that is received from by these settings and this delivery.
fn project(root: &Path, settings: &str, deliver: &str) {
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("partners/us.toml", OWN);
    write("partners/acme.toml", &ACME.replace("SETTINGS", settings).replace("DELIVER", deliver));
    write("850.guide", include_str!("../../../../examples/edi/850.guide"));
    write("x12-trade.guide", include_str!("../../../../examples/edi/x12-trade.guide"));
    write("order.json", ORDER);
    write("maps/in.qmap", IN);
    write("maps/out.qmap", OUT);
}

fn world(settings: &str, deliver: &str) -> World {
    let world = World::new();
    project(world.path(), settings, deliver);
    world
}

const RECEIVE: &str = r#"additional_instances = 3
[node.get]
type = "queue_input"
queue = "IN"
out = "receive"

[node.receive]
type = "partner_receive"
out = "put-done"
rejected = "why"
output = "put-order"
acknowledgment = "put-answer"
report = "put-report"

[node.why]
type = "trace"
text.from = 'envelope.error_code & " " & envelope.error_text'
out = "put-bad"

[node.put-done]
type = "queue_output"
queue = "DONE"

[node.put-bad]
type = "queue_output"
queue = "BAD"

[node.put-order]
type = "queue_output"
queue = "ORDERS"

[node.put-answer]
type = "queue_output"
queue = "ANSWERS"

[node.put-report]
type = "queue_output"
queue = "REPORTS"
"#;

/// Nodes by which the first attempt of each message fails.
const FAILS_FIRST: &str = "[node.first]\ntype = \"filter\"\nwhen = 'envelope.backout_count = \"0\"'\nout = \"fail\"\nno_match = \"put-done\"\n\
                           [node.fail]\ntype = \"throw\"\ntext = \"the first attempt\"\n";

/// Queues of the flow above.
const QUEUES: [&str; 6] = ["IN", "DONE", "BAD", "ORDERS", "ANSWERS", "REPORTS"];

const TO_OUTPUT: &str = "acknowledge-to = \"output\"";

fn interchange(number: u32, orders: &[&str]) -> String {
    let mut text = format!(
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{number:09}*0*P*:~\
         GS*PO*ACME*US*20260401*1200*{number}*X*005010~"
    );
    for (at, order) in (1..).zip(orders) {
        text.push_str(&format!(
            "ST*850*{at:04}~BEG*00*SA*{order}**20260401~N1*BY*ACME~PO1*1*1*EA*1**VP*X~CTT*1~SE*6*{at:04}~"
        ));
    }
    text.push_str(&format!("GE*{}*{number}~IEA*1*{number:09}~", orders.len()));
    text
}

fn order(number: &str) -> String {
    format!("{{\"number\":\"{number}\",\"kind\":\"SA\"}}\n")
}

/// Entries, the oldest first.
fn entries(store: &Store, kind: Kind) -> Vec<Entry> {
    let ledger = Ledger::open(store).expect("files");
    let filter = Filter { kind: Some(kind), limit: 10_000, ..Filter::default() };
    let mut entries = ledger.search(&filter).expect("a search").entries;
    entries.reverse();
    entries
}

fn states(world: &World, kind: Kind) -> Vec<State> {
    entries(&world.store, kind).iter().map(|entry| entry.state).collect()
}

fn depth(queue: &Queue) -> u64 {
    queue.facts().expect("facts").depth
}

/// Returns the interchange number of an X12 interchange.
fn number_of(edi: &str) -> String {
    edi.split('*').nth(13).expect("ISA13").to_owned()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| std::fs::read_to_string(entry.path()).expect("text")).collect()
}

#[test]
fn an_interchange_is_received_in_the_unit_of_work_of_its_message() {
    let world = world(TO_OUTPUT, "output");
    let [queue, done, bad, orders, answers, reports] = QUEUES.map(|name| world.queue(name));
    let engine = world.engine(RECEIVE);
    let text = interchange(7, &["PO1", "PO2"]);
    world.put(&queue, &Message::new(text.clone().into_bytes()));
    assert_eq!(world.get_text(&done), text);
    let mut made = [world.get_text(&orders), world.get_text(&orders)];
    made.sort();
    assert_eq!(made, [order("PO1"), order("PO2")]);
    let answer = world.get_text(&answers);
    for part in ["*ZZ*US             *01*ACME ", "*000000001*", "AK1*PO*7", "AK5*A", "AK9*A*2*2*2"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let report = world.get_text(&reports);
    for part in
        ["\"node\":\"receive\"", "\"interchanges\":1", "\"documents\":2", "\"delivered\":2", "\"acknowledgments\":1"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    let received = entries(&world.store, Kind::Transaction);
    assert!(received.iter().all(|entry| entry.details.source.starts_with("flow:test/")), "{received:?}");
    // The same interchange again is a duplicate by its number; what holds no interchange is kept.
    for content in [text, "hello".to_owned()] {
        world.put(&queue, &Message::new(content.clone().into_bytes()));
        assert_eq!(world.get_text(&bad), content);
    }
    let said = world.said.traced.lock().expect("no panic").join("\n");
    assert!(said.contains("why: PTN-103") && said.contains("why: PTN-110"), "{said}");
    assert_eq!((depth(&orders), ended(&engine).1), (0, 0));
    let mut found = states(&world, Kind::Interchange);
    found.retain(|state| *state != State::Sent);
    // Each thread takes numbers of entries in advance.
    found.sort_by_key(|state| state.name());
    assert_eq!(found, [State::Delivered, State::Duplicate, State::Unrouted]);
}

/// A rollback after the node undoes entries, numbers, acknowledgments and outputs, and the next attempt makes them once.
#[test]
fn a_message_that_is_rolled_back_is_received_once() {
    let world = world(TO_OUTPUT, "output");
    let [queue, done, _, orders, answers, _] = QUEUES.map(|name| world.queue(name));
    let text = RECEIVE.replace("out = \"put-done\"\nrejected", "out = \"first\"\nrejected");
    let engine = world.engine(&format!("{text}{FAILS_FIRST}"));
    for number in 1..=5 {
        world.put(&queue, &Message::new(interchange(number, &["A", "B"]).into_bytes()));
    }
    let mut numbers = Vec::new();
    for _ in 1..=5 {
        world.get_text(&done);
        numbers.push(number_of(&world.get_text(&answers)));
    }
    numbers.sort();
    assert_eq!(numbers, ["000000001", "000000002", "000000003", "000000004", "000000005"]);
    until("all units of work end", || ended(&engine) == (5, 5));
    assert_eq!(depth(&orders), 10);
    assert_eq!(states(&world, Kind::Transaction), [State::Delivered; 10]);
}

/// The name of a file has the number of its entry, which each attempt takes anew: files of the first attempt would be more files.
#[test]
fn files_are_written_after_the_commit_only() {
    let world = world("", "folder:orders");
    let [queue, done, ..] = QUEUES.map(|name| world.queue(name));
    let text = RECEIVE.replace("output = \"put-order\"\nacknowledgment = \"put-answer\"\n", "");
    let [order_node, answer_node] = [("put-order", "ORDERS"), ("put-answer", "ANSWERS")]
        .map(|(node, queue)| format!("[node.{node}]\ntype = \"queue_output\"\nqueue = \"{queue}\"\n\n"));
    let text = text.replace(&order_node, "").replace(&answer_node, "");
    let text = text.replace("out = \"put-done\"\nrejected", "out = \"first\"\nrejected") + FAILS_FIRST;
    let engine = world.engine(&text);
    world.put(&queue, &Message::new(interchange(1, &["PO1"]).into_bytes()));
    world.get_text(&done);
    until("the document is in its folder", || files(&world.path().join("orders")) == [order("PO1")]);
    until("the acknowledgment is in its folder", || files(&world.path().join("outbox/ACME")).len() == 1);
    until("the files are out of the store", || {
        let unit = world.store.begin().expect("a unit");
        let outbox = world.store.file(&unit, "PARTNER.OUTBOX").expect("a file");
        outbox.browse().next(&unit).is_err()
    });
    assert_eq!((ended(&engine), world.errors().matches("FLO-044").count()), ((1, 1), 1), "{}", world.errors());
    assert_eq!(files(&world.path().join("orders")).len(), 1);
}

#[test]
fn output_without_a_wire_is_refused_and_nothing_is_lost() {
    let settings = "acknowledge = []";
    let world = world(settings, "output");
    let [queue, _, bad, ..] = QUEUES.map(|name| world.queue(name));
    let flow = RECEIVE.replace("output = \"put-order\"\n", "");
    let flow = flow.replace("[node.put-order]\ntype = \"queue_output\"\nqueue = \"ORDERS\"\n\n", "");
    let engine = world.engine(&flow);
    let text = interchange(1, &["PO1"]);
    world.put(&queue, &Message::new(text.clone().into_bytes()));
    assert_eq!(world.get_text(&bad), text);
    let found = entries(&world.store, Kind::Transaction);
    assert_eq!(found[0].state, State::Rejected);
    let why = &found[0].details.findings[0];
    assert!(why.code == "PTN-300" && why.message.contains("nothing takes output here"), "{why:?}");
    engine.drain();
    // An acknowledgment cannot be rejected, so the node fails and the message stays.
    project(world.path(), TO_OUTPUT, "folder:orders");
    let flow = flow.replace("acknowledgment = \"put-answer\"\n", "failure = \"put-bad\"\n");
    let flow = flow.replace("[node.put-answer]\ntype = \"queue_output\"\nqueue = \"ANSWERS\"\n\n", "");
    let _engine = world.engine(&flow);
    let text = interchange(2, &["PO2"]);
    world.put(&queue, &Message::new(text.clone().into_bytes()));
    assert_eq!(world.get_text(&bad), text);
    assert!(world.errors().contains("the acknowledgment goes to `output`"), "{}", world.errors());
    assert_eq!(entries(&world.store, Kind::Transaction).len(), 1, "what the node did is undone");
    assert!(files(&world.path().join("orders")).is_empty());
}

const SEND: &str = r#"additional_instances = 3
[node.get]
type = "queue_input"
queue = "IN"
out = "send"

[node.send]
type = "partner_send"
document = "order"
to.from = 'envelope.property_partner'
out = "put-done"
rejected = "put-bad"
interchange = "put-edi"

[node.put-done]
type = "queue_output"
queue = "DONE"

[node.put-bad]
type = "queue_output"
queue = "BAD"

[node.put-edi]
type = "queue_output"
queue = "EDI"
"#;

fn to(partner: &str, content: &str) -> Message {
    let properties = vec![("partner".to_owned(), partner.as_bytes().to_vec())];
    Message { properties, ..Message::new(content.as_bytes().to_vec()) }
}

/// Units of work on several threads wait for the numbers of each other, without a gap or a repetition, also after rollbacks.
#[test]
fn documents_are_sent_with_numbers_without_a_gap() {
    let world = world("send-to = \"output\"", "folder:orders");
    let [queue, done, bad, edi] = ["IN", "DONE", "BAD", "EDI"].map(|name| world.queue(name));
    let fails = "[node.first]\ntype = \"filter\"\nwhen = 'envelope.backout_count = \"0\" and number = \"A3\"'\nout = \"fail\"\nno_match = \"put-done\"\n\
                 [node.fail]\ntype = \"throw\"\ntext = \"the first attempt\"\n";
    let text = SEND.replace("out = \"put-done\"\nrejected", "out = \"first\"\nrejected");
    let text = text.replace("queue = \"IN\"\n", "queue = \"IN\"\nmessage = \"order.json\"\n") + fails;
    let engine = world.engine(&text);
    for number in 1..=40 {
        world.put(&queue, &to("ACME", &order(&format!("A{number}"))));
    }
    let mut numbers = Vec::new();
    for _ in 1..=40 {
        world.get_text(&done);
        let text = world.get_text(&edi);
        assert!(text.contains("BEG*00*SA*A"), "{text}");
        numbers.push(number_of(&text).parse::<u32>().expect("a number"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    // An unknown partner, and content that the map does not take.
    world.put(&queue, &to("NOBODY", &order("B1")));
    assert_eq!(world.get_text(&bad), order("B1"));
    until("all units of work end", || ended(&engine).0 == 41);
    let rejected: Vec<Entry> =
        entries(&world.store, Kind::Transaction).into_iter().filter(|entry| entry.state == State::Rejected).collect();
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0].details.findings[0].code, "PTN-200", "{rejected:?}");
    assert!(depth(&edi) == 0 && ended(&engine).1 >= 1, "{:?}", ended(&engine));
}

#[test]
fn a_delayed_envelope_closes_by_its_count_in_the_unit_of_work_of_the_last_document() {
    let world = world("send-to = \"output\"\nenvelope = \"delayed\"\nclose = { count = 3 }", "folder:orders");
    let [queue, done, _, edi] = ["IN", "DONE", "BAD", "EDI"].map(|name| world.queue(name));
    let _engine = world.engine(SEND);
    for number in ["A1", "A2"] {
        world.put(&queue, &to("ACME", &order(number)));
        world.get_text(&done);
    }
    assert_eq!((depth(&edi), states(&world, Kind::Transaction)), (0, vec![State::Waiting; 2]));
    world.put(&queue, &to("ACME", &order("A3")));
    world.get_text(&done);
    let text = world.get_text(&edi);
    assert_eq!(text.matches("ST*850*").count(), 3, "{text}");
    assert_eq!(states(&world, Kind::Transaction), [State::Sent; 3]);
}

#[test]
fn what_cannot_work_is_found_by_the_check() {
    let world = world("", "folder:orders");
    let found = |text: String| world.compile(&text).map(|_| ()).expect_err("a finding").to_string();
    let sends = SEND.replace("to.from = 'envelope.property_partner'", "to = \"NOBODY\"");
    let told = found(sends.replace("document = \"order\"", "document = \"invoice\"\nfrom = \"ACME\""));
    for part in ["`NOBODY` is not a partner", "no rule to send is for `invoice`", "`ACME` is not one of your own files"]
    {
        assert!(told.contains(&format!("error[FLO-077]: {part}")), "{part}: {told}");
    }
    let flow = world.compile(SEND).expect("a good flow");
    assert!(flow.files.contains(&world.path().join("partners/acme.toml")), "{:?}", flow.files);
    assert!(flow.files.contains(&world.path().join("maps/in.qmap")), "{:?}", flow.files);
    let guarantees: Vec<_> = flow.edges().map(|edge| (edge.kind, edge.guarantee)).collect();
    assert!(matches!(guarantees[..], [("partner_send", text)] if text.starts_with("exactly once: ")), "{guarantees:?}");
    world.write("maps/in.qmap", &IN.replace("BEG.BEG03", "BEG.BEG99"));
    assert!(found(SEND.to_owned()).contains("BEG99"));
    std::fs::remove_dir_all(world.path().join("partners")).expect("removed");
    assert!(found(RECEIVE.to_owned()).contains("partners"));
}

const FOLDER: &str = "QUAYLINE_TEST_CRASH_TRADING_FOLDER";
/// Interchanges of one round.
const INTERCHANGES: u32 = 30;

fn run(store: &Store, place: &Path) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let file = FlowFile::parse("test.toml", RECEIVE).expect("a flow file");
    engine.deploy(Flow::compile(file, place, None).expect("a flow"));
    (engine, said)
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_receives() {
    let Some(place) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (store, _engine) = open(&place.join("data"));
    let round: u32 = std::fs::read_to_string(place.join("round")).expect("a file").parse().expect("a number");
    let queue = store.queue("IN").expect("a queue");
    let mut unit = store.begin().expect("a unit");
    for number in round * INTERCHANGES + 1..=(round + 1) * INTERCHANGES {
        let text = interchange(number, &[&format!("P{number}"), &format!("Q{number}")]);
        queue.put(&mut unit, &Message::new(text.into_bytes())).expect("a put");
    }
    unit.commit().expect("a commit");
    let _running = run(&store, &place);
    std::fs::write(place.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

#[test]
fn every_interchange_has_its_effect_once_however_often_the_process_is_killed() {
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let data = place.path().join("data");
    project(place.path(), TO_OUTPUT, "output");
    {
        let (store, engine) = open(&data);
        let mut unit = store.begin().expect("a unit");
        for name in QUEUES {
            let definition = QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) };
            store.define_queue(&mut unit, definition).expect("a definition");
        }
        unit.commit().expect("a commit");
        drop(store);
        engine.close().expect("closed");
    }
    let rounds = kills(6);
    let (mut seed, mut interrupted) = (0x7ade_u32, 0);
    for round in 0..rounds {
        let mark = place.path().join("running");
        let _ = std::fs::remove_file(&mark);
        std::fs::write(place.path().join("round"), round.to_string()).expect("a file");
        let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
            .args(["--exact", "trading::child_that_receives", "--test-threads", "1"])
            .env(FOLDER, place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        until("the child runs the flow", || mark.exists());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_micros(u64::from((seed >> 8) % 60_000)));
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
        let (store, engine) = open(&data);
        interrupted += u32::from(depth(&store.queue("IN").expect("a queue")) > 0);
        drop(store);
        engine.close().expect("closed");
    }
    let (store, engine) = open(&data);
    let (flows, said) = run(&store, place.path());
    let queue = store.queue("IN").expect("a queue");
    until("no message is left", || depth(&queue) == 0);
    flows.drain();
    assert!(said.failed.lock().expect("no panic").is_empty());
    let all = |name: &str| -> Vec<String> {
        let queue = store.queue(name).expect("a queue");
        let mut unit = store.begin().expect("a unit");
        let mut found = Vec::new();
        while let Ok(message) = queue.get(&mut unit, Select::First, GetWait::No) {
            found.push(String::from_utf8(message.payload).expect("text"));
        }
        unit.roll_back();
        found
    };
    let count = rounds * INTERCHANGES;
    let mut expected: Vec<String> =
        (1..=count).flat_map(|number| [order(&format!("P{number}")), order(&format!("Q{number}"))]).collect();
    let mut orders = all("ORDERS");
    orders.sort();
    expected.sort();
    assert_eq!(orders, expected, "each order once");
    let mut numbers: Vec<u32> = all("ANSWERS").iter().map(|text| number_of(text).parse().expect("a number")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "no number repeats, and none is missing");
    eprintln!("{rounds} kills, {interrupted} of them before all interchanges were received");
    assert!(interrupted > 0, "a kill interrupts work");
    drop((store, queue));
    engine.close().expect("closed");
}
