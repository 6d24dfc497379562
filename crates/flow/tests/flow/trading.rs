//! Nodes of trading partners: everything is in the unit of work of the message, and each message has its effect once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quayline_flow::Flow;
use quayline_partner::{Entry, Existing, Expected, Filter, Kept, Kind, Ledger, Roster, RosterChange, State};
use quayline_project::ShapeOptions;
use quayline_store::queue::{GetWait, Message, Queue, QueueDefinition, Select};

use crate::crash::open;
use crate::support::{PATIENCE, World, ended, kills, run, running, until};

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

/// Queues that the flows of these tests use.
const QUEUES: [&str; 7] = ["IN", "DONE", "BAD", "ORDERS", "ANSWERS", "REPORTS", "EDI"];

/// A project with a partner, and the queues.
struct Traded {
    world: World,
    queues: [Queue; 7],
}

impl Traded {
    /// Creates a project whose partner has these settings, and whose orders go to a place.
    fn new(settings: &str, deliver: &str) -> Traded {
        let world = World::new();
        project(world.path(), settings, deliver);
        let queues = QUEUES.map(|name| world.queue(name));
        Traded { world, queues }
    }

    fn queue(&self, name: &str) -> &Queue {
        let at = QUEUES.iter().position(|known| *known == name);
        &self.queues[at.expect("one of the queues")]
    }

    /// Puts a message that the flow receives.
    fn put(&self, content: &str) {
        self.world.put(self.queue("IN"), &Message::new(content.as_bytes().to_vec()));
    }

    /// Puts a message that the flow sends to a partner.
    fn put_for(&self, partner: &str, content: &str) {
        let properties = vec![("partner".to_owned(), partner.as_bytes().to_vec())];
        let message = Message { properties, ..Message::new(content.as_bytes().to_vec()) };
        self.world.put(self.queue("IN"), &message);
    }

    /// Waits for the next message on a queue.
    fn get(&self, queue: &str) -> String {
        self.world.get_text(self.queue(queue))
    }

    fn depth(&self, queue: &str) -> u64 {
        depth(self.queue(queue))
    }

    /// Entries of the transaction store, the oldest first.
    fn entries(&self, kind: Kind) -> Vec<Entry> {
        let ledger = Ledger::open(&self.world.store).expect("files");
        let filter = Filter { kind: Some(kind), limit: 10_000, ..Filter::default() };
        let mut entries = ledger.search(&filter).expect("a search").entries;
        entries.reverse();
        entries
    }

    fn states(&self, kind: Kind) -> Vec<State> {
        self.entries(kind).iter().map(|entry| entry.state).collect()
    }

    /// Files of a folder of the project.
    fn files(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.world.path().join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| std::fs::read_to_string(entry.path()).expect("text")).collect()
    }
}

/// Node of a flow that receives, with the terminals of its output.
const RECEIVE: &str = "type = \"partner_receive\"";
const RECEIVED: [(&str, &str); 3] = [("output", "ORDERS"), ("acknowledgment", "ANSWERS"), ("report", "REPORTS")];

/// Node of a flow that sends, with the terminal of its output.
const SEND: &str = "type = \"partner_send\"\ndocument = \"order\"\nto.from = 'envelope.property_partner'";
const SENT: [(&str, &str); 1] = [("interchange", "EDI")];

/// Returns a flow that gets messages from `IN`. Messages leave a node `trade` to `DONE`, or through a trace of their reason to `BAD`; what it makes
/// leaves by `wires`, each a terminal and its queue.
fn flow(node: &str, wires: &[(&str, &str)]) -> String {
    let mut text = format!(
        "additional_instances = 3\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"trade\"\n\
         [node.trade]\n{node}\nout = \"put-DONE\"\nrejected = \"why\"\n"
    );
    for (terminal, queue) in wires {
        text.push_str(&format!("{terminal} = \"put-{queue}\"\n"));
    }
    text.push_str("[node.why]\ntype = \"trace\"\ntext.from = 'envelope.error_code & \" \" & envelope.error_text'\nout = \"put-BAD\"\n");
    let queues =
        ["DONE", "BAD"].into_iter().chain(wires.iter().map(|(_, queue)| *queue).filter(|queue| *queue != "BAD"));
    for queue in queues {
        text.push_str(&format!("[node.put-{queue}]\ntype = \"queue_output\"\nqueue = \"{queue}\"\n"));
    }
    text
}

