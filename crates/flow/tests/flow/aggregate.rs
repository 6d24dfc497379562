//! Groups of messages: complete by number, by condition and by time; exactly once when the process is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quayline_flow::{Engine, EngineOptions, Flow};
use quayline_project::FlowFile;
use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Clock, Direction, KeyRange, Page, PageLimit, Space, Store, SystemClock};

use crate::crash::open;
use crate::support::{PATIENCE, Said, World, ended, until};

const FOLDER: &str = "QUAYLINE_TEST_GROUPS_FOLDER";
const GROUPS: usize = 200;
const PARTS: usize = 10;
/// Kills of the process that groups messages. More with `QUAYLINE_KILLS`.
const KILLS: u32 = 12;

fn flow(instances: usize, properties: &str) -> String {
    format!(
        "additional_instances = {instances}\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"group\"\n\
         [node.group]\ntype = \"aggregate\"\nkey.from = 'envelope.property_key ?? \"none\"'\n{properties}\nout = \"name\"\n\
         [node.name]\ntype = \"trace\"\ntext.from = 'envelope.group_key & \" \" & envelope.group_count'\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
    )
}

fn part(key: &str, text: &str, is_last: bool) -> Message {
    let last = if is_last { "yes" } else { "no" };
    let properties = vec![("key".to_owned(), key.into()), ("last".to_owned(), last.into())];
    Message { properties, ..Message::new(text.as_bytes()) }
}

/// Entries of groups in the store.
fn kept(store: &Store) -> usize {
    let unit = store.begin().expect("a unit");
    let mut page = Page::default();
    let limit = PageLimit { entries: 10_000, ..PageLimit::default() };
    unit.page(Space::CHECKPOINTS, KeyRange::ALL, Direction::Forward, limit, &mut page).expect("a page");
    page.iter().filter(|(key, _)| key.starts_with(b"flow-group/") || key.starts_with(b"flow-due/")).count()
}

#[test]
fn a_group_leaves_when_it_has_its_number_of_messages() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&flow(15, "count = \"4\""));
    for number in 0..40 {
        world.put(&input, &part(&format!("k{}", number % 10), &format!("{} {number}", number % 10), false));
    }
    let mut seen = BTreeMap::new();
    for _ in 0..10 {
        let text = world.get_text(&out);
        let lines: BTreeSet<&str> = text.lines().collect();
        let keys: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!((lines.len(), keys.len()), (4, 1), "{text}");
        let key = keys.first().copied().unwrap_or_default().to_owned();
        seen.insert(key, text.clone());
    }
    assert_eq!(seen.len(), 10);
    until("all units of work end", || ended(&engine) == (40, 0));
    let mut traced = world.said.traced.lock().expect("no panic").clone();
    traced.sort();
    assert_eq!((traced.len(), traced[0].as_str()), (10, "name: k0 4"));
    assert_eq!(kept(&world.store), 0);
}

#[test]
fn a_condition_completes_a_group_as_a_json_array() {
    let world = World::new();
    let (input, out, bad) = (world.queue("IN"), world.queue("OUT"), world.queue("BAD"));
    let _engine = world.engine(&format!(
        "{}[node.bad]\ntype = \"queue_output\"\nqueue = \"BAD\"\n",
        flow(0, "last = 'envelope.property_last = \"yes\"'\njoin = \"json\"\nfailure = \"bad\"")
    ));
    for (key, text, is_last) in [
        ("a", "{\"n\":1}", false),
        ("b", "[]", false),
        ("a", "not json", false),
        ("a", "2.50", true),
        ("b", "null", true),
    ] {
        world.put(&input, &part(key, text, is_last));
    }
    assert_eq!([world.get_text(&out), world.get_text(&out)], ["[{\"n\":1},2.50]", "[[],null]"]);
    assert_eq!(world.get_text(&bad), "not json");
    assert!(world.errors().contains("FLO-053"), "{}", world.errors());
}

#[test]
fn a_group_whose_time_is_over_leaves_by_its_own_terminal() {
    let world = World::new();
    let (input, out, late) = (world.queue("IN"), world.queue("OUT"), world.queue("LATE"));
    let text = flow(3, "count.from = 'envelope.property_none ?? \"2\"'\ntimeout = \"300ms\"\nincomplete = \"late\"")
        + "[node.late]\ntype = \"queue_output\"\nqueue = \"LATE\"\n";
    // Without an order, four instances may change the places of two parts of a group.
    let by_key = "queue = \"IN\"\norder = \"by_key\"\norder_key = 'envelope.property_key'";
    let engine = world.engine(&text.replace("queue = \"IN\"", by_key));
    world.put(&input, &part("a", "a1", false));
    world.put(&input, &part("b", "b1", false));
    world.put(&input, &part("b", "b2", false));
    assert_eq!(world.get_text(&out), "b1\nb2\n");
    assert_eq!(world.get_text(&late), "a1\n");
    // The time of a group begins again with its next message.
    world.put(&input, &part("a", "a2", false));
    world.put(&input, &part("a", "a3", false));
    assert_eq!(world.get_text(&out), "a2\na3\n");
    until("the units of work end", || ended(&engine).0 == 6);
    assert_eq!((ended(&engine).1, kept(&world.store)), (0, 0), "{}", world.errors());
}

