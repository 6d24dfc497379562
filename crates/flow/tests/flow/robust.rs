//! Faults of the outside and of flows themselves: named, bounded in memory, and without an effect on other flows.

use std::process::Command;
use std::time::{Duration, Instant};

use quayline_flow::Flow;
use quayline_project::FlowFile;
use quayline_store::queue::{DEAD_LETTER, FAILURE_TEXT, Message, Persistence, QueueDefinition};

use crate::bridge::until_empty;
use crate::crash::open;
use crate::postgres::Postgres;
use crate::support::{World, ended, until};

/// Time for which the database is down: 30 s, or the number of seconds in `QUAYLINE_DOWN_SECONDS`.
fn down() -> Duration {
    let seconds = std::env::var("QUAYLINE_DOWN_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(30);
    Duration::from_secs(seconds)
}

/// Runs the test `name` in a separate process, to measure its memory alone. Returns false in that process, which then does the work.
fn elsewhere(name: &str) -> bool {
    const ALONE: &str = "QUAYLINE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let this = std::env::current_exe().expect("this test has a path");
    let done = Command::new(this).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().expect("a process");
    let said = [done.stdout, done.stderr].map(|bytes| bytes.escape_ascii().to_string().replace("\\n", "\n"));
    eprintln!("{}\n{}", said[0], said[1]);
    assert!(done.status.success() && said[0].contains("1 passed"), "{name}: {}", done.status);
    true
}

/// Memory of this process in MB, by the kernel's account: now, and the most since `reset`.
fn memory_mb() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").expect("a file");
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_ascii_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") / 1_024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

fn pass(name: &str, from: &str, to: &str) -> String {
    let _ = name;
    format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"{from}\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"{to}\"\n"
    )
}

fn deploy(world: &World, engine: &quayline_flow::Engine, name: &str, text: &str) {
    let file = FlowFile::parse(&format!("{name}.toml"), text).expect("a flow file");
    engine.deploy(Flow::compile(file, world.path(), None).unwrap_or_else(|findings| panic!("{findings}")));
}

#[test]
fn a_database_that_is_down_stops_one_flow_and_loses_nothing() {
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped: a_database_that_is_down_stops_one_flow_and_loses_nothing: PostgreSQL's server is not installed"
        );
        return;
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY)").expect("a table");
    let world = World::new();
    let (queue, other, out) = (world.queue("IN"), world.queue("OTHER"), world.queue("OUT"));
    let (outbox, dead) = (world.queue("SQL.OUT"), world.queue(DEAD_LETTER));
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"sql\"\n\
         [node.sql]\ntype = \"sql_output\"\ndatabase = \"{}\"\noutbox = \"SQL.OUT\"\nstatement = \"INSERT INTO effect VALUES ($1)\"\n\
         parameters = ['envelope.property_id']\n",
        postgres.name()
    ));
    deploy(&world, &engine, "other", &pass("other", "OTHER", "OUT"));
    postgres.stop("-QUIT");
    let since = Instant::now();
    let mut sent = 0_u32;
    while since.elapsed() < down() {
        let id = vec![("id".to_owned(), sent.to_string().into_bytes())];
        world.put(&queue, &Message { properties: id, ..Message::new(*b"x") });
        // A flow beside it goes on.
        world.put(&other, &Message::new(sent.to_string()));
        let asked = Instant::now();
        assert_eq!(world.get_text(&out), sent.to_string());
        assert!(asked.elapsed() < Duration::from_secs(20), "the other flow waits");
        sent += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    until("the node names the reason", || world.errors().contains("FLO-054"));
    assert!(world.errors().contains("flow test, node sql"), "{}", world.errors());
    postgres.again();
    until_empty(&world.store, &[queue.name(), outbox.name()]);
    until("the database answers", || postgres.sql("SELECT 1").is_some());
    assert_eq!(postgres.sql("SELECT count(*) FROM effect").expect("a count"), sent.to_string());
    assert_eq!(dead.facts().expect("facts").depth, 0);
}

