//! Queues of a real broker, ActiveMQ Artemis: messages in and out, logins, and both sides killed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use quayline_connect::{BrokerAddress, BrokerClient, BrokerError, BrokerEvent, BrokerLogin, ClientTls, DeliveryState};
use quayline_store::Space;
use quayline_store::queue::{DEAD_LETTER, Message, Persistence};

use crate::bridge::{Bridge, number, until_empty};
use crate::peers::{certificates, free_port, java, java_stores, listens};
use crate::support::{World, bridge_kills, until};

const FOLDER: &str = "QUAYLINE_TEST_AMQP_FOLDER";
const WAIT: Duration = Duration::from_secs(10);

/// A broker of a test's own.
struct Artemis {
    folder: tempfile::TempDir,
    process: Mutex<Option<Child>>,
    port: u16,
    mode: &'static str,
    classes: PathBuf,
}

impl Drop for Artemis {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Artemis {
    /// A broker that does not run yet.
    fn new(test: &str, mode: &'static str) -> Option<Artemis> {
        match java("artemis") {
            Ok(classes) => {
                let folder = tempfile::tempdir().expect("a folder");
                Some(Artemis { folder, process: Mutex::new(None), port: free_port(), mode, classes })
            }
            Err(why) => {
                eprintln!("skipped: {test}: {why}");
                None
            }
        }
    }

    fn start(test: &str) -> Option<Artemis> {
        let broker = Artemis::new(test, "")?;
        broker.again();
        Some(broker)
    }

