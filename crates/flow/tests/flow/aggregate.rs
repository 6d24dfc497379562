//! Groups of messages: complete by number, by condition and by time; exactly once when the process is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Direction, KeyRange, Page, PageLimit, Space, Store};

use crate::bridge::{Bridge, KEPT, all, until_empty};
use crate::outside::server;
use crate::support::{World, ended, kills, until};

const FOLDER: &str = "QUAYLINE_TEST_GROUPS_FOLDER";
/// Groups of a round.
const GROUPS: usize = 40;
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

/// Groups of a node with another name were in no queue, statistic or log.
#[test]
fn groups_whose_node_has_another_name_are_found() {
    let world = World::new();
    let (input, _out) = (world.queue("IN"), world.queue("OUT"));
    let text = flow(0, "count = \"4\"");
    let engine = world.engine(&text);
    for (key, text) in [("a", "1"), ("b", "2"), ("b", "3")] {
        world.put(&input, &part(key, text, false));
    }
    until("all units of work end", || ended(&engine) == (3, 0));
    engine.drain();
    let stranded = |text: Option<&str>| {
        let engine = world.empty_engine(1);
        text.into_iter().for_each(|text| engine.deploy(world.compile(text).expect("a flow")));
        engine.warn_of_stranded(world.path());
        let found = std::mem::take(&mut *world.said.failed.lock().expect("no panic"));
        found.into_iter().map(|(finding, _)| finding.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(stranded(Some(&text)), [""; 0]);
    let renamed = text.replace("\"group\"", "\"collect\"").replace("node.group", "node.collect");
    let found = stranded(Some(&renamed));
    assert_eq!(found.len(), 1, "{found:?}");
    for part in ["FLO-082", "flow test, node group", "2 groups with 3 messages", "name the flow `test`"] {
        assert!(found[0].contains(part), "{}", found[0]);
    }
    // The flow has another name or is gone. If the project has it, it may run elsewhere.
    assert_eq!(stranded(None).len(), 1);
    world.write("flows/test.toml", &text);
    assert_eq!(stranded(None), [""; 0]);
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

/// A search found no group if the entry of the one before it was deleted and not applied yet, and then waited for the whole time: of many groups with the
/// same time, one left in each `timeout`.
#[test]
fn groups_whose_time_is_over_leave_together() {
    const COUNT: usize = 40;
    let place = tempfile::tempdir().expect("a temporary folder");
    let (store, embedded) = crate::crash::open(place.path());
    let world = World::over(store);
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&flow(3, "timeout = \"2s\""));
    (0..COUNT).for_each(|number| world.put(&input, &part(&number.to_string(), &number.to_string(), false)));
    until("the messages are in their groups", || ended(&engine).0 == COUNT as u64);
    let begun = Instant::now();
    let texts: BTreeSet<String> = (0..COUNT).map(|_| world.get_text(&out)).collect();
    assert_eq!(texts.len(), COUNT);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    until("the units of work end", || kept(&world.store) == 0);
    drop((engine, world, input, out));
    embedded.close().expect("closed");
}

/// A group that failed was taken again and again, each time before all others, and never moved to a backout queue.
#[test]
fn a_group_that_fails_moves_to_its_backout_queue_and_delays_no_other() {
    let world = World::new();
    let (input, out, bad) = (world.queue("IN"), world.queue("OUT"), world.queue("BAD"));
    let text = flow(0, "timeout = \"300ms\"\nattempts = 4\nbackout = \"BAD\"").replace(
        "[node.put]",
        "[node.name_failure]\ntype = \"throw\"\ntext = \"no\"\n[node.choose]\ntype = \"filter\"\n\
         when = 'envelope.group_key = \"a\"'\nout = \"name_failure\"\nno_match = \"put\"\n[node.put]",
    );
    let engine = world.engine(&text.replace("out = \"put\"\n", "out = \"choose\"\n"));
    for key in ["a", "b", "c", "a"] {
        world.put(&input, &part(key, key, false));
    }
    let texts: BTreeSet<String> = (0..2).map(|_| world.get_text(&out)).collect();
    assert_eq!(texts, ["b\n", "c\n"].map(str::to_owned).into());
    let failed = world.get(&bad);
    assert_eq!(failed.payload, b"a\na\n");
    let property =
        |name: &str| failed.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    assert_eq!(property("quayline.failure-text").as_deref(), Some(&b"no"[..]));
    until("the units of work end", || kept(&world.store) == 0);
    assert_eq!(ended(&engine).1, 4, "{}", world.errors());
}

/// The finding said to split the message, which nobody can at that place.
#[test]
fn a_group_that_is_too_long_for_its_backout_queue_says_so_and_moves_when_it_fits() {
    let world = World::new();
    let input = world.queue("IN");
    let short = |name: &str| QueueDefinition { message_bytes_max: 4, ..QueueDefinition::local(name) };
    let (_out, bad) = (world.queue_with(short("OUT")), world.queue_with(short("BAD")));
    let _engine = world.engine(&flow(0, "timeout = \"200ms\"\nattempts = 1\nbackout = \"BAD\""));
    world.put(&input, &part("a", "12345", false));
    until("the group does not fit", || world.errors().contains("backout queue"));
    let errors = world.errors();
    for part in ["does not fit on its backout queue: the message has 6 bytes", "queue alter BAD --message-max 6`"] {
        assert!(errors.contains(part), "{errors}");
    }
    world.store.alter_queue(QueueDefinition { message_bytes_max: 6, ..short("BAD") }).expect("a change");
    assert_eq!(world.get_text(&bad), "12345\n");
}

/// A group that grew after a failure was sent with the id of the smaller one: a server that remembers keys refused it or lost the last message.
#[test]
fn a_group_that_grows_after_a_failure_has_another_key() {
    let works = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&works);
    let (address, asked) = server(move |_| if is_up.load(Ordering::Relaxed) { 200 } else { 500 });
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let ask = format!("[node.ask]\ntype = \"http_request\"\nurl = \"http://{address}/\"\nout = \"put\"\n[node.put]");
    let text = flow(0, "timeout = \"200ms\"\nattempts = 1000").replace("out = \"put\"", "out = \"ask\"");
    let _engine = world.engine(&text.replace("[node.put]", &ask));
    let count = || asked.lock().expect("no panic").len();
    world.put(&input, &part("a", "a1", false));
    until("it fails twice", || count() >= 2);
    world.put(&input, &part("a", "a2", false));
    until("it has grown", || asked.lock().expect("no panic").last().is_some_and(|(_, _, text)| text == "a1\na2\n"));
    let before = count();
    until("it fails again", || count() > before);
    works.store(true, Ordering::Relaxed);
    assert_eq!(world.get_text(&out), "answer to a1\na2\n");
    let asked = asked.lock().expect("no panic");
    let pairs: BTreeSet<(&str, &str)> = asked.iter().map(|(_, key, text)| (key.as_str(), text.as_str())).collect();
    let keys: BTreeSet<&str> = pairs.iter().map(|(key, _)| *key).collect();
    assert_eq!((pairs.len(), keys.len()), (2, 2), "{pairs:?}");
}

/// Such a group left no trace: neither a message nor a number.
#[test]
fn a_dropped_incomplete_group_is_counted() {
    let world = World::new();
    let input = world.queue("IN");
    let engine = world.engine(&flow(0, "count = \"2\"\ntimeout = \"200ms\"\nincomplete = []"));
    world.put(&input, &part("a", "a1", false));
    let flows = engine.flows();
    until("the group leaves", || flows[0].stats.nodes[1].dropped.load(Ordering::Relaxed) == 1);
    until("the unit of work ends", || kept(&world.store) == 0);
    drop(engine);
    let engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"group\"\n[node.group]\ntype = \"aggregate\"\ntimeout = \"200ms\"\nout = []\n",
    );
    world.put(&input, &part("a", "a1", false));
    let flows = engine.flows();
    until("the group leaves", || flows[0].stats.nodes[1].dropped.load(Ordering::Relaxed) == 1);
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
    // Messages that the flow file sends to `incomplete` were gone.
    assert!(wrong("count = \"2\"\nattempts = 2").contains("without `timeout`, a group leaves in the unit of work of"));
    let found = wrong("timeout = \"1s\"\nincomplete = \"put\"");
    assert!(found.contains("without `count` or `last`, a group is complete when its time is over"), "{found}");
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_groups() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    crate::bridge::child(Path::new(&folder));
}