#[test]
fn a_full_output_queue_makes_a_flow_wait_and_not_fail() {
    let world = World::new();
    let (queue, out) =
        (world.queue("IN"), world.queue_with(QueueDefinition { depth_max: 3, ..QueueDefinition::local("OUT") }));
    let (other, free) = (world.queue("OTHER"), world.queue("FREE"));
    let dead = world.queue(DEAD_LETTER);
    let engine = world.engine(&format!("additional_instances = 3\n{}", pass("test", "IN", "OUT")));
    deploy(&world, &engine, "other", &pass("other", "OTHER", "FREE"));
    for number in 0..50 {
        world.put(&queue, &Message::new(number.to_string()));
    }
    until("the output is full", || out.facts().expect("facts").depth == 3);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(ended(&engine).1, 0, "nothing is rolled back: {}", world.errors());
    world.put(&other, &Message::new(*b"beside"));
    assert_eq!(world.get_text(&free), "beside");
    let mut got: Vec<u32> = (0..50).map(|_| world.get_text(&out).parse().expect("a number")).collect();
    got.sort_unstable();
    assert_eq!(got, (0..50).collect::<Vec<_>>());
    assert_eq!((ended(&engine).1, dead.facts().expect("facts").depth), (0, 0), "{}", world.errors());
}

/// A queue that nobody empties does not keep a flow from stopping: its messages go back, and none is lost.
#[test]
fn a_flow_that_waits_for_room_stops() {
    let world = World::new();
    let (queue, out) =
        (world.queue("IN"), world.queue_with(QueueDefinition { depth_max: 3, ..QueueDefinition::local("OUT") }));
    let engine = world.engine(&format!("additional_instances = 3\n{}", pass("test", "IN", "OUT")));
    for number in 0..10 {
        world.put(&queue, &Message::new(number.to_string()));
    }
    until("the output is full", || out.facts().expect("facts").depth == 3);
    let asked = std::time::Instant::now();
    drop(engine);
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
    assert_eq!((queue.facts().expect("facts").depth, out.facts().expect("facts").depth), (7, 3));
    // A stop is no failure of a message: enough of them would bring each to the backout queue.
    let unit = world.store.begin().expect("a unit");
    let left = queue.browse(&unit, None, 10).expect("messages");
    assert_eq!(left.len(), 7);
    assert!(left.iter().all(|browsed| browsed.message.backout_count == 0), "{left:?}");
}

#[test]
fn a_message_of_100_mb_passes_in_bounded_memory_and_a_longer_one_is_refused() {
    if elsewhere("robust::a_message_of_100_mb_passes_in_bounded_memory_and_a_longer_one_is_refused") {
        return;
    }
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let (store, embedded) = open(place.path());
    let world = World::over(store);
    let long: u64 = 100 << 20;
    let define =
        |name: &str| world.queue_with(QueueDefinition { message_bytes_max: long, ..QueueDefinition::local(name) });
    let (queue, out) = (define("IN"), define("OUT"));
    let short = world.queue_with(QueueDefinition { message_bytes_max: 1 << 20, ..QueueDefinition::local("SHORT") });
    let bad = define("BAD");
    let text = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"put\"\n\
                [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\nout = \"short\"\n\
                [node.short]\ntype = \"queue_output\"\nqueue = \"SHORT\"\nfailure = \"bad\"\n\
                [node.bad]\ntype = \"queue_output\"\nqueue = \"BAD\"\n";
    let engine = world.engine(text);
    let (other, free) = (world.queue("OTHER"), world.queue("FREE"));
    deploy(&world, &engine, "other", &pass("other", "OTHER", "FREE"));
    let content: Vec<u8> = (0..100_u32 << 20).map(|at| at.to_le_bytes()[0]).collect();
    let message = Message { persistence: Persistence::Persistent, ..Message::new(content.clone()) };
    let (mut answers, mut longest) = (0, Duration::ZERO);
    std::thread::scope(|scope| {
        scope.spawn(|| world.put(&queue, &message));
        while bad.facts().expect("facts").depth == 0 {
            let asked = Instant::now();
            world.put(&other, &Message::new(answers.to_string()));
            assert_eq!(world.get_text(&free), answers.to_string());
            longest = longest.max(asked.elapsed());
            answers += 1;
        }
    });
    assert!(answers > 5 && longest < Duration::from_secs(20), "{answers} answers, the last after {longest:?}");
    drop(message);
    let (_, most) = memory_mb();
    eprintln!("{most} MB, {answers} answers of another flow, each within {longest:?}");
    // The test holds two copies. The others are in the three units of work, and in the memory of changes that are not yet applied.
    assert!(most < 1_200, "{most} MB");
    let got = world.get(&out);
    assert!(got.payload == content, "the content is as it was");
    assert!(world.get(&bad).payload == content);
    assert_eq!(short.facts().expect("facts").depth, 0);
    assert!(world.errors().contains("node short"), "{}", world.errors());
    drop((engine, queue, out, short, bad, other, free, world));
    embedded.close().expect("closed");
}