#[test]
fn a_group_by_time_alone_leaves_by_out_and_survives_a_restart() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let text = flow(0, "timeout = \"400ms\"");
    let engine = world.engine(&text);
    (0..3).for_each(|number| world.put(&input, &part("a", &number.to_string(), false)));
    until("the messages are in the group", || ended(&engine).0 == 3);
    // The flow is replaced before the group is due.
    engine.deploy(world.compile(&text).expect("a flow"));
    assert_eq!(world.get_text(&out), "0\n1\n2\n");
}

#[test]
fn what_completes_a_group_is_checked() {
    let world = World::new();
    let wrong = |properties: &str| world.compile(&flow(0, properties)).expect_err("an error").to_string();
    assert!(wrong("").contains("nothing completes a group"));
    assert!(wrong("count = \"2\"\ntimeout = \"1s\"").contains("`incomplete`, which is not wired"));
}

fn run(store: &Store) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn quayline_flow::Observer> = Arc::clone(&said) as Arc<dyn quayline_flow::Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let text = flow(7, &format!("count = \"{PARTS}\""));
    let file = FlowFile::parse("groups.toml", &text).expect("a flow file");
    engine.deploy(Flow::compile(file, &PathBuf::from("."), None).expect("a flow"));
    (engine, said)
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_groups() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (store, _engine) = open(Path::new(&folder));
    let _running = run(&store);
    std::fs::write(Path::new(&folder).join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", "aggregate::child_that_groups", "--test-threads", "1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

#[test]
fn groups_are_whole_however_often_the_process_is_killed() {
    let place = tempfile::TempDir::new().expect("a temporary folder");
    let folder = place.path().join("data");
    {
        let (store, engine) = open(&folder);
        let mut unit = store.begin().expect("a unit");
        for name in ["IN", "OUT"] {
            store.define_queue(&mut unit, QueueDefinition::local(name)).expect("a definition");
        }
        unit.commit().expect("a commit");
        let queue = store.queue("IN").expect("a queue");
        for round in 0..PARTS {
            let mut unit = store.begin().expect("a unit");
            for group in 0..GROUPS {
                let message = part(&format!("g{group}"), &format!("{group} {round}"), false);
                queue.put(&mut unit, &message).expect("a put");
            }
            unit.commit().expect("a commit");
        }
        drop(store);
        engine.close().expect("closed");
    }
    let mut seed = 0x51ed_u32;
    for _ in 0..crate::support::kills(KILLS) {
        let mark = folder.join("running");
        let _ = std::fs::remove_file(&mark);
        let mut child = start(&folder);
        until("the child runs the flow", || mark.exists());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_millis(u64::from((seed >> 16) % 30)));
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
    }
    let (store, engine) = open(&folder);
    let queue = store.queue("IN").expect("a queue");
    let (flows, said) = run(&store);
    until("the queue is empty", || queue.facts().expect("facts").depth == 0);
    flows.drain();
    assert!(said.failed.lock().expect("no panic").is_empty());
    let out = store.queue("OUT").expect("a queue");
    let unit = store.begin().expect("a unit");
    let mut seen = BTreeSet::new();
    for found in out.browse(&unit, None, GROUPS * 2).expect("messages") {
        let text = String::from_utf8(found.message.payload).expect("text");
        let group = text.split(' ').next().expect("a group").to_owned();
        let mut parts: Vec<&str> = text.lines().collect();
        parts.sort_unstable();
        let expected: Vec<String> = (0..PARTS).map(|round| format!("{group} {round}")).collect();
        assert_eq!(parts, expected);
        assert!(seen.insert(group), "a group left twice");
    }
    assert_eq!((seen.len(), kept(&store)), (GROUPS, 0));
    unit.roll_back();
    drop(store);
    engine.close().expect("closed");
}

/// A message of two lines became two lines of its group, so the messages could not be separated again.
#[test]
fn a_message_is_one_line_of_its_group_or_fails() {
    let world = World::new();
    let (input, out, bad) = (world.queue("IN"), world.queue("OUT"), world.queue("BAD"));
    let _engine = world.engine(&format!(
        "{}[node.bad]\ntype = \"queue_output\"\nqueue = \"BAD\"\n",
        flow(0, "count = \"3\"\nfailure = \"bad\"")
    ));
    for text in ["a1\n", "x\ny", "", "a3\r\n"] {
        world.put(&input, &part("a", text, false));
    }
    assert_eq!(world.get_text(&out), "a1\n\na3\r\n");
    assert_eq!(world.get_text(&bad), "x\ny");
    assert!(world.errors().contains("FLO-053"), "{}", world.errors());
}