#[test]
fn groups_are_whole_however_often_the_process_is_killed() {
    let text = flow(7, &format!("count = \"{PARTS}\"")).replace("\"OUT\"", &format!("\"{KEPT}\""));
    let bridge = Bridge::with(&text, "OUT", &["IN"]);
    let put = |store: &Store, round| {
        let queue = store.queue("IN").expect("a queue");
        let mut unit = store.begin().expect("a unit");
        for number in 0..PARTS {
            for group in 0..GROUPS {
                let group = format!("{round}.{group}");
                queue.put(&mut unit, &part(&group, &format!("{group} {number}"), false)).expect("a put");
            }
        }
        unit.commit().expect("a commit");
    };
    let rounds =
        bridge.kills_of_queues(("aggregate::child_that_groups", FOLDER), (kills(KILLS), 8), put, || (), &["IN"]);
    bridge.ends(|store, failed| {
        until_empty(store, &["IN"]);
        assert_eq!(failed(), "");
    });
    bridge.in_store(|store| {
        let mut seen = BTreeSet::new();
        for message in all(store, KEPT) {
            let text = String::from_utf8(message.payload).expect("text");
            let group = text.split(' ').next().expect("a group").to_owned();
            let mut parts: Vec<&str> = text.lines().collect();
            parts.sort_unstable();
            let expected: Vec<String> = (0..PARTS).map(|number| format!("{group} {number}")).collect();
            assert_eq!(parts, expected);
            assert!(seen.insert(group), "a group left twice");
        }
        assert_eq!((seen.len(), kept(store)), (rounds as usize * GROUPS, 0));
    });
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