#[test]
fn ten_thousand_flows_load_and_run_in_bounded_memory() {
    if elsewhere("robust::ten_thousand_flows_load_and_run_in_bounded_memory") {
        return;
    }
    const FLOWS: usize = 10_000;
    let world = World::new();
    let engine = world.empty_engine(2);
    let out = world.queue("OUT");
    let (before, _) = memory_mb();
    let mut unit = world.store.begin().expect("a unit");
    for number in 0..FLOWS {
        world.store.define_queue(&mut unit, QueueDefinition::local(&format!("IN.{number}"))).expect("a definition");
    }
    unit.commit().expect("a commit");
    for number in 0..FLOWS {
        let name = format!("flow{number}");
        deploy(&world, &engine, &name, &pass(&name, &format!("IN.{number}"), "OUT"));
    }
    for number in (0..FLOWS).step_by(777) {
        let queue = world.store.queue(&format!("IN.{number}")).expect("a queue");
        world.put(&queue, &Message::new(number.to_string()));
        assert_eq!(world.get_text(&out), number.to_string());
    }
    let grown = memory_mb().0.saturating_sub(before);
    assert!(grown < 600, "{grown} MB for {FLOWS} flows");
    eprintln!("{} KB for each flow with its queue", grown * 1_024 / FLOWS as u64);
    let began = Instant::now();
    engine.drain();
    assert!(began.elapsed() < Duration::from_secs(60), "drained in {:?}", began.elapsed());
}

#[test]
fn an_endless_loop_of_flows_ends_with_its_reason() {
    let world = World::new();
    let one = world.queue_with(QueueDefinition { backout_threshold: 1, ..QueueDefinition::local("ONE") });
    let two = world.queue_with(QueueDefinition { backout_threshold: 1, ..QueueDefinition::local("TWO") });
    let dead = world.queue(DEAD_LETTER);
    let engine = world.engine(&pass("test", "ONE", "TWO"));
    deploy(&world, &engine, "back", &pass("back", "TWO", "ONE"));
    let (other, free) = (world.queue("OTHER"), world.queue("FREE"));
    deploy(&world, &engine, "other", &pass("other", "OTHER", "FREE"));
    world.put(&one, &Message::new(*b"round"));
    world.put(&other, &Message::new(*b"beside"));
    assert_eq!(world.get_text(&free), "beside");
    let ended = world.get(&dead);
    assert_eq!(ended.payload, b"round");
    until("the reason is told", || world.errors().contains("FLO-046"));
    assert_eq!((one.facts().expect("facts").depth, two.facts().expect("facts").depth), (0, 0));
}

/// Messages of one received message share their header, and each message after a failure carried the failure of the first.
#[test]
fn each_part_that_failed_carries_its_own_failure() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let _engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"split\"\n\
         [node.split]\ntype = \"split\"\nby = \"line\"\nout = \"try\"\n\
         [node.try]\ntype = \"try\"\ntry = \"check\"\ncatch = \"put\"\n\
         [node.check]\ntype = \"filter\"\nwhen = 'envelope.part = \"2\" or envelope.part = \"5\"'\nout = \"put\"\nno_match = \"fail\"\n\
         [node.fail]\ntype = \"throw\"\ntext.from = '\"part \" & envelope.part'\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    world.put(&input, &Message::new("a\nb\nc\nd\ne"));
    for (content, expected) in
        [("a", Some("part 1")), ("b", None), ("c", Some("part 3")), ("d", Some("part 4")), ("e", None)]
    {
        let message = world.get(&out);
        let found = message.properties.iter().find(|(name, _)| name == FAILURE_TEXT);
        let found = found.map(|(_, text)| String::from_utf8(text.clone()).expect("text"));
        assert_eq!((&*message.payload, found.as_deref()), (content.as_bytes(), expected));
    }
}
