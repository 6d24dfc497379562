//! Topics of a real Kafka, in KRaft mode: messages in and out, and both sides killed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use quayline_store::queue::{DEAD_LETTER, Message};

use crate::bridge::{Bridge, number, until_empty};
use crate::peers::{free_port, java, listens};
use crate::support::{World, bridge_kills, until};

const FOLDER: &str = "QUAYLINE_TEST_KAFKA_FOLDER";

/// A broker of a test's own, and Kafka's own tools.
struct Kafka {
    folder: tempfile::TempDir,
    process: Mutex<Option<Child>>,
    port: u16,
    classes: PathBuf,
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Kafka {
    /// A broker that does not run yet.
    fn new(test: &str) -> Option<Kafka> {
        let classes = match java("kafka") {
            Ok(classes) => classes,
            Err(why) => {
                eprintln!("skipped: {test}: {why}");
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let (port, controller) = (free_port(), free_port());
        let data = folder.path().join("data");
        let settings = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n\
             log.dirs={}\noffsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\nauto.create.topics.enable=false\nbroker.session.timeout.ms=3000\n\
             broker.heartbeat.interval.ms=500\n",
            data.display()
        );
        std::fs::write(folder.path().join("server.properties"), settings).expect("a file");
        let kafka = Kafka { folder, process: Mutex::new(None), port, classes };
        let id = "MkU3OEVBNTcwNTJENDM2Qg";
        kafka.tool("kafka.tools.StorageTool", &["format", "-t", id, "-c", "server.properties"], "");
        Some(kafka)
    }

    fn start(test: &str, topics: &[(&str, u32)]) -> Option<Kafka> {
        let kafka = Kafka::new(test)?;
        kafka.again();
        for (topic, partitions) in topics {
            kafka.topic(topic, *partitions);
        }
        Some(kafka)
    }

    fn java(&self, class: &str) -> Command {
        let mut command = Command::new("java");
        command.args(["-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp"]).arg(format!("{}/lib/*", self.classes.display()));
        command.arg(class).current_dir(self.folder.path());
        command
    }

    /// Runs a tool of Kafka and returns its output.
    fn tool(&self, class: &str, arguments: &[&str], input: &str) -> String {
        let mut child = self
            .java(class)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Java");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("written");
        drop(stdin);
        let done = child.wait_with_output().expect("ended");
        assert!(done.status.success(), "{class}: {}", done.stderr.escape_ascii());
        String::from_utf8(done.stdout).expect("text")
    }

    fn again(&self) {
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a file");
        let server = self
            .java("kafka.Kafka")
            .arg("server.properties")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null())
            .spawn();
        *self.process.lock().expect("no panic") = Some(server.expect("Java"));
        listens(self.port);
    }

    fn kill(&self) {
        if let Some(mut process) = self.process.lock().expect("no panic").take() {
            // SIGKILL; it may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn topics(&self, arguments: &[&str]) {
        let place = self.place();
        self.tool("org.apache.kafka.tools.TopicCommand", &[&["--bootstrap-server", &place], arguments].concat(), "");
    }

    fn topic(&self, name: &str, partitions: u32) {
        self.topics(&["--create", "--topic", name, "--partitions", &partitions.to_string()]);
    }

    /// Appends lines `HEADERS<tab>KEY<tab>VALUE`.
    fn append(&self, topic: &str, lines: &[String], codec: &str) {
        let place = self.place();
        let arguments = [
            ["--bootstrap-server", &place],
            ["--topic", topic],
            ["--compression-codec", codec],
            ["--property", "parse.key=true"],
            ["--property", "parse.headers=true"],
        ];
        self.tool("org.apache.kafka.tools.ConsoleProducer", &arguments.concat(), &(lines.join("\n") + "\n"));
    }

    /// Returns all messages of a topic: partition, headers, key and value.
    fn contents(&self, topic: &str) -> Vec<[String; 4]> {
        let place = self.place();
        let arguments = [
            ["--bootstrap-server", &place],
            ["--topic", topic],
            ["--isolation-level", "read_committed"],
            ["--property", "print.partition=true"],
            ["--property", "print.headers=true"],
            ["--property", "print.key=true"],
        ];
        let all = [&["--from-beginning"][..], &arguments.concat()].concat();
        // On a busy machine a consumer may not have joined before its time is over.
        let read = |wait_ms| {
            let all = [&all[..], &["--timeout-ms", wait_ms]].concat();
            self.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", &all, "")
        };
        let found = ["4000", "8000", "16000", "32000"].into_iter().map(read).find(|found| !found.is_empty());
        let found = found.unwrap_or_default();
        let parts =
            |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("four parts");
        found.lines().map(parts).collect()
    }
}

fn flow(kafka: &Kafka, input: &str) -> String {
    let server = format!("kafka://127.0.0.1:1,{}", kafka.place());
    format!(
        "[node.get]\ntype = \"kafka_input\"\nserver = \"{server}\"\ntopic = \"IN\"\n{input}\nout = \"check\"\n\
         [node.check]\ntype = \"filter\"\nwhen = 'envelope.property_kind = \"bad\"'\nout = \"fail\"\nno_match = [\"keep\", \"send\"]\n\
         [node.fail]\ntype = \"throw\"\ntext = \"bad\"\n\
         [node.keep]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n\
         [node.send]\ntype = \"kafka_output\"\nserver = \"{server}\"\ntopic.from = '\"OUT.\" & envelope.property_kind'\n\
         key.from = 'envelope.property_kafka_key'\noutbox = \"KAFKA.OUT\"\n"
    )
}

fn line(kind: &str, key: &str, value: &str) -> String {
    format!("kind:{kind}\t{key}\t{value}")
}

fn property(message: &Message, name: &str) -> String {
    let found = message.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    String::from_utf8(found.unwrap_or_default()).expect("text")
}

#[test]
fn messages_of_a_topic_have_their_effect_once_and_bad_ones_are_set_aside() {
    let test = "messages_of_a_topic_have_their_effect_once_and_bad_ones_are_set_aside";
    let Some(kafka) = Kafka::new(test) else { return };
    let world = World::new();
    let (kept, dead, outbox) = (world.queue("KEPT"), world.queue(DEAD_LETTER), world.queue("KAFKA.OUT"));
    let engine = world.engine(&flow(&kafka, "attempts = 2"));
    until("the node says that it waits for the brokers", || world.errors().contains("FLO-065"));
    kafka.again();
    until("the node says that there is no topic", || world.errors().contains("topic IN: Kafka error 3"));
    kafka.topic("IN", 3);
    kafka.topic("OUT.good", 2);
    let codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    for codec in codecs {
        kafka.append("IN", &[line("good", "a", codec), line("bad", "b", "bad"), line("good", "c", codec)], codec);
    }
    let mut got: Vec<Message> = (0..10).map(|_| world.get(&kept)).collect();
    got.sort_by_key(|message| (message.payload.clone(), property(message, "kafka_key")));
    let mut expected: Vec<_> = codecs.iter().flat_map(|codec| ["a", "c"].map(|key| (*codec, key.to_owned()))).collect();
    expected.sort();
    let texts: Vec<_> = got
        .iter()
        .map(|message| (std::str::from_utf8(&message.payload).expect("text"), property(message, "kafka_key")))
        .collect();
    assert_eq!(texts, expected);
    assert_eq!((property(&got[0], "kafka_topic").as_str(), property(&got[0], "kind").as_str()), ("IN", "good"));
    for _ in codecs {
        assert_eq!(world.get(&dead).reason, "FLO-044: bad");
    }
    until_empty(&world.store, &[outbox.name()]);
    let out = kafka.contents("OUT.good");
    let found: BTreeSet<(String, String)> = out.iter().map(|[_, _, key, value]| (value.clone(), key.clone())).collect();
    assert_eq!(out.len(), 10, "{out:?}");
    assert_eq!(found, expected.iter().map(|(value, key)| ((*value).to_owned(), key.clone())).collect());
    assert!(out.iter().all(|[_, headers, ..]| headers.contains("kind:good") && headers.contains("quayline_id:")));
    // A key has the partition that Kafka's own producer gives it.
    kafka.append("OUT.good", &[line("x", "a", "own"), line("x", "c", "own")], "none");
    let places = |key: &str| {
        let of = kafka.contents("OUT.good");
        of.into_iter().filter(|found| found[2] == key).map(|found| found[0].clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!((places("a").len(), places("c").len()), (1, 1));
    drop(engine);

    // What was processed does not come again, but for another reader it does.
    let engine = world.engine(&flow(&kafka, ""));
    kafka.append("IN", &[line("good", "a", "later")], "none");
    assert_eq!(world.get_text(&kept), "later");
    drop(engine);
    assert_eq!(kept.facts().expect("facts").depth, 0);
    let engine = world.engine(&flow(&kafka, "reader = \"again\"\npartitions = \"0-2\""));
    until("everything comes again", || kept.facts().expect("facts").depth == 11);
    drop(engine);
    let engine = world.engine(&flow(&kafka, "partitions = \"1,7\""));
    until("a partition is missing", || world.errors().contains("topic IN has no partition 7"));
    drop(engine);

    // A topic of the same name that was made again has offsets that were used.
    kafka.topics(&["--delete", "--topic", "IN"]);
    kafka.topic("IN", 3);
    let engine = world.engine(&flow(&kafka, ""));
    until("the node refuses the topic", || world.errors().contains("FLO-067"));
    assert!(world.errors().contains("the topic lost messages or was made again"), "{}", world.errors());
    drop(engine);
}

#[test]
fn messages_keep_the_order_of_their_partition_also_when_one_fails() {
    let test = "messages_keep_the_order_of_their_partition_also_when_one_fails";
    let Some(kafka) = Kafka::start(test, &[("IN", 3), ("OUT.test", 3)]) else { return };
    let world = World::new();
    let (kept, outbox) = (world.queue("KEPT"), world.queue("KAFKA.OUT"));
    let dead = world.queue(DEAD_LETTER);
    let text = format!("additional_instances = 7\n{}", flow(&kafka, "order = \"by_partition\"\nattempts = 2"));
    let engine = world.engine(&text);
    let mut lines: Vec<String> =
        (0..120).map(|number| line("test", ["a", "b", "c", "d"][number % 4], &number.to_string())).collect();
    lines.insert(40, line("bad", "a", "bad"));
    kafka.append("IN", &lines, "none");
    let mut by_key: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for _ in 0..120 {
        let message = world.get(&kept);
        let number = std::str::from_utf8(&message.payload).expect("text").parse().expect("a number");
        by_key.entry(property(&message, "kafka_key")).or_default().push(number);
    }
    assert_eq!(by_key.len(), 4);
    assert!(by_key.values().all(|numbers| numbers.len() == 30 && numbers.is_sorted()), "{by_key:?}");
    assert_eq!(world.get_text(&dead), "bad");
    until_empty(&world.store, &[outbox.name()]);
    let mut out: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    until("the consumer has read the topic", || {
        out.clear();
        for [_, _, key, value] in kafka.contents("OUT.test") {
            out.entry(key).or_default().push(value.parse().expect("a number"));
        }
        out.values().map(Vec::len).sum::<usize>() >= 120
    });
    assert_eq!(out, by_key);
    drop(engine);
}

/// Regression: after a stop, the stored position could be before the processed messages. If Kafka had removed them in the meantime, the node refused
/// the partition, and one refused partition stopped the reading of all others.
#[test]
fn a_partition_that_lost_messages_is_refused_alone_and_one_that_lost_processed_ones_is_not() {
    let test = "a_partition_that_lost_messages_is_refused_alone_and_one_that_lost_processed_ones_is_not";
    let Some(kafka) = Kafka::start(test, &[("IN", 3), ("OUT.test", 3)]) else { return };
    let world = World::new();
    let (kept, _outbox, _dead) = (world.queue("KEPT"), world.queue("KAFKA.OUT"), world.queue(DEAD_LETTER));
    let keys = ["a", "b", "c", "d", "e", "f"];
    let append = |round: usize| {
        let lines: Vec<String> =
            (0..60).map(|number| line("test", keys[number % 6], &(round * 60 + number).to_string())).collect();
        kafka.append("IN", &lines, "none");
    };
    let remove = |partitions: &[u32], offset: i64| {
        let each =
            partitions.iter().map(|number| format!("{{\"topic\":\"IN\",\"partition\":{number},\"offset\":{offset}}}"));
        let text = format!("{{\"version\":1,\"partitions\":[{}]}}", each.collect::<Vec<_>>().join(","));
        std::fs::write(kafka.folder.path().join("remove.json"), text).expect("a file");
        let place = kafka.place();
        let arguments = ["--bootstrap-server", &place, "--offset-json-file", "remove.json"];
        kafka.tool("org.apache.kafka.tools.DeleteRecordsCommand", &arguments, "");
    };
    let take = |count: usize| (0..count).map(|_| property(&world.get(&kept), "kafka_partition")).collect::<Vec<_>>();
    append(0);
    let engine = world.engine(&flow(&kafka, ""));
    take(60);
    drop(engine);
    // All messages are gone, and all were processed.
    remove(&[0, 1, 2], -1);
    let engine = world.engine(&flow(&kafka, ""));
    append(1);
    let places: BTreeSet<String> = take(60).into_iter().collect();
    assert!(!world.errors().contains("FLO-067"), "{}", world.errors());
    drop(engine);
    // Those of one partition are gone, and none of them was processed.
    append(2);
    let lost: u32 = places.first().and_then(|place| place.parse().ok()).expect("a partition");
    remove(&[lost], -1);
    let _engine = world.engine(&flow(&kafka, ""));
    until("the partition is refused", || world.errors().contains("FLO-067"));
    let others = take(20);
    assert!(others.iter().all(|place| *place != lost.to_string()), "{others:?}");
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
    for order in ["", "order = \"by_partition\""] {
        let Some(kafka) = Kafka::start(test, &[("IN", 3), ("OUT.test", 3)]) else { return };
        let text = format!("additional_instances = 3\n{}", flow(&kafka, order));
        let bridge = Bridge::new(&text, "KAFKA.OUT");
        let send = |range: std::ops::Range<usize>| {
            let lines: Vec<String> =
                range.map(|number| line("test", &(number % 10).to_string(), &number.to_string())).collect();
            kafka.append("IN", &lines, "none");
        };
        let child = ("kafka::child_that_bridges", FOLDER);
        let count = bridge.kills(child, (bridge_kills(2), 100), send, || kafka.kill(), || kafka.again());
        let kept = bridge.ends_with_each_effect_once(count);
        for partition in ["0", "1", "2"] {
            let of_it = kept.iter().filter(|message| property(message, "kafka_partition") == partition);
            assert!(order.is_empty() || of_it.map(number).is_sorted(), "the order of partition {partition} is kept");
        }
        let out = kafka.contents("OUT.test");
        let distinct: BTreeSet<&String> = out.iter().map(|[.., value]| value).collect();
        assert_eq!((out.len(), distinct.len()), (count, count), "each is appended once");
    }
}

#[test]
fn topics_addresses_and_partitions_are_checked() {
    let world = World::new();
    let start = |server: &str, rest: &str| {
        let text = format!("[node.get]\ntype = \"kafka_input\"\nserver = \"{server}\"\n{rest}\nout = []\n");
        world.compile(&text).map(|_| String::new()).unwrap_or_else(|findings| findings.to_string())
    };
    for (server, rest, part) in [
        ("kafka://h", "topic = \"t\"", ""),
        ("kafkas://h:9093,g:9093", "topic = \"a.b_c-1\"\npartitions = \"0-3, 7\"\nstart = \"latest\"", ""),
        ("amqp://h", "topic = \"t\"", "it does not begin with kafka:// or kafkas://"),
        ("kafka://h,", "topic = \"t\"", "it names no host"),
        ("kafka://u@h", "topic = \"t\"", "flow files are not secret"),
        ("kafka://h", "topic = \"a b\"", "`a b` is not a topic"),
        ("kafka://h", "topic = \"t\"\npartitions = \"3-1\"", "`3-1` is not a partition"),
        ("kafka://h", "topic = \"t\"\npartitions = \"1,\"", "`` is not a partition"),
        ("kafka://h", "topic = \"t\"\nauthorities = \"ca.pem\"", "certificates need a server with TLS"),
    ] {
        let found = start(server, rest);
        assert!(
            if part.is_empty() { found.is_empty() } else { found.contains("FLO-030") && found.contains(part) },
            "{server} {rest}: {found}"
        );
    }
    let flow = world
        .compile(
            "[node.get]\ntype = \"kafka_input\"\nserver = \"kafka://h\"\ntopic = \"t\"\nout = \"put\"\n\
             [node.put]\ntype = \"kafka_output\"\nserver = \"kafka://h\"\ntopic = \"t\"\noutbox = \"O\"\n",
        )
        .expect("a flow");
    assert!(flow.edges().count() == 2 && flow.edges().all(|edge| edge.guarantee.starts_with("exactly once")));
}