    fn again(&self) {
        let child = Command::new("java")
            .args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp"])
            .arg(format!("{0}:{0}/lib/*", self.classes.display()))
            .arg("Broker")
            .arg(self.folder.path())
            .args([&self.port.to_string(), self.mode])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.folder.path().join("log")).expect("a file"))
            .spawn()
            .expect("Java");
        *self.process.lock().expect("no panic") = Some(child);
        listens(self.port);
    }

    fn kill(&self) {
        if let Some(mut process) = self.process.lock().expect("no panic").take() {
            // SIGKILL; it may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    fn server(&self) -> String {
        let scheme = if self.mode == "tls" { "amqps" } else { "amqp" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Runs `work` with a client, and repeats it while a new broker does not answer yet.
    fn with<T>(&self, work: impl AsyncFn(&mut BrokerClient) -> Result<T, BrokerError>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let address = BrokerAddress::parse(&self.server()).expect("an address");
        let mut last = None;
        for number in 0..200 {
            let path = |name: &str| self.folder.path().join(name);
            let tls = (self.mode == "tls").then(|| {
                let own = (&*path("client.pem"), &*path("client.key"));
                ClientTls::from_files(Some(&path("ca.pem")), Some(own)).expect("files")
            });
            let user = (self.mode == "users").then(|| ("quay".to_owned(), "pass word".to_owned()));
            let login = BrokerLogin { container: format!("test {number}"), user, tls };
            let done = runtime.block_on(async {
                let mut client = BrokerClient::connect(&address, &login).await?;
                let done = work(&mut client).await?;
                client.close().await;
                Ok::<T, BrokerError>(done)
            });
            match done {
                Ok(done) => return done,
                Err(error) => last = Some(error),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the broker does not do it: {last:?}")
    }

    fn send(&self, queue: &str, messages: &[Message]) {
        self.with(async |client| {
            let link = client.sender(queue).await?;
            for message in messages {
                // Repeated as a whole if the broker is not ready; it finds duplicates itself.
                let property = (message.id != [0; 24]).then_some("_AMQ_DUPL_ID");
                let state = client.send(link, message, property.filter(|_| queue != "TWICE"), WAIT).await?;
                assert_eq!(state, Some(DeliveryState::Accepted));
            }
            Ok(())
        });
    }

    /// Receives `count` messages, and further ones that follow within a short time.
    fn take(&self, queue: &str, count: usize) -> Vec<Message> {
        let mut found = Vec::new();
        until("the broker has the messages", || {
            let more = self.with(async |client| {
                let link = client.receiver(queue).await?;
                client.grant(link, 2_000);
                let mut found = Vec::new();
                while let Ok(event) = tokio::time::timeout(Duration::from_millis(300), client.next(true)).await {
                    if let BrokerEvent::Message(message) = event? {
                        found.push(message.message.map_err(BrokerError::from)?);
                        client.settle(message.delivery, DeliveryState::Accepted);
                    }
                }
                Ok(found)
            });
            found.extend(more);
            found.len() >= count
        });
        found
    }
}

fn flow(server: &str, input: &str) -> String {
    format!(
        "[node.get]\ntype = \"amqp_input\"\nserver = \"{server}\"\nqueue = \"IN\"\n{input}\nout = \"check\"\n\
         [node.check]\ntype = \"filter\"\nwhen = 'envelope.property_kind = \"bad\"'\nout = \"fail\"\nno_match = [\"keep\", \"send\"]\n\
         [node.fail]\ntype = \"throw\"\ntext = \"bad\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n\
         [node.send]\ntype = \"amqp_output\"\nserver = \"{server}\"\nqueue.from = '\"OUT.\" & envelope.property_kind'\n\
         duplicate_property = \"_AMQ_DUPL_ID\"\noutbox = \"AMQP.OUT\"\n"
    )
}

fn message(number: u32, kind: &str, content: &str) -> Message {
    let mut id = [0; 24];
    id[0] = 1;
    id[20..].copy_from_slice(&number.to_be_bytes());
    Message {
        id,
        persistence: Persistence::Persistent,
        priority: 4,
        properties: vec![("kind".to_owned(), kind.as_bytes().to_vec())],
        ..Message::new(content)
    }
}

fn numbered(numbers: std::ops::Range<u32>) -> Vec<Message> {
    numbers.map(|number| message(number, "test", &number.to_string())).collect()
}

fn text(message: &Message) -> &str {
    std::str::from_utf8(&message.payload).expect("text")
}

#[test]
fn messages_of_a_broker_have_their_effect_once_and_bad_ones_are_set_aside() {
    let test = "messages_of_a_broker_have_their_effect_once_and_bad_ones_are_set_aside";
    let Some(broker) = Artemis::new(test, "") else { return };
    let world = World::new();
    let (kept, dead, outbox) = (world.queue("KEPT"), world.queue(DEAD_LETTER), world.queue("AMQP.OUT"));
    let engine = world.engine(&flow(&broker.server(), "attempts = 2"));
    until("the node says that it waits for the broker", || {
        let flows = engine.flows();
        flows[0].stats.nodes[0].last_error().is_some_and(|error| error.finding.code.0 == "FLO-061")
    });
    broker.again();
    let nameless = Message { id: [0; 24], ..message(0, "none", "nameless") };
    broker
        .send("IN", &[message(1, "good", "one"), message(2, "bad", "two"), nameless.clone(), message(3, "good", "3")]);
    let mut got: Vec<Message> = (0..3).map(|_| world.get(&kept)).collect();
    got.sort_by(|a, b| a.payload.cmp(&b.payload));
    assert_eq!(got.iter().map(text).collect::<Vec<_>>(), ["3", "nameless", "one"]);
    assert_eq!(got[2].persistence, Persistence::Persistent);
    let bad = world.get(&dead);
    assert_eq!((text(&bad), bad.reason.as_str()), ("two", "FLO-044: bad"));
    until_empty(&world.store, &[outbox.name()]);
    let out = broker.take("OUT.good", 2);
    assert_eq!(out.iter().map(text).collect::<BTreeSet<_>>(), BTreeSet::from(["one", "3"]));
    let one = out.iter().find(|found| text(found) == "one").expect("the message");
    // The id of what was received is the correlation id of what is sent.
    assert_eq!((one.correlation, one.priority), (message(1, "", "").id, 4));
    assert_eq!(broker.take("OUT.none", 1).len(), 1);

    // A sender that repeats itself: the broker has messages twice, and each has its effect once. Without an id nobody can tell.
    engine.remove("test");
    let (again, other) = (message(4, "good", "again"), message(5, "good", "other"));
    let text_of = flow(&broker.server(), "").replace("\"IN\"", "\"TWICE\"");
    broker.send("TWICE", &[again.clone(), again.clone(), other.clone(), again, nameless.clone(), other, nameless]);
    engine.deploy(world.compile(&text_of).unwrap_or_else(|findings| panic!("{findings}")));
    let got: BTreeSet<String> = (0..4).map(|_| world.get_text(&kept)).collect();
    assert_eq!(got.iter().map(String::as_str).collect::<Vec<_>>(), ["again", "nameless", "other"]);
    until("the broker has everything accepted", || {
        engine.flows()[0].stats.open.load(std::sync::atomic::Ordering::Relaxed) == 0
    });
    engine.remove("test");
    assert_eq!(broker.take("TWICE", 0).len(), 0);
    assert_eq!(kept.facts().expect("facts").depth, 0, "{}", world.errors());

    // Where ids are required, a message without one is set aside. Ids are forgotten after their time.
    let text_of = flow(&broker.server(), "without_id = \"backout\"\nremember = \"1s\"");
    engine.deploy(world.compile(&text_of).unwrap_or_else(|findings| panic!("{findings}")));
    let nameless = Message { id: [0; 24], ..message(0, "none", "nameless") };
    broker.send("IN", &[nameless, message(6, "good", "six")]);
    assert_eq!(world.get_text(&kept), "six");
    assert_eq!(world.get(&dead).reason, "FLO-064: the message has no message-id");
    let ids = || {
        let unit = world.store.begin().expect("a unit");
        let mut page = quayline_store::Page::default();
        let all = (quayline_store::KeyRange::ALL, quayline_store::Direction::Forward);
        let limit = quayline_store::PageLimit { entries: 10_000, bytes: 10 << 20 };
        unit.page(Space::CHECKPOINTS, all.0, all.1, limit, &mut page).expect("a page");
        page.iter().filter(|(key, _)| key.starts_with(b"flow-amqp/test/get/")).count()
    };
    // Those of the other queue stay: their node had another time.
    let others = 2;
    until("ids of the queue are forgotten", || ids() == others);
}

#[test]
fn a_broker_that_refuses_a_message_now_or_for_ever_is_told_apart() {
    let test = "a_broker_that_refuses_a_message_now_or_for_ever_is_told_apart";
    let Some(broker) = Artemis::start(test) else { return };
    let world = World::new();
    let (get, outbox) = (world.queue("GET"), world.queue("AMQP.OUT"));
    world.queue(DEAD_LETTER);
    let server = broker.server();
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"GET\"\nout = \"send\"\n\
         [node.send]\ntype = \"amqp_output\"\nserver = \"{server}\"\nqueue = \"FULL\"\noutbox = \"AMQP.OUT\"\n"
    ));
    for number in 0..4 {
        world.put(&get, &Message { persistence: Persistence::Persistent, ..Message::new(number.to_string()) });
    }
    until("the queue of the broker is full", || world.errors().contains("FLO-062"));
    assert!(outbox.facts().expect("facts").depth > 0);
    let mut got = broker.take("FULL", 1);
    while got.len() < 4 {
        got.extend(broker.take("FULL", 1));
    }
    assert_eq!(got.iter().map(text).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    until_empty(&world.store, &[outbox.name()]);
    drop(engine);
}

#[test]
fn messages_keep_the_order_of_the_queue_when_one_fails_and_when_the_broker_ends() {
    let test = "messages_keep_the_order_of_the_queue_when_one_fails_and_when_the_broker_ends";
    let Some(broker) = Artemis::start(test) else { return };
    let world = World::new();
    let (kept, outbox) = (world.queue("KEPT"), world.queue("AMQP.OUT"));
    let dead = world.queue(DEAD_LETTER);
    let text_of = flow(&broker.server(), "order = \"by_queue\"\nattempts = 2");
    let text_of = format!("additional_instances = 3\n{text_of}");
    let engine = world.engine(&text_of);
    let mut all = numbered(0..40);
    all.insert(20, message(1_000, "bad", "bad"));
    broker.send("IN", &all);
    until("a part is there", || kept.facts().expect("facts").depth >= 10);
    broker.kill();
    broker.again();
    until("the rest is there", || kept.facts().expect("facts").depth >= 40);
    broker.send("IN", &numbered(40..60));
    let got: Vec<String> = (0..60).map(|_| world.get_text(&kept)).collect();
    assert_eq!(got, (0..60).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(world.get_text(&dead), "bad");
    until_empty(&world.store, &[outbox.name()]);
    let out = broker.take("OUT.test", 60);
    assert_eq!(out.iter().map(text).collect::<Vec<_>>(), got);
    drop(engine);
}

#[test]
fn users_and_certificates_are_shown_and_wrong_ones_are_named() {
    let test = "users_and_certificates_are_shown_and_wrong_ones_are_named";
    let (Some(users), Some(tls)) = (Artemis::new(test, "users"), Artemis::new(test, "tls")) else { return };
    let folder = tls.folder.path();
    if !certificates(folder, &["server", "client"]) || !java_stores(folder) {
        return eprintln!("skipped: {test}: openssl or keytool is not installed");
    }
    users.again();
    tls.again();
    let world = World::new();
    for name in ["ca.pem", "client.pem", "client.key"] {
        std::fs::copy(folder.join(name), world.path().join(name)).expect("a copy");
    }
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    world.queue("AMQP.OUT");
    let engine = world.empty_engine(1);
    let deploy = |server: &str, properties: &str| {
        let lines = format!("server = \"{server}\"\n{properties}\n");
        let text = flow(server, "").replace(&format!("server = \"{server}\"\n"), &lines);
        engine.deploy(world.compile(&text).unwrap_or_else(|findings| panic!("{findings}")));
    };
    let fails = |part: &str| {
        until(part, || world.errors().contains(part));
        world.said.failed.lock().expect("no panic").clear();
        engine.remove("test");
    };
    // A variable that no test sets: the password is empty.
    deploy(&users.server(), "user = \"quay\"\npassword_variable = \"QUAYLINE_TEST_NO_PASSWORD\"");
    fails("the server refuses the login");
    deploy(&users.server(), "");
    fails("the server offers PLAIN to log in, expected ANONYMOUS");
    deploy(&tls.server(), "");
    fails("certificate");
    let own = "certificate = \"client.pem\"\nprivate_key = \"client.key\"";
    deploy(&tls.server(), &format!("authorities = \"ca.pem\"\n{own}"));
    tls.send("IN", &[message(1, "good", "by certificate")]);
    assert_eq!(world.get_text(&kept), "by certificate", "{}", world.errors());
    assert_eq!(text(&tls.take("OUT.good", 1)[0]), "by certificate");
    // The password of this client is right.
    users.send("IN", &[message(1, "good", "by password")]);
    assert_eq!(text(&users.take("IN", 1)[0]), "by password");
}

/// Quayline neither processed nor returned a message whose unit of work could not begin, until the connection ended.
#[test]
fn a_message_whose_unit_of_work_cannot_begin_keeps_its_place() {
    let test = "a_message_whose_unit_of_work_cannot_begin_keeps_its_place";
    let Some(broker) = Artemis::start(test) else { return };
    let world = World::with_few_units();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let server = broker.server();
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"amqp_input\"\nserver = \"{server}\"\nqueue = \"IN\"\norder = \"by_queue\"\nout = \"keep\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"
    ));
    broker.send("IN", &numbered(0..1));
    assert_eq!(world.get_text(&kept), "0");
    // The first look for old ids, a second after the start, would fail, too, and end the connection.
    std::thread::sleep(Duration::from_millis(1_200));
    let units = world.all_units();
    broker.send("IN", &numbered(1..4));
    until("the message is refused", || world.errors().contains("units_open_max"));
    drop(units);
    assert_eq!([1, 2, 3].map(|_| world.get_text(&kept)), ["1", "2", "3"]);
    assert_eq!(engine.flows()[0].stats.nodes[0].last_error().map(|error| error.finding.message), None);
    drop(engine);
    assert_eq!(broker.take("IN", 0).len(), 0);
}

#[test]
fn messages_that_come_late_again_and_in_another_order_have_their_effect_once() {
    const COUNT: u32 = 300;
    let Some(broker) = Artemis::start("messages_that_come_late_again_and_in_another_order_have_their_effect_once")
    else {
        return;
    };
    let proxy = crate::proxy::Proxy::to(broker.port);
    let world = World::new();
    let (kept, dead, outbox) = (world.queue("KEPT"), world.queue(DEAD_LETTER), world.queue("AMQP.OUT"));
    let engine =
        world.engine(&format!("additional_instances = 7\n{}", flow(&format!("amqp://127.0.0.1:{}", proxy.port), "")));
    // Half of the messages come in the order of their ids, the others against it.
    std::thread::scope(|scope| {
        scope.spawn(|| broker.send("IN", &numbered(0..COUNT / 2)));
        scope.spawn(|| {
            let mut others = numbered(COUNT / 2..COUNT);
            others.reverse();
            broker.send("IN", &others);
        });
    });
    let got: BTreeSet<String> = (0..COUNT).map(|_| world.get_text(&kept)).collect();
    assert_eq!(got.len(), COUNT as usize, "each is processed once");
    until_empty(&world.store, &["AMQP.OUT"]);
    drop(engine);
    let out = broker.take("OUT.test", COUNT as usize);
    let distinct: BTreeSet<&str> = out.iter().map(text).collect();
    assert_eq!((out.len(), distinct.len()), (COUNT as usize, COUNT as usize), "each is sent once");
    let depth = |queue: &quayline_store::queue::Queue| queue.facts().expect("facts").depth;
    assert_eq!((depth(&kept), depth(&dead), depth(&outbox)), (0, 0, 0), "{}", world.errors());
    assert!(proxy.cuts() > 3, "{} connections ended", proxy.cuts());
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_bridges() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    crate::bridge::child(&folder);
}

#[test]
fn a_bridge_has_each_effect_once_however_often_both_sides_are_killed() {
    let test = "a_bridge_has_each_effect_once_however_often_both_sides_are_killed";
    for order in ["", "order = \"by_queue\""] {
        let Some(broker) = Artemis::start(test) else { return };
        let text_of = format!("additional_instances = 3\n{}", flow(&broker.server(), order));
        let bridge = Bridge::new(&text_of, "AMQP.OUT");
        let few = |number: usize| u32::try_from(number).expect("few");
        let send = |range: std::ops::Range<usize>| broker.send("IN", &numbered(few(range.start)..few(range.end)));
        let child = ("amqp::child_that_bridges", FOLDER);
        let count = bridge.kills(child, (bridge_kills(3), 60), send, || broker.kill(), || broker.again());
        let kept = bridge.ends_with_each_effect_once(count);
        assert!(order.is_empty() || kept.iter().map(number).is_sorted(), "the queue's order is kept");
        let out = broker.take("OUT.test", count);
        let distinct: BTreeSet<&str> = out.iter().map(text).collect();
        assert_eq!((out.len(), distinct.len()), (count, count), "each is sent once");
    }
}

#[test]
fn names_addresses_and_certificates_of_brokers_are_checked() {
    let world = World::new();
    world.write("no.pem", "nothing");
    let start = |server: &str, rest: &str| {
        let text = format!("[node.get]\ntype = \"amqp_input\"\nserver = \"{server}\"\n{rest}\nout = []\n");
        world.compile(&text).map(|_| String::new()).unwrap_or_else(|findings| findings.to_string())
    };
    for (server, rest, part) in [
        ("amqp://h", "queue = \"Q\"", ""),
        ("amqps://h", "queue = \"Q\"\nremember = \"5m\"\nwithout_id = \"backout\"", ""),
        ("amqp://[::1]:5672/", "queue = \"a queue::of/a broker\"", ""),
        ("nats://h", "queue = \"Q\"", "it does not begin with amqp:// or amqps://"),
        ("amqp://u:p@h", "queue = \"Q\"", "flow files are not secret"),
        ("amqp://h:0", "queue = \"Q\"", "its port is not a number"),
        ("amqp://h", "queue = \"a\\nb\"", "no control characters"),
        ("amqps://h", "queue = \"Q\"\ncertificate = \"no.pem\"", "`certificate`: `private_key` is missing"),
        ("amqp://h", "queue = \"Q\"\nauthorities = \"no.pem\"", "certificates need a server with TLS"),
        ("amqps://h", "queue = \"Q\"\nauthorities = \"no.pem\"", "no.pem: it holds no certificate in PEM"),
    ] {
        let found = start(server, rest);
        assert!(
            if part.is_empty() { found.is_empty() } else { found.contains("FLO-030") && found.contains(part) },
            "{server} {rest}: {found}"
        );
    }
    let guarantees = |input: &str, output: &str| {
        let flow = world
            .compile(&format!(
                "[node.get]\ntype = \"amqp_input\"\nserver = \"amqp://h\"\nqueue = \"Q\"\n{input}\nout = \"put\"\n\
                 [node.put]\ntype = \"amqp_output\"\nserver = \"amqp://h\"\nqueue = \"s\"\noutbox = \"O\"\n{output}\n"
            ))
            .expect("a flow");
        flow.edges().map(|edge| edge.guarantee.to_owned()).collect::<Vec<_>>()
    };
    let plain = guarantees("", "");
    assert!(plain[0].starts_with("exactly once if only this node") && plain[0].contains("at least once for messages"));
    assert!(plain[1].starts_with("at least once"), "{plain:?}");
    let strict = guarantees("without_id = \"backout\"", "duplicate_property = \"_AMQ_DUPL_ID\"");
    assert!(!strict[0].contains("at least once") && strict[1].starts_with("exactly once while"), "{strict:?}");
}
