//! Streams of a real `nats-server`: messages in and out, and both sides killed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quayline_connect::{ConsumerSettings, NatsAddress, NatsClient, NatsError, NatsLogin};
use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_project::FlowFile;
use quayline_store::queue::{DEAD_LETTER, GetWait, Message, QueueDefinition, Select};
use quayline_store::{Clock, Store, StoreError, SystemClock};

use crate::crash::open;
use crate::support::{PATIENCE, Said, World, kills, until};

const FOLDER: &str = "QUAYLINE_TEST_NATS_FOLDER";
const PROGRAM: &str = "QUAYLINE_NATS_SERVER";
const MESSAGES: usize = 600;
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
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let data = folder.path().join("data");
        let text = format!("listen: 127.0.0.1:{port}\njetstream {{ store_dir: {data:?}, sync_interval: always }}\n");
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

    /// Runs something with a client. A server that has just begun is asked again.
    fn with<T>(&self, work: impl AsyncFn(&mut NatsClient) -> Result<T, NatsError>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let address = NatsAddress::parse(&self.address()).expect("an address");
        let mut last = None;
        for salt in 0..200 {
            let done = runtime.block_on(async {
                let mut client = NatsClient::connect(&address, &NatsLogin::default(), salt + 7).await?;
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

    /// Everything in a stream: subject, headers, content.
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
        let headers = [("kind", "first"), ("traceparent", parent)];
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
    let bad = world.get(&dead);
    assert_eq!(bad.payload, b"two");
    assert_eq!(bad.reason, "FLO-044: bad");
    until("the outbox is empty", || outbox.facts().expect("facts").depth == 0);
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
    until("the outbox is empty", || outbox.facts().expect("facts").depth == 0);
    let out: Vec<String> = server.contents("OUT").into_iter().map(|(_, _, content)| content).collect();
    assert_eq!(out, numbers(60));
    engine.stop("test");
    server.kill();
    std::fs::remove_dir_all(&data).expect("removed");
    std::fs::rename(&copy, &data).expect("moved");
    server.again();
    engine.restart("test");
    until("the node refuses the stream", || world.errors().contains("FLO-060"));
    assert!(world.errors().contains("ends with message 20, but message 60 was processed"), "{}", world.errors());
}

fn run(store: &Store, project: &Path, text: &str) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let file = FlowFile::parse("bridge.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, project, None).unwrap_or_else(|findings| panic!("{findings}")));
    (engine, said)
}

/// The child. Without the variable this is no test of its own.
#[test]
fn child_that_bridges() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(folder.join("flow.toml")).expect("a file");
    let (store, _engine) = open(&folder.join("data"));
    let _running = run(&store, &folder, &text);
    std::fs::write(folder.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_bridge_has_each_effect_once_however_often_both_sides_are_killed() {
    let Some(server) = Nats::start("a_bridge_has_each_effect_once_however_often_both_sides_are_killed") else { return };
    server.stream("IN", "in.*", "limits");
    server.stream("OUT", "out.*", "limits");
    server.publish("in.a", &numbers(MESSAGES));
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let text = format!("additional_instances = 3\n{}", flow(&server, ""));
    std::fs::write(place.path().join("flow.toml"), &text).expect("a file");
    let folder = place.path().join("data");
    {
        let (store, engine) = open(&folder);
        let mut unit = store.begin().expect("a unit");
        for name in ["KEPT", "NATS.OUT", DEAD_LETTER] {
            store.define_queue(&mut unit, QueueDefinition::local(name)).expect("a definition");
        }
        unit.commit().expect("a commit");
        drop(store);
        engine.close().expect("closed");
    }
    let mut seed = 0x0bad_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Duration::from_millis(u64::from((seed >> 16) % below))
    };
    for round in 0..kills(8) {
        let mark = place.path().join("running");
        let _ = std::fs::remove_file(&mark);
        let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
            .args(["--exact", "nats::child_that_bridges", "--test-threads", "1"])
            .env(FOLDER, place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        until("the child runs the flow", || mark.exists());
        std::thread::sleep(random(150));
        if round % 2 == 1 {
            server.kill();
            std::thread::sleep(random(40));
            server.again();
            std::thread::sleep(random(150));
        }
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
    }
    let (store, engine) = open(&folder);
    let kept = store.queue("KEPT").expect("a queue");
    let depth = |name: &str| store.queue(name).and_then(|queue| queue.facts()).expect("facts").depth;
    let left = MESSAGES as u64 - depth("KEPT");
    let (flows, said) = run(&store, place.path(), &text);
    let told = || said.failed.lock().expect("no panic").iter().map(|(f, _)| f.to_string()).collect::<String>();
    until("everything is received", || depth("KEPT") >= MESSAGES as u64);
    until("everything is delivered", || depth("NATS.OUT") == 0);
    flows.drain();
    assert_eq!(depth(DEAD_LETTER), 0, "{}", told());
    let mut effects = BTreeSet::new();
    let mut unit = store.begin().expect("a unit");
    loop {
        match kept.get(&mut unit, Select::First, GetWait::No) {
            Ok(message) => assert!(effects.insert(message.payload), "a message has two effects"),
            Err(StoreError::NoMessage { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    unit.roll_back();
    assert_eq!(effects.len(), MESSAGES, "{}", told());
    let out = server.contents("OUT");
    let distinct: BTreeSet<&str> = out.iter().map(|(_, _, content)| content.as_str()).collect();
    assert_eq!((out.len(), distinct.len()), (MESSAGES, MESSAGES), "each is published once: {}", told());
    assert!(left < MESSAGES as u64, "the children that were killed did a part of the work");
    drop((store, kept));
    engine.close().expect("closed");
}

#[test]
fn names_and_addresses_of_servers_are_checked() {
    let world = World::new();
    let start = |server: &str, rest: &str| {
        let text = format!("[node.get]\ntype = \"nats_input\"\nserver = \"{server}\"\n{rest}\nout = []\n");
        world.compile(&text).map(|_| String::new()).unwrap_or_else(|findings| findings.to_string())
    };
    for (server, rest, part) in [
        ("nats://h", "stream = \"S\"", ""),
        ("nats://h:4222/", "stream = \"S\"\nsubject = \"a.*.>\"", ""),
        ("nats://[::1]:4222", "stream = \"S\"", ""),
        ("http://h", "stream = \"S\"", "it does not begin with nats://"),
        ("tls://h", "stream = \"S\"", "TLS is not supported"),
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
