//! Streams of a real `nats-server`: messages in and out, and both sides killed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use quayline_connect::{ClientTls, ConsumerSettings, NatsAddress, NatsClient, NatsCredentials, NatsError, NatsLogin};
use quayline_store::queue::{DEAD_LETTER, Message, QueueDefinition};
use quayline_store::{Clock as _, Direction, KeyRange, Page, PageLimit, Space, Store, SystemClock};

use crate::bridge::{Bridge, number, until_empty};
use crate::peers::{certificates, free_port};
use crate::proxy::Proxy;
use crate::support::{World, bridge_kills, ended, until};

const FOLDER: &str = "QUAYLINE_TEST_NATS_FOLDER";
const PROGRAM: &str = "QUAYLINE_NATS_SERVER";
const WAIT: Duration = Duration::from_secs(10);

/// A server of a test's own, with streams that are synced before each acknowledgment.
struct Nats {
    folder: tempfile::TempDir,
    process: Mutex<Child>,
    port: u16,
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(folder: &Path) -> Option<Child> {
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| "nats-server".into());
    let settings = folder.join("server.conf");
    Command::new(program).arg("-c").arg(settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

impl Nats {
    fn start(test: &str) -> Option<Nats> {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let text = format!("jetstream {{ store_dir: {data:?}, sync_interval: always }}\n");
        Nats::start_with(test, folder, &text)
    }

    /// Starts a server with these settings, in a folder that may have files for it.
    fn start_with(test: &str, folder: tempfile::TempDir, settings: &str) -> Option<Nats> {
        let port = free_port();
        let text = format!("listen: 127.0.0.1:{port}\n{settings}");
        std::fs::write(folder.path().join("server.conf"), text).expect("a file");
        let Some(process) = serve(folder.path()) else {
            eprintln!("skipped: {test}: nats-server is not installed");
            return None;
        };
        let server = Nats { folder, process: Mutex::new(process), port };
        server.listens();
        Some(server)
    }

    fn listens(&self) {
        until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    fn kill(&self) {
        let mut process = self.process.lock().expect("no panic");
        // SIGKILL; it may have ended already.
        let _ = process.kill();
        let _ = process.wait();
    }

    fn again(&self) {
        *self.process.lock().expect("no panic") = serve(self.folder.path()).expect("a server");
        self.listens();
    }

    fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn with<T>(&self, work: impl AsyncFn(&mut NatsClient) -> Result<T, NatsError>) -> T {
        self.with_login(&NatsLogin::default(), work)
    }

    /// Runs `work` with a client, and repeats it while a new server does not answer yet.
    fn with_login<T>(&self, login: &NatsLogin, work: impl AsyncFn(&mut NatsClient) -> Result<T, NatsError>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let address = NatsAddress::parse(&self.address()).expect("an address");
        let mut last = None;
        for salt in 0..200 {
            let done = runtime.block_on(async {
                let mut client = NatsClient::connect(&address, login, salt + 7).await?;
                work(&mut client).await
            });
            match done {
                Ok(done) => return done,
                Err(error) => last = Some(error),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not do it: {last:?}")
    }

    fn stream(&self, name: &str, subjects: &str, retention: &str) {
        let config = format!(
            r#"{{"name":"{name}","subjects":["{subjects}"],"retention":"{retention}","storage":"file","num_replicas":1}}"#
        );
        self.api(&format!("$JS.API.STREAM.CREATE.{name}"), &config);
    }

    fn api(&self, subject: &str, request: &str) -> serde_json::Value {
        let answer = self.with(async |client| client.request(subject, &[], request.as_bytes(), WAIT).await);
        let answer: serde_json::Value = serde_json::from_slice(&answer.payload).expect("JSON");
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    fn publish(&self, subject: &str, contents: &[String]) {
        self.with(async |client| {
            for content in contents {
                // Repeated as a whole if the server is not ready.
                let id = format!("id-{content}");
                client
                    .publish_kept(subject, &[("Nats-Msg-Id", &id), ("kind", "test")], content.as_bytes(), WAIT)
                    .await?;
            }
            Ok(())
        });
    }

    /// Returns all messages of a stream: subject, headers, content.
    fn contents(&self, stream: &str) -> Vec<(String, BTreeMap<String, String>, String)> {
        self.with(async |client| {
            let facts = client.stream(stream).await?;
            let mut found = Vec::new();
            let name = format!("look{}", std::process::id());
            let settings = ConsumerSettings {
                stream,
                name: &name,
                subject: None,
                first_sequence: 1,
                ack_wait: Duration::from_secs(60),
                pending_max: 100_000,
            };
            client.consumer(&settings).await?;
            while (found.len() as u64) < facts.last_sequence {
                client.pull(stream, &name, 1, 10 << 20, Duration::from_secs(5)).await?;
                let mut message = client.next().await?;
                while message.status.is_some() {
                    message = client.next().await?;
                }
                let headers = message.headers.into_iter().collect();
                found.push((message.subject, headers, String::from_utf8(message.payload).expect("text")));
            }
            let deleted = format!("$JS.API.CONSUMER.DELETE.{stream}.{name}");
            client.request(&deleted, &[], b"", WAIT).await?;
            Ok(found)
        })
    }
}

fn flow(server: &Nats, input: &str) -> String {
    let address = server.address();
    format!(
        "[node.get]\ntype = \"nats_input\"\nserver = \"{address}\"\nstream = \"IN\"\n{input}\nout = \"check\"\n\
         [node.check]\ntype = \"filter\"\nwhen = 'envelope.property_nats_subject = \"in.bad\"'\nout = \"fail\"\nno_match = [\"keep\", \"send\"]\n\
         [node.fail]\ntype = \"throw\"\ntext = \"bad\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n\
         [node.send]\ntype = \"nats_output\"\nserver = \"{address}\"\nsubject.from = '\"out.\" & envelope.property_kind'\noutbox = \"NATS.OUT\"\n"
    )
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

#[test]
fn messages_of_a_stream_have_their_effect_once_and_bad_ones_are_set_aside() {
    let Some(server) = Nats::start("messages_of_a_stream_have_their_effect_once_and_bad_ones_are_set_aside") else {
        return;
    };
    let world = World::new();
    let (kept, dead, outbox) = (world.queue("KEPT"), world.queue(DEAD_LETTER), world.queue("NATS.OUT"));
    let engine = world.engine(&flow(&server, "attempts = 2"));
    until("the node says that it waits for the stream", || {
        let flows = engine.flows();
        flows[0].stats.nodes[0].last_error().is_some_and(|error| error.finding.message.contains("10059"))
    });
    server.stream("IN", "in.*", "limits");
    server.stream("OUT", "out.*", "limits");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    engine.flows()[0].stats.begin_trace(SystemClock.now_ms());
    server.with(async |client| {
        let headers =
            [("kind", "first"), ("traceparent", parent), ("amqp.user-id", "boss"), ("nats_subject", "in.other")];
        client.publish_kept("in.good", &headers, b"one", WAIT).await?;
        client.publish_kept("in.bad", &[], b"two", WAIT).await?;
        client.publish_kept("in.good", &[("kind", "third")], b"three", WAIT).await
    });
    let mut got: Vec<Message> = vec![world.get(&kept), world.get(&kept)];
    got.sort_by(|a, b| a.payload.cmp(&b.payload));
    assert_eq!([&*got[0].payload, &*got[1].payload], [b"one".as_slice(), b"three"]);
    let property =
        |name: &str| got[0].properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    assert_eq!(property("nats_subject").as_deref(), Some(b"in.good".as_slice()));
    assert!(!got[0].properties.iter().any(|(name, _)| name.starts_with("amqp.")), "a header names no user");
    let bad = world.get(&dead);
    assert_eq!(bad.payload, b"two");
    assert_eq!(bad.reason, "FLO-044: bad");
    let of_bad = |name: &str| {
        let found = bad.properties.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| String::from_utf8(value.clone()).expect("text")).unwrap_or_default()
    };
    let cause = ["code", "place", "text"].map(|name| of_bad(&format!("quayline.failure-{name}")));
    assert_eq!(cause, ["FLO-044", "flow test, node fail", "bad"]);
    assert_eq!(of_bad("nats_subject"), "in.bad");
    until_empty(&world.store, &[outbox.name()]);
    let out = server.contents("OUT");
    let first = out.iter().find(|(subject, ..)| subject == "out.first").expect("the message");
    assert_eq!((first.2.as_str(), first.1["traceparent"].as_str()), ("one", parent));
    let (steps, lost) = engine.flows()[0].stats.take_trace(SystemClock.now_ms());
    let of_first: Vec<(&str, &str)> = steps
        .iter()
        .filter(|step| step.trace_id.as_deref() == Some(&parent[3..35]))
        .map(|step| (step.node.as_str(), step.terminal.as_str()))
        .collect();
    let expected = [("get", "out"), ("check", "no_match"), ("keep", "out"), ("send", "out"), ("get", "commit")];
    assert_eq!((of_first.as_slice(), lost), (expected.as_slice(), 0));
    let failed = |step: &&quayline_flow::TraceEvent| step.failure.as_deref() == Some("FLO-044: bad");
    assert_eq!(steps.iter().filter(failed).count(), 2, "{steps:?}");
    drop(engine);

    // The server forgets what was acknowledged: every message comes again, and none has a second effect.
    let names = server.api("$JS.API.CONSUMER.NAMES.IN", "");
    let consumer = names["consumers"][0].as_str().expect("a name").to_owned();
    assert!(consumer.starts_with("quayline-test-get-"), "{consumer}");
    server.api(&format!("$JS.API.CONSUMER.DELETE.IN.{consumer}"), "");
    let engine = world.engine(&flow(&server, ""));
    server.publish("in.good", &["four".to_owned()]);
    assert_eq!(world.get_text(&kept), "four");
    until("all are acknowledged", || {
        let facts = server.api(&format!("$JS.API.CONSUMER.INFO.IN.{consumer}"), "");
        facts["ack_floor"]["stream_seq"] == 4
    });
    assert_eq!(kept.facts().expect("facts").depth, 0);
    drop(engine);

    // Regression: the hint for a consumer that was deleted named the user and the password.
    let engine = world.engine(&flow(&server, ""));
    until("the node is connected", || {
        server.api(&format!("$JS.API.CONSUMER.INFO.IN.{consumer}"), "")["num_waiting"] == 1
    });
    server.api(&format!("$JS.API.CONSUMER.DELETE.IN.{consumer}"), "");
    until("the node says so", || world.errors().contains("NATS, stream IN: the server ended the delivery"));
    assert!(world.errors().contains("hint: the flow connects again and creates the consumer"), "{}", world.errors());
    server.publish("in.good", &["again".to_owned()]);
    assert_eq!(world.get_text(&kept), "again");
    until("the node waits no longer", || engine.flows()[0].stats.nodes[0].waits_for().is_none());
    drop(engine);

    // A stream of the same name that was made again begins again.
    server.api("$JS.API.STREAM.DELETE.IN", "");
    server.stream("IN", "in.*", "workqueue");
    let engine = world.engine(&flow(&server, "subject = \"in.good\""));
    server.publish("in.good", &["five".to_owned()]);
    assert_eq!(world.get_text(&kept), "five");
    until("the queue of work is empty", || server.api("$JS.API.STREAM.INFO.IN", "")["state"]["messages"] == 0);
    drop(engine);
}

#[test]
fn messages_come_in_the_order_of_the_stream_and_a_stream_that_lost_its_end_is_refused() {
    let test = "messages_come_in_the_order_of_the_stream_and_a_stream_that_lost_its_end_is_refused";
    let Some(server) = Nats::start(test) else { return };
    server.stream("IN", "in.*", "limits");
    server.stream("OUT", "out.*", "limits");
    let world = World::new();
    let (kept, outbox) = (world.queue("KEPT"), world.queue("NATS.OUT"));
    world.queue(DEAD_LETTER);
    let text = flow(&server, "order = \"by_stream\"");
    let engine = world.engine(&format!("additional_instances = 3\n{text}"));
    server.publish("in.a", &numbers(20));
    // What the server has now is brought back later.
    until("all are there", || kept.facts().expect("facts").depth == 20);
    engine.stop("test");
    server.kill();
    let (data, copy) = (server.folder.path().join("data"), server.folder.path().join("copy"));
    let copied = Command::new("cp").arg("-a").arg(&data).arg(&copy).status().expect("cp");
    assert!(copied.success());
    server.again();
    engine.restart("test");
    server.publish("in.a", &(20..60).map(|number| number.to_string()).collect::<Vec<_>>());
    let got: Vec<String> = (0..60).map(|_| world.get_text(&kept)).collect();
    assert_eq!(got, numbers(60));
    until_empty(&world.store, &[outbox.name()]);
    let out: Vec<String> = server.contents("OUT").into_iter().map(|(_, _, content)| content).collect();
    assert_eq!(out, numbers(60));
    engine.stop("test");
    server.kill();
    std::fs::remove_dir_all(&data).expect("removed");
    std::fs::rename(&copy, &data).expect("moved");
    server.again();
    engine.restart("test");
    until("the node refuses the stream", || world.errors().contains("FLO-060"));
    assert!(
        world.errors().contains("stream IN ends with message 20, but message 60 was processed"),
        "{}",
        world.errors()
    );
}

/// A message whose unit of work could not begin was lost until the next start.
#[test]
fn a_message_whose_unit_of_work_cannot_begin_keeps_its_place() {
    let Some(server) = Nats::start("a_message_whose_unit_of_work_cannot_begin_keeps_its_place") else { return };
    server.stream("IN", "in.*", "limits");
    let world = World::with_few_units();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let address = server.address();
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"nats_input\"\nserver = \"{address}\"\nstream = \"IN\"\norder = \"by_stream\"\nout = \"keep\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"
    ));
    server.publish("in.a", &["0".to_owned()]);
    assert_eq!(world.get_text(&kept), "0");
    until("its unit of work has ended", || ended(&engine).0 == 1);
    let mut units = world.all_units();
    server.publish("in.a", &["1".to_owned(), "2".to_owned(), "3".to_owned()]);
    // Also the second attempt fails.
    until("the message is refused", || {
        // A look at what is acknowledged may have had one.
        units.extend(world.all_units());
        world.errors().matches("units_open_max").count() > 2
    });
    drop(units);
    assert_eq!([1, 2, 3].map(|_| world.get_text(&kept)), ["1", "2", "3"]);
    until("all are acknowledged", || {
        let names = server.api("$JS.API.CONSUMER.NAMES.IN", "");
        let consumer = names["consumers"][0].as_str().expect("a name");
        server.api(&format!("$JS.API.CONSUMER.INFO.IN.{consumer}"), "")["ack_floor"]["stream_seq"] == 4
    });
    drop(engine);
}

/// Returns the names of the entries of NATS inputs in a store, and their content.
fn entries(store: &Store) -> Vec<(String, Vec<u8>)> {
    let unit = store.begin().expect("a unit");
    let mut page = Page::default();
    let limit = PageLimit { entries: 10_000, ..PageLimit::default() };
    unit.page(Space::CHECKPOINTS, KeyRange::ALL, Direction::Forward, limit, &mut page).expect("a page");
    let text = |key: &[u8]| String::from_utf8(key.to_vec()).unwrap_or_default();
    page.iter()
        .map(|(key, value)| (text(key), value.to_vec()))
        .filter(|(key, _)| key.starts_with("flow-nats/"))
        .collect()
}

fn plain_flow(server: &Nats) -> String {
    let address = server.address();
    format!(
        "[node.get]\ntype = \"nats_input\"\nserver = \"{address}\"\nstream = \"IN\"\nout = \"keep\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"
    )
}

/// What a connection had received of a deleted stream applied to the new stream of the same name: its numbers were entered there, so messages of the
/// new stream were acknowledged without processing.
#[test]
fn a_stream_that_is_made_again_while_its_messages_wait_begins_with_its_first_message() {
    let test = "a_stream_that_is_made_again_while_its_messages_wait_begins_with_its_first_message";
    let Some(server) = Nats::start(test) else { return };
    let texts = |what: &str| (0..20).map(|number| format!("{what} {number}")).collect::<Vec<_>>();
    let delivered = || {
        let consumers = server.api("$JS.API.CONSUMER.LIST.IN", "")["consumers"].clone();
        consumers[0]["num_ack_pending"] == 20
    };
    server.stream("IN", "in.*", "limits");
    let world = World::new();
    let kept = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("KEPT") });
    world.queue(DEAD_LETTER);
    world.put(&kept, &Message::new("fills the queue"));
    let engine = world.engine(&plain_flow(&server));
    server.publish("in.a", &texts("old"));
    // One is processed, and the others wait.
    until("the messages are delivered", delivered);
    server.api("$JS.API.STREAM.DELETE.IN", "");
    server.stream("IN", "in.*", "limits");
    server.publish("in.a", &texts("new"));
    until("the new messages are delivered", delivered);
    assert_eq!(world.get_text(&kept), "fills the queue");
    // The unit of work of the first message was open.
    assert_eq!(world.get_text(&kept), "old 0");
    assert_eq!((0..20).map(|_| world.get_text(&kept)).collect::<Vec<_>>(), texts("new"));
    // The first message has left nothing that counts for the new stream.
    until("the numbers are below the floor", || entries(&world.store).len() == 1);
    drop(engine);
    let _engine = world.engine(&plain_flow(&server));
    server.publish("in.a", &["last".to_owned()]);
    assert_eq!(world.get_text(&kept), "last");
}

/// A consumer that existed kept the subject and the limit of its creation, whatever the flow file said later.
#[test]
fn a_changed_subject_or_order_applies_to_the_consumer_that_exists() {
    let Some(server) = Nats::start("a_changed_subject_or_order_applies_to_the_consumer_that_exists") else { return };
    server.stream("IN", "in.*", "limits");
    let world = World::new();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let with = |more: &str| plain_flow(&server).replace("stream = \"IN\"\n", &format!("stream = \"IN\"\n{more}\n"));
    let config = || server.api("$JS.API.CONSUMER.LIST.IN", "")["consumers"][0]["config"].clone();
    let engine = world.engine(&with("subject = \"in.a\""));
    server.publish("in.b", &["b1".to_owned()]);
    server.publish("in.a", &["a1".to_owned()]);
    assert_eq!(world.get_text(&kept), "a1");
    let begun = std::time::Instant::now();
    let wide = config()["max_ack_pending"].clone();
    for (properties, subject, filter, pending) in [
        ("subject = \"in.b\"\norder = \"by_stream\"", "in.b", Some("in.b"), 1.into()),
        ("order = \"by_stream\"", "in.c", Some(">"), 1.into()),
        ("", "in.d", Some(">"), wide),
    ] {
        engine.deploy(world.compile(&with(properties)).expect("a flow"));
        until("the consumer is changed", || {
            let config = config();
            config["filter_subject"].as_str() == filter && config["max_ack_pending"] == pending
        });
        server.publish(subject, &[subject.to_owned()]);
        assert_eq!(world.get_text(&kept), subject);
    }
    // Regression: messages came with the next pull, 20 seconds later.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(engine);
    assert_eq!((world.errors().as_str(), kept.facts().expect("facts").depth), ("", 0));
    // A consumer that cannot become what the node needs is an error.
    let name = server.api("$JS.API.CONSUMER.NAMES.IN", "")["consumers"][0].as_str().expect("a name").to_owned();
    server.api(&format!("$JS.API.CONSUMER.DELETE.IN.{name}"), "");
    let request = r#"{"stream_name":"IN","config":{"durable_name":"own","ack_policy":"none"}}"#;
    server.api("$JS.API.CONSUMER.DURABLE.CREATE.IN.own", request);
    let _engine = world.engine(&with("consumer = \"own\""));
    until("the node refuses the consumer", || world.errors().contains("FLO-059"));
}

#[test]
fn numbers_that_earlier_versions_stored_are_known() {
    let Some(server) = Nats::start("numbers_that_earlier_versions_stored_are_known") else { return };
    server.stream("IN", "in.*", "limits");
    let world = World::new();
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let engine = world.engine(&plain_flow(&server));
    server.publish("in.a", &numbers(3));
    (0..3).for_each(|_| drop(world.get(&kept)));
    drop(engine);
    // Their entries had no digest of the stream.
    let mut unit = world.store.begin().expect("a unit");
    for (key, mut value) in entries(&world.store) {
        unit.delete(Space::CHECKPOINTS, key.as_bytes()).expect("a change");
        if key == "flow-nats/test/get" {
            value[5..13].fill(0);
            unit.put_checkpoint(&key, &value).expect("a change");
        }
    }
    (1..4).for_each(|number| {
        unit.put_checkpoint(&format!("flow-nats/test/get/{number:016x}"), &[]).expect("a change");
    });
    unit.commit().expect("a commit");
    let names = server.api("$JS.API.CONSUMER.NAMES.IN", "");
    let consumer = names["consumers"][0].as_str().expect("a name").to_owned();
    server.api(&format!("$JS.API.CONSUMER.DELETE.IN.{consumer}"), "");
    let _engine = world.engine(&plain_flow(&server));
    server.publish("in.a", &["3".to_owned()]);
    assert_eq!(world.get_text(&kept), "3");
    assert_eq!(kept.facts().expect("facts").depth, 0);
}

#[test]
fn messages_that_come_late_again_and_in_another_order_have_their_effect_once() {
    const COUNT: usize = 400;
    let Some(server) = Nats::start("messages_that_come_late_again_and_in_another_order_have_their_effect_once") else {
        return;
    };
    server.stream("IN", "in.*", "limits");
    server.stream("OUT", "out.*", "limits");
    let proxy = Proxy::to(server.port);
    let world = World::new();
    let (kept, dead, outbox) = (world.queue("KEPT"), world.queue(DEAD_LETTER), world.queue("NATS.OUT"));
    let text = flow(&server, "").replace(&server.address(), &format!("nats://127.0.0.1:{}", proxy.port));
    let engine = world.engine(&format!("additional_instances = 7\n{text}"));
    server.publish("in.a", &numbers(COUNT));
    let got: BTreeSet<String> = (0..COUNT).map(|_| world.get_text(&kept)).collect();
    assert_eq!(got.len(), COUNT, "each is processed once");
    until_empty(&world.store, &["NATS.OUT"]);
    drop(engine);
    let out = server.contents("OUT");
    let distinct: BTreeSet<&str> = out.iter().map(|(_, _, content)| content.as_str()).collect();
    assert_eq!((out.len(), distinct.len()), (COUNT, COUNT), "each is published once");
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
    for order in ["", "order = \"by_stream\""] {
        let Some(server) = Nats::start("a_bridge_has_each_effect_once_however_often_both_sides_are_killed") else {
            return;
        };
        server.stream("IN", "in.*", "limits");
        server.stream("OUT", "out.*", "limits");
        let text = format!("additional_instances = 3\n{}", flow(&server, order));
        let bridge = Bridge::new(&text, "NATS.OUT");
        let send = |range: std::ops::Range<usize>| {
            server.publish("in.a", &range.map(|number| number.to_string()).collect::<Vec<_>>());
        };
        let child = ("nats::child_that_bridges", FOLDER);
        let count = bridge.kills(child, (bridge_kills(4), 150), send, || server.kill(), || server.again());
        let kept = bridge.ends_with_each_effect_once(count);
        assert!(order.is_empty() || kept.iter().map(number).is_sorted(), "the stream's order is kept");
        let out = server.contents("OUT");
        let distinct: BTreeSet<&str> = out.iter().map(|(_, _, content)| content.as_str()).collect();
        assert_eq!((out.len(), distinct.len()), (count, count), "each is published once");
    }
}

#[test]
fn names_and_addresses_of_servers_are_checked() {
    let world = World::new();
    world.write("bad.creds", "secret");
    let start = |server: &str, rest: &str| {
        let text = format!("[node.get]\ntype = \"nats_input\"\nserver = \"{server}\"\n{rest}\nout = []\n");
        world.compile(&text).map(|_| String::new()).unwrap_or_else(|findings| findings.to_string())
    };
    for (server, rest, part) in [
        ("nats://h", "stream = \"S\"", ""),
        ("nats://h:4222/", "stream = \"S\"\nsubject = \"a.*.>\"", ""),
        ("nats://[::1]:4222", "stream = \"S\"", ""),
        ("http://h", "stream = \"S\"", "it does not begin with nats:// or tls://"),
        ("tls://h", "stream = \"S\"", ""),
        ("nats://h", "stream = \"S\"\ncredentials = \"no\"", "no: no such file or directory"),
        ("nats://h", "stream = \"S\"\ncredentials = \"bad.creds\"", "bad.creds: its seed is not one of NKeys"),
        ("nats://h", "stream = \"S\"\nprivate_key = \"k\"", "`certificate` is missing"),
        ("nats://u:p@h", "stream = \"S\"", "flow files are not secret"),
        ("nats://h:0", "stream = \"S\"", "its port is not a number"),
        ("nats://h", "stream = \"a.b\"", "`stream`: a name has no blank"),
        ("nats://h", "stream = \"S\"\nsubject = \"a..b\"", "it is not a subject"),
    ] {
        let found = start(server, rest);
        assert!(
            if part.is_empty() { found.is_empty() } else { found.contains("FLO-030") && found.contains(part) },
            "{found}"
        );
    }
    let flow = world
        .compile(
            "[node.get]\ntype = \"nats_input\"\nserver = \"nats://h\"\nstream = \"S\"\nout = \"put\"\n\
             [node.put]\ntype = \"nats_output\"\nserver = \"nats://h\"\nsubject = \"s\"\noutbox = \"O\"\n",
        )
        .expect("a flow");
    let edges: Vec<_> = flow.edges().map(|edge| edge.guarantee.split([':', ' ']).take(2).collect::<Vec<_>>()).collect();
    assert_eq!(edges, [["exactly", "once"], ["exactly", "once"]]);
}

/// An example of the documentation of NATS.
const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

fn digits(bytes: &[u8], bits: u32, digits: &[u8]) -> String {
    let (mut text, mut rest, mut count) = (String::new(), 0_u32, 0);
    for byte in bytes {
        rest = rest << 8 | u32::from(*byte);
        count += 8;
        while count >= bits {
            count -= bits;
            text.push(char::from(digits[(rest >> count) as usize & ((1 << bits) - 1)]));
            rest &= (1 << count) - 1;
        }
    }
    if count > 0 {
        text.push(char::from(digits[(rest << (bits - count)) as usize]));
    }
    text
}

/// The seed of an operator, account or user, from one byte.
fn seed(kind: u8, byte: u8) -> NatsCredentials {
    let mut bytes = vec![18 << 3 | kind >> 5, (kind & 31) << 3];
    bytes.extend([byte; 32]);
    let crc = bytes.iter().fold(0_u16, |crc, byte| {
        let step = |crc: u16, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
        (0..8).fold(crc ^ u16::from(*byte) << 8, step)
    });
    bytes.extend(crc.to_le_bytes());
    let text = digits(&bytes, 5, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    NatsCredentials::parse(&text).expect("a seed")
}

/// A token as operators and accounts sign it.
fn token(issuer: &NatsCredentials, subject: &str, nats: &str) -> String {
    let part =
        |text: &str| digits(text.as_bytes(), 6, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    let claims = format!(
        r#"{{"jti":"1","iat":1,"iss":"{}","name":"test","sub":"{subject}","nats":{nats}}}"#,
        issuer.public_key()
    );
    let signed = format!("{}.{}", part(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#), part(&claims));
    format!("{signed}.{}", issuer.sign(signed.as_bytes()))
}

#[test]
fn servers_with_tls_and_logins_get_what_they_require() {
    let test = "servers_with_tls_and_logins_get_what_they_require";
    let folder = tempfile::tempdir().expect("a folder");
    if !certificates(folder.path(), &["server", "client"]) {
        return eprintln!("skipped: {test}: openssl is not installed");
    }
    let world = World::new();
    for name in ["ca.pem", "client.pem", "client.key"] {
        std::fs::copy(folder.path().join(name), world.path().join(name)).expect("a copy");
    }
    let path = |name: &str| folder.path().join(name);
    let own = ClientTls::from_files(Some(&path("ca.pem")), Some((&path("client.pem"), &path("client.key"))));
    let tls = Some(own.expect("files"));
    let nkey = NatsCredentials::parse(SEED).expect("a seed");
    let settings = format!(
        "jetstream {{ store_dir: {:?} }}\ntls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n\
         authorization {{ users: [ {{ nkey: {} }} ] }}\n",
        path("data"),
        path("server.pem"),
        path("server.key"),
        path("ca.pem"),
        nkey.public_key()
    );
    let Some(server) = Nats::start_with(test, folder, &settings) else { return };
    world.write("user.nk", SEED);
    let login = NatsLogin { credentials: Some(nkey), tls: tls.clone(), ..NatsLogin::default() };
    for (name, subjects) in [("IN", "in.*"), ("OUT", "out.*")] {
        let config = format!(r#"{{"name":"{name}","subjects":["{subjects}"],"retention":"limits","storage":"file"}}"#);
        let subject = format!("$JS.API.STREAM.CREATE.{name}");
        server.with_login(&login, async |client| client.request(&subject, &[], config.as_bytes(), WAIT).await);
    }
    server.with_login(&login, async |client| client.publish_kept("in.a", &[("kind", "x")], b"over TLS", WAIT).await);
    let kept = world.queue("KEPT");
    world.queue(DEAD_LETTER);
    let outbox = world.queue("NATS.OUT");
    let engine = world.empty_engine(1);
    let deploy = |properties: &str| {
        let address = format!("server = \"{}\"\n", server.address());
        let text = flow(&server, "").replace(&address, &format!("{address}{properties}\n"));
        engine.deploy(world.compile(&text).unwrap_or_else(|findings| panic!("{findings}")));
    };
    let files = "authorities = \"ca.pem\"\ncertificate = \"client.pem\"\nprivate_key = \"client.key\"";
    for (properties, part) in [
        ("credentials = \"user.nk\"", "certificate"),
        ("credentials = \"user.nk\"\nauthorities = \"ca.pem\"", "FLO-058"),
        (files, "Authorization Violation"),
    ] {
        deploy(properties);
        until(part, || world.errors().contains(part));
        engine.remove("test");
        world.said.failed.lock().expect("no panic").clear();
    }
    deploy(&format!("credentials = \"user.nk\"\n{files}"));
    assert_eq!(world.get_text(&kept), "over TLS");
    until_empty(&world.store, &[outbox.name()]);
    drop(engine);

    // A user of an account, by its JWT.
    let (operator, account, user) = (seed(14 << 3, 1), seed(0, 2), NatsCredentials::parse(SEED).expect("a seed"));
    let of_operator = token(&operator, &operator.public_key(), r#"{"type":"operator","version":2}"#);
    let limits = r#""subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1"#;
    let of_account =
        token(&operator, &account.public_key(), &format!(r#"{{"limits":{{{limits}}},"type":"account","version":2}}"#));
    let of_user = token(
        &account,
        &user.public_key(),
        r#"{"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}"#,
    );
    let settings = format!(
        "operator: {of_operator}\nresolver: MEMORY\nresolver_preload: {{ {}: {of_account} }}\n",
        account.public_key()
    );
    let by_account = Nats::start_with(test, tempfile::tempdir().expect("a folder"), &settings).expect("a server");
    let creds = format!(
        "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------\n"
    );
    let credentials = Some(NatsCredentials::parse(&creds).expect("credentials"));
    let login = NatsLogin { credentials, ..NatsLogin::default() };
    let error = by_account.with_login(&login, async |client| {
        Ok(client.request("nobody.listens", &[], b"", WAIT).await.expect_err("no answer"))
    });
    assert_eq!(error, NatsError::NoResponder { subject: "nobody.listens".to_owned() });
    // The other logins that servers know: a token, a user with a password.
    for (settings, user) in
        [("authorization { token: s3cret }\n", None), ("authorization { user: a, password: s3cret }\n", Some("a"))]
    {
        let server = Nats::start_with(test, tempfile::tempdir().expect("a folder"), settings).expect("a server");
        let login =
            NatsLogin { user: user.map(str::to_owned), secret: Some("s3cret".to_owned()), ..NatsLogin::default() };
        server.with_login(&login, async |client| {
            Ok(client.request("nobody.listens", &[], b"", WAIT).await.expect_err("no answer"))
        });
    }
}
