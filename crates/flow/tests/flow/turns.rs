//! Order of execution: flows on one thread, keys of one order, and versions of one flow.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_flow::{Engine, Flow, FlowState};
use quayline_project::FlowFile;
use quayline_store::queue::{Message, Persistence, QueueDefinition};

use crate::support::{World, ended, until};

fn pass(properties: &str) -> String {
    format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\n{properties}\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue.from = 'envelope.property_to ?? \"OUT\"'\n"
    )
}

fn deploy(world: &World, engine: &Engine, name: &str, text: &str) {
    let file = FlowFile::parse(&format!("{name}.toml"), text).expect("a flow file");
    engine.deploy(Flow::compile(file, world.path(), None).unwrap_or_else(|findings| panic!("{findings}")));
}

/// A flow whose messages never wait kept its thread until its queue was empty: timers, requests and other flows of the thread waited.
#[test]
fn messages_that_never_wait_let_others_have_their_turn() {
    let world = World::new();
    let ticks = world.queue("TICKS");
    let deep = |name: &str| world.queue_with(QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) });
    let (input, _out) = (deep("IN"), deep("OUT"));
    let count = 40_000;
    let input_depth = || input.facts().expect("facts").depth;
    let mut unit = world.store.begin().expect("a unit");
    for number in 0..count {
        let message = Message { persistence: Persistence::NotPersistent, ..Message::new("x") };
        input.put(&mut unit, &message).expect("a put");
        if number % 5_000 == 4_999 {
            unit.commit().expect("a commit");
            unit = world.store.begin().expect("a unit");
        }
    }
    unit.commit().expect("a commit");
    let engine = world.empty_engine(1);
    deploy(
        &world,
        &engine,
        "tick",
        "[node.tick]\ntype = \"timer_input\"\nevery = \"1ms\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"TICKS\"\n",
    );
    deploy(&world, &engine, "busy", &pass(""));
    until("the busy flow begins", || input_depth() < count);
    let before = ticks.facts().expect("facts").put;
    until("the timer fires", || ticks.facts().expect("facts").put > before + 2);
    assert!(input_depth() > 0, "the timer fires while the busy flow has messages");
}

/// A message of many parts does the same inside of one unit of work.
#[test]
fn a_message_of_many_parts_lets_others_have_their_turn() {
    let world = World::new();
    let (input, ticks) = (world.queue("IN"), world.queue("TICKS"));
    let _out = world.queue_with(QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local("OUT") });
    let engine = world.empty_engine(1);
    deploy(
        &world,
        &engine,
        "tick",
        "[node.tick]\ntype = \"timer_input\"\nevery = \"1ms\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"TICKS\"\n",
    );
    deploy(
        &world,
        &engine,
        "split",
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"split\"\n[node.split]\ntype = \"split\"\nby = \"line\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    world.put(&input, &Message::new("x\n".repeat(40_000)));
    let split = || engine.flows().into_iter().find(|flow| flow.flow.name() == "split").expect("a flow").stats;
    until("it begins", || split().received.load(Ordering::Relaxed) == 1);
    let before = ticks.facts().expect("facts").put;
    until("the timer fires", || ticks.facts().expect("facts").put > before + 2);
    assert_eq!(split().committed.load(Ordering::Relaxed), 0, "the timer fires while the parts are processed");
}

/// Messages that waited for a busy key held an instance each, so one key kept all instances from all other keys.
#[test]
fn a_busy_key_leaves_instances_to_other_keys() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let slow = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("SLOW") });
    let to = |key: &str, queue: &str, text: &str| {
        let properties = [("key", key), ("to", queue)].map(|(name, value)| (name.to_owned(), value.into()));
        Message { properties: properties.into(), ..Message::new(text) }
    };
    for number in 0..64 {
        world.put(&input, &to("a", "SLOW", &number.to_string()));
    }
    world.put(&input, &to("b", "OUT", "another key"));
    let order = "order = \"by_key\"\norder_key = \"envelope.property_key\"";
    let engine = world.engine(&format!("additional_instances = 7\n{}", pass(order)));
    assert_eq!(world.get_text(&out), "another key");
    assert!(slow.facts().expect("facts").depth <= 1, "the first key waits");
    for number in 0..64 {
        assert_eq!(world.get_text(&slow), number.to_string());
    }
    until("all units of work end", || ended(&engine) == (65, 0));
}