/// Changes a flow so that the first attempt of each message for which `when` holds fails after the node.
fn first_fails(flow: &str, when: &str) -> String {
    let flow = flow.replace("out = \"put-DONE\"", "out = \"first\"");
    flow + &format!(
        "[node.first]\ntype = \"filter\"\nwhen = 'envelope.backout_count = \"0\"{when}'\nout = \"fail\"\nno_match = \"put-DONE\"\n\
         [node.fail]\ntype = \"throw\"\ntext = \"the first attempt\"\n"
    )
}

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

fn depth(queue: &Queue) -> u64 {
    queue.facts().expect("facts").depth
}

/// Returns the interchange number of an X12 interchange.
fn number_of(edi: &str) -> String {
    edi.split('*').nth(13).expect("ISA13").to_owned()
}

#[test]
fn an_interchange_is_received_in_the_unit_of_work_of_its_message() {
    let traded = Traded::new(TO_OUTPUT, "output");
    let engine = traded.world.engine(&flow(RECEIVE, &RECEIVED));
    let text = interchange(7, &["PO1", "PO2"]);
    traded.put(&text);
    assert_eq!(traded.get("DONE"), text);
    let mut made = [traded.get("ORDERS"), traded.get("ORDERS")];
    made.sort();
    assert_eq!(made, [order("PO1"), order("PO2")]);
    let answer = traded.get("ANSWERS");
    for part in ["*ZZ*US             *01*ACME ", "*000000001*", "AK1*PO*7", "AK5*A", "AK9*A*2*2*2"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let report = traded.get("REPORTS");
    for part in
        ["\"node\":\"trade\"", "\"interchanges\":1", "\"documents\":2", "\"delivered\":2", "\"acknowledgments\":1"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    let received = traded.entries(Kind::Transaction);
    assert!(received.iter().all(|entry| entry.details.source.starts_with("flow:test/")), "{received:?}");
    // The same interchange again is a duplicate by its number; what holds no interchange is kept.
    for (content, duplicates, unrouted) in [(text, 2, 0), ("hello".to_owned(), 0, 1)] {
        traded.put(&content);
        assert_eq!(traded.get("BAD"), content);
        let report = traded.get("REPORTS");
        for (count, number) in [("duplicates", duplicates), ("unrouted", unrouted), ("rejected", 0)] {
            assert!(report.contains(&format!("\"{count}\":{number}")), "{count} {number}: {report}");
        }
    }
    let said = traded.world.said.traced.lock().expect("no panic").join("\n");
    assert!(said.contains("why: PTN-103") && said.contains("why: PTN-110"), "{said}");
    assert_eq!((traded.depth("ORDERS"), ended(&engine).1), (0, 0));
    let mut found = traded.states(Kind::Interchange);
    found.retain(|state| *state != State::Sent);
    // Each thread takes numbers of entries in advance.
    found.sort_by_key(|state| state.name());
    assert_eq!(found, [State::Delivered, State::Duplicate, State::Unrouted]);
}

/// A rollback after the node undoes entries, numbers, acknowledgments and outputs, and the next attempt makes them once.
#[test]
fn a_message_that_is_rolled_back_is_received_once() {
    let traded = Traded::new(TO_OUTPUT, "output");
    let engine = traded.world.engine(&first_fails(&flow(RECEIVE, &RECEIVED), ""));
    for number in 1..=5 {
        traded.put(&interchange(number, &["A", "B"]));
    }
    let mut numbers = Vec::new();
    for _ in 1..=5 {
        traded.get("DONE");
        numbers.push(number_of(&traded.get("ANSWERS")));
    }
    numbers.sort();
    assert_eq!(numbers, ["000000001", "000000002", "000000003", "000000004", "000000005"]);
    until("all units of work end", || ended(&engine) == (5, 5));
    assert_eq!(traded.depth("ORDERS"), 10);
    assert_eq!(traded.states(Kind::Transaction), [State::Delivered; 10]);
}

/// The name of a file has the number of its entry, which each attempt takes anew: files of the first attempt would be more files.
#[test]
fn files_are_written_after_the_commit_only() {
    let traded = Traded::new("", "folder:orders");
    let engine = traded.world.engine(&first_fails(&flow(RECEIVE, &[("report", "REPORTS")]), ""));
    traded.put(&interchange(1, &["PO1"]));
    traded.get("DONE");
    until("the document is in its folder", || traded.files("orders") == [order("PO1")]);
    until("the acknowledgment is in its folder", || traded.files("outbox/ACME").len() == 1);
    until("the files are out of the store", || {
        let unit = traded.world.store.begin().expect("a unit");
        let outbox = traded.world.store.file(&unit, "PARTNER.OUTBOX").expect("a file");
        outbox.browse().next(&unit).is_err()
    });
    let errors = traded.world.errors();
    assert_eq!((ended(&engine), errors.matches("FLO-044").count()), ((1, 1), 1), "{errors}");
    assert_eq!(traded.files("orders").len(), 1);
}

#[test]
fn output_without_a_wire_is_refused_and_nothing_is_lost() {
    let traded = Traded::new("acknowledge = []", "output");
    let engine = traded.world.engine(&flow(RECEIVE, &[("acknowledgment", "ANSWERS"), ("report", "REPORTS")]));
    let text = interchange(1, &["PO1"]);
    traded.put(&text);
    assert_eq!(traded.get("BAD"), text);
    let found = traded.entries(Kind::Transaction);
    assert_eq!(found[0].state, State::Rejected);
    let why = &found[0].details.findings[0];
    assert!(why.code == "PTN-300" && why.message.contains("nothing takes output here"), "{why:?}");
    engine.drain();
    // An acknowledgment cannot be rejected, so the node fails and the message stays.
    project(traded.world.path(), TO_OUTPUT, "folder:orders");
    let _engine = traded.world.engine(&flow(RECEIVE, &[("failure", "BAD"), ("report", "REPORTS")]));
    let text = interchange(2, &["PO2"]);
    traded.put(&text);
    assert_eq!(traded.get("BAD"), text);
    let errors = traded.world.errors();
    assert!(errors.contains("the acknowledgment goes to `output`"), "{errors}");
    assert_eq!(traded.entries(Kind::Transaction).len(), 1, "what the node did is undone");
    assert!(traded.files("orders").is_empty());
}

/// Units of work on several threads wait for the numbers of each other, without a gap or a repetition, also after rollbacks.
#[test]
fn documents_are_sent_with_numbers_without_a_gap() {
    let traded = Traded::new("send-to = \"output\"", "folder:orders");
    let text = first_fails(&flow(SEND, &SENT), " and number = \"A3\"");
    let engine = traded.world.engine(&text.replace("queue = \"IN\"\n", "queue = \"IN\"\nmessage = \"order.json\"\n"));
    for number in 1..=40 {
        traded.put_for("ACME", &order(&format!("A{number}")));
    }
    let mut numbers = Vec::new();
    for _ in 1..=40 {
        traded.get("DONE");
        let text = traded.get("EDI");
        assert!(text.contains("BEG*00*SA*A"), "{text}");
        numbers.push(number_of(&text).parse::<u32>().expect("a number"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    // An unknown partner, and content that the map does not take.
    traded.put_for("NOBODY", &order("B1"));
    assert_eq!(traded.get("BAD"), order("B1"));
    until("all units of work end", || ended(&engine).0 == 41);
    let mut rejected = traded.entries(Kind::Transaction);
    rejected.retain(|entry| entry.state == State::Rejected);
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0].details.findings[0].code, "PTN-200", "{rejected:?}");
    assert!(traded.depth("EDI") == 0 && ended(&engine).1 >= 1, "{:?}", ended(&engine));
}

#[test]
fn a_delayed_envelope_closes_by_its_count_in_the_unit_of_work_of_the_last_document() {
    let traded = Traded::new("send-to = \"output\"\nenvelope = \"delayed\"\nclose = { count = 3 }", "folder:orders");
    let _engine = traded.world.engine(&flow(SEND, &SENT));
    let send = |number: &str| {
        traded.put_for("ACME", &order(number));
        traded.get("DONE");
    };
    ["A1", "A2"].into_iter().for_each(send);
    assert_eq!((traded.depth("EDI"), traded.states(Kind::Transaction)), (0, vec![State::Waiting; 2]));
    send("A3");
    let text = traded.get("EDI");
    assert_eq!(text.matches("ST*850*").count(), 3, "{text}");
    assert_eq!(traded.states(Kind::Transaction), [State::Sent; 3]);
}

#[test]
fn what_cannot_work_is_found_by_the_check() {
    let Traded { world, .. } = Traded::new("", "folder:orders");
    let found = |text: String| world.compile(&text).map(|_| ()).expect_err("a finding").to_string();
    let sends = flow(SEND, &SENT);
    let wrong = sends.replace("to.from = 'envelope.property_partner'", "to = \"NOBODY\"");
    let told = found(wrong.replace("document = \"order\"", "document = \"invoice\"\nfrom = \"ACME\""));
    for part in ["`NOBODY` is not a partner", "no rule to send is for `invoice`", "`ACME` is not one of your own files"]
    {
        assert!(told.contains(&format!("error[FLO-077]: {part}")), "{part}: {told}");
    }
    let compiled = world.compile(&sends).expect("a good flow");
    assert!(compiled.files.contains(&world.path().join("partners/acme.toml")), "{:?}", compiled.files);
    assert!(compiled.files.contains(&world.path().join("maps/in.qmap")), "{:?}", compiled.files);
    let guarantees: Vec<_> = compiled.edges().map(|edge| (edge.kind, edge.guarantee)).collect();
    assert!(matches!(guarantees[..], [("partner_send", text)] if text.starts_with("exactly once: ")), "{guarantees:?}");
    world.write("maps/in.qmap", &IN.replace("BEG.BEG03", "BEG.BEG99"));
    assert!(found(sends).contains("BEG99"));
    std::fs::remove_dir_all(world.path().join("partners")).expect("removed");
    assert!(found(flow(RECEIVE, &RECEIVED)).contains("partners"));
}

/// Partners in the store are those of a flow: the check knows them, a flow says which of their changes it has, and a node receives from them.
#[test]
fn partners_in_the_store_are_received_from() {
    let traded = Traded::new(TO_OUTPUT, "output");
    let world = &traded.world;
    let texts = ["us.toml", "acme.toml"].map(|name| {
        let path = world.path().join("partners").join(name);
        (PathBuf::from(name), std::fs::read_to_string(path).expect("a file"))
    });
    std::fs::remove_dir_all(world.path().join("partners")).expect("removed");
    let change = RosterChange {
        put: texts.to_vec(),
        remove: Vec::new(),
        existing: Existing::Refused,
        kept: Some(Kept::Store),
        expected: Expected::Anything,
        by: "test",
    };
    let roster = Roster { project: world.path(), store: Some(&world.store), options: ShapeOptions::default() };
    roster.change(&change, 0).expect("added");
    let text = flow(RECEIVE, &RECEIVED);
    assert!(world.compile(&text).is_err(), "without the store, there are no partners");
    world.write("flows/test.toml", &text);
    let path = world.path().join("flows/test.toml");
    let flow = Flow::open_with(&path, world.path(), None, Some(&world.store)).expect("a flow");
    assert_eq!(flow.stored_partners, Some(1));
    assert!(flow.files.iter().all(|file| !file.display().to_string().contains("store:")), "{:?}", flow.files);
    let engine = world.empty_engine(2);
    engine.deploy(flow);
    traded.put(&interchange(1, &["PO1"]));
    assert_eq!((traded.get("ORDERS"), number_of(&traded.get("ANSWERS"))), (order("PO1"), "000000001".to_owned()));
}

const FOLDER: &str = "QUAYLINE_TEST_CRASH_TRADING_FOLDER";
/// Interchanges of one round.
const INTERCHANGES: u32 = 30;

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
    let _running = run(&store, &place, &flow(RECEIVE, &RECEIVED), 2);
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
        std::fs::write(place.path().join("round"), round.to_string()).expect("a file");
        let mut child = running("trading::child_that_receives", FOLDER, place.path());
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
    let (flows, said) = run(&store, place.path(), &flow(RECEIVE, &RECEIVED), 2);
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