fn state(engine: &Engine) -> FlowState {
    engine.flows().into_iter().next().expect("a flow")
}

/// A new version of a flow ran although an operator had stopped the flow.
#[test]
fn a_new_version_of_a_stopped_flow_is_stopped() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&pass(""));
    assert!(engine.stop("test") && !state(&engine).is_running);
    engine.deploy(world.compile(&format!("additional_instances = 1\n{}", pass(""))).expect("a flow"));
    assert!(!state(&engine).is_running && state(&engine).flow.file.additional_instances == 1);
    world.put(&input, &Message::new("x"));
    assert!(engine.restart("test") && state(&engine).is_running);
    assert_eq!(world.get_text(&out), "x");
    engine.drain();
}

/// While the old version ended its units of work, the flow was not in the list: nobody could stop it or see its figures.
#[test]
fn a_flow_can_be_seen_and_stopped_while_it_is_replaced() {
    let world = World::new();
    let input = world.queue("IN");
    let out = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("OUT") });
    let engine = world.engine(&pass(""));
    for text in ["1", "2"] {
        world.put(&input, &Message::new(text));
    }
    until("the second waits for room", || state(&engine).stats.received.load(Ordering::Relaxed) == 2);
    std::thread::scope(|scope| {
        let next = world.compile(&pass("")).expect("a flow");
        let replacing = scope.spawn(|| engine.deploy(next));
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(state(&engine).stats.received.load(Ordering::Relaxed), 2, "the version that ends");
        assert!(!replacing.is_finished());
        assert!(engine.stop("test"));
        replacing.join().expect("no panic");
    });
    assert!(!state(&engine).is_running);
    assert_eq!(world.get_text(&out), "1");
    world.put(&input, &Message::new("3"));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!((out.facts().expect("facts").depth, state(&engine).stats.received.load(Ordering::Relaxed)), (0, 0));
    engine.drain();
}

/// Two requests to start a flow at the same time ran two copies of it, of which one could never be stopped.
#[test]
fn a_flow_that_is_started_twice_at_once_runs_once() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&pass(""));
    for _ in 0..50 {
        assert!(engine.stop("test"));
        std::thread::scope(|scope| {
            (0..4).for_each(|_| {
                scope.spawn(|| assert!(engine.restart("test")));
            });
        });
    }
    world.put(&input, &Message::new("1"));
    assert_eq!(world.get_text(&out), "1");
    assert!(engine.stop("test"));
    world.put(&input, &Message::new("2"));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(input.facts().expect("facts").depth, 1, "no copy is left");
    engine.drain();
}

/// A flow whose thread panicked was listed as running and ready.
#[test]
fn a_flow_that_ended_by_an_error_of_its_own_says_so_and_can_be_started() {
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(
        "additional_instances = 3\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"say\"\n\
         [node.say]\ntype = \"trace\"\ntext.from = 'envelope.property_say ?? \"nothing\"'\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    let properties = vec![("say".to_owned(), b"panic".to_vec())];
    world.put(&input, &Message { properties, ..Message::new("x") });
    until("the flow ends", || state(&engine).broken.is_some());
    assert!(!state(&engine).is_running);
    assert!(world.errors().contains("FLO-073"), "{}", world.errors());
    assert_eq!(input.facts().expect("facts").depth, 1, "the message is on its queue");
    world.said.quiet.store(true, Ordering::Relaxed);
    assert!(engine.restart("test"));
    assert_eq!(world.get_text(&out), "x");
    assert!(state(&engine).is_running && state(&engine).broken.is_none());
    engine.drain();
}
